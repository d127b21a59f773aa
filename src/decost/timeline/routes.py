"""Optimal stays for given routes: the paper's second stage, for anyone's first stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import TypeAlias

import numpy as np

from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.plan import Route, Solution, Visit, idle_route, with_idle_vehicles
from decost.timeline.network import Network, network_as_given
from decost.timeline.orders import best_alternatives
from decost.timeline.stays import first_fault, stays_of_routes, timetable

Numbers: TypeAlias = Sequence[int] | IntArray


@dataclass(frozen=True)
class Stays:
    """Optimal stays of a batch of routes.

    Attributes
    ----------
    stays
        For every route the stays at its stops; meaningless where the route is not feasible.
    profit
        Profit of every route, minus infinity where it is not feasible.
    broken
        For every route -1 if it is feasible, else the position of the first stop that cannot
        be served in time, or the number of its stops if it cannot be home in time.
    alternatives
        For every route the alternative of each of its stops, counted from 0; up to where it
        breaks if it is not feasible.
    """

    stays: tuple[FloatArray, ...]
    profit: FloatArray
    broken: IntArray
    alternatives: tuple[IntArray, ...]

    @property
    def feasible(self) -> bool:
        """Whether every route is feasible."""
        return bool((self.broken < 0).all())


def optimal_stays(
    instance: Instance,
    routes: Sequence[Sequence[int]],
    *,
    vehicles: Sequence[int] | None = None,
) -> Stays:
    """Find the stays that earn most on each of the given routes, the order being fixed.

    Every route is taken by itself, so the batch may hold several for one vehicle. Exact for every
    concave profit, in one pass over the route. Where stops have several alternatives, those are
    chosen that earn most in this order.

    Parameters
    ----------
    instance
        The problem.
    routes
        For each route the numbers of its stops in order, without the depots.
    vehicles
        For each route the vehicle that drives it, the first one by default.

    Raises
    ------
    ValueError
        If a route names a stop that does not exist, or one twice, or a vehicle does not exist.

    Examples
    --------
    >>> from decost import Instance
    >>> line = Instance(budget=10, xy=[[0, 0], [1, 0], [2, 0]], rate=[0, 3, 1], max_stay=[0, 4, 9])
    >>> optimal_stays(line, [[1, 2]]).stays
    (array([4., 2.]),)
    """
    flat, start = flatten_routes(instance, routes)
    kinds = _kinds(instance, len(routes), vehicles)
    if instance.simple:
        return _stays(instance, flat, start, kinds)
    network = network_as_given(instance.arrays)
    chosen = [
        _alternatives(network, int(kind), flat[a:b])
        for kind, (a, b) in zip(kinds, pairwise(start.tolist()), strict=True)
    ]
    found = stays_along(instance, [nodes for nodes, _ in chosen], vehicles)
    broken = np.array([position for _, position in chosen], dtype=np.int64)
    first = instance.alternative_first
    return Stays(
        found.stays,
        np.where(broken < 0, found.profit, -np.inf),
        broken,
        tuple(nodes - first[instance.alternative_stop[nodes]] for nodes, _ in chosen),
    )


def stays_along(
    instance: Instance, routes: Sequence[Numbers], vehicles: Sequence[int] | None = None
) -> Stays:
    """Find the stays that earn most on routes of alternatives, given by their numbers."""
    start = np.zeros(len(routes) + 1, dtype=np.int64)
    np.cumsum([len(route) for route in routes], out=start[1:])
    flat = np.array(list(chain.from_iterable(routes)), dtype=np.int64)
    return _stays(instance, flat, start, _kinds(instance, len(routes), vehicles))


def best_solution(instance: Instance, routes: Sequence[Numbers]) -> Solution:
    """Make a plan of feasible routes with optimal stays; other vehicles stay where they are.

    Routes are of alternatives, given by their numbers, one a vehicle in their order.
    """
    timed = []
    for vehicle, numbers in enumerate(routes):
        if not len(numbers):
            timed.append(idle_route(instance, vehicle))
            continue
        route = np.array(numbers, dtype=np.int64)
        table = np.empty((5, len(route)))
        kind = int(instance.arrays.vehicle_type[vehicle])
        kept, depart, finish = timetable(instance.arrays, kind, route, table)
        if not kept:
            raise ValueError(f"route {list(numbers)} breaks a deadline")
        if instance.simple:
            rows = zip(route.tolist(), *table.tolist(), repeat(0), strict=False)
        else:
            stops = instance.alternative_stop[route]
            which = route - instance.alternative_first[stops]
            rows = zip(stops.tolist(), *table.tolist(), which.tolist(), strict=False)
        timed.append(Route(tuple(map(Visit._make, rows)), finish, depart))
    return with_idle_vehicles(instance, timed)


def with_required(instance: Instance, routes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Insert each required stop that is on no route where it fits, and costs least profit.

    Routes are of alternatives, one a vehicle in their order.
    """
    plan = [list(route) for route in routes]
    plan += [[] for _ in range(instance.vehicles - len(plan))]
    if not instance.required.any():
        return plan
    visited = set(instance.alternative_stop[list(chain.from_iterable(plan))].tolist())
    first = instance.alternative_first
    for stop in np.flatnonzero(instance.required).tolist():
        if stop in visited:
            continue
        tried = [
            (vehicle, [*route[:gap], number, *route[gap:]])
            for vehicle, route in enumerate(plan)
            for gap in range(len(route) + 1)
            for number in range(first[stop], first[stop + 1])
        ]
        vehicles = [vehicle for vehicle, _ in tried]
        before = stays_along(instance, plan, range(len(plan))).profit
        gain = stays_along(instance, [route for _, route in tried], vehicles).profit
        gain -= before[vehicles]
        if len(gain) and gain.max() > -np.inf:
            vehicle, route = tried[int(gain.argmax())]
            plan[vehicle] = route
    return plan


def solution_for(instance: Instance, orders: Sequence[Sequence[int]]) -> Solution:
    """Make the best plan that keeps an order of stops a vehicle.

    Raises
    ------
    ValueError
        If an order is not feasible.
    """
    found = optimal_stays(instance, orders, vehicles=range(len(orders)))
    if not found.feasible:
        vehicle = int(np.argmax(found.broken >= 0))
        raise ValueError(f"route {list(orders[vehicle])} breaks a deadline")
    first = instance.alternative_first
    pairs = zip(orders, found.alternatives, strict=True)
    return best_solution(instance, [first[list(order)] + which for order, which in pairs])


def start_of_service(instance: Instance, alternative: int, arrive: float) -> float:
    """Give the time at which service begins for who arrives then."""
    return max(arrive, float(instance.alternative_open[alternative]))


def keeps_deadlines(instance: Instance, alternative: int, start: float) -> bool:
    """Whether the shortest service that starts then is in time, as exactly as plans are judged."""
    leave = start + float(instance.alternative_min_stay[alternative])
    slack = instance.tolerance
    in_time = start <= instance.alternative_close[alternative] + slack
    return bool(in_time and leave <= instance.alternative_leave_by[alternative] + slack)


def flatten_routes(
    instance: Instance, routes: Sequence[Sequence[int]]
) -> tuple[IntArray, IntArray]:
    """Put routes into one array, after checking that they name each stop at most once.

    Returns the array, and where each route starts in it and the last one ends.
    """
    for number, route in enumerate(routes):
        if not isinstance(route, Sequence | np.ndarray) or isinstance(route, str):
            raise ValueError(f"routes[{number}] = {route!r}: must be a list of stops")
    start = np.zeros(len(routes) + 1, dtype=np.int64)
    np.cumsum([len(route) for route in routes], out=start[1:])
    given = np.array(list(chain.from_iterable(routes)))
    if len(given) and given.dtype.kind not in "iu":
        raise ValueError(f"routes: stops are whole numbers, not {given.dtype}")
    flat = given.astype(np.int64)
    fault = first_fault(instance.stops, flat, start)
    if fault >= 0:
        number = int(np.searchsorted(start, fault, side="right")) - 1
        known = 1 <= flat[fault] <= instance.stops
        why = f"stop {flat[fault]} is visited twice" if known else f"there is no stop {flat[fault]}"
        raise ValueError(f"routes[{number}]: {why}")
    return flat, start


def _kinds(instance: Instance, routes: int, vehicles: Sequence[int] | None) -> IntArray:
    """Give the type of the vehicle of each route."""
    if vehicles is None:
        return np.full(routes, instance.arrays.vehicle_type[0])
    if len(vehicles) != routes:
        raise ValueError(f"vehicles: there are {len(vehicles)} for {routes} routes")
    numbers = np.array(vehicles, dtype=np.int64)
    wrong = (numbers < 0) | (numbers >= instance.vehicles)
    if wrong.any():
        raise ValueError(f"vehicles: there is no vehicle {numbers[np.argmax(wrong)]}")
    return instance.arrays.vehicle_type[numbers]


def _stays(instance: Instance, flat: IntArray, start: IntArray, kinds: IntArray) -> Stays:
    """Find the stays on routes of alternatives that are in one array."""
    stays = np.zeros(len(flat))
    profit = np.empty(len(kinds))
    broken = np.empty(len(kinds), dtype=np.int64)
    stays_of_routes(instance.arrays, flat, start, kinds, stays, profit, broken)
    which = flat - instance.alternative_first[instance.alternative_stop[flat]]
    spans = list(pairwise(start.tolist()))
    return Stays(
        tuple(stays[a:b] for a, b in spans), profit, broken, tuple(which[a:b] for a, b in spans)
    )


def _alternatives(network: Network, kind: int, stops: IntArray) -> tuple[IntArray, int]:
    """Choose alternatives for an order of stops; also give where it breaks."""
    if not len(stops):  # the vehicle does not move
        return stops, -1
    number = np.searchsorted(network.number, stops)
    for position, (k, stop) in enumerate(zip(number.tolist(), stops.tolist(), strict=True)):
        if k == len(network.number) or network.number[k] != stop:  # it has no alternative
            nodes, broken = best_alternatives(network, kind, number[:position])
            return nodes, position if broken in (-1, position) else broken
    return best_alternatives(network, kind, number)
