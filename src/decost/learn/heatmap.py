"""The heatmap network of GFACS (`decost.inference.heatmap`) for training, by torch.

Beside the heat of every trail it gives an instance the logarithm of its partition function, which
only training needs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, logsigmoid, silu

from decost.inference.heatmap import LEAST_LOG_HEAT, Graph, Heatmap
from decost.inference.shapes import (
    HEATMAP_NODE_FEATURES,
    HEATMAP_TRAIL_FEATURES,
    HeatmapConfig,
)
from decost.learn.rollout import FORBIDDEN, State


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
        self.embed_nodes = nn.Linear(HEATMAP_NODE_FEATURES, width)
        self.embed_trails = nn.Linear(HEATMAP_TRAIL_FEATURES, width)
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

    def ready(self) -> Heatmap:
        """Give the same network for use without torch."""
        tensors = {name: table.numpy() for name, table in self.state_dict().items()}
        return Heatmap(self.config, tensors)

    def forward(self, graph: Graph) -> Reading:
        """Read a graph, which has at least one stop."""
        source, target = torch.as_tensor(graph.source), torch.as_tensor(graph.target)  # (trail,)
        share = 1.0 / source.bincount()[:, None]  # (node, 1)
        nodes = silu(self.embed_nodes(torch.as_tensor(graph.nodes)))  # (node, width)
        trails = silu(self.embed_trails(torch.as_tensor(graph.trails)))  # (trail, width)
        for layer in self.layers:
            nodes, trails = layer(nodes, trails, source, target, share)
        heat = logsigmoid(self.head(trails)[:, 0]).clamp(min=LEAST_LOG_HEAT)  # (trail,)
        stay = None if self.stay is None else self.stay(trails)[:, 0]  # (trail,)
        return Reading(heat, self.partition(trails).mean(0), stay)


def heat_table(graph: Graph, heat: Tensor, nodes: int, missing: float = FORBIDDEN) -> Tensor:
    """Put logarithms of heat into a table for so many nodes; without a trail nobody goes.

    From shape (trail,) to (node, node).
    """
    table = heat.new_full((nodes, nodes), missing)
    ends = torch.as_tensor(graph.source), torch.as_tensor(graph.target)
    return table.index_put(ends, heat)


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
