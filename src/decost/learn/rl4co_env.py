"""The paper's problem as an environment of rl4co (extra `rl4co`), for any of its policies.

    from rl4co.models import AttentionModelPolicy, POMO
    from decost.learn.rl4co_env import OPTWVPEnv, embeddings

    env = OPTWVPEnv(nodes=50, window=100)
    policy = AttentionModelPolicy(env_name=env.name, **embeddings(128))
    model = POMO(env, policy, num_starts=20)

Observation
    `locs` and `features` of the nodes that matter, as the package's own networks see them;
    `current_node` and `clock`, the part of the day that is over.
Action
    The next stop, or 0 to go home, which ends an episode.
Constraints
    `action_mask` is the feasibility mask of `decost.learn.rollout`.
Reward
    Profit of the route with the stays that are best for it: stage two, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from rl4co.envs.common.base import RL4COEnvBase
from rl4co.envs.common.utils import Generator
from rl4co.models.nn.env_embeddings.context import EnvContext
from rl4co.models.nn.env_embeddings.dynamic import StaticEmbedding
from tensordict import TensorDict
from torch import Tensor, nn
from torchrl.data import Bounded, Composite, Unbounded

from decost.inference.problems import Tables
from decost.inference.shapes import NODE_FEATURES
from decost.learn.batched_stays import Batch
from decost.learn.features import Problems, load_problems
from decost.learn.rollout import State, move, optimal_profit, start_state
from decost.problem.generators import generate
from decost.problem.instance import Instance

BATCH = ("travel", "open", "close", "leave_by", "reward", "min_stay", "rate", "length", "horizon")
"""What an episode has to know of its instance (`decost.learn.batched_stays.Batch`)."""

PROBLEM = ("node", "latest", "time_unit", "profit_unit")
"""What else it has to know (`decost.learn.features.Problems`)."""

GIVEN = "given_{}"
"""What these are called among the tensors of an episode, where `reward` is something else."""


class InstanceGenerator(Generator):  # type: ignore[misc]
    """Draws instances of a family of `decost.generate`; others in every call."""

    def __init__(self, family: str, nodes: int, window: float, seed: int) -> None:
        super().__init__()
        self.family, self.nodes, self.window, self.seed = family, nodes, window, seed

    def _generate(self, batch_size: Sequence[int]) -> TensorDict:
        count = int(torch.Size(batch_size).numel())
        drawn = generate(
            self.family, nodes=self.nodes, window=self.window, count=count, seed=self.seed
        )
        self.seed += 1
        return episodes(drawn)


def episodes(instances: Sequence[Instance]) -> TensorDict:
    """Make a batch of instances for the environment: each has one vehicle, and a way a stop."""
    for one in instances:
        if not (one.simple and one.vehicles == 1 and one.alike) or one.required.any():
            raise ValueError(f"{one.name}: rl4co's policies plan for one vehicle and plain stops")
    problems = load_problems(instances, least=2)
    features = problems.node_features()
    tensors = {GIVEN.format(name): getattr(problems.batch, name) for name in BATCH}
    tensors |= {GIVEN.format(name): getattr(problems, name) for name in PROBLEM}
    tensors |= {"locs": features[..., :2] + 0.5, "features": features[..., 2:]}
    return TensorDict(tensors, batch_size=[len(instances)])


class OPTWVPEnv(RL4COEnvBase):  # type: ignore[misc]
    """Orienteering with time windows and variable profits, one vehicle.

    Parameters
    ----------
    family, nodes, window
        Instances, as `decost.generate` draws them; not "people", who need more than a policy of
        rl4co can be told.
    seed
        Of the instances.
    **kwargs
        As of `RL4COEnvBase`.
    """

    name = "optwvp"

    def __init__(
        self,
        family: str = "paper",
        nodes: int = 50,
        window: float = 100,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.generator = InstanceGenerator(family, nodes, window, seed)
        self._make_spec(nodes)

    def _make_spec(self, nodes: int) -> None:
        self.observation_spec = Composite(
            locs=Bounded(low=0.0, high=1.0, shape=(nodes, 2), dtype=torch.float32),
            features=Unbounded(shape=(nodes, NODE_FEATURES - 2), dtype=torch.float32),
            current_node=Unbounded(shape=(1,), dtype=torch.int64),
            clock=Unbounded(shape=(1,), dtype=torch.float32),
            action_mask=Unbounded(shape=(nodes,), dtype=torch.bool),
            shape=(),
        )
        self.action_spec = Bounded(shape=(1,), dtype=torch.int64, low=0, high=nodes)
        self.reward_spec = Unbounded(shape=(1,))
        self.done_spec = Unbounded(shape=(1,), dtype=torch.bool)

    def _reset(self, td: TensorDict | None = None, batch_size: Any = None) -> TensorDict:
        assert td is not None
        problems = _problems(td)
        told = _told(problems, start_state(problems, 1, prefix=False))
        return td.clone(recurse=False).update(told)

    def _step(self, td: TensorDict) -> TensorDict:
        problems = _problems(td)
        state = State(
            place=td["current_node"],
            time=td["time"],
            visited=td["visited"][:, None],
            vehicles=torch.zeros_like(td["current_node"]),
            done=td["done"].reshape(-1, 1),
            start=td["start"][:, None],
            live=td["action_mask"][:, None],
            prefix=None,
        )
        after, _ = move(problems, state, td["action"][:, None], None)
        td.update(_told(problems, after))
        td.set("reward", torch.zeros_like(td["time"][:, 0]))
        return td

    def _get_reward(self, td: TensorDict, actions: Tensor) -> Tensor:
        profit, _ = optimal_profit(_problems(td), actions[:, None])
        return profit[:, 0].float()

    def check_solution_validity(self, td: TensorDict, actions: Tensor) -> None:
        """Raise an AssertionError if a stop comes twice, or cannot be served in time."""
        problems = _problems(td)
        state = start_state(problems, 1, prefix=False)
        for node in actions.unbind(1):
            live = state.live.gather(2, node[:, None, None])
            assert bool(live.all()), "a stop is visited twice, or too late"
            state, _ = move(problems, state, node[:, None], None)

    def get_num_starts(self, td: TensorDict) -> int:
        """Start at as many stops as any instance has."""
        return int(td["action_mask"].sum(1).max())

    def select_start_nodes(self, td: TensorDict, num_starts: int) -> Tensor:
        """Start at the stops that can be first, again from the first one if there are fewer."""
        order = td["action_mask"][:, 1:].float().argsort(dim=1, descending=True, stable=True) + 1
        many = td["action_mask"][:, 1:].sum(1)  # (batch,)
        turn = torch.arange(num_starts, device=td.device)[:, None] % many.clamp(min=1)
        start = order.gather(1, turn.t()).where(many[:, None] > 0, 0)  # (batch, start)
        starts: Tensor = start.t().flatten()  # all instances with the first start, then the second
        return starts


def _problems(td: TensorDict) -> Problems:
    """Read the problems of episodes, each of them a batch of its own sample."""
    batch = Batch(**{name: td[GIVEN.format(name)] for name in BATCH})
    given = {name: td[GIVEN.format(name)] for name in PROBLEM}
    return Problems(
        tables=cast(Tables, None),  # for kernels, of which none is called here
        batch=batch,
        stop=given["node"],
        latest_by_detour=given["latest"],
        xy=td["locs"],
        vehicles=given["node"].new_ones(len(td)),
        **given,
    )


def _told(problems: Problems, state: State) -> dict[str, Tensor]:
    """Tell of the state of episodes."""
    begin, shift = problems.batch.begin[:, None], problems.some_shift[:, None]  # (batch, 1)
    return {
        "current_node": state.place,
        "time": state.time,
        "visited": state.visited[:, 0],
        "start": state.start[:, 0],
        "action_mask": state.live[:, 0],
        "done": state.done[:, 0],
        "clock": ((state.time - begin) / shift).float(),
    }


class NodeEmbedding(nn.Module):
    """Embeds nodes by place and features."""

    def __init__(self, embed_dim: int) -> None:
        super().__init__()
        self.embed = nn.Linear(NODE_FEATURES, embed_dim)

    def forward(self, td: TensorDict) -> Tensor:
        """Give (batch, node, width)."""
        embedded: Tensor = self.embed(torch.cat((td["locs"], td["features"]), 2))
        return embedded


class StateEmbedding(EnvContext):  # type: ignore[misc]
    """Embeds where a vehicle is, and how much of the day is over."""

    def __init__(self, embed_dim: int) -> None:
        super().__init__(embed_dim, embed_dim + 1)

    def _state_embedding(self, embeddings: Tensor, td: TensorDict) -> Tensor:
        clock: Tensor = td["clock"]
        return clock


def embeddings(embed_dim: int = 128) -> dict[str, nn.Module]:
    """Make what a policy of rl4co needs to look at this environment, by the names that it takes."""
    return {
        "init_embedding": NodeEmbedding(embed_dim),
        "context_embedding": StateEmbedding(embed_dim),
        "dynamic_embedding": StaticEmbedding(),
    }
