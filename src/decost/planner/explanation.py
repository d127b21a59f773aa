"""Why a plan is as it is: what each stop that is left out would cost, what more time is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from decost.method.deadline import Deadline
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.planner.door import solve
from decost.planner.requirements import Hindrance, Obstacle, Reach
from decost.problem.checker import choose_alternatives
from decost.problem.instance import Instance
from decost.problem.names import amount_text
from decost.problem.plan import Solution, alternative_numbers
from decost.timeline.network import ALL_TYPES, useful_alternatives
from decost.timeline.routes import best_solution, optimal_stays, solution_for, stays_along

Why: TypeAlias = Hindrance | Literal["worthless", "required", "costs"]

MOST = 2.0
"""Seconds for all of an explanation, unless told."""

MOST_FOR_A_PAGE = 10.0
"""The same for a report, which is read more than once."""

NEAR = 0.3
"""Share of them for plans that are near the one to explain."""

LEAST = 0.1
"""Seconds for a question, as long as there are so many: better a few answers than none."""

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
        "no vehicle" if it is for none; "unreachable" if nobody can be there in time; "closed" if
        it takes until after the last moment to start service; "no way home" if nobody who has
        served it is back in time; "worthless" if it earns nothing; "required" if a plan that
        contains it leaves out a required stop that this plan visits; else "costs".
    cost
        By how much the best plan found that contains the stop earns less than this plan; below
        zero if it earns more, infinite if no such plan was found in time.
    proven
        Whether no plan that contains it earns more than that.
    obstacle
        What keeps vehicles from visiting it, with the times, if that is the reason.
    """

    stop: int
    why: Why
    cost: float = math.inf
    proven: bool = True
    obstacle: Obstacle | None = None

    def in_words(self, instance: Instance) -> str:
        """Say it in one line."""
        known = "" if self.proven else ", as far as is known"
        if self.obstacle is not None:
            return self.obstacle.in_words(instance)
        if self.why == "no way home":
            return f"nobody who has served it is at the end in time{known}"
        if self.why == "worthless":
            return "earns nothing"
        if self.why == "required":
            return f"a visit would cost a required stop{known}"
        if self.cost == math.inf:
            return "there was no time to find out what a visit would cost"
        if self.cost <= 0:
            much = f"{amount_text(-self.cost)} more" if self.cost < 0 else "as much"
            return f"another plan with it earns {much}{known}"
        return f"a visit would cost {'' if self.proven else 'at most '}{amount_text(self.cost)}"


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

    @property
    def nearest_first(self) -> list[LeftOut]:
        """The stops that are not visited: required ones, then those that would cost least."""
        required = self.result.instance.required
        return sorted(
            self.left_out, key=lambda one: (not required[one.stop], one.why != "costs", one.cost)
        )

    @property
    def value_in_words(self) -> str:
        """Say what more time is worth."""
        instance = self.result.instance
        what = "one more minute" if instance.unit == "minutes" else "one more unit of budget"
        about = "" if self.unit_proven else ", as far as is known"
        more = f"+{amount_text(self.unit_value)} profit"
        if self.unit_required:
            more = f"{self.unit_required:+d} required stop{'s' * (self.unit_required > 1)}"
        return f"{what}: {more}{about}"

    def __str__(self) -> str:
        """Say it in words, a line a stop, what is nearest to a visit first."""
        instance = self.result.instance
        lines = [
            f"{instance.label(one.stop)}: {one.in_words(instance)}" for one in self.nearest_first
        ]
        return "\n".join([*lines, self.value_in_words])

    def to_dict(self) -> dict[str, Any]:
        """Give it as it is written to JSON; a cost that is not known, or infinite, is null."""
        instance = self.result.instance
        return {
            "left_out": [
                {
                    "stop": instance.label(one.stop),
                    "why": one.why,
                    "cost": float(one.cost) if math.isfinite(one.cost) else None,
                    "proven": bool(one.proven),
                    "words": one.in_words(instance),
                }
                for one in self.nearest_first
            ],
            "unit_value": float(self.unit_value),
            "unit_required": self.unit_required,
            "unit_proven": bool(self.unit_proven),
            "words": self.value_in_words,
        }


def explain(result: Result, *, time_limit: float = MOST) -> Explanation:
    """Find out why stops are left out of a plan, and what one more unit of budget is worth.

    For each stop that could be visited, the best plan is sought in which it is required, as are
    the required stops of this plan: at first those that are this plan with the stop added or in
    the place of another; then, stops that cost least coming first, any. When time is over, or at
    Ctrl-C, what has been found must do.

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
    able = [stop for stop in rest if stop in within]
    left_out = dict(_unable(instance, [stop for stop in rest if stop not in within]))
    near = deadline.work(lambda: _near_plans(result, able, deadline, NEAR * time_limit)) or {}
    questions = _Questions(result, len(able) + 1, deadline)
    more = questions.ask(_longer(instance), result.solution)
    unit = float(useful.profit[useful.alternative].sum())
    able.sort(key=lambda stop: (not instance.required[stop], -_profit(near, stop)))
    for number, stop in enumerate(able):
        if questions.over:
            left_out |= _unasked(result, able[number:], near)
            break
        left_out[stop] = _left_out(questions, stop, near.get(stop), unit)
    scale = Scale(instance)
    required = max(0, scale.visited(more.solution) - scale.visited(result.solution))
    return Explanation(
        result=result,
        left_out=tuple(left_out[stop] for stop in rest),
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
        self._beyond = 0.0  # by how much questions took longer than they were given, at most

    @property
    def _left(self) -> float:
        return max(0.0, self._deadline.left - self._beyond)

    @property
    def over(self) -> bool:
        """Whether there is no time for another question."""
        return self._left == 0.0

    def ask(self, changed: Instance, start: Solution | None) -> Result:
        """Solve a problem, or take the plan that is there if time is over."""
        before = self._deadline.left
        share = max(self._left / self._number, min(self._left, LEAST))
        self._number = max(1, self._number - 1)
        if share == 0.0 and start is not None:
            return judged(changed, start)
        answer = solve(changed, time_limit=share, seed=self.result.seed, start=start)
        self._beyond = max(self._beyond, before - self._deadline.left - share)
        if not Scale(changed).proven(answer) and answer.runtime < 0.9 * share:  # Ctrl-C
            self._deadline.cancel()
        return answer


def _unable(instance: Instance, stops: Sequence[int]) -> Iterator[tuple[int, LeftOut]]:
    """Say of stops that are not worth a visit, or cannot be visited, which of the two."""
    reach = Reach(instance) if stops else None
    for stop in stops:
        assert reach is not None
        if instance.full_profits[stop] == 0 and not instance.required[stop]:
            yield stop, LeftOut(stop, "worthless")
        else:
            obstacle = reach.obstacle(stop)
            yield stop, LeftOut(stop, obstacle.why, obstacle=obstacle)


def _longer(instance: Instance) -> Instance:
    """Give every vehicle one more unit of time."""
    fleet = [replace(vehicle, due=vehicle.due + 1) for vehicle in instance.fleet]
    return instance.replace(budget=instance.budget + 1, fleet=fleet)


def _left_out(questions: _Questions, stop: int, near: Solution | None, unit: float) -> LeftOut:
    """Find out what a stop costs that could be visited; `unit` is what there is to earn."""
    result = questions.result
    instance = result.instance
    visited = [visit.stop for visit in result.solution.visits if instance.required[visit.stop]]
    start = _alone(instance, stop) if near is None else near
    forced = questions.ask(_requiring(instance, [*visited, stop]), start)
    scale = Scale(forced.instance)
    proven = scale.proven(forced)
    if scale.visited(forced.solution) <= len(visited):
        if start is None and visited:  # else a way round may be shorter
            forced = questions.ask(_requiring(instance, [stop]), None)
        if start is None and all(visit.stop != stop for visit in forced.solution.visits):
            return LeftOut(stop, "no way home", proven=forced.status == "infeasible")
        return LeftOut(stop, "required", proven=proven)
    cost = result.profit - forced.profit
    if abs(cost) < ROUNDING * unit:
        cost = 0.0
    return LeftOut(stop, "costs", cost, proven)


def _unasked(
    result: Result, stops: Sequence[int], near: Mapping[int, Solution]
) -> dict[int, LeftOut]:
    """Say what stops cost as far as is known when there is no time to ask."""
    instance = result.instance
    profits = {stop: _profit(near, stop) for stop in stops}
    if not any(instance.required[visit.stop] for visit in result.solution.visits):
        profits = _profits_alone(instance, stops) | {
            stop: near[stop].profit for stop in stops if stop in near
        }
    return {
        stop: LeftOut(stop, "costs", result.profit - profit, proven=False)
        for stop, profit in profits.items()
    }


def _requiring(instance: Instance, stops: Sequence[int]) -> Instance:
    """Require these stops and no others."""
    return instance.replace(required=np.isin(np.arange(instance.nodes), stops))


def _profit(plans: Mapping[int, Solution], stop: int) -> float:
    return plans[stop].profit if stop in plans else -math.inf


def _near_plans(
    result: Result, stops: Sequence[int], deadline: Deadline, seconds: float
) -> dict[int, Solution]:
    """Make a plan with each stop: this one with the stop more, or in the place of another.

    Stops come in the order of what they can earn. Required stops of the plan stay in it, and
    visits keep their alternatives.
    """
    instance = result.instance
    solution = choose_alternatives(instance, result.solution)
    routes = [alternative_numbers(instance, route) for route in solution.routes]
    worth = stays_along(instance, routes, range(len(routes)))
    plans: dict[int, Solution] = {}
    if not worth.feasible:
        return plans
    arrays = instance.arrays
    deadline = deadline.child(seconds)
    for stop in sorted(stops, key=lambda stop: -instance.full_profits[stop]):
        if deadline.left <= 0:
            break
        tries = [
            (vehicle, [*route[:place], way, *route[place + dropped :]])
            for vehicle, route in enumerate(routes)
            for way in range(arrays.first[stop], arrays.first[stop + 1])
            if arrays.admits[arrays.vehicle_type[vehicle], way]
            for dropped in (0, 1)
            for place in range(len(route) + 1 - dropped)
            if not (dropped and instance.required[instance.alternative_stop[route[place]]])
        ]
        if not tries:
            continue
        vehicles = [vehicle for vehicle, _ in tries]
        found = stays_along(instance, [route for _, route in tries], vehicles).profit
        gains = found - worth.profit[vehicles]
        best = int(np.argmax(gains))
        if gains[best] > -math.inf:
            vehicle, route = tries[best]
            plans[stop] = best_solution(
                instance, [*routes[:vehicle], route, *routes[vehicle + 1 :]]
            )
    return plans


def _profits_alone(instance: Instance, stops: Sequence[int]) -> dict[int, float]:
    """Give what the best plan that visits one stop earns, for each of them in one go."""
    arrays = instance.arrays
    kinds, first = np.unique(arrays.vehicle_type, return_index=True)
    tries = [
        (stop, vehicle, way)
        for stop in stops
        for kind, vehicle in zip(kinds.tolist(), first.tolist(), strict=True)
        for way in range(arrays.first[stop], arrays.first[stop + 1])
        if arrays.admits[kind, way]
    ]
    best = dict.fromkeys(stops, -math.inf)
    if tries:
        found = stays_along(instance, [[way] for *_, way in tries], [one[1] for one in tries])
        for (stop, *_), profit in zip(tries, found.profit.tolist(), strict=True):
            best[stop] = max(best[stop], profit)
    return best


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
