"""The network: an instance made ready for the engines, once a solve.

A node is one way to visit a stop (an alternative), or the start or the end of a vehicle: a route
is a list of nodes from a start to an end. Engines know nodes, stops and pieces; the windows,
deadlines and travel times behind them are for `steps`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from decost.compiled import Records, as_records, inlined, jit, lean
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
        ("place", np.int64),
    ],
    align=True,
)
"""A node: service starts from `open` to `latest` and ends by `leave_by`; `full_profit` is what the
longest stay earns, `place` the row of the travel times."""

TYPE = np.dtype([("start", np.int64), ("end", np.int64), ("plane", np.int64)], align=True)
"""A type of vehicles: the nodes where it starts and ends, and its travel times."""

ALL_TYPES = -1
"""Instead of the number of a type of vehicles: all of them."""


class Network(NamedTuple):
    """Nodes, and how vehicles of one type get from one to another.

    Nodes 1 to `alternatives` are those; those of stop s are `first[s]` to `first[s + 1] - 1`.
    Node `start` is where a vehicle of the type at hand begins (it is `open` then), node `end`
    where it has to be at its `latest`; those of all types are in `types`. Stops are
    numbered from 0; `number` gives the instance's numbers, and `alternative` those of nodes. A
    deadline counts as kept if it is missed by no more than `slack`, so that sums of rounded times
    do not decide; stays never use the slack.

    A required stop earns `bonus` more than the instance says, which is more than all stops
    together earn without it: the plan of most value visits most required stops, and then earns
    most.
    """

    travel: FloatArray  # (place, place), of the type at hand
    planes: FloatArray  # (plane, place, place)
    types: Records  # (type,) of TYPE
    admits: BoolArray  # (type, node)
    kind: int  # number of the type at hand
    start: int
    end: int
    alternatives: int
    stop: IntArray  # (node,), -1 at starts and ends
    alternative: IntArray  # (node,), 0 at starts and ends
    node: Records  # (node,) of NODE
    pieces: FloatArray  # (piece, 2): rate above 0, and length
    first: IntArray  # (stop + 1,)
    number: IntArray  # (stop,)
    bonus: float
    horizon: float  # time from the first begin of any vehicle to the last due
    slack: float


class Useful(NamedTuple):
    """The useful alternatives of an instance.

    `alternative` holds their numbers; the other arrays are by the instance's alternatives:
    earliest and latest start of service, longest stay beyond the shortest, and the most that can
    be earned.
    """

    alternative: IntArray
    early: FloatArray
    late: FloatArray
    longest: FloatArray
    profit: FloatArray


def useful_network(
    instance: Instance, keep: Iterable[int] = (), *, tight: bool = True, kind: int = ALL_TYPES
) -> Network:
    """Make the network of the alternatives that can matter, and of some more.

    With tight windows, service starts no earlier than it can, no later than from where the end is
    reached, and pieces are no longer than the time there is. That changes no profit of a route.
    `kind` is the type of the vehicles, the only one then that the network knows.
    """
    kept = np.zeros(instance.alternative_count + 1, dtype=np.bool_)
    kept[list(keep)] = True
    return reduced_network(instance.arrays, kept, tight, kind)


def useful_pairs(instance: Instance) -> int:
    """Bound the travel times between alternatives that can matter, which a network has to hold."""
    size = instance.alternative_count
    if instance.arrays.triangle:  # else it would take as long as to look at all pairs
        size = len(useful_alternatives(instance.arrays, ALL_TYPES).alternative)
    return size * size


def shift_length(network: Network) -> float:
    """Give the time from when a vehicle of the type at hand begins until it is due."""
    return float(network.node["latest"][network.end] - network.node["open"][network.start])


def binding_windows(arrays: Arrays, network: Network) -> BoolArray:
    """Tell which alternatives of a network have a window that the shift does not imply.

    Whoever goes to another one on a shortest way, from the start and from there to the end, is
    never before its window and never behind it.
    """
    nodes = slice(1, network.alternatives + 1)
    node, place = network.node[nodes], network.node["place"]
    out = _shortest_ways(network.travel, place[network.start])[place[nodes]]
    home = _shortest_ways(network.travel.T, place[network.end])[place[nodes]]
    kept = network.alternative[nodes]
    begin, due = network.node["open"][network.start], network.node["latest"][network.end]
    leave = due - home - network.slack
    latest = np.minimum(arrays.close[kept], arrays.leave_by[kept] - arrays.min_stay[kept])
    waits = arrays.open[kept] > begin + out + network.slack
    longer = node["piece_last"] > node["piece_first"]
    cut = longer & (arrays.leave_by[kept] < leave)
    return np.asarray(waits | cut | (latest < leave - arrays.min_stay[kept]))


def _shortest_ways(travel: FloatArray, place: int) -> FloatArray:
    """Give the shortest ways from a place to all others, by way of any."""
    ways: FloatArray = travel[place].copy()
    ways[place] = 0.0
    open_places = np.ones(len(ways), dtype=np.bool_)
    for _ in range(len(ways)):
        nearest = int(np.where(open_places, ways, np.inf).argmin())
        open_places[nearest] = False
        np.minimum(ways, ways[nearest] + travel[nearest], out=ways)
    return ways


def mirrored(network: Network) -> tuple[Network, bool]:
    """Look at a network backwards: time runs from the end to the start, from 0 on.

    Node k stays node k, and its service begins where it ended. A route earns no less backwards.
    The second answer says whether it earns no more either: a `latest` start that another deadline
    does not imply is forgotten.
    """
    node = network.node.copy()
    due = network.node["latest"][network.end]
    shortest = network.node["min_stay"]
    total = np.append(0.0, np.cumsum(network.pieces[:, 1]))
    longest = total[network.node["piece_last"]] - total[network.node["piece_first"]]
    leave = np.minimum(network.node["leave_by"], network.node["latest"] + shortest + longest)
    place = network.node["place"]
    home = due - network.travel[place, place[network.end]]
    node["open"] = np.maximum(0.0, due - leave)
    node["latest"] = due - network.node["open"] - shortest
    node["leave_by"] = due - network.node["open"]
    for depot, latest in (
        (network.start, due - network.node["open"][network.start]),
        (network.end, 0.0),
    ):
        node["open"][depot], node["latest"][depot], node["leave_by"][depot] = 0.0, latest, np.inf
    backwards = network._replace(
        travel=np.ascontiguousarray(network.travel.T),
        planes=np.ascontiguousarray(network.planes.transpose(0, 2, 1)),
        start=network.end,
        end=network.start,
        node=node,
        slack=2 * network.slack,
    )
    implied = np.minimum(leave, home) - shortest <= network.node["latest"] + network.slack
    return backwards, bool(implied[network.stop >= 0].all())


@inlined
def of_type(network: Network, kind: int) -> Network:
    """Look at a network as vehicles of one type do."""
    return Network(
        travel=network.planes[network.types[kind].plane],
        planes=network.planes,
        types=network.types,
        admits=network.admits,
        kind=kind,
        start=network.types[kind].start,
        end=network.types[kind].end,
        alternatives=network.alternatives,
        stop=network.stop,
        alternative=network.alternative,
        node=network.node,
        pieces=network.pieces,
        first=network.first,
        number=network.number,
        bonus=network.bonus,
        horizon=network.horizon,
        slack=network.slack,
    )


@jit
def network_as_given(arrays: Arrays) -> Network:
    """Make the network of all alternatives as they are given: node k is the instance's k."""
    profit = np.empty(len(arrays.open))
    for i in range(len(profit)):
        profit[i] = full_profit(arrays, i, np.inf)
    kept = as_given(arrays, np.arange(1, len(profit)), profit)
    types = np.arange(len(arrays.type_start))
    return _network(arrays, kept, types, arrays.planes, np.arange(arrays.planes.shape[1]), 0.0)


@jit
def network_of_route(arrays: Arrays, kind: int, route: IntArray) -> Network:
    """Make the network of the alternatives of a route as given: node k is the k-th on the route.

    It is for vehicles of one type, and does not know what a node can earn at most.
    """
    late, longest = np.empty(len(arrays.open)), np.empty(len(arrays.open))
    for i in route:
        late[i] = min(arrays.close[i], arrays.leave_by[i] - arrays.min_stay[i])
        longest[i] = np.inf
    kept = Useful(route, arrays.open, late, longest, arrays.reward)
    where = np.arange(arrays.planes.shape[1])
    return _network(arrays, kept, np.full(1, kind), arrays.planes, where, 0.0)


@jit
def plain_arrays(
    travel: FloatArray,
    open: FloatArray,  # noqa: A002
    close: FloatArray,
    leave_by: FloatArray,
    reward: FloatArray,
    min_stay: FloatArray,
    piece_start: IntArray,
    piece_rate: FloatArray,
    piece_length: FloatArray,
    begin: float,
    budget: float,
    end: int,
    slack: float,
    triangle: bool,
) -> Arrays:
    """Describe one vehicle that leaves place 0, and stops with one alternative each."""
    nodes = len(open)
    return Arrays(
        planes=travel.reshape((1, *travel.shape)),
        stop=np.arange(nodes),
        place=np.arange(nodes),
        first=np.arange(nodes + 1),
        open=open,
        close=close,
        leave_by=leave_by,
        reward=reward,
        min_stay=min_stay,
        piece_start=piece_start,
        piece_rate=piece_rate,
        piece_length=piece_length,
        required=np.zeros(nodes, dtype=np.bool_),
        admits=np.ones((1, nodes), dtype=np.bool_),
        type_start=np.zeros(1, dtype=np.int64),
        type_end=np.full(1, end),
        type_begin=np.full(1, begin),
        type_due=np.full(1, budget),
        type_plane=np.zeros(1, dtype=np.int64),
        vehicle_type=np.zeros(1, dtype=np.int64),
        bonus=0.0,
        horizon=budget - begin,
        slack=slack,
        triangle=triangle,
    )


@jit
def as_given(arrays: Arrays, kept: IntArray, profit: FloatArray) -> Useful:
    """Take the windows of alternatives as they are, and all their pieces."""
    late = np.minimum(arrays.close, arrays.leave_by - arrays.min_stay)
    return Useful(kept, arrays.open.copy(), late, np.full(len(late), np.inf), profit)


@jit
def reduced_network(arrays: Arrays, keep: BoolArray, tight: bool, kind: int) -> Network:
    """Keep the useful alternatives, and those asked for, with windows tight or as given.

    The network is for vehicles of one type, or for all.
    """
    useful = useful_alternatives(arrays, kind)
    kept = useful.alternative
    if keep.any():
        keep = keep.copy()
        for i in useful.alternative:
            keep[i] = True
        keep[0] = False
        kept = np.flatnonzero(keep)
        useful = Useful(kept, useful.early, useful.late, useful.longest, useful.profit)
    if not tight:
        useful = as_given(arrays, kept, useful.profit)
    types = np.arange(len(arrays.type_start)) if kind == ALL_TYPES else np.full(1, kind)
    place, where = _places(arrays, kept, types)
    planes = np.empty((arrays.planes.shape[0], len(place), len(place)))
    _copy_planes(arrays.planes, place, planes)
    return _network(arrays, useful, types, planes, where, arrays.bonus)


@lean
def _copy_planes(source: FloatArray, place: IntArray, planes: FloatArray) -> None:
    for p in range(planes.shape[0]):
        for a in range(planes.shape[1]):
            for b in range(planes.shape[1]):
                planes[p, a, b] = source[p, place[a], place[b]]


@jit
def _places(arrays: Arrays, kept: IntArray, types: IntArray) -> tuple[IntArray, IntArray]:
    """Give new numbers to the places that matter; return them, and the new number of each."""
    where = np.full(arrays.planes.shape[1], -1)
    place = np.empty(len(where), dtype=np.int64)
    count = 0
    for k in range(-1, len(kept) + 2 * len(types)):
        if k < 0:
            here = arrays.type_start[types[0]]
        elif k < len(kept):
            here = arrays.place[kept[k]]
        else:
            t, is_end = divmod(k - len(kept), 2)
            here = arrays.type_end[types[t]] if is_end else arrays.type_start[types[t]]
        if where[here] < 0:
            where[here] = count
            place[count] = here
            count += 1
    return place[:count], where


@jit
def _network(
    arrays: Arrays,
    useful: Useful,
    types: IntArray,
    planes: FloatArray,
    where: IntArray,
    bonus: float,
) -> Network:
    """Write the nodes of some alternatives and types; `where` says where places are in planes."""
    kept = useful.alternative
    count = len(kept)
    total = count + 2 * len(types)
    size = 0
    for i in kept:
        size += arrays.piece_start[i + 1] - arrays.piece_start[i]
    node = as_records(np.empty(total, NODE))
    pieces = np.empty((size, 2))
    stop = np.full(total, -1)
    alternative = np.zeros(total, dtype=np.int64)
    number = np.empty(count, dtype=np.int64)
    first = np.empty(count + 1, dtype=np.int64)
    stops, size = _write_nodes(
        arrays, useful, where, bonus, node, pieces, stop, alternative, number, first
    )
    first[stops] = count + 1
    kinds = as_records(np.empty(len(types), TYPE))
    admits = np.ones((len(types), total), dtype=np.bool_)
    for t in range(len(types)):
        kind = types[t]
        start, end = 0 if t == 0 else count + 2 * t, count + 1 + 2 * t
        row = kinds[t]
        row.start, row.end, row.plane = start, end, arrays.type_plane[kind]
        _write_depot(arrays, kind, node, start, where[arrays.type_start[kind]])
        _write_depot(arrays, kind, node, end, where[arrays.type_end[kind]])
        for a in range(1, count + 1):
            admits[t, a] = arrays.admits[kind, kept[a - 1]]
    return Network(
        travel=planes[kinds[0].plane],
        planes=planes,
        types=kinds,
        admits=admits,
        kind=0,
        start=kinds[0].start,
        end=kinds[0].end,
        alternatives=count,
        stop=stop,
        alternative=alternative,
        node=node,
        pieces=pieces[:size],
        first=first[: stops + 1],
        number=number[:stops],
        bonus=bonus,
        horizon=arrays.horizon,
        slack=arrays.slack,
    )


@lean
def _write_nodes(
    arrays: Arrays,
    useful: Useful,
    where: IntArray,
    bonus: float,
    node: Records,
    pieces: FloatArray,
    stop: IntArray,
    alternative: IntArray,
    number: IntArray,
    first: IntArray,
) -> tuple[int, int]:
    """Write the nodes of the alternatives; return how many stops and pieces there are."""
    stops = size = 0
    for a in range(1, len(useful.alternative) + 1):
        i = useful.alternative[a - 1]
        if stops == 0 or number[stops - 1] != arrays.stop[i]:
            number[stops] = arrays.stop[i]
            first[stops] = a
            stops += 1
        stop[a], alternative[a] = stops - 1, i
        more = bonus if arrays.required[arrays.stop[i]] else 0.0
        row = node[a]
        row.open, row.latest, row.leave_by = useful.early[i], useful.late[i], arrays.leave_by[i]
        row.min_stay = arrays.min_stay[i]
        row.reward, row.full_profit = arrays.reward[i] + more, useful.profit[i] + more
        row.piece_first = size
        rest = useful.longest[i]
        for k in range(arrays.piece_start[i], arrays.piece_start[i + 1]):
            part = min(rest, arrays.piece_length[k])
            if arrays.piece_rate[k] > 0.0 and part > 0.0:
                pieces[size, 0] = arrays.piece_rate[k]
                pieces[size, 1] = part
                size += 1
                rest -= part
        row.piece_last = size
        row.place = where[arrays.place[i]]
    return stops, size


@lean
def _write_depot(arrays: Arrays, kind: int, node: Records, k: int, place: int) -> None:
    """Write the start or the end of a vehicle."""
    row = node[k]
    row.place = place
    row.open, row.latest, row.leave_by = arrays.type_begin[kind], arrays.type_due[kind], np.inf
    row.min_stay = row.reward = row.full_profit = 0.0
    row.piece_first = row.piece_last = 0


@inlined
def full_profit(arrays: Arrays, alternative: int, longest: float) -> float:
    """Profit of a stay that lasts so much longer than the shortest, at most."""
    profit = arrays.reward[alternative]
    for k in range(arrays.piece_start[alternative], arrays.piece_start[alternative + 1]):
        part = max(0.0, min(longest, arrays.piece_length[k]))
        profit += arrays.piece_rate[k] * part
        longest -= part
    return float(profit)


@jit
def useful_alternatives(arrays: Arrays, kind: int) -> Useful:
    """Find the alternatives that can be served on the way to an end, and are worth it.

    By vehicles of one type, or of any. If travel times need not obey the triangle inequality, a
    stop without profit may still be a short cut and is kept.
    """
    nodes = len(arrays.open)
    types = len(arrays.type_start)
    first, last = (0, types) if kind == ALL_TYPES else (kind, kind + 1)
    early, late = _starts(arrays, first)
    served = early <= late + arrays.slack
    longest = np.minimum(arrays.leave_by, arrays.type_due[first]) - early - arrays.min_stay
    for t in range(first + 1, last):
        mine, its = _starts(arrays, t)
        served |= mine <= its + arrays.slack
        more = np.minimum(arrays.leave_by, arrays.type_due[t]) - mine - arrays.min_stay
        longest = np.maximum(longest, more)
        early, late = np.minimum(early, mine), np.maximum(late, its)
    profit = np.zeros(nodes)
    kept = np.empty(nodes, dtype=np.int64)
    count = _find_useful(arrays, served, longest, profit, kept)
    return Useful(kept[:count], early, late, longest, profit)


@lean
def _find_useful(
    arrays: Arrays, served: BoolArray, longest: FloatArray, profit: FloatArray, kept: IntArray
) -> int:
    """List the alternatives that are worth it, and write what they can earn."""
    count = 0
    for i in range(1, len(profit)):
        profit[i] = full_profit(arrays, i, longest[i])
        wanted = profit[i] > 0.0 or not arrays.triangle or arrays.required[arrays.stop[i]]
        if served[i] and wanted:
            kept[count] = i
            count += 1
    return count


@jit
def _starts(arrays: Arrays, kind: int) -> tuple[FloatArray, FloatArray]:
    """Earliest and latest start of service everywhere, for vehicles of one type."""
    if arrays.triangle:
        return direct_starts(arrays, kind)
    return earliest_starts(arrays, kind), latest_starts(arrays, kind)


@jit
def direct_starts(arrays: Arrays, kind: int) -> tuple[FloatArray, FloatArray]:
    """Earliest and latest start of service everywhere, where no way is shorter than direct."""
    early, late = np.full(len(arrays.open), np.inf), np.full(len(arrays.open), -np.inf)
    _write_direct_starts(arrays, kind, early, late)
    return early, late


@lean
def _write_direct_starts(arrays: Arrays, kind: int, early: FloatArray, late: FloatArray) -> None:
    plane = arrays.type_plane[kind]
    start, begin = arrays.type_start[kind], arrays.type_begin[kind]
    for i in range(1, len(early)):
        if arrays.admits[kind, i]:
            late[i] = last_start(arrays, kind, i)
            early[i] = first_start(arrays, i, begin + arrays.planes[plane, start, arrays.place[i]])


@inlined
def last_start(arrays: Arrays, kind: int, i: int) -> float:
    """Latest start of service from where a vehicle is at its end in time, going there directly."""
    home = arrays.planes[arrays.type_plane[kind], arrays.place[i], arrays.type_end[kind]]
    return start_before(arrays, i, arrays.type_due[kind] - home)


@inlined
def start_before(arrays: Arrays, i: int, leave: float) -> float:
    """Latest start of service of who has to leave then, or by its own deadline."""
    return float(min(arrays.close[i], min(leave, arrays.leave_by[i]) - arrays.min_stay[i]))


@inlined
def first_start(arrays: Arrays, i: int, arrive: float) -> float:
    """Start of service of who arrives then, infinite if that breaks a deadline."""
    time = max(arrive, arrays.open[i])
    return float(time) if can_start(arrays, i, time) else np.inf


@inlined
def can_start(arrays: Arrays, i: int, time: float) -> bool:
    """Whether service that starts then breaks no deadline of the alternative."""
    end = time + arrays.min_stay[i]
    slack = arrays.slack
    return bool(time <= arrays.close[i] + slack and end <= arrays.leave_by[i] + slack)


@jit
def earliest_starts(arrays: Arrays, kind: int) -> FloatArray:
    """Earliest start of service everywhere, over all ways that keep all windows."""
    return earliest_from(arrays, kind, arrays.type_start[kind], arrays.type_begin[kind])


@jit
def earliest_from(arrays: Arrays, kind: int, place: int, time: float) -> FloatArray:
    """Earliest start of service everywhere of a vehicle that leaves some place at some time."""
    nodes = len(arrays.open)
    travel = arrays.planes[arrays.type_plane[kind]]
    done = np.zeros(nodes, dtype=np.bool_)
    early = np.full(nodes, np.inf)
    leave = np.full(nodes, np.inf)
    leave[0] = time
    for _ in range(nodes):
        best = -1
        for i in range(nodes):
            if not done[i] and leave[i] < np.inf and (best < 0 or leave[i] < leave[best]):
                best = i
        if best < 0:
            break
        done[best] = True
        at = place if best == 0 else arrays.place[best]
        for j in range(1, nodes):
            if not done[j] and arrays.admits[kind, j]:
                start = max(leave[best] + travel[at, arrays.place[j]], arrays.open[j])
                if start < early[j] and can_start(arrays, j, start):
                    early[j] = start
                    leave[j] = start + arrays.min_stay[j]
    return early


@jit
def latest_starts(arrays: Arrays, kind: int) -> FloatArray:
    """Latest start of service everywhere from which the end is reached in time."""
    nodes = len(arrays.open)
    travel = arrays.planes[arrays.type_plane[kind]]
    done = np.zeros(nodes, dtype=np.bool_)
    late = np.full(nodes, -np.inf)
    for i in range(1, nodes):
        if arrays.admits[kind, i]:
            late[i] = last_start(arrays, kind, i)
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
            if not done[i] and arrays.admits[kind, i]:
                way = travel[arrays.place[i], arrays.place[best]]
                late[i] = max(late[i], start_before(arrays, i, late[best] - way))
    return late
