"""Moves on routes that are judged exactly: with the best stays before and after.

What a beginning and an end of a route earn is concave in the time between them, so that it falls
by the margin where they join at least for every unit that something in between takes. Most moves
need not be looked at any closer than that.
"""

from __future__ import annotations

import numpy as np

from decost.kernels.profile import Halt, jit, lean, serve, window
from decost.kernels.random import RandomState, draw
from decost.kernels.routes import (
    Team,
    chain,
    insert_at,
    join,
    meet,
    most,
    splice,
)
from decost.problem.instance import Arrays, FloatArray, IntArray

LONGEST_SEGMENT = 3
"""Most visits in a row that are moved together."""

EQUAL = 1e-9
"""Gains that differ by less than this share of all that a stop can earn count as equal."""

DETOUR = 1e-3
"""Weight of a detour against putting the next visit off."""


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
    """Find better exchanges of parts of two routes and make them; 1 if any, 0 if none, -1 full.

    Tried are parts of up to three visits of each, one of which may be empty (swap, relocate,
    or-opt), and all visits from somewhere on (2-opt between routes).
    """
    changed = 0
    both = team.profit[r] + team.profit[s]
    without_part(arrays, team, r, gaps[0], gaps[1])
    without_part(arrays, team, s, gaps[2], gaps[3])
    for a in range(team.stops.shape[1] + 1):
        for b in range(team.stops.shape[1] + 1):
            if halt[0]:
                return changed
            if a > team.size[r] or b > team.size[s]:
                break
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
                    if not done:
                        return -1
                    changed = 1
                    both = team.profit[r] + team.profit[s]
                    without_part(arrays, team, r, gaps[0], gaps[1])
                    without_part(arrays, team, s, gaps[2], gaps[3])
    return changed


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
    """Leave out visits, or replace them by other stops, where that is better; 1, 0, -1 if full."""
    changed = 0
    k = 0
    while k < team.size[r]:
        if halt[0]:
            return changed
        old = team.stops[r, k]
        some[0] = old
        before = detour(arrays, team, r, k, some, 1, r, k + 1)
        direct = detour(arrays, team, r, k, some, 0, r, k + 1)
        without, margin = meet(arrays, team, r, k, k + 1)
        again = False
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
                if not splice(arrays, team, r, k, k + 1, some, count):
                    return -1
                changed = 1
                again = True
                break
        if not again:
            k += 1
    return changed


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
    # Moves within a route, or between two, need not be tried again until one of them has changed.
    turn = 1
    changed = np.ones(vehicles, dtype=np.int64)
    tried = np.zeros((vehicles, vehicles), dtype=np.int64)
    again = True
    while again:
        again = False
        answer = insert_all(arrays, team, useful, full_profit, state, least, halt)
        if answer != 0:
            again = True
            changed[:] = turn
        for r in range(vehicles):
            for s in range(r, vehicles):
                if halt[0] or answer < 0:
                    break
                if tried[r, s] > max(changed[r], changed[s]) or team.size[r] + team.size[s] == 0:
                    continue
                turn += 1
                if r == s:
                    answer = change_visits(arrays, team, useful, r, some, least, halt)
                    if answer > 0:  # any route may have a use for what is left out now
                        changed[:] = turn
                    elif answer == 0:
                        answer = change_within(arrays, team, r, some, others, least, halt)
                else:
                    answer = change_between(arrays, team, r, s, some, others, gaps, least, halt)
                tried[r, s] = turn
                if answer > 0:
                    again = True
                    changed[r] = changed[s] = turn
        if answer < 0:
            return False
        again = again and not halt[0]
    return True
