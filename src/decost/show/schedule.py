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
from matplotlib.ticker import (
    MaxNLocator,
)

from decost.problem.instance import FloatArray, Instance
from decost.show.lanes import Lane, depots
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


class _RowText(NamedTuple):
    """What is written beside a row of the timeline: name and order left of it, profit right."""

    row: float
    name: str
    order: str
    profit: str
    is_title: bool = False


def row_texts(instance: Instance, lanes: Sequence[Lane], names: dict[int, str]) -> list[_RowText]:
    """Say what is written beside the rows."""
    texts = []
    visits = [visit for lane in lanes for visit in lane.route.visits]
    full = instance.full_profit
    form = _column_format(np.array([(visit.profit, full[visit.stop]) for visit in visits]))
    start, end = ("start depot", "end depot") if instance.separate_end else ("depot", "depot")
    for lane in lanes:
        route = lane.route
        if lane.name:
            total = f"profit {number_text(route.profit)}"
            texts.append(_RowText(lane.top, lane.name, "", total, is_title=True))
        else:
            texts.append(_RowText(lane.top, start, "", "profit"))
        for order, (row, visit) in enumerate(zip(lane.rows, route.visits, strict=True), start=1):
            profit = f"{visit.profit:{form}} of {full[visit.stop]:{form}}"
            texts.append(_RowText(row, names[visit.stop], str(order), profit))
        texts.append(_RowText(lane.bottom, end, "", f"back at {number_text(route.finish)}"))
    return texts


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


def draw_timeline(axes: Axes, instance: Instance, lanes: Sequence[Lane]) -> None:
    """Draw all lanes, the budget and the key."""
    ends = [max(lane.route.finish, lane.route.visits[-1].leave) for lane in lanes]
    until = max(instance.budget, *ends, 0.0) or 1.0
    last = lanes[-1].bottom if lanes else 2.0
    axes.set(xlim=(-0.01 * until, 1.02 * until), ylim=(last + 0.7, 0.3), yticks=[])
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
    axes.axvline(
        instance.budget, color=LIMIT, linewidth=1.2, linestyle=DASHES, zorder=2, label="budget"
    )
    tall = size_of(axes)[1] > _TALL
    axes.tick_params(axis="x", top=tall, labeltop=tall)
    raised = 14.0 if tall else 0.0
    write_title(axes, "Timeline", raised=raised)
    axes.legend(
        handles=_timeline_key(instance, lanes),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0 + (3.0 + raised) / size_of(axes)[1]),
        borderaxespad=0.0,
        ncols=6,
        frameon=False,
        fontsize=TEXT,
        labelcolor=INK,
        handlelength=1.8,
        columnspacing=1.6,
    )


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
    departures = np.column_stack(([0.0, *leave], [lane.top, *rows]))
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
    (_, first), (_, last) = depots(instance)[0], depots(instance)[-1]
    for marker, time, row in ((first, 0.0, lane.top), (last, finish, lane.bottom)):
        marker.set(xdata=[time], ydata=[row], markersize=4.5, clip_on=False)
        axes.add_line(marker)


def _draw_windows(axes: Axes, instance: Instance, lane: Lane) -> None:
    """Draw each visit's window as far as it is in view, with an edge where it really ends."""
    stops, rows = list(lane.route.stops), lane.rows
    first, last = axes.get_xlim()
    opens, closes = instance.open[stops], instance.close[stops]
    closes = np.where(closes < np.inf, closes, instance.budget)
    low, high = np.clip(opens, first, last), np.clip(closes, first, last)
    _draw_bars(axes, rows, low, high, 0.84, label="window", facecolors=WINDOW, zorder=1)
    edge: dict[str, Any] = {"colors": RULE, "linewidths": 0.7, "zorder": 1}
    limit: dict[str, Any] = {"colors": LIMIT, "linewidths": 1.8, "zorder": 5, "label": "leave by"}
    for times, style in ((opens, edge), (closes, edge), (instance.leave_by[stops], limit)):
        seen = (first <= times) & (times <= last)
        axes.vlines(times[seen], rows[seen] - 0.42, rows[seen] + 0.42, **style)


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
                color=INK if text.order or text.is_title else MUTED,
                weight="bold" if text.is_title else "normal",
                annotation_clip=False,
                **script.style,
            )


def _timeline_key(instance: Instance, lanes: Sequence[Lane]) -> list[Artist]:
    colour = lanes[0].colour if len(lanes) == 1 else MUTED
    stops = [stop for lane in lanes for stop in lane.route.stops]
    label = f"budget {number_text(instance.budget)}"
    budget = Line2D([], [], color=LIMIT, linewidth=1.2, linestyle=DASHES, label=label)
    if not lanes:
        return [budget]
    key: list[Artist] = [
        Line2D([], [], color=colour, linewidth=1.1, label="travel"),
        Patch(facecolor="white", edgecolor=colour, linewidth=0.9, label="wait"),
        Patch(facecolor=colour, edgecolor=colour, label="stay"),
        Patch(facecolor=WINDOW, edgecolor=RULE, linewidth=0.7, label="window to start in"),
    ]
    if (instance.leave_by[stops] <= instance.budget).any():
        key.append(make_marker("leave by", "|", 60, LIMIT, LIMIT, 1.8))
    return [*key, budget]
