"""Tests of the exact teacher: worths by brute force, and regrets that add up to the gap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from decost import Instance, generate, optimal_stays, solve
from decost.learn.features import Problems, load_problems
from decost.learn.losses import regret
from decost.learn.rollout import Rollout, optimal_profit, roll_out, sampled_choice
from decost.learn.teacher import grade, lesson
from odd_instances import all_routes, brute_force, odd_instance
from policies import RandomPolicy, metric, routes_of, small_network
from seeds import seeds


def taught(
    some: list[Instance], seed: int, samples: int = 3
) -> tuple[Problems, Rollout, torch.Tensor, torch.Tensor]:
    """Roll out at random, in double precision, and grade it."""
    problems = load_problems(some)
    choose = sampled_choice(torch.Generator().manual_seed(seed))
    policy = RandomPolicy(seed, stays=False)
    rollout = roll_out(policy, problems, samples, choose, keep_choices=True)
    return problems, rollout, *grade(some, problems, rollout, threads=1)


def free_states(rollout: Rollout) -> Iterator[tuple[int, int, int]]:
    """Go through step, row and sample of the states with a choice, in the order of the grades."""
    for step, log_probability in enumerate(rollout.choices):
        count, samples, _ = log_probability.shape
        for row in range(count):
            for sample in range(samples):
                if (log_probability[row, sample] > -torch.inf).sum() > 1:
                    yield step, row, sample


def drawn(family: str, seed: int) -> list[Instance]:
    """Draw instances without short cuts."""
    if family == "odd":
        random = np.random.default_rng(seed)
        some = [odd_instance(random, int(random.integers(1, 6))) for _ in range(6)]
    else:
        nodes = 25 if family == "paper" else 9
        some = generate(family, nodes=nodes, count=4, seed=seed)
    return [metric(one) if one.matrix is not None else one for one in some]


@pytest.mark.parametrize("family", ["odd", "paper", "mixed"])
@pytest.mark.parametrize("seed", seeds(3))
def test_regrets_add_up_to_the_gap(family: str, seed: int) -> None:
    """Along any route they are what it misses of the optimum, as a part of it."""
    some = drawn(family, seed)
    problems, rollout, log_probability, worth = taught(some, seed)
    missed: dict[tuple[int, int], float] = defaultdict(float)
    states = list(free_states(rollout))
    assert len(states) == len(log_probability) == len(worth) > 0
    for at, (step, row, sample) in enumerate(states):
        node = rollout.nodes[row, sample, step]
        missed[row, sample] += float(regret(worth)[at, node])
        assert torch.equal(log_probability[at], rollout.choices[step][row, sample])
    profit, _ = optimal_profit(problems, rollout.nodes)
    gaps = 0
    for row, instance in enumerate(some):
        best = brute_force(instance) if family == "odd" else solve(instance, "exact").profit
        for sample in range(3):
            if best == 0:
                assert missed[row, sample] == 0
                continue
            gap = (best - float(profit[row, sample])) / best
            assert missed[row, sample] == pytest.approx(gap, abs=1e-6)
            gaps += gap > 0.01
    assert gaps > 0


@pytest.mark.parametrize("seed", seeds(4))
def test_worth_by_brute_force(seed: int) -> None:
    """Every plan that begins with the route so far and the choice is tried."""
    some = drawn("odd", 100 + seed)
    problems, rollout, _, worth = taught(some, seed, samples=2)
    best = [brute_force(instance) for instance in some]
    for at, (step, row, sample) in enumerate(free_states(rollout)):
        instance = some[row]
        numbers = problems.node[row].tolist()
        so_far = tuple(numbers[k] for k in rollout.nodes[row, sample, :step].tolist())
        possible = rollout.choices[step][row, sample] > -torch.inf
        for node in range(len(numbers)):
            found = float(worth[at, node])
            if not possible[node]:
                assert found == -np.inf
                continue
            begun = (*so_far, numbers[node]) if node else so_far
            plans = all_routes(instance, begun) if node else [so_far]
            most = optimal_stays(instance, plans).profit.max()
            assert found * best[row] == pytest.approx(most, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("family", ["odd", "paper", "mixed"])
def test_best_first_choice_is_worth_all(family: str) -> None:
    """At the depot the best choice leads to the best plan: its worth is 1, and none is more."""
    some = drawn(family, 7)
    _, rollout, _, worth = taught(some, 7)
    at_depot = 0
    for at, (step, _, _) in enumerate(free_states(rollout)):
        if step == 0 and float(worth[at].max()) > 0:
            assert float(worth[at].max()) == pytest.approx(1.0)
            at_depot += 1
        assert float(worth[at].max()) <= 1 + 1e-9
    assert at_depot >= 3


def test_worth_by_hand() -> None:
    """Two stops on a line in opposite directions, and time for one of them or, briefly, for both.

    Stop 1 at 1 earns 2 a unit, stop 2 at -2 earns 3 a unit, both up to 9; the budget is 8. Stop 1
    alone takes 2 of it and earns 12, stop 2 alone takes 4 and earns 12; both take 6 and earn 6.
    """
    instance = Instance(budget=8, xy=[[0, 0], [1, 0], [-2, 0]], rate=[0, 2, 3], max_stay=[0, 9, 9])
    problems, rollout, _, worth = taught([instance], 0, samples=8)
    seen = set()
    for at, (step, _, sample) in enumerate(free_states(rollout)):
        (route,) = routes_of(problems, rollout, 0, sample)
        found = worth[at].tolist()
        if step == 0:
            assert found == pytest.approx([0, 1, 1])
        elif route[:step] == [1]:
            assert found == [pytest.approx(1), -np.inf, pytest.approx(0.5)]
        else:
            assert found == [pytest.approx(1), pytest.approx(0.5), -np.inf]
        seen.add(tuple(route[:step]))
    assert seen == {(), (1,), (2,)}


def test_threads_change_nothing() -> None:
    """However many states are graded at a time."""
    some = drawn("mixed", 3)
    problems, rollout, one, worth = taught(some, 3)
    again, threaded = grade(some, problems, rollout, threads=3)
    assert torch.equal(one, again)
    assert torch.equal(worth, threaded)


def test_states_without_a_choice_are_left_out() -> None:
    """Only states from which a vehicle can go elsewhere than home are graded, one row each."""
    some = [one for family in ("odd", "paper", "mixed") for one in drawn(family, 5)]
    problems = load_problems(some)
    policy = RandomPolicy(5, stays=False)
    choose = sampled_choice(torch.Generator().manual_seed(5))
    rollout = roll_out(policy, problems, 3, choose, keep_choices=True)
    log_probability, worth = grade(some, problems, rollout, threads=1)
    masks = [
        state.live[row, sample]
        for state in policy.states
        for row in range(len(some))
        for sample in range(3)
    ]
    kept = [live for live in masks if live[1:].any()]
    assert 0 < len(kept) < len(masks)
    assert torch.equal(log_probability > -torch.inf, torch.stack(kept))
    assert torch.equal(worth > -torch.inf, torch.stack(kept))


def test_nothing_to_choose() -> None:
    """Where no stop can be reached there is nothing to teach."""
    far = Instance(budget=1, xy=[[0, 0], [9, 0]], rate=[0, 1], max_stay=[0, 1])
    _, _, log_probability, worth = taught([far, far], 0)
    assert log_probability.shape == worth.shape == (0, 1)
    loss, missed = lesson(log_probability, worth, imitate=0.5, temperature=0.1)
    assert (float(loss), float(missed)) == (0, 0)


def test_nothing_to_earn() -> None:
    """Where nothing can be earned every choice is as good."""
    travel = np.ones((3, 3))
    nothing = Instance(budget=9, travel=travel)
    _, _, log_probability, worth = taught([nothing], 0)
    assert len(worth) > 0
    possible = log_probability > -torch.inf
    assert (worth[possible] == 0).all()
    assert not regret(worth)[possible].any()


def test_lesson_by_hand() -> None:
    """Mean regret a hundredfold, or imitation, or a part of each."""
    log_probability = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    worth = torch.tensor([[1.0, 0.8], [0.5, 0.5]])
    missed = 0.5 * 0.2 / 2
    copied = np.log(2) - 0.5 * (np.log(0.25) + np.log(0.75))
    for imitate in (0.0, 0.3, 1.0):
        loss, regrets = lesson(log_probability, worth, imitate=imitate, temperature=0.1)
        expected = 100 * (1 - imitate) * missed + imitate * copied / 2
        assert float(loss) == pytest.approx(expected, rel=1e-6)
        assert float(regrets) == pytest.approx(missed)


@pytest.mark.parametrize("imitate", [0.0, 1.0])
def test_lesson_teaches(imitate: float) -> None:
    """A few steps on the same states make a network's expected regret much smaller."""
    some = generate("paper", nodes=15, count=4, seed=1)
    network = small_network("prefix")
    problems = load_problems(some)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    regrets = []
    for _ in range(20):
        choose = sampled_choice(torch.Generator().manual_seed(1))
        rollout = roll_out(network, problems, 4, choose, keep_choices=True)
        graded = grade(some, problems, rollout, threads=1)
        loss, missed = lesson(*graded, imitate=imitate, temperature=0.01)
        regrets.append(float(missed))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert regrets[-1] < 0.4 * regrets[0]


def test_lesson_is_one_or_the_other() -> None:
    """At the ends it is imitation alone, or a hundred times the regret alone."""
    some = drawn("paper", 2)
    *_, log_probability, worth = taught(some, 2)
    share, best = log_probability.exp(), worth.max(1, keepdim=True).values
    target = ((worth - best) / 0.05).exp()
    target = target / target.sum(1, keepdim=True)
    known = log_probability.where(log_probability > -torch.inf, 0.0)
    copied = -(target * known).sum(1).mean()
    missed = (share * (best - worth).where(share > 0, 0.0)).sum(1).mean()
    for imitate, expected in ((1.0, copied), (0.0, 100 * missed)):
        loss, regrets = lesson(log_probability, worth, imitate=imitate, temperature=0.05)
        assert float(loss) == pytest.approx(float(expected))
        assert float(regrets) == pytest.approx(float(missed))
        assert not regrets.requires_grad
