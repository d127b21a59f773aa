"""Samples as a tree of distinct prefixes: against rollouts and autograd, one sample at a time."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from decost import generate, optimal_stays
from decost.inference.paper import STAY_DECODERS
from decost.learn.features import Problems, load_problems
from decost.learn.losses import reinforce_loss, repulsive_loss, time_allocation_ratio
from decost.learn.network import PaperNetwork
from decost.learn.rollout import (
    Rollout,
    optimal_profit,
    predicted_profit,
    roll_out,
    stay_profits,
)
from decost.learn.tree import Harvest, Recipe, sample_tree
from policies import routes_of, small_network

SAMPLES = 20
RECIPE = Recipe(
    samples=SAMPLES,
    heads=2,
    clip=10.0,
    stay_decoder=STAY_DECODERS["sigmoid"],
    stay_share=0.0,
    reinforce=1.0,
    state_baseline=False,
    repulsive=0.0,
    ratio_of_sums=False,
    through_time=False,
    entropy=0.0,
    own_stays=False,
)


def grow(
    network: PaperNetwork, problems: Problems, recipe: Recipe, seed: int = 0
) -> tuple[Harvest, list[Tensor]]:
    """Sample a tree; give its gradients for the weights of the network."""
    with torch.enable_grad():
        return _grow(network, problems, recipe, seed)


def _grow(
    network: PaperNetwork, problems: Problems, recipe: Recipe, seed: int
) -> tuple[Harvest, list[Tensor]]:
    lookups = network.look_up(network.encode(problems))
    harvest = sample_tree(problems, lookups, network.clock(problems), recipe, seed)
    tables = [
        table
        for lookup in lookups
        if lookup is not None
        for table in (lookup.score, lookup.time_score, lookup.answer)
    ]
    weights = list(network.parameters())
    gradients = torch.autograd.grad(tables, weights, harvest.gradients, allow_unused=True)
    return harvest, [torch.zeros(()) if one is None else one for one in gradients]


def follow(network: PaperNetwork, problems: Problems, nodes: Any, through_time: bool) -> Rollout:
    """Roll the network out along given routes."""
    forced = torch.from_numpy(nodes)
    step = iter(range(forced.shape[2]))
    return roll_out(
        network,
        problems,
        forced.shape[1],
        lambda logits: forced[:, :, next(step)],
        keep_choices=True,
        through_time=through_time,
    )


def loss_of(problems: Problems, rollout: Rollout, recipe: Recipe, count: int) -> Tensor:
    """Compute the loss of equations 2 and 4 to 6 from whole routes."""
    profit, stays = optimal_profit(problems, rollout.nodes)
    unit = problems.profit_unit[:, None]
    if recipe.own_stays:
        profit = predicted_profit(problems, rollout.nodes, rollout.stays)
    earned = (profit - profit.detach()) / unit  # nothing, but for its gradient
    profit = profit.detach()
    loss = count * recipe.reinforce * reinforce_loss(profit / unit, rollout.log_probability)
    loss = loss - recipe.reinforce * earned.sum()
    ways = rollout.ways / problems.time_unit[:, None, None]
    ratios = [
        time_allocation_ratio(
            stay_profits(problems, rollout.nodes, some) / unit[..., None],
            ways,
            sums=recipe.ratio_of_sums,
        )
        for some in (rollout.stays, stays)
    ]
    loss = loss + count * recipe.repulsive * repulsive_loss(*ratios)
    return loss - recipe.entropy * rollout.total_entropy.sum()


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "REINFORCE alone": ({}, {}),
    "equation 4": ({}, {"repulsive": 0.4}),
    "ratio of sums": ({}, {"repulsive": 0.4, "ratio_of_sums": True}),
    "softmax": ({"stay_decoder": "softmax"}, {"repulsive": 0.4}),
    "through time": ({}, {"repulsive": 0.4, "through_time": True}),
    "softmax, through time": ({"stay_decoder": "softmax"}, {"through_time": True}),
    "entropy": ({}, {"entropy": 0.3}),
    "fixed stays": ({"stay_decoder": "fixed", "stay_share": 0.3}, {}),
    "own stays": ({}, {"own_stays": True, "through_time": True}),
    "own stays, softmax, equation 4": (
        {"stay_decoder": "softmax"},
        {"own_stays": True, "through_time": True, "repulsive": 0.4},
    ),
    "extended, scaled": ({"features": "extended", "scaled": True}, {"repulsive": 0.1}),
}


@pytest.mark.parametrize(("family", "vehicles"), [("paper", 1), ("mixed", 1), ("mixed", 3)])
@pytest.mark.parametrize("case", CASES)
def test_gradient_by_autograd(case: str, family: str, vehicles: int) -> None:
    """Loss and gradient are those of the same routes, rolled out one by one."""
    shape, changes = CASES[case]
    network = small_network("paper", **shape)
    config = network.config
    recipe = RECIPE._replace(
        stay_decoder=STAY_DECODERS[config.stay_decoder], stay_share=config.stay_share, **changes
    )
    instances = generate(family, nodes=16, window=500, count=4, seed=1, vehicles=vehicles)
    problems = load_problems(instances)
    with torch.enable_grad():
        harvest, found = grow(network, problems, recipe)
        rollout = follow(network, problems, harvest.nodes, recipe.through_time)
        loss = loss_of(problems, rollout, recipe, len(problems) * SAMPLES)
        wanted = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    assert harvest.report["routes"] > 2
    assert harvest.report["loss"] == pytest.approx(loss.item(), rel=1e-4, abs=1e-4)
    assert harvest.report["entropy"] == pytest.approx(rollout.entropy.item(), rel=1e-4)
    size = max(float(one.norm()) for one in wanted if one is not None)
    for own, other in zip(found, wanted, strict=True):
        expected = torch.zeros_like(own) if other is None else other.float()
        torch.testing.assert_close(own, expected, rtol=1e-3, atol=1e-5 * size)


@pytest.mark.parametrize("vehicles", [1, 3])
def test_profit_and_routes(vehicles: int) -> None:
    """Equal samples stand side by side, and the profit is what optimal stays earn."""
    network = small_network("paper")
    instances = generate("mixed", nodes=14, window=500, count=3, seed=4, vehicles=vehicles)
    problems = load_problems(instances)
    harvest, _ = grow(network, problems, RECIPE)
    rollout = follow(network, problems, harvest.nodes, False)
    profits = []
    distinct = 0
    for row, instance in enumerate(instances):
        seen: list[Any] = []
        for sample in range(SAMPLES):
            routes = routes_of(problems, rollout, row, sample)
            profits.append(optimal_stays(instance, routes).profit.sum())
            if not seen or seen[-1] != routes:
                assert routes not in seen
                seen.append(routes)
        distinct += len(seen)
    assert harvest.report["profit"] == pytest.approx(np.mean(profits), rel=1e-9)
    assert harvest.report["routes"] == pytest.approx(distinct / len(instances))


def test_stay_share() -> None:
    """A fixed share is spent wherever no deadline cuts it: with wide windows everywhere."""
    network = small_network("paper", stay_decoder="fixed", stay_share=0.25)
    instances = generate("paper", nodes=10, window=4000, count=3, seed=0, budget=1e4)
    recipe = RECIPE._replace(stay_decoder=STAY_DECODERS["fixed"], stay_share=0.25)
    harvest, _ = grow(network, load_problems(instances), recipe)
    assert harvest.report["stay_share"] == pytest.approx(0.25, rel=1e-6)


def test_samples_follow_the_probabilities() -> None:
    """Over many samples every first stop comes as often as the network says."""
    network = small_network("paper")
    problems = load_problems(generate("mixed", nodes=12, window=500, seed=2))
    many = 20_000
    harvest, _ = grow(network, problems, RECIPE._replace(samples=many))
    first = np.bincount(harvest.nodes[0, :, 0], minlength=problems.node.shape[1]) / many
    rollout = follow(network, problems, harvest.nodes[:, :1], False)
    likely = rollout.choices[0][0, 0].exp().detach().numpy()
    assert (likely > 0.02).sum() > 2
    error = np.sqrt(likely * (1 - likely) / many)
    assert np.all(np.abs(first - likely) <= 4.5 * error + 1e-9)


@pytest.mark.parametrize("state_baseline", [False, True])
def test_expected_gradient(state_baseline: bool) -> None:
    """On average over seeds it is the gradient of the expected profit over all routes."""
    network = small_network("paper", stay_decoder="fixed", clip=1.0)  # no choice is rare
    instance = generate("paper", nodes=5, window=3000, seed=3, budget=6.0)[0]
    problems = load_problems([instance])
    stops = range(1, problems.node.shape[1])
    routes, profits = [], []
    for length in range(len(stops) + 1):
        for way in permutations(stops, length):
            earned = optimal_stays(instance, [problems.node[0, list(way)].tolist()]).profit[0]
            if np.isfinite(earned):
                routes.append(way)
                profits.append(earned)
    assert len(routes) > 6
    nodes = np.zeros((1, len(routes), len(stops) + 1), dtype=np.int64)
    for sample, way in enumerate(routes):
        nodes[0, sample, : len(way)] = way
    profit = torch.tensor(profits)
    recipe = RECIPE._replace(
        samples=6,
        clip=1.0,
        stay_decoder=STAY_DECODERS["fixed"],
        reinforce=1 / 6,
        state_baseline=state_baseline,
    )
    with torch.enable_grad():
        rollout = follow(network, problems, nodes, False)
        probability = rollout.log_probability[0].exp()
        assert probability.sum().item() == pytest.approx(1.0, rel=1e-5)
        loss = -(probability * profit / problems.profit_unit[0]).sum()
        weights = list(network.routing.parameters())
        wanted = torch.cat(
            [one.flatten() for one in torch.autograd.grad(loss, weights, allow_unused=False)]
        )
        places = [k for k, one in enumerate(network.parameters()) if any(one is w for w in weights)]
        draws = []
        for seed in range(600):
            _, found = grow(network, problems, recipe, seed)
            draws.append(torch.cat([found[k].flatten() for k in places]))
    table = torch.stack(draws)
    # Compared with the mean of an instance's samples, itself among them, 1/6 of it is lost.
    kept = 1.0 if state_baseline else 5 / 6
    error = table.std(0) / len(draws) ** 0.5
    far = (table.mean(0) - kept * wanted).abs() > 4.5 * error + 1e-6
    assert far.float().mean() < 0.01
    assert float((table.mean(0) - kept * wanted).norm() / wanted.norm()) < 0.25
