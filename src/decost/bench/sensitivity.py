"""Appendix B.4: the weights beta1 of REINFORCE and beta2 of the pTAR loss.

Adam takes the same steps whatever a loss is multiplied by, so that pairs of the same ratio give
the same network, but for rounding and the weight decay. So there is one training for each ratio
and seed: fifteen ratios for the paper's twenty-five pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from decost.bench.schema import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean, paper_columns
from decost.bench.training import (
    TrainingConfig,
    over_seeds,
    training_tasks,
    variant,
)


class SensitivityConfig(TrainingConfig):
    """The weights of which every pair is tried."""

    betas: tuple[int, ...]


def _label(beta1: int, beta2: int) -> str:
    """Name a training by the ratio of the weights."""
    ratio = Fraction(beta2, beta1)
    return f"beta1={ratio.denominator} beta2={ratio.numerator}"


def list_tasks(config: SensitivityConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then a training for each pair."""
    variants: dict[str, dict[str, int]] = {}
    for beta1 in config.betas:
        for beta2 in config.betas:
            variants.setdefault(_label(beta1, beta2), {"beta1": beta1, "beta2": beta2})
    return training_tasks(config, folders, variants)


def summarise(config: SensitivityConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each pair, and one for all of them.

    A gap of a pair is the mean over the seeds; the spread of pairs is that of the ratios.
    """
    groups = grouped(add_gaps(rows, config.prover), "contender")
    table: list[dict[str, str]] = []
    gaps: dict[str, float] = {}
    for beta1 in config.betas:
        for beta2 in config.betas:
            label = _label(beta1, beta2)
            some = groups[variant(label),]
            seeds = over_seeds(some, "gap")
            gaps[label] = mean(some, "gap")
            table.append(
                {
                    "beta1": str(beta1),
                    "beta2": str(beta2),
                    "instances": str(len(some)),
                    "gap (%)": f"{gaps[label]:.2f}",
                    "std over seeds (%)": f"{np.std(seeds, ddof=1):.2f}" if len(seeds) > 1 else "",
                    "std over pairs (%)": "",
                }
                | paper_columns("sensitivity", str(beta1), str(beta2))
            )
    means = list(gaps.values())
    last = ("all", "all", "", f"{np.mean(means):.2f}", "", f"{np.std(means):.2f}")
    paper = paper_columns("sensitivity", "all", "all")
    return {"": [*table, dict(zip(table[0], last, strict=False)) | paper]}


BENCH = Bench.load("sensitivity", __doc__, SensitivityConfig, list_tasks, summarise)
