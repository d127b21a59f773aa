"""The paper's mathematical program, solved by branch and cut: HiGHS, or Gurobi if asked for.

It shares no code with the exact method, so that the one can judge the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from typing import Any, Literal, NamedTuple

import highspy
import numpy as np
from pydantic import Field

from decost.checker import check
from decost.instance import TOLERANCE, FloatArray, Instance, IntArray
from decost.methods.greedy import greedy
from decost.methods.options import Method, Options
from decost.result import Result
from decost.solution import Solution, make_solution

ACCURACY = 1e-9
"""Gap at which a plan counts as optimal, and how exactly rows are kept: a share of all there is."""

MAX_ARCS = 1_000_000
"""Most arcs of a program; one of this size takes gigabytes, and is never solved."""


class MilpOptions(Options):
    """Options of the mathematical program."""

    solver: Literal["highs", "gurobi"] = Field(
        "highs", description="what solves the program; gurobi needs gurobipy and a licence"
    )
    threads: int = Field(1, ge=1, le=1024, description="threads that the solver may use")


def milp(instance: Instance, options: MilpOptions) -> Result:
    """Solve the program of the paper's appendix "Mathematical Formulation of OPTWVP".

    The solver starts from the greedy plan. The result is "optimal" if the solver closes the gap
    to a billionth of the profit; else it has the bound that was proven until then.

    Parameters
    ----------
    instance
        The problem.
    options
        Without a time limit it runs until the plan is optimal, which may be never. Ctrl-C ends
        it with the best plan so far.

    Raises
    ------
    MethodError
        If the program is too large, or Gurobi is asked for and cannot be used.
    """
    begin = time.perf_counter()
    plan = greedy(instance, options).solution
    network = _reduce(instance)
    ceiling = float(instance.reward[network.stops].sum() + network.piece_profit.sum())
    if ceiling == 0:
        return Result(instance, make_solution(instance, [], []), "optimal", 0.0)
    if len(network.tail) > MAX_ARCS:
        raise _error(f"{len(network.tail)} arcs: at most {MAX_ARCS} are allowed")
    program = _write(instance, network, ceiling)
    limit = math.inf if options.time_limit is None else options.time_limit
    answer = (_gurobi if options.solver == "gurobi" else _highs)(
        program, _hint(network, plan), limit - (time.perf_counter() - begin), options
    )
    if answer.values is not None:
        found = _read(instance, network, answer.values)
        if found.profit > plan.profit and not check(instance, found):
            plan = found
    bound = max(plan.profit, ceiling * min(1.0, answer.bound))
    proven = answer.proven and plan.profit >= bound * (1 - TOLERANCE)
    return Result(instance, plan, "optimal" if proven else "feasible", bound)


class _Network(NamedTuple):
    """What is left of an instance: stops in reach, arcs that windows allow, pieces worth a stay.

    Places are the stops in reach, 0, 1, ..., and after them the depot: the start of arcs that
    leave it, and the end of arcs that go there.

    Attributes
    ----------
    stops
        Numbers of the places in the instance, the depot's left out.
    min_stay
        Shortest stay of every place; so with the next two.
    earliest, latest
        Bounds on the start of service.
    depart
        Latest end of service.
    tail, head, travel
        The arcs, by tail and then by head, with their travel times.
    arc_arrive, arc_depart
        If the arc is used: earliest start of service at its head, latest end at its tail.
    piece_place, piece_length, piece_profit
        The pieces, and what they earn in full.
    """

    stops: IntArray
    min_stay: FloatArray
    earliest: FloatArray
    latest: FloatArray
    depart: FloatArray
    tail: IntArray
    head: IntArray
    travel: FloatArray
    arc_arrive: FloatArray
    arc_depart: FloatArray
    piece_place: IntArray
    piece_length: FloatArray
    piece_profit: FloatArray


class _Columns(NamedTuple):
    """The variables of the program by their column, one array a kind."""

    arc: IntArray
    visit: IntArray
    start: IntArray
    leave: IntArray
    piece: IntArray
    order: IntArray


class _Program(NamedTuple):
    """Maximise `profit @ x` with `0 <= x <= most`, `row_least <= rows @ x <= row_most`.

    The first columns are binary. The entries of row r are `row_start[r]:row_start[r + 1]`.
    """

    profit: FloatArray
    most: FloatArray
    binaries: int
    row_start: IntArray
    row_column: IntArray
    row_value: FloatArray
    row_least: FloatArray
    row_most: FloatArray


class _Answer(NamedTuple):
    """What a solver says: its plan, if it has one, a bound, and whether the plan reaches it."""

    values: FloatArray | None
    bound: float
    proven: bool


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
        most: float = 0.0,
        equal: bool = False,
    ) -> None:
        """Add rows; each term gives the rows of its entries, counted from 0, columns, values."""
        for row, column, value in terms:
            shape = column.shape
            rows = np.broadcast_to(len(self.most) + np.asarray(row), shape)
            self.entries.append((rows, column, np.broadcast_to(value, shape)))
        self.least += [most if equal else -math.inf] * count
        self.most += [most] * count


def _reduce(instance: Instance) -> _Network:
    slack = ACCURACY * instance.budget
    inner = slice(1, instance.nodes)
    among = instance.travel[inner, inner]
    min_stay = instance.min_stay[inner]
    last = np.minimum(instance.close[inner], instance.leave_by[inner] - min_stay)
    earliest = np.full(instance.stops, np.inf)
    latest = np.full(instance.stops, -np.inf)
    # A detour can be shorter than the direct way, so more than one round may be needed.
    with np.errstate(over="ignore"):
        for _ in range(instance.stops):
            before = earliest
            ready = np.where(earliest <= last + slack, earliest + min_stay, np.inf)
            arrive = np.minimum(instance.travel[0, inner], (ready[:, None] + among).min(axis=0))
            earliest = np.maximum(instance.open[inner], arrive)
            if np.array_equal(before, earliest):
                break
        for _ in range(instance.stops):
            before = latest
            due = np.where(earliest <= latest + slack, latest, -np.inf)
            home = instance.budget - instance.travel[inner, instance.end]
            latest = np.minimum(last, np.maximum(home, (due - among).max(axis=1)) - min_stay)
            if np.array_equal(before, latest):
                break

    kept = np.flatnonzero(earliest <= latest + slack)
    stops, min_stay, earliest = kept + 1, min_stay[kept], earliest[kept]
    latest = np.maximum(latest[kept], earliest)
    # From here on the depot comes last, ready at time 0 and due at the budget.
    travel = instance.travel[np.ix_([*stops, 0], [*stops, instance.end])]
    ready = np.append(earliest + min_stay, 0.0)
    leave_by = np.append(instance.leave_by[stops], np.inf)
    arc_depart = np.minimum(leave_by[:, None], np.append(latest, instance.budget) - travel)
    allowed = ready[:, None] <= arc_depart + slack
    np.fill_diagonal(allowed, False)
    tail, head = np.nonzero(allowed)
    travel = travel[tail, head]
    arc_depart = np.maximum(arc_depart[tail, head], ready[tail])
    arc_arrive = np.maximum(np.append(earliest, 0.0)[head], ready[tail] + travel)
    depart = ready.copy()
    np.maximum.at(depart, tail, arc_depart)

    pieces = []
    for place, stop in enumerate(stops):
        room = float(depart[place] - ready[place])
        for piece in range(instance.piece_start[stop], instance.piece_start[stop + 1]):
            length = min(float(instance.piece_length[piece]), room)
            profit = length * float(instance.piece_rate[piece])
            room -= length
            if profit > 0:
                pieces.append((place, length, profit))
    table = np.array(pieces).reshape(-1, 3)
    return _Network(
        stops=stops,
        min_stay=min_stay,
        earliest=earliest,
        latest=latest,
        depart=depart[:-1],
        tail=tail,
        head=head,
        travel=travel,
        arc_arrive=arc_arrive,
        arc_depart=arc_depart,
        piece_place=table[:, 0].astype(np.int64),
        piece_length=table[:, 1],
        piece_profit=table[:, 2],
    )


def _columns(network: _Network) -> _Columns:
    places = len(network.stops)
    sizes = (len(network.tail), places, places, places, len(network.piece_place), places)
    ends = np.cumsum(sizes)
    return _Columns(*(np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)))


def _write(instance: Instance, network: _Network, ceiling: float) -> _Program:
    """Write the program, with times as shares of the budget and profits as shares of the ceiling.

    Solvers take absolute tolerances, so no instance may be small or large to them.
    """
    columns = _columns(network)
    arc, visit, start, leave, piece, order = columns
    unit = instance.budget or 1.0
    min_stay, earliest, latest, depart, travel, arc_arrive, arc_depart, length = (
        times / unit
        for times in (
            network.min_stay,
            network.earliest,
            network.latest,
            network.depart,
            network.travel,
            network.arc_arrive,
            network.arc_depart,
            network.piece_length,
        )
    )
    depot = len(network.stops)
    place = np.arange(depot)
    tail, head = network.tail, network.head
    leaves, enters = np.flatnonzero(tail < depot), np.flatnonzero(head < depot)
    begins = np.flatnonzero(tail == depot)
    rows = _Rows()

    # A visited place is entered once and left once, by no more routes than there are vehicles.
    rows.add(depot, (tail[leaves], arc[leaves], 1.0), (place, visit, -1.0), equal=True)
    rows.add(depot, (head[enters], arc[enters], 1.0), (place, visit, -1.0), equal=True)
    rows.add(1, (0, arc[begins], 1.0), most=float(instance.vehicles))

    # Windows, leave_by and the budget, each as tight as the arcs in use allow. At a place that
    # is not visited the times are 0.
    latest_by_arc = np.minimum(latest[tail[leaves]], arc_depart[leaves] - min_stay[tail[leaves]])
    rows.add(depot, (head[enters], arc[enters], arc_arrive[enters]), (place, start, -1.0))
    rows.add(depot, (place, start, 1.0), (tail[leaves], arc[leaves], -latest_by_arc))
    rows.add(depot, (place, leave, 1.0), (tail[leaves], arc[leaves], -arc_depart[leaves]))

    # The stay is the shortest one and a share of every piece. Rates fall, so that the pieces
    # fill up in their order.
    rows.add(
        depot,
        (place, start, 1.0),
        (place, visit, min_stay),
        (network.piece_place, piece, length),
        (place, leave, -1.0),
    )
    pieces = np.arange(len(piece))
    rows.add(len(piece), (pieces, piece, 1.0), (pieces, visit[network.piece_place], -1.0))

    # leave_i + travel_ij <= start_j if the arc is used, else leave_i <= depart_i visit_i and
    # start_j >= earliest_j visit_j: the paper's row with L, the large constant, as small as can be.
    inner = np.flatnonzero((tail < depot) & (head < depot))
    large = travel[inner] + depart[tail[inner]] - earliest[head[inner]]
    inner, large = inner[large > 0], large[large > 0]
    i, j, row = tail[inner], head[inner], np.arange(len(inner))
    rows.add(
        len(inner),
        (row, leave[i], 1.0),
        (row, visit[i], -depart[i]),
        (row, start[j], -1.0),
        (row, visit[j], earliest[j]),
        (row, arc[inner], large),
    )

    # All that takes time fits in the budgets. Implied, but without it the relaxation is weak.
    rows.add(
        1,
        (0, arc, travel - np.where(tail == depot, instance.budget / unit, 0.0)),
        (0, visit, min_stay),
        (0, piece, length),
    )

    # Times rule a cycle out unless it takes none, up to what tolerances add up to: stops in one
    # place, say. There an order must do it.
    short = travel[inner] + min_stay[i] <= 10 * ACCURACY * depot
    inner, i, j = inner[short], i[short], j[short]
    row, size = np.arange(len(inner)), float(len(np.union1d(i, j)))
    rows.add(
        len(inner),
        (row, order[i], 1.0),
        (row, order[j], -1.0),
        (row, arc[inner], size),
        most=size - 1,
    )

    profit = np.zeros(int(order[-1]) + 1)
    profit[visit] = instance.reward[network.stops] / ceiling
    profit[piece] = network.piece_profit / ceiling
    most = np.ones(len(profit))
    most[start], most[leave], most[order] = latest, depart, size
    entries = [np.concatenate(part) for part in zip(*rows.entries, strict=True)]
    by_row = np.argsort(entries[0], kind="stable")
    row_index, row_column, row_value = (part[by_row] for part in entries)
    return _Program(
        profit=profit,
        most=most,
        binaries=len(arc) + len(visit),
        row_start=np.searchsorted(row_index, np.arange(len(rows.most) + 1)),
        row_column=row_column,
        row_value=row_value,
        row_least=np.array(rows.least),
        row_most=np.array(rows.most),
    )
