"""Greedy construction of a route (the paper's Greedy-PRS)."""

from __future__ import annotations

import numpy as np

from decost.kernels.profile import jit
from decost.problem.instance import Arrays, FloatArray, IntArray


@jit
def longest_service(arrays: Arrays, stop: int, time: float) -> tuple[float, float]:
    """Longest stay at a stop that begins at `time` and gets home, and its profit.

    A stay of -1 says that there is none.
    """
    latest = min(arrays.leave_by[stop], arrays.budget - arrays.travel[stop, arrays.end])
    rest = latest - time - arrays.min_stay[stop]
    if time > arrays.close[stop] + arrays.slack or rest < -arrays.slack:
        return -1.0, 0.0
    stay = arrays.min_stay[stop]
    profit = arrays.reward[stop]
    for piece in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        part = max(0.0, min(rest, arrays.piece_length[piece]))
        stay += part
        rest -= part
        profit += arrays.piece_rate[piece] * part
    return stay, profit


@jit
def profit_ratio_route(arrays: Arrays, free: IntArray, route: IntArray, stays: FloatArray) -> int:
    """Write a route, and its stays, that always goes where a full stay earns most per time.

    The ratio is the profit of the longest possible stay over travel + wait + that stay.
    `free` marks the stops that may be used (1) and is updated. Returns the number of stops.
    """
    place = 0
    count = 0
    time = 0.0
    while True:
        best = -1
        best_ratio = 0.0
        best_leave = best_stay = 0.0
        for stop in range(1, len(free)):
            if free[stop] == 0:
                continue
            begin = max(time + arrays.travel[place, stop], arrays.open[stop])
            stay, profit = longest_service(arrays, stop, begin)
            if stay < 0.0 or profit <= 0.0:
                continue
            spent = begin + stay - time
            ratio = profit / spent if spent > 0.0 else np.inf
            if ratio > best_ratio:
                best, best_ratio = stop, ratio
                best_leave, best_stay = begin + stay, stay
        if best < 0:
            return count
        route[count] = best
        stays[count] = best_stay
        count += 1
        free[best] = 0
        place, time = best, best_leave
