"""Moves on routes that are judged exactly: with the best stays before and after.

Every route keeps the time-profit function of each of its beginnings (on leaving the last stop)
and its mirror image for each of its ends (on starting service at the first stop). What a route
earns that begins like one, goes on with some other stops and ends like another is then known
without looking at anything but these stops and the pieces of the two functions: `step` takes a
beginning on to one more stop, `close` joins it with an end.

Where they join there is also a margin: what a unit of time is worth there. What a beginning and an
end earn is concave in the time between them, so that it falls by the margin at least for every unit
that something in between takes. Most moves need not be looked at any closer than that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.instance import Arrays, FloatArray, IntArray
from decost.kernels.profile import Halt, jit, lean, serve, window
from decost.kernels.random import RandomState, draw

LONGEST_SEGMENT = 3
"""Most visits in a row that are moved together."""

EQUAL = 1e-9
"""Gains that differ by less than this share of all that a stop can earn count as equal."""

DETOUR = 1e-3
"""Weight of a detour against putting the next visit off."""


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
def most(arrays: Arrays, stop: int, margin: float) -> float:
    """Most that a stop earns beyond what the time of its stay is worth at a margin."""
    profit = arrays.reward[stop]
    for p in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        if arrays.piece_rate[p] <= margin:
            break
        profit += (arrays.piece_rate[p] - margin) * arrays.piece_length[p]
    return float(profit)


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
def put_off(arrays: Arrays, team: Team, r: int, k: int, stop: int) -> float:
    """Tell by how much the visit after a new one starts later; infinite if that is too late.

    A detour adds a little, even if nothing is put off.
    """
    travel, size = arrays.travel, team.size[r]
    place = team.stops[r, k - 1] if k > 0 else 0
    time = max(team.begin_time[r, k] + travel[place, stop], arrays.open[stop])
    min_stay = arrays.min_stay[stop]
    late = min(arrays.close[stop], arrays.leave_by[stop] - min_stay)
    target, earliest = arrays.end, -np.inf
    if k < size:
        target = team.stops[r, k]
        earliest = arrays.open[target]
    arrive = max(time + min_stay + travel[stop, target], earliest)
    if not (time <= late + arrays.slack and arrive <= team.end_time[r, k] + arrays.slack):
        return np.inf
    direct = team.begin_time[r, k] + travel[place, target] if size > 0 else 0.0
    detour = travel[place, stop] + travel[stop, target] - travel[place, target]
    return float(arrive - max(direct, earliest) + DETOUR * detour)


@lean
def gain_limit(arrays: Arrays, team: Team, r: int, k: int, stop: int) -> float:
    """Most that a new visit can gain, by the margin there."""
    if team.profit[r] == -np.inf:
        return np.inf
    place = team.stops[r, k - 1] if k > 0 else 0
    target = team.stops[r, k] if k < team.size[r] else arrays.end
    longer = arrays.travel[place, stop] + arrays.travel[stop, target] - arrays.travel[place, target]
    longer += arrays.min_stay[stop]
    if longer < 0.0:
        return np.inf
    margin = team.margin[r, k]
    return float(most(arrays, stop, margin) - longer * margin)


@lean
def insertion_gain(arrays: Arrays, team: Team, r: int, k: int, stop: int) -> float:
    """Tell exactly what a new visit gains where it is in time."""
    value = team.begin_value[r, k] + team.end_value[r, k] + arrays.reward[stop]
    plain = arrays.piece_start[stop] == arrays.piece_start[stop + 1]
    if plain and team.begin_pieces[r, k] == 0 and team.end_pieces[r, k] == 0:
        return float(value - team.profit[r])
    place = team.stops[r, k - 1] if k > 0 else 0
    time = team.begin_time[r, k] + arrays.travel[place, stop]
    wait = max(0.0, arrays.open[stop] - time)
    time += wait
    min_stay, leave_by, room = arrays.min_stay[stop], arrays.leave_by[stop], team.begin_room[r, k]
    spent, pieces, _ = window(
        team.begin_rate[r, k],
        team.begin_length[r, k],
        team.begin_pieces[r, k],
        min(wait, room),
        min(room - wait, min(arrays.close[stop], leave_by - min_stay) - time),
        team.rate,
        team.length,
    )
    time += min_stay
    pieces = serve(arrays, stop, team.rate, team.length, pieces)
    room = leave_by - time
    more, _ = join(arrays, team, stop, time, team.rate, team.length, pieces, room, r, k)
    return float(team.begin_value[r, k] + arrays.reward[stop] + spent + more - team.profit[r])


@lean
def best_insertion(
    arrays: Arrays,
    team: Team,
    full_profit: FloatArray,
    stop: int,
    blink: float,
    state: RandomState,
) -> tuple[int, int, float, float]:
    """Find where a stop is best inserted: route, position, gain, and cost.

    The route is -1 if it gains nothing anywhere. The cost is the time by which the next visit is
    put off, and a little for the detour. Of places with equal gain the one with the least cost
    is taken. A place is overlooked with probability `blink`.
    """
    best_r, best_k = -1, 0
    best_gain, best_cost = 0.0, np.inf
    near = EQUAL * full_profit[stop]
    late = arrays.close[stop] + arrays.slack
    early = arrays.open[stop] - arrays.slack
    stays = len(arrays.piece_rate) > 0
    for r in range(len(team.size)):
        size = team.size[r]
        if r > 0 and size == 0 and team.size[r - 1] == 0:
            continue  # no better than the one before
        first = 0
        while first < size and team.end_time[r, first] < early:
            first += 1
        for k in range(first, size + 1):
            if team.begin_time[r, k] > late:
                break  # and later still from there on
            cost = put_off(arrays, team, r, k, stop)
            if cost == np.inf:
                continue
            limit = gain_limit(arrays, team, r, k, stop) if stays else full_profit[stop]
            if limit <= best_gain + (near if cost >= best_cost else -near):
                continue
            if blink > 0.0 and draw(state) < blink:
                continue
            gain = insertion_gain(arrays, team, r, k, stop)
            if gain > best_gain + near or (gain > best_gain - near and cost < best_cost):
                best_r, best_k = r, k
                best_gain, best_cost = gain, cost
    return best_r, best_k, best_gain, best_cost


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


@lean
def detour(
    arrays: Arrays, team: Team, r: int, i: int, some: IntArray, count: int, s: int, j: int
) -> float:
    """Travel between the first i stops of route r and stop j of route s by way of some stops."""
    place = team.stops[r, i - 1] if i > 0 else 0
    total = 0.0
    for k in range(count):
        total += arrays.travel[place, some[k]]
        place = some[k]
    if i == 0 and count == 0 and j == team.size[s]:
        return 0.0
    target = team.stops[s, j] if j < team.size[s] else arrays.end
    return float(total + arrays.travel[place, target])


@lean
def splice(arrays: Arrays, team: Team, r: int, i: int, j: int, some: IntArray, count: int) -> bool:
    """Put some stops in the place of the stops i to j - 1 of a route; false if there is no room.

    Stops that are no longer on any route are the caller's to mark.
    """
    size = team.size[r]
    shift = count - (j - i)
    if size + shift > team.stops.shape[1]:
        return False
    if shift > 0:
        for k in range(size - 1, j - 1, -1):
            team.stops[r, k + shift] = team.stops[r, k]
    elif shift < 0:
        for k in range(j, size):
            team.stops[r, k + shift] = team.stops[r, k]
    for k in range(count):
        team.stops[r, i + k] = some[k]
    team.size[r] = size + shift
    return refresh(arrays, team, r, i)


@lean
def worth(gain: float, saving: float, least_gain: float, least_saving: float) -> bool:
    """Whether a move is better: by what it earns, or if that is equal by what it saves."""
    return gain > least_gain or (gain > -least_gain and saving > least_saving)


@lean
def change_within(
    arrays: Arrays,
    team: Team,
    r: int,
    some: IntArray,
    old: IntArray,
    least: FloatArray,
    halt: Halt,
) -> int:
    """Find better orders of parts of a route and take them; 1 if any, 0 if none, -1 if full.

    Tried are the exchange of two visits, the part turned round (2-opt), and one to three visits
    moved to the other end of it (relocate and or-opt).
    """
    size = team.size[r]
    changed = 0
    a = 0
    while a < size - 1:
        # What all orders of the part earn at most is what it earns without windows, the pieces of
        # its stops being in one pool with those before it.
        place = team.stops[r, a - 1] if a > 0 else 0
        time, value = team.begin_time[r, a], team.begin_value[r, a]
        pieces = team.begin_pieces[r, a]
        for p in range(pieces):
            team.pool_rate[p] = team.begin_rate[r, a, p]
            team.pool_length[p] = team.begin_length[r, a, p]
        again = False
        for b in range(a, size):
            if halt[0]:
                return changed
            stop = team.stops[r, b]
            time += arrays.travel[place, stop] + arrays.min_stay[stop]
            value += arrays.reward[stop]
            pieces = serve(arrays, stop, team.pool_rate, team.pool_length, pieces)
            place = stop
            length = b - a + 1
            old[length - 1] = stop
            if length == 1:
                continue
            limit, margin = join(
                arrays,
                team,
                place,
                time,
                team.pool_rate,
                team.pool_length,
                pieces,
                np.inf,
                r,
                b + 1,
            )
            limit += value - team.profit[r]
            before = detour(arrays, team, r, a, old, length, r, b + 1)
            for kind in range(-LONGEST_SEGMENT, LONGEST_SEGMENT + 2):
                if abs(kind) >= length and kind <= LONGEST_SEGMENT and kind != 0:
                    continue
                if kind == LONGEST_SEGMENT + 1:  # turn round
                    for k in range(length):
                        some[k] = old[length - 1 - k]
                elif kind == 0:  # exchange
                    for k in range(length):
                        some[k] = old[k]
                    some[0], some[length - 1] = old[length - 1], old[0]
                else:  # move the first to the end, or the last to the front
                    for k in range(length):
                        some[k] = old[(k + kind) % length]
                saving = before - detour(arrays, team, r, a, some, length, r, b + 1)
                if saving <= 0.0 and limit + margin * saving <= least[0]:
                    continue
                gain = chain(arrays, team, r, a, some, length, r, b + 1) - team.profit[r]
                if worth(gain, saving, least[0], least[1]):
                    if not splice(arrays, team, r, a, b + 1, some, length):
                        return -1
                    changed = 1
                    again = True
                    break
            if again:
                break
        if not again:
            a += 1
    return changed


@lean
def without_part(arrays: Arrays, team: Team, r: int, base: FloatArray, margin: FloatArray) -> None:
    """Write what a route earns without parts of up to three visits, and the margins there."""
    for i in range(team.size[r] + 1):
        for m in range(min(LONGEST_SEGMENT, team.size[r] - i) + 1):
            base[i, m], margin[i, m] = meet(arrays, team, r, i, i + m)


@lean
def limit_with(
    arrays: Arrays, base: float, margin: float, longer: float, some: IntArray, count: int
) -> float:
    """Most that a route earns with some stops in a gap, the way through them being so much longer.

    Infinite if that is not known.
    """
    for k in range(count):
        longer += arrays.min_stay[some[k]]
    if not (longer >= 0.0 and base > -np.inf):
        return np.inf
    for k in range(count):
        base += most(arrays, some[k], margin)
    return base - longer * margin


@lean
def change_between(
    arrays: Arrays,
    team: Team,
    r: int,
    s: int,
    some: IntArray,
    others: IntArray,
    gaps: FloatArray,
    least: FloatArray,
    halt: Halt,
) -> int:
    """Find a better exchange of parts of two routes and make it; 1 if so, 0 if not, -1 full.

    Tried are parts of up to three visits of each, one of which may be empty (swap, relocate,
    or-opt), and all visits from somewhere on (2-opt between routes).
    """
    both = team.profit[r] + team.profit[s]
    without_part(arrays, team, r, gaps[0], gaps[1])
    without_part(arrays, team, s, gaps[2], gaps[3])
    for a in range(team.size[r] + 1):
        for b in range(team.size[s] + 1):
            if halt[0]:
                return 0
            for kind in range((LONGEST_SEGMENT + 1) ** 2):
                m, n = kind // (LONGEST_SEGMENT + 1), kind % (LONGEST_SEGMENT + 1)
                if kind == 0:  # the ends
                    m, n = team.size[r] - a, team.size[s] - b
                if a + m > team.size[r] or b + n > team.size[s] or m + n == 0:
                    continue
                for k in range(m):
                    some[k] = team.stops[r, a + k]
                for k in range(n):
                    others[k] = team.stops[s, b + k]
                if kind == 0:
                    value = chain(arrays, team, r, a, others, 0, s, b)
                    if value == -np.inf:
                        continue
                    value += chain(arrays, team, s, b, some, 0, r, a)
                    saving = (
                        detour(arrays, team, r, a, some, 0, r, a)
                        + detour(arrays, team, s, b, some, 0, s, b)
                        - detour(arrays, team, r, a, some, 0, s, b)
                        - detour(arrays, team, s, b, some, 0, r, a)
                    )
                else:
                    new_r = detour(arrays, team, r, a, others, n, r, a + m)
                    new_s = detour(arrays, team, s, b, some, m, s, b + n)
                    saving = (
                        detour(arrays, team, r, a, some, m, r, a + m)
                        + detour(arrays, team, s, b, others, n, s, b + n)
                        - new_r
                        - new_s
                    )
                    new_r -= detour(arrays, team, r, a, others, 0, r, a + m)
                    new_s -= detour(arrays, team, s, b, some, 0, s, b + n)
                    limit = limit_with(arrays, gaps[0, a, m], gaps[1, a, m], new_r, others, n)
                    limit += limit_with(arrays, gaps[2, b, n], gaps[3, b, n], new_s, some, m)
                    if not worth(limit - both, saving, least[0], least[1]):
                        continue
                    value = chain(arrays, team, r, a, others, n, r, a + m)
                    if value == -np.inf:
                        continue
                    value += chain(arrays, team, s, b, some, m, s, b + n)
                if worth(value - both, saving, least[0], least[1]):
                    done = splice(arrays, team, r, a, a + m, others, n)
                    done = splice(arrays, team, s, b, b + n, some, m) and done
                    return 1 if done else -1
    return 0


@lean
def change_visits(
    arrays: Arrays,
    team: Team,
    useful: IntArray,
    r: int,
    some: IntArray,
    least: FloatArray,
    halt: Halt,
) -> int:
    """Find a visit that is better left out or replaced by another stop; 1, 0, or -1 if full."""
    for k in range(team.size[r]):
        if halt[0]:
            return 0
        old = team.stops[r, k]
        some[0] = old
        before = detour(arrays, team, r, k, some, 1, r, k + 1)
        direct = detour(arrays, team, r, k, some, 0, r, k + 1)
        without, margin = meet(arrays, team, r, k, k + 1)
        for number in range(-1, len(useful)):
            count = 0
            if number >= 0:
                if team.where[useful[number]] >= 0:
                    continue
                some[0] = useful[number]
                count = 1
            way = detour(arrays, team, r, k, some, count, r, k + 1)
            saving = before - way
            limit = limit_with(arrays, without, margin, way - direct, some, count)
            if not worth(limit - team.profit[r], saving, least[0], least[1]):
                continue
            value = chain(arrays, team, r, k, some, count, r, k + 1)
            if value == -np.inf:
                continue
            if worth(value - team.profit[r], saving, least[0], least[1]):
                team.where[old] = -1
                return 1 if splice(arrays, team, r, k, k + 1, some, count) else -1
    return 0


@lean
def insert_all(
    arrays: Arrays,
    team: Team,
    useful: IntArray,
    full_profit: FloatArray,
    state: RandomState,
    least: FloatArray,
    halt: Halt,
) -> int:
    """Insert every stop that gains something, each where it gains most; 1, 0, or -1 if full."""
    changed = 0
    for stop in useful:
        if halt[0]:
            break
        if team.where[stop] >= 0:
            continue
        r, k, gain, _ = best_insertion(arrays, team, full_profit, stop, 0.0, state)
        if r >= 0 and gain > least[0]:
            changed = 1
            if not insert_at(arrays, team, r, k, stop):
                return -1
    return changed


@lean
def insert_at(arrays: Arrays, team: Team, r: int, k: int, stop: int) -> bool:
    """Insert a stop; false if there is no room."""
    size = team.size[r]
    if size == team.stops.shape[1]:
        return False
    for j in range(size, k, -1):
        team.stops[r, j] = team.stops[r, j - 1]
    team.stops[r, k] = stop
    team.size[r] = size + 1
    return refresh(arrays, team, r, k)


@jit
def descend(
    arrays: Arrays,
    team: Team,
    useful: IntArray,
    full_profit: FloatArray,
    state: RandomState,
    halt: Halt,
) -> bool:
    """Make every better move there is, until there is none; false if there is no room.

    A better move earns more, or as much with less travel.
    """
    nodes = len(team.where)
    some = np.empty(nodes, dtype=np.int64)
    others = np.empty(nodes, dtype=np.int64)
    gaps = np.empty((4, team.stops.shape[1] + 1, LONGEST_SEGMENT + 1))
    least = np.array([EQUAL * full_profit[useful].mean(), EQUAL * arrays.budget])
    vehicles = len(team.size)
    again = True
    while again:
        answer = insert_all(arrays, team, useful, full_profit, state, least, halt)
        for r in range(vehicles):
            if halt[0] or answer != 0:
                break
            answer = change_visits(arrays, team, useful, r, some, least, halt)
            if answer == 0:
                answer = change_within(arrays, team, r, some, others, least, halt)
            for s in range(r + 1, vehicles):
                if answer != 0 or team.size[r] + team.size[s] == 0:
                    break
                answer = change_between(arrays, team, r, s, some, others, gaps, least, halt)
        if answer < 0:
            return False
        again = answer > 0 and not halt[0]
    return True
