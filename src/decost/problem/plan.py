"""A plan: routes of visits, each with its times and profit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from decost.problem.instance import FloatArray, Instance

Ways: TypeAlias = Sequence[Sequence[FloatArray]]
"""The points (lon, lat) of every leg of every route, if they are not straight lines."""


class Visit(NamedTuple):
    """One stop on a route: when it is reached, served and left, and what that earns."""

    stop: int
    arrive: float
    start: float
    stay: float
    leave: float
    profit: float
    alternative: int | None = 0
    """Which of the stop's alternatives is used, from 0; None if a plan does not say."""


@dataclass(frozen=True)
class Route:
    """The visits of one vehicle in order, when it leaves and when it is at its end.

    `late` is by how much an `underway` vehicle without visits misses its due time on the direct
    way to its end; for every other route it is 0.
    """

    visits: tuple[Visit, ...]
    finish: float
    depart: float = 0.0
    late: float = 0.0

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
    """A plan: the route of vehicle k at place k, an empty one for a vehicle without visits."""

    routes: tuple[Route, ...]

    _numbers: ClassVar[FloatArray | None] = None  # of a plan whose visits are not made yet

    @classmethod
    def unread(cls, numbers: FloatArray) -> Solution:
        """Make a plan with one route, whose visits are made when they are first asked for.

        To make those of a large set takes about as long as to solve it, and holds up other threads.

        Parameters
        ----------
        numbers
            When the vehicle leaves and when it is at its end; then the stops, and after them all
            arrivals, starts, stays, ends and profits.
        """
        plan = object.__new__(cls)
        object.__setattr__(plan, "_numbers", numbers)
        return plan

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make the routes, if it is these that are not there yet."""
            if name == "routes" and (numbers := self._numbers) is not None:
                object.__setattr__(self, "routes", (_route_of(numbers),))
                object.__setattr__(self, "_numbers", None)
            return object.__getattribute__(self, name)

    @property
    def profit(self) -> float:
        """Profit of all routes."""
        numbers = self._numbers
        if numbers is not None:
            return float(sum(numbers[2 + (len(numbers) - 2) * 5 // 6 :].tolist()))
        return sum(route.profit for route in self.routes)

    @property
    def visits(self) -> tuple[Visit, ...]:
        """Visits of all routes, one route after another."""
        return tuple(visit for route in self.routes for visit in route.visits)

    def __repr__(self) -> str:
        return f"Solution(profit {self.profit:g}, visits {[len(r.visits) for r in self.routes]})"


def _route_of(numbers: FloatArray) -> Route:
    """Make a route of the numbers of `Solution.unread`."""
    depart, finish = numbers[:2].tolist()
    stops, *times = numbers[2:].reshape(6, -1).tolist()
    rows = zip(map(int, stops), *times, repeat(0), strict=False)
    return Route(tuple(map(Visit._make, rows)), finish, depart)


def stay_profits(
    instance: Instance, alternatives: Sequence[int], stays: Sequence[float] | FloatArray
) -> FloatArray:
    """Profits of stays of these lengths by these alternatives (the stops, if each has one)."""
    used = np.asarray(alternatives, dtype=np.int64)
    first = instance.piece_start[used]
    pieces = instance.piece_start[used + 1] - first
    visit = np.repeat(np.arange(len(used)), pieces)
    piece = np.arange(len(visit)) + (first - np.cumsum(pieces) + pieces)[visit]
    rest = (np.asarray(stays) - instance.alternative_min_stay[used])[visit]
    part = np.minimum(
        np.maximum(rest - instance.piece_offset[piece], 0.0), instance.piece_length[piece]
    )
    profits = instance.alternative_reward[used]
    np.add.at(profits, visit, instance.piece_rate[piece] * part)
    return profits


def alternative_numbers(instance: Instance, route: Route) -> list[int]:
    """Numbers of a route's alternatives in the instance, as `timed_route` takes them.

    An alternative that the plan does not name counts as the first of its stop.
    """
    first = instance.alternative_first
    return [int(first[visit.stop]) + (visit.alternative or 0) for visit in route.visits]


def timed_route(
    instance: Instance,
    alternatives: Sequence[int],
    stays: Sequence[float] | FloatArray,
    starts: Sequence[float] | None = None,
    vehicle: int = 0,
) -> Route:
    """Put times and profits to visits and stays, starting each service as soon as it can be.

    The vehicle leaves as late as it can without moving the first service. Nothing is checked
    here: `decost.check` tells whether the route is feasible.

    Parameters
    ----------
    instance
        The problem.
    alternatives, stays
        The route, by the numbers of its alternatives (the stops, if each has one alternative),
        and how long each visit lasts.
    starts
        Start of each service, if it is not to be the earliest.
    vehicle
        Whose route it is.
    """
    if len(stays) != len(alternatives):
        raise ValueError(f"stays: there are {len(stays)} for {len(alternatives)} stops")
    if not len(alternatives):
        return idle_route(instance, vehicle)
    # Plain numbers are taken out all at once: one by one they would cost more than the rest.
    used = list(alternatives)
    stops, which, places = _split(instance, used)
    mine = instance.fleet[vehicle]
    order = [mine.start, *places, mine.end]
    travel = instance.travel_of(vehicle)[order[:-1], order[1:]].tolist()
    opens = instance.alternative_open[used].tolist()
    profits = stay_profits(instance, used, stays).tolist()
    visits = []
    depart = time = mine.begin
    for position, (stop, stay) in enumerate(zip(stops, map(float, stays), strict=True)):
        arrive = time + travel[position]
        start = max(arrive, opens[position]) if starts is None else starts[position]
        time = start + stay
        visits.append(Visit(stop, arrive, start, stay, time, profits[position], which[position]))
    first = visits[0]
    if first.start > first.arrive:  # leaving later, it arrives when the service starts
        depart = max(depart, first.start - travel[0])
        visits[0] = first._replace(arrive=first.start)
    return Route(tuple(visits), time + travel[-1], depart)


def _split(instance: Instance, used: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Give the stops of alternatives, which of the stop's they are, and their places."""
    if instance.simple:
        return used, [0] * len(used), used
    stops = instance.alternative_stop[used]
    which = np.asarray(used) - instance.alternative_first[stops]
    return stops.tolist(), which.tolist(), instance.alternative_place[used].tolist()


def idle_route(instance: Instance, vehicle: int = 0) -> Route:
    """Route without visits: the vehicle does not move, or goes home directly if it is underway."""
    mine = instance.fleet[vehicle]
    if not mine.underway:
        return Route((), mine.begin, mine.begin)
    finish = mine.begin + float(instance.travel_of(vehicle)[mine.start, mine.end])
    late = finish - mine.due
    return Route((), finish, mine.begin, late if late > instance.tolerance else 0.0)


def make_solution(
    instance: Instance,
    routes: Sequence[Sequence[int]],
    stays: Sequence[Sequence[float] | FloatArray],
) -> Solution:
    """Make a plan of routes and stays, the first for vehicle 0, and so on.

    Routes hold the numbers of alternatives, which are the stops if each has one. Vehicles
    without visits do not move and take no time, unless they are underway.
    """
    last = instance.vehicles - 1  # more routes than vehicles are for the checker to complain about
    timed = [
        timed_route(instance, route, durations, vehicle=min(vehicle, last))
        for vehicle, (route, durations) in enumerate(zip(routes, stays, strict=True))
    ]
    return with_idle_vehicles(instance, timed)


def with_idle_vehicles(instance: Instance, routes: Sequence[Route]) -> Solution:
    """Make a plan of routes; vehicles without visits stay, or go home if they are underway."""
    empty = Route((), 0.0)
    padded = (*routes, *[empty] * (instance.vehicles - len(routes)))
    last = instance.vehicles - 1
    return Solution(
        tuple(
            route if route.visits else idle_route(instance, min(vehicle, last))
            for vehicle, route in enumerate(padded)
        )
    )
