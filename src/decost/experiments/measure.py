"""Measures methods on instances: plans are checked, times taken, and all of it made a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from decost.experiments.runner import ExperimentError, Key, Row, Task
from decost.experiments.tables import load
from decost.methods.options import ImprovingOptions, Method, Progress
from decost.problem.checker import check
from decost.problem.instance import TOLERANCE, Instance
from decost.result import Result
from decost.solver import BATCH, MethodError, get_method, prepare, read_options, solve, solve_many

Source: TypeAlias = Callable[[], Sequence[Instance]]
"""Gives the instances of a setting, when they are needed."""

WARM_UP = 0.05
"""Seconds for the plan that each method makes before its first one that counts."""

BRIEF = 0.01
"""Seconds below which a time is the median of three: any hiccup of the machine is longer."""


class Words(NamedTuple):
    """A method and its options, as "ils time_limit=10" says it.

    `limit` is the time limit that is given, 0 if there is none, and `files` a checksum of the
    weights if these are a file.
    """

    method: Method
    given: dict[str, Any]
    seed: int
    limit: float
    files: str


def read_words(words: str, vehicles: int = 1) -> Words:
    """Read a method with its options.

    Raises
    ------
    MethodError
        If the method or an option is unknown, or the method does not plan for so many vehicles.
    """
    name, *pairs = words.split() or [""]
    method = get_method(name)
    for pair in pairs:
        if "=" not in pair:
            raise MethodError(f"method {words!r}: {pair!r} is not like option=value")
    given: dict[str, Any] = dict(pair.split("=", 1) for pair in pairs)
    options = read_options(method, given)
    if vehicles > 1 and not method.teams:
        raise MethodError(f"method {name!r}: plans for one vehicle, not for {vehicles}")
    limit = options.time_limit if "time_limit" in given else None
    finite = limit if limit is not None and math.isfinite(limit) else 0.0
    weights = Path(given.get("weights", ""))
    files = f"{crc32(weights.read_bytes()):08x}" if weights.is_file() else ""
    return Words(method, given, options.seed, finite, files)


def solving_tasks(
    setting: str, source: Source, names: Sequence[int | str], words: str, vehicles: int = 1
) -> list[Task]:
    """List the tasks of a method on instances, which go by these names.

    A method for many instances at once gets them in batches.
    """
    asked = read_words(words, vehicles)
    size = BATCH if asked.method.many is not None else 1
    tasks = []
    for first in range(0, len(names), size):
        part = range(first, min(first + size, len(names)))
        keys = tuple(Key(setting, names[k], words, asked.seed, asked.files) for k in part)
        tasks.append(Task(keys, partial(_measure, words, source, part), asked.limit * len(part)))
    return tasks


def _measure(words: str, source: Source, part: range) -> list[Row]:
    instances = source()
    some = [instances[k] for k in part]
    if get_method(words.split()[0]).many is not None:
        return measure_batch(words, some)
    return [measure(words, some[0]).row]


class Measured(NamedTuple):
    """A row, the result that it is of, and which profits were reached when."""

    row: Row
    result: Result
    news: list[Progress]


def measure(words: str, instance: Instance) -> Measured:
    """Solve an instance, and measure that."""
    asked = read_words(words)
    _warm_up(words, instance)
    news: list[Progress] = []

    def note(found: Progress) -> None:
        if not news or found.profit > news[-1].profit:
            news.append(found)

    improving = issubclass(asked.method.options, ImprovingOptions)
    watched: dict[str, Any] = {"progress": note} if improving else {}
    result = solve(instance, asked.method.name, **asked.given, **watched)
    reached = None
    if improving:  # what was found last may not have been told
        told = news and news[-1].profit >= result.profit * (1 - TOLERANCE)
        reached = news[-1].seconds if told else result.runtime
    seconds = result.runtime
    if seconds < BRIEF and not asked.limit:
        again = [solve(instance, asked.method.name, **asked.given).runtime for _ in range(2)]
        seconds = median((seconds, *again))
    return Measured(row_of(result, words, seconds=seconds, reached=reached), result, news)


def measure_batch(words: str, instances: Sequence[Instance]) -> list[Row]:
    """Solve instances all at once; each counts with its share of the time."""
    asked = read_words(words)
    for instance in instances:
        _warm_up(words, instance)
    results = solve_many(instances, asked.method.name, threads=1, **asked.given)
    return [row_of(result, words) for result in results]


def row_of(
    result: Result, words: str, *, seconds: float | None = None, reached: float | None = None
) -> Row:
    """Check a plan, and make a row of it; the time is the result's unless it is given.

    Raises
    ------
    ExperimentError
        If the plan breaks a rule.
    """
    violations = check(result.instance, result.solution)
    if violations:
        raise ExperimentError(f"{result.instance.name}: plan of {words!r}: {violations[0]}")
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
    }


_WARM: set[tuple[str, str, bool]] = set()


def _warm_up(words: str, instance: Instance) -> None:
    """Let a method plan once for nothing: kernels are compiled, and weights read."""
    _ = instance.arrays  # computed once, which should not be counted for the first method alone
    asked = read_words(words)
    which = (words, asked.files, instance.vehicles > 1)
    if which not in _WARM:
        prepare(asked.method.name, [instance])
        solve(instance, asked.method.name, **(asked.given | {"time_limit": WARM_UP}))
        _WARM.add(which)
