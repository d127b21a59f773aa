"""GFACS (Kim et al. 2024): an ant colony that a trained heatmap guides."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import lru_cache

import numpy as np
import torch
from pydantic import Field

from decost.baselines.ants import Trails, Walks, lay_pheromone, longest_stays, send_ants
from decost.learn.checkpoint import find_weights, load_heatmap
from decost.learn.heatmap import (
    HeatmapNetwork,
    NoTimeError,
    Region,
    describe,
    find_region,
)
from decost.learn.threads import one_thread
from decost.method.deadline import SLICE, Deadline
from decost.method.options import ImprovingOptions, Method, Stays
from decost.method.progress import Reporter
from decost.method.result import Result
from decost.method.value import Scale
from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import Solution, make_solution
from decost.search.construct import first_plan
from decost.timeline.network import network_as_given
from decost.timeline.routes import best_solution

DECAY = 0.9
"""Part of the pheromone that is left after an iteration."""

LEAST_PHEROMONE = 1e-9
"""Part of the first pheromone that is left for good, so that no trail is lost."""

FIRST_WORK = 200_000
"""Trails to look at before the pace of the ants is known."""


class AntsOptions(ImprovingOptions):
    """Options of `gfacs`."""

    stays: Stays = Field(
        default="optimal", description="optimal (stage two), or greedy: as long as possible"
    )
    weights: str = Field(
        default="gfacs", description="a model's name (see decost models), or a file"
    )
    ants: int = Field(default=100, ge=1, le=10**6, description="ants of an iteration")
    iterations: int = Field(default=10, ge=1, le=10**9, description="iterations")


class Colony:
    """Ants in a region, and the pheromone that they leave there.

    Parameters
    ----------
    instance, region
        The problem, and the trails that are left of it.
    heat
        What the network thinks of every trail.
    share
        Part of the longest stay that is reserved at the end of every trail; stage two comes later.
    greedy
        Whether ants stay as long as possible at a stop instead.
    random
        A generator of one's own.
    """

    def __init__(
        self,
        instance: Instance,
        region: Region,
        heat: FloatArray,
        share: FloatArray | None = None,
        *,
        greedy: bool,
        random: np.random.Generator,
    ) -> None:
        self._network = network_as_given(instance.arrays)
        self._vehicles = instance.vehicles
        self._region = region
        self._heat = heat
        self._reserve = np.zeros(len(heat))
        if share is not None:
            longest = np.minimum(instance.max_stay, instance.budget)  # (node,)
            longest[0] = 0.0
            self._reserve = share * longest[region.trails.stop[region.trails.target]]
        self._greedy = greedy
        self._random = random
        self.pheromone = np.ones(len(heat))
        self._fresh = np.zeros(len(heat))

    def send(self, ants: int) -> Walks:
        """Let ants build plans, by heat and pheromone."""
        longest = len(self._region.trails.stop) - 1 + self._vehicles
        walks = Walks(
            np.zeros((ants, longest), dtype=np.int64),
            np.empty(ants, dtype=np.int64),
            np.empty(ants),
        )
        send_ants(
            self._network,
            self._region.trails,
            self.pheromone * self._heat,
            self._vehicles,
            self._greedy,
            self._reserve,
            self._random.random((ants, longest)),
            walks,
        )
        return walks

    def learn(self, walks: Walks) -> None:
        """Let ants leave pheromone in proportion to what they earned; later ones will smell it."""
        share = walks.profit / (self._region.profit or 1.0)
        lay_pheromone(self._fresh, walks.path, walks.steps, share)

    def evaporate(self) -> None:
        """End an iteration: old pheromone fades, though never all, and what was left is smelt."""
        self.pheromone = np.maximum(DECAY * self.pheromone, LEAST_PHEROMONE) + self._fresh
        self._fresh[:] = 0.0

    def routes(self, walks: Walks, ant: int) -> list[list[int]]:
        """Read the routes of an ant's plan off its path."""
        trails: Trails = self._region.trails
        routes: list[list[int]] = [[]]
        for node in trails.target[walks.path[ant, : walks.steps[ant]]]:
            if node == 0:
                routes.append([])
            else:
                routes[-1].append(int(trails.stop[node]))
        return [route for route in routes if route]


class _Best:
    """The best routes so far; they survive an interruption."""

    def __init__(self, start: Solution | None) -> None:
        self.start = start
        self.routes: list[list[int]] | None = None
        self.profit = -np.inf if start is None else start.profit
        self.iterations = 0


def gfacs(instance: Instance, options: AntsOptions) -> Result:
    """Let ants build plans, guided by a heatmap and by the pheromone of those before them.

    If time is over before the first ant is home, the plan is the greedy one.
    """
    deadline = Deadline(options.time_limit)
    network = _load(options.weights)
    best = _Best(options.start)
    reporter = Reporter(
        options.progress,
        deadline,
        Scale(instance),
        lambda: _solution(instance, best, options.stays),
    )
    with suppress(KeyboardInterrupt, NoTimeError):
        _search(instance, network, options, deadline, reporter, best)
    details = {"iterations": best.iterations}
    return Result(instance, _solution(instance, best, options.stays), "feasible", details=details)


def _search(
    instance: Instance,
    network: HeatmapNetwork,
    options: AntsOptions,
    deadline: Deadline,
    reporter: Reporter,
    best: _Best,
) -> None:
    """Send ants in parts that take a slice of time each; a NoTimeError says that it is over."""
    region = find_region(instance, deadline)
    colony = Colony(
        instance,
        region,
        *heat_of(network, instance, region, deadline),
        greedy=options.stays == "greedy",
        random=np.random.default_rng(options.seed),
    )
    part = 1 + FIRST_WORK // len(region.trails.target)
    for _ in range(options.iterations):
        left = options.ants
        while left > 0:
            begin = time.perf_counter()
            walks = colony.send(min(part, left))
            _note(colony, walks, reporter, best)
            if deadline.left <= 0:
                raise NoTimeError
            colony.learn(walks)
            left -= len(walks.path)
            pace = (time.perf_counter() - begin) / len(walks.path)
            part = max(1, int(SLICE / max(pace, 1e-9)))
        colony.evaporate()
        best.iterations += 1


def heat_of(
    network: HeatmapNetwork, instance: Instance, region: Region, deadline: Deadline | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """Give the heat of every trail and, if the network predicts it, the share of the stay there.

    A NoTimeError says that the deadline is over.
    """
    if len(region.trails.stop) == 1:  # the depot: there is nowhere to go
        return np.ones(1), None
    with one_thread(), torch.inference_mode():
        heat, _, stay = network(describe(instance, region), deadline)
        share = None if stay is None else np.asarray(stay.sigmoid().double().numpy())
        return np.asarray(heat.double().exp().numpy()), share


def _note(colony: Colony, walks: Walks, reporter: Reporter, best: _Best) -> None:
    ant = int(walks.profit.argmax())
    if walks.profit[ant] > best.profit:
        best.profit = float(walks.profit[ant])
        best.routes = colony.routes(walks, ant)
        reporter.report(best.profit)


def _solution(instance: Instance, best: _Best, stays: Stays) -> Solution:
    if best.routes is None:
        return first_plan(instance, None) if best.start is None else best.start
    if stays == "optimal":
        return best_solution(instance, best.routes)
    network = network_as_given(instance.arrays)
    longest = [np.empty(len(route)) for route in best.routes]
    for route, some in zip(best.routes, longest, strict=True):
        longest_stays(network, np.array(route, dtype=np.int64), some)
    return make_solution(instance, best.routes, longest)


def _load(weights: str) -> HeatmapNetwork:
    """Load weights by file or name; again if the file has changed."""
    path = find_weights(weights)
    return _loaded(str(path.resolve()), path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(path: str, changed: int) -> HeatmapNetwork:
    return load_heatmap(path)[0]


def rehearse() -> None:
    """Call every kernel."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3])
    nothing = Instance(budget=9, xy=[[0, 0]])  # arrays of no size are of another kind
    for stays in ("optimal", "greedy"):
        for one in (instance, nothing):
            gfacs(one, AntsOptions(stays=stays, ants=2, iterations=1))


METHOD = Method(
    name="gfacs",
    description="GFACS (Kim et al. 2024): an ant colony guided by a trained heatmap.",
    function=gfacs,
    options=AntsOptions,
    rehearse=rehearse,
)
