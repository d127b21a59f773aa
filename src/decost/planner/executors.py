"""Sets that others solve: processes, and machines, by any `concurrent.futures.Executor`."""

from __future__ import annotations

import os
import pickle
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from decost import __version__
from decost.files.writing import lock
from decost.method.options import Method, MethodError
from decost.method.result import Failure, Result
from decost.problem.instance import Instance

SECONDS = 0.5
"""How long a bundle of instances is to take: much longer than to hand it over."""

MOST, MOST_BYTES = 1_000, 2**22
"""Most instances in a bundle, and about the most bytes of them."""

POLL = 0.1
"""Seconds between two looks for Ctrl-C."""

ROLL_CALL = 2.0
"""Seconds between two looks for workers that have come or gone."""

Tag = TypeVar("Tag")
Answer = TypeVar("Answer")


class UnfinishedError(RuntimeError):
    """An executor died, or lost what it was given.

    Attributes
    ----------
    results
        What was finished by then and not handed out, by the number of the instance.
    """

    def __init__(self, why: str, results: dict[int, Result | Failure] | None = None) -> None:
        super().__init__(why)
        self.results = results or {}


def worker_count(executor: Executor) -> int:
    """Say how many tasks an executor does at a time, as far as it tells.

    Raises
    ------
    UnfinishedError
        If it has died.
    """
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None:
        try:
            return max(1, int(sum(client.nthreads().values())))
        except (OSError, RuntimeError) as error:
            raise UnfinishedError(_death(error)) from error
    for name in ("_max_workers", "num_workers"):  # the standard library's, and mpi4py's
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1


def as_done(
    executor: Executor,
    function: Callable[..., Any],
    tasks: Iterator[tuple[Tag, tuple[Any, ...]]],
    most: Callable[[], int],
) -> Iterator[tuple[Tag, Any]]:
    """Let an executor do tasks, so many at a time; give their answers as they come.

    What an executor of many machines knows of is little then, however many tasks there are. How
    many are the `most` is asked again and again, since workers may come later.

    Raises
    ------
    UnfinishedError
        If the executor has died or lost a task.
    KeyboardInterrupt
        At Ctrl-C, here or in a worker; tasks that have not begun are cancelled.
    """
    pending: dict[Future[Any], Tag] = {}
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    room, asked = most(), time.monotonic()
    try:
        more = True
        while more or pending:
            if more and time.monotonic() - asked > ROLL_CALL:
                room, asked = most(), time.monotonic()
            while more and len(pending) < room:
                task = next(tasks, None)
                if task is None:
                    more = False
                    break
                future = _submit(executor, function, *task[1])
                pending[future] = task[0]
                future.add_done_callback(ended.put)
            with suppress(Empty):  # Ctrl-C may not wake a thread that waits without end
                while pending:
                    future = ended.get(timeout=POLL)
                    answer = answer_of(future)
                    yield pending.pop(future), answer
                    if more:
                        break
    finally:
        for future in pending:
            future.cancel()


def _submit(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    try:
        return executor.submit(function, *arguments)
    except (BrokenExecutor, RuntimeError) as error:  # it may also have been shut down
        raise UnfinishedError(_death(error)) from error


def answer_of(future: Future[Answer]) -> Answer:
    """Give what a task has answered; if its executor died, say so."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise UnfinishedError(_death(error)) from error
    except Exception as error:
        if type(error).__name__ in ("KilledWorker", "CommClosedError", "FutureCancelledError"):
            raise UnfinishedError(_death(error)) from error
        raise


def _death(error: BaseException) -> str:
    words = " ".join(str(error).split())
    kind = type(error).__name__
    return f"the executor has died: {kind}: {words}" if words else f"the executor has died: {kind}"


class _Bundle(NamedTuple):
    """What a worker is to do."""

    version: str
    method: str | Method
    options: dict[str, Any]
    instances: Sequence[Instance]


def solve_on(
    executor: Executor,
    done: dict[int, Result | Failure],
    instances: Sequence[Instance],
    method: str | Method,
    options: dict[str, Any],
    workers: int | None,
) -> Iterator[Sequence[int]]:
    """Solve a set, and give the numbers of instances of which `done` has just got the outcome.

    Bundles begin with a few instances, and grow until they take half a second each.
    """
    count, size, total = 1, 1, len(instances)
    weight = len(pickle.dumps(instances[0])) if total else 1

    def most() -> int:
        nonlocal count
        count = workers if workers is not None else worker_count(executor)
        return 3 * count

    def bundles() -> Iterator[tuple[range, tuple[_Bundle]]]:
        first = 0
        while first < total:
            fair = -(-(total - first) // (2 * count))  # so that all end at about the same time
            last = first + max(1, min(size, fair, MOST, MOST_BYTES // weight))
            part = instances[first:last]
            yield range(first, first + len(part)), (_Bundle(__version__, method, options, part),)
            first += len(part)

    try:
        for numbers, (outcomes, seconds) in as_done(executor, work, bundles(), most):
            for index, outcome in zip(numbers, outcomes, strict=True):
                done[index] = _with_instance(outcome, instances[index])
            size = max(1, min(4 * size, int(SECONDS * len(numbers) / max(seconds, 1e-6))))
            yield numbers
    except UnfinishedError as error:
        # What has been handed out is not in `done` any more; the caller has it.
        raise UnfinishedError(f"{error}; {len(done)} results are kept", dict(done)) from error


def _with_instance(outcome: Any, instance: Instance) -> Any:
    outcome.__dict__["instance"] = instance
    return outcome


def require_version(version: str) -> None:
    """Refuse work of another version of the package.

    Raises
    ------
    MethodError
        If this is another version; it names the machine.
    """
    if version != __version__:
        raise MethodError(
            f"worker on {socket.gethostname()}: has decost {__version__}, and was given work by "
            f"decost {version}: install the same version everywhere"
        )


def work(bundle: _Bundle) -> tuple[list[Result | Failure], float]:
    """Solve a bundle, in a worker; give the outcomes without their instances, and the seconds."""
    require_version(bundle.version)
    name = make_ready(bundle.method, bundle.instances[:1])
    from decost.planner.door import solve_each

    begin = time.perf_counter()
    outcomes = []
    for outcome in solve_each(bundle.instances, name, threads=1, on_error="row", **bundle.options):
        if isinstance(outcome, Failure):
            outcome = _portable(outcome)
        outcome.__dict__["instance"] = None
        outcomes.append(outcome)
    return outcomes, time.perf_counter() - begin


def _portable(failure: Failure) -> Failure:
    """Make sure that the error of a failure can be sent."""
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        failure.__dict__["error"] = RuntimeError(failure.message)
    return failure


_READY: set[str] = set()


def is_ready(method: str | Method) -> bool:
    """Whether a method has been prepared in this worker."""
    return (method if isinstance(method, str) else method.name) in _READY


def make_ready(method: str | Method, instances: Sequence[Instance]) -> str:
    """Prepare a method in a worker, once; give its name.

    Of the processes of a machine one compiles, and the others wait and load what it has kept.
    """
    from decost.planner.door import is_known, prepare, register

    name = method if isinstance(method, str) else method.name
    if is_ready(name):
        return name
    if isinstance(method, Method) and not is_known(name):
        register(method)
    user = getattr(os, "getuid", lambda: 0)()
    path = Path(tempfile.gettempdir()) / f"decost-prepare-{user}.lock"
    with suppress(OSError), path.open("a") as file:
        while not lock(file):
            time.sleep(POLL)
        prepare(name, instances)
    _READY.add(name)
    return name
