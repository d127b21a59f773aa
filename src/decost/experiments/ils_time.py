"""Appendix B.1: what `ils` makes of more time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from decost.experiments.instances import paper_set, setting_name
from decost.experiments.measure import measure, read_words, solving_tasks
from decost.experiments.runner import Config, Experiment, Folders, Key, Row, Task
from decost.experiments.tables import Table, add_gaps, grouped, paper_columns, performance
from decost.methods.options import ImprovingOptions
from decost.problem.instance import Instance
from decost.solver import MethodError


class IlsTimeConfig(Config):
    """Settings, and the seconds after which the plan is looked at.

    A method runs once, for the longest time: with the same seed a shorter run is its beginning.
    Others stand `beside` it, without a limit.
    """

    settings: tuple[tuple[int, float], ...] = ((50, 100), (100, 100), (50, 500), (100, 500))
    count: int
    limits: tuple[int, ...]
    beside: tuple[str, ...] = ("decost", "exact")


QUICK = IlsTimeConfig(
    methods=("ils",),
    count=2,
    limits=(1, 2, 5),
    reduced="2 instances of each setting, for 1, 2 and 5 s instead of 10, 20, 50 and 200 s",
)

FULL = IlsTimeConfig(
    methods=("ils",),
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
    tasks: list[Task] = []
    for words in config.methods:
        asked = read_words(words)
        if not issubclass(asked.method.options, ImprovingOptions) or "time_limit" in asked.given:
            raise MethodError(
                f"method {words!r}: ils-time takes methods that go on improving, without time_limit"
            )
    for nodes, window in config.settings:
        setting = setting_name(nodes, window)
        source = partial(paper_set, nodes, window, config.count)
        for words in dict.fromkeys((config.prover, *config.beside)):
            tasks += solving_tasks(setting, source, range(config.count), words)
        for words in config.methods:
            asked = read_words(words)
            for k in range(config.count):
                keys = tuple(
                    Key(setting, k, with_limit(words, limit), asked.seed, asked.files)
                    for limit in config.limits
                )
                run = partial(_look, words, source, k, config.limits)
                tasks.append(Task(keys, run, max(config.limits)))
    return tasks


def with_limit(words: str, limit: float) -> str:
    """Give a method a time limit."""
    return f"{words} time_limit={limit:g}"


def _look(words: str, source: partial[list[Instance]], k: int, limits: Sequence[int]) -> list[Row]:
    """Run a method for the longest time, and say what it had found after each."""
    row, _, news = measure(with_limit(words, max(limits)), source()[k])
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


def summarise(config: IlsTimeConfig, rows: Sequence[Row]) -> Table:
    """Make a line for each setting and limit, and for what stands beside."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "method")
    limited = [with_limit(words, limit) for words in config.methods for limit in config.limits]
    table = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        for words in (*limited, *config.beside):
            paper = PAPER.get(setting, {}).get(words)
            names = ("score", "gap (%)", "best after (ms)", "time (ms)")
            table.append(
                {"setting": setting, "method": words}
                | performance(groups[setting, words])
                | paper_columns(names, paper)
            )
    return table


EXPERIMENT = Experiment(
    name="ils-time",
    title="What ils makes of more time",
    paper="The paper's appendix B.1",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
