"""Ruin and recreate for routes of which only the length matters, with rounds that stay local.

What a round does costs about as much on a route with a thousand visits as on one with fifty: it
removes strings of visits near a stop, inserts stops that are near it, and shortens what has
changed. So that rounds at different ends of a route need not wait for each other, time has a
price: a plan may be a little too long and pays for it, and is paid for time that it leaves. The
price rises while the routes are too long, and falls while they are not. Now and then, and
whenever a plan promises to be the best, a copy of it is cut to its length and filled up.
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
    CYCLE,
    FOUND,
    LONGEST,
    PART,
    PRICE,
    ROUNDS,
    SCORE,
    Hints,
    Memory,
    begin_round,
    draw_string,
    end_round,
    sort,
)
from decost.search.tours import (
    SHORT,
    Tours,
    cheapest_place,
    enqueue,
    insert_node,
    measure,
    number_from,
    remove_part,
    replace_better,
    shorten,
    time_of,
)
from decost.timeline.lengths import Lengths, way
from decost.timeline.network import Network

MOST_STRINGS = 3
"""Most strings that are removed in a round."""

AROUND = 30
"""Stops near the one of a round that are tried, if they are not visited."""

HOT, COLD = 2.0, 0.1
"""Temperatures at the beginning and the end of a cycle, in units of the mean profit of a visit."""

OVER = 0.03
"""Share of its time by which a route may be too long between two cuts."""

MISSING, LEFT = 1.2, 0.8
"""What time that is missing costs, and what time that is left earns, in units of its price."""

DRIFT = 2e-4
"""Share by which the price changes in a round."""

FIRST_PRICE = 0.8
"""Price of time at first, in units of the mean profit of a visit for the time that it takes."""

POLISH = 2e-3
"""Probability that a copy of the plan is cut and filled up after a round."""

FAR = 0.01
"""Probability that a round is an excursion to stops that are not visited."""

APART = 20
"""Rounds from one cut to the next, at least, while plans promise to be the best."""


class Jotter(NamedTuple):
    """Scratch for a round, and what does not change.

    Stops to insert with their keys, and a mark of each; the lengths and the profits of the routes
    in the memory; stops that are required; the mean profit of a visit.
    """

    key: FloatArray  # (stop,)
    stops: IntArray  # (stop,)
    marked: IntArray  # (stop,)
    spent: FloatArray  # (route,)
    profit: FloatArray  # (route,)
    required: IntArray
    unit: float


def make_jotter(network: Network, tours: Tours, hints: Hints, unit: float) -> Jotter:
    """Make scratch for rounds."""
    stops = len(tours.where)
    is_required = (network.bonus > 0.0) & (hints.full_profit >= network.bonus)
    return Jotter(
        key=np.empty(stops),
        stops=np.empty(stops, dtype=np.int64),
        marked=np.zeros(stops, dtype=np.int64),
        spent=np.zeros(len(tours.size)),
        profit=np.zeros(len(tours.size)),
        required=np.flatnonzero(is_required),
        unit=unit,
    )


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
    number = int(draw(state) * MOST_STRINGS) + 1
    count = 0
    for j in range(-1, near.shape[1]):
        stop = seed if j < 0 else near[seed, j]
        if stop < 0 or number == 0:
            break
        r = tours.where[stop]
        if r < 0:
            continue
        first, length, skip, kept = draw_string(tours.size[r], tours.spot[stop], LONGEST, state)
        before, behind = tours.nodes[r, first - 1], tours.nodes[r, first + length + kept]
        for k in range(length + kept):
            if not skip <= k < skip + kept:
                gone = network.stop[tours.nodes[r, first + k]]
                jotter.stops[count] = gone
                jotter.marked[gone] = 1
                count += 1
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
    price: float,
    state: RandomState,
) -> None:
    """Insert stops, those listed and others near a stop, each where it takes least time.

    What does not earn a share of the price of its time, which is drawn, is left out.
    """
    key, stops = jotter.key, jotter.stops
    for j in range(-1, min(AROUND, hints.near.shape[1])):
        stop = seed if j < 0 else hints.near[seed, j]
        if stop < 0:
            break
        count = list_stop(tours, jotter, stop, count)
    for stop in jotter.required:
        count = list_stop(tours, jotter, stop, count)
    by = int(draw(state) * 4)
    least = price * draw(state)
    for number in range(count):
        stop = stops[number]
        jotter.marked[stop] = 0
        noise = draw(state)
        if by == 0:
            place = cheapest_place(network, lengths, tours, hints.near, stop, SHORT, 0.0, state)
            time = max(place.time, 1e-4 * network.horizon)
            key[number] = -lengths.reward[place.node] / time * (1.0 + 0.5 * noise)
        elif by == 1:
            key[number] = -hints.full_profit[stop] * (1.0 + 0.2 * noise)
        elif by == 2:
            key[number] = -hints.density[stop] * (1.0 + 0.5 * noise)
        else:  # what was removed, and then what is near
            key[number] = number * (1.0 + 0.5 * noise)
        if 0.0 < network.bonus <= hints.full_profit[stop]:
            key[number] = -np.inf  # what is required comes first
    sort(key, stops, count)
    for number in range(count):
        place = cheapest_place(
            network, lengths, tours, hints.near, stops[number], SHORT, BLINK, state
        )
        if place.route >= 0 and lengths.reward[place.node] > least * place.time:
            insert_node(network, lengths, tours, place)
            enqueue(network, tours, place.node)


@lean
def cut(network: Network, lengths: Lengths, tours: Tours) -> None:
    """Remove visits that earn least for the time that is missing, until none is."""
    for r in range(len(tours.size)):
        missing = tours.spent[r] - tours.limit[r]
        while missing > 0.0 and tours.size[r] > 0:
            worst, least = 1, np.inf
            for k in range(1, tours.size[r] + 1):
                time = min(missing, time_of(lengths, tours, r, k))
                reward = lengths.reward[tours.nodes[r, k]]
                if time > 0.0 and reward < least * time:
                    worst, least = k, reward / time
            before, after = tours.nodes[r, worst - 1], tours.nodes[r, worst + 1]
            remove_part(network, lengths, tours, r, worst, 1, 1, 0)
            enqueue(network, tours, before)
            enqueue(network, tours, after)
            missing = tours.spent[r] - tours.limit[r]


@lean
def excursion(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    jotter: Jotter,
    price: float,
    state: RandomState,
    halt: Halt,
) -> None:
    """Go to a stop that is not visited and to others near it, and pay with other parts of routes.

    So one cluster of stops is exchanged for another, to which no single visit is worth the way.
    """
    seed = int(draw(state) * len(tours.where))
    if tours.where[seed] >= 0:
        return
    tours.limit[:] = np.inf
    most = int(draw(state) * hints.near.shape[1])
    least = price * draw(state)
    for j in range(-1, most):
        stop = seed if j < 0 else hints.near[seed, j]
        if stop < 0:
            break
        if tours.where[stop] >= 0:
            continue
        short = len(tours.where) if j < 0 else SHORT
        place = cheapest_place(network, lengths, tours, hints.near, stop, short, 0.0, state)
        if place.route < 0:
            continue
        if j < 0 or lengths.reward[place.node] > least * place.time:
            insert_node(network, lengths, tours, place)
            enqueue(network, tours, place.node)
            jotter.marked[stop] = 1
    shorten(network, lengths, tours, hints.near, EQUAL * network.horizon, halt)
    set_limits(lengths, tours, 0.0)
    for r in range(len(tours.size)):
        while tours.spent[r] > tours.limit[r] and cut_part(network, lengths, tours, jotter, r):
            pass
    jotter.marked[:] = 0
    polish(network, lengths, tours, hints, jotter, state, halt)


@lean
def cut_part(network: Network, lengths: Lengths, tours: Tours, jotter: Jotter, r: int) -> bool:
    """Remove the part of a route that earns least for the time that is missing.

    No stop that is marked is removed. False if there is nothing else.
    """
    kind = tours.kind[r]
    missing = tours.spent[r] - tours.limit[r]
    first, length, least = 0, 0, np.inf
    for i in range(1, tours.size[r] + 1):
        before = tours.nodes[r, i - 1]
        time = reward = 0.0
        for k in range(i, tours.size[r] + 1):
            node, after = tours.nodes[r, k], tours.nodes[r, k + 1]
            reward += lengths.reward[node]
            if jotter.marked[network.stop[node]] or reward >= least * missing:
                break
            time += way(lengths, kind, tours.nodes[r, k - 1], node) + lengths.stay[node]
            saved = time + way(lengths, kind, node, after) - way(lengths, kind, before, after)
            if saved > 0.0 and reward < least * min(missing, saved):
                first, length, least = i, k - i + 1, reward / min(missing, saved)
    if length == 0:
        return False
    before, after = tours.nodes[r, first - 1], tours.nodes[r, first + length]
    remove_part(network, lengths, tours, r, first, length, length, 0)
    enqueue(network, tours, before)
    enqueue(network, tours, after)
    return True


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
    """Insert stops in the order of what they earn for their time; whether there are any."""
    count = 0
    for stop in range(len(tours.where)):
        if tours.where[stop] >= 0 or halt[0]:
            continue
        place = cheapest_place(network, lengths, tours, hints.near, stop, SHORT, 0.0, state)
        if place.route >= 0 and lengths.reward[place.node] > 0.0:
            jotter.stops[count] = stop
            time = max(place.time, EQUAL * network.horizon)
            jotter.key[count] = -lengths.reward[place.node] / time
            count += 1
    sort(jotter.key, jotter.stops, count)
    for number in range(count):
        stop = jotter.stops[number]
        place = cheapest_place(network, lengths, tours, hints.near, stop, SHORT, 0.0, state)
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
    state: RandomState,
    halt: Halt,
) -> None:
    """Make routes feasible and as good as all moves make them.

    They are shortened, cut, filled up, and visits are replaced by better ones.
    """
    least_gain, least_saving = EQUAL * jotter.unit, EQUAL * network.horizon
    set_limits(lengths, tours, 0.0)
    for r in range(len(tours.size)):
        for k in range(1, tours.size[r] + 1):
            enqueue(network, tours, tours.nodes[r, k])
    shorten(network, lengths, tours, hints.near, least_saving, halt)
    cut(network, lengths, tours)
    again = True
    while again and not halt[0]:
        shorten(network, lengths, tours, hints.near, least_saving, halt)
        again = fill(network, lengths, tours, hints, jotter, state, halt)
        for r in range(len(tours.size)):
            for k in range(1, tours.size[r] + 1):
                while not halt[0] and replace_better(
                    network, lengths, tours, hints.near, r, k, least_gain, least_saving
                ):
                    again = True
    set_limits(lengths, tours, OVER)


@lean
def set_limits(lengths: Lengths, tours: Tours, over: float) -> None:
    """Let routes be longer than their vehicles have time by a share of it."""
    for r in range(len(tours.size)):
        tours.limit[r] = lengths.room[tours.kind[r]] * (1.0 + over)


@lean
def profit_of(tours: Tours) -> float:
    """Profit of all routes."""
    profit = 0.0
    for r in range(len(tours.size)):
        profit += tours.profit[r]
    return profit


@lean
def rated(lengths: Lengths, tours: Tours, missing: float, left: float) -> float:
    """Profit of all routes, less the price of missing time, and more by that of time left."""
    score = 0.0
    for r in range(len(tours.size)):
        beyond = tours.spent[r] - lengths.room[tours.kind[r]]
        score += tours.profit[r] - beyond * (missing if beyond > 0.0 else left)
    return score


@lean
def next_price(lengths: Lengths, tours: Tours, price: float) -> float:
    """Let the price of time rise if it is missing, and fall if it is not."""
    beyond = 0.0
    for r in range(len(tours.size)):
        if tours.size[r] > 0:
            beyond += tours.spent[r] - lengths.room[tours.kind[r]]
    return price * (1.0 + DRIFT) if beyond > 0.0 else price * (1.0 - DRIFT)


@lean
def first_price(network: Network, tours: Tours, unit: float) -> float:
    """Set the price of time by what visits earn for it."""
    spent = 0.0
    visits = 1
    for r in range(len(tours.size)):
        spent += tours.spent[r]
        visits += tours.size[r]
    return FIRST_PRICE * unit * visits / max(spent, EQUAL * network.horizon)


@lean
def keep(tours: Tours, jotter: Jotter, nodes: IntArray, size: IntArray) -> None:
    """Copy what has changed of the routes into the memory."""
    for r in range(len(size)):
        for k in range(tours.intact[r], tours.size[r] + 2):
            nodes[r, k] = tours.nodes[r, k]
        size[r] = tours.size[r]
        tours.intact[r] = tours.size[r] + 2
        jotter.spent[r], jotter.profit[r] = tours.spent[r], tours.profit[r]


@lean
def take_back(
    network: Network, tours: Tours, jotter: Jotter, nodes: IntArray, size: IntArray
) -> None:
    """Take back what has changed since the routes were copied into the memory."""
    for r in range(len(size)):
        for k in range(max(1, tours.intact[r]), tours.size[r] + 1):
            tours.where[network.stop[tours.nodes[r, k]]] = -1
    for r in range(len(size)):
        first = tours.intact[r]
        for k in range(first, size[r] + 2):
            tours.nodes[r, k] = nodes[r, k]
        tours.size[r] = size[r]
        number_from(network, tours, r, max(1, first))
        tours.intact[r] = size[r] + 2
        tours.spent[r], tours.profit[r] = jotter.spent[r], jotter.profit[r]


@lean
def start_from(
    network: Network, lengths: Lengths, tours: Tours, nodes: IntArray, size: IntArray
) -> None:
    """Take all routes from a memory."""
    tours.where[:] = -1
    for r in range(len(size)):
        tours.size[r] = size[r]
        tours.intact[r] = 0
        for k in range(size[r] + 2):
            tours.nodes[r, k] = nodes[r, k]
        measure(network, lengths, tours, r)


@lean
def anneal_locally(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    hints: Hints,
    memory: Memory,
    jotter: Jotter,
    state: RandomState,
    rounds: int,
    halt: Halt,
) -> int:
    """Ruin and recreate for some rounds; return how many there were.

    It goes on from the current routes in the memory, as `anneal` does, which may be too long. The
    best ones never are.
    """
    figures = memory.figures
    stops = len(tours.where)
    start_from(network, lengths, tours, memory.nodes, memory.size)
    if stops == 0:
        return 0
    done = 0
    waited = 0
    begins = True
    returned = False
    while True:
        begin_round(figures)
        begins = begins or figures[PART] == 0.0
        if begins:
            polish(network, lengths, tours, hints, jotter, state, halt)
            if figures[PRICE] == 0.0:
                figures[PRICE] = first_price(network, tours, jotter.unit)
        price = figures[PRICE]
        score = rated(lengths, tours, MISSING * price, LEFT * price)
        heat = jotter.unit * HOT * (COLD / HOT) ** (figures[PART] / figures[CYCLE])
        better = returned and not too_long(tours, lengths)
        better = better and profit_of(tours) > figures[BEST] * (1.0 + EQUAL)
        accepted = begins or better or score > figures[SCORE] + heat * np.log(1.0 - draw(state))
        if accepted:
            keep(tours, jotter, memory.nodes, memory.size)
        else:
            take_back(network, tours, jotter, memory.nodes, memory.size)
        promise = rated(lengths, tours, price, price)
        ends = halt[0] or done >= rounds
        waited += 1
        promising = accepted and waited >= APART and promise > figures[BEST]
        promising = promising or better
        if begins or ends or promising or draw(state) < POLISH:
            if not begins:
                polish(network, lengths, tours, hints, jotter, state, halt)
            waited = 0
            profit = profit_of(tours)
            if profit > figures[BEST] * (1.0 + EQUAL) and not too_long(tours, lengths):
                figures[BEST], figures[FOUND] = profit, figures[ROUNDS]
                for r in range(len(tours.size)):
                    memory.best_size[r] = tours.size[r]
                    for k in range(tours.size[r] + 2):
                        memory.best_nodes[r, k] = tours.nodes[r, k]
            polished = rated(lengths, tours, MISSING * price, LEFT * price)
            if polished > score:
                keep(tours, jotter, memory.nodes, memory.size)
            else:
                take_back(network, tours, jotter, memory.nodes, memory.size)
        if ends:
            return done
        begins = False
        figures[PRICE] = next_price(lengths, tours, price)
        price = figures[PRICE]
        figures[SCORE] = rated(lengths, tours, MISSING * price, LEFT * price)
        done += 1
        if end_round(figures):
            start_from(network, lengths, tours, memory.best_nodes, memory.best_size)
            continue
        returned = draw(state) < FAR
        if returned:
            excursion(network, lengths, tours, hints, jotter, price, state, halt)
            continue
        seed = int(draw(state) * stops)
        count = ruin_near(network, lengths, tours, hints.near, jotter, seed, state)
        recreate_near(network, lengths, tours, hints, jotter, seed, count, price, state)
        shorten(network, lengths, tours, hints.near, EQUAL * network.horizon, halt)


@lean
def too_long(tours: Tours, lengths: Lengths) -> bool:
    """Whether any route is longer than its vehicle has time."""
    late = False
    for r in range(len(tours.size)):
        late = late or tours.spent[r] > lengths.room[tours.kind[r]]
    return bool(late)
