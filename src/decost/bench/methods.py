"""Contenders of your choice on one set of instances: gap to the proven optimum, and time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from decost.bench.contender import Contender
from decost.bench.instances import paper_set, setting_name
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import AT_OPTIMUM, add_gaps, grouped, mean
from decost.solver import get_method


class MethodsConfig(Config):
    """One setting, the vehicles, and how many instances."""

    nodes: int = 50
    window: float = 100
    vehicles: int = 1
    count: int


QUICK = MethodsConfig(
    methods=(
        Contender.of("greedy", stays="greedy"),
        Contender.of("greedy"),
        Contender.of("ils", iterations=10),
        Contender.of("search", time_limit=0.005),
        Contender.of("exact"),
    ),
    count=20,
    reduced="20 instances, and 10 rounds of ils",
)

FULL = MethodsConfig(
    methods=(
        Contender.of("greedy", stays="greedy"),
        Contender.of("greedy"),
        *(Contender.of("ils", iterations=rounds) for rounds in (0, 10, 100)),
        Contender.of("ils", roulette=False),
        Contender.of("ils", reset_worst=True),
        Contender.of("ils", stays="optimal"),
        Contender.of("ils"),
    ),
    count=100,
    reduced="100 instances; ils in its variants, for 10 s where no rounds are given",
)


def _prover(config: MethodsConfig) -> Contender:
    """Take one that plans for teams if there are any."""
    able = config.vehicles == 1 or get_method(config.prover.method).teams
    return config.prover if able else Contender.of("columns", time_limit=60)


def list_tasks(config: MethodsConfig, folders: Folders) -> list[Task]:
    """List the proofs, for teams by `columns`, and then the methods."""
    config = config.model_copy(update={"prover": _prover(config)})
    setting = setting_name(config.nodes, config.window)
    source = partial(paper_set, config.nodes, config.window, config.count, config.vehicles)
    return contest(config, setting, source, range(config.count), config.vehicles)


def summarise(config: MethodsConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each contender."""
    groups = grouped(add_gaps(rows, _prover(config)), "contender")
    table = []
    for contender in config.methods:
        some = groups[contender,]
        gaps = np.array([row["gap"] for row in some])
        loads = [row["load"] for row in some if row["load"] is not None]
        table.append(
            {
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


BENCH = Bench(
    name="methods",
    title="Methods of your choice side by side; by default ils in its variants",
    paper="Not in the paper",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
