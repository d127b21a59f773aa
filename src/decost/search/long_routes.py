"""Ruin and recreate for routes of which only the length matters, with rounds that stay local.

What a round does costs as much on a route with a thousand visits as on one with fifty: it removes
strings of visits near a stop, inserts stops that are near it, and shortens what has changed. Time
that is left over is worth something too (`WORTH`), so that rounds at different ends of a route
need not wait for each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Halt, lean
from decost.draws import RandomState, draw
from decost.problem.instance import FloatArray, IntArray
from decost.search.moves import EQUAL
from decost.search.ruin import (
    BEST,
    BLINK,
    COLD,
    CYCLE,
    FOUND,
    HOT,
    KEEP,
    LONGEST,
    PART,
    POLISH,
    REMOVED,
    ROUNDS,
    SCORE,
    SPLIT,
    Hints,
    Memory,
    begin_round,
    end_round,
    sort,
)
from decost.search.tours import (
    Tours,
    cheapest_place,
    enqueue,
    insert_node,
    measure,
    number_from,
    remove_part,
    replace_better,
    shorten,
)
from decost.timeline.lengths import Lengths, way
from decost.timeline.network import Network


class Jotter(NamedTuple):
    """Scratch for a round: stops to insert with their keys, a mark of each, required stops."""

    key: FloatArray
    stops: IntArray
    marked: IntArray
    required: IntArray
    tune: FloatArray


def make_jotter(network: Network, full_profit: FloatArray, tune=None) -> Jotter:
    """Make scratch for the rounds on a network."""
    stops = len(network.number)
    must = full_profit >= network.bonus if network.bonus > 0.0 else np.zeros(stops, dtype=np.bool_)
    return Jotter(
        key=np.empty(stops),
        stops=np.empty(stops, dtype=np.int64),
        marked=np.zeros(stops, dtype=np.int64),
        required=np.flatnonzero(must),
        tune=TUNE.copy(),
    )


TUNE = np.array([0.8, 1.0, 0.05, 8.0, 7.0, 1.0, 30.0, 1.0, 0.002, 1.2, 0.03, 0.0002, 0.0, 20.0, 1.0])
# 0 WORTH, 1 HOT, 2 COLD, 3 REMOVED, 4 LONGEST, 5 shorten prob, 6 near considered, 7 threshold prob, 8 polish


@lean
def list_stop(tours: Tours, jotter: Jotter, stop: int, count: int) -> int:
    """Add a stop that is not visited to those that are to be inserted; return their number."""
    if tours.where[stop] < 0 and not jotter.marked[stop]:
        jotter.marked[stop] = 1
        jotter.stops[count] = stop
        count += 1
    return count


@lean
def ruin_near(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    near: IntArray,
    jotter: Jotter,
    seed: int,
    state: RandomState,
) -> int:
    """Remove strings of visits near a stop, and list their stops; return how many they are."""
    tune = jotter.tune
    visits = routes = 0
    for r in range(len(tours.size)):
        visits += tours.size[r]
        routes += tours.size[r] > 0
    if routes == 0:
        return 0
    longest = min(int(tune[4]), max(1, visits // routes))
    most = max(1.0, 4.0 * tune[3] / (1.0 + longest) - 1.0)
    number = int(draw(state) * most) + 1
    count = 0
    for j in range(-1, near.shape[1]):
        stop = seed if j < 0 else near[seed, j]
        if stop < 0 or number == 0:
            break
        r = tours.where[stop]
        if r < 0:
            continue
        size = tours.size[r]
        length = int(draw(state) * min(longest, size)) + 1
        kept = 0
        if draw(state) < SPLIT:
            while length + kept < size and draw(state) < KEEP:
                kept += 1
        spot = tours.spot[stop]
        low = max(1, spot - (length + kept) + 1)
        high = min(spot, size + 1 - (length + kept))
        first = low + int(draw(state) * (high - low + 1))
        skip = 1 + int(draw(state) * (length - 1)) if kept > 0 and length > 1 else length
        before, behind = tours.nodes[r, first - 1], tours.nodes[r, first + length + kept]
        part = count
        for k in range(first, first + length + kept):
            if not skip <= k - first < skip + kept:
                jotter.stops[part] = network.stop[tours.nodes[r, k]]
                jotter.marked[jotter.stops[part]] = 1
                part += 1
        count = part
        remove_part(network, lengths, tours, r, first, length, skip, kept)
        enqueue(network, tours, before)
        enqueue(network, tours, behind)
        number -= 1
    return count


@lean
def recreate_near(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    jotter: Jotter,
    seed: int,
    count: int,
    worth: float,
    state: RandomState,
) -> None:
    """Insert stops near a stop, those listed and others, each where it takes least time."""
    tune = jotter.tune
    near = hints.near
    count = list_stop(tours, jotter, seed, count)
    for j in range(min(int(tune[6]), near.shape[1])):
        if near[seed, j] < 0:
            break
        count = list_stop(tours, jotter, near[seed, j], count)
    for stop in jotter.required:
        count = list_stop(tours, jotter, stop, count)
    way_of = int(draw(state) * 4)
    least = worth * draw(state) * tune[7]
    listed = count
    count = 0
    for number in range(listed):
        stop = jotter.stops[number]
        jotter.marked[stop] = 0
        noise = draw(state)
        if way_of == 0:
            place = cheapest_place(network, lengths, tours, near, stop, 0.0, state)
            if place.route < 0:
                continue
            ratio = lengths.reward[place.node] / max(place.time, 1e-4 * network.horizon)
            jotter.key[count] = -ratio * (1.0 + 0.5 * noise)
        elif way_of == 1:
            jotter.key[count] = -hints.full_profit[stop] * (1.0 + 0.2 * noise)
        elif way_of == 2:
            jotter.key[count] = -hints.density[stop] * (1.0 + 0.5 * noise)
        else:
            jotter.key[count] = number * (1.0 + 0.5 * noise)
        if 0.0 < network.bonus <= hints.full_profit[stop]:
            jotter.key[count] = -np.inf  # what is required comes first
        jotter.stops[count] = stop
        count += 1
    sort(jotter.key, jotter.stops, count)
    for number in range(count):
        stop = jotter.stops[number]
        place = cheapest_place(network, lengths, tours, near, stop, BLINK, state)
        if place.route >= 0 and lengths.reward[place.node] > least * place.time:
            insert_node(network, lengths, tours, place)
            enqueue(network, tours, place.node)


@lean
def fill(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    jotter: Jotter,
    state: RandomState,
    halt: Halt,
) -> bool:
    """Insert stops in the order of what they earn for the time they take; whether there are any."""
    count = 0
    for stop in range(len(tours.where)):
        if tours.where[stop] >= 0 or halt[0]:
            continue
        place = cheapest_place(network, lengths, tours, hints.near, stop, 0.0, state)
        if place.route >= 0 and lengths.reward[place.node] > 0.0:
            jotter.stops[count] = stop
            time = max(place.time, 1e-9 * network.horizon)
            jotter.key[count] = -lengths.reward[place.node] / time
            count += 1
    sort(jotter.key, jotter.stops, count)
    for number in range(count):
        stop = jotter.stops[number]
        place = cheapest_place(network, lengths, tours, hints.near, stop, 0.0, state)
        if place.route >= 0:
            insert_node(network, lengths, tours, place)
            enqueue(network, tours, place.node)
    return count > 0


@lean
def polish(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    jotter: Jotter,
    unit: float,
    state: RandomState,
    halt: Halt,
) -> None:
    """Shorten all routes, fill the time that is left, and replace visits by better ones."""
    least, longest = EQUAL * unit, EQUAL * network.horizon
    for r in range(len(tours.size)):
        for k in range(1, tours.size[r] + 1):
            enqueue(network, tours, tours.nodes[r, k])
    again = True
    while again and not halt[0]:
        shorten(network, lengths, tours, hints.near, longest, halt)
        again = fill(network, lengths, tours, hints, jotter, state, halt)
        for r in range(len(tours.size)):
            for k in range(1, tours.size[r] + 1):
                if halt[0]:
                    break
                while replace_better(
                    network, lengths, tours, hints.near, r, k, least, longest
                ):
                    again = True


@lean
def keep_tours(tours: Tours, nodes: IntArray, size: IntArray, whole: bool) -> None:
    """Copy what has changed of the routes, or all of them, into a memory."""
    for r in range(len(size)):
        first = 0 if whole else tours.intact[r]
        for k in range(first, tours.size[r] + 2):
            nodes[r, k] = tours.nodes[r, k]
        size[r] = tours.size[r]


@lean
def settle(tours: Tours, spent: FloatArray, profit: FloatArray) -> None:
    """Let the routes count as unchanged, and note their lengths and profits."""
    for r in range(len(tours.size)):
        tours.intact[r] = tours.size[r] + 2
        spent[r], profit[r] = tours.spent[r], tours.profit[r]


@lean
def take_back(
    network: Network,
    tours: Tours,
    nodes: IntArray,
    size: IntArray,
    spent: FloatArray,
    profit: FloatArray,
) -> None:
    """Take back what has changed since the routes were copied into a memory."""
    for r in range(len(size)):
        for k in range(tours.intact[r], tours.size[r] + 1):
            tours.where[network.stop[tours.nodes[r, k]]] = -1
    for r in range(len(size)):
        first = tours.intact[r]
        if first <= max(tours.size[r], size[r]) + 1:
            for k in range(first, size[r] + 2):
                tours.nodes[r, k] = nodes[r, k]
            tours.size[r] = size[r]
            number_from(network, tours, r, max(1, first))
            tours.spent[r], tours.profit[r] = spent[r], profit[r]
        tours.intact[r] = size[r] + 2


@lean
def start_from(
    network: Network, lengths: Lengths, tours: Tours, nodes: IntArray, size: IntArray
) -> None:
    """Take all routes from a memory."""
    tours.where[:] = -1
    for r in range(len(size)):
        tours.size[r] = size[r]
        for k in range(size[r] + 2):
            tours.nodes[r, k] = nodes[r, k]
        measure(network, lengths, tours, r)
        tours.intact[r] = 0


@lean
def limit_routes(lengths: Lengths, tours: Tours, over: float) -> None:
    """Let routes be longer than their vehicles have time by a share of it."""
    for r in range(len(tours.size)):
        tours.limit[r] = lengths.room[tours.kind[r]] * (1.0 + over)


@lean
def rate(lengths: Lengths, tours: Tours, price: float, tune: FloatArray) -> float:
    """Judge routes: by what they earn, the price of time that they lack, and that of time left."""
    score = 0.0
    for r in range(len(tours.size)):
        beyond = tours.spent[r] - lengths.room[tours.kind[r]]
        score += tours.profit[r] - price * (tune[9] if beyond > 0.0 else tune[0]) * beyond
    return score


@lean
def cut(network: Network, lengths: Lengths, tours: Tours) -> None:
    """Remove visits that earn least for their time until every route is short enough."""
    for r in range(len(tours.size)):
        kind = tours.kind[r]
        while tours.spent[r] > tours.limit[r] and tours.size[r] > 0:
            worst, least = 1, np.inf
            beyond = tours.spent[r] - tours.limit[r]
            for k in range(1, tours.size[r] + 1):
                before, node, after = tours.nodes[r, k - 1], tours.nodes[r, k], tours.nodes[r, k + 1]
                time = way(lengths, kind, before, node) + lengths.stay[node]
                time += way(lengths, kind, node, after) - way(lengths, kind, before, after)
                if time > 0.0:
                    ratio = lengths.reward[node] / min(time, beyond)
                    if ratio < least:
                        worst, least = k, ratio
            before, after = tours.nodes[r, worst - 1], tours.nodes[r, worst + 1]
            remove_part(network, lengths, tours, r, worst, 1, 1, 0)
            enqueue(network, tours, before)
            enqueue(network, tours, after)


@lean
def total_profit(tours: Tours) -> float:
    """Profit of all routes."""
    profit = 0.0
    for r in range(len(tours.size)):
        profit += tours.profit[r]
    return profit


@lean
def anneal_locally(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    memory: Memory,
    jotter: Jotter,
    spent: FloatArray,
    profit: FloatArray,
    unit: float,
    state: RandomState,
    rounds: int,
    halt: Halt,
) -> int:
    """Ruin and recreate for some rounds, as `anneal`; return how many there were."""
    tune = jotter.tune
    figures = memory.figures
    stops = len(tours.where)
    start_from(network, lengths, tours, memory.nodes, memory.size)
    if stops == 0:
        return 0
    done = 0
    seed = -1
    price = tune[12]
    waited = 0.0
    while True:
        begin_round(figures)
        heat = unit * tune[1] * (tune[2] / tune[1]) ** (figures[PART] / figures[CYCLE])
        over = tune[10]
        score = rate(lengths, tours, price, tune)
        fresh = figures[PART] == 0.0 or seed < 0
        accepted = fresh or score > figures[SCORE] + heat * np.log(1.0 - draw(state))
        if accepted:
            figures[SCORE] = score
            keep_tours(tours, memory.nodes, memory.size, False)
            settle(tours, spent, profit)
        else:
            take_back(network, tours, memory.nodes, memory.size, spent, profit)
        estimate = 0.0
        for r in range(len(tours.size)):
            beyond = tours.spent[r] - lengths.room[tours.kind[r]]
            estimate += tours.profit[r] - price * beyond
        waited += 1.0
        promising = accepted and waited >= tune[13] and estimate > figures[BEST] * tune[14]
        if fresh or halt[0] or done >= rounds or promising or draw(state) < tune[8]:
            waited = 0.0
            limit_routes(lengths, tours, 0.0)
            for r in range(len(tours.size)):
                for k in range(1, tours.size[r] + 1):
                    enqueue(network, tours, tours.nodes[r, k])
            shorten(network, lengths, tours, hints.near, EQUAL * network.horizon, halt)
            cut(network, lengths, tours)
            polish(network, lengths, tours, hints, jotter, unit, state, halt)
            value = total_profit(tours)
            if value > figures[BEST] * (1.0 + EQUAL):
                figures[BEST], figures[FOUND] = value, figures[ROUNDS]
                keep_tours(tours, memory.best_nodes, memory.best_size, True)
            score = rate(lengths, tours, price, tune)
            if fresh or score > figures[SCORE]:
                figures[SCORE] = score
                keep_tours(tours, memory.nodes, memory.size, False)
                settle(tours, spent, profit)
            else:
                take_back(network, tours, memory.nodes, memory.size, spent, profit)
        if fresh:
            time = 0.0
            visits = 0
            for r in range(len(tours.size)):
                time += tours.spent[r]
                visits += tours.size[r]
            if price == 0.0:
                price = 0.8 * unit * visits / max(time, 1e-9 * network.horizon)
            figures[SCORE] = rate(lengths, tours, price, tune)
            limit_routes(lengths, tours, over)
        limit_routes(lengths, tours, over)
        if tune[11] > 0.0:
            beyond = 0.0
            for r in range(len(tours.size)):
                beyond += tours.spent[r] - lengths.room[tours.kind[r]]
            old = price
            price *= 1.0 + tune[11] if beyond > 0.0 else 1.0 - tune[11]
            if price != old:
                figures[SCORE] = rate(lengths, tours, price, tune)
        tune[12] = price
        if halt[0] or done >= rounds:
            return done
        done += 1
        if end_round(figures):
            start_from(network, lengths, tours, memory.best_nodes, memory.best_size)
            continue
        seed = int(draw(state) * stops)
        count = ruin_near(network, lengths, tours, hints.near, jotter, seed, state)
        recreate_near(network, lengths, tours, hints, jotter, seed, count, price, state)
        if draw(state) < tune[5]:
            shorten(network, lengths, tours, hints.near, EQUAL * network.horizon, halt)
        else:
            while tours.ends[1] > 0:
                tours.queued[tours.queue[tours.ends[0]]] = 0
                tours.ends[0] = (tours.ends[0] + 1) % len(tours.queue)
                tours.ends[1] -= 1
