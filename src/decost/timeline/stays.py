"""Optimal stays of fixed routes (the paper's second stage, STO) in one pass over each route.

The same steps as in `steps`, on lists whose pieces remember their owners: what is left of them
at the end of the route are the stays.
"""

from __future__ import annotations

import numpy as np

from decost.compiled import jit, lean
from decost.problem.instance import Arrays, FloatArray, IntArray
from decost.timeline.network import Network, network_as_given, network_of_route, of_type
from decost.timeline.steps import earliest, in_time, travel_time


@lean
def insert(
    pool: FloatArray, owner: IntArray, head: int, tail: int, rate: float, length: float
) -> int:
    """Put one piece into the list, behind those of its rate, and return its place."""
    place = tail
    while place > head and pool[place - 1, 0] < rate:
        pool[place, 0] = pool[place - 1, 0]
        pool[place, 1] = pool[place - 1, 1]
        owner[place] = owner[place - 1]
        place -= 1
    pool[place, 0] = rate
    pool[place, 1] = length
    return place


@lean
def trim(pool: FloatArray, head: int, tail: int, room: float, limit: float) -> tuple[int, float]:
    """Cut the end of the list so that `limit` units remain; return the new tail and room."""
    excess = room - limit
    while excess > 0.0 and tail > head:
        if pool[tail - 1, 1] > excess:
            pool[tail - 1, 1] -= excess
            return tail, limit
        excess -= pool[tail - 1, 1]
        room -= pool[tail - 1, 1]
        tail -= 1
    return tail, room


@lean
def stays_of_route(
    network: Network,
    route: IntArray,
    stays: FloatArray,
    pool: FloatArray,
    owner: IntArray,
) -> tuple[float, int]:
    """Write the optimal stays of a route; return its profit and where it breaks a deadline.

    The second answer is -1 for a feasible route, else the position of the first node that
    cannot be served in time or not by this type of vehicle, or the number of nodes if the way to
    the end is too long. `pool` and `owner` are scratch for the pieces of all nodes of the route.
    """
    profit = room = 0.0
    head = tail = 0
    before = network.start
    time = network.node[before].open
    for position in range(len(route)):
        node = route[position]
        here = network.node[node]
        wait = here.open - (time + travel_time(network, before, node))
        time = earliest(network, before, time, node)
        while wait > 0.0 and head < tail:
            part = min(wait, pool[head, 1])
            stays[owner[head]] += part
            profit += pool[head, 0] * part
            pool[head, 1] -= part
            room -= part
            wait -= part
            if pool[head, 1] <= 0.0:
                head += 1
        if not (in_time(network, node, time) and network.admits[network.kind, node]):
            return -np.inf, position
        tail, room = trim(pool, head, tail, room, here.latest - time)
        stays[position] = here.min_stay
        profit += here.reward
        time += here.min_stay
        for k in range(here.piece_first, here.piece_last):
            rate, length = network.pieces[k, 0], network.pieces[k, 1]
            owner[insert(pool, owner, head, tail, rate, length)] = position
            tail += 1
            room += length
        tail, room = trim(pool, head, tail, room, here.leave_by - time)
        before = node
    if len(route) > 0:
        time = earliest(network, before, time, network.end)
        if not in_time(network, network.end, time):
            return -np.inf, len(route)
        tail, _ = trim(pool, head, tail, room, network.node[network.end].latest - time)
    for k in range(head, tail):
        stays[owner[k]] += pool[k, 1]
        profit += pool[k, 0] * pool[k, 1]
    return profit, -1


@jit
def stays_of_routes(
    arrays: Arrays,
    routes: IntArray,
    start: IntArray,
    kinds: IntArray,
    stays: FloatArray,
    profit: FloatArray,
    broken: IntArray,
) -> None:
    """Optimal stays of many routes; route k is `routes[start[k] : start[k + 1]]`.

    It is driven by a vehicle of type `kinds[k]`.
    """
    network = network_as_given(arrays)
    most = 0
    for k in range(len(start) - 1):
        most = max(most, count_pieces(network, routes[start[k] : start[k + 1]]))
    pool = np.empty((most, 2))
    owner = np.empty(most, dtype=np.int64)
    for k in range(len(start) - 1):
        first, last = start[k], start[k + 1]
        profit[k], broken[k] = stays_of_route(
            of_type(network, kinds[k]), routes[first:last], stays[first:last], pool, owner
        )


@lean
def count_pieces(network: Network, route: IntArray) -> int:
    """Count the pieces of all nodes of a route."""
    pieces = 0
    for node in route:
        pieces += network.node[node].piece_last - network.node[node].piece_first
    return pieces


@lean
def profit_of_stay(network: Network, node: int, stay: float) -> float:
    """Profit of a stay at a node."""
    here = network.node[node]
    profit = here.reward
    rest = stay - here.min_stay
    for k in range(here.piece_first, here.piece_last):
        if rest <= 0.0:
            break
        part = min(rest, network.pieces[k, 1])
        profit += network.pieces[k, 0] * part
        rest -= part
    return float(profit)


@jit
def timetable(
    arrays: Arrays, kind: int, route: IntArray, table: FloatArray
) -> tuple[bool, float, float]:
    """Write arrival, start, stay, end and profit of each visit of a route with optimal stays.

    Every service starts as early as it can, and the vehicle leaves as late as that allows. The
    answer is whether no deadline is broken, when the vehicle leaves, and when it is at its end.
    """
    network = network_of_route(arrays, kind, route)
    route = np.arange(1, len(route) + 1)
    size = count_pieces(network, route)
    stays = np.zeros(len(route))
    pool, owner = np.empty((size, 2)), np.empty(size, dtype=np.int64)
    _, broken = stays_of_route(network, route, stays, pool, owner)
    before = network.start
    begin = time = network.node[before].open
    for k in range(len(route)):
        node = route[k]
        arrive = time + travel_time(network, before, node)
        start = earliest(network, before, time, node)
        if k == 0 and start > arrive:
            begin += start - arrive
            arrive = start
        time = start + stays[k]
        before = node
        table[0, k], table[1, k], table[2, k], table[3, k] = arrive, start, stays[k], time
        table[4, k] = profit_of_stay(network, node, stays[k])
    if len(route) > 0:
        time += travel_time(network, before, network.end)
    return broken < 0, begin, time


@jit
def first_fault(most: int, routes: IntArray, start: IntArray) -> int:
    """Place of the first number that is not 1 to `most`, or was on the same route, else -1."""
    seen = np.full(most + 1, -1)
    for k in range(len(start) - 1):
        for place in range(start[k], start[k + 1]):
            number = routes[place]
            if number < 1 or number > most or seen[number] == k:
                return int(place)
            seen[number] = k
    return -1
