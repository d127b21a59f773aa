"""See what a bigger battery is worth: the same instance with other budgets.

A drone inspects sites on its way from one pad to another. Every site earns most in the first
minutes of hovering. Times are in minutes, distances in kilometres.
"""

from itertools import pairwise
from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "drone.json")
batteries = [instance.budget + extra for extra in (0, 3, 6, 9, 12)]
(first,) = decost.solve(instance, time_limit=0.5).solution.routes

print("battery  same route  new plan  sites")
kept = []
for budget in batteries:
    longer = instance.replace(budget=budget)
    kept.append(float(decost.optimal_stays(longer, [first.stops]).profit[0]))
    result = decost.solve(longer, time_limit=0.5)
    sites = len(result.solution.visits)
    print(f"{budget:4.0f} min {kept[-1]:11.1f} {result.profit:9.1f} {sites:6}")
    assert not decost.check(longer, result.solution)

# On a fixed route time goes to the best rates first, so that every further minute is worth
# no more than the one before.
gains = [after - before for before, after in pairwise(kept)]
assert all(gain >= -1e-9 for gain in gains)
assert all(later <= earlier + 1e-9 for earlier, later in pairwise(gains))

# The last flight is to the other pad, not back to the first.
last = first.visits[-1]
assert abs(first.finish - last.leave - instance.travel[last.stop, instance.end]) < 1e-9

# By hand: a battery for the flights and six minutes at the dam earns 6 + 2 x 10 + 3 x 5.
dam = next(stop for stop in range(1, instance.nodes) if instance.label(stop) == "dam")
flights = instance.travel[0, dam] + instance.travel[dam, instance.end]
small = instance.replace(budget=flights + 6)
assert abs(decost.optimal_stays(small, [[dam]]).profit[0] - 41) < 1e-6
