"""A longer look for faults: random instances against oracles, for as long as is wanted.

`python tests/fuzz.py MINUTES [SEED]`, or `make fuzz MINUTES=30`. In turn: the property tests with
new examples, and small awkward instances that every method plans in every way that it has, against
all plans that there are. A fault ends it, and says from which seed it comes.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np

import decost
from decost.exact import columns, exact, lists, plans, pricing
from decost.exact.labels import CAPACITY, Attempt
from decost.planner import auto
from odd_instances import brute_force_team, odd_instance

TURN = 60.0
"""Seconds of random instances after each run of the property tests."""

BOUNDS = [(exact, "SMALL", Attempt(1, CAPACITY)), (auto, "FIRST_TRY", Attempt(1, CAPACITY))]
LONG = [
    (columns, "Generation", functools.partial(columns.Generation, small=False)),
    (pricing, "NEAR", 0),
]
BRANCHES = [
    *LONG,
    (plans, "DETOURS", -1),
    (plans, "combine_trips", lambda *given: None),
    (lists, "combine_trips", lambda *given: None),
]
PROVERS = [
    ("exact", []),
    ("exact", BOUNDS),
    ("columns", []),
    ("columns", LONG),
    ("columns", BRANCHES),
    ("auto", []),
    ("auto", BOUNDS + LONG),
]
"""Methods that prove the best plan, and what to change so that they need all that they have."""

OTHERS = {"greedy": {}, "search": {"iterations": 30}, "ils": {"iterations": 30}}


def faults(seed: int) -> Iterator[str]:
    """Plan for one random instance by all methods; tell what is wrong."""
    random = np.random.default_rng(seed)
    instance = odd_instance(random, int(random.integers(1, 7)))
    instance = instance.replace(vehicles=int(random.integers(1, 4)))
    best = brute_force_team(instance)
    slack = 1e-7 * best + 1e-9
    for method, changes in PROVERS:
        if method == "exact" and instance.vehicles > 1:
            continue
        with ExitStack() as stack:
            for module, name, value in changes:
                stack.enter_context(patch.object(module, name, value))
            result = decost.solve(instance, method)
        way = f"{method}, changed: {', '.join(name for _, name, _ in changes) or 'nothing'}"
        if result.status != "optimal" or abs(result.profit - best) > slack:
            yield f"{way}: {result}, brute force {best!r}"
        for violation in decost.check(instance, result.solution):
            yield f"{way}: {violation}"
    for method, options in OTHERS.items():
        result = decost.solve(instance, method, seed=seed, **options)
        if result.profit > best + slack:
            yield f"{method}: {result}, brute force {best!r}"
        for violation in decost.check(instance, result.solution):
            yield f"{method}: {violation}"


def run_property_tests(seed: int, seconds: float) -> int:
    """Run the tests that hypothesis draws examples for; the answer is 0 if none fails in time."""
    words = ["-m", "hypothesis", "-x", "--hypothesis-profile=explore", f"--hypothesis-seed={seed}"]
    with suppress(subprocess.TimeoutExpired):
        tests = Path(__file__).parent
        command = [sys.executable, "-m", "pytest", *words, tests]
        return subprocess.run(command, timeout=seconds, cwd=tests.parent).returncode
    return 0


def main(minutes: float, seed: int, tell: Callable[[str], object] = print) -> int:
    """Look for faults until time is over; the answer is 1 if there is one."""
    end = time.monotonic() + 60 * minutes
    instances = 0
    while (left := end - time.monotonic()) > 0:
        turn = time.monotonic() + min(TURN, left)
        while time.monotonic() < turn:
            wrong = list(faults(seed))
            for line in wrong:
                tell(f"seed {seed}: {line}")
            if wrong:
                return 1
            instances, seed = instances + 1, seed + 1
        tell(f"{instances} instances, no fault; the next seed is {seed}")
        if run_property_tests(seed, max(0.0, end - time.monotonic())):
            tell(f"a property test failed with seed {seed}")
            return 1
    return 0


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    sys.exit(main(float(sys.argv[1]), first))
