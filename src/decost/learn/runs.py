"""Training runs of any network, each in a folder of its own.

It holds `config.json`, `checkpoint.safetensors` after every epoch (to resume from, bit for bit),
`weights.safetensors` of the best epoch so far (on files: of the last; with `average`, the mean
of many steps), `history.csv`,
`curve.png`, and scalars for TensorBoard. All that is random is drawn from generators made of the
seed, the epoch and the step, so that a checkpoint needs to know none of their states.
"""

from __future__ import annotations

import copy
import os
import shlex
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from pydantic import ValidationError
from torch.utils.tensorboard import SummaryWriter

from decost.exact.exact import ExactOptions, exact
from decost.files.benchmarks import Profit
from decost.files.door import read
from decost.files.writing import write_text
from decost.inference.weights import WeightsError
from decost.learn.checkpoint import (
    AnyNetwork,
    load_run,
    network_tensors,
    optimizer_tensors,
    read_facts,
    restore_network,
    restore_optimizer,
    save_run,
    save_weights,
)
from decost.learn.config import AntsConfig, Source, TrainConfig
from decost.learn.crew import ALONE, Crew
from decost.problem.generators import generate
from decost.problem.instance import FloatArray, Instance
from decost.problem.validation import first_fault
from decost.search.search import SearchOptions, search

VALIDATION = 2**31
"""Offset of the seeds of validation instances, which no training instance has."""

LENGTH = ("epochs", "patience", "time_limit", "cpu_limit")
"""Settings that only say when a run ends, and so may be others when it is resumed."""

Row: TypeAlias = dict[str, float]
"""What is reported of an epoch."""

ConfigT = TypeVar("ConfigT", TrainConfig, AntsConfig)
NetworkT = TypeVar("NetworkT", bound=AnyNetwork)
Parts: TypeAlias = tuple[NetworkT, torch.optim.Optimizer]


class TrainError(ValueError):
    """A run cannot begin or go on."""


@dataclass
class Run(Generic[ConfigT, NetworkT]):
    """A training run at the end of an epoch."""

    config: ConfigT
    folder: Path
    network: NetworkT
    optimizer: torch.optim.Optimizer
    history: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    mean: NetworkT | None = None  # with the running mean of the weights

    @property
    def outcome(self) -> NetworkT:
        """The network that is measured and written."""
        return self.network if self.mean is None else self.mean

    def step(self) -> None:
        """Follow the gradient, and let the running mean of the weights follow these."""
        self.optimizer.step()
        if self.mean is not None:
            with torch.no_grad():
                means, weights = self.mean.parameters(), self.network.parameters()
                for mean, weight in zip(means, weights, strict=True):
                    mean.lerp_(weight, 1.0 - self.config.average)

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.history) - 1  # the first row is the network before any training

    @property
    def best(self) -> int:
        """Epoch whose weights count: that with the smallest gap on the validation instances.

        Of a run on files it is the last, so that files that are held out choose nothing.
        """
        if self.config.files:
            return self.epoch
        gaps = [row["gap"] for row in self.history]
        return gaps.index(min(gaps))

    @property
    def done(self) -> bool:
        """Whether the last epoch is over: by number, patience, or time."""
        config = self.config
        if not self.history:
            return False
        late = config.time_limit is not None and self.seconds >= config.time_limit
        spent = config.cpu_limit is not None and self.cpu_seconds >= config.cpu_limit
        idle = self.epoch - self.best >= config.patience
        return self.epoch >= config.epochs or idle or late or spent


def begin_run(
    config: ConfigT, folder: Path, make: Callable[[ConfigT], Parts[NetworkT]]
) -> Run[ConfigT, NetworkT]:
    """Begin a run in a new folder, with the network and the optimizer that are made for it."""
    if (folder / "checkpoint.safetensors").exists():
        raise TrainError(f"{folder}: holds a run already; go on with it by --resume {folder}")
    network, optimizer = make(config)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.json", config.model_dump_json(indent=2) + "\n")
    return Run(config, folder, network, optimizer, mean=_mean_of(config, network))


def _mean_of(config: TrainConfig | AntsConfig, network: NetworkT) -> NetworkT | None:
    """Copy a network for the running mean of its weights, if there is to be one."""
    if not config.average:
        return None
    mean = copy.deepcopy(network)
    mean.requires_grad_(False)
    return mean


def continue_run(
    folder: Path,
    schema: Callable[..., ConfigT],
    make: Callable[[ConfigT], Parts[NetworkT]],
    longer: Mapping[str, Any],
) -> Run[ConfigT, NetworkT]:
    """Take up a run where its last checkpoint was written, with another end if told so."""
    other = [name for name in longer if name not in LENGTH]
    if other:
        raise TrainError(
            f"--resume {folder}: a run goes on with its own settings, {other[0]} among them; only"
            f" {', '.join(LENGTH)} may be others"
        )
    path = _checkpoint(folder)
    tensors, facts = load_run(path)
    try:
        config = schema(**{**facts["config"], **longer})
        network, optimizer = make(config)
        restore_network(network, tensors)
        mean = _mean_of(config, network)
        if mean is not None:
            restore_network(mean, tensors, "mean")
        restore_optimizer(optimizer, network, tensors)
        history = [
            {str(name): float(value) for name, value in row.items()} for row in facts["history"]
        ]
        if not all("gap" in row for row in history):
            raise ValueError("history: an epoch has no gap")
        seconds, cpu_seconds = float(facts["seconds"]), float(facts["cpu_seconds"])
        return Run(config, folder, network, optimizer, history, seconds, cpu_seconds, mean)
    except ValidationError as error:
        why = first_fault(error, prefix="option ")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        why = str(error)
    raise WeightsError(f"{path}: is no state of a training run: {why}")


def is_for_ants(folder: Path) -> bool:
    """Tell whether the run in a folder trains a heatmap."""
    config = read_facts(_checkpoint(folder)).get("config")
    return isinstance(config, dict) and config.get("network") == "heatmap"


def _checkpoint(folder: Path) -> Path:
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        raise TrainError(f"{folder}: holds no checkpoint to resume from")
    return path


def finish_run(
    run: Run[ConfigT, NetworkT],
    examine: Callable[[NetworkT], Row],
    epoch: Callable[[Run[ConfigT, NetworkT]], Row],
    command: str,
    report: Callable[[Run[ConfigT, NetworkT]], object],
    crew: Crew = ALONE,
) -> None:
    """Train until the run is done; `report` is called after every epoch.

    An interruption loses at most the epoch that is under way. Of several processes, the first
    examines the network, keeps time, writes and reports.
    """
    with SummaryWriter(str(run.folder)) if crew.first else nullcontext() as events:
        if not run.history:
            row = examine(run.outcome) if crew.first else None
            run.history.append({"epoch": 0.0, **crew.tell(row)})
            if events is not None:
                _save(run, command, events)
                report(run)
        while not run.done:
            begin, cpu = time.perf_counter(), time.process_time()
            row = epoch(run)
            if crew.first:
                row |= examine(run.outcome)
                row["seconds"] = run.seconds + time.perf_counter() - begin
                row["cpu_seconds"] = run.cpu_seconds + crew.size * (time.process_time() - cpu)
            row = crew.tell(row)
            run.history.append({"epoch": float(run.epoch + 1), **row})
            run.seconds, run.cpu_seconds = row["seconds"], row["cpu_seconds"]
            if events is not None:
                _save(run, command, events)
                report(run)


def _save(run: Run[ConfigT, NetworkT], command: str, events: SummaryWriter) -> None:
    """Write what the run has come to; the checkpoint last, so that it is never ahead."""
    from decost.show.curves import plot_training
    from decost.show.page import save_figure

    row = run.history[-1]
    for name, value in row.items():
        if name != "epoch":
            events.add_scalar(name, value, run.epoch)
    if run.best == run.epoch:
        save_weights(run.folder / "weights.safetensors", run.outcome, card(run, command))
    write_text(run.folder / "history.csv", _as_csv(run.history))
    save_figure(plot_training(run.history), run.folder / "curve.png")
    facts = {
        "config": run.config.model_dump(),
        "history": run.history,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
    }
    tensors = network_tensors(run.network) | optimizer_tensors(run.optimizer, run.network)
    if run.mean is not None:
        tensors |= network_tensors(run.mean, "mean")
    save_run(run.folder / "checkpoint.safetensors", tensors, facts)


def _as_csv(history: list[Row]) -> str:
    """Write what was reported of the epochs, a line each."""
    names = list(dict.fromkeys(name for row in history for name in row))
    lines = [
        names,
        *([f"{row[name]:.4g}" if name in row else "" for name in names] for row in history),
    ]
    return "".join(f"{','.join(line)}\n" for line in lines)


def card(run: Run[ConfigT, NetworkT], command: str) -> dict[str, Any]:
    """Say where weights come from."""
    return {
        "command": command,
        "seed": run.config.seed,
        "epochs": run.epoch,
        "instances": run.epoch * run.config.episodes,
        "cpu_seconds": round(run.cpu_seconds, 1),
        "validation_gaps": {
            name.removeprefix("gap "): round(value, 4)
            for name, value in run.history[-1].items()
            if name.startswith("gap ")
        },
        "torch": torch.__version__,
    }


def flags(chosen: Mapping[str, Any]) -> list[str]:
    """Write settings as words of a command line."""
    words = []
    for name, value in chosen.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", shlex.quote(str(value))]
    return words


def draw_instances(
    config: TrainConfig | AntsConfig, source: Source, count: int, seed: int
) -> list[Instance]:
    """Draw instances of a kind, with the budget and the vehicles of a run."""
    if config.files:
        known = _read_files(config)[0]
        return [known[k] for k in np.random.default_rng(seed).integers(len(known), size=count)]
    drawn = generate(
        source.family,
        nodes=source.nodes,
        window=source.window,
        count=count,
        seed=seed,
        budget=config.budget,
        vehicles=source.vehicles or config.vehicles,
    )
    if not source.imitated:
        _require_plain(f"family = {source.family}", drawn)
    return drawn


def _require_plain(what: str, instances: list[Instance]) -> None:
    """Refuse instances with anything that the environment of a training does not know."""
    for one in instances:
        if not (one.simple and one.alike and one.begin == 0.0 and not one.required.any()):
            raise TrainError(
                f"{what}: networks are trained on equal vehicles that leave the depot at time 0, "
                "and stops with one alternative each of which none is required"
            )


def _read_files(config: TrainConfig | AntsConfig) -> tuple[list[Instance], list[Instance]]:
    """Read the files of a run: those that are trained on, and those that are held out."""
    return _read_folder(Path(config.files), config.profit, *config.file_names, config.vehicles)


@lru_cache(maxsize=2)
def _read_folder(
    folder: Path,
    profit: Profit,
    trained_on: frozenset[str],
    held_out: frozenset[str],
    vehicles: int,
) -> tuple[list[Instance], list[Instance]]:
    paths = sorted(path for path in folder.glob("*") if path.is_file())
    there = {path.stem.lower() for path in paths}
    for option, names in (("trained_on", trained_on), ("held_out", held_out)):
        if missing := names - there:
            raise TrainError(f"{option} = {min(missing)}: {folder} has no file of that name")
    train: list[Instance] = []
    test: list[Instance] = []
    for path in paths:
        name = path.stem.lower()
        if name in held_out or name in (trained_on or there):
            instance = read(path, profit=profit, vehicles=vehicles)
            _require_plain(f"files = {path}", [instance])
            (test if name in held_out else train).append(instance)
    if not train:
        raise TrainError(f"files = {folder}: holds no file to train on")
    return train, test


PROVING = 60.0
"""Seconds in which the best plans of the validation instances are looked for, all together."""


def validation_sets(
    config: TrainConfig | AntsConfig, threads: int | None
) -> list[tuple[Source, list[Instance], FloatArray]]:
    """Draw instances of each kind that are never trained on, with the most that they can earn.

    That is the optimum where it is proven in time, and else what a search finds.
    """
    sources = list(dict.fromkeys(config.sources()))
    sets = []
    for number, source in enumerate(sources):
        if config.files:
            instances = _read_files(config)[1]
        else:
            count = max(1, config.validation // len(sources))
            instances = draw_instances(config, source, count, VALIDATION + number)
        sets.append((source, instances, _best_profits(instances, PROVING / len(sources), threads)))
    return sets


def _best_profits(instances: list[Instance], seconds: float, threads: int | None) -> FloatArray:
    """Earn as much as can be found out in some time."""
    alone = all(instance.vehicles == 1 for instance in instances)
    options = ExactOptions(time_limit=seconds / max(1, len(instances)))

    def best(instance: Instance) -> float:
        proof = exact(instance, options) if alone else None
        if proof is not None and proof.status == "optimal":
            return proof.profit
        found = search(instance, SearchOptions(iterations=SEARCHING, time_limit=None))
        return max(found.profit, proof.profit if proof is not None else 0.0)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return np.array(list(pool.map(best, instances)))


SEARCHING = 1000
"""Rounds of the search for what is not proven."""


def mean_gap(profit: FloatArray, best: FloatArray) -> float:
    """Mean gap in percent; where nothing can be earned nothing is missed."""
    some = best > 0
    missed = (best - profit)[some] / best[some]
    return 100.0 * float(missed.mean()) if some.any() else 0.0
