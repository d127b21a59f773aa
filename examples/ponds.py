"""Compare diminishing returns with the straight line that is often put in their place.

A researcher counts species in ponds: many in the first minutes, then fewer and fewer. Paths
are slower uphill, so travel times are a matrix that is not symmetric. Times are in minutes.
"""

from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "ponds.json")

# One piece a pond with the same profit for the longest stay.
longest = instance.max_stay - instance.min_stay
found = instance.full_profit - instance.reward
straight = instance.replace(rate=[0, *(found[1:] / longest[1:])], max_stay=instance.max_stay)

simple = decost.solve(straight).solution
route = simple.routes[0].stops
stays = [visit.stay for visit in simple.visits]
same = decost.make_solution(instance, [route], [stays])
best = decost.optimal_stays(instance, [route])
result = decost.solve(instance)
print(f"Straight lines promise {simple.profit:.1f} species.")
print(f"That plan really finds {same.profit:.1f}, with the best stays {best.profit[0]:.1f}.")
print(f"Planned with diminishing returns it is {result.profit:.1f}.")

# A concave profit lies above its straight line, and the best stays are no worse than others.
assert simple.profit <= same.profit + 1e-6
assert same.profit <= best.profit[0] + 1e-6
assert decost.check(instance, same) == []
assert decost.check(instance, result.solution) == []

# By hand: walks of 13 + 19 + 17 minutes and two shortest stays of 5 leave 30 minutes of a budget
# of 89. Heron pond gets 15 at rate 1.0 (then 0.5), beaver pond 15 at rate 0.9.
number = {instance.label(stop): stop for stop in range(1, instance.nodes)}
short = [number["heron pond"], number["beaver pond"]]
by_hand = decost.optimal_stays(instance.replace(budget=89), [short])
assert by_hand.stays[0].tolist() == [20, 20]
assert abs(by_hand.profit[0] - (4 + 15 + 4 + 13.5)) < 1e-9
