"""Tests of networks: what is left out, how windows are tightened, types of vehicles."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Alternative, Instance, Place, Stop, Vehicle, optimal_stays
from decost.timeline.network import (
    direct_starts,
    earliest_starts,
    latest_starts,
    network_as_given,
    of_type,
    useful_alternatives,
    useful_network,
)
from decost.timeline.steps import finish, follow
from odd_instances import all_routes, odd_instance
from seeds import seeds


def test_by_hand() -> None:
    """Three stops on a line: one is of use, one closes before anybody is there, one earns nothing.

    The first is at 3, open from 2 to 9, a stay of 1 to 5; with a budget of 10 it can be started
    at 3 and must be by 6, and of its 4 further units all fit.
    """
    instance = Instance(
        budget=10,
        xy=[[0, 0], [3, 0], [5, 0], [1, 0]],
        open=[0, 2, 0, 0],
        close=[0, 9, 4, 9],
        min_stay=[0, 1, 0, 0],
        reward=[0, 7, 8, 0],
        pieces=[[], [[2, 3], [1, 1]], [[5, 1]], [[0, 4]]],
    )
    network = useful_network(instance)
    assert network.number.tolist() == [1]
    assert (network.start, network.end, network.alternatives) == (0, 2, 1)
    assert network.stop.tolist() == [-1, 0, -1]
    assert network.travel[network.node["place"][0], network.node["place"][1]] == 3
    assert network.travel[network.node["place"][1], network.node["place"][2]] == 3
    node = network.node[1]
    assert [node["open"], node["latest"], node["reward"], node["full_profit"]] == [3, 6, 7, 14]
    assert network.pieces[node["piece_first"] : node["piece_last"]].tolist() == [[2, 3], [1, 1]]
    assert network.node["latest"][network.end] == network.horizon == 10
    more = useful_network(instance, keep=[3])
    assert more.number.tolist() == [1, 3]


@pytest.mark.parametrize("seed", seeds(20))
def test_tight_windows_lose_nothing(seed: int) -> None:
    """Every route of useful stops earns the same with tight windows; others earn no more."""
    random = np.random.default_rng(300 + seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    network = useful_network(instance)
    place = {int(stop): k + 1 for k, stop in enumerate(network.number)}
    pool = np.empty((len(network.pieces) + 1, 2))
    routes = all_routes(instance)
    best = 0.0
    for route, profit in zip(routes, optimal_stays(instance, routes).profit, strict=True):
        if route and all(stop in place for stop in route):
            nodes = np.array([place[stop] for stop in route])
            front = follow(network, nodes, pool)
            found = finish(network, front, network.end, pool, 0) if front.time < np.inf else -np.inf
            assert found == pytest.approx(profit, rel=1e-9, abs=1e-9)
            best = max(best, found)
    assert best == pytest.approx(optimal_stays(instance, routes).profit.max(), rel=1e-9)


@pytest.mark.parametrize("seed", seeds(10))
def test_direct_ways_are_the_shortest_in_the_plane(seed: int) -> None:
    """Where the triangle inequality holds, direct times and shortest ways agree on useful stops."""
    random = np.random.default_rng(seed)
    opens = random.uniform(-1, 4, 30)
    instance = Instance(
        budget=5,
        xy=random.random((30, 2)) * 3,
        open=opens,
        close=opens + random.random(30),
        leave_by=opens + random.random(30) * 2,
        min_stay=random.random(30) * 0.2,
        reward=np.ones(30),
    )
    arrays = instance.arrays
    anywhere = arrays._replace(triangle=False)
    early, late = direct_starts(arrays, 0)
    assert np.allclose(early, earliest_starts(arrays, 0), rtol=1e-12, atol=1e-12)
    stops = useful_alternatives(arrays, 0).alternative
    assert np.allclose(late[stops], latest_starts(arrays, 0)[stops], rtol=1e-12, atol=1e-12)
    assert stops.tolist() == useful_alternatives(anywhere, 0).alternative.tolist()


def test_as_given_all_stops_are_nodes() -> None:
    """Node k is stop k, windows are those of the instance, and the end is a node of its own."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [30, 0], [0, 4], [9, 0]],
        separate_end=True,
        open=[0, 1, 2],
        close=[0, 3, 8],
        leave_by=[0, np.inf, 7],
        min_stay=[0, 0, 2],
    )
    network = network_as_given(instance.arrays)
    assert network.number.tolist() == [1, 2]
    assert network.node["place"].tolist() == [0, 1, 2, 3]
    assert network.node["open"][1:3].tolist() == [1, 2]
    assert network.node["latest"].tolist() == [10, 3, 5, 10]
    assert network.travel[network.node["place"][1], network.node["place"][network.end]] == 21


def test_a_type_has_its_own_travel_times_start_and_end() -> None:
    """A second vehicle is twice as fast, starts at stop 2, ends at stop 1, and may not visit 2."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [3, 0], [0, 4]],
        reward=[0, 1, 2],
        fleet=[Vehicle(), Vehicle(start=2, end=1, begin=1, due=8, speed=2)],
        alternative_vehicles=[[True, True], [True, True], [True, False]],
    )
    for network in (network_as_given(instance.arrays), useful_network(instance, tight=False)):
        assert network.admits[:, 1:3].tolist() == [[True, True], [True, False]]
        fast = of_type(network, 1)
        pool = np.empty((1, 2))
        front = follow(fast, np.array([1]), pool)
        assert (front.time, front.value) == (3.5, 1)
        assert finish(fast, front, fast.end, pool, 0) == 1
        assert network.node["latest"][[fast.start, fast.end]].tolist() == [8, 8]
        assert follow(of_type(network, 0), np.array([1]), pool).time == 3
    alone = useful_network(instance, kind=1)
    assert alone.number.tolist() == [1]
    assert alone.node["open"][[alone.start, 1]].tolist() == [1, 3.5]


def test_alternatives_of_a_stop_are_nodes() -> None:
    """Two windows of one stop, the later one at another place; required stops have a bonus."""
    instance = Instance.build(
        budget=20,
        depot=Place(x=0, y=0),
        places=[Place("branch", x=6, y=8)],
        stops=[
            Stop(
                "museum",
                x=3,
                y=4,
                reward=5,
                required=True,
                alternatives=[Alternative(close=6), Alternative(place="branch", open=9)],
            ),
            Stop("tower", x=0, y=1, reward=2),
        ],
    )
    network = useful_network(instance)
    assert network.alternatives == 3
    assert network.stop.tolist() == [-1, 0, 0, 1, -1]
    assert network.first.tolist() == [1, 3, 4]
    assert network.alternative.tolist() == [0, 1, 2, 3, 0]
    assert network.number.tolist() == [1, 2]
    assert network.bonus == 8
    assert network.node["reward"][1:4].tolist() == [13, 13, 2]
    assert network.node["latest"][1:4].tolist() == [6, 10, 19]
    assert network.travel[network.node["place"][1], network.node["place"][2]] == 5
    given = network_as_given(instance.arrays)
    assert given.bonus == 0
    assert given.node["reward"][1:4].tolist() == [5, 5, 2]
