"""Solving around visits that stay: who visits these stops, and by which alternative, is fixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from decost.method.options import ImprovingOptions, MethodError
from decost.method.result import Result, Status
from decost.method.value import Scale
from decost.planner.door import DEFAULT_METHOD, get_method, solve
from decost.planner.orders import OrderError, first_break, plan_in_order, stop_number
from decost.problem.checker import choose_alternatives
from decost.problem.instance import Instance
from decost.problem.plan import Solution


def solve_around(
    instance: Instance,
    plan: Solution,
    locked: Iterable[str | int],
    method: str = DEFAULT_METHOD,
    **options: Any,
) -> Result:
    """Plan anew, but let some visits be: their vehicle and alternative stay, their times need not.

    Parameters
    ----------
    instance, plan
        The problem, and the plan that has these visits.
    locked
        Their stops, by label or number.
    method, **options
        As for `solve`; a method that improves plans begins with this one.

    Returns
    -------
    Result
        A plan for the instance. Its status and bound are about all plans that keep the visits.

    Raises
    ------
    MethodError
        If a stop is not visited, or the visits cannot all be kept.
    """
    solution = choose_alternatives(instance, plan)
    kept = _numbers(instance, locked)
    ways = {
        visit.stop: (
            vehicle,
            int(instance.alternative_first[visit.stop]) + (visit.alternative or 0),
        )
        for vehicle, route in enumerate(solution.routes)
        for visit in route.visits
    }
    for stop in kept:
        if stop not in ways:
            raise MethodError(f"locked: stop {instance.label(stop)!r}: the plan does not visit it")
    for alone in (False, True):
        # Other required stops may be worth more than a kept one: then only those are required.
        sub = _bound(instance, {stop: ways[stop] for stop in kept}, alone)
        result = solve(sub, method, **options | _start(sub, solution, kept, method))
        if kept <= {visit.stop for visit in result.solution.visits}:
            return _judged(instance, sub, result, alone)
    raise MethodError("locked: no plan was found that keeps all of these visits")


def _numbers(instance: Instance, locked: Iterable[str | int]) -> set[int]:
    try:
        return {stop_number(instance, stop) for stop in locked}
    except OrderError as error:
        raise MethodError(f"locked: {error}") from None


def _bound(instance: Instance, ways: dict[int, tuple[int, int]], alone: bool) -> Instance:
    """Make the problem in which some stops are required, each for one vehicle in one way."""
    admits = np.ones((instance.alternative_count + 1, instance.vehicles), np.bool_)
    if instance.alternative_vehicles is not None:
        admits = instance.alternative_vehicles.copy()
    required = np.zeros_like(instance.required) if alone else instance.required.copy()
    for stop, (vehicle, number) in ways.items():
        allowed = bool(admits[number, vehicle])
        admits[slice(*instance.alternative_first[stop : stop + 2])] = False
        admits[number, vehicle] = allowed
        required[stop] = True
    return instance.replace(required=required, alternative_vehicles=admits)


def _start(sub: Instance, solution: Solution, kept: set[int], method: str) -> dict[str, Solution]:
    """Begin with the plan, or with the kept visits alone if it breaks elsewhere."""
    if not issubclass(get_method(method).options, ImprovingOptions):
        return {}
    orders: Sequence[list[int]] = [list(route.stops) for route in solution.routes]
    if first_break(sub, orders) is not None:
        orders = [[stop for stop in order if stop in kept] for order in orders]
    return {} if first_break(sub, orders) else {"start": plan_in_order(sub, orders)}


def _judged(instance: Instance, sub: Instance, result: Result, alone: bool) -> Result:
    """Say of the instance itself what is known of the problem that was solved."""
    scale = Scale(instance)
    visited = scale.visited(result.solution)
    more = int(sub.required.sum()) - scale.required  # required by being kept
    most = scale.required if alone else max(visited, result.required_bound - more)
    status: Status = "optimal" if result.status == "optimal" and not alone else "feasible"
    if visited < scale.required:
        status = "infeasible" if most < scale.required else "incomplete"
    return replace(
        result,
        instance=instance,
        status=status,
        bound=None if alone else result.bound,
        required_visited=visited,
        required_bound=most,
        reasons=result.reasons if status == "infeasible" else (),
    )
