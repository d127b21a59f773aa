"""Routes with their time-profit functions, forwards and backwards.

Every route keeps the front of each of its beginnings and the back of each of its ends. What a
route earns that begins like one, goes on with some other nodes and ends like another is then known
without looking at anything but these nodes and the pieces of the two functions: `chain`.

A position k of a route is a node of it, the start being at position 0 and the end behind the
visits; gap k is what lies between the positions k and k + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Records, as_records, lean
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network, of_type
from decost.timeline.steps import Back, Front, depart, join, precede, retire, visit

FUNCTION = np.dtype(
    [
        ("time", np.float64),
        ("value", np.float64),
        ("room", np.float64),
        ("pieces", np.int64),
    ],
    align=True,
)
"""A front or a back (which has no room), but for its node and its pieces."""


class Team(NamedTuple):
    """Routes with their time-profit functions.

    Route r is `nodes[r, : size[r] + 2]`: a start, `size[r]` visits, an end. The pieces of the
    functions of position k of route r are in `fronts` and `backs` from `offset(team, r, k)` on, no
    more than `depth`. The margin of gap k is `margin[r, k]`. `where` gives the route of a stop,
    -1 if it has none, and `spot` its position there. `kind` is the type of the vehicle of a route:
    what is done to the route is done with the network as that type sees it. The other pools are
    scratch.
    """

    kind: IntArray  # (route,)
    nodes: IntArray  # (route, position)
    size: IntArray  # (route,)
    where: IntArray  # (stop,)
    spot: IntArray  # (stop,)
    profit: FloatArray  # (route,)
    front: Records  # (route, position) of FUNCTION
    back: Records  # (route, position) of FUNCTION
    margin: FloatArray  # (route, gap)
    fronts: FloatArray  # (piece, 2)
    backs: FloatArray  # (piece, 2)
    scratch: FloatArray  # (piece, 2)
    together: FloatArray  # (piece, 2)
    depth: int
    stride: int


def make_team(network: Network, kind: IntArray, stops: int, depth: int) -> Team:
    """Make empty routes of vehicles of some types.

    There is room for so many stops and, in each function, so many pieces.
    """
    vehicles = len(kind)
    shape = (vehicles, stops + 2)
    counts = network.node["piece_last"] - network.node["piece_first"]
    stride = depth + int(counts.max())  # before it is found out that they are too many
    nodes = np.zeros(shape, dtype=np.int64)
    nodes[:, 0], nodes[:, 1] = network.types["start"][kind], network.types["end"][kind]
    return Team(
        kind=kind,
        nodes=nodes,
        size=np.zeros(vehicles, dtype=np.int64),
        where=np.full(len(network.number), -1),
        spot=np.zeros(len(network.number), dtype=np.int64),
        profit=np.zeros(vehicles),
        front=as_records(np.zeros(shape, FUNCTION)),
        back=as_records(np.zeros(shape, FUNCTION)),
        margin=np.zeros(shape),
        fronts=np.empty((vehicles * (stops + 2) * stride, 2)),
        backs=np.empty((vehicles * (stops + 2) * stride, 2)),
        scratch=np.empty((len(network.pieces), 2)),  # a route has no more
        together=np.empty((len(network.pieces), 2)),
        depth=depth,
        stride=stride,
    )


@lean
def offset(team: Team, r: int, k: int) -> int:
    """Where the pieces of a position begin."""
    return int((r * team.nodes.shape[1] + k) * team.stride)


@lean
def front_at(team: Team, r: int, k: int) -> Front:
    """Front of a route on leaving a position."""
    here = team.front[r, k]
    return Front(team.nodes[r, k], here.time, here.value, here.room, here.pieces)


@lean
def back_at(team: Team, r: int, k: int) -> Back:
    """Back of a route from a position on."""
    here = team.back[r, k]
    return Back(team.nodes[r, k], here.time, here.value, here.pieces)


@lean
def meet(network: Network, team: Team, r: int, i: int, s: int, j: int) -> tuple[float, float]:
    """Profit of route r up to its position i and route s from its position j on, and the margin.

    Both vehicles are of the network's type.
    """
    if i == 0 and j == team.size[s] + 1:
        return 0.0, 0.0  # nobody leaves
    return join(
        network,
        front_at(team, r, i),
        team.fronts,
        offset(team, r, i),
        back_at(team, s, j),
        team.backs,
        offset(team, s, j),
    )


@lean
def chain(
    network: Network, team: Team, r: int, i: int, some: IntArray, count: int, s: int, j: int
) -> float:
    """Profit of route r up to its position i, some nodes, and route s from its position j on."""
    if count == 0:
        return meet(network, team, r, i, s, j)[0]
    pool = team.scratch
    front = visit(network, front_at(team, r, i), some[0], team.fronts, offset(team, r, i), pool, 0)
    for k in range(1, count):
        if front.time == np.inf:
            return -np.inf
        front = visit(network, front, some[k], pool, 0, pool, 0)
    back = back_at(team, s, j)
    return join(network, front, pool, 0, back, team.backs, offset(team, s, j))[0]


@lean
def refresh(network: Network, team: Team, r: int, first: int) -> bool:
    """Compute the functions of a route anew; its positions before `first` are as they were.

    The answer is false if there is no room for all pieces; the route cannot be used then.
    """
    network = of_type(network, team.kind[r])
    size = team.size[r]
    if first <= 1:
        first = 1
        put_front(team, r, 0, depart(network, team.nodes[r, 0]))
    for k in range(first, size + 1):
        stop = network.stop[team.nodes[r, k]]
        team.where[stop] = r
        team.spot[stop] = k
        front = visit(
            network,
            front_at(team, r, k - 1),
            team.nodes[r, k],
            team.fronts,
            offset(team, r, k - 1),
            team.fronts,
            offset(team, r, k),
        )
        if front.pieces > team.depth:
            return False
        put_front(team, r, k, front)
    put_back(team, r, size + 1, retire(network, team.nodes[r, size + 1]))
    for k in range(size, 0, -1):
        back = precede(
            network,
            back_at(team, r, k + 1),
            team.nodes[r, k],
            team.backs,
            offset(team, r, k + 1),
            team.backs,
            offset(team, r, k),
        )
        if back.pieces > team.depth:
            return False
        put_back(team, r, k, back)
    for k in range(size + 1):
        team.profit[r], team.margin[r, k] = meet(network, team, r, k, r, k + 1)
    return True


@lean
def put_front(team: Team, r: int, k: int, front: Front) -> None:
    """Note the front of a position."""
    here = team.front[r, k]
    here.time, here.value = front.time, front.value
    here.room, here.pieces = front.room, front.pieces


@lean
def put_back(team: Team, r: int, k: int, back: Back) -> None:
    """Note the back of a position."""
    here = team.back[r, k]
    here.time, here.value, here.pieces = back.time, back.value, back.pieces


@lean
def splice(
    network: Network, team: Team, r: int, i: int, j: int, some: IntArray, count: int
) -> bool:
    """Put some nodes between the positions i and j of a route; false if there is no room.

    Stops that are no longer on any route are the caller's to mark.
    """
    last = team.size[r] + 1
    shift = count - (j - i - 1)
    if last + shift >= team.nodes.shape[1]:
        return False
    if shift > 0:
        for k in range(last, j - 1, -1):
            team.nodes[r, k + shift] = team.nodes[r, k]
    elif shift < 0:
        for k in range(j, last + 1):
            team.nodes[r, k + shift] = team.nodes[r, k]
    for k in range(count):
        team.nodes[r, i + 1 + k] = some[k]
    team.size[r] += shift
    return refresh(network, team, r, i + 1)


@lean
def insert_at(network: Network, team: Team, r: int, k: int, node: int) -> bool:
    """Insert a node into gap k of a route; false if there is no room."""
    last = team.size[r] + 1
    if last + 1 >= team.nodes.shape[1]:
        return False
    for j in range(last, k, -1):
        team.nodes[r, j + 1] = team.nodes[r, j]
    team.nodes[r, k + 1] = node
    team.size[r] += 1
    return refresh(network, team, r, k + 1)
