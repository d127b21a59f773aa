"""Tests of the door: the registry, options, sets, and what every method must keep to."""

from __future__ import annotations

import math
import os
import random
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import decost
from decost import Instance, Method, MethodError, Options, Result, check, generate, profit_of
from decost.planner.door import DEFAULT_METHOD, read_options, solve_as_done
from odd_instances import brute_force
from quick_options import quick


def plans_teams(method: str) -> bool:
    """Whether a method can plan for several vehicles."""
    return "teams" in decost.get_method(method).can


def small(family: str, count: int = 3, **changes: Any) -> list[Instance]:
    """Make a few instances that every method solves at once."""
    given: dict[str, Any] = {"nodes": 8, "window": 200, "budget": 4, "seed": 11}
    return generate(family, count=count, **(given | changes))


@pytest.fixture
def own(registry: None) -> list[Instance]:
    """Register the method `own`, which returns empty plans and notes what it is called with."""
    seen: list[Instance] = []

    class OwnOptions(Options):
        delay: float = 0.0

    def function(instance: Instance, options: OwnOptions) -> Result:
        time.sleep(options.delay)
        seen.append(instance)
        if instance.name == "bad":
            raise MethodError("budget = 1: too small")
        return Result(instance, decost.make_solution(instance, [], []), "optimal", 0.0)

    decost.register(Method("own", "For the tests.", function, OwnOptions, can=()))
    return seen


@pytest.mark.parametrize("vehicles", [1, 3])
@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_plans_are_feasible(method: str, family: str, vehicles: int) -> None:
    """The checker accepts every plan, its profit is the one it claims, and no bound is beaten."""
    if vehicles > 1 and not plans_teams(method):
        pytest.skip("plans for one vehicle")
    for instance in small(family, vehicles=vehicles):
        result = decost.solve(instance, method, **quick(method))
        assert check(instance, result.solution) == []
        assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)
        assert result.profit > 0
        assert len(result.solution.routes) == vehicles
        assert result.bound is None or result.profit <= result.bound * (1 + 1e-6)
        if result.status == "optimal":
            assert result.bound == pytest.approx(result.profit, rel=1e-4)


@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_no_method_beats_brute_force(method: str, family: str) -> None:
    """On 5 stops, no plan earns more than the best of all, and an optimal one earns as much."""
    for instance in small(family, nodes=6, budget=3):
        best = brute_force(instance)
        result = decost.solve(instance, method, **quick(method))
        assert result.profit <= best * (1 + 1e-6)
        if result.status == "optimal":
            assert result.profit == pytest.approx(best, rel=1e-4)
        if result.bound is not None:
            assert result.bound >= best * (1 - 1e-6)


@pytest.mark.parametrize("separate_end", [False, True])
@pytest.mark.parametrize("vehicles", [1, 2])
def test_no_stops(method: str, separate_end: bool, vehicles: int) -> None:
    """Without stops the plan is empty, even if the end depot is out of reach."""
    places = [[0, 0], [99, 0]] if separate_end else [[0, 0]]
    nothing = Instance(budget=1, xy=places, separate_end=separate_end, vehicles=vehicles)
    if vehicles > 1 and not plans_teams(method):
        pytest.skip("plans for one vehicle")
    result = decost.solve(nothing, method, **quick(method))
    assert (result.profit, result.solution.visits) == (0, ())
    assert [route.finish for route in result.solution.routes] == [0] * vehicles
    assert result.bound in (None, 0)


HARD: dict[str, dict[str, Any]] = {
    "no budget": {"budget": 0},
    "no budget, no travel": {"budget": 0, "travel": np.zeros((4, 4))},
    "nothing in reach": {"xy": [[0, 0], [99, 0], [0, 99], [99, 99]]},
    "nothing to earn": {"rate": [0, 0, 0, 0]},
    "all in one place": {"xy": np.zeros((4, 2))},
    "all closed before the start": {"open": [0, -9, -9, -9], "close": [0, -1, -1, -1]},
    "to be left before the start": {"leave_by": [0, -1, -1, -1]},
    "large numbers": {"budget": 1e12, "max_stay": [0, 1e11, 1e11, 1e11], "reward": [0, 1e9, 0, 0]},
    "small numbers": {"budget": 1e-9, "xy": np.eye(4)[:, :2] * 1e-10, "max_stay": [0, 1e-9, 1, 1]},
    "endless stays": {"max_stay": [0, 1e300, 1e300, 1e300]},
    "denormals": {"budget": 1e-310, "xy": np.zeros((4, 2)), "max_stay": [0, 1e-310, 5e-324, 1]},
    "denormal rates": {"rate": [0, 5e-324, 1e-310, 1e-320]},
    "largest times": {
        "budget": 1.7e308,
        "max_stay": [0, 1.7e308, 1, 1e307],
        "rate": [0, 0.1, 1, 0.1],
    },
    "largest travel times": {"travel": np.full((4, 4), 1e308)},
    "largest rewards": {"reward": [0, 5e307, 5e307, 5e307]},
    "rates of all sizes": {"rate": [0, 1e300, 1, 1e-12]},
    "opens never": {"open": [0, 1e300, 11, 10], "close": [0, 1e301, 12, 10]},
    "never to be left": {"leave_by": [0, -np.inf, 9, 9]},
    "end out of reach": {"xy": [[0, 0], [1, 0], [1, 1], [0, 1], [1e6, 0]], "separate_end": True},
    "way back is free": {"travel": [[0, 5, 5, 5], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]},
    "opens long ago": {"open": [0, -1e300, -1e15, 0]},
    "windows of no width": {"open": [0, 2, 4, 6], "close": [0, 2, 4, 6]},
    "only minimum stays": {
        "min_stay": [0, 2, 4, 6],
        "max_stay": [0, 2, 4, 6],
        "reward": [0, 1, 1, 1],
    },
    "asymmetric": {"travel": [[0, 1, 9, 9], [9, 0, 1, 9], [9, 9, 0, 1], [1, 9, 9, 0]]},
}


@pytest.mark.parametrize("case", HARD)
def test_corner_cases(method: str, case: str) -> None:
    """A feasible plan comes back for every valid instance, as good as it claims to be."""
    given: dict[str, Any] = {
        "budget": 10,
        "xy": [[0, 0], [1, 0], [1, 1], [0, 1]],
        "rate": [0, 3, 2, 1],
        "max_stay": [0, 2, 3, 4],
    }
    instance = Instance(**(given | HARD[case]))
    best = brute_force(instance)
    result = decost.solve(instance, method, **quick(method))
    assert check(instance, result.solution) == []
    assert result.profit <= best * (1 + 1e-6)
    if result.status == "optimal":
        assert result.profit == pytest.approx(best, rel=1e-4)


def test_same_seed_same_plan(method: str) -> None:
    """Twice the same arguments give the same plan."""
    for instance in small("mixed"):
        first, again = (decost.solve(instance, method, seed=5, **quick(method)) for _ in range(2))
        assert first.solution == again.solution
        assert (first.status, first.bound) == (again.status, again.bound)


def test_result_says_who_made_it(method: str) -> None:
    """Method, seed, instance and time are recorded."""
    (instance,) = small("paper", 1)
    result = decost.solve(instance, method, seed=123, **quick(method))
    assert (result.method, result.seed) == (method, 123)
    assert result.instance is instance
    assert 0 < result.runtime < 60


def test_global_random_states_are_left_alone(method: str) -> None:
    """Neither numpy's nor Python's generator moves."""
    before = (repr(np.random.get_state()), random.getstate())  # noqa: NPY002
    decost.solve(small("mixed", 1)[0], method, seed=1, **quick(method))
    assert before == (repr(np.random.get_state()), random.getstate())  # noqa: NPY002


def test_teams(method: str) -> None:
    """A method that cannot plan for a team says so, and which ones can."""
    (instance,) = small("paper", 1, vehicles=2)
    if plans_teams(method):
        assert len(decost.solve(instance, method, **quick(method)).solution.routes) == 2
        return
    with pytest.raises(MethodError, match=r"vehicles = 2: .* one vehicle; choose from: .*greedy"):
        decost.solve(instance, method, **quick(method))


def test_set_equals_one_by_one(method: str) -> None:
    """A set gives the results of the single instances, in their order, however many threads."""
    instances = small("mixed", 5, nodes=6)
    alone = [decost.solve(instance, method, seed=3, **quick(method)) for instance in instances]
    for threads in (None, 1, 3):
        results = decost.solve_many(instances, method, seed=3, threads=threads, **quick(method))
        assert [result.solution for result in results] == [one.solution for one in alone]
        assert [result.bound for result in results] == [one.bound for one in alone]
        assert all(result.instance is mine for result, mine in zip(results, instances, strict=True))
        assert {(result.method, result.seed) for result in results} == {(method, 3)}


def test_empty_set(method: str) -> None:
    """No instances, no results; but a wrong option is one all the same."""
    assert decost.solve_many([], method) == []
    with pytest.raises(MethodError, match="option nonsense"):
        decost.solve_many([], method, nonsense=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nonsense": 1}, "option nonsense = 1: unknown, {method} takes: seed, time_limit"),
        ({"seed": -1}, "option seed = -1: "),
        ({"seed": 2**63}, "option seed = 9223372036854775808: "),
        ({"seed": 1.5}, "option seed = 1.5: "),
        ({"seed": "x"}, "option seed = 'x': "),
        ({"time_limit": -0.5}, "option time_limit = -0.5: "),
        ({"time_limit": math.nan}, "option time_limit = nan: "),
        ({"time_limit": "soon"}, "option time_limit = 'soon': "),
    ],
)
def test_wrong_options(method: str, options: dict[str, Any], message: str) -> None:
    """An unknown option or a wrong value is an error that names both, in a set too."""
    (instance,) = small("paper", 1)
    for call in (
        lambda: decost.solve(instance, method, **options),
        lambda: decost.solve_many([instance], method, **options),
    ):
        with pytest.raises(MethodError) as caught:
            call()
        assert message.format(method=method) in str(caught.value)


def test_own_time_limit(method: str) -> None:
    """Without a time limit, or with None, a method has its own."""
    schema = decost.get_method(method).options
    assert read_options(decost.get_method(method), {"time_limit": None}) == schema()
    assert read_options(decost.get_method(method), {"time_limit": math.inf}).time_limit == math.inf


def test_start_from_a_result() -> None:
    """A result is as good a start as its plan; a flat list of stops is no route."""
    (instance,) = small("paper", 1)
    best = decost.solve(instance, "exact")
    assert decost.solve(instance, "ils", start=best, iterations=0).profit >= best.profit
    with pytest.raises(ValueError, match=r"routes\[0\] = 1: must be a list of stops"):
        decost.optimal_stays(instance, [1, 2])  # type: ignore[list-item]


def test_methods_that_a_method_uses(registry: None) -> None:
    """What it may call for an instance is loaded with it, once, and nothing else is."""
    calls: list[str] = []

    def function(instance: Instance, options: Options) -> Result:
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    for name in ("one", "other"):
        decost.register(
            Method(name, "Used.", function, warm_up=lambda name=name: calls.append(name))  # type: ignore[misc]
        )
    uses = Method(
        "user", "Uses.", function, uses=lambda one: ("one",) if one.vehicles == 1 else ("other",)
    )
    decost.register(uses)
    (instance,) = small("paper", 1)
    decost.solve(instance, "user")
    assert calls == ["one"]
    decost.solve_many([instance, instance.replace(vehicles=2)], "user")
    assert calls == ["one", "other"]


def test_unknown_method() -> None:
    """The methods that there are are listed; nothing else is used instead."""
    (instance,) = small("paper", 1)
    with pytest.raises(MethodError, match=r"method 'gredy': unknown, choose from: .*greedy"):
        decost.solve(instance, "gredy")
    with pytest.raises(MethodError, match="method 'gredy': unknown"):
        decost.solve_many([], "gredy")


def test_default_method() -> None:
    """Without a name the default method is taken."""
    (instance,) = small("paper", 1)
    result = decost.solve(instance)
    assert (result.method, result.seed) == (DEFAULT_METHOD, 0)
    assert decost.solve_many([instance])[0].method == DEFAULT_METHOD
    assert DEFAULT_METHOD in [method.name for method in decost.list_methods()]


def test_methods_are_described() -> None:
    """Each has a name of its own, one line about it, and options that say what they are."""
    methods = decost.list_methods()
    assert len({method.name for method in methods}) == len(methods)
    for method in methods:
        assert decost.get_method(method.name) is method
        assert method.description.endswith(".")
        assert "\n" not in method.description
        for name, field in method.options.model_fields.items():
            assert field.description, f"{method.name}: {name}"


def test_own_method(own: list[Instance]) -> None:
    """A method of one's own is called like any other, with its own options."""
    (instance,) = small("paper", 1)
    result = decost.solve(instance, "own", delay="0.01", seed=4)
    assert own == [instance]
    assert (result.method, result.seed, result.status) == ("own", 4, "optimal")
    assert 0.01 <= result.runtime < 10
    assert "own" in [method.name for method in decost.list_methods()]
    with pytest.raises(MethodError, match="option delay = 'x'"):
        decost.solve(instance, "own", delay="x")
    with pytest.raises(MethodError, match="option delay = inf"):
        decost.solve(instance, "own", delay=math.inf)
    with pytest.raises(MethodError, match="vehicles = 2: method 'own' plans for one vehicle"):
        decost.solve(instance.replace(vehicles=2), "own")


def test_warm_up(registry: None) -> None:
    """What a method needs is prepared once, before it is called, and not part of its time."""
    calls: list[str] = []

    def warm_up() -> None:
        time.sleep(1)
        calls.append("warm up")

    def function(instance: Instance, options: Options) -> Result:
        calls.append("solve")
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    decost.register(Method("cold", "Needs preparation.", function, warm_up=warm_up))
    instances = small("paper", 5)
    assert decost.solve(instances[0], "cold").runtime < 1
    decost.solve_many(instances, "cold", threads=3)
    assert calls == ["warm up"] + ["solve"] * 6


@pytest.mark.parametrize("name", ["own", "greedy"])
def test_names_are_taken_once(own: list[Instance], name: str) -> None:
    """No method can take the place of another."""
    with pytest.raises(MethodError, match=f"method '{name}': there is one already"):
        decost.register(Method(name, "Another.", lambda instance, options: None))  # type: ignore[arg-type,return-value]


def test_progress(own: list[Instance]) -> None:
    """The number of instances done is told after each of them."""
    told: list[int] = []
    decost.solve_many(small("paper", 100, nodes=2), "own", progress=told.append, threads=3)
    assert told == list(range(1, 101))


def test_results_come_as_they_are_ready(own: list[Instance]) -> None:
    """A large set is not solved whole before the first result, and not on after the last."""
    results = decost.solve_each(small("paper", 200, nodes=2), "own", threads=1, delay=0.002)
    next(results)
    assert len(own) < 150
    results.close()  # type: ignore[attr-defined]
    time.sleep(0.05)
    soon = len(own)
    time.sleep(0.1)
    assert len(own) == soon < 150


def test_threads(own: list[Instance], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many instances as asked for are solved at a time, one a core if not asked."""
    waiting = threading.Barrier(3, timeout=120)

    def function(instance: Instance, options: Options) -> Result:
        waiting.wait()
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    decost.register(Method("together", "Wait for two others.", function))
    assert len(decost.solve_many(small("paper", 3), "together", threads=3)) == 3
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert len(decost.solve_many(small("paper", 3), "together")) == 3
    for threads in (0, -1):
        with pytest.raises(MethodError, match=f"threads = {threads}: must be at least 1"):
            decost.solve_many(small("paper", 1), "own", threads=threads)


def test_error_in_a_set(own: list[Instance]) -> None:
    """What a method says of one instance is raised, after the results before it."""
    instances = [
        one.replace(name="bad" if k == 2 else "") for k, one in enumerate(small("paper", 4))
    ]
    results = decost.solve_each(instances, "own", threads=1)
    assert [next(results).status for _ in range(2)] == ["optimal", "optimal"]
    with pytest.raises(MethodError, match="too small"):
        next(results)


def with_faults(*bad: int, count: int = 6) -> list[Instance]:
    """Make instances of which `own` refuses some."""
    some = small("paper", count, nodes=3)
    return [one.replace(name="bad" if k in bad else "") for k, one in enumerate(some)]


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_as_rows(own: list[Instance], threads: int) -> None:
    """What cannot be solved is a row with its error; all others are solved."""
    instances = with_faults(1, 5)
    options: dict[str, Any] = {"threads": threads, "seed": 7}
    rows = decost.solve_many(instances, "own", on_error="row", **options)
    for number, row in enumerate(rows):
        assert row.instance is instances[number]
        assert (row.method, row.seed) == ("own", 7)
        assert isinstance(row, decost.Failure) == (number in (1, 5))
        if isinstance(row, decost.Failure):
            assert isinstance(row.error, MethodError)
            expected = {"method": "own", "status": "failed", "error": "budget = 1: too small"}
            assert row.to_dict() == expected | {"runtime": row.runtime, "seed": 7}
    with pytest.raises(MethodError, match="too small"):
        decost.solve_many(instances, "own", **options)


def test_rows_come_in_order(own: list[Instance]) -> None:
    """The outcomes of `solve_each` are those of `solve_many`, one after another."""
    instances = with_faults(0, 3, count=40)
    rows = decost.solve_each(instances, "own", threads=3, on_error="row")
    assert all(row.instance is mine for row, mine in zip(rows, instances, strict=True))
    numbers = sorted(number for number, _ in solve_as_done(instances, "own", threads=3))
    assert numbers == list(range(40))


def test_unknown_ways_with_errors(own: list[Instance]) -> None:
    """Other words than raise and row are refused, before anything is solved."""
    for solve in (decost.solve_many, decost.solve_each):
        with pytest.raises(MethodError, match="on_error = 'ignore': must be raise or row"):
            list(solve(with_faults(), "own", on_error="ignore"))  # type: ignore[call-overload]
    assert own == []


def test_errors_in_a_batch(registry: None) -> None:
    """Of instances that are solved at once, only those that fail by themselves are failures."""

    def one(instance: Instance, options: Options) -> Result:
        return many([instance], options)[0]

    def many(instances: Any, options: Options) -> list[Result]:
        if any(instance.name == "bad" for instance in instances):
            raise MethodError("budget = 1: too small")
        return [
            Result(instance, decost.make_solution(instance, [], []), "feasible")
            for instance in instances
        ]

    decost.register(Method("batch", "Many at once.", one, many=many))
    rows = decost.solve_many(with_faults(2), "batch", on_error="row", threads=1)
    assert [row.status for row in rows] == ["feasible"] * 2 + ["failed"] + ["feasible"] * 3


@pytest.mark.parametrize(
    ("nodes", "threads", "sizes"),
    [(2, 1, [500] * 3), (2, 2, [300] * 4), (3_000, 1, [8] * 5)],
)
def test_sizes_of_batches(registry: None, nodes: int, threads: int, sizes: list[int]) -> None:
    """A method for many gets 500 small instances at once, fewer large ones, as many per thread."""
    seen: list[int] = []

    def many(instances: Any, options: Options) -> list[Result]:
        seen.append(len(instances))
        plan = decost.make_solution(instances[0], [], [])
        return [Result(instance, plan, "feasible") for instance in instances]

    decost.register(Method("batch", "Many at once.", lambda one, options: None, many=many))
    (one,) = small("paper", 1, nodes=nodes)
    decost.solve_many([one] * sum(sizes), "batch", threads=threads)
    assert sorted(seen, reverse=True) == sizes


def test_ctrl_c_in_a_set(own: list[Instance]) -> None:
    """What is finished comes with the interruption, be it in order or not."""
    instances = with_faults(count=30)

    def interrupt(done: int) -> None:
        if done == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        decost.solve_many(instances, "own", threads=2, progress=interrupt)
    assert isinstance(caught.value, decost.Interrupted)
    results = caught.value.results
    assert set(range(10)) <= set(results) < set(range(30))
    assert all(result.instance is instances[number] for number, result in results.items())


def test_unfinished_instances_do_not_hide_others(registry: None) -> None:
    """While the first instance is being solved, the others count as finished."""
    release = threading.Event()
    others = threading.Semaphore(0)

    def function(instance: Instance, options: Options) -> Result:
        if instance.name == "bad":
            release.wait(20)
        result = Result(instance, decost.make_solution(instance, [], []), "feasible")
        others.release()
        return result

    def interrupt() -> None:
        for _ in range(5):
            others.acquire(timeout=120)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    decost.register(Method("stuck", "Waits.", function))
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(decost.Interrupted) as caught:
            decost.solve_many(with_faults(0), "stuck", threads=2)
    finally:
        release.set()
        thread.join()
    assert set(caught.value.results) == {1, 2, 3, 4, 5}
