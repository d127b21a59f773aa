"""What the engine knows before a choice (`decost.inference.view`), as tensors for training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from decost.compiled import jit
from decost.inference.problems import Tables
from decost.inference.rows import Floats
from decost.inference.shapes import OUTLOOK_FEATURES, PAIR_FEATURES, TOKEN_FEATURES
from decost.inference.view import Scene, describe
from decost.learn.features import Problems
from decost.learn.rollout import State
from decost.problem.instance import BoolArray, FloatArray, IntArray


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
        Features of the candidates, (view, candidate, feature).
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


def observe(
    problems: Problems,
    state: State,
    index: Tensor,
    context: int,
    promising: int = 0,
    *,
    outlook: bool = False,
) -> View:
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
    promising
        How many of these are looked at for what they pay instead.
    outlook
        Whether more is told of them (`OUTLOOK_FEATURES`).
    """
    prefix = state.prefix
    assert prefix is not None
    moment = Moment(
        place=state.place.cpu().numpy(),
        time=state.time.cpu().numpy(),
        start=state.start.cpu().numpy(),
        live=state.live.cpu().numpy(),
        pieces=torch.stack((prefix.rate, prefix.length), 3).cpu().numpy(),
        room=prefix.room.cpu().numpy(),
        left=state.vehicles.cpu().numpy(),
    )
    count = len(index)
    choices = int(state.live.flatten(0, 1)[index].sum(1).max()) if count else 1
    width = min(choices, 1 + context)
    node = np.zeros((count, width), dtype=np.int64)
    live = np.zeros((count, width), dtype=np.bool_)
    tokens = np.zeros((count, width, TOKEN_FEATURES + OUTLOOK_FEATURES * outlook), np.float32)
    pairs = np.zeros((count, PAIR_FEATURES, width, width), dtype=np.float32)
    chosen = index.cpu().numpy()
    few = min(promising, width - 1)
    _describe_all(chosen, problems.tables, moment, problems.turning, few, node, live, tokens, pairs)
    device = index.device
    return View(
        index,
        torch.from_numpy(node).to(device),
        torch.from_numpy(live).to(device),
        torch.from_numpy(tokens).to(device),
        torch.from_numpy(pairs).to(device),
    )


class Moment(NamedTuple):
    """States of all samples, as in `decost.learn.rollout.State`; a piece is (rate, length)."""

    place: IntArray
    time: FloatArray
    start: FloatArray
    live: BoolArray
    pieces: FloatArray
    room: FloatArray
    left: IntArray


@jit
def _describe_all(
    index: IntArray,
    tables: Tables,
    moment: Moment,
    turning: bool,
    promising: int,
    node: IntArray,
    alive: BoolArray,
    tokens: Floats,
    pairs: Floats,
) -> None:
    """Write the candidates of some states and their features; rows of zeros pad them."""
    samples, width = moment.place.shape[1], node.shape[1]
    space = np.empty((5, width))
    for m in range(len(index)):
        b, s = index[m] // samples, index[m] % samples
        scene = Scene(
            node=node[m],
            tokens=tokens[m],
            pairs=pairs[m],
            begin=space[0],
            ready=space[1],
            late=space[2],
            pay=space[3],
            longest=space[4],
        )
        count = describe(
            tables,
            b,
            moment.place[b, s],
            moment.time[b, s],
            moment.room[b, s],
            moment.pieces[b, s],
            moment.pieces.shape[2],
            moment.start[b, s],
            moment.live[b, s],
            s * 8 // samples if turning else 0,
            promising,
            moment.left[b, s],
            scene,
        )
        alive[m, :count] = True
