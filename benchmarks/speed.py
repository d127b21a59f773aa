"""Speed of `exact` on the paper's settings, beside HiGHS on the same instances.

    python -m benchmarks.speed [--count 100] [--milp 5] [--milp-limit 60]

One thread, compiled, mean over the instances, after preparation. HiGHS solves the first few of
each set, up to its time limit; a "more than" says that it struck. Then the two threads of
`solve_many` against one.
"""

from __future__ import annotations

import argparse

from benchmarks.common import machine, table, timed

import decost

SETTINGS = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--milp", type=int, default=5)
    parser.add_argument("--milp-limit", type=float, default=60.0)
    given = parser.parse_args()
    print(machine())
    decost.prepare("exact")
    decost.prepare("milp")
    rows = []
    sets = {}
    for nodes, window in SETTINGS:
        instances = decost.generate(
            "paper", nodes=nodes, window=window, count=given.count, seed=2025
        )
        sets[nodes, window] = instances
        for instance in instances:
            _ = instance.arrays
        decost.solve(instances[0], "exact")
        mean = timed(lambda some=instances: [decost.solve(one, "exact") for one in some])
        mean /= len(instances)
        results = [decost.solve(one, "exact") for one in instances]
        assert all(result.status == "optimal" for result in results)
        spent, struck = 0.0, False
        for instance, result in list(zip(instances, results, strict=True))[: given.milp]:
            judge = decost.solve(instance, "milp", time_limit=given.milp_limit)
            spent += judge.runtime
            struck |= judge.status != "optimal"
            assert judge.profit <= result.profit * (1 + 1e-6)
            assert judge.status != "optimal" or abs(judge.profit / result.profit - 1) < 1e-6
        spent /= max(1, given.milp)
        more = "more than " if struck else ""
        rows.append(
            (
                f"n={nodes}, TW={window}",
                f"{1000 * mean:.3f}",
                f"{sum(r.details['labels'] for r in results) / len(results):.0f}",
                f"{more}{1000 * spent:.0f}",
                f"{more}{spent / mean:,.0f}",
            )
        )
        print(rows[-1], flush=True)
    print(table(("setting", "exact (ms)", "labels", "HiGHS (ms)", "ratio"), rows))
    rows = []
    for (nodes, window), instances in sets.items():
        many = instances * (1 + 2000 // (len(instances) * (nodes // 50)))
        one = min(timed(lambda m=many: decost.solve_many(m, "exact", threads=1)) for _ in range(3))
        two = min(timed(lambda m=many: decost.solve_many(m, "exact", threads=2)) for _ in range(3))
        rows.append(
            (f"n={nodes}, TW={window}", len(many), f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}")
        )
    print(table(("setting", "instances", "1 thread (s)", "2 threads (s)", "ratio"), rows))


if __name__ == "__main__":
    main()
