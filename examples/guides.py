"""Plan a day for two guides: sights that open twice, lunch in one of three places, two must-sees.

One walks from the station, the other cycles from a hotel. Name a file, as in
`python examples/guides.py guides.png`, to draw the plan too.
"""

import sys
from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "guides.json")
result = decost.solve(instance, time_limit=5.0)


def clock(minutes: float) -> str:
    """Time of day so many minutes after midnight."""
    hours, rest = divmod(round(minutes), 60)
    return f"{hours:02}:{rest:02}"


print(f"{instance.name}: {result.profit:.1f} points, {result.status}")
for guide, route in zip(instance.fleet, result.solution.routes, strict=True):
    print(f"{guide.id}: {clock(route.depart)} to {clock(route.finish)}")
    for visit in route.visits:
        must = "  (required)" if instance.required[visit.stop] else ""
        times = f"{clock(visit.start)} to {clock(visit.leave)}"
        print(f"  {times}  {instance.label(visit.stop):22}{visit.profit:6.1f}{must}")

if len(sys.argv) > 1:
    decost.plot_plan(instance, result.solution).savefig(sys.argv[1])

assert decost.check(instance, result.solution) == []
assert result.required_visited == result.required_bound == 3

# Lunch is for the guide in red alone, by one of its three places.
red, blue = result.solution.routes
lunch = next(visit for visit in red.visits if instance.label(visit.stop) == "lunch")
assert lunch.alternative in (0, 1, 2)
assert 11.5 * 60 <= lunch.start <= 14.5 * 60
assert all(instance.label(visit.stop) != "lunch" for visit in blue.visits)
assert red.depart >= 9 * 60
assert blue.depart >= 10 * 60
