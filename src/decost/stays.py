"""Optimal stays for given routes: the paper's second stage, for anyone's first stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from decost.instance import FloatArray, Instance, IntArray
from decost.kernels.stays import stays_of_routes


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
    return Stays(tuple(np.split(stays, start[1:-1])) if len(routes) else (), profit, broken)


def flatten_routes(
    instance: Instance, routes: Sequence[Sequence[int]]
) -> tuple[IntArray, IntArray]:
    """Put routes into one array, after checking that they name each stop at most once.

    Returns the array, and where each route starts in it and the last one ends.
    """
    start = np.zeros(len(routes) + 1, dtype=np.int64)
    np.cumsum([len(route) for route in routes], out=start[1:])
    given = np.array(list(chain.from_iterable(routes)))
    number = np.repeat(np.arange(len(routes)), np.diff(start))
    if len(given) and given.dtype.kind not in "iu":
        raise ValueError(f"routes: stops are whole numbers, not {given.dtype}")
    wrong = (given < 1) | (given > instance.stops)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(f"routes[{number[k]}]: there is no stop {given[k]}")
    flat = given.astype(np.int64)
    visits, times = np.unique(number * instance.nodes + flat, return_counts=True)
    if len(visits) < len(flat):
        k, stop = divmod(int(visits[np.argmax(times > 1)]), instance.nodes)
        raise ValueError(f"routes[{k}]: stop {stop} is visited twice")
    return flat, start
