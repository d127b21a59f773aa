"""Why a plan is as it is: what each stop that is left out would cost, what more time is worth."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from decost.instance import Instance
from decost.solver import solve

if TYPE_CHECKING:
    from decost.result import Result

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
        By how much the best plan found that contains the stop earns less than this plan.
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
    a bonus that no other stop can outweigh, which is taken off afterwards.

    Parameters
    ----------
    result
        The plan, of whatever method.
    time_limit
        Seconds for all of it; what is not proven by then says so.
    """
    instance = result.instance
    end = time.perf_counter() + time_limit
    visited = {visit.stop for visit in result.solution.visits}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    questions = sum(_hindrance(instance, stop) == "costs" for stop in rest) + 1

    def ask(changed: Instance) -> Result:
        nonlocal questions
        share = max(0.0, end - time.perf_counter()) / questions
        questions -= 1
        return solve(changed, time_limit=share, seed=result.seed)

    more = ask(instance.replace(budget=instance.budget + 1))
    left_out = tuple(_left_out(result, stop, ask) for stop in rest)
    return Explanation(
        result=result,
        left_out=left_out,
        unit_value=max(0.0, more.profit - result.profit),
        unit_proven=more.status == result.status == "optimal",
    )


def _left_out(result: Result, stop: int, ask: Any) -> LeftOut:
    instance = result.instance
    why = _hindrance(instance, stop)
    if why != "costs":
        return LeftOut(stop, why)
    bonus = 2.0 * float(instance.full_profit.sum())
    reward = instance.reward.copy()
    reward[stop] += bonus
    forced = ask(instance.replace(reward=reward))
    if all(visit.stop != stop for visit in forced.solution.visits):
        return LeftOut(stop, "no way home", proven=forced.status == "optimal")
    cost = result.profit - (forced.profit - bonus)
    if cost < ROUNDING * bonus:
        cost = 0.0
    return LeftOut(stop, "costs", cost, forced.status == "optimal")


def _hindrance(instance: Instance, stop: int) -> Why:
    """Tell what keeps a stop from being visited even alone, "costs" if nothing does."""
    if instance.full_profit[stop] == 0:
        return "worthless"
    if instance.matrix is not None:  # a way round may be shorter
        return "costs"
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
    if one.why == "costs" and one.cost == 0:
        return f"another plan with it earns as much{known}"
    return words[one.why]
