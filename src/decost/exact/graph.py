"""The graph for label setting: arcs that some best route may use, and what stops are worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import jit, lean
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.network import Network

BETWEEN = 12
"""How many nodes are tried as the one that always fits between two others."""

MAX_TRIANGLE = 400
"""Above this size a matrix is not searched for short cuts."""


class Graph(NamedTuple):
    """What label setting knows beside the network.

    From node i arcs lead to `head[first[i] : first[i + 1]]`. Who leaves node i after
    `deadline[i, s]` cannot serve stop s. `worth` is the most that a stop can earn, infinite if it
    is a short cut that a route cannot always leave out without being late; `price` what of its
    reward was taken away (nothing here; see `pricing`). Who comes to a node forgets the stops that
    it does not remember, and may visit them again (here it remembers all; see `pricing`).
    """

    first: IntArray  # (node + 1,)
    head: IntArray  # (arc,)
    deadline: FloatArray  # (node, stop)
    worth: FloatArray  # (stop,)
    price: FloatArray  # (stop,)
    remembers: IntArray  # (node, word), bits of stops


@jit
def make_graph(network: Network, triangle: bool) -> Graph:
    """Find the arcs; `triangle` says that travel times obey the triangle inequality."""
    nodes, stops = len(network.node), len(network.number)
    worth = np.zeros(stops)
    for i in range(1, network.alternatives + 1):
        s = network.stop[i]
        worth[s] = max(worth[s], network.node[i].full_profit)
    shortest = np.empty((nodes, nodes))
    for i in range(nodes):
        for j in range(nodes):
            shortest[i, j] = network.travel[network.node[i].place, network.node[j].place]
    if not triangle:
        mark_short_cuts(network, shortest, worth)
    deadline = np.full((nodes, stops), -np.inf)
    for i in range(nodes):
        for j in range(1, network.alternatives + 1):
            s = network.stop[j]
            late = network.node[j].latest - shortest[i, j] + network.slack
            deadline[i, s] = max(deadline[i, s], late)
    first = np.zeros(nodes + 1, dtype=np.int64)
    head = np.empty(nodes * network.alternatives, dtype=np.int64)
    remembers = np.full((nodes, (stops + 63) // 64), np.int64(-1))
    graph = Graph(first, head, deadline, worth, np.zeros(stops), remembers)
    useful_arcs(network, graph)
    return graph


@jit
def useful_arcs(network: Network, graph: Graph) -> None:
    """List for every node those that can follow it in some best route.

    Node j does not follow i if it is out of reach, or if there is always time to serve some k
    between them and still be at j when it opens, k being a stop that can neither come before i
    nor after j.
    """
    node, travel = network.node, network.travel
    arcs = 0
    between = np.empty(BETWEEN, dtype=np.int64)
    served = np.empty(BETWEEN)
    for i in range(len(node)):
        found = find_between(network, graph, i, between, served)
        leave = node[i].open + node[i].min_stay
        for j in range(1, network.alternatives + 1):
            if i == network.end or network.stop[j] == network.stop[i]:
                continue
            if leave + travel[node[i].place, node[j].place] > node[j].latest + network.slack:
                continue
            useful = True
            for b in range(found):
                k = between[b]
                if (
                    network.stop[k] != network.stop[j]
                    and served[b] + travel[node[k].place, node[j].place] <= node[j].open
                    and node[j].open + node[j].min_stay > graph.deadline[j, network.stop[k]]
                ):
                    useful = False
                    break
            if useful:
                graph.head[arcs] = j
                arcs += 1
        graph.first[i + 1] = arcs


@lean
def find_between(
    network: Network, graph: Graph, i: int, between: IntArray, served: FloatArray
) -> int:
    """Find nodes that can be served after i whenever it is left, and never before it.

    Written are those that are served first, and when they are served at the latest. Only stops
    with one alternative are looked for.
    """
    node, travel = network.node, network.travel
    latest = latest_leave(network, i)
    found = 0
    for k in range(1, network.alternatives + 1):
        s = network.stop[k]
        begin = max(latest + travel[node[i].place, node[k].place], node[k].open)
        if k == i or begin > node[k].latest or network.first[s + 1] - network.first[s] > 1:
            continue
        at = network.stop[i]
        if at >= 0 and node[k].open + node[k].min_stay <= graph.deadline[k, at]:
            continue
        end = begin + node[k].min_stay
        if found == BETWEEN and end >= served[BETWEEN - 1]:
            continue
        at = min(found, BETWEEN - 1)
        while at > 0 and served[at - 1] > end:
            served[at] = served[at - 1]
            between[at] = between[at - 1]
            at -= 1
        served[at] = end
        between[at] = k
        found = min(found + 1, BETWEEN)
    return found


@lean
def latest_leave(network: Network, i: int) -> float:
    """Latest end of service at a node that can earn anything; a start is left at once."""
    here = network.node[i]
    if i == network.start:
        return float(here.open)
    last = here.latest + here.min_stay
    for k in range(here.piece_first, here.piece_last):
        last += network.pieces[k, 1]
    return float(min(last, here.leave_by))


@lean
def mark_short_cuts(network: Network, shortest: FloatArray, worth: FloatArray) -> None:
    """Give infinite worth to stops on a way that is shorter than the direct one.

    `shortest`, the direct times between nodes, becomes the matrix of the shortest ways. If there
    are too many nodes to look at, all count as short cuts, and as near as can be.
    """
    count, end = network.alternatives, network.end
    if count > MAX_TRIANGLE:
        worth[:] = np.inf
        shortest[:, 1 : count + 1] = 0.0
        return
    # First all marks, by the direct times: leaving stops out one by one needs no others.
    for k in range(1, count + 1):
        s = network.stop[k]
        for i in range(count + 1):
            through = shortest[i, k] + network.node[k].min_stay + network.slack
            if i == k:
                continue
            if i != network.start and shortest[i, end] > through + shortest[k, end]:
                worth[s] = np.inf
            for j in range(1, count + 1):
                if j != k and i != j and shortest[i, j] > through + shortest[k, j]:
                    worth[s] = np.inf
    for k in range(1, count + 1):
        for i in range(count + 1):
            through = shortest[i, k] + network.node[k].min_stay
            for j in range(1, count + 1):
                if i != k and shortest[i, j] > through + shortest[k, j]:
                    shortest[i, j] = through + shortest[k, j]
