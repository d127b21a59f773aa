"""Greedy construction of a plan (the paper's Greedy-PRS), for others to begin with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from decost.compiled import jit
from decost.problem.instance import Arrays, BoolArray, FloatArray, Instance, IntArray
from decost.problem.plan import Solution
from decost.timeline.network import Network, network_as_given
from decost.timeline.routes import best_solution
from decost.timeline.steps import earliest, last_visit


@jit
def profit_ratio_route(
    network: Network, free: BoolArray, route: IntArray, stays: FloatArray
) -> int:
    """Write a route, and its stays, that always goes where a full stay earns most per time.

    The ratio is the profit of the longest possible stay over travel + wait + that stay.
    `free` marks the nodes that may be used and is updated. Returns the number of visits.
    """
    at = network.start
    time = network.node[at].open
    count = 0
    while True:
        best = -1
        best_ratio = 0.0
        best_leave = best_stay = 0.0
        for node in range(1, network.alternatives + 1):
            if not free[node]:
                continue
            start = earliest(network, at, time, node)
            stay, profit = last_visit(network, node, start)
            if stay < 0.0 or profit <= 0.0:
                continue
            spent = start + stay - time
            ratio = profit / spent if spent > 0.0 else np.inf
            if ratio > best_ratio:
                best, best_ratio = node, ratio
                best_leave, best_stay = start + stay, stay
        if best < 0:
            return count
        route[count] = best
        stays[count] = best_stay
        count += 1
        for node in range(network.first[network.stop[best]], network.first[network.stop[best] + 1]):
            free[node] = False
        at, time = best, best_leave


@jit
def profit_ratio_plan(arrays: Arrays, vehicles: int) -> tuple[IntArray, FloatArray, IntArray]:
    """Route vehicles one after another, each among the stops that are left.

    Returns the stops of all routes, the stays there, and where each route ends among them.
    """
    network = network_as_given(arrays)
    free = np.ones(network.alternatives + 1, dtype=np.bool_)
    route = np.empty(network.alternatives, dtype=np.int64)
    stays = np.empty(network.alternatives)
    ends = np.empty(vehicles, dtype=np.int64)
    last = 0
    for r in range(vehicles):
        last += profit_ratio_route(network, free, route[last:], stays[last:])
        ends[r] = last
    return network.number[network.stop[route[:last]]], stays[:last], ends


def profit_ratio_routes(instance: Instance) -> tuple[list[list[int]], list[FloatArray]]:
    """Give the routes of all vehicles that are used, and the stays on them."""
    stops, stays, ends = profit_ratio_plan(instance.arrays, instance.vehicles)
    spans = [span for span in pairwise([0, *ends.tolist()]) if span[0] < span[1]]
    return [stops[a:b].tolist() for a, b in spans], [stays[a:b] for a, b in spans]


def first_plan(instance: Instance, start: Solution | None) -> Solution:
    """Give the plan to improve: the greedy one, or the given one if that is better."""
    plan = best_solution(instance, profit_ratio_routes(instance)[0])
    return plan if start is None or start.profit < plan.profit else start
