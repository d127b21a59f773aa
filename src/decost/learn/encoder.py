"""The paper's encoder for training on a CPU: forward and backward passes written by hand.

It is `network.PaperLayer`, layer by layer. Matrices are multiplied by torch, in bf16 or float32;
what lies between (softmax with edge bias, sums and instance normalisation, and their
derivatives) is a kernel each instead of dozens of passes over the same numbers. In bf16 kernels
see the bits (uint16) and compute in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
import torch
from numba.extending import overload
from torch import Tensor

from decost.inference.rows import Floats, soften, vectors
from decost.learn.features import Problems
from decost.learn.network import Lookup, PaperDecoder, PaperLayer, PaperNetwork
from decost.problem.instance import IntArray

Table: TypeAlias = Any
"""Numbers of float32, or bf16 as its bits."""

SIXTEEN, ONE, HALF = np.uint32(16), np.uint32(1), np.uint32(0x7FFF)


def encode(network: PaperNetwork, problems: Problems, *, bf16: bool) -> Tensor:
    """Encode as `PaperNetwork.encode` does: (batch, node, width) of float32."""
    nodes, edges, known = network.embedded(problems)
    real = known[..., 0].sum(1).long().numpy()  # (batch,): padding comes last
    kind = torch.bfloat16 if bf16 else torch.float32
    weights: list[Tensor] = []
    for layer in network.layers:
        assert isinstance(layer, PaperLayer)
        edge = nodes.new_zeros(layer.heads) if layer.edge is None else layer.edge
        first, second = layer.first, layer.second
        weights += (edge, layer.into.weight, layer.out.weight, first.scale, first.shift)
        weights += (layer.forth.weight, layer.forth.bias, layer.back.weight)
        weights += (second.scale, second.shift)
    apply: Callable[..., Tensor] = _Encoder.apply
    return apply(nodes, edges, real, kind, *weights)


def look_up(
    network: PaperNetwork, nodes: Tensor, *, bf16: bool, taught: bool = True
) -> tuple[Lookup, Lookup | None]:
    """Work out the decoders' tables as `PaperNetwork.look_up` does.

    `taught` says whether the service-time decoder learns; its tables have no gradient otherwise.
    """
    kind = torch.bfloat16 if bf16 else torch.float32
    if network.staying is None:
        return _tables([network.routing], nodes, kind)[0], None
    if taught:
        routing, staying = _tables([network.routing, network.staying], nodes, kind)
        return routing, staying
    with torch.no_grad():
        (staying,) = _tables([network.staying], nodes, kind)
    return _tables([network.routing], nodes, kind)[0], staying


def _tables(decoders: Sequence[PaperDecoder], nodes: Tensor, kind: torch.dtype) -> list[Lookup]:
    """Work out the tables of some decoders, by one product for all."""
    count, size, width = nodes.shape
    heads = decoders[0].heads
    each = width // heads
    small, smaller = each**-0.5, width**-0.5  # cheaper for weights than for whole tables
    weights: list[Tensor] = []
    biases: list[Tensor] = []
    for decoder in decoders:
        asked: Tensor = smaller * decoder.combine.weight.t()
        bias: Tensor = smaller * decoder.combine.bias
        if decoder.compare is not None:
            asked, bias = asked @ decoder.compare.weight, bias @ decoder.compare.weight
        query = small * decoder.query.weight
        weights += (query, decoder.key.weight, decoder.value.weight, asked)
        biases.append(bias)
    flat = nodes.reshape(-1, width)  # (batch * node, width)
    parts = flat.to(kind) @ torch.cat(weights).to(kind).t()
    parts = parts.view(count, size, 4 * len(decoders), heads, each).permute(2, 0, 3, 1, 4)
    parts = parts.to(torch.float32, memory_format=torch.contiguous_format).contiguous()
    # One by one their derivatives would each be written into zeros as large as all of them.
    split = parts.view(-1, count * heads, size, each).unbind(0)
    bias = (flat @ torch.stack(biases, 1)).view(count, 1, size, -1)  # (batch, 1, node, decoder)
    found = []
    for number, decoder in enumerate(decoders):
        query, key, value, asked = split[4 * number : 4 * number + 4]  # (batch * head, node, each)
        score = (query @ key.transpose(1, 2)).view(count, heads, size, size)
        clock = small * decoder.time_query.view(heads, each, 1)
        time_score = key.view(count, heads, size, each) @ clock
        answer = value @ asked.transpose(1, 2)  # (batch * head, node, node)
        shift = bias[..., number] / heads  # (batch, 1, node): each head's attention sums to 1
        found.append(
            Lookup(
                score.transpose(1, 2).flatten(2),
                time_score.view(count, 1, heads * size),
                answer.view(count, heads * size, size) + shift,
            )
        )
    return found


class Weights(NamedTuple):
    """What a layer multiplies with; biases before a normalisation have no effect at all."""

    edge: Tensor
    into: Tensor
    out: Tensor
    first_scale: Tensor
    first_shift: Tensor
    forth: Tensor
    forth_bias: Tensor
    back: Tensor
    second_scale: Tensor
    second_shift: Tensor

    def lowered(self, first: torch.dtype, kind: torch.dtype) -> Weights:
        """Put matrices into the precision in which they are multiplied."""
        low = {name: getattr(self, name).to(kind) for name in ("out", "forth", "back")}
        return self._replace(into=self.into.to(first), **low)


class Trace(NamedTuple):
    """What the backward pass of a layer needs to know of the forward pass.

    Nodes are rows here, (batch * node, width); `low` is the precision of products.
    """

    weights: Weights
    given: Tensor
    parts: Tensor
    attention: Tensor
    mixed: Tensor
    first: Normal
    hidden: Tensor
    second: Normal


class Normal(NamedTuple):
    """A normalised table: itself in float32 and low precision, before scaling, and its spread."""

    table: Tensor
    low: Tensor
    plain: Tensor
    spread: Tensor


class _Encoder(torch.autograd.Function):
    """All layers of an encoder."""

    @staticmethod
    def forward(
        ctx: Any, nodes: Tensor, edges: Tensor, real: IntArray, kind: torch.dtype, *weights: Tensor
    ) -> Tensor:
        """Encode (batch, node, width)."""
        each = len(Weights._fields)
        known = [table.detach() for table in weights]
        layers = [Weights(*known[k : k + each]) for k in range(0, len(known), each)]
        shape = nodes.shape
        nodes = nodes.detach().reshape(-1, shape[2])  # (batch * node, width)
        given = nodes  # embeddings have much in common, which bf16 would not tell from the rest
        ctx.edges, ctx.real, ctx.traces, ctx.weights = edges, real, [], len(weights)
        for layer in layers:
            trace = _forward(layer, nodes, given, kind, edges, real)
            ctx.traces.append(trace)
            nodes, given = trace.second.table, trace.second.low
        return nodes.view(shape)

    @staticmethod
    def backward(ctx: Any, pull: Tensor) -> Any:
        """Give the derivatives for the nodes and all weights."""
        # An instance of which all samples are equal pulls at nothing, and needs no more work.
        some = pull.flatten(1).any(1).nonzero()[:, 0]  # (instances that pull,)
        if len(some) == 0:
            return (None, None, None, None, *(None for _ in range(ctx.weights)))
        here = pull[some].reshape(-1, pull.shape[2])  # (node, width)
        edges, real = ctx.edges[some], ctx.real[some.numpy()]
        more: Tensor | None = None
        found: list[Tensor] = []
        while ctx.traces:
            trace = ctx.traces.pop()
            if len(some) < len(pull):
                trace = _only(trace, some)
            here, more, weights = _backward(trace, here, more, edges, real)
            found = [*weights, *found]
        if more is not None:
            here = here + more
        result = torch.zeros_like(pull)
        result[some] = here.view(len(some), *pull.shape[1:])
        return (result, None, None, None, *found)


def _forward(
    layer: Weights,
    nodes: Tensor,
    given: Tensor,
    kind: torch.dtype,
    edges: Tensor,
    real: IntArray,
) -> Trace:
    """Apply a layer to nodes; `given` are the same, as precise as they are multiplied."""
    layer = layer.lowered(given.dtype, kind)
    count, size, _ = edges.shape
    heads, each = len(layer.edge), nodes.shape[1] // len(layer.edge)
    parts = (given @ layer.into.t()).view(count, size, 3, heads, each).permute(2, 0, 3, 1, 4)
    parts = _laid_out(parts, torch.float32).view(3, count * heads, size, each)
    attention = parts[0] @ parts[1].transpose(1, 2)  # (batch * head, node, node)
    _attend(attention.numpy(), edges.numpy(), layer.edge.numpy(), real, 1.0 / math.sqrt(each))
    mixed = (attention @ parts[2]).view(count, heads, size, each).transpose(1, 2)
    mixed = _laid_out(mixed, kind).view(nodes.shape)
    first = _normalised(
        nodes, mixed @ layer.out.t(), real, size, layer.first_scale, layer.first_shift
    )
    hidden = torch.addmm(layer.forth_bias.to(kind), first.low, layer.forth.t()).relu_()
    second = _normalised(
        first.table, hidden @ layer.back.t(), real, size, layer.second_scale, layer.second_shift
    )
    return Trace(layer, given, parts, attention, mixed, first, hidden, second)


def _backward(
    trace: Trace, pull: Tensor, more: Tensor | None, edges: Tensor, real: IntArray
) -> tuple[Tensor, Tensor, Weights]:
    """Turn derivatives, the sum of two, for a layer's nodes into those for what it was given."""
    layer, given = trace.weights, trace.given
    count, size, _ = edges.shape
    heads, each = len(layer.edge), pull.shape[1] // len(layer.edge)
    query, key, value = trace.parts

    after = _normalised_back(pull, more, real, size, layer.second_scale, trace.second)
    hidden = after.low @ layer.back  # (batch * node, feed-forward)
    forth_bias = torch.zeros_like(layer.forth_bias)
    _rectify_back(_bits(hidden), _bits(trace.hidden), forth_bias.numpy())
    before = _normalised_back(
        after.pull, hidden @ layer.forth, real, size, layer.first_scale, trace.first
    )

    mixed = (before.low @ layer.out).view(count, size, heads, each).transpose(1, 2)
    mixed = _laid_out(mixed, torch.float32).view(count * heads, size, each)
    score = mixed @ value.transpose(1, 2)  # (batch * head, node, node)
    parts = torch.empty_like(trace.parts)
    torch.bmm(trace.attention.transpose(1, 2), mixed, out=parts[2])
    edge = torch.zeros_like(layer.edge)
    _attend_back(
        trace.attention.numpy(), score.numpy(), edges.numpy(), real, each**-0.5, edge.numpy()
    )
    torch.bmm(score, key, out=parts[0])
    torch.bmm(score.transpose(1, 2), query, out=parts[1])
    parts = parts.view(3, count, heads, size, each).permute(1, 3, 0, 2, 4)
    into = _laid_out(parts, given.dtype).view(count * size, -1)  # (batch * node, 3 * width)
    weights = Weights(
        edge=edge,
        into=(into.t() @ given).float(),
        out=(before.low.t() @ trace.mixed).float(),
        first_scale=before.scale,
        first_shift=before.shift,
        forth=(hidden.t() @ trace.first.low).float(),
        forth_bias=forth_bias,
        back=(after.low.t() @ trace.hidden).float(),
        second_scale=after.scale,
        second_shift=after.shift,
    )
    return before.pull, into @ layer.into, weights


def _only(trace: Trace, some: Tensor) -> Trace:
    """Keep what belongs to some of the instances."""
    count = len(trace.first.spread)

    def rows(table: Tensor) -> Tensor:
        """Pick from tables whose first dimension has as many rows for each instance."""
        return table.view(count, -1, *table.shape[1:])[some].flatten(0, 1)

    def normal(known: Normal) -> Normal:
        return Normal(*map(rows, known))

    return Trace(
        weights=trace.weights,
        given=rows(trace.given),
        parts=torch.stack([rows(part) for part in trace.parts]),
        attention=rows(trace.attention),
        mixed=rows(trace.mixed),
        first=normal(trace.first),
        hidden=rows(trace.hidden),
        second=normal(trace.second),
    )


class Pull(NamedTuple):
    """Derivatives for what went into a normalisation, twice, and for its scale and shift."""

    pull: Tensor
    low: Tensor
    scale: Tensor
    shift: Tensor


def _normalised(
    nodes: Tensor, added: Tensor, real: IntArray, size: int, scale: Tensor, shift: Tensor
) -> Normal:
    """Add two tables and normalise every feature over the nodes of an instance."""
    table, plain, low = torch.empty_like(nodes), torch.empty_like(nodes), torch.empty_like(added)
    spread = nodes.new_empty(len(real), nodes.shape[1])
    _normalise(
        nodes.numpy(),
        _bits(added),
        real,
        size,
        scale.numpy(),
        shift.numpy(),
        table.numpy(),
        _bits(low),
        plain.numpy(),
        spread.numpy(),
    )
    return Normal(table, low, plain, spread)


def _normalised_back(
    pull: Tensor, more: Tensor | None, real: IntArray, size: int, scale: Tensor, normal: Normal
) -> Pull:
    """Turn derivatives, the sum of two, for a normalised table into those for what went in."""
    found = Pull(
        torch.empty_like(pull),
        torch.empty_like(normal.low),
        torch.zeros_like(scale),
        torch.zeros_like(scale),
    )
    _normalise_back(
        pull.numpy(),
        _bits(normal.low[:0] if more is None else more),
        real,
        size,
        scale.numpy(),
        normal.plain.numpy(),
        normal.spread.numpy(),
        found.pull.numpy(),
        _bits(found.low),
        found.scale.numpy(),
        found.shift.numpy(),
    )
    return found


def _laid_out(table: Tensor, kind: torch.dtype) -> Tensor:
    """Copy a table into its own order of dimensions."""
    return torch.empty(table.shape, dtype=kind).copy_(table)


def _bits(table: Tensor) -> Table:
    """Show a table to a kernel."""
    if table.dtype is torch.bfloat16:
        table = table.view(torch.uint16)
    return table.numpy()


def _widened(number: Any) -> Any:
    """Read a number of float32 where there may be the bits of bf16."""
    if isinstance(number, np.uint16):
        return np.uint32(np.uint32(number) << SIXTEEN).view(np.float32)
    return number


@overload(_widened, inline="always", strict=False)
def _widened_in_kernels(number: Any) -> Any:
    if number == numba.uint16:
        return lambda number: np.uint32(np.uint32(number) << SIXTEEN).view(np.float32)
    return lambda number: number


def _write(table: Table, at: int, number: Any) -> None:
    """Write a number of float32, rounded to bf16 where there are bits."""
    if table.dtype == np.uint16:
        code = np.float32(number).view(np.uint32)
        table[at] = np.uint16((code + HALF + ((code >> SIXTEEN) & ONE)) >> SIXTEEN)
    else:
        table[at] = number


@overload(_write, inline="always", strict=False)
def _write_in_kernels(table: Any, at: Any, number: Any) -> Any:
    if table.dtype == numba.uint16:

        def write(table: Table, at: int, number: Any) -> None:
            code = np.float32(number).view(np.uint32)
            table[at] = np.uint16((code + HALF + ((code >> SIXTEEN) & ONE)) >> SIXTEEN)
    else:

        def write(table: Table, at: int, number: Any) -> None:
            table[at] = number

    return write


@vectors
def _attend(score: Floats, edges: Floats, edge: Floats, real: IntArray, scale: float) -> None:
    """Turn products of queries and keys into attention, in place."""
    heads, size = len(edge), score.shape[1]
    factor = np.float32(scale)
    for row in range(len(score)):
        b = row // heads
        bias, many = factor * edge[row % heads], real[b]
        for i in range(many):
            here, ways = score[row, i], edges[b, i]
            for j in range(many):
                here[j] = factor * here[j] + bias * ways[j]
            soften(here[:many])
            here[many:] = 0.0
        score[row, many:size] = 0.0


@vectors
def _attend_back(
    attention: Floats,
    pull: Floats,
    edges: Floats,
    real: IntArray,
    scale: float,
    edge: Floats,
) -> None:
    """Turn derivatives for attention into those for queries times keys, in place, and for edges."""
    heads, size = len(edge), pull.shape[1]
    factor = np.float32(scale)
    for row in range(len(pull)):
        b = row // heads
        many, felt = real[b], np.float32(0.0)
        for i in range(many):
            known, here, ways = attention[row, i], pull[row, i], edges[b, i]
            mean = np.float32(0.0)
            for j in range(many):
                mean += known[j] * here[j]
            for j in range(many):
                here[j] = factor * known[j] * (here[j] - mean)
                felt += here[j] * ways[j]
            here[many:] = 0.0
        pull[row, many:size] = 0.0
        edge[row % heads] += felt


@vectors
def _rectify_back(pull: Table, table: Table, bias: Floats) -> None:
    """Cut off the derivatives of what was cut off, in place, and add up those for the bias."""
    for i in range(len(table)):
        here, known = pull[i], table[i]
        for k in range(len(bias)):
            if known[k] == 0:
                here[k] = 0
        for k in range(len(bias)):
            bias[k] += _widened(here[k])


@vectors
def _normalise(
    nodes: Floats,
    added: Table,
    real: IntArray,
    size: int,
    scale: Floats,
    shift: Floats,
    table: Floats,
    low: Table,
    plain: Floats,
    spread: Floats,
) -> None:
    """Add two tables and normalise every feature over the real nodes of an instance."""
    width = nodes.shape[1]
    mean, square = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    for b in range(len(real)):
        first, last = b * size, b * size + real[b]
        part = np.float32(1.0 / real[b])
        mean[:] = 0.0
        square[:] = 0.0
        for i in range(first, last):
            one, two, write = nodes[i], added[i], plain[i]
            for k in range(width):
                write[k] = one[k] + _widened(two[k])
                mean[k] += write[k] * part
        for i in range(first, last):
            write = plain[i]
            for k in range(width):
                write[k] -= mean[k]
                square[k] += write[k] * write[k]
        rate = spread[b]
        for k in range(width):
            rate[k] = np.float32(1.0) / np.sqrt(square[k] * part + np.float32(1e-5))
        for i in range(first, last):
            write, result, rounded = plain[i], table[i], low[i]
            for k in range(width):
                write[k] *= rate[k]
                result[k] = write[k] * scale[k] + shift[k]
            for k in range(width):
                _write(rounded, k, result[k])
        for i in range(last, first + size):
            rounded = low[i]
            for k in range(width):
                plain[i, k] = 0.0
                table[i, k] = shift[k]
                _write(rounded, k, shift[k])


@vectors
def _normalise_back(
    pull: Floats,
    more: Table,
    real: IntArray,
    size: int,
    scale: Floats,
    plain: Floats,
    spread: Floats,
    found: Floats,
    low: Table,
    scale_pull: Floats,
    shift_pull: Floats,
) -> None:
    """Turn derivatives, the sum of two, for a normalised table into those for what went in."""
    width = pull.shape[1]
    mean, along = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    for b in range(len(real)):
        first, last = b * size, b * size + real[b]
        mean[:] = 0.0
        along[:] = 0.0
        for i in range(first, last):
            write, here, known = found[i], pull[i], plain[i]
            if len(more) > 0:
                other = more[i]
                for k in range(width):
                    write[k] = here[k] + _widened(other[k])
            else:
                for k in range(width):
                    write[k] = here[k]
            for k in range(width):
                mean[k] += write[k]
                along[k] += write[k] * known[k]
        part = np.float32(1.0 / real[b])
        rate = spread[b]
        for k in range(width):
            shift_pull[k] += mean[k]
            scale_pull[k] += along[k]
            mean[k] *= part
            along[k] *= part
        for i in range(first, last):
            write, known, rounded = found[i], plain[i], low[i]
            for k in range(width):
                write[k] = (write[k] - mean[k] - known[k] * along[k]) * (rate[k] * scale[k])
            for k in range(width):
                _write(rounded, k, write[k])
        for i in range(last, first + size):
            found[i] = 0.0
            low[i] = 0
