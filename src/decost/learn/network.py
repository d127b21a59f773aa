"""The networks: an attention encoder with edge bias, a routing and a service-time decoder.

`PaperNetwork` is the paper's (its appendix D): it encodes the nodes once, and at every step both
decoders look at the same encoding from the last node and the time. `PrefixNetwork` is ours: it
encodes what is left to choose from at every step, with the exact consequences of each choice
(`decost.learn.view`), and has no need to predict stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from decost.inference.paper import SCALE_PLACE, SCALE_TIME
from decost.inference.shapes import (
    NODE_FEATURES,
    PAIR_FEATURES,
    PAPER_FEATURES,
    NetworkConfig,
    token_features,
)
from decost.learn.features import Problems
from decost.learn.rollout import FORBIDDEN, State
from decost.learn.view import View, observe


def make_network(config: NetworkConfig) -> PaperNetwork | PrefixNetwork:
    """Make the network of a configuration, with random weights."""
    return PaperNetwork(config) if config.network == "paper" else PrefixNetwork(config)


class Norm(nn.Module):
    """Instance normalisation: every feature over the nodes of one instance, without padding."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, nodes: Tensor, real: Tensor) -> Tensor:
        """Normalise (batch, node, width) over the real nodes, (batch, node, 1)."""
        count = real.sum(1, keepdim=True)  # (batch, 1, 1)
        mean = (nodes * real).sum(1, keepdim=True) / count  # (batch, 1, width)
        centred = (nodes - mean) * real  # (batch, node, width)
        variance = centred.square().sum(1, keepdim=True) / count  # (batch, 1, width)
        return centred * (variance + 1e-5).rsqrt() * self.scale + self.shift


class PaperLayer(nn.Module):
    """Attention with edge bias and a feed-forward network, each added and normalised."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.into = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.edge: nn.Parameter | None = None
        if config.spatial_encoding:
            self.edge = nn.Parameter(torch.empty(config.heads))
            nn.init.uniform_(self.edge, -1.0, 1.0)
        self.first, self.second = Norm(width), Norm(width)
        self.forth = nn.Linear(width, config.feed_forward)
        self.back = nn.Linear(config.feed_forward, width)

    def forward(self, nodes: Tensor, edges: Tensor, real: Tensor) -> Tensor:
        """Encode (batch, node, width) with edges (batch, node, node)."""
        count, size, width = nodes.shape
        parts = self.into(nodes).view(count, size, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (batch, head, node, width / heads)
        scale = 1.0 / math.sqrt(width // self.heads)
        score = (scale * query) @ key.transpose(2, 3)  # (batch, head, node, node)
        score = score + real[:, None, None, :, 0].log()  # minus infinity for padding
        if self.edge is not None:
            score = score + (scale * self.edge)[:, None, None] * edges[:, None]  # appendix D
        mixed = score.softmax(3) @ value  # (batch, head, node, width / heads)
        mixed = self.out(mixed.transpose(1, 2).flatten(2))  # (batch, node, width)
        nodes = self.first(nodes + mixed, real)
        both: Tensor = self.second(nodes + self.back(self.forth(nodes).relu()), real)
        return both


@dataclass(frozen=True)
class Lookup:
    """A decoder's work that depends on nodes and not on the state.

    Attributes
    ----------
    score
        Attention of each head from each node to each node, (batch, node, head * node).
    time_score
        How it changes with the time, (batch, 1, head * node).
    answer
        Compatibility with each node that attention to a node brings, (batch, head * node, node).
    """

    score: Tensor
    time_score: Tensor
    answer: Tensor


class PaperDecoder(nn.Module):
    """Attention from the last node and the time, then compatibility with every node.

    Attention scores and compatibilities are linear in what the state selects, so both are worked
    out once for all nodes; a step only looks them up. It is the same function as with a query
    and a context vector for every state, up to rounding, at a fraction of the work.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.compare: nn.Linear | None = None
        self.query = nn.Linear(width, width, bias=False)
        self.time_query = nn.Parameter(torch.empty(width))
        nn.init.normal_(self.time_query, std=1.0 / math.sqrt(width))
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.combine = nn.Linear(width, width)
        if config.features == "extended":
            self.compare = nn.Linear(width, width, bias=False)

    def begin(self, nodes: Tensor) -> Lookup:
        """Work out the tables of an encoding (batch, node, width)."""
        count, size, width = nodes.shape

        def heads(table: Tensor) -> Tensor:
            return table.view(count, size, self.heads, -1).transpose(1, 2)  # (b, head, node, w)

        key, value = heads(self.key(nodes)), heads(self.value(nodes))
        scale = 1.0 / math.sqrt(width // self.heads)
        score = scale * heads(self.query(nodes)) @ key.transpose(2, 3)  # (b, head, from, to)
        time_query = self.time_query.view(self.heads, -1, 1)  # (head, width / heads, 1)
        time_score = scale * (key @ time_query)[..., 0]  # (batch, head, node)
        compare = nodes if self.compare is None else self.compare(nodes)  # (batch, node, width)
        compare = compare / math.sqrt(width)
        asked = compare @ self.combine.weight  # (batch, node, width): of the heads' answers
        answer = value @ heads(asked).transpose(2, 3)  # (batch, head, node, node)
        bias = (compare @ self.combine.bias)[:, None, None]  # (batch, 1, 1, node)
        answer = answer + bias / self.heads  # the attention of each head sums to 1
        return Lookup(
            score.transpose(1, 2).flatten(2), time_score.flatten(1)[:, None], answer.flatten(1, 2)
        )

    def step(self, lookup: Lookup, place: Tensor, time: Tensor, mask: Tensor) -> Tensor:
        """Give the compatibility of every node, (batch, samples, node).

        The mask (batch, samples, 1, node) is added to the scores of attention.
        """
        count, nodes, _ = lookup.score.shape
        first = nodes * torch.arange(count, device=place.device)[:, None]  # (batch, 1)
        score = lookup.score.flatten(0, 1)[first + place]  # (batch, samples, head * node)
        score = torch.addcmul(score, time[..., None], lookup.time_score)
        score = score.view(*place.shape, self.heads, nodes) + mask  # (batch, samples, head, node)
        return score.softmax(3).flatten(2) @ lookup.answer  # (batch, samples, node)


@dataclass(frozen=True)
class PaperMemory:
    """What the decoders of the paper's network look up at every step.

    If the instances are turned, there are `positions` encodings of each, one after another.
    """

    routing: Lookup
    staying: Lookup | None
    begin: Tensor
    clock: Tensor
    positions: int


class PaperNetwork(nn.Module):
    """The paper's network: one encoding, two decoders side by side (appendix D)."""

    wants_prefix = False
    least_nodes = 16  # on a CPU, torch's softmax of shorter rows is slow

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.features = NODE_FEATURES if config.features == "extended" else PAPER_FEATURES
        self.embed = nn.Linear(self.features, config.width)
        self.embed_depot: nn.Linear | None = None
        if config.features == "extended":
            self.embed_depot = nn.Linear(self.features, config.width)
        self.layers = nn.ModuleList(PaperLayer(config) for _ in range(config.layers))
        self.routing = PaperDecoder(config)
        self.staying: PaperDecoder | None = None
        if config.stay_decoder != "fixed":
            self.staying = PaperDecoder(config)

    def encode(self, problems: Problems) -> Tensor:
        """Encode the nodes, (batch * positions, node, width)."""
        nodes, edges, real = self.embedded(problems)
        for layer in self.layers:
            nodes = layer(nodes, edges, real)
        return nodes

    def embedded(self, problems: Problems) -> tuple[Tensor, Tensor, Tensor]:
        """Embed nodes, (batch * positions, node, width); tell their edges and which are real."""
        features = problems.node_features()[..., : self.features]  # (batch, node, feature)
        features = features.to(self.embed.weight.dtype)
        if self.config.scaled:
            factor = features.new_ones(self.features)  # (feature,)
            factor[:2], factor[2:4] = SCALE_PLACE, SCALE_TIME
            features = features * factor
        nodes: Tensor = self.embed(features)  # (batch, node, width)
        if self.embed_depot is not None:
            depot = self.embed_depot(features[:, :1])  # (batch, 1, width)
            nodes = torch.cat((depot, nodes[:, 1:]), 1)
        real = problems.batch.real[..., None].to(nodes.dtype)  # (batch, node, 1)
        edges = (problems.batch.travel / problems.time_unit[:, None, None]).to(nodes.dtype)
        positions = len(features) // max(1, len(problems))
        if positions > 1:
            real = real.repeat_interleave(positions, 0)
            edges = edges.repeat_interleave(positions, 0)
        return nodes, edges, real

    def look_up(self, nodes: Tensor) -> tuple[Lookup, Lookup | None]:
        """Work out the tables of both decoders."""
        staying = None if self.staying is None else self.staying.begin(nodes)
        return self.routing.begin(nodes), staying

    def clock(self, problems: Problems) -> Tensor:
        """Tell how much time makes the decoders' input 1, (batch,)."""
        return problems.some_shift / (SCALE_TIME if self.config.scaled else 1.0)

    def begin(self, problems: Problems) -> PaperMemory:
        """Encode the nodes and work out what the decoders look up."""
        nodes = self.encode(problems)
        positions = len(nodes) // max(1, len(problems))
        begin, clock = problems.batch.begin[:, None], self.clock(problems)[:, None]  # (batch, 1)
        return PaperMemory(*self.look_up(nodes), begin, clock, positions)

    def step(self, memory: PaperMemory, state: State) -> tuple[Tensor, Tensor]:
        """Give clipped logits of the next node, and logits of the share of its stay."""
        time = (state.time - memory.begin) / memory.clock  # (batch, samples)
        time = time.to(memory.routing.score.dtype)
        shape = state.live.shape
        rows = shape[0] * memory.positions  # the samples of one position are a row of their own
        place, time = state.place.reshape(rows, -1), time.view(rows, -1)
        live = state.live.view(rows, -1, 1, shape[2])
        mask = torch.zeros_like(live, dtype=time.dtype).masked_fill_(~live, FORBIDDEN)
        logits = self.routing.step(memory.routing, place, time, mask).view(shape)
        logits = self.config.clip * logits.tanh()
        if memory.staying is None or self.staying is None:
            share = logits.new_tensor(self.config.stay_share)
            return logits, share.logit().expand(shape)
        stays = self.staying.step(memory.staying, place, time, mask).view(shape)
        if self.config.stay_decoder == "softmax":
            stays = (self.config.clip * stays.tanh()).masked_fill(~state.live, FORBIDDEN)
            stays = stays.softmax(2).logit(eps=1e-7)
        return logits, stays


class PrefixLayer(nn.Module):
    """Attention between candidates, with a bias of each pair, beside a feed-forward network."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.sizes = (3 * config.width, config.feed_forward)
        self.norm = nn.LayerNorm(config.width)
        self.into = nn.Linear(config.width, sum(self.sizes), bias=False)
        self.out = nn.Linear(config.width + config.feed_forward, config.width, bias=False)

    def forward(self, tokens: Tensor, bias: Tensor) -> Tensor:
        """Mix (view, candidate, width) with a bias (view * head, candidate, candidate)."""
        count, size, width = tokens.shape
        parts, between = self.into(self.norm(tokens)).split(self.sizes, 2)
        parts = parts.view(count, size, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        parts = parts.reshape(3, count * self.heads, size, -1)
        query, key, value = parts  # (view * head, candidate, width / heads)
        scale = 1.0 / math.sqrt(width // self.heads)
        score = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=scale)
        # Softmax by hand takes half the time where rows are short; no sum may be 0 or infinite.
        weight = score.clamp(max=60.0).exp()  # (view * head, candidate, candidate)
        mixed = (weight @ value) / (weight.sum(2, keepdim=True) + 1e-30)
        mixed = mixed.view(count, self.heads, size, -1)  # (view, head, candidate, width / heads)
        mixed = mixed.transpose(1, 2).reshape(count, size, width)
        both: Tensor = self.out(torch.cat((mixed, silu(between)), 2))
        return tokens + both


class PrefixNetwork(nn.Module):
    """Our network: encodes the candidates at every step, with the consequences of each."""

    wants_prefix = True
    least_nodes = 1

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.embed = nn.Sequential(
            nn.Linear(token_features(config), width), nn.SiLU(), nn.Linear(width, width)
        )
        self.bias = nn.Linear(PAIR_FEATURES, 2 * config.heads)
        self.layers = nn.ModuleList(PrefixLayer(config) for _ in range(config.layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def begin(self, problems: Problems) -> Problems:
        """Keep the problems; all else depends on the state."""
        return problems

    def step(self, memory: Problems, state: State) -> tuple[Tensor, None]:
        """Give clipped logits of the next node; the time-profit function knows the stays."""
        shape = state.live.shape
        flat = (shape[0] * shape[1], shape[2])
        logits = self.bias.weight.new_full(flat, FORBIDDEN)  # (state, node)
        logits[:, 0] = 0.0  # nothing else is left for most of them
        for index in by_choices(state):
            view = observe(
                memory,
                state,
                index,
                self.config.context,
                self.config.promising,
                outlook=self.config.outlook,
            )
            some = self.logits(view)  # (view, candidate)
            node = view.node.masked_fill(~view.live, shape[2])  # what pads goes to a column beyond
            rows = some.new_full((len(view), shape[2] + 1), FORBIDDEN).scatter(1, node, some)
            logits = logits.index_copy(0, index, rows[:, :-1])
        return logits.view(shape), None

    def logits(self, view: View) -> Tensor:
        """Give clipped logits of the candidates, (view, candidate)."""
        count, size = view.node.shape
        heads = self.config.heads
        hidden = view.live[:, None, None].logical_not()  # (view, 1, 1, candidate)
        if self.config.spatial_encoding:
            pairs = view.pairs.flatten(2).to(self.bias.weight.dtype)
            bias = self.bias.weight @ pairs + self.bias.bias[:, None]
            bias = bias.view(count, -1, size, size)  # (view, 2 * head, first, second)
            bias = bias[:, :heads] + bias[:, heads:].transpose(2, 3)
        else:
            bias = self.bias.weight.new_zeros(count, heads, size, size)
        bias = bias.masked_fill(hidden, FORBIDDEN).flatten(0, 1)  # (view * head, .., candidate)
        tokens = self.embed(view.tokens.to(bias.dtype))  # (view, candidate, width)
        for layer in self.layers:
            tokens = layer(tokens, bias)
        worth: Tensor = self.head(tokens)[..., 0]  # (view, candidate)
        return self.config.clip * worth.tanh()


CHUNK = 256
"""States that are encoded together, if there are so many with about as many choices."""


def by_choices(state: State) -> list[Tensor]:
    """Put the states that have a choice into chunks, by how many choices they have.

    Tensors are as wide as the most choices in a chunk, so alike states should be together.
    """
    choices = state.live.sum(2).flatten()  # (state,)
    count = int((choices > 1).sum())
    if count == 0:
        return []
    order = choices.argsort(descending=True, stable=True)[:count]  # (with a choice,)
    return list(order.chunk(-(-count // CHUNK)))
