"""Tests of the search on routes with windows on which all stays are fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import decost
from decost import Alternative, Instance, Place, Stop, Vehicle, check
from decost.draws import random_state
from decost.search.fixed_routes import (
    Visits,
    best_place,
    insert,
    look_again,
    make_visits,
    recreate_routes,
    ruin_routes,
    take_over,
)
from decost.search.moves import best_insertion
from decost.search.ruin import make_hints, make_notes, recall
from decost.search.search import Searches
from decost.search.team import Team, make_team
from decost.timeline.fixed_stays import fixed_stays_of, has_fixed_stays
from decost.timeline.lengths import has_fixed_lengths
from decost.timeline.network import useful_network
from oracle import brute_force
from seeds import seeds

GO = np.zeros(1, dtype=np.uint8)


def windows(seed: int, stops: int = 6, **others: Any) -> Instance:
    """Draw a problem with windows, fixed rewards and fixed stays."""
    random = np.random.default_rng(seed)
    budget = random.uniform(1.0, 3.0)
    opens = random.uniform(-0.5, budget, stops + 1)
    given: dict[str, Any] = {
        "budget": budget,
        "xy": random.random((stops + 1, 2)),
        "open": opens,
        "close": opens + random.choice([0.0, 0.3, 1.0], stops + 1),
        "reward": random.integers(0, 20, stops + 1),
        "min_stay": random.choice([0.0, 0.1], stops + 1),
    }
    return Instance(**given | others)


def variants(seed: int) -> dict[str, Instance]:
    """Give tiny problems of all kinds that have windows but nothing to choose about stays."""
    random = np.random.default_rng(seed)
    plain = windows(seed)
    stops = [
        Stop(
            reward=float(random.integers(1, 20)),
            required=k == 1,
            alternatives=(
                Alternative(x=random.random(), y=random.random(), open=0.5, close=0.9),
                Alternative(x=random.random(), y=random.random(), open=1.2, vehicles=("b",)),
            ),
        )
        if k < 2
        else Stop(
            x=random.random(),
            y=random.random(),
            reward=float(random.integers(1, 20)),
            open=random.uniform(0.0, 1.0),
            leave_by=1.5,
            min_stay=0.1,
        )
        for k in range(5)
    ]
    return {
        "one": plain,
        "end": windows(seed, xy=random.random((8, 2)), separate_end=True),
        "asymmetric": plain.replace(travel=random.uniform(0.1, 1.0, (7, 7))),
        "late": plain.replace(leave_by=plain.open + 0.2),
        "team": plain.replace(vehicles=2),
        "required": plain.replace(required=random.random(7) < 0.4),
        "own": Instance.build(
            depot=Place(x=0.5, y=0.5),
            budget=2.0,
            stops=stops,
            vehicles=[Vehicle("a"), Vehicle("b", begin=0.2, speed=1.5)],
        ),
    }


@pytest.mark.parametrize("kind", list(variants(0)))
@pytest.mark.parametrize("seed", seeds(2))
def test_all_plans_there_are(kind: str, seed: int) -> None:
    """Plans keep all rules, and are as good as the best of all plans, which is never surpassed."""
    instance = variants(seed)[kind]
    network = useful_network(instance, tight=False)
    assert has_fixed_stays(network)
    assert not has_fixed_lengths(network) or len(network.number) == 0
    result = decost.solve(instance, "search", iterations=3000, seed=seed)
    assert [one for one in check(instance, result.solution) if one.rule != "required"] == []
    required, profit = brute_force(instance)
    assert result.profit == pytest.approx(profit)
    visited = {visit.stop for route in result.solution.routes for visit in route.visits}
    assert len(visited.intersection(np.flatnonzero(instance.required))) == required


def test_who_uses_it() -> None:
    """Stays that can be longer, and routes with too much room for all stops, are for others."""

    def kind(instance: Instance) -> str:
        searches = Searches(instance, decost.solve(instance, "greedy").solution, 0, 1)
        return type(searches._searches[0]).__name__

    instance = windows(1)
    assert kind(instance) == "_FixedSearch"
    assert kind(instance.replace(rate=np.ones(7), max_stay=instance.min_stay + 1)) == "_TimedSearch"
    free = instance.replace(open=np.zeros(7), close=np.full(7, np.inf))
    assert kind(free) == "_LongSearch"


class Trial:
    """Routes with times beside routes with time-profit functions, to be compared."""

    def __init__(self, instance: Instance) -> None:
        self.network = useful_network(instance, tight=False)
        self.times = fixed_stays_of(self.network)
        stops = len(self.network.number)
        self.team: Team = make_team(self.network, instance.arrays.vehicle_type, stops, 0)
        self.visits: Visits = make_visits(self.team)
        self.hints = make_hints(self.network, np.zeros(stops))
        self.notes = make_notes(self.team)
        for r in range(len(self.visits.size)):
            look_again(self.network, self.times, self.visits, r, 1)

    def require_equal(self) -> None:
        """Compare times, profits and places for stops with those of the other rule's code."""
        network, team, visits = self.network, self.team, self.visits
        every = np.ones(len(team.size), dtype=np.int64)
        assert recall(network, team, every, visits.nodes, visits.size)
        assert visits.where.tolist() == team.where.tolist()
        assert visits.profit.tolist() == pytest.approx(team.profit.tolist())
        for r in range(len(team.size)):
            for k in range(1, team.size[r] + 1):
                assert visits.leave[r, k] == pytest.approx(team.front["time"][r, k])
                assert visits.late[r, k] == pytest.approx(team.back["time"][r, k])
        for stop in np.flatnonzero(team.where < 0).tolist():
            mine = best_place(network, self.times, visits, stop, 0.0, random_state(1))
            other = best_insertion(network, team, stop, 0.0, random_state(1))
            if np.isfinite(visits.profit).all():  # else a stop gains what cannot be said
                assert mine[:3] == other[:3]
                assert mine[3:] == pytest.approx(other[3:])


@pytest.mark.parametrize("vehicles", [1, 3])
@pytest.mark.parametrize("way", ["as the crow flies", "asymmetric"])
def test_times_stay_right(vehicles: int, way: str) -> None:
    """In many rounds times and places are those of the time-profit functions."""
    random = np.random.default_rng(1)
    reward = random.integers(1, 20, 41)
    instance = windows(3, stops=40, budget=3.0, vehicles=vehicles, reward=reward)
    if way == "asymmetric":
        noise = random.uniform(0.1, 1.0, instance.travel.shape)
        instance = instance.replace(travel=instance.travel * noise)
    trial = Trial(instance)
    network, times, visits = trial.network, trial.times, trial.visits
    state = random_state(5)
    broken = 0
    for k in range(60):
        seed = k % len(visits.where)
        nodes, size = visits.nodes.copy(), visits.size.copy()
        ruin_routes(network, times, visits, trial.hints, seed, state, trial.notes.touched)
        broken += not np.isfinite(visits.profit).all()
        trial.require_equal()
        recreate_routes(network, times, visits, trial.hints, trial.notes, seed, state, GO)
        trial.require_equal()
        if k % 3 == 0 or not np.isfinite(visits.profit).all():
            take_over(network, times, visits, trial.notes.touched, nodes, size)
            assert visits.size.tolist() == size.tolist()
            trial.require_equal()
    assert visits.size.sum() > 3
    assert broken > 0 or way != "asymmetric"  # where a visit left out makes the next one late


def test_insert() -> None:
    """A stop comes where it puts the next visit off least, and waits until it opens."""
    line = Instance(
        budget=20, xy=[[0, 0], [2, 0], [4, 0]], open=[0, 5, 0], reward=[0, 1, 1], min_stay=[0, 1, 1]
    )
    trial = Trial(line)
    for stop in (1, 0):
        place = best_place(trial.network, trial.times, trial.visits, stop, 0.0, random_state(1))
        insert(trial.network, trial.times, trial.visits, place)
    assert trial.visits.nodes[0, :4].tolist() == [0, 2, 1, 3]
    assert trial.visits.leave[0, 1:4].tolist() == [5.0, 8.0, 10.0]
    assert trial.visits.late[0, 1:3].tolist() == [14.0, 17.0]
    assert trial.visits.travel[0] == 8.0
