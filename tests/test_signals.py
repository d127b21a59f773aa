"""Signals at random moments of a set: nothing is lost, and the end is as if nothing had happened.

How many moments there are for each method is told by DECOST_SIGNALS (a long run: 200), the seed of
the random generator by DECOST_SIGNALS_SEED.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import decost

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has other signals")

MOMENTS = int(os.environ.get("DECOST_SIGNALS", "3"))
SEED = int(os.environ.get("DECOST_SIGNALS_SEED", "0"))

RUNS = {
    "exact": (200, ["--method", "exact"]),
    "search": (40, ["--method", "search", "--iterations", "300"]),
}
"""For each method the size of the set, and what to say on the command line."""

ENDS = [
    [signal.SIGINT],
    [signal.SIGTERM],
    [signal.SIGKILL],
    [signal.SIGHUP] if sys.platform != "win32" else [],
    [signal.SIGINT, signal.SIGINT],  # of somebody impatient
]

COMMAND = """
import sys
import decost.__main__

class Announce:
    def find_spec(self, name, *more):
        if name == "decost.cli":
            print("begun", flush=True)

sys.meta_path.insert(0, Announce())
decost.__main__.main()
"""
"""The command, which says when it has begun: signals before that are heard by Python alone."""


class Run:
    """A set that is solved by one command, again and again."""

    def __init__(self, folder: Path, method: str) -> None:
        count, words = RUNS[method]
        self.folder, self.out = folder, folder / "plans.jsonl"
        self.part = folder / "plans.jsonl.part"
        source = folder / "set.npz"
        decost.write(decost.generate("paper", nodes=100, window=500, count=count), source)
        self.command = [sys.executable, "-c", COMMAND, "solve", source, *words, "--out", self.out]

    def start(self) -> subprocess.Popen[str]:
        """Start the command, and wait until it has begun."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(self.command, stdout=pipe, stderr=pipe, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    def kept(self) -> int:
        """Count the plans that are kept in the part, a torn one and the head left out."""
        data = self.part.read_bytes() if self.part.exists() else b""
        return max(0, data.count(b"\n") - 1)

    def plans(self) -> bytes:
        """Read the output without its runtimes."""
        return re.sub(rb'"runtime": [^,]+,', b"", self.out.read_bytes())

    def names(self) -> set[str]:
        """Name what lies in the folder."""
        return {path.name for path in self.folder.iterdir()}


@pytest.mark.parametrize("method", RUNS)
def test_signals_at_random_moments(method: str, tmp_path: Path) -> None:
    """The old output is whole until the new one is, which is that of an undisturbed run."""
    chance = random.Random(SEED)
    run = Run(tmp_path, method)
    with run.start() as process:
        begin = time.monotonic()
        process.communicate(timeout=300)
        seconds = time.monotonic() - begin
    assert process.returncode == 0
    expected = run.plans()
    run.out.write_text("old")
    kept = 0
    for number in range(MOMENTS + 1):
        with run.start() as process:
            if number < MOMENTS:
                time.sleep(chance.uniform(0.0, seconds))
                for end in chance.choice(ENDS):
                    process.send_signal(end)
            _, errors = process.communicate(timeout=300)
        where = f"moment {number}: exit {process.returncode}: {errors}"
        assert "Traceback" not in errors, where
        assert process.returncode in (0, 130, *(-end for (end, *_) in ENDS)), where
        if run.plans() == b"old":
            assert process.returncode != 0, where
            assert run.kept() >= kept, where
            kept = run.kept()
        else:
            assert run.plans() == expected, where
            if not run.part.exists():
                run.out.write_text("old")
                kept = 0
        if process.returncode != -signal.SIGKILL:
            assert run.names() <= {"set.npz", "plans.jsonl", "plans.jsonl.part"}, where
    assert process.returncode == 0
    assert run.names() == {"set.npz", "plans.jsonl"}
