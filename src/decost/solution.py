"""A plan: routes of visits, each with its times and profit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from decost.instance import FloatArray, Instance


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


def stay_profit(instance: Instance, stop: int, stay: float) -> float:
    """Profit of a stay of this length at a stop."""
    profit, rest = float(instance.reward[stop]), stay - float(instance.min_stay[stop])
    for piece in range(instance.piece_start[stop], instance.piece_start[stop + 1]):
        part = min(max(rest, 0.0), float(instance.piece_length[piece]))
        profit += float(instance.piece_rate[piece]) * part
        rest -= part
    return profit


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
    travel = instance.travel
    visits = []
    place, time = 0, 0.0
    for position, (stop, stay) in enumerate(zip(stops, stays, strict=True)):
        arrive = time + float(travel[place, stop])
        start = max(arrive, float(instance.open[stop])) if starts is None else starts[position]
        place, time = stop, start + float(stay)
        profit = stay_profit(instance, stop, float(stay))
        visits.append(Visit(stop, arrive, start, float(stay), time, profit))
    finish = time + float(travel[place, instance.end]) if visits else 0.0
    return Route(tuple(visits), finish)


def make_solution(
    instance: Instance,
    routes: Sequence[Sequence[int]],
    stays: Sequence[Sequence[float] | FloatArray],
) -> Solution:
    """Make a plan of stops and stays; vehicles without a route stay at the depot.

    An empty route takes no time: its vehicle does not travel to a separate end depot.
    """
    timed = [timed_route(instance, *pair) for pair in zip(routes, stays, strict=True)]
    idle = [Route((), 0.0)] * (instance.vehicles - len(timed))
    return Solution(tuple(timed + idle))
