"""Tests of ruin and recreate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost import Instance, generate, optimal_stays
from decost.kernels.random import random_state
from decost.kernels.routes import Team, make_team, refresh
from decost.kernels.ruin import (
    BEST,
    CYCLE,
    END,
    FINAL,
    FULL,
    PART,
    ROUNDS,
    Memory,
    anneal,
    make_hints,
    make_memory,
    recall,
    remember,
    remove_string,
    sort,
    travel_time,
)
from odd_instances import brute_force, odd_instance

GO = np.zeros(1, dtype=np.uint8)


def useful(instance: Instance) -> np.ndarray:
    """List all stops."""
    return np.arange(1, instance.nodes)


def run(instance: Instance, rounds: int, vehicles: int = 1, seed: int = 0) -> tuple[Team, Memory]:
    """Search from the empty plan."""
    team = make_team(instance.arrays, vehicles, instance.stops, len(instance.piece_rate))
    memory = make_memory(team)
    hints = make_hints(instance.arrays, useful(instance), instance.full_profit)
    done = anneal(instance.arrays, team, hints, memory, random_state(seed), rounds, GO)
    assert done == rounds == memory.figures[ROUNDS]
    return team, memory


def best_routes(memory: Memory) -> list[list[int]]:
    """List the stops of the best routes."""
    pairs = zip(memory.best_stops, memory.best_size, strict=True)
    return [stops[:size].tolist() for stops, size in pairs]


@given(st.lists(st.floats(-9, 9), max_size=30))
def test_sort(values: list[float]) -> None:
    """Keys rise, and every value keeps its key; what comes after the count stays."""
    key = np.array([*values, -99.0])
    value = np.arange(len(key))
    sort(key, value, len(values))
    assert key.tolist() == [*sorted(values), -99.0]
    assert [([*values, -99.0])[k] for k in value] == key.tolist()


def test_remove_string() -> None:
    """Visits are removed from a position on, but for some in the middle."""
    line = Instance(budget=99, xy=[[k, 0] for k in range(8)], reward=[1] * 8)
    for skip, kept, expected in ((3, 0, [1, 5, 6, 7]), (1, 2, [1, 3, 4, 7]), (2, 1, [1, 4, 6, 7])):
        team = make_team(line.arrays, 1, 7, 0)
        team.size[0], team.stops[0] = 7, range(1, 8)
        refresh(line.arrays, team, 0, 0)
        remove_string(team, 0, 1, 3, skip, kept)
        assert team.stops[0, : team.size[0]].tolist() == expected
        removed = set(range(1, 8)) - set(expected)
        assert {stop for stop in range(1, 8) if team.where[stop] < 0} == removed


def test_hints() -> None:
    """Near stops are those with the shortest way there and back, nearest first."""
    instance = generate("mixed", nodes=60, seed=3)[0]
    some = np.arange(1, 60, 2)
    hints = make_hints(instance.arrays, some, instance.full_profit)
    both = instance.travel + instance.travel.T
    for stop in some:
        others = [other for other in some if other != stop]
        near = [other for other in hints.near[stop] if other >= 0]
        assert len(near) == len(others)
        ways = both[stop, near]
        assert (np.diff(ways) >= 0).all()
        time = instance.max_stay[stop] + np.sort(both[stop, others])[:5].mean() / 2
        assert hints.density[stop] == pytest.approx(instance.full_profit[stop] / time)
    assert (hints.near[2] == -1).all()  # not among the useful


def test_remember_and_recall() -> None:
    """A plan is taken back as it was, with all that is known of its routes."""
    instance = generate("mixed", nodes=12, seed=3)[0]
    team, memory = run(instance, 5, vehicles=2)
    every = np.ones(2, dtype=np.int64)
    remember(team, every, memory.stops, memory.size)
    before = team.where.copy(), team.profit.copy(), travel_time(instance.arrays, team)
    team.where[team.stops[0, : team.size[0]]] = -1
    team.size[0] = 0
    refresh(instance.arrays, team, 0, 0)
    assert recall(instance.arrays, team, every, memory.stops, memory.size)
    assert (team.where == before[0]).all()
    assert (team.profit == before[1]).all()
    assert travel_time(instance.arrays, team) == before[2]


@given(seed=st.integers(0, 2**32), vehicles=st.integers(1, 2))
def test_best_plan_earns_what_it_says(seed: int, vehicles: int) -> None:
    """Its routes are in time, name no stop twice, and earn the best profit."""
    instance = odd_instance(np.random.default_rng(seed), 5).replace(vehicles=vehicles)
    team, memory = run(instance, 30, vehicles, seed)
    routes = best_routes(memory)
    stops = list(itertools.chain.from_iterable(routes))
    assert len(set(stops)) == len(stops)
    profit = float(optimal_stays(instance, routes).profit.sum())
    assert memory.figures[BEST] == pytest.approx(profit, rel=1e-9, abs=1e-12)
    for r, route in enumerate(team.stops):
        for k, stop in enumerate(route[: team.size[r]]):
            assert (team.where[stop], team.spot[stop]) == (r, k)


@pytest.mark.parametrize("seed", range(10))
def test_small_instances_are_solved(seed: int) -> None:
    """On five stops, 100 rounds find the best plan there is."""
    instance = odd_instance(np.random.default_rng(seed), 5)
    _, memory = run(instance, 100)
    assert memory.figures[BEST] == pytest.approx(brute_force(instance), rel=1e-9, abs=1e-9)


def test_halt() -> None:
    """Once the flag is set, nothing is done; the plan to start from is the best."""
    instance = generate("paper", nodes=20, seed=3)[0]
    team = make_team(instance.arrays, 1, 19, 19)
    memory = make_memory(team)
    profits = optimal_stays(instance, [[stop] for stop in range(1, 20)]).profit
    stop = 1 + int(profits.argmax())
    memory.size[0], memory.stops[0, 0] = 1, stop
    hints = make_hints(instance.arrays, useful(instance), instance.full_profit)
    halt = np.ones(1, dtype=np.uint8)
    assert anneal(instance.arrays, team, hints, memory, random_state(0), 99, halt) == 0
    assert best_routes(memory) == [[stop]]
    assert memory.figures[BEST] == pytest.approx(profits.max())


def test_no_room() -> None:
    """The search says when a route needs more room; what is in the memory is still good."""
    line = Instance(budget=99, xy=[[k, 0] for k in range(8)], reward=[1] * 8)
    team = make_team(line.arrays, 1, 3, 0)
    memory = make_memory(team)
    hints = make_hints(line.arrays, useful(line), line.full_profit)
    assert anneal(line.arrays, team, hints, memory, random_state(0), 99, GO) == FULL
    assert best_routes(memory) == [[]]


@pytest.mark.parametrize(
    ("end", "lengths"),
    [
        (np.inf, [200, 300, 450]),  # each is longer by half than the one before
        (399, [399]),
        (1000, [200, 300, 500]),  # 450 would leave 50
    ],
)
def test_last_cycle_ends_with_the_last_round(end: float, lengths: list[int]) -> None:
    """If few rounds are left after a cycle, it goes on until they are over."""
    (instance,) = generate("paper", nodes=20, window=100, seed=5)
    team = make_team(instance.arrays, 1, instance.stops, len(instance.piece_rate))
    memory = make_memory(team)
    memory.figures[END] = end
    hints = make_hints(instance.arrays, useful(instance), instance.full_profit)
    state = random_state(0)
    for before, length in zip(np.cumsum([0, *lengths]), lengths, strict=False):
        assert memory.figures[ROUNDS] == before
        assert memory.figures[PART] == 0
        anneal(instance.arrays, team, hints, memory, state, length - 1, GO)
        assert memory.figures[CYCLE] == length
        assert memory.figures[PART] == length - 1
        assert memory.figures[FINAL] == (before + length == end)
        anneal(instance.arrays, team, hints, memory, state, 1, GO)


def test_last_cycle_follows_the_end() -> None:
    """If the end of the last cycle is put off or comes sooner, its length changes with it."""
    (instance,) = generate("paper", nodes=20, window=100, seed=5)
    team = make_team(instance.arrays, 1, instance.stops, len(instance.piece_rate))
    memory = make_memory(team)
    hints = make_hints(instance.arrays, useful(instance), instance.full_profit)
    state = random_state(0)
    for end, length in ((300, 300), (900, 900), (40, 40), (15, 41)):
        memory.figures[END] = end
        anneal(instance.arrays, team, hints, memory, state, 10, GO)
        assert memory.figures[CYCLE] == length
