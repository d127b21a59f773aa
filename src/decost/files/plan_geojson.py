"""Plans as GeoJSON (RFC 7946): routes as lines, visits and ends as points, for any map."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from decost.files.limits import FormatError
from decost.problem.checker import choose_alternatives
from decost.problem.instance import Instance
from decost.problem.names import place_name, place_of, stop_name, time_text
from decost.problem.plan import Route, Solution, Ways

_MOST_LONGITUDE = 180.0


def require_degrees(path: str | Path, instance: Instance) -> None:
    """Refuse an instance whose places have no latitude and longitude."""
    if not instance.geographic:
        raise FormatError(f"{path}: GeoJSON needs places with lat and lon, and these have none")


def plan_as_geojson(instance: Instance, solution: Solution, ways: Ways | None = None) -> str:
    """Give a plan as GeoJSON; its ways are straight unless they are given."""
    solution = choose_alternatives(instance, solution)
    features = [
        feature
        for vehicle, route in enumerate(solution.routes)
        for feature in _features(instance, vehicle, route, ways)
    ]
    visited = {visit.stop for visit in solution.visits}
    features += [
        _point(instance, stop, {"kind": "left out", "stop": stop_name(instance, stop)})
        for stop in range(1, instance.nodes)
        if stop not in visited
    ]
    name = json.dumps(instance.name, ensure_ascii=False)
    lines = ",\n".join(json.dumps(feature, ensure_ascii=False) for feature in features)
    return f'{{"type": "FeatureCollection", "name": {name}, "features": [\n{lines}\n]}}\n'


def _features(
    instance: Instance, vehicle: int, route: Route, ways: Ways | None
) -> list[dict[str, Any]]:
    """Give the line of a route, its start and end, and its visits."""
    mine = instance.fleet[min(vehicle, instance.vehicles - 1)]
    if not route.visits and not (mine.underway and mine.start != mine.end):
        return []
    places = [mine.start, *(place_of(instance, visit) for visit in route.visits), mine.end]
    positions = [_position(instance, place) for place in places]
    if ways is not None:
        positions = [point for way in ways[vehicle] for point in way.tolist()]
    whose = {"vehicle": mine.id}
    times = {
        "depart": time_text(instance, route.depart),
        "finish": time_text(instance, route.finish),
        "profit": route.profit,
    }
    features = [
        {
            "type": "Feature",
            "geometry": _line(positions),
            "properties": {"kind": "route"} | whose | times,
        }
    ]
    for kind, place in (("start", mine.start), ("end", mine.end)):
        words = {"kind": kind, "place": place_name(instance, place)}
        features.append(_point(instance, place, words | whose))
    for order, (visit, place) in enumerate(zip(route.visits, places[1:-1], strict=True), start=1):
        visited = {"kind": "visit", "stop": stop_name(instance, visit.stop)} | whose
        when = {
            name: time_text(instance, time)
            for name, time in (
                ("arrive", visit.arrive),
                ("start", visit.start),
                ("leave", visit.leave),
            )
        }
        stay = {"stay": visit.stay, "profit": visit.profit}
        features.append(_point(instance, place, visited | {"order": order} | when | stay))
    return features


def _point(instance: Instance, place: int, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": "Point", "coordinates": _position(instance, place)}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _position(instance: Instance, place: int) -> list[float]:
    assert instance.xy is not None
    lon, lat = instance.xy[place].tolist()
    return [lon, lat]


def _line(positions: list[list[float]]) -> dict[str, Any]:
    """Make a line, cut in parts where it crosses the 180th meridian (RFC 7946, 3.1.9)."""
    parts = [positions[:1]]
    for (lon, lat), (to_lon, to_lat) in pairwise(positions):
        way = to_lon - lon
        if abs(way) > _MOST_LONGITUDE:
            edge = _MOST_LONGITUDE if way < 0 else -_MOST_LONGITUDE
            shorter = way + 2 * edge
            at = lat + (to_lat - lat) * ((edge - lon) / shorter if shorter else 0.0)
            parts[-1].append([edge, at])
            parts.append([[-edge, at]])
        parts[-1].append([to_lon, to_lat])
    if len(parts) == 1:
        return {"type": "LineString", "coordinates": parts[0]}
    return {"type": "MultiLineString", "coordinates": parts}
