"""Tests of `decost plot`, and of `decost solve --plot`."""

from __future__ import annotations

import json
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


def test_report_of_a_file(call: Call, trip: Path) -> None:
    """A plan that was written becomes a page, also one that breaks rules, which the page says."""
    plan, page = (trip.with_name(name) for name in ("p.json", "p.html"))
    assert call("solve", trip, "--method", "greedy", "--out", plan).code == 0
    assert call("plot", trip, plan, "--out", page) == (0, f"wrote {page}\n", "")
    assert "How much more another one could earn is not known" in page.read_text(encoding="utf-8")
    again = trip.with_name("q.html")
    code, out, _ = call("replan", trip, plan, "--now", 0, "--report", again, "--explain-time", 0.1)
    assert (code, out.splitlines()[-1]) == (0, f"wrote {again}")
    broken = json.loads(plan.read_text())
    broken["routes"][0][0]["start"] = -5
    plan.write_text(json.dumps(broken))
    code, _, err = call("plot", trip, plan, "--out", page)
    assert (code, "the plan breaks" in err) == (0, True)
    assert "This plan breaks rules of its instance" in page.read_text(encoding="utf-8")


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
