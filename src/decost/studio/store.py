"""Plans in SQLite: what was asked for, how far it is, what came out."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
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


class StoreError(Exception):
    """The file of plans is of another version."""


class Store:
    """The file of plans. What a method has returned from is on the disk.

    Parameters
    ----------
    folder
        Where the file is, which is made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = Lock()
        self._base = sqlite3.connect(
            folder / "plans.sqlite", check_same_thread=False, isolation_level=None, timeout=30
        )
        for words in ("auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=FULL"):
            self._base.execute(f"PRAGMA {words}")
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise StoreError(f"{folder / 'plans.sqlite'}: is of version {version}, not {_VERSION}")
        self._base.executescript(_SCHEMA)
        self._base.execute(f"PRAGMA user_version={_VERSION}")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

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
        with self._lock:
            found = self._base.execute(
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
        with self._lock:
            found = self._base.execute(
                "SELECT request, best FROM plans WHERE id=?", (plan,)
            ).fetchone()
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
            with self._lock:
                self._base.execute("PRAGMA incremental_vacuum").fetchall()
        return int(gone)


def _packed(data: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(data, allow_nan=False).encode(), 3)


def _unpacked(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(data))
    return found
