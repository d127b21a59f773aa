"""Routes for a team: stops at a price, arcs that are allowed, and a choice among many labels.

A route of a team earns what its stops earn less their prices. Prices, which are the duals of the
program that combines the routes, only change the rewards, and some become negative. What label
setting takes for granted still holds:

* A label can leave out what another would still visit: without stop k a route is not later, and
  loses at most `worth[k]`, which is what k earns in full less its price, and 0 if that is negative.
* A stop of no worth is not visited by some best route: to leave it out costs nothing.
* Bounds add up rewards of either sign.

What no longer holds is that a stop which always fits between two others should be visited there,
since another vehicle may visit it: all arcs that time allows are kept. And if a branch forbids an
arc, then stops between its ends cannot be left out any more, and their worth is infinite.
"""

from __future__ import annotations

import numpy as np

from decost.kernels.profile import jit
from decost.kernels.reduction import Core, reduce_instance
from decost.problem.instance import Arrays, BoolArray, FloatArray, IntArray


def team_core(arrays: Arrays, euclidean: bool) -> tuple[Core, BoolArray]:
    """Reduce an instance to what can matter to a team; also give the arcs that time allows."""
    core = reduce_instance(arrays, euclidean)
    count = len(core.stop)
    leave = np.append(core.early + core.min_stay, 0.0)
    arcs = leave[:, None] + core.travel <= core.late + core.slack
    np.fill_diagonal(arcs[:count], False)
    return with_arcs(core, arcs), arcs


def with_arcs(core: Core, arcs: BoolArray) -> Core:
    """Replace the list of stops that can follow each place, the depot's row being the last."""
    start = np.zeros(len(arcs) + 1, dtype=np.int64)
    np.cumsum(arcs.sum(axis=1), out=start[1:])
    return core._replace(next_start=start, next_stop=np.nonzero(arcs)[1])


def priced(core: Core, price: FloatArray, arcs: BoolArray, forbidden: BoolArray) -> Core:
    """Charge a price for every visit, on arcs of which some are forbidden that time allows."""
    count = len(core.stop)
    worth = np.where(np.isinf(core.worth), np.inf, np.maximum(0.0, core.full_profit - price))
    if forbidden.any():
        # Stop k lies between i and j if arcs (i, k) and (k, j) are there.
        beyond = forbidden.astype(np.float64) @ arcs[:count].T.astype(np.float64)
        worth[(arcs & (beyond > 0.0)).any(axis=0)] = np.inf
    return with_arcs(core, arcs)._replace(reward=core.reward - price, worth=worth, price=price)


def promising_arcs(core: Core, arcs: BoolArray, most: int) -> BoolArray:
    """Keep at each place the arcs to the stops that can earn most for the time they take."""
    if most >= len(core.stop):
        return arcs
    leave = np.append(core.late + core.min_stay, 0.0)
    time = np.maximum(core.travel, core.early - leave[:, None]) + core.min_stay
    profit = np.maximum(0.0, core.full_profit - core.price)
    rank = np.where(arcs, profit / np.maximum(time, core.slack), -1.0)
    least = -np.partition(-rank, most - 1, axis=1)[:, most - 1 : most]
    return arcs & (rank >= least)


@jit
def disjoint_families(visited: IntArray, ranked: IntArray, families: int, most: int) -> IntArray:
    """Choose among ranked labels: in each family the best ones without a stop in common.

    No two of the choice have visited the same stops.
    """
    words = visited.shape[1]
    chosen = np.empty(most, dtype=np.int64)
    number = 0
    taken = np.zeros(len(ranked), dtype=np.bool_)
    for _ in range(families):
        used = np.zeros(words, dtype=np.int64)
        for r in range(len(ranked)):
            if number == most:
                return chosen
            label = ranked[r]
            free = not taken[r]
            for w in range(words):
                free = free and visited[label, w] & used[w] == 0
            if not free:
                continue
            taken[r] = True
            again = False
            for c in range(number):
                same = True
                for w in range(words):
                    same = same and visited[label, w] == visited[chosen[c], w]
                again = again or same
            if again:
                continue
            for w in range(words):
                used[w] |= visited[label, w]
            chosen[number] = label
            number += 1
    return chosen[:number]
