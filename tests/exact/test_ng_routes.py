"""Tests of the bounds by routes that remember some stops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from decost import Instance, check, generate
from decost.exact import exact as module
from decost.exact import ng_routes
from decost.exact.bounds import make_grid
from decost.exact.exact import ExactOptions, Known, Labels, Problem, exact
from decost.exact.labels import CAPACITY, PROVE, Attempt
from decost.exact.ng_routes import (
    MOST_MEMORY,
    NgAscent,
    best_relaxed_route,
    bounds_of_sets,
    fill_tables,
    learn_cycles,
    make_memories,
    near_stops,
)
from decost.method.deadline import Deadline
from decost.problem.instance import FloatArray, IntArray
from odd_instances import brute_force, odd_instance
from seeds import seeds


class Trial:
    """Tables of a problem for given penalties and what nodes remember."""

    def __init__(
        self, instance: Instance, steps: int, penalty: FloatArray, stops: IntArray, size: IntArray
    ) -> None:
        self.problem = problem = Problem.of(instance)
        self.grid = make_grid(*problem, steps)
        self.memories = make_memories(*problem, stops, size)
        last = self.grid.last.max(initial=0) + 1 + np.diff(self.grid.gain_start).max(initial=1)
        shape = int(self.memories.base[-1]), int(last)
        self.value, going = np.empty(shape), np.empty(shape)
        fill_tables(*problem, self.grid, penalty, self.memories, self.value, going)
        profit, self.route = best_relaxed_route(*problem, self.grid, self.memories, self.value)
        self.bound = profit + penalty.sum()
        self.bounds = bounds_of_sets(
            problem.network, self.grid, self.memories, penalty, self.value, self.bound
        )


def random_memory(
    problem: Problem, random: np.random.Generator, most: int
) -> tuple[IntArray, IntArray]:
    """Let every node remember some stops that are drawn."""
    nodes, stops = len(problem.network.node), len(problem.network.number)
    known = np.full((nodes, MOST_MEMORY), -1)
    size = np.zeros(nodes, dtype=np.int64)
    for node in range(1, problem.network.alternatives + 1):
        others = random.permutation([s for s in range(stops) if s != problem.network.stop[node]])
        size[node] = random.integers(0, min(most, len(others)) + 1)
        known[node, : size[node]] = others[: size[node]]
    return known, size


@pytest.mark.parametrize("part", range(4))
def test_no_plan_is_above(part: int) -> None:
    """On any grid, for any penalties and memories, no plan earns more than the bound."""
    for seed in seeds(20):
        random = np.random.default_rng([part, seed])
        instance = odd_instance(random, int(random.integers(1, 6)))
        problem = Problem.of(instance)
        if problem.network.alternatives == 0:
            continue
        full = problem.full_profits
        penalty = random.choice([0.0, 0.3, 1.0]) * random.random(len(full)) * full
        stops, size = random_memory(problem, random, 5)
        steps = int(random.choice([1, 7, 60, 500]))
        trial = Trial(instance, steps, penalty, stops, size)
        best = brute_force(instance)
        assert trial.bound >= best - 1e-9 * max(1.0, full.sum())
        # Labels that are led by them find the best plan: no bound of a part is too low either.
        known = Known([], 0.0, math.inf)
        labels = Labels(problem, known, 2**30)
        labels.extend(trial.bounds, Deadline(60.0), 60.0, PROVE)
        assert known.proven
        assert known.value == pytest.approx(best, abs=1e-9 * max(1.0, full.sum()))


def test_nothing_is_forgotten() -> None:
    """If nodes remember all stops and times fit the grid, the bound is the best profit."""
    random = np.random.default_rng(1)
    for _ in range(20):
        travel = random.integers(1, 9, (7, 7)).astype(float)
        for k in range(7):
            travel = np.minimum(travel, travel[:, k, None] + travel[k])
        opens = random.integers(0, 20, 7).astype(float)
        instance = Instance(
            budget=30,
            travel=travel,
            open=opens,
            close=opens + random.integers(0, 15, 7),
            reward=random.integers(1, 9, 7),
            min_stay=random.integers(0, 3, 7),
        )
        problem = Problem.of(instance)
        stops = np.full((len(problem.network.node), MOST_MEMORY), -1)
        size = np.zeros(len(stops), dtype=np.int64)
        for node in range(1, problem.network.alternatives + 1):
            others = np.flatnonzero(
                np.arange(len(problem.network.number)) != problem.network.stop[node]
            )
            stops[node, : len(others)], size[node] = others, len(others)
        trial = Trial(instance, 30, np.zeros(len(problem.network.number)), stops, size)
        assert trial.bound == pytest.approx(brute_force(instance))
        visited = problem.network.stop[trial.route]
        assert len(set(visited.tolist())) == len(visited)


def test_cycles_are_learnt() -> None:
    """All nodes on the way back to a stop remember it, unless one of them cannot."""
    instance = generate("mixed", nodes=30, seed=3)[0]
    problem = Problem.of(instance)
    stops, size = near_stops(problem.network, 2)
    assert size.max() == 2
    node = np.array([1, 2, 3, 1])
    where = problem.network.stop[node]
    assert learn_cycles(problem.network, node, stops, size, 2**20)
    assert where[0] in stops[2, : size[2]]
    assert where[0] in stops[3, : size[3]]
    assert not learn_cycles(problem.network, node, stops, size, 2**20)
    size[3] = MOST_MEMORY
    stops[3] = [s for s in range(20) if s != where[1]][:MOST_MEMORY]
    before = size.copy()
    assert not learn_cycles(problem.network, np.array([2, 3, 5, 2]), stops, size, 2**20)
    assert not learn_cycles(problem.network, np.array([4, 5, 6, 4]), stops, size, 1)
    assert size.tolist() == before.tolist()


def test_where_nothing_is_of_use() -> None:
    """Without a stop there is a bound all the same."""
    instance = Instance(budget=1.0, xy=[[0, 0], [5, 5]], reward=[0, 1])
    ascent = NgAscent(Problem.of(instance), np.zeros(0), -1.0)
    ascent._state[0] = 0.0
    ascent.improve(Deadline(9.0), -1.0)
    assert ascent.bound == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_proofs_by_memories(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With memories from the first round on, plans are the best, and the bound meets them."""
    monkeypatch.setattr(module, "SMALL", Attempt(0, CAPACITY))
    monkeypatch.setattr(ng_routes, "READY", math.inf)
    monkeypatch.setattr(ng_routes, "ROUNDS", 2)
    monkeypatch.setattr(ng_routes, "LEAST_STEPS", 1)
    monkeypatch.setattr(module, "GRID_STEPS", (20, 40))
    begun: list[bool] = []
    begin = NgAscent._begin

    def note(ascent: NgAscent) -> bool:
        begun.append(begin(ascent))
        return begun[-1]

    monkeypatch.setattr(NgAscent, "_begin", note)
    for number in seeds(10):
        random = np.random.default_rng([seed, number])
        instance = odd_instance(random, int(random.integers(2, 7)))
        result = exact(instance, ExactOptions(time_limit=60.0))
        assert result.status == "optimal"
        assert check(instance, result.solution) == []
        best = brute_force(instance)
        assert result.profit == pytest.approx(best, abs=1e-9 * max(1.0, best))
    (instance,) = generate("mixed", nodes=14, seed=seed)
    result = exact(instance, ExactOptions(time_limit=60.0))
    monkeypatch.undo()
    assert result.profit == pytest.approx(exact(instance, ExactOptions()).profit)
    assert any(begun)


def test_bounds_fall() -> None:
    """The more nodes remember, the lower the bound, which stays above the best plan."""
    (instance,) = generate("rewards", nodes=60, seed=1)
    problem = Problem.of(instance)
    known = exact(instance, ExactOptions(time_limit=1.0))
    ascent = NgAscent(problem, problem.penalties, known.profit)
    first = ascent.bound
    ascent._state[0] = 0.0
    for _ in range(4):
        ascent.improve(Deadline(1.0), known.profit)
    assert known.profit - 1e-9 <= ascent.bound < first
    assert ascent.bounds.root[0] == ascent.bound
