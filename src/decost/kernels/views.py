"""What can be known of the candidates for the next stop; see `decost.learn.view`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from decost.compiled import jit
from decost.instance import BoolArray, FloatArray, IntArray

TOKEN_FEATURES = 24
"""Numbers that describe a candidate."""

PAIR_FEATURES = 6
"""Numbers that describe serving one candidate right before another."""

FAR = 4.0
"""Times and profits beyond so many units make no difference."""

BEYOND = 20.0
"""No feature of a candidate is larger."""


class Tables(NamedTuple):
    """A batch of problems, as in `decost.learn.features.Problems`."""

    travel: FloatArray
    latest: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    max_stay: FloatArray
    rate: FloatArray
    length: FloatArray
    xy: FloatArray
    budget: FloatArray
    time_unit: FloatArray
    profit_unit: FloatArray


class Moment(NamedTuple):
    """States of all samples, as in `decost.learn.rollout.State`."""

    place: IntArray
    time: FloatArray
    start: FloatArray
    live: BoolArray
    rate: FloatArray
    length: FloatArray
    room: FloatArray


@jit
def gained(rate: FloatArray, length: FloatArray, time: float) -> float:
    """Profit of the best so many units of time of a list of pieces."""
    profit = 0.0
    for k in range(len(rate)):
        if time <= 0.0:
            break
        part = min(time, length[k])
        profit += rate[k] * part
        time -= part
    return profit


@jit
def earliest_nodes(start: FloatArray, live: BoolArray, node: IntArray) -> int:
    """List home and then the live nodes with the earliest starts; return how many there are."""
    count = 1
    node[0] = 0
    for j in range(1, len(start)):
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


@jit
def describe(
    index: IntArray,
    tables: Tables,
    moment: Moment,
    turning: bool,
    node: IntArray,
    alive: BoolArray,
    tokens: npt.NDArray[np.float32],
    pairs: npt.NDArray[np.float32],
) -> None:
    """Write the candidates of some states and their features; rows of zeros pad them."""
    travel, latest, leave_by = tables.travel, tables.latest, tables.leave_by
    min_stay, max_stay, reward = tables.min_stay, tables.max_stay, tables.reward
    samples = moment.place.shape[1]
    width = node.shape[1]
    begin = np.empty(width)
    ready = np.empty(width)
    late = np.empty(width)
    pay = np.empty(width)
    longest = np.empty(width)
    for m in range(len(index)):
        b, s = index[m] // samples, index[m] % samples
        here, now = moment.place[b, s], moment.time[b, s]
        unit, profit_unit = tables.time_unit[b], tables.profit_unit[b]
        rate, length, room = moment.rate[b, s], moment.length[b, s], moment.room[b, s]
        count = earliest_nodes(moment.start[b, s], moment.live[b, s], node[m])
        pending = gained(rate, length, np.inf) / profit_unit
        best_rate = 0.0
        if len(rate) > 0:
            best_rate = rate[0] * unit / profit_unit
        left = (tables.budget[b] - now) / unit
        position = s * 8 // samples if turning else 0
        for c in range(count):
            j = node[m, c]
            alive[m, c] = True
            way = travel[b, here, j]
            home = travel[b, j, 0]
            start = moment.start[b, s, j] - now
            last = (tables.budget[b] if c == 0 else latest[b, j]) - now
            wait = start - way
            spare = max(0.0, last - start)
            certain = gained(rate, length, min(wait, room)) / profit_unit
            some = gained(rate, length, min(wait + 0.25 * spare, room)) / profit_unit
            half = gained(rate, length, min(wait + 0.5 * spare, room)) / profit_unit
            most = gained(rate, length, min(wait + spare, room)) / profit_unit
            rest = tables.budget[b] - now - home - start - min_stay[b, j]
            limit = min(leave_by[b, j] - now - start - min_stay[b, j], rest)
            own = reward[b, j] + gained(tables.rate[b, j], tables.length[b, j], limit)
            top = 0.0
            for k in range(tables.rate.shape[2]):
                top = max(top, tables.rate[b, j, k])
            top *= unit / profit_unit
            x = tables.xy[b, j, 0] - tables.xy[b, here, 0]
            y = tables.xy[b, j, 1] - tables.xy[b, here, 1]
            if position & 1:
                x = -x
            if position & 2:
                y = -y
            if position & 4:
                x, y = y, x
            row = tokens[m, c]
            row[0] = 1.0 if c == 0 else 0.0
            row[1] = x
            row[2] = y
            row[3] = way / unit
            row[4] = np.arcsinh(wait / unit)
            row[5] = min(start / unit, FAR)
            row[6] = np.arcsinh(start / unit)
            row[7] = min(spare / unit, FAR)
            row[8] = np.arcsinh(spare / unit)
            row[9] = home / unit
            row[10] = np.arcsinh(left)
            row[11] = np.arcsinh(rest / unit)
            row[12] = top
            row[13] = max_stay[b, j] / unit
            row[14] = min_stay[b, j] / unit
            row[15] = reward[b, j] / profit_unit
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
            begin[c] = start / unit
            ready[c] = (start + min_stay[b, j]) / unit
            late[c] = last / unit
            pay[c] = top
            longest[c] = (max_stay[b, j] - min_stay[b, j]) / unit
        for a in range(count):
            for c in range(count):
                leg = travel[b, node[m, a], node[m, c]] / unit
                free = begin[c] - ready[a] - leg  # stay at the first before the second is delayed
                most = late[c] - ready[a] - leg  # stay at the first before the second is lost
                pairs[m, 0, a, c] = min(leg, FAR)
                pairs[m, 1, a, c] = min(max(free, -FAR), FAR)
                pairs[m, 2, a, c] = min(max(most, -FAR), FAR)
                pairs[m, 3, a, c] = min(pay[a] * max(0.0, min(free, longest[a])), FAR)
                pairs[m, 4, a, c] = min(pay[a] * max(0.0, min(most, longest[a])), FAR)
                pairs[m, 5, a, c] = 1.0 if most < 0.0 else 0.0
