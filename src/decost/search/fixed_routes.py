"""Ruin and recreate for routes with windows on which all stays are fixed.

The rounds are those of `ruin`, with times in the place of time-profit functions: each place for a
stop is judged by a few comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Halt, lean
from decost.draws import RandomState, draw
from decost.problem.instance import FloatArray, IntArray
from decost.search.moves import DETOUR, EQUAL, Desk, Insertion, descend
from decost.search.ruin import (
    BEST,
    BLINK,
    COLD,
    CYCLE,
    FOUND,
    FULL,
    HOT,
    LIGHT,
    PART,
    POLISH,
    ROUNDS,
    SCORE,
    Hints,
    Memory,
    Notes,
    begin_round,
    draw_string,
    end_round,
    most_strings,
    recall,
    remember,
    remove_string,
    sort,
    total,
)
from decost.search.team import Team
from decost.timeline.fixed_stays import (
    FixedStays,
    arrives_in_time,
    end_of_stay,
    latest_before,
    may_precede,
    start_after,
    starts_in_time,
)
from decost.timeline.lengths import way
from decost.timeline.network import Network


class Visits(NamedTuple):
    """Routes and their times, as in `Team`: nodes, where stops are, and what routes earn.

    By position: when service starts at the earliest and at the latest, and when a node is left at
    the earliest. A route that cannot be kept to earns minus infinity.
    """

    kind: IntArray  # (route,)
    nodes: IntArray  # (route, position)
    size: IntArray  # (route,)
    where: IntArray  # (stop,)
    spot: IntArray  # (stop,)
    profit: FloatArray  # (route,)
    travel: FloatArray  # (route,)
    start: FloatArray  # (route, position)
    leave: FloatArray  # (route, position)
    late: FloatArray  # (route, position)


def make_visits(team: Team) -> Visits:
    """Make empty routes of the vehicles of a team, with as much room."""
    shape = team.nodes.shape
    return Visits(
        kind=team.kind,
        nodes=team.nodes.copy(),
        size=np.zeros_like(team.size),
        where=np.full_like(team.where, -1),
        spot=np.zeros_like(team.spot),
        profit=np.zeros_like(team.profit),
        travel=np.zeros_like(team.profit),
        start=np.zeros(shape),
        leave=np.zeros(shape),
        late=np.zeros(shape),
    )


@lean
def look_again(network: Network, times: FixedStays, visits: Visits, r: int, first: int) -> None:
    """Compute the times of a route anew; its positions before `first` are as they were."""
    kind, size = visits.kind[r], visits.size[r]
    nodes, start, leave, late = visits.nodes, visits.start, visits.leave, visits.late
    first = max(1, first)
    start[r, 0] = leave[r, 0] = times.open[nodes[r, 0]]
    for k in range(first, size + 2):
        node = nodes[r, k]
        start[r, k] = start_after(times, kind, nodes[r, k - 1], leave[r, k - 1], node)
        leave[r, k] = end_of_stay(times, node, start[r, k])
        if k <= size:
            visits.where[network.stop[node]] = r
            visits.spot[network.stop[node]] = k
    late[r, size + 1] = times.latest[nodes[r, size + 1]]
    profit = travel = 0.0
    for k in range(size, 0, -1):
        node, after = nodes[r, k], nodes[r, k + 1]
        late[r, k] = latest_before(times, kind, node, after, late[r, k + 1])
        profit += times.lengths.reward[node]
        travel += way(times.lengths, kind, node, after)
    if size > 0:
        travel += way(times.lengths, kind, nodes[r, 0], nodes[r, 1])
        if leave[r, size + 1] == np.inf:
            profit = -np.inf
    visits.profit[r], visits.travel[r] = profit, travel


@lean
def take_over(
    network: Network,
    times: FixedStays,
    visits: Visits,
    touched: IntArray,
    nodes: IntArray,
    size: IntArray,
) -> None:
    """Take the routes that are marked from elsewhere."""
    for r in range(len(size)):
        if touched[r]:
            for k in range(1, visits.size[r] + 1):
                visits.where[network.stop[visits.nodes[r, k]]] = -1
    for r in range(len(size)):
        if touched[r]:
            visits.size[r] = size[r]
            for k in range(size[r] + 2):
                visits.nodes[r, k] = nodes[r, k]
            look_again(network, times, visits, r, 1)


@lean
def best_place(
    network: Network,
    times: FixedStays,
    visits: Visits,
    stop: int,
    blink: float,
    state: RandomState,
) -> Insertion:
    """Find where a stop, by any of its alternatives, is best inserted.

    Where it earns most, and then where the next visit is put off least; a place is overlooked with
    probability `blink`.
    """
    best = Insertion(-1, 0, 0, 0.0, np.inf)
    lengths = times.lengths
    nodes, start, leave, late = visits.nodes, visits.start, visits.leave, visits.late
    for node in range(network.first[stop], network.first[stop + 1]):
        reward = lengths.reward[node]
        if reward < best.gain:
            continue
        for r in range(len(visits.size)):
            size, kind = visits.size[r], visits.kind[r]
            if r > 0 and size == 0 and visits.size[r - 1] == 0 and visits.kind[r - 1] == kind:
                continue  # no better than the one before
            if not network.admits[kind, node]:
                continue
            first = 0
            while first < size and not may_precede(times, node, late[r, first + 1]):
                first += 1
            for k in range(first, size + 1):
                if not starts_in_time(times, node, leave[r, k]):
                    break  # and later still from there on
                before, after = nodes[r, k], nodes[r, k + 1]
                time = start_after(times, kind, before, leave[r, k], node)
                if not starts_in_time(times, node, time):
                    continue
                arrive = start_after(times, kind, node, end_of_stay(times, node, time), after)
                if not arrives_in_time(times, arrive, late[r, k + 1]):
                    continue
                longer = way(lengths, kind, before, node) + way(lengths, kind, node, after)
                if size > 0:
                    longer -= way(lengths, kind, before, after)
                cost = arrive - (start[r, k + 1] if size > 0 else leave[r, k]) + DETOUR * longer
                if reward == best.gain and cost >= best.cost:
                    continue
                if blink > 0.0 and draw(state) < blink:
                    continue
                best = Insertion(r, k, node, reward, cost)
    return best


@lean
def insert(network: Network, times: FixedStays, visits: Visits, place: Insertion) -> None:
    """Insert a node where it was found to fit."""
    r = place.route
    for k in range(visits.size[r] + 1, place.gap, -1):
        visits.nodes[r, k + 1] = visits.nodes[r, k]
    visits.nodes[r, place.gap + 1] = place.node
    visits.size[r] += 1
    look_again(network, times, visits, r, place.gap + 1)


@lean
def ruin_routes(
    network: Network,
    times: FixedStays,
    visits: Visits,
    hints: Hints,
    seed: int,
    state: RandomState,
    touched: IntArray,
) -> None:
    """Remove strings of visits near a stop; `touched` marks the routes that changed."""
    touched[:] = 0
    longest, most = most_strings(visits.size)
    number = int(draw(state) * most) + 1
    for k in range(-1, hints.near.shape[1]):
        stop = seed if k < 0 else hints.near[seed, k]
        if stop < 0:
            break
        r = visits.where[stop]
        if r < 0 or touched[r]:
            continue
        first, length, skip, kept = draw_string(visits.size[r], visits.spot[stop], longest, state)
        remove_string(network, visits, r, first, length, skip, kept)
        touched[r] = 1
        look_again(network, times, visits, r, first)
        number -= 1
        if number == 0:
            break


@lean
def recreate_routes(
    network: Network,
    times: FixedStays,
    visits: Visits,
    hints: Hints,
    notes: Notes,
    seed: int,
    state: RandomState,
    halt: Halt,
) -> None:
    """Insert stops, in an order that is drawn, where each puts the next visit off least."""
    key, absent = notes.key, notes.absent
    by = int(draw(state) * 4)
    count = 0
    tiny = 1e-4 * network.horizon
    kind = visits.kind[0]
    for stop in range(len(visits.where)):
        if visits.where[stop] >= 0:
            continue
        noise = draw(state)
        if by == 0:
            best = best_place(network, times, visits, stop, 0.0, state)
            if best.route < 0:
                continue
            key[count] = -best.gain / max(best.cost, tiny) * (1.0 + 0.5 * noise)
        elif by == 1:
            key[count] = -hints.full_profit[stop] * (1.0 + 0.2 * noise)
        elif by == 2:
            key[count] = -hints.density[stop] * (1.0 + 0.5 * noise)
        else:
            apart = way(times.lengths, kind, network.first[seed], network.first[stop])
            key[count] = apart * (1.0 + 0.5 * noise)
            if 0.0 < network.bonus <= hints.full_profit[stop]:
                key[count] = -1.0  # what is required comes first
        absent[count] = stop
        count += 1
    sort(key, absent, count)
    for number in range(count):
        if halt[0]:
            break
        best = best_place(network, times, visits, absent[number], BLINK, state)
        if best.route >= 0 and best.gain > 0.0:
            notes.touched[best.route] = 1
            insert(network, times, visits, best)


@lean
def anneal_fixed(
    network: Network,
    times: FixedStays,
    visits: Visits,
    team: Team,
    hints: Hints,
    memory: Memory,
    desk: Desk,
    notes: Notes,
    state: RandomState,
    rounds: int,
    halt: Halt,
) -> int:
    """Do what `anneal` does, on routes whose stays are fixed.

    The team, which has room for all stops, is where the local moves are made.
    """
    figures = memory.figures
    stops = len(visits.where)
    touched, every = notes.touched, notes.every
    take_over(network, times, visits, every, memory.nodes, memory.size)
    if stops == 0:
        return 0
    unit = desk.least_gain / EQUAL
    light = LIGHT * unit / max(network.horizon, 1e-300)
    touched[:] = 1
    done = 0
    while True:
        begin_round(figures)
        better = total(visits) > figures[BEST] * (1.0 + EQUAL)
        if figures[PART] == 0.0 or better or draw(state) < POLISH:
            if not recall(network, team, every, visits.nodes, visits.size):
                return FULL
            if not descend(network, team, desk, state, halt):
                return FULL
            take_over(network, times, visits, every, team.nodes, team.size)
            touched[:] = 1
        profit = total(visits)
        score = profit
        for r in range(len(visits.size)):
            score -= light * visits.travel[r]
        heat = unit * HOT * (COLD / HOT) ** (figures[PART] / figures[CYCLE])
        if profit > figures[BEST] * (1.0 + EQUAL):
            figures[BEST], figures[FOUND] = profit, figures[ROUNDS]
            remember(visits, every, memory.best_nodes, memory.best_size)
        if figures[PART] == 0.0 or score > figures[SCORE] + heat * np.log(1.0 - draw(state)):
            figures[SCORE] = score
            remember(visits, touched, memory.nodes, memory.size)
        else:
            take_over(network, times, visits, touched, memory.nodes, memory.size)
        if halt[0] or done >= rounds:
            return done
        done += 1
        if end_round(figures):
            take_over(network, times, visits, every, memory.best_nodes, memory.best_size)
            continue
        seed = int(draw(state) * stops)
        ruin_routes(network, times, visits, hints, seed, state, touched)
        recreate_routes(network, times, visits, hints, notes, seed, state, halt)
