"""The paper's Table 3 at a reduced scale: spatial encoding, stage two and pTAR one by one.

python -m benchmarks.ablation --folder runs/ablation [--nodes 20] [--seeds 3] [--epochs 20]

Every variant is the paper's network and recipe (REINFORCE, 50 routes an instance) with some parts
switched off, trained on the same instances for the same number of steps. The paper trains on
10,000 instances an epoch for 800 epochs; the reduced scale is printed above the table. A run that
was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean, stdev

import torch
from benchmarks.common import machine, table, trained

import decost

VARIANTS = {
    "baseline": {"spatial_encoding": False, "stay_optimisation": False, "ptar": False},
    "+ SE": {"stay_optimisation": False, "ptar": False},
    "+ SE + STO": {"ptar": False},
    "+ SE + STO + pTAR": {},
}


def main() -> None:
    """Train every variant with every seed, and print mean gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--window", type=float, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=2560)
    parser.add_argument("--count", type=int, default=500, help="test instances")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    print(
        f"n={given.nodes}, TW={given.window:g}: {given.epochs} epochs of {given.episodes}"
        f" instances, {given.seeds} seeds; gap in percent to the optimum of {given.count} other"
        " instances, mean and standard deviation over the seeds\n"
    )
    instances = decost.generate(
        "paper", nodes=given.nodes, window=given.window, count=given.count, seed=2025
    )
    best = [result.profit for result in decost.solve_many(instances, "exact")]
    rows = []
    for variant, switches in VARIANTS.items():
        greedy, turned = [], []
        for seed in range(given.seeds):
            name = variant.replace(" ", "").replace("+", "-").strip("-")
            weights = trained(
                given.folder / f"{name}-{seed}",
                nodes=str(given.nodes),
                window=str(given.window),
                epochs=given.epochs,
                episodes=given.episodes,
                seed=seed,
                threads=given.threads,
                **switches,
            )
            torch.set_num_threads(1)
            for symmetries, gaps in ((False, greedy), (True, turned)):
                results = decost.solve_many(
                    instances,
                    "decost",
                    weights=str(weights),
                    symmetries=symmetries,
                    stay_optimisation=switches.get("stay_optimisation", True),
                )
                gaps.append(
                    100 * fmean(1 - r.profit / p for r, p in zip(results, best, strict=True) if p)
                )
            print(f"{variant}, seed {seed}: {greedy[-1]:.2f}, {turned[-1]:.2f}", flush=True)
        rows.append((variant, _spread(greedy), _spread(turned)))
    print()
    print(table(("variant", "greedy", "best of 8 symmetries"), rows))


def _spread(values: list[float]) -> str:
    return f"{fmean(values):.2f} ± {stdev(values) if len(values) > 1 else 0.0:.2f}"


if __name__ == "__main__":
    main()
