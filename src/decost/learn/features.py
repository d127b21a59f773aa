"""Instances as the networks see them (`decost.inference.problems`), as tensors for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from decost.inference.problems import Tables, Turn, load_tables, node_features
from decost.learn.batched_stays import Batch, batch_of
from decost.problem.instance import TOLERANCE, Instance, IntArray
from decost.problem.once import cached_property
from decost.timeline.network import ALL_TYPES, useful_alternatives


@dataclass(frozen=True)
class Problems:
    """A batch of problems as tensors; what they mean is told in `decost.inference.problems`.

    Attributes
    ----------
    tables
        The same as arrays, for the kernels.
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

    tables: Tables
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
        return torch.as_tensor(self.tables.max_stay, device=self.node.device)

    def turned(self) -> Problems:
        """Show the instances to samples in the eight positions of the square."""
        return replace(self, turning=True)

    def node_features(self) -> Tensor:
        """Describe the nodes as `decost.inference.problems.node_features` does."""
        features = node_features(self.tables, turning=self.turning)
        return torch.as_tensor(features, device=self.node.device)


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
    """Reduce instances to what matters and make a batch of them, as `load_tables` does."""
    return problems_of(load_tables(instances, turns, least), device)


def problems_of(tables: Tables, device: torch.device | str | None = None) -> Problems:
    """Put a batch of problems into tensors."""

    def tensor(table: np.ndarray) -> Tensor:
        return torch.as_tensor(table, device=device)

    stop = tables.stop
    required = _required_nodes(tables)
    return Problems(
        tables=tables,
        batch=batch_of(tables, torch.float64, device),
        node=tensor(tables.node),
        stop=tensor(stop),
        latest=tensor(tables.latest),
        latest_by_detour=tensor(tables.latest_by_detour),
        xy=tensor(tables.xy),
        time_unit=tensor(tables.time_unit),
        profit_unit=tensor(tables.profit_unit),
        vehicles=tensor(tables.vehicles),
        required=None if required is None else tensor(required),
        siblings=bool(((stop[:, 1:] == stop[:, :-1]) & (stop[:, 1:] > 0)).any()),
    )


def _required_nodes(tables: Tables) -> IntArray | None:
    """List the nodes of required stops as in `Problems`."""
    if not tables.needed.any():
        return None
    rows = []
    for stop, needed in zip(tables.stop, tables.needed, strict=True):
        rows.append([np.flatnonzero(stop == number) for number in np.unique(stop[needed])])
    most = max(len(nodes) for some in rows for nodes in some)
    table = np.zeros((len(rows), max(map(len, rows)), most), dtype=np.int64)
    for row, some in enumerate(rows):
        for number, nodes in enumerate(some):
            table[row, number, : len(nodes)] = nodes
    return table
