"""The time that a method has left, and its reports on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from threading import current_thread, main_thread
from typing import TypeVar

import numpy as np

from decost.compiled import Halt
from decost.method.aside import POLL, Aside
from decost.method.options import Progress
from decost.problem.plan import Solution

Answer = TypeVar("Answer")

SLICE = 0.05
"""Seconds that a kernel may run before limits are looked at."""


class Clock:
    """Tells how much time is left, cuts work into slices, and passes on what is found meanwhile.

    `hear` gives the best plan that is found elsewhere meanwhile, or None.
    """

    def __init__(
        self,
        limit: float | None,
        progress: Callable[[Progress], object] | None = None,
        hear: Callable[[], Solution | None] | None = None,
    ) -> None:
        self._begin = time.perf_counter()
        self._end = self._begin + (math.inf if limit is None else limit)
        self._progress = progress
        self._hear = hear
        self._told: tuple[float, float | None] | None = None
        self.interrupted = False
        self.stopped = False

    @property
    def left(self) -> float:
        """Seconds until the limit, negative after it."""
        return self._end - time.perf_counter()

    def slices(self, seconds: float = math.inf, first: int = 1_000) -> Iterator[int]:
        """Yield amounts of work, each to be done in about one slice, for so many seconds."""
        work = first
        last = time.perf_counter()
        end = min(last + seconds, self._end)
        while True:
            yield work
            now = time.perf_counter()
            if now >= end:
                return
            part = min(SLICE, max(end - now, SLICE / 10))
            work = max(1, int(work * min(4.0, part / max(now - last, 1e-6))))
            last = now

    def work(self, function: Callable[[], Answer]) -> Answer | None:
        """Do something in another thread; Ctrl-C ends the time that there is for it.

        Gives its answer, or None if it was interrupted itself. Kernels are not to run where signals
        arrive: one that comes while a kernel hands its answer over to Python can crash it.
        """
        if current_thread() is not main_thread():
            try:
                return function()
            except KeyboardInterrupt:  # by what else runs on this clock
                self.interrupt()
                return None
        try:
            aside = Aside(function, again=True)
        except KeyboardInterrupt:  # it may have begun all the same
            self.interrupt()
            raise
        while not aside.ended:
            try:
                aside.wait()
            except KeyboardInterrupt:
                self.interrupt()
        try:
            return aside.answer()
        except KeyboardInterrupt:
            self.interrupt()
            return None

    def interrupt(self) -> None:
        """End the time, and note why."""
        self.interrupted = True
        self._end = -math.inf

    @property
    def listens(self) -> bool:
        """Whether anybody else looks for plans meanwhile."""
        return self._hear is not None

    def better_plan(self, profit: float) -> Solution | None:
        """Give the best plan that was found elsewhere if it earns more than this."""
        plan = self._hear() if self._hear is not None else None
        return plan if plan is not None and plan.profit > profit else None

    def report(self, profit: float, bound: float | None = None) -> None:
        """Tell the best profit and the least bound so far, if they are news.

        Whoever hears of it may answer False, which ends the time.
        """
        if self._progress is None or self.stopped:
            return
        best, least = self._told or (profit, bound)
        bounds = [one for one in (bound, least) if one is not None]
        news = (max(profit, best), min(bounds, default=None))
        if news != self._told:
            self._told = news
            answer = self._progress(Progress(time.perf_counter() - self._begin, *news))
            if isinstance(answer, bool | np.bool_) and not answer:
                self.stopped = True
                self._end = -math.inf

    def run(
        self,
        kernel: Callable[[Halt], Answer],
        profit: Callable[[], float],
    ) -> Answer:
        """Run a kernel that returns soon after the flag that it is given is set.

        That is when time is over, or at Ctrl-C. `profit` tells its best so far.
        """
        halt = np.full(1, self.left <= 0, dtype=np.uint8)
        aside = Aside(lambda: kernel(halt))
        try:
            while not aside.ended and self.left > 0:
                aside.wait(min(POLL, self.left))
                self.report(profit())
        except KeyboardInterrupt:
            self.interrupt()
        finally:
            halt[0] = 1
            aside.join()
        answer = aside.answer()
        self.report(profit())
        return answer
