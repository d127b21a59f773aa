"""Tests of required stops that are left out: statuses, counts and reasons."""

from __future__ import annotations

import numpy as np
import pytest

import decost
from decost import Instance, Place, Stop, Vehicle, check
from decost.planner.requirements import examine
from oracle import brute_force, tiny_instance
from quick_options import quick
from seeds import seeds

DEPOT = Place(x=0, y=0)


def able(method: str) -> None:
    """Skip a method that knows no required stops."""
    if "required" not in decost.get_method(method).can:
        pytest.skip("knows no required stops")


def required(label: str, x: float, **fields: object) -> Stop:
    """Make a required stop on a line."""
    return Stop(label, x=x, y=0, required=True, **fields)  # type: ignore[arg-type]


CLOSED = "closes before anybody can be there (5 at the earliest, 4 at the latest)"
ALONE = {
    "far": (required("far", 30), "too far away (30 at the earliest, 20 at the latest)"),
    "early": (required("early", 5, close=4), CLOSED),
    "left": (required("left", 5, leave_by=6, min_stay=2), CLOSED),
    "late": (
        required("late", 5, open=18),
        "nobody who has served it is at the end in time (23 at the earliest, 20 at the latest)",
    ),
    "nobody": (required("nobody", 1, vehicles=[]), "no vehicle may go there"),
}


@pytest.mark.parametrize("label", ALONE)
def test_stop_that_cannot_be_visited(method: str, label: str) -> None:
    """Whatever the method, the plan is the best of the others, and says which stop and why."""
    able(method)
    stop, why = ALONE[label]
    instance = Instance.build(
        stops=[Stop("near", x=1, y=0, reward=3), stop], depot=DEPOT, budget=20
    )
    result = decost.solve(instance, method, **quick(method))
    assert (result.status, result.profit) == ("infeasible", pytest.approx(3))
    assert (result.required_visited, result.required_bound) == (0, 0)
    assert result.reasons == (f"stop {label!r} cannot be visited: {why}",)
    assert [one.rule for one in check(instance, result.solution)] == ["required"]


def test_two_that_do_not_go_together(method: str) -> None:
    """Either of two stops fits, both do not; a third one does with each."""
    able(method)
    stops = [required("west", -8), required("east", 8), required("near", 0.5, reward=1)]
    instance = Instance.build(stops=stops, depot=DEPOT, budget=20)
    result = decost.solve(instance, method, **quick(method))
    assert result.status == "infeasible"
    assert (result.required_visited, result.required_bound) == (2, 2)
    assert result.reasons == ("stops 'west' and 'east' cannot both be visited: there is no time",)


def test_two_of_one_vehicle_among_others() -> None:
    """With two vehicles that may go to both, they share; if only one may, they do not fit."""
    stops = [required("west", -8), required("east", 8)]
    team = {"depot": DEPOT, "budget": 20, "vehicles": [Vehicle("red"), Vehicle("blue")]}
    assert decost.solve(Instance.build(stops=stops, **team)).status == "optimal"
    stops = [required("west", -8, vehicles=["blue"]), required("east", 8, vehicles=["blue"])]
    result = decost.solve(Instance.build(stops=stops, **team))
    assert (result.status, result.required_bound) == ("infeasible", 1)
    assert result.reasons == (
        "stops 'west' and 'east' cannot both be visited: only by vehicle 'blue', "
        "which has not time for both",
    )


def test_short_cuts_are_no_proof() -> None:
    """A stop that is too far by the direct way may be near by another one."""
    travel = [[0, 1, 99], [1, 0, 1], [1, 1, 0]]
    stops = [Stop("gate"), Stop("yard", required=True)]
    instance = Instance.build(stops=stops, travel=travel, budget=4)
    assert examine(instance) == (1, ())
    assert decost.solve(instance).status == "optimal"
    shut = Instance.build(stops=[Stop("gate", close=0), stops[1]], travel=travel, budget=4)
    most, (reason,) = examine(shut)
    assert most == 0
    assert reason.startswith("stop 'yard' cannot be visited: too far away (99 at the earliest")


def test_complete_plans_have_no_reasons() -> None:
    """If all are visited there is nothing to say."""
    instance = Instance.build(stops=[required("near", 1)], depot=DEPOT, budget=20)
    result = decost.solve(instance)
    assert (result.status, result.reasons) == ("optimal", ())
    assert (result.required_visited, result.required_bound) == (1, 1)
    data = result.to_dict()
    assert (data["required_visited"], data["required_bound"], data["reasons"]) == (1, 1, [])


def test_what_is_said_is_true() -> None:
    """On random tiny instances no plan visits more than what is said to be the most.

    Each stop, and each pair, that is named cannot be visited even if nothing else is required.
    """
    told = 0
    for seed in seeds(120):
        instance = tiny_instance(np.random.default_rng(seed))
        must = np.arange(instance.nodes) > 0
        must &= np.diff(instance.alternative_first) > 0
        instance = instance.replace(required=must)
        most, reasons = examine(instance)
        assert brute_force(instance)[0] <= most
        for reason in reasons:
            told += 1
            named = [
                stop for stop in range(1, instance.nodes) if f"{instance.label(stop)!r} " in reason
            ]
            few = instance.replace(required=np.isin(np.arange(instance.nodes), named))
            assert brute_force(few)[0] < len(named), reason
    assert told > 40


def test_one_stop_against_many() -> None:
    """Without the far one, which takes 16 of 20, the three near ones can all be visited."""
    stops = [required("far", -8), *(required(f"near {k}", 3 + k / 10) for k in range(3))]
    instance = Instance.build(stops=stops, depot=DEPOT, budget=20)
    most, reasons = examine(instance)
    assert (most, len(reasons)) == (3, 3)
    assert brute_force(instance)[0] == 3


def test_many_reasons_are_cut() -> None:
    """A long list ends with how many more there are."""
    stops = [required(f"far {k}", 30 + k) for k in range(25)]
    most, reasons = examine(Instance.build(stops=stops, depot=DEPOT, budget=20))
    assert (most, len(reasons), reasons[-1]) == (0, 21, "and 5 more")
