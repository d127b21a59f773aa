"""Tests of the operations on time-profit functions."""

from __future__ import annotations

import numpy as np

from decost import Instance
from decost.kernels.profile import insert, prefix, trim, window


def pieces(*pairs: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Make room for ten pieces, the first of them given."""
    rate, length = np.zeros(10), np.zeros(10)
    for k, pair in enumerate(pairs):
        rate[k], length[k] = pair
    return rate, length


def test_insert_keeps_the_order() -> None:
    """A piece comes after those of its own rate, so that ties are served in order of the route."""
    rate, length = pieces((5, 1), (3, 2), (1, 3))
    assert insert(rate, length, 0, 3, 3, 9) == 2
    assert rate[:4].tolist() == [5, 3, 3, 1]
    assert length[:4].tolist() == [1, 2, 9, 3]


def test_trim_takes_from_the_end() -> None:
    """Of 6 units 2.5 remain: all of the first piece and a part of the second."""
    _, length = pieces((5, 1), (3, 2), (1, 3))
    assert trim(length, 0, 3, 6.0, 2.5) == (2, 2.5)
    assert length[:2].tolist() == [1, 1.5]


def test_window_spends_and_keeps() -> None:
    """Waiting 2 earns 5 + 3, and of the rest 2 units are kept: 3 + 1, in place or in a copy."""
    for in_place in (True, False):
        rate, length = pieces((5, 1), (3, 2), (1, 3))
        new_rate, new_length = (rate, length) if in_place else pieces()
        spent, count, kept = window(rate, length, 3, 2.0, 2.0, new_rate, new_length)
        assert (spent, count, kept) == (8, 2, 4)
        assert new_rate[:2].tolist() == [3, 1]
        assert new_length[:2].tolist() == [1, 1]


def test_by_hand() -> None:
    """A stop of rate 2 at distance 3, open from 5 to 8, stays up to 4, a budget of 12.

    Service starts at 5 with nothing collected and leaves at 5 or later, 4 units of rate 2 being
    open.
    """
    instance = Instance(
        budget=12, xy=[[0, 0], [3, 0]], open=[0, 5], close=[0, 8], rate=[0, 2], max_stay=[0, 4]
    )
    rate, length = pieces()
    time, value, count, room = prefix(instance.arrays, np.array([1]), rate, length)
    assert (time, value, count, room) == (5, 0, 1, np.inf)
    assert (rate[0], length[0]) == (2, 4)
