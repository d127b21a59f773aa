"""Tests of the program as such: help, version, and outputs of all sorts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import decost
from command_line import KEYS, Call, document, run, start


def test_models(call: Call) -> None:
    """All weights that come with the package are listed, with the command that trained them."""
    code, out, err = call("models")
    assert (code, err) == (0, "")
    names = ("generalist", "gfacs", "narrow", "paper", "pomo")
    for name in names:
        assert any(line.split()[0] == name for line in out.splitlines())
    assert out.count("command: decost train ") == len(names)


def test_help_and_version(call: Call) -> None:
    """Without a command there is help, which names the commands; the version is the package's."""
    for words in ([], ["--help"]):
        code, out, err = call(*words)
        assert (code, err) == (0, "")
        for command in ("solve", "check", "generate", "plot", "methods", "models", "train"):
            assert command in out
    assert call("--version") == (0, f"decost {decost.__version__}\n", "")
    assert "--time-limit" in call("solve", "--help").out
    assert call.complaint("slove") == "No such command 'slove'. Did you mean 'solve'?"
    assert "Missing argument" in call.complaint("solve")


def test_closed_output(trip: Path) -> None:
    """Without a stdout the work is done all the same."""
    plan = trip.with_name("plan.json")
    command = [sys.executable, "-m", "decost", "solve", trip, "--method", "greedy", "--out", plan]
    for words in ([], ["--json"]):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *command, *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(plan.read_text())["profit"] == pytest.approx(20)
        plan.unlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_output(trip: Path) -> None:
    """If nothing can be printed any more, that is an error in one line."""
    with Path("/dev/full").open("w") as full:
        process = start("solve", trip, "--method", "greedy", stdout=full)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert err == "decost: standard output: No space left on device\n"


def test_output_to_a_pipe(trip: Path) -> None:
    """The plan may be written to /dev/stdout, and the instance read from /dev/stdin."""
    code, out, err = run("solve", trip, "--method", "greedy", "--json", "--out", "/dev/stdout")
    assert (code, err) == (0, "")
    plan, _, answer = out.rpartition("}\n{")
    assert json.loads(plan + "}")["routes"] == json.loads("{" + answer)["routes"]
    process = start("solve", "/dev/stdin", "--json", stdin=subprocess.PIPE)
    out, err = process.communicate(trip.read_text(), timeout=300)
    assert (process.returncode, err) == (0, "")
    assert list(json.loads(out)) == KEYS


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_without_all_letters(tmp_path: Path, encoding: str) -> None:
    """What cannot be shown is replaced; the plan is printed all the same."""
    path = tmp_path / "caf\u00e9.json"
    stops = [{"id": "\u2603 caf\u00e9", "x": 0, "y": 0, "reward": 1}]
    path.write_text(json.dumps(document(stops=stops)))
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    process = start(
        "solve", path, "--method", "greedy", env=environment, encoding=encoding, text=None
    )
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    expected = "\u2603 caf\u00e9".encode(encoding, errors="replace").decode(encoding)
    assert any(line.strip(" |").startswith(f"{expected} ") for line in out.splitlines())
