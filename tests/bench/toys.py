"""A bench whose tasks cost nothing and say when they are done, and rows made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from decost.bench.contender import Contender
from decost.bench.schema import Bench, Config, Folders, Key, Record, Row, Tables, Task


class ToyConfig(Config):
    """How many tasks, and how many rows each has."""

    tasks: int = 5
    batch: int = 1


class ToyRow(Record):
    """A row of a toy."""

    value: int


class Toy:
    """A bench that counts its tasks; `before` is called at the beginning of each."""

    def __init__(
        self, config: ToyConfig, before: Callable[[int], object] = lambda task: None
    ) -> None:
        self.done: list[int] = []
        self.before = before
        self.bench = Bench("toy", "A toy.\n\nMore.", config, config, self._tasks, self._summarise)

    def _tasks(self, config: ToyConfig, folders: Folders) -> list[Task]:
        count = Contender.of("count", speed=2)
        batch = range(config.batch)
        return [
            Task(
                tuple(Key("toys", k * config.batch + i, count) for i in batch),
                partial(self._measure, k, config.batch),
                ToyRow,
            )
            for k in range(config.tasks)
        ]

    def _measure(self, task: int, batch: int) -> list[Row]:
        self.before(task)
        self.done.append(task)
        return [{"value": 10 * task + i} for i in range(batch)]

    def _summarise(self, config: ToyConfig, rows: Sequence[Row]) -> Tables:
        table = [{"instance": str(row["instance"]), "value": str(row["value"])} for row in rows]
        return {"": table}


def rows_file(folder: Path) -> Path:
    """Where a toy keeps its rows."""
    return folder / "toy-quick.rows.jsonl"


def made(
    method: str, instance: int | str, profit: float, setting: str = "n=20, TW=100", **others: Any
) -> Row:
    """Make a row of a plan that earns so much; the method is given with its options."""
    return {
        "setting": setting,
        "instance": instance,
        "contender": Contender.parse(method),
        "seed": 0,
        "profit": profit,
        "bound": None,
        "status": "feasible",
        "seconds": 0.5,
        "reached": None,
        "batch": 1,
        "load": None,
        "found_by": "",
    } | others


def proof(instance: int | str, setting: str = "n=20, TW=100") -> Row:
    """Prove that an instance can earn 10."""
    return made("exact", instance, 10.0, setting, bound=10.0, status="optimal")
