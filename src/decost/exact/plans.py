"""Plans from shares of routes: routes are combined, or fixed one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from decost.exact.lists import combine_trips
from decost.exact.master import Relaxation
from decost.exact.prices import TRIES
from decost.exact.pricing import Trip
from decost.exact.tree import SHARE, Branch
from decost.method.deadline import Deadline

if TYPE_CHECKING:
    from decost.exact.generation import Generation

DIVE_SECONDS, COMBINE_SECONDS = 3.0, 2.0
"""Most seconds to dive for plans, and to combine the routes found so far."""

COMBINED = 1_000
"""Most routes that are combined without a proof."""

DIVE_ROUNDS = 30
"""Most times that routes are added on the way of a dive."""

DETOURS = 4
"""Most times that a dive does not take the route with the largest share."""


def find_plans(generation: Generation, branch: Branch) -> None:
    """Combine the routes found so far; then dive, more and more off the largest shares."""
    _combine_found(generation)
    part = generation.deadline.child(min(generation.deadline.left / 4, DIVE_SECONDS))
    for detours in range(DETOURS + 1):
        if generation.tree.hopeful(branch.bound) and part.left > 0:
            dive(generation, branch, [], 0.0, detours, part)


def dive(
    generation: Generation,
    branch: Branch,
    fixed: list[Trip],
    value: float,
    detours: int,
    deadline: Deadline,
) -> None:
    """Fix the route with the largest share, or another, and solve the relaxation of the rest."""
    relaxation = _relax_quickly(generation, branch, fixed, deadline)
    hopeful, master = generation.tree.hopeful, generation.master
    if relaxation is None or not hopeful(value + relaxation.value):
        return
    order = np.argsort(-relaxation.share, kind="stable")[: 1 + detours]
    for k, column in enumerate(order[relaxation.share[order] > SHARE]):
        trip = master.trips[column]
        earned = value + master.value[column]
        if sum(branch.vehicles) == 1:
            generation.offer([*fixed, trip])
        elif hopeful(value + relaxation.value) and deadline.left > 0:
            rest = branch.without(generation.team, trip)
            dive(generation, rest, [*fixed, trip], earned, detours - k, deadline)


def _relax_quickly(
    generation: Generation, branch: Branch, fixed: list[Trip], deadline: Deadline
) -> Relaxation | None:
    """Add routes as long as some are found without a proof."""
    generation.master.enter(branch)
    relaxation = generation.master.solve(deadline)
    for _ in range(DIVE_ROUNDS):
        if relaxation is None or deadline.left <= 0:
            return None
        generation.round(relaxation, branch.vehicles, fixed)
        pricings = generation.pricings(branch, relaxation.price, relaxation)
        if not generation.guess(pricings, relaxation, TRIES[: 2 if generation.small else 1]):
            break
        relaxation = generation.master.solve(deadline)
    return relaxation


def _combine_found(generation: Generation) -> None:
    """Combine the routes found so far, those that are best at the prices of their relaxation."""
    master, deadline = generation.master, generation.deadline
    relaxation = master.solve(deadline)
    if relaxation is None or not master.trips:
        return
    value = np.array(master.value)
    cost = master.paid(relaxation.price, master.trips)
    cost += relaxation.vehicle[[trip.kind for trip in master.trips]]
    best = np.argsort(cost - value, kind="stable")[:COMBINED]
    free = np.zeros(len(generation.team.number), dtype=np.bool_)
    part = deadline.child(min(COMBINE_SECONDS, deadline.left / 4))
    combine_trips(generation, [master.trips[k] for k in best], value[best], free, part)
