"""Tables 1 and 2: score, gap to the proven optimum and runtime of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from decost.bench.contender import Contender
from decost.bench.instances import paper_set, setting_name
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import (
    add_gaps,
    digits,
    grouped,
    mean,
    paper_columns,
    performance,
    row_name,
)


@dataclass(frozen=True)
class Setting:
    """Instances of one kind: how many, and how many of them for slow methods."""

    nodes: int
    window: float
    count: int
    slow_count: int

    @property
    def name(self) -> str:
        """The paper's name for it."""
        return setting_name(self.nodes, self.window)


NETWORKS = (
    "decost, pomo and gfacs have one network each for all settings, where the paper trains one for "
    "each; that of decost is ours and was taught by exact"
)
"""What is not as in the paper wherever these methods are compared."""


class MainConfig(Config):
    """Settings, and the methods that have fewer instances because they take long."""

    settings: tuple[Setting, ...]
    slow: tuple[str, ...] = ("milp", "ils")
    remark: str = f"{NETWORKS}; milp is HiGHS where the paper has Gurobi"


QUICK = MainConfig(
    methods=(
        Contender.of("milp", time_limit=2),
        Contender.of("greedy"),
        Contender.of("ils", time_limit=1),
        Contender.of("gfacs", stays="greedy"),
        Contender.of("gfacs"),
        Contender.of("pomo"),
        Contender.of("decost"),
        Contender.of("search", iterations=300),
        Contender.of("exact"),
        Contender.of("auto"),
    ),
    settings=(
        Setting(50, 100, 20, 2),
        Setting(100, 100, 20, 2),
        Setting(50, 500, 20, 2),
        Setting(100, 500, 20, 2),
        Setting(500, 100, 10, 2),
    ),
    reduced=(
        "20 instances of each setting (n=500: 10), of which milp has 2, for 2 s each, and ils 2, "
        "for 1 s each instead of 10 s"
    ),
)

FULL = MainConfig(
    methods=(
        Contender.of("milp", time_limit=20),
        Contender.of("greedy"),
        Contender.of("ils", time_limit=10),
        *QUICK.methods[3:],
    ),
    settings=(
        Setting(50, 100, 1000, 20),
        Setting(100, 100, 1000, 20),
        Setting(50, 500, 1000, 20),
        Setting(100, 500, 1000, 20),
        Setting(500, 100, 100, 20),
    ),
    reduced=(
        "1,000 instances of each setting (n=500: 100), of which milp and ils have 20; the paper "
        "has 10,000 with TW=100 and n=50 or 100 (1,000 of n=100, says its appendix), and 100 of "
        "the others; milp for 20 s instead of until its plan is proven"
    ),
)

# The paper's Tables 1 and 2: score, gap in percent, and runtime in milliseconds.
PAPER: dict[str, dict[str, tuple[str, str, str]]] = {
    "n=50, TW=100": {
        "milp": ("15.2", "0.00", "200"),
        "greedy": ("12.9", "15.7", "44"),
        "ils": ("14.5", "4.34", "2109"),
        "gfacs stays=greedy": ("11.1", "25.7", "94.2"),
        "gfacs": ("12.3", "18.6", "4310"),
        "pomo": ("11.3", "25.3", "46.6"),
        "decost": ("15.1", "1.06", "94.0"),
    },
    "n=100, TW=100": {
        "milp": ("26.1", "0.00", "1023"),
        "greedy": ("21.9", "16.2", "48"),
        "ils": ("24.9", "4.2", "7122"),
        "gfacs stays=greedy": ("22.6", "13.4", "98.2"),
        "gfacs": ("25.2", "3.38", "6760"),
        "pomo": ("11.5", "55.7", "52.3"),
        "decost": ("25.6", "1.97", "158"),
    },
    "n=50, TW=500": {
        "milp": ("51.9", "0.00", "1346000"),
        "greedy": ("46.1", "11.4", "46.1"),
        "ils": ("47.8", "7.82", "1262"),
        "gfacs stays=greedy": ("35.21", "31.7", "89.8"),
        "gfacs": ("47.4", "8.57", "6950"),
        "pomo": ("31.3", "39.6", "40.7"),
        "decost": ("51.4", "0.83", "60.4"),
    },
    "n=100, TW=500": {
        "milp": ("", "", "more than 24 h"),
        "greedy": ("79.7", "", "51"),
        "ils": ("85.0", "", "8441"),
        "gfacs stays=greedy": ("60.5", "", "97.8"),
        "gfacs": ("84.4", "", "8750"),
        "pomo": ("54.6", "", "60.6"),
        "decost": ("88.1", "", "100"),
    },
    "n=500, TW=100": {
        "milp": ("82.3", "0.00", "68400"),
        "greedy": ("69.6", "15.6", "60"),
        "ils": ("78.2", "4.98", "8803"),
        "gfacs stays=greedy": ("67.4", "18.1", "112"),
        "gfacs": ("73.1", "11.3", "9420"),
        "pomo": ("58.6", "28.8", "747"),
        "decost": ("79.6", "3.31", "1329"),
    },
}


def counterpart(contender: Contender) -> str:
    """Name the paper's method that a contender stands for, as in `PAPER`."""
    return str(contender.without("time_limit", "seed", "solver", "solver_threads"))


def list_tasks(config: MainConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then its methods."""
    tasks: list[Task] = []
    for setting in config.settings:
        source = partial(paper_set, setting.nodes, setting.window, setting.count)

        def count(contender: Contender, setting: Setting = setting) -> int:
            return setting.slow_count if contender.method in config.slow else setting.count

        tasks += contest(config, setting.name, source, range(setting.count), counts=count)
    return tasks


def summarise(config: MainConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method, with the paper's figures beside ours."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        for contender in config.methods:
            paper = PAPER.get(setting.name, {}).get(counterpart(contender))
            some, proofs = groups[setting.name, contender], groups[setting.name, config.prover]
            figures = performance(some) | {"time by exact's": digits(_slower(some, proofs))}
            beside = paper_columns(("score", "gap (%)", "time (ms)"), paper)
            named = {"setting": setting.name, "method": row_name(contender)}
            table.append(named | figures | beside)
    return {"": table}


def _slower(rows: Sequence[Mapping[str, Any]], proofs: Sequence[Mapping[str, Any]]) -> float:
    """Say how many times the time of the proofs of the same instances a method takes."""
    instances = {row["instance"] for row in rows}
    same = [proof for proof in proofs if proof["instance"] in instances]
    return mean(rows, "seconds") / mean(same, "seconds")


BENCH = Bench(
    name="main",
    title="All methods on the paper's instances",
    paper="The paper's Tables 1 and 2",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
