"""Instances as JSON objects, in version 1 where that can say all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidationError

from decost.files.json import Schema
from decost.files.limits import FormatError
from decost.files.records import FIELDS, instance_of_records, records_of
from decost.problem.instance import MAX_STOPS, Instance, InstanceError
from decost.problem.records import TravelTimes
from decost.problem.validation import first_fault
from decost.problem.versions import version_of

_Row: TypeAlias = Annotated[list[float], Field(max_length=MAX_STOPS + 2, fail_fast=True)]


class _Place(Schema):
    x: float | None = None
    y: float | None = None


class _Stop(_Place):
    id: str | None = None
    open: float = 0.0
    close: float | None = None
    leave_by: float | None = None
    reward: float = 0.0
    min_stay: float = 0.0
    rate: float | None = Field(None, ge=0)
    max_stay: float | None = None
    profit: (
        Annotated[
            list[Annotated[list[float], Field(min_length=2, max_length=2)]],
            Field(max_length=1000, fail_fast=True),
        ]
        | None
    ) = None


class _InstanceFile(Schema):
    format: Literal["decost-instance"]
    version: Literal[1, 2]
    name: str = ""
    budget: float
    vehicles: int = 1
    speed: float = 1.0
    depot: _Place = _Place()
    end: _Place | None = None
    stops: list[_Stop] = Field(max_length=MAX_STOPS, fail_fast=True)
    travel: list[_Row] | None = Field(None, max_length=MAX_STOPS + 2, fail_fast=True)


def instance_of(where: str | Path, data: Any, streets: TravelTimes | None = None) -> Instance:
    """Make the instance that parsed JSON describes; streets may know its travel times."""
    if isinstance(data, dict) and data.get("version") == 2:
        return instance_of_records(where, data, streets)
    if streets is not None:
        raise FormatError(f"{where}: streets need places with lat and lon, and these have none")
    given = data.get("travel") if isinstance(data, dict) else None
    known = isinstance(given, np.ndarray)
    file = _version_1(where, data | {"travel": None} if known else data)
    travel: Any = given if known else file.travel
    stops = file.stops
    places = [("depot", file.depot), *((f"stops[{k}]", stop) for k, stop in enumerate(stops))]
    if file.end is not None:
        places.append(("end", file.end))
    points = [(place.x, place.y) for _, place in places]
    placed = [None not in point for point in points]
    for (name, place), complete in zip(places, placed, strict=True):
        if not complete and (travel is None or any(placed) or place.x != place.y):
            axis = "y" if place.x is not None else "x"
            raise FormatError(f"{where}: {name}.{axis}: missing")
    for k, stop in enumerate(stops):
        if stop.profit is not None and (stop.rate is not None or stop.max_stay is not None):
            other = "rate" if stop.rate is not None else "max_stay"
            raise FormatError(f"{where}: stops[{k}].{other}: cannot be combined with profit")
        if stop.rate is not None and stop.max_stay is None:
            raise FormatError(f"{where}: stops[{k}].max_stay: missing, but rate is given")
        if stop.max_stay is not None and stop.max_stay < stop.min_stay:
            raise FormatError(
                f"{where}: stops[{k}].max_stay = {stop.max_stay}: "
                f"is less than min_stay = {stop.min_stay}"
            )
    if travel is not None:
        shape = len(places)
        if len(travel) != shape:
            raise FormatError(f"{where}: travel: has {len(travel)} rows, must be {shape}")
        for k, row in enumerate(travel):
            if len(row) != shape:
                raise FormatError(f"{where}: travel[{k}]: has {len(row)} entries, must be {shape}")
    ids = None
    if any(stop.id is not None for stop in stops):
        ids = [str(k + 1) if stop.id is None else stop.id for k, stop in enumerate(stops)]
    return Instance(
        budget=file.budget,
        xy=np.array(points, dtype=np.float64) if all(placed) else None,
        travel=travel,
        speed=file.speed,
        separate_end=file.end is not None,
        open=[0.0, *(stop.open for stop in stops)],
        close=[0.0, *(np.inf if stop.close is None else stop.close for stop in stops)],
        leave_by=[0.0, *(np.inf if stop.leave_by is None else stop.leave_by for stop in stops)],
        reward=[0.0, *(stop.reward for stop in stops)],
        min_stay=[0.0, *(stop.min_stay for stop in stops)],
        pieces=[[], *(_file_pieces(stop) for stop in stops)],
        vehicles=file.vehicles,
        ids=ids,
        name=file.name,
    )


def _version_1(where: str | Path, data: Any) -> _InstanceFile:
    try:
        return _InstanceFile.model_validate(data)
    except ValidationError as error:
        field = error.errors(include_url=False)[0]["loc"][-1:]
        unknown = "needs version 2" if FIELDS.issuperset(field) else "unknown field"
        raise FormatError(f"{where}: {first_fault(error, unknown=unknown)}") from None


def _file_pieces(stop: _Stop) -> list[list[float]]:
    if stop.profit is not None:
        return stop.profit
    if stop.max_stay is None:
        return []
    return [[stop.rate or 0.0, stop.max_stay - stop.min_stay]]


def instance_dict(instance: Instance) -> dict[str, Any]:
    """Describe an instance; fields of a stop that are at their default are left out."""
    data = records_of(instance)
    data["version"] = version_of(instance)
    return data


def pretty(data: dict[str, Any]) -> str:
    """Write JSON with one stop, vehicle, place and matrix row a line."""

    def lines(value: Any, indent: str) -> str:
        rows = f",\n{indent} ".join(json.dumps(row, ensure_ascii=False) for row in value)
        return f"[\n{indent} {rows}\n{indent}]"

    parts = []
    for field, value in data.items():
        text = json.dumps(value, ensure_ascii=False)
        if field == "travel" and isinstance(value, dict):
            named = (
                f"{json.dumps(name, ensure_ascii=False)}: {lines(rows, '  ')}"
                for name, rows in value.items()
            )
            text = "{\n  " + ",\n  ".join(named) + "\n }"
        elif isinstance(value, list) and value:
            text = lines(value, " ")
        parts.append(f'"{field}": {text}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def with_vehicles(instance: Instance, vehicles: int) -> Instance:
    """Give an instance another number of vehicles, if all are alike."""
    if instance.vehicles == vehicles:
        return instance
    if not instance.alike:
        raise InstanceError(
            f"vehicles = {vehicles}: the file has {instance.vehicles}, with properties of their own"
        )
    return instance.replace(vehicles=vehicles)
