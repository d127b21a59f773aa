"""Tests of lists of pieces: by hand, and against functions that are drawn point by point."""

from __future__ import annotations

import numpy as np
import pytest

from decost.timeline.profile import best_part, dominates, merge, share, surplus_over, window
from seeds import seeds


def pool(*pairs: tuple[float, float], at: int = 0) -> np.ndarray:
    """Make room for 20 pieces, some of them given."""
    table = np.zeros((20, 2))
    table[at : at + len(pairs)] = np.reshape(pairs, (-1, 2))
    return table


def random_list(random: np.random.Generator) -> list[tuple[float, float]]:
    """Draw up to four pieces on a small grid, so that ties are common."""
    count = int(random.integers(0, 5))
    rates = np.sort(random.integers(1, 5, count))[::-1]
    return [(float(rate), float(random.integers(1, 4))) for rate in rates]


def earned(pieces: list[tuple[float, float]], time: float) -> float:
    """Profit of the best so many units, unit by unit, in quarters."""
    units = [rate / 4 for rate, length in pieces for _ in range(int(4 * length))]
    return sum(sorted(units, reverse=True)[: round(4 * time)])


def test_merge_keeps_the_order() -> None:
    """A piece comes after those of its own rate, so that ties are served in order of the route."""
    lists = pool((5, 1), (3, 2), (1, 3), at=2)
    assert merge(lists, 2, 3, pool((9, 9), (3, 9), (2, 8)), 1, 3) == 5
    assert lists[2:7].tolist() == [[5, 1], [3, 2], [3, 9], [2, 8], [1, 3]]
    assert merge(lists, 2, 5, lists, 0, 0) == 5


@pytest.mark.parametrize("in_place", [True, False])
def test_window_spends_and_keeps(in_place: bool) -> None:
    """Waiting 2 earns 5 + 3, and of the rest 2 units are kept: 3 + 1, in place or in a copy."""
    lists = pool((5, 1), (3, 2), (1, 3), at=1)
    into, to = (lists, 1) if in_place else (pool(), 4)
    assert window(lists, 1, 3, 2.0, 2.0, into, to) == (8, 2, 4)
    assert into[to : to + 2].tolist() == [[3, 1], [1, 1]]


def test_best_part_and_surplus() -> None:
    """Of 2.5 units: 5 + 4.5; beyond a margin of 2: 3 + 2, the last piece being worth less."""
    lists = pool((5, 1), (3, 2), (1, 3), at=3)
    assert best_part(lists, 3, 3, 2.5) == 9.5
    assert best_part(lists, 3, 3, 100.0) == 14
    assert surplus_over(lists, 3, 6, 2.0) == 5


@pytest.mark.parametrize("seed", seeds(100))
def test_share_is_the_best_of_all_ways(seed: int) -> None:
    """Some of the first list is used in the wait, the rest and the second share the time after."""
    random = np.random.default_rng(seed)
    one, two = random_list(random), random_list(random)
    wait, time = float(random.integers(0, 5)), float(random.integers(0, 6))
    room = float(random.choice([np.inf, *range(7)]))

    def most(time: float) -> float:
        first = int(min(room, 30))
        return max(
            earned(one, x) + earned(two, wait + time - max(x, wait))
            for x in np.arange(0, min(first, wait + time) + 0.1, 0.25)
        )

    lists, others = pool(*one, at=1), pool(*two, at=2)
    profit, margin = share(lists, 1, len(one), room, wait, time, others, 2, len(two))
    assert profit == pytest.approx(most(time))
    if time >= 0.25:  # less time costs the margin at least
        assert most(time) - most(time - 0.25) >= 0.25 * margin - 1e-12


@pytest.mark.parametrize("seed", seeds(80))
def test_dominates_means_nowhere_below(seed: int) -> None:
    """Functions are compared at every quarter of a unit from where the later one begins."""
    random = np.random.default_rng(seed)
    one, two = random_list(random), random_list(random)
    lead, ahead = float(random.integers(0, 4)), float(random.integers(-3, 6))
    above = all(
        ahead + earned(one, lead + t) >= earned(two, t) - 1e-12 for t in np.arange(0, 13, 0.25)
    )
    lists = pool(*one)
    lists[10 : 10 + len(two)] = np.reshape(two, (-1, 2))
    said = dominates(lists, 0, len(one), 1.0, ahead + 1e-9, 10, len(two), 1.0 + lead, 0.0)
    assert said == above
