"""Reading and writing instances, sets of instances and plans.

A file is known by its content: JSON instances, tables (text, `.xlsx`, GeoJSON), `.jsonl`, `.npz`
and Parquet sets, Solomon's VRPTW files, KU Leuven's (T)OPTW files, files of tourist trips (TTDP),
and files of the orienteering problem (OPLib's, Tsiligirides' and Chao's).
Files are data from outside: sizes are limited, nothing in them is executed, and every complaint
names the file, the field and the value.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np

from decost.files import limits
from decost.files.arrays import arrays_of, read_arrays
from decost.files.benchmarks import Profit, Truncate, read_leuven, read_solomon, read_trip
from decost.files.calendar import Dates, plan_as_calendar, require_calendar
from decost.files.cells import text_of
from decost.files.instances import instance_dict, instance_of, pretty, with_vehicles
from decost.files.json import parsed
from decost.files.limits import FormatError
from decost.files.lines import holds_lines, read_lines
from decost.files.orienteering import (
    holds_oplib,
    holds_paths,
    holds_team,
    read_oplib,
    read_paths,
    read_team,
)
from decost.files.parts import holds_parts, read_whole, write_parts
from decost.files.plan_geojson import plan_as_geojson, require_degrees
from decost.files.plans import read_solution, read_solutions
from decost.files.points import holds_features
from decost.files.table_files import (
    ENDINGS,
    SEPARATORS,
    Beside,
    Travel,
    Vehicles,
    holds_table,
    read_features,
    read_table,
    read_workbook,
    require_workbook,
    write_instance,
    write_result,
)
from decost.files.workbooks import holds_workbook
from decost.files.writing import replacing, write_text
from decost.method.result import Result
from decost.problem.instance import MAX_STOPS, Instance, InstanceError
from decost.problem.plan import Solution, Ways
from decost.problem.versions import version_of

__all__ = ["read", "read_any", "read_set", "read_solution", "read_solutions", "write"]

_ORIENTEERING = (
    (holds_oplib, read_oplib),
    (holds_team, read_team),
    (holds_paths, read_paths),
)

_FOR_OTHERS = "profit and truncate are for Solomon's and KU Leuven's files, and this"


def read(
    path: str | Path,
    *,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
    vehicles: Vehicles | None = None,
    speed: float | str | None = None,
    travel: Travel | None = None,
) -> Instance:
    """Read one instance.

    Parameters
    ----------
    path
        A JSON instance, a table of places (text, `.xlsx`, GeoJSON), a Solomon file, a KU Leuven
        (T)OPTW file, a tourist trip (TTDP), or an orienteering problem of OPLib, Tsiligirides or
        Chao.
    profit
        How to read a Solomon or KU Leuven file: "fixed" makes it an OPTW; "variable" lets a
        stay be longer than the service time by up to 30 and multiplies the profit with it.
    truncate
        Decimals after which distances of such a file, or of a tourist trip, are cut off. By
        convention ("auto") 1 for whole-numbered coordinates (Solomon's) and 2 for others
        (Cordeau's, trips) with fixed profits, and "none" with variable ones.
    vehicles
        Number of vehicles, instead of the file's (which is 1 unless a JSON file says other); of
        a tourist trip the number of its days. Beside a table of places also the file of a table
        of vehicles; or a list of such paths, of `Vehicle` records, and of words such as
        "red, start=Hotel Sole, begin=09:00, due=17:00".
    speed
        Beside a table of places: the speed of vehicles that have none of their own, "4.5 km/h".
    travel
        Beside a table of places: the file of a table of travel times, or several by the names of
        profiles. Beside any instance with lat and lon: `Streets`.

    Raises
    ------
    FormatError
        If the file is not a valid instance, or holds a set (see `read_set`).
    OSError
        If it cannot be opened.
    """
    beside = Beside(vehicles, speed, travel)
    instances, is_set = read_any(path, profit=profit, truncate=truncate, beside=beside)
    if is_set:
        raise FormatError(f"{path}: holds a set of {len(instances)} instances: use read_set")
    return instances[0]


def read_set(
    path: str | Path,
    *,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
    vehicles: Vehicles | None = None,
    speed: float | str | None = None,
    travel: Travel | None = None,
) -> list[Instance]:
    """Read a set of instances (`.npz`, `.jsonl`, Parquet); a single instance is a set of one.

    The parameters are those of `read`.
    """
    beside = Beside(vehicles, speed, travel)
    return read_any(path, profit=profit, truncate=truncate, beside=beside)[0]


def read_any(
    path: str | Path, *, profit: Profit, truncate: Truncate, beside: Beside
) -> tuple[list[Instance], bool]:
    """Read whatever a file holds, and say whether that is a set."""
    if profit not in get_args(Profit):
        raise FormatError(f"profit = {profit!r}: must be fixed or variable")
    if truncate not in ("auto", "none", *range(10)):
        raise FormatError(f"truncate = {truncate!r}: must be from 0 to 9, none or auto")
    path = Path(path)
    if holds_parts(path):
        return _read_parts(path, profit, truncate, beside), True
    try:
        with path.open("rb") as file:  # once only: it may be a pipe
            data = file.read(limits.MAX_BYTES + 1)
            is_npz, is_lines = data.startswith(b"PK\x03\x04"), holds_lines(path, data)
            if holds_workbook(data):
                is_npz = False
            is_set = is_npz or is_lines
            if is_set:
                data += file.read(limits.MAX_SET_BYTES - limits.MAX_BYTES)
        limits.require_size(path, data, limits.MAX_SET_BYTES if is_set else limits.MAX_BYTES)
        if not is_set and (table := _read_table(path, data, profit, truncate, beside)):
            return [table], False
        if beside.streets is not None and is_set:
            raise FormatError(f"{path}: holds a set, and streets are for one instance")
        if beside.tables:
            raise FormatError(
                f"{path}: tables of vehicles or travel times, and a speed, go with a table of "
                "places, and this is none"
            )
        vehicles = beside.vehicles if isinstance(beside.vehicles, int) else None
        plain = profit == "fixed" and truncate == "auto"
        if not plain and (is_set or data.lstrip().startswith(b"{")):
            raise FormatError(f"{path}: {_FOR_OTHERS} one says both itself")
        if is_npz:
            instances = read_arrays(path, data)
        elif is_lines:
            instances = read_lines(path, data)
        else:
            text = limits.decoded(path, data)
            instances = [_read_text(path, text, profit, truncate, beside)]
        if vehicles is not None:
            instances = [with_vehicles(instance, vehicles) for instance in instances]
    except InstanceError as error:
        raise limits.refusal(path, error) from None
    return instances, is_set


def _read_parts(path: Path, profit: Profit, truncate: Truncate, beside: Beside) -> list[Instance]:
    """Read a set of Parquet that fits into memory."""
    return read_whole(path, vehicles_of_parts(path, profit, truncate, beside))


def vehicles_of_parts(path: Path, profit: Profit, truncate: Truncate, beside: Beside) -> int | None:
    """Give the number of vehicles to read a set of Parquet with; nothing else can be chosen."""
    if beside.tables or (profit, truncate) != ("fixed", "auto"):
        raise FormatError(
            f"{path}: a set says profits, speeds and travel times itself; only the number of "
            "vehicles can be another"
        )
    return beside.vehicles if isinstance(beside.vehicles, int) else None


def _read_table(
    path: Path, data: bytes, profit: Profit, truncate: Truncate, beside: Beside
) -> Instance | None:
    """Read a table of places, if that is what a file holds."""
    is_book = holds_workbook(data)
    is_json = data[:1000].removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    features = None
    if is_json and b'"Feature' in data:
        features = parsed(path, limits.decoded(path, data))
        if not holds_features(features):
            return None
    text = ""
    if not is_book and not is_json:
        marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        start = data[:20_000].decode("utf-16" if marked else "latin-1", "ignore")
        named = path.suffix.lower() in SEPARATORS
        if not named and not holds_table(start):
            return None
        text = text_of(path, data)
    elif not is_book and features is None:
        return None
    if (profit, truncate) != ("fixed", "auto"):
        raise FormatError(f"{path}: {_FOR_OTHERS} is a table")
    if is_book:
        return read_workbook(path, data, beside)
    if features is not None:
        return read_features(path, features, beside)
    return read_table(path, text, beside)


def write(
    thing: Instance | Sequence[Instance] | Result,
    path: str | Path,
    *,
    vehicles: str | Path | None = None,
    travel: str | Path | None = None,
    date: Dates | None = None,
    ways: Ways | None = None,
) -> None:
    """Write an instance or a result, or a set of instances as `.npz`, `.jsonl` or `.parquet`.

    The file is written whole or not at all. With one of the endings of a set, an instance is
    written as a set of one; with that of a table (`.csv`, `.tsv`, `.xlsx`, for an instance
    `.geojson`) as a table, and else as JSON. A result becomes a calendar or a map by the ending
    `.ics` (with the `date`) or `.geojson`; `result.report` writes it as a page.

    Parameters
    ----------
    thing
        What to write.
    path
        The file.
    vehicles, travel
        Of an instance as text or GeoJSON: the files for its vehicles and travel times.
    date
        Of a calendar: the first day of the plan, as 2026-05-04, or one for each vehicle by its id.
    ways
        Of a result as `.geojson`: its ways along streets, as `Streets.ways` gives them.

    Raises
    ------
    FormatError
        If the format cannot hold all of it; what it cannot is named.
    """
    table = Path(path).suffix.lower() in ENDINGS
    if isinstance(thing, Instance) and table:
        try:
            write_instance(thing, path, vehicles, travel)
        except InstanceError as error:
            raise limits.refusal(path, error) from None
        return
    if vehicles is not None or travel is not None:
        raise FormatError(f"{path}: vehicles and travel: are for an instance as a table of places")
    if isinstance(thing, Result) and table and Path(path).suffix.lower() != ".geojson":
        write_result(thing, path)
        return
    if isinstance(thing, Instance) and Path(path).suffix in (".npz", ".jsonl", ".parquet"):
        thing = [thing]
    if isinstance(thing, Result):
        write_text(path, _plan_text(thing, path, date, ways))
    elif isinstance(thing, Instance):
        text = pretty(_described(path, thing))
        limits.require_json(path, text)
        write_text(path, text)
    elif isinstance(thing, Solution):
        raise FormatError(f"{path}: a plan is written with its instance: give the Result")
    elif not isinstance(thing, Sequence) or not all(isinstance(one, Instance) for one in thing):
        raise FormatError(
            f"{path}: an Instance, a list of them or a Result is written, not this {_kind(thing)}"
        )
    elif not thing:
        raise FormatError(f"{path}: a set needs at least one instance")
    elif Path(path).suffix == ".npz":
        arrays = arrays_of(path, thing)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
    elif Path(path).suffix == ".parquet":
        write_parts(thing, path)
    elif Path(path).suffix == ".jsonl":
        lines = [_line(f"{path}: instance {k}", one) for k, one in enumerate(thing)]
        write_text(path, "".join(lines))
    else:
        raise FormatError(f"{path}: a set is written to a .npz, .jsonl or .parquet file")


def _line(where: str, instance: Instance) -> str:
    line = json.dumps(_described(where, instance)) + "\n"
    limits.require_json(where, line)
    return line


def _kind(thing: object) -> str:
    if not isinstance(thing, Sequence):
        return type(thing).__name__
    other = next(type(one).__name__ for one in thing if not isinstance(one, Instance))
    return f"{type(thing).__name__} with a {other}"


def require_plan_file(path: str | Path, instance: Instance, date: Dates | None = None) -> None:
    """Refuse, before a plan is made, what `write` would refuse of every plan."""
    ending = Path(path).suffix.lower()
    if ending == ".ics":
        require_calendar(path, instance, date)
    elif ending == ".geojson":
        require_degrees(path, instance)
    elif ending == ".xlsx":
        require_workbook(path, instance)
    elif ending in (".html", ".htm"):
        raise FormatError(f"{path}: a page is written by result.report, or by --report")


def _plan_text(result: Result, path: str | Path, date: Dates | None, ways: Ways | None) -> str:
    """Give a plan as the ending of its file asks for."""
    require_plan_file(path, result.instance, date)
    ending = Path(path).suffix.lower()
    if ending == ".ics":
        return plan_as_calendar(path, result.instance, result.solution, date)
    if ending == ".geojson":
        return plan_as_geojson(result.instance, result.solution, ways)
    return plan_text(result)


def plan_text(result: Result) -> str:
    """Give a plan as JSON, as `read_solution` reads it."""
    version = version_of(result.instance)
    head = {"format": "decost-solution", "version": version, "instance": result.instance.name}
    return json.dumps(head | result.to_dict(), indent=1) + "\n"


def _described(where: str | Path, instance: Instance) -> dict[str, Any]:
    try:
        return instance_dict(instance)
    except InstanceError as error:
        raise limits.refusal(where, error) from None


def _read_text(
    path: Path, text: str, profit: Profit, truncate: Truncate, beside: Beside
) -> Instance:
    start = text.lstrip()
    if start.startswith("{"):
        return instance_of(path, parsed(path, text), beside.streets)
    if beside.streets is not None:
        raise FormatError(f"{path}: streets need places with lat and lon, and these have none")
    if not start:
        raise FormatError(f"{path}: is empty")
    if len(text) - len(start) > limits.MAX_LINE:
        raise FormatError(f"{path}: begins with {len(text) - len(start)} blanks")
    for holds, reader in _ORIENTEERING:
        if holds(text):
            if (profit, truncate) != ("fixed", "auto"):
                raise FormatError(f"{path}: {_FOR_OTHERS} is an orienteering problem")
            return reader(path, text)
    vehicles = beside.vehicles if isinstance(beside.vehicles, int) else None
    # Of a file with more lines, or more words in a line, than an instance can have, the rest is
    # not looked at: what is there already is too much.
    lines = islice(re.finditer(r"\S[^\r\n]*", text), MAX_STOPS + 100)
    rows = [line[0].split(maxsplit=limits.MAX_WORDS)[: limits.MAX_WORDS] for line in lines]
    if any(row[0].upper() == "VEHICLE" for row in rows[:10]):
        return read_solomon(path, rows, profit, truncate)
    if all(re.fullmatch(r"\d{1,9}", word) for word in rows[0]):
        if len(rows[0]) in (3, 4):
            return read_leuven(path, rows, profit, truncate)
        if len(rows[0]) > 4 and len(rows) > 1 and len(rows[1]) == 7:
            return read_trip(path, rows, profit, truncate, vehicles)
    raise FormatError(
        f"{path}: is no known format (JSON instance, table, .jsonl or .npz set, Solomon, "
        "KU Leuven, TTDP, OPLib, Tsiligirides, Chao)"
    )
