"""Training of a heatmap for ants by trajectory balance, the recipe of GFACS (Kim et al. 2024).

Ants draw plans by the heat alone, leave pheromone, and draw more plans by both; of the latter the
best are kept, and some at random. The loss asks that the heat makes all of these as likely as
their profits deserve. A run lives in a folder (`decost.learn.runs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from decost.baselines.gfacs import AntsOptions, Colony, heat_of
from decost.inference.heatmap import Region, describe, find_region
from decost.learn import runs
from decost.learn.config import AntsConfig
from decost.learn.features import Problems, load_problems
from decost.learn.heatmap import AntPolicy, HeatmapNetwork, heat_table
from decost.learn.losses import balance_loss, repulsive_loss, time_allocation_ratio
from decost.learn.rollout import (
    Choice,
    Rollout,
    mean_share,
    optimal_profit,
    roll_out,
    stay_profits,
)
from decost.learn.runs import (
    VALIDATION,
    Row,
    begin_run,
    continue_run,
    draw_instances,
    finish_run,
    flags,
    mean_gap,
    validation_sets,
)
from decost.problem.instance import FloatArray, Instance, IntArray

GRADIENT = 3.0
"""Longest gradient that is followed."""

GUIDED = 5
"""Times as many ants as usual are guided by pheromone."""

BEST = 5
"""The best of their plans, which are learned from with others at random."""

FLAT_EPOCHS = 5
"""Last epochs in which the weight of the profits does not grow any more."""

Run: TypeAlias = runs.Run[AntsConfig, HeatmapNetwork]
"""A run of this training."""


def start_run(config: AntsConfig, folder: Path) -> Run:
    """Begin a run in a new folder."""
    return begin_run(config, folder, _make)


def resume_run(folder: Path, **longer: Any) -> Run:
    """Take up a run where its last checkpoint was written; `longer` may move its end.

    The learning rate then falls towards the new end.
    """
    return continue_run(folder, AntsConfig, _make, longer)


def train(run: Run, report: Callable[[Run], object]) -> None:
    """Train until the run is done; `report` is called after every epoch.

    An interruption loses at most the epoch that is under way.
    """
    torch.set_num_threads(1)  # tensors are small
    finish_run(run, _Examination(run.config), _epoch, train_command(run.config), report)


def train_command(config: AntsConfig) -> str:
    """Write the command line that a configuration stands for."""
    usual = AntsConfig().model_dump()
    chosen = {name: value for name, value in config.model_dump().items() if value != usual[name]}
    return " ".join(("decost", "train", "gfacs", *flags(chosen)))


def _make(config: AntsConfig) -> tuple[HeatmapNetwork, torch.optim.Optimizer]:
    """Make a network without touching torch's own generator, and its optimizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        network = HeatmapNetwork(config.network_config())
    return network, torch.optim.AdamW(network.parameters(), lr=config.learning_rate)


def _epoch(run: Run) -> Row:
    """Train on one epoch's instances; return means over its steps."""
    config = run.config
    for group in run.optimizer.param_groups:
        group["lr"] = _learning_rate(config, run.epoch)
    sources = config.sources()
    total: Row = {}
    for step in range(config.steps):
        random = np.random.default_rng((config.seed, run.epoch + 1, step))
        source = sources[random.integers(len(sources))]
        seed = int(random.integers(VALIDATION))
        instances = draw_instances(config, source, config.batch_size, seed)
        for name, value in _step(run, instances, random).items():
            total[name] = total.get(name, 0.0) + value / config.steps
    return total


def _learning_rate(config: AntsConfig, done: int) -> float:
    """Follow a cosine, epoch by epoch."""
    low = config.final_learning_rate
    wave = (1 + math.cos(math.pi * done / config.epochs)) / 2
    return config.learning_rate * (low + (1 - low) * wave)


def _beta(config: AntsConfig, done: int) -> float:
    """Tell how much the profit counts after so many epochs: its logarithm rules the growth."""
    last = max(2, config.epochs - FLAT_EPOCHS)
    part = min(1.0, math.log(done + 1) / math.log(last))
    return config.first_beta + (config.final_beta - config.first_beta) * part


def _step(run: Run, instances: Sequence[Instance], random: np.random.Generator) -> Row:
    """Follow the gradient of one batch; return what to report of it."""
    config = run.config
    greedy = config.stays == "greedy"
    some = [(instance, find_region(instance)) for instance in instances]
    some = [(instance, region) for instance, region in some if len(region.trails.stop) > 1]
    if not some:
        return {}
    problems = load_problems([instance for instance, _ in some])
    size = problems.node.shape[1]
    tables, stays, partitions, plans = [], [], [], []
    for instance, region in some:
        graph = describe(instance, region)
        heat, partition, stay = run.network(graph)  # (trail,), (2,), (trail,)
        weight = heat.detach().double().exp().numpy()
        share = None
        if stay is not None:
            share = stay.detach().sigmoid().double().numpy()
            stays.append(heat_table(graph, stay, size, 0.0))
        colony = Colony(instance, region, weight, share, greedy=greedy, random=random)
        plans.append(_explore(colony, region, config.ants, random))
        tables.append(heat_table(graph, heat, size))
        partitions.append(partition)
    nodes, profit = _stack(plans)  # (batch, 2 * ants, step), (batch, 2, ants)
    reserved = torch.stack(stays) if stays else None  # (batch, node, node)
    policy = AntPolicy(torch.stack(tables), reserved, greedy=greedy)
    rollout = roll_out(policy, problems, 2 * config.ants, _replay(nodes))
    objective = (profit / problems.profit_unit[:, None, None]).float()  # (batch, 2, ants)
    log_probability = rollout.log_probability.view_as(objective)  # (batch, 2, ants)
    beta = _beta(config, run.epoch)
    # The sum of two losses: of plans by heat alone and of guided ones.
    loss = 2 * balance_loss(log_probability, torch.stack(partitions), objective, beta)
    row = {}
    if config.stay_decoder:
        repulsive = _repulsion(problems, rollout)
        loss = loss + config.ptar_weight * repulsive
        row = {
            "ptar_loss": float(repulsive.detach()),
            "stay_share": float(mean_share(problems, rollout)),
        }
    run.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(run.network.parameters(), GRADIENT)
    run.step()
    return {
        "loss": float(loss.detach()),
        "profit": float(profit[:, 0].mean()),
        "guided_profit": float(profit[:, 1].mean()),
        "entropy": float(rollout.entropy),
        **row,
    }


def _repulsion(problems: Problems, rollout: Rollout) -> Tensor:
    """Give the pTAR loss of the stays that ants reserved, as a ratio of sums."""
    _, best = optimal_profit(problems, rollout.nodes)
    ways = rollout.ways / problems.time_unit[:, None, None]  # (batch, samples, step)
    unit = problems.profit_unit[:, None, None]  # (batch, 1, 1)
    predicted, optimal = (
        time_allocation_ratio(stay_profits(problems, rollout.nodes, some) / unit, ways, sums=True)
        for some in (rollout.stays, best)
    )
    return repulsive_loss(predicted, optimal).float()


def _explore(
    colony: Colony, region: Region, ants: int, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw plans by the heat alone, then as many that pheromone has guided.

    Returns their nodes, (2 * ants, step), with zeros at the end, and their profits, (2, ants).
    """
    first = colony.send(ants)
    colony.learn(first)
    colony.evaporate()
    guided = colony.send(GUIDED * ants)
    best = np.argsort(-guided.profit, kind="stable")[: min(BEST, ants)]
    chosen = np.concatenate((best, random.integers(GUIDED * ants, size=ants - len(best))))
    path = np.concatenate((first.path, guided.path[chosen]))
    steps = np.concatenate((first.steps, guided.steps[chosen]))
    before_end = np.arange(path.shape[1]) < steps[:, None]
    nodes = np.where(before_end, region.trails.target[path], 0)[:, : steps.max()]
    return nodes, np.stack((first.profit, guided.profit[chosen]))


def _stack(plans: Sequence[tuple[IntArray, FloatArray]]) -> tuple[Tensor, Tensor]:
    """Put the plans of all instances into tensors, with zeros at the end of the shorter ones."""
    longest = max(nodes.shape[1] for nodes, _ in plans)
    table = np.zeros((len(plans), len(plans[0][0]), longest), dtype=np.int64)
    for row, (nodes, _) in enumerate(plans):
        table[row, :, : nodes.shape[1]] = nodes
    return torch.as_tensor(table), torch.as_tensor(np.stack([profit for _, profit in plans]))


def _replay(nodes: Tensor) -> Choice:
    """Choose given nodes, (batch, samples, step), step by step."""
    steps = iter(nodes.unbind(2))
    return lambda logits: next(steps)


class _Examination:
    """Instances that are never trained on, with the most that can be earned on them."""

    def __init__(self, config: AntsConfig) -> None:
        self._greedy = config.stays == "greedy"
        self._sets = validation_sets(config, threads=1)

    def __call__(self, network: HeatmapNetwork) -> Row:
        """Measure mean gaps of a colony to the optimum (of a team: to greedy plans).

        They are in percent, for each kind of instances and, as "gap", the mean of these.
        """
        gaps = {}
        for source, instances, best in self._sets:
            profit = np.array([self._profit(network, instance) for instance in instances])
            gaps[f"gap {source}"] = mean_gap(profit, best)
        return {"gap": float(np.mean(list(gaps.values()))), **gaps}

    def _profit(self, network: HeatmapNetwork, instance: Instance) -> float:
        options = AntsOptions()
        region = find_region(instance)
        random = np.random.default_rng(options.seed)
        heat = heat_of(network.ready(), instance, region)
        colony = Colony(instance, region, *heat, greedy=self._greedy, random=random)
        best = 0.0
        for _ in range(options.iterations):
            walks = colony.send(options.ants)
            best = max(best, float(walks.profit.max()))
            colony.learn(walks)
            colony.evaporate()
        return best
