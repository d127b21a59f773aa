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


class SolomonConfig(Config):
    """Which of the files are solved: each, or each seventh, say, in their order."""

    every: int = 1
    remark: str = (
        "the paper trains on 29 files and tests on 10, without naming them, so that its scores "
        "cannot be compared with these; decost's network is ours, and was trained on none of them"
    )


def list_tasks(config: SolomonConfig, folders: Folders) -> list[Task]:
    """List the proofs of all files, and then the methods."""
    paths = list_files(folders.data)[:: config.every]
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
