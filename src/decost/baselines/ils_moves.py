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

from decost.compiled import Halt, jit, lean
from decost.draws import RandomState, draw
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.stays import profit_of_stay, stays_of_route
from decost.timeline.steps import (
    earliest,
    in_time,
    latest_leave,
    latest_start,
    left_in_time,
    longest_visit,
    travel_time,
)

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


class Rules(NamedTuple):
    """Variants of the search.

    Insertions are drawn by weight, or the best is taken; the least stay of each route is cut before
    stays are extended, or not; and all stays are set optimally, or extended one by one.
    """

    roulette: bool
    reset_worst: bool
    optimal: bool


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
def longest_stay(network: Network, stop: int) -> float:
    """Longest stay at a stop that earns more than a shorter one."""
    return longest_visit(network, stop, np.inf)[0]


@lean
def last_rate(network: Network, stop: int, stay: float) -> float:
    """Profit of the last unit of a stay; infinity for the shortest stay."""
    here = network.node[stop]
    rest = stay - here.min_stay
    rate = np.inf
    for k in range(here.piece_first, here.piece_last):
        if rest <= 0.0:
            break
        rate = network.pieces[k, 0]
        rest -= network.pieces[k, 1]
    return rate


@lean
def set_stay(network: Network, plan: Plan, stop: int, stay: float) -> None:
    """Stay so long at a stop."""
    plan.stay[stop] = stay
    plan.profit[stop] = profit_of_stay(network, stop, stay)


@lean
def set_times(network: Network, plan: Plan, r: int) -> None:
    """Compute the times of a route."""
    at = network.start
    time = network.node[at].open
    count = plan.size[r]
    for k in range(count):
        stop = plan.stops[r, k]
        plan.begin[stop] = earliest(network, at, time, stop)
        time = plan.begin[stop] + plan.stay[stop]
        at = stop
    at = network.end
    due = network.node[at].latest
    for k in range(count - 1, -1, -1):
        stop = plan.stops[r, k]
        plan.depart[stop] = latest_leave(network, stop, at, due)
        due = latest_start(network, stop, plan.depart[stop] - plan.stay[stop])
        plan.latest[stop] = due
        at = stop


@lean
def keeps_time(network: Network, stay: FloatArray, route: IntArray, count: int) -> bool:
    """Whether a route with these stays breaks no deadline."""
    at = network.start
    time = network.node[at].open
    for k in range(count):
        stop = route[k]
        time = earliest(network, at, time, stop)
        if not in_time(network, stop, time):
            return False
        time += stay[stop]
        if not left_in_time(network, stop, time):
            return False
        at = stop
    return count == 0 or in_time(network, network.end, earliest(network, at, time, network.end))


@lean
def put_route(network: Network, plan: Plan, r: int, route: IntArray, count: int) -> None:
    """Replace the stops of a route; who is visited is up to the caller."""
    plan.size[r] = count
    copy_stops(route, plan.stops[r], count)
    set_times(network, plan, r)


@lean
def fit_stops(
    network: Network,
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
    at, leave = network.start, network.node[network.start].open
    if before >= 0:
        at = plan.stops[r, before]
        leave = plan.begin[at] + plan.stay[at]
    target, due = network.end, network.node[network.end].latest
    if after < plan.size[r]:
        target = plan.stops[r, after]
        due = plan.latest[target]
    alone = before < 0 and after == plan.size[r]
    direct = 0.0 if alone else travel_time(network, at, target)
    least = max(LEAST_SAVING * network.horizon, 1e-300)
    for stop in range(first, last):
        fits.stay[stop], fits.weight[stop] = -1.0, 0.0
        if plan.visited[stop]:
            continue
        here = network.node[stop]
        begin = earliest(network, at, leave, stop)
        room = latest_leave(network, stop, target, due) - begin - here.min_stay
        if begin > here.latest or room < 0.0:
            continue
        stay, score = longest_visit(network, stop, room)
        back = travel_time(network, stop, target)
        shift = max(begin - leave + stay + back - direct, least)
        fits.stay[stop], fits.score[stop] = stay, score
        fits.weight[stop] = score * (score / shift)


@lean
def weigh_route(
    network: Network, plan: Plan, fits: Fits, r: int, roulette: bool, weight: FloatArray
) -> float:
    """For every stop that is not visited, write the weight of its places on a route; return all.

    With a roulette weights add up, else the largest counts.
    """
    weight[:] = 0.0
    for k in range(plan.size[r] + 1):
        fit_stops(network, plan, fits, r, k - 1, k, 1, len(weight))
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
    network: Network,
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
        total[r] = weigh_route(network, plan, fits, r, roulette, weight[r])
    by_place = np.empty(nodes + 1)
    stays = np.empty(nodes + 1)
    while not halt[0] and total.max() > 0.0:
        r = choose(total, roulette, state)
        chosen = choose(weight[r], roulette, state)
        size = plan.size[r]
        for k in range(size + 1):
            fit_stops(network, plan, fits, r, k - 1, k, chosen, chosen + 1)
            by_place[k], stays[k] = fits.weight[chosen], fits.stay[chosen]
        place = choose(by_place[: size + 1], roulette, state)
        for k in range(size, place, -1):
            plan.stops[r, k] = plan.stops[r, k - 1]
        plan.stops[r, place] = chosen
        plan.size[r] += 1
        plan.visited[chosen] = True
        set_stay(network, plan, chosen, stays[place])
        set_times(network, plan, r)
        total[r] = weigh_route(network, plan, fits, r, roulette, weight[r])
        for s in range(vehicles):
            if weight[s, chosen] > 0.0:
                weight[s, chosen] = 0.0
                total[s] = weight[s].sum() if roulette else weight[s].max()


@lean
def travel_of(network: Network, route: IntArray, count: int) -> float:
    """Travel time of a route."""
    if count == 0:
        return 0.0
    total = travel_time(network, network.start, route[0])
    total += travel_time(network, route[count - 1], network.end)
    for k in range(count - 1):
        total += travel_time(network, route[k], route[k + 1])
    return total


@lean
def neighbours(network: Network, plan: Plan, r: int, first: int, last: int) -> tuple[int, int]:
    """Places before and after a part of a route."""
    before = plan.stops[r, first - 1] if first > 0 else network.start
    after = plan.stops[r, last + 1] if last + 1 < plan.size[r] else network.end
    return before, after


@lean
def by_way_of(network: Network, before: int, stop: int, after: int) -> float:
    """Travel from one node to another by way of a stop."""
    return travel_time(network, before, stop) + travel_time(network, stop, after)


@lean
def saving_of_replacing(network: Network, plan: Plan, r: int, k: int, stop: int) -> float:
    """Travel that is saved by going to a stop instead of the visit at a position."""
    before, after = neighbours(network, plan, r, k, k)
    old = by_way_of(network, before, plan.stops[r, k], after)
    return old - travel_time(network, before, stop) - travel_time(network, stop, after)


@lean
def saving_of_swap(network: Network, plan: Plan, r: int, a: int, b: int) -> float:
    """Travel that is saved by exchanging two visits of a route, the first before the second."""
    one, two = plan.stops[r, a], plan.stops[r, b]
    if b > a + 1:
        saving = saving_of_replacing(network, plan, r, a, two)
        return saving + saving_of_replacing(network, plan, r, b, one)
    before, after = neighbours(network, plan, r, a, b)
    old = by_way_of(network, before, one, two) + travel_time(network, two, after)
    new = travel_time(network, two, one) + travel_time(network, one, after)
    return old - travel_time(network, before, two) - new


@lean
def swap_within(network: Network, plan: Plan, trial: IntArray, halt: Halt) -> bool:
    """Exchange two visits of a route where that saves travel; whether it did."""
    changed = False
    least = LEAST_SAVING * network.horizon
    for r in range(len(plan.size)):
        size = plan.size[r]
        again = True
        while again:
            again = False
            for a in range(size - 1):
                if halt[0]:
                    return changed
                for b in range(a + 1, size):
                    if saving_of_swap(network, plan, r, a, b) <= least:
                        continue
                    copy_stops(plan.stops[r], trial, size)
                    trial[a], trial[b] = trial[b], trial[a]
                    if keeps_time(network, plan.stay, trial, size):
                        put_route(network, plan, r, trial, size)
                        again = changed = True
    return changed


@lean
def turn_within(network: Network, plan: Plan, trial: IntArray, halt: Halt) -> bool:
    """Turn a part of a route round (2-opt) where that saves travel; whether it did."""
    changed = False
    least = LEAST_SAVING * network.horizon
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
                    inner += travel_time(network, three, two) - travel_time(network, two, three)
                    before, after = neighbours(network, plan, r, a, b)
                    saving = inner + travel_time(network, before, one)
                    saving += travel_time(network, two, after)
                    saving -= travel_time(network, before, two) + travel_time(network, one, after)
                    if saving <= least:
                        continue
                    copy_stops(plan.stops[r], trial, size)
                    for k in range(a, b + 1):
                        trial[k] = plan.stops[r, a + b - k]
                    if keeps_time(network, plan.stay, trial, size):
                        put_route(network, plan, r, trial, size)
                        again = changed = True
                        break
    return changed


@lean
def swap_between(
    network: Network, plan: Plan, trial: IntArray, other: IntArray, halt: Halt
) -> bool:
    """Exchange visits of two routes where that saves travel; whether it did."""
    changed = False
    vehicles = len(plan.size)
    again = True
    least = LEAST_SAVING * network.horizon
    while again:
        again = False
        for r in range(vehicles - 1):
            for s in range(r + 1, vehicles):
                if halt[0]:
                    return changed
                for a in range(plan.size[r]):
                    for b in range(plan.size[s]):
                        one, two = plan.stops[r, a], plan.stops[s, b]
                        saving = saving_of_replacing(network, plan, r, a, two)
                        saving += saving_of_replacing(network, plan, s, b, one)
                        if saving <= least:
                            continue
                        n, m = plan.size[r], plan.size[s]
                        copy_stops(plan.stops[r], trial, n)
                        copy_stops(plan.stops[s], other, m)
                        trial[a], other[b] = two, one
                        if keeps_time(network, plan.stay, trial, n) and keeps_time(
                            network, plan.stay, other, m
                        ):
                            put_route(network, plan, r, trial, n)
                            put_route(network, plan, s, other, m)
                            again = changed = True
    return changed


@lean
def move_visits(network: Network, plan: Plan, trial: IntArray, other: IntArray, halt: Halt) -> bool:
    """Move a visit to another place on any route where that saves travel; whether it did."""
    changed = False
    vehicles = len(plan.size)
    again = True
    least = LEAST_SAVING * network.horizon
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
                saved = travel_of(network, plan.stops[r], n) - travel_of(network, trial, n - 1)
                for s in range(vehicles):
                    m = n - 1 if s == r else plan.size[s]
                    base = trial if s == r else plan.stops[s]
                    for b in range(m + 1):
                        before = base[b - 1] if b > 0 else network.start
                        after = base[b] if b < m else network.end
                        added = by_way_of(network, before, stop, after)
                        if m > 0:
                            added -= travel_time(network, before, after)
                        if saved - added <= least:
                            continue
                        copy_stops(base, other, b)
                        other[b] = stop
                        copy_stops(base[b:], other[b + 1 :], m - b)
                        if not keeps_time(network, plan.stay, other, m + 1):
                            continue
                        if s != r:
                            if not keeps_time(network, plan.stay, trial, n - 1):
                                continue
                            put_route(network, plan, r, trial, n - 1)
                        put_route(network, plan, s, other, m + 1)
                        again = changed = moved = True
                        break
                    if moved:
                        break
                a += 1
    return changed


@lean
def shorten_worst(network: Network, plan: Plan) -> None:
    """On every route, cut the stay whose last unit earns least to its minimum."""
    for r in range(len(plan.size)):
        worst = -1
        least = np.inf
        for k in range(plan.size[r]):
            stop = plan.stops[r, k]
            rate = last_rate(network, stop, plan.stay[stop])
            if rate < least:
                worst, least = stop, rate
        if worst > 0:
            set_stay(network, plan, worst, network.node[worst].min_stay)
            set_times(network, plan, r)


@lean
def extend_stays(network: Network, plan: Plan, halt: Halt) -> bool:
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
                stay += min(room, longest_stay(network, stop) - stay)
                gain = profit_of_stay(network, stop, stay) - plan.profit[stop]
                if gain > most and stay > plan.stay[stop]:
                    chosen, longer, most = stop, stay, gain
            if most <= LEAST_GAIN * total_profit(plan):
                break
            set_stay(network, plan, chosen, longer)
            set_times(network, plan, r)
            changed = True
    return changed


@jit
def optimise_stays(network: Network, plan: Plan) -> bool:
    """Set the stays that earn most on every route, as an LP would; whether that earns more."""
    pieces = len(network.pieces)
    pool, owner = np.empty((pieces, 2)), np.empty(pieces, dtype=np.int64)
    before = total_profit(plan)
    for r in range(len(plan.size)):
        route = plan.stops[r, : plan.size[r]]
        stays = np.zeros(len(route))
        _, broken = stays_of_route(network, route, stays, pool, owner)
        if broken < 0:
            for k in range(len(route)):
                set_stay(network, plan, route[k], stays[k])
            set_times(network, plan, r)
    return total_profit(plan) > before * (1.0 + LEAST_GAIN)


@lean
def replace_visits(network: Network, plan: Plan, fits: Fits, halt: Halt) -> bool:
    """Replace a visit by a stop that is not visited where that earns more; whether it did."""
    changed = False
    nodes = len(plan.visited)
    for r in range(len(plan.size)):
        for k in range(plan.size[r]):
            if halt[0]:
                return changed
            old = plan.stops[r, k]
            fit_stops(network, plan, fits, r, k - 1, k + 1, 1, nodes)
            chosen = -1
            most = plan.profit[old] * (1.0 + LEAST_GAIN)
            for stop in range(1, nodes):
                if fits.stay[stop] >= 0.0 and fits.score[stop] > most:
                    chosen, most = stop, fits.score[stop]
            if chosen > 0:
                plan.visited[old] = False
                plan.visited[chosen] = True
                plan.stops[r, k] = chosen
                set_stay(network, plan, chosen, fits.stay[chosen])
                set_times(network, plan, r)
                changed = True
    return changed


@lean
def shake(network: Network, plan: Plan, r: int, post: int, cons: int) -> None:
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
    if not keeps_time(network, plan.stay, plan.stops[r], kept):  # the removed were a short cut
        for k in range(kept):
            plan.visited[plan.stops[r, k]] = False
        plan.size[r] = 0
    set_times(network, plan, r)


@lean
def exchange_routes(network: Network, plan: Plan, state: RandomState) -> None:
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
    network: Network,
    plan: Plan,
    fits: Fits,
    rules: Rules,
    state: RandomState,
    weight: FloatArray,
    halt: Halt,
) -> None:
    """Improve a plan by every move in turn."""
    nodes = len(plan.visited)
    trial = np.empty(nodes, dtype=np.int64)
    other = np.empty(nodes, dtype=np.int64)
    changed = swap_within(network, plan, trial, halt)
    changed |= swap_between(network, plan, trial, other, halt)
    changed |= turn_within(network, plan, trial, halt)
    changed |= move_visits(network, plan, trial, other, halt)
    if rules.reset_worst:
        shorten_worst(network, plan)
    if rules.optimal:
        changed |= optimise_stays(network, plan)
    else:
        changed |= extend_stays(network, plan, halt)
    if changed:
        insert_stops(network, plan, fits, rules.roulette, state, weight, halt)
    replace_visits(network, plan, fits, halt)


@jit
def iterate(
    network: Network,
    plan: Plan,
    best: Plan,
    found: FloatArray,
    state: RandomState,
    rounds: int,
    rules: Rules,
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
    insert_stops(network, plan, fits, rules.roulette, state, weight, halt)
    while True:
        improve(network, plan, fits, rules, state, weight, halt)
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
            exchange_routes(network, plan, state)
        smallest = nodes
        for r in range(vehicles):
            if plan.size[r] > 0:
                smallest = min(smallest, plan.size[r])
                shake(network, plan, r, post % plan.size[r], cons)
        post = (post + cons) % smallest
        cons += 1
        if cons > min(longest, smallest):
            cons = 1
        insert_stops(network, plan, fits, rules.roulette, state, weight, halt)
