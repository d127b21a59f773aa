"""A method on the public benchmark files: profit, bound, gap and time.

    python -m benchmarks.solomon FOLDER [--profit fixed|variable] [--time-limit 60]
                                 [--method exact] [--threads 1]
                                 [--known optw_best_known.csv] [--out table.csv]
                                 [--summary summary.csv] [NAME ...]

FOLDER holds Solomon or KU Leuven files. A file of known profits (columns instance, profit,
status) is compared with, and any disagreement with a proven optimum ends the run; beside its
profits stand the times of the best exact method that was published. The summary has a line for
each kind of known profits, and one for all files.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from benchmarks.common import machine, output, table, write_csv

import decost
from decost.solver import solve_each

HEADING = ("file", "profit", "bound", "gap", "seconds", "known", "known as", "published seconds")

PUBLISHED = {
    "c101": "0.07",
    "c104": "4446",
    "pr01": "1.1",
    "pr04": "491",
    "pr05": "4468",
    "pr06": "unsolved",
    "pr09": "2819",
    "pr10": "unsolved",
    "r101": "0.04",
    "r103": "7138",
    "r104": "unsolved",
    "r108": "unsolved",
    "r112": "2296",
    "rc108": "51",
}
"""What the exact method of Righini and Salani (2009) took for one vehicle, of two hours at most."""

SUMMARY = (
    "files",
    "number",
    "proven",
    "bound reached",
    "mean gap",
    "largest gap",
    "known beaten",
    "known reached",
    "known not reached",
    "mean gap to known",
    "total seconds",
    "median seconds",
    "most seconds",
)


class Solved(NamedTuple):
    """What came out for a file; gaps are in percent, and None where there is nothing to compare."""

    file: str
    profit: float
    bound: float | None
    proven: bool
    seconds: float
    known: float | None = None
    known_as: str = ""

    @property
    def gap(self) -> float | None:
        """How far the profit is below the bound."""
        return None if self.bound is None else 100 * max(0.0, 1 - self.profit / self.bound)

    @property
    def gap_to_known(self) -> float | None:
        """How far the profit is below the known one; negative where it is better."""
        return None if self.known is None else 100 * (1 - self.profit / self.known)

    @property
    def row(self) -> tuple[str, ...]:
        """Its line of the table."""
        return (
            self.file,
            f"{self.profit:.8g}",
            "" if self.bound is None else f"{self.bound:.8g}",
            "" if self.gap is None else f"{self.gap:.2f}%",
            f"{self.seconds:.2f}",
            "" if self.known is None else f"{self.known:g}",
            self.known_as,
            "" if self.known is None else PUBLISHED.get(self.file, ""),
        )


def summary(solved: Sequence[Solved]) -> list[tuple[str, ...]]:
    """Sum files up by what is known of them, and all of them."""
    kinds = dict.fromkeys(one.known_as for one in solved if one.known is not None)
    lines = [_sum([one for one in solved if one.known_as == kind], kind) for kind in kinds]
    return [*lines, _sum(solved, "all")]


def _sum(solved: Sequence[Solved], name: str) -> tuple[str, ...]:
    gaps = [one.gap for one in solved if one.gap is not None]
    to_known = [one.gap_to_known for one in solved if one.gap_to_known is not None]
    beaten = sum(gap < -1e-6 for gap in to_known)
    missed = sum(gap > 1e-6 for gap in to_known)
    seconds = [one.seconds for one in solved]
    return (
        name,
        str(len(solved)),
        str(sum(one.proven for one in solved)),
        str(sum(one.row[1] == one.row[2] for one in solved)) if gaps else "",
        f"{fmean(gaps):.3f}%" if gaps else "",
        f"{max(gaps):.2f}%" if gaps else "",
        *(map(str, (beaten, len(to_known) - beaten - missed, missed)) if to_known else [""] * 3),
        f"{fmean(to_known):.3f}%" if to_known else "",
        f"{sum(seconds):.1f}",
        f"{median(seconds):.2f}",
        f"{max(seconds):.2f}",
    )


def main() -> None:
    """Solve every file and print a row each, then the table and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--profit", choices=("fixed", "variable"), default="fixed")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--method", default="exact")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--out", type=output)
    parser.add_argument("--summary", type=output)
    given = parser.parse_intermixed_args()
    known: dict[str, tuple[float, str]] = {}
    if given.known:
        with given.known.open() as file:
            for row in csv.DictReader(file):
                known[row["instance"]] = (float(row["profit"]), row["status"])
    paths = [
        path
        for path in sorted(given.folder.glob("*.txt"))
        if not given.names or path.stem in given.names
    ]
    if not paths:
        parser.error(f"{given.folder}: holds none of these files")
    print(machine(), flush=True)
    instances = [decost.read(path, profit=given.profit) for path in paths]
    results = solve_each(
        instances, given.method, threads=given.threads, time_limit=given.time_limit
    )
    solved = []
    for path, result in zip(paths, results, strict=True):
        assert decost.check(result.instance, result.solution) == []
        bound = result.bound
        profit, status = known.get(path.stem, (None, ""))
        assert bound is None or result.profit <= bound * (1 + 1e-6), path.stem
        if status == "optimal" and profit is not None:
            assert result.profit <= profit, path.stem
            assert bound is None or profit <= bound, path.stem
        proven = result.status == "optimal"
        solved.append(
            Solved(path.stem, result.profit, bound, proven, result.runtime, profit, status)
        )
        print(*solved[-1].row, flush=True)
    print(table(HEADING, [one.row for one in solved]), end="\n\n")
    print(table(SUMMARY, summary(solved)))
    if given.out:
        write_csv(given.out, HEADING, [one.row for one in solved])
    if given.summary:
        write_csv(given.summary, SUMMARY, summary(solved))


if __name__ == "__main__":
    main()
