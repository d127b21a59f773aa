"""Tests of plans as calendars and GeoJSON, read back by independent means."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

import decost
from decost import FormatError, Instance, Place, Result, Stop, Vehicle

DAY = "2026-05-04"
LONG = "museum of a very long name, with commas; semicolons \\ and 長い名前の美術館" * 2


def two_days() -> Result:
    """Plan two stops by hand for two vehicles: one leaves at eight, one after midnight."""
    instance = Instance.build(
        name="tour",
        unit="minutes",
        speed="6 km/h",
        detour=1.0,
        begin="08:00",
        budget="20:00",
        depot=Place(lat=46.0, lon=11.0),
        vehicles=[Vehicle("day"), Vehicle("night", begin="22:00", due="06:00+1")],
        stops=[
            Stop(LONG, lat=46.0, lon=11.0, open="09:30", min_stay=45, reward=2, vehicles=["day"]),
            Stop(
                "bar", lat=46.0, lon=11.0, open="00:10+1", min_stay=60, reward=1, vehicles=["night"]
            ),
            Stop("far", lat=60.0, lon=11.0, reward=1),
        ],
    )
    return decost.solve(instance)


def events_of(text: str) -> list[dict[str, str]]:
    """Read the events of a calendar by the rules of RFC 5545, 3.1 and 3.3.11."""
    assert text.endswith("\r\n")
    lines = text.split("\r\n")
    assert all(len(line.encode()) <= 75 and "\n" not in line for line in lines)
    events: list[dict[str, str]] = []
    for line in text.replace("\r\n ", "").split("\r\n"):
        name, _, value = line.partition(":")
        if line == "BEGIN:VEVENT":
            events.append({})
        elif events:
            for escaped, letter in (("\\,", ","), ("\\;", ";"), ("\\n", "\n"), ("\\\\", "\\")):
                value = value.replace(escaped, letter)
            events[-1][name] = value
    return events


def test_calendar_by_hand(tmp_path: Path) -> None:
    """Local times to the minute, after midnight on the next day, and names as they were."""
    path = tmp_path / "plan.ics"
    decost.write(two_days(), path, date=DAY)
    day, night = events_of(path.read_bytes().decode())
    assert (day["DTSTART"], day["DTEND"]) == ("20260504T093000", "20260504T101500")
    assert (night["DTSTART"], night["DTEND"]) == ("20260505T001000", "20260505T011000")
    assert (day["SUMMARY"], day["CATEGORIES"], day["GEO"]) == (LONG, "day", "46.000000;11.000000")
    assert night["DESCRIPTION"] == "night, visit 1 of 1; profit 1"
    assert day["UID"] != night["UID"]
    decost.write(two_days(), path, date={"day": datetime.date(2026, 1, 31), "night": DAY})
    again = events_of(path.read_bytes().decode())
    assert [one["DTSTART"] for one in again] == ["20260131T093000", "20260505T001000"]
    assert [one["UID"] for one in again] == [day["UID"], night["UID"]]


@pytest.mark.parametrize(
    ("date", "complaint"),
    [
        (None, "plan.ics: a calendar needs the date, such as 2026-05-04"),
        ("4.5.2026", "date = '4.5.2026': must be a day such as 2026-05-04"),
        ("2026-02-30", "date = '2026-02-30': must be a day such as 2026-05-04"),
        ({"day": DAY}, "plan.ics: a calendar needs the date of vehicle 'night', too"),
        ({"dawn": DAY}, "date: there is no vehicle 'dawn'"),
    ],
)
def test_bad_dates(tmp_path: Path, date: object, complaint: str) -> None:
    """A date that is missing or none is named, and nothing is written."""
    with pytest.raises(FormatError, match=complaint):
        decost.write(two_days(), tmp_path / "plan.ics", date=date)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_geojson_by_hand(tmp_path: Path) -> None:
    """Lines and points in the order longitude, latitude; across the 180th meridian in two."""
    instance = Instance.build(
        unit="minutes",
        speed="100 km/h",
        budget=999,
        depot=Place(lat=10.0, lon=179.0),
        stops=[Stop("east", lat=12.0, lon=-179.0, reward=1), Stop("far", lat=70, lon=0, reward=1)],
    )
    path = tmp_path / "plan.geojson"
    decost.write(decost.solve(instance), path)
    features = json.loads(path.read_text(encoding="utf-8"))["features"]
    line, start, end, visit, far = features
    assert line["geometry"] == {
        "type": "MultiLineString",
        "coordinates": [
            [[179, 10], [180, 11]],
            [[-180, 11], [-179, 12], [-180, 11]],
            [[180, 11], [179, 10]],
        ],
    }
    assert line["properties"]["kind"] == "route"
    assert (start["properties"]["kind"], end["properties"]["kind"]) == ("start", "end")
    assert visit["geometry"] == {"type": "Point", "coordinates": [-179, 12]}
    assert (visit["properties"]["stop"], visit["properties"]["order"]) == ("east", 1)
    assert far["properties"] == {"kind": "left out", "stop": "far"}


def test_what_cannot_be_said(tmp_path: Path) -> None:
    """Without clock times there is no calendar, without degrees no GeoJSON; a page has its door."""
    flat = decost.solve(Instance(budget=2, xy=[[0, 0], [1, 0]], reward=[0, 1]))
    for name, complaint in (
        ("plan.ics", "a calendar needs times of the day"),
        ("plan.geojson", "GeoJSON needs places with lat and lon"),
        ("plan.html", r"a page is written by result.report"),
    ):
        with pytest.raises(FormatError, match=complaint):
            decost.write(flat, tmp_path / name, date=DAY)
