"""Tests of plans: times and profits put to stops and stays."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, replace
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost import Instance, Route, Solution, Visit, make_solution
from decost.problem.plan import stay_profits, timed_route
from strategies import Planned, instances, planned, profit_by_hand

SQUARE = Instance(
    budget=30,
    xy=[[0, 0], [3, 4], [3, 0]],
    open=[0, 7, 0],
    reward=[0, 10, 0],
    min_stay=[0, 1, 0],
    pieces=[[], [[2, 3], [1, 3]], [[5, 2]]],
    vehicles=3,
)


def test_times_and_profits_by_hand() -> None:
    """Leave at 2 for stop 1, which opens at 7, stay 5, go 4 to stop 2, stay 2, and 3 home."""
    route = timed_route(SQUARE, [1, 2], [5, 2])
    assert route.visits == (Visit(1, 7, 7, 5, 12, 10 + 2 * 3 + 1), Visit(2, 16, 16, 2, 18, 10))
    assert (route.depart, route.late) == (2, 0)
    assert (route.finish, route.profit, route.stops) == (21, 27, (1, 2))


def test_starts_may_be_given() -> None:
    """A later start is kept, with a later departure, and even one that is not possible."""
    route = timed_route(SQUARE, [1, 2], [5, 2], [9, 1])
    assert [(v.arrive, v.start, v.leave) for v in route.visits] == [(9, 9, 14), (18, 1, 3)]
    assert (route.depart, route.finish) == (4, 6)
    early = timed_route(SQUARE, [1], [5], [3])
    assert (early.depart, early.visits[0].arrive, early.visits[0].start) == (0, 5, 3)


def test_idle_vehicles_have_empty_routes() -> None:
    """A plan has one route a vehicle, those that stay in at the end."""
    solution = make_solution(SQUARE, [[1], [2]], [[1], [0]])
    assert [route.stops for route in solution.routes] == [(1,), (2,), ()]
    assert [route.finish for route in solution.routes] == [13, 6, 0]
    assert solution.profit == 10
    assert [visit.stop for visit in solution.visits] == [1, 2]
    assert repr(solution) == "Solution(profit 10, visits [1, 1, 0])"


def test_more_routes_than_vehicles_are_kept() -> None:
    """Nothing is dropped: the checker is there to complain."""
    assert len(make_solution(SQUARE, [[1], [2], [], []], [[1], [0], [], []]).routes) == 4


def unread_and_made() -> tuple[Solution, Solution]:
    """Give a plan of the square twice, once without visits, by the numbers of the test above."""
    numbers = [2, 21, 1, 2, 7, 16, 7, 16, 5, 2, 12, 18, 17, 10]
    visits = (Visit(1, 7, 7, 5, 12, 17), Visit(2, 16, 16, 2, 18, 10))
    return Solution.unread(np.array(numbers, dtype=float)), Solution((Route(visits, 21, 2),))


LOOKS: dict[str, Callable[[Solution], object]] = {
    "routes": lambda plan: plan.routes,
    "visits": lambda plan: plan.visits,
    "types": lambda plan: [type(value) for visit in plan.visits for value in (visit, visit.stop)],
    "itself": lambda plan: plan,
    "hash": hash,
    "repr": repr,
    "profit": lambda plan: plan.profit,
    "profit of the route": lambda plan: (plan.routes[0].profit, plan.profit),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": lambda plan: pickle.loads(pickle.dumps(plan)),
    "replace": lambda plan: replace(plan),
    "dict": asdict,
}


@pytest.mark.parametrize("look", LOOKS)
def test_visits_are_made_when_they_are_looked_at(look: str) -> None:
    """However a plan is looked at that has no visits yet, it is the one that has them."""
    unread, made = unread_and_made()
    assert LOOKS[look](unread) == LOOKS[look](made)
    assert LOOKS[look](unread) == LOOKS[look](made)
    assert unread == made
    assert made == unread
    assert LOOKS[look](unread) == LOOKS[look](made)
    assert unread.routes is unread.routes


def test_only_what_there_is_can_be_looked_at() -> None:
    """Other names are refused, and nothing can be set, before and after visits are made."""
    unread, _ = unread_and_made()
    for _ in range(2):
        with pytest.raises(AttributeError, match="stops"):
            unread.stops  # type: ignore[attr-defined]  # noqa: B018
        with pytest.raises(FrozenInstanceError):
            unread.routes = ()  # type: ignore[misc]
        assert unread.profit == 27
        assert len(unread.visits) == 2


def test_threads_look_at_the_same_time() -> None:
    """Whichever thread makes the visits, all see the plan."""
    for _ in range(300):
        unread, made = unread_and_made()
        gate = Barrier(4)

        def look(plan: Solution, gate: Barrier = gate) -> Solution:
            gate.wait()
            return Solution(plan.routes)

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(look, [unread] * 4)) == {made}


def test_empty_plan() -> None:
    """Nothing visited, nothing earned, no time spent; a separate end is not travelled to."""
    away = Instance(budget=1, xy=[[0, 0], [9, 9]], separate_end=True)
    solution = make_solution(away, [], [])
    assert (solution.profit, solution.visits, solution.routes[0].finish) == (0, (), 0)
    assert make_solution(away, [[]], [[]]).routes[0].finish == 0


def test_separate_end() -> None:
    """A route ends at the end depot."""
    away = Instance(budget=9, xy=[[0, 0], [3, 4], [3, 0]], separate_end=True)
    assert make_solution(away, [[1]], [[0]]).routes[0].finish == 9


@pytest.mark.parametrize(("routes", "stays"), [([[1]], []), ([[1]], [[]]), ([[1]], [[1, 2]])])
def test_stays_must_match_the_stops(routes: list[list[int]], stays: list[list[float]]) -> None:
    """A stay too few or too many is a mistake, not to be guessed about."""
    with pytest.raises(ValueError, match=r"zip|there are"):
        make_solution(SQUARE, routes, stays)


@given(planned())
def test_earliest_times(plan: Planned) -> None:
    """Served as early as can be, no stop is later than in any plan with these stays."""
    route = plan.solution.routes[0]
    early = timed_route(plan.instance, route.stops, [visit.stay for visit in route.visits])
    assert early.finish <= route.finish
    assert early.profit == pytest.approx(route.profit)
    first = early.visits[0]
    place, clock = 0, early.depart
    assert clock == max(0.0, first.start - plan.instance.travel[0, first.stop])
    for mine, his in zip(early.visits, route.visits, strict=True):
        assert mine.arrive == clock + plan.instance.travel[place, mine.stop]
        assert mine.start in (mine.arrive, plan.instance.open[mine.stop])
        assert mine.start <= his.start
        place, clock = mine.stop, mine.start + mine.stay
        assert mine.leave == clock


@given(instances(), st.floats(0, 1e7))
def test_stay_profit(instance: Instance, stay: float) -> None:
    """The profit of a stay is read off the curve, below and above its ends too."""
    for stop in range(1, instance.nodes):
        expected = profit_by_hand(
            instance.reward[stop], instance.min_stay[stop], instance.pieces[stop], stay
        )
        assert stay_profits(instance, [stop], [stay])[0] == pytest.approx(
            expected, rel=1e-6, abs=1e-3
        )


def test_stay_beside_an_endless_one() -> None:
    """The profit of a stay does not depend on how long one may stay elsewhere."""
    pieces = [[], [[9, 1e300]], [[3, 1], [2, 2]]]
    instance = Instance(budget=9, travel=np.zeros((3, 3)), pieces=pieces)
    (route,) = make_solution(instance, [[2, 1]], [[1.5, 1]]).routes
    assert [visit.profit for visit in route.visits] == [3 + 1, 9]


def test_plans_are_plain_python_numbers() -> None:
    """Arrays may be given as stays, and what comes out can be written as JSON."""
    route = timed_route(SQUARE, [1], np.array([2.0]))
    assert [type(value) for value in route.visits[0]] == [int, *[float] * 5, int]
    assert [type(value) for value in (route.finish, route.depart, route.late)] == [float] * 3


def test_plans_are_frozen() -> None:
    """Neither a plan nor a route nor a visit can be changed."""
    solution = Solution((Route((Visit(1, 0, 0, 0, 0, 0),), 0.0),))
    with pytest.raises(FrozenInstanceError):
        solution.routes = ()  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        solution.routes[0].finish = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        solution.visits[0].stay = 1.0  # type: ignore[misc]
