"""Why a plan is as it is: what each stop that is left out would cost, what more time is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from decost.method.deadline import Deadline
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.planner.door import solve
from decost.problem.instance import Arrays, Instance
from decost.problem.plan import Solution
from decost.timeline.network import ALL_TYPES, useful_alternatives
from decost.timeline.routes import optimal_stays, solution_for

Why: TypeAlias = Literal[
    "no vehicle", "unreachable", "closed", "no way home", "worthless", "required", "costs"
]

NEARER: tuple[Why, ...] = ("no vehicle", "unreachable", "closed", "no way home", "costs")
"""What keeps vehicles from visiting a stop; of several reasons the last one counts."""

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
        "no vehicle" if it is for none; "unreachable" if even the direct way takes longer than
        there is time; "closed" if it takes until after the last moment to start service; "no way
        home" if nobody who has served it is back in time; "worthless" if it earns nothing;
        "required" if a plan that contains it leaves out a required stop that this plan visits;
        else "costs".
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
        By how much the profit rises if every vehicle is due one unit of time later.
    unit_proven
        Whether both plans that this compares are optimal.
    unit_required
        How many more required stops can be visited then; profits are not compared if there are
        any.
    """

    result: Result
    left_out: tuple[LeftOut, ...]
    unit_value: float
    unit_proven: bool
    unit_required: int = 0

    def __str__(self) -> str:
        """Say it in words, a line a stop."""
        label = self.result.instance.label
        lines = [f"{label(one.stop)}: {_in_words(one)}" for one in self.left_out]
        about = "" if self.unit_proven else ", as far as is known"
        more = f"{self.unit_value:+.6g} profit"
        if self.unit_required:
            more = f"{self.unit_required:+d} required stop{'s' * (self.unit_required > 1)}"
        lines.append(f"one more unit of budget: {more}{about}")
        return "\n".join(lines)


def explain(result: Result, *, time_limit: float = MOST) -> Explanation:
    """Find out why stops are left out of a plan, and what one more unit of budget is worth.

    For each stop that could be visited, the best plan is sought in which it is required, as are
    the required stops of this plan. When time is over, or at Ctrl-C, the plan that visits it alone
    must do.

    Parameters
    ----------
    result
        The plan, of whatever method.
    time_limit
        Seconds for all of it; what is not proven by then says so.
    """
    instance = result.instance
    deadline = Deadline(time_limit)
    useful = deadline.work(lambda: useful_alternatives(instance.arrays, ALL_TYPES))
    if useful is None:
        raise KeyboardInterrupt
    visited = {visit.stop for visit in result.solution.visits}
    rest = [stop for stop in range(1, instance.nodes) if stop not in visited]
    within = set(instance.alternative_stop[useful.alternative].tolist())
    why = {stop: "costs" if stop in within else _hindrance(instance, stop) for stop in rest}
    questions = _Questions(result, list(why.values()).count("costs") + 1, deadline)
    more = questions.ask(_longer(instance), result.solution)
    unit = float(useful.profit[useful.alternative].sum())
    left_out = [
        _left_out(questions, stop, unit) if why[stop] == "costs" else LeftOut(stop, why[stop])
        for stop in rest
    ]
    scale = Scale(instance)
    required = max(0, scale.visited(more.solution) - scale.visited(result.solution))
    return Explanation(
        result=result,
        left_out=tuple(left_out),
        unit_value=0.0 if required else max(0.0, more.profit - result.profit),
        unit_proven=scale.proven(result) and scale.proven(more),
        unit_required=required,
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
        self._number = max(1, self._number - 1)
        if share == 0.0 and start is not None:
            return judged(changed, start)
        answer = solve(changed, time_limit=share, seed=self.result.seed, start=start)
        if not Scale(changed).proven(answer) and answer.runtime < 0.9 * share:  # Ctrl-C
            self._deadline.cancel()
        return answer


def _longer(instance: Instance) -> Instance:
    """Give every vehicle one more unit of time."""
    fleet = [replace(vehicle, due=vehicle.due + 1) for vehicle in instance.fleet]
    return instance.replace(budget=instance.budget + 1, fleet=fleet)


def _left_out(questions: _Questions, stop: int, unit: float) -> LeftOut:
    """Find out what a stop costs that could be visited; `unit` is what there is to earn."""
    result = questions.result
    instance = result.instance
    alone = _alone(instance, stop)
    visited = [visit.stop for visit in result.solution.visits if instance.required[visit.stop]]
    forced = questions.ask(_requiring(instance, [*visited, stop]), alone)
    scale = Scale(forced.instance)
    proven = scale.proven(forced)
    if scale.visited(forced.solution) <= len(visited):
        if alone is None and visited:  # else a way round may be shorter
            forced = questions.ask(_requiring(instance, [stop]), None)
        if alone is None and all(visit.stop != stop for visit in forced.solution.visits):
            return LeftOut(stop, "no way home", proven=forced.status == "infeasible")
        return LeftOut(stop, "required", proven=proven)
    cost = result.profit - forced.profit
    if abs(cost) < ROUNDING * unit:
        cost = 0.0
    return LeftOut(stop, "costs", cost, proven)


def _requiring(instance: Instance, stops: Sequence[int]) -> Instance:
    """Require these stops and no others."""
    return instance.replace(required=np.isin(np.arange(instance.nodes), stops))


def _alone(instance: Instance, stop: int) -> Solution | None:
    """Make the best plan that visits one stop, if the direct ways there and back allow any."""
    _, first = np.unique(instance.arrays.vehicle_type, return_index=True)
    vehicles = first.tolist()
    profit = optimal_stays(instance, [[stop]] * len(vehicles), vehicles=vehicles).profit
    best = int(np.argmax(profit))
    if profit[best] == -math.inf:
        return None
    orders: list[list[int]] = [[] for _ in range(instance.vehicles)]
    orders[vehicles[best]] = [stop]
    return solution_for(instance, orders)


def _hindrance(instance: Instance, stop: int) -> Why:
    """Tell what keeps a stop from being visited, "costs" if nothing does."""
    if instance.full_profits[stop] == 0 and not instance.required[stop]:
        return "worthless"
    arrays = instance.arrays
    ways = range(arrays.first[stop], arrays.first[stop + 1])
    reasons: list[Why] = [
        _obstacle(arrays, kind, way)
        for kind in range(len(arrays.type_start))
        for way in ways
        if arrays.admits[kind, way]
    ]
    if reasons and not arrays.triangle:
        return "no way home"
    return max(reasons, key=NEARER.index, default="no vehicle")


def _obstacle(arrays: Arrays, kind: int, way: int) -> Why:
    """Tell what keeps vehicles of a type from using an alternative on its own."""
    travel, slack = arrays.planes[arrays.type_plane[kind]], arrays.slack
    place, due = arrays.place[way], arrays.type_due[kind]
    arrive = arrays.type_begin[kind] + travel[arrays.type_start[kind], place]
    if arrive > due + slack:
        return "unreachable"
    start = max(arrive, arrays.open[way])
    leave = start + arrays.min_stay[way]
    if start > arrays.close[way] + slack or leave > arrays.leave_by[way] + slack:
        return "closed"
    if leave + travel[place, arrays.type_end[kind]] > due + slack:
        return "no way home"
    return "costs"


def _in_words(one: LeftOut) -> str:
    known = "" if one.proven else ", as far as is known"
    words = {
        "no vehicle": "no vehicle may go there",
        "unreachable": "too far away",
        "closed": "closes before anybody can be there",
        "no way home": f"nobody who has served it is back in time{known}",
        "worthless": "earns nothing",
        "required": f"a visit would cost a required stop{known}",
        "costs": f"a visit would cost {'' if one.proven else 'at most '}{one.cost:.6g}",
    }
    if one.why == "costs" and one.cost <= 0:
        much = f"{-one.cost:.6g} more" if one.cost < 0 else "as much"
        return f"another plan with it earns {much}{known}"
    return words[one.why]
