"""Gap and predicted stays against instances seen: the histories of some trainings side by side.

    decost bench curves --runs "with pTAR=runs/a/history.csv, without=runs/b/history.csv"

Each of the runs is NAME=FILE: what it is called, and the history that `decost train` has written;
NAME=FILE+FILE if a run began with the weights of another, whose epochs are counted before its own.
All of them have the same number of instances an epoch.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from decost.bench import BenchError
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CurvesConfig(Config):
    """The histories, how many instances an epoch had, and which epochs are in the table.

    What is told of an epoch is the mean over the `last` ones up to it: gaps of single epochs
    jump.
    """

    runs: tuple[str, ...] = ()
    episodes: int = 10_000
    every: int = 10
    last: int = 5
    reduced: str = "measures nothing"


def list_tasks(config: CurvesConfig, folders: Folders) -> list[Task]:
    """List nothing: the trainings were run before."""
    return []


def read_histories(config: CurvesConfig) -> dict[str, list[Mapping[str, float]]]:
    """Read the epochs of each run, the first one being that before any training."""
    found: dict[str, list[Mapping[str, float]]] = {}
    for word in config.runs:
        name, equals, path = word.partition("=")
        files = [path] if Path(path).is_file() else path.split("+")
        if not (equals and all(Path(file).is_file() for file in files)):
            raise BenchError(f"--runs {word}: is not like NAME=FILE, with a file that exists")
        found[name] = []
        for file in files:
            before = found[name][-1]["epoch"] if found[name] else 0.0
            rows = _read_history(Path(file))[1 if found[name] else 0 :]
            found[name] += [{**row, "epoch": row["epoch"] + before} for row in rows]
    return found


def _read_history(path: Path) -> list[dict[str, float]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {key: float(value) for key, value in row.items() if value}
            for row in csv.DictReader(file)
        ]


def smoothed(
    history: Sequence[Mapping[str, float]], column: str, last: int
) -> list[tuple[int, float]]:
    """Give epochs with the mean of a column over the last few, from the first that has them."""
    known = [(int(row["epoch"]), row[column]) for row in history if column in row and row["epoch"]]
    return [
        (known[k][0], sum(value for _, value in known[k - last + 1 : k + 1]) / last)
        for k in range(last - 1, len(known))
    ]


def summarise(config: CurvesConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each run and some of its epochs."""
    table = []
    for name, history in read_histories(config).items():
        gaps = smoothed(history, "gap", config.last)
        shares = dict(smoothed(history, "stay_share", config.last))
        for epoch, gap in gaps:
            if epoch % config.every == 0:
                share = shares.get(epoch)
                table.append(
                    {
                        "run": name,
                        "epochs": str(epoch),
                        "instances": str(epoch * config.episodes),
                        "gap (%)": f"{gap:.2f}",
                        "predicted stays (%)": "" if share is None else f"{100 * share:.2g}",
                    }
                )
    return {"": table}


def draw(config: CurvesConfig, rows: Sequence[Row]) -> Figure:
    """Draw gaps and, below, predicted stays against the instances seen."""
    from decost.bench.figures import histories

    panels = {
        title: {
            name: [
                (epoch * config.episodes / 1e6, factor * value)
                for epoch, value in smoothed(history, column, config.last)
            ]
            for name, history in read_histories(config).items()
        }
        for title, column, factor in (
            ("gap", "gap", 1.0),
            ("predicted share of the longest stay", "stay_share", 100.0),
        )
    }
    return histories("Trainings of the paper's network", "instances seen, millions", panels)


BENCH = Bench.load(
    "curves", __doc__, CurvesConfig, list_tasks, summarise, draw=draw, needs=("runs",)
)
