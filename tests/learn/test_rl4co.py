"""Tests of the environment for rl4co: its mask and reward are those of the package."""

from __future__ import annotations

import pytest
import torch

from decost import Instance, check, generate, make_solution, optimal_stays

pytest.importorskip("rl4co", reason="the extra rl4co is not installed")

from rl4co.models import AttentionModelPolicy

from decost.learn.features import load_problems
from decost.learn.rl4co_env import OPTWVPEnv, embeddings, episodes

SHAPE = {"embed_dim": 32, "num_encoder_layers": 1, "num_heads": 2, "feedforward_hidden": 32}


def drawn() -> list[Instance]:
    """Draw instances of several families."""
    some = generate("paper", nodes=20, count=4, seed=1)
    return some + generate("mixed", nodes=12, count=3, seed=1) + generate("free", nodes=12, seed=1)


def planned(some: list[Instance], **options: object) -> tuple[torch.Tensor, torch.Tensor]:
    """Let a policy with random weights plan: actions and rewards."""
    torch.manual_seed(0)
    env = OPTWVPEnv()
    policy = AttentionModelPolicy(env_name=env.name, **embeddings(32), **SHAPE)
    with torch.inference_mode():
        out = policy(env.reset(episodes(some)), env, phase="test", return_actions=True, **options)
    return out["actions"], out["reward"]


def test_reward_is_the_profit_of_optimal_stays() -> None:
    """Routes that a policy draws are feasible, and earn what stage two says."""
    some = drawn()
    actions, reward = planned(some, decode_type="sampling")
    numbers = load_problems(some, least=2).node
    for row, one in enumerate(some):
        route = [int(numbers[row, node]) for node in actions[row].tolist() if node]
        best = optimal_stays(one, [route])
        assert float(reward[row]) == pytest.approx(float(best.profit[0]), rel=1e-5)
        plan = make_solution(one, [route], [best.stays[0][: len(route)]])
        assert check(one, plan) == []


def test_starts_can_be_first() -> None:
    """POMO begins with stops that can be first, as many times as it is told."""
    some = drawn()
    env = OPTWVPEnv()
    td = env.reset(episodes(some))
    starts = env.select_start_nodes(td, 5).view(5, len(some))
    for row in range(len(some)):
        possible = td["action_mask"][row].nonzero()[1:, 0].tolist()
        assert set(starts[:, row].tolist()) <= set(possible or [0])
        assert len(set(starts[:, row].tolist())) == max(1, min(5, len(possible)))
    actions, reward = planned(some, decode_type="multistart_greedy", num_starts=5)
    assert len(actions) == len(reward) == 5 * len(some)
    assert actions[:, 0].tolist() == starts.flatten().tolist()


def test_what_is_wrong_is_noticed() -> None:
    """A stop that comes twice, and one that is visited too late."""
    (one,) = generate("free", nodes=6, seed=3)
    env = OPTWVPEnv()
    td = env.reset(episodes([one]))
    env.check_solution_validity(td, torch.tensor([[1, 2, 0]]))
    with pytest.raises(AssertionError, match="twice"):
        env.check_solution_validity(td, torch.tensor([[1, 2, 1, 0]]))
    soon = one.replace(close=[one.budget, 0.0, *[one.budget] * 4])
    td = env.reset(episodes([soon]))
    numbers = load_problems([soon], least=2).node[0].tolist()
    assert 1 not in numbers  # it cannot be reached at all


def test_people_are_refused() -> None:
    """What a policy of rl4co could not be told is refused by name."""
    some = generate("people", nodes=8, vehicles=1)
    with pytest.raises(ValueError, match="people-n8-s0-0: rl4co's policies plan for one vehicle"):
        episodes(some)
