"""REINFORCE and the exact teacher, the paper's network and ours, at equal CPU time.

python -m benchmarks.learning --folder runs/learning [--nodes 50] [--minutes 10] [--out table.csv]

Each run has the same CPU time and sees as many instances as it can; the teacher's learning rate
falls over the epochs given here, which fill about that time. Gaps are to the optimum of other
instances. A run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

import torch
from benchmarks.common import machine, output, table, trained, write_csv

import decost
from decost.learn.checkpoint import read_card

RUNS = {
    "paper's network, REINFORCE + pTAR": {"network": "paper"},
    "paper's network, REINFORCE": {"network": "paper", "ptar": False},
    "paper's network, exact teacher": {"network": "paper", "teacher": "exact"},
    "prefix network, REINFORCE": {"network": "prefix"},
    "prefix network, exact teacher": {"network": "prefix", "teacher": "exact"},
}


def main() -> None:
    """Train every kind for the same time, and print gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--window", type=float, default=100)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--count", type=int, default=500, help="test instances")
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    print(machine())
    instances = decost.generate(
        "paper", nodes=given.nodes, window=given.window, count=given.count, seed=2025
    )
    best = [result.profit for result in decost.solve_many(instances, "exact")]
    rows = []
    for number, (name, kind) in enumerate(RUNS.items()):
        taught = kind.get("teacher") == "exact"
        weights = trained(
            given.folder / str(number),
            nodes=str(given.nodes),
            window=str(given.window),
            cpu_limit=60 * given.minutes,
            episodes=1280,
            epochs=max(1, round(7 * given.minutes)) if taught else 10**6,
            threads=1,
            **kind,
        )
        torch.set_num_threads(1)
        gaps = []
        for symmetries in (False, True):
            results = decost.solve_many(
                instances, "decost", weights=str(weights), symmetries=symmetries
            )
            gaps.append(
                100 * fmean(1 - r.profit / p for r, p in zip(results, best, strict=True) if p)
            )
        card = read_card(weights)
        row = (name, card["instances"], f"{card['cpu_seconds'] / 60:.1f}", given.count)
        rows.append((*row, *(f"{gap:.2f}%" for gap in gaps)))
        print(*rows[-1], sep=", ", flush=True)
    print()
    heading = ("training", "instances", "CPU min", "tested on", "greedy", "8 symmetries")
    print(table(heading, rows))
    if given.out:
        write_csv(given.out, heading, rows)


if __name__ == "__main__":
    main()
