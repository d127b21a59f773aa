"""Tests of optimal stays: equal to a linear program, to the paper's algorithm, and to sums by hand.

All of them are small enough to run without compilation (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from itertools import pairwise

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decost import (
    Instance,
    Route,
    Solution,
    Visit,
    check,
    generate,
    make_solution,
    optimal_stays,
    profit_of,
)
from decost.timeline.routes import keeps_deadlines, start_of_service
from seeds import MORE
from strategies import Planned, planned


def solve_program(instance: Instance, route: Sequence[int]) -> float | None:
    """Most profit of a route by HiGHS, None if the route is not feasible.

    One variable a start, one a piece; every rule of the problem is a row or a bound.
    """
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    infinity = highspy.kHighsInf

    def row(limit: float, terms: dict[int, float]) -> None:
        columns = np.array(list(terms), dtype=np.int32)
        program.addRow(-infinity, limit, len(terms), columns, np.array(list(terms.values())))

    place = 0
    before: dict[int, float] = {}  # the time at which the last place is left, but for a constant
    spent = 0.0
    for stop in route:
        start = program.getNumCol()
        close = min(instance.close[stop], infinity)
        program.addCol(0.0, instance.open[stop], close, 0, [], [])
        row(-spent - instance.travel[place, stop], before | {start: -1.0})
        before, spent = {start: 1.0}, float(instance.min_stay[stop])
        for rate, length in instance.pieces[stop]:
            before[program.getNumCol()] = 1.0
            program.addCol(-rate, 0.0, length, 0, [], [])
        if instance.leave_by[stop] < np.inf:
            row(instance.leave_by[stop] - spent, before)
        place = stop
    row(instance.budget - spent - instance.travel[place, instance.end], before)
    program.run()
    if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(instance.reward[list(route)].sum()) - program.getInfo().objective_function_value


def first_broken(instance: Instance, route: Sequence[int]) -> int:
    """Where the route breaks a deadline if every stay is as short as it may be, else -1."""
    clock, place = 0.0, 0
    for position, stop in enumerate(route):
        clock = max(clock + instance.travel[place, stop], instance.open[stop])
        if clock > instance.close[stop]:
            return position
        clock += instance.min_stay[stop]
        if clock > instance.leave_by[stop]:
            return position
        place = stop
    return len(route) if clock + instance.travel[place, instance.end] > instance.budget else -1


def run_algorithm_1(instance: Instance, route: Sequence[int]) -> float:
    """Work out the profit of a feasible route by the paper's Algorithm 1, line by line."""
    nodes = [0, *route, 0]
    travel = [0.0, *(instance.travel[a, b] for a, b in pairwise(nodes))]
    opens = [0.0, *instance.open[list(route)], 0.0]
    closes = [0.0, *instance.close[list(route)], instance.budget]
    rates = [0.0, *(instance.pieces[stop][0, 0] for stop in route), 0.0]
    longest = [0.0, *instance.max_stay[list(route)], 0.0]
    stays = [0.0] * len(nodes)
    starts = [0.0] * len(nodes)
    for i in range(len(nodes) - 1):
        starts[i + 1] = max(starts[i] + travel[i + 1], opens[i + 1])
    for i in sorted(range(1, len(nodes) - 1), key=lambda i: -rates[i]):
        stays[i] = min(
            longest[i],
            *(
                closes[i + k + 1]
                - starts[i]
                - sum(stays[i + 1 : i + k + 1])
                - sum(travel[i + 1 : i + k + 2])
                for k in range(len(nodes) - i - 1)
            ),
        )
        for j in range(i + 1, len(nodes)):
            starts[j] = max(starts[j - 1] + stays[j - 1] + travel[j], opens[j])
    return float(np.dot(rates, stays))


def agree(instance: Instance, route: Sequence[int]) -> bool:
    """Compare with the linear program and the checker; say whether the route is feasible."""
    answer = optimal_stays(instance, [route])
    best = solve_program(instance, route)
    assert answer.broken[0] == first_broken(instance, route)
    assert answer.feasible == (best is not None)
    if best is None:
        assert answer.profit[0] == -np.inf
        return False
    assert answer.profit[0] == pytest.approx(best, rel=1e-7, abs=1e-7)
    plan = make_solution(instance, [route], answer.stays)
    assert check(instance, plan) == []
    assert profit_of(instance, plan) == pytest.approx(answer.profit[0], rel=1e-9)
    return True


def random_routes(instance: Instance, count: int, random: np.random.Generator) -> list[list[int]]:
    """Draw stops and visit them in the order of their windows, now and then with two swapped."""
    routes = []
    for _ in range(count):
        size = int(random.integers(1, min(7, instance.stops) + 1))
        route = random.choice(np.arange(1, instance.nodes), size, replace=False)
        route = route[np.argsort(instance.open[route])]
        if size > 1 and random.random() < 0.3:
            at = int(random.integers(size - 1))
            route[[at, at + 1]] = route[[at + 1, at]]
        routes.append(route.tolist())
    return routes


@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_equals_the_linear_program(family: str) -> None:
    """On routes of both families, feasible ones and others."""
    random = np.random.default_rng(7)
    feasible = [
        agree(instance, route)
        for instance in generate(family, nodes=12, window=300, count=40, seed=3, budget=8)
        for route in random_routes(instance, 5, random)
    ]
    assert 30 < sum(feasible) < 170


@given(planned(6))
def test_equals_the_linear_program_around_a_plan(plan: Planned) -> None:
    """On feasible routes with minimum stays, leave_by, rewards and two pieces a stop."""
    assert agree(plan.instance, plan.solution.routes[0].stops)
    best = optimal_stays(plan.instance, [plan.solution.routes[0].stops]).profit[0]
    assert best >= plan.solution.profit - 1e-9


@given(planned(5), st.data())
@settings(max_examples=20 * MORE)
def test_reports_where_a_route_breaks(plan: Planned, data: st.DataObject) -> None:
    """In another order most routes break; the first stop to be late is named, or the depot."""
    route = data.draw(st.permutations(plan.solution.routes[0].stops))
    share = data.draw(st.sampled_from([1.0, 0.75, 0.5]))
    agree(plan.instance.replace(budget=share * plan.instance.budget), route)


def test_equals_the_papers_algorithm() -> None:
    """On the paper's own instances, Algorithm 1 as printed gives the same profit."""
    random = np.random.default_rng(1)
    compared = 0
    for instance in generate("paper", nodes=15, window=400, count=40, seed=5, budget=6):
        for route in random_routes(instance, 5, random):
            answer = optimal_stays(instance, [route])
            if answer.feasible:
                compared += 1
                expected = run_algorithm_1(instance, route)
                assert answer.profit[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert compared > 50


def test_long_route() -> None:
    """On a route of 60 stops with three pieces each."""
    random = np.random.default_rng(4)
    nodes = 61
    opens = np.cumsum(random.uniform(0, 2, nodes))
    instance = Instance(
        budget=float(opens[-1]) + 5,
        travel=random.uniform(0, 1.2, (nodes, nodes)) * 0.8,
        open=opens,
        close=opens + random.uniform(5, 20, nodes),
        leave_by=opens + random.uniform(8, 40, nodes),
        min_stay=random.uniform(0, 0.2, nodes),
        pieces=[
            np.column_stack((np.sort(random.uniform(0, 9, 3))[::-1], random.uniform(0, 1, 3)))
            for _ in range(nodes)
        ],
    )
    assert agree(instance, range(1, nodes))


def on_a_line(**changes: object) -> Instance:
    """Put stops 1, 2 and 3 at a distance of 1 from each other; the way back takes no time."""
    travel = np.ones((4, 4))
    travel[:, 0] = 0.0
    given = {"budget": 10, "travel": travel, "rate": [0, 3, 1, 2], "max_stay": [0, 4, 9, 9]}
    return Instance(**(given | changes))  # type: ignore[arg-type]


def test_best_rate_first() -> None:
    """3 units of travel leave 7 to stay: 4 at rate 3, the other 3 at rate 2, none at rate 1."""
    answer = optimal_stays(on_a_line(), [[1, 2, 3]])
    assert answer.stays[0].tolist() == [4, 0, 3]
    assert answer.profit.tolist() == [18]
    assert answer.broken.tolist() == [-1]
    with pytest.raises(FrozenInstanceError):
        answer.profit = answer.profit  # type: ignore[misc]


def test_waiting_is_used_to_stay() -> None:
    """Stop 3 opens at 8: 4 + 1 of the 5 units before it can be spent at 1 and 2, and 2 at 3."""
    answer = optimal_stays(on_a_line(open=[0, 0, 0, 8]), [[1, 2, 3]])
    assert answer.stays[0].tolist() == [4, 1, 2]
    assert answer.profit.tolist() == [12 + 1 + 4]


def test_window_further_on_limits_the_stay() -> None:
    """Stop 2 closes at 3, so 1 unit can be spent at stop 1, and the rest at 3."""
    answer = optimal_stays(on_a_line(close=[0, 9, 3, 9]), [[1, 2, 3]])
    assert answer.stays[0].tolist() == [1, 0, 6]
    assert answer.profit.tolist() == [3 + 12]


def test_leave_by_limits_the_stay_and_the_start() -> None:
    """Stop 1 must be left at 3; stop 3 with a minimum of 2 at 6, so it starts at 4."""
    instance = on_a_line(leave_by=[0, 3, np.inf, 6], min_stay=[0, 0, 0, 2])
    answer = optimal_stays(instance, [[1, 2, 3]])
    assert answer.stays[0].tolist() == [1, 0, 2]
    assert answer.profit.tolist() == [3]
    instance = on_a_line(leave_by=[0, 3, np.inf, 6], min_stay=[0, 0, 0, 1], reward=[0, 5, 0, 1])
    answer = optimal_stays(instance, [[1, 2, 3]])
    assert answer.stays[0].tolist() == [2, 0, 1]
    assert answer.profit.tolist() == [5 + 6 + 1]


def test_pieces_of_one_stop_are_used_in_turn() -> None:
    """3 + 1 + 3 units: the first piece of 1, all of 2, and of 1 again what is left."""
    pieces = [[], [[5, 3], [1, 9]], [[2, 1]], []]
    answer = optimal_stays(on_a_line(rate=None, max_stay=None, pieces=pieces), [[1, 2, 3]])
    assert answer.stays[0].tolist() == [6, 1, 0]
    assert answer.profit.tolist() == [15 + 2 + 3]


def test_where_a_route_breaks() -> None:
    """The position of the first stop that is late, the number of stops if only home is."""
    routes = [[1, 2, 3], [3, 2, 1], [2, 1, 3], [1], []]
    late = optimal_stays(on_a_line(close=[0, 9, 9, 2]), routes)
    assert late.broken.tolist() == [2, -1, 2, -1, -1]
    assert not late.feasible
    assert np.isneginf(late.profit[[0, 2]]).all()
    forbidden = optimal_stays(on_a_line(leave_by=[0, 9, 1.5, 9]), routes)
    assert forbidden.broken.tolist() == [1, 1, -1, -1, -1]
    far = optimal_stays(on_a_line(budget=2.5), routes)
    assert far.broken.tolist() == [3, 3, 3, -1, -1]


def test_separate_end() -> None:
    """The way home is the way to the end depot; an empty route does not take it."""
    travel = [[0, 1, 50], [9, 0, 2], [9, 9, 0]]
    instance = Instance(budget=5, travel=travel, separate_end=True, rate=[0, 2], max_stay=[0, 9])
    answer = optimal_stays(instance, [[1], []])
    assert [stays.tolist() for stays in answer.stays] == [[2], []]
    assert answer.profit.tolist() == [4, 0]


def test_endless_stays() -> None:
    """A longest stay far beyond the budget does not drown the others."""
    answer = optimal_stays(on_a_line(max_stay=[0, 4, 1e300, 1e300]), [[1, 2, 3]])
    assert answer.stays[0].tolist() == [4, 0, 3]


def test_nothing_takes_time() -> None:
    """With a budget of 0 and no travel, rewards are collected and stays are 0."""
    instance = Instance(
        budget=0, travel=np.zeros((3, 3)), reward=[0, 2, 3], rate=[0, 9, 9], max_stay=[0, 9, 9]
    )
    answer = optimal_stays(instance, [[1, 2]])
    assert answer.stays[0].tolist() == [0, 0]
    assert answer.profit.tolist() == [5]


def test_batch_equals_one_by_one() -> None:
    """Routes of a batch know nothing of each other."""
    (instance,) = generate("mixed", nodes=20, seed=2)
    routes = random_routes(instance, 30, np.random.default_rng(0))
    batch = optimal_stays(instance, routes)
    for number, route in enumerate(routes):
        alone = optimal_stays(instance, [route])
        assert batch.profit[number] == alone.profit[0]
        assert batch.broken[number] == alone.broken[0]
        if alone.feasible:
            assert batch.stays[number].tolist() == alone.stays[0].tolist()


def test_no_route() -> None:
    """An empty batch has an empty answer."""
    answer = optimal_stays(on_a_line(), [])
    assert (answer.stays, answer.feasible) == ((), True)
    assert len(answer.profit) == len(answer.broken) == 0


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ([[1], [0]], r"routes\[1\]: there is no stop 0"),
        ([[4]], r"routes\[0\]: there is no stop 4"),
        ([[-1]], r"routes\[0\]: there is no stop -1"),
        ([[1.5]], "routes: stops are whole numbers, not float64"),
        ([[1, 2, 1]], r"routes\[0\]: stop 1 is visited twice"),
    ],
)
def test_wrong_routes(routes: list[list[int]], message: str) -> None:
    """A stop that does not exist, or comes twice, is refused before anything is computed."""
    with pytest.raises(ValueError, match=message):
        optimal_stays(on_a_line(), routes)


@pytest.mark.parametrize("arrive", [0.0, 2.0, 5.0, 7.0, 7.00001, 7.0001, 8.0, 9.0])
@pytest.mark.parametrize("leave_by", [8.0, 8.5, 20.0])
def test_service_of_who_arrives(arrive: float, leave_by: float) -> None:
    """Service begins when the stop is open, and keeps its deadlines if the checker says so."""
    xy = [[0, 0], [0, 0]]
    stop = {"open": [0, 3], "close": [0, 8], "leave_by": [0, leave_by], "min_stay": [0, 1.0]}
    instance = Instance(budget=20, xy=xy, max_stay=[0, 1.0], **stop)
    start = start_of_service(instance, 1, arrive)
    assert start == (3.0 if arrive < 3 else arrive)
    visit = Visit(1, arrive, start, 1.0, start + 1, 0.0)
    broken = check(instance, Solution((Route((visit,), start + 1, arrive),)))
    assert keeps_deadlines(instance, 1, start) == (not broken)
