"""Our network in use: it encodes the candidates at every step, with the consequences of each.

It is `decost.learn.network.PrefixNetwork`. The candidates of all samples of an instance are rows
of one table, without padding, so that matrices are multiplied for many of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decost.compiled import Halt
from decost.inference.problems import SYMMETRIES, Tables, network_of
from decost.inference.rows import Floats, add, copy, dot, exp, multiply, row, silu, vectors
from decost.inference.shapes import PAIR_FEATURES, NetworkConfig, token_features
from decost.inference.view import describe_state
from decost.inference.walks import NO_SHARE, State, Walks, Wish, begin, choose, go_home, move
from decost.inference.weights import stacked, turned
from decost.problem.instance import FloatArray, IntArray

if TYPE_CHECKING:
    from decost.inference.beam import Beam

ROWS = 512
"""Candidates that are encoded together, if there are so many."""

LANES = 16
"""Numbers that a processor adds at once, or twice or four times as many."""


class Tensors(NamedTuple):
    """The network's weights, those of all layers together; matrices are (from, to)."""

    embed: Floats
    embed_bias: Floats
    embed_again: Floats
    embed_again_bias: Floats
    pair: Floats
    pair_bias: Floats
    norm: Floats
    norm_bias: Floats
    into: Floats
    out: Floats
    head_norm: Floats
    head_norm_bias: Floats
    head: Floats
    head_bias: float


class Scratch(NamedTuple):
    """Room for the candidates of some states, which are rows in a line.

    State k has rows `first[k]` to `first[k + 1] - 1`, is that of sample `sample[k]`, and the bias
    between its candidates is `bias[k]`.
    """

    first: IntArray
    sample: IntArray
    node: IntArray
    tokens: Floats
    pairs: Floats
    bias: Floats
    space: FloatArray
    hidden: Floats
    plain: Floats
    parts: Floats
    mixed: Floats
    keys: Floats
    queries: Floats
    values: Floats
    score: Floats
    answer: Floats
    total: Floats
    logit: Floats


@dataclass(frozen=True)
class PrefixPlanner:
    """A prefix network that is ready to plan."""

    config: NetworkConfig
    tensors: Tensors

    predicts_stays = False

    @staticmethod
    def load(config: NetworkConfig, tensors: Mapping[str, Floats]) -> PrefixPlanner:
        """Make one of the tensors of a file."""
        layered = partial(stacked, tensors, layers=config.layers)
        return PrefixPlanner(
            config,
            Tensors(
                embed=turned(tensors, "embed.0.weight"),
                embed_bias=tensors["embed.0.bias"],
                embed_again=turned(tensors, "embed.2.weight"),
                embed_again_bias=tensors["embed.2.bias"],
                pair=tensors["bias.weight"] * config.spatial_encoding,
                pair_bias=tensors["bias.bias"] * config.spatial_encoding,
                norm=layered("norm.weight"),
                norm_bias=layered("norm.bias"),
                into=layered("into.weight"),
                out=layered("out.weight"),
                head_norm=tensors["head.0.weight"],
                head_norm_bias=tensors["head.0.bias"],
                head=tensors["head.1.weight"][0].copy(),
                head_bias=float(tensors["head.1.bias"][0]),
            ),
        )

    def walk(self, tables: Tables, wish: Wish, walks: Walks, halt: Halt) -> None:
        """Build routes until every vehicle is home, at once when halted."""
        size = min(tables.node.shape[1], 1 + self.config.context)
        states = max(1, min(walks.value.shape[1], ROWS // size))
        scratch = self._scratch(states, size)
        promising = min(self.config.promising, size - 1)
        _walk(self.tensors, self.config.clip, promising, tables, wish, scratch, walks, halt)

    def walk_beam(self, tables: Tables, wish: Wish, walks: Walks, beam: Beam, halt: Halt) -> None:
        """Do the same with a beam, which has half as many rows as there are samples."""
        from decost.inference.beam import walk_beam

        size = min(tables.node.shape[1], 1 + self.config.context)
        promising = min(self.config.promising, size - 1)
        scratch = self._scratch(1, size)
        walk_beam(
            self.tensors, self.config.clip, promising, tables, wish, scratch, walks, beam, halt
        )

    def _scratch(self, states: int, size: int) -> Scratch:
        """Make room for so many states of so many candidates each."""
        rows, width, heads = states * size, self.config.width, self.config.heads
        each, wide = width // heads, -(-size // LANES) * LANES

        def floats(*shape: int) -> Floats:
            return np.zeros(shape, dtype=np.float32)

        return Scratch(
            first=np.zeros(states + 1, dtype=np.int64),
            sample=np.zeros(states, dtype=np.int64),
            node=np.zeros(rows, dtype=np.int64),
            tokens=floats(rows, token_features(self.config)),
            pairs=floats(PAIR_FEATURES, size, size),
            bias=floats(states, heads, size, wide),
            space=np.empty((5, size)),
            hidden=floats(rows, width),
            plain=floats(rows, width),
            parts=floats(rows, self.tensors.into.shape[2]),
            mixed=floats(rows, self.tensors.out.shape[1]),
            keys=floats(size, each),
            queries=floats(each, wide),
            values=floats(each, size),
            score=floats(size, wide),
            answer=floats(each, wide),
            total=floats(wide),
            logit=floats(rows),
        )


WARM = 4
"""Position of the square in which nodes are drawn by their probability; in those before it, likely
nodes are drawn more often, which suits long routes."""


@vectors
def _walk(
    tensors: Tensors,
    clip: float,
    promising: int,
    tables: Tables,
    wish: Wish,
    scratch: Scratch,
    walks: Walks,
    halt: Halt,
) -> None:
    """Build the routes of all samples of one instance after another."""
    samples = walks.value.shape[1]
    most = len(scratch.sample)
    for b in range(len(tables.size)):
        network = network_of(tables, b)
        state = begin(tables, b, network, samples, wish)
        # In eight positions, an instance is drawn for as if it were alone.
        random = wish.random.copy() if wish.turning else wish.random
        left = samples
        while left > 0:
            s = 0
            while s < samples:
                count = 0
                while s < samples and count < most:
                    if state.vehicles[s] >= 0:
                        if halt[0] != 0:
                            go_home(tables, b, network, state, s, wish, walks)
                        elif state.many[s] == 1:
                            move(tables, b, network, state, s, 0, NO_SHARE, wish, walks)
                        else:
                            scratch.sample[count] = s
                            position = s * SYMMETRIES // samples if wish.turning else 0
                            show(tensors, tables, b, state, s, position, promising, scratch, count)
                            count += 1
                    s += 1
                if count == 0:
                    continue
                encode(tensors, scratch, count)
                for k in range(count):
                    one, first = scratch.sample[k], scratch.first[k]
                    many = scratch.first[k + 1] - first
                    logit = scratch.logit[first : first + many]
                    node = scratch.node[first : first + many]
                    for c in range(many):
                        logit[c] = clip * np.tanh(logit[c])
                    if len(walks.logits) > 0:
                        for c in range(many):
                            walks.logits[b, one, state.steps[one], node[c]] = logit[c]
                    lots, temperature = random, wish.temperature
                    if wish.turning:
                        position = one * SYMMETRIES // samples
                        lots = random if position > 0 else random[:0]
                        temperature *= position / WARM
                    c = choose(logit, node, many, state.held[one], lots, temperature)
                    move(tables, b, network, state, one, node[c], NO_SHARE, wish, walks)
            left = 0
            for s in range(samples):
                if state.vehicles[s] >= 0:
                    left += 1


@row
def show(
    tensors: Tensors,
    tables: Tables,
    b: int,
    state: State,
    s: int,
    position: int,
    promising: int,
    scratch: Scratch,
    k: int,
) -> None:
    """Write the candidates of a state, and the bias of the attention between them."""
    # Candidates come in the same order whatever else is in the batch: draws depend on it.
    first, size = scratch.first[k], min(scratch.pairs.shape[1], tables.size[b])
    count = describe_state(
        tables,
        b,
        state,
        s,
        position,
        min(promising, size - 1),
        scratch.node[first : first + size],
        scratch.tokens[first : first + size],
        scratch.pairs,
        scratch.space,
    )
    scratch.first[k + 1] = first + count
    pairs, heads = scratch.pairs, scratch.bias.shape[1]
    for head in range(heads):
        forth, back = tensors.pair[head], tensors.pair[heads + head]
        shift = tensors.pair_bias[head] + tensors.pair_bias[heads + head]
        for j in range(count):  # who is looked at
            line = scratch.bias[k, head, j]
            for i in range(count):
                line[i] = shift
            for f in range(PAIR_FEATURES):
                add(back[f], pairs[f, j, :count], line[:count])
                for i in range(count):
                    line[i] += forth[f] * pairs[f, i, j]


@row
def _normalise(plain: Floats, numbers: Floats, scale: Floats, shift: Floats) -> None:
    """Write a row with mean 0 and variance 1, scaled and shifted."""
    width = len(numbers)
    mean = np.float32(0.0)
    for k in range(width):
        mean += numbers[k]
    mean /= np.float32(width)
    square = np.float32(0.0)
    for k in range(width):
        part = numbers[k] - mean
        square += part * part
    spread = np.float32(1.0) / np.sqrt(square / np.float32(width) + np.float32(1e-5))
    for k in range(width):
        plain[k] = (numbers[k] - mean) * spread * scale[k] + shift[k]


@row
def encode(tensors: Tensors, scratch: Scratch, states: int) -> None:
    """Work out the worth of all candidates of some states."""
    rows = scratch.first[states]
    hidden, plain, parts, mixed = scratch.hidden, scratch.plain, scratch.parts, scratch.mixed
    width = hidden.shape[1]
    for i in range(rows):
        copy(tensors.embed_bias, plain[i])
        copy(tensors.embed_again_bias, hidden[i])
    multiply(rows, scratch.tokens, tensors.embed, plain)
    for i in range(rows):
        silu(plain[i])
    multiply(rows, plain, tensors.embed_again, hidden)
    for layer in range(len(tensors.into)):
        for i in range(rows):
            _normalise(plain[i], hidden[i], tensors.norm[layer], tensors.norm_bias[layer])
            parts[i] = 0.0
        multiply(rows, plain, tensors.into[layer], parts)
        for k in range(states):
            _attend(scratch, k)
        for i in range(rows):
            between = mixed[i, width:]
            copy(parts[i, 3 * width :], between)
            silu(between)
        multiply(rows, mixed, tensors.out[layer], hidden)
    for i in range(rows):
        _normalise(plain[i], hidden[i], tensors.head_norm, tensors.head_norm_bias)
        scratch.logit[i] = dot(plain[i], tensors.head) + np.float32(tensors.head_bias)


@row
def _attend(scratch: Scratch, k: int) -> None:
    """Mix the candidates of a state by their attention to one another.

    A row of `score` is about one candidate that is looked at, by all others side by side.
    """
    first = scratch.first[k]
    count = scratch.first[k + 1] - first
    heads, width = scratch.bias.shape[1], scratch.hidden.shape[1]
    each = width // heads
    scale = np.float32(1.0 / math.sqrt(each))
    keys, queries, values = scratch.keys, scratch.queries, scratch.values
    score, answer, total = scratch.score[:count], scratch.answer, scratch.total
    for head in range(heads):
        begins = head * each
        for i in range(count):
            line = scratch.parts[first + i]
            for f in range(each):
                queries[f, i] = scale * line[begins + f]
                keys[i, f] = line[width + begins + f]
                values[f, i] = line[2 * width + begins + f]
            copy(scratch.bias[k, head, i], score[i])
        multiply(count, keys, queries, score)
        total[:] = 1e-30  # no sum may be 0
        for j in range(count):
            line = score[j]
            for i in range(len(total)):
                line[i] = exp(min(line[i], np.float32(60.0)))
                total[i] += line[i]
        for f in range(each):
            answer[f] = 0.0
        multiply(each, values, score, answer)
        for i in range(count):
            part = np.float32(1.0) / total[i]
            for f in range(each):
                scratch.mixed[first + i, begins + f] = part * answer[f, i]
