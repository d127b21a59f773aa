"""Compare plans with those of other code: profits, bounds, labels and CPU time, in one run.

`python tests/old_code.py FOLDER [--count 200] [--only TEXT]`: FOLDER is a clone with other code,
such as that of an older version. It makes the sets and writes them, so that this code also has to
read its files; then both plan in turn, each in a process of its own, with equal seeds and limits
of rounds. A line says how many profits are equal, higher and lower than those of the other code,
how the mean profit changes, for methods with a proof the same of bounds (higher ones are worse)
and labels, how many plans are proven, and how much CPU time the other code takes for ours.
What is worse ends in a mark, and the exit code counts it; plans and bounds that cannot both be
right are always an error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"

CLOSE = 1e-6
"""Relative difference up to which two proven profits are equal."""

ROUNDING = 1e-9
"""The same for anything that is computed in the same way."""

TURNS = 5
"""Parts of a set, which both plan in turn."""

# It has to run with any version, so it uses nothing but what they all have.
WORKER = """
import json, math, sys, time
import decost

def rows(plans):
    for plan in plans:
        assert not decost.check(plan.instance, plan.solution), plan
        labels = plan.details.get("labels")
        yield [plan.profit, plan.bound, plan.status, labels]

instances = []
for line in sys.stdin:
    given = json.loads(line)
    task, answer = given.pop("task"), None
    if task == "make":
        path, vehicles = given.pop("path"), given.pop("vehicles")
        drawn = decost.generate(given.pop("family"), **given)
        decost.write([one.replace(vehicles=vehicles) for one in drawn], path)
    elif task == "read":
        vehicles = given.pop("vehicles")
        instances = decost.read_set(**given)
        answer = len(instances)
    elif task == "files":
        instances = [decost.read(one, profit=given["profit"]) for one in given["paths"]]
        instances = [one.replace(vehicles=given["vehicles"]) for one in instances]
        answer = len(instances)
    elif task == "prepare":
        decost.solve_many(instances[:2], given["method"], threads=1, **given["options"])
    else:
        some = instances[given["first"] : given["last"]]
        begin = time.process_time()
        plans = decost.solve_many(some, given["method"], threads=1, **given["options"])
        answer = {"cpu": time.process_time() - begin, "rows": list(rows(plans))}
    print(json.dumps(answer), flush=True)
"""


class Code:
    """A process that plans with the code of a folder."""

    def __init__(self, folder: Path) -> None:
        pipe = subprocess.PIPE
        sources = folder.resolve() / "src"
        command = [sys.executable, "-c", WORKER]
        environment = os.environ | {"PYTHONPATH": str(sources)}
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=sources
        )

    def do(self, task: str, **given: object) -> Any:
        """Have something done; give the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"task": task, **given}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{task} {given}: the process has ended")
        return json.loads(line)


@dataclass(frozen=True)
class Family:
    """A set that is drawn, or made of files."""

    name: str
    vehicles: int = 1
    drawn: dict[str, Any] = field(default_factory=dict)
    files: str = ""
    profit: str = "fixed"

    def load(self, count: int, ours: Code, theirs: Code, folder: Path) -> int:
        """Give both codes the same instances; say how many there are."""
        given: dict[str, Any] = {"vehicles": self.vehicles}
        if self.files:
            paths = [str(path) for path in sorted(DATA.glob(self.files))]
            given |= {"task": "files", "paths": paths, "profit": self.profit}
        else:
            path = str(folder / "set.npz")
            theirs.do("make", path=path, count=count, seed=7, **given, **self.drawn)
            given |= {"task": "read", "path": path}
        numbers = [code.do(**given) for code in (ours, theirs)]
        assert numbers[0] == numbers[1], numbers
        return int(numbers[0])


@dataclass(frozen=True)
class Way:
    """A method with options, and the families that it plans for."""

    method: str
    families: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    here: dict[str, Any] = field(default_factory=dict)
    """Options that only this code has, or calls otherwise."""
    proves: bool = False
    most: int = 10**9
    """Instances that are enough, where 200 would take hours."""


SETTINGS = tuple(
    Family(f"paper {nodes}/{window}", drawn={"family": "paper", "nodes": nodes, "window": window})
    for nodes, window in ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))
)
MIXED = tuple(
    Family(f"mixed {nodes}", drawn={"family": "mixed", "nodes": nodes}) for nodes in (12, 14, 40)
)
TEAMS = (
    Family("paper 50/100 x3", 3, {"family": "paper", "nodes": 50, "window": 100}),
    Family("mixed 12 x2", 2, {"family": "mixed", "nodes": 12}),
)
FILES = (
    Family("solomon variable", files="solomon/*.txt", profit="variable"),
    Family("solomon fixed", files="solomon/*.txt"),
    Family("optw", files="optw/*.txt"),
)
FILE_TEAMS = (
    Family("solomon variable x2", 2, files="solomon/*.txt", profit="variable"),
    Family("optw x2", 2, files="optw/*.txt"),
)
FAMILIES = {
    one.name: one
    for one in (
        *SETTINGS,
        *MIXED,
        *TEAMS,
        *FILES,
        *FILE_TEAMS,
        Family("paper 20/100", drawn={"family": "paper", "nodes": 20, "window": 100}),
    )
}


def names(*families: tuple[Family, ...]) -> tuple[str, ...]:
    """Name families."""
    return tuple(one.name for some in families for one in some)


ALL = names(SETTINGS, MIXED, TEAMS, FILES, FILE_TEAMS)

WAYS = (
    Way("exact", names(SETTINGS, MIXED[:2]), proves=True),
    Way("exact", names(MIXED[2:], FILES), {"time_limit": 5.0}, proves=True),
    Way("columns", names(TEAMS), proves=True),
    Way("columns", names(FILE_TEAMS), {"time_limit": 2.0}, proves=True),
    Way("auto", names(SETTINGS, MIXED, TEAMS), {"time_limit": 20.0}, proves=True),
    Way("auto", names(FILES, FILE_TEAMS), {"time_limit": 2.0}, proves=True),
    Way("milp", ("paper 20/100", "mixed 12", "mixed 12 x2"), proves=True),
    Way("greedy", ALL),
    Way("search", ALL, {"time_limit": None, "iterations": 300}),
    Way("ils", ALL, {"time_limit": None, "iterations": 100}),
    Way("gfacs", ALL),
    Way("decost", ALL, here={"weights": "narrow", "drawn": False}),
    Way("pomo", ALL),
)


def options_of(way: Way) -> dict[str, Any]:
    """Give the options; no time limit at all is a number too."""
    return {name: float("inf") if value is None else value for name, value in way.options.items()}


def count_changes(ours: list[float], theirs: list[float]) -> tuple[int, int, int]:
    """Count what is equal, higher and lower here."""
    pairs = list(zip(ours, theirs, strict=True))
    above = sum(one > other + ROUNDING * abs(other) for one, other in pairs)
    below = sum(one < other - ROUNDING * abs(other) for one, other in pairs)
    return len(pairs) - above - below, above, below


def compare(way: Way, count: int, ours: Code, theirs: Code) -> Iterator[str]:
    """Plan a set by both; tell what is different, and "worse" or "wrong" where it is."""
    options = options_of(way)
    for code, more in ((ours, way.here), (theirs, {})):
        code.do("prepare", method=way.method, options=options | more)
    rows: tuple[list[Any], list[Any]] = [], []
    seconds = [0.0, 0.0]
    some = min(count, way.most)
    ends = [some * k // TURNS for k in range(TURNS + 1)]
    for first, last in pairwise(ends):
        for k, (code, more) in enumerate(((ours, way.here), (theirs, {}))):
            given = {"method": way.method, "options": options | more}
            answer = code.do("solve", first=first, last=last, **given)
            rows[k].extend(answer["rows"])
            seconds[k] += answer["cpu"]
    new, old = ([row[0] for row in side] for side in rows)
    same, higher, lower = count_changes(new, old)
    mean = 100 * (sum(new) / sum(old) - 1)
    yield f"{some:4} profits {same:3} = {higher:3} + {lower:3} - mean {mean:+.4f}%"
    if not way.proves and mean < -100 * ROUNDING:
        yield "worse"
    if way.proves:
        yield from compare_proofs(*rows)
    yield f"CPU {seconds[1] / seconds[0]:5.2f}"


def compare_proofs(new: list[Any], old: list[Any]) -> Iterator[str]:
    """Compare bounds, labels and what is proven."""
    proven = [sum(row[2] == "optimal" for row in side) for side in (new, old)]
    bounds = [[row[0] if row[1] is None else row[1] for row in side] for side in (new, old)]
    same, higher, lower = count_changes(*bounds)
    yield f"bounds {same:3} = {lower:3} - {higher:3} +"
    if None not in [row[3] for side in (new, old) for row in side]:
        labels = [[row[3] for row in side] for side in (new, old)]
        equal, more, fewer = count_changes(*labels)
        whole = sum(labels[0]) / max(1, sum(labels[1]))
        yield f"labels {equal:3} = {fewer:3} - {more:3} + sum {whole:.2f}"
    yield f"proven {proven[0]} of {proven[1]}"
    lost = sum(a[2] != "optimal" and b[2] == "optimal" for a, b in zip(new, old, strict=True))
    gaps = [
        sum(b / max(row[0], 1e-9) - 1 for b, row in zip(side, some, strict=True))
        for side, some in zip(bounds, (new, old), strict=True)
    ]
    yield f"gaps {100 * gaps[0] / len(new):.3f} {100 * gaps[1] / len(new):.3f}%"
    if lost or gaps[0] > gaps[1] + len(new) * CLOSE:
        yield "worse"
    for a, b in zip(new, old, strict=True):
        for one, other in ((a, b), (b, a)):
            if one[1] is not None and other[0] > one[1] + CLOSE * max(1.0, abs(one[1])):
                yield f"wrong: a profit of {other[0]!r} above a bound of {one[1]!r}"


def main() -> int:
    """Print a line for every method and family; count those that are worse."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", default="", help="methods and families with this in their name")
    given = parser.parse_args()
    ours, theirs = Code(ROOT), Code(given.folder)
    worse = 0
    with TemporaryDirectory() as place:
        for way in WAYS:
            for name in way.families:
                if given.only not in f"{way.method} {name}":
                    continue
                family = FAMILIES[name]
                if family.files and not DATA.is_dir():
                    continue
                count = family.load(given.count, ours, theirs, Path(place))
                words = list(compare(way, count, ours, theirs))
                bad = any(word.startswith(("worse", "wrong")) for word in words)
                worse += bad
                print(f"{way.method:8} {name:20}", "; ".join(words), flush=True)
    return worse


if __name__ == "__main__":
    sys.exit(main())
