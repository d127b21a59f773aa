"""Workbooks (`.xlsx`): their sheets as cells, and back.

Formulas are not worked out: a cell is what the program that saved the file has worked out.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from decost.files import limits
from decost.files.cells import (
    MOST_FAULTS,
    Faults,
    Sheet,
    Size,
    Value,
    column_letter,
    quoted,
    unquoted,
)
from decost.files.limits import FormatError
from decost.problem.validation import shortened

MOST_SHEETS = 20
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^<>]*\bref="([A-Z]+\d+:[A-Z]+\d+)"')
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "is an old or encrypted workbook: save it as .xlsx without a password",
}


def holds_workbook(data: bytes) -> bool:
    """Whether these are the bytes of a workbook, also of one that cannot be read."""
    if data.startswith(tuple(_OTHERS)):
        return True
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return b"xl/" in data[:10_000] or b"[Content_Types].xml" in data[:10_000]
    return not {"[Content_Types].xml", "mimetype", "xl/workbook.xml"}.isdisjoint(names)


def sheets_of_workbook(path: str | Path, data: bytes) -> dict[str, Sheet]:
    """Take a workbook apart into sheets, by their names."""
    for mark, why in _OTHERS.items():
        if data.startswith(mark):
            raise FormatError(f"{path}: {why}")
    _require_harmless(path, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and the like, which are not looked at
        return _sheets(path, data)


def _sheets(path: str | Path, data: bytes) -> dict[str, Sheet]:
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
        formulas = None
        if len(book.worksheets) > MOST_SHEETS:
            raise FormatError(f"{path}: has more than {MOST_SHEETS} sheets")
        faults = Faults()
        sheets = {}
        for sheet in book.worksheets:
            where = f"{path}: sheet {sheet.title!r}"
            with zipfile.ZipFile(BytesIO(data)) as archive:
                xml = archive.read(sheet._worksheet_path)
            for merged in islice(_MERGED.findall(xml), MOST_FAULTS):
                faults.add(f"{where}: {merged.decode()}", "are merged cells: split them")
            found = _sheet(where, sheet, faults)
            if re.search(rb"<(?:\w+:)?f\b", xml):
                if formulas is None:
                    formulas = openpyxl.load_workbook(BytesIO(data), read_only=True)
                _require_values(where, found, formulas[sheet.title], faults)
            sheets[sheet.title] = found
    except FormatError:
        raise
    except Exception as error:  # openpyxl raises all sorts on a broken file
        raise FormatError(f"{path}: broken .xlsx file: {error}") from None
    faults.refuse()
    return sheets


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise FormatError(
            "workbooks need the extra 'tables': pip install 'decost[tables]'; or save it as .csv"
        ) from None
    return openpyxl


def _require_harmless(path: str | Path, data: bytes) -> None:
    """Refuse a workbook that is too large unpacked, or is none."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            if size > limits.MAX_WORKBOOK_BYTES:
                raise FormatError(
                    f"{path}: is {size} bytes unpacked, at most {limits.MAX_WORKBOOK_BYTES}"
                )
            names = {entry.filename for entry in entries}
            tags = signs = 0
            for entry in entries:
                if not entry.filename.endswith((".xml", ".rels")):
                    continue  # pictures are not looked at
                most = _most_bytes(entry.filename)
                if entry.file_size > most:
                    raise FormatError(
                        f"{path}: {entry.filename}: is {entry.file_size} bytes, at most {most}"
                    )
                part = archive.read(entry)
                tags += part.count(b"<")
                signs += part.count(b"=")  # of attributes
                if max(tags, signs) > limits.MAX_TAGS:
                    raise FormatError(
                        f"{path}: {entry.filename}: has more than {limits.MAX_TAGS} marks, about "
                        f"{limits.MAX_TAGS // 4} cells: save it as .csv"
                    )
                longest = max(map(len, part.split(b"<")))
                if longest > limits.MAX_TAG:  # attributes without end take a reader minutes
                    raise FormatError(
                        f"{path}: {entry.filename}: has a mark or a text of {longest} bytes, at "
                        f"most {limits.MAX_TAG}"
                    )
                if b"<!DOCTYPE" in part.replace(b"\0", b""):
                    raise FormatError(f"{path}: {entry.filename}: has a DOCTYPE, which is refused")
    except FormatError:
        raise
    except Exception as error:  # zipfile raises all sorts on a broken file
        raise FormatError(f"{path}: broken .xlsx file: {error}") from None
    if "xl/workbook.xml" not in names:
        raise FormatError(f"{path}: is no workbook that can be read: save it as .xlsx or .csv")


def _most_bytes(part: str) -> int:
    """How large a part of a workbook may be; all but the cells are read as a whole."""
    if part.startswith("xl/worksheets/"):
        return limits.MAX_WORKBOOK_BYTES
    return limits.MAX_TEXT_BYTES if part == "xl/sharedStrings.xml" else limits.MAX_PART_BYTES


def _sheet(where: str, sheet: Any, faults: Faults) -> Sheet:
    rows: list[list[Value]] = []
    numbers: list[int] = []
    for number, row in _rows(where, sheet):
        values = [_value(cell.value) for cell in row]
        for index, cell in enumerate(row):
            if cell.data_type == "e":
                place = f"{where}: row {number}"
                faults.add_cell(place, f"column {column_letter(index)}", cell.value, "is an error")
        if any(value is not None for value in values):
            rows.append(values)
            numbers.append(number)
    return Sheet(where, rows, numbers)


def _rows(where: str, sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    sheet.reset_dimensions()  # what a file claims of its size need not be so
    size = Size(where)
    for number, row in enumerate(sheet.iter_rows(), 1):
        size.add(number, row)
        yield number, row


def _value(value: Value) -> Value:
    return unquoted(value.strip()) or None if isinstance(value, str) else value


def _require_values(where: str, found: Sheet, sheet: Any, faults: Faults) -> None:
    """Note formulas that nobody has worked out."""
    known = dict(zip(found.numbers, found.rows, strict=True))
    for number, row in _rows(where, sheet):
        values = known.get(number, ())
        for index, cell in enumerate(row):
            if cell.data_type == "f" and (index >= len(values) or values[index] is None):
                faults.add_cell(
                    f"{where}: row {number}",
                    f"column {column_letter(index)}",
                    str(cell.value),
                    "the formula has no value: open and save the file in a spreadsheet, or write "
                    "the value",
                )


def workbook_of_rows(sheets: Mapping[str, Sequence[Sequence[Value]]]) -> bytes:
    """Write sheets of rows; no text becomes a formula."""
    openpyxl = _openpyxl()
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    made = [book.create_sheet(title) for title in sheets]  # a name may be refused
    for value in (value for rows in sheets.values() for row in rows for value in row):
        if isinstance(value, str) and ILLEGAL_CHARACTERS_RE.search(value):
            raise FormatError(f"a workbook cannot hold the letters of {shortened(value)}")
    for sheet, rows in zip(made, sheets.values(), strict=True):
        sheet.freeze_panes = "B2"
        for row in rows:
            cells = []
            for value in row:
                if isinstance(value, float) and float(f"{value:.15g}") != value:
                    value = repr(value)  # a workbook keeps 15 digits of a number
                cell = WriteOnlyCell(sheet, quoted(value) if isinstance(value, str) else value)
                if isinstance(value, str):
                    cell.data_type = "s"
                cells.append(cell)
            sheet.append(cells)
    file = BytesIO()
    book.save(file)
    return file.getvalue()
