"""Independent check of a plan, from the instance and the routes, starts and stays alone.

This module shares no code with any method: it repeats the problem's definition on purpose.
Every comparison is written so that a NaN is a violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeAlias

from decost.problem.instance import TOLERANCE, Instance
from decost.problem.plan import Route, Solution

Rule: TypeAlias = Literal[
    "vehicles",
    "stop",
    "twice",
    "travel",
    "open",
    "close",
    "leave_by",
    "min_stay",
    "max_stay",
    "budget",
    "profit",
]

_TEXT: dict[Rule, str] = {
    "vehicles": "more routes than vehicles",
    "stop": "no such stop",
    "twice": "visited before",
    "travel": "service starts before the vehicle arrives",
    "open": "service starts before the stop opens",
    "close": "service starts after the stop closes",
    "leave_by": "service ends after leave_by",
    "min_stay": "stay shorter than the minimum",
    "max_stay": "stay longer than the maximum",
    "budget": "back after the budget",
    "profit": "profit given is not the profit earned",
}


@dataclass(frozen=True)
class Violation:
    """One broken rule: on which route, at which stop, and by how much.

    `route` and `position` count from 0; both are None for rules about the whole plan.
    """

    rule: Rule
    amount: float
    route: int | None = None
    position: int | None = None
    stop: int | None = None
    label: str | int | None = None

    def __str__(self) -> str:
        where = "plan"
        if self.route is not None:
            where = f"route {self.route + 1}"
        if self.position is not None:
            where += f", visit {self.position + 1} (stop {self.label!r})"
        by = "" if self.rule in ("stop", "twice") else f" by {self.amount:.6g}"
        return f"{where}: {_TEXT[self.rule]}{by} [{self.rule}]"


def check(instance: Instance, solution: Solution) -> list[Violation]:
    """List every rule that a plan breaks; an empty list means that it is feasible.

    Times are compared with a tolerance of `instance.tolerance`, profits with `TOLERANCE`
    relative to what the stop can earn within the budget.
    """
    violations = []
    if len(solution.routes) > instance.vehicles:
        extra = len(solution.routes) - instance.vehicles
        violations.append(Violation("vehicles", float(extra)))
    visited: set[int] = set()
    for number, route in enumerate(solution.routes):
        violations.extend(_check_route(instance, number, route, visited))
    return violations


def profit_of(instance: Instance, solution: Solution) -> float:
    """Profit of a plan, worked out anew from its stays."""
    return sum(
        _earned(instance, visit.stop, visit.stay)
        for route in solution.routes
        for visit in route.visits
    )


def _check_route(
    instance: Instance, number: int, route: Route, visited: set[int]
) -> list[Violation]:
    found: list[Violation] = []
    slack = instance.tolerance
    travel = instance.travel
    place = 0
    clock = 0.0
    for position, visit in enumerate(route.visits):
        stop, start, stay = visit.stop, float(visit.start), float(visit.stay)
        if not (isinstance(stop, Integral) and 1 <= stop <= instance.stops):
            found.append(Violation("stop", float("nan"), number, position, stop, stop))
            return found

        def limit(
            rule: Rule, excess: float, most: float = slack, where: int = position, at: int = stop
        ) -> None:
            if not excess <= most:
                found.append(Violation(rule, excess, number, where, at, instance.label(at)))

        if stop in visited:
            limit("twice", float("nan"))
        visited.add(stop)
        limit("travel", clock + float(travel[place, stop]) - start)
        limit("open", float(instance.open[stop]) - start)
        limit("close", start - float(instance.close[stop]))
        limit("min_stay", float(instance.min_stay[stop]) - stay)
        limit("max_stay", stay - _longest(instance, stop))
        limit("leave_by", start + stay - float(instance.leave_by[stop]))
        earned = _earned(instance, stop, stay)
        most = _earned(instance, stop, instance.budget)
        limit("profit", abs(float(visit.profit) - earned), TOLERANCE * most)
        place, clock = stop, start + stay
    if route.visits:
        late = clock + float(travel[place, instance.end]) - instance.budget
        if not late <= slack:
            found.append(Violation("budget", late, number))
    return found


def _longest(instance: Instance, stop: int) -> float:
    first, last = instance.piece_start[stop], instance.piece_start[stop + 1]
    return float(instance.min_stay[stop] + instance.piece_length[first:last].sum())


def _earned(instance: Instance, stop: int, stay: float) -> float:
    if not (isinstance(stop, Integral) and 1 <= stop <= instance.stops):
        return 0.0
    profit = float(instance.reward[stop])
    rest = stay - float(instance.min_stay[stop])
    for piece in range(instance.piece_start[stop], instance.piece_start[stop + 1]):
        rate, length = float(instance.piece_rate[piece]), float(instance.piece_length[piece])
        profit += rate * min(max(rest, 0.0), length)
        rest -= length
    return profit
