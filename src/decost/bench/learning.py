"""REINFORCE and the exact teacher, the paper's network and ours, at equal CPU time.

Each run has the same CPU time and sees as many instances as it can; the teacher's learning rate
falls over epochs that fill about that time. Gaps are to the optimum of other instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decost.bench.schema import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean
from decost.bench.training import TrainingConfig, training_tasks, variant

RUNS: dict[str, dict[str, Any]] = {
    "paper's network, REINFORCE + pTAR": {"network": "paper"},
    "paper's network, REINFORCE": {"network": "paper", "ptar": False},
    "paper's network, exact teacher": {"network": "paper", "teacher": "exact"},
    "prefix network, REINFORCE": {"network": "prefix"},
    "prefix network, exact teacher": {"network": "prefix", "teacher": "exact"},
}

WAYS = {"greedy": {"symmetries": False}, "8 symmetries": {"symmetries": True}}
"""How a network decodes."""


class LearningConfig(TrainingConfig):
    """CPU minutes of a training."""

    minutes: float
    epochs: int = 10**6
    episodes: int = 1280
    seeds: int = 1


def list_tasks(config: LearningConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then the trainings."""
    taught = {"epochs": max(1, round(7 * config.minutes))}
    variants = {
        label: kind | {"cpu_limit": 60 * config.minutes} | (taught if "teacher" in kind else {})
        for label, kind in RUNS.items()
    }
    return training_tasks(config, folders, variants, WAYS)


def summarise(config: LearningConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each training."""
    groups = grouped(add_gaps(rows, config.prover), "contender")
    table = []
    for label in RUNS:
        some = [groups[variant(label, way),] for way in WAYS]
        first = some[0][0]
        line = {
            "training": label,
            "instances": str(first["trained_on"]),
            "CPU min": f"{first['trained_cpu_seconds'] / 60:.1f}",
            "tested on": str(config.count),
        }
        gaps = (f"{mean(part, 'gap'):.2f}%" for part in some)
        table.append(line | dict(zip(WAYS, gaps, strict=True)))
    return {"": table}


BENCH = Bench.load("learning", __doc__, LearningConfig, list_tasks, summarise)
