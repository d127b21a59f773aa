"""Tests of what networks are taught along routes: against rollouts of tensors, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from decost import Instance, generate, solve
from decost.draws import random_state
from decost.exact.exact import values_to_go
from decost.inference.policy import LIKELIEST, PolicyOptions, policy
from decost.inference.problems import turns_of
from decost.learn.features import load_problems
from decost.learn.lessons import (
    Leg,
    Trip,
    branches,
    imitation,
    log_probabilities,
    planner_of,
    reinforcement,
    sights,
    walk_network,
    walk_plans,
    worth_of_candidates,
)
from decost.learn.rollout import Choice, Rollout, roll_out
from decost.learn.teacher import expert_plans, grade
from policies import lively_instances, metric, small_network

OUTLOOK = {"outlook": True, "context": 6, "promising": 2}


def forced(nodes: np.ndarray) -> Choice:
    """Follow routes (batch, samples, step), whatever the logits are."""
    steps = iter(torch.from_numpy(nodes).unbind(2))
    return lambda logits: next(steps)


def same_rollout(network: torch.nn.Module, some: list[Instance], leg: Leg) -> Rollout:
    """Follow the routes of a leg by tensors, with all log-probabilities."""
    problems = load_problems(some)
    return roll_out(network, problems, leg.nodes.shape[1], forced(leg.nodes), keep_choices=True)


@pytest.mark.parametrize("seed", range(4))
def test_sights_are_those_of_a_rollout(seed: int) -> None:
    """Along the same routes a rollout of tensors finds the same choices, as likely."""
    some = lively_instances(seed)
    network = small_network("prefix", **OUTLOOK)
    trip = walk_network(
        planner_of(network), some, [turns_of(one) for one in some], 3, random_state(seed)
    )
    (leg,) = trip.legs
    rollout = same_rollout(network, some, leg)
    found = sights(leg, np.ones(leg.nodes.shape, dtype=np.bool_), network.config)
    states = 0
    for part, told in log_probabilities(network, found):
        for k, line in zip(part, told, strict=True):
            row, sample, step = found.row[k], found.sample[k], found.step[k]
            count = found.many[k]
            expected = rollout.choices[step][row, sample, found.node[k, :count]]
            torch.testing.assert_close(line[:count], expected, atol=2e-5, rtol=1e-4)
            assert found.node[k, found.chosen[k]] == leg.nodes[row, sample, step]
            states += 1
    free = sum(int(((one > -torch.inf).sum(2) > 1).sum()) for one in rollout.choices)
    assert states == free > 0


def test_worth_is_that_of_grades() -> None:
    """The exact teacher says the same of what a kernel and what a rollout went through."""
    some = [metric(one) for one in generate("mixed", nodes=9, count=5, seed=2)]
    network = small_network("prefix", outlook=True)
    turns = [turns_of(one) for one in some]
    (leg,) = walk_network(planner_of(network), some, turns, 2, random_state(1)).legs
    found = sights(leg, np.ones(leg.nodes.shape, dtype=np.bool_), network.config)
    worth = worth_of_candidates(some, leg, found, values_to_go)
    problems = load_problems(some)
    rollout = roll_out(network, problems, 2, forced(leg.nodes), keep_choices=True)
    _, expected = grade(some, problems, rollout, threads=1)
    mine = [sorted(line[np.isfinite(line)].tolist()) for line in worth]
    theirs = [sorted(line[torch.isfinite(line)].tolist()) for line in expected]
    assert len(mine) == len(theirs)
    for line, other in zip(sorted(mine), sorted(theirs), strict=True):
        assert line == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
def test_plans_of_people_are_followed(backwards: bool) -> None:
    """Plans of a search earn what it says, whoever of the vehicles leaves first."""
    some = generate("people", nodes=16, vehicles=3, count=4, seed=1)
    some += generate("paper", nodes=25, window=300, vehicles=3, seed=4)
    turns = [turns_of(one, backwards=backwards) for one in some]
    trip = walk_plans(some, turns, expert_plans(some, rounds=60))
    for row, one in enumerate(some):
        result = solve(one, method="search", iterations=60, time_limit=None)
        assert trip.profit[row, 0] == pytest.approx(result.profit)
        assert trip.missed[row, 0] == one.required.sum() - result.required_visited
    assert [leg.rows.tolist() for leg in trip.legs] == [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3]]
    network = small_network("prefix", **OUTLOOK)
    loss, count = imitation(network, trip)
    assert count > 20
    assert float(loss.detach()) > 0.0
    # What they do is not always among the six candidates that are looked at.
    everything = small_network("prefix", outlook=True, context=99)
    assert imitation(everything, trip)[1] > count


def test_equal_vehicles_that_earn_more_come_first() -> None:
    """There is one way to say a plan of a team."""
    (one,) = generate("paper", nodes=30, window=300, vehicles=3, seed=3)
    (plan,) = expert_plans([one], rounds=50)
    alone = one.replace(vehicles=1)
    earned = [walk_plans([alone], [turns_of(alone)], [[route]]).profit[0, 0] for route in plan]
    assert earned == sorted(earned, reverse=True)
    assert sum(earned) == pytest.approx(solve(one, "search", iterations=50, time_limit=None).profit)


def test_imitation_by_a_rollout() -> None:
    """The loss is the sum of the log-probabilities of the plan's choices."""
    some = generate("mixed", nodes=12, count=3, seed=5)
    network = small_network("prefix", outlook=True, context=99)
    trip = walk_plans(some, [turns_of(one) for one in some], expert_plans(some, rounds=30))
    loss, _ = imitation(network, trip)
    (leg,) = trip.legs
    told = same_rollout(network, some, leg).log_probability
    assert float(loss.detach()) == pytest.approx(-float(told.detach().sum()), rel=1e-4)


def test_branches_by_hand() -> None:
    """Four samples, of which three begin alike and two of these go on alike."""
    (one,) = generate("paper", nodes=5)
    nodes = np.array([[[1, 2, 0], [1, 2, 0], [1, 3, 0], [4, 0, 0]]])
    tables = walk_plans([one], [turns_of(one)], [[[]]]).legs[0].tables
    leg = Leg(np.array([0]), tables, np.zeros((1, 4, 5), dtype=np.bool_), nodes)
    worth = np.array([[1.0, 0.5, 0.0, 0.9]])
    (found,) = branches(Trip([leg], worth, np.zeros((1, 4), dtype=np.int64)), worth)
    assert [(way.row, way.sample, way.step) for way in found] == [(0, 0, 0), (0, 0, 1)]
    assert found[0].ways == pytest.approx({1: 1.5 - 3 * 0.6, 4: 0.3})
    assert found[1].ways == pytest.approx({2: 0.5, 3: -0.5})


def test_reinforcement_is_that_of_every_sample() -> None:
    """The gradient is that of all samples one by one, less the mean at each of their states."""
    some = lively_instances(7, vehicles=1)
    network = small_network("prefix", outlook=True, context=99)
    turns = [turns_of(one) for one in some]
    trip = walk_network(planner_of(network), some, turns, 6, random_state(3))
    worth = trip.profit / np.maximum(trip.profit.max(1, keepdims=True), 1e-9)
    loss, _ = reinforcement(network, trip, worth)
    mine = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    (leg,) = trip.legs
    rollout = same_rollout(network, some, leg)
    total = torch.zeros(())
    for row, sample, step in np.ndindex(*leg.nodes.shape):
        if step >= len(rollout.choices):
            continue
        same = (leg.nodes[row, :, :step] == leg.nodes[row, sample, :step]).all(1)
        gain = float(worth[row, sample] - worth[row, same].mean())
        total = total - gain * rollout.choices[step][row, sample, leg.nodes[row, sample, step]]
    theirs = torch.autograd.grad(total, list(network.parameters()), allow_unused=True)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_samples_are_those_that_plans_are_made_of() -> None:
    """Without chance, a walk is the plan of the method `decost`."""
    some = generate("people", nodes=14, vehicles=2, count=3, seed=2)
    trip = walk_network(
        planner_of(_generalist()), some, [turns_of(one) for one in some], 1, LIKELIEST
    )
    for row, one in enumerate(some):
        result = policy(one, PolicyOptions(symmetries=False))
        if trip.missed[row, 0] == 0:
            assert result.profit >= trip.profit[row, 0] - 1e-9


def _generalist() -> torch.nn.Module:
    from decost.inference.weights import model_path
    from decost.learn.checkpoint import load_weights

    return load_weights(model_path("generalist"))[0]


def test_outlook_by_hand() -> None:
    """A depot, a required stop with two ways, and one that only the second vehicle may visit."""
    from decost.problem.records import Alternative, Place, Stop, Vehicle

    instance = Instance.build(
        stops=[
            Stop(
                "a",
                x=3.0,
                y=0.0,
                reward=4.0,
                required=True,
                alternatives=[Alternative(close=5.0), Alternative(open=6.0)],
            ),
            Stop("b", x=0.0, y=4.0, reward=2.0),
        ],
        vehicles=[Vehicle("one", due=30.0), Vehicle("two", begin=1.0, due=30.0)],
        depot=Place(x=0.0, y=0.0),
    )
    network = small_network("prefix", outlook=True)
    trip = walk_plans([instance], [turns_of(instance)], [[[1, 3], []]])
    found = sights(trip.legs[0], np.ones(trip.legs[0].nodes.shape, np.bool_), network.config)
    told = {int(node): found.tokens[0, c, 24:] for c, node in enumerate(found.node[0])}
    unit = float(trip.legs[0].tables.time_unit[0])
    profit = float(trip.legs[0].tables.profit_unit[0])
    both = np.log1p(1)
    around = np.arcsinh(2.0 / profit / (1 + (3 * 5 / unit) ** 2))
    expected = [1, 1, both, both, 5 / unit, np.log1p(3) / 2, 1 / 3, around]
    assert told[1] == pytest.approx(expected, rel=1e-5)
    back = np.arcsinh(2 * 4.0 / profit / (1 + (3 * 5 / unit) ** 2))
    expected = [0, 0, both, both, 5 / unit, np.log1p(3) / 2, 1 / 3]
    assert told[3][:7] == pytest.approx(expected, rel=1e-5)
    assert told[3][7] < back  # the first way to visit a is over then
    assert told[0] == pytest.approx([0, 0, both, 0, 0, np.log1p(3) / 2, 0, 0], rel=1e-5)
