"""Stage two behind other methods: their own stays, and optimal stays on the same routes.

    python -m benchmarks.plug [--count 100] [--rounds 100] [--out table.csv] [METHOD ...]

Each method plans as it does without stage two, with stays that it chooses while it goes. Then its
routes are given to `optimal_stays` as they are. Beside that, the method is run with optimal stays
inside its search, where it can. Gaps are to the proven optimum, on the first instances of the
paper's family with seed 2025 (n=50, TW=100: the published ones). `ils` runs for so many rounds,
and all of it is reproducible.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from benchmarks.common import machine, output, paper_set, table, write_csv

import decost

SETTINGS = ((50, 100), (50, 500))


def main() -> None:
    """Measure every method on both settings, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", help="some of greedy, ils, gfacs, pomo; all")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100, help="iterations of ils")
    parser.add_argument("--out", type=output)
    given = parser.parse_intermixed_args()
    rounds = {"iterations": given.rounds, "time_limit": np.inf}
    # With which options a method has stays of its own, and with which optimal ones.
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "greedy": ({"stays": "greedy"}, {"stays": "optimal"}),
        "ils": ({"stays": "greedy"} | rounds, {"stays": "optimal"} | rounds),
        "gfacs": ({"stays": "greedy"}, {"stays": "optimal"}),
        "pomo": ({"stay_optimisation": False}, {"stay_optimisation": True}),
    }
    known = {method.name for method in decost.list_methods()}
    chosen = [name for name in given.methods or ways if name in known]
    if not ways.keys() >= set(given.methods):
        parser.error(f"choose from: {', '.join(ways)}")
    print(machine(), flush=True)
    heading = (
        "setting",
        "instances",
        "method",
        "own stays",
        "same routes, optimal stays",
        "optimal inside",
    )
    rows = []
    for nodes, window in SETTINGS:
        instances = paper_set(nodes, window, given.count)
        proofs = decost.solve_many(instances, "exact")
        assert all(proof.status == "optimal" for proof in proofs)
        best = np.array([proof.profit for proof in proofs])
        for name in chosen:
            own, inside = (decost.solve_many(instances, name, **options) for options in ways[name])
            assert not any(decost.check(r.instance, r.solution) for r in (*own, *inside))
            mended = [best_profit(result) for result in own]
            plain = np.array([result.profit for result in own])
            assert (np.array(mended) >= plain * (1 - 1e-9)).all()
            profits = (plain, mended, [result.profit for result in inside])
            gaps = [1 - np.divide(some, best) for some in profits]
            assert min(some.min() for some in gaps) > -decost.TOLERANCE
            means = [f"{100 * max(0.0, some.mean()):.2f}%" for some in gaps]
            rows.append((f"n={nodes}, TW={window}", len(instances), name, *means))
            print(*rows[-1], flush=True)
    print(f"\nils with {given.rounds} rounds\n")
    print(table(heading, rows))
    if given.out:
        write_csv(given.out, heading, rows)


def best_profit(result: decost.Result) -> float:
    """Profit of a plan's routes with optimal stays."""
    stays = decost.optimal_stays(result.instance, [route.stops for route in result.solution.routes])
    return float(stays.profit.sum())


if __name__ == "__main__":
    main()
