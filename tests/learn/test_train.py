"""Tests of training: runs that can be repeated, resumed and killed, and what settings change."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from command_line import read_settings
from decost import generate, solve_many
from decost.compiling import NOTE
from decost.inference.weights import WeightsError, read_card
from decost.learn.checkpoint import load_run, load_weights, save_run, save_weights
from decost.learn.config import TrainConfig
from decost.learn.train import (
    VALIDATION,
    Run,
    TrainError,
    resume_run,
    start_run,
    train,
    train_command,
)
from policies import complaint, small_network
from small_runs import TINY, bits, nothing, trained

WAYS: dict[str, dict[str, Any]] = {
    "reinforce": {},
    "predicted stays": {"stay_optimisation": False},
    "reinforced prefix": {"network": "prefix"},
    "teacher": {"teacher": "exact"},
    "mean": {"average": 0.5},
}
"""Ways to train."""


@pytest.fixture
def pictures() -> None:
    """Draw the curve of every epoch, which takes longer than all else in a small run."""


@pytest.fixture(autouse=True)
def _no_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing, unless a test asks for pictures."""
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("decost.show.curves.plot_training", lambda history: None)
        monkeypatch.setattr("decost.show.page.save_figure", lambda figure, path: None)


def outcome(folder: Path) -> tuple[Any, ...]:
    """All that a run has come to, but for the time that it took."""
    tensors, facts = load_run(folder / "checkpoint.safetensors")
    timed = ("seconds", "cpu_seconds")
    history = [{k: v for k, v in row.items() if k not in timed} for row in facts["history"]]
    network, card = load_weights(folder / "weights.safetensors")
    del card["cpu_seconds"]
    return bits(tensors), history, facts["config"], bits(network.state_dict()), card


def changed(run: Run, part: str) -> bool:
    """Whether any weight of a part of the network differs from its first value."""
    first = start_run(run.config, run.folder / "again").network.state_dict()
    last = run.network.state_dict()
    return any(not torch.equal(first[name], last[name]) for name in last if part in name)


# The same again.


@pytest.mark.parametrize("way", WAYS)
def test_twins(way: str, tmp_path: Path) -> None:
    """Two runs of the same settings end with the same weights to the bit, another seed's do not."""
    for name in ("one", "twin"):
        trained(tmp_path / name, **WAYS[way])
    assert outcome(tmp_path / "one") == outcome(tmp_path / "twin")
    trained(tmp_path / "other", seed=1, **WAYS[way])
    assert outcome(tmp_path / "one")[0] != outcome(tmp_path / "other")[0]


@pytest.mark.parametrize("way", WAYS)
def test_resumed_run_equals_an_undisturbed_one(way: str, tmp_path: Path) -> None:
    """Interrupted after any epoch, a run goes on as if nothing had happened, bit for bit."""
    trained(tmp_path / "whole", epochs=3, **WAYS[way])
    for epoch in (0, 1):

        def interrupt(run: Run, last: int = epoch) -> None:
            if run.epoch == last:
                raise KeyboardInterrupt

        folder = tmp_path / f"stopped after {epoch}"
        run = start_run(TrainConfig(**(TINY | {"epochs": 3} | WAYS[way])), folder)
        with pytest.raises(KeyboardInterrupt):
            train(run, interrupt)
        assert resume_run(folder).epoch == epoch
        train(resume_run(folder), nothing)
        assert outcome(folder) == outcome(tmp_path / "whole")


def test_interrupted_within_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is lost is the epoch that was under way, and no more."""
    trained(tmp_path / "whole")
    run = start_run(TrainConfig(**TINY), tmp_path / "stopped")
    step = run.optimizer.step
    calls = []

    def stop(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 4:  # the second of the second epoch
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(run.optimizer, "step", stop)
    with pytest.raises(KeyboardInterrupt):
        train(run, nothing)
    assert resume_run(tmp_path / "stopped").epoch == 1
    train(resume_run(tmp_path / "stopped"), nothing)
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")


def flags(**settings: Any) -> list[str]:
    """Write settings as words of a command."""
    words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in settings.items()]
    return [word for pair in words for word in pair]


def test_run_that_is_done(tmp_path: Path) -> None:
    """To resume it changes nothing."""
    trained(tmp_path)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    run = resume_run(tmp_path)
    assert run.done
    train(run, nothing)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_global_generators_are_left_alone(tmp_path: Path) -> None:
    """Whatever is random comes from the seed of the run."""
    before = torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
    trained(tmp_path)
    assert torch.equal(torch.get_rng_state(), before[0])
    resume_run(tmp_path)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert repr(np.random.get_state()) == before[1]  # noqa: NPY002


# What a run leaves behind.


@pytest.mark.usefixtures("pictures")
def test_files(tmp_path: Path) -> None:
    """Settings, weights with a card, a curve and scalars, beside the checkpoint."""
    folder = tmp_path / "new" / "run"
    run = trained(folder, teacher="exact", seed=5)
    names = {path.name for path in folder.iterdir()}
    (events,) = (name for name in names if name.startswith("events.out.tfevents."))
    assert names == {
        "config.json",
        "checkpoint.safetensors",
        "weights.safetensors",
        "curve.png",
        "history.csv",
        events,
    }
    with (folder / "history.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(row["gap"]) for row in table] == [
        pytest.approx(row["gap"], rel=1e-3) for row in run.history
    ]
    assert table[0]["regret"] == ""
    scalars = EventAccumulator(str(folder)).Reload()
    for name in run.history[1]:
        if name != "epoch":
            told = [(event.step, event.value) for event in scalars.Scalars(name)]
            known = [(k, row[name]) for k, row in enumerate(run.history) if name in row]
            assert told == [(k, pytest.approx(value, rel=1e-6)) for k, value in known]
    assert TrainConfig(**json.loads((folder / "config.json").read_text())) == run.config
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    card = read_card(folder / "weights.safetensors")
    assert card["seed"] == 5
    assert card["epochs"] == run.best
    assert card["instances"] == 16 * run.best
    assert card["command"] == train_command(run.config)
    gap = run.history[run.best]["gap paper-10:100"]
    assert card["validation_gaps"] == {"paper-10:100": pytest.approx(gap, abs=1e-4)}


def test_history(tmp_path: Path) -> None:
    """One row for the network before any training and one an epoch, of finite numbers."""
    reported: list[int] = []
    run = start_run(TrainConfig(**(TINY | {"settings": "10:100,mixed-6:100"})), tmp_path)
    train(run, lambda run: reported.append(run.epoch))
    assert reported == [0, 1, 2]
    assert [row["epoch"] for row in run.history] == [0, 1, 2]
    assert all(math.isfinite(value) for row in run.history for value in row.values())
    for row in run.history:
        gaps = [row["gap paper-10:100"], row["gap mixed-6:100"]]
        assert row["gap"] == pytest.approx(np.mean(gaps))
    for row in run.history[1:]:
        assert {"loss", "profit", "entropy", "ptar_loss", "stay_share"} <= row.keys()
        assert 0 < row["stay_share"] < 1
        assert row["ptar_loss"] <= 0
    seconds = [row["seconds"] for row in run.history[1:]]
    assert 0 < seconds[0] < seconds[1] == run.seconds
    assert load_run(tmp_path / "checkpoint.safetensors")[1]["history"] == run.history


@pytest.mark.parametrize("way", ["reinforce", "predicted stays", "teacher"])
def test_gap_is_that_of_the_weights(way: str, tmp_path: Path) -> None:
    """The method that takes the weights is as far from the optimum as the history says."""
    run = trained(tmp_path, validation=20, nodes="15", **WAYS[way])
    instances = generate("paper", nodes=15, count=20, seed=VALIDATION)
    best = [result.profit for result in solve_many(instances, "exact")]
    results = solve_many(
        instances,
        "decost",
        weights=str(tmp_path / "weights.safetensors"),
        symmetries=False,
        stay_optimisation=run.config.stay_optimisation,
    )
    missed = [1 - result.profit / most for result, most in zip(results, best, strict=True) if most]
    assert run.history[run.best]["gap"] == pytest.approx(100 * np.mean(missed), rel=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"teacher": "exact"},
        {"network": "prefix", "seed": 3, "time_limit": 1.5},
        {"ptar": False, "spatial_encoding": False, "stay_optimisation": False},
        {"settings": "50:100,mixed-14:100", "budget": 7.5, "vehicles": 1},
        {"network": "prefix", "layers": 6},
        {"teacher": "exact", "samples": 50},
        {"teacher": "exact", "learning_rate": 1e-4},
        {"teacher": "exact", "network": "paper"},
    ],
    ids=str,
)
def test_command_stands_for_the_settings(changes: dict[str, Any]) -> None:
    """Read back by the command line, the command of a card gives the same settings."""
    config = TrainConfig(**changes)
    program, command, *words = train_command(config).split()
    assert (program, command) == ("decost", "train")
    given = read_settings(*words)
    assert TrainConfig(**given) == config


# When it ends.


def test_patience(tmp_path: Path) -> None:
    """Without improvement a run ends early; the weights kept are those of the best epoch."""
    run = trained(tmp_path, epochs=50, patience=2, learning_rate=1e-12)
    assert (run.epoch, run.best) == (2, 0)
    assert run.done
    assert read_card(tmp_path / "weights.safetensors")["epochs"] == 0


def test_best_epoch_is_kept(tmp_path: Path) -> None:
    """Later weights that are worse do not replace it."""
    run = trained(tmp_path, epochs=6, learning_rate=0.02, teacher="exact", episodes=32)
    gaps = [row["gap"] for row in run.history]
    assert run.best == min(range(7), key=gaps.__getitem__)
    assert run.best > 0
    assert read_card(tmp_path / "weights.safetensors")["epochs"] == run.best


@pytest.mark.parametrize("kind", ["time_limit", "cpu_limit"])
@pytest.mark.parametrize(("limit", "epochs"), [(0, 0), (1e-6, 1), (1e6, 2)])
def test_time_limit(kind: str, limit: float, epochs: int, tmp_path: Path) -> None:
    """The epoch in which the time runs out is the last."""
    run = trained(tmp_path, **{kind: limit})
    assert run.epoch == epochs
    assert resume_run(tmp_path).done


# What settings change.


@pytest.mark.parametrize("spatial", [True, False])
def test_spatial_encoding(spatial: bool, tmp_path: Path) -> None:
    """Without it the network has no factors of edges; with it they learn."""
    run = trained(tmp_path, spatial_encoding=spatial)
    assert any("edge" in name for name in run.network.state_dict()) == spatial
    assert changed(run, "edge") == spatial
    assert load_weights(tmp_path / "weights.safetensors")[0].config.spatial_encoding == spatial


@pytest.mark.parametrize("optimal", [True, False])
@pytest.mark.parametrize("ptar", [True, False])
def test_ptar_and_stays(ptar: bool, optimal: bool, tmp_path: Path) -> None:
    """The decoder of stays learns from pTAR, or from a reward that depends on its stays."""
    run = trained(tmp_path, ptar=ptar, stay_optimisation=optimal)
    assert changed(run, "routing")
    assert changed(run, "staying") == (ptar or not optimal)
    assert all(("ptar_loss" in row) == ptar for row in run.history[1:])


def test_stays_that_are_not_drawn(tmp_path: Path) -> None:
    """Through the time, samples share their states also where their own stays are rewarded."""
    changes = {"stay_optimisation": False, "through_time": True, "ptar": False}
    run = trained(tmp_path, baseline="state", **changes)
    assert changed(run, "routing")
    assert changed(run, "staying")
    assert 1 <= run.history[1]["routes"] <= run.config.samples


def test_predicted_stays_earn_less(tmp_path: Path) -> None:
    """The same network, measured by its own stays, is farther from the optimum."""
    gaps = [
        trained(tmp_path / str(optimal), stay_optimisation=optimal, time_limit=0).history[0]["gap"]
        for optimal in (True, False)
    ]
    assert gaps[0] < gaps[1]


def test_weights_of_the_losses(tmp_path: Path) -> None:
    """Twice both weights is twice the loss of the first step, by the same routes."""
    once, both, first, second = (
        trained(
            tmp_path / str(k), episodes=8, epochs=1, beta1=beta1, beta2=beta2, weight_decay=0
        ).history[1]["loss"]
        for k, (beta1, beta2) in enumerate([(10, 5), (20, 10), (10, 0), (0, 5)])
    )
    assert both == pytest.approx(2 * once, rel=1e-5)
    assert first + second == pytest.approx(once, rel=1e-4)


def test_teacher(tmp_path: Path) -> None:
    """It reports the regret, uses AdamW, and predicts no stays."""
    run = trained(tmp_path, teacher="exact")
    assert isinstance(run.optimizer, torch.optim.AdamW)
    for row in run.history[1:]:
        assert 0 < row["regret"] < 1
        assert "ptar_loss" not in row


def test_teacher_of_the_papers_network(tmp_path: Path) -> None:
    """Regret can be taught to either network; the decoder of stays then learns nothing."""
    run = trained(tmp_path, teacher="exact", network="paper", weight_decay=0)
    assert changed(run, "routing")
    assert not changed(run, "staying")


def test_learning_rate(tmp_path: Path) -> None:
    """A cosine from the first rate to a tenth of it; the last of four steps is at 3/4 of it."""
    run = trained(tmp_path, learning_rate=0.01, final_learning_rate=0.1)
    expected = 0.01 * (0.1 + 0.9 * (1 + math.cos(0.75 * math.pi)) / 2)
    assert [group["lr"] for group in run.optimizer.param_groups] == [pytest.approx(expected)]


def test_start(tmp_path: Path) -> None:
    """A run begins with given weights, if they have its shape."""
    network = small_network("paper", seed=4)
    path = tmp_path / "first.safetensors"
    save_weights(path, network, {})
    run = start_run(TrainConfig(**(TINY | {"start": str(path)})), tmp_path / "run")
    assert bits(run.network.state_dict()) == bits(network.state_dict())
    with pytest.raises(TrainError, match=r"start = .*first.safetensors: .* another shape"):
        start_run(TrainConfig(**(TINY | {"start": str(path), "layers": 2})), tmp_path / "other")
    with pytest.raises(WeightsError, match="model 'none': unknown"):
        start_run(TrainConfig(**(TINY | {"start": "none"})), tmp_path / "other")


@pytest.mark.parametrize("network", ["paper", "prefix"])
def test_teams(network: str, tmp_path: Path) -> None:
    """Networks learn to plan for two vehicles, who earn more than one."""
    alone = trained(tmp_path / "one", network=network, nodes="20", learning_rate=1e-6)
    team = trained(tmp_path / "two", network=network, nodes="20", learning_rate=1e-6, vehicles=2)
    assert team.history[-1]["profit"] > alone.history[-1]["profit"]
    assert changed(team, "")


@pytest.mark.parametrize("way", ["reinforce", "reinforced prefix", "teacher"])
def test_nothing_in_reach(way: str, tmp_path: Path) -> None:
    """A batch of instances without any choice teaches nothing, and is no error."""
    run = trained(tmp_path, budget=0.01, **WAYS[way])
    assert [row["gap"] for row in run.history] == [0, 0, 0]
    assert resume_run(tmp_path).done


# What cannot be.


def test_existing_run(tmp_path: Path) -> None:
    """A run is not written over; one that was killed before its first checkpoint is begun anew."""
    start_run(TrainConfig(**TINY), tmp_path)
    run = trained(tmp_path)
    with pytest.raises(TrainError, match=f"{tmp_path}: holds a run already; .* --resume"):
        start_run(run.config, tmp_path)


def test_nothing_to_resume(tmp_path: Path) -> None:
    """A folder without a checkpoint is named."""
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(TrainError, match=f"{folder}: holds no checkpoint to resume from"):
            resume_run(folder)


def test_damaged_checkpoint(tmp_path: Path) -> None:
    """A file that is cut short, or with a changed byte in its header, is an error that names it."""
    trained(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    content = path.read_bytes()
    for damaged in (b"", content[:100], content[:-1], content[:20] + b"\0" + content[21:]):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError) as caught:
            resume_run(tmp_path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).isprintable()


BROKEN: dict[str, Callable[[dict[str, Tensor], dict[str, Any]], object]] = {
    "no settings": lambda tensors, facts: facts.pop("config"),
    "no history": lambda tensors, facts: facts.pop("history"),
    "wrong setting": lambda tensors, facts: facts["config"].update(epochs=0),
    "unknown setting": lambda tensors, facts: facts["config"].update(depth=3),
    "other shape": lambda tensors, facts: facts["config"].update(width=32),
    "no weight": lambda tensors, facts: tensors.pop("network.embed.bias"),
    "no moment": lambda tensors, facts: tensors.pop("optimizer.embed.bias.exp_avg"),
    "not a number": lambda tensors, facts: tensors["network.embed.bias"].fill_(math.nan),
}
"""What can be wrong with a training state in a file that is as it should be."""


@pytest.mark.parametrize("case", BROKEN)
def test_contradictory_checkpoint(case: str, tmp_path: Path) -> None:
    """Settings, weights and the optimizer's state must fit; the complaint is one line."""
    trained(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    tensors, facts = load_run(path)
    BROKEN[case](tensors, facts)
    save_run(path, tensors, facts)
    with pytest.raises(WeightsError) as caught:
        resume_run(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--network", "prefix", "--ptar"], "ptar: a prefix network predicts no stays"),
        (["--teacher", "exact", "--vehicles", "2"], "vehicles = 2: the exact teacher plans"),
        (["--imitated", "50:100"], "imitated: goes with the exact teacher"),
        (["--teacher", "exact", "--imitated", "50:100x0"], "vehicles = '0': must be from 1"),
        (["--context", "4", "--promising", "5"], "promising = 5: more than context = 4"),
        (["--network", "other"], "option network = 'other': "),
        (["--width", "20", "--heads", "3"], "width = 20: must be a multiple of heads = 3"),
        (["--nodes", "many"], "nodes = 'many': is no number"),
        (["--epochs", "0"], "option epochs = '0': "),
        (["--epochs"], "Option '--epochs' requires an argument."),
        (["--epoch", "3"], "--epoch: no such option; did you mean --epochs?"),
        (["nodes"], "nodes: unexpected"),
        (["--start", "none"], "model 'none': unknown"),
        (["--device", "nonsense"], "device"),
        (["--device", "cuda:77"], "device"),
    ],
)
def test_complaints(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Bad settings end in one line that names them, before a folder holds a run."""
    folder = tmp_path / "run"
    assert message in complaint(monkeypatch, capsys, "train", "--out", folder, *words)
    assert not (folder / "checkpoint.safetensors").exists()


def test_a_longer_run(tmp_path: Path) -> None:
    """A run that is done goes on for more epochs, from where it was."""
    trained(tmp_path / "one", epochs=2)
    again = resume_run(tmp_path / "one", epochs=4)
    assert not again.done
    train(again, nothing)
    assert [row["epoch"] for row in again.history] == [0, 1, 2, 3, 4]
    assert resume_run(tmp_path / "one").done
    trained(tmp_path / "whole", epochs=4)
    whole = resume_run(tmp_path / "whole")
    for name in ("gap", "profit"):  # the learning rate does not fall, so that both are the same
        assert [row.get(name) for row in again.history] == [row.get(name) for row in whole.history]


def test_complaints_about_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that exists or does not, is damaged, or is to go on with other settings."""
    empty = complaint(monkeypatch, capsys, "train", "--resume", tmp_path)
    assert empty == f"{tmp_path}: holds no checkpoint to resume from"
    trained(tmp_path)
    existing = complaint(monkeypatch, capsys, "train", "--out", tmp_path, *flags(**TINY))
    assert f"{tmp_path}: holds a run already" in existing
    other = complaint(monkeypatch, capsys, "train", "--resume", tmp_path, "--samples", 5)
    assert "a run goes on with its own settings, samples among them" in other
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(b"nonsense")
    damaged = complaint(monkeypatch, capsys, "train", "--resume", tmp_path)
    assert damaged.startswith(f"{path}: broken safetensors file")


# The paper's recipe.


def test_paper_recipe_learns(tmp_path: Path) -> None:
    """An epoch takes less than 40 seconds of two cores and brings the gap far down.

    The time of the cores counts, since others may use them as well.
    """
    words = ["train", "--nodes", "20", "--epochs", "1", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "decost", *words],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr in ("", f"{NOTE}\n")
    _, facts = load_run(tmp_path / "run" / "checkpoint.safetensors")
    assert facts["cpu_seconds"] < 2 * 40
    gaps = [row["gap"] for row in facts["history"]]
    assert len(gaps) == 2
    assert gaps[-1] < gaps[0] / 2
    assert all(f"epoch {epoch}/1" in done.stdout for epoch in range(2))
    assert f"best gap {gaps[1]:.3f}% after epoch 1\n" in done.stdout
    assert read_card(tmp_path / "run" / "weights.safetensors")["epochs"] == 1
