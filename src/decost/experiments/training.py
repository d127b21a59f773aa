"""Networks that experiments train, each in a run folder that an interrupted run goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from decost.experiments.runner import ExperimentError
from decost.learn.config import TrainConfig
from decost.learn.train import Run, resume_run, start_run, train


def trained(folder: Path, **settings: Any) -> Run:
    """Train a network in a folder, or go on where that was interrupted.

    Raises
    ------
    ExperimentError
        If the folder holds a run with other settings.
    """
    config = TrainConfig(**settings)
    begun = (folder / "checkpoint.safetensors").exists()
    run = resume_run(folder) if begun else start_run(config, folder)
    if run.config != config:
        raise ExperimentError(
            f"{folder}: holds a run with other settings; remove it, or give another --out"
        )
    train(run, lambda run: None)
    return run
