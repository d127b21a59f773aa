"""Ants that build plans: from stop to stop by chance, along ways that earlier ants liked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.kernels.construct import longest_service
from decost.kernels.profile import jit
from decost.kernels.reduction import Useful
from decost.kernels.stays import stays_of_route
from decost.problem.instance import Arrays, FloatArray, IntArray


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
    stops = len(useful.stop)
    key = np.empty(stops)
    node = np.empty(stops, dtype=np.int64)
    for row in range(begin, end):
        place = 0
        leave = 0.0
        if row > 0:
            place = useful.stop[row - 1]
            leave = useful.early[place] + arrays.min_stay[place]
        found = 0
        for k in range(stops):
            stop = useful.stop[k]
            start = max(leave + arrays.travel[place, stop], useful.early[stop])
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
                if place < wanted and before == (wished == 0):
                    if before or key[k] == border:
                        target[row, place] = node[k]
                        place += 1


@jit
def longest_stays(arrays: Arrays, route: IntArray, stays: FloatArray) -> float:
    """Write the stays of a route that lasts at every stop as long as it can; return its profit."""
    time = 0.0
    profit = 0.0
    place = 0
    for k in range(len(route)):
        stop = route[k]
        time = max(time + arrays.travel[place, stop], arrays.open[stop])
        stay, earned = longest_service(arrays, stop, time)
        stays[k] = max(stay, arrays.min_stay[stop])
        profit += earned
        time += stays[k]
        place = stop
    return profit


@jit
def send_ants(
    arrays: Arrays,
    trails: Trails,
    weight: FloatArray,
    vehicles: int,
    greedy: bool,
    chance: FloatArray,
    path: IntArray,
    steps: IntArray,
    profit: FloatArray,
) -> None:
    """Let an ant for each row of `path` build a plan, vehicle after vehicle.

    At every node it takes one of the trails that are open, with a probability in proportion to
    the `weight`; `chance` holds a random number from [0, 1) for every step of every ant. A trail
    is open if its stop can be served and left for home in time. Ants stay as long as they can if
    `greedy`; else only as long as they must, so that the plan holds as many stops as the ant
    likes, and it earns what optimal stays earn. The trails that were taken go to `path`, their
    number to `steps`, and what the plan earns to `profit`.
    """
    nodes = len(trails.stop)
    reached = np.empty(nodes)  # weight of the open trails up to each of them
    open_trail = np.empty(nodes, dtype=np.int64)
    visitor = np.full(nodes, -1)
    route = np.empty(nodes, dtype=np.int64)
    stays = np.empty(nodes)
    pieces = len(arrays.piece_rate)
    rate, length = np.empty(pieces), np.empty(pieces)
    owner = np.empty(pieces, dtype=np.int64)
    for ant in range(len(path)):
        step = 0
        profit[ant] = 0.0
        for _ in range(vehicles):
            time = 0.0
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
                        start = max(time + trails.way[trail], arrays.open[stop])
                        least = arrays.min_stay[stop]
                        late = min(arrays.close[stop], arrays.leave_by[stop] - least)
                        home = start + least + arrays.travel[stop, arrays.end]
                        if start > late + arrays.slack or home > arrays.budget + arrays.slack:
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
                path[ant, step] = trail
                step += 1
                node = trails.target[trail]
                if node == 0:
                    break
                visitor[node] = ant
                stop = trails.stop[node]
                route[stops] = stop
                stops += 1
                time = max(time + trails.way[trail], arrays.open[stop])
                stay = arrays.min_stay[stop]
                if greedy:
                    stay = max(stay, longest_service(arrays, stop, time)[0])
                time += stay
            if greedy:
                profit[ant] += longest_stays(arrays, route[:stops], stays[:stops])
            else:
                profit[ant] += stays_of_route(
                    arrays, route[:stops], stays[:stops], rate, length, owner
                )[0]
        steps[ant] = step


@jit
def lay_pheromone(
    pheromone: FloatArray, path: IntArray, steps: IntArray, share: FloatArray
) -> None:
    """Let each ant leave its share at every trail that it took."""
    for ant in range(len(path)):
        for step in range(steps[ant]):
            pheromone[path[ant, step]] += share[ant]
