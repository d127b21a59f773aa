"""Table 4: Solomon's files with variable profit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from decost.bench import tables
from decost.bench.contender import Contender
from decost.bench.instances import file_class, file_names, list_files, read_files
from decost.bench.measure import versus
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task

TRAINED = (
    *("c101", "c102", "c103", "c104", "c106", "c107", "c108", "c201", "c206"),
    *("r101", "r102", "r103", "r105", "r106", "r107", "r108", "r110", "r111", "r112"),
    *("r201", "r207", "rc101", "rc102", "rc103", "rc105", "rc106", "rc108", "rc201"),
    "rc205",
)
"""Our 29 files to train on: the first series but for those of the test, and six of the second."""

TESTED = (*("c105", "c109", "c204", "r104", "r109", "r203", "r210", "rc104", "rc107", "rc206"),)
"""Our ten files to test on, some of each class."""


class SolomonConfig(Config):
    """Which of the files are solved: each, or each seventh, say, in their order; or the ten.

    `tested` takes the files on which networks are tested that were trained on the other 29.
    """

    every: int = 1
    tested: bool = False
    remark: str = (
        "the paper trains on 29 files and tests on 10, without naming them, so that its scores "
        "cannot be compared with these; decost's network is ours, and but for weights that were "
        "trained on files it was trained on none of them"
    )


def list_tasks(config: SolomonConfig, folders: Folders) -> list[Task]:
    """List the proofs of all files, and then the methods."""
    paths = list_files(folders.data, TESTED if config.tested else ())[:: config.every]
    names = file_names(paths)
    return versus(config, "Solomon", partial(read_files, paths, names, "variable"), names)


def summarise(config: SolomonConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each method over all files, and one for each class of files."""
    gaps = [
        {**row, "files": files}
        for row in tables.add_gaps(rows, config.prover)
        for files in ("all", file_class(row["instance"]))
    ]
    groups = tables.grouped(gaps, "contender", "files")
    table = []
    for contender, files in product(config.methods, dict.fromkeys(row["files"] for row in gaps)):
        some = groups[contender, files]
        others = groups.get((Contender.of("decost"), files))
        table.append(
            {"method": tables.row_name(contender), "files": files}
            | tables.performance(some)
            | {"over decost (%)": tables.percent_over(some, others)}
            | tables.paper_columns("solomon", files, str(contender))
        )
    return {"": table}


BENCH = Bench.load("solomon", __doc__, SolomonConfig, list_tasks, summarise, data="Solomon's files")
