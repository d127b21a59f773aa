"""From records to an instance: names become numbers, and what is not given is inherited."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from decost.problem.clock_times import parse_time
from decost.problem.fields import (
    MAX_ALTERNATIVES,
    MAX_ALTERNATIVES_IN_ALL,
    MAX_STOPS,
    MAX_VEHICLES,
    FloatArray,
    InstanceError,
    number,
    table,
    truth,
    unique_ids,
    whole_number,
)
from decost.problem.instance import Instance
from decost.problem.records import Alternative, Place, Stop, TravelTimes, Vehicle
from decost.problem.speeds import parse_speed

Point: TypeAlias = tuple[float, float]

_log = logging.getLogger("decost")


class _Located(Protocol):
    @property
    def x(self) -> float | None: ...
    @property
    def y(self) -> float | None: ...
    @property
    def lat(self) -> float | None: ...
    @property
    def lon(self) -> float | None: ...


def build(
    *,
    stops: Sequence[Stop],
    vehicles: int | Sequence[Vehicle],
    places: Sequence[Place],
    depot: Place | None,
    end: Place | str | None,
    begin: float | str | None,
    budget: float | str | None,
    speed: float | str | None,
    unit: str | None,
    detour: float | None,
    travel: npt.ArrayLike | Mapping[str, npt.ArrayLike] | TravelTimes | None,
    name: str,
) -> Instance:
    """Make an instance of records; see `Instance.build`."""
    _limit_alternatives(stops)
    clock = _Times(unit)
    streets = travel if isinstance(travel, TravelTimes) else None
    matrix = travel is not None and streets is None
    rows = _Rows(stops, places, depot, end, matrix)
    usual_end = rows.end()
    moves = _Speeds(rows, matrix)
    instance_begin = clock.read("begin", begin)
    instance_budget = clock.read("budget", budget)
    instance_speed = moves.read("speed", speed)

    names, fleet = _team(vehicles, rows, clock, moves)
    if streets is not None:
        fleet = _without_speeds(fleet, streets)
        instance_speed = 1.0
    if instance_speed is None:
        instance_speed = moves.usual(fleet)

    columns = _Columns(rows, clock, names)
    for stop, record in enumerate(stops, 1):
        columns.add(stop, record, _stop(stops, stop))
    if clock.used and begin is None:
        _demand_begins(names, fleet)
    points = rows.points(columns.elsewhere)
    given = _along(travel, rows, points, fleet) if isinstance(travel, TravelTimes) else travel
    profiles, times = _matrices(given, rows)
    ids = None
    if any(stop.id is not None for stop in stops):
        ids = [str(k) if stop.id is None else stop.id for k, stop in enumerate(stops, 1)]
    required = (
        truth(f"{_stop(stops, k)}: required", stop.required) for k, stop in enumerate(stops, 1)
    )
    return Instance(
        budget=instance_budget,
        begin=0.0 if instance_begin is None else instance_begin,
        xy=points,  # type: ignore[arg-type]
        travel=times,
        profiles=profiles,
        speed=instance_speed,
        separate_end=rows.separate_end,
        end=usual_end,
        places=rows.names if streets is None else rows.all_names,
        fleet=fleet,
        vehicles=len(names),
        ids=ids,
        name=name,
        unit=unit,
        geographic=rows.geographic,
        detour=detour,
        required=[False, *required],
        **columns.arguments(),
    )


def _limit_alternatives(stops: Sequence[Stop]) -> None:
    """Refuse more stops or alternatives than there may be."""
    _limit("stops", len(stops), MAX_STOPS)
    ways = [stop.alternatives for stop in stops]
    for stop, given in enumerate(ways, 1):
        if given is not None:
            _limit(f"{_stop(stops, stop)}: alternatives", len(given), MAX_ALTERNATIVES)
    total = sum(1 if given is None else len(given) for given in ways)
    _limit("alternatives", total, MAX_ALTERNATIVES_IN_ALL)


def _team(
    vehicles: int | Sequence[Vehicle], rows: _Rows, clock: _Times, moves: _Speeds
) -> tuple[list[str], list[Vehicle] | None]:
    """Name the vehicles, and give them as an instance takes them if they are not all equal."""
    if isinstance(vehicles, int | np.integer):
        count = whole_number("vehicles", vehicles, 1, MAX_VEHICLES)
        return [str(k + 1) for k in range(count)], None
    if not 1 <= len(vehicles) <= MAX_VEHICLES:
        raise InstanceError(
            f"vehicles: there are {len(vehicles)}, must be from 1 to {MAX_VEHICLES}"
        )
    names = [str(k + 1) if one.id is None else one.id for k, one in enumerate(vehicles)]
    unique_ids("vehicles", names)
    return names, [
        _vehicle(one, f"vehicle {name!r}", rows, clock, moves)
        for one, name in zip(vehicles, names, strict=True)
    ]


def _demand_begins(names: Sequence[str], fleet: Sequence[Vehicle] | None) -> None:
    """Refuse vehicles that would leave at midnight because nobody says when they do."""
    for name, one in zip(names, fleet or [Vehicle()], strict=False):
        if one.begin is None:
            raise InstanceError(
                f"begin = None: needed with clock times, since vehicle {name!r} has none"
            )


def _matrices(
    travel: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None, rows: _Rows
) -> tuple[tuple[str, ...], npt.ArrayLike | None]:
    """Give the names of the profiles, if there are any, and all travel times, if they are given."""
    if travel is None:
        return (), None
    if not isinstance(travel, Mapping):
        return (), rows.matrix("travel", travel)
    if not travel:
        raise InstanceError("travel: has no matrix")
    times = np.stack([rows.matrix(f"travel[{one!r}]", travel[one]) for one in travel])
    return tuple(travel), times


def _without_speeds(fleet: Sequence[Vehicle] | None, streets: TravelTimes) -> list[Vehicle] | None:
    """Forget the speeds of vehicles, which say nothing of ways along streets; name profiles."""
    if fleet is None:
        return None
    named = any(one.profile is not None for one in fleet)
    usual = streets.usual if named else None
    by_profile: dict[str | None, Any] = {}
    for one in fleet:
        if by_profile.setdefault(one.profile, one.speed) != one.speed:
            _log.warning(
                "vehicle %r: its speed is not used along streets: give it a profile", one.id
            )
    return [replace(one, speed=None, profile=one.profile or usual) for one in fleet]


def _along(
    streets: TravelTimes, rows: _Rows, points: Any, fleet: Sequence[Vehicle] | None
) -> FloatArray | dict[str, FloatArray]:
    """Ask for travel times along streets, for every profile that there is."""
    if not rows.geographic:
        raise InstanceError("travel: ways along streets need places with lat, lon")
    places, names = np.array(points, dtype=np.float64), rows.titles
    profiles = dict.fromkeys(one.profile for one in fleet or [Vehicle()])
    if set(profiles) == {None}:
        return streets.times(places, names)
    if None in profiles:
        raise InstanceError("profile = None: needed, since other vehicles have one")
    return {str(one): streets.times(places, names, one) for one in profiles}


def _stop(stops: Sequence[Stop], stop: int) -> str:
    """Name a stop in a message."""
    name = stops[stop - 1].id
    return f"stop {stop if name is None else name!r}"


def _limit(field: str, count: int, most: int) -> None:
    if count > most:
        raise InstanceError(f"{field}: there are {count}, at most {most} are allowed")


class _Times:
    """Reads times, and remembers whether one was a clock time."""

    def __init__(self, unit: str | None) -> None:
        self.unit = unit
        self.used = False

    def read(self, field: str, value: float | str | None) -> float | None:
        if value is None:
            return None
        if isinstance(value, str):
            if self.unit != "minutes":
                raise InstanceError(f"{field} = {value!r}: clock times need unit = 'minutes'")
            self.used = True
        try:
            return parse_time(value)
        except ValueError as error:
            raise InstanceError(f"{field} = {error}") from None


class _Speeds:
    """Reads speeds, which have a unit if places are given by lat, lon, and only then."""

    def __init__(self, rows: _Rows, matrix: bool) -> None:
        self.geographic = rows.geographic
        self.matrix = matrix

    def read(self, field: str, value: float | str | None) -> float | None:
        if value is None:
            return None
        if not self.geographic:
            if isinstance(value, str):
                raise InstanceError(f"{field} = {value!r}: speeds with a unit need lat, lon")
            return number(field, value)
        if self.matrix and not isinstance(value, str):
            return number(field, value)
        try:
            return parse_speed(value)
        except ValueError as error:
            raise InstanceError(f"{field} = {error}") from None

    def usual(self, fleet: Sequence[Vehicle] | None) -> float:
        """Give the speed of an instance that says none."""
        if not self.geographic or self.matrix:
            return 1.0
        speeds = [one.speed for one in fleet or [Vehicle()]]
        if None in speeds:
            raise InstanceError("speed = None: needed with lat, lon, such as '4.5 km/h'")
        return float(speeds[0])  # type: ignore[arg-type]


class _Rows:
    """The places: depot, stops, separate end, further ones by id, further ones without."""

    def __init__(
        self,
        stops: Sequence[Stop],
        places: Sequence[Place],
        depot: Place | None,
        end: Place | str | None,
        matrix: bool,
    ) -> None:
        self._stops = stops
        self._end = end
        self._matrix = matrix
        self.separate_end = isinstance(end, Place)
        self._system: tuple[str, str] | None = None  # which coordinates are used, and by whom
        for k, place in enumerate(places):
            if place.id is None:
                raise InstanceError(f"places[{k}].id: missing")
        names = unique_ids("places", [place.id for place in places])
        self._points = [self.point("depot", depot or Place())]
        self._points += [self.point(_stop(stops, k), stop) for k, stop in enumerate(stops, 1)]
        if isinstance(end, Place):
            self._points.append(self.point("end", end))
        self._behind = len(self._points)
        self._points += [self.point(f"place {place.id!r}", place) for place in places]
        self._by_id: dict[str, int] = {"depot": 0}
        for k, stop in reversed(list(enumerate(stops, 1))):
            self._by_id[str(k) if stop.id is None else stop.id] = k
        self._by_id |= {name: self._behind + k for k, name in enumerate(names)}
        self._nameless: dict[Point, int] = {}
        self._names = names

    @property
    def geographic(self) -> bool:
        """Places are given by lat, lon."""
        return self._system is not None and self._system[0] == "lat, lon"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the places behind the stops and the separate end."""
        return (*self._names, *[""] * len(self._nameless))

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names as those of `names`; a place that has none is called by its coordinates."""
        return (*self._names, *(f"{lat!r} {lon!r}" for lon, lat in self._nameless))

    @property
    def titles(self) -> list[str]:
        """What to call every place in a message."""
        first = ["depot", *(stop.id or str(k) for k, stop in enumerate(self._stops, 1))]
        return [*first, *["end"] * self.separate_end, *self.all_names]

    def point(self, where: str, record: _Located) -> Point | None:
        """Give coordinates as (x, y) or (lon, lat), None if there are none."""
        flat, round_ = (record.x, record.y), (record.lon, record.lat)
        if flat == (None, None) and round_ == (None, None):
            return None
        system, fields, values = "x, y", ("x", "y"), flat
        if round_ != (None, None):
            system, fields, values = "lat, lon", ("lon", "lat"), round_
            if flat != (None, None):
                field = "x" if record.x is not None else "y"
                raise InstanceError(
                    f"{where}: {field} = {getattr(record, field)}: cannot be combined with lat, lon"
                )
        if self._system is not None and self._system[0] != system:
            field = next(field for field in fields if getattr(record, field) is not None)
            raise InstanceError(
                f"{where}: {field} = {getattr(record, field)}: "
                f"{self._system[1]} has {self._system[0]}"
            )
        for field, value in zip(fields, values, strict=True):
            if value is None:
                raise InstanceError(f"{where}: {field}: missing")
        self._system = self._system or (system, where)
        first, second = (
            number(f"{where}: {field}", value) for field, value in zip(fields, values, strict=True)
        )
        return first, second

    def find(self, field: str, name: object) -> int:
        """Give the place that has an id, or that of the stop that has it."""
        if not isinstance(name, str):
            raise InstanceError(f"{field} = {name!r}: must be the id of a place, or coordinates")
        if name not in self._by_id:
            raise InstanceError(f"{field} = {name!r}: there is no such place")
        place = self._by_id[name]
        if self._points[place] is None and not self._matrix:
            raise InstanceError(f"{field} = {name!r}: it has no coordinates of its own")
        return place

    def at(self, field: str, record: _Located) -> int | None:
        """Give the place at coordinates, a further one if need be."""
        point = self.point(field, record)
        if point is None:
            return None
        if self._matrix:
            raise InstanceError(f"{field} = {point}: coordinates cannot be combined with travel")
        if point == self._points[0]:
            return 0
        if point not in self._nameless:
            self._nameless[point] = len(self._points)
            self._points.append(point)
        return self._nameless[point]

    def place(self, field: str, given: str | int | Place | None) -> int | None:
        """Give a place by id or coordinates."""
        if given is None:
            return None
        if isinstance(given, Place):
            if given.id is not None:
                raise InstanceError(f"{field}.id = {given.id!r}: give the id alone, or coordinates")
            place = self.at(field, given)
            if place is None:
                raise InstanceError(f"{field}: has no coordinates")
            return place
        return self.find(field, given)

    def end(self) -> int | None:
        """Give the default end."""
        return None if self._end is None or self.separate_end else self.find("end", self._end)

    def matrix(self, field: str, given: npt.ArrayLike) -> FloatArray:
        """Check the shape of a matrix."""
        size = len(self._points)
        found = given if isinstance(given, np.ndarray) else table(field, given)
        if found.shape != (size, size):
            raise InstanceError(f"{field}: has shape {found.shape}, must be ({size}, {size})")
        return found

    def points(self, elsewhere: Mapping[int, int | None]) -> list[Point | None] | None:
        """Give the coordinates of all places.

        Stops whose alternatives are all `elsewhere` need none, and get those of the first of them.
        """
        if self._matrix and all(point is None for point in self._points):
            return None
        for place, point in enumerate(self._points):
            if point is None and place not in elsewhere:
                axis = "lat" if self.geographic else "x"
                raise InstanceError(f"{self._name(place)}: {axis}: missing")
        return [
            point or self._points[elsewhere[place] or 0] or self._points[0]
            for place, point in enumerate(self._points)
        ]

    def _name(self, place: int) -> str:
        if place == 0:
            return "depot"
        if place <= len(self._stops):
            return _stop(self._stops, place)
        return "end" if place < self._behind else f"place {self._names[place - self._behind]!r}"


def _vehicle(given: Vehicle, where: str, rows: _Rows, clock: _Times, moves: _Speeds) -> Vehicle:
    """Read the times and speed of a vehicle, and find its places."""
    if moves.matrix and given.speed is not None:
        raise InstanceError(f"{where}: speed = {given.speed!r}: cannot be combined with travel")
    return replace(
        given,
        start=rows.place(f"{where}: start", given.start),
        end=rows.place(f"{where}: end", given.end),
        begin=clock.read(f"{where}: begin", given.begin),
        due=clock.read(f"{where}: due", given.due),
        speed=moves.read(f"{where}: speed", given.speed),
    )


class _Columns:
    """The arrays by alternative, filled stop by stop."""

    def __init__(self, rows: _Rows, clock: _Times, vehicles: Sequence[str]) -> None:
        self._rows = rows
        self._clock = clock
        self._vehicle = {name: k for k, name in enumerate(vehicles)}
        self._first = [0]
        self._place = [0]
        self._values: dict[str, list[float]] = {
            "open": [0.0],
            "close": [0.0],
            "leave_by": [0.0],
            "reward": [0.0],
            "min_stay": [0.0],
        }
        self._pieces: list[Any] = [[]]
        self._admitted: list[list[int] | None] = [None]
        self.elsewhere: dict[int, int | None] = {}
        """Stops that nobody visits at their own place, and where they are visited first."""

    def add(self, stop: int, record: Stop, where: str) -> None:
        """Add the alternatives of a stop."""
        self._first.append(len(self._place))
        given = record.alternatives
        single = given is None
        if record.place is not None and self._rows.point(where, record) is not None:
            raise InstanceError(
                f"{where}: place = {record.place!r}: cannot be combined with coordinates"
            )
        home = stop
        if record.place is not None:
            home = self._rows.find(f"{where}: place", record.place)
        shortest = _duration(f"{where}: min_stay", record.min_stay)
        pieces = _pieces(where, record, shortest or 0.0)
        admitted = self._vehicles(where, record.vehicles)
        for k, one in enumerate([Alternative()] if given is None else given):
            here = where if single else f"{where}: alternatives[{k}]"
            place = self._rows.at(here, one)
            if one.place is not None:
                if place is not None:
                    raise InstanceError(
                        f"{here}: place = {one.place!r}: cannot be combined with coordinates"
                    )
                place = self._rows.find(f"{here}: place", one.place)
            self._place.append(home if place is None else place)
            self._add_values(here, one, record)
            own = any(value is not None for value in (one.rate, one.max_stay, one.profit))
            if own and one.profit is None:
                for field, value in (("rate", one.rate), ("max_stay", one.max_stay)):
                    if value is None:
                        raise InstanceError(f"{here}: {field}: missing")
            least = self._values["min_stay"][-1]
            self._pieces.append(_pieces(here, one, least) if own else pieces)
            self._admitted.append(
                admitted if one.vehicles is None else self._vehicles(here, one.vehicles)
            )
        mine = self._place[self._first[-1] :]
        if stop not in mine:
            self.elsewhere[stop] = mine[0] if mine else None

    def _add_values(self, where: str, one: Alternative, record: Stop) -> None:
        read: Callable[[str, Any], float | None]
        for field, default in (
            ("open", 0.0),
            ("close", np.inf),
            ("leave_by", np.inf),
            ("reward", 0.0),
            ("min_stay", 0.0),
        ):
            value = getattr(one, field)
            if value is None:
                value = getattr(record, field)
            read = _duration if field in ("reward", "min_stay") else self._clock.read
            found = read(f"{where}: {field}", value)
            self._values[field].append(default if found is None else found)

    def _vehicles(self, where: str, given: Sequence[str] | None) -> list[int] | None:
        if given is None:
            return None
        if isinstance(given, str):
            raise InstanceError(f"{where}: vehicles = {given!r}: must be a list of ids")
        for name in given:
            if name not in self._vehicle:
                raise InstanceError(f"{where}: vehicles = {name!r}: there is no such vehicle")
        return [self._vehicle[name] for name in given]

    def arguments(self) -> dict[str, Any]:
        """Give the arguments of the constructor."""
        admits = None
        if any(one is not None for one in self._admitted):
            admits = np.ones((len(self._admitted), len(self._vehicle)), dtype=np.bool_)
            for k, one in enumerate(self._admitted):
                if one is not None:
                    admits[k] = False
                    admits[k, one] = True
        return self._values | {
            "pieces": self._pieces,
            "alternative_first": [*self._first, len(self._place)],
            "alternative_place": self._place,
            "alternative_vehicles": admits,
        }


def _duration(field: str, value: float | None) -> float | None:
    if isinstance(value, str):
        raise InstanceError(f"{field} = {value!r}: must be a number")
    return None if value is None else number(field, value)


def _pieces(where: str, record: Stop | Alternative, shortest: float) -> Any:
    """Give the pieces of a profit, which may be in its short form."""
    if record.profit is not None:
        for field in ("rate", "max_stay"):
            if getattr(record, field) is not None:
                raise InstanceError(
                    f"{where}: {field} = {getattr(record, field)}: cannot be combined with profit"
                )
        return record.profit
    longest = _duration(f"{where}: max_stay", record.max_stay)
    rate = _duration(f"{where}: rate", record.rate)
    if longest is None:
        if rate is not None:
            raise InstanceError(f"{where}: max_stay: missing, but rate = {rate}")
        return []
    if not longest >= shortest:
        raise InstanceError(f"{where}: max_stay = {longest}: is less than min_stay = {shortest}")
    if rate is not None and not 0 <= rate < np.inf:
        raise InstanceError(f"{where}: rate = {rate}: must be finite, not negative")
    return [[rate or 0.0, longest - shortest]]
