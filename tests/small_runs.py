"""Training runs that take less than a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from decost.learn.config import TrainConfig
from decost.learn.train import Run, start_run, train

TINY: dict[str, Any] = {
    "layers": 1,
    "width": 16,
    "heads": 2,
    "feed_forward": 16,
    "nodes": "10",
    "episodes": 16,
    "batch_size": 8,
    "samples": 4,
    "validation": 8,
    "threads": 1,
    "epochs": 2,
}
"""Settings of a run that takes less than a second."""


def nothing(run: Run) -> None:
    """Report nothing."""


def trained(folder: Path, **changes: Any) -> Run:
    """Train from the beginning to the end."""
    run = start_run(TrainConfig(**(TINY | changes)), folder)
    train(run, nothing)
    return run


def bits(tensors: dict[str, Tensor]) -> dict[str, bytes]:
    """Tensors as bytes, which tell apart what == does not."""
    return {name: tensor.detach().numpy().tobytes() for name, tensor in tensors.items()}
