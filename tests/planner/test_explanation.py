"""Tests of explanations, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import decost
from decost import Instance, generate, optimal_stays
from decost.method.value import judged
from decost.planner import explanation
from odd_instances import all_routes, brute_force


def best_with(instance: Instance, stop: int) -> float:
    """Most profit of any plan for one vehicle that visits a stop."""
    routes = [route for route in all_routes(instance) if stop in route]
    return float(optimal_stays(instance, routes).profit.max())


@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_costs_equal_brute_force(family: str) -> None:
    """A stop costs what the best of all plans with it earns less than the best of all."""
    seen = 0
    for instance in generate(family, nodes=7, window=200, budget=3, count=6, seed=4):
        result = decost.solve(instance)
        answer = result.explain()
        visited = {visit.stop for visit in result.solution.visits}
        assert [one.stop for one in answer.left_out] == sorted(
            set(range(1, instance.nodes)) - visited
        )
        for one in answer.left_out:
            best = best_with(instance, one.stop)
            assert one.proven
            if one.why == "costs":
                assert one.cost == pytest.approx(result.profit - best, rel=1e-6, abs=1e-9)
                seen += 1
            elif one.why == "worthless":
                assert instance.full_profit[one.stop] == 0
            else:
                assert best == -math.inf
    assert seen > 5


def test_value_of_time_equals_brute_force() -> None:
    """One more unit of budget is worth the difference of two optima."""
    for instance in generate("mixed", nodes=6, budget=3, count=5, seed=9):
        answer = decost.solve(instance).explain()
        longer = instance.replace(budget=instance.budget + 1)
        gain = brute_force(longer) - brute_force(instance)
        assert answer.unit_value == pytest.approx(gain, rel=1e-6, abs=1e-9)
        assert answer.unit_proven


def test_reasons_by_hand() -> None:
    """Each reason in a line of stops, and in words."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [2, 0], [11, 0], [4, 0], [6, 0], [-1, 0], [-2, 0]],
        close=[0, 9, 99, 3, 99, 9, 9],
        reward=[0, 5, 5, 5, 5, 0, 1],
        ids=["near", "far", "early", "late", "poor", "other side"],
    )
    result = decost.solve(instance)
    answer = result.explain()
    why = {instance.label(one.stop): one.why for one in answer.left_out}
    assert result.profit == 6
    assert why == {
        "far": "unreachable",
        "early": "closed",
        "late": "no way home",
        "poor": "worthless",
    }
    assert str(answer).splitlines() == [
        "far: too far away (11 at the earliest, 10 at the latest)",
        "early: closes before anybody can be there (4 at the earliest, 3 at the latest)",
        "late: nobody who has served it is at the end in time "
        "(12 at the earliest, 10 at the latest)",
        "poor: earns nothing",
        "one more unit of budget: +0 profit",
    ]


def test_ways_round() -> None:
    """With a matrix the direct way may not be the shortest; the plan with the stop says it."""
    travel = np.array([[0, 1, 9.0], [1, 0, 1], [1, 1, 0]])
    instance = Instance(budget=4, travel=travel, close=[0, 9, 3], reward=[0, 0, 1])
    result = decost.solve(instance.replace(reward=[0, 3, 1], min_stay=[0, 2, 0]))
    (one,) = result.explain().left_out
    assert (one.stop, one.why) == (2, "closed")
    assert one.obstacle == ("closed", 4.0, 3.0)  # by way of stop 1
    assert decost.solve(instance).profit == 1


def test_equal_plans() -> None:
    """A stop that another plan visits for the same profit costs nothing, and it says so."""
    twins = Instance(budget=2, xy=[[0, 0], [1, 0], [-1, 0]], reward=[0, 1, 1])
    answer = decost.solve(twins).explain()
    (one,) = answer.left_out
    assert one.cost == 0
    assert "another plan with it earns as much" in str(answer)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_any_unit_of_profit(unit: float) -> None:
    """In whatever unit profits are, the lesser of two stops costs the difference."""
    two = Instance(budget=2, xy=[[0, 0], [1, 0], [-1, 0]], reward=[0, 3 * unit, 2 * unit])
    (one,) = decost.solve(two).explain().left_out
    assert one.cost == pytest.approx(unit)


def test_no_time() -> None:
    """Without time for proofs, what is said is said to be unproven."""
    (instance,) = generate("mixed", nodes=120, seed=1)
    result = decost.solve(instance, time_limit=0.1)
    answer = result.explain(time_limit=0.0)
    assert not answer.unit_proven
    unsure = [one for one in answer.left_out if not one.proven]
    assert unsure
    assert "as far as is known" in str(answer)
    assert "would cost at most" in str(answer)


def test_a_better_plan_is_told() -> None:
    """Greedy takes the near stop for 1; with the other one 1.9 can be had."""
    instance = Instance(budget=4, xy=[[0, 0], [1, 0], [-2, 0]], reward=[0, 1, 1.9])
    result = decost.solve(instance, "greedy")
    assert result.profit == 1
    answer = result.explain()
    (one,) = answer.left_out
    assert one.cost == pytest.approx(-0.9)
    assert one.proven
    assert str(answer).splitlines()[0] == "2: another plan with it earns 0.9 more"


def test_small_costs_beside_long_stays() -> None:
    """What stops could earn in all of time does not hide what one costs."""
    instance = Instance(
        budget=4, xy=[[0, 0], [1, 0], [-1, 0]], rate=[0, 1.01, 1], max_stay=[0, 1e12, 1e12]
    )
    (one,) = decost.solve(instance).explain().left_out
    assert one.cost == pytest.approx(0.02)


def test_nobody_is_asked_when_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a stop costs what the plan that visits it alone earns less."""
    instance = Instance(
        budget=9, xy=[[0, 0], [1, 0], [-1, 0], [0, 4]], rate=[0, 2, 1, 1], max_stay=[0, 4, 2, 9]
    )
    result = decost.solve(instance)
    monkeypatch.setattr(explanation, "solve", None)
    answer = result.explain(time_limit=0.0)
    (one,) = answer.left_out
    assert (one.stop, one.proven) == (3, False)
    assert one.cost == pytest.approx(result.profit - 1)
    assert (answer.unit_value, answer.unit_proven) == (0, False)


def test_ctrl_c_ends_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that comes back early without a proof was interrupted; the rest is not asked."""
    (instance,) = generate("mixed", nodes=120, seed=1)
    result = decost.solve(instance, time_limit=0.1)
    asked = []

    def interrupted(changed: Instance, **options: object) -> decost.Result:
        asked.append(changed)
        return decost.Result(changed, options["start"], "feasible", runtime=0.01)

    monkeypatch.setattr(explanation, "solve", interrupted)
    answer = result.explain(time_limit=1000.0)
    assert len(asked) == 1
    assert not any(one.proven for one in answer.left_out if one.why == "costs")


def test_plans_nearby_are_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any question is asked, a stop costs what the best plan with it one step away does."""
    (instance,) = generate("mixed", nodes=30, budget=4, seed=3)
    result = decost.solve(instance)
    order = list(result.solution.routes[0].stops)
    asked = []

    def ask(_: object, changed: Instance, start: decost.Solution) -> decost.Result:
        asked.append(changed)
        return judged(changed, start)

    monkeypatch.setattr(explanation._Questions, "ask", ask)
    answer = result.explain(time_limit=60.0)
    costs = {one.stop: one.cost for one in answer.left_out if one.why == "costs"}
    near = {}
    for stop, cost in costs.items():
        more = [[*order[:k], stop, *order[k:]] for k in range(len(order) + 1)]
        other = [[*order[:k], stop, *order[k + 1 :]] for k in range(len(order))]
        best = optimal_stays(instance, more + other).profit.max()
        if best > -math.inf:  # else the plan with the stop alone must do
            near[stop] = cost
            assert cost == pytest.approx(result.profit - best)
    assert len(near) > 1
    required = [int(np.flatnonzero(changed.required)[0]) for changed in asked[1:]]
    assert required[: len(near)] == sorted(near, key=near.__getitem__)
    told = [row["cost"] for row in answer.to_dict()["left_out"] if row["why"] == "costs"]
    assert told == sorted(costs.values())


def test_many_stops_alone_in_one_go() -> None:
    """What plans of one stop earn is the same for all stops at once as for each by itself."""
    (instance,) = generate("people", nodes=40, vehicles=3, seed=2)
    stops = range(1, instance.nodes)
    alone = {stop: explanation._alone(instance, stop) for stop in stops}
    wanted = {stop: -np.inf if one is None else one.profit for stop, one in alone.items()}
    assert explanation._profits_alone(instance, stops) == pytest.approx(wanted)
