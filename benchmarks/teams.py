"""Proofs for teams: the paper's instances, or public benchmark files with several vehicles.

    python -m benchmarks.teams [--count 100] [--vehicles 3] [--time-limit 10] [--seed 1]
                               [--method columns] [--out table.csv]
    python -m benchmarks.teams FOLDER [NAME ...] [--vehicles 2,3,4] [--time-limit 60]
                               [--method columns] [--known toptw_best_known.csv] [--out table.csv]
                               [--summary summary.csv]

Without a folder: generated instances (n=50, TW=100), how many are proven, mean time and gap. A
FOLDER holds Solomon or KU Leuven files. A file of known profits (columns instance, vehicles,
profit, status) is compared with; a bound below a known profit, or a plan above a proven one, ends
the run. Rows that `--out` holds already are kept, so that a run that was ended goes on; those of
another method or time limit are refused. The summary has a line for each class of files and
number of vehicles, and one for all.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TypeAlias

from benchmarks.common import machine, output, table, write_csv

import decost
from decost import Instance, Result

HEADING = (
    "file",
    "vehicles",
    "profit",
    "bound",
    "gap",
    "found by",
    "seconds",
    "known",
    "method",
    "limit",
)

SUMMARY = ("files", "vehicles", "number", "proven", "mean profit", "mean gap", "largest gap")

GENERATED = (
    "vehicles",
    "instances",
    "proven",
    "mean seconds",
    "most seconds",
    "mean gap",
    "mean profit",
)

Row: TypeAlias = dict[str, str]


def main() -> None:
    """Solve the generated instances, or the files of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vehicles", help="how many, with commas between; 3, for files 2,3,4")
    parser.add_argument("--time-limit", type=float, help="seconds each; 10, for files 60")
    parser.add_argument("--method", choices=("columns", "auto"), default="columns")
    parser.add_argument("--known", type=Path)
    parser.add_argument("--out", type=output)
    parser.add_argument("--summary", type=output)
    given = parser.parse_intermixed_args()
    files = given.folder is not None
    teams = [int(number) for number in (given.vehicles or ("2,3,4" if files else "3")).split(",")]
    usual = 60.0 if files else 10.0
    limit = usual if given.time_limit is None else given.time_limit
    if not files:
        if given.summary:
            parser.error("--summary: sums files up, and needs a folder of them")
        print(machine(), flush=True)
        lines = [generated(given.count, k, limit, given.seed, given.method) for k in teams]
        print(table(GENERATED, lines))
        if given.out:
            write_csv(given.out, GENERATED, lines)
        return
    known: dict[tuple[str, int], tuple[float, str]] = {}
    if given.known:
        with given.known.open() as file:
            for row in csv.DictReader(file):
                known[row["instance"], int(row["vehicles"])] = (float(row["profit"]), row["status"])
    try:
        rows = kept(given.out, given.method, limit) if given.out else []
    except ValueError as error:
        parser.error(str(error))
    print(machine(), flush=True)
    done = {(row["file"], row["vehicles"]) for row in rows}
    for path in sorted(given.folder.glob("*.txt")):
        if given.names and path.stem not in given.names:
            continue
        for vehicles in teams:
            if (path.stem, str(vehicles)) in done:
                continue
            instance = decost.read(path).replace(vehicles=vehicles)
            result = solved(instance, limit, given.method)
            profit, status = known.get((path.stem, vehicles), (0.0, ""))
            assert result.bound is not None
            assert profit <= result.bound, (path.stem, vehicles)
            assert status != "optimal" or result.profit <= profit, (path.stem, vehicles)
            cells = (
                path.stem,
                str(vehicles),
                f"{result.profit:.8g}",
                f"{result.bound:.8g}",
                f"{100 * (result.gap or 0):.2f}%",
                result.found_by or given.method,
                f"{result.runtime:.2f}",
                f"{profit:g}" if profit else "",
                given.method,
                f"{limit:g}",
            )
            rows.append(dict(zip(HEADING, cells, strict=True)))
            print(*cells, flush=True)
            if given.out:
                write_csv(given.out, HEADING, [tuple(row.values()) for row in rows])
    if not rows:
        parser.error(f"{given.folder}: holds none of these files")
    print(table(HEADING, [tuple(row.values()) for row in rows]), end="\n\n")
    print(table(SUMMARY, summary(rows)))
    if given.summary:
        write_csv(given.summary, SUMMARY, summary(rows))


def kept(path: Path, method: str, limit: float) -> list[Row]:
    """Read the rows of a run that was ended.

    Raises
    ------
    ValueError
        If the file holds other rows than those of this method and time limit.
    """
    if not path.exists():
        return []
    advice = "remove the file, or give another --out"
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    if tuple(reader.fieldnames or ()) != HEADING:
        raise ValueError(
            f"{path}: has other columns than {', '.join(HEADING)}, so that its rows do not say "
            f"how they were made; {advice}"
        )
    for row in rows:
        if (row["method"], row["limit"]) != (method, f"{limit:g}"):
            raise ValueError(
                f"{path}: holds rows of {row['method']} with {row['limit']} s, not of {method} "
                f"with {limit:g} s; {advice}"
            )
    return rows


def summary(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Sum rows up by class of files and vehicles, and all of them."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["file"][:-2] + "*", row["vehicles"]), []).append(row)
    classes = list(dict.fromkeys(name for name, _ in groups))
    order = sorted(groups, key=lambda key: (classes.index(key[0]), int(key[1])))
    return [
        *(_sum(groups[key], *key) for key in order),
        _sum(rows, "all", ", ".join(sorted({key[1] for key in groups}, key=int))),
    ]


def _sum(rows: Sequence[Row], files: str, vehicles: str) -> tuple[str, ...]:
    profits = [float(row["profit"]) for row in rows]
    bounds = [float(row["bound"]) for row in rows]
    gaps = [
        100 * max(0.0, 1 - profit / bound) if bound else 0.0
        for profit, bound in zip(profits, bounds, strict=True)
    ]
    return (
        files,
        vehicles,
        str(len(rows)),
        str(sum(row["profit"] == row["bound"] for row in rows)),
        f"{mean(profits):.1f}",
        f"{mean(gaps):.2f}%",
        f"{max(gaps):.2f}%",
    )


def generated(count: int, vehicles: int, limit: float, seed: int, method: str) -> tuple[str, ...]:
    """Say how many of the paper's instances are proven for a team, in which time."""
    instances = decost.generate(
        "paper", nodes=50, window=100, count=count, vehicles=vehicles, seed=seed
    )
    results = [solved(instance, limit, method) for instance in instances]
    seconds = [result.runtime for result in results]
    return (
        str(vehicles),
        str(count),
        str(sum(result.status == "optimal" for result in results)),
        f"{mean(seconds):.3f}",
        f"{max(seconds):.3f}",
        f"{100 * mean(result.gap or 0 for result in results):.4f}%",
        f"{mean(result.profit for result in results):.4f}",
    )


def solved(instance: Instance, limit: float, method: str) -> Result:
    """Solve and check."""
    result = decost.solve(instance, method, time_limit=limit)
    assert decost.check(instance, result.solution) == []
    return result


if __name__ == "__main__":
    main()
