"""Plans in SQLite: what was asked for, how far it is, what came out."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["queued", "running", "done", "failed"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS plans (
    id TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    stopped INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    ended REAL,
    request BLOB NOT NULL,
    best BLOB,
    answer BLOB,
    size INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_client ON plans (client, created);
CREATE INDEX IF NOT EXISTS by_state ON plans (state, created);
"""
_VERSION = 1


@dataclass(frozen=True)
class Row:
    """A plan as it is kept, but for what was asked for."""

    id: str
    client: str
    kind: str
    name: str
    state: State
    stopped: bool
    created: float
    answer: dict[str, Any] | None


class StoreError(ValueError):
    """The file of plans cannot be used: another version, broken, in use, or no room."""


class Store:
    """The file of plans. What a method has returned from is on the disk.

    Parameters
    ----------
    folder
        Where the file is, which is made if it is missing.

    Raises
    ------
    StoreError
        If the file is broken or of another version, or another service uses the folder; methods
        raise it if there is no room on the disk, or somebody else does not let go of the file.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / "plans.sqlite"
        self._lock = Lock()
        self._own = _owned(folder)
        try:
            self._base = self._opened()
        except BaseException:
            self._own.close()
            raise

    def _opened(self) -> sqlite3.Connection:
        with _complaining(self._path):
            with suppress(OSError):  # SQLite then says what is wrong
                self._path.touch(mode=0o600)  # others may look into the folder; so are its logs
            base = sqlite3.connect(
                self._path, check_same_thread=False, isolation_level=None, timeout=10
            )
            version = base.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                base.close()
                raise StoreError(f"{self._path}: is of version {version}, not {_VERSION}")
            for words in ("auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=FULL"):
                base.execute(f"PRAGMA {words}")
            base.executescript(_SCHEMA)
            base.execute(f"PRAGMA user_version={_VERSION}")
        return base

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()
            self._own.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _complaining(self._path):
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:  # SQLite may have ended it itself
                    self._base.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _complaining(self._path):
            yield self._base

    def add(self, plan: str, client: str, kind: str, name: str, request: dict[str, Any]) -> None:
        """Keep what is asked for."""
        packed = _packed(request)
        values = (plan, client, kind, name, "queued", time.time(), packed, len(packed))
        with self._writing() as base:
            base.execute(
                "INSERT INTO plans (id, client, kind, name, state, created, request, size) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )

    def start(self, plan: str) -> None:
        """Note that somebody is at work on it."""
        with self._writing() as base:
            base.execute("UPDATE plans SET state='running' WHERE id=?", (plan,))

    def keep_best(self, plan: str, best: dict[str, Any]) -> None:
        """Keep the best plan so far, to go on from it after a restart."""
        with self._writing() as base:
            base.execute("UPDATE plans SET best=? WHERE id=?", (_packed(best), plan))

    def stop(self, plan: str) -> None:
        """Note that it is to end early."""
        with self._writing() as base:
            base.execute("UPDATE plans SET stopped=1 WHERE id=?", (plan,))

    def end(self, plan: str, state: State, answer: dict[str, Any]) -> None:
        """Keep what came out."""
        packed = _packed(answer)
        with self._writing() as base:
            base.execute(
                "UPDATE plans SET state=?, answer=?, best=NULL, ended=?, "
                "size=length(request)+? WHERE id=?",
                (state, packed, time.time(), len(packed), plan),
            )

    def delete(self, plan: str) -> bool:
        """Forget a plan; say whether there was one."""
        with self._writing() as base:
            return base.execute("DELETE FROM plans WHERE id=?", (plan,)).rowcount > 0

    def find(self, plan: str) -> Row | None:
        """Look a plan up."""
        rows = self._rows("WHERE id=?", (plan,))
        return rows[0] if rows else None

    def of_client(self, client: str, most: int) -> list[Row]:
        """List the latest plans of a client."""
        return self._rows("WHERE client=? ORDER BY created DESC LIMIT ?", (client, most))

    def unfinished(self) -> list[Row]:
        """List the plans that wait or were being made, the oldest first."""
        return self._rows("WHERE state IN ('queued', 'running') ORDER BY created, rowid", ())

    def _rows(self, where: str, values: tuple[Any, ...]) -> list[Row]:
        fields = [field.name for field in dataclass_fields(Row)]
        with self._reading() as base:
            found = base.execute(
                f"SELECT {', '.join(fields)} FROM plans {where}", values
            ).fetchall()
        return [
            Row(
                **dict(zip(fields, row, strict=True))
                | {"stopped": bool(row[5]), "answer": None if row[7] is None else _unpacked(row[7])}
            )
            for row in found
        ]

    def request(self, plan: str) -> dict[str, Any] | None:
        """Give what was asked for, with the best plan so far as `best`, if one was kept."""
        with self._reading() as base:
            found = base.execute("SELECT request, best FROM plans WHERE id=?", (plan,)).fetchone()
        if found is None:
            return None
        request = _unpacked(found[0])
        if found[1] is not None:
            request["best"] = _unpacked(found[1])
        return request

    def clear(self, days: float, gigabytes: float) -> int:
        """Forget old plans: those that ended so many days ago, and the oldest if all are too large.

        Gives how many that were.
        """
        most = gigabytes * 2**30
        with self._writing() as base:
            gone = base.execute(
                "DELETE FROM plans WHERE ended < ?", (time.time() - days * 86400,)
            ).rowcount
            total = base.execute("SELECT coalesce(sum(size), 0) FROM plans").fetchone()[0]
            ended = base.execute("SELECT id, size FROM plans WHERE ended > 0 ORDER BY ended")
            for plan, size in ended.fetchall() if total > most else ():
                if total <= most:
                    break
                base.execute("DELETE FROM plans WHERE id=?", (plan,))
                total -= size
                gone += 1
        if gone:
            with self._reading() as base:
                base.execute("PRAGMA incremental_vacuum").fetchall()
        return int(gone)


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    """Say what is wrong with the file in a line."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error


def _owned(folder: Path) -> sqlite3.Connection:
    """Let no other service use a folder, until the end of this process: it would do the same jobs.

    SQLite locks a file of its own for that, which every system lets go of with the process.
    """
    path = folder / "in-use.sqlite"
    with _complaining(path):
        own = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=2)
        try:
            own.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            own.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise StoreError(f"{folder}: is in use by another studio") from None
    return own


def _packed(data: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(data, allow_nan=False).encode(), 3)


def _unpacked(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(data))
    return found
