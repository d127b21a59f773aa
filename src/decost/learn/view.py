"""What the engine knows before a choice: the exact consequences of every next step.

The paper's service-time decoder guesses how much time the stops so far will take. The time-profit
function of the route so far knows it. For every candidate this gives the profit that waiting for
it buys, what can still be earned on the way to it, and how much time it leaves; for every pair
of candidates, whether one fits before the other and what it can earn there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from decost.learn.features import SYMMETRIES, Problems, turn
from decost.learn.rollout import Prefix, State

POINTS = (0.0, 0.25, 0.5, 1.0)
"""Parts of the time left at a candidate for which its time-profit function is told."""

TOKEN_FEATURES = 24
"""Numbers that describe a candidate."""

PAIR_FEATURES = 6
"""Numbers that describe a pair of candidates."""

FAR = 4.0
"""Times and profits beyond so many units make no difference between pairs."""

BEYOND = 20.0
"""No feature of a candidate is larger."""


@dataclass(frozen=True)
class View:
    """The choices of many states, without units; home is the first candidate of each.

    Attributes
    ----------
    state
        Which state it is: batch row times samples plus sample, (view,).
    node
        The candidates, by their number in the batch, (view, candidate).
    live
        Whether a candidate is one, and no padding, (view, candidate).
    tokens
        Features of the candidates, (view, candidate, TOKEN_FEATURES).
    pairs
        Features of serving one candidate right before another, (view, PAIR_FEATURES, first,
        second).
    """

    state: Tensor
    node: Tensor
    live: Tensor
    tokens: Tensor
    pairs: Tensor

    def __len__(self) -> int:
        return len(self.state)


@torch.no_grad()
def observe(problems: Problems, state: State, index: Tensor, context: int) -> View:
    """Work out what can be known of the candidates of some states.

    `index` tells which: batch row times samples plus sample. Of more than `context` stops those
    are looked at where service can start first.
    """
    scaled, function = problems.scaled, state.prefix
    assert function is not None
    samples, nodes = state.live.shape[1:]
    row = index // samples  # (view,)
    live = state.live.flatten(0, 1)[index]  # (view, node)
    start = state.start.flatten(0, 1)[index]  # (view, node)
    key = start.masked_fill(~live, torch.inf)  # (view, node)
    key[:, 0] = -torch.inf
    width = min(int(live.sum(1).max()), 1 + context)
    node = key.topk(width, dim=1, largest=False).indices  # (view, candidate)
    live = live.gather(1, node)  # (view, candidate)
    leave = state.time.flatten()[index][:, None]  # (view, 1)
    time_unit = problems.time_unit[row][:, None]  # (view, 1)
    rate_unit = problems.profit_unit[row][:, None] / time_unit  # (view, 1)

    def times(table: Tensor) -> Tensor:
        return (table / time_unit).float()

    place = nodes * row + state.place.flatten()[index]  # (view,)
    at = nodes * row[:, None] + node  # (view, candidate): rows of the scaled tables
    table = scaled.nodes[at]  # (view, candidate, column)
    now = times(leave)  # (view, 1)
    latest, min_stay, max_stay, home, leave_by, rate, reward, x, y = table.unbind(2)
    way = scaled.travel.take(nodes * place[:, None] + node)  # (view, candidate)
    start = times(start.gather(1, node) - leave)  # (view, candidate): from now on
    budget = scaled.budget[row][:, None] - now  # (view, 1): from now on
    latest = latest - now  # (view, candidate)
    latest[:, :1] = budget
    wait = start - way  # (view, candidate)
    spare = (latest - start).clamp_(min=0.0)  # (view, candidate)

    prefix = Prefix(
        value=function.value.flatten()[index][None],
        rate=(function.rate.flatten(0, 1)[index] / rate_unit).float()[None],
        length=times(function.length.flatten(0, 1)[index])[None],
        room=times(function.room.flatten()[index][:, None]),
    )  # without units, as of one instance with so many samples
    points = wait[..., None] + spare[..., None] * wait.new_tensor(POINTS)  # (.., candidate, point)
    points = torch.minimum(points.flatten(1), prefix.room)  # (view, candidate * point)
    gains = prefix.gained(points[None]).view(*node.shape, -1)  # (view, candidate, point)
    certain, last = gains[..., 0], gains[..., -1]  # (view, candidate)
    pending = (prefix.rate * prefix.length).sum(2)[0][:, None]  # (view, 1)
    best_rate = prefix.rate[0].amax(1, keepdim=True) if prefix.rate.shape[2] else 0 * pending

    limit = torch.minimum(leave_by - now, budget - home) - start - min_stay  # (view, candidate)
    length = scaled.length[at]  # (view, candidate, piece)
    used = limit[..., None] - (length.cumsum(2) - length)  # (view, candidate, piece)
    used = torch.minimum(used.clamp_(min=0.0), length)
    own = reward + (scaled.rate[at] * used).sum(2)  # (view, candidate)

    here = scaled.nodes[place, -2:]  # (view, 2)
    where = torch.stack((x - here[:, :1], y - here[:, 1:]), 2)  # (view, candidate, 2)
    if problems.turning:
        where = turn(where, (index % samples * SYMMETRIES // samples)[:, None])
    is_home = torch.zeros_like(start)  # (view, candidate)
    is_home[:, 0] = 1.0
    columns = (
        is_home,
        where[..., 0],
        where[..., 1],
        way,
        wait.asinh(),
        start.clamp(max=FAR),
        start.asinh(),
        spare.clamp(max=FAR),
        spare.asinh(),
        home,
        budget.asinh().expand_as(start),
        (budget - start - min_stay - home).asinh(),
        rate,
        max_stay,
        min_stay,
        reward,
        own,
        certain,
        gains[..., 1] - certain,
        gains[..., 2] - certain,
        last - certain,
        pending - last,
        best_rate.expand_as(start),
        pending.expand_as(start),
    )
    tokens = torch.stack(columns, 2).clamp_(-BEYOND, BEYOND)  # (view, candidate, TOKEN_FEATURES)

    leg = scaled.travel.take(nodes * at[:, :, None] + node[:, None])  # (view, first, second)
    arrive = (start + min_stay)[..., None] + leg  # (view, first, second)
    free = start[:, None] - arrive  # stay at the first before the second is delayed
    most = latest[:, None] - arrive  # stay at the first before the second is lost
    longest = (max_stay - min_stay)[..., None]  # (view, first, 1)
    pairs = torch.stack(
        (
            leg,
            free,
            most,
            rate[..., None] * torch.minimum(free, longest).clamp_(min=0.0),
            rate[..., None] * torch.minimum(most, longest).clamp_(min=0.0),
            (most < 0.0).float(),
        ),
        1,
    ).clamp_(-FAR, FAR)
    return View(index, node, live, tokens, pairs)
