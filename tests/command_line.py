"""For the tests of the command line: call it here or in a process, and files to call it with."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import pytest
import typer

from decost import cli
from decost.cli.options import given_options
from quick_options import quick

KEYS = ["method", "status", "profit", "bound", "runtime", "seed", "routes"]
"""Keys of a result, in the order of the contract."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Call:
    """Call the command line in this process, which is faster than to start another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, *words: object) -> Ended:
        """Give exit code and outputs."""
        self.monkeypatch.setattr(sys, "argv", ["decost", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert isinstance(caught.value.code, int)
        return Ended(caught.value.code, *self.capsys.readouterr())

    def complaint(self, *words: object) -> str:
        """Give the one line of a complaint about bad input, without its beginning."""
        code, out, err = self(*words)
        assert (code, out) == (2, "")
        assert err.startswith("decost: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err.removeprefix("decost: ").removesuffix("\n")


def start(*words: object, **options: Any) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "decost", *map(str, words)], **(pipes | options))


def run(*words: object, **options: Any) -> Ended:
    """Run the command line in a process of its own."""
    process = start(*words, **options)
    out, err = process.communicate(timeout=300)
    return Ended(process.returncode, out, err)


def chosen(method: str) -> list[object]:
    """Choose a method, with options with which it does not hold up the tests."""
    words: list[object] = ["--method", method]
    for name, value in quick(method).items():
        words += [f"--{name.replace('_', '-')}", value]
    return words


def document(**changes: Any) -> dict[str, Any]:
    """Give an instance file with two stops, as a dictionary."""
    stops = [
        {"id": "mill", "x": 3, "y": 4, "rate": 2, "max_stay": 6},
        {"id": "quay", "x": 3, "y": 0, "reward": 5, "min_stay": 1, "profit": [[3, 1], [1, 2]]},
    ]
    return {
        "format": "decost-instance",
        "version": 1,
        "name": "trip",
        "budget": 20,
        "depot": {"x": 0, "y": 0},
        "stops": stops,
    } | changes


def read_settings(*words: str) -> dict[str, Any]:
    """Give the settings that `decost train` reads from its words, before they are validated."""
    command = typer.main.get_command(cli.app).commands["train"]
    with command.make_context("train", list(words)) as context:
        return given_options(context)
