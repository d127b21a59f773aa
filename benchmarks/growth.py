"""Time of `exact` against the number of nodes, as a table and a picture.

python -m benchmarks.growth --out growth.png [--count 5] [--time-limit 20]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from benchmarks.common import machine, table
from matplotlib.figure import Figure

import decost
from decost.plotting import save_figure

SETS = (
    ("paper", 100, (50, 100, 200, 500, 1000, 2000)),
    ("paper", 500, (50, 100, 200, 500, 1000, 2000)),
    ("mixed", 100, (10, 20, 50, 100, 200)),
)


def main() -> None:
    """Solve sets of growing size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=20.0)
    given = parser.parse_args()
    print(machine())
    decost.prepare("exact")
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    rows = []
    for family, window, sizes in SETS:
        name = f"{family}, TW={window}" if family == "paper" else family
        times = []
        for nodes in sizes:
            instances = decost.generate(
                family, nodes=nodes, window=window, count=given.count, seed=7
            )
            results = [
                decost.solve(instance, "exact", time_limit=given.time_limit)
                for instance in instances
            ]
            proven = sum(result.status == "optimal" for result in results)
            gap = max(100 * (result.gap or 0) for result in results)
            times.append(median(result.runtime for result in results))
            rows.append(
                (
                    name,
                    nodes,
                    f"{1000 * times[-1]:.2f}",
                    f"{proven} of {given.count}",
                    f"{gap:.2f}%",
                )
            )
            print(*rows[-1], flush=True)
        axes.loglog(sizes, times, marker="o", label=name)
    axes.set(xlabel="nodes", ylabel="seconds (median)", title="exact: time against size")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend()
    save_figure(figure, given.out)
    print(table(("family", "nodes", "median (ms)", "proven", "largest gap"), rows))


if __name__ == "__main__":
    main()
