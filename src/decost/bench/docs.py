"""Fills the tables and numbers of the pages from measured files: `make tables`.

A table stands between two comments, which nobody sees on the page:

    <!-- table: main-full; where setting is n=50, TW=100; method; gap (%) -->
    <!-- end -->

The first part names a CSV file in docs/results/data, and each other part is one of these:

    COLUMN                 a column as it is
    HEADING = TEMPLATE     a column made of others: "proven = {proven} of {number}"
    where A is B           only rows in which column A is B, a text or a template; or "is not"
    where A                only rows in which column A is not empty
    rows A                 with `by`: a line for each value of column or template A
    by B                   a column for each value of column or template B; TEMPLATE fills the cells

Without columns all are shown. A number in a sentence is followed by the same, with one row and
one column or template: 0.66%<!-- = main-full; where method is decost; gap (%) -->. The tables
"benches" and "scales" are those of `decost bench` itself, and "abilities" is that of the methods.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from decost.bench import BenchError, list_benches
from decost.bench.tables import Table, markdown, with_unit
from decost.files.writing import write_text
from decost.planner.abilities import abilities

DATA = Path("docs/results/data")
"""Where the measured files are, from the root of the project."""

_TABLE = re.compile(r"(<!-- table: ([^>]*?) -->\n).*?(<!-- end -->)", re.S)
_NUMBER = re.compile(r"([-+\d.,e%]+)(<!-- = ([^>]*?) -->)")
_WHERE = re.compile(r"where (.+?)(?: is (not )?(.*))?", re.S)
_FIELD = re.compile(r"\{([^{}]*)\}")
_EMPTY = re.compile(r"\s*\(\)")


def fill(page: str, read: Callable[[str], Table]) -> str:
    """Fill all tables and numbers of a page.

    Parameters
    ----------
    page
        The text in Markdown.
    read
        Gives the rows of the file of a name.

    Raises
    ------
    BenchError
        If a marker cannot be understood, or asks for what its file does not hold.
    """
    for begin, known in (("<!-- table:", _TABLE), ("<!-- =", _NUMBER)):
        if page.count(begin) != len(known.findall(page)):
            raise BenchError(f"a marker {begin} ... --> has no end, or no number before it")

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{markdown(view(match[2], read))}\n\n{match[3]}"

    def number(match: re.Match[str]) -> str:
        lines = view(match[3], read)
        if [len(line) for line in lines] != [1]:
            raise BenchError(f"{match[3]!r}: gives {len(lines)} rows, not one cell")
        return "".join(lines[0].values()) + match[2]

    return _NUMBER.sub(number, _TABLE.sub(table, page))


def view(marker: str, read: Callable[[str], Table]) -> Table:
    """Make the table that a marker asks for."""
    name, *parts = (" ".join(part.split()) for part in marker.split(";"))
    rows = read(name)
    over, by = "", ""
    columns: dict[str, str] = {}
    for part in parts:
        if match := _WHERE.fullmatch(part):
            column, no, value = match.groups()
            wanted = partial(_agrees, column, value, bool(no))
            rows = [row for row in rows if wanted(row, marker)]
        elif part.startswith("rows "):
            over = part.removeprefix("rows ")
        elif part.startswith("by "):
            by = part.removeprefix("by ")
        else:
            heading, equals, template = part.partition(" = ")
            columns[heading.removesuffix(" (%)")] = template if equals else part
    if not rows:
        raise BenchError(f"{marker!r}: there are no such rows")
    if by:
        return _pivot(rows, over, by, *columns.values(), marker=marker)
    columns = columns or {heading.removesuffix(" (%)"): heading for heading in rows[0]}
    return [{key: _cell(row, text, marker) for key, text in columns.items()} for row in rows]


def _agrees(column: str, value: str | None, no: bool, row: Mapping[str, str], marker: str) -> bool:
    if value is None:
        return _raw(row, column, marker) != ""
    filled = _FIELD.sub(lambda match: _raw(row, match[1], marker), value)
    return (_raw(row, column, marker) == filled) != no


def _pivot(
    rows: Sequence[Mapping[str, str]], over: str, by: str, cell: str, *, marker: str
) -> Table:
    """Put rows side by side: a line for each of `over`, and a column for each of `by`."""
    lines: dict[str, dict[str, str]] = {}
    headings = dict.fromkeys(_cell(row, by, marker) for row in rows)
    corner = "" if "{" in over else over
    for row in rows:
        first = _cell(row, over, marker)
        line = lines.setdefault(first, {corner: first} | dict.fromkeys(headings, ""))
        line[_cell(row, by, marker)] = _cell(row, cell, marker)
    return list(lines.values())


def _cell(row: Mapping[str, str], text: str, marker: str) -> str:
    """Take a column, or fill a template; brackets around nothing are left out."""
    template = text if "{" in text else f"{{{text}}}"
    return _EMPTY.sub("", _FIELD.sub(lambda one: _shown(row, one[1], marker), template)).strip()


def _shown(row: Mapping[str, str], column: str, marker: str) -> str:
    """Write a cell as a page does: with units, long numbers in groups, and methods as code."""
    cell = _raw(row, column, marker)
    if column == "method":
        method, bracket, remark = cell.partition(" (")
        return f"`{method}`{bracket}{remark}"
    return with_unit(column, f"{int(cell):,}" if cell.isdigit() and len(cell) > 4 else cell)


def _raw(row: Mapping[str, str], column: str, marker: str) -> str:
    if column not in row:
        raise BenchError(f"{marker!r}: there is no column {column!r}, only {', '.join(row)}")
    return row[column]


def read_data(root: Path, name: str) -> Table:
    """Read a measured file, or list what `decost bench` has.

    Raises
    ------
    BenchError
        If there is no such file.
    """
    if name == "benches":
        return [{"name": f"`{one.name}`", "what it is": one.title} for one in list_benches()]
    if name == "abilities":
        return abilities()
    if name == "scales":
        return [
            {"name": f"`{one.name}`", "quick": one.quick.reduced, "full": one.full.reduced}
            for one in list_benches()
        ]
    path = root / DATA / f"{name}.csv"
    if not path.is_file():
        raise BenchError(f"{name!r}: there is no file {path}")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pages(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Give each page with its text, and with the text that it should have.

    Raises
    ------
    BenchError
        If a marker of a page is wrong.
    """
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        if root / DATA not in path.parents:
            text = path.read_text(encoding="utf-8")
            try:
                yield path, text, fill(text, partial(read_data, root))
            except BenchError as error:
                raise BenchError(f"{path}: {error}") from None


def main() -> None:
    """Rewrite the pages of the project in which this is run."""
    try:
        for path, before, after in pages(Path()):
            if after != before:
                write_text(path, after)
                print(f"wrote {path}")
    except (BenchError, OSError) as error:
        sys.exit(f"decost: {error}")


if __name__ == "__main__":
    main()
