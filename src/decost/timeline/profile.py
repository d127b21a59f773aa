"""Time-profit functions as lists of pieces, and what is done with such lists.

For a route that has reached a node, F(t) is the most profit collected on the way if service
there starts at time t or earlier. F is concave, non-decreasing and piecewise linear: an earliest
time, the profit by then, and pieces of falling rate after it. Its mirror image for the rest of a
route, G(t), is the most profit from a node on if service there starts at time t or later: a
latest time, the profit from then on, and pieces of falling rate that an earlier start adds.

A list of pieces is `pool[at : at + count]`, a row being `(rate, length)`; the caller owns the
pool and passes the offset, since slices cost more than the work on them.
"""

from __future__ import annotations

import numpy as np

from decost.compiled import lean
from decost.problem.instance import FloatArray


@lean
def merge(pool: FloatArray, at: int, count: int, other: FloatArray, first: int, last: int) -> int:
    """Merge rows `first` to `last - 1` of another pool into a list; return its new length.

    A piece comes after those of the same rate that are there.
    """
    total = count + last - first
    place = at + total
    count += at
    while last > first:
        place -= 1
        if count > at and pool[count - 1, 0] < other[last - 1, 0]:
            count -= 1
            pool[place, 0] = pool[count, 0]
            pool[place, 1] = pool[count, 1]
        else:
            last -= 1
            pool[place, 0] = other[last, 0]
            pool[place, 1] = other[last, 1]
    return total


@lean
def window(
    pool: FloatArray,
    at: int,
    count: int,
    wait: float,
    limit: float,
    into: FloatArray,
    to: int,
) -> tuple[float, int, float]:
    """Spend `wait` units of a list that starts at 0 and copy the `limit` units after them.

    The copy may take the place of the list. Returns the profit that was spent, the number of
    pieces copied, and their profit.
    """
    spent = 0.0
    kept = 0.0
    new = to
    for k in range(at, at + count):
        rate, part = pool[k, 0], pool[k, 1]
        if wait > 0.0:
            used = min(wait, part)
            wait -= used
            part -= used
            spent += rate * used
        if part > limit:
            part = limit
        if part > 0.0:
            into[new, 0] = rate
            into[new, 1] = part
            new += 1
            kept += rate * part
            limit -= part
        elif wait <= 0.0 and limit <= 0.0:
            break
    return spent, new - to, kept


@lean
def best_part(pool: FloatArray, at: int, count: int, limit: float) -> float:
    """Profit of the best `limit` units of a list."""
    profit = 0.0
    for k in range(at, at + count):
        if limit <= 0.0:
            break
        part = min(limit, pool[k, 1])
        profit += pool[k, 0] * part
        limit -= part
    return profit


@lean
def surplus_over(pool: FloatArray, first: int, last: int, margin: float) -> float:
    """Most that pieces earn beyond what their time is worth at a margin."""
    profit = 0.0
    for k in range(first, last):
        if pool[k, 0] <= margin:
            break
        profit += (pool[k, 0] - margin) * pool[k, 1]
    return profit


@lean
def share(
    pool: FloatArray,
    at: int,
    count: int,
    room: float,
    wait: float,
    time: float,
    other: FloatArray,
    other_at: int,
    other_count: int,
) -> tuple[float, float]:
    """Profit of the best use of a wait by one list, and of the time after it by both.

    Of the first list no more than `room` can be used. The second answer is the margin: the least
    rate at which a unit of time is used last, in the wait or after it; 0 if some is not used.
    """
    profit = margin = 0.0
    waits = wait > 0.0
    end, other_end = at + count, other_at + other_count
    rest = pool[at, 1] if at < end else 0.0
    while at < end and wait > 0.0 and room > 0.0:
        part = min(wait, rest, room)
        margin = pool[at, 0]
        profit += margin * part
        wait -= part
        room -= part
        rest -= part
        if rest <= 0.0:
            at += 1
            rest = pool[at, 1] if at < end else 0.0
    if room <= 0.0:
        at = end
    waiting = margin if waits else np.inf
    while time > 0.0 and (at < end or other_at < other_end):
        if other_at == other_end or (at < end and pool[at, 0] >= other[other_at, 0]):
            part = min(time, rest, room)
            margin = pool[at, 0]
            room -= part
            at += 1
            rest = pool[at, 1] if at < end else 0.0
            if room <= 0.0:
                at = end
        else:
            part = min(time, other[other_at, 1])
            margin = other[other_at, 0]
            other_at += 1
        profit += margin * part
        time -= part
    if wait > 0.0 or time > 0.0:
        margin = 0.0
    return profit, min(waiting, margin)


@lean
def dominates(
    pool: FloatArray,
    at: int,
    count: int,
    time: float,
    value: float,
    other_at: int,
    other_count: int,
    other_time: float,
    other_value: float,
) -> bool:
    """Whether one function is nowhere below another that begins no earlier.

    By concavity it is enough to compare at the breakpoints of the other.
    """
    end = at + count
    rest = pool[at, 1] if at < end else 0.0
    step = other_time - time
    for k in range(other_at, other_at + other_count + 1):
        while step > 0.0 and at < end:
            part = min(step, rest)
            value += pool[at, 0] * part
            step -= part
            rest -= part
            if rest <= 0.0:
                at += 1
                if at < end:
                    rest = pool[at, 1]
        if value < other_value:
            return False
        if k < other_at + other_count:
            step = pool[k, 1]
            other_value += pool[k, 0] * step
    return True
