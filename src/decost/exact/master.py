"""The master problem: which routes together, each stop being visited once at most.

Its linear relaxation gives shares of routes, and as its duals the prices of stops; the integer
program gives a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import highspy
import numpy as np

from decost.exact.pricing import Team, Trip
from decost.exact.tree import ACCURACY, Branch
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray, IntArray

UNITS = 1000.0
"""Value of all stops together in the programs, whatever it is in the instance."""


class Relaxation(NamedTuple):
    """An optimum of the relaxation: value, shares of routes, duals of stops and of vehicles."""

    value: float
    share: FloatArray
    price: FloatArray  # (row,)
    vehicle: FloatArray  # (type,)


class Master:
    """The linear relaxation of the master problem on the routes found so far, the columns.

    Values are given in `unit`, that of all stops.
    """

    def __init__(self, team: Team, unit: float) -> None:
        self.trips: list[Trip] = []
        self.value: list[float] = []
        self._seen: set[tuple[int, bytes]] = set()
        self._column: list[list[int]] = [[] for _ in team.kinds]
        self._team = team
        self._unit = unit
        self._stops = len(team.number)
        self._forced = np.zeros(self._stops, dtype=np.bool_)
        self._highs = _program(self._forced, [len(kind.vehicles) for kind in team.kinds])
        # A stop that must be visited may be missed at a price that no plan can pay.
        missed = list(np.arange(self._stops)[:, None])
        _add_columns(self._highs, np.full(self._stops, -2.0), missed, 0.0)

    def fresh(self, trips: list[Trip]) -> list[Trip]:
        """Leave out the routes that are there already."""
        return [trip for trip in trips if (trip.kind, trip.route.tobytes()) not in self._seen]

    def add(self, trips: list[Trip], value: FloatArray) -> None:
        """Add routes."""
        for column, trip in enumerate(trips, start=len(self.trips)):
            self._seen.add((trip.kind, trip.route.tobytes()))
            self._column[trip.kind].append(column)
        self.trips += trips
        self.value += value.tolist()
        _add_columns(self._highs, value / self._unit, _rows(self._team, trips))

    def enter(self, branch: Branch) -> None:
        """Allow only what a branch allows."""
        self._forced = branch.forced
        most = np.append(np.where(branch.forced, np.inf, 0.0), np.empty(len(self.trips)))
        for kind, arcs, column in zip(self._team.kinds, branch.arcs, self._column, strict=True):
            if not column:
                continue
            routes = [self.trips[k].route for k in column]
            head = np.concatenate(routes)
            tail = np.roll(head, 1)
            first = np.cumsum([0, *(len(route) for route in routes[:-1])])
            tail[first] = kind.network.start
            allowed = np.logical_and.reduceat(arcs[tail, head], first)
            most[self._stops + np.array(column)] = np.where(allowed, np.inf, 0.0)
        self._highs.changeColsBounds(
            len(most), np.arange(len(most), dtype=np.int32), np.zeros(len(most)), most
        )
        least, most = _row_bounds(branch.forced, branch.vehicles)
        rows = np.arange(len(most), dtype=np.int32)
        self._highs.changeRowsBounds(len(most), rows, least, most)  # type: ignore[attr-defined]

    def solve(self, deadline: Deadline) -> Relaxation | None:
        """Solve the relaxation; nothing if time is up."""
        highs = self._highs
        highs.setOptionValue("time_limit", highs.getRunTime() + max(0.0, deadline.left))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = highs.getSolution()
        share = np.array(solution.col_value[self._stops :])
        dual = np.array(solution.row_dual) / UNITS * self._unit
        price, vehicle = dual[: self._stops], dual[self._stops :]
        price = np.where(self._forced, price, np.maximum(0.0, price))
        value = highs.getInfo().objective_function_value / UNITS * self._unit
        return Relaxation(value, share, price, np.maximum(0.0, vehicle))

    def paid(self, price: FloatArray, trips: Iterable[Trip]) -> FloatArray:
        """Add up the prices of the stops of each route."""
        return np.array([price[self._team.rows(trip)].sum() for trip in trips])


class Combination(NamedTuple):
    """Routes that make the best plan found of some, and whether no other of them is better."""

    chosen: IntArray
    proven: bool


def combine(
    team: Team,
    trips: list[Trip],
    value: FloatArray,
    forced: BoolArray,
    deadline: Deadline,
) -> Combination:
    """Find the best plan of some routes, whose values are shares of that of all stops."""
    highs = _program(forced, [len(kind.vehicles) for kind in team.kinds])
    _add_columns(highs, value, _rows(team, trips))
    size = len(trips)
    whole = np.full(size, highspy.HighsVarType.kInteger.value, dtype=np.uint8)
    highs.changeColsIntegrality(size, np.arange(size, dtype=np.int32), whole)
    highs.setOptionValue("time_limit", max(0.0, deadline.left))
    highs.setOptionValue("mip_rel_gap", ACCURACY)
    highs.setOptionValue("mip_abs_gap", 0.0)
    highs.HandleUserInterrupt = True
    deadline.run(highs.run, highs.cancelSolve)
    info, status, statuses = highs.getInfo(), highs.getModelStatus(), highspy.HighsModelStatus
    chosen = np.empty(0, dtype=np.int64)
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        chosen = np.flatnonzero(np.array(highs.getSolution().col_value) > 0.5)
    proven = status in (statuses.kOptimal, statuses.kInfeasible)
    return Combination(chosen, proven)


def _rows(team: Team, trips: list[Trip]) -> list[IntArray]:
    """Give the rows of routes: their stops, and behind all stops one for the vehicle's type."""
    return [np.append(team.rows(trip), len(team.number) + trip.kind) for trip in trips]


def _program(forced: BoolArray, vehicles: Sequence[int]) -> highspy.Highs:
    """Write the rows: a stop is visited once at most, or has to be; so many vehicles a type."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings = {
        "output_flag": False,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "mip_feasibility_tolerance": 1e-9,
        "threads": 1,
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    least, most = _row_bounds(forced, vehicles)
    none = np.empty(0, dtype=np.int32)
    highs.addRows(len(most), least, most, 0, none, none, np.empty(0))
    return highs


def _row_bounds(forced: BoolArray, vehicles: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    least = np.append(np.where(forced, 1.0, -np.inf), np.full(len(vehicles), -np.inf))
    return least, np.append(np.ones(len(forced)), np.array(vehicles, dtype=np.float64))


def _add_columns(
    highs: highspy.Highs, value: FloatArray, rows: Sequence[IntArray], most: float = np.inf
) -> None:
    """Write columns by their rows, the values given as shares of that of all stops."""
    size = len(rows)
    row = np.concatenate([np.empty(0), *rows]).astype(np.int32)
    start = np.cumsum([0, *map(len, rows)])[:-1].astype(np.int32)
    highs.addCols(
        size,
        value * UNITS,
        np.zeros(size),
        np.full(size, most),
        len(row),
        start,
        row,
        np.ones(len(row)),
    )
