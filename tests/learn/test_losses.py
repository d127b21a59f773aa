"""Tests of the losses: numbers worked out by hand, and where a step along them leads."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from decost.learn.losses import (
    imitation_loss,
    regret,
    regret_loss,
    reinforce_loss,
    repulsive_loss,
    time_allocation_ratio,
    total_loss,
)


def table(*rows: list[float], gradient: bool = False) -> Tensor:
    """Make a table of doubles."""
    return torch.tensor(rows, dtype=torch.float64, requires_grad=gradient)


def test_reinforce_by_hand() -> None:
    """Advantages are -1 and 1, and 0: -((-1)(-1) + (1)(-2) + 0 + 0) / 4."""
    profit = table([1, 3], [5, 5])
    log_probability = table([-1, -2], [-3, -4], gradient=True)
    loss = reinforce_loss(profit, log_probability)
    assert loss.item() == pytest.approx(0.25)
    loss.backward()
    assert log_probability.grad is not None
    assert log_probability.grad.tolist() == [[0.25, -0.25], [0, 0]]


def test_reinforce_knows_no_level() -> None:
    """A profit that all samples of an instance have more changes nothing."""
    profit, log_probability = table([1, 3, 8], [5, 6, 7]), table([-1, -2, -1], [-3, -4, -2])
    more = profit + table([100], [-50])
    first, second = (reinforce_loss(some, log_probability) for some in (profit, more))
    assert first.item() == pytest.approx(second.item())


def test_reinforce_prefers_the_better_sample() -> None:
    """A step down the loss makes the sample of more profit likelier, the other less likely."""
    logits = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    reinforce_loss(table([2, 5]), logits.log_softmax(1)).backward()
    assert logits.grad is not None
    after = (logits.detach() - 0.1 * logits.grad).softmax(1)
    assert after[0, 1] > 0.5 > after[0, 0]


def test_no_gradient_through_the_profit() -> None:
    """Profits are facts."""
    profit = table([1, 3], gradient=True)
    reinforce_loss(profit, table([-1, -2], gradient=True)).backward()
    assert profit.grad is None


def test_ratio_by_hand() -> None:
    """6 / 2 + 4 / 8 + 0 / 5; a way of no length counts for nothing (equation 4)."""
    profit = torch.tensor([[[6.0, 4.0, 0.0, 7.0], [0.0, 0.0, 0.0, 0.0]]])
    ways = torch.tensor([[[2.0, 8.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    assert time_allocation_ratio(profit, ways).tolist() == [[3.5, 0.0]]


def test_ratio_of_sums_by_hand() -> None:
    """17 / 15, as the published code has it: a way of no length counts in the sum."""
    profit = torch.tensor([[[6.0, 4.0, 0.0, 7.0], [1.0, 0.0, 0.0, 0.0]]])
    ways = torch.tensor([[[2.0, 8.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    found = time_allocation_ratio(profit, ways, sums=True).tolist()
    assert found == [[pytest.approx(17 / 15), 0.0]]


def test_gradient_of_the_ratio() -> None:
    """One over each way, 0 where there is none, and never a number that is not finite."""
    profit = torch.tensor([[[6.0, 4.0, 7.0]]], requires_grad=True)
    time_allocation_ratio(profit, torch.tensor([[[2.0, 8.0, 0.0]]])).sum().backward()
    assert profit.grad is not None
    assert profit.grad.tolist() == [[[0.5, 0.125, 0.0]]]


def test_repulsive_by_hand() -> None:
    """-((1 - 3)^2 + (5 - 4)^2) / 2 (equation 5); a step leads away from the optimal ratio."""
    predicted, optimal = table([1, 5], gradient=True), table([3, 4], gradient=True)
    loss = repulsive_loss(predicted, optimal)
    assert loss.item() == -2.5
    loss.backward()
    assert optimal.grad is None
    assert predicted.grad is not None
    assert predicted.grad.tolist() == [[2, -1]]
    after = predicted.detach() - 0.1 * predicted.grad
    assert ((after - optimal).abs() > (predicted - optimal).abs()).all()


def test_total_by_hand() -> None:
    """Equation 6; each part has its own weight in the gradient, too."""
    parts = [torch.tensor(value, requires_grad=True) for value in (3.0, -2.0)]
    total = total_loss(*parts, 1000.0, 10.0)
    assert total.item() == 2980
    total.backward()
    assert [float(part.grad) for part in parts if part.grad is not None] == [1000, 10]


def test_regret_by_hand() -> None:
    """Less than the best choice of the same state, at most 1, and 1 where it is impossible."""
    worth = table([1, 0.75, -math.inf], [0.25, 0.5, 0.5], [1, -3, 0])
    assert regret(worth).tolist() == [[0, 0.25, 1], [0.25, 0, 0], [0, 1, 1]]


def test_regret_loss_by_hand() -> None:
    """0.5 * 0 + 0.3 * 0.25 + 0.2 * 1, and a state where all is well."""
    worth = table([1, 0.75, 0], [0.5, 0.5, -math.inf])
    log_probability = table([0.5, 0.3, 0.2], [0.6, 0.4, 0.0]).log()
    assert regret_loss(log_probability, worth).item() == pytest.approx(0.275)


def test_regret_loss_prefers_the_best_choice() -> None:
    """A step down makes the best choice likelier; what cannot be chosen has no gradient."""
    logits = table([0, 0, 0, -math.inf], gradient=True)
    worth = table([0.9, 1, 0.2, -math.inf])
    regret_loss(logits.log_softmax(1), worth).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 3] == 0
    # The mean regret is 0.3: what is better than that becomes likelier.
    expected = [(0.1 - 0.3) / 3, (0.0 - 0.3) / 3, (0.8 - 0.3) / 3, 0]
    assert logits.grad[0].tolist() == pytest.approx(expected)


def test_imitation_by_hand() -> None:
    """The teacher takes a choice that is worse by the temperature e times less often."""
    worth = table([1, 0.9, -math.inf])
    target = [math.e / (math.e + 1), 1 / (math.e + 1)]
    log_probability = table([0.25, 0.75, 0.0]).log()
    expected = -(target[0] * math.log(0.25) + target[1] * math.log(0.75))
    assert imitation_loss(log_probability, worth, 0.1).item() == pytest.approx(expected)
    twice = imitation_loss(log_probability.repeat(2, 1), worth.repeat(2, 1), 0.1)
    assert twice.item() == pytest.approx(2 * expected)


def test_imitation_ends_at_the_teacher() -> None:
    """There is nothing to learn from one whose choices one makes."""
    worth = table([1, 0.93, 0.5, -math.inf])
    logits = (worth / 0.2).clone().requires_grad_()
    imitation_loss(logits.log_softmax(1), worth, 0.2).backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-12)
    other = table([0, 0, 0, -math.inf], gradient=True)
    imitation_loss(other.log_softmax(1), worth, 0.2).backward()
    assert other.grad is not None
    assert other.grad[0, 0] < 0 < other.grad[0, 2]


def test_what_cannot_be_chosen_stays_finite() -> None:
    """Losses and gradients are finite where a rollout forbids most nodes, or all but home."""
    worth = table([1, -math.inf, 0.4, -math.inf], [0.7, -math.inf, -math.inf, -math.inf])
    logits = table([0.3, 2, -1, 5], [9, 1, 1, 1], gradient=True)
    # A state where a node can be chosen that no plan goes on from: a regret of 1.
    worth, lost = torch.cat((worth, table([1, -math.inf, 0.9, 0.8]))), table([0, 0, 0, 0])
    masked = torch.cat((logits.masked_fill(worth[:2] == -math.inf, -math.inf), lost))
    log_probability = masked.log_softmax(1)
    missed = regret_loss(log_probability, worth)
    odds = math.exp(0.3) / (math.exp(0.3) + math.exp(-1))
    assert missed.item() == pytest.approx(0.6 * (1 - odds) + (0 + 1 + 0.1 + 0.2) / 4)
    copied = imitation_loss(log_probability, worth, 0.005)
    assert copied.isfinite()
    (missed + copied).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 0] < 0 < logits.grad[0, 2]
    assert not logits.grad[0, [1, 3]].any()
    assert not logits.grad[1].any()


def test_no_states() -> None:
    """Without states there is no loss."""
    nothing = torch.zeros(0, 5)
    assert regret_loss(nothing, nothing) == 0
    assert imitation_loss(nothing, nothing, 0.1) == 0
