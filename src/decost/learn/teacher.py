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
from decost.learn.rollout import Choice, Rollout
from decost.problem.instance import BoolArray, FloatArray, Instance
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


def expert_routes(instances: Sequence[Instance], problems: Problems, rounds: int) -> Tensor:
    """Find plans by a search, as nodes of the batch, 0 after each vehicle, (batch, step).

    Vehicles that earn more come first, so that there is one way to say a plan of equal ones.
    """
    plans = []
    places = problems.node.tolist()
    options = SearchOptions(iterations=rounds, time_limit=None)
    for instance, numbers in zip(instances, places, strict=True):
        node = {number: place for place, number in enumerate(numbers) if number > 0}
        routes = []
        for route in search(instance, options).solution.routes:
            alternatives = [int(instance.alternative_first[visit.stop]) for visit in route.visits]
            routes.append((route.profit, [node[number] for number in alternatives]))
        routes.sort(reverse=True)
        plans.append([place for _, route in routes for place in (*route, 0)])
    steps = max(map(len, plans), default=0)
    return torch.tensor([plan + [0] * (steps - len(plan)) for plan in plans])


def forced_first(plans: Tensor, choose: Choice) -> Choice:
    """Let the first sample of each instance follow a plan (batch, step), and choose the others."""
    step = -1

    def force(logits: Tensor) -> Tensor:
        nonlocal step
        step += 1
        node = choose(logits)  # (batch, samples)
        node[:, 0] = plans[:, step].to(node) if step < plans.shape[1] else 0
        return node

    return force


def choice_probabilities(rollout: Rollout) -> tuple[Tensor, Tensor]:
    """Give log-probabilities of the choices made, and whether there was a choice.

    Both have the shape (batch, samples, step). What the network did not look at, and so could
    not choose, counts as no choice.
    """
    told, free = [], []
    for step, log_probability in enumerate(rollout.choices):
        node = rollout.nodes[:, :, step, None]  # (batch, samples, 1)
        made = log_probability.gather(2, node)[..., 0]  # (batch, samples)
        known = ~torch.isinf(made)  # (batch, samples)
        several = (log_probability > -torch.inf).sum(2) > 1  # (batch, samples)
        told.append(made.masked_fill(~known, 0.0))
        free.append(known & several)
    return torch.stack(told, 2), torch.stack(free, 2)


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
