"""Tests of what people read."""

from __future__ import annotations

import pytest

from decost.problem.names import amount_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (0.479738, "0.48"),
        (612.228, "612.2"),
        (999.96, "1,000"),
        (-2.5, "-2.5"),
        (3485.53, "3,486"),
        (123456.7, "123,457"),
        (1.2e-5, "1.2e-05"),
        (2e9, "2e+09"),
    ],
)
def test_amounts(value: float, text: str) -> None:
    """Four digits are enough, none before the point is lost, and no zeros trail."""
    assert amount_text(value) == text
