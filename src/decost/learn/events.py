"""Event files that TensorBoard shows: scalars by step, written without its package.

A file is a row of records, each with two checksums; a record is a small protocol buffer. Both
are simple enough to write by hand.
"""

from __future__ import annotations

import math
import secrets
import struct
import time
from pathlib import Path
from types import TracebackType
from typing import Self


class EventWriter:
    """Writes scalars to a new event file; each is on its way to the disk at once.

    Parameters
    ----------
    folder
        Where to put the file; it is made if need be. TensorBoard takes the files of one
        folder for one run, so a training that goes on later can use it again.

    Attributes
    ----------
    path
        The file.
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self.path = folder / f"events.out.tfevents.{int(now):010d}.{secrets.token_hex(4)}"
        self._file = self.path.open("xb")
        self._write(_double(1, now) + _bytes(3, b"brain.Event:2"))

    def scalar(self, tag: str, value: float, step: int) -> None:
        """Write a value.

        Parameters
        ----------
        tag
            Name of the curve; those with the same text before a slash are shown together.
        value
            The value. It is rounded to 32 bits.
        step
            Where on the curve it is.
        """
        scalar = _bytes(1, tag.encode()) + _float(2, value)
        self._write(_double(1, time.time()) + _integer(2, step) + _bytes(5, _bytes(1, scalar)))

    def close(self) -> None:
        """Close the file; nothing can be written after that."""
        self._file.close()

    def __enter__(self) -> Self:
        """Give the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()  # so that nothing is lost if the training is ended


# Records


def _make_table() -> tuple[int, ...]:
    """Remainders of all bytes by Castagnoli's polynomial, lowest bit first."""
    table = []
    for remainder in range(256):
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
        table.append(remainder)
    return tuple(table)


_TABLE = _make_table()


def crc32c(data: bytes) -> int:
    """Work out the CRC-32C checksum, with Castagnoli's polynomial."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder = remainder >> 8 ^ _TABLE[(remainder ^ byte) & 0xFF]
    return remainder ^ 0xFFFFFFFF


def _checksum(data: bytes) -> bytes:
    """Mask the checksum as the format does, lest it be part of what is checked elsewhere."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# Fields of a protocol buffer: a number and a wire type, then the value.


def _varint(value: int) -> bytes:
    """Seven bits a byte, lowest first; all but the last have the highest bit set."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _integer(field: int, value: int) -> bytes:
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"step = {value}: must fit into 64 bits")
    return _varint(field << 3) + _varint(value & 2**64 - 1)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _float(field: int, value: float) -> bytes:
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, value))
    return _varint(field << 3 | 5) + packed
