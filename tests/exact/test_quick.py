"""Tests of plain problems in bundles: the same plans as one by one, and as brute force."""

from __future__ import annotations

import numpy as np
import pytest

import decost
from decost import Instance, check
from decost.exact.exact import ExactOptions, exact_many
from decost.exact.labels import CAPACITY, Attempt, solve_small
from decost.exact.quick import solve_quickly
from odd_instances import brute_force, odd_instance

SMALL = Attempt(30_000, CAPACITY)


def plain_instances(count: int) -> list[Instance]:
    """Draw problems of different sizes with windows, deadlines, ends and speeds of all kinds."""
    random = np.random.default_rng(7)
    found: list[Instance] = []
    while len(found) < count:
        one = odd_instance(random, int(random.integers(0, 6))).replace(travel=None)
        if one.xy is not None and not one.separate_end and random.random() < 0.3:
            end = random.random((1, 2)) * one.budget / 2
            one = one.replace(xy=np.concatenate((one.xy, end)), separate_end=True)
        found.append(one.replace(speed=float(random.choice([1.0, 2.5])), begin=0.0))
    return found


def test_a_bundle_equals_brute_force() -> None:
    """Problems in one call have the best plans there are, whatever stands before and after them."""
    instances = plain_instances(60)
    assert all(one.plain for one in instances)
    for instance, found in zip(instances, solve_quickly(instances, SMALL), strict=True):
        assert found.proven
        assert check(instance, found.solution) == []
        best = brute_force(instance)
        assert found.solution.profit == pytest.approx(best, rel=1e-7, abs=1e-9)


def test_a_bundle_does_what_the_network_of_the_whole_does() -> None:
    """Leaving out what is out of reach first changes neither routes nor the number of labels."""
    instances = decost.generate("paper", nodes=30, window=200, count=20, seed=3)
    for instance, found in zip(instances, solve_quickly(instances, SMALL), strict=True):
        _, value, route, labels = solve_small(instance.arrays, SMALL)
        assert list(found.solution.routes[0].stops) == route.tolist()
        assert (found.value, found.labels) == (value, labels)


@pytest.mark.parametrize("scale", [1e-120, 1e-3, 1e120])
def test_scales(scale: float) -> None:
    """Coordinates whose squares would vanish or overflow are as good as others."""
    xy = np.array([[0.0, 0.0], [3.0, 4.0]]) * scale
    instance = Instance(budget=12.0, xy=xy, speed=scale, rate=[0, 2], max_stay=[0, 9])
    assert instance.travel[0, 1] == pytest.approx(5.0)
    (found,) = solve_quickly([instance], SMALL)
    assert found.solution.profit == pytest.approx(4.0)
    assert found.solution.routes[0].finish == pytest.approx(12.0)


def test_what_is_not_plain_or_not_quick_is_left() -> None:
    """Others get no answer, and are solved by themselves to the same results."""
    random = np.random.default_rng(1)
    long = Instance(budget=4, xy=random.random((40, 2)), reward=random.integers(1, 9, 40))
    (plain,) = decost.generate("paper", nodes=20, seed=1)
    given = [plain, plain.replace(travel=plain.travel), long, plain]
    answers = exact_many(given, ExactOptions())
    assert [answer is not None for answer in answers] == [True, False, False, True]
    results = decost.solve_many(given[:2], "exact")
    assert results[0].profit == pytest.approx(results[1].profit)
    assert [one.status for one in results] == ["optimal", "optimal"]


def test_not_plain() -> None:
    """Whatever else an instance has, it is not plain."""
    plain = Instance(budget=9, xy=np.eye(3, 2), reward=[0, 2, 1])
    others = [
        {"travel": plain.travel},
        {"vehicles": 2},
        {"required": [False, True, False]},
        {"unit": "minutes", "geographic": True},
        {"alternative_first": [0, 1, 3, 4], "open": None, "reward": [0, 1, 2, 3]},
        {"fleet": [decost.Vehicle(start=1)]},
    ]
    assert plain.plain
    for changes in others:
        base = {"budget": 9, "xy": np.eye(3, 2), "reward": [0, 2, 1]}
        assert not Instance(**(base | changes)).plain
