"""Methods of your choice side by side, by default ils in its variants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Row, Tables
from decost.bench.tables import AT_OPTIMUM, add_gaps, grouped, mean


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and contender."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting, contender in product(config.settings, config.methods):
        some = groups[setting.name, contender]
        gaps = np.array([row["gap"] for row in some])
        loads = [row["load"] for row in some if row["load"] is not None]
        table.append(
            {
                "setting": setting.name,
                "method": str(contender),
                "mean gap": f"{gaps.mean():.3f}%",
                "median": f"{np.median(gaps):.3f}%",
                "largest": f"{gaps.max():.2f}%",
                "optimal": f"{100 * (gaps <= AT_OPTIMUM).mean():.0f}%",
                "profit": f"{mean(some, 'profit'):.4f}",
                "ms": f"{1e3 * mean(some, 'seconds'):.3g}",
                "load": f"{loads[0]:.1f}" if loads else "",
            }
        )
    return {"": table}


BENCH = Bench.load("methods", __doc__, Config, contest, summarise)
