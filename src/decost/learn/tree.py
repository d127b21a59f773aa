"""Sampled routes of a paper network as a tree of distinct prefixes, with their gradients.

Many of an instance's samples begin alike, and a network decides the same from the same state. So
a state is decoded once, with the number of samples that pass through it. That number is split
among the next nodes by as many draws, stage two is solved once for every distinct route, and one
pass back over the tree gives the gradient of the loss for the tables that the decoders look up
(`network.Lookup`). What is left for torch is the encoder.

Samples, loss (equations 2 and 4 to 6) and gradient are those of `rollout` and `losses`, which
follow every sample by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from decost.kernels.profile import jit, lean
from decost.kernels.random import RandomState, draw
from decost.kernels.stays import stays_of_route
from decost.learn.features import Problems
from decost.learn.network import Lookup
from decost.problem.instance import Arrays, BoolArray, FloatArray, IntArray

Floats = npt.NDArray[np.float32]

SIGMOID, SOFTMAX, FIXED = range(3)
STAY_DECODERS = {"sigmoid": SIGMOID, "softmax": SOFTMAX, "fixed": FIXED}

FREE, SHORTEST, LIMITED = range(3)
"""What decides a predicted stay: the network, its shortest length, or a deadline."""


class Recipe(NamedTuple):
    """How to sample, and the weights of what is to be minimised."""

    samples: int
    heads: int
    clip: float
    stay_decoder: int
    stay_share: float
    reinforce: float
    state_baseline: bool
    repulsive: float
    ratio_of_sums: bool
    through_time: bool
    entropy: float


class Decoder(NamedTuple):
    """Tables of a decoder for a batch, as in `network.Lookup`, or their gradients."""

    score: Floats
    time_score: Floats
    answer: Floats


class Nodes(NamedTuple):
    """A batch of problems by instance and node, as in `features.Problems`."""

    travel: FloatArray
    open: FloatArray
    close: FloatArray
    latest: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    max_stay: FloatArray
    rate: FloatArray
    length: FloatArray
    piece_start: IntArray
    budget: FloatArray
    slack: FloatArray
    clock: FloatArray
    time_unit: FloatArray
    profit_unit: FloatArray
    vehicles: IntArray


class Tree(NamedTuple):
    """The states of one instance; a parent comes before its children, who are side by side.

    `node` is where a vehicle is, `time` when it can leave, `samples` how many pass.
    `choices[s, : many[s]]` are the nodes that can follow; `routing` and `staying` are the
    attention of each head to them, `probability` and `share` what the decoders make of it, and
    `slope` and `share_slope` the derivatives of their clipped logits. `chosen` is the number of
    the choice that led to a state, `bound` what decided its stay, and `waits` whether service
    starts with the window. `credit` is the advantage of all samples that pass; `stay_pull` and
    `time_pull` are the derivatives of the loss for stay and time.
    """

    parent: IntArray
    chosen: IntArray
    node: IntArray
    vehicles: IntArray
    samples: IntArray
    done: BoolArray
    visited: BoolArray
    time: FloatArray
    stay: FloatArray
    waits: BoolArray
    bound: IntArray
    log_probability: FloatArray
    first_child: IntArray
    many: IntArray
    choices: IntArray
    routing: Floats
    staying: Floats
    probability: Floats
    slope: Floats
    share: Floats
    share_slope: Floats
    profit: FloatArray
    credit: FloatArray
    stay_pull: FloatArray
    time_pull: FloatArray


class Scratch(NamedTuple):
    """Room for one state's choices and one route's pieces."""

    logit: FloatArray
    pull: FloatArray
    tally: IntArray
    path: IntArray
    route: IntArray
    stays: FloatArray
    rate: FloatArray
    length: FloatArray
    owner: IntArray


REPORT = ("loss", "profit", "entropy", "ptar_loss", "stay_share", "routes")
LOSS, PROFIT, ENTROPY, PTAR, SHARE, ROUTES, CHOICES, VISITS = range(8)


@dataclass(frozen=True)
class Harvest:
    """What came of sampling a batch.

    Attributes
    ----------
    gradients
        Of the loss for the tables of the routing decoder and, if there is one, of the decoder of
        the stays, in the order of `Lookup`.
    nodes
        The routes as in `rollout.Rollout`, (batch, samples, step), equal ones side by side.
    report
        Means: the loss, the profit, the entropy of a choice, the pTAR loss, the share of the
        longest stay that is predicted, and the number of distinct routes.
    """

    gradients: list[Tensor]
    nodes: IntArray
    report: dict[str, float]


def sample_tree(
    problems: Problems,
    lookups: tuple[Lookup, Lookup | None],
    clock: Tensor,
    recipe: Recipe,
    seed: int,
) -> Harvest:
    """Sample routes of every instance, and find the gradient of their loss for the tables."""
    routing = _decoder(lookups[0])
    staying = routing if lookups[1] is None else _decoder(lookups[1])
    decoders = (routing, staying)
    slopes = (Decoder(*map(np.zeros_like, routing)), Decoder(*map(np.zeros_like, staying)))
    nodes = _nodes(problems, clock)
    batch, size = nodes.latest.shape
    steps = size + int(nodes.vehicles.max(initial=1))
    routes = np.zeros((batch, recipe.samples, steps), dtype=np.int64)
    random = np.random.SeedSequence(seed).generate_state(max(batch, 1), np.uint64)
    total = _harvest(nodes, decoders, slopes, recipe, random | np.uint64(1), routes)
    total[ENTROPY] /= max(total[CHOICES], 1.0)
    total[SHARE] /= max(total[VISITS], 1.0)
    total[[PROFIT, PTAR]] /= max(batch * recipe.samples, 1)
    total[ROUTES] /= max(batch, 1)
    used = slopes if lookups[1] is not None else slopes[:1]
    gradients = [torch.from_numpy(table) for decoder in used for table in decoder]
    return Harvest(gradients, routes, dict(zip(REPORT, total.tolist(), strict=False)))


def _decoder(lookup: Lookup) -> Decoder:
    def array(table: Tensor) -> Floats:
        return np.ascontiguousarray(table.detach().numpy())

    return Decoder(array(lookup.score), array(lookup.time_score), array(lookup.answer))


def _nodes(problems: Problems, clock: Tensor) -> Nodes:
    batch, tables = problems.batch, problems.tables
    count, size, pieces = batch.rate.shape
    return Nodes(
        travel=tables.travel,
        open=np.ascontiguousarray(batch.open.numpy()),
        close=np.ascontiguousarray(batch.close.numpy()),
        latest=tables.latest,
        leave_by=tables.leave_by,
        reward=tables.reward,
        min_stay=tables.min_stay,
        max_stay=tables.max_stay,
        rate=tables.rate.reshape(count, size * pieces),
        length=tables.length.reshape(count, size * pieces),
        piece_start=pieces * np.arange(size + 1),
        budget=tables.budget,
        slack=np.ascontiguousarray(problems.slack.numpy()[:, 0]),
        clock=np.ascontiguousarray(clock.numpy()),
        time_unit=tables.time_unit,
        profit_unit=tables.profit_unit,
        vehicles=np.ascontiguousarray(problems.vehicles.numpy()),
    )


@jit
def _harvest(
    nodes: Nodes,
    decoders: tuple[Decoder, Decoder],
    slopes: tuple[Decoder, Decoder],
    recipe: Recipe,
    random: RandomState,
    routes: IntArray,
) -> FloatArray:
    """Sample every instance, write its routes and add its gradients; return sums to report."""
    batch, size = nodes.latest.shape
    steps = routes.shape[2]
    tree = _make_tree(recipe.samples * steps + 1, size, recipe.heads)
    pieces = max(1, nodes.rate.shape[1])
    scratch = Scratch(
        logit=np.zeros(size),
        pull=np.zeros(size),
        tally=np.zeros(size, dtype=np.int64),
        path=np.zeros(steps, dtype=np.int64),
        route=np.zeros(steps, dtype=np.int64),
        stays=np.zeros(steps),
        rate=np.empty(pieces),
        length=np.empty(pieces),
        owner=np.empty(pieces, dtype=np.int64),
    )
    report = np.zeros(8)
    for b in range(batch):
        arrays = Arrays(
            travel=nodes.travel[b],
            open=nodes.open[b],
            close=nodes.close[b],
            leave_by=nodes.leave_by[b],
            reward=nodes.reward[b],
            min_stay=nodes.min_stay[b],
            piece_start=nodes.piece_start,
            piece_rate=nodes.rate[b],
            piece_length=nodes.length[b],
            budget=nodes.budget[b],
            slack=nodes.slack[b],
            end=0,
        )
        total = _grow(nodes, b, decoders, recipe, random[b : b + 1], tree, scratch)
        _reward(nodes, b, arrays, recipe, tree, total, scratch, routes[b], report)
        _learn(nodes, b, decoders, slopes, recipe, tree, total, scratch, report)
    return report


@jit
def _make_tree(most: int, size: int, heads: int) -> Tree:
    return Tree(
        parent=np.empty(most, dtype=np.int64),
        chosen=np.empty(most, dtype=np.int64),
        node=np.empty(most, dtype=np.int64),
        vehicles=np.empty(most, dtype=np.int64),
        samples=np.empty(most, dtype=np.int64),
        done=np.empty(most, dtype=np.bool_),
        visited=np.empty((most, size), dtype=np.bool_),
        time=np.empty(most),
        stay=np.empty(most),
        waits=np.empty(most, dtype=np.bool_),
        bound=np.empty(most, dtype=np.int64),
        log_probability=np.empty(most),
        first_child=np.empty(most + 1, dtype=np.int64),
        many=np.empty(most, dtype=np.int64),
        choices=np.empty((most, size), dtype=np.int64),
        routing=np.empty((most, heads, size), dtype=np.float32),
        staying=np.empty((most, heads, size), dtype=np.float32),
        probability=np.empty((most, size), dtype=np.float32),
        slope=np.empty((most, size), dtype=np.float32),
        share=np.empty((most, size), dtype=np.float32),
        share_slope=np.empty((most, size), dtype=np.float32),
        profit=np.empty(most),
        credit=np.empty(most),
        stay_pull=np.empty(most),
        time_pull=np.empty(most),
    )


@lean
def _grow(
    nodes: Nodes,
    b: int,
    decoders: tuple[Decoder, Decoder],
    recipe: Recipe,
    random: RandomState,
    tree: Tree,
    scratch: Scratch,
) -> int:
    """Sample the routes of one instance; return how many states there are."""
    size = nodes.latest.shape[1]
    tree.parent[0], tree.chosen[0], tree.node[0] = -1, 0, 0
    tree.vehicles[0], tree.samples[0], tree.done[0] = nodes.vehicles[b] - 1, recipe.samples, False
    tree.time[0], tree.stay[0], tree.log_probability[0] = 0.0, 0.0, 0.0
    tree.credit[0] = tree.stay_pull[0] = tree.time_pull[0] = 0.0
    for j in range(size):
        tree.visited[0, j] = nodes.latest[b, j] < nodes.open[b, j] - nodes.slack[b]
    total = 1
    state = 0
    while state < total:
        tree.first_child[state] = total
        if not tree.done[state]:
            _decide(nodes, b, decoders, recipe, tree, state, scratch)
            _split(tree, state, scratch.tally, random)
            for k in range(tree.many[state]):
                if scratch.tally[k] > 0:
                    _enter(nodes, b, recipe, tree, state, k, scratch.tally[k], total)
                    total += 1
        state += 1
    tree.first_child[total] = total
    return total


@lean
def _decide(
    nodes: Nodes,
    b: int,
    decoders: tuple[Decoder, Decoder],
    recipe: Recipe,
    tree: Tree,
    state: int,
    scratch: Scratch,
) -> None:
    """Find the nodes that can follow a state, and what both decoders say of them."""
    place, time, slack = tree.node[state], tree.time[state], nodes.slack[b]
    choices = tree.choices[state]
    choices[0] = 0
    many = 1
    for j in range(1, len(choices)):
        if not tree.visited[state, j]:
            start = max(time + nodes.travel[b, place, j], nodes.open[b, j])
            if start <= nodes.latest[b, j] + slack:
                choices[many] = j
                many += 1
    tree.many[state] = many
    tree.probability[state, 0] = 1.0
    tree.share[state, 0] = 0.0
    if many == 1:
        return
    clock = time / nodes.clock[b]
    logit = scratch.logit
    _attend(decoders[0], b, place, clock, choices, many, tree.routing[state], logit)
    _soften(logit, many, recipe.clip, tree.probability[state], tree.slope[state])
    if recipe.stay_decoder == FIXED:
        return
    _attend(decoders[1], b, place, clock, choices, many, tree.staying[state], logit)
    if recipe.stay_decoder == SOFTMAX:
        _soften(logit, many, recipe.clip, tree.share[state], tree.share_slope[state])
    else:
        for k in range(many):
            tree.share[state, k] = 1.0 / (1.0 + np.exp(-logit[k]))


@lean
def _attend(
    decoder: Decoder,
    b: int,
    place: int,
    clock: float,
    choices: IntArray,
    many: int,
    weight: Floats,
    logit: FloatArray,
) -> None:
    """Attend to the choices, and write the compatibility of each (`PaperDecoder.step`)."""
    size = decoder.answer.shape[2]
    for k in range(many):
        logit[k] = 0.0
    for head in range(weight.shape[0]):
        first = head * size
        top = -np.inf
        for k in range(many):
            at = first + choices[k]
            score = decoder.score[b, place, at] + clock * decoder.time_score[b, 0, at]
            weight[head, k] = score
            top = max(top, score)
        total = 0.0
        for k in range(many):
            part = np.exp(weight[head, k] - top)
            weight[head, k] = part
            total += part
        for k in range(many):
            weight[head, k] /= total
            part = weight[head, k]
            answer = decoder.answer[b, first + choices[k]]
            for other in range(many):
                logit[other] += part * answer[choices[other]]


@lean
def _soften(logit: FloatArray, many: int, clip: float, probability: Floats, slope: Floats) -> None:
    """Clip compatibilities and turn them into probabilities; keep the derivative of clipping."""
    total = 0.0
    for k in range(many):
        squashed = np.tanh(logit[k])
        slope[k] = clip * (1.0 - squashed * squashed)
        part = np.exp(clip * (squashed - 1.0))
        probability[k] = part
        total += part
    for k in range(many):
        probability[k] /= total


@lean
def _split(tree: Tree, state: int, tally: IntArray, random: RandomState) -> None:
    """Let every sample that passes a state choose."""
    many = tree.many[state]
    for k in range(many):
        tally[k] = 0
    if many == 1:
        tally[0] = tree.samples[state]
        return
    for _ in range(tree.samples[state]):
        left = draw(random)
        k = 0
        while k < many - 1 and left >= tree.probability[state, k]:
            left -= tree.probability[state, k]
            k += 1
        while tree.probability[state, k] <= 0.0:
            k -= 1  # rounding went beyond the last that is possible
        tally[k] += 1


@lean
def _enter(
    nodes: Nodes, b: int, recipe: Recipe, tree: Tree, state: int, k: int, count: int, new: int
) -> None:
    """Send some samples to a choice: a new state (`rollout.move`)."""
    node = tree.choices[state, k]
    tree.parent[new], tree.chosen[new], tree.node[new] = state, k, node
    tree.samples[new], tree.vehicles[new] = count, tree.vehicles[state]
    for j in range(tree.visited.shape[1]):
        tree.visited[new, j] = tree.visited[state, j]
    tree.visited[new, node] = True
    tree.log_probability[new] = tree.log_probability[state] + np.log(tree.probability[state, k])
    tree.credit[new] = tree.stay_pull[new] = tree.time_pull[new] = 0.0
    tree.time[new] = tree.stay[new] = 0.0
    tree.waits[new], tree.bound[new], tree.done[new] = False, SHORTEST, False
    if node == 0:
        tree.done[new] = tree.vehicles[state] <= 0
        tree.vehicles[new] -= 1
        return
    arrive = tree.time[state] + nodes.travel[b, tree.node[state], node]
    start = max(arrive, nodes.open[b, node])
    share = recipe.stay_share if recipe.stay_decoder == FIXED else tree.share[state, k]
    wish = share * nodes.max_stay[b, node]
    limit = min(nodes.leave_by[b, node], nodes.budget[b] - nodes.travel[b, node, 0]) - start
    stay = nodes.min_stay[b, node]
    if min(wish, limit) > stay:
        stay = min(wish, limit)
        tree.bound[new] = FREE if wish <= limit else LIMITED
    tree.waits[new] = arrive <= nodes.open[b, node]
    tree.stay[new] = stay
    tree.time[new] = start + stay


@lean
def _reward(
    nodes: Nodes,
    b: int,
    arrays: Arrays,
    recipe: Recipe,
    tree: Tree,
    total: int,
    scratch: Scratch,
    routes: IntArray,
    report: FloatArray,
) -> None:
    """Solve stage two for every distinct route; give all of its states their credit."""
    sample = 0
    mean = 0.0
    for leaf in range(total):
        if tree.done[leaf]:
            steps = _path(tree, leaf, scratch.path)
            profit = _optimise(arrays, tree, scratch, steps)
            tree.profit[leaf] = profit
            mean += tree.samples[leaf] * profit / recipe.samples
            report[ROUTES] += 1.0
            if recipe.repulsive != 0.0:
                _repel(nodes, b, arrays, recipe, tree, leaf, scratch, steps, report)
            for _ in range(tree.samples[leaf]):
                for step in range(steps):
                    routes[sample, step] = tree.node[scratch.path[step]]
                sample += 1
    report[PROFIT] += mean * recipe.samples
    for leaf in range(total):
        if tree.done[leaf]:
            credit = tree.samples[leaf] * (tree.profit[leaf] - mean) / nodes.profit_unit[b]
            report[LOSS] -= recipe.reinforce * credit * tree.log_probability[leaf]
            state = leaf
            while state > 0:
                tree.credit[state] += credit
                longest = nodes.max_stay[b, tree.node[state]]
                if tree.node[state] > 0:
                    share = tree.stay[state] / max(longest, 1e-12)
                    report[SHARE] += tree.samples[leaf] * share
                    report[VISITS] += tree.samples[leaf]
                state = tree.parent[state]


@lean
def _path(tree: Tree, leaf: int, path: IntArray) -> int:
    """List the states that lead from the start to a leaf; return how many there are."""
    steps = 0
    state = leaf
    while state > 0:
        steps += 1
        state = tree.parent[state]
    state = leaf
    for step in range(steps - 1, -1, -1):
        path[step] = state
        state = tree.parent[state]
    return steps


@lean
def _optimise(arrays: Arrays, tree: Tree, scratch: Scratch, steps: int) -> float:
    """Find the best stays along a path, vehicle by vehicle; return their profit."""
    profit = 0.0
    first = 0
    for step in range(steps):
        scratch.stays[step] = 0.0
        scratch.route[step] = tree.node[scratch.path[step]]
        if scratch.route[step] == 0:
            earned, _ = stays_of_route(
                arrays,
                scratch.route[first:step],
                scratch.stays[first:step],
                scratch.rate,
                scratch.length,
                scratch.owner,
            )
            profit += earned
            first = step + 1
    return profit


@lean
def _earned(arrays: Arrays, node: int, stay: float) -> tuple[float, float]:
    """Profit of a stay at a node, and what a longer one adds."""
    profit, rate = arrays.reward[node], 0.0
    rest = stay - arrays.min_stay[node]
    for piece in range(arrays.piece_start[node], arrays.piece_start[node + 1]):
        part = max(0.0, min(rest, arrays.piece_length[piece]))
        profit += arrays.piece_rate[piece] * part
        if 0.0 <= rest < arrays.piece_length[piece]:
            rate = arrays.piece_rate[piece]
        rest -= arrays.piece_length[piece]
    return profit, rate


@lean
def _repel(
    nodes: Nodes,
    b: int,
    arrays: Arrays,
    recipe: Recipe,
    tree: Tree,
    leaf: int,
    scratch: Scratch,
    steps: int,
    report: FloatArray,
) -> None:
    """Add the pTAR loss of a route (equations 4 and 5), and its derivatives for the stays."""
    time_unit, profit_unit = nodes.time_unit[b], nodes.profit_unit[b]
    whole = 0.0
    place = 0
    for step in range(steps):
        whole += arrays.travel[place, scratch.route[step]] / time_unit
        place = scratch.route[step]
    gap = 0.0
    place = 0
    for step in range(steps):
        node = scratch.route[step]
        way = whole if recipe.ratio_of_sums else arrays.travel[place, node] / time_unit
        place = node
        if node > 0 and way > 0.0:
            predicted, _ = _earned(arrays, node, tree.stay[scratch.path[step]])
            best, _ = _earned(arrays, node, scratch.stays[step])
            gap += (predicted - best) / profit_unit / way
    count = tree.samples[leaf]
    report[PTAR] -= count * gap * gap
    report[LOSS] -= recipe.repulsive * count * gap * gap
    place = 0
    for step in range(steps):
        node, state = scratch.route[step], scratch.path[step]
        way = whole if recipe.ratio_of_sums else arrays.travel[place, node] / time_unit
        place = node
        if node > 0 and way > 0.0:
            _, rate = _earned(arrays, node, tree.stay[state])
            pull = -2.0 * recipe.repulsive * count * gap * rate / profit_unit / way
            tree.stay_pull[state] += pull


@lean
def _learn(
    nodes: Nodes,
    b: int,
    decoders: tuple[Decoder, Decoder],
    slopes: tuple[Decoder, Decoder],
    recipe: Recipe,
    tree: Tree,
    total: int,
    scratch: Scratch,
    report: FloatArray,
) -> None:
    """Go back from the leaves to the start, and add the gradient of every decision."""
    pull = scratch.pull
    for state in range(total - 1, -1, -1):
        if tree.done[state]:
            continue
        many, place = tree.many[state], tree.node[state]
        clock = tree.time[state] / nodes.clock[b]
        choices = tree.choices[state]
        later = 0.0
        if many > 1:
            _blame(recipe, tree, state, pull, report)
            later += (
                _follow(
                    decoders[0],
                    slopes[0],
                    b,
                    place,
                    clock,
                    choices,
                    many,
                    tree.routing[state],
                    scratch,
                )
                / nodes.clock[b]
            )
        if (
            recipe.stay_decoder != FIXED
            and many > 1
            and _stretch(nodes, b, recipe, tree, state, pull)
        ):
            later += (
                _follow(
                    decoders[1],
                    slopes[1],
                    b,
                    place,
                    clock,
                    choices,
                    many,
                    tree.staying[state],
                    scratch,
                )
                / nodes.clock[b]
            )
        if recipe.through_time:
            tree.time_pull[state] = later + _delay(recipe, tree, state)


@lean
def _blame(recipe: Recipe, tree: Tree, state: int, pull: FloatArray, report: FloatArray) -> None:
    """Write the derivative of the loss for the compatibility of every choice."""
    many = tree.many[state]
    credit = 0.0
    for k in range(many):
        pull[k] = 0.0
    for child in range(tree.first_child[state], tree.first_child[state + 1]):
        own = tree.credit[child]
        if recipe.state_baseline:
            own = _among_others(tree, state, child)
        pull[tree.chosen[child]] = own
        credit += own
    entropy = 0.0
    for k in range(many):
        probability = tree.probability[state, k]
        if probability > 0.0:
            entropy -= probability * np.log(probability)
    count = tree.samples[state]
    report[ENTROPY] += count * entropy
    report[CHOICES] += count
    report[LOSS] -= recipe.entropy * count * entropy
    for k in range(many):
        probability = tree.probability[state, k]
        slope = recipe.reinforce * (credit * probability - pull[k])
        if recipe.entropy > 0.0 and probability > 0.0:
            slope += recipe.entropy * count * probability * (np.log(probability) + entropy)
        pull[k] = slope * tree.slope[state, k]


@lean
def _among_others(tree: Tree, state: int, child: int) -> float:
    """Credit of a choice, against the other samples that were in the same state.

    Where a sample was alone, it is compared with the others of the last state that it shared.
    """
    shared = state
    while tree.samples[shared] == 1:
        shared = tree.parent[shared]
    here = tree.samples[shared]
    others = here * tree.credit[child] - tree.samples[child] * tree.credit[shared]
    return float(others / (here - 1))


@lean
def _stretch(
    nodes: Nodes, b: int, recipe: Recipe, tree: Tree, state: int, pull: FloatArray
) -> bool:
    """Write the derivative of the loss for what the decoder says of the stays, if there is any."""
    many = tree.many[state]
    some = False
    mean = 0.0
    for k in range(many):
        pull[k] = 0.0
    for child in range(tree.first_child[state], tree.first_child[state + 1]):
        k = tree.chosen[child]
        if tree.bound[child] == FREE:
            wanted = tree.stay_pull[child]
            if recipe.through_time:
                wanted += tree.time_pull[child]
            pull[k] = wanted * nodes.max_stay[b, tree.node[child]]
            mean += pull[k] * tree.share[state, k]
            some = some or pull[k] != 0.0
    for k in range(many):
        share = tree.share[state, k]
        if recipe.stay_decoder == SOFTMAX:
            pull[k] = share * (pull[k] - mean) * tree.share_slope[state, k]
        else:
            pull[k] *= share * (1.0 - share)
    return some


@lean
def _delay(recipe: Recipe, tree: Tree, state: int) -> float:
    """Add up what a later departure does to the loss at the next stops: its derivative."""
    total = 0.0
    for child in range(tree.first_child[state], tree.first_child[state + 1]):
        if tree.node[child] > 0 and not tree.waits[child]:
            if tree.bound[child] == LIMITED:
                total -= tree.stay_pull[child]  # the stay ends when it did
            else:
                total += tree.time_pull[child]
    return total


@lean
def _follow(
    decoder: Decoder,
    slope: Decoder,
    b: int,
    place: int,
    clock: float,
    choices: IntArray,
    many: int,
    weight: Floats,
    scratch: Scratch,
) -> float:
    """Add the gradient for a decoder's tables; return the derivative for the time (`_attend`)."""
    size = decoder.answer.shape[2]
    pull, felt = scratch.pull, scratch.logit
    later = 0.0
    for head in range(weight.shape[0]):
        first = head * size
        mean = 0.0
        for k in range(many):
            part = weight[head, k]
            answer = decoder.answer[b, first + choices[k]]
            answer_slope = slope.answer[b, first + choices[k]]
            worth = 0.0
            for other in range(many):
                node = choices[other]
                worth += answer[node] * pull[other]
                answer_slope[node] += part * pull[other]
            felt[k] = worth
            mean += part * worth
        for k in range(many):
            at = first + choices[k]
            step = weight[head, k] * (felt[k] - mean)
            slope.score[b, place, at] += step
            slope.time_score[b, 0, at] += clock * step
            later += decoder.time_score[b, 0, at] * step
    return later
