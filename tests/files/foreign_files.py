"""For the tests of files: files as others may write them, and how they are refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from decost import FormatError

SOLOMON = """R1

VEHICLE
NUMBER     CAPACITY
  25         200

CUSTOMER
CUST NO.  XCOORD.  YCOORD.  DEMAND  READY TIME  DUE DATE  SERVICE TIME

    0      0       0       0       0       230       0
    1      1       1      10      16       171      10
    2      2       3       7      50        60      20
"""


LEUVEN = """1 4 2 1
0 200
 0 0.00 0.00 0.00 0.00 0 0 0 230
 1 1.00 1.00 10.00 10.00 1 1 1 16 171
 2 2.00 3.00 20.00 7.00 1 2 1 2 50 60
"""
TRIP = """20 2 5 2 9 250 10 10
0 0 0 0 0 510 1210
1 1 1 10 7 4 510 990 510 990 0 0 510 990 510 990 510 990 540 960 36
2 2.00 3 20 8 9 0 1439 0 1439 0 1439 0 1439 0 1439 600 600 0 1439 0
"""
"""Two days from weekday 5 on: stop 1 has other hours on the second, stop 2 is open on that only."""

UNKNOWN = "is no known format"


def document(**changes: Any) -> dict[str, Any]:
    """Give the smallest instance file with one stop, as a dictionary."""
    return {
        "format": "decost-instance",
        "version": 1,
        "budget": 10,
        "depot": {"x": 0, "y": 0},
        "stops": [{"x": 3, "y": 4, "rate": 2, "max_stay": 6}],
    } | changes


def town(**changes: Any) -> dict[str, Any]:
    """Give a small instance file of version 2, as a dictionary; None leaves a field out."""
    given = {
        "format": "decost-instance",
        "version": 2,
        "unit": "minutes",
        "begin": "09:00",
        "budget": "17:00",
        "depot": {"x": 0, "y": 0},
        "places": [{"id": "hotel", "x": 6, "y": 8}],
        "vehicles": [{"id": "red"}, {"id": "blue", "start": "hotel", "due": 900}],
        "stops": [
            {"id": "mill", "x": 3, "y": 4, "reward": 5},
            {"id": "lunch", "x": 0, "y": 5, "min_stay": 30},
        ],
    } | changes
    return {field: value for field, value in given.items() if value is not None}


def pack(**arrays: Any) -> bytes:
    """Give the bytes of an `.npz` file."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def refusal(path: Path, content: str | bytes | dict[str, Any], **options: Any) -> str:
    """Write a file that must be refused, and give the complaint without the file's name."""
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FormatError) as caught:
        decost.read_set(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def arrays(**changes: Any) -> bytes:
    """Give a set of two instances with two stops each."""
    given = {
        "format": "decost-set",
        "version": 1,
        "budget": np.array([10.0, 20.0]),
        "xy": np.zeros((2, 3, 2)),
    }
    return pack(**{field: value for field, value in (given | changes).items() if value is not None})
