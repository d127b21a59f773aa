"""Tests of how pictures are saved, and that drawing keeps no state."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from pictures import (
    find_texts,
    list_names,
    make_instance,
    make_plan,
    map_labels,
    save,
)

from decost.show import page
from decost.show.page import save_figure
from decost.show.plan import plot_plan


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_odd_names(ending: str, tmp_path: Path) -> None:
    """Names are written as they are, never taken for formulas, and cannot break the drawing."""
    names = ["$x_1$", "$5", r"\frac{", "a\nb\tc", "<&>%#", "\x07\x1b", "\U0010fffd", "_^"]
    instance = make_instance(8, ids=names)
    plan = make_plan(instance, list(range(1, 9)))
    figure = plot_plan(instance, plan, title="$\\frac{1}{$ & 100 % \x00\ud800")
    save(figure, tmp_path, ending)
    texts = find_texts(figure)
    assert "$\\frac{1}{$ & 100 % ??" in texts
    assert {"$x_1$", "$5", r"\frac{", "a b c", "<&>%#", "??", "?", "_^"} <= set(texts)
    assert {text.get_text() for text in map_labels(figure)} >= {"$x_1$", "$5"}
    assert not any(text.get_parse_math() for text in map_labels(figure))


def test_characters_that_the_default_font_lacks(tmp_path: Path) -> None:
    """A character is taken from another font if one has it."""
    character = "\u20dd"
    assert ord(character) not in get_font(findfont(FontProperties())).get_charmap()
    instance = make_instance(1, ids=[f"x{character}"])
    figure = plot_plan(instance, make_plan(instance, [1]))
    save(figure, tmp_path)
    assert f"x{character}" in find_texts(figure)


def test_characters_that_no_font_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked for in fonts that are new here, and then it is said that there is none."""
    monkeypatch.setattr(page, "_plain_families", lambda: [])
    asked = []
    monkeypatch.setattr(page, "_new_families", lambda: asked.append(1) or [])
    with pytest.warns(UserWarning, match="no font here has the characters \u6771: install one"):
        script = page.find_script("a\u6771\n\x07")
    assert asked == [1]
    assert script.clean("a\u6771", 9) == "a?"


@pytest.fixture
def figure() -> Figure:
    """Draw a small picture."""
    instance = make_instance(2)
    return plot_plan(instance, make_plan(instance, [1]))


@pytest.mark.parametrize(
    ("name", "first"),
    [("a.png", b"\x89PNG"), ("b.pdf", b"%PDF"), ("c.svg", b"<?xml"), ("D.PNG", b"\x89PNG")],
)
def test_format_follows_the_ending(name: str, first: bytes, figure: Figure, tmp_path: Path) -> None:
    """The file is of the kind that its name says, and the only one written."""
    save_figure(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(first)
    assert list_names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["plan.jpg", "plan", "plan.", "png"])
def test_unknown_ending(name: str, figure: Figure, tmp_path: Path) -> None:
    """Another ending is refused with the known ones named, before anything is written."""
    with pytest.raises(ValueError, match=r"choose from: \.png, \.pdf, \.svg"):
        save_figure(figure, tmp_path / name)
    assert list_names(tmp_path) == []


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt])
def test_failure_keeps_the_old_file(
    error: type[BaseException], figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If drawing fails half way, the old picture is as it was and no part of the new one stays."""
    path = tmp_path / "plan.png"
    path.write_bytes(b"old")

    def fail(file: object, **_: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise error("no more")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(error):
        save_figure(figure, path)
    assert path.read_bytes() == b"old"
    assert list_names(tmp_path) == ["plan.png"]


def test_old_file_is_replaced(figure: Figure, tmp_path: Path) -> None:
    """An old picture gives way to the new one, readable as any new file is."""
    path = tmp_path / "plan.png"
    path.write_bytes(b"old")
    save_figure(figure, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_drawing_has_no_global_state() -> None:
    """Drawing needs no window system: pyplot, which keeps state, is never imported."""
    code = (
        "import sys, decost, decost.show.plan as p\n"
        "i = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1])\n"
        "p.plot_plan(i, decost.make_solution(i, [[1]], [[0]]))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
