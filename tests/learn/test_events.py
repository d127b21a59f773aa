"""Tests of event files: read back by a decoder of the test's own, and by TensorBoard's."""

from __future__ import annotations

import math
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost.learn.events import EventWriter, crc32c


def slow_crc32c(data: bytes) -> int:
    """Divide by the polynomial bit by bit, as long division on paper, highest power first."""
    bits = [byte >> k & 1 for byte in data for k in range(8)] + [0] * 32
    for k in range(32):
        bits[k] ^= 1
    polynomial = [int(bit) for bit in f"{0x11EDC6F41:b}"]
    for k in range(len(bits) - 32):
        if bits[k]:
            for j, bit in enumerate(polynomial):
                bits[k + j] ^= bit
    return sum((bit ^ 1) << k for k, bit in enumerate(bits[-32:]))


def unmask(checksum: int) -> int:
    """Undo the masking of a checksum."""
    rotated = (checksum - 0xA282EAD8) % 2**32
    return (rotated >> 17 | rotated << 15) % 2**32


def read_records(path: Path) -> list[bytes]:
    """Take a file apart, and check its checksums."""
    content, records = path.read_bytes(), []
    while content:
        length, length_check = struct.unpack_from("<QI", content)
        record = content[12 : 12 + length]
        (check,) = struct.unpack_from("<I", content, 12 + length)
        assert unmask(length_check) == slow_crc32c(content[:8])
        assert unmask(check) == slow_crc32c(record)
        records.append(record)
        content = content[16 + length :]
    return records


def read_fields(message: bytes) -> dict[int, Any]:
    """Take a protocol buffer apart: values by the numbers of their fields."""

    def varint() -> int:
        nonlocal message
        value = 0
        for k in range(10):
            byte, message = message[0], message[1:]
            value += (byte % 128) * 128**k
            if byte < 128:
                return value
        raise AssertionError("too long")

    fields: dict[int, Any] = {}
    while message:
        number, kind = divmod(varint(), 8)
        if kind == 0:
            fields[number] = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, message = message[:size], message[size:]
            assert len(value) == size
            form = {1: "<d", 5: "<f"}.get(kind)
            fields[number] = struct.unpack(form, value)[0] if form else value
    return fields


def read_scalars(path: Path) -> list[tuple[str, float, int]]:
    """Read all scalars of a file after the event of its version."""
    first, *events = map(read_fields, read_records(path))
    assert first.pop(1) == pytest.approx(time.time(), abs=600)
    assert first == {3: b"brain.Event:2"}
    scalars = []
    for event in events:
        assert event.keys() == {1, 2, 5}
        assert event[1] == pytest.approx(time.time(), abs=600)
        step = event[2] - 2**64 if event[2] >= 2**63 else event[2]
        summary = read_fields(event[5])
        assert summary.keys() == {1}
        value = read_fields(summary[1])
        assert value.keys() == {1, 2}
        scalars.append((value[1].decode(), value[2], step))
    return scalars


SCALARS = [
    ("gap", 12.5, 0),
    ("gap", 0.0, 1),
    ("profit/mean", -3.25 * 2.0**90, 127),
    ("profit/mean", 1.0, 128),
    ("größe", 2.0**-140, 2**31),
    ("x" * 300, -1.0, 2**62),
    ("before", 1.0, -1),
]


def test_known_checksum() -> None:
    """The checksum of the nine digits is the one that the definition gives."""
    assert crc32c(b"123456789") == 0xE3069283
    assert slow_crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


@given(data=st.binary(max_size=40))
def test_checksum(data: bytes) -> None:
    """The table gives what division bit by bit does."""
    assert crc32c(data) == slow_crc32c(data)


def test_scalars_are_read_back(tmp_path: Path) -> None:
    """What was written is what is read, in order, by a decoder that shares no code."""
    with EventWriter(tmp_path) as writer:
        for scalar in SCALARS:
            writer.scalar(*scalar)
    assert read_scalars(writer.path) == SCALARS


def test_values_become_32_bits(tmp_path: Path) -> None:
    """A value is rounded, and one beyond the range is infinite."""
    values = (0.1, 1e300, -1e300, math.inf, math.nan)
    with EventWriter(tmp_path) as writer:
        for value in values:
            writer.scalar("value", value, 0)
    found = [value for _, value, _ in read_scalars(writer.path)]
    assert found[0] == pytest.approx(0.1, rel=1e-7)
    assert found[1:4] == [math.inf, -math.inf, math.inf]
    assert math.isnan(found[4])


def test_step_must_fit(tmp_path: Path) -> None:
    """A step of more than 64 bits is an error, and leaves the file whole."""
    with EventWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="must fit into 64 bits"):
            writer.scalar("gap", 1.0, 2**63)
        writer.scalar("gap", 1.0, 2**63 - 1)
    assert read_scalars(writer.path) == [("gap", 1.0, 2**63 - 1)]


def test_file_name(tmp_path: Path) -> None:
    """The folder is made, the name is TensorBoard's, and a second file does not replace it."""
    folder = tmp_path / "runs" / "first"
    with EventWriter(folder) as first, EventWriter(str(folder)) as second:
        assert first.path != second.path
    for path in (first.path, second.path):
        assert path.parent == folder
        assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\.\w+", path.name)
        assert read_scalars(path) == []


def test_each_scalar_is_written_at_once(tmp_path: Path) -> None:
    """Another reader sees it while the file is open, and a process that is ended loses none."""
    writer = EventWriter(tmp_path / "a")
    for count in range(1, 4):
        writer.scalar("gap", 1.0, count)
        assert len(read_scalars(writer.path)) == count
    writer.close()
    code = (
        "import os, sys\n"
        "from decost.learn.events import EventWriter\n"
        "EventWriter(sys.argv[1]).scalar('gap', 2.5, 7)\n"
        "os._exit(3)"  # neither closes nor flushes
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "b")], check=False)
    assert done.returncode == 3
    (path,) = (tmp_path / "b").iterdir()
    assert read_scalars(path) == [("gap", 2.5, 7)]


def test_closed_after_the_block(tmp_path: Path) -> None:
    """After the block, an error in it or not, nothing can be written; closing again is fine."""
    with pytest.raises(KeyError), EventWriter(tmp_path) as writer:
        raise KeyError
    with pytest.raises(ValueError, match="closed"):
        writer.scalar("gap", 1.0, 1)
    writer.close()


@pytest.mark.filterwarnings("ignore")  # what TensorBoard's own imports warn of
def test_tensorboard_reads_them(tmp_path: Path) -> None:
    """TensorBoard's own reader finds the same values, over two files of one run."""
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for steps in (range(3), range(3, 6)):
        with EventWriter(tmp_path) as writer:
            for step in steps:
                writer.scalar("gap", 1 / (1 + step), step)
                writer.scalar("profit/mean", 100.0 * step, step)
        writer.path.rename(writer.path.with_name(f"{writer.path.name[:29]}{steps.start:02d}.x"))
    found = reader.EventAccumulator(str(tmp_path)).Reload()
    assert sorted(found.Tags()["scalars"]) == ["gap", "profit/mean"]
    gaps = [(event.step, event.value) for event in found.Scalars("gap")]
    assert gaps == [(step, pytest.approx(1 / (1 + step))) for step in range(6)]
    profits = [(event.step, event.value) for event in found.Scalars("profit/mean")]
    assert profits == [(step, 100.0 * step) for step in range(6)]
    assert found.Scalars("gap")[0].wall_time == pytest.approx(time.time(), abs=600)
