"""Tests of the proofs by circuits: against brute force, labels and published optima."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, check, generate, solve
from decost.exact import circuits
from decost.exact import exact as module
from decost.exact.circuit_program import Circuit, Cut, Program
from decost.exact.cuts import broken_subtours
from decost.exact.exact import Problem
from decost.exact.labels import CAPACITY, Attempt
from decost.method.deadline import Deadline
from decost.method.progress import Progress
from decost.problem.records import Alternative, Place, Stop, Vehicle
from decost.timeline.network import binding_windows, useful_network
from odd_instances import odd_instance
from oracle import brute_force
from seeds import seeds


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Prove by circuits whatever the windows are; gives the branches of every proof."""
    monkeypatch.setattr(module, "SMALL", Attempt(0, CAPACITY))
    monkeypatch.setattr(circuits, "FEW", 1.0)
    monkeypatch.setattr(circuits, "ROUNDS", 0)  # so that plans come from circuits
    count: list[int] = []
    run = circuits.Circuits.run

    def counted(self: circuits.Circuits, deadline: Deadline) -> object:
        yield from run(self, deadline)
        count.append(self.branches)

    monkeypatch.setattr(circuits.Circuits, "run", counted)
    return count


def free_instance(random: np.random.Generator, stops: int) -> Instance:
    """Draw an instance without windows: whole numbers or not, symmetric or not, any triangle."""
    separate = bool(random.random() < 0.3)
    places = stops + 1 + separate
    kind = random.choice(["line", "whole", "odd", "skew"])
    xy = random.random((places, 2))
    travel = np.hypot(*(xy[:, None] - xy).transpose(2, 0, 1))
    if kind == "whole":
        travel = np.ceil(5 * travel) / 5
    if kind == "odd":  # no triangle inequality
        travel = random.random((places, places))
        travel = np.triu(travel) + np.triu(travel).T
    if kind == "skew":
        travel *= random.uniform(0.5, 1.5, travel.shape)
    pieces = []
    for _ in range(stops + 1):
        number = int(random.integers(0, 3))
        rates = np.sort(random.uniform(0, 9, number))[::-1]
        pieces.append(np.column_stack((rates, random.uniform(0, 0.4, number))))
    fixed = random.random() < 0.3
    return Instance(
        budget=float(random.uniform(0.5, 4)),
        travel=travel,
        separate_end=separate,
        reward=random.integers(0 if not fixed else 1, 9, stops + 1),
        min_stay=random.choice([0.0, 0.1, 0.3], stops + 1),
        pieces=[np.empty((0, 2))] * (stops + 1) if fixed else pieces,
    )


@pytest.mark.parametrize("seed", seeds(100))
def test_equals_brute_force_without_windows(forced: list[int], seed: int) -> None:
    """Every order of every subset of the stops, with the best stays, earns no more."""
    random = np.random.default_rng(seed)
    instance = free_instance(random, int(random.integers(2, 6)))
    result = solve(instance, "exact")
    assert result.status == "optimal"
    assert result.profit == pytest.approx(brute_force(instance)[1], rel=1e-7, abs=1e-9)
    assert result.bound == result.profit
    assert check(instance, result.solution) == []


@pytest.mark.parametrize("seed", seeds(30))
def test_equals_brute_force_with_edges_one_by_one(
    forced: list[int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that begins with the depot's edges alone gets all that it needs, in the tree, too.

    Without an edge between stops it may have no solution at first, which proves nothing.
    """
    monkeypatch.setattr(circuits, "NEAREST", 0)
    monkeypatch.setattr(circuits, "SMALL_PROGRAM", 0)
    monkeypatch.setattr(circuits, "PRICED", 1)
    random = np.random.default_rng(3000 + seed)
    instance = free_instance(random, int(random.integers(2, 6)))
    result = solve(instance, "exact")
    assert result.status == "optimal"
    assert result.profit == pytest.approx(brute_force(instance)[1], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(60))
def test_equals_brute_force_with_windows(forced: list[int], seed: int) -> None:
    """Circuits that come too late, or earn less because of a window, are forbidden one by one."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(2, 5)))
    result = solve(instance, "exact")
    assert result.status == "optimal"
    assert result.profit == pytest.approx(brute_force(instance)[1], rel=1e-7, abs=1e-9)
    assert check(instance, result.solution) == []


@pytest.mark.parametrize("seed", seeds(12))
def test_equals_labels(forced: list[int], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On instances too large for brute force, labels without bounds end at the same profit."""
    instance = free_instance(np.random.default_rng(500 + seed), 9)
    result = solve(instance, "exact")
    monkeypatch.setattr(module, "SMALL", Attempt(2**40, 2**16))
    plain = solve(instance, "exact")
    assert result.status == plain.status == "optimal"
    assert plain.details["branches"] == 0
    assert result.profit == pytest.approx(plain.profit, rel=1e-9)
    assert any(forced) or result.profit == 0


@pytest.mark.parametrize("seed", seeds(5))
def test_bounds_hold_at_any_time(forced: list[int], seed: int) -> None:
    """Bounds fall, never below the optimum; they are told together with the plan so far."""
    instance = free_instance(np.random.default_rng(900 + seed), 9)
    best = solve(instance, "exact").profit
    news: list[Progress] = []
    solve(instance, "exact", progress=news.append)
    bounds = [one.bound for one in news if one.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds, default=best) >= best * (1 - 1e-9)
    assert bounds == [] or bounds[-1] == pytest.approx(best, rel=1e-9)


def test_alternatives_own_start_and_required_stops(forced: list[int]) -> None:
    """One way of each stop at most, own places and shifts, and required stops before profit."""
    random = np.random.default_rng(3)
    for _ in range(25):
        places = [Place(f"p{k}", x=random.random(), y=random.random()) for k in range(3)]
        stops = [
            Stop(
                f"s{k}",
                x=random.random(),
                y=random.random(),
                reward=float(random.integers(0, 9)),
                min_stay=0.1,
                required=bool(random.random() < 0.3),
                alternatives=[
                    Alternative(),
                    Alternative(place=str(random.choice(["p0", "p1", "p2"]))),
                ][: int(random.integers(1, 3))],
            )
            for k in range(4)
        ]
        instance = Instance.build(
            depot=Place(x=0.5, y=0.5),
            places=places,
            stops=stops,
            vehicles=[Vehicle("one", start="p0", end="p1", begin=1.0)],
            budget=float(random.uniform(1.5, 3.5)),
        )
        result = solve(instance, "exact")
        required, profit = brute_force(instance)
        assert (result.required_visited, result.required_bound) == (required, required)
        assert result.profit == pytest.approx(profit, rel=1e-7, abs=1e-9)
        assert result.status == ("optimal" if required == sum(instance.required) else "infeasible")


def test_time_limit_gives_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """When time is up the plan is no more than feasible, and the bound is above the optimum."""
    instance = generate("paper", nodes=40, window=100, seed=1)[0]
    free = instance.replace(open=np.zeros(40), close=np.full(40, np.inf))
    best = solve(free, "exact")
    assert best.status == "optimal"
    monkeypatch.setattr(circuits, "ROUNDS", 0)
    for limit in (0.0, 0.05):
        result = solve(free, "exact", time_limit=limit)
        assert result.bound is not None
        assert result.profit <= best.profit * (1 + 1e-9)
        assert result.bound >= best.profit * (1 - 1e-9)


def test_a_listener_can_end_it() -> None:
    """Who answers False has the plan so far, with a bound, and no proof."""
    instance = generate("paper", nodes=50, window=100, seed=1)[0]
    free = instance.replace(open=np.zeros(50), close=np.full(50, np.inf))
    heard = []

    def listen(news: Progress) -> bool:
        heard.append(news)
        return len(heard) < 3

    result = solve(free, "exact", progress=listen)
    assert len(heard) == 3
    assert result.status == "feasible"
    assert result.bound is not None
    assert result.bound > result.profit


def test_windows_that_matter_are_counted() -> None:
    """By hand: a stop that opens late, one that closes early, one that must be left early."""
    instance = Instance(
        budget=10,
        xy=[[0, 0], [1, 0], [2, 0], [3, 0], [0, 1]],
        open=[0, 1, 2.5, 0, 0],
        close=[0, 9, 9, 6, 9],
        leave_by=[np.inf, np.inf, np.inf, np.inf, 8.5],
        rate=[0, 1, 1, 1, 1],
        max_stay=[0, 1, 1, 1, 1],
    )
    network = useful_network(instance, kind=0)
    assert binding_windows(instance.arrays, network).tolist() == [False, True, True, True]
    problem = Problem.of(instance)
    assert not circuits.suits(instance, problem)
    free = instance.replace(open=np.zeros(5), close=np.full(5, np.inf), leave_by=None)
    assert circuits.suits(free, Problem.of(free))


def test_windows_hide_behind_no_detour() -> None:
    """Without the triangle inequality, a stop may be reached before the direct way is driven."""
    travel = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]], dtype=float)
    instance = Instance(budget=20, travel=travel, open=[0, 0, 5], reward=[0, 1, 1])
    network = useful_network(instance, kind=0)
    assert binding_windows(instance.arrays, network).tolist() == [False, True]


def test_subtours_are_found() -> None:
    """A triangle beside the depot's circuit, and one that hangs on it by half of an edge."""
    tail, head = np.array([0, 1, 0, 3, 4, 3]), np.array([1, 2, 2, 4, 5, 5])
    visited = np.ones(6)
    sets, stop = broken_subtours(6, tail, head, np.ones(6), visited, 1e-4)
    assert sets.tolist() == [[False, False, False, True, True, True]]
    assert stop[0] in (3, 4, 5)
    weights = np.array([1, 0.75, 1, 0.75, 1, 0.75, 0.25, 0.25])
    tail, head = np.append(tail, [2, 1]), np.append(head, [3, 5])
    sets, _ = broken_subtours(6, tail, head, weights, visited, 1e-4)
    assert sets.tolist() == [[False, False, False, True, True, True]]
    whole = np.array([1, 0, 1, 1, 1, 0, 1, 1])
    assert len(broken_subtours(6, tail, head, whole, visited, 1e-4)[0]) == 0


SQUARE = Instance(budget=5, xy=[[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 2]], reward=[0, 3, 1, 2, 4])
"""Four stops: the way 0, 3, 4, 2, 0 is 4.65 long and earns 7, with stop 1 it were 5.24."""


def free_square() -> Circuit:
    """Make its circuit."""
    return Circuit.of(useful_network(SQUARE, kind=0))


def test_bound_does_not_trust_the_solver() -> None:
    """Whatever duals it answers with, what they prove is not below the optimum, 7."""
    assert brute_force(SQUARE) == (0, 7)
    circuit = free_square()
    every = np.arange(len(circuit.tail))
    program = Program(circuit, every, np.ones(len(every), dtype=np.bool_))
    assert program.solve(Deadline()) is not None
    good = program.prices().bound
    random = np.random.default_rng(0)
    for _ in range(50):
        price = random.normal(0, 2, len(program._most))
        assert program._proof(price, 1.0).bound >= 7.0
    assert 7.0 <= good < 10.0


def test_edges_that_are_missing_count() -> None:
    """A program without some edges proves the same bound as one with them, at the same prices."""
    circuit = free_square()
    every = np.arange(len(circuit.tail))
    allowed = np.ones(len(every), dtype=np.bool_)
    inside = np.array([False, True, True, True, False])
    cut = Cut(inside, -inside[1:].astype(float), np.array([4]), 1.0)
    whole, part = Program(circuit, every, allowed), Program(circuit, every[:5], allowed)
    for program in (whole, part):
        program.add_cuts([cut])
    price = np.random.default_rng(1).uniform(0, 1, len(whole._most))
    one, two = whole._proof(price, 1.0), part._proof(price, 1.0)
    assert one.bound == pytest.approx(two.bound)
    np.testing.assert_allclose(one.edge, two.edge)


def test_nothing_fits(forced: list[int]) -> None:
    """Where no two stops fit together, the best single one is the plan: 5."""
    instance = Instance(
        budget=2, xy=[[0, 0], [1, 0], [-1, 0], [0, 1]], reward=[0, 3, 5, 4], min_stay=[0, 0, 0, 0]
    )
    result = solve(instance, "exact")
    assert (result.status, result.profit, result.bound) == ("optimal", 5, 5)
