"""Plans with a proof: label setting on time-profit functions, guided by upper bounds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from decost.compiling import clock
from decost.exact.bounds import Bounds, improve_penalties, make_grid, no_bounds
from decost.exact.graph import Graph, make_graph
from decost.exact.labels import (
    BEST,
    CAPACITY,
    CLASSES,
    DONE,
    FULL,
    GUESS,
    LABELS,
    LEFT,
    MORE,
    PROVE,
    QUEUED,
    Attempt,
    extend_labels,
    grow,
    make_store,
    plant_root,
    route_of,
    solve_small,
    sort_queue,
    values_after,
)
from decost.exact.quick import Found, solve_quickly
from decost.method.deadline import Deadline
from decost.method.options import ImprovingOptions, Method
from decost.method.progress import BetterPlan, Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray
from decost.problem.plan import alternative_numbers
from decost.search.construct import first_plan
from decost.timeline.network import Network, useful_network, useful_pairs
from decost.timeline.routes import best_solution, flatten_routes

SMALL = Attempt(work=30_000, room=CAPACITY)
"""What is tried without bounds first; most instances need less."""

BATCH = 125
"""Most instances for which that is done at a time: for fewer it would take longer, and if they were
more, threads would wait for each other at the beginning and in the end."""

SMALL_NODES = 1_500
"""Largest instance for which that is done in one go, without looking at the time."""

MANY_CLASSES = 64
"""Lists by time of the labels of a node, unless the problem is small."""

FIRST_SEARCH = 10.0
"""Most seconds for the first search for a good route."""

FIRST_PATIENCE = 0.25
"""Seconds for the first bounds; the labels then get twice as much, and all grows by half."""

LAST_STEP = 1e-3
"""Step size of the penalties below which the bounds do not improve any more."""

SORT_TIME = 3e-5
"""Most seconds to bound a label once more; with less time than that for all, it is not done."""

COPY_TIME = 3e-9
"""Seconds to copy a byte of labels into a larger place, at most."""

GRAPH_TIME = 2.5e-8
"""Seconds to make a network and a graph, at most, for each pair of useful alternatives."""

GRID_WORK = 40_000_000
"""Most operations for one computation of the bounds; sets how fine their grid is."""

GRID_TIME = 5e-9
"""Seconds for one of these operations, at most; bounds that would take too long are not begun."""

GRID_STEPS = (50, 2_500)
"""Least and most steps of the grid."""


Hear: TypeAlias = Callable[[float], tuple[list[int], float] | None]
"""Asks for a route that somebody else has found and its value, if that is larger than this."""


class ExactOptions(ImprovingOptions):
    """Options of `exact`."""

    memory_limit: float = Field(default=4.0, gt=0, description="GiB that the labels may take")


class Problem(NamedTuple):
    """What a search for one route is given: a network, and the graph on it."""

    network: Network
    graph: Graph

    @classmethod
    def of(cls, instance: Instance, keep: Sequence[int] = (), kind: int = 0) -> Problem:
        """Make an instance ready for vehicles of a type.

        Some alternatives are kept even if they are of no use.
        """
        network = useful_network(instance, keep, kind=kind)
        return cls(network, make_graph(network, instance.arrays.triangle))

    def alternatives(self, route: IntArray) -> list[int]:
        """Give the instance's numbers of the alternatives of a route."""
        numbers: list[int] = self.network.alternative[route].tolist()
        return numbers

    @property
    def full_profits(self) -> FloatArray:
        """Most that each stop can earn, required ones with their bonus."""
        return np.maximum.reduceat(self.network.node["full_profit"], self.network.first)[:-1]

    @property
    def penalties(self) -> FloatArray:
        """First penalties: a required stop pays its bonus, since it is to be visited only once."""
        return np.where(self.full_profits < self.network.bonus, 0.0, self.network.bonus)

    @property
    def full_profit(self) -> float:
        """Most that all stops together can earn."""
        return float(self.full_profits.sum())

    @property
    def grain(self) -> float:
        """A number of which all profits are multiples, 0 if there is none."""
        reward = self.network.node["reward"]
        whole = reward == np.rint(reward)
        if len(self.network.pieces) or not whole.all() or reward.sum() >= 2**53:
            return 0.0
        return float(np.gcd.reduce(reward.astype(np.int64)))

    def grid_steps(self) -> int:
        """How fine the grid of the bounds can be."""
        work = GRID_WORK / (1 + int(self.graph.first[-1]))
        return int(min(max(work, GRID_STEPS[0]), GRID_STEPS[1]))

    def bounds_seconds(self, steps: int | None = None) -> float:
        """Give the most seconds that one computation of the bounds takes."""
        return (1 + int(self.graph.first[-1])) * (steps or self.grid_steps()) * GRID_TIME


@dataclass
class Known:
    """What a search for one route knows so far; it survives an interruption.

    The route is of alternatives; value and bound count required stops (`decost.method.value`).
    """

    route: list[int]
    value: float
    bound: float
    labels: int = 0
    branches: int = 0
    proven: bool = False


def exact(instance: Instance, options: ExactOptions) -> Result:
    """Find the best plan for one vehicle and prove it, or as much as the limits allow.

    Partial routes are labels; one is dropped when another can do all it can, and when it
    cannot beat the best plan even by the bound of a relaxation, in which a route may come back
    to a stop for a penalty. The label that promises most is extended first, so that the promise
    of the next one is a bound on every plan at any time. Where windows hardly matter and routes
    are long, branch and cut on the edges of the route takes their place (`decost.exact.circuits`).
    """
    return prove(instance, options, Deadline(options.time_limit))


def prove(
    instance: Instance,
    options: ExactOptions,
    deadline: Deadline,
    better_plan: BetterPlan | None = None,
    small: Attempt | None = None,
) -> Result:
    """Do what `exact` does until a deadline; a first attempt is made in any case.

    That is as large as `small` says, if given. If somebody else looks for plans meanwhile, whom
    `better_plan` asks, it looks for a proof only.
    """
    scale = Scale(instance)
    known = Known([], 0.0, math.inf)
    reporter = Reporter(
        options.progress, deadline, scale, lambda: best_solution(instance, [known.route])
    )
    if instance.alternative_count < SMALL_NODES:
        try:
            result = _try_small(instance, known, small or SMALL)
        except KeyboardInterrupt:
            deadline.interrupt()
            result = _try_small(instance, known, small or SMALL)
            if known.proven:  # nothing that Ctrl-C could have cut short
                raise
        if result is not None:
            return result
    if not known.proven:
        known.bound = scale.value_bound
        start = first_plan(instance, options.start)
        if scale.value(start) > known.value:
            known.route = alternative_numbers(instance, start.routes[0])
            known.value = scale.value(start)
        reporter.report(known.value)

        def hear(value: float) -> tuple[list[int], float] | None:
            plan = better_plan(value) if better_plan is not None else None
            if plan is None:
                return None
            return alternative_numbers(instance, plan.routes[0]), scale.value(plan)

        def search() -> None:
            from decost.exact.circuits import search_circuits, suits  # which knows this file

            problem = Problem.of(instance)
            known.bound = min(known.bound, problem.full_profit)
            memory = options.memory_limit * 2**30
            other = None if better_plan is None else hear
            if suits(instance, problem):
                steps = search_circuits(instance, problem, known, options.seed, deadline, other)
            else:
                steps = _search(problem, known, memory, deadline, other)
            for _ in steps:
                reporter.report(known.value, known.value if known.proven else known.bound)

        if deadline.allows(graph_seconds(instance)):
            deadline.work(search)
    solution = best_solution(instance, [known.route])
    details = {"labels": known.labels, "branches": known.branches}
    return judged(instance, solution, bound=known.bound, proven=known.proven, details=details)


def graph_seconds(instance: Instance) -> float:
    """Give the most seconds that it takes to make an instance ready for a search."""
    return GRAPH_TIME * useful_pairs(instance)


def values_to_go(
    instances: Sequence[Instance],
    routes: Sequence[Sequence[int]],
    *,
    wanted: Sequence[BoolArray] | None = None,
    threads: int | None = None,
) -> list[FloatArray]:
    """Give the exact value of every next step, for a batch of partial routes.

    Parameters
    ----------
    instances, routes
        Problems with one vehicle and, for each, the stops visited so far. An instance may
        come more than once.
    wanted
        By node, which next steps to find the value of; all by default.
    threads
        How many to work on at a time, by default one a core.

    Returns
    -------
    list of arrays
        For each route, by node: the profit of the best whole plan that begins with the route
        and goes on to that stop; entry 0 is for going home at once. Minus infinity where
        there is no such plan, at stops that can never earn anything, and where not wanted.
    """

    def run(instance: Instance, route: Sequence[int], some: BoolArray) -> FloatArray:
        flatten_routes(instance, [route])  # refuses stops that do not exist or come twice
        problem = Problem.of(instance, keep=route)
        number = problem.network.alternative[: problem.network.alternatives + 1]
        nodes = np.searchsorted(number, np.array(route, dtype=np.int64))
        found = np.empty(len(number))
        store = make_store(problem.network, CAPACITY, CLASSES)
        while not values_after(*problem, nodes, some[number], store, found):
            store = grow(store)
        values = np.full(instance.nodes, -np.inf)
        values[number] = found
        return values

    if wanted is None:
        wanted = [np.ones(instance.nodes, dtype=np.bool_) for instance in instances]
    for name, given in (("routes", routes), ("wanted", wanted)):
        if len(given) != len(instances):
            raise ValueError(f"{name}: there are {len(given)} for {len(instances)} instances")
    masks = [np.array(some, dtype=np.bool_, order="C") for some in wanted]
    for number, (instance, mask) in enumerate(zip(instances, masks, strict=True)):
        if mask.shape != (instance.nodes,):
            shape = f"has shape {mask.shape}, must be ({instance.nodes},)"
            raise ValueError(f"wanted[{number}]: {shape}")
    if threads == 1:
        return list(map(run, instances, routes, masks))
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return list(pool.map(run, instances, routes, masks))


def rehearse() -> None:
    """Call every kernel, by solving a small problem with and without bounds, and as a circuit."""
    from decost.exact.circuits import rehearse as rehearse_circuits
    from decost.exact.ng_routes import rehearse as rehearse_ng_routes

    rehearse_circuits()
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3])
    for one in (instance, instance.replace(travel=instance.travel)):
        exact(one, ExactOptions())
    rehearse_ng_routes(Problem.of(instance))
    for _ in _search(Problem.of(instance), Known([], 0.0, np.inf, labels=1), 2**30, Deadline(60.0)):
        pass
    graph_seconds(instance)


def _try_small(instance: Instance, known: Known, small: Attempt) -> Result | None:
    """Extend some labels without bounds, which is enough for most instances."""
    if instance.plain:
        return _judged(instance, solve_quickly([instance], small)[0], known)
    answer, known.value, route, known.labels = solve_small(instance.arrays, small)
    known.route = route.tolist()
    known.proven = answer == DONE
    return None


def _judged(instance: Instance, found: Found, known: Known) -> Result | None:
    """Give the result if it is proven; what there is of it is known in any case."""
    known.value, known.labels, known.proven = found.value, found.labels, found.proven
    if found.proven:
        return _proven(instance, found)
    known.route = list(found.solution.routes[0].stops)
    return None


def _proven(instance: Instance, found: Found) -> Result:
    """Give in short what `judged` says, which takes a quarter as long as the solving."""
    solution, details = found.solution, {"labels": found.labels}
    return Result(instance, solution, "optimal", solution.profit, details=details)


def exact_many(instances: Sequence[Instance], options: ExactOptions) -> list[Result | None]:
    """Solve those of many instances that need little work, in one go."""
    quick = [k for k, one in enumerate(instances) if one.plain and one.stops < SMALL_NODES]
    results: list[Result | None] = [None] * len(instances)
    if quick and options.progress is None:
        found = solve_quickly([instances[k] for k in quick], SMALL)
        for k, one in zip(quick, found, strict=True):
            results[k] = _proven(instances[k], one) if one.proven else None
    return results


def _search(
    problem: Problem,
    known: Known,
    memory: float,
    deadline: Deadline,
    better_plan: Hear | None = None,
) -> Iterator[None]:
    """Look for a good route, unless somebody else does; then improve bounds and extend labels.

    It yields whenever more may be known.
    """

    def root() -> Labels:
        return Labels(problem, known, memory, problem.grain, better_plan)

    seconds = min(FIRST_SEARCH, deadline.left / 4)
    if problem.bounds_seconds() > deadline.left:
        seconds = deadline.left
    if known.labels == 0:  # too large to be tried in one go before
        root().extend(no_bounds(), deadline, min(FIRST_PATIENCE, seconds), PROVE)
        yield
    if known.proven:
        return
    if better_plan is None:
        root().extend(no_bounds(), deadline, seconds, GUESS)
        yield
    if problem.bounds_seconds() <= deadline.left:
        from decost.exact.ng_routes import NgAscent  # which knows this file

        ascent = NgAscent(problem, problem.penalties, known.value)
        yield from root().prove(deadline, ascent, PROVE)


class Ascent:
    """Bounds for labels that are improved step by step, by their penalties.

    The penalties are where they begin; `steps` is how fine the grid is. Steps of the penalties
    smaller than `least_step` are not worth while.
    """

    least_step = LAST_STEP
    patience = 1.0
    """How much more time than usual it is worth to improve these bounds."""

    def __init__(
        self, problem: Problem, penalty: FloatArray, target: float, steps: int | None = None
    ) -> None:
        self._problem = problem
        self._grid = make_grid(*problem, steps or problem.grid_steps())
        self._penalty = penalty.copy()
        self._state = np.array([1.0, np.inf, 0.0])
        self.bounds = self._next(target)

    @property
    def bound(self) -> float:
        """Bound on all routes."""
        return float(self.bounds.root[0])

    def improve(self, deadline: Deadline, target: float, grain: float = 0.0) -> None:
        """Move the penalties until a deadline, unless the bound meets a target before.

        A step that would end after all time is over is not begun.
        """
        while (
            deadline.left > 0
            and deadline.whole.left > self._seconds
            and self._state[0] > self.least_step
            and rounded(self.bound, grain) > target
        ):
            better = self._next(target)
            if better.root[0] < self.bound:
                self.bounds = better

    def _next(self, target: float) -> Bounds:
        begin = clock()
        bounds = improve_penalties(*self._problem, self._grid, self._penalty, self._state, target)
        self._seconds = clock() - begin
        return bounds


class Labels:
    """Labels from the empty route on, extended a slice at a time; `known` learns from them.

    All profits are multiples of `grain`, if it is not 0. Plans that `better_plan` has heard of are
    taken over.
    """

    def __init__(
        self,
        problem: Problem,
        known: Known,
        memory: float,
        grain: float = 0.0,
        better_plan: Hear | None = None,
    ) -> None:
        self._problem = problem
        self._known = known
        self._memory = memory
        self._grain = grain
        self._better_plan = better_plan
        self.store = make_store(problem.network, CAPACITY, MANY_CLASSES)
        plant_root(problem.network, self.store, known.value)
        self._bounds: Bounds | None = None
        self.full = False
        self.done = False

    def prove(
        self, deadline: Deadline, ascent: Ascent, rule: int, patience: float = FIRST_PATIENCE
    ) -> Iterator[None]:
        """Improve bounds and extend labels in turn until all is known; stop where you like."""
        known, grain = self._known, self._grain
        known.bound = min(known.bound, rounded(ascent.bound, grain))
        while not self.done and not self.full and deadline.left > 0:
            ascent.improve(deadline.child(ascent.patience * patience), known.value, grain)
            known.bound = min(known.bound, rounded(ascent.bound, grain))
            self.extend(ascent.bounds, deadline, 2 * patience, rule)
            patience *= 1.5
            yield

    def extend(self, bounds: Bounds, deadline: Deadline, seconds: float, rule: int) -> None:
        """Go on for so many seconds; by the rule `GUESS` it is quick but proves nothing.

        Without bounds, nothing is proven until the queue is empty.
        """
        answer = MORE
        bounded = len(bounds.best) > 0
        known, problem = self._known, self._problem
        known.labels -= int(self.store.counter[LABELS])
        queued = int(self.store.counter[QUEUED])
        if bounded and bounds is not self._bounds and queued * SORT_TIME < deadline.left:
            sort_queue(*problem, bounds, self.store)
            self._bounds = bounds
        try:
            for work in deadline.slices(seconds):
                self._take_over_better_plan()
                answer = self._extend(bounds, rule, work)
                while answer == FULL and self._grow(deadline):
                    answer = self._extend(bounds, rule, int(self.store.counter[LEFT]))
                if answer != MORE:
                    break
        finally:
            store = self.store
            known.labels += int(store.counter[LABELS])
            if store.counter[BEST] >= 0:
                route = route_of(problem.network, store, store.counter[BEST])
                known.route = problem.alternatives(route)
                known.value = float(store.best[0])
            if bounded and rule != GUESS:
                promised = float(store.heap_key[0]) if store.counter[QUEUED] else -math.inf
                known.bound = max(known.value, min(known.bound, rounded(promised, self._grain)))
            self.done = answer == DONE
            known.proven = self.done and rule != GUESS

    def _extend(self, bounds: Bounds, rule: int, work: int) -> int:
        return extend_labels(*self._problem, bounds, self.store, self._grain, rule, work, True)

    def _grow(self, deadline: Deadline) -> bool:
        """Make more room for labels, if there is memory and time for it."""
        size = sum(array.nbytes for array in self.store)
        self.full = 3 * size > self._memory
        if self.full or size * COPY_TIME > deadline.left:
            return False
        self.store = grow(self.store)
        return True

    def _take_over_better_plan(self) -> None:
        """If somebody else has a better plan, look only for routes that are better than it."""
        better = self._better_plan(float(self.store.best[0])) if self._better_plan else None
        if better is not None:
            self._known.route, self._known.value = better
            self.store.best[0], self.store.counter[BEST] = self._known.value, -1


def rounded(bound: float, grain: float) -> float:
    """Round a bound down to a profit that is possible."""
    if grain == 0 or not math.isfinite(bound):
        return bound
    return math.floor(bound / grain + 1e-6) * grain


METHOD = Method(
    name="exact",
    description="Proven best plan for one vehicle: label setting with exact stays and bounds.",
    function=exact,
    options=ExactOptions,
    can=("vehicles", "alternatives", "required"),
    rehearse=rehearse,
    many=exact_many,
    batch=BATCH,
)
