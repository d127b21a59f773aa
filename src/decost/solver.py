"""One door to every method: `solve` and `solve_many`, and the registry behind them."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from decost.checker import check
from decost.instance import Instance
from decost.result import Result

if TYPE_CHECKING:
    from decost.methods.options import Method, Options
    from decost.solution import Solution

DEFAULT_METHOD = "auto"

# Modules are imported when their method is asked for: a method may need a slow import.
_MODULES = {
    "auto": ("decost.methods.auto", "METHOD"),
    "columns": ("decost.exact.columns", "METHOD"),
    "decost": ("decost.methods.policy", "DECOST"),
    "exact": ("decost.exact.exact", "METHOD"),
    "gfacs": ("decost.baselines.gfacs", "METHOD"),
    "greedy": ("decost.baselines.greedy", "METHOD"),
    "ils": ("decost.baselines.ils", "METHOD"),
    "milp": ("decost.baselines.milp", "METHOD"),
    "pomo": ("decost.methods.policy", "POMO"),
    "search": ("decost.search.search", "METHOD"),
}
BATCH = 100
"""Most instances that a method for many at once gets at a time."""

_METHODS: dict[str, Method] = {}
_PREPARED: set[str] = set()
_PREPARING = Lock()


class MethodError(ValueError):
    """An unknown method or option, or a method that cannot solve this instance."""


def register(method: Method) -> None:
    """Add a method of your own, to be called by its name."""
    if method.name in _MODULES or method.name in _METHODS:
        raise MethodError(f"method {method.name!r}: there is one already")
    _METHODS[method.name] = method


def get_method(name: str) -> Method:
    """Look a method up by its name."""
    if name not in _METHODS:
        if name not in _MODULES:
            known = ", ".join(sorted({*_MODULES, *_METHODS}))
            raise MethodError(f"method {name!r}: unknown, choose from: {known}")
        module, attribute = _MODULES[name]
        _METHODS[name] = getattr(import_module(module), attribute)
    return _METHODS[name]


def list_methods() -> tuple[Method, ...]:
    """All methods."""
    return tuple(get_method(name) for name in dict.fromkeys((*_MODULES, *_METHODS)))


def prepare(name: str, instances: Iterable[Instance] = ()) -> Method:
    """Compile what a method needs, so that its first plan takes no longer than the next.

    `solve` does this by itself; call it to choose the moment. The first time after an
    installation takes half a minute or more, later less than one second.

    Parameters
    ----------
    name
        The method.
    instances
        What it is to solve: it may call other methods for some problems, but not for all.
    """
    from decost.baselines.greedy import warm_up as warm_up_greedy
    from decost.methods.options import ImprovingOptions

    method = get_method(name)
    with _PREPARING:
        if name not in _PREPARED:
            if issubclass(method.options, ImprovingOptions):
                warm_up_greedy()
            if method.warm_up is not None:
                method.warm_up()
        _PREPARED.add(name)
    if method.uses is not None:
        for other in {one: None for instance in instances for one in method.uses(instance)}:
            prepare(other)
    return method


def solve(
    instance: Instance,
    method: str = DEFAULT_METHOD,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    **options: Any,
) -> Result:
    """Plan: choose stops, their order and the stays.

    Parameters
    ----------
    instance
        The problem.
    method
        Name of the method; `decost.list_methods()` lists them.
    time_limit
        Seconds after which a method returns its best plan so far; None for the method's
        own limit, if it has one, and `math.inf` for none.
    seed
        Seed of the method's own random generator.
    **options
        Further options of the method. Every method that goes on improving its plan takes
        `start`, a feasible plan (or a result) than which the answer is never worse, and
        `progress`, which is called with a `Progress` when there is news.

    Returns
    -------
    Result
        A feasible plan, the empty one at worst.

    Raises
    ------
    MethodError
        If there is no such method or option, or the method cannot solve this instance.
    """
    settings = read_options(get_method(method), options | {"time_limit": time_limit, "seed": seed})
    return _run(prepare(method, [instance]), settings, instance)


def solve_many(
    instances: Sequence[Instance],
    method: str = DEFAULT_METHOD,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> list[Result]:
    """Solve a set of instances in parallel; the results come in the order of the instances.

    Parameters
    ----------
    instances, method, **options
        As for `solve`; every instance gets the same options.
    threads
        How many to solve at a time, by default one a core.
    progress
        Called with the number of instances done, after each of them.
    """
    results = []
    for result in solve_each(instances, method, threads=threads, **options):
        results.append(result)
        if progress is not None:
            progress(len(results))
    return results


def solve_each(
    instances: Sequence[Instance],
    method: str = DEFAULT_METHOD,
    *,
    threads: int | None = None,
    **options: Any,
) -> Iterator[Result]:
    """Like `solve_many`, but hand the results out as they come, in order."""
    settings = read_options(get_method(method), options)
    if getattr(settings, "start", None) is not None:
        raise MethodError("option start: is a plan for one instance, not for a set")
    workers = threads if threads is not None else os.cpu_count() or 1
    if workers < 1:
        raise MethodError(f"threads = {workers}: must be at least 1")
    chosen = prepare(method, instances)
    # Short tasks are bundled, or handing them over would cost more than solving them.
    bundle = max(1, min(32, len(instances) // (8 * workers)))
    if chosen.many is not None:
        bundle = max(1, min(BATCH, -(-len(instances) // workers)))
    bundles = [instances[k : k + bundle] for k in range(0, len(instances), bundle)]

    left = Event()

    def run(part: Sequence[Instance]) -> list[Result]:
        if chosen.many is not None:
            return [] if left.is_set() else _run_many(chosen, settings, part)
        return [_run(chosen, settings, one) for one in part if not left.is_set()]

    pending: deque[Future[list[Result]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for part in bundles:
            pending.append(pool.submit(run, part))
            while len(pending) > 4 * workers:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    finally:
        left.set()
        pool.shutdown(wait=False, cancel_futures=True)


def read_options(method: Method, given: dict[str, Any]) -> Options:
    """Read the options of a method.

    Raises
    ------
    MethodError
        If one is unknown or has a value that it cannot have.
    """
    if given.get("time_limit", 0) is None:  # the method's own
        given = {name: value for name, value in given.items() if name != "time_limit"}
    if isinstance(given.get("start"), Result):
        given = given | {"start": given["start"].solution}
    try:
        return method.options(**given)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(method.options.model_fields)
            why = f"unknown, {method.name} takes: {known}"
        else:
            why = first["msg"]
        raise MethodError(f"option {field} = {first['input']!r}: {why}") from None


def _run(method: Method, options: Options, instance: Instance) -> Result:
    _require_able(method, instance)
    begin = time.perf_counter()
    start = getattr(options, "start", None)
    if start is not None:
        options = options.model_copy(update={"start": _best_start(instance, start)})
    result = method.function(instance, options)
    if start is not None and start.profit > result.profit:
        bound = None if result.bound is None else max(result.bound, start.profit)
        result = replace(result, solution=start, bound=bound)
    return _signed(result, method, options, time.perf_counter() - begin)


def _best_start(instance: Instance, start: Solution) -> Solution | None:
    """Give the plan to start from its best stays; None if only tolerance makes it feasible."""
    from decost.stays import best_solution, optimal_stays

    violations = check(instance, start)
    if violations:
        raise MethodError(f"option start: the plan is not feasible: {violations[0]}")
    routes = [route.stops for route in start.routes]
    return best_solution(instance, routes) if optimal_stays(instance, routes).feasible else None


def _run_many(method: Method, options: Options, instances: Sequence[Instance]) -> list[Result]:
    """Solve some at once; each counts with its share of the time."""
    assert method.many is not None
    for instance in instances:
        _require_able(method, instance)
    begin = time.perf_counter()
    results = method.many(instances, options)
    share = (time.perf_counter() - begin) / max(1, len(instances))
    return [_signed(result, method, options, share) for result in results]


def _require_able(method: Method, instance: Instance) -> None:
    if instance.vehicles > 1 and not method.teams:
        able = ", ".join(other.name for other in list_methods() if other.teams)
        raise MethodError(
            f"vehicles = {instance.vehicles}: method {method.name!r} plans for one vehicle; "
            f"for teams choose from: {able}"
        )


def _signed(result: Result, method: Method, options: Options, runtime: float) -> Result:
    return replace(result, runtime=runtime, method=method.name, seed=options.seed)
