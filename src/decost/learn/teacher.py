"""The exact teacher: what every choice along a route would have been worth.

The engine tells the profit of the best plan after each possible next stop in a fraction of a
millisecond. So a network can be taught on the states that it gets itself into, without a set of
solved instances. Along a route the regrets of its choices add up to what the route misses of the
optimum (unless predicted stays, or short cuts in a matrix, keep the best choices from it): to
minimise expected regret is to minimise the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from decost.exact.exact import values_to_go
from decost.learn.features import Problems
from decost.learn.losses import imitation_loss, regret_loss
from decost.learn.rollout import Rollout
from decost.problem.instance import BoolArray, FloatArray, Instance
from decost.problem.plan import alternative_numbers
from decost.search.search import SearchOptions, search

Values: TypeAlias = Callable[..., list[FloatArray]]
"""What finds the worth of next steps: `values_to_go`, or others who do its work."""


def grade(
    instances: Sequence[Instance],
    problems: Problems,
    rollout: Rollout,
    threads: int,
    values_of: Values = values_to_go,
) -> tuple[Tensor, Tensor]:
    """Find the worth of every choice at all states of a rollout that have one.

    Instances must have one vehicle.

    Parameters
    ----------
    instances, problems
        The same problems, as instances and as a batch.
    rollout
        Routes through them, with their choices.
    threads
        How many states to grade at a time.
    values_of
        Who grades them.

    Returns
    -------
    log_probability
        Of the choices at each state, minus infinity where it cannot be chosen, (state, node).
    worth
        Profit of the best plan that begins with the route so far and the choice, as a part of
        the best of all plans, (state, node).
    """
    count, samples, _ = rollout.nodes.shape
    numbers = problems.node[:, None].expand(count, samples, -1).gather(2, rollout.nodes).tolist()
    places = problems.node.cpu().numpy()  # (batch, node)
    picked: list[Tensor] = []
    rows: list[int] = []
    routes: list[list[int]] = []
    wanted: list[BoolArray] = []
    for step, log_probability in enumerate(rollout.choices):
        possible = log_probability > -torch.inf  # (batch, samples, node)
        free = possible.sum(2) > 1  # (batch, samples)
        row, sample = (part.tolist() for part in free.nonzero(as_tuple=True))
        routes += [numbers[r][s][:step] for r, s in zip(row, sample, strict=True)]
        for r, choice in zip(row, possible[free].cpu().numpy(), strict=True):
            wanted.append(np.zeros(instances[r].nodes, dtype=np.bool_))
            wanted[-1][places[r][choice]] = True
        rows += row
        picked.append(log_probability[free])  # (some states, node)
    if not rows:
        nothing = torch.zeros(0, problems.node.shape[1])
        return nothing, nothing
    found = values_of([instances[r] for r in rows], routes, wanted=wanted, threads=threads)
    values = [torch.from_numpy(value[places[r]]) for r, value in zip(rows, found, strict=True)]
    best = torch.zeros(count, dtype=torch.float64)
    for r, route, value in zip(rows, routes, found, strict=True):
        if not route:
            best[r] = max(float(best[r]), float(np.max(value)))
    log_probability = torch.cat(picked)  # (state, node)
    worth = torch.stack(values) / best[rows].clamp(min=torch.finfo(torch.float64).tiny)[:, None]
    worth = worth.to(log_probability).masked_fill(torch.isinf(log_probability), -torch.inf)
    return log_probability, worth


def expert_plans(instances: Sequence[Instance], rounds: int) -> list[list[list[int]]]:
    """Find plans by a search: numbers of alternatives, a list for each vehicle.

    Of equal vehicles, those that earn more come first, so that there is one way to say a plan.
    """
    options = SearchOptions(iterations=rounds, time_limit=None)
    plans = []
    for instance in instances:
        kinds = instance.arrays.vehicle_type.tolist()
        routes = search(instance, options).solution.routes
        order = sorted(range(len(routes)), key=lambda k: -routes[k].profit)
        ranked = {kind: iter([k for k in order if kinds[k] == kind]) for kind in set(kinds)}
        plans.append([alternative_numbers(instance, routes[next(ranked[kind])]) for kind in kinds])
    return plans


def lesson(
    log_probability: Tensor, worth: Tensor, *, imitate: float, temperature: float
) -> tuple[Tensor, Tensor]:
    """Mean loss over graded states, and their mean expected regret.

    `imitate` is the share of imitation: 1 at the beginning of a training, 0 at its end.
    """
    count = max(1, len(worth))
    missed = regret_loss(log_probability, worth) / count
    loss = 100.0 * (1.0 - imitate) * missed
    if imitate > 0.0:
        loss = loss + imitate * imitation_loss(log_probability, worth, temperature) / count
    return loss, missed.detach()
