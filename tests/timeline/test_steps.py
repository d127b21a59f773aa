"""Tests of the steps of a route: by hand, and a route joined anywhere earns what it earns."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, optimal_stays
from decost.timeline.network import Network, network_as_given, useful_network
from decost.timeline.steps import (
    Back,
    Front,
    depart,
    earliest,
    finish,
    follow,
    in_time,
    join,
    most_beyond,
    precede,
    reach,
    retire,
    serve,
)
from odd_instances import odd_instance
from seeds import seeds


def end_of(network: Network, route: list[int], pool: np.ndarray) -> Back:
    """Go backwards from the end through a route."""
    back = retire(network, network.end)
    for node in reversed(route):
        back = precede(network, back, node, pool, 0, pool, 0)
    return back


def joined(instance: Instance, network: Network, route: list[int], k: int) -> tuple[float, float]:
    """Profit and margin of the first k nodes of a route and the others, each by itself."""
    one, two = np.empty((50, 2)), np.empty((50, 2))
    front = follow(network, np.array(route[:k], dtype=np.int64), one)
    if front.time == np.inf:
        return -np.inf, 0.0
    return join(network, front, one, 0, end_of(network, route[k:], two), two, 0)


def test_by_hand() -> None:
    """A stop of rate 2 at distance 3, open from 5 to 8, stays up to 4, a budget of 12.

    Service starts at 5 with nothing collected and leaves at 5 or later, 4 units of rate 2 being
    open; of these all fit before 9, when the way home has to begin.
    """
    instance = Instance(
        budget=12, xy=[[0, 0], [3, 0]], open=[0, 5], close=[0, 8], rate=[0, 2], max_stay=[0, 4]
    )
    network = network_as_given(instance.arrays)
    pool = np.empty((9, 2))
    front = depart(network, network.start)
    assert front == Front(0, 0, 0, np.inf, 0)
    start = reach(network, front, 1, pool, 0, pool, 0)
    assert (start.time, start.value, start.pieces) == (5, 0, 0)
    front = serve(network, start, pool, 0)
    assert front == Front(1, 5, 0, np.inf, 1)
    assert pool[0].tolist() == [2, 4]
    assert finish(network, front, network.end, pool, 0) == 8
    assert end_of(network, [1], pool) == Back(1, 8, 2, 1)  # at 8 there is one unit left
    assert pool[0].tolist() == [2, 3]
    assert earliest(network, 0, 0.0, 1) == 5
    assert in_time(network, 1, 8.0)
    assert not in_time(network, 1, 8.1)
    assert most_beyond(network, 1, 0.5) == 6


def test_too_late_is_said() -> None:
    """The stop closes at 2 and is 3 away; service at 2 leaves no time for the way home either."""
    instance = Instance(budget=4, xy=[[0, 0], [3, 0]], close=[0, 2], reward=[0, 1])
    network = network_as_given(instance.arrays)
    pool = np.empty((1, 2))
    front = depart(network, network.start)
    assert reach(network, front, 1, pool, 0, pool, 0).time == np.inf
    assert follow(network, np.array([1]), pool).time == np.inf
    assert finish(network, Front(1, 2.0, 0.0, np.inf, 0), network.end, pool, 0) == -np.inf
    assert join(network, front, pool, 0, end_of(network, [1], pool), pool, 0)[0] == -np.inf


def test_leave_by_binds_while_waiting() -> None:
    """A stop of rate 3 must be left by 3; the next one opens at 10: all else of the wait is idle.

    Rate 3 for 3 units and then 1 for the 2 that are left before the way home.
    """
    instance = Instance(
        budget=12,
        travel=np.zeros((3, 3)),
        open=[0, 0, 10],
        leave_by=[0, 3, np.inf],
        rate=[0, 3, 1],
        max_stay=[0, 9, 9],
    )
    network = network_as_given(instance.arrays)
    for k in range(3):
        assert joined(instance, network, [1, 2], k)[0] == 11
    assert joined(instance, network, [1, 2], 1)[1] == 0  # an hour of the wait is worth nothing


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("seed", seeds(25))
def test_a_route_joined_anywhere_earns_the_same(seed: int, tight: bool) -> None:
    """Forwards, backwards, and joined at any place: all equal the optimal stays.

    If the way where they meet takes longer, at least the margin is lost by the unit.
    """
    random = np.random.default_rng(500 + seed)
    instance = odd_instance(random, int(random.integers(1, 6)))
    network = useful_network(instance) if tight else network_as_given(instance.arrays)
    if network.alternatives == 0:
        return
    for _ in range(5):
        size = int(random.integers(1, network.alternatives + 1))
        route = (1 + random.permutation(network.alternatives)[:size]).tolist()
        stops = network.number[network.stop[route]]
        profit = float(optimal_stays(instance, [stops.tolist()]).profit[0])
        for k in range(size + 1):
            found, margin = joined(instance, network, route, k)
            assert found == pytest.approx(profit, rel=1e-9, abs=1e-9)
            if profit > -np.inf:
                longer = 1e-3 * instance.budget
                travel = network.travel.copy()
                nodes = [network.start, *route, network.end]
                travel[network.node["place"][nodes[k]], network.node["place"][nodes[k + 1]]] += (
                    longer
                )
                less, _ = joined(instance, network._replace(travel=travel), route, k)
                assert less <= found - margin * longer + 1e-9 * max(1.0, found)
