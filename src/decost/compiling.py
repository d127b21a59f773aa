"""What is known while kernels are compiled: how far it is, and a clock that waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

LOGGER = logging.getLogger("decost")

Listener: TypeAlias = Callable[[int, int, str], object]
"""Called with how many kernels are compiled, out of how many, and the name of the latest."""

NOTE = "compiling kernels, which is done once after an installation"

# When the work that is going on began, if any is, and seconds of such work before: read and
# replaced together, so that other threads never see a half of it.
_standstill: tuple[float | None, float] = (None, 0.0)
_now: Callable[[], float] = time.perf_counter
_depth = 0
_given_up = False
_listeners: list[Listener] = []
_done = _wanted = 0


def clock() -> float:
    """Give the time in seconds, by a clock that stands still while kernels are made or loaded.

    So a time limit is a limit on solving, also for the first plan after an installation.
    """
    since, before = _standstill
    return (_now() if since is None else since) - before


@contextmanager
def counting_cpu_time() -> Iterator[None]:
    """Let the clock count the CPU time of this process, all threads together.

    So a busy machine does not shorten what is done within a time limit. Not while anything is
    being solved already.
    """
    global _now, _standstill
    before = clock()
    _now, _standstill = time.process_time, (None, time.process_time() - before)
    try:
        yield
    finally:
        before = clock()
        _now, _standstill = time.perf_counter, (None, time.perf_counter() - before)


@contextmanager
def standstill() -> Iterator[None]:
    """Stop the clock; for one thread at a time, which holds the compiler's lock."""
    global _standstill, _depth, _given_up
    if _depth == 0:
        _standstill = (_now(), _standstill[1])
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        since, before = _standstill
        if _depth == 0 and since is not None:
            _given_up = False
            _standstill = (None, before + _now() - since)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell somebody about every kernel that is compiled meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def give_up() -> None:
    """Let what is being compiled end with a KeyboardInterrupt, before its next kernel."""
    global _given_up
    _given_up = _depth > 0


def expect(name: str, kernels: int) -> None:
    """Say that so many kernels are to be compiled, the last of which has this name."""
    global _wanted
    if _wanted == 0 and not _listeners:
        LOGGER.warning(NOTE)
    LOGGER.info("compiling %s: %d kernels", name, kernels)
    _wanted = _done + kernels
    _tell(name)


def compiled(name: str, *, last: bool = False) -> None:
    """Say that a kernel has been compiled, or the last one that was expected."""
    global _done
    _done = _wanted if last else min(_done + 1, _wanted - 1)
    _tell(name)


def _tell(name: str) -> None:
    if _given_up:
        raise KeyboardInterrupt
    for listener in tuple(_listeners):
        listener(_done, _wanted, name)
