"""Appendix B.5 and its figure: stays fixed in stage one at a share of the longest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from decost.experiments.instances import paper_set, setting_name
from decost.experiments.measure import measure, read_words, row_of, solving_tasks
from decost.experiments.runner import Config, Experiment, Folders, Key, Row, Task
from decost.experiments.tables import Table, add_gaps, digits, grouped, mean, spread
from decost.problem.instance import Instance
from decost.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StayRatioConfig(Config):
    """Settings, instances of each, and the shares in percent; methods are those of stage one."""

    settings: tuple[tuple[int, float], ...] = ((50, 100), (50, 500), (100, 100), (500, 100))
    count: int
    percents: tuple[int, ...] = tuple(range(0, 101, 10))
    remark: str = (
        "exact plans the routes of stage one, where a stop is worth what its longest stay earns; "
        "the paper does not say how it plans them, nor for how many instances"
    )


QUICK = StayRatioConfig(
    methods=("exact time_limit=10",),
    count=20,
    reduced="20 instances of each setting",
)

FULL = StayRatioConfig(
    methods=("exact time_limit=10",),
    count=1000,
    reduced="1,000 instances of each setting",
)

PAPER = {70: "3.87"}
"""The only figure in the text of the paper's appendix B.5: the mean gap at 70%."""


def list_tasks(config: StayRatioConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then both stages for each share."""
    tasks: list[Task] = []
    for nodes, window in config.settings:
        setting = setting_name(nodes, window)
        source = partial(paper_set, nodes, window, config.count)
        tasks += solving_tasks(setting, source, range(config.count), config.prover)
        for words in config.methods:
            asked = read_words(words)
            for percent in config.percents:
                for k in range(config.count):
                    key = Key(setting, k, _label(words, percent), asked.seed, asked.files)
                    run = partial(_both_stages, words, source, k, percent / 100)
                    tasks.append(Task((key,), run))
    return tasks


def _label(words: str, percent: int) -> str:
    return f"{words}, stays {percent}%"


def fixed_stays(instance: Instance, share: float) -> Instance:
    """Make the problem of stage one: a stop takes this share of its longest stay.

    It is worth what the longest stay earns. To scale all profits by the share would not change
    which routes are best, except that for a share of 0 nothing would be worth a visit.
    """
    stays = share * instance.max_stay
    return instance.replace(
        reward=instance.full_profit, min_stay=stays, pieces=[np.empty((0, 2))] * instance.nodes
    )


def _both_stages(words: str, source: partial[list[Instance]], k: int, share: float) -> list[Row]:
    """Plan routes with fixed stays, and then find the best stays for them."""
    from decost.stays import best_solution

    instance = source()[k]
    first = measure(words, fixed_stays(instance, share))
    routes = [route.stops for route in first.result.solution.routes]
    plan = Result(instance, best_solution(instance, routes), "feasible")
    row = row_of(plan, words)
    # Time and status are those of stage one: whether its routes are the best for such stays.
    return [row | {name: first.row[name] for name in ("status", "seconds")}]


def _percent(row: Row) -> int:
    return int(row["method"].rpartition(" ")[2].removesuffix("%"))


def _gaps(config: StayRatioConfig, rows: Sequence[Row]) -> list[Row]:
    gaps = [row for row in add_gaps(rows, config.prover) if row["method"] != config.prover]
    return [
        {**row, "method": row["method"].rpartition(",")[0], "percent": _percent(row)}
        for row in gaps
    ]


def summarise(config: StayRatioConfig, rows: Sequence[Row]) -> Table:
    """Make a line for each share over all settings, and one for each setting."""
    table = []
    for (words,), some in grouped(_gaps(config, rows), "method").items():
        parts = {"all": some} | {key[0]: part for key, part in grouped(some, "setting").items()}
        for setting, part in parts.items():
            for (percent,), these in grouped(part, "percent").items():
                numbers = spread([row["gap"] for row in these])
                paper = PAPER.get(percent, "") if setting == "all" else ""
                table.append(
                    {
                        "stage one": words,
                        "setting": setting,
                        "stays (%)": str(percent),
                        "instances": str(len(these)),
                    }
                    | {f"{name} (%)": f"{value:.2f}" for name, value in numbers.items()}
                    | {
                        "proven in stage one": str(
                            sum(row["status"] == "optimal" for row in these)
                        ),
                        "stage one (ms)": digits(1e3 * mean(these, "seconds")),
                        "paper's mean (%)": paper,
                    }
                )
    return table


def draw(config: StayRatioConfig, rows: Sequence[Row]) -> Figure:
    """Draw the gaps against the share: a box for each, and the mean of each setting."""
    from decost.experiments.figures import gap_by_share

    gaps = [row for row in _gaps(config, rows) if row["method"] == config.methods[0]]
    boxes = {key[0]: [row["gap"] for row in some] for key, some in grouped(gaps, "percent").items()}
    means = {
        setting: {key[0]: mean(some, "gap") for key, some in grouped(part, "percent").items()}
        for (setting,), part in grouped(gaps, "setting").items()
    }
    return gap_by_share("Stays fixed in stage one, optimal in stage two", boxes, means)


EXPERIMENT = Experiment(
    name="stay-ratio",
    title="Stays fixed in stage one at a share of the longest",
    paper="The paper's appendix B.5 and its figure",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
    draw=draw,
)
