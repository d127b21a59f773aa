"""Tests of options that are made from a schema: of methods, and of trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import decost
from command_line import Call
from decost import ImprovingOptions, Instance, Method, Options, Result


def test_progress_is_not_for_the_command_line(improving: str, call: Call, trip: Path) -> None:
    """A listener is for Python alone."""
    complaint = call.complaint("solve", trip, "--method", improving, "--progress", "x")
    assert complaint.startswith("--progress: no such option")


@pytest.fixture
def options(registry: None) -> list[Options]:
    """Register a method with options of its own, and note which it gets."""
    seen: list[Options] = []

    class OwnOptions(Options):
        width: int = 3
        start_at: float = 0.5
        fast: bool = False
        label: str = ""

    def function(instance: Instance, given: OwnOptions) -> Result:
        seen.append(given)
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    decost.register(Method("own", "For the tests.", function, OwnOptions))
    return seen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["--width", "5"], {"width": 5}),
        (["--width=5", "--seed", "9"], {"width": 5, "seed": 9}),
        (["--start-at", "-1.5"], {"start_at": -1.5}),
        (["--fast"], {"fast": True}),
        (["--fast", "--width", "4"], {"fast": True, "width": 4}),
        (["--no-fast"], {"fast": False}),
        (["--fast=false"], {"fast": False}),
        (["--label", "a=b c"], {"label": "a=b c"}),
        (["--label=--x"], {"label": "--x"}),
        (["--label="], {"label": ""}),
        (["--time-limit", "inf"], {"time_limit": float("inf")}),
    ],
)
def test_method_options(
    call: Call, trip: Path, options: list[Options], words: list[str], expected: dict[str, Any]
) -> None:
    """Options of a method are given as --name value, --name=value, --flag or --no-flag."""
    code, _, err = call("solve", trip, "--method", "own", "--json", *words)
    assert (code, err) == (0, "")
    defaults = {
        "width": 3,
        "start_at": 0.5,
        "fast": False,
        "label": "",
        "seed": 0,
        "time_limit": None,
    }
    assert options[0].model_dump() == defaults | expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--width", "many"], "option width = 'many': "),
        (["--width"], "Option '--width' requires an argument."),
        (["--width", "--fast"], "option width = '--fast': "),
        (["--no-width"], "--no-width: no such option; did you mean --width?"),
        (["--witdh", "3"], "--witdh: no such option; did you mean --width?"),
        (["--methd", "own"], "--methd: no such option; did you mean --method?"),
        (["--xyz", "3"], "--xyz: no such option; see decost solve --help"),
        (["--fast=perhaps"], "--fast=perhaps: must be true or false"),
        (["--start-at", "nan"], "option start_at = 'nan': "),
        (["--width", "1", "2"], "Got unexpected extra argument(s) (2)"),
    ],
)
def test_wrong_method_options(
    call: Call, trip: Path, options: list[Options], words: list[str], message: str
) -> None:
    """What a method does not take is told, with what may be meant."""
    assert call.complaint("solve", trip, "--method", "own", *words).startswith(message)
    assert options == []


def test_method_options_before_the_file(call: Call, trip: Path, options: list[Options]) -> None:
    """A method's option may stand in front of the file, and even of the method."""
    assert call("solve", "--fast", "--width", "5", "--method", "own", trip, "--json").code == 0
    assert options[0].model_dump() == options[0].model_dump() | {"width": 5, "fast": True}


def test_help_on_a_method(call: Call, options: list[Options]) -> None:
    """With a method, help lists its options too, with their defaults; without, it does not."""
    code, out, err = call("solve", "--method", "own", "--help")
    assert (code, err) == (0, "")
    for words in ("--width <int>", "[default: 3]", "--start-at <float>", "--fast / --no-fast"):
        assert words in out
    assert "--progress" not in out
    assert "--width" not in call("solve", "--help").out


def test_methods(call: Call, options: list[Options]) -> None:
    """All methods are listed with their line, and options of their own with their defaults.

    What is on by default is listed with the flag that switches it off.
    """
    code, out, err = call("methods")
    assert (code, err) == (0, "")
    for method in decost.list_methods():
        assert any(
            line.split() == [method.name, *method.description.split()] for line in out.splitlines()
        )
        for name, field in method.options.model_fields.items():
            if name not in ImprovingOptions.model_fields:
                no = "no-" if field.default is True else ""
                assert f"--{no}{name.replace('_', '-')}" in out
    assert "[default: 0.5]" in out


def test_train_help(call: Call) -> None:
    """All settings of a training are listed with their defaults; what is on can be put off."""
    code, out, err = call("train", "--help")
    assert (code, err) == (0, "")
    for words in ("--epochs", "[default: 800]", "--no-ptar", "--teacher", "--resume", "--device"):
        assert words in out


def test_train_help_on_a_heatmap(call: Call) -> None:
    """A heatmap has settings of its own, and there is only one network for it."""
    code, out, err = call("train", "gfacs", "--help")
    assert (code, err) == (0, "")
    for words in ("--ants <int>", "[default: 30]", "--stays <optimal|greedy>"):
        assert words in out
    assert "--network" not in out
    assert "--ants" not in call("train", "--help").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epohcs", "3"], "--epohcs: no such option; did you mean --epochs?"),
        (["gfacs", "--ant", "3"], "--ant: no such option; did you mean --ants?"),
        (["--epochs", "few"], "option epochs = 'few': Input should be a valid integer"),
        (["pomo"], "pomo: unexpected; what can be trained beside a network is gfacs"),
    ],
)
def test_wrong_settings(call: Call, words: list[str], message: str) -> None:
    """What is wrong with the settings of a training is told like that of a method's options."""
    assert call.complaint("train", *words).startswith(message)
