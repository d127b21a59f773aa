"""What the engine knows before a choice: the exact consequences of every next step.

The paper's service-time decoder guesses how much time the stops so far will take. The time-profit
function of the route so far knows it. For every candidate this gives the profit that waiting for
it buys, what can still be earned on the way to it, and how much time it leaves; for every pair
of candidates, whether one fits before the other and what it can earn there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from decost.kernels.views import PAIR_FEATURES, TOKEN_FEATURES, Moment, describe
from decost.learn.features import Problems
from decost.learn.rollout import State


@dataclass(frozen=True)
class View:
    """The choices of many states, without units; home is the first candidate of each.

    Attributes
    ----------
    state
        Which state it is: batch row times samples plus sample, (view,).
    node
        The candidates, by their number in the batch, (view, candidate).
    live
        Whether a candidate is one, and no padding, (view, candidate).
    tokens
        Features of the candidates, (view, candidate, TOKEN_FEATURES).
    pairs
        Features of serving one candidate right before another, (view, PAIR_FEATURES, first,
        second).
    """

    state: Tensor
    node: Tensor
    live: Tensor
    tokens: Tensor
    pairs: Tensor

    def __len__(self) -> int:
        return len(self.state)


def observe(problems: Problems, state: State, index: Tensor, context: int) -> View:
    """Work out what can be known of the candidates of some states.

    This is done on the CPU, wherever the tensors are.

    Parameters
    ----------
    problems, state
        The instances, and where the vehicles are; with their time-profit functions.
    index
        Which states: batch row times samples plus sample, (view,).
    context
        Of more stops than this those are looked at where service can start first.
    """
    prefix = state.prefix
    assert prefix is not None
    moment = Moment(
        place=state.place.cpu().numpy(),
        time=state.time.cpu().numpy(),
        start=state.start.cpu().numpy(),
        live=state.live.cpu().numpy(),
        rate=prefix.rate.cpu().numpy(),
        length=prefix.length.cpu().numpy(),
        room=prefix.room.cpu().numpy(),
    )
    count = len(index)
    choices = int(state.live.flatten(0, 1)[index].sum(1).max()) if count else 1
    width = min(choices, 1 + context)
    node = np.zeros((count, width), dtype=np.int64)
    live = np.zeros((count, width), dtype=np.bool_)
    tokens = np.zeros((count, width, TOKEN_FEATURES), dtype=np.float32)
    pairs = np.zeros((count, PAIR_FEATURES, width, width), dtype=np.float32)
    chosen = index.cpu().numpy()
    describe(chosen, problems.tables, moment, problems.turning, node, live, tokens, pairs)
    device = index.device
    return View(
        index,
        torch.from_numpy(node).to(device),
        torch.from_numpy(live).to(device),
        torch.from_numpy(tokens).to(device),
        torch.from_numpy(pairs).to(device),
    )
