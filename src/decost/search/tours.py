"""Long routes of which only the length matters: every move is judged in constant time.

Candidates are near: a stop is inserted beside stops near it, and ways are exchanged for ways
between stops that are near each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Halt, lean
from decost.draws import RandomState, draw
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.lengths import Lengths, way
from decost.timeline.network import Network

SHORT = 24
"""A stop is tried at all places of a route with no more visits than this."""

ENOUGH = 10
"""Visited stops near a stop beside which it is tried."""

CLOSE = 8
"""Stops near a stop to which ways are tried when a route is shortened."""

LONGEST_PART = 3
"""Most visits in a row that are moved together."""


class Tours(NamedTuple):
    """Routes and their lengths.

    Route r is `nodes[r, : size[r] + 2]`: a start, `size[r]` visits, an end. `where` gives the route
    of a stop, -1 if it has none, and `spot` its position there. `spent` is the length of a route, 0
    if it visits nothing, and `limit` what it may be. From position `intact[r]` on, a route may
    have changed since that was set to its end. `queue` is a ring of stops whose ways are to be
    looked at, `queued` marks them.
    """

    kind: IntArray  # (route,)
    nodes: IntArray  # (route, position)
    size: IntArray  # (route,)
    where: IntArray  # (stop,)
    spot: IntArray  # (stop,)
    spent: FloatArray  # (route,)
    limit: FloatArray  # (route,)
    profit: FloatArray  # (route,)
    intact: IntArray  # (route,)
    queue: IntArray  # (stop,)
    queued: IntArray  # (stop,)
    ends: IntArray  # of the queue: first, count


class Place(NamedTuple):
    """Where a stop is inserted: route (-1: nowhere), gap, node, and the time that it takes."""

    route: int
    gap: int
    node: int
    time: float


def make_tours(network: Network, kind: IntArray) -> Tours:
    """Make empty routes of vehicles of some types."""
    vehicles, stops = len(kind), len(network.number)
    nodes = np.zeros((vehicles, stops + 2), dtype=np.int64)
    nodes[:, 0], nodes[:, 1] = network.types["start"][kind], network.types["end"][kind]
    return Tours(
        kind=kind,
        nodes=nodes,
        size=np.zeros(vehicles, dtype=np.int64),
        where=np.full(stops, -1),
        spot=np.zeros(stops, dtype=np.int64),
        spent=np.zeros(vehicles),
        limit=np.zeros(vehicles),
        profit=np.zeros(vehicles),
        intact=np.zeros(vehicles, dtype=np.int64),
        queue=np.zeros(stops, dtype=np.int64),
        queued=np.zeros(stops, dtype=np.int64),
        ends=np.zeros(2, dtype=np.int64),
    )


@lean
def measure(network: Network, lengths: Lengths, tours: Tours, r: int) -> None:
    """Add up the length and the profit of a route, and note where its stops are."""
    size = tours.size[r]
    kind = tours.kind[r]
    spent = profit = 0.0
    for k in range(1, size + 1):
        node = tours.nodes[r, k]
        tours.where[network.stop[node]] = r
        tours.spot[network.stop[node]] = k
        spent += way(lengths, kind, tours.nodes[r, k - 1], node) + lengths.stay[node]
        profit += lengths.reward[node]
    if size > 0:
        spent += way(lengths, kind, tours.nodes[r, size], tours.nodes[r, size + 1])
    tours.spent[r], tours.profit[r] = spent, profit


@lean
def number_from(network: Network, tours: Tours, r: int, first: int) -> None:
    """Note where the stops of a route are from a position on."""
    tours.intact[r] = min(tours.intact[r], first)
    for k in range(first, tours.size[r] + 1):
        stop = network.stop[tours.nodes[r, k]]
        tours.spot[stop] = k
        tours.where[stop] = r


@lean
def enqueue(network: Network, tours: Tours, node: int) -> None:
    """Let the ways of a stop be looked at."""
    stop = network.stop[node]
    if stop >= 0 and not tours.queued[stop]:
        tours.queued[stop] = 1
        tours.queue[(tours.ends[0] + tours.ends[1]) % len(tours.queue)] = stop
        tours.ends[1] += 1


@lean
def time_for(lengths: Lengths, tours: Tours, r: int, k: int, node: int) -> float:
    """Time that a visit in gap k of a route takes; infinite if there is not so much."""
    kind = tours.kind[r]
    before, after = tours.nodes[r, k], tours.nodes[r, k + 1]
    time = way(lengths, kind, before, node) + lengths.stay[node] + way(lengths, kind, node, after)
    if tours.size[r] > 0:
        time -= way(lengths, kind, before, after)
    return float(time) if tours.spent[r] + time <= tours.limit[r] else np.inf


@lean
def time_of(lengths: Lengths, tours: Tours, r: int, k: int) -> float:
    """Time that the visit at position k of a route takes."""
    if tours.size[r] == 1:
        return float(tours.spent[r])
    kind = tours.kind[r]
    before, node, after = tours.nodes[r, k - 1], tours.nodes[r, k], tours.nodes[r, k + 1]
    time = way(lengths, kind, before, node) + lengths.stay[node] + way(lengths, kind, node, after)
    return float(time - way(lengths, kind, before, after))


@lean
def cheapest_place(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    near: IntArray,
    stop: int,
    short: int,
    blink: float,
    state: RandomState,
) -> Place:
    """Find where a stop takes least time.

    By any of its alternatives, at all places of routes with no more visits than `short`, and at
    places beside stops near it on others; blink overlooks places.
    """
    best = Place(-1, 0, 0, np.inf)
    for node in range(network.first[stop], network.first[stop + 1]):
        for r in range(len(tours.size)):
            size, kind = tours.size[r], tours.kind[r]
            if r > 0 and size == 0 and tours.size[r - 1] == 0 and tours.kind[r - 1] == kind:
                continue  # no better than the one before
            if not network.admits[kind, node]:
                continue
            step = 1 if size <= short else size
            for k in range(0, size + 1, step):
                time = time_for(lengths, tours, r, k, node)
                if time < best.time and not (blink > 0.0 and draw(state) < blink):
                    best = Place(r, k, node, time)
        seen = 0
        for j in range(near.shape[1]):
            other = near[stop, j]
            if other < 0 or seen == ENOUGH:
                break
            r = tours.where[other]
            if r < 0:
                continue
            seen += 1
            if tours.size[r] <= short or not network.admits[tours.kind[r], node]:
                continue
            for k in range(tours.spot[other] - 1, tours.spot[other] + 1):
                time = time_for(lengths, tours, r, k, node)
                if time < best.time and not (blink > 0.0 and draw(state) < blink):
                    best = Place(r, k, node, time)
    return best


@lean
def insert_node(network: Network, lengths: Lengths, tours: Tours, place: Place) -> None:
    """Insert a node where it was found to fit."""
    r = place.route
    for k in range(tours.size[r] + 1, place.gap, -1):
        tours.nodes[r, k + 1] = tours.nodes[r, k]
    tours.nodes[r, place.gap + 1] = place.node
    tours.size[r] += 1
    tours.spent[r] += place.time
    tours.profit[r] += lengths.reward[place.node]
    number_from(network, tours, r, place.gap + 1)


@lean
def remove_part(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    r: int,
    first: int,
    length: int,
    skip: int,
    kept: int,
) -> None:
    """Remove visits of a route from a position on, but keep some in the middle of them."""
    kind = tours.kind[r]
    last = tours.size[r] + 1
    behind = first + length + kept
    before = tours.nodes[r, first - 1]
    spent = 0.0
    for k in range(first, behind + 1):
        spent -= way(lengths, kind, tours.nodes[r, k - 1], tours.nodes[r, k])
    place = first
    for k in range(first, last + 1):
        node = tours.nodes[r, k]
        if k < behind and not skip <= k - first < skip + kept:
            tours.where[network.stop[node]] = -1
            spent -= lengths.stay[node]
            tours.profit[r] -= lengths.reward[node]
            continue
        if k <= behind:
            spent += way(lengths, kind, before, node)
            before = node
        tours.nodes[r, place] = node
        place += 1
    tours.size[r] = place - 2
    tours.spent[r] += spent
    if tours.size[r] == 0:
        tours.spent[r] = tours.profit[r] = 0.0
    number_from(network, tours, r, first)


@lean
def turn(network: Network, tours: Tours, r: int, first: int, last: int) -> None:
    """Turn the visits of a route between two positions round."""
    tours.intact[r] = min(tours.intact[r], first)
    while first <= last:
        one, other = tours.nodes[r, first], tours.nodes[r, last]
        tours.nodes[r, first], tours.nodes[r, last] = other, one
        tours.spot[network.stop[other]] = first
        tours.spot[network.stop[one]] = last
        first += 1
        last -= 1


@lean
def turn_better(
    network: Network, lengths: Lengths, tours: Tours, near: IntArray, stop: int, least: float
) -> bool:
    """Turn a part of a route round that begins or ends at a stop, if that is shorter (2-opt)."""
    r = tours.where[stop]
    kind = tours.kind[r]
    if not lengths.symmetric[kind]:
        return False
    i = tours.spot[stop]
    here = tours.nodes[r, i]
    for side in range(2):
        next_i = i + 1 - 2 * side
        beside = tours.nodes[r, next_i]
        old = way(lengths, kind, here, beside)
        for j in range(min(CLOSE, near.shape[1])):
            other = near[stop, j]
            if other < 0:
                break
            if tours.where[other] != r:
                continue
            k = tours.spot[other]
            there = tours.nodes[r, k]
            new = way(lengths, kind, here, there)
            if new >= old:
                break
            next_k = k + 1 - 2 * side
            if next_k < 0 or next_k > tours.size[r] + 1 or next_k == i or next_i == k:
                continue
            if next_k == next_i:
                continue
            beyond = tours.nodes[r, next_k]
            saving = old + way(lengths, kind, there, beyond)
            saving -= new + way(lengths, kind, beside, beyond)
            if saving > least:
                low, high = min(i, k), max(i, k)
                if side == 0:
                    turn(network, tours, r, low + 1, high)
                else:
                    turn(network, tours, r, low, high - 1)
                tours.spent[r] -= saving
                enqueue(network, tours, here)
                enqueue(network, tours, there)
                enqueue(network, tours, beside)
                enqueue(network, tours, beyond)
                return True
    return False


@lean
def move_better(
    network: Network, lengths: Lengths, tours: Tours, near: IntArray, stop: int, least: float
) -> bool:
    """Move up to three visits that begin or end with a stop beside one near it (or-opt).

    They may be turned round, and go to another route. What counts is the length of all routes.
    """
    r = tours.where[stop]
    kind = tours.kind[r]
    i = tours.spot[stop]
    here = tours.nodes[r, i]
    for length in range(1, LONGEST_PART + 1):
        for side in range(2):
            if length == 1 and side == 1:
                break
            first = i - (length - 1) * side  # the part is from first to last
            last = first + length - 1
            if first < 1 or last > tours.size[r]:
                continue
            before, after = tours.nodes[r, first - 1], tours.nodes[r, last + 1]
            head, tail = tours.nodes[r, first], tours.nodes[r, last]
            gone = way(lengths, kind, before, head) + way(lengths, kind, tail, after)
            if tours.size[r] > length:
                gone -= way(lengths, kind, before, after)
            if gone <= least:
                continue
            for j in range(min(CLOSE, near.shape[1])):
                other = near[stop, j]
                if other < 0:
                    break
                s = tours.where[other]
                if s < 0:
                    continue
                k = tours.spot[other]
                if s == r and first <= k <= last:
                    continue
                its = tours.kind[s]
                if (
                    min(
                        way(lengths, its, here, tours.nodes[s, k]),
                        way(lengths, its, tours.nodes[s, k], here),
                    )
                    >= gone
                ):
                    break
                if s != r and not may_move(network, lengths, tours, r, first, last, s):
                    continue
                for gap in range(k - 1, k + 1):
                    if s == r and first - 1 <= gap <= last:
                        continue
                    left, right = tours.nodes[s, gap], tours.nodes[s, gap + 1]
                    direct = way(lengths, its, left, right)
                    for turned in range(2):
                        a, b = (tail, head) if turned else (head, tail)
                        if turned and (length == 1 or not lengths.symmetric[its]):
                            continue
                        more = way(lengths, its, left, a) + way(lengths, its, b, right) - direct
                        if gone - more <= least:
                            continue
                        if s != r and not fits(lengths, tours, r, first, last, s, more):
                            continue
                        move_part(
                            network, lengths, tours, r, first, last, s, gap, turned, gone, more
                        )
                        for node in (before, after, head, tail, left, right):
                            enqueue(network, tours, node)
                        return True
    return False


@lean
def may_move(
    network: Network, lengths: Lengths, tours: Tours, r: int, first: int, last: int, s: int
) -> bool:
    """Whether a part of one route may be moved to another: it is admitted, ways are the same."""
    may = lengths.plane[tours.kind[r]] == lengths.plane[tours.kind[s]]
    for k in range(first, last + 1):
        may = may and network.admits[tours.kind[s], tours.nodes[r, k]]
    return bool(may)


@lean
def fits(
    lengths: Lengths, tours: Tours, r: int, first: int, last: int, s: int, more: float
) -> bool:
    """Whether another route has the time for a part of one, the ways to which take so much."""
    time = tours.spent[s] + more
    for k in range(first, last + 1):
        node = tours.nodes[r, k]
        time += lengths.stay[node]
        if k < last:
            time += way(lengths, tours.kind[s], node, tours.nodes[r, k + 1])
    return bool(time <= tours.limit[s])


@lean
def move_part(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    r: int,
    first: int,
    last: int,
    s: int,
    gap: int,
    turned: int,
    gone: float,
    more: float,
) -> None:
    """Move a part of a route into a gap of the same or another one, turned round if so wished."""
    if turned:
        turn(network, tours, r, first, last)
    if s == r:
        # To exchange two parts that lie side by side, turn each of them and then both.
        if gap > last:
            turn(network, tours, r, first, last)
            turn(network, tours, r, last + 1, gap)
            turn(network, tours, r, first, gap)
        else:
            turn(network, tours, r, gap + 1, first - 1)
            turn(network, tours, r, first, last)
            turn(network, tours, r, gap + 1, last)
        tours.spent[r] += more - gone
        return
    length = last - first + 1
    inner = profit = 0.0
    for k in range(first, last + 1):
        node = tours.nodes[r, k]
        inner += lengths.stay[node]
        profit += lengths.reward[node]
        if k < last:
            inner += way(lengths, tours.kind[r], node, tours.nodes[r, k + 1])
    for k in range(tours.size[s] + 1, gap, -1):
        tours.nodes[s, k + length] = tours.nodes[s, k]
    for k in range(length):
        tours.nodes[s, gap + 1 + k] = tours.nodes[r, first + k]
    for k in range(last + 1, tours.size[r] + 2):
        tours.nodes[r, k - length] = tours.nodes[r, k]
    tours.size[r] -= length
    tours.size[s] += length
    tours.spent[r] -= inner + gone
    tours.spent[s] += inner + more
    tours.profit[r] -= profit
    tours.profit[s] += profit
    number_from(network, tours, r, first)
    number_from(network, tours, s, gap + 1)


@lean
def shorten(
    network: Network, lengths: Lengths, tours: Tours, near: IntArray, least: float, halt: Halt
) -> None:
    """Shorten routes by turning and moving parts of them, from the stops in the queue on."""
    while tours.ends[1] > 0:
        stop = tours.queue[tours.ends[0]]
        tours.ends[0] = (tours.ends[0] + 1) % len(tours.queue)
        tours.ends[1] -= 1
        tours.queued[stop] = 0
        while tours.where[stop] >= 0 and not halt[0]:
            if not (
                turn_better(network, lengths, tours, near, stop, least)
                or move_better(network, lengths, tours, near, stop, least)
            ):
                break


@lean
def replace_better(
    network: Network,
    lengths: Lengths,
    tours: Tours,
    near: IntArray,
    r: int,
    k: int,
    least: float,
    longest: float,
) -> bool:
    """Replace a visit by another near it that earns more, or as much in less time."""
    kind = tours.kind[r]
    old = tours.nodes[r, k]
    before, after = tours.nodes[r, k - 1], tours.nodes[r, k + 1]
    now = way(lengths, kind, before, old) + lengths.stay[old] + way(lengths, kind, old, after)
    best, best_gain, best_time = -1, 0.0, 0.0
    stop = network.stop[old]
    for j in range(-1, near.shape[1]):
        other = stop if j < 0 else near[stop, j]
        if other < 0:
            break
        if j >= 0 and tours.where[other] >= 0:
            continue
        for node in range(network.first[other], network.first[other + 1]):
            if node == old or not network.admits[kind, node]:
                continue
            gain = lengths.reward[node] - lengths.reward[old]
            if gain < best_gain:
                continue
            time = way(lengths, kind, before, node) + lengths.stay[node]
            time += way(lengths, kind, node, after) - now
            if tours.spent[r] + time > tours.limit[r]:
                continue
            if (gain > best_gain + least) or (time < best_time - longest):
                best, best_gain, best_time = node, gain, time
    if best < 0:
        return False
    tours.where[stop] = -1
    tours.nodes[r, k] = best
    tours.spent[r] += best_time
    tours.profit[r] += best_gain
    tours.intact[r] = min(tours.intact[r], k)
    tours.where[network.stop[best]] = r
    tours.spot[network.stop[best]] = k
    enqueue(network, tours, before)
    enqueue(network, tours, best)
    enqueue(network, tours, after)
    return True
