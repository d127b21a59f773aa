"""Tests of inserting required stops: in the best place, if there is one."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, check
from decost.timeline.routes import best_solution, with_required
from oracle import Shift, Way, best_stays, shifts, with_one_required
from seeds import seeds


def earned(shift: Shift, route: list[Way]) -> float:
    """Profit of a route, minus infinity if it is not feasible."""
    stays = best_stays(shift, route)
    if stays is None:
        return -np.inf
    return sum(way.profit(stay) for way, stay in zip(route, stays, strict=True))


def test_best_place_of_one_stop() -> None:
    """One stop is required, and some others are on the routes: all places for it are tried."""
    random = np.random.default_rng(0)
    inserted = refused = 0
    for _ in seeds(100):
        instance, stop = with_one_required(random)
        team = shifts(instance)
        routes: list[list[Way]] = [[] for _ in team]
        left = set(range(1, instance.nodes)) - {stop}
        for shift, route in zip(team, routes, strict=True):
            for way in shift.ways:
                if way.stop in left and earned(shift, [*route, way]) > -np.inf:
                    route.append(way)
                    left.remove(way.stop)
        gains = [
            earned(shift, [*route[:gap], way, *route[gap:]]) - earned(shift, route)
            for shift, route in zip(team, routes, strict=True)
            for way in shift.ways
            if way.stop == stop
            for gap in range(len(route) + 1)
        ]
        numbers = [[way.number for way in route] for route in routes]
        found = with_required(instance, numbers)
        if max(gains, default=-np.inf) == -np.inf:
            assert found == numbers
            refused += 1
            continue
        before = sum(earned(shift, route) for shift, route in zip(team, routes, strict=True))
        plan = best_solution(instance, found)
        assert check(instance, plan) == []
        assert plan.profit == pytest.approx(before + max(gains), rel=1e-9, abs=1e-9)
        inserted += 1
    assert min(inserted, refused) > 15


def test_nothing_is_required() -> None:
    """Routes stay as they are, and idle vehicles get empty ones."""
    instance = Instance(budget=9, xy=[[0, 0], [1, 0]], reward=[0, 1], vehicles=3)
    assert with_required(instance, [[], [1]]) == [[], [1], []]
    needed = instance.replace(required=[False, True])
    assert with_required(needed, [[], [1]]) == [[], [1], []]
    assert with_required(needed, []) == [[1], [], []]
