"""Sets that resume: finished plans are kept in `OUT.part` as they come, until `OUT` is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from pydantic import BaseModel

from decost import __version__
from decost.files.limits import FormatError
from decost.files.writing import is_special, lock, part_of, replacing, require_writable
from decost.problem.contents import FIELDS
from decost.problem.instance import Instance

_HEAD = b'{"format": "decost-part"'
_MOST_HEAD = 4096


class Rows:
    """Lines of a set by the number of their instance, in no order; here in memory alone."""

    def __init__(self) -> None:
        self._lines: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, index: object) -> bool:
        return index in self._lines

    def __getitem__(self, index: int) -> str:
        return self._lines[index]

    def add(self, index: int, line: str) -> None:
        """Keep the line of an instance."""
        self._lines[index] = line


class PartFile(Rows):
    """Lines of a set that are kept in a file at once, whatever happens to the process.

    The first line holds the digest of what is being done; a line that was torn is cut off.
    """

    def __init__(self, file: IO[bytes], path: Path, out: Path) -> None:
        self._file = file
        self._place: dict[int, tuple[int, int]] = {}  # where each line is, and its length
        self._end = 0
        self.path = path
        self.out = out

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, index: object) -> bool:
        return index in self._place

    def __getitem__(self, index: int) -> str:
        return self._read(index).decode().removesuffix("\n")

    def _read(self, index: int) -> bytes:
        start, size = self._place[index]
        self._file.seek(start)
        return self._file.read(size)

    def add(self, index: int, line: str) -> None:
        """Write the line of an instance; it is safe once this returns."""
        start = self._end
        self._write(f"{line}\n".encode())
        self._place[index] = (start, self._end - start)

    def _write(self, data: bytes) -> None:
        self._file.seek(self._end)
        while data:
            written = self._file.write(data)
            self._end += written
            data = data[written:]

    def resume(self, head: dict[str, Any], *, restart: bool) -> None:
        """Find the lines that are there already, if they are of the same run."""
        with self.path.open("rb") as reader:
            first = reader.readline(_MOST_HEAD)
            found = _parsed(first)
            if not (_HEAD.startswith(first) or first.startswith(_HEAD)):
                raise FormatError(f"{self.path}: is in the way: no part of a set of plans")
            self._end = len(first)
            for line in reader if found is not None else ():
                index = (_parsed(line) or {}).get("index")
                if not isinstance(index, int):
                    break
                self._place[index] = (self._end, len(line))
                self._end += len(line)
        if found == head and not restart:
            self._file.truncate(self._end)
        elif restart or not self._place:
            self._restart(head)
        else:
            raise FormatError(
                f"{self.path}: holds {len(self)} plans of another run (instances, method, options "
                "or version differ); go on with that command, or begin anew with --restart"
            )

    def _restart(self, head: dict[str, Any]) -> None:
        self._place.clear()
        self._end = 0
        self._file.truncate(0)
        self._write(f"{json.dumps(head)}\n".encode())

    def finish(self) -> None:
        """Put all lines, in order, in the place of the old output, and remove the part."""
        if self.out.suffix.lower() == ".parquet":
            from decost.files.parquet import write_plans

            write_plans(self.out, self._some_rows(), {})
            self.discard()
            return
        with replacing(self.out) as temporary, temporary.open("wb") as file:
            for index in sorted(self._place):
                file.write(self._read(index))
            file.flush()
            os.fsync(file.fileno())  # since the part goes
        self.discard()

    def _some_rows(self) -> Iterator[list[dict[str, Any]]]:
        """Give all rows in order, some at a time."""
        order = iter(sorted(self._place))
        while some := list(islice(order, 2_000)):
            yield [json.loads(self._read(index)) for index in some]

    def discard(self) -> None:
        """Remove the part."""
        self.path.unlink(missing_ok=True)


@contextmanager
def open_part(
    out: Path, instances: Sequence[Instance], method: str, options: BaseModel, *, restart: bool
) -> Iterator[PartFile]:
    """Open the part of an output, with the lines of the same run that was ended before its time.

    Raises
    ------
    FormatError
        If it holds another run's lines (unless that is to `restart`), if another process is at
        work on it, or if it is something else.
    OSError
        If it cannot be written.
    """
    path = part_of(out)
    require_writable(path)
    if is_special(path):
        raise FormatError(f"{path}: is in the way: no file")
    head = {
        "format": "decost-part",
        "digest": digest_of(instances, method, options),
        "instances": len(instances),
    }
    with _claimed(path) as file:
        part = PartFile(file, path, out)
        try:
            part.resume(head, restart=restart)
            yield part
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            kept = f"{error.strerror}; {len(part)} plans are kept, the same command goes on"
            raise OSError(error.errno, kept, str(path)) from None


@contextmanager
def _claimed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for this process alone."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            if not lock(file):
                raise FormatError(f"{path}: another process is at work on it")
            try:
                same = os.path.samestat(os.fstat(descriptor), path.stat())
            except FileNotFoundError:
                same = False
            if same:  # else another process has just finished with it
                yield file
                return


def digest_of(instances: Sequence[Instance], method: str, options: BaseModel) -> str:
    """Give a digest of all that decides what a set's lines are, apart from runtimes."""
    total = _digest_of_settings(method, options)
    for instance in instances:
        for field in FIELDS:
            value = getattr(instance, field)
            if isinstance(value, np.ndarray):
                _feed(total, repr((field, value.shape)).encode())
                _feed(total, value.tobytes())
            else:
                _feed(total, repr((field, value)).encode())
    return str(total.hexdigest())


def digest_of_settings(method: str, options: BaseModel) -> str:
    """Give a digest of a method, all its options and the version."""
    return str(_digest_of_settings(method, options).hexdigest())


def _digest_of_settings(method: str, options: BaseModel) -> Any:
    total = sha256()
    given = options.model_dump(exclude={"start", "progress"})
    for word in (__version__, method, *sorted(given), *map(repr, map(given.get, sorted(given)))):
        _feed(total, word.encode())
    for value in given.values():  # a file of weights may change under its name
        if isinstance(value, str) and Path(value).is_file():
            _feed(total, Path(value).read_bytes())
    return total


def _feed(total: Any, data: bytes) -> None:
    """Add data with its length, so that no two lists of them look the same."""
    total.update(len(data).to_bytes(8, "little"))
    total.update(data)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Read a line; None if it is torn or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
