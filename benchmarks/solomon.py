"""A method on the public benchmark files: profit, bound, gap and time.

    python -m benchmarks.solomon FOLDER [--profit fixed|variable] [--time-limit 60]
                                 [--method exact] [--bounds table.csv] [--threads 1]
                                 [--known optw_best_known.csv] [--out table.csv] [NAME ...]

FOLDER holds Solomon or KU Leuven files. A file of known profits (columns instance, profit,
status) is compared with, and any disagreement with a proven optimum ends the run. A method that
proves nothing is compared with the bounds in a table that this command wrote for another.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path
from statistics import fmean

from benchmarks.common import machine, table

import decost
from decost.solver import solve_each


def main() -> None:
    """Solve every file and print a row each, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--profit", choices=("fixed", "variable"), default="fixed")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--method", default="exact")
    parser.add_argument("--bounds", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_intermixed_args()
    known: dict[str, tuple[float, str]] = {}
    if given.known:
        with given.known.open() as file:
            for row in csv.DictReader(file):
                known[row["instance"]] = (float(row["profit"]), row["status"])
    bounds: dict[str, float] = {}
    if given.bounds:
        with given.bounds.open() as file:
            bounds = {row["file"]: float(row["bound"]) for row in csv.DictReader(file)}
    print(machine(), flush=True)
    heading = ("file", "profit", "bound", "gap", "seconds", "known", "known as")
    paths = [
        path
        for path in sorted(given.folder.glob("*.txt"))
        if not given.names or path.stem in given.names
    ]
    instances = [decost.read(path, profit=given.profit) for path in paths]
    results = solve_each(
        instances, given.method, threads=given.threads, time_limit=given.time_limit
    )
    rows, gaps = [], []
    for path, result in zip(paths, results, strict=True):
        assert decost.check(result.instance, result.solution) == []
        bound = bounds.get(path.stem, math.inf) if result.bound is None else result.bound
        profit, status = known.get(path.stem, (None, ""))
        assert result.profit <= bound * (1 + 1e-6), path.stem
        if status == "optimal" and profit is not None:
            assert result.profit <= profit <= bound, path.stem
        gaps.append(100 * max(0.0, 1 - result.profit / bound))
        row = (
            path.stem,
            f"{result.profit:.8g}",
            f"{bound:.8g}",
            f"{gaps[-1]:.2f}%",
            f"{result.runtime:.2f}",
            "" if profit is None else f"{profit:g}",
            status,
        )
        rows.append(row)
        print(*row, flush=True)
    print(table(heading, rows))
    reached = sum(row[1] == row[2] for row in rows)
    print(f"bound reached: {reached} of {len(rows)}, mean gap {fmean(gaps):.3f}%")
    if given.out:
        with given.out.open("w", newline="") as file:
            csv.writer(file).writerows([heading, *rows])


if __name__ == "__main__":
    main()
