"""The paper's mathematical program, solved by branch and cut: HiGHS, or Gurobi if asked for.

It shares no code with the exact method, so that the one can judge the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt
from pydantic import Field

from decost.method.deadline import Deadline
from decost.method.options import ImprovingOptions, Method
from decost.method.progress import Reporter
from decost.method.result import Result
from decost.problem.checker import check
from decost.problem.instance import TOLERANCE, FloatArray, Instance, IntArray
from decost.problem.plan import Solution, make_solution
from decost.search.construct import first_plan

ACCURACY = 1e-9
"""Relative gap at which a plan counts as optimal, and share of the budget that rows may be off."""

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the program, whatever it is in the instance."""

MAX_ARCS = 300_000
"""Most arcs of a program; one of this size takes a gigabyte, and seconds to be read."""


class MilpOptions(ImprovingOptions):
    """Options of the mathematical program."""

    solver: Literal["highs", "gurobi"] = Field(
        default="highs", description="what solves the program; gurobi needs gurobipy and a licence"
    )
    solver_threads: int = Field(
        default=1, ge=1, le=1024, description="threads that the solver may use for one instance"
    )


def milp(instance: Instance, options: MilpOptions) -> Result:
    """Solve the program of the paper's appendix "Mathematical Formulation of OPTWVP".

    The solver starts from the greedy plan. The result is "optimal" if the solver closes the gap
    to a billionth of the profit; else it has the bound that was proven until then.

    Parameters
    ----------
    instance
        The problem.
    options
        Without a time limit it runs until the plan is optimal, which may be never. Solvers look
        at the time between their steps, so that a large program may overrun its limit by
        seconds. Ctrl-C ends it with the best plan so far.

    Raises
    ------
    MethodError
        If the program is too large, or Gurobi is asked for and cannot be used.
    """
    deadline = Deadline(options.time_limit)
    solver = partial(_gurobi, _import_gurobi()) if options.solver == "gurobi" else _highs
    plan = first_plan(instance, options.start)
    reporter = Reporter(options.progress, deadline)
    reporter.report(plan.profit)
    network = _reduce(instance)
    ceiling = float(instance.reward[network.stops].sum() + network.piece_profit.sum())
    if ceiling == 0:
        return Result(instance, make_solution(instance, [], []), "optimal", 0.0)
    if len(network.tail) > MAX_ARCS:
        raise _error(f"arcs = {len(network.tail)}: method 'milp' takes at most {MAX_ARCS}")
    answer = _Answer(None, math.inf, False)
    if deadline.left > 0:
        program = _write(instance, network, ceiling)
        hint = _hint(network, plan)

        def report(profit: float, bound: float) -> None:
            unit = ceiling / PROFIT_UNITS
            if math.isfinite(bound):
                reporter.report(max(plan.profit, profit * unit), min(ceiling, bound * unit))

        answer = solver(program, hint, deadline, options, report)
    if answer.values is not None:
        found = _read(instance, network, answer.values)
        if found.profit > plan.profit and not check(instance, found):
            plan = found
    bound = max(plan.profit, ceiling * min(1.0, answer.bound / PROFIT_UNITS))
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
    min_stay, earliest, latest, depart
        For every stop the shortest stay, bounds on the start of service, and its latest end.
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
    row_start: npt.NDArray[np.int32]
    row_column: npt.NDArray[np.int32]
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
    """Write the program, with the budget as the unit of time, and all there is to earn as 1,000.

    Solvers take absolute tolerances, so no instance may look small or large to them.
    """
    arc, visit, start, leave, piece, order = _columns(network)
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
    binds = inner[large > 0]
    i, j, row = tail[binds], head[binds], np.arange(len(binds))
    rows.add(
        len(binds),
        (row, leave[i], 1.0),
        (row, visit[i], -depart[i]),
        (row, start[j], -1.0),
        (row, visit[j], earliest[j]),
        (row, arc[binds], large[large > 0]),
    )

    # Times rule a cycle out unless it takes none, up to what tolerances add up to: stops in one
    # place, say. Among those an order does it.
    short = inner[travel[inner] + min_stay[tail[inner]] <= 10 * ACCURACY * depot]
    i, j, row = tail[short], head[short], np.arange(len(short))
    size = float(len(np.union1d(i, j)))
    rows.add(
        len(short),
        (row, order[i], 1.0),
        (row, order[j], -1.0),
        (row, arc[short], size),
        most=size - 1,
    )

    # All that takes time fits in the budgets. Implied, but without it the relaxation is weak.
    rows.add(
        1,
        (0, arc, travel - np.where(tail == depot, instance.budget / unit, 0.0)),
        (0, visit, min_stay),
        (0, piece, length),
    )

    profit = np.zeros(order[-1] + 1)
    profit[visit] = instance.reward[network.stops] / ceiling * PROFIT_UNITS
    profit[piece] = network.piece_profit / ceiling * PROFIT_UNITS
    most = np.ones(len(profit))
    most[start], most[leave], most[order] = latest, depart, max(size - 1, 0.0)
    entries = [np.concatenate(part) for part in zip(*rows.entries, strict=True)]
    by_row = np.argsort(entries[0], kind="stable")
    row_index, row_column, row_value = (part[by_row] for part in entries)
    return _Program(
        profit=profit,
        most=most,
        binaries=len(arc) + len(visit),
        row_start=np.searchsorted(row_index, np.arange(len(rows.most) + 1)).astype(np.int32),
        row_column=row_column.astype(np.int32),
        row_value=row_value,
        row_least=np.array(rows.least),
        row_most=np.array(rows.most),
    )


def _hint(network: _Network, plan: Solution) -> FloatArray | None:
    """Values of the binary variables for a plan; None if it uses an arc that is not there."""
    arc, visit, *_ = _columns(network)
    depot = len(network.stops)
    place = {int(stop): number for number, stop in enumerate(network.stops)}
    keys = network.tail * (depot + 1) + network.head
    values = np.zeros(len(arc) + len(visit))
    for route in plan.routes:
        if not route.visits:
            continue
        if not place.keys() >= set(route.stops):
            return None
        way = np.array([depot, *(place[stop] for stop in route.stops), depot])
        wanted = way[:-1] * (depot + 1) + way[1:]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if not np.array_equal(keys[found], wanted):
            return None
        values[arc[found]] = values[visit[way[1:-1]]] = 1.0
    return values


def _read(instance: Instance, network: _Network, values: FloatArray) -> Solution:
    """Make a plan of the solver's variables, free of its tolerances."""
    arc, _, _, _, piece, _ = _columns(network)
    depot = len(network.stops)
    used = values[arc] > 0.5
    after = dict(zip(network.tail[used], network.head[used], strict=True))
    stay = network.min_stay.copy()
    np.add.at(stay, network.piece_place, network.piece_length * np.clip(values[piece], 0, 1))
    routes, stays = [], []
    for first in network.head[used & (network.tail == depot)]:
        way = [first]
        while after[way[-1]] != depot:
            way.append(after[way[-1]])
        routes.append([int(stop) for stop in network.stops[way]])
        stays.append(_shorten(instance, routes[-1], stay[way].tolist()))
    return make_solution(instance, routes, stays)


def _shorten(instance: Instance, stops: list[int], stays: list[float]) -> list[float]:
    """Cut from stays what makes the route late, if anything, but no stay below its minimum."""
    place, due = instance.end, instance.budget
    leave = []
    for stop in reversed(stops):
        leave.append(min(due - float(instance.travel[stop, place]), float(instance.leave_by[stop])))
        due = min(leave[-1] - float(instance.min_stay[stop]), float(instance.close[stop]))
        place = stop
    place, clock = 0, 0.0
    result = []
    for stop, stay, latest in zip(stops, stays, reversed(leave), strict=True):
        clock = max(clock + float(instance.travel[place, stop]), float(instance.open[stop]))
        longest = min(latest - clock, float(instance.max_stay[stop]))
        result.append(max(min(stay, longest), float(instance.min_stay[stop])))
        place, clock = stop, clock + result[-1]
    return result


def _highs(
    program: _Program,
    hint: FloatArray | None,
    deadline: Deadline,
    options: MilpOptions,
    report: Callable[[float, float], None],
) -> _Answer:
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings = {
        "output_flag": False,
        "mip_rel_gap": ACCURACY,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": ACCURACY,
        "primal_feasibility_tolerance": ACCURACY,
        "dual_feasibility_tolerance": ACCURACY,
        "random_seed": options.seed % 2**31,
        "threads": options.solver_threads,
        "time_limit": max(0.0, deadline.left),
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    kinds = highspy.HighsVarType
    size = len(program.profit)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = size, len(program.row_most)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.profit, np.zeros(size), program.most
    lp.row_lower_, lp.row_upper_ = program.row_least, program.row_most
    lp.integrality_ = [kinds.kInteger] * program.binaries + [kinds.kContinuous] * (
        size - program.binaries
    )
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.row_start
    lp.a_matrix_.index_ = program.row_column
    lp.a_matrix_.value_ = program.row_value
    highs.passModel(lp)
    if hint is not None:
        highs.setSolution(len(hint), np.arange(len(hint)), hint)
    highs.HandleUserInterrupt = True

    def watch(event: Any) -> None:
        report(event.data_out.mip_primal_bound, event.data_out.mip_dual_bound)

    if options.progress is not None:
        highs.cbMipInterrupt.subscribe(watch)  # logging is off
    deadline.run(highs.run, highs.cancelSolve)
    info, status, statuses = highs.getInfo(), highs.getModelStatus(), highspy.HighsModelStatus
    sound = status in (statuses.kOptimal, statuses.kTimeLimit, statuses.kInterrupt)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return _Answer(
        values=np.array(highs.getSolution().col_value) if found else None,
        bound=info.mip_dual_bound if sound else math.inf,
        proven=status == statuses.kOptimal,
    )


def _import_gurobi() -> Any:
    try:
        return import_module("gurobipy")
    except ImportError:
        raise _error("option solver = 'gurobi': gurobipy is not installed") from None


def _gurobi(
    gurobi: Any,
    program: _Program,
    hint: FloatArray | None,
    deadline: Deadline,
    options: MilpOptions,
    report: Callable[[float, float], None],
) -> _Answer:
    settings = {
        "OutputFlag": 0,
        "MIPGap": ACCURACY,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": ACCURACY,
        "IntFeasTol": ACCURACY,
        "OptimalityTol": ACCURACY,
        "Seed": options.seed % 2_000_000_000,
        "Threads": options.solver_threads,
        "TimeLimit": max(0.0, deadline.left),
    }
    names = gurobi.GRB
    size = len(program.profit)
    kinds = [names.BINARY] * program.binaries
    kinds += [names.CONTINUOUS] * (size - program.binaries)
    try:
        with gurobi.Env(params=settings) as env, gurobi.Model(env=env) as model:
            model.ModelSense = names.MAXIMIZE
            columns = model.addVars(
                size, ub=program.most.tolist(), obj=program.profit.tolist(), vtype=kinds
            ).select()
            for row, (first, last) in enumerate(pairwise(program.row_start)):
                total = gurobi.LinExpr(
                    program.row_value[first:last].tolist(),
                    [columns[column] for column in program.row_column[first:last]],
                )
                equal = program.row_least[row] == program.row_most[row]
                sense = names.EQUAL if equal else names.LESS_EQUAL
                model.addLConstr(total, sense, program.row_most[row])
            if hint is not None:
                model.setAttr("Start", columns[: len(hint)], hint.tolist())

            def watch(model: Any, where: int) -> None:
                if where == names.Callback.MIP:
                    report(
                        *map(model.cbGet, (names.Callback.MIP_OBJBST, names.Callback.MIP_OBJBND))
                    )

            deadline.run(partial(model.optimize, watch), model.terminate)
            return _Answer(
                values=np.array(model.getAttr("X", columns)) if model.SolCount else None,
                bound=model.ObjBound,
                proven=model.Status == names.OPTIMAL,
            )
    except gurobi.GurobiError as error:
        raise _error(f"option solver = 'gurobi': {error}") from None


def _error(why: str) -> ValueError:
    from decost.method.options import MethodError

    return MethodError(why)


METHOD = Method(
    name="milp",
    description="The paper's mathematical program by branch and cut (HiGHS or Gurobi).",
    function=milp,
    options=MilpOptions,
)
