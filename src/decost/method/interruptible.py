"""Ctrl-C for solvers that do not return to Python while they run."""

from __future__ import annotations

from collections.abc import Callable

from decost.method.aside import Aside


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
    aside = Aside(solve)
    try:
        while not (aside.wait(0.1) or interrupted):
            interrupted = over()
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        stop()
    aside.answer()
    return interrupted
