"""Plans by a trained network: `decost`, the paper's two stages, and `pomo`, its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import TypeAlias

import torch
from pydantic import Field
from torch import Tensor

from decost.learn.checkpoint import Network, WeightsError, find_weights, load_weights
from decost.learn.features import SYMMETRIES, Problems, load_problems, require_device, turns_of
from decost.learn.rollout import (
    Choice,
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
from decost.method.features import FEATURES
from decost.method.options import Method, Options
from decost.method.result import Result
from decost.method.value import judged
from decost.problem.instance import TOLERANCE, Instance
from decost.problem.plan import Solution, make_solution
from decost.timeline.routes import best_solution, with_required

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
    turning = options.symmetries and any(instance.xy is not None for instance in instances)
    samples = SYMMETRIES if turning else 1
    team = _Team(network, options, deadline)
    best = team.best_plans(instances, greedy_choice, samples, turning=turning)
    with suppress(KeyboardInterrupt):
        for row, instance in enumerate(instances if options.samples else ()):
            for found in _draw(instance, team):
                best[row] = max(best[row], found, key=itemgetter(0))
    together = {"batch": float(len(instances))}
    return [
        judged(instance, _solution(instance, routes, stays, options), details=together)
        for instance, (_, routes, stays) in zip(instances, best, strict=True)
    ]


def _draw(instance: Instance, team: _Team) -> Iterator[_Plan]:
    """Draw routes at random, by a generator that knows nothing of other instances."""
    options = team.options
    choose = sampled_choice(torch.Generator(options.device).manual_seed(options.seed))
    for first in range(0, options.samples, SAMPLES):
        if team.deadline.left <= 0:
            break
        yield from team.best_plans([instance], choose, min(SAMPLES, options.samples - first))


@dataclass(frozen=True)
class _Part:
    """Routes of one turn of vehicles, of the instances that have so many turns."""

    rows: list[int]
    problems: Problems
    rollout: Rollout

    def plans(self, chosen: Tensor) -> Iterator[tuple[int, list[list[int]], list[list[float]]]]:
        """Give the routes of a chosen sample of each instance, and the predicted stays."""
        problems, rollout = self.problems, self.rollout
        steps = rollout.nodes.shape[2]
        index = chosen[self.rows, None, None].expand(-1, 1, steps)  # (batch, 1, step)
        nodes = rollout.nodes.gather(1, index)  # (batch, 1, step)
        stays = rollout.stays.gather(1, index)[:, 0]  # (batch, step)
        per_node = torch.zeros_like(problems.latest).scatter(1, nodes[:, 0], stays)
        routes = split_vehicles(problems, nodes)[:, 0].flatten(1)  # (batch, vehicle * step)
        shape = (len(problems), -1, steps)
        stays = per_node.gather(1, routes).view(shape)  # (batch, vehicle, step)
        numbers = problems.node.gather(1, routes).view(shape)  # (batch, vehicle, step)
        teams = zip(self.rows, problems.vehicles.tolist(), strict=True)
        for (row, size), team, times in zip(teams, numbers.tolist(), stays.tolist(), strict=True):
            kept = [[number for number in route if number] for route in team[:size]]
            pairs = zip(times, kept, strict=False)
            yield row, kept, [some[: len(route)] for some, route in pairs]


@dataclass(frozen=True)
class _Team:
    """Vehicles that a network sends out one after another."""

    network: Network
    options: PolicyOptions
    deadline: Deadline

    def best_plans(
        self, instances: Sequence[Instance], choose: Choice, samples: int, *, turning: bool = False
    ) -> list[_Plan]:
        """Build plans, and give the best sample of each instance."""
        turns = [turns_of(instance) for instance in instances]
        last = max(map(len, turns), default=0) - 1
        most = max((instance.nodes for instance in instances), default=1)
        device = self.options.device
        value = torch.zeros(len(instances), samples, dtype=torch.float64, device=device)
        seen = torch.zeros(len(instances), samples, most if last > 0 else 0, dtype=torch.bool)
        seen = seen.to(device)  # (batch, samples, stop)
        parts = []
        for number in range(last + 1):
            if number > 0 and self.deadline.left <= 0:
                break  # the others stay where they are
            rows = [row for row, some in enumerate(turns) if number < len(some)]
            problems = load_problems(
                [instances[row] for row in rows],
                device,
                turns=[turns[row][number] for row in rows],
                least=self.network.least_nodes,
            )
            if turning:
                problems = problems.turned()
            taken = None
            if number > 0:
                stops = problems.stop[:, None].expand(-1, samples, -1)  # (batch, samples, node)
                taken = seen[rows].gather(2, stops)  # (batch, samples, node)
            rollout = roll_out(
                self.network, problems, samples, choose, taken=taken, deadline=self.deadline
            )
            stops = problems.stop[:, None].expand(-1, samples, -1).gather(2, rollout.nodes)
            if number < last:
                seen[rows] = seen[rows].scatter(2, stops, True)
            value[rows] += self._profit(problems, rollout)
            for at, row in enumerate(rows):
                bonus = instances[row].arrays.bonus
                if bonus > 0.0:
                    required = torch.tensor(instances[row].required, device=device)  # (stop,)
                    value[row] += bonus * required[stops[at]].sum(1)
            parts.append(_Part(rows, problems, rollout))
        return list(_best_samples(value, parts))

    def _profit(self, problems: Problems, rollout: Rollout) -> Tensor:
        """Profit of every sample, (batch, samples)."""
        if self.options.stay_optimisation:
            return optimal_profit(problems, rollout.nodes)[0]
        return predicted_profit(problems, rollout.nodes, rollout.stays)


def _best_samples(value: Tensor, parts: Sequence[_Part]) -> Iterator[_Plan]:
    """Take the sample of most value of each instance: that, its routes and predicted stays."""
    # The first of equally good ones, whatever rounding in a larger batch makes of them.
    most = value.amax(1)  # (batch,)
    chosen = (value >= most[:, None] - TOLERANCE / 1000 * most.abs()[:, None]).int().argmax(1)
    routes: list[list[list[int]]] = [[] for _ in most]
    stays: list[list[list[float]]] = [[] for _ in most]
    for part in parts:
        for row, some, times in part.plans(chosen):
            routes[row] += some
            stays[row] += times
    yield from zip(most.tolist(), routes, stays, strict=True)


def _solution(
    instance: Instance,
    routes: list[list[int]],
    stays: list[list[float]],
    options: PolicyOptions,
) -> Solution:
    if options.stay_optimisation:
        return best_solution(instance, with_required(instance, routes))
    return make_solution(instance, routes, stays)


def _parts(instances: Sequence[Instance]) -> Iterator[Sequence[Instance]]:
    """Cut a batch of large instances into smaller ones."""
    largest = 1 + max((instance.alternative_count for instance in instances), default=0)
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
    can=FEATURES,
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
