"""The picture of a plan: its map and, below it, its timeline."""

from __future__ import annotations

from matplotlib.figure import Figure

from decost.problem.instance import Instance
from decost.problem.plan import Solution
from decost.show.lanes import make_lanes
from decost.show.map import MAP_WIDTH, draw_map, draw_share_scale, height_of_map, places_of
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
from decost.show.schedule import column_widths, draw_timeline, row_texts, write_rows

_MIN_ROW, _MAX_ROW, _MAX_TIMELINE = 0.15, 0.25, 60.0  # inches


def plot_plan(instance: Instance, solution: Solution, *, title: str | None = None) -> Figure:
    """Draw a plan: the map of its routes and, below it, the timeline of its visits.

    On the map a stop is as large as the profit it can earn and as dark as the share of it that
    is earned; a stop that is not visited is hollow. Without coordinates the map is laid out so
    that distances resemble travel times (and left out if there are more than 1,000 places). In
    the timeline every visit has a row with its window, its wait and its stay.

    Parameters
    ----------
    instance
        The problem.
    solution
        The plan; it need not be feasible.
    title
        Heading instead of the instance's name.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, with axes labelled "map", "share" and "timeline". `save_figure` saves it,
        a notebook shows it by itself.
    """
    heading = (instance.name or "Plan") if title is None else title
    names = {visit.stop: _stop_name(instance, visit.stop) for visit in solution.visits}
    script = find_script("".join((heading, *names.values())))
    names = {stop: script.clean(name, 24) for stop, name in names.items()}
    lanes = make_lanes(solution)
    points = places_of(instance)

    map_height = 0.0 if points is None else height_of_map(points)
    map_space = 0.0 if points is None else map_height + 0.5
    rows = lanes[-1].bottom + 1.0 if lanes else 3.0
    row_height = min(max(9.0 / rows, _MIN_ROW), _MAX_ROW, _MAX_TIMELINE / rows)
    top = HEADING + map_space + 0.45
    height = top + rows * row_height + 0.6

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    write_heading(figure, script.clean(heading, 80), _summary(instance, solution), script)
    if points is not None:
        at = (MARGIN + 0.35, HEADING + 0.1, MAP_WIDTH, map_height)
        draw_map(add_axes(figure, "map", at), instance, lanes, points, names, script)
        if lanes:
            draw_share_scale(figure, at)
    texts = row_texts(instance, lanes, names)
    columns = column_widths(texts, script)
    left, right = MARGIN + sum(columns[:2]) / 72, MARGIN + sum(columns[2:]) / 72
    at = (left, top, WIDTH - left - right, rows * row_height)
    axes = add_axes(figure, "timeline", at)
    draw_timeline(axes, instance, lanes)
    write_rows(axes, texts, columns, script)
    return figure


def _stop_name(instance: Instance, stop: int) -> str:
    return f"stop {stop}" if instance.ids is None else str(instance.label(stop))


def _summary(instance: Instance, solution: Solution) -> str:
    finish = max((route.finish for route in solution.routes), default=0.0)
    team = len(solution.routes) > 1
    facts = [
        f"profit {number_text(solution.profit)}",
        f"{len(solution.visits)} of {instance.stops} stops visited",
        f"{'longest route' if team else 'time used'} {number_text(finish)}"
        f" of {number_text(instance.budget)}",
    ]
    idle = sum(not route.visits for route in solution.routes)
    if team and idle:
        facts.append(f"{idle} of {len(solution.routes)} vehicles not used")
    return "   ·   ".join(facts)
