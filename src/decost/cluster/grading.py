"""States of routes that are graded by an executor, for trainings with the exact teacher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any

from decost import __version__
from decost.exact.exact import values_to_go
from decost.planner.executors import as_done, make_ready, require_version, worker_count
from decost.problem.instance import BoolArray, FloatArray, Instance

BUNDLES = 2
"""Bundles of states for each worker."""


def values_on(executor: Executor) -> Callable[..., list[FloatArray]]:
    """Give a function like `values_to_go` whose work an executor does."""

    def values(
        instances: Sequence[Instance],
        routes: Sequence[Sequence[int]],
        *,
        wanted: Sequence[BoolArray],
        threads: int | None = None,
    ) -> list[FloatArray]:
        count = BUNDLES * worker_count(executor)
        # States of an instance stay together, so that it is sent once or twice.
        order = sorted(range(len(instances)), key=lambda k: id(instances[k]))
        bounds = [len(order) * k // count for k in range(count + 1)]

        def bundles() -> Iterator[tuple[list[int], tuple[Any, ...]]]:
            for first, last in pairwise(bounds):
                some = order[first:last]
                if some:
                    mine = ([given[k] for k in some] for given in (instances, routes, wanted))
                    yield some, (__version__, *mine)

        found: dict[int, FloatArray] = {}
        for some, answers in as_done(executor, work, bundles(), lambda: count):
            found.update(zip(some, answers, strict=True))
        return [found[k] for k in range(len(instances))]

    return values


def work(
    version: str,
    instances: list[Instance],
    routes: list[Sequence[int]],
    wanted: list[BoolArray],
) -> list[FloatArray]:
    """Grade a bundle of states, in a worker."""
    require_version(version)
    make_ready("exact", instances[:1])
    return values_to_go(instances, routes, wanted=wanted, threads=1)
