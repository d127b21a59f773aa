"""All methods at the same time limit on all families, and what each loses to the best.

Families are the paper's five settings, `mixed` instances, both without windows, teams, and the
files of folders, if these are given: Solomon's with variable profit, KU Leuven's with one and with
three vehicles. The table gives by family and method the mean loss against the best plan in the
rows, also those of other limits, and for methods that have all families their mean; the other
table says how far each method is ahead of each other one, with standard errors. `auto` has two
threads: to compare it with the others, let the command have one core (`taskset -c 0`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from decost import Instance
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.instances import (
    Setting,
    file_class,
    file_names,
    list_files,
    read_files,
)
from decost.bench.measure import Source, solving_tasks
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import Table

DRAWING = ("ils", "gfacs", "search", "auto")
"""Methods whose plans depend on the seed."""

DRAWN = 10
"""Least number of instances of a family that are drawn; fewer are the first of these."""

EQUAL = 0.0005
"""Difference in percent below which two methods are equal."""


class RivalsConfig(Config):
    """The limit in seconds, and runs of a method that draws.

    Only families whose name holds one of some words are taken, if there are such words.
    """

    selecting = Config.selecting | {"time_limit", "count", "seeds", "families", "solomon", "optw"}

    time_limit: float = 1.0
    seeds: int = 1
    families: tuple[str, ...] = ()
    solomon: Path | None = None
    optw: Path | None = None


def list_tasks(config: RivalsConfig, folders: Folders) -> list[Task]:
    """List every method, once for each seed if it draws, on every family."""
    tasks: list[Task] = []
    for family, names, source, vehicles in families(config):
        if config.families and not any(word in family for word in config.families):
            continue
        for contender in with_seeds(config.methods, config.seeds):
            if contender.method != ("columns" if vehicles == 1 else "exact"):
                limited = contender.having(time_limit=config.time_limit)
                tasks += solving_tasks(family, source, names, limited, vehicles)
    if not tasks:
        raise BenchError(f"--families {','.join(config.families)}: no name of one holds that")
    return tasks


def with_seeds(methods: Sequence[Contender], seeds: int) -> list[Contender]:
    """List methods, and those that draw once more for each further seed."""
    listed = []
    for contender in methods:
        more = range(1, seeds if contender.method in DRAWING else 1)
        listed += [contender, *(contender.having(seed=seed) for seed in more)]
    return listed


Family: TypeAlias = tuple[str, Sequence[int | str], Source, int]
"""Its name, those of its instances, where these come from, and the vehicles."""


def families(config: RivalsConfig) -> Iterator[Family]:
    """List all families."""
    names = range(config.count)
    # They are drawn together, so that other instances come out for another number.
    drawn = max(config.count, DRAWN)
    settings = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))
    of = {f"n={nodes} TW={window}": Setting(nodes, window) for nodes, window in settings}
    of |= {f"mixed n={nodes}": Setting(nodes, family="mixed") for nodes in (20, 50, 100)}
    for name, setting in of.items():
        yield name, names, partial(setting.instances, drawn), 1
    for name in ("n=50 TW=100", "n=100 TW=100", "mixed n=50"):
        source = partial(of[name].instances, drawn)
        family = f"{name.removesuffix(' TW=100')} no windows"
        yield family, names, partial(open_all_day, source), 1
    for name, vehicles in (
        ("n=50 TW=100", 3),
        ("n=100 TW=500", 3),
        ("n=500 TW=100", 5),
        ("mixed n=50", 2),
    ):
        source = partial(of[name]._replace(vehicles=vehicles).instances, drawn)
        yield f"{name} x{vehicles}", names, source, vehicles
    if config.solomon is not None:
        yield from _files(config.solomon, "variable")
    if config.optw is not None:
        yield from _files(config.optw, "fixed")
        yield from _files(config.optw, "fixed", 3)


def _files(folder: Path, profit: Any, vehicles: int = 1) -> Iterator[Family]:
    """Group benchmark files by their class: C1, C2, R1, R2, RC1, RC2 and PR."""
    found: dict[str, list[Path]] = {}
    for path in list_files(folder):
        found.setdefault(file_class(path.stem), []).append(path)
    for group, paths in found.items():
        names = file_names(paths)
        source = partial(read_files, tuple(paths), names, profit, vehicles)
        yield f"{group} {profit}" + f" x{vehicles}" * (vehicles > 1), names, source, vehicles


@lru_cache(maxsize=2)
def open_all_day(source: Source) -> list[Instance]:
    """Let every stop be served at any time."""
    return [
        one.replace(open=np.zeros(one.nodes), close=np.full(one.nodes, one.budget))
        for one in source()
    ]


Losses: TypeAlias = dict[str, dict[int | str, dict[Contender, float]]]
"""By family, instance and method: mean loss over the seeds, in percent of the best plan."""


def losses_of(rows: Sequence[Mapping[str, Any]], limit: float) -> Losses:
    """Work out losses at a limit against the best plan of any row."""
    best: dict[tuple[str, int | str], float] = {}
    for row in rows:
        key = row["setting"], row["instance"]
        best[key] = max(row["profit"], best.get(key, 0.0))
    several: dict[tuple[str, int | str, Contender], list[float]] = {}
    for row in rows:
        contender: Contender = row["contender"]
        if contender.get("time_limit") == f"{limit:g}":
            key = row["setting"], row["instance"]
            share = row["profit"] / best[key] if best[key] > 0 else 1.0
            method = contender.without("seed", "time_limit")
            several.setdefault((*key, method), []).append(100 * (1 - share))
    losses: Losses = {}
    for (family, instance, method), some in several.items():
        losses.setdefault(family, {}).setdefault(instance, {})[method] = float(np.mean(some))
    return losses


def summarise(config: RivalsConfig, rows: Sequence[Row]) -> Tables:
    """Compare methods by family, and in pairs."""
    losses = losses_of(rows, config.time_limit)
    name = f"{config.time_limit:g}s"
    proven = {(row["setting"], row["instance"]) for row in rows if row["status"] == "optimal"}
    return {
        name: compared(losses, config.methods, proven),
        f"{name}-pairs": paired(losses, config.methods),
    }


def compared(
    losses: Losses, methods: Sequence[Contender], proven: set[tuple[str, int | str]]
) -> Table:
    """Compare methods by family, and over all: their mean losses."""
    table = []
    means: dict[Contender, list[float]] = {method: [] for method in methods}
    for family, instances in losses.items():
        done = sum((family, instance) in proven for instance in instances)
        line = {"family": family, "instances": str(len(instances)), "proven": str(done)}
        for method in methods:
            line[str(method)] = ""
            if all(method in some for some in instances.values()):
                means[method].append(fmean(some[method] for some in instances.values()))
                line[str(method)] = f"{means[method][-1]:.3f}%"
        table.append(line)
    last = {"family": "mean of all"}
    last |= {name: str(sum(int(line[name]) for line in table)) for name in ("instances", "proven")}
    for method, some in means.items():
        last[str(method)] = f"{np.mean(some):.3f}%" if len(some) == len(table) else ""
    return [*table, last]


def paired(losses: Losses, methods: Sequence[Contender]) -> Table:
    """Say of each pair of methods by how much one is ahead of the other on the same instances.

    Standard errors are over instances; a family where they differ by less than 0.0005% of the
    best plan counts neither as ahead nor as behind.
    """
    table = []
    for one, other in product(methods, methods):
        ahead = {
            family: [some[other] - some[one] for some in instances.values()]
            for family, instances in losses.items()
            if all({one, other} <= some.keys() for some in instances.values())
        }
        if one == other or not ahead:
            continue
        means = {family: float(np.mean(some)) for family, some in ahead.items()}
        worst = min(means, key=means.__getitem__)
        every = [value for some in ahead.values() for value in some]
        table.append(
            {
                "method": str(one),
                "other": str(other),
                "families": str(len(ahead)),
                "instances": str(len(every)),
                "ahead": f"{np.mean(every):.3f}%",
                "standard error": standard_error(every),
                "families ahead": str(sum(mean >= EQUAL for mean in means.values())),
                "families behind": str(sum(mean <= -EQUAL for mean in means.values())),
                "most behind": f"{max(0.0, -means[worst]):.3f}%",
                "there": worst if means[worst] <= -EQUAL else "",
                "standard error there": standard_error(ahead[worst]),
            }
        )
    return table


def standard_error(values: Sequence[float]) -> str:
    """How far their mean may be from that of many such values; nobody knows of a single one."""
    if len(values) < 2:
        return ""
    return f"{np.std(values, ddof=1) / np.sqrt(len(values)):.3f}%"


BENCH = Bench.load("rivals", __doc__, RivalsConfig, list_tasks, summarise, whole=True)
