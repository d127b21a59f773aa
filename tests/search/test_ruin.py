"""Tests of ruin and recreate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost import Instance, generate, optimal_stays
from decost.draws import random_state
from decost.search.moves import make_desk
from decost.search.ruin import (
    BEST,
    CYCLE,
    END,
    FINAL,
    FULL,
    PART,
    ROUNDS,
    Hints,
    Memory,
    anneal,
    make_hints,
    make_memory,
    make_notes,
    recall,
    remember,
    remove_string,
    sort,
    travel_of,
)
from decost.search.team import Team, make_team, refresh
from decost.timeline.network import useful_network
from odd_instances import brute_force, odd_instance
from whole_networks import whole

GO = np.zeros(1, dtype=np.uint8)


class Trial:
    """A search on all stops of an instance, from the empty plan."""

    def __init__(
        self, instance: Instance, vehicles: int = 1, stops: int | None = None, seed: int = 0
    ) -> None:
        self.network = whole(instance)
        self.team: Team = make_team(
            self.network,
            np.zeros(vehicles, dtype=np.int64),
            instance.stops if stops is None else stops,
            len(self.network.pieces),
        )
        self.memory: Memory = make_memory(self.team.nodes, self.team.size)
        self.hints: Hints = make_hints(self.network, instance.max_stay[1:])
        self.state = random_state(seed)

    def run(self, rounds: int, halt: np.ndarray = GO) -> int:
        """Go on for some rounds."""
        desk, notes = make_desk(self.network, self.team), make_notes(self.team)
        return anneal(
            self.network,
            self.team,
            self.hints,
            self.memory,
            desk,
            notes,
            self.state,
            rounds,
            halt,
        )

    @property
    def best_routes(self) -> list[list[int]]:
        """List the stops of the best routes."""
        pairs = zip(self.memory.best_nodes, self.memory.best_size, strict=True)
        return [nodes[1 : size + 1].tolist() for nodes, size in pairs]


def run(instance: Instance, rounds: int, vehicles: int = 1, seed: int = 0) -> Trial:
    """Search from the empty plan."""
    trial = Trial(instance, vehicles, seed=seed)
    assert trial.run(rounds) == rounds == trial.memory.figures[ROUNDS]
    return trial


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
        network = whole(line)
        team = make_team(network, np.zeros(1, dtype=np.int64), 7, 0)
        team.size[0], team.nodes[0] = 7, range(9)
        refresh(network, team, 0, 1)
        remove_string(network, team, 0, 2, 3, skip, kept)
        assert team.nodes[0, : team.size[0] + 2].tolist() == [0, *expected, network.end]
        removed = set(range(1, 8)) - set(expected)
        assert {stop for stop in range(1, 8) if team.where[stop - 1] < 0} == removed


def test_hints() -> None:
    """Near stops are those with the shortest way there and back, nearest first."""
    instance = generate("mixed", nodes=60, seed=3)[0]
    network = useful_network(instance)
    some = network.number
    hints = make_hints(network, instance.max_stay[some])
    both = instance.travel + instance.travel.T
    for k, stop in enumerate(some):
        others = [other for other in some if other != stop]
        near = some[[other for other in hints.near[k] if other >= 0]]
        assert len(near) == min(len(others), hints.near.shape[1] - 1)
        ways = both[stop, near]
        assert ways == pytest.approx(np.sort(both[stop, others])[: len(near)])
        full = network.node["full_profit"][1 + k]
        time = instance.max_stay[stop] + np.sort(both[stop, others])[:5].mean() / 2
        assert hints.full_profit[k] == full
        assert hints.density[k] == pytest.approx(full / time)


def test_remember_and_recall() -> None:
    """A plan is taken back as it was, with all that is known of its routes."""
    instance = generate("mixed", nodes=12, seed=3)[0]
    trial = run(instance, 5, vehicles=2)
    network, team, memory = trial.network, trial.team, trial.memory
    every = np.ones(2, dtype=np.int64)
    remember(team, every, memory.nodes, memory.size)
    before = team.where.copy(), team.profit.copy(), travel_of(network, team)
    team.where[network.stop[team.nodes[0, 1 : team.size[0] + 1]]] = -1
    team.size[0], team.nodes[0, 1] = 0, network.end
    refresh(network, team, 0, 1)
    assert recall(network, team, every, memory.nodes, memory.size)
    assert (team.where == before[0]).all()
    assert (team.profit == before[1]).all()
    assert travel_of(network, team) == before[2]


@given(seed=st.integers(0, 2**32), vehicles=st.integers(1, 2))
def test_best_plan_earns_what_it_says(seed: int, vehicles: int) -> None:
    """Its routes are in time, name no stop twice, and earn the best profit."""
    instance = odd_instance(np.random.default_rng(seed), 5).replace(vehicles=vehicles)
    trial = run(instance, 30, vehicles, seed)
    routes = trial.best_routes
    stops = list(itertools.chain.from_iterable(routes))
    assert len(set(stops)) == len(stops)
    profit = float(optimal_stays(instance, routes).profit.sum())
    assert trial.memory.figures[BEST] == pytest.approx(profit, rel=1e-9, abs=1e-12)
    team = trial.team
    for r, nodes in enumerate(team.nodes):
        for k, node in enumerate(nodes[1 : team.size[r] + 1]):
            assert (team.where[node - 1], team.spot[node - 1]) == (r, k + 1)


@pytest.mark.parametrize("seed", range(10))
def test_small_instances_are_solved(seed: int) -> None:
    """On five stops, 100 rounds find the best plan there is."""
    instance = odd_instance(np.random.default_rng(seed), 5)
    assert run(instance, 100).memory.figures[BEST] == pytest.approx(
        brute_force(instance), rel=1e-9, abs=1e-9
    )


def test_halt() -> None:
    """Once the flag is set, nothing is done; the plan to start from is the best."""
    instance = generate("paper", nodes=20, seed=3)[0]
    trial = Trial(instance)
    profits = optimal_stays(instance, [[stop] for stop in range(1, 20)]).profit
    stop = 1 + int(profits.argmax())
    trial.memory.size[0], trial.memory.nodes[0, :3] = 1, [0, stop, trial.network.end]
    assert trial.run(99, np.ones(1, dtype=np.uint8)) == 0
    assert trial.best_routes == [[stop]]
    assert trial.memory.figures[BEST] == pytest.approx(profits.max())


def test_no_room() -> None:
    """The search says when a route needs more room; what is in the memory is still good."""
    line = Instance(budget=99, xy=[[k, 0] for k in range(8)], reward=[1] * 8)
    trial = Trial(line, stops=3)
    assert trial.run(99) == FULL
    assert trial.best_routes == [[]]


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
    trial = Trial(instance)
    memory = trial.memory
    memory.figures[END] = end
    for before, length in zip(np.cumsum([0, *lengths]), lengths, strict=False):
        assert memory.figures[ROUNDS] == before
        assert memory.figures[PART] == 0
        trial.run(length - 1)
        assert memory.figures[CYCLE] == length
        assert memory.figures[PART] == length - 1
        assert memory.figures[FINAL] == (before + length == end)
        trial.run(1)


def test_last_cycle_follows_the_end() -> None:
    """If the end of the last cycle is put off or comes sooner, its length changes with it."""
    (instance,) = generate("paper", nodes=20, window=100, seed=5)
    trial = Trial(instance)
    memory = trial.memory
    for end, length in ((300, 300), (900, 900), (40, 40), (15, 41)):
        memory.figures[END] = end
        trial.run(10)
        assert memory.figures[CYCLE] == length
