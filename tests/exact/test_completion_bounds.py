"""Tests of bounds by labels from the end, on small instances; they run without compilation too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from decost import Instance, optimal_stays
from decost.exact import pricing
from decost.exact.completion import backwards, completion_bounds
from decost.exact.exact import Problem
from decost.exact.pricing import forgetful, near_stops, priced, type_problem
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, IntArray
from decost.timeline.network import Network, mirrored
from decost.timeline.steps import finish, follow
from odd_instances import all_routes, odd_instance
from seeds import seeds


def earned(network: Network, route: IntArray) -> float:
    """Give the profit of a route of nodes."""
    pool = np.empty((len(network.pieces) + 1, 2))
    front = follow(network, route, pool)
    return -math.inf if front.time == math.inf else finish(network, front, network.end, pool, 0)


def draw(seed: int) -> tuple[Instance, Problem, BoolArray, list[tuple[IntArray, float]]]:
    """Draw an instance, its problem and arcs, and all its routes with what they earn."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    problem, arcs = type_problem(instance, 0)
    place = {int(stop): k + 1 for k, stop in enumerate(problem.network.number)}
    routes = [route for route in all_routes(instance) if route and set(route) <= set(place)]
    profits = optimal_stays(instance, routes).profit if routes else []
    nodes = [np.array([place[stop] for stop in route]) for route in routes]
    pairs = zip(nodes, profits, strict=True)
    return instance, problem, arcs, [(route, float(p)) for route, p in pairs if p > -math.inf]


@pytest.mark.parametrize("seed", seeds(50))
def test_routes_earn_as_much_backwards(seed: int) -> None:
    """Every route earns no less from its end to its start, and the same if the mirror says so."""
    _, problem, _, routes = draw(3000 + seed)
    mirror, same = mirrored(problem.network)
    for route, profit in routes:
        back = earned(mirror, route[::-1])
        assert back >= profit - 1e-9 * max(1.0, profit)
        if same:
            assert back == pytest.approx(profit, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("near", [0, 9])
@pytest.mark.parametrize("seed", seeds(40))
def test_bounds_hold_for_every_route(seed: int, near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No route that earns enough earns more from any of its nodes on than the bound there says."""
    monkeypatch.setattr(pricing, "NEAR", near)
    instance, problem, arcs, routes = draw(4000 + seed)
    random = np.random.default_rng(seed)
    count = len(problem.network.number)
    price = problem.full_profits * random.uniform(-0.2, 1.2, count)
    charged = priced(problem, price, arcs, arcs & False)
    mirror = backwards(charged, arcs, instance.arrays.triangle)
    if mirror is None or not routes:
        return
    values = [profit - price[route - 1].sum() for route, profit in routes]
    least = float(np.quantile(values, random.uniform(0, 1))) - 1e-6
    mirror = forgetful(mirror, near_stops(problem))
    bounds = completion_bounds(charged, mirror, np.zeros(count), least, 1e9, Deadline(60.0))
    assert bounds is not None
    network = charged.network
    pool = np.empty((len(network.pieces) + 1, 2))
    for (route, _), value in zip(routes, values, strict=True):
        if value < least:
            continue
        for k, node in enumerate(route):
            front = follow(network, route[:k], pool)
            place = network.node["place"]
            start = front.time + network.travel[place[front.node], place[node]]
            step = int((start - bounds.begin) / bounds.step)
            pieces = sum(float(np.prod(pool[p])) for p in range(front.pieces))
            assert front.value + pieces + bounds.best[node, step] >= value - 1e-9 * max(1.0, value)
