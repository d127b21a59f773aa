"""The branch-and-bound tree of `columns`: branches, their bounds, and the incumbent."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from decost.exact.exact import rounded
from decost.exact.pricing import Team, Trip
from decost.method.progress import Reporter
from decost.problem.instance import BoolArray, FloatArray

ACCURACY = 1e-9
"""Share of all profit that a bound may be above a plan that counts as proven."""

SHARE = 1e-6
"""Least share of a route, a stop or an arc that counts."""


@dataclass
class Incumbent:
    """The best plan so far, and what is proven of it; it survives an interruption.

    Routes are of alternatives, one a vehicle; value and bound count required stops
    (`decost.method.value`).
    """

    routes: list[list[int]]
    value: float
    bound: float
    proven: bool = False
    labels: int = 0
    branches: int = 0


@dataclass
class Branch:
    """Some of all plans: stops that must be visited, arcs that may be used, and a bound.

    Stops go by their rows; arcs and the number of vehicles are given for each type.
    """

    bound: float
    forced: BoolArray
    arcs: tuple[BoolArray, ...]
    vehicles: tuple[int, ...]

    def without(self, team: Team, trip: Trip) -> Branch:
        """Give what is left to the others when one vehicle drives a route."""
        forced = self.forced.copy()
        rows = team.rows(trip)
        forced[rows] = False
        arcs = self._closed([np.isin(kind.row, rows) for kind in team.kinds])
        vehicles = list(self.vehicles)
        vehicles[trip.kind] -= 1
        return Branch(self.bound, forced, arcs, tuple(vehicles))

    def divide(
        self, team: Team, trips: Sequence[Trip], share: FloatArray
    ) -> tuple[Branch, Branch] | None:
        """Divide by something that shares of routes do in part.

        That is the visit of a stop, at all, by a type of vehicles, or by one of its alternatives;
        or else an arc. None if the shares make a plan: only rounding is between the bound and it.
        """
        flows = [np.zeros(arcs.shape) for arcs in self.arcs]
        for (kind, route), part in zip(trips, share, strict=False):
            if part > 0:
                flows[kind][np.append(team.kinds[kind].network.start, route[:-1]), route] += part
        nodes = [flow.sum(axis=0) for flow in flows]
        visits = np.zeros((len(flows), len(self.forced) + 1))  # what is no stop has row -1
        for kind, (one, part) in enumerate(zip(team.kinds, nodes, strict=True)):
            np.add.at(visits[kind], one.row, part)
        visits = visits[:, :-1]
        stop = _undecided([np.where(self.forced, 0.0, visits.sum(axis=0))])
        if stop is not None:
            return self._by_visit(team, stop[1])
        stop = _undecided(list(visits))
        if stop is not None:
            return self._by_visit(team, stop[1], stop[0])
        place = _undecided(nodes)
        if place is not None:
            return self._by_node(team, *place)
        arc = _undecided(flows)
        return None if arc is None else self._by_arc(team, *arc)

    def _by_visit(self, team: Team, row: int, kind: int | None = None) -> tuple[Branch, Branch]:
        """Divide by whether a stop is visited, or is by vehicles of a type."""
        here = team.nodes_at(row)
        others = [at & (kind not in (None, k)) for k, at in enumerate(here)]
        mine = [at & (kind in (None, k)) for k, at in enumerate(here)]
        return (
            replace(self, forced=self._forced(row), arcs=self._closed(others)),
            replace(self, arcs=self._closed(mine)),
        )

    def _by_node(self, team: Team, kind: int, node: int) -> tuple[Branch, Branch]:
        """Divide by whether vehicles of a type visit a node."""
        row = team.kinds[kind].row[node]
        without = list(self.arcs)
        without[kind] = without[kind].copy()
        without[kind][node] = without[kind][:, node] = False
        return (
            replace(self, forced=self._forced(row), arcs=self._closed(_others(team, kind, node))),
            replace(self, arcs=tuple(without)),
        )

    def _by_arc(self, team: Team, kind: int, tail: int, head: int) -> tuple[Branch, Branch]:
        """Divide by whether vehicles of a type use an arc."""
        mine = team.kinds[kind]
        closed, rows = _others(team, kind, head), [mine.row[head]]
        if tail != mine.network.start:
            rows.append(mine.row[tail])
            pairs = zip(closed, _others(team, kind, tail), strict=True)
            closed = [one | other for one, other in pairs]
        used, without = list(self._closed(closed)), list(self.arcs)
        used[kind] = used[kind].copy()
        used[kind][:, head] = False
        if tail != mine.network.start:
            used[kind][tail] = False
        used[kind][tail, head] = True
        without[kind] = without[kind].copy()
        without[kind][tail, head] = False
        return (
            replace(self, forced=self._forced(*rows), arcs=tuple(used)),
            replace(self, arcs=tuple(without)),
        )

    def _forced(self, *rows: int) -> BoolArray:
        """Mark some more stops that must be visited."""
        forced = self.forced.copy()
        forced[list(rows)] = True
        return forced

    def _closed(self, nodes: Sequence[BoolArray]) -> tuple[BoolArray, ...]:
        """Give the arcs that are left without some nodes, which are marked for each type."""
        return tuple(
            arcs & ~at & ~at[:, None] if at.any() else arcs
            for arcs, at in zip(self.arcs, nodes, strict=True)
        )


def root_branch(team: Team, bound: float) -> Branch:
    """Give the branch of all plans."""
    free = np.zeros(len(team.number), dtype=np.bool_)
    arcs = tuple(kind.reach for kind in team.kinds)
    return Branch(bound, free, arcs, tuple(len(kind.vehicles) for kind in team.kinds))


def _others(team: Team, kind: int, node: int) -> list[BoolArray]:
    """Mark all other nodes of the stop of a node, for each type."""
    nodes = team.nodes_at(team.kinds[kind].row[node])
    nodes[kind][node] = False
    return nodes


def _undecided(parts: Sequence[FloatArray]) -> tuple[int, ...] | None:
    """Find what is nearest to a half, by its array and place, if anything is not whole."""
    rest = [np.minimum(part, 1 - part) for part in parts]
    most = [part.max(initial=0.0) for part in rest]
    which = int(np.argmax(most))
    if most[which] <= SHARE:
        return None
    place = np.unravel_index(np.argmax(rest[which]), rest[which].shape)
    return which, *map(int, place)


class Tree:
    """Branches that may hold a plan better than the incumbent, the largest bound first.

    All values are multiples of `grain`, if it is not 0; `unit` is the value of all stops.
    """

    def __init__(
        self, incumbent: Incumbent, grain: float, unit: float, reporter: Reporter | None = None
    ) -> None:
        self.incumbent = incumbent
        self._reporter = reporter
        self.grain = grain
        self.unit = unit
        self.given_up = 0.0
        self._open: list[tuple[float, int, Branch]] = []

    def push(self, branch: Branch) -> None:
        """Add a branch."""
        self.incumbent.branches += 1
        heapq.heappush(self._open, (-branch.bound, self.incumbent.branches, branch))

    def pop(self) -> None:
        """Remove the branch with the largest bound."""
        heapq.heappop(self._open)

    def first(self) -> Branch | None:
        """Give the branch with the largest bound, unless none holds a better plan."""
        if self._open and self.hopeful(self._open[0][2].bound):
            return self._open[0][2]
        return None

    def give_up(self, branch: Branch) -> None:
        """Leave a branch as it is: its bound stands."""
        self.given_up = max(self.given_up, branch.bound)

    def hopeful(self, bound: float) -> bool:
        """Whether a plan that keeps a bound may be better than the incumbent."""
        value = self.incumbent.value
        return rounded(bound, self.grain) > value * (1 + ACCURACY) + 1e-12 * self.unit

    def gap(self, bound: float) -> float:
        """How much better than the incumbent a plan that keeps a bound may be."""
        better = self.incumbent.value + self.grain * (1 - 1e-6)
        return bound - better + ACCURACY * self.unit

    @property
    def bound(self) -> float:
        """Bound on all plans that are better than the incumbent."""
        bounds = [branch.bound for _, _, branch in self._open]
        return max(self.given_up, *bounds, -math.inf)

    def lower(self, branch: Branch, bound: float) -> None:
        """Note a bound of a branch."""
        branch.bound = float(min(branch.bound, bound))
        self.note()

    def offer(self, routes: list[list[int]], value: float) -> None:
        """Take a plan as the incumbent if it is better."""
        if value > self.incumbent.value:
            self.incumbent.routes, self.incumbent.value = routes, value
            self.note()

    def note(self) -> None:
        """Note what is proven of all branches together, and report it."""
        known = self.incumbent
        bound = rounded(self.bound, self.grain)
        known.bound = max(known.value, min(known.bound, bound))
        if self._reporter is not None:
            self._reporter.report(known.value, known.bound)
