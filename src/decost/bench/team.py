"""Appendix B.3: teams of three vehicles."""

from __future__ import annotations

from collections.abc import Sequence

from decost.bench import tables
from decost.bench.contender import Contender
from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Row, Tables


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method."""
    groups = tables.grouped(tables.add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        pomo = groups.get((setting.name, Contender.of("pomo")))
        for contender in config.methods:
            some = groups[setting.name, contender]
            table.append(
                {"setting": setting.name, "method": tables.row_name(contender)}
                | tables.performance(some)
                | {"over pomo (%)": tables.percent_over(some, pomo)}
                | tables.paper_columns("team", "all", tables.counterpart(contender))
            )
    return {"": table}


BENCH = Bench.load("team", __doc__, Config, contest, summarise)
