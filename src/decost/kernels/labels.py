"""Label setting: partial routes as labels (stop, visited stops, time-profit function).

A label stands at a stop with its service still to come: `time` is the earliest start, `value`
the profit collected by then, and its pieces (see `profile`) what a later start would add; `most`
is the value with all of them. It is dropped if another label of the same stop can do all that it
can do, and at least as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.instance import FloatArray, IntArray
from decost.kernels.profile import insert, jit, spend, total, total_length, trim
from decost.kernels.reduction import Core

GROUPS = 64
BUCKETS = 32

LABELS, PIECES, QUEUED, BEST, EXTENDED = 0, 1, 2, 3, 4
"""Places in `Store.count`."""

DONE, MORE, FULL = 0, 1, 2
"""Answers of `extend_labels`."""


class Store(NamedTuple):
    """All labels, their pieces, the queue of labels to extend, and the best plan so far."""

    node: IntArray
    parent: IntArray
    time: FloatArray
    value: FloatArray
    most: FloatArray
    piece_first: IntArray
    piece_count: IntArray
    visited: IntArray
    older: IntArray
    dead: IntArray
    rate: FloatArray
    length: FloatArray
    heap_key: FloatArray
    heap_label: IntArray
    newest: IntArray
    richest: FloatArray
    count: IntArray
    best: FloatArray


class Reach(NamedTuple):
    """Which stops can still be served after leaving a stop, in steps of some stops each.

    Leaving stop j after `until[j, q]`, nothing but `mask[j, q]` can be reached; the entries of
    `until` fall with q.
    """

    until: FloatArray
    mask: IntArray


@jit
def make_reach(core: Core) -> Reach:
    """Group the stops by how late they can still be reached from each stop."""
    count = len(core.stop)
    words = (count + 63) // 64
    groups = min(GROUPS, count)
    until = np.empty((count, groups + 1))
    mask = np.zeros((count, groups + 1, words), dtype=np.int64)
    for j in range(count):
        deadline = core.late - core.shortest[j]
        deadline[j] = -np.inf
        order = np.argsort(-deadline)
        seen = 0
        for group in range(groups):
            first = group * count // groups
            for k in order[seen:first]:
                mask[j, group, k >> 6] |= np.int64(1) << (k & 63)
            if group > 0:
                mask[j, group] |= mask[j, group - 1]
            until[j, group] = deadline[order[first]] + core.slack
            seen = first
        for k in order[seen:]:
            mask[j, groups, k >> 6] |= np.int64(1) << (k & 63)
        mask[j, groups] |= mask[j, groups - 1]
        until[j, groups] = -np.inf
    return Reach(until, mask)


@jit
def dominates(
    store: Store,
    label: int,
    time: float,
    value: float,
    rate: FloatArray,
    length: FloatArray,
    head: int,
    tail: int,
    handicap: float,
) -> bool:
    """Whether a label, less a handicap, earns no less at any time than the function given.

    By concavity it is enough to compare at the breakpoints of the latter.
    """
    own = store.value[label] - handicap
    at = store.piece_first[label]
    end = at + store.piece_count[label]
    rest = 0.0 if at == end else store.length[at]
    step = time - store.time[label]
    k = head
    while True:
        while step > 0.0 and at < end:
            part = min(step, rest)
            own += store.rate[at] * part
            step -= part
            rest -= part
            if rest <= 0.0:
                at += 1
                if at < end:
                    rest = store.length[at]
        if own < value:
            return False
        if k == tail:
            return True
        step = length[k]
        value += rate[k] * length[k]
        k += 1


@jit
def push(store: Store, key: float, label: int) -> None:
    """Put a label into the queue."""
    k = store.count[QUEUED]
    store.count[QUEUED] += 1
    while k > 0:
        up = (k - 1) >> 1
        if store.heap_key[up] >= key:
            break
        store.heap_key[k] = store.heap_key[up]
        store.heap_label[k] = store.heap_label[up]
        k = up
    store.heap_key[k] = key
    store.heap_label[k] = label


@jit
def pop(store: Store) -> int:
    """Take the label with the largest key from the queue."""
    label = store.heap_label[0]
    store.count[QUEUED] -= 1
    size = store.count[QUEUED]
    key = store.heap_key[size]
    moved = store.heap_label[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and store.heap_key[child + 1] > store.heap_key[child]:
            child += 1
        if store.heap_key[child] <= key:
            break
        store.heap_key[k] = store.heap_key[child]
        store.heap_label[k] = store.heap_label[child]
        k = child
    store.heap_key[k] = key
    store.heap_label[k] = moved
    return label


@jit
def offer(
    core: Core,
    reach: Reach,
    store: Store,
    node: int,
    parent: int,
    time: float,
    value: float,
    rate: FloatArray,
    length: FloatArray,
    head: int,
    tail: int,
    visited: IntArray,
    tiny: float,
) -> int:
    """Store a label unless it is dominated; return its number, or -1.

    Labels that it dominates are marked dead.
    """
    words = len(visited)
    most = value + total(rate, length, head, tail)
    leave = time + core.min_stay[node]
    group = 0
    groups = reach.until.shape[1] - 1
    while group < groups and leave <= reach.until[node, group]:
        group += 1
    width = (core.late[node] - core.early[node]) / BUCKETS
    bucket = BUCKETS - 1
    if width > 0.0:
        bucket = max(0, min(BUCKETS - 1, int((time - core.early[node]) / width)))
    for b in range(bucket + 1):
        if store.richest[node, b] < most - tiny:
            continue
        label = store.newest[node, b]
        while label >= 0:
            if store.time[label] <= time and store.most[label] >= most - tiny and store.dead[label] == 0:
                handicap = -tiny
                for w in range(words):
                    extra = store.visited[label, w] & reach.mask[node, group, w] & ~visited[w]
                    base = w << 6
                    while extra != 0:
                        low = extra & -extra
                        k = base + bit_index(low)
                        handicap += core.full_profit[k] if core.skippable[k] == 1 else np.inf
                        extra ^= low
                    if store.most[label] - handicap < most:
                        break
                if store.most[label] - handicap >= most and dominates(
                    store, label, time, value, rate, length, head, tail, handicap
                ):
                    return -1
            label = store.older[label]
    new = store.count[LABELS]
    store.count[LABELS] += 1
    store.node[new] = node
    store.parent[new] = parent
    store.time[new] = time
    store.value[new] = value
    store.most[new] = most
    store.dead[new] = 0
    store.visited[new] = visited
    first = store.count[PIECES]
    store.piece_first[new] = first
    store.piece_count[new] = tail - head
    for k in range(head, tail):
        store.rate[first + k - head] = rate[k]
        store.length[first + k - head] = length[k]
    store.count[PIECES] += tail - head
    store.older[new] = store.newest[node, bucket]
    store.newest[node, bucket] = new
    store.richest[node, bucket] = max(store.richest[node, bucket], most)
    return new


@jit
def bit_index(bit: int) -> int:
    """Position of the only bit that is set."""
    index = 0
    if bit & 0xFFFFFFFF == 0:
        index += 32
    if bit & 0x0000FFFF0000FFFF == 0:
        index += 16
    if bit & 0x00FF00FF00FF00FF == 0:
        index += 8
    if bit & 0x0F0F0F0F0F0F0F0F == 0:
        index += 4
    if bit & 0x3333333333333333 == 0:
        index += 2
    if bit & 0x5555555555555555 == 0:
        index += 1
    return index


@jit
def extend_labels(core: Core, reach: Reach, store: Store, steps: int) -> int:
    """Extend the labels of the queue, one a step, to all stops that can follow."""
    count = len(core.stop)
    most_pieces = len(core.piece_rate) + 1
    rate = np.empty(most_pieces)
    length = np.empty(most_pieces)
    new_rate = np.empty(most_pieces)
    new_length = np.empty(most_pieces)
    visited = np.empty(store.visited.shape[1], dtype=np.int64)
    tiny = 1e-12 * core.full_profit.sum()
    for _ in range(steps):
        if store.count[QUEUED] == 0:
            return DONE
        if (
            store.count[LABELS] + count > len(store.node)
            or store.count[PIECES] + count * most_pieces > len(store.rate)
        ):
            return FULL
        label = pop(store)
        if store.dead[label] == 1:
            continue
        store.count[EXTENDED] += 1
        node = store.node[label]
        time = store.time[label]
        value = store.value[label]
        tail = store.piece_count[label]
        first = store.piece_first[label]
        for k in range(tail):
            rate[k] = store.rate[first + k]
            length[k] = store.length[first + k]
        if node < count:
            time += core.min_stay[node]
            value += core.reward[node]
            for piece in range(core.piece_start[node], core.piece_start[node + 1]):
                insert(rate, length, 0, tail, core.piece_rate[piece], core.piece_length[piece])
                tail += 1
            room = total_length(length, 0, tail)
            tail, room = trim(length, 0, tail, room, core.leave_by[node] - time)
            if time + core.home[node] <= core.budget + core.slack:
                limit = core.budget - time - core.home[node]
                profit = value
                for k in range(tail):
                    part = min(limit, length[k])
                    if part <= 0.0:
                        break
                    profit += rate[k] * part
                    limit -= part
                if profit > store.best[0]:
                    store.best[0] = profit
                    store.count[BEST] = label
        else:
            room = 0.0
        for arc in range(core.next_start[node], core.next_start[node + 1]):
            stop = core.next_stop[arc]
            bit = np.int64(1) << (stop & 63)
            if store.visited[label, stop >> 6] & bit:
                continue
            start = time + core.travel[node, stop]
            if start > core.late[stop] + core.slack:
                continue
            head = 0
            new_tail = tail
            new_value = value
            for k in range(tail):
                new_rate[k] = rate[k]
                new_length[k] = length[k]
            left = room
            wait = core.early[stop] - start
            if wait > 0.0:
                head, gained = spend(new_rate, new_length, 0, tail, wait)
                new_value += gained
                start = core.early[stop]
                left = total_length(new_length, head, tail)
            new_tail, left = trim(new_length, head, tail, left, core.late[stop] - start)
            visited[:] = store.visited[label]
            visited[stop >> 6] |= bit
            new = offer(
                core,
                reach,
                store,
                stop,
                label,
                start,
                new_value,
                new_rate,
                new_length,
                head,
                new_tail,
                visited,
                tiny,
            )
            if new >= 0:
                push(store, -start, new)
    return MORE
