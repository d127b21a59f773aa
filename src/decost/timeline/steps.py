"""The steps of a route on its time-profit function, forwards and backwards.

Forwards, a `Front` is the function on leaving a node and a `Start` the one at the start of
service: `depart` from a start, `reach` a node, `serve` it, and so on; `finish` at an end.
Backwards, a `Back` is the mirror image at the start of service: `retire` at an end, `precede` it
by one node after another. `join` a front and a back, and the profit of a whole route is known.

The pieces of a function are a list in a pool (see `profile`) that goes with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import lean
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.profile import best_part, merge, share, surplus_over, window


class Front(NamedTuple):
    """On leaving a node: earliest time, profit by then, and what leaving later adds.

    Of the pieces no more than `room` units of time can be used: `leave_by` comes then.
    """

    node: int
    time: float
    value: float
    room: float
    pieces: int


class Start(NamedTuple):
    """At the start of service at a node: earliest time, profit by then, what starting later adds.

    The time is infinite if that is too late. `kept` is the profit of all pieces.
    """

    node: int
    time: float
    value: float
    pieces: int
    kept: float


class Back(NamedTuple):
    """From a node on: latest start of service, profit from then on, what starting earlier adds.

    The time is minus infinity if the deadlines of the rest of the route cannot be kept.
    """

    node: int
    time: float
    value: float
    pieces: int


@lean
def travel_time(network: Network, node: int, other: int) -> float:
    """Time from one node to another."""
    return float(network.travel[network.node[node].place, network.node[other].place])


@lean
def depart(network: Network, start: int) -> Front:
    """Begin a route."""
    return Front(start, network.node[start].open, 0.0, np.inf, 0)


@lean
def reach(
    network: Network,
    front: Front,
    node: int,
    pool: FloatArray,
    at: int,
    into: FloatArray,
    to: int,
) -> Start:
    """Travel to a node and wait until it opens; the pieces are copied from one pool to another."""
    there = network.node[node]
    time = front.time + travel_time(network, front.node, node)
    wait = max(0.0, there.open - time)
    time += wait
    if not time <= there.latest + network.slack:
        return Start(node, np.inf, -np.inf, 0, 0.0)
    room = front.room
    spent, pieces, kept = window(
        pool,
        at,
        front.pieces,
        min(wait, room),
        min(room - wait, there.latest - time),
        into,
        to,
    )
    return Start(node, time, front.value + spent, pieces, kept)


@lean
def serve(network: Network, start: Start, pool: FloatArray, at: int) -> Front:
    """Stay at a node for the shortest time; its pieces are merged into the list."""
    here = network.node[start.node]
    time = start.time + here.min_stay
    pieces = merge(pool, at, start.pieces, network.pieces, here.piece_first, here.piece_last)
    return Front(start.node, time, start.value + here.reward, here.leave_by - time, pieces)


@lean
def visit(
    network: Network,
    front: Front,
    node: int,
    pool: FloatArray,
    at: int,
    into: FloatArray,
    to: int,
) -> Front:
    """Reach a node and serve it; the time is infinite if that is too late."""
    start = reach(network, front, node, pool, at, into, to)
    if start.time == np.inf:
        return Front(node, np.inf, -np.inf, 0.0, 0)
    return serve(network, start, into, to)


@lean
def finish(network: Network, front: Front, end: int, pool: FloatArray, at: int) -> float:
    """Travel to the end: profit of the route, minus infinity if it is late."""
    left = network.node[end].latest - front.time - travel_time(network, front.node, end)
    if not left >= -network.slack:
        return -np.inf
    return front.value + best_part(pool, at, front.pieces, min(left, front.room))


@lean
def follow(network: Network, route: IntArray, pool: FloatArray) -> Front:
    """Serve a route of alternatives from the start on; the pieces are at the pool's beginning.

    The time is infinite if a deadline is broken.
    """
    front = depart(network, network.start)
    for node in route:
        front = visit(network, front, node, pool, 0, pool, 0)
    return front


@lean
def retire(network: Network, end: int) -> Back:
    """End a route."""
    return Back(end, network.node[end].latest, 0.0, 0)


@lean
def precede(
    network: Network,
    back: Back,
    node: int,
    pool: FloatArray,
    at: int,
    into: FloatArray,
    to: int,
) -> Back:
    """Serve a node before the rest of a route: `visit`, backwards."""
    here = network.node[node]
    time = back.time - travel_time(network, node, back.node)
    late = max(0.0, time - here.leave_by)
    time -= late
    spent, pieces, _ = window(pool, at, back.pieces, late, np.inf, into, to)
    value = back.value + here.reward + spent
    time -= here.min_stay
    pieces = merge(into, to, pieces, network.pieces, here.piece_first, here.piece_last)
    late = max(0.0, time - here.latest)
    time -= late
    if not time >= here.open - network.slack:
        return Back(node, -np.inf, -np.inf, 0)
    room = max(0.0, time - here.open)
    spent, pieces, _ = window(into, to, pieces, late, room, into, to)
    return Back(node, time, value + spent, pieces)


@lean
def join(
    network: Network,
    front: Front,
    pool: FloatArray,
    at: int,
    back: Back,
    other: FloatArray,
    other_at: int,
) -> tuple[float, float]:
    """Profit of a beginning and an end of a route together, and the margin where they meet.

    The margin is what a unit of time is worth there. The profit is minus infinity if the
    beginning comes too late.
    """
    time = front.time + travel_time(network, front.node, back.node)
    wait = max(0.0, network.node[back.node].open - time)
    left = back.time - time - wait
    if not left >= -network.slack:
        return -np.inf, 0.0
    profit, margin = share(
        pool, at, front.pieces, front.room, wait, left, other, other_at, back.pieces
    )
    return front.value + (back.value + profit), margin


@lean
def earliest(network: Network, node: int, leave: float, other: int) -> float:
    """Earliest start of service at another node if one is left at a time."""
    return float(max(leave + travel_time(network, node, other), network.node[other].open))


@lean
def in_time(network: Network, node: int, time: float) -> bool:
    """Whether service at a node that starts then, and is short, keeps the node's deadlines."""
    return bool(time <= network.node[node].latest + network.slack)


@lean
def left_in_time(network: Network, node: int, time: float) -> bool:
    """Whether a node that is left then keeps its deadline for that."""
    return bool(time <= network.node[node].leave_by + network.slack)


@lean
def latest_leave(network: Network, node: int, other: int, due: float) -> float:
    """Latest end of service at a node if another is to start by a time."""
    return float(min(network.node[node].leave_by, due - travel_time(network, node, other)))


@lean
def latest_start(network: Network, node: int, time: float) -> float:
    """Latest start of service at a node that is to start by a time."""
    return float(min(network.node[node].latest, time))


@lean
def longest_visit(network: Network, node: int, room: float) -> tuple[float, float]:
    """Longest stay at a node that earns all the while, and its profit.

    It lasts no more than `room` units longer than the shortest.
    """
    here = network.node[node]
    stay, profit = here.min_stay, here.reward
    for k in range(here.piece_first, here.piece_last):
        part = min(room, network.pieces[k, 1])
        if part <= 0.0:
            break
        stay += part
        room -= part
        profit += network.pieces[k, 0] * part
    return stay, profit


@lean
def last_visit(network: Network, node: int, time: float) -> tuple[float, float]:
    """Longest stay at a node that starts then and still gets to the end, and its profit.

    A stay of -1 says that there is none.
    """
    due = network.node[network.end].latest
    room = latest_leave(network, node, network.end, due) - time - network.node[node].min_stay
    if not (in_time(network, node, time) and room >= -network.slack):
        return -1.0, 0.0
    return longest_visit(network, node, room)


@lean
def most_beyond(network: Network, node: int, margin: float) -> float:
    """Most that a node earns beyond what the time of its stay is worth at a margin."""
    here = network.node[node]
    more = surplus_over(network.pieces, here.piece_first, here.piece_last, margin)
    return float(here.reward + more)
