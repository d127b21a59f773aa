"""The paper's tables and figures, one file each: `decost bench NAME`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.experiments.runner import Experiment

# In the order in which `decost bench all` runs them.
_MODULES = {
    "main": "main",
    "gaps": "gaps",
    "ablation": "ablation",
    "solomon": "solomon",
    "ils-time": "ils_time",
    "team": "team",
    "sensitivity": "sensitivity",
    "stay-ratio": "stay_ratio",
    "ptar": "ptar",
    "scaling": "scaling",
}


def get_experiment(name: str) -> Experiment[Any]:
    """Look an experiment up by its name.

    Raises
    ------
    ExperimentError
        If there is none of this name.
    """
    from decost.experiments.runner import ExperimentError

    if name not in _MODULES:
        known = ", ".join(("all", *_MODULES))
        raise ExperimentError(f"experiment {name!r}: unknown, choose from: {known}")
    experiment: Experiment[Any] = import_module(f"{__name__}.{_MODULES[name]}").EXPERIMENT
    return experiment


def list_experiments() -> tuple[Experiment[Any], ...]:
    """All experiments, in the order in which they are run together."""
    return tuple(get_experiment(name) for name in _MODULES)
