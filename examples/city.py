"""Plan a day trip and print it as a timetable.

Everything starts at the station at ten; the train home leaves at six. Times are in minutes,
distances in kilometres, and profits in points of enjoyment. Name a file, as in
`python examples/city.py trip.png`, to draw the plan too.
"""

import sys
from pathlib import Path

import decost


def clock(minutes: float) -> str:
    """Time of day so many minutes after ten."""
    hours, rest = divmod(round(minutes), 60)
    return f"{10 + hours}:{rest:02}"


instance = decost.read(Path(__file__).parent / "data" / "city.json")
result = decost.solve(instance)

(route,) = result.solution.routes
stops = f"{len(route.visits)} of {instance.stops} stops"
print(f"{instance.name}: {result.profit:.1f} points at {stops}")
for visit in route.visits:
    times = f"{clock(visit.start)} to {clock(visit.leave)}"
    wait = visit.start - visit.arrive
    note = f"  after waiting {wait:.0f} min" if wait >= 0.5 else ""
    print(f"  {times}  {instance.label(visit.stop):16} {visit.profit:5.1f}{note}")
print(f"  {clock(route.finish)}  back at the station")

if len(sys.argv) > 1:
    decost.plot_plan(instance, result.solution).savefig(sys.argv[1])

assert decost.check(instance, result.solution) == []
assert route.finish <= instance.budget + instance.tolerance
assert abs(decost.profit_of(instance, result.solution) - result.profit) < 1e-6 * result.profit
# No stays on this route earn more than the best ones.
assert result.profit <= decost.optimal_stays(instance, [route.stops]).profit[0] + 1e-6
