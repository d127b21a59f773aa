"""Tests of the oracle: its stays are those of a linear program, and its instances have it all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import highspy
import numpy as np
import pytest

from decost import Instance
from decost.problem.records import Alternative, Stop, Vehicle
from oracle import (
    Shift,
    Way,
    best_plan,
    best_stays,
    brute_force,
    shifts,
    tiny_instance,
    travel_times,
)


def most_by_program(shift: Shift, route: Sequence[Way]) -> float | None:
    """Most profit of a sequence by HiGHS, None if it is not feasible.

    One variable for the departure, one a start, one a piece; every rule is a row or a bound.
    """
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    infinity = highspy.kHighsInf

    def variable(gain: float, low: float, high: float) -> int:
        program.addCol(-gain, low, min(high, infinity), 0, [], [])
        return int(program.getNumCol()) - 1

    def at_most(limit: float, terms: dict[int, float]) -> None:
        columns = np.array(list(terms), dtype=np.int32)
        program.addRow(-infinity, limit, len(terms), columns, np.array(list(terms.values())))

    left = {variable(0.0, shift.begin, infinity): 1.0}  # when a place is left, but for a constant
    spent, place = 0.0, shift.start
    for way in route:
        start = variable(0.0, way.open, way.close)
        at_most(-spent - shift.travel[place][way.place], left | {start: -1.0})
        left = {start: 1.0} | {variable(rate, 0, length): 1.0 for rate, length in way.pieces}
        spent, place = way.min_stay, way.place
        if way.leave_by < np.inf:
            at_most(way.leave_by - spent, left)
    at_most(shift.due - spent - shift.travel[place][shift.end], left)
    program.run()
    if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return sum(way.reward for way in route) - float(program.getInfo().objective_function_value)


def test_stays_equal_the_linear_program() -> None:
    """Random sequences of the instances' alternatives, feasible ones and others."""
    random = np.random.default_rng(5)
    feasible = []
    for _ in range(250):
        for shift in shifts(tiny_instance(random)):
            if not shift.ways:
                continue
            order = random.permutation(len(shift.ways))[: random.integers(1, 5)]
            route = [shift.ways[k] for k in order]
            stays = best_stays(shift, route)
            most = most_by_program(shift, route)
            feasible.append(stays is not None)
            assert (stays is None) == (most is None)
            if stays is not None:
                earned = sum(way.profit(stay) for way, stay in zip(route, stays, strict=True))
                assert earned == pytest.approx(most, rel=1e-6, abs=1e-6)
    assert 100 < sum(feasible) < len(feasible) - 100


def test_by_hand() -> None:
    """Stop 1 for 4 at rate 3, stop 2 for the 3 of 10 that 3 of travel leave, at rate 2."""
    travel = np.ones((3, 3))
    given: dict[str, Any] = {
        "budget": 10,
        "travel": travel,
        "rate": [0, 3, 2],
        "max_stay": [0, 4, 9],
    }
    assert brute_force(Instance(**given)) == (0, 18)  # type: ignore[arg-type]
    team = Instance(**given, vehicles=2)  # type: ignore[arg-type]
    assert brute_force(team) == (0, 12 + 16)
    assert [[way.stop for way in route] for route, _ in best_plan(team).routes] in (
        [[1], [2]],
        [[2], [1]],
    )


def test_required_stops_come_first() -> None:
    """One can go to the poor stop or the rich one; two poor ones together earn least of all."""
    travel = [[0, 1, 1, 4], [1, 9, 9, 9], [1, 1, 9, 9], [4, 9, 9, 9]]
    given: dict[str, Any] = {"budget": 8, "travel": travel, "reward": [0, 1, 1, 7]}
    rich = Instance(**given)
    assert brute_force(rich) == (0, 7)
    assert brute_force(rich.replace(required=[False, True, False, False])) == (1, 2)
    assert brute_force(rich.replace(required=[False, True, True, True])) == (2, 2)
    assert brute_force(rich.replace(required=[False, True, True, True], vehicles=2)) == (3, 9)


def test_alternatives_and_shifts_by_hand() -> None:
    """Blue alone may come to stop a late, for 5 instead of 2 and twice the rate, and to stop b.

    Red can stay from 2 to 3, for 2 + 1. Blue can stay from 8 to 9, for 5 + 2, or go on to b at
    once, for 5 + 3: that is more than red at a and blue at b earn together.
    """
    instance = Instance.build(
        travel=[[0, 1, 1], [1, 0, 1], [1, 1, 0]],
        vehicles=[Vehicle("red", begin=1, due=4), Vehicle("blue", begin=7, due=10)],
        stops=[
            Stop(
                "a",
                alternatives=[
                    Alternative(reward=2, profit=[[1, 2]]),
                    Alternative(open=8, reward=5, profit=[[2, 4]], vehicles=["blue"]),
                ],
            ),
            Stop("b", reward=3, vehicles=["blue"]),
        ],
    )
    assert brute_force(instance) == (0, 5 + 3)
    assert brute_force(instance.replace(required=[False, True, False])) == (1, 5 + 3)
    plan = best_plan(instance)
    assert [[(way.stop, way.which) for way in route] for route, _ in plan.routes] == [
        [],
        [(1, 1), (2, 0)],
    ]


def test_travel_times() -> None:
    """Those of every vehicle, by matrix, profile, speed or great circle, are the instance's too."""
    random = np.random.default_rng(6)
    for _ in range(200):
        instance = tiny_instance(random)
        for vehicle in range(instance.vehicles):
            expected = travel_times(instance, vehicle)
            assert instance.travel_of(vehicle) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_instances_have_it_all() -> None:
    """Every feature is on a good part of the instances, and none is on all of them."""
    random = np.random.default_rng(0)
    seen: dict[str, int] = {}
    count = 400
    for _ in range(count):
        one = tiny_instance(random)
        best = best_plan(one)
        alternatives = np.diff(one.alternative_first[1:])
        windows = zip(one.alternative_open[1:], one.alternative_close[1:], strict=True)
        features = {
            "simple": one.simple,
            "matrix": one.matrix is not None,
            "matrices": one.matrices is not None,
            "geographic": one.geographic,
            "places": len(one.places) > 0,
            "several alternatives": bool((alternatives > 1).any()),
            "no alternative": bool((alternatives == 0).any()),
            "not for all": one.alternative_vehicles is not None,
            "required": bool(one.required.any()),
            "required in vain": best.required < one.required.sum(),
            "begin": any(vehicle.begin > 0 for vehicle in one.fleet),
            "negative begin": any(vehicle.begin < 0 for vehicle in one.fleet),
            "underway": any(vehicle.underway for vehicle in one.fleet),
            "different vehicles": len({vehicle.due for vehicle in one.fleet}) > 1,
            "speeds": len({vehicle.speed for vehicle in one.fleet}) > 1,
            "starts": any(vehicle.start != 0 for vehicle in one.fleet),
            "ends": any(vehicle.end != vehicle.start for vehicle in one.fleet),
            "team": one.vehicles > 1,
            "leave_by": bool((one.alternative_leave_by[1:] < np.inf).any()),
            "moments": any(low == high for low, high in windows),
            "min_stay": bool((one.alternative_min_stay[1:] > 0).any()),
            "reward": bool((one.alternative_reward[1:] > 0).any()),
            "several pieces": bool((np.diff(one.piece_start[1:]) > 1).any()),
            "long route": any(len(route) > 2 for route, _ in best.routes),
            "busy team": sum(len(route) > 0 for route, _ in best.routes) > 1,
            "nothing": best.profit == 0,
        }
        for feature, there in features.items():
            seen[feature] = seen.get(feature, 0) + bool(there)
    assert {feature: n for feature, n in seen.items() if not 0.04 < n / count < 0.96} == {}
