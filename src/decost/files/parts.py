"""Sets that need not fit into memory: parts of Parquet, in one file or a folder of files.

A part is a group of rows, and a file in a folder has one or more of them. Plans of a part go to a
file of its name: it is written at once, so that a part that is there is finished.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from decost import __version__
from decost.files import limits
from decost.files.instances import with_vehicles
from decost.files.limits import FormatError
from decost.files.parquet import (
    INSTANCES,
    MAGIC,
    PLANS,
    batches,
    instances_in,
    join_files,
    needs_pyarrow,
    open_file,
    plan_rows,
    told_by,
    write_instances,
)
from decost.files.sets import digest_of
from decost.files.writing import is_special, lock, part_of
from decost.method.options import Options
from decost.method.summary import Summary
from decost.problem.generators import PART, generate_part, part_count
from decost.problem.instance import Instance, InstanceError

ENDING = ".parquet"

PATIENCE = 5.0
"""Seconds until what another machine has written must be seen in a folder of a network."""


@dataclass(frozen=True)
class Part:
    """Some instances of a set: a group of rows in a file.

    Attributes
    ----------
    path, group
        Where they are.
    name
        Name of the file for their plans.
    first, count
        Number of the first in the set, and how many there are.
    digest
        Of their file's footer, which holds a digest of all values if we have written it, and else
        sizes, least and largest values.
    """

    path: Path
    group: int
    name: str
    first: int
    count: int
    digest: str

    def read(self, vehicles: int | None = None) -> Iterator[list[Instance]]:
        """Read the instances, some at a time."""
        file = open_file(self.path)
        if _digest(self.path) != self.digest:
            raise FormatError(
                f"{self.path}: is not what it was when the set was listed: it has changed, or is "
                f"another file on {socket.gethostname()}"
            )
        strict = told_by(file).get("format") == INSTANCES
        first = self.first
        for batch in batches(self.path, file, self.group):
            try:
                instances = instances_in(self.path, batch, first, strict=strict)
                if vehicles is not None:
                    instances = [with_vehicles(one, vehicles) for one in instances]
            except InstanceError as error:
                raise limits.refusal(self.path, error) from None
            yield instances
            first += len(instances)


def holds_parts(path: str | Path) -> bool:
    """Whether there is a folder, or a Parquet file."""
    path = Path(path)
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def is_for_parts(path: Path) -> bool:
    """Whether an output is to be a folder of parts, or a Parquet file."""
    return path.is_dir() or (path.suffix.lower() in ("", ENDING) and path.name != "-")


def part_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder in order; numbers in names count as such."""
    found = [one for one in folder.glob(f"*{ENDING}") if not one.name.startswith((".", "_"))]
    return sorted(
        found,
        key=lambda one: [
            (0, int(word), "") if word.isdigit() else (1, 0, word)
            for word in re.findall(r"\d+|\D+", one.name)
        ],
    )


def list_parts(path: str | Path) -> list[Part]:
    """List the parts of a set of instances.

    Raises
    ------
    FormatError
        If there are none, or one is torn, missing, of another set or holds no instances.
    """
    needs_pyarrow()
    path = Path(path)
    paths = part_files(path) if path.is_dir() else [path]
    parts: list[Part] = []
    first, told, whole = 0, None, None
    for one in paths:
        file = open_file(one)
        its = told_by(file)
        if its.get("format", INSTANCES) != INSTANCES:
            raise FormatError(f"{one}: holds plans, not instances")
        if told is not None and its.get("run") != told.get("run"):
            raise FormatError(f"{one}: is of another set than {paths[0].name}")
        told = told or its
        whole = its.get("instances", whole)
        digest = _digest(one)
        groups = file.metadata.num_row_groups
        for group in range(groups):
            count = file.metadata.row_group(group).num_rows
            name = one.stem if groups == 1 else f"{one.stem}-{group:05d}"
            parts.append(Part(one, group, name + ENDING, first, count, digest))
            first += count
    if not first:
        raise FormatError(f"{path}: holds no instance" + " in .parquet files" * path.is_dir())
    if "run" in (told or {}) and first != whole:
        raise FormatError(
            f"{path}: holds {first} instances of a set that has {whole or 'more'}: parts are "
            "missing; decost generate goes on with the same command"
        )
    if len({part.name for part in parts}) < len(parts):  # as of a-00000 and the first of two in a
        parts = [replace(part, name=part_name(k)) for k, part in enumerate(parts)]
    return parts


def _digest(path: Path) -> str:
    """Digest the size and the footer of a Parquet file: it ends in its length and four letters."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - 8 - length))
        return sha256(repr(size).encode() + file.read(length)).hexdigest()


def read_parts(path: str | Path) -> Iterator[list[Instance]]:
    """Read a set of instances that need not fit into memory, some at a time.

    Parameters
    ----------
    path
        A Parquet file, or a folder of them.

    Raises
    ------
    FormatError
        If a file is torn, or of another set, or an instance is not valid.
    """
    for part in list_parts(path):
        yield from part.read()


def read_whole(path: Path, vehicles: int | None) -> list[Instance]:
    """Read a set that fits into memory."""
    parts = list_parts(path)
    size = sum(one.stat().st_size for one in {part.path for part in parts})
    if size > limits.MAX_SET_BYTES // 2:
        raise FormatError(
            f"{path}: is {size} bytes, too large to be read as a whole: solve it in parts "
            "(--out FOLDER), or use decost.read_parts"
        )
    limits.require_count(path, sum(part.count for part in parts))
    return [instance for part in parts for some in part.read(vehicles) for instance in some]


def write_parts(instances: Iterable[Instance], path: str | Path, *, size: int = PART) -> int:
    """Write a set of instances that need not fit into memory; return how many there were.

    Parameters
    ----------
    instances
        Any iterable, which is read once.
    path
        A folder for the parts, new or without any; or a Parquet file.
    size
        Instances in a part.
    """
    path = Path(path)
    if size < 1:
        raise ValueError(f"size = {size}: must be at least 1")
    rest = iter(instances)
    some = list(islice(rest, size))
    if not some:
        raise FormatError(f"{path}: a set needs at least one instance")
    told = {"run": digest_of(some, "", Options())}
    count = 0
    with _claimed(path) as folder:
        if part_files(folder):
            raise FormatError(f"{folder}: holds parts already; remove them first")
        written: list[Path] = []
        try:
            while some:
                count += len(some)
                after = list(islice(rest, 1))
                written.append(folder / part_name(len(written)))
                # Without its last part a set is seen to be none, also after kill -9.
                write_instances(written[-1], some, told | ({} if after else {"instances": count}))
                some = after and after + list(islice(rest, size - 1))
            _close_folder(path, folder, {"format": INSTANCES})
        except BaseException:
            for one in written:
                one.unlink(missing_ok=True)
            raise
    return count


def part_name(number: int) -> str:
    """Name a part."""
    return f"part-{number:05d}{ENDING}"


def _folder_of(out: Path) -> Path:
    """Name the folder for parts: the output itself, or one beside a file until that is whole."""
    return part_of(out) if out.suffix.lower() == ENDING and not out.is_dir() else out


@contextmanager
def _claimed(out: Path) -> Iterator[Path]:
    """Make the folder for parts, for this process alone."""
    folder = _folder_of(out)
    if (is_special(folder) and not folder.is_dir()) or folder.is_file():
        raise FormatError(f"{folder}: is in the way: no folder")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"{out}: there is no folder {folder.parent}")
    folder.mkdir(exist_ok=True)
    if os.name == "nt":  # opens no folders
        yield folder
        return
    claim = os.open(folder, os.O_RDONLY)
    try:
        if not lock(claim):
            raise FormatError(f"{folder}: another process is at work on it")
        yield folder
    finally:
        os.close(claim)


def _close_folder(out: Path, folder: Path, told: dict[str, Any]) -> None:
    """Make one file of the parts, if that is what is wanted."""
    if folder == out:
        return
    paths = part_files(folder)
    join_files(paths, out, told)
    for path in paths:
        path.unlink()
    folder.rmdir()


def write_generated(
    out: Path, family: str, *, restart: bool = False, **given: Any
) -> Iterator[tuple[int, int]]:
    """Generate a set part by part; yield how many instances are there, and how many were before.

    Parts of the same set that are there already are kept.

    Raises
    ------
    FormatError
        If there is a torn part, or one of another set; it is named.
    """
    needs_pyarrow()
    if given["count"] < 1:
        raise FormatError(f"count = {given['count']}: a set needs at least one instance")
    generate_part(family, 0, **(given | {"count": 1}))  # refuses other values
    words = repr((__version__, family, sorted(given.items())))
    told = {"run": sha256(words.encode()).hexdigest(), "instances": given["count"]}
    part = told | {"family": family}
    numbers = range(part_count(given["count"]))
    names = {part_name(number) for number in numbers}
    with _claimed(out) as folder:
        there = _finished(folder, names, INSTANCES, told["run"], restart=restart)
        before = sum(
            PART if n != numbers[-1] else given["count"] - n * PART
            for n in numbers
            if part_name(n) in there
        )
        done = before
        yield done, before
        for number in numbers:
            if part_name(number) in there:
                continue
            instances = generate_part(family, number, **given)
            write_instances(folder / part_name(number), instances, part)
            done += len(instances)
            yield done, before
        _close_folder(out, folder, {"format": INSTANCES} | told)


def _finished(
    folder: Path, names: set[str], kind: str, run: str, *, restart: bool
) -> dict[str, dict[str, Any]]:
    """Find what is there of a run, and what each file says about itself."""
    found = {}
    old = []
    for path in part_files(folder):
        try:
            told = told_by(open_file(path))
        except FormatError:
            if not (restart and path.name in names and path.is_file()):
                raise
            old.append(path)
            continue
        same = told.get("run") == run and path.name in names and not restart
        if told.get("format") != kind or not (same or told.keys() >= _MARKS[kind]):
            raise FormatError(f"{path}: is in the way: no part of {_WORDS[kind]}")
        if restart:
            old.append(path)
        elif not same:
            raise FormatError(
                f"{path}: is of another run (instances, method, options or version differ); go "
                "on with that command, or begin anew with --restart"
            )
        else:
            found[path.name] = told
    for path in old:  # all of them, or none
        path.unlink()
    return found


_WORDS = {INSTANCES: "a set that was generated", PLANS: "a set of plans"}

_MARKS = {INSTANCES: {"run", "family"}, PLANS: {"run", "first"}}
"""What parts say about themselves that may be made again; other sets and whole files do not."""


class PlanParts:
    """Plans of a set, a file for each part of it, of one run.

    Attributes
    ----------
    folder
        Where the files are.
    out
        What is to be there in the end: the folder itself, or one file.
    run
        Digest of what decides on the plans: instances, method, options and version.
    """

    def __init__(self, out: Path, parts: Sequence[Part], settings: str) -> None:
        self.out = out
        self.parts = parts
        total = sha256(repr((__version__, settings)).encode())
        for part in parts:
            total.update(repr((part.name, part.first, part.count, part.digest)).encode())
        self.run = total.hexdigest()
        self.folder = _folder_of(out)
        for part in parts:
            if part.path.parent.resolve() == self.folder.resolve():
                raise FormatError(f"{out}: is the folder of the instances")
            if part.path.resolve() == out.resolve():
                raise FormatError(f"{out}: is the instances themselves, and would be lost")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Make the folder, and keep other processes out of it."""
        with _claimed(self.out):
            yield

    def resume(self, *, restart: bool) -> dict[str, Summary]:
        """Find the parts that are finished, by the names of their files.

        Raises
        ------
        FormatError
            If a file is torn, or of another run (unless that is to `restart`); it is named.
        """
        names = {part.name for part in self.parts}
        found = _finished(self.folder, names, PLANS, self.run, restart=restart)
        return {name: Summary(**told["summary"]) for name, told in found.items()}

    def finish(self, summary: Summary) -> None:
        """See that all parts are there, and make one file of them if that is wanted.

        Raises
        ------
        FormatError
            If one is missing or of another run: workers have written it elsewhere, or somebody
            else has been here.
        """
        end = time.monotonic() + PATIENCE
        while missing := {part.name for part in self.parts} - self.resume(restart=False).keys():
            if time.monotonic() > end:
                raise FormatError(
                    f"{self.folder / min(missing)}: is not here, though it was written: workers "
                    "and this machine must have the folder in common"
                )
            time.sleep(0.1)
        told = {"format": PLANS, "run": self.run, "summary": asdict(summary)}
        _close_folder(self.out, self.folder, told)


def finished_part(path: Path, run: str) -> Summary | None:
    """Give what the plans of a part come to, if they are there."""
    if not path.exists():
        return None
    told = told_by(open_file(path))
    return Summary(**told["summary"]) if told.get("run") == run else None


def plans_in(path: Path) -> Iterator[dict[str, Any]]:
    """Read plans of a Parquet file or a folder of them, as they are in JSON lines."""
    for one in part_files(path) if path.is_dir() else [path]:
        yield from plan_rows(one)
