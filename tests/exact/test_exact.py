"""Tests of the exact method: against brute force, published optima, and its own limits."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import decost
from clock import within
from decost import Instance, MethodError, check, generate, solve
from decost.exact import exact as module
from decost.exact.exact import values_to_go
from decost.exact.labels import CAPACITY, Attempt
from odd_instances import all_routes, brute_force, odd_instance
from seeds import seeds


@pytest.fixture(params=["labels alone", "with bounds"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of the method: small instances do without bounds unless they are forced."""
    if request.param == "with bounds":
        monkeypatch.setattr(module, "SMALL", Attempt(0, CAPACITY))
    return str(request.param)


@cache
def best_of_all(seed: int) -> tuple[Instance, float]:
    """Draw an instance, and try all plans."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 6)))
    return instance, brute_force(instance)


@pytest.mark.parametrize("seed", seeds(100))
def test_equals_brute_force(way: str, seed: int) -> None:
    """Every order of every subset of the stops, with optimal stays, earns no more."""
    instance, best = best_of_all(seed)
    result = solve(instance, "exact")
    assert result.status == "optimal"
    assert result.profit == pytest.approx(best, rel=1e-7, abs=1e-9)
    assert result.bound == pytest.approx(result.profit, rel=1e-7, abs=1e-9)
    assert check(instance, result.solution) == []


@pytest.mark.parametrize("seed", seeds(16))
def test_bounds_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On instances too large for brute force, the proof by bounds ends at the same profit."""
    random = np.random.default_rng(1000 + seed)
    instance = odd_instance(random, int(random.integers(6, 13)))
    if seed % 2:
        instance = generate("mixed", nodes=14, seed=seed)[0]
    plain = solve(instance, "exact")
    monkeypatch.setattr(module, "SMALL", Attempt(0, CAPACITY))
    bounded = solve(instance, "exact")
    assert plain.status == bounded.status == "optimal"
    assert bounded.profit == pytest.approx(plain.profit, rel=1e-9)


@pytest.mark.parametrize("seed", seeds(4))
def test_equals_the_mathematical_program(seed: int) -> None:
    """Beyond brute force, HiGHS proves the same profit for the paper's program."""
    random = np.random.default_rng(2000 + seed)
    families = (
        odd_instance(random, 8),
        generate("paper", nodes=25, window=200, seed=seed)[0],
        generate("mixed", nodes=9, seed=seed)[0],
    )
    for instance in families:
        judge = solve(instance, "milp", time_limit=60)
        assert judge.status == "optimal"
        assert solve(instance, "exact").profit == pytest.approx(judge.profit, rel=1e-6, abs=1e-9)


def test_published_optima_of_the_paper(data: Path) -> None:
    """All 1,000 instances: equal to Gurobi's profit, to the tolerance that Gurobi was given."""
    instances = decost.read_set(data / "paper_n50_tw100.npz")
    gurobi = np.load(data / "paper_n50_tw100.npz")["gurobi"]
    results = decost.solve_many(instances, "exact")
    profits = np.array([result.profit for result in results])
    assert all(result.status == "optimal" for result in results)
    np.testing.assert_allclose(profits, gurobi, rtol=2e-4)
    # Gurobi may overstep each constraint by 1e-6, and with it the optimum by this much.
    assert (profits >= gurobi * (1 - 1e-5)).all()


@pytest.mark.parametrize("name", ["c101", "c104", "r101", "r105", "r109", "rc101", "rc105", "pr01"])
def test_published_optima_of_optw(data: Path, name: str) -> None:
    """Benchmark files with a proven optimum, among them one that needs bounds (c104)."""
    with (data / "optw_best_known.csv").open() as file:
        known = {row["instance"]: float(row["profit"]) for row in csv.DictReader(file)}
    result = solve(decost.read(data / "optw" / f"{name}.txt"), "exact")
    assert result.status == "optimal"
    assert result.profit == result.bound == known[name]


def test_same_plan_in_other_units(way: str) -> None:
    """Minutes for hours, cents for euros, and stops in another order make no other profit."""
    for seed in range(10):
        instance = generate("mixed", nodes=9, seed=seed)[0].replace(travel=None)
        profit = solve(instance, "exact").profit
        order = np.r_[0, 1 + np.random.default_rng(seed).permutation(instance.stops)]
        pieces = [
            [[2.5 / 60 * rate, 60 * length] for rate, length in table] for table in instance.pieces
        ]
        assert instance.xy is not None
        other = Instance(
            budget=60 * instance.budget,
            xy=instance.xy[order],
            speed=1 / 60,
            open=60 * instance.open[order],
            close=60 * instance.close[order],
            leave_by=60 * instance.leave_by[order],
            reward=2.5 * instance.reward[order],
            min_stay=60 * instance.min_stay[order],
            pieces=[pieces[k] for k in order],
        )
        assert solve(other, "exact").profit == pytest.approx(2.5 * profit, rel=1e-7)


def test_wait_that_ends_with_a_piece(way: str) -> None:
    """Waiting 2 units at stop 1 uses its first piece up exactly; the second is left: 5 + 3."""
    instance = Instance(
        budget=20,
        xy=[[0, 0], [1, 0], [1, 0]],
        open=[0, 1, 3],
        close=[0, 1, 99],
        pieces=[[], [[1, 2], [1, 3]], []],
        reward=[0, 0, 3],
    )
    assert solve(instance, "exact").profit == 8
    assert values_to_go([instance], [[1]])[0][2] == 8


def test_short_cut_behind_a_short_cut(way: str) -> None:
    """Stop 2 is the only short cut from 3 to 4, though 1, which closes at 0, would be shorter."""
    travel = np.full((5, 5), 20.0)
    travel[0, 1:4] = 0, 1, 2
    travel[3, 1:3] = 0.5, 1
    travel[1, 4], travel[2, 3], travel[2, 4], travel[:, 0] = 0.5, 1, 1, 1
    instance = Instance(budget=6, travel=travel, close=[0, 0, 9, 9, 9], reward=[0, 1, 1, 5, 100])
    result = solve(instance, "exact")
    assert result.solution.routes[0].stops == (3, 2, 4)
    assert result.profit == brute_force(instance) == 106


def test_short_cut_on_the_way_home(way: str) -> None:
    """A stop that is left at once may be the quick way home, and so never costs nothing to skip.

    By hand: to stop 2 in 2, wait until 20, stay 7 for 21 and its reward 3, home by way of stop 1
    (its reward 3) in 1 + 1 = 2 instead of 5: 27 at time 29.
    """
    instance = Instance(
        budget=29,
        travel=[[0, 3, 2], [1, 0, 4], [5, 1, 0]],
        open=[0, 12, 20],
        close=[0, np.inf, 22],
        reward=[0, 3, 3],
        pieces=[[], [[0, 3]], [[3, 7]]],
    )
    assert brute_force(instance) == 27
    for method in ("exact", "columns"):
        result = solve(instance, method)
        assert (result.status, result.profit) == ("optimal", pytest.approx(27))


def test_profit_out_of_reach_hides_nothing(way: str) -> None:
    """A huge rate that leave_by forbids must not make the others' profits look like rounding."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [1, 0], [1, 0], [2, 0]],
        rate=[0, 1e14, 0, 0],
        max_stay=[0, 9, 0, 0],
        open=[0, 1, 0, 0],
        close=[0, 1, 9, 9],
        leave_by=[0, 1, 99, 99],
        reward=[0, 1, 2, 3],
    )
    assert solve(instance, "exact").profit == pytest.approx(6)


def hard_instance() -> Instance:
    """Make an instance that nobody proves in a few seconds: 100 stops in wide windows."""
    random = np.random.default_rng(5)
    xy, reward = random.random((101, 2)), random.integers(1, 99, 101)
    return Instance(budget=4, xy=xy, reward=reward, close=random.uniform(2, 3.5, 101))


def test_time_limit_is_kept_with_a_valid_bound() -> None:
    """When time is up there is a plan and a bound that a longer run's plan does not exceed."""
    instance = hard_instance()
    with within(1.2):
        short = solve(instance, "exact", time_limit=0.2)
    with within(1.8):
        longer = solve(instance, "exact", time_limit=0.8)
    assert short.status == longer.status == "feasible"
    assert short.bound is not None
    assert longer.bound is not None
    assert 0 < short.profit <= longer.bound <= short.bound
    assert longer.profit <= short.bound
    assert check(instance, short.solution) == []


def test_memory_limit_ends_the_search() -> None:
    """With room for few labels the search ends by itself, with a plan and a bound."""
    result = solve(hard_instance(), "exact", memory_limit=0.003, time_limit=600)
    assert result.runtime < 300
    assert result.status == "feasible"
    assert result.bound is not None
    assert result.bound > result.profit > 0


@pytest.mark.parametrize("moment", [1, 5])
@pytest.mark.parametrize("name", ["useful_network", "extend_labels", "improve_penalties"])
def test_ctrl_c_returns_the_best_plan(
    monkeypatch: pytest.MonkeyPatch, name: str, moment: int
) -> None:
    """An interruption at any moment of the search is an end like any other."""
    calls = []
    function = getattr(module, name)

    def interrupted(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == moment or name == "useful_network":
            raise KeyboardInterrupt
        return function(*arguments, **named)

    decost.prepare("exact")
    monkeypatch.setattr(module, name, interrupted)
    monkeypatch.setattr(module, "FIRST_SEARCH", 0.2)
    result = solve(hard_instance(), "exact", time_limit=600)
    assert result.runtime < 300
    assert result.status == "feasible"
    assert result.profit > 0
    assert result.bound is not None
    assert result.profit < result.bound < 101 * 99


def test_team_is_refused_with_a_hint() -> None:
    """The error says how many vehicles there are and which methods take them."""
    instance = generate("paper", nodes=8)[0].replace(vehicles=2)
    with pytest.raises(MethodError, match=r"vehicles = 2.*one vehicle.*greedy"):
        solve(instance, "exact")


@pytest.mark.parametrize(
    ("changes", "profit"),
    [
        ({"budget": 0}, 0),
        ({"budget": 1.9}, 0),
        ({"close": [0, 0.5, 0.5]}, 0),
        ({"open": [0, 3, 3], "close": [0, 3, 3]}, 2 * 4),
        ({"open": [0, -9, -9], "close": [0, -5, 2]}, 1 * 6),
        ({"rate": [0, 0, 0], "max_stay": [0, 5, 5]}, 0),
        ({"rate": [0, 2, 2], "max_stay": [0, 9, 9]}, 2 * 6),
        ({"xy": [[0, 0], [0, 0], [0, 0]]}, 2 * 5 + 1 * 3),
    ],
    ids=["no budget", "too far", "closed", "moment", "past", "no profit", "tie", "coincident"],
)
def test_limiting_cases(way: str, changes: dict[str, object], profit: float) -> None:
    """Two stops at distance 1, stays of at most 5 and 9, a budget of 8; worked out by hand."""
    given: dict[str, object] = {
        "budget": 8,
        "xy": [[0, 0], [1, 0], [1, 0]],
        "rate": [0, 2, 1],
        "max_stay": [0, 5, 9],
    }
    result = solve(Instance(**(given | changes)), "exact")  # type: ignore[arg-type]
    assert result.profit == pytest.approx(profit)
    assert result.status == "optimal"


def test_two_thousand_stops() -> None:
    """A size far beyond the usual ends in time, with a feasible plan and a bound."""
    instance = generate("paper", nodes=2001, window=100, seed=1)[0]
    decost.prepare("exact")
    with within(5.5):
        result = solve(instance, "exact", time_limit=0.5)
    assert check(instance, result.solution) == []
    assert result.bound is not None
    assert result.bound >= result.profit > 0


@pytest.mark.parametrize("seed", seeds(30))
def test_values_to_go_equal_brute_force(seed: int) -> None:
    """For a random partial route, the best of all ways to go on, by the next stop."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 6)))
    if instance.matrix is not None and seed % 2:
        instance = instance.replace(travel=None)
    size = int(random.integers(0, instance.nodes))
    route = tuple((1 + random.permutation(instance.stops)[:size]).tolist())
    (values,) = values_to_go([instance], [route])
    expected = np.full(instance.nodes, -np.inf)
    routes = all_routes(instance, route)
    for whole, profit in zip(routes, decost.optimal_stays(instance, routes).profit, strict=True):
        following = whole[size] if len(whole) > size else 0
        expected[following] = max(expected[following], profit)
    if instance.matrix is None:
        expected[1:][instance.full_profit[1:] == 0] = -np.inf
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


def test_values_to_go_along_the_best_route() -> None:
    """The best next step of a best plan's beginning is worth the optimum, in every batch."""
    instances = generate("paper", nodes=40, window=200, count=5, seed=3)
    for instance in instances:
        result = solve(instance, "exact")
        stops = result.solution.routes[0].stops
        starts = [stops[:k] for k in range(len(stops) + 1)]
        values = values_to_go([instance] * len(starts), starts)
        best = [value.max() for value in values]
        np.testing.assert_allclose(best, result.profit, rtol=1e-9)
        following = [value[stop] for value, stop in zip(values, (*stops, 0), strict=True)]
        np.testing.assert_allclose(following, result.profit, rtol=1e-9)


def test_values_to_go_refuses_what_does_not_fit() -> None:
    """As many routes as instances, and only stops that exist, each once."""
    instance = generate("paper", nodes=5)[0]
    with pytest.raises(ValueError, match="there are 2 for 1"):
        values_to_go([instance], [[], [1]])
    with pytest.raises(ValueError, match="no stop 9"):
        values_to_go([instance], [[9]])
