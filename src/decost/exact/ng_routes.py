"""Sharper bounds: relaxed routes on a grid that remember some of the stops that they visit.

After Baldacci, Mingozzi and Roberti, "New route relaxation and pricing strategies for the vehicle
routing problem" (Operations Research, 2011): every node remembers a few stops near it, its
neighbours (ng), and a route comes back to a stop only by way of a node that does not remember it.
Nodes learn stops to which the best relaxed routes come back all the same (Roberti and Mingozzi,
"Dynamic ng-path relaxation for the delivery man problem", 2014).

The routes are made from their ends: what a node remembers is which stops come after it. So a
label that has visited such a stop cannot go on like that, which `Bounds` say of one stop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.compiling import clock
from decost.exact.bounds import LONGEST_ROUTE, Bounds, Grid, first_step, make_grid, move_penalties
from decost.exact.exact import LAST_STEP, Ascent, Problem, rounded
from decost.exact.graph import Graph
from decost.method.deadline import Deadline
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.steps import earliest, in_time, travel_time

FIRST_MEMORY, MOST_MEMORY = 4, 8
"""How many stops a node remembers at first and at last."""

READY = 0.02
"""Step size of the penalties below which nodes begin to remember, or learn more stops."""

STEP = 0.2
"""Step size of the penalties then."""

MORE_TIME = 4.0
"""How much more time the bounds get then."""

FIRST_TIME = 6.0
"""How much more time than it was given the first round may take."""

PATIENCE = 40
"""Rounds without a better bound after which there is none to be expected."""

ROUNDS = 12
"""Most rounds until nodes learn more stops."""

TABLE_BYTES = 2**28
"""Most bytes of tables; sets how fine the grid is."""

STAY_WORK = 4e8
"""Most stays that are tried in a round; sets it, too."""

USUAL_SETS = 40
"""Sets of a node, on average, for which there is room then."""

SET_TIME = 1.5e-9
"""Seconds for a step of a set along an arc, about."""

LEAST_STEPS = 200
"""Steps of the grid below which it is not worth while."""


class Memories(NamedTuple):
    """What nodes remember.

    Node j remembers `stops[j, : size[j]]`. What of them comes after it is a set of bits, and for
    such sets the node has rows `base[j]` to `base[j + 1] - 1` in tables. `before[a, s]` is the set
    of the tail of an arc if s is that of its head, -1 if the tail's stop comes again.
    """

    stops: IntArray  # (node, place)
    size: IntArray  # (node,)
    base: IntArray  # (node + 1,)
    before: IntArray  # (arc, set)


class Learnt(NamedTuple):
    """The stops that nodes remember: node j those of `stops[j, : size[j]]`."""

    stops: IntArray  # (node, place)
    size: IntArray  # (node,)


@jit
def near_stops(network: Network, most: int) -> tuple[IntArray, IntArray]:
    """List for each node the stops from which one comes back soonest by way of it."""
    nodes, stops = len(network.node), len(network.number)
    near = np.full((nodes, MOST_MEMORY), -1)
    size = np.zeros(nodes, dtype=np.int64)
    ways = np.empty(stops)
    for j in range(1, network.alternatives + 1):
        ways[:] = np.inf
        for i in range(1, network.alternatives + 1):
            s = network.stop[i]
            if s == network.stop[j]:
                continue
            time = network.node[i].open + network.node[i].min_stay
            time = earliest(network, i, time, j) + network.node[j].min_stay
            if in_time(network, i, earliest(network, j, time, i)):
                way = travel_time(network, i, j) + network.node[j].min_stay
                ways[s] = min(ways[s], way + travel_time(network, j, i))
        for _ in range(min(most, stops)):
            s = int(np.argmin(ways))
            if ways[s] == np.inf:
                break
            near[j, size[j]] = s
            size[j] += 1
            ways[s] = np.inf
    return near, size


@jit
def make_memories(network: Network, graph: Graph, stops: IntArray, size: IntArray) -> Memories:
    """Work out what is remembered along each arc."""
    nodes = len(network.node)
    base = np.zeros(nodes + 1, dtype=np.int64)
    for j in range(nodes):
        base[j + 1] = base[j] + (1 << size[j])
    before = np.full((len(graph.head), 1 << stops.shape[1]), np.int64(-1))
    bit = np.empty(stops.shape[1], dtype=np.int64)
    for j in range(1, network.alternatives + 1):
        for a in range(graph.first[j], graph.first[j + 1]):
            k = graph.head[a]
            if network.stop[k] < 0 or network.stop[k] == network.stop[j]:
                continue
            head = bit_of(stops, size, j, network.stop[k])
            mine = bit_of(stops, size, k, network.stop[j])
            for q in range(size[k]):
                bit[q] = bit_of(stops, size, j, stops[k, q])
            for s in range(1 << size[k]):
                if s & mine:
                    continue
                before[a, s] = head
                for q in range(size[k]):
                    if s >> q & 1:
                        before[a, s] |= bit[q]
    return Memories(stops, size, base, before)


@lean
def bit_of(stops: IntArray, size: IntArray, node: int, stop: int) -> int:
    """Give the bit of a stop that a node remembers, 0 if it does not."""
    bit = 0
    for q in range(size[node]):
        if stops[node, q] == stop:
            bit = 1 << q
    return bit


@jit
def fill_tables(
    network: Network,
    graph: Graph,
    grid: Grid,
    penalty: FloatArray,
    memories: Memories,
    value: FloatArray,
    going: FloatArray,
) -> None:
    """Write the best penalised profit from each node, set and step on, from the latest step.

    `value` is for the start of service in a step or later, `going` for leaving in that step. A set
    that is no better than a part of it is left out.
    """
    count = network.alternatives
    rows, steps = value.shape
    value[:] = -np.inf
    going[:] = -np.inf
    last_live = np.full(rows, -1)
    live = np.empty(rows, dtype=np.int64)
    known = np.zeros(count + 1, dtype=np.int64)
    part = np.empty(1 << memories.stops.shape[1])
    grouped = False
    for j in range(1, count + 1):
        grouped = grouped or grid.group[j] != j
    top = steps
    while top > 0:
        low = max(0, top - (1 if grouped else grid.block))
        for j in range(1, count + 1):
            leave_sets(
                network, graph, grid, memories, value, going, live, known, last_live, j, low, top
            )
        if grouped:
            join_group_sets(network, grid, penalty, memories, going, low, top)
        for j in range(1, count + 1):
            base = memories.base[j]
            sets = memories.base[j + 1] - base
            first_gain = grid.gain_start[j]
            width = grid.gain_start[j + 1] - first_gain
            pay = penalty[network.stop[j]]
            for b in range(min(top - 1, grid.last[j]), low - 1, -1):
                if b < grid.first[j]:
                    for s in range(sets):
                        value[base + s, b] = value[base + s, b + 1]
                    continue
                for s in range(sets):
                    most = -np.inf
                    for x in range(width):
                        most = max(most, grid.gain[first_gain + x] + going[base + s, b + x])
                    most -= pay
                    less = -np.inf
                    for q in range(memories.size[j]):
                        if s >> q & 1:
                            less = max(less, part[s ^ (1 << q)])
                    part[s] = max(most, less)
                    if most > less:
                        value[base + s, b] = most
                        if last_live[base + s] < 0:
                            last_live[base + s] = b
                            live[base + known[j]] = s
                            known[j] += 1
        top = low


@lean
def leave_sets(
    network: Network,
    graph: Graph,
    grid: Grid,
    memories: Memories,
    value: FloatArray,
    going: FloatArray,
    live: IntArray,
    known: IntArray,
    last_live: IntArray,
    j: int,
    low: int,
    top: int,
) -> None:
    """Write the best of leaving node j in steps `low` to `top - 1`, by what comes after it."""
    mine = memories.base[j]
    end = min(top, grid.last_leave[j] + 1)
    for b in range(low, min(end, grid.last_home[j] + 1)):
        going[mine, b] = 0.0
    for a in range(graph.first[j], graph.first[j + 1]):
        k = graph.head[a]
        shift = grid.arc[j, k]
        until = min(end, grid.last[k] + 1 - shift)
        if shift == 0 or until <= low:
            continue
        base = memories.base[k]
        for number in range(known[k]):
            s = live[base + number]
            to = memories.before[a, s]
            if to < 0 or last_live[base + s] < low + shift:
                continue
            for b in range(low, until):
                going[mine + to, b] = max(going[mine + to, b], value[base + s, b + shift])


@jit
def join_group_sets(
    network: Network,
    grid: Grid,
    penalty: FloatArray,
    memories: Memories,
    going: FloatArray,
    low: int,
    top: int,
) -> None:
    """Let a route pass between nodes that are no step apart, as if it served all of them.

    Nothing of what comes then is remembered.
    """
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
                    for row in range(memories.base[i], memories.base[i + 1]):
                        away = max(away, going[row, b])
            for i in range(1, count + 1):
                if grid.group[i] == leader:
                    row = memories.base[i]
                    going[row, b] = max(going[row, b], away + everything - most[i])


@jit
def best_relaxed_route(
    network: Network, graph: Graph, grid: Grid, memories: Memories, value: FloatArray
) -> tuple[float, IntArray]:
    """Find the best relaxed route: what it earns less its penalties, and its nodes.

    A route that passes through nodes no step apart may be cut short.
    """
    steps = value.shape[1]
    nodes = np.empty(LONGEST_ROUTE, dtype=np.int64)
    high, at, b, now = 0.0, -1, 0, 0
    for a in range(graph.first[network.start], graph.first[network.start + 1]):
        k = graph.head[a]
        step = first_step(network, grid, k)
        if step < steps:
            for s in range(memories.base[k + 1] - memories.base[k]):
                if value[memories.base[k] + s, step] > high:
                    high, at, b, now = value[memories.base[k] + s, step], k, step, s
    most = high
    length = 0
    while at >= 0 and length < LONGEST_ROUTE:
        nodes[length] = at
        length += 1
        b = max(b, grid.first[at])
        high = -np.inf
        to, to_step, to_set = -1, 0, 0
        for x in range(grid.gain_start[at + 1] - grid.gain_start[at]):
            if b + x > grid.last_leave[at]:
                break
            gain = grid.gain[grid.gain_start[at] + x]
            if now == 0 and b + x <= grid.last_home[at] and gain > high:
                high, to = gain, -1
            for a in range(graph.first[at], graph.first[at + 1]):
                k = graph.head[a]
                step = b + x + grid.arc[at, k]
                if grid.arc[at, k] == 0 or step >= steps:
                    continue
                for s in range(memories.base[k + 1] - memories.base[k]):
                    if memories.before[a, s] == now:
                        profit = gain + value[memories.base[k] + s, step]
                        if profit > high:
                            high, to, to_step, to_set = profit, k, step, s
        at, b, now = to, to_step, to_set
    return most, nodes[:length].copy()


@jit
def learn_cycles(
    network: Network, route: IntArray, stops: IntArray, size: IntArray, most_rows: int
) -> bool:
    """Let the nodes between two visits of a stop remember it, unless their memory is full.

    So it is if tables would have more rows than `most_rows`.
    """
    last = np.full(len(network.number), -1)
    learnt = False
    rows = 0
    for node in range(len(size)):
        rows += 1 << size[node]
    for k in range(len(route)):
        stop = network.stop[route[k]]
        if last[stop] >= 0:
            room = True
            more = 0
            for between in range(last[stop] + 1, k):
                node = route[between]
                if bit_of(stops, size, node, stop) == 0:
                    room = room and size[node] < stops.shape[1]
                    more += 1 << size[node]
            if room and rows + more <= most_rows:
                for between in range(last[stop] + 1, k):
                    node = route[between]
                    if bit_of(stops, size, node, stop) == 0:
                        rows += 1 << size[node]
                        stops[node, size[node]] = stop
                        size[node] += 1
                        learnt = True
        last[stop] = k
    return learnt


@jit
def bounds_of_sets(
    network: Network,
    grid: Grid,
    memories: Memories,
    penalty: FloatArray,
    value: FloatArray,
    root: float,
) -> Bounds:
    """Make bounds of tables: the best of all sets, and the best without one of its stops.

    That stop is chosen so that the second is least.
    """
    nodes, steps = len(network.node), value.shape[1]
    best = np.full((nodes, steps), -np.inf)
    second = np.full((nodes, steps), -np.inf)
    successor = np.full((nodes, steps), np.int64(-1))
    for j in range(1, network.alternatives + 1):
        base = memories.base[j]
        sets = memories.base[j + 1] - base
        for b in range(steps):
            which = 0
            for s in range(sets):
                if value[base + s, b] > value[base + which, b]:
                    which = s
            best[j, b] = second[j, b] = value[base + which, b]
            for q in range(memories.size[j]):
                if which >> q & 1:
                    other = -np.inf
                    for s in range(sets):
                        if not s >> q & 1:
                            other = max(other, value[base + s, b])
                    if other < second[j, b]:
                        second[j, b], successor[j, b] = other, memories.stops[j, q]
    return Bounds(
        begin=grid.begin,
        step=grid.step,
        best=best,
        second=second,
        successor=successor,
        penalty=penalty,
        penalised=np.flatnonzero(penalty > 0.0),
        root=np.full(1, root),
    )


class NgAscent(Ascent):
    """Bounds that are improved as those of `Ascent` until that is slow, then by memories.

    Nodes begin with what they have `learnt` for a problem like this one. They remember `after` so
    many improvements of the bounds at the latest.
    """

    def __init__(
        self,
        problem: Problem,
        penalty: FloatArray,
        target: float,
        steps: int | None = None,
        learnt: Learnt | None = None,
        after: float = math.inf,
    ) -> None:
        super().__init__(problem, penalty, target, steps)
        self.learnt = learnt
        self.least_step = READY
        self._after = after
        self._tables: tuple[FloatArray, FloatArray] | None = None
        self._routes: list[IntArray] = []
        self._idle = 0
        self._done = False

    def improve(self, deadline: Deadline, target: float, grain: float = 0.0) -> None:
        """Move the penalties until a deadline, unless the bound meets a target before."""
        given = deadline.left
        if self._tables is None:
            self._after -= 1
            if self._after >= 0 or FIRST_TIME * given < self._first_seconds():
                super().improve(deadline, target, grain)
                if self._done or self._state[0] > READY or deadline.left <= 0:
                    return
            if not self._begin():
                self.least_step, self._done = LAST_STEP, True
                return
        elif given < self._seconds and math.isfinite(self._after):
            return
        found: tuple[float, FloatArray] | None = None
        while not self._done and deadline.left > 0 and rounded(self.bound, grain) > target:
            if deadline.whole.left < 3 * self._seconds:  # one for the tables of the best
                break
            begin = clock()
            bound, penalty = self._round(target)
            self._seconds = clock() - begin
            self._idle += 1
            if bound < (self.bound if found is None else found[0]):
                found, self._idle = (bound, penalty), 0
            self._done |= self._idle > PATIENCE
        self.patience = 1.0 if self._done else MORE_TIME
        if found is not None:
            self._take(*found)

    def _first_seconds(self) -> float:
        """Estimate how long a round takes at first."""
        rows = self._problem.network.alternatives << FIRST_MEMORY
        if self.learnt is not None:
            rows = int((1 << self.learnt.size).sum())
        return self._round_seconds(rows, self._table_steps())

    def _round_seconds(self, rows: int, steps: int) -> float:
        graph = self._problem.graph
        width = np.diff(self._grid.gain_start).max(initial=1)
        return SET_TIME * rows * steps * float(len(graph.head) / len(graph.first) + width)

    def _table_steps(self) -> int:
        """How fine the grid can be by the size of the tables."""
        rows = max(1, self._problem.network.alternatives) * USUAL_SETS
        return min(self._problem.grid_steps(), TABLE_BYTES // (16 * rows))

    def _begin(self) -> bool:
        """Let nodes remember; false if there is no room for tables."""
        network, graph = self._problem
        rows = max(1, network.alternatives) * USUAL_SETS
        steps = self._table_steps()
        while steps >= LEAST_STEPS:
            grid = make_grid(network, graph, steps)
            width = int(np.diff(grid.gain_start).max(initial=1))
            if rows * steps * width <= STAY_WORK:
                break
            steps = int(0.8 * steps)
        if steps < LEAST_STEPS or len(graph.head) << (MOST_MEMORY + 3) > TABLE_BYTES:
            return False
        self._grid = grid
        if self.learnt is None:
            self.learnt = Learnt(*near_stops(network, FIRST_MEMORY))
        self._penalty = self.bounds.penalty.copy()
        self._remember()
        return True

    def _remember(self) -> None:
        """Begin anew with what nodes remember now."""
        network, graph = self._problem
        assert self.learnt is not None
        stops, size = self.learnt.stops.copy(), self.learnt.size.copy()
        self._memories = make_memories(network, graph, stops, size)
        last = self._grid.last[1 : network.alternatives + 1].max(initial=0)
        steps = int(last + 1 + np.diff(self._grid.gain_start).max(initial=1))
        shape = int(self._memories.base[-1]), steps
        self._tables = np.empty(shape), np.empty(shape)
        self._state[:] = STEP, np.inf, 0.0
        self._routes = []
        self._seconds = self._round_seconds(*shape)

    def _fill(self, penalty: FloatArray) -> None:
        assert self._tables is not None
        fill_tables(*self._problem, self._grid, penalty, self._memories, *self._tables)

    def _take(self, bound: float, penalty: FloatArray) -> None:
        """Make bounds for labels of some penalties."""
        self._fill(penalty)
        parts = self._problem.network, self._grid, self._memories, penalty
        assert self._tables is not None
        self.bounds = bounds_of_sets(*parts, self._tables[0], bound)

    def _round(self, target: float) -> tuple[float, FloatArray]:
        """Compute the bound for the penalties, and move these by a subgradient step."""
        assert self._tables is not None
        assert self.learnt is not None
        if len(self._routes) == ROUNDS or self._state[0] <= READY:
            most = TABLE_BYTES // (16 * self._tables[0].shape[1])
            learnt = [
                learn_cycles(self._problem.network, route, *self.learnt, most)
                for route in self._routes
            ]
            if not any(learnt) and self._state[0] <= LAST_STEP:
                self._done = True
            if any(learnt):
                self._remember()
            self._routes = []
        penalty = self._penalty.copy()
        self._fill(penalty)
        parts = *self._problem, self._grid, self._memories
        profit, route = best_relaxed_route(*parts, self._tables[0])
        self._routes.append(route)
        bound = float(profit + penalty.sum())
        visits = np.bincount(self._problem.network.stop[route], minlength=len(penalty))
        move_penalties(self._penalty, self._state, bound, visits, target)
        return bound, penalty


def rehearse(problem: Problem) -> None:
    """Call every kernel."""
    ascent = NgAscent(problem, problem.penalties, 0.0)
    ascent._state[0] = 0.0
    ascent.improve(Deadline(60.0), -1.0)
    ascent._take(ascent.bound, ascent._penalty)  # no better bound may have been found
