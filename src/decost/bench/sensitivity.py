"""Appendix B.4: the weights beta1 of REINFORCE and beta2 of the pTAR loss.

Adam takes the same steps whatever a loss is multiplied by, so that pairs of the same ratio give
the same network, but for rounding and the weight decay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost.bench.schema import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean, paper_columns
from decost.bench.training import (
    TrainingConfig,
    training_tasks,
    variant,
)


class SensitivityConfig(TrainingConfig):
    """The weights of which every pair is tried."""

    betas: tuple[int, ...]


def _label(beta1: int, beta2: int) -> str:
    return f"beta1={beta1} beta2={beta2}"


def list_tasks(config: SensitivityConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then a training for each pair."""
    variants = {
        _label(beta1, beta2): {"beta1": beta1, "beta2": beta2}
        for beta1 in config.betas
        for beta2 in config.betas
    }
    return training_tasks(config, folders, variants)


def summarise(config: SensitivityConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each pair, and one for all of them."""
    groups = grouped(add_gaps(rows, config.prover), "contender")
    table, gaps = [], []
    for beta1 in config.betas:
        for beta2 in config.betas:
            some = groups[variant(_label(beta1, beta2)),]
            gaps.append(mean(some, "gap"))
            table.append(
                {
                    "beta1": str(beta1),
                    "beta2": str(beta2),
                    "instances": str(len(some)),
                    "gap (%)": f"{gaps[-1]:.2f}",
                    "std over pairs (%)": "",
                }
                | paper_columns("sensitivity", str(beta1), str(beta2))
            )
    last = ("all", "all", "", f"{np.mean(gaps):.2f}", f"{np.std(gaps):.2f}")
    paper = paper_columns("sensitivity", "all", "all")
    return {"": [*table, dict(zip(table[0], last, strict=False)) | paper]}


BENCH = Bench.load("sensitivity", __doc__, SensitivityConfig, list_tasks, summarise)
