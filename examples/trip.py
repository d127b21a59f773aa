"""Plan four days in a city: a vehicle a day, opening hours by day, two hotels.

Name a file, as in `python examples/trip.py trip.png`, to draw the plan too.
"""

import sys
from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "trip.json")
result = decost.solve(instance, time_limit=5.0)


def clock(minutes: float) -> str:
    """Time of day so many minutes after midnight."""
    hours, rest = divmod(round(minutes), 60)
    return f"{hours:02}:{rest:02}"


seen = len(result.solution.visits)
print(f"{instance.name}: {result.profit:.1f} points, {seen} of {instance.stops} sights")
days = dict(zip((day.id for day in instance.fleet), result.solution.routes, strict=True))
for day, route in days.items():
    print(f"{day}, {clock(route.depart)} to {clock(route.finish)}")
    for visit in route.visits:
        print(f"  {clock(visit.start)} to {clock(visit.leave)}  {instance.label(visit.stop)}")

if len(sys.argv) > 1:
    decost.plot_plan(instance, result.solution).savefig(sys.argv[1])

assert decost.check(instance, result.solution) == []
assert result.required_visited == 2

# Nobody is in a place on a day when it is closed, and nothing is seen twice.
closed = {"fish market": {"Friday", "Sunday", "Monday"}, "natural history": {"Monday"}}
for day, route in days.items():
    assert all(day not in closed.get(str(instance.label(v.stop)), set()) for v in route.visits)
assert len({visit.stop for visit in result.solution.visits}) == seen

# What one day less would cost.
friday = decost.Solution((decost.Route((), 780.0, 780.0), *result.solution.routes[1:]))
assert decost.profit_of(instance, friday) < result.profit
