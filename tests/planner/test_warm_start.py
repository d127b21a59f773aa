"""Tests of what every improving method takes: a plan to start from, news, and a time limit."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import decost
from clock import within
from decost import (
    ImprovingOptions,
    Instance,
    MethodError,
    Progress,
    Result,
    Route,
    Solution,
    check,
    generate,
    make_solution,
    optimal_stays,
    profit_of,
)
from quick_options import quick

LATE = 0.3
"""Seconds by which a time limit may be missed."""


@pytest.fixture(params=[0.0, None], ids=["no time", "time"])
def limit(request: pytest.FixtureRequest) -> dict[str, Any]:
    """No time at all to improve the start, and some."""
    return {} if request.param is None else {"time_limit": request.param}


@pytest.fixture(params=[1, 2], ids=["alone", "team"])
def vehicles(request: pytest.FixtureRequest, improving: str) -> int:
    """One vehicle, and a team for the methods that plan for it."""
    if request.param > 1 and "teams" not in decost.get_method(improving).can:
        pytest.skip("plans for one vehicle")
    return int(request.param)


@cache
def small(vehicles: int) -> list[Result]:
    """Draw instances of both families, and find their best plans by the mathematical program."""
    size: dict[str, Any] = {"nodes": 9, "budget": 4, "vehicles": vehicles, "count": 2}
    instances = [*generate("paper", window=300, **size), *generate("mixed", **size)]
    results = [decost.solve(instance, "milp", time_limit=60) for instance in instances]
    assert all(result.status == "optimal" for result in results)
    return results


@cache
def hard(vehicles: int, family: str = "mixed") -> Instance:
    """Make an instance with 100 stops, which nobody proves in a second if it is mixed."""
    window = {"window": 500} if family == "paper" else {}
    (instance,) = generate(family, nodes=101, seed=3, vehicles=vehicles, **window)
    return instance


@cache
def good_plan() -> Solution:
    """Find a plan for a hard instance that takes some time to find."""
    return decost.solve(hard(1), "search", iterations=300).solution


def solve(instance: Instance, method: str, start: Solution, **options: Any) -> Result:
    """Solve from a start, and demand a plan that is no worse and as good as it claims."""
    result = decost.solve(instance, method, start=start, **(quick(method) | options))
    assert check(instance, result.solution) == []
    assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)
    assert result.profit >= start.profit
    assert result.bound is None or result.bound >= result.profit
    assert len(result.solution.routes) == instance.vehicles
    assert (result.method, result.instance) == (method, instance)
    return result


def test_best_start(improving: str, vehicles: int, limit: dict[str, Any]) -> None:
    """Of the best plan nothing is lost, and no more than the best is made of it."""
    for best in small(vehicles):
        result = solve(best.instance, improving, best.solution, **limit)
        assert result.profit <= best.profit * (1 + 1e-6)


def test_start_with_poor_stays(improving: str, vehicles: int, limit: dict[str, Any]) -> None:
    """Routes with the shortest stays are worth as much as with the best ones."""
    for best in small(vehicles):
        instance = best.instance
        routes = [route.stops for route in best.solution.routes]
        shortest = [instance.min_stay[list(route)] for route in routes]
        start = make_solution(instance, routes, shortest)
        assert start.profit < 0.9 * best.profit
        assert solve(instance, improving, start, **limit).profit >= best.profit * (1 - 1e-6)


def test_start_with_stays_within_tolerance(
    improving: str, vehicles: int, limit: dict[str, Any]
) -> None:
    """A plan that earns more than the best one, because it is home a little late, is kept.

    The only stop earns 2 for each of 8 units of time; 2e-6 of them the tolerance adds.
    """
    instance = Instance(
        budget=10, xy=[[0, 0], [1, 0]], rate=[0, 2], max_stay=[0, 9], vehicles=vehicles
    )
    start = make_solution(instance, [[1]], [[8 + 2e-6]])
    assert start.profit > 16
    assert solve(instance, improving, start, **limit).profit == pytest.approx(16, abs=1e-5)


def test_start_on_a_route_within_tolerance(
    improving: str, vehicles: int, limit: dict[str, Any]
) -> None:
    """A stop that closes a little before it is reached is visited only by the start."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [1, 0], [0, 1]],
        close=[0, 1 - 2e-6, 9],
        reward=[0, 7, 1],
        vehicles=vehicles,
    )
    start = make_solution(instance, [[1]], [[0.0]])
    assert check(instance, start) == []
    assert not optimal_stays(instance, [[1]]).feasible
    assert solve(instance, improving, start, **limit).profit >= 7
    alone = decost.solve(instance, improving, **quick(improving))
    assert alone.profit == 1


def test_start_leaves_vehicles_out(improving: str) -> None:
    """A start with fewer routes than vehicles is a plan too."""
    if "teams" not in decost.get_method(improving).can:
        pytest.skip("plans for one vehicle")
    for alone in small(1):
        team = alone.instance.replace(vehicles=3)
        assert solve(team, improving, alone.solution, time_limit=0).profit >= alone.profit
        assert solve(team, improving, Solution(())).profit > 0


def test_start_is_used(improving: str) -> None:
    """Without time for a search of its own, a method gives back a start that greedy misses."""
    instance = hard(1)
    assert decost.solve(instance, improving, time_limit=0).profit < good_plan().profit
    solve(instance, improving, good_plan(), time_limit=0)


NARROW = Instance(
    budget=20, xy=[[0, 0], [1, 0], [1, 0]], close=[0, 5, 20], rate=[0, 2, 1], max_stay=[0, 3, 30]
)
"""Two stops at one place, of which the first closes early."""


def broken_plan(rule: str) -> Solution:
    """Make a plan that breaks one rule."""
    good = make_solution(NARROW, [[1]], [[1.0]])
    (visit,) = good.visits
    changed = {
        "vehicles": lambda: Solution((*good.routes, *make_solution(NARROW, [[2]], [[1]]).routes)),
        "stop": lambda: Solution((Route((visit._replace(stop=9),), 3.0),)),
        "twice": lambda: make_solution(NARROW, [[1, 1]], [[1.0, 1.0]]),
        "close": lambda: make_solution(NARROW, [[2, 1]], [[8.0, 0.0]]),
        "max_stay": lambda: make_solution(NARROW, [[1]], [[4.0]]),
        "budget": lambda: make_solution(NARROW, [[2]], [[18.5]]),
        "profit": lambda: Solution((Route((visit._replace(profit=99.0),), 3.0),)),
    }
    return changed[rule]()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("vehicles", "orders: there are 2 for 1 vehicle"),
        ("stop", "orders[0]: stop = 9: the instance has no such stop"),
        ("twice", "orders[0]: stop = 1: is named twice"),
    ],
)
def test_impossible_start(improving: str, rule: str, message: str) -> None:
    """A plan that no times can mend is refused, and what is wrong is named."""
    with pytest.raises(MethodError) as caught:
        decost.solve(NARROW, improving, start=broken_plan(rule))
    assert str(caught.value) == f"option start: {message}"


@pytest.mark.parametrize("rule", ["close", "max_stay", "budget", "profit"])
def test_start_with_wrong_times(improving: str, rule: str) -> None:
    """A plan whose times are off counts as its order with the best times.

    Stop 1 alone earns 2 * 3, stop 2 alone 18; stop 2 before stop 1 earns 4 until 5, where stop 1
    closes, and then 2 * 3.
    """
    start = broken_plan(rule)
    assert decost.check(NARROW, start)
    least = {"close": 10, "max_stay": 6, "budget": 18, "profit": 6}[rule]
    result = decost.solve(NARROW, improving, start=start, time_limit=0)
    assert decost.check(NARROW, result.solution) == []
    assert result.profit >= least * (1 - 1e-9)


@pytest.mark.parametrize("start", [[2, 1], [[2, 1]], {"1": [2, 1]}])
def test_start_by_order_alone(improving: str, start: object) -> None:
    """An order will do, by position or by the id of the vehicle, or that of the only one."""
    assert decost.solve(NARROW, improving, start=start, time_limit=0).profit >= 10 * (1 - 1e-9)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([[1], [2]], "orders: there are 2 for 1 vehicle"),
        ([1, [2]], "orders[0] = 1: must be a list of stops"),
        ([1, 3], "order: stop = 3: the instance has no such stop"),
        ([["mill"]], "orders[0]: stop = 'mill': the instance has no such stop"),
        ({"red": [1]}, "vehicle = 'red': the instance has no such vehicle"),
        ({"1": [1, 2, 1]}, "order of vehicle '1': stop = 1: is named twice"),
    ],
)
def test_wrong_orders(improving: str, start: object, message: str) -> None:
    """What is wrong with an order is named."""
    with pytest.raises(MethodError) as caught:
        decost.solve(NARROW, improving, start=start)
    assert str(caught.value) == f"option start: {message}"


def test_order_that_breaks(improving: str) -> None:
    """It is said at which stop, or that the way to the end is too long."""
    late = NARROW.replace(min_stay=[0, 0, 8])
    with pytest.raises(MethodError, match=r"breaks at visit 2 \(stop 1\): it cannot be served in"):
        decost.solve(late, improving, start=[[2, 1]])
    late = NARROW.replace(min_stay=[0, 0, 19])
    with pytest.raises(MethodError, match=r"visit 1 \(stop 2\): the vehicle cannot be at its end"):
        decost.solve(late, improving, start=[[2]])


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        ("plan.json", "'plan.json'"),
        (3, "3"),
    ],
)
def test_start_must_be_a_plan(improving: str, start: object, shown: str) -> None:
    """Anything else than a plan is refused by name and value."""
    with pytest.raises(MethodError) as caught:
        decost.solve(hard(1), improving, start=start)
    assert str(caught.value).startswith(f"option start = {shown}: ")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_no_start_for_a_set(improving: str, count: int) -> None:
    """A set has no start, however many instances it has."""
    instance = hard(1)
    start = make_solution(instance, [], [])
    with pytest.raises(
        MethodError, match="option start: is a plan for one instance, not for a set"
    ):
        decost.solve_many([instance] * count, improving, start=start)


def test_only_improving_methods_take_it(method: str) -> None:
    """Others refuse a start and a listener, and say what they take."""
    if issubclass(decost.get_method(method).options, ImprovingOptions):
        pytest.skip("improves its plan")
    instance = hard(1)
    for option in ({"start": make_solution(instance, [], [])}, {"progress": print}):
        (name,) = option
        with pytest.raises(
            MethodError, match=rf"option {name} = .*: unknown, {method} takes: seed"
        ):
            decost.solve(instance, method, **option)


def test_uniform_options() -> None:
    """The default improves, greedy does not, and no improving method lacks one of the options."""
    improving = {
        one.name for one in decost.list_methods() if issubclass(one.options, ImprovingOptions)
    }
    assert {"auto", "exact", "milp", "ils"} <= improving
    assert not improving & {"greedy", "decost", "pomo"}
    for one in decost.list_methods():
        taken = {"start", "progress"} & set(one.options.model_fields)
        assert len(taken) == 2 * (one.name in improving)


def test_progress(improving: str, vehicles: int) -> None:
    """News come in order: time and profit rise, bounds fall, and none is better than the end."""
    instance = hard(vehicles)
    told: list[Progress] = []
    result = decost.solve(instance, improving, time_limit=0.2, progress=told.append)
    assert told
    for before, after in pairwise(told):
        assert before.seconds <= after.seconds
        assert before.profit <= after.profit
        assert before != after
    assert all(0 <= news.seconds <= result.runtime for news in told)
    assert all(news.profit <= result.profit * (1 + 1e-9) for news in told)
    bounds = [news.bound for news in told if news.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    if bounds:
        assert result.bound is not None
        assert bounds[-1] >= result.bound * (1 - 1e-9)
        assert bounds[-1] >= result.profit * (1 - 1e-9)


def test_progress_begins_with_the_start(improving: str) -> None:
    """The first news are no worse than the start."""
    told: list[Progress] = []
    decost.solve(hard(1), improving, time_limit=0.1, start=good_plan(), progress=told.append)
    assert all(news.profit >= good_plan().profit * (1 - 1e-9) for news in told)


@pytest.mark.parametrize("calls", [1, 2])
def test_progress_stops_a_run(improving: str, vehicles: int, calls: int) -> None:
    """If it answers False, it is not called again, and the best plan told so far comes back."""
    if calls > 1 and improving in ("gfacs", "ils", "search"):
        pytest.skip("may find its best plan before it tells anything")
    instance = hard(vehicles)
    if improving == "milp":  # of 100 stops it has nothing to tell for minutes
        (instance,) = generate("mixed", nodes=25, seed=1, vehicles=vehicles)
    told: list[Progress] = []

    def stop(news: Progress) -> bool:
        told.append(news)
        return len(told) < calls

    more = {"iterations": 10**9} if "iterations" in quick(improving) else {}
    result = decost.solve(instance, improving, time_limit=600, progress=stop, **more)
    assert len(told) == calls
    assert result.runtime < 300  # of the 600 that it would take
    assert check(instance, result.solution) == []
    assert result.profit >= told[-1].profit * (1 - 1e-6)
    assert result.status == "feasible"


def test_progress_is_called(improving: str) -> None:
    """What is no function is refused."""
    with pytest.raises(MethodError, match="option progress = 3: "):
        decost.solve(hard(1), improving, progress=3)


@pytest.mark.parametrize("seconds", [0.0, 0.1])
@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_time_limit_is_kept(improving: str, family: str, vehicles: int, seconds: float) -> None:
    """With 100 stops the plan comes when its time is over, or before."""
    if improving == "milp":
        pytest.skip("its solver looks at the clock between steps that may take seconds")
    decost.prepare(improving)
    instance = hard(vehicles, family)
    with within(seconds + LATE):
        result = decost.solve(instance, improving, time_limit=seconds)
    assert check(instance, result.solution) == []
