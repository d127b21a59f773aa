"""Tests of gfacs: plans, limits, starts, weights, and what heat and stage two are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import decost
from clock import within
from decost import Instance, Progress, check, generate, profit_of, solve, solve_many
from decost.baselines import gfacs as module
from decost.baselines.gfacs import Colony, Walks
from decost.inference.heatmap import NoTimeError, find_region
from decost.inference.shapes import HeatmapConfig
from decost.inference.weights import WeightsError, model_path
from decost.learn.checkpoint import save_weights
from decost.learn.heatmap import HeatmapNetwork
from decost.timeline.routes import best_solution
from odd_instances import brute_force, odd_instance

FEW: dict[str, Any] = {"ants": 20, "iterations": 3}


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Weights that give every trail the same heat."""
    network = HeatmapNetwork(HeatmapConfig(layers=1, width=4))
    with torch.no_grad():
        for weight in network.head.parameters():
            weight.zero_()
    path = tmp_path_factory.mktemp("weights") / "even.safetensors"
    save_weights(path, network, {})
    return str(path)


def mean_gap(instances: list[Instance], **options: Any) -> float:
    """Mean gap to the optimum."""
    best = np.array([result.profit for result in solve_many(instances, "exact")])
    mine = np.array([result.profit for result in solve_many(instances, "gfacs", **options)])
    assert (mine <= best * (1 + 1e-9)).all()
    some = best > 0
    return float(1 - (mine[some] / best[some]).mean())


@pytest.mark.parametrize("stays", ["optimal", "greedy"])
def test_plans_of_odd_instances(stays: str) -> None:
    """The checker accepts the plans of teams, matrices, separate ends and all that is odd."""
    random = np.random.default_rng(1)
    for number in range(40):
        instance = odd_instance(random, int(random.integers(0, 7))).replace(vehicles=1 + number % 3)
        result = solve(instance, "gfacs", stays=stays, seed=number, **FEW)
        assert check(instance, result.solution) == []
        assert profit_of(instance, result.solution) == pytest.approx(result.profit, abs=1e-9)
        assert len(result.solution.routes) == instance.vehicles


@pytest.mark.parametrize("vehicles", [1, 2])
def test_many_ants_find_the_best_plan(even: str, vehicles: int) -> None:
    """Without any guidance, enough ants find the best of all plans of five stops."""
    for instance in generate("paper", nodes=6, window=300, budget=4, count=6, vehicles=vehicles):
        result = solve(instance, "gfacs", weights=even, ants=2000, iterations=2)
        assert result.profit == pytest.approx(brute_force(instance), rel=1e-9)


def test_heat_and_stage_two_are_worth_much(even: str) -> None:
    """The gap is far smaller than with even heat, and with optimal stays than with greedy ones."""
    for instances in (generate("paper", count=20, seed=8), generate("paper", window=500, count=20)):
        gap = mean_gap(instances)
        assert gap < 0.03
        assert gap < 0.5 * mean_gap(instances, stays="greedy")
        assert gap < 0.3 * mean_gap(instances, weights=even)


def test_pheromone_helps(even: str) -> None:
    """Ants that follow others find better plans than as many that do not."""
    instances = generate("paper", count=20, seed=9)
    alone = mean_gap(instances, weights=even, ants=1000, iterations=1)
    assert mean_gap(instances, weights=even, ants=100, iterations=10) < 0.9 * alone


def test_pheromone_by_hand() -> None:
    """A tenth fades, not below the least; ants leave what they earned as a part of all profit."""
    instance = Instance(budget=9, xy=[[0, 0], [1, 0]], reward=[0, 8], rate=[0, 1], max_stay=[0, 2])
    region = find_region(instance)  # trails: to the stop, home; home
    assert region.profit == 10
    colony = Colony(instance, region, np.ones(3), greedy=False, random=np.random.default_rng(0))
    path, steps = np.array([[0, 2], [1, 0]]), np.array([2, 1])
    colony.learn(Walks(path, steps, np.array([10.0, 0.0])))
    assert colony.pheromone.tolist() == [1, 1, 1]
    colony.evaporate()
    assert colony.pheromone.tolist() == pytest.approx([1.9, 0.9, 1.9])
    for _ in range(500):
        colony.evaporate()
    assert colony.pheromone.tolist() == [module.LEAST_PHEROMONE] * 3


def test_parts_of_an_iteration_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed gives the same plan, whether ants are sent together or one by one."""
    (instance,) = generate("paper", nodes=100, seed=5)
    whole = solve(instance, "gfacs", seed=3, **FEW)
    monkeypatch.setattr(module, "FIRST_WORK", 0)
    monkeypatch.setattr(module, "SLICE", 0.0)
    assert solve(instance, "gfacs", seed=3, **FEW).solution == whole.solution
    assert whole.details["iterations"] == 3
    profits = {
        solve(instance, "gfacs", seed=seed, ants=3, iterations=1).profit for seed in range(5)
    }
    assert len(profits) > 1


@pytest.mark.parametrize("stays", ["optimal", "greedy"])
def test_start_is_never_lost(stays: str) -> None:
    """A plan to start from is returned unless a better one is found; news are better ones."""
    for instance in generate("paper", count=5, seed=4):
        best = solve(instance, "exact").solution
        result = solve(instance, "gfacs", start=best, stays=stays, ants=1, iterations=1)
        assert result.profit == pytest.approx(best.profit)
        news: list[Progress] = []
        start = decost.make_solution(instance, [], [])
        result = solve(instance, "gfacs", start=start, stays=stays, progress=news.append)
        told = [some.profit for some in news]
        assert told == sorted(set(told))
        assert told[-1] == pytest.approx(result.profit)


def test_time_limit() -> None:
    """It is kept by a large instance without windows, and after no time there is a plan."""
    random = np.random.default_rng(0)
    stops = 2000
    instance = Instance(
        budget=20,
        xy=random.random((stops + 1, 2)),
        rate=np.r_[0, random.random(stops)],
        max_stay=np.r_[0, np.full(stops, 0.1)],
    )
    for limit in (0.0, 0.5):
        with within(limit + 5):
            result = solve(instance, "gfacs", time_limit=limit, iterations=10**9)
        assert check(instance, result.solution) == []
        assert result.profit > 0


def test_greedy_plan_if_there_is_no_time_for_ants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the plan is the one to start from, or that of Greedy-PRS."""
    (instance,) = generate("paper", seed=2)

    def late(*given: Any) -> None:
        raise NoTimeError

    monkeypatch.setattr(module, "find_region", late)
    greedy = solve(instance, "greedy").solution
    assert solve(instance, "gfacs").solution == greedy
    start = best_solution(instance, [greedy.routes[0].stops[:1]])
    assert solve(instance, "gfacs", start=start).solution == start


def test_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C gives the best plan so far."""
    (instance,) = generate("paper", seed=2)
    expected = solve(instance, "gfacs", ants=5, iterations=2)
    send, calls = Colony.send, 0

    def interrupted(self: Colony, ants: int) -> Walks:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return send(self, ants)

    monkeypatch.setattr(Colony, "send", interrupted)
    result = solve(instance, "gfacs", ants=5, iterations=10)
    assert result.solution == expected.solution
    assert (calls, result.details["iterations"]) == (3, 2)


def test_weights(tmp_path: Path) -> None:
    """Weights of another kind are refused by the name of their file, both ways."""
    (instance,) = generate("paper", seed=2)
    with pytest.raises(WeightsError, match=r"generalist.safetensors: holds no heatmap for gfacs"):
        solve(instance, "gfacs", weights="generalist")
    with pytest.raises(WeightsError, match=r"gfacs.safetensors: holds a heatmap for gfacs"):
        solve(instance, "decost", weights=str(model_path("gfacs")))
    with pytest.raises(WeightsError, match=r"weights = .*none.safetensors: there is no such file"):
        solve(instance, "gfacs", weights=str(tmp_path / "none.safetensors"))
    with pytest.raises(WeightsError, match=r"model 'none': unknown, choose from: .*gfacs"):
        solve(instance, "gfacs", weights="none")
