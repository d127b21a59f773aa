"""What the tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import decost
from command_line import document


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    """Write an instance with two stops, in a folder with a space in its name."""
    (tmp_path / "my files").mkdir()
    path = tmp_path / "my files" / "trip.json"
    path.write_text(json.dumps(document()))
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Write a set of five instances."""
    path = tmp_path / "set.npz"
    decost.write(decost.generate("mixed", nodes=7, count=5, seed=8), path)
    return path
