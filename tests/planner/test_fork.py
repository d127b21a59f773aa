"""Tests of processes that fork while other threads of theirs solve."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock

import decost
from decost import Instance, Method, Options, Result

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def in_child(function: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Call a function in a forked process; False if it fails or hangs, and then it is killed."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextmanager
def meanwhile(function: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread."""
    thread = threading.Thread(target=function)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def solve_some(seed: int) -> float:
    """Solve a small problem."""
    (instance,) = decost.generate("paper", nodes=20, window=100, seed=seed)
    return decost.solve(instance, "exact").profit


def test_after_a_fork() -> None:
    """A child can solve although its parent's threads are not there."""
    expected = solve_some(3)
    assert in_child(lambda: solve_some(3) == expected)


def test_while_another_thread_prepares(registry: None) -> None:
    """A child can prepare the method that a thread of its parent is at."""
    begun = threading.Event()

    def warm_up() -> None:
        begun.set()
        time.sleep(0.3)

    def function(instance: Instance, options: Options) -> Result:
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    decost.register(Method("cold", "Needs preparation.", function, warm_up=warm_up))
    instance = Instance(budget=1, xy=[[0, 0]])
    with meanwhile(lambda: decost.solve(instance, "cold")):
        begun.wait()
        assert in_child(lambda: decost.solve(instance, "cold").profit == 0, 10.0)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_while_another_thread_compiles() -> None:
    """A child can compile although a thread of its parent was at it."""
    begun = threading.Event()

    def compile_slowly() -> None:
        with global_compiler_lock:
            begun.set()
            time.sleep(0.3)

    double = numba.njit(lambda number: 2 * number)
    with meanwhile(compile_slowly):
        begun.wait()
        assert in_child(lambda: double(4) == 8)


def test_while_another_thread_solves() -> None:
    """Children forked at any moment of another thread's solving all come home."""
    expected = solve_some(3)
    over = threading.Event()

    def solve_on() -> None:
        while not over.is_set():
            solve_some(4)

    with meanwhile(solve_on):
        try:
            for _ in range(int(os.environ.get("DECOST_FORKS", "40"))):
                assert in_child(lambda: solve_some(3) == expected)
        finally:
            over.set()
