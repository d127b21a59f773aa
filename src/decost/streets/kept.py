"""Answers of routing engines in a file, so that a plan can be made again without the server."""

from __future__ import annotations

import hashlib
import json
import logging
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from decost.files.writing import is_special, replacing
from decost.problem.instance import FloatArray
from decost.streets.asking import StreetsError

_log = logging.getLogger("decost")
_FORMAT, _VERSION = "decost-streets", 1
_MOST_BYTES = 2**31  # unpacked
_MOST_TABLES, _MOST_WAYS = 8, 20_000  # the newest ones are kept


def key_of(*parts: Any) -> str:
    """Give a name to an answer by all that it depends on."""
    plain = [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]
    return hashlib.sha256(json.dumps([_VERSION, *plain]).encode()).hexdigest()


class Kept:
    """Tables of travel times in seconds and the points of ways, by keys."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None or is_special(path) else Path(path)
        self.tables: dict[str, FloatArray] = {}
        self.ways: dict[str, FloatArray] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        try:
            with zipfile.ZipFile(path) as packed:
                if sum(part.file_size for part in packed.infolist()) > _MOST_BYTES:
                    raise ValueError("it is too large")
            with np.load(path, allow_pickle=False) as data:
                if data["format"].tolist() != [_FORMAT, str(_VERSION)]:
                    raise ValueError("it is of another format or version")
                for name in data["tables"].tolist():
                    self.tables[name] = _table(data[f"table {name}"])
                parts = np.split(_points(data["way_points"]), data["way_ends"])[:-1]
                self.ways = dict(zip(data["ways"].tolist(), parts, strict=True))
        except (ValueError, KeyError, TypeError, EOFError, NotImplementedError) as error:
            raise self._refusal(error) from None
        except (zipfile.BadZipFile, IndexError, AttributeError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> StreetsError:
        why = str(error).strip("'\"")
        return StreetsError(f"{self.path}: holds no streets ({why}): remove it, or name another")

    def write(self) -> None:
        """Write all to the file, whole or not at all; that it cannot be written is no failure."""
        if self.path is None:
            return
        tables = dict(list(self.tables.items())[-_MOST_TABLES:])
        ways = dict(list(self.ways.items())[-_MOST_WAYS:])
        parts = list(ways.values())
        data: dict[str, Any] = {
            "format": np.array([_FORMAT, str(_VERSION)]),
            "tables": np.array(list(tables), dtype=np.str_),
            "ways": np.array(list(ways), dtype=np.str_),
            "way_ends": np.cumsum([len(part) for part in parts], dtype=np.int64),
            "way_points": np.concatenate(parts) if parts else np.empty((0, 2)),
        }
        data |= {f"table {name}": table for name, table in tables.items()}
        try:
            with replacing(self.path) as temporary, temporary.open("wb") as file:
                np.savez_compressed(file, **data)
        except OSError as error:
            _log.warning("%s: travel times are not kept: %s", self.path, error.strerror or error)


def _table(found: Any) -> FloatArray:
    sound = found.dtype == np.float64 and found.ndim == 2 and found.shape[0] == found.shape[1]
    if not sound or not ((found >= 0) & (found < np.inf)).all():
        raise ValueError("a table has no travel times")
    table: FloatArray = found
    return table


def _points(found: Any) -> FloatArray:
    if found.dtype != np.float64 or found.shape[1:] != (2,) or not np.isfinite(found).all():
        raise ValueError("ways have no points")
    points: FloatArray = found
    return points
