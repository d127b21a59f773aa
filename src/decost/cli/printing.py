"""What commands print: plans, sets, text from files, and how long something takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.method.result import Result
    from decost.problem.instance import Instance
    from decost.problem.plan import Route


def print_plan(result: Result) -> None:
    """Print a plan, a table a route, and what is known about it."""
    from rich.table import Table

    console = _console()
    instance = result.instance
    title = shown(instance.name) or instance.problem
    visits = len(result.solution.visits)
    console.print(f"{title}: {visits} of {instance.stops} stops", style="bold")
    several = instance.alternative_count > instance.stops
    for number, route in enumerate(result.solution.routes):
        heading = _heading(instance, number)
        if not route.visits:
            console.print(f"{heading or 'route'}: {_idle(instance, number, route)}")
            continue
        table = Table(title=heading, title_justify="left", box=_box())
        table.add_column("stop", no_wrap=True)
        columns = ["arrive", "start", "stay", "leave", "profit"] + ["alternative"] * several
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for visit in route.visits:
            required = " (required)" if instance.required[visit.stop] else ""
            table.add_row(
                shown(f"{instance.label(visit.stop)}{required}"),
                shown_time(instance, visit.arrive),
                shown_time(instance, visit.start),
                f"{visit.stay:.2f}",
                shown_time(instance, visit.leave),
                f"{visit.profit:.2f}",
                *[str(visit.alternative)] * several,
            )
        table.add_section()
        table.add_row("back", shown_time(instance, route.finish), "", "", "", f"{route.profit:.2f}")
        console.print(table)
    if instance.geographic and instance.matrix is None and instance.matrices is None:
        console.print(f"ways are {instance.detour:g} times as long as great circles")
    console.print(_summary(result))
    for line in _requirements(result):
        console.print(shown(line))


def shown_time(instance: Instance, time: float) -> str:
    """Write a time: by the clock if the unit is minutes."""
    from decost.problem.clock_times import format_time

    return f"{time:.2f}" if instance.unit is None else format_time(time)


def _heading(instance: Instance, vehicle: int) -> str:
    name = instance.fleet[vehicle].id
    if name != str(vehicle + 1):
        return shown(name)
    return "" if instance.vehicles == 1 else f"route {vehicle + 1}"


def _idle(instance: Instance, vehicle: int, route: Route) -> str:
    mine = instance.fleet[vehicle]
    if mine.underway:
        late = f", {route.late:.2f} too late" if route.late else ""
        return f"goes home, is there at {shown_time(instance, route.finish)}{late}"
    return "stays at the depot" if mine.start == 0 else "does not move"


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


def _requirements(result: Result) -> Iterator[str]:
    """Say which required stops are left out, and why as far as is known."""
    instance = result.instance
    visited = {visit.stop for visit in result.solution.visits}
    stops = instance.required.nonzero()[0].tolist()
    missing = [str(instance.label(stop)) for stop in stops if stop not in visited]
    if not missing:
        return
    proven = ""
    if result.required_bound < len(stops):
        proven = f", at most {result.required_bound} can be"
    yield f"required: {result.required_visited} of {len(stops)} are visited{proven}"
    yield f"left out: {', '.join(missing)}"
    yield from result.reasons


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
