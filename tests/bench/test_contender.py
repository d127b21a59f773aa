"""Tests of a method with its options as one thing."""

from __future__ import annotations

import math

import pytest

from decost.bench import BenchError
from decost.bench.contender import Contender, contenders
from decost.bench.tables import counterpart, row_name


def test_equal_options_are_equal_contenders() -> None:
    """However they are written and in whatever order; other values, and labels, make others."""
    one = Contender.of("ils", time_limit=10, seed=4)
    assert (
        one
        == Contender.parse("ils  seed=4 time_limit=10.0")
        == Contender.of("ils", seed="4", time_limit=10.0)
    )
    assert len({one, Contender.parse("ils time_limit=10 seed=4")}) == 1
    assert one != one.having(seed=5)
    assert one != one.named("other")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "ils"),
        ({"time_limit": 0.005}, "ils time_limit=0.005"),
        ({"time_limit": math.inf}, "ils time_limit=inf"),
        ({"roulette": False, "seed": 2**60 + 1}, f"ils roulette=false seed={2**60 + 1}"),
        ({"weights": "runs/a b.safetensors"}, "ils weights=runs/a b.safetensors"),
    ],
)
def test_text(options: dict[str, object], text: str) -> None:
    """Names and values of options as the command line takes them."""
    assert str(Contender.of("ils", **options)) == text


def test_changed_options() -> None:
    """Options are added, replaced and left out; a label stands for all of it."""
    ils = Contender.parse("ils time_limit=10 seed=4")
    assert str(ils.having(time_limit=20, iterations=3)) == "ils iterations=3 seed=4 time_limit=20"
    assert ils.without("seed") == Contender.of("ils", time_limit=10)
    assert str(ils.named("mine")) == "mine"
    assert (ils.get("seed"), ils.get("stays")) == ("4", None)
    assert ils.given == {"seed": "4", "time_limit": "10"}


def test_several() -> None:
    """Commas stand between contenders; a word that is no option is named."""
    assert [str(one) for one in contenders("greedy, ils  seed=1")] == ["greedy", "ils seed=1"]
    with pytest.raises(BenchError, match="method 'ils ten': 'ten' is not like option=value"):
        contenders("greedy,ils ten")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("milp solver=gurobi solver_threads=2 time_limit=9", "milp"),
        ("ils time_limit=10 seed=4", "ils"),
        ("gfacs stays=greedy", "gfacs stays=greedy"),
        ("ils roulette=false", "ils roulette=false"),
    ],
)
def test_counterparts(words: str, name: str) -> None:
    """Limits, seeds and solvers do not make another method; other options do."""
    assert counterpart(Contender.parse(words)) == name


def test_our_network_is_named() -> None:
    """Beside the paper's figures nobody takes our weights for its own; others have their file."""
    named = [row_name(Contender.parse(words)) for words in ("decost", "decost weights=x", "pomo")]
    assert named == ["decost (our network)", "decost weights=x", "pomo"]
