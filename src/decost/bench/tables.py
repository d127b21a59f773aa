"""What the tables are made of: gaps to the proven optimum, means, and their text."""

from __future__ import annotations

import csv
import io
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from decost import TOLERANCE
from decost.bench.contender import Contender

Table: TypeAlias = list[dict[str, str]]
"""Lines of a table, each with the same columns; a unit is given as in "gap (%)"."""

AT_OPTIMUM = 1e-6
"""Gap in percent up to which a plan counts as optimal."""


def add_gaps(rows: Sequence[Mapping[str, Any]], prover: Contender) -> list[dict[str, Any]]:
    """Give every row its gap in percent to the best plan that its instance can have.

    Rows get `gap`, the `optimum` and whether that is `optimum_proven`. It is what the prover
    proved; where it did not, the least bound of any method takes its place.

    Raises
    ------
    ValueError
        If a plan is better than a bound of any method: one of the two must be wrong.
    """
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    for of, some in grouped(rows, "setting", "instance").items():
        proof = next(row for row in some if row["contender"] == prover)
        bounds = [row for row in some if row["bound"] is not None]
        if not bounds:
            raise ValueError(f"{of[0]}, instance {of[1]}: neither {prover} nor another has a bound")
        proven = any(row["status"] == "optimal" for row in bounds)
        if proof["status"] != "optimal":
            proof = min(bounds, key=itemgetter("bound"))
        best = max(some, key=itemgetter("profit"))
        for row in bounds:
            if best["profit"] > row["bound"] * (1 + TOLERANCE) + TOLERANCE:
                raise ValueError(
                    f"{of[0]}, instance {of[1]}: {best['contender']} earns {best['profit']}, "
                    f"more than the bound {row['bound']} of {row['contender']}"
                )
        known[of] = {"optimum": proof["bound"], "optimum_proven": proven}
    gaps = []
    for row in rows:
        new = {**row, **known[row["setting"], row["instance"]]}
        part = row["profit"] / new["optimum"] if new["optimum"] > 0 else 1.0
        gaps.append(new | {"gap": 100 * max(0.0, 1 - part)})
    return gaps


def grouped(
    rows: Iterable[Mapping[str, Any]], *columns: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Put rows that agree in some columns together, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def row_name(contender: Contender) -> str:
    """Name a contender beside the paper's figures, where our network is not to be taken for its."""
    if contender.method != "decost" or contender.label:
        return str(contender)
    weights = contender.get("weights")
    if weights == "paper":
        return f"{contender.without('weights')} (the paper's network)"
    return str(contender) if weights else f"{contender} (our network)"


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


def percent_over(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]] | None
) -> str:
    """Say by how many percent the mean profit is above that of others, if there are any."""
    return f"{100 * (mean(rows, 'profit') / mean(others, 'profit') - 1):.2f}" if others else ""


@cache
def read_toml(name: str) -> dict[str, Any]:
    """Read a file of this package: the scales, or the paper's figures."""
    return tomllib.loads(files("decost.bench").joinpath(name).read_text("utf-8"))


def paper_columns(bench: str, setting: str, method: str) -> dict[str, str]:
    """Give the columns of the paper's figures for a line of a table, empty where it has none."""
    of_bench = read_toml("paper.toml")[bench]
    names = of_bench["columns"]
    cells = of_bench.get(setting, {}).get(method, [""] * len(names))
    return {f"paper's {name}": cell for name, cell in zip(names, cells, strict=True)}


def counterpart(contender: Contender) -> str:
    """Name the paper's method that a contender stands for, as among its figures."""
    left_out = ["time_limit", "seed", "solver", "solver_threads"]
    if contender.get("weights") == "paper":
        left_out.append("weights")
    return str(contender.without(*left_out))


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
    cells = [[with_unit(name, cell) for name, cell in line.items()] for line in table]
    lines = [heading, ["---"] * len(heading), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_unit(name: str, cell: str) -> str:
    """Give a cell of a column the percent sign that stands in its heading."""
    return cell + "%" if cell and name.endswith("(%)") else cell


@cache
def machine_name() -> str:
    """Name the machine, with the number of cores that may be used."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    share = f"{usable} of {cores}" if usable < cores else f"{cores}"
    return f"{_processor()}, {share} cores, Python {platform.python_version()}"


def speed() -> str:
    """Tell the load of the machine, and how long it takes to add up ten million numbers."""
    seconds = timed(lambda: sum(range(10**7)))
    return f"load {load():.1f}; sum(range(10**7)) took {seconds:.2f} s"


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
