"""Tests of the best times for an order of stops with several alternatives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from decost import Alternative, Instance, Place, Stop, Vehicle, optimal_stays
from decost.timeline.network import network_as_given
from decost.timeline.orders import FULL, follow_order, make_functions
from decost.timeline.routes import best_solution, solution_for, stays_along
from oracle import tiny_instance
from seeds import seeds


def two_windows(close: float = 9, min_stay: float = 0) -> Instance:
    """Make a museum that opens twice, and a tower beyond it that closes in between."""
    return Instance.build(
        budget=20,
        depot=Place(x=0, y=0),
        stops=[
            Stop(
                "museum",
                x=1,
                y=0,
                profit=[[1.0, 5.0]],
                alternatives=[Alternative(leave_by=4), Alternative(open=10)],
            ),
            Stop("tower", x=2, y=0, reward=3, close=close, min_stay=min_stay),
        ],
    )


def test_by_hand() -> None:
    """Alone and after the tower the afternoon is best; before it there is only the morning."""
    instance = two_windows()
    found = optimal_stays(instance, [[1], [1, 2], [2, 1]])
    assert found.profit.tolist() == [5, 6, 8]
    assert [some.tolist() for some in found.alternatives] == [[1], [0, 0], [0, 1]]
    assert [some.tolist() for some in found.stays] == [[5], [3, 0], [0, 5]]
    plan = solution_for(instance, [[2, 1]])
    assert [(visit.stop, visit.alternative) for visit in plan.visits] == [(2, 0), (1, 1)]
    assert plan.profit == 8


def test_where_an_order_breaks() -> None:
    """The position of a stop that is too late, has no alternative, or admits others only."""
    long = two_windows(min_stay=17)  # from 2 to 19, and home at 21
    assert optimal_stays(long, [[1, 2], [2, 1], [2], [1]]).broken.tolist() == [2, 2, 1, -1]
    late = two_windows(close=1.5)
    found = optimal_stays(late, [[1, 2], [2, 1], [1]])
    assert found.broken.tolist() == [1, 0, -1]
    assert found.profit.tolist() == [-np.inf, -np.inf, 5]
    closed = Instance.build(
        budget=9,
        depot=Place(x=0, y=0),
        vehicles=[Vehicle("red"), Vehicle("blue")],
        stops=[
            Stop("never", x=1, y=0, alternatives=[]),
            Stop("blue only", x=1, y=0, reward=1, vehicles=["blue"]),
        ],
    )
    found = optimal_stays(closed, [[2, 1], [1], [2], [2]], vehicles=[1, 0, 0, 1])
    assert found.broken.tolist() == [1, 0, 0, -1]
    with pytest.raises(ValueError, match=r"route \[2\] breaks a deadline"):
        solution_for(closed, [[2]])
    with pytest.raises(ValueError, match="no vehicle 2"):
        optimal_stays(closed, [[1]], vehicles=[2])
    with pytest.raises(ValueError, match="there are 2 for 1 routes"):
        optimal_stays(closed, [[1]], vehicles=[0, 1])


@pytest.mark.parametrize("seed", seeds(20))
def test_as_good_as_any_choice_of_alternatives(seed: int) -> None:
    """Every order of at most three stops earns what its best sequence of alternatives earns."""
    instance = tiny_instance(np.random.default_rng(seed))
    first = instance.alternative_first
    for vehicle in range(instance.vehicles):
        for size in (1, 2, 3):
            for order in itertools.permutations(range(1, min(instance.nodes, 5)), size):
                choices = list(itertools.product(*(range(first[s], first[s + 1]) for s in order)))
                profits = stays_along(instance, choices, [vehicle] * len(choices)).profit
                best = max(profits, default=-np.inf)
                found = optimal_stays(instance, [order], vehicles=[vehicle])
                assert found.profit[0] == pytest.approx(best, rel=1e-9, abs=1e-9)
                assert (found.broken[0] < 0) == (best > -np.inf)


def test_more_functions_than_there_is_room_for() -> None:
    """A kernel says so when there is no room, and the caller makes more."""
    count = 12
    stops = [
        Stop(
            f"s{k}",
            x=1,
            y=0,
            profit=[[1.0 + k / 7, 2.0]],
            alternatives=[Alternative(open=3.0 * k + w, leave_by=3.0 * k + w + 2) for w in (0, 1)],
        )
        for k in range(count)
    ]
    instance = Instance.build(budget=99, depot=Place(x=0, y=0), stops=stops)
    network = network_as_given(instance.arrays)
    order = np.arange(count)
    assert follow_order(network, 0, order, make_functions(network, 4))[0] == FULL
    found = optimal_stays(instance, [order + 1])
    numbers = instance.alternative_first[order + 1] + found.alternatives[0]
    assert best_solution(instance, [numbers]).profit == pytest.approx(found.profit[0])
