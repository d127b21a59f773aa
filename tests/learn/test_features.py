"""Tests of instances as the networks see them: useful stops alone, and no units."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from decost import Instance, generate, optimal_stays
from decost.inference.problems import SYMMETRIES, turn
from decost.learn.features import load_problems, useful_part
from decost.learn.rollout import greedy_choice, roll_out, start_state
from decost.learn.view import observe
from odd_instances import all_routes, brute_force, odd_instance
from policies import KINDS, in_other_units, lively_instances, routes_of, small_network
from seeds import seeds

# Useful stops.


def on_a_line(**changes: object) -> Instance:
    """Put stops 1 to 7 on a line, of which 2 and 7 are useful."""
    given = {
        "budget": 10,
        "xy": [[0, 0], [5.5, 0], [4, 0], [3, 0], [3, 0], [2, 0], [1, 0], [1, 0]],
        "open": [0, 0, 0, 0, 8, 0, 0, 0],
        "close": [9, 9, 9, 2, 9, 9, 9, 9],
        "leave_by": [9, 9, 9, 9, 9, 4, 9, 9],
        "min_stay": [0, 0, 0, 0, 0, 3, 0, 0],
        "rate": [0, 1, 1, 1, 1, 1, 0, 2],
        "max_stay": [0, 3, 9, 3, 3, 3, 3, 3],
    }
    return Instance(**(given | changes))  # type: ignore[arg-type]


def test_useful_stops_by_hand() -> None:
    """Too far, closed too early, open too late to be home, left too early, and nothing to earn.

    Home from stop 1 is at 11, stop 3 is reached at 3 and closes at 2, home from stop 4 is at 11,
    stop 5 must be left at 4 but takes from 2 to 5, and stop 6 earns nothing.
    """
    problems = load_problems([on_a_line()])
    assert problems.node.tolist() == [[0, 2, 7]]
    assert problems.latest.tolist() == [[10, 6, 9]]
    # Stop 2 can be served from 4 on, and must be left at 9; stop 7 for at most 3.
    assert problems.profit_unit.tolist() == [5.5]
    assert problems.time_unit.tolist() == [2 * (4 + 1 + 3) / 6]
    assert useful_part(on_a_line()) == on_a_line().only([2, 7])


def test_stop_without_profit_in_a_matrix() -> None:
    """Where travel times are any, a stop that earns nothing may be a short cut, and stays."""
    instance = on_a_line()
    assert load_problems([instance.replace(travel=instance.travel)]).node.tolist() == [[0, 2, 6, 7]]


@pytest.mark.parametrize("seed", seeds(16))
def test_nothing_of_worth_is_lost(seed: int) -> None:
    """Every route in any order tells which stops are of use; the best of them remains."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    useful = useful_part(instance)
    (kept,) = load_problems([instance]).node.tolist()
    assert useful == instance.only(kept[1:])
    assert brute_force(useful) == pytest.approx(brute_force(instance), rel=1e-9, abs=1e-9)
    routes = all_routes(instance)
    profit = optimal_stays(instance, routes).profit
    for stop in range(1, instance.nodes):
        through = [value for route, value in zip(routes, profit, strict=True) if stop in route]
        without = [value for route, value in zip(routes, profit, strict=True) if stop not in route]
        if stop in kept:
            assert max(through) > -np.inf
        else:
            assert max(through) <= max(without)


def test_padding() -> None:
    """Numbers, profits and places of each instance come first, and then zeros."""
    first, second = on_a_line(), generate("paper", nodes=20, seed=1)[0]
    alone, other = load_problems([first]), load_problems([second])
    both = load_problems([first, second])
    assert len(both) == 2
    size = other.node.shape[1]
    assert size > 3
    for table in ("node", "xy", "latest"):
        pair = getattr(both, table)
        assert torch.equal(pair[0, :3], getattr(alone, table)[0])
        assert torch.equal(pair[1], getattr(other, table)[0])
    assert not both.node[0, 3:].any()
    assert (both.latest[0, 3:] == -torch.inf).all()
    assert both.vehicles.tolist() == [1, 1]


def test_no_stops() -> None:
    """Without stops, or without useful ones, the depot is left, and all numbers are finite."""
    empty = Instance(budget=1, xy=[[3, 4]])
    problems = load_problems([empty, on_a_line(budget=0.5)])
    assert problems.node.tolist() == [[0], [0]]
    assert problems.node_features().isfinite().all()
    assert load_problems([]).node.shape[0] == 0


# Units.


def test_features_by_hand() -> None:
    """Coordinates in the square, windows as parts of the budget, stays in mean travel times."""
    instance = Instance(
        budget=20,
        xy=[[10, 10], [14, 10], [10, 13]],
        open=[0, -5, 5],
        close=[0, 10, 40],
        leave_by=[0, 99, 16],
        reward=[0, 6, 0],
        min_stay=[0, 0, 2],
        pieces=[[], [[4, 1], [2, 2]], [[3, 2]]],
    )
    # The mean way is (4 + 3 + 5) / 3 = 4, the stops earn 6 + 4 + 4 and 6: 10 on average.
    problems = load_problems([instance])
    assert problems.time_unit.tolist() == [4]
    assert problems.profit_unit.tolist() == [10]
    assert problems.max_stay.tolist() == [[0, 3, 4]]
    expected = [
        [-0.5, -0.375, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, -0.375, 0.0, 0.5, 1.6, 0.75, 0.6, 0.0],
        [-0.5, 0.375, 0.25, 1.0, 1.2, 1.0, 0.0, 0.5],
    ]
    assert problems.node_features()[0].numpy() == pytest.approx(np.array(expected), abs=1e-6)


def test_stay_longer_than_the_budget() -> None:
    """No stay counts for more than the budget."""
    instance = Instance(budget=8, xy=[[0, 0], [1, 0]], rate=[0, 1], max_stay=[0, 1e9])
    assert load_problems([instance]).max_stay.tolist() == [[0, 8]]


UNITS = {
    "miles and hours": (1 / 60, 1.0, 0.6214, (0.0, 0.0)),
    "other money": (1.0, 250.0, 1.0, (0.0, 0.0)),
    "all, and another origin": (1000.0, 1e-3, 37.0, (-5.0, 3.0)),
}


def unlike() -> list[Instance]:
    """Give instances with coordinates and without, with all that they can have."""
    mixed = [*generate("mixed", nodes=12, count=3, seed=4), *lively_instances(3)]
    (paper,) = generate("paper", nodes=30, window=300, seed=2)
    return [*mixed, paper, paper.replace(xy=None, travel=1.1 * paper.travel, vehicles=2)]


@pytest.mark.parametrize("units", UNITS)
def test_units_do_not_matter_to_features(units: str) -> None:
    """Nodes and candidates are described by the same numbers."""
    instances = unlike()
    here = load_problems(instances)
    there = load_problems([in_other_units(one, *UNITS[units]) for one in instances])
    assert torch.equal(here.node, there.node)
    torch.testing.assert_close(there.time_unit, UNITS[units][0] * here.time_unit)
    torch.testing.assert_close(there.profit_unit, UNITS[units][1] * here.profit_unit)
    torch.testing.assert_close(here.node_features(), there.node_features(), atol=1e-5, rtol=1e-5)
    views = []
    for problems in (here, there):
        state = start_state(problems, 1, prefix=True)
        views.append(observe(problems, state, torch.arange(len(instances)), 50))
    # Stops where service can start at the same time may come in any order.
    order = [view.node.argsort(1) for view in views]
    tokens = [v.tokens[torch.arange(len(v))[:, None], o] for v, o in zip(views, order, strict=True)]
    live = [v.live.gather(1, o)[..., None] for v, o in zip(views, order, strict=True)]
    torch.testing.assert_close(tokens[0] * live[0], tokens[1] * live[1], atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", UNITS)
def test_units_do_not_matter_to_routes(units: str, kind: str) -> None:
    """Both networks build the same routes, and not the empty ones alone."""
    instances = unlike()
    network = small_network(kind, seed=3)
    plans = []
    for some in (instances, [in_other_units(one, *UNITS[units]) for one in instances]):
        problems = load_problems(some)
        with torch.no_grad():
            rollout = roll_out(network, problems, 1, greedy_choice)
        plans.append([routes_of(problems, rollout, row, 0) for row in range(len(some))])
    assert plans[0] == plans[1]
    assert sum(len(route) for plan in plans[0] for route in plan) > 10


def test_matrix_without_coordinates() -> None:
    """All coordinates are 0, and everything else is told as with them."""
    (instance,) = generate("paper", nodes=30, window=300, seed=2)
    with_xy = load_problems([instance])
    without = load_problems([instance.replace(xy=None, travel=instance.travel)])
    assert torch.equal(without.node, with_xy.node)
    assert not without.xy.any()
    assert with_xy.xy.any()
    features, others = without.node_features(), with_xy.node_features()
    torch.testing.assert_close(features[..., 2:], others[..., 2:])


def test_stop_out_of_reach_changes_nothing() -> None:
    """A stop that is never seen is not seen by what it does to the scale of the map either."""
    (near,) = generate("paper", nodes=20, seed=3)
    columns = {
        field: np.append(getattr(near, field), value)
        for field, value in (("open", 0), ("close", 9), ("leave_by", 9), ("reward", 9))
    }
    far = near.replace(
        xy=np.vstack((near.xy, [[1e6, 1e6]])),
        min_stay=np.zeros(21),
        pieces=[*near.pieces, []],
        **columns,
    )
    assert torch.equal(load_problems([near]).node, load_problems([far]).node)
    torch.testing.assert_close(
        load_problems([far]).node_features(), load_problems([near]).node_features()
    )


def test_trained_on_what_is_planned_with() -> None:
    """Training reduces instances before they become problems; that makes no difference."""
    for instance in generate("paper", nodes=20, count=4, seed=3):
        whole, useful = load_problems([instance]), load_problems([useful_part(instance)])
        torch.testing.assert_close(useful.node_features(), whole.node_features())


@pytest.mark.parametrize("kind", KINDS)
def test_way_from_a_stop_to_itself(kind: str) -> None:
    """Nobody takes it, so that any number may stand there: files often have a large one."""
    (instance,) = generate("paper", nodes=20, seed=3)
    travel = instance.travel.copy()
    np.fill_diagonal(travel, 1e5)
    network = small_network(kind)
    logits = []
    for matrix in (instance.travel, travel):
        problems = load_problems([instance.replace(travel=matrix)])
        state = start_state(problems, 1, prefix=network.wants_prefix)
        with torch.no_grad():
            logits.append(network.step(network.begin(problems), state)[0])
    torch.testing.assert_close(logits[1], logits[0])


# Symmetries.


def test_turn() -> None:
    """The eight positions are all the ways to turn and mirror a square, the first as it is."""
    corners = np.array([[3.0, 1.0], [-3.0, 1.0], [0.0, 2.0]])
    found = set()
    for position in range(SYMMETRIES):
        turned = turn(corners, np.array(position))
        np.testing.assert_allclose(turned @ turned.T, corners @ corners.T)
        found.add(tuple(turned[0].tolist()))
    signs = set(itertools.product((1, -1), repeat=2))
    assert found == {(3 * a, b) for a, b in signs} | {(a, 3 * b) for a, b in signs}
    assert turn(corners, np.array(0)).tolist() == corners.tolist()


def test_turn_each_by_its_own_position() -> None:
    """Positions may differ from place to place."""
    places = np.array([[1.0, 2.0]] * 8)
    together = turn(places, np.arange(8))
    apart = [turn(places[k], np.array(k)) for k in range(8)]
    assert together.tolist() == np.stack(apart).tolist()
    assert len({tuple(place) for place in together.tolist()}) == 8


def test_turned_features() -> None:
    """Eight descriptions of each instance, one after another, that differ in coordinates alone."""
    problems = load_problems(generate("mixed", nodes=8, count=2, seed=1))
    plain, turned = problems.node_features(), problems.turned().node_features()
    assert turned.shape == (16, *plain.shape[1:])
    for row in range(16):
        assert torch.equal(turned[row, :, 2:], plain[row // 8, :, 2:])
        expected = turn(plain[row // 8, :, :2].numpy(), np.array(row % 8))
        assert turned[row, :, :2].tolist() == expected.tolist()


# Some of the stops.


def test_only_by_hand() -> None:
    """Stops in a new order keep what is theirs; the end depot stays the last place."""
    travel = np.arange(25.0).reshape(5, 5)
    instance = Instance(
        budget=7,
        xy=[[0, 0], [1, 0], [2, 0], [3, 0], [9, 9]],
        travel=travel,
        separate_end=True,
        open=[0, 1, 2, 3],
        close=[0, 4, 5, 6],
        leave_by=[0, 7, 8, 9],
        reward=[0, 10, 20, 30],
        min_stay=[0, 0.1, 0.2, 0.3],
        pieces=[[], [[1, 1]], [], [[5, 1], [4, 2]]],
        vehicles=2,
        ids=["a", "b", "c"],
        name="some",
    )
    part = instance.only([3, 1])
    assert part == Instance(
        budget=7,
        xy=[[0, 0], [3, 0], [1, 0], [9, 9]],
        travel=[[0, 3, 1, 4], [15, 18, 16, 19], [5, 8, 6, 9], [20, 23, 21, 24]],
        separate_end=True,
        open=[0, 3, 1],
        close=[0, 6, 4],
        leave_by=[0, 9, 7],
        reward=[0, 30, 10],
        min_stay=[0, 0.3, 0.1],
        pieces=[[], [[5, 1], [4, 2]], [[1, 1]]],
        vehicles=2,
        ids=["c", "a"],
        name="some",
    )
    assert part.end == 3
    nothing = instance.only([])
    assert (nothing.stops, nothing.end, nothing.ids) == (0, 1, None)
    assert nothing.travel.tolist() == [[0, 4], [20, 24]]
    assert instance.only([1, 2, 3]) == instance


@pytest.mark.parametrize("seed", seeds(8))
def test_only_keeps_the_profits_of_routes(seed: int) -> None:
    """A route earns the same by its new numbers, feasible or not, and so do its stays."""
    random = np.random.default_rng(100 + seed)
    instance = odd_instance(random, 5)
    chosen = random.permutation(np.arange(1, 6))[:3].tolist()
    part = instance.only(chosen)
    assert part.matrix is None or instance.matrix is not None
    routes = all_routes(part)
    found = optimal_stays(part, routes)
    expected = optimal_stays(instance, [[chosen[k - 1] for k in route] for route in routes])
    assert found.profit.tolist() == expected.profit.tolist()
    assert found.broken.tolist() == expected.broken.tolist()
    for mine, theirs in zip(found.stays, expected.stays, strict=True):
        assert mine.tolist() == theirs.tolist()
