"""The time-profit function of a partial route, and its operations.

For a route that has reached a stop, F(t) is the most profit collected on the way if service
there starts at time t or earlier. F is concave, non-decreasing and piecewise linear: an
earliest time, the profit at that time, and `(rate, length)` pieces of falling rate after it.

Its mirror image for the rest of a route, G(t), is the most profit from a stop on if service
there starts at time t or later: a latest time, the profit from then on, and pieces of falling
rate that an earlier start adds.

The pieces live in two arrays `rate` and `length`, which the caller owns. Serving a stop merges
its pieces into the list (`merge`); waiting turns the first of them into profit and a deadline
takes the last of them away (`window`). `prefix` does all of this along a route; for both functions
of every part of a route see `routes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from decost.problem.instance import Arrays, FloatArray, IntArray

jit = numba.njit(cache=True, nogil=True, error_model="numpy")

# For a function with one caller that hands on many arrays, which are costly to pass.
inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")

Halt = npt.NDArray[np.uint8]
"""One entry that is set, by another thread, when a kernel is to return."""

Function = TypeVar("Function", bound=Callable[..., object])


def lean(function: Function) -> Function:
    """Compile a function that makes no arrays, without the counting of references.

    Counting costs more than all the rest of a short function that is handed many arrays.
    """
    settings: dict[str, Any] = {"_nrt": False}
    compiled: Function = numba.njit(cache=True, nogil=True, error_model="numpy", **settings)(
        function
    )
    return compiled


@lean
def insert(
    rate: FloatArray, length: FloatArray, head: int, tail: int, new_rate: float, new_length: float
) -> int:
    """Merge one piece into the list and return its place; the list ends one entry later."""
    place = tail
    while place > head and rate[place - 1] < new_rate:
        rate[place] = rate[place - 1]
        length[place] = length[place - 1]
        place -= 1
    rate[place] = new_rate
    length[place] = new_length
    return place


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
def trim(length: FloatArray, head: int, tail: int, room: float, limit: float) -> tuple[int, float]:
    """Cut the end of the list so that `limit` units remain; return the new tail and room."""
    excess = room - limit
    while excess > 0.0 and tail > head:
        if length[tail - 1] > excess:
            length[tail - 1] -= excess
            return tail, limit
        excess -= length[tail - 1]
        room -= length[tail - 1]
        tail -= 1
    return tail, room


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
def earns_no_less(
    time: FloatArray,
    value: FloatArray,
    piece_first: IntArray,
    piece_count: IntArray,
    rate: FloatArray,
    length: FloatArray,
    one: int,
    other: int,
    handicap: float,
) -> bool:
    """Whether one label, less a handicap, has no less profit than the other at any time.

    By concavity it is enough to compare at the breakpoints of the other.
    """
    own = value[one] - handicap
    at = piece_first[one]
    end = at + piece_count[one]
    rest = 0.0 if at == end else length[at]
    theirs = value[other]
    step = time[other] - time[one]
    first = piece_first[other]
    pieces = piece_count[other]
    for k in range(pieces + 1):
        while step > 0.0 and at < end:
            part = min(step, rest)
            own += rate[at] * part
            step -= part
            rest -= part
            if rest <= 0.0:
                at += 1
                if at < end:
                    rest = length[at]
        if own < theirs:
            return False
        if k < pieces:
            step = length[first + k]
            theirs += rate[first + k] * step
    return True


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
