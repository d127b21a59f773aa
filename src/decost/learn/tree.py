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
import torch
from torch import Tensor

from decost.compiled import jit, lean
from decost.draws import RandomState, draw
from decost.inference.paper import FIXED, SOFTMAX
from decost.inference.problems import Tables, network_of
from decost.inference.rows import Floats, add, dot, soften
from decost.learn.features import Problems
from decost.learn.network import Lookup
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network
from decost.timeline.stays import profit_of_stay, stays_of_route
from decost.timeline.steps import earliest, travel_time

FREE, SHORTEST, LIMITED = range(3)
"""What decides a predicted stay: the network, its shortest length, or a deadline."""


class Recipe(NamedTuple):
    """How to sample, and the weights of what is to be minimised.

    With `own_stays` the reward of a route is what its predicted stays earn, not the best ones.
    """

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
    own_stays: bool


class Decoder(NamedTuple):
    """Tables of a decoder for a batch, as in `network.Lookup`, or their gradients."""

    score: Floats
    time_score: Floats
    answer: Floats


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
    wide: Floats
    tally: IntArray
    path: IntArray
    route: IntArray
    stays: FloatArray
    pool: FloatArray
    owner: IntArray


class Job(NamedTuple):
    """All that is at hand while one instance after another is sampled.

    `decoders` are those of the routes and of the stays, `slopes` their gradients, `routes` the
    nodes of every sample and `report` the sums that are told in the end.
    """

    nodes: Tables
    clock: FloatArray
    decoders: tuple[Decoder, Decoder]
    slopes: tuple[Decoder, Decoder]
    recipe: Recipe
    random: RandomState
    tree: Tree
    scratch: Scratch
    routes: IntArray
    report: FloatArray


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
    slopes = (Decoder(*map(np.zeros_like, routing)), Decoder(*map(np.zeros_like, staying)))
    nodes = problems.tables
    batch, size = nodes.latest.shape
    steps = size + int(nodes.vehicles.max(initial=1))
    seeds = np.random.SeedSequence(seed).generate_state(max(batch, 1), np.uint64)
    job = Job(
        nodes=nodes,
        clock=np.ascontiguousarray(clock.numpy()),
        decoders=(routing, staying),
        slopes=slopes,
        recipe=recipe,
        random=seeds | np.uint64(1),
        tree=_make_tree(recipe.samples * steps + 1, size, recipe.heads),
        scratch=_make_scratch(size, steps, size * nodes.pieces.shape[2]),
        routes=np.zeros((batch, recipe.samples, steps), dtype=np.int64),
        report=np.zeros(8),
    )
    _harvest(job)
    total = job.report
    total[ENTROPY] /= max(total[CHOICES], 1.0)
    total[SHARE] /= max(total[VISITS], 1.0)
    total[[PROFIT, PTAR]] /= max(batch * recipe.samples, 1)
    total[ROUTES] /= max(batch, 1)
    used = slopes if lookups[1] is not None else slopes[:1]
    gradients = [torch.from_numpy(table) for decoder in used for table in decoder]
    return Harvest(gradients, job.routes, dict(zip(REPORT, total.tolist(), strict=False)))


def _decoder(lookup: Lookup) -> Decoder:
    def array(table: Tensor) -> Floats:
        return np.ascontiguousarray(table.detach().numpy())

    return Decoder(array(lookup.score), array(lookup.time_score), array(lookup.answer))


def _make_tree(most: int, size: int, heads: int) -> Tree:
    """Make room for so many states."""

    def whole(*shape: int) -> IntArray:
        return np.empty((most, *shape), dtype=np.int64)

    def flag(*shape: int) -> BoolArray:
        return np.empty((most, *shape), dtype=np.bool_)

    def single(*shape: int) -> Floats:
        return np.empty((most, *shape), dtype=np.float32)

    return Tree(
        parent=whole(),
        chosen=whole(),
        node=whole(),
        vehicles=whole(),
        samples=whole(),
        done=flag(),
        visited=flag(size),
        time=np.empty(most),
        stay=np.empty(most),
        waits=flag(),
        bound=whole(),
        log_probability=np.empty(most),
        first_child=np.empty(most + 1, dtype=np.int64),
        many=whole(),
        choices=whole(size),
        routing=single(heads, size),
        staying=single(heads, size),
        probability=single(size),
        slope=single(size),
        share=single(size),
        share_slope=single(size),
        profit=np.empty(most),
        credit=np.empty(most),
        stay_pull=np.empty(most),
        time_pull=np.empty(most),
    )


def _make_scratch(size: int, steps: int, pieces: int) -> Scratch:
    return Scratch(
        logit=np.zeros(size),
        pull=np.zeros(size),
        wide=np.zeros(size, dtype=np.float32),
        tally=np.zeros(size, dtype=np.int64),
        path=np.zeros(steps, dtype=np.int64),
        route=np.zeros(steps, dtype=np.int64),
        stays=np.zeros(steps),
        pool=np.empty((pieces, 2)),
        owner=np.empty(pieces, dtype=np.int64),
    )


@jit
def _harvest(job: Job) -> None:
    """Sample every instance, write its routes, and add its gradients and sums to report."""
    nodes = job.nodes
    for b in range(len(nodes.latest)):
        network = network_of(nodes, b)
        total = _grow(job, b, network)
        _reward(job, b, network, total)
        _learn(job, b, total)


@lean
def _grow(job: Job, b: int, network: Network) -> int:
    """Sample the routes of one instance; return how many states there are."""
    nodes, recipe, tree = job.nodes, job.recipe, job.tree
    tally = job.scratch.tally
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
            _decide(job, b, network, state)
            _split(tree, state, tally, job.random[b : b + 1])
            for k in range(tree.many[state]):
                if tally[k] > 0:
                    _enter(job, b, network, state, k, total)
                    total += 1
        state += 1
    tree.first_child[total] = total
    return total


@lean
def _decide(job: Job, b: int, network: Network, state: int) -> None:
    """Find the nodes that can follow a state, and what both decoders say of them."""
    nodes, recipe, tree = job.nodes, job.recipe, job.tree
    place, time, slack = tree.node[state], tree.time[state], nodes.slack[b]
    choices = tree.choices[state]
    choices[0] = 0
    many = 1
    for j in range(1, nodes.size[b]):
        start = earliest(network, place, time, j)
        if start <= nodes.latest[b, j] + slack and not tree.visited[state, j]:
            choices[many] = j
            many += 1
    tree.many[state] = many
    tree.probability[state, 0] = 1.0
    tree.share[state, 0] = 0.0
    if many == 1:
        return
    clock = time / job.clock[b]
    logit, wide = job.scratch.logit, job.scratch.wide
    _attend(job.decoders[0], b, place, clock, choices[:many], tree.routing[state], logit, wide)
    _soften(logit, many, recipe.clip, tree.probability[state], tree.slope[state])
    if recipe.stay_decoder == FIXED:
        return
    _attend(job.decoders[1], b, place, clock, choices[:many], tree.staying[state], logit, wide)
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
    weight: Floats,
    logit: FloatArray,
    wide: Floats,
) -> None:
    """Attend to the choices, and write the compatibility of each (`PaperDecoder.step`)."""
    many = len(choices)
    size = decoder.answer.shape[2]
    wide[:] = 0.0
    for head in range(weight.shape[0]):
        first = head * size
        for k in range(many):
            at = first + choices[k]
            weight[head, k] = decoder.score[b, place, at] + clock * decoder.time_score[b, 0, at]
        soften(weight[head, :many])
        for k in range(many):  # for all nodes: quicker than for the choices alone
            add(weight[head, k], decoder.answer[b, first + choices[k]], wide)
    for k in range(many):
        logit[k] = wide[choices[k]]


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
def _enter(job: Job, b: int, network: Network, state: int, k: int, new: int) -> None:
    """Send some samples to a choice: a new state (`rollout.move`)."""
    nodes, recipe, tree = job.nodes, job.recipe, job.tree
    count = job.scratch.tally[k]
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
    before, leave = tree.node[state], tree.time[state]
    start = earliest(network, before, leave, node)
    share = recipe.stay_share if recipe.stay_decoder == FIXED else tree.share[state, k]
    wish = share * nodes.max_stay[b, node]
    home = nodes.budget[b] - travel_time(network, node, network.end)
    limit = min(nodes.leave_by[b, node], home) - start
    stay = nodes.min_stay[b, node]
    if min(wish, limit) > stay:
        stay = min(wish, limit)
        tree.bound[new] = FREE if wish <= limit else LIMITED
    tree.waits[new] = start > leave + travel_time(network, before, node)
    tree.stay[new] = stay
    tree.time[new] = start + stay


@lean
def _reward(job: Job, b: int, network: Network, total: int) -> None:
    """Find the profit of every distinct route; give all of its states their credit."""
    nodes, recipe, tree = job.nodes, job.recipe, job.tree
    path, routes, report = job.scratch.path, job.routes[b], job.report
    sample = 0
    mean = 0.0
    for leaf in range(total):
        if tree.done[leaf]:
            steps = _path(tree, leaf, path)
            profit = 0.0
            if recipe.repulsive != 0.0 or not recipe.own_stays:
                profit = _optimise(network, tree, job.scratch, steps)
            if recipe.own_stays:
                profit = _spend(job, b, network, leaf, steps)
            tree.profit[leaf] = profit
            mean += tree.samples[leaf] * profit / recipe.samples
            report[ROUTES] += 1.0
            if recipe.repulsive != 0.0:
                _repel(job, b, network, leaf, steps)
            for _ in range(tree.samples[leaf]):
                for step in range(steps):
                    routes[sample, step] = tree.node[path[step]]
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
def _optimise(network: Network, tree: Tree, scratch: Scratch, steps: int) -> float:
    """Find the best stays along a path, vehicle by vehicle; return their profit."""
    profit = 0.0
    first = 0
    for step in range(steps):
        scratch.stays[step] = 0.0
        scratch.route[step] = tree.node[scratch.path[step]]
        if scratch.route[step] == 0:
            earned, _ = stays_of_route(
                network,
                scratch.route[first:step],
                scratch.stays[first:step],
                scratch.pool,
                scratch.owner,
            )
            profit += earned
            first = step + 1
    return profit


@lean
def _spend(job: Job, b: int, network: Network, leaf: int, steps: int) -> float:
    """Add up what the predicted stays of a route earn, and its derivative for each of them."""
    recipe, tree, path = job.recipe, job.tree, job.scratch.path
    factor = recipe.reinforce * tree.samples[leaf] / job.nodes.profit_unit[b]
    profit = 0.0
    for step in range(steps):
        node, state = tree.node[path[step]], path[step]
        if node > 0:
            profit += profit_of_stay(network, node, tree.stay[state])
            tree.stay_pull[state] -= factor * _rate_after(network, node, tree.stay[state])
    return profit


@lean
def _rate_after(network: Network, node: int, stay: float) -> float:
    """Tell what a unit of time adds to a stay at a node."""
    here = network.node[node]
    rest = stay - here.min_stay
    for k in range(here.piece_first, here.piece_last):
        if rest < network.pieces[k, 1]:
            return float(network.pieces[k, 0])
        rest -= network.pieces[k, 1]
    return 0.0


@lean
def _repel(job: Job, b: int, network: Network, leaf: int, steps: int) -> None:
    """Add the pTAR loss of a route (equations 4 and 5), and its derivatives for the stays."""
    nodes, recipe, tree = job.nodes, job.recipe, job.tree
    scratch, report = job.scratch, job.report
    time_unit, profit_unit = nodes.time_unit[b], nodes.profit_unit[b]
    whole = 0.0
    place = 0
    for step in range(steps):
        whole += nodes.travel[b, place, scratch.route[step]] / time_unit
        place = scratch.route[step]
    gap = 0.0
    place = 0
    for step in range(steps):
        node = scratch.route[step]
        way = whole if recipe.ratio_of_sums else nodes.travel[b, place, node] / time_unit
        place = node
        if node > 0 and way > 0.0:
            predicted = profit_of_stay(network, node, tree.stay[scratch.path[step]])
            best = profit_of_stay(network, node, scratch.stays[step])
            gap += (predicted - best) / profit_unit / way
    count = tree.samples[leaf]
    report[PTAR] -= count * gap * gap
    report[LOSS] -= recipe.repulsive * count * gap * gap
    place = 0
    for step in range(steps):
        node, state = scratch.route[step], scratch.path[step]
        way = whole if recipe.ratio_of_sums else nodes.travel[b, place, node] / time_unit
        place = node
        if node > 0 and way > 0.0:
            rate = _rate_after(network, node, tree.stay[state])
            pull = -2.0 * recipe.repulsive * count * gap * rate / profit_unit / way
            tree.stay_pull[state] += pull


@lean
def _learn(job: Job, b: int, total: int) -> None:
    """Go back from the leaves to the start, and add the gradient of every decision."""
    recipe, tree = job.recipe, job.tree
    for state in range(total - 1, -1, -1):
        if tree.done[state]:
            continue
        later = 0.0
        if tree.many[state] > 1:
            _blame(job, state)
            later += _follow(job, b, state, 0, tree.routing[state])
            if recipe.stay_decoder != FIXED and _stretch(job, b, state):
                later += _follow(job, b, state, 1, tree.staying[state])
        if recipe.through_time:
            tree.time_pull[state] = later / job.clock[b] + _delay(tree, state)


@lean
def _blame(job: Job, state: int) -> None:
    """Write the derivative of the loss for the compatibility of every choice."""
    recipe, tree, pull, report = job.recipe, job.tree, job.scratch.pull, job.report
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
def _stretch(job: Job, b: int, state: int) -> bool:
    """Write the derivative of the loss for what the decoder says of the stays, if there is any."""
    nodes, recipe, tree, pull = job.nodes, job.recipe, job.tree, job.scratch.pull
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
def _delay(tree: Tree, state: int) -> float:
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
def _follow(job: Job, b: int, state: int, which: int, weight: Floats) -> float:
    """Add the gradient for a decoder's tables; return the derivative for the time (`_attend`)."""
    tree, pull, felt = job.tree, job.scratch.pull, job.scratch.logit
    decoder, slope = job.decoders[0], job.slopes[0]
    if which == 1:
        decoder, slope = job.decoders[1], job.slopes[1]
    place, many = tree.node[state], tree.many[state]
    clock, choices = tree.time[state] / job.clock[b], tree.choices[state]
    size = decoder.answer.shape[2]
    wide = job.scratch.wide
    wide[:] = 0.0
    for k in range(many):
        wide[choices[k]] = pull[k]
    later = 0.0
    for head in range(weight.shape[0]):
        first = head * size
        mean = 0.0
        for k in range(many):
            part, row = weight[head, k], first + choices[k]
            worth = dot(decoder.answer[b, row], wide)
            add(part, wide, slope.answer[b, row])
            felt[k] = worth
            mean += part * worth
        for k in range(many):
            at = first + choices[k]
            step = weight[head, k] * (felt[k] - mean)
            slope.score[b, place, at] += step
            slope.time_score[b, 0, at] += clock * step
            later += decoder.time_score[b, 0, at] * step
    return later
