"""Moves on routes that are judged exactly: with the best stays before and after.

What a beginning and an end of a route earn is concave in the time between them, so that it falls
by the margin where they join at least for every unit that something in between takes. Most moves
need not be looked at any closer than that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Halt, inlined, lean
from decost.draws import RandomState, draw
from decost.problem.instance import FloatArray, IntArray
from decost.search.team import Team, back_at, chain, front_at, insert_at, meet, offset, splice
from decost.timeline.network import Network, of_type
from decost.timeline.profile import merge
from decost.timeline.steps import (
    Front,
    earliest,
    in_time,
    join,
    most_beyond,
    travel_time,
    visit,
)

LONGEST_SEGMENT = 3
"""Most visits in a row that are moved together."""

EQUAL = 1e-9
"""Gains that differ by less than this share of all that a stop can earn count as equal."""

DETOUR = 1e-3
"""Weight of a detour against putting the next visit off."""


class Insertion(NamedTuple):
    """Where a stop is best inserted: route (-1: nowhere), gap, node, and what it gains and costs.

    The cost is the time by which the next visit is put off, and a little for the detour.
    """

    route: int
    gap: int
    node: int
    gain: float
    cost: float


class Desk(NamedTuple):
    """Scratch for the moves, and the least gain and saving that count."""

    some: IntArray
    others: IntArray
    gaps: FloatArray
    changed: IntArray
    tried: IntArray
    least_gain: float
    least_saving: float


def mean_profit(network: Network) -> float:
    """Mean of the most that alternatives can earn, no bonus counted."""
    full = network.node["full_profit"][1 : network.alternatives + 1]
    if network.bonus > 0.0:
        full = np.where(full < network.bonus, full, full - network.bonus)
    return float(full.mean()) if len(full) else 0.0


def make_desk(network: Network, team: Team) -> Desk:
    """Make scratch for the moves of a team."""
    vehicles, positions = team.nodes.shape
    return Desk(
        some=np.empty(positions, dtype=np.int64),
        others=np.empty(positions, dtype=np.int64),
        gaps=np.empty((4, positions, LONGEST_SEGMENT + 1)),
        changed=np.empty(vehicles, dtype=np.int64),
        tried=np.empty((vehicles, vehicles), dtype=np.int64),
        least_gain=EQUAL * mean_profit(network),
        least_saving=EQUAL * network.horizon,
    )


@lean
def put_off(network: Network, team: Team, r: int, k: int, node: int) -> float:
    """Tell by how much the visit after a new one starts later; infinite if that is too late.

    A detour adds a little, even if nothing is put off.
    """
    before, after = team.nodes[r, k], team.nodes[r, k + 1]
    leave = team.front[r, k].time
    time = earliest(network, before, leave, node)
    arrive = earliest(network, node, time + network.node[node].min_stay, after)
    late = team.back[r, k + 1].time + network.slack
    if not (in_time(network, node, time) and arrive <= late):
        return np.inf
    direct = earliest(network, before, leave, after) if team.size[r] > 0 else leave
    return arrive - direct + DETOUR * longer_way(network, before, node, after)


@lean
def longer_way(network: Network, before: int, node: int, after: int) -> float:
    """How much longer the way between two nodes is by way of another."""
    way = travel_time(network, before, node) + travel_time(network, node, after)
    return way - travel_time(network, before, after)


@lean
def gain_limit(network: Network, team: Team, r: int, k: int, node: int) -> float:
    """Most that a new visit can gain, by the margin there."""
    if team.profit[r] == -np.inf:
        return np.inf
    longer = longer_way(network, team.nodes[r, k], node, team.nodes[r, k + 1])
    longer += network.node[node].min_stay
    if longer < 0.0:
        return np.inf
    margin = team.margin[r, k]
    return float(most_beyond(network, node, margin) - longer * margin)


@lean
def insertion_gain(network: Network, team: Team, r: int, k: int, node: int) -> float:
    """Tell exactly what a new visit gains where it is in time."""
    front, back, here = team.front[r, k], team.back[r, k + 1], network.node[node]
    if here.piece_first == here.piece_last and front.pieces == 0 and back.pieces == 0:
        return float(front.value + back.value + here.reward - team.profit[r])
    new = visit(
        network, front_at(team, r, k), node, team.fronts, offset(team, r, k), team.scratch, 0
    )
    profit, _ = join(
        network,
        new,
        team.scratch,
        0,
        back_at(team, r, k + 1),
        team.backs,
        offset(team, r, k + 1),
    )
    return float(profit - team.profit[r])


@lean
def best_insertion(
    whole: Network, team: Team, stop: int, blink: float, state: RandomState
) -> Insertion:
    """Find where a stop, by any of its alternatives, is best inserted.

    Of places with equal gain the one with the least cost is taken. A place is overlooked with
    probability `blink`.
    """
    best = Insertion(-1, 0, 0, 0.0, np.inf)
    stays = len(whole.pieces) > 0
    for node in range(whole.first[stop], whole.first[stop + 1]):
        full = whole.node[node].full_profit
        near = EQUAL * full
        late = whole.node[node].latest + whole.slack
        early = whole.node[node].open - whole.slack
        for r in range(len(team.size)):
            size = team.size[r]
            kind = team.kind[r]
            if r > 0 and size == 0 and team.size[r - 1] == 0 and team.kind[r - 1] == kind:
                continue  # no better than the one before
            if not whole.admits[kind, node]:
                continue
            network = of_type(whole, kind)
            first = 0
            while first < size and team.back[r, first + 1].time < early:
                first += 1
            for k in range(first, size + 1):
                if team.front[r, k].time > late:
                    break  # and later still from there on
                cost = put_off(network, team, r, k, node)
                if cost == np.inf:
                    continue
                limit = gain_limit(network, team, r, k, node) if stays else full
                if limit <= best.gain + (near if cost >= best.cost else -near):
                    continue
                if blink > 0.0 and draw(state) < blink:
                    continue
                gain = insertion_gain(network, team, r, k, node)
                if gain > best.gain + near or (gain > best.gain - near and cost < best.cost):
                    best = Insertion(r, k, node, gain, cost)
    return best


@lean
def detour(
    network: Network, team: Team, r: int, i: int, some: IntArray, count: int, s: int, j: int
) -> float:
    """Travel between position i of route r and position j of route s by way of some nodes."""
    if i == 0 and count == 0 and j == team.size[s] + 1:
        return 0.0
    at = team.nodes[r, i]
    total = 0.0
    for k in range(count):
        total += travel_time(network, at, some[k])
        at = some[k]
    return total + travel_time(network, at, team.nodes[s, j])


@lean
def is_better(desk: Desk, gain: float, saving: float) -> bool:
    """Whether a move is better: by what it earns, or if that is equal by what it saves."""
    if gain > desk.least_gain:
        return True
    return gain > -desk.least_gain and saving > desk.least_saving


@lean
def change_within(network: Network, team: Team, desk: Desk, r: int, halt: Halt) -> int:
    """Find better orders of parts of a route and take them; 1 if any, 0 if none, -1 if full.

    Tried are the exchange of two visits, the part turned round (2-opt), and one to three visits
    moved to the other end of it (relocate and or-opt).
    """
    network = of_type(network, team.kind[r])
    some, old = desk.some, desk.others
    size = team.size[r]
    changed = 0
    a = 0  # the position before the part
    while a < size - 1:
        # What all orders of the part earn at most is what it earns without windows, the pieces of
        # its nodes being in one pool with those before it.
        pool = team.together
        front = front_at(team, r, a)
        for p in range(front.pieces):
            pool[p, 0] = team.fronts[offset(team, r, a) + p, 0]
            pool[p, 1] = team.fronts[offset(team, r, a) + p, 1]
        again = False
        for b in range(a + 1, size + 1):
            if halt[0]:
                return changed
            node = team.nodes[r, b]
            here = network.node[node]
            front = Front(
                node,
                front.time + (travel_time(network, front.node, node) + here.min_stay),
                front.value + here.reward,
                np.inf,
                merge(pool, 0, front.pieces, network.pieces, here.piece_first, here.piece_last),
            )
            length = b - a
            old[length - 1] = node
            if length == 1:
                continue
            back = back_at(team, r, b + 1)
            limit, margin = join(network, front, pool, 0, back, team.backs, offset(team, r, b + 1))
            limit -= team.profit[r]
            before = detour(network, team, r, a, old, length, r, b + 1)
            for kind in range(-LONGEST_SEGMENT, LONGEST_SEGMENT + 2):
                if abs(kind) >= length and kind <= LONGEST_SEGMENT and kind != 0:
                    continue
                reorder(old, some, length, kind)
                saving = before - detour(network, team, r, a, some, length, r, b + 1)
                if saving <= 0.0 and limit + margin * saving <= desk.least_gain:
                    continue
                gain = chain(network, team, r, a, some, length, r, b + 1) - team.profit[r]
                if is_better(desk, gain, saving):
                    if not splice(network, team, r, a, b + 1, some, length):
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
def reorder(old: IntArray, new: IntArray, length: int, kind: int) -> None:
    """Turn a part round, exchange its ends (0), or move one to three nodes to its other end."""
    for k in range(length):
        if kind > LONGEST_SEGMENT:
            new[k] = old[length - 1 - k]
        else:
            new[k] = old[(k + kind) % length]
    if kind == 0:
        new[0], new[length - 1] = old[length - 1], old[0]


@lean
def without_part(
    network: Network, team: Team, r: int, base: FloatArray, margin: FloatArray
) -> None:
    """Write what a route earns without parts of up to three visits, and the margins there."""
    network = of_type(network, team.kind[r])
    for i in range(team.size[r] + 1):
        for m in range(min(LONGEST_SEGMENT, team.size[r] - i) + 1):
            base[i, m], margin[i, m] = meet(network, team, r, i, r, i + m + 1)


@lean
def limit_with(
    network: Network, base: float, margin: float, longer: float, some: IntArray, count: int
) -> float:
    """Most that a route earns with some nodes in a gap, the way through them being so much longer.

    Infinite if that is not known.
    """
    for k in range(count):
        longer += network.node[some[k]].min_stay
    if not (longer >= 0.0 and base > -np.inf):
        return np.inf
    for k in range(count):
        base += most_beyond(network, some[k], margin)
    return base - longer * margin


@lean
def change_between(network: Network, team: Team, desk: Desk, r: int, s: int, halt: Halt) -> int:
    """Find better exchanges of parts of two routes and make them; 1 if any, 0 if none, -1 full.

    Tried are parts of up to three visits of each, one of which may be empty (swap, relocate,
    or-opt), and all visits from somewhere on (2-opt between routes).
    """
    changed = 0
    same = team.kind[r] == team.kind[s]
    mine, its = of_type(network, team.kind[r]), of_type(network, team.kind[s])
    look_at_gaps(network, team, desk, r, s)
    for a in range(team.nodes.shape[1] - 1):
        for b in range(team.nodes.shape[1] - 1):
            if halt[0]:
                return changed
            if a > team.size[r] or b > team.size[s]:
                break
            for kind in range((LONGEST_SEGMENT + 1) ** 2):
                m, n = kind // (LONGEST_SEGMENT + 1), kind % (LONGEST_SEGMENT + 1)
                if kind == 0:
                    m, n = team.size[r] - a, team.size[s] - b
                if a + m > team.size[r] or b + n > team.size[s] or m + n == 0:
                    continue
                for k in range(m):
                    desk.some[k] = team.nodes[r, a + 1 + k]
                for k in range(n):
                    desk.others[k] = team.nodes[s, b + 1 + k]
                if kind == 0 and same:
                    better = ends_are_better(mine, team, desk, r, a, s, b)
                elif not (same or both_admit(network, team, desk, r, m, s, n)):
                    better = False
                else:
                    tails = kind == 0
                    better = exchange_is_better(mine, its, team, desk, r, a, m, s, b, n, tails)
                if better:
                    done = splice(network, team, r, a, a + m + 1, desk.others, n)
                    done = splice(network, team, s, b, b + n + 1, desk.some, m) and done
                    if not done:
                        return -1
                    changed = 1
                    look_at_gaps(network, team, desk, r, s)
    return changed


@lean
def look_at_gaps(network: Network, team: Team, desk: Desk, r: int, s: int) -> None:
    """Note what two routes earn without parts of them."""
    without_part(network, team, r, desk.gaps[0], desk.gaps[1])
    without_part(network, team, s, desk.gaps[2], desk.gaps[3])


@lean
def both_admit(network: Network, team: Team, desk: Desk, r: int, m: int, s: int, n: int) -> bool:
    """Whether the vehicles of two routes may visit what they are to exchange."""
    both = True
    for k in range(m):
        both = both and network.admits[team.kind[s], desk.some[k]]
    for k in range(n):
        both = both and network.admits[team.kind[r], desk.others[k]]
    return bool(both)


@inlined
def ends_are_better(
    network: Network, team: Team, desk: Desk, r: int, a: int, s: int, b: int
) -> bool:
    """Whether it is better to exchange all visits behind position a and behind position b.

    Both vehicles are of the network's type.
    """
    value, _ = meet(network, team, r, a, s, b + 1)
    if value == -np.inf:
        return False
    value += meet(network, team, s, b, r, a + 1)[0]
    none = desk.some
    saving = (
        detour(network, team, r, a, none, 0, r, a + 1)
        + detour(network, team, s, b, none, 0, s, b + 1)
        - detour(network, team, r, a, none, 0, s, b + 1)
        - detour(network, team, s, b, none, 0, r, a + 1)
    )
    return is_better(desk, value - (team.profit[r] + team.profit[s]), saving)


@inlined
def exchange_is_better(
    mine: Network,
    its: Network,
    team: Team,
    desk: Desk,
    r: int,
    a: int,
    m: int,
    s: int,
    b: int,
    n: int,
    long: bool,
) -> bool:
    """Whether it is better to exchange m visits behind position a and n behind position b.

    The networks are as the vehicles of the two routes see them. Nothing is noted of gaps that
    are `long`.
    """
    some, others, gaps = desk.some, desk.others, desk.gaps
    both = team.profit[r] + team.profit[s]
    after_r, after_s = a + m + 1, b + n + 1
    new_r = detour(mine, team, r, a, others, n, r, after_r)
    new_s = detour(its, team, s, b, some, m, s, after_s)
    saving = (
        detour(mine, team, r, a, some, m, r, after_r)
        + detour(its, team, s, b, others, n, s, after_s)
        - new_r
        - new_s
    )
    if not long:
        new_r -= detour(mine, team, r, a, others, 0, r, after_r)
        new_s -= detour(its, team, s, b, some, 0, s, after_s)
        limit = limit_with(mine, gaps[0, a, m], gaps[1, a, m], new_r, others, n)
        limit += limit_with(its, gaps[2, b, n], gaps[3, b, n], new_s, some, m)
        if not is_better(desk, limit - both, saving):
            return False
    value = chain(mine, team, r, a, others, n, r, after_r)
    if value == -np.inf:
        return False
    value += chain(its, team, s, b, some, m, s, after_s)
    return is_better(desk, value - both, saving)


@lean
def change_visits(network: Network, team: Team, desk: Desk, r: int, halt: Halt) -> int:
    """Leave out visits, or replace them by others, where that is better; 1, 0, -1 if full."""
    network = of_type(network, team.kind[r])
    some = desk.some
    changed = 0
    k = 0  # the position before the visit
    while k < team.size[r]:
        if halt[0]:
            return changed
        now = team.nodes[r, k + 1]
        old = network.stop[now]
        some[0] = now
        before = detour(network, team, r, k, some, 1, r, k + 2)
        direct = detour(network, team, r, k, some, 0, r, k + 2)
        without, margin = meet(network, team, r, k, r, k + 2)
        again = False
        for node in range(network.alternatives + 1):
            count = 0
            if node > 0:
                stop = network.stop[node]
                if node == now or (team.where[stop] >= 0 and stop != old):
                    continue
                if not network.admits[network.kind, node]:
                    continue
                some[0] = node
                count = 1
            way = detour(network, team, r, k, some, count, r, k + 2)
            saving = before - way
            limit = limit_with(network, without, margin, way - direct, some, count)
            if not is_better(desk, limit - team.profit[r], saving):
                continue
            value = chain(network, team, r, k, some, count, r, k + 2)
            if value > -np.inf and is_better(desk, value - team.profit[r], saving):
                team.where[old] = -1
                if not splice(network, team, r, k, k + 2, some, count):
                    return -1
                changed = 1
                again = True
                break
        if not again:
            k += 1
    return changed


@lean
def insert_all(network: Network, team: Team, desk: Desk, state: RandomState, halt: Halt) -> int:
    """Insert every stop that gains something, each where it gains most; 1, 0, or -1 if full."""
    changed = 0
    for stop in range(len(team.where)):
        if halt[0]:
            break
        if team.where[stop] >= 0:
            continue
        best = best_insertion(network, team, stop, 0.0, state)
        if best.route >= 0 and best.gain > desk.least_gain:
            changed = 1
            if not insert_at(network, team, best.route, best.gap, best.node):
                return -1
    return changed


@lean
def descend(network: Network, team: Team, desk: Desk, state: RandomState, halt: Halt) -> bool:
    """Make every better move there is, until there is none; false if there is no room.

    A better move earns more, or as much with less travel.
    """
    vehicles = len(team.size)
    # Moves within a route, or between two, need not be tried again until one of them has changed.
    turn = 1
    changed, tried = desk.changed, desk.tried
    changed[:] = 1
    tried[:] = 0
    again = True
    while again:
        again = False
        answer = insert_all(network, team, desk, state, halt)
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
                    answer = change_visits(network, team, desk, r, halt)
                    if answer > 0:  # any route may have a use for what is left out now
                        changed[:] = turn
                    elif answer == 0:
                        answer = change_within(network, team, desk, r, halt)
                else:
                    answer = change_between(network, team, desk, r, s, halt)
                tried[r, s] = turn
                if answer > 0:
                    again = True
                    changed[r] = changed[s] = turn
        if answer < 0:
            return False
        again = again and not halt[0]
    return True
