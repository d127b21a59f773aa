"""Appendix B.1: what `ils` makes of more time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from decost import ImprovingOptions, MethodError, get_method
from decost.bench.contender import Contender, Entrant, contenders
from decost.bench.measure import Measured, Source, key_of, measure, solving_tasks
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, paper_columns, performance, row_name


class IlsTimeConfig(Config):
    """Settings, and the seconds after which the plan is looked at.

    A method runs once, for the longest time: with the same seed a shorter run is its beginning.
    Others stand `beside` it, without a limit.
    """

    limits: tuple[int, ...]
    beside: tuple[Entrant, ...] = contenders("decost, exact")


def list_tasks(config: IlsTimeConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then one run of a method on each instance."""
    for contender in config.methods:
        improving = issubclass(get_method(contender.method).options, ImprovingOptions)
        if not improving or contender.get("time_limit") is not None:
            raise MethodError(
                f"method '{contender}': ils-time takes methods that go on improving, without "
                "time_limit"
            )
    tasks: list[Task] = []
    for setting in config.settings:
        source = partial(setting.instances, config.count)
        names = range(setting.size(config.count))
        for contender in dict.fromkeys((config.prover, *config.beside)):
            tasks += solving_tasks(setting.name, source, names, contender)
        for contender in config.methods:
            timed = [contender.having(time_limit=limit) for limit in config.limits]
            for k in names:
                keys = tuple(key_of(setting.name, k, one) for one in timed)
                run = partial(_look, contender, source, k, config.limits)
                tasks.append(Task(keys, run, Measured, max(config.limits)))
    return tasks


def _look(contender: Contender, source: Source, k: int, limits: Sequence[int]) -> list[Row]:
    """Run a method for the longest time, and say what it had found after each."""
    row, _, news = measure(contender.having(time_limit=max(limits)), source()[k])
    rows = []
    for limit in limits:
        if limit == max(limits):
            rows.append(row)
            continue
        found = [one for one in news if one.seconds <= limit]
        profit, reached = (found[-1].profit, found[-1].seconds) if found else (0.0, 0.0)
        seconds = min(row["seconds"], float(limit))
        unproven = {"bound": None, "status": "feasible"}
        rows.append({**row, **unproven, "profit": profit, "reached": reached, "seconds": seconds})
    return rows


def summarise(config: IlsTimeConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and limit, and for what stands beside."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    timed = [one.having(time_limit=limit) for one in config.methods for limit in config.limits]
    table = [
        {"setting": setting, "method": row_name(contender)}
        | performance(groups[setting, contender])
        | paper_columns("ils-time", setting, str(contender))
        for setting in dict.fromkeys(row["setting"] for row in rows)
        for contender in (*timed, *config.beside)
    ]
    return {"": table}


BENCH = Bench.load("ils-time", __doc__, IlsTimeConfig, list_tasks, summarise)
