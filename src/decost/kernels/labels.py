"""Label setting: partial routes as labels (stop, visited stops, time-profit function).

A label stands at a stop with its service still to come: `time` is the earliest start, `value`
the profit collected by then, and its pieces (see `profile`) what a later start would add; `most`
is the value with all of them. It is dropped if another label of the same stop can do all that it
can do, and at least as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.instance import Arrays, FloatArray, IntArray
from decost.kernels.bounds import ARC_EPSILON, Bounds, no_bounds
from decost.kernels.profile import insert, jit, window
from decost.kernels.reduction import Core, reduce_instance

LABELS, PIECES, QUEUED, BEST, EXTENDED = 0, 1, 2, 3, 4
"""Places in `Store.count`."""

DONE, MORE, FULL = 0, 1, 2
"""Answers of `extend_labels`."""

SAMPLES = 16
"""At how many times the bound of one label is taken, at most."""


class Store(NamedTuple):
    """All labels, their pieces, the queue of labels to extend, and the best plan so far.

    The labels of a stop are kept in lists by class of time, each in falling order of `most`,
    linked by `following` from `leading` on.
    """

    node: IntArray
    parent: IntArray
    time: FloatArray
    value: FloatArray
    most: FloatArray
    piece_first: IntArray
    piece_count: IntArray
    visited: IntArray
    following: IntArray
    dead: IntArray
    heap_key: FloatArray
    heap_label: IntArray
    rate: FloatArray
    length: FloatArray
    leading: IntArray
    count: IntArray
    best: FloatArray


@jit
def make_store(core: Core, capacity: int, classes: int) -> Store:
    """Make room for labels, with the empty route as the first of them."""
    count = len(core.stop)
    words = (count + 63) // 64
    pieces = max(4 * capacity, 2 * (count + 1) * (len(core.piece_rate) + 1))
    capacity = max(capacity, 2 * (count + 1))
    store = Store(
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty((capacity, words), dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity),
        np.empty(capacity, dtype=np.int64),
        np.empty(pieces),
        np.empty(pieces),
        np.full((count, classes), -1),
        np.zeros(5, dtype=np.int64),
        np.zeros(1),
    )
    store.node[0] = count
    store.parent[0] = -1
    store.time[0] = store.value[0] = store.most[0] = 0.0
    store.piece_first[0] = store.piece_count[0] = store.dead[0] = 0
    store.visited[0] = 0
    store.count[LABELS] = 1
    store.count[BEST] = -1
    push(store, np.inf, 0)
    return store


@jit
def longer(old: FloatArray) -> FloatArray:
    """Copy an array into one of twice the length."""
    new = np.empty(2 * len(old), dtype=old.dtype)
    new[: len(old)] = old
    return new


@jit
def grow(store: Store) -> Store:
    """Double the room for labels and pieces."""
    visited = np.empty((2 * len(store.node), store.visited.shape[1]), dtype=np.int64)
    visited[: len(store.node)] = store.visited
    return Store(
        longer(store.node),
        longer(store.parent),
        longer(store.time),
        longer(store.value),
        longer(store.most),
        longer(store.piece_first),
        longer(store.piece_count),
        visited,
        longer(store.following),
        longer(store.dead),
        longer(store.heap_key),
        longer(store.heap_label),
        longer(store.rate),
        longer(store.length),
        store.leading,
        store.count,
        store.best,
    )


@jit
def route_of(core: Core, store: Store, label: int) -> IntArray:
    """Stops of the instance on the way to a label, the label's own the last."""
    length = 0
    at = label
    while at > 0:
        length += 1
        at = store.parent[at]
    route = np.empty(length, dtype=np.int64)
    at = label
    while at > 0:
        length -= 1
        route[length] = core.stop[store.node[at]]
        at = store.parent[at]
    return route


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
def lowest_bit(word: int) -> int:
    """Position of the lowest bit that is set."""
    index = 0
    if word & 0xFFFFFFFF == 0:
        index += 32
        word >>= 32
    if word & 0xFFFF == 0:
        index += 16
        word >>= 16
    if word & 0xFF == 0:
        index += 8
        word >>= 8
    if word & 0xF == 0:
        index += 4
        word >>= 4
    if word & 0x3 == 0:
        index += 2
        word >>= 2
    return index + 1 - (word & 1)


@jit
def earns_no_less(
    time: FloatArray,
    value: FloatArray,
    piece_first: IntArray,
    piece_count: IntArray,
    rate: FloatArray,
    length: FloatArray,
    one: int,
    other: int,
    handicap: float,
) -> bool:
    """Whether one label, less a handicap, has no less profit than the other at any time.

    By concavity it is enough to compare at the breakpoints of the other.
    """
    own = value[one] - handicap
    at = piece_first[one]
    end = at + piece_count[one]
    rest = 0.0 if at == end else length[at]
    theirs = value[other]
    step = time[other] - time[one]
    first = piece_first[other]
    pieces = piece_count[other]
    for k in range(pieces + 1):
        while step > 0.0 and at < end:
            part = min(step, rest)
            own += rate[at] * part
            step -= part
            rest -= part
            if rest <= 0.0:
                at += 1
                if at < end:
                    rest = length[at]
        if own < theirs:
            return False
        if k < pieces:
            step = length[first + k]
            theirs += rate[first + k] * step
    return True


@jit
def loss(
    visited: IntArray,
    one: int,
    other: int,
    deadline: FloatArray,
    worth: FloatArray,
    leave: float,
    limit: float,
) -> float:
    """What the other label can still earn at stops that only the one has visited.

    The sum ends when it is over the limit.
    """
    lost = 0.0
    for w in range(visited.shape[1]):
        extra = visited[one, w] & ~visited[other, w]
        while extra != 0:
            k = (w << 6) + lowest_bit(extra)
            extra &= extra - 1
            if leave <= deadline[k]:
                lost += worth[k]
                if lost > limit:
                    return lost
    return lost


@jit
def settle(core: Core, store: Store, new: int, loose: bool, tiny: float) -> bool:
    """Enter a label in its list unless it is dominated; remove those that it dominates.

    One label dominates another of the same stop if it starts no later and earns no less at any
    time, even without what the other can still earn at stops that only the one has visited:
    whatever the other goes on to do, the one can do too, leaving those out. `loose` ignores
    such stops, which is no longer exact.
    """
    time, value, most, visited = store.time, store.value, store.most, store.visited
    first, count = store.piece_first, store.piece_count
    rate, length, following, leading = store.rate, store.length, store.following, store.leading
    node = store.node[new]
    deadline = core.deadline[node]
    worth = core.worth
    stay = core.min_stay[node]
    classes = leading.shape[1]
    width = core.late[node] - core.early[node]
    mine = 0
    if width > 0.0:
        mine = int(classes * (time[new] - core.early[node]) / width)
        mine = max(0, min(classes - 1, mine))
    before = -1
    for c in range(mine + 1):
        before = -1
        label = leading[node, c]
        while label >= 0 and most[label] >= most[new] - tiny:
            if time[label] <= time[new]:
                spare = most[label] - most[new] + tiny
                lost = 0.0
                if not loose:
                    lost = loss(visited, label, new, deadline, worth, time[new] + stay, spare)
                if lost <= spare and earns_no_less(
                    time, value, first, count, rate, length, label, new, lost - tiny
                ):
                    return False
            before = label
            label = following[label]
    if before < 0:
        following[new] = leading[node, mine]
        leading[node, mine] = new
    else:
        following[new] = following[before]
        following[before] = new
    for c in range(mine, classes):
        before = new if c == mine else -1
        label = leading[node, c] if before < 0 else following[before]
        while label >= 0:
            after = following[label]
            spare = most[new] - most[label] + tiny
            dominated = False
            if time[new] <= time[label] and spare >= 0.0:
                lost = 0.0
                if not loose:
                    lost = loss(visited, new, label, deadline, worth, time[label] + stay, spare)
                dominated = lost <= spare and earns_no_less(
                    time, value, first, count, rate, length, new, label, lost - tiny
                )
            if dominated:
                store.dead[label] = 1
                if before < 0:
                    leading[node, c] = after
                else:
                    following[before] = after
            else:
                before = label
            label = after
    return True


@jit
def onward(bounds: Bounds, store: Store, label: int, b: int) -> float:
    """Bound on the penalised profit of a label that starts service in step b or later."""
    node = store.node[label]
    if b >= bounds.best.shape[1]:
        return -np.inf
    to = bounds.successor[node, b]
    if to >= 0 and (store.visited[label, to >> 6] >> (to & 63)) & 1:
        return bounds.second[node, b]
    return bounds.best[node, b]


@jit
def upper_bound(core: Core, bounds: Bounds, store: Store, label: int) -> float:
    """Most that any route through a label can earn in all."""
    node = store.node[label]
    leave = store.time[label] + core.min_stay[node]
    refund = 0.0
    for i in bounds.penalised:
        if i == node or (
            (store.visited[label, i >> 6] >> (i & 63)) & 1 == 0
            and leave <= core.deadline[node, i]
        ):
            refund += bounds.penalty[i]
    time = store.time[label]
    first_step = int(np.floor(time / bounds.step + ARC_EPSILON))
    pieces = store.piece_count[label]
    if pieces == 0:
        return store.value[label] + onward(bounds, store, label, first_step) + refund
    piece = store.piece_first[label]
    end = piece + pieces
    room = 0.0
    for k in range(piece, end):
        room += store.length[k]
    steps = int(np.floor((time + room) / bounds.step + ARC_EPSILON)) - first_step + 1
    samples = min(steps, SAMPLES)
    profit = store.value[label]
    rest = store.length[piece]
    high = -np.inf
    for q in range(samples):
        low = first_step + q * steps // samples
        until = (first_step + (q + 1) * steps // samples) * bounds.step
        if q == samples - 1:
            until = np.inf
        while piece < end and time < until:
            part = min(until - time, rest)
            profit += store.rate[piece] * part
            time += part
            rest -= part
            if rest <= 0.0:
                piece += 1
                if piece < end:
                    rest = store.length[piece]
        high = max(high, profit + onward(bounds, store, label, low))
    return high + refund


@jit
def extend_labels(
    core: Core, bounds: Bounds, store: Store, grain: float, loose: bool, steps: int
) -> int:
    """Extend the labels of the queue, one a step, to all stops that can follow.

    With bounds, the label that promises most comes first, and only those are kept that promise
    more than the best plan so far (by `grain`, of which all profits are multiples); without,
    the earliest comes first.
    """
    count = len(core.stop)
    most_pieces = len(core.piece_rate) + 1
    rate = np.empty(most_pieces)
    length = np.empty(most_pieces)
    new_rate = np.empty(most_pieces)
    new_length = np.empty(most_pieces)
    tiny = 1e-12 * core.full_profit.sum()
    bounded = len(bounds.best) > 0
    progress = max(tiny, grain * (1 - 1e-6))
    for _ in range(steps):
        if store.count[QUEUED] == 0 or (
            bounded and store.heap_key[0] < store.best[0] + progress
        ):
            return DONE
        if store.count[LABELS] + count > len(store.node) or store.count[
            PIECES
        ] + count * most_pieces > len(store.rate):
            return FULL
        label = pop(store)
        if store.dead[label] == 1:
            continue
        store.count[EXTENDED] += 1
        node = store.node[label]
        time = store.time[label]
        value = store.value[label]
        pieces = store.piece_count[label]
        first = store.piece_first[label]
        for k in range(pieces):
            rate[k] = store.rate[first + k]
            length[k] = store.length[first + k]
        room = np.inf
        if node < count:
            time += core.min_stay[node]
            value += core.reward[node]
            for piece in range(core.piece_start[node], core.piece_start[node + 1]):
                insert(rate, length, 0, pieces, core.piece_rate[piece], core.piece_length[piece])
                pieces += 1
            room = core.leave_by[node] - time
            limit = core.budget - time - core.home[node]
            if limit >= -core.slack:
                _, _, kept = window(
                    rate, length, pieces, 0.0, min(limit, room), new_rate, new_length
                )
                if value + kept > store.best[0]:
                    store.best[0] = value + kept
                    store.count[BEST] = label
        for arc in range(core.next_start[node], core.next_start[node + 1]):
            stop = core.next_stop[arc]
            if (store.visited[label, stop >> 6] >> (stop & 63)) & 1:
                continue
            start = time + core.travel[node, stop]
            if start > core.late[stop] + core.slack:
                continue
            wait = max(0.0, core.early[stop] - start)
            start += wait
            new = store.count[LABELS]
            first = store.count[PIECES]
            spent, new_pieces, kept = window(
                rate,
                length,
                pieces,
                min(wait, room),
                min(room - wait, core.late[stop] - start),
                store.rate[first:],
                store.length[first:],
            )
            store.node[new] = stop
            store.parent[new] = label
            store.time[new] = start
            store.value[new] = value + spent
            store.most[new] = value + spent + kept
            store.dead[new] = 0
            for w in range(store.visited.shape[1]):
                store.visited[new, w] = store.visited[label, w]
            store.visited[new, stop >> 6] |= np.int64(1) << (stop & 63)
            store.piece_first[new] = first
            store.piece_count[new] = new_pieces
            key = -start
            if bounded:
                key = upper_bound(core, bounds, store, new)
                if key < store.best[0] + progress:
                    continue
            if settle(core, store, new, loose, tiny):
                store.count[LABELS] += 1
                store.count[PIECES] += new_pieces
                push(store, key, new)
    return MORE


@jit
def solve_small(
    arrays: Arrays, euclidean: bool, limit: int
) -> tuple[int, float, IntArray, int]:
    """Find the best route without bounds, unless that takes more than so many labels."""
    core = reduce_instance(arrays, euclidean)
    if len(core.stop) == 0:
        return DONE, 0.0, np.empty(0, dtype=np.int64), 0
    store = make_store(core, 512, 8)
    bounds = no_bounds()
    while True:
        answer = extend_labels(core, bounds, store, 0.0, False, limit)
        if answer != FULL or store.count[LABELS] > limit:
            break
        store = grow(store)
    return answer, store.best[0], route_of(core, store, store.count[BEST]), store.count[LABELS]
