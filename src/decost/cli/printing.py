"""What commands print: plans, sets, text from files, and how long something takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.method.result import Result
    from decost.method.summary import Summary
    from decost.problem.instance import Instance
    from decost.problem.plan import Route

_MOST_NAMES = 10  # of required stops that are left out


def print_plan(result: Result) -> None:
    """Print a plan, a table a route, and what is known about it."""
    from decost.problem.names import detour_of

    console = _console()
    instance = result.instance
    title = shown(instance.name) or instance.problem
    visits = len(result.solution.visits)
    console.print(f"{title}: {visits} of {instance.stops} stops", style="bold")
    detour = detour_of(instance)
    if detour is not None:
        console.print(f"ways are {detour:g} times as long as the straight line")
    for vehicle, route in enumerate(result.solution.routes):
        heading = _heading(instance, vehicle, len(result.solution.routes))
        if route.visits:
            console.print(_route_table(instance, vehicle, route, heading))
        else:
            console.print(f"{heading or 'route'}: {_idle(instance, vehicle, route)}")
    for line in _summary(result):
        console.print(line)


def _heading(instance: Instance, vehicle: int, routes: int) -> str:
    from decost.problem.names import vehicle_name

    name = shown(vehicle_name(instance, vehicle))
    return name or ("" if routes == 1 else f"route {vehicle + 1}")


def _route_table(instance: Instance, vehicle: int, route: Route, heading: str) -> Any:
    from rich.table import Table

    from decost.problem.names import alternative_name

    def time(value: float) -> str:
        return _time(instance, value)

    table = Table(title=heading, title_justify="left", box=_box())
    table.add_column("stop", no_wrap=True)
    ways = [shown(alternative_name(instance, visit)) for visit in route.visits]
    if any(ways):
        table.add_column("by", no_wrap=True)
    for column in ("arrive", "start", "stay", "leave", "profit"):
        table.add_column(column, justify="right", no_wrap=True)
    start, end = _ends(instance, vehicle)
    if start:
        leaves = ["", "", "", time(route.depart), ""]
        table.add_row(start, *([""] if any(ways) else []), *leaves)
        table.add_section()
    for visit, way in zip(route.visits, ways, strict=True):
        mark = " (required)" if instance.required[visit.stop] else ""
        table.add_row(
            shown(str(instance.label(visit.stop))) + mark,
            *([way] if any(ways) else []),
            time(visit.arrive),
            time(visit.start),
            f"{visit.stay:.2f}" if instance.unit is None else f"{visit.stay:.0f}",
            time(visit.leave),
            f"{visit.profit:.2f}",
        )
    table.add_section()
    last = [time(route.finish), "", "", "", f"{route.profit:.2f}"]
    table.add_row(end, *([""] if any(ways) else []), *last)
    return table


def _ends(instance: Instance, vehicle: int) -> tuple[str, str]:
    """Names of a vehicle's start and end; the start goes without saying if all leave at 0."""
    from decost.problem.names import place_name
    from decost.problem.versions import version_of

    if version_of(instance) == 1:
        return "", "back"
    mine = instance.fleet[min(vehicle, instance.vehicles - 1)]
    start, end = (shown(place_name(instance, place)) for place in (mine.start, mine.end))
    return f"from {start or 'its start'}", "back" if mine.start == mine.end else end or "its end"


def _idle(instance: Instance, vehicle: int, route: Route) -> str:
    """Say what a vehicle without visits does."""
    from decost.problem.names import place_name

    mine = instance.fleet[min(vehicle, instance.vehicles - 1)]
    start, end = (shown(place_name(instance, place)) for place in (mine.start, mine.end))
    if mine.underway:
        late = f", late by {_duration(instance, route.late)}" if route.late else ""
        return (
            f"goes to {end or 'its end'} directly, there at {_time(instance, route.finish)}{late}"
        )
    where = "the depot" if mine.start == 0 else start or "its start"
    return f"stays at {where}"


def _time(instance: Instance, value: float) -> str:
    from decost.problem.names import time_text

    return time_text(instance, value, ".2f")


def _duration(instance: Instance, value: float) -> str:
    return f"{value:.2f}" if instance.unit is None else f"{value:.0f} minutes"


def _summary(result: Result) -> list[str]:
    """Say what is earned and proven, which required stops are left out, and why."""
    instance = result.instance
    bound = ""
    if result.status != "optimal" and result.bound is not None:
        gap = 100 * (result.gap or 0)
        share = f"{gap:.2f}%" if gap >= 0.01 else "less than 0.01%"
        bound = f", at most {result.bound:.6g} is possible (gap {share})"
    found_by = f" (plan found by {result.found_by})" if result.found_by else ""
    lines = [
        f"profit {result.profit:.6g}, {result.status}{bound}; "
        f"{result.method}{found_by}, {result.runtime:.3f} s"
    ]
    required = instance.required.nonzero()[0].tolist()
    if required:
        lines.append(_count(result, len(required)))
    visited = {visit.stop for visit in result.solution.visits}
    missing = [shown(str(instance.label(stop))) for stop in required if stop not in visited]
    if missing:
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        lines.append(f"left out: {', '.join(missing[:_MOST_NAMES])}{more}")
    return lines + [f"  {shown(reason)}" for reason in result.reasons]


def _count(result: Result, required: int) -> str:
    """Say how many required stops are visited, and whether more could be."""
    count = f"required: {result.required_visited} of {required} are visited"
    if result.status == "infeasible":
        most = result.required_bound
        more = "none more" if most == result.required_visited else f"at most {most}"
        return f"{count}, {more} can be"
    if result.status == "incomplete":
        return f"{count}, whether more can be is not known"
    return count


def print_set(summary: Summary) -> None:
    """Print what the plans of a set come to, in one table."""
    from rich.table import Table

    table = Table(box=_box())
    for column in ("instances", "mean profit", "optimal", "mean gap to bound", "mean time"):
        table.add_column(column, justify="right", no_wrap=True)
    plans = summary.plans
    table.add_row(
        str(plans),
        f"{summary.profit / plans:.6g}",
        str(summary.optimal),
        "no bound" if summary.unbounded else f"{100 * summary.gap / plans:.3f}%",
        f"{1000 * summary.runtime / plans:.3f} ms",
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
