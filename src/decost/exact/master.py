"""The master problem: which routes together, each stop being visited once at most.

Its linear relaxation gives shares of routes, and as its duals the prices of stops; the integer
program gives a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import highspy
import numpy as np

from decost.exact.tree import ACCURACY, Branch
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the programs, whatever it is in the instance."""


class Relaxation(NamedTuple):
    """An optimum of the relaxation: profit, shares of routes, duals of stops and of a vehicle."""

    profit: float
    share: FloatArray
    price: FloatArray
    vehicle: float


class Master:
    """The linear relaxation of the master problem on the routes found so far, the columns.

    Profits are given in `unit`, what there is to earn in all.
    """

    def __init__(self, network: Network, vehicles: int, unit: float) -> None:
        self.routes: list[IntArray] = []
        self.profit: list[float] = []
        self._seen: set[bytes] = set()
        self._network = network
        self._unit = unit
        self._stops = len(network.number)
        self._forced = np.zeros(self._stops, dtype=np.bool_)
        self._highs = _program(self._forced, vehicles)
        # A stop that must be visited may be missed at a price that no plan can pay.
        missed = list(np.arange(self._stops)[:, None])
        _add_columns(self._highs, np.full(self._stops, -2.0), missed, 0.0)

    def fresh(self, routes: list[IntArray]) -> list[IntArray]:
        """Leave out the routes that are there already."""
        return [route for route in routes if route.tobytes() not in self._seen]

    def add(self, routes: list[IntArray], profit: FloatArray) -> None:
        """Add routes."""
        self._seen.update(route.tobytes() for route in routes)
        self.routes += routes
        self.profit += profit.tolist()
        _add_columns(self._highs, profit / self._unit, _rows(self._network, routes))

    def enter(self, branch: Branch) -> None:
        """Allow only what a branch allows."""
        self._forced = branch.forced
        most = np.where(branch.forced, np.inf, 0.0)
        if self.routes:
            size = [len(route) for route in self.routes]
            head = np.concatenate(self.routes)
            tail = np.roll(head, 1)
            first = np.cumsum([0, *size[:-1]])
            tail[first] = self._network.start
            allowed = np.logical_and.reduceat(branch.arcs[tail, head], first)
            most = np.append(most, np.where(allowed, np.inf, 0.0))
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
        dual = np.array(solution.row_dual) / PROFIT_UNITS * self._unit
        price = np.where(self._forced, dual[:-1], np.maximum(0.0, dual[:-1]))
        profit = highs.getInfo().objective_function_value / PROFIT_UNITS * self._unit
        return Relaxation(profit, share, price, max(0.0, float(dual[-1])))

    def paid(self, price: FloatArray, routes: list[IntArray]) -> FloatArray:
        """Add up the prices of the stops of each route."""
        return np.array([price[self._network.stop[route]].sum() for route in routes])


class Combination(NamedTuple):
    """Routes that make the best plan found of some, and whether no other of them is better."""

    chosen: IntArray
    proven: bool


def combine(
    network: Network,
    routes: list[IntArray],
    profit: FloatArray,
    forced: BoolArray,
    vehicles: int,
    deadline: Deadline,
) -> Combination:
    """Find the best plan of some routes, whose profits are shares of all there is to earn."""
    highs = _program(forced, vehicles)
    _add_columns(highs, profit, _rows(network, routes))
    size = len(routes)
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


def _rows(network: Network, routes: list[IntArray]) -> list[IntArray]:
    """Give the rows of routes: their stops, and the last one for a vehicle."""
    return [np.append(network.stop[route], len(network.number)) for route in routes]


def _program(forced: BoolArray, vehicles: int) -> highspy.Highs:
    """Write the rows: a stop is visited once at most, or has to be; so many vehicles."""
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


def _row_bounds(forced: BoolArray, vehicles: int) -> tuple[FloatArray, FloatArray]:
    least = np.append(np.where(forced, 1.0, -np.inf), -np.inf)
    return least, np.append(np.ones(len(forced)), float(vehicles))


def _add_columns(
    highs: highspy.Highs, profit: FloatArray, rows: Sequence[IntArray], most: float = np.inf
) -> None:
    """Write columns by their rows, the profits given as a share of all there is to earn."""
    size = len(rows)
    row = np.concatenate([np.empty(0), *rows]).astype(np.int32)
    start = np.cumsum([0, *map(len, rows)])[:-1].astype(np.int32)
    highs.addCols(
        size,
        profit * PROFIT_UNITS,
        np.zeros(size),
        np.full(size, most),
        len(row),
        start,
        row,
        np.ones(len(row)),
    )
