"""The first `decost solve` after an installation, which compiles, and the second.

python -m benchmarks.cold_start [--out table.csv]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import machine, output, write_csv


def main() -> None:
    """Run the command twice with an empty cache of compiled code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    print(machine())
    rows = []
    example = Path(__file__).resolve().parents[1] / "examples" / "data" / "city.json"
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-m", "decost", "solve", str(example), "--json"]
        for name in ("first", "second"):
            begin = time.perf_counter()
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            seconds = time.perf_counter() - begin
            rows.append((name, f"{seconds:.1f}"))
            print(f"{name}: {seconds:.1f} s; on stderr: {run.stderr.strip()!r}", flush=True)
    if given.out:
        write_csv(given.out, ("run", "seconds"), rows)


if __name__ == "__main__":
    main()
