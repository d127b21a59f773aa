"""The time that a piece of code takes, also on a machine that others use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Assert that the code ends in time: by the clock or, where others compute too, by CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    assert min(clock, cpu) < seconds, f"{clock:.2f} s, {cpu:.2f} CPU s, at most {seconds} asked"
