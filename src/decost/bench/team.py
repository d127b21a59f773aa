"""Appendix B.3: teams of three vehicles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from decost.bench.contender import Contender
from decost.bench.instances import paper_set, setting_name
from decost.bench.main import NETWORKS, counterpart
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import (
    add_gaps,
    grouped,
    paper_columns,
    percent_over,
    performance,
    row_name,
)


class TeamConfig(Config):
    """One setting, as many vehicles, and how many instances."""

    nodes: int = 50
    window: float = 100
    vehicles: int = 3
    count: int
    remark: str = (
        "the paper does not say how many vehicles it has; its scores are beyond the optimum here, "
        f"so that its instances must be others; {NETWORKS}"
    )


QUICK = TeamConfig(
    methods=(
        Contender.of("ils", time_limit=1),
        Contender.of("pomo"),
        Contender.of("decost"),
        Contender.of("search", time_limit=1),
        Contender.of("columns", time_limit=10),
    ),
    prover=Contender.of("columns", time_limit=10),
    count=10,
    reduced="10 instances; ils for 1 s instead of 10 s",
)

FULL = TeamConfig(
    methods=(
        Contender.of("ils", time_limit=10),
        Contender.of("pomo"),
        Contender.of("decost"),
        Contender.of("search", time_limit=1),
        Contender.of("columns", time_limit=60),
    ),
    prover=Contender.of("columns", time_limit=60),
    count=100,
    reduced="100 instances",
)

# The paper's table in appendix B.3: scores, and by how many percent they are above POMO's. It has
# no optima. Its instances must be others than these, on which all stops that can be reached in
# time are worth 22 together.
PAPER = {"ils": ("31.83", "-11.27"), "pomo": ("35.87", ""), "decost": ("36.99", "3.12")}


def list_tasks(config: TeamConfig, folders: Folders) -> list[Task]:
    """List the proofs, and then the methods."""
    setting = f"{setting_name(config.nodes, config.window)}, {config.vehicles} vehicles"
    source = partial(paper_set, config.nodes, config.window, config.count, config.vehicles)
    return contest(config, setting, source, range(config.count), config.vehicles)


def summarise(config: TeamConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each method."""
    groups = grouped(add_gaps(rows, config.prover), "contender")
    pomo = groups.get((Contender.of("pomo"),))
    table = []
    for contender in config.methods:
        some = groups[contender,]
        table.append(
            {"setting": some[0]["setting"], "method": row_name(contender)}
            | performance(some)
            | {"over pomo (%)": percent_over(some, pomo)}
            | paper_columns(("score", "over POMO (%)"), PAPER.get(counterpart(contender)))
        )
    return {"": table}


BENCH = Bench(
    name="team",
    title="Teams of three vehicles",
    paper="The paper's appendix B.3",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
