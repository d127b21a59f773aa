"""Random plans that are cut at random times, and what must hold of their continuation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import decost
from decost import Instance, Result, Solution, Visit, check
from decost.problem.plan import alternative_numbers, timed_route, with_idle_vehicles
from oracle import tiny_instance


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


def main(first: int, count: int) -> int:
    """Cut plans, and tell what is wrong."""
    wrong = 0
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        instance, plan = random_plan(random)
        now = random_time(random, instance, plan)
        method = str(random.choice(["greedy", "search"]))
        options = {"iterations": 5} if method == "search" else {}
        try:
            result = decost.replan(instance, plan, now, method=method, **options)
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
