"""Instances as the networks see them: only the useful stops, without units, padded to a batch.

Vehicles leave one after another, and a network sees the problem of one of them, or of some equal
ones in a row (a turn): from where and when they start to where and when they are due, with their
travel times and the alternatives that admit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from decost.learn.batched_stays import Batch, pad_instances, places_of
from decost.problem.instance import TOLERANCE, FloatArray, Instance, IntArray
from decost.timeline.network import ALL_TYPES, useful_alternatives

SYMMETRIES = 8
"""Ways to turn and mirror the square."""

NODE_FEATURES = 8
"""Numbers that describe a node: x, y, open, close, rate, longest stay, reward, shortest stay."""


PAPER_FEATURES = 5
"""The first of these, which are the paper's (appendix D)."""


class Tables(NamedTuple):
    """A batch of problems as arrays, for kernels; see `Problems`."""

    travel: FloatArray
    latest: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    max_stay: FloatArray
    rate: FloatArray
    length: FloatArray
    xy: FloatArray
    budget: FloatArray
    time_unit: FloatArray
    profit_unit: FloatArray


class Turn(NamedTuple):
    """Equal vehicles that follow one another: their type, and how many."""

    kind: int
    vehicles: int


def turns_of(instance: Instance) -> list[Turn]:
    """Put the vehicles of an instance into turns, in their order."""
    if instance.alike:
        return [Turn(0, instance.vehicles)]
    kinds = instance.arrays.vehicle_type.tolist()
    return [Turn(kind, len(list(some))) for kind, some in groupby(kinds)]


@dataclass(frozen=True)
class Problems:
    """A batch of turns reduced to the depot and the useful alternatives, with their units.

    A stop that cannot be reached in time and left for home is never seen by a network; of the
    paper's 50 stops some 20 remain. Times are divided by the mean travel time between the nodes
    that are left and profits by the mean of what a stop can earn, so that a plan does not depend
    on units; coordinates are put into the square from -1/2 to 1/2.

    Attributes
    ----------
    batch
        The reduced instances, in their own units and double precision.
    node
        Number of each alternative in its instance, 0 for the depot and for padding, (batch, node).
    stop
        Number of its stop in the instance, 0 for the depot and for padding, (batch, node).
    latest
        Latest start of service from which a stop can still be left for home in time: the
        paper's two masks in one number, minus infinity for padding, (batch, node).
    latest_by_detour
        The same if there may be a faster way home over other stops, as in a matrix of travel
        times that breaks the triangle inequality, (batch, node).
    xy
        Coordinates, all 0 where an instance has none, (batch, node, 2).
    time_unit, profit_unit
        What times and profits are divided by, (batch,).
    vehicles
        Size of the team, (batch,).
    required
        Nodes of the stops that are required, those of one stop in a row, and 0 for padding,
        (batch, stop, alternative); None if there are none.
    siblings
        Whether any stop has several nodes.
    turning
        Whether the samples of a rollout see an instance in the eight positions of the square:
        the first eighth of them in the first one, and so on.
    """

    batch: Batch
    node: Tensor
    stop: Tensor
    latest: Tensor
    latest_by_detour: Tensor
    xy: Tensor
    time_unit: Tensor
    profit_unit: Tensor
    vehicles: Tensor
    required: Tensor | None = None
    siblings: bool = False
    turning: bool = False

    def __len__(self) -> int:
        return len(self.node)

    @property
    def slack(self) -> Tensor:
        """By how much a deadline may be overstepped, as everywhere in the package, (batch, 1)."""
        return TOLERANCE / 1000 * self.batch.horizon[:, None]  # (batch, 1)

    @property
    def shift(self) -> Tensor:
        """Time that a vehicle has in all, (batch,)."""
        return self.batch.budget - self.batch.begin

    @property
    def some_shift(self) -> Tensor:
        """Time of a vehicle to divide by: 1 where there is none, (batch,)."""
        return self.shift.where(self.shift > 0.0, 1.0)

    @cached_property
    def max_stay(self) -> Tensor:
        """Longest stay, at most all the time of a vehicle, (batch, node)."""
        longest = self.batch.min_stay + self.batch.length.sum(2)  # (batch, node)
        return torch.minimum(longest, self.shift[:, None])  # (batch, node)

    @cached_property
    def tables(self) -> Tables:
        """The same as arrays, for the kernels."""

        def array(table: Tensor) -> FloatArray:
            return np.ascontiguousarray(table.cpu().numpy())

        batch = self.batch
        return Tables(
            travel=array(batch.travel),
            latest=array(self.latest),
            leave_by=array(batch.leave_by),
            reward=array(batch.reward),
            min_stay=array(batch.min_stay),
            max_stay=array(self.max_stay),
            rate=array(batch.rate),
            length=array(batch.length),
            xy=array(self.xy),
            budget=array(batch.budget),
            time_unit=array(self.time_unit),
            profit_unit=array(self.profit_unit),
        )

    def turned(self) -> Problems:
        """Show the instances to samples in the eight positions of the square."""
        return replace(self, turning=True)

    def node_features(self) -> Tensor:
        """Describe the nodes by the paper's inputs and what it has no use for, without units.

        Windows are told as parts of a vehicle's time, stays in units of the mean travel time. If
        `turning`, there are eight descriptions of every instance, one after another.
        """
        batch = self.batch
        begin, shift = batch.begin[:, None], self.some_shift[:, None]  # (batch, 1)
        profit, time = self.profit_unit[:, None], self.time_unit[:, None]  # (batch, 1)
        rate = batch.rate.amax(2) if batch.rate.shape[2] else torch.zeros_like(batch.open)
        columns = (
            self.xy[..., 0],
            self.xy[..., 1],
            ((batch.open - begin) / shift).clamp(0.0, 1.0),
            ((batch.close - begin) / shift).clamp(0.0, 1.0),
            rate * time / profit,
            self.max_stay / time,
            batch.reward / profit,
            batch.min_stay / time,
        )
        features = torch.stack(columns, 2).float()  # (batch, node, NODE_FEATURES)
        if self.turning:
            features = features.repeat_interleave(SYMMETRIES, 0)
            position = torch.arange(len(features), device=features.device) % SYMMETRIES
            features[..., :2] = turn(features[..., :2], position[:, None])
        return features


def turn(xy: Tensor, position: Tensor) -> Tensor:
    """Put coordinates (..., 2) into one of the eight positions of the square, 0 to 7, (...)."""
    x, y = xy.unbind(-1)
    x = x.where(position & 1 == 0, -x)
    y = y.where(position & 2 == 0, -y)
    swapped = position & 4 > 0
    return torch.stack((y.where(swapped, x), x.where(swapped, y)), -1)


def require_device(device: str) -> None:
    """Raise a ValueError if torch cannot compute there."""
    try:
        float(torch.zeros(1, dtype=torch.float64, device=device))
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"device = {device}: torch cannot compute there: {why}") from None


def useful_part(instance: Instance) -> Instance:
    """Copy an instance without the stops that no plan can earn anything with."""
    return instance.only(useful_alternatives(instance.arrays, ALL_TYPES).alternative)


def load_problems(
    instances: Sequence[Instance],
    device: torch.device | str | None = None,
    *,
    turns: Sequence[Turn] | None = None,
    least: int = 1,
) -> Problems:
    """Reduce instances to what matters and make a batch of them, of at least so many nodes.

    `turns` says which vehicles of each instance leave; by default all, which must be equal.
    """
    if turns is None:
        turns = [Turn(0, instance.vehicles) for instance in instances]
    kinds = [turn.kind for turn in turns]
    useful = [
        useful_alternatives(one.arrays, kind) for one, kind in zip(instances, kinds, strict=True)
    ]
    kept = [np.concatenate(([0], some.alternative)) for some in useful]
    batch = pad_instances(
        instances, kinds=kinds, kept=kept, least=least, dtype=torch.float64, device=device
    )
    count, size = batch.open.shape
    node = np.zeros((count, size), dtype=np.int64)
    stop = np.zeros((count, size), dtype=np.int64)
    xy = np.zeros((count, size, 2))
    by_detour = np.full((count, size), -np.inf)
    time_unit, profit_unit = np.ones(count), np.ones(count)
    for row, (instance, kind, chosen) in enumerate(zip(instances, kinds, kept, strict=True)):
        arrays, number = instance.arrays, len(chosen)
        place = places_of(instance, kind, chosen)
        node[row, :number] = chosen
        stop[row, 1:number] = arrays.stop[chosen[1:]]
        by_detour[row, :number] = useful[row].late[chosen]
        by_detour[row, 0] = arrays.type_due[kind]
        if instance.xy is not None:
            xy[row, :number] = _in_square(instance.xy[place], instance.geographic)
        if number > 1:
            ways = arrays.planes[arrays.type_plane[kind]][np.ix_(place, place)]
            time_unit[row] = (ways.sum() - ways.trace()) / (number * (number - 1)) or 1.0
            profit_unit[row] = useful[row].profit[chosen].sum() / (number - 1) or 1.0
    home = batch.travel[:, :, 0]  # (batch, node)
    latest = torch.minimum(batch.close, batch.leave_by - batch.min_stay)  # (batch, node)
    latest = torch.minimum(latest, batch.budget[:, None] - home - batch.min_stay)

    def tensor(table: np.ndarray) -> Tensor:
        return torch.as_tensor(table, device=device)

    required = _required_nodes(instances, stop)
    return Problems(
        batch=batch,
        node=tensor(node),
        stop=tensor(stop),
        latest=latest,
        latest_by_detour=tensor(by_detour),
        xy=tensor(xy),
        time_unit=tensor(time_unit),
        profit_unit=tensor(profit_unit),
        vehicles=tensor(np.array([turn.vehicles for turn in turns], dtype=np.int64)),
        required=None if required is None else tensor(required),
        siblings=bool(((stop[:, 1:] == stop[:, :-1]) & (stop[:, 1:] > 0)).any()),
    )


def _required_nodes(instances: Sequence[Instance], stop: IntArray) -> IntArray | None:
    """List the nodes of required stops as in `Problems`, from the stops of nodes."""
    rows = []
    for row, instance in enumerate(instances):
        needed = np.flatnonzero(instance.arrays.required) if instance.arrays.bonus > 0.0 else ()
        found = (np.flatnonzero(stop[row] == number) for number in needed)
        rows.append([nodes for nodes in found if len(nodes)])
    if not any(rows):
        return None
    most = max(len(nodes) for some in rows for nodes in some)
    table = np.zeros((len(rows), max(map(len, rows)), most), dtype=np.int64)
    for row, some in enumerate(rows):
        for number, nodes in enumerate(some):
            table[row, number, : len(nodes)] = nodes
    return table


def _in_square(xy: FloatArray, geographic: bool) -> FloatArray:
    if geographic:  # degrees of longitude are shorter than those of latitude
        xy = xy * [np.cos(np.radians(xy[:, 1].mean())), 1.0]
    low, high = xy.min(0), xy.max(0)
    return np.asarray((xy - (low + high) / 2) / (float((high - low).max()) or 1.0))
