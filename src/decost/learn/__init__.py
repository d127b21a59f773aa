"""Learning: what trains and runs a neural solver; the only part that needs torch.

The names here are for networks of your own: the environment (`load_problems`, `start_state`,
`move`, `roll_out`), what a network is (`Policy`), losses, teachers, training (`train_network`) and
planning with it (`as_method`). docs/own-network.md uses them; `decost train` has much more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.learn.features import Problems, load_problems
    from decost.learn.losses import imitation_loss, regret_loss, reinforce_loss
    from decost.learn.own import as_method, gap_of_network, train_network
    from decost.learn.rollout import (
        Policy,
        Prefix,
        Rollout,
        State,
        greedy_choice,
        move,
        optimal_profit,
        roll_out,
        sampled_choice,
        start_state,
    )
    from decost.learn.teacher import expert_plans, grade, lesson

_HOMES = {
    "features": ("Problems", "load_problems"),
    "losses": ("imitation_loss", "regret_loss", "reinforce_loss"),
    "own": ("as_method", "gap_of_network", "train_network"),
    "rollout": (
        *("Policy", "Prefix", "Rollout", "State", "greedy_choice", "move", "optimal_profit"),
        *("roll_out", "sampled_choice", "start_state"),
    ),
    "teacher": ("expert_plans", "grade", "lesson"),
}
"""Where each name is: torch is imported when one of them is asked for."""

__all__ = [
    "Policy",
    "Prefix",
    "Problems",
    "Rollout",
    "State",
    "as_method",
    "expert_plans",
    "gap_of_network",
    "grade",
    "greedy_choice",
    "imitation_loss",
    "lesson",
    "load_problems",
    "move",
    "optimal_profit",
    "regret_loss",
    "reinforce_loss",
    "roll_out",
    "sampled_choice",
    "start_state",
    "train_network",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"decost.learn.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
