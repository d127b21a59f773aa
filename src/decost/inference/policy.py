"""Plans by a trained network: `decost`, the paper's two stages, and `pomo`, its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from typing import Protocol, TypeAlias

import numpy as np
from pydantic import Field

from decost.compiled import Halt
from decost.draws import RandomState, random_state
from decost.inference.beam import Beam, make_beam
from decost.inference.paper import PaperPlanner
from decost.inference.prefix import PrefixPlanner
from decost.inference.problems import SYMMETRIES, Tables, load_tables, turns_of
from decost.inference.shapes import NetworkConfig
from decost.inference.walks import Walks, Wish, room_for_walks
from decost.inference.weights import WeightsError, find_weights, read_weights
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import Method, Options
from decost.method.result import Result
from decost.method.value import judged
from decost.problem.instance import TOLERANCE, FloatArray, Instance, IntArray
from decost.problem.plan import Solution, make_solution
from decost.timeline.network import useful_pairs
from decost.timeline.routes import best_solution, with_required

TOGETHER = 1 << 22
"""Most entries of the travel times that are in one batch of large instances."""

TABLE_TIME = 8e-9
"""Seconds to make tables for a network, at most, for each pair of useful alternatives."""

SAMPLES = 128
"""Routes of an instance that are drawn together."""

LIKELIEST: RandomState = np.zeros(0, dtype=np.uint64)
"""Instead of a random generator: choose the likeliest node."""

EXTRA = "pip install 'decost[learn]'"
"""What to install for torch."""

_Plan: TypeAlias = tuple[float, list[list[int]], list[list[float]]]  # value, routes, stays


class WalkOptions(Options):
    """Options of any method in which a network builds routes."""

    symmetries: bool = Field(
        default=True, description="the eight positions of the square, of which the best counts"
    )
    drawn: bool = Field(
        default=True,
        description="our network draws its routes in all positions but the first (on the CPU);"
        " else all take the likeliest",
    )
    temperature: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="of drawing: below 1, likely nodes are drawn more often than their probability",
    )
    samples: int = Field(
        default=0, ge=0, le=10**5, description="routes drawn at random besides the likeliest"
    )
    beam: int = Field(
        default=0,
        ge=0,
        le=10**4,
        description="beginnings of routes that are carried on side by side, besides the likeliest",
    )
    stay_optimisation: bool = Field(
        default=True, description="stage two, which makes the predicted stays optimal"
    )


class PolicyOptions(WalkOptions):
    """Options of `decost`."""

    weights: str = Field(
        default="generalist", description="a model's name (see decost models), or a file"
    )
    device: str = Field(default="cpu", description="cpu, or where torch computes: cuda, cuda:1")


class PomoOptions(PolicyOptions):
    """Options of `pomo`."""

    weights: str = Field(
        default="pomo", description="a model's name (see decost models), or a file"
    )
    stay_optimisation: bool = Field(
        default=False, description="stage two, which makes the predicted stays optimal"
    )


class Planner(Protocol):
    """A network that builds routes."""

    @property
    def predicts_stays(self) -> bool:
        """Whether it says how long to stay."""

    def walk(self, tables: Tables, wish: Wish, walks: Walks, halt: Halt) -> None:
        """Build routes until every vehicle is home, at once when halted."""


def policy(instance: Instance, options: PolicyOptions) -> Result:
    """Let a network build the routes and, in stage two, find the best stays for them."""
    return policy_many([instance], options)[0]


def policy_many(instances: Sequence[Instance], options: PolicyOptions) -> list[Result]:
    """Plan for many instances at once, which takes less time than one after another.

    A time limit is the mean for an instance.
    """
    deadline = _deadline(instances, options)
    planner = _load(options.weights, options.device)
    if not (planner.predicts_stays or options.stay_optimisation):
        raise WeightsError(f"weights = {options.weights}: its network predicts no stays")
    return plan_by(planner, instances, options, deadline)


def _deadline(instances: Sequence[Instance], options: WalkOptions) -> Deadline:
    limit = options.time_limit
    return Deadline(None if limit is None else limit * len(instances))


def plan_by(
    planner: Planner,
    instances: Sequence[Instance],
    options: WalkOptions,
    deadline: Deadline | None = None,
) -> list[Result]:
    """Plan for many instances with any network that builds routes; see `policy_many`."""
    deadline = _deadline(instances, options) if deadline is None else deadline
    if options.beam and not isinstance(planner, PrefixPlanner):
        raise ValueError(f"beam = {options.beam}: takes a prefix network, on the CPU")
    results: list[Result] = []
    for part in _parts(instances):
        results += _plan(part, planner, options, deadline)
    return results


def _plan(
    instances: Sequence[Instance],
    planner: Planner,
    options: WalkOptions,
    deadline: Deadline,
) -> list[Result]:
    drawn = options.drawn and isinstance(planner, PrefixPlanner)
    turning = options.symmetries and (
        drawn or any(instance.xy is not None for instance in instances)
    )
    samples = SYMMETRIES if turning else 1
    random = random_state(options.seed) if turning and drawn else LIKELIEST
    team = _Team(planner, options, deadline)
    best = team.best_plans(instances, random, samples, turning=turning)
    own = [row for row, instance in enumerate(instances) if not instance.alike]
    if own and deadline.left > 0:  # who leaves first makes a difference
        others = team.best_plans(
            [instances[row] for row in own], random, samples, turning=turning, backwards=True
        )
        for row, found in zip(own, others, strict=True):
            best[row] = max(best[row], found, key=itemgetter(0))
    if options.beam and deadline.left > 0:
        found_by_beam = team.best_plans(instances, LIKELIEST, 2 * options.beam, beam=options.beam)
        best = [max(pair, key=itemgetter(0)) for pair in zip(best, found_by_beam, strict=True)]
    if deadline.interrupted:
        raise KeyboardInterrupt
    for row, instance in enumerate(instances if options.samples else ()):
        for found in _draw(instance, team):
            best[row] = max(best[row], found, key=itemgetter(0))
    together = {"batch": float(len(instances))}
    return [
        judged(instance, _solution(instance, routes, stays, options), details=together)
        for instance, (_, routes, stays) in zip(instances, best, strict=True)
    ]


def _draw(instance: Instance, team: _Team) -> Iterator[_Plan]:
    """Draw routes at random, by a generator that knows nothing of other instances."""
    options = team.options
    random = random_state(options.seed)
    for first in range(0, options.samples, SAMPLES):
        if team.deadline.left <= 0:
            break
        yield from team.best_plans([instance], random, min(SAMPLES, options.samples - first))


@dataclass(frozen=True)
class _Part:
    """Routes of one turn of vehicles, of the instances that have so many turns.

    `origin` tells which sample of the turn before each goes on with, (row, sample), and `first`
    the number of the first vehicle of each instance.
    """

    rows: list[int]
    first: list[int]
    tables: Tables
    walks: Walks
    origin: IntArray

    def plan(self, at: int, sample: int) -> tuple[list[list[int]], list[list[float]]]:
        """Give the routes of a sample of an instance, and the predicted stays."""
        nodes, stays = self.walks.nodes[at, sample], self.walks.stays[at, sample]
        homes = np.flatnonzero(nodes == 0)[: self.tables.vehicles[at]].tolist()
        numbers, times = self.tables.node[at, nodes].tolist(), stays.tolist()
        spans = list(zip([0, *(home + 1 for home in homes)], homes, strict=False))
        return [numbers[a:b] for a, b in spans], [times[a:b] for a, b in spans]


@dataclass(frozen=True)
class _Team:
    """Vehicles that a network sends out one after another."""

    planner: Planner
    options: WalkOptions
    deadline: Deadline

    def best_plans(
        self,
        instances: Sequence[Instance],
        random: RandomState,
        samples: int,
        *,
        turning: bool = False,
        beam: int = 0,
        backwards: bool = False,
    ) -> list[_Plan]:
        """Build plans, and give the best sample of each instance; a beam has half of them.

        Vehicles leave in their order, or `backwards`.
        """
        turns = [turns_of(instance, backwards=backwards) for instance in instances]
        most = max((instance.nodes for instance in instances), default=1)
        seen = np.zeros((len(instances), samples, most), dtype=np.bool_)
        value = np.zeros((len(instances), samples))
        rows_of_beam = make_beam(len(instances), beam) if beam else None
        parts = []
        if not self.deadline.allows(TABLE_TIME * sum(map(useful_pairs, instances))):
            turns = [[] for _ in instances]
        for number in range(max(map(len, turns), default=0)):
            if number > 0 and self.deadline.left <= 0:
                break  # the others stay where they are
            rows = [row for row, some in enumerate(turns) if number < len(some)]
            tables = load_tables(
                [instances[row] for row in rows], [turns[row][number] for row in rows]
            )
            options = self.options
            wish = Wish(
                turning,
                options.stay_optimisation,
                random,
                options.temperature,
                np.array(rows),
                seen,
            )
            walks = self._walk(tables, wish, rows_of_beam)
            origin = np.tile(np.arange(samples), (len(rows), 1))
            if rows_of_beam is not None:
                origin[:, :beam] = rows_of_beam.origin[rows]
            value[rows] = np.take_along_axis(value[rows], origin, 1) + walks.value
            first = [turns[row][number].first for row in rows]
            parts.append(_Part(rows, first, tables, walks, origin))
        return list(_best_samples(instances, value, parts))

    def _walk(self, tables: Tables, wish: Wish, beam: Beam | None) -> Walks:
        """Let the network build routes, out of reach of signals, until time is over."""
        walks, halt = room_for_walks(tables, wish.seen.shape[1]), np.zeros(1, dtype=np.uint8)

        def walk() -> None:
            if beam is None:
                self.planner.walk(tables, wish, walks, halt)
            else:
                assert isinstance(self.planner, PrefixPlanner)
                self.planner.walk_beam(tables, wish, walks, beam, halt)

        self.deadline.run(walk, lambda: halt.fill(1))
        return walks


def _best_samples(
    instances: Sequence[Instance], value: FloatArray, parts: Sequence[_Part]
) -> Iterator[_Plan]:
    """Take the sample of most value of each instance: that, its routes and predicted stays."""
    # The first of equally good ones, whatever rounding makes of them.
    most = value.max(1)  # (batch,)
    chosen = (value >= (most - TOLERANCE / 1000 * np.abs(most))[:, None]).argmax(1).tolist()
    routes: list[list[list[int]]] = [[[] for _ in range(one.vehicles)] for one in instances]
    stays: list[list[list[float]]] = [[[] for _ in range(one.vehicles)] for one in instances]
    for part in reversed(parts):
        for at, row in enumerate(part.rows):
            some, times = part.plan(at, chosen[row])
            vehicles = slice(part.first[at], part.first[at] + len(some))
            routes[row][vehicles], stays[row][vehicles] = some, times
            chosen[row] = int(part.origin[at, chosen[row]])
    yield from zip(most.tolist(), routes, stays, strict=True)


def _solution(
    instance: Instance,
    routes: list[list[int]],
    stays: list[list[float]],
    options: WalkOptions,
) -> Solution:
    if options.stay_optimisation:
        return best_solution(instance, with_required(instance, routes))
    return make_solution(instance, routes, stays)


def _parts(instances: Sequence[Instance]) -> Iterator[Sequence[Instance]]:
    """Cut a batch of large instances into smaller ones."""
    largest = 1 + max((instance.alternative_count for instance in instances), default=0)
    size = max(1, TOGETHER // largest**2)
    for first in range(0, len(instances), size):
        yield instances[first : first + size]


def _load(weights: str, device: str) -> Planner:
    """Load weights by file or name; again if the file has changed."""
    path = find_weights(weights)
    return _loaded(str(path.resolve()), path.stat().st_mtime_ns, device)


@lru_cache(maxsize=8)
def _loaded(path: str, changed: int, device: str) -> Planner:
    if device != "cpu":
        try:
            from decost.learn.device import load_planner
        except ModuleNotFoundError as error:
            raise ValueError(f"device = {device}: needs {error.name}: {EXTRA}") from None
        return load_planner(path, device)
    found = read_weights(path)
    assert isinstance(found.config, NetworkConfig)
    if found.config.network == "paper":
        return PaperPlanner.load(found.config, found.tensors)
    return PrefixPlanner.load(found.config, found.tensors)


def warm_up(options: type[PolicyOptions] = PolicyOptions) -> None:
    """Load the weights that a method plans with unless told."""
    _load(options().weights, "cpu")


def rehearse(options: type[PolicyOptions] = PolicyOptions) -> None:
    """Call every kernel."""
    instance = Instance(budget=9, xy=[[0, 0], [1, 0]], rate=[0, 2], max_stay=[0, 2])
    policy(instance, options(samples=1))
    best_solution(instance, [[1]])


DECOST = Method(
    name="decost",
    description="The paper's two stages: a trained network builds routes, stays are optimal.",
    function=policy,
    options=PolicyOptions,
    can=FEATURES,
    warm_up=warm_up,
    rehearse=rehearse,
    many=policy_many,
)

POMO = Method(
    name="pomo",
    description="The paper's baseline: its network without edges and stage two.",
    function=policy,
    options=PomoOptions,
    warm_up=partial(warm_up, PomoOptions),
    rehearse=partial(rehearse, PomoOptions),
    many=policy_many,
)
