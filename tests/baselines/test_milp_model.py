"""Tests of the mathematical program on all that an instance can hold.

The judges are all plans there are (`oracle`), SCIP on the same program, and small cases by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decost import Alternative, Instance, Place, Result, Stop, Vehicle, check, generate
from decost.baselines import milp as module
from decost.baselines.milp import METHOD, MilpOptions
from decost.baselines.milp_program import PROFIT_UNITS, Program, write
from decost.baselines.milp_rules import Network, read_rules, reduce
from decost.baselines.milp_solvers import Answer, Setting, solve_by_highs
from decost.method.deadline import Deadline
from oracle import brute_force, tiny_instance
from scip import solve_by_scip
from seeds import seeds


def solve(instance: Instance, **options: Any) -> Result:
    """Solve by the program alone, without the door."""
    return METHOD.function(instance, MilpOptions(**options))


def demand_best(instance: Instance, **options: Any) -> Result:
    """Demand a plan as good as the best of all, with the right status and bounds."""
    result = solve(instance, **options)
    required, profit = brute_force(instance)
    near = 1e-6 * max(profit, 1e-3 * float(instance.full_profits.sum()))
    assert {violation.rule for violation in check(instance, result.solution)} <= {"required"}
    assert result.required_visited == result.required_bound == required
    assert result.profit == pytest.approx(profit, rel=0, abs=near)
    assert result.bound == pytest.approx(result.profit, rel=0, abs=near)
    full = required == instance.required.sum()
    assert result.status == ("optimal" if full else "infeasible")
    return result


@pytest.mark.parametrize("part", range(6))
def test_equals_the_best_of_all_plans(part: int) -> None:
    """Any mixture of alternatives, vehicles of their own, required stops, matrices."""
    for seed in seeds(150)[part::6]:
        demand_best(tiny_instance(np.random.default_rng(seed)), seed=seed)


@pytest.mark.parametrize("relaxed", [0.0, module.HAIR])
def test_scip_agrees_on_the_program(relaxed: float) -> None:
    """A solver that shares no code with HiGHS finds the same, and that is the best of all plans."""
    compared = 0
    for seed in seeds(20):
        instance = tiny_instance(np.random.default_rng(1000 + seed))
        required, profit = brute_force(instance)
        rules = read_rules(instance)
        network = reduce(rules.relaxed(relaxed * rules.horizon))
        if network.nodes == 0:
            assert (required, profit) == (0, 0)
            continue
        program = write(network)
        counts = [one.objective for one in answers(program.counting())]
        assert counts == pytest.approx([required, required], rel=0, abs=1e-6)
        unit = network.ceiling / PROFIT_UNITS
        # Each of at most 25 limits on times may be worth the best rate for a hair.
        hairs = 25 * relaxed * rules.horizon * instance.piece_rate.max(initial=0.0)
        near = 1e-6 * max(profit, 1e-3 * network.ceiling) + hairs
        for answer in answers(program.demanding(required)):
            for value in (answer.objective, answer.bound):
                assert value * unit == pytest.approx(profit, rel=0, abs=near)
            assert earned(network, answer) == pytest.approx(profit, rel=0, abs=near)
        compared += 1
    assert compared > 12


def answers(program: Program) -> list[Answer]:
    """Ask both solvers."""
    return [solve_by_highs(program, None, Setting(0), Deadline(), None), solve_by_scip(program)]


def earned(network: Network, answer: Answer) -> float:
    """Give what the routes of an answer earn with the best stays."""
    assert answer.values is not None
    routes = network.routes(answer.values)
    assert routes is not None
    return network.rules.earned(routes)


def line(*stops: Stop, **more: Any) -> Instance:
    """Make an instance of stops on a line, the depot at 0."""
    return Instance.build(stops=stops, depot=Place(x=0, y=0), **({"budget": 10} | more))


def test_required_stops_come_first() -> None:
    """A required stop that earns nothing is worth more than all that the others earn."""
    poor = Stop("poor", x=4, y=0, min_stay=1)
    rich = Stop("rich", x=-4, y=0, reward=1e9)
    both = line(poor, rich)
    assert demand_best(both).profit == 1e9
    required = line(Stop("poor", x=4, y=0, min_stay=1, required=True), rich)
    result = demand_best(required)
    assert [visit.stop for visit in result.solution.visits] == [1]
    assert (result.status, result.profit, result.required_visited) == ("optimal", 0, 1)
    team = line(Stop("poor", x=4, y=0, min_stay=1, required=True), rich, vehicles=2)
    assert demand_best(team).profit == 1e9


def test_required_stops_that_do_not_fit() -> None:
    """As many as possible are visited, of these the ones that earn most, and it is said."""
    stops = [
        Stop(str(k), x=x, y=0, reward=reward, required=True)
        for k, (x, reward) in enumerate([(4, 1), (-4, 3), (-3, 2), (40, 99)])
    ]
    result = demand_best(line(*stops))
    assert {visit.stop for visit in result.solution.visits} == {2, 3}
    assert (result.status, result.profit) == ("infeasible", 5)
    assert (result.required_visited, result.required_bound) == (2, 2)


def test_a_stop_is_visited_by_its_best_alternative_once() -> None:
    """Here or there, in the morning or in the afternoon, but not twice."""
    lunch = Stop(
        "lunch",
        x=9,
        y=9,
        min_stay=1,
        reward=5,
        alternatives=[
            Alternative(x=1, y=0, close=0.5),
            Alternative(x=2, y=0, open=6, close=7),
            Alternative(x=-3, y=0, reward=8, leave_by=3),
        ],
    )
    result = demand_best(line(lunch, Stop("walk", x=2, y=0, rate=1, max_stay=20)))
    # There at 2, to 7, lunch, back at 10: 5 + 5 with lunch from 7 to 8.
    assert [(visit.stop, visit.alternative) for visit in result.solution.visits] == [(2, 0), (1, 1)]
    assert result.profit == pytest.approx(10)


def test_vehicles_of_their_own() -> None:
    """Start, end, shift, speed and who may do what decide; being underway does not."""
    stops = [
        Stop("near", x=1, y=0, rate=1, max_stay=99),
        Stop("skilled", x=6, y=0, rate=2, max_stay=99, vehicles=["fast"]),
    ]
    slow = Vehicle("slow", begin=2, due=6)
    fast = Vehicle("fast", start="hotel", end="hotel", begin=1, due=7, speed=2)
    places = [Place("hotel", x=8, y=0)]
    instance = line(*stops, vehicles=[slow, fast], places=places)
    result = demand_best(instance)
    # Slow has 4 less 2 of travel, fast 6 less 2 times a travel of 1.
    assert result.profit == pytest.approx(2 + 2 * 4)
    assert [route.stops for route in result.solution.routes] == [(1,), (2,)]
    away = Vehicle("slow", begin=2, due=6, underway=True)
    assert demand_best(line(*stops, vehicles=[away, fast], places=places)).profit == result.profit
    late = Vehicle("slow", end="hotel", begin=2, due=3, underway=True)
    result = demand_best(line(*stops, vehicles=[late, fast], places=places))
    assert result.profit == pytest.approx(2 * 4)
    assert result.solution.routes[0].late == pytest.approx(7)


def test_equal_vehicles_share_their_columns() -> None:
    """The program grows with types of vehicles, not with vehicles."""
    one = generate("paper", nodes=8, window=300, budget=4, seed=1)[0]
    few, many = (write(reduce(read_rules(one.replace(vehicles=k)))) for k in (2, 50))
    assert len(few.objective) == len(many.objective)
    assert solve(one.replace(vehicles=50)).profit == pytest.approx(
        sum(demand_best(one.only([stop])).profit for stop in range(1, one.nodes))
    )


def test_named_matrices() -> None:
    """Every vehicle travels by its own."""
    travel = {"foot": [[0, 4], [4, 0]], "bike": [[0, 1], [1, 0]]}
    stop = Stop("a", rate=1, max_stay=20)
    for profile, profit in (("foot", 2), ("bike", 8)):
        vehicles = [Vehicle("1", profile=profile)]
        instance = Instance.build(stops=[stop], vehicles=vehicles, travel=travel, budget=10)
        assert demand_best(instance).profit == pytest.approx(profit)


def test_relaxed_rules() -> None:
    """By hand: windows and shifts are longer at both ends, so one earns more by as much."""
    instance = line(Stop("a", x=1, y=0, open=3, close=3, leave_by=6, rate=2, max_stay=99))
    rules = read_rules(instance)
    assert rules.earned([[1]]) == 6
    assert rules.relaxed(0.5).earned([[1]]) == 2 * (6.5 - 2.5)
    assert rules.relaxed(4).earned([[1]]) == 2 * (10 - -1)


def requiring() -> Instance:
    """Make an instance on which the greedy plan visits one of two required stops, if that."""
    return line(
        Stop("far", x=4, y=0, min_stay=2, required=True),
        Stop("near", x=1, y=0, min_stay=0, rate=1, max_stay=9, required=True),
        Stop("else", x=-1, y=0, reward=50),
    )


def test_time_is_over_while_required_stops_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is proven then: some required stops are not visited, and it may be possible."""
    instance = requiring()
    nothing = module.make_solution(instance, [], [])
    monkeypatch.setattr(module, "first_plan", lambda instance, start: nothing)
    assert demand_best(instance).required_visited == 2
    monkeypatch.setattr(module, "solve_by_highs", lambda *given: Answer())
    result = solve(instance)
    assert (result.status, result.required_visited, result.required_bound) == ("incomplete", 0, 2)
    assert result.bound is not None
    assert result.bound >= 50


def test_large_profits_do_not_blur_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a solver says of required stops is exact, however much there is to earn."""
    stops = [Stop("a", x=1, y=0, required=True), Stop("rich", x=0, y=1, reward=1e12)]
    instance = line(*stops)
    nothing = module.make_solution(instance, [], [])
    monkeypatch.setattr(module, "first_plan", lambda instance, start: nothing)

    def empty(program: Program, *rest: Any) -> Answer:
        return Answer(np.zeros(len(program.objective)), 1.0, 1.0, True)

    monkeypatch.setattr(module, "solve_by_highs", empty)
    result = solve(instance)
    assert (result.status, result.required_visited, result.required_bound) == ("incomplete", 0, 1)


@pytest.mark.parametrize("count", [0, 1])
def test_a_false_count_is_not_taken(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Who says once that fewer required stops are possible is asked again."""
    instance = requiring()
    nothing = module.make_solution(instance, [], [])
    monkeypatch.setattr(module, "first_plan", lambda instance, start: nothing)
    calls = 0

    def lie(program: Program, *rest: Any) -> Answer:
        nonlocal calls
        calls += 1
        if calls == 1:
            program = program._replace(row_most=np.append(program.row_most[:-1], count))
        return solve_by_highs(program, *rest)

    monkeypatch.setattr(module, "solve_by_highs", lie)
    assert demand_best(instance).details["solves"] == 3


def test_a_first_plan_that_breaks_rules_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge believes nobody: not the timeline that made the plan to begin with either."""
    instance = requiring()
    wrong = module.make_solution(instance, [[1, 2, 3]], [[9.0, 9.0, 0.0]])
    monkeypatch.setattr(module, "first_plan", lambda instance, start: wrong)
    assert demand_best(instance).required_visited == 2


def test_progress_tells_profits() -> None:
    """Reports rise to the result, and required stops are no part of the profit."""
    seen: list[Any] = []
    result = solve(requiring(), progress=seen.append)
    ranks = [(one.required_visited, one.profit) for one in seen]
    assert ranks == sorted(ranks)
    assert seen[-1].required_visited == 2
    assert seen[-1].profit == pytest.approx(result.profit)
    assert all(one.bound is None or one.bound >= one.profit for one in seen)
