"""What the benchmarks share with the experiments: instances, tables, and training runs."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decost.experiments.instances import paper_set
from decost.experiments.tables import csv_text, load, machine, timed
from decost.experiments.tables import markdown_table as table
from decost.files.writing import require_writable, write_text

__all__ = ["load", "machine", "output", "paper_set", "table", "timed", "trained", "write_csv"]


def output(name: str) -> Path:
    """Take an argument for a file to write, and refuse it now rather than after the run."""
    try:
        require_writable(name)
    except OSError as error:
        raise ArgumentTypeError(str(error)) from None
    return Path(name)


def write_csv(path: Path, heading: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table as CSV, whole or not at all."""
    lines = [dict(zip(heading, map(str, row), strict=True)) for row in rows]
    write_text(path, csv_text(lines))


def trained(folder: Path, **settings: Any) -> Path:
    """Train a network in a folder, or go on where that was interrupted; return its weights."""
    from decost.experiments.training import trained as finished  # needs torch

    finished(folder, **settings)
    return folder / "weights.safetensors"
