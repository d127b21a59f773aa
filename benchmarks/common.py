"""What the benchmarks share: the machine's speed, and tables."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence


def machine() -> str:
    """Name the machine, its load, and how long it takes to add up ten million numbers."""
    begin = time.perf_counter()
    sum(range(10**7))
    seconds = time.perf_counter() - begin
    load = os.getloadavg()[0]
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}; sum(range(10**7)) takes {seconds:.2f} s"
    )


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
