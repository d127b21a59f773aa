"""The paper's mathematical program, extended to all that an instance can hold, as data.

It judges the exact methods, and so it writes the rules anew: nothing here knows the timeline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.once import cached_property
from decost.problem.plan import Solution, alternative_numbers, make_solution

LARGEST = 1e300
"""Largest factor of profits in a program."""

ACCURACY = 1e-9
"""Share of the horizon, or of 1, by which rows of a program may be off."""

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the program, whatever it is in the instance."""

INTEGRAL = 1e-6
"""How far a solver's value of a binary variable may be from 0 and 1."""

MAX_ARCS = 300_000
"""Most arcs of a program; one of this size takes a gigabyte, and seconds to be read."""

MAX_PAIRS = 50_000_000
"""Most pairs of alternatives, over all types of vehicles, that are looked at for arcs."""


class TooLargeError(ValueError):
    """A program that would not fit in memory."""


class Kind(NamedTuple):
    """Vehicles that are equal in all that decides what they can earn."""

    vehicles: tuple[int, ...]
    start: int
    end: int
    begin: float
    due: float
    travel: FloatArray  # (place, place)
    alternatives: IntArray  # those that admit them


@dataclass(frozen=True)
class Rules:
    """What every route has to keep to. Windows are by alternative."""

    instance: Instance
    kinds: tuple[Kind, ...]
    open: FloatArray
    close: FloatArray
    leave_by: FloatArray

    @property
    def begin(self) -> float:
        """Time at which the first vehicle may leave."""
        return min(kind.begin for kind in self.kinds)

    @property
    def horizon(self) -> float:
        """Time from the first begin of any vehicle to the last due."""
        return max(kind.due for kind in self.kinds) - self.begin

    def relaxed(self, time: float) -> Rules:
        """Give the same rules with all windows and shifts longer by this at both ends."""
        return replace(
            self,
            kinds=tuple(
                kind._replace(begin=kind.begin - time, due=kind.due + time) for kind in self.kinds
            ),
            open=self.open - time,
            close=self.close + time,
            leave_by=self.leave_by + time,
        )

    def best_stays(self, kind: Kind, route: list[int]) -> tuple[list[float], float]:
        """Give the stays that earn most on a route of alternatives, and what they earn.

        In order of falling rate, each piece takes what time those before it have left. Where
        there is too little time for the shortest stays, these are given all the same.
        """
        instance = self.instance
        stays: list[float] = instance.alternative_min_stay[route].tolist()
        places = [kind.start, *instance.alternative_place[route].tolist(), kind.end]
        travel: list[float] = kind.travel[places[:-1], places[1:]].tolist()
        opens: list[float] = self.open[route].tolist()
        closes: list[float] = self.close[route].tolist()
        leave_by: list[float] = self.leave_by[route].tolist()

        def room(position: int) -> float:
            time = kind.begin
            for k in range(position + 1):
                time = max(time + travel[k], opens[k]) + stays[k]
            latest = kind.due
            for k in range(len(route) - 1, position, -1):
                end = min(latest - travel[k + 1], leave_by[k])
                latest = min(end - stays[k], closes[k])
            return min(latest - travel[position + 1], leave_by[position]) - time

        profit = float(instance.alternative_reward[route].sum())
        pieces = [
            (float(instance.piece_rate[piece]), float(instance.piece_length[piece]), position)
            for position, alternative in enumerate(route)
            for piece in range(*instance.piece_start[alternative : alternative + 2].tolist())
        ]
        for rate, length, position in sorted(pieces, key=lambda piece: -piece[0]):
            if rate > 0:
                more = max(0.0, min(length, room(position)))
                stays[position] += more
                profit += rate * more
        return stays, profit

    def keeps_times(self, routes: list[list[int]]) -> bool:
        """Whether routes of alternatives, with the shortest stays, keep all limits on times.

        That is stricter than the checker: what its tolerance allows is no better plan.
        """
        slack = ACCURACY * self.horizon
        for kind, route in self._with_kinds(routes):
            places = [kind.start, *self.instance.alternative_place[route].tolist(), kind.end]
            travel = kind.travel[places[:-1], places[1:]].tolist()
            time = kind.begin
            for position, alternative in enumerate(route):
                time = max(time + travel[position], self.open[alternative])
                if time > self.close[alternative] + slack:
                    return False
                time += float(self.instance.alternative_min_stay[alternative])
                if time > self.leave_by[alternative] + slack:
                    return False
            if route and time + travel[-1] > kind.due + slack:
                return False
        return True

    def earned(self, routes: list[list[int]]) -> float:
        """Give the most that routes of alternatives, one a vehicle, can earn."""
        return sum(self.best_stays(*pair)[1] for pair in self._with_kinds(routes))

    def plan(self, routes: list[list[int]]) -> Solution:
        """Make the best plan of routes of alternatives, one a vehicle."""
        stays = [self.best_stays(*pair)[0] for pair in self._with_kinds(routes)]
        return make_solution(self.instance, routes, stays)

    def _with_kinds(self, routes: list[list[int]]) -> list[tuple[Kind, list[int]]]:
        kinds = {vehicle: kind for kind in self.kinds for vehicle in kind.vehicles}
        return [(kinds[vehicle], route) for vehicle, route in enumerate(routes)]


def read_rules(instance: Instance) -> Rules:
    """Read off an instance what every route has to keep to."""
    admits = instance.alternative_vehicles
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, vehicle in enumerate(instance.fleet):
        own = (vehicle.start, vehicle.end, vehicle.begin, vehicle.due)
        allowed = b"" if admits is None else admits[1:, number].tobytes()
        alike.setdefault((*own, vehicle.speed, vehicle.profile, allowed), []).append(number)
    kinds = []
    for vehicles in alike.values():
        first = instance.fleet[vehicles[0]]
        alternatives = np.arange(1, instance.alternative_count + 1)
        if admits is not None:
            alternatives = alternatives[admits[1:, vehicles[0]]]
        kinds.append(
            Kind(
                vehicles=tuple(vehicles),
                start=first.start,
                end=first.end,
                begin=first.begin,
                due=first.due,
                travel=instance.travel_of(vehicles[0]),
                alternatives=alternatives,
            )
        )
    return Rules(
        instance=instance,
        kinds=tuple(kinds),
        open=instance.alternative_open,
        close=instance.alternative_close,
        leave_by=instance.alternative_leave_by,
    )


class Columns(NamedTuple):
    """The variables of a program by their column, one array a sort."""

    arc: IntArray
    visit: IntArray
    start: IntArray
    leave: IntArray
    piece: IntArray
    order: IntArray


@dataclass(frozen=True)
class Network:
    """What rules leave of an instance: visits in reach, arcs in time, pieces worth a stay.

    A node is an alternative with a kind of vehicle that can use it: 0, 1, ..., and after them one
    for each kind, the tail of the arcs from its start and the head of those to its end.

    Attributes
    ----------
    alternative, kind
        What each node stands for.
    min_stay, earliest, latest, depart
        For every node the shortest stay, bounds on the start of service, and its latest end.
    tail, head, travel
        The arcs, by tail and then by head within a kind, with their travel times.
    arc_arrive, arc_depart
        If the arc is used: earliest start of service at its head, latest end at its tail.
    piece_node, piece_length, piece_profit
        The pieces, and what they earn in full.
    """

    rules: Rules
    alternative: IntArray
    kind: IntArray
    min_stay: FloatArray
    earliest: FloatArray
    latest: FloatArray
    depart: FloatArray
    tail: IntArray
    head: IntArray
    travel: FloatArray
    arc_arrive: FloatArray
    arc_depart: FloatArray
    piece_node: IntArray
    piece_length: FloatArray
    piece_profit: FloatArray

    @property
    def nodes(self) -> int:
        """Number of nodes, starts and ends left out."""
        return len(self.alternative)

    @cached_property
    def stop(self) -> IntArray:
        """Stop of every node."""
        return self.rules.instance.alternative_stop[self.alternative]

    @cached_property
    def must(self) -> IntArray:
        """Nodes of required stops."""
        return np.flatnonzero(self.rules.instance.required[self.stop])

    @property
    def required(self) -> int:
        """Number of the required stops in reach."""
        return len(np.unique(self.stop[self.must]))

    @cached_property
    def ceiling(self) -> float:
        """Profit of all stops together, each visited for as long as it alone could be."""
        by_node = self.rules.instance.alternative_reward[self.alternative]
        np.add.at(by_node, self.piece_node, self.piece_profit)
        by_stop = np.zeros(self.rules.instance.nodes)
        np.maximum.at(by_stop, self.stop, by_node)
        return float(by_stop.sum())

    @cached_property
    def best_rate(self) -> float:
        """Most that a unit of time can earn at any node."""
        instance = self.rules.instance
        first = instance.piece_start[self.alternative]
        first = first[first < instance.piece_start[self.alternative + 1]]
        return float(instance.piece_rate[first].max(initial=0.0))

    @cached_property
    def columns(self) -> Columns:
        """Columns of the program."""
        nodes = self.nodes
        sizes = (len(self.tail), nodes, nodes, nodes, len(self.piece_node), nodes)
        ends = np.cumsum(sizes)
        return Columns(*(np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)))

    def hint(self, plan: Solution) -> FloatArray | None:
        """Values of the binary variables for a plan; None if it uses an arc that is not there."""
        instance = self.rules.instance
        arcs = _numbered(self.tail, self.head)
        node = _numbered(self.kind, self.alternative)
        values = np.zeros(len(self.tail) + self.nodes)
        for number, kind in enumerate(self.rules.kinds):
            for route in (plan.routes[vehicle] for vehicle in kind.vehicles):
                way = [node.get((number, one), -1) for one in alternative_numbers(instance, route)]
                if not way:
                    continue
                depot = self.nodes + number
                used = [arcs.get(pair, -1) for pair in pairwise([depot, *way, depot])]
                if -1 in used:
                    return None
                values[self.columns.arc[used]] = values[self.columns.visit[way]] = 1.0
        return values

    def routes(self, values: FloatArray) -> list[list[int]] | None:
        """Read the alternatives of every vehicle's route off the values of a program.

        None if they are no plan: not integral, with cycles, or more routes than vehicles.
        """
        arc, visit = values[self.columns.arc], values[self.columns.visit]
        binary = np.concatenate((arc, visit))
        if not np.abs(binary - np.round(binary)).max(initial=0.0) <= INTEGRAL:
            return None
        used = np.round(arc) == 1
        after = dict(zip(self.tail[used].tolist(), self.head[used].tolist(), strict=True))
        routes: list[list[int]] = [[] for _ in range(self.rules.instance.vehicles)]
        visited = 0
        for number, kind in enumerate(self.rules.kinds):
            depot = self.nodes + number
            begins = self.head[used & (self.tail == depot)].tolist()
            if len(begins) > len(kind.vehicles):
                return None
            for vehicle, node in zip(kind.vehicles, begins, strict=False):
                while node < self.nodes:
                    if len(routes[vehicle]) == self.nodes or node not in after:
                        return None
                    routes[vehicle].append(int(self.alternative[node]))
                    node = after[node]
                visited += len(routes[vehicle])
        return routes if visited == round(float(np.round(visit).sum())) else None


def _numbered(first: IntArray, second: IntArray) -> dict[tuple[int, int], int]:
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return {pair: number for number, pair in enumerate(pairs)}


def reduce(rules: Rules) -> Network:
    """Leave out what no plan can use.

    Raises
    ------
    TooLargeError
        If too much is left.
    """
    pairs = sum(len(kind.alternatives) ** 2 for kind in rules.kinds)
    if pairs > MAX_PAIRS:
        raise TooLargeError(
            f"pairs of alternatives = {pairs}: method 'milp' takes at most {MAX_PAIRS}"
        )
    parts = [_reduce_kind(rules, kind) for kind in rules.kinds]
    arcs = sum(len(part.tail) for part in parts)
    if arcs > MAX_ARCS:
        raise TooLargeError(f"arcs = {arcs}: method 'milp' takes at most {MAX_ARCS}")
    sizes = [len(part.alternative) for part in parts]
    before, total = np.cumsum([0, *sizes]), sum(sizes)

    def joined(field: str) -> FloatArray:
        return np.concatenate([getattr(part, field) for part in parts])

    def ends(field: str) -> IntArray:
        numbers = [getattr(part, field) for part in parts]
        return np.concatenate(
            [
                np.where(number == sizes[kind], total + kind, number + before[kind])
                for kind, number in enumerate(numbers)
            ]
        )

    instance = rules.instance
    alternative = np.concatenate([part.alternative for part in parts])
    min_stay, earliest, depart = joined("min_stay"), joined("earliest"), joined("depart")
    pieces = []
    for node, number in enumerate(alternative.tolist()):
        room = float(depart[node] - earliest[node] - min_stay[node])
        for piece in range(*instance.piece_start[number : number + 2].tolist()):
            length = min(float(instance.piece_length[piece]), room)
            profit = length * float(instance.piece_rate[piece])
            room -= length
            if profit > 0 and length > ACCURACY * rules.horizon:
                pieces.append((node, length, profit))
    table = np.array(pieces).reshape(-1, 3)
    return Network(
        rules=rules,
        alternative=alternative,
        kind=np.repeat(np.arange(len(parts)), sizes),
        min_stay=min_stay,
        earliest=earliest,
        latest=joined("latest"),
        depart=depart,
        tail=ends("tail"),
        head=ends("head"),
        travel=joined("travel"),
        arc_arrive=joined("arc_arrive"),
        arc_depart=joined("arc_depart"),
        piece_node=table[:, 0].astype(np.int64),
        piece_length=table[:, 1],
        piece_profit=table[:, 2],
    )


class _Part(NamedTuple):
    """The fields of a network for one kind of vehicles; start and end come after the nodes."""

    alternative: IntArray
    min_stay: FloatArray
    earliest: FloatArray
    latest: FloatArray
    depart: FloatArray
    tail: IntArray
    head: IntArray
    travel: FloatArray
    arc_arrive: FloatArray
    arc_depart: FloatArray


def _reduce_kind(rules: Rules, kind: Kind) -> _Part:
    instance, slack = rules.instance, ACCURACY * rules.horizon
    used = kind.alternatives
    place, stop = instance.alternative_place[used], instance.alternative_stop[used]
    min_stay, opens, leave_by = (
        part[used] for part in (instance.alternative_min_stay, rules.open, rules.leave_by)
    )
    last = np.minimum(rules.close[used], leave_by - min_stay)
    there, home = kind.travel[kind.start, place], kind.travel[place, kind.end]
    among = kind.travel[np.ix_(place, place)]
    among[stop[:, None] == stop] = np.inf
    earliest = np.full(len(used), np.inf)
    latest = np.full(len(used), -np.inf)
    # A detour can be shorter than the direct way, so more than one round may be needed.
    with np.errstate(over="ignore"):
        for _ in used:
            before = earliest
            ready = np.where(earliest <= last + slack, earliest + min_stay, np.inf)
            arrive = np.minimum(kind.begin + there, (ready[:, None] + among).min(axis=0))
            earliest = np.maximum(opens, arrive)
            if np.array_equal(before, earliest):
                break
        for _ in used:
            before = latest
            due = np.where(earliest <= latest + slack, latest, -np.inf)
            leave = np.maximum(kind.due - home, (due - among).max(axis=1))
            latest = np.minimum(last, leave - min_stay)
            if np.array_equal(before, latest):
                break

    kept = np.flatnonzero(earliest <= latest + slack)
    used, min_stay, earliest = used[kept], min_stay[kept], earliest[kept]
    latest = np.maximum(latest[kept], earliest)
    # From here on start and end come last, ready when the shift begins and due at its end.
    travel = np.full((len(kept) + 1, len(kept) + 1), np.inf)
    travel[:-1, :-1] = among[np.ix_(kept, kept)]
    travel[-1, :-1], travel[:-1, -1] = there[kept], home[kept]
    ready = np.append(earliest + min_stay, kind.begin)
    arc_depart = np.minimum(
        np.append(leave_by[kept], np.inf)[:, None], np.append(latest, kind.due) - travel
    )
    tail, head = np.nonzero(ready[:, None] <= arc_depart + slack)
    travel = travel[tail, head]
    arc_depart = np.maximum(arc_depart[tail, head], ready[tail])
    arc_arrive = np.maximum(np.append(earliest, kind.begin)[head], ready[tail] + travel)
    depart = ready.copy()
    np.maximum.at(depart, tail, arc_depart)
    return _Part(
        alternative=used,
        min_stay=min_stay,
        earliest=earliest,
        latest=latest,
        depart=depart[:-1],
        tail=tail,
        head=head,
        travel=travel,
        arc_arrive=arc_arrive,
        arc_depart=arc_depart,
    )


class Program(NamedTuple):
    """Maximise `objective @ x` with `0 <= x <= most`, `row_least <= rows @ x <= row_most`.

    The first columns are binary. The entries of row r are `row_start[r]:row_start[r + 1]`. The
    last row is on the number of required stops that are visited, of which `required` counts
    the columns.
    """

    objective: FloatArray
    required: FloatArray
    most: FloatArray
    binaries: int
    row_start: npt.NDArray[np.int32]
    row_column: npt.NDArray[np.int32]
    row_value: FloatArray
    row_least: FloatArray
    row_most: FloatArray

    def counting(self) -> Program:
        """Give the program that maximises the number of required stops."""
        return self._replace(objective=self.required)

    def demanding(self, required: int) -> Program:
        """Give the program in which so many required stops are visited at least."""
        least = self.row_least.copy()
        least[-1] = required
        return self._replace(row_least=least)


class _Rows:
    """Rows of a program as they are written."""

    def __init__(self) -> None:
        self.least: list[float] = []
        self.most: list[float] = []
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []

    def add(
        self,
        count: int,
        *terms: tuple[IntArray | int, IntArray, FloatArray | float],
        least: float = -math.inf,
        most: float = 0.0,
    ) -> None:
        """Add rows; each term gives the rows of its entries, counted from 0, columns, values."""
        for row, column, value in terms:
            shape = column.shape
            rows = np.broadcast_to(len(self.most) + np.asarray(row), shape)
            self.entries.append((rows, column, np.broadcast_to(value, shape)))
        self.least += [least] * count
        self.most += [most] * count


def write(network: Network) -> Program:
    """Write the program, with the horizon as the unit of time, and all there is to earn as 1,000.

    Solvers take absolute tolerances, so no instance may look small or large to them.
    """
    arc, visit, start, leave, piece, order = network.columns
    rules = network.rules
    begin, unit = rules.begin, rules.horizon or 1.0
    min_stay, travel, length = (
        times / unit for times in (network.min_stay, network.travel, network.piece_length)
    )
    earliest, latest, depart, arc_arrive, arc_depart = (
        (times - begin) / unit
        for times in (
            network.earliest,
            network.latest,
            network.depart,
            network.arc_arrive,
            network.arc_depart,
        )
    )
    nodes = network.nodes
    node = np.arange(nodes)
    tail, head = network.tail, network.head
    leaves, enters = np.flatnonzero(tail < nodes), np.flatnonzero(head < nodes)
    rows = _Rows()

    # A visited node is entered once and left once, and a stop visited at one of its nodes. No
    # more routes of a kind than there are vehicles.
    rows.add(nodes, (tail[leaves], arc[leaves], 1.0), (node, visit, -1.0), least=0.0)
    rows.add(nodes, (head[enters], arc[enters], 1.0), (node, visit, -1.0), least=0.0)
    _, which = np.unique(network.stop, return_inverse=True)
    several = np.bincount(which) > 1
    chosen = np.flatnonzero(several[which])
    numbers = np.cumsum(several) - 1
    rows.add(int(several.sum()), (numbers[which[chosen]], visit[chosen], 1.0), most=1.0)
    for number, kind in enumerate(rules.kinds):
        begins = np.flatnonzero(tail == nodes + number)
        rows.add(1, (0, arc[begins], 1.0), most=float(len(kind.vehicles)))

    # Windows, leave_by and shifts, each as tight as the arcs in use allow. At a node that is not
    # visited the times are 0.
    latest_by_arc = np.minimum(latest[tail[leaves]], arc_depart[leaves] - min_stay[tail[leaves]])
    rows.add(nodes, (head[enters], arc[enters], arc_arrive[enters]), (node, start, -1.0))
    rows.add(nodes, (node, start, 1.0), (tail[leaves], arc[leaves], -latest_by_arc))
    rows.add(nodes, (node, leave, 1.0), (tail[leaves], arc[leaves], -arc_depart[leaves]))

    # The stay is the shortest one and a share of every piece. Rates fall, so that the pieces
    # fill up in their order.
    rows.add(
        nodes,
        (node, start, 1.0),
        (node, visit, min_stay),
        (network.piece_node, piece, length),
        (node, leave, -1.0),
    )
    pieces = np.arange(len(piece))
    rows.add(len(piece), (pieces, piece, 1.0), (pieces, visit[network.piece_node], -1.0))

    # leave_i + travel_ij <= start_j if the arc is used, else leave_i <= depart_i visit_i and
    # start_j >= earliest_j visit_j: the paper's row with L, the large constant, as small as can be.
    inner = np.flatnonzero((tail < nodes) & (head < nodes))
    large = travel[inner] + depart[tail[inner]] - earliest[head[inner]]
    binds = inner[large > 0]
    i, j, row = tail[binds], head[binds], np.arange(len(binds))
    rows.add(
        len(binds),
        (row, leave[i], 1.0),
        (row, visit[i], -depart[i]),
        (row, start[j], -1.0),
        (row, visit[j], earliest[j]),
        (row, arc[binds], large[large > 0]),
    )

    # Times rule a cycle out unless it takes none, up to what tolerances add up to: stops in one
    # place, say. Among those an order does it.
    short = inner[travel[inner] + min_stay[tail[inner]] <= 10 * ACCURACY * nodes]
    i, j, row = tail[short], head[short], np.arange(len(short))
    size = float(len(np.union1d(i, j)))
    rows.add(
        len(short),
        (row, order[i], 1.0),
        (row, order[j], -1.0),
        (row, arc[short], size),
        most=size - 1,
    )

    # All that takes time fits in the shifts. Implied, but without it the relaxation is weak.
    kind_of_arc = np.append(network.kind, np.arange(len(rules.kinds)))[tail]
    shift = np.array([(kind.due - kind.begin) / unit for kind in rules.kinds])
    rows.add(
        len(rules.kinds),
        (kind_of_arc, arc, travel - np.where(tail >= nodes, shift[kind_of_arc], 0.0)),
        (network.kind, visit, min_stay),
        (network.kind[network.piece_node], piece, length),
    )

    rows.add(1, (0, visit[network.must], 1.0), least=0.0, most=float(network.required))

    size_of = order[-1] + 1 if nodes else 0
    objective, required = np.zeros(size_of), np.zeros(size_of)
    scale = min(PROFIT_UNITS / (network.ceiling or 1.0), LARGEST)  # profits may be denormal
    objective[visit] = rules.instance.alternative_reward[network.alternative] * scale
    objective[piece] = network.piece_profit * scale
    required[visit[network.must]] = 1.0
    most = np.ones(size_of)
    most[start], most[leave], most[order] = latest, depart, max(size - 1, 0.0)
    entries = [np.concatenate(part) for part in zip(*rows.entries, strict=True)]
    by_row = np.argsort(entries[0], kind="stable")
    row_index, row_column, row_value = (part[by_row] for part in entries)
    return Program(
        objective=objective,
        required=required,
        most=most,
        binaries=len(arc) + len(visit),
        row_start=np.searchsorted(row_index, np.arange(len(rows.most) + 1)).astype(np.int32),
        row_column=row_column.astype(np.int32),
        row_value=row_value,
        row_least=np.array(rows.least),
        row_most=np.array(rows.most),
    )
