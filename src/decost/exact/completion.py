"""Upper bounds on what a route can still earn, by label setting from its end.

Labels from the end are those of the mirrored network: routes backwards, of which one is dropped
only if another visits no other stops that its node remembers. So what is left after a node earns
no more than the best of them, whatever came before. These bounds take longer than those on a grid
of times (`bounds`), but rounding is in them only once, and stops that come again only where nodes
forget them.
"""

from __future__ import annotations

import math

import numpy as np

from decost.compiled import jit
from decost.exact.bounds import Bounds
from decost.exact.exact import Ascent, Known, Labels, Problem
from decost.exact.graph import make_graph
from decost.exact.labels import EVERY, LABELS, Store
from decost.exact.pricing import with_arcs
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray
from decost.timeline.network import Network, mirrored
from decost.timeline.profile import best_part
from decost.timeline.steps import Start, serve

STEPS = 800
"""Steps of time for which bounds are kept, and most of the grid for labels from the end."""

PATIENCE = 0.05
"""Seconds for the bounds of these labels at first."""

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


def completion_bounds(
    problem: Problem,
    mirror: Problem,
    penalty: FloatArray,
    least: float,
    memory: float,
    deadline: Deadline,
) -> Bounds | None:
    """Bound what routes earn from each node on, if in all they earn no less than so much.

    `mirror` is the problem backwards; its nodes may forget stops. The penalties are those of the
    grid to begin with. Nothing is returned if time or memory is up.
    """
    steps = min(mirror.grid_steps(), STEPS)
    if mirror.bounds_seconds(steps) > deadline.left:
        return None
    labels = Labels(mirror, Known([], least, math.inf), memory)
    ascent = Ascent(mirror, penalty, least, steps)
    for _ in labels.prove(deadline, ascent, EVERY, PATIENCE):
        pass
    if not labels.done:
        return None
    return bounds_of(problem.network, mirror.network, labels.store, STEPS)


@jit
def bounds_of(network: Network, mirror: Network, store: Store, steps: int) -> Bounds:
    """Make a table of what labels from the end earn, their own nodes included."""
    nodes, node = len(network.node), network.node
    begin, due = node[network.start].open, node[network.end].latest
    step = (due - begin) / steps
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
