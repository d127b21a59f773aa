"""Tests of sets that an executor solves: the same results, and nothing is lost when it dies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from multiprocessing import get_context
from typing import Any

import pytest

import decost
from decost import Instance, Method, MethodError, Options, Result, UnfinishedError
from decost.baselines.greedy import METHOD
from decost.planner import executors


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Give two processes."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    """Give a set."""
    return decost.generate("paper", nodes=20, count=60, seed=2)


def comparable(result: Any) -> Any:
    """Give all of a result but its runtime."""
    return result.instance, {**result.to_dict(), "runtime": 0.0}


def test_processes_give_the_same_results(
    pool: ProcessPoolExecutor, instances: list[Instance]
) -> None:
    """Results, their order and progress are those of threads; the pool can be used again."""
    plain = decost.solve_many(instances, "exact")
    told: list[int] = []
    found = decost.solve_many(instances, "exact", executor=pool, progress=told.append)
    assert list(map(comparable, found)) == list(map(comparable, plain))
    assert told == list(range(1, 61))
    each = decost.solve_each(instances, "exact", executor=pool, threads=1)
    assert [one.profit for one in each] == [one.profit for one in plain]


def test_failures_are_rows_or_raised(pool: ProcessPoolExecutor, instances: list[Instance]) -> None:
    """An instance that cannot be solved is a row, or its error is raised, as without executor."""
    some = [*instances[:3], instances[3].replace(vehicles=2), *instances[4:6]]
    plain = decost.solve_many(some, "exact", on_error="row")
    found = decost.solve_many(some, "exact", on_error="row", executor=pool)
    assert list(map(comparable, found)) == list(map(comparable, plain))
    with pytest.raises(MethodError, match="method 'exact' plans for one vehicle"):
        decost.solve_many(some, "exact", executor=pool)
    with pytest.raises(MethodError, match="option nonsense = 1: unknown"):
        decost.solve_many(some, "exact", executor=pool, nonsense=1)


def own(instance: Instance, options: Options) -> Result:
    """Plan, but end the process at an instance of this name."""
    if instance.name == "deadly":
        os._exit(1)
    return METHOD.function(instance, METHOD.options())


@pytest.mark.usefixtures("registry")
def test_a_method_of_ones_own_and_a_process_that_dies(instances: list[Instance]) -> None:
    """A registered method is sent along; when a process dies, finished results are kept."""
    decost.register(Method("own", "Greedy, by us.", own))
    deadly = instances[29].replace(name="deadly")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = decost.solve_many(instances[:5], "own", executor=pool)
        plain = decost.solve_many(instances[:30], "greedy")
        assert [one.profit for one in found] == [one.profit for one in plain[:5]]
        with pytest.raises(
            UnfinishedError, match="the executor has died: BrokenProcessPool"
        ) as caught:
            decost.solve_many([*instances[:29], deadly], "own", executor=pool)
        kept = caught.value.results
        assert 0 < len(kept) < 30
        assert all(kept[k].profit == plain[k].profit for k in kept)
        with pytest.raises(UnfinishedError):  # it stays dead
            decost.solve_many(instances[:2], "own", executor=pool)


class Failing(ThreadPoolExecutor):
    """An executor that fails at a bundle, in one way or another."""

    def __init__(self, at: int, fail: Callable[[], Future[Any]]) -> None:
        super().__init__(1)
        self.at, self.fail = at, fail

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Fail, or do as told."""
        self.at -= 1
        return self.fail() if self.at == 0 else super().submit(function, *args, **kwargs)


def broken() -> Future[Any]:
    """Refuse a bundle."""
    raise BrokenExecutor("no more")


def lost() -> Future[Any]:
    """Lose a bundle."""
    future: Future[Any] = Future()
    future.cancel()
    return future


@pytest.mark.parametrize("fail", [broken, lost])
def test_an_executor_that_dies(instances: list[Instance], fail: Callable[[], Future[Any]]) -> None:
    """What was finished before is in the error."""
    with Failing(6, fail) as pool, pytest.raises(UnfinishedError, match="has died") as caught:
        decost.solve_many(instances, "greedy", executor=pool)
    assert caught.value.results
    assert f"{len(caught.value.results)} results are kept" in str(caught.value)


def test_interruption_keeps_what_is_finished(instances: list[Instance]) -> None:
    """At Ctrl-C finished results are kept, and what has not begun is cancelled."""

    def stop(done: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    begun: list[int] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            begun.append(len(args[0].instances))
            return super().submit(function, *args, **kwargs)

    with Counting(1) as pool, pytest.raises(decost.Interrupted) as caught:
        decost.solve_many(instances, "greedy", executor=pool, progress=stop)
    assert 20 <= len(caught.value.results) < sum(begun) <= 60


def test_another_version_is_refused(
    instances: list[Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with another version of the package says so, and on which machine it is."""
    with ThreadPoolExecutor(1) as pool:
        bundle = executors._Bundle("0.0.9", "greedy", {}, instances[:1])
        with pytest.raises(
            MethodError, match=r"worker on \S+: has decost .*, and was given work by"
        ):
            pool.submit(executors.work, bundle).result()


def test_bundles_grow(instances: list[Instance]) -> None:
    """Bundles of quick instances grow, and at the end all workers have something to do."""
    sizes: list[int] = []

    class Told(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            sizes.append(len(args[0].instances))
            return super().submit(function, *args, **kwargs)

    with Told(2) as pool:
        executor: Executor = pool
        decost.solve_many(instances * 10, "greedy", executor=executor)
    assert sum(sizes) == 600
    assert sizes[0] == 1 < max(sizes) <= 300
    assert len(sizes) < 60


def test_workers_that_come_later_have_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more workers than at first, more is given out at a time."""
    monkeypatch.setattr(executors, "ROLL_CALL", 0.0)
    given: list[int] = []

    class Growing(Executor):
        num_workers = 1

        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            given.append(*args)
            future: Future[Any] = Future()
            future.set_result(None)
            return future

    pool = Growing()
    tasks = ((k, (k,)) for k in range(20))
    answers = executors.as_done(pool, int, tasks, lambda: 2 * executors.worker_count(pool))
    next(answers)
    assert given == [0, 1]
    pool.num_workers = 4
    next(answers)
    assert given == list(range(9))  # one is done, and eight wait
    assert sum(1 for _ in answers) == 18
