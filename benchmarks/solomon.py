"""`exact` on the public benchmark files: profit, bound, gap, labels and time.

    python -m benchmarks.solomon FOLDER [--profit fixed|variable] [--time-limit 60]
                                 [--known optw_best_known.csv] [--out table.csv] [NAME ...]

FOLDER holds Solomon or KU Leuven files. A file of known profits (columns instance, profit,
status) is compared with, and any disagreement with a proven optimum ends the run.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from benchmarks.common import machine, table

import decost


def main() -> None:
    """Solve every file and print a row each, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--profit", choices=("fixed", "variable"), default="fixed")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_intermixed_args()
    known: dict[str, tuple[float, str]] = {}
    if given.known:
        with given.known.open() as file:
            for row in csv.DictReader(file):
                known[row["instance"]] = (float(row["profit"]), row["status"])
    print(machine(), flush=True)
    decost.prepare("exact")
    heading = ("file", "profit", "bound", "gap", "labels", "seconds", "known", "known as")
    rows = []
    for path in sorted(given.folder.glob("*.txt")):
        if given.names and path.stem not in given.names:
            continue
        instance = decost.read(path, profit=given.profit)
        result = decost.solve(instance, "exact", time_limit=given.time_limit)
        assert decost.check(instance, result.solution) == []
        assert result.bound is not None
        profit, status = known.get(path.stem, (None, ""))
        if status == "optimal" and profit is not None:
            assert result.profit <= profit <= result.bound, path.stem
        row = (
            path.stem,
            f"{result.profit:.8g}",
            f"{result.bound:.8g}",
            f"{100 * (result.gap or 0):.2f}%",
            int(result.details["labels"]),
            f"{result.runtime:.2f}",
            "" if profit is None else f"{profit:g}",
            status,
        )
        rows.append(row)
        print(*row, flush=True)
    print(table(heading, rows))
    proven = sum(row[3] == "0.00%" and row[1] == row[2] for row in rows)
    print(f"proven: {proven} of {len(rows)}")
    if given.out:
        with given.out.open("w", newline="") as file:
            csv.writer(file).writerows([heading, *rows])


if __name__ == "__main__":
    main()
