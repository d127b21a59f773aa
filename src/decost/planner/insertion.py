"""More stops for orders that are to be kept: each goes where it gains most, with optimal stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from decost.method.deadline import Deadline
from decost.problem.instance import Instance
from decost.timeline.routes import optimal_stays

ROUNDING = 1e-12
"""Gain, as a share of all that stops can earn, below which it is nothing but rounding."""


def insert_stops(
    instance: Instance,
    orders: Sequence[Sequence[int]],
    firsts: Mapping[int, int],
    deadline: Deadline,
) -> list[list[int]]:
    """Insert stops between others, the best one first, until none gains anything.

    Parameters
    ----------
    instance
        The problem.
    orders
        Feasible orders of stops, one a vehicle.
    firsts
        For some vehicles, how many stops at the beginning nothing may come before.
    deadline
        When to end.
    """
    bonus = instance.arrays.bonus
    least = ROUNDING * float(instance.full_profits.sum())
    routes = [list(order) for order in orders]
    worth = optimal_stays(instance, routes, vehicles=range(len(routes))).profit
    visited = {stop for route in routes for stop in route}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    while rest and deadline.left > 0:
        best, choice = 0.0, None
        for vehicle, route in enumerate(routes):
            places = range(firsts.get(vehicle, 0), len(route) + 1)
            for stop in rest:
                tries = [[*route[:place], stop, *route[place:]] for place in places]
                found = optimal_stays(instance, tries, vehicles=[vehicle] * len(tries)).profit
                gain = float(found.max()) - worth[vehicle] + bonus * instance.required[stop]
                if gain > max(best, least):
                    best, choice = gain, (vehicle, tries[int(np.argmax(found))], stop)
                if deadline.left <= 0:
                    break
        if choice is None:
            break
        vehicle, route, stop = choice
        routes[vehicle] = route
        worth[vehicle] = optimal_stays(instance, [route], vehicles=[vehicle]).profit[0]
        rest.remove(stop)
    return routes
