"""An experiment whose tasks cost nothing and say when they are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from decost.experiments.runner import Config, Experiment, Folders, Key, Row, Task
from decost.experiments.tables import Table


class ToyConfig(Config):
    """How many tasks, and how many rows each has."""

    tasks: int = 5
    batch: int = 1


class Toy:
    """An experiment that counts its tasks; `before` is called at the beginning of each."""

    def __init__(
        self, config: ToyConfig, before: Callable[[int], object] = lambda task: None
    ) -> None:
        self.done: list[int] = []
        self.before = before
        self.experiment = Experiment(
            name="toy",
            title="A toy",
            paper="Nothing of the paper",
            scales={"quick": config, "full": config},
            tasks=self._tasks,
            summarise=self._summarise,
        )

    def _tasks(self, config: ToyConfig, folders: Folders) -> list[Task]:
        return [
            Task(
                tuple(Key("toys", k * config.batch + i, "count") for i in range(config.batch)),
                partial(self._measure, k, config.batch),
            )
            for k in range(config.tasks)
        ]

    def _measure(self, task: int, batch: int) -> list[Row]:
        self.before(task)
        self.done.append(task)
        return [{"value": 10 * task + i} for i in range(batch)]

    def _summarise(self, config: ToyConfig, rows: Sequence[Row]) -> Table:
        return [{"instance": str(row["instance"]), "value": str(row["value"])} for row in rows]


def rows_file(folder: Path) -> Path:
    """Where a toy keeps its rows."""
    return folder / "toy-quick.rows.jsonl"
