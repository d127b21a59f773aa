"""The best plans of tiny instances, by enumeration and from the problem's definition alone.

Nothing here calls the package but to make an instance and to read its fields, so that whatever
agrees with it does not agree with itself. Slow and short on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from decost import Instance, Route, Solution, Visit
from decost.problem.records import Alternative, Place, Stop, Vehicle

EARTH = 6371.0088
"""Radius in kilometres."""


class Way(NamedTuple):
    """One way to visit a stop: an alternative, `number` in the instance and `which` of its stop."""

    number: int
    stop: int
    which: int
    place: int
    open: float
    close: float
    leave_by: float
    reward: float
    min_stay: float
    pieces: tuple[tuple[float, float], ...]

    @property
    def most(self) -> float:
        """Profit of the longest stay."""
        return self.reward + sum(rate * length for rate, length in self.pieces)

    def profit(self, stay: float) -> float:
        """Profit of a stay."""
        rest, total = stay - self.min_stay, self.reward
        for rate, length in self.pieces:
            total += rate * min(max(rest, 0.0), length)
            rest -= length
        return total


class Shift(NamedTuple):
    """One vehicle: from where and when, to where and when, its travel times and its ways."""

    start: int
    end: int
    begin: float
    due: float
    travel: tuple[tuple[float, ...], ...]
    ways: tuple[Way, ...]
    slack: float


class Best(NamedTuple):
    """The best plan: what it is compared by, and for every vehicle its ways and stays."""

    required: int
    profit: float
    routes: tuple[tuple[tuple[Way, ...], tuple[float, ...]], ...]


def brute_force(instance: Instance) -> tuple[int, float]:
    """Most required stops that any plan visits, and the most profit of those that visit as many."""
    return best_plan(instance)[:2]


def best_plan(instance: Instance) -> Best:
    """Find the best plan: all sequences for all vehicles, and all ways to share out the stops."""
    alone: dict[Shift, dict[int, tuple[float, Any]]] = {}
    team: dict[int, tuple[float, Any]] = {0: (0.0, ())}
    for shift in shifts(instance):
        if shift not in alone:
            alone[shift] = _best_by_set(shift)
        more: dict[int, tuple[float, Any]] = {}
        for done, (profit, routes) in team.items():
            for mine, (extra, route) in alone[shift].items():
                if done & mine == 0 and profit + extra > more.get(done | mine, (-1.0,))[0]:
                    more[done | mine] = profit + extra, (*routes, route)
        team = more
    needed = sum(1 << stop for stop in range(1, instance.nodes) if instance.required[stop])
    count, profit, chosen = max(
        ((done & needed).bit_count(), p, done) for done, (p, _) in team.items()
    )
    return Best(count, profit, team[chosen][1])


def as_solution(instance: Instance, plan: Best) -> Solution:
    """Put times to a plan: services as early as they can be, departures as late."""
    timed = []
    pairs = zip(shifts(instance), plan.routes, strict=True)
    for number, (shift, (route, stays)) in enumerate(pairs):
        place = shift.start
        depart = time = shift.begin
        starts = earliest_starts(shift, route, stays)
        if route:
            depart = time = starts[0] - shift.travel[place][route[0].place]
        visits = []
        for way, start, stay in zip(route, starts, stays, strict=True):
            arrive = time + shift.travel[place][way.place]
            place, time = way.place, start + stay
            visits.append(Visit(way.stop, arrive, start, stay, time, way.profit(stay), way.which))
        underway = instance.fleet[number].underway
        finish = time + (shift.travel[place][shift.end] if route or underway else 0.0)
        late = 0.0 if route or not underway else max(0.0, finish - shift.due)
        timed.append(Route(tuple(visits), finish, depart, late))
    return Solution(tuple(timed))


def shifts(instance: Instance) -> list[Shift]:
    """Read off the vehicles, each with the ways that admit it."""
    ways = []
    for stop in range(1, instance.nodes):
        first, end = instance.alternative_first[stop : stop + 2].tolist()
        for number in range(first, end):
            assert instance.alternative_stop[number] == stop
            pieces = slice(*instance.piece_start[number : number + 2].tolist())
            ways.append(
                Way(
                    number,
                    stop,
                    number - first,
                    int(instance.alternative_place[number]),
                    float(instance.alternative_open[number]),
                    float(instance.alternative_close[number]),
                    float(instance.alternative_leave_by[number]),
                    float(instance.alternative_reward[number]),
                    float(instance.alternative_min_stay[number]),
                    tuple(
                        zip(
                            instance.piece_rate[pieces].tolist(),
                            instance.piece_length[pieces].tolist(),
                            strict=True,
                        )
                    ),
                )
            )
    slack = 1e-9 * (max(v.due for v in instance.fleet) - min(v.begin for v in instance.fleet))
    admits = instance.alternative_vehicles
    return [
        Shift(
            vehicle.start,
            vehicle.end,
            vehicle.begin,
            vehicle.due,
            tuple(map(tuple, travel_times(instance, number).tolist())),
            tuple(way for way in ways if admits is None or admits[way.number, number]),
            slack,
        )
        for number, vehicle in enumerate(instance.fleet)
    ]


def travel_times(instance: Instance, vehicle: int) -> np.ndarray:
    """Work out the travel times of a vehicle from matrices, or from coordinates and speed."""
    if instance.matrix is not None:
        return np.asarray(instance.matrix)
    mine = instance.fleet[vehicle]
    if instance.matrices is not None:
        return np.asarray(instance.matrices[instance.profiles.index(mine.profile)])
    assert instance.xy is not None
    return np.array(
        [[_distance(instance, one, two) / mine.speed for two in instance.xy] for one in instance.xy]
    )


def _distance(instance: Instance, one: np.ndarray, two: np.ndarray) -> float:
    if not instance.geographic:
        return math.dist(one, two)
    (east, north), (west, south) = np.radians(one), np.radians(two)
    half = math.sin((north - south) / 2) ** 2
    half += math.cos(north) * math.cos(south) * math.sin((east - west) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(half)) * instance.detour


def _best_by_set(shift: Shift) -> dict[int, tuple[float, Any]]:
    """Most profit of one vehicle by the set of stops that it visits, with the route."""
    best: dict[int, tuple[float, Any]] = {0: (0.0, ((), ()))}
    for route in sequences(shift, (), 0, shift.start, shift.begin):
        done = sum(1 << way.stop for way in route)
        if done in best and sum(way.most for way in route) <= best[done][0]:
            continue
        stays = best_stays(shift, route)
        if stays is not None:
            profit = sum(way.profit(stay) for way, stay in zip(route, stays, strict=True))
            if profit > best.get(done, (-1.0,))[0]:
                best[done] = profit, (route, tuple(stays))
    return best


def sequences(
    shift: Shift, route: tuple[Way, ...], done: int, place: int, time: float
) -> Iterator[tuple[Way, ...]]:
    """Sequences of ways that go on from a route, their shortest stays being in time."""
    for way in shift.ways:
        if done >> way.stop & 1:
            continue
        start = max(time + shift.travel[place][way.place], way.open)
        leave = start + way.min_stay
        if start > way.close + shift.slack or leave > min(way.leave_by, shift.due) + shift.slack:
            continue
        yield (*route, way)
        yield from sequences(shift, (*route, way), done | 1 << way.stop, way.place, leave)


def earliest_starts(shift: Shift, route: Sequence[Way], stays: Sequence[float]) -> list[float]:
    """Start every service as early as it can be."""
    starts = []
    place, time = shift.start, shift.begin
    for way, stay in zip(route, stays, strict=True):
        starts.append(max(time + shift.travel[place][way.place], way.open))
        place, time = way.place, starts[-1] + stay
    return starts


def latest_ends(shift: Shift, route: Sequence[Way], stays: Sequence[float]) -> list[float]:
    """End every service as late as it can, so that it and all that comes after it is in time."""
    ends = []
    place, time = shift.end, shift.due
    for way, stay in zip(reversed(route), reversed(stays), strict=True):
        ends.append(min(time - shift.travel[way.place][place], way.leave_by))
        place, time = way.place, min(ends[-1] - stay, way.close)
    return ends[::-1]


def best_stays(shift: Shift, route: Sequence[Way]) -> list[float] | None:
    """Find the stays that earn most on a sequence, None if it is not feasible.

    The feasible stays beyond the shortest are a polymatroid, so each piece in order of falling
    rate takes all the time that those before it have left.
    """
    stays = [way.min_stay for way in route]
    starts = earliest_starts(shift, route, stays)
    ends = latest_ends(shift, route, stays)
    for way, start, stay, end in zip(route, starts, stays, ends, strict=True):
        if start > way.close + shift.slack or start + stay > end + shift.slack:
            return None
    pieces = [(rate, length, k) for k, way in enumerate(route) for rate, length in way.pieces]
    for _, length, k in sorted(pieces, key=lambda piece: -piece[0]):
        room = latest_ends(shift, route, stays)[k]
        room -= earliest_starts(shift, route, stays)[k] + stays[k]
        stays[k] += max(0.0, min(length, room))
    return stays


def tiny_instance(random: np.random.Generator) -> Instance:
    """Draw an instance of 1 to 5 stops and 1 to 3 vehicles with any mixture of what there is.

    One in five is of the first version's kind. Most have all times on a coarse grid, so that
    arrivals, windows and shifts meet exactly.
    """
    span = float(random.choice([1.0, 10.0, 480.0]))
    grid = span * float(random.choice([0.0, 0.01, 0.05, 0.1]))
    draw = _Drawing(random, span, grid, int(random.choice([1, 2, 3, 3, 4, 4, 5, 5])))
    return draw.plain() if random.random() < 0.2 else draw.general()


def with_one_required(random: np.random.Generator) -> tuple[Instance, int]:
    """Draw such an instance with one required stop, any that has an alternative; also give that."""
    while True:
        drawn = tiny_instance(random)
        possible = np.flatnonzero(np.diff(drawn.alternative_first))[1:]
        if len(possible):
            stop = int(random.choice(possible))
            return drawn.replace(required=np.arange(drawn.nodes) == stop), stop


class _Drawing:
    """Random parts of one instance; `has` tosses a coin of its own for every kind of part."""

    def __init__(self, random: np.random.Generator, span: float, grid: float, stops: int) -> None:
        self.random, self.span, self.grid, self.stops = random, span, grid, stops
        self.share: dict[str, float] = {}

    def has(self, part: str) -> bool:
        """Whether a thing has such a part; on four in ten instances nothing has."""
        if part not in self.share:
            self.share[part] = float(self.random.choice([0.0, 0.0, 0.3, 0.5, 0.8]))
        return bool(self.random.random() < self.share[part])

    def time(self, low: float, high: float) -> float:
        """Draw a time between two shares of the span."""
        time = float(self.random.uniform(low, high)) * self.span
        return round(round(time / self.grid) * self.grid, 9) if self.grid else time

    def pieces(self) -> list[list[float]]:
        rates = np.sort(self.random.choice([0, 1, 2, 2.5, 4], int(self.random.integers(1, 4))))
        return [[float(rate), self.time(0, 0.25)] for rate in rates[::-1]]

    def profit(self) -> dict[str, Any]:
        """Draw some of reward, shortest stay and pieces."""
        fields: dict[str, Any] = {}
        fixed = self.has("fixed")
        if fixed or self.has("reward"):
            fields["reward"] = float(self.random.integers(0, 6)) * self.span / 10
        if self.has("min_stay"):
            fields["min_stay"] = self.time(0, 0.15)
        return fields if fixed else fields | {"profit": self.pieces()}

    def window(self, begin: float) -> dict[str, float]:
        """Draw some of open, close and leave_by."""
        fields: dict[str, float] = {}
        if self.has("window"):
            fields["open"] = begin + self.time(-0.2, 0.9)
            if not self.has("never closed"):
                fields["close"] = fields["open"] + self.time(0, self.random.choice([0, 0.3, 0.6]))
        if self.has("leave_by"):
            fields["leave_by"] = begin + self.time(0.1, 1.1)
        return fields

    def matrix(self, places: int) -> list[list[float]]:
        """Draw travel times that know no symmetry and no triangle inequality."""
        most = float(self.random.choice([0.05, 0.15, 0.4]))
        return [[self.time(0, most) for _ in range(places)] for _ in range(places)]

    def point(self, geographic: bool) -> dict[str, float]:
        if geographic:
            east, north = self.random.uniform(-0.02, 0.02, 2)
            return {"lat": 46.07 + float(north), "lon": 11.12 + float(east)}
        x, y = self.time(0, 0.3), self.time(0, 0.3)
        return {"x": x, "y": y}

    def plain(self) -> Instance:
        """Draw an instance of the first version's kind."""
        nodes, separate = self.stops + 1, bool(self.random.random() < 0.3)
        columns: dict[str, list[float]] = {
            "open": [0.0] * nodes,
            "close": [np.inf] * nodes,
            "leave_by": [np.inf] * nodes,
            "reward": [0.0] * nodes,
            "min_stay": [0.0] * nodes,
        }
        pieces: list[list[list[float]]] = [[] for _ in range(nodes)]
        for stop in range(1, nodes):
            fields = self.profit()
            pieces[stop] = fields.pop("profit", [])
            for field, value in (fields | self.window(0.0)).items():
                columns[field][stop] = value
        places = nodes + separate
        points = [list(self.point(False).values()) for _ in range(places)]
        straight = self.random.random() < 0.5
        return Instance(
            budget=self.time(0.3, 1.2),
            xy=points if straight else None,
            travel=None if straight else self.matrix(places),
            separate_end=separate,
            vehicles=int(self.random.integers(1, 4)),
            pieces=pieces,
            **columns,  # type: ignore[arg-type]
        )

    def general(self) -> Instance:
        """Draw an instance with vehicles, alternatives and places of their own."""
        random = self.random
        kind = str(random.choice(["xy", "xy", "lat", "matrix", "matrix", "matrices"]))
        straight, geographic = kind in ("xy", "lat"), kind == "lat"
        begin = self.time(-1, 1) * (random.random() < 0.5)
        names = [f"place {k}" for k in range(int(random.integers(0, 3)))]
        stops = [f"stop {k}" for k in range(1, self.stops + 1)]
        lodgers = {name for name in stops if names and self.has("stop elsewhere")}

        def place() -> str | Place:
            if straight and self.has("nameless"):
                return Place(**self.point(geographic))
            return str(random.choice([*names, *(name for name in stops if name not in lodgers)]))

        def own_speed() -> float | str:
            share = float(random.choice([0.5, 1.0, 2.0]))
            return f"{15 * share * 480 / self.span:.12g} km/h" if geographic else share

        def vehicle(number: int) -> Vehicle:
            fields: dict[str, Any] = {"underway": self.has("underway")}
            if self.has("start"):
                fields["start"] = place()
            if self.has("end"):
                fields["end"] = place()
            if self.has("begin"):
                fields["begin"] = begin + self.time(-0.2, 0.3)
            if self.has("due") or "begin" in fields:
                fields["due"] = fields.get("begin", begin) + self.time(0.2, 1.2)
            if straight and self.has("speed"):
                fields["speed"] = own_speed()
            if kind == "matrices":
                fields["profile"] = str(random.choice(["foot", "bike"]))
            return Vehicle(id=f"vehicle {number}", **fields)

        fleet: int | list[Vehicle] = [vehicle(k) for k in range(int(random.integers(1, 4)))]
        assert isinstance(fleet, list)
        if len(fleet) > 1 and random.random() < 0.4:
            fleet[1] = replace(fleet[0], id=fleet[1].id)
        people = [str(one.id) for one in fleet]
        if kind != "matrices" and random.random() < 0.2:
            fleet, people = len(fleet), [str(k + 1) for k in range(len(fleet))]

        def some_people() -> list[str]:
            return [person for person in people if random.random() < 0.6]

        def alternative() -> Alternative:
            fields: dict[str, Any] = self.window(begin)
            if self.has("elsewhere"):
                where = place()
                fields |= {"place": where} if isinstance(where, str) else _coordinates(where)
            if self.has("own profit"):
                fields |= self.profit()
            if self.has("for some"):
                fields["vehicles"] = some_people()
            return Alternative(**fields)

        def stop(name: str) -> Stop:
            fields: dict[str, Any] = self.profit()
            if self.has("required"):
                fields["required"] = True
            if name in lodgers:
                fields["place"] = str(random.choice(names))
            elif straight:
                fields |= self.point(geographic)
            if self.has("stop leave_by"):
                fields["leave_by"] = begin + self.time(0.3, 1.1)
            if self.has("stop for some"):
                fields["vehicles"] = some_people()
            if self.has("alternatives"):
                most = 4 if self.stops < 5 else 3
                fields["alternatives"] = [
                    alternative() for _ in range(int(random.integers(1, most)))
                ]
            elif "required" not in fields and self.has("empty"):
                fields["alternatives"] = []
            else:
                fields |= self.window(begin)
            return Stop(id=name, **fields)

        places = [Place(name, **(self.point(geographic) if straight else {})) for name in names]
        size = 1 + self.stops + len(names)
        travel: Any = {"matrix": self.matrix(size)}.get(kind)
        if kind == "matrices":
            travel = {name: self.matrix(size) for name in ("foot", "bike")}
        given: dict[str, Any] = {
            "stops": [stop(name) for name in stops],
            "vehicles": fleet,
            "places": places,
            "begin": begin,
            "budget": begin + self.time(0.3, 1.2),
            "travel": travel,
        }
        if straight:
            given["depot"] = Place(**self.point(geographic))
        if geographic:
            given |= {"unit": "minutes", "speed": own_speed()}
        if self.has("default end"):
            given["end"] = place()
        return Instance.build(**{key: value for key, value in given.items() if value is not None})


def _coordinates(place: Place) -> dict[str, float]:
    fields = {name: getattr(place, name) for name in ("x", "y", "lat", "lon")}
    return {name: value for name, value in fields.items() if value is not None}
