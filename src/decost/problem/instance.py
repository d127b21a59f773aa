"""The problem: stops with alternatives, stays and concave profits, vehicles, and travel times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from decost.problem.arrays import Arrays as Arrays
from decost.problem.arrays import arrays_of
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
from decost.problem.distances import great_circles, straight_lines
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
from decost.problem.fleet import own_fleet, whole_fleet
from decost.problem.once import cached_property
from decost.problem.records import FleetVehicle, Place, Stop, TravelTimes, Vehicle
from decost.problem.selection import only_stops

Problem: TypeAlias = Literal["OP", "OPTW", "OPVP", "OPTWVP", "TOP", "TOPTW", "TOPVP", "TOPTWVP"]

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


class Instance:
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

    # All that an instance is, in one form only, so that equal ones are equal in these fields.
    # Arrays whose names begin with _ are for kernels, which are compiled for arrays that could be
    # written to; everyone else sees them read-only.
    budget: float
    begin: float
    speed: float
    detour: float
    unit: str | None
    geographic: bool
    vehicles: int
    name: str
    ids: tuple[str, ...] | None
    separate_end: bool
    end: int
    places: tuple[str, ...]
    profiles: tuple[str, ...]
    xy: FloatArray | None
    alternative_vehicles: BoolArray | None
    _travel: FloatArray | None  # (matrix, place, place), if given
    _required: BoolArray
    _columns: FloatArray  # close, min_stay, open, leave_by and reward, each by alternative
    _piece_start: IntArray
    _piece_rate: FloatArray
    _piece_length: FloatArray
    _fleet: tuple[Vehicle, ...] | None  # None: all as the instance says
    _first: IntArray | None  # None: one alternative a stop
    _place: IntArray | None  # None: alternatives are at their stops

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

        mine["_required"] = np.zeros(nodes, dtype=np.bool_)
        if required is None:
            mine["any_required"] = False
        else:
            mine["_required"] = truth_table("required", required, (nodes,))
            self._required[0] = False
        mine["_first"] = None
        mine["_place"] = None
        mine["alternative_vehicles"] = None
        size = nodes
        if alternative_first is not None:
            size = self._put_first(alternative_first, nodes)
        if alternative_place is not None:
            where = whole_column("alternative_place", alternative_place, size, rows - 1)
            if not np.array_equal(where, self.alternative_stop):
                mine["_place"] = where
        if alternative_vehicles is not None:
            shape = (size, self.vehicles)
            admits = truth_table("alternative_vehicles", alternative_vehicles, shape)
            admits[0] = True
            if not admits.all():
                mine["alternative_vehicles"] = frozen(admits)

        if pieces is not None and (rate is not None or max_stay is not None):
            raise InstanceError("pieces: cannot be combined with rate or max_stay")
        numbers = (rate, max_stay, close, min_stay, open, leave_by, reward)
        by_alternative = columns(FIELDS, numbers, size, DEFAULTS)
        if max_stay is None:
            by_alternative[1] = by_alternative[3]
        by_alternative[:, :1] = DEFAULTS
        by_alternative[2, 0] = self.budget
        mine["_columns"] = by_alternative[2:]
        limited = rate is None or max_stay is not None
        length = modest_lengths(by_alternative) if limited else None
        modest = length is not None and pieces is None
        if length is None:
            validate_columns(self, by_alternative, limited)
            length = by_alternative[1] - by_alternative[3]
        if pieces is None:
            found = one_piece(by_alternative[0], length)
        else:
            found = many_pieces(self, pieces)
        mine["_piece_start"], mine["_piece_rate"], mine["_piece_length"] = found
        validate(self, modest)

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
        return {field: self.__dict__[field] for field in Instance.__annotations__}

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

    @property
    def nodes(self) -> int:
        """Number of nodes: the depot and the stops."""
        return len(self._required)

    @cached_property
    def required(self) -> BoolArray:
        """Whether each stop comes before all profit."""
        return frozen(self._required[:])

    @cached_property
    def any_required(self) -> bool:
        """Whether there is a stop that comes before all profit."""
        return bool(np.count_nonzero(self._required))

    @cached_property
    def matrix(self) -> FloatArray | None:
        """Travel times, if they were given and are the same for all vehicles."""
        return None if self._travel is None or self.profiles else frozen(self._travel[0])

    @cached_property
    def matrices(self) -> FloatArray | None:
        """Travel times of every profile, if there are profiles."""
        return None if self._travel is None or not self.profiles else frozen(self._travel[:])

    @property
    def stops(self) -> int:
        """Number of stops."""
        return self.nodes - 1

    @cached_property
    def fleet(self) -> tuple[FleetVehicle, ...]:
        """Vehicles, one by one; `start` and `end` are numbers of places."""
        return whole_fleet(self, self._fleet)

    @property
    def alike(self) -> bool:
        """All vehicles are as the instance says, and may use every alternative."""
        return self._fleet is None and self.alternative_vehicles is None

    @cached_property
    def horizon(self) -> float:
        """Time from the first begin of any vehicle to the last due."""
        if self._fleet is None:
            return self.budget - self.begin
        return max(one.due for one in self.fleet) - min(one.begin for one in self.fleet)

    @property
    def tolerance(self) -> float:
        """How far times may be off, in units of time."""
        return TOLERANCE * self.horizon

    @property
    def simple(self) -> bool:
        """Every stop has one alternative, at its own place, for all vehicles."""
        return self._first is None and self._place is None and self.alternative_vehicles is None

    @cached_property
    def plain(self) -> bool:
        """One vehicle, straight ways, one alternative a stop at its place, and none required."""
        straight = self._travel is None and not self.geographic
        alone = self.vehicles == 1 and self._fleet is None
        return straight and alone and self.simple and not self.any_required

    @property
    def alternative_count(self) -> int:
        """Number of alternatives of all stops."""
        return int(self._columns.shape[1]) - 1

    @cached_property
    def alternative_open(self) -> FloatArray:
        """Begin of the window on the start of service, by alternative."""
        return self._column(2)

    @cached_property
    def alternative_close(self) -> FloatArray:
        """End of the window on the start of service, by alternative."""
        return self._column(0)

    @cached_property
    def alternative_leave_by(self) -> FloatArray:
        """Latest end of service, by alternative."""
        return self._column(3)

    @cached_property
    def alternative_reward(self) -> FloatArray:
        """Profit of a visit, whatever the stay, by alternative."""
        return self._column(4)

    @cached_property
    def alternative_min_stay(self) -> FloatArray:
        """Shortest stay, by alternative."""
        return self._column(1)

    def _column(self, number: int) -> FloatArray:
        return frozen(self._columns[number])

    @cached_property
    def alternative_first(self) -> IntArray:
        """First alternative of every stop, and at last one more than there are."""
        return frozen(np.arange(self.nodes + 1) if self._first is None else self._first[:])

    @cached_property
    def alternative_stop(self) -> IntArray:
        """Stop of every alternative."""
        if self._first is None:
            return frozen(np.arange(self.nodes))
        return frozen(np.repeat(np.arange(self.nodes), np.diff(self._first)))

    @property
    def alternative_place(self) -> IntArray:
        """Place of every alternative."""
        return self.alternative_stop if self._place is None else frozen(self._place[:])

    @cached_property
    def piece_start(self) -> IntArray:
        """First piece of every alternative, and at last how many there are."""
        return frozen(self._piece_start[:])

    @cached_property
    def piece_rate(self) -> FloatArray:
        """Profit per unit of stay of every piece."""
        return frozen(self._piece_rate[:])

    @cached_property
    def piece_length(self) -> FloatArray:
        """Longest stay of every piece."""
        return frozen(self._piece_length[:])

    @property
    def pieces(self) -> tuple[FloatArray, ...]:
        """For every alternative the `(rate, length)` pieces of its profit, shape (pieces, 2)."""
        pairs = np.column_stack((self.piece_rate, self.piece_length))
        return tuple(np.split(pairs, self.piece_start[1:-1]))

    @cached_property
    def piece_offset(self) -> FloatArray:
        """Length of the pieces of the same alternative before each piece."""
        offset = np.zeros(len(self.piece_length))
        number = np.diff(self.piece_start)
        # One by one: in one sum over all, a long stay would swallow the digits of the others.
        for k in range(1, int(number.max())):
            here = self.piece_start[:-1][number > k] + k
            offset[here] = offset[here - 1] + self.piece_length[here - 1]
        return frozen(offset)

    @cached_property
    def alternative_max_stay(self) -> FloatArray:
        """Longest stay by every alternative."""
        return frozen(self.alternative_min_stay + self.per_alternative(self.piece_length))

    @cached_property
    def alternative_full_profit(self) -> FloatArray:
        """Profit of the longest stay by every alternative."""
        earned = self.per_alternative(self.piece_rate * self.piece_length)
        return frozen(self.alternative_reward + earned)

    @cached_property
    def full_profits(self) -> FloatArray:
        """Most that each stop can earn by any alternative."""
        most = np.zeros(self.nodes)
        np.maximum.at(most, self.alternative_stop, self.alternative_full_profit)
        return frozen(most)

    def per_alternative(self, values: FloatArray) -> FloatArray:
        """Add up values of pieces for every alternative."""
        size = self._columns.shape[1]
        return np.bincount(self._piece_alternative, values, size).astype(np.float64, copy=False)

    @cached_property
    def _piece_alternative(self) -> IntArray:
        number = np.diff(self.piece_start)
        return frozen(np.repeat(np.arange(len(number)), number))

    def _by_node(self, field: str) -> FloatArray:
        if self._first is not None:
            raise InstanceError(
                f"{field}: not every stop has one, since there are stops with several or no "
                f"alternatives: use alternative_{field}"
            )
        values: FloatArray = getattr(self, f"alternative_{field}")
        return values

    @property
    def open(self) -> FloatArray:
        """Begin of the window on the start of service by node, if stops have one alternative."""
        return self._by_node("open")

    @property
    def close(self) -> FloatArray:
        """End of the window on the start of service by node, if stops have one alternative."""
        return self._by_node("close")

    @property
    def leave_by(self) -> FloatArray:
        """Latest end of service by node, if stops have one alternative."""
        return self._by_node("leave_by")

    @property
    def reward(self) -> FloatArray:
        """Profit of a visit, whatever the stay, by node, if stops have one alternative."""
        return self._by_node("reward")

    @property
    def min_stay(self) -> FloatArray:
        """Shortest stay by node, if stops have one alternative."""
        return self._by_node("min_stay")

    @property
    def max_stay(self) -> FloatArray:
        """Longest stay by node, if stops have one alternative."""
        return self._by_node("max_stay")

    @property
    def full_profit(self) -> FloatArray:
        """Profit of the longest stay by node, if stops have one alternative."""
        return self._by_node("full_profit")

    @cached_property
    def rate(self) -> FloatArray:
        """Profit per unit of stay by node, if stops have one alternative with one piece at most."""
        self._by_node("open")
        if (np.diff(self.piece_start) > 1).any():
            raise InstanceError("rate: there are stops with several pieces: use pieces")
        return frozen(self.per_alternative(self.piece_rate))

    @cached_property
    def speeds(self) -> tuple[float, ...]:
        """Different speeds of vehicles."""
        if self._fleet is None:
            return (self.speed,)
        return tuple(dict.fromkeys(one.speed for one in self.fleet))

    @cached_property
    def planes(self) -> FloatArray:
        """Travel times between all places, one matrix for each given one or different speed."""
        return frozen(self._planes[:])

    @cached_property
    def _planes(self) -> FloatArray:
        if self._travel is not None:
            return self._travel
        assert self.xy is not None
        if self.geographic:
            lengths = self.detour * great_circles(self.xy)
        else:
            lengths = straight_lines(self.xy)
        if len(self.speeds) == 1:
            if self.speeds[0] != 1.0:
                lengths /= self.speeds[0]
            return lengths[None]
        planes: FloatArray = lengths / np.array(self.speeds)[:, None, None]
        return planes

    @cached_property
    def vehicle_plane(self) -> IntArray:
        """Which of `planes` holds for each vehicle."""
        if self._fleet is None or len(self.planes) == 1:
            return frozen(np.zeros(self.vehicles, dtype=np.int64))
        if self.matrices is not None:
            planes = [self.profiles.index(str(one.profile)) for one in self._fleet]
        else:
            planes = [self.speeds.index(one.speed) for one in self.fleet]
        return frozen(np.array(planes, dtype=np.int64))

    @cached_property
    def travel(self) -> FloatArray:
        """Travel times between all places, if they are the same for all vehicles."""
        if len(self.planes) > 1:
            raise InstanceError("travel: vehicles differ in travel times: use travel_of(vehicle)")
        matrix: FloatArray = self.planes[0]
        return matrix

    def travel_of(self, vehicle: int) -> FloatArray:
        """Travel times of a vehicle (counted from 0) between all places."""
        matrix: FloatArray = self.planes[self.vehicle_plane[vehicle]]
        return matrix

    @cached_property
    def arrays(self) -> Arrays:
        """Give the instance as the kernels take it."""
        return arrays_of(self)

    @cached_property
    def problem(self) -> Problem:
        """Which named problem this is: OP, OPTW, OPVP or OPTWVP, with a T for teams.

        Stops with windows that bind some vehicle, in one of their alternatives, make a TW.
        """
        ways = slice(1, None)
        begin = min(one.begin for one in self.fleet)
        due = max(one.due for one in self.fleet)
        windows = bool(
            (self.alternative_open[ways] > begin).any()
            or (self.alternative_close[ways] < due).any()
            or (self.alternative_leave_by[ways] < due).any()
        )
        variable = bool((self.piece_rate > 0).any())
        team = "T" if self.vehicles > 1 else ""
        return f"{team}OP{'TW' * windows}{'VP' * variable}"  # type: ignore[return-value]

    def label(self, stop: int) -> str | int:
        """Name of a stop, its number if it has none."""
        return stop if self.ids is None else self.ids[stop - 1]


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other
