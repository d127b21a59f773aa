"""Sets that are solved part by part, here or by an executor."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from decost import __version__
from decost.files.limits import FormatError
from decost.files.parquet import write_plans
from decost.files.parts import Part, PlanParts, finished_part, list_parts
from decost.files.sets import digest_of_settings
from decost.method.options import Method, MethodError
from decost.method.summary import Summary
from decost.planner.door import DEFAULT_METHOD, get_method, is_shipped, read_options, solve_each
from decost.planner.executors import (
    UnfinishedError,
    as_done,
    is_ready,
    make_ready,
    require_version,
    worker_count,
)


class Task(NamedTuple):
    """One part to solve, and where its plans go."""

    version: str
    part: Part
    out: Path
    run: str
    method: str | Method
    options: dict[str, Any]
    vehicles: int | None


def solve_parts(
    source: str | Path,
    out: str | Path,
    method: str = DEFAULT_METHOD,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    vehicles: int | None = None,
    restart: bool = False,
    progress: Callable[[int, int], object] = lambda done, total: None,
    **options: Any,
) -> Summary:
    """Solve a set of Parquet part by part, in memory that does not depend on its size.

    The plans of a part are written at once when they are finished, and the same call goes on with
    the parts that are missing.

    Parameters
    ----------
    source
        A Parquet file of instances, or a folder of them.
    out
        A folder for the plans, a file for each part; or a Parquet file.
    method, **options
        As for `solve_many`. An instance that cannot be solved has a row with its error.
    executor
        Who is to solve, each part as one task: see `solve_many`. Its workers read `source` and
        write to `out` themselves.
    threads
        How many instances to solve at a time, or with an executor how many parts.
    vehicles
        Number of vehicles, instead of the set's.
    restart
        Whether to begin anew, whatever plans are there.
    progress
        Called with the number of instances that are solved, and that of all: in the beginning
        those of former calls.

    Returns
    -------
    Summary
        What the plans come to.

    Raises
    ------
    FormatError
        If a part is torn, or plans are of another run; the file is named.
    UnfinishedError
        If the executor dies. Plans of finished parts are there.
    """
    settings = read_options(get_method(method), options)
    if getattr(settings, "start", None) is not None:
        raise MethodError("option start: is a plan for one instance, not for a set")
    if threads is not None and threads < 1:
        raise MethodError(f"threads = {threads}: must be at least 1")
    parts = list_parts(Path(source).resolve())
    words = f"{digest_of_settings(method, settings)} {vehicles}"
    plans = PlanParts(Path(out), parts, words)
    if plans.folder != plans.out and plans.out.resolve().parent == Path(source).resolve():
        raise FormatError(f"{out}: is in the folder of the instances, and would be taken for some")
    sent = method if is_shipped(method) else get_method(method)
    folder = plans.folder.resolve()
    with plans.claimed():
        finished = plans.resume(restart=restart)
        total = sum(part.count for part in parts)
        done = sum(one.instances for one in finished.values())
        progress(done, total)
        tasks = [
            Task(__version__, part, folder / part.name, plans.run, sent, options, vehicles)
            for part in parts
            if part.name not in finished
        ]

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        try:
            for name, summary in _solved(tasks, executor, threads, advance):
                finished[name] = summary
        except (UnfinishedError, OSError) as error:
            kept = f"{len(finished)} of {len(parts)} parts are kept, the same command goes on"
            if isinstance(error, UnfinishedError):
                raise UnfinishedError(f"{error}; {kept}") from error
            why = f"{error.strerror or error}; {kept}"
            raise OSError(error.errno, why, error.filename) from None
        whole = Summary()
        for part in parts:
            whole.join(finished[part.name])
        plans.finish(whole)
        return whole


def _solved(
    tasks: list[Task],
    executor: Executor | None,
    threads: int | None,
    advance: Callable[[int], object],
) -> Iterator[tuple[str, Summary]]:
    """Solve parts, and give the names of their files and what they come to."""
    if executor is None:
        for task in tasks:
            yield task.part.name, _solve_part(task, threads, advance)
        return

    def most() -> int:
        return threads if threads is not None else 2 * worker_count(executor)

    pairs = ((task.part.name, (task,)) for task in tasks)
    for name, summary in as_done(executor, work, pairs, most):
        advance(summary.instances)
        yield name, summary


def work(task: Task) -> Summary:
    """Solve a part, in a worker."""
    require_version(task.version)
    known = finished_part(task.out, task.run)  # by a worker that died before it could say so
    if known is not None:
        return known
    try:
        if not is_ready(task.method):
            make_ready(task.method, next(task.part.read(task.vehicles), [])[:1])
        return _solve_part(task, 1, lambda count: None)
    except OSError as error:
        if error.strerror is None:
            raise
        why = f"{error.strerror} on {socket.gethostname()}"
        raise OSError(error.errno, why, error.filename) from None


def _solve_part(task: Task, threads: int | None, advance: Callable[[int], object]) -> Summary:
    """Read a part, solve it and write its plans, some at a time."""
    name = task.method if isinstance(task.method, str) else task.method.name

    def rows() -> Iterator[list[dict[str, Any]]]:
        index = task.part.first
        for instances in task.part.read(task.vehicles):
            some = []
            for outcome in solve_each(
                instances, name, threads=threads, on_error="row", **task.options
            ):
                some.append({"index": index} | outcome.to_dict())
                index += 1
            advance(len(some))
            yield some

    return write_plans(task.out, rows(), {"run": task.run, "first": task.part.first})
