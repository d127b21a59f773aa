"""Instances and plans as rows of tables, as `tables` reads them and people do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decost.files.cells import Value
from decost.files.columns import ALL, CLOSED, NOBODY, NOTHING, PLACES, VEHICLES, Columns
from decost.files.records import plain, records_of
from decost.files.tables import DEPOT, END, EVERYONE, NAMELESS
from decost.method.result import Result
from decost.problem.instance import Instance
from decost.problem.names import alternative_name, place_name, place_of, stop_name, time_text

_AXES = ("lat", "lon", "x", "y")
_HOURS = ("open", "leave_by", "close")
Rows = list[list[Value]]


@dataclass(frozen=True)
class InstanceRows:
    """The tables of an instance: rows, the first of which has the headings."""

    places: Rows
    vehicles: Rows
    travel: Mapping[str, Rows]


def rows_of_instance(instance: Instance) -> InstanceRows:
    """Write an instance as tables."""
    data = records_of(instance)
    minutes = instance.unit is not None
    rows: list[dict[Any, Value]] = [{"name": DEPOT, "kind": DEPOT} | data["depot"]]
    for number, stop in enumerate(data["stops"], 1):
        rows += _rows_of_stop(stop, stop.get("id", str(number)), minutes)
    end = data.get("end")
    if isinstance(end, dict):
        rows.append({"name": END, "kind": END} | end)
    for place in data.get("places", ()):
        rows.append({"name": place["id"], "kind": "place"} | place)
    vehicles = _rows_of_vehicles(data, minutes)
    names: list[Value] = [DEPOT, *map(instance.label, range(1, instance.nodes))]
    names += [END] * instance.separate_end + [one["id"] for one in data.get("places", ())]
    travel = {}
    matrices: Any = data.get("travel", {})
    for profile, matrix in ({"": matrices} if isinstance(matrices, list) else matrices).items():
        travel[profile] = [[None, *names]] + [
            [name, *row] for name, row in zip(names, matrix, strict=True)
        ]
    return InstanceRows(_table(rows, PLACES), _table(vehicles, VEHICLES), travel)


def _rows_of_stop(stop: Mapping[str, Any], label: str, minutes: bool) -> list[dict[Any, Value]]:
    """Write a stop, with hours beside each other as far as nothing else differs."""
    head: dict[Any, Value] = {"name": stop.get("id"), "kind": "stop"}
    head |= {axis: stop[axis] for axis in _AXES if axis in stop}
    if stop.get("required"):
        head["required"] = "yes"
    inherited = {name: value for name, value in stop.items() if name not in ("id", *_AXES)}
    ways = [
        {name: value for name, value in inherited.items() if name != "alternatives"} | way
        for way in stop.get("alternatives", [{}])
    ]
    if not ways:
        return [head | _fields(inherited) | {("open", 1): CLOSED}]
    first = _fields(ways[0])
    rows = [head | first]
    for number, way in enumerate(ways, 1):
        fields = _fields(way)
        hours = {one: _time(way[one], minutes) for one in _HOURS if one in way}
        if len(rows) == 1 and fields == first:
            hours = hours or ({"open": _time(0, minutes)} if len(ways) > 1 else {})
            rows[0] |= {(one, number): value for one, value in hours.items()}
            continue
        own = {name: value for name, value in fields.items() if value != first.get(name)}
        if "at" in fields:
            own["at"] = fields["at"]  # which is not inherited
        for name, nothing in (("min_stay", 0), ("reward", 0), ("vehicles", ALL)):
            if name in first and name not in fields:
                own[name] = nothing
        if way.get("profit") != ways[0].get("profit"):
            profit = {name: fields[name] for name in ("rate", "max_stay", "then") if name in fields}
            own |= profit or {"then": NOTHING}
        else:
            own = {name: own[name] for name in own if name not in ("rate", "max_stay", "then")}
        own |= {(one, 1): value for one, value in hours.items()}
        rows.append({"alternative": label} | own)
    return rows


def _fields(way: Mapping[str, Any]) -> dict[Any, Value]:
    """Write what a visit is, but for its hours."""
    found: dict[Any, Value] = {one: way[one] for one in ("min_stay", "reward") if one in way}
    shortest, pieces = way.get("min_stay", 0), list(way.get("profit", ()))
    if pieces:
        rate, length = pieces[0]
        if (shortest + length) - shortest == length:
            found |= {"rate": rate, "max_stay": plain(shortest + length)}
            del pieces[0]
    if pieces:
        found["then"] = " then ".join(f"{rate!r} for {length!r}" for rate, length in pieces)
    if "vehicles" in way:
        found["vehicles"] = ", ".join(way["vehicles"]) or NOBODY
    where = way.get("place") or _pair(way)
    return found | ({"at": where} if where else {})


def _rows_of_vehicles(data: Mapping[str, Any], minutes: bool) -> list[dict[Any, Value]]:
    end = data.get("end")
    everyone: dict[Any, Value] = {"id": EVERYONE, "due": _time(data["budget"], minutes)}
    if "begin" in data:
        everyone["begin"] = _time(data["begin"], minutes)
    everyone |= {name: data[name] for name in ("speed", "detour", "unit") if name in data}
    everyone["title"] = data["name"] or NAMELESS
    if isinstance(end, str):
        everyone["end"] = end
    if isinstance(data["vehicles"], int):
        return [everyone | {"count": data["vehicles"]}]
    rows = [everyone]
    for number, vehicle in enumerate(data["vehicles"], 1):
        row = {"id": str(number)} | vehicle
        if "start" in row and "end" not in row and end is None:
            row["end"] = DEPOT
        for place in ("start", "end"):
            if isinstance(row.get(place), dict):
                row[place] = _pair(row[place])
        for time in ("begin", "due"):
            if time in row:
                row[time] = _time(row[time], minutes)
        if row.get("underway"):
            row["underway"] = "yes"
        rows.append(row)
    return rows


def _pair(point: Mapping[str, float]) -> str:
    return " ".join(repr(point[axis]) for axis in _AXES if axis in point)


def _time(value: float | str, minutes: bool) -> Value:
    """Write a time; a number of minutes has its unit, since it is no clock time."""
    return f"{value!r} min" if minutes and not isinstance(value, str) else value


def _table(rows: Sequence[Mapping[Any, Value]], columns: Columns) -> Rows:
    """Put rows under headings; columns in which nothing stands are left out."""
    order = list(columns)

    def position(key: tuple[str, int]) -> tuple[int, int, int]:
        name, index = key
        return order.index("open" if name in _HOURS else name), index, order.index(name)

    used = {key if isinstance(key, tuple) else (key, 1) for row in rows for key in row}
    keys = sorted((key for key in used if key[0] in columns), key=position)
    keys = [key for key in keys if any(_cell(row, key) is not None for row in rows)]
    heads: list[Value] = [
        columns[name].heading + (f" {index}" if index > 1 else "") for name, index in keys
    ]
    return [heads, *([_cell(row, key) for key in keys] for row in rows)]


def _cell(row: Mapping[Any, Value], key: tuple[str, int]) -> Value:
    value = row.get(key)
    return row.get(key[0]) if value is None and key[1] == 1 else value


def rows_of_result(result: Result, *, clock: bool) -> Rows:
    """Write a plan: for each vehicle its start, its visits and its end.

    Parameters
    ----------
    result
        The plan.
    clock
        Write times as people read them, if they are minutes; else as numbers.
    """
    instance = result.instance
    axes = []
    if instance.xy is not None:
        axes = ["lon", "lat"] if instance.geographic else ["x", "y"]
    heads = ["vehicle", "visit", "stop", "arrive", "start", "stay", "leave", "profit", "required"]
    rows: Rows = [[*heads, "by", *axes]]

    def time(value: float) -> Value:
        return time_text(instance, value) if clock and instance.unit else float(value)

    def point(place: int) -> list[Value]:
        return [] if instance.xy is None else instance.xy[place].tolist()

    for k, route in enumerate(result.solution.routes):
        mine = instance.fleet[k]
        start, end = (place_name(instance, place) or None for place in (mine.start, mine.end))
        if not route.visits and not mine.underway:
            continue
        leaves = time(route.depart)
        rows.append([mine.id, None, start, *[None] * 3, leaves, *[None] * 3, *point(mine.start)])
        for number, visit in enumerate(route.visits, 1):
            stay = round(visit.stay, 1) if clock and instance.unit else visit.stay
            times = [time(visit.arrive), time(visit.start), float(stay), time(visit.leave)]
            required = "yes" if instance.required[visit.stop] else None
            by = alternative_name(instance, visit) or None
            profit = round(visit.profit, 6) if clock else visit.profit
            where = point(place_of(instance, visit))
            stop = stop_name(instance, visit.stop)
            rows.append([mine.id, number, stop, *times, float(profit), required, by, *where])
        rows.append([mine.id, None, end, time(route.finish), *[None] * 6, *point(mine.end)])
    return rows
