"""Networks that benches train, each in a run folder that an interrupted run goes on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from decost import solve_many
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.measure import Measured, Source, proofs, row_of
from decost.bench.rows import lock
from decost.bench.schema import Config, Folders, Key, Row, Task

if TYPE_CHECKING:
    from decost.learn.train import Run


class Trained(Measured):
    """A row of a plan by a network that was trained for it."""

    epoch_cpu_seconds: float
    trained_on: int
    trained_cpu_seconds: float


class TrainingConfig(Config):
    """How networks are trained and measured, each on the setting that it was trained for.

    Attributes
    ----------
    epochs, episodes
        Epochs, and instances in each.
    seeds
        Trainings of each kind, with seeds from 0 on.
    training
        Other settings of training than the paper's, see `decost train --help`.
    """

    epochs: int
    episodes: int
    seeds: int
    training: dict[str, int | float] = Field(default_factory=dict)


def variant(label: str, way: str = "") -> Contender:
    """Name a network by the way in which it was trained, and that in which it decodes."""
    return Contender.of("decost", f"{label}, {way}" if way else label)


def training_tasks(
    config: TrainingConfig,
    folders: Folders,
    variants: Mapping[str, Mapping[str, Any]],
    ways: Mapping[str, Mapping[str, Any]] = {"": {}},
) -> list[Task]:
    """List the proofs of each setting and then its trainings, each with the settings of a variant.

    A training makes a network, and measures it on all instances in each of some ways to decode.
    Networks with the same settings are trained once, whatever benches call them.
    """
    tasks: list[Task] = []
    for setting in config.settings:
        source, some = proofs(config, setting)
        tasks += some
        for (label, switches), seed in product(variants.items(), range(config.seeds)):
            settings = {
                "nodes": str(setting.nodes),
                "window": f"{setting.window:g}",
                "epochs": config.epochs,
                "episodes": config.episodes,
                "seed": seed,
                "threads": 1,
                **config.training,
                **switches,
            }
            folder = folders.out / "runs" / _run_name(settings, switches)
            keys = tuple(
                Key(setting.name, k, variant(label, way), seed)
                for way, k in product(ways, range(config.count))
            )
            work = partial(train_and_measure, folder, settings, source, tuple(ways.values()))
            tasks.append(Task(keys, work, Trained, kind="training"))
    return tasks


def _run_name(settings: Mapping[str, Any], switches: Mapping[str, Any]) -> str:
    """Name a run by what it is trained on, and by the switches that are not as usual."""
    from decost.learn.config import TrainConfig

    usual = TrainConfig.model_fields
    words = (f"{name}={value}" for name, value in switches.items() if value != usual[name].default)
    size = "n{nodes}-tw{window}-{epochs}x{episodes}".format(**settings)
    return "-".join((size, *words, f"seed{settings['seed']}"))


def trained(folder: Path, **settings: Any) -> Run:
    """Train a network in a folder, or go on where that was interrupted.

    Raises
    ------
    BenchError
        If the folder holds a run with other settings, or another process is at it.
    """
    from decost.learn.config import TrainConfig
    from decost.learn.train import resume_run, start_run, train

    config = TrainConfig(**settings)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as file:
        lock(file, folder)
        begun = (folder / "checkpoint.safetensors").exists()
        run = resume_run(folder) if begun else start_run(config, folder)
        if run.config != config:
            raise BenchError(
                f"{folder}: holds a run with other settings; remove it, or give another --out"
            )
        train(run, lambda run: None)
    return run


def train_and_measure(
    folder: Path,
    settings: Mapping[str, Any],
    source: Source,
    ways: Sequence[Mapping[str, Any]] = ({},),
) -> list[Row]:
    """Train a network, and plan with it for all instances, in each of some ways to decode."""
    from decost.inference.weights import read_card

    run = trained(folder, **settings)
    instances = source()
    weights = folder / "weights.safetensors"
    card = read_card(weights)
    known = {
        "epoch_cpu_seconds": run.cpu_seconds / run.epoch,
        "trained_on": card["instances"],
        "trained_cpu_seconds": card["cpu_seconds"],
    }
    for instance in instances:
        _ = instance.arrays  # not a part of any method's time
    rows = []
    for way in ways:
        options: dict[str, Any] = {
            "weights": str(weights),
            "stay_optimisation": run.config.stay_optimisation,
            **way,
        }
        solve_many(instances[:2], "decost", threads=1, **options)
        results = solve_many(instances, "decost", threads=1, **options)
        rows += [row_of(result, Contender.of("decost", **options)) | known for result in results]
    return rows


def over_seeds(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    """Give the mean of a column for each seed."""
    seeds: dict[int, list[float]] = {}
    for row in rows:
        seeds.setdefault(row["seed"], []).append(row[column])
    return [sum(values) / len(values) for values in seeds.values()]
