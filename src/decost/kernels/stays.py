"""Optimal stays of fixed routes (the paper's second stage, STO) in one pass over each route."""

from __future__ import annotations

import numpy as np

from decost.kernels.profile import insert, jit, trim
from decost.problem.instance import Arrays, FloatArray, IntArray


@jit
def stays_of_route(
    arrays: Arrays,
    route: IntArray,
    stays: FloatArray,
    rate: FloatArray,
    length: FloatArray,
    owner: IntArray,
) -> tuple[float, int]:
    """Write the optimal stays of a route; return its profit and where it breaks a deadline.

    The second answer is -1 for a feasible route, else the position of the first stop that
    cannot be served in time, or the number of stops if the way home is too long. `rate`,
    `length` and `owner` are scratch for the pieces of all stops of the route.
    """
    time = 0.0
    profit = 0.0
    head = tail = place = 0
    room = 0.0
    for position in range(len(route)):
        stop = route[position]
        time += arrays.travel[place, stop]
        wait = arrays.open[stop] - time
        if wait > 0.0:
            time = arrays.open[stop]
            while wait > 0.0 and head < tail:
                part = min(wait, length[head])
                stays[owner[head]] += part
                profit += rate[head] * part
                length[head] -= part
                room -= part
                wait -= part
                if length[head] <= 0.0:
                    head += 1
        latest = min(arrays.close[stop], arrays.leave_by[stop] - arrays.min_stay[stop])
        if time > latest + arrays.slack:
            return -np.inf, position
        tail, room = trim(length, head, tail, room, latest - time)
        stays[position] = arrays.min_stay[stop]
        profit += arrays.reward[stop]
        time += arrays.min_stay[stop]
        for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
            if arrays.piece_rate[piece] > 0.0:
                at = insert(
                    rate, length, head, tail, arrays.piece_rate[piece], arrays.piece_length[piece]
                )
                for k in range(tail, at, -1):
                    owner[k] = owner[k - 1]
                owner[at] = position
                tail += 1
                room += arrays.piece_length[piece]
        tail, room = trim(length, head, tail, room, arrays.leave_by[stop] - time)
        place = stop
    if len(route) > 0:
        time += arrays.travel[place, arrays.end]
        if time > arrays.budget + arrays.slack:
            return -np.inf, len(route)
        tail, room = trim(length, head, tail, room, arrays.budget - time)
    for k in range(head, tail):
        stays[owner[k]] += length[k]
        profit += rate[k] * length[k]
    return profit, -1


@jit
def stays_of_routes(
    arrays: Arrays,
    routes: IntArray,
    start: IntArray,
    stays: FloatArray,
    profit: FloatArray,
    broken: IntArray,
) -> None:
    """Optimal stays of many routes; route k is `routes[start[k] : start[k + 1]]`."""
    most = 0
    for k in range(len(start) - 1):
        pieces = 0
        for stop in routes[start[k] : start[k + 1]]:
            pieces += arrays.piece_start[stop + 1] - arrays.piece_start[stop]
        most = max(most, pieces)
    rate = np.empty(most)
    length = np.empty(most)
    owner = np.empty(most, dtype=np.int64)
    for k in range(len(start) - 1):
        first, last = start[k], start[k + 1]
        profit[k], broken[k] = stays_of_route(
            arrays, routes[first:last], stays[first:last], rate, length, owner
        )


@jit
def timetable(arrays: Arrays, route: IntArray, table: FloatArray) -> bool:
    """Write arrival, start, stay, end and profit of each visit of a route with optimal stays.

    Every service starts as early as it can. The answer is false if a deadline is broken.
    """
    size = 0
    for stop in route:
        size += arrays.piece_start[stop + 1] - arrays.piece_start[stop]
    stays = np.zeros(len(route))
    _, broken = stays_of_route(
        arrays, route, stays, np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    )
    time = 0.0
    place = 0
    for k in range(len(route)):
        stop = route[k]
        arrive = time + arrays.travel[place, stop]
        start = max(arrive, arrays.open[stop])
        profit = arrays.reward[stop]
        rest = stays[k] - arrays.min_stay[stop]
        for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
            part = max(0.0, min(rest, arrays.piece_length[piece]))
            profit += arrays.piece_rate[piece] * part
            rest -= part
        time = start + stays[k]
        place = stop
        table[0, k], table[1, k], table[2, k] = arrive, start, stays[k]
        table[3, k], table[4, k] = time, profit
    return broken < 0


@jit
def first_fault(stops: int, routes: IntArray, start: IntArray) -> int:
    """Place of the first stop that does not exist or was on the same route before, else -1."""
    seen = np.full(stops + 1, -1)
    for k in range(len(start) - 1):
        for place in range(start[k], start[k + 1]):
            stop = routes[place]
            if stop < 1 or stop > stops or seen[stop] == k:
                return int(place)
            seen[stop] = k
    return -1
