"""Plans by a trained network: `decost`, the paper's two stages, and `pomo`, its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import TypeAlias

import torch
from pydantic import Field

from decost.learn.checkpoint import Network, WeightsError, find_weights, load_weights
from decost.learn.features import SYMMETRIES, Problems, load_problems, require_device
from decost.learn.rollout import (
    Rollout,
    greedy_choice,
    optimal_profit,
    predicted_profit,
    roll_out,
    sampled_choice,
    split_vehicles,
)
from decost.learn.threads import one_thread
from decost.method.deadline import Deadline
from decost.method.options import Method, Options
from decost.method.result import Result
from decost.problem.instance import TOLERANCE, Instance
from decost.problem.plan import Solution, make_solution
from decost.timeline.routes import best_solution

TOGETHER = 1 << 22
"""Most entries of the travel times that are in one batch of large instances."""

SAMPLES = 128
"""Routes of an instance that are drawn together."""

_Plan: TypeAlias = tuple[float, list[list[int]], list[list[float]]]  # profit, routes, stays


class PolicyOptions(Options):
    """Options of `decost`."""

    weights: str = Field(
        default="generalist", description="a model's name (see decost models), or a file"
    )
    symmetries: bool = Field(
        default=True, description="the eight positions of the square, of which the best counts"
    )
    samples: int = Field(
        default=0, ge=0, le=10**5, description="routes drawn at random besides the likeliest"
    )
    stay_optimisation: bool = Field(
        default=True, description="stage two, which makes the predicted stays optimal"
    )
    device: str = Field(default="cpu", description="where torch computes: cpu, cuda, cuda:1")


class PomoOptions(PolicyOptions):
    """Options of `pomo`."""

    weights: str = Field(
        default="pomo", description="a model's name (see decost models), or a file"
    )
    stay_optimisation: bool = Field(
        default=False, description="stage two, which makes the predicted stays optimal"
    )


def policy(instance: Instance, options: PolicyOptions) -> Result:
    """Let a network build the routes and, in stage two, find the best stays for them."""
    return policy_many([instance], options)[0]


def policy_many(instances: Sequence[Instance], options: PolicyOptions) -> list[Result]:
    """Plan for many instances at once, which takes far less time than one after another.

    A time limit is the mean for an instance.
    """
    limit = options.time_limit
    deadline = Deadline(None if limit is None else limit * len(instances))
    require_device(options.device)
    network = _load(options.weights, options.device)
    if network.wants_prefix and not options.stay_optimisation:
        raise WeightsError(f"weights = {options.weights}: its network predicts no stays")
    results: list[Result] = []
    with one_thread(), torch.inference_mode():
        for part in _parts(instances):
            results += _plan(part, network, options, deadline)
    return results


def _plan(
    instances: Sequence[Instance],
    network: Network,
    options: PolicyOptions,
    deadline: Deadline,
) -> list[Result]:
    problems = load_problems(instances, options.device, least=network.least_nodes)
    turned = problems
    samples = 1
    if options.symmetries and any(instance.xy is not None for instance in instances):
        turned, samples = problems.turned(), SYMMETRIES
    rollout = roll_out(network, turned, samples, greedy_choice, deadline=deadline)
    best = list(_best_routes(problems, rollout, options.stay_optimisation))
    with suppress(KeyboardInterrupt):
        for row, instance in enumerate(instances if options.samples else ()):
            for found in _draw(instance, network, options, deadline):
                best[row] = max(best[row], found, key=itemgetter(0))
    together = {"batch": float(len(instances))}
    return [
        Result(instance, _solution(instance, routes, stays, options), "feasible", details=together)
        for instance, (_, routes, stays) in zip(instances, best, strict=True)
    ]


def _draw(
    instance: Instance, network: Network, options: PolicyOptions, deadline: Deadline
) -> Iterator[_Plan]:
    """Draw routes at random, by a generator that knows nothing of other instances."""
    problems = load_problems([instance], options.device, least=network.least_nodes)
    choose = sampled_choice(torch.Generator(options.device).manual_seed(options.seed))
    for first in range(0, options.samples, SAMPLES):
        if deadline.left <= 0:
            break
        number = min(SAMPLES, options.samples - first)
        rollout = roll_out(network, problems, number, choose, deadline=deadline)
        yield from _best_routes(problems, rollout, options.stay_optimisation)


def _best_routes(problems: Problems, rollout: Rollout, optimise: bool) -> Iterator[_Plan]:
    """Take the best sample of each instance: its profit, routes and predicted stays."""
    if optimise:
        profit, _ = optimal_profit(problems, rollout.nodes)  # (batch, samples)
    else:
        profit = predicted_profit(problems, rollout.nodes, rollout.stays)
    # The first of equally good ones, whatever rounding in a larger batch makes of them.
    most = profit.amax(1)  # (batch,)
    chosen = (profit >= most[:, None] - TOLERANCE / 1000 * most.abs()[:, None]).int().argmax(1)
    steps = rollout.nodes.shape[2]
    index = chosen[:, None, None].expand(-1, 1, steps)  # (batch, 1, step)
    nodes = rollout.nodes.gather(1, index)  # (batch, 1, step)
    stays = rollout.stays.gather(1, index)[:, 0]  # (batch, step)
    per_node = torch.zeros_like(problems.latest).scatter(1, nodes[:, 0], stays)  # (batch, node)
    routes = split_vehicles(problems, nodes)[:, 0].flatten(1)  # (batch, vehicle * step)
    shape = (len(problems), -1, steps)
    stays = per_node.gather(1, routes).view(shape)  # (batch, vehicle, step)
    numbers = problems.node.gather(1, routes).view(shape)  # (batch, vehicle, step)
    for value, team, times in zip(most.tolist(), numbers.tolist(), stays.tolist(), strict=True):
        kept = [[stop for stop in route if stop] for route in team]
        yield value, kept, [some[: len(route)] for some, route in zip(times, kept, strict=True)]


def _solution(
    instance: Instance,
    routes: list[list[int]],
    stays: list[list[float]],
    options: PolicyOptions,
) -> Solution:
    routes, stays = routes[: instance.vehicles], stays[: instance.vehicles]
    if options.stay_optimisation:
        return best_solution(instance, routes)
    return make_solution(instance, routes, stays)


def _parts(instances: Sequence[Instance]) -> Iterator[Sequence[Instance]]:
    """Cut a batch of large instances into smaller ones."""
    largest = max((instance.nodes for instance in instances), default=1)
    size = max(1, TOGETHER // largest**2)
    for first in range(0, len(instances), size):
        yield instances[first : first + size]


def _load(weights: str, device: str) -> Network:
    """Load weights by file or name; again if the file has changed."""
    path = find_weights(weights)
    return _loaded(str(path.resolve()), path.stat().st_mtime_ns, device)


@lru_cache(maxsize=8)
def _loaded(path: str, changed: int, device: str) -> Network:
    return load_weights(path, device)[0]


@cache
def warm_up(options: type[PolicyOptions] = PolicyOptions) -> None:
    """Compile or load the kernels and the weights that come with the package."""
    instance = Instance(budget=9, xy=[[0, 0], [1, 0]], rate=[0, 2], max_stay=[0, 2])
    policy(instance, options())
    best_solution(instance, [[1]])


DECOST = Method(
    name="decost",
    description="The paper's two stages: a trained network builds routes, stays are optimal.",
    function=policy,
    options=PolicyOptions,
    warm_up=warm_up,
    many=policy_many,
)

POMO = Method(
    name="pomo",
    description="The paper's baseline: its network without edges and stage two.",
    function=policy,
    options=PomoOptions,
    warm_up=partial(warm_up, PomoOptions),
    many=policy_many,
)
