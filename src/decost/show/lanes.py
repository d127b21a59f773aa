"""Routes of a plan as map and timeline draw them: their colours, rows and depots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D

from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import Route, Solution
from decost.show.page import make_marker
from decost.show.palette import INK, ROUTE_COLOURS


@dataclass(frozen=True)
class Lane:
    """A route's rows in the timeline: its start, one for each visit, its end."""

    route: Route
    vehicle: int
    name: str
    top: float

    @property
    def colour(self) -> str:
        """Colour of the route."""
        return ROUTE_COLOURS[self.vehicle % len(ROUTE_COLOURS)]

    @property
    def rows(self) -> FloatArray:
        """Rows of its visits."""
        return self.top + 1 + np.arange(len(self.route.visits), dtype=np.float64)

    @property
    def bottom(self) -> float:
        """Row of its end."""
        return self.top + 1 + len(self.route.visits)


def make_lanes(solution: Solution) -> list[Lane]:
    """Give a lane to every route that has visits, and a name if there are several vehicles."""
    lanes: list[Lane] = []
    for vehicle, route in enumerate(solution.routes):
        if route.visits:
            name = f"Route {vehicle + 1}" if len(solution.routes) > 1 else ""
            top = lanes[-1].bottom + 1.6 if lanes else 1.0
            lanes.append(Lane(route, vehicle, name, top))
    return lanes


def depots(instance: Instance) -> list[tuple[int, Line2D]]:
    """Places and markers of the depots."""
    if not instance.separate_end:
        return [(0, make_marker("depot", "s", 70, INK, "white", 0.8))]
    return [
        (0, make_marker("start depot", "s", 70, INK, "white", 0.8)),
        (instance.end, make_marker("end depot", "D", 55, "white", INK, 1.8)),
    ]
