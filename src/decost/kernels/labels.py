"""Label setting: partial routes as labels (stop, visited stops, time-profit function).

A label stands at a stop with its service still to come: `time` is the earliest start, `value`
the profit collected by then, and its pieces (see `profile`) what a later start would add; `most`
is the value with all of them. It is dropped if another label of the same stop can do all that it
can do, and at least as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.kernels.bounds import ARC_EPSILON, Bounds, no_bounds
from decost.kernels.profile import earns_no_less, inlined, jit, merge, prefix, window
from decost.kernels.reduction import Core, reduce_instance
from decost.problem.instance import Arrays, BoolArray, FloatArray, IntArray

LABELS, PIECES, QUEUED, BEST = 0, 1, 2, 3
"""Places in `Store.counter`."""

DONE, MORE, FULL = 0, 1, 2
"""Answers of `extend_labels`."""

PROVE, GUESS, EVERY = 0, 1, 2
"""Rules of `settle`: for one best route, for a good one soon, for every useful set of stops."""

SAMPLES = 16
"""At how many times the bound of one label is taken, at most."""


class Store(NamedTuple):
    """All labels, their pieces, the queue of labels to extend, and the best plan so far.

    The labels of a stop are kept in lists by class of time, each in falling order of `most`,
    linked by `following` from `leading` on. `whole` is the profit of a label's route if it goes
    home from there, minus infinity if it cannot or was not extended yet.
    """

    node: IntArray
    parent: IntArray
    time: FloatArray
    value: FloatArray
    most: FloatArray
    whole: FloatArray
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
    counter: IntArray
    best: FloatArray


@jit
def make_store(core: Core, capacity: int, classes: int) -> Store:
    """Make room for labels."""
    count = len(core.stop)
    words = (count + 63) // 64
    pieces = max(4 * capacity, 2 * (len(core.piece_rate) + 1))
    return Store(
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity),
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
        np.empty((count, classes), dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.zeros(1),
    )


@jit
def plant(store: Store, node: int, time: float, value: float, pieces: int, best: float) -> None:
    """Empty a store but for one label, whose visited stops and pieces are already in place."""
    store.node[0] = node
    store.parent[0] = -1
    store.time[0] = time
    store.value[0] = value
    store.most[0] = value
    store.whole[0] = -np.inf
    store.piece_first[0] = 0
    store.piece_count[0] = pieces
    store.dead[0] = 0
    for k in range(store.leading.shape[0]):
        for c in range(store.leading.shape[1]):
            store.leading[k, c] = -1
    for k in range(len(store.counter)):
        store.counter[k] = 0
    store.counter[LABELS] = 1
    store.counter[PIECES] = pieces
    store.counter[BEST] = -1
    store.best[0] = best
    push(store.heap_key, store.heap_label, store.counter, np.inf, 0)


def grow(store: Store) -> Store:
    """Double the room for labels and pieces."""
    fixed = ("leading", "counter", "best")
    return Store(
        *(
            array if name in fixed else np.concatenate((array, np.empty_like(array)))
            for name, array in store._asdict().items()
        )
    )


@jit
def route_of(core: Core, store: Store, label: int) -> IntArray:
    """List the stops of the instance on the way to a label, the label's own the last."""
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
def push(
    heap_key: FloatArray, heap_label: IntArray, counter: IntArray, key: float, label: int
) -> None:
    """Put a label into the queue."""
    k = counter[QUEUED]
    counter[QUEUED] += 1
    while k > 0:
        up = (k - 1) >> 1
        if heap_key[up] >= key:
            break
        heap_key[k] = heap_key[up]
        heap_label[k] = heap_label[up]
        k = up
    heap_key[k] = key
    heap_label[k] = label


@jit
def pop(heap_key: FloatArray, heap_label: IntArray, counter: IntArray) -> int:
    """Take the label with the largest key from the queue."""
    label = int(heap_label[0])
    counter[QUEUED] -= 1
    size = counter[QUEUED]
    key = heap_key[size]
    moved = heap_label[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap_key[child + 1] > heap_key[child]:
            child += 1
        if heap_key[child] <= key:
            break
        heap_key[k] = heap_key[child]
        heap_label[k] = heap_label[child]
        k = child
    heap_key[k] = key
    heap_label[k] = moved
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
def loss(
    visited: IntArray,
    one: int,
    other: int,
    deadline: FloatArray,
    worth: FloatArray,
    node: int,
    leave: float,
    limit: float,
) -> float:
    """Add up what the other label can still earn at stops that only the one has visited.

    The sum ends when it is over the limit.
    """
    lost = 0.0
    for w in range(visited.shape[1]):
        extra = visited[one, w] & ~visited[other, w]
        while extra != 0:
            k = (w << 6) + lowest_bit(extra)
            extra &= extra - 1
            if leave <= deadline[node, k]:
                lost += worth[k]
                if lost > limit:
                    return float(lost)
    return float(lost)


@jit
def surplus(visited: IntArray, one: int, other: int, price: FloatArray, limit: float) -> float:
    """Add up the prices of the stops that only the other label has visited.

    Infinite if the one has visited any that the other has not. The sum ends when it is over the
    limit.
    """
    for w in range(visited.shape[1]):
        if visited[one, w] & ~visited[other, w] != 0:
            return np.inf
    paid = 0.0
    for w in range(visited.shape[1]):
        extra = visited[other, w] & ~visited[one, w]
        while extra != 0:
            paid += price[(w << 6) + lowest_bit(extra)]
            extra &= extra - 1
            if paid > limit:
                return float(paid)
    return float(paid)


@inlined
def settle(
    time: FloatArray,
    value: FloatArray,
    most: FloatArray,
    visited: IntArray,
    first: IntArray,
    count: IntArray,
    rate: FloatArray,
    length: FloatArray,
    dead: IntArray,
    following: IntArray,
    leading: IntArray,
    deadline: FloatArray,
    worth: FloatArray,
    price: FloatArray,
    stay: float,
    early: float,
    late: float,
    node: int,
    new: int,
    rule: int,
    tiny: float,
) -> bool:
    """Enter a label in its list unless it is dominated; remove those that it dominates.

    One label dominates another of the same stop if it starts no later and earns no less at any
    time, even without what the other can still earn at stops that only the one has visited:
    whatever the other goes on to do, the one can do too, leaving those out. The rule `GUESS`
    ignores such stops, which is no longer exact.

    By the rule `EVERY` it has to visit no stop that the other does not, and to earn no less
    before prices: then its route can take the place of the other's in every plan of a team.
    """
    classes = leading.shape[1]
    width = late - early
    mine = 0
    if width > 0.0:
        mine = int(classes * (time[new] - early) / width)
        mine = max(0, min(classes - 1, mine))
    before = -1
    for c in range(mine + 1):
        before = -1
        label = leading[node, c]
        while label >= 0 and most[label] >= most[new] - tiny:
            if time[label] <= time[new]:
                spare = most[label] - most[new] + tiny
                lost = 0.0
                if rule == PROVE:
                    leave = time[new] + stay
                    lost = loss(visited, label, new, deadline, worth, node, leave, spare)
                elif rule == EVERY:
                    lost = surplus(visited, label, new, price, spare)
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
                if rule == PROVE:
                    lost = loss(
                        visited, new, label, deadline, worth, node, time[label] + stay, spare
                    )
                elif rule == EVERY:
                    lost = surplus(visited, new, label, price, spare)
                dominated = lost <= spare and earns_no_less(
                    time, value, first, count, rate, length, new, label, lost - tiny
                )
            if dominated:
                dead[label] = 1
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
        return float(bounds.second[node, b])
    return float(bounds.best[node, b])


@jit
def upper_bound(core: Core, bounds: Bounds, store: Store, label: int) -> float:
    """Most that any route through a label can earn in all."""
    node = store.node[label]
    leave = store.time[label] + core.min_stay[node]
    refund = 0.0
    for i in bounds.penalised:
        if i == node or (
            (store.visited[label, i >> 6] >> (i & 63)) & 1 == 0 and leave <= core.deadline[node, i]
        ):
            refund += bounds.penalty[i]
    time = store.time[label]
    first_step = int(np.floor(time / bounds.step + ARC_EPSILON))
    pieces = store.piece_count[label]
    if pieces == 0:
        return float(store.value[label] + onward(bounds, store, label, first_step) + refund)
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
    return float(high + refund)


@jit
def promise_anew(core: Core, bounds: Bounds, store: Store) -> None:
    """Put the queue in order again after the bounds have changed."""
    size = store.counter[QUEUED]
    store.counter[QUEUED] = 0
    for k in range(size):
        label = store.heap_label[k]
        key = store.heap_key[k]
        if store.dead[label] == 0:
            if store.node[label] < len(core.stop):
                key = min(key, upper_bound(core, bounds, store, label))
            push(store.heap_key, store.heap_label, store.counter, key, label)


@jit
def extend_labels(
    core: Core, bounds: Bounds, store: Store, grain: float, rule: int, work: int
) -> int:
    """Extend the labels of the queue to all stops that can follow, about `work` times in all.

    With bounds, the label that promises most comes first, and only those are kept that promise
    more than the best plan so far (by `grain`, of which all profits are multiples); without,
    the earliest comes first. The rule `EVERY` leaves the best plan as it was given.
    """
    # Fields are taken out once: counting references to them in the loop would cost more than
    # the work there.
    travel, home, early, late = core.travel, core.home, core.early, core.late
    leave_by, reward, min_stay = core.leave_by, core.reward, core.min_stay
    piece_start, piece_rate, piece_length = core.piece_start, core.piece_rate, core.piece_length
    next_start, next_stop = core.next_start, core.next_stop
    deadline, worth, price = core.deadline, core.worth, core.price
    budget, slack = core.budget, core.slack
    label_node, label_parent, label_dead = store.node, store.parent, store.dead
    label_time, label_value = store.time, store.value
    label_most, label_whole = store.most, store.whole
    label_first, label_pieces, label_visited = store.piece_first, store.piece_count, store.visited
    label_rate, label_length = store.rate, store.length
    following, leading, heap_key, heap_label = (
        store.following,
        store.leading,
        store.heap_key,
        store.heap_label,
    )
    counter, best = store.counter, store.best
    count = len(core.stop)
    most_pieces = len(piece_rate) + 1
    rate = np.empty(most_pieces)
    length = np.empty(most_pieces)
    new_rate = np.empty(most_pieces)
    new_length = np.empty(most_pieces)
    tiny = 1e-12 * core.full_profit.sum()
    bounded = len(bounds.best) > 0
    progress = max(tiny, grain * (1 - 1e-6))
    while work > 0:
        if counter[QUEUED] == 0 or (bounded and heap_key[0] < best[0] + progress):
            return DONE
        label = heap_label[0]
        node = label_node[label]
        pieces = label_pieces[label]
        if node < count:
            pieces += piece_start[node + 1] - piece_start[node]
        arcs = next_start[node + 1] - next_start[node]
        if counter[LABELS] + arcs >= len(label_node) or counter[PIECES] + (arcs + 1) * pieces > len(
            label_rate
        ):
            return FULL
        pop(heap_key, heap_label, counter)
        if label_dead[label] == 1:
            continue
        work -= 1
        time = label_time[label]
        value = label_value[label]
        pieces = label_pieces[label]
        first = label_first[label]
        for k in range(pieces):
            rate[k] = label_rate[first + k]
            length[k] = label_length[first + k]
        room = np.inf
        if node < count:
            time += min_stay[node]
            value += reward[node]
            pieces = merge(
                rate,
                length,
                pieces,
                piece_rate,
                piece_length,
                piece_start[node],
                piece_start[node + 1],
            )
            room = leave_by[node] - time
            limit = budget - time - home[node]
            if limit >= -slack:
                _, _, kept = window(
                    rate, length, pieces, 0.0, min(limit, room), new_rate, new_length
                )
                label_whole[label] = value + kept
                if value + kept > best[0] and rule != EVERY:
                    best[0] = value + kept
                    counter[BEST] = label
        for arc in range(next_start[node], next_start[node + 1]):
            stop = next_stop[arc]
            if (label_visited[label, stop >> 6] >> (stop & 63)) & 1:
                continue
            start = time + travel[node, stop]
            if start > late[stop] + slack:
                continue
            wait = max(0.0, early[stop] - start)
            start += wait
            new = counter[LABELS]
            first = counter[PIECES]
            spent, new_pieces, kept = window(
                rate,
                length,
                pieces,
                min(wait, room),
                min(room - wait, late[stop] - start),
                label_rate[first:],
                label_length[first:],
            )
            work -= 1 + (pieces >> 5)
            label_node[new] = stop
            label_parent[new] = label
            label_time[new] = start
            label_value[new] = value + spent
            label_most[new] = value + spent + kept
            label_whole[new] = -np.inf
            label_dead[new] = 0
            for w in range(label_visited.shape[1]):
                label_visited[new, w] = label_visited[label, w]
            label_visited[new, stop >> 6] |= np.int64(1) << (stop & 63)
            label_first[new] = first
            label_pieces[new] = new_pieces
            key = -start
            if bounded:
                key = upper_bound(core, bounds, store, new)
                if key < best[0] + progress:
                    continue
            if settle(
                label_time,
                label_value,
                label_most,
                label_visited,
                label_first,
                label_pieces,
                label_rate,
                label_length,
                label_dead,
                following,
                leading,
                deadline,
                worth,
                price,
                min_stay[stop],
                early[stop],
                late[stop],
                stop,
                new,
                rule,
                tiny,
            ):
                counter[LABELS] += 1
                counter[PIECES] += new_pieces
                push(heap_key, heap_label, counter, key, new)
    return MORE


@jit
def solve_small(
    arrays: Arrays, euclidean: bool, capacity: int, work: int
) -> tuple[int, float, IntArray, int]:
    """Find the best route without bounds, if so many labels and so much work are enough.

    Returns whether it is `DONE`, the best route's profit, its stops, and the number of labels.
    """
    core = reduce_instance(arrays, euclidean)
    store = make_store(core, capacity, 8)
    for w in range(store.visited.shape[1]):
        store.visited[0, w] = 0
    plant(store, len(core.stop), 0.0, 0.0, 0, 0.0)
    rule = int(np.int64(PROVE))  # a plain constant would compile the callee once more for it
    answer = extend_labels(core, no_bounds(), store, 0.0, rule, work)
    route = route_of(core, store, store.counter[BEST])
    return answer, store.best[0], route, store.counter[LABELS]


@jit
def values_after(
    arrays: Arrays,
    euclidean: bool,
    route: IntArray,
    wanted: BoolArray,
    capacity: int,
    values: FloatArray,
) -> bool:
    """Write the best total profit of a plan that begins with a route, for every next stop wanted.

    Entry 0 is for going home. Stops that are not wanted, cannot follow, or never earn anything
    get minus infinity. The answer is false if there was no room for all labels.
    """
    for k in range(len(values)):
        values[k] = -np.inf
    core = reduce_instance(arrays, euclidean)
    rate = np.empty(len(arrays.piece_rate) + 1)
    length = np.empty(len(arrays.piece_rate) + 1)
    time, value, pieces, room = prefix(arrays, route, rate, length)
    if time == np.inf:
        return True
    store = make_store(core, capacity, 8)
    words = store.visited.shape[1]
    place = 0
    limit = arrays.budget
    if len(route) > 0:
        place = route[-1]
        limit = arrays.budget - time - arrays.travel[place, arrays.end]
    if limit >= -arrays.slack:
        _, _, kept = window(rate, length, pieces, 0.0, min(limit, room), store.rate, store.length)
        values[0] = value + kept
    visited = np.zeros(words, dtype=np.int64)
    for k in range(len(core.stop)):
        for stop in route:
            if core.stop[k] == stop:
                visited[k >> 6] |= np.int64(1) << (k & 63)
    bounds = no_bounds()
    rule = int(np.int64(PROVE))  # as in `solve_small`
    for k in range(len(core.stop)):
        start = time + arrays.travel[place, core.stop[k]]
        if not wanted[core.stop[k]] or (visited[k >> 6] >> (k & 63)) & 1:
            continue
        if start > core.late[k] + core.slack:
            continue
        wait = max(0.0, core.early[k] - start)
        start += wait
        limit = min(room - wait, core.late[k] - start)
        spent, new_pieces, _ = window(
            rate, length, pieces, min(wait, room), limit, store.rate, store.length
        )
        for w in range(words):
            store.visited[0, w] = visited[w]
        store.visited[0, k >> 6] |= np.int64(1) << (k & 63)
        plant(store, k, start, value + spent, new_pieces, -np.inf)
        if extend_labels(core, bounds, store, 0.0, rule, 1 << 60) == FULL:
            return False
        values[core.stop[k]] = store.best[0]
    return True
