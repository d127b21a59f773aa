"""Lets everything die that can: `python tests/parts_faults.py COUNT [SECONDS]`, as root.

Instances (n=50, TW=100) are solved by two workers to a small file system, while a worker is killed
every so many seconds (10). The disk becomes full and is made larger, the command is killed with its
scheduler, and each time the same command is run again. Plans must be those of `solve_many` in the
end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from decost.files.parts import plans_in
from parts_measure import digest, plain

COUNT = int(sys.argv[1]) if sys.argv[1:] else 60_000
SECONDS = float(sys.argv[2]) if sys.argv[2:] else 10.0


def workers_of(process: subprocess.Popen[Any]) -> list[psutil.Process]:
    """List the workers of a command."""
    found = psutil.Process(process.pid).children(recursive=True)
    return [one for one in found if "spawn_main" in " ".join(one.cmdline())]


def run(source: Path, out: Path, end: float = 1e9) -> tuple[int, int, str]:
    """Run the command and kill workers, and it too in the end; give its code, kills and words."""
    command = [sys.executable, "-m", "decost", "solve", source, "--method", "exact"]
    command += ["--cluster", "local:2", "--out", out]
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=-1)
    begin, kills = time.monotonic(), 0
    while process.poll() is None:
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() - begin > end and list(out.glob("*.parquet")):
                process.kill()
            elif found := workers_of(process):
                os.kill(found[kills % len(found)].pid, signal.SIGKILL)
                kills += 1
    assert process.stderr is not None
    told = process.stderr.read().decode().splitlines()
    return process.returncode, kills, told[-1] if told else ""


if __name__ == "__main__":
    base = Path(tempfile.mkdtemp())
    source, out = base / "instances", base / "plans"
    words = ["--nodes", "50", "--window", "100", "--count", str(COUNT), "--out", str(source)]
    subprocess.run([sys.executable, "-m", "decost", "generate", "paper", *words], check=True)
    out.mkdir()
    size = COUNT * 185 // 2 // 1024  # half of what the plans take
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(out)]
    subprocess.run(mount, check=True)
    try:
        for what, end in (("the disk is full", 1e9), ("killed", 3 * SECONDS), ("the end", 1e9)):
            code, kills, told = run(source, out, end)
            parts = len(list(out.glob("*.parquet")))
            print(f"{what}: exit code {code}, {kills} workers killed, {parts} parts: {told}")
            subprocess.run(["mount", "-o", "remount,size=1g", str(out)], check=True)
        assert code == 0
        assert digest(plans_in(out)) == digest(plain(source)), "other plans"
        print(f"all {COUNT} plans are those of solve_many, and optimal")
    finally:
        subprocess.run(["umount", str(out)], check=True)
