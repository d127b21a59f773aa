"""Tests of several processes that train one network: they come to what one process comes to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from command_line import read_settings
from decost.learn.checkpoint import load_run
from decost.learn.config import TrainConfig
from decost.learn.crew import Crew
from decost.learn.runs import TrainError
from decost.learn.train import start_run, train
from policies import complaint
from small_runs import TINY, nothing

SHAPE = "--layers 1 --width 16 --heads 2 --feed-forward 16 --epochs 2 --episodes 16 --batch-size 8"
KINDS = {
    "paper": "--nodes 10 --samples 4",
    "taught": "--teacher exact --outlook --settings 10:100 --imitated people-8:100x2 --rounds 20",
}


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_come_to_the_weights_of_one(kind: str, tmp_path: Path) -> None:
    """With the same batches of both together, all weights are equal to rounding."""
    words = [*SHAPE.split(), *KINDS[kind].split(), "--validation", "4", "--threads", "1"]
    train(start_run(TrainConfig(**read_settings(*words)), tmp_path / "alone"), nothing)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launcher += ["--nproc-per-node", "2", "-m", "decost", "train", *words]
    done = subprocess.run(
        [*launcher, "--out", str(tmp_path / "together")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("epoch 2/2") == 1  # one of them reports
    alone, together = (
        load_run(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "together")
    )
    assert alone.keys() == together.keys() > set()
    for name, tensor in alone.items():
        torch.testing.assert_close(together[name], tensor, atol=1e-6, rtol=1e-4)
    assert any("exp_avg" in name and tensor.any() for name, tensor in alone.items())


def test_parts_are_shared_evenly(tmp_path: Path) -> None:
    """Three processes cannot share two parts, and four parts are dealt out to two."""
    run = start_run(TrainConfig(**TINY), tmp_path)
    with pytest.raises(TrainError, match="parts = 2: 3 processes cannot share them"):
        train(run, nothing, crew=Crew(0, 3))
    assert [list(Crew(rank, 2).parts(4)) for rank in range(2)] == [[0, 2], [1, 3]]


def test_a_folder_must_be_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processes that make up a folder of their own would not train together."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "need --out or --resume" in complaint(monkeypatch, capsys, "train", "--epochs", "1")
