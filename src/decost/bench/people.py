"""Vehicles of their own, alternatives and required stops: how much is proven."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Row, Tables
from decost.bench.tables import digits, grouped
from decost.method.result import gap_of


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method; gaps are to the method's own bounds."""
    groups = grouped(rows, "setting", "contender")
    table = []
    for setting in config.settings:
        for contender in config.methods:
            some = groups[setting.name, contender]
            gaps = [100 * (gap_of(row["profit"], row["bound"]) or 0.0) for row in some]
            open_gaps = [
                gap for gap, row in zip(gaps, some, strict=True) if row["status"] == "feasible"
            ]
            bounded = all(row["bound"] is not None for row in some)
            table.append(
                {
                    "setting": setting.name,
                    "method": str(contender),
                    "instances": str(len(some)),
                    "proven": str(sum(row["status"] == "optimal" for row in some)),
                    "infeasible": str(sum(row["status"] == "infeasible" for row in some)),
                    "incomplete": str(sum(row["status"] == "incomplete" for row in some)),
                    "mean profit": f"{fmean(row['profit'] for row in some):.2f}",
                    "mean gap (%)": f"{fmean(gaps):.2f}" if bounded else "",
                    "mean gap of the others (%)": (
                        f"{fmean(open_gaps):.2f}" if bounded and open_gaps else ""
                    ),
                    "largest gap (%)": f"{max(gaps):.2f}" if bounded else "",
                    "seconds": digits(fmean(row["seconds"] for row in some)),
                }
            )
    return {"": table}


BENCH = Bench.load("people", __doc__, Config, contest, summarise)
