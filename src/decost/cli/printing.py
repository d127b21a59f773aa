"""What commands print: plans, sets, text from files, and how long something takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.method.result import Result


def print_plan(result: Result) -> None:
    """Print a plan, a table a route."""
    from rich.table import Table

    console = _console()
    instance = result.instance
    title = shown(instance.name) or instance.problem
    visits = len(result.solution.visits)
    console.print(f"{title}: {visits} of {instance.stops} stops", style="bold")
    for number, route in enumerate(result.solution.routes, start=1):
        heading = "" if len(result.solution.routes) == 1 else f"route {number}"
        if not route.visits:
            console.print(f"{heading or 'route'}: stays at the depot")
            continue
        table = Table(title=heading, title_justify="left", box=_box())
        table.add_column("stop", no_wrap=True)
        for column in ("arrive", "start", "stay", "leave", "profit"):
            table.add_column(column, justify="right", no_wrap=True)
        for visit in route.visits:
            times = (visit.arrive, visit.start, visit.stay, visit.leave, visit.profit)
            label = instance.label(visit.stop)
            table.add_row(shown(str(label)), *(f"{value:.2f}" for value in times))
        table.add_section()
        table.add_row("back", f"{route.finish:.2f}", "", "", "", f"{route.profit:.2f}")
        console.print(table)
    console.print(_summary(result))


def _summary(result: Result) -> str:
    bound = ""
    if result.status != "optimal" and result.bound is not None:
        gap = 100 * (result.gap or 0)
        shown = f"{gap:.2f}%" if gap >= 0.01 else "less than 0.01%"
        bound = f", at most {result.bound:.6g} is possible (gap {shown})"
    found_by = f" (plan found by {result.found_by})" if result.found_by else ""
    return (
        f"profit {result.profit:.6g}, {result.status}{bound}; "
        f"{result.method}{found_by}, {result.runtime:.3f} s"
    )


def print_set(answers: list[dict[str, Any]]) -> None:
    """Print what the plans of a set come to, in one table."""
    from statistics import fmean

    from rich.table import Table

    from decost.method.result import gap_of

    table = Table(box=_box())
    for column in ("instances", "mean profit", "optimal", "mean gap to bound", "mean time"):
        table.add_column(column, justify="right", no_wrap=True)
    gaps = [gap_of(answer["profit"], answer["bound"]) for answer in answers]
    known = [gap for gap in gaps if gap is not None]
    table.add_row(
        str(len(answers)),
        f"{fmean(answer['profit'] for answer in answers):.6g}",
        str(sum(answer["status"] == "optimal" for answer in answers)),
        f"{100 * fmean(known):.3f}%" if len(known) == len(gaps) else "no bound",
        f"{1000 * fmean(answer['runtime'] for answer in answers):.3f} ms",
    )
    _console().print(table)


def _console() -> Any:
    from rich.console import Console

    # Names are shown as they are; not a terminal: wide enough that no table is cut.
    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False, markup=False, emoji=False)


def _box() -> Any:
    from rich import box

    return box.SIMPLE_HEAD


def shown(text: str) -> str:
    """Text from a file, in one line and without codes that a terminal would obey."""
    return "".join(character if character.isprintable() else " " for character in text)


def duration(seconds: float) -> str:
    """Write a time in the units that suit it."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes else f"{seconds:.0f} s"
