"""Kinds of arrays, limits, and what a single value of an instance has to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_FLOAT = np.dtype(np.float64)  # which is many times as fast to compare with as the type
_Array = TypeVar("_Array", bound=npt.NDArray[Any])

TOLERANCE = 1e-6
"""Times may be off by this share of the horizon, profits by this share of the profit."""

MAX_STOPS = 5_000
"""Most stops of one instance: travel times are a full matrix (200 MB at this size)."""

MAX_VEHICLES = 1_000
"""Most vehicles of one instance."""

MAX_ALTERNATIVES = 50
"""Most alternatives of one stop."""

MAX_ALTERNATIVES_IN_ALL = 20_000
"""Most alternatives of one instance."""

MAX_TRAVEL_TIMES = 250_000_000
"""Most travel times of one instance, over all matrices and speeds (2 GB at this size)."""


class InstanceError(ValueError):
    """An instance is not valid; the message names the field and the value."""


def number(field: str, value: object) -> float:
    """Demand a number, which need not be finite."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{field} = {value!r}: must be a number") from None


def finite(field: str, value: object) -> float:
    """Demand a finite number."""
    found = number(field, value)
    if not -np.inf < found < np.inf:
        raise InstanceError(f"{field} = {found}: must be finite")
    return found


def amount(field: str, value: object) -> float:
    """Demand a finite number that is not negative."""
    found = number(field, value)
    if not 0 <= found < np.inf:
        raise InstanceError(f"{field} = {found}: must be finite, not negative")
    return found


def positive(field: str, value: object) -> float:
    """Demand a finite number above 0."""
    found = amount(field, value)
    if found == 0:
        raise InstanceError(f"{field} = 0.0: must be positive")
    return found


def whole_number(field: str, value: object, least: int, most: int) -> int:
    """Demand a whole number within limits."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise InstanceError(f"{field} = {value!r}: must be a whole number")
    if not least <= value <= most:
        raise InstanceError(f"{field} = {value}: must be from {least} to {most}")
    return int(value)


def truth(field: str, value: object) -> bool:
    """Demand true or false."""
    if not isinstance(value, bool | np.bool_):
        raise InstanceError(f"{field} = {value!r}: must be true or false")
    return bool(value)


def text(field: str, value: str) -> str:
    """Demand text that can be written to a file."""
    if "\0" in value or value.encode(errors="replace").decode() != value:
        raise InstanceError(f"{field} = {value!r}: must be text that can be written to a file")
    return value


def unique_ids(what: str, ids: Sequence[object]) -> tuple[str, ...]:
    """Demand different names, none of them empty."""
    seen: set[str] = set()
    for name in ids:
        if not isinstance(name, str) or not name:
            raise InstanceError(f"id = {name!r}: must be a string that is not empty")
        if text("id", name) in seen:
            raise InstanceError(f"id = {name!r}: two {what} have it")
        seen.add(name)
    return tuple(ids)  # type: ignore[arg-type]


def table(field: str, values: npt.ArrayLike) -> FloatArray:
    """Demand a table of numbers, and copy it."""
    try:
        # In one layout whatever was given, since kernels are compiled for each layout anew.
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{field}: must be a regular table of numbers") from None


def columns(
    fields: Sequence[str],
    given: Sequence[npt.ArrayLike | None],
    size: int,
    default: FloatArray,
) -> FloatArray:
    """Demand columns of numbers, and copy them into one table, a row for each."""
    found = np.empty((len(fields), size))
    found[:] = default
    for k, values in enumerate(given):
        if values is None:
            continue
        numbers = values if isinstance(values, np.ndarray) else table(fields[k], values)
        if numbers.shape != (size,):
            raise InstanceError(f"{fields[k]}: has shape {numbers.shape}, must be ({size},)")
        found[k] = numbers if numbers.dtype == _FLOAT else table(fields[k], numbers)
    return found


def demand_numbers(field: str, values: FloatArray) -> None:
    """Demand that nothing but the first entry, which is ignored, is not a number."""
    wrong = np.isnan(values[1:])
    if wrong.any():
        raise InstanceError(f"{field}[{1 + int(np.argmax(wrong))}] = nan: not a number")


def whole_column(field: str, values: npt.ArrayLike, size: int, most: int) -> IntArray:
    """Demand a column of whole numbers from 0 on, and copy it."""
    found: FloatArray = columns((field,), (values,), size, np.zeros((1, 1)))[0]
    demand_numbers(field, found)
    good = (found >= 0) & (found <= most) & (found == np.floor(found))
    if not good[1:].all():
        k = 1 + int(np.argmin(good[1:]))
        raise InstanceError(f"{field}[{k}] = {found[k]:g}: must be a whole number up to {most}")
    found[0] = 0
    return found.astype(np.int64)


def truth_table(field: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    """Demand a table of true and false, and copy it."""
    given = np.asarray(values)
    if given.shape != shape:
        raise InstanceError(f"{field}: has shape {given.shape}, must be {shape}")
    if given.dtype != np.bool_ and given.size:
        raise InstanceError(f"{field}: must hold true and false, not {given.dtype}")
    return np.array(given, dtype=np.bool_, order="C")


def frozen(array: _Array) -> _Array:
    """Let nobody write to an array any more."""
    array.setflags(write=False)
    return array
