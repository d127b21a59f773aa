"""Several processes that train one network together, as `torchrun` starts them.

Each works on some parts of every batch; the gradients are summed, so that all follow the same one
and have the same weights. The first process examines the network, writes files and reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

Gradients: TypeAlias = list[Tensor | None]
"""Of each parameter; none where there was nothing to choose."""


@dataclass(frozen=True)
class Crew:
    """Which of how many processes this is; alone by default."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files and reports."""
        return self.rank == 0

    def parts(self, count: int) -> range:
        """Say which parts of a batch are this process's."""
        return range(self.rank, count, self.size)

    def tell(self, known: dict[str, float] | None) -> dict[str, float]:
        """Let all know what the first one does."""
        if self.size == 1:
            assert known is not None
            return known
        box: list[Any] = [known]
        dist.broadcast_object_list(box, src=0)
        told: dict[str, float] = box[0]
        return told

    def summed(
        self, parameters: Sequence[Tensor], gradients: Gradients, row: Mapping[str, float]
    ) -> tuple[Gradients, dict[str, float]]:
        """Sum gradients and what is reported over all processes."""
        if self.size == 1:
            return gradients, dict(row)
        rows: list[Any] = [None] * self.size
        dist.all_gather_object(rows, ([one is not None for one in gradients], dict(row)))
        some = [any(known) for known in zip(*(one for one, _ in rows), strict=True)]
        flat = torch.cat(
            [
                (torch.zeros_like(parameter) if one is None else one).flatten()
                for parameter, one in zip(parameters, gradients, strict=True)
            ]
        )
        dist.all_reduce(flat)
        pieces = torch.split(flat, [parameter.numel() for parameter in parameters])
        found: Gradients = [
            piece.view_as(parameter) if known else None
            for piece, parameter, known in zip(pieces, parameters, some, strict=True)
        ]
        total: dict[str, float] = {}
        for _, one in rows:
            for name, value in one.items():
                total[name] = total.get(name, 0.0) + value
        return found, total


ALONE = Crew()
"""One process that does all."""


def crew_size() -> int:
    """Say how many processes `torchrun` has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def joined() -> Iterator[Crew]:
    """Meet the other processes that `torchrun` has started, if any, over gloo."""
    if crew_size() == 1:
        yield ALONE
        return
    dist.init_process_group("gloo")
    try:
        yield Crew(dist.get_rank(), dist.get_world_size())
        dist.barrier()
    finally:
        dist.destroy_process_group()
