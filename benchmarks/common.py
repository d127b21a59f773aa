"""What the benchmarks share: the machine's speed, tables, and training runs."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import decost

PUBLISHED = 10_000
"""Instances of the published set."""


def machine() -> str:
    """Name the machine, its load, and how long it takes to add up ten million numbers."""
    begin = time.perf_counter()
    sum(range(10**7))
    seconds = time.perf_counter() - begin
    load = os.getloadavg()[0]
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}; sum(range(10**7)) takes {seconds:.2f} s"
    )


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def paper_set(nodes: int, window: float, count: int, vehicles: int = 1) -> list[decost.Instance]:
    """Generate the first instances of the paper's family with seed 2025.

    For 50 nodes and window 100 these are the published ones, which were drawn together.
    """
    drawn = PUBLISHED if (nodes, window) == (50, 100) else count
    instances = decost.generate(
        "paper", nodes=nodes, window=window, vehicles=vehicles, count=drawn, seed=2025
    )
    return instances[:count]


def trained(folder: Path, **settings: Any) -> Path:
    """Train a network in a folder, or go on where that was interrupted; return its weights."""
    from decost.learn.config import TrainConfig
    from decost.learn.train import resume_run, start_run, train

    begun = (folder / "checkpoint.safetensors").exists()
    run = resume_run(folder) if begun else start_run(TrainConfig(**settings), folder)
    if run.config != TrainConfig(**settings):
        raise SystemExit(f"{folder}: holds a run with other settings")
    train(run, lambda run: None)
    return folder / "weights.safetensors"
