"""How many random instances the tests look at; DECOST_SEEDS=5 makes it five times as many."""

from __future__ import annotations

import os

MORE = int(os.environ.get("DECOST_SEEDS", "1"))
"""By what all numbers of instances and examples are multiplied."""


def seeds(count: int) -> range:
    """Give the seeds of so many instances, or of a multiple of it in a longer run."""
    return range(count * MORE)
