"""Orders of stops, by hand or of a plan, as JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from decost.files.json import read_json
from decost.files.limits import FormatError
from decost.files.plans import solution_of
from decost.problem.instance import Instance
from decost.problem.plan import Solution
from decost.problem.validation import shortened

Orders: TypeAlias = list[list[str | int]] | dict[str, list[str | int]] | list[str | int]


def read_orders(path: str | Path) -> Orders:
    """Read an order of stops for each vehicle.

    A file holds lists of stops by the ids of vehicles, or a list of such lists, the first of which
    is the first vehicle's, or one list for the only vehicle; or it is a plan.
    """
    return orders_of(path, read_json(path))


def read_start(path: str | Path, instance: Instance) -> Solution | Orders:
    """Read a plan for an instance, or an order of stops for each vehicle."""
    data = read_json(path)
    routes = data.get("routes", []) if isinstance(data, dict) else []
    visits = [visit for route in routes for visit in _visits(route)] if _is_list(routes) else []
    timed = any(isinstance(visit, dict) and "start" in visit for visit in visits)
    return solution_of(path, data, instance) if timed else orders_of(path, data)


def orders_of(where: str | Path, data: Any) -> Orders:
    """Give the orders that parsed JSON describes."""
    if isinstance(data, dict) and "routes" in data:
        data = data["routes"]
        if _is_list(data) and any(isinstance(route, dict) and "vehicle" in route for route in data):
            named: dict[str, Any] = {}
            for k, route in enumerate(data):
                name = route.get("vehicle") if isinstance(route, dict) else None
                if not isinstance(name, str) or name in named:
                    raise FormatError(
                        f"{where}: routes[{k}].vehicle = {shortened(name)}: "
                        "must be the id of a vehicle, once each"
                    )
                named[name] = _visits(route)
            data = named
        elif _is_list(data):
            data = [_visits(route) for route in data]
    if isinstance(data, dict):
        return {name: _stops(f"{where}: {name}", order) for name, order in data.items()}
    if _is_list(data) and data and not any(_is_list(order) for order in data):
        return _stops(f"{where}: order", data)
    if not _is_list(data):
        raise FormatError(f"{where}: must hold lists of stops, by the ids of vehicles")
    return [_stops(f"{where}: orders[{k}]", order) for k, order in enumerate(data)]


def _is_list(data: Any) -> bool:
    return isinstance(data, list)


def _visits(route: Any) -> Any:
    visits = route.get("visits", []) if isinstance(route, dict) else route
    return visits if _is_list(visits) else [visits]


def _stops(where: str, order: Any) -> list[str | int]:
    if not _is_list(order):
        raise FormatError(f"{where} = {shortened(order)}: must be a list of stops")
    stops: list[Any] = [one.get("stop") if isinstance(one, dict) else one for one in order]
    for k, stop in enumerate(stops):
        if isinstance(stop, bool) or not isinstance(stop, str | int):
            raise FormatError(f"{where}[{k}] = {shortened(stop)}: must be a stop")
    return stops
