"""Keeps rows in a file as they come, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from decost import __version__
from decost.bench import BenchError
from decost.bench.schema import Key, Record, Row
from decost.bench.tables import machine_name

FORMAT = 3
"""Version of the rows; those of another are not mixed with them."""

SYNC = 1.0
"""Seconds between two times that rows are forced to the disk, which a kill does not need."""


@contextmanager
def open_rows(
    path: Path, head: Row, asked: Mapping[Key, type[Record]], other: type[Record]
) -> Iterator[tuple[dict[Key, Row], Callable[[Sequence[Key], Sequence[Row]], None]]]:
    """Give the rows that are there, and a function that adds some; both are on the disk.

    Rows that are not `asked` for need the fields of `other`.
    """
    with path.open("ab+") as file:
        lock(file, path)
        file.seek(0)
        lines = file.read()
        # A kill can leave the last line incomplete.
        whole = lines[: lines.rfind(b"\n") + 1]
        if not whole and not _line(head).startswith(lines):
            raise BenchError(f"{path}: holds no rows; {_ADVICE}")
        rows = _read_rows(path, whole, head, asked, other) if whole else {}
        file.truncate(len(whole))
        if not whole:
            _append(file, [head])

        synced = time.monotonic()

        def save(keys: Sequence[Key], measured: Sequence[Row]) -> None:
            nonlocal synced
            at = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
            where = {"at": at, "machine": machine_name(), "version": __version__}
            new = {key: row | where for key, row in zip(keys, measured, strict=True)}
            _append(file, [key.record | row for key, row in new.items()])
            rows.update(new)
            if time.monotonic() - synced > SYNC:
                os.fsync(file.fileno())
                synced = time.monotonic()

        yield rows, save
        os.fsync(file.fileno())


def _line(row: Row) -> bytes:
    return json.dumps(row, allow_nan=False).encode() + b"\n"


def _append(file: BinaryIO, lines: Sequence[Row]) -> None:
    file.write(b"".join(map(_line, lines)))
    file.flush()


_ADVICE = "remove the file to begin anew, or give another folder with --out"


def _read_rows(
    path: Path, text: bytes, head: Row, asked: Mapping[Key, type[Record]], other: type[Record]
) -> dict[Key, Row]:
    """Read rows, and see that they have the fields that their tasks would have measured."""
    first, *others = text.splitlines()
    _require_same(path, _read_line(path, 1, first), head)
    rows: dict[Key, Row] = {}
    for number, line in enumerate(others, start=2):
        row = _read_line(path, number, line)
        try:
            key = Key.read(Record.model_validate(row))
            asked.get(key, other).model_validate(row)
        except ValidationError as error:
            wrong = error.errors()[0]
            field = ".".join(map(str, wrong["loc"]))
            raise BenchError(
                f"{path}: line {number}, field {field}: {wrong['msg']}; {_ADVICE}"
            ) from None
        rows[key] = {name: row[name] for name in row if name not in key.record}
    return rows


def _read_line(path: Path, number: int, line: bytes) -> Row:
    with suppress(UnicodeDecodeError, json.JSONDecodeError):
        if isinstance(row := json.loads(line), dict):
            return row
    raise BenchError(f"{path}: line {number} is no row; {_ADVICE}")


def _require_same(path: Path, found: Row, head: Row) -> None:
    """Refuse rows that were measured under other conditions."""
    before = {"clock": "wall"} | found  # which rows did not say at first
    before |= found["config"] if isinstance(found.get("config"), dict) else {}
    for name, value in (head | head["config"]).items():
        if name != "config" and before.get(name) != value:
            raise BenchError(
                f"{path}: holds rows of another configuration ({name} was "
                f"{before.get(name)!r}, is {value!r}); {_ADVICE}"
            )


def lock(file: BinaryIO, path: Path) -> None:
    """Keep a second run out of a file, where the system can, until it is closed.

    Raises
    ------
    BenchError
        If another run has it; `path` is what that is at work on.
    """
    with suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError(f"{path}: another run is at work on it") from None
