"""Instances as tables: places, vehicles and travel times, as people keep them in spreadsheets."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from decost.files import limits
from decost.files.cells import Faults, Sheet, Value, did_you_mean, plain
from decost.files.columns import (
    CLOSED,
    PLACES,
    VEHICLES,
    Cells,
    Row,
    Style,
    headings,
    number,
)
from decost.files.columns import (
    speed as read_speed,
)
from decost.files.limits import FormatError, refusal
from decost.files.matrices import matrix_of
from decost.problem.clock_times import parse_time
from decost.problem.fields import MAX_ALTERNATIVES_IN_ALL, MAX_STOPS
from decost.problem.instance import Instance, InstanceError
from decost.problem.once import cached_property
from decost.problem.records import Alternative, Place, Stop, TravelTimes, Vehicle

_log = logging.getLogger("decost")

EVERYONE = "*"
"""Name of the row of a table of vehicles that says what holds for all."""

DEPOT, END = "depot", "end"
_DEGREES = ("lat", "lon")
NAMELESS = "-"
"""Title of an instance that has no name."""


@dataclass
class Tables:
    """What an instance is made of.

    Attributes
    ----------
    places
        The stops, and the places where vehicles start and end.
    vehicles
        Sheets of vehicles, one after the other.
    fleet
        Further vehicles as records.
    count
        How many equal vehicles there are, if no sheet names them.
    travel
        Travel times by profile; the name of a single one is "".
    streets
        What knows travel times between lat, lon, instead of a table.
    speed
        Speed of all that have none of their own.
    name
        What to call the instance.
    assuming
        Whether places of the earth without vehicles get one.
    """

    places: Sheet
    vehicles: Sequence[Sheet] = ()
    fleet: Sequence[Vehicle] = ()
    count: int | None = None
    travel: Mapping[str, Sheet] = field(default_factory=dict)
    streets: TravelTimes | None = None
    speed: Value = None
    name: str = ""
    assuming: bool = False


def instance_of_tables(tables: Tables) -> Instance:
    """Make the instance that tables describe.

    Raises
    ------
    TableError
        If something is wrong with them; up to 20 faults are named.
    """
    reading = _Reading(tables)
    try:
        return reading.instance()
    except InstanceError as error:
        raise refusal(reading.place_of(str(error)), error) from None


def sheet_of_words(option: str, words: str) -> Sheet:
    """Make a table of a vehicle by words: "red, start=Hotel Sole, begin=09:00, due=17:00"."""
    name, *rest = re.split(r",\s*(?=[\w ]+=)", words)
    where = f"{option} {words!r}"
    pairs = [("name", name.strip())]
    if "=" in name:
        raise FormatError(f"{where}: must begin with the name of the vehicle")
    for one in rest:
        heading, _, value = one.partition("=")
        pairs.append((heading.strip(), value.strip()))
        if plain(heading) not in headings(VEHICLES):
            known = [column.heading for column in VEHICLES.values()]
            why = did_you_mean(heading.strip(), known) or f"; choose from: {', '.join(known)}"
            raise FormatError(f"{where}: {heading.strip()}: unknown{why}")
    columns, values = zip(*pairs, strict=True)
    return Sheet(where, [columns, [value or None for value in values]], [1, 2], word="")


class _Reading:
    """Reads tables into records; what is wrong is noted, and said at the end."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.faults = Faults()
        self.places = Cells(tables.places, PLACES, self.faults)
        self.vehicles = [Cells(sheet, VEHICLES, self.faults) for sheet in tables.vehicles]
        self.everyone: dict[str, Any] = {}
        self.fleet: list[tuple[Vehicle, Row | None]] = []
        self.named: dict[str, Row] = {}
        self.kinds: dict[Row, str] = {}
        self.listed = 0  # names of vehicles in rows of places
        pairs = self.places.has("position") and not any(map(self.places.has, (*_DEGREES, "x", "y")))
        self.geographic = pairs or any(map(self.places.has, _DEGREES))
        self.axes = _DEGREES if self.geographic else ("x", "y")
        self.located_by: tuple[str, ...] = ("position",) if pairs else self.axes
        if self.places.has("position") and not pairs:  # it means something else
            words = tables.places.where, self.places.heading("position")
            _log.warning("%s: columns not read: %s, since there are others for places", *words)

    def instance(self) -> Instance:
        """Make the instance."""
        self.faults.refuse()  # without headings there is nothing to read
        if self.tables.assuming and self.geographic and not (self.vehicles or self.tables.fleet):
            self._assume_vehicles()
        minutes = self.geographic or self._minutes()
        for cells in (self.places, *self.vehicles):
            cells.style = Style(minutes, cells.sheet.comma)
        self._sort()
        self._read_vehicles()
        stops = self._stops()
        depot, home = self._depot()
        places = [
            Place(row.get("name"), **self._point(row))
            for row, kind in self.kinds.items()
            if kind == "place" or (kind == DEPOT and row.get("name") not in (None, DEPOT))
        ]
        ends = [row for row, kind in self.kinds.items() if kind == END]
        everyone = self.everyone
        end: Any = Place(**self._point(ends[0])) if ends else everyone.get("end")
        travel = self._travel(stops, places, home)
        self._require_shifts()
        self.faults.refuse()
        return Instance.build(
            name=""
            if everyone.get("title") == NAMELESS
            else everyone.get("title", self.tables.name),
            unit="minutes" if minutes else None,
            begin=everyone.get("begin"),
            budget=everyone.get("due"),
            speed=everyone.get("speed"),
            detour=everyone.get("detour"),
            depot=depot,
            end=end,
            places=places,
            vehicles=self._at_their_starts(everyone.get("start") or home, end is None),
            stops=stops,
            travel=travel,
        )

    def _assume_vehicles(self) -> None:
        """Let who is named walk to the places by day from the first one on, or somebody at all."""
        rows = self.places.rows
        axes = {"name", "position", *self.axes}
        first = next((row for row in rows if row.fields() <= axes), rows[0] if rows else None)
        start = None if first is None or first.get("kind") == DEPOT else first.get("name")
        given = {"start": start, "begin": "09:00", "due": "17:00"}
        if not self._has_travel:
            given["speed"] = "4.5 km/h"
        lists = (self._listed(row) or () for row in rows if row.given("vehicles"))
        names = list(dict.fromkeys(name for some in lists for name in some)) or ["traveller"]
        cells: list[list[Value]] = [["name", *given], *([name, *given.values()] for name in names)]
        sheet = Sheet("vehicles", cells, list(range(1, len(cells) + 1)))
        self.vehicles = [Cells(sheet, VEHICLES, self.faults)]
        words = ", ".join(f"{heading} {value}" for heading, value in given.items() if value)
        where = self.places.sheet.where
        _log.warning("%s: no vehicles; assumed: %s; %s", where, ", ".join(names[:9]), words)

    def _at_their_starts(self, home: str | Place | None, back: bool) -> int | list[Vehicle]:
        """Let vehicles start at home, unless they say where, and go back to where they started."""
        fleet = [one for one, _ in self.fleet]
        if not fleet:
            if home is None:
                return self._count
            fleet = [Vehicle() for _ in range(self._count)]
        fleet = [replace(one, start=home) if one.start is None else one for one in fleet]
        return [replace(one, end=one.start) if back and one.end is None else one for one in fleet]

    @property
    def _count(self) -> int:
        return int(self.tables.count or self.everyone.get("count") or 1)

    def place_of(self, message: str) -> str:
        """Say where something stands that is wrong with the whole, as far as its name tells."""
        match = re.match(r"(?:stop|place) '(.*?)'", message)
        row = self.named.get(match[1]) if match else None
        return self.tables.places.where if row is None else row.where

    def _minutes(self) -> bool:
        given = any(row.given("unit") for cells in self.vehicles for row in cells.rows)
        return given or any(cells.clock for cells in (self.places, *self.vehicles))

    def _sort(self) -> None:
        """Say of every row what it is, and note names that are given twice."""
        if self.geographic and (self.places.has("x") or self.places.has("y")):
            self.faults.add(self.places.sheet.where, "x, y and lat, lon are given; keep one pair")
        if not self.tables.travel and not any(map(self.places.has, ("at", *self.located_by))):
            self.faults.add(
                self.places.sheet.where,
                "where are the places? there are no columns lat and lon, nor x and y; "
                "addresses are not looked up",
            )
            self.faults.refuse()
        if len(self.places.rows) > MAX_STOPS * 2:
            self.faults.add(
                self.places.sheet.where,
                f"has {len(self.places.rows)} rows, at most {MAX_STOPS} stops",
            )
            self.faults.refuse()
        for row in self.places.rows:
            kind = "alternative" if row.given("alternative") else row.get("kind")
            if kind is None:
                kind = "place" if row.fields() <= {"name", "position", *self.axes} else "stop"
            self.kinds[row] = kind
        named = any(row.given("name") for row, kind in self.kinds.items() if kind == "stop")
        seen = set()
        for row, kind in self.kinds.items():
            name = row.get("name")
            if name is None and (kind == "place" or (named and kind == "stop")):
                row.fault("name", "missing")
            elif name in self.named and kind != "alternative":
                other = self.named[name].where.removeprefix(f"{self.places.sheet.where}: ")
                row.fault("name", f"{other} has it, too")
            elif name is not None and kind != "alternative":
                self.named[name] = row
            if kind in (DEPOT, END) and kind in seen:
                row.fault("kind", f"there is another {kind}")
            seen.add(kind)

    def _read_vehicles(self) -> None:
        seen: dict[str, Row] = {}
        for row in (row for cells in self.vehicles for row in cells.rows):
            given = {one: row.get(one) for one in VEHICLES if row.given(one)}
            name = given.get("id")
            for end in ("start", "end"):
                if given.get(end) is not None:
                    given[end] = self._where(row, end, given[end])
            self._require_order(row, "begin", "due", given.get("begin"), given.get("due"))
            if name in seen:
                row.fault("id", f"{seen[name].where} has it, too")
            if name is not None:
                seen[name] = row
            if name == EVERYONE:
                self.everyone = {
                    one: value for one, value in given.items() if value is not None and one != "id"
                }
                continue
            copies = given.pop("count", None) or 1
            for only in ("detour", "unit", "title"):
                if given.pop(only, None) is not None and only != "unit":
                    row.fault(only, f"is for the row called {EVERYONE}")
            for k in range(copies):
                own = name if copies == 1 else f"{name} {k + 1}" if name else None
                self.fleet.append((Vehicle(**(given | {"id": own})), row))
        self.fleet += [(one, None) for one in self.tables.fleet]
        if self.tables.speed is not None:
            try:
                self.everyone["speed"] = read_speed(self.tables.speed, Style(minutes=True))
            except ValueError as error:
                self.faults.add(f"speed = {self.tables.speed!r}", str(error))

    def _stops(self) -> list[Stop]:
        stops: dict[str, tuple[dict[str, Any], list[Alternative]]] = {}
        ways_in_all = 0
        for row, kind in self.kinds.items():
            if kind != "stop":
                continue
            if ways_in_all > MAX_ALTERNATIVES_IN_ALL:
                why = f"there are more than {MAX_ALTERNATIVES_IN_ALL} opening hours"
                self.faults.add(row.where, why)
                break
            record = self._profit(row, None) | self._point(row)
            record |= {
                "id": row.get("name"),
                "required": bool(row.get("required")),
                "vehicles": self._admitted(row),
            }
            ways = self._ways(row, {})
            ways_in_all += len(ways)
            if record["required"] and not ways:
                row.fault("required", "it is never open")
            if "at" not in row.fields() and not self.tables.travel:
                self._require_point(row)
            stops[record["id"] or str(len(stops) + 1)] = record, ways
        for row, kind in self.kinds.items():
            if kind == "alternative":
                other = row.get("alternative")
                if other not in stops:
                    why = f"there is no such stop{self.faults.meant(other, stops)}"
                    row.fault("alternative", why)
                    continue
                own = self._profit(row, stops[other][0]["min_stay"])
                if row.given("vehicles"):
                    admitted = self._admitted(row)
                    own["vehicles"] = list(self._names) if admitted is None else admitted
                if row.fields().intersection(self.located_by):
                    self._require_point(row)
                    own |= self._point(row)
                stops[other][1].extend(self._ways(row, own))
        if not stops and not self.places.has("kind"):
            self.faults.add(self.places.sheet.where, "has no stop: what is it worth to be there?")
        worth = (_is_worth_a_visit(record, ways) for record, ways in stops.values())
        if stops and not self.faults and not any(worth):
            _log.warning(
                "%s: no stop is worth anything: give a reward, or a worth per minute",
                self.places.sheet.where,
            )
        return [Stop(**record, alternatives=ways) for record, ways in stops.values()]

    def _ways(self, row: Row, own: dict[str, Any]) -> list[Alternative]:
        """Give an alternative for each of the opening hours of a row."""
        hours: list[dict[str, Any]] = []
        if row.given("at"):
            where = self._where(row, "at", row.get("at"))
            own = own | ({"place": where} if isinstance(where, str) else _coordinates(where))
        last = max(map(self.places.last, ("open", "leave_by", "close")))
        if row.given("hours"):
            if row.fields() & {"open", "leave_by", "close"}:
                row.fault("hours", "opens, closes or last entry are given, too: keep one of both")
            hours = [{"open": begin, "leave_by": end} for begin, end in row.get("hours") or ()]
            return [Alternative(**own, **one) for one in hours]
        for index in range(1, last + 1):
            fields = [one for one in ("open", "leave_by", "close") if row.given(one, index)]
            if not fields:
                continue
            given = {one: row.get(one, index) for one in fields}
            hours.append(given)
            if given.get("open") == CLOSED:
                hours.pop()
                continue
            for later in ("leave_by", "close"):
                self._require_order(row, "open", later, given.get("open"), given.get(later), index)
        if not hours and not any(row.given("open", k) for k in range(1, last + 1)):
            hours = [{}]
        return [Alternative(**own, **one) for one in hours]

    def _profit(self, row: Row, usual: float | None) -> dict[str, Any]:
        """Read what a visit earns, and how long it lasts; usually it lasts so long at least."""
        shortest, longest = row.get("min_stay"), row.get("max_stay")
        rate, then = row.get("rate"), row.get("then")
        found: dict[str, Any] = {"min_stay": shortest, "reward": row.get("reward")}
        if rate is not None and not row.given("max_stay"):
            row.fault("max_stay", "missing: up to which stay is a minute worth so much?")
        pieces = []
        if longest is not None:
            least = shortest if shortest is not None else usual or 0.0
            if longest < least:
                row.fault("max_stay", f"is less than the min stay, {least:g}")
            pieces = [[rate or 0.0, longest - least]]
        pieces += then or []
        for (before, _), (after, _) in pairwise(pieces):
            if after > before:
                row.fault("then", f"must not be worth more than before, {before:g}")
        if longest is not None or then is not None:
            found["profit"] = pieces
        return found

    def _admitted(self, row: Row) -> list[str] | None:
        """Read which vehicles may visit."""
        if not row.given("vehicles"):
            return None
        found = self._listed(row)
        unknown = [name for name in found or () if name not in self._names]
        for name in unknown[:3]:
            meant = self.faults.meant(name, self._names)
            row.fault("vehicles", f"there is no vehicle {name!r}{meant}")
        return found

    def _listed(self, row: Row) -> list[str] | None:
        """Read the names in a cell, if those of all cells are not too many."""
        found: list[str] | None = row.get("vehicles")
        self.listed += len(found or ())
        if self.listed > limits.MAX_CELLS:
            why = f"there are more than {limits.MAX_CELLS} names of vehicles"
            self.faults.add(row.where, why)
            self.faults.refuse()
        return found

    @cached_property
    def _names(self) -> dict[str, None]:
        """Names of vehicles in their order, known once they are read."""
        fleet = [one for one, _ in self.fleet] or [Vehicle()] * self._count
        return {str(k) if one.id is None else one.id: None for k, one in enumerate(fleet, 1)}

    def _where(self, row: Row, field: str, name: str | None) -> str | Place | None:
        """Find a row by its name, or read coordinates."""
        if name is None:
            return None
        if name in self.named:
            kind = self.kinds[self.named[name]]
            return DEPOT if kind == DEPOT and name == DEPOT else name
        words = re.split(r"[\s;]+|,\s+", name.strip())
        if len(words) == 1:
            words = name.split(",")
        if len(words) == 2:
            try:
                pair = [number(word, Style(minutes=False)) for word in words]
                return Place(None, **dict(zip(self.axes, pair, strict=True)))
            except ValueError:
                pass
        if name != DEPOT or DEPOT not in self.kinds.values():
            known = self.faults.meant(name, self.named)
            such = "46.0725 11.1194" if self.geographic else "3.5 4"
            why = f"there is no row of this name{known or f', nor is it a pair such as {such}'}"
            row.fault(field, why)
        return name

    def _point(self, row: Row) -> dict[str, Any]:
        if self.located_by == ("position",):
            return dict(zip(self.axes, row.get("position") or (None, None), strict=True))
        return {axis: row.get(axis) for axis in self.axes if row.given(axis)}

    def _require_point(self, row: Row) -> None:
        for one in self.located_by:
            if not row.given(one):
                row.fault(one, "missing")

    def _require_order(
        self, row: Row, first: str, last: str, one: Any, other: Any, index: int = 1
    ) -> None:
        """Demand that a time is not before another."""
        if one is None or other is None:
            return
        try:
            if parse_time(other) < parse_time(one):
                after = " (after midnight: 02:00+1)" if isinstance(other, str) else ""
                row.fault(last, f"is before {row.heading(first, index)}, {one}{after}", index)
        except ValueError:
            pass  # noted already

    def _depot(self) -> tuple[Place, str | None]:
        """Give the depot, and its name if it has one of its own.

        If no row is the depot, it is where the first vehicle starts, and all have to say where.
        """
        row = next((row for row, kind in self.kinds.items() if kind == DEPOT), None)
        if row is not None:
            if not self.tables.travel:
                self._require_point(row)
            name = row.get("name")
            return Place(**self._point(row)), None if name == DEPOT else name
        starts = [self.everyone["start"]] if "start" in self.everyone else []
        starts += [one.start for one, _ in self.fleet if one.start is not None]
        if not starts:
            self.faults.add(
                self.places.sheet.where,
                "nobody says where to start: write 'depot' in a column 'kind' of a row, or name "
                'it: --vehicle "red, start=Hotel Sole"',
            )
        elif "start" not in self.everyone:
            for one, place in self.fleet:
                if one.start is None and place is not None and not place.given("start"):
                    place.fault("start", "missing")
        if not starts or isinstance(starts[0], Place):
            return (starts or [Place()])[0], None
        row = self.named.get(starts[0])
        if row is not None and not self.tables.travel:
            self._require_point(row)
        return Place() if row is None else Place(**self._point(row)), None

    @property
    def _has_travel(self) -> bool:
        """Whether travel times are given, or a speed, be it one that cannot be read."""
        tables = self.tables
        return bool(tables.travel) or tables.streets is not None or tables.speed is not None

    def _require_shifts(self) -> None:
        """Demand that every vehicle has a time to begin and to be back, and a speed."""
        fleet: list[tuple[Vehicle, Row | None]] = self.fleet or [(Vehicle(), None)]
        clock = any(cells.clock for cells in (self.places, *self.vehicles))
        for wanted, needed in (
            ("due", True),
            ("begin", clock),
            ("speed", self.geographic and not self._has_travel),
        ):
            for one, row in fleet if needed and wanted not in self.everyone else ():
                if getattr(one, wanted) is not None:
                    continue
                if row is not None and not row.given(wanted):
                    row.fault(wanted, "missing")
                elif row is None:
                    hint = {"speed": '--speed "4.5 km/h"'}.get(
                        wanted, f'--vehicle "{EVERYONE}, begin=09:00, due=17:00"'
                    )
                    self.faults.add(self.places.sheet.where, f"{wanted}: missing: {hint}")
                    break

    def _travel(self, stops: Sequence[Stop], places: Sequence[Place], home: str | None) -> Any:
        """Put travel times into the order of an instance."""
        if not self.tables.travel:
            return self.tables.streets
        starts = [] if DEPOT in self.kinds.values() else [one.start for one, _ in self.fleet]
        names = [home or next((one for one in starts if isinstance(one, str)), DEPOT)]
        names += [stop.id or str(k) for k, stop in enumerate(stops, 1)]
        names += [row.get("name") or END for row, kind in self.kinds.items() if kind == END]
        names += [str(place.id) for place in places]
        found = {
            profile: matrix_of(sheet, names, self.faults)
            for profile, sheet in self.tables.travel.items()
        }
        return found[""] if list(found) == [""] else found


def _is_worth_a_visit(stop: Mapping[str, Any], ways: Sequence[Alternative]) -> bool:
    rates = [rate for rate, _ in stop.get("profit") or ()]
    own = [way.reward or way.profit for way in ways]
    return bool(stop["required"] or stop["reward"] or any(rates) or any(own))


def _coordinates(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {}
    return {
        axis: getattr(place, axis)
        for axis in ("x", "y", "lat", "lon")
        if getattr(place, axis) is not None
    }
