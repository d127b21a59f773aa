"""The columns of tables: their headings, the usual spellings, and what a cell may hold."""

from __future__ import annotations

import datetime
import logging
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from decost.files import limits
from decost.files.cells import Faults, Sheet, Value, column_letter, plain
from decost.problem.clock_times import format_time, parse_time
from decost.problem.speeds import parse_speed

_log = logging.getLogger("decost")
_FIRST_ROWS = 20  # among which the headings are
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_HALF_DAY = re.compile(r"(\d{1,2})(:[0-5]\d)?\s*([ap])\.?m\.?", re.ASCII | re.IGNORECASE)
_HOURS = re.compile(
    r"(\d{1,2})(?:[:.h]([0-5]\d))?\s*(?:([ap])\.?m\.?|h|uhr)?(\+1)?", re.ASCII | re.IGNORECASE
)
_MINUTES = re.compile(r"(.*?)\s*(?:min|mins|minutes|')", re.IGNORECASE)
_LENGTH = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*(?:h|hrs?|hours?)(?:\s*(\d+)\s*(?:m|min|mins|minutes)?)?|(\d+):([0-5]\d)",
    re.ASCII | re.IGNORECASE,
)
_SIDE = re.compile(r"([+-]?[\d.,]+)\s*\u00b0?\s*([NSEW]?)", re.ASCII | re.IGNORECASE)
_TRUE, _FALSE = {"yes", "y", "true", "x", "1", "must"}, {"no", "n", "false", "0", "-"}
_TIME = "must be a time such as 09:30"
_TIMES = "must be hours such as 9-12, 14:30-18, the same on every day"

NEVER, ALL, NOBODY, NOTHING, CLOSED = "never", "all", "-", "nothing", "closed"
"""Words for what an empty cell would not say."""


@dataclass(frozen=True)
class Style:
    """How the cells of a table are to be read.

    Attributes
    ----------
    minutes
        Times are minutes after midnight, and written as clock times.
    comma
        Cells have commas between them.
    """

    minutes: bool
    comma: bool = False


Read: TypeAlias = Callable[[Value, Style], Any]


def text(value: Value, style: Style) -> str:
    """Read a name; a number in its place is one, too."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def number(value: Value, style: Style) -> float:
    """Read a number, with a decimal point or comma."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        if style.comma and _THOUSANDS.fullmatch(value.strip()):
            raise ValueError("is the comma a decimal one? write it without, or with a point")
        value = float(value.replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a number")
    return float(value)


def amount(value: Value, style: Style) -> float:
    """Read a number that is not negative."""
    found = number(value, style)
    if found < 0:
        raise ValueError("must not be negative")
    return found


def duration(value: Value, style: Style) -> float:
    """Read a stay: minutes, with their unit or without; by the clock also "1 h 30 min", 1:30."""
    if style.minutes and isinstance(value, datetime.time | datetime.timedelta):
        return float(time(value, style))
    word = value.strip() if isinstance(value, str) else ""
    if style.minutes and (length := _LENGTH.fullmatch(word)):
        hours, rest, clock_hours, clock_rest = length.groups()
        begun = 60 * number(hours or clock_hours, style)
        return begun + int(rest or clock_rest or 0)
    minutes = _MINUTES.fullmatch(word)
    try:
        return amount(minutes[1] if minutes else value, style)
    except ValueError:
        raise ValueError("must be a number of minutes, not negative") from None


def degrees(most: float) -> Read:
    """Read degrees; behind them there may be the side of the globe: "46.07° N"."""
    positive, negative = ("n", "s") if most == 90 else ("e", "w")

    def read(value: Value, style: Style) -> float:
        sign = 1.0
        if isinstance(value, str) and (match := _SIDE.fullmatch(value.strip())):
            value, side = match[1], match[2].lower()
            if side not in ("", positive, negative):
                raise ValueError(f"must be degrees {positive.upper()} or {negative.upper()}")
            sign = -1.0 if side == negative else 1.0
        found = sign * number(value, style)
        if abs(found) > most:
            raise ValueError(f"must be from -{most:g} to {most:g}")
        return found

    return read


def position(value: Value, style: Style) -> list[float]:
    """Read latitude and longitude from one cell, as maps on the web give them: "46.07, 11.12"."""
    word = text(value, style)
    parts = re.split(r"[\s;]+(?=[+-]?\d)|,\s+", word)
    if len(parts) == 1:
        parts = word.split(",")
    try:
        latitude, longitude = (part.strip(" ,;") for part in parts)
        return [degrees(90)(latitude, style), degrees(180)(longitude, style)]
    except ValueError:
        raise ValueError("must be latitude and longitude, such as 46.0725, 11.1194") from None


def time(value: Value, style: Style) -> float | str:
    """Read a time: a clock time, or a number."""
    if isinstance(value, datetime.datetime):
        if value.year > 1900:
            raise ValueError(f"is a date; {_TIME}")
        value = (value - datetime.datetime(1899, 12, 30)) / datetime.timedelta(minutes=1)
    elif isinstance(value, datetime.time):
        value = 60 * value.hour + value.minute + value.second / 60
    elif isinstance(value, datetime.timedelta):
        value = value / datetime.timedelta(minutes=1)
    elif isinstance(value, str):
        return _time_of_text(value.strip(), style)
    elif style.minutes and not isinstance(value, bool) and isinstance(value, int | float):
        _require_clear(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(_TIME)
    return float(value)


def _time_of_text(word: str, style: Style) -> float | str:
    if half := _HALF_DAY.fullmatch(word):
        hours = int(half[1])
        if not 1 <= hours <= 12:
            raise ValueError(_TIME)
        afternoon = 12 * (half[3].lower() == "p")
        return f"{hours % 12 + afternoon:02}{half[2] or ':00'}"
    if ":" in word:
        with suppress(ValueError):
            parse_time(word)
            return word
    if minutes := _MINUTES.fullmatch(word):
        return number(minutes[1], style)
    if style.minutes and any(map(str.isalpha, word)) and _HOURS.fullmatch(word):
        with suppress(ValueError):
            return format_time(_hour(word))
    try:
        found = number(word, style)
    except ValueError:
        raise ValueError(_TIME) from None
    if style.minutes:
        _require_clear(found)
    return found


def _require_clear(value: float) -> None:
    if 0 < value <= 24:
        raise ValueError("hours or minutes? write 09:30, or '9.5 min' for minutes after midnight")


def latest(value: Value, style: Style) -> float | str:
    """Read a time that need not come."""
    return math.inf if value == NEVER else time(value, style)


def opening(value: Value, style: Style) -> float | str:
    """Read a time, or that it is closed."""
    word = str(value).strip()
    if word.casefold() == CLOSED:
        return CLOSED
    try:
        return time(value, style)
    except ValueError:
        if isinstance(value, str) and re.search(r"\d\s*[-\u2013\u2014]\s*\d", word):
            raise ValueError(f"{_TIME}; all hours in one cell go below 'hours'") from None
        raise


def hours(value: Value, style: Style) -> list[tuple[float, float]]:
    """Read when a place is open: "9-12, 14:30-18"; nothing if it is closed."""
    word = text(value, style)
    if word.casefold() == CLOSED:
        return []
    found = []
    for part in re.split(r"[,;/&]|\band\b", word):
        begin, *ends = re.split(r"[-\u2013\u2014]|\bto\b", part)
        pair = [_hour(one.strip()) for one in (begin, *ends)]
        if len(pair) != 2:
            raise ValueError(_TIMES)
        if pair[1] < pair[0]:
            raise ValueError(f"{part.strip()} ends before it begins (after midnight: 22-02:00+1)")
        found.append((pair[0], pair[1]))
    return found


def _hour(word: str) -> float:
    match = _HOURS.fullmatch(word)
    if match is None:
        raise ValueError(_TIMES)
    hour, minute, half, later = match.groups()
    begin = int(hour) if half is None else int(hour) % 12 + 12 * (half.lower() == "p")
    total = 60 * begin + int(minute or 0)
    if total > 1440 or (half is not None and not 1 <= int(hour) <= 12):
        raise ValueError(_TIMES)
    return float(total + 1440 * (later is not None))


def truth(value: Value, style: Style) -> bool:
    """Read yes or no."""
    word = text(value, style).casefold()
    if word not in _TRUE | _FALSE:
        raise ValueError("must be yes or no")
    return word in _TRUE


def speed(value: Value, style: Style) -> float | str:
    """Read a speed with its unit, or a number."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        word = value.strip().replace(",", ".")
        word = re.sub(r"\s*(kmh|kph|km/hr?)$", " km/h", word, flags=re.IGNORECASE)
        try:
            parse_speed(word)
        except ValueError:
            raise ValueError("must be a speed such as 4.5 km/h or 3 mph") from None
        return word
    return number(value, style)


def pieces(value: Value, style: Style) -> list[list[float]]:
    """Read what time beyond is worth: "0.5 for 60 then 0.2 for 30"."""
    word = text(value, style)
    if word == NOTHING:
        return []
    found = []
    for part in re.split(r"\bthen\b|;", word):
        rate, middle, length = part.partition(" for ")
        try:
            if not middle or len(part) > limits.MAX_WORD:
                raise ValueError
            found.append([amount(rate.strip(), style), duration(length, style)])
        except ValueError:
            raise ValueError(
                "must say how much a minute is worth for how long, such as '0.5 for 60'"
            ) from None
    return found


def names(value: Value, style: Style) -> list[str] | None:
    """Read names with commas, semicolons or bars between them."""
    word = text(value, style)
    if word == ALL:
        return None
    return [] if word == NOBODY else [one.strip() for one in re.split("[,;|]", word)]


def whole(value: Value, style: Style) -> int:
    """Read how many."""
    found = number(value, style)
    if found < 1 or not found.is_integer():
        raise ValueError("must be a whole number, at least 1")
    return int(found)


def one_of(*words: str) -> Read:
    """Read one of these words."""

    def read(value: Value, style: Style) -> str:
        word = text(value, style).casefold()
        if word not in words:
            raise ValueError(
                f"must be {', '.join(words[:-1])}{' or ' * (len(words) > 1)}{words[-1]}"
            )
        return word

    return read


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading
        How it is written.
    read
        Makes a value of a cell that is not empty, or raises a ValueError that says why not.
    spellings
        Other headings that mean the same.
    several
        There may be more of it: "opens 2", "opens 3".
    """

    heading: str
    read: Read
    spellings: tuple[str, ...] = ()
    several: bool = False


Columns: TypeAlias = Mapping[str, Column]

_MOST: dict[Read, int] = {
    text: 2**17,
    names: 2**17,
    pieces: 2**14,
}  # characters of what may be long

PLACES: Columns = {
    "name": Column("name", text, ("stop", "place", "sight", "location", "customer", "id")),
    "kind": Column("kind", one_of("stop", "place", "depot", "end"), ("role",)),
    "lat": Column("lat", degrees(90), ("latitude",)),
    "lon": Column("lon", degrees(180), ("lng", "long", "longitude")),
    "x": Column("x", number, ("x coord", "easting")),
    "y": Column("y", number, ("y coord", "northing")),
    "position": Column("position", position, ("coordinates", "lat lon", "lat lng", "gps")),
    "open": Column("opens", opening, ("open", "opening", "opening time", "opens at"), True),
    "leave_by": Column(
        "closes", latest, ("close", "closing", "closing time", "closes at", "leave by"), True
    ),
    "close": Column("last entry", latest, ("last admission", "latest start"), True),
    "hours": Column("hours", hours, ("opening hours", "open hours", "business hours")),
    "min_stay": Column("min stay", duration, ("minimum stay", "shortest stay", "stay", "duration")),
    "max_stay": Column("max stay", duration, ("maximum stay", "longest stay")),
    "rate": Column(
        "worth per minute",
        amount,
        ("rate", "worth a minute", "value per minute", "points per minute", "profit per minute"),
    ),
    "then": Column("then", pieces),
    "reward": Column("reward", amount, ("points", "score", "value", "worth")),
    "required": Column("required", truth, ("must", "must see", "mandatory")),
    "vehicles": Column("vehicles", names, ("vehicle", "guides", "only")),
    "alternative": Column("alternative to", text, ("alternative of", "instead of")),
    "at": Column("at", text, ("where",)),
}
"""A row is a stop, another way to visit one, or a place where vehicles start and end."""

VEHICLES: Columns = {
    "id": Column("name", text, ("vehicle", "guide", "person", "id")),
    "start": Column("start", text, ("from", "starts", "starts at")),
    "end": Column("end", text, ("to", "ends", "ends at")),
    "begin": Column("begin", time, ("begins", "starts work", "shift begin", "start time")),
    "due": Column("due", time, ("back by", "until", "end time", "shift end")),
    "speed": Column("speed", speed),
    "profile": Column("profile", text),
    "underway": Column("underway", truth),
    "count": Column("count", whole, ("number",)),
    "detour": Column("detour", number),
    "unit": Column("unit", one_of("minutes")),
    "title": Column("title", text),
}
"""A row is a vehicle; the one called * says what holds for all that do not say it themselves."""

TIMES = ("open", "leave_by", "close", "begin", "due")


def headings(columns: Columns) -> set[str]:
    """All headings by which these columns are known, without numbers."""
    return {plain(word) for one in columns.values() for word in (one.heading, *one.spellings)}


class Row:
    """A row of a table, by fields."""

    def __init__(self, cells: Cells, number: int, values: Mapping[tuple[str, int], Value]) -> None:
        self._cells = cells
        self._values = values
        sheet = cells.sheet
        self.where = f"{sheet.where}: {sheet.word} {number}" if sheet.word else sheet.where

    def given(self, field: str, index: int = 1) -> bool:
        """Whether the cell is not empty."""
        return (field, index) in self._values

    def fields(self) -> set[str]:
        """Fields of which there is something in this row."""
        return {field for field, _ in self._values}

    def get(self, field: str, index: int = 1) -> Any:
        """Read a cell: None if it is empty, or if it cannot be read, which is noted."""
        if not self.given(field, index):
            return None
        value = self._values[field, index]
        try:
            found = self._cells.read(field, value)
        except ValueError as error:
            self.fault(field, str(error), index)
            return None
        if isinstance(found, float) and isinstance(value, str):
            other = self._cells.mark_at_odds(value, f"{self.where}, {self.heading(field, index)}")
            if other:
                self.fault(
                    field, f"has another decimal mark than {other}: one of them is misread", index
                )
        if isinstance(found, float) and field in TIMES:
            self._cells.tell_of_minutes(self, field, value, index)
        return found

    def fault(self, field: str, why: str, index: int = 1) -> None:
        """Note what is wrong with a cell."""
        value = self._values.get((field, index))
        self._cells.faults.add_cell(self.where, self.heading(field, index), value, why)

    def heading(self, field: str, index: int = 1) -> str:
        """Give the heading of a cell."""
        return self._cells.heading(field, index)


class Cells:
    """The rows of a sheet, read by its columns."""

    def __init__(self, sheet: Sheet, columns: Columns, faults: Faults) -> None:
        self.sheet = sheet
        self.faults = faults
        self._columns = columns
        self.style = Style(False, sheet.comma)
        self._headings: dict[tuple[str, int], str] = {}
        self._marks: dict[str, str] = {}
        first, places = self._match()
        self.rows = []
        for number, row in zip(sheet.numbers[first:], sheet.rows[first:], strict=True):
            values = {
                place: value
                for value, place in zip(row, places, strict=False)
                if place is not None and value is not None
            }
            if any(value is not None for value in row[len(places) :]):
                words = f"{sheet.where}: {sheet.word} {number}"
                faults.add(
                    words,
                    f"has {len(row)} cells, there are {len(places)} headings; put quotes around a "
                    "cell with a separator in it",
                )
            elif values:
                self.rows.append(Row(self, number, values))

    @property
    def clock(self) -> bool:
        """Whether there is a clock time."""
        return any(
            field == "hours"
            or isinstance(value, datetime.time | datetime.datetime | datetime.timedelta)
            or (isinstance(value, str) and (":" in value or _HALF_DAY.fullmatch(value.strip())))
            for row in self.rows
            for (field, _), value in row._values.items()
            if field in (*TIMES, "hours")
        )

    def mark_at_odds(self, value: str, where: str) -> str:
        """Say which cell has another decimal mark than this number; "" if none, or told before."""
        for mark, other in (".,", ",."):
            if mark in value:
                self._marks.setdefault(mark, where)
                if other in self._marks and "told" not in self._marks:
                    self._marks["told"] = where
                    return self._marks[other].removeprefix(f"{self.sheet.where}: ")
        return ""

    def tell_of_minutes(self, row: Row, field: str, value: Value, index: int) -> None:
        """Say once what a plain number means beside clock times: 930 may be meant as 09:30."""
        plain_number = isinstance(value, int | float) or str(value).strip().isdecimal()
        if self.style.minutes and plain_number and value and "minutes" not in self._marks:
            self._marks["minutes"] = row.where
            _log.warning(
                "%s, %s = %s: is read as minutes after midnight, %s, as all plain numbers are",
                *(row.where, row.heading(field, index), value, format_time(float(value))),
            )

    def read(self, field: str, value: Value) -> Any:
        """Read the value of a cell."""
        column = self._columns[field]
        most = _MOST.get(column.read, limits.MAX_WORD)
        if isinstance(value, str) and len(value) > most:
            raise ValueError(f"is longer than {most} characters")
        return column.read(value, self.style)

    def heading(self, field: str, index: int = 1) -> str:
        """Give a heading as the sheet has it."""
        usual = self._columns[field].heading
        return self._headings.get((field, index), f"{usual} {index}" if index > 1 else usual)

    def has(self, field: str) -> bool:
        """Whether there is such a column."""
        return any(found == field for found, _ in self._headings)

    def last(self, field: str) -> int:
        """Give the highest number of such a column."""
        return max((index for found, index in self._headings if found == field), default=0)

    def _match(self) -> tuple[int, list[tuple[str, int] | None]]:
        """Find the row of headings, and what its cells mean; say how many rows come before."""
        fields = {
            plain(word): (field, one.several)
            for field, one in self._columns.items()
            for word in (one.heading, *one.spellings)
        }
        first, best = 0, 0
        for k, row in enumerate(self.sheet.rows[:_FIRST_ROWS]):
            count = sum(self._field(fields, cell) is not None for cell in row)
            if count > best:
                first, best = k, count
        if not best:
            some = ", ".join(one.heading for one in self._columns.values())
            cells = self.sheet.rows[0] if self.sheet.rows else []
            found = ", ".join(repr(str(cell)[:30]) for cell in cells[:5] if cell is not None)
            first_row = f"; its first row is {found}" if found else ""
            advice = "'decost template places.csv' writes a table to fill in"
            why = f"has no row of headings, such as {some}{first_row}; {advice}"
            self.faults.add(self.sheet.where, why)
            return len(self.sheet.rows), []
        if len(self.sheet.rows[first]) > limits.MAX_COLUMNS:
            self.faults.add(self.sheet.where, f"has more than {limits.MAX_COLUMNS} columns")
            return len(self.sheet.rows), []
        places = [self._field(fields, cell) for cell in self.sheet.rows[first]]
        for index, cell in enumerate(self.sheet.rows[first]):
            if cell is not None and plain(cell) == "id" and places.count(places[index]) > 1:
                places[index] = None  # beside a name it is somebody's number
        where = f"{self.sheet.where}: {self.sheet.word} {self.sheet.numbers[first]}"
        unknown = []
        for index, (cell, place) in enumerate(zip(self.sheet.rows[first], places, strict=True)):
            if place is None and cell is not None:
                close = get_close_matches(plain(cell), fields, 1, 0.8)
                if close:
                    self._fault_of_heading(where, index, cell, f"did you mean {close[0]!r}?")
                unknown.append(str(cell))
            elif place in self._headings:
                why = f"there are two of it: {self._headings[place]!r} is the first"
                self._fault_of_heading(where, index, cell, why)
            elif place is not None:
                self._headings[place] = str(cell)
        if unknown and not self.faults:
            _log.warning("%s: columns not read: %s", self.sheet.where, ", ".join(unknown)[:200])
        return first + 1, places

    def _fault_of_heading(self, where: str, index: int, cell: Value, why: str) -> None:
        self.faults.add_cell(where, f"column {column_letter(index)}", str(cell), why)

    @staticmethod
    def _field(fields: Mapping[str, tuple[str, bool]], cell: Value) -> tuple[str, int] | None:
        word = plain(cell) if cell is not None else ""
        if word in fields:
            return fields[word][0], 1
        match = re.fullmatch(r"(.*?) ?([1-9]\d?)", word, re.ASCII)
        field, several = fields.get(match[1], ("", False)) if match else ("", False)
        return (field, int(match[2])) if match and several else None
