"""A longer look for faults: random instances against oracles, for as long as is wanted.

`python tests/fuzz.py MINUTES [--seed N]`, or `make fuzz MINUTES=30`. In turn: the property tests
with new examples, and small awkward instances that every method plans in every way that it has,
against all plans that there are. A fault ends it, and says from which seed it comes.
`python tests/fuzz.py --instances 20000 [--seed N]` plans for so many instances and counts faults.
"""

from __future__ import annotations

import argparse
import functools
import os
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
from oracle import brute_force, tiny_instance

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

OTHERS = {"greedy": {}, "decost": {}, "search": {"iterations": 30}, "ils": {"iterations": 30}}
"""Methods that never earn more than the best plan, where they can plan at all."""


def faults(seed: int) -> Iterator[str]:
    """Plan for one random instance by all methods; tell what is wrong.

    Seeds in turn give an awkward plain instance and one with any mixture of what the model has.
    """
    random = np.random.default_rng(seed)
    if seed % 2:
        instance = odd_instance(random, int(random.integers(1, 7)))
        instance = instance.replace(vehicles=int(random.integers(1, 4)))
        best = 0, brute_force_team(instance)
    else:
        instance = tiny_instance(random)
        best = brute_force(instance)
    for method, changes in PROVERS:
        if method == "exact" and instance.vehicles > 1:
            continue
        with ExitStack() as stack:
            for module, name, value in changes:
                stack.enter_context(patch.object(module, name, value))
            result = decost.solve(instance, method)
        way = f"{method}, changed: {', '.join(name for _, name, _ in changes) or 'nothing'}"
        expected = "optimal" if best[0] == instance.required.sum() else "infeasible"
        if result.status != expected or compared(result, best) != 0:
            yield f"{way}: {result}, brute force {best!r}"
        yield from broken(way, instance, result)
    for method, options in OTHERS.items():
        try:
            result = decost.solve(instance, method, seed=seed, **options)
        except decost.MethodError:
            continue
        if compared(result, best) > 0:
            yield f"{method}: {result}, brute force {best!r}"
        yield from broken(method, instance, result)


def compared(result: decost.Result, best: tuple[int, float]) -> int:
    """Say whether a plan is better (1), as good (0) or worse (-1) than the best of brute force."""
    required, profit = best
    visited = result.required_visited
    if visited != required:
        return 1 if visited > required else -1
    over = result.profit - profit
    return 0 if abs(over) <= 1e-7 * profit + 1e-9 else 1 if over > 0 else -1


def broken(way: str, instance: decost.Instance, result: decost.Result) -> Iterator[str]:
    """Tell which rules a plan breaks, but for required stops that it leaves out."""
    for violation in decost.check(instance, result.solution):
        if violation.rule != "required":
            yield f"{way}: {violation}"


def run_property_tests(seed: int, seconds: float) -> int:
    """Run the tests that hypothesis draws examples for; the answer is 0 if none fails in time."""
    words = ["-m", "hypothesis", "-x", "--hypothesis-profile=explore", f"--hypothesis-seed={seed}"]
    with suppress(subprocess.TimeoutExpired):
        tests = Path(__file__).parent
        command = [sys.executable, "-m", "pytest", *words, tests]
        more = os.environ | {"DECOST_SEEDS": "4"}  # of tests that say how many
        return subprocess.run(command, timeout=seconds, cwd=tests.parent, env=more).returncode
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


def count(instances: int, seed: int, tell: Callable[[str], object] = print) -> int:
    """Plan for so many instances; the answer is 1 if there is a fault."""
    wrong = 0
    for number in range(instances):
        for line in faults(seed + number):
            tell(f"seed {seed + number}: {line}")
            wrong += 1
        if (number + 1) % 1000 == 0 or number + 1 == instances:
            tell(f"{number + 1} instances from seed {seed}, {wrong} faults")
    return int(wrong > 0)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float, nargs="?", default=30.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--instances", type=int, default=0, help="plan for so many, and end")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    if given.instances:
        sys.exit(count(given.instances, given.seed))
    sys.exit(main(given.minutes, given.seed))
