"""Hypothesis strategies: instances of the general form, and plans with an instance around them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from decost import (
    Alternative,
    Instance,
    Place,
    Route,
    Solution,
    Stop,
    Vehicle,
    Visit,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
amounts = st.floats(0, 1e6)


@st.composite
def piece_lists(draw: st.DrawFn, most: int = 3, values: st.SearchStrategy[float] = amounts) -> Any:
    """Draw `(rate, length)` pieces of falling rate."""
    count = draw(st.integers(0, most))
    rates = sorted((draw(values) for _ in range(count)), reverse=True)
    return [[rate, draw(values)] for rate in rates]


@st.composite
def instances(draw: st.DrawFn, max_stops: int = 4) -> Instance:
    """Draw an instance with any of the features that there are."""
    nodes = 1 + draw(st.integers(0, max_stops))
    separate = draw(st.booleans())

    def table(shape: tuple[int, ...], values: st.SearchStrategy[float]) -> np.ndarray:
        size = int(np.prod(shape))
        return np.reshape(draw(st.lists(values, min_size=size, max_size=size)), shape)

    opens = table((nodes,), st.floats(-1e6, 1e6))
    matrix = draw(st.booleans())
    places = nodes + separate
    return Instance(
        budget=draw(amounts),
        xy=None if matrix and draw(st.booleans()) else table((places, 2), st.floats(-1e6, 1e6)),
        travel=table((places, places), amounts) if matrix else None,
        speed=draw(st.floats(1e-3, 1e3)),
        separate_end=separate,
        open=opens,
        close=opens + table((nodes,), st.one_of(amounts, st.just(np.inf))),
        leave_by=table((nodes,), st.one_of(st.floats(-1e6, 1e6), st.just(np.inf))),
        reward=table((nodes,), amounts),
        min_stay=table((nodes,), amounts),
        pieces=[draw(piece_lists()) for _ in range(nodes)],
        vehicles=draw(st.integers(1, 3)),
        ids=draw(
            st.none()
            | st.lists(texts.filter(bool), min_size=nodes - 1, max_size=nodes - 1, unique=True)
        ),
        name=draw(texts),
    )


class Planned(NamedTuple):
    """A plan of one route, and an instance for which it is feasible."""

    instance: Instance
    solution: Solution

    @property
    def visits(self) -> tuple[Visit, ...]:
        """Visits of the route."""
        return self.solution.routes[0].visits

    def change(self, position: int, **changes: Any) -> Planned:
        """Change the instance's arrays at the stop of a visit."""
        stop = self.visits[position].stop
        fields = {}
        for field, value in changes.items():
            column = list(getattr(self.instance, field))
            column[stop] = value
            fields[field] = column
        return self._replace(instance=self.instance.replace(**fields))

    def visit(self, position: int, **changes: Any) -> Planned:
        """Change one visit of the plan."""
        visits = list(self.visits)
        visits[position] = visits[position]._replace(**changes)
        route = Route(tuple(visits), self.solution.routes[0].finish)
        return self._replace(solution=Solution((route,)))


@st.composite
def planned(draw: st.DrawFn, max_stops: int = 4) -> Planned:
    """Draw the plan first and windows, limits and a budget around it.

    All numbers are multiples of 1/8, so that sums of them are exact.
    """

    def eighths(most: int, least: int = 0) -> float:
        return draw(st.integers(8 * least, 8 * most)) / 8

    stops = draw(st.integers(1, max_stops))
    nodes = stops + 1
    route = draw(st.permutations(range(1, nodes)))
    travel = np.array([[eighths(9) for _ in range(nodes)] for _ in range(nodes)])
    columns = {
        field: [0.0] * nodes for field in ("open", "close", "leave_by", "reward", "min_stay")
    }
    pieces: list[list[list[float]]] = [[] for _ in range(nodes)]
    visits = []
    place, clock = 0, 0.0
    for stop in route:
        arrive = clock + travel[place, stop]
        start = arrive + eighths(4)
        min_stay, used = eighths(3), eighths(6, 1)
        stay = min_stay + used
        columns["open"][stop] = start - eighths(9)
        columns["close"][stop] = start + eighths(9)
        columns["leave_by"][stop] = draw(st.sampled_from([start + stay + eighths(9), np.inf]))
        columns["reward"][stop] = eighths(9)
        columns["min_stay"][stop] = min_stay
        first = draw(st.integers(1, int(8 * used))) / 8
        fast, slow = eighths(9, 1), draw(st.integers(0, 8)) / 8
        pieces[stop] = [[fast, first], [slow, used - first + eighths(3)]]
        profit = profit_by_hand(columns["reward"][stop], min_stay, pieces[stop], stay)
        visits.append(Visit(stop, arrive, start, stay, start + stay, profit))
        place, clock = stop, start + stay
    finish = clock + travel[place, 0]
    instance = Instance(budget=finish + eighths(9), travel=travel, pieces=pieces, **columns)
    return Planned(instance, Solution((Route(tuple(visits), finish),)))


def profit_by_hand(reward: float, min_stay: float, pieces: Any, stay: float) -> float:
    """Read the profit off the curve through its corners."""
    rates, lengths = np.reshape(pieces, (-1, 2)).T
    corners = np.cumsum([min_stay, *lengths])
    return float(np.interp(stay, corners, reward + np.cumsum([0.0, *rates * lengths])))


@st.composite
def town_instances(draw: st.DrawFn) -> Instance:
    """Draw an instance as people have them: clock times, lat, lon, places, guides, alternatives."""
    degrees = {"lat": st.floats(-90, 90), "lon": st.floats(-180, 180)}
    times = st.integers(0, 2880) | st.floats(0, 2880)
    names = st.text("abc é,;'=|-\"", min_size=1, max_size=4)

    def some(**fields: st.SearchStrategy[Any]) -> dict[str, Any]:
        return {name: draw(one) for name, one in fields.items() if draw(st.booleans())}

    def point() -> dict[str, float]:
        return {name: draw(one) for name, one in degrees.items()}

    def window() -> dict[str, Any]:
        first = draw(times)
        later = times.map(lambda more: first + more)
        return some(open=st.just(first), close=later, leave_by=later)

    hotels = draw(st.lists(names, max_size=2, unique=True))
    guides = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    admitted = st.lists(st.sampled_from(guides), unique=True)
    where = st.sampled_from(hotels) if hotels else st.nothing()
    profits = {"reward": amounts, "min_stay": amounts, "profit": piece_lists()}

    def alternative() -> Alternative:
        place = {"place": draw(where)} if hotels and draw(st.booleans()) else {}
        if not place and draw(st.booleans()):
            place = point()
        return Alternative(**place, **window(), **some(vehicles=admitted, **profits))

    def vehicle(name: str) -> Vehicle:
        ends = some(start=where, end=where) if hotels else {}
        shift = {}
        if draw(st.booleans()):
            shift["begin"] = draw(times)
            shift["due"] = shift["begin"] + draw(times)
        return Vehicle(name, **ends, **shift, **some(speed=st.just("15 km/h")))

    stops = []
    for name in draw(st.lists(names, max_size=3, unique=True)):
        ways = [alternative() for _ in range(draw(st.integers(0, 3)))]
        required = {"required": True} if ways and draw(st.booleans()) else {}
        given = some(vehicles=admitted, **profits)
        stops.append(Stop(name, **point(), **given, **required, alternatives=ways))
    return Instance.build(
        name=draw(texts),
        unit="minutes",
        begin=draw(times),
        budget=4000,
        speed="4.5 km/h",
        depot=Place(**point()),
        places=[Place(name, **point()) for name in hotels],
        vehicles=[vehicle(name) for name in guides],
        stops=stops,
        **some(detour=st.floats(1, 2)),
    )
