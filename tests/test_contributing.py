"""Tests that the pages for contributors speak of the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "decost"
PAGES = ["CONTRIBUTING.md", "docs/adding-a-constraint.md"]

FOLDERS = ["src", "tests", ".ci"]

WHOLE = {"bench", "cli"}
"""Rooms of which the page says that they have a file for each table or command."""


def named(text: str) -> set[str]:
    """Give what stands between backticks and is one word."""
    return {one for one in re.findall(r"`([^`\n]+)`", text) if " " not in one}


def rows() -> dict[str, str]:
    """Give the row of every room in the table of the rooms."""
    text = (ROOT / PAGES[0]).read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)/` \|(.*)$", text, flags=re.MULTILINE))


def test_every_room_has_a_row() -> None:
    """The table names all rooms, and none that is gone."""
    rooms = {path.parent.name for path in SOURCE.glob("*/*.py")} | {"models"}
    assert set(rows()) == rooms


@pytest.mark.parametrize("room", sorted(set(rows()) - WHOLE))
def test_every_file_is_named(room: str) -> None:
    """The row of a room says what each of its files is for."""
    files = {path.stem for path in (SOURCE / room).glob("*.py")} - {"__init__"}
    assert files <= named(rows()[room])


@pytest.mark.parametrize("page", PAGES)
def test_what_is_named_is_there(page: str) -> None:
    """Files, and names in the code, that a page speaks of are there."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    files = [path for path in files if path.parent.name != "__pycache__"]
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in files
        if path.suffix == ".py" and path != Path(__file__)
    )
    known = set(re.findall(r"\w+", code)) | {path.name for path in (*files, *ROOT.iterdir())}
    known |= {name for path in files for name in (path.stem, path.parent.name)}
    for word in named((ROOT / page).read_text(encoding="utf-8")):
        if re.fullmatch(r"\w+(/\w+)+(\.\w+)?", word):
            places = [base / f"{word}{end}" for base in (ROOT, SOURCE) for end in ("", ".py")]
            assert any(place.exists() for place in places), word
        elif re.fullmatch(r"[a-zA-Z_]\w*(\.\w+)*", word):
            assert word in known or set(word.split(".")) <= known, word


def test_the_way_of_the_example_is_whole() -> None:
    """Every file that knows the field which serves as the example stands on its page."""
    page = (ROOT / PAGES[1]).read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        others = {"problem/generators.py"}  # draws it for one family of instances
        if not name.startswith("bench/") and name not in others and "leave_by" in path.read_text():
            assert f"`{name}`" in page, name
