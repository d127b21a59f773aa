"""Instances as the networks see them: only the useful stops, without units, padded to a batch.

Vehicles leave one after another, and a network sees the problem of one of them, or of some equal
ones in a row (a turn): from where and when they start to where and when they are due, with their
travel times and the alternatives that admit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.inference.rows import Floats
from decost.problem.instance import Arrays, BoolArray, FloatArray, Instance, IntArray
from decost.timeline.network import (
    Network,
    Useful,
    network_as_given,
    plain_arrays,
    useful_alternatives,
)

SYMMETRIES = 8
"""Ways to turn and mirror the square."""

LARGEST = 1e9
"""Largest number that describes a node; what is beyond makes no difference any more."""


class Tables(NamedTuple):
    """A batch of turns reduced to the depot and the useful alternatives, with their units.

    A stop that cannot be reached in time and left for home is never seen by a network; of the
    paper's 50 stops some 20 remain. Times are divided by the mean travel time between the nodes
    that are left and profits by the mean of what a stop can earn, so that a plan does not depend
    on units; coordinates are put into the square from -1/2 to 1/2.

    Node 0 is where a vehicle starts and ends; it is open from when the vehicle may leave until it
    is due, and a visit takes and earns nothing. The other nodes are alternatives, which are the
    stops if each has one. A node that only pads its instance is never open: it closes at minus
    infinity.

    Attributes
    ----------
    size
        Nodes of each instance that are no padding, (batch,).
    node, stop
        Number of each alternative in its instance, and of its stop; 0 for the depot and for
        padding, (batch, node).
    travel
        Travel times, (batch, node, node). Going to node 0 is going home: column 0 holds the way
        to the end where that is another place, and 0 for node 0 itself.
    open, close, leave_by, reward, min_stay
        As in `Instance`, (batch, node).
    max_stay
        Longest stay, at most all the time of a vehicle, (batch, node).
    latest
        Latest start of service from which a stop can still be left for home in time: the
        paper's two masks in one number, minus infinity for padding, (batch, node).
    latest_by_detour
        The same if there may be a faster way home over other stops, as in a matrix of travel
        times that breaks the triangle inequality, (batch, node).
    needed
        Whether a node's stop is required, (batch, node).
    pieces
        Rate and length of the pieces of the profit of the stay beyond `min_stay`; one that only
        pads has length 0, (batch, node, piece, 2).
    xy
        Coordinates, all 0 where an instance has none, (batch, node, 2).
    begin, budget
        When a vehicle may leave, and when it has to be home, (batch,).
    horizon, slack
        Time from the first begin of any vehicle to the last due, and by how much a deadline may
        be overstepped, as everywhere in the package, (batch,).
    bonus
        What a required stop is worth beside its profit, (batch,).
    time_unit, profit_unit
        What times and profits are divided by, (batch,).
    vehicles
        Size of the team, (batch,).
    most
        Most that a node can earn, (batch, node).
    to_come, others
        How many vehicles leave in later turns, (batch,), and how many of them may visit the stop
        of a node, (batch, node).
    """

    size: IntArray
    node: IntArray
    stop: IntArray
    travel: FloatArray
    open: FloatArray
    close: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    max_stay: FloatArray
    latest: FloatArray
    latest_by_detour: FloatArray
    needed: BoolArray
    pieces: FloatArray
    xy: FloatArray
    begin: FloatArray
    budget: FloatArray
    horizon: FloatArray
    slack: FloatArray
    bonus: FloatArray
    time_unit: FloatArray
    profit_unit: FloatArray
    vehicles: IntArray
    most: FloatArray
    to_come: IntArray
    others: IntArray


class Turn(NamedTuple):
    """Equal vehicles that follow one another: their type, and how many.

    `first` is the number of the first of them, `to_come` how many vehicles leave after them, and
    `others` says how many of those may visit each stop, if there are any.
    """

    kind: int
    vehicles: int
    first: int = 0
    to_come: int = 0
    others: IntArray | None = None


def turns_of(instance: Instance, *, backwards: bool = False) -> list[Turn]:
    """Put the vehicles of an instance into turns, in their order, or with the last one first."""
    if instance.alike:
        return [Turn(0, instance.vehicles)]
    arrays = instance.arrays
    kinds = arrays.vehicle_type.tolist()
    turns: list[Turn] = []
    first = 0
    for kind, some in groupby(kinds):
        turns.append(Turn(kind, len(list(some)), first))
        first += turns[-1].vehicles
    if not backwards:
        turns.reverse()
    reachable = {}
    for kind in set(kinds):
        reachable[kind] = np.zeros(instance.nodes, dtype=np.int64)
        reachable[kind][arrays.stop[useful_alternatives(arrays, kind).alternative]] = 1
    to_come, others = 0, np.zeros(instance.nodes, dtype=np.int64)
    for number, turn in enumerate(turns):
        turns[number] = turn._replace(to_come=to_come, others=others if to_come else None)
        to_come += turn.vehicles
        others = others + turn.vehicles * reachable[turn.kind]
    return turns[::-1]


def load_tables(
    instances: Sequence[Instance], turns: Sequence[Turn] | None = None, least: int = 1
) -> Tables:
    """Reduce instances to what matters and make a batch of them, of at least so many nodes.

    `turns` says which vehicles of each instance leave; by default all, which must be equal.
    """
    if turns is None:
        turns = [Turn(0, instance.vehicles) for instance in instances]
    kinds = [turn.kind for turn in turns]
    useful = [
        useful_alternatives(one.arrays, kind) for one, kind in zip(instances, kinds, strict=True)
    ]
    tables = padded(instances, kinds, [some.alternative for some in useful], least)
    tables.vehicles[:] = [turn.vehicles for turn in turns]
    tables.to_come[:] = [turn.to_come for turn in turns]
    for row, turn in enumerate(turns):
        if turn.others is not None:
            tables.others[row] = turn.others[tables.stop[row]]
    for row, (instance, kind, some) in enumerate(zip(instances, kinds, useful, strict=True)):
        _write_units(instance.arrays, kind, some, tables, row)
        if instance.xy is not None:
            _write_places(instance.arrays, kind, instance.xy, instance.geographic, tables, row)
    return tables


def padded(
    instances: Sequence[Instance], kinds: Sequence[int], kept: Sequence[IntArray], least: int = 1
) -> Tables:
    """Make a batch of some alternatives of instances, for vehicles of one type each.

    Units, coordinates and the time of a detour are left to `load_tables`.
    """
    count = len(instances)
    nodes = max((1 + len(some) for some in kept), default=1)
    nodes = max(least, nodes)
    most = max((int(np.diff(instance.piece_start).max()) for instance in instances), default=0)
    shape = (count, nodes)
    tables = Tables(
        size=np.ones(count, dtype=np.int64),
        node=np.zeros(shape, dtype=np.int64),
        stop=np.zeros(shape, dtype=np.int64),
        travel=np.zeros((count, nodes, nodes)),
        open=np.zeros(shape),
        close=np.full(shape, -np.inf),
        leave_by=np.full(shape, np.inf),
        reward=np.zeros(shape),
        min_stay=np.zeros(shape),
        max_stay=np.zeros(shape),
        latest=np.full(shape, -np.inf),
        latest_by_detour=np.full(shape, -np.inf),
        needed=np.zeros(shape, dtype=np.bool_),
        pieces=np.zeros((count, nodes, most, 2)),
        xy=np.zeros((count, nodes, 2)),
        begin=np.zeros(count),
        budget=np.zeros(count),
        horizon=np.zeros(count),
        slack=np.zeros(count),
        bonus=np.zeros(count),
        time_unit=np.ones(count),
        profit_unit=np.ones(count),
        vehicles=np.ones(count, dtype=np.int64),
        most=np.zeros(shape),
        to_come=np.zeros(count, dtype=np.int64),
        others=np.zeros(shape, dtype=np.int64),
    )
    for row, (instance, kind, some) in enumerate(zip(instances, kinds, kept, strict=True)):
        _write_nodes(instance.arrays, kind, some, tables, row)
    return tables


@lean
def _write_nodes(arrays: Arrays, kind: int, kept: IntArray, tables: Tables, row: int) -> None:
    """Write some alternatives as vehicles of one type see them."""
    travel = arrays.planes[arrays.type_plane[kind]]
    end, due = arrays.type_end[kind], arrays.type_due[kind]
    shift = due - arrays.type_begin[kind]
    tables.size[row] = 1 + len(kept)
    tables.begin[row] = tables.open[row, 0] = arrays.type_begin[kind]
    tables.budget[row] = tables.close[row, 0] = tables.latest[row, 0] = due
    tables.latest_by_detour[row, 0] = due
    tables.horizon[row], tables.slack[row] = arrays.horizon, arrays.slack
    tables.bonus[row] = arrays.bonus
    for b in range(len(kept)):
        tables.travel[row, 0, b + 1] = travel[arrays.type_start[kind], arrays.place[kept[b]]]
    for a in range(1, len(kept) + 1):
        i = kept[a - 1]
        place, home = arrays.place[i], travel[arrays.place[i], end]
        for b in range(len(kept)):
            if a != b + 1:  # nobody takes that, and files have any number there
                tables.travel[row, a, b + 1] = travel[place, arrays.place[kept[b]]]
        tables.travel[row, a, 0] = home
        tables.node[row, a], tables.stop[row, a] = i, arrays.stop[i]
        tables.open[row, a], tables.close[row, a] = arrays.open[i], arrays.close[i]
        tables.leave_by[row, a], tables.reward[row, a] = arrays.leave_by[i], arrays.reward[i]
        shortest = arrays.min_stay[i]
        tables.min_stay[row, a] = shortest
        tables.needed[row, a] = arrays.bonus > 0.0 and arrays.required[arrays.stop[i]]
        last = min(arrays.close[i], arrays.leave_by[i] - shortest)
        tables.latest[row, a] = min(last, due - home - shortest)
        longest = shortest
        for k in range(arrays.piece_start[i], arrays.piece_start[i + 1]):
            piece = tables.pieces[row, a, k - arrays.piece_start[i]]
            piece[0], piece[1] = arrays.piece_rate[k], arrays.piece_length[k]
            longest += piece[1]
        tables.max_stay[row, a] = min(longest, shift)


@lean
def _write_units(arrays: Arrays, kind: int, useful: Useful, tables: Tables, row: int) -> None:
    """Write the units of an instance, and how late its nodes can be served by a detour."""
    travel = arrays.planes[arrays.type_plane[kind]]
    nodes = tables.size[row]
    if nodes == 1:
        return
    ways = profit = 0.0
    start = arrays.type_start[kind]
    for a in range(nodes):
        i = tables.node[row, a]
        place = arrays.place[i] if a > 0 else start
        if a > 0:
            tables.latest_by_detour[row, a] = useful.late[i]
            tables.most[row, a] = useful.profit[i]
            profit += useful.profit[i]
            ways += travel[place, start]
        for b in range(1, nodes):
            ways += tables.travel[row, a, b]
    tables.time_unit[row] = ways / (nodes * (nodes - 1)) if ways > 0.0 else 1.0
    tables.profit_unit[row] = profit / (nodes - 1) if profit > 0.0 else 1.0


@lean
def _write_places(
    arrays: Arrays, kind: int, xy: FloatArray, geographic: bool, tables: Tables, row: int
) -> None:
    """Write coordinates, put into the square from -1/2 to 1/2."""
    nodes = tables.size[row]
    here = tables.xy[row]
    north = 0.0
    for a in range(nodes):
        place = arrays.place[tables.node[row, a]] if a > 0 else arrays.type_start[kind]
        here[a, 0], here[a, 1] = xy[place, 0], xy[place, 1]
        north += xy[place, 1] / nodes
    if geographic:  # degrees of longitude are shorter than those of latitude
        for a in range(nodes):
            here[a, 0] *= np.cos(np.radians(north))
    wide = 0.0
    for axis in range(2):
        low = high = here[0, axis]
        for a in range(1, nodes):
            low, high = min(low, here[a, axis]), max(high, here[a, axis])
        wide = max(wide, high - low)
        for a in range(nodes):
            here[a, axis] -= (low + high) / 2
    for a in range(nodes if wide > 0.0 else 0):
        here[a, 0] /= wide
        here[a, 1] /= wide


@jit
def network_of(tables: Tables, row: int) -> Network:
    """Make the network of an instance of a batch; a required stop earns its bonus, too."""
    nodes = tables.size[row]
    most = tables.pieces.shape[2]
    reward = tables.reward[row, :nodes].copy()
    for a in range(nodes):
        if tables.needed[row, a]:
            reward[a] += tables.bonus[row]
    pieces = tables.pieces[row, :nodes].copy().reshape(nodes * most, 2)
    arrays = plain_arrays(
        travel=tables.travel[row, :nodes, :nodes].copy(),
        open=tables.open[row, :nodes],
        close=tables.latest_by_detour[row, :nodes],
        leave_by=tables.leave_by[row, :nodes],
        reward=reward,
        min_stay=tables.min_stay[row, :nodes],
        piece_start=np.arange(nodes + 1) * most,
        piece_rate=pieces[:, 0].copy(),
        piece_length=pieces[:, 1].copy(),
        begin=tables.begin[row],
        budget=tables.budget[row],
        end=0,
        slack=tables.slack[row],
        triangle=False,
    )
    return network_as_given(arrays)


def node_features(tables: Tables, *, turning: bool = False) -> Floats:
    """Describe the nodes by the paper's inputs and what it has no use for, without units.

    Windows are told as parts of a vehicle's time, stays in units of the mean travel time. If
    `turning`, there are eight descriptions of every instance, one after another. The shape is
    (batch * positions, node, NODE_FEATURES).
    """
    begin, shift = tables.begin[:, None], some_shift(tables)[:, None]  # (batch, 1)
    profit, time = tables.profit_unit[:, None], tables.time_unit[:, None]  # (batch, 1)
    with np.errstate(all="ignore"):  # numbers of any size; what is too large is cut
        columns = (
            tables.xy[..., 0],
            tables.xy[..., 1],
            ((tables.open - begin) / shift).clip(0.0, 1.0),
            ((tables.close - begin) / shift).clip(0.0, 1.0),
            tables.pieces[..., 0].max(2, initial=0.0) * time / profit,
            tables.max_stay / time,
            tables.reward / profit,
            tables.min_stay / time,
        )
        features = np.stack(columns, 2).clip(-LARGEST, LARGEST)  # (batch, node, NODE_FEATURES)
    features = np.asarray(np.nan_to_num(features), dtype=np.float32)
    if turning:
        features = features.repeat(SYMMETRIES, 0)
        position = np.arange(len(features)) % SYMMETRIES
        features[..., :2] = turn(features[..., :2], position[:, None])
    return features


def some_shift(tables: Tables) -> FloatArray:
    """Time of a vehicle to divide by: 1 where there is none, (batch,)."""
    shift = tables.budget - tables.begin
    return np.where(shift > 0.0, shift, 1.0)


def turn(xy: Floats, position: IntArray) -> Floats:
    """Put coordinates (..., 2) into one of the eight positions of the square, 0 to 7, (...)."""
    x = np.where(position & 1, -xy[..., 0], xy[..., 0])
    y = np.where(position & 2, -xy[..., 1], xy[..., 1])
    swapped = (position & 4) > 0
    return np.stack((np.where(swapped, y, x), np.where(swapped, x, y)), -1)
