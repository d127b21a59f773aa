"""Tests of iterated local search: against proven optima, and of its options and limits."""

from __future__ import annotations

import _thread
import threading
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decost
from clock import within
from decost import Instance, MethodError, Progress, Result, check, generate, profit_of
from odd_instances import brute_force, odd_instance

LATE = 0.3
"""Seconds by which a time limit may be missed."""

VARIANTS: list[dict[str, Any]] = [
    {},
    {"stays": "optimal"},
    {"reset_worst": True},
    {"reset_worst": True, "stays": "optimal"},
    {"roulette": False},
]


def solve(instance: Instance, iterations: int = 20, **options: Any) -> Result:
    """Solve in some rounds, and demand that the checker agrees with the plan."""
    result = decost.solve(
        instance, "ils", iterations=iterations, **({"time_limit": 60.0} | options)
    )
    assert check(instance, result.solution) == []
    assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)
    assert (result.status, result.bound) == ("feasible", None)
    assert len(result.solution.routes) == instance.vehicles
    return result


def some_instances(count: int = 5, **changes: Any) -> list[Instance]:
    """Draw instances of both families."""
    wide = {"window": 300} | changes
    return [
        *generate("paper", nodes=40, count=count, seed=3, **wide),
        *generate("mixed", nodes=20, count=count, seed=4, **changes),
    ]


KNOWN: dict[bytes, Result] = {}
"""Best plans, by times: all variants are compared with the same ones."""


def best_of(instance: Instance) -> Result:
    """Find the best plan for one vehicle, once."""
    key = instance.travel.tobytes() + instance.close.tobytes()
    if key not in KNOWN:
        KNOWN[key] = decost.solve(instance, "exact", time_limit=10)
    return KNOWN[key]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_near_the_optimum_and_never_above(options: dict[str, Any]) -> None:
    """No plan earns more than the proven best one; on average they miss less than a tenth."""
    gaps = []
    for instance in some_instances():
        best = best_of(instance)
        assert best.bound is not None
        profit = solve(instance, 60, **options).profit
        assert profit <= best.bound * (1 + 1e-6)
        gaps.append(1 - profit / best.profit)
    assert np.mean(gaps) < 0.1


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.sampled_from(VARIANTS))
def test_never_above_brute_force(
    seed: int, stops: int, vehicles: int, options: dict[str, Any]
) -> None:
    """On odd instances no plan for one, two or three vehicles beats the best of all."""
    instance = odd_instance(np.random.default_rng(seed), stops).replace(vehicles=vehicles)
    result = solve(instance, 8, **options)
    assert result.profit <= brute_force(instance) * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_teams(options: dict[str, Any]) -> None:
    """Three vehicles earn more than one, and less than three times as much as the best alone."""
    for instance in some_instances(3):
        alone = solve(instance, **options).profit
        team = solve(instance.replace(vehicles=3), **options).profit
        best = best_of(instance).bound
        assert best is not None
        assert alone < team <= 3 * best * (1 + 1e-6)


def test_never_above_the_program_for_teams() -> None:
    """On tiny instances HiGHS proves what two vehicles can earn; most plans reach it."""
    gaps = []
    for family in ("paper", "mixed"):
        for instance in generate(family, nodes=8, window=300, budget=4, vehicles=2, count=4):
            best = decost.solve(instance, "milp", time_limit=60)
            assert best.status == "optimal"
            gaps.append(1 - solve(instance, 60).profit / best.profit)
    assert min(gaps) > -1e-6
    assert np.median(gaps) < 1e-6


@pytest.mark.parametrize("vehicles", [1, 3])
def test_same_seed_same_plan(vehicles: int) -> None:
    """The same rounds with the same seed give the same plan, whatever the time."""
    differ = 0
    for instance in some_instances(3, vehicles=vehicles):
        first, again = (solve(instance, seed=7, time_limit=limit) for limit in (60, np.inf))
        assert first.solution == again.solution
        assert first.details == again.details
        differ += first.solution != solve(instance, 20, seed=8).solution
    assert differ > 0


@pytest.mark.parametrize("vehicles", [1, 3])
def test_more_rounds_are_never_worse(vehicles: int) -> None:
    """The first rounds of a longer run are those of a shorter one; its best plan is kept."""
    gained = 0
    for instance in some_instances(3, vehicles=vehicles):
        results = [solve(instance, iterations) for iterations in (0, 5, 40)]
        assert [result.details["rounds"] for result in results] == [0, 5, 40]
        for fewer, more in pairwise(results):
            assert more.profit >= fewer.profit
            found = more.details["found_in_round"]
            assert (found <= fewer.details["rounds"]) == (more.solution == fewer.solution)
            gained += more.profit > fewer.profit
    assert gained > 0


@pytest.mark.parametrize("name", ["stays", "reset_worst", "roulette"])
def test_every_variant_is_another_search(name: str) -> None:
    """Each option leads to other plans on some instances, and to a valid one on all."""
    changes = {"stays": "optimal", "reset_worst": True, "roulette": False}
    plans = [
        (solve(instance).solution, solve(instance, **{name: changes[name]}).solution)
        for instance in some_instances(4)
    ]
    assert any(plain != other for plain, other in plans)


def test_without_a_roulette_nothing_is_drawn() -> None:
    """All seeds give the plan of one, for one vehicle; with a roulette they do not."""
    plans: dict[bool, set[str]] = {True: set(), False: set()}
    for roulette, found in plans.items():
        for seed in range(5):
            result = solve(some_instances(1)[0], 0, roulette=roulette, seed=seed)
            found.add(str(result.solution.visits))
    assert len(plans[False]) == 1
    assert len(plans[True]) > 1


def test_stays_are_fixed_unless_optimal() -> None:
    """Of 7 units stop 2 takes 6, which gain most, and leaves 1 to stop 1; best are 5 and 2.

    Both lie on one way, so that no move saves travel, and nothing is shaken in round 0.
    """
    instance = Instance(
        budget=11,
        xy=[[0, 0], [1, 0], [2, 0]],
        rate=[0, 3, 2],
        max_stay=[0, 2, 6],
    )
    start = decost.make_solution(instance, [[1, 2]], [[0.0, 0.0]])
    function = decost.get_method("ils").function
    profits = {}
    for stays in ("greedy", "optimal"):
        options = decost.get_method("ils").options(
            start=start, iterations=0, roulette=False, stays=stays
        )
        profits[stays] = function(instance, options).profit
    assert profits == {"greedy": pytest.approx(15), "optimal": pytest.approx(16)}


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("vehicles", [1, 3])
def test_start_is_never_lost(vehicles: int, options: dict[str, Any]) -> None:
    """A good plan to start from is what comes back at least, also from the method alone."""
    method = decost.get_method("ils")
    for instance in some_instances(2, vehicles=vehicles):
        start = solve(instance, 100, seed=1).solution
        for iterations in (0, 10):
            settings = method.options(start=start, iterations=iterations, **options)
            assert method.function(instance, settings).profit >= start.profit
            assert solve(instance, iterations, start=start, **options).profit >= start.profit


def large(family: str, vehicles: int) -> Instance:
    """Make an instance with 300 stops that a vehicle can choose from."""
    window = {"window": 2000} if family == "paper" else {}
    (instance,) = generate(family, nodes=301, seed=2, vehicles=vehicles, **window)
    return instance


@pytest.mark.parametrize("limit", [0.0, 0.3])
@pytest.mark.parametrize("vehicles", [1, 3])
@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_time_limit_is_kept(family: str, vehicles: int, limit: float) -> None:
    """With 300 stops the plan comes when the time is over, and uses it up."""
    instance = large(family, vehicles)
    decost.prepare("ils")
    with within(limit + LATE):
        result = decost.solve(instance, "ils", time_limit=limit)
    assert limit <= result.runtime
    assert check(instance, result.solution) == []
    assert limit == 0 or result.profit > 0


def test_progress_is_told() -> None:
    """Profits rise to that of the plan, and a plan to start from is not forgotten in them."""
    instance = large("mixed", 1)
    told: list[Progress] = []
    result = decost.solve(instance, "ils", time_limit=0.4, progress=told.append)
    profits = [news.profit for news in told]
    assert len(profits) > 1
    assert profits == sorted(profits)
    assert profits[-1] == pytest.approx(result.profit)
    told.clear()
    decost.solve(instance, "ils", time_limit=0.3, start=result.solution, progress=told.append)
    assert told[0].profit >= result.profit * (1 - 1e-9)


def test_ctrl_c_returns_the_plan_so_far() -> None:
    """An interrupt ends the search, and the best plan comes back."""
    instance = large("paper", 1)
    decost.prepare("ils")
    timer = threading.Timer(0.7, _thread.interrupt_main)
    timer.start()
    begin = time.perf_counter()
    result = decost.solve(instance, "ils", time_limit=60)
    assert time.perf_counter() - begin < 10
    timer.join()
    assert result.profit > 0
    assert result.details["rounds"] > 0
    assert check(instance, result.solution) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stays": "best"}, "option stays = 'best': "),
        ({"iterations": -1}, "option iterations = -1: "),
        ({"iterations": 2**62 + 1}, "option iterations = 4611686018427387905: "),
        ({"roulette": "maybe"}, "option roulette = 'maybe': "),
        ({"reset_worst": 2}, "option reset_worst = 2: "),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    """A value that makes no sense is an error that names it."""
    with pytest.raises(MethodError, match=message):
        decost.solve(some_instances(1)[0], "ils", **options)


def test_default_limits() -> None:
    """It searches for 10 seconds, without end of rounds."""
    options: Any = decost.get_method("ils").options()
    assert (options.time_limit, options.iterations, options.start) == (10.0, None, None)
