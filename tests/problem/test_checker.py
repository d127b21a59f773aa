"""Tests of the checker: it finds each broken rule where it is broken, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decost import Instance, Route, Solution, Visit, check, generate, profit_of, solve_many
from decost.problem.checker import Rule, Violation
from strategies import Planned, instances, planned, profit_by_hand

FAR = st.floats(0.01, 1.0)
"""How much of 0.125 units a rule is broken by; the tolerance is less than 0.002 of them."""


def plant_vehicles(plan: Planned, at: int, by: float) -> Planned:
    """Add an empty route for which there is no vehicle."""
    return plan._replace(solution=Solution((*plan.solution.routes, Route((), 0.0))))


def plant_stop(plan: Planned, at: int, by: float) -> Planned:
    """Visit a stop that does not exist."""
    return plan.visit(at, stop=(0, -1, plan.instance.nodes)[at % 3])


def plant_alternative(plan: Planned, at: int, by: float) -> Planned:
    """Use an alternative that the stop does not have."""
    return plan.visit(at, alternative=(1, -1, 7)[at % 3])


def plant_begin(plan: Planned, at: int, by: float) -> Planned:
    """Leave before time 0."""
    (route,) = plan.solution.routes
    return plan._replace(solution=Solution((replace(route, depart=-by),)))


def plant_twice(plan: Planned, at: int, by: float) -> Planned:
    """Let another vehicle visit one of the stops too."""
    visit = plan.visits[at]
    alone = plan.instance.travel.copy()
    alone[0, visit.stop] = alone[visit.stop, 0] = 0.0
    alone[0, plan.visits[0].stop] = min(alone[0, plan.visits[0].stop], plan.visits[0].start)
    instance = plan.instance.replace(travel=alone, vehicles=2)
    return Planned(instance, Solution((*plan.solution.routes, Route((visit,), visit.leave))))


def plant_travel(plan: Planned, at: int, by: float) -> Planned:
    """Make the way to the stop longer."""
    travel = plan.instance.travel.copy()
    place = plan.visits[at - 1].stop if at else 0
    visit = plan.visits[at]
    travel[place, visit.stop] += visit.start - visit.arrive + by
    return plan._replace(instance=plan.instance.replace(travel=travel))


def plant_open(plan: Planned, at: int, by: float) -> Planned:
    """Open the stop after its service starts."""
    start = plan.visits[at].start
    return plan.change(at, open=start + by, close=start + 9)


def plant_close(plan: Planned, at: int, by: float) -> Planned:
    """Close the stop before its service starts."""
    start = plan.visits[at].start
    return plan.change(at, close=start - by, open=start - 9)


def plant_leave_by(plan: Planned, at: int, by: float) -> Planned:
    """Forbid to stay until the service ends."""
    return plan.change(at, leave_by=plan.visits[at].leave - by)


def plant_min_stay(plan: Planned, at: int, by: float) -> Planned:
    """Stay less than the minimum."""
    stop = plan.visits[at].stop
    stay = plan.instance.min_stay[stop] - by
    return plan.visit(at, stay=stay, profit=float(plan.instance.reward[stop]))


def plant_max_stay(plan: Planned, at: int, by: float) -> Planned:
    """Shorten the longest stay to less than the stay."""
    visit = plan.visits[at]
    instance = plan.instance
    reward, min_stay = instance.reward[visit.stop], instance.min_stay[visit.stop]
    shorter = [[1.0, visit.stay - by - min_stay]]
    return plan.change(at, pieces=shorter).visit(
        at, profit=profit_by_hand(reward, min_stay, shorter, visit.stay)
    )


def plant_budget(plan: Planned, at: int, by: float) -> Planned:
    """Ask for the vehicle earlier than it is back."""
    finish = plan.solution.routes[0].finish
    return plan._replace(instance=plan.instance.replace(budget=finish - by))


def plant_profit(plan: Planned, at: int, by: float) -> Planned:
    """Claim more than the stay earns."""
    return plan.visit(at, profit=plan.visits[at].profit + by)


PLANTS: dict[Rule, Callable[[Planned, int, float], Planned]] = {
    "vehicles": plant_vehicles,
    "begin": plant_begin,
    "stop": plant_stop,
    "alternative": plant_alternative,
    "twice": plant_twice,
    "travel": plant_travel,
    "open": plant_open,
    "close": plant_close,
    "leave_by": plant_leave_by,
    "min_stay": plant_min_stay,
    "max_stay": plant_max_stay,
    "budget": plant_budget,
    "profit": plant_profit,
}
COUNTED = ("vehicles", "stop", "alternative", "twice")
"""Rules that are not a matter of degree."""


def test_every_rule_is_planted() -> None:
    """No rule is left out below, but for those on what equal vehicles and simple stops lack."""
    assert set(PLANTS) == set(get_args(Rule)) - {"vehicle", "due", "required"}


@given(planned())
def test_feasible_plan_is_accepted(plan: Planned) -> None:
    """A plan that keeps every rule by construction has no violation."""
    assert check(plan.instance, plan.solution) == []


@pytest.mark.parametrize("rule", PLANTS)
@given(plan=planned(), data=st.data())
def test_planted_violation_is_found(rule: Rule, plan: Planned, data: st.DataObject) -> None:
    """A broken rule is named, at its stop and with its amount, and no other rule is."""
    at = data.draw(st.integers(0, len(plan.visits) - 1))
    by = 0.125 * data.draw(FAR)
    broken = PLANTS[rule](plan, at, by)
    (violation,) = check(broken.instance, broken.solution)
    assert violation.rule == rule
    if rule == "vehicles":
        assert (violation.route, violation.position, violation.amount) == (None, None, 1)
    elif rule in ("begin", "budget"):
        assert (violation.route, violation.position) == (0, None)
    elif rule == "twice":
        assert (violation.route, violation.position) == (1, 0)
    else:
        assert (violation.route, violation.position) == (0, at)
    if rule not in COUNTED:
        assert violation.amount == pytest.approx(by, rel=1e-6)
    if rule not in (*COUNTED, "begin", "budget"):
        assert violation.stop == plan.visits[at].stop


@pytest.mark.parametrize("rule", [rule for rule in PLANTS if rule not in COUNTED])
@given(plan=planned(), data=st.data())
def test_tolerance(rule: Rule, plan: Planned, data: st.DataObject) -> None:
    """Half a tolerance is forgiven and one and a half are not."""
    at = data.draw(st.integers(0, len(plan.visits) - 1))
    unit = 1e-6 * plan.instance.budget
    if rule == "budget":
        unit = 1e-6 * plan.solution.routes[0].finish
    if rule == "profit":
        stop = plan.visits[at].stop
        pieces = plan.instance.pieces[stop]
        reward, min_stay = plan.instance.reward[stop], plan.instance.min_stay[stop]
        unit = 1e-6 * profit_by_hand(reward, min_stay, pieces, plan.instance.budget)
    near, far = (PLANTS[rule](plan, at, share * unit) for share in (0.5, 1.5))
    assert check(near.instance, near.solution) == []
    assert [violation.rule for violation in check(far.instance, far.solution)] == [rule]


@pytest.mark.parametrize("field", ["start", "stay", "profit"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@given(plan=planned(), data=st.data())
def test_not_a_number_is_a_violation(
    field: str, value: float, plan: Planned, data: st.DataObject
) -> None:
    """No time or profit that is not finite passes, whatever the instance leaves open."""
    at = data.draw(st.integers(0, len(plan.visits) - 1))
    free = plan.change(at, leave_by=np.inf, close=np.inf)
    broken = free.visit(at, **{field: value})
    found = check(broken.instance, broken.solution)
    assert any(violation.position == at for violation in found)


@pytest.mark.parametrize("stop", [0, -1, 3, 10**9, 1.0, 1.5, np.nan, "a", None])
def test_what_is_no_stop(stop: object) -> None:
    """Anything but the number of a stop is reported, and earns nothing."""
    instance = Instance(budget=9, travel=np.zeros((3, 3)), reward=[0, 5, 5])
    plan = Solution((Route((Visit(stop, 0, 0, 0, 0, 5),), 0),))  # type: ignore[arg-type]
    assert [violation.rule for violation in check(instance, plan)] == ["stop"]
    assert profit_of(instance, plan) == 0


def test_numpy_numbers_are_stops() -> None:
    """A plan may hold the integers of an array."""
    instance = Instance(budget=9, travel=np.zeros((3, 3)), reward=[0, 5, 5])
    plan = Solution((Route((Visit(np.int64(2), 0, 0, 0, 0, 5.0),), 0.0),))  # type: ignore[arg-type]
    assert check(instance, plan) == []


def test_same_stop_twice_on_one_route() -> None:
    """Coming back to a stop is a violation, even if there is time for it."""
    instance = Instance(budget=9, travel=np.zeros((2, 2)), reward=[0, 5])
    visit = Visit(1, 0, 0, 0, 0, 5)
    (violation,) = check(instance, Solution((Route((visit, visit), 0.0),)))
    assert (violation.rule, violation.route, violation.position) == ("twice", 0, 1)


def test_claimed_profit_of_an_endless_stay() -> None:
    """A stop of which the longest stay is far beyond the budget is judged as strictly."""
    instance = Instance(budget=10, travel=np.zeros((2, 2)), rate=[0, 1], max_stay=[0, 1e9])
    honest, boaster = (Solution((Route((Visit(1, 0, 0, 1, 1, p),), 1.0),)) for p in (1.0, 1.001))
    assert check(instance, honest) == []
    assert [violation.rule for violation in check(instance, boaster)] == ["profit"]


def test_separate_end() -> None:
    """The way home leads to the end depot; a vehicle that stays in has no way home."""
    travel = [[0, 1, 99], [99, 0, 4], [99, 99, 0]]
    instance = Instance(budget=5, travel=travel, separate_end=True, reward=[0, 1])
    plan = Solution((Route((Visit(1, 1, 1, 0, 1, 1),), 5),))
    assert check(instance, plan) == []
    assert check(instance, Solution((Route((), 0.0),))) == []
    (violation,) = check(instance.replace(budget=4.5), plan)
    assert violation == Violation("budget", 0.5, route=0)


def test_no_budget_at_all() -> None:
    """With a budget of 0 there is no tolerance: what takes no time is allowed, nothing else."""
    instance = Instance(
        budget=0, travel=np.zeros((3, 3)), reward=[0, 2, 3], pieces=[[], [], [[1, 1]]]
    )
    free = Visit(1, 0, 0, 0, 0, 2)
    assert check(instance, Solution((Route((free, Visit(2, 0, 0, 0, 0, 3)), 0),))) == []
    tiny = Visit(2, 0, 0, 5e-324, 5e-324, 3)
    rules = [violation.rule for violation in check(instance, Solution((Route((free, tiny), 0),)))]
    assert rules == ["budget"]


@given(planned())
@example(Planned(Instance(budget=1, xy=[[0, 0]]), Solution((Route((), 0.0),))))
def test_profit_is_worked_out_anew(plan: Planned) -> None:
    """The profit is read off the curve at each stay, whatever the plan claims."""
    instance = plan.instance
    by_hand = sum(
        profit_by_hand(
            instance.reward[visit.stop],
            instance.min_stay[visit.stop],
            instance.pieces[visit.stop],
            visit.stay,
        )
        for visit in plan.visits
    )
    liar = Solution((Route(tuple(visit._replace(profit=-1.0) for visit in plan.visits), 0.0),))
    assert profit_of(instance, liar) == pytest.approx(by_hand, rel=1e-12)


@given(instances(), st.floats(0, 1e7))
def test_profit_of_any_stay(instance: Instance, stay: float) -> None:
    """For any stay at any stop, below the shortest and above the longest too."""
    for stop in range(1, instance.nodes):
        plan = Solution((Route((Visit(stop, 0, 0, stay, 0, 0),), 0.0),))
        by_hand = profit_by_hand(
            instance.reward[stop], instance.min_stay[stop], instance.pieces[stop], stay
        )
        assert profit_of(instance, plan) == pytest.approx(by_hand, rel=1e-6, abs=1e-3)


def test_messages() -> None:
    """A violation reads as a sentence with route, visit, stop, rule and amount."""
    instance = Instance(
        budget=10,
        travel=[[0, 2, 2], [2, 0, 2], [2, 2, 0]],
        close=[0, 1.5, 9],
        reward=[0, 1, 1],
        ids=["old\n[b]", "quay"],
    )
    visits = (Visit(1, 2, 2, 0, 2, 1), Visit(2, 4, 9, 0, 9, 1), Visit(1, 11, 11, 0, 11, 1))
    found = check(instance, Solution((Route((), 0.0), Route(visits, 13.0))))
    assert [str(violation) for violation in found] == [
        "plan: more routes than vehicles by 1 [vehicles]",
        "route 2, visit 1 (stop 'old\\n[b]'): service starts after the stop closes by 0.5 [close]",
        "route 2, visit 3 (stop 'old\\n[b]'): visited before [twice]",
        "route 2, visit 3 (stop 'old\\n[b]'): service starts after the stop closes by 9.5 [close]",
        "route 2: back after the budget by 3 [budget]",
    ]
    with pytest.raises(FrozenInstanceError):
        found[0].amount = 0.0  # type: ignore[misc]
    stranger = Solution((Route((Visit(7, 0, 0, 0, 0, 0),), 0.0),))
    assert [str(violation) for violation in check(instance, stranger)] == [
        "route 1, visit 1 (stop 7): no such stop [stop]"
    ]


@pytest.mark.parametrize("family", ["paper", "mixed"])
@pytest.mark.parametrize("vehicles", [1, 3])
def test_plans_of_greedy_are_accepted(family: str, vehicles: int) -> None:
    """On 300 instances of each family, and for teams, the checker and the method agree."""
    many = generate(family, nodes=30, count=300, seed=vehicles, vehicles=vehicles)
    busy = 0
    for instance, result in zip(many, solve_many(many, "greedy"), strict=True):
        assert check(instance, result.solution) == []
        assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)
        busy += all(route.visits for route in result.solution.routes)
    assert busy > 270


def test_checker_shares_no_code_with_the_methods() -> None:
    """Checking a plan loads neither a method nor a kernel."""
    code = (
        "import sys, decost\n"
        "i = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], rate=[0, 1], max_stay=[0, 1])\n"
        "assert decost.check(i, decost.make_solution(i, [[1]], [[1]])) == []\n"
        "print(*[m for m in sys.modules if m.startswith(('decost.', 'numba'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"decost.problem.checker", "decost.problem.instance"} <= loaded
    assert {name for name in loaded if not name.startswith("decost.problem")} == set()
    assert "decost.problem.generators" not in loaded
