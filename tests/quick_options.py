"""Options for tests that run on every method."""

from __future__ import annotations

from typing import Any

import decost


def quick(method: str) -> dict[str, Any]:
    """Give options with which no method holds up the tests, and all end at the same point."""
    options: dict[str, Any] = {"time_limit": 10.0}
    if "iterations" in decost.get_method(method).options.model_fields:
        options["iterations"] = 10
    return options
