"""The first `decost solve` after an installation, which compiles, and the second."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.schema import Bench, Config, Folders, Key, Record, Row, Tables, Task
from decost.bench.tables import timed


class StartRow(Record):
    """A row of a start: seconds by the clock and of the CPU, and what it wrote to stderr."""

    seconds: float
    cpu_seconds: float
    stderr: str


class ColdStartConfig(Config):
    """The instance, and the method."""

    file: Path = Path("examples/data/city.json")
    method: str = "auto"
    reduced: str = "two starts"


def list_tasks(config: ColdStartConfig, folders: Folders) -> list[Task]:
    """List one task: the second start needs what the first compiled."""
    if not config.file.is_file():
        raise BenchError(f"--file {config.file}: is no file; run this in the project's folder")
    contender = Contender.of(config.method)
    keys = tuple(Key(config.file.name, number, contender) for number in ("first", "second"))

    def measure() -> list[Row]:
        words = ("solve", str(config.file), "--method", config.method, "--json")
        with tempfile.TemporaryDirectory() as cache:
            return [_start(words, cache) for _ in keys]

    return [Task(keys, measure, StartRow)]


def _start(words: Sequence[str], cache: str) -> Row:
    said: list[str] = []

    def start() -> None:
        command = [sys.executable, "-m", "decost", *words]
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.append(done.stderr.strip())

    before = os.times()
    seconds, after = timed(start), os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"seconds": seconds, "cpu_seconds": cpu, "stderr": said[0]}


def summarise(config: ColdStartConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each start; CPU seconds depend least on what else the computer does."""
    return {
        "": [
            {"run": str(row["instance"]), "CPU seconds": f"{row['cpu_seconds']:.1f}"}
            for row in rows
        ]
    }


BENCH = Bench.load("cold-start", __doc__, ColdStartConfig, list_tasks, summarise)
