"""Iterated local search with the stays kept as they are: the moves of Marzal and Sebastia (2024).

A plan has fixed stays. Of every visit it is known when service begins, and how late it may begin
and end without making the rest of the route late; an insertion is judged by these alone. The
moves change the order of visits to save travel, and stays only ever grow until a visit is removed.

Everything looks at `halt` now and then and returns, between two changes of the plan, once it is
set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.kernels.profile import Halt, jit, lean
from decost.kernels.random import RandomState, draw
from decost.kernels.stays import stays_of_route
from decost.problem.instance import Arrays, BoolArray, FloatArray, IntArray

RESTART = 10
"""Rounds without a better plan after which the search goes back to the best one."""

EXCHANGE = 20
"""Rounds without a better plan after which every third one exchanges two routes."""

LEAST_SAVING = 1e-9
"""Share of the budget by which a move must shorten the travel."""

LEAST_GAIN = 1e-12
"""Share of the profit by which a change must raise it."""


class Plan(NamedTuple):
    """Routes with fixed stays, and their times by stop.

    Route r is `stops[r, : size[r]]`. For a stop on a route, `begin` is the start of service,
    `latest` the latest one that keeps the rest of the route in time, and `depart` the latest end.
    """

    stops: IntArray
    size: IntArray
    visited: BoolArray
    stay: FloatArray
    begin: FloatArray
    latest: FloatArray
    depart: FloatArray
    profit: FloatArray


class Fits(NamedTuple):
    """By stop: the longest stay that fits, what it earns, and the weight of an insertion."""

    stay: FloatArray
    score: FloatArray
    weight: FloatArray


def make_plan(nodes: int, vehicles: int) -> Plan:
    """Make an empty plan."""
    times = [np.zeros(nodes) for _ in range(5)]
    return Plan(
        np.zeros((vehicles, nodes), dtype=np.int64),
        np.zeros(vehicles, dtype=np.int64),
        np.zeros(nodes, dtype=np.bool_),
        *times,
    )


@lean
def copy_stops(source: IntArray, target: IntArray, count: int) -> None:
    """Copy the first entries of a list."""
    for k in range(count):
        target[k] = source[k]


@lean
def copy_plan(source: Plan, target: Plan) -> None:
    """Make one plan equal to another."""
    for r in range(len(source.size)):
        count = source.size[r]
        target.size[r] = count
        copy_stops(source.stops[r], target.stops[r], count)
    for stop in range(len(source.visited)):
        target.visited[stop] = source.visited[stop]
        target.stay[stop] = source.stay[stop]
        target.begin[stop] = source.begin[stop]
        target.latest[stop] = source.latest[stop]
        target.depart[stop] = source.depart[stop]
        target.profit[stop] = source.profit[stop]


@lean
def total_profit(plan: Plan) -> float:
    """Profit of all visits."""
    profit = 0.0
    for r in range(len(plan.size)):
        for k in range(plan.size[r]):
            profit += plan.profit[plan.stops[r, k]]
    return profit


@lean
def profit_of_stay(arrays: Arrays, stop: int, stay: float) -> float:
    """Profit of a stay at a stop."""
    profit = arrays.reward[stop]
    rest = stay - arrays.min_stay[stop]
    for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        if rest <= 0.0:
            break
        part = min(rest, arrays.piece_length[piece])
        profit += arrays.piece_rate[piece] * part
        rest -= part
    return float(profit)


@lean
def longest_stay(arrays: Arrays, stop: int) -> float:
    """Longest stay at a stop that earns more than a shorter one."""
    stay = arrays.min_stay[stop]
    for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        if arrays.piece_rate[piece] > 0.0:
            stay += arrays.piece_length[piece]
    return float(stay)


@lean
def last_rate(arrays: Arrays, stop: int, stay: float) -> float:
    """Profit of the last unit of a stay; infinity for the shortest stay."""
    rest = stay - arrays.min_stay[stop]
    rate = np.inf
    for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        if rest <= 0.0:
            break
        rate = arrays.piece_rate[piece]
        rest -= arrays.piece_length[piece]
    return rate


@lean
def set_stay(arrays: Arrays, plan: Plan, stop: int, stay: float) -> None:
    """Stay so long at a stop."""
    plan.stay[stop] = stay
    plan.profit[stop] = profit_of_stay(arrays, stop, stay)


@lean
def set_times(arrays: Arrays, plan: Plan, r: int) -> None:
    """Compute the times of a route."""
    time = 0.0
    place = 0
    count = plan.size[r]
    for k in range(count):
        stop = plan.stops[r, k]
        begin = max(time + arrays.travel[place, stop], arrays.open[stop])
        plan.begin[stop] = begin
        time = begin + plan.stay[stop]
        place = stop
    due = arrays.budget
    place = arrays.end
    for k in range(count - 1, -1, -1):
        stop = plan.stops[r, k]
        depart = min(arrays.leave_by[stop], due - arrays.travel[stop, place])
        plan.depart[stop] = depart
        due = min(arrays.close[stop], depart - plan.stay[stop])
        plan.latest[stop] = due
        place = stop


@lean
def in_time(arrays: Arrays, stay: FloatArray, route: IntArray, count: int) -> bool:
    """Whether a route with these stays breaks no deadline."""
    time = 0.0
    place = 0
    for k in range(count):
        stop = route[k]
        time = max(time + arrays.travel[place, stop], arrays.open[stop])
        if time > arrays.close[stop] + arrays.slack:
            return False
        time += stay[stop]
        if time > arrays.leave_by[stop] + arrays.slack:
            return False
        place = stop
    return count == 0 or time + arrays.travel[place, arrays.end] <= arrays.budget + arrays.slack


@lean
def put_route(arrays: Arrays, plan: Plan, r: int, route: IntArray, count: int) -> None:
    """Replace the stops of a route; who is visited is up to the caller."""
    plan.size[r] = count
    copy_stops(route, plan.stops[r], count)
    set_times(arrays, plan, r)


@lean
def fit_stops(
    arrays: Arrays,
    plan: Plan,
    fits: Fits,
    r: int,
    before: int,
    after: int,
    first: int,
    last: int,
) -> None:
    """For stops that are not visited, find how they fit between two positions of a route.

    Position -1 is the depot at the start, the number of visits the one at the end. The stay is
    as long as possible, and -1 where a stop does not fit. The weight is the square of the score
    over the shift: the time by which the next visit would come later, were there no wait.
    """
    travel, opens, close, leave_by = arrays.travel, arrays.open, arrays.close, arrays.leave_by
    min_stay, reward = arrays.min_stay, arrays.reward
    piece_start, piece_rate = arrays.piece_start, arrays.piece_rate
    piece_length = arrays.piece_length
    visited, all_stays, all_scores, all_weights = plan.visited, fits.stay, fits.score, fits.weight
    place, leave = 0, 0.0
    if before >= 0:
        place = plan.stops[r, before]
        leave = plan.begin[place] + plan.stay[place]
    target, due = arrays.end, arrays.budget
    if after < plan.size[r]:
        target = plan.stops[r, after]
        due = plan.latest[target]
    alone = before < 0 and after == plan.size[r]
    direct = 0.0 if alone else travel[place, target]
    least = max(LEAST_SAVING * arrays.budget, 1e-300)
    for stop in range(first, last):
        all_stays[stop], all_weights[stop] = -1.0, 0.0
        if visited[stop]:
            continue
        begin = max(leave + travel[place, stop], opens[stop])
        back = travel[stop, target]
        room = min(leave_by[stop], due - back) - begin - min_stay[stop]
        if begin > close[stop] or room < 0.0:
            continue
        stay, score = min_stay[stop], reward[stop]
        for piece in range(piece_start[stop], piece_start[stop + 1]):
            part = min(room, piece_length[piece])
            if part <= 0.0 or piece_rate[piece] <= 0.0:
                break
            stay += part
            room -= part
            score += piece_rate[piece] * part
        shift = max(begin - leave + stay + back - direct, least)
        all_stays[stop], all_scores[stop] = stay, score
        all_weights[stop] = score * (score / shift)


@lean
def weigh_route(
    arrays: Arrays, plan: Plan, fits: Fits, r: int, roulette: bool, weight: FloatArray
) -> float:
    """For every stop that is not visited, write the weight of its places on a route; return all.

    With a roulette weights add up, else the largest counts.
    """
    weight[:] = 0.0
    for k in range(plan.size[r] + 1):
        fit_stops(arrays, plan, fits, r, k - 1, k, 1, len(weight))
        for stop in range(1, len(weight)):
            part = fits.weight[stop]
            weight[stop] = weight[stop] + part if roulette else max(weight[stop], part)
    total = 0.0
    for part in weight:
        total = total + part if roulette else max(total, part)
    return total


@lean
def choose(weight: FloatArray, roulette: bool, state: RandomState) -> int:
    """Draw an entry of a list of weights, or take the largest."""
    chosen = -1
    point = 0.0
    for k in range(len(weight)):
        point += weight[k]
        if weight[k] > 0.0 and (chosen < 0 or weight[k] > weight[chosen]):
            chosen = k
    if not roulette:
        return chosen
    point *= draw(state)
    for k in range(len(weight)):
        if weight[k] > 0.0:
            chosen = k
            point -= weight[k]
            if point < 0.0:
                break
    return chosen


@jit
def insert_stops(
    arrays: Arrays,
    plan: Plan,
    fits: Fits,
    roulette: bool,
    state: RandomState,
    weight: FloatArray,
    halt: Halt,
) -> None:
    """Insert stops while any fits, drawn by weight or the best first.

    Candidates are all places of all stops on all routes. A stay is as long as the place allows.
    `weight` is scratch, by route and stop.
    """
    vehicles, nodes = weight.shape
    total = np.empty(vehicles)
    for r in range(vehicles):
        if halt[0]:
            return
        total[r] = weigh_route(arrays, plan, fits, r, roulette, weight[r])
    by_place = np.empty(nodes + 1)
    stays = np.empty(nodes + 1)
    while not halt[0] and total.max() > 0.0:
        r = choose(total, roulette, state)
        chosen = choose(weight[r], roulette, state)
        size = plan.size[r]
        for k in range(size + 1):
            fit_stops(arrays, plan, fits, r, k - 1, k, chosen, chosen + 1)
            by_place[k], stays[k] = fits.weight[chosen], fits.stay[chosen]
        place = choose(by_place[: size + 1], roulette, state)
        for k in range(size, place, -1):
            plan.stops[r, k] = plan.stops[r, k - 1]
        plan.stops[r, place] = chosen
        plan.size[r] += 1
        plan.visited[chosen] = True
        set_stay(arrays, plan, chosen, stays[place])
        set_times(arrays, plan, r)
        total[r] = weigh_route(arrays, plan, fits, r, roulette, weight[r])
        for s in range(vehicles):
            if weight[s, chosen] > 0.0:
                weight[s, chosen] = 0.0
                total[s] = weight[s].sum() if roulette else weight[s].max()


@lean
def travel_of(arrays: Arrays, route: IntArray, count: int) -> float:
    """Travel time of a route."""
    if count == 0:
        return 0.0
    total = arrays.travel[0, route[0]] + arrays.travel[route[count - 1], arrays.end]
    for k in range(count - 1):
        total += arrays.travel[route[k], route[k + 1]]
    return float(total)


@lean
def neighbours(arrays: Arrays, plan: Plan, r: int, first: int, last: int) -> tuple[int, int]:
    """Places before and after a part of a route."""
    before = plan.stops[r, first - 1] if first > 0 else 0
    after = plan.stops[r, last + 1] if last + 1 < plan.size[r] else arrays.end
    return before, after


@lean
def saving_of_replacing(arrays: Arrays, plan: Plan, r: int, k: int, stop: int) -> float:
    """Travel that is saved by going to a stop instead of the visit at a position."""
    travel, old = arrays.travel, plan.stops[r, k]
    before, after = neighbours(arrays, plan, r, k, k)
    return float(
        travel[before, old] + travel[old, after] - travel[before, stop] - travel[stop, after]
    )


@lean
def saving_of_swap(arrays: Arrays, plan: Plan, r: int, a: int, b: int) -> float:
    """Travel that is saved by exchanging two visits of a route, the first before the second."""
    travel, one, two = arrays.travel, plan.stops[r, a], plan.stops[r, b]
    if b > a + 1:
        saving = saving_of_replacing(arrays, plan, r, a, two)
        return saving + saving_of_replacing(arrays, plan, r, b, one)
    before, after = neighbours(arrays, plan, r, a, b)
    old = travel[before, one] + travel[one, two] + travel[two, after]
    return float(old - travel[before, two] - travel[two, one] - travel[one, after])


@lean
def swap_within(arrays: Arrays, plan: Plan, trial: IntArray, halt: Halt) -> bool:
    """Exchange two visits of a route where that saves travel; whether it did."""
    changed = False
    least = LEAST_SAVING * arrays.budget
    for r in range(len(plan.size)):
        size = plan.size[r]
        again = True
        while again:
            again = False
            for a in range(size - 1):
                if halt[0]:
                    return changed
                for b in range(a + 1, size):
                    if saving_of_swap(arrays, plan, r, a, b) <= least:
                        continue
                    copy_stops(plan.stops[r], trial, size)
                    trial[a], trial[b] = trial[b], trial[a]
                    if in_time(arrays, plan.stay, trial, size):
                        put_route(arrays, plan, r, trial, size)
                        again = changed = True
    return changed


@lean
def turn_within(arrays: Arrays, plan: Plan, trial: IntArray, halt: Halt) -> bool:
    """Turn a part of a route round (2-opt) where that saves travel; whether it did."""
    changed = False
    travel = arrays.travel
    least = LEAST_SAVING * arrays.budget
    for r in range(len(plan.size)):
        size = plan.size[r]
        again = True
        while again:
            again = False
            for a in range(size - 1):
                if halt[0]:
                    return changed
                inner = 0.0  # saved between the two ends, on the way there and back
                for b in range(a + 1, size):
                    one, two, three = plan.stops[r, a], plan.stops[r, b], plan.stops[r, b - 1]
                    inner += travel[three, two] - travel[two, three]
                    before, after = neighbours(arrays, plan, r, a, b)
                    saving = inner + travel[before, one] + travel[two, after]
                    saving -= travel[before, two] + travel[one, after]
                    if saving <= least:
                        continue
                    copy_stops(plan.stops[r], trial, size)
                    for k in range(a, b + 1):
                        trial[k] = plan.stops[r, a + b - k]
                    if in_time(arrays, plan.stay, trial, size):
                        put_route(arrays, plan, r, trial, size)
                        again = changed = True
                        break
    return changed


@lean
def swap_between(arrays: Arrays, plan: Plan, trial: IntArray, other: IntArray, halt: Halt) -> bool:
    """Exchange visits of two routes where that saves travel; whether it did."""
    changed = False
    vehicles = len(plan.size)
    again = True
    least = LEAST_SAVING * arrays.budget
    while again:
        again = False
        for r in range(vehicles - 1):
            for s in range(r + 1, vehicles):
                if halt[0]:
                    return changed
                for a in range(plan.size[r]):
                    for b in range(plan.size[s]):
                        one, two = plan.stops[r, a], plan.stops[s, b]
                        saving = saving_of_replacing(arrays, plan, r, a, two)
                        saving += saving_of_replacing(arrays, plan, s, b, one)
                        if saving <= least:
                            continue
                        n, m = plan.size[r], plan.size[s]
                        copy_stops(plan.stops[r], trial, n)
                        copy_stops(plan.stops[s], other, m)
                        trial[a], other[b] = two, one
                        if in_time(arrays, plan.stay, trial, n) and in_time(
                            arrays, plan.stay, other, m
                        ):
                            put_route(arrays, plan, r, trial, n)
                            put_route(arrays, plan, s, other, m)
                            again = changed = True
    return changed


@lean
def move_visits(arrays: Arrays, plan: Plan, trial: IntArray, other: IntArray, halt: Halt) -> bool:
    """Move a visit to another place on any route where that saves travel; whether it did."""
    changed = False
    vehicles = len(plan.size)
    again = True
    least = LEAST_SAVING * arrays.budget
    while again:
        again = False
        for r in range(vehicles):
            a = 0
            while a < plan.size[r]:
                if halt[0]:
                    return changed
                moved = False
                n = plan.size[r]
                stop = plan.stops[r, a]
                copy_stops(plan.stops[r], trial, a)
                copy_stops(plan.stops[r, a + 1 :], trial[a:], n - 1 - a)
                saved = travel_of(arrays, plan.stops[r], n) - travel_of(arrays, trial, n - 1)
                for s in range(vehicles):
                    m = n - 1 if s == r else plan.size[s]
                    base = trial if s == r else plan.stops[s]
                    for b in range(m + 1):
                        before = base[b - 1] if b > 0 else 0
                        after = base[b] if b < m else arrays.end
                        added = arrays.travel[before, stop] + arrays.travel[stop, after]
                        if m > 0:
                            added -= arrays.travel[before, after]
                        if saved - added <= least:
                            continue
                        copy_stops(base, other, b)
                        other[b] = stop
                        copy_stops(base[b:], other[b + 1 :], m - b)
                        if not in_time(arrays, plan.stay, other, m + 1):
                            continue
                        if s != r:
                            if not in_time(arrays, plan.stay, trial, n - 1):
                                continue
                            put_route(arrays, plan, r, trial, n - 1)
                        put_route(arrays, plan, s, other, m + 1)
                        again = changed = moved = True
                        break
                    if moved:
                        break
                a += 1
    return changed


@lean
def shorten_worst(arrays: Arrays, plan: Plan) -> None:
    """On every route, cut the stay whose last unit earns least to its minimum."""
    for r in range(len(plan.size)):
        worst = -1
        least = np.inf
        for k in range(plan.size[r]):
            stop = plan.stops[r, k]
            rate = last_rate(arrays, stop, plan.stay[stop])
            if rate < least:
                worst, least = stop, rate
        if worst > 0:
            set_stay(arrays, plan, worst, arrays.min_stay[worst])
            set_times(arrays, plan, r)


@lean
def extend_stays(arrays: Arrays, plan: Plan, halt: Halt) -> bool:
    """Extend the stay that gains most, as far as it can be, again and again."""
    changed = False
    for r in range(len(plan.size)):
        while not halt[0]:
            chosen = -1
            longer = most = 0.0
            for k in range(plan.size[r]):
                stop = plan.stops[r, k]
                stay = plan.stay[stop]
                room = plan.depart[stop] - plan.begin[stop] - stay
                stay += min(room, longest_stay(arrays, stop) - stay)
                gain = profit_of_stay(arrays, stop, stay) - plan.profit[stop]
                if gain > most and stay > plan.stay[stop]:
                    chosen, longer, most = stop, stay, gain
            if most <= LEAST_GAIN * total_profit(plan):
                break
            set_stay(arrays, plan, chosen, longer)
            set_times(arrays, plan, r)
            changed = True
    return changed


@jit
def optimise_stays(
    arrays: Arrays, plan: Plan, rate: FloatArray, length: FloatArray, owner: IntArray
) -> bool:
    """Set the stays that earn most on every route, as an LP would; whether that earns more."""
    before = total_profit(plan)
    for r in range(len(plan.size)):
        route = plan.stops[r, : plan.size[r]]
        stays = np.zeros(len(route))
        _, broken = stays_of_route(arrays, route, stays, rate, length, owner)
        if broken < 0:
            for k in range(len(route)):
                set_stay(arrays, plan, route[k], stays[k])
            set_times(arrays, plan, r)
    return total_profit(plan) > before * (1.0 + LEAST_GAIN)


@lean
def replace_visits(arrays: Arrays, plan: Plan, fits: Fits, halt: Halt) -> bool:
    """Replace a visit by a stop that is not visited where that earns more; whether it did."""
    changed = False
    nodes = len(plan.visited)
    for r in range(len(plan.size)):
        for k in range(plan.size[r]):
            if halt[0]:
                return changed
            old = plan.stops[r, k]
            fit_stops(arrays, plan, fits, r, k - 1, k + 1, 1, nodes)
            chosen = -1
            most = plan.profit[old] * (1.0 + LEAST_GAIN)
            for stop in range(1, nodes):
                if fits.stay[stop] >= 0.0 and fits.score[stop] > most:
                    chosen, most = stop, fits.score[stop]
            if chosen > 0:
                plan.visited[old] = False
                plan.visited[chosen] = True
                plan.stops[r, k] = chosen
                set_stay(arrays, plan, chosen, fits.stay[chosen])
                set_times(arrays, plan, r)
                changed = True
    return changed


@lean
def shake(arrays: Arrays, plan: Plan, r: int, post: int, cons: int) -> None:
    """Remove `cons` visits of a route from position `post` on, going on at its beginning."""
    count = plan.size[r]
    cons = min(cons, count)
    for k in range(cons):
        plan.visited[plan.stops[r, (post + k) % count]] = False
    kept = 0
    for k in range(count):
        stop = plan.stops[r, k]
        if plan.visited[stop]:
            plan.stops[r, kept] = stop
            kept += 1
    plan.size[r] = kept
    if not in_time(arrays, plan.stay, plan.stops[r], kept):  # the removed were a short cut
        for k in range(kept):
            plan.visited[plan.stops[r, k]] = False
        plan.size[r] = 0
    set_times(arrays, plan, r)


@lean
def exchange_routes(arrays: Arrays, plan: Plan, state: RandomState) -> None:
    """Let two vehicles exchange their routes, so that moves are tried in another order."""
    vehicles = len(plan.size)
    r = int(draw(state) * vehicles)
    s = (r + 1 + int(draw(state) * (vehicles - 1))) % vehicles
    most = max(plan.size[r], plan.size[s])
    for k in range(most):
        plan.stops[r, k], plan.stops[s, k] = plan.stops[s, k], plan.stops[r, k]
    plan.size[r], plan.size[s] = plan.size[s], plan.size[r]


@jit
def improve(
    arrays: Arrays,
    plan: Plan,
    fits: Fits,
    roulette: bool,
    state: RandomState,
    weight: FloatArray,
    reset_worst: bool,
    optimal: bool,
    halt: Halt,
) -> None:
    """Improve a plan by every move in turn."""
    nodes = len(plan.visited)
    trial = np.empty(nodes, dtype=np.int64)
    other = np.empty(nodes, dtype=np.int64)
    changed = swap_within(arrays, plan, trial, halt)
    changed |= swap_between(arrays, plan, trial, other, halt)
    changed |= turn_within(arrays, plan, trial, halt)
    changed |= move_visits(arrays, plan, trial, other, halt)
    if reset_worst:
        shorten_worst(arrays, plan)
    if optimal:
        pieces = len(arrays.piece_rate)
        owner = np.empty(pieces, dtype=np.int64)
        changed |= optimise_stays(arrays, plan, np.empty(pieces), np.empty(pieces), owner)
    else:
        changed |= extend_stays(arrays, plan, halt)
    if changed:
        insert_stops(arrays, plan, fits, roulette, state, weight, halt)
    replace_visits(arrays, plan, fits, halt)


@jit
def iterate(
    arrays: Arrays,
    plan: Plan,
    best: Plan,
    found: FloatArray,
    state: RandomState,
    rounds: int,
    roulette: bool,
    reset_worst: bool,
    optimal: bool,
    halt: Halt,
) -> int:
    """Improve a plan for some rounds; return how many there were.

    The best plan is kept in `best`; `found` holds its profit and the round that found it.
    """
    vehicles, nodes = plan.stops.shape
    weight = np.zeros((vehicles, nodes))
    fits = Fits(np.zeros(nodes), np.zeros(nodes), np.zeros(nodes))
    longest = max(1, nodes // (3 * vehicles))
    post, cons = 0, 1
    idle = 0
    done = 0
    insert_stops(arrays, plan, fits, roulette, state, weight, halt)
    while True:
        improve(arrays, plan, fits, roulette, state, weight, reset_worst, optimal, halt)
        profit = total_profit(plan)
        if profit > found[0]:
            copy_plan(plan, best)
            found[0], found[1] = profit, done
            idle = 0
        else:
            idle += 1
        if done >= rounds or halt[0]:
            return done
        done += 1
        if idle > 0 and idle % RESTART == 0:
            copy_plan(best, plan)
        if vehicles > 1 and idle > EXCHANGE and done % 3 == 0:
            exchange_routes(arrays, plan, state)
        smallest = nodes
        for r in range(vehicles):
            if plan.size[r] > 0:
                smallest = min(smallest, plan.size[r])
                shake(arrays, plan, r, post % plan.size[r], cons)
        post = (post + cons) % smallest
        cons += 1
        if cons > min(longest, smallest):
            cons = 1
        insert_stops(arrays, plan, fits, roulette, state, weight, halt)
