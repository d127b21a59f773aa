"""Tables of travel times, with the names of places in the first row and the first column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from decost.files.cells import MOST_FAULTS, Faults, Sheet
from decost.files.columns import Style, number
from decost.problem.fields import FloatArray


def matrix_of(sheet: Sheet, names: Sequence[str], faults: Faults) -> FloatArray:
    """Read travel times between places that are named in the first row and the first column."""
    matrix = np.zeros((len(names), len(names)))
    style = Style(minutes=False, comma=sheet.comma)
    if not sheet.rows:
        faults.add(sheet.where, "is empty")
        return matrix
    head = [None if cell is None else str(cell).strip() for cell in sheet.rows[0]]
    columns = {name: k for k, name in enumerate(head) if k and name is not None}
    rows = {str(row[0]): (n, row) for n, row in zip(sheet.numbers[1:], sheet.rows[1:], strict=True)}
    for kind, there in (("column", columns), ("row", rows)):
        for name in dict.fromkeys(names):
            if name not in there:
                faults.add(
                    sheet.where, f"there is no {kind} for {name!r}{faults.meant(name, there)}"
                )
    first = [str(row[0]) for row in sheet.rows[1:]]
    for kind, found in (("columns", Counter(head[1:])), ("rows", Counter(first))):
        for name in dict.fromkeys(names):
            if found[name] > 1:
                faults.add(sheet.where, f"there are two {kind} for {name!r}")
    if faults:
        return matrix
    chosen = [columns[name] for name in names]
    for k, name in enumerate(names):
        row_number, row = rows[name]
        cells = [row[column] if column < len(row) else None for column in chosen]
        try:
            matrix[k] = np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):
            for other, cell in enumerate(cells):
                try:
                    matrix[k, other] = number(cell, style)
                except ValueError as error:
                    where = f"{sheet.where}: {sheet.word} {row_number}"
                    faults.add_cell(where, names[other], cell, f"{error}, from {name!r}")
    for k, other in np.argwhere(~((matrix >= 0) & (matrix < np.inf)))[:MOST_FAULTS].tolist():
        where = f"{sheet.where}: {sheet.word} {rows[names[k]][0]}"
        value = float(matrix[k, other])
        faults.add_cell(where, names[other], value, "must be finite, not negative")
    return matrix
