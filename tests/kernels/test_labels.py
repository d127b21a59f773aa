"""Tests of label setting and its bounds on small instances; they run without compilation too."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, optimal_stays
from decost.kernels.bounds import improve_penalties, make_bounds, make_grid, no_bounds
from decost.kernels.labels import (
    BEST,
    DONE,
    FULL,
    LABELS,
    PROVE,
    extend_labels,
    grow,
    lowest_bit,
    make_store,
    plant,
    route_of,
    solve_small,
    upper_bound,
    values_after,
)
from decost.kernels.reduction import Core, reduce_instance
from odd_instances import all_routes, brute_force, odd_instance


def reduced(instance: Instance) -> Core:
    """Reduce an instance as the methods do."""
    return reduce_instance(instance.arrays, instance.matrix is None)


@pytest.mark.parametrize("bit", [0, 1, 7, 31, 32, 62, 63])
def test_lowest_bit(bit: int) -> None:
    """The lowest bit is found whatever is set above it, the sign included."""
    word = np.int64(-1) << np.int64(bit)
    assert lowest_bit(word) == bit


@pytest.mark.parametrize("seed", range(40))
def test_reduction_keeps_an_optimum(seed: int) -> None:
    """Some best route uses only the stops and arcs that were kept."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    core = reduced(instance)
    follows: dict[int, set[int]] = {}
    count = len(core.stop)
    for place in range(count + 1):
        after = core.next_stop[core.next_start[place] : core.next_start[place + 1]]
        follows[int(core.stop[place]) if place < count else 0] = {int(core.stop[k]) for k in after}

    def kept(route: tuple[int, ...]) -> bool:
        places = (0, *route)
        return all(b in follows.get(a, ()) for a, b in zip(places, route, strict=False))

    routes = all_routes(instance)
    profit = optimal_stays(instance, routes).profit
    among = [p for route, p in zip(routes, profit, strict=True) if kept(route)]
    assert max(among) == pytest.approx(max(profit), rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_label_setting_equals_brute_force(seed: int) -> None:
    """The best label is the best of all routes, and its stops are the route."""
    random = np.random.default_rng(100 + seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    answer, profit, route, _ = solve_small(instance.arrays, instance.matrix is None, 500, 10**6)
    assert answer == DONE
    assert profit == pytest.approx(brute_force(instance), rel=1e-9)
    assert optimal_stays(instance, [route.tolist()]).profit[0] == pytest.approx(profit, rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_on_any_grid(seed: int) -> None:
    """However coarse the grid and whatever the penalties, no route earns more than the bound.

    The bound of every label on the way of the best route is no less than that route's profit.
    """
    random = np.random.default_rng(200 + seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    best = brute_force(instance)
    core = reduced(instance)
    if len(core.stop) == 0:
        assert best == 0
        return
    for steps in (1, 3, 10, 37):
        grid = make_grid(core, steps)
        penalty = np.where(random.random(len(core.stop)) < 0.5, random.random(len(core.stop)), 0)
        bounds = make_bounds(core, grid, penalty * random.choice([0, 1, 10]))
        assert bounds.root[0] >= best * (1 - 1e-9)
        store = make_store(core, 200, 4)
        store.visited[0] = 0
        plant(store, len(core.stop), 0.0, 0.0, 0, 0.0)
        assert extend_labels(core, no_bounds(), store, 0.0, PROVE, 10**6) == DONE
        label = int(store.counter[BEST])
        while label > 0:
            assert upper_bound(core, bounds, store, label) >= best * (1 - 1e-9)
            label = int(store.parent[label])


def test_penalties_improve_the_bound() -> None:
    """Two rich stops beside each other tempt the relaxed route to go to and fro.

    It may not come straight back, so a third stop is needed for a cycle; true routes serve each
    stop once, for 30 in all, and penalties bring the bound down to that.
    """
    instance = Instance(
        budget=20,
        xy=[[0, 0], [1, 0], [2, 0], [1, 1]],
        reward=[0, 10, 10, 10],
        min_stay=[0, 1, 1, 1],
    )
    core = reduced(instance)
    grid = make_grid(core, 200)
    penalty = np.zeros(3)
    state = np.array([1.0, np.inf, 0.0])
    first = improve_penalties(core, grid, penalty, state, 30.0, 1).root[0]
    for _ in range(60):
        improve_penalties(core, grid, penalty, state, 30.0, 1)
    assert first > 60
    assert 30 <= state[1] < 31


def test_growing_keeps_the_labels() -> None:
    """A store that is too small is doubled, again and again, and the result is the same."""
    random = np.random.default_rng(7)
    instance = Instance(budget=3, xy=random.random((8, 2)), reward=random.integers(1, 9, 8))
    core = reduced(instance)
    profits = []
    for capacity in (1, 4000):
        store = make_store(core, capacity, 2)
        store.visited[0] = 0
        plant(store, len(core.stop), 0.0, 0.0, 0, 0.0)
        grown = 0
        while extend_labels(core, no_bounds(), store, 0.0, PROVE, 10**6) == FULL:
            store = grow(store)
            grown += 1
        assert (grown > 0) == (capacity == 1)
        route = route_of(core, store, int(store.counter[BEST]))
        profits.append((float(store.best[0]), route.tolist(), int(store.counter[LABELS])))
    assert profits[0] == profits[1]


def test_values_after_say_when_there_is_no_room() -> None:
    """With room for few labels the answer is no; the caller comes back with more."""
    random = np.random.default_rng(8)
    instance = Instance(budget=3, xy=random.random((8, 2)), reward=random.integers(1, 9, 8))
    values = np.empty(8)
    route = np.empty(0, dtype=np.int64)
    wanted = np.ones(8, dtype=np.bool_)
    assert not values_after(instance.arrays, True, route, wanted, 1, values)
    assert values_after(instance.arrays, True, route, wanted, 4000, values)
    assert values.max() == pytest.approx(
        solve_small(instance.arrays, True, 4000, 10**6)[1], rel=1e-12
    )
