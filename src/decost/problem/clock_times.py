"""Clock times: minutes after midnight of the first day, as people write them."""

from __future__ import annotations

import math
import re

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?([+-]\d{1,3})?", re.ASCII)
_DAY = 24 * 60


def parse_time(value: object) -> float:
    """Give a time in minutes after midnight of the first day.

    Parameters
    ----------
    value
        A number, which is taken as it is, or a clock time: "09:30", "06:00+1" (of the next day),
        "24:00", "09:30:15".

    Raises
    ------
    ValueError
        If it is neither; the message begins with the value.
    """
    if isinstance(value, str):
        match = _CLOCK.fullmatch(value.strip())
        if match is not None:
            hours, minutes, seconds, days = (int(part or 0) for part in match.groups())
            total = 60 * hours + minutes + seconds / 60
            if total <= _DAY:
                return float(total + _DAY * days)
        raise ValueError(f"{value!r}: must be a number or a clock time such as '09:30'")
    if isinstance(value, bool):
        raise ValueError(f"{value!r}: must be a number or a clock time such as '09:30'")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r}: must be a number or a clock time such as '09:30'") from None


def format_time(minutes: float) -> str:
    """Write a time as people do, to the nearest minute: "09:30", "06:00+1" for the next day."""
    if not math.isfinite(minutes):
        return str(minutes)
    day, rest = divmod(math.floor(minutes + 0.5), _DAY)
    days = f"{day:+d}" if day else ""
    return f"{rest // 60:02d}:{rest % 60:02d}{days}"
