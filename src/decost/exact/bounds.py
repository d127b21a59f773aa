"""Upper bounds on what a route can still earn, by dynamic programming over steps of time.

The relaxation lets a route come back to stops (but not to the one it has just left, by whichever
alternative) and rounds every time down to the grid. A stop that is visited more than once pays a
penalty a visit, a Lagrange multiplier; every penalty is given back once, so the bound stays valid
for routes that visit no stop twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.exact.graph import Graph
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.profile import best_part
from decost.timeline.steps import travel_time

ARC_EPSILON = 1e-9
"""Share of a step by which a rounded-down length may exceed the exact one."""

DEADLINE_EPSILON = 1e-6
"""Share of a step that deadlines are put off for it; enough for a thousand lengths."""

LONGEST_ROUTE = 10_000
"""Most visits of a relaxed route that are counted."""


class Grid(NamedTuple):
    """A network on the grid: all times in steps of `step` from `begin` on.

    By node: the `first` and `last` step of a start of service, and the last one from which it can
    be left at all (less its shortest stay), and left for the end. `arc` is the time from the end of
    the shortest stay at one node to another. A stay of x to x + 1 steps beyond the shortest gains
    no more than `gain[gain_start[j] + x]`. Arcs of positive length have `block` steps at least;
    nodes of one `group` are no step apart.
    """

    begin: float
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
    """For a start of service at node j in step b or later: the best penalised profit from then on.

    `second` is the best that does not go on to the stop `successor`, which is where `best` leads
    (-1: the end, -2: not known). Penalties are by stop; `penalised` are those that pay any.
    """

    begin: float
    step: float
    best: FloatArray
    second: FloatArray
    successor: IntArray
    penalty: FloatArray
    penalised: IntArray
    root: FloatArray


class Going(NamedTuple):
    """The same for leaving node j in step b, counted as if its shortest stay took no time."""

    best: FloatArray
    second: FloatArray
    successor: IntArray


@jit
def no_bounds() -> Bounds:
    """Stand in for bounds where there are none."""
    return Bounds(
        begin=0.0,
        step=1.0,
        best=np.empty((0, 0)),
        second=np.empty((0, 0)),
        successor=np.empty((0, 0), dtype=np.int64),
        penalty=np.empty(0),
        penalised=np.empty(0, dtype=np.int64),
        root=np.full(1, np.inf),
    )


@jit
def make_grid(network: Network, graph: Graph, steps: int) -> Grid:
    """Round a network to about the given number of steps, to the safe side."""
    nodes, node, slack = len(network.node), network.node, network.slack
    begin, due = node[network.start].open, node[network.end].latest
    step = (due - begin) / steps
    if step <= 0.0:
        step = 1.0
    first = np.zeros(nodes, dtype=np.int64)
    last = np.zeros(nodes, dtype=np.int64)
    last_leave = np.zeros(nodes, dtype=np.int64)
    last_home = np.zeros(nodes, dtype=np.int64)
    arc = np.zeros((nodes, nodes), dtype=np.int64)
    gain_start = np.zeros(nodes + 1, dtype=np.int64)
    for j in range(nodes):
        here = node[j]
        stay = here.min_stay
        first[j] = max(0, int(np.floor((here.open - begin) / step + ARC_EPSILON)))
        last[j] = int(np.floor((here.latest + slack - begin) / step + DEADLINE_EPSILON))
        last[j] = max(first[j], last[j])
        late = due - stay - travel_time(network, j, network.end) + slack
        last_home[j] = int(np.floor((late - begin) / step + DEADLINE_EPSILON))
        late = min(here.leave_by, due) - stay + slack
        last_leave[j] = int(np.floor((late - begin) / step + DEADLINE_EPSILON))
        length = 0.0
        for k in range(here.piece_first, here.piece_last):
            length += network.pieces[k, 1]
        gain_start[j + 1] = gain_start[j] + 1 + int(np.floor(min(length, due - begin) / step))
        for k in range(nodes):
            arc[j, k] = int(np.floor((stay + travel_time(network, j, k)) / step + ARC_EPSILON))
    gain = np.empty(gain_start[nodes])
    for j in range(nodes):
        here = node[j]
        pieces = here.piece_last - here.piece_first
        for x in range(gain_start[j + 1] - gain_start[j]):
            more = best_part(network.pieces, here.piece_first, pieces, (x + 1) * step)
            gain[gain_start[j] + x] = here.reward + more
    block, group = group_nodes(network, graph, arc)
    return Grid(
        begin=begin,
        step=step,
        first=first,
        last=last,
        last_leave=last_leave,
        last_home=last_home,
        arc=arc,
        gain_start=gain_start,
        gain=gain,
        block=min(block, steps),
        group=group,
    )


@jit
def group_nodes(network: Network, graph: Graph, arc: IntArray) -> tuple[int, IntArray]:
    """Find the shortest arc that has any length, and groups of nodes that are no step apart."""
    block = 1 << 30
    group = np.arange(len(network.node))
    for j in range(1, network.alternatives + 1):
        for a in range(graph.first[j], graph.first[j + 1]):
            k = graph.head[a]
            if arc[j, k] > 0:
                block = min(block, arc[j, k])
            elif group[j] != group[k]:
                old = max(group[j], group[k])
                new = min(group[j], group[k])
                for i in range(len(group)):
                    if group[i] == old:
                        group[i] = new
    return block, group


@jit
def make_bounds(network: Network, graph: Graph, grid: Grid, penalty: FloatArray) -> Bounds:
    """Compute the bounds for given penalties, from the latest step to the first."""
    nodes, count = len(network.node), network.alternatives
    size = longest = 1
    grouped = False
    for j in range(1, count + 1):
        size = max(size, grid.last[j] + 1)
        longest = max(longest, grid.gain_start[j + 1] - grid.gain_start[j])
        grouped = grouped or grid.group[j] != j
    size = size + longest
    going = Going(
        best=np.full((nodes, size), -np.inf),
        second=np.full((nodes, size), -np.inf),
        successor=np.full((nodes, size), np.int64(-1)),
    )
    bounds = Bounds(
        begin=grid.begin,
        step=grid.step,
        best=np.full((nodes, size), -np.inf),
        second=np.full((nodes, size), -np.inf),
        successor=np.full((nodes, size), np.int64(-1)),
        penalty=penalty,
        penalised=np.flatnonzero(penalty > 0.0),
        root=np.zeros(1),
    )
    top = size
    while top > 0:
        low = max(0, top - (1 if grouped else grid.block))
        for j in range(1, count + 1):
            leave(network, graph, grid, bounds, going, j, low, top)
        if grouped:
            join_groups(network, grid, penalty, going, low, top)
        for j in range(1, count + 1):
            stay(network, grid, bounds, going, j, low, top)
        top = low
    for a in range(graph.first[network.start], graph.first[network.start + 1]):
        k = graph.head[a]
        b = first_step(network, grid, k)
        if b < size:
            bounds.root[0] = max(bounds.root[0], bounds.best[k, b])
    bounds.root[0] += penalty.sum()
    return bounds


@lean
def first_step(network: Network, grid: Grid, node: int) -> int:
    """Step in which a node is reached straight from the start."""
    time = travel_time(network, network.start, node)
    return int(np.floor(time / grid.step + ARC_EPSILON))


@lean
def leave(
    network: Network,
    graph: Graph,
    grid: Grid,
    bounds: Bounds,
    going: Going,
    j: int,
    low: int,
    top: int,
) -> None:
    """Write the best and second best of leaving node j in steps `low` to `top - 1`."""
    best, second, successor = bounds.best, bounds.second, bounds.successor
    go_best, go_second, go_to = going.best, going.second, going.successor
    here = network.stop[j]
    end = min(top, grid.last_leave[j] + 1)
    for b in range(low, min(end, grid.last_home[j] + 1)):
        go_best[j, b] = 0.0
    for a in range(graph.first[j], graph.first[j + 1]):
        k = graph.head[a]
        shift = grid.arc[j, k]
        if shift == 0:
            continue
        to = network.stop[k]
        for b in range(low, min(end, grid.last[k] + 1 - shift)):
            value = best[k, b + shift]
            if successor[k, b + shift] == here:
                value = second[k, b + shift]
            if value > go_best[j, b]:
                if go_to[j, b] != to:
                    go_second[j, b] = go_best[j, b]
                    go_to[j, b] = to
                go_best[j, b] = value
            elif value > go_second[j, b] and go_to[j, b] != to:
                go_second[j, b] = value


@lean
def stay(
    network: Network, grid: Grid, bounds: Bounds, going: Going, j: int, low: int, top: int
) -> None:
    """Write the bounds of starting service at node j in steps `low` to `top - 1`."""
    best, second, successor = bounds.best, bounds.second, bounds.successor
    penalty = bounds.penalty[network.stop[j]]
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
            value = grid.gain[begin + x] + going.best[j, b + x]
            if value > high:
                if going.successor[j, b + x] != to:
                    other = high
                high = value
                to = going.successor[j, b + x]
            elif value > other and going.successor[j, b + x] != to:
                other = value
            other = max(other, grid.gain[begin + x] + going.second[j, b + x])
        best[j, b] = high - penalty
        second[j, b] = other - penalty
        successor[j, b] = to


@jit
def join_groups(
    network: Network,
    grid: Grid,
    penalty: FloatArray,
    going: Going,
    low: int,
    top: int,
) -> None:
    """Let a route pass between nodes that are no step apart, as if it served all of them."""
    count = network.alternatives
    most = np.zeros(count + 1)
    for i in range(1, count + 1):
        full = grid.gain[grid.gain_start[i + 1] - 1]
        most[i] = max(0.0, full - penalty[network.stop[i]])
    for leader in range(1, count + 1):
        members = 0
        everything = 0.0
        for i in range(1, count + 1):
            if grid.group[i] == leader:
                members += 1
                everything += most[i]
        if members < 2:
            continue
        for b in range(low, top):
            away = -np.inf
            for i in range(1, count + 1):
                if grid.group[i] == leader:
                    away = max(away, going.best[i, b])
            for i in range(1, count + 1):
                if grid.group[i] == leader:
                    value = away + everything - most[i]
                    if value > going.best[i, b]:
                        going.best[i, b] = value
                        going.successor[i, b] = -2
                    going.second[i, b] = max(going.second[i, b], value)


@jit
def count_visits(network: Network, graph: Graph, grid: Grid, bounds: Bounds) -> IntArray:
    """Count how often the best relaxed route visits each stop."""
    visits = np.zeros(len(network.number), dtype=np.int64)
    size = bounds.best.shape[1]
    high = 0.0
    at = -1
    b = 0
    for a in range(graph.first[network.start], graph.first[network.start + 1]):
        k = graph.head[a]
        start = first_step(network, grid, k)
        if start < size and bounds.best[k, start] > high:
            high = bounds.best[k, start]
            at = k
            b = start
    before = -1
    for _ in range(LONGEST_ROUTE):
        if at < 0:
            break
        visits[network.stop[at]] += 1
        to, step = next_visit(network, graph, grid, bounds, at, max(b, grid.first[at]), before)
        before, at, b = network.stop[at], to, step
    return visits


@lean
def next_visit(
    network: Network, graph: Graph, grid: Grid, bounds: Bounds, at: int, b: int, before: int
) -> tuple[int, int]:
    """Where the best relaxed route goes on to from a node, and in which step; -1 is the end.

    It comes from the stop `before`.
    """
    size = bounds.best.shape[1]
    high = -np.inf
    to, to_step = -1, 0
    for x in range(grid.gain_start[at + 1] - grid.gain_start[at]):
        if b + x > grid.last_leave[at]:
            break
        gain = grid.gain[grid.gain_start[at] + x]
        if b + x <= grid.last_home[at] and gain > high:
            high = gain
            to = -1
        for a in range(graph.first[at], graph.first[at + 1]):
            k = graph.head[a]
            step = b + x + grid.arc[at, k]
            if network.stop[k] == before or grid.arc[at, k] == 0 or step >= size:
                continue
            value = gain + bounds.best[k, step]
            if bounds.successor[k, step] == network.stop[at]:
                value = gain + bounds.second[k, step]
            if value > high:
                high = value
                to = k
                to_step = step
    return to, to_step


@jit
def improve_penalties(
    network: Network,
    graph: Graph,
    grid: Grid,
    penalty: FloatArray,
    state: FloatArray,
    target: float,
) -> Bounds:
    """Compute the bounds for the penalties, and move these by a subgradient step.

    `target` is the value of a route, towards which the bound moves; for `state` see
    `move_penalties`.
    """
    bounds = make_bounds(network, graph, grid, penalty.copy())
    visits = count_visits(network, graph, grid, bounds)
    move_penalties(penalty, state, bounds.root[0], visits, target)
    return bounds


@lean
def move_penalties(
    penalty: FloatArray, state: FloatArray, bound: float, visits: IntArray, target: float
) -> None:
    """Move penalties by a subgradient step, by how often relaxed routes visit stops.

    `state` holds the step size, the best bound so far and the rounds since it improved; start
    with 1, infinity and 0. If visits are those of several vehicles, the bound is that on all of
    them: every one pays penalties, which are given back once.
    """
    if bound < state[1] - 1e-9 * abs(bound):
        state[1] = bound
        state[2] = 0.0
    else:
        state[2] += 1.0
        if state[2] >= 5.0:
            state[0] *= 0.7
            state[2] = 0.0
    norm = 0.0
    for i in range(len(visits)):
        if visits[i] > 1 or (visits[i] == 0 and penalty[i] > 0.0):
            norm += (visits[i] - 1.0) ** 2
    if norm == 0.0:  # the relaxed routes are true ones: no penalty can help
        state[0] = 0.0
    else:
        size = state[0] * max(bound - target, 1e-3 * bound) / norm
        for i in range(len(visits)):
            penalty[i] = max(0.0, penalty[i] + size * (visits[i] - 1.0))
