"""The paper's mathematical program, solved by branch and cut: HiGHS, or Gurobi if asked for.

It judges the exact methods, and so it shares no code with them and takes no solver at its word.
Solvers work with tolerances, and now and then one cuts off the best plan, most often where all
times fit exactly. So every program is solved twice: as it is, and with all windows and shifts a
hair longer, where the best plan lies well inside. A plan is called optimal only if both agree.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, isfinite
from typing import Literal, NamedTuple

from pydantic import Field

from decost.baselines.milp_program import PROFIT_UNITS, write
from decost.baselines.milp_rules import (
    ACCURACY,
    INTEGRAL,
    Network,
    Rules,
    TooLargeError,
    read_rules,
    reduce,
)
from decost.baselines.milp_solvers import Answer, Setting, Solver, gurobi_solver, solve_by_highs
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import ImprovingOptions, Method, MethodError
from decost.method.progress import Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.checker import check
from decost.problem.instance import TOLERANCE, Instance
from decost.problem.plan import Solution, make_solution
from decost.search.construct import first_plan

HAIR = 1e-7
"""Share of the horizon by which windows and shifts are longer in the second program."""

STEP_TIME = 1.6e-5
"""Seconds for each arc of a program that a solver may go on for before it looks at the time."""

MOST_SOLVES = 8
"""How often programs are solved, with other settings each time, until two agree."""


class MilpOptions(ImprovingOptions):
    """Options of the mathematical program."""

    solver: Literal["highs", "gurobi"] = Field(
        default="highs", description="what solves the program; gurobi needs gurobipy and a licence"
    )
    solver_threads: int = Field(
        default=1, ge=1, le=1024, description="threads that the solver may use for one instance"
    )


class _Claim(NamedTuple):
    """What comes of solving one program, first for required stops and then for profit.

    Attributes
    ----------
    plan
        The best plan known after it.
    required, bound
        Bounds on the required stops of any plan, and on the profit of plans that visit so many.
    rounding
        How far the latter may be off.
    honest
        Whether all that can be examined of the solver's answers is true.
    ended
        Whether it is honest, and the solver says that no plan is better than its own.
    """

    plan: Solution
    required: int
    bound: float
    rounding: float
    honest: bool = True
    ended: bool = False


def milp(instance: Instance, options: MilpOptions) -> Result:
    """Solve the program of the paper's appendix "Mathematical Formulation of OPTWVP".

    The solver starts from the greedy plan. The result is "optimal" if two programs, solved in
    different ways, say so of the same plan; else it has the bound that was proven until then.

    Parameters
    ----------
    instance
        The problem.
    options
        Without a time limit it runs until the plan is optimal, which may be never. Solvers look
        at the time between their steps, so that a large program may overrun its limit by
        seconds. Ctrl-C ends it with the best plan so far.

    Raises
    ------
    MethodError
        If the program is too large, or Gurobi is asked for and cannot be used.
    """
    deadline = Deadline(options.time_limit)
    solver = gurobi_solver() if options.solver == "gurobi" else solve_by_highs
    scale = Scale(instance)
    plan = first_plan(instance, options.start)
    if _breaks_rules(instance, plan):
        plan = make_solution(instance, [], [])
    rules = read_rules(instance)
    hair = HAIR * rules.horizon
    try:
        networks = reduce(rules), reduce(rules.relaxed(hair))
    except TooLargeError as error:
        raise MethodError(str(error)) from None
    gain = hair * networks[1].best_rate
    reporter = Reporter(options.progress, deadline, scale)
    reporter.report(scale.value(plan))

    claims: list[_Claim] = []
    seconds = STEP_TIME * len(networks[0].tail)
    while deadline.left > 0 and deadline.allows(seconds) and len(claims) < MOST_SOLVES:
        turn = len(claims)
        claim = _solve(
            networks[turn % 2],
            rules,
            plan,
            solver,
            # Presolving is on, off, off, on, ...: each of the programs gets both in turn.
            Setting(options.seed + turn, turn % 4 in (0, 3), options.solver_threads),
            deadline,
            reporter if options.progress is not None and turn % 2 == 0 else None,
        )
        plan = claim.plan
        claims.append(claim)
        if any(_stands(scale, claim, plan) for claim in claims[0::2]) and any(
            _stands(scale, claim, plan, gain) for claim in claims[1::2]
        ):
            return judged(instance, plan, proven=True, details={"solves": len(claims)})

    # Each bound is the word of a solver. Once one of them was wrong, the largest is to be taken.
    bounds = [(claim.required, claim.bound) for claim in claims]
    if all(claim.honest and not _beaten(scale, claim, plan) for claim in claims):
        required, bound = min([*bounds, (networks[0].required, networks[0].ceiling)])
    else:
        required, bound = max([*bounds, (scale.visited(plan), plan.profit)])
    result = judged(
        instance, plan, bound=scale.bonus * required + bound, details={"solves": len(claims)}
    )
    if result.status == "optimal":  # by the word of a single solver
        result = replace(result, status="feasible")
    return result


def _solve(
    network: Network,
    rules: Rules,
    plan: Solution,
    solver: Solver,
    setting: Setting,
    deadline: Deadline,
    reporter: Reporter | None,
) -> _Claim:
    """Solve one program: for the most required stops, then with that many for the most profit.

    The rules are those of the instance, those of the network may be relaxed.
    """
    scale = Scale(rules.instance)
    required, ceiling = network.required, network.ceiling
    if network.nodes == 0:
        return _Claim(plan, 0, 0.0, _blur(network, plan), ended=True)
    program = write(network)
    if scale.visited(plan) < required:
        answer = solver(program.counting(), network.hint(plan), setting, deadline, None)
        if isfinite(answer.bound):
            required = min(required, floor(answer.bound + INTEGRAL))
        plan, honest = _examine(network, rules, plan, answer, None)
        if not (honest and answer.ended and scale.visited(plan) == required):
            return _Claim(plan, required, ceiling, _blur(network, plan), honest)
    if ceiling == 0:
        return _Claim(plan, required, ceiling, _blur(network, plan), ended=True)

    unit = ceiling / PROFIT_UNITS
    base, known = scale.bonus * required, plan.profit

    def report(profit: float, bound: float) -> None:
        if reporter is not None and isfinite(bound):
            bound = max(known, min(ceiling, bound * unit))
            reporter.report(base + min(bound, max(known, profit * unit)), base + bound)

    answer = solver(
        program.demanding(required),
        network.hint(plan),
        setting,
        deadline,
        None if reporter is None else report,
    )
    plan, honest = _examine(network, rules, plan, answer, unit)
    bound = min(ceiling, answer.bound * unit)
    rounding = TOLERANCE * bound + _blur(network, plan)
    return _Claim(plan, required, bound, rounding, honest, honest and answer.ended)


def _examine(
    network: Network, rules: Rules, plan: Solution, answer: Answer, unit: float | None
) -> tuple[Solution, bool]:
    """Give the better one of a plan and the solver's, and whether the solver's word is true.

    Its values must be integral and a plan that breaks no rule, and what it says of their
    objective must be what this plan earns, or without a unit the required stops that it visits.
    """
    if answer.values is None:
        return plan, not answer.ended
    routes = network.routes(answer.values)
    if routes is None:
        return plan, False
    found = rules.plan(routes)
    if _breaks_rules(rules.instance, found) or not rules.keeps_times(routes):
        return plan, False
    scale = Scale(rules.instance)
    if unit is None:
        own, near, unit = float(scale.visited(found)), INTEGRAL, 1.0
    else:
        own = network.rules.earned(routes)
        near = TOLERANCE * own + _blur(network, found)
    short, more = answer.objective * unit - own, own - answer.bound * unit
    better = found if scale.value(found) > scale.value(plan) else plan
    return better, max(short, more) <= near and (-short <= near or not answer.ended)


def _breaks_rules(instance: Instance, plan: Solution) -> bool:
    """Whether a plan breaks any rule but that on required stops."""
    return any(violation.rule != "required" for violation in check(instance, plan))


def _beaten(scale: Scale, claim: _Claim, plan: Solution) -> bool:
    """Whether a plan is better than a claim says that any can be."""
    visited = scale.visited(plan)
    more = plan.profit > claim.bound + claim.rounding
    return visited > claim.required or (visited == claim.required and more)


def _stands(scale: Scale, claim: _Claim, plan: Solution, gain: float = 0.0) -> bool:
    """Whether a plan is as good as a claim says that one can be, and no better.

    The claim may come from a program in which all limits on times are wider; `gain` is the most
    that one of them is worth.
    """
    if not claim.ended or scale.visited(plan) != claim.required or _beaten(scale, claim, plan):
        return False
    return plan.profit >= claim.bound - claim.rounding - _limits(plan) * gain


def _limits(plan: Solution) -> int:
    """Count the limits on the times of a plan: windows, latest ends, and both ends of shifts."""
    return 3 * len(plan.visits) + 2 * len(plan.routes)


def _blur(network: Network, plan: Solution) -> float:
    """Profit that a solver may be off because of its tolerances."""
    in_time = _limits(plan) * network.rules.horizon * network.best_rate
    return ACCURACY * (network.ceiling + in_time)


METHOD = Method(
    name="milp",
    description="The paper's mathematical program by branch and cut (HiGHS or Gurobi).",
    function=milp,
    options=MilpOptions,
    can=FEATURES,
)
