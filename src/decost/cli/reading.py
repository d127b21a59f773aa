"""The options that say how an instance is read: the same for every command that reads one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from decost.cli.progress import answers_of_a_server
from decost.cli.shared import InputError

if TYPE_CHECKING:
    from decost.files.table_files import Beside
    from decost.problem.instance import Instance


@dataclass(frozen=True)
class Reading:
    """How to read a file; each field is an option of the command line."""

    vehicles: Annotated[
        str | None,
        typer.Option(
            metavar="N|TABLE",
            help="Number of vehicles, instead of the file's; or a table of them beside one of "
            "places.",
        ),
    ] = None
    vehicle: Annotated[
        list[str] | None,
        typer.Option(
            help='Beside a table: "red, start=Hotel Sole, begin=09:00, due=17:00"; * for all.'
        ),
    ] = None
    speed: Annotated[str | None, typer.Option(help='Beside a table: "4.5 km/h".')] = None
    travel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PROFILE=]TABLE|ENGINE:URL",
            help="Travel times: beside a table one of them by the names of places; or from a "
            "server, valhalla:http://127.0.0.1:8002 or osrm:http://127.0.0.1:5000.",
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            help="Of such a server, for vehicles that have none: pedestrian, bicycle, auto."
        ),
    ] = None
    profit: Annotated[
        str, typer.Option(help="Profits of a Solomon or KU Leuven file: fixed or variable.")
    ] = "fixed"
    truncate: Annotated[
        str,
        typer.Option(
            help="Decimals of distances in such a file: 0 to 9, none, or auto (convention)."
        ),
    ] = "auto"

    def read(self, file: Path) -> tuple[list[Instance], bool]:
        """Read an instance or a set, and say whether it is a set."""
        from decost.files.door import read_any

        with answers_of_a_server() as told:
            return read_any(file, **self._given(file, told))

    def vehicles_of_parts(self, file: Path) -> int | None:
        """Give the number of vehicles to read a set of Parquet with, if it is not the set's."""
        from decost.files.door import vehicles_of_parts

        return vehicles_of_parts(file, **self._given(file))

    def _given(
        self, file: Path, told: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        word = self.truncate
        decimals = int(word) if word in tuple("0123456789") else word
        streets = self.streets(file, told)
        return {"profit": self.profit, "truncate": decimals, "beside": self._beside(streets)}

    def streets(self, file: Path, told: Callable[[int, int], object] | None = None) -> Any:
        """Give the streets that `--travel` names, None if it names none.

        What the server answers is kept beside the instance.
        """
        from decost.streets.streets import Streets

        words = self.travel or []
        named = [word.split("=", 1) for word in words if Streets.meant(word.rpartition("=")[2])]
        if not named:
            if self.profile is not None:
                raise InputError(f"--profile {self.profile}: is for --travel with a server")
            return None
        if len(named) < len(words):
            raise InputError(f"--travel {' '.join(words)}: all must be servers, or all tables")
        if len(named) > 1 and any(len(one) == 1 for one in named):
            raise InputError(f"--travel {' '.join(words)}: of several each is PROFILE=ENGINE:URL")
        servers: Any = named[0][0] if len(named[0]) == 1 else dict(named)
        keep = file.with_name(f"{file.stem}.streets.npz")
        return Streets(servers, self.profile, keep=keep, told=told)

    def read_one(self, file: Path, why: str) -> Instance:
        """Read an instance where a set will not do."""
        instances, is_set = self.read(file)
        if is_set:
            raise InputError(f"{file}: holds a set; {why}")
        return instances[0]

    def _beside(self, streets: Any) -> Beside:
        from decost.files.table_files import Beside

        vehicles: Any = None
        if self.vehicles is not None:
            vehicles = _count(self.vehicles)
            if vehicles is None:
                vehicles = [Path(self.vehicles)]
        if self.vehicle:
            if isinstance(vehicles, int):
                raise InputError(f"--vehicles {vehicles}: cannot be combined with --vehicle")
            vehicles = [*(vehicles or []), *self.vehicle]
        return Beside(vehicles, self.speed, streets or _travel(self.travel or []))


def _count(word: str) -> int | None:
    try:
        return int(word)
    except ValueError:
        if Path(word).exists():
            return None
    raise InputError(f"--vehicles {word}: is neither a whole number nor a file that is there")


def _travel(words: list[str]) -> Any:
    """Give the file of a matrix, or files by the names of profiles."""
    if not words:
        return None
    if len(words) == 1 and (Path(words[0]).exists() or "=" not in words[0]):
        return Path(words[0])
    files: dict[str, Path] = {}
    for word in words:
        profile, equals, file = word.partition("=")
        if not equals or profile in files:
            raise InputError(f"--travel {word}: of several each is PROFILE=TABLE, once")
        files[profile] = Path(file)
    return files


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the options of `Reading` in the place of its parameter `reading`."""
    hints = get_type_hints(command, include_extras=True)
    options = get_type_hints(Reading, include_extras=True)
    parameters = []
    for one in inspect.signature(command).parameters.values():
        if one.name != "reading":
            parameters.append(one.replace(annotation=hints[one.name]))
            continue
        parameters += [
            one.replace(name=field.name, annotation=options[field.name], default=field.default)
            for field in fields(Reading)
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{field.name: given.pop(field.name) for field in fields(Reading)})
        command(**given, reading=reading)

    # Options with a default come behind what has none.
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return run
