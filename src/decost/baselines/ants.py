"""Ants that build plans: from stop to stop by chance, along ways that earlier ants liked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.problem.instance import Arrays, FloatArray, IntArray
from decost.timeline.network import Network, Useful
from decost.timeline.stays import stays_of_route
from decost.timeline.steps import earliest, in_time, last_visit


class Trails(NamedTuple):
    """The ways that ants can take between nodes: the depot, 0, and the useful stops.

    Node k is stop `stop[k]` of the instance. Its trails have the numbers from `first[k]` to
    `first[k + 1] - 1`; trail e leads to node `target[e]` in `way[e]` units of time. The last
    trail of every node leads home, which is target 0: no ant is ever stuck.
    """

    stop: IntArray
    first: IntArray
    target: IntArray
    way: FloatArray


@jit
def find_successors(
    arrays: Arrays,
    useful: Useful,
    begin: int,
    end: int,
    target: IntArray,
    count: IntArray,
) -> None:
    """Find for the nodes from `begin` to `end - 1` those whose service can start soonest after.

    A row of `target` has room for the most of them that are wanted; `count` tells how many
    there are. Nodes are the depot, 0, and the useful stops in their order.
    """
    most = target.shape[1]
    stops = len(useful.alternative)
    travel = arrays.planes[0]
    key = np.empty(stops)
    node = np.empty(stops, dtype=np.int64)
    for row in range(begin, end):
        place = 0
        leave = 0.0
        if row > 0:
            place = useful.alternative[row - 1]
            leave = useful.early[place] + arrays.min_stay[place]
        found = 0
        for k in range(stops):
            stop = useful.alternative[k]
            start = max(leave + travel[place, stop], useful.early[stop])
            if stop != place and start <= useful.late[stop] + arrays.slack:
                key[found] = start
                node[found] = k + 1
                found += 1
        wanted = min(found, most)
        count[row] = wanted
        border = np.inf
        if 0 < most < found:
            border = np.partition(key[:found], most - 1)[most - 1]
        place = 0
        for wished in range(2):  # those before the border, then as many at it as there is room for
            for k in range(found):
                before = key[k] < border
                wished_for = before == (wished == 0) and (before or key[k] == border)
                if place < wanted and wished_for:
                    target[row, place] = node[k]
                    place += 1


class Walks(NamedTuple):
    """What some ants did: trails and their number of each ant, and what its plan earns."""

    path: IntArray
    steps: IntArray
    profit: FloatArray


@jit
def longest_stays(network: Network, route: IntArray, stays: FloatArray) -> float:
    """Write the stays of a route that lasts at every stop as long as it can; return its profit."""
    at = network.start
    time = network.node[at].open
    profit = 0.0
    for k in range(len(route)):
        time = earliest(network, at, time, route[k])
        stay, earned = last_visit(network, route[k], time)
        at = route[k]
        stays[k] = max(stay, network.node[at].min_stay)
        profit += earned
        time += stays[k]
    return profit


@lean
def is_open(network: Network, stop: int, start: float) -> bool:
    """Whether a stop can be served from then on and left for the end in time."""
    home = earliest(network, stop, start + network.node[stop].min_stay, network.end)
    return in_time(network, stop, start) and in_time(network, network.end, home)


@jit
def send_ants(
    network: Network,
    trails: Trails,
    weight: FloatArray,
    vehicles: int,
    greedy: bool,
    reserve: FloatArray,
    chance: FloatArray,
    walks: Walks,
) -> None:
    """Let ants build plans, vehicle after vehicle, and write their walks.

    At every node an ant takes one of the trails that are open, with a probability in proportion to
    the `weight`; `chance` holds a random number from [0, 1) for every step of every ant. A trail
    is open if its stop can be served and left for home in time. Ants stay as long as they can if
    `greedy`; else as long as the trail's `reserve` says, if that is possible, and no less than
    they must; then the plan earns what optimal stays earn. Node k of the network is stop k.
    """
    nodes = len(trails.stop)
    reached = np.empty(nodes)  # weight of the open trails up to each of them
    open_trail = np.empty(nodes, dtype=np.int64)
    visitor = np.full(nodes, -1)
    route = np.empty(nodes, dtype=np.int64)
    stays = np.empty(nodes)
    pool = np.empty((len(network.pieces), 2))
    owner = np.empty(len(network.pieces), dtype=np.int64)
    for ant in range(len(walks.path)):
        step = 0
        walks.profit[ant] = 0.0
        for _ in range(vehicles):
            time = network.node[network.start].open
            at = network.start
            stops = node = 0
            while True:
                count = 0
                total = 0.0
                for trail in range(trails.first[node], trails.first[node + 1]):
                    other = trails.target[trail]
                    if other > 0:
                        if visitor[other] == ant:
                            continue
                        stop = trails.stop[other]
                        if not is_open(network, stop, earliest(network, at, time, stop)):
                            continue
                    total += weight[trail]
                    reached[count] = total
                    open_trail[count] = trail
                    count += 1
                wanted = chance[ant, step] * total
                chosen = 0
                while chosen < count - 1 and reached[chosen] <= wanted:
                    chosen += 1
                trail = open_trail[chosen]
                walks.path[ant, step] = trail
                step += 1
                node = trails.target[trail]
                if node == 0:
                    break
                visitor[node] = ant
                stop = trails.stop[node]
                route[stops] = stop
                stops += 1
                time = earliest(network, at, time, stop)
                stay = network.node[stop].min_stay
                if greedy:
                    stay = max(stay, last_visit(network, stop, time)[0])
                elif reserve[trail] > stay:
                    stay = max(stay, min(reserve[trail], last_visit(network, stop, time)[0]))
                time += stay
                at = stop
            if greedy:
                walks.profit[ant] += longest_stays(network, route[:stops], stays[:stops])
            else:
                walks.profit[ant] += stays_of_route(
                    network, route[:stops], stays[:stops], pool, owner
                )[0]
        walks.steps[ant] = step


@jit
def lay_pheromone(
    pheromone: FloatArray, path: IntArray, steps: IntArray, share: FloatArray
) -> None:
    """Let each ant leave its share at every trail that it took."""
    for ant in range(len(path)):
        for step in range(steps[ant]):
            pheromone[path[ant, step]] += share[ant]
