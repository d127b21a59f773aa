"""Pictures: of a plan, its route map and timeline; of a training, its curves."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.patheffects import withStroke
from matplotlib.textpath import text_to_path
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    PercentFormatter,
    SymmetricalLogLocator,
)

from decost.files.writing import replacing
from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import Route, Solution, Visit
from decost.show.palette import BAND, DPI, INK, LIMIT, MUTED, ROUTE_COLOURS, RULE, WINDOW

FORMATS = ("png", "pdf", "svg")
"""Endings of the files that `save_figure` writes."""

# Greys: a hue would be taken for the colour of a route.
_SHARE_COLOURS = LinearSegmentedColormap.from_list("share", ("#f3f4f6", "#a2a9b2", "#1f242b"))

# Lengths on the page in inches.
_WIDTH, _MARGIN, _KEY_WIDTH, _HEADING = 10.0, 0.35, 1.9, 1.0
_MAP_WIDTH = _WIDTH - _KEY_WIDTH - 2 * _MARGIN - 0.35
_MIN_MAP, _MAX_MAP = 3.0, 5.8
_MIN_ROW, _MAX_ROW, _MAX_TIMELINE = 0.15, 0.25, 60.0

# Lengths in points.
_TEXT, _MIN_TEXT = 7.5, 6.0
_DEPOT_AREA, _MIN_AREA = 80.0, 16.0
_GAP, _TALL = 8.0, 250.0
_DASHES = (0, (5, 2.5))
_STEPS = (1, 2, 2.5, 5, 10)

_MAX_MAP_LABELS = 120
_MAX_MAP_IDS, _MAX_ID_LENGTH = 30, 14
_TINY_GAP = 0.01  # percent; below it an axis is linear, if it has to show zero
_MAX_SCALED = 1_000  # places; without coordinates, laying out more of them takes too long


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
    script = _find_script("".join((heading, *names.values())))
    names = {stop: script.clean(name, 24) for stop, name in names.items()}
    lanes = _make_lanes(solution)
    points = _places(instance)

    map_height = 0.0 if points is None else _map_height(points)
    map_space = 0.0 if points is None else map_height + 0.5
    rows = lanes[-1].bottom + 1.0 if lanes else 3.0
    row_height = min(max(9.0 / rows, _MIN_ROW), _MAX_ROW, _MAX_TIMELINE / rows)
    top = _HEADING + map_space + 0.45
    height = top + rows * row_height + 0.6

    figure = Figure(figsize=(_WIDTH, height), dpi=DPI, facecolor="white")
    _write_heading(figure, script.clean(heading, 80), _summary(instance, solution), script)
    if points is not None:
        at = (_MARGIN + 0.35, _HEADING + 0.1, _MAP_WIDTH, map_height)
        _draw_map(_add_axes(figure, "map", at), instance, lanes, points, names, script)
        if lanes:
            _draw_share_scale(figure, at)
    texts = _row_texts(instance, lanes, names)
    columns = _column_widths(texts, script)
    left, right = _MARGIN + sum(columns[:2]) / 72, _MARGIN + sum(columns[2:]) / 72
    at = (left, top, _WIDTH - left - right, rows * row_height)
    axes = _add_axes(figure, "timeline", at)
    _draw_timeline(axes, instance, lanes)
    _write_rows(axes, texts, columns, script)
    return figure


def plot_training(history: Sequence[Mapping[str, float]]) -> Figure:
    """Draw how a training went: its validation gap and, below it, its mean training profit.

    Parameters
    ----------
    history
        A row for each epoch: "epoch" (by default the row's number, from 1), "gap" (of the
        validation, in percent) and "profit" (mean of the training). Other values are not
        drawn, and one that is missing or not finite is passed over.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, with axes labelled "gap" and "profit", of which one is left out if there
        is nothing to draw. The gap has a logarithmic axis, which is linear around zero if
        there are gaps of zero or less.

    Raises
    ------
    ValueError
        If there is neither a gap nor a profit.
    """
    epochs, gaps, profits = _columns(history)
    panels = [
        (label, values)
        for label, values in (("gap", gaps), ("profit", profits))
        if np.isfinite(values).any()
    ]
    if not panels:
        raise ValueError("history: has neither a gap nor a profit to draw")
    best = int(np.nanargmin(gaps)) if np.isfinite(gaps).any() else None

    panel_height, between = 2.6, 0.5
    height = _HEADING + len(panels) * (panel_height + between) + 0.15
    figure = Figure(figsize=(_WIDTH, height), dpi=DPI, facecolor="white")
    _write_heading(figure, "Training", _training_summary(epochs, gaps, best), _find_script(""))
    for number, (label, values) in enumerate(panels):
        top = _HEADING + 0.1 + number * (panel_height + between)
        at = (_MARGIN + 0.45, top, _WIDTH - 2 * _MARGIN - 0.55, panel_height)
        axes = _add_axes(figure, label, at)
        _draw_curve(axes, label, epochs, values)
        if best is not None:
            _mark_best(axes, label, epochs, values, best)
    axes.set_xlabel("epoch", size=8, color=MUTED)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure; a file that is there already is replaced at once or left as it is.

    Parameters
    ----------
    figure
        The picture.
    path
        Where to. Its ending is the format: .png, .pdf or .svg.

    Raises
    ------
    ValueError
        If the ending is none of these.
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    ending = target.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise ValueError(f"{target}: ends in {target.suffix!r}, choose from: {known}")
    with replacing(target) as temporary, temporary.open("wb") as file:
        figure.savefig(file, format=ending)


class _Script(NamedTuple):
    """How to write what users named: literally, in fonts that have the characters."""

    families: tuple[str, ...]
    known: frozenset[int]

    @property
    def style(self) -> dict[str, Any]:
        return {"fontfamily": list(self.families), "parse_math": False, "usetex": False}

    def clean(self, text: str, longest: int) -> str:
        line = " ".join(text.split())
        if len(line) > longest:
            line = line[: longest - 1].rstrip() + "…"
        return "".join(character if ord(character) in self.known else "?" for character in line)

    def width(self, texts: Iterable[str], weight: str = "normal") -> float:
        """Width of the widest text in points; only the longest are measured, as it takes time."""
        font = FontProperties(family=list(self.families), size=_TEXT, weight=weight)
        measure = text_to_path.get_text_width_height_descent
        longest = sorted({text for text in texts if text}, key=len)[-50:]
        return max((float(measure(text, font, False)[0]) for text in longest), default=0.0)


@dataclass(frozen=True)
class _Lane:
    """A route's rows in the timeline: its start, one for each visit, its end."""

    route: Route
    vehicle: int
    name: str
    top: float

    @property
    def colour(self) -> str:
        return ROUTE_COLOURS[self.vehicle % len(ROUTE_COLOURS)]

    @property
    def rows(self) -> FloatArray:
        return self.top + 1 + np.arange(len(self.route.visits), dtype=np.float64)

    @property
    def bottom(self) -> float:
        return self.top + 1 + len(self.route.visits)


class _RowText(NamedTuple):
    """What is written beside a row of the timeline: name and order left of it, profit right."""

    row: float
    name: str
    order: str
    profit: str
    is_title: bool = False


def _make_lanes(solution: Solution) -> list[_Lane]:
    """Give a lane to every route that has visits, and a name if there are several vehicles."""
    lanes: list[_Lane] = []
    for vehicle, route in enumerate(solution.routes):
        if route.visits:
            name = f"Route {vehicle + 1}" if len(solution.routes) > 1 else ""
            top = lanes[-1].bottom + 1.6 if lanes else 1.0
            lanes.append(_Lane(route, vehicle, name, top))
    return lanes


# Text


def _find_script(text: str) -> _Script:
    """Choose the default font, and others for the characters that it lacks."""
    default = FontProperties()
    families = [default.get_name()]
    known = set(get_font(findfont(default)).get_charmap())
    missing = {ord(character) for character in text if not character.isspace()} - known
    for family in _plain_families() if missing else ():
        found = missing.intersection(
            get_font(findfont(FontProperties(family=family))).get_charmap()
        )
        if found:
            families.append(family)
            known |= found
            missing -= found
    return _Script(tuple(families), frozenset(known))


def _plain_families() -> list[str]:
    fonts = [font for font in fontManager.ttflist if font.weight == 400 and font.style == "normal"]
    # A font of last resort has every character, all of them as boxes.
    return sorted({font.name for font in fonts if not font.name.startswith("Last Resort")})


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"


def _stop_name(instance: Instance, stop: int) -> str:
    return f"stop {stop}" if instance.ids is None else str(instance.label(stop))


def _summary(instance: Instance, solution: Solution) -> str:
    finish = max((route.finish for route in solution.routes), default=0.0)
    team = len(solution.routes) > 1
    facts = [
        f"profit {_number(solution.profit)}",
        f"{len(solution.visits)} of {instance.stops} stops visited",
        f"{'longest route' if team else 'time used'} {_number(finish)} of "
        f"{_number(instance.budget)}",
    ]
    idle = sum(not route.visits for route in solution.routes)
    if team and idle:
        facts.append(f"{idle} of {len(solution.routes)} vehicles not used")
    return "   ·   ".join(facts)


def _row_texts(instance: Instance, lanes: Sequence[_Lane], names: dict[int, str]) -> list[_RowText]:
    texts = []
    visits = [visit for lane in lanes for visit in lane.route.visits]
    full = instance.full_profit
    form = _column_format(np.array([(visit.profit, full[visit.stop]) for visit in visits]))
    start, end = ("start depot", "end depot") if instance.separate_end else ("depot", "depot")
    for lane in lanes:
        route = lane.route
        if lane.name:
            total = f"profit {_number(route.profit)}"
            texts.append(_RowText(lane.top, lane.name, "", total, is_title=True))
        else:
            texts.append(_RowText(lane.top, start, "", "profit"))
        for order, (row, visit) in enumerate(zip(lane.rows, route.visits, strict=True), start=1):
            profit = f"{visit.profit:{form}} of {full[visit.stop]:{form}}"
            texts.append(_RowText(row, names[visit.stop], str(order), profit))
        texts.append(_RowText(lane.bottom, end, "", f"back at {_number(route.finish)}"))
    return texts


def _column_format(values: FloatArray) -> str:
    """Format for a column of numbers: four digits of the largest, fewer if they are zeros."""
    largest = values.max(initial=0.0)
    if not 1e-3 < largest < 1e9:
        return ".4g"
    most = max(3 - math.floor(math.log10(largest)), 0)
    rounded = values.round(most)
    return f",.{next(n for n in range(most + 1) if (values.round(n) == rounded).all())}f"


def _column_widths(texts: Sequence[_RowText], script: _Script) -> list[float]:
    """Widths in points of the columns beside the timeline, with a gap."""
    widths = []
    for column in map(attrgetter, ("name", "order", "profit")):
        titles = (column(text) for text in texts if text.is_title)
        others = (column(text) for text in texts if not text.is_title)
        widths.append(max(script.width(titles, "bold"), script.width(others)) + _GAP)
    return widths


def _write_heading(figure: Figure, heading: str, summary: str, script: _Script) -> None:
    height = figure.get_figheight()
    left = _MARGIN / _WIDTH
    figure.text(left, 1 - 0.42 / height, heading, size=14, color=INK, **script.style)
    figure.text(left, 1 - 0.66 / height, summary, size=9.5, color=MUTED)


def _write_title(axes: Axes, title: str, remark: str = "", raised: float = 0.0) -> None:
    """Write a title above the axes, at the left margin of the page."""
    offset: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False}
    left, above = (_MARGIN - axes.get_position().x0 * _WIDTH) * 72, 7 + raised
    first = axes.annotate(
        title, (0, 1), (left, above), "axes fraction", size=9.5, weight="bold", color=INK, **offset
    )
    beside = (first, "axes fraction")
    axes.annotate(remark, (1, 1), (8, above), beside, size=8, color=MUTED, **offset)


def _add_axes(figure: Figure, label: str, at: tuple[float, float, float, float]) -> Axes:
    """Add axes at (left, top, width, height) in inches from the upper left corner."""
    left, top, width, height = at
    total = figure.get_figheight()
    rectangle = (left / _WIDTH, 1 - (top + height) / total, width / _WIDTH, height / total)
    axes = figure.add_axes(rectangle, label=label, facecolor="white")
    axes.tick_params(labelsize=7, color=RULE, labelcolor=MUTED, length=2.5, width=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set(size=7)
    for spine in axes.spines.values():
        spine.set(color=RULE, linewidth=0.6)
    return axes


def _size(axes: Axes) -> FloatArray:
    """Width and height in points."""
    box = axes.get_window_extent()
    return np.array([box.width, box.height]) * 72 / DPI


# Map


def _places(instance: Instance) -> FloatArray | None:
    """Coordinates of all places, made up of travel times if there are none."""
    if instance.xy is not None:
        return instance.xy
    return _scale(instance.travel) if len(instance.travel) <= _MAX_SCALED else None


def _scale(travel: FloatArray) -> FloatArray:
    """Lay places out by classical multidimensional scaling of the symmetrised travel times."""
    squares = ((travel + travel.T) / (travel.max() or 1.0)) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points = np.zeros((len(travel), 2))
    kept = min(2, len(travel))
    points[:, :kept] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :kept]
    # Either sign of an eigenvector will do: the farthest place goes to the right and up.
    farthest = points[np.abs(points).argmax(axis=0), (0, 1)]
    return points * np.where(farthest < 0, -1.0, 1.0)


def _map_height(points: FloatArray) -> float:
    width, height = np.ptp(points, axis=0)
    if height * _MAP_WIDTH >= width * _MAX_MAP:
        return _MAX_MAP if height > 0 else _MIN_MAP
    return max(_MIN_MAP, float(height / width) * _MAP_WIDTH)


def _draw_map(
    axes: Axes,
    instance: Instance,
    lanes: Sequence[_Lane],
    points: FloatArray,
    names: dict[int, str],
    script: _Script,
) -> None:
    unit = _frame(axes, points)
    areas = _areas(instance)
    radii = np.sqrt(areas / np.pi)
    legs = [leg for lane in lanes for leg in _draw_route(axes, instance, lane, points, radii)]
    _draw_stops(axes, instance, lanes, points, areas)
    for place, marker in _depots(instance):
        marker.set_data(points[[place], 0], points[[place], 1])
        axes.add_line(marker)
    labels, remark = _map_labels(instance, lanes, names)
    _draw_labels(axes, labels, points, unit, radii, legs, script)
    if instance.xy is None:
        axes.set(xticks=[], yticks=[])
        remarks = ("distances resemble travel times", remark)
        _write_title(axes, "Approximate map", "; ".join(filter(None, remarks)))
    else:
        _write_title(axes, "Route map", remark)
    axes.legend(
        handles=_map_key(instance, lanes, areas),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=_TEXT,
        labelcolor=INK,
        labelspacing=0.8,
    )


def _frame(axes: Axes, points: FloatArray) -> float:
    """Set limits in the shape of the axes, with some room; returns the length of a point."""
    box = _size(axes)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = low / 2 + high / 2
    # Places that differ by rounding only are drawn as one.
    unit = float(max(((high - low) / (box - 50)).max(), 1e-12 * np.abs(middle).max())) or 1.0
    (left, bottom), (right, top) = middle - unit * box / 2, middle + unit * box / 2
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.yaxis.set_offset_position("right")
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=_STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    return unit


def _areas(instance: Instance) -> FloatArray:
    """Areas of the places' markers in square points."""
    largest = min(max(9_000 / max(instance.stops, 1), 50.0), 190.0)
    full = instance.full_profit
    areas = _MIN_AREA + (largest - _MIN_AREA) * full / (full.max() or 1.0)
    areas[0] = _DEPOT_AREA
    return np.append(areas, _DEPOT_AREA) if instance.separate_end else areas


def _draw_route(
    axes: Axes, instance: Instance, lane: _Lane, points: FloatArray, radii: FloatArray
) -> list[tuple[int, int]]:
    """Draw an arrow for every leg, and return the legs."""
    legs = [
        (i, j)
        for i, j in pairwise((0, *lane.route.stops, instance.end))
        if (points[i] != points[j]).any()
    ]
    for i, j in legs:
        arrow = FancyArrowPatch(
            tuple(points[i]),
            tuple(points[j]),
            arrowstyle="-|>,head_length=0.5,head_width=0.22",
            mutation_scale=9,
            shrinkA=radii[i],
            shrinkB=radii[j] + 0.8,
            linewidth=1.2,
            color=lane.colour,
            zorder=2,
        )
        axes.add_patch(arrow)
    return legs


def _draw_stops(
    axes: Axes,
    instance: Instance,
    lanes: Sequence[_Lane],
    points: FloatArray,
    areas: FloatArray,
) -> None:
    visited = {stop for lane in lanes for stop in lane.route.stops}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    axes.scatter(
        points[rest, 0],
        points[rest, 1],
        s=areas[rest],
        facecolors="white",
        edgecolors=RULE,
        linewidths=0.9,
        zorder=1,
        label="not visited",
    )
    for lane in lanes:
        stops = list(lane.route.stops)
        axes.scatter(
            points[stops, 0],
            points[stops, 1],
            s=areas[stops],
            c=[_share(instance, visit) for visit in lane.route.visits],
            cmap=_SHARE_COLOURS,
            vmin=0.0,
            vmax=1.0,
            edgecolors=lane.colour,
            linewidths=1.3,
            zorder=3,
            label="visited",
        )


def _share(instance: Instance, visit: Visit) -> float:
    full = float(instance.full_profit[visit.stop])
    return min(max(visit.profit / full, 0.0), 1.0) if full > 0 else 1.0


def _marker(label: str, marker: str, area: float, face: str, edge: str, width: float) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=area**0.5,
        markerfacecolor=face,
        markeredgecolor=edge,
        markeredgewidth=width,
        label=label,
        zorder=4,
    )


def _depots(instance: Instance) -> list[tuple[int, Line2D]]:
    """Places and markers of the depots."""
    if not instance.separate_end:
        return [(0, _marker("depot", "s", 70, INK, "white", 0.8))]
    return [
        (0, _marker("start depot", "s", 70, INK, "white", 0.8)),
        (instance.end, _marker("end depot", "D", 55, "white", INK, 1.8)),
    ]


def _map_labels(
    instance: Instance, lanes: Sequence[_Lane], names: dict[int, str]
) -> tuple[dict[int, str], str]:
    """Labels of the visited stops, and a remark that says what they are."""
    if not 0 < len(names) <= _MAX_MAP_LABELS:
        return {}, ""
    longest = max(map(len, names.values()))
    if instance.ids is not None and len(names) <= _MAX_MAP_IDS and longest <= _MAX_ID_LENGTH:
        return names, ""
    orders = {
        stop: str(order) for lane in lanes for order, stop in enumerate(lane.route.stops, start=1)
    }
    return orders, "numbers give the order of the visits"


def _draw_labels(
    axes: Axes,
    labels: dict[int, str],
    points: FloatArray,
    unit: float,
    radii: FloatArray,
    legs: Sequence[tuple[int, int]],
    script: _Script,
) -> None:
    """Label stops where the label covers least; one that would cover another is left out."""
    corner = np.array([axes.get_xlim()[0], axes.get_ylim()[0]])
    centres = (points - corner) / unit
    low, high = centres - radii[:, None], centres + radii[:, None]
    tails, heads = (centres[[leg[end] for leg in legs]] for end in (0, 1))
    frame = np.array([np.diff(axes.get_xlim())[0], np.diff(axes.get_ylim())[0]]) / unit
    taken = np.empty((0, 4))
    for stop, label in labels.items():
        size = np.array([script.width([label]) + 2, _TEXT + 1])
        best, place = np.inf, np.zeros(2)
        for rank, (gap, way) in enumerate(product((1.5, 6.0), _WAYS)):
            reach = radii[stop] / np.hypot(*way) + gap
            middle = centres[stop] + way * (reach + size / 2)
            a, b = middle - size / 2, middle + size / 2
            if (a < 0).any() or (b > frame).any() or _overlaps(a, b, taken[:, :2], taken[:, 2:]):
                continue
            covered = 20 * _overlaps(a, b, low, high) + 3 * _crossings(a, b, tails, heads)
            if covered + 0.2 * rank < best:
                best, place = covered + 0.2 * rank, middle
        if best < np.inf:
            taken = np.vstack((taken, [*(place - size / 2), *(place + size / 2)]))
            axes.annotate(
                label,
                tuple(points[stop]),
                tuple(place - centres[stop]),
                textcoords="offset points",
                ha="center",
                va="center",
                size=_TEXT,
                color=INK,
                zorder=5,
                path_effects=[withStroke(linewidth=2, foreground="white")],
                **script.style,
            )


_WAYS = [np.array(way) for way in product((1, -1, 0), (0, 1, -1)) if any(way)]


def _overlaps(a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """How many of the boxes [low, high] the box [a, b] overlaps."""
    return int(((a < high) & (low < b)).all(axis=1).sum())


def _crossings(a: FloatArray, b: FloatArray, tails: FloatArray, heads: FloatArray) -> int:
    """How many of the segments cross the box [a, b]."""
    steps = heads - tails
    steps = np.where(steps == 0, 1e-9, steps)
    first, second = (a - tails) / steps, (b - tails) / steps
    enter = np.minimum(first, second).max(axis=1, initial=0.0)
    leave = np.maximum(first, second).min(axis=1, initial=1.0)
    return int((enter < leave).sum())


def _map_key(instance: Instance, lanes: Sequence[_Lane], areas: FloatArray) -> list[Artist]:
    handles: list[Artist] = [marker for _, marker in _depots(instance)]
    shown = lanes[: len(ROUTE_COLOURS)]
    for lane in shown:
        label = lane.name or "route"
        handles.append(Line2D([], [], color=lane.colour, linewidth=1.8, label=label))
    if len(lanes) > len(shown):
        handles.append(
            Line2D([], [], linestyle="none", label=f"and {len(lanes) - len(shown)} more")
        )
    if sum(len(lane.route.visits) for lane in lanes) < instance.stops:
        handles.append(_marker("stop not visited", "o", 45, "white", RULE, 0.9))
    best = float(instance.full_profit.max())
    for profit in _round_profits(instance.full_profit[1:]):
        area = _MIN_AREA + profit / best * (float(areas[1 : instance.nodes].max()) - _MIN_AREA)
        label = f"stop that can earn {_number(profit)}"
        handles.append(_marker(label, "o", area, WINDOW, MUTED, 0.9))
    return handles


def _round_profits(full: FloatArray) -> list[float]:
    """One or two round numbers among the full profits, as examples of sizes."""
    best = float(full.max(initial=0.0))
    if best <= 0:
        return []
    power = 10.0 ** math.floor(math.log10(best))
    large = power * max(factor for factor in (1, 2, 5) if factor == 1 or factor * power <= best)
    return [large, large / 5] if full.min() <= large / 5 else [large]


def _draw_share_scale(figure: Figure, at: tuple[float, float, float, float]) -> None:
    left, top, width, height = at
    box = (left + width + 0.25, top + height - 0.32, _KEY_WIDTH - 0.45, 0.11)
    axes = _add_axes(figure, "share", box)
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 1), _SHARE_COLOURS),
        cax=axes,
        orientation="horizontal",
        ticks=[0, 0.5, 1],
        format=PercentFormatter(1),
    )
    bar.outline.set(color=RULE, linewidth=0.6)
    axes.set_title("share of the profit earned", size=_TEXT, color=INK, loc="left", pad=4)


# Timeline


def _draw_timeline(axes: Axes, instance: Instance, lanes: Sequence[_Lane]) -> None:
    ends = [max(lane.route.finish, lane.route.visits[-1].leave) for lane in lanes]
    until = max(instance.budget, *ends, 0.0) or 1.0
    last = lanes[-1].bottom if lanes else 2.0
    axes.set(xlim=(-0.01 * until, 1.02 * until), ylim=(last + 0.7, 0.3), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(10, steps=_STEPS))
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
        instance.budget, color=LIMIT, linewidth=1.2, linestyle=_DASHES, zorder=2, label="budget"
    )
    tall = _size(axes)[1] > _TALL
    axes.tick_params(axis="x", top=tall, labeltop=tall)
    raised = 14.0 if tall else 0.0
    _write_title(axes, "Timeline", raised=raised)
    axes.legend(
        handles=_timeline_key(instance, lanes),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0 + (3.0 + raised) / _size(axes)[1]),
        borderaxespad=0.0,
        ncols=6,
        frameon=False,
        fontsize=_TEXT,
        labelcolor=INK,
        handlelength=1.8,
        columnspacing=1.6,
    )


def _draw_lane(axes: Axes, instance: Instance, lane: _Lane) -> None:
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
    (_, first), (_, last) = _depots(instance)[0], _depots(instance)[-1]
    for marker, time, row in ((first, 0.0, lane.top), (last, finish, lane.bottom)):
        marker.set(xdata=[time], ydata=[row], markersize=4.5, clip_on=False)
        axes.add_line(marker)


def _draw_windows(axes: Axes, instance: Instance, lane: _Lane) -> None:
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


def _write_rows(
    axes: Axes, texts: Sequence[_RowText], columns: Sequence[float], script: _Script
) -> None:
    """Write beside the rows, every second one or fewer if the rows are thin."""
    height = float(_size(axes)[1] / np.ptp(axes.get_ylim()))
    size = min(_TEXT, max(0.75 * height, _MIN_TEXT))
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


def _timeline_key(instance: Instance, lanes: Sequence[_Lane]) -> list[Artist]:
    colour = lanes[0].colour if len(lanes) == 1 else MUTED
    stops = [stop for lane in lanes for stop in lane.route.stops]
    label = f"budget {_number(instance.budget)}"
    budget = Line2D([], [], color=LIMIT, linewidth=1.2, linestyle=_DASHES, label=label)
    if not lanes:
        return [budget]
    key: list[Artist] = [
        Line2D([], [], color=colour, linewidth=1.1, label="travel"),
        Patch(facecolor="white", edgecolor=colour, linewidth=0.9, label="wait"),
        Patch(facecolor=colour, edgecolor=colour, label="stay"),
        Patch(facecolor=WINDOW, edgecolor=RULE, linewidth=0.7, label="window to start in"),
    ]
    if (instance.leave_by[stops] <= instance.budget).any():
        key.append(_marker("leave by", "|", 60, LIMIT, LIMIT, 1.8))
    return [*key, budget]


# Training


def _columns(history: Sequence[Mapping[str, float]]) -> FloatArray:
    """Epochs, gaps and profits in the order of the epochs, with NaN where there are none."""
    if not history:
        raise ValueError("history: has no epochs")
    rows = [
        (row.get("epoch", number), row.get("gap", np.nan), row.get("profit", np.nan))
        for number, row in enumerate(history, start=1)
    ]
    table = np.array(rows, dtype=np.float64)
    if not np.isfinite(table[:, 0]).all():
        raise ValueError("history: has an epoch that is not a number")
    table[~np.isfinite(table)] = np.nan
    return table[table[:, 0].argsort(kind="stable")].T


def _training_summary(epochs: FloatArray, gaps: FloatArray, best: int | None) -> str:
    facts = [f"epoch {_number(epochs[-1])}"]
    if best is not None:
        last = gaps[np.isfinite(gaps)][-1]
        facts.append(f"last gap {_percent(last)}")
        facts.append(f"best gap {_percent(gaps[best])} at epoch {_number(epochs[best])}")
    return "   ·   ".join(facts)


def _percent(value: float) -> str:
    return f"{value:.3g}%"


def _draw_curve(axes: Axes, label: str, epochs: FloatArray, values: FloatArray) -> None:
    first, last = epochs[0], epochs[-1]
    room = 0.02 * (last - first) or 0.5
    axes.set_xlim(first - room, last + room)
    axes.xaxis.set_major_locator(MaxNLocator(10, steps=_STEPS, integer=True, min_n_ticks=1))
    axes.grid(color=WINDOW, linewidth=0.6)
    axes.set_axisbelow(True)
    seen = np.isfinite(values)
    axes.plot(
        epochs[seen],
        values[seen],
        color=ROUTE_COLOURS[0],
        linewidth=1.1,
        marker="o",
        markersize=3.0 if seen.sum() <= 60 else 0.0,
        label=label,
    )
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    if label == "gap":
        _write_title(axes, "Validation gap", _scale_gap(axes, values[seen]))
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
        axes.yaxis.set_offset_position("right")  # clear of the title
        _write_title(axes, "Training profit", "mean of an epoch")


def _scale_gap(axes: Axes, gaps: FloatArray) -> str:
    """Make the axis logarithmic as far as it can be, and say so."""
    remark = ""
    if (gaps > 0).all():
        axes.set_yscale("log")
        few = gaps.max() < 1e4 * gaps.min()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        remark = "logarithmic"
    elif (gaps > _TINY_GAP).any():
        axes.set_yscale("symlog", linthresh=_TINY_GAP)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_TINY_GAP))
        remark = f"logarithmic beyond {_TINY_GAP:g}%"
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.minorticks_off()
    return remark


def _mark_best(axes: Axes, label: str, epochs: FloatArray, values: FloatArray, best: int) -> None:
    """Mark the epoch of the best gap in any of the curves."""
    axes.axvline(epochs[best], color=ROUTE_COLOURS[1], linewidth=0.8, linestyle=_DASHES, zorder=1)
    key = f"best gap, epoch {_number(epochs[best])}"
    mark = _marker(key, "o", 45, "none", ROUTE_COLOURS[1], 1.6)
    mark.set_data(epochs[[best]], values[[best]])
    axes.add_line(mark)
    if label == "gap":
        axes.legend(
            handles=[mark],
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0 + 3.0 / _size(axes)[1]),
            borderaxespad=0.0,
            frameon=False,
            fontsize=_TEXT,
            labelcolor=INK,
        )
