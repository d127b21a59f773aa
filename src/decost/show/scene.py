"""All that a page shows of an instance and a plan, as one JSON object.

The modules in `web/` draw from it alone. Names and numbers are data there, never markup.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from decost.method.result import Result
from decost.problem.checker import check, choose_alternatives
from decost.problem.instance import FloatArray, Instance
from decost.problem.names import (
    alternatives_of,
    amount_text,
    detour_of,
    place_name,
    place_of,
    stop_name,
    used_alternative,
    vehicle_name,
)
from decost.problem.plan import Route, Solution, Visit, Ways
from decost.show.lanes import left_out, looks_of
from decost.show.map import points_of

_MOST_VIOLATIONS = 20
_MOST_LATITUDE = 85.05  # beyond it there are no tiles


def scene_of(
    result: Result, explanation: Mapping[str, Any] | None = None, ways: Ways | None = None
) -> dict[str, Any]:
    """Describe a result for the page.

    Parameters
    ----------
    result
        The plan and what is known about it; the plan need not be feasible.
    explanation
        What `Explanation.to_dict` says of it.
    ways
        Ways along streets, a list of (lon, lat) for each leg of each route.
    """
    instance = result.instance
    solution = choose_alternatives(instance, result.solution)
    points = _points(instance)
    broken = [str(one) for one in check(instance, solution) if one.rule != "required"]
    return {
        "name": instance.name,
        "clock": instance.unit == "minutes",
        "geographic": instance.geographic,
        "approximate": instance.xy is None,
        "detour": detour_of(instance),
        "streets": ways is not None,
        "begin": _first_time(instance, solution),
        "until": _last_time(instance, solution),
        "places": _places(instance, points),
        "stops": [_stop(instance, stop) for stop in range(1, instance.nodes)],
        "vehicles": _vehicles(instance, len(solution.routes)),
        "routes": [
            _route(instance, k, route)
            | {"ways": None if ways is None else _lines(instance, ways[k])}
            for k, route in enumerate(solution.routes)
        ],
        "profit": solution.profit,
        "status": result.status,
        "bound": result.bound,
        "verdict": verdict(result, broken=bool(broken)),
        "broken": broken[:_MOST_VIOLATIONS],
        "missing": [stop_name(instance, stop) for stop in left_out(instance, solution)],
        "reasons": list(result.reasons),
        "left_out": _left_out(instance, solution, explanation),
        "more_time": None if explanation is None else explanation["words"],
    }


def verdict(result: Result, *, broken: bool = False) -> str:
    """Say in words how good a plan is known to be."""
    if broken:
        return "This plan breaks rules of its instance, so that its profit cannot be had."
    required = int(result.instance.required.sum())
    must = " that visits all required stops" if required else ""
    if result.status == "optimal":
        return (
            f"This is proven to be a best plan: none{must or ' that keeps all rules'} earns more."
        )
    words = []
    if result.status in ("incomplete", "infeasible"):
        must = " that visits as many required stops"
        words.append(f"{result.required_visited} of {required} required stops are visited.")
        if result.status == "infeasible":
            words.append("It is proven that no plan visits all of them.")
        else:
            words.append("Whether another plan visits more of them is not known.")
    words.append(f"This plan earns {amount_text(result.profit)}.")
    if result.bound is None:
        words.append("How much more another one could earn is not known.")
    elif result.bound <= result.profit:
        words.append(f"It is proven that none{must} earns more.")
    else:
        more = 100 * (result.bound / result.profit - 1) if result.profit > 0 else math.inf
        share = f", which is {more:.2g}% more" if 0.01 <= more < 100 else ""
        words.append(
            f"It is proven that none{must} earns more than {amount_text(result.bound)}{share}."
        )
    return " ".join(words)


def _points(instance: Instance) -> FloatArray | None:
    """Coordinates of places on the map, y downwards.

    Degrees become those of the Web Mercator projection, in which the world is 1 wide and small
    parts of it have their true shape; tiles of other people's maps are drawn in it.
    """
    if not instance.geographic or instance.xy is None:
        points = points_of(instance)
        return None if points is None else points * (1.0, -1.0)
    return _mercator(instance.xy, instance.xy[0, 0])


def _mercator(lon_lat: FloatArray, middle: float) -> FloatArray:
    lon, lat = lon_lat.T
    east = middle + (lon - middle + 180) % 360 - 180  # the shorter way round from the depot
    north = np.radians(np.clip(lat, -_MOST_LATITUDE, _MOST_LATITUDE))
    y = 0.5 - np.log(np.tan(np.pi / 4 + north / 2)) / (2 * np.pi)
    return np.column_stack((east / 360 + 0.5, y))


def _lines(instance: Instance, ways: Sequence[FloatArray]) -> list[list[float]]:
    """Give every leg as x, y, x, y, ... to a centimetre."""
    assert instance.xy is not None
    middle = instance.xy[0, 0]
    return [_mercator(way, middle).round(9).ravel().tolist() for way in ways]


def _places(instance: Instance, points: FloatArray | None) -> list[dict[str, Any]]:
    count = len(instance.planes[0]) if instance.xy is None else len(instance.xy)
    places: list[dict[str, Any]] = []
    for place in range(count):
        one: dict[str, Any] = {"name": place_name(instance, place)}
        if points is not None:
            one |= {"x": float(points[place, 0]), "y": float(points[place, 1])}
        if instance.geographic and instance.xy is not None:
            one["lat"] = float(instance.xy[place, 1])
        places.append(one)
    return places


def _stop(instance: Instance, stop: int) -> dict[str, Any]:
    ways = [_way(instance, number) for number in alternatives_of(instance, stop)]
    places = [way["place"] for way in ways]
    return {
        "name": stop_name(instance, stop),
        "place": stop if stop in places or not places else places[0],
        "required": bool(instance.required[stop]),
        "full": float(instance.full_profits[stop]),
        "ways": ways,
    }


def _way(instance: Instance, number: int) -> dict[str, Any]:
    """Describe an alternative; what is not limited is null."""
    admits = instance.alternative_vehicles
    return {
        "place": int(instance.alternative_place[number]),
        "open": float(instance.alternative_open[number]),
        "close": _finite(instance.alternative_close[number]),
        "leave_by": _finite(instance.alternative_leave_by[number]),
        "vehicles": None if admits is None else np.flatnonzero(admits[number]).tolist(),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _vehicles(instance: Instance, routes: int) -> list[dict[str, Any]]:
    vehicles = []
    for k, (colour, line) in enumerate(looks_of(instance, routes)):
        mine = instance.fleet[min(k, instance.vehicles - 1)]
        name = vehicle_name(instance, k) or (f"Route {k + 1}" if routes > 1 else "Route")
        vehicles.append(
            {
                "name": name,
                "colour": colour,
                "dashes": [] if line == "solid" else [float(part) for part in line[1]],
                "start": mine.start,
                "end": mine.end,
                "begin": mine.begin,
                "due": mine.due,
                "underway": mine.underway,
            }
        )
    return vehicles


def _route(instance: Instance, vehicle: int, route: Route) -> dict[str, Any]:
    mine = min(vehicle, instance.vehicles - 1)
    places = [place_of(instance, visit) for visit in route.visits]
    order = [instance.fleet[mine].start, *places, instance.fleet[mine].end]
    travel = instance.travel_of(mine)[order[:-1], order[1:]].tolist()
    moves = bool(route.visits) or instance.fleet[mine].underway
    return {
        "depart": route.depart,
        "finish": route.finish,
        "late": route.late,
        "profit": route.profit,
        "moves": moves,
        "travel": travel if moves else [],
        "visits": [
            _visit(instance, visit, place)
            for visit, place in zip(route.visits, places, strict=True)
        ],
    }


def _visit(instance: Instance, visit: Visit, place: int) -> dict[str, Any]:
    number = used_alternative(instance, visit)
    return {
        "stop": visit.stop - 1,
        "way": None if number is None else number - int(instance.alternative_first[visit.stop]),
        "place": place,
        "arrive": visit.arrive,
        "start": visit.start,
        "stay": visit.stay,
        "leave": visit.leave,
        "profit": visit.profit,
    }


def _first_time(instance: Instance, solution: Solution) -> float:
    moving = [route.depart for route in solution.routes if route.visits]
    return float(min(*(one.begin for one in instance.fleet), *moving, math.inf))


def _last_time(instance: Instance, solution: Solution) -> float:
    ends = [route.finish for route in solution.routes]
    return float(max(*(one.due for one in instance.fleet), *ends, -math.inf))


def _left_out(
    instance: Instance, solution: Solution, explanation: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """List the stops that are not visited, with the reasons as far as there are any."""
    visited = {visit.stop for visit in solution.visits}
    rest = {instance.label(stop): stop for stop in range(1, instance.nodes) if stop not in visited}
    if explanation is not None:
        return [
            {"stop": rest[one["stop"]] - 1}
            | {field: one[field] for field in ("why", "cost", "proven", "words")}
            for one in explanation["left_out"]
        ]
    none = {"why": None, "cost": None, "proven": False, "words": ""}
    by_worth = sorted(
        rest.values(), key=lambda stop: (not instance.required[stop], -instance.full_profits[stop])
    )
    return [{"stop": stop - 1} | none for stop in by_worth]
