"""Greedy-PRS, the paper's constructive baseline, with optimal stays."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from decost.kernels.construct import profit_ratio_route
from decost.methods.options import Method, Options, Stays
from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import Solution, make_solution
from decost.result import Result
from decost.stays import best_solution, optimal_stays


class GreedyOptions(Options):
    """Options of `greedy`."""

    stays: Stays = Field(
        default="optimal", description="optimal (stage two), or greedy: as long as possible"
    )


def greedy(instance: Instance, options: GreedyOptions) -> Result:
    """Go where a full stay earns most per unit of time, then set the stays optimally.

    Vehicles are routed one after another, each among the stops that are left.
    """
    routes, stays = _routes(instance)
    if options.stays == "greedy":
        return Result(instance, make_solution(instance, routes, stays), "feasible")
    return Result(instance, best_solution(instance, routes), "feasible")


def first_plan(instance: Instance, start: Solution | None) -> Solution:
    """Give the plan to improve: the greedy one, or the given one if that is better."""
    plan = best_solution(instance, _routes(instance)[0])
    return plan if start is None or start.profit < plan.profit else start


def _routes(instance: Instance) -> tuple[list[list[int]], list[FloatArray]]:
    free = np.ones(instance.nodes, dtype=np.int64)
    route = np.empty(instance.nodes, dtype=np.int64)
    stay = np.empty(instance.nodes)
    routes, stays = [], []
    for _ in range(instance.vehicles):
        count = profit_ratio_route(instance.arrays, free, route, stay)
        if count == 0:
            break
        routes.append(route[:count].tolist())
        stays.append(stay[:count].copy())
    return routes, stays


def warm_up() -> None:
    """Compile or load the kernels, also those of plans to start from."""
    instance = Instance(budget=9, xy=np.eye(2), rate=[0, 2], max_stay=[0, 2])
    optimal_stays(instance, [first_plan(instance, None).routes[0].stops])


METHOD = Method(
    name="greedy",
    description="Greedy-PRS: most profit per unit of time next, then optimal stays.",
    function=greedy,
    options=GreedyOptions,
    warm_up=warm_up,
)
