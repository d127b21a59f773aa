"""The files that commands write of a plan: the plan itself, a picture, a report."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decost.cli.shared import SIGNALS, InputError, draw, require_other, require_picture

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


STDOUT = Path("-")
_AFTER_INTERRUPTION = 0.3  # seconds


@dataclass(frozen=True)
class Outputs:
    """The files to write of a plan of the instance in `file`."""

    file: Path
    out: Path | None = None
    plot: Path | None = None
    report: Path | None = None
    tiles: str | None = None
    date: list[str] | None = None
    streets: Any = None
    """What knows ways along streets."""
    as_json: bool = False
    remark: str = ""
    """A line more about the plan, in print and in its picture."""

    @property
    def printed(self) -> bool:
        """Whether the plan as a file is what is printed, and nothing else: `--out -`."""
        return self.out == STDOUT

    @property
    def paths(self) -> dict[str, Path]:
        """Paths by their options."""
        named = {"--out": self.out, "--plot": self.plot, "--report": self.report}
        return {
            option: path for option, path in named.items() if path is not None and path != STDOUT
        }

    def require(self, instance: Instance | None) -> None:
        """Refuse what could not be written later; without an instance there is a set."""
        from decost.files.writing import linked, require_writable

        if self.printed and self.as_json:
            raise InputError("--out -: prints the plan, and so does --json; choose one")
        for path in self.paths.values():
            require_writable(path)
            require_other(path, self.file)
        for (one, path), (other, its) in combinations(self.paths.items(), 2):
            if linked(path) == linked(its):
                raise InputError(f"{one} {path}, {other} {its}: one would overwrite the other")
        if instance is None:
            self.require_for_a_set()
            return
        if self.plot is not None:
            require_picture(self.plot)
        self._require_for_a_plan(instance)

    def require_for_a_set(self) -> None:
        """Refuse what is for a single plan."""
        for option, path in self.paths.items():
            if option != "--out":
                raise InputError(
                    f"{option} {path}: {self.file} holds a set; only a single plan can be drawn"
                )
        day = self.date[0] if self.date else None
        for option, value in (("--tiles", self.tiles), ("--date", day)):
            if value is not None:
                raise InputError(f"{option} {value}: {self.file} holds a set; it is for one plan")

    def _require_for_a_plan(self, instance: Instance) -> None:
        from decost.files.door import require_plan_file
        from decost.show.report import require_report

        if self.out is not None and not self.printed:
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
        """Write the plan, or print it as a file; draw it."""
        from decost.files.door import plan_text, write

        if self.printed:
            typer.echo(plan_text(result), nl=False)
        elif self.out is not None:
            write(result, self.out, date=self._dates(), ways=self._ways(result))
        if self.plot is not None:
            draw(result.instance, result.solution, self.plot, self._ways(result), self.remark)

    def _ways(self, result: Result) -> Any:
        """Give the ways along streets if they are known, and something shows them."""
        drawn = self.plot or self.report or (self.out and self.out.suffix.lower() == ".geojson")
        if self.streets is None or not drawn:
            return None
        return self.streets.ways(result.instance, result.solution)

    def explain(self, result: Result, seconds: float | None) -> Any:
        """Find out why stops are left out; there is more time for a report."""
        from decost.planner.explanation import MOST, MOST_FOR_A_PAGE

        most = MOST if self.report is None else MOST_FOR_A_PAGE
        limit = most if seconds is None else seconds
        if SIGNALS:  # whoever wants to end does not want to wait
            limit = min(limit, _AFTER_INTERRUPTION)
        return result.explain(time_limit=limit)

    def write_report(self, result: Result, explanation: Any) -> None:
        """Write the report, if one is wanted."""
        from decost.show.report import write_report

        if self.report is not None:
            told = explanation.to_dict()
            ways = self._ways(result)
            write_report(result, self.report, explanation=told, tiles=self.tiles, ways=ways)

    def tell(self) -> None:
        """Say what was written."""
        for path in self.paths.values():
            typer.echo(f"wrote {path}", err=self.printed)
