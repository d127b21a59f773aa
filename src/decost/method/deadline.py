"""How long a method may go on: limits, parts of them, and Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from threading import current_thread, main_thread
from typing import TypeVar

from decost.compiling import clock, give_up
from decost.method.aside import POLL, Aside

Answer = TypeVar("Answer")

SLICE = 0.05
"""Seconds that a kernel may run before limits are looked at."""


class Deadline:
    """The end of the time that there is; it comes at once when it is cancelled.

    A child is for a part of the work: it ends with its parent at the latest, however that ends.
    Ctrl-C ends the whole family. Time in which kernels are compiled or loaded does not count.

    Parameters
    ----------
    seconds
        How long there is time, by default for ever.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = clock() + (math.inf if seconds is None else seconds)
        self._parent: Deadline | None = None
        self._cancelled = False
        self._interrupted = False

    def child(self, seconds: float) -> Deadline:
        """Give a part of the work so many seconds, or less if there is less."""
        part = Deadline(seconds)
        part._end = min(part._end, self._end)
        part._parent = self
        return part

    @property
    def left(self) -> float:
        """Seconds until the end, negative after it."""
        return -math.inf if self.stopped else self._end - clock()

    @property
    def whole(self) -> Deadline:
        """What it is a part of at last: the end of all work."""
        return self if self._parent is None else self._parent.whole

    def allows(self, seconds: float) -> bool:
        """Whether there is time for something that takes so long; for a slice there always is."""
        return seconds <= max(self.left, SLICE)

    def cancel(self) -> None:
        """End it now, and its children."""
        self._cancelled = True

    def interrupt(self) -> None:
        """End it, its children and all that it is a part of, because of Ctrl-C."""
        self._interrupted = True
        give_up()
        self.cancel()
        if self._parent is not None:
            self._parent.interrupt()

    @property
    def stopped(self) -> bool:
        """Whether it, or what it is a part of, was cancelled."""
        return self._cancelled or (self._parent is not None and self._parent.stopped)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was the reason."""
        return self._interrupted or (self._parent is not None and self._parent.interrupted)

    def slices(self, seconds: float = math.inf, first: int = 1_000) -> Iterator[int]:
        """Yield amounts of work, each to be done in about one slice, for so many seconds."""
        part = self.child(seconds)
        work, last = first, clock()
        while True:
            yield work
            left, now = part.left, clock()
            if left <= 0:
                return
            pace = min(SLICE, max(left, SLICE / 10)) / max(now - last, 1e-6)
            work, last = max(1, int(work * min(4.0, pace))), now

    def work(self, function: Callable[[], Answer]) -> Answer | None:
        """Do something that looks at the deadline by itself, out of reach of signals.

        Gives its answer, or None if it was interrupted itself.
        """
        if current_thread() is not main_thread():
            try:
                return function()
            except KeyboardInterrupt:  # by what else runs until this deadline
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

    def run(
        self,
        function: Callable[[], Answer],
        stop: Callable[[], object],
        look: Callable[[], object] = lambda: None,
    ) -> Answer:
        """Do something in a new thread that ends soon after it is told to stop.

        That is when time is over, or at Ctrl-C. `look` is called now and then until the end, and
        once after it. HiGHS, for one, needs a new thread for another number of threads.
        """
        if self.left <= 0:
            stop()
        aside = Aside(function)
        try:
            while self.left > 0 and not aside.wait(min(POLL, self.left)):
                look()
        except KeyboardInterrupt:
            self.interrupt()
        finally:
            if not aside.ended:
                stop()
            aside.join()
        answer = aside.answer()
        look()
        return answer
