"""Instances that experiments are about: the paper's, and Solomon's files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from zlib import crc32

from decost.experiments.runner import ExperimentError
from decost.problem.generators import generate
from decost.problem.instance import Instance

PUBLISHED = 10_000
"""Instances of the published set."""

SEED = 2025
"""Seed of the published set."""


def setting_name(nodes: int, window: float) -> str:
    """Name a setting as the paper does."""
    return f"n={nodes}, TW={window:g}"


# Tasks of a setting come one after another, so that few sets are in use at a time.
@lru_cache(maxsize=4)
def paper_set(nodes: int, window: float, count: int, vehicles: int = 1) -> list[Instance]:
    """Generate the first instances of the paper's family with seed 2025.

    For 50 nodes and window 100 these are the published ones, which were drawn together.
    """
    drawn = PUBLISHED if (nodes, window) == (50, 100) else count
    return random_set("paper", nodes, window, drawn, vehicles)[:count]


@lru_cache(maxsize=4)
def random_set(
    family: str, nodes: int, window: float, count: int, vehicles: int = 1
) -> list[Instance]:
    """Generate instances of a family with seed 2025."""
    return generate(family, nodes=nodes, window=window, vehicles=vehicles, count=count, seed=SEED)


def solomon_files(folder: Path | None) -> list[Path]:
    """List Solomon's files in a folder.

    Raises
    ------
    ExperimentError
        If there is no folder, or no such file in it.
    """
    need = "solomon needs Solomon's files with 100 customers (C101.txt and others): --data FOLDER"
    if folder is None:
        raise ExperimentError(f"data: none are given; {need}")
    if not folder.is_dir():
        raise ExperimentError(f"data {folder}: is no folder; {need}")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".txt")
    if not files:
        raise ExperimentError(f"data {folder}: holds no .txt file; {need}")
    return files


def file_name(path: Path) -> str:
    """Name an instance after its file and what is in it, so that another file is another one."""
    return f"{path.stem.upper()} {crc32(path.read_bytes()):08x}"
