"""What a prefix network saw along some routes, and what it should have chosen there.

Routes are built by the kernels that plan (`decost.inference`), many times faster than tensors
could be moved about. The same kernels follow finished routes again and write down what the
network sees at the states that matter; what is left for torch is to encode these, and the
gradient. So all of the model can be taught: vehicles of their own, alternatives, required stops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from decost.compiled import jit, lean
from decost.draws import RandomState
from decost.inference.prefix import PrefixPlanner
from decost.inference.problems import Tables, Turn, load_tables, network_of, turns_of
from decost.inference.rows import Floats
from decost.inference.shapes import PAIR_FEATURES, NetworkConfig, token_features
from decost.inference.view import describe_state
from decost.inference.walks import (
    NO_SHARE,
    State,
    Walks,
    Wish,
    begin,
    move,
    room_for_walks,
)
from decost.learn.network import PrefixNetwork
from decost.learn.teacher import Values
from decost.learn.view import View
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray

CHUNK = 256
"""States that are encoded together."""


@dataclass(frozen=True)
class Leg:
    """Routes of one turn of vehicles, of the instances that have so many turns.

    Attributes
    ----------
    rows
        Which instances these are, by their number among all, (batch,).
    tables
        What the network sees of them.
    seen
        Stops that were visited before, of all instances, (instance, samples, stop).
    nodes
        The routes, as in `Walks`, (batch, samples, step).
    """

    rows: IntArray
    tables: Tables
    seen: BoolArray
    nodes: IntArray


@dataclass(frozen=True)
class Trip:
    """Routes of all vehicles of some instances, turn by turn, and what they are worth.

    `profit` is what stops earn and `missed` how many required stops are left out, both
    (instance, samples).
    """

    legs: list[Leg]
    profit: FloatArray
    missed: IntArray


def planner_of(network: PrefixNetwork) -> PrefixPlanner:
    """Make a planner of what a network has learned so far."""
    tensors = {name: table.detach().cpu().numpy() for name, table in network.state_dict().items()}
    return PrefixPlanner.load(network.config, tensors)


def turns_for(instances: Sequence[Instance], seed: int) -> list[list[Turn]]:
    """Put the vehicles of each instance into turns, forwards or backwards as chance has it."""
    random = np.random.default_rng(seed)
    return [turns_of(one, backwards=bool(random.integers(2))) for one in instances]


def walk_network(
    planner: PrefixPlanner,
    instances: Sequence[Instance],
    turns: Sequence[list[Turn]],
    samples: int,
    random: RandomState,
) -> Trip:
    """Let a network build routes of all vehicles; it draws them, or takes the likeliest."""
    legs: list[Leg] = []
    trip = _new_trip(instances, samples)
    seen = _nothing_seen(instances, samples)
    for rows, tables in _tables(instances, turns):
        before = seen.copy()
        walks = room_for_walks(tables, samples)
        wish = Wish(False, True, random, 1.0, rows, seen)
        planner.walk(tables, wish, walks, np.zeros(1, dtype=np.uint8))
        legs.append(Leg(rows, tables, before, walks.nodes))
        _count(trip, legs[-1], walks)
    return Trip(legs, trip.profit, trip.missed)


def walk_plans(
    instances: Sequence[Instance],
    turns: Sequence[list[Turn]],
    plans: Sequence[Sequence[Sequence[int]]],
) -> Trip:
    """Take routes from plans: numbers of alternatives, a list for each vehicle.

    Of equal vehicles those come first that earn more, so that there is one way to say a plan.
    """
    legs: list[Leg] = []
    trip = _new_trip(instances, 1)
    seen = _nothing_seen(instances, 1)
    for number, (rows, tables) in enumerate(_tables(instances, turns)):
        nodes = np.zeros_like(room_for_walks(tables, 1).nodes)
        for at, row in enumerate(rows):
            turn = turns[row][number]
            some = plans[row][turn.first : turn.first + turn.vehicles]
            place = {int(one): k for k, one in enumerate(tables.node[at]) if one > 0}
            routes = [[place[one] for one in route if one in place] for route in some]
            line = [node for route in routes for node in (*route, 0)]
            nodes[at, 0, : len(line)] = line
        legs.append(Leg(rows, tables, seen.copy(), nodes))
        walks = room_for_walks(tables, 1)
        _follow(tables, nodes, Wish(False, True, _NO_DRAWS, 1.0, rows, seen), walks)
        _count(trip, legs[-1], walks)
    return Trip(legs, trip.profit, trip.missed)


_NO_DRAWS: RandomState = np.zeros(0, dtype=np.uint64)


def _tables(
    instances: Sequence[Instance], turns: Sequence[list[Turn]]
) -> Iterator[tuple[IntArray, Tables]]:
    """Go through the turns: the instances that have so many, and what a network sees of them."""
    for number in range(max(map(len, turns), default=0)):
        rows = np.array([row for row, some in enumerate(turns) if number < len(some)])
        some = [turns[row][number] for row in rows]
        yield rows, load_tables([instances[row] for row in rows], some)


def _nothing_seen(instances: Sequence[Instance], samples: int) -> BoolArray:
    most = max((instance.nodes for instance in instances), default=1)
    return np.zeros((len(instances), samples, most), dtype=np.bool_)


def _new_trip(instances: Sequence[Instance], samples: int) -> Trip:
    required = np.array([int(one.required.sum()) for one in instances], dtype=np.int64)
    missed = np.repeat(required[:, None], samples, 1)
    return Trip([], np.zeros((len(instances), samples)), missed)


def _count(trip: Trip, leg: Leg, walks: Walks) -> None:
    """Add what a turn is worth."""
    tables = leg.tables
    needed = np.take_along_axis(
        tables.needed[:, None], walks.nodes.reshape(len(leg.rows), 1, -1), 2
    )
    visited = needed.reshape(walks.nodes.shape).sum(2)  # (batch, samples)
    trip.missed[leg.rows] -= visited
    trip.profit[leg.rows] += walks.value - tables.bonus[:, None] * visited


@lean
def _is_possible(tables: Tables, b: int, state: State, s: int, node: int) -> bool:
    """Whether a node can be next, be it that a required stop is left to a later vehicle."""
    if node == 0 or state.live[s, node]:
        return True
    in_time = state.start[s, node] <= tables.latest[b, node] + tables.slack[b]
    return bool(in_time and not state.visited[s, node])


@jit
def _follow(tables: Tables, nodes: IntArray, wish: Wish, walks: Walks) -> None:
    """Send vehicles along given routes; what cannot be visited is left out."""
    for b in range(len(tables.size)):
        network = network_of(tables, b)
        state = begin(tables, b, network, nodes.shape[1], wish)
        for s in range(nodes.shape[1]):
            k = 0
            while state.vehicles[s] >= 0:
                node = nodes[b, s, k] if k < nodes.shape[2] else 0
                k += 1
                if _is_possible(tables, b, state, s, node):
                    move(tables, b, network, state, s, node, NO_SHARE, wish, walks)


class Sights(NamedTuple):
    """What a network sees at some states, and which of the candidates it took.

    The first candidate of each is going home; `home` says whether that may be chosen.
    """

    row: IntArray
    sample: IntArray
    step: IntArray
    many: IntArray
    chosen: IntArray
    home: BoolArray
    node: IntArray
    tokens: Floats
    pairs: Floats


def sights(leg: Leg, wanted: BoolArray, config: NetworkConfig) -> Sights:
    """Write down what a network sees at the steps that are wanted, (batch, samples, step).

    Only states with a choice count; `row` is by the numbers of the leg.
    """
    width = np.zeros(1, dtype=np.int64)
    few = min(config.promising, config.context)
    none = _room(0, 1, config)
    total = _see(leg.tables, leg.nodes, leg.rows, leg.seen, wanted, few, none, width)
    found = _room(total, min(int(width[0]), 1 + config.context), config)
    few = min(few, found.node.shape[1] - 1)
    _see(leg.tables, leg.nodes, leg.rows, leg.seen, wanted, few, found, width)
    return found


def _room(states: int, width: int, config: NetworkConfig) -> Sights:
    return Sights(
        row=np.zeros(states, dtype=np.int64),
        sample=np.zeros(states, dtype=np.int64),
        step=np.zeros(states, dtype=np.int64),
        many=np.zeros(states, dtype=np.int64),
        chosen=np.zeros(states, dtype=np.int64),
        home=np.ones(states, dtype=np.bool_),
        node=np.zeros((states, width), dtype=np.int64),
        tokens=np.zeros((states, width, token_features(config)), dtype=np.float32),
        pairs=np.zeros((states, PAIR_FEATURES, width, width), dtype=np.float32),
    )


@jit
def _see(
    tables: Tables,
    nodes: IntArray,
    rows: IntArray,
    seen: BoolArray,
    wanted: BoolArray,
    promising: int,
    sights: Sights,
    width: IntArray,
) -> int:
    """Follow routes and write what is seen if there is room; return how many states there are.

    The most candidates of any is written to `width`.
    """
    samples = nodes.shape[1]
    space = np.empty((5, sights.node.shape[1]))
    wish = Wish(False, True, np.zeros(0, dtype=np.uint64), 1.0, rows, seen.copy())
    walks = Walks(
        np.zeros_like(nodes),
        np.zeros(nodes.shape),
        np.zeros(nodes.shape[:2]),
        np.zeros((0, 0, 0, 0), dtype=np.float32),
    )
    total = 0
    for b in range(len(tables.size)):
        if not wanted[b].any():
            continue
        network = network_of(tables, b)
        state = begin(tables, b, network, samples, wish)
        for s in range(samples):
            k = 0
            while state.vehicles[s] >= 0 and wanted[b, s, min(k, nodes.shape[2] - 1) :].any():
                node = nodes[b, s, k] if k < nodes.shape[2] else 0
                if k < nodes.shape[2] and wanted[b, s, k] and state.many[s] > 1:
                    width[0] = max(width[0], state.many[s])
                    if len(sights.row) > 0:
                        count = describe_state(
                            tables,
                            b,
                            state,
                            s,
                            0,
                            promising,
                            sights.node[total],
                            sights.tokens[total],
                            sights.pairs[total],
                            space,
                        )
                        sights.row[total], sights.sample[total] = b, s
                        sights.step[total], sights.many[total] = k, count
                        sights.home[total] = not state.held[s]
                        sights.chosen[total] = -1
                        for c in range(count):
                            if sights.node[total, c] == node:
                                sights.chosen[total] = c
                    total += 1
                k += 1
                if _is_possible(tables, b, state, s, node):
                    move(tables, b, network, state, s, node, NO_SHARE, wish, walks)
    return total


def log_probabilities(
    network: PrefixNetwork, seen: Sights, device: str | torch.device = "cpu"
) -> Iterator[tuple[IntArray, Tensor]]:
    """Encode states, about as many candidates together: which they are, and their choices.

    The log-probabilities are minus infinity where there is no candidate, (state, candidate).
    """
    order = np.argsort(-seen.many, kind="stable")
    for part in np.array_split(order, max(1, -(-len(order) // CHUNK))):
        if len(part) == 0:
            continue
        width = int(seen.many[part[0]])
        live = np.arange(width) < seen.many[part][:, None]  # (state, candidate)
        live[:, 0] = seen.home[part]

        def tensor(table: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(table)).to(device)

        view = View(
            tensor(part),
            tensor(seen.node[part, :width]),
            tensor(np.arange(width) < seen.many[part][:, None]),
            tensor(seen.tokens[part, :width]),
            tensor(seen.pairs[part, :, :width, :width]),
        )
        logits = network.logits(view).masked_fill(~tensor(live), -torch.inf)
        yield part, logits.log_softmax(1)


class Branch(NamedTuple):
    """A state where samples part: which sample and step tell of it, and what its ways are worth.

    `ways` has, by node, how much more all samples that took it are worth than the mean of those
    that pass the state.
    """

    row: int
    sample: int
    step: int
    ways: dict[int, float]


def branches(trip: Trip, worth: FloatArray) -> list[list[Branch]]:
    """Find the states where samples part, for each leg; `worth` is (instance, samples).

    That is REINFORCE with a baseline for each state. Where all samples that pass go on alike,
    there is nothing to be learned.
    """
    found: list[list[Branch]] = [[] for _ in trip.legs]
    places = [{int(row): at for at, row in enumerate(leg.rows)} for leg in trip.legs]
    for row in range(len(worth)):
        groups = [list(range(worth.shape[1]))]
        for leg, place, some in zip(trip.legs, places, found, strict=True):
            at = place.get(row)
            if at is None:
                break
            nodes = leg.nodes[at]
            for step in range(nodes.shape[1]):
                parted: list[list[int]] = []
                for group in groups:
                    ways: dict[int, list[int]] = {}
                    for s in group:
                        ways.setdefault(int(nodes[s, step]), []).append(s)
                    if len(ways) > 1:
                        mean = worth[row, group].mean()
                        gains = {
                            k: float((worth[row, one] - mean).sum()) for k, one in ways.items()
                        }
                        some.append(Branch(at, group[0], step, gains))
                    parted += [one for one in ways.values() if len(one) > 1]
                groups = parted
                if not groups:
                    break
    return found


def weighted_loss(
    network: PrefixNetwork, seen: Sights, weights: Floats, device: str | torch.device
) -> Tensor:
    """Sum the log-probabilities of choices, times their weights (state, candidate), negated."""
    total = torch.zeros((), device=device)
    for part, log_probability in log_probabilities(network, seen, device):
        weight = torch.from_numpy(weights[part, : log_probability.shape[1]]).to(device)
        total = total - (weight * log_probability.masked_fill(weight == 0.0, 0.0)).sum()
    return total


def imitation(network: PrefixNetwork, trip: Trip) -> tuple[Tensor, int]:
    """Cross-entropy to the choices of given routes, one an instance, and how many there were.

    A choice among stops that the network does not look at is none.
    """
    config = network.config
    device = next(network.parameters()).device
    total, count = torch.zeros((), device=device), 0
    for leg in trip.legs:
        wanted = np.ones(leg.nodes.shape, dtype=np.bool_)
        seen = sights(leg, wanted, config)
        known = (seen.chosen > 0) | ((seen.chosen == 0) & seen.home)
        weights = np.zeros(seen.node.shape, dtype=np.float32)
        weights[known, seen.chosen[known]] = 1.0
        total = total + weighted_loss(network, seen, weights, device)
        count += int(known.sum())
    return total, count


def reinforcement(network: PrefixNetwork, trip: Trip, worth: FloatArray) -> tuple[Tensor, int]:
    """REINFORCE over a tree of samples, and how many choices all of them made together."""
    config = network.config
    device = next(network.parameters()).device
    total, count = torch.zeros((), device=device), 0
    for leg, some in zip(trip.legs, branches(trip, worth), strict=True):
        count += int((leg.nodes > 0).sum()) + leg.nodes.shape[0] * leg.nodes.shape[1]
        ways = {(one.row, one.sample, one.step): one.ways for one in some}
        wanted = np.zeros(leg.nodes.shape, dtype=np.bool_)
        for row, sample, step in ways:
            wanted[row, sample, step] = True
        seen = sights(leg, wanted, config)
        weights = np.zeros(seen.node.shape, dtype=np.float32)
        for k in range(len(seen.row)):
            gains = ways[int(seen.row[k]), int(seen.sample[k]), int(seen.step[k])]
            for c in range(seen.many[k]):
                weights[k, c] = gains.get(int(seen.node[k, c]), 0.0)
        total = total + weighted_loss(network, seen, weights, device)
    return total, count


def worth_of_candidates(
    instances: Sequence[Instance], leg: Leg, seen: Sights, values_of: Values
) -> Floats:
    """Ask the exact teacher for the worth of the candidates of each state, (state, candidate).

    It is the profit of the best plan after each choice, as a part of the best of all.
    """
    numbers = leg.tables.node
    rows = seen.row.tolist()
    routes, wanted = [], []
    for k, b in enumerate(rows):
        path = leg.nodes[b, seen.sample[k], : seen.step[k]]
        routes.append(numbers[b, path].tolist())
        wanted.append(np.zeros(instances[b].nodes, dtype=np.bool_))
        wanted[-1][numbers[b, seen.node[k, : seen.many[k]]]] = True
    found = values_of([instances[b] for b in rows], routes, wanted=wanted, threads=1)
    best = np.full(len(instances), np.finfo(np.float64).tiny)
    worth = np.full(seen.node.shape, -np.inf)
    for k, (b, values) in enumerate(zip(rows, found, strict=True)):
        worth[k, : seen.many[k]] = values[numbers[b, seen.node[k, : seen.many[k]]]]
        if seen.step[k] == 0:
            best[b] = max(best[b], values.max())
    return np.asarray(worth / best[rows][:, None], dtype=np.float32)
