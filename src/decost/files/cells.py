"""Sheets of cells, as a spreadsheet shows them, and complaints that name the cell."""

from __future__ import annotations

import codecs
import csv
import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from decost.files import limits
from decost.files.limits import FormatError
from decost.problem.validation import shortened

Value: TypeAlias = Any
"""What a cell holds: text, a number, a time, True or False; None if it is empty."""

MOST_FAULTS = 20
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True)
class Sheet:
    """A table as it stands in a file.

    Attributes
    ----------
    where
        The file, and the sheet if it has several.
    rows
        The cells of the rows that are not empty.
    numbers
        The number of each row in the file.
    word
        What a row is called there.
    comma
        The cells have commas between them, so that one in a number has to be looked at twice.
    """

    where: str
    rows: Sequence[Sequence[Value]]
    numbers: Sequence[int]
    word: str = "row"
    comma: bool = False


class TableError(FormatError):
    """A table cannot be read; each line of the message names a sheet, row, column and value."""

    def __init__(self, faults: Sequence[str]) -> None:
        more = len(faults) - MOST_FAULTS
        shown = ("".join(one if one.isprintable() else " " for one in line) for line in faults)
        told = islice(shown, MOST_FAULTS)
        self.faults = (*told, *([f"and {more} more"] if more > 0 else []))
        super().__init__("\n".join(self.faults))


class Faults:
    """What is wrong with tables, so that all of it can be said at once."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}  # in order, once each

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, where: str, why: str) -> None:
        """Note a fault."""
        line = f"{where}: {why}"
        self._lines[line if len(line) <= 500 else line[:497] + "..."] = None

    def add_cell(self, where: str, heading: str, value: Value, why: str) -> None:
        """Note a fault of a cell."""
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            value = str(value)
        shown = "" if value is None else f" = {shortened(value)}"
        self.add(f"{where}, {heading}{shown}", why)

    def meant(self, word: str | None, known: Iterable[str]) -> str:
        """Ask what may be meant, as long as anybody will read it."""
        return did_you_mean(word or "", known) if len(self._lines) < MOST_FAULTS else ""

    def refuse(self) -> None:
        """Raise an error if there are any."""
        if self._lines:
            raise TableError(list(self._lines))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give a question to add to a complaint, if there is something like it."""
    close = get_close_matches(word[:100], list(islice(known, 1000)), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


class Size:
    """Counts what a sheet has, and refuses too much of it."""

    def __init__(self, where: str, most: int = limits.MAX_CELLS) -> None:
        self._where = where
        self._most = most
        self._cells = self._full = 0

    def add(self, number: int, row: Sequence[Value]) -> None:
        """Count a row."""
        self._cells += len(row)
        self._full += any(row)
        for count, most, what in (
            (self._cells, self._most, "cells"),
            (self._full, limits.MAX_ROWS, "rows"),
            (number - self._full, limits.MAX_EMPTY_LINES, "empty rows"),
        ):
            if count > most:
                raise FormatError(f"{self._where}: row {number}: has more than {most} {what}")


def text_of(path: str | Path, data: bytes) -> str:
    """Read the bytes of a table: UTF-8, UTF-16 with a mark, or else the letters of Windows."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
        break
    raise FormatError(f"{path}: is no text")


def sheet_of_text(
    path: str | Path, text: str, known: Iterable[str] = (), most: int = limits.MAX_CELLS
) -> Sheet:
    """Take text apart into cells.

    Parameters
    ----------
    path
        The file.
    text
        What it holds.
    known
        Headings of which there should be some. The separator (comma, semicolon or tab) is the one
        that finds most of them, or makes most cells of the first line.
    most
        Most cells.
    """
    first = re.match(r"\s*sep=([,;\t])\r?\n", text)  # as some programs write it for others
    start = text[first.end() if first else 0 :][:100_000]
    separator = first[1] if first else _separator(start, set(known))
    reader = csv.reader(_lines(path, text), delimiter=separator, strict=True)
    size = Size(str(path), most)
    rows: list[list[Value]] = []
    numbers: list[int] = []
    try:
        for number, row in enumerate(reader, 1):
            size.add(number, row)
            if any(row) and not (first and number == 1):
                rows.append([unquoted(cell.strip()) or None for cell in row])
                numbers.append(number)
    except csv.Error as error:
        why = "a quote is not closed" if "end of data" in str(error) else error
        raise FormatError(f"{path}: line {reader.line_num}: {why}") from None
    sheet = Sheet(str(path), rows, numbers, comma=separator == ",")
    _require_one_separator(sheet, separator)
    return sheet


def _lines(path: str | Path, text: str) -> Iterator[str]:
    """Give the lines of a text, none of them far too long for a table."""
    for number, line in enumerate(StringIO(text, newline=""), 1):
        if len(line) > limits.MAX_LINE:
            raise FormatError(f"{path}: line {number}: is longer than {limits.MAX_LINE} characters")
        yield line


def _separator(start: str, known: set[str]) -> str:
    lines = [line for line in start.splitlines() if line.strip()][:20]

    def found(separator: str) -> tuple[int, int]:
        cells = [[plain(cell.strip('" ')) for cell in line.split(separator)] for line in lines]
        headings = max((len(known.intersection(row)) for row in cells), default=0)
        return headings, len(cells[0]) if cells else 0

    return max(_SEPARATORS, key=found)


def _require_one_separator(sheet: Sheet, separator: str) -> None:
    """Refuse rows that are all one cell, since another separator stands between their parts."""
    faults = Faults()
    if len(sheet.rows[0] if sheet.rows else []) < 2:
        return
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        others = [one for one in _SEPARATORS if one != separator and one in (row[0] or "")]
        if len(row) == 1 and others:
            words = f"{_SEPARATORS[others[0]]}s between its cells, the first row has"
            faults.add_cell(
                f"{sheet.where}: row {number}",
                "column A",
                row[0],
                f"there are {words} {_SEPARATORS[separator]}s",
            )
    faults.refuse()


def plain(heading: object) -> str:
    """Give a heading without case, marks, blanks and what stands in brackets."""
    text = re.sub(r"\(.*?\)|\[.*?\]", " ", str(heading)[:100]).casefold()  # no heading is longer
    return " ".join(re.findall(r"[^\W_]+|\*", text))


def quoted(text: str) -> str:
    """Write text so that no spreadsheet takes it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unquoted(text: str) -> str:
    """Read what `quoted` wrote."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def column_letter(index: int) -> str:
    """Name a column as spreadsheets do: A, B, ..., AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def text_of_rows(rows: Iterable[Sequence[Value]], separator: str) -> str:
    """Write rows as text with a separator between cells."""
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    for row in rows:
        writer.writerow([quoted(cell) if isinstance(cell, str) else cell for cell in row])
    return file.getvalue()
