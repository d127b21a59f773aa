"""What training minimises: the paper's losses (equations 2, 4, 5 and 6), and regret."""

from __future__ import annotations

import torch
from torch import Tensor


def reinforce_loss(profit: Tensor, log_probability: Tensor) -> Tensor:
    """REINFORCE against the mean of an instance's own samples (equation 2).

    Both have shape (batch, samples); gradients flow through the second.
    """
    advantage = profit - profit.mean(1, keepdim=True)  # (batch, samples)
    return -(advantage.detach() * log_probability).mean()


def time_allocation_ratio(profit: Tensor, ways: Tensor, *, sums: bool = False) -> Tensor:
    """Profit-weighted time allocation ratio of routes: pTAR, equation 4.

    With `sums` it is the ratio of both sums, as in the published code, and not a sum of ratios.

    Parameters
    ----------
    profit
        What the stays earn at every node, (batch, samples, step).
    ways
        Travel times to the nodes, (batch, samples, step). A way of no length would make the
        ratio infinite, and is left out.

    Returns
    -------
    Tensor
        One ratio a route, (batch, samples).
    """
    if sums:
        total = ways.sum(2)  # (batch, samples)
        return (profit.sum(2) / total.where(total > 0.0, 1.0)).where(total > 0.0, 0.0)
    counts = ways > 0.0  # (batch, samples, step)
    ratio = profit / ways.where(counts, 1.0)  # (batch, samples, step)
    return ratio.where(counts, 0.0).sum(2)  # (batch, samples)


def repulsive_loss(predicted: Tensor, optimal: Tensor) -> Tensor:
    """Push the ratio of the predicted stays away from that of the optimal ones (equation 5)."""
    return -(predicted - optimal.detach()).square().mean()


def total_loss(reinforce: Tensor, repulsive: Tensor, beta1: float, beta2: float) -> Tensor:
    """Sum of both, weighted (equation 6)."""
    return beta1 * reinforce + beta2 * repulsive


def regret(worth: Tensor) -> Tensor:
    """How much less each choice is worth than the best one, 1 where it is impossible.

    `worth` holds the profit of the best plan after each choice as a part of the best plan of
    all, (state, node), minus infinity where there is none.
    """
    best = worth.amax(1, keepdim=True)  # (state, 1)
    return (best - worth).clamp(max=1.0)  # (state, node)


def regret_loss(log_probability: Tensor, worth: Tensor) -> Tensor:
    """Sum the expected regret of the choices over all states."""
    return (log_probability.exp() * regret(worth)).sum()


def imitation_loss(log_probability: Tensor, worth: Tensor, temperature: float) -> Tensor:
    """Cross-entropy to the choices of a teacher who knows their worth, the sum over all states.

    The teacher takes a choice that is worse by `temperature` e times less often than the best.
    """
    target = (worth / temperature).softmax(1)  # (state, node)
    known = log_probability.masked_fill(torch.isinf(log_probability), 0.0)  # (state, node)
    return -(target * known).sum()


def balance_loss(
    log_probability: Tensor, log_partition: Tensor, objective: Tensor, beta: float
) -> Tensor:
    """Trajectory balance of GFACS: routes should be as likely as exp(beta * objective).

    Parameters
    ----------
    log_probability, objective
        Of each route; the objective counts less its mean, (..., routes).
    log_partition
        Logarithm of what all routes together weigh, (...).
    beta
        How much the objective counts.
    """
    centred = objective - objective.mean(-1, keepdim=True)  # (..., routes)
    flow = log_partition[..., None] + log_probability  # (..., routes)
    return (flow - beta * centred).square().mean()
