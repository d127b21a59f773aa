"""Independent check of a plan, from the instance and the routes, starts and stays alone.

This module shares no code with any method: it repeats the problem's definition on purpose.
Every comparison is written so that a NaN is a violation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias

from decost.problem.instance import TOLERANCE, Instance
from decost.problem.plan import Route, Solution, Visit

Rule: TypeAlias = Literal[
    "vehicles",
    "begin",
    "stop",
    "alternative",
    "twice",
    "vehicle",
    "travel",
    "open",
    "close",
    "leave_by",
    "min_stay",
    "max_stay",
    "budget",
    "due",
    "profit",
    "required",
]

_TEXT: dict[Rule, str] = {
    "vehicles": "more routes than vehicles",
    "begin": "leaves before it may begin",
    "stop": "no such stop",
    "alternative": "no such alternative",
    "twice": "visited before",
    "vehicle": "the alternative does not admit the vehicle",
    "travel": "service starts before the vehicle arrives",
    "open": "service starts before the stop opens",
    "close": "service starts after the stop closes",
    "leave_by": "service ends after leave_by",
    "min_stay": "stay shorter than the minimum",
    "max_stay": "stay longer than the maximum",
    "budget": "back after the budget",
    "due": "at its end after it is due",
    "profit": "profit given is not the profit earned",
    "required": "required, and not visited",
}
_WITHOUT_AMOUNT = ("stop", "alternative", "twice", "vehicle", "required")


@dataclass(frozen=True)
class Violation:
    """One broken rule: on which route, at which stop, and by how much.

    `route` and `position` count from 0; both are None for rules about the whole plan. `vehicle`
    is the id of the route's vehicle, None if it has none but its number. The amount is NaN for
    rules that are not a matter of degree. The rule on being back in time is called `budget` if
    that is the due time of all vehicles, else `due`.
    """

    rule: Rule
    amount: float
    route: int | None = None
    position: int | None = None
    stop: int | None = None
    label: str | int | None = None
    vehicle: str | None = None

    def __str__(self) -> str:
        stop = f"stop {self.label!r}"
        where = "plan" if self.stop is None else stop
        if self.route is not None:
            known = self.vehicle is not None
            where = f"vehicle {self.vehicle!r}" if known else f"route {self.route + 1}"
        if self.position is not None:
            where += f", visit {self.position + 1} ({stop})"
        by = "" if self.rule in _WITHOUT_AMOUNT else f" by {self.amount:.6g}"
        return f"{where}: {_TEXT[self.rule]}{by} [{self.rule}]"


def check(instance: Instance, solution: Solution) -> list[Violation]:
    """List every rule that a plan breaks; an empty list means that it is feasible.

    Times are compared with a tolerance of `instance.tolerance`, profits with `TOLERANCE`
    relative to what the alternative can earn between the earliest begin and the latest due
    time. Alternatives that the plan does not name are chosen by `choose_alternatives`.
    """
    violations = []
    if len(solution.routes) > instance.vehicles:
        extra = len(solution.routes) - instance.vehicles
        violations.append(Violation("vehicles", float(extra)))
    visited: set[int] = set()
    for number, route in enumerate(choose_alternatives(instance, solution).routes):
        violations.extend(_check_route(instance, number, route, visited))
    violations.extend(
        Violation("required", float("nan"), stop=stop, label=instance.label(stop))
        for stop in instance.required.nonzero()[0].tolist()
        if stop not in visited
    )
    return violations


def profit_of(instance: Instance, solution: Solution) -> float:
    """Profit of a plan, worked out anew from its stays."""
    profit = 0.0
    for route in choose_alternatives(instance, solution).routes:
        for visit in route.visits:
            number = _alternative(instance, visit.stop, visit.alternative)
            profit += 0.0 if number is None else _earned(instance, number, float(visit.stay))
    return profit


def choose_alternatives(instance: Instance, solution: Solution) -> Solution:
    """Copy a plan with the alternatives that it does not name, for the fewest violations.

    Among those with as few, the ones that earn most are taken, then the first ones. Where a stop
    has none, or does not exist, there is nothing to choose.
    """
    if all(visit.alternative is not None for visit in solution.visits):
        return solution
    return Solution(
        tuple(_with_alternatives(instance, *pair) for pair in enumerate(solution.routes))
    )


class _Choice(NamedTuple):
    """The best way to choose for the visits so far, by the place of the last one."""

    broken: int
    loss: float
    chosen: tuple[int | None, ...]
    place: int | None


def _with_alternatives(instance: Instance, number: int, route: Route) -> Route:
    # Starts and stays are given, so that two visits meet in the travel time between them only.
    vehicle = min(number, instance.vehicles - 1)
    mine = instance.fleet[vehicle]
    choices = [_Choice(0, 0.0, (), mine.start)]
    clock = route.depart
    for visit in route.visits:
        candidates: list[int | None] = [visit.alternative]
        if visit.alternative is None and _is_stop(instance, visit.stop):
            first = instance.alternative_first
            candidates = list(range(int(first[visit.stop + 1] - first[visit.stop]))) or [None]
        longer = []
        for which in candidates:
            alternative = _alternative(instance, visit.stop, which)
            if alternative is None:
                broken, loss, place = 1, 0.0, None
            else:
                broken = len(_broken_by_visit(instance, vehicle, alternative, visit))
                loss = -_earned(instance, alternative, float(visit.stay))
                place = int(instance.alternative_place[alternative])
            ways = [
                _Choice(
                    before.broken
                    + broken
                    + (not _lag(instance, vehicle, before.place, place, clock, visit.start) <= 0),
                    before.loss + loss,
                    (*before.chosen, which),
                    place,
                )
                for before in choices
            ]
            longer.append(min(ways, key=lambda way: way[:2]))
        choices, clock = longer, float(visit.start) + float(visit.stay)
    best = min(
        choices,
        key=lambda way: (
            way.broken + (not _lag(instance, vehicle, way.place, mine.end, clock, mine.due) <= 0),
            way.loss,
        ),
    )
    visits = zip(route.visits, best.chosen, strict=True)
    return replace(route, visits=tuple(visit._replace(alternative=one) for visit, one in visits))


def _lag(
    instance: Instance, vehicle: int, here: int | None, there: int | None, left: float, due: float
) -> float:
    """By how much one comes later than is tolerated; not at all if a place is not known."""
    if here is None or there is None:
        return 0.0
    return left + float(instance.travel_of(vehicle)[here, there]) - due - instance.tolerance


def _check_route(
    instance: Instance, number: int, route: Route, visited: set[int]
) -> list[Violation]:
    found: list[Violation] = []
    vehicle = min(number, instance.vehicles - 1)  # a route too many is judged as the last one
    mine = instance.fleet[vehicle]
    name = mine.id if number == vehicle and mine.id != str(number + 1) else None
    slack = instance.tolerance
    travel = instance.travel_of(vehicle)
    place: int | None = mine.start
    clock = float(route.depart)
    if not route.visits:  # it does not move, or goes home directly, which is always allowed
        return found
    if not mine.begin - clock <= slack:
        found.append(Violation("begin", mine.begin - clock, number, vehicle=name))
    for position, visit in enumerate(route.visits):
        stop = visit.stop
        known = _is_stop(instance, stop)
        label = instance.label(stop) if known else stop
        alternative = _alternative(instance, stop, visit.alternative)
        broken: list[tuple[Rule, float]] = []
        if not known:
            broken.append(("stop", float("nan")))
        else:
            if stop in visited:
                broken.append(("twice", float("nan")))
            visited.add(stop)
            if alternative is None:
                broken.append(("alternative", float("nan")))
        if alternative is None:
            place = None  # the ways from there are not judged
        else:
            there = int(instance.alternative_place[alternative])
            if place is not None:
                early = clock + float(travel[place, there]) - float(visit.start)
                if not early <= slack:
                    broken.append(("travel", early))
            broken.extend(_broken_by_visit(instance, vehicle, alternative, visit))
            place = there
        found.extend(
            Violation(rule, amount, number, position, stop, label, name) for rule, amount in broken
        )
        clock = float(visit.start) + float(visit.stay)
    if place is not None:
        late = clock + float(travel[place, mine.end]) - mine.due
        if not late <= slack:
            shared = all(other.due == instance.budget for other in instance.fleet)
            rule: Rule = "budget" if shared else "due"
            found.append(Violation(rule, late, number, vehicle=name))
    return found


def _broken_by_visit(
    instance: Instance, vehicle: int, alternative: int, visit: Visit
) -> list[tuple[Rule, float]]:
    """Rules that a visit breaks whatever comes before and after it, with the amounts."""
    start, stay = float(visit.start), float(visit.stay)
    slack = instance.tolerance
    admitted = instance.alternative_vehicles
    broken: list[tuple[Rule, float]] = []
    if admitted is not None and not admitted[alternative, vehicle]:
        broken.append(("vehicle", float("nan")))
    excesses: list[tuple[Rule, float]] = [
        ("open", float(instance.alternative_open[alternative]) - start),
        ("close", start - float(instance.alternative_close[alternative])),
        ("min_stay", float(instance.alternative_min_stay[alternative]) - stay),
        ("max_stay", stay - _longest(instance, alternative)),
        ("leave_by", start + stay - float(instance.alternative_leave_by[alternative])),
    ]
    broken.extend((rule, excess) for rule, excess in excesses if not excess <= slack)
    off = abs(float(visit.profit) - _earned(instance, alternative, stay))
    if off != 0 and not off <= TOLERANCE * _earned(instance, alternative, instance.horizon):
        broken.append(("profit", off))
    return broken


def _is_stop(instance: Instance, stop: object) -> bool:
    return isinstance(stop, Integral) and 1 <= int(stop) <= instance.stops


def _alternative(instance: Instance, stop: int, which: int | None) -> int | None:
    """Give the number of a stop's alternative in the instance, None if there is no such one."""
    if not _is_stop(instance, stop) or not isinstance(which, Integral):
        return None
    first, end = instance.alternative_first[stop], instance.alternative_first[stop + 1]
    return int(first + which) if 0 <= which < end - first else None


def _longest(instance: Instance, alternative: int) -> float:
    first, last = instance.piece_start[alternative], instance.piece_start[alternative + 1]
    lengths: list[float] = instance.piece_length[first:last].tolist()
    return float(instance.alternative_min_stay[alternative]) + sum(lengths)


def _earned(instance: Instance, alternative: int, stay: float) -> float:
    profit = float(instance.alternative_reward[alternative])
    rest = stay - float(instance.alternative_min_stay[alternative])
    for piece in range(instance.piece_start[alternative], instance.piece_start[alternative + 1]):
        rate, length = float(instance.piece_rate[piece]), float(instance.piece_length[piece])
        profit += rate * min(max(rest, 0.0), length)
        rest -= length
    return profit
