"""Tests of how methods share time, threads and Ctrl-C."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import decost
from decost.method.aside import Aside
from decost.method.deadline import SLICE, Deadline

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
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert errors.splitlines()[-1] == "KeyboardInterrupt"


def test_work_passes_errors_on() -> None:
    """What fails in the other thread fails here too."""

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Deadline().work(fail)


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


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_time_that_is_over(seconds: float) -> None:
    """What begins without time has been told to stop before; what has time is not told at all."""
    halt = [0]
    assert Deadline(seconds).run(lambda: halt[0], lambda: halt.insert(0, 1)) == (seconds == 0)
    assert (len(halt) > 1) == (seconds == 0)


def test_told_to_stop_when_time_is_over() -> None:
    """What runs for too long is told to stop, and its answer is waited for."""
    over = threading.Event()
    begin = time.perf_counter()
    assert Deadline(0.1).run(lambda: over.wait(60), over.set)
    assert 0.1 <= time.perf_counter() - begin < 10


def test_told_to_stop_at_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while it is waited for ends the deadline, and what is done until it."""
    over = threading.Event()
    deadline = Deadline()
    wait = Aside.wait

    def interrupted(*given: object) -> bool:
        monkeypatch.setattr(Aside, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(Aside, "wait", interrupted)
    assert deadline.run(lambda: over.wait(60), over.set)
    assert deadline.interrupted
    assert deadline.left == -math.inf


def test_children_end_with_their_parent() -> None:
    """A child has no more time than its parent, and ends when that is cancelled, not before."""
    parent = Deadline(500.0)
    assert 400.0 < parent.child(600.0).left <= 500.0
    assert 0.0 < parent.child(100.0).left <= 100.0
    assert parent.child(0.0).left <= 0.0
    child, other = parent.child(100.0), parent.child(100.0)
    child.cancel()
    assert child.stopped
    assert child.left == -math.inf
    assert not parent.stopped
    assert not other.stopped
    grandchild = other.child(100.0)
    parent.cancel()
    assert other.stopped
    assert grandchild.left == -math.inf
    assert not grandchild.interrupted


def test_ctrl_c_ends_the_family() -> None:
    """Ctrl-C in a part of the work ends all of it."""
    parent = Deadline()
    child, other = parent.child(60.0), parent.child(60.0)

    def interrupted() -> None:
        raise KeyboardInterrupt

    assert child.work(interrupted) is None
    for one in (child, parent, other, other.child(1.0)):
        assert one.interrupted
        assert one.stopped


def test_slices_end_when_they_are_cancelled() -> None:
    """Whoever works in slices hears of the end after the slice, however much time there was."""
    deadline = Deadline()
    slices = deadline.slices(60.0)
    assert next(slices) == 1_000
    assert next(slices) >= 1
    deadline.cancel()
    assert list(slices) == []


def test_what_takes_longer_than_there_is_time() -> None:
    """It is not begun, but for what takes less than a slice; a part knows the end of the whole."""
    whole = Deadline(1000.0)
    part = whole.child(0.0).child(5.0)
    assert part.whole is whole
    assert whole.allows(900.0)
    assert not whole.allows(1100.0)
    assert part.left <= 0
    assert part.allows(SLICE)
    assert not part.allows(2 * SLICE)


@pytest.mark.parametrize("method", ["exact", "search", "auto", "decost"])
def test_large_problems_without_time(method: str) -> None:
    """A problem whose network takes longer than there is time gets a plan all the same."""
    random = np.random.default_rng(1)
    nodes = 3_001
    large = decost.Instance(budget=2, xy=random.random((nodes, 2)), reward=random.random(nodes))
    result = decost.solve(large, method, time_limit=0.0)
    assert decost.check(large, result.solution) == []
    assert result.bound is None or result.bound >= result.profit
    assert result.profit > 0 or method == "decost"
