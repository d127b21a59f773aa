"""Plan a round for a team, and see what a colleague more or less would change.

Every patient has a time at which the visit may begin, a shortest visit, and gains from more
time, but not without end. Times are in minutes, distances in kilometres.
"""

from pathlib import Path

import decost

instance = decost.read(Path(__file__).parent / "data" / "nurses.json")
plans = {}
for team in (2, 3, 4):
    changed = instance.replace(vehicles=team)
    plans[team] = decost.solve(changed, time_limit=1.0).solution
    visits = plans[team].visits
    patients = f"{len(visits)} of {instance.stops} patients"
    print(f"{team} nurses: profit {plans[team].profit:6.1f}, {patients}")
    assert not decost.check(changed, plans[team])
    assert len({visit.stop for visit in visits}) == len(visits)

plan = plans[instance.vehicles]
for nurse, route in enumerate(plan.routes, 1):
    print(f"Nurse {nurse}: profit {route.profit:.1f}, back after {route.finish:.0f} minutes")
    for visit in route.visits:
        patient = instance.label(visit.stop)
        print(f"  {visit.start:5.0f}  {patient:16} for {visit.stay:2.0f} minutes")

# Three routes are a plan for four nurses, one of whom stays at home, but not for two ...
two, four = instance.replace(vehicles=2), instance.replace(vehicles=4)
assert decost.check(four, plan) == []
assert [violation.rule for violation in decost.check(two, plan)] == ["vehicles"]

# ... and if one falls ill, the others can still keep to their own routes.
healthy = decost.Solution(plan.routes[:2])
assert decost.check(two, healthy) == []
lost = plan.routes[2].profit
assert abs(plan.profit - lost - decost.profit_of(two, healthy)) < 1e-6 * plan.profit
