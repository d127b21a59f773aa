"""Plain problems that need few labels, many of them in one call of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decost.compiled import jit
from decost.exact.graph import make_graph
from decost.exact.labels import (
    BEST,
    CLASSES,
    DONE,
    LABELS,
    Attempt,
    Store,
    make_store,
    route_of,
    try_small,
)
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray
from decost.problem.plan import Solution, idle_route
from decost.timeline.bundle import Bundle, make_bundle, part_in_reach
from decost.timeline.network import Network, reduced_network
from decost.timeline.stays import timetable

PATIENCE = 300_000
"""Labels after which a kernel comes back, though there may be problems left."""


class Found(NamedTuple):
    """The best plan that was found, and whether it is proven to be the best there is."""

    solution: Solution
    value: float
    labels: int
    proven: bool


class Answers(NamedTuple):
    """What a kernel writes of every problem; the numbers of plans are one after another."""

    proven: BoolArray  # (problem,)
    value: FloatArray  # (problem,)
    labels: IntArray  # (problem,)
    first: IntArray  # (problem + 1,): where the numbers of its plan begin
    number: FloatArray  # as `Solution.unread` takes them


def solve_quickly(instances: Sequence[Instance], attempt: Attempt) -> list[Found]:
    """Look for the best plans of plain instances with so much work for each."""
    bundle = make_bundle(instances)
    visits = sum(one.stops for one in instances)
    answers = Answers(
        proven=np.zeros(len(instances), dtype=np.bool_),
        value=np.zeros(len(instances)),
        labels=np.zeros(len(instances), dtype=np.int64),
        first=np.zeros(len(instances) + 1, dtype=np.int64),
        number=np.empty(2 * len(instances) + 6 * visits),
    )
    done = 0
    while done < len(instances):  # Python may look at signals in between
        done = solve_bundle(bundle, done, attempt, answers)
    return _found(instances, answers)


def _found(instances: Sequence[Instance], answers: Answers) -> list[Found]:
    number, first = answers.number, answers.first.tolist()
    others = zip(
        answers.value.tolist(), answers.labels.tolist(), answers.proven.tolist(), strict=True
    )
    found = []
    for instance, begin, end, other in zip(instances, first, first[1:], others, strict=False):
        # A copy, or a plan that is kept would keep all others.
        plan = (
            Solution.unread(number[begin:end].copy())
            if end > begin + 2
            else Solution((idle_route(instance),))
        )
        found.append(Found(plan, *other))
    return found


@jit
def solve_bundle(bundle: Bundle, begin: int, attempt: Attempt, answers: Answers) -> int:
    """Solve problems of a bundle from one on; return at which one it has come to.

    All in one kernel: to hand networks, graphs and labels over to Python takes as long as to
    solve, and memory for labels is made once.
    """
    part, stops = part_in_reach(bundle, begin)
    nothing = np.zeros(0, dtype=np.bool_)
    network = reduced_network(part, nothing, True, 0)
    store = make_store(network, attempt.room, CLASSES)
    spent = 0
    for b in range(begin, len(answers.value)):
        if b > begin:
            part, stops = part_in_reach(bundle, b)
            network = reduced_network(part, nothing, True, 0)
            if not fits(network, store):
                store = make_store(network, attempt.room, CLASSES)
        graph = make_graph(network, True)
        answer = try_small(network, graph, store, attempt.work)
        answers.proven[b] = answer == DONE
        answers.value[b] = store.best[0]
        answers.labels[b] = store.counter[LABELS]
        route = network.alternative[route_of(network, store, store.counter[BEST])]
        first = answers.first[b]
        last = answers.first[b + 1] = first + 2 + 6 * len(route)
        numbers = answers.number[first + 2 : last].reshape((6, len(route)))
        numbers[0] = stops[route]
        _, depart, finish = timetable(part, 0, route, numbers[1:])
        answers.number[first], answers.number[first + 1] = depart, finish
        spent += store.counter[LABELS]
        if spent > PATIENCE:
            return b + 1
    return len(answers.value)


@jit
def fits(network: Network, store: Store) -> bool:
    """Whether memory for the labels of one network will do for those of another."""
    words = (len(network.number) + 63) // 64
    nodes, pieces = len(network.node), len(network.pieces) + 1
    return bool(
        words == store.visited.shape[1]
        and nodes <= store.leading.shape[0]
        and pieces <= len(store.scratch)
    )
