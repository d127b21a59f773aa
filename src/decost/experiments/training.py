"""Networks that experiments train, each in a run folder that an interrupted run goes on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from decost.experiments.instances import paper_set
from decost.experiments.measure import row_of
from decost.experiments.runner import Config, ExperimentError, Folders, Key, Row, Task, lock
from decost.learn.config import TrainConfig
from decost.solver import solve_many

if TYPE_CHECKING:
    from decost.learn.train import Run

SMALL: dict[str, int | float] = {
    "layers": 2,
    "width": 64,
    "heads": 4,
    "feed_forward": 128,
    "learning_rate": 1e-3,
    "validation": 64,
}
"""Settings of a network that learns something in seconds."""


class TrainingConfig(Config):
    """How networks are trained and measured, each on the setting that it was trained for.

    Attributes
    ----------
    epochs, episodes
        Epochs, and instances in each.
    seeds
        Trainings of each kind, with seeds from 0 on.
    count
        Instances to measure each network on.
    settings
        Other settings of training than the paper's, see `decost train --help`.
    """

    epochs: int
    episodes: int
    seeds: int
    count: int
    settings: dict[str, int | float] = Field(default_factory=dict)


def training_tasks(
    config: TrainingConfig,
    folders: Folders,
    setting: str,
    label: str,
    *,
    nodes: int,
    window: float,
    **switches: Any,
) -> list[Task]:
    """List the trainings of one kind: each trains a network, and measures it on all instances.

    Networks with the same settings are trained once, whatever experiments call them.
    """
    tasks = []
    for seed in range(config.seeds):
        settings = {
            "nodes": str(nodes),
            "window": f"{window:g}",
            "epochs": config.epochs,
            "episodes": config.episodes,
            "seed": seed,
            "threads": 1,
            **config.settings,
            **switches,
        }
        words = (
            f"{name}={value}"
            for name, value in switches.items()
            if value != TrainConfig.model_fields[name].default
        )
        size = f"n{nodes}-tw{window:g}-{config.epochs}x{config.episodes}"
        folder = folders.out / "runs" / "-".join((size, *words, f"seed{seed}"))
        keys = tuple(Key(setting, k, label, seed) for k in range(config.count))
        source = partial(paper_set, nodes, window, config.count)
        work = partial(_train_and_measure, folder, settings, label, source)
        tasks.append(Task(keys, work, kind="training"))
    return tasks


def trained(folder: Path, **settings: Any) -> Run:
    """Train a network in a folder, or go on where that was interrupted.

    Raises
    ------
    ExperimentError
        If the folder holds a run with other settings, or another process is at it.
    """
    from decost.learn.train import resume_run, start_run, train

    config = TrainConfig(**settings)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as file:
        lock(file, folder)
        begun = (folder / "checkpoint.safetensors").exists()
        run = resume_run(folder) if begun else start_run(config, folder)
        if run.config != config:
            raise ExperimentError(
                f"{folder}: holds a run with other settings; remove it, or give another --out"
            )
        train(run, lambda run: None)
    return run


def _train_and_measure(
    folder: Path, settings: dict[str, Any], label: str, source: partial[list[Any]]
) -> list[Row]:
    run = trained(folder, **settings)
    instances = source()
    options: dict[str, Any] = {
        "weights": str(folder / "weights.safetensors"),
        "stay_optimisation": run.config.stay_optimisation,
    }
    for instance in instances:
        _ = instance.arrays  # not a part of any method's time
    solve_many(instances[:2], "decost", threads=1, **options)
    results = solve_many(instances, "decost", threads=1, **options)
    epoch = {"epoch_cpu_seconds": run.cpu_seconds / run.epoch}
    return [row_of(result, label) | epoch for result in results]


def over_seeds(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    """Give the mean of a column for each seed."""
    seeds: dict[int, list[float]] = {}
    for row in rows:
        seeds.setdefault(row["seed"], []).append(row[column])
    return [sum(values) / len(values) for values in seeds.values()]
