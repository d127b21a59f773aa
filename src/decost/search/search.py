"""Local search in which every move is judged with optimal stays: ruin and recreate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from pydantic import Field

from decost.compiled import Halt
from decost.compiling import clock
from decost.draws import random_state
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import Method, RoundsOptions
from decost.method.progress import Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.instance import Instance, IntArray
from decost.problem.plan import Solution, alternative_numbers
from decost.search.construct import first_plan
from decost.search.fixed_routes import anneal_fixed, make_visits
from decost.search.long_routes import anneal_locally, make_jotter
from decost.search.moves import make_desk, mean_profit
from decost.search.ruin import (
    BEST,
    END,
    FOUND,
    FULL,
    ROUNDS,
    Hints,
    Memory,
    anneal,
    make_hints,
    make_memory,
    make_notes,
)
from decost.search.team import make_team
from decost.search.tours import make_tours
from decost.timeline.fixed_stays import fixed_stays_of, has_fixed_stays
from decost.timeline.lengths import has_fixed_lengths, lengths_of
from decost.timeline.network import Network, useful_network, useful_pairs
from decost.timeline.routes import best_solution, stays_along

FIRST_STOPS, FIRST_PIECES = 32, 32
"""Stops of a route, and pieces of a function, that there is room for at first."""

BEGIN_TIME = 2e-8
"""Seconds to make a search ready, at most, for each pair of useful alternatives."""

PATIENCE = 3000
"""Rounds after which a search can be stuck."""

MOST_VISITS = 2**21
"""Most vehicles times stops for which there is room for all stops on every route at once."""

MOST_ENTRIES = 2**27
"""Most pieces that there may be room for (2 GiB)."""


class SearchOptions(RoundsOptions):
    """Options of `search`."""

    threads: int = Field(
        default=1, ge=1, le=1024, description="seeds to run side by side, of which the best counts"
    )
    begin: Literal["greedy", "decost"] = Field(
        default="greedy", description="method that makes the first plan"
    )


def search(instance: Instance, options: SearchOptions) -> Result:
    """Remove visits that lie together and insert stops where they gain most, again and again.

    Every gain is exact: with the best stays before and after. A plan that earns less is accepted
    as in simulated annealing; at the beginning of each cycle of cooling, the best plan so far is
    improved by all local moves, and the last cycle ends when the time does.
    """
    if options.begin == "decost":
        from decost.inference.policy import warm_up as warm_up_policy

        warm_up_policy()  # before the time counts
    deadline = Deadline(options.time_limit)

    def begin() -> Searches | Solution:
        start = _first_plan(instance, options, deadline)
        if not deadline.allows(BEGIN_TIME * useful_pairs(instance)):
            return start
        return Searches(instance, start, options.seed, options.threads)

    searches = deadline.work(begin)
    if searches is None:
        raise KeyboardInterrupt
    if isinstance(searches, Solution):
        return judged(instance, searches, details={"rounds": 0.0, "found_in_round": 0.0})
    reporter = Reporter(options.progress, deadline, Scale(instance), searches.plan)
    halt = np.zeros(1, dtype=np.uint8)

    def look() -> None:
        if options.iterations is None:  # else what is found would depend on the time
            searches.expect(deadline.left)
        reporter.report(searches.value)

    deadline.run(lambda: searches.run(options.rounds, halt), lambda: halt.fill(1), look)
    return searches.result()


class Searches:
    """Searches from one plan, each with a seed of its own, side by side."""

    def __init__(self, instance: Instance, start: Solution, seed: int, threads: int) -> None:
        self._instance = instance
        self._start = start
        self._begin = clock()
        self._told: Solution | None = None
        self._scale = Scale(instance)
        routes = [alternative_numbers(instance, route) for route in start.routes]
        routes += [[] for _ in range(instance.vehicles - len(routes))]
        planned = [number for route in routes for number in route]  # also those that earn nothing
        network = useful_network(instance, keep=planned, tight=False)
        longest = np.maximum.reduceat(
            instance.alternative_max_stay[network.alternative], network.first
        )[:-1]
        hints = make_hints(network, longest)
        kind = instance.arrays.vehicle_type
        kind_of_search: type[_LongSearch | _FixedSearch | _TimedSearch] = _TimedSearch
        if has_fixed_lengths(network):
            kind_of_search = _LongSearch
        elif has_fixed_stays(network) and len(kind) * len(network.number) <= MOST_VISITS:
            kind_of_search = _FixedSearch
        self._searches: list[_Search] = [
            kind_of_search(network, kind, hints, routes, seed + k) for k in range(threads)
        ]

    @property
    def value(self) -> float:
        """Value of the best plan so far."""
        return max([self._scale.value(self._start), *(one.value for one in self._searches)])

    def expect(self, left: float) -> None:
        """Tell searches that run how many seconds are left, so that they end with a cycle."""
        elapsed = clock() - self._begin
        for one in self._searches:
            figures = one.memory.figures
            if figures[ROUNDS] > 0 and elapsed > 0.0:  # the clock may stand still
                figures[END] = min(one.most, figures[ROUNDS] * (1.0 + max(0.0, left) / elapsed))

    @property
    def stuck(self) -> bool:
        """Whether the best plan was found in the first quarter of many rounds."""
        figures = (one.memory.figures for one in self._searches)
        return all(some[ROUNDS] > PATIENCE + 4.0 * some[FOUND] for some in figures)

    def run(self, rounds: int, halt: Halt) -> None:
        """Search for some rounds, or until halted."""
        self._begin = clock()
        if len(self._searches) == 1:  # a thread more would cost as much as a dozen rounds
            self._searches[0].run(rounds, halt)
            return
        with ThreadPoolExecutor(len(self._searches)) as pool:
            list(pool.map(lambda one: one.run(rounds, halt), self._searches))

    def plan(self) -> Solution | None:
        """Give the best plan so far, if it is better than the start; also while a search runs."""
        start = self._scale.value(self._start)
        if self.value <= start:
            return None
        if self._told is None or self._scale.value(self._told) < self.value:
            routes = max(self._searches, key=lambda one: one.value).routes()
            stops = self._instance.alternative_stop[[k for route in routes for k in route]]
            # A search may have changed its routes while they were read.
            whole = len(set(stops.tolist())) == len(stops) and 0 not in stops
            if whole and stays_along(self._instance, routes, range(len(routes))).feasible:
                self._told = best_solution(self._instance, routes)
        return self._told

    def better_plan(self, value: float) -> Solution | None:
        """Give the best plan so far if its value is larger than this."""
        plan = self.plan()
        return plan if plan is not None and self._scale.value(plan) > value else None

    def result(self) -> Result:
        """Give the best plan; not while a search runs."""
        best = max(self._searches, key=lambda one: one.value)
        solution = best_solution(self._instance, best.routes())
        solution = max(solution, self._start, key=self._scale.value)
        details = {
            "rounds": sum(float(one.memory.figures[ROUNDS]) for one in self._searches),
            "found_in_round": float(best.memory.figures[FOUND]),
        }
        return judged(self._instance, solution, details=details)


class _Search(ABC):
    """One search from given routes of alternatives, one a vehicle, by its own random generator."""

    memory: Memory

    def __init__(
        self,
        network: Network,
        kind: IntArray,
        hints: Hints,
        routes: Sequence[Sequence[int]],
        seed: int,
    ) -> None:
        self._network = network
        self._kind = kind
        self._hints = hints
        self._state = random_state(seed)
        self.most = np.inf
        self.memory = self._make_room(max((len(stops) for stops in routes), default=0))
        known = self._network.alternative[1 : self._network.alternatives + 1]
        for r, route in enumerate(routes):
            nodes = 1 + np.searchsorted(known, route)
            start, end, _ = self._network.types[self._kind[r]].tolist()
            self.memory.size[r] = len(nodes)
            self.memory.nodes[r, : len(nodes) + 2] = [start, *nodes, end]

    def run(self, rounds: int, halt: Halt) -> None:
        """Search."""
        self.most = float(self.memory.figures[ROUNDS] + rounds)
        self.memory.figures[END] = self.most
        self._anneal(halt)

    @abstractmethod
    def _make_room(self, longest: int) -> Memory:
        """Make room for routes, of which the longest one now has so many stops."""

    @abstractmethod
    def _anneal(self, halt: Halt) -> None: ...

    @property
    def _left(self) -> int:
        return int(self.most - self.memory.figures[ROUNDS])

    @property
    def value(self) -> float:
        """Value of the best plan so far."""
        return float(self.memory.figures[BEST])

    def routes(self) -> list[list[int]]:
        """List the alternatives of the best routes so far."""
        pairs = zip(self.memory.best_nodes, self.memory.best_size, strict=True)
        return [self._network.alternative[row[1 : size + 1]].tolist() for row, size in pairs]


class _LongSearch(_Search):
    """A search on routes of which only the length matters."""

    def _make_room(self, longest: int) -> Memory:
        network = self._network
        self._lengths = lengths_of(network)
        self._tours = make_tours(network, self._kind)
        self._jotter = make_jotter(network, self._tours, self._hints, mean_profit(network))
        return make_memory(self._tours.nodes, self._tours.size)

    def _anneal(self, halt: Halt) -> None:
        anneal_locally(
            self._network,
            self._lengths,
            self._tours,
            self._hints,
            self.memory,
            self._jotter,
            self._state,
            self._left,
            halt,
        )


class _FixedSearch(_Search):
    """A search on routes with windows on which all stays are fixed."""

    def _make_room(self, longest: int) -> Memory:
        network = self._network
        self._times = fixed_stays_of(network)
        self._team = make_team(network, self._kind, max(1, len(network.number)), 0)
        self._visits = make_visits(self._team)
        self._scratch = make_desk(network, self._team), make_notes(self._team)
        return make_memory(self._team.nodes, self._team.size)

    def _anneal(self, halt: Halt) -> None:
        anneal_fixed(
            self._network,
            self._times,
            self._visits,
            self._team,
            self._hints,
            self.memory,
            *self._scratch,
            self._state,
            self._left,
            halt,
        )


class _TimedSearch(_Search):
    """A search on routes with their time-profit functions."""

    def _make_room(self, longest: int) -> Memory:
        node = self._network.node
        pieces = int((node["piece_last"] - node["piece_first"]).max())
        self._resize(max(FIRST_STOPS, longest), max(FIRST_PIECES, pieces))
        return make_memory(self._team.nodes, self._team.size)

    def _resize(self, stops: int, pieces: int) -> None:
        """Make room for so many stops of a route and pieces of a function, or all there are."""
        self._stops = min(stops, max(1, len(self._network.number)))
        self._pieces = min(pieces, len(self._network.pieces))
        self._team = make_team(self._network, self._kind, self._stops, self._pieces)
        self._scratch = make_desk(self._network, self._team), make_notes(self._team)

    def _anneal(self, halt: Halt) -> None:
        """Search; whenever there is no room, make more and go on."""
        while True:
            answer = anneal(
                self._network,
                self._team,
                self._hints,
                self.memory,
                *self._scratch,
                self._state,
                self._left,
                halt,
            )
            entries = 8 * len(self._kind) * self._stops * self._pieces
            if answer != FULL or halt[0] or entries > MOST_ENTRIES:
                return
            self._resize(2 * self._stops, 2 * self._pieces)
            self.memory = _widened(self.memory, self._stops + 2)


def _first_plan(instance: Instance, options: SearchOptions, deadline: Deadline) -> Solution:
    start = first_plan(instance, options.start)
    if options.begin == "decost":
        from decost.inference.policy import PolicyOptions, policy

        limit = max(0.0, deadline.left)
        learned = policy(instance, PolicyOptions(seed=options.seed, time_limit=limit)).solution
        return max(start, learned, key=Scale(instance).value)
    return start


def _widened(memory: Memory, positions: int) -> Memory:
    """Copy a memory to one with room for longer routes."""
    more = ((0, 0), (0, positions - memory.nodes.shape[1]))
    return memory._replace(
        nodes=np.pad(memory.nodes, more), best_nodes=np.pad(memory.best_nodes, more)
    )


def rehearse() -> None:
    """Call every kernel."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    search(instance, SearchOptions(iterations=1))
    fixed = Instance(budget=9, xy=np.eye(3, 2), reward=[0, 2, 1])
    for one in (fixed, fixed.replace(open=[0, 1, 1])):
        search(one, SearchOptions(iterations=1))


METHOD = Method(
    name="search",
    description="Ruin and recreate with exact gains: the best plan that 10 s find, no proof.",
    function=search,
    options=SearchOptions,
    can=FEATURES,
    rehearse=rehearse,
)
