"""Tests of the local search with exact gains."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from clock import within
from decost import Instance, Solution, check, generate, make_solution
from decost.compiling import clock
from decost.inference import policy
from decost.method.aside import Aside
from decost.method.options import MOST_ROUNDS
from decost.search import search as module
from decost.search.ruin import END
from decost.search.search import FIRST_PIECES, FIRST_STOPS, Searches
from odd_instances import brute_force, odd_instance

GO_ON = np.zeros(1, dtype=np.uint8)
"""Tells a kernel that its time is not over."""


def solve(instance: Instance, **options: Any) -> decost.Result:
    """Search for some rounds, unless told otherwise."""
    return decost.solve(instance, "search", **({"iterations": 200} | options))


@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_close_to_the_optimum(family: str) -> None:
    """Three hundred rounds come within 1% of the proven optimum on average, and never above."""
    gaps = []
    for instance in generate(family, nodes=25, count=8, seed=5):
        best = decost.solve(instance, "exact", time_limit=20)
        result = solve(instance, iterations=300)
        assert check(instance, result.solution) == []
        assert best.bound is not None
        assert result.profit <= best.bound * (1 + 1e-6)
        gaps.append(1 - result.profit / best.bound)
    assert np.mean(gaps) < 0.01


def test_teams() -> None:
    """Two vehicles earn no less than one, no more than milp's bound, and keep to the rules."""
    for instance in generate("paper", nodes=12, window=300, budget=4, count=4, seed=2):
        team = instance.replace(vehicles=2)
        result = solve(team)
        assert check(team, result.solution) == []
        assert result.profit >= decost.solve(instance, "exact").profit * (1 - 1e-9)
        best = decost.solve(team, "milp", time_limit=20)
        assert best.bound is not None
        assert result.profit <= best.bound * (1 + 1e-6)


def test_same_seed_same_plan() -> None:
    """The rounds are the same for a seed, and others for another."""
    (instance,) = generate("mixed", nodes=60, seed=4)
    plans = [solve(instance, seed=seed, iterations=50) for seed in (1, 1, 2, 3, 4)]
    assert plans[0].solution == plans[1].solution
    assert len({plan.profit for plan in plans}) > 1
    assert plans[0].details["rounds"] == 50


def test_rounds_do_not_depend_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit on rounds nobody tells a search how much time is left, however slow it is."""
    (instance,) = generate("mixed", nodes=60, seed=4)
    expected: list[float] = []
    monkeypatch.setattr(Searches, "expect", lambda self, left: expected.append(left))
    solve(instance, iterations=2000, time_limit=60)
    assert expected == []
    solve(instance, iterations=None, time_limit=0.1)
    assert expected


def test_clock_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another thread compiles, no time passes: nothing is expected of rounds then."""
    monkeypatch.setattr(module, "clock", lambda: 3.0)
    (instance,) = generate("mixed", nodes=12, seed=4)
    searches = Searches(instance, make_solution(instance, [], []), seed=1, threads=1)
    searches.run(20, np.zeros(1, dtype=np.uint8))
    searches.expect(1.0)
    plan = searches.plan()
    assert plan is not None
    assert check(instance, plan) == []


@pytest.mark.parametrize("longest", [1e6, 1e12])
def test_stays_as_long_as_one_likes(longest: float) -> None:
    """A limit on stays that nobody comes near makes no difference to the search."""
    random = np.random.default_rng(3)
    xy, rates = random.random((50, 2)), random.random(50)
    one, other = (
        solve(Instance(budget=3, xy=xy, pieces=[[[9, 0.1], [rate, limit]] for rate in rates]))
        for limit in (3.0, longest)
    )
    assert len(one.solution.visits) > 1
    assert other.solution == one.solution


def test_threads() -> None:
    """Several seeds side by side are as good as the best of them alone."""
    (instance,) = generate("mixed", nodes=60, seed=4)
    alone = [solve(instance, seed=seed, iterations=50).profit for seed in (7, 8, 9)]
    together = solve(instance, seed=7, iterations=50, threads=3)
    assert together.profit == max(alone)
    assert together.details["rounds"] == 150


def test_more_room_is_made() -> None:
    """Routes with more stops and more pieces than there is room for at first are found."""
    stops = 2 * FIRST_STOPS + 5
    instance = Instance(
        budget=3 * stops,
        xy=[[k, 0] for k in range(stops + 1)],
        rate=[0, *np.linspace(1, 2, stops)],
        max_stay=[0] + [1] * stops,
    )
    assert stops > FIRST_PIECES
    searches = Searches(instance, Solution(()), 0, 1)
    searches.run(5, GO_ON)
    result = searches.result()
    assert check(instance, result.solution) == []
    assert len(result.solution.visits) == stops
    assert result.profit == pytest.approx(instance.full_profit.sum())
    assert result.details["rounds"] == 5


@pytest.mark.parametrize("vehicles", [1, 2])
def test_start_with_useless_stops(vehicles: int) -> None:
    """A plan may visit more stops than there are useful ones; those cost nothing here."""
    instance = Instance(budget=100, xy=np.eye(6, 2), reward=[0, 5, 0, 0, 0, 0], vehicles=vehicles)
    start = decost.make_solution(instance, [[2, 3, 1, 4, 5]], [[0.0] * 5])
    result = solve(instance, start=start, iterations=5)
    assert result.profit == 5
    assert result.details["rounds"] == 5
    assert decost.solve(instance, start=start).profit == 5


def test_no_gain_is_no_move() -> None:
    """A stop that earns nothing and may be a short cut is not put in and taken out for ever."""
    random = np.random.default_rng(1798)
    random.integers(0, 9, 2)
    instance = odd_instance(random, 4).replace(vehicles=2)
    assert instance.full_profit[3] == 0
    result = solve(instance, iterations=20, time_limit=20)
    assert result.details["rounds"] == 20


def test_time_limit_within_a_descent() -> None:
    """A long route with many pieces has more moves than can be looked at in the time."""
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    pieces = [[[rate, 0.01] for rate in (5, 4, 3, 2, 1)] for _ in angle]
    xy = np.column_stack((np.cos(angle), np.sin(angle)))
    circle = Instance(budget=20, xy=xy, pieces=pieces)
    start = decost.make_solution(circle, [range(1, 150)], [[0.05] * 149])
    decost.prepare("search")
    with within(0.6):
        solve(circle, start=start, iterations=None, time_limit=0.3)


def test_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more room is not to be had, the best plan so far is returned."""
    monkeypatch.setattr(module, "MOST_ENTRIES", 0)
    stops = FIRST_STOPS + 5
    ones = [0] + [1] * stops
    instance = Instance(budget=99, xy=np.zeros((stops + 1, 2)), rate=ones, max_stay=ones)
    start = decost.make_solution(instance, [[3, 4]], [[1.0, 1.0]])
    searches = Searches(instance, start, 0, 1)
    searches.run(100, GO_ON)
    result = searches.result()
    assert check(instance, result.solution) == []
    assert result.details["rounds"] < 100
    assert 2 <= len(result.solution.visits) <= FIRST_STOPS


def test_begin_with_the_network() -> None:
    """Without a round the plan is at least the network's."""
    for instance in generate("paper", nodes=50, count=3, seed=8):
        learned = decost.solve(instance, "decost").profit
        result = solve(instance, begin="decost", iterations=0)
        assert result.profit >= learned * (1 - 1e-9)
    with pytest.raises(decost.MethodError, match="option begin = 'nothing'"):
        solve(instance, begin="nothing")


def test_the_network_keeps_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no more time for the first plan than the search has for all."""
    (instance,) = generate("paper", nodes=50, seed=8)
    limits = []

    def note(instance: Instance, options: policy.PolicyOptions) -> decost.Result:
        limits.append(options.time_limit)
        return decost.Result(instance, Solution(()), "feasible")

    monkeypatch.setattr(policy, "policy", note)
    monkeypatch.setattr(policy, "warm_up", lambda: None)
    solve(instance, begin="decost", time_limit=0.5)
    assert 0 < limits[0] <= 0.5


@pytest.mark.parametrize("limit", [0.0, 0.2])
@pytest.mark.parametrize("nodes", [50, 400])
def test_time_limit(limit: float, nodes: int) -> None:
    """It ends in time, with a plan that is no worse than greedy's."""
    (instance,) = generate("mixed", nodes=nodes, seed=1)
    decost.prepare("search")
    with within(limit + 0.3):
        result = solve(instance, iterations=None, time_limit=limit)
    assert result.profit >= decost.solve(instance, "greedy").profit * (1 - 1e-9)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the search, with the best plan so far."""
    (instance,) = generate("mixed", nodes=60, seed=1)
    decost.prepare("search")
    begin = time.perf_counter()
    interrupts = []
    wait = Aside.wait

    def interrupt(aside: Aside[Any], seconds: float = 0.02) -> bool:
        if not interrupts and time.perf_counter() > begin + 0.3:
            interrupts.append(seconds)
            raise KeyboardInterrupt
        return wait(aside, seconds)

    monkeypatch.setattr(Aside, "wait", interrupt)
    result = solve(instance, iterations=None, time_limit=30)
    assert time.perf_counter() - begin < 10
    assert check(instance, result.solution) == []
    assert result.profit > decost.solve(instance, "greedy").profit
    assert result.details["rounds"] > 0
    assert interrupts


def test_cycles_end_with_the_time() -> None:
    """The round that is expected to be the last is where rounds go on as fast as before."""
    (instance,) = generate("paper", nodes=50, window=500, seed=1)
    searches = Searches(instance, decost.solve(instance, "greedy").solution, 0, 1)
    (one,) = searches._searches
    searches.run(100, np.zeros(1, dtype=np.uint8))
    assert one.memory.figures[END] == 100
    searches.run(MOST_ROUNDS, np.ones(1, dtype=np.uint8))
    searches._begin = clock() - 10.0  # for 100 rounds
    searches.expect(5.0)
    assert one.memory.figures[END] == pytest.approx(150, rel=0.01)
    searches.expect(-1.0)
    assert one.memory.figures[END] == pytest.approx(100)
    searches.expect(math.inf)
    assert one.memory.figures[END] == MOST_ROUNDS + 100


def test_nothing_is_expected_before_the_first_round() -> None:
    """A search that has just begun does not know its pace."""
    (instance,) = generate("paper", nodes=50, window=500, seed=1)
    searches = Searches(instance, decost.solve(instance, "greedy").solution, 0, 1)
    searches.expect(5.0)
    assert searches._searches[0].memory.figures[END] == math.inf


@pytest.mark.parametrize("more", [1, 2, 3])
def test_short_visits_among_long_stays(more: int) -> None:
    """A visit that takes less from long stays than it earns is always found.

    By hand: `more` stops fill their 15 each with 2 * 5 + 1 * 10 = 20; a visit for a reward of 5
    takes 4 from what earns 1, and so gains 1.
    """
    nodes = 1 + 2 * more
    instance = Instance(
        budget=15 * more,
        travel=np.zeros((nodes, nodes)),
        reward=[0.0] * (1 + more) + [5.0] * more,
        min_stay=[0.0] * (1 + more) + [4.0] * more,
        pieces=[[]] + [[[2, 5], [1, 10]]] * more + [[]] * more,
    )
    assert decost.solve(instance, "exact").profit == pytest.approx(21 * more)
    assert decost.solve(instance, "greedy").profit == pytest.approx(20 * more)
    for seed in range(5):
        for rounds in (0, 30):
            result = solve(instance, iterations=rounds, seed=seed)
            assert result.profit == pytest.approx(21 * more)


@pytest.mark.parametrize("seed", [205, 491, 1030, 1627, 1705, 1793])
def test_waits_before_deadlines(seed: int) -> None:
    """Where a stop before a wait must be left by some time, gains are true: all rounds are done.

    A gain that is none would be taken again and again, and no local search would end.
    """
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(2, 5)))
    longest = random.random(instance.nodes) * 0.3 * instance.budget
    deadline = np.maximum(instance.open, 0) + longest + instance.min_stay
    instance = instance.replace(leave_by=np.minimum(instance.leave_by, deadline))
    result = solve(instance, iterations=5, time_limit=5.0)
    assert result.details["rounds"] == 5
    assert result.profit == pytest.approx(brute_force(instance))


def test_optima_of_larger_problems(data: Path) -> None:
    """Published optima with 100 nodes are reached by one of two seeds, and never surpassed."""
    for name, optimum in (("kroA100", 3212), ("eil101", 3655), ("rat99", 2944)):
        instance = decost.read(data / "op" / f"{name}.oplib")
        profit = decost.solve(instance, "search", iterations=30_000, seed=0).profit
        if profit < optimum:
            profit = decost.solve(instance, "search", iterations=30_000, seed=1).profit
        assert profit == optimum
