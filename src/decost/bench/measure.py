"""Measures contenders on instances: plans are checked, times taken, and all of it made a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from decost import (
    TOLERANCE,
    ImprovingOptions,
    Instance,
    MethodError,
    Progress,
    Result,
    check,
    get_method,
    make_solution,
    prepare,
    solve,
    solve_many,
)
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.instances import Setting
from decost.bench.schema import Config, Folders, Key, Record, Row, Task
from decost.bench.tables import load
from decost.planner.door import read_options

Source: TypeAlias = Callable[[], Sequence[Instance]]
"""Gives the instances of a setting, when they are needed."""

WARM_UP = 0.05
"""Seconds for the plan that each contender makes before its first one that counts."""

BATCH = 100
"""Most instances that a method for many at once gets in one task: what a kill can lose."""

BRIEF = 0.01
"""Seconds below which a time is the median of three: any hiccup of the machine is longer."""


class Measured(Record):
    """A row of a plan."""

    profit: float
    bound: float | None
    status: str
    seconds: float
    reached: float | None
    batch: int
    load: float | None
    found_by: str


def limit_of(contender: Contender) -> float:
    """Time limit that is given, 0 if there is none."""
    limit = float(contender.get("time_limit") or 0)
    return limit if math.isfinite(limit) else 0.0


def key_of(setting: str, instance: int | str, contender: Contender) -> Key:
    """Name a plan of a contender; if its weights are a file, also by what is in that."""
    weights = Path(contender.get("weights") or "")
    files = f"{crc32(weights.read_bytes()):08x}" if weights.is_file() else ""
    return Key(setting, instance, contender, files=files)


def solving_tasks(
    setting: str,
    source: Source,
    names: Sequence[int | str],
    contender: Contender,
    vehicles: int = 1,
) -> list[Task]:
    """List the tasks of a contender on instances, which go by these names.

    A method for many instances at once gets them in batches.

    Raises
    ------
    MethodError
        If the method or an option is unknown, or the method does not plan for so many vehicles.
    """
    method = get_method(contender.method)
    read_options(method, contender.given)
    if vehicles > 1 and "teams" not in method.can:
        raise MethodError(f"method {method.name!r}: plans for one vehicle, not for {vehicles}")
    size = BATCH if method.many is not None else 1
    files = key_of(setting, 0, contender).files
    tasks = []
    for first in range(0, len(names), size):
        part = range(first, min(first + size, len(names)))
        keys = tuple(Key(setting, names[k], contender, files=files) for k in part)
        work = partial(_measure, contender, source, part)
        tasks.append(Task(keys, work, Measured, limit_of(contender) * len(part)))
    return tasks


def versus(
    config: Config,
    setting: str,
    source: Source,
    names: Sequence[int | str],
    vehicles: int = 1,
) -> list[Task]:
    """List the tasks of the prover and then of all methods on instances.

    Methods that the configuration calls slow have the first of the instances only.
    """
    tasks: list[Task] = []
    for contender in dict.fromkeys((config.prover, *config.methods)):
        some = names[: config.slow_count] if contender.method in config.slow else names
        tasks += solving_tasks(setting, source, some, contender, vehicles)
    return tasks


def contest(config: Config, folders: Folders) -> list[Task]:
    """List the tasks of the prover and of all methods on all settings."""
    tasks: list[Task] = []
    for one in config.settings:
        names = range(one.size(config.count))
        source = partial(one.instances, config.count)
        tasks += versus(config, one.name, source, names, one.vehicles)
    return tasks


def proofs(config: Config, setting: Setting) -> tuple[Source, list[Task]]:
    """Give the instances of a setting, and the tasks of the prover on them."""
    source = partial(setting.instances, config.count)
    names = range(setting.size(config.count))
    return source, solving_tasks(setting.name, source, names, config.prover, setting.vehicles)


def _measure(contender: Contender, source: Source, part: range) -> list[Row]:
    instances = source()
    some = [instances[k] for k in part]
    if get_method(contender.method).many is not None:
        return measure_batch(contender, some)
    return [measure(contender, some[0]).row]


class Measurement(NamedTuple):
    """A row, the result that it is of, and which profits were reached when."""

    row: Row
    result: Result
    news: list[Progress]


def measure(contender: Contender, instance: Instance) -> Measurement:
    """Solve an instance, and measure that."""
    _warm_up(contender, instance)
    news: list[Progress] = []

    def note(found: Progress) -> None:
        if not news or found.profit > news[-1].profit:
            news.append(found)

    name, given = contender.method, contender.given
    improving = issubclass(get_method(name).options, ImprovingOptions)
    watched: dict[str, Any] = {"progress": note} if improving else {}
    result = solve(instance, name, **given, **watched)
    reached = None
    if improving:  # what was found last may not have been told
        told = news and news[-1].profit >= result.profit * (1 - TOLERANCE)
        reached = news[-1].seconds if told else result.runtime
    seconds = result.runtime
    if seconds < BRIEF and not limit_of(contender):
        again = [solve(instance, name, **given).runtime for _ in range(2)]
        seconds = median((seconds, *again))
    row = row_of(result, contender, seconds=seconds, reached=reached)
    return Measurement(row, result, news)


def measure_batch(contender: Contender, instances: Sequence[Instance]) -> list[Row]:
    """Solve instances all at once; each counts with its share of the time."""
    for instance in instances:
        _warm_up(contender, instance)
    results = solve_many(instances, contender.method, threads=1, **contender.given)
    return [row_of(result, contender) for result in results]


def row_of(
    result: Result,
    contender: Contender,
    *,
    seconds: float | None = None,
    reached: float | None = None,
) -> Row:
    """Check a plan, and make a row of it; the time is the result's unless it is given.

    Raises
    ------
    BenchError
        If the plan breaks a rule.
    """
    violations = check(result.instance, result.solution)
    if result.status in ("incomplete", "infeasible"):
        violations = [one for one in violations if one.rule != "required"]
    if violations:
        name = result.instance.name
        raise BenchError(f"{name}: plan of '{contender}': {violations[0]}")
    bound, busy = result.bound, load()
    seconds = result.runtime if seconds is None else seconds
    return {
        "profit": result.profit,
        "bound": bound if bound is not None and math.isfinite(bound) else None,
        "status": result.status,
        "seconds": seconds,
        "reached": None if reached is None else min(reached, seconds),
        "batch": int(result.details.get("batch", 1)),
        "load": round(busy, 2) if math.isfinite(busy) else None,
        "found_by": result.found_by,
    }


def with_best_stays(instance: Instance, plan: Result) -> Result:
    """Give the routes of a plan the stays that earn most in an instance."""
    from decost import optimal_stays  # its kernels are not needed to list benches

    routes = [route.stops for route in plan.solution.routes]
    stays = optimal_stays(instance, routes).stays
    return Result(instance, make_solution(instance, routes, stays), "feasible")


_WARM: set[tuple[Key, bool]] = set()


def _warm_up(contender: Contender, instance: Instance) -> None:
    """Let a contender plan once for nothing: kernels are compiled, and weights read."""
    _ = instance.arrays  # computed once, which should not be counted for the first method alone
    which = (key_of("", "", contender), instance.vehicles > 1)
    if which not in _WARM:
        prepare(contender.method, [instance])
        solve(instance, contender.method, **(contender.given | {"time_limit": WARM_UP}))
        _WARM.add(which)
