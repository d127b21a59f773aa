"""Measures sets in parts: `python tests/parts_measure.py COUNT [FOLDER]`.

Instances (n=50, TW=100) are generated to parts of Parquet and solved by `exact` twice: in one
process that reads, calls `solve_many` with two threads and writes, and by two workers. Plans of
both must be optimal and the same. Printed is CSV: seconds, CPU seconds of all processes of a
command, and the memory of the largest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

import decost
from decost.files.parquet import write_plans
from decost.files.parts import Part, list_parts


def measured(name: str, count: int, *words: object) -> None:
    """Run Python, and print what it took."""
    begin = time.perf_counter()
    command = [sys.executable, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    seconds = time.perf_counter() - begin
    cpu = used.ru_utime + used.ru_stime
    each = cpu / count
    row = (seconds, cpu, used.ru_maxrss / 1024, count / seconds, 1e3 * each, 1e9 * each / 86_400)
    print(f"{name},{count},{','.join(f'{value:.4g}' for value in row)}", flush=True)


def solve_plainly(source: Path, out: Path) -> None:
    """Read parts, solve them by `solve_many` and write their plans."""
    out.mkdir()

    def rows(part: Part) -> Iterator[list[dict[str, Any]]]:
        index = part.first
        for some in part.read():
            results = decost.solve_many(some, "exact", threads=2)
            yield [{"index": k} | one.to_dict() for k, one in enumerate(results, index)]
            index += len(some)

    for part in list_parts(source):
        write_plans(out / part.name, rows(part), {})


def compare(one: Path, two: Path, count: int) -> None:
    """Require the same plans in two folders, all optimal; print a digest of the profits of each."""
    names = sorted(path.name for path in one.iterdir())
    assert sorted(path.name for path in two.iterdir()) == names
    digests = (sha256(), sha256())
    optimal = 0
    for name in names:
        mine, theirs = (pq.read_table(path / name).drop_columns("runtime") for path in (one, two))
        assert mine.equals(theirs), name
        optimal += pc.sum(pc.equal(theirs["status"], "optimal")).as_py()
        for digest, table in zip(digests, (mine, theirs), strict=True):
            digest.update(table["profit"].to_numpy().tobytes())
    assert optimal == count
    print(*(digest.hexdigest() for digest in digests), sep="\n")
    print("all plans are optimal, and equal to those of solve_many")


def main(count: int, base: Path) -> None:
    """Measure, and compare."""
    source, one, two = base / "instances", base / "one", base / "two"
    base.mkdir(exist_ok=True)
    print(
        "what,instances,seconds,CPU (s),memory (MB),instances a second,CPU an instance (ms),"
        "cores for a billion a day"
    )
    run = ("-m", "decost")
    solve = (*run, "solve", source, "--method", "exact", "--out", two)
    measured("generate", count, *run, "generate", "paper", "--count", count, "--out", source)
    measured("one process", count, __file__, "plain", source, one)
    measured("two workers", count, *solve, "--cluster", "local:2")
    compare(one, two, count)


if __name__ == "__main__":
    if sys.argv[1:2] == ["plain"]:
        solve_plainly(*map(Path, sys.argv[2:]))
    else:
        count, folder, *_ = [*sys.argv[1:], *("100000", "")[len(sys.argv) - 1 :]]
        main(int(count), Path(folder or tempfile.mkdtemp()))
