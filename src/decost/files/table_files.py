"""Files of tables: which sheet is which, and that nothing is lost on the way out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from decost.files import limits
from decost.files.cells import Sheet, Value, plain, sheet_of_text, text_of, text_of_rows
from decost.files.columns import PLACES, VEHICLES, Columns, headings
from decost.files.json import parsed
from decost.files.limits import FormatError
from decost.files.points import features_of_rows, sheet_of_features
from decost.files.table_writing import InstanceRows, rows_of_instance, rows_of_result
from decost.files.tables import Tables, instance_of_tables, sheet_of_words
from decost.files.workbooks import holds_workbook, sheets_of_workbook, workbook_of_rows
from decost.files.writing import replacing
from decost.method.result import Result
from decost.problem.contents import FIELDS
from decost.problem.instance import Instance
from decost.problem.records import TravelTimes, Vehicle

_log = logging.getLogger("decost")

Name: TypeAlias = str | Path
Vehicles: TypeAlias = int | Name | Sequence[Path | str | Vehicle]
Travel: TypeAlias = Name | Mapping[str, Name] | TravelTimes

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, ".xlsx", ".geojson")
"""Endings of the files that this writes."""

_SHEETS = {
    "places": "places",
    "stops": "places",
    "vehicles": "vehicles",
    "guides": "vehicles",
    "travel": "travel",
}


@dataclass(frozen=True)
class Beside:
    """What stands beside a table of places.

    Attributes
    ----------
    vehicles
        How many there are; the file of a table of them; or several: words such as
        "red, start=Hotel Sole, begin=09:00, due=17:00", records, and paths of tables.
    speed
        Speed of all vehicles that have none of their own, such as "4.5 km/h".
    travel
        The file of a table of travel times, or several by the names of profiles; or streets, which
        go with any instance that has lat and lon.
    assuming
        Whether a table without vehicles gets one, of which a line of the log tells.
    """

    vehicles: Vehicles | None = None
    speed: float | str | None = None
    travel: Travel | None = None
    assuming: bool = False

    @property
    def streets(self) -> TravelTimes | None:
        """What knows travel times along streets."""
        return self.travel if isinstance(self.travel, TravelTimes) else None

    @property
    def tables(self) -> bool:
        """Whether there is something that only goes with a table of places."""
        return (
            self.speed is not None
            or (self.travel is not None and self.streets is None)
            or not (self.vehicles is None or isinstance(self.vehicles, int))
        )


def holds_table(text: str) -> bool:
    """Whether text begins as a table of places does: two known headings are in a line."""
    known = headings(PLACES)
    for line in text[:20_000].splitlines()[:20]:
        for separator in ",;\t":
            if len(known.intersection(map(plain, line.split(separator)))) > 1:
                return True
    return False


def read_table(path: Path, text: str, beside: Beside) -> Instance:
    """Read an instance whose places are text with separators."""
    return _instance(path, {"places": sheet_of_text(path, text, headings(PLACES))}, beside)


def read_workbook(path: Path, data: bytes, beside: Beside) -> Instance:
    """Read an instance whose places, and perhaps vehicles and travel times, are a workbook."""
    return _instance(path, sheets_of_workbook(path, data), beside)


def read_features(path: Path, data: Mapping[str, Any], beside: Beside) -> Instance:
    """Read an instance whose places are GeoJSON."""
    return _instance(path, {"places": sheet_of_features(str(path), data)}, beside)


def _instance(path: Path, sheets: Mapping[str, Sheet], beside: Beside) -> Instance:
    tables = _with_roles(path, sheets)
    given = beside.vehicles
    if isinstance(given, int):
        tables.count = given
    elif isinstance(given, str | Path):
        tables.vehicles = [_sheet(given, VEHICLES, "vehicles")]
    elif given is not None:
        further: list[Sheet] = []
        for one in given:
            if isinstance(one, Path):
                further.append(_sheet(one, VEHICLES, "vehicles"))
            elif isinstance(one, str):
                further.append(sheet_of_words("--vehicle", one))
        tables.vehicles = [*tables.vehicles, *further]
        tables.fleet = [one for one in given if isinstance(one, Vehicle)]
    if beside.streets is not None:
        if tables.travel:
            raise FormatError(f"{path}: travel: has travel times of its own, and needs no streets")
        tables.streets = beside.streets
    elif beside.travel is not None:
        files: Any = beside.travel
        files = files if isinstance(files, Mapping) else {"": files}
        tables.travel = {name: _sheet(file, None, "travel") for name, file in files.items()}
    tables.speed = beside.speed
    tables.assuming = beside.assuming
    return instance_of_tables(tables)


def _with_roles(path: Path, sheets: Mapping[str, Sheet]) -> Tables:
    """Say which sheet is which by their names; the first other one has the places."""
    roles: dict[str, Sheet] = {}
    travel: dict[str, Sheet] = {}
    rest: dict[str, Sheet] = {}
    for title, sheet in sheets.items():
        word, _, profile = title.strip().partition(" ")
        role = _SHEETS.get(plain(title))
        if plain(word) == "travel":
            travel[profile.strip()] = sheet
        elif role is not None and role not in roles:
            roles[role] = sheet
        elif sheet.rows:
            rest[title] = sheet
    if "places" not in roles and rest:
        roles["places"] = rest.pop(next(iter(rest)))
    if "places" not in roles:
        raise FormatError(f"{path}: has no sheet of places")
    if rest:
        _log.warning("%s: not read: the sheets %s", path, ", ".join(rest))
    return Tables(
        roles["places"],
        [roles["vehicles"]] if "vehicles" in roles else [],
        travel=travel,
        name=path.stem,
    )


def _sheet(path: Name, columns: Columns | None, role: str) -> Sheet:
    """Read one table of a file."""
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(limits.MAX_BYTES + 1)
    limits.require_size(path, data, limits.MAX_BYTES)
    if holds_workbook(data):
        sheets = sheets_of_workbook(path, data)
        named = [sheet for title, sheet in sheets.items() if _SHEETS.get(plain(title)) == role]
        return (named or list(sheets.values()))[0]
    known = headings(columns) if columns else ()
    most = limits.MAX_CELLS if columns else limits.MAX_MATRIX_CELLS
    return sheet_of_text(path, text_of(path, data), known, most)


def write_instance(
    instance: Instance, path: Name, vehicles: Name | None = None, travel: Name | None = None
) -> None:
    """Write an instance as tables, if they can hold all of it.

    A workbook has all tables as its sheets. A text or GeoJSON file has the places, and `vehicles`
    and `travel` are the files for the others.

    Raises
    ------
    FormatError
        If something of the instance would be lost; it is named.
    """
    path = Path(path)
    files = _contents(rows_of_instance(instance), path, vehicles, travel)
    try:
        back = _read_back(files, path, vehicles, travel)
    except FormatError as error:
        why = str(error).partition("\n")[0].removeprefix(f"{path}: ")
        raise FormatError(f"{path}: a table cannot hold this: {why}") from None
    if back != instance:
        lost = ", ".join(_differences(instance, back))
        raise FormatError(f"{path}: a table cannot hold all of this: {lost}")
    _write_files(files)


def require_workbook(path: Name, instance: Instance) -> None:
    """Refuse, before a plan is made, names that a workbook cannot hold."""
    names = (*(instance.ids or ()), *instance.places, *(one.id for one in instance.fleet))
    _packed(Path(path), {"plan": [[name] for name in names]})


def write_result(result: Result, path: Name) -> None:
    """Write a plan as a table, with times as people read them."""
    path = Path(path)
    rows = rows_of_result(result, clock=True)
    if path.suffix.lower() == ".xlsx":
        _write_files({path: _packed(path, {"plan": rows})})
    else:
        _write_files({path: _text(path, rows)})


_PLACES_TEMPLATE = """
name|lat|lon|opens|closes|opens 2|closes 2|last entry|min stay|max stay|worth per minute|then
Hotel Sole|46.0725|11.1194|||||||||
Castle|46.0711|11.1275|09:30|17:30|||16:30|30|90|1.5|0.5 for 60
Cathedral|46.0669|11.1212|09:00|12:00|14:30|18:00||15|45|1|
Tower|46.0683|11.1215|10:00|18:00||||10|||
"""
_FURTHER_TEMPLATE = """
reward|required|vehicles
||
20|yes|
10||
15||red
"""
_VEHICLES_TEMPLATE = """
name|start|end|begin|due|speed
red|Hotel Sole||09:00|17:00|4.5 km/h
blue|46.0725 11.1194||10:00|18:00|15 km/h
"""


def write_template(path: Name, vehicles: Name | None = None) -> None:
    """Write tables to fill in."""
    path = Path(path)
    pairs = zip(_filled(_PLACES_TEMPLATE), _filled(_FURTHER_TEMPLATE), strict=True)
    places = [[*row, *further] for row, further in pairs]
    if path.suffix.lower() == ".xlsx":
        if vehicles is not None:
            raise FormatError(f"{path}: vehicles = {vehicles}: a workbook has them as a sheet")
        sheets = {"places": places, "vehicles": _filled(_VEHICLES_TEMPLATE)}
        _write_files({path: _packed(path, sheets)})
        return
    files = {path: _text(path, places)}
    if vehicles is not None:
        files[Path(vehicles)] = _text(Path(vehicles), _filled(_VEHICLES_TEMPLATE))
    _write_files(files)


def _filled(template: str) -> list[list[Value]]:
    def cell(word: str) -> Value:
        try:
            return float(word) if "." in word else int(word)
        except ValueError:
            return word or None

    return [list(map(cell, line.split("|"))) for line in template.strip().splitlines()]


def _contents(
    rows: InstanceRows, path: Path, vehicles: Name | None, travel: Name | None
) -> dict[Path, bytes]:
    """Give the bytes of every file."""
    if path.suffix.lower() == ".xlsx":
        for option, given in (("vehicles", vehicles), ("travel", travel)):
            if given is not None:
                raise FormatError(f"{path}: {option} = {given}: a workbook has them as a sheet")
        sheets = {"places": rows.places, "vehicles": rows.vehicles}
        sheets |= {f"travel {name}".strip(): matrix for name, matrix in rows.travel.items()}
        return {path: _packed(path, sheets)}
    missing = [] if vehicles is not None else ["vehicles, begin, budget, speed"]
    missing += ["travel"] if rows.travel and travel is None else []
    if missing:
        raise FormatError(
            f"{path}: a table of places cannot hold {', '.join(missing)}: name further tables "
            "(vehicles and travel, or --out-vehicles and --out-travel), or write .xlsx"
        )
    if set(rows.travel) - {""}:
        names = ", ".join(rows.travel)
        raise FormatError(f"{path}: travel: has the names {names}: write .xlsx")
    if path.suffix.lower() == ".geojson":
        files = {path: features_of_rows(str(path), rows.places).encode()}
    else:
        files = {path: _text(path, rows.places)}
    assert vehicles is not None
    files[Path(vehicles)] = _text(Path(vehicles), rows.vehicles)
    if rows.travel and travel is not None:
        files[Path(travel)] = _text(Path(travel), rows.travel[""])
    return files


def _text(path: Path, rows: Sequence[Sequence[Value]]) -> bytes:
    if path.suffix.lower() not in SEPARATORS:
        raise FormatError(f"{path}: a table is written to a .csv, .tsv or .xlsx file")
    return text_of_rows(rows, SEPARATORS[path.suffix.lower()]).encode()


def _packed(path: Path, sheets: Mapping[str, Sequence[Sequence[Value]]]) -> bytes:
    try:
        return workbook_of_rows(sheets)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except Exception as error:  # openpyxl refuses letters and names of sheets in many ways
        raise FormatError(f"{path}: a workbook cannot hold this: {error}") from None


def _read_back(
    files: Mapping[Path, bytes], path: Path, vehicles: Name | None, travel: Name | None
) -> Instance:
    if path.suffix.lower() == ".xlsx":
        return instance_of_tables(_with_roles(path, sheets_of_workbook(path, files[path])))

    def sheet(file: Name, columns: Columns | None) -> Sheet:
        known = headings(columns) if columns else ()
        text = text_of(file, files[Path(file)])
        return sheet_of_text(file, text, known, limits.MAX_MATRIX_CELLS)

    if path.suffix.lower() == ".geojson":
        places = sheet_of_features(str(path), parsed(path, files[path].decode()))
    else:
        places = sheet(path, PLACES)
    assert vehicles is not None
    given = {} if travel is None or Path(travel) not in files else {"": sheet(travel, None)}
    return instance_of_tables(Tables(places, [sheet(vehicles, VEHICLES)], travel=given))


def _differences(one: Instance, other: Instance) -> list[str]:
    """Name the fields in which two instances differ."""
    names = {"ids": "id", "_fleet": "vehicles", "_first": "alternatives", "_place": "place"}
    found: dict[str, None] = {}
    for field in FIELDS:
        mine, his = getattr(one, field), getattr(other, field)
        same = mine == his
        if isinstance(mine, np.ndarray) and isinstance(his, np.ndarray):
            same = np.array_equal(mine, his)
        if not (same if isinstance(same, bool) else bool(np.all(same))):
            word = "profit" if field.startswith("piece_") else field.removeprefix("alternative_")
            found[names.get(field, word)] = None
    return list(found) or ["numbers"]


def _write_files(files: Mapping[Path, bytes]) -> None:
    for path, content in files.items():
        with replacing(path) as temporary:
            temporary.write_bytes(content)
