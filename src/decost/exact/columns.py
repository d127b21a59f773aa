"""Plans for teams with a proof: column generation, the columns being routes."""

from __future__ import annotations

import numpy as np

from decost.exact.exact import ExactOptions
from decost.exact.generation import Generation
from decost.exact.lists import Lists, solve_by_lists
from decost.exact.ng_routes import rehearse as rehearse_ng_routes
from decost.exact.plans import find_plans
from decost.exact.prices import Proof
from decost.exact.pricing import team_bytes, team_seconds
from decost.exact.tree import Branch, Incumbent, root_branch
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import Method
from decost.method.progress import BetterPlan, Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.instance import Instance
from decost.problem.plan import alternative_numbers
from decost.search.construct import first_plan
from decost.timeline.routes import best_solution

LIST_SECONDS = 5.0
"""Most seconds to list the routes of good plans and combine them."""


def columns(instance: Instance, options: ExactOptions) -> Result:
    """Find the best plan for a team and prove it, or as much as the limits allow.

    The relaxed master problem takes shares of the routes found so far, the columns; its duals are
    prices for visiting stops, and label setting finds, for each type of vehicles, routes that earn
    more than their stops and a vehicle cost. When there is none, the prices prove a bound. Then all
    routes are listed that can be part of a plan better than the incumbent, if they are not too
    many, and an integer program combines them; else plans are divided into those that visit a stop,
    or use an arc, and those that do not.
    """
    return prove(instance, options, Deadline(options.time_limit))


def prove(
    instance: Instance,
    options: ExactOptions,
    deadline: Deadline,
    better_plan: BetterPlan | None = None,
) -> Result:
    """Do what `columns` does until a deadline; `better_plan` asks who looks for plans meanwhile."""
    scale = Scale(instance)
    start = first_plan(instance, options.start)
    incumbent = Incumbent(
        [alternative_numbers(instance, route) for route in start.routes],
        scale.value(start),
        scale.value_bound,
    )
    reporter = Reporter(
        options.progress, deadline, scale, lambda: best_solution(instance, incumbent.routes)
    )
    reporter.report(incumbent.value)

    def search() -> None:
        memory = options.memory_limit * 2**30
        if team_bytes(instance) > memory:
            return
        _search(Generation(instance, incumbent, deadline, memory, reporter, better_plan))
        reporter.report(incumbent.value, incumbent.value if incumbent.proven else incumbent.bound)

    if deadline.allows(team_seconds(instance)):
        deadline.work(search)
    solution = best_solution(instance, incumbent.routes)
    details = {"labels": incumbent.labels, "branches": incumbent.branches}
    return judged(
        instance, solution, bound=incumbent.bound, proven=incumbent.proven, details=details
    )


def _search(generation: Generation) -> None:
    """Work on the branch with the largest bound until none can hold a better plan."""
    tree, incumbent = generation.tree, generation.tree.incumbent
    incumbent.bound = min(incumbent.bound, tree.unit)
    if tree.hopeful(incumbent.bound):
        generation.add_plan()
        tree.push(root_branch(generation.team, incumbent.bound))
    while generation.deadline.left > 0 and (branch := tree.first()) is not None:
        children = _divide(generation, branch)
        tree.pop()
        for child in children:
            tree.push(child)
        tree.note()
    incumbent.proven = not tree.hopeful(tree.bound)


def _divide(generation: Generation, branch: Branch) -> list[Branch]:
    """Solve a branch or divide it in two; give it back if time is up."""
    tree = generation.tree
    relaxation, proof = generation.converge(branch)
    if not tree.hopeful(branch.bound):
        return []
    if relaxation is None or proof is None:
        if generation.deadline.left <= 0:
            return [branch]
        tree.give_up(branch)  # memory is full
        return []
    find_plans(generation, branch)
    if not tree.hopeful(branch.bound) or solve_by_lists(generation, branch, proof, LIST_SECONDS):
        return []
    children = branch.divide(generation.team, generation.master.trips, relaxation.share)
    if children is None:
        tree.give_up(branch)
        return []
    return list(children)


def rehearse() -> None:
    """Call every kernel, by solving a small problem with and without bounds, and by a list."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    for small in (True, False):
        incumbent = Incumbent([[], []], 0.0, np.inf)
        generation = Generation(instance, incumbent, Deadline(60.0), 2**30, small=small)
        _search(generation)
    team, all_profit = generation.team, generation.tree.unit
    proof = Proof(np.inf, team.full_profits, np.zeros(len(team.kinds)))
    lists = Lists(generation, root_branch(team, np.inf), proof, all_profit)
    lists.trips(all_profit, Deadline(60.0))
    rehearse_ng_routes(team.kinds[0].problem)


METHOD = Method(
    name="columns",
    description="Proven best plan for a team: column generation with exact stays and bounds.",
    function=columns,
    options=ExactOptions,
    can=FEATURES,
    rehearse=rehearse,
)
