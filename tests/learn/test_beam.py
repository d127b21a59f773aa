"""Tests of the beam: wide enough it finds the optimum, with one row it is the greedy walk."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, check, generate, solve
from decost.inference import policy
from decost.method.deadline import Deadline
from odd_instances import brute_force, odd_instance
from policies import metric
from seeds import seeds


def tiny(seed: int) -> Instance:
    """Draw an instance without short cuts, of up to four stops and two vehicles."""
    random = np.random.default_rng(seed)
    return metric(odd_instance(random, int(random.integers(1, 5))))


@pytest.mark.parametrize("seed", seeds(12))
def test_wide_beam_is_exhaustive(seed: int) -> None:
    """With room for every beginning, the best plan of all is among those that are built."""
    instance = tiny(seed)
    found = solve(instance, method="decost", symmetries=False, beam=300)
    assert found.profit == pytest.approx(brute_force(instance))
    assert not check(instance, found.solution)


@pytest.mark.parametrize("family", ["paper", "mixed", "people"])
def test_one_row_is_the_likeliest_walk(family: str) -> None:
    """A beam of one row takes the likeliest choice at each step, and so changes nothing."""
    planner = policy._load("generalist", "cpu")
    team = policy._Team(planner, policy.PolicyOptions(), Deadline(None))
    some = generate(family, nodes=20, count=5, seed=1, vehicles=2)
    beam = team.best_plans(some, policy.LIKELIEST, 2, beam=1)
    assert beam == team.best_plans(some, policy.LIKELIEST, 1)


def test_vehicles_of_their_own() -> None:
    """Rows go on from one kind of vehicles to the next; plans are feasible and none is worse."""
    better = 0
    for instance in generate("people", nodes=20, count=8, seed=3, vehicles=3):
        alone = solve(instance, method="decost", symmetries=False)
        found = solve(instance, method="decost", symmetries=False, beam=8)
        assert not [one for one in check(instance, found.solution) if one.rule != "required"]
        assert found.required_visited >= alone.required_visited
        if found.required_visited == alone.required_visited:
            assert found.profit >= alone.profit - 1e-6
            better += found.profit > alone.profit + 1e-6
    assert better


def test_no_time_for_a_beam() -> None:
    """Without time the vehicles go home, and the plan is there at once."""
    (instance,) = generate("paper", nodes=200, window=500, count=1)
    found = solve(instance, method="decost", symmetries=False, beam=5000, time_limit=0.05)
    assert not check(instance, found.solution)


def test_networks_without_a_beam() -> None:
    """The paper's network has none."""
    (instance,) = generate("paper", nodes=20)
    with pytest.raises(ValueError, match="beam = 4: takes a prefix network"):
        solve(instance, method="decost", weights="paper", beam=4)
