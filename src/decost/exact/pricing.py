"""Routes for a team: stops at a price, arcs that are allowed, and a choice among many labels.

A route of a team earns what its stops earn less their prices. Prices, which are the duals of the
master problem, only change the rewards, and some become negative. What label setting takes for
granted still holds:

* A label can leave out what another would still visit: without stop k a route is not later, and
  loses at most `worth[k]`, which is what k earns in full less its price, and 0 if that is negative.
* A stop of no worth is not visited by some best route: to leave it out costs nothing.
* Bounds add up rewards of either sign.

What no longer holds is that a stop which always fits between two others should be visited there,
since another vehicle may visit it: all arcs that time allows are kept. And if a branch forbids an
arc, then stops between its ends cannot be left out any more, and their worth is infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import jit
from decost.exact.exact import Problem
from decost.exact.graph import Graph
from decost.exact.labels import LABELS, Store, has_visited, route_of
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray
from decost.timeline.network import Network, useful_pairs

FAMILIES, ROUTES = 40, 300
"""Most sets of routes without a common stop, and most routes, that one pricing adds."""

RANKED = 5_000
"""How many of the best routes these are chosen from."""

NEAR, SHORT = 8, 0.01
"""How many stops near a node it remembers at first, and what part of all time is a short way back:
all stops with a shorter one are remembered."""

PRICE_STEPS = 800
"""Most steps of the grid for bounds of priced routes with stays to choose."""

TEAM_TIME = 2e-7
"""Seconds to make an instance ready for a type of vehicles, at most, for each pair of useful
alternatives."""

CYCLES = 50
"""How many of the best routes that come back to a stop are kept from doing so at a time."""


class Kind(NamedTuple):
    """Vehicles of one type: which they are, and what is there for them.

    A stop has a row in the master problem, which is the same for all types.
    """

    vehicles: tuple[int, ...]
    problem: Problem
    reach: BoolArray  # (node, node), arcs that time allows
    stops: IntArray  # (stop,), their rows
    row: IntArray  # (node,), the rows of their stops, -1 at the start and the end

    @property
    def network(self) -> Network:
        """The network of these vehicles."""
        return self.problem.network


class Trip(NamedTuple):
    """A route, as nodes of the network of a type of vehicles."""

    kind: int
    route: IntArray


class Team(NamedTuple):
    """All types of vehicles, and the stops that any of them can visit."""

    kinds: tuple[Kind, ...]
    number: IntArray  # (row,), the instance's numbers of stops
    full_profits: FloatArray  # (row,), with the bonus of required stops

    @classmethod
    def of(cls, instance: Instance) -> Team:
        """Make an instance ready for a team."""
        vehicle_type = instance.arrays.vehicle_type
        types = range(len(instance.arrays.type_start))
        made = [type_problem(instance, t) for t in types]
        number = np.unique(np.concatenate([problem.network.number for problem, _ in made]))
        full_profits = np.zeros(len(number))
        kinds = []
        for t, (problem, reach) in zip(types, made, strict=True):
            network = problem.network
            stops = np.searchsorted(number, network.number)
            full_profits[stops] = np.maximum(full_profits[stops], problem.full_profits)
            row = np.append(stops, -1)[network.stop]
            vehicles = tuple(np.flatnonzero(vehicle_type == t).tolist())
            kinds.append(Kind(vehicles, problem, reach, stops, row))
        return cls(tuple(kinds), number, full_profits)

    @property
    def grain(self) -> float:
        """A number of which the values of all plans are multiples, 0 if there is none."""
        grains = [kind.problem.grain for kind in self.kinds if len(kind.stops)]
        return float(np.gcd.reduce(np.array(grains, dtype=np.int64))) if all(grains) else 0.0

    def rows(self, trip: Trip) -> IntArray:
        """Give the rows of the stops of a route."""
        return self.kinds[trip.kind].row[trip.route]

    def nodes_at(self, row: int) -> list[BoolArray]:
        """Mark the nodes of a stop, for each type."""
        return [kind.row == row for kind in self.kinds]


def team_bytes(instance: Instance) -> float:
    """Estimate how much room a team takes, for the deadlines and arcs of every type."""
    arrays = instance.arrays
    return 24.0 * float((arrays.admits.sum(axis=1).astype(np.float64) ** 2).sum())


def team_seconds(instance: Instance) -> float:
    """Give the most seconds that it takes to make an instance ready for every type of vehicles."""
    return TEAM_TIME * len(instance.arrays.type_begin) * useful_pairs(instance)


def type_problem(instance: Instance, kind: int) -> tuple[Problem, BoolArray]:
    """Make an instance ready for a type of vehicles; also give the arcs that time allows."""
    problem = Problem.of(instance, kind=kind)
    network = problem.network
    node = network.node
    leave = node["open"] + node["min_stay"]
    arcs = leave[:, None] + travel_between(network) <= node["latest"] + network.slack
    arcs &= network.stop[:, None] != network.stop
    arcs[network.end] = arcs[:, network.start] = arcs[:, network.end] = False
    return with_arcs(problem, arcs), arcs


def travel_between(network: Network) -> FloatArray:
    """Give the travel times between all nodes."""
    place = network.node["place"]
    return network.travel[np.ix_(place, place)]


def with_arcs(problem: Problem, arcs: BoolArray) -> Problem:
    """Replace the arcs of the graph."""
    first = np.zeros(len(arcs) + 1, dtype=np.int64)
    np.cumsum(arcs.sum(axis=1), out=first[1:])
    graph: Graph = problem.graph._replace(first=first, head=np.nonzero(arcs)[1])
    return problem._replace(graph=graph)


def priced(problem: Problem, price: FloatArray, arcs: BoolArray, forbidden: BoolArray) -> Problem:
    """Charge a price for every stop, on arcs of which some are forbidden that time allows."""
    network, graph = problem
    visits = network.stop >= 0
    node = network.node.copy()
    node["reward"][visits] -= price[network.stop[visits]]
    worth = np.maximum(0.0, problem.full_profits - price)
    worth[np.isinf(graph.worth)] = np.inf
    if forbidden.any():
        # Node k lies between i and j if arcs (i, k) and (k, j) are there.
        beyond = forbidden.astype(np.float64) @ arcs.T.astype(np.float64)
        between = (arcs & (beyond > 0.0)).any(axis=0)
        worth[network.stop[between & visits]] = np.inf
    graph = graph._replace(worth=worth, price=price)
    return with_arcs(Problem(network._replace(node=node), graph), arcs)


def price_steps(problem: Problem) -> int:
    """How fine the grid for priced routes is: coarser if every step has many stays to choose."""
    steps = problem.grid_steps()
    return min(steps, PRICE_STEPS) if len(problem.network.pieces) else steps


def promising_arcs(problem: Problem, arcs: BoolArray, most: int) -> BoolArray:
    """Keep at each node the arcs to those that can earn most for the time they take."""
    network, graph = problem
    if most >= network.alternatives:
        return arcs
    node = network.node
    leave = node["latest"] + node["min_stay"]
    leave[network.start] = node["open"][network.start]
    time = np.maximum(travel_between(network), node["open"] - leave[:, None]) + node["min_stay"]
    profit = np.maximum(0.0, node["full_profit"] - np.append(graph.price, 0.0)[network.stop])
    rank = np.where(arcs, profit / np.maximum(time, network.slack), -1.0)
    least = -np.partition(-rank, most - 1, axis=1)[:, most - 1 : most]
    return arcs & (rank >= least)


def choose_routes(network: Network, store: Store, floor: float) -> list[IntArray]:
    """Choose routes among labels that earn more than a floor, good ones and of all stops."""
    whole = store.label["whole"][: store.counter[LABELS]]
    ranked = np.flatnonzero(whole > floor)
    ranked = ranked[np.argsort(-whole[ranked], kind="stable")][:RANKED]
    visited, once = all_visits(network, store, ranked)
    chosen = disjoint_families(visited, np.flatnonzero(once), FAMILIES, ROUTES)
    return [route_of(network, store, int(label)) for label in ranked[chosen]]


@jit
def all_visits(network: Network, store: Store, labels: IntArray) -> tuple[IntArray, BoolArray]:
    """Give the stops on the way to labels, as bits, and whether each is visited only once."""
    visited = np.zeros((len(labels), store.visited.shape[1]), dtype=np.int64)
    once = np.ones(len(labels), dtype=np.bool_)
    for k in range(len(labels)):
        at = labels[k]
        while at >= 0 and network.stop[store.label[at].node] >= 0:
            stop = network.stop[store.label[at].node]
            if has_visited(visited, k, stop):
                once[k] = False
            visited[k, stop >> 6] |= np.int64(1) << (stop & 63)
            at = store.label[at].parent
    return visited, once


def near_stops(problem: Problem) -> IntArray:
    """Give for every node the stops that a route can come back to soonest by way of it, as bits.

    All are if there are short cuts, since then no time may pass on a way of many stops.
    """
    network, graph = problem
    if np.isinf(graph.worth).any():
        return graph.remembers.copy()
    node, travel = network.node, travel_between(network)
    stay = node["min_stay"]
    with np.errstate(over="ignore"):  # what overflows is never
        there = np.maximum((node["open"] + stay)[:, None] + travel, node["open"])
        back = there + stay + travel.T <= node["latest"][:, None] + network.slack
        time = np.where(back, travel + travel.T + stay + stay[:, None], np.inf)
    time = np.minimum.reduceat(time, network.first, axis=0)[:-1]
    near = np.zeros(time.shape, dtype=np.bool_)
    np.put_along_axis(near, np.argsort(time, axis=0, kind="stable")[:NEAR], True, axis=0)
    short = SHORT * (node["latest"][network.end] - node["open"][network.start])
    return as_bits(((near & np.isfinite(time)) | (time <= short)).T)


def as_bits(marks: BoolArray) -> IntArray:
    """Pack marks by row and stop into words."""
    words = np.zeros((len(marks), (marks.shape[1] + 63) // 64), dtype=np.int64)
    for stop in range(marks.shape[1]):
        words[:, stop >> 6] |= marks[:, stop].astype(np.int64) << (stop & 63)
    return words


def forgetful(problem: Problem, remembers: IntArray) -> Problem:
    """Let routes come back to stops that nodes on the way do not remember."""
    return problem._replace(graph=problem.graph._replace(remembers=remembers))


def remember_cycles(network: Network, store: Store, floor: float, remembers: IntArray) -> bool:
    """Let nodes remember what the best routes come back to; the answer is whether any does."""
    whole = store.label["whole"][: store.counter[LABELS]]
    ranked = np.flatnonzero(whole > floor)
    ranked = ranked[np.argsort(-whole[ranked], kind="stable")][:RANKED]
    again = ranked[~all_visits(network, store, ranked)[1]][:CYCLES]
    for label in again:
        last: dict[int, int] = {}
        route = route_of(network, store, int(label))
        for k, stop in enumerate(network.stop[route].tolist()):
            if stop in last:
                remembers[route[last[stop] + 1 : k], stop >> 6] |= np.int64(1) << (stop & 63)
            last[stop] = k
    return len(again) > 0


@jit
def disjoint_families(visited: IntArray, ranked: IntArray, families: int, most: int) -> IntArray:
    """Choose among ranked routes: in each family the best ones without a stop in common.

    No two of the choice have visited the same stops.
    """
    words = visited.shape[1]
    chosen = np.empty(most, dtype=np.int64)
    number = 0
    taken = np.zeros(len(ranked), dtype=np.bool_)
    for _ in range(families):
        used = np.zeros(words, dtype=np.int64)
        for r in range(len(ranked)):
            if number == most:
                return chosen
            label = ranked[r]
            free = not taken[r]
            for w in range(words):
                free = free and visited[label, w] & used[w] == 0
            if not free:
                continue
            taken[r] = True
            again = False
            for c in range(number):
                same = True
                for w in range(words):
                    same = same and visited[label, w] == visited[chosen[c], w]
                again = again or same
            if again:
                continue
            for w in range(words):
                used[w] |= visited[label, w]
            chosen[number] = label
            number += 1
    return chosen[:number]
