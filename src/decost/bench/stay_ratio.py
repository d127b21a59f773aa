"""Appendix B.5 and its figure: stays fixed in stage one at a share of the longest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from decost import Instance
from decost.bench.contender import Contender
from decost.bench.measure import Measured, Source, key_of, measure, proofs, row_of, with_best_stays
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, digits, grouped, mean, paper_columns, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StayRatioConfig(Config):
    """The shares in percent; methods are those of stage one."""

    percents: tuple[int, ...] = tuple(range(0, 101, 10))
    remark: str = (
        "exact plans the routes of stage one, where a stop is worth what its longest stay earns; "
        "the paper does not say how it plans them, nor for how many instances"
    )


def list_tasks(config: StayRatioConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then both stages for each share."""
    tasks: list[Task] = []
    for setting in config.settings:
        source, some = proofs(config, setting)
        tasks += some
        for contender in config.methods:
            for percent in config.percents:
                named = contender.named(f"{contender}, stays {percent}%")
                for k in range(setting.size(config.count)):
                    run = partial(_both_stages, contender, source, k, percent)
                    tasks.append(Task((key_of(setting.name, k, named),), run, StagedRow))
    return tasks


class StagedRow(Measured):
    """A row of both stages; time and status are those of stage one."""

    percent: int
    stage_one: str


def fixed_stays(instance: Instance, share: float) -> Instance:
    """Make the problem of stage one: a stop takes this share of its longest stay.

    It is worth what the longest stay earns. To scale all profits by the share would not change
    which routes are best, except that for a share of 0 nothing would be worth a visit.
    """
    stays = share * instance.max_stay
    return instance.replace(
        reward=instance.full_profit, min_stay=stays, pieces=[np.empty((0, 2))] * instance.nodes
    )


def _both_stages(contender: Contender, source: Source, k: int, percent: int) -> list[Row]:
    """Plan routes with fixed stays, and then find the best stays for them."""
    instance = source()[k]
    first = measure(contender, fixed_stays(instance, percent / 100))
    plan = with_best_stays(instance, first.result)
    staged = {name: first.row[name] for name in ("status", "seconds")}
    return [row_of(plan, contender) | staged | {"percent": percent, "stage_one": str(contender)}]


def _gaps(config: StayRatioConfig, rows: Sequence[Row]) -> list[Row]:
    return [row for row in add_gaps(rows, config.prover) if "percent" in row]


def summarise(config: StayRatioConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each share over all settings, and one for each setting."""
    table = []
    for (stage_one,), some in grouped(_gaps(config, rows), "stage_one").items():
        parts = {"all": some} | {key[0]: part for key, part in grouped(some, "setting").items()}
        for setting, part in parts.items():
            for (percent,), these in grouped(part, "percent").items():
                numbers = spread([row["gap"] for row in these])
                table.append(
                    {
                        "stage one": stage_one,
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
                    }
                    | paper_columns("stay-ratio", setting, str(percent))
                )
    return {"": table}


def draw(config: StayRatioConfig, rows: Sequence[Row]) -> Figure:
    """Draw the gaps against the share: a box for each, and the mean of each setting."""
    from decost.bench.figures import gap_by_share

    gaps = [row for row in _gaps(config, rows) if row["stage_one"] == str(config.methods[0])]
    boxes = {key[0]: [row["gap"] for row in some] for key, some in grouped(gaps, "percent").items()}
    means = {
        setting: {key[0]: mean(some, "gap") for key, some in grouped(part, "percent").items()}
        for (setting,), part in grouped(gaps, "setting").items()
    }
    return gap_by_share("Stays fixed in stage one, optimal in stage two", boxes, means)


BENCH = Bench.load("stay-ratio", __doc__, StayRatioConfig, list_tasks, summarise, draw=draw)
