"""Replanning: what has begun stays as it is, the rest of the plan is made anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from decost.compiling import clock
from decost.method.deadline import Deadline
from decost.method.options import ImprovingOptions, MethodError
from decost.method.progress import Progress
from decost.method.result import Result, Status
from decost.method.value import Scale, judged
from decost.planner.door import DEFAULT_METHOD, get_method, load_method, read_options, solve
from decost.planner.extension import with_stops
from decost.planner.insertion import insert_stops
from decost.planner.orders import OrderError, first_break, stop_number
from decost.problem.checker import Violation, check, choose_alternatives
from decost.problem.clock_times import parse_time
from decost.problem.instance import BoolArray, FloatArray, Instance
from decost.problem.plan import Route, Solution, Visit, alternative_numbers, timed_route
from decost.problem.records import FleetVehicle, Stop
from decost.timeline.routes import keeps_deadlines, solution_for, start_of_service

if TYPE_CHECKING:
    from typing import Unpack

    from decost.planner.typed_options import ReplanOptions

Keep: TypeAlias = Literal["route", "order", "stop"]


def replan(
    instance: Instance,
    plan: Solution | Result,
    now: float | str,
    *,
    done: Iterable[str | int] = (),
    drop: Iterable[str | int] = (),
    add: Sequence[Stop] | None = None,
    keep: Keep | None = None,
    method: str = DEFAULT_METHOD,
    **options: Unpack[ReplanOptions],
) -> Result:
    """Make the rest of a plan anew while it is being carried out.

    A visit has begun if its service starts by `now`; it stays as it is. A vehicle on its way to a
    visit, or waiting at its door, goes there first, but may stay for as long as is best; if the
    visit fell away, it drives there and on. A vehicle on its way home goes home, from where it
    may leave again. All else is free.

    Parameters
    ----------
    instance, plan
        The problem and the plan for it, which keeps all rules until `now`.
    now
        The time, also as "12:30" if the unit of the instance is minutes.
    done
        Stops that were done outside of the plan.
    drop
        Stops that fell away.
    add
        New stops.
    keep
        "route" for the same stops in the same order, only the times are new; "order" if others
        may come between; "stop" if all stops that are visited stay visited.
    method, **options
        As for `solve`. With "route" and "order" no method is needed.

    Returns
    -------
    Result
        A whole plan, past and future; its `instance` has the new stops, and what is done or fell
        away is not required there. Status and bound are about all plans that keep what has begun
        and what `keep` asks for.

    Raises
    ------
    MethodError
        If the plan is for another instance, or breaks a rule before `now`, or an argument is
        wrong.
    """
    if keep is not None and keep not in get_args(Keep):
        raise MethodError(f"keep = {keep!r}: must be one of {', '.join(get_args(Keep))}")
    if add is not None and not isinstance(add, Sequence):
        raise MethodError(f"add = {add!r}: must be a list of stops")
    if "start" in options:
        raise MethodError("option start: is the plan that is given")
    load_method(method, [instance])
    settings: dict[str, Any] = {**options}
    deadline = Deadline(read_options(get_method(method), settings).time_limit)
    begin = clock()
    moment = _moment(instance, now)
    solution = _own_plan(instance, plan)
    gone = {*_stops(instance, "done", done), *_stops(instance, "drop", drop)}
    _require_sound(instance, solution, moment)
    begun = {visit.stop for visit in solution.visits if visit.start <= moment}
    for stop in sorted(begun & set(_stops(instance, "drop", drop))):
        raise MethodError(f"drop = {instance.label(stop)!r}: its visit has begun")
    if add is not None:
        instance = with_stops(instance, add)
    left = sorted(gone - begun)
    if instance.required[left].any():
        required = instance.required.copy()
        required[left] = False
        instance = instance.replace(required=required)
    cut = _Cut(instance, solution, moment, gone)
    try:
        result = _answer(cut, keep, method, settings, deadline)
        if not _is_feasible(instance, result.solution):  # a way home is shorter by a short cut
            result = _in_order(cut, cut.orders(), True, method, settings, deadline)
    except OrderError as error:
        if left or not _is_feasible(instance, solution):
            raise MethodError(f"plan: cannot be kept: {error}") from None
        result = judged(instance, solution)  # only tolerance makes it so
    if not left:
        result = _no_worse(result, solution)
    _require_feasible(result)
    return replace(result, runtime=clock() - begin)


def _moment(instance: Instance, now: float | str) -> float:
    if isinstance(now, str) and instance.unit != "minutes":
        raise MethodError(f"now = {now!r}: clock times need unit = 'minutes'")
    try:
        moment = parse_time(now)
    except ValueError as error:
        raise MethodError(f"now = {error}") from None
    if not math.isfinite(moment):
        raise MethodError(f"now = {now!r}: must be finite")
    return moment


def _own_plan(instance: Instance, plan: Solution | Result) -> Solution:
    """Take a plan that can be one for the instance, with an alternative for each visit."""
    solution = plan
    if isinstance(plan, Result):
        solution = plan.solution
        theirs = plan.instance
        same = (theirs.stops, theirs.ids, theirs.vehicles)
        if same != (instance.stops, instance.ids, instance.vehicles):
            raise MethodError(f"plan: is for another instance, {theirs!r}")
    if not isinstance(solution, Solution):
        raise MethodError(f"plan = {plan!r}: must be a plan or a result")
    if len(solution.routes) > instance.vehicles:
        raise MethodError(
            f"plan: is for another instance: has {len(solution.routes)} routes for "
            f"vehicles = {instance.vehicles}"
        )
    for number, route in enumerate(solution.routes):
        for position, visit in enumerate(route.visits):
            if not 1 <= visit.stop <= instance.stops:
                raise MethodError(
                    f"plan: is for another instance: route {number + 1}, visit {position + 1}: "
                    f"there is no stop {visit.stop!r}"
                )
    idle = [Route((), 0.0)] * (instance.vehicles - len(solution.routes))
    return choose_alternatives(instance, Solution((*solution.routes, *idle)))


def _stops(instance: Instance, field: str, given: Iterable[str | int]) -> list[int]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise MethodError(f"{field} = {given!r}: must be a list of stops")
    try:
        return [stop_number(instance, stop) for stop in given]
    except OrderError as error:
        raise MethodError(f"{field}: {error}") from None


def _require_sound(instance: Instance, solution: Solution, now: float) -> None:
    """Refuse a plan that breaks a rule before now."""
    for violation in check(instance, solution):
        if _concerns_past(solution, violation, now):
            raise MethodError(f"plan: breaks a rule before now = {now:g}: {violation}")


def _concerns_past(solution: Solution, violation: Violation, now: float) -> bool:
    if violation.route is None:
        return False
    route = solution.routes[violation.route]
    if violation.position is not None:
        return route.visits[violation.position].start <= now
    return violation.rule == "begin" and route.depart < now


@dataclass(frozen=True)
class _State:
    """Where a vehicle is: what it has begun, where it is heading, and what it can do from there.

    It may go on from `place` at `free`; it is `out` if it has to go home from there. `heading` is
    the visit that it is on its way to, which starts then. If it has left, its `depart` is a fact.
    """

    begun: tuple[Visit, ...]
    depart: float | None
    out: bool
    place: int
    free: float
    heading: Visit | None = None


class _Cut:
    """A plan at a moment: what has been, and the problem that is left.

    The problem that is left has the same stops with the same numbers. Those that are gone admit
    nobody, and vehicles begin where and when they are free. One on its way to a visit begins when
    and where that starts; the visit is required, and nobody else can make it, nor at another time.
    """

    def __init__(self, instance: Instance, solution: Solution, now: float, gone: set[int]) -> None:
        self.instance = instance
        self.solution = solution
        self.now = now
        self.gone = gone
        self.states = [self._state(vehicle) for vehicle in range(instance.vehicles)]
        self.past = sum(visit.profit for state in self.states for visit in state.begun)
        begun = {visit.stop for state in self.states for visit in state.begun}
        self.closed = gone | begun

    def _state(self, vehicle: int) -> _State:
        instance, now = self.instance, self.now
        mine, route = instance.fleet[vehicle], self.solution.routes[vehicle]
        travel = instance.travel_of(vehicle)
        begun = tuple(visit for visit in route.visits if visit.start <= now)
        rest = route.visits[len(begun) :]
        place, left = mine.start, route.depart
        if begun:
            place, left = self._place(begun[-1]), begun[-1].start + begun[-1].stay
        elif not rest:
            left = mine.begin if mine.underway else math.inf
        if left >= now:
            if begun:
                return _State(begun, route.depart, True, place, left)
            return _State((), None, mine.underway, place, max(mine.begin, now))
        depart = route.depart if begun else left
        if not rest:
            home = left + float(travel[place, mine.end])
            return _State(begun, depart, False, mine.end, max(home, now))
        there = self._place(rest[0])
        arrive = left + float(travel[place, there])
        start = start_of_service(instance, self._number(rest[0]), arrive)
        if rest[0].start > start:
            # It waits longer than it needs to, or goes there by a way round that a plan does not
            # tell of: who knows. It is not there before the plan says so.
            arrive = start = rest[0].start
        kept = rest[0].stop not in self.gone
        if kept and keeps_deadlines(instance, self._number(rest[0]), start):
            return _State(begun, depart, True, there, start, rest[0])
        return _State(begun, depart, True, there, max(arrive, now))

    def _number(self, visit: Visit) -> int:
        return int(self.instance.alternative_first[visit.stop]) + (visit.alternative or 0)

    def _place(self, visit: Visit) -> int:
        return int(self.instance.alternative_place[self._number(visit)])

    def heads(self) -> dict[int, Visit]:
        """Give the visit that each vehicle is on its way to."""
        return {
            vehicle: state.heading
            for vehicle, state in enumerate(self.states)
            if state.heading is not None
        }

    def orders(self) -> list[list[int]]:
        """Give what is left of the plan, as stops."""
        return [
            [visit.stop for visit in route.visits if visit.stop not in self.closed]
            for route in self.solution.routes
        ]

    def rest(
        self, kept: Iterable[int] = (), short: Iterable[int] = (), *, kept_alone: bool = False
    ) -> Instance:
        """Make the problem that is left.

        Parameters
        ----------
        kept
            Further stops that are required.
        kept_alone
            Nothing else is required then.
        short
            Vehicles on their way to a visit that make it as short as can be: then it is not part
            of the problem any more.
        """
        instance, short = self.instance, set(short)
        admits: BoolArray = np.ones((instance.alternative_count + 1, instance.vehicles), np.bool_)
        if instance.alternative_vehicles is not None:
            admits = instance.alternative_vehicles.copy()
        required = np.zeros_like(instance.required) if kept_alone else instance.required.copy()
        required[list(kept)] = True
        admits[np.isin(instance.alternative_stop, list(self.closed))] = False
        required[list(self.closed)] = False
        opens, closes = instance.alternative_open.copy(), instance.alternative_close.copy()
        fleet = []
        for vehicle, (mine, state) in enumerate(zip(instance.fleet, self.states, strict=True)):
            free, heading = state.free, state.heading
            if heading is not None:
                number, stop = self._number(heading), heading.stop
                admits[slice(*instance.alternative_first[stop : stop + 2])] = False
                required[stop] = vehicle not in short
                if vehicle in short:
                    free += float(instance.alternative_min_stay[number])
                else:
                    admits[number, vehicle] = True
                    opens[number] = closes[number] = free
                    free -= float(instance.travel_of(vehicle)[state.place, state.place])
            if free > mine.due:
                admits[1:, vehicle] = False
                free = mine.due
            fleet.append(replace(mine, start=state.place, begin=free, underway=state.out))
        changes: dict[str, Any] = {
            "fleet": fleet,
            "open": opens,
            "close": closes,
            "required": required,
            "alternative_vehicles": admits,
        }
        return instance.replace(**(changes | self._ways_round(fleet)))

    def _ways_round(self, fleet: list[FleetVehicle]) -> dict[str, Any]:
        """Give vehicles that do not visit where they are going a place of their own there.

        The whole plan does not tell of that way, so that it has to be as long as the direct one
        from the last visit on, which by a matrix it need not be.
        """
        instance = self.instance
        planes = instance.matrices
        if instance.matrix is not None:
            planes = instance.matrix[None]
        if planes is None:
            return {}
        rows = planes.shape[1]
        more: list[tuple[int, FloatArray]] = []
        for vehicle, state in enumerate(self.states):
            if state.heading is not None or state.depart is None:
                continue
            origin, left = instance.fleet[vehicle].start, state.depart
            if state.begun:
                last = state.begun[-1]
                origin, left = self._place(last), last.start + last.stay
            travel = instance.travel_of(vehicle)
            direct = left + travel[origin] - state.free
            if (direct <= travel[state.place]).all():
                continue
            fleet[vehicle] = replace(fleet[vehicle], start=rows + len(more))
            more.append((state.place, np.maximum(direct, travel[state.place])))
        if not more:
            return {}
        wide = np.zeros((len(planes), rows + len(more), rows + len(more)))
        wide[:, :rows, :rows] = planes
        for k, (place, row) in enumerate(more):
            wide[:, rows + k, :rows] = row
            wide[:, :rows, rows + k] = planes[:, :, place]
        points = instance.xy
        if points is not None:
            points = np.concatenate([points, points[[place for place, _ in more]]])
        return {
            "travel": wide if instance.matrix is None else wide[0],
            "profiles": instance.profiles,
            "places": (*instance.places, *[""] * len(more)),
            "xy": points,
        }

    def whole(self, rest: Solution) -> Solution:
        """Put the past before a plan for what is left."""
        routes = []
        for vehicle, state in enumerate(self.states):
            future = rest.routes[vehicle].visits
            visits = (*state.begun, *future)
            claims = Route(visits, 0.0)
            route = timed_route(
                self.instance,
                alternative_numbers(self.instance, claims),
                [visit.stay for visit in visits],
                [visit.start for visit in visits],
                vehicle,
            )
            if visits and state.depart is not None:
                way = self.instance.travel_of(vehicle)[self.instance.fleet[vehicle].start]
                arrive = state.depart + float(way[self._place(visits[0])])
                first = route.visits[0]._replace(arrive=arrive)
                told = (*state.begun, *(first, *route.visits[1:])[len(state.begun) :])
                route = replace(route, visits=told, depart=state.depart)
            routes.append(route)
        return Solution(tuple(routes))

    def with_short_visits(self, rest: Solution, short: Iterable[int]) -> Solution:
        """Put the short visits before the routes of their vehicles."""
        routes = list(rest.routes)
        for vehicle in short:
            heading = self.states[vehicle].heading
            assert heading is not None
            number = self._number(heading)
            start = self.states[vehicle].free
            shortest = float(self.instance.alternative_min_stay[number])
            reward = float(self.instance.alternative_reward[number])
            visit = heading._replace(
                arrive=start, start=start, stay=shortest, leave=start + shortest, profit=reward
            )
            visits = (visit, *routes[vehicle].visits)
            routes[vehicle] = replace(routes[vehicle], visits=visits)
        return Solution(tuple(routes))


def _answer(
    cut: _Cut, keep: Keep | None, method: str, options: dict[str, Any], deadline: Deadline
) -> Result:
    orders = cut.orders()
    if keep in ("route", "order"):
        return _in_order(cut, orders, keep == "order", method, options, deadline)
    kept = {stop for order in orders for stop in order} if keep == "stop" else set()
    for alone in (False, True):
        sub, result = _continued(cut, orders, kept, alone, method, options, deadline)
        if kept <= {visit.stop for visit in result.solution.visits}:
            return _judged(cut, sub, result)
        # Another required stop was worth more than one that is kept: then only these are required.
    return _in_order(cut, orders, True, method, options, deadline)


def _continued(
    cut: _Cut,
    orders: list[list[int]],
    kept: set[int],
    alone: bool,
    method: str,
    options: dict[str, Any],
    deadline: Deadline,
) -> tuple[Instance, Result]:
    """Solve what is left so that vehicles first visit where they are going; also give that."""
    heads = cut.heads()
    short: set[int] = set()
    sub = cut.rest(kept, kept_alone=alone)
    result = _solve(cut, sub, orders, short, method, options, deadline)
    late = [v for v, visit in heads.items() if not _is_first(result.solution, v, visit.stop)]
    if late:  # other required stops were worth more, or it is at one place with others
        short = set(late)
        sub = cut.rest(kept, short, kept_alone=alone)
        result = _solve(cut, sub, orders, short, method, options, deadline)
        status: Status = "feasible" if result.status == "optimal" else result.status
        solution = _lengthened(cut, result.solution)
        result = replace(result, solution=solution, bound=None, status=status)
    return sub, result


def _is_first(solution: Solution, vehicle: int, stop: int) -> bool:
    return solution.routes[vehicle].stops[:1] == (stop,)


def _solve(
    cut: _Cut,
    sub: Instance,
    orders: list[list[int]],
    short: set[int],
    method: str,
    options: dict[str, Any],
    deadline: Deadline,
) -> Result:
    """Solve what is left, from the rest of the plan on if the method takes that."""
    given = dict(options)
    if math.isfinite(deadline.left):
        given["time_limit"] = max(0.0, deadline.left)
    if issubclass(get_method(method).options, ImprovingOptions):
        own = [order[1:] if v in short else order for v, order in enumerate(orders)]
        if first_break(sub, own) is None:
            given.setdefault("start", solution_for(sub, own))
        listener = given.get("progress")
        if listener is not None:
            given["progress"] = _passed_on(cut, listener)
    result = solve(sub, method, **given)
    return replace(result, solution=cut.with_short_visits(result.solution, short))


def _passed_on(cut: _Cut, listener: Callable[[Progress], object]) -> Callable[[Progress], object]:
    done = sum(bool(cut.instance.required[v.stop]) for state in cut.states for v in state.begun)

    def tell(news: Progress) -> object:
        def plan() -> Solution | None:
            rest = news.plan()
            return None if rest is None else cut.whole(rest)

        bound = None if news.bound is None else news.bound + cut.past
        visited = min(news.required_visited + done, int(cut.instance.required.sum()))
        whole = Progress(news.seconds, news.profit + cut.past, bound)
        whole.plan, whole.required_visited = plan, visited
        return listener(whole)

    return tell


def _lengthened(cut: _Cut, rest: Solution) -> Solution:
    """Set the best times for the order that was found with short visits, if that is feasible."""
    sub = cut.rest()
    orders = [list(route.stops) for route in rest.routes]
    return rest if first_break(sub, orders) else solution_for(sub, orders)


def _in_order(
    cut: _Cut,
    orders: list[list[int]],
    insert: bool,
    method: str,
    options: dict[str, Any],
    deadline: Deadline,
) -> Result:
    """Keep the order, with new times, and with other stops in between if that is wanted."""
    sub = cut.rest()
    broken = first_break(sub, orders)
    if broken is not None:
        raise OrderError(broken.in_words(cut.instance))
    if insert:
        firsts = dict.fromkeys(cut.heads(), 1)
        orders = deadline.work(lambda: insert_stops(sub, orders, firsts, deadline)) or orders
    result = replace(
        judged(sub, solution_for(sub, orders)),
        method=f"{method} (keep {'order' if insert else 'route'})",
        seed=int(options.get("seed", 0)),
    )
    return _judged(cut, sub, result)


def _judged(cut: _Cut, sub: Instance, result: Result) -> Result:
    """Say of the whole plan what is known of its rest."""
    instance = cut.instance
    solution = cut.whole(result.solution)
    scale = Scale(instance)
    visited = scale.visited(solution)
    most = scale.required
    if result.status == "infeasible":  # all that is required of the rest alone is visited
        most = max(visited, most - (int(sub.required.sum()) - result.required_bound))
    status: Status = "optimal" if result.status == "optimal" else "feasible"
    if visited < scale.required:
        status = "infeasible" if most < scale.required else "incomplete"
    return replace(
        result,
        instance=instance,
        solution=solution,
        status=status,
        bound=None if result.bound is None else max(result.bound + cut.past, solution.profit),
        required_visited=visited,
        required_bound=most,
    )


def _no_worse(result: Result, solution: Solution) -> Result:
    """Take the old plan if it is better, which tolerance may bring about."""
    instance = result.instance
    scale = Scale(instance)
    if scale.value(solution) <= scale.value(result.solution) or not _is_feasible(
        instance, solution
    ):
        return result
    visited, most = scale.visited(solution), result.required_bound
    status = result.status
    if visited == scale.required and status not in ("optimal", "feasible"):
        status = "feasible"
    return replace(
        result,
        solution=solution,
        bound=None if result.bound is None else max(result.bound, solution.profit),
        status=status,
        required_visited=visited,
        required_bound=max(visited, most),
    )


def _is_feasible(instance: Instance, solution: Solution) -> bool:
    return all(violation.rule == "required" for violation in check(instance, solution))


def _require_feasible(result: Result) -> None:
    for violation in check(result.instance, result.solution):
        if violation.rule != "required":
            raise MethodError(f"plan: cannot be carried on from now: {violation}")
