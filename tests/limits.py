"""Measure by how much time limits are overstepped, and fail if it is too much.

`python tests/limits.py [METHOD ...]`: every method, small and large problems, short and long
limits. What counts is the CPU time that a plan takes after its limit has passed by the clock, which
hardly depends on what else the computer does, or what a clock shows where that is less, since some
methods have two threads. The travel times of an instance count, what is compiled does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

import decost
from decost import Instance

STOPS = (10, 100, 1_000, 5_000)
LIMITS = (0.0, 0.01, 0.5, 2.0)

MOST = 0.2
"""Seconds that a plan may take beyond its limit."""

TRIES = 3
"""How often a plan may take longer: the computer may have been busy."""

# Another process reads how much CPU time this one has had by a moment: here, a thread might have
# to wait for the one that plans.
WATCH = """
import sys, time
for line in sys.stdin:
    time.sleep(max(0.0, float(line) - time.monotonic()))
    print(time.clock_gettime(~int(sys.argv[1]) << 3 | 2), flush=True)
"""


class Watch:
    """Knows how much CPU time this process had at a moment."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", WATCH, str(os.getpid())]
        pipe = subprocess.PIPE
        self._other = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def look_at(self, moment: float) -> None:
        """Ask for a moment, in seconds of `time.monotonic`."""
        assert self._other.stdin is not None
        self._other.stdin.write(f"{moment}\n")
        self._other.stdin.flush()

    def cpu_time(self) -> float:
        """Give the CPU time of that moment, once it has passed."""
        assert self._other.stdout is not None
        return float(self._other.stdout.readline())


def problems(stops: int) -> dict[str, Instance]:
    """Give problems with so many stops: of narrow windows, of none, and of a team."""
    random = np.random.default_rng(stops)
    (narrow,) = decost.generate("paper", nodes=stops + 1, seed=1)
    xy = random.random((stops + 1, 2))
    wide = Instance(budget=3.0, xy=xy, rate=random.random(stops + 1), max_stay=np.ones(stops + 1))
    return {"narrow": narrow, "wide": wide, "team": narrow.replace(vehicles=3)}


def overtime(instance: Instance, method: str, limit: float, watch: Watch) -> float:
    """Plan with a limit; give the seconds beyond it, at best of some tries."""
    least = np.inf
    for _ in range(TRIES):
        fresh = instance.replace()  # without travel times
        end = time.monotonic() + limit
        watch.look_at(end)
        decost.solve(fresh, method, time_limit=limit)
        cpu, late = time.process_time(), time.monotonic() - end
        least = min(least, max(0.0, min(cpu - watch.cpu_time(), late)))
        if least <= MOST:
            break
    return float(least)


def main(methods: list[str]) -> None:
    """Print a table, a line for a method and a problem, of the seconds beyond each limit."""
    print(f"{'seconds beyond a limit of':32}", *(f"{limit:7g}" for limit in LIMITS))
    worst, watch = 0.0, Watch()
    for method in methods or [one.name for one in decost.list_methods()]:
        decost.prepare(method)
        for stops in STOPS:
            for kind, instance in problems(stops).items():
                try:
                    over = [overtime(instance, method, limit, watch) for limit in LIMITS]
                except decost.MethodError:
                    continue
                worst = max(worst, *over)
                times = (f"{one:7.3f}{'*' if one > MOST else ''}" for one in over)
                print(f"{method:10} {stops:6,} stops, {kind:8}", *times, flush=True)
    print(f"at most {worst:.3f} s beyond a limit, {MOST} are allowed")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main(sys.argv[1:])
