"""Training: the paper's REINFORCE with stage two and the pTAR loss, or the exact teacher.

A run lives in a folder: `config.json`, `checkpoint.safetensors` after every epoch (to resume
from, bit for bit), `weights.safetensors` of the best epoch so far, `curve.png`, and scalars for
TensorBoard. All that is random is drawn from generators made of the seed, the epoch and the step,
so that a checkpoint needs to know none of their states.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from decost.files import write_text
from decost.generators import generate
from decost.instance import Instance
from decost.learn.checkpoint import (
    Network,
    WeightsError,
    load_run,
    load_weights,
    model_path,
    network_tensors,
    optimizer_tensors,
    restore_network,
    restore_optimizer,
    save_run,
    save_weights,
)
from decost.learn.config import Source, TrainConfig
from decost.learn.events import EventWriter
from decost.learn.features import Problems, load_problems, require_device, useful_part
from decost.learn.losses import (
    reinforce_loss,
    repulsive_loss,
    time_allocation_ratio,
    total_loss,
)
from decost.learn.network import make_network
from decost.learn.rollout import (
    Rollout,
    greedy_choice,
    optimal_profit,
    predicted_profit,
    roll_out,
    sampled_choice,
    stay_profits,
)
from decost.learn.teacher import grade, lesson
from decost.solver import solve_many

VALIDATION = 2**31
"""Offset of the seeds of validation instances, which no training instance has."""

STAY_NOISE = 1.0
"""Deviation of the logits of sampled stays, where the reward depends on them."""

GRADIENT = 1.0
"""Longest gradient that the exact teacher's steps follow."""


class TrainError(ValueError):
    """A run cannot begin or go on."""


@dataclass
class Run:
    """A training run at the end of an epoch."""

    config: TrainConfig
    folder: Path
    network: Network
    optimizer: torch.optim.Optimizer
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.history) - 1  # the first row is the network before any training

    @property
    def best(self) -> int:
        """Epoch with the smallest gap on the validation instances."""
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


def start_run(config: TrainConfig, folder: Path) -> Run:
    """Begin a run in a new folder."""
    require_device(config.device)
    if (folder / "checkpoint.safetensors").exists():
        raise TrainError(f"{folder}: holds a run already; go on with it by --resume {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    network = _network(config)
    run = Run(config, folder, network, _optimizer(config, network))
    write_text(folder / "config.json", config.model_dump_json(indent=2) + "\n")
    return run


def resume_run(folder: Path) -> Run:
    """Take up a run where its last checkpoint was written."""
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        raise TrainError(f"{folder}: holds no checkpoint to resume from")
    tensors, facts = load_run(path)
    try:
        config = TrainConfig(**facts["config"])
        require_device(config.device)
        network = make_network(config.network_config()).to(config.device)
        optimizer = _optimizer(config, network)
        restore_network(network, tensors)
        restore_optimizer(optimizer, network, tensors)
        return Run(
            config,
            folder,
            network,
            optimizer,
            facts["history"],
            facts["seconds"],
            facts["cpu_seconds"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path}: is no state of a training run: {error}") from None


def train(run: Run, report: Callable[[Run], object]) -> None:
    """Train until the run is done; `report` is called after every epoch.

    An interruption loses at most the epoch that is under way.
    """
    config = run.config
    torch.set_num_threads(config.threads or os.cpu_count() or 1)
    examine = _Examination(config)
    with EventWriter(run.folder) as events:
        if not run.history:
            run.history.append({"epoch": 0.0, **examine(run.network)})
            _save(run, events)
            report(run)
        while not run.done:
            begin, cpu = time.perf_counter(), time.process_time()
            row = _epoch(run)
            row |= examine(run.network)
            run.history.append({"epoch": float(run.epoch + 1), **row})
            run.seconds += time.perf_counter() - begin
            run.cpu_seconds += time.process_time() - cpu
            run.history[-1] |= {"seconds": run.seconds, "cpu_seconds": run.cpu_seconds}
            _save(run, events)
            report(run)


def _network(config: TrainConfig) -> Network:
    if config.start:
        given = Path(config.start)
        network, _ = load_weights(given if given.exists() else model_path(config.start))
        if network.config != config.network_config():
            raise TrainError(f"start = {config.start}: its network has another shape")
        return network.to(config.device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return make_network(config.network_config()).to(config.device)


def _optimizer(config: TrainConfig, network: Network) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if config.teacher == "exact" else torch.optim.Adam
    return kind(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)


def _epoch(run: Run) -> dict[str, float]:
    """Train on one epoch's instances; return means over its steps."""
    config, network = run.config, run.network
    sources = config.sources()
    network.train()
    total: dict[str, float] = {}
    seen = step = 0
    while seen < config.episodes:
        random = np.random.default_rng((config.seed, run.epoch + 1, step))
        source = sources[random.integers(len(sources))]
        size = config.batch_size
        if config.teacher == "exact":  # large instances have more states, and dearer ones
            size = max(1, min(size, size * 50 // source.nodes))
        size = min(size, config.episodes - seen)
        part = (run.epoch + seen / config.episodes) / config.epochs
        for group in run.optimizer.param_groups:
            group["lr"] = _learning_rate(config, part)
        instances = _instances(config, source, size, int(random.integers(VALIDATION)))
        if config.teacher == "exact":
            instances = list(map(useful_part, instances))  # quicker to grade
        problems = load_problems(instances, config.device)
        generator = torch.Generator(config.device).manual_seed(int(random.integers(2**62)))
        run.optimizer.zero_grad()
        if config.teacher == "exact":
            loss, row = _taught(run, instances, problems, generator, part)
        else:
            loss, row = _reinforced(run, problems, generator)
        if loss.requires_grad:  # else there was nothing to choose in the whole batch
            loss.backward()  # type: ignore[no-untyped-call]
            if config.teacher == "exact":
                torch.nn.utils.clip_grad_norm_(network.parameters(), GRADIENT)
            run.optimizer.step()
        for name, value in (row | {"loss": loss.detach()}).items():
            total[name] = total.get(name, 0.0) + float(value)
        seen += size
        step += 1
    return {name: value / step for name, value in total.items()}


def _learning_rate(config: TrainConfig, part: float) -> float:
    low = config.final_learning_rate
    warm = min(1.0, 0.1 + part * 100) if config.teacher == "exact" else 1.0
    return config.learning_rate * warm * (low + (1 - low) * (1 + math.cos(math.pi * part)) / 2)


def _reinforced(
    run: Run, problems: Problems, generator: torch.Generator
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the paper's loss of one batch (equations 2 and 4 to 6), and what to report of it."""
    config = run.config
    noise = None
    if not config.stay_optimisation:
        # Nothing else tells the decoder of the stays how good they are.
        def noise(logits: Tensor) -> Tensor:
            sample = torch.randn(logits.shape, generator=generator, device=logits.device)
            return STAY_NOISE * sample

    rollout = roll_out(
        run.network, problems, config.samples, sampled_choice(generator), noise=noise
    )
    unit = problems.profit_unit[:, None]  # (batch, 1)
    if config.stay_optimisation:
        profit, stays = optimal_profit(problems, rollout.nodes)
    else:
        profit, stays = predicted_profit(problems, rollout.nodes, rollout.stays).detach(), None
    loss = reinforce_loss((profit / unit).float(), rollout.log_probability)
    row = {"profit": profit.mean(), "entropy": rollout.entropy}
    if config.ptar:
        if stays is None:
            _, stays = optimal_profit(problems, rollout.nodes)
        ways = rollout.ways / problems.time_unit[:, None, None]  # (batch, samples, step)
        ratios = [
            time_allocation_ratio(
                stay_profits(problems, rollout.nodes, some) / unit[..., None], ways
            )
            for some in (rollout.stays, stays)
        ]
        repulsive = repulsive_loss(*ratios).float()
        row |= {"ptar_loss": repulsive.detach(), "stay_share": _stay_share(problems, rollout)}
        loss = total_loss(loss, repulsive, config.beta1, config.beta2)
    else:
        loss = config.beta1 * loss
    return loss, row


def _stay_share(problems: Problems, rollout: Rollout) -> Tensor:
    """Mean predicted stay as a part of the longest."""
    visited = rollout.nodes > 0  # (batch, samples, step)
    longest = problems.max_stay[:, None].expand(*rollout.nodes.shape[:2], -1)
    longest = longest.gather(2, rollout.nodes)  # (batch, samples, step)
    share = (rollout.stays / longest.clamp(min=1e-12))[visited]  # (visit,)
    return share.detach().sum() / max(1, len(share))


def _taught(
    run: Run,
    instances: list[Instance],
    problems: Problems,
    generator: torch.Generator,
    part: float,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the exact teacher's loss of one batch, and what to report of it."""
    config = run.config
    rollout = roll_out(
        run.network, problems, config.samples, sampled_choice(generator), keep_choices=True
    )
    threads = config.threads or os.cpu_count() or 1
    log_probability, worth = grade(instances, problems, rollout, threads)
    imitate = 1.0
    if part >= config.imitation:
        imitate = (1.0 - part) / max(1.0 - config.imitation, 1e-9)
    loss, missed = lesson(log_probability, worth, imitate=imitate, temperature=config.temperature)
    profit, _ = optimal_profit(problems, rollout.nodes)
    return loss, {"profit": profit.mean(), "regret": missed, "entropy": rollout.entropy}


def _instances(config: TrainConfig, source: Source, count: int, seed: int) -> list[Instance]:
    return generate(
        source.family,
        nodes=source.nodes,
        window=source.window,
        count=count,
        seed=seed,
        budget=config.budget,
        vehicles=config.vehicles,
    )


class _Examination:
    """Instances that are never trained on, with the most that can be earned on them."""

    def __init__(self, config: TrainConfig) -> None:
        sources = list(dict.fromkeys(config.sources()))
        self._optimise = config.stay_optimisation
        self._parts = []
        for number, source in enumerate(sources):
            count = max(1, config.validation // len(sources))
            instances = _instances(config, source, count, VALIDATION + number)
            method = "exact" if config.vehicles == 1 else "greedy"
            best = [result.profit for result in solve_many(instances, method)]
            problems = load_problems(instances, config.device)
            self._parts.append((source, problems, np.array(best)))

    def __call__(self, network: Network) -> dict[str, float]:
        """Measure mean gaps of greedy routes to the optimum (of a team: to greedy plans).

        They are in percent, for each kind of instances and, as "gap", the mean of these.
        """
        network.eval()
        gaps = {}
        for source, problems, best in self._parts:
            with torch.no_grad():
                rollout = roll_out(network, problems, 1, greedy_choice)
                if self._optimise:
                    profit, _ = optimal_profit(problems, rollout.nodes)
                else:
                    profit = predicted_profit(problems, rollout.nodes, rollout.stays)
            some = best > 0  # where nothing can be earned nothing is missed
            missed = (best - profit[:, 0].cpu().numpy())[some] / best[some]
            gaps[f"gap {source}"] = 100.0 * float(missed.mean()) if some.any() else 0.0
        return {"gap": float(np.mean(list(gaps.values()))), **gaps}


def _save(run: Run, events: EventWriter) -> None:
    """Write what the run has come to; the checkpoint last, so that it is never ahead."""
    from decost.plotting import plot_training, save_figure

    row = run.history[-1]
    for name, value in row.items():
        if name != "epoch":
            events.scalar(name, value, run.epoch)
    if run.best == run.epoch:
        save_weights(run.folder / "weights.safetensors", run.network, card(run))
    save_figure(plot_training(run.history), run.folder / "curve.png")
    facts = {
        "config": run.config.model_dump(),
        "history": run.history,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
    }
    tensors = network_tensors(run.network) | optimizer_tensors(run.optimizer, run.network)
    save_run(run.folder / "checkpoint.safetensors", tensors, facts)


def card(run: Run) -> dict[str, Any]:
    """Where weights come from."""
    return {
        "command": train_command(run.config),
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


def train_command(config: TrainConfig) -> str:
    """Write the command line that a configuration stands for."""
    chosen = {
        name: value
        for name, value in json.loads(config.model_dump_json()).items()
        if value != TrainConfig.model_fields[name].default
    }
    words = ["decost", "train"]
    for name, value in chosen.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", str(value)]
    return " ".join(words)
