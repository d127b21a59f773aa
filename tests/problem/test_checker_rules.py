"""Tests of each rule of a plan by hand, with vehicles and alternatives of all kinds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from decost import Instance, Route, Solution, Visit, check, profit_of
from decost.problem.checker import Rule, choose_alternatives
from decost.problem.plan import alternative_numbers, make_solution, timed_route
from decost.problem.records import Alternative, Place, Stop, Vehicle
from oracle import as_solution, best_plan, shifts, tiny_instance


def town(**red: Any) -> Instance:
    """Three stops, a hotel, and three vehicles, the third of which is underway and late."""
    return Instance.build(
        begin=10,
        budget=50,
        travel=[
            [0, 5, 3, 4, 2],
            [5, 0, 2, 3, 6],
            [3, 1, 0, 2, 4],
            [4, 3, 2, 0, 7],
            [2, 8, 4, 7, 0],
        ],
        places=[Place("hotel")],
        vehicles=[
            Vehicle("red", **red),
            Vehicle("blue", start="hotel", begin=12, due=60),
            Vehicle("green", start="hotel", begin=12, due=13, underway=True),
        ],
        stops=[
            Stop(
                "museum",
                min_stay=4,
                reward=5,
                profit=[[2, 6], [1, 4]],
                required=True,
                alternatives=[
                    Alternative(open=10, leave_by=24),
                    Alternative(open=30, close=35, leave_by=45, vehicles=["blue"]),
                ],
            ),
            Stop(
                "lunch",
                min_stay=3,
                reward=8,
                required=True,
                alternatives=[
                    Alternative(place="hotel", open=12, close=20),
                    Alternative(open=18, close=30),
                ],
            ),
            Stop("tower", min_stay=1, reward=6, close=40),
        ],
    )


TOWN = town()
MUSEUM = Visit(1, 15, 15, 9, 24, 5 + 2 * 5, 0)
EVENING = Visit(1, 30, 30, 4, 34, 5, 1)
LUNCH = Visit(2, 12, 12, 3, 15, 8, 0)
TOWER = Visit(3, 27, 27, 1, 28, 6, 0)
RED = Route((MUSEUM, TOWER), 32, 10)
BLUE = Route((LUNCH,), 17, 12)
GREEN = Route((), 14, 12, 1)


def plan(red: Route = RED, blue: Route = BLUE, green: Route = GREEN) -> Solution:
    """Make a plan of a route for each vehicle."""
    return Solution((red, blue, green))


def rules(instance: Instance, solution: Solution) -> list[str]:
    """Names of the broken rules."""
    return [violation.rule for violation in check(instance, solution)]


def test_plan_by_hand() -> None:
    """The plan above breaks no rule; times and profits are as written there."""
    assert check(TOWN, plan()) == []
    assert profit_of(TOWN, plan()) == plan().profit == 15 + 6 + 8
    assert make_solution(TOWN, [[1, 5], [3]], [[9, 1], [3]]) == plan()
    assert [alternative_numbers(TOWN, route) for route in plan().routes] == [[1, 5], [3], []]
    assert alternative_numbers(TOWN, Route((EVENING, LUNCH._replace(alternative=None)), 0)) == [
        2,
        3,
    ]


def test_departure_is_late() -> None:
    """The blue vehicle leaves at 22 for the evening at 30, and has no time at the museum's door."""
    route = timed_route(TOWN, [2], [4], vehicle=1)
    assert route == Route((EVENING,), 39, 22)
    assert check(TOWN, plan(Route((), 10, 10), route)) != []  # lunch is left out


BROKEN: dict[str, tuple[Rule, float | None, int, str | None, Solution]] = {
    "begin": ("begin", 1, 0, None, plan(replace(RED, depart=9.0))),
    "begin of its own": ("begin", 2, 1, None, plan(blue=replace(BLUE, depart=10.0))),
    "depart too late": (
        "travel",
        0.5,
        0,
        "museum",
        plan(replace(RED, depart=10.5)),
    ),
    "travel": ("travel", 1, 0, "museum", plan(Route((MUSEUM._replace(start=14), TOWER), 32, 10))),
    "travel between": (
        "travel",
        2,
        0,
        "tower",
        plan(Route((MUSEUM, TOWER._replace(start=25)), 30, 10)),
    ),
    "open": (
        "open",
        1,
        1,
        "museum",
        plan(Route((), 10, 10), Route((LUNCH, EVENING._replace(start=29)), 38, 12)),
    ),
    "close": (
        "close",
        1,
        1,
        "museum",
        plan(Route((), 10, 10), Route((LUNCH, EVENING._replace(start=36)), 45, 12)),
    ),
    "leave_by": (
        "leave_by",
        1,
        0,
        "museum",
        plan(Route((MUSEUM._replace(stay=10, profit=17),), 30, 10)),
    ),
    "min_stay": ("min_stay", 1, 1, "lunch", plan(blue=Route((LUNCH._replace(stay=2),), 16, 12))),
    "max_stay": ("max_stay", 2, 1, "lunch", plan(blue=Route((LUNCH._replace(stay=5),), 19, 12))),
    "vehicle": ("vehicle", None, 0, "museum", plan(Route((EVENING,), 39, 10))),
    "due": (
        "due",
        11,
        2,
        None,
        plan(green=Route((Visit(3, 19, 19, 1, 20, 6),), 24, 12), red=Route((MUSEUM,), 29, 10)),
    ),
    "twice": ("twice", None, 1, "museum", plan(blue=Route((LUNCH, EVENING), 39, 12))),
    "required": ("required", None, -1, "lunch", plan(blue=Route((), 12, 12))),
    "profit": (
        "profit",
        1,
        0,
        "museum",
        plan(Route((MUSEUM._replace(profit=16), TOWER), 32, 10)),
    ),
    "alternative": (
        "alternative",
        None,
        0,
        "museum",
        plan(Route((MUSEUM._replace(alternative=2), TOWER), 32, 10)),
    ),
    "no alternative": (
        "alternative",
        None,
        0,
        "museum",
        plan(Route((MUSEUM._replace(alternative=-1), TOWER), 32, 10)),
    ),
    "alternative of the next stop": (
        "alternative",
        None,
        0,
        "tower",
        plan(Route((MUSEUM, TOWER._replace(alternative=1)), 32, 10)),
    ),
    "stop": ("stop", None, 0, "9", plan(Route((MUSEUM, TOWER._replace(stop=9)), 32, 10))),
}


@pytest.mark.parametrize("case", BROKEN)
def test_each_rule_alone(case: str) -> None:
    """One rule is broken: it is named with amount, vehicle and stop, and no other one is."""
    rule, amount, route, stop, solution = BROKEN[case]
    (violation,) = check(TOWN, solution)
    assert violation.rule == rule
    assert violation.route == (None if route < 0 else route)
    if amount is None:
        assert np.isnan(violation.amount)
    else:
        assert violation.amount == amount
    text = str(violation)
    assert text.endswith(f"[{rule}]")
    assert stop is None or stop in text
    if route >= 0:
        assert text.startswith(f"vehicle '{TOWN.fleet[route].id}'")


def test_messages() -> None:
    """A violation reads as a sentence with the vehicle's id and the stop's."""
    solution = plan(Route((EVENING._replace(start=29),), 39, 9), Route((), 12, 12))
    assert [str(violation) for violation in check(TOWN, solution)] == [
        "vehicle 'red': leaves before it may begin by 1 [begin]",
        "vehicle 'red', visit 1 (stop 'museum'): "
        "the alternative does not admit the vehicle [vehicle]",
        "vehicle 'red', visit 1 (stop 'museum'): service starts before the stop opens by 1 [open]",
        "stop 'lunch': required, and not visited [required]",
    ]
    late = plan(Route((MUSEUM,), 29, 10), green=Route((Visit(3, 19, 19, 1, 20, 6),), 24, 12))
    assert [str(violation) for violation in check(TOWN, late)] == [
        "vehicle 'green': at its end after it is due by 11 [due]"
    ]


def test_due_and_budget() -> None:
    """Back at 5 instead of 4: that is the budget if it is the due time of all vehicles."""
    given: dict[str, Any] = {"begin": 1, "travel": np.ones((2, 2)), "stops": [Stop(reward=1)]}
    late = Solution((Route((Visit(1, 2, 4, 0, 4, 1),), 5, 1),))
    assert rules(Instance.build(**given, budget=4, vehicles=2), late) == ["budget"]
    fleet = [Vehicle(due=4), Vehicle(due=6)]
    assert rules(Instance.build(**given, vehicles=fleet), late) == ["due"]
    assert rules(Instance.build(**given, vehicles=fleet[::-1]), late) == []


def test_way_home_of_a_vehicle_that_is_underway() -> None:
    """Directly home is always allowed, late too; with a visit it has to be in time."""
    assert make_solution(TOWN, [], []).routes[2] == GREEN
    assert rules(TOWN, plan()) == []
    assert rules(TOWN, plan(green=Route((), 0.0))) == []
    fleet = [Vehicle(due=9, underway=True), Vehicle(due=1, underway=True), Vehicle(due=1)]
    travel = [[0, 3], [3, 0]]
    ends = Instance.build(travel=travel, stops=[Stop("a", reward=1)], vehicles=fleet, end="a")
    assert make_solution(ends, [], []).routes == (
        Route((), 3, 0, 0),
        Route((), 3, 0, 2),
        Route((), 0, 0, 0),
    )


def test_a_required_stop_is_named_once() -> None:
    """Every required stop that is left out, by itself; a bad visit is a visit all the same."""
    nothing = make_solution(TOWN, [], [])
    assert [violation.label for violation in check(TOWN, nothing)] == ["museum", "lunch"]
    short = plan(Route((MUSEUM._replace(stay=1, profit=5),), 21, 10))
    assert rules(TOWN, short) == ["min_stay"]


def test_rules_after_a_visit_that_is_not_known() -> None:
    """What follows is judged too, but for the way there."""
    visits = (MUSEUM._replace(stop=7), TOWER._replace(start=1, stay=2))
    found = check(TOWN, plan(Route(visits, 9, 10)))
    assert [(one.rule, one.position) for one in found if one.route == 0] == [
        ("stop", 0),
        ("max_stay", 1),
    ]
    assert [one.label for one in found if one.rule == "required"] == ["museum"]


def test_missing_alternatives() -> None:
    """In the evening it is the second, by its window; lunch at 19 is where one can be by then."""
    (museum,) = choose_alternatives(
        TOWN, plan(Route((), 10, 10), Route((EVENING._replace(alternative=None),), 39, 12))
    ).visits
    assert museum == EVENING
    lunch = Visit(2, 19, 19, 3, 22, 8, None)
    hotel = plan(blue=Route((lunch,), 24, 19))  # from the hotel to lunch it would take 4
    assert check(TOWN, hotel) == []
    assert choose_alternatives(TOWN, hotel).routes[1].visits[0].alternative == 0
    other = plan(blue=Route((lunch,), 25, 12))
    assert check(TOWN, other) == []
    assert profit_of(TOWN, other) == 15 + 6 + 8
    red = Solution((Route((lunch._replace(start=13),), 18, 10),))
    assert [one.rule for one in check(TOWN, red) if one.route == 0] == []


def test_missing_alternatives_of_what_is_not_there() -> None:
    """A stop without alternatives, and no stop at all, are reported; nothing is earned there."""
    instance = Instance.build(
        budget=9, travel=np.zeros((2, 2)), stops=[Stop(reward=1, alternatives=[])]
    )
    for stop, rule in ((1, "alternative"), (2, "stop")):
        solution = Solution((Route((Visit(stop, 0, 0, 0, 0, 1, None),), 0),))
        assert rules(instance, solution) == [rule]
        assert profit_of(instance, solution) == 0


def shaken(random: np.random.Generator, solution: Solution, span: float) -> Solution:
    """Move starts and stays about, and forget alternatives."""
    routes = []
    for route in solution.routes:
        visits = [
            visit._replace(
                start=visit.start + random.choice([0, 0, 0.1, -0.1]) * span,
                stay=visit.stay * random.choice([0, 1, 1]),
                alternative=visit.alternative if random.random() < 0.2 else None,
            )
            for visit in route.visits
        ]
        random.shuffle(visits)  # type: ignore[arg-type]
        routes.append(replace(route, visits=tuple(Visit(*visit) for visit in visits)))
    return Solution(tuple(routes))


def test_missing_alternatives_break_the_fewest_rules() -> None:
    """As few as by the best of all combinations, on plans that are good and plans that are not."""
    random = np.random.default_rng(3)
    several = broken = 0
    for _ in range(400):
        instance = tiny_instance(random)
        solution = shaken(random, as_solution(instance, best_plan(instance)), instance.horizon)
        first = instance.alternative_first
        options = [
            range(first[visit.stop + 1] - first[visit.stop])
            if visit.alternative is None
            else [visit.alternative]
            for visit in solution.visits
        ]
        counts = []
        for choice in itertools.product(*options):
            each = iter(choice)
            routes = tuple(
                replace(
                    route,
                    visits=tuple(visit._replace(alternative=next(each)) for visit in route.visits),
                )
                for route in solution.routes
            )
            counts.append(len(check(instance, Solution(routes))))
        assert len(check(instance, solution)) == min(counts)
        several += min(counts) < max(counts)
        broken += min(counts) > 0
    assert several > 40
    assert broken > 40


def test_plans_of_the_oracle_are_accepted() -> None:
    """Apart from required stops that nobody can visit, with the same profit and times."""
    random = np.random.default_rng(1)
    for _ in range(500):
        instance = tiny_instance(random)
        best = best_plan(instance)
        solution = as_solution(instance, best)
        left_out = int(instance.required.sum()) - best.required
        assert rules(instance, solution) == ["required"] * left_out
        assert profit_of(instance, solution) == pytest.approx(best.profit, abs=1e-9)
        ours = make_solution(
            instance,
            [[way.number for way in route] for route, _ in best.routes],
            [stays for _, stays in best.routes],
        )
        for mine, his in zip(ours.routes, solution.routes, strict=True):
            near = {"rel": 1e-9, "abs": 1e-9 * instance.horizon}
            assert (mine.finish, mine.depart) == pytest.approx((his.finish, his.depart), **near)
            assert mine.late == pytest.approx(his.late, abs=instance.tolerance)
            for one, other in zip(mine.visits, his.visits, strict=True):
                assert one == pytest.approx(other, **near)


def breaches(
    instance: Instance, solution: Solution, random: np.random.Generator
) -> list[tuple[str, Solution]]:
    """Break every rule that can be broken at a random visit of the plan, each by itself."""
    busy = [k for k, route in enumerate(solution.routes) if route.visits]
    if not busy:
        return []
    number = int(random.choice(busy))
    route = solution.routes[number]
    at = int(random.integers(len(route.visits)))
    visit, last = route.visits[at], route.visits[-1]
    shift = shifts(instance)[number]
    every = {way.number: way for one in shifts(instance) for way in one.ways}
    ways = [
        every[int(instance.alternative_first[v.stop]) + (v.alternative or 0)] for v in route.visits
    ]
    way = ways[at]
    by = float(random.uniform(0.001, 0.2)) * instance.horizon

    def routes_with(new: Route) -> Solution:
        return Solution((*solution.routes[:number], new, *solution.routes[number + 1 :]))

    def with_visits(visits: tuple[Visit, ...]) -> Solution:
        return routes_with(replace(route, visits=visits))

    def changed(where: int = at, **changes: Any) -> Solution:
        visits = route.visits
        return with_visits(
            (*visits[:where], visits[where]._replace(**changes), *visits[where + 1 :])
        )

    place, left = (
        (ways[at - 1].place, route.visits[at - 1].leave) if at else (shift.start, route.depart)
    )
    longest = way.min_stay + sum(length for _, length in way.pieces)
    home = shift.travel[ways[-1].place][shift.end]
    due = "budget" if all(one.due == instance.budget for one in instance.fleet) else "due"
    planted = [
        ("begin", routes_with(replace(route, depart=shift.begin - by))),
        ("travel", changed(start=left + shift.travel[place][way.place] - by)),
        ("open", changed(start=way.open - by)),
        ("min_stay", changed(stay=way.min_stay - by)),
        ("max_stay", changed(stay=longest + by)),
        (due, changed(len(ways) - 1, start=shift.due - home - last.stay + by)),
        ("profit", changed(profit=visit.profit + 1e-3 * (1 + way.most))),
        ("alternative", changed(alternative=int(np.diff(instance.alternative_first)[visit.stop]))),
        ("stop", changed(stop=instance.nodes)),
        ("twice", with_visits((*route.visits, visit))),
        ("vehicles", Solution((*solution.routes, route))),
    ]
    if way.close < np.inf:
        planted.append(("close", changed(start=way.close + by)))
    if way.leave_by < np.inf:
        planted.append(("leave_by", changed(stay=way.leave_by - visit.start + by)))
    if instance.required[visit.stop]:
        planted.append(("required", with_visits((*route.visits[:at], *route.visits[at + 1 :]))))
    mine = {way.number for way in shift.ways}
    first = instance.alternative_first
    for other in range(first[visit.stop], first[visit.stop + 1]):
        if other not in mine:
            planted.append(("vehicle", changed(alternative=other - int(first[visit.stop]))))
    return planted


def test_random_breaches_are_reported() -> None:
    """The rule that was broken is among those reported."""
    random = np.random.default_rng(2)
    counts: dict[str, int] = {}
    for _ in range(300):
        instance = tiny_instance(random)
        solution = as_solution(instance, best_plan(instance))
        before = len(check(instance, solution))
        for rule, broken in breaches(instance, solution, random):
            found = check(instance, broken)
            assert len(found) > before
            assert rule in [violation.rule for violation in found]
            counts[rule] = counts.get(rule, 0) + 1
    assert set(counts) == set(get_args(Rule))
    assert min(counts.values()) > 10


def test_shorter_stays_are_accepted() -> None:
    """With the same starts any stays between the shortest and the best ones are feasible."""
    random = np.random.default_rng(4)
    for _ in range(100):
        instance = tiny_instance(random)
        best = best_plan(instance)
        left_out = int(instance.required.sum()) - best.required
        routes = []
        for route, (ways, _) in zip(as_solution(instance, best).routes, best.routes, strict=True):
            stays = [
                random.uniform(way.min_stay, max(way.min_stay, visit.stay))
                for way, visit in zip(ways, route.visits, strict=True)
            ]
            starts = [visit.start for visit in route.visits]
            numbers = [way.number for way in ways]
            routes.append(timed_route(instance, numbers, stays, starts, len(routes)))
        assert rules(instance, Solution(tuple(routes))) == ["required"] * left_out
