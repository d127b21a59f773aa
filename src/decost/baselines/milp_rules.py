"""What routes have to keep to, and which visits and ways between them that leaves.

The program of these judges the exact methods, and so the rules are written anew: nothing here
knows the timeline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from decost.problem.instance import FloatArray, Instance, IntArray
from decost.problem.once import cached_property
from decost.problem.plan import Solution, alternative_numbers, make_solution

ACCURACY = 1e-9
"""Share of the horizon, or of 1, by which rows of a program may be off."""

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
