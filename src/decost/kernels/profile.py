"""The time-profit function of a partial route, and its operations.

For a route that has reached a stop, F(t) is the most profit collected on the way if service
there starts at time t or earlier. F is concave, non-decreasing and piecewise linear: an
earliest time, the profit at that time, and `(rate, length)` pieces of falling rate after it.

Its mirror image for the rest of a route, G(t), is the most profit from a stop on if service
there starts at time t or later: a latest time, the profit from then on, and pieces of falling
rate that an earlier start adds.

The pieces live in two arrays `rate` and `length`, which the caller owns. Solvers use
`decost.timeline`; this form is left for figures and for tests of the learned solver.
"""

from __future__ import annotations

import numpy as np

from decost.compiled import jit, lean
from decost.instance import Arrays, FloatArray, IntArray


@lean
def merge(
    rate: FloatArray,
    length: FloatArray,
    count: int,
    other_rate: FloatArray,
    other_length: FloatArray,
    first: int,
    last: int,
) -> int:
    """Merge entries `first` to `last - 1` of another list into the list; return its new length.

    Pieces of rate 0 are left out.
    """
    while last > first and other_rate[last - 1] <= 0.0:
        last -= 1
    total = count + last - first
    place = total
    while last > first:
        place -= 1
        if count > 0 and rate[count - 1] < other_rate[last - 1]:
            count -= 1
            rate[place] = rate[count]
            length[place] = length[count]
        else:
            last -= 1
            rate[place] = other_rate[last]
            length[place] = other_length[last]
    return total


@lean
def window(
    rate: FloatArray,
    length: FloatArray,
    count: int,
    wait: float,
    limit: float,
    new_rate: FloatArray,
    new_length: FloatArray,
) -> tuple[float, int, float]:
    """Spend `wait` units of a list that starts at 0 and copy the `limit` units after them.

    The copy may go to the same arrays. Returns the profit that was spent, the number of pieces
    copied, and their profit.
    """
    spent = 0.0
    kept = 0.0
    new = 0
    for k in range(count):
        part = length[k]
        if wait > 0.0:
            used = min(wait, part)
            wait -= used
            part -= used
            spent += rate[k] * used
        if part > limit:
            part = limit
        if part > 0.0:
            new_rate[new] = rate[k]
            new_length[new] = part
            new += 1
            kept += rate[k] * part
            limit -= part
        elif wait <= 0.0 and limit <= 0.0:
            break
    return spent, new, kept


@lean
def serve(arrays: Arrays, stop: int, rate: FloatArray, length: FloatArray, pieces: int) -> int:
    """Merge the pieces of a stop into the list and return its new length."""
    first, last = arrays.piece_start[stop], arrays.piece_start[stop + 1]
    return merge(rate, length, pieces, arrays.piece_rate, arrays.piece_length, first, last)


@jit
def prefix(
    arrays: Arrays, route: IntArray, rate: FloatArray, length: FloatArray
) -> tuple[float, float, int, float]:
    """Time-profit function on leaving the last stop of a route, its pieces in `rate`, `length`.

    Returns the earliest time (infinite if a deadline is broken), the profit by then, the number
    of pieces, and by how much the departure can be put off.
    """
    time = 0.0
    value = 0.0
    pieces = 0
    room = np.inf
    place = 0
    for stop in route:
        time += arrays.travel[place, stop]
        wait = max(0.0, arrays.open[stop] - time)
        time += wait
        late = min(arrays.close[stop], arrays.leave_by[stop] - arrays.min_stay[stop])
        if time > late + arrays.slack:
            return np.inf, 0.0, 0, 0.0
        spent, pieces, _ = window(
            rate, length, pieces, min(wait, room), min(room - wait, late - time), rate, length
        )
        value += spent + arrays.reward[stop]
        time += arrays.min_stay[stop]
        pieces = serve(arrays, stop, rate, length, pieces)
        room = arrays.leave_by[stop] - time
        place = stop
    return time, value, pieces, room
