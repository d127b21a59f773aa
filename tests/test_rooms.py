"""Tests of the rooms of the code: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import decost

SOURCE = Path(decost.__file__).parent

MAY_KNOW = {
    "problem": set(),
    "files": {"problem", "result"},  # a result is what `write` writes
    "show": {"problem", "files"},
}
"""What a room may import beside itself, anywhere in its files."""


def imported(path: Path) -> Iterator[str]:
    """Give the rooms that a file imports from, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for package, *room in (name.split(".") for name in names):
            if package == "decost" and room and room[0] != "__version__":
                yield room[0]


@pytest.mark.parametrize("room", MAY_KNOW)
def test_rooms_know_few_others(room: str) -> None:
    """A room imports from itself and from those that it may know."""
    paths = list((SOURCE / room).rglob("*.py"))
    assert len(paths) > 1
    for path in paths:
        assert set(imported(path)) <= {room} | MAY_KNOW[room], path


def test_nobody_knows_the_command_line() -> None:
    """The command line is a door: only the program itself imports it."""
    for path in SOURCE.rglob("*.py"):
        inside = path.is_relative_to(SOURCE / "cli") or path == SOURCE / "__main__.py"
        assert inside or "cli" not in set(imported(path)), path


def test_who_imports_is_found(tmp_path: Path) -> None:
    """Imports of all forms are seen."""
    path = tmp_path / "some.py"
    path.write_text(
        "import json, decost.learn.config\n"
        "from decost import solver, __version__\n"
        "def f():\n    from decost.files.door import read\n"
    )
    assert sorted(imported(path)) == ["files", "learn", "solver"]
