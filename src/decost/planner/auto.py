"""The default: a search for the best plan, and beside it a proof."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import get_native_id

import numpy as np

from decost.exact import exact
from decost.exact.labels import CAPACITY, Attempt
from decost.method.aside import Aside
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import MOST_ROUNDS, Method, TimedOptions
from decost.method.progress import BetterPlan, Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.instance import Instance
from decost.search.construct import first_plan
from decost.search.search import Searches

WAIT = 0.005
"""Seconds between two looks at a search."""

FIRST_TRY = Attempt(work=100_000, room=3 * CAPACITY)
"""What is tried for a proof before all else: some hundredths of a second of work."""

AHEAD, MOST_AHEAD = 1 / 3, 3.0
"""Part of the time limit, and most seconds, that a search may have for itself before a proof."""

TEAM_AHEAD = 0.3
"""The same seconds for teams where there is a core for each: `columns` finds plans of its own, and
takes over better ones at any time."""

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
    deadline = Deadline(options.time_limit)
    scale = Scale(instance)
    reporter = Reporter(options.progress, deadline, scale)
    options = options.model_copy(update={"progress": reporter.pass_on})
    known = first = _first_answer(instance, options, deadline)
    reporter.report(
        scale.value(first.solution),
        None if first.bound is None else scale.bound_of(first),
        lambda: first.solution,
    )
    if scale.proven(first) or deadline.left <= 0:
        return known
    name, prove = _prover(instance)
    searches = deadline.work(lambda: Searches(instance, first.solution, options.seed, 1))
    if searches is None or deadline.interrupted:
        return known
    options = options.model_copy(update={"start": first.solution})
    beside = instance.vehicles > 1 and _cores() > 1
    ahead = deadline.child(min(AHEAD * deadline.left, TEAM_AHEAD if beside else MOST_AHEAD))
    with _running(searches, deadline) as ended:

        def goes_on() -> bool:
            reporter.report(searches.value, plan=searches.plan)
            return not ended()

        deadline.work(lambda: _wait(ahead, lambda: goes_on() and not searches.stuck))
        nice = 0 if searches.stuck or deadline.left > SHORT else NICE
        proof = _run_nicely(
            lambda: prove(instance, options, deadline, searches.better_plan), deadline, nice
        )
        if not scale.proven(proof):  # too large to prove more, but the search goes on
            bound = scale.bound_of(proof)
            deadline.work(lambda: _wait(deadline, lambda: goes_on() and searches.value < bound))
    for part, result in (("search", searches.result()), (name, proof)):
        known = _joined(scale, known, replace(result, found_by=part))
    reporter.report(scale.value(known.solution), scale.bound_of(known), lambda: known.solution)
    return known


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_answer(instance: Instance, options: AutoOptions, deadline: Deadline) -> Result:
    """For one vehicle, try if it is easy to prove the best plan; for teams give a first plan."""
    value = Scale(instance).value
    if instance.vehicles == 1:
        no_time = deadline.child(0.0)  # what `exact` does in any case
        result = exact.prove(instance, options, no_time, small=FIRST_TRY)
        answer = replace(result, found_by="exact")
    else:
        answer = replace(judged(instance, first_plan(instance, options.start)), found_by="greedy")
    given = options.start is not None and value(options.start) >= value(answer.solution)
    return replace(answer, found_by="start") if given else answer


def _prover(
    instance: Instance,
) -> tuple[str, Callable[[Instance, exact.ExactOptions, Deadline, BetterPlan], Result]]:
    """Name the method that proves the best plan for an instance, and give it."""
    if instance.vehicles == 1:
        return "exact", exact.prove
    from decost.exact import columns  # needs some time to be imported

    return "columns", columns.prove


def _uses(instance: Instance) -> tuple[str, str]:
    return "search", _prover(instance)[0]


def _joined(scale: Scale, one: Result, other: Result) -> Result:
    """Take the better plan of two results, and all that they have proven."""
    best = max(one, other, key=lambda result: scale.value(result.solution))
    known = [scale.bound_of(result) for result in (one, other) if result.bound is not None]
    bound = min(known, default=None)
    joined = judged(best.instance, best.solution, bound=bound)
    return replace(joined, found_by=best.found_by, details={**one.details, **other.details})


@contextmanager
def _running(searches: Searches, deadline: Deadline) -> Iterator[Callable[[], bool]]:
    """Let searches run in another thread meanwhile; give what tells whether they have ended."""
    halt = np.zeros(1, dtype=np.uint8)

    def run() -> None:
        deadline.run(
            lambda: searches.run(MOST_ROUNDS, halt),
            stop=lambda: halt.fill(1),
            look=lambda: searches.expect(deadline.left),
        )

    aside = Aside(run)
    try:
        yield lambda: aside.ended
    finally:
        halt.fill(1)
        aside.answer()


def _run_nicely(function: Callable[[], Result], deadline: Deadline, nice: int) -> Result:
    """Do something in a thread that is so much nicer, which counts where there is only one core."""

    def run() -> Result:
        if nice and sys.platform == "linux":  # where a thread can be nicer than its process
            thread = get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            with suppress(OSError):  # it may be forbidden
                os.setpriority(os.PRIO_PROCESS, thread, min(19, now + nice))
        return function()

    result = deadline.work(lambda: Aside(run).answer())
    if result is None:
        raise KeyboardInterrupt
    return result


def _wait(deadline: Deadline, waits: Callable[[], bool]) -> None:
    """Let time pass, as long as there is any and something is to be waited for."""
    while deadline.left > 0 and waits():
        time.sleep(min(WAIT, max(0.0, deadline.left)))


METHOD = Method(
    name="auto",
    description="The default: a search, and beside it exact or, for teams, columns (10 s).",
    function=auto,
    options=AutoOptions,
    can=FEATURES,
    rehearse=exact.rehearse,
    uses=_uses,
)
