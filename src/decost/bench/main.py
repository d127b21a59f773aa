"""Tables 1 and 2: score, gap to the proven optimum and runtime of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decost.bench import tables
from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Row, Tables


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


BENCH = Bench.load("main", __doc__, Config, contest, summarise)
