"""The paper's network in use: one encoding, two decoders side by side (appendix D).

It is `decost.learn.network.PaperNetwork`. Attention scores and compatibilities are linear in what
a state selects, so queries, keys, values and what each node is compared with are worked out once
for all nodes; a step only combines them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from decost.compiled import Halt
from decost.inference.problems import SYMMETRIES, Tables, network_of, node_features, some_shift
from decost.inference.rows import Floats, add, copy, dot, multiply, row, soften, vectors
from decost.inference.shapes import NetworkConfig
from decost.inference.walks import State, Walks, Wish, begin, choose, go_home, move
from decost.inference.weights import stacked, turned
from decost.problem.instance import FloatArray, IntArray

SCALE_PLACE, SCALE_TIME = 3.0, 10.0
"""What makes coordinates, and parts of the budget, numbers of order one."""

ROWS = 1024
"""Nodes that are encoded together, if there are so many in the positions of an instance."""

SIGMOID, SOFTMAX, FIXED = range(3)
STAY_DECODERS = {"sigmoid": SIGMOID, "softmax": SOFTMAX, "fixed": FIXED}


class Tensors(NamedTuple):
    """The network's weights, those of all layers together; matrices are (from, to).

    Biases before a normalisation have no effect at all, and are left out. `decoders` makes
    queries, keys, values and what is compared with them, of one decoder after the other.
    """

    embed: Floats
    embed_bias: Floats
    depot: Floats
    depot_bias: Floats
    edge: Floats
    into: Floats
    out: Floats
    first_scale: Floats
    first_shift: Floats
    forth: Floats
    forth_bias: Floats
    back: Floats
    second_scale: Floats
    second_shift: Floats
    decoders: Floats
    decoder_bias: Floats
    time_query: Floats


class Recipe(NamedTuple):
    """How the decoders' answers are read."""

    clip: float
    stay_decoder: int
    stay_share: float


class Scratch(NamedTuple):
    """Room for the nodes of some positions of an instance."""

    hidden: Floats
    added: Floats
    parts: Floats
    between: Floats
    keys: Floats
    score: Floats
    spread: FloatArray
    known: Floats
    query: Floats
    context: Floats
    logit: Floats
    node: IntArray


@dataclass(frozen=True)
class PaperPlanner:
    """A network of the paper that is ready to plan."""

    config: NetworkConfig
    tensors: Tensors

    predicts_stays = True

    @staticmethod
    def load(config: NetworkConfig, tensors: Mapping[str, Floats]) -> PaperPlanner:
        """Make one of the tensors of a file."""
        layered = partial(stacked, tensors, layers=config.layers)
        depot = "embed_depot" if config.features == "extended" else "embed"
        edge = np.zeros((config.layers, config.heads), dtype=np.float32)
        if config.spatial_encoding:
            edge = layered("edge")
        names = ["routing"] if config.stay_decoder == "fixed" else ["routing", "staying"]
        found = [_decoder(tensors, name) for name in names]
        return PaperPlanner(
            config,
            Tensors(
                embed=turned(tensors, "embed.weight"),
                embed_bias=tensors["embed.bias"],
                depot=turned(tensors, f"{depot}.weight"),
                depot_bias=tensors[f"{depot}.bias"],
                edge=edge,
                into=layered("into.weight"),
                out=layered("out.weight"),
                first_scale=layered("first.scale"),
                first_shift=layered("first.shift"),
                forth=layered("forth.weight"),
                forth_bias=layered("forth.bias"),
                back=layered("back.weight"),
                second_scale=layered("second.scale"),
                second_shift=layered("second.shift"),
                decoders=np.concatenate([table for table, _ in found], 1),
                decoder_bias=np.stack([bias for _, bias in found]),
                time_query=np.stack([tensors[f"{name}.time_query"] for name in names]),
            ),
        )

    def walk(self, tables: Tables, wish: Wish, walks: Walks, halt: Halt) -> None:
        """Build routes until every vehicle is home, at once when halted."""
        config = self.config
        features = node_features(tables, turning=wish.turning)[..., : len(self.tensors.embed)]
        factor = np.ones(features.shape[2], dtype=np.float32)
        clock = some_shift(tables)
        if config.scaled:
            factor[:2], factor[2:4] = SCALE_PLACE, SCALE_TIME
            clock = clock / SCALE_TIME
        recipe = Recipe(config.clip, STAY_DECODERS[config.stay_decoder], config.stay_share)
        nodes = tables.node.shape[1]
        positions = SYMMETRIES if wish.turning else 1
        scratch = self._scratch(min(positions, max(1, ROWS // nodes)), nodes)
        features = features * factor
        _walk(self.tensors, recipe, features, clock, tables, wish, scratch, walks, halt)

    def _scratch(self, positions: int, nodes: int) -> Scratch:
        """Make room for an instance in so many positions."""
        rows, width = positions * nodes, self.config.width

        def floats(*shape: int) -> Floats:
            return np.zeros(shape, dtype=np.float32)

        return Scratch(
            hidden=floats(rows, width),
            added=floats(rows, width),
            parts=floats(rows, 3 * width),
            between=floats(rows, self.config.feed_forward),
            keys=floats(width, nodes),
            score=floats(nodes),
            spread=np.zeros((2, width)),
            known=floats(rows, self.tensors.decoders.shape[1]),
            query=floats(width),
            context=floats(width),
            logit=floats(2, nodes),
            node=np.zeros(nodes, dtype=np.int64),
        )


def _decoder(tensors: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    """Give the matrix that makes a decoder's tables of the nodes, and a bias to compare with."""
    asked, bias = tensors[f"{name}.combine.weight"].T, tensors[f"{name}.combine.bias"]
    if f"{name}.compare.weight" in tensors:
        compare = tensors[f"{name}.compare.weight"]
        asked, bias = asked @ compare, bias @ compare
    scale = np.float32(1.0 / math.sqrt(len(bias)))
    known = [tensors[f"{name}.{part}.weight"].T for part in ("query", "key", "value")]
    return np.ascontiguousarray(np.concatenate([*known, scale * asked.T], 1)), scale * bias


@vectors
def _walk(
    tensors: Tensors,
    recipe: Recipe,
    features: Floats,
    clock: FloatArray,
    tables: Tables,
    wish: Wish,
    scratch: Scratch,
    walks: Walks,
    halt: Halt,
) -> None:
    """Build the routes of all samples of one instance after another."""
    samples, padded = walks.value.shape[1], features.shape[1]
    positions = len(features) // max(1, len(tables.size))
    together = len(scratch.hidden) // padded
    for b in range(len(tables.size)):
        network = network_of(tables, b)
        state = begin(tables, b, network, samples, wish)
        for first in range(0, positions, together):
            last = min(positions, first + together)
            given = features[b * positions + first : b * positions + last]
            _encode(tensors, given, tables, b, scratch, halt)
            for s in range(samples * first // positions, samples * last // positions):
                at = (s * positions // samples - first) * tables.size[b]
                while state.vehicles[s] >= 0:
                    if halt[0] != 0:
                        go_home(tables, b, network, state, s, wish, walks)
                    elif state.many[s] == 1:
                        move(tables, b, network, state, s, 0, 0.0, wish, walks)
                    else:
                        time = (state.time[s] - tables.begin[b]) / clock[b]
                        node, share = _decide(tensors, recipe, state, s, at, time, scratch, wish)
                        if len(walks.logits) > 0:
                            for k in range(state.many[s]):
                                to = scratch.node[k]
                                walks.logits[b, s, state.steps[s], to] = scratch.logit[0, k]
                        move(tables, b, network, state, s, node, share, wish, walks)


@row
def _encode(
    tensors: Tensors,
    features: Floats,
    tables: Tables,
    b: int,
    scratch: Scratch,
    halt: Halt,
) -> None:
    """Encode an instance in some positions, and write the decoders' tables."""
    nodes, positions = tables.size[b], len(features)
    rows = positions * nodes
    hidden, added, parts, between = scratch.hidden, scratch.added, scratch.parts, scratch.between
    for p in range(positions):
        given, found = features[p], hidden[p * nodes : (p + 1) * nodes]
        for i in range(nodes):
            copy(tensors.embed_bias, found[i])
        multiply(nodes, given, tensors.embed, found)
        copy(tensors.depot_bias, found[0])
        multiply(1, given, tensors.depot, found)
    for layer in range(len(tensors.into)):
        if halt[0] != 0:
            return
        for i in range(rows):
            parts[i] = 0.0
            copy(tensors.forth_bias[layer], between[i])
        multiply(rows, hidden, tensors.into[layer], parts)
        for p in range(positions):
            _attend(tensors.edge[layer], tables, b, p * nodes, scratch, halt)
        multiply(rows, added, tensors.out[layer], hidden)
        scale, shift = tensors.first_scale[layer], tensors.first_shift[layer]
        for p in range(positions):
            _normalise(hidden[p * nodes : (p + 1) * nodes], scale, shift, scratch.spread)
        multiply(rows, hidden, tensors.forth[layer], between)
        for i in range(rows):
            line = between[i]
            for k in range(len(line)):
                line[k] = max(line[k], np.float32(0.0))
        multiply(rows, between, tensors.back[layer], hidden)
        scale, shift = tensors.second_scale[layer], tensors.second_shift[layer]
        for p in range(positions):
            _normalise(hidden[p * nodes : (p + 1) * nodes], scale, shift, scratch.spread)
    for i in range(rows):
        scratch.known[i] = 0.0
    multiply(rows, hidden, tensors.decoders, scratch.known)


@row
def _attend(edge: Floats, tables: Tables, b: int, first: int, scratch: Scratch, halt: Halt) -> None:
    """Mix the nodes of one position by their attention to one another."""
    nodes, heads = tables.size[b], len(edge)
    width = scratch.hidden.shape[1]
    each = width // heads
    scale = np.float32(1.0 / math.sqrt(each))
    unit = 1.0 / tables.time_unit[b]
    parts, keys, score = scratch.parts, scratch.keys, scratch.score[:nodes]
    for j in range(nodes):
        for f in range(width):
            keys[f, j] = parts[first + j, width + f] * scale
    for head in range(heads):
        begins, bias = head * each, scale * edge[head]
        for i in range(nodes):
            if halt[0] != 0:
                return
            ways = tables.travel[b, i]
            for j in range(nodes):
                score[j] = bias * np.float32(ways[j] * unit)
            for f in range(begins, begins + each):
                add(parts[first + i, f], keys[f, :nodes], score)
            soften(score)
            target = scratch.added[first + i, begins : begins + each]
            target[:] = 0.0
            at = 2 * width + begins
            for j in range(nodes):
                add(score[j], parts[first + j, at : at + each], target)


@row
def _normalise(table: Floats, scale: Floats, shift: Floats, spread: FloatArray) -> None:
    """Give every feature mean 0 and variance 1 over the nodes, then scale and shift, in place.

    Sums are in double precision: errors of a mean are in all nodes, and grow with every layer.
    """
    nodes, width = table.shape
    mean, square = spread[0], spread[1]
    mean[:] = 0.0
    square[:] = 0.0
    for i in range(nodes):
        line = table[i]
        for k in range(width):
            mean[k] += line[k]
    for k in range(width):
        mean[k] /= nodes
    for i in range(nodes):
        line = table[i]
        for k in range(width):
            apart = line[k] - mean[k]
            square[k] += apart * apart
    for k in range(width):
        square[k] = scale[k] / np.sqrt(square[k] / nodes + 1e-5)
    for i in range(nodes):
        line = table[i]
        for k in range(width):
            line[k] = (line[k] - mean[k]) * square[k] + shift[k]


@row
def _decide(
    tensors: Tensors,
    recipe: Recipe,
    state: State,
    s: int,
    at: int,
    time: float,
    scratch: Scratch,
    wish: Wish,
) -> tuple[int, float]:
    """Choose the next node, and the share of its longest stay; `at` is the depot's row."""
    many = 0
    for j in range(len(state.live[s])):
        if state.live[s, j]:
            scratch.node[many] = j
            many += 1
    logit = scratch.logit[0, :many]
    _compare(tensors, 0, state.place[s], at, time, many, scratch)
    for k in range(many):
        logit[k] = recipe.clip * np.tanh(logit[k])
    chosen = choose(logit, scratch.node, many, state.held[s], wish.random, wish.temperature)
    node = scratch.node[chosen]
    if recipe.stay_decoder == FIXED:
        return node, recipe.stay_share
    _compare(tensors, 1, state.place[s], at, time, many, scratch)
    stays = scratch.logit[1, :many]
    if recipe.stay_decoder == SOFTMAX:
        for k in range(many):
            stays[k] = recipe.clip * np.tanh(stays[k])
        soften(stays)
        return node, min(max(float(stays[chosen]), 1e-7), 1.0 - 1e-7)
    return node, 1.0 / (1.0 + np.exp(-float(stays[chosen])))


@row
def _compare(
    tensors: Tensors, which: int, place: int, at: int, time: float, many: int, scratch: Scratch
) -> None:
    """Attend to the nodes that can be chosen, and write the compatibility of each."""
    width, heads = scratch.hidden.shape[1], tensors.edge.shape[1]
    each = width // heads
    query, key = 4 * width * which, 4 * width * which + width
    value, asked = key + width, key + 2 * width
    scale = np.float32(1.0 / math.sqrt(each))
    known, score, context = scratch.known, scratch.score[:many], scratch.context
    copy(known[at + place, query : query + width], scratch.query)
    add(time, tensors.time_query[which], scratch.query)
    context[:] = 0.0
    for head in range(heads):
        begins = head * each
        mine = scratch.query[begins : begins + each]
        for k in range(many):
            line = known[at + scratch.node[k], key + begins : key + begins + each]
            score[k] = scale * dot(mine, line)
        soften(score)
        target = context[begins : begins + each]
        for k in range(many):
            line = known[at + scratch.node[k], value + begins : value + begins + each]
            add(score[k], line, target)
    logit = scratch.logit[which]
    for k in range(many):
        here = at + scratch.node[k]
        logit[k] = dot(context, known[here, asked : asked + width])
        logit[k] += dot(scratch.hidden[here], tensors.decoder_bias[which])
