"""Solvers of mathematical programs: HiGHS, and Gurobi where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import highspy
import numpy as np

from decost.baselines.milp_program import Program
from decost.baselines.milp_rules import ACCURACY
from decost.method.deadline import Deadline
from decost.method.options import MethodError
from decost.problem.instance import FloatArray


class Setting(NamedTuple):
    """How a program is solved: all that may change the way, and must not change the answer."""

    seed: int
    presolve: bool = True
    threads: int = 1


class Answer(NamedTuple):
    """What a solver says.

    Attributes
    ----------
    values
        Its best values, None if it has none.
    objective
        What it says that they are worth.
    bound
        Its bound on the objective of all others.
    ended
        Whether it says that the values reach the bound.
    """

    values: FloatArray | None = None
    objective: float = -math.inf
    bound: float = math.inf
    ended: bool = False


class Solver(Protocol):
    """Solves a program until a deadline, from values of the binary variables if some are given.

    `report` is told of the objective and the bound meanwhile, where anybody listens.
    """

    def __call__(
        self,
        program: Program,
        hint: FloatArray | None,
        setting: Setting,
        deadline: Deadline,
        report: Callable[[float, float], None] | None,
    ) -> Answer:
        """Give what the solver says."""


def solve_by_highs(
    program: Program,
    hint: FloatArray | None,
    setting: Setting,
    deadline: Deadline,
    report: Callable[[float, float], None] | None,
) -> Answer:
    """Solve a program by HiGHS."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings = {
        "output_flag": False,
        "mip_rel_gap": ACCURACY,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": ACCURACY,
        "primal_feasibility_tolerance": ACCURACY,
        "dual_feasibility_tolerance": ACCURACY,
        "random_seed": setting.seed % 2**31,
        "presolve": "on" if setting.presolve else "off",
        "threads": setting.threads,
        "time_limit": max(0.0, deadline.left),
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    kinds = highspy.HighsVarType
    size = len(program.objective)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = size, len(program.row_most)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.objective, np.zeros(size), program.most
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

    if report is not None:

        def watch(event: Any) -> None:
            report(event.data_out.mip_primal_bound, event.data_out.mip_dual_bound)

        highs.cbMipInterrupt.subscribe(watch)  # logging is off
    deadline.run(highs.run, highs.cancelSolve)
    info, status, statuses = highs.getInfo(), highs.getModelStatus(), highspy.HighsModelStatus
    sound = status in (statuses.kOptimal, statuses.kTimeLimit, statuses.kInterrupt)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Answer(
        values=np.array(highs.getSolution().col_value) if found else None,
        objective=info.objective_function_value if found else -math.inf,
        bound=info.mip_dual_bound if sound else math.inf,
        ended=status == statuses.kOptimal,
    )


def gurobi_solver() -> Solver:
    """Give the solver that uses Gurobi.

    Raises
    ------
    MethodError
        If Gurobi is not installed.
    """
    try:
        gurobi = import_module("gurobipy")
    except ImportError:
        raise MethodError("option solver = 'gurobi': gurobipy is not installed") from None
    return partial(_solve_by_gurobi, gurobi)


def _solve_by_gurobi(
    gurobi: Any,
    program: Program,
    hint: FloatArray | None,
    setting: Setting,
    deadline: Deadline,
    report: Callable[[float, float], None] | None,
) -> Answer:
    settings = {
        "OutputFlag": 0,
        "MIPGap": ACCURACY,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": ACCURACY,
        "IntFeasTol": ACCURACY,
        "OptimalityTol": ACCURACY,
        "Seed": setting.seed % 2_000_000_000,
        "Presolve": -1 if setting.presolve else 0,
        "Threads": setting.threads,
        "TimeLimit": max(0.0, deadline.left),
    }
    names = gurobi.GRB
    size = len(program.objective)
    kinds = [names.BINARY] * program.binaries
    kinds += [names.CONTINUOUS] * (size - program.binaries)
    try:
        with gurobi.Env(params=settings) as env, gurobi.Model(env=env) as model:
            model.ModelSense = names.MAXIMIZE
            columns = model.addVars(
                size, ub=program.most.tolist(), obj=program.objective.tolist(), vtype=kinds
            ).select()
            for row, (first, last) in enumerate(pairwise(program.row_start)):
                total = gurobi.LinExpr(
                    program.row_value[first:last].tolist(),
                    [columns[column] for column in program.row_column[first:last]],
                )
                least, most = program.row_least[row], program.row_most[row]
                if least == most:
                    model.addLConstr(total, names.EQUAL, most)
                else:
                    model.addLConstr(total, names.LESS_EQUAL, most)
                    if least > -math.inf:
                        model.addLConstr(total, names.GREATER_EQUAL, least)
            if hint is not None:
                model.setAttr("Start", columns[: len(hint)], hint.tolist())

            def watch(model: Any, where: int) -> None:
                if report is not None and where == names.Callback.MIP:
                    report(
                        *map(model.cbGet, (names.Callback.MIP_OBJBST, names.Callback.MIP_OBJBND))
                    )

            deadline.run(partial(model.optimize, watch), model.terminate)
            return Answer(
                values=np.array(model.getAttr("X", columns)) if model.SolCount else None,
                objective=model.ObjVal if model.SolCount else -math.inf,
                bound=model.ObjBound,
                ended=model.Status == names.OPTIMAL,
            )
    except gurobi.GurobiError as error:
        raise MethodError(f"option solver = 'gurobi': {error}") from None
