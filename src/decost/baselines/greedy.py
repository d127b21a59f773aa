"""Greedy-PRS, the paper's constructive baseline, with optimal stays."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from decost.method.features import FEATURES
from decost.method.options import Method, Options, Stays
from decost.method.result import Result
from decost.method.value import judged
from decost.problem.instance import Instance
from decost.problem.plan import make_solution
from decost.search.construct import first_plan, profit_ratio_routes
from decost.timeline.routes import best_solution, optimal_stays


class GreedyOptions(Options):
    """Options of `greedy`."""

    stays: Stays = Field(
        default="optimal", description="optimal (stage two), or greedy: as long as possible"
    )


def greedy(instance: Instance, options: GreedyOptions) -> Result:
    """Go where a full stay earns most per unit of time, then set the stays optimally.

    Vehicles are routed one after another, each among the stops that are left. Nothing is visited
    that puts a required stop out of reach, if that can be avoided.
    """
    routes, stays = profit_ratio_routes(instance)
    if options.stays == "greedy":
        return judged(instance, make_solution(instance, routes, stays))
    return judged(instance, best_solution(instance, routes))


def rehearse() -> None:
    """Call every kernel, also those of plans to start from."""
    instance = Instance(budget=9, xy=np.eye(2), rate=[0, 2], max_stay=[0, 2])
    optimal_stays(instance, [first_plan(instance, None).routes[0].stops])


METHOD = Method(
    name="greedy",
    description="Greedy-PRS: most profit per unit of time next, then optimal stays.",
    function=greedy,
    options=GreedyOptions,
    can=FEATURES,
    rehearse=rehearse,
)
