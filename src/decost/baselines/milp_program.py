"""The paper's mathematical program, extended to all that an instance can hold, as data."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from decost.baselines.milp_rules import ACCURACY, Network
from decost.problem.instance import FloatArray, IntArray

LARGEST = 1e300
"""Largest factor of profits in a program."""

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the program, whatever it is in the instance."""


class Program(NamedTuple):
    """Maximise `objective @ x` with `0 <= x <= most`, `row_least <= rows @ x <= row_most`.

    The first columns are binary. The entries of row r are `row_start[r]:row_start[r + 1]`. The
    last row is on the number of required stops that are visited, of which `required` counts
    the columns.
    """

    objective: FloatArray
    required: FloatArray
    most: FloatArray
    binaries: int
    row_start: npt.NDArray[np.int32]
    row_column: npt.NDArray[np.int32]
    row_value: FloatArray
    row_least: FloatArray
    row_most: FloatArray

    def counting(self) -> Program:
        """Give the program that maximises the number of required stops."""
        return self._replace(objective=self.required)

    def demanding(self, required: int) -> Program:
        """Give the program in which so many required stops are visited at least."""
        least = self.row_least.copy()
        least[-1] = required
        return self._replace(row_least=least)


class _Rows:
    """Rows of a program as they are written."""

    def __init__(self) -> None:
        self.least: list[float] = []
        self.most: list[float] = []
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []

    def add(
        self,
        count: int,
        *terms: tuple[IntArray | int, IntArray, FloatArray | float],
        least: float = -math.inf,
        most: float = 0.0,
    ) -> None:
        """Add rows; each term gives the rows of its entries, counted from 0, columns, values."""
        for row, column, value in terms:
            shape = column.shape
            rows = np.broadcast_to(len(self.most) + np.asarray(row), shape)
            self.entries.append((rows, column, np.broadcast_to(value, shape)))
        self.least += [least] * count
        self.most += [most] * count


class _Times(NamedTuple):
    """Times of a network, with the horizon as the unit and the first begin as 0."""

    min_stay: FloatArray
    travel: FloatArray
    length: FloatArray
    earliest: FloatArray
    latest: FloatArray
    depart: FloatArray
    arc_arrive: FloatArray
    arc_depart: FloatArray
    shift: FloatArray


def _times(network: Network) -> _Times:
    begin, unit = network.rules.begin, network.rules.horizon or 1.0
    return _Times(
        min_stay=network.min_stay / unit,
        travel=network.travel / unit,
        length=network.piece_length / unit,
        earliest=(network.earliest - begin) / unit,
        latest=(network.latest - begin) / unit,
        depart=(network.depart - begin) / unit,
        arc_arrive=(network.arc_arrive - begin) / unit,
        arc_depart=(network.arc_depart - begin) / unit,
        shift=np.array([(kind.due - kind.begin) / unit for kind in network.rules.kinds]),
    )


def write(network: Network) -> Program:
    """Write the program, with the horizon as the unit of time, and all there is to earn as 1,000.

    Solvers take absolute tolerances, so no instance may look small or large to them.
    """
    arc, visit, start, leave, piece, order = network.columns
    times, rows = _times(network), _Rows()
    _write_routes(network, rows)
    _write_windows(network, times, rows)
    _write_stays(network, times, rows)
    _write_ways(network, times, rows)
    last = _write_order(network, times, rows)
    _write_shifts(network, times, rows)
    rows.add(1, (0, visit[network.must], 1.0), least=0.0, most=float(network.required))

    size_of = order[-1] + 1 if network.nodes else 0
    objective, required = np.zeros(size_of), np.zeros(size_of)
    scale = min(PROFIT_UNITS / (network.ceiling or 1.0), LARGEST)  # profits may be denormal
    objective[visit] = network.rules.instance.alternative_reward[network.alternative] * scale
    objective[piece] = network.piece_profit * scale
    required[visit[network.must]] = 1.0
    most = np.ones(size_of)
    most[start], most[leave], most[order] = times.latest, times.depart, last
    entries = [np.concatenate(part) for part in zip(*rows.entries, strict=True)]
    by_row = np.argsort(entries[0], kind="stable")
    row_index, row_column, row_value = (part[by_row] for part in entries)
    return Program(
        objective=objective,
        required=required,
        most=most,
        binaries=len(arc) + len(visit),
        row_start=np.searchsorted(row_index, np.arange(len(rows.most) + 1)).astype(np.int32),
        row_column=row_column.astype(np.int32),
        row_value=row_value,
        row_least=np.array(rows.least),
        row_most=np.array(rows.most),
    )


def _write_routes(network: Network, rows: _Rows) -> None:
    """Have a visited node entered and left once, and a stop visited at one of its nodes at most.

    No more routes of a kind than there are vehicles.
    """
    arc, visit = network.columns.arc, network.columns.visit
    nodes, tail, head = network.nodes, network.tail, network.head
    node = np.arange(nodes)
    leaves, enters = np.flatnonzero(tail < nodes), np.flatnonzero(head < nodes)
    rows.add(nodes, (tail[leaves], arc[leaves], 1.0), (node, visit, -1.0), least=0.0)
    rows.add(nodes, (head[enters], arc[enters], 1.0), (node, visit, -1.0), least=0.0)
    _, which = np.unique(network.stop, return_inverse=True)
    several = np.bincount(which) > 1
    chosen = np.flatnonzero(several[which])
    numbers = np.cumsum(several) - 1
    rows.add(int(several.sum()), (numbers[which[chosen]], visit[chosen], 1.0), most=1.0)
    for number, kind in enumerate(network.rules.kinds):
        begins = np.flatnonzero(tail == nodes + number)
        rows.add(1, (0, arc[begins], 1.0), most=float(len(kind.vehicles)))


def _write_windows(network: Network, times: _Times, rows: _Rows) -> None:
    """Keep windows, leave_by and shifts, each as tight as the arcs in use allow.

    At a node that is not visited the times are 0.
    """
    arc, start, leave = network.columns.arc, network.columns.start, network.columns.leave
    nodes, tail, head = network.nodes, network.tail, network.head
    node = np.arange(nodes)
    leaves, enters = np.flatnonzero(tail < nodes), np.flatnonzero(head < nodes)
    at = tail[leaves]
    depart = times.arc_depart[leaves]
    latest = np.minimum(times.latest[at], depart - times.min_stay[at])
    rows.add(nodes, (head[enters], arc[enters], times.arc_arrive[enters]), (node, start, -1.0))
    rows.add(nodes, (node, start, 1.0), (at, arc[leaves], -latest))
    rows.add(nodes, (node, leave, 1.0), (at, arc[leaves], -depart))


def _write_stays(network: Network, times: _Times, rows: _Rows) -> None:
    """Make a stay of the shortest one and a share of every piece.

    Rates fall, so that the pieces fill up in their order.
    """
    _, visit, start, leave, piece, _ = network.columns
    node = np.arange(network.nodes)
    rows.add(
        network.nodes,
        (node, start, 1.0),
        (node, visit, times.min_stay),
        (network.piece_node, piece, times.length),
        (node, leave, -1.0),
    )
    pieces = np.arange(len(piece))
    rows.add(len(piece), (pieces, piece, 1.0), (pieces, visit[network.piece_node], -1.0))


def _inner(network: Network) -> IntArray:
    """Arcs between two nodes."""
    return np.flatnonzero((network.tail < network.nodes) & (network.head < network.nodes))


def _write_ways(network: Network, times: _Times, rows: _Rows) -> None:
    """Have leave_i + travel_ij <= start_j if the arc is used.

    Else leave_i <= depart_i visit_i and start_j >= earliest_j visit_j: the paper's row with L,
    the large constant, as small as can be.
    """
    arc, visit, start, leave, _, _ = network.columns
    inner = _inner(network)
    depart, earliest = times.depart[network.tail[inner]], times.earliest[network.head[inner]]
    large = times.travel[inner] + depart - earliest
    binds = inner[large > 0]
    i, j, row = network.tail[binds], network.head[binds], np.arange(len(binds))
    rows.add(
        len(binds),
        (row, leave[i], 1.0),
        (row, visit[i], -times.depart[i]),
        (row, start[j], -1.0),
        (row, visit[j], times.earliest[j]),
        (row, arc[binds], large[large > 0]),
    )


def _write_order(network: Network, times: _Times, rows: _Rows) -> float:
    """Rule cycles out by an order where times do not; give its last number.

    Those are cycles that take no time, up to what tolerances add up to: of stops in one place, say.
    """
    arc, order = network.columns.arc, network.columns.order
    inner = _inner(network)
    taken = times.travel[inner] + times.min_stay[network.tail[inner]]
    short = inner[taken <= 10 * ACCURACY * network.nodes]
    i, j, row = network.tail[short], network.head[short], np.arange(len(short))
    size = float(len(np.union1d(i, j)))
    rows.add(
        len(short),
        (row, order[i], 1.0),
        (row, order[j], -1.0),
        (row, arc[short], size),
        most=size - 1,
    )
    return max(size - 1, 0.0)


def _write_shifts(network: Network, times: _Times, rows: _Rows) -> None:
    """Fit all that takes time in the shifts. Implied, but without it the relaxation is weak."""
    arc, visit, _, _, piece, _ = network.columns
    kinds = np.arange(len(network.rules.kinds))
    kind_of_arc = np.append(network.kind, kinds)[network.tail]
    begins = network.tail >= network.nodes
    rows.add(
        len(kinds),
        (kind_of_arc, arc, times.travel - np.where(begins, times.shift[kind_of_arc], 0.0)),
        (network.kind, visit, times.min_stay),
        (network.kind[network.piece_node], piece, times.length),
    )
