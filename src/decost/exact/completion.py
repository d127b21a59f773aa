"""Upper bounds on what a route can still earn, by label setting from its end.

Labels from the end are those of the mirrored network: routes backwards, of which one is dropped
only if another visits no other stops that its node remembers. So what is left after a node earns
no more than the best of them, whatever came before. These bounds take longer than those on a grid
of times (`bounds`), but rounding is in them only once, and stops that come again only where nodes
forget them.

With them, labels from the start show which arcs a route can use that earns enough: where no label
promises that much by way of an arc, the arc can be left out. An arc counts before the label at its
head is compared with others: who dominates it need not have come by the same arc, but goes on by
all arcs that it could take.
"""

from __future__ import annotations

import math

import numpy as np

from decost.compiled import jit
from decost.exact.bounds import Bounds, no_bounds
from decost.exact.exact import Ascent, Known, Labels, Problem
from decost.exact.graph import Graph, make_graph
from decost.exact.labels import (
    EVERY,
    LABELS,
    Store,
    has_visited,
    leave_node,
    look_out,
    promise,
)
from decost.exact.pricing import with_arcs
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray
from decost.timeline.network import Network, mirrored
from decost.timeline.profile import best_part
from decost.timeline.steps import Start, serve

STEPS = 800
"""Steps of time for which bounds are kept, and most of the grid for labels from the end."""

PATIENCE = 0.05
"""Seconds for bounds on the grid."""

FINE = 64
"""At how many times the bound of a label from the start is taken."""

ROUNDING = 1e-6
"""Share of a step by which a time may be rounded up to one."""


def backwards(problem: Problem, arcs: BoolArray, triangle: bool) -> Problem | None:
    """Look at a problem on some arcs from the end of routes; nothing if that loses deadlines."""
    mirror, same = mirrored(problem.network)
    if not same:
        return None
    turned = arcs.T.copy()
    turned[:, mirror.end] = False
    turned[mirror.start] = arcs.any(axis=0)
    return with_arcs(Problem(mirror, make_graph(mirror, triangle)), turned)


def labels_from_end(
    problem: Problem,
    mirror: Problem,
    guide: Bounds,
    least: float,
    memory: float,
    deadline: Deadline,
) -> Store | None:
    """Extend all labels from the end that may be part of routes that earn more than so much.

    `mirror` is the problem backwards. Its labels are guided by bounds on what comes before a node,
    which labels from the start give, and these by `guide`. Nodes may forget stops, those of the
    problem nearly all, so that this is quick. Nothing is returned if time or memory is up.
    """
    store = _every_label(problem, guide, least, memory, deadline)
    if store is None:
        return None
    before = bounds_of(mirror.network, problem.network, store, STEPS, _due(problem))
    return _every_label(mirror, before, least, memory, deadline)


def completion_bounds(
    problem: Problem,
    mirror: Problem,
    penalty: FloatArray,
    least: float,
    memory: float,
    deadline: Deadline,
) -> Bounds | None:
    """Bound what routes earn from each node on, if in all they earn more than so much.

    This is by labels from the end. If stays are fixed, bounds on the grid guide them, with
    penalties to begin with. Nothing is returned if time or memory is up.
    """
    guide = no_bounds()
    if not len(problem.network.pieces):
        steps = min(problem.grid_steps(), STEPS)
        if problem.bounds_seconds(steps) > deadline.left:
            return None
        ascent = Ascent(problem, penalty, least, steps)
        ascent.improve(deadline.child(PATIENCE), least)
        guide = ascent.bounds
    store = labels_from_end(problem, mirror, guide, least, memory, deadline)
    if store is None:
        return None
    return bounds_of(problem.network, mirror.network, store, STEPS, _due(problem))


def _due(problem: Problem) -> float:
    """Give the time when routes have to end, which is 0 backwards."""
    return float(problem.network.node["latest"][problem.network.end])


def _every_label(
    problem: Problem, bounds: Bounds, least: float, memory: float, deadline: Deadline
) -> Store | None:
    """Extend labels that may earn no less than so much, until none can visit fewer stops."""
    graph = problem.graph._replace(price=np.zeros_like(problem.graph.price))
    labels = Labels(problem._replace(graph=graph), Known([], least, math.inf), memory)
    labels.store = labels.store._replace(outlook=np.empty((FINE, 2)))
    labels.extend(bounds, deadline, math.inf, EVERY)
    return labels.store if labels.done else None


def useful_arcs(
    problem: Problem, bounds: Bounds, least: float, memory: float, deadline: Deadline
) -> BoolArray | None:
    """Mark the arcs of routes that earn no less than so much, by bounds from the end.

    The nodes of the problem may forget stops. Nothing is returned if time or memory is up.
    """
    store = _every_label(problem, bounds, least, memory, deadline)
    return None if store is None else passable_arcs(*problem, bounds, store, least)


@jit
def passable_arcs(
    network: Network, graph: Graph, bounds: Bounds, store: Store, least: float
) -> BoolArray:
    """Mark the arcs by which some label promises no less than so much; there are no penalties."""
    nodes = len(network.node)
    marks = np.zeros((nodes, nodes), dtype=np.bool_)
    for label in range(store.counter[LABELS]):
        if store.label[label].dead == 1:
            continue
        node = store.label[label].node
        samples = look_out(store, leave_node(network, store, label))
        for arc in range(graph.first[node], graph.first[node + 1]):
            to = graph.head[arc]
            if not marks[node, to] and not has_visited(store.visited, label, network.stop[to]):
                marks[node, to] = promise(network, bounds, store, label, samples, to) >= least
    return marks


@jit
def bounds_of(network: Network, mirror: Network, store: Store, steps: int, due: float) -> Bounds:
    """Make a table of what labels of the mirrored network earn, their own nodes included.

    Its time t is `due - t` here.
    """
    nodes, node = len(network.node), network.node
    begin = node[network.start].open
    step = (node[network.end].latest - begin) / steps
    if step <= 0.0:
        step = 1.0
    size = steps + 2
    best = np.full((nodes, size), -np.inf)
    second = np.full((nodes, size), -np.inf)
    successor = np.full((nodes, size), np.int64(-1))
    most = 0
    for label in range(store.counter[LABELS]):
        here = store.label[label]
        own = mirror.node[here.node].piece_last - mirror.node[here.node].piece_first
        most = max(most, here.piece_count + own)
    pool = np.empty((most + 1, 2))
    for label in range(store.counter[LABELS]):
        here = store.label[label]
        j = here.node
        if here.dead == 1 or mirror.stop[j] < 0:
            continue
        to = mirror.stop[store.label[here.parent].node]
        for k in range(here.piece_count):
            pool[k, 0] = store.pieces[here.piece_first + k, 0]
            pool[k, 1] = store.pieces[here.piece_first + k, 1]
        start = Start(j, here.time, here.value, here.piece_count, 0.0)
        front = serve(mirror, start, pool, 0)
        last = min(size - 1, int(np.floor((due - front.time - begin) / step + ROUNDING)))
        first = max(0, int(np.floor((node[j].open - begin) / step - ROUNDING)))
        for b in range(first, last + 1):
            left = due - front.time - begin - (b - ROUNDING) * step
            value = front.value + best_part(pool, 0, front.pieces, min(left, front.room))
            if value > best[j, b]:
                if successor[j, b] != to:
                    second[j, b] = best[j, b]
                    successor[j, b] = to
                best[j, b] = value
            elif value > second[j, b] and successor[j, b] != to:
                second[j, b] = value
    for j in range(1, network.alternatives + 1):
        first = max(0, int(np.floor((node[j].open - begin) / step - ROUNDING)))
        for b in range(min(first, size - 1)):
            best[j, b] = best[j, first]
            second[j, b] = second[j, first]
            successor[j, b] = successor[j, first]
    return Bounds(
        begin=begin,
        step=step,
        best=best,
        second=second,
        successor=successor,
        penalty=np.zeros(len(network.number)),
        penalised=np.empty(0, dtype=np.int64),
        root=np.full(1, np.inf),
    )
