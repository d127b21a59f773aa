"""Optimal stays against HiGHS's linear program and the paper's Algorithm 1.

Random routes of both families (windows, minimum stays, deadlines for leaving, concave pieces)
are solved three ways in one run: by HiGHS, by `decost.optimal_stays`, and by the paper's
Algorithm 1 in compiled code (on one linear piece, where it applies).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

import decost
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.schema import Bench, Config, Folders, Key, Record, Row, Tables, Task
from decost.bench.tables import timed

BATCH = 100
"""Routes in a call of `optimal_stays`."""

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)


class StaysConfig(Config):
    """How many routes are compared with HiGHS."""

    routes: int


class ProgramsRow(Record):
    """A row of the comparison with HiGHS, in seconds for all routes."""

    routes: int
    stops: float
    difference: float
    highs: float
    ours: float


class KernelsRow(Record):
    """A row of the comparison with Algorithm 1, in seconds for a route."""

    algorithm_one: float
    ours: float


def list_tasks(config: StaysConfig, folders: Folders) -> list[Task]:
    """List the comparison with HiGHS, and those with Algorithm 1 by the length of the route."""
    ours = Contender.of("optimal_stays")
    programs = Key("HiGHS", 0, ours)
    tasks = [Task((programs,), partial(_against_highs, config.routes), ProgramsRow)]
    for size in SIZES:
        key = Key("Algorithm 1", size, ours)
        tasks.append(Task((key,), partial(_against_algorithm_one, size), KernelsRow))
    return tasks


def summarise(config: StaysConfig, rows: Sequence[Row]) -> Tables:
    """Make a table of each comparison."""
    first, *others = rows
    routes = first["routes"]
    programs = {
        "routes": str(routes),
        "mean stops": f"{first['stops']:.1f}",
        "routes a call": str(BATCH),
        "largest relative difference": f"{first['difference']:.1e}",
        "HiGHS (us a route)": f"{1e6 * first['highs'] / routes:.1f}",
        "optimal_stays (us a route)": f"{1e6 * first['ours'] / routes:.2f}",
        "ratio": f"{first['highs'] / first['ours']:.0f}",
    }
    kernels = [
        {
            "stops": str(row["instance"]),
            "Algorithm 1 (us)": f"{1e6 * row['algorithm_one']:.2f}",
            "ours (us)": f"{1e6 * row['ours']:.2f}",
            "ratio": f"{row['algorithm_one'] / row['ours']:.1f}",
        }
        for row in others
    ]
    return {"": [programs], "kernels": kernels}


def program(instance: decost.Instance, route: list[int]) -> float:
    """Most profit of a feasible route by HiGHS."""
    from highspy import Highs, HighsLp, HighsModelStatus, MatrixFormat, kHighsInf

    solver = Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    infinity = kHighsInf
    model = HighsLp()
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
    model.a_matrix_.format_ = MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = starts, index, value
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == HighsModelStatus.kOptimal
    return float(instance.reward[route].sum()) - solver.getInfo().objective_function_value


def random_route(instance: decost.Instance, random: np.random.Generator) -> list[int]:
    """Go to random stops as long as there is one that can be served at its shortest stay."""
    route: list[int] = []
    order = list(1 + random.permutation(instance.stops))
    while order:
        stop = int(order.pop())
        if decost.optimal_stays(instance, [[*route, stop]]).feasible:
            route.append(stop)
    return route


def _against_highs(count: int) -> list[Row]:
    """Compare profits and times with the linear program."""
    random = np.random.default_rng(0)
    cases: list[tuple[decost.Instance, list[list[int]]]] = []
    for family in ("paper", "mixed"):
        for instance in decost.generate(
            family, nodes=25, window=300, count=max(1, count // (2 * BATCH)), seed=1
        ):
            routes = [random_route(instance, random) for _ in range(BATCH)]
            cases.append((instance, [route for route in routes if route]))
    sizes = [len(route) for _, batch in cases for route in batch]
    programs: list[float] = []
    ours: list[float] = []
    highs = timed(lambda: programs.extend(program(i, r) for i, batch in cases for r in batch))
    own = timed(lambda: ours.extend(p for i, b in cases for p in decost.optimal_stays(i, b).profit))
    difference = np.abs(np.array(ours) - programs) / np.maximum(1e-9, np.abs(programs))
    found = {"stops": float(np.mean(sizes)), "difference": float(difference.max())}
    return [{"routes": len(sizes), **found, "highs": highs, "ours": own}]


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


@cache
def _compiled() -> Callable[..., float]:
    """Compile what applies Algorithm 1 many times."""
    import numba

    rule = numba.njit(algorithm_one)

    @numba.njit
    def repeat(given, route, stays, count):  # type: ignore
        profit = 0.0
        for _ in range(count):
            profit = rule(*given, route, stays)
        return profit

    compiled: Callable[..., float] = repeat
    return compiled


def _against_algorithm_one(size: int) -> list[Row]:
    """Compare times with the paper's rule, kernel against kernel, for one route."""
    from decost.timeline.stays import stays_of_routes

    random = np.random.default_rng(size)
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
    scratch, repeat = np.empty(size), _compiled()

    kinds = np.zeros(count, dtype=np.int64)

    def own() -> None:
        stays[:] = 0
        stays_of_routes(instance.arrays, flat, start, kinds, stays, profit, broken)

    found = repeat(rule, route, scratch, 1)
    own()
    if abs(found - profit[0]) > 1e-9 * max(1.0, found):
        raise BenchError(f"{size} stops: Algorithm 1 earns {found}, optimal_stays {profit[0]}")
    slow = min(timed(lambda: repeat(rule, route, scratch, count)) for _ in range(5))
    fast = min(timed(own) for _ in range(5))
    return [{"algorithm_one": slow / count, "ours": fast / count}]


BENCH = Bench.load("stays", __doc__, StaysConfig, list_tasks, summarise)
