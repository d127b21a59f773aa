"""One way to do something in another thread, so that Ctrl-C finds this one waiting.

Kernels are not to run where signals arrive: one that comes while a kernel hands its answer over to
Python can crash it. And whoever waits for them must not hold a lock of Python's own making, as the
futures of the standard library have: Ctrl-C in the wrong moment would leave it locked for ever.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

POLL = 0.02
"""Seconds between two looks at what is done aside."""


class Aside(Generic[Answer]):
    """Something that is being done in another thread.

    Parameters
    ----------
    function
        What to do.
    again
        Whether to use a thread that is kept for such work and does one thing after another: to
        start a new one takes longer than to solve a small problem.
    """

    def __init__(self, function: Callable[[], Answer], *, again: bool = False) -> None:
        self._function = function
        self._answers: list[Answer] = []
        self._error: BaseException | None = None
        self._ended = False
        self._running = _thread.allocate_lock()
        self._running.acquire()
        if again:
            _kept_thread().put(self._run)
        else:
            _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            self._answers.append(self._function())
        except BaseException as error:
            self._error = error
        self._ended = True
        self._running.release()

    @property
    def ended(self) -> bool:
        """Whether it is done."""
        return self._ended

    def wait(self, seconds: float = POLL) -> bool:
        """Wait for the end, but not for long; say whether it has come."""
        if not self._ended and self._running.acquire(timeout=max(0.0, seconds)):
            self._running.release()
        return self._ended

    def join(self) -> None:
        """Wait for the end."""
        while not self.wait():
            pass

    def answer(self) -> Answer:
        """Wait for the answer, or raise the error that there was instead."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._answers[0]


@cache
def _kept_thread() -> SimpleQueue[Callable[[], None]]:
    """Keep one thread; give the queue of what it is to do."""
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        while True:
            jobs.get()()

    _thread.start_new_thread(serve, ())
    return jobs


if hasattr(os, "register_at_fork"):  # a thread does not live on in a child process
    os.register_at_fork(after_in_child=_kept_thread.cache_clear)
