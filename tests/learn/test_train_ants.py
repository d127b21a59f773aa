"""Tests of training a heatmap: the loss, the schedules, runs that stop and go on, the commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from command_line import read_settings
from decost import check, cli, generate, optimal_stays, solve
from decost.baselines.gfacs import Colony, heat_of
from decost.inference.heatmap import find_region
from decost.inference.weights import WeightsError, read_card
from decost.learn import train_ants as module
from decost.learn.checkpoint import load_heatmap, load_run
from decost.learn.config import AntsConfig
from decost.learn.losses import balance_loss
from decost.learn.runs import TrainError
from decost.learn.train_ants import Run, resume_run, start_run, train, train_command
from policies import complaint
from small_runs import bits
from small_runs import trained as trained_policy

TINY: dict[str, Any] = {
    "layers": 2,
    "width": 8,
    "nodes": "15",
    "steps": 3,
    "batch_size": 2,
    "ants": 6,
    "validation": 4,
    "epochs": 3,
}
"""Settings of a run that takes less than a second."""


def nothing(run: Run) -> None:
    """Report nothing."""


def trained(folder: Path, **changes: Any) -> Run:
    """Train from the beginning to the end."""
    run = start_run(AntsConfig(**(TINY | changes)), folder)
    train(run, nothing)
    return run


# The loss and the schedules.


def test_balance_by_hand() -> None:
    """Mean square of log Z + log P - beta * (objective - mean)."""
    loss = balance_loss(
        torch.tensor([[-1.0, -2.0], [-3.0, 0.0]]),
        torch.tensor([0.5, 1.0]),
        torch.tensor([[1.0, 3.0], [2.0, 2.0]]),
        2.0,
    )
    # 0.5 - 1 + 2 = 1.5;  0.5 - 2 - 2 = -3.5;  1 - 3 = -2;  1 - 0 = 1
    assert float(loss) == pytest.approx((1.5**2 + 3.5**2 + 2**2 + 1) / 4)


def test_balanced_plans_have_no_loss() -> None:
    """The loss is 0 if plans are as likely as exp(beta * objective), with the right partition."""
    objective = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64)
    centred = 3.0 * (objective - objective.mean())
    assert float(
        balance_loss(centred.log_softmax(1), centred.logsumexp(1), objective, 3.0)
    ) == pytest.approx(0.0, abs=1e-12)


def test_schedules() -> None:
    """The weight of profits grows from 5 to 10 by a logarithm; the steps end near a tenth."""
    config = AntsConfig()
    beta = [module._beta(config, done) for done in range(20)]
    assert beta[0] == 5
    assert beta[14:] == [10] * 6
    assert beta[4] == pytest.approx(5 + 5 * np.log(5) / np.log(15))
    rate = [module._learning_rate(config, done) for done in range(21)]
    assert (rate[0], rate[10], rate[20]) == pytest.approx((3e-4, 3e-4 * 0.55, 3e-5))
    assert sorted(rate, reverse=True) == rate


def test_exploration() -> None:
    """Plans by heat alone, then the best five of five times as many, then others of these."""
    (instance,) = generate("paper", nodes=20, seed=3)
    region = find_region(instance)
    heat = np.ones(len(region.trails.target))
    random = np.random.default_rng(1)
    colony = Colony(instance, region, heat, greedy=False, random=random)
    nodes, profit = module._explore(colony, region, 12, random)
    assert profit.shape == (2, 12)
    assert len(nodes) == 24
    stops = [region.trails.stop[row[row > 0]].tolist() for row in nodes]
    np.testing.assert_allclose(optimal_stays(instance, stops).profit, profit.ravel(), atol=1e-9)
    assert profit[1, :5].tolist() == sorted(profit[1, :5], reverse=True)
    twin = Colony(instance, region, heat, greedy=False, random=np.random.default_rng(1))
    first = twin.send(12)
    assert first.profit.tolist() == profit[0].tolist()
    twin.learn(first)
    twin.evaporate()
    assert sorted(twin.send(60).profit)[-5:] == sorted(profit[1, :5])


# Runs.


def test_predicted_stays(tmp_path: Path) -> None:
    """A heatmap with a service-time decoder is trained by both losses, saved, and used."""
    run = trained(tmp_path, stay_decoder=True, nodes="30")
    first = run.history[1]
    assert first["ptar_loss"] < 0 < first["stay_share"] < 1
    network, _ = load_heatmap(tmp_path / "weights.safetensors")
    assert network.config.stay_decoder
    (instance,) = generate("paper", nodes=30, seed=4)
    result = solve(instance, "gfacs", weights=str(tmp_path / "weights.safetensors"), ants=20)
    assert not check(instance, result.solution)
    region = find_region(instance)
    heat, share = heat_of(network.ready(), instance, region)
    assert share is not None
    assert ((share > 0) & (share < 1)).all()
    random = np.random.default_rng(0)
    longest = Colony(instance, region, heat, np.ones(len(heat)), greedy=False, random=random)
    shortest = Colony(instance, region, heat, greedy=False, random=np.random.default_rng(0))
    assert longest.send(50).steps.mean() < shortest.send(50).steps.mean()


def test_greedy_stays_are_not_predicted() -> None:
    """A service-time decoder and stays as long as possible exclude each other."""
    with pytest.raises(ValueError, match="stay_decoder: with greedy stays"):
        AntsConfig(stay_decoder=True, stays="greedy")


def test_training_helps(tmp_path: Path) -> None:
    """After little training the ants earn more by heat alone, and the gap is smaller."""
    changes = {"layers": 3, "width": 16, "nodes": "30", "steps": 10, "ants": 15}
    run = trained(tmp_path, **changes, epochs=5, validation=12, learning_rate=5e-3)
    assert run.history[-1]["profit"] > 1.3 * run.history[1]["profit"]
    assert min(row["gap"] for row in run.history) < 0.6 * run.history[0]["gap"]
    assert {"loss", "guided_profit", "entropy", "gap paper-30:100"} <= run.history[-1].keys()


@pytest.mark.parametrize("changes", [{}, {"vehicles": 2, "settings": "15:100,mixed-9:100"}])
def test_stopped_run_equals_an_undisturbed_one(changes: dict[str, Any], tmp_path: Path) -> None:
    """Twins are equal to the bit, also if one was stopped in the middle of an epoch."""
    whole = trained(tmp_path / "whole", **changes)
    run = start_run(AntsConfig(**(TINY | changes)), tmp_path / "stopped")

    def stop(run: Run) -> None:
        if run.epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(run, stop)
    run = resume_run(tmp_path / "stopped")
    assert (run.epoch, run.done) == (1, False)
    train(run, nothing)
    first, second = (load_run(one.folder / "checkpoint.safetensors") for one in (whole, run))
    assert bits(first[0]) == bits(second[0])
    times = {"seconds", "cpu_seconds"}
    for mine, other in zip(first[1]["history"], second[1]["history"], strict=True):
        assert mine.keys() == other.keys()
        assert all(mine[name] == other[name] for name in mine.keys() - times)
    other_seed = trained(tmp_path / "other", **changes, seed=1)
    assert bits(other_seed.network.state_dict()) != bits(whole.network.state_dict())


def test_folder(tmp_path: Path) -> None:
    """A run leaves its settings, a checkpoint, the best weights, a curve and events."""
    run = trained(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "checkpoint.safetensors", "weights.safetensors", "curve.png"} < names
    assert any(name.startswith("events.out.tfevents") for name in names)
    assert AntsConfig.model_validate_json((tmp_path / "config.json").read_text()) == run.config
    network, card = load_heatmap(tmp_path / "weights.safetensors")
    assert network.config == run.config.network_config()
    assert card["epochs"] == run.best
    assert card["instances"] == run.best * 6
    assert card["validation_gaps"] == {
        "paper-15:100": pytest.approx(run.history[run.best]["gap"], abs=1e-4)
    }
    with pytest.raises(TrainError, match="holds a run already"):
        start_run(run.config, tmp_path)


def test_instances_without_a_useful_stop(tmp_path: Path) -> None:
    """Nothing is learned from them, and nothing goes wrong."""
    run = trained(tmp_path, nodes="2", budget=0.001, epochs=1)
    assert run.history[-1]["gap"] == 0
    assert "loss" not in run.history[-1]


# Commands.


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "nodes": st.sampled_from(["50", "20,50"]),
            "settings": st.sampled_from(["", "50:100, mixed-14:100"]),
            "epochs": st.integers(1, 50),
            "layers": st.integers(1, 20),
            "first_beta": st.floats(0, 100),
            "time_limit": st.sampled_from([None, 0.5]),
            "seed": st.integers(0, 2**32 - 1),
        },
    )
)
def test_command_of_any_settings(settings: dict[str, Any]) -> None:
    """The command on a card, read by a shell and the command line, gives the same settings."""
    config = AntsConfig(**settings)
    program, command, kind, *words = shlex.split(train_command(config))
    assert (program, command, kind) == ("decost", "train", "gfacs")
    read = read_settings("gfacs", *words)
    assert AntsConfig(**read) == config


def called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> str:
    """Call the command line in this process; give what it prints."""
    monkeypatch.setattr("sys.argv", ["decost", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (0, "")
    return str(out)


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run by a command is the same as by Python; it is resumed with or without the word."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    folder = tmp_path / "run"
    out = called(monkeypatch, capsys, "train", "gfacs", "--out", folder, *words)
    assert out.splitlines()[0] == f"run in {folder}"
    assert sum(line.startswith("epoch ") for line in out.splitlines()) == 4
    twin = trained(tmp_path / "twin")
    assert bits(load_run(folder / "checkpoint.safetensors")[0]) == bits(
        load_run(twin.folder / "checkpoint.safetensors")[0]
    )
    for word in ([], ["gfacs"]):
        again = called(monkeypatch, capsys, "train", *word, "--resume", folder)
        assert "the run is done" in again.splitlines()
    assert read_card(folder / "weights.safetensors")["command"].startswith("decost train gfacs ")


def test_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting that can be chosen is listed."""
    words = called(monkeypatch, capsys, "train", "gfacs", "--help").split()
    for name in AntsConfig.model_fields:
        assert (f"--{name.replace('_', '-')}" in words) == (name != "network")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--samples", "5"], "--samples: no such option"),
        (["--ants", "0"], "option ants = '0': "),
        (["--nodes", "1"], "nodes = '1': "),
        (["--resume", "nowhere"], "nowhere: holds no checkpoint to resume from"),
        (["--resume", "a", "--ants", "5"], "--resume a: a run goes on with its own settings"),
    ],
)
def test_complaints(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They come before anything is made."""
    monkeypatch.chdir(tmp_path)
    assert complaint(monkeypatch, capsys, "train", "gfacs", *words).startswith(message)
    assert not list(tmp_path.iterdir())


def test_run_of_another_kind(tmp_path: Path) -> None:
    """A run of another network is no run for ants."""
    trained_policy(tmp_path, epochs=1)
    with pytest.raises(WeightsError, match=r"checkpoint.safetensors: is no state of a training"):
        resume_run(tmp_path)
