"""Appendix B.4: the weights beta1 of REINFORCE and beta2 of the pTAR loss.

Adam takes the same steps whatever a loss is multiplied by, so that pairs of the same ratio give
the same network, but for rounding and the weight decay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost.bench.runner import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean
from decost.bench.training import SMALL, TrainingConfig, training_tasks, variant


class SensitivityConfig(TrainingConfig):
    """One setting, and the weights of which every pair is tried."""

    nodes: int
    window: float = 100
    betas: tuple[int, ...]


QUICK = SensitivityConfig(
    nodes=20,
    betas=(100, 1000, 5000),
    epochs=3,
    episodes=640,
    seeds=1,
    count=100,
    settings=SMALL,
    reduced=(
        "9 of 25 pairs, n=20 instead of 50; a network of 2 layers and width 64, trained on 3 "
        "epochs of 640 instances instead of 800 of 10,000, so that gaps are large"
    ),
)

FULL = SensitivityConfig(
    nodes=20,
    betas=(100, 500, 1000, 2000, 5000),
    epochs=12,
    episodes=2560,
    seeds=1,
    count=1000,
    reduced="n=20 instead of 50; 12 epochs of 2,560 instances instead of 800 of 10,000",
)

# The paper's table in appendix B.4 (n=50, TW=100): gaps in percent by beta1 and beta2.
PAPER = {
    100: {100: "0.95", 500: "0.88", 1000: "0.83", 2000: "0.88", 5000: "0.92"},
    500: {100: "0.91", 500: "0.96", 1000: "0.89", 2000: "0.83", 5000: "0.84"},
    1000: {100: "0.87", 500: "0.92", 1000: "0.84", 2000: "0.96", 5000: "0.88"},
    2000: {100: "0.92", 500: "0.81", 1000: "0.84", 2000: "0.97", 5000: "0.84"},
    5000: {100: "0.88", 500: "0.93", 1000: "0.83", 2000: "0.92", 5000: "0.94"},
}
PAPER_ALL = ("0.89", "0.05")
"""Its mean, and its standard deviation over the pairs."""


def _label(beta1: int, beta2: int) -> str:
    return f"beta1={beta1} beta2={beta2}"


def list_tasks(config: SensitivityConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then a training for each pair."""
    variants = {
        _label(beta1, beta2): {"beta1": beta1, "beta2": beta2}
        for beta1 in config.betas
        for beta2 in config.betas
    }
    return training_tasks(config, folders, config.nodes, config.window, variants)


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
                    "paper's gap, n=50 (%)": PAPER.get(beta1, {}).get(beta2, ""),
                    "paper's std over pairs (%)": "",
                }
            )
    last = ("all", "all", "", f"{np.mean(gaps):.2f}", f"{np.std(gaps):.2f}", *PAPER_ALL)
    return {"": [*table, dict(zip(table[0], last, strict=True))]}


BENCH = Bench(
    name="sensitivity",
    title="The weights of the two losses",
    paper="The paper's appendix B.4",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
