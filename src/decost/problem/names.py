"""What to call places, vehicles and alternatives in what people read."""

from __future__ import annotations

import math

from decost.problem.clock_times import format_time
from decost.problem.instance import Instance
from decost.problem.plan import Visit


def place_name(instance: Instance, place: int) -> str:
    """Name of a place (a row of coordinates and travel times), "" if it has none."""
    if place == 0:
        return "start depot" if instance.separate_end else "depot"
    if place < instance.nodes:
        return stop_name(instance, place)
    if instance.separate_end and place == instance.nodes:
        return "end depot"
    return instance.places[place - instance.nodes - instance.separate_end]


def detour_of(instance: Instance) -> float | None:
    """How much longer than straight lines ways are, unless travel times were given."""
    given = instance.matrix is not None or instance.matrices is not None
    return instance.detour if instance.geographic and not given else None


def stop_name(instance: Instance, stop: int) -> str:
    """Name of a stop, "stop 3" if stops have none."""
    return f"stop {stop}" if instance.ids is None else str(instance.label(stop))


def vehicle_name(instance: Instance, vehicle: int) -> str:
    """Name of a vehicle (counted from 0), "" if it has none but its number."""
    if vehicle >= instance.vehicles:  # more routes than vehicles: a plan may be wrong
        return ""
    name = instance.fleet[vehicle].id
    return "" if name == str(vehicle + 1) else name


def used_alternative(instance: Instance, visit: Visit) -> int | None:
    """Give the number in the instance of a visit's alternative, None if there is no such one."""
    number = int(instance.alternative_first[visit.stop]) + (visit.alternative or 0)
    return number if number in alternatives_of(instance, visit.stop) else None


def alternatives_of(instance: Instance, stop: int) -> range:
    """Numbers of a stop's alternatives."""
    return range(int(instance.alternative_first[stop]), int(instance.alternative_first[stop + 1]))


def place_of(instance: Instance, visit: Visit) -> int:
    """Place of a visit: that of its alternative."""
    number = used_alternative(instance, visit)
    return visit.stop if number is None else int(instance.alternative_place[number])


def same_place(instance: Instance, one: int, other: int) -> bool:
    """Whether two places are one: the same, or with the same coordinates."""
    if one == other or instance.xy is None:
        return one == other
    return bool((instance.xy[one] == instance.xy[other]).all())


def window_of(instance: Instance, number: int) -> tuple[float, float]:
    """Window of an alternative as people see it: it ends with `close`, at last with `leave_by`."""
    close = min(instance.alternative_close[number], instance.alternative_leave_by[number])
    return float(instance.alternative_open[number]), float(close)


def alternative_name(instance: Instance, visit: Visit) -> str:
    """Say which of its stop's alternatives a visit uses, by its place or else by its window.

    It is "" if the stop has one alternative, or if the others are no different in both.
    """
    number = used_alternative(instance, visit)
    others = alternatives_of(instance, visit.stop)
    if number is None or len(others) == 1:
        return ""
    place = int(instance.alternative_place[number])
    near = [
        other
        for other in others
        if same_place(instance, int(instance.alternative_place[other]), place)
    ]
    words = []
    if len(near) < len(others):
        words.append(_where(instance, place))
    if any(window_of(instance, other) != window_of(instance, number) for other in near):
        words.append(window_text(instance, number))
    return ", ".join(filter(None, words))


def _where(instance: Instance, place: int) -> str:
    if place < instance.nodes and instance.xy is not None:
        return "its own place"
    name = place_name(instance, place)
    if name or instance.xy is None:
        return name
    x, y = instance.xy[place]
    return f"{y:.6g}, {x:.6g}" if instance.geographic else f"{x:.6g}, {y:.6g}"


def window_text(instance: Instance, number: int) -> str:
    """Write the window of an alternative."""
    first, last = window_of(instance, number)
    if not math.isfinite(last):
        return f"from {time_text(instance, first)}"
    return f"{time_text(instance, first)} to {time_text(instance, last)}"


def time_text(instance: Instance, time: float, form: str = ".6g") -> str:
    """Write a time: as a clock time if the unit is minutes, else as a number in this form."""
    return format_time(time) if instance.unit == "minutes" else f"{time:{form}}"


def amount_text(value: float) -> str:
    """Write what something is worth in a few characters: 4 digits, and all before the point."""
    size = abs(value)
    if not 1e-3 <= size < 1e9:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(size))) if size >= 1 else 3
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text
