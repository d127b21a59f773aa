"""Appendix B.3: teams of three vehicles."""

from __future__ import annotations

from collections.abc import Sequence

from decost.bench import tables
from decost.bench.contender import Contender, contenders
from decost.bench.instances import Setting
from decost.bench.main import NETWORKS
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Row, Tables

REMARK = (
    "the paper does not say how many vehicles it has; its scores are beyond the optimum here, "
    f"so that its instances must be others; {NETWORKS}"
)

QUICK = Config(
    methods=contenders(
        "ils time_limit=1, pomo, decost, search time_limit=1, columns time_limit=10"
    ),
    prover=Contender.of("columns", time_limit=10),
    settings=(Setting(50, 100, vehicles=3),),
    count=10,
    reduced="10 instances; ils for 1 s instead of 10 s",
    remark=REMARK,
)

FULL = Config(
    methods=contenders(
        "ils time_limit=10, pomo, decost, search time_limit=1, columns time_limit=60"
    ),
    prover=Contender.of("columns", time_limit=60),
    settings=QUICK.settings,
    count=100,
    reduced="100 instances",
    remark=REMARK,
)


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


BENCH = Bench("team", __doc__, QUICK, FULL, contest, summarise)
