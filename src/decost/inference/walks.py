"""Routes built stop by stop: what all networks have in common, for kernels.

The rules are those of `decost.learn.rollout`, which has the same for tensors: what can be chosen,
what a choice leads to, and which required stops it would lose. Time is the timeline's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.draws import RandomState, draw
from decost.inference.problems import Tables
from decost.inference.rows import Floats
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.stays import profit_of_stay
from decost.timeline.steps import Front, depart, earliest, finish, travel_time, visit

NO_SHARE = -1.0
"""Instead of the share of the longest stay to spend: the shortest stay."""


class Wish(NamedTuple):
    """What is wanted of a walk.

    Attributes
    ----------
    turning
        Whether the samples see an instance in the eight positions of the square: the first
        eighth of them in the first one, and so on.
    optimal
        Whether stays will be optimal, or are those that the network predicts.
    random
        State of a generator to draw nodes by; empty to take the likeliest. In the eight positions
        our network takes the likeliest in the first one all the same.
    temperature
        What logits are divided by before a node is drawn: below 1, likely ones come more often.
    rows
        Which row of `seen` belongs to each instance, (batch,).
    seen
        Stops that are visited; those of the walk are added, (row, samples, stop).
    """

    turning: bool
    optimal: bool
    random: RandomState
    temperature: float
    rows: IntArray
    seen: BoolArray


class Walks(NamedTuple):
    """Routes of a batch, one for each sample of each instance.

    Attributes
    ----------
    nodes
        Nodes in the order of the visits, numbered as in the batch; 0 where a vehicle goes home,
        and after all are done, (batch, samples, step).
    stays
        Stays that the network predicted for them, (batch, samples, step).
    value
        What the routes are worth: their profit, and a bonus for required stops, (batch, samples).
    logits
        If there is room: logits of every node at each step, minus infinity where it cannot be
        chosen, (batch, samples, step, node).
    """

    nodes: IntArray
    stays: FloatArray
    value: FloatArray
    logits: Floats


def room_for_walks(tables: Tables, samples: int, *, logits: bool = False) -> Walks:
    """Make room for so many routes of each instance."""
    count, size = tables.node.shape
    steps = size + int(tables.vehicles.max(initial=1))
    kept = (count, samples, steps, size) if logits else (0, 0, 0, 0)
    return Walks(
        nodes=np.zeros((count, samples, steps), dtype=np.int64),
        stays=np.zeros((count, samples, steps)),
        value=np.zeros((count, samples)),
        logits=np.full(kept, -np.inf, dtype=np.float32),
    )


class State(NamedTuple):
    """Where the vehicles of all samples of one instance are.

    Attributes
    ----------
    place, time
        Node of the vehicle, and when it can leave, (samples,).
    vehicles
        Vehicles that have not left yet, -1 when the last one is home, (samples,).
    steps
        How many nodes were chosen, (samples,).
    many
        How many nodes can be chosen, (samples,).
    held
        Whether a vehicle must not go home yet, since a required stop would be lost, (samples,).
    visited
        Nodes that cannot be visited (again), (samples, node).
    start
        When service would start at each node, (samples, node).
    live
        Nodes that can be chosen; 0, home, always counts as one, (samples, node).
    front
        Time, value and room of the route's time-profit function, (samples, 3).
    pieces, pool
        Its number of pieces, (samples,), and these, (samples, piece, 2).
    lost
        Room to count the required stops that a choice would lose, (node,).
    """

    place: IntArray
    time: FloatArray
    vehicles: IntArray
    steps: IntArray
    many: IntArray
    held: BoolArray
    visited: BoolArray
    start: FloatArray
    live: BoolArray
    front: FloatArray
    pieces: IntArray
    pool: FloatArray
    lost: IntArray


@jit
def begin(tables: Tables, b: int, network: Network, samples: int, wish: Wish) -> State:
    """Put every first vehicle of an instance at its start."""
    nodes = tables.size[b]
    pieces = 1 + len(network.pieces)
    state = State(
        place=np.zeros(samples, dtype=np.int64),
        time=np.empty(samples),
        vehicles=np.full(samples, tables.vehicles[b] - 1),
        steps=np.zeros(samples, dtype=np.int64),
        many=np.zeros(samples, dtype=np.int64),
        held=np.zeros(samples, dtype=np.bool_),
        visited=np.zeros((samples, nodes), dtype=np.bool_),
        start=np.empty((samples, nodes)),
        live=np.zeros((samples, nodes), dtype=np.bool_),
        front=np.empty((samples, 3)),
        pieces=np.zeros(samples, dtype=np.int64),
        pool=np.empty((samples, pieces, 2)),
        lost=np.empty(nodes, dtype=np.int64),
    )
    for s in range(samples):
        for j in range(1, nodes):
            closed = tables.latest[b, j] < tables.open[b, j] - tables.slack[b]
            state.visited[s, j] = closed or wish.seen[wish.rows[b], s, tables.stop[b, j]]
        _set_out(network, state, s)
        look(tables, b, network, state, s)
    return state


@lean
def _set_out(network: Network, state: State, s: int) -> None:
    """Put the next vehicle at its start."""
    front = depart(network, network.start)
    state.place[s] = network.start
    state.time[s] = front.time
    _keep(front, state, s)


@lean
def _keep(front: Front, state: State, s: int) -> None:
    state.front[s, 0], state.front[s, 1], state.front[s, 2] = front.time, front.value, front.room
    state.pieces[s] = front.pieces


@lean
def _front(state: State, s: int) -> Front:
    kept = state.front[s]
    return Front(state.place[s], kept[0], kept[1], kept[2], state.pieces[s])


@lean
def look(tables: Tables, b: int, network: Network, state: State, s: int) -> None:
    """Work out when service could start everywhere, and which nodes can be chosen."""
    place, time, slack = state.place[s], state.time[s], tables.slack[b]
    start, live, visited = state.start[s], state.live[s], state.visited[s]
    many = 1
    for j in range(len(live)):
        start[j] = earliest(network, place, time, j)
        live[j] = start[j] <= tables.latest[b, j] + slack and not visited[j]
        if j > 0 and live[j]:
            many += 1
    live[0] = True
    state.many[s], state.held[s] = many, False
    if tables.bonus[b] > 0.0 and many > 1:
        _hold(tables, b, network, state, s)


@lean
def _hold(tables: Tables, b: int, network: Network, state: State, s: int) -> None:
    """Leave only those choices that lose the fewest required stops."""
    live, lost = state.live[s], state.lost
    nodes = len(live)
    lost[:] = 0
    first = 1
    while first < nodes:
        last = first + 1  # nodes of one stop are side by side
        while last < nodes and tables.stop[b, last] == tables.stop[b, first]:
            last += 1
        if tables.needed[b, first]:
            now = False
            for k in range(first, last):
                now = now or live[k]
            for j in range(nodes):
                if now and live[j] and not _still(tables, b, network, state, s, j, first, last):
                    lost[j] += 1
        first = last
    least = nodes
    for j in range(nodes):
        if live[j]:
            least = min(least, lost[j])
    many = 1
    for j in range(nodes):
        live[j] = live[j] and lost[j] == least
        if j > 0 and live[j]:
            many += 1
    state.many[s], state.held[s] = many, not live[0]
    live[0] = True


@lean
def _still(
    tables: Tables, b: int, network: Network, state: State, s: int, node: int, first: int, last: int
) -> bool:
    """Whether a stop, with the nodes `first` to `last - 1`, can be next after a node, or is it."""
    if node == 0:
        return False
    if first <= node < last:
        return True
    leave = state.start[s, node] + tables.min_stay[b, node]
    for k in range(first, last):
        start = earliest(network, node, leave, k)
        if start <= tables.latest[b, k] + tables.slack[b] and not state.visited[s, k]:
            return True
    return False


@lean
def move(
    tables: Tables,
    b: int,
    network: Network,
    state: State,
    s: int,
    node: int,
    share: float,
    wish: Wish,
    walks: Walks,
) -> None:
    """Send a vehicle to its next node, to spend a share of the longest stay there."""
    step = state.steps[s]
    walks.nodes[b, s, step] = node
    state.steps[s] += 1
    if node == 0:
        if wish.optimal:
            front = _front(state, s)
            walks.value[b, s] += finish(network, front, network.end, state.pool[s], 0)
        state.vehicles[s] -= 1
        if state.vehicles[s] >= 0:
            _set_out(network, state, s)
            look(tables, b, network, state, s)
        return
    start, stay = state.start[s, node], tables.min_stay[b, node]
    if share >= 0.0:
        home = tables.budget[b] - travel_time(network, node, network.end)
        limit = min(tables.leave_by[b, node], home) - start
        stay = max(stay, min(share * tables.max_stay[b, node], limit))
    walks.stays[b, s, step] = stay
    if wish.optimal:
        pool = state.pool[s]
        _keep(visit(network, _front(state, s), node, pool, 0, pool, 0), state, s)
    else:
        walks.value[b, s] += profit_of_stay(network, node, stay)
    state.place[s] = node
    state.time[s] = start + stay
    stop = tables.stop[b, node]
    wish.seen[wish.rows[b], s, stop] = True
    for j in range(1, len(state.live[s])):
        if tables.stop[b, j] == stop:
            state.visited[s, j] = True
    look(tables, b, network, state, s)


@lean
def go_home(
    tables: Tables, b: int, network: Network, state: State, s: int, wish: Wish, walks: Walks
) -> None:
    """Send all vehicles of a sample home."""
    while state.vehicles[s] >= 0:
        move(tables, b, network, state, s, 0, NO_SHARE, wish, walks)


@lean
def choose(
    logit: Floats, node: IntArray, count: int, held: bool, random: RandomState, temperature: float
) -> int:
    """Give the place of the likeliest of some nodes, or of one drawn by its probability.

    Home, the first of them, is no choice if held.
    """
    best = 0
    most = -np.inf
    for k in range(count):
        if held and node[k] == 0:
            continue
        score = float(logit[k])
        if len(random) > 0:
            score -= temperature * np.log(-np.log(max(draw(random), 1e-300)))
        if score > most:
            best, most = k, score
    return best
