"""Tests of `decost solve --beside`: what another method earns, in print and in the picture."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import decost
from decost import cli
from decost.show.plan import plot_plan
from policies import complaint

CITY = Path(__file__).parents[2] / "examples" / "data" / "city.json"


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> list[str]:
    """Call the command line; give the lines that it prints."""
    monkeypatch.setattr(sys, "argv", ["decost", "solve", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, _ = capsys.readouterr()
    assert caught.value.code == 0
    return out.splitlines()


def test_the_other_method_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its profit, its time, and its part of what is proven to be the most."""
    picture = tmp_path / "city.svg"
    lines = printed(monkeypatch, capsys, CITY, "--beside", "greedy", "--plot", picture)
    (told,) = [line for line in lines if " by greedy in " in line]
    instance = decost.read(CITY)
    other, most = decost.solve(instance, "greedy").profit, decost.solve(instance, "exact").profit
    assert told.startswith(f"{other:.6g} by greedy in ")
    assert re.search(r" in \d+\.\d ms, ", told)
    assert f"{100 * other / most:.1f}% of the most that is possible" in told
    assert lines[lines.index(told) - 1].startswith("profit ")
    assert picture.exists()


def test_a_remark_has_a_line_of_its_own() -> None:
    """The picture has it below the heading, and is higher by that line."""
    instance = decost.read(CITY)
    plan = decost.solve(instance, "greedy").solution
    plain, told = plot_plan(instance, plan), plot_plan(instance, plan, remark="and so on")
    assert [text.get_text() for text in told.texts].count("and so on") == 1
    assert told.get_figheight() == pytest.approx(plain.get_figheight() + 0.22)


def test_a_set_has_no_place_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Only one instance can be compared in a line."""
    path = tmp_path / "set.jsonl"
    decost.write(decost.generate("paper", nodes=5, count=2), path)
    said = complaint(monkeypatch, capsys, "solve", path, "--beside", "greedy")
    assert "--beside greedy" in said
    assert "holds a set" in said
