"""Tests of how methods share time, threads and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import decost
from decost.method.clock import Clock

LOOP = """
import decost
instances = decost.generate("paper", nodes=50, window=100, count=50)
decost.solve(instances[0], {method!r})
print("ready", flush=True)
while True:
    for instance in instances:
        decost.solve(instance, {method!r})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGINT for one process")
@pytest.mark.parametrize("method", ["exact", "auto"])
def test_ctrl_c_ends_a_loop(method: str) -> None:
    """Problems that are solved at once do not swallow Ctrl-C, which would go on with the next."""
    command = [sys.executable, "-c", LOOP.format(method=method)]
    for pause in (0.05, 0.1):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        assert errors.splitlines()[-1] == "KeyboardInterrupt"


def test_work_passes_errors_on() -> None:
    """What fails in the other thread fails here too."""

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Clock(None).work(fail)


def test_better_plan() -> None:
    """Only a plan that earns more than one's own is worth hearing of."""
    (instance,) = decost.generate("paper", nodes=20, window=100, seed=3)
    plan = decost.solve(instance, "exact").solution
    clock = Clock(None, hear=lambda: plan)
    assert clock.better_plan(plan.profit - 1) is plan
    assert clock.better_plan(plan.profit) is None
    assert Clock(None).better_plan(0.0) is None
    assert Clock(None, hear=lambda: None).better_plan(0.0) is None


@pytest.mark.parametrize("vehicles", [1, 2])
def test_progress_that_interrupts(vehicles: int) -> None:
    """Ctrl-C within a callback of `auto`, once, is an end like any other: with a plan."""
    calls: list[object] = []

    def interrupt(news: object) -> None:
        calls.append(news)
        if len(calls) == 3:
            raise KeyboardInterrupt

    (instance,) = decost.generate("mixed", nodes=60, seed=1, vehicles=vehicles)
    result = decost.solve(instance, time_limit=60, progress=interrupt)
    assert len(calls) >= 3
    assert result.profit > 0
    assert result.runtime < 30


def test_time_that_is_over() -> None:
    """A kernel that begins without time sees its flag set from the beginning."""
    assert Clock(0).run(lambda halt: int(halt[0]), lambda: 0.0) == 1
    assert Clock(60).run(lambda halt: int(halt[0]), lambda: 0.0) == 0
