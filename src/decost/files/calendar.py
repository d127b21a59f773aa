"""Plans as iCalendar (RFC 5545): an event a visit, in local time, for any calendar."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TypeAlias
from unicodedata import category

from decost import __version__
from decost.files.limits import FormatError
from decost.problem.checker import choose_alternatives
from decost.problem.instance import Instance
from decost.problem.names import place_name, place_of, stop_name
from decost.problem.plan import Solution, Visit

Dates: TypeAlias = date | str | Mapping[str, date | str]
"""The first day of the plan, or one for each vehicle by its id; as 2026-05-04 if in words."""

_LINE = 75  # bytes


def require_calendar(path: str | Path, instance: Instance, dates: Dates | None) -> None:
    """Refuse an instance without clock times, no date, and what is no date or no vehicle."""
    if instance.unit != "minutes":
        raise FormatError(f'{path}: a calendar needs times of the day, with "unit": "minutes"')
    if not dates:
        raise FormatError(f"{path}: a calendar needs the date, such as 2026-05-04")
    if isinstance(dates, Mapping):
        unknown = set(dates) - {one.id for one in instance.fleet}
        if unknown:
            raise FormatError(f"date: there is no vehicle {min(unknown)!r}")
    for given in dates.values() if isinstance(dates, Mapping) else [dates]:
        _date(given)


def plan_as_calendar(
    path: str | Path, instance: Instance, solution: Solution, dates: Dates | None
) -> str:
    """Give a plan as a calendar.

    Times are local ("floating"): 09:30 is half past nine wherever the calendar is opened. An
    event is known by the names of instance and stop, so that a calendar that reads a new
    plan moves events and does not double them.

    Raises
    ------
    FormatError
        If a vehicle with visits has no date.
    """
    days = _days(path, instance, solution, dates)
    solution = choose_alternatives(instance, solution)
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//decost//decost {__version__}//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        *([f"X-WR-CALNAME:{_text(instance.name)}"] if instance.name else []),
    ]
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for vehicle, route in enumerate(solution.routes):
        for order, visit in enumerate(route.visits, start=1):
            lines += ["BEGIN:VEVENT", f"DTSTAMP:{stamp}"]
            lines += _event(instance, visit, days[vehicle])
            lines += _notes(instance, vehicle, visit, f"{order} of {len(route.visits)}")
            lines.append("END:VEVENT")
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in _folded(line))


def _days(
    path: str | Path, instance: Instance, solution: Solution, dates: Dates | None
) -> dict[int, date]:
    """Find the day of each vehicle that has visits."""
    days = {}
    for vehicle, route in enumerate(solution.routes):
        name = _vehicle(instance, vehicle)
        given = dates.get(name) if isinstance(dates, Mapping) else dates
        if given is None and route.visits:
            raise FormatError(f"{path}: a calendar needs the date of vehicle {name!r}, too")
        if given is not None:
            days[vehicle] = _date(given)
    return days


def _date(given: date | str) -> date:
    if isinstance(given, date):
        return given
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII):
        try:
            return date.fromisoformat(given)
        except ValueError:
            pass
    raise FormatError(f"date = {given!r}: must be a day such as 2026-05-04")


def _event(instance: Instance, visit: Visit, day: date) -> Iterator[str]:
    """Say which event it is, when and where."""
    name, place = stop_name(instance, visit.stop), place_of(instance, visit)
    key = f"{instance.name}\n{name}"
    start, end = (_moment(day, time) for time in (visit.start, visit.leave))
    yield f"UID:{hashlib.sha256(key.encode()).hexdigest()[:32]}@decost"
    yield f"DTSTART:{start}"
    yield f"DTEND:{end}" if end > start else "DURATION:PT0S"
    yield f"SUMMARY:{_text(name)}"
    where = place_name(instance, place)
    if where:
        yield f"LOCATION:{_text(where)}"
    if instance.geographic and instance.xy is not None:
        lon, lat = instance.xy[place].tolist()
        yield f"GEO:{lat:.6f};{lon:.6f}"


def _notes(instance: Instance, vehicle: int, visit: Visit, order: str) -> Iterator[str]:
    """Say whose visit it is, and what it earns."""
    whose = _vehicle(instance, vehicle)
    words = f"{whose}, visit {order}; profit {visit.profit:.6g}"
    wait = math.floor(visit.start - visit.arrive + 0.5)
    if wait:
        words += f"; {wait} minutes to wait before"
    yield f"DESCRIPTION:{_text(words)}"
    yield f"CATEGORIES:{_text(whose)}"


def _vehicle(instance: Instance, vehicle: int) -> str:
    return instance.fleet[min(vehicle, instance.vehicles - 1)].id


def _moment(day: date, minutes: float) -> str:
    """Write a time to the nearest minute, as the printed plan does, without a time zone."""
    midnight = datetime(day.year, day.month, day.day)
    return (midnight + timedelta(minutes=math.floor(minutes + 0.5))).strftime("%Y%m%dT%H%M%S")


def _text(words: str) -> str:
    """Escape a text (RFC 5545, 3.3.11), without characters that must not be in one."""
    kept = "".join(letter for letter in words if letter in "\n\t" or category(letter) != "Cc")
    for letter in ("\\", ";", ","):
        kept = kept.replace(letter, "\\" + letter)
    return kept.replace("\n", "\\n")


def _folded(line: str) -> Iterator[str]:
    """Cut a line into lines of at most 75 bytes, within no character (RFC 5545, 3.1)."""
    part = ""
    for letter in line:
        if len((part + letter).encode()) > _LINE:
            yield part
            part = " "
        part += letter
    yield part
