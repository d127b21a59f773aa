"""The map of a plan: its routes, and stops as large and dark as they earn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import (
    MaxNLocator,
    PercentFormatter,
)

from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import Visit
from decost.show.lanes import Lane, depots
from decost.show.page import (
    MARGIN,
    STEPS,
    TEXT,
    WIDTH,
    Script,
    add_axes,
    make_marker,
    number_text,
    size_of,
    write_title,
)
from decost.show.palette import INK, MUTED, ROUTE_COLOURS, RULE, WINDOW

# Greys: a hue would be taken for the colour of a route.
_SHARE_COLOURS = LinearSegmentedColormap.from_list("share", ("#f3f4f6", "#a2a9b2", "#1f242b"))

# Lengths on the page in inches.
_KEY_WIDTH = 1.9
MAP_WIDTH = WIDTH - _KEY_WIDTH - 2 * MARGIN - 0.35
_MIN_MAP, _MAX_MAP = 3.0, 5.8

_DEPOT_AREA, _MIN_AREA = 80.0, 16.0  # square points

_MAX_MAP_LABELS = 120
_MAX_MAP_IDS, _MAX_ID_LENGTH = 30, 14
_MAX_SCALED = 1_000  # places; without coordinates, laying out more of them takes too long


def places_of(instance: Instance) -> FloatArray | None:
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


def height_of_map(points: FloatArray) -> float:
    """Height in inches that suits the places."""
    width, height = np.ptp(points, axis=0)
    if height * MAP_WIDTH >= width * _MAX_MAP:
        return _MAX_MAP if height > 0 else _MIN_MAP
    return max(_MIN_MAP, float(height / width) * MAP_WIDTH)


def draw_map(
    axes: Axes,
    instance: Instance,
    lanes: Sequence[Lane],
    points: FloatArray,
    names: dict[int, str],
    script: Script,
) -> None:
    """Draw routes, stops, depots, labels and the key."""
    unit = _frame(axes, points)
    areas = _areas(instance)
    radii = np.sqrt(areas / np.pi)
    legs = [leg for lane in lanes for leg in _draw_route(axes, instance, lane, points, radii)]
    _draw_stops(axes, instance, lanes, points, areas)
    for place, marker in depots(instance):
        marker.set_data(points[[place], 0], points[[place], 1])
        axes.add_line(marker)
    labels, remark = _map_labels(instance, lanes, names)
    _draw_labels(axes, labels, points, unit, radii, legs, script)
    if instance.xy is None:
        axes.set(xticks=[], yticks=[])
        remarks = ("distances resemble travel times", remark)
        write_title(axes, "Approximate map", "; ".join(filter(None, remarks)))
    else:
        write_title(axes, "Route map", remark)
    axes.legend(
        handles=_map_key(instance, lanes, areas),
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=TEXT,
        labelcolor=INK,
        labelspacing=0.8,
    )


def _frame(axes: Axes, points: FloatArray) -> float:
    """Set limits in the shape of the axes, with some room; returns the length of a point."""
    box = size_of(axes)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = low / 2 + high / 2
    # Places that differ by rounding only are drawn as one.
    unit = float(max(((high - low) / (box - 50)).max(), 1e-12 * np.abs(middle).max())) or 1.0
    (left, bottom), (right, top) = middle - unit * box / 2, middle + unit * box / 2
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.yaxis.set_offset_position("right")
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    return unit


def _areas(instance: Instance) -> FloatArray:
    """Areas of the places' markers in square points."""
    largest = min(max(9_000 / max(instance.stops, 1), 50.0), 190.0)
    full = instance.full_profit
    areas = _MIN_AREA + (largest - _MIN_AREA) * full / (full.max() or 1.0)
    areas[0] = _DEPOT_AREA
    return np.append(areas, _DEPOT_AREA) if instance.separate_end else areas


def _draw_route(
    axes: Axes, instance: Instance, lane: Lane, points: FloatArray, radii: FloatArray
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
    lanes: Sequence[Lane],
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


def _map_labels(
    instance: Instance, lanes: Sequence[Lane], names: dict[int, str]
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
    script: Script,
) -> None:
    """Label stops where the label covers least; one that would cover another is left out."""
    corner = np.array([axes.get_xlim()[0], axes.get_ylim()[0]])
    centres = (points - corner) / unit
    low, high = centres - radii[:, None], centres + radii[:, None]
    tails, heads = (centres[[leg[end] for leg in legs]] for end in (0, 1))
    frame = np.array([np.diff(axes.get_xlim())[0], np.diff(axes.get_ylim())[0]]) / unit
    taken = np.empty((0, 4))
    for stop, label in labels.items():
        size = np.array([script.width([label]) + 2, TEXT + 1])
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
                size=TEXT,
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


def _map_key(instance: Instance, lanes: Sequence[Lane], areas: FloatArray) -> list[Artist]:
    handles: list[Artist] = [marker for _, marker in depots(instance)]
    shown = lanes[: len(ROUTE_COLOURS)]
    for lane in shown:
        label = lane.name or "route"
        handles.append(Line2D([], [], color=lane.colour, linewidth=1.8, label=label))
    if len(lanes) > len(shown):
        handles.append(
            Line2D([], [], linestyle="none", label=f"and {len(lanes) - len(shown)} more")
        )
    if sum(len(lane.route.visits) for lane in lanes) < instance.stops:
        handles.append(make_marker("stop not visited", "o", 45, "white", RULE, 0.9))
    best = float(instance.full_profit.max())
    for profit in _round_profits(instance.full_profit[1:]):
        area = _MIN_AREA + profit / best * (float(areas[1 : instance.nodes].max()) - _MIN_AREA)
        label = f"stop that can earn {number_text(profit)}"
        handles.append(make_marker(label, "o", area, WINDOW, MUTED, 0.9))
    return handles


def _round_profits(full: FloatArray) -> list[float]:
    """One or two round numbers among the full profits, as examples of sizes."""
    best = float(full.max(initial=0.0))
    if best <= 0:
        return []
    power = 10.0 ** math.floor(math.log10(best))
    large = power * max(factor for factor in (1, 2, 5) if factor == 1 or factor * power <= best)
    return [large, large / 5] if full.min() <= large / 5 else [large]


def draw_share_scale(figure: Figure, at: tuple[float, float, float, float]) -> None:
    """Draw the scale of the shades beside the map, which is `at` this place."""
    left, top, width, height = at
    box = (left + width + 0.25, top + height - 0.32, _KEY_WIDTH - 0.45, 0.11)
    axes = add_axes(figure, "share", box)
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 1), _SHARE_COLOURS),
        cax=axes,
        orientation="horizontal",
        ticks=[0, 0.5, 1],
        format=PercentFormatter(1),
    )
    bar.outline.set(color=RULE, linewidth=0.6)
    axes.set_title("share of the profit earned", size=TEXT, color=INK, loc="left", pad=4)
