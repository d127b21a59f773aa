"""Networks from outside: train one and plan with it, without a word about files and runs.

A network is anything that `decost.learn.rollout.Policy` describes; docs/own-network.md has one of
forty lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import Parameter

from decost.exact.exact import values_to_go
from decost.inference.policy import WalkOptions, plan_by
from decost.learn.device import TorchPlanner
from decost.learn.features import load_problems, useful_part
from decost.learn.losses import reinforce_loss
from decost.learn.rollout import (
    Policy,
    Rollout,
    greedy_choice,
    optimal_profit,
    roll_out,
    sampled_choice,
)
from decost.learn.runs import mean_gap
from decost.learn.teacher import Values, grade, lesson
from decost.learn.threads import one_thread
from decost.method.features import FEATURES
from decost.method.options import Method
from decost.method.result import Result
from decost.problem.instance import FloatArray, Instance


class Network(Policy, Protocol):
    """A policy that can be trained: a `torch.nn.Module` is one if it has `begin` and `step`."""

    def parameters(self) -> Iterator[Parameter]:
        """Go through what is trained."""


Draw = Callable[[int], Sequence[Instance]]
"""From the number of a step, counted from 0, to the instances that it trains on."""


def train_network(
    network: Network,
    draw: Draw,
    *,
    steps: int,
    teacher: Literal["exact", "none"] = "exact",
    samples: int | None = None,
    learning_rate: float = 1e-3,
    temperature: float = 0.005,
    seed: int = 0,
    report: Callable[[int, dict[str, float]], object] | None = None,
    values_of: Values = values_to_go,
) -> None:
    """Train a network by Adam.

    Parameters
    ----------
    network
        The network, which is changed.
    draw
        Gives the instances of a step: plain ones, with one vehicle for the exact teacher.
    steps
        How many times a gradient is followed.
    teacher
        "exact": the loss goes from imitation of the exact teacher to the regret of the choices
        (`decost.learn.teacher.lesson`); "none": REINFORCE against the mean of the samples
        (`decost.learn.losses.reinforce_loss`), with optimal stays as reward.
    samples
        Routes of each instance; by default 1 with the teacher and 16 without.
    learning_rate, temperature
        Of Adam, and of the teacher (`decost.learn.losses.imitation_loss`).
    seed
        Of the routes that are drawn.
    report
        Called after every step with its number and what is known of it: `loss`, `profit`.
    values_of
        Who knows the worth of next steps, for the exact teacher.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    count = samples or (1 if teacher == "exact" else 16)
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        instances = [useful_part(one) for one in draw(step)]
        problems = load_problems(instances)
        rollout = roll_out(
            network, problems, count, sampled_choice(generator), keep_choices=teacher == "exact"
        )
        profit, _ = optimal_profit(problems, rollout.nodes)  # (batch, samples)
        if teacher == "exact":
            log_probability, worth = grade(instances, problems, rollout, 1, values_of)
            imitate = 1.0 - step / steps
            loss, _ = lesson(log_probability, worth, imitate=imitate, temperature=temperature)
        else:
            unit = problems.profit_unit[:, None]  # (batch, 1)
            loss = reinforce_loss((profit / unit).float(), rollout.log_probability)
        _follow(optimizer, network, loss)
        if report is not None:
            report(step, {"loss": float(loss.detach()), "profit": float(profit.mean())})


def _follow(optimizer: torch.optim.Optimizer, network: Network, loss: Tensor) -> None:
    """Follow a gradient, if there was anything to choose."""
    if not loss.requires_grad:
        return
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def gap_of_network(network: Policy, instances: Sequence[Instance], best: FloatArray) -> float:
    """Mean gap in percent of greedy routes to the most that can be earned on each instance."""
    with one_thread(), torch.inference_mode():
        problems = load_problems(instances)
        rollout: Rollout = roll_out(network, problems, 1, greedy_choice)
        profit, _ = optimal_profit(problems, rollout.nodes)
    return mean_gap(profit[:, 0].numpy(), best)


def as_method(network: Policy, name: str, description: str = "A network of your own.") -> Method:
    """Make a method of a network; `decost.register` lets `decost.solve` call it by its name.

    It plans for all of the model, with the symmetries and samples of `decost`.
    """
    planner = TorchPlanner(network, "cpu")

    def many(instances: Sequence[Instance], options: WalkOptions) -> list[Result]:
        return plan_by(planner, instances, options)

    def one(instance: Instance, options: WalkOptions) -> Result:
        return many([instance], options)[0]

    return Method(
        name=name,
        description=description,
        function=one,
        options=WalkOptions,
        can=FEATURES,
        many=many,
    )
