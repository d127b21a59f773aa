"""Tests of the examples: the scripts run and the data are worth planning."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import decost

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
PROBLEMS = {
    "city": "OPTWVP",
    "drone": "OPVP",
    "guides": "TOPTWVP",
    "nurses": "TOPTWVP",
    "ponds": "OPTWVP",
    "robot": "OPTWVP",
    "trip": "TOPTWVP",
}


@pytest.fixture(params=PROBLEMS)
def example(request: pytest.FixtureRequest) -> str:
    """Name of each example in turn."""
    return str(request.param)


def read_example(name: str) -> decost.Instance:
    """Read the instance of an example."""
    return decost.read(EXAMPLES / "data" / f"{name}.json")


def test_every_example_has_data_and_script() -> None:
    """Every instance is checked here and has a script that shows its use."""
    data = sorted(path.stem for path in (EXAMPLES / "data").glob("*.json"))
    assert data == sorted(PROBLEMS)
    assert {f"{name}.py" for name in PROBLEMS} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_runs(
    script: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A script prints something readable and its own asserts hold."""
    path = str(EXAMPLES / script)
    words: list[str] = []
    if script == "rl4co_policies.py":
        pytest.importorskip("rl4co")
        words = [
            "--cpu-seconds",
            "6",
            "--nodes",
            "20",
            "--test",
            "20",
            "--out",
            str(tmp_path / "c"),
        ]
    monkeypatch.setattr(sys, "argv", [path, *words])
    runpy.run_path(path, run_name="__main__")
    shown = capsys.readouterr()
    assert shown.err == ""
    assert 2 <= len(shown.out.splitlines()) <= 60
    assert max(len(line) for line in shown.out.splitlines()) <= 100


def test_picture_is_drawn_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day trip is drawn to the file named on the command line."""
    picture = tmp_path / "trip.png"
    path = str(EXAMPLES / "city.py")
    monkeypatch.setattr(sys, "argv", [path, str(picture)])
    runpy.run_path(path, run_name="__main__")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_data_is_what_it_says(example: str) -> None:
    """An instance is of the intended problem, of a size to look through, with named stops."""
    instance = read_example(example)
    assert instance.problem == PROBLEMS[example]
    assert 8 <= instance.stops <= 40
    assert instance.name
    assert instance.ids is not None
    assert instance.xy is not None, "no map without coordinates"


def test_data_has_one_stop_a_line(example: str) -> None:
    """Each stop is one line of the file, so that a diff shows what changed."""
    text = (EXAMPLES / "data" / f"{example}.json").read_text(encoding="utf-8")
    lines = text.partition('"stops": [')[2].splitlines()
    stops = [json.loads(line.strip().rstrip(",")) for line in lines if '"id"' in line]
    assert stops == json.loads(text)["stops"]


def test_every_stop_can_be_visited(example: str) -> None:
    """No stop is there in vain: each can be visited on a route of its own by some vehicle."""
    instance = read_example(example)
    routes = [[stop] for stop in range(1, instance.nodes)]
    profits = [
        decost.optimal_stays(instance, routes, vehicles=[vehicle] * len(routes)).profit
        for vehicle in range(instance.vehicles)
    ]
    assert (np.max(profits, axis=0) > 0).all()


def test_plan_is_interesting(example: str) -> None:
    """The default plan is feasible, leaves stops out, and has stays that are a compromise."""
    instance = read_example(example)
    solution = decost.solve(instance, time_limit=1.0).solution
    assert decost.check(instance, solution) == []
    assert 3 <= len(solution.visits) < instance.stops
    margin = instance.tolerance

    def number(visit: decost.Visit) -> int:
        return int(instance.alternative_first[visit.stop]) + (visit.alternative or 0)

    between = [
        visit
        for visit in solution.visits
        if instance.alternative_min_stay[number(visit)] + margin < visit.stay
        and visit.stay < instance.alternative_max_stay[number(visit)] - margin
    ]
    assert len(between) >= 2


def test_examples_differ_in_what_they_show() -> None:
    """Separate end, team, matrix, `leave_by` and several pieces a stop are each shown somewhere."""
    instances = {name: read_example(name) for name in PROBLEMS}
    assert [name for name in PROBLEMS if instances[name].separate_end] == ["drone"]
    assert [name for name in PROBLEMS if instances[name].vehicles > 1] == [
        "guides",
        "nurses",
        "trip",
    ]
    assert [name for name in PROBLEMS if instances[name].matrix is not None] == ["ponds"]
    assert (instances["ponds"].travel != instances["ponds"].travel.T).any()
    assert (instances["robot"].leave_by[1:] <= instances["robot"].budget).all()
    for name in ("drone", "ponds"):
        assert all(len(pieces) >= 2 for pieces in instances[name].pieces[1:])
