"""One network on all kinds of instances: what its plans miss of the best plan of any method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean

from decost.bench.measure import versus
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import digits, grouped
from decost.method.result import gap_of
from decost.planner.door import can_plan


def list_tasks(config: Config, folders: Folders) -> list[Task]:
    """List the tasks of the prover and of all methods, on the settings that they can plan for."""
    tasks: list[Task] = []
    for one in config.settings:
        names = range(one.size(config.count))
        source = partial(one.instances, config.count)
        able = tuple(
            contender
            for contender in config.methods
            if all(can_plan(contender.method, instance) for instance in source())
        )
        some = config.model_copy(update={"methods": able})
        tasks += versus(some, one.name, source, names, one.vehicles)
    return tasks


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method that can plan for it.

    Gaps are to the best plan, proven or not.

    A plan that leaves out a required stop, though nobody proved that it must, is not the best.
    """
    best: dict[tuple[str, int | str], float] = {}
    proven: set[tuple[str, int | str]] = set()
    for row in rows:
        of = (row["setting"], row["instance"])
        if row["status"] != "incomplete" or row["contender"] == config.prover:
            best[of] = max(best.get(of, 0.0), row["profit"])
        if row["status"] in ("optimal", "infeasible"):
            proven.add(of)
    groups = grouped(rows, "setting", "contender")
    table = []
    for setting in config.settings:
        for contender in config.methods:
            some = groups.get((setting.name, contender))
            if some is None:
                continue
            keys = [(row["setting"], row["instance"]) for row in some]
            gaps = [
                100 * max(0.0, gap_of(row["profit"], best[of]) or 0.0)
                for of, row in zip(keys, some, strict=True)
            ]
            table.append(
                {
                    "setting": setting.name,
                    "method": str(contender),
                    "instances": str(len(some)),
                    "proven": str(len(proven.intersection(keys))),
                    "incomplete": str(sum(row["status"] == "incomplete" for row in some)),
                    "gap (%)": f"{fmean(gaps):.2f}",
                    "largest gap (%)": f"{max(gaps):.2f}",
                    "seconds": digits(fmean(row["seconds"] for row in some)),
                }
            )
    return {"": table}


BENCH = Bench.load("general", __doc__, Config, list_tasks, summarise)
