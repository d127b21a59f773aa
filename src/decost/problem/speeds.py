"""Speeds with a unit: kilometres a minute, as people write them."""

from __future__ import annotations

import math
import re

_SPEED = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?\s*(km/h|mph)", re.ASCII)
_KILOMETRES = {"km/h": 1.0, "mph": 1.609344}


def parse_speed(value: object) -> float:
    """Give a speed in kilometres a minute; it is written as "4.5 km/h" or "15 mph".

    Raises
    ------
    ValueError
        If it is not; the message begins with the value.
    """
    match = _SPEED.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r}: must have a unit, such as '4.5 km/h' or '3 mph'")
    number, power, unit = match.groups()
    speed = float(number + (power or "")) * _KILOMETRES[unit] / 60
    if not 0 < speed < math.inf:
        raise ValueError(f"{value!r}: must be positive and finite")
    return speed


def format_speed(speed: float) -> str:
    """Write a speed in kilometres a minute so that `parse_speed` gives the same number."""
    for digits in range(1, 18):
        for unit, kilometres in _KILOMETRES.items():
            number = float(f"{speed * 60 / kilometres:.{digits}g}")
            for near in (number, math.nextafter(number, 0), math.nextafter(number, math.inf)):
                text = f"{near:g}" if float(f"{near:g}") == near else repr(near)
                if parse_speed(f"{text} {unit}") == speed:
                    return f"{text} {unit}"
    return f"{speed * 60!r} km/h"
