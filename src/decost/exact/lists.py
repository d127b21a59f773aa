"""Lists of all routes that can be part of a better plan, and plans that are combined from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from decost.exact.bounds import Bounds
from decost.exact.completion import PATIENCE, backwards, completion_bounds
from decost.exact.exact import Ascent, Known, Labels, Problem
from decost.exact.labels import EVERY, LABELS, route_of
from decost.exact.master import combine
from decost.exact.pricing import Trip, forgetful, price_steps, priced
from decost.method.deadline import Deadline
from decost.problem.instance import BoolArray, FloatArray

if TYPE_CHECKING:
    from decost.exact.generation import Generation
    from decost.exact.prices import Proof
    from decost.exact.tree import Branch

FIRST_LIST, NEXT_LIST = 16, 4
"""Part of the gap that the first list of routes is for, and for how much more the next one is."""

LIST_MEMORY = 2**28
"""Most bytes of labels for a list."""

LIST_ROUTES = 10_000
"""Most routes in it."""

LISTED = 1_000
"""Most routes of a list that become columns."""

LIST_PART = 0.8
"""Part of the time that is left which a list may take."""

FINE = 64
"""At how many times the bound of a label is taken for a list."""

COMBINE_TIME = 2e-4
"""Seconds a route that a combination may run over its limit."""


def solve_by_lists(generation: Generation, branch: Branch, proof: Proof, seconds: float) -> bool:
    """List the routes that can be part of a very good plan and combine them; then more.

    A plan that comes near the bound has only routes that earn nearly as much as the best at
    the prices of the proof: the others earn no more, and the stops pay no more than their
    prices. The answer is whether the branch holds no better plan than the best so far.
    """
    tree, deadline = generation.tree, generation.deadline
    generation.take_over_better_plan()
    whole = tree.gap(proof.bound)
    lists = generation.lists
    if lists is None or lists.proof is not proof:
        lists = generation.lists = Lists(generation, branch, proof, whole)
    near = whole / FIRST_LIST
    while deadline.left > 0:
        trips = lists.trips(near, deadline.child(min(LIST_PART * deadline.left, seconds)))
        if trips is None:
            break
        generation.add(trips[:LISTED])
        values = generation.values(trips)
        best = combine_trips(generation, trips, values, branch.forced, deadline.child(seconds))
        if best is None:
            break
        tree.lower(branch, max(tree.incumbent.value, best, proof.bound - near))
        generation.take_over_better_plan()
        whole = tree.gap(proof.bound)
        if near >= whole or not tree.hopeful(branch.bound):
            break
        near = min(NEXT_LIST * near, whole)
    return not tree.hopeful(branch.bound)


class Lists:
    """Lists of the routes of a branch that earn nearly as much as the best at a proof's prices.

    None is asked for that earn less than the best by more than `gap`.
    """

    def __init__(self, generation: Generation, branch: Branch, proof: Proof, gap: float) -> None:
        self._generation = generation
        self._branch = branch
        self.proof = proof
        self._gap = gap
        self._bounds: dict[int, Bounds] = {}

    def trips(self, near: float, deadline: Deadline) -> list[Trip] | None:
        """List all routes that earn less than the best by no more than so much.

        Of routes of one type with the same stops only the best is listed. Nothing is returned if
        there are too many, or time is up.
        """
        trips: list[Trip] = []
        for number, vehicles in enumerate(self._branch.vehicles):
            if vehicles:
                found = self._of_type(number, near, deadline)
                if found is None:
                    return None
                trips += found
        left = self._generation.deadline.left
        if len(trips) > LIST_ROUTES or len(trips) * COMBINE_TIME > left:
            return None
        return trips

    def _of_type(self, number: int, near: float, deadline: Deadline) -> list[Trip] | None:
        generation, branch = self._generation, self._branch
        kind, arcs = generation.team.kinds[number], branch.arcs[number]
        price = self.proof.price[kind.stops]
        problem = priced(kind.problem, price, arcs, kind.reach & ~arcs)
        # A route without a stop that must be visited cannot take the place of one with it.
        price = np.where(branch.forced[kind.stops], np.inf, np.maximum(0.0, price))
        problem = problem._replace(graph=problem.graph._replace(price=price))
        least = float(self.proof.value[number]) - near
        known = Known([], least, math.inf)
        labels = Labels(problem, known, min(generation.memory, LIST_MEMORY))
        self._extend(labels, problem, number, least, deadline)
        generation.tree.incumbent.labels += known.labels
        if not known.proven:
            return None
        store = labels.store
        label = store.label[: store.counter[LABELS]]
        useful = np.flatnonzero((label["dead"] == 0) & (label["whole"] >= least))
        useful = useful[np.argsort(-label["whole"][useful], kind="stable")]
        _, first = np.unique(store.visited[useful], axis=0, return_index=True)
        if len(first) > LIST_ROUTES:
            return None
        chosen = useful[np.sort(first)].tolist()
        return [Trip(number, route_of(kind.network, store, label)) for label in chosen]

    def _extend(
        self, labels: Labels, problem: Problem, number: int, least: float, deadline: Deadline
    ) -> None:
        """Extend labels by bounds from the end, or on the grid if there is no mirror image."""
        generation = self._generation
        penalty = generation.penalty[number]
        mirror = backwards(problem, self._branch.arcs[number], generation.instance.arrays.triangle)
        if mirror is None:
            steps = price_steps(problem)
            if problem.bounds_seconds(steps) < deadline.left:
                ascent = Ascent(problem, penalty, least, steps)
                for _ in labels.prove(deadline, ascent, EVERY, PATIENCE):
                    pass
            return
        if number not in self._bounds:
            mirror = forgetful(mirror, generation.remembers[number])
            lowest = float(self.proof.value[number]) - self._gap
            memory = min(generation.memory, LIST_MEMORY)
            bounds = completion_bounds(problem, mirror, penalty, lowest, memory, deadline)
            if bounds is None:
                return
            self._bounds[number] = bounds
        labels.store = labels.store._replace(outlook=np.empty((FINE, 2)))
        labels.extend(self._bounds[number], deadline, math.inf, EVERY)


def combine_trips(
    generation: Generation,
    trips: list[Trip],
    value: FloatArray,
    forced: BoolArray,
    deadline: Deadline,
) -> float | None:
    """Find the best plan of some routes; return its value, if it is proven to be the best."""
    if not trips:
        return 0.0
    found = combine(generation.team, trips, value / generation.tree.unit, forced, deadline)
    best = generation.offer([trips[k] for k in found.chosen]) if len(found.chosen) else 0.0
    return best if found.proven else None
