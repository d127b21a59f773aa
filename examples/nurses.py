"""Plan a round for nurses who start at home, some of whom can do what others cannot.

Every patient has a time at which the visit may begin, a shortest visit, and gains from more
time, but not without end; some need a nurse with a qualification, and some must be visited.
Times are in minutes, distances in kilometres. Name a file, as in
`python examples/nurses.py nurses.png`, to draw the plan too.
"""

import sys
from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "nurses.json")
result = decost.solve(instance, time_limit=2.0)
plan = result.solution


def clock(minutes: float) -> str:
    """Time of day so many minutes after midnight."""
    hours, rest = divmod(round(minutes), 60)
    return f"{hours:02}:{rest:02}"


print(f"{len(plan.visits)} of {instance.stops} patients, profit {result.profit:.1f}")
for nurse, route in zip(instance.fleet, plan.routes, strict=True):
    print(f"{nurse.id} leaves at {clock(route.depart)} and is back at {clock(route.finish)}")
    for visit in route.visits:
        patient = instance.label(visit.stop)
        must = "  (required)" if instance.required[visit.stop] else ""
        print(f"  {clock(visit.start)}  {patient:16} for {visit.stay:2.0f} minutes{must}")

if len(sys.argv) > 1:
    decost.plot_plan(instance, plan).savefig(sys.argv[1])

assert decost.check(instance, plan) == []
assert result.required_visited == 3

# Nobody does what she is not qualified for.
may = instance.alternative_vehicles
assert may is not None
for number, route in enumerate(plan.routes):
    assert all(may[visit.stop, number] for visit in route.visits)

# If Ada falls ill, the others can keep to their routes, but somebody must go to Bridge Street.
ill = decost.Solution((decost.Route((), 420.0, 420.0), *plan.routes[1:]))
missed = [violation.rule for violation in decost.check(instance, ill)]
assert missed in ([], ["required"])
lost = plan.routes[0].profit
assert abs(plan.profit - lost - decost.profit_of(instance, ill)) < 1e-6 * plan.profit
