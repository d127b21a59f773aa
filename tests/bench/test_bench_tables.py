"""Tests of what tables are made of, against numpy and values worked out by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from toys import made, proof

from decost.bench.contender import Contender
from decost.bench.tables import (
    add_gaps,
    csv_text,
    digits,
    grouped,
    markdown,
    paper_columns,
    percent_over,
    performance,
    read_toml,
    spread,
)

EXACT = Contender.of("exact")


ROWS = [
    proof(0) | {"seconds": 0.001, "reached": 0.001},
    made("exact", 1, 6.0, bound=8.0, seconds=0.003, reached=0.001),
    made("greedy", 0, 9.0, batch=2),
    made("greedy", 1, 6.0, batch=2),
]


def gap_facts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, bool]]:
    """Give gap, optimum and whether that is proven, row by row."""
    found = add_gaps(rows, EXACT)
    return [(round(row["gap"], 9), row["optimum"], row["optimum_proven"]) for row in found]


def test_gaps_are_to_the_provers_bound() -> None:
    """By hand: 0, 1 - 6/8, 1 - 9/10, 1 - 6/8; only the first instance has a proven optimum."""
    assert gap_facts(ROWS) == [
        (0.0, 10.0, True),
        (25.0, 8.0, False),
        (10.0, 10.0, True),
        (25.0, 8.0, False),
    ]
    shuffled = [ROWS[k] for k in (3, 0, 2, 1)]
    assert [row["contender"] for row in add_gaps(shuffled, EXACT)] == [
        row["contender"] for row in shuffled
    ]


def test_gaps_are_to_the_least_bound_where_nothing_is_proven() -> None:
    """By hand: below bounds of 12 and 8, a profit of 6 misses 25%, and one of 7 12.5%."""
    exact, milp = made("exact", 0, 6.0, bound=12.0), made("milp", 0, 7.0, bound=8.0)
    expected = [(25.0, 8.0, False), (12.5, 8.0, False)]
    assert gap_facts([exact, milp]) == gap_facts([exact | {"bound": None}, milp]) == expected
    with pytest.raises(ValueError, match="neither exact nor another has a bound"):
        add_gaps([exact | {"bound": None}], EXACT)


def test_a_proof_of_any_method_is_one() -> None:
    """If HiGHS proves what the prover could not, gaps are to that; looser bounds are not used."""
    exact = made("exact", 0, 6.0, bound=12.0)
    milp = made("milp", 0, 8.0, bound=8.0, status="optimal")
    assert gap_facts([exact, milp]) == [(25.0, 8.0, True), (0.0, 8.0, True)]
    loose = made("milp", 0, 5.0, bound=12.0)
    assert gap_facts([loose, proof(0)]) == [(50.0, 10.0, True), (0.0, 10.0, True)]


def test_nothing_to_earn_is_no_gap() -> None:
    """Where the optimum is 0, the empty plan misses nothing."""
    rows = [made("exact", 0, 0.0, bound=0.0, status="optimal"), made("greedy", 0, 0.0)]
    assert [one["gap"] for one in add_gaps(rows, EXACT)] == [0.0, 0.0]


def test_no_bound_may_be_beaten() -> None:
    """A plan above a bound, also that of another method, is an error and no gap of 0."""
    rows = [proof(0), made("milp", 0, 9.0, bound=9.5)]
    complaint = r"instance 0: exact earns 10\.0, more than the bound 9\.5 of milp"
    with pytest.raises(ValueError, match=complaint):
        add_gaps(rows, EXACT)
    rounded = [proof(0), made("milp", 0, 9.0, bound=10.0 - 1e-9)]
    assert gap_facts(rounded) == [(0.0, 10.0, True), (10.0, 10.0, True)]


def test_performance_by_hand() -> None:
    """Means of hand-made rows, and counts of what is proven."""
    groups = grouped(add_gaps(ROWS, EXACT), "contender")
    assert performance(groups[Contender.of("greedy"),]) == {
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
    exact = performance(groups[EXACT,])
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


def test_percent_over_others() -> None:
    """By hand: the mean of 5 and 10 is a quarter above that of 6; of nothing there is none."""
    rows = [{"profit": 5.0}, {"profit": 10.0}]
    assert percent_over(rows, [{"profit": 6.0}]) == "25.00"
    assert percent_over([{"profit": 3.0}], [{"profit": 4.0}]) == "-25.00"
    assert percent_over(rows, None) == ""


def test_columns_of_the_paper() -> None:
    """Figures stand under their names, and nothing where the paper has none."""
    assert paper_columns("team", "all", "ils") == {
        "paper's score": "31.83",
        "paper's over POMO (%)": "-11.27",
    }
    assert set(paper_columns("team", "all", "search").values()) == {""}
    assert set(paper_columns("main", "n=20, TW=100", "ils").values()) == {""}


def test_the_papers_scores_and_gaps_agree() -> None:
    """Each of the paper's gaps is near that of its mean scores: no figure is mistyped."""
    compared = 0
    for setting, methods in read_toml("paper.toml")["main"].items():
        best = methods["milp"][0] if setting != "columns" else ""
        for score, gap, _ in methods.values() if best else ():
            if gap:
                assert 100 * (1 - float(score) / float(best)) == pytest.approx(float(gap), abs=1.5)
                compared += 1
    assert compared == 4 * 7
