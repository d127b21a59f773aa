"""Sets as lines of JSON (`.jsonl`)."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from decost.files import limits
from decost.files.instances import instance_of
from decost.files.json import parsed
from decost.files.limits import FormatError
from decost.problem.instance import Instance, InstanceError


def holds_lines(path: Path, data: bytes) -> bool:
    """Whether every line is a JSON object of its own; of a single line the ending decides."""
    first, _, rest = data.removeprefix(codecs.BOM_UTF8).strip().partition(b"\n")
    whole = first.startswith(b"{") and first.rstrip().endswith(b"}")
    return whole and (rest.lstrip().startswith(b"{") or (path.suffix == ".jsonl" and not rest))


def lines_of(path: str | Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Give the lines of a file that are not empty, with their numbers from 1."""
    total = empty = 0
    for number, line in enumerate(iter(lambda: file.readline(limits.MAX_BYTES + 1), b""), start=1):
        total += len(line)
        where = f"{path}: line {number}"
        limits.require_size(where, line, limits.MAX_BYTES)
        if total > limits.MAX_SET_BYTES:
            raise FormatError(f"{where}: the set is larger than {limits.MAX_SET_BYTES} bytes")
        text = limits.decoded(where, line)
        if text.strip():
            yield number, text
            continue
        empty += 1
        if empty > limits.MAX_EMPTY_LINES:
            raise FormatError(f"{path}: has more than {limits.MAX_EMPTY_LINES} empty lines")


def read_lines(path: Path, data: bytes) -> list[Instance]:
    """Read a set of instances, one a line."""
    instances: list[Instance] = []
    for number, line in lines_of(path, BytesIO(data)):
        limits.require_count(path, len(instances) + 1)
        where = f"{path}: line {number}"
        try:
            instances.append(instance_of(where, parsed(where, line)))
        except InstanceError as error:
            raise limits.refusal(where, error) from None
    return instances
