"""The time-profit function of a partial route, and its operations.

For a route that has reached a stop, F(t) is the most profit collected on the way if service
there starts at time t or earlier. F is concave, non-decreasing and piecewise linear: an
earliest time, the profit at that time, and `(rate, length)` pieces of falling rate after it.

The pieces live in entries `head` to `tail - 1` of two arrays `rate` and `length`, which the
caller owns; `room` is the sum of their lengths. Serving a stop merges its pieces into the list
(`insert`), waiting turns the best of them into profit (`spend`), and a deadline takes the worst
of them away (`trim`).
"""

from __future__ import annotations

import numba

from decost.instance import FloatArray

jit = numba.njit(cache=True, nogil=True, error_model="numpy")

# For a function with one caller that hands on many arrays, which are costly to pass.
inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@jit
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


@jit
def spend(
    rate: FloatArray, length: FloatArray, head: int, tail: int, time: float
) -> tuple[int, float]:
    """Turn the first `time` units into profit; return the new head and the profit."""
    gained = 0.0
    while head < tail:
        if length[head] > time:
            length[head] -= time
            return head, gained + rate[head] * time
        time -= length[head]
        gained += rate[head] * length[head]
        head += 1
    return head, gained


@jit
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


@jit
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
        elif wait <= 0.0:
            break
    return spent, new, kept
