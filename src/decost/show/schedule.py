"""The timeline of a plan: a row a visit, with its window, its wait and its stay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from decost.problem.clock_times import format_time
from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.names import (
    alternatives_of,
    place_name,
    place_of,
    same_place,
    used_alternative,
)
from decost.problem.plan import Visit
from decost.show.lanes import (
    NAME_LENGTH,
    Lane,
    has_one_depot,
    has_own_shifts,
    lane_markers,
)
from decost.show.page import (
    DASHES,
    STEPS,
    TEXT,
    Script,
    make_marker,
    number_text,
    size_of,
    write_title,
)
from decost.show.palette import BAND, INK, LIMIT, MUTED, RULE, WINDOW

# Lengths in points.
_MIN_TEXT = 6.0
_GAP, _TALL = 8.0, 250.0


MARK = "★"
"""Of required stops, beside the rows."""

MAX_MISSING = 30  # rows of required stops that are left out

# Steps of a clock axis in minutes.
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440)


class _RowText(NamedTuple):
    """What is written beside a row of the timeline: name and order left of it, profit right."""

    row: float
    name: str
    order: str
    profit: str
    is_title: bool = False
    colour: str = MUTED


def last_row(lanes: Sequence[Lane], missing: Sequence[int]) -> float:
    """Last row of the timeline."""
    last = lanes[-1].bottom if lanes else 2.0
    return last + 1.6 + min(len(missing), MAX_MISSING) if missing else last


def _missing_rows(lanes: Sequence[Lane], missing: Sequence[int]) -> FloatArray:
    """Rows of required stops that are left out, below a row for their title."""
    shown = min(len(missing), MAX_MISSING)
    return last_row(lanes, missing) - shown + 1 + np.arange(shown, dtype=np.float64)


def time_label(instance: Instance, time: float) -> str:
    """Write a time: as a clock time if the unit is minutes."""
    return format_time(time) if instance.unit == "minutes" else number_text(time)


def row_texts(
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    names: dict[int, str],
    script: Script,
) -> list[_RowText]:
    """Say what is written beside the rows."""
    texts = []
    visits = [visit for lane in lanes for visit in lane.route.visits]
    full = instance.full_profits
    form = _column_format(np.array([(visit.profit, full[visit.stop]) for visit in visits]))
    clock = instance.unit == "minutes"
    for lane in lanes:
        route = lane.route
        leaves = time_label(instance, route.depart) if clock else ""
        start, end = (_end_name(instance, lane, side, script) for side in (0, -1))
        if lane.name:
            title = lane.name if has_one_depot(instance) else f"{lane.name}, from {start}"
            total = f"profit {number_text(route.profit)}"
            texts.append(_RowText(lane.top, title, leaves, total, is_title=True, colour=INK))
        else:
            texts.append(_RowText(lane.top, start, leaves, "profit"))
        for order, (row, visit) in enumerate(zip(lane.rows, route.visits, strict=True), start=1):
            mark = f"{MARK} " if instance.required[visit.stop] else ""
            name = f"{mark}{names[visit.stop]}{_where(instance, visit, script)}"
            times = f"   {format_time(visit.start)} to {format_time(visit.leave)}" if clock else ""
            profit = f"{visit.profit:{form}} of {full[visit.stop]:{form}}"
            texts.append(_RowText(row, name, f"{order}{times}", profit, colour=INK))
        texts.append(_last_text(instance, lane, end))
    if missing:
        rows = _missing_rows(lanes, missing)
        title = "Required, but not visited"
        texts.append(_RowText(rows[0] - 1, title, "", "", is_title=True, colour=LIMIT))
        for row, stop in zip(rows, missing, strict=False):
            texts.append(_RowText(row, f"{MARK} {names[stop]}", "", "", colour=LIMIT))
        if len(missing) > MAX_MISSING:
            more = f"and {len(missing) - MAX_MISSING + 1} more"
            texts[-1] = _RowText(rows[-1], more, "", "", colour=LIMIT)
    return texts


def _end_name(instance: Instance, lane: Lane, side: int, script: Script) -> str:
    name = place_name(instance, lane.places[side])
    return script.clean(name, NAME_LENGTH) or ("end" if side else "start")


def _where(instance: Instance, visit: Visit, script: Script) -> str:
    """Name the place of a visit, if it could be another one."""
    place = place_of(instance, visit)
    others = instance.alternative_place[list(alternatives_of(instance, visit.stop))].tolist()
    name = place_name(instance, place) if place != visit.stop else ""
    several = any(not same_place(instance, place, other) for other in others)
    return f", {script.clean(name, NAME_LENGTH)}" if several and name else ""


def _last_text(instance: Instance, lane: Lane, end: str) -> _RowText:
    route = lane.route
    finish = time_label(instance, route.finish)
    if route.late:
        late = f"{route.late:.0f} min" if instance.unit == "minutes" else number_text(route.late)
        return _RowText(lane.bottom, end, "", f"at {finish}, late by {late}", colour=LIMIT)
    back = lane.places[0] == lane.places[-1] or has_one_depot(instance)
    return _RowText(lane.bottom, end, "", f"{'back' if back else 'there'} at {finish}")


def _column_format(values: FloatArray) -> str:
    """Format for a column of numbers: four digits of the largest, fewer if they are zeros."""
    largest = values.max(initial=0.0)
    if not 1e-3 < largest < 1e9:
        return ".4g"
    most = max(3 - math.floor(math.log10(largest)), 0)
    rounded = values.round(most)
    return f",.{next(n for n in range(most + 1) if (values.round(n) == rounded).all())}f"


def column_widths(texts: Sequence[_RowText], script: Script) -> list[float]:
    """Widths in points of the columns beside the timeline, with a gap."""
    widths = []
    for column in map(attrgetter, ("name", "order", "profit")):
        titles = (column(text) for text in texts if text.is_title)
        others = (column(text) for text in texts if not text.is_title)
        widths.append(max(script.width(titles, "bold"), script.width(others)) + _GAP)
    return widths


def draw_timeline(
    axes: Axes, instance: Instance, lanes: Sequence[Lane], missing: Sequence[int]
) -> None:
    """Draw all lanes, required stops that are left out, when vehicles are due, and the key."""
    times = [time for lane in lanes for time in _times(lane)]
    since = min(*(one.begin for one in instance.fleet), *times, math.inf)
    until = max(*(one.due for one in instance.fleet), *times, -math.inf)
    span = until - since or 1.0
    last = last_row(lanes, missing)
    axes.set(xlim=(since - 0.01 * span, since + 1.02 * span), ylim=(last + 0.7, 0.3), yticks=[])
    if instance.unit == "minutes":
        axes.xaxis.set_major_locator(_clock_locator(span))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda time, _: format_time(time)))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(10, steps=STEPS))
    axes.grid(axis="x", color=WINDOW, linewidth=0.6)
    axes.set_xlabel("time", size=8, color=MUTED)
    for lane in lanes:
        _draw_lane(axes, instance, lane)
    if not lanes:
        axes.text(
            0.5,
            0.5,
            "no stop is visited",
            transform=axes.transAxes,
            size=9,
            color=MUTED,
            ha="center",
            va="center",
        )
    _draw_missing(axes, instance, lanes, missing)
    line: dict[str, Any] = {"color": LIMIT, "linewidth": 1.2, "linestyle": DASHES, "zorder": 2}
    if has_own_shifts(instance):
        for lane in lanes:
            span_of_rows = (lane.top - 0.5, lane.bottom + 0.5)
            for time in (lane.begin, lane.due):
                axes.plot((time, time), span_of_rows, label="shift", **line)
    else:
        axes.axvline(instance.budget, label="budget", **line)
    tall = size_of(axes)[1] > _TALL
    axes.tick_params(axis="x", top=tall, labeltop=tall)
    raised = 14.0 if tall else 0.0
    write_title(axes, "Timeline", raised=raised)
    axes.legend(
        handles=_timeline_key(instance, lanes, {str(c.get_label()) for c in axes.collections}),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0 + (3.0 + raised) / size_of(axes)[1]),
        borderaxespad=0.0,
        ncols=8,
        frameon=False,
        fontsize=TEXT,
        labelcolor=INK,
        handlelength=1.8,
        columnspacing=1.6,
    )


def _times(lane: Lane) -> tuple[float, ...]:
    """Give the times that have to be in view."""
    leaves = [visit.leave for visit in lane.route.visits[-1:]]
    return (lane.route.depart, lane.route.finish, *leaves)


def _clock_locator(span: float) -> MultipleLocator:
    """Ticks at whole hours, or at round parts or multiples of them."""
    step = next((step for step in _CLOCK_STEPS if span <= 12 * step), None)
    return MultipleLocator(step or 1440 * math.ceil(span / 1440 / 12))


def _draw_lane(axes: Axes, instance: Instance, lane: Lane) -> None:
    """Draw the windows of a route's visits, and the route down from row to row."""
    visits, rows, colour, finish = lane.route.visits, lane.rows, lane.colour, lane.route.finish
    if lane.name:
        band = (lane.top - 0.5, lane.bottom + 0.5)
        axes.axhspan(*band, facecolor=BAND, zorder=0)
        edge = axes.get_yaxis_transform()
        axes.plot((0, 0), band, transform=edge, color=colour, linewidth=4, solid_capstyle="butt")
    _draw_windows(axes, instance, lane)
    arrive = np.array([visit.arrive for visit in visits])
    start = np.array([visit.start for visit in visits])
    leave = np.array([visit.leave for visit in visits])
    departures = np.column_stack(([lane.route.depart, *leave], [lane.top, *rows]))
    arrivals = np.column_stack(([*arrive, finish], [*rows, lane.bottom]))
    legs = np.stack((departures, arrivals), axis=1)
    axes.add_collection(
        LineCollection(list(legs), colors=colour, linewidths=1.1, zorder=3, label="travel"),
        autolim=False,
    )
    style: dict[str, Any] = {"edgecolors": colour, "linewidths": 0.9, "zorder": 4}
    late = start > arrive
    _draw_bars(
        axes, rows[late], arrive[late], start[late], 0.28, label="wait", facecolors="white", **style
    )
    # Its edge keeps a stay of no length in sight.
    _draw_bars(axes, rows, start, leave, 0.6, label="stay", facecolors=colour, **style)
    first, last = lane_markers(instance, lane)
    for marker, time, row in ((first, lane.route.depart, lane.top), (last, finish, lane.bottom)):
        marker.set(xdata=[time], ydata=[row], markersize=4.5, clip_on=False)
        axes.add_line(marker)


def _draw_windows(axes: Axes, instance: Instance, lane: Lane) -> None:
    """Draw each visit's window, and thinner those of others that the vehicle could use."""
    admits = instance.alternative_vehicles
    vehicle = min(lane.vehicle, instance.vehicles - 1)
    used, others = [], []
    for row, visit in zip(lane.rows, lane.route.visits, strict=True):
        number = used_alternative(instance, visit)
        for way in alternatives_of(instance, visit.stop):
            if way == number:
                used.append((row, way))
            elif admits is None or admits[way, vehicle]:
                others.append((row, way))
    _draw_ways(axes, instance, others, 0.3, "other window")
    _draw_ways(axes, instance, used, 0.84, "window")
    rows, ways = _columns(used)
    times = instance.alternative_leave_by[ways]
    first, last = axes.get_xlim()
    seen = (first <= times) & (times <= last)
    low, high = rows[seen] - 0.42, rows[seen] + 0.42
    axes.vlines(times[seen], low, high, colors=LIMIT, linewidths=1.8, zorder=5, label="leave by")


def _draw_missing(
    axes: Axes, instance: Instance, lanes: Sequence[Lane], missing: Sequence[int]
) -> None:
    """Draw the windows of required stops that are left out."""
    shown = [
        (row, way)
        for row, stop in zip(_missing_rows(lanes, missing), missing, strict=False)
        for way in alternatives_of(instance, stop)
    ]
    _draw_ways(axes, instance, shown, 0.84, "window of a stop left out")


def _columns(shown: Sequence[tuple[float, int]]) -> tuple[FloatArray, IntArray]:
    rows = np.array([row for row, _ in shown], dtype=np.float64)
    return rows, np.array([way for _, way in shown], dtype=np.int64)


def _draw_ways(
    axes: Axes, instance: Instance, shown: Sequence[tuple[float, int]], height: float, label: str
) -> None:
    """Draw windows of alternatives as far as in view, with an edge where they really end."""
    if not shown:
        return
    rows, ways = _columns(shown)
    first, last = axes.get_xlim()
    opens = instance.alternative_open[ways]
    closes = np.minimum(instance.alternative_close[ways], instance.alternative_leave_by[ways])
    ends = np.where(closes < np.inf, closes, max(one.due for one in instance.fleet))
    low, high = np.clip(opens, first, last), np.clip(ends, first, last)
    _draw_bars(axes, rows, low, high, height, label=label, facecolors=WINDOW, zorder=1)
    for times in (opens, closes):
        seen = (first <= times) & (times <= last)
        axes.vlines(
            times[seen],
            rows[seen] - height / 2,
            rows[seen] + height / 2,
            colors=RULE,
            linewidths=0.7,
            zorder=1,
        )


def _draw_bars(
    axes: Axes, rows: FloatArray, low: FloatArray, high: FloatArray, height: float, **style: Any
) -> None:
    top, bottom = rows - height / 2, rows + height / 2
    corners = [(low, top), (high, top), (high, bottom), (low, bottom)]
    boxes = np.stack([np.column_stack(corner) for corner in corners], axis=1)
    axes.add_collection(PolyCollection(list(boxes), **style), autolim=False)


def write_rows(
    axes: Axes, texts: Sequence[_RowText], columns: Sequence[float], script: Script
) -> None:
    """Write beside the rows, every second one or fewer if the rows are thin."""
    height = float(size_of(axes)[1] / np.ptp(axes.get_ylim()))
    size = min(TEXT, max(0.75 * height, _MIN_TEXT))
    for text in texts[:: math.ceil(size / height)]:
        ends = (
            (text.name, 0, -columns[1] - _GAP),
            (text.order, 0, -_GAP),
            (text.profit, 1, columns[2]),
        )
        for words, side, offset in ends:
            axes.annotate(
                words,
                (side, text.row),
                (offset, 0),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                ha="right",
                va="center_baseline",
                size=size,
                color=text.colour,
                weight="bold" if text.is_title else "normal",
                annotation_clip=False,
                **script.style,
            )


def _timeline_key(instance: Instance, lanes: Sequence[Lane], labels: set[str]) -> list[Artist]:
    """Explain what is drawn, which `labels` tell."""
    colour = lanes[0].colour if len(lanes) == 1 else MUTED
    own = has_own_shifts(instance)
    label = "begin and due" if own else f"budget {time_label(instance, instance.budget)}"
    limit = Line2D([], [], color=LIMIT, linewidth=1.2, linestyle=DASHES, label=label)
    if not lanes:
        return [] if own else [limit]
    key: list[Artist] = [
        Line2D([], [], color=colour, linewidth=1.1, label="travel"),
        Patch(facecolor="white", edgecolor=colour, linewidth=0.9, label="wait"),
        Patch(facecolor=colour, edgecolor=colour, label="stay"),
    ]
    style: dict[str, Any] = {"facecolor": WINDOW, "edgecolor": RULE, "linewidth": 0.7}
    ways = [
        number
        for lane in lanes
        for visit in lane.route.visits
        if (number := used_alternative(instance, visit)) is not None
    ]
    leave_by = bool((instance.alternative_leave_by[ways] <= instance.budget).any())
    if "window" in labels:
        key.append(Patch(label="window" if leave_by else "window to start in", **style))
    if "other window" in labels:
        key.append(Line2D([], [], color=WINDOW, linewidth=3, label="other window"))
    if leave_by:
        key.append(make_marker("leave by", "|", 60, LIMIT, LIMIT, 1.8))
    return [*key, limit]
