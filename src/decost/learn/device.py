"""Planning where torch computes: on a GPU, or by a network that only torch knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from decost.compiled import Halt
from decost.draws import draw
from decost.inference.problems import Tables
from decost.inference.walks import Walks, Wish
from decost.learn.checkpoint import load_weights
from decost.learn.features import Problems, problems_of, require_device
from decost.learn.rollout import (
    Choice,
    Policy,
    greedy_choice,
    optimal_profit,
    predicted_profit,
    roll_out,
    sampled_choice,
)
from decost.learn.threads import one_thread


@dataclass(frozen=True)
class TorchPlanner:
    """A network of torch, or anything that gives logits, as a planner.

    What `decost.inference` plans with on the CPU, this does on any device.
    """

    policy: Policy
    device: str

    @property
    def predicts_stays(self) -> bool:
        """Whether it says how long to stay."""
        return not self.policy.wants_prefix

    def walk(self, tables: Tables, wish: Wish, walks: Walks, halt: Halt) -> None:
        """Build routes until every vehicle is home, at once when halted."""
        with one_thread(), torch.inference_mode():
            problems = problems_of(tables, self.device)
            if wish.turning:
                problems = problems.turned()
            samples = walks.value.shape[1]
            rollout = roll_out(
                self.policy,
                problems,
                samples,
                _choice(wish, self.device),
                taken=_taken(problems, wish, samples),
                over=lambda: bool(halt[0]),
            )
            if wish.optimal:
                value = optimal_profit(problems, rollout.nodes)[0]
            else:
                value = predicted_profit(problems, rollout.nodes, rollout.stays)
            nodes = rollout.nodes.cpu().numpy()  # (batch, samples, step)
            steps = nodes.shape[2]
            walks.nodes[..., :steps] = nodes
            walks.stays[..., :steps] = rollout.stays.cpu().numpy()
            walks.value[:] = value.cpu().numpy()
        for b, row in enumerate(wish.rows):
            stops, needed = tables.stop[b, nodes[b]], tables.needed[b, nodes[b]]
            np.put_along_axis(wish.seen[row], stops, True, 1)
            walks.value[b] += tables.bonus[b] * needed.sum(1)
        wish.seen[..., 0] = False


def load_planner(path: str, device: str) -> TorchPlanner:
    """Load weights onto a device.

    Raises a ValueError if torch cannot compute there, and a WeightsError as `load_weights` does.
    """
    require_device(device)
    return TorchPlanner(load_weights(path, device)[0], device)


def _choice(wish: Wish, device: str) -> Choice:
    if not len(wish.random):
        return greedy_choice
    seed = int(draw(wish.random) * 2**53)
    return sampled_choice(torch.Generator(device).manual_seed(seed), wish.temperature)


def _taken(problems: Problems, wish: Wish, samples: int) -> Tensor:
    """Tell which nodes are closed since their stop was visited, (batch, samples, node)."""
    seen = torch.as_tensor(wish.seen[wish.rows], device=problems.node.device)
    return seen.gather(2, problems.stop[:, None].expand(-1, samples, -1))
