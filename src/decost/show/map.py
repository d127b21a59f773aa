"""The map of a plan: its routes, and stops as large and dark as they earn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.ticker import (
    MaxNLocator,
    PercentFormatter,
)

from decost.problem.distances import EARTH_RADIUS
from decost.problem.instance import FloatArray, Instance
from decost.problem.names import (
    alternatives_of,
    detour_of,
    place_name,
    same_place,
    stop_name,
)
from decost.problem.plan import Visit
from decost.show.labels import Label, Labelling
from decost.show.lanes import (
    NAME_LENGTH,
    Kind,
    Lane,
    end_markers,
    ends_of,
    has_one_depot,
)
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
from decost.show.palette import INK, LIMIT, MUTED, RULE, WINDOW

# Greys: a hue would be taken for the colour of a route.
_SHARE_COLOURS = LinearSegmentedColormap.from_list("share", ("#f3f4f6", "#a2a9b2", "#1f242b"))

# Lengths on the page in inches.
_KEY_WIDTH = 1.9
MAP_WIDTH = WIDTH - _KEY_WIDTH - 2 * MARGIN - 0.35
_MIN_MAP, _MAX_MAP = 3.0, 5.8

_DEPOT_AREA, _MIN_AREA = 80.0, 16.0  # square points

_MAX_MAP_LABELS = 120
_MAX_MAP_IDS, _MAX_ID_LENGTH = 30, 22
_MAX_SCALED = 1_000  # places; without coordinates, laying out more of them takes too long
_MAX_OTHERS = 40  # places of alternatives that are not used; of more, those of visited stops
_MAX_ROUTES, _KEY_ROW = 18, 0.2  # in the key

# A crowd is so large a share of the places, and so many, in so small a part of the map.
_CROWD_SHARE, _MIN_CROWD, _CROWD_SIZE = 0.6, 4, 0.35
_LABEL_ROOM = 75.0  # points


def points_of(instance: Instance) -> FloatArray | None:
    """Coordinates of all places on the map, made up of travel times if there are none.

    Degrees become kilometres east and north, which are equally long on the page.
    """
    if instance.xy is None:
        times = instance.planes.mean(axis=0)
        return _scale(times) if len(times) <= _MAX_SCALED else None
    return map_points(instance, instance.xy) if instance.geographic else instance.xy


def map_points(instance: Instance, lon_lat: FloatArray) -> FloatArray:
    """Coordinates of points on the map of an instance with lat, lon."""
    assert instance.xy is not None
    (middle, _), latitudes = instance.xy[0], instance.xy[:, 1]
    lon, lat = lon_lat.T
    east = (lon - middle + 180) % 360 - 180  # of the depot, the shorter way round
    width = math.cos(math.radians((latitudes.min() + latitudes.max()) / 2))
    points: FloatArray = np.radians(np.column_stack((east * width, lat))) * EARTH_RADIUS
    return points


def shown_points(instance: Instance, points: FloatArray, lanes: Sequence[Lane]) -> FloatArray:
    """Points that the map has to show: places, and ways between them."""
    ways = [way for lane in lanes for way in lane.ways]
    return np.concatenate((points[shown_places(instance)], *ways))


def shown_places(instance: Instance) -> list[int]:
    """Places that the map has to show."""
    places = {*ends_of(instance), *instance.alternative_place[1:].tolist()}
    closed = np.diff(instance.alternative_first)[1:] == 0
    return sorted(places | set((1 + closed.nonzero()[0]).tolist()))


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


def height_of_map(points: FloatArray, lanes: Sequence[Lane]) -> float:
    """Height in inches that suits the places and leaves room for the key."""
    smallest = max(_MIN_MAP, 2.2 + _KEY_ROW * min(len(lanes), _MAX_ROUTES + 1))
    width, height = np.ptp(points, axis=0)
    if height * MAP_WIDTH >= width * _MAX_MAP:
        return max(_MAX_MAP if height > 0 else _MIN_MAP, smallest)
    return max(smallest, float(height / width) * MAP_WIDTH)


def draw_map(
    axes: Axes,
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    points: FloatArray,
    names: dict[int, str],
    script: Script,
) -> None:
    """Draw routes, stops, starts and ends, labels and the key; `missing` stops are required."""
    seen = shown_places(instance)
    unit = _frame(axes, shown_points(instance, points, lanes))
    crowd = _crowd(points[seen], unit * size_of(axes))
    if crowd is not None:
        _move_left(axes, points[seen], unit)
    drawn = _places_of_stops(instance, lanes)
    visited = {stop for lane in lanes for stop in lane.route.stops}
    areas = _areas(instance)
    radii = np.sqrt(areas / np.pi)

    def draw(on: Axes) -> tuple[list[Artist], list[FloatArray]]:
        others = _draw_others(on, instance, drawn, visited, points, areas)
        legs = [leg for lane in lanes for leg in _draw_route(on, lane, points, radii)]
        _draw_stops(on, instance, lanes, missing, drawn, points, areas)
        for place, marker in end_markers(instance):
            marker.set_data(points[[place], 0], points[[place], 1])
            on.add_line(marker)
        return others, legs

    others, legs = draw(axes)
    main = Labelling(axes, points, seen, unit, radii, legs, script)
    labellings = [main]
    where = None if crowd is None else main.free_corner()
    if crowd is not None and where is not None:
        inset, near = _enlarge(axes, crowd, where)
        draw(inset)
        inside = [place for place in seen if _in_view(inset, points[place])]
        labellings.append(Labelling(inset, points, inside, near, radii, legs, script))
        main.own -= set(inside)
    remark = _label_visits(labellings, instance, lanes, missing, drawn, names, script)
    modest = _modest_labels(instance, lanes, missing, drawn, script)
    for labelling in labellings:
        labelling.write(_end_labels(instance, script))
        labelling.write(modest)
    if instance.geographic:
        _draw_scale(axes, unit)
    if instance.xy is None or instance.geographic:
        axes.set(xticks=[], yticks=[])
    title = "Approximate map" if instance.xy is None else "Route map"
    write_title(axes, title, "; ".join(_remarks(instance, lanes, remark)))
    _write_key(axes, _map_key(instance, lanes, missing, others), script)


def _remarks(instance: Instance, lanes: Sequence[Lane], remark: str) -> Iterator[str]:
    """Say how the map is to be read, with a remark on its labels, if there is one."""
    if instance.xy is None:
        yield "distances resemble travel times"
    if remark:
        yield remark
    detour = detour_of(instance)
    if detour is not None:
        yield f"ways are {detour:g} times as long as the straight line"
    if any(lane.ways for lane in lanes):
        yield "ways are along the streets"


def _write_key(axes: Axes, handles: list[Artist], script: Script) -> None:
    """Write the key beside the map."""
    key = axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        prop=script.font,
        labelcolor=INK,
        labelspacing=0.8,
        scatterpoints=1,
    )
    for text in key.get_texts():
        text.set_parse_math(False)


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


def _crowd(points: FloatArray, extent: FloatArray) -> FloatArray | None:
    """Find the corners of a small part of the map in which most places are, if there is one."""
    distance = np.abs(points - np.median(points, axis=0)).max(axis=1)
    near = points[distance.argsort()][: math.ceil(_CROWD_SHARE * len(points))]
    corners: FloatArray = np.array([near.min(axis=0), near.max(axis=0)])
    size = np.ptp(corners, axis=0)
    if len(near) < _MIN_CROWD or (size > _CROWD_SIZE * extent).any() or not size.any():
        return None
    return corners


def _move_left(axes: Axes, points: FloatArray, unit: float) -> None:
    """Move what a map shows to its left, so that there is room at the right."""
    left, right = axes.get_xlim()
    shift = max(float(points[:, 0].min()) - left - _LABEL_ROOM * unit, 0.0)
    axes.set_xlim(left + shift, right + shift)


def _enlarge(
    axes: Axes, corners: FloatArray, where: tuple[float, float, float, float]
) -> tuple[Axes, float]:
    """Make axes for a crowded part of the map in a free corner of it, and frame that part."""
    left, bottom, width, height = where
    whole = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    inset = figure.add_axes(
        (
            whole.x0 + left * whole.width,
            whole.y0 + bottom * whole.height,
            width * whole.width,
            height * whole.height,
        ),
        label="enlarged",
        facecolor="white",
        zorder=6,
    )
    unit = _frame(inset, corners)
    inset.set(xticks=[], yticks=[])
    for spine in inset.spines.values():
        spine.set(color=MUTED, linewidth=0.8)
    (x, right), (y, top) = inset.get_xlim(), inset.get_ylim()
    axes.add_patch(
        Rectangle(
            (x, y),
            right - x,
            top - y,
            facecolor="none",
            edgecolor=MUTED,
            linewidth=0.8,
            zorder=4.5,
            label="enlarged",
        )
    )
    inset.set_title("enlarged", size=TEXT, color=MUTED, loc="left", pad=2)
    return inset, unit


def _in_view(axes: Axes, point: FloatArray) -> bool:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return bool(left < point[0] < right and bottom < point[1] < top)


def _draw_scale(axes: Axes, unit: float) -> None:
    """Draw a line of a round length in kilometres in the lower left corner."""
    (left, right), (bottom, _) = axes.get_xlim(), axes.get_ylim()
    most = 0.25 * (right - left)
    power = 10.0 ** math.floor(math.log10(most))
    length = power * max(factor for factor in (1, 2, 5) if factor * power <= most)
    x, y = left + 10 * unit, bottom + 10 * unit
    axes.plot(
        (x, x + length), (y, y), color=MUTED, linewidth=1.6, solid_capstyle="butt", label="scale"
    )
    words = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
    axes.annotate(
        words, (x, y), (0, 3), textcoords="offset points", size=TEXT, color=MUTED, zorder=4.5
    )


def _places_of_stops(instance: Instance, lanes: Sequence[Lane]) -> dict[int, int]:
    """Place at which each stop is drawn: of its visit, else of its first alternative."""
    drawn = {}
    for stop in range(1, instance.nodes):
        ways = alternatives_of(instance, stop)
        places = [stop] if not ways else instance.alternative_place[list(ways)].tolist()
        drawn[stop] = stop if stop in places else places[0]
    for lane in lanes:
        drawn.update(zip(lane.route.stops, lane.places[1:-1], strict=True))
    return drawn


def _other_places(instance: Instance, drawn: dict[int, int]) -> list[tuple[int, int]]:
    """Give stops with the places at which they could be visited as well."""
    if instance.simple:
        return []
    pairs: dict[tuple[int, int], None] = {}
    for stop, place in drawn.items():
        for number in alternatives_of(instance, stop):
            other = int(instance.alternative_place[number])
            if not same_place(instance, other, place):
                pairs[stop, other] = None
    return list(pairs)


def _areas(instance: Instance) -> FloatArray:
    """Areas of the places' markers in square points."""
    largest = _largest_area(instance)
    full = instance.full_profits
    by_stop = _MIN_AREA + (largest - _MIN_AREA) * full / (full.max() or 1.0)
    size = len(instance.planes[0]) if instance.xy is None else len(instance.xy)
    areas = np.full(size, _MIN_AREA)
    areas[1 : instance.nodes] = by_stop[1:]
    np.maximum.at(areas, instance.alternative_place[1:], by_stop[instance.alternative_stop[1:]])
    ends = list(ends_of(instance))
    areas[ends] = np.where(np.array(ends) == 0, _DEPOT_AREA, np.maximum(areas[ends], _DEPOT_AREA))
    return areas


def _largest_area(instance: Instance) -> float:
    return min(max(9_000 / max(instance.stops, 1), 50.0), 190.0)


def _draw_others(
    axes: Axes,
    instance: Instance,
    drawn: dict[int, int],
    visited: set[int],
    points: FloatArray,
    areas: FloatArray,
) -> list[Artist]:
    """Draw the places where stops could be visited as well, joined to where they are."""
    others = _other_places(instance, drawn)
    if len(others) > _MAX_OTHERS:
        others = [(stop, place) for stop, place in others if stop in visited]
    if not 0 < len(others) <= _MAX_OTHERS:
        return []
    places = [place for _, place in others]
    markers = axes.scatter(
        points[places, 0],
        points[places, 1],
        s=areas[places],
        facecolors="white",
        edgecolors=MUTED,
        linewidths=0.8,
        linestyles=[(0, (2, 1.5))],
        zorder=1,
        label="other place of a stop",
    )
    links = [points[[drawn[stop], place]] for stop, place in others]
    axes.add_collection(
        LineCollection(
            links,
            colors=MUTED,
            linewidths=0.7,
            linestyles=[(0, (1, 2))],
            zorder=0.9,
            label="link",
        ),
        autolim=False,
    )
    return [markers]


def _draw_route(axes: Axes, lane: Lane, points: FloatArray, radii: FloatArray) -> list[FloatArray]:
    """Draw an arrow for every leg, and return the points of legs."""
    legs = [(i, j) for i, j in pairwise(lane.places) if (points[i] != points[j]).any()]
    if lane.ways:
        return [_draw_way(axes, lane, way) for way in lane.ways if np.ptp(way, axis=0).any()]
    for i, j in legs:
        arrow = FancyArrowPatch(
            tuple(points[i]),
            tuple(points[j]),
            arrowstyle="-|>,head_length=0.5,head_width=0.22",
            mutation_scale=9,
            shrinkA=radii[i],
            shrinkB=radii[j] + 0.8,
            linewidth=1.2,
            linestyle=lane.line,
            color=lane.colour,
            zorder=2,
        )
        axes.add_patch(arrow)
    return [points[[i, j]] for i, j in legs]


def _draw_way(axes: Axes, lane: Lane, way: FloatArray) -> FloatArray:
    """Draw a way along streets, with an arrow in the middle of it."""
    style: dict[str, Any] = {"linestyle": lane.line, "color": lane.colour, "zorder": 2}
    axes.plot(*way.T, linewidth=1.4, solid_joinstyle="round", **style)
    along = np.concatenate(([0.0], np.hypot(*np.diff(way, axis=0).T).cumsum()))
    # The arrow is on a straight part, so that it points where the way leads.
    middle = int(np.argmin(np.abs((along[1:] + along[:-1]) / 2 - along[-1] / 2)))
    head, tail = way[middle] / 4 + 3 * way[middle + 1] / 4, way[middle]
    arrow = FancyArrowPatch(
        tuple(tail),
        tuple(head),
        arrowstyle="-|>,head_length=0.5,head_width=0.22",
        mutation_scale=9,
        shrinkA=0,
        shrinkB=0,
        linewidth=0,
        color=lane.colour,
        zorder=2.1,
    )
    axes.add_patch(arrow)
    return way


def _draw_stops(
    axes: Axes,
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    drawn: dict[int, int],
    points: FloatArray,
    areas: FloatArray,
) -> None:
    visited = {stop for lane in lanes for stop in lane.route.stops}
    for rest, edge, width, label in (
        ([s for s in drawn if s not in visited and s not in missing], RULE, 0.9, "not visited"),
        (missing, LIMIT, 2.0, "required, not visited"),
    ):
        if rest or label == "not visited":
            places = [drawn[stop] for stop in rest]
            axes.scatter(
                points[places, 0],
                points[places, 1],
                s=areas[places],
                facecolors="white",
                edgecolors=edge,
                linewidths=width,
                zorder=1,
                label=label,
            )
    for lane in lanes:
        places = list(lane.places[1:-1])
        axes.scatter(
            points[places, 0],
            points[places, 1],
            s=areas[places],
            c=[_share(instance, visit) for visit in lane.route.visits],
            cmap=_SHARE_COLOURS,
            vmin=0.0,
            vmax=1.0,
            edgecolors=lane.colour,
            linewidths=1.3,
            zorder=3,
            label="visited",
        )
    for stop in instance.required.nonzero()[0].tolist():
        star = _star(drawn_as_missing=stop in missing)
        star.set_data(points[[drawn[stop]], 0], points[[drawn[stop]], 1])
        axes.add_line(star)


def _star(*, drawn_as_missing: bool) -> Line2D:
    if drawn_as_missing:
        return make_marker("required, not visited", "*", 45, LIMIT, LIMIT, 0.5)
    return make_marker("required", "*", 60, "white", INK, 0.7)


def _share(instance: Instance, visit: Visit) -> float:
    full = float(instance.full_profits[visit.stop])
    return min(max(visit.profit / full, 0.0), 1.0) if full > 0 else 1.0


def _end_labels(instance: Instance, script: Script) -> list[Label]:
    """Names of starts and ends; one without a name says whose it is."""
    if has_one_depot(instance):
        return []
    labels = []
    for place, kind in ends_of(instance).items():
        name = place_name(instance, place) or _whose(instance, place, kind)
        labels.append(Label(place, script.clean(name, NAME_LENGTH)))
    return labels


def _whose(instance: Instance, place: int, kind: Kind) -> str:
    """Say whose start or end a place is."""
    users = [one.id for one in instance.fleet if place in (one.start, one.end)]
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return f"{kind} of {users[0]}{more}"


def _modest_labels(
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    drawn: dict[int, int],
    script: Script,
) -> list[Label]:
    """Names of stops that are not visited, and of other places of those that are."""
    taken = {stop for lane in lanes for stop in lane.route.stops} | set(missing)
    labels = []
    if instance.ids is not None:
        labels = [
            Label(place, script.clean(stop_name(instance, stop), NAME_LENGTH), MUTED, modest=True)
            for stop, place in drawn.items()
            if stop not in taken
        ]
    named = {label.place for label in labels} | set(ends_of(instance))
    for _, place in _other_places(instance, drawn):
        if place >= instance.nodes and place not in named and place_name(instance, place):
            named.add(place)
            name = script.clean(place_name(instance, place), NAME_LENGTH)
            labels.append(Label(place, name, MUTED, modest=True))
    return labels[:_MAX_MAP_LABELS]


def _label_visits(
    labellings: Sequence[Labelling],
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    drawn: dict[int, int],
    names: dict[int, str],
    script: Script,
) -> str:
    """Label visited stops, and before them required ones left out; say what the labels are."""
    left_out = [Label(drawn[stop], names[stop], LIMIT) for stop in missing[:_MAX_MAP_LABELS]]
    for labelling in labellings:
        labelling.write(left_out)
    visits = [
        (stop, order, _text_colour(lane, lanes))
        for lane in lanes
        for order, stop in enumerate(lane.route.stops, start=1)
    ]
    if not 0 < len(visits) <= _MAX_MAP_LABELS:
        return ""
    labels = [Label(drawn[stop], str(order), colour) for stop, order, colour in visits]
    remark = "numbers give the order of the visits"
    longest = max(len(names[stop]) for stop, _, _ in visits)
    if instance.ids is not None and len(visits) <= _MAX_MAP_IDS and longest <= _MAX_ID_LENGTH:
        by_name = [Label(drawn[stop], names[stop], colour) for stop, _, colour in visits]
        clear = sum(labelling.find(by_name)[2] for labelling in labellings)
        if clear >= 0.75 * len(visits):
            labels, remark = by_name, ""
    for labelling in labellings:
        labelling.write(labels)
    return remark


def _text_colour(lane: Lane, lanes: Sequence[Lane]) -> str:
    """Colour of what is written about a route: a dark one of its own if there are several."""
    if len(lanes) == 1:
        return INK
    red, green, blue = to_rgb(lane.colour)
    return to_hex((0.7 * red, 0.7 * green, 0.7 * blue))


def _map_key(
    instance: Instance,
    lanes: Sequence[Lane],
    missing: Sequence[int],
    others: Sequence[Artist],
) -> list[Artist]:
    markers = {str(marker.get_label()): marker for _, marker in end_markers(instance)}
    largest = sorted(markers.values(), key=lambda marker: -marker.get_markersize())
    handles: list[Artist] = [*largest]
    for lane in lanes[:_MAX_ROUTES]:
        label = lane.name or "route"
        style: dict[str, Any] = {"color": lane.colour, "linestyle": lane.line}
        handles.append(Line2D([], [], linewidth=1.8, label=label, **style))
    if len(lanes) > _MAX_ROUTES:
        handles.append(
            Line2D([], [], linestyle="none", label=f"and {len(lanes) - _MAX_ROUTES} more")
        )
    visited = {stop for lane in lanes for stop in lane.route.stops}
    if instance.required.sum() > len(missing):
        handles.append(_star(drawn_as_missing=False))
    if missing:
        handles.append(_star(drawn_as_missing=True))
    if len(visited) + len(missing) < instance.stops:
        handles.append(make_marker("stop not visited", "o", 45, "white", RULE, 0.9))
    handles.extend(others)
    best = float(instance.full_profits.max())
    for profit in _round_profits(instance.full_profits[1:]):
        area = _MIN_AREA + profit / best * (_largest_area(instance) - _MIN_AREA)
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
