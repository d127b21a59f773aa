"""Tests of `decost plot`, and of `decost solve --plot`."""

from __future__ import annotations

from pathlib import Path

from command_line import Call


def test_plot(call: Call, trip: Path) -> None:
    """A picture can be drawn while solving, and of a plan that was written."""
    plan, first, second = (trip.with_name(name) for name in ("p.json", "1.png", "2.svg"))
    words = ("--method", "greedy", "--out", plan, "--plot", first)
    code, out, _ = call("solve", trip, *words)
    assert code == 0
    assert out.endswith(f"wrote {plan}\nwrote {first}\n")
    assert first.read_bytes().startswith(b"\x89PNG")
    assert call("plot", trip, plan, "--out", second) == (0, f"wrote {second}\n", "")
    assert "<svg" in second.read_text()


def test_pictures_that_are_none(call: Call, trip: Path, many: Path, tmp_path: Path) -> None:
    """A picture has an ending for pictures, and shows one plan."""
    picture = tmp_path / "a.png"
    for words, message in (
        (("solve", trip, "--plot", "a.txt"), "a.txt: a picture must end in .png, .pdf or .svg"),
        (("plot", trip, trip, "--out", "a.txt"), "a.txt: a picture must end in"),
        (("solve", many, "--plot", picture), "holds a set; only a single plan can be drawn"),
        (("plot", many, trip, "--out", picture), "holds a set; only a single plan can be drawn"),
    ):
        assert message in call.complaint(*words)
    assert not picture.exists()
