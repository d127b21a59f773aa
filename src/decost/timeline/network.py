"""The network: an instance made ready for the engines, once a solve.

A node is one way to visit a stop (an alternative), or the start or the end of a vehicle: a route
is a list of nodes from a start to an end. Engines know nodes, stops and pieces; the windows,
deadlines and travel times behind them are for `steps`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from decost.compiled import Records, as_records, jit
from decost.problem.instance import Arrays, BoolArray, FloatArray, Instance, IntArray

NODE = np.dtype(
    [
        ("open", np.float64),
        ("latest", np.float64),
        ("leave_by", np.float64),
        ("min_stay", np.float64),
        ("reward", np.float64),
        ("full_profit", np.float64),
        ("piece_first", np.int64),
        ("piece_last", np.int64),
        ("types", np.int64),
    ],
    align=True,
)
"""A node: service starts from `open` to `latest` and ends by `leave_by`; `full_profit` is what the
longest stay earns, `types` a set of bits: which types of vehicles may come."""

ALL_TYPES = -1
"""The set of all types of vehicles."""


class Network(NamedTuple):
    """Nodes, and how vehicles of one type get from one to another.

    Nodes 1 to `alternatives` are those; those of stop s are `first[s]` to `first[s + 1] - 1`.
    Node `start` is where a vehicle of the type at hand begins (it is `open` then), node `end`
    where it has to be at its `latest`. Stops are numbered from 0; `number` gives the instance's
    numbers. A deadline counts as kept if it is missed by no more than `slack`, so that sums of
    rounded times do not decide; stays never use the slack.
    """

    travel: FloatArray  # (place, place), of the type at hand
    planes: FloatArray  # (type, place, place)
    starts: IntArray  # (type,)
    ends: IntArray  # (type,)
    start: int
    end: int
    alternatives: int
    place: IntArray  # (node,)
    stop: IntArray  # (node,), -1 at starts and ends
    node: Records  # (node,) of NODE
    pieces: FloatArray  # (piece, 2): rate above 0, and length
    first: IntArray  # (stop + 1,)
    number: IntArray  # (stop,)
    required: BoolArray  # (stop,)
    horizon: float  # time from the first begin of any vehicle to the last due
    slack: float


class Useful(NamedTuple):
    """The useful stops of an instance.

    `stop` holds their numbers; the other arrays are by the instance's nodes: earliest and latest
    start of service, longest stay beyond the shortest, and the most that can be earned.
    """

    stop: IntArray
    early: FloatArray
    late: FloatArray
    longest: FloatArray
    profit: FloatArray


def useful_network(instance: Instance, keep: Iterable[int] = (), *, tight: bool = True) -> Network:
    """Make the network of the stops that can matter, and of some more.

    With tight windows, service starts no earlier than it can, no later than from where the end is
    reached, and pieces are no longer than the time there is. That changes no profit of a route.
    """
    kept = np.zeros(instance.nodes, dtype=np.bool_)
    kept[list(keep)] = True
    return reduced_network(instance.arrays, instance.matrix is None, kept, tight)


@jit
def of_type(network: Network, number: int) -> Network:
    """Look at a network as vehicles of one type do."""
    return Network(
        travel=network.planes[number],
        planes=network.planes,
        starts=network.starts,
        ends=network.ends,
        start=network.starts[number],
        end=network.ends[number],
        alternatives=network.alternatives,
        place=network.place,
        stop=network.stop,
        node=network.node,
        pieces=network.pieces,
        first=network.first,
        number=network.number,
        required=network.required,
        horizon=network.horizon,
        slack=network.slack,
    )


@jit
def network_as_given(arrays: Arrays) -> Network:
    """Make the network of all stops, as they are given: node k is stop k of the instance."""
    profit = np.empty(len(arrays.open))
    for i in range(len(profit)):
        profit[i] = full_profit(arrays, i, np.inf)
    places = arrays.travel.shape[0]
    planes = arrays.travel.reshape(1, places, places)
    stops = as_given(arrays, np.arange(1, len(profit)), profit)
    return _network(arrays, stops, planes, arrays.end)


@jit
def as_given(arrays: Arrays, stop: IntArray, profit: FloatArray) -> Useful:
    """Take the windows of stops as they are, and all their pieces."""
    late = np.minimum(arrays.close, arrays.leave_by - arrays.min_stay)
    return Useful(stop, arrays.open.copy(), late, np.full(len(late), np.inf), profit)


@jit
def reduced_network(arrays: Arrays, triangle: bool, keep: BoolArray, tight: bool) -> Network:
    """Keep the useful stops, and those asked for, with windows that are tight or as given.

    `triangle` says that travel times obey the triangle inequality.
    """
    useful = useful_stops(arrays, triangle)
    kept = useful.stop
    if keep.any():
        keep = keep.copy()
        for i in useful.stop:
            keep[i] = True
        keep[0] = False
        kept = np.flatnonzero(keep)
        useful = Useful(kept, useful.early, useful.late, useful.longest, useful.profit)
    if not tight:
        useful = as_given(arrays, kept, useful.profit)
    count = len(kept)
    end = 0 if arrays.end == 0 else count + 1
    places = max(count, end) + 1
    planes = np.empty((1, places, places))
    travel = planes[0]
    for a in range(places):
        i = 0 if a == 0 else (arrays.end if a > count else kept[a - 1])
        row = arrays.travel[i]
        travel[a, 0] = row[0]
        for b in range(count):
            travel[a, b + 1] = row[kept[b]]
        if end > 0:
            travel[a, end] = row[arrays.end]
    return _network(arrays, useful, planes, end)


@jit
def _network(arrays: Arrays, useful: Useful, planes: FloatArray, end: int) -> Network:
    """Write the nodes of some stops; places are the start, the stops, and at `end` the end."""
    count = len(useful.stop)
    size = 0
    for i in useful.stop:
        size += arrays.piece_start[i + 1] - arrays.piece_start[i]
    node = as_records(np.empty(count + 2, NODE))
    pieces = np.empty((size, 2))
    size = 0
    for a in range(count + 2):
        i = useful.stop[a - 1] if 1 <= a <= count else 0
        row = node[a]
        row.open = useful.early[i] if i > 0 else 0.0
        row.latest = useful.late[i] if i > 0 else arrays.budget
        row.leave_by = arrays.leave_by[i] if i > 0 else np.inf
        row.min_stay = arrays.min_stay[i] if i > 0 else 0.0
        row.reward = arrays.reward[i] if i > 0 else 0.0
        row.full_profit = useful.profit[i] if i > 0 else 0.0
        row.types = ALL_TYPES
        row.piece_first = size
        if i > 0:
            rest = useful.longest[i]
            for k in range(arrays.piece_start[i], arrays.piece_start[i + 1]):
                part = min(rest, arrays.piece_length[k])
                if arrays.piece_rate[k] > 0.0 and part > 0.0:
                    pieces[size, 0] = arrays.piece_rate[k]
                    pieces[size, 1] = part
                    size += 1
                    rest -= part
        row.piece_last = size
    place = np.arange(count + 2)
    place[count + 1] = end
    stop = np.arange(-1, count + 1)
    stop[count + 1] = -1
    return Network(
        travel=planes[0],
        planes=planes,
        starts=np.zeros(1, dtype=np.int64),
        ends=np.full(1, count + 1),
        start=0,
        end=count + 1,
        alternatives=count,
        place=place,
        stop=stop,
        node=node,
        pieces=pieces[:size],
        first=np.arange(1, count + 2),
        number=useful.stop,
        required=np.zeros(count, dtype=np.bool_),
        horizon=arrays.budget,
        slack=arrays.slack,
    )


@jit
def full_profit(arrays: Arrays, stop: int, longest: float) -> float:
    """Profit of a stay at a stop that lasts so much longer than the shortest, at most."""
    profit = arrays.reward[stop]
    for k in range(arrays.piece_start[stop], arrays.piece_start[stop + 1]):
        part = max(0.0, min(longest, arrays.piece_length[k]))
        profit += arrays.piece_rate[k] * part
        longest -= part
    return float(profit)


@jit
def useful_stops(arrays: Arrays, triangle: bool) -> Useful:
    """Find the stops that can be served on the way to the end and earn something.

    `triangle` says that travel times obey the triangle inequality. If they need not, a stop
    without profit may still be a short cut and is kept.
    """
    nodes = len(arrays.open)
    if triangle:
        early, late = direct_starts(arrays)
    else:
        early, late = earliest_starts(arrays), latest_starts(arrays)
    profit = np.zeros(nodes)
    longest = np.zeros(nodes)
    count = 0
    kept = np.empty(nodes, dtype=np.int64)
    for i in range(1, nodes):
        longest[i] = min(arrays.leave_by[i], arrays.budget) - early[i] - arrays.min_stay[i]
        profit[i] = full_profit(arrays, i, longest[i])
        if early[i] <= late[i] + arrays.slack and (profit[i] > 0.0 or not triangle):
            kept[count] = i
            count += 1
    return Useful(kept[:count], early, late, longest, profit)


@jit
def direct_starts(arrays: Arrays) -> tuple[FloatArray, FloatArray]:
    """Earliest and latest start of service at every node, where no way is shorter than direct."""
    nodes = len(arrays.open)
    early = np.full(nodes, np.inf)
    late = np.full(nodes, -np.inf)
    for i in range(1, nodes):
        end = min(arrays.budget - arrays.travel[i, arrays.end], arrays.leave_by[i])
        late[i] = min(arrays.close[i], end - arrays.min_stay[i])
        time = max(arrays.travel[0, i], arrays.open[i])
        if can_start(arrays, i, time):
            early[i] = time
    return early, late


@jit
def can_start(arrays: Arrays, stop: int, time: float) -> bool:
    """Whether service that starts then breaks no deadline of the stop."""
    end = time + arrays.min_stay[stop]
    slack = arrays.slack
    return bool(time <= arrays.close[stop] + slack and end <= arrays.leave_by[stop] + slack)


@jit
def earliest_starts(arrays: Arrays) -> FloatArray:
    """Earliest start of service at every node, over all ways that keep all windows."""
    nodes = len(arrays.open)
    done = np.zeros(nodes, dtype=np.bool_)
    early = np.full(nodes, np.inf)
    leave = np.full(nodes, np.inf)
    leave[0] = 0.0
    for _ in range(nodes):
        best = -1
        for i in range(nodes):
            if not done[i] and leave[i] < np.inf and (best < 0 or leave[i] < leave[best]):
                best = i
        if best < 0:
            break
        done[best] = True
        for j in range(1, nodes):
            if not done[j]:
                time = max(leave[best] + arrays.travel[best, j], arrays.open[j])
                if time < early[j] and can_start(arrays, j, time):
                    early[j] = time
                    leave[j] = time + arrays.min_stay[j]
    return early


@jit
def latest_starts(arrays: Arrays) -> FloatArray:
    """Latest start of service at every node from which the end is reached in time."""
    nodes = len(arrays.open)
    done = np.zeros(nodes, dtype=np.bool_)
    late = np.full(nodes, -np.inf)
    for i in range(1, nodes):
        end = min(arrays.budget - arrays.travel[i, arrays.end], arrays.leave_by[i])
        late[i] = min(arrays.close[i], end - arrays.min_stay[i])
    for _ in range(1, nodes):
        best = -1
        for i in range(1, nodes):
            if not done[i] and late[i] > -np.inf and (best < 0 or late[i] > late[best]):
                best = i
        if best < 0:
            break
        done[best] = True
        if late[best] < arrays.open[best] - arrays.slack:
            continue
        for i in range(1, nodes):
            if not done[i]:
                end = min(late[best] - arrays.travel[i, best], arrays.leave_by[i])
                late[i] = max(late[i], min(arrays.close[i], end - arrays.min_stay[i]))
    return late
