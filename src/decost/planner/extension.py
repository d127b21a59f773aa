"""An instance with further stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from decost.files.records import instance_of_records, records_of
from decost.method.options import MethodError
from decost.problem.instance import Instance, InstanceError
from decost.problem.records import Alternative, Stop


def with_stops(instance: Instance, stops: Sequence[Stop]) -> Instance:
    """Copy an instance with new stops behind its own.

    With a travel matrix a new stop must be at a place, or at another stop, that is in the matrix.

    Raises
    ------
    MethodError
        If a stop is not valid.
    """
    for number, stop in enumerate(stops):
        if not isinstance(stop, Stop):
            raise MethodError(f"add[{number}] = {stop!r}: must be a Stop")
    data = records_of(instance)
    known = {str(instance.label(stop)) for stop in range(1, instance.nodes)}
    for number, stop in enumerate(stops):
        if stop.id is None:
            raise MethodError(f"add[{number}].id: missing")
        if stop.id in known:
            raise MethodError(f"add[{number}].id = {stop.id!r}: there is such a stop already")
        known.add(stop.id)
    data["stops"] += [_fields(stop) for stop in stops]
    if "travel" in data:
        _widen(instance, data, stops)
    try:
        return instance_of_records("add", data)
    except InstanceError as error:
        raise MethodError(f"add: {error}") from None
    except ValueError as error:
        raise MethodError(str(error)) from None


def _fields(record: Stop | Alternative) -> dict[str, Any]:
    given = {field.name: getattr(record, field.name) for field in fields(record)}
    row = {name: value for name, value in given.items() if value is not None}
    for name in ("vehicles", "profit"):
        if name in row:
            row[name] = [list(one) if name == "profit" else one for one in row[name]]
    if "alternatives" in row:
        row["alternatives"] = [_fields(one) for one in row["alternatives"]]
    return row


def _widen(instance: Instance, data: dict[str, Any], stops: Sequence[Stop]) -> None:
    """Give each new stop the row and column of the place where it is."""
    behind = instance.nodes + instance.separate_end
    rows = {"depot": 0}
    for stop in range(instance.stops, 0, -1):
        rows[str(instance.label(stop))] = stop
    rows |= {place["id"]: behind + k for k, place in enumerate(data.get("places", ()))}
    where = []
    for number, one in enumerate(stops):
        if one.place not in rows:
            raise MethodError(
                f"add[{number}].place = {one.place!r}: must be a place of the travel matrix"
            )
        where.append(rows[one.place])
    order = [*range(instance.nodes), *where, *range(instance.nodes, _size(instance))]
    if instance.matrices is None:
        data["travel"] = _taken(data["travel"], order)
    else:
        data["travel"] = {name: _taken(one, order) for name, one in data["travel"].items()}
    if instance.xy is not None:
        for row, place in zip(data["stops"][instance.stops :], where, strict=True):
            if "place" in row:
                del row["place"]
            axes = ("lon", "lat") if instance.geographic else ("x", "y")
            row |= dict(zip(axes, instance.xy[place].tolist(), strict=True))


def _size(instance: Instance) -> int:
    return instance.nodes + instance.separate_end + len(instance.places)


def _taken(matrix: list[list[float]], order: list[int]) -> list[list[float]]:
    table = np.array(matrix, dtype=np.float64)
    rows: list[list[float]] = table[np.ix_(order, order)].tolist()
    return rows
