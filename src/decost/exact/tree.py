"""The branch-and-bound tree of `columns`: branches, their bounds, and the incumbent."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from decost.exact.exact import rounded
from decost.method.progress import Reporter
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network

ACCURACY = 1e-9
"""Share of all profit that a bound may be above a plan that counts as proven."""

SHARE = 1e-6
"""Least share of a route, a stop or an arc that counts."""


@dataclass
class Incumbent:
    """The best plan so far, by stops, and what is proven of it; it survives an interruption."""

    routes: list[list[int]]
    profit: float
    bound: float
    proven: bool = False
    labels: int = 0
    branches: int = 0


@dataclass
class Branch:
    """Some of all plans: stops that must be visited, arcs that may be used, and a bound."""

    bound: float
    forced: BoolArray
    arcs: BoolArray
    vehicles: int

    def without(self, network: Network, route: IntArray) -> Branch:
        """Give what is left to the others when one vehicle drives a route."""
        forced, arcs = self.forced.copy(), self.arcs.copy()
        stops = network.stop[route]
        forced[stops] = False
        taken = np.isin(network.stop, stops)
        arcs[taken] = arcs[:, taken] = False
        return Branch(self.bound, forced, arcs, self.vehicles - 1)

    def divide(
        self, network: Network, routes: list[IntArray], share: FloatArray
    ) -> list[Branch] | None:
        """Divide by a stop that shares of routes visit in part, or else by such an arc.

        None if the shares make a plan: only rounding is between the bound and it.
        """
        visits = np.zeros(len(network.number))
        flow = np.zeros(self.arcs.shape)
        for route, part in zip(routes, share, strict=False):
            if part > 0:
                visits[network.stop[route]] += part
                flow[np.append(network.start, route[:-1]), route] += part
        parts = np.minimum(visits, 1 - visits)
        parts[self.forced] = 0.0
        stop = int(np.argmax(parts))
        forced, arcs, others = self.forced.copy(), self.arcs.copy(), self.arcs.copy()
        if parts[stop] > SHARE:
            forced[stop] = True
            here = network.stop == stop
            others[here] = others[:, here] = False
        else:
            parts = np.minimum(flow, 1 - flow)
            tail, head = np.unravel_index(np.argmax(parts), parts.shape)
            if parts[tail, head] <= SHARE:
                return None
            forced[network.stop[head]] = True
            arcs[:, head] = False
            if tail != network.start:
                forced[network.stop[tail]] = True
                arcs[tail] = False
            arcs[tail, head] = True
            others[tail, head] = False
        return [
            Branch(self.bound, forced, arcs, self.vehicles),
            Branch(self.bound, self.forced, others, self.vehicles),
        ]


class Tree:
    """Branches that may hold a plan better than the incumbent, the largest bound first.

    All profits are multiples of `grain`, if it is not 0; `unit` is what there is to earn in all.
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
        profit = self.incumbent.profit
        return rounded(bound, self.grain) > profit * (1 + ACCURACY) + 1e-12 * self.unit

    def gap(self, bound: float) -> float:
        """How much better than the incumbent a plan that keeps a bound may be."""
        better = self.incumbent.profit + self.grain * (1 - 1e-6)
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

    def offer(self, routes: list[list[int]], profit: float) -> None:
        """Take a plan as the incumbent if it earns more."""
        if profit > self.incumbent.profit:
            self.incumbent.routes, self.incumbent.profit = routes, profit
            self.note()

    def note(self) -> None:
        """Note what is proven of all branches together, and report it."""
        known = self.incumbent
        bound = rounded(self.bound, self.grain)
        known.bound = max(known.profit, min(known.bound, bound))
        if self._reporter is not None:
            self._reporter.report(known.profit, known.bound)
