"""The files that commands write of a plan: the plan itself, a picture, a report."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decost.cli.shared import InputError, draw, require_other, require_picture

if TYPE_CHECKING:
    from decost.method.result import Result
    from decost.problem.instance import Instance

Report = Annotated[
    Path | None, typer.Option(help="Write a page to look at, print and send on: .html.")
]
Tiles = Annotated[
    str | None,
    typer.Option(help="Map behind that of the report: address with {z}, {x}, {y}.", metavar="URL"),
]
Day = Annotated[
    list[str] | None,
    typer.Option(
        help="Day of a calendar (--out F.ics), or VEHICLE=DAY, for each one its own.",
        metavar="YYYY-MM-DD",
    ),
]
ExplainTime = Annotated[
    float | None, typer.Option(help="Seconds to explain what is left out (report: 10).", min=0.0)
]


@dataclass(frozen=True)
class Outputs:
    """The files to write of a plan of the instance in `file`."""

    file: Path
    out: Path | None = None
    plot: Path | None = None
    report: Path | None = None
    tiles: str | None = None
    date: list[str] | None = None

    @property
    def paths(self) -> dict[str, Path]:
        """Paths by their options."""
        named = {"--out": self.out, "--plot": self.plot, "--report": self.report}
        return {option: path for option, path in named.items() if path is not None}

    def require(self, instance: Instance | None) -> None:
        """Refuse what could not be written later; without an instance there is a set."""
        from decost.files.writing import linked, require_writable

        for path in self.paths.values():
            require_writable(path)
            require_other(path, self.file)
        for (one, path), (other, its) in combinations(self.paths.items(), 2):
            if linked(path) == linked(its):
                raise InputError(f"{one} {path}, {other} {its}: one would overwrite the other")
        if instance is None:
            self._require_for_a_set()
            return
        if self.plot is not None:
            require_picture(self.plot)
        self._require_for_a_plan(instance)

    def _require_for_a_set(self) -> None:
        for option, path in self.paths.items():
            if option != "--out":
                raise InputError(
                    f"{option} {path}: {self.file} holds a set; only a single plan can be drawn"
                )

    def _require_for_a_plan(self, instance: Instance) -> None:
        from decost.files.door import require_plan_file
        from decost.show.report import require_report

        if self.out is not None:
            require_plan_file(self.out, instance, self._dates())
        if self.report is not None:
            require_report(instance, self.report, self.tiles)
        elif self.tiles is not None:
            raise InputError(f"--tiles {self.tiles}: is for a --report")
        if self.date and (self.out is None or self.out.suffix.lower() != ".ics"):
            raise InputError(f"--date {self.date[0]}: is for a calendar, --out F.ics")

    def _dates(self) -> Any:
        """Give the day of all vehicles, or of each one by its id."""
        given = self.date or []
        if not given:
            return None
        if len(given) == 1 and "=" not in given[0]:
            return given[0]
        pairs = [words.rpartition("=") for words in given]
        if not all(equals for _, equals, _ in pairs):
            raise InputError(f"--date {' '.join(given)}: must be one day, or VEHICLE=DAY for each")
        return {vehicle: day for vehicle, _, day in pairs}

    def write_plan(self, result: Result) -> None:
        """Write the plan, and draw it."""
        from decost.files.door import write

        if self.out is not None:
            write(result, self.out, date=self._dates())
        if self.plot is not None:
            draw(result.instance, result.solution, self.plot)

    def explain(self, result: Result, seconds: float | None) -> Any:
        """Find out why stops are left out; there is more time for a report."""
        from decost.planner.explanation import MOST, MOST_FOR_A_PAGE

        most = MOST if self.report is None else MOST_FOR_A_PAGE
        return result.explain(time_limit=most if seconds is None else seconds)

    def write_report(self, result: Result, explanation: Any) -> None:
        """Write the report, if one is wanted."""
        from decost.show.report import write_report

        if self.report is not None:
            told = explanation.to_dict()
            write_report(result, self.report, explanation=told, tiles=self.tiles)

    def tell(self) -> None:
        """Say what was written."""
        for path in self.paths.values():
            typer.echo(f"wrote {path}")
