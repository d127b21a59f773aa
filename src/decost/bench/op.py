"""OP: public files without windows, plans beside the best known and what two others reach.

A file of known profits (columns instance, best, status and, for the comparison, ea4op and alns)
is compared with; any disagreement with a proven optimum ends the run.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.instances import file_names, list_files, read_files
from decost.bench.measure import limit_of, solving_tasks
from decost.bench.optw import Known, require_agreement
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import grouped

OTHERS = {"EA4OP": "ea4op", "ALNS": "alns"}
"""Published methods, and their columns in the file of known profits."""


class OpConfig(Config):
    """Which files, a file of known profits, and how much longer large ones take."""

    selecting = Config.selecting | {"files", "known", "prover"}

    files: tuple[str, ...] = ()
    known: Path | None = None
    large: int = 400
    longer: float = 6.0


def list_tasks(config: OpConfig, folders: Folders) -> list[Task]:
    """List all methods on all files; those with more than `large` stops have `longer` limits."""
    paths = list_files(folders.data, config.files, (".oplib", ".txt"))
    sizes = [one.stops for one in read_files(paths, file_names(paths), "fixed")]
    tasks: list[Task] = []
    for is_large in (False, True):
        some = tuple(
            path
            for path, size in zip(paths, sizes, strict=True)
            if (size > config.large) == is_large
        )
        names = file_names(some)
        source = partial(read_files, some, names, "fixed")
        setting = f"n {'>' if is_large else '<='} {config.large}"
        for contender in config.methods:
            longer = _with_limit(contender, config.longer) if is_large else contender
            tasks += solving_tasks(setting, source, names, longer)
    return tasks


def _with_limit(contender: Contender, times: float) -> Contender:
    limit = limit_of(contender)
    return contender.having(time_limit=times * limit) if limit else contender


def read_published(path: Path | None) -> dict[str, tuple[Known, dict[str, float]]]:
    """Read the best known profits by file, and those of other methods.

    Raises
    ------
    BenchError
        If the file lacks a column or has a value that is no number.
    """
    published: dict[str, tuple[Known, dict[str, float]]] = {}
    if path is not None:
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                try:
                    others = {name: float(row[key]) for name, key in OTHERS.items() if row.get(key)}
                    known = Known(float(row["best"]), row["status"])
                    published[row["instance"]] = known, others
                except (KeyError, ValueError) as error:
                    raise BenchError(f"--known {path}: line {number}: {error}") from None
    return published


def summarise(config: OpConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each file, and sum them up by size and method."""
    published = read_published(config.known)
    solved = []
    for row in rows:
        file = row["instance"].split()[0]
        known, others = published.get(file, (None, {}))
        require_agreement(row, file, known)
        gaps = {}
        if known is not None:
            profits = {"gap": row["profit"], **others}
            gaps = {name: 100 * (1 - profit / known.profit) for name, profit in profits.items()}
        solved.append({**row, "file": file, "known": known, "gaps": gaps})
    return {
        "": [_line(one) for one in solved],
        "summary": [
            {"files": key[0], "method": str(key[1])} | _sum(some)
            for key, some in grouped(solved, "setting", "contender").items()
        ],
    }


def _line(one: Mapping[str, Any]) -> dict[str, str]:
    known, bound = one["known"], one["bound"]
    return {
        "method": str(one["contender"]),
        "file": one["file"],
        "profit": f"{one['profit']:.8g}",
        "bound": "" if bound is None else f"{bound:.8g}",
        "status": one["status"],
        "best": f"{known.profit:g}" if known else "",
        "known as": known.status if known else "",
        **{name: _percent(one["gaps"].get(name), 2) for name in ("gap", *OTHERS)},
        "seconds": f"{one['seconds']:.2f}",
    }


def _percent(gap: float | None, decimals: int) -> str:
    return "" if gap is None else f"{gap:.{decimals}f}%"


def _sum(solved: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    gaps = [one["gaps"]["gap"] for one in solved if one["known"]]
    means = {
        name: fmean(found)
        for name in OTHERS
        if (found := [one["gaps"][name] for one in solved if name in one["gaps"]])
    }
    return {
        "number": str(len(solved)),
        "proven": str(sum(one["status"] == "optimal" for one in solved)),
        "best reached": str(sum(gap <= 1e-6 for gap in gaps)) if gaps else "",
        "mean gap": _percent(fmean(gaps), 3) if gaps else "",
        "largest gap": _percent(max(gaps), 2) if gaps else "",
        **{f"mean gap of {name}": _percent(means.get(name), 3) for name in OTHERS},
        "total seconds": f"{sum(one['seconds'] for one in solved):.1f}",
    }


BENCH = Bench.load("op", __doc__, OpConfig, list_tasks, summarise, data="OPLib's files")
