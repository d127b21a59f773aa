"""Ruin and recreate: remove visits that lie together, insert stops where they gain most.

After Christiaens and Vanden Berghe, "Slack induction by string removals for vehicle routing
problems" (Transportation Science, 2020), with exact gains and for stops that need not be visited.
A plan that earns less is accepted as in simulated annealing; the temperature falls from cycle to
cycle anew, and each cycle is longer than the one before. The last one ends when the time does.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from decost.compiled import Halt, jit, lean
from decost.draws import RandomState, draw
from decost.problem.instance import FloatArray, IntArray
from decost.search.moves import EQUAL, Desk, best_insertion, descend
from decost.search.team import Team, insert_at, refresh
from decost.timeline.network import Network, of_type
from decost.timeline.steps import travel_time

LONGEST = 7
"""Most visits in a row that are removed from a route."""

REMOVED = 10.0
"""Visits that are removed on average, if routes are long enough."""

SPLIT = 0.5
"""Probability that some visits within a removed part are kept."""

KEEP = 0.5
"""Probability that one more visit is kept then."""

BLINK = 0.01
"""Probability that a place for an insertion is overlooked."""

FIRST_CYCLE = 200
"""Rounds of the first cycle."""

LONGER = 1.5
"""Ratio of the rounds of a cycle and the one before."""

LAST = 2.0
"""A cycle is the last one if no more rounds are left than so many times its length."""

LIGHT = 1e-3
"""Weight of travel for all of the budget against the mean full profit of a stop."""

NEAR = 40
"""Stops near a stop that are known."""

FEW = 5
"""Nearest of these, the way to which counts as part of the time that a stop takes."""

POLISH = 0.01
"""Probability that all local moves follow a round."""

HOT, COLD = 2.0, 0.02
"""Temperatures at the beginning and the end of a cycle, in units of the mean profit of a visit."""

FULL = -1
"""Answer of a kernel that needs more room."""


class Routes(Protocol):
    """Routes of nodes and what they earn, however their times are kept."""

    @property
    def nodes(self) -> IntArray: ...  # noqa: D102
    @property
    def size(self) -> IntArray: ...  # noqa: D102
    @property
    def where(self) -> IntArray: ...  # noqa: D102
    @property
    def profit(self) -> FloatArray: ...  # noqa: D102


class Hints(NamedTuple):
    """What does not change: by stop the most it can earn, that by the time it takes, stops near.

    A list of near stops ends with -1.
    """

    full_profit: FloatArray
    density: FloatArray
    near: IntArray


class Memory(NamedTuple):
    """The current routes, the best ones, and figures: see `BEST` and the constants after it."""

    nodes: IntArray
    size: IntArray
    best_nodes: IntArray
    best_size: IntArray
    figures: FloatArray


class Notes(NamedTuple):
    """Scratch for a round: the routes that it touched, all routes, and stops with their keys."""

    touched: IntArray
    every: IntArray
    key: FloatArray
    absent: IntArray


BEST, FOUND, ROUNDS, SCORE, PART, CYCLE, END, FINAL, PRICE = range(9)
"""Figures: best profit, the round that found it, rounds in all, the current plan's score, rounds
of this cycle so far, and of the whole cycle; the round that is expected to be the last, which may
change at any time, and whether this cycle ends with it; the price of time on long routes."""


def make_memory(nodes: IntArray, size: IntArray) -> Memory:
    """Make a memory of routes."""
    figures = np.zeros(9)
    figures[BEST], figures[CYCLE], figures[END] = -1.0, FIRST_CYCLE, np.inf
    return Memory(nodes.copy(), size.copy(), nodes.copy(), size.copy(), figures)


def make_notes(team: Team) -> Notes:
    """Make scratch for the rounds of a team."""
    return Notes(
        touched=np.ones(len(team.size), dtype=np.int64),
        every=np.ones(len(team.size), dtype=np.int64),
        key=np.empty(len(team.where)),
        absent=np.empty(len(team.where), dtype=np.int64),
    )


@jit
def make_hints(network: Network, longest_stay: FloatArray) -> Hints:
    """Find out what helps to choose stops, whose longest stays are given.

    The first alternative of a stop stands for where it is.
    """
    stops = len(network.number)
    count = min(NEAR, max(0, stops - 1))
    near = np.full((stops, count + 1), -1)
    full_profit = np.zeros(stops)
    density = np.zeros(stops)
    ways = np.empty(count)
    for stop in range(stops):
        for node in range(network.first[stop], network.first[stop + 1]):
            full_profit[stop] = max(full_profit[stop], network.node[node].full_profit)
        here = network.first[stop]
        known = 0
        for other in range(stops):
            if other == stop:
                continue
            there = network.first[other]
            way = travel_time(network, here, there) + travel_time(network, there, here)
            if known == count and way >= ways[known - 1]:
                continue
            k = known if known < count else count - 1
            known = min(known + 1, count)
            while k > 0 and ways[k - 1] > way:
                ways[k], near[stop, k] = ways[k - 1], near[stop, k - 1]
                k -= 1
            ways[k], near[stop, k] = way, other
        time = longest_stay[stop]
        few = min(FEW, known)
        if few > 0:
            time += ways[:few].mean() / 2.0
        density[stop] = full_profit[stop] / max(time, 1e-300)
    return Hints(full_profit, density, near)


@lean
def travel_of(network: Network, team: Team) -> float:
    """Travel time of all routes."""
    total = 0.0
    for r in range(len(team.size)):
        if team.size[r] > 0:
            mine = of_type(network, team.kind[r])
            for k in range(team.size[r] + 1):
                total += travel_time(mine, team.nodes[r, k], team.nodes[r, k + 1])
    return total


@lean
def remove_string(
    network: Network, team: Routes, r: int, first: int, length: int, skip: int, kept: int
) -> None:
    """Remove visits of a route from a position on, but keep some in the middle of them."""
    place = first
    last = team.size[r] + 1
    for k in range(first, last + 1):
        node = team.nodes[r, k]
        part = k - first
        removed = part < skip or skip + kept <= part < length + kept
        if removed and k < last:
            team.where[network.stop[node]] = -1
        else:
            team.nodes[r, place] = node
            place += 1
    team.size[r] = place - 2


@lean
def draw_string(
    size: int, spot: int, longest: int, state: RandomState
) -> tuple[int, int, int, int]:
    """Draw a part of a route around a position: the first of it, how many visits are removed.

    Of these so many come first, and then come some that are kept.
    """
    length = int(draw(state) * min(longest, size)) + 1
    kept = 0
    if draw(state) < SPLIT:
        while length + kept < size and draw(state) < KEEP:
            kept += 1
    low = max(1, spot - (length + kept) + 1)
    high = min(spot, size + 1 - (length + kept))
    first = low + int(draw(state) * (high - low + 1))
    skip = 1 + int(draw(state) * (length - 1)) if kept > 0 and length > 1 else length
    return first, length, skip, kept


@lean
def most_strings(size: IntArray) -> tuple[int, float]:
    """Give the most visits of a string to remove, and the most strings, plus a part of one."""
    visits = routes = 0
    for r in range(len(size)):
        visits += size[r]
        routes += size[r] > 0
    longest = min(LONGEST, max(1, visits // max(1, routes)))
    return longest, max(1.0, 4.0 * REMOVED / (1.0 + longest) - 1.0)


@lean
def ruin(
    network: Network, team: Team, hints: Hints, seed: int, state: RandomState, touched: IntArray
) -> bool:
    """Remove strings of visits near a stop; `touched` marks the routes that changed."""
    touched[:] = 0
    longest, most = most_strings(team.size)
    number = int(draw(state) * most) + 1
    for k in range(-1, hints.near.shape[1]):
        stop = seed if k < 0 else hints.near[seed, k]
        if stop < 0:
            break
        r = team.where[stop]
        if r < 0 or touched[r]:
            continue
        first, length, skip, kept = draw_string(team.size[r], team.spot[stop], longest, state)
        remove_string(network, team, r, first, length, skip, kept)
        touched[r] = 1
        if not refresh(network, team, r, first):
            return False
        number -= 1
        if number == 0:
            break
    return True


@lean
def sort(key: FloatArray, value: IntArray, count: int) -> None:
    """Sort the first entries of two lists by the key (Shell's method, without a copy)."""
    gap = count // 2
    while gap > 0:
        for k in range(gap, count):
            one, other = key[k], value[k]
            at = k
            while at >= gap and key[at - gap] > one:
                key[at], value[at] = key[at - gap], value[at - gap]
                at -= gap
            key[at], value[at] = one, other
        gap = 1 if gap == 2 else int(gap / 2.2)


@lean
def recreate(
    network: Network,
    team: Team,
    hints: Hints,
    notes: Notes,
    seed: int,
    state: RandomState,
    halt: Halt,
) -> bool:
    """Insert stops, in an order that is drawn, where each gains most; false without room."""
    key, absent = notes.key, notes.absent
    way = int(draw(state) * 4)
    count = 0
    tiny = 1e-4 * network.horizon
    for stop in range(len(team.where)):
        if team.where[stop] >= 0:
            continue
        noise = draw(state)
        if way == 0:
            best = best_insertion(network, team, stop, 0.0, state)
            if best.route < 0:
                continue
            key[count] = -best.gain / max(best.cost, tiny) * (1.0 + 0.5 * noise)
        elif way == 1:
            key[count] = -hints.full_profit[stop] * (1.0 + 0.2 * noise)
        elif way == 2:
            key[count] = -hints.density[stop] * (1.0 + 0.5 * noise)
        else:
            apart = travel_time(network, network.first[seed], network.first[stop])
            key[count] = apart * (1.0 + 0.5 * noise)
            if 0.0 < network.bonus <= hints.full_profit[stop]:
                key[count] = -1.0  # what is required comes first
        absent[count] = stop
        count += 1
    sort(key, absent, count)
    for number in range(count):
        if halt[0]:
            break
        best = best_insertion(network, team, absent[number], BLINK, state)
        if best.route >= 0 and best.gain > 0.0:
            notes.touched[best.route] = 1
            if not insert_at(network, team, best.route, best.gap, best.node):
                return False
    return True


@lean
def total(team: Routes) -> float:
    """Profit of all routes."""
    profit = 0.0
    for r in range(len(team.size)):
        profit += team.profit[r]
    return profit


@lean
def remember(team: Routes, touched: IntArray, nodes: IntArray, size: IntArray) -> None:
    """Copy the routes that are marked into a memory."""
    for r in range(len(size)):
        if touched[r]:
            for k in range(team.size[r] + 2):
                nodes[r, k] = team.nodes[r, k]
            size[r] = team.size[r]


@lean
def recall(
    network: Network, team: Team, touched: IntArray, nodes: IntArray, size: IntArray
) -> bool:
    """Take the routes that are marked back from a memory; false if there is no room."""
    for r in range(len(size)):
        if touched[r]:
            for k in range(1, team.size[r] + 1):
                team.where[network.stop[team.nodes[r, k]]] = -1
    fits = True
    for r in range(len(size)):
        if touched[r]:
            team.size[r] = size[r]
            for k in range(size[r] + 2):
                team.nodes[r, k] = nodes[r, k]
            fits = refresh(network, team, r, 1) and fits
    return fits


@lean
def begin_round(figures: FloatArray) -> None:
    """Plan the cycle: it is the last one if few rounds are left, and ends with them."""
    left = figures[END] - figures[ROUNDS]
    if figures[PART] == 0.0 and left <= LAST * figures[CYCLE]:
        figures[FINAL] = 1.0
    if figures[FINAL] > 0.0:
        figures[CYCLE] = figures[PART] + max(1.0, left)


@lean
def end_round(figures: FloatArray) -> bool:
    """Count a round; whether a new cycle begins, which is longer than the one before."""
    figures[ROUNDS] += 1.0
    figures[PART] += 1.0
    if figures[PART] < figures[CYCLE] or figures[FINAL] > 0.0:
        return False
    figures[PART] = 0.0
    figures[CYCLE] = float(int(LONGER * figures[CYCLE]))
    return True


@lean
def anneal(
    network: Network,
    team: Team,
    hints: Hints,
    memory: Memory,
    desk: Desk,
    notes: Notes,
    state: RandomState,
    rounds: int,
    halt: Halt,
) -> int:
    """Ruin and recreate for some rounds; return how many there were, FULL if room is needed.

    It goes on from the current routes in the memory.
    """
    figures = memory.figures
    stops = len(team.where)
    touched, every = notes.touched, notes.every
    if not recall(network, team, every, memory.nodes, memory.size):
        return FULL
    if stops == 0:
        return 0
    unit = desk.least_gain / EQUAL
    light = LIGHT * unit / max(network.horizon, 1e-300)
    touched[:] = 1
    done = 0
    while True:
        begin_round(figures)
        better = total(team) > figures[BEST] * (1.0 + EQUAL)
        if figures[PART] == 0.0 or better or draw(state) < POLISH:
            if not descend(network, team, desk, state, halt):
                return FULL
            touched[:] = 1
        profit = total(team)
        score = profit - light * travel_of(network, team)
        heat = unit * HOT * (COLD / HOT) ** (figures[PART] / figures[CYCLE])
        if profit > figures[BEST] * (1.0 + EQUAL):
            figures[BEST], figures[FOUND] = profit, figures[ROUNDS]
            remember(team, every, memory.best_nodes, memory.best_size)
        if figures[PART] == 0.0 or score > figures[SCORE] + heat * np.log(1.0 - draw(state)):
            figures[SCORE] = score
            remember(team, touched, memory.nodes, memory.size)
        elif not recall(network, team, touched, memory.nodes, memory.size):
            return FULL
        if halt[0] or done >= rounds:
            return done
        done += 1
        if end_round(figures):
            if not recall(network, team, every, memory.best_nodes, memory.best_size):
                return FULL
            continue
        seed = int(draw(state) * stops)
        if not ruin(network, team, hints, seed, state, touched):
            return FULL
        if not recreate(network, team, hints, notes, seed, state, halt):
            return FULL
