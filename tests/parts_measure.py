"""Measures sets in parts: `python tests/parts_measure.py COUNT [FOLDER]`.

Instances (n=50, TW=100) are generated to parts of Parquet and solved by `exact` twice: in one
process with two threads, and by two workers. Plans of both must be those of `solve_many`. Printed
is CSV: seconds, CPU seconds of all processes of a command, and the memory of the largest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import decost
from decost.files.parts import plans_in


def measured(name: str, *words: object) -> None:
    """Run a command, and print what it took."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "decost", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    seconds = time.perf_counter() - begin
    cpu = used.ru_utime + used.ru_stime
    each = cpu / COUNT
    row = (seconds, cpu, used.ru_maxrss / 1024, COUNT / seconds, 1e3 * each, 1e9 * each / 86_400)
    print(f"{name},{COUNT},{','.join(f'{value:.4g}' for value in row)}", flush=True)


def digest(rows: Iterable[dict[str, Any]]) -> tuple[str, int]:
    """Digest plans without their runtimes, and count those that are optimal."""
    total, optimal = sha256(), 0
    for row in rows:
        total.update(json.dumps(row | {"runtime": 0.0}).encode())
        optimal += row["status"] == "optimal"
    return total.hexdigest(), optimal


def plain(source: Path) -> Iterable[dict[str, Any]]:
    """Solve by `solve_many` alone."""
    index = 0
    for some in decost.read_parts(source):
        for result in decost.solve_many(some, "exact"):
            yield {"index": index} | result.to_dict()
            index += 1


COUNT = int(sys.argv[1]) if sys.argv[1:] else 100_000

if __name__ == "__main__":
    base = Path(sys.argv[2] if sys.argv[2:] else tempfile.mkdtemp())
    source, one, two = base / "instances", base / "one", base / "two"
    exact = ("--method", "exact")
    print(
        "what,instances,seconds,CPU (s),memory (MB),instances a second,CPU an instance (ms),"
        "cores for a billion a day"
    )
    measured("generate", "generate", "paper", "--count", COUNT, "--out", source)
    measured("one process", "solve", source, *exact, "--threads", 2, "--out", one)
    measured("two workers", "solve", source, *exact, "--cluster", "local:2", "--out", two)
    found = [digest(plans_in(path)) for path in (one, two)]
    assert found == [digest(plain(source))] * 2
    assert found[0][1] == COUNT
    print("all plans are optimal and equal to those of solve_many")
