"""More tests of training: what earns the reward, what is kept, and the command line."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from command_line import read_settings
from decost import Instance, check, cli, make_solution, optimal_stays, profit_of
from decost.inference.weights import WeightsError
from decost.learn import train as module
from decost.learn.checkpoint import load_run, load_weights, save_run
from decost.learn.config import TrainConfig
from decost.learn.rollout import Rollout
from decost.learn.train import TrainError, resume_run, start_run, train, train_command
from policies import complaint, routes_of, stays_of
from small_runs import TINY, bits, nothing, trained


def flags(**settings: Any) -> list[str]:
    """Write settings as words of a command."""
    words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in settings.items()]
    return [word for pair in words for word in pair]


# What earns the reward.


@pytest.mark.parametrize("vehicles", [1, 2])
@pytest.mark.parametrize("network", ["paper", "prefix"])
def test_reward(
    network: str, vehicles: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what the checker finds for the predicted stays, or what optimal stays earn."""
    optimal = network == "prefix"  # of the paper's network with optimal stays: see test_tree
    owners: dict[int, list[Instance]] = {}
    rollouts: list[tuple[Any, Rollout]] = []
    rewards: list[Tensor] = []
    load, roll_out, loss = module.load_problems, module.roll_out, module.reinforce_loss

    def load_some(some: list[Instance], *given: Any, **options: Any) -> Any:
        problems = load(some, *given, **options)
        owners[id(problems)] = some
        return problems

    def roll(network: Any, problems: Any, samples: int, *given: Any, **options: Any) -> Rollout:
        rollout = roll_out(network, problems, samples, *given, **options)
        if samples > 1:  # and not an examination
            rollouts.append((problems, rollout))
        return rollout

    def reward(profit: Tensor, log_probability: Tensor) -> Tensor:
        rewards.append(profit)
        return loss(profit, log_probability)

    monkeypatch.setattr(module, "load_problems", load_some)
    monkeypatch.setattr(module, "roll_out", roll)
    monkeypatch.setattr(module, "reinforce_loss", reward)
    changes = {"stay_optimisation": optimal, "vehicles": vehicles, "nodes": "15"}
    if optimal:
        changes |= {"network": "prefix", "ptar": False}
    run = trained(tmp_path, epochs=1, **changes)
    assert len(rollouts) == len(rewards) == 2 * run.config.parts
    means = []
    for (problems, rollout), found in zip(rollouts, rewards, strict=True):
        expected = np.zeros(found.shape)
        for row, instance in enumerate(owners[id(problems)]):
            for sample in range(4):
                routes = routes_of(problems, rollout, row, sample)
                if optimal:
                    expected[row, sample] = optimal_stays(instance, routes).profit.sum()
                else:
                    stays = stays_of(problems, rollout, row, sample)
                    plan = make_solution(instance, routes, stays)
                    assert check(instance, plan) == []
                    expected[row, sample] = profit_of(instance, plan)
        means.append(expected.mean())
        unit = problems.profit_unit.numpy()[:, None]
        np.testing.assert_allclose(found.numpy(), expected / unit, rtol=1e-5, atol=1e-6)
    assert run.history[1]["profit"] == pytest.approx(np.mean(means), rel=1e-6)
    assert np.mean(means) > 0


@pytest.mark.parametrize(
    ("part", "share"), [(0.0, 0.4), (0.24, 0.4), (0.25, 0.4), (0.5, 0.4 * 2 / 3), (1.0, 0.0)]
)
def test_share_of_imitation(part: float, share: float) -> None:
    """By hand: its weight while it lasts, a quarter of the run, then in a line to nothing."""
    config = TrainConfig(teacher="exact", imitation=0.25, imitation_weight=0.4)
    assert module._imitation_share(config, part) == pytest.approx(share)


# What is kept.


def test_mean_of_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of each step's weights goes into the mean, which is measured and written.

    The weights that are trained are those of a run without it.
    """
    config = TrainConfig(**(TINY | {"epochs": 2, "average": 0.75}))
    run = start_run(config, tmp_path / "run")
    names = list(dict(run.network.named_parameters()))
    wanted = [weight.detach().clone() for weight in run.network.parameters()]
    step, measured = run.optimizer.step, []

    def follow() -> None:
        step()
        for k, weight in enumerate(run.network.parameters()):
            wanted[k] = 0.75 * wanted[k] + 0.25 * weight.detach()

    class Examination:
        def __init__(self, config: TrainConfig) -> None:
            pass

        def __call__(self, network: Any) -> dict[str, float]:
            measured.append([weight.detach().clone() for weight in network.parameters()])
            return {"gap": -float(len(measured))}

    monkeypatch.setattr(run.optimizer, "step", follow)
    monkeypatch.setattr(module, "_Examination", Examination)
    train(run, nothing)
    network, _ = load_weights(tmp_path / "run" / "weights.safetensors")
    for found in (measured[-1], list(network.parameters())):
        for mine, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(mine, other)
    plain = trained(tmp_path / "plain").network.state_dict()
    for name in names:
        assert torch.equal(plain[name], run.network.state_dict()[name])
    assert any(not torch.equal(plain[name], wanted[k]) for k, name in enumerate(names))


def examined(gaps: list[float]) -> type:
    """Make an examination that ends as told."""

    class Examination:
        def __init__(self, config: TrainConfig) -> None:
            self.rest = iter(gaps)

        def __call__(self, network: Any) -> dict[str, float]:
            return {"gap": next(self.rest)}

    return Examination


@pytest.mark.parametrize(
    ("gaps", "patience", "last", "best"),
    [
        ([7, 7, 7, 7, 7], 2, 2, 0),
        ([7, 5, 6, 5, 4], 2, 3, 1),
        ([7, 5, 6, 4, 9, 9, 3], 2, 5, 3),
        ([7, 6, 5, 4, 3, 2, 1], 1, 6, 6),
    ],
)
def test_best_epoch_and_patience(
    gaps: list[float],
    patience: int,
    last: int,
    best: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So many epochs without a smaller gap are the last, and the best one's weights are kept."""
    monkeypatch.setattr(module, "_Examination", examined(gaps))
    run = start_run(TrainConfig(**(TINY | {"epochs": 6, "patience": patience})), tmp_path)
    seen = []
    train(run, lambda run: seen.append(bits(run.network.state_dict())))
    assert (run.epoch, run.best) == (last, best)
    assert len(seen) == last + 1
    kept, card = load_weights(tmp_path / "weights.safetensors")
    assert bits(kept.state_dict()) == seen[best]
    assert card["epochs"] == best
    assert sum(each == seen[best] for each in seen) == 1
    assert resume_run(tmp_path).done


def test_start_goes_on_from_weights(tmp_path: Path) -> None:
    """A second run begins where the first one's best epoch was: with its weights and its gap."""
    first = trained(tmp_path / "first", teacher="exact", epochs=3)
    weights = tmp_path / "first" / "weights.safetensors"
    second = trained(tmp_path / "second", teacher="exact", start=str(weights), time_limit=0, seed=9)
    assert second.history[0]["gap"] == first.history[first.best]["gap"]
    kept = load_weights(weights)[0].state_dict()
    assert bits(second.network.state_dict()) == bits(kept)
    third = trained(tmp_path / "third", teacher="exact", start=str(weights), epochs=1)
    assert bits(third.network.state_dict()) != bits(kept)


def test_refused_start_leaves_no_folder(tmp_path: Path) -> None:
    """A run that cannot begin leaves nothing behind."""
    trained(tmp_path / "first", epochs=1)
    start = str(tmp_path / "first" / "weights.safetensors")
    with pytest.raises(TrainError, match="its network has another shape"):
        start_run(TrainConfig(**(TINY | {"start": start, "width": 32})), tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_a_folder_does_not_hide_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder is called like a model, a run begins with the model, here of another shape."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper").mkdir()
    with pytest.raises(TrainError, match="start = paper: its network has another shape"):
        start_run(TrainConfig(**(TINY | {"start": "paper"})), tmp_path / "run")


# Killed.

KILLED = """
import os, signal, sys
from pathlib import Path
from decost.cli import main

left, replace = int(sys.argv.pop(1)), Path.replace

def killing(path, target):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)

Path.replace = killing
main()
"""
"""A program that is killed when a file is written and about to take the place of the old one."""


def test_killed_while_writing(tmp_path: Path) -> None:
    """Killed between new and old files, and again, a run loses an epoch at most, and no weights."""
    settings = TINY | {"epochs": 5}
    folder, words = tmp_path / "killed", ["--out", str(tmp_path / "killed"), *flags(**settings)]
    epochs = [0]
    for left in (11, 6):
        command = [sys.executable, "-c", KILLED, str(left), "train", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == -9, done.stderr
        assert len(list(folder.glob(".decost-*.tmp"))) == 1
        told = re.findall(r"^epoch (\d+)/", done.stdout, re.MULTILINE)
        epochs.append(resume_run(folder).epoch)
        assert epochs[-1] >= int(told[-1])
        words = ["--resume", str(folder)]
    assert 0 < epochs[1] < epochs[2] < 5
    run = resume_run(folder)
    train(run, nothing)
    whole = trained(tmp_path / "whole", **settings)
    assert not list(folder.glob(".decost-*.tmp"))
    ends = [load_run(one.folder / "checkpoint.safetensors") for one in (run, whole)]
    assert bits(ends[0][0]) == bits(ends[1][0])
    gaps = [[row["gap"] for row in facts["history"]] for _, facts in ends]
    assert gaps[0] == gaps[1]
    kept = [load_weights(one.folder / "weights.safetensors")[0] for one in (run, whole)]
    assert bits(kept[0].state_dict()) == bits(kept[1].state_dict())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupted_while_a_teacher_grades(name: str, tmp_path: Path) -> None:
    """A training ends at once, though its teacher takes minutes over such instances."""
    settings = TINY | {"teacher": "exact", "settings": "mixed-30:300", "validation": 1}
    process = subprocess.Popen(
        [sys.executable, "-m", "decost", "train", "--out", tmp_path / "run", *flags(**settings)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("epoch 0"):
            assert line
        time.sleep(3)  # until it is at work
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.startswith(f"go on with: decost train --resume {tmp_path / 'run'}")
    assert err.endswith("decost: interrupted\n")


# Checkpoints that do not make sense.

SENSELESS: dict[str, Callable[[dict[str, Any]], object]] = {
    "history is a number": lambda facts: facts.update(history=5),
    "history of numbers": lambda facts: facts.update(history=[1.0, 2.0]),
    "history without gaps": lambda facts: facts.update(history=[{"epoch": 0.0}]),
    "gaps are words": lambda facts: facts.update(history=[{"epoch": 0.0, "gap": "small"}]),
    "seconds are words": lambda facts: facts.update(seconds="few"),
    "cpu seconds are words": lambda facts: facts.update(cpu_seconds=None),
    "config is a list": lambda facts: facts.update(config=[]),
}


@pytest.mark.parametrize("case", SENSELESS)
def test_senseless_checkpoint(case: str, tmp_path: Path) -> None:
    """A checkpoint that this program would not write is refused before anything is trained."""
    trained(tmp_path, time_limit=100)
    path = tmp_path / "checkpoint.safetensors"
    tensors, facts = load_run(path)
    SENSELESS[case](facts)
    save_run(path, tensors, facts)
    with pytest.raises(WeightsError) as caught:
        resume_run(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).isprintable()


# The command line.

CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "network": st.sampled_from(["paper", "prefix"]),
    "layers": st.sampled_from([1, 3, 6]),
    "width": st.sampled_from([48, 128]),
    "heads": st.sampled_from([4, 8]),
    "feed_forward": st.sampled_from([96, 512]),
    "clip": st.sampled_from([10.0, 2.5]),
    "spatial_encoding": st.booleans(),
    "nodes": st.sampled_from(["50", "20,50"]),
    "settings": st.sampled_from(["", "50:100,mixed-14:100", "50:100, 20:100"]),
    "budget": st.sampled_from([None, 7.25]),
    "vehicles": st.sampled_from([1, 2]),
    "teacher": st.sampled_from(["none", "exact"]),
    "batch_size": st.sampled_from([64, 128]),
    "samples": st.sampled_from([1, 8, 50]),
    "learning_rate": st.sampled_from([1e-3, 1e-4, 3.7e-05]),
    "final_learning_rate": st.sampled_from([0.02, 1.0]),
    "weight_decay": st.sampled_from([0.0, 1e-2, 1e-6]),
    "ptar": st.booleans(),
    "stay_optimisation": st.booleans(),
    "time_limit": st.sampled_from([None, 0.0, 3600.5]),
    "start": st.sampled_from(["", "generalist", "my runs/a 'b'.safetensors"]),
    "seed": st.integers(0, 2**32 - 1),
}


@given(st.fixed_dictionaries({}, optional=CHOICES))
def test_command_of_any_settings(settings: dict[str, Any]) -> None:
    """The command on a card, read by a shell and the command line, gives the same settings."""
    try:
        config = TrainConfig(**settings)
    except ValidationError:
        assume(False)
    program, command, *words = shlex.split(train_command(config))
    assert (program, command) == ("decost", "train")
    read = read_settings(*words)
    assert TrainConfig(**read) == config


def called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> str:
    """Call the command line in this process; give what it prints."""
    monkeypatch.setattr(sys, "argv", ["decost", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (0, "")
    return str(out)


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a folder one is made, named by the seed; a line an epoch; a run that is done."""
    monkeypatch.chdir(tmp_path)
    out = called(monkeypatch, capsys, "train", *flags(**TINY), "--seed", 3, "--no-ptar")
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-seed3")
    lines = out.splitlines()
    assert lines[0] == f"run in {folder.relative_to(tmp_path)}"
    assert "seed=3" in lines[1].split()
    assert "ptar=False" in lines[1].split()
    assert [line.split()[:2] for line in lines[2:5]] == [["epoch", f"{k}/2"] for k in range(3)]
    twin = trained(tmp_path / "twin", seed=3, ptar=False)
    tensors, facts = load_run(folder / "checkpoint.safetensors")
    assert bits(tensors) == bits(load_run(twin.folder / "checkpoint.safetensors")[0])
    best = min(row["gap"] for row in facts["history"])
    assert lines[5].startswith(f"best gap {best:.3f}% after epoch ")
    again = called(monkeypatch, capsys, "train", "--resume", folder)
    assert "the run is done" in again.splitlines()
    assert bits(load_run(folder / "checkpoint.safetensors")[0]) == bits(tensors)


def test_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting is listed, a switch that is on by default as what turns it off."""
    words = called(monkeypatch, capsys, "train", "--help").split()
    for name, field in TrainConfig.model_fields.items():
        flag = name.replace("_", "-")
        assert (f"--no-{flag}" if field.default is True else f"--{flag}") in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "nowhere"], "nowhere: holds no checkpoint to resume from"),
        (["--resume", "a", "--out", "b"], "--resume a: a run goes on with its own settings"),
        (["--teacher", "exact", "--ptar"], "ptar: "),
        (["--network", "prefix", "--no-stay-optimisation"], "no-stay-optimisation: "),
        (["--settings", "cluster-10:100"], "settings: 'cluster-10:100': families are "),
        (["--settings", "10:0"], "settings: '10:0': "),
        (["--nodes", "1"], "nodes = '1': "),
        (["--window", "0"], "window = '0': "),
        (["--learning-rate", "nan"], "option learning_rate = 'nan': "),
        (["--ptar=maybe"], "--ptar=maybe: must be true or false"),
        (["--threads=-1"], "option threads = '-1': "),
    ],
)
def test_more_complaints(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They come before anything is made."""
    monkeypatch.chdir(tmp_path)
    assert complaint(monkeypatch, capsys, "train", *words).startswith(message)
    assert not list(tmp_path.iterdir())


def test_complaint_of_a_process(tmp_path: Path) -> None:
    """The program itself prints one line about a damaged checkpoint, and no traceback."""
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(torch.arange(100).numpy().tobytes())
    command = [sys.executable, "-m", "decost", "train", "--resume", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"decost: {path}: broken safetensors file")
    assert done.stderr.count("\n") == 1
