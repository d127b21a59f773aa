"""Solomon's VRPTW files, KU Leuven's (T)OPTW files, and files of tourist trips (TTDP)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from decost.files.limits import FormatError
from decost.problem.instance import MAX_STOPS, MAX_VEHICLES, FloatArray, Instance, whole_number
from decost.problem.records import Alternative, Place, Stop, Vehicle

Profit: TypeAlias = Literal["fixed", "variable"]
Truncate: TypeAlias = int | Literal["none", "auto"]

VARIABLE_STAY = 30.0
"""How much longer than the service time a stay may be with `profit="variable"`."""

_WEEK = 7
_TRIP_COLUMNS = 6 + 2 * _WEEK  # number, x, y, stay, score, kind, and the hours of every weekday


def _floats(path: Path, row: list[str], what: str) -> list[float]:
    numbers = []
    for word in row:
        try:
            numbers.append(float(word))
        except ValueError:
            raise FormatError(f"{path}: {what} = {word!r}: must be a number") from None
    if not np.isfinite(numbers).all():
        raise FormatError(f"{path}: {what} = {' '.join(row)}: must be finite")
    return numbers


def read_solomon(path: Path, rows: list[list[str]], profit: Profit, truncate: Truncate) -> Instance:
    """Read the lines of a Solomon file, already split into words."""
    headings = [k for k, row in enumerate(rows) if row[0].upper().startswith("CUST")]
    table = rows[headings[-1] + 1 :] if headings else []
    nodes: list[tuple[float, ...]] = []
    for row in table:
        numbers = _floats(path, row, f"customer {len(nodes)}")
        if len(numbers) != 7:
            raise FormatError(f"{path}: customer {len(nodes)}: has {len(row)} columns, must be 7")
        number, x, y, demand, ready, due, service = numbers
        _in_order(path, number, nodes)
        nodes.append((x, y, service, demand, ready, due))
    name = rows[0][0] if rows[0][0].upper() != "VEHICLE" else path.stem
    return _benchmark(path, name, nodes, profit, truncate)


def read_leuven(path: Path, rows: list[list[str]], profit: Profit, truncate: Truncate) -> Instance:
    """Read the lines of a KU Leuven file, already split into words."""
    expected = int(rows[0][2]) + 1
    nodes: list[tuple[float, ...]] = []
    for row in rows[2:]:
        numbers = _floats(path, row, f"node {len(nodes)}")
        if len(numbers) < 9:
            raise FormatError(f"{path}: node {len(nodes)}: has {len(row)} columns, at least 9")
        _in_order(path, numbers[0], nodes)
        nodes.append((*numbers[1:5], *numbers[-2:]))
    if nodes and len(nodes) != expected:
        raise FormatError(f"{path}: N = {expected - 1}: but there are {len(nodes) - 1} stops")
    return _benchmark(path, path.stem, nodes, profit, truncate)


def read_trip(
    path: Path, rows: list[list[str]], profit: Profit, truncate: Truncate, days: int | None
) -> Instance:
    """Read the lines of a tourist trip (TTDP), already split into words: a vehicle a day."""
    if profit != "fixed":
        raise FormatError(f"{path}: profit = {profit!r}: a tourist trip's stays are fixed")
    tours, first_day, expected = map(int, rows[0][1:4])
    days = tours if days is None else days
    whole_number("vehicles", days, 1, MAX_VEHICLES)
    if first_day >= _WEEK:
        raise FormatError(f"{path}: start day = {first_day}: must be from 0 to {_WEEK - 1}")
    *hotel, opens, closes = _floats(path, rows[1], "node 0")
    _in_order(path, hotel[0], [])
    vehicles = [Vehicle(id=f"day {day + 1}") for day in range(days)]
    nodes: list[object] = [hotel]
    xy = [hotel[1:3]]
    stops = []
    for row in rows[2:]:
        what = f"node {len(nodes)}"
        if len(row) < _TRIP_COLUMNS:
            raise FormatError(f"{path}: {what}: has {len(row)} columns, at least {_TRIP_COLUMNS}")
        number, x, y, stay, score, _, *hours = _floats(path, row[:_TRIP_COLUMNS], what)
        _in_order(path, number, nodes)
        nodes.append(row)
        xy.append([x, y])
        by_hours: dict[tuple[float, float], list[str]] = {}
        for day, vehicle in enumerate(vehicles):
            weekday = (first_day + day) % _WEEK
            window = hours[2 * weekday], hours[2 * weekday + 1]
            if window[0] != window[1]:
                by_hours.setdefault(window, []).append(str(vehicle.id))
        stops.append(
            Stop(
                x=x,
                y=y,
                min_stay=stay,
                reward=score,
                alternatives=tuple(
                    Alternative(
                        open=window[0],
                        close=window[1],
                        vehicles=None if len(open_on) == days else tuple(open_on),
                    )
                    for window, open_on in by_hours.items()
                ),
            )
        )
    if len(stops) != expected:
        raise FormatError(f"{path}: N = {expected}: but there are {len(stops)} stops")
    decimals = 2 if truncate == "auto" else truncate
    return Instance.build(
        name=path.stem,
        unit="minutes",
        begin=opens,
        budget=closes,
        depot=Place(x=hotel[1], y=hotel[2]),
        stops=stops,
        vehicles=vehicles,
        travel=_truncated(np.array(xy), decimals) if isinstance(decimals, int) else None,
    )


def _in_order(path: Path, number: float, nodes: Sequence[object]) -> None:
    if number != len(nodes):
        raise FormatError(f"{path}: node {number:g}: out of order, must be {len(nodes)}")
    if len(nodes) > MAX_STOPS:
        raise FormatError(f"{path}: has more than {MAX_STOPS} stops")


def _benchmark(
    path: Path,
    name: str,
    nodes: Sequence[tuple[float, ...]],
    profit: Profit,
    truncate: Truncate,
) -> Instance:
    if not nodes:
        raise FormatError(f"{path}: has no depot")
    table = np.array(nodes)
    xy, service, earns, opens, closes = table[:, :2], *table[:, 2:].T
    travel = None
    whole = bool((xy == np.rint(xy)).all())
    decimals = truncate
    if truncate == "auto":
        decimals = "none" if profit == "variable" else 1 if whole else 2
    if isinstance(decimals, int):
        travel = _truncated(xy, decimals)
    variable = profit == "variable"
    return Instance(
        name=name,
        budget=closes[0],
        xy=xy,
        travel=travel,
        open=opens,
        close=closes,
        reward=earns * service if variable else earns,
        min_stay=service,
        rate=earns if variable else None,
        max_stay=service + VARIABLE_STAY if variable else None,
    )


def _truncated(xy: FloatArray, decimals: int) -> FloatArray:
    x, y = xy.T
    scale = 10.0**decimals
    # The small term keeps a distance that is exact in these decimals from losing one of them.
    return np.asarray(np.floor(np.hypot(x[:, None] - x, y[:, None] - y) * scale + 1e-9) / scale)
