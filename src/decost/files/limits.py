"""Limits on what is read, and the error that says what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 64 * 2**20
"""Largest instance or plan file, and largest line of a `.jsonl` set."""

MAX_SET_BYTES = 2**31
"""Largest set, unpacked."""

MAX_INSTANCES = 1_000_000
"""Most instances of a set that is read as a whole."""

MAX_OBJECTS = 200_000
"""Most `{` in an instance or plan: all that an instance may have, and more."""

MAX_LISTS = 300_000
"""Most `[` in an instance or plan; a piece of a profit is one."""

MAX_COLONS = 1_000_000
"""Most `:` in an instance or plan; every value of an object has one."""

MAX_COMMAS = 9_000_000
"""Most `,` in an instance or plan: a matrix of 3,000 places."""

MAX_NAMES = 2_000
"""Most names in one object of an instance or plan."""

MAX_VALUES = 20_000
"""Most values in one list of an instance or plan; a row of a matrix has a number for each place."""

MAX_EMPTY_LINES = 100_000
"""Most empty lines of a `.jsonl` set or a table."""

MAX_CELLS = 300_000
"""Most cells of a table."""

MAX_MATRIX_CELLS = 4_100_000
"""Most cells of a table of travel times."""

MAX_WORKBOOK_BYTES = 48 * 2**20
"""Largest workbook, unpacked."""

MAX_TEXT_BYTES = 8 * 2**20
"""Most text in the cells of a workbook, unpacked."""

MAX_PART_BYTES = 2**19
"""Largest other part of a workbook, such as its styles."""

MAX_TAGS = 400_000
"""Most XML tags of a workbook, and most attributes of them; a cell has about four."""

MAX_TAG = 2**18
"""Most bytes from one XML tag of a workbook to the next: a cell has 32,767 letters at most."""

MAX_COLUMNS = 500
"""Most columns of a table."""

MAX_ROWS = 25_000
"""Most rows of a table: as many as all alternatives and places of an instance."""

MAX_LINE = 2**20
"""Most characters of a line of a table."""

MAX_WORD = 200
"""Most characters of a cell that is no name and no list."""

MAX_WORDS = 100
"""Words of a line of a benchmark file that are looked at."""


class FormatError(ValueError):
    """A file cannot be read; the message names the file, the field and the value."""


def refusal(where: str | Path, error: Exception) -> FormatError:
    """Say what is wrong with a file in one line, which a long name in it does not flood."""
    why = str(error)
    return FormatError(f"{where}: {why if len(why) <= 500 else why[:497] + '...'}")


def require_size(path: str | Path, content: str | bytes, most: int) -> None:
    """Refuse what is longer than it may be."""
    if len(content) > most:
        raise FormatError(f"{path}: is larger than {most} bytes")


def require_count(path: str | Path, count: int) -> None:
    """Refuse a set of more instances than are read as a whole; packed, they may be a small file."""
    if count > MAX_INSTANCES:
        raise FormatError(
            f"{path}: holds more than {MAX_INSTANCES} instances: make it parts of Parquet, and "
            "solve it in parts (--out FOLDER)"
        )


def require_json(where: str | Path, text: str) -> None:
    """Refuse JSON that is far too much for an instance or a plan.

    A small object of text takes fifty times its space, and all of it a while.
    """
    require_size(where, text, MAX_BYTES)
    for sign, most in zip("{[:,", (MAX_OBJECTS, MAX_LISTS, MAX_COLONS, MAX_COMMAS), strict=True):
        if (count := text.count(sign)) > most:
            other = ": write such a matrix to a .npz file" * (sign == ",")
            raise FormatError(f"{where}: there are {count} of {sign!r}, at most {most}{other}")


def decoded(path: str | Path, data: bytes) -> str:
    """Read bytes as text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start} is not text (UTF-8)") from None
