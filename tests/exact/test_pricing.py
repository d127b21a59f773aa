"""Tests of routes at a price on small instances; they run without compilation too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from decost import Instance, generate, optimal_stays
from decost.exact import ng_routes, pricing
from decost.exact.bounds import make_bounds, make_grid, no_bounds
from decost.exact.exact import Known, Labels, Problem
from decost.exact.labels import (
    DONE,
    EVERY,
    FULL,
    LABELS,
    PROVE,
    Store,
    extend_labels,
    grow,
    make_store,
    plant_root,
    route_of,
)
from decost.exact.ng_routes import Learnt, NgAscent
from decost.exact.pricing import (
    choose_routes,
    disjoint_families,
    forgetful,
    near_stops,
    priced,
    promising_arcs,
    remember_cycles,
    type_problem,
    with_arcs,
)
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray
from odd_instances import all_routes, odd_instance
from seeds import seeds


def search(problem: Problem, best: float, rule: int) -> Store:
    """Extend all labels."""
    store = make_store(problem.network, 3000, 4)
    plant_root(problem.network, store, best)
    while (answer := extend_labels(*problem, no_bounds(), store, 0.0, rule, 10**7, True)) == FULL:
        store = grow(store)
    assert answer == DONE
    return store


def draw(seed: int) -> tuple[Instance, Problem, BoolArray, FloatArray]:
    """Draw an instance, the arcs that time allows, and prices of both signs; some are too high."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    problem, arcs = type_problem(instance, 0)
    count = len(problem.network.number)
    price = problem.full_profits * random.uniform(-0.5, 1.5, count)
    price += random.uniform(-1, 1, count) * random.choice([0, 1])
    return instance, problem, arcs, price


def values(
    instance: Instance, problem: Problem, arcs: BoolArray, price: FloatArray
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Profit of every route over allowed arcs, before and after prices."""
    routes = all_routes(instance)
    place = {int(stop): k for k, stop in enumerate(problem.network.number)}
    result = {}
    for route, profit in zip(routes, optimal_stays(instance, routes).profit, strict=True):
        way = [place.get(stop, -1) for stop in route]
        if min(way, default=0) < 0 or profit == -np.inf:
            continue
        if all(arcs[a, b] for a, b in itertools.pairwise([0, *(k + 1 for k in way)])):
            result[route] = (float(profit), float(profit - price[way].sum()))
    return result


@pytest.mark.parametrize("cut", [0.0, 0.2])
@pytest.mark.parametrize("seed", seeds(40))
def test_best_route_at_a_price(seed: int, cut: float) -> None:
    """Label setting finds the best of all routes, with negative rewards and forbidden arcs too."""
    instance, problem, arcs, price = draw(seed)
    forbidden = arcs & (np.random.default_rng(seed).random(arcs.shape) < cut)
    arcs = arcs & ~forbidden
    best = max(value for _, value in values(instance, problem, arcs, price).values())
    charged = priced(problem, price, arcs, forbidden)
    useful = np.append(charged.graph.worth > 0, False)[charged.network.stop]
    for some in (arcs, arcs & useful):
        store = search(with_arcs(charged, some), 0.0, PROVE)
        assert store.best[0] == pytest.approx(max(0.0, best), rel=1e-9, abs=1e-9)
    grid = make_grid(*charged, 20)
    if len(price):
        assert make_bounds(*charged, grid, np.zeros(len(price))).root[0] >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("seed", seeds(40))
def test_forgetful_routes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routes that may come back earn no less than the best, and the same once all is remembered."""
    monkeypatch.setattr(pricing, "NEAR", 0)
    instance, problem, arcs, price = draw(2000 + seed)
    best = max(0.0, *(value for _, value in values(instance, problem, arcs, price).values()))
    charged = priced(problem, price, arcs, arcs & False)
    remembers = near_stops(problem)
    again = True
    while again:
        store = search(forgetful(charged, remembers), 0.0, PROVE)
        assert store.best[0] >= best - 1e-9 * best
        for route in choose_routes(problem.network, store, 0.0):
            assert len(np.unique(problem.network.stop[route])) == len(route)
        again = remember_cycles(problem.network, store, 0.0, remembers)
    assert store.best[0] == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_forgetful_routes_by_bounds_that_remember(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds whose nodes remember other stops than labels do are never too low for the best route.

    Prices have both signs, some arcs are forbidden, and what nodes have learnt is drawn.
    """
    monkeypatch.setattr(pricing, "NEAR", 0)
    monkeypatch.setattr(ng_routes, "LEAST_STEPS", 1)
    instance, problem, arcs, price = draw(4000 + seed)
    if len(price) == 0:
        return
    random = np.random.default_rng(seed)
    forbidden = arcs & (random.random(arcs.shape) < random.choice([0.0, 0.2]))
    arcs = arcs & ~forbidden
    best = max(0.0, *(value for _, value in values(instance, problem, arcs, price).values()))
    charged = priced(problem, price, arcs, forbidden)
    learnt = Learnt(*ng_routes.near_stops(problem.network, 3))
    for node in range(1, problem.network.alternatives + 1):
        learnt.size[node] = random.integers(0, learnt.size[node] + 1)
    penalty = random.choice([0.0, 0.5]) * random.random(len(price)) * problem.full_profits
    steps = int(random.choice([1, 7, 60, 500]))
    ascent = NgAscent(charged, penalty, best, steps, learnt, after=0)
    assert ascent._begin()
    ascent._take(*ascent._round(best))
    assert ascent.bound >= best - 1e-9 * max(1.0, problem.full_profit)
    for some in (charged, forgetful(charged, near_stops(problem))):
        known = Known([], 0.0, np.inf)
        labels = Labels(some, known, 2**30)
        labels.extend(ascent.bounds, Deadline(60.0), 60.0, PROVE)
        assert known.proven
        assert known.value >= best - 1e-9 * max(1.0, best)
        if some is charged:
            assert known.value == pytest.approx(best, abs=1e-9 * max(1.0, best))


def test_what_is_remembered() -> None:
    """The stop itself and the nearest ones; then the stops that routes came back to, on their way.

    Three stops on a line, 1 apart, the third 10 away: only the first two are near each other. A
    route can go from the first to the third and back.
    """
    xy = [[0, 0], [1, 0], [2, 0], [12, 0]]
    instance = Instance(budget=99, xy=xy, reward=[0, 4, 6, 3])
    problem, _ = type_problem(instance, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "NEAR", 2)
        remembers = near_stops(problem)
    assert remembers[1:4, 0].tolist() == [0b011, 0b011, 0b110]
    store = search(forgetful(problem, remembers), 0.0, PROVE)
    assert store.best[0] > 13
    assert remember_cycles(problem.network, store, 13.0, remembers)
    assert remembers[3, 0] == 0b111
    assert search(forgetful(problem, remembers), 0.0, PROVE).best[0] == 13


@pytest.mark.parametrize("seed", seeds(40))
def test_every_useful_route_is_listed(seed: int) -> None:
    """For every route there is one in the list that visits no other stops and earns no less."""
    instance, problem, arcs, price = draw(1000 + seed)
    price = np.maximum(0.0, price)
    charged = priced(problem, price, arcs, arcs & False)
    store = search(charged, -np.inf, EVERY)
    routes = values(instance, problem, arcs, price)
    listed = []
    for label in range(1, int(store.counter[LABELS])):
        whole = store.label["whole"][label]
        if store.label["dead"][label] == 0 and whole > -np.inf:
            route = tuple(problem.alternatives(route_of(problem.network, store, label)))
            profit, value = routes[route]
            assert whole == pytest.approx(value, rel=1e-9, abs=1e-9)
            listed.append((set(route), profit))
    for route, (profit, _) in routes.items():
        if route:
            assert any(stops <= set(route) and p >= profit - 1e-9 * profit for stops, p in listed)


def test_arcs_between_others_are_kept() -> None:
    """One vehicle never passes by stop 2, which fits in; a team may send another vehicle there."""
    instance = Instance(
        budget=20,
        xy=[[0, 0], [1, 0], [2, 0], [3, 0]],
        open=[0, 0, 3, 9],
        close=[0, 1, 3, 9],
        reward=[0, 1, 1, 1],
    )
    problem, arcs = type_problem(instance, 0)
    assert arcs[:4, 1:4].tolist() == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    assert arcs.sum() == 6
    assert problem.graph.head.tolist() == [1, 2, 3, 2, 3, 3]
    assert problem.graph.first.tolist() == [0, 3, 5, 6, 6, 6]


def test_promising_arcs() -> None:
    """So many arcs at each place, to the stops that earn most for their time; at most all."""
    instance = generate("paper", nodes=30, window=400, seed=2)[0]
    problem, arcs = type_problem(instance, 0)
    few = promising_arcs(problem, arcs, 3)
    assert (few <= arcs).all()
    assert (few.sum(axis=1) == np.minimum(3, arcs.sum(axis=1))).all()
    assert promising_arcs(problem, arcs, 99) is arcs
    line = Instance(budget=99, xy=[[0, 0], [1, 0], [2, 0], [3, 0]], reward=[0, 4, 6, 3])
    problem, arcs = type_problem(line, 0)
    assert promising_arcs(problem, arcs, 1)[0, 1:4].tolist() == [True, False, False]
    dear = priced(problem, np.array([3.5, 0.0, 0.0]), arcs, arcs & False)
    assert promising_arcs(dear, arcs, 1)[0, 1:4].tolist() == [False, True, False]


def test_disjoint_families() -> None:
    """The best first, then what has no stop in common with it; no set of stops twice."""
    visited = np.array([[0b0011], [0b0110], [0b1100], [0b0011], [0b1000]])
    ranked = np.arange(5)
    assert disjoint_families(visited, ranked, 1, 9).tolist() == [0, 2]
    assert disjoint_families(visited, ranked, 2, 9).tolist() == [0, 2, 1, 4]
    assert disjoint_families(visited, ranked, 9, 9).tolist() == [0, 2, 1, 4]
    assert disjoint_families(visited, ranked, 9, 3).tolist() == [0, 2, 1]
