"""Tests of the mathematical program: against brute force, published optima, and its limits."""

from __future__ import annotations

import _thread
import math
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from clock import within
from decost import Instance, MethodError, Result, check, generate, profit_of
from decost.baselines import milp as module
from decost.baselines import milp_rules
from decost.baselines.milp import METHOD, MilpOptions
from decost.baselines.milp_solvers import Answer, solve_by_highs
from decost.search.construct import first_plan
from odd_instances import brute_force
from seeds import seeds

Random = np.random.Generator


def solve(instance: Instance, **options: Any) -> Result:
    """Solve by the program alone, without the door."""
    return METHOD.function(instance, MilpOptions(**options))


def demand_best(instance: Instance, **options: Any) -> Result:
    """Demand the plan of brute force, with the proof."""
    result = solve(instance, **options)
    assert check(instance, result.solution) == []
    assert result.status == "optimal"
    assert result.profit == pytest.approx(brute_force(instance), rel=1e-6, abs=1e-9)
    assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)
    assert result.bound is not None
    assert result.profit <= result.bound <= result.profit * (1 + 1e-6)
    return result


def op(random: Random) -> Instance:
    """Draw fixed rewards, no windows."""
    return Instance(budget=2, xy=random.random((6, 2)), reward=random.integers(0, 9, 6))


def optw(random: Random) -> Instance:
    """Draw fixed rewards and stays, windows."""
    opens = random.uniform(0, 2, 6)
    return Instance(
        budget=3,
        xy=random.random((6, 2)),
        open=opens,
        close=opens + random.uniform(0.2, 2, 6),
        reward=random.integers(1, 9, 6),
        min_stay=random.uniform(0, 0.2, 6),
    )


def opvp(random: Random) -> Instance:
    """Draw variable stays, no windows."""
    return Instance(
        budget=3,
        xy=random.random((6, 2)),
        rate=random.uniform(0, 9, 6),
        max_stay=random.uniform(0, 1, 6),
    )


def concave(random: Random) -> Instance:
    """Draw three pieces a stop, some of them worth nothing, and limits on leaving."""
    pieces = [
        [[rate, random.uniform(0.1, 0.5)] for rate in sorted(random.integers(0, 4, 3))[::-1]]
        for _ in range(6)
    ]
    opens = random.uniform(-1, 2, 6)
    return Instance(
        budget=3,
        xy=random.random((6, 2)),
        open=opens,
        close=opens + random.uniform(0, 2, 6),
        leave_by=opens + random.uniform(0, 4, 6),
        min_stay=random.uniform(0, 0.3, 6),
        pieces=pieces,
    )


def coincident(random: Random) -> Instance:
    """Draw stops on few places, so that cycles among them take no time."""
    return Instance(
        budget=3,
        xy=random.integers(0, 2, (6, 2)),
        reward=random.integers(1, 9, 6),
        rate=random.integers(0, 3, 6),
        max_stay=random.integers(0, 2, 6),
    )


def zero_rates(random: Random) -> Instance:
    """Draw long stays that earn nothing, and rewards."""
    return paper(random).replace(
        rate=np.zeros(6), max_stay=np.ones(6), reward=random.integers(0, 2, 6)
    )


def separate_end(random: Random) -> Instance:
    """Draw a depot of its own for the end."""
    return Instance(
        budget=2.5,
        xy=random.random((7, 2)),
        separate_end=True,
        rate=random.uniform(0, 9, 6),
        max_stay=random.uniform(0, 1, 6),
    )


def asymmetric(random: Random) -> Instance:
    """Draw any travel times, so that detours can be shorter, or take no time."""
    return paper(random).replace(travel=random.integers(0, 4, (6, 6)) / 2)


def paper(random: Random) -> Instance:
    """Draw an instance of the paper's."""
    seed = int(random.integers(2**31))
    return generate("paper", nodes=6, window=300, budget=3, seed=seed)[0]


def mixed(random: Random) -> Instance:
    """Draw an instance with a bit of everything."""
    return generate("mixed", nodes=6, seed=int(random.integers(2**31)))[0]


FAMILIES: list[Callable[[Random], Instance]] = [
    paper,
    mixed,
    op,
    optw,
    opvp,
    concave,
    coincident,
    zero_rates,
    separate_end,
    asymmetric,
]


@pytest.mark.parametrize("vehicles", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_brute_force(family: Callable[[Random], Instance], vehicles: int) -> None:
    """The plan is the best of all plans, to be had by trying them all."""
    random = np.random.default_rng(vehicles)
    for _ in seeds(3):
        demand_best(family(random).replace(vehicles=vehicles))


def test_scale_changes_nothing() -> None:
    """In seconds or in years, in cents or in millions, the plan is the same."""
    instance = generate("mixed", nodes=8, seed=3)[0]
    plan = solve(instance).solution
    for time_factor, profit_factor in ((1e9, 1e-9), (1e-9, 1e9), (31_536_000, 100)):
        scaled = Instance(
            budget=instance.budget * time_factor,
            travel=instance.travel * time_factor,
            open=instance.open * time_factor,
            close=instance.close * time_factor,
            leave_by=instance.leave_by * time_factor,
            min_stay=instance.min_stay * time_factor,
            reward=instance.reward * profit_factor,
            pieces=[
                [
                    [rate * profit_factor / time_factor, length * time_factor]
                    for rate, length in part
                ]
                for part in instance.pieces
            ],
        )
        result = demand_best(scaled)
        assert result.profit == pytest.approx(plan.profit * profit_factor, rel=1e-7)
        assert [visit.stop for visit in result.solution.visits] == [
            visit.stop for visit in plan.visits
        ]


@pytest.mark.parametrize("gap", [0.0, 1e-9])
@pytest.mark.parametrize("windows", [{}, {"open": [0, 2, 2, 2], "close": [0, 2, 2, 2]}])
def test_no_cycle_apart_from_the_depot(gap: float, windows: dict[str, Any]) -> None:
    """There is time for stop 1, or for 2 and 3 in one place: not for a tour of these by itself."""
    travel = np.full((4, 4), 9.0)
    travel[0], travel[:, 0] = 2, 2
    travel[2, 3] = travel[3, 2] = gap
    instance = Instance(budget=5, travel=travel, reward=[0, 3, 2, 2], **windows)
    result = demand_best(instance)
    assert sorted(result.solution.routes[0].stops) == [2, 3]
    assert demand_best(instance.replace(vehicles=2)).profit == 7


def test_a_detour_can_be_the_only_way() -> None:
    """By way of a stop that earns nothing another is in reach; no stop is visited twice for it."""
    travel = np.array([[0, 1, 9], [1, 0, 1], [2, 1, 0]])
    instance = Instance(budget=4, travel=travel, reward=[0, 0, 7], close=[0, 9, 2])
    result = demand_best(instance)
    assert result.solution.routes[0].stops == (1, 2)
    travel[2, 0] = 9
    assert demand_best(instance.replace(travel=travel)).profit == 0


@pytest.mark.parametrize("vehicles", [1, 3])
def test_nothing_to_do(vehicles: int) -> None:
    """Without stops, or with none in reach or worth it, the empty plan is optimal."""
    alone = Instance(budget=1, xy=[[0, 0]], vehicles=vehicles)
    far = Instance(budget=1, xy=[[0, 0], [9, 9]], reward=[0, 5], vehicles=vehicles)
    poor = Instance(budget=9, xy=[[0, 0], [1, 1]], vehicles=vehicles)
    for instance in (alone, far, poor):
        result = solve(instance)
        assert (result.status, result.bound, result.profit) == ("optimal", 0, 0)
        assert len(result.solution.routes) == vehicles
        assert result.solution.visits == ()


def test_no_budget() -> None:
    """What takes no time can be done in none."""
    instance = Instance(budget=0, travel=np.zeros((4, 4)), reward=[0, 1, 2, 3])
    assert demand_best(instance).profit == 6


@pytest.mark.parametrize("number", range(4))
def test_published_optima(data: Path, number: int) -> None:
    """The paper's instances: the profit that its authors got from Gurobi."""
    table = np.load(data / "paper_n50_tw100.npz")
    opens, closes = (table[name][number].astype(np.float64) for name in ("open", "close"))
    instance = Instance(
        budget=10,
        xy=table["xy"][number],
        open=opens,
        close=closes,
        rate=table["rate"][number],
        max_stay=closes - opens,
    )
    result = solve(instance)
    assert result.status == "optimal"
    assert result.profit == pytest.approx(table["gurobi"][number], rel=2e-4)
    assert check(instance, result.solution) == []


def hard() -> Instance:
    """Make an instance that takes minutes."""
    return generate("mixed", nodes=45, seed=2)[0]


@cache
def best_of_hard() -> decost.Result:
    """Find a plan for it that is better than those of `milp`."""
    return decost.solve(hard(), "exact", time_limit=3)


@pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
def test_time_limit(limit: float) -> None:
    """It ends in time, with a plan no worse than greedy's and a bound above the best there is."""
    instance = hard()
    start = first_plan(instance, None)
    best = best_of_hard()
    with within(limit + 1.5):
        result = solve(instance, time_limit=limit)
    assert result.status == "feasible"
    assert check(instance, result.solution) == []
    assert result.bound is not None
    assert start.profit <= result.profit <= best.profit * (1 + 1e-6)
    assert best.profit <= result.bound * (1 + 1e-6)


def test_no_limit_is_no_limit() -> None:
    """None and infinity both mean: until it is proven."""
    instance = generate("mixed", nodes=8, seed=1)[0]
    results = [solve(instance, time_limit=limit) for limit in (None, math.inf)]
    assert results[0] == results[1]
    assert results[0].status == "optimal"


class Liar:
    """HiGHS, but for what a test makes of its answers: `change(answer, program, call)`."""

    def __init__(self, change: Callable[..., Answer], calls: float = math.inf) -> None:
        self.change, self.calls, self.seen = change, calls, list[tuple[Any, Any, Any]]()

    def __call__(self, program: Any, hint: Any, setting: Any, *rest: Any) -> Answer:
        """Solve and change the answer, if it is among the first calls."""
        self.seen.append((program, hint, setting))
        answer = solve_by_highs(program, hint, setting, *rest)
        return self.change(answer) if len(self.seen) <= self.calls else answer


def lie(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Answer], **more: Any) -> Liar:
    """Have a solver that does not tell the truth."""
    liar = Liar(change, **more)
    monkeypatch.setattr(module, "solve_by_highs", liar)
    return liar


def test_greedy_plan_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver gets it as a start; and if it has nothing to say, it is the result."""
    instance = generate("mixed", nodes=15, seed=7)[0]
    start = first_plan(instance, None)
    liar = lie(monkeypatch, lambda answer: Answer())
    result = solve(instance)
    assert result.solution == start
    assert result.status == "feasible"
    assert result.bound is not None
    assert result.bound >= start.profit
    assert len(liar.seen) == module.MOST_SOLVES
    for program, hint, _ in liar.seen:
        assert hint is not None
        assert len(hint) == program.binaries
        # As many arcs as visits and one more a route, and the visits themselves.
        assert hint.sum() == 2 * len(start.visits) + 1


def line() -> Instance:
    """Make an instance with the optimum 3 * 4 + 1 * 2, below all that there is to earn."""
    return Instance(budget=10, xy=[[0, 0], [1, 0], [2, 0]], rate=[0, 3, 1], max_stay=[0, 4, 9])


def without_start(monkeypatch: pytest.MonkeyPatch, instance: Instance) -> None:
    """Leave it all to the solver."""
    nothing = decost.make_solution(instance, [], [])
    monkeypatch.setattr(module, "first_plan", lambda instance, start: nothing)


def test_plan_is_cleared_of_tolerances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are a bit off, as if a solver were careless, are no stays of the plan."""
    assert [visit.stay for visit in solve(line()).solution.visits] == pytest.approx([4, 2])
    without_start(monkeypatch, line())
    lie(monkeypatch, lambda answer: answer._replace(values=answer.values + 9e-7))
    result = solve(line())
    assert check(line(), result.solution) == []
    assert result.status == "optimal"
    assert result.profit == pytest.approx(3 * 4 + 1 * 2, rel=1e-12)


LIES: dict[str, Callable[[Answer], Answer]] = {
    "a bound below the plan": lambda answer: answer._replace(
        bound=answer.bound * 0.99, objective=answer.objective * 0.99
    ),
    "a plan that earns less than it says": lambda answer: answer._replace(
        values=np.zeros_like(answer.values)
    ),
    "values that are not integral": lambda answer: answer._replace(values=answer.values + 1e-3),
    "no plan": lambda answer: answer._replace(values=None),
    "an objective above the plan's": lambda answer: answer._replace(
        objective=answer.objective * 1.01, bound=answer.bound * 1.01
    ),
    "a bound that is not reached": lambda answer: answer._replace(bound=answer.bound * 1.01),
    "the empty plan as the best": lambda answer: answer._replace(
        values=np.zeros_like(answer.values), objective=0.0, bound=0.0
    ),
}


@pytest.mark.parametrize("what", LIES)
@pytest.mark.parametrize("start", [True, False])
def test_a_false_word_is_not_taken(monkeypatch: pytest.MonkeyPatch, what: str, start: bool) -> None:
    """One false answer is found out and another one is asked for, with another seed."""
    if not start:
        without_start(monkeypatch, line())
    liar = lie(monkeypatch, LIES[what], calls=1)
    result = demand_best(line())
    assert result.details["solves"] == len(liar.seen) == 3
    assert len({setting.seed for _, _, setting in liar.seen}) == 3


@pytest.mark.parametrize("what", [one for one in LIES if one != "the empty plan as the best"])
def test_who_always_lies_proves_nothing(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Nothing is called optimal then, and no bound is below the plan."""
    liar = lie(monkeypatch, LIES[what])
    result = solve(line())
    assert check(line(), result.solution) == []
    assert (result.status, len(liar.seen)) == ("feasible", module.MOST_SOLVES)
    assert result.bound is not None
    assert result.bound >= result.profit


def test_no_proof_without_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the solver's plan breaks a rule, its proof does not make another one optimal."""
    instance = generate("mixed", nodes=10, seed=5)[0]
    best = solve(instance)
    broken = [decost.Violation("close", 1.0)]
    monkeypatch.setattr(module, "check", lambda instance, plan: broken if plan.visits else [])
    result = solve(instance)
    assert result.profit == 0 < best.profit
    assert result.status == "feasible"
    assert result.bound == pytest.approx(best.profit, rel=1e-5)


def test_time_is_over_before_the_second_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """One solver's word gives a bound, and no proof."""

    def slow(answer: Answer) -> Answer:
        time.sleep(1.0)
        return answer

    lie(monkeypatch, slow)
    result = solve(line(), time_limit=0.9)
    assert (result.status, result.details["solves"]) == ("feasible", 1)
    assert result.bound == pytest.approx(14, rel=1e-9)


def test_ctrl_c_returns_the_plan_so_far() -> None:
    """An interrupt stops the solver, and the best plan comes back with its bound."""
    instance = hard()
    timer = threading.Timer(0.7, _thread.interrupt_main)
    timer.start()
    begin = time.perf_counter()
    result = solve(instance, time_limit=60)
    assert time.perf_counter() - begin < 10
    timer.join()
    assert result.status == "feasible"
    assert result.profit >= first_plan(instance, None).profit
    assert check(instance, result.solution) == []


def test_seed_and_threads() -> None:
    """Another seed or more threads change the way, not the profit; the same seed, nothing."""
    instance = generate("mixed", nodes=10, seed=9)[0]
    first = solve(instance)
    assert solve(instance) == first
    for options in ({"seed": 2**63 - 1}, {"solver_threads": 2}, {"solver_threads": 3}):
        assert solve(instance, **options).profit == pytest.approx(first.profit, rel=1e-7)
    with pytest.raises(MethodError, match="option solver_threads = 0: "):
        decost.solve(instance, "milp", solver_threads=0)


def test_door() -> None:
    """By its name, one instance or many at once give the same."""
    instances = generate("paper", nodes=12, window=300, budget=4, seed=1, count=6, vehicles=2)
    results = decost.solve_many(instances, "milp", threads=3)
    assert {result.method for result in results} == {"milp"}
    for instance, result in zip(instances, results, strict=True):
        assert result.solution == solve(instance).solution


def test_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither stream gets a word, with or without the time to solve."""
    solve(generate("mixed", nodes=10, seed=2)[0])
    solve(hard(), time_limit=0.5)
    assert tuple(capfd.readouterr()) == ("", "")


def test_gurobi_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not installed, Gurobi is an error: nothing else is used instead."""
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    instance = generate("paper", nodes=6, seed=1)[0]
    with pytest.raises(MethodError, match="option solver = 'gurobi': gurobipy is not installed"):
        decost.solve(instance, "milp", solver="gurobi")
    with pytest.raises(MethodError, match="option solver = 'cplex': "):
        decost.solve(instance, "milp", solver="cplex")


@pytest.mark.parametrize("family", FAMILIES)
def test_gurobi(family: Callable[[Random], Instance], capfd: pytest.CaptureFixture[str]) -> None:
    """Where it is installed, Gurobi finds the best plan as well, without a word."""
    pytest.importorskip("gurobipy")
    random = np.random.default_rng(3)
    for vehicles in (1, 2):
        demand_best(family(random).replace(vehicles=vehicles), solver="gurobi")
    assert tuple(capfd.readouterr()) == ("", "")


def test_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that would not fit in memory is refused with its size."""
    instance = Instance(budget=9, xy=np.eye(4)[:, :2], reward=[0, 1, 1, 1])
    with monkeypatch.context() as patch:
        patch.setattr(milp_rules, "MAX_ARCS", 10)
        with pytest.raises(MethodError, match="arcs = 12: method 'milp' takes at most 10"):
            solve(instance)
    monkeypatch.setattr(milp_rules, "MAX_PAIRS", 8)
    with pytest.raises(MethodError, match="pairs of alternatives = 9: "):
        solve(instance)
