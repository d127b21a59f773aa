"""Data frames of pandas or polars: as tables of places, and of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from decost.files.cells import Sheet, Value
from decost.files.limits import FormatError
from decost.files.table_writing import rows_of_result
from decost.files.tables import Tables, instance_of_tables, sheet_of_words
from decost.method.result import Result
from decost.problem.instance import Instance
from decost.problem.records import TravelTimes, Vehicle

Frame: TypeAlias = Any
"""A data frame of pandas or polars."""

Library: TypeAlias = Literal["pandas", "polars"]


def from_frame(
    places: Frame,
    *,
    vehicles: int | Frame | Sequence[str | Vehicle] | None = None,
    speed: float | str | None = None,
    travel: Frame | Mapping[str, Frame] | TravelTimes | None = None,
    name: str = "",
) -> Instance:
    """Make an instance of data frames, with the columns of tables in files.

    Parameters
    ----------
    places
        The stops, and the places where vehicles start and end.
    vehicles
        The vehicles: a frame, words such as "red, start=Hotel Sole, begin=09:00, due=17:00" or
        records, or how many there are.
    speed
        Speed of vehicles that have none of their own, such as "4.5 km/h".
    travel
        Travel times: names in the columns and in the index (of polars: in the first column); or
        several such frames by the names of profiles; or `Streets`, which know them.
    name
        What to call the instance.

    Raises
    ------
    FormatError
        If something is wrong; up to 20 cells are named. Rows are counted from 0.
    """
    tables = Tables(_sheet("places", places), speed=speed, name=name)
    if isinstance(vehicles, int):
        tables.count = vehicles
    elif isinstance(vehicles, list | tuple):
        words = [one for one in vehicles if isinstance(one, str)]
        tables.vehicles = [sheet_of_words("vehicle", one) for one in words]
        tables.fleet = [one for one in vehicles if isinstance(one, Vehicle)]
    elif vehicles is not None:
        tables.vehicles = [_sheet("vehicles", vehicles)]
    if isinstance(travel, TravelTimes):
        tables.streets = travel
    elif travel is not None:
        several = travel if isinstance(travel, Mapping) else {"": travel}
        tables.travel = {
            profile: _matrix(f"travel {profile}".strip(), one) for profile, one in several.items()
        }
    return instance_of_tables(tables)


def to_frame(result: Result, library: Library | None = None) -> Frame:
    """Make a data frame of a plan; see `Result.to_frame`."""
    if library is None:
        library = "pandas" if find_spec("pandas") else "polars"
    try:
        module = import_module(library)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"a data frame needs {library}: pip install {library}", name=library
        ) from None
    heads, *rows = rows_of_result(result, clock=False)
    return module.DataFrame({str(head): [row[k] for row in rows] for k, head in enumerate(heads)})


def _sheet(where: str, frame: Frame) -> Sheet:
    if not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise FormatError(f"{where}: must be a data frame of pandas or polars, not {kind}")
    pick: Any = getattr(frame, "iloc", frame)  # by number: of pandas, two columns may have one name
    columns = [pick[:, k].to_list() for k in range(len(frame.columns))]
    rows = [list(map(str, frame.columns))]
    rows += [list(map(_cell, row)) for row in zip(*columns, strict=True)]
    return Sheet(where, rows, range(-1, len(rows) - 1))


def _matrix(where: str, frame: Frame) -> Sheet:
    sheet = _sheet(where, frame)
    if not hasattr(frame, "index"):  # polars
        return sheet
    names = [None, *map(str, frame.index)]
    rows = [[name, *row] for name, row in zip(names, sheet.rows, strict=True)]
    return Sheet(where, rows, sheet.numbers)


def _cell(value: Value) -> Value:
    """Give a value of a frame as that of a cell; what is missing has many forms."""
    if value is None or value != value or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if hasattr(value, "item"):
        value = value.item()
    return value.strip() or None if isinstance(value, str) else value
