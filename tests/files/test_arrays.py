"""Tests of sets as arrays."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import arrays, pack, refusal

import decost


def test_arrays_of_the_paper(tmp_path: Path) -> None:
    """A set without a format, as the paper's authors publish theirs, may hold other fields."""
    opens, closes = np.float32([[0, 1.1, 2.2]]), np.float32([[9, 1.4, 2.9]])
    path = tmp_path / "a.npz"
    path.write_bytes(
        pack(
            xy=np.float32([[[0, 0], [0.1, 0.2], [1, 1]]]),
            open=opens,
            close=closes,
            rate=np.float32([[9, 3, 4]]),
            budget=np.float32(10),
            gurobi=np.array([5.0]),
        )
    )
    (instance,) = decost.read_set(path)
    assert instance.budget == 10
    assert instance.xy is not None
    assert instance.xy[1].tolist() == [float(np.float32(0.1)), float(np.float32(0.2))]
    widths = closes.astype(np.float64) - opens
    assert instance.max_stay.tolist() == [0, *widths[0, 1:]]
    assert instance.piece_rate.tolist() == [3, 4]


BAD_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "format": ({"format": "other"}, "format = other, version = 1: must be decost-set, 1"),
    "version": ({"version": 2}, "format = decost-set, version = 2: must be decost-set, 1"),
    "two versions": ({"version": [1, 1]}, "format = decost-set, version = [1 1]: must be"),
    "no version": ({"version": None}, "format = decost-set, version = None: must be"),
    "unknown": ({"colour": 1}, "colour: unknown field"),
    "no budget": ({"budget": None}, "budget: missing"),
    "no places": ({"xy": None}, "xy: missing"),
    "budget": ({"budget": np.array([10.0, -1.0])}, "instance 1: budget = -1.0: must be finite"),
    "budgets": ({"budget": np.ones(3)}, "budget: has shape (3,), must have 1 dimensions"),
    "text": ({"budget": np.array(["a", "b"])}, "budget: has type <U1"),
    "complex": ({"budget": np.array([1j, 1])}, "budget: has type complex128"),
    "dates": ({"open": np.zeros((2, 3), "m8[s]")}, "open: has type timedelta64[s]"),
    "nan": ({"open": np.full((2, 3), np.nan)}, "instance 0: open[1] = nan: not a number"),
    "flat xy": ({"xy": np.zeros(2)}, "xy: has shape (2,), must have 3 dimensions"),
    "three coordinates": (
        {"xy": np.zeros((2, 3, 3))},
        "xy: has shape (2, 3, 3), must be (2, 3, 2)",
    ),
    "nothing": ({"xy": np.zeros((0, 3, 2)), "budget": np.zeros(0)}, "holds no instance"),
    "no nodes": ({"xy": np.zeros((2, 0, 2))}, "nodes[0] = 0: must be from 1 to 0"),
    "all nan": ({"xy": np.full((2, 3, 2), np.nan)}, "instance 0: xy = None: give coordinates"),
    "matrix": ({"travel": np.zeros((2, 4, 4))}, "travel: has shape (2, 4, 4), must be (2, 3, 3)"),
    "negative matrix": (
        {"travel": -np.ones((2, 3, 3))},
        "instance 0: travel[0][0] = -1.0: must be",
    ),
    "flat column": ({"open": np.zeros(2)}, "open: has shape (2,), must have 2 dimensions"),
    "short column": ({"open": np.zeros((2, 2))}, "instance 0: open: has shape (2,), must be (3,)"),
    "few rows": (
        {"open": np.zeros((1, 3))},
        "open: has shape (1, 3), must have 2 dimensions, the f",
    ),
    "pieces": ({"pieces": np.zeros((2, 3, 1, 3))}, "instance 0: stop 1: profit: has shape (1, 3)"),
    "flat pieces": (
        {"pieces": np.zeros((2, 3))},
        "pieces: has shape (2, 3), must have 4 dimensions",
    ),
    "rate alone": ({"rate": np.ones((2, 3))}, "instance 0: stop 1: rate = 1.0: needs a max_stay"),
    "vehicles": (
        {"vehicles": np.array([1, 0])},
        "instance 1: vehicles = 0: must be from 1 to 1000",
    ),
    "halves": ({"vehicles": np.array([1.0, 1.5])}, "vehicles: has type float64"),
    "nodes": ({"nodes": np.array([3, 4])}, "nodes[1] = 4: must be from 1 to 3"),
    "negative nodes": ({"nodes": np.array([-3, 3])}, "nodes[0] = -3: must be from 1 to 3"),
    "nan nodes": ({"nodes": np.array([np.nan, 3])}, "nodes: has type float64"),
    "end": ({"separate_end": np.array([True, True])}, "nodes[0] = 3: must be from 1 to 3"),
    "ends": ({"separate_end": np.array([np.nan, 0])}, "separate_end: has type float64"),
    "flat ids": ({"ids": np.array(["ab", "cd"])}, "ids: has shape (2,), must have 2 dimensions"),
    "few ids": ({"ids": np.array([["a"], ["b"]])}, "instance 0: ids: there are 1 for 2 stops"),
    "same ids": ({"ids": np.array([["a", "a"]] * 2)}, "instance 0: id = 'a': two stops have it"),
    "bytes": ({"name": np.array([b"a", b"b"])}, "name: has type |S1"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(tmp_path: Path, case: str) -> None:
    """Fields of a set that are missing, misshapen or of a wrong type are named."""
    changes, message = BAD_ARRAYS[case]
    assert refusal(tmp_path / "a.npz", arrays(**changes)).startswith(message)


def test_windows_of_other_shapes(tmp_path: Path) -> None:
    """Columns that do not fit each other are refused before they are subtracted."""
    columns = {"open": np.zeros((2, 3)), "close": np.ones((2, 4)), "rate": np.ones((2, 3))}
    assert "needs a max_stay" in refusal(tmp_path / "a.npz", arrays(**columns))


def test_zip_of_other_things(tmp_path: Path) -> None:
    """Entries that are no arrays, a locked one and one packed in an unknown way are refused."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("budget", "much")
        archive.writestr("xy", "here")
    refusal(tmp_path / "a.npz", file.getvalue())
    content = bytearray(arrays())
    at = content.index(b"PK\x01\x02")
    for offset, value, message in ((8, 1, "encrypted"), (10, 77, "compression")):
        changed = content.copy()
        changed[at + offset] = value
        first = changed.index(b"PK\x03\x04")
        changed[first + offset - 2] = value
        complaint = refusal(tmp_path / "a.npz", bytes(changed))
        assert complaint.startswith("broken .npz file: ")
        assert message in complaint


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.write_text, (self.path, "sprung")


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    """A set with a pickle in it is refused, and the pickle not run."""
    trap = tmp_path / "trap"
    for field in ("ids", "colour", "xy"):
        array = np.array([[Trap(trap)]], dtype=object)
        message = refusal(tmp_path / "a.npz", arrays(**{field: array}))
        assert message.startswith("broken .npz file: Object arrays cannot be loaded")
    assert not trap.exists()
