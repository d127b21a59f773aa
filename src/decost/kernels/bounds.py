"""Upper bounds on what a route can still earn, by dynamic programming over steps of time.

The relaxation lets a route come back to stops (but not to the one it has just left) and rounds
every time down to the grid. A stop that is visited more than once pays a penalty a visit, a
Lagrange multiplier; every penalty is given back once, so the bound stays valid for routes that
visit no stop twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.kernels.profile import jit
from decost.kernels.reduction import Core
from decost.problem.instance import FloatArray, IntArray

ARC_EPSILON = 1e-9
"""Share of a step by which a rounded-down length may exceed the exact one."""

DEADLINE_EPSILON = 1e-6
"""Share of a step that deadlines are put off for it; enough for a thousand lengths."""


class Grid(NamedTuple):
    """An instance on the grid: all times in steps of `step`."""

    step: float
    first: IntArray
    last: IntArray
    last_leave: IntArray
    last_home: IntArray
    arc: IntArray
    gain_start: IntArray
    gain: FloatArray
    block: int
    group: IntArray


class Bounds(NamedTuple):
    """For a start of service at stop j in step b or later: the best penalised profit from then on.

    `second` is the best that does not go on to `successor`, which is where `best` leads
    (-1: home, -2: not known).
    """

    step: float
    best: FloatArray
    second: FloatArray
    successor: IntArray
    penalty: FloatArray
    penalised: IntArray
    root: FloatArray


@jit
def no_bounds() -> Bounds:
    """Stand in for bounds where there are none."""
    return Bounds(
        1.0,
        np.empty((0, 0)),
        np.empty((0, 0)),
        np.empty((0, 0), dtype=np.int64),
        np.empty(0),
        np.empty(0, dtype=np.int64),
        np.full(1, np.inf),
    )


@jit
def make_grid(core: Core, steps: int) -> Grid:
    """Round an instance to about the given number of steps, to the safe side."""
    count = len(core.stop)
    step = core.budget / steps
    if step <= 0.0:
        step = 1.0
    first = np.empty(count, dtype=np.int64)
    last = np.empty(count, dtype=np.int64)
    last_leave = np.empty(count, dtype=np.int64)
    last_home = np.empty(count, dtype=np.int64)
    arc = np.empty((count, count), dtype=np.int64)
    gain_start = np.zeros(count + 1, dtype=np.int64)
    block = 1 << 30
    for j in range(count):
        first[j] = int(np.floor(core.early[j] / step + ARC_EPSILON))
        first[j] = max(0, first[j])
        last[j] = int(np.floor((core.late[j] + core.slack) / step + DEADLINE_EPSILON))
        last[j] = max(first[j], last[j])
        end = core.budget - core.min_stay[j] - core.home[j] + core.slack
        last_home[j] = int(np.floor(end / step + DEADLINE_EPSILON))
        end = min(core.leave_by[j], core.budget) - core.min_stay[j] + core.slack
        last_leave[j] = int(np.floor(end / step + DEADLINE_EPSILON))
        length = 0.0
        for k in range(core.piece_start[j], core.piece_start[j + 1]):
            length += core.piece_length[k]
        gain_start[j + 1] = gain_start[j] + 1 + int(np.floor(min(length, core.budget) / step))
        for k in range(count):
            time = core.min_stay[j] + core.travel[j, k]
            arc[j, k] = int(np.floor(time / step + ARC_EPSILON))
    gain = np.empty(gain_start[count])
    group = np.arange(count)
    for j in range(count):
        steps_here = gain_start[j + 1] - gain_start[j]
        for x in range(steps_here):
            time = (x + 1) * step
            profit = core.reward[j]
            for k in range(core.piece_start[j], core.piece_start[j + 1]):
                part = min(time, core.piece_length[k])
                profit += core.piece_rate[k] * part
                time -= part
            gain[gain_start[j] + x] = profit
        for a in range(core.next_start[j], core.next_start[j + 1]):
            k = core.next_stop[a]
            if arc[j, k] > 0:
                block = min(block, arc[j, k])
            elif group[j] != group[k]:
                old = max(group[j], group[k])
                new = min(group[j], group[k])
                for i in range(count):
                    if group[i] == old:
                        group[i] = new
    return Grid(
        step, first, last, last_leave, last_home, arc, gain_start, gain, min(block, steps), group
    )


@jit
def make_bounds(core: Core, grid: Grid, penalty: FloatArray) -> Bounds:
    """Compute the bounds for given penalties, from the latest step to the first."""
    count = len(core.stop)
    size = 0
    for j in range(count):
        size = max(size, grid.last[j] + 1)
    longest = 1
    for j in range(count):
        longest = max(longest, grid.gain_start[j + 1] - grid.gain_start[j])
    size = size + longest
    # Row j, step b: best and second best from leaving j (less its shortest stay) at step b ...
    go_best = np.full((count, size), -np.inf)
    go_second = np.full((count, size), -np.inf)
    go_next = np.full((count, size), np.int64(-1))
    # ... and from starting service at j.
    best = np.full((count, size), -np.inf)
    second = np.full((count, size), -np.inf)
    successor = np.full((count, size), np.int64(-1))
    grouped = False
    for j in range(count):
        grouped = grouped or grid.group[j] != j
    top = size
    while top > 0:
        low = max(0, top - (1 if grouped else grid.block))
        for j in range(count):
            end = min(top, grid.last_leave[j] + 1)
            for b in range(low, min(end, grid.last_home[j] + 1)):
                go_best[j, b] = 0.0
            for a in range(core.next_start[j], core.next_start[j + 1]):
                k = core.next_stop[a]
                shift = grid.arc[j, k]
                if shift == 0:
                    continue
                for b in range(max(low, 0), min(end, grid.last[k] + 1 - shift)):
                    value = best[k, b + shift]
                    if successor[k, b + shift] == j:
                        value = second[k, b + shift]
                    if value > go_best[j, b]:
                        go_second[j, b] = go_best[j, b]
                        go_best[j, b] = value
                        go_next[j, b] = k
                    elif value > go_second[j, b]:
                        go_second[j, b] = value
        if grouped:
            mix_groups(core, grid, penalty, low, top, go_best, go_second, go_next)
        for j in range(count):
            begin = grid.gain_start[j]
            width = grid.gain_start[j + 1] - begin
            for b in range(top - 1, low - 1, -1):
                if b > grid.last[j]:
                    continue
                if b < grid.first[j]:
                    best[j, b] = best[j, b + 1]
                    second[j, b] = second[j, b + 1]
                    successor[j, b] = successor[j, b + 1]
                    continue
                high = -np.inf
                other = -np.inf
                to = np.int64(-1)
                for x in range(width):
                    value = grid.gain[begin + x] + go_best[j, b + x]
                    if value > high:
                        if go_next[j, b + x] != to:
                            other = high
                        high = value
                        to = go_next[j, b + x]
                    elif value > other and go_next[j, b + x] != to:
                        other = value
                    other = max(other, grid.gain[begin + x] + go_second[j, b + x])
                best[j, b] = high - penalty[j]
                second[j, b] = other - penalty[j]
                successor[j, b] = to
        top = low
    root = np.zeros(1)
    for a in range(core.next_start[count], core.next_start[count + 1]):
        k = core.next_stop[a]
        b = int(np.floor(core.travel[count, k] / grid.step + ARC_EPSILON))
        if b < size:
            root[0] = max(root[0], best[k, b])
    root[0] += penalty.sum()
    penalised = np.flatnonzero(penalty > 0.0)
    return Bounds(grid.step, best, second, successor, penalty, penalised, root)


@jit
def mix_groups(
    core: Core,
    grid: Grid,
    penalty: FloatArray,
    low: int,
    top: int,
    go_best: FloatArray,
    go_second: FloatArray,
    go_next: IntArray,
) -> None:
    """Let a route pass between stops that are no step apart, as if it served all of them."""
    count = len(core.stop)
    for leader in range(count):
        members = 0
        everything = 0.0
        for i in range(count):
            if grid.group[i] == leader:
                members += 1
                everything += max(0.0, grid.gain[grid.gain_start[i + 1] - 1] - penalty[i])
        if members < 2:
            continue
        for b in range(low, top):
            away = -np.inf
            for i in range(count):
                if grid.group[i] == leader:
                    away = max(away, go_best[i, b])
            for i in range(count):
                if grid.group[i] == leader:
                    full = grid.gain[grid.gain_start[i + 1] - 1]
                    value = away + everything - max(0.0, full - penalty[i])
                    if value > go_best[i, b]:
                        go_best[i, b] = value
                        go_next[i, b] = -2
                    go_second[i, b] = max(go_second[i, b], value)


@jit
def count_visits(core: Core, grid: Grid, bounds: Bounds, visits: IntArray) -> int:
    """Count how often the best relaxed route visits each stop; return its length."""
    count = len(core.stop)
    visits[:] = 0
    size = bounds.best.shape[1]
    high = 0.0
    at = -1
    b = 0
    for a in range(core.next_start[count], core.next_start[count + 1]):
        k = core.next_stop[a]
        start = int(np.floor(core.travel[count, k] / grid.step + ARC_EPSILON))
        if start < size and bounds.best[k, start] > high:
            high = bounds.best[k, start]
            at = k
            b = start
    before = -1
    length = 0
    while at >= 0 and length < 10000:
        visits[at] += 1
        length += 1
        b = max(b, grid.first[at])
        high = -np.inf
        to = -1
        to_step = 0
        for x in range(grid.gain_start[at + 1] - grid.gain_start[at]):
            if b + x > grid.last_leave[at]:
                break
            gain = grid.gain[grid.gain_start[at] + x]
            if b + x <= grid.last_home[at] and gain > high:
                high = gain
                to = -1
            for a in range(core.next_start[at], core.next_start[at + 1]):
                k = core.next_stop[a]
                step = b + x + grid.arc[at, k]
                if k == before or grid.arc[at, k] == 0 or step >= size:
                    continue
                value = gain + bounds.best[k, step]
                if bounds.successor[k, step] == at:
                    value = gain + bounds.second[k, step]
                if value > high:
                    high = value
                    to = k
                    to_step = step
        before = at
        at = to
        b = to_step
    return length


@jit
def improve_penalties(
    core: Core, grid: Grid, penalty: FloatArray, state: FloatArray, target: float, vehicles: int
) -> Bounds:
    """Compute the bounds for the penalties, and move these by a subgradient step.

    `state` holds the step size, the best bound so far and the rounds since it improved; start
    with 1, infinity and 0. `target` is the profit of a plan, towards which the bound moves. With
    several vehicles, that is the bound on the profit of all: every one of them pays penalties,
    which are given back once.
    """
    bounds = make_bounds(core, grid, penalty.copy())
    paid = penalty.sum()
    root = vehicles * (bounds.root[0] - paid) + paid
    if root < state[1] - 1e-9 * abs(root):
        state[1] = root
        state[2] = 0.0
    else:
        state[2] += 1.0
        if state[2] >= 5.0:
            state[0] *= 0.7
            state[2] = 0.0
    visits = np.zeros(len(core.stop), dtype=np.int64)
    count_visits(core, grid, bounds, visits)
    norm = 0.0
    for i in range(len(visits)):
        if vehicles * visits[i] > 1 or (visits[i] == 0 and penalty[i] > 0.0):
            norm += (vehicles * visits[i] - 1.0) ** 2
    if norm == 0.0:  # the relaxed route is a true one: no penalty can help
        state[0] = 0.0
    else:
        size = state[0] * max(root - target, 1e-3 * root) / norm
        for i in range(len(visits)):
            penalty[i] = max(0.0, penalty[i] + size * (vehicles * visits[i] - 1.0))
    return bounds
