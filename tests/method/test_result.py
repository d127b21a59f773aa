"""Tests of results: profit, gap, and what is written of them."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from decost import Instance, Result, make_solution

PLACES = Instance(budget=20, xy=[[0, 0], [3, 4]], rate=[0, 2], max_stay=[0, 6], ids=["hill"])
RESULT = Result(
    PLACES, make_solution(PLACES, [[1]], [[4]]), "feasible", 10.0, 0.25, method="m", seed=3
)


def test_profit_and_gap() -> None:
    """The gap is what may be missing, as a share of the bound: here 2 of 10."""
    assert RESULT.profit == 8
    assert RESULT.gap == pytest.approx(0.2)


@pytest.mark.parametrize(("bound", "gap"), [(None, None), (8.0, 0.0), (7.999, 0.0), (0.0, 0.0)])
def test_gap_at_the_ends(bound: float | None, gap: float | None) -> None:
    """No bound, no gap; and never below 0, nor a division by 0."""
    assert Result(PLACES, RESULT.solution, "optimal", bound).gap == gap


def test_gap_of_a_small_bound() -> None:
    """A bound less than 1 is a bound: of 0.5, all may be missing."""
    nothing = make_solution(PLACES, [], [])
    assert Result(PLACES, nothing, "feasible", 0.5).gap == 1


def test_frozen() -> None:
    """A result cannot be changed, and has seed 0 if none is given."""
    with pytest.raises(FrozenInstanceError):
        RESULT.bound = 8.0  # type: ignore[misc]
    assert Result(PLACES, RESULT.solution, "feasible").seed == 0


def test_dictionary() -> None:
    """What is written has the keys of the contract, and stops by their names."""
    assert json.loads(json.dumps(RESULT.to_dict())) == {
        "method": "m",
        "status": "feasible",
        "profit": 8.0,
        "bound": 10.0,
        "runtime": 0.25,
        "seed": 3,
        "routes": [[{"stop": "hill", "start": 5.0, "stay": 4.0, "profit": 8.0}]],
    }


def test_repr() -> None:
    """One line with all that one asks first."""
    assert repr(RESULT) == "Result(m: feasible, profit 8, bound 10, 0.250 s)"
    bare = Result(PLACES, RESULT.solution, "optimal")
    assert repr(bare) == "Result(: optimal, profit 8, bound none, 0.000 s)"
