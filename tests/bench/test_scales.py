"""The page on experiments says what the scales are, in the words of their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from decost.experiments import list_experiments
from decost.experiments.runner import Experiment

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bench.md"


@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda one: one.name)
def test_page_states_the_scales(experiment: Experiment[Any]) -> None:
    """A line of its table holds what stands at the top of their tables."""
    said = (experiment.scales[scale].reduced for scale in ("quick", "full"))
    cells = " | ".join((f"| `{experiment.name}`", *said))
    assert f"\n{cells} |\n" in PAGE.read_text(encoding="utf-8")
