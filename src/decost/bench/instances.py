"""Instances that benches are about: the paper's, and public files."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

from pydantic import BeforeValidator

from decost import Instance, generate
from decost.bench import BenchError

PUBLISHED = 10_000
"""Instances of the published set."""

SEED = 2025
"""Seed of the published set."""


class Setting(NamedTuple):
    """Instances of one kind; `most` is how many of them there are at most."""

    nodes: int
    window: float = 100
    vehicles: int = 1
    family: str = "paper"
    most: int = 10**9

    @classmethod
    def parse(cls, text: str) -> Setting:
        """Read "50:100", or with vehicles, family and most "50:100:3:mixed:20"."""
        kinds = (int, float, int, str, int)
        try:
            parts = [kind(part) for kind, part in zip(kinds, text.split(":"), strict=False)]
            return cls._make([*parts, *list(cls._field_defaults.values())[len(parts) - 1 :]])
        except ValueError:
            raise BenchError(f"setting {text!r}: is not like 50:100 or 50:100:3:mixed") from None

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"{self.nodes}:{self.window:g}:{self.vehicles}:{self.family}"

    @property
    def name(self) -> str:
        """The paper's name for it."""
        family = "" if self.family == "paper" else f"{self.family} "
        team = f", {self.vehicles} vehicles" if self.vehicles > 1 else ""
        return f"{family}n={self.nodes}, TW={self.window:g}{team}"

    def size(self, count: int) -> int:
        """Say how many instances are taken if so many are asked for."""
        return min(count, self.most)

    def instances(self, count: int) -> list[Instance]:
        """Generate them: the first of the family with seed 2025.

        For 50 nodes and window 100 these are the published ones, which were drawn together.
        """
        published = self.family == "paper" and (self.nodes, self.window) == (50, 100)
        drawn = PUBLISHED if published else self.size(count)
        return _draw(self.family, self.nodes, self.window, drawn, self.vehicles)[: self.size(count)]


SettingField = Annotated[
    Setting, BeforeValidator(lambda one: Setting.parse(one) if isinstance(one, str) else one)
]
"""A field of a configuration that is a setting; a text is read as one."""


# Tasks of a setting come one after another, so that few sets are in use at a time.
@lru_cache(maxsize=4)
def _draw(family: str, nodes: int, window: float, count: int, vehicles: int) -> list[Instance]:
    return generate(family, nodes=nodes, window=window, vehicles=vehicles, count=count, seed=SEED)


def list_files(
    folder: Path | None, patterns: Sequence[str] = (), endings: Sequence[str] = (".txt",)
) -> tuple[Path, ...]:
    """List the benchmark files of a folder whose names are like one of the patterns, or all.

    Raises
    ------
    BenchError
        If there is no folder, or no such file in it.
    """
    if folder is None or not folder.is_dir():
        raise BenchError(f"data {folder}: is no folder of benchmark files; --data FOLDER")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in endings)
    if not files:
        raise BenchError(f"data {folder}: holds no {' or '.join(endings)} file")
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
    from decost import read

    return [read(path, profit=profit, vehicles=vehicles) for path in paths]
