"""The metaheuristic that the paper compares with: iterated local search on fixed stays."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from decost.baselines.ils_moves import (
    Rules,
    copy_plan,
    iterate,
    make_plan,
    put_route,
    set_stay,
    total_profit,
)
from decost.draws import random_state
from decost.method.deadline import Deadline
from decost.method.options import Method, RoundsOptions, Stays
from decost.method.progress import Reporter
from decost.method.result import Result
from decost.method.value import Scale
from decost.problem.instance import Instance
from decost.problem.plan import make_solution
from decost.timeline.network import ALL_TYPES, network_as_given, useful_alternatives
from decost.timeline.routes import best_solution


class IlsOptions(RoundsOptions):
    """Options of `ils`."""

    stays: Stays = Field(
        default="greedy", description="greedy: the largest gain is extended; optimal: all are"
    )
    roulette: bool = Field(
        default=True, description="the draw by score^2 / shift: always the best is inserted"
    )
    reset_worst: bool = Field(
        default=False, description="cut the least stay of each route before stays are extended"
    )


def ils(instance: Instance, options: IlsOptions) -> Result:
    """Improve a plan by moves that keep the stays, shake it, and again, until time is over.

    This is the method of Marzal and Sebastia (Applied Soft Computing, 2024), which the paper
    compares with, for one or several routes.
    """
    deadline = Deadline(options.time_limit)
    reporter = Reporter(options.progress, deadline, Scale(instance))
    network = network_as_given(instance.arrays)  # node k is stop k
    rules = Rules(options.roulette, options.reset_worst, options.stays == "optimal")
    plan, best = (make_plan(instance.nodes, instance.vehicles) for _ in range(2))
    useful = useful_alternatives(instance.arrays, ALL_TYPES).alternative
    plan.visited[:] = True  # so that the others are never looked at
    plan.visited[useful] = False
    for r, route in enumerate(options.start.routes if options.start is not None else ()):
        for visit in route.visits:
            plan.visited[visit.stop] = True
            set_stay(network, plan, visit.stop, visit.stay)
        put_route(network, plan, r, np.array(route.stops, dtype=np.int64), len(route.visits))
    copy_plan(plan, best)
    found = np.array([total_profit(best), 0.0])
    state = random_state(options.seed)
    halt = np.zeros(1, dtype=np.uint8)
    done = deadline.run(
        lambda: iterate(network, plan, best, found, state, options.rounds, rules, halt),
        stop=lambda: halt.fill(1),
        look=lambda: reporter.report(found[0]),
    )
    routes = [stops[:size].tolist() for stops, size in zip(best.stops, best.size, strict=True)]
    solution = make_solution(instance, routes, [best.stay[route] for route in routes])
    details = {"rounds": done, "found_in_round": float(found[1])}
    return Result(instance, solution, "feasible", details=details)


def rehearse() -> None:
    """Call every kernel."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    ils(instance, IlsOptions(iterations=1, start=best_solution(instance, [[1]])))


METHOD = Method(
    name="ils",
    description="Iterated local search on fixed stays (Marzal and Sebastia 2024), 10 s.",
    function=ils,
    options=IlsOptions,
    rehearse=rehearse,
)
