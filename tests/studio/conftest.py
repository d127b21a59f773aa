"""What tests of the studio share: one running service, and small instances as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Service, running

pytest.importorskip("fastapi", reason="there is no fastapi")

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run one service for all tests that leave it as it was."""
    with running(tmp_path_factory.mktemp("studio"), "--workers", "2") as one:
        yield one


@pytest.fixture(scope="session")
def city() -> dict[str, Any]:
    """Give a day of one vehicle."""
    found: dict[str, Any] = json.loads((EXAMPLES / "city.json").read_text())
    return found


@pytest.fixture(scope="session")
def guides() -> dict[str, Any]:
    """Give a day of two vehicles, with alternatives and required stops."""
    found: dict[str, Any] = json.loads((EXAMPLES / "guides.json").read_text())
    return found
