"""Tests of sets as arrays."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from operator import attrgetter
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
    "format": ({"format": "other"}, "format = other, version = 1: must be decost-set, 1 or 2"),
    "version": ({"version": 3}, "format = decost-set, version = 3: must be decost-set, 1 or 2"),
    "newer": ({"required": np.zeros((2, 3), bool)}, "required: needs version 2"),
    "newer vehicles": ({"vehicle_due": np.zeros((2, 1))}, "vehicle_due: needs version 2"),
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


WAYS = np.array([[[np.nan] * 2, [1.0, 5.0], [2.0, np.nan]]] * 2)  # two for stop 1, one for stop 2


def general(**changes: Any) -> dict[str, Any]:
    """Give the arrays of a set of version 2: two vehicles, two stops with three alternatives."""
    given = {
        "version": 2,
        "vehicles": np.array([2, 2]),
        "place_xy": np.array([[[9.0, 9.0]], [[np.nan, np.nan]]]),
        "vehicle_id": np.array([["red", ""], ["", "blue"]]),
        "vehicle_start": np.array([[3, 0], [0, 1]]),
        "vehicle_due": np.array([[np.nan, 8.0], [np.nan, np.nan]]),
        "required": np.array([[True, False, True]] * 2),
        "alternative_open": WAYS,
        "alternative_close": WAYS + 1,
        "alternative_vehicles": np.ones((2, 3, 2, 2), bool),
    }
    return given | changes


@pytest.mark.parametrize(
    ("field", "value"),
    [("budget", -1.0), ("xy", np.inf), ("rate", -1.0), ("rate", np.nan), ("open", 9.5)],
)
def test_what_is_wrong_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: float
) -> None:
    """The last instance of many, if it is wrong, is refused before the others are made."""
    random = np.random.default_rng(0)
    sets = {
        "nodes": np.full(50, 3),
        "xy": random.random((50, 4, 2)),
        "open": np.zeros((50, 4)),
        "close": np.full((50, 4), 9.0),
        "rate": np.ones((50, 4)),
        "max_stay": np.ones((50, 4)),
        "budget": np.full(50, 9.0),
    }
    sets["xy"][:, 3] = np.nan  # padding is no fault
    sets[field].reshape(50, -1)[-1, :2] = value
    path = tmp_path / "a.npz"
    path.write_bytes(pack(**sets))
    made = []
    monkeypatch.setattr(
        "decost.files.arrays.Instance", lambda **given: made.append(1) or decost.Instance(**given)
    )
    with pytest.raises(decost.FormatError, match="instance 49: "):
        decost.read_set(path)
    assert len(made) == 1


def test_arrays_of_version_2(tmp_path: Path) -> None:
    """A set that somebody made by hand: what is not there is at its default."""
    path = tmp_path / "a.npz"
    admits = np.ones((2, 3, 2, 2), bool)
    admits[0, 1, 1, 0] = False
    path.write_bytes(arrays(**general(alternative_vehicles=admits, begin=np.array([1.0, 0.0]))))
    first, second = decost.read_set(path)
    assert first.places == ("",)
    assert second.places == ()
    fields = attrgetter("id", "start", "end", "begin", "due", "underway")
    assert [fields(one) for one in first.fleet] == [
        ("red", 3, 0, 1, 10, False),
        ("2", 0, 0, 1, 8, False),
    ]
    assert [fields(one) for one in second.fleet] == [
        ("1", 0, 0, 0, 20, False),
        ("blue", 1, 0, 0, 20, False),
    ]
    assert first.required.tolist() == [False, False, True]
    assert first.alternative_first.tolist() == [0, 1, 3, 4]
    assert first.alternative_open.tolist()[1:] == [1, 5, 2]
    assert first.alternative_close.tolist()[1:] == [2, 6, 3]
    assert first.alternative_vehicles is not None
    assert first.alternative_vehicles[1:].tolist() == [[True, True], [False, True], [True, True]]
    assert second.alternative_vehicles is None


BAD_GENERAL: dict[str, tuple[dict[str, Any], str]] = {
    "no open": ({"alternative_open": None}, "alternative_close: there is no alternative_open"),
    "shape": (
        {"alternative_close": np.zeros((2, 3, 3))},
        "alternative_close: has shape (2, 3, 3), must be (2, 3, 2)",
    ),
    "dimensions": ({"alternative_close": np.zeros((2, 3))}, "alternative_close: has shape (2, 3)"),
    "type": ({"alternative_vehicles": np.ones((2, 3, 2, 2))}, "alternative_vehicles: has type"),
    "few vehicles": (
        {"alternative_vehicles": np.ones((2, 3, 2, 1), bool)},
        "instance 0: alternative_vehicles: has shape (4, 1), must be (4, 2)",
    ),
    "gap": (
        {"alternative_open": WAYS[..., ::-1]},
        "instance 0: alternative_open[2]: has a gap",
    ),
    "close": (
        {"alternative_close": WAYS - 1},
        "instance 0: stop 1: alternatives[0]: close = 0.0: is less than open = 1.0",
    ),
    "nan": (
        {"alternative_close": np.full((2, 3, 2), np.nan)},
        "instance 0: close[1] = nan: not a number",
    ),
    "place": (
        {"alternative_place": np.full((2, 3, 2), 4)},
        "instance 0: alternative_place[1] = 4: must be a whole number",
    ),
    "two forms": ({"open": np.zeros((2, 3))}, "open: cannot be combined with alternative_open"),
    "due": ({"vehicle_due": np.full((2, 2), -1.0)}, "instance 0: vehicle 'red': due = -1.0: is"),
    "start": (
        {"vehicle_start": np.full((2, 2), 4)},
        "instance 0: vehicle 'red': start = 4: must be from 0 to 3",
    ),
    "same ids": (
        {"vehicle_id": np.full((2, 2), "a")},
        "instance 0: id = 'a': two vehicles have it",
    ),
    "halves": ({"vehicle_start": np.zeros((2, 2))}, "vehicle_start: has type float64"),
    "required": (
        {"required": np.ones((2, 2), bool)},
        "instance 0: required: has shape (2,), must be (3,)",
    ),
    "no alternative": (
        {"required": np.ones((2, 3), bool), "alternative_open": np.full((2, 3, 2), np.nan)},
        "instance 0: stop 1: required = True: ",
    ),
    "unit": ({"unit": np.array(["hours", ""])}, "instance 0: unit = 'hours': must be 'minutes'"),
    "globe": ({"geographic": np.ones(2, bool)}, "instance 0: unit = None: must be 'minutes'"),
    "places": ({"places": np.array([2, 0])}, "places[0] = 2: place_xy has fewer"),
    "place_xy": ({"place_xy": np.zeros((2, 1, 3))}, "place_xy: has shape (2, 1, 3), must be"),
    "no place_xy": (
        {"places": np.array([1, 0]), "place_xy": None},
        "instance 0: place_xy: missing",
    ),
    "matrix": (
        {"travel": np.ones((2, 3, 3)), "nodes": np.array([3, 3])},
        "nodes[0] = 3: must be from 1 to 2",
    ),
}


@pytest.mark.parametrize("case", BAD_GENERAL)
def test_bad_arrays_of_version_2(tmp_path: Path, case: str) -> None:
    """So are those of alternatives, vehicles and places."""
    changes, message = BAD_GENERAL[case]
    assert refusal(tmp_path / "a.npz", arrays(**general(**changes))).startswith(message)


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
