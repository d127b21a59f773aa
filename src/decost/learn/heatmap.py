"""The heatmap network of GFACS (Kim et al. 2024): how promising it is to go from stop to stop.

An instance is a sparse graph: the depot and the useful stops, each with trails to those that can
be served soonest after it, and home. The network looks at it once and gives every trail a heat,
by which ants are guided (`decost.baselines.gfacs`), and the instance the logarithm of its partition
function, which only training needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, logsigmoid, silu

from decost.baselines.ants import Trails, find_successors
from decost.learn.config import HeatmapConfig
from decost.learn.rollout import FORBIDDEN, State
from decost.method.deadline import Deadline
from decost.problem.instance import Instance
from decost.timeline.network import ALL_TYPES, Useful, useful_alternatives

NEIGHBOURS = 5
"""A node has trails to one in so many of an instance's nodes."""

LEAST_NEIGHBOURS = 10
"""But to no fewer than these, if there are so many."""

MOST_TRAILS = 100_000
"""Most trails of an instance, homeward ones apart; a large one has fewer from each node."""

NODE_FEATURES = 10
"""Numbers that describe a node."""

TRAIL_FEATURES = 5
"""Numbers that describe a trail."""

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
        Features, (node, NODE_FEATURES) and (trail, TRAIL_FEATURES).
    source, target
        Nodes that a trail connects, (trail,).
    """

    nodes: Tensor
    trails: Tensor
    source: Tensor
    target: Tensor


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
        source=torch.as_tensor(source),
        target=torch.as_tensor(target),
    )


def _features(table: np.ndarray) -> Tensor:
    finite = np.nan_to_num(table, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return torch.as_tensor(np.clip(finite, -LARGEST, LARGEST)).float()


class Reading(NamedTuple):
    """What the network says of a graph.

    Attributes
    ----------
    heat
        Logarithms of the heat, (trail,).
    partition
        Logarithms of the partition function: of plans that ants draw by the heat alone, and of
        those that pheromone has guided, (2,).
    stay
        Logits of the share of the longest stay to reserve at the end of each trail, (trail,), if
        the network predicts it: the paper's service-time decoder.
    """

    heat: Tensor
    partition: Tensor
    stay: Tensor | None


class Norm(nn.Module):
    """Batch normalisation, the rows of one instance being the batch in training and in use.

    So nothing depends on what kinds of instances were in training, nor on their mixture.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, rows: Tensor) -> Tensor:
        """Normalise (row, width) over the rows."""
        return batch_norm(rows, None, None, self.scale, self.shift, training=True)


class HeatmapLayer(nn.Module):
    """Nodes look along their trails through a gate, trails look at their ends."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.nodes = nn.Linear(width, 4 * width)
        self.trails = nn.Linear(width, width)
        self.node_norm, self.trail_norm = Norm(width), Norm(width)

    def forward(
        self, nodes: Tensor, trails: Tensor, source: Tensor, target: Tensor, share: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Update (node, width) and (trail, width); `share` is 1 / trails of a node, (node, 1)."""
        own, seen, begin, end = self.nodes(nodes).chunk(4, 1)  # (node, width)
        looks = trails.sigmoid() * seen[target]  # (trail, width)
        mean = torch.zeros_like(own).index_add(0, source, looks) * share  # (node, width)
        edges = self.trails(trails) + begin[source] + end[target]  # (trail, width)
        nodes = nodes + silu(self.node_norm(own + mean))
        return nodes, trails + silu(self.trail_norm(edges))


class HeatmapNetwork(nn.Module):
    """The network of GFACS, with windows, stays and profits among its inputs."""

    def __init__(self, config: HeatmapConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.embed_nodes = nn.Linear(NODE_FEATURES, width)
        self.embed_trails = nn.Linear(TRAIL_FEATURES, width)
        self.layers = nn.ModuleList(HeatmapLayer(width) for _ in range(config.layers))
        self.head = nn.Sequential(
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 1),
        )
        self.partition = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))
        self.stay: nn.Sequential | None = None
        if config.stay_decoder:
            self.stay = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, graph: Graph, deadline: Deadline | None = None) -> Reading:
        """Read a graph, which has at least one stop.

        Raises a NoTimeError at the deadline.
        """
        share = 1.0 / graph.source.bincount()[:, None]  # (node, 1)
        nodes = silu(self.embed_nodes(graph.nodes))  # (node, width)
        trails = silu(self.embed_trails(graph.trails))  # (trail, width)
        for layer in self.layers:
            hurry(deadline)
            nodes, trails = layer(nodes, trails, graph.source, graph.target, share)
        heat = logsigmoid(self.head(trails)[:, 0]).clamp(min=LEAST_LOG_HEAT)  # (trail,)
        stay = None if self.stay is None else self.stay(trails)[:, 0]  # (trail,)
        return Reading(heat, self.partition(trails).mean(0), stay)


def heat_table(graph: Graph, heat: Tensor, nodes: int, missing: float = FORBIDDEN) -> Tensor:
    """Put logarithms of heat into a table for so many nodes; without a trail nobody goes.

    From shape (trail,) to (node, node).
    """
    table = heat.new_full((nodes, nodes), missing)
    return table.index_put((graph.source, graph.target), heat)


class AntPolicy:
    """Routes as the ants build them, step by step and batched, for training.

    Parameters
    ----------
    table
        Logarithms of what draws ants from node to node, (batch, node, node).
    stays
        Logits of the share of the longest stay that they reserve, (batch, node, node); the
        shortest stay without.
    greedy
        Whether they stay as long as possible instead.
    """

    wants_prefix = False

    def __init__(self, table: Tensor, stays: Tensor | None = None, *, greedy: bool) -> None:
        self.table = table
        self.stays = stays
        self.greedy = greedy

    def begin(self, problems: object) -> None:
        """Look at nothing: all is in the table."""

    def step(self, memory: None, state: State) -> tuple[Tensor, Tensor | None]:
        """Give the row of the table, and that of the stays or, if greedy, all of the longest."""
        index = state.place[..., None].expand(*state.place.shape, self.table.shape[2])
        logits = self.table.gather(1, index)  # (batch, samples, node)
        if self.stays is not None:
            return logits, self.stays.gather(1, index)
        return logits, torch.full_like(logits.detach(), torch.inf) if self.greedy else None
