"""What the engine knows before a choice: the exact consequences of every next step.

The paper's service-time decoder guesses how much time the stops so far will take. The time-profit
function of the route so far knows it. For every candidate this gives the profit that waiting for
it buys, what can still be earned on the way to it, and how much time it leaves; for every pair
of candidates, whether one fits before the other and what it can earn there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import lean
from decost.inference.problems import Tables
from decost.inference.rows import Floats
from decost.inference.shapes import TOKEN_FEATURES
from decost.inference.walks import State
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.profile import best_part

FAR = 4.0
"""Times and profits beyond so many units make no difference."""

BEYOND = 20.0
"""No feature of a candidate is larger."""


class Scene(NamedTuple):
    """Room for what is told of the candidates of one state, and of pairs of them.

    `tokens` are the features, (candidate, TOKEN_FEATURES), and `pairs` those of serving one right
    before another, (PAIR_FEATURES, first, second); the others are times and rates in between.
    """

    node: IntArray
    tokens: Floats
    pairs: Floats
    begin: FloatArray
    ready: FloatArray
    late: FloatArray
    pay: FloatArray
    longest: FloatArray


@lean
def earliest_nodes(start: FloatArray, live: BoolArray, node: IntArray) -> int:
    """List home and then the live nodes with the earliest starts; return how many there are."""
    count = 1
    node[0] = 0
    for j in range(1, len(start) if len(node) > 1 else 1):
        if not live[j]:
            continue
        if count == len(node) and start[j] >= start[node[count - 1]]:
            continue
        if count < len(node):
            count += 1
        place = count - 1
        while place > 1 and start[node[place - 1]] > start[j]:
            node[place] = node[place - 1]
            place -= 1
        node[place] = j
    return count


@lean
def add_promising(
    tables: Tables,
    b: int,
    time: float,
    start: FloatArray,
    live: BoolArray,
    node: IntArray,
    count: int,
) -> int:
    """List more live nodes, those that pay most for the time that they take; return how many.

    The first `count` of `node` are listed already.
    """
    first = count
    last = start[node[count - 1]] if count > 1 else time
    for j in range(1, len(start)):
        if not live[j] or start[j] < last:
            continue
        listed = False
        for c in range(1, first):
            listed = listed or node[c] == j
        if listed:
            continue
        pay = _pay(tables, b, time, start, j)
        if count == len(node) and pay <= _pay(tables, b, time, start, node[count - 1]):
            continue
        if count < len(node):
            count += 1
        place = count - 1
        while place > first and _pay(tables, b, time, start, node[place - 1]) < pay:
            node[place] = node[place - 1]
            place -= 1
        node[place] = j
    return count


@lean
def _pay(tables: Tables, b: int, time: float, start: FloatArray, j: int) -> float:
    """Most that a node earns, for the time from now to the end of its longest stay."""
    pieces = tables.pieces[b, j]
    shortest = tables.min_stay[b, j]
    rest = tables.budget[b] - tables.travel[b, j, 0] - start[j] - shortest
    limit = min(tables.leave_by[b, j] - start[j] - shortest, rest)
    spent = min(limit, tables.max_stay[b, j] - shortest)
    earned = tables.reward[b, j] + best_part(pieces, 0, len(pieces), limit)
    taken = start[j] - time + shortest + max(0.0, spent)
    return float(earned / taken) if taken > 0.0 else np.inf


@lean
def describe(
    tables: Tables,
    b: int,
    place: int,
    time: float,
    room: float,
    pool: FloatArray,
    pieces: int,
    start: FloatArray,
    live: BoolArray,
    position: int,
    promising: int,
    left: int,
    scene: Scene,
) -> int:
    """Write the candidates of a state and their features; return how many there are.

    The vehicle of instance `b` can leave a place at a time, and that can be put off for `room`;
    `pool` holds the pieces of its time-profit function. `start` and `live` say when service could
    start at each node, and whether it can be chosen; `position` is that of the square. Of more
    candidates than the scene has room for, those are taken that can start first, and so many
    of the others that are `promising` for what they pay. So many vehicles of the turn are `left`
    after this one. Where the scene has room for more features, they tell of the outlook.
    """
    travel, node = tables.travel[b], scene.node
    unit, profit_unit = tables.time_unit[b], tables.profit_unit[b]
    count = earliest_nodes(start, live, node[: max(1, len(node) - promising)])
    if promising > 0:
        count = add_promising(tables, b, time, start, live, node, count)
    if scene.tokens.shape[1] > TOKEN_FEATURES:
        _look_out(tables, b, start, live, left, count, scene)
    pending = best_part(pool, 0, pieces, np.inf) / profit_unit
    best_rate = 0.0
    if pieces > 0:
        best_rate = pool[0, 0] * unit / profit_unit
    budget = tables.budget[b] - time
    for c in range(count):
        j = node[c]
        way, home = travel[place, j], travel[j, 0]
        begin = start[j] - time
        last = budget if c == 0 else tables.latest[b, j] - time
        wait = begin - way
        spare = max(0.0, last - begin)
        certain = best_part(pool, 0, pieces, min(wait, room)) / profit_unit
        some = best_part(pool, 0, pieces, min(wait + 0.25 * spare, room)) / profit_unit
        half = best_part(pool, 0, pieces, min(wait + 0.5 * spare, room)) / profit_unit
        most = best_part(pool, 0, pieces, min(wait + spare, room)) / profit_unit
        shortest, longest = tables.min_stay[b, j], tables.max_stay[b, j]
        reward = tables.reward[b, j]
        rest = budget - home - begin - shortest
        limit = min(tables.leave_by[b, j] - time - begin - shortest, rest)
        own_pieces = tables.pieces[b, j]
        own = reward + best_part(own_pieces, 0, len(own_pieces), limit)
        top = 0.0
        for k in range(len(own_pieces)):
            top = max(top, own_pieces[k, 0])
        top *= unit / profit_unit
        x = tables.xy[b, j, 0] - tables.xy[b, place, 0]
        y = tables.xy[b, j, 1] - tables.xy[b, place, 1]
        if position & 1:
            x = -x
        if position & 2:
            y = -y
        if position & 4:
            x, y = y, x
        row = scene.tokens[c]
        row[0] = 1.0 if c == 0 else 0.0
        row[1] = x
        row[2] = y
        row[3] = way / unit
        row[4] = np.arcsinh(wait / unit)
        row[5] = min(begin / unit, FAR)
        row[6] = np.arcsinh(begin / unit)
        row[7] = min(spare / unit, FAR)
        row[8] = np.arcsinh(spare / unit)
        row[9] = home / unit
        row[10] = np.arcsinh(budget / unit)
        row[11] = np.arcsinh(rest / unit)
        row[12] = top
        row[13] = longest / unit
        row[14] = shortest / unit
        row[15] = reward / profit_unit
        row[16] = own / profit_unit
        row[17] = certain
        row[18] = some - certain
        row[19] = half - certain
        row[20] = most - certain
        row[21] = pending - most
        row[22] = best_rate
        row[23] = pending
        for k in range(TOKEN_FEATURES):
            row[k] = min(max(row[k], -BEYOND), BEYOND)
        scene.begin[c] = begin / unit
        scene.ready[c] = (begin + shortest) / unit
        scene.late[c] = last / unit
        scene.pay[c] = top
        scene.longest[c] = (longest - shortest) / unit
    for a in range(count):
        ready, pay, longest = scene.ready[a], scene.pay[a], scene.longest[a]
        for c in range(count):
            leg = travel[node[a], node[c]] / unit
            free = scene.begin[c] - ready - leg  # stay at the first before the second is delayed
            most = scene.late[c] - ready - leg  # stay at the first before the second is lost
            scene.pairs[0, a, c] = min(leg, FAR)
            scene.pairs[1, a, c] = min(max(free, -FAR), FAR)
            scene.pairs[2, a, c] = min(max(most, -FAR), FAR)
            scene.pairs[3, a, c] = min(pay * max(0.0, min(free, longest)), FAR)
            scene.pairs[4, a, c] = min(pay * max(0.0, min(most, longest)), FAR)
            scene.pairs[5, a, c] = 1.0 if most < 0.0 else 0.0
    return count


@lean
def describe_state(
    tables: Tables,
    b: int,
    state: State,
    s: int,
    position: int,
    promising: int,
    node: IntArray,
    tokens: Floats,
    pairs: Floats,
    space: FloatArray,
) -> int:
    """Write the candidates of one sample's state into given room; return how many there are."""
    return describe(
        tables,
        b,
        state.place[s],
        state.time[s],
        state.front[s, 2],
        state.pool[s],
        state.pieces[s],
        state.start[s],
        state.live[s],
        position,
        promising,
        state.vehicles[s],
        Scene(
            node=node,
            tokens=tokens,
            pairs=pairs,
            begin=space[0],
            ready=space[1],
            late=space[2],
            pay=space[3],
            longest=space[4],
        ),
    )


@lean
def _look_out(
    tables: Tables,
    b: int,
    start: FloatArray,
    live: BoolArray,
    left: int,
    count: int,
    scene: Scene,
) -> None:
    """Tell of each candidate what else there is: other ways, other vehicles, what lies around.

    That is whether its stop is required, in how many other ways it can be visited, how many
    vehicles are to come and how many of them may visit it; the way to the nearest stop that may
    follow, how many stops can be chosen now, the part of these that can follow, and what they
    can earn, less the farther away they are.
    """
    travel, stop = tables.travel[b], tables.stop[b]
    unit, slack = tables.time_unit[b], tables.slack[b]
    alive = 0
    for i in range(1, len(live)):
        if live[i]:
            alive += 1
    for c in range(count):
        j = scene.node[c]
        leave = start[j] + tables.min_stay[b, j]
        ways = following = 0
        nearest, around = FAR * unit, 0.0
        for i in range(1, len(live) if c > 0 else 1):
            if not live[i] or i == j:
                continue
            if stop[i] == stop[j]:
                ways += 1
                continue
            leg = travel[j, i]
            if leave + leg > tables.latest[b, i] + slack:
                continue
            following += 1
            nearest = min(nearest, leg)
            part = 3.0 * leg / unit
            around += tables.most[b, i] / (1.0 + part * part)
        row = scene.tokens[c, TOKEN_FEATURES:]
        others = tables.others[b, j] if c > 0 else 0
        row[0] = 1.0 if tables.needed[b, j] else 0.0
        row[1] = min(ways, 4)
        row[2] = np.log1p(left + tables.to_come[b])
        row[3] = np.log1p(left + others) if c > 0 else 0.0
        row[4] = nearest / unit if c > 0 else 0.0
        row[5] = np.log1p(alive) / 2
        row[6] = following / alive if alive > 0 else 0.0
        row[7] = np.arcsinh(around / tables.profit_unit[b])
