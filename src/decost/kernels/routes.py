"""Routes with their time-profit functions, forwards and backwards.

Every route keeps the time-profit function of each of its beginnings (on leaving the last stop)
and its mirror image for each of its ends (on starting service at the first stop). What a route
earns that begins like one, goes on with some other stops and ends like another is then known
without looking at anything but these stops and the pieces of the two functions: `step` takes a
beginning on to one more stop, `close` joins it with an end.

Where they join there is also a margin: what a unit of time is worth there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import lean
from decost.instance import Arrays, FloatArray, IntArray
from decost.kernels.profile import serve, window


class Team(NamedTuple):
    """Routes with their time-profit functions.

    Route r is `stops[r, : size[r]]`. The functions of its first k stops are `begin_*[r, k]`:
    earliest departure, profit by then, by how much departure can be put off, and pieces. Those
    from its stop k on are `end_*[r, k]`: latest start, profit from then on, and pieces. The margin
    of the time between both is `margin[r, k]`. `where` gives the route of a stop, -1 if it has
    none, and `spot` its position there.
    """

    stops: IntArray
    size: IntArray
    where: IntArray
    spot: IntArray
    profit: FloatArray
    begin_time: FloatArray
    begin_value: FloatArray
    begin_room: FloatArray
    begin_pieces: IntArray
    begin_rate: FloatArray
    begin_length: FloatArray
    end_time: FloatArray
    end_value: FloatArray
    end_pieces: IntArray
    end_rate: FloatArray
    end_length: FloatArray
    margin: FloatArray
    rate: FloatArray
    length: FloatArray
    pool_rate: FloatArray
    pool_length: FloatArray


def make_team(arrays: Arrays, vehicles: int, stops: int, pieces: int) -> Team:
    """Make empty routes with room for so many stops and, in each function, so many pieces."""
    nodes = len(arrays.open)
    scratch = len(arrays.piece_rate)  # a route has no more
    shape = (vehicles, stops + 1)
    times, values, rooms, end_times, end_values = (np.zeros(shape) for _ in range(5))
    return Team(
        stops=np.zeros((vehicles, stops), dtype=np.int64),
        size=np.zeros(vehicles, dtype=np.int64),
        where=np.full(nodes, -1),
        spot=np.zeros(nodes, dtype=np.int64),
        profit=np.zeros(vehicles),
        begin_time=times,
        begin_value=values,
        begin_room=rooms,
        begin_pieces=np.zeros(shape, dtype=np.int64),
        begin_rate=np.zeros((*shape, pieces)),
        begin_length=np.zeros((*shape, pieces)),
        end_time=end_times,
        end_value=end_values,
        end_pieces=np.zeros(shape, dtype=np.int64),
        end_rate=np.zeros((*shape, pieces)),
        end_length=np.zeros((*shape, pieces)),
        margin=np.zeros(shape),
        rate=np.zeros(scratch),
        length=np.zeros(scratch),
        pool_rate=np.zeros(scratch),
        pool_length=np.zeros(scratch),
    )


class Tip(NamedTuple):
    """The end of a beginning: the last stop, and its function, whose pieces are scratch."""

    place: int
    time: float
    value: float
    room: float
    pieces: int


@lean
def take(team: Team, r: int, k: int) -> Tip:
    """Copy the function of the first k stops of a route to the scratch."""
    pieces = team.begin_pieces[r, k]
    for p in range(pieces):
        team.rate[p] = team.begin_rate[r, k, p]
        team.length[p] = team.begin_length[r, k, p]
    place = team.stops[r, k - 1] if k > 0 else 0
    return Tip(place, team.begin_time[r, k], team.begin_value[r, k], team.begin_room[r, k], pieces)


@lean
def step(arrays: Arrays, team: Team, tip: Tip, stop: int) -> Tip:
    """Go on to a stop; the time is infinite from where a deadline is broken."""
    time = tip.time + arrays.travel[tip.place, stop]
    wait = max(0.0, arrays.open[stop] - time)
    time += wait
    late = min(arrays.close[stop], arrays.leave_by[stop] - arrays.min_stay[stop])
    if not time <= late + arrays.slack:
        return Tip(stop, np.inf, -np.inf, 0.0, 0)
    room = tip.room
    spent, pieces, _ = window(
        team.rate,
        team.length,
        tip.pieces,
        min(wait, room),
        min(room - wait, late - time),
        team.rate,
        team.length,
    )
    time += arrays.min_stay[stop]
    pieces = serve(arrays, stop, team.rate, team.length, pieces)
    value = tip.value + spent + arrays.reward[stop]
    return Tip(stop, time, value, arrays.leave_by[stop] - time, pieces)


@lean
def shared(
    rate: FloatArray,
    length: FloatArray,
    pieces: int,
    room: float,
    wait: float,
    time: float,
    other_rate: FloatArray,
    other_length: FloatArray,
    other_pieces: int,
) -> tuple[float, float]:
    """Profit of the best use of a wait by one list, and of the time after it by both.

    Of the first list no more than `room` can be used. The second answer is the least rate at
    which a unit of time is used last, in the wait or after it; 0 if some is not used.
    """
    profit = margin = 0.0
    waits = wait > 0.0
    a = b = 0
    rest = length[0] if pieces > 0 else 0.0
    while a < pieces and wait > 0.0 and room > 0.0:
        part = min(wait, rest, room)
        profit += rate[a] * part
        margin = rate[a]
        wait -= part
        room -= part
        rest -= part
        if rest <= 0.0:
            a += 1
            rest = length[a] if a < pieces else 0.0
    if room <= 0.0:
        a = pieces
    waiting = margin if waits else np.inf
    while time > 0.0 and (a < pieces or b < other_pieces):
        if b == other_pieces or (a < pieces and rate[a] >= other_rate[b]):
            part = min(time, rest, room)
            profit += rate[a] * part
            margin = rate[a]
            room -= part
            a += 1
            rest = length[a] if a < pieces else 0.0
            if room <= 0.0:
                a = pieces
        else:
            part = min(time, other_length[b])
            profit += other_rate[b] * part
            margin = other_rate[b]
            b += 1
        time -= part
    if wait > 0.0 or time > 0.0:
        margin = 0.0
    return profit, min(waiting, margin)


@lean
def join(
    arrays: Arrays,
    team: Team,
    place: int,
    time: float,
    rate: FloatArray,
    length: FloatArray,
    pieces: int,
    room: float,
    r: int,
    k: int,
) -> tuple[float, float]:
    """Profit of a function's pieces and of a route from its stop k on, and the margin.

    The profit is minus infinity if that is too late.
    """
    target, opens = arrays.end, -np.inf
    if k < team.size[r]:
        target = team.stops[r, k]
        opens = arrays.open[target]
    time += arrays.travel[place, target]
    wait = max(0.0, opens - time)
    left = team.end_time[r, k] - time - wait
    if not left >= -arrays.slack:
        return -np.inf, 0.0
    profit, margin = shared(
        rate,
        length,
        pieces,
        room,
        wait,
        left,
        team.end_rate[r, k],
        team.end_length[r, k],
        team.end_pieces[r, k],
    )
    return team.end_value[r, k] + profit, margin


@lean
def close(arrays: Arrays, team: Team, tip: Tip, r: int, k: int) -> float:
    """Profit of going on with a route from its stop k; minus infinity if that is too late."""
    profit, _ = join(
        arrays,
        team,
        tip.place,
        tip.time,
        team.rate,
        team.length,
        tip.pieces,
        tip.room,
        r,
        k,
    )
    return float(tip.value + profit)


@lean
def meet(arrays: Arrays, team: Team, r: int, i: int, j: int) -> tuple[float, float]:
    """Profit of the first i stops of a route and those from stop j on, and the margin."""
    if i == 0 and j == team.size[r]:
        return 0.0, 0.0  # nobody leaves the depot
    profit, margin = join(
        arrays,
        team,
        team.stops[r, i - 1] if i > 0 else 0,
        team.begin_time[r, i],
        team.begin_rate[r, i],
        team.begin_length[r, i],
        team.begin_pieces[r, i],
        team.begin_room[r, i],
        r,
        j,
    )
    return team.begin_value[r, i] + profit, margin


@lean
def refresh(arrays: Arrays, team: Team, r: int, first: int) -> bool:
    """Compute the functions of a route anew; its stops before `first` are as they were.

    The answer is false if there is no room for all pieces; the route cannot be used then.
    """
    size = team.size[r]
    most = team.begin_rate.shape[2]
    if first == 0:
        team.begin_time[r, 0], team.begin_value[r, 0] = 0.0, 0.0
        team.begin_room[r, 0], team.begin_pieces[r, 0] = np.inf, 0
    for k in range(first, size):
        stop = team.stops[r, k]
        team.where[stop] = r
        team.spot[stop] = k
        tip = step(arrays, team, take(team, r, k), stop)
        if tip.pieces > most:
            return False
        team.begin_time[r, k + 1], team.begin_value[r, k + 1] = tip.time, tip.value
        team.begin_room[r, k + 1], team.begin_pieces[r, k + 1] = tip.room, tip.pieces
        for p in range(tip.pieces):
            team.begin_rate[r, k + 1, p] = team.rate[p]
            team.begin_length[r, k + 1, p] = team.length[p]
    team.end_time[r, size], team.end_value[r, size] = arrays.budget, 0.0
    team.end_pieces[r, size] = 0
    for k in range(size - 1, -1, -1):
        if not step_back(arrays, team, r, k):
            return False
    team.profit[r] = 0.0
    team.margin[r, 0] = 0.0
    if size > 0:
        for k in range(size + 1):
            team.profit[r], team.margin[r, k] = meet(arrays, team, r, k, k)
    return True


@lean
def step_back(arrays: Arrays, team: Team, r: int, k: int) -> bool:
    """Compute the function of a route from its stop k on out of the next one."""
    stop = team.stops[r, k]
    target = team.stops[r, k + 1] if k + 1 < team.size[r] else arrays.end
    pieces = team.end_pieces[r, k + 1]
    rate, length = team.rate, team.length
    for p in range(pieces):
        rate[p] = team.end_rate[r, k + 1, p]
        length[p] = team.end_length[r, k + 1, p]
    time = team.end_time[r, k + 1] - arrays.travel[stop, target]
    value = team.end_value[r, k + 1] + arrays.reward[stop]
    late = max(0.0, time - arrays.leave_by[stop])
    time -= late
    spent, pieces, _ = window(rate, length, pieces, late, np.inf, rate, length)
    value += spent
    time -= arrays.min_stay[stop]
    pieces = serve(arrays, stop, rate, length, pieces)
    late = max(0.0, time - arrays.close[stop])
    time -= late
    room = max(0.0, time - arrays.open[stop])
    spent, pieces, _ = window(rate, length, pieces, late, room, rate, length)
    if pieces > team.end_rate.shape[2]:
        return False
    team.end_time[r, k], team.end_value[r, k] = time, value + spent
    team.end_pieces[r, k] = pieces
    for p in range(pieces):
        team.end_rate[r, k, p] = rate[p]
        team.end_length[r, k, p] = length[p]
    return True


@lean
def chain(
    arrays: Arrays, team: Team, r: int, i: int, some: IntArray, count: int, s: int, j: int
) -> float:
    """Profit of the first i stops of route r, some stops, and route s from its stop j on."""
    if i == 0 and count == 0 and j == team.size[s]:
        return 0.0
    tip = take(team, r, i)
    for k in range(count):
        tip = step(arrays, team, tip, some[k])
        if tip.time == np.inf:
            return -np.inf
    return close(arrays, team, tip, s, j)
