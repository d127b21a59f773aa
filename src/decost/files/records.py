"""Instances as JSON objects of version 2: alternatives, vehicles of their own, clock times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from decost.files.json import Schema, validated
from decost.files.limits import FormatError
from decost.problem.clock_times import format_time
from decost.problem.fields import MAX_ALTERNATIVES, MAX_STOPS, MAX_VEHICLES, FloatArray
from decost.problem.instance import DETOUR, Instance, InstanceError
from decost.problem.records import Alternative, Place, Stop, TravelTimes, Vehicle
from decost.problem.speeds import format_speed

# Fields of an alternative that are left out of a file when they are at their default.
NODE_FIELDS = {"open": 0.0, "close": np.inf, "leave_by": np.inf, "reward": 0.0, "min_stay": 0.0}
_TIMES = ("open", "close", "leave_by")


def plain(value: float) -> int | float:
    """Write a whole number as such."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def plain_rows(rows: FloatArray) -> list[list[int | float]]:
    """Write a table."""
    return [[plain(value) for value in row] for row in rows.tolist()]


def _passing(kind: type, other: type | tuple[type, ...], words: str) -> WrapValidator:
    """Let a value of this kind pass as it is; what is not of the other kind is refused."""

    def either(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if type(value) is kind:
            return value
        if isinstance(value, bool) or not isinstance(value, other):
            raise PydanticCustomError("kind", "must be {words}", {"words": words})
        return handler(value)

    return WrapValidator(either)


_Time: TypeAlias = Annotated[
    float, _passing(str, (int, float), 'a number, or a clock time such as "09:30"')
]
_Speed: TypeAlias = Annotated[
    float, _passing(str, (int, float), 'a number, or a speed with its unit such as "4.5 km/h"')
]
_MOST_ROWS = 2 * (MAX_STOPS + 1)  # the depot, the stops, an end, the places
_Row: TypeAlias = Annotated[list[float], Field(max_length=_MOST_ROWS, fail_fast=True)]
_Matrix: TypeAlias = Annotated[list[_Row], Field(max_length=_MOST_ROWS, fail_fast=True)]
_Pieces: TypeAlias = Annotated[
    list[Annotated[list[float], Field(min_length=2, max_length=2)]],
    Field(max_length=1000, fail_fast=True),
]
_Ids: TypeAlias = Annotated[list[str], Field(max_length=MAX_VEHICLES, fail_fast=True)]


class _Point(Schema):
    x: float | None = None
    y: float | None = None
    lat: float | None = None
    lon: float | None = None


_Where: TypeAlias = Annotated[_Point, _passing(str, dict, "the id of a place, or coordinates")]


class _Place(_Point):
    id: str


class _Vehicle(Schema):
    id: str | None = None
    start: _Where | None = None
    end: _Where | None = None
    begin: _Time | None = None
    due: _Time | None = None
    speed: _Speed | None = None
    profile: str | None = None
    underway: bool = False


class _Alternative(_Point):
    place: str | None = None
    vehicles: _Ids | None = None
    open: _Time | None = None
    close: _Time | None = None
    leave_by: _Time | None = None
    min_stay: float | None = None
    reward: float | None = None
    rate: float | None = None
    max_stay: float | None = None
    profit: _Pieces | None = None


class _Stop(_Alternative):
    id: str | None = None
    required: bool = False
    alternatives: (
        Annotated[list[_Alternative], Field(max_length=MAX_ALTERNATIVES, fail_fast=True)] | None
    ) = None


class _InstanceFile(Schema):
    format: Literal["decost-instance"]
    version: Literal[2]
    name: str = ""
    unit: Literal["minutes"] | None = None
    begin: _Time | None = None
    budget: _Time | None = None
    speed: _Speed | None = None
    detour: float | None = None
    depot: _Point = _Point()
    end: _Where | None = None
    places: list[_Place] = Field([], max_length=MAX_STOPS, fail_fast=True)
    vehicles: Annotated[
        list[_Vehicle],
        Field(max_length=MAX_VEHICLES, fail_fast=True),
        _passing(int, list, "a whole number, or a list of vehicles"),
    ] = 1  # type: ignore[assignment]
    stops: list[_Stop] = Field(max_length=MAX_STOPS, fail_fast=True)
    travel: Any = None


FIELDS = {field for schema in (_InstanceFile, _Stop, _Vehicle) for field in schema.model_fields}
"""All names that version 2 knows."""


class _OneMatrix(Schema):
    travel: _Matrix


class _Matrices(Schema):
    travel: dict[str, _Matrix]


def instance_of_records(
    where: str | Path, data: Any, streets: TravelTimes | None = None
) -> Instance:
    """Make the instance that parsed JSON of version 2 describes; streets may know travel times."""
    file = validated(_InstanceFile, where, data)
    travel: Any = streets
    if file.travel is not None:
        if streets is not None:
            raise FormatError(f"{where}: travel: has travel times of its own, and needs no streets")
        travel = _travel(where, file.travel)
    return Instance.build(
        name=file.name,
        unit=file.unit,
        begin=file.begin,
        budget=file.budget,
        speed=file.speed,
        detour=file.detour,
        depot=_place(file.depot),
        end=None if file.end is None else _place(file.end),
        places=[Place(**_given(place)) for place in file.places],
        vehicles=file.vehicles
        if isinstance(file.vehicles, int)
        else [
            Vehicle(**(_given(one) | {"start": _place(one.start), "end": _place(one.end)}))
            for one in file.vehicles
        ],
        stops=[_stop(stop) for stop in file.stops],
        travel=travel,
    )


def _travel(where: str | Path, given: Any) -> Any:
    """Read a matrix, or several by name."""
    if isinstance(given, np.ndarray):
        return given
    schema: Any = _Matrices if isinstance(given, dict) else _OneMatrix
    travel = validated(schema, where, {"travel": given}).travel
    for name, matrix in travel.items() if isinstance(travel, dict) else [(None, travel)]:
        _require_square(where, "travel" if name is None else f"travel.{name}", matrix)
    return travel


class _StopsFile(Schema):
    stops: list[_Stop] = Field(max_length=MAX_STOPS, fail_fast=True)


def stops_of(where: str | Path, data: Any) -> list[Stop]:
    """Give the stops that parsed JSON describes: a list of them, or one named `stops`."""
    file = validated(_StopsFile, where, {"stops": data} if isinstance(data, list) else data)
    return [_stop(stop) for stop in file.stops]


def _require_square(where: str | Path, field: str, matrix: list[list[float]]) -> None:
    for k, row in enumerate(matrix):
        if len(row) != len(matrix):
            raise FormatError(
                f"{where}: {field}[{k}]: has {len(row)} entries, must be {len(matrix)}"
            )


def _given(thing: Schema) -> dict[str, Any]:
    return {field: getattr(thing, field) for field in type(thing).model_fields}


def _place(given: Any) -> Any:
    return Place(**_given(given)) if isinstance(given, _Point) else given


def _stop(stop: _Stop) -> Stop:
    ways = None
    if stop.alternatives is not None:
        ways = [Alternative(**_given(one)) for one in stop.alternatives]
    return Stop(**(_given(stop) | {"alternatives": ways}))


def records_of(instance: Instance) -> dict[str, Any]:
    """Describe an instance in version 2; fields that are at their default are left out.

    Raises
    ------
    InstanceError
        If a place is used that a file could not name.
    """
    writing = _Writing(instance)
    data: dict[str, Any] = {"format": "decost-instance", "version": 2, "name": instance.name}
    if instance.unit is not None:
        data["unit"] = instance.unit
    if instance.begin != 0 or instance.unit is not None:
        data["begin"] = writing.time(instance.begin)
    data["budget"] = writing.time(instance.budget)
    vehicles = [writing.vehicle(k) for k in range(instance.vehicles)]
    data["vehicles"] = vehicles if any(vehicles) else instance.vehicles
    data["speed"] = writing.speed(instance.speed)
    if instance.geographic and instance.detour != DETOUR:
        data["detour"] = plain(instance.detour)
    data["depot"] = writing.point(0)
    if instance.separate_end:
        data["end"] = writing.point(instance.nodes)
    elif instance.end:
        data["end"] = writing.where("end", instance.end)
    if writing.places:
        behind = instance.nodes + instance.separate_end
        data["places"] = [
            {"id": name} | writing.point(behind + k) for k, name in enumerate(writing.places)
        ]
    data["stops"] = [writing.stop(stop) for stop in range(1, instance.nodes)]
    if instance.matrix is not None:
        data["travel"] = plain_rows(instance.matrix)
    elif instance.matrices is not None:
        pairs = zip(instance.profiles, instance.matrices, strict=True)
        data["travel"] = {name: plain_rows(matrix) for name, matrix in pairs}
    return data


class _Writing:
    """Parts of an instance as a file has them."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.matrix = instance.matrix is not None or instance.matrices is not None
        self.pieces = instance.pieces
        self.end = instance.nodes if instance.separate_end else instance.end
        self.places = self._place_ids()
        behind = instance.nodes + instance.separate_end
        by_id = {"depot": 0}  # as the reader finds them
        for stop in range(instance.stops, 0, -1):
            by_id[str(instance.label(stop))] = stop
        by_id |= {name: behind + k for k, name in enumerate(self.places)}
        self.names = {row: name for name, row in by_id.items()}

    def _place_ids(self) -> list[str]:
        """Ids of places; those without are written where they are used, if there is no matrix."""
        instance, ids = self.instance, list(self.instance.places)
        if not self.matrix:
            while ids and not ids[-1]:
                ids.pop()
        taken = {*ids, *(instance.ids or ())}
        numbers = (f"place {k}" for k in range(1, len(ids) + len(taken) + 2))
        fresh = (name for name in numbers if name not in taken)
        return [name or next(fresh) for name in ids]

    def time(self, value: float) -> str | float:
        """Write a whole number of minutes as a clock time."""
        if self.instance.unit is None or not 0 <= value < 1e5 or value != int(value):
            return plain(value)
        return format_time(value)

    def speed(self, value: float) -> str | float:
        """Write a speed with its unit where places are on the globe."""
        return format_speed(value) if self.instance.geographic else plain(value)

    def point(self, row: int) -> dict[str, float]:
        """Write coordinates, if there are any."""
        if self.instance.xy is None:
            return {}
        first, second = map(plain, self.instance.xy[row].tolist())
        if self.instance.geographic:
            return {"lat": second, "lon": first}
        return {"x": first, "y": second}

    def where(self, field: str, row: int) -> str | dict[str, float]:
        """Write a place by its id, or by coordinates if it has none of its own."""
        if row in self.names:
            return self.names[row]
        if self.matrix:
            raise InstanceError(f"{field}: place {row} of the matrix has no id of its own")
        return self.point(row)

    def vehicle(self, k: int) -> dict[str, Any]:
        """Write what a vehicle has of its own."""
        instance = self.instance
        mine: Any = instance.fleet[k]
        where = f"vehicles[{k}]"
        row: dict[str, Any] = {}
        if mine.id != str(k + 1):
            row["id"] = mine.id
        if mine.start != 0:
            row["start"] = self.where(f"{where}.start", mine.start)
        if mine.end != self.end:
            row["end"] = self.where(f"{where}.end", mine.end)
        if mine.begin != instance.begin:
            row["begin"] = self.time(mine.begin)
        if mine.due != instance.budget:
            row["due"] = self.time(mine.due)
        if mine.speed != instance.speed and not self.matrix:
            row["speed"] = self.speed(mine.speed)
        if len(instance.profiles) > 1:
            row["profile"] = mine.profile
        if mine.underway:
            row["underway"] = True
        return row

    def stop(self, stop: int) -> dict[str, Any]:
        """Write a stop; what all of its alternatives have in common is said once."""
        instance = self.instance
        row: dict[str, Any] = {} if instance.ids is None else {"id": instance.ids[stop - 1]}
        row |= self.point(stop)
        if instance.required[stop]:
            row["required"] = True
        numbers = range(*instance.alternative_first[stop : stop + 2].tolist())
        where = f"stops[{stop - 1}].alternatives"
        ways = [self.alternative(f"{where}[{k}]", number) for k, number in enumerate(numbers)]
        if len(ways) == 1 and instance.alternative_place[numbers[0]] == stop:
            return row | ways[0]
        common = {
            field: value
            for field, value in (ways[0] if ways else {}).items()
            if field not in ("place", *_Point.model_fields)
            and all(way.get(field) == value for way in ways)
        }
        own = [{field: way[field] for field in way if field not in common} for way in ways]
        return row | common | {"alternatives": own}

    def alternative(self, where: str, number: int) -> dict[str, Any]:
        """Write one way to visit a stop."""
        instance = self.instance
        row: dict[str, Any] = {}
        place = int(instance.alternative_place[number])
        if place != instance.alternative_stop[number]:
            at = self.where(f"{where}.place", place)
            row |= {"place": at} if isinstance(at, str) else at
        for field, default in NODE_FIELDS.items():
            value = float(getattr(instance, f"alternative_{field}")[number])
            if value != default:
                row[field] = self.time(value) if field in _TIMES else plain(value)
        if len(self.pieces[number]):
            row["profit"] = plain_rows(self.pieces[number])
        admits = instance.alternative_vehicles
        if admits is not None and not admits[number].all():
            vehicles = zip(instance.fleet, admits[number], strict=True)
            row["vehicles"] = [vehicle.id for vehicle, admitted in vehicles if admitted]
        return row
