"""JSON from outside: strict, and with complaints that name the field and the value."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from decost.files import limits
from decost.files.limits import FormatError
from decost.problem.validation import first_fault, shortened


class Schema(BaseModel):
    """Fields of a JSON object, of which none is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


AnySchema = TypeVar("AnySchema", bound=Schema)

_NUMBERS = re.compile(r"\[[-+.\deE,\s]{100,}+\]", re.ASCII)
"""A long list of numbers, such as a row of a matrix."""


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    with Path(path).open("rb") as file:
        data = file.read(limits.MAX_BYTES + 1)
    limits.require_size(path, data, limits.MAX_BYTES)
    return parsed(path, limits.decoded(path, data))


def parsed(where: str | Path, text: str) -> Any:
    """Read JSON in which no name is given twice, and which is not far too much."""
    limits.require_json(where, text)
    for part in text.split("["):
        if part.count(",") > limits.MAX_VALUES:  # then there may be objects in it
            lists = (one for one in re.split("[]{}]", part) if ":" not in one)
            count = max((one.count(",") + 1 for one in lists), default=0)
            if count > limits.MAX_VALUES:
                raise FormatError(
                    f"{where}: a list has {count} values, at most {limits.MAX_VALUES}"
                )

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) < len(pairs):
            twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
            raise FormatError(f"{where}: {shortened(twice)}: is given twice")
        if len(data) > limits.MAX_NAMES:
            raise FormatError(
                f"{where}: {shortened(pairs[0][0])}: its object has {len(data)} names, "
                f"at most {limits.MAX_NAMES}"
            )
        return data

    try:
        names = _NUMBERS.sub("[]", text)
        if len(names) < len(text):  # the quicker reader does not see names that are given twice
            with suppress(ValueError):  # and the slower one says better what is wrong
                shape = json.loads(names, object_pairs_hook=unique)
                return _with_array(from_json(text), shape)
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{where}: line {error.lineno}, column {error.colno}: broken JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise FormatError(f"{where}: broken JSON: nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{where}: broken JSON: {error}") from None


def _with_array(data: Any, shape: Any) -> Any:
    """Make an array of a matrix `travel`, for which a schema would take several times as long.

    In `shape` lists that hold numbers alone are empty.
    """
    rows = shape.get("travel") if isinstance(shape, dict) else None
    if isinstance(rows, list) and rows and not any(row != [] for row in rows):
        lists = data["travel"]
        if len({len(row) for row in lists} | {len(lists)}) == 1:
            with suppress(OverflowError):
                data["travel"] = np.array(lists, dtype=np.float64)
    return data


def validated(schema: type[AnySchema], where: str | Path, data: Any) -> AnySchema:
    """Read data by a schema."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise FormatError(f"{where}: {first_fault(error)}") from None
