"""Methods side by side: gap to the proven optimum, and time, on one set of instances.

    python -m benchmarks.methods [--nodes 50] [--window 100] [--vehicles 1] [--count 100]
                                 [--threads 1] [--out table.csv] ["METHOD [option=value ...]" ...]

The instances are the first of the paper's family with seed 2025; for 50 nodes and window 100 these
are the published ones. A method is given with its options in one word, such as
"ils time_limit=10". `exact` finds the optima for one vehicle, `columns` for more; where a proof is
missing, the bound counts. The time is the mean of what the results say.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.common import load, machine, output, paper_set, table, write_csv

import decost

METHODS = (
    "greedy stays=greedy",
    "greedy",
    "ils time_limit=10",
    "gfacs stays=greedy",
    "gfacs",
    "pomo",
    "decost",
    "search time_limit=0.005",
    "exact",
)


def main() -> None:
    """Solve the set by each method and print a row each, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--window", type=float, default=100)
    parser.add_argument("--vehicles", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a proof")
    parser.add_argument("--out", type=output)
    given = parser.parse_intermixed_args()
    print(machine(), flush=True)
    instances = paper_set(given.nodes, given.window, given.count, given.vehicles)
    prover = "exact" if given.vehicles == 1 else "columns"
    proofs = decost.solve_many(instances, prover, time_limit=given.time_limit)
    bound = np.array([proof.bound for proof in proofs])
    proven = sum(proof.status == "optimal" for proof in proofs)
    print(f"n={given.nodes}, TW={given.window:g}, vehicles {given.vehicles}: {proven} proven")
    heading = ("method", "mean gap", "median", "largest", "optimal", "profit", "ms", "load")
    rows = []
    for words in given.methods:
        name, *pairs = words.split()
        options = dict(pair.split("=", 1) for pair in pairs)
        decost.solve_many(instances[:2], name, **(options | {"time_limit": 0.1}))
        busy = f"{load():.1f}"
        results = decost.solve_many(instances, name, threads=given.threads, **options)
        assert not any(decost.check(r.instance, r.solution) for r in results)
        profit = np.array([result.profit for result in results])
        gaps = 100 * (1 - profit / bound)
        row = (
            words,
            f"{gaps.mean():.3f}%",
            f"{np.median(gaps):.3f}%",
            f"{gaps.max():.2f}%",
            f"{100 * (gaps < 1e-4).mean():.0f}%",
            f"{profit.mean():.4f}",
            f"{1e3 * np.mean([result.runtime for result in results]):.3g}",
            busy,
        )
        rows.append(row)
        print(*row, flush=True)
    print(table(heading, rows))
    if given.out:
        write_csv(given.out, heading, rows)


if __name__ == "__main__":
    main()
