"""What the benchmarks share with the experiments: instances, tables, and training runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from decost.experiments.instances import paper_set
from decost.experiments.tables import machine, timed
from decost.experiments.tables import markdown_table as table

__all__ = ["machine", "paper_set", "table", "timed", "trained"]


def trained(folder: Path, **settings: Any) -> Path:
    """Train a network in a folder, or go on where that was interrupted; return its weights."""
    from decost.experiments.training import trained as finished  # needs torch

    finished(folder, **settings)
    return folder / "weights.safetensors"
