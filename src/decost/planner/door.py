"""One door to every method: `solve` and `solve_many`, and the registry behind them."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event, RLock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

import numpy as np
from pydantic import ValidationError

from decost.compiling import clock
from decost.files.cells import did_you_mean
from decost.method.features import Feature, features_of
from decost.method.options import ImprovingOptions, MethodError
from decost.method.result import Failure, Result
from decost.problem.checker import check
from decost.problem.instance import Instance
from decost.problem.validation import first_fault

if TYPE_CHECKING:
    from typing import Unpack

    from decost.method.options import Method, Options
    from decost.planner.typed_options import SetOptions, SolveOptions
    from decost.problem.plan import Solution

DEFAULT_METHOD = "auto"

_log = logging.getLogger("decost")

# Modules are imported when their method is asked for: a method may need a slow import.
_MODULES = {
    "auto": ("decost.planner.auto", "METHOD"),
    "columns": ("decost.exact.columns", "METHOD"),
    "decost": ("decost.inference.policy", "DECOST"),
    "exact": ("decost.exact.exact", "METHOD"),
    "gfacs": ("decost.baselines.gfacs", "METHOD"),
    "greedy": ("decost.baselines.greedy", "METHOD"),
    "ils": ("decost.baselines.ils", "METHOD"),
    "milp": ("decost.baselines.milp", "METHOD"),
    "pomo": ("decost.inference.policy", "POMO"),
    "search": ("decost.search.search", "METHOD"),
}
BATCH_NODES = 25_000
"""About how many nodes the instances have in all that a method for many at once gets at a time:
they are handed over together, and where they are large that would be too late."""

TELL = 0.05
"""Seconds after which what is finished of a bundle of instances is handed over."""

REHEARSAL = 0.1
"""Seconds for each example that a method is prepared with."""

POLL = 0.1
"""Seconds between two looks for Ctrl-C while others solve."""

Outcome: TypeAlias = Result | Failure
OnError: TypeAlias = Literal["raise", "row"]

_METHODS: dict[str, Method] = {}
_PREPARED: set[str] = set()
_REHEARSED: set[str] = set()
_PREPARING = RLock()


def _compiler_lock() -> Any:
    """Give the lock that numba holds while it compiles or loads a kernel, once it is there."""
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None) or nullcontext()


class _Fork:
    """Lets no process fork while another thread prepares or compiles.

    The child would have that thread's locks, but not the thread that opens them again.
    """

    def __init__(self) -> None:
        self._held: list[ExitStack] = []

    def hold(self) -> None:
        """Wait for what is being prepared, and begin nothing new."""
        with ExitStack() as stack:
            stack.enter_context(_PREPARING)
            stack.enter_context(_compiler_lock())
            self._held.append(stack.pop_all())

    def release(self) -> None:
        """Go on, in parent and child."""
        if self._held:
            self._held.pop().close()


if hasattr(os, "register_at_fork"):
    _FORK = _Fork()
    os.register_at_fork(
        before=_FORK.hold, after_in_parent=_FORK.release, after_in_child=_FORK.release
    )


LEARN = ("torch", "safetensors")
"""Libraries that only come with the extra `learn`."""


def needs_extra(error: ModuleNotFoundError) -> str:
    """Say what to install for a library that is missing."""
    return f"needs {error.name}, which comes with: pip install 'decost[learn]'"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while a set was solved.

    Attributes
    ----------
    results
        What was finished by then, by the number of the instance.
    """

    def __init__(self, results: dict[int, Result | Failure]) -> None:
        super().__init__(f"{len(results)} instances are finished")
        self.results = results


def register(method: Method) -> None:
    """Add a method of your own, to be called by its name."""
    if method.name in _MODULES or method.name in _METHODS:
        raise MethodError(f"method {method.name!r}: there is one already")
    _METHODS[method.name] = method


def get_method(name: str) -> Method:
    """Look a method up by its name."""
    if name not in _METHODS:
        if name not in _MODULES:
            known = sorted(method_names())
            meant = did_you_mean(str(name), known)
            raise MethodError(f"method {name!r}: unknown, choose from: {', '.join(known)}{meant}")
        module, attribute = _MODULES[name]
        try:
            _METHODS[name] = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name not in LEARN:
                raise
            raise MethodError(f"method {name!r}: {needs_extra(error)}") from None
    return _METHODS[name]


def is_shipped(name: str) -> bool:
    """Whether a method comes with the package."""
    return name in _MODULES


def is_known(name: str) -> bool:
    """Whether there is a method of a name."""
    return is_shipped(name) or name in _METHODS


def list_methods() -> tuple[Method, ...]:
    """All methods for which what they need is installed."""
    return tuple(one for one in _all_methods() if not isinstance(one, MethodError))


def missing_methods() -> tuple[str, ...]:
    """Say of every other method what is to be installed."""
    return tuple(str(one) for one in _all_methods() if isinstance(one, MethodError))


def method_names() -> list[str]:
    """List the names of methods, without importing any."""
    return list(dict.fromkeys((*_MODULES, *_METHODS)))


def _all_methods() -> Iterator[Method | MethodError]:
    for name in method_names():
        try:
            yield get_method(name)
        except MethodError as error:
            yield error


def prepare(name: str, instances: Iterable[Instance] = ()) -> Method:
    """Compile all that a method will need, so that its first plan takes no longer than the next.

    Without it, a method compiles what an instance needs when it needs it; that does not count for
    time limits. The first time after an installation takes half a minute or more, later less than
    one second.

    Parameters
    ----------
    name
        The method.
    instances
        What it is to solve: it may call other methods for some problems, but not for all. Without
        any, it is prepared for all that it can solve.
    """
    examples = _examples(name)
    instances = tuple(instances) or examples
    method = load_method(name, instances)
    for one in dict.fromkeys((name, *_used(method, instances))):
        with _PREPARING:
            if one not in _REHEARSED:
                _rehearse(get_method(one), _examples(one))
            _REHEARSED.add(one)
    return method


def load_method(name: str, instances: Iterable[Instance]) -> Method:
    """Load what a method needs for some instances, but compile nothing."""
    method = get_method(name)
    used = () if method.uses is None else _used(method, instances)
    for one in (name, *used):
        if one not in _PREPARED:
            with _PREPARING:
                warm_up = get_method(one).warm_up
                if one not in _PREPARED and warm_up is not None:
                    warm_up()
                _PREPARED.add(one)
    return method


def _used(method: Method, instances: Iterable[Instance]) -> Iterable[str]:
    """Name the other methods that one may call for some instances."""
    uses = method.uses or (lambda instance: ())
    return {one: None for instance in instances for one in uses(instance)}


def _examples(name: str) -> tuple[Instance, ...]:
    """Give small problems of each kind that a method can solve."""
    from decost.problem.generators import generate

    (paper,) = generate("paper", nodes=8, window=200, seed=1)
    own, *_ = generate("people", nodes=6, seed=1, vehicles=2)
    required = paper.replace(required=np.arange(paper.nodes) == 1)
    can = set(get_method(name).can)
    kinds = (paper, paper.replace(vehicles=2), required, own)
    return tuple(one for one in kinds if {feature for feature, _ in features_of(one)} <= can)


def _rehearse(method: Method, examples: Iterable[Instance]) -> None:
    """Call all kernels of a method, and those that serve every method."""
    from decost.baselines.greedy import rehearse as rehearse_greedy
    from decost.planner.orders import rehearse as rehearse_orders
    from decost.planner.requirements import rehearse as rehearse_required

    if method.name not in _MODULES:  # somebody else's, who knows what it needs
        return
    if method.rehearse is not None:
        method.rehearse()
    rehearse_greedy()
    if "required" in method.can:
        rehearse_required()
    if issubclass(method.options, ImprovingOptions):
        rehearse_orders()  # a plan to begin with may be an order
    for instance in examples:
        method.function(instance, method.options(time_limit=REHEARSAL))


def solve(
    instance: Instance,
    method: str = DEFAULT_METHOD,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    **options: Unpack[SolveOptions],
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
        Further options of the method. Every method that goes on improving its plan takes two
        more. `start` is a plan (or a result) than which the answer is never worse; if its times
        are off, the best times for its order are set. An order alone will do: a list of stops for
        each vehicle, or by the ids of vehicles. `progress` is called with a `Progress` when there
        is news; if it answers False, the run ends with the best plan so far.

    Returns
    -------
    Result
        A feasible plan, the empty one at worst.

    Raises
    ------
    MethodError
        If there is no such method or option, or the method cannot solve this instance.
    """
    if not isinstance(instance, Instance):
        kind = type(instance).__name__
        raise MethodError(f"solve takes one Instance, not a {kind}; solve_many takes several")
    chosen = get_method(method)
    given: dict[str, Any] = {**options, "time_limit": time_limit, "seed": seed}
    if "start" in chosen.options.model_fields and _is_order(given.get("start")):
        given["start"] = _plan_in_order(instance, given["start"])
    settings = read_options(chosen, given)
    result = _run(load_method(method, [instance]), settings, instance)
    _log.info("%s: %s", instance.name or instance.problem, result)
    return result


def _is_order(start: object) -> bool:
    return isinstance(start, Sequence | Mapping) and not isinstance(start, str | bytes)


def _plan_in_order(instance: Instance, orders: Any) -> Solution:
    from decost.planner.orders import OrderError, plan_in_order, stop_numbers

    try:
        return plan_in_order(instance, stop_numbers(instance, orders))
    except OrderError as error:
        raise MethodError(f"option start: {error}") from None


@overload
def solve_many(
    instances: Sequence[Instance],
    method: str = ...,
    *,
    threads: int | None = ...,
    progress: Callable[[int], object] | None = ...,
    on_error: Literal["raise"] = ...,
    executor: Executor | None = ...,
    **options: Unpack[SetOptions],
) -> list[Result]: ...
@overload
def solve_many(
    instances: Sequence[Instance],
    method: str = ...,
    *,
    threads: int | None = ...,
    progress: Callable[[int], object] | None = ...,
    on_error: Literal["row"],
    executor: Executor | None = ...,
    **options: Unpack[SetOptions],
) -> list[Result | Failure]: ...
def solve_many(
    instances: Sequence[Instance],
    method: str = DEFAULT_METHOD,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    on_error: OnError = "raise",
    executor: Executor | None = None,
    **options: Unpack[SetOptions],
) -> list[Result] | list[Result | Failure]:
    """Solve a set of instances in parallel; the results come in the order of the instances.

    Parameters
    ----------
    instances, method, **options
        As for `solve`; every instance gets the same options.
    threads
        How many to solve at a time, by default one a core, or one for each worker of the executor.
    progress
        Called with the number of instances done, after each of them.
    on_error
        What to do if an instance cannot be solved: "raise" its error, or with "row" go on and
        put a `Failure` in the place of its result.
    executor
        Who is to solve instead of threads of this process: any `concurrent.futures.Executor`,
        such as a `ProcessPoolExecutor`, Dask's `client.get_executor()` or mpi4py's
        `MPIPoolExecutor`. It gets instances in bundles, and is not shut down.

    Raises
    ------
    Interrupted
        At Ctrl-C: a KeyboardInterrupt that holds what is finished.
    UnfinishedError
        If the executor dies; it holds what is finished, too.
    """
    _require_known(on_error)
    done: dict[int, Any] = {}
    wanted = 0
    try:
        for _ in _solve_into(done, instances, method, threads, {**options}, executor):
            while wanted in done:
                _raise_if(on_error == "raise", done[wanted])
                wanted += 1
                if progress is not None:
                    progress(wanted)
    except KeyboardInterrupt:
        raise Interrupted(dict(done)) from None
    return [done[index] for index in range(len(instances))]


@overload
def solve_each(
    instances: Sequence[Instance],
    method: str = ...,
    *,
    threads: int | None = ...,
    on_error: Literal["raise"] = ...,
    executor: Executor | None = ...,
    **options: Unpack[SetOptions],
) -> Iterator[Result]: ...
@overload
def solve_each(
    instances: Sequence[Instance],
    method: str = ...,
    *,
    threads: int | None = ...,
    on_error: Literal["row"],
    executor: Executor | None = ...,
    **options: Unpack[SetOptions],
) -> Iterator[Result | Failure]: ...
def solve_each(
    instances: Sequence[Instance],
    method: str = DEFAULT_METHOD,
    *,
    threads: int | None = None,
    on_error: OnError = "raise",
    executor: Executor | None = None,
    **options: Unpack[SetOptions],
) -> Iterator[Any]:
    """Like `solve_many`, but hand the results out as they come, in order.

    Whoever takes them has all but the last few when Ctrl-C comes, or an error is raised.
    """
    _require_known(on_error)
    done: dict[int, Outcome] = {}
    wanted = 0
    for _ in _solve_into(done, instances, method, threads, {**options}, executor):
        while wanted in done:
            _raise_if(on_error == "raise", done[wanted])
            yield done.pop(wanted)
            wanted += 1


def solve_as_done(
    instances: Sequence[Instance],
    method: str = DEFAULT_METHOD,
    *,
    threads: int | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Iterator[tuple[int, Outcome]]:
    """Like `solve_each` with failures as rows, but each comes once it is there, with its index."""
    done: dict[int, Outcome] = {}
    for fresh in _solve_into(done, instances, method, threads, options, executor):
        for index in fresh:
            yield index, done.pop(index)


def _solve_into(
    done: dict[int, Outcome],
    instances: Sequence[Instance],
    method: str,
    threads: int | None,
    options: dict[str, Any],
    executor: Executor | None,
) -> Iterator[Sequence[int]]:
    """Solve a set, and give the numbers of instances of which `done` has just got the outcome."""
    settings = read_options(get_method(method), options)
    if getattr(settings, "start", None) is not None:
        raise MethodError("option start: is a plan for one instance, not for a set")
    if executor is not None:
        from decost.planner.executors import solve_on

        if threads is not None and threads < 1:
            raise MethodError(f"threads = {threads}: must be at least 1")
        sent = method if is_shipped(method) else get_method(method)
        yield from solve_on(executor, done, instances, sent, options, threads)
        return
    workers = threads if threads is not None else os.cpu_count() or 1
    if workers < 1:
        raise MethodError(f"threads = {workers}: must be at least 1")
    chosen = load_method(method, instances)
    bundle = _bundle_size(chosen, instances, workers)
    left = Event()
    finished: SimpleQueue[Sequence[int] | BaseException | None] = SimpleQueue()

    def run(first: int) -> None:
        part = instances[first : first + bundle]
        told, last = first, time.perf_counter()
        try:
            known: Sequence[Outcome | None] = [None] * len(part)
            if chosen.many is not None and not left.is_set():
                known = _attempt_many(chosen, settings, part)
            for index, (instance, outcome) in enumerate(zip(part, known, strict=True), first):
                if left.is_set():
                    return
                done[index] = outcome or _attempt(chosen, settings, instance)
                if index == first + len(part) - 1 or time.perf_counter() - last > TELL:
                    finished.put(range(told, index + 1))
                    told, last = index + 1, time.perf_counter()
        except BaseException as error:
            finished.put(error)
        finally:
            finished.put(None)  # one bundle less is pending

    bundles = iter(range(0, len(instances), bundle))
    pool = ThreadPoolExecutor(workers)
    try:
        pending = [pool.submit(run, first) for first in islice(bundles, 4 * workers)]
        while pending:
            news = _next(finished)
            if isinstance(news, BaseException):
                raise news
            if news is not None:
                yield news
                continue
            pending.pop()
            pending += [pool.submit(run, first) for first in islice(bundles, 1)]
    finally:
        left.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _bundle_size(method: Method, instances: Sequence[Instance], workers: int) -> int:
    """How many instances a thread takes at a time: handing short tasks over one by one is slow."""
    if method.many is None:
        return max(1, min(32, len(instances) // (8 * workers)))
    largest = max((one.nodes for one in instances), default=1)
    most = max(1, min(method.batch, BATCH_NODES // largest))
    rounds = -(-len(instances) // (most * workers))  # each keeps all threads busy
    return max(1, -(-len(instances) // max(1, rounds * workers)))


def _next(queue: SimpleQueue[Any]) -> Any:
    """Wait for what comes next; Ctrl-C may not wake a thread that waits without end."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=POLL)


def _require_known(on_error: OnError) -> None:
    if on_error not in get_args(OnError):
        raise MethodError(f"on_error = {on_error!r}: must be raise or row")


def _raise_if(wanted: bool, outcome: Outcome) -> None:
    if wanted and isinstance(outcome, Failure):
        raise outcome.error


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
        known = method.options.model_fields
        wrong = next((name for name in given if name not in known), "")
        unknown = f"unknown, {method.name} takes: {', '.join(known)}{did_you_mean(wrong, known)}"
        raise MethodError(first_fault(error, prefix="option ", unknown=unknown)) from None


def _run(method: Method, options: Options, instance: Instance) -> Result:
    _require_able(method, instance)
    begin = clock()
    start = getattr(options, "start", None)
    if start is not None:
        start, best = _best_start(instance, start)
        options = options.model_copy(update={"start": best})
    result = method.function(instance, options)
    if start is not None:
        result = _no_worse(result, start)
    return _with_reasons(result.signed(method.name, options.seed, clock() - begin))


def _best_start(instance: Instance, start: Solution) -> tuple[Solution, Solution | None]:
    """Give a plan that the answer must not be worse than, and the one to start from.

    That has the best times for the order of the given one; there is none if only tolerance makes
    the order feasible.
    """
    from decost.planner.orders import OrderError, first_break, stop_numbers
    from decost.timeline.routes import solution_for

    try:
        orders = stop_numbers(instance, [list(route.stops) for route in start.routes])
    except OrderError as error:
        raise MethodError(f"option start: {error}") from None
    broken = first_break(instance, orders)
    best = None if broken else solution_for(instance, orders)
    if all(violation.rule == "required" for violation in check(instance, start)):
        return start, best
    if broken:
        raise MethodError(f"option start: {broken.in_words(instance)}")
    assert best is not None
    return best, best


def _no_worse(result: Result, start: Solution) -> Result:
    """Take the plan that was given if the result's is worse, which rounding may bring about."""
    from decost.method.value import Scale

    scale = Scale(result.instance)
    if scale.value(start) <= scale.value(result.solution):
        return result
    bound = None if result.bound is None else max(result.bound, start.profit)
    return replace(result, solution=start, bound=bound)


def _attempt(method: Method, options: Options, instance: Instance) -> Outcome:
    """Solve, or say why not."""
    begin = clock()
    try:
        return _run(method, options, instance)
    except Exception as error:
        runtime = clock() - begin
        return Failure(instance, error, runtime, method.name, options.seed)


def _attempt_many(
    method: Method, options: Options, instances: Sequence[Instance]
) -> Sequence[Outcome | None]:
    """Solve some at once; if that fails, none, to see which of them it is."""
    try:
        return _run_many(method, options, instances)
    except Exception:
        return [None] * len(instances)


def _run_many(
    method: Method, options: Options, instances: Sequence[Instance]
) -> list[Result | None]:
    """Solve some at once; each counts with its share of the time."""
    assert method.many is not None
    for instance in instances:
        _require_able(method, instance)
    begin = clock()
    results = method.many(instances, options)
    share = (clock() - begin) / max(1, len(instances))
    for result in results:
        if result is not None:
            result.sign(method.name, options.seed, share)
    return [result and _with_reasons(result) for result in results]


def can_plan(method: str, instance: Instance) -> bool:
    """Whether a method plans for all that an instance has.

    Raises
    ------
    MethodError
        If there is no such method.
    """
    return all(feature in get_method(method).can for feature, _ in features_of(instance))


def _require_able(method: Method, instance: Instance) -> None:
    needed = dict(features_of(instance))
    missing = [feature for feature in needed if feature not in method.can]
    if missing:
        able = [one.name for one in list_methods() if needed.keys() <= set(one.can)]
        raise MethodError(
            f"{needed[missing[0]]}: method {method.name!r} {_CANNOT[missing[0]]}; "
            f"choose from: {', '.join(able)}"
        )


_CANNOT: dict[Feature, str] = {
    "teams": "plans for one vehicle",
    "vehicles": "plans for equal vehicles that leave the depot at time 0",
    "alternatives": "knows one way to visit a stop, at its place and for all vehicles",
    "required": "knows no required stops",
}


def _with_reasons(result: Result) -> Result:
    if not result.instance.any_required:
        return result
    from decost.planner.requirements import with_reasons

    return with_reasons(result)
