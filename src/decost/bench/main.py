"""Tables 1 and 2: score, gap to the proven optimum and runtime of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decost.bench import tables
from decost.bench.contender import contenders
from decost.bench.instances import Setting
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Row, Tables

NETWORKS = (
    "decost, pomo and gfacs have one network each for all settings, where the paper trains one for "
    "each; that of decost is ours and was taught by exact"
)
"""What is not as in the paper wherever these methods are compared."""

SMALL = (Setting(50, 100), Setting(100, 100), Setting(50, 500), Setting(100, 500))

QUICK = Config(
    methods=contenders(
        "milp time_limit=2, greedy, ils time_limit=1, gfacs stays=greedy, gfacs, pomo, decost, "
        "search iterations=300, exact, auto"
    ),
    settings=(*SMALL, Setting(500, 100, most=10)),
    count=20,
    slow=("milp", "ils"),
    slow_count=2,
    reduced=(
        "20 instances of each setting (n=500: 10), of which milp has 2, for 2 s each, and ils 2, "
        "for 1 s each instead of 10 s"
    ),
    remark=f"{NETWORKS}; milp is HiGHS where the paper has Gurobi",
)

FULL = Config(
    methods=(*contenders("milp time_limit=20, greedy, ils time_limit=10"), *QUICK.methods[3:]),
    settings=(*SMALL, Setting(500, 100, most=100)),
    count=1000,
    slow=QUICK.slow,
    slow_count=20,
    reduced=(
        "1,000 instances of each setting (n=500: 100), of which milp and ils have 20; the paper "
        "has 10,000 with TW=100 and n=50 or 100 (1,000 of n=100, says its appendix), and 100 of "
        "the others; milp for 20 s instead of until its plan is proven"
    ),
    remark=QUICK.remark,
)


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method, with the paper's figures beside ours."""
    groups = tables.grouped(tables.add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        for contender in config.methods:
            some, proofs = groups[setting.name, contender], groups[setting.name, config.prover]
            table.append(
                {"setting": setting.name, "method": tables.row_name(contender)}
                | tables.performance(some)
                | {"time by exact's": tables.digits(_slower(some, proofs))}
                | tables.paper_columns("main", setting.name, tables.counterpart(contender))
            )
    return {"": table}


def _slower(rows: Sequence[Mapping[str, Any]], proofs: Sequence[Mapping[str, Any]]) -> float:
    """Say how many times the time of the proofs of the same instances a method takes."""
    instances = {row["instance"] for row in rows}
    same = [proof for proof in proofs if proof["instance"] in instances]
    return tables.mean(rows, "seconds") / tables.mean(same, "seconds")


BENCH = Bench("main", __doc__, QUICK, FULL, contest, summarise)
