"""Tests of label setting and its bounds on small instances; they run without compilation too."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, optimal_stays
from decost.exact.bounds import improve_penalties, make_bounds, make_grid, no_bounds
from decost.exact.exact import Problem
from decost.exact.labels import (
    BEST,
    CAPACITY,
    DONE,
    FULL,
    LABELS,
    LEFT,
    MORE,
    PROVE,
    Attempt,
    Store,
    extend_labels,
    grow,
    lowest_bit,
    make_store,
    plant_root,
    route_of,
    solve_small,
    upper_bound,
    values_after,
)
from odd_instances import all_routes, brute_force, odd_instance
from seeds import seeds


def planted(problem: Problem, capacity: int, classes: int) -> Store:
    """Make a store with the label of the empty route."""
    store = make_store(problem.network, capacity, classes)
    plant_root(problem.network, store, 0.0)
    return store


@pytest.mark.parametrize("bit", [0, 1, 7, 31, 32, 62, 63])
def test_lowest_bit(bit: int) -> None:
    """The lowest bit is found whatever is set above it, the sign included."""
    word = np.int64(-1) << np.int64(bit)
    assert lowest_bit(word) == bit


@pytest.mark.parametrize("seed", seeds(25))
def test_reduction_keeps_an_optimum(seed: int) -> None:
    """Some best route uses only the stops and arcs that were kept."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    problem = Problem.of(instance)
    network, graph = problem
    follows = {
        int(node): set(problem.alternatives(graph.head[graph.first[node] : graph.first[node + 1]]))
        for node in range(network.alternatives + 1)
    }
    place = {0: 0} | {int(stop): k + 1 for k, stop in enumerate(network.number)}

    def kept(route: tuple[int, ...]) -> bool:
        pairs = zip((0, *route), route, strict=False)
        return all(b in follows.get(place.get(a, -1), ()) for a, b in pairs)

    routes = all_routes(instance)
    profit = optimal_stays(instance, routes).profit
    among = [p for route, p in zip(routes, profit, strict=True) if kept(route)]
    assert max(among) == pytest.approx(max(profit), rel=1e-9)


@pytest.mark.parametrize("seed", seeds(25))
def test_label_setting_equals_brute_force(seed: int) -> None:
    """The best label is the best of all routes, and its stops are the route."""
    random = np.random.default_rng(100 + seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    answer, profit, route, _ = solve_small(instance.arrays, Attempt(10**6, CAPACITY))
    assert answer == DONE
    assert profit == pytest.approx(brute_force(instance), rel=1e-9)
    assert optimal_stays(instance, [route.tolist()]).profit[0] == pytest.approx(profit, rel=1e-9)


@pytest.mark.parametrize("seed", seeds(25))
def test_bounds_hold_on_any_grid(seed: int) -> None:
    """However coarse the grid and whatever the penalties, no route earns more than the bound.

    The bound of every label on the way of the best route is no less than that route's profit.
    """
    random = np.random.default_rng(200 + seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    best = brute_force(instance)
    problem = Problem.of(instance)
    count = len(problem.network.number)
    if count == 0:
        assert best == 0
        return
    for steps in (1, 3, 10, 37):
        grid = make_grid(*problem, steps)
        penalty = np.where(random.random(count) < 0.5, random.random(count), 0)
        bounds = make_bounds(*problem, grid, penalty * random.choice([0, 1, 10]))
        assert bounds.root[0] >= best * (1 - 1e-9)
        store = planted(problem, 200, 4)
        assert extend_labels(*problem, no_bounds(), store, 0.0, PROVE, 10**6, True) == DONE
        label = int(store.counter[BEST])
        while label > 0:
            assert upper_bound(*problem, bounds, store, label) >= best * (1 - 1e-9)
            label = int(store.label["parent"][label])


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
    problem = Problem.of(instance)
    grid = make_grid(*problem, 200)
    penalty = np.zeros(3)
    state = np.array([1.0, np.inf, 0.0])
    first = improve_penalties(*problem, grid, penalty, state, 30.0).root[0]
    for _ in range(60):
        improve_penalties(*problem, grid, penalty, state, 30.0)
    assert first > 60
    assert 30 <= state[1] < 31


@pytest.mark.parametrize("work", [60, 10**6])
def test_growing_keeps_the_labels(work: int) -> None:
    """A store that is too small is doubled, again and again, and the result is the same.

    So it is if there is only some work to do, of which after each time the rest is done.
    """
    random = np.random.default_rng(7)
    instance = Instance(budget=3, xy=random.random((8, 2)), reward=random.integers(1, 9, 8))
    problem = Problem.of(instance)
    profits = []
    for capacity in (1, 4000):
        store = planted(problem, capacity, 2)
        grown, left = 0, work
        bounds, rest = no_bounds(), (0.0, PROVE)
        while (answer := extend_labels(*problem, bounds, store, *rest, left, True)) == FULL:
            left = int(store.counter[LEFT])
            store = grow(store)
            grown += 1
        assert answer == (DONE if work > 1000 else MORE)
        assert (grown > 0) == (capacity == 1)
        route = route_of(problem.network, store, int(store.counter[BEST]))
        profits.append((float(store.best[0]), route.tolist(), int(store.counter[LABELS])))
    assert profits[0] == profits[1]


def test_values_after_say_when_there_is_no_room() -> None:
    """With room for few labels the answer is no; the caller comes back with more."""
    random = np.random.default_rng(8)
    instance = Instance(budget=3, xy=random.random((8, 2)), reward=random.integers(1, 9, 8))
    problem = Problem.of(instance)
    values = np.empty(problem.network.alternatives + 1)
    route = np.empty(0, dtype=np.int64)
    wanted = np.ones(len(values), dtype=np.bool_)
    assert not values_after(*problem, route, wanted, planted(problem, 1, 8), values)
    assert values_after(*problem, route, wanted, planted(problem, 4000, 8), values)
    assert values.max() == pytest.approx(
        solve_small(instance.arrays, Attempt(10**6, CAPACITY))[1], rel=1e-12
    )


def test_a_short_cut_home_cannot_be_left_out() -> None:
    """From stop 2 the way home is 5, by stop 1 it is 2: only who has not been at 1 can stay at 2.

    With a budget of 29 the best plan visits 2 at 20 and stays 7, then 1 on the way home: 27.
    """
    instance = Instance(
        budget=29,
        travel=[[0, 3, 2], [1, 0, 4], [5, 1, 0]],
        open=[0, 12, 20],
        close=[0, np.inf, 22],
        reward=[0, 3, 3],
        pieces=[[], [[0, 3]], [[3, 7]]],
    )
    assert brute_force(instance) == 27
    assert solve_small(instance.arrays, Attempt(10**6, CAPACITY))[1] == 27
    assert np.isinf(Problem.of(instance).graph.worth[0])


def test_what_fits_between_may_be_better_before() -> None:
    """All is at one place: stop 1 until 5.5, 5 units at rate 5; stop 2 at 5 sharp, stop 3 at 6.

    There is always time for 1 between the others, but then it has one unit: first it is best, 27.
    """
    instance = Instance(
        budget=10,
        xy=[[0, 0]] * 4,
        open=[0, 0, 5, 6],
        close=[0, 5.5, 5, 6],
        reward=[0, 0, 1, 1],
        pieces=[[], [[5, 5]], [], []],
    )
    assert brute_force(instance) == 27
    assert solve_small(instance.arrays, Attempt(10**6, CAPACITY))[1] == 27


def test_more_by_now_is_not_more_in_the_end() -> None:
    """Nothing is away but 5 from 3; before 4 there is time for 1 and 2, or for 3; 5 is at 1 sharp.

    Who has been at 1 and 2 has 10 at 4, and more if it leaves later; who has been at 3 has 9, but
    can still earn the 10 of 2 after 5, which makes 9 + 1 + 100 + 10.
    """
    travel = np.zeros((6, 6))
    travel[3, 5] = 0.4
    instance = Instance(
        budget=20,
        travel=travel,
        open=[0, 0, 0, 0, 1, 1],
        close=[0, 0, 5, 0, 20, 1],
        reward=[0, 0, 10, 9, 1, 100],
        min_stay=[0, 0.5, 0.5, 1, 0, 0],
        pieces=[[], [[5, 10]], [], [], [], []],
    )
    assert brute_force(instance) == 120
    assert solve_small(instance.arrays, Attempt(10**6, CAPACITY))[1] == 120
