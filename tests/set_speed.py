"""Measure `solve_many` with `exact`: two threads against one, and against the code of elsewhere.

`python tests/set_speed.py [FOLDER] [--times N]`: FOLDER is a clone with other code; with N, sets
are so many times as long. Every line is a setting of the paper; each figure is the median of rounds
in which all are measured in turn. "old/new" compares CPU seconds of one thread, which hardly depend
on what else the computer does. "two threads" compares seconds by the clock, which do: it needs two
idle cores. "more CPU" is what the second thread costs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

SETTINGS = {(50, 100): 2000, (100, 100): 1500, (50, 500): 1000, (100, 500): 150, (500, 100): 300}
"""Instances of each setting: nodes and window."""

ROUNDS = 7

HERE = Path(__file__).parents[1] / "src"

# In a process of its own, which answers how long each set took.
SOLVER = """
import sys, time
import decost

decost.prepare("exact")
decost.solve_many(decost.generate("paper", nodes=20, count=200), "exact", threads=2)
print("ready", flush=True)
for line in sys.stdin:
    nodes, window, count, seed, threads = map(int, line.split())
    drawn = decost.generate("paper", nodes=nodes, window=window, count=count, seed=seed)
    begin, cpu = time.perf_counter(), time.process_time()
    plans = decost.solve_many(drawn, "exact", threads=threads)
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - begin
    assert all(plan.status == "optimal" for plan in plans)
    print(seconds, cpu, sum(plan.profit for plan in plans), flush=True)
    del drawn, plans  # not in the time of the next
"""


class Solver:
    """A process that solves sets with the code of a folder."""

    def __init__(self, sources: Path) -> None:
        pipe = subprocess.PIPE
        environment = os.environ | {"PYTHONPATH": str(sources)}
        command = [sys.executable, "-c", SOLVER]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=sources
        )
        assert self._answer() == "ready"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def solve(self, *numbers: int) -> tuple[float, float, float]:
        """Solve a set; give seconds by the clock, of the CPU, and the profit of all plans."""
        assert self._process.stdin is not None
        print(*numbers, file=self._process.stdin, flush=True)
        seconds, cpu, profit = map(float, self._answer().split())
        return seconds, cpu, profit


def main() -> None:
    """Print a line for every setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--times", type=int, default=1)
    given = parser.parse_args()
    new = Solver(HERE)
    others = [] if given.folder is None else [Solver(given.folder / "src")]
    print("nodes window  ms/plan  two threads  more CPU ", *("old/new" for _ in others))
    for (nodes, window), short in SETTINGS.items():
        count = given.times * short
        each, faster, more, ratios = [], [], [], []
        for seed in range(ROUNDS):
            one, cpu, profit = new.solve(nodes, window, count, seed, 1)
            two, both, again = new.solve(nodes, window, count, seed, 2)
            assert again == profit
            each.append(1e3 * cpu / count)
            faster.append(one / two)
            more.append(both / cpu)
            for other in others:
                _, theirs, same = other.solve(nodes, window, count, seed, 1)
                assert abs(same - profit) <= 1e-6 * profit
                ratios.append(theirs / cpu)
        figures = f"{median(each):9.3f}{median(faster):11.2f}{median(more):11.2f}"
        print(f"{nodes:5}{window:7}{figures}", *([f"{median(ratios):10.2f}"] if ratios else []))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
