"""Table 4: Solomon's files with variable profit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

from decost.experiments.instances import file_name, solomon_files
from decost.experiments.measure import solving_tasks
from decost.experiments.runner import Config, Experiment, Folders, Row, Task
from decost.experiments.tables import (
    Table,
    add_gaps,
    grouped,
    paper_columns,
    percent_over,
    performance,
)
from decost.files.door import read
from decost.problem.instance import Instance


class SolomonConfig(Config):
    """Which of the files are solved: each, or every so manieth in their order."""

    every: int = 1
    remark: str = (
        "the paper trains on 29 files and tests on 10, without naming them, so that its scores "
        "cannot be compared with these; decost's network is ours, and was trained on none of them"
    )


QUICK = SolomonConfig(
    methods=(
        "ils time_limit=1",
        "ils time_limit=2",
        "decost",
        "search time_limit=1",
        "exact time_limit=2",
    ),
    prover="exact time_limit=2",
    every=7,
    reduced="every 7th file; ils for 1 s and 2 s instead of 10 s and 20 s, exact for 2 s",
)

FULL = SolomonConfig(
    methods=(
        "ils time_limit=10",
        "ils time_limit=20",
        "decost",
        "search time_limit=10",
        "exact time_limit=60",
    ),
    prover="exact time_limit=60",
    reduced="all files",
)

# The paper's Table 4: score, what it is more than DeCoST's in percent, and time in seconds.
PAPER = {
    "ils time_limit=10": ("9846.3", "-7.8", "10"),
    "ils time_limit=20": ("10616.9", "-0.59", "20"),
    "decost": ("10680.3", "", "0.29"),
}


@lru_cache(maxsize=1)
def _instances(paths: tuple[Path, ...], names: tuple[str, ...]) -> list[Instance]:
    """Read files, which are kept in mind under their paths and what is in them."""
    return [read(path, profit="variable") for path in paths]


def list_tasks(config: SolomonConfig, folders: Folders) -> list[Task]:
    """List the proofs of all files, and then the methods."""
    paths = tuple(solomon_files(folders.data)[:: config.every])
    names = tuple(map(file_name, paths))
    tasks: list[Task] = []
    for words in dict.fromkeys((config.prover, *config.methods)):
        tasks += solving_tasks("Solomon", partial(_instances, paths, names), names, words)
    return tasks


def summarise(config: SolomonConfig, rows: Sequence[Row]) -> Table:
    """Make a line for each method over all files, and one for each class of files."""
    gaps = [
        {**row, "files": files}
        for row in add_gaps(rows, config.prover)
        for files in ("all", _class(row["instance"]))
    ]
    groups = grouped(gaps, "method", "files")
    table = []
    for words, files in product(config.methods, dict.fromkeys(row["files"] for row in gaps)):
        some = groups[words, files]
        paper = PAPER.get(words) if files == "all" else None
        names = ("score", "over DeCoST (%)", "time (s)")
        table.append(
            {"method": words, "files": files}
            | performance(some)
            | {"over decost (%)": percent_over(some, groups.get(("decost", files)))}
            | paper_columns(names, paper)
        )
    return table


def _class(name: str) -> str:
    """Give the class of a file: R1 of R101."""
    return name.split()[0][:-2]


EXPERIMENT = Experiment(
    name="solomon",
    title="Solomon's files with variable profit",
    paper="The paper's Table 4",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
    data="Solomon's files",
)
