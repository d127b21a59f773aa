"""The records of a problem, named as in a file: `Instance.build` makes an instance of them.

What is None is not given: a vehicle takes it from the instance, an alternative from its stop.
A time is a number, or a clock time such as "09:30" if the unit of the instance is minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from decost.problem.fields import FloatArray

Time: TypeAlias = float | str
Pieces: TypeAlias = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Place:
    """A place: a hotel, a home, a second branch; also the depot, or just coordinates.

    Parameters
    ----------
    id
        Its name, by which vehicles and alternatives refer to it.
    x, y
        Coordinates, or
    lat, lon
        degrees of latitude and longitude.
    """

    id: str | None = None
    x: float | None = None
    y: float | None = None
    lat: float | None = None
    lon: float | None = None


@dataclass(frozen=True)
class Vehicle:
    """A vehicle, a person, or a day of a trip.

    Parameters
    ----------
    id
        Its name; "1", "2", ... by its position unless given.
    start, end
        Where it starts and ends, the depot (and the instance's end) unless given: the id of a
        place or of a stop, "depot", or coordinates as a `Place`. For `Instance(fleet=...)` the
        number of the place.
    begin
        Time before which it cannot leave (that of the instance unless given).
    due
        Time by which it must be at its end (the instance's budget unless given).
    speed
        Its own speed.
    profile
        Name of the travel matrix that it uses.
    underway
        It has left already, and has to reach its end even if it visits nothing.
    """

    id: str | None = None
    start: str | int | Place | None = None
    end: str | int | Place | None = None
    begin: Time | None = None
    due: Time | None = None
    speed: float | str | None = None
    profile: str | None = None
    underway: bool = False


@dataclass(frozen=True)
class FleetVehicle:
    """A vehicle of an instance: as a `Vehicle`, but nothing is left out, and places are numbers.

    `profile` is None if no travel matrix has a name.
    """

    id: str
    start: int
    end: int
    begin: float
    due: float
    speed: float
    profile: str | None
    underway: bool


@dataclass(frozen=True)
class Alternative:
    """One way to visit a stop; what is not given is as the stop says.

    Parameters
    ----------
    open, close
        Window on the start of service.
    leave_by
        Latest end of service.
    vehicles
        Ids of the vehicles that may use it (all of them unless given).
    place
        Where it is: the id of a place or of a stop; or coordinates:
    x, y, lat, lon
        as for a `Place`.
    min_stay
        Shortest stay.
    reward
        Profit of the visit, whatever the stay.
    rate, max_stay
        Profit per unit of stay beyond `min_stay`, up to `max_stay`.
    profit
        Instead: `(rate, length)` pieces of falling rate for the stay beyond `min_stay`.
    """

    open: Time | None = None
    close: Time | None = None
    leave_by: Time | None = None
    vehicles: Sequence[str] | None = None
    place: str | None = None
    x: float | None = None
    y: float | None = None
    lat: float | None = None
    lon: float | None = None
    min_stay: float | None = None
    reward: float | None = None
    rate: float | None = None
    max_stay: float | None = None
    profit: Pieces | None = None


@dataclass(frozen=True)
class Stop:
    """A stop, which is visited at most once, by one of its alternatives.

    Parameters
    ----------
    id
        Its name.
    required
        It comes first: plans are compared by required stops, then by profit.
    alternatives
        The ways to visit it; one, as the stop itself says, unless given.

    The other parameters are those of `Alternative`.
    """

    id: str | None = None
    x: float | None = None
    y: float | None = None
    lat: float | None = None
    lon: float | None = None
    place: str | None = None
    open: Time | None = None
    close: Time | None = None
    leave_by: Time | None = None
    vehicles: Sequence[str] | None = None
    min_stay: float | None = None
    reward: float | None = None
    rate: float | None = None
    max_stay: float | None = None
    profit: Pieces | None = None
    required: bool = False
    alternatives: Sequence[Alternative] | None = None


@runtime_checkable
class TravelTimes(Protocol):
    """Something that knows travel times between points, such as a map of streets."""

    @property
    def usual(self) -> str | None:
        """Profile of those who have none of their own."""

    def times(
        self, points: FloatArray, names: Sequence[str], profile: str | None = None
    ) -> FloatArray:
        """Give travel times in minutes between points (lon, lat), which messages call by names."""
