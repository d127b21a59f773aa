"""Try the wheel of a folder in a new environment, with an empty cache and nothing to write to.

`python tests/wheel.py FOLDER`: its machine code is taken, and with `DECOST_KERNELS=compile` it is
not; the plan is the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from cold_start import CITY, first_plan, report

MOST = 3.0
"""CPU seconds that the first plan may take."""


def plan(python: str, cache: str, **settings: str) -> tuple[dict[str, object], int]:
    """Plan with a cache; give the plan, and how many files the cache has got."""
    command = [python, "-m", "decost", "solve", str(CITY), "--json"]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache} | settings
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, cwd=cache)
    files = sum(path.is_file() for path in Path(cache).rglob("*"))
    return json.loads(done.stdout), files


def main(folder: str) -> None:
    """Install the newest wheel and plan with it."""
    wheel = max(Path(folder).glob("decost-*.whl"), key=lambda path: path.stat().st_mtime)
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        kernels = next(Path(place).glob("lib/*/site-packages/decost/kernels"))
        for path in (*kernels.rglob("*"), kernels):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            carried, none = plan(python, one)
            compiled, some = plan(python, other, DECOST_KERNELS="compile")
        assert none == 0, f"{none} kernels were compiled although machine code is carried"
        assert some > 0, "nothing was compiled although that was asked for"
        assert carried["profit"] == compiled["profit"]
        begin = time.perf_counter()
        report("carried", first_plan(python), MOST)
        print(f"by the clock: {time.perf_counter() - begin:.1f} seconds")
        for path in (kernels, *kernels.rglob("*")):
            path.chmod(0o755)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main(sys.argv[1])
