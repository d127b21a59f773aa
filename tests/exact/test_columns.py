"""Tests of column generation: against brute force, the mathematical program, and `exact`."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import decost
from clock import within
from decost import Instance, Progress, check, generate, solve
from decost.exact import columns as module
from decost.exact import generation as generations
from decost.exact import lists, ng_routes, plans, prices, pricing
from decost.exact.exact import ExactOptions
from decost.exact.master import Master
from decost.exact.tree import Incumbent, root_branch
from decost.method.deadline import Deadline
from odd_instances import all_routes, brute_force_team, odd_instance
from oracle import brute_force, tiny_instance
from seeds import MORE, seeds
from strategies import instances


@pytest.fixture(params=["labels alone", "with bounds", "with memory", "by branching"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force all ways to a proof: small instances need neither bounds nor branches.

    Routes with bounds come back to stops wherever they can; those of the bounds themselves
    remember a stop a node at first, and with memory do so at once.
    """
    if request.param == "with memory":
        monkeypatch.setattr(prices, "PLAIN", 0)
        monkeypatch.setattr(ng_routes, "FIRST_MEMORY", 1)
    if request.param != "labels alone":
        monkeypatch.setattr(pricing, "NEAR", 0)
        monkeypatch.setattr(module, "Generation", functools.partial(module.Generation, small=False))
    if request.param == "by branching":
        monkeypatch.setattr(plans, "DETOURS", -1)
        monkeypatch.setattr(plans, "combine_trips", lambda *given: None)
        monkeypatch.setattr(lists, "combine_trips", lambda *given: None)
    return str(request.param)


def odd_team(seed: int, stops: int) -> Instance:
    """Draw a small instance for one to three vehicles."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, stops + 1)))
    return instance.replace(vehicles=int(random.integers(1, 4)))


@functools.cache
def best_team(seed: int) -> tuple[Instance, float]:
    """Draw an instance, and try all ways to share out its stops."""
    instance = odd_team(seed, 5)
    return instance, brute_force_team(instance)


@pytest.mark.parametrize("seed", seeds(60))
def test_equals_brute_force(way: str, seed: int) -> None:
    """No way to share out the stops among the vehicles earns more."""
    instance, best = best_team(seed)
    result = solve(instance, "columns")
    assert result.status == "optimal"
    assert result.profit == pytest.approx(best, rel=1e-7, abs=1e-9)
    assert result.bound == result.profit
    assert check(instance, result.solution) == []


@functools.cache
def best_of_all(seed: int) -> tuple[Instance, float, float]:
    """Draw an instance, and try all plans."""
    instance = tiny_instance(np.random.default_rng(seed))
    return instance, *brute_force(instance)[:2]


@pytest.mark.parametrize("seed", seeds(60))
def test_equals_the_oracle(way: str, seed: int) -> None:
    """Vehicles of several types, alternatives, required stops: the best of all plans, proven."""
    instance, required, profit = best_of_all(seed)
    result = solve(instance, "columns", time_limit=60)
    assert result.status == ("optimal" if required == instance.required.sum() else "infeasible")
    assert (result.required_visited, result.required_bound) == (required, required)
    assert result.profit == pytest.approx(profit, rel=1e-7, abs=1e-7)
    assert result.bound == result.profit
    assert {fault.rule for fault in check(instance, result.solution)} <= {"required"}


@pytest.mark.parametrize("seed", range(6))
def test_ways_agree_on_people(way: str, seed: int) -> None:
    """Where plans have to be divided by types, alternatives and arcs, no way finds another."""
    random = np.random.default_rng(seed)
    (instance,) = generate("people", nodes=10, vehicles=2 + seed % 2, seed=seed)
    required = random.random(instance.nodes) < 0.3
    instance = instance.replace(required=required & (np.arange(instance.nodes) > 0))
    result = solve(instance, "columns", time_limit=60)
    judge = solve(instance, "auto", time_limit=60)
    assert result.status == judge.status
    assert result.required_visited == judge.required_visited
    assert result.profit == pytest.approx(judge.profit, rel=1e-7)
    assert result.bound == pytest.approx(result.profit)


@functools.cache
def judged(family: str, nodes: int, seed: int, vehicles: int) -> tuple[Instance, float]:
    """Make an instance and let `milp` prove its profit."""
    if family == "odd":
        instance = odd_instance(np.random.default_rng(seed), nodes - 1)
    else:
        window = 300 if family == "paper" else 100
        instance = generate(family, nodes=nodes, seed=seed, window=window)[0]
    instance = instance.replace(vehicles=vehicles)
    result = solve(instance, "milp", time_limit=60)
    assert result.status == "optimal"
    return instance, result.profit


@pytest.mark.parametrize(
    "drawn", [("paper", 30, 3, 3), ("paper", 18, 3, 2), ("mixed", 12, 1, 2), ("mixed", 12, 6, 2)]
)
def test_branches_close_a_gap(way: str, drawn: tuple[str, int, int, int]) -> None:
    """Where a mix of routes earns more than any plan, by stops or arcs: `milp` proves the same."""
    instance, profit = judged(*drawn)
    result = solve(instance, "columns", time_limit=60)
    assert result.status == "optimal"
    assert result.profit == pytest.approx(profit, rel=1e-6)
    assert way != "by branching" or result.details["branches"] > 1


@pytest.mark.parametrize("seed", range(6))
def test_all_ways_agree(way: str, seed: int) -> None:
    """Beyond brute force, `milp` proves the same profit of awkward instances."""
    instance, profit = judged("odd", 9, seed, 2)
    result = solve(instance, "columns", time_limit=60)
    assert result.status == "optimal"
    assert result.profit == pytest.approx(profit, rel=1e-6)


@settings(max_examples=20 * MORE)
@given(instance=st.one_of(instances(), st.builds(odd_team, st.integers(0, 10**9), st.just(6))))
def test_equals_the_mathematical_program(instance: Instance) -> None:
    """On tiny teams with any features, `milp` proves the same."""
    everything = float(instance.full_profit.sum())
    assume(everything == 0 or everything > 1e-100)  # HiGHS has no gap below that
    judge = solve(instance, "milp", time_limit=60)
    result = solve(instance, "columns")
    assert judge.status == result.status == "optimal"
    assert result.profit == pytest.approx(judge.profit, rel=1e-6, abs=1e-9)
    assert check(instance, result.solution) == []


@pytest.mark.parametrize(
    ("family", "nodes", "window"),
    [("paper", 50, 100), ("paper", 40, 400), ("mixed", 14, 100), ("odd", 9, 0)],
)
def test_one_vehicle_is_the_exact_method(family: str, nodes: int, window: float) -> None:
    """A team of one has the profit that `exact` proves."""
    if family == "odd":
        some = [odd_instance(np.random.default_rng(seed), nodes) for seed in range(10)]
    else:
        some = generate(family, nodes=nodes, window=window, count=10, seed=4)
    for instance in some:
        result = solve(instance, "columns", time_limit=30)
        assert result.status == "optimal"
        assert result.profit == pytest.approx(solve(instance, "exact").profit, rel=1e-9)


def test_paper_teams_are_proven() -> None:
    """Three vehicles on the paper's instances; a fourth earns no less, and all is checked."""
    for instance in generate("paper", nodes=50, window=100, count=5, vehicles=3, seed=7):
        three = solve(instance, "columns", time_limit=30)
        four = solve(instance.replace(vehicles=4), "columns", time_limit=30)
        assert three.status == four.status == "optimal"
        assert solve(instance, "greedy").profit <= three.profit <= four.profit * (1 + 1e-9)
        assert check(instance, three.solution) == []


@pytest.mark.parametrize(
    ("name", "vehicles", "profit"),
    [("c101", 2, 590), ("c101", 4, 1020), ("r101", 3, 484), ("r101", 4, 611), ("rc101", 2, 427)],
)
def test_benchmark_files_for_teams(data: Path, name: str, vehicles: int, profit: float) -> None:
    """Files of the OPTW with several vehicles: what was proven once stays proven, and the same."""
    instance = decost.read(data / "optw" / f"{name}.txt").replace(vehicles=vehicles)
    result = solve(instance, "columns", time_limit=60)
    assert result.status == "optimal"
    assert result.profit == result.bound == profit


def hard_instance() -> Instance:
    """Make an instance that nobody proves in a few seconds: 80 stops, wide windows, a team."""
    return generate("mixed", nodes=80, window=300, budget=6, seed=3, vehicles=3)[0]


def test_time_limit_is_kept_with_a_valid_bound() -> None:
    """Stopped at any time there is a plan, and a bound that no other plan exceeds."""
    instance = hard_instance()
    least = solve(instance, "greedy").profit
    results = []
    for limit in (0.0, 0.05, 0.3, 1.0):
        with within(limit + 1):
            result = solve(instance, "columns", time_limit=limit)
        results.append(result)
        assert result.status == "feasible"
        assert check(instance, result.solution) == []
        assert result.bound is not None
        assert least <= max(other.profit for other in results) <= result.bound


@pytest.mark.parametrize("seed", seeds(20))
def test_bound_holds_whenever_it_ends(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted after any number of steps, the bound is not below the optimum."""
    instance, best = best_team(seed)
    function, left = Master.solve, [seed % 10]

    def interrupted(*given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return function(*given)

    decost.prepare("columns")
    monkeypatch.setattr(Master, "solve", interrupted)
    result = solve(instance, "columns")
    assert result.bound is not None
    assert result.profit <= best * (1 + 1e-9) + 1e-9
    assert result.bound >= best * (1 - 1e-9)
    if result.status == "optimal":
        assert result.profit == pytest.approx(best, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("moment", [1, 4])
@pytest.mark.parametrize("name", ["team_bytes", "priced", "make_bounds", "combine"])
def test_ctrl_c_returns_the_best_plan(
    monkeypatch: pytest.MonkeyPatch, name: str, moment: int
) -> None:
    """An interruption at any moment of the search is an end like any other."""
    calls = []
    place = {"team_bytes": module, "combine": lists}.get(name, prices)
    function = getattr(place, name)

    def interrupted(*given: object) -> object:
        calls.append(1)
        if len(calls) == moment or name in ("team_bytes", "combine"):
            raise KeyboardInterrupt
        return function(*given)

    decost.prepare("columns")
    monkeypatch.setattr(place, name, interrupted)
    for part in (generations, plans):
        monkeypatch.setattr(part, "TRIES", prices.TRIES[:1])
    result = solve(hard_instance(), "columns", time_limit=600)
    assert result.runtime < 300
    assert result.status == "feasible"
    assert result.bound is not None
    assert 0 < result.profit < result.bound


def test_memory_limit_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few labels the search ends by itself, with a plan and a bound."""
    monkeypatch.setattr(plans, "DIVE_SECONDS", 0.2)
    for part in (generations, plans):
        monkeypatch.setattr(part, "TRIES", prices.TRIES[:1])
    result = solve(hard_instance(), "columns", memory_limit=0.003, time_limit=600)
    assert result.runtime < 300
    assert result.status == "feasible"
    assert result.bound is not None
    assert result.bound > result.profit > 0


def test_start_and_progress() -> None:
    """Profits rise and bounds fall on the way; a plan to start from is never lost."""
    instance = generate("paper", nodes=40, window=200, seed=9, vehicles=2)[0]
    told: list[Progress] = []
    best = solve(instance, "columns", progress=told.append)
    assert best.status == "optimal"
    profits = [news.profit for news in told]
    bounds = [math.inf if news.bound is None else news.bound for news in told]
    assert profits == sorted(profits)
    assert bounds == sorted(bounds, reverse=True)
    assert (profits[-1], bounds[-1]) == (pytest.approx(best.profit), pytest.approx(best.profit))
    again = solve(instance, "columns", time_limit=0, start=best.solution)
    assert again.profit == best.profit


@pytest.mark.parametrize("vehicles", [1, 3, 900])
def test_more_vehicles_than_stops(vehicles: int) -> None:
    """Two stops at distance 1, stays of at most 5 and 9, a budget of 8: 6 units of time each."""
    instance = Instance(
        budget=8,
        xy=[[0, 0], [1, 0], [1, 0]],
        rate=[0, 2, 1],
        max_stay=[0, 5, 9],
        vehicles=vehicles,
    )
    result = solve(instance, "columns")
    assert result.profit == pytest.approx(11 if vehicles == 1 else 16)
    assert result.status == "optimal"
    assert len(result.solution.routes) == vehicles


def test_a_thousand_stops() -> None:
    """A size far beyond the usual ends in time, with a feasible plan and a bound."""
    instance = generate("paper", nodes=1001, window=100, seed=1, vehicles=3)[0]
    with within(5):
        result = solve(instance, "columns", time_limit=2)
    assert check(instance, result.solution) == []
    assert result.bound is not None
    assert result.bound >= result.profit > 0


def test_interrupted_in_a_long_pricing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches labels and bounds in the middle of their work, which ends soon after."""
    (one,) = generate("paper", nodes=101, window=100, seed=7, vehicles=2)
    instance = one.replace(open=np.zeros(one.nodes), close=np.full(one.nodes, one.budget))
    decost.prepare("columns")
    for name in ("GUESS_SECONDS", "PROVE_SECONDS", "PATIENCE", "ASCENT_SECONDS"):
        with monkeypatch.context() as patch:
            patch.setattr(generations if name == "ASCENT_SECONDS" else prices, name, 60.0)
            if name != "GUESS_SECONDS":
                patch.setattr(generations, "TRIES", ())
            if name in ("PATIENCE", "ASCENT_SECONDS"):
                patch.setattr(prices, "PROVE_SECONDS", 0.0)
            deadline = Deadline(120.0)
            timer = threading.Timer(1.0, deadline.interrupt)
            timer.start()
            with within(6):  # and not a minute
                result = module.prove(instance, ExactOptions(), deadline)
            timer.join()
        assert deadline.interrupted, name
        assert check(instance, result.solution) == []
        assert result.bound is not None
        assert result.bound >= result.profit > 0


@pytest.mark.parametrize("seed", seeds(20))
def test_lists_keep_stops_that_must_be_visited(seed: int) -> None:
    """No route with such a stop is left out for one without it, however much that earns."""
    decost.prepare("columns")
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(2, 5)))
    incumbent = Incumbent([[]], 0.0, np.inf)
    generation = module.Generation(instance, incumbent, Deadline(60.0), 2.0**30)
    number = generation.team.number
    if len(number) == 0:
        return
    forced = random.random(len(number)) < 0.5
    branch = replace(root_branch(generation.team, np.inf), forced=forced)
    price = generation.team.full_profits * random.uniform(0, 1, len(number))
    proof = prices.Proof(np.inf, price, np.zeros(1))
    listed = lists.Lists(generation, branch, proof, 1e6).trips(1e6, Deadline(60.0))
    assert listed is not None
    known = [
        (set(number[generation.team.rows(trip)].tolist()), value)
        for trip, value in zip(listed, generation.values(listed), strict=True)
    ]
    must = set(number[forced].tolist())
    routes = [
        route for route in all_routes(instance) if route and set(route) <= set(number.tolist())
    ]
    for route, profit in zip(routes, decost.optimal_stays(instance, routes).profit, strict=True):
        wanted = must & set(route)
        if profit > -np.inf:
            assert any(
                wanted <= stops <= set(route) and p >= profit - 1e-9 * max(1.0, profit)
                for stops, p in known
            )
