"""Take routes from another planner, and give them the best stays.

`data/city_routes.csv` was written by the planner below, which knows nothing of `decost`: always on
to the stop where it can start next, half an hour everywhere. Its orders are kept, its stays are
not. Times are in minutes.
"""

import csv
from math import hypot
from pathlib import Path

import decost

DATA = Path(__file__).parent / "data"
VISIT = 30.0


def nearest_next(instance: decost.Instance, first: int) -> list[tuple[int, float]]:
    """Go to a first stop, then always where service can start next; give stops and stays."""
    plan: list[tuple[int, float]] = []
    place, time, free = 0, 0.0, set(range(1, instance.nodes))

    def times(stop: int) -> tuple[float, float]:
        start = max(time + instance.travel[place, stop], instance.open[stop])
        return start, min(max(VISIT, instance.min_stay[stop]), instance.max_stay[stop])

    def fits(stop: int) -> bool:
        start, stay = times(stop)
        home = start + stay + instance.travel[stop, instance.end]
        late = start > instance.close[stop] or start + stay > instance.leave_by[stop]
        return not late and home <= instance.budget

    choice = [first]
    while choice:
        stop = min(choice, key=times)
        start, stay = times(stop)
        plan.append((stop, float(stay)))
        place, time = stop, start + stay
        free.remove(stop)
        choice = [other for other in free if fits(other)]
    return plan


instance = decost.read(DATA / "city.json")
number = {instance.label(stop): stop for stop in range(1, instance.nodes)}

# What another planner hands over: a line a visit, with the names of stops.
routes: dict[str, list[int]] = {}
stays: dict[str, list[float]] = {}
with (DATA / "city_routes.csv").open(newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        routes.setdefault(row["route"], []).append(number[row["stop"]])
        stays.setdefault(row["route"], []).append(float(row["stay"]))

# One call for all routes; each is taken by itself.
best = decost.optimal_stays(instance, list(routes.values()))
profits = {}
print(f"{'first stop':16} {'stops':>5} {'its stays':>10} {'the best':>10}")
for name, ideal in zip(routes, best.stays, strict=True):
    plans = [
        decost.make_solution(instance, [routes[name]], [chosen]) for chosen in (stays[name], ideal)
    ]
    assert not any(decost.check(instance, plan) for plan in plans)
    profits[name] = [plan.profit for plan in plans]
    own, mended = profits[name]
    print(f"{name:16} {len(routes[name]):5} {own:10.1f} {mended:10.1f}")
    assert own <= mended + 1e-6

# By hand: the rooftop bar opens at 420, and the way home from there takes 0.9 and 0.2 kilometres
# across at 0.07 a minute; what is left of 480 minutes earns 1.1 each.
by_hand = 1.1 * (480 - 420 - hypot(0.9, 0.2) / 0.07)
assert abs(profits["rooftop bar"][1] - by_hand) < 1e-6

# The order of the routes changes too: a planner that ranks them by its own stays picks wrongly.
assert profits["cathedral"][0] > profits["market hall"][0]
assert profits["cathedral"][1] < profits["market hall"][1]

# A route that cannot be kept whatever the stays is told apart, with the place where it breaks.
backwards = routes["cathedral"][::-1]
wrong = decost.optimal_stays(instance, [backwards])
late = backwards[wrong.broken[0]]
print(f"Backwards from {instance.label(backwards[0])!r}: late at {instance.label(late)!r}.")
assert not wrong.feasible

# The best of them is a plan to start from; no answer is worse than it.
winner = max(profits, key=lambda name: profits[name][1])
start = decost.make_solution(instance, [routes[winner]], [best.stays[list(routes).index(winner)]])
result = decost.solve(instance, start=start)
print(f"From {start.profit:.1f} the planner of this package goes on to {result.profit:.1f}.")
assert result.profit >= start.profit

# The file is what the planner above writes.
for name, route in routes.items():
    assert nearest_next(instance, number[name]) == list(zip(route, stays[name], strict=True))
