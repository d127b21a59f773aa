"""Measure the first `decost solve` after an installation, and fail if it takes too long.

`python tests/cold_start.py [PYTHON [SECONDS]]`, by the Python of an environment. CPU seconds count:
they depend least on what else the computer does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CITY = Path(__file__).parents[1] / "examples" / "data" / "city.json"

MOST = 30.0
"""CPU seconds that it may take without machine code that comes with the package."""


def first_plan(python: str, **settings: str) -> float:
    """Plan with an empty cache; give the CPU seconds."""
    with tempfile.TemporaryDirectory() as cache:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [python, "-m", "decost", "solve", str(CITY), "--json"]
        environment = os.environ | {"NUMBA_CACHE_DIR": cache} | settings
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, cwd=cache)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(what: str, seconds: float, most: float) -> None:
    """Print a figure, and fail if it is too large."""
    print(f"cold start, {what}: {seconds:.1f} CPU seconds (at most {most:g})")
    if seconds > most:
        sys.exit(1)


if __name__ == "__main__":
    report("compiling", first_plan(sys.executable, DECOST_KERNELS="compile"), MOST)
