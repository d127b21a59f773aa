"""Optimal stays for given routes: the paper's second stage, for anyone's first stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.plan import Route, Solution, Visit, with_idle_vehicles
from decost.timeline.stays import first_fault, stays_of_routes, timetable


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
    """

    stays: tuple[FloatArray, ...]
    profit: FloatArray
    broken: IntArray

    @property
    def feasible(self) -> bool:
        """Whether every route is feasible."""
        return bool((self.broken < 0).all())


def optimal_stays(instance: Instance, routes: Sequence[Sequence[int]]) -> Stays:
    """Find the stays that earn most on each of the given routes, the order being fixed.

    Every route is taken by itself, so the batch may hold alternatives for one vehicle. Exact
    for every concave profit, in one pass over the route.

    Parameters
    ----------
    instance
        The problem.
    routes
        For each route the numbers of its stops in order, without the depots.

    Raises
    ------
    ValueError
        If a route names a stop that does not exist, or one twice.

    Examples
    --------
    >>> from decost import Instance
    >>> line = Instance(budget=10, xy=[[0, 0], [1, 0], [2, 0]], rate=[0, 3, 1], max_stay=[0, 4, 9])
    >>> optimal_stays(line, [[1, 2]]).stays
    (array([4., 2.]),)
    """
    flat, start = flatten_routes(instance, routes)
    stays = np.zeros(len(flat))
    profit = np.empty(len(routes))
    broken = np.empty(len(routes), dtype=np.int64)
    stays_of_routes(instance.arrays, flat, start, stays, profit, broken)
    ends = start.tolist()
    return Stays(tuple(stays[a:b] for a, b in pairwise(ends)), profit, broken)


def best_solution(instance: Instance, routes: Sequence[Sequence[int]]) -> Solution:
    """Make a plan of feasible routes with optimal stays; other vehicles stay at the depot."""
    timed = []
    for stops in routes:
        route = np.array(stops, dtype=np.int64)
        table = np.empty((5, len(route)))
        if not timetable(instance.arrays, route, table):
            raise ValueError(f"route {list(stops)} breaks a deadline")
        visits = tuple(map(Visit._make, zip(stops, *table.tolist(), strict=True)))
        home = float(instance.travel[stops[-1], instance.end]) if stops else 0.0
        timed.append(Route(visits, visits[-1].leave + home if visits else 0.0))
    return with_idle_vehicles(instance, timed)


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
