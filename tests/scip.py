"""A second solver for mathematical programs: SCIP, which shares no code with HiGHS."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pyscipopt import Model, quicksum

from decost.baselines.milp_program import Program
from decost.baselines.milp_solvers import Answer


def solve_by_scip(program: Program, seed: int = 0) -> Answer:
    """Solve a program to the end."""
    model = Model()
    model.hideOutput()
    model.setParams(
        {
            "numerics/feastol": 1e-9,
            "numerics/dualfeastol": 1e-9,
            "limits/gap": 0.0,
            "randomization/randomseedshift": seed,
        }
    )
    columns = [
        model.addVar(vtype="B" if column < program.binaries else "C", lb=0.0, ub=float(most))
        for column, most in enumerate(program.most)
    ]
    spans = zip(pairwise(program.row_start), program.row_least, program.row_most, strict=True)
    for (first, last), least, most in spans:
        entries = zip(program.row_value[first:last], program.row_column[first:last], strict=True)
        total = quicksum(float(value) * columns[column] for value, column in entries)
        if first == last:
            assert least <= 0 <= most
        elif least == most:
            model.addCons(total == float(most))
        else:
            model.addCons(total <= float(most))
            if np.isfinite(least):
                model.addCons(total >= float(least))
    model.setObjective(
        quicksum(float(value) * one for value, one in zip(program.objective, columns, strict=True)),
        "maximize",
    )
    model.optimize()
    assert model.getStatus() == "optimal"
    return Answer(
        values=np.array([model.getVal(column) for column in columns]),
        objective=model.getObjVal(),
        bound=model.getDualbound(),
        ended=True,
    )
