"""Greedy-PRS, the paper's constructive baseline, with optimal stays."""

from __future__ import annotations

import numpy as np

from decost.instance import Instance
from decost.kernels.construct import profit_ratio_route
from decost.methods.options import Method, Options
from decost.result import Result
from decost.stays import best_solution


def greedy(instance: Instance, options: Options) -> Result:
    """Go where a full stay earns most per unit of time, then set the stays optimally.

    Vehicles are routed one after another, each among the stops that are left.
    """
    free = np.ones(instance.nodes, dtype=np.int64)
    route = np.empty(instance.nodes, dtype=np.int64)
    routes = []
    for _ in range(instance.vehicles):
        count = profit_ratio_route(instance.arrays, free, route)
        if count == 0:
            break
        routes.append(route[:count].tolist())
    return Result(instance, best_solution(instance, routes), "feasible")


METHOD = Method(
    name="greedy",
    description="Greedy-PRS: most profit per unit of time next, then optimal stays.",
    function=greedy,
)
