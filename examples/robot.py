"""Give a route of your own the best stays, and compare it with the planned one.

A robot removes defects at the stations of a production line while nobody works there. It may
start from `open` on and must be gone at `leave_by`, when people come back. Times are in
seconds, distances in metres, and profits in defects removed.
"""

from math import hypot
from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "robot.json")
number = {instance.label(stop): stop for stop in range(1, instance.nodes)}
names = ["saw 1", "press 1", "weld 1", "weld 2", "paint booth 1", "paint booth 2", "packing"]
route = [number[name] for name in names]

print("Staying everywhere until the last defect is gone:")
eager = decost.make_solution(instance, [route], [instance.max_stay[route]])
for violation in decost.check(instance, eager):
    print(f"  {violation}")

best = decost.optimal_stays(instance, [route])
mended = decost.make_solution(instance, [route], best.stays)
print(f"The best stays on this route remove {best.profit[0]:.0f} defects:")
for visit in mended.visits:
    print(f"  {instance.label(visit.stop):14} {visit.start:7.1f} to {visit.leave:7.1f}")

result = decost.solve(instance)
print(f"The planned route removes {result.profit:.0f} at {len(result.solution.visits)} stations.")

# By hand: from 510, when weld 2 is free, to 1020, when people are back at paint booth 2, there is
# no time for full stays at all three. The lowest rate gives way: weld 2.
walk = hypot(51 - 34, 10 - 2) / 0.8 + (10 - 2) / 0.8
short = (1020 - 510) - walk - 170 - 180
assert decost.check(instance, eager)
assert not decost.check(instance, mended)
assert abs(best.stays[0][names.index("weld 2")] - short) < 1e-6
assert abs(best.profit[0] - (132 + 152 + 228 + 1.7 * (short - 20) + 315 + 288 + 110)) < 1e-6
assert not decost.check(instance, result.solution)
