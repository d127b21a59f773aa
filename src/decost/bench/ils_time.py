"""Appendix B.1: what `ils` makes of more time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from decost.bench.contender import Contender, Entrant
from decost.bench.instances import paper_set, setting_name
from decost.bench.measure import Measured, Source, key_of, measure, solving_tasks
from decost.bench.runner import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, paper_columns, performance, row_name
from decost.methods.options import ImprovingOptions
from decost.solver import MethodError, get_method


class IlsTimeConfig(Config):
    """Settings, and the seconds after which the plan is looked at.

    A method runs once, for the longest time: with the same seed a shorter run is its beginning.
    Others stand `beside` it, without a limit.
    """

    settings: tuple[tuple[int, float], ...] = ((50, 100), (100, 100), (50, 500), (100, 500))
    count: int
    limits: tuple[int, ...]
    beside: tuple[Entrant, ...] = (Contender.of("decost"), Contender.of("exact"))


QUICK = IlsTimeConfig(
    methods=(Contender.of("ils"),),
    count=2,
    limits=(1, 2, 5),
    reduced="2 instances of each setting, for 1, 2 and 5 s instead of 10, 20, 50 and 200 s",
)

FULL = IlsTimeConfig(
    methods=(Contender.of("ils"),),
    count=2,
    limits=(10, 20, 50, 200),
    reduced="2 instances of each setting instead of 100 or more",
)

# The paper's table in appendix B.1: score, gap in percent, and milliseconds to reach it, for DeCoST
# instead those that it takes.
PAPER = {
    "n=50, TW=100": {
        "ils time_limit=10": ("14.5", "4.34", "2109", ""),
        "ils time_limit=20": ("14.5", "4.34", "2120", ""),
        "ils time_limit=50": ("14.5", "4.34", "3620", ""),
        "decost": ("15.1", "1.06", "", "94.0"),
    },
    "n=100, TW=100": {
        "ils time_limit=10": ("24.9", "4.2", "7122", ""),
        "ils time_limit=20": ("24.9", "4.2", "7162", ""),
        "ils time_limit=50": ("25.0", "4.1", "12438", ""),
        "decost": ("25.6", "1.97", "", "158"),
    },
    "n=50, TW=500": {
        "ils time_limit=10": ("47.8", "7.82", "1262", ""),
        "ils time_limit=20": ("47.8", "7.82", "1270", ""),
        "ils time_limit=50": ("47.8", "7.82", "2474", ""),
        "ils time_limit=200": ("47.8", "7.82", "8606", ""),
        "decost": ("51.4", "0.83", "", "60.4"),
    },
    "n=100, TW=500": {
        "ils time_limit=10": ("85.0", "", "8441", ""),
        "ils time_limit=20": ("83.5", "", "8305", ""),
        "ils time_limit=50": ("83.7", "", "12407", ""),
        "ils time_limit=200": ("83.7", "", "19045", ""),
        "decost": ("88.1", "", "", "100"),
    },
}


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
    for nodes, window in config.settings:
        setting = setting_name(nodes, window)
        source = partial(paper_set, nodes, window, config.count)
        for contender in dict.fromkeys((config.prover, *config.beside)):
            tasks += solving_tasks(setting, source, range(config.count), contender)
        for contender in config.methods:
            timed = [contender.having(time_limit=limit) for limit in config.limits]
            for k in range(config.count):
                keys = tuple(key_of(setting, k, one) for one in timed)
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
    names = ("score", "gap (%)", "best after (ms)", "time (ms)")
    table = [
        {"setting": setting, "method": row_name(contender)}
        | performance(groups[setting, contender])
        | paper_columns(names, PAPER.get(setting, {}).get(str(contender)))
        for setting in dict.fromkeys(row["setting"] for row in rows)
        for contender in (*timed, *config.beside)
    ]
    return {"": table}


BENCH = Bench(
    name="ils-time",
    title="What ils makes of more time",
    paper="The paper's appendix B.1",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
