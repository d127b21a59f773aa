"""The heatmap network of GFACS (Kim et al. 2024): how promising it is to go from stop to stop.

An instance is a sparse graph: the depot and the useful stops, each with trails to those that can
be served soonest after it, and home. The network looks at it once and gives every trail a heat,
by which ants are guided (`decost.baselines.gfacs`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decost.baselines.ants import Trails, find_successors
from decost.inference.rows import Floats
from decost.inference.shapes import HeatmapConfig
from decost.method.deadline import Deadline
from decost.problem.instance import FloatArray, Instance, IntArray
from decost.timeline.network import ALL_TYPES, Useful, useful_alternatives

NEIGHBOURS = 5
"""A node has trails to one in so many of an instance's nodes."""

LEAST_NEIGHBOURS = 10
"""But to no fewer than these, if there are so many."""

MOST_TRAILS = 100_000
"""Most trails of an instance, homeward ones apart; a large one has fewer from each node."""

USEFUL_TIME = 1e-8
"""Seconds to look at a pair of stops, about; without time for all of them nothing is begun."""

LARGEST = 10.0
"""Largest feature; what is beyond makes no difference any more."""

LEAST_LOG_HEAT = math.log(1e-10)
"""Heat below which no trail falls, as a logarithm."""


class NoTimeError(Exception):
    """The deadline is over."""


class Region(NamedTuple):
    """What is left of an instance: trails between useful stops, and all that they can earn."""

    trails: Trails
    useful: Useful
    profit: float


@dataclass(frozen=True)
class Graph:
    """An instance as the network sees it, without units.

    Attributes
    ----------
    nodes, trails
        Features, (node, HEATMAP_NODE_FEATURES) and (trail, HEATMAP_TRAIL_FEATURES).
    source, target
        Nodes that a trail connects, (trail,).
    first
        First trail of each node, and the number of all, (node + 1,).
    """

    nodes: Floats
    trails: Floats
    source: IntArray
    target: IntArray
    first: IntArray


def find_region(instance: Instance, deadline: Deadline | None = None) -> Region:
    """Reduce an instance to its useful stops and the trails between them.

    Raises a NoTimeError at the deadline.
    """
    hurry(deadline, USEFUL_TIME * instance.nodes**2)
    arrays = instance.arrays
    useful = useful_alternatives(arrays, ALL_TYPES)
    stop = np.concatenate((np.zeros(1, dtype=np.int64), useful.alternative))
    nodes = len(stop)
    most = max(LEAST_NEIGHBOURS, instance.nodes // NEIGHBOURS)
    most = min(most, nodes - 1, max(LEAST_NEIGHBOURS, MOST_TRAILS // nodes))
    target = np.zeros((nodes, most + 1), dtype=np.int64)  # the last one leads home
    count = np.empty(nodes, dtype=np.int64)
    rows = max(1, (1 << 22) // nodes)
    for begin in range(0, nodes, rows):
        hurry(deadline)
        end = min(nodes, begin + rows)
        find_successors(arrays, useful, begin, end, target[:, :most], count)
    column = np.arange(most + 1)
    there = (column < count[:, None]) | (column == most)  # (node, most + 1)
    source, target = np.nonzero(there)[0], target[there]  # (trail,)
    home = np.where(target > 0, stop[target], instance.end)
    first = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(count + 1, out=first[1:])
    trails = Trails(stop, first, target, instance.travel[stop[source], home])
    return Region(trails, useful, float(useful.profit[useful.alternative].sum()))


def hurry(deadline: Deadline | None, needed: float = 0.0) -> None:
    """Raise a NoTimeError if there is no time left, or less than is needed."""
    if deadline is not None and deadline.left <= needed:
        raise NoTimeError


def describe(instance: Instance, region: Region) -> Graph:
    """Describe what is left of an instance for the network."""
    trails, useful, _ = region
    arrays, stop = instance.arrays, trails.stop
    source = np.repeat(np.arange(len(stop)), np.diff(trails.first))
    target = trails.target
    with np.errstate(all="ignore"):  # numbers of any size; what is too large is cut
        home = instance.travel[stop, instance.end]
        min_stay = np.where(stop > 0, arrays.min_stay[stop], 0.0)
        early = np.where(stop > 0, useful.early[stop], 0.0)
        late = np.minimum(useful.late[stop], instance.budget - home - min_stay)
        late[0] = 0.0
        longest = np.where(stop > 0, useful.longest[stop], 0.0)
        longest = np.clip(np.minimum(longest, instance.max_stay[stop] - min_stay), 0.0, None)
        profit = useful.profit[stop]
        moment = trails.way.mean() or 1.0
        worth = profit[1:].mean() if len(stop) > 1 else 1.0
        budget = instance.budget or 1.0
        node = np.column_stack(
            (
                stop == 0,
                early / budget,
                late / budget,
                home / moment,
                (late - early) / moment,
                longest / moment,
                min_stay / moment,
                profit / worth,
                instance.reward[stop] / worth,
                (profit - instance.reward[stop]) / longest * moment / worth,
            )
        )
        leave = (early + min_stay)[source] + trails.way
        # Home is open at any time; whoever is late there would not have been let go so far.
        begins = np.where(target > 0, early[target], 0.0)
        ends = np.where(target > 0, late[target], instance.budget)
        edge = np.column_stack(
            (
                target == 0,
                trails.way / moment,
                (begins - leave) / moment,
                (ends - leave) / moment,
                (begins - (late + min_stay)[source] - trails.way) / moment,
            )
        )
    return Graph(
        nodes=_features(node),
        trails=_features(edge),
        source=source,
        target=target,
        first=trails.first,
    )


def _features(table: FloatArray) -> Floats:
    finite = np.nan_to_num(table, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.clip(finite, -LARGEST, LARGEST).astype(np.float32)


class Heat(NamedTuple):
    """What the network says of a graph.

    Attributes
    ----------
    heat
        Logarithms of the heat, (trail,).
    stay
        Logits of the share of the longest stay to reserve at the end of each trail, (trail,), if
        the network predicts it: the paper's service-time decoder.
    """

    heat: Floats
    stay: Floats | None


@dataclass(frozen=True)
class Heatmap:
    """The network of GFACS, ready for use: `decost.learn.heatmap.HeatmapNetwork`."""

    config: HeatmapConfig
    tensors: Mapping[str, Floats]

    def read(self, graph: Graph, deadline: Deadline | None = None) -> Heat:
        """Read a graph, which has at least one stop.

        Raises a NoTimeError at the deadline.
        """
        nodes = _silu(self._linear("embed_nodes", graph.nodes))  # (node, width)
        trails = _silu(self._linear("embed_trails", graph.trails))  # (trail, width)
        for layer in range(self.config.layers):
            hurry(deadline)
            nodes, trails = self._layer(f"layers.{layer}", graph, nodes, trails)
        worth = self._perceptron("head", trails, 3)  # (trail,)
        heat = np.minimum(worth, 0.0) - np.log1p(np.exp(-np.abs(worth)))  # of the logistic function
        stay = self._perceptron("stay", trails, 2) if self.config.stay_decoder else None
        return Heat(np.maximum(heat, LEAST_LOG_HEAT), stay)

    def _layer(
        self, name: str, graph: Graph, nodes: Floats, trails: Floats
    ) -> tuple[Floats, Floats]:
        """Let nodes look along their trails through a gate, and trails at their ends."""
        parts = np.split(self._linear(f"{name}.nodes", nodes), 4, 1)
        own, seen, begin, end = parts  # (node, width)
        looks = logistic(trails) * seen[graph.target]  # (trail, width)
        share = 1.0 / np.diff(graph.first).astype(np.float32)[:, None]  # (node, 1)
        mean = np.add.reduceat(looks, graph.first[:-1]) * share  # (node, width)
        edges = self._linear(f"{name}.trails", trails) + begin[graph.source] + end[graph.target]
        nodes = nodes + _silu(self._normalised(f"{name}.node_norm", own + mean))
        return nodes, trails + _silu(self._normalised(f"{name}.trail_norm", edges))

    def _linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def _perceptron(self, name: str, rows: Floats, layers: int) -> Floats:
        """Apply some linear layers with SiLU in between, the last of which gives one number."""
        for layer in range(layers - 1):
            rows = _silu(self._linear(f"{name}.{2 * layer}", rows))
        return self._linear(f"{name}.{2 * (layers - 1)}", rows)[:, 0]

    def _normalised(self, name: str, rows: Floats) -> Floats:
        """Normalise every feature over the rows of the instance."""
        centred = rows - rows.mean(0, dtype=np.float32)
        spread = np.sqrt(np.square(centred).mean(0) + np.float32(1e-5))
        scale: Floats = self.tensors[f"{name}.scale"] / spread
        normal: Floats = centred * scale + self.tensors[f"{name}.shift"]
        return normal


def logistic(rows: Floats) -> Floats:
    """Give 1 / (1 + exp(-x)) of every number."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * rows)), dtype=rows.dtype)


def _silu(rows: Floats) -> Floats:
    return rows * logistic(rows)
