"""REINFORCE and the exact teacher, the paper's network and ours, at equal CPU time.

Each run has the same CPU time and sees as many instances as it can; the teacher's learning rate
falls over epochs that fill about that time. Gaps are to the optimum of other instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import Field

from decost.bench.instances import Setting
from decost.bench.measure import proofs
from decost.bench.runner import Bench, Config, Folders, Key, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean
from decost.bench.training import SMALL, Trained, train_and_measure, variant

RUNS: dict[str, dict[str, Any]] = {
    "paper's network, REINFORCE + pTAR": {"network": "paper"},
    "paper's network, REINFORCE": {"network": "paper", "ptar": False},
    "paper's network, exact teacher": {"network": "paper", "teacher": "exact"},
    "prefix network, REINFORCE": {"network": "prefix"},
    "prefix network, exact teacher": {"network": "prefix", "teacher": "exact"},
}

WAYS = {"greedy": {"symmetries": False}, "8 symmetries": {"symmetries": True}}
"""How a network decodes."""


class LearningConfig(Config):
    """CPU minutes of a training, instances of an epoch, and other settings of training."""

    minutes: float
    episodes: int = 1280
    training: dict[str, int | float] = Field(default_factory=dict)


QUICK = LearningConfig(
    settings=(Setting(20),),
    minutes=0.1,
    count=50,
    episodes=128,
    training=SMALL,
    reduced="n=20, 6 CPU seconds each, networks of 2 layers and width 64, so that gaps are large",
)
FULL = LearningConfig(
    settings=(Setting(50),), minutes=4, count=500, reduced="4 CPU minutes each, one seed"
)


def list_tasks(config: LearningConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then the trainings, on the first setting."""
    setting = config.settings[0]
    source, tasks = proofs(config, setting)
    for number, (label, kind) in enumerate(RUNS.items()):
        taught = kind.get("teacher") == "exact"
        settings = {
            "nodes": str(setting.nodes),
            "window": f"{setting.window:g}",
            "cpu_limit": 60 * config.minutes,
            "episodes": config.episodes,
            "epochs": max(1, round(7 * config.minutes)) if taught else 10**6,
            "threads": 1,
            **config.training,
            **kind,
        }
        keys = tuple(
            Key(setting.name, k, variant(f"{label}, {way}"))
            for way in WAYS
            for k in range(config.count)
        )
        size = f"{setting.nodes}-{setting.window:g}-{config.minutes:g}"
        folder = folders.out / "runs" / f"learning-{size}-{number}"
        work = partial(train_and_measure, folder, settings, source, tuple(WAYS.values()))
        tasks.append(Task(keys, work, Trained, 60 * config.minutes, "training"))
    return tasks


def summarise(config: LearningConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each training."""
    groups = grouped(add_gaps(rows, config.prover), "contender")
    table = []
    for label in RUNS:
        some = [groups[variant(f"{label}, {way}"),] for way in WAYS]
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


BENCH = Bench("learning", __doc__, QUICK, FULL, list_tasks, summarise)
