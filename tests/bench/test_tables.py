"""Tests of what tables are made of, against numpy and values worked out by hand."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from decost.experiments.main import PAPER
from decost.experiments.tables import (
    add_gaps,
    csv_text,
    digits,
    grouped,
    markdown,
    performance,
    spread,
)


def row(instance: int, method: str, profit: float, **others: Any) -> dict[str, Any]:
    """Make a row."""
    usual = {"setting": "s", "seed": 0, "bound": None, "status": "feasible", "seconds": 0.5}
    return usual | {"instance": instance, "method": method, "profit": profit} | others


ROWS = [
    row(0, "exact", 10.0, bound=10.0, status="optimal", seconds=0.001, reached=0.001, batch=1),
    row(1, "exact", 6.0, bound=8.0, seconds=0.003, reached=0.001, batch=1),
    row(0, "greedy", 9.0, reached=None, batch=2),
    row(1, "greedy", 6.0, reached=None, batch=2),
]


def test_gaps_are_to_the_provers_bound() -> None:
    """By hand: 0, 1 - 6/8, 1 - 9/10, 1 - 6/8; only the first instance has a proven optimum."""
    gaps = add_gaps(ROWS, "exact")
    assert [one["gap"] for one in gaps] == pytest.approx([0.0, 25.0, 10.0, 25.0])
    assert [one["optimum"] for one in gaps] == [10.0, 8.0, 10.0, 8.0]
    assert [one["optimum_proven"] for one in gaps] == [True, False, True, False]


def test_nothing_to_earn_is_no_gap() -> None:
    """Where the optimum is 0, the empty plan misses nothing."""
    rows = [row(0, "exact", 0.0, bound=0.0, status="optimal"), row(0, "greedy", 0.0)]
    assert [one["gap"] for one in add_gaps(rows, "exact")] == [0.0, 0.0]


def test_a_plan_above_a_bound_is_an_error() -> None:
    """A profit beyond the bound is not hidden as a gap of 0."""
    rows = [*ROWS, row(1, "magic", 8.1)]
    with pytest.raises(ValueError, match=r"s, instance 1: magic earns 8.1, more than the bound 8"):
        add_gaps(rows, "exact")


def test_performance_by_hand() -> None:
    """Means of hand-made rows, and counts of what is proven."""
    groups = grouped(add_gaps(ROWS, "exact"), "method")
    assert performance(groups["greedy",]) == {
        "instances": "2",
        "score": "7.5000",
        "optimum": "9.0000",
        "gap (%)": "17.50",
        "at optimum": "0",
        "proven by it": "0",
        "optima proven": "1",
        "time (ms)": "500",
        "best after (ms)": "",
        "batch": "2",
    }
    exact = performance(groups["exact",])
    chosen = ("gap (%)", "at optimum", "proven by it", "time (ms)", "best after (ms)")
    assert [exact[name] for name in chosen] == ["12.50", "1", "1", "2.00", "1.00"]


def test_spread_is_numpys() -> None:
    """Mean, deviation and quartiles are numpy's; those of 0, 1, 2, 3, 10 are known by hand."""
    numbers = spread([3.0, 1.0, 0.0, 10.0, 2.0])
    assert numbers == pytest.approx(
        {"mean": 3.2, "std": 12.56**0.5, "median": 2, "q25": 1, "q75": 3, "min": 0, "max": 10}
    )
    values = np.random.default_rng(0).exponential(size=101)
    ordered = np.sort(values)
    assert spread(values.tolist()) == pytest.approx(
        {
            "mean": values.sum() / 101,
            "std": np.sqrt(((values - values.mean()) ** 2).sum() / 101),
            "median": ordered[50],
            "q25": ordered[25],
            "q75": ordered[75],
            "min": ordered[0],
            "max": ordered[100],
        }
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.10512, "0.105"), (1.0, "1.00"), (46.66, "46.7"), (1346000.0, "1346000")],
)
def test_digits(value: float, text: str) -> None:
    """Three significant digits, all digits before the point, and never an exponent."""
    assert digits(value) == text


def test_csv_and_markdown_say_the_same() -> None:
    """CSV has bare numbers under a heading with the unit, Markdown percent signs in the cells."""
    table = [
        {"method": "a, b", "gap (%)": "0.00", "time (ms)": "1.5"},
        {"method": "c", "gap (%)": "", "time (ms)": "2"},
    ]
    assert list(csv.DictReader(io.StringIO(csv_text(table)))) == table
    assert markdown(table).splitlines() == [
        "| method | gap | time (ms) |",
        "| --- | --- | --- |",
        "| a, b | 0.00% | 1.5 |",
        "| c |  | 2 |",
    ]


def test_the_papers_scores_and_gaps_agree() -> None:
    """Each of the paper's gaps is near that of its mean scores: no figure is mistyped."""
    compared = 0
    for methods in PAPER.values():
        best = methods["milp"][0]
        for score, gap, _ in methods.values():
            if best and gap:
                assert 100 * (1 - float(score) / float(best)) == pytest.approx(float(gap), abs=1.5)
                compared += 1
    assert compared == 4 * 7
