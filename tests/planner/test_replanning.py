"""Tests of replanning: what has begun stays, and the rest is planned anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuts
import decost
from clock import within
from decost import (
    Alternative,
    Instance,
    MethodError,
    Place,
    Solution,
    Stop,
    Vehicle,
    check,
    make_solution,
    replan,
)
from oracle import tiny_instance
from seeds import seeds

LINE = Instance.build(
    depot=Place(x=0, y=0),
    budget=20,
    stops=[
        Stop("a", x=2, y=0, rate=1, max_stay=4),
        Stop("b", x=4, y=0, rate=2, max_stay=4),
        Stop("c", x=6, y=0, rate=3, max_stay=3),
    ],
)
"""Stops on a line; all of them take 12 to go and come, which leaves 8 for stays."""


def short_plan() -> Solution:
    """Make a plan that visits a from 2 to 3, and b from 5 to 7, and is home at 11."""
    return make_solution(LINE, [[1, 2]], [[1.0, 2.0]])


def visits(solution: Solution) -> list[tuple[int, float, float]]:
    """List stop, start and stay of every visit."""
    return [(one.stop, round(one.start, 9), round(one.stay, 9)) for one in solution.visits]


def test_during_a_visit() -> None:
    """While a is served, that visit stays as it is and the rest is free.

    From 3 at a, 13 are left at home by 20 less 4 to c and 6 back: 7 for c (3) and b (4).
    """
    result = replan(LINE, short_plan(), 2.5)
    assert result.solution.visits[0] == short_plan().visits[0]
    assert visits(result.solution) == [(1, 2, 1), (2, 5, 4), (3, 11, 3)]
    assert (result.status, result.profit) == ("optimal", pytest.approx(1 + 8 + 9))
    assert result.bound == pytest.approx(18)
    assert result.instance is LINE


def test_on_its_way() -> None:
    """On its way to b the vehicle goes there first, though c alone would earn more later."""
    closing = LINE.replace(close=[0, 20, 20, 7])
    plan = make_solution(closing, [[1, 2]], [[1.0, 2.0]])
    result = replan(closing, plan, 3.5)
    assert [one.stop for one in result.solution.visits] == [1, 2, 3]
    assert visits(result.solution)[1] == (2, 5, 0)  # c closes at 7
    free = replan(closing, plan, 3.0)  # it leaves a at this moment
    assert free.profit >= result.profit


def test_waiting_at_the_door() -> None:
    """Who waits for b to open serves it first, though a could be served meanwhile."""
    opening = LINE.replace(open=[0, 0, 10, 0])
    plan = make_solution(opening, [[2]], [[4.0]])
    plan = Solution((decost.Route(plan.routes[0].visits, plan.routes[0].finish, 0.0),))
    result = replan(opening, plan, 5)
    assert visits(result.solution)[0][:2] == (2, 10)
    late = Solution((decost.Route(plan.routes[0].visits, plan.routes[0].finish, 6.0),))
    assert visits(replan(opening, late, 5).solution)[0][0] != 2  # it has not left yet


def test_dropped_on_its_way() -> None:
    """If what it is on its way to falls away, it drives there and on from there."""
    result = replan(LINE, short_plan(), 4.0, drop=["b"])
    assert visits(result.solution) == [(1, 2, 1), (3, 7, 3)]
    assert check(LINE, result.solution) == []


def test_closed_before_it_arrives() -> None:
    """If b, to which it is on its way, closes at 4 now, it is there at 5 and drives on to c."""
    closing = LINE.replace(close=[0, 20, 4, 20])
    result = replan(closing, short_plan(), 3.5)
    assert visits(result.solution) == [(1, 2, 1), (3, 7, 3)]
    assert check(closing, result.solution) == []


def test_again_after_a_way_round() -> None:
    """Nobody is where a plan goes by a way round before the plan says so.

    On its way from a to b at 60, which falls away at 30, it goes there and comes back to c at
    10, 10: at 70 + sqrt(50^2 + 10^2). Whoever asks again meanwhile cannot be at c any earlier.
    """
    instance = Instance.build(
        depot=Place(x=0, y=0),
        budget=200,
        stops=[
            Stop("a", x=10, y=0, reward=5, min_stay=10),
            Stop("b", x=60, y=0, reward=50, min_stay=10),
            Stop("c", x=10, y=10, rate=1, max_stay=60),
        ],
    )
    plan = make_solution(instance, [[1, 2]], [[10.0, 10.0]])
    once = replan(instance, plan, 30, drop=["b"])
    there = 70 + 2600**0.5
    assert once.solution.visits[1][:3:2] == (3, pytest.approx(there))
    again = replan(instance, once.solution, 35, drop=["b"])
    assert visits(again.solution) == visits(once.solution)
    both = replan(instance, once.solution, 35)
    assert min(one.start for one in both.solution.visits[1:]) >= there - 1e-9


def test_waiting_longer_than_needed() -> None:
    """A visit that a plan puts off does not begin before the plan says, and not in the past."""
    plan = make_solution(LINE, [[2]], [[1.0]])
    first = plan.visits[0]._replace(start=10.0, leave=11.0)
    result = replan(LINE, Solution((decost.Route((first,), 15.0, 0.0),)), 8)
    assert visits(result.solution)[0][:2] == (2, 10)


def test_stops_are_kept_though_another_is_required() -> None:
    """A required stop that is not in the plan does not take the place of one that is kept."""
    instance = Instance.build(
        depot=Place(x=0, y=0),
        budget=100,
        stops=[
            Stop("A", x=0, y=10, open=25, close=25, reward=1),
            Stop("B", x=0, y=-10, open=25, close=25, reward=90, required=True),
            Stop("D", x=0, y=12, rate=1, max_stay=60),
        ],
    )
    plan = make_solution(instance, [[3, 1]], [[5.0, 0.0]])
    result = replan(instance, plan, 0, keep="stop")
    assert {one.stop for one in result.solution.visits} == {1, 3}
    assert (result.status, result.profit) == ("incomplete", pytest.approx(61))


def test_time_limit_is_for_all_of_it() -> None:
    """Also where what is left has to be solved twice: one more stop is where the vehicle heads."""
    (instance,) = decost.generate("mixed", nodes=60, seed=4)
    plan = decost.solve(instance, "greedy").solution
    first = plan.visits[1]
    x, y = instance.xy[first.stop]
    more = [Stop("here", x=float(x), y=float(y), reward=1)]
    instance = instance.replace(ids=[f"s{k}" for k in range(1, instance.nodes)])
    decost.prepare("auto", [instance])
    moment = (plan.visits[0].leave + first.start) / 2
    with within(2.0):
        replan(instance, plan, moment, add=more, time_limit=1.0)


def test_on_its_way_home() -> None:
    """Who is on the way home goes there, and may leave again."""
    result = replan(LINE, short_plan(), 8.0)  # at home at 11: 9 are left, for a and back, or b
    assert visits(result.solution)[:2] == visits(short_plan())
    assert result.profit == pytest.approx(short_plan().profit)
    long = LINE.replace(budget=40)
    result = replan(long, short_plan(), 8.0)
    assert visits(result.solution)[2] == (3, 17, 3)


def test_done_and_required() -> None:
    """What was done outside of the plan is not visited, and not required any more."""
    must = LINE.replace(required=[False, False, False, True])
    result = replan(must, short_plan(), 2.5, done=["c"])
    assert 3 not in result.solution.routes[0].stops
    assert result.status == "optimal"
    assert not result.instance.required.any()
    assert check(result.instance, result.solution) == []
    assert replan(must, short_plan(), 2.5).solution.routes[0].stops[-1] == 3


def test_new_stops() -> None:
    """New stops come behind the others; the plan is one of the larger instance."""
    new = [Stop("d", x=2, y=1, reward=50, required=True), Stop("e", x=99, y=0, reward=99)]
    result = replan(LINE, short_plan(), 2.5, add=new)
    assert result.instance.ids == ("a", "b", "c", "d", "e")
    assert result.instance.only([1, 2, 3]) == LINE
    assert 4 in result.solution.routes[0].stops
    assert check(result.instance, result.solution) == []


def test_new_stops_beside_a_matrix() -> None:
    """There a new stop is at a place of the matrix, whose row it takes over."""
    matrix = [[0, 1, 5], [2, 0, 6], [7, 3, 0]]
    instance = Instance.build(
        stops=[Stop("a", reward=1)], places=[Place("inn")], travel=matrix, budget=30
    )
    plan = make_solution(instance, [[1]], [[0.0]])
    new = Stop("d", place="inn", reward=9)
    result = replan(instance, plan, 0.5, add=[new])
    assert result.solution.routes[0].stops == (1, 2)
    assert result.solution.visits[1].start == 7
    with pytest.raises(MethodError, match=r"add\[0\].place = None: must be a place of the travel"):
        replan(instance, plan, 0.5, add=[Stop("d", reward=9)])


def test_keep_route() -> None:
    """The same stops in the same order, with the best times: 17 at b less 4 to go home."""
    result = replan(LINE, short_plan(), 2.5, keep="route")
    assert visits(result.solution) == [(1, 2, 1), (2, 5, 4)]


def test_route_that_cannot_be_kept() -> None:
    """The stop at which it breaks is named; without keeping it, there is another plan."""
    closing = LINE.replace(close=[0, 20, 4, 20])
    plan = make_solution(closing, [[1, 2]], [[4.0, 2.0]])  # b is reached at 8
    with pytest.raises(MethodError, match=r"cannot be kept: .* visit 1 \(stop 'b'\): it cannot be"):
        replan(closing, plan, 3, keep="route")
    assert visits(replan(closing, plan, 3).solution) == [(1, 2, 4), (3, 10, 3)]


def test_short_cut_home() -> None:
    """A stop that earns nothing stays if only the way through it leads home in time."""
    travel = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    instance = Instance(budget=4, travel=travel, reward=[0, 5, 0])
    plan = make_solution(instance, [[1, 2]], [[0.0, 0.0]])
    result = replan(instance, plan, 1.0)
    assert result.solution.routes[0].stops == (1, 2)


def test_keep_order() -> None:
    """Others may come between, but what was there keeps its order."""
    plan = make_solution(LINE, [[3, 1]], [[1.0, 1.0]])
    result = replan(LINE, plan, 0.0, keep="order")
    order = result.solution.routes[0].stops
    assert order.index(3) < order.index(1)
    assert set(order) == {1, 2, 3}


def test_keep_stop() -> None:
    """A stop that earns nothing stays visited, in a better order."""
    poor = LINE.replace(pieces=[[], [], [[2, 4]], [[3, 3]]])
    plan = make_solution(poor, [[3, 1]], [[1.0, 0.0]])
    assert set(replan(poor, plan, 0).solution.routes[0].stops) == {2, 3}
    kept = replan(poor, plan, 0, keep="stop")
    assert {1, 3} <= set(kept.solution.routes[0].stops)


def test_alternatives_and_clock_times() -> None:
    """At noon the afternoon is planned anew, by another alternative and vehicle."""
    hours = [Alternative(open="09:00", leave_by="12:00"), Alternative(open="14:00")]
    instance = Instance.build(
        unit="minutes",
        begin="09:00",
        budget="18:00",
        depot=Place(x=0, y=0),
        vehicles=[Vehicle("red"), Vehicle("blue")],
        stops=[
            Stop("museum", x=10, y=0, min_stay=30, reward=5, alternatives=hours),
            Stop("tower", x=0, y=20, min_stay=30, reward=9),
        ],
    )
    plan = make_solution(instance, [[1], []], [[30.0], []])  # at 09:10, in the morning
    assert replan(instance, plan, "09:20").solution.visits[0] == plan.visits[0]
    late = make_solution(instance, [[2], []], [[30.0], []])
    result = replan(instance, late, "08:00")
    assert result.profit == pytest.approx(14)
    with pytest.raises(MethodError, match="now = 'noon': must be a number or a clock time"):
        replan(instance, plan, "noon")


def test_required_that_cannot_be_visited_any_more() -> None:
    """If it is too late, that is said, with the stop."""
    must = LINE.replace(required=[False, False, False, True])
    result = replan(must, short_plan(), 10.0)
    assert (result.status, result.required_bound) == ("infeasible", 0)
    assert result.reasons[0].startswith("stop 'c' cannot be visited: ")
    assert visits(result.solution) == visits(short_plan())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"now": "noon"}, "now = 'noon': clock times need unit = 'minutes'"),
        ({"now": float("nan")}, "now = nan: must be finite"),
        ({"done": ["x"]}, "done: stop = 'x': the instance has no such stop"),
        ({"done": "a"}, "done = 'a': must be a list of stops"),
        ({"drop": [7]}, "drop: stop = 7: the instance has no such stop"),
        ({"drop": ["a"]}, "drop = 'a': its visit has begun"),
        ({"keep": "all"}, "keep = 'all': must be one of route, order, stop"),
        ({"start": [[1]]}, "option start: is the plan that is given"),
        ({"add": [Stop("a", x=1, y=1)]}, "add[0].id = 'a': there is such a stop already"),
        ({"add": [Stop(x=1, y=1)]}, "add[0].id: missing"),
        ({"add": [3]}, "add[0] = 3: must be a Stop"),
        ({"add": [Stop("d", x=1, y=1, open=3, close=2)]}, "add: stop 'd': close = 2.0: is less"),
        ({"add": [Stop("d", x=1)]}, "add: stop 'd': y: missing"),
        ({"add": [Stop("d", x=1, y=1, vehicles=["red"])]}, "add: stop 'd': vehicles"),
        ({"method": "nonsense"}, "method 'nonsense': unknown"),
        ({"nonsense": 1}, "option nonsense = 1: unknown"),
        ({"nonsense": 1, "keep": "route"}, "option nonsense = 1: unknown"),
        ({"time_limit": -3, "keep": "order"}, "option time_limit = -3"),
        ({"drop": 5}, "drop = 5: must be a list of stops"),
        ({"add": Stop("d", x=1, y=1)}, "add = Stop("),
        ({"plan": [[1]]}, "plan = [[1]]: must be a plan or a result"),
    ],
)
def test_wrong_arguments(change: dict[str, Any], message: str) -> None:
    """Each is refused by name and value."""
    given: dict[str, Any] = {"plan": short_plan(), "now": 2.5} | change
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        replan(LINE, **given)
    assert str(caught.value).startswith(message)


def test_plans_of_other_instances() -> None:
    """A plan with other stops or too many routes is refused, as is the result of another one."""
    four = LINE.only([1, 2, 3, 3][:3]).replace(vehicles=2)
    with pytest.raises(MethodError, match="plan: is for another instance: has 2 routes"):
        replan(LINE, make_solution(four, [[1], [2]], [[1], [1]]), 2.5)
    with pytest.raises(MethodError, match="plan: is for another instance, Instance"):
        replan(LINE, decost.solve(LINE.only([1, 2])), 2.5)
    with pytest.raises(MethodError, match=r"plan: is for another .* visit 2: there is no stop 3"):
        replan(LINE.only([1, 2]), make_solution(LINE, [[1, 3]], [[1, 1]]), 2.5)


def test_plans_that_break_a_rule() -> None:
    """A rule that is broken before now is named with its visit; what comes later does not count."""
    plan = make_solution(LINE, [[1, 2]], [[9.0, 2.0]])
    with pytest.raises(MethodError, match=r"before now = 2.5: route 1, visit 1 \(stop 'a'\): stay"):
        replan(LINE, plan, 2.5)
    assert replan(LINE, plan, 1.5).status == "optimal"  # a is not served yet
    jump = Solution((decost.Route(tuple(v._replace(start=1.0) for v in plan.visits), 9.0),))
    with pytest.raises(MethodError, match=r"visit 1 .*: service starts before the vehicle arrives"):
        replan(LINE, jump, 2.5)


def test_progress_is_of_the_whole_plan() -> None:
    """A listener hears of the profit with what was earned before."""
    heard: list[Any] = []
    result = replan(LINE, short_plan(), 2.5, progress=heard.append)
    assert heard[-1].profit == pytest.approx(result.profit)
    assert heard[-1].plan().profit == pytest.approx(result.profit)


@pytest.mark.parametrize("method", ["auto", "search", "greedy"])
def test_random_cuts(method: str) -> None:
    """Plans of all kinds cut at random times: nothing begun has changed, and nothing is lost."""
    options: dict[str, Any] = {"search": {"iterations": 5}, "auto": {"time_limit": 0.5}}
    for seed in seeds(20):
        random = np.random.default_rng(seed)
        instance, plan = cuts.random_plan(random)
        now = cuts.random_time(random, instance, plan)
        result = replan(instance, plan, now, method=method, **options.get(method, {}))
        assert list(cuts.faults(plan, now, result)) == [], seed
        before = cuts.required(instance, plan), plan.profit * (1 - 1e-12)
        assert (cuts.required(instance, result.solution), result.profit) >= before, seed


def test_best_continuation() -> None:
    """The continuation of tiny plans is the best of all that there are, and proven to be."""
    proven = 0
    for seed in seeds(60):
        random = np.random.default_rng(seed)
        instance = tiny_instance(random)
        plan = decost.solve(instance, "greedy").solution
        now = cuts.random_time(random, instance, plan)
        if instance.xy is None and cuts.goes_home(instance, plan, now):
            continue
        result = replan(instance, plan, now)
        best = cuts.best_continuation(instance, plan, now)
        assert cuts.required(instance, result.solution) == best[0], seed
        assert result.profit == pytest.approx(best[1], rel=1e-6, abs=1e-9), seed
        assert result.bound is None or result.bound >= best[1] * (1 - 1e-6), seed
        proven += result.status == "optimal"
    assert proven > 20


@pytest.mark.parametrize("keep", ["route", "order", "stop"])
def test_random_cuts_that_keep(keep: Any) -> None:
    """The same of plans of which something is kept, and that is."""
    for seed in seeds(15):
        random = np.random.default_rng(seed)
        instance, plan = cuts.random_plan(random)
        now = cuts.random_time(random, instance, plan)
        result = replan(instance, plan, now, keep=keep, method="search", iterations=5)
        assert list(cuts.faults(plan, now, result)) == [], seed
        assert result.profit >= plan.profit * (1 - 1e-12), seed
        for old, new in zip(plan.routes, result.solution.routes, strict=True):
            left = [stop for stop in new.stops if stop in old.stops]
            if keep == "route":
                assert new.stops == old.stops, seed
            if keep == "order":
                assert left == list(old.stops), seed
        kept = {visit.stop for visit in plan.visits}
        assert kept <= {visit.stop for visit in result.solution.visits}, seed


def test_random_cuts_with_news() -> None:
    """The same of plans of which stops fell away or are done already."""
    for seed in seeds(30):
        random = np.random.default_rng(seed)
        instance, plan = cuts.random_plan(random)
        now = cuts.random_time(random, instance, plan)
        later = [visit.stop for visit in plan.visits if visit.start > now]
        gone = [stop for stop in later if random.random() < 0.5]
        result = replan(
            instance, plan, now, drop=gone[::2], done=gone[1::2], method="search", iterations=5
        )
        assert list(cuts.faults(plan, now, result, gone)) == [], seed
