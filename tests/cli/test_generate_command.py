"""Tests of `decost generate`."""

from __future__ import annotations

from pathlib import Path

import pytest

import decost
from command_line import Call
from decost import Instance


@pytest.mark.parametrize("family", ["paper", "mixed"])
@pytest.mark.parametrize("ending", [".npz", ".jsonl"])
def test_generate_equals_the_library(call: Call, tmp_path: Path, family: str, ending: str) -> None:
    """The command writes what the function makes, with all its options."""
    path = tmp_path / f"set{ending}"
    options = {"nodes": 9, "window": 60.5, "count": 3, "seed": 4, "budget": 3.5, "vehicles": 2}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    answer = call("generate", family, *words, "--out", path)
    assert answer == (0, f"wrote 3 instances to {path}\n", "")
    assert decost.read_set(path) == decost.generate(family, **options)  # type: ignore[arg-type]


def test_generate_one(call: Call, tmp_path: Path) -> None:
    """A single instance may be written as JSON."""
    path = tmp_path / "one.json"
    assert call("generate", "paper", "--out", path).out == f"wrote 1 instance to {path}\n"
    assert decost.read(path) == decost.generate("paper")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["other"], "family 'other': unknown, choose from: paper, mixed"),
        (["paper", "--nodes", "0"], "nodes = 0: must be from 1 to 5001"),
        (["paper", "--count", "-3"], "count = -3: must be from 0"),
        (["paper", "--count", "0"], "set.npz: a set needs at least one instance"),
        (["paper", "--seed", "-1"], "seed = -1: must be from 0"),
        (["paper", "--window", "nan"], "window = nan: must be from 0"),
        (["paper", "--window", "1e308"], "window = 1e+308: must be from 0"),
        (["mixed", "--budget", "1e308"], "budget = 1e+308: must be from 0"),
        (["paper", "--vehicles", "0"], "vehicles = 0: must be from 1 to 1000"),
        (["paper", "--nodes", "many"], "--nodes"),
    ],
)
def test_generate_bad_input(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    """A wrong argument is named with its value, and the old set is left as it was."""
    monkeypatch.chdir(tmp_path)
    Path("set.npz").write_text("old")
    assert message in call.complaint("generate", *words, "--out", "set.npz")
    assert Path("set.npz").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_generate_where(call: Call, tmp_path: Path) -> None:
    """The ending says how to write, and must be one that does."""
    for name, count, message in (
        ("a.txt", 1, "must end in .npz, .jsonl, .json or .parquet"),
        ("a.json", 2, "a .json file holds one instance, not 2"),
        ("none/a.npz", 1, "there is no folder"),
    ):
        words = ("--count", count, "--out", tmp_path / name)
        complaint = call.complaint("generate", "paper", *words)
        assert str(tmp_path / name) in complaint
        assert message in complaint
    assert list(tmp_path.iterdir()) == []


def test_not_enough_memory(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request beyond all memory is a clear error as well."""

    def fail(*given: object) -> list[Instance]:
        raise MemoryError

    monkeypatch.setitem(decost.problem.generators.FAMILIES, "paper", fail)
    assert call.complaint("generate", "paper", "--out", tmp_path / "a.npz") == "not enough memory"
