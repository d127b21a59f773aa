"""Stage two behind other methods: their own stays, and optimal stays on the same routes.

Each method plans as it does without stage two, with stays that it chooses while it goes. Then its
routes are given to `optimal_stays` as they are. Beside that, the method is run with optimal stays
inside its search. `ils` runs for so many rounds, and all of it is reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from decost import TOLERANCE
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.measure import (
    Measured,
    Source,
    key_of,
    measure,
    proofs,
    row_of,
    solving_tasks,
    with_best_stays,
)
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean

WAYS: dict[str, dict[str, tuple[object, object]]] = {
    "greedy": {"stays": ("greedy", "optimal")},
    "ils": {"stays": ("greedy", "optimal")},
    "gfacs": {"stays": ("greedy", "optimal")},
    "pomo": {"stay_optimisation": (False, True)},
}
"""The option with which a method has stays of its own, and optimal ones."""

HEADINGS = ("own stays", "same routes, optimal stays", "optimal inside")


class PlugConfig(Config):
    """Rounds of ils; methods are some of the four."""

    rounds: int = 100


def _ways(config: PlugConfig, contender: Contender) -> list[Contender]:
    """Give a method with its own stays, the same with stage two after it, and with it inside."""
    if contender.method not in WAYS:
        raise BenchError(f"method '{contender}': choose from: {', '.join(WAYS)}")
    rounds: dict[str, object] = {}
    if contender.method == "ils":
        rounds = {"iterations": config.rounds, "time_limit": inf}
    ((option, pair),) = WAYS[contender.method].items()
    own, inside = (contender.having(**rounds, **{option: value}) for value in pair)
    return [own, own.named(f"{own}, then stage two"), inside]


def list_tasks(config: PlugConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then the methods in three ways."""
    tasks: list[Task] = []
    for setting in config.settings:
        source, some = proofs(config, setting)
        tasks += some
        names = range(setting.size(config.count))
        for contender in config.methods:
            own, mended, inside = _ways(config, contender)
            for k in names:
                keys = (key_of(setting.name, k, own), key_of(setting.name, k, mended))
                tasks.append(Task(keys, partial(_mend, own, source, k), Measured))
            tasks += solving_tasks(setting.name, source, names, inside)
    return tasks


def _mend(contender: Contender, source: Source, k: int) -> list[Row]:
    """Plan with the method's own stays, and then find the best ones for its routes."""
    row, result, _ = measure(contender, source()[k])
    plan = with_best_stays(result.instance, result)
    if plan.profit < row["profit"] * (1 - TOLERANCE):
        raise BenchError(f"{result.instance.name}: optimal stays earn less than '{contender}'")
    return [row, row_of(plan, contender)]


def summarise(config: PlugConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and method."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        for contender in config.methods:
            some = [groups[setting.name, way] for way in _ways(config, contender)]
            line = {"setting": setting.name, "instances": str(len(some[0]))}
            line["method"] = str(contender)
            gaps = (f"{mean(part, 'gap'):.2f}%" for part in some)
            table.append(line | dict(zip(HEADINGS, gaps, strict=True)))
    return {"": table}


BENCH = Bench.load("plug", __doc__, PlugConfig, list_tasks, summarise)
