"""The default: a search for the best plan, and beside it a proof."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event, get_native_id

import numpy as np

from decost.exact import exact
from decost.method.aside import POLL
from decost.method.clock import Clock
from decost.method.options import MOST_ROUNDS, Method, Progress, TimedOptions
from decost.method.result import Result
from decost.problem.instance import Instance
from decost.search.construct import first_plan
from decost.search.search import Searches

WAIT = 0.005
"""Seconds between two looks at a search."""

AHEAD, MOST_AHEAD = 1 / 3, 3.0
"""Part of the time limit, and most seconds, that a search may have for itself before a proof."""

NICE = 5
"""How much the thread that looks for a proof gives way to a search that still finds better plans:
it gets a quarter of a core at least."""

SHORT = 10.0
"""Seconds that are left for both up to which it gives way; a proof often needs more."""


class AutoOptions(TimedOptions, exact.ExactOptions):
    """Options of `auto`: those of `exact`, with a time limit."""


def auto(instance: Instance, options: AutoOptions) -> Result:
    """Prove the best plan, or get as near to it as time allows.

    Most problems for one vehicle are proven at once. Else a search looks for good plans in a
    thread of its own. Once it is stuck, or has had its part of the time, `exact`, or `columns`
    for teams, looks beside it for a proof and for better plans.
    """
    news = Clock(None, options.progress)  # of several methods in turn

    def pass_on(found: Progress) -> bool:
        news.report(found.profit, found.bound)
        return not news.stopped

    options = options.model_copy(update={"progress": pass_on})
    clock = Clock(options.time_limit)
    first = Clock(0.0, options.progress)
    known = _first_answer(instance, options, first)
    news.report(known.profit, known.bound)
    over = options.time_limit == 0 or first.interrupted or news.stopped
    if known.status == "optimal" or over:
        return known
    name, prove = _prover(instance)
    searches = clock.work(lambda: Searches(instance, known.solution, options.seed, 1))
    if searches is None or clock.interrupted:
        return known
    start = options.model_copy(update={"start": known.solution})
    ahead = Clock(clock.left, options.progress, searches.plan)
    together = time.perf_counter() + min(AHEAD * ahead.left, MOST_AHEAD)
    with _going_on(searches, ahead) as ended:

        def goes_on() -> bool:
            ahead.report(searches.profit)
            return not ended()

        def alone() -> bool:
            return goes_on() and not searches.stuck and time.perf_counter() < together

        ahead.work(lambda: _wait(ahead, alone))
        nice = 0 if searches.stuck or ahead.left > SHORT else NICE
        proof = _aside(lambda: prove(instance, start, ahead), ahead, nice)
        if proof.status != "optimal":  # too large to prove more, but the search goes on
            bound = math.inf if proof.bound is None else proof.bound
            ahead.work(lambda: _wait(ahead, lambda: goes_on() and searches.profit < bound))
    for part, result in (("search", searches.result()), (name, proof)):
        known = _joined(known, replace(result, found_by=part))
    news.report(known.profit, known.bound)
    return known


def _first_answer(instance: Instance, options: AutoOptions, clock: Clock) -> Result:
    """For one vehicle, try if it is easy to prove the best plan; for teams give a first plan."""
    if instance.vehicles == 1:
        answer = replace(exact.prove(instance, options, clock), found_by="exact")
    else:
        plan = first_plan(instance, options.start)
        answer = Result(instance, plan, "feasible", found_by="greedy")
    given = options.start is not None and options.start.profit >= answer.profit
    return replace(answer, found_by="start") if given else answer


def _prover(
    instance: Instance,
) -> tuple[str, Callable[[Instance, exact.ExactOptions, Clock], Result]]:
    """Name the method that proves the best plan for an instance, and give it."""
    if instance.vehicles == 1:
        return "exact", exact.prove
    from decost.exact import columns  # needs some time to be imported

    return "columns", columns.prove


def _uses(instance: Instance) -> tuple[str, str]:
    return "search", _prover(instance)[0]


def _joined(one: Result, other: Result) -> Result:
    """Take the better plan of two results, and all that they have proven."""
    best = other if other.profit > one.profit else one
    bounds = [result.bound for result in (one, other) if result.bound is not None]
    proven = "optimal" in (one.status, other.status) or best.profit >= min(bounds, default=math.inf)
    return replace(
        best,
        bound=max(best.profit, min(bounds)) if bounds else None,
        status="optimal" if proven else "feasible",
        details={**one.details, **other.details},
    )


@contextmanager
def _going_on(searches: Searches, clock: Clock) -> Iterator[Callable[[], bool]]:
    """Let searches go on in another thread meanwhile, but not when time is over.

    Gives a function that tells whether they have ended.
    """
    halt = np.zeros(1, dtype=np.uint8)
    over = Event()

    def watch() -> None:
        while clock.left > 0 and not over.wait(min(POLL, clock.left)):
            searches.expect(clock.left)
        halt[0] = 1

    with ThreadPoolExecutor(2) as pool:
        future = pool.submit(searches.run, MOST_ROUNDS, halt)
        pool.submit(watch)
        try:
            yield future.done
        finally:
            over.set()
            future.result()


def _aside(function: Callable[[], Result], clock: Clock, nice: int) -> Result:
    """Do something in a thread that is so much nicer, which counts where there is only one core."""
    results: list[Result] = []

    def run() -> None:
        if nice and sys.platform == "linux":  # where a thread can be nicer than its process
            thread = get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            with suppress(OSError):  # it may be forbidden
                os.setpriority(os.PRIO_PROCESS, thread, min(19, now + nice))
        results.append(function())

    def wait_for_it() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run).result()

    clock.work(wait_for_it)
    if not results:
        raise KeyboardInterrupt
    return results[0]


def _wait(clock: Clock, waits: Callable[[], bool]) -> None:
    """Let time pass, as long as there is any and something is to be waited for."""
    while clock.left > 0 and waits():
        time.sleep(min(WAIT, max(0.0, clock.left)))


METHOD = Method(
    name="auto",
    description="The default: a search, and beside it exact or, for teams, columns (10 s).",
    function=auto,
    options=AutoOptions,
    warm_up=exact.warm_up,
    uses=_uses,
)
