"""Label setting: partial routes as labels (node, visited stops, time-profit function).

A label stands at a node with its service still to come: `time` is the earliest start, `value`
the profit collected by then, and its pieces what a later start would add; `most` is the value
with all of them. A label is extended by serving its node and reaching every node that can follow.
It is dropped if another label of the same node dominates it: that one can do all that it can do,
and at least as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Records, as_records, inlined, jit, lean
from decost.exact.bounds import ARC_EPSILON, Bounds, no_bounds
from decost.exact.graph import Graph, make_graph
from decost.problem.instance import Arrays, BoolArray, FloatArray, IntArray
from decost.timeline.network import Network, reduced_network
from decost.timeline.profile import dominates
from decost.timeline.steps import Front, Start, finish, follow, reach, serve, travel_time

LABELS, PIECES, QUEUED, BEST, LEFT = 0, 1, 2, 3, 4
"""Places in `Store.counter`."""

DONE, MORE, FULL = 0, 1, 2
"""Answers of `extend_labels`."""

PROVE, GUESS, EVERY = 0, 1, 2
"""Rules of dominance: for one best route, for a good one soon, for every useful set of stops."""

CAPACITY = 1 << 12
"""Labels that there is room for at first."""

CLASSES = 8
"""Lists by time of the labels of a node, in small problems."""

SAMPLES = 16
"""At how many times the bound of one label is taken, unless its store has room for more."""

LOOKS = 5
"""Power of two: how many nodes where a label might go, or others that it is compared with, are
about as much work as one new label."""

LABEL = np.dtype(
    [
        ("node", np.int64),
        ("parent", np.int64),
        ("time", np.float64),
        ("value", np.float64),
        ("most", np.float64),
        ("whole", np.float64),
        ("piece_first", np.int64),
        ("piece_count", np.int64),
        ("following", np.int64),
        ("dead", np.int64),
    ],
    align=True,
)
"""A label; `whole` is the profit of its route if that ends there, minus infinity if it cannot or
the label was not extended yet, `following` the next label in its list, `dead` whether it is
dominated."""


class Store(NamedTuple):
    """All labels, their pieces, the queue of labels to extend, and the best route so far.

    The labels of a node are kept in lists by class of time, each in falling order of `most`,
    linked by `following` from `leading` on. The visited stops of a label are bits, those that its
    node remembers.
    """

    label: Records  # (label,) of LABEL
    visited: IntArray  # (label, word)
    pieces: FloatArray  # (piece, 2)
    heap_key: FloatArray
    heap_label: IntArray
    leading: IntArray  # (node, class)
    counter: IntArray
    best: FloatArray  # one entry
    scratch: FloatArray  # (piece, 2), for all pieces of a route
    outlook: FloatArray  # (sample, 2), times of leaving a node and the profit before the next one


@jit
def make_store(network: Network, capacity: int, classes: int) -> Store:
    """Make room for labels."""
    most = len(network.pieces) + 1
    return Store(
        label=as_records(np.empty(capacity, LABEL)),
        visited=np.empty((capacity, (len(network.number) + 63) // 64), dtype=np.int64),
        pieces=np.empty((max(4 * capacity, 2 * most), 2)),
        heap_key=np.empty(capacity),
        heap_label=np.empty(capacity, dtype=np.int64),
        leading=np.empty((len(network.node), classes), dtype=np.int64),
        counter=np.zeros(5, dtype=np.int64),
        best=np.zeros(1),
        scratch=np.empty((most, 2)),
        outlook=np.empty((SAMPLES, 2)),
    )


def grow(store: Store) -> Store:
    """Double the room for labels and pieces."""
    label, visited, pieces, heap_key, heap_label = (
        np.concatenate((array, np.empty_like(array))) for array in store[:5]
    )
    return store._replace(
        label=label.view(type(store.label)),
        visited=visited,
        pieces=pieces,
        heap_key=heap_key,
        heap_label=heap_label,
        scratch=np.empty((2 * len(store.scratch), 2)),
    )


@lean
def plant(store: Store, start: Start, visited: IntArray, best: float) -> None:
    """Empty a store but for one label, whose pieces are already in place.

    Wanted are routes that earn more than `best`.
    """
    for k in range(store.leading.shape[0]):
        for c in range(store.leading.shape[1]):
            store.leading[k, c] = -1
    for k in range(len(store.counter)):
        store.counter[k] = 0
    for w in range(len(visited)):
        store.visited[0, w] = visited[w]
    write(store, 0, -1, start)
    store.counter[LABELS] = 1
    store.counter[PIECES] = start.pieces
    store.counter[BEST] = -1
    store.best[0] = best
    push(store, np.inf, 0)


@jit
def plant_root(network: Network, store: Store, best: float) -> None:
    """Empty a store but for the label of the empty route."""
    start = Start(network.start, network.node[network.start].open, 0.0, 0, 0.0)
    plant(store, start, np.zeros(store.visited.shape[1], dtype=np.int64), best)


@lean
def write(store: Store, new: int, parent: int, start: Start) -> None:
    """Write a label, but for its visited stops, whose pieces come next in the store."""
    label = store.label[new]
    label.node = start.node
    label.parent = parent
    label.time = start.time
    label.value = start.value
    label.most = start.value + start.kept
    label.whole = -np.inf
    label.piece_first = store.counter[PIECES]
    label.piece_count = start.pieces
    label.dead = 0


@jit
def route_of(network: Network, store: Store, label: int) -> IntArray:
    """List the nodes on the way to a label, from the first visit to the label's own node."""
    length = 0
    at = label
    while at >= 0 and network.stop[store.label[at].node] >= 0:
        length += 1
        at = store.label[at].parent
    route = np.empty(length, dtype=np.int64)
    at = label
    for k in range(length - 1, -1, -1):
        route[k] = store.label[at].node
        at = store.label[at].parent
    return route


@lean
def push(store: Store, key: float, label: int) -> None:
    """Put a label into the queue."""
    heap_key, heap_label = store.heap_key, store.heap_label
    k = store.counter[QUEUED]
    store.counter[QUEUED] += 1
    while k > 0:
        up = (k - 1) >> 1
        if heap_key[up] >= key:
            break
        heap_key[k] = heap_key[up]
        heap_label[k] = heap_label[up]
        k = up
    heap_key[k] = key
    heap_label[k] = label


@lean
def pop(store: Store) -> None:
    """Take the label with the largest key, the first one, from the queue."""
    heap_key, heap_label = store.heap_key, store.heap_label
    store.counter[QUEUED] -= 1
    size = store.counter[QUEUED]
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


@lean
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


@lean
def has_visited(visited: IntArray, label: int, stop: int) -> bool:
    """Whether a label has visited a stop."""
    return bool((visited[label, stop >> 6] >> (stop & 63)) & 1)


@lean
def loss(
    visited: IntArray,
    one: int,
    other: int,
    graph: Graph,
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
            stop = (w << 6) + lowest_bit(extra)
            extra &= extra - 1
            if leave <= graph.deadline[node, stop]:
                lost += graph.worth[stop]
                if lost > limit:
                    return float(lost)
    return float(lost)


@lean
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
def beats(
    network: Network, graph: Graph, store: Store, one: int, other: int, rule: int, tiny: float
) -> bool:
    """Whether one label dominates another of the same node.

    It does if it starts no later and earns no less at any time, even without what the other can
    still earn at stops that only the one has visited: whatever the other goes on to do, the one
    can do too, leaving those out. The rule `GUESS` ignores such stops, which is no longer exact.

    By the rule `EVERY` it has to visit no stop that the other does not, and to earn no less
    before prices: then its route can take the place of the other's in every plan of a team.
    """
    mine, its = store.label[one], store.label[other]
    spare = mine.most - its.most + tiny
    answer = False
    if mine.time <= its.time and spare >= 0.0:
        lost = 0.0
        if rule == PROVE:
            leave = its.time + network.node[its.node].min_stay
            lost = loss(store.visited, one, other, graph, its.node, leave, spare)
        elif rule == EVERY:
            lost = surplus(store.visited, one, other, graph.price, spare)
        if lost <= spare:
            answer = dominates(
                store.pieces,
                mine.piece_first,
                mine.piece_count,
                mine.time,
                mine.value - (lost - tiny),
                its.piece_first,
                its.piece_count,
                its.time,
                its.value,
            )
    return answer


@inlined
def settle(
    network: Network, graph: Graph, store: Store, new: int, rule: int, tiny: float
) -> tuple[bool, int]:
    """Enter a label in its list unless it is dominated; remove those that it dominates.

    The answer is whether it is entered, and with how many others it was compared.
    """
    label, leading = store.label, store.leading
    node = label[new].node
    most = label[new].most
    classes = leading.shape[1]
    width = network.node[node].latest - network.node[node].open
    mine = 0
    if width > 0.0:
        mine = int(classes * (label[new].time - network.node[node].open) / width)
        mine = max(0, min(classes - 1, mine))
    before = -1
    compared = 0
    for c in range(mine + 1):
        before = -1
        at = leading[node, c]
        while at >= 0 and label[at].most >= most - tiny:
            compared += 1
            if beats(network, graph, store, at, new, rule, tiny):
                return False, compared
            before = at
            at = label[at].following
    if before < 0:
        label[new].following = leading[node, mine]
        leading[node, mine] = new
    else:
        label[new].following = label[before].following
        label[before].following = new
    for c in range(mine, classes):
        before = new if c == mine else -1
        at = leading[node, c] if before < 0 else label[before].following
        while at >= 0:
            compared += 1
            after = label[at].following
            if not beats(network, graph, store, new, at, rule, tiny):
                before = at
            else:
                label[at].dead = 1
                if before < 0:
                    leading[node, c] = after
                else:
                    label[before].following = after
            at = after
    return True, compared


@lean
def onward(bounds: Bounds, store: Store, label: int, b: int) -> float:
    """Bound on the penalised profit of a label that starts service in step b or later."""
    node = store.label[label].node
    if b >= bounds.best.shape[1]:
        return -np.inf
    to = bounds.successor[node, b]
    if to >= 0 and has_visited(store.visited, label, to):
        return float(bounds.second[node, b])
    return float(bounds.best[node, b])


@lean
def upper_bound(network: Network, graph: Graph, bounds: Bounds, store: Store, label: int) -> float:
    """Most that any route through a label can earn in all."""
    here = store.label[label]
    node = here.node
    leave = here.time + network.node[node].min_stay
    refund = 0.0
    for s in bounds.penalised:
        if s == network.stop[node] or (
            not has_visited(store.visited, label, s) and leave <= graph.deadline[node, s]
        ):
            refund += bounds.penalty[s]
    time = here.time - bounds.begin
    first_step = int(np.floor(time / bounds.step + ARC_EPSILON))
    if here.piece_count == 0:
        return float(here.value) + onward(bounds, store, label, first_step) + refund
    piece = here.piece_first
    end = piece + here.piece_count
    room = 0.0
    for k in range(piece, end):
        room += store.pieces[k, 1]
    steps = int(np.floor((time + room) / bounds.step + ARC_EPSILON)) - first_step + 1
    samples = min(steps, len(store.outlook))
    profit = here.value
    rest = store.pieces[piece, 1]
    high = -np.inf
    for q in range(samples):
        low = first_step + q * steps // samples
        until = (first_step + (q + 1) * steps // samples) * bounds.step
        if q == samples - 1:
            until = np.inf
        while piece < end and time < until:
            part = min(until - time, rest)
            profit += store.pieces[piece, 0] * part
            time += part
            rest -= part
            if rest <= 0.0:
                piece += 1
                if piece < end:
                    rest = store.pieces[piece, 1]
        high = max(high, profit + onward(bounds, store, label, low))
    return high + refund


@lean
def look_out(store: Store, front: Front) -> int:
    """Sample the function on leaving a node for `promise`; return the number of samples."""
    outlook, pieces = store.outlook, store.scratch
    samples = len(outlook)
    length = 0.0
    for k in range(front.pieces):
        length += pieces[k, 1]
    length = min(length, front.room)
    if length <= 0.0:
        outlook[0, 0], outlook[0, 1] = front.time, front.value
        return 1
    time, profit = 0.0, front.value
    piece = 0
    rest = pieces[0, 1]
    for q in range(samples):
        outlook[q, 0] = front.time + time
        until = length * (q + 1) / samples if q + 1 < samples else np.inf
        while piece < front.pieces and time < until:
            part = min(until - time, rest)
            profit += pieces[piece, 0] * part
            time += part
            rest -= part
            if rest <= 0.0:
                piece += 1
                if piece < front.pieces:
                    rest = pieces[piece, 1]
        outlook[q, 1] = profit
        time = min(time, length)
    return samples


@lean
def refund_after(network: Network, graph: Graph, bounds: Bounds, store: Store, label: int) -> float:
    """Add up the penalties of the stops that a label can visit after its own."""
    here = store.label[label]
    leave = here.time + network.node[here.node].min_stay - network.slack
    refund = 0.0
    for s in bounds.penalised:
        if leave <= graph.deadline[here.node, s] and not has_visited(store.visited, label, s):
            refund += bounds.penalty[s]
    return refund


@lean
def promise(
    network: Network, bounds: Bounds, store: Store, label: int, samples: int, to: int
) -> float:
    """Bound on the penalised profit of a label that goes on to a node: `upper_bound`, quickly."""
    outlook = store.outlook
    travel = travel_time(network, store.label[label].node, to) - bounds.begin
    size = bounds.best.shape[1]
    high = -np.inf
    for q in range(samples):
        b = int(np.floor((outlook[q, 0] + travel) / bounds.step + ARC_EPSILON))
        if b >= size:
            break
        after = bounds.best[to, b]
        next_stop = bounds.successor[to, b]
        if next_stop >= 0 and has_visited(store.visited, label, next_stop):
            after = bounds.second[to, b]
        high = max(high, outlook[q, 1] + after)
    return high


@lean
def sort_queue(network: Network, graph: Graph, bounds: Bounds, store: Store) -> None:
    """Put the queue in order again after the bounds have changed."""
    size = store.counter[QUEUED]
    store.counter[QUEUED] = 0
    for k in range(size):
        label = store.heap_label[k]
        key = store.heap_key[k]
        if store.label[label].dead == 0:
            if network.stop[store.label[label].node] >= 0:
                key = min(key, upper_bound(network, graph, bounds, store, label))
            push(store, key, label)


@inlined
def leave_node(network: Network, store: Store, label: int) -> Front:
    """Serve the node of a label; the pieces on leaving it are in the scratch."""
    here = store.label[label]
    for k in range(here.piece_count):
        store.scratch[k, 0] = store.pieces[here.piece_first + k, 0]
        store.scratch[k, 1] = store.pieces[here.piece_first + k, 1]
    start = Start(here.node, here.time, here.value, here.piece_count, 0.0)
    return serve(network, start, store.scratch, 0)


@lean
def extend_labels(
    network: Network,
    graph: Graph,
    bounds: Bounds,
    store: Store,
    grain: float,
    rule: int,
    work: int,
    whole: bool,
) -> int:
    """Extend the labels of the queue to all nodes that can follow, about `work` times in all.

    If the `whole` work is to count, what comes to nothing does, too, which may take a thousand
    times longer than the labels that are kept. `LEFT` says how much was not done.

    With bounds, the label that promises most comes first, and only those are kept that promise
    more than the best route so far (by `grain`, of which all profits are multiples); without,
    the earliest comes first. The rule `EVERY` leaves the best route as it was given.
    """
    label, visited, counter, best = store.label, store.visited, store.counter, store.best
    tiny = 0.0
    for i in range(1, network.alternatives + 1):
        tiny += network.node[i].full_profit
    tiny *= 1e-12
    bounded = len(bounds.best) > 0
    progress = max(tiny, grain * (1 - 1e-6))
    while work > 0:
        counter[LEFT] = work
        if counter[QUEUED] == 0 or (bounded and store.heap_key[0] < best[0] + progress):
            return DONE
        old = store.heap_label[0]
        node = label[old].node
        arcs = graph.first[node + 1] - graph.first[node]
        here = network.node[node]
        pieces = label[old].piece_count + here.piece_last - here.piece_first
        if counter[LABELS] + arcs >= len(label):
            return FULL
        if counter[PIECES] + (arcs + 1) * pieces > len(store.pieces):
            return FULL
        if pieces >= len(store.scratch):  # by a route that comes back to stops
            return FULL
        pop(store)
        if label[old].dead == 1:
            continue
        work -= 1 + ((arcs >> LOOKS) if whole else 0)
        front = leave_node(network, store, old)
        if network.stop[node] >= 0:
            profit = finish(network, front, network.end, store.scratch, 0)
            label[old].whole = profit
            if profit > best[0] and rule != EVERY:
                best[0] = profit
                counter[BEST] = old
        samples = 0
        least = -np.inf
        if bounded:
            samples = look_out(store, front)
            least = best[0] + progress - refund_after(network, graph, bounds, store, old)
        for arc in range(graph.first[node], graph.first[node + 1]):
            to = graph.head[arc]
            stop = network.stop[to]
            if has_visited(visited, old, stop):
                continue
            if bounded and promise(network, bounds, store, old, samples, to) < least:
                continue
            start = reach(network, front, to, store.scratch, 0, store.pieces, counter[PIECES])
            if start.time == np.inf:
                continue
            work -= 1 + (front.pieces >> 5)
            new = counter[LABELS]
            write(store, new, old, start)
            for w in range(visited.shape[1]):
                visited[new, w] = visited[old, w] & graph.remembers[to, w]
            visited[new, stop >> 6] |= np.int64(1) << (stop & 63)
            key = -start.time
            if bounded:
                key = upper_bound(network, graph, bounds, store, new)
                if key < best[0] + progress:
                    continue
            entered, compared = settle(network, graph, store, new, rule, tiny)
            work -= (compared >> LOOKS) if whole else 0
            if entered:
                counter[LABELS] += 1
                counter[PIECES] += start.pieces
                push(store, key, new)
    return MORE


class Attempt(NamedTuple):
    """How much is tried without bounds: extensions of labels, and labels."""

    work: int
    room: int


@jit
def try_small(network: Network, graph: Graph, store: Store, work: int) -> int:
    """Extend labels from the start without bounds."""
    plant_root(network, store, 0.0)
    return extend_labels(network, graph, no_bounds(), store, 0.0, PROVE, work, False)


@jit
def solve_small(arrays: Arrays, attempt: Attempt) -> tuple[int, float, IntArray, int]:
    """Find the best route without bounds, if that is enough.

    Returns whether it is `DONE`, the best route's value, its alternatives, and the number of
    labels. All in one kernel: to hand networks, graphs and labels over to Python takes as long as
    to solve.
    """
    network = reduced_network(arrays, np.zeros(0, dtype=np.bool_), True, 0)
    graph = make_graph(network, arrays.triangle)
    store = make_store(network, attempt.room, CLASSES)
    answer = try_small(network, graph, store, attempt.work)
    route = route_of(network, store, store.counter[BEST])
    return answer, store.best[0], network.alternative[route], store.counter[LABELS]


@jit
def values_after(
    network: Network,
    graph: Graph,
    route: IntArray,
    wanted: BoolArray,
    store: Store,
    values: FloatArray,
) -> bool:
    """Write the best total profit of a plan that begins with a route, for every next node wanted.

    Entry 0 is for going to the end. Nodes that are not wanted or cannot follow get minus infinity.
    The answer is false if there was no room for all labels.
    """
    values[:] = -np.inf
    pool = np.empty((len(network.pieces) + 1, 2))
    front = follow(network, route, pool)
    if front.time == np.inf:
        return True
    values[0] = 0.0 if len(route) == 0 else finish(network, front, network.end, pool, 0)
    before = np.zeros((1, store.visited.shape[1]), dtype=np.int64)
    for node in route:
        before[0, network.stop[node] >> 6] |= np.int64(1) << (network.stop[node] & 63)
    bounds = no_bounds()
    for node in range(1, network.alternatives + 1):
        stop = network.stop[node]
        if not wanted[node] or has_visited(before, 0, stop):
            continue
        start = reach(network, front, node, pool, 0, store.pieces, 0)
        if start.time == np.inf:
            continue
        visited = before[0].copy()
        visited[stop >> 6] |= np.int64(1) << (stop & 63)
        plant(store, start, visited, -np.inf)
        if extend_labels(network, graph, bounds, store, 0.0, PROVE, 1 << 60, False) == FULL:
            return False
        values[node] = store.best[0]
    return True
