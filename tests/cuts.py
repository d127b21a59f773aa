"""Random plans that are cut at random times, and what must hold of their continuation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import decost
from decost import Instance, Result, Solution, Visit, check
from decost.problem.plan import alternative_numbers, timed_route, with_idle_vehicles
from oracle import Shift, Way, best_stays, sequences, shifts, tiny_instance


def random_plan(random: np.random.Generator) -> tuple[Instance, Solution]:
    """Draw an instance, and a plan for it that may be poor: a search's, or with shorter stays."""
    if random.random() < 0.5:
        instance = tiny_instance(random)
    else:
        seed, vehicles = int(random.integers(1 << 30)), int(random.integers(1, 4))
        (instance,) = decost.generate("people", nodes=12, vehicles=vehicles, count=1, seed=seed)
    if random.random() < 0.5:
        return instance, decost.solve(instance, "greedy").solution
    plan = decost.solve(instance, "search", iterations=5, seed=1).solution
    if random.random() < 0.5:
        return instance, plan
    routes = []
    for vehicle, route in enumerate(plan.routes):
        used = alternative_numbers(instance, route)
        least = instance.alternative_min_stay[used]
        stays = [
            float(low + random.random() * (visit.stay - low))
            for low, visit in zip(least, route.visits, strict=True)
        ]
        routes.append(timed_route(instance, used, stays, vehicle=vehicle))
    return instance, with_idle_vehicles(instance, routes)


def random_time(random: np.random.Generator, instance: Instance, plan: Solution) -> float:
    """Draw a time of the day, or one at which something happens."""
    first = min(one.begin for one in instance.fleet)
    last = max(one.due for one in instance.fleet)
    times = [time for visit in plan.visits for time in (visit.arrive, visit.start, visit.leave)]
    times += [time for route in plan.routes for time in (route.depart, route.finish)]
    if random.random() < 0.3:
        return float(random.choice(times))
    return float(random.uniform(first - 0.05 * (last - first), last))


def begun(plan: Solution, vehicle: int, now: float) -> tuple[Visit, ...]:
    """List the visits of a vehicle that have begun."""
    return tuple(visit for visit in plan.routes[vehicle].visits if visit.start <= now)


def heading(plan: Solution, vehicle: int, now: float) -> Visit | None:
    """Give the visit that a vehicle is on its way to."""
    route = plan.routes[vehicle]
    past = begun(plan, vehicle, now)
    left = past[-1].leave if past else route.depart
    rest = route.visits[len(past) :]
    return rest[0] if rest and left < now else None


def goes_home(instance: Instance, plan: Solution, now: float) -> bool:
    """Whether a vehicle is on its way home, or there again."""
    for vehicle, route in enumerate(plan.routes):
        past = begun(plan, vehicle, now)
        has_left = past[-1].leave < now if past else instance.fleet[vehicle].underway
        if has_left and len(past) == len(route.visits):
            return True
    return False


def required(instance: Instance, plan: Solution) -> int:
    """Count the required stops that a plan visits."""
    return sum(bool(instance.required[visit.stop]) for visit in plan.visits)


def faults(old: Solution, now: float, new: Result, gone: Any = ()) -> Iterator[str]:
    """Tell what is wrong with a continuation of a plan."""
    instance, plan = new.instance, new.solution
    yield from (str(one) for one in check(instance, plan) if one.rule != "required")
    if abs(decost.profit_of(instance, plan) - new.profit) > 1e-9 * (1 + new.profit):
        yield "the profit is not that of the stays"
    if new.bound is not None and new.bound < new.profit * (1 - 1e-9):
        yield f"the bound {new.bound} is below the profit {new.profit}"
    complete = required(instance, plan) == instance.required.sum()
    if complete != (new.status in ("optimal", "feasible")):
        yield f"the status is {new.status}"
    for vehicle, route in enumerate(plan.routes):
        past = begun(old, vehicle, now)
        if route.visits[: len(past)] != past:
            yield f"vehicle {vehicle}: what has begun has changed"
        if past and route.depart != old.routes[vehicle].depart:
            yield f"vehicle {vehicle}: its departure has changed"
        future = route.visits[len(past) :]
        if any(visit.start < now for visit in future):
            yield f"vehicle {vehicle}: a visit is planned for the past"
        first = heading(old, vehicle, now)
        if first is not None and first.stop not in gone:
            same = future and (future[0].stop, future[0].alternative) == (
                first.stop,
                first.alternative,
            )
            if not same:
                yield f"vehicle {vehicle}: does not go on to {first.stop}"
        waits = not past and first is None and not instance.fleet[vehicle].underway
        if waits and future and route.depart < now - instance.tolerance:
            yield f"vehicle {vehicle}: leaves in the past"
    if any(visit.stop in gone and visit.start > now for visit in plan.visits):
        yield "visits a stop that fell away"


def best_continuation(instance: Instance, plan: Solution, now: float) -> tuple[int, float]:
    """Most required stops and profit of all plans that keep what has begun, by enumeration.

    Where travel times are given by a matrix, nobody may be on the way home.
    """
    team: dict[int, float] = {0: 0.0}
    past = [visit for vehicle in range(instance.vehicles) for visit in begun(plan, vehicle, now)]
    closed = {visit.stop for visit in past}
    heads = {
        visit.stop: vehicle
        for vehicle in range(instance.vehicles)
        if (visit := heading(plan, vehicle, now)) is not None
    }
    for vehicle, shift in enumerate(shifts(instance)):
        first = heading(plan, vehicle, now)
        ways = [way for way in shift.ways if way.stop not in closed]
        ways = [way for way in ways if heads.get(way.stop, vehicle) == vehicle]
        start = [
            way
            for way in ways
            if first is not None and (way.stop, way.which) == (first.stop, first.alternative)
        ]
        more: dict[int, float] = {}
        mine = _continued(instance, plan, vehicle, now, shift._replace(ways=tuple(ways)), start)
        for done, profit in team.items():
            for some, extra in mine.items():
                if done & some == 0 and profit + extra > more.get(done | some, -1.0):
                    more[done | some] = profit + extra
        team = more
    needed = sum(1 << stop for stop in range(1, instance.nodes) if instance.required[stop])
    before = sum(bool(instance.required[stop]) for stop in closed)
    count, profit = max(((done & needed).bit_count(), p) for done, p in team.items())
    return before + count, sum(visit.profit for visit in past) + profit


def _continued(
    instance: Instance, plan: Solution, vehicle: int, now: float, shift: Shift, first: list[Way]
) -> dict[int, float]:
    """Most profit of the rest of a route by the set of stops on it."""
    route, past = plan.routes[vehicle], begun(plan, vehicle, now)
    time, place = route.depart, shift.start
    if past:
        number = int(instance.alternative_first[past[-1].stop]) + (past[-1].alternative or 0)
        time, place = past[-1].leave, int(instance.alternative_place[number])
    leaves = bool(past) or instance.fleet[vehicle].underway
    if not past and not route.visits:
        time = shift.begin
    if first:
        pass
    elif time < now and leaves and len(route.visits) == len(past):  # it goes home first
        time, place = max(now, time + shift.travel[place][shift.end]), shift.end
    elif not past:
        time = max(now, shift.begin)
    shift = shift._replace(begin=time, start=place)
    routes: list[tuple[Way, ...]] = [(), *sequences(shift, (), 0, place, time)]
    if first:
        begin = max(time + shift.travel[place][first[0].place], first[0].open)
        leave = begin + first[0].min_stay
        on = sequences(shift, tuple(first), 1 << first[0].stop, first[0].place, leave)
        routes = [tuple(first), *on]
    best: dict[int, float] = {}
    for one in routes:
        stays = best_stays(shift, one)
        if stays is not None:
            done = sum(1 << way.stop for way in one)
            profit = sum(way.profit(stay) for way, stay in zip(one, stays, strict=True))
            best[done] = max(profit, best.get(done, 0.0))
    return best


def main(first: int, count: int) -> int:
    """Cut plans, and tell what is wrong."""
    wrong = 0
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        instance, plan = random_plan(random)
        now = random_time(random, instance, plan)
        method = str(random.choice(["greedy", "search", "auto"]))
        options: dict[str, Any] = {"search": {"iterations": 5}, "auto": {"time_limit": 0.3}}
        try:
            result = decost.replan(instance, plan, now, method=method, **options.get(method, {}))
            found = list(faults(plan, now, result))
            before = required(instance, plan), plan.profit
            after = required(instance, result.solution), result.profit
            if after < (before[0], before[1] * (1 - 1e-12)):
                found.append(f"worse than before: {after}, not {before}")
        except Exception as error:
            found = [repr(error)]
        for line in found:
            print(f"seed {seed}: {line}")
        wrong += bool(found)
    print(f"{count} plans, {wrong} with faults")
    return wrong


if __name__ == "__main__":
    import sys

    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
