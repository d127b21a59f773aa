"""Tests of `auto`: a search, a proof beside it, and what the two tell each other."""

from __future__ import annotations

import math
import time
from itertools import count

import numpy as np
import pytest

import decost
from clock import within
from decost import Instance, Solution, check, generate
from decost.exact import columns, exact
from decost.exact.exact import ExactOptions
from decost.exact.labels import CAPACITY, Attempt
from decost.method.deadline import Deadline
from decost.method.progress import BetterPlan
from decost.method.result import Result
from decost.planner import auto as module
from decost.search import search
from decost.search.search import Searches
from decost.timeline.routes import best_solution

NOBODY = Solution(())


def easy(vehicles: int) -> Instance:
    """Make an instance that is proven soon, but not at once."""
    (instance,) = generate("mixed", nodes=14, count=1, seed=3, vehicles=vehicles)
    return instance


def hard(vehicles: int = 1) -> Instance:
    """Make an instance that takes longer to prove than any test: wide windows, long routes."""
    (one,) = generate("paper", nodes=50, window=100, count=1, seed=7, vehicles=vehicles)
    close = np.linspace(0.6, 0.9, one.nodes) * one.budget
    return one.replace(open=np.zeros(one.nodes), close=close)


def telling(plan: Solution) -> BetterPlan:
    """Tell of a plan whoever has a worse one."""
    return lambda profit: plan if plan.profit > profit else None


def prover(vehicles: int):  # type: ignore[no-untyped-def]
    """Give the method that proves plans."""
    return exact.prove if vehicles == 1 else columns.prove


@pytest.mark.parametrize("vehicles", [1, 2])
def test_agrees_with_milp(vehicles: int) -> None:
    """A proven plan earns what the mathematical program does."""
    instance = easy(vehicles)
    result = decost.solve(instance, time_limit=60)
    assert result.status == "optimal"
    assert check(instance, result.solution) == []
    assert result.profit == pytest.approx(
        decost.solve(instance, "milp", time_limit=60).profit, rel=1e-5
    )


@pytest.mark.parametrize("vehicles", [1, 2])
def test_proof_hears_of_a_plan(vehicles: int) -> None:
    """A plan from elsewhere that is better than all a proof has found becomes its own."""
    instance = hard(vehicles)
    plan = decost.solve(instance, "search", iterations=3000).solution
    alone = prover(vehicles)(instance, ExactOptions(), Deadline(0.1))
    assert alone.profit < plan.profit, "the test needs a plan that is not found so soon"
    options = ExactOptions(progress=lambda news: news.profit < plan.profit)
    heard = prover(vehicles)(instance, options, Deadline(60.0), telling(plan))
    assert heard.profit >= plan.profit
    assert heard.bound is not None
    assert heard.bound >= plan.profit


@pytest.mark.parametrize("vehicles", [1, 2])
def test_proof_of_a_heard_plan(vehicles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that hears of the best plan proves it; one that hears of a poor one finds better."""
    monkeypatch.setattr(module, "FIRST_TRY", Attempt(1, CAPACITY))
    monkeypatch.setattr(exact, "SMALL", Attempt(1, CAPACITY))
    instance = easy(vehicles)
    best = decost.solve(instance, time_limit=60)
    for plan in (best.solution, decost.solve(instance, "greedy").solution):
        heard = prover(vehicles)(instance, ExactOptions(), Deadline(60), telling(plan))
        assert heard.status == "optimal"
        assert heard.profit == pytest.approx(best.profit, rel=1e-9)
        assert check(instance, heard.solution) == []


@pytest.mark.parametrize("vehicles", [1, 2])
def test_plans_that_come_later(vehicles: int) -> None:
    """Better and better plans that come while a proof runs are all taken over."""
    instance = hard(vehicles)
    best = decost.solve(instance, "search", iterations=3000).solution
    thirds = [[route.stops[: len(route.stops) * k // 3] for route in best.routes] for k in (1, 2)]
    plans = [*(best_solution(instance, routes) for routes in thirds), best]
    asked = count()

    def better_plan(profit: float) -> Solution | None:
        return telling(plans[min(next(asked), 2)])(profit)

    told: list[float] = []

    def listen(news: decost.Progress) -> bool:
        told.append(news.profit)
        return news.profit < best.profit

    options = ExactOptions(start=NOBODY, progress=listen)
    result = prover(vehicles)(instance, options, Deadline(60.0), better_plan)
    assert next(asked) > 2
    assert result.profit >= best.profit
    assert told == sorted(told)


def test_no_plan_before_a_search_is_better() -> None:
    """A search tells nothing until it has improved its start; then a plan that keeps the rules."""
    instance = hard()
    start = decost.solve(instance, "greedy").solution
    searches = Searches(instance, start, 0, 1)
    assert searches.plan() is None
    assert searches.better_plan(0.0) is None
    searches.run(20, np.zeros(1, dtype=np.uint8))
    plan = searches.plan()
    assert plan is not None
    assert plan.profit == pytest.approx(searches.value, rel=1e-12)
    assert plan.profit > start.profit
    assert check(instance, plan) == []
    assert searches.plan() is plan
    assert searches.better_plan(plan.profit) is None
    assert searches.better_plan(plan.profit - 1) is plan


@pytest.mark.parametrize("torn", [[[1, 2, 1]], [list(range(1, 50))], [[3, 4, 0]]])
def test_routes_that_change_while_they_are_read(
    torn: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Routes with a stop twice, too long for the budget, or not yet written are not told."""
    instance = hard()
    searches = Searches(instance, NOBODY, 0, 1)
    searches.run(20, np.zeros(1, dtype=np.uint8))
    (one,) = searches._searches
    with monkeypatch.context() as patch:
        patch.setattr(type(one), "routes", lambda self: torn)
        assert searches.plan() is None
    assert searches.plan() is not None


@pytest.mark.parametrize("vehicles", [1, 2])
def test_search_goes_on_without_a_proof(vehicles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the proof gives up at once, the search has the time that is left."""

    def give_up(
        instance: Instance, options: ExactOptions, deadline: Deadline, *rest: object
    ) -> Result:
        return Result(instance, options.start or NOBODY, "feasible", math.inf)

    instance = hard(vehicles)
    decost.solve(instance, time_limit=0.2)
    monkeypatch.setattr(module, "_prover", lambda instance: ("exact", give_up))
    begin = time.perf_counter()
    told: list[float] = []
    result = decost.solve(instance, time_limit=0.4, progress=lambda news: told.append(news.profit))
    assert time.perf_counter() - begin > 0.36
    assert result.found_by == "search" or vehicles == 1  # the first try may find the best plan
    assert told == sorted(told)
    assert told[-1] == pytest.approx(result.profit)
    assert result.profit > decost.solve(instance, "greedy").profit
    assert result.details["rounds"] > 0


def test_says_what_found_the_plan() -> None:
    """An easy plan comes from `exact` at once; without time a team has greedy's."""
    (instance,) = generate("paper", nodes=50, window=100, seed=1)
    assert decost.solve(instance).found_by == "exact"
    team = hard(3)
    result = decost.solve(team, time_limit=0)
    assert result.found_by == "greedy"
    assert decost.solve(team, start=result, time_limit=0).found_by == "start"
    assert decost.solve(team, start=NOBODY, time_limit=0).found_by == "greedy"
    best = decost.solve(instance)
    assert decost.solve(instance, start=best).found_by == "start"


def test_no_end_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit a search has its start, and when it is at the proof's bound that is all."""
    begun: list[float] = []
    best = decost.solve(easy(2), time_limit=60).profit

    def note(
        instance: Instance, options: ExactOptions, deadline: Deadline, *rest: object
    ) -> Result:
        begun.append(time.perf_counter() - begin)
        return Result(instance, NOBODY, "feasible", best * (1 - 1e-9))

    monkeypatch.setattr(module, "MOST_AHEAD", 0.3)
    monkeypatch.setattr(search, "PATIENCE", 10**9)
    monkeypatch.setattr(module, "_prover", lambda instance: ("columns", note))
    begin = time.perf_counter()
    result = decost.solve(easy(2), time_limit=math.inf)
    assert result.profit == pytest.approx(best)
    (after,) = begun
    assert after > 0.3


def test_nothing_is_left_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the proof has given up and the search has ended, time is not waited for."""
    instance = hard(2)
    decost.solve(instance, "search", iterations=1)

    def give_up(
        instance: Instance, options: ExactOptions, deadline: Deadline, *rest: object
    ) -> Result:
        return Result(instance, NOBODY, "feasible")

    monkeypatch.setattr(module, "MOST_ROUNDS", 10)
    monkeypatch.setattr(module, "_prover", lambda instance: ("columns", give_up))
    with within(20):
        result = decost.solve(instance, time_limit=60)
    assert result.details["rounds"] == 10


def test_interrupted_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the search is made ready returns the first plan."""
    instance = hard(2)
    first = decost.solve(instance, time_limit=0)

    def interrupted(*given: object) -> Searches:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "Searches", interrupted)
    assert decost.solve(instance, time_limit=5).solution == first.solution


@pytest.mark.parametrize(("patience", "cores"), [(0, 1), (10**9, 1), (10**9, 2)])
def test_search_has_a_start(patience: int, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof begins when the search is stuck, and at last after a third of the time.

    For teams it begins sooner if there is a core for each.
    """
    begun: list[float] = []

    def note(
        instance: Instance, options: ExactOptions, deadline: Deadline, *rest: object
    ) -> Result:
        begun.append(deadline.left)
        return Result(instance, NOBODY, "optimal", 0.0)

    instance = hard(2)
    decost.solve(instance, "search", iterations=1)
    monkeypatch.setattr(search, "PATIENCE", patience)
    monkeypatch.setattr(module, "_prover", lambda instance: ("columns", note))
    monkeypatch.setattr(module, "_cores", lambda: cores)
    told: list[decost.Progress] = []
    result = decost.solve(instance, time_limit=1.5, progress=told.append)
    (left,) = begun
    if patience:
        assert 0 < left <= (1.0 if cores == 1 else 1.35)
        assert result.found_by == "search"
        assert told[-1].profit > told[0].profit
    assert left > 1.0 or cores == 1 < patience


@pytest.mark.parametrize(("limit", "stuck", "nice"), [(5, False, 5), (5, True, 0), (40, False, 0)])
def test_when_a_proof_gives_way(
    limit: float, stuck: bool, nice: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does where little time is left, to a search that still finds better plans."""
    given: list[int] = []

    def run(function: object, deadline: Deadline, nice: int) -> Result:
        given.append(nice)
        return Result(instance, NOBODY, "optimal", 0.0)

    instance = hard(2)
    monkeypatch.setattr(module, "MOST_AHEAD", 0.1)
    monkeypatch.setattr(module, "_run_nicely", run)
    monkeypatch.setattr(search, "PATIENCE", -(10**9) if stuck else 10**9)
    decost.solve(instance, time_limit=limit)
    assert given == [nice]


def test_no_start_for_a_search_without_stops() -> None:
    """Where nothing can be visited, the proof does not wait for a search."""
    instance = Instance(budget=1, xy=[[0, 0], [9, 9]], rate=[0, 1], max_stay=[0, 1], vehicles=2)
    with within(10):
        result = decost.solve(instance, time_limit=60)
    assert result.status == "optimal"
    assert result.profit == 0
