"""Gaps of a trained network to the proven optimum on the paper's settings, and its speed.

python -m benchmarks.policy [--weights generalist] [--count 1000] [--write-card ABOUT]

Greedy decoding, best of the eight symmetries, optimal stays, no search. The first set is the
beginning of the published one (seed 2025, the first of 10,000). With --write-card the mean gaps
are put on the card of the weights, with a line about them.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from benchmarks.common import machine, paper_set, table

import decost
from decost.learn.checkpoint import load_weights, model_path, save_weights

SETTINGS = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))
PAPER = ("1.06%", "1.97%", "0.83%", "-", "3.31%")


def main() -> None:
    """Measure gaps, their distribution and the time of an instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="decost")
    parser.add_argument("--weights", default="generalist")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--no-symmetries", action="store_true")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--write-card", metavar="ABOUT", help="line about the weights")
    given = parser.parse_args()
    options = {"weights": given.weights, "symmetries": not given.no_symmetries}
    print(machine())
    decost.prepare("exact")
    rows, spread, means = [], [], {}
    for (nodes, window), paper in zip(SETTINGS, PAPER, strict=True):
        count = given.count if nodes <= 100 else max(1, given.count // 10)
        instances = paper_set(nodes, window, count)
        proofs = decost.solve_many(instances, "exact")
        assert all(proof.status == "optimal" for proof in proofs)
        decost.solve_many(instances[:2], given.method, threads=given.threads, **options)
        begin = time.perf_counter()
        results = decost.solve_many(instances, given.method, threads=given.threads, **options)
        seconds = time.perf_counter() - begin
        assert not any(decost.check(r.instance, r.solution) for r in results)
        best = np.array([proof.profit for proof in proofs])
        gaps = 100 * (1 - np.array([result.profit for result in results]) / best)
        name = f"n={nodes}, TW={window}"
        means[name] = round(float(gaps.mean()), 3)
        rows.append((name, count, paper, f"{gaps.mean():.3f}%", f"{seconds / count * 1e3:.2f}"))
        points = (gaps.mean(), gaps.std(), *np.percentile(gaps, (25, 50, 75)), gaps.max())
        spread.append((name, *(f"{point:.3f}" for point in points), f"{(gaps < 1e-4).mean():.0%}"))
    print()
    print(table(("setting", "instances", "the paper", "gap", "ms an instance"), rows))
    print()
    heading = ("gap in %", "mean", "std", "quartile", "median", "quartile", "max", "optimal")
    print(table(heading, spread))
    if given.write_card:
        path = Path(given.weights)
        path = path if path.is_file() else model_path(given.weights)
        network, card = load_weights(path)
        gaps_of = {name: f"{value}%" for name, value in means.items()}
        save_weights(path, network, {"about": given.write_card} | card | {"gaps": gaps_of})
        print(f"\nwrote the gaps on the card of {path.name}")


if __name__ == "__main__":
    main()
