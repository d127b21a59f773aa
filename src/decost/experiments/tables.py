"""What the tables are made of: gaps to the proven optimum, means, and their text."""

from __future__ import annotations

import csv
import io
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from decost.instance import TOLERANCE

Table: TypeAlias = list[dict[str, str]]
"""Lines of a table, each with the same columns; a unit is given as in "gap (%)"."""

AT_OPTIMUM = 1e-6
"""Gap in percent up to which a plan counts as optimal."""


def add_gaps(rows: Sequence[Mapping[str, Any]], prover: str) -> list[dict[str, Any]]:
    """Give every row its gap in percent to what the prover proved of its instance.

    Rows get `gap`, the `optimum` (a bound where the proof is missing) and whether that is
    `optimum_proven`.

    Raises
    ------
    ValueError
        If a plan is better than a proven bound: one of the two must be wrong.
    """
    proofs = {(row["setting"], row["instance"]): row for row in rows if row["method"] == prover}
    gaps = []
    for row in rows:
        proof = proofs[row["setting"], row["instance"]]
        bound = proof["bound"]
        if row["profit"] > bound * (1 + TOLERANCE) + TOLERANCE:
            raise ValueError(
                f"{row['setting']}, instance {row['instance']}: {row['method']} earns "
                f"{row['profit']}, more than the bound {bound} of {prover}"
            )
        gap = 100 * max(0.0, 1 - row["profit"] / bound) if bound > 0 else 0.0
        gaps.append(
            {**row, "gap": gap, "optimum": bound, "optimum_proven": proof["status"] == "optimal"}
        )
    return gaps


def grouped(
    rows: Iterable[Mapping[str, Any]], *columns: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Put rows that agree in some columns together, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def mean(rows: Iterable[Mapping[str, Any]], column: str) -> float:
    """Mean of a column."""
    return float(np.mean([row[column] for row in rows]))


def performance(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Say how a method did on some instances: score, gap, proofs, and times."""
    reached = [row["reached"] for row in rows if row["reached"] is not None]
    return {
        "instances": str(len(rows)),
        "score": f"{mean(rows, 'profit'):.4f}",
        "optimum": f"{mean(rows, 'optimum'):.4f}",
        "gap (%)": f"{mean(rows, 'gap'):.2f}",
        "at optimum": str(sum(row["gap"] <= AT_OPTIMUM for row in rows)),
        "proven by it": str(sum(row["status"] == "optimal" for row in rows)),
        "optima proven": str(sum(row["optimum_proven"] for row in rows)),
        "time (ms)": digits(1e3 * mean(rows, "seconds")),
        "best after (ms)": digits(1e3 * float(np.mean(reached))) if reached else "",
        "batch": str(max(row["batch"] for row in rows)),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, standard deviation, median, quartiles, least and largest of some values."""
    low, middle, high = np.percentile(values, (25, 50, 75))
    numbers = (np.mean(values), np.std(values), middle, low, high, np.min(values), np.max(values))
    names = ("mean", "std", "median", "q25", "q75", "min", "max")
    return dict(zip(names, map(float, numbers), strict=True))


def digits(value: float, least: int = 3) -> str:
    """Write a number with so many significant digits, and never with an exponent."""
    if value == 0:
        return "0"
    places = least - 1 - int(np.floor(np.log10(abs(value))))
    return f"{value:.{min(max(places, 0), 9)}f}"


def csv_text(table: Table) -> str:
    """Write a table as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def markdown(table: Table) -> str:
    """Write a table as Markdown; percentages get their sign."""
    if not table:
        return ""
    heading = [name.removesuffix(" (%)") for name in table[0]]
    lines = [
        [cell + "%" if cell and name.endswith("(%)") else cell for name, cell in line.items()]
        for line in table
    ]
    return markdown_table(heading, lines)


def markdown_table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a heading and rows as Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine() -> str:
    """Name the machine, its load, and how long it takes to add up ten million numbers."""
    seconds = timed(lambda: sum(range(10**7)))
    return (
        f"{_processor()}, {os.cpu_count()} cores, load {load():.1f}, "
        f"Python {platform.python_version()}; sum(range(10**7)) takes {seconds:.2f} s"
    )


def load() -> float:
    """Mean number of processes at work in the last minute; not a number if not known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _processor() -> str:
    """Name the processor as the system does, or at least its kind."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return " ".join(filter(None, (platform.machine(), *names[:1])))
