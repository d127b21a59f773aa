"""The options that say how an instance is read: the same for every command that reads one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

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
            metavar="[PROFILE=]TABLE", help="Beside a table: travel times, by the names of places."
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

        word: Any = self.truncate
        decimals = int(word) if word in tuple("0123456789") else word
        profit: Any = self.profit
        return read_any(file, profit=profit, truncate=decimals, beside=self._beside())

    def read_one(self, file: Path, why: str) -> Instance:
        """Read an instance where a set will not do."""
        instances, is_set = self.read(file)
        if is_set:
            raise InputError(f"{file}: holds a set; {why}")
        return instances[0]

    def _beside(self) -> Beside:
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
        return Beside(vehicles, self.speed, _travel(self.travel or []))


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
