"""Greedy construction of a plan (the paper's Greedy-PRS), for others to begin with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from decost.compiled import jit, lean
from decost.method.value import Scale
from decost.problem.instance import Arrays, BoolArray, FloatArray, Instance, IntArray
from decost.problem.plan import Solution
from decost.timeline.network import Network, network_as_given, of_type
from decost.timeline.routes import best_solution
from decost.timeline.steps import earliest, last_visit


@jit
def profit_ratio_route(
    network: Network, required: BoolArray, free: BoolArray, route: IntArray, stays: FloatArray
) -> int:
    """Write a route, and its stays, that always goes where a full stay earns most per time.

    The ratio is the profit of the longest possible stay over travel + wait + that stay. Nothing
    is visited after which a stop that is `required` would be out of reach, if that can be
    avoided. `free` marks the nodes that may be used and is updated. Returns the number of visits.
    """
    must = np.flatnonzero(required)
    at = network.start
    time = network.node[at].open
    count = 0
    while True:
        best = -1
        best_ratio = -1.0
        best_leave = best_stay = 0.0
        least = len(must) + 1
        for node in range(1, network.alternatives + 1):
            if not free[node] or not network.admits[network.kind, node]:
                continue
            start = earliest(network, at, time, node)
            stay, profit = last_visit(network, node, start)
            if stay < 0.0 or (profit <= 0.0 and not required[network.stop[node]]):
                continue
            spent = start + stay - time
            ratio = profit / spent if spent > 0.0 else np.inf
            lost = count_lost(network, free, must, at, time, node, start + stay)
            if lost < least or (lost == least and ratio > best_ratio):
                best, best_ratio, least = node, ratio, lost
                best_leave, best_stay = start + stay, stay
        if best < 0:
            return count
        route[count] = best
        stays[count] = best_stay
        count += 1
        for node in range(network.first[network.stop[best]], network.first[network.stop[best] + 1]):
            free[node] = False
        at, time = best, best_leave


@lean
def count_lost(
    network: Network,
    free: BoolArray,
    must: IntArray,
    at: int,
    time: float,
    node: int,
    leave: float,
) -> int:
    """Count the required stops within reach that are out of reach once a node has been left."""
    lost = 0
    for stop in must:
        if stop != network.stop[node] and within_reach(network, free, stop, at, time):
            lost += not within_reach(network, free, stop, node, leave)
    return lost


@lean
def within_reach(network: Network, free: BoolArray, stop: int, at: int, time: float) -> bool:
    """Whether a stop can be the next one, by any of its alternatives."""
    for node in range(network.first[stop], network.first[stop + 1]):
        usable = free[node] and network.admits[network.kind, node]
        if usable and last_visit(network, node, earliest(network, at, time, node))[0] >= 0.0:
            return True
    return False


@jit
def profit_ratio_plan(arrays: Arrays) -> tuple[IntArray, FloatArray, IntArray]:
    """Route vehicles one after another, each among the stops that are left.

    Returns the alternatives of all routes, the stays there, and where each route ends among them.
    """
    network = network_as_given(arrays)
    required = arrays.required[network.number]
    free = np.ones(network.alternatives + 1, dtype=np.bool_)
    route = np.empty(network.alternatives, dtype=np.int64)
    stays = np.empty(network.alternatives)
    ends = np.empty(len(arrays.vehicle_type), dtype=np.int64)
    last = 0
    for r in range(len(ends)):
        mine = of_type(network, arrays.vehicle_type[r])
        last += profit_ratio_route(mine, required, free, route[last:], stays[last:])
        ends[r] = last
    return route[:last], stays[:last], ends


def profit_ratio_routes(instance: Instance) -> tuple[list[list[int]], list[FloatArray]]:
    """Give the routes of all vehicles, as alternatives, and the stays on them."""
    route, stays, ends = profit_ratio_plan(instance.arrays)
    spans = list(pairwise([0, *ends.tolist()]))
    return [route[a:b].tolist() for a, b in spans], [stays[a:b] for a, b in spans]


def first_plan(instance: Instance, start: Solution | None) -> Solution:
    """Give the plan to improve: the greedy one, or the given one if that is better."""
    plan = best_solution(instance, profit_ratio_routes(instance)[0])
    value = Scale(instance).value
    return plan if start is None or value(start) < value(plan) else start
