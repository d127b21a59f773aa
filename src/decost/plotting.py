"""Pictures of a plan: the route map and the timeline."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.patches import FancyArrowPatch
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from decost.instance import FloatArray, Instance
from decost.solution import Route, Solution, Visit

FORMATS = ("png", "pdf", "svg")
"""Endings of the files that `save_figure` writes."""

# Told apart by people with any of the common colour blindnesses, and the first four in
# greyscale too: their lightness is 30, 62, 46 and 70.
_ROUTES = ("#12487d", "#b59145", "#b24b5f", "#38bcc4", "#697dcb", "#725504")
_INK, _MUTED, _RULE, _WINDOW, _BAND = "#22272e", "#68717c", "#aab2bc", "#dfe5ec", "#f6f7f9"
_LIMIT = "#8f1d1d"
# Greys, so that how much was earned is not mistaken for the colour of a route.
_SHARE = LinearSegmentedColormap.from_list("share", ("#f1f3f5", "#a4abb4", "#1f242b"))

# Inches, unless they say points.
_WIDTH, _MARGIN, _PANEL, _HEADING = 10.0, 0.35, 1.95, 0.95
_MAP_HEIGHT = (3.6, 6.6)
_ROW_HEIGHT = (0.165, 0.25)
_MAX_TIMELINE = 60.0
_TEXT, _SMALLEST_TEXT = 8.0, 6.0  # points

_MAX_MAP_LABELS = 120
_MAX_MAP_IDS, _MAX_ID_LENGTH = 30, 14
_MAX_SCALED = 1_000  # places; laying out more of them without coordinates takes too long

Box: TypeAlias = tuple[float, float, float, float]


class _Script(NamedTuple):
    """How to write text of the user's: literally, in fonts that have its characters."""

    families: tuple[str, ...]
    known: frozenset[int]

    @property
    def style(self) -> dict[str, Any]:
        return {"fontfamily": list(self.families), "parse_math": False, "usetex": False}

    def clean(self, text: str, longest: int) -> str:
        words = " ".join(text.split())
        short = words if len(words) <= longest else words[: longest - 1].rstrip() + "…"
        return "".join(c if ord(c) in self.known else "?" for c in short)

    def width(self, text: str, size: float) -> float:
        font = FontProperties(family=list(self.families), size=size)
        return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


@dataclass(frozen=True)
class _Lane:
    """One route in the timeline: its vehicle, and the row on which each of its visits is."""

    vehicle: int
    route: Route
    top: float

    @property
    def colour(self) -> str:
        return _ROUTES[self.vehicle % len(_ROUTES)]

    @property
    def rows(self) -> FloatArray:
        return self.top + 1 + np.arange(len(self.route.visits), dtype=np.float64)

    @property
    def bottom(self) -> float:
        return self.top + 1 + len(self.route.visits)


def plot_plan(instance: Instance, solution: Solution, *, title: str | None = None) -> Figure:
    """Draw a plan: the map of its routes and, below, the timeline of its visits.

    On the map a stop is as large as the profit it can earn and as dark as the share of it that
    is earned; a stop that is not visited is hollow. Without coordinates the map is laid out so
    that distances resemble the travel times (left out above 1,000 places). In the timeline
    every visit has a row with its window, wait and stay.

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
        The picture, with axes labelled "map", "share" and "timeline". Save it with
        `save_figure`; a notebook shows it by itself.
    """
    heading = title if title is not None else instance.name or "Plan"
    names = {visit.stop: _stop_name(instance, visit.stop) for visit in solution.visits}
    script = _find_script("".join((heading, *names.values())))
    lanes = _make_lanes(solution)
    points = _places(instance)

    map_height = 0.0 if points is None else _map_height(points)
    map_space = map_height + 0.85 if map_height else 0.0
    rows = lanes[-1].bottom + 1 if lanes else 2.0
    row_height = min(np.clip(9.0 / rows, *_ROW_HEIGHT), _MAX_TIMELINE / rows)
    height = _HEADING + map_space + 0.75 + rows * row_height + 0.6

    figure = Figure(figsize=(_WIDTH, height), dpi=150, facecolor="white")
    _write_heading(figure, script, heading, _summary(instance, solution))
    if points is not None:
        box = (_MARGIN + 0.35, _HEADING + 0.25, _WIDTH - _PANEL - 0.95, map_height)
        axes = _add_axes(figure, "map", box)
        _draw_map(axes, instance, lanes, points, script)
        _draw_share_key(figure, box)
    labels = _row_labels(lanes, names, script)
    size = min(_TEXT, 0.72 * 72 * row_height)
    left = _MARGIN + 0.15 + max((script.width(t, size) for t in labels.values()), default=0.0) / 72
    box = (left, _HEADING + map_space + 0.75, _WIDTH - left - 1.35, rows * row_height)
    axes = _add_axes(figure, "timeline", box)
    _draw_timeline(axes, instance, solution, lanes, rows)
    _write_rows(axes, instance, lanes, labels, script, max(size, _SMALLEST_TEXT), row_height)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure; a file that is there already is replaced at once or not at all.

    Parameters
    ----------
    figure
        The picture.
    path
        Where to; the format follows from the ending: .png, .pdf or .svg.

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
    # Not `tempfile`: its files are private, and the picture is to have the usual permissions.
    partial = target.with_name(f".decost-{secrets.token_hex(8)}.tmp")
    try:
        with partial.open("xb") as file:
            figure.savefig(file, format=ending)
        partial.replace(target)
    except OSError as error:
        error.filename, error.filename2 = str(target), None
        raise
    finally:
        with suppress(OSError):
            partial.unlink()


# ---- text ----------------------------------------------------------------------------------


def _find_script(text: str) -> _Script:
    """Choose fonts for the text: the default one, and others for characters it lacks."""
    default = FontProperties()
    families = [default.get_name()]
    known = set(get_font(findfont(default)).get_charmap())
    missing = {ord(c) for c in text} - known
    for family in sorted({entry.name for entry in fontManager.ttflist}) if missing else ():
        # A last resort font has every character, as a box.
        if missing and not family.startswith("Last Resort"):
            font = get_font(findfont(FontProperties(family=family)))
            found = missing.intersection(font.get_charmap())
            if found:
                families.append(family)
                known |= found
                missing -= found
    return _Script(tuple(families), frozenset(known))


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def _stop_name(instance: Instance, stop: int) -> str:
    return f"stop {stop}" if instance.ids is None else instance.ids[stop - 1]


def _summary(instance: Instance, solution: Solution) -> str:
    finish = max((route.finish for route in solution.routes), default=0.0)
    used = "time used" if len(solution.routes) == 1 else "longest route"
    facts = [
        f"profit {_number(solution.profit)}",
        f"{len(solution.visits)} of {instance.stops} stops visited",
        f"{used} {_number(finish)} of {_number(instance.budget)}",
    ]
    idle = sum(not route.visits for route in solution.routes)
    if idle and len(solution.routes) > 1:
        facts.append(f"{idle} of {len(solution.routes)} vehicles not used")
    return "   ·   ".join(facts)


def _write_heading(figure: Figure, script: _Script, heading: str, summary: str) -> None:
    height = figure.get_figheight()
    x = _MARGIN / _WIDTH
    text = script.clean(heading, 80)
    figure.text(x, 1 - 0.42 / height, text, size=14, color=_INK, va="baseline", **script.style)
    figure.text(x, 1 - 0.66 / height, summary, size=9.5, color=_MUTED, va="baseline")


def _add_axes(figure: Figure, label: str, box: Box) -> Axes:
    """Add axes at (left, top, width, height) in inches from the upper left corner."""
    left, top, width, height = box
    total = figure.get_figheight()
    rectangle = (left / _WIDTH, 1 - (top + height) / total, width / _WIDTH, height / total)
    axes = figure.add_axes(rectangle, label=label, facecolor="white")
    axes.tick_params(labelsize=7, colors=_MUTED, labelcolor=_MUTED, length=2.5, width=0.6)
    for spine in axes.spines.values():
        spine.set(color=_RULE, linewidth=0.6)
    return axes


# ---- map -----------------------------------------------------------------------------------


def _places(instance: Instance) -> FloatArray | None:
    """Coordinates of all places, made up from the travel times if there are none."""
    if instance.xy is not None:
        return instance.xy
    if len(instance.travel) > _MAX_SCALED:
        return None
    return _scale(instance.travel)


def _scale(travel: FloatArray) -> FloatArray:
    """Lay places out by classical multidimensional scaling of the symmetrised travel times."""
    squared = ((travel + travel.T) / 2) ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points = np.zeros((len(travel), 2))
    kept = min(2, len(travel))
    points[:, :kept] = vectors[:, ::-1][:, :kept] * np.sqrt(np.maximum(values[::-1][:kept], 0.0))
    # The sign of an eigenvector is anyone's choice: put the farthest place to the right and up.
    farthest = points[np.abs(points).argmax(axis=0), (0, 1)]
    return points * np.where(farthest < 0, -1.0, 1.0)


def _map_height(points: FloatArray) -> float:
    width, height = np.ptp(points, axis=0)
    shape = height / width if width > 0 else 1.0
    return float(np.clip(shape * (_WIDTH - _PANEL - 0.95), *_MAP_HEIGHT))


def _draw_map(
    axes: Axes, instance: Instance, lanes: Sequence[_Lane], points: FloatArray, script: _Script
) -> None:
    _frame_map(axes, points, labelled=instance.xy is not None)
    areas = _areas(instance)
    radii = np.sqrt(areas / np.pi)
    legs = [leg for lane in lanes for leg in _draw_route(axes, instance, lane, points, radii)]
    _draw_stops(axes, instance, lanes, points, areas)
    _draw_depots(axes, instance, points)
    by_id = _labels_are_ids(instance, lanes)
    if sum(len(lane.route.visits) for lane in lanes) <= _MAX_MAP_LABELS:
        _label_stops(axes, instance, lanes, points, radii, legs, script, by_id)
    _write_map_title(axes, instance, lanes, by_id)
    axes.legend(
        handles=_map_key(instance, lanes, areas),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=_TEXT,
        labelcolor=_INK,
        labelspacing=0.75,
        handletextpad=0.7,
    )


def _frame_map(axes: Axes, points: FloatArray, *, labelled: bool) -> None:
    """Set limits with some room around the points, in the shape of the axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    box = _size_in_points(axes)
    unit = float(((high - low) / (box - 44.0)).max()) or 1.0
    middle, half = (low + high) / 2, unit * box / 2
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal")
    if labelled:
        axes.ticklabel_format(useOffset=False)
        axes.xaxis.set_major_locator(MaxNLocator(8))
        axes.yaxis.set_major_locator(MaxNLocator(6))
    else:
        axes.set_xticks([])
        axes.set_yticks([])


def _size_in_points(axes: Axes) -> FloatArray:
    figure = axes.get_figure(root=True)
    assert figure is not None
    inches = axes.get_position(original=True).size * figure.get_size_inches()
    return np.asarray(inches * 72.0, dtype=np.float64)


def _areas(instance: Instance) -> FloatArray:
    """Areas of the nodes' markers in square points."""
    largest = float(np.clip(9_000 / max(instance.stops, 1), 50.0, 190.0))
    full = instance.full_profit
    best = full.max()
    share = full / best if best > 0 else np.zeros_like(full)
    areas = 16.0 + (largest - 16.0) * share
    areas[0] = 90.0
    return np.append(areas, 90.0) if instance.separate_end else areas


def _draw_route(
    axes: Axes, instance: Instance, lane: _Lane, points: FloatArray, radii: FloatArray
) -> list[tuple[int, int]]:
    """Draw an arrow for every leg; returns the legs."""
    places = [0, *lane.route.stops, instance.end]
    legs = [(i, j) for i, j in zip(places, places[1:]) if (points[i] != points[j]).any()]
    for i, j in legs:
        arrow = FancyArrowPatch(
            (points[i, 0], points[i, 1]),
            (points[j, 0], points[j, 1]),
            arrowstyle="-|>,head_length=0.5,head_width=0.22",
            mutation_scale=9,
            shrinkA=radii[i],
            shrinkB=radii[j] + 0.8,
            linewidth=1.2,
            color=lane.colour,
            joinstyle="miter",
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
    visited = {visit.stop for lane in lanes for visit in lane.route.visits}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    axes.scatter(
        *points[rest].T,
        s=areas[rest],
        facecolors="white",
        edgecolors=_RULE,
        linewidths=0.9,
        zorder=1,
        label="stops not visited",
    )
    for lane in lanes:
        stops = list(lane.route.stops)
        axes.scatter(
            *points[stops].T,
            s=areas[stops],
            c=[_share(instance, visit) for visit in lane.route.visits],
            cmap=_SHARE,
            vmin=0.0,
            vmax=1.0,
            edgecolors=lane.colour,
            linewidths=1.3,
            zorder=3,
            label="stops visited",
        )


def _share(instance: Instance, visit: Visit) -> float:
    full = float(instance.full_profit[visit.stop])
    return min(max(visit.profit / full, 0.0), 1.0) if full > 0 else 1.0


def _draw_depots(axes: Axes, instance: Instance, points: FloatArray) -> None:
    for place, style in _depots(instance):
        axes.scatter(*points[place], zorder=4, label=style["label"], **_depot_style(style))
