"""For the tests of learning: small networks, policies that are none, routes read off by hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from decost import Instance, cli, generate
from decost.inference.shapes import NetworkConfig
from decost.learn.features import Problems
from decost.learn.network import make_network
from decost.learn.rollout import Rollout, State
from odd_instances import odd_instance

KINDS = ("paper", "prefix")
SHAPE = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}


def small_network(kind: str, seed: int = 0, **changes: Any) -> Any:
    """Make a small network with random weights; its choices are far from even."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make_network(NetworkConfig(network=kind, **(SHAPE | changes)))
        with torch.no_grad():
            for weight in network.parameters():
                weight += 0.2 * torch.randn(weight.shape)
        return network.eval()


class RandomPolicy:
    """Gives logits at random from a generator of its own, and notes the states that it sees.

    Going home is made unlikely, so that routes are long.
    """

    def __init__(self, seed: int, *, stays: bool = True, prefix: bool = False) -> None:
        self.wants_prefix = prefix
        self.stays = stays
        self.generator = torch.Generator().manual_seed(seed)
        self.states: list[State] = []
        self.logits: list[Tensor] = []
        self.stay_logits: list[Tensor] = []

    def begin(self, problems: Problems) -> None:
        """Look at nothing."""

    def step(self, memory: None, state: State) -> tuple[Tensor, Tensor | None]:
        """Draw logits, in double precision."""
        shape = state.live.shape
        logits = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        logits[..., 0] -= 2.0
        self.states.append(state)
        self.logits.append(logits)
        if not self.stays:
            return logits, None
        self.stay_logits.append(3 * torch.randn(shape, generator=self.generator))
        return logits, self.stay_logits[-1]


class EarliestPolicy:
    """Prefers the stop that can be served first, and stays half of the longest stay."""

    wants_prefix = False

    def begin(self, problems: Problems) -> None:
        """Look at nothing."""

    def step(self, memory: None, state: State) -> tuple[Tensor, Tensor]:
        """Give logits that depend on nothing but the state."""
        logits = -state.start.clone()  # (batch, samples, node)
        logits[..., 0] = -1e3
        return logits, torch.zeros_like(logits)


def routes_of(problems: Problems, rollout: Rollout, row: int, sample: int) -> list[list[int]]:
    """Read the routes of a sample off one by one, with the instance's own numbers."""
    numbers = problems.node[row].tolist()
    routes: list[list[int]] = [[]]
    for node in rollout.nodes[row, sample].tolist():
        if node:
            routes[-1].append(numbers[node])
        else:
            routes.append([])
    vehicles = int(problems.vehicles[row])
    assert not any(routes[vehicles:])
    return routes[:vehicles]


def stays_of(problems: Problems, rollout: Rollout, row: int, sample: int) -> list[list[float]]:
    """Read the predicted stays of a sample off one by one, as `routes_of` does the stops."""
    stays: list[list[float]] = [[]]
    nodes, times = rollout.nodes[row, sample].tolist(), rollout.stays[row, sample].tolist()
    for node, stay in zip(nodes, times, strict=True):
        if node:
            stays[-1].append(stay)
        else:
            stays.append([])
    return stays[: int(problems.vehicles[row])]


def lively_instances(seed: int, count: int = 4, vehicles: int | None = None) -> list[Instance]:
    """Draw instances with everything that is awkward, of several sizes and teams."""
    random = np.random.default_rng(seed)
    drawn = [odd_instance(random, int(random.integers(1, 9))) for _ in range(count - 1)]
    drawn += generate("mixed", nodes=12, seed=seed)
    team = [int(random.integers(1, 4)) if vehicles is None else vehicles for _ in drawn]
    return [one.replace(vehicles=size) for one, size in zip(drawn, team, strict=True)]


def metric(instance: Instance) -> Instance:
    """Let no way be longer than another one around, so that no stop is a short cut."""
    travel = instance.travel.copy()
    for between in range(len(travel)):
        travel = np.minimum(travel, travel[:, between, None] + travel[None, between])
    return instance.replace(travel=travel)


def in_other_units(
    instance: Instance, time: float, profit: float, distance: float, shift: Sequence[float] = (0, 0)
) -> Instance:
    """Tell the same instance in other units of time, profit and distance, from another origin."""
    xy = None if instance.xy is None else distance * (instance.xy + np.array(shift))
    return instance.replace(
        budget=time * instance.budget,
        xy=xy,
        travel=None if instance.matrix is None else time * instance.matrix,
        speed=instance.speed * distance / time,
        open=time * instance.open,
        close=time * instance.close,
        leave_by=time * instance.leave_by,
        min_stay=time * instance.min_stay,
        reward=profit * instance.reward,
        pieces=[table * [profit / time, time] for table in instance.pieces],
    )


def complaint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> str:
    """Call the command line with bad input; give its one line on stderr, without its beginning."""
    monkeypatch.setattr(sys, "argv", ["decost", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.startswith("decost: ")
    assert err.count("\n") == 1
    return err.removeprefix("decost: ").removesuffix("\n")
