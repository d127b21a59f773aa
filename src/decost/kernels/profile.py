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

jit = numba.njit(cache=True, nogil=True)


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
def total(rate: FloatArray, length: FloatArray, head: int, tail: int) -> float:
    """Profit of all pieces of the list."""
    profit = 0.0
    for k in range(head, tail):
        profit += rate[k] * length[k]
    return profit


@jit
def total_length(length: FloatArray, head: int, tail: int) -> float:
    """Time that all pieces of the list take."""
    time = 0.0
    for k in range(head, tail):
        time += length[k]
    return time
