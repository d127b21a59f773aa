"""Training: the paper's REINFORCE with stage two and the pTAR loss, or the exact teacher.

A run lives in a folder (`decost.learn.runs`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import pad

from decost.draws import random_state
from decost.exact.exact import values_to_go
from decost.inference.paper import STAY_DECODERS
from decost.inference.policy import LIKELIEST
from decost.inference.problems import turns_of
from decost.inference.shapes import OUTLOOK_FEATURES, NetworkConfig, tensor_shapes
from decost.inference.weights import find_weights
from decost.learn import runs
from decost.learn.checkpoint import Network, load_weights
from decost.learn.config import TrainConfig
from decost.learn.crew import ALONE, Crew, Gradients
from decost.learn.encoder import encode, look_up
from decost.learn.features import Problems, load_problems, require_device, useful_part
from decost.learn.lessons import (
    imitation,
    log_probabilities,
    planner_of,
    reinforcement,
    sights,
    turns_for,
    walk_network,
    walk_plans,
    worth_of_candidates,
)
from decost.learn.losses import (
    reinforce_loss,
    repulsive_loss,
    time_allocation_ratio,
    total_loss,
)
from decost.learn.network import PaperNetwork, PrefixNetwork, make_network
from decost.learn.rollout import (
    greedy_choice,
    mean_share,
    optimal_profit,
    predicted_profit,
    roll_out,
    sampled_choice,
    stay_profits,
)
from decost.learn.runs import (
    VALIDATION,
    TrainError,
    begin_run,
    continue_run,
    draw_instances,
    finish_run,
    flags,
    mean_gap,
    validation_sets,
)
from decost.learn.teacher import (
    Values,
    expert_plans,
    grade,
    lesson,
)
from decost.learn.threads import uses_bf16
from decost.learn.tree import Recipe, sample_tree
from decost.problem.instance import FloatArray, Instance
from decost.timeline.network import ALL_TYPES, useful_alternatives

GROUP = 8
"""Batches whose instances are drawn together and sorted by size."""

IMITATED_SHARE = 4
"""A batch in which plans are imitated is so many times smaller."""

OMISSION = 0.2
"""Part of all profit that a required stop counts for when it is left out."""

LEAST_IMITATION = 0.1
"""Weight that the plans of a search keep to the end."""

Run: TypeAlias = runs.Run[TrainConfig, Network]
"""A run of this training."""


def start_run(config: TrainConfig, folder: Path) -> Run:
    """Begin a run in a new folder."""

    def make(config: TrainConfig) -> tuple[Network, torch.optim.Optimizer]:
        network = _network(config)
        return network, _optimizer(config, network)

    require_device(config.device)
    return begin_run(config, folder, make)


def resume_run(folder: Path, **longer: Any) -> Run:
    """Take up a run where its last checkpoint was written; `longer` may move its end.

    The learning rate then falls towards the new end.
    """

    def make(config: TrainConfig) -> tuple[Network, torch.optim.Optimizer]:
        require_device(config.device)
        network = _random_network(config)
        return network, _optimizer(config, network)

    def read(**given: Any) -> TrainConfig:
        """Read settings; in version 0.1 the paper's network had the extended features."""
        return TrainConfig(**{"features": "extended", **given})

    return continue_run(folder, read, make, longer)


def train(
    run: Run,
    report: Callable[[Run], object],
    values_of: Values = values_to_go,
    crew: Crew = ALONE,
) -> None:
    """Train until the run is done; `report` is called after every epoch.

    An interruption loses at most the epoch that is under way. The exact teacher asks `values_of`.
    Several processes (`decost.learn.crew`) come to the weights of one.
    """
    torch.set_num_threads(1)  # tensors are small, and parts of a batch are worked on side by side
    if run.config.parts % crew.size:
        raise TrainError(f"parts = {run.config.parts}: {crew.size} processes cannot share them")
    epoch = partial(_epoch, values_of=values_of, crew=crew)
    examine = _Examination(run.config) if crew.first else _nothing
    finish_run(run, examine, epoch, train_command(run.config), report, crew)


def _nothing(network: Network) -> dict[str, float]:
    """Examine nothing: another process does."""
    return {}


def _network(config: TrainConfig) -> Network:
    if config.start:
        network, _ = load_weights(find_weights(config.start))
        start = _random_network(config)
        tensors = network.state_dict()
        if config.outlook and not network.config.outlook and "embed.0.weight" in tensors:
            known = tensors["embed.0.weight"]  # what it is not told yet counts for nothing
            tensors["embed.0.weight"] = pad(known, (0, OUTLOOK_FEATURES))
        shapes = tensor_shapes(config.network_config())
        if {name: tuple(table.shape) for name, table in tensors.items()} != shapes:
            raise TrainError(
                f"start = {config.start}: its network has another shape, {_shape(network.config)},"
                f" than the run, {_shape(config)}"
            )
        start.load_state_dict(tensors)
        return start
    return _random_network(config)


def _shape(config: NetworkConfig) -> str:
    """Say which tensors a network has."""
    parts = f"{config.layers} layers, width {config.width}, {config.heads} heads"
    more = ", outlook" * config.outlook + f", features {config.features}" * (
        config.network == "paper"
    )
    return f"{config.network}: {parts}, feed-forward {config.feed_forward}{more}"


def _random_network(config: TrainConfig) -> Network:
    """Make a network without touching torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return make_network(config.network_config()).to(config.device)


def _optimizer(config: TrainConfig, network: Network) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if config.teacher == "exact" else torch.optim.Adam
    return kind(
        network.parameters(),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
    )


def _epoch(run: Run, values_of: Values, crew: Crew) -> dict[str, float]:
    """Train on one epoch's instances; return means over its steps."""
    config = run.config
    run.network.train()
    total: dict[str, float] = {}
    told: dict[str, int] = {}
    seen = 0
    with ThreadPoolExecutor(min(config.parts, config.threads or os.cpu_count() or 1)) as pool:
        for batch in _batches(config, run.epoch + 1):
            part = (run.epoch + seen / config.episodes) / config.epochs
            for group in run.optimizer.param_groups:
                group["lr"] = _learning_rate(config, part)
            row = _step(run, batch, part, pool, values_of, crew)
            for name, value in row.items():
                total[name] = total.get(name, 0.0) + value
                told[name] = told.get(name, 0) + 1
            seen += len(batch.instances)
    return {name: value / told[name] for name, value in total.items()}


def _step(
    run: Run,
    batch: _Batch,
    part: float,
    pool: ThreadPoolExecutor,
    values_of: Values,
    crew: Crew,
) -> dict[str, float]:
    """Follow the gradient of one batch; return what to report of it.

    The batch is worked on in a fixed number of parts, so that the weights do not depend on the
    number of threads and processes.
    """
    config = run.config
    instances, seed = batch.instances, batch.seed
    parameters = list(run.network.parameters())

    def work(number: int) -> tuple[Gradients, dict[str, float]]:
        some = instances[number :: config.parts]
        if not some:
            return [None] * len(parameters), {}
        share = len(some) / len(instances)
        if _grows_tree(run):
            problems = load_problems(some, config.device, least=run.network.least_nodes)
            gradients, row = _grown(run, problems, parameters, share, seed + number)
        else:
            loss, told = _loss(run, some, batch.imitated, seed + number, part, values_of)
            gradients, row = [None] * len(parameters), {name: float(told[name]) for name in told}
            if loss.requires_grad:  # else there was nothing to choose in this part
                found = torch.autograd.grad(share * loss, parameters, allow_unused=True)
                gradients = list(found)
            row["loss"] = float(loss.detach())
        return gradients, {name: share * value for name, value in row.items()}

    rows: dict[str, float] = {}
    total: Gradients = [None] * len(parameters)
    for gradients, row in pool.map(work, crew.parts(config.parts)):
        for k, gradient in enumerate(gradients):
            known = total[k]
            if gradient is not None:
                total[k] = gradient if known is None else known + gradient
        for name, value in row.items():
            rows[name] = rows.get(name, 0.0) + value
    total, rows = crew.summed(parameters, total, rows)
    for parameter, gradient in zip(parameters, total, strict=True):
        parameter.grad = gradient
    if config.gradient_clip > 0.0:
        torch.nn.utils.clip_grad_norm_(parameters, config.gradient_clip)
    run.step()
    return rows


def _loss(
    run: Run, instances: list[Instance], imitated: bool, seed: int, part: float, values_of: Values
) -> tuple[Tensor, Mapping[str, Tensor | float]]:
    """Compute the loss of a part of a batch, and what to report of it."""
    config, network = run.config, run.network
    if isinstance(network, PrefixNetwork) and imitated:
        return _imitated(network, config, instances, seed, part)
    if isinstance(network, PrefixNetwork) and config.teacher == "exact":
        return _taught_sights(network, config, instances, seed, part, values_of)
    problems = load_problems(instances, config.device, least=network.least_nodes)
    generator = torch.Generator(config.device).manual_seed(seed)
    if config.teacher == "exact":
        return _taught(run, instances, problems, generator, part, values_of)
    return _reinforced(run, problems, generator)


class _Batch(NamedTuple):
    """Instances of one step, a seed for their routes, and whether plans of them are imitated."""

    instances: list[Instance]
    seed: int
    imitated: bool


def _batches(config: TrainConfig, epoch: int) -> Iterator[_Batch]:
    """Draw an epoch's instances in batches.

    Some batches are drawn together, so that instances with about as many useful stops can be
    put into one: tensors are as wide as the largest of a batch.
    """
    sources = config.sources()
    left = config.episodes
    group = 0
    while left > 0:
        random = np.random.default_rng((config.seed, epoch, group))
        number = min(GROUP, -(-left // config.batch_size))
        drawn = random.integers(len(sources), size=number)
        batches = []
        for which, count in zip(*np.unique(drawn, return_counts=True), strict=True):
            size, source = config.batch_size, sources[which]
            if config.teacher == "exact":  # large instances have more states, and dearer ones
                size = max(1, min(size, size * 50 // max(1, source.nodes)))
            if source.imitated:  # routes are long, and there are several of each
                size = max(1, size // IMITATED_SHARE)
            seed = int(random.integers(VALIDATION))
            instances = draw_instances(config, source, size * int(count), seed)
            useful = [
                len(useful_alternatives(one.arrays, ALL_TYPES).alternative) for one in instances
            ]
            order = np.argsort(useful, kind="stable").reshape(count, size)
            batches += [([instances[k] for k in row], source.imitated) for row in order]
        for k in random.permutation(len(batches)):
            batch, imitated = batches[k]
            batch = batch[:left]
            if config.teacher == "exact" and not imitated:
                batch = list(map(useful_part, batch))  # quicker to grade
            if batch:
                yield _Batch(batch, int(random.integers(2**62)), imitated)
            left -= len(batch)
        group += 1


def _learning_rate(config: TrainConfig, part: float) -> float:
    low = config.final_learning_rate
    warm = min(1.0, 0.1 + part * 100) if config.teacher == "exact" else 1.0
    return config.learning_rate * warm * (low + (1 - low) * (1 + math.cos(math.pi * part)) / 2)


def _imitation_share(config: TrainConfig, part: float) -> float:
    """Give the share of imitation after some part of a run: most at first, then falling to none."""
    if part < config.imitation:
        return config.imitation_weight
    return config.imitation_weight * (1.0 - part) / max(1.0 - config.imitation, 1e-9)


def _grows_tree(run: Run) -> bool:
    """Whether samples can share their beginnings: equal states lead to equal decisions."""
    config = run.config
    return (
        isinstance(run.network, PaperNetwork)
        and config.teacher == "none"
        and (config.stay_optimisation or config.through_time)  # else samples draw stays
        and config.device == "cpu"
    )


def _grown(
    run: Run, problems: Problems, parameters: list[Parameter], share: float, seed: int
) -> tuple[Gradients, dict[str, float]]:
    """Compute the gradient of the paper's loss over a tree of samples, and what to report."""
    config, network = run.config, run.network
    assert isinstance(network, PaperNetwork)
    bf16 = uses_bf16(config.precision)
    nodes = encode(network, problems, bf16=bf16)  # (batch, node, width)
    taught = config.ptar or config.through_time  # what the stays are
    lookups = look_up(network, nodes, bf16=bf16, taught=taught)
    samples = len(problems) * config.samples
    recipe = Recipe(
        samples=config.samples,
        heads=config.heads,
        clip=config.clip,
        stay_decoder=STAY_DECODERS[config.stay_decoder],
        stay_share=config.stay_share,
        reinforce=config.beta1 / samples,
        state_baseline=config.baseline == "state",
        repulsive=config.beta2 / samples if config.ptar else 0.0,
        ratio_of_sums=config.ptar_ratio == "sums",
        through_time=config.through_time,
        entropy=config.beta1 * config.entropy / samples,
        own_stays=not config.stay_optimisation,
    )
    harvest = sample_tree(problems, lookups, network.clock(problems), recipe, seed)
    tables = [
        table
        for lookup in (lookups if taught else lookups[:1])
        if lookup is not None
        for table in (lookup.score, lookup.time_score, lookup.answer)
    ]
    pulls = [share * gradient for gradient in harvest.gradients[: len(tables)]]
    gradients = torch.autograd.grad(tables, parameters, pulls, allow_unused=True)
    report = harvest.report
    if not config.ptar:
        del report["ptar_loss"]
    return list(gradients), report


def _reinforced(
    run: Run, problems: Problems, generator: torch.Generator
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the paper's loss of one batch (equations 2 and 4 to 6), and what to report of it."""
    config = run.config
    noise = None
    if not (config.stay_optimisation or config.through_time):
        # Nothing else tells the decoder of the stays how good they are.
        def noise(logits: Tensor) -> Tensor:
            return torch.randn(logits.shape, generator=generator, device=logits.device)

    rollout = roll_out(
        run.network,
        problems,
        config.samples,
        sampled_choice(generator),
        noise=noise,
        through_time=config.through_time,
    )
    unit = problems.profit_unit[:, None]  # (batch, 1)
    if config.stay_optimisation:
        profit, stays = optimal_profit(problems, rollout.nodes)
    else:
        profit, stays = predicted_profit(problems, rollout.nodes, rollout.stays), None
    loss = reinforce_loss((profit.detach() / unit).float(), rollout.log_probability)
    if profit.requires_grad and config.through_time:  # stays that were not drawn
        loss = loss - ((profit - profit.detach()) / unit).float().mean()
    profit = profit.detach()
    row = {"profit": profit.mean(), "entropy": rollout.entropy}
    if config.ptar:
        if stays is None:
            _, stays = optimal_profit(problems, rollout.nodes)
        ways = rollout.ways / problems.time_unit[:, None, None]  # (batch, samples, step)
        ratios = [
            time_allocation_ratio(
                stay_profits(problems, rollout.nodes, some) / unit[..., None],
                ways,
                sums=config.ptar_ratio == "sums",
            )
            for some in (rollout.stays, stays)
        ]
        repulsive = repulsive_loss(*ratios).float()
        row |= {"ptar_loss": repulsive.detach(), "stay_share": mean_share(problems, rollout)}
        loss = total_loss(loss, repulsive, config.beta1, config.beta2)
    else:
        loss = config.beta1 * loss
    loss = loss - config.beta1 * config.entropy * rollout.total_entropy.mean()
    return loss, row


def _taught(
    run: Run,
    instances: list[Instance],
    problems: Problems,
    generator: torch.Generator,
    part: float,
    values_of: Values,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the exact teacher's loss of one batch, and what to report of it."""
    config = run.config
    rollout = roll_out(
        run.network, problems, config.samples, sampled_choice(generator), keep_choices=True
    )
    log_probability, worth = grade(instances, problems, rollout, 1, values_of)
    imitate = _imitation_share(config, part)
    loss, missed = lesson(log_probability, worth, imitate=imitate, temperature=config.temperature)
    profit, _ = optimal_profit(problems, rollout.nodes)
    return loss, {"profit": profit.mean(), "regret": missed, "entropy": rollout.entropy}


def _taught_sights(
    network: PrefixNetwork,
    config: TrainConfig,
    instances: list[Instance],
    seed: int,
    part: float,
    values_of: Values,
) -> tuple[Tensor, dict[str, float]]:
    """Compute the same for a prefix network, from what it sees along routes of a kernel."""
    trip = walk_network(
        planner_of(network),
        instances,
        [turns_of(one) for one in instances],
        config.samples,
        random_state(seed),
    )
    (leg,) = trip.legs
    seen = sights(leg, np.ones(leg.nodes.shape, dtype=np.bool_), config)
    worth = worth_of_candidates(instances, leg, seen, values_of)
    imitate = _imitation_share(config, part)
    loss = missed = torch.zeros((), device=config.device)
    for some, log_probability in log_probabilities(network, seen, config.device):
        known = torch.from_numpy(worth[some, : log_probability.shape[1]]).to(config.device)
        share = len(some) / len(worth)
        one, lost = lesson(log_probability, known, imitate=imitate, temperature=config.temperature)
        loss, missed = loss + share * one, missed + share * lost
    return loss, {"profit": float(trip.profit.mean()), "regret": float(missed)}


def _imitated(
    network: PrefixNetwork, config: TrainConfig, instances: list[Instance], seed: int, part: float
) -> tuple[Tensor, dict[str, float]]:
    """Compute the loss of one batch where plans of a search are imitated, and then improved upon.

    Beside the plan of the search some routes are drawn, and REINFORCE compares them with each
    other: what they miss counts as much as the exact teacher's regret. A required stop that is
    left out counts as a part of all profit.
    """
    turns = turns_for(instances, seed)
    expert = walk_plans(instances, turns, _plans(config, instances))
    loss, count = imitation(network, expert)
    told = {"imitation": float(loss.detach()) / max(1, count)}
    imitate = max(_imitation_share(config, part), LEAST_IMITATION)
    loss = imitate * loss / max(1, count)
    if imitate < 1.0:
        drawn = walk_network(
            planner_of(network), instances, turns, config.explored, random_state(seed)
        )
        best = np.maximum(expert.profit.max(1), drawn.profit.max(1))[:, None]
        worth = drawn.profit / np.maximum(best, np.finfo(np.float64).tiny)
        worth -= OMISSION * drawn.missed
        reinforced, choices = reinforcement(network, drawn, worth)
        loss = loss + 100.0 * (1.0 - imitate) * reinforced / max(1, choices)
        told["missed"] = 1.0 - float(worth.mean())
    return loss, told


def _plans(config: TrainConfig, instances: list[Instance]) -> list[list[list[int]]]:
    """Find plans to imitate; those of files, which come again and again, are kept."""
    if not config.files:
        return expert_plans(instances, config.rounds)
    kept = _kept_plans(config.rounds)
    for one in instances:
        if id(one) not in kept:
            kept[id(one)] = one, expert_plans([one], config.rounds)[0]
    return [kept[id(one)][1] for one in instances]


@lru_cache(maxsize=1)
def _kept_plans(rounds: int) -> dict[int, tuple[Instance, list[list[int]]]]:
    """Keep plans of so many rounds, with their instances, so that no other has their id."""
    return {}


class _Examination:
    """Instances that are never trained on, with the most that can be earned on them."""

    def __init__(self, config: TrainConfig) -> None:
        self._optimise = config.stay_optimisation
        self._device = config.device
        self._parts = list(validation_sets(config, config.threads or None))

    def __call__(self, network: Network) -> dict[str, float]:
        """Measure mean gaps of greedy routes to the best plans that are known.

        They are in percent, for each kind of instances and, as "gap", the mean of these.
        """
        network.eval()
        gaps = {}
        for source, instances, best in self._parts:
            gaps[f"gap {source}"] = mean_gap(self._profit(network, instances), best)
        return {"gap": float(np.mean(list(gaps.values()))), **gaps}

    def _profit(self, network: Network, instances: list[Instance]) -> FloatArray:
        """Earn what a network earns alone."""
        if isinstance(network, PrefixNetwork):
            turns = [turns_of(one) for one in instances]
            planned = walk_network(planner_of(network), instances, turns, 1, LIKELIEST)
            return planned.profit[:, 0]
        problems = load_problems(instances, self._device)
        with torch.no_grad():
            rollout = roll_out(network, problems, 1, greedy_choice)
            if self._optimise:
                profit, _ = optimal_profit(problems, rollout.nodes)
            else:
                profit = predicted_profit(problems, rollout.nodes, rollout.stays)
        found: FloatArray = profit[:, 0].cpu().numpy()
        return found


def train_command(config: TrainConfig) -> str:
    """Write the command line that a configuration stands for."""
    usual = TrainConfig().model_dump()
    kind = {
        name: value
        for name in ("network", "teacher")
        if (value := getattr(config, name)) != usual[name]
    }
    if kind == {"network": "prefix", "teacher": "exact"}:
        del kind["network"]
    elif config.teacher == "exact":
        kind["network"] = config.network
    usual = TrainConfig(**kind).model_dump()
    chosen = kind | {k: v for k, v in config.model_dump().items() if v != usual[k]}
    return " ".join(("decost", "train", *flags(chosen)))
