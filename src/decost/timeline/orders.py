"""The best times for a fixed order of stops, each of which may have several alternatives.

For a fixed sequence of alternatives the time-profit function is concave; for a fixed order of
stops it is the most of several such functions. So at every alternative of a stop all functions
are kept that no other one there dominates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Records, as_records, jit, lean
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network, of_type
from decost.timeline.profile import dominates
from decost.timeline.steps import Front, Start, finish, reach, serve

CAPACITY = 1 << 8
"""Functions that there is room for at first."""

BROKEN, FULL = -1, -2
"""Answers of `follow_order` that are no function."""

FUNCTION = np.dtype(
    [
        ("node", np.int64),
        ("parent", np.int64),
        ("time", np.float64),
        ("value", np.float64),
        ("piece_first", np.int64),
        ("piece_count", np.int64),
    ],
    align=True,
)
"""A time-profit function at the start of service at a node."""


class Functions(NamedTuple):
    """Room for functions and their pieces."""

    function: Records  # (function,) of FUNCTION
    pieces: FloatArray  # (piece, 2)
    scratch: FloatArray  # (piece, 2)


@jit
def make_functions(network: Network, capacity: int) -> Functions:
    """Make room for functions."""
    most = len(network.pieces) + 1
    return Functions(
        function=as_records(np.empty(capacity, FUNCTION)),
        pieces=np.empty((capacity * most, 2)),
        scratch=np.empty((most, 2)),
    )


@lean
def follow_order(
    network: Network, kind: int, stops: IntArray, room: Functions
) -> tuple[int, int, int]:
    """Let a vehicle of some type follow an order of stops by all alternatives that may be best.

    Returns the function of the best way at the last stop, how many functions there are, and the
    position where the order breaks if there is no such way: that of a stop, or the number of
    stops if nobody is at the end in time. The stops are the network's.
    """
    network = of_type(network, kind)
    function, pieces, scratch = room
    root = function[0]
    root.node, root.parent, root.value = network.start, -1, 0.0
    root.time = network.node[network.start].open
    root.piece_first = root.piece_count = 0
    first, count, used = 0, 1, 0
    for position in range(len(stops)):
        last = count
        stop = stops[position]
        for node in range(network.first[stop], network.first[stop + 1]):
            if not network.admits[kind, node]:
                continue
            mine = count
            for before in range(first, last):
                if count == len(function) or used + len(scratch) > len(pieces):
                    return FULL, count, position
                front = _leave(network, room, before)
                start = reach(network, front, node, scratch, 0, pieces, used)
                if start.time < np.inf and _settle(room, start, mine, count, used):
                    function[count].parent = before
                    count += 1
                    used += start.pieces
        if count == last:
            return BROKEN, count, position
        first = last
    best, most = BROKEN, -np.inf
    for k in range(first, count):
        profit = finish(network, _leave(network, room, k), network.end, scratch, 0)
        if profit > most:
            best, most = k, profit
    return best, count, len(stops)


@lean
def _leave(network: Network, room: Functions, k: int) -> Front:
    """Serve the node of a function; the pieces on leaving are in the scratch."""
    here = room.function[k]
    for p in range(here.piece_count):
        room.scratch[p, 0] = room.pieces[here.piece_first + p, 0]
        room.scratch[p, 1] = room.pieces[here.piece_first + p, 1]
    start = Start(here.node, here.time, here.value, here.piece_count, 0.0)
    return serve(network, start, room.scratch, 0)


@lean
def _settle(room: Functions, start: Start, mine: int, count: int, used: int) -> bool:
    """Write a function behind the others of its node unless one of them dominates it."""
    function, pieces, _ = room
    for k in range(mine, count):
        other = function[k]
        if other.time <= start.time and dominates(
            pieces,
            other.piece_first,
            other.piece_count,
            other.time,
            other.value,
            used,
            start.pieces,
            start.time,
            start.value,
        ):
            return False
    new = function[count]
    new.node, new.time, new.value = start.node, start.time, start.value
    new.piece_first, new.piece_count = used, start.pieces
    return True


def best_alternatives(network: Network, kind: int, stops: IntArray) -> tuple[IntArray, int]:
    """Choose the nodes that earn most for an order of stops, by a vehicle of some type.

    Returns the nodes, and -1, or the position where the order breaks (see `follow_order`) after
    the nodes that can be served until there.
    """
    capacity = CAPACITY
    answer, count, position = FULL, 0, 0
    while answer == FULL:
        room = make_functions(network, capacity)
        answer, count, position = follow_order(network, kind, stops, room)
        capacity *= 2
    broken = position if answer == BROKEN else -1
    nodes = []
    at = answer if answer >= 0 else count - 1
    while at > 0:
        nodes.append(int(room.function["node"][at]))
        at = int(room.function["parent"][at])
    return np.array(nodes[::-1], dtype=np.int64), broken
