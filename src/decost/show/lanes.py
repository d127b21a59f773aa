"""Routes of a plan as map and timeline draw them: their names, colours, rows and ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.lines import Line2D

from decost.problem.instance import FloatArray, Instance
from decost.problem.names import place_name, place_of, vehicle_name
from decost.problem.plan import Route, Solution
from decost.show.page import Script, make_marker
from decost.show.palette import COLOUR_NAMES, INK, ROUTE_COLOURS, ROUTE_LINES

Kind: TypeAlias = Literal["start", "end", "start and end"]

NAME_LENGTH = 24


@dataclass(frozen=True)
class Lane:
    """A route's rows in the timeline: its start, one for each visit, its end."""

    route: Route
    vehicle: int
    name: str
    top: float
    places: tuple[int, ...]
    """Of its start, its visits and its end."""
    begin: float
    due: float
    colour: str
    line: Any
    """Of the route on the map, as matplotlib knows it."""
    ways: tuple[FloatArray, ...] = ()
    """Its legs on the map, if they are not straight."""

    @property
    def rows(self) -> FloatArray:
        """Rows of its visits."""
        return self.top + 1 + np.arange(len(self.route.visits), dtype=np.float64)

    @property
    def bottom(self) -> float:
        """Row of its end."""
        return self.top + 1 + len(self.route.visits)


def looks_of(instance: Instance, routes: int) -> list[tuple[str, Any]]:
    """Colours and lines of vehicles, no two alike as long as there are enough.

    They follow the order of the vehicles, but one that is called "red" is red.
    """
    wanted = {
        vehicle: COLOUR_NAMES[name]
        for vehicle in range(routes)
        if (name := vehicle_name(instance, vehicle).lower()) in COLOUR_NAMES
    }
    if len(set(wanted.values())) < len(wanted):
        wanted = {}
    looks: Iterable[tuple[str, Any]] = cycle(
        (colour, line)
        for line in ROUTE_LINES
        for colour in ROUTE_COLOURS
        if line != ROUTE_LINES[0] or colour not in wanted.values()
    )
    others = iter(looks)
    return [
        (wanted[vehicle], ROUTE_LINES[0]) if vehicle in wanted else next(others)
        for vehicle in range(routes)
    ]


def make_lanes(instance: Instance, solution: Solution, script: Script) -> list[Lane]:
    """Give a lane to every route that has visits or goes home, named if there are several."""
    lanes: list[Lane] = []
    looks = looks_of(instance, len(solution.routes))
    for vehicle, route in enumerate(solution.routes):
        mine = instance.fleet[min(vehicle, instance.vehicles - 1)]
        if route.visits or (mine.underway and route.finish > route.depart):
            several = len(solution.routes) > 1
            name = vehicle_name(instance, vehicle) or (f"Route {vehicle + 1}" if several else "")
            lanes.append(
                Lane(
                    route=route,
                    vehicle=vehicle,
                    name=script.clean(name, NAME_LENGTH),
                    top=lanes[-1].bottom + 1.6 if lanes else 1.0,
                    places=(
                        mine.start,
                        *(place_of(instance, visit) for visit in route.visits),
                        mine.end,
                    ),
                    begin=mine.begin,
                    due=mine.due,
                    colour=looks[vehicle][0],
                    line=looks[vehicle][1],
                )
            )
    return lanes


def left_out(instance: Instance, solution: Solution) -> list[int]:
    """List the required stops that the plan does not visit."""
    visited = {visit.stop for visit in solution.visits}
    return [stop for stop in instance.required.nonzero()[0].tolist() if stop not in visited]


def ends_of(instance: Instance) -> dict[int, Kind]:
    """Places at which vehicles start or end, and which of the two."""
    starts = {vehicle.start for vehicle in instance.fleet}
    ends = {vehicle.end for vehicle in instance.fleet}
    return {
        place: "start and end"
        if place in starts and place in ends
        else ("start" if place in starts else "end")
        for place in sorted(starts | ends)
    }


def has_one_depot(instance: Instance) -> bool:
    """Whether all vehicles start at the depot, and end there or at the separate end."""
    return all(
        vehicle.start == 0 and vehicle.end == (instance.nodes if instance.separate_end else 0)
        for vehicle in instance.fleet
    )


def has_own_shifts(instance: Instance) -> bool:
    """Whether some vehicle may begin, or is due, at another time than the instance says."""
    return any((one.begin, one.due) != (instance.begin, instance.budget) for one in instance.fleet)


def end_markers(instance: Instance) -> list[tuple[int, Line2D]]:
    """Places and markers of starts and ends; one that is both has two, unless all are."""
    kinds = ends_of(instance)
    all_both = set(kinds.values()) == {"start and end"}
    markers = []
    for place, kind in kinds.items():
        if kind != "end":
            label = _label(instance, place, kind if all_both else "start")
            markers.append((place, _start_marker(label)))
        if kind != "start" and not all_both:
            area = 55 if kind == "end" else 25
            markers.append((place, _end_marker(_label(instance, place, "end"), area)))
    return markers


def lane_markers(instance: Instance, lane: Lane) -> tuple[Line2D, Line2D]:
    """Markers of a lane's start and end."""
    first, last = lane.places[0], lane.places[-1]
    label = _label(instance, last, "end")
    only_end = ends_of(instance)[last] == "end"
    end = _end_marker(label, 55) if only_end else _start_marker(label)
    return _start_marker(_label(instance, first, "start")), end


def _start_marker(label: str) -> Line2D:
    return make_marker(label, "s", 70, INK, "white", 0.8)


def _end_marker(label: str, area: float) -> Line2D:
    return make_marker(label, "D", area, "white", INK, 1.8)


def _label(instance: Instance, place: int, kind: Kind) -> str:
    """Say what a place is: the name of a depot that all share, else its role."""
    return place_name(instance, place) if has_one_depot(instance) else kind
