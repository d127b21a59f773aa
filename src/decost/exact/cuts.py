"""Inequalities that a fractional circuit breaks: it must be one piece.

A share of a circuit is a weight for every edge and every stop. Node 0 is the depot, nodes 1, 2, ...
are stops.
"""

from __future__ import annotations

import numpy as np

from decost.compiled import jit, lean
from decost.problem.instance import BoolArray, FloatArray, IntArray

NOTHING = 1e-9
"""Weight below which an edge is not there."""


@jit
def broken_subtours(
    nodes: int,
    tail: IntArray,
    head: IntArray,
    weight: FloatArray,
    visited: FloatArray,
    least: float,
) -> tuple[BoolArray, IntArray]:
    """Find sets of stops that are left less often than one of their stops is visited, twice.

    A circuit that visits a stop crosses the border of every set that holds it, but not the depot,
    at least twice: x(border of S) >= 2 y(k).

    Parameters
    ----------
    nodes
        How many nodes there are.
    tail, head, weight
        Edges with their weights above 0.
    visited
        By node, how much of it is visited.
    least
        Only sets that are broken by more are told.

    Returns
    -------
    sets, stop
        A row a set, and its stop that is visited most.
    """
    first, other, capacity, twin = _adjacency(nodes, tail, head, weight)
    sides = np.zeros((nodes, nodes), dtype=np.bool_)
    stop = np.zeros(nodes, dtype=np.int64)
    done = np.zeros(nodes, dtype=np.bool_)
    queue, come = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    flow = np.empty(len(capacity))
    count = 0
    for k in np.argsort(-visited[1:]) + 1:
        if done[k] or 2.0 * visited[k] <= least:
            continue
        amount = _largest_flow(
            first, other, capacity, twin, k, 2.0 * visited[k] - least, flow, queue, come
        )
        if amount >= 2.0 * visited[k] - least:
            continue
        size = _towards(first, other, capacity, twin, k, flow, queue, come)
        for j in queue[:size]:
            sides[count, j] = True
            done[j] = True
        stop[count] = k
        count += 1
    return sides[:count], stop[:count]


@jit
def _adjacency(
    nodes: int, tail: IntArray, head: IntArray, weight: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """List the edges at every node: where they lead, their weight and the same edge's other end."""
    first = np.zeros(nodes + 1, dtype=np.int64)
    for e in range(len(tail)):
        first[tail[e] + 1] += 1
        first[head[e] + 1] += 1
    first = np.cumsum(first)
    free = first[:-1].copy()
    other = np.empty(2 * len(tail), dtype=np.int64)
    twin = np.empty(2 * len(tail), dtype=np.int64)
    capacity = np.empty(2 * len(tail))
    for e in range(len(tail)):
        a, b = free[tail[e]], free[head[e]]
        free[tail[e]] += 1
        free[head[e]] += 1
        other[a], other[b] = head[e], tail[e]
        twin[a], twin[b] = b, a
        capacity[a] = capacity[b] = weight[e]
    return first, other, capacity, twin


@lean
def _largest_flow(
    first: IntArray,
    other: IntArray,
    capacity: FloatArray,
    twin: IntArray,
    sink: int,
    enough: float,
    flow: FloatArray,
    queue: IntArray,
    come: IntArray,
) -> float:
    """Send as much as possible from the depot to a node, along shortest ways, or enough."""
    flow[:] = 0.0
    amount = 0.0
    while amount < enough:
        come[:] = -1
        queue[0] = 0
        size, at = 1, 0
        while at < size and come[sink] < 0:
            i = queue[at]
            at += 1
            for e in range(first[i], first[i + 1]):
                j = other[e]
                if j != 0 and come[j] < 0 and capacity[e] - flow[e] > NOTHING:
                    come[j] = e
                    queue[size] = j
                    size += 1
        if come[sink] < 0:
            break
        room, j = np.inf, sink
        while j != 0:
            e = come[j]
            room = min(room, capacity[e] - flow[e])
            j = other[twin[e]]
        j = sink
        while j != 0:
            e = come[j]
            flow[e] += room
            flow[twin[e]] -= room
            j = other[twin[e]]
        amount += room
    return amount


@lean
def _towards(
    first: IntArray,
    other: IntArray,
    capacity: FloatArray,
    twin: IntArray,
    sink: int,
    flow: FloatArray,
    queue: IntArray,
    come: IntArray,
) -> int:
    """List the nodes from where more could be sent to a node, after the largest flow."""
    come[:] = -1
    queue[0] = sink
    come[sink] = 0
    size, at = 1, 0
    while at < size:
        i = queue[at]
        at += 1
        for e in range(first[i], first[i + 1]):
            j, back = other[e], twin[e]
            if come[j] < 0 and capacity[back] - flow[back] > NOTHING:
                come[j] = 0
                queue[size] = j
                size += 1
    return size
