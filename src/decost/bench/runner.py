"""Runs a bench: does the tasks that are left, and makes tables and figures of their rows."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from decost import __version__
from decost.bench import BenchError
from decost.bench.rows import FORMAT, open_rows
from decost.bench.schema import Bench, Config, Folders, Record, Row, Task
from decost.bench.tables import csv_text, markdown, speed
from decost.compiling import counting_cpu_time
from decost.files.writing import write_text
from decost.planner.executors import as_done, require_version, worker_count


class News(NamedTuple):
    """How far a bench is: tasks done, of how many, seconds left, and what comes next."""

    done: int
    total: int
    left: float
    next: str


def run_bench(
    bench: Bench[Any],
    scale: str,
    folders: Folders,
    *,
    threads: int = 1,
    executor: Executor | None = None,
    command: str = "",
    report: Callable[[News], object] = lambda news: None,
    **changes: Any,
) -> list[Path]:
    """Do what is left of a bench, and write its tables and figure.

    Parameters
    ----------
    bench
        The bench.
    scale
        "quick" or "full".
    folders
        Where the files go, and where data come from.
    threads
        Tasks that are done at a time; times are those of one alone only with one.
    executor
        Who does them instead of threads of this process, such as workers of a cluster.
    command
        The command line, for the head of the table.
    report
        Called before every task and after the last.
    **changes
        Fields of the configuration that are not as the scale has them.

    Returns
    -------
    list of Path
        The files written: the tables in Markdown first.

    Raises
    ------
    BenchError
        If the scale is unknown, data are missing, the rows in the folder are of another
        configuration or lack a field, or a plan is wrong or better than a proven bound.
    MethodError
        If a method or an option is unknown.
    KeyboardInterrupt
        At Ctrl-C; what was measured until then is kept. A thread is still at the task that was
        interrupted, until that is done or the process ends.
    """
    config = bench.config(scale, **changes)
    if threads < 1:
        raise BenchError(f"--threads {threads}: must be at least 1")
    if config.clock == "cpu" and (threads > 1 or executor is not None):
        raise BenchError("--clock cpu: counts all that this process does; one thread, no cluster")
    tasks = bench.list_tasks(config, folders)
    folders.out.mkdir(parents=True, exist_ok=True)
    path = rows_path(bench, scale, folders.out)
    asked = {key: task.row for task in tasks for key in task.keys}
    other = tasks[0].row if bench.whole else Record
    ticking = counting_cpu_time() if config.clock == "cpu" else nullcontext()
    with ticking, open_rows(path, _head(bench, config), asked, other) as (rows, save):
        rest = [task for task in tasks if not all(key in rows for key in task.keys)]
        pace = _Pace(tasks, rest)
        for task, measured, seconds in _do(rest, threads, executor, lambda: report(pace.news())):
            save(task.keys, measured)
            pace.finish(task, seconds)
        report(pace.news())
    shown = [
        key._asdict() | rows[key]
        for key in ((*asked, *(rows.keys() - asked)) if bench.whole else asked)
    ]
    return _write(bench, config, scale, shown, folders.out, command)


def rows_path(bench: Bench[Any], scale: str, folder: Path) -> Path:
    """Where the rows of a bench are kept."""
    return folder / f"{bench.shares or bench.name}-{scale}.rows.jsonl"


def _head(bench: Bench[Any], config: Config) -> Row:
    """Say what rows depend on beyond their keys."""
    return {
        "format": FORMAT,
        "version": __version__,
        "bench": bench.shares or bench.name,
        "config": config.model_dump(mode="json", exclude=set(config.selecting)),
        "clock": config.clock,
    }


def _do(
    tasks: Sequence[Task], threads: int, executor: Executor | None, before: Callable[[], object]
) -> Iterator[tuple[Task, Sequence[Row], float]]:
    """Do tasks in other threads, while this one waits for Ctrl-C; give what they measured.

    There, Ctrl-C neither meets a kernel, which it can crash, nor is it answered by a method with
    its best plan so far, which is not what is measured. What a thread is at then is not kept.
    """
    pool = executor or ThreadPoolExecutor(threads)

    def given() -> Iterator[tuple[Task, tuple[str, Callable[[], Sequence[Row]]]]]:
        for task in tasks:
            before()
            yield task, (__version__, task.measure)

    def most() -> int:
        return threads if executor is None else worker_count(executor)

    try:
        for task, (measured, seconds) in as_done(pool, timed, given(), most):
            yield task, measured, seconds
    finally:
        if executor is None:
            pool.shutdown(wait=False, cancel_futures=True)


def timed(version: str, measure: Callable[[], Sequence[Row]]) -> tuple[Sequence[Row], float]:
    """Do a task, here or in a worker, and say how many seconds it took."""
    require_version(version)
    begin = time.perf_counter()
    return measure(), time.perf_counter() - begin


class _Pace:
    """How far a run is, and how long the rest may take.

    A task is expected to take as long as others of its kind did, or else what it says itself.
    """

    def __init__(self, tasks: Sequence[Task], rest: Sequence[Task]) -> None:
        self._total = len(tasks)
        self._rest = rest
        self._done = 0
        self._spent: defaultdict[object, _Sum] = defaultdict(_Sum)
        self._left: defaultdict[object, _Sum] = defaultdict(_Sum)
        for task in rest:
            self._left[self._kind(task)].add(task.expected)

    @staticmethod
    def _kind(task: Task) -> object:
        return task.kind or task.keys[0][::2]  # the setting and the contender

    def finish(self, task: Task, seconds: float) -> None:
        self._spent[self._kind(task)].add(seconds)
        self._left[self._kind(task)].count -= 1
        self._done += 1

    def news(self) -> News:
        following = [task.keys[0] for task in self._rest[self._done : self._done + 1]]
        label = "".join(f"{key.setting}: {key.contender}" for key in following)
        seconds = 0.0
        for kind, left in self._left.items():
            spent = self._spent.get(kind)
            seconds += left.count * spent.total / spent.count if spent else left.total
        return News(self._total - len(self._rest) + self._done, self._total, seconds, label)


@dataclass
class _Sum:
    """Some numbers, of which only their count and sum are kept."""

    count: int = 0
    slow: tuple[str, ...] = ()
    slow_count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value


def _write(
    bench: Bench[Any],
    config: Config,
    scale: str,
    rows: Sequence[Row],
    folder: Path,
    command: str,
) -> list[Path]:
    tables = bench.summarise(config, rows)
    stem = f"{bench.name}-{scale}"
    head = [f"# {bench.title}", ""]
    head += [f"* {line}" for line in _circumstances(rows, rows_path(bench, scale, folder).name)]
    head.append(f"* made by decost {__version__}" + (f": `{command}`" if command else ""))
    usual = bench.config(scale)
    changed = [name for name in config.options() if getattr(config, name) != getattr(usual, name)]
    if config.reduced:
        other = f"; but other {', '.join(changed)}" if changed else ""
        head.append(f"* scale {scale}: {config.reduced}{other}")
    if config.clock == "cpu":
        head.append("* seconds are CPU time of one process, also those of time limits")
    if config.remark:
        head.append(f"* {config.remark}")
    if bench.draw is not None:
        head += ["", f"![{bench.title}]({stem}.png)"]
    paths = [folder / f"{stem}.md"]
    for name, table in tables.items():
        path = folder / ("-".join(filter(None, (stem, name))) + ".csv")
        write_text(path, csv_text(table))
        paths.append(path)
        head += ["", *([f"## {name}", ""] if name else []), markdown(table)]
    if bench.draw is not None:
        from decost.show.page import save_figure

        paths.append(folder / f"{stem}.png")
        save_figure(bench.draw(config, rows), paths[-1])
    write_text(paths[0], "\n".join((*head, "")))
    return paths


def _circumstances(rows: Sequence[Row], file: str) -> Iterator[str]:
    """Tell when and where rows were measured, and how busy the machine was."""
    if not rows:
        return
    yield from dict.fromkeys(row["machine"] for row in rows)
    yield f"{speed()} when this table was made"
    times = [row["at"] for row in rows]
    versions = ", ".join(sorted({row["version"] for row in rows}))
    yield f"measured from {min(times)} to {max(times)} UTC with decost {versions}"
    yield (
        f"{len(rows)} rows in `{file}`; times are those of one instance after warm-up, by one "
        "thread (auto: two); when a method found its best plan is known to 0.02 s"
    )
    loads = [row["load"] for row in rows if row.get("load") is not None]
    if loads:
        yield f"load of the machine while measuring: {min(loads):.1f} to {max(loads):.1f}"
