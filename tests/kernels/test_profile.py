"""Tests of time-profit functions: forwards, backwards, and the two joined."""

from __future__ import annotations

import numpy as np
import pytest

from decost import Instance, optimal_stays
from decost.kernels.profile import insert, join, prefix, suffix, trim, window
from odd_instances import all_routes, odd_instance


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

    Forwards: service starts at 5 with nothing collected and leaves at 5 or later, 4 units of
    rate 2 being open. Backwards: one must leave by 9, so start by 8 (the window) with 1 unit
    of 2 sure, and up to 3 units of it for starting earlier.
    """
    instance = Instance(
        budget=12, xy=[[0, 0], [3, 0]], open=[0, 5], close=[0, 8], rate=[0, 2], max_stay=[0, 4]
    )
    rate, length = pieces()
    time, value, count, room = prefix(instance.arrays, np.array([1]), rate, length)
    assert (time, value, count, room) == (5, 0, 1, np.inf)
    assert (rate[0], length[0]) == (2, 4)
    time, value, count = suffix(instance.arrays, np.array([1]), rate, length)
    assert (time, value, count) == (8, 2, 1)
    assert (rate[0], length[0]) == (2, 3)


@pytest.mark.parametrize("seed", range(40))
def test_joined_anywhere(seed: int) -> None:
    """Cut at any stop, the way there and the way on earn together what the route earns."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 5)))
    arrays = instance.arrays
    routes = [route for route in all_routes(instance) if route]
    size = 1 + len(instance.piece_rate)
    for route, profit in zip(routes, optimal_stays(instance, routes).profit, strict=True):
        cut = int(random.integers(len(route)))
        first, last = np.array(route[:cut], dtype=np.int64), np.array(route[cut:])
        rate, length = np.empty(size), np.empty(size)
        other_rate, other_length = np.empty(size), np.empty(size)
        time, value, count, room = prefix(arrays, first, rate, length)
        latest, rest, other = suffix(arrays, last, other_rate, other_length)
        start = time + arrays.travel[first[-1] if cut else 0, last[0]]
        wait = max(0.0, arrays.open[last[0]] - start)
        start += wait
        if latest == -np.inf or start > latest + arrays.slack:
            assert profit == -np.inf
            continue
        spent, count, _ = window(
            rate, length, count, min(wait, room), max(0.0, room - wait), rate, length
        )
        together = join(rate, length, count, other_rate, other_length, other, latest - start)
        assert value + spent + rest + together == pytest.approx(profit, rel=1e-9, abs=1e-9)
