"""The picture of a plan: its map and, below it, its timeline."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.figure import Figure

from decost.problem.checker import choose_alternatives
from decost.problem.instance import Instance
from decost.problem.names import stop_name
from decost.problem.plan import Solution, Ways
from decost.show.lanes import NAME_LENGTH, has_own_shifts, left_out, make_lanes
from decost.show.map import (
    MAP_WIDTH,
    draw_map,
    draw_share_scale,
    height_of_map,
    map_points,
    points_of,
    shown_points,
)
from decost.show.page import (
    HEADING,
    MARGIN,
    WIDTH,
    add_axes,
    find_script,
    number_text,
    write_heading,
)
from decost.show.palette import DPI
from decost.show.schedule import (
    MARK,
    column_widths,
    draw_timeline,
    last_row,
    row_texts,
    time_label,
    write_rows,
)

_MIN_ROW, _MAX_ROW, _MAX_TIMELINE = 0.15, 0.25, 60.0  # inches


def plot_plan(
    instance: Instance,
    solution: Solution,
    *,
    title: str | None = None,
    ways: Ways | None = None,
    remark: str = "",
) -> Figure:
    """Draw a plan: the map of its routes and, below it, the timeline of its visits.

    On the map a stop is as large as the profit it can earn and as dark as the share of it that
    is earned; a stop that is not visited is hollow. Without coordinates the map is laid out so
    that distances resemble travel times (and left out if there are more than 1,000 places). In
    the timeline every visit has a row with its window, its wait and its stay; windows of other
    alternatives that the vehicle could use are thinner. Required stops have a star, and those
    that are left out are red. If the unit is minutes, times are clock times.

    Parameters
    ----------
    instance
        The problem.
    solution
        The plan; it need not be feasible.
    title
        Heading instead of the instance's name.
    ways
        Ways along streets, as `Streets.ways` gives them; straight lines without.
    remark
        A line more below the heading.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, with axes labelled "map", "share" and "timeline". `save_figure` saves it,
        a notebook shows it by itself.
    """
    heading = (instance.name or "Plan") if title is None else title
    solution = choose_alternatives(instance, solution)
    missing = left_out(instance, solution)
    named = {visit.stop for visit in solution.visits} | set(missing)
    names = {stop: stop_name(instance, stop) for stop in sorted(named)}
    written = (heading, *(instance.ids or ()), *instance.places, *(v.id for v in instance.fleet))
    script = find_script("".join((*written, MARK)))
    names = {stop: script.clean(name, NAME_LENGTH) for stop, name in names.items()}
    lanes = make_lanes(instance, solution, script)
    if ways is not None:
        lanes = [
            replace(one, ways=tuple(map_points(instance, way) for way in ways[one.vehicle]))
            for one in lanes
        ]
    points = points_of(instance)

    head = HEADING + (0.22 if missing else 0.0) + (0.22 if remark else 0.0)
    map_height = map_space = 0.0
    if points is not None:
        map_height = height_of_map(shown_points(instance, points, lanes), lanes)
        map_space = map_height + 0.5
    rows = last_row(lanes, missing) + 1.0
    row_height = min(max(9.0 / rows, _MIN_ROW), _MAX_ROW, _MAX_TIMELINE / rows)
    top = head + map_space + 0.45
    height = top + rows * row_height + 0.6

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    complaint = _complaint(names, missing)
    write_heading(
        figure, script.clean(heading, 80), _summary(instance, solution), script, complaint, remark
    )
    if points is not None:
        at = (MARGIN + 0.35, head + 0.1, MAP_WIDTH, map_height)
        axes = add_axes(figure, "map", at)
        draw_map(axes, instance, lanes, missing, points, names, script)
        if lanes:
            draw_share_scale(figure, at)
    texts = row_texts(instance, lanes, missing, names, script)
    columns = column_widths(texts, script)
    left, right = MARGIN + sum(columns[:2]) / 72, MARGIN + sum(columns[2:]) / 72
    at = (left, top, WIDTH - left - right, rows * row_height)
    axes = add_axes(figure, "timeline", at)
    draw_timeline(axes, instance, lanes, missing)
    write_rows(axes, texts, columns, script)
    return figure


def _complaint(names: dict[int, str], missing: list[int]) -> str:
    """Name the required stops that are left out, as many as there is room for."""
    if not missing:
        return ""
    some = ", ".join(names[stop] for stop in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"required, but not visited: {some}{more}"


def _summary(instance: Instance, solution: Solution) -> str:
    team = len(solution.routes) > 1
    facts = [
        f"profit {number_text(solution.profit)}",
        f"{len(solution.visits)} of {instance.stops} stops visited",
    ]
    required = instance.required.nonzero()[0].tolist()
    if required:
        visited = len(required) - len(left_out(instance, solution))
        facts.append(f"{visited} of {len(required)} required ones")
    facts.append(_time_used(instance, solution))
    idle = sum(not route.visits for route in solution.routes)
    if team and idle:
        facts.append(f"{idle} of {len(solution.routes)} vehicles not used")
    return "   ·   ".join(facts)


def _time_used(instance: Instance, solution: Solution) -> str:
    """Say how long it takes: of the budget if vehicles have all of it, else from when to when."""
    moving = [route for route in solution.routes if route.visits or route.finish > route.depart]
    finish = max((route.finish for route in solution.routes), default=0.0)
    if instance.unit is None and not has_own_shifts(instance) and instance.begin == 0:
        what = "longest route" if len(solution.routes) > 1 else "time used"
        return f"{what} {number_text(finish)} of {number_text(instance.budget)}"
    if not moving:
        return "nobody leaves"
    depart = min(route.depart for route in moving)
    return f"{time_label(instance, depart)} to {time_label(instance, finish)}"
