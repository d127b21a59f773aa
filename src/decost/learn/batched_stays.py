"""Optimal stays of many routes at once, on any device: the paper's parallel STO (Algorithm 1).

With the order of the stops fixed, the paper extends the stays one after another in falling rate.
That rule gives the r best pieces of a route together as much time as they can use at all, for
every r (the feasible stays are a polymatroid). So the rates only say which pieces are the r best.
How much time these can use is a walk along the route that knows no rates; the walks for all r
take place side by side, and the r-th piece gets what walk r uses more than walk r - 1.

Only the walk is a loop, over the positions of the route.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from decost.inference.problems import Tables, padded
from decost.problem.instance import TOLERANCE, Instance


@dataclass(frozen=True)
class Batch:
    """Instances as vehicles of one type see them, padded to as many nodes and pieces a node.

    Node 0 is where a vehicle starts and ends; it is open from when the vehicle may leave until it
    is due, and a visit takes and earns nothing. The other nodes are alternatives, which are the
    stops if each has one. A node that only pads its instance is never open: it closes at minus
    infinity.

    Attributes
    ----------
    travel
        Travel times, shape (batch, node, node). Going to node 0 is going home: column 0 holds
        the way to the end where that is another place, and 0 for node 0 itself.
    open, close, leave_by, reward, min_stay
        As in `Instance`, shape (batch, node).
    rate, length
        Pieces of the profit of the stay beyond `min_stay`, shape (batch, node, piece); a piece
        that only pads has length 0.
    horizon
        Time from the first begin of any vehicle to the last due, shape (batch,).
    """

    travel: Tensor
    open: Tensor
    close: Tensor
    leave_by: Tensor
    reward: Tensor
    min_stay: Tensor
    rate: Tensor
    length: Tensor
    horizon: Tensor

    @property
    def begin(self) -> Tensor:
        """Time before which no vehicle leaves, shape (batch,)."""
        return self.open[:, 0]  # (batch,)

    @property
    def budget(self) -> Tensor:
        """Time at which every route must be home, shape (batch,)."""
        return self.close[:, 0]  # (batch,)

    @property
    def real(self) -> Tensor:
        """Which nodes are no padding, shape (batch, node)."""
        return self.close >= self.open  # (batch, node)


def pad_instances(
    instances: Sequence[Instance],
    *,
    kinds: Sequence[int] | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Batch:
    """Make a batch of instances, which may differ in their numbers of stops and of pieces.

    Parameters
    ----------
    instances
        The problems.
    kinds
        Type of the vehicles of each instance; the first by default. All alternatives that admit
        it are there.
    dtype, device
        Precision and place of the tensors.
    """
    if kinds is None:
        kinds = [0] * len(instances)
    kept = [
        1 + np.flatnonzero(one.arrays.admits[kind, 1:])
        for one, kind in zip(instances, kinds, strict=True)
    ]
    return batch_of(padded(instances, kinds, kept), dtype, device)


def batch_of(tables: Tables, dtype: torch.dtype, device: torch.device | str | None = None) -> Batch:
    """Put instances that are padded to one size into tensors."""

    def tensor(table: np.ndarray) -> Tensor:
        return torch.as_tensor(table, dtype=dtype, device=device)

    names = ("travel", "open", "close", "leave_by", "reward", "min_stay", "horizon")
    return Batch(
        **{name: tensor(getattr(tables, name)) for name in names},
        rate=tensor(tables.pieces[..., 0]),
        length=tensor(tables.pieces[..., 1]),
    )


@torch.no_grad()
def batched_stays(batch: Batch, routes: Tensor) -> tuple[Tensor, Tensor]:
    """Find the stays that earn most on each of the given routes, the order being fixed.

    Agrees with `decost.optimal_stays` on every route. Nothing is checked, and no gradient kept.

    Parameters
    ----------
    batch
        The instances.
    routes
        Routes of every instance: the numbers of the nodes in order, then zeros, shape
        (batch, samples, length).

    Returns
    -------
    profit
        Most profit of every route, minus infinity where even the shortest stays miss a
        deadline, shape (batch, samples).
    stays
        The stays that earn it, then zeros, shape (batch, samples, length); meaningless where
        the profit is minus infinity.
    """
    positions, (count, size, pieces) = routes.shape[2], batch.rate.shape
    nodes = pad(routes, (1, 1)).permute(2, 0, 1).contiguous()  # (length + 2, batch, samples)
    shift = size * torch.arange(count, device=nodes.device)[:, None]  # (batch, 1)
    at = nodes + shift  # (length + 2, batch, samples): where to find a node in flat tensors
    piece = torch.arange(pieces, device=nodes.device)[:, None, None]  # (piece, 1, 1)
    piece = (pieces * at[1:-1, None] + piece).flatten(0, 1)  # (length * piece, batch, samples)

    wait, room, feasible = _shortest(batch, nodes, at)
    rate = batch.rate.take(piece)  # (length * piece, batch, samples)
    length = batch.length.where(batch.rate > 0.0, 0.0)  # (batch, node, piece)
    length = length.take(piece)  # (length * piece, batch, samples)
    rank = _ranks(rate)  # (length * piece, batch, samples)
    total = pad(_walk(wait, room, rank, length), (0, 0, 0, 0, 1, 0))  # (1 + rank, batch, samples)
    used = total.diff(dim=0).gather(0, rank.long())  # (length * piece, batch, samples)

    profit = batch.reward.take(at).sum(0) + (rate * used).sum(0)  # (batch, samples)
    profit = profit.where(feasible, -torch.inf)  # (batch, samples)
    used = used.view(positions, pieces, *profit.shape).sum(1)  # (length, batch, samples)
    stays = batch.min_stay.take(at[1:-1]) + used  # (length, batch, samples)
    return profit, stays.permute(1, 2, 0).contiguous()  # (batch, samples), (..., length)


def _shortest(batch: Batch, nodes: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Follow the routes with the shortest stays.

    Returns how long they wait after each stop, how much later they may leave it and still keep
    its own deadline and the next one, and whether they keep all deadlines as they are.
    """
    way = batch.travel.shape[2] * at[:-1] + nodes[1:]  # (length + 1, batch, samples)
    travel = batch.travel.take(way)  # (length + 1, batch, samples)
    step = batch.min_stay.take(at[:-1]) + travel  # (length + 1, batch, samples)
    start = batch.open.take(at)  # (length + 2, batch, samples)
    for place in range(1, len(start)):
        start[place] = torch.maximum(start[place], start[place - 1] + step[place - 1])
    arrive = start[1:-1] + step[1:]  # (length, batch, samples)
    wait = start[2:] - arrive  # (length, batch, samples)

    latest = torch.minimum(batch.close, batch.leave_by - batch.min_stay)  # (batch, node)
    latest = latest.take(at)  # (length + 2, batch, samples)
    leave_by = batch.leave_by.take(at[1:-1])  # (length, batch, samples)
    room = torch.minimum(leave_by + travel[1:], latest[2:]) - arrive  # (length, batch, samples)
    slack = max(TOLERANCE / 1000, 8 * torch.finfo(start.dtype).eps) * batch.horizon  # (batch,)
    feasible = (start - latest).amax(0) <= slack[:, None]  # (batch, samples)
    return wait, room.clamp_(min=0.0), feasible


def _ranks(rate: Tensor) -> Tensor:
    """Rank the pieces of every route: 0 for the best rate, equal ones in their order."""
    rank = torch.zeros_like(rate)  # (length * piece, batch, samples)
    worse = torch.empty_like(rate)  # (length * piece, batch, samples)
    for piece in range(1, len(rate)):
        torch.lt(rate[:piece], rate[piece], out=worse[:piece])  # (piece, batch, samples)
        rank[:piece] += worse[:piece]  # (piece, batch, samples)
        rank[piece] = piece - worse[:piece].sum(0)  # (batch, samples)
    return rank


def _walk(wait: Tensor, room: Tensor, rank: Tensor, length: Tensor) -> Tensor:
    """Work out how much time the pieces up to each rank can use together.

    On the way, `spare` is by how much their stays can delay the route: a stop adds the lengths
    of its pieces, a deadline takes away what goes beyond it, and waiting turns a part of it into
    time that is spent and delays nothing.
    """
    upto = torch.arange(len(rank), dtype=rank.dtype, device=rank.device)[:, None, None]
    spare, spent = torch.zeros_like(length), torch.zeros_like(length)  # (rank, batch, samples)
    counts, part = torch.empty_like(length), torch.empty_like(length)  # (rank, batch, samples)
    pieces = len(length) // max(1, len(room))
    for position in range(len(room)):
        for piece in range(pieces * position, pieces * (position + 1)):
            torch.le(rank[piece], upto, out=counts)  # (rank, batch, samples)
            spare.addcmul_(counts, length[piece])  # (rank, batch, samples)
        torch.minimum(spare, room[position], out=spare)  # (rank, batch, samples)
        torch.minimum(spare, wait[position], out=part)  # (rank, batch, samples)
        spent += part  # (rank, batch, samples)
        spare -= part  # (rank, batch, samples)
    return spent + spare  # (rank, batch, samples)
