"""Tests of tables: what people write means what they mean, and what is wrong is named."""

from __future__ import annotations

import datetime
import gc
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas
import polars
import pytest
from hypothesis import given, settings

import decost
from decost import Alternative, FormatError, Instance, Place, Stop, Vehicle
from decost.files.door import require_plan_file
from oracle import tiny_instance
from strategies import instances, town_instances

PLACES = """name,lat,lon,opens,closes,opens 2,closes 2,min stay,max stay,worth per minute,reward
Hotel,46.07,11.12,,,,,,,,
Castle,46.08,11.13,09:00,12:00,14:00,18:00,30,90,1.5,
Tower,46.06,11.11,10:00,17:00,,,10,,,15
"""
RED = "red, start=Hotel, begin=09:00, due=17:00"


def read(path: Path, content: str | bytes = PLACES, **options: Any) -> Instance:
    """Write a table of places, and read it with a vehicle."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return decost.read(path, **({"vehicles": [RED], "speed": "4.5 km/h"} | options))


def by_hand() -> Instance:
    """Make the instance of `PLACES` from records."""
    return Instance.build(
        name="a",
        unit="minutes",
        speed="4.5 km/h",
        depot=Place(lat=46.07, lon=11.12),
        places=[Place("Hotel", lat=46.07, lon=11.12)],
        vehicles=[Vehicle("red", start="Hotel", end="Hotel", begin="09:00", due="17:00")],
        stops=[
            Stop(
                "Castle",
                lat=46.08,
                lon=11.13,
                min_stay=30,
                rate=1.5,
                max_stay=90,
                alternatives=[
                    Alternative(open="09:00", leave_by="12:00"),
                    Alternative(open="14:00", leave_by="18:00"),
                ],
            ),
            Stop("Tower", lat=46.06, lon=11.11, open=600, leave_by=1020, min_stay=10, reward=15),
        ],
    )


SPELLINGS = {
    "plain": PLACES,
    "semicolons and decimal commas": PLACES.replace(",", ";").replace(".", ","),
    "tabs": PLACES.replace(",", "\t"),
    "a mark in front": PLACES.encode("utf-8-sig"),
    "UTF-16": PLACES.encode("utf-16"),
    "line ends of Windows, empty rows and cells": PLACES.replace("\n", "\r\n,,,\r\n\r\n"),
    "line ends of old": PLACES.replace("\n", "\r"),
    "said separator": "sep=;\n" + PLACES.replace(",", ";"),
    "a title above": "My trip,,\n\n" + PLACES,
    "other words": PLACES.replace("opens 2", "Opening_2")
    .replace("lat,lon", "Latitude, LNG")
    .replace("min stay", "Min. stay (minutes)")
    .replace("worth per minute", "rate"),
    "half days": PLACES.replace("14:", "2:").replace("2:00,18:00", "2 pm,6:00 PM"),
    "all hours in a cell": PLACES.replace("opens,closes,opens 2,closes 2", "Opening hours")
    .replace("09:00,12:00,14:00,18:00", '"9-12, 14:00 \u2013 18.00"')
    .replace("10:00,17:00,,", "10 am to 5pm")
    .replace(",,,,,,,,", ",,,,,"),
    "hours of other people": PLACES.replace("09:00,", "9h00,").replace("17:00", "17.00 Uhr"),
    "stays by the clock": PLACES.replace(",30,90,", ",0:30,1 h 30 min,").replace(",10,", ",10',"),
    "sides of the globe": PLACES.replace("46.08,11.13", "46.08\u00b0 N,11.13E"),
    "both coordinates in a cell": PLACES.replace("lat,lon", "Coordinates")
    .replace("46.07,11.12", '"46.07, 11.12"')
    .replace("46.08,11.13", '"46.08,11.13"')
    .replace("46.06,11.11", "46.06\u00b0 N 11.11\u00b0 E"),
    "another position": PLACES.replace("\n", ",7\n").replace("reward,7", "reward,position"),
    "minutes": PLACES.replace("10:00", "600").replace(",10,", ",10 min,"),
    "other columns": PLACES.replace("\n", ",x\n").replace("reward,x", "reward,address"),
    "quotes": PLACES.replace("Hotel", '"Hotel"'),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_spellings(tmp_path: Path, case: str) -> None:
    """A table means the same however it is written."""
    assert read(tmp_path / "a.csv", SPELLINGS[case]) == by_hand()
    assert read(tmp_path / "a", SPELLINGS[case]) == by_hand(), "known by its content"


def test_columns_in_any_order(tmp_path: Path) -> None:
    """Columns are known by their names."""
    rows = [line.split(",")[::-1] for line in PLACES.splitlines()]
    assert read(tmp_path / "a.csv", "\n".join(map(",".join, rows))) == by_hand()


@pytest.mark.parametrize("speed", ["4,5 km/h", "4.5kmh", "4.5 KM/H", "4.5 kph"])
def test_speeds(tmp_path: Path, speed: str) -> None:
    """So does a speed."""
    assert read(tmp_path / "a.csv", speed=speed) == by_hand()


def test_old_letters(tmp_path: Path) -> None:
    """What is not UTF-8 has the letters of Windows."""
    content = PLACES.replace("Tower", "Città").encode("cp1252")
    assert read(tmp_path / "a.csv", content).ids == ("Castle", "Città")


def book(sheets: dict[str, list[list[Any]]]) -> bytes:
    """Give the bytes of a workbook."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def cells(text: str = PLACES) -> list[list[Any]]:
    """Give the cells of a table as a spreadsheet types them."""

    def typed(word: str) -> Any:
        if ":" in word:
            return datetime.time.fromisoformat(word)
        try:
            return float(word)
        except ValueError:
            return word or None

    return [list(map(typed, line.split(","))) for line in text.splitlines()]


def test_workbooks_features_and_frames(tmp_path: Path) -> None:
    """So does a workbook, with vehicles on a sheet or not, GeoJSON, and a frame of either kind."""
    vehicles = [["name", "start", "begin", "due", "speed"]]
    vehicles += [["red", "Hotel", datetime.time(9), "17:00", "4,5 km/h"]]
    path = tmp_path / "a.xlsx"
    path.write_bytes(book({"places": cells(), "vehicles": vehicles, "notes": [["a", 1]]}))
    assert decost.read(path) == by_hand()
    assert read(path, book({"Tabelle1": cells()})) == by_hand()
    names, *rows = [line.split(",") for line in PLACES.splitlines()]
    table = {name: [row[k] or None for row in rows] for k, name in enumerate(names)}
    for frame in (pandas.DataFrame(table), polars.DataFrame(table)):
        made = decost.from_frame(frame, vehicles=[RED], speed="4.5 km/h", name="a")
        assert made == by_hand()
    decost.write(by_hand(), tmp_path / "a.geojson", vehicles=tmp_path / "v.csv")
    assert decost.read(tmp_path / "a.geojson", vehicles=tmp_path / "v.csv") == by_hand()


def test_travel_times_by_name(tmp_path: Path) -> None:
    """A matrix is put into the order of the places, whatever its own."""
    minutes = tmp_path / "minutes.csv"
    minutes.write_text(";Tower;Hotel;Castle\nCastle;1;2;0\nTower;0;3,5;4\nHotel;5;0;6\n")
    found = read(tmp_path / "a.csv", travel=minutes, speed=None).matrix
    hotel, castle, tower = [0, 6, 5], [2, 0, 1], [3.5, 4, 0]
    expected = np.array([hotel, castle, tower, hotel])
    assert (found == np.column_stack([expected, expected[:, 0]])).all()


def test_what_rows_may_say(tmp_path: Path) -> None:
    """Last entry, pieces, must-sees, who may go, other places, a depot, and what holds for all."""
    table = """name;kind;x;y;opens;closes;last entry;stay;max stay;rate;then;must;only;alternative to;at
home;depot;0;0;;;;;;;;;;;
mill;;3;4;09:00;12:00;11:00;10;30;2;1 for 20 then 0,5 for 5;x;red, blue;;
lunch;;1;1;;;;30;;;;yes;;;inn
;;2;2;12:00;14:00;;;;;;;red;lunch;
shut;;5;5;closed;;;;;;;no;;;
inn;;7;7;;;;;;;;;;;
"""
    instance = read(
        tmp_path / "a.csv",
        table,
        speed=2,
        vehicles=["*, begin=08:00, due=18:00", "red", "blue, start=inn, end=1 2", "green"],
    )
    expected = Instance.build(
        name="a",
        unit="minutes",
        begin=480,
        budget=1080,
        speed=2,
        depot=Place(x=0, y=0),
        places=[Place("home", x=0, y=0), Place("inn", x=7, y=7)],
        vehicles=[
            Vehicle("red", start="home", end="home"),
            Vehicle("blue", start="inn", end=Place(x=1, y=2)),
            Vehicle("green", start="home", end="home"),
        ],
        stops=[
            Stop(
                "mill",
                x=3,
                y=4,
                open=540,
                leave_by=720,
                close=660,
                min_stay=10,
                profit=[[2, 20], [1, 20], [0.5, 5]],
                required=True,
                vehicles=["red", "blue"],
            ),
            Stop(
                "lunch",
                x=1,
                y=1,
                min_stay=30,
                required=True,
                alternatives=[
                    Alternative(place="inn"),
                    Alternative(x=2, y=2, open=720, leave_by=840, vehicles=["red"]),
                ],
            ),
            Stop("shut", x=5, y=5, alternatives=[]),
        ],
    )
    assert instance == expected


def changed(old: str, new: str) -> str:
    """Change the table of places."""
    assert old in PLACES
    return PLACES.replace(old, new)


def packed(**parts: str) -> bytes:
    """Give a zip file of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return file.getvalue()


def merged() -> bytes:
    """Give a workbook with merged cells and a formula that nobody has worked out."""
    made = openpyxl.load_workbook(io.BytesIO(book({"Tabelle1": cells()})))
    made.active.merge_cells("A2:A3")
    made.active["B4"] = "=B3+1"
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


HEADS = PLACES.splitlines()[0]
ROWS = "".join(f"s{k},46,11,,,,,,,,1\n" for k in range(100_000))
BAD: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "has no row of headings"),
    "headings alone": (HEADS, "has no stop"),
    "no headings": ("Castle,46.08,11.13\n", "has no row of headings"),
    "headings of another language": ("Ort;Breite;Wert\nBurg;46,1;3\n", "has no row of headings"),
    "no coordinates": ("name,reward,address\nCastle,1,Via Dante 3\n", "where are the places? there"),
    "no coordinates in a row": ("name,x,y,reward\nCastle,1,,1\n", "row 2, y: missing"),
    "no position in a row": ("name,gps,reward\na,,1\n", "row 2, gps: missing"),
    "half a position": ("name,gps,reward\na,46.07,1\n", "row 2, gps = '46.07': must be latitude and"),
    "the wrong side": (changed("46.08", "46.08 E"), "row 3, lat = '46.08 E': must be degrees N or S"),
    "hours below opens": (
        changed("10:00,17:00", "10-17,"),
        "row 4, opens = '10-17': must be a time such as 09:30; all hours in one cell go below",
    ),
    "no latitude": (changed("lat,", "address,"), "row 3, lat: missing"),
    "an empty coordinate": (changed("46.08", ""), "row 3, lat: missing"),
    "both kinds of coordinates": (changed("reward", "x"), "x, y and lat, lon are given"),
    "latitude": (changed("46.08", "460.8"), "row 3, lat = '460.8': must be from -90 to 90"),
    "longitude": (changed("11.13", "east"), "row 3, lon = 'east': must be a number"),
    "misspelt heading": (changed("closes 2", "clsoes"), "row 1, column G = 'clsoes': did you mean"),
    "heading twice": (changed("opens 2", "opens"), "row 1, column F = 'opens': there are two of it"),
    "25:00": (changed("17:00", "25:00"), "row 4, closes = '25:00': must be a time such as 09:30"),
    "13 pm": (changed("17:00", "13 pm"), "row 4, closes = '13 pm': must be a time"),
    "noon": (changed("17:00", "noon"), "row 4, closes = 'noon': must be a time"),
    "hours or minutes": (changed("17:00", "17"), "row 4, closes = '17': hours or minutes?"),
    "open after close": (changed("17:00", "07:00"), "row 4, closes = '07:00': is before opens, 10:00"),
    "second hours": (changed("18:00", "13:00"), "row 3, closes 2 = '13:00': is before opens 2, 14:00"),
    "hours of days": (changed("opens,", "hours,").replace("10:00,17:00", "Mo-Fr 9-17,"),
        "row 4, hours = 'Mo-Fr 9-17': must be hours such as 9-12, 14:30-18, the same on every day"),
    "hours beyond midnight": (changed("opens,", "hours,").replace("10:00,17:00", "22-2,"),
        "row 4, hours = '22-2': 22-2 ends before it begins (after midnight: 22-02:00+1)"),
    "hours of 25": (changed("opens,", "hours,").replace("10:00,17:00", "9-25,"), "row 4, hours = '9-25': must be"),
    "hours without end": (changed("opens,", "hours,").replace("10:00,17:00", "9,"), "row 4, hours = '9': must be"),
    "hours and opens": (changed("reward", "hours").replace(",15\n", ",9-12\n"),
        "row 4, hours = '9-12': opens, closes or last entry are given, too"),
    "mixed separators": (changed("Tower,46.06,11.11,10:00,17:00,,,10,,,15", "Tower;46.06;11.11"),
        "row 4, column A = 'Tower;46.06;11.11': there are semicolons between its cells"),
    "comma in a number": (changed("46.06", "46,06"), "row 4: has 12 cells, there are 11 headings"),
    "thousands": (changed(",15\n", ',"1,500"\n'), "row 4, reward = '1,500': is the comma a decimal"),
    "comma and point": (PLACES.replace(",", ";").replace("11.11", "11,11"),
        "row 4, lon = '11,11': has another decimal mark than row 3, worth"),
    "open quote": (changed("Tower", '"Tower'), "line 4: a quote is not closed"),
    "quote within": (changed("Tower", '"To"wer'), "line 4: ',' expected"),
    "names twice": (changed("Tower", "Castle"), "row 4, name = 'Castle': row 3 has it, too"),
    "no name": (changed("Tower", ""), "row 4, name: missing"),
    "negative": (changed(",15\n", ",-15\n"), "row 4, reward = '-15': must not be negative"),
    "infinite": (changed(",15\n", ",inf\n"), "row 4, reward = 'inf': must be a number"),
    "stay": (changed(",30,90", ",0:75,90"), "row 3, min stay = '0:75': must be a number of minutes"),
    "shorter than short": (changed(",30,90", ",90,30"), "row 3, max stay = '30': is less than the min"),
    "worth without end": (changed(",90,", ",,"), "row 3, max stay: missing: up to which stay"),
    "then": (changed("reward", "then"), "row 4, then = '15': must say how much a minute is worth"),
    "rising": (changed("reward", "then").replace("1.5,", "1.5,2 for 10").replace(",15\n", ",\n"),
        "row 3, then = '2 for 10': must not be worth more than before, 1.5"),
    "truth": (changed("reward", "required").replace(",15", ",maybe"),
        "row 4, required = 'maybe': must be yes or no"),
    "never open": (changed("reward", "must").replace("10:00,17:00", "closed,").replace(",15", ",x"),
        "row 4, must = 'x': it is never open"),
    "unknown vehicle": (changed("reward", "vehicles").replace(",15", ",rde"),
        "row 4, vehicles = 'rde': there is no vehicle 'rde'; did you mean 'red'?"),
    "unknown stop": (changed("reward", "alternative to").replace(",15", ",Castel"),
        "row 4, alternative to = 'Castel': there is no such stop; did you mean 'Castle'?"),
    "unknown place": (changed("reward", "at").replace(",15", ",Hostel"),
        "row 4, at = 'Hostel': there is no row of this name; did you mean 'Hotel'?"),
    "unknown kind": (changed("reward", "kind").replace(",15", ",museum"),
        "row 4, kind = 'museum': must be stop, place, depot or end"),
    "two depots": ("name,kind,x,y\na,depot,1,1\nb,depot,1,1\nc,stop,1,1\n", "row 3, kind = 'depot': there is another"),
    "unknown start": (changed("Hotel", "Hostel"),
        f"--vehicle {RED!r}, start = 'Hotel': there is no row of this name; did you mean 'Hostel'?"),
    "100,000 rows": (f"{HEADS}\n{ROWS}", "row 25001: has more than 25000 rows"),
    "too many stops": (f"{HEADS}\nHotel,1,1,,,,,,,,\n{ROWS[: 22 * 6000]}", "stops: there are 6"),
    "too many hours": ("name,lat,lon,reward," + ",".join(f"opens {k},closes {k}" for k in range(1, 50))
        + "\nHotel,46,11\n" + "".join(f"s{k},46,11,1" + ",09:00,10:00" * 49 + "\n" for k in range(420)),
        "row 412: there are more than 20000 opening hours"),
    "empty rows": (PLACES + "\n" * 200_000, "row 100005: has more than 100000 empty rows"),
    "a long line": (PLACES + "x" * 2**21, "line 5: is longer than"),
    "no text": (HEADS.encode() + b"\0\1\2", "is no text"),
    "merged cells": (merged(), "sheet 'Tabelle1': A2:A3: are merged cells"),
    "formula without value": (merged(), "sheet 'Tabelle1': row 4, column B = '=B3+1': the formula"),
    "error of a spreadsheet": (book({"a": [["name", "x"], ["b", "#REF!"]]}),
        "sheet 'a': row 2, column B = '#REF!': is an error"),
    "a date": (book({"a": [*cells(), ["d", 46, 11, datetime.datetime(2026, 5, 1, 9)]]}),
        "sheet 'a': row 5, opens = '2026-05-01 09:00:00': is a date"),
    "sheet of vehicles": (book({"a": cells(), "vehicles": [["name", "begin"], ["red", "25:00"]]}),
        "sheet 'vehicles': row 2, begin = '25:00': must be a time"),
    "empty workbook": (book({"a": []}), "has no sheet of places"),
    "old workbook": (b"\xd0\xcf\x11\xe0" + bytes(600), "is an old or encrypted workbook"),
    "OpenDocument": (packed(mimetype="application/vnd.oasis.opendocument.spreadsheet"),
        "is no workbook that can be read"),
    "broken workbook": (book({"a": cells()})[:-200], "broken .xlsx file"),
    "bomb": (packed(xl__workbook_xml="<a/>", a_xml=" " * 2**26), "is 67108868 bytes unpacked, at most"),
    "bomb of attributes": (packed(xl__workbook_xml="<a/>", xl__worksheets__a_xml="<a " + 'b="1" ' * 400_001 + "/>"),
        "xl/worksheets/a.xml: has more than 400000 marks"),
    "bomb of an attribute": (packed(xl__workbook_xml="<a/>", xl__worksheets__a_xml=f'<a b="{"x" * 2**19}"/>'),
        "xl/worksheets/a.xml: has a mark or a text of 524296 bytes, at most 262144"),
    "entities": (packed(xl__workbook_xml='<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        "xl/workbook.xml: has a DOCTYPE"),
    "line of GeoJSON": ('{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": '
        '{"type": "LineString"}}]}', "feature 1, geometry = 'LineString': must be a Point"),
    "properties of GeoJSON": (json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {f"p{k + 40 * j}": 1 for k in range(40)}} for j in range(100)]}),
        "has 4000 kinds of properties, at most 500"),
    "hours of GeoJSON": ('{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": '
        '{"name": "a", "opens": "26:00"}, "geometry": {"type": "Point", "coordinates": [11, 46]}}]}',
        "feature 1, opens = '26:00': must be a time"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables(tmp_path: Path, case: str) -> None:
    """Of a bad table the file, the row, the column and the value are named."""
    content, message = BAD[case]
    path = tmp_path / "a.csv"
    with pytest.raises(FormatError) as caught:
        read(path, content)
    lines = str(caught.value).splitlines()
    wanted = message if message.startswith("--") else f"{path}: {message}"
    assert any(line.startswith(wanted) for line in lines), lines
    assert len(lines) <= 21


FRAMES: dict[str, tuple[Any, str]] = {
    "two columns of a name": (
        pandas.DataFrame([["a", 46, 11, 1, 2]], columns=["name", "lat", "lon", "reward", "reward"]),
        "places: row -1, column E = 'reward': there are two of it",
    ),
    "nothing": (polars.DataFrame(), "places: has no row of headings"),
    "missing": (
        pandas.DataFrame({"name": ["a"], "lat": [float("nan")], "lon": [11], "reward": [1]}),
        "places: row 0, lat: missing",
    ),
    "date": (
        pandas.DataFrame({"name": ["a"], "opens": [pandas.Timestamp("2026-05-01")], "x": [1]}),
        "places: row 0, opens = '2026-05-01 00:00:00': is a date",
    ),
    "no frame": ({"name": ["a"]}, "places: must be a data frame of pandas or polars, not dict"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_bad_frames(case: str) -> None:
    """So of frames, whose rows are counted from 0."""
    frame, message = FRAMES[case]
    with pytest.raises(FormatError) as caught:
        decost.from_frame(frame, vehicles=["red, start=46 11, begin=09:00, due=17:00"], speed=1)
    assert any(line.startswith(message) for line in str(caught.value).splitlines())


def test_plain_numbers_beside_clock_times(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of a number that may be meant as a clock time it is said once how it is read."""
    instance = read(tmp_path / "a.csv", changed("10:00", "930").replace("17:00", "1700"))
    assert instance.alternative_open[-1] == 930
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/a.csv: row 4, opens = 930: is read as minutes after midnight, 15:30, as all "
        "plain numbers are"
    ]


def test_nothing_is_worth_a_visit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where no stop is worth anything, which makes an empty plan the best one, that is said."""
    read(tmp_path / "a.csv", changed("1.5", "0").replace(",15\n", ",\n"))
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/a.csv: no stop is worth anything: give a reward, or a worth per minute"
    ]


def test_no_noise_of_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workbook that cannot hold a name is refused in a line, and nothing else is printed."""
    stops = [Stop("\x01", x=1, y=1, reward=1)]
    instance = Instance.build(budget=9, depot=Place(x=0, y=0), stops=stops)
    with pytest.raises(FormatError, match=r"a workbook cannot hold the letters of '\\x01'"):
        decost.write(instance, tmp_path / "a.xlsx")
    with pytest.raises(FormatError, match=r"a workbook cannot hold the letters of '\\x01'"):
        require_plan_file(tmp_path / "plan.xlsx", instance)  # not only once there is a plan
    gc.collect()
    assert capsys.readouterr() == ("", "")


BESIDE: dict[str, tuple[dict[str, Any], str]] = {
    "nobody": ({"vehicles": None}, "nobody says where to start"),
    "no due": ({"vehicles": ["red, start=Hotel, begin=09:00"]}, "due: missing"),
    "no begin": ({"vehicles": ["red, start=Hotel, due=17:00"]}, "begin: missing"),
    "no speed": ({"speed": None}, "speed: missing"),
    "speed": ({"speed": "fast"}, "speed = 'fast': must be a speed such as 4.5 km/h"),
    "late": ({"vehicles": [RED.replace("17", "07")]}, "due = '07:00': is before begin, 09:00"),
    "twice": ({"vehicles": [RED, RED]}, "name = 'red': "),
    "field": ({"vehicles": ["red, strat=Hotel"]}, "strat: unknown; did you mean 'start'?"),
    "no name": ({"vehicles": ["start=Hotel"]}, "must begin with the name"),
    "matrix": ({"travel": ",Hotel,Castle\nHotel,0,a\n"}, "there is no column for 'Tower'"),
    "time": (
        {"travel": ",Hotel,Castle,Tower\nHotel,0,a,1\nCastle,1,0,-1\nTower,1,1,0"},
        "row 2, Castle = 'a': must be a number, from 'Hotel'",
    ),
}


@pytest.mark.parametrize("case", BESIDE)
def test_bad_tables_beside(tmp_path: Path, case: str) -> None:
    """So of vehicles and travel times."""
    options, message = BESIDE[case]
    if "travel" in options:
        (tmp_path / "t.csv").write_text(options["travel"])
        options = {"travel": tmp_path / "t.csv", "speed": None}
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "a.csv", **options)
    assert message in str(caught.value)
    assert case != "speed" or "\n" not in str(caught.value), "it is not missing, too"


def test_all_faults_at_once(tmp_path: Path) -> None:
    """Twenty faults are named in one go, and how many more there are."""
    rows = "".join(f"s{k},46,11,25:00,,,,,,,1\n" for k in range(30))
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "a.csv", f"{HEADS}\nHotel,46,11,,,,,,,,\n{rows}")
    lines = str(caught.value).splitlines()
    assert lines[19].startswith(f"{tmp_path}/a.csv: row 22, opens = '25:00'")
    assert lines[20:] == ["and 10 more"]


def names_lost(error: FormatError, instance: Instance) -> bool:
    """Whether a refusal names what a table cannot hold, and the instance has it."""
    message = str(error)
    odd = [*(instance.ids or ()), *instance.places, *(one.id for one in instance.fleet)]
    odd += [instance.name]
    if "x: GeoJSON" in message:
        return not instance.geographic
    if "has the names" in message:
        return bool(instance.profiles)
    if "is before" in message:
        return bool((instance.alternative_leave_by < instance.alternative_open)[1:].any())
    if "has it, too" in message:  # a place and a stop of the same name are two rows of it
        return bool(set(instance.ids or ()) & set(instance.places))
    plain = all(one == one.strip() and one.isprintable() for one in odd)
    plain &= not any(set(",;|") & set(one.id) for one in instance.fleet)  # a cell has several ids
    words = ("id", "name", "place", "vehicles", "workbook cannot hold")
    named = any(word in message for word in words)
    return named and not (plain and not set(odd) & {"depot", "end", "*", "-"})


def through(folder: Path, ending: str, instance: Instance) -> Instance | None:
    """Give what comes back from a file; None if it is refused, and what would be lost is named."""
    path = folder / f"a{ending}"
    beside: dict[str, Any] = {}
    if ending in (".csv", ".tsv", ".geojson"):
        beside = {"vehicles": folder / "v.csv", "travel": folder / "t.csv"}
    refused = None
    try:
        decost.write(instance, path, **beside)
    except FormatError as error:
        refused = error
    if refused is not None:
        assert names_lost(refused, instance), refused
        return None
    if beside and instance.matrix is None:
        del beside["travel"]
    (back,) = decost.read_set(path, **beside)
    assert back == instance
    return back


FORMATS = (".json", ".jsonl", ".npz", ".parquet", ".csv", ".tsv", ".xlsx", ".geojson")


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=5)
@given(instance=instances() | town_instances())
def test_every_format_to_every_other(tmp_path: Path, ending: str, instance: Instance) -> None:
    """From a format to every other and back an instance is the same, or what is lost is named."""
    first = through(tmp_path, ending, instance)
    for other in FORMATS if first is not None else ():
        second = through(tmp_path, other, first)
        assert second is None or through(tmp_path, ending, second) == instance


def test_formats_hold_what_people_have(tmp_path: Path) -> None:
    """Each of them holds most instances, so that naming what is lost is no way out."""
    random = np.random.default_rng(5)
    many = [tiny_instance(random) for _ in range(25)]
    many += decost.generate("people", nodes=8, vehicles=3, count=3, seed=1)
    held = {
        ending: sum(through(tmp_path, ending, one) is not None for one in many)
        for ending in FORMATS
    }
    assert held[".json"] == held[".jsonl"] == len(many)
    assert min(held.values()) >= 5
    assert held[".xlsx"] >= held[".csv"] >= len(many) // 2


def test_nothing_becomes_a_formula(tmp_path: Path) -> None:
    """Names that a spreadsheet would take for formulas are written so that it does not."""
    names = ["=1+1", "+a", "-b", "@c", "'=d", "'s e"]
    instance = Instance.build(
        budget=9, depot=Place(x=0, y=0), stops=[Stop(name, x=1, y=1, reward=1) for name in names]
    )
    assert all(through(tmp_path, ending, instance) for ending in (".csv", ".tsv", ".xlsx"))
    first = [line.split(",")[0] for line in (tmp_path / "a.csv").read_text().splitlines()[2:]]
    assert first == ["'=1+1", "'+a", "'-b", "'@c", "''=d", "'s e"]
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}


def test_plans(tmp_path: Path) -> None:
    """A plan as a table has a row for start, visits and end, with clock times; frames numbers."""
    result = decost.solve(by_hand(), "greedy")
    decost.write(result, tmp_path / "plan.csv")
    head, *lines = [line.split(",") for line in (tmp_path / "plan.csv").read_text().splitlines()]
    assert [line[head.index("stop")] for line in lines[:: len(lines) - 1]] == ["Hotel", "Hotel"]
    visits = result.solution.visits
    assert len(lines) == len(visits) + 2
    first = lines[1][head.index("start")]
    assert first == f"{int(visits[0].start) // 60:02}:{round(visits[0].start) % 60:02}"
    decost.write(result, tmp_path / "plan.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "plan.xlsx").active
    assert [cell.value for cell in sheet[3]][: len(head)][2] == lines[1][2]
    for library in ("pandas", "polars"):
        frame = result.to_frame(library)
        assert frame["start"].to_list()[1] == visits[0].start
        assert list(frame.columns) == head
