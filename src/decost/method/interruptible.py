"""Ctrl-C for solvers that do not return to Python while they run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


def run_interruptibly(
    solve: Callable[[], object],
    stop: Callable[[], object],
    over: Callable[[], bool] = lambda: False,
) -> bool:
    """Solve in a new thread, so that Ctrl-C stops the solver and not the program.

    It is also stopped once `over` says so, for callers that Ctrl-C does not reach. The answer says
    whether it was interrupted. HiGHS also needs a new thread for another number
    of threads than it had before.
    """
    interrupted = False
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(solve)
        try:
            while not (future.done() or interrupted):
                wait([future], timeout=0.1)
                interrupted = over()
            if interrupted:
                stop()
        except KeyboardInterrupt:
            interrupted = True
            stop()
        future.result()
    return interrupted
