"""The linear relaxation of one circuit: shares of edges, stops and pieces.

Its columns are the stops, the pieces of their profits and some of the edges. Whatever the solver
answers, its duals prove a bound that is computed here anew: for any prices of the rows, no choice
of the columns within their limits earns more at these prices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import highspy
import numpy as np

from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network, shift_length

UNITS = 1000.0
"""Value of all stops together, and length of the shift, in the programs."""

PROOF = 1e-6
"""Least distance from 0 of what proves that there is no solution."""

Entries: TypeAlias = tuple[IntArray, IntArray, FloatArray]
"""Rows, columns and weights of entries of a matrix."""

SLICE = 0.2
"""Seconds after which a solver looks whether it is to go on."""


class Circuit(NamedTuple):
    """What there is to choose from: stops 1, 2, ..., their pieces, and edges; 0 is the depot.

    Edges have a direction only where it matters: if not `directed`, those between stops have none.
    If `closed`, those of the depot have none either, and a circuit has two of them; else one
    leads from the depot and one to it. So `closed` circuits have two stops or more.
    """

    tail: IntArray  # (edge,)
    head: IntArray
    length: FloatArray
    number: IntArray  # (node, node): the edge from one to another, -1 where there is none
    reward: FloatArray  # (stop,)
    shortest: FloatArray  # (stop,)
    owner: IntArray  # (piece,): its stop, counted from 0
    rate: FloatArray  # (piece,)
    longest: FloatArray  # (piece,)
    group: IntArray  # (stop,): of those with the same number at most one is visited
    budget: float
    directed: bool
    closed: bool

    @classmethod
    def of(cls, network: Network) -> Circuit:
        """Take the edges between the nodes of a network, and forget all windows."""
        stops = network.alternatives
        nodes = slice(1, stops + 1)
        place = network.node["place"]
        between = network.travel[np.ix_(place[nodes], place[nodes])]
        out = network.travel[place[network.start], place[nodes]]
        home = network.travel[place[nodes], place[network.end]]
        directed = not (between == between.T).all()
        closed = not directed and bool((out == home).all())
        other = network.stop[nodes, None] != network.stop[None, nodes]
        i, j = np.nonzero(other if directed else np.triu(other))
        every, depot = np.arange(1, stops + 1), np.zeros(stops, dtype=np.int64)
        ends = [(depot, every, out)] + ([] if closed else [(every, depot, home)])
        tails, heads, lengths = zip(*ends, (i + 1, j + 1, between[i, j]), strict=True)
        tail, head = np.concatenate(tails), np.concatenate(heads)
        number = np.full((stops + 1, stops + 1), -1)
        if not directed:
            number[head, tail] = np.arange(len(tail))
        number[tail, head] = np.arange(len(tail))
        first, last = network.node["piece_first"][nodes], network.node["piece_last"][nodes]
        return cls(
            tail=tail,
            head=head,
            length=np.concatenate(lengths),
            number=number,
            reward=network.node["reward"][nodes].copy(),
            shortest=network.node["min_stay"][nodes].copy(),
            owner=np.repeat(np.arange(stops), last - first),
            rate=network.pieces[:, 0].copy(),
            longest=network.pieces[:, 1].copy(),
            group=network.stop[nodes].copy(),
            budget=shift_length(network) + 2 * network.slack,
            directed=directed,
            closed=closed,
        )

    @property
    def stops(self) -> int:
        """How many stops there are."""
        return len(self.reward)


class Cut(NamedTuple):
    """An inequality that every circuit obeys: weights of edges and stops are `most` at most.

    An edge counts once if both of its ends are inside, and once more if it is one of the `extra`.
    """

    inside: BoolArray  # (node,)
    visits: FloatArray  # (stop,)
    extra: IntArray
    most: float


class Shares(NamedTuple):
    """An optimum of the relaxation: shares of stops and of the program's edges."""

    stop: FloatArray
    edge: FloatArray


class Prices(NamedTuple):
    """A proof: no circuit within the limits earns more than `bound`.

    One that visits a stop, or uses an edge, earns less by what that is below 0; one that does not,
    by what it is above 0.
    """

    bound: float
    stop: FloatArray
    edge: FloatArray  # (edge of the circuit,)


class Program:
    """The relaxation with some of the edges that may be used, and with some cuts."""

    def __init__(self, circuit: Circuit, edges: IntArray, allowed: BoolArray) -> None:
        self.circuit = circuit
        self.edges = np.empty(0, dtype=np.int64)
        self.cuts: list[Cut] = []
        self._allowed = allowed
        self._stops = circuit.stops
        self._value = np.append(circuit.reward, circuit.rate * circuit.longest)
        self._offset = len(self._value)  # column of the first edge
        self._unit = max(float(self._value.sum()), math.ulp(1.0)) / UNITS
        self._row, self._column = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self._weight = np.empty(0)
        self._least, self._most = np.empty(0), np.empty(0)
        self._low, self._high = np.empty(0), np.empty(0)
        self._highs = _solver()
        self._add_columns(-self._value / self._unit, _nothing())
        self._write_rows()
        self._fixed_rows = len(self._most)
        self.add_edges(edges)

    def _write_rows(self) -> None:
        """Write degrees, the budget, pieces that need their stop, and alternatives of a stop.

        Entries of edges come with them.
        """
        circuit, stops = self.circuit, self._stops
        ends, sides = 1 if circuit.closed else 2, 2 if circuit.directed else 1
        degree = ends + np.arange(sides * stops)
        both = np.tile(np.arange(stops), sides), np.full(sides * stops, sides - 3.0)
        self._budget = len(degree) + ends
        stays = np.append(circuit.shortest, circuit.longest) * (UNITS / circuit.budget)
        pieces = len(circuit.owner)
        piece = self._budget + 1 + np.arange(pieces)
        groups = np.flatnonzero(np.bincount(circuit.group, minlength=1) > 1)
        same = np.flatnonzero(np.isin(circuit.group, groups))
        group = self._budget + 1 + pieces + np.searchsorted(groups, circuit.group[same])
        equal = np.append(np.full(ends, 3.0 - ends), np.zeros(len(degree)))
        most = np.concatenate([[UNITS], np.zeros(pieces), np.ones(len(groups))])
        every, needed = np.arange(len(stays)), stops + np.arange(pieces)
        self._add_rows(
            np.append(equal, np.full(len(most), -np.inf)),
            np.append(equal, most),
            np.concatenate([degree, np.full(len(stays), self._budget), piece, piece, group]),
            np.concatenate([both[0], every, needed, circuit.owner, same]),
            np.concatenate([both[1], stays, np.ones(pieces), -np.ones(pieces), np.ones(len(same))]),
        )

    def add_edges(self, edges: IntArray) -> None:
        """Add edges that are not there yet."""
        entries = [self._ends(edges)]
        for row, cut in enumerate(self.cuts, start=self._fixed_rows):
            weight = _weights(self.circuit, cut, edges)
            used = np.flatnonzero(weight)
            entries.append((np.full(len(used), row), used, weight[used]))
        rows, columns, weights = _joined(entries)
        self.edges = np.append(self.edges, edges)
        self._add_columns(np.zeros(len(edges)), (rows, columns + len(self._low), weights))

    def _ends(self, edges: IntArray) -> Entries:
        """Give the entries of edges in the rows of degrees and of the budget."""
        circuit = self.circuit
        tail, head, every = circuit.tail[edges], circuit.head[edges], np.arange(len(edges))
        ends = 1 if circuit.closed else 2
        second = self._stops if circuit.directed else 0
        out = np.where(tail == 0, 0, ends - 1 + tail)
        back = np.where(head == 0, ends - 1, ends - 1 + second + head)
        length = circuit.length[edges] * (UNITS / circuit.budget)
        return (
            np.concatenate([out, back, np.full(len(edges), self._budget)]),
            np.tile(every, 3),
            np.concatenate([np.ones(2 * len(edges)), length]),
        )

    def add_cuts(self, cuts: Sequence[Cut]) -> None:
        """Add inequalities."""
        entries = [_nothing()]
        for row, cut in enumerate(cuts, start=len(self._most)):
            weight = _weights(self.circuit, cut, self.edges)
            used, stops = np.flatnonzero(weight), np.flatnonzero(cut.visits)
            column = np.append(stops, self._offset + used)
            weights = np.append(cut.visits[stops], weight[used])
            entries.append((np.full(len(column), row), column, weights))
        most = np.array([cut.most for cut in cuts])
        self.cuts += cuts
        self._add_rows(np.full(len(cuts), -np.inf), most, *_joined(entries))

    def _add_columns(self, cost: FloatArray, entries: Entries) -> None:
        row, column, weight = entries
        size, before = len(cost), len(self._low)
        order = np.lexsort((row, column))
        start = np.searchsorted(column[order], np.arange(before, before + size))
        self._highs.addCols(
            size,
            cost,
            np.zeros(size),
            np.ones(size),
            len(row),
            start.astype(np.int32),
            row[order].astype(np.int32),
            weight[order],
        )
        self._low = np.append(self._low, np.zeros(size))
        self._high = np.append(self._high, np.ones(size))
        self._note(entries)

    def _add_rows(
        self,
        least: FloatArray,
        most: FloatArray,
        row: IntArray,
        column: IntArray,
        weight: FloatArray,
    ) -> None:
        order = np.lexsort((column, row))
        first = len(self._most)
        start = np.searchsorted(row[order], np.arange(first, first + len(most)))
        self._highs.addRows(
            len(most),
            least,
            most,
            len(row),
            start.astype(np.int32),
            column[order].astype(np.int32),
            weight[order],
        )
        self._least, self._most = np.append(self._least, least), np.append(self._most, most)
        self._note((row, column, weight))

    def _note(self, entries: Entries) -> None:
        self._row = np.append(self._row, entries[0])
        self._column = np.append(self._column, entries[1])
        self._weight = np.append(self._weight, entries[2])

    def drop_idle_cuts(self) -> None:
        """Take out the cuts that do not bind, and keep the basis."""
        basis = self._highs.getBasis()
        status = list(basis.row_status)
        idle = np.array([one == highspy.HighsBasisStatus.kBasic for one in status])
        idle[: self._fixed_rows] = False
        if not idle.any():
            return
        gone = np.flatnonzero(idle).astype(np.int32)
        self._highs.deleteRows(len(gone), gone)
        now = np.cumsum(~idle) - 1
        kept = ~idle[self._row]
        self._row, self._column = now[self._row[kept]], self._column[kept]
        self._weight = self._weight[kept]
        self._least, self._most = self._least[~idle], self._most[~idle]
        pairs = zip(self.cuts, idle[self._fixed_rows :], strict=True)
        self.cuts = [cut for cut, out in pairs if not out]
        kept_basis = highspy.HighsBasis()
        kept_basis.col_status = basis.col_status
        kept_basis.row_status = [one for one, out in zip(status, idle, strict=True) if not out]
        kept_basis.valid = True
        self._highs.setBasis(kept_basis)

    def limit(self, low: FloatArray, high: FloatArray) -> None:
        """Set the least and most shares of all stops, and behind them of the program's edges."""
        low = np.insert(low, [self._stops] * (self._offset - self._stops), 0.0)
        high = np.insert(high, [self._stops] * (self._offset - self._stops), 1.0)
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if len(changed):
            self._highs.changeColsBounds(len(changed), changed, low[changed], high[changed])
        self._low, self._high = low, high

    def solve(self, deadline: Deadline) -> Shares | None:
        """Solve the relaxation; nothing if it has no solution, or time is up."""
        highs, statuses = self._highs, highspy.HighsModelStatus
        while deadline.left > 0:
            highs.setOptionValue("time_limit", highs.getRunTime() + min(SLICE, deadline.left))
            highs.run()
            if highs.getModelStatus() != statuses.kTimeLimit:
                break
        if highs.getModelStatus() != statuses.kOptimal:
            return None
        value = np.array(highs.getSolution().col_value)
        return Shares(value[: self._stops], value[self._offset :])

    def estimates(self, share: int, iterations: int) -> tuple[float, float]:
        """Estimate the bounds if a share is 0, and if it is 1.

        Shares of edges come behind those of stops. The solver does so many steps for it; what it
        has come to is no proof.
        """
        highs = self._highs
        highs.setOptionValue("time_limit", math.inf)
        column = share if share < self._stops else share - self._stops + self._offset
        basis = highs.getBasis()
        highs.setOptionValue("simplex_iteration_limit", iterations)
        values = []
        for side in (0.0, 1.0):
            highs.changeColBounds(column, side, side)
            highs.run()
            empty = highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
            value = -highs.getInfo().objective_function_value * self._unit
            values.append(-math.inf if empty else value)
            highs.changeColBounds(column, self._low[column], self._high[column])
            highs.setBasis(basis)
        highs.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        return values[0], values[1]

    def prices(self) -> Prices:
        """Prove a bound by the duals of the last solution."""
        return self._proof(np.array(self._highs.getSolution().row_dual) * -self._unit, 1.0)

    def is_empty(self) -> bool:
        """Whether it is proven that no circuit is within the limits, by the solver's last ray."""
        _, there, ray = self._highs.getDualRay()  # type: ignore[attr-defined]
        if not there:
            return False
        ray = np.array(ray)
        ray /= max(np.abs(ray).max(), math.ulp(1.0))
        return any(self._proof(sign * ray, 0.0).bound < -PROOF for sign in (-1.0, 1.0))

    def _proof(self, price: FloatArray, worth: float) -> Prices:
        """Bound what circuits within the limits earn, times `worth`, by prices of the rows."""
        price = np.where(np.isinf(self._least), np.maximum(price, 0.0), price)
        paid = self._weight * price[self._row]
        gain = -np.bincount(self._column, weights=paid, minlength=len(self._low)).astype(np.float64)
        gain[: self._offset] += self._value * worth
        bound = float(price @ self._most + np.maximum(gain * self._low, gain * self._high).sum())
        edge = np.zeros(len(self.circuit.tail))
        edge[self.edges] = gain[self._offset :]
        missing = self._allowed.copy()
        missing[self.edges] = False
        if missing.any():
            edge[missing] = self._gains(np.flatnonzero(missing), price)
            bound += float(np.maximum(edge[missing], 0.0).sum())
        return Prices(bound, gain[: self._stops], edge)

    def _gains(self, edges: IntArray, price: FloatArray) -> FloatArray:
        """Say what edges gain at these prices that are not in the program."""
        circuit, nodes = self.circuit, self._stops + 1
        row, column, weight = self._ends(edges)
        gain = -np.bincount(column, weights=weight * price[row], minlength=len(edges)).astype(
            np.float64
        )
        within, extra = np.zeros((nodes, nodes)), np.zeros(len(circuit.tail))
        for paid, cut in zip(price[self._fixed_rows :], self.cuts, strict=True):
            if paid > 0:
                inside = np.flatnonzero(cut.inside)
                within[np.ix_(inside, inside)] += paid
                extra[cut.extra] += paid
        return gain - within[circuit.tail[edges], circuit.head[edges]] - extra[edges]


def _weights(circuit: Circuit, cut: Cut, edges: IntArray) -> FloatArray:
    """Give the weights of edges in a cut."""
    weight = (cut.inside[circuit.tail[edges]] & cut.inside[circuit.head[edges]]).astype(np.float64)
    if len(cut.extra):
        weight[np.isin(edges, cut.extra)] += 1.0
    return weight


def _joined(parts: Sequence[Entries]) -> Entries:
    rows, columns, weights = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(weights)


def _nothing() -> Entries:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)


def _solver() -> highspy.Highs:
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "presolve": "off",
        "solver": "simplex",
        "simplex_strategy": 1,  # dual
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    return highs
