"""Proofs for teams: the paper's instances, or public benchmark files with several vehicles.

    python -m benchmarks.teams [--count 100] [--vehicles 3] [--time-limit 10] [--seed 1]
    python -m benchmarks.teams FOLDER [NAME ...] [--vehicles 2,3,4] [--time-limit 60]
                               [--method columns] [--known toptw_best_known.csv] [--out table.csv]

Without a folder: generated instances (n=50, TW=100), how many are proven, mean time and gap. A
FOLDER holds Solomon or KU Leuven files. A file of known profits (columns instance, vehicles,
profit, status) is compared with; a bound below a known profit, or a plan above a proven one, ends
the run. Rows that `--out` holds already are kept, so that a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from statistics import mean

from benchmarks.common import machine, table

import decost
from decost import Instance, Result


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
    parser.add_argument("--out", type=Path)
    given = parser.parse_intermixed_args()
    files = given.folder is not None
    teams = [int(number) for number in (given.vehicles or ("2,3,4" if files else "3")).split(",")]
    limit = given.time_limit or (60.0 if files else 10.0)
    print(machine(), flush=True)
    if not files:
        for vehicles in teams:
            generated(given.count, vehicles, limit, given.seed, given.method)
        return
    known: dict[tuple[str, int], tuple[float, str]] = {}
    if given.known:
        with given.known.open() as file:
            for row in csv.DictReader(file):
                known[row["instance"], int(row["vehicles"])] = (float(row["profit"]), row["status"])
    heading = ("file", "vehicles", "profit", "bound", "gap", "found by", "seconds", "known")
    rows: list[tuple[str, ...]] = []
    if given.out and given.out.exists():
        with given.out.open() as file:
            rows = [tuple(row) for row in csv.reader(file)][1:]
    done = {row[:2] for row in rows}
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
            row = (
                path.stem,
                str(vehicles),
                f"{result.profit:.8g}",
                f"{result.bound:.8g}",
                f"{100 * (result.gap or 0):.2f}%",
                result.found_by or given.method,
                f"{result.runtime:.2f}",
                f"{profit:g}" if profit else "",
            )
            rows.append(row)
            print(*row, flush=True)
            if given.out:
                with given.out.open("w", newline="") as file:
                    csv.writer(file).writerows([heading, *rows])
    print(table(heading, rows))
    print(f"proven: {sum(row[2] == row[3] for row in rows)} of {len(rows)}")


def generated(count: int, vehicles: int, limit: float, seed: int, method: str) -> None:
    """Print how many of the paper's instances are proven for a team, in which time."""
    instances = decost.generate(
        "paper", nodes=50, window=100, count=count, vehicles=vehicles, seed=seed
    )
    results = [solved(instance, limit, method) for instance in instances]
    seconds = [result.runtime for result in results]
    row = (
        vehicles,
        f"{sum(result.status == 'optimal' for result in results)} of {count}",
        f"{mean(seconds):.3f}",
        f"{max(seconds):.3f}",
        f"{100 * mean(result.gap or 0 for result in results):.4f}%",
        f"{mean(result.profit for result in results):.4f}",
    )
    heading = ("vehicles", "proven", "mean seconds", "most seconds", "mean gap", "mean profit")
    print(table(heading, [row]), flush=True)


def solved(instance: Instance, limit: float, method: str) -> Result:
    """Solve and check."""
    result = decost.solve(instance, method, time_limit=limit)
    assert decost.check(instance, result.solution) == []
    return result


if __name__ == "__main__":
    main()
