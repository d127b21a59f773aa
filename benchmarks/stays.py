"""Optimal stays: equal to HiGHS's linear program, and how much faster.

    python -m benchmarks.stays [--routes 20000] [--out programs.csv] [--kernels kernels.csv]

Random routes of both families (windows, minimum stays, deadlines for leaving, concave pieces)
are solved three ways in one run: by HiGHS, by `decost.optimal_stays`, and by the paper's
Algorithm 1 in compiled code (on one linear piece, where it applies). `--out` is for the
comparison with HiGHS, `--kernels` for the one with Algorithm 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import highspy
import numba
import numpy as np
from benchmarks.common import machine, output, table, timed, write_csv

import decost
from decost.kernels.stays import stays_of_routes

BATCH = 100
"""Routes in a call of `optimal_stays`."""


def program(instance: decost.Instance, route: list[int]) -> float:
    """Most profit of a feasible route by HiGHS."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    infinity = highspy.kHighsInf
    model = highspy.HighsLp()
    cost: list[float] = []
    lower: list[float] = []
    upper: list[float] = []
    starts, index, value, limit = [0], [], [], []
    before: list[int] = []
    spent, place = 0.0, 0

    def row(columns: list[int], signs: list[float], most: float) -> None:
        index.extend(columns)
        value.extend(signs)
        starts.append(len(index))
        limit.append(most)

    for stop in [*route, instance.end]:
        last = stop == instance.end and len(before) > 0 and place == route[-1]
        start = len(cost)
        cost.append(0.0)
        lower.append(0.0 if last else float(instance.open[stop]))
        upper.append(instance.budget if last else min(float(instance.close[stop]), infinity))
        columns = [*before, start]
        row(columns, [1.0] * len(before) + [-1.0], -spent - float(instance.travel[place, stop]))
        if last:
            break
        before, spent, place = [start], float(instance.min_stay[stop]), stop
        for rate, length in instance.pieces[stop]:
            before.append(len(cost))
            cost.append(-rate)
            lower.append(0.0)
            upper.append(length)
        if instance.leave_by[stop] < np.inf:
            row(before, [1.0] * len(before), float(instance.leave_by[stop]) - spent)
    model.num_col_, model.num_row_ = len(cost), len(limit)
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, lower, upper
    model.row_lower_, model.row_upper_ = [-infinity] * len(limit), limit
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = starts, index, value
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(instance.reward[route].sum()) - solver.getInfo().objective_function_value


@numba.njit
def algorithm_one(travel, opens, closes, rates, longest, budget, route, stays):  # type: ignore
    """Set stays by the paper's Algorithm 1: best rate first, later starts moved after each."""
    size = len(route)
    starts = np.empty(size)
    time, place = 0.0, 0
    for k in range(size):
        time = max(time + travel[place, route[k]], opens[route[k]])
        starts[k], place = time, route[k]
        stays[k] = 0.0
    for i in np.argsort(-rates[route]):
        best, way = longest[route[i]], 0.0
        for k in range(i + 1, size):
            way += travel[route[k - 1], route[k]]
            best = min(best, closes[route[k]] - starts[i] - way)
            way += stays[k]
        way += travel[route[size - 1], 0]
        stays[i] = max(0.0, min(best, budget - starts[i] - way))
        for k in range(i + 1, size):
            leave = starts[k - 1] + stays[k - 1] + travel[route[k - 1], route[k]]
            starts[k] = max(leave, opens[route[k]])
    profit = 0.0
    for k in range(size):
        profit += rates[route[k]] * stays[k]
    return profit


def random_route(instance: decost.Instance, random: np.random.Generator) -> list[int]:
    """Go to random stops as long as there is one that can be served at its shortest stay."""
    route: list[int] = []
    order = list(1 + random.permutation(instance.stops))
    while order:
        stop = int(order.pop())
        if decost.optimal_stays(instance, [[*route, stop]]).feasible:
            route.append(stop)
    return route


def same_profit(count: int, out: Path | None) -> None:
    """Compare profits and times with the linear program."""
    random = np.random.default_rng(0)
    cases: list[tuple[decost.Instance, list[list[int]]]] = []
    for family in ("paper", "mixed"):
        for instance in decost.generate(
            family, nodes=25, window=300, count=max(1, count // (2 * BATCH)), seed=1
        ):
            routes = [random_route(instance, random) for _ in range(BATCH)]
            cases.append((instance, [route for route in routes if route]))
    routes = sum(len(batch) for _, batch in cases)
    programs: list[float] = []
    ours: list[float] = []
    lp = timed(lambda: programs.extend(program(i, r) for i, batch in cases for r in batch))
    own = timed(lambda: [ours.extend(decost.optimal_stays(i, b).profit) for i, b in cases])
    difference = np.abs(np.array(ours) - programs) / np.maximum(1e-9, np.abs(programs))
    mean = np.mean([len(route) for _, batch in cases for route in batch])
    heading = (
        "routes",
        "mean stops",
        "routes a call",
        "largest relative difference",
        "HiGHS (us a route)",
        "optimal_stays (us a route)",
        "ratio",
    )
    row = (
        routes,
        f"{mean:.1f}",
        BATCH,
        f"{difference.max():.1e}",
        f"{1e6 * lp / routes:.1f}",
        f"{1e6 * own / routes:.2f}",
        f"{lp / own:.0f}",
    )
    print(table(heading, [row]), end="\n\n")
    if out:
        write_csv(out, heading, [row])


@numba.njit
def repeat(given, route, stays, count):  # type: ignore
    """Apply Algorithm 1 many times."""
    profit = 0.0
    for _ in range(count):
        profit = algorithm_one(*given, route, stays)
    return profit


def compare(size: int, random: np.random.Generator) -> tuple[float, float]:
    """Seconds that Algorithm 1 and our kernel take for one route of so many stops."""
    windows = np.sort(random.random(size + 1)) * size
    instance = decost.Instance(
        budget=2 * size,
        xy=random.random((size + 1, 2)) / 2,
        open=windows - 0.5,
        close=windows + 3,
        rate=random.random(size + 1),
        max_stay=np.full(size + 1, 1.0),
    )
    count = 20_000 // size
    route = np.arange(1, size + 1)
    flat = np.tile(route, count)
    start = np.arange(count + 1) * size
    stays, profit = np.zeros(len(flat)), np.empty(count)
    broken = np.empty(count, dtype=np.int64)
    rates = np.zeros(instance.nodes)
    rates[1:] = instance.piece_rate
    close = np.minimum(instance.close, instance.budget)
    rule = (instance.travel, instance.open, close, rates, instance.max_stay, instance.budget)
    scratch = np.empty(size)

    def own() -> None:
        stays[:] = 0
        stays_of_routes(instance.arrays, flat, start, stays, profit, broken)

    found = repeat(rule, route, scratch, 1)
    own()
    assert abs(found - profit[0]) < 1e-9 * max(1.0, found)
    slow = min(timed(lambda: repeat(rule, route, scratch, count)) for _ in range(5))
    fast = min(timed(own) for _ in range(5))
    return slow / count, fast / count


def against_algorithm_one(out: Path | None) -> None:
    """Compare times with the paper's rule, kernel against kernel, by the length of the route."""
    random = np.random.default_rng(0)
    rows = []
    for size in (2, 4, 8, 16, 32, 64, 128, 256):
        slow, fast = compare(size, random)
        rows.append((size, f"{1e6 * slow:.2f}", f"{1e6 * fast:.2f}", f"{slow / fast:.1f}"))
    heading = ("stops", "Algorithm 1 (us)", "ours (us)", "ratio")
    print(table(heading, rows))
    if out:
        write_csv(out, heading, rows)


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routes", type=int, default=20_000)
    parser.add_argument("--out", type=output)
    parser.add_argument("--kernels", type=output)
    given = parser.parse_args()
    print(machine())
    decost.prepare("exact")
    same_profit(given.routes, given.out)
    against_algorithm_one(given.kernels)


if __name__ == "__main__":
    main()
