"""The problem: stops with alternatives, stays and concave profits, vehicles, and travel times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from decost.problem.arrays import Arrays as Arrays
from decost.problem.contents import FIELDS as HELD
from decost.problem.contents import Contents
from decost.problem.demands import (
    DEFAULTS,
    FIELDS,
    many_pieces,
    modest_lengths,
    one_piece,
    stop_name,
    validate,
    validate_columns,
)
from decost.problem.fields import (
    MAX_ALTERNATIVES,
    MAX_ALTERNATIVES_IN_ALL,
    amount,
    columns,
    finite,
    frozen,
    positive,
    table,
    text,
    truth_table,
    unique_ids,
    whole_column,
)
from decost.problem.fields import MAX_STOPS as MAX_STOPS
from decost.problem.fields import MAX_VEHICLES as MAX_VEHICLES
from decost.problem.fields import TOLERANCE as TOLERANCE
from decost.problem.fields import BoolArray as BoolArray
from decost.problem.fields import FloatArray as FloatArray
from decost.problem.fields import InstanceError as InstanceError
from decost.problem.fields import IntArray as IntArray
from decost.problem.fields import whole_number as whole_number
from decost.problem.fleet import own_fleet
from decost.problem.records import FleetVehicle, Place, Stop, TravelTimes, Vehicle
from decost.problem.selection import only_stops

DETOUR = 1.3
"""How much longer than a great circle a way is, unless an instance says it."""

# An argument of the constructor that another one takes the place of.
_INSTEAD = {
    "rate": "pieces",
    "max_stay": "pieces",
    "vehicles": "fleet",
    "fleet": "vehicles",
    "travel": "profiles",
    "geographic": "detour",
    "separate_end": "end",
}


class Instance(Contents):
    """A frozen, validated planning problem.

    Stop 0 is the depot, and stops are 1, 2, ... A **place** is a row of coordinates and travel
    times: 0 is the depot, then come the places of the stops, then that of a separate end, then
    further ones. An **alternative** is one way to visit a stop; they are numbered from 1, those of
    stop 1 first. Unless `alternative_first` says otherwise every stop has one, and alternative k
    is stop k. Arrays by stop or by alternative have an entry 0, the depot's, which is ignored.

    `Instance.build` makes an instance of records, with names for everything.

    Parameters
    ----------
    budget
        Time by which every vehicle must be at its end, unless it has a `due` of its own. By
        default the latest of those.
    xy
        Coordinates, shape (places, 2). Needed unless `travel` is given.
    travel
        Travel times, shape (places, places), not necessarily symmetric. By default the
        Euclidean distance divided by `speed`. With `profiles` one matrix for each of them.
    speed
        Distance per unit of time.
    separate_end
        The vehicles end at a depot of their own, given as one more row of `xy` and one
        more row and column of `travel`, behind the stops.
    open, close
        Window on the start of service (default: 0, and infinity for a stop that never closes),
        by alternative. Waiting before `open` is free.
    leave_by
        Latest end of service (default: infinity), by alternative.
    reward
        Profit of a visit, whatever the stay (default: 0), by alternative.
    min_stay
        Shortest stay (default: 0), by alternative.
    rate, max_stay
        Profit per unit of stay beyond `min_stay`, up to `max_stay`: one piece an alternative.
    pieces
        Instead of `rate` and `max_stay`: for every alternative the concave profit of the stay
        beyond `min_stay` as `(rate, length)` pairs of falling rate.
    vehicles
        Number of routes in a plan: so many equal vehicles. Default: 1.
    ids
        Names of the stops, the depot's left out. By default a stop is known by its number.
    name
        What to call the instance in outputs.
    begin
        Time before which no vehicle can leave, unless it has a `begin` of its own.
    fleet
        Instead of `vehicles`: a `Vehicle` for each, whose `start` and `end` are numbers of places.
        What is None is the default: the depot, `end`, `begin`, `budget`, `speed`. What equals the
        default counts as not given.
    required
        Stops that come before all profit, as true and false by stop.
    places
        Names of the places behind those of the stops (and of the separate end), "" for one without.
    end
        Place at which vehicles end by default (default: the separate end, or else the depot).
    profiles
        Names of the matrices that `travel` holds; each vehicle names the one it uses.
    unit
        "minutes", and then times can be shown as clock times; or None.
    geographic
        `xy` holds degrees (lon, lat); the unit is minutes, and speeds are kilometres a minute.
    detour
        How much longer than a great circle ways are (default: 1.3), if `geographic`.
    alternative_first
        First alternative of every stop, and at last one more than there are: 0, 1, ...
    alternative_place
        Place of every alternative (default: that of its stop).
    alternative_vehicles
        Whether each alternative admits each vehicle, shape (alternatives + 1, vehicles).

    Examples
    --------
    >>> instance = Instance(budget=10, xy=[[0, 0], [3, 4]], rate=[0, 2], max_stay=[0, 6])
    >>> instance
    Instance(OPVP, 1 stop, budget 10)
    >>> instance.travel[0, 1]
    np.float64(5.0)
    """

    def __init__(
        self,
        *,
        budget: float | None = None,
        xy: npt.ArrayLike | None = None,
        travel: npt.ArrayLike | None = None,
        speed: float = 1.0,
        separate_end: bool = False,
        open: npt.ArrayLike | None = None,  # noqa: A002
        close: npt.ArrayLike | None = None,
        leave_by: npt.ArrayLike | None = None,
        reward: npt.ArrayLike | None = None,
        min_stay: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        max_stay: npt.ArrayLike | None = None,
        pieces: Sequence[npt.ArrayLike] | None = None,
        vehicles: int | None = None,
        ids: Sequence[str] | None = None,
        name: str = "",
        begin: float = 0.0,
        fleet: Sequence[Vehicle | FleetVehicle] | None = None,
        required: npt.ArrayLike | None = None,
        places: Sequence[str] = (),
        end: int | None = None,
        profiles: Sequence[str] = (),
        unit: str | None = None,
        geographic: bool = False,
        detour: float | None = None,
        alternative_first: npt.ArrayLike | None = None,
        alternative_place: npt.ArrayLike | None = None,
        alternative_vehicles: npt.ArrayLike | None = None,
    ) -> None:
        mine = self.__dict__
        mine["begin"] = finite("begin", begin)
        mine["budget"] = self._due_by_default(budget, fleet)
        mine["speed"] = positive("speed", speed)
        mine["name"] = text("name", str(name))
        mine["separate_end"] = bool(separate_end)
        self._put_unit(unit, bool(geographic), detour)
        mine["_first"] = mine["_place"] = mine["alternative_vehicles"] = None
        mine["places"] = tuple(places)
        if self.places:
            unique_ids("places", [place for place in self.places if place])
        mine["profiles"] = unique_ids("profiles", tuple(profiles)) if profiles else ()
        nodes = self._put_rows(xy, travel)
        rows = nodes + self.separate_end + len(self.places)
        mine["ids"] = None if ids is None else self._labels(ids, nodes - 1)
        usual_end = nodes if self.separate_end else 0
        mine["end"] = usual_end if end is None else whole_number("end", end, 0, rows - 1)
        given = 1 if vehicles is None else vehicles
        if fleet is not None:
            given = len(fleet) if vehicles is None else vehicles
        mine["vehicles"] = whole_number("vehicles", given, 1, MAX_VEHICLES)
        differ = fleet is not None or len(self.profiles) > 1
        mine["_fleet"] = own_fleet(self, fleet, rows) if differ else None

        self._put_required(required, nodes)
        size = nodes if alternative_first is None else self._put_first(alternative_first, nodes)
        self._put_alternatives(alternative_place, alternative_vehicles, size, rows)

        if pieces is not None and (rate is not None or max_stay is not None):
            raise InstanceError("pieces: cannot be combined with rate or max_stay")
        numbers = (rate, max_stay, close, min_stay, open, leave_by, reward)
        by_alternative = columns(FIELDS, numbers, size, DEFAULTS)
        if max_stay is None:
            by_alternative[1] = by_alternative[3]
        self._put_profits(by_alternative, rate is None or max_stay is not None, pieces)

    @classmethod
    def build(
        cls,
        *,
        stops: Iterable[Stop] = (),
        vehicles: int | Iterable[Vehicle] = 1,
        places: Iterable[Place] = (),
        depot: Place | None = None,
        end: Place | str | None = None,
        begin: float | str | None = None,
        budget: float | str | None = None,
        speed: float | str | None = None,
        unit: str | None = None,
        detour: float | None = None,
        travel: npt.ArrayLike | Mapping[str, npt.ArrayLike] | TravelTimes | None = None,
        name: str = "",
    ) -> Instance:
        """Make an instance of records, with the names and the meaning of the file format.

        Parameters
        ----------
        stops
            The stops, each with its alternatives.
        vehicles
            The vehicles, or how many equal ones there are.
        places
            Further places, to which vehicles and alternatives refer by id.
        depot
            Where vehicles start (needed unless there is a travel matrix).
        end
            Where vehicles end by default: the id of a place or a stop, or coordinates; these have
            a row of their own in a matrix, behind the stops.
        begin, budget
            Default `begin` (0) and `due` of the vehicles.
        speed
            Distance per unit of time; with lat, lon as "4.5 km/h" or "3 mph".
        unit
            "minutes" if times are that, and then they may be written as "09:30". Needed for
            lat, lon.
        detour
            How much longer than a great circle ways are, 1.3 unless given; for lat, lon only.
        travel
            Matrix of travel times between the depot, the stops and the places, in this order; or
            several ones by name; or `Streets`, which know them.
        name
            What to call the instance in outputs.

        Examples
        --------
        >>> from decost import Alternative, Instance, Place, Stop, Vehicle
        >>> Instance.build(
        ...     unit="minutes", begin="09:00", budget="17:30", depot=Place(x=0, y=0),
        ...     vehicles=[Vehicle("red"), Vehicle("blue", begin="10:00")],
        ...     stops=[Stop("museum", x=3, y=4, min_stay=30, required=True, alternatives=[
        ...         Alternative(open="09:00", leave_by="12:00", reward=20),
        ...         Alternative(open="14:00", leave_by="18:00", vehicles=["blue"])])])
        Instance(TOPTW, 1 stop, 2 alternatives, 1 required, budget 1050, 2 vehicles)
        """
        from decost.problem.building import build

        return build(
            stops=tuple(stops),
            vehicles=vehicles if isinstance(vehicles, int | np.integer) else tuple(vehicles),
            places=tuple(places),
            depot=depot,
            end=end,
            begin=begin,
            budget=budget,
            speed=speed,
            unit=unit,
            detour=detour,
            travel=travel,
            name=name,
        )

    def _due_by_default(
        self, budget: object, fleet: Sequence[Vehicle | FleetVehicle] | None
    ) -> float:
        if fleet is None:
            given = amount("budget", budget) if self.begin >= 0 else finite("budget", budget)
            if given < self.begin:
                raise InstanceError(f"budget = {given}: is before begin = {self.begin}")
            return given
        if budget is not None:
            return finite("budget", budget)
        for k, vehicle in enumerate(fleet):
            if vehicle.due is None:
                raise InstanceError(f"budget = None: needed, since vehicle {k + 1} has no due")
        return max((finite("due", vehicle.due) for vehicle in fleet), default=0.0)

    def _put_unit(self, unit: str | None, geographic: bool, detour: float | None) -> None:
        mine = self.__dict__
        if unit is not None and unit != "minutes":
            raise InstanceError(f"unit = {unit!r}: must be 'minutes', or not given")
        if geographic and unit is None:
            raise InstanceError("unit = None: must be 'minutes' with lat, lon")
        if detour is not None and not geographic:
            raise InstanceError(f"detour = {detour}: goes with lat, lon only")
        mine["unit"] = unit
        mine["geographic"] = geographic
        usual = DETOUR if geographic else 1.0
        mine["detour"] = usual if detour is None else positive("detour", detour)

    def _put_rows(self, xy: npt.ArrayLike | None, travel: npt.ArrayLike | None) -> int:
        """Take coordinates and travel times, and tell how many nodes there are."""
        mine = self.__dict__
        if xy is None and travel is None:
            raise InstanceError("xy = None: give coordinates, or a travel matrix")
        points = None if xy is None else table("xy", xy)
        matrix = None if travel is None else table("travel", travel)
        if points is not None and (points.ndim != 2 or points.shape[1] != 2):
            raise InstanceError(f"xy: has shape {points.shape}, must be (nodes, 2)")
        rows = 0 if points is None else len(points)
        if matrix is not None:
            several = len(self.profiles)
            shape = matrix.shape[1:] if several else matrix.shape
            if len(shape) != 2 or shape[0] != shape[1]:
                square = "a square for each profile" if several else "square"
                raise InstanceError(f"travel: has shape {matrix.shape}, must be {square}")
            if several and len(matrix) != several:
                raise InstanceError(f"travel: has {len(matrix)} matrices for {several} profiles")
            rows = shape[0]
        elif self.profiles:
            raise InstanceError(f"profiles = {self.profiles}: there is no travel")
        if points is not None and len(points) != rows:
            raise InstanceError(f"travel: has shape ({rows}, {rows}) for {len(points)} places")
        nodes = rows - self.separate_end - len(self.places)
        if nodes < 1:
            raise InstanceError(f"xy: has {rows} places, the depots alone are more")
        if nodes - 1 > MAX_STOPS:
            raise InstanceError(f"stops: there are {nodes - 1}, at most {MAX_STOPS} are allowed")
        mine["xy"] = None if points is None else frozen(points)
        mine["_travel"] = None if matrix is None else matrix.reshape((-1, rows, rows))
        return nodes

    def _labels(self, ids: Sequence[str], stops: int) -> tuple[str, ...] | None:
        if len(ids) != stops:
            raise InstanceError(f"ids: there are {len(ids)} for {stops} stops")
        return unique_ids("stops", tuple(ids)) or None

    def _put_first(self, given: npt.ArrayLike, nodes: int) -> int:
        """Take the first alternatives of stops, and tell how long arrays by alternative are."""
        field = "alternative_first"
        first = whole_column(field, given, nodes + 1, MAX_ALTERNATIVES_IN_ALL + 1)
        if first[1] != 1:
            raise InstanceError(f"{field}[1] = {first[1]}: must be 1")
        number = np.diff(first)[1:]
        if (number < 0).any():
            stop = 1 + int(np.argmax(number < 0))
            raise InstanceError(
                f"{field}[{stop + 1}] = {first[stop + 1]}: is less than the one before"
            )
        if (number > MAX_ALTERNATIVES).any():
            stop = 1 + int(np.argmax(number > MAX_ALTERNATIVES))
            raise InstanceError(
                f"{stop_name(self, stop)}: alternatives: there are {number[stop - 1]}, "
                f"at most {MAX_ALTERNATIVES} are allowed"
            )
        if (number != 1).any():
            self.__dict__["_first"] = first
        return int(first[-1])

    def _put_required(self, required: npt.ArrayLike | None, nodes: int) -> None:
        mine = self.__dict__
        mine["_required"] = np.zeros(nodes, dtype=np.bool_)
        if required is None:
            mine["any_required"] = False
        else:
            mine["_required"] = truth_table("required", required, (nodes,))
            self._required[0] = False

    def _put_alternatives(
        self,
        places: npt.ArrayLike | None,
        vehicles: npt.ArrayLike | None,
        size: int,
        rows: int,
    ) -> None:
        """Take where alternatives are, and whom they admit, unless that is as everywhere."""
        if places is not None:
            where = whole_column("alternative_place", places, size, rows - 1)
            if not np.array_equal(where, self.alternative_stop):
                self.__dict__["_place"] = where
        if vehicles is not None:
            admits = truth_table("alternative_vehicles", vehicles, (size, self.vehicles))
            admits[0] = True
            if not admits.all():
                self.__dict__["alternative_vehicles"] = frozen(admits)

    def _put_profits(
        self, given: FloatArray, limited: bool, pieces: Sequence[npt.ArrayLike] | None
    ) -> None:
        """Take windows, stays and profits, with `FIELDS` as rows, and check the whole."""
        mine = self.__dict__
        given[:, :1] = DEFAULTS
        given[2, 0] = self.budget
        mine["_columns"] = given[2:]
        length = modest_lengths(given) if limited else None
        modest = length is not None and pieces is None
        if length is None:
            validate_columns(self, given, limited)
            length = given[1] - given[3]
        found = one_piece(given[0], length) if pieces is None else many_pieces(self, pieces)
        mine["_piece_start"], mine["_piece_rate"], mine["_piece_length"] = found
        validate(self, modest)

    def __getstate__(self) -> dict[str, Any]:
        return self._fields()  # what is derived from them is quick to make, and large

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.xy, self.alternative_vehicles):
            if array is not None:  # numpy forgets in a copy or a pickle that it was read-only
                frozen(array)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Instance is frozen: use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Instance is frozen")

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        team = f", {self.vehicles} vehicles" if self.vehicles > 1 else ""
        plural = "" if self.stops == 1 else "s"
        ways = "" if self._first is None else f", {self.alternative_count} alternatives"
        must = f", {self.required.sum()} required" if self.any_required else ""
        return (
            f"Instance({name}{self.problem}, {self.stops} stop{plural}{ways}{must}, "
            f"budget {self.budget:g}{team})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return all(_same(mine[field], theirs[field]) for field in mine)

    __hash__ = None  # type: ignore[assignment]

    def _fields(self) -> dict[str, Any]:
        return {field: self.__dict__[field] for field in HELD}

    def replace(self, **changes: Any) -> Instance:
        """Copy the instance with some of the constructor's arguments changed.

        What took its value from the instance goes on doing so: a vehicle without a `due` of its
        own is due at the new `budget`.
        """
        given: dict[str, Any] = {
            "budget": self.budget,
            "xy": self.xy,
            "travel": self.matrix if self.matrices is None else self.matrices,
            "speed": self.speed,
            "separate_end": self.separate_end,
            "open": self.alternative_open,
            "close": self.alternative_close,
            "leave_by": self.alternative_leave_by,
            "reward": self.alternative_reward,
            "min_stay": self.alternative_min_stay,
            "pieces": None,
            "vehicles": self.vehicles,
            "ids": self.ids,
            "name": self.name,
            "begin": self.begin,
            "fleet": self._fleet,
            "required": self.required if self.any_required else None,
            "places": self.places,
            "end": None if self.end == (self.nodes if self.separate_end else 0) else self.end,
            "profiles": self.profiles,
            "unit": self.unit,
            "geographic": self.geographic,
            "detour": self.detour if self.geographic else None,
            "alternative_first": self._first,
            "alternative_place": self._place,
            "alternative_vehicles": self.alternative_vehicles,
        }
        for field, value in changes.items():
            if field in _INSTEAD and (value is not None or field != "fleet"):
                given.pop(_INSTEAD[field], None)
        if "pieces" in given and "pieces" not in changes:
            given["pieces"] = self.pieces
        return Instance(**(given | changes))

    def only(self, stops: Sequence[int] | IntArray) -> Instance:
        """Copy the instance with these stops alone, numbered anew in the given order.

        Places that have a name stay; of the others those that are still in use. The place of a
        stop that is left out, but in use, becomes a further place by the name of the stop.
        """
        return only_stops(self, stops)


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other
