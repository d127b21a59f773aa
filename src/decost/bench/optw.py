"""OPTW: public files with one vehicle, profit, bound and time beside what is known.

A file of known profits (columns instance, profit, status and, for teams, vehicles) is compared
with; any disagreement with a proven optimum ends the run.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from decost import TOLERANCE
from decost.bench import BenchError
from decost.bench.instances import file_names, list_files, read_files
from decost.bench.measure import solving_tasks
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import Table, digits, grouped, read_toml


class OptwConfig(Config):
    """Which files, how their profits are read, the vehicles, and a file of known profits."""

    selecting = Config.selecting | {"files", "vehicles", "known", "prover"}

    files: tuple[str, ...] = ()
    profit: Literal["fixed", "variable"] = "fixed"
    vehicles: tuple[int, ...] = (1,)
    known: Path | None = None


def list_tasks(config: OptwConfig, folders: Folders) -> list[Task]:
    """List all methods on all files, with each number of vehicles."""
    paths = list_files(folders.data, config.files)
    names = file_names(paths)
    tasks: list[Task] = []
    for vehicles in config.vehicles:
        source = partial(read_files, paths, names, config.profit, vehicles)
        for contender in config.methods:
            tasks += solving_tasks(_setting(vehicles), source, names, contender, vehicles)
    return tasks


def _setting(vehicles: int) -> str:
    return f"{vehicles} vehicle{'s' * (vehicles > 1)}"


class Known(NamedTuple):
    """What is known of a file: a profit, and whether that is optimal."""

    profit: float
    status: str


def read_known(path: Path | None) -> dict[tuple[str, int], Known]:
    """Read known profits by file and number of vehicles.

    Raises
    ------
    BenchError
        If the file lacks a column or has a value that is no number.
    """
    known: dict[tuple[str, int], Known] = {}
    if path is not None:
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                try:
                    key = row["instance"], int(row.get("vehicles") or 1)
                    known[key] = Known(float(row["profit"]), row["status"])
                except (KeyError, ValueError) as error:
                    raise BenchError(f"--known {path}: line {number}: {error}") from None
    return known


def summarise(config: OptwConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each file; sum them up by what is known, and by class and vehicles.

    Several methods are also compared with each other.
    """
    known = read_known(config.known)
    solved = []
    for row in rows:
        file, vehicles = row["instance"].split()[0], int(row["setting"].split()[0])
        found = known.get((file, vehicles))
        require_agreement(row, file, found)
        solved.append({**row, "file": file, "vehicles": vehicles, "known": found})
    kinds = grouped(
        ({**one, "kind": one["known"].status} for one in solved if one["known"]), "kind"
    )
    classes = grouped(
        ({**one, "class": f"{one['file'][:-2]}*"} for one in solved), "class", "vehicles"
    )
    every = ", ".join(map(str, sorted({one["vehicles"] for one in solved})))
    last = _sum(solved)
    several = {"methods": _compare(config, solved)} if len(config.methods) > 1 else {}
    return {
        "": [_line(one) for one in solved],
        "summary": [
            *({"files": key[0]} | _sum(some) for key, some in kinds.items()),
            {"files": "all"} | last,
        ],
        "classes": [
            *(
                {"files": key[0], "vehicles": str(key[1])} | _sum(classes[key])
                for key in sorted(classes)
            ),
            {"files": "all", "vehicles": every} | last,
        ],
        **several,
    }


def _compare(config: OptwConfig, solved: Sequence[Mapping[str, Any]]) -> Table:
    """Say what plans of each method miss of the best that any has found or that is known."""
    best: dict[tuple[str, int], float] = {}
    for one in solved:
        of = one["file"], one["vehicles"]
        known = one["known"].profit if one["known"] else 0.0
        best[of] = max(best.get(of, 0.0), known, one["profit"])
    rows = [
        {**one, "class": f"{name}*", "behind": _missed(one["profit"], best[of])}
        for every in (False, True)  # all files after the classes
        for one in solved
        for of in [(one["file"], one["vehicles"])]
        for name in ["" if every else one["file"][:-2]]
    ]
    table = []
    for (method, files, vehicles), some in grouped(rows, "contender", "class", "vehicles").items():
        gaps = [one["behind"] for one in some]
        table.append(
            {
                "method": str(method),
                "files": "all" if files == "*" else files,
                "vehicles": str(vehicles),
                "number": str(len(some)),
                "gap to the best (%)": f"{fmean(gaps):.2f}",
                "largest gap (%)": f"{max(gaps):.2f}",
                "time (ms)": digits(1000 * fmean(one["seconds"] for one in some)),
            }
        )
    return table


def require_agreement(row: Row, file: str, known: Known | None) -> None:
    """Refuse a plan above a proven optimum or its own bound, and a bound below a known profit.

    Raises
    ------
    BenchError
        If there is one: something must be wrong.
    """
    bound = row["bound"]
    if bound is not None and row["profit"] > bound * (1 + TOLERANCE) + TOLERANCE:
        raise BenchError(f"{file}: {row['contender']} earns {row['profit']}, above its own {bound}")
    if known is None:
        return
    if bound is not None and known.profit > bound * (1 + TOLERANCE):
        raise BenchError(f"{file}: {row['contender']} has the bound {bound}, below {known.profit}")
    if known.status == "optimal" and row["profit"] > known.profit * (1 + TOLERANCE):
        raise BenchError(f"{file}: {row['contender']} earns {row['profit']}, above the optimum")


def _line(one: Mapping[str, Any]) -> dict[str, str]:
    known, bound = one["known"], one["bound"]
    times = read_toml("paper.toml")["optw"]["seconds"] if known and one["vehicles"] == 1 else {}
    return {
        "method": str(one["contender"]),
        "file": one["file"],
        "vehicles": str(one["vehicles"]),
        "profit": f"{one['profit']:.8g}",
        "bound": "" if bound is None else f"{bound:.8g}",
        "gap": "" if bound is None else f"{_missed(one['profit'], bound):.2f}%",
        "found by": one["found_by"] or one["contender"].method,
        "seconds": f"{one['seconds']:.2f}",
        "known": f"{known.profit:g}" if known else "",
        "known as": known.status if known else "",
        "published seconds": times.get(one["file"], ""),
    }


def _missed(profit: float, most: float) -> float:
    """Percentage that a profit is below the most that there can be."""
    return 100 * max(0.0, 1 - profit / most) if most else 0.0


def _sum(solved: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Sum files up; gaps and what is known only where there is something to compare."""
    lines: Table = [_line(one) for one in solved]
    gaps = [_missed(one["profit"], one["bound"]) for one in solved if one["bound"] is not None]
    behind = [100 * (1 - one["profit"] / one["known"].profit) for one in solved if one["known"]]
    beaten, missed = sum(gap < -1e-6 for gap in behind), sum(gap > 1e-6 for gap in behind)
    seconds = [one["seconds"] for one in solved]
    counts = map(str, (beaten, len(behind) - beaten - missed, missed)) if behind else ("", "", "")
    return {
        "number": str(len(solved)),
        "proven": str(sum(one["status"] == "optimal" for one in solved)),
        "bound reached": str(sum(one["profit"] == one["bound"] for one in lines)) if gaps else "",
        "mean profit": f"{fmean(one['profit'] for one in solved):.1f}",
        "mean gap": f"{fmean(gaps):.3f}%" if gaps else "",
        "largest gap": f"{max(gaps):.2f}%" if gaps else "",
        **dict(zip(("known beaten", "known reached", "known not reached"), counts, strict=True)),
        "mean gap to known": f"{fmean(behind):.3f}%" if behind else "",
        "total seconds": f"{sum(seconds):.1f}",
        "median seconds": f"{median(seconds):.2f}",
        "most seconds": f"{max(seconds):.2f}",
    }


BENCH = Bench.load("optw", __doc__, OptwConfig, list_tasks, summarise, data="KU Leuven's files")
