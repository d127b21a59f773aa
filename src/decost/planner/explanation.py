"""Why a plan is as it is: what each stop that is left out would cost, what more time is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from decost.method.deadline import Deadline
from decost.method.result import Result
from decost.planner.door import solve
from decost.problem.instance import Instance
from decost.timeline.network import Useful, useful_stops
from decost.timeline.routes import best_solution, optimal_stays

if TYPE_CHECKING:
    from decost.problem.plan import Solution

Why: TypeAlias = Literal["unreachable", "closed", "no way home", "worthless", "costs"]

MOST = 60.0
"""Seconds for all of an explanation, unless told."""

ROUNDING = 1e-12
"""Cost, as a share of all that stops can earn, below which it is nothing but rounding."""


@dataclass(frozen=True)
class LeftOut:
    """Why a stop is not in the plan.

    Attributes
    ----------
    stop
        Its number.
    why
        "unreachable" if even the direct way takes longer than the budget; "closed" if it takes
        until after the last moment to start service; "no way home" if nobody who has served it is
        back in time; "worthless" if it earns nothing; else "costs".
    cost
        By how much the best plan found that contains the stop earns less than this plan; below
        zero if it earns more.
    proven
        Whether no plan that contains it earns more than that.
    """

    stop: int
    why: Why
    cost: float = math.inf
    proven: bool = True


@dataclass(frozen=True)
class Explanation:
    """Why a plan is as it is.

    Attributes
    ----------
    result
        The plan.
    left_out
        The stops that are not visited, in the order of their numbers.
    unit_value
        By how much the profit rises with one more unit of budget.
    unit_proven
        Whether both plans that this compares are optimal.
    """

    result: Result
    left_out: tuple[LeftOut, ...]
    unit_value: float
    unit_proven: bool

    def __str__(self) -> str:
        """Say it in words, a line a stop."""
        label = self.result.instance.label
        lines = [f"{label(one.stop)}: {_in_words(one)}" for one in self.left_out]
        about = "" if self.unit_proven else ", as far as is known"
        lines.append(f"one more unit of budget: {self.unit_value:+.6g} profit{about}")
        return "\n".join(lines)


def explain(result: Result, *, time_limit: float = MOST) -> Explanation:
    """Find out why stops are left out of a plan, and what one more unit of budget is worth.

    For each stop that could be visited, the best plan is sought that contains it: the stop gets
    a bonus that no other stop can outweigh, which is taken off afterwards. When time is over, or
    at Ctrl-C, the plan that visits it alone must do.

    Parameters
    ----------
    result
        The plan, of whatever method.
    time_limit
        Seconds for all of it; what is not proven by then says so.
    """
    instance = result.instance
    deadline = Deadline(time_limit)
    useful = deadline.work(lambda: useful_stops(instance.arrays, instance.matrix is None))
    if useful is None:
        raise KeyboardInterrupt
    visited = {visit.stop for visit in result.solution.visits}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    why = {stop: _hindrance(instance, useful, stop) for stop in rest}
    questions = _Questions(result, list(why.values()).count("costs") + 1, deadline)
    more = questions.ask(instance.replace(budget=instance.budget + 1), result.solution)
    bonus = 2.0 * float(useful.profit.sum()) or 1.0
    left_out = [
        _left_out(questions, stop, bonus) if why[stop] == "costs" else LeftOut(stop, why[stop])
        for stop in rest
    ]
    return Explanation(
        result=result,
        left_out=tuple(left_out),
        unit_value=max(0.0, more.profit - result.profit),
        unit_proven=more.status == result.status == "optimal",
    )


class _Questions:
    """Problems to solve in turn, each in its share of the time that is left."""

    def __init__(self, result: Result, number: int, deadline: Deadline) -> None:
        self.result = result
        self._number = number
        self._deadline = deadline

    def ask(self, changed: Instance, start: Solution | None) -> Result:
        """Solve a problem, or take the plan that is there if time is over."""
        share = max(0.0, self._deadline.left) / self._number
        self._number -= 1
        if share == 0.0 and start is not None:
            return Result(changed, start, "feasible")
        answer = solve(changed, time_limit=share, seed=self.result.seed, start=start)
        if answer.status == "feasible" and answer.runtime < 0.9 * share:  # Ctrl-C
            self._deadline.cancel()
        return answer


def _left_out(questions: _Questions, stop: int, bonus: float) -> LeftOut:
    result = questions.result
    reward = result.instance.reward.copy()
    reward[stop] += bonus
    changed = result.instance.replace(reward=reward)
    alone = [[stop]]
    feasible = optimal_stays(changed, alone).feasible  # else a way round may be shorter
    forced = questions.ask(changed, best_solution(changed, alone) if feasible else None)
    if all(visit.stop != stop for visit in forced.solution.visits):
        return LeftOut(stop, "no way home", proven=forced.status == "optimal")
    cost = result.profit - (forced.profit - bonus)
    if abs(cost) < ROUNDING * bonus:
        cost = 0.0
    return LeftOut(stop, "costs", cost, forced.status == "optimal")


def _hindrance(instance: Instance, useful: Useful, stop: int) -> Why:
    """Tell what keeps a stop from being visited, "costs" if nothing does."""
    if instance.full_profit[stop] == 0:
        return "worthless"
    if stop in useful.stop:
        return "costs"
    if instance.matrix is not None:
        return "no way home"
    slack = instance.arrays.slack
    arrive = float(instance.travel[0, stop])
    if arrive > instance.budget + slack:
        return "unreachable"
    start = max(arrive, float(instance.open[stop]))
    leave = start + float(instance.min_stay[stop])
    if start > instance.close[stop] + slack or leave > instance.leave_by[stop] + slack:
        return "closed"
    if leave + float(instance.travel[stop, instance.end]) > instance.budget + slack:
        return "no way home"
    return "costs"


def _in_words(one: LeftOut) -> str:
    known = "" if one.proven else ", as far as is known"
    words = {
        "unreachable": "too far away",
        "closed": "closes before anybody can be there",
        "no way home": f"nobody who has served it is back in time{known}",
        "worthless": "earns nothing",
        "costs": f"a visit would cost {'' if one.proven else 'at most '}{one.cost:.6g}",
    }
    if one.why == "costs" and one.cost <= 0:
        much = f"{-one.cost:.6g} more" if one.cost < 0 else "as much"
        return f"another plan with it earns {much}{known}"
    return words[one.why]
