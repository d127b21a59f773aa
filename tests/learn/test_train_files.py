"""Training on files: what is trained on, what is held out, and what is wrong with a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from decost import Instance, generate, solve, write
from decost.exact.exact import values_to_go
from decost.inference.weights import read_card
from decost.learn import runs, train
from decost.learn.config import TrainConfig
from decost.learn.crew import Crew
from decost.learn.runs import TrainError
from decost.learn.train import start_run
from small_runs import TINY, trained


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write five instance files, of different sizes."""
    place = tmp_path / "files"
    place.mkdir()
    for number, name in enumerate("abcde"):
        (instance,) = generate("mixed", nodes=6 + number, seed=number)
        write(instance, place / f"{name}.json")
    return place


def test_split(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that is not held out is trained on, and no other; the gap is of the rest."""
    seen: list[Instance] = []
    load = train.load_problems

    def note(some: Any, *given: Any, **options: Any) -> Any:
        seen.extend(some)
        return load(some, *given, **options)

    run = start_run(
        TrainConfig(**(TINY | {"files": str(folder), "held_out": "b,E", "episodes": 64})),
        tmp_path / "run",
    )
    examination = train._Examination(run.config)
    monkeypatch.setattr(train, "load_problems", note)
    train._epoch(run, values_to_go, Crew())
    assert {instance.nodes for instance in seen} == {6, 8, 9}
    ((source, held_out, best),) = runs.validation_sets(run.config, 1)
    assert str(source) == "files"
    assert [instance.nodes for instance in held_out] == [7, 10]
    optima = [solve(instance, "exact").profit for instance in held_out]
    assert best.tolist() == pytest.approx(optima)
    assert 0 <= examination(run.network)["gap"] <= 100


def test_run(folder: Path, tmp_path: Path) -> None:
    """A run on files is resumed and named like any other."""
    run = trained(tmp_path / "run", files=str(folder), held_out="a", epochs=1)
    assert run.done
    assert "gap files" in run.history[0]
    command = train.train_command(run.config)
    assert f"--files {folder}" in command
    assert "--held-out a" in command


def test_teacher(folder: Path, tmp_path: Path) -> None:
    """The exact teacher takes files as well."""
    run = trained(tmp_path / "run", teacher="exact", files=str(folder), held_out="a", epochs=1)
    assert 0 <= run.history[1]["regret"] < 1


def test_files_that_are_held_out_choose_nothing(folder: Path, tmp_path: Path) -> None:
    """The last epoch counts, also where none is better than the first, and none is too many."""
    changes = {"files": str(folder), "held_out": "a", "epochs": 4, "patience": 1}
    run = trained(tmp_path / "run", learning_rate=1e-12, **changes)
    gaps = [row["gap"] for row in run.history]
    assert gaps.index(min(gaps)) == 0
    assert (run.epoch, run.best) == (4, 4)
    assert read_card(tmp_path / "run" / "weights.safetensors")["epochs"] == 4


def test_plans_of_a_search(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are imitated instead of exact values, and looked for once in each file."""
    planned: list[int] = []
    search = train.expert_plans

    def note(some: list[Instance], rounds: int) -> list[list[list[int]]]:
        planned.extend(instance.nodes for instance in some)
        return search(some, rounds)

    monkeypatch.setattr(train, "expert_plans", note)
    changes = {"teacher": "exact", "files": str(folder), "held_out": "b", "imitated": "files"}
    run = trained(tmp_path / "run", rounds=31, explored=2, imitation=0.5, **changes)
    assert sorted(planned) == [6, 8, 9, 10]
    assert run.history[1]["imitation"] > 0
    assert "regret" not in run.history[1]
    assert "--imitated files" in train.train_command(run.config)


def test_some_files(folder: Path, tmp_path: Path) -> None:
    """Only the files that are named are trained on."""
    run = trained(tmp_path / "run", files=str(folder), held_out="a", trained_on="B, c", epochs=1)
    learned, held_out = runs._read_files(run.config)
    assert (len(learned), len(held_out)) == (2, 1)


@pytest.mark.parametrize(
    ("held_out", "message"),
    [("a,z", "held_out = z: .* has no file of that name"), ("a,b,c,d,e", "no file to train on")],
)
def test_folders_that_do_not_fit(folder: Path, held_out: str, message: str, tmp_path: Path) -> None:
    """The folder is read before the first epoch, and its complaint names the field."""
    config = TrainConfig(**(TINY | {"files": str(folder), "held_out": held_out}))
    with pytest.raises(TrainError, match=message):
        train.train(start_run(config, tmp_path / "run"), lambda run: None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": "some"}, "files and held_out"),
        ({"held_out": "a"}, "files and held_out"),
        ({"trained_on": "a"}, "trained_on: names files"),
        ({"files": "some", "held_out": "a", "trained_on": "b,A"}, "trained_on = a: is held out"),
        (
            {"files": "some", "held_out": "a", "teacher": "exact", "imitated": "50:100"},
            "imitated = 50:100: with files, it can be files only",
        ),
        ({"imitated": "files", "teacher": "exact"}, "'files' is not like"),
        ({"files": "some", "held_out": "a", "budget": 3}, "budget = 3.0: files have their own"),
        ({"baseline": "state", "network": "prefix"}, "baseline = state: needs samples"),
        ({"baseline": "state", "stay_optimisation": False}, "baseline = state: needs samples"),
        ({"baseline": "state", "device": "cuda"}, "baseline = state: needs samples"),
    ],
)
def test_settings_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    """Files need something to be measured on; some settings have no effect with others."""
    with pytest.raises(ValueError, match=message):
        TrainConfig(**changes)
