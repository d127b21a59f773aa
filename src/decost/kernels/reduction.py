"""The part of an instance that can matter: stops that can be reached and left for home."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.kernels.profile import jit
from decost.problem.instance import Arrays, FloatArray, IntArray


class Core(NamedTuple):
    """An instance reduced to its useful stops, numbered from 0, with tightened windows.

    `stop` holds their numbers in the instance. The last row of `travel` leads from the start
    depot to the stops, `home` from them to the end depot. Service may start from `early` to
    `late`; who starts later is not home in time. `next_start` and `next_stop` list the stops
    that can follow each row's place. Who leaves stop j after `deadline[j, k]` cannot serve k.
    `worth` is the most that a stop can earn, infinite if it is a short cut that a route cannot
    always leave out without being late. `price` is what of the reward was taken away (nothing
    here; see `pricing`).
    """

    stop: IntArray
    travel: FloatArray
    home: FloatArray
    early: FloatArray
    late: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    piece_start: IntArray
    piece_rate: FloatArray
    piece_length: FloatArray
    full_profit: FloatArray
    next_start: IntArray
    next_stop: IntArray
    deadline: FloatArray
    worth: FloatArray
    price: FloatArray
    budget: float
    slack: float


BETWEEN = 12
"""How many stops are tried as the one that always fits between two others."""

MAX_TRIANGLE = 400
"""Above this size a matrix is not searched for short cuts."""


@jit
def earliest_starts(arrays: Arrays) -> FloatArray:
    """Earliest start of service at every node, over all ways that keep all windows."""
    nodes = len(arrays.open)
    done = np.zeros(nodes, dtype=np.int64)
    early = np.full(nodes, np.inf)
    leave = np.full(nodes, np.inf)
    leave[0] = 0.0
    for _ in range(nodes):
        best = -1
        for i in range(nodes):
            if done[i] == 0 and leave[i] < np.inf and (best < 0 or leave[i] < leave[best]):
                best = i
        if best < 0:
            break
        done[best] = 1
        for j in range(1, nodes):
            if done[j] == 0:
                time = max(leave[best] + arrays.travel[best, j], arrays.open[j])
                end = time + arrays.min_stay[j]
                if (
                    time < early[j]
                    and time <= arrays.close[j] + arrays.slack
                    and end <= arrays.leave_by[j] + arrays.slack
                ):
                    early[j] = time
                    leave[j] = end
    return early


@jit
def latest_starts(arrays: Arrays) -> FloatArray:
    """Latest start of service at every node from which the end depot is reached in time."""
    nodes = len(arrays.open)
    done = np.zeros(nodes, dtype=np.int64)
    late = np.full(nodes, -np.inf)
    for i in range(1, nodes):
        end = min(arrays.budget - arrays.travel[i, arrays.end], arrays.leave_by[i])
        late[i] = min(arrays.close[i], end - arrays.min_stay[i])
    for _ in range(1, nodes):
        best = -1
        for i in range(1, nodes):
            if done[i] == 0 and late[i] > -np.inf and (best < 0 or late[i] > late[best]):
                best = i
        if best < 0:
            break
        done[best] = 1
        if late[best] < arrays.open[best] - arrays.slack:
            continue
        for i in range(1, nodes):
            if done[i] == 0:
                end = min(late[best] - arrays.travel[i, best], arrays.leave_by[i])
                late[i] = max(late[i], min(arrays.close[i], end - arrays.min_stay[i]))
    return late


class Useful(NamedTuple):
    """The useful stops of an instance.

    `stop` holds their numbers; the other arrays are by node: earliest and latest start of
    service, longest stay beyond the shortest, and the most that can be earned.
    """

    stop: IntArray
    early: FloatArray
    late: FloatArray
    longest: FloatArray
    profit: FloatArray


@jit
def useful_stops(arrays: Arrays, euclidean: bool) -> Useful:
    """Find the stops that can be served on the way to the end depot and earn something.

    `euclidean` says that travel times obey the triangle inequality. If they need not, a stop
    without profit may still be a short cut and is kept.
    """
    nodes = len(arrays.open)
    early = earliest_starts(arrays)
    late = latest_starts(arrays)
    profit = np.zeros(nodes)
    longest = np.zeros(nodes)
    count = 0
    kept = np.empty(nodes, dtype=np.int64)
    for i in range(1, nodes):
        profit[i] = arrays.reward[i]
        longest[i] = min(arrays.leave_by[i], arrays.budget) - early[i] - arrays.min_stay[i]
        rest = longest[i]
        for k in range(arrays.piece_start[i], arrays.piece_start[i + 1]):
            part = max(0.0, min(rest, arrays.piece_length[k]))
            profit[i] += arrays.piece_rate[k] * part
            rest -= part
        if early[i] <= late[i] + arrays.slack and (profit[i] > 0.0 or not euclidean):
            kept[count] = i
            count += 1
    return Useful(kept[:count], early, late, longest, profit)


@jit
def reduce_instance(arrays: Arrays, euclidean: bool) -> Core:
    """Keep the useful stops and what is known of them."""
    useful = useful_stops(arrays, euclidean)
    kept, early, late = useful.stop, useful.early, useful.late
    longest, profit = useful.longest, useful.profit
    count = len(kept)
    pieces = 0
    for i in kept:
        pieces += arrays.piece_start[i + 1] - arrays.piece_start[i]
    core = empty_core(arrays, count, pieces)
    last = np.empty(count)
    pieces = 0
    for a in range(count):
        i = kept[a]
        core.stop[a] = i
        core.travel[count, a] = arrays.travel[0, i]
        core.home[a] = arrays.travel[i, arrays.end]
        for b in range(count):
            core.travel[a, b] = arrays.travel[i, kept[b]]
        core.early[a] = early[i]
        core.late[a] = late[i]
        core.leave_by[a] = arrays.leave_by[i]
        core.reward[a] = arrays.reward[i]
        core.min_stay[a] = arrays.min_stay[i]
        core.full_profit[a] = profit[i]
        core.worth[a] = profit[i]
        last[a] = late[i] + arrays.min_stay[i]
        rest = longest[i]
        for k in range(arrays.piece_start[i], arrays.piece_start[i + 1]):
            part = min(rest, arrays.piece_length[k])
            if arrays.piece_rate[k] > 0.0 and part > 0.0:
                core.piece_rate[pieces] = arrays.piece_rate[k]
                core.piece_length[pieces] = part
                pieces += 1
                last[a] += part
                rest -= part
        core.piece_start[a + 1] = pieces
        last[a] = min(last[a], arrays.leave_by[i])
    shortest = core.travel
    if not euclidean:
        shortest = core.travel.copy()
        mark_detours(shortest, core.home, core.min_stay, core.slack, core.worth)
    for a in range(count):
        for b in range(count):
            core.deadline[a, b] = core.late[b] - shortest[a, b] + core.slack
    useful_arcs(core, last)
    return core


@jit
def empty_core(arrays: Arrays, count: int, pieces: int) -> Core:
    """Make room for an instance of so many stops and pieces."""
    return Core(
        np.empty(count, dtype=np.int64),
        np.empty((count + 1, count)),
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.zeros(count + 1, dtype=np.int64),
        np.empty(pieces),
        np.empty(pieces),
        np.empty(count),
        np.zeros(count + 2, dtype=np.int64),
        np.empty(count * (count + 1), dtype=np.int64),
        np.empty((count, count)),
        np.empty(count),
        np.zeros(count),
        arrays.budget,
        arrays.slack,
    )


@jit
def useful_arcs(core: Core, last: FloatArray) -> None:
    """List for every place the stops that can follow it in some best route.

    Stop j does not follow i if it is out of reach, or if there is always time to serve some k
    between them and still be at j when it opens, k being a stop that can neither come before i
    nor after j. `last` is the latest end of service at each stop.
    """
    early, late, travel = core.early, core.late, core.travel
    count = len(early)
    arcs = 0
    between = np.empty(BETWEEN, dtype=np.int64)
    served = np.empty(BETWEEN)
    for i in range(count + 1):
        leave = 0.0 if i == count else early[i] + core.min_stay[i]
        latest = 0.0 if i == count else last[i]
        found = 0
        for k in range(count):
            begin = max(latest + travel[i, k], early[k])
            if k == i or begin > late[k]:
                continue
            if i < count and early[k] + core.min_stay[k] <= core.deadline[k, i]:
                continue
            end = begin + core.min_stay[k]
            if found == BETWEEN and end >= served[BETWEEN - 1]:
                continue
            place = min(found, BETWEEN - 1)
            while place > 0 and served[place - 1] > end:
                served[place] = served[place - 1]
                between[place] = between[place - 1]
                place -= 1
            served[place] = end
            between[place] = k
            found = min(found + 1, BETWEEN)
        for j in range(count):
            if j == i or leave + travel[i, j] > late[j] + core.slack:
                continue
            useful = True
            for b in range(found):
                k = between[b]
                if (
                    k != j
                    and served[b] + travel[k, j] <= early[j]
                    and early[j] + core.min_stay[j] > core.deadline[j, k]
                ):
                    useful = False
                    break
            if useful:
                core.next_stop[arcs] = j
                arcs += 1
        core.next_start[i + 1] = arcs


@jit
def mark_detours(
    travel: FloatArray, home: FloatArray, min_stay: FloatArray, slack: float, worth: FloatArray
) -> None:
    """Give infinite worth to stops on a way that is shorter than the direct one.

    `travel` becomes the matrix of the shortest ways. If there are too many stops to look at,
    all count as short cuts, and as near as can be.
    """
    count = len(home)
    if count > MAX_TRIANGLE:
        for k in range(count):
            worth[k] = np.inf
            for i in range(count + 1):
                travel[i, k] = 0.0
        return
    # First all marks, by the direct times: leaving stops out one by one needs no others.
    for k in range(count):
        for i in range(count + 1):
            through = travel[i, k] + min_stay[k] + slack
            if i < count and i != k and home[i] > through + home[k]:
                worth[k] = np.inf
            for j in range(count):
                if i != k and j != k and i != j and travel[i, j] > through + travel[k, j]:
                    worth[k] = np.inf
    for k in range(count):
        for i in range(count + 1):
            through = travel[i, k] + min_stay[k]
            for j in range(count):
                if i != k and travel[i, j] > through + travel[k, j]:
                    travel[i, j] = through + travel[k, j]
