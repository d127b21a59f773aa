"""A plan: routes of visits, each with its times and profit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decost.problem.instance import FloatArray, Instance


class Visit(NamedTuple):
    """One stop on a route: when it is reached, served and left, and what that earns."""

    stop: int
    arrive: float
    start: float
    stay: float
    leave: float
    profit: float


@dataclass(frozen=True)
class Route:
    """The visits of one vehicle in order, and the time at which it is back."""

    visits: tuple[Visit, ...]
    finish: float

    @property
    def profit(self) -> float:
        """Profit of all visits."""
        return sum(visit.profit for visit in self.visits)

    @property
    def stops(self) -> tuple[int, ...]:
        """Stops in the order of the visits."""
        return tuple(visit.stop for visit in self.visits)


@dataclass(frozen=True)
class Solution:
    """A plan with one route a vehicle; a vehicle that stays at the depot has an empty one."""

    routes: tuple[Route, ...]

    @property
    def profit(self) -> float:
        """Profit of all routes."""
        return sum(route.profit for route in self.routes)

    @property
    def visits(self) -> tuple[Visit, ...]:
        """Visits of all routes, one route after another."""
        return tuple(visit for route in self.routes for visit in route.visits)

    def __repr__(self) -> str:
        return f"Solution(profit {self.profit:g}, visits {[len(r.visits) for r in self.routes]})"


def stay_profits(
    instance: Instance, stops: Sequence[int], stays: Sequence[float] | FloatArray
) -> FloatArray:
    """Profits of stays of these lengths at these stops."""
    places = np.asarray(stops, dtype=np.int64)
    first = instance.piece_start[places]
    pieces = instance.piece_start[places + 1] - first
    visit = np.repeat(np.arange(len(places)), pieces)
    piece = np.arange(len(visit)) + (first - np.cumsum(pieces) + pieces)[visit]
    rest = (np.asarray(stays) - instance.min_stay[places])[visit] - instance.piece_offset[piece]
    part = np.minimum(np.maximum(rest, 0.0), instance.piece_length[piece])
    profits = instance.reward[places]
    np.add.at(profits, visit, instance.piece_rate[piece] * part)
    return profits


def timed_route(
    instance: Instance,
    stops: Sequence[int],
    stays: Sequence[float] | FloatArray,
    starts: Sequence[float] | None = None,
) -> Route:
    """Put times and profits to stops and stays, serving each stop as soon as it can be.

    Nothing is checked here: `decost.check` tells whether the route is feasible.

    Parameters
    ----------
    instance
        The problem.
    stops, stays
        The route and how long to stay at each of its stops.
    starts
        Start of each service, if it is not to be the earliest.
    """
    if len(stays) != len(stops):
        raise ValueError(f"stays: there are {len(stays)} for {len(stops)} stops")
    if not len(stops):
        return Route((), 0.0)
    # Plain numbers are taken out all at once: one by one they would cost more than the rest.
    order = [0, *stops, instance.end]
    travel = instance.travel[order[:-1], order[1:]].tolist()
    opens = instance.open[order[1:-1]].tolist()
    profits = stay_profits(instance, stops, stays).tolist()
    visits = []
    time = 0.0
    for position, (stop, stay) in enumerate(zip(stops, map(float, stays), strict=True)):
        arrive = time + travel[position]
        start = max(arrive, opens[position]) if starts is None else starts[position]
        time = start + stay
        visits.append(Visit(stop, arrive, start, stay, time, profits[position]))
    return Route(tuple(visits), time + travel[-1])


def make_solution(
    instance: Instance,
    routes: Sequence[Sequence[int]],
    stays: Sequence[Sequence[float] | FloatArray],
) -> Solution:
    """Make a plan of stops and stays; vehicles without a route stay at the depot.

    An empty route takes no time: its vehicle does not travel to a separate end depot.
    """
    timed = [timed_route(instance, *pair) for pair in zip(routes, stays, strict=True)]
    return with_idle_vehicles(instance, timed)


def with_idle_vehicles(instance: Instance, routes: Sequence[Route]) -> Solution:
    """Make a plan of routes; vehicles without one stay at the depot."""
    idle = [Route((), 0.0)] * (instance.vehicles - len(routes))
    return Solution((*routes, *idle))
