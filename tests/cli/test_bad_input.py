"""Tests of bad input: exit 2, one line that names file, field and value, nothing lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from command_line import Call, document, run

STOP = {"x": 3, "y": 4}


BAD: dict[str, tuple[str | dict[str, Any], str]] = {
    "broken JSON": ('{"format": ', "line 1, column 12: broken JSON"),
    "nan": (document(budget=float("nan")), "budget = nan"),
    "rising rates": (
        document(stops=[STOP | {"id": "a", "profit": [[1, 1], [2, 1]]}]),
        "stop 'a': profit[1] = [2.0, 1.0]: rates must not rise",
    ),
    "too many stops": (document(stops=[{}] * 10**5), "stops = list of 100000: "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(call: Call, tmp_path: Path, case: str) -> None:
    """A bad file is told in one line with file, field and value; the old plan is kept."""
    content, message = BAD[case]
    path, plan = tmp_path / "bad.json", tmp_path / "plan.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    plan.write_text("old")
    for words in (["solve", path, "--out", plan], ["check", path, plan]):
        assert call.complaint(*words).startswith(f"{path}: {message}")
    assert plan.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_bad_file_in_a_process(tmp_path: Path) -> None:
    """The same of the program itself: exit 2, one line, no traceback."""
    content, message = BAD["nan"]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content))
    code, out, err = run("solve", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"decost: {path}: {message}")


def test_numbers_that_overflow(tmp_path: Path) -> None:
    """No warning of numpy is printed beside the complaint."""
    path = tmp_path / "far.json"
    path.write_text(json.dumps(document(stops=[STOP | {"x": 1e308}, STOP | {"x": -1e308}])))
    code, _, err = run("solve", path)
    assert (code, err) == (2, f"decost: {path}: speed = 1.0: travel times are not finite\n")


def test_files_that_cannot_be_opened(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file, a folder, a link in a circle, a file of another user."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert (
        call.complaint("solve", tmp_path / "none") == f"{tmp_path}/none: No such file or directory"
    )
    said = call.complaint("solve", tmp_path)
    assert said == f"{tmp_path}: holds no instance in .parquet files"
    assert call.complaint("solve", loop) == f"{loop}: Too many levels of symbolic links"
    assert call.complaint("solve", "a\nb") == "a b: No such file or directory"

    def deny(self: Path, *given: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", deny)
    assert call.complaint("solve", "secret.json") == "secret.json: Permission denied"


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_outputs_that_cannot_be_written(
    call: Call, trip: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """That is said before the work begins, not after."""
    monkeypatch.setattr(
        "decost.planner.door.solve", lambda *given, **options: pytest.fail("solved")
    )
    missing = trip.parent / "none" / "a.png"
    words = ("solve", trip, option)
    assert call.complaint(*words, missing) == f"{missing}: there is no folder {missing.parent}"
    assert call.complaint(*words, trip.parent) == f"{trip.parent}: is a folder"
    monkeypatch.setattr(os, "access", lambda place, mode, **options: mode != os.W_OK)
    denied = trip.parent / "a.png"
    assert call.complaint(*words, denied) == f"{denied}: cannot be written"


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_the_instance_is_not_overwritten(call: Call, trip: Path, option: str) -> None:
    """A plan or picture does not take the place of the instance, under whatever name."""
    before = trip.read_text()
    link = trip.with_name("link.png")
    link.symlink_to(trip)
    for path in (trip, trip.parent / ".." / trip.parent.name / trip.name, link):
        complaint = call.complaint("solve", trip, option, path)
        assert complaint == f"{path}: is the instance itself, and would be lost"
    assert trip.read_text() == before


@pytest.mark.parametrize("way", ["same", "other words", "link"])
def test_plan_and_picture_apart(call: Call, trip: Path, way: str) -> None:
    """A picture does not take the place of the plan, whatever the two are called."""
    plan = picture = trip.with_name("plan.png")
    if way == "other words":
        picture = trip.parent / ".." / trip.parent.name / "plan.png"
    elif way == "link":
        picture = trip.with_name("link.png")
        picture.symlink_to(plan)
    complaint = call.complaint("solve", trip, "--out", plan, "--plot", picture)
    assert complaint == f"--out {plan}, --plot {picture}: one would overwrite the other"
    assert not plan.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "gredy"], "method 'gredy': unknown, choose from: "),
        (["--seed", "-1"], "option seed = -1: "),
        (["--seed", "x"], "--seed"),
        (["--time-limit", "-1"], "option time_limit = -1.0: "),
        (["--time-limit", "nan"], "option time_limit = nan: "),
        (["--vehicles", "0"], "vehicles = 0: must be from 1 to 1000"),
        (["--profit", "x"], "profit = 'x': must be fixed or variable"),
        (["--truncate", "10"], "truncate = '10': must be from 0 to 9, none or auto"),
        (["--profit", "variable"], "profit and truncate are for Solomon's and KU Leuven's files"),
        (["--truncate", "2"], "profit and truncate are for Solomon's and KU Leuven's files"),
        (["--nonsense"], "--nonsense: no such option"),
        (["-x"], "-x: no such option; see decost solve --help"),
        (["more.json"], "Got unexpected extra argument(s) (more.json)"),
    ],
)
def test_wrong_words(call: Call, trip: Path, words: list[str], message: str) -> None:
    """A wrong option or value is told in one line; nothing is ignored."""
    if "--method" not in words:
        words = ["--method", "greedy", *words]
    assert message in call.complaint("solve", trip, *words)
