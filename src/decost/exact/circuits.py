"""Proofs for one vehicle where windows hardly matter: branch and cut on the edges of its circuit.

Where a route is long and windows are wide, labels are too many; what limits a plan then is that it
is one circuit. So windows are forgotten. A linear program chooses shares of edges, stops and stays
within the time of the shift, and inequalities that circuits obey, but these shares do not, are
added (Fischetti, Salazar and Toth: Solving the orienteering problem through branch-and-cut,
1998). Edges that no better plan can use are left out, by their reduced costs. Times are not
rounded: stays are shares, too. A circuit that comes out is judged with all windows; if it earns
less then, this one circuit is forbidden.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from decost.compiling import clock
from decost.exact.circuit_program import Circuit, Cut, Prices, Program, Shares
from decost.exact.cuts import NOTHING, broken_subtours
from decost.exact.exact import Hear, Known, Problem, rounded
from decost.exact.tree import ACCURACY
from decost.method.deadline import Deadline
from decost.method.value import Scale
from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.plan import alternative_numbers
from decost.search.search import Searches
from decost.search.search import rehearse as rehearse_search
from decost.timeline.network import binding_windows
from decost.timeline.routes import best_solution, stays_along

BROKEN = 1e-4
"""Least amount by which an inequality that is added is broken."""

WHOLE = 1e-6
"""What a share may be off a whole number."""

NEAREST = 8
"""Edges from every stop that the first program has."""

PRICED = 300
"""Most edges that are added to a program at a time."""

SMALL_PROGRAM = 4_000
"""Most edges for which all that may be used are in the program of the tree."""

PURGE = 5
"""Rounds after which idle cuts are dropped."""

STALL, ROOT_STALL, LEAST_STEP = 6, 40, 0.02
"""Rounds in which the gap must shrink by so much of it, else branches are made."""

CANDIDATES, ITERATIONS = 5, 60
"""Stops, and edges, that are tried before one is branched on, and for how long."""


ROUNDS = 2_000
"""Rounds of a search for a plan to begin with, if nobody else looks for plans."""

MOST_STOPS = 1_000
"""Largest network that is tried; a larger program takes too long to be written and looked at."""

EDGE_TIME = 1.5e-6
"""Seconds to write the first program and to look at all edges once, at most, for each of them."""

FEW = 0.2
"""Largest share of alternatives with windows that matter for which circuits are tried."""


class Branch(NamedTuple):
    """Some of all circuits: shares that are fixed, by their keys, and a bound.

    A stop's key is its number from 0 on; keys of edges come behind those of all stops.
    """

    bound: float
    fixed: tuple[tuple[int, float], ...] = ()


def suits(instance: Instance, problem: Problem) -> bool:
    """Whether the best circuit is likely to be the best plan, or nearly as good."""
    if not 2 <= problem.network.alternatives <= MOST_STOPS:
        return False
    return float(binding_windows(instance.arrays, problem.network).mean()) <= FEW


def search_circuits(
    instance: Instance,
    problem: Problem,
    known: Known,
    seed: int,
    deadline: Deadline,
    better_plan: Hear | None = None,
) -> Iterator[None]:
    """Look for a good plan, unless somebody else does, and then for a proof.

    It yields whenever more may be known.
    """
    scale, network = Scale(instance), problem.network
    required = instance.required[instance.alternative_stop]

    def judge(route: list[int]) -> float:
        numbers = network.alternative[route]
        value = float(stays_along(instance, [numbers]).profit[0])
        value += scale.bonus * np.count_nonzero(required[numbers]) if scale.bonus else 0.0
        if value > known.value:
            known.route, known.value = numbers.tolist(), value
        return value

    seconds = EDGE_TIME * network.alternatives**2
    if better_plan is None:
        part = deadline.left / 4 if 2 * seconds < deadline.left else deadline.left
        _find_plan(instance, known, scale, seed, deadline.child(part))
        yield
    if seconds > deadline.left:
        return
    circuit = Circuit.of(network)
    if circuit.closed:  # a circuit of one stop has one edge twice
        for stop in range(1, circuit.stops + 1):
            judge([stop])
    rate = float(circuit.rate.max(initial=0.0))
    accuracy = ACCURACY * scale.most + 3 * rate * network.slack
    circuits = Circuits(circuit, known.value, problem.grain, accuracy, judge)
    for _ in circuits.run(deadline):
        better = better_plan(known.value) if better_plan is not None else None
        if better is not None:
            known.route, known.value = better
        circuits.value = max(circuits.value, known.value)
        known.bound = max(known.value, min(known.bound, circuits.bound))
        known.branches = circuits.branches
        yield
    known.bound = max(known.value, min(known.bound, circuits.bound))
    known.proven = circuits.proven


def _find_plan(
    instance: Instance, known: Known, scale: Scale, seed: int, deadline: Deadline
) -> None:
    """Search for a good plan in some rounds."""
    searches = Searches(instance, best_solution(instance, [known.route]), seed, 1)
    halt = np.zeros(1, dtype=np.uint8)
    deadline.run(lambda: searches.run(ROUNDS, halt), lambda: halt.fill(1))
    plan = searches.result().solution
    if scale.value(plan) > known.value:
        known.route = alternative_numbers(instance, plan.routes[0])
        known.value = scale.value(plan)


class Circuits:
    """The search for the best circuit; `value` is to be that of the best plan that anyone knows.

    Parameters
    ----------
    circuit
        What there is to choose from.
    value
        Value of the best plan so far.
    grain
        A number of which all values are multiples, 0 if there is none.
    accuracy
        By how much a bound may be above a value that counts as proven.
    judge
        Is told of a route of stops, from 1 on, and gives its value with all windows.
    """

    def __init__(
        self,
        circuit: Circuit,
        value: float,
        grain: float,
        accuracy: float,
        judge: Callable[[list[int]], float],
    ) -> None:
        self.value = value
        self.bound = math.inf
        self.branches = 0
        self._circuit = circuit
        self._grain = grain
        self._accuracy = accuracy
        self._judge = judge
        self._allowed = np.ones(len(circuit.tail), dtype=np.bool_)
        self._program = Program(circuit, self._first_edges(), self._allowed)
        self._given_up = -math.inf
        self._root: Prices | None = None
        self._lap = 0.0  # seconds from one solution of a program until the next is looked for

    def run(self, deadline: Deadline) -> Iterator[None]:
        """Look for better circuits until none can be better; yield whenever more is known."""
        count = 0
        heap = [(-math.inf, count, Branch(math.inf))]
        while heap and deadline.left > self._lap:
            branch = heap[0][2]
            children: list[Branch] = []
            for children in self._divide(branch, deadline):
                rest = max((child.bound for child in children), default=-math.inf)
                others = -heap[1][0] if len(heap) > 1 else -math.inf
                others = max(others, -heap[2][0] if len(heap) > 2 else -math.inf)
                self._lower(max(rest, others))
                yield
            heapq.heappop(heap)
            if branch.fixed == ():
                self._enter_tree()
            self.branches += 1
            for child in children:
                if self._hopeful(child.bound):
                    count -= 1  # of two with the same bound the later one first
                    heapq.heappush(heap, (-child.bound, count, child))
        if not heap:
            self._lower(-math.inf)

    @property
    def proven(self) -> bool:
        """Whether no plan is better than the best one so far."""
        return not self._hopeful(self.bound)

    def _lower(self, bound: float) -> None:
        """Lower the bound on all plans to that of the branches that are left, if it is lower."""
        bound = max(self.value, self._given_up, rounded(bound, self._grain))
        self.bound = min(self.bound, bound)

    def _hopeful(self, bound: float) -> bool:
        """Whether a better plan may be where this is the bound."""
        return rounded(bound, self._grain) > self.value + self._accuracy

    def _divide(self, branch: Branch, deadline: Deadline) -> Iterator[list[Branch]]:
        """Solve the relaxation of a branch, add what it lacks, and divide the branch at last.

        Yields what there is instead of it: itself with a lower bound, in the end its parts.
        """
        program = self._program
        self._leave_out()  # since a better plan may have been found
        bounds: list[float] = []
        while True:
            program.limit(*self._limits(branch))
            over = deadline.left <= self._lap
            shares = None if over else program.solve(deadline)
            if shares is None:
                over |= deadline.left <= 0
                if not over and not program.is_empty():
                    if len(more := self._unused()):  # with them there may be a solution
                        program.add_edges(more)
                        continue
                    self._given_up = max(self._given_up, branch.bound)
                yield [branch] if over else []
                return
            solved = clock()
            prices = program.prices()
            if prices.bound < branch.bound:
                branch = branch._replace(bound=prices.bound)
            if not branch.fixed and (self._root is None or prices.bound < self._root.bound):
                self._root = prices
                self._leave_out()
            if not self._hopeful(branch.bound):
                yield []
                return
            yield [branch]
            bounds.append(branch.bound)
            if len(bounds) % PURGE == 0:
                program.drop_idle_cuts()
            missing, cuts = self._missing(prices), self._cuts(shares)
            if len(missing):
                program.add_edges(missing)
            elif not cuts or self._stalled(branch, bounds):
                children = self._children(branch, shares, deadline)
                if children:
                    yield children
                    return
                if not cuts:
                    cuts = [self._judged(shares)]
            program.add_cuts(cuts)
            self._lap = clock() - solved

    def _stalled(self, branch: Branch, bounds: list[float]) -> bool:
        """Whether cuts have closed little of the gap lately; the root is worth more of them."""
        rounds = STALL if branch.fixed else ROOT_STALL
        if len(bounds) <= rounds:
            return False
        return bounds[-1 - rounds] - bounds[-1] < LEAST_STEP * (bounds[-1] - self.value)

    def _limits(self, branch: Branch) -> tuple[FloatArray, FloatArray]:
        """Give least and most shares of stops and of the program's edges."""
        circuit, edges = self._circuit, self._program.edges
        stops = circuit.stops
        low = np.zeros(stops + len(circuit.tail))
        high = np.append(np.ones(stops), self._allowed.astype(np.float64))
        for key, share in branch.fixed:
            low[key] = high[key] = share
            if key >= stops and share == 1.0:
                ends = circuit.tail[key - stops], circuit.head[key - stops]
                low[[node - 1 for node in ends if node]] = 1.0
        used = np.append(np.arange(stops), stops + edges)
        return np.minimum(low, high)[used], high[used]

    def _leave_out(self) -> None:
        """Leave out the edges that no better plan uses, by the prices of the root."""
        if self._root is None:
            return
        with_it = self._root.bound + np.minimum(self._root.edge, 0.0)
        least = self.value + (self._grain * (1 - 2 * WHOLE) or self._accuracy)
        self._allowed &= with_it >= least

    def _missing(self, prices: Prices) -> IntArray:
        """Give edges that may improve the relaxation and are not in the program, some at a time."""
        gain = np.where(self._allowed, prices.edge, 0.0)
        gain[self._program.edges] = 0.0
        missing = np.flatnonzero(gain > NOTHING * prices.bound)
        return missing[np.argsort(-gain[missing], kind="stable")[:PRICED]]

    def _unused(self) -> IntArray:
        """Give the shortest edges that may be used and are not in the program, some at a time."""
        unused = self._allowed.copy()
        unused[self._program.edges] = False
        edges = np.flatnonzero(unused)
        return edges[np.argsort(self._circuit.length[edges], kind="stable")[:PRICED]]

    def _first_edges(self) -> IntArray:
        """Give the edges of the depot, and from every stop to its nearest others."""
        circuit = self._circuit
        length = np.where(circuit.number >= 0, circuit.length[circuit.number], np.inf)
        near = np.argsort(length, axis=1, kind="stable")[:, :NEAREST]
        edges = np.take_along_axis(circuit.number, near, axis=1)
        depot = np.flatnonzero((circuit.tail == 0) | (circuit.head == 0))
        return np.union1d(edges[edges >= 0], depot)

    def _enter_tree(self) -> None:
        """Write the program anew with the edges that are left."""
        cuts = self._program.cuts
        edges = np.flatnonzero(self._allowed)
        if len(edges) > SMALL_PROGRAM:
            edges = np.intersect1d(edges, self._program.edges)
        self._program = Program(self._circuit, edges, self._allowed)
        self._program.add_cuts(cuts)

    def _cuts(self, shares: Shares) -> list[Cut]:
        """Find sets of stops whose border is crossed too seldom.

        Crossing it twice, if stop k is visited, is the same as having no more edges inside than
        visits of all the others inside; and the same holds for the edges outside.
        """
        circuit = self._circuit
        on = shares.edge > NOTHING
        edges, nodes = self._program.edges[on], circuit.stops + 1
        visited = np.append(1.0, shares.stop)
        sets, stop = broken_subtours(
            nodes, circuit.tail[edges], circuit.head[edges], shares.edge[on], visited, BROKEN
        )
        cuts = []
        for one, k in zip(sets, stop, strict=True):
            small = 2 * int(one.sum()) <= nodes
            inside = one if small else ~one
            visits = -inside[1:].astype(np.float64)
            visits[k - 1] += 1.0
            cuts.append(Cut(inside, visits, np.empty(0, dtype=np.int64), 0.0 if small else 1.0))
        return cuts

    def _judged(self, shares: Shares) -> Cut:
        """Tell of the circuit that whole shares are, and forbid it."""
        circuit = self._circuit
        edges = self._program.edges[shares.edge > 0.5]
        routes = [_walk(circuit, edges)]
        if circuit.closed:  # it can be driven both ways
            routes.append(routes[0][::-1])
        self.value = max(self.value, *map(self._judge, routes))
        nobody = np.zeros(circuit.stops + 1, dtype=np.bool_)
        return Cut(nobody, np.zeros(circuit.stops), edges, len(edges) - 1.0)

    def _children(self, branch: Branch, shares: Shares, deadline: Deadline) -> list[Branch]:
        """Divide a branch by a share that is not whole: it becomes 0 or 1."""
        stops = self._circuit.stops
        share = np.append(shares.stop, shares.edge)
        off = np.minimum(share, 1.0 - share)
        loose = off > WHOLE
        if not loose.any():
            return []
        tried: list[int] = []
        for part in (slice(0, stops), slice(stops, None)):
            some = np.flatnonzero(loose[part]) + (part.start or 0)
            tried += some[np.argsort(-off[some], kind="stable")[:CANDIDATES]].tolist()
        best, chosen = -1.0, tried[0]
        if len(tried) > 1:
            for column in tried:
                if deadline.left <= 0:
                    break
                losses = [
                    max(0.0, branch.bound - estimate)
                    for estimate in self._program.estimates(column, ITERATIONS)
                ]
                room = branch.bound - self.value
                least, most = sorted(min(loss, room) for loss in losses)
                score = max(least, 1e-6 * room) * max(most, 1e-6 * room)
                if score > best:
                    best, chosen = score, column
        key = chosen if chosen < stops else stops + int(self._program.edges[chosen - stops])
        return [branch._replace(fixed=(*branch.fixed, (key, side))) for side in (0.0, 1.0)]


def _walk(circuit: Circuit, edges: IntArray) -> list[int]:
    """Give the stops along a circuit that is made of some edges."""
    ways: list[list[int]] = [[] for _ in range(circuit.stops + 1)]
    for edge in edges:
        ways[circuit.tail[edge]].append(int(edge))
        if not (circuit.directed or (circuit.head[edge] == 0 and not circuit.closed)):
            ways[circuit.head[edge]].append(int(edge))
    if not circuit.closed:  # the depot is left by the edge that leads from it
        ways[0] = [edge for edge in ways[0] if circuit.tail[edge] == 0]
    route: list[int] = []
    node, used = 0, -1
    while True:
        used = next(edge for edge in ways[node] if edge != used)
        node = int(circuit.head[used] if circuit.tail[used] == node else circuit.tail[used])
        if node == 0:
            return route
        route.append(node)


def rehearse() -> None:
    """Call every kernel, by solving a small problem; also those of a search for plans."""
    rehearse_search()
    instance = Instance(budget=9, xy=np.eye(4, 2), reward=[0, 1, 1, 1])
    known = Known([], 0.0, math.inf)
    for _ in search_circuits(
        instance, Problem.of(instance), known, 0, Deadline(60.0), lambda value: None
    ):
        pass
