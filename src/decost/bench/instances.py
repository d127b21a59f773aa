"""Instances that benches are about: the paper's, and public files."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Literal
from zlib import crc32

from decost.bench.runner import BenchError
from decost.generators import generate
from decost.instance import Instance

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


def list_files(folder: Path | None, patterns: Sequence[str] = ()) -> tuple[Path, ...]:
    """List the benchmark files of a folder whose names are like one of the patterns, or all.

    Raises
    ------
    BenchError
        If there is no folder, or no such file in it.
    """
    if folder is None or not folder.is_dir():
        raise BenchError(f"data {folder}: is no folder of benchmark files; --data FOLDER")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".txt")
    if not files:
        raise BenchError(f"data {folder}: holds no .txt file")
    chosen = [
        path
        for path in files
        if not patterns or any(fnmatch(path.stem.lower(), one.lower()) for one in patterns)
    ]
    if not chosen:
        raise BenchError(f"data {folder}: holds no file like {', '.join(patterns)}")
    return tuple(chosen)


def file_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name instances after their files and what is in these: another file is another one."""
    return tuple(f"{path.stem} {crc32(path.read_bytes()):08x}" for path in paths)


def file_class(name: str) -> str:
    """Give the class of a file: R1 of R101."""
    return name.split()[0][:-2].upper()


@lru_cache(maxsize=4)
def read_files(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    profit: Literal["fixed", "variable"],
    vehicles: int = 1,
) -> list[Instance]:
    """Read files, which are kept in mind under their paths and what is in them."""
    from decost.formats import read

    return [read(path, profit=profit).replace(vehicles=vehicles) for path in paths]
