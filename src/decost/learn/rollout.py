"""Routes built stop by stop by a network: the paper's constrained decision process (section 4).

Observation
    Where a vehicle is, when it can leave, which stops are visited; for a network that asks for
    it, the time-profit function of the route so far.
Action
    The next stop, or 0 to go home, and the share of its longest stay that is spent there.
Constraints
    A stop can be chosen while service can start in its window and the vehicle can be home in time
    after the shortest stay. A predicted stay is cut so that this remains true. So the way home is
    always open, and a route is feasible at every step. Where a stop has several alternatives, each
    is a choice, and one that is made closes the others. What would put required stops out of
    reach is no choice as long as there is one that loses fewer of them.
Transition
    The vehicle waits for the window, stays and can leave. A vehicle that is home is followed by
    the next one of the team, which is its equal. Vehicles of another kind have a turn of their
    own (`decost.learn.features.Turn`), in which what was visited before is closed.
Reward
    Profit of the stays that stage two finds for the routes, or of the predicted ones.

All is batched over instances and samples; there is no loop over either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from decost.learn.batched_stays import batched_stays
from decost.learn.features import Problems

FORBIDDEN = -torch.inf
"""Logit of a node that cannot be chosen."""


@dataclass(frozen=True)
class Prefix:
    """Time-profit function of every route so far, on leaving its last stop.

    Attributes
    ----------
    value
        Profit that is certain by the earliest time to leave, (batch, samples).
    rate, length
        Pieces of falling rate by which it grows with a later start; those that only pad have
        length 0, (batch, samples, piece).
    room
        By how much the departure can be put off, (batch, samples).
    """

    value: Tensor
    rate: Tensor
    length: Tensor
    room: Tensor

    def gained(self, time: Tensor) -> Tensor:
        """Profit of the best so many units of time after the earliest, (batch, samples, any)."""
        begin = self.length.cumsum(2) - self.length  # (batch, samples, piece)
        used = time[..., None] - begin[:, :, None]  # (batch, samples, any, piece)
        used = torch.minimum(used.clamp_(min=0.0), self.length[:, :, None])
        return (used @ self.rate[..., None])[..., 0]  # (batch, samples, any)


@dataclass(frozen=True)
class State:
    """Where all vehicles are, one for each sample of each instance.

    Attributes
    ----------
    place
        Node of the vehicle, (batch, samples).
    time
        When it can leave, (batch, samples).
    visited
        Nodes that cannot be visited (again), (batch, samples, node).
    vehicles
        Vehicles that have not left yet, (batch, samples).
    done
        Whether the last vehicle is home, (batch, samples).
    start
        When service would start at each node, (batch, samples, node).
    live
        Nodes that can be chosen; 0, home, always counts as one, (batch, samples, node).
    prefix
        Time-profit function of the current route, if the network asks for it.
    held
        Whether a vehicle must not go home yet, since a required stop would be lost; None where
        there are no such stops, (batch, samples).
    """

    place: Tensor
    time: Tensor
    visited: Tensor
    vehicles: Tensor
    done: Tensor
    start: Tensor
    live: Tensor
    prefix: Prefix | None
    held: Tensor | None = None


class Policy(Protocol):
    """What a rollout needs of a network."""

    wants_prefix: bool
    """Whether states must carry the time-profit function."""

    def begin(self, problems: Problems) -> Any:
        """Look at the problems once; the answer is handed back at every step."""

    def step(self, memory: Any, state: State) -> tuple[Tensor, Tensor | None]:
        """Give logits of the next node, and logits of the share of the longest stay there.

        Both have shape (batch, samples, node); nodes that are not `state.live` are forbidden.
        Without the second, the shortest stays are spent.
        """


@dataclass
class Rollout:
    """Routes of a batch, one for each sample of each instance.

    Attributes
    ----------
    nodes
        Nodes in the order of the visits, numbered as in the batch; 0 where a vehicle goes home,
        and after all are done, (batch, samples, step).
    log_probability
        Of all choices together, (batch, samples).
    entropy
        Mean entropy of the choices that were free, a number.
    total_entropy
        Sum of the entropies of a route's choices, (batch, samples); gradients flow through it.
    stays
        Stays that the network predicted for the nodes, (batch, samples, step).
    ways
        Travel times to the nodes, (batch, samples, step).
    choices
        If asked for: log-probability of every node at each step, minus infinity where it cannot
        be chosen, each (batch, samples, node).
    """

    nodes: Tensor
    log_probability: Tensor
    entropy: Tensor
    total_entropy: Tensor
    stays: Tensor
    ways: Tensor
    choices: list[Tensor] = field(default_factory=list)


Choice = Callable[[Tensor], Tensor]
"""From logits (batch, samples, node) to nodes (batch, samples)."""


def greedy_choice(logits: Tensor) -> Tensor:
    """Choose the likeliest node."""
    return logits.argmax(2)  # (batch, samples)


def sampled_choice(generator: torch.Generator, temperature: float = 1.0) -> Choice:
    """Make a choice at random, from a generator of its own.

    At a temperature of 1 nodes are drawn by their probabilities, below it likely ones more often.
    """

    def choose(logits: Tensor) -> Tensor:
        noise = torch.rand(logits.shape, generator=generator, device=logits.device)
        gumbel = -(-noise.clamp_(1e-20).log_()).log_()  # (batch, samples, node)
        return (logits + temperature * gumbel).argmax(2)  # (batch, samples)

    return choose


def start_state(
    problems: Problems, samples: int, *, prefix: bool, taken: Tensor | None = None
) -> State:
    """Put every first vehicle at its start; nodes that are `taken` are closed."""
    count, nodes = problems.node.shape
    float64 = problems.latest.new_zeros(count, samples)  # (batch, samples)
    function = None
    if prefix:
        function = Prefix(
            float64,
            float64.new_zeros(count, samples, 0),
            float64.new_zeros(count, samples, 0),
            torch.full_like(float64, torch.inf),
        )
    place = torch.zeros_like(float64, dtype=torch.int64)  # (batch, samples)
    closed = (problems.latest < problems.batch.open - problems.slack)[:, None]
    closed = closed.expand(count, samples, nodes)  # (batch, samples, node)
    return _look(
        problems,
        State(
            place=place,
            time=problems.batch.begin[:, None].expand(count, samples),
            visited=closed.clone() if taken is None else closed | taken,
            vehicles=(problems.vehicles - 1)[:, None].expand(count, samples),
            done=torch.zeros_like(place, dtype=torch.bool),
            start=float64,
            live=float64,
            prefix=function,
        ),
    )


def _look(problems: Problems, state: State) -> State:
    """Work out when service could start everywhere, and which nodes can be chosen."""
    index = state.place[..., None].expand_as(state.visited)  # (batch, samples, node)
    way = problems.batch.travel.gather(1, index)  # (batch, samples, node)
    arrive = state.time[..., None] + way  # (batch, samples, node)
    start = torch.maximum(arrive, problems.batch.open[:, None])  # (batch, samples, node)
    in_time = start <= (problems.latest + problems.slack)[:, None]  # (batch, samples, node)
    live = in_time & ~state.visited & ~state.done[..., None]  # (batch, samples, node)
    live[..., 0] = True
    held = None
    if problems.required is not None:
        lost = _count_lost(problems, problems.required, state.visited, start, live)
        live &= lost == lost.where(live, torch.inf).amin(2, keepdim=True)
        held = ~live[..., 0]  # (batch, samples)
        live[..., 0] = True
    return replace(state, start=start, live=live, held=held)


def _count_lost(
    problems: Problems, required: Tensor, visited: Tensor, start: Tensor, live: Tensor
) -> Tensor:
    """Count the required stops that can be next, but not after each node, (batch, samples, node).

    Nothing can be next after going home.
    """
    batch, latest = problems.batch, problems.latest + problems.slack
    leave = start + batch.min_stay[:, None]  # (batch, samples, node)
    lost = torch.zeros_like(start)
    for nodes in required.unbind(1):  # (batch, alternative): of one stop
        now = torch.zeros_like(live[..., 0])  # (batch, samples)
        later = torch.zeros_like(live)  # (batch, samples, node)
        for node in nodes.unbind(1):  # (batch,)
            index = node[:, None, None]  # (batch, 1, 1)
            way = batch.travel.gather(2, index.expand(-1, leave.shape[2], 1))[..., 0]
            arrive = leave + way[:, None]  # (batch, samples, node)
            begin = torch.maximum(arrive, take(batch.open, index[:, 0])[..., None])
            free = ~visited.gather(2, index.expand(-1, leave.shape[1], 1)) & (index > 0)
            later |= (begin <= take(latest, index[:, 0])[..., None]) & free
            now |= live.gather(2, index.expand(-1, leave.shape[1], 1))[..., 0] & (node > 0)[:, None]
        own = problems.stop == take(problems.stop, nodes[:, :1])  # (batch, node)
        later |= own[:, None]
        later[..., 0] = False
        lost += now[..., None] & ~later
    return lost


def take(table: Tensor, node: Tensor) -> Tensor:
    """Look values of nodes up: from (batch, node) and (batch, samples) to (batch, samples)."""
    return table.gather(1, node)


def move(
    problems: Problems,
    state: State,
    node: Tensor,
    share: Tensor | None,
    *,
    through_time: bool = False,
) -> tuple[State, Tensor]:
    """Send every vehicle to its next node; `share` is the part of the longest stay to spend.

    Returns the new state and the stays, through which gradients reach the share; if
    `through_time`, they also do from all that depends on the time after them.
    """
    batch = problems.batch
    start = state.start.gather(2, node[..., None])[..., 0]  # (batch, samples)
    stay = take(batch.min_stay, node)  # (batch, samples)
    if share is not None:
        wish = share * take(problems.max_stay, node)  # (batch, samples)
        home = take(batch.travel[:, :, 0], node)  # (batch, samples)
        limit = torch.minimum(take(batch.leave_by, node), batch.budget[:, None] - home) - start
        stay = torch.maximum(stay, torch.minimum(wish, limit))  # (batch, samples)
    prefix = None if state.prefix is None else _serve(problems, state, node, start)
    home = node == 0  # (batch, samples)
    spent = stay if through_time else stay.detach()  # (batch, samples)
    leave = (start + spent).where(~home, batch.begin[:, None])  # (batch, samples)
    done = state.done | (home & (state.vehicles <= 0))  # (batch, samples)
    if problems.siblings:
        stop = take(problems.stop, node)[..., None]  # (batch, samples, 1)
        visited = state.visited | (problems.stop[:, None] == stop)  # (batch, samples, node)
    else:
        visited = state.visited.scatter(2, node[..., None], True)  # (batch, samples, node)
    after = State(
        place=node,
        time=leave,
        visited=visited,
        vehicles=state.vehicles - home.long(),
        done=done,
        start=start,
        live=state.live,
        prefix=prefix,
    )
    return _look(problems, after), stay


def _serve(problems: Problems, state: State, node: Tensor, start: Tensor) -> Prefix:
    """Carry the time-profit function over to the departure from the next node."""
    batch, prefix = problems.batch, state.prefix
    assert prefix is not None
    way = batch.travel.flatten(1).gather(1, state.place * batch.travel.shape[2] + node)
    wait = start - state.time - way  # (batch, samples)
    spare = (take(problems.latest_by_detour, node) - start).clamp(min=0.0)  # (batch, samples)
    last = torch.minimum(prefix.room, wait + spare)  # (batch, samples)
    end = prefix.length.cumsum(2)  # (batch, samples, piece)
    begin = end - prefix.length  # (batch, samples, piece)
    spent = prefix.gained(torch.minimum(wait, prefix.room)[..., None])[..., 0]
    rest = torch.minimum(end, last[..., None]) - torch.maximum(begin, wait[..., None])

    pieces = node[..., None].expand(*node.shape, batch.rate.shape[2])  # (batch, samples, piece)
    rate = torch.cat((prefix.rate, batch.rate.gather(1, pieces)), 2)
    length = torch.cat((rest.clamp_(min=0.0), batch.length.gather(1, pieces)), 2)
    at_home = (node == 0)[..., None]  # (batch, samples, 1)
    empty = (length <= 0.0) | (rate <= 0.0) | at_home  # (batch, samples, piece)
    rate, order = rate.masked_fill(empty, 0.0).sort(2, descending=True)
    length = length.masked_fill(empty, 0.0).gather(2, order)
    used = int((length > 0.0).sum(2).max()) if length.shape[2] else 0
    value = prefix.value + spent + take(batch.reward, node)  # (batch, samples)
    room = take(batch.leave_by, node) - start - take(batch.min_stay, node)  # (batch, samples)
    return Prefix(
        value.masked_fill(at_home[..., 0], 0.0),
        rate[..., :used],
        length[..., :used],
        room.masked_fill(at_home[..., 0], torch.inf),
    )


def roll_out(
    policy: Policy,
    problems: Problems,
    samples: int,
    choose: Choice,
    *,
    noise: Callable[[Tensor], Tensor] | None = None,
    keep_choices: bool = False,
    through_time: bool = False,
    taken: Tensor | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Rollout:
    """Build routes until every vehicle is home.

    Parameters
    ----------
    policy
        The network.
    problems, samples
        The instances, and how many routes for each.
    choose
        How the next node comes from its logits.
    noise
        What to add to the logits of the stays, to explore them: standard normal, since its
        density is then a part of the probability.
    keep_choices
        Whether to keep the probabilities of all choices, and not only of those made.
    through_time
        Whether gradients reach the stays through the time as well.
    taken
        Nodes that others have visited, (batch, samples, node); none by default.
    over
        Asked at every step whether all vehicles are to go home; never by default.
    """
    memory = policy.begin(problems)
    state = start_state(problems, samples, prefix=policy.wants_prefix, taken=taken)
    shape = state.place.shape
    total = torch.zeros(shape, device=state.place.device)  # (batch, samples)
    entropy, free = torch.zeros_like(total), total.new_zeros(())
    nodes, stays, ways, choices = [], [], [], []
    while not bool(state.done.all()):
        logits, stay_logits = policy.step(memory, state)  # (batch, samples, node)
        logits = logits.masked_fill(~state.live, FORBIDDEN)
        if state.held is not None:
            logits[..., 0].masked_fill_(state.held, FORBIDDEN)
        log_probability = logits.log_softmax(2)  # (batch, samples, node)
        node = choose(logits.detach())  # (batch, samples)
        if over():
            node = torch.zeros_like(node)
        total = total + log_probability.gather(2, node[..., None])[..., 0]
        choice = -(log_probability.exp() * log_probability.clamp(min=-1e4)).sum(2)
        entropy = entropy + choice  # (batch, samples)
        free += (state.live.sum(2) > 1).sum()
        share = None
        if stay_logits is not None:
            chosen = stay_logits.gather(2, node[..., None])[..., 0]  # (batch, samples)
            if noise is not None:
                shift = noise(chosen.detach())  # (batch, samples)
                sample = (chosen.detach() + shift).where(node > 0, chosen.detach())
                total = total - 0.5 * ((sample - chosen) ** 2).where(node > 0, 0.0)
                chosen = sample
            share = chosen.sigmoid()  # (batch, samples)
        if keep_choices:
            choices.append(log_probability)
        index = state.place * problems.node.shape[1] + node  # (batch, samples)
        ways.append(problems.batch.travel.flatten(1).gather(1, index))
        state, stay = move(problems, state, node, share, through_time=through_time)
        nodes.append(node)
        stays.append(stay)
    return Rollout(
        nodes=torch.stack(nodes, 2),
        log_probability=total,
        entropy=entropy.detach().sum() / free.clamp(min=1.0),
        total_entropy=entropy,
        stays=torch.stack(stays, 2),
        ways=torch.stack(ways, 2),
        choices=choices,
    )


def split_vehicles(problems: Problems, nodes: Tensor) -> Tensor:
    """Give every vehicle its own route, with its stops first and then zeros.

    From shape (batch, samples, step) to (batch, samples, vehicle, step).
    """
    team = max(1, int(problems.vehicles.max()))
    home = (nodes == 0).long()  # (batch, samples, step)
    vehicle = (home.cumsum(2) - home).clamp(max=team - 1)  # (batch, samples, step)
    first = pad(home, (1, 0))[..., :-1] == 1  # (batch, samples, step): a new vehicle sets out
    step = torch.arange(nodes.shape[2], device=nodes.device).expand_as(nodes)
    begin = step.where(first, 0).cummax(2).values  # (batch, samples, step)
    routes = nodes.new_zeros(*nodes.shape[:2], team * nodes.shape[2])
    place = vehicle * nodes.shape[2] + step - begin  # (batch, samples, step)
    routes.scatter_reduce_(2, place, nodes, "amax")
    return routes.view(*nodes.shape[:2], team, nodes.shape[2])


@torch.no_grad()
def optimal_profit(problems: Problems, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """Stage two: the most profit of the routes and the stays that earn it.

    Returns shapes (batch, samples) and, in the order of `nodes`, (batch, samples, step).
    """
    routes = split_vehicles(problems, nodes)  # (batch, samples, vehicle, step)
    profit, stays = batched_stays(problems.batch, routes.flatten(1, 2))
    total = profit.view(*routes.shape[:3]).sum(2)  # (batch, samples)
    per_node = total.new_zeros(*nodes.shape[:2], problems.node.shape[1])
    per_node.scatter_add_(2, routes.flatten(2), stays.view(*nodes.shape[:2], -1))
    per_node[..., 0] = 0.0
    return total, per_node.gather(2, nodes)


def stay_profits(problems: Problems, nodes: Tensor, stays: Tensor) -> Tensor:
    """Tell what given stays earn at the nodes of the routes, (batch, samples, step)."""
    batch = problems.batch
    index = nodes[..., None].expand(*nodes.shape, batch.rate.shape[2])  # (b, s, step, piece)
    shape = (*index.shape[:2], *batch.rate.shape[1:])
    rate = batch.rate[:, None].expand(shape).gather(2, index)  # (batch, samples, step, piece)
    length = batch.length[:, None].expand(shape).gather(2, index)
    extra = (stays - take(batch.min_stay, nodes.flatten(1)).view_as(stays))[..., None]
    used = extra - (length.cumsum(3) - length)  # (batch, samples, step, piece)
    used = torch.minimum(used.clamp(min=0.0), length)
    reward = take(batch.reward, nodes.flatten(1)).view_as(stays)  # (batch, samples, step)
    return reward + (rate * used).sum(3)


def predicted_profit(problems: Problems, nodes: Tensor, stays: Tensor) -> Tensor:
    """Profit of the routes with given stays, (batch, samples)."""
    return stay_profits(problems, nodes, stays).sum(2)


def mean_share(problems: Problems, rollout: Rollout) -> Tensor:
    """Mean predicted stay as a part of the longest."""
    visited = rollout.nodes > 0  # (batch, samples, step)
    longest = problems.max_stay[:, None].expand(*rollout.nodes.shape[:2], -1)
    longest = longest.gather(2, rollout.nodes)  # (batch, samples, step)
    share = (rollout.stays / longest.clamp(min=1e-12))[visited]  # (visit,)
    return share.detach().sum() / max(1, len(share))
