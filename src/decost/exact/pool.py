"""The routes found so far, their values, and the plans that are made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost.exact.master import Master, Relaxation
from decost.exact.pricing import Team, Trip
from decost.exact.tree import SHARE, Incumbent, Tree
from decost.method.deadline import Deadline
from decost.method.progress import BetterPlan, Reporter
from decost.method.value import Scale
from decost.problem.instance import FloatArray, Instance
from decost.problem.plan import alternative_numbers
from decost.timeline.routes import stays_along


class Pool:
    """Routes of a team as columns of the master problem, and the best plan of them."""

    def __init__(
        self,
        instance: Instance,
        incumbent: Incumbent,
        deadline: Deadline,
        memory: float,
        reporter: Reporter | None = None,
        better_plan: BetterPlan | None = None,
    ) -> None:
        self.instance = instance
        self.deadline = deadline
        self.memory = memory
        self.team = Team.of(instance)
        unit = float(self.team.full_profits.sum())
        self.tree = Tree(incumbent, self.team.grain, unit, reporter)
        self.master = Master(self.team, unit)
        self._scale = Scale(instance)
        self._better_plan = better_plan

    def add_plan(self) -> None:
        """Add the routes of the incumbent to the columns."""
        trips = []
        for vehicle, numbers in enumerate(self.tree.incumbent.routes):
            kind = int(self.instance.arrays.vehicle_type[vehicle])
            network = self.team.kinds[kind].network
            known = network.alternative[1 : network.alternatives + 1]
            nodes = 1 + np.searchsorted(known, [k for k in numbers if k in known])
            if len(nodes):
                trips.append(Trip(kind, nodes))
        self.add(trips)

    def take_over_better_plan(self) -> bool:
        """Take over a better plan that somebody else has found; say if there is one."""
        plan = self._better_plan(self.tree.incumbent.value) if self._better_plan else None
        if plan is None:
            return False
        routes = [alternative_numbers(self.instance, route) for route in plan.routes]
        self.tree.offer(routes, self._scale.value(plan))
        self.add_plan()
        return True

    def add(self, trips: list[Trip], relaxation: Relaxation | None = None) -> bool:
        """Add routes to the columns; say whether any improves the given relaxation."""
        fresh = self.master.fresh(trips)
        if not fresh:
            return False
        value = self.values(fresh)
        self.master.add(fresh, value)
        if relaxation is None:
            return False
        cost = self.master.paid(relaxation.price, fresh)
        cost += relaxation.vehicle[[trip.kind for trip in fresh]]
        return bool((value - cost > 1e-11 * self.tree.unit).any())

    def values(self, trips: list[Trip]) -> FloatArray:
        """Give the values of routes."""
        kinds = self.team.kinds
        routes = [kinds[kind].problem.alternatives(route) for kind, route in trips]
        vehicles = [kinds[trip.kind].vehicles[0] for trip in trips]
        value = stays_along(self.instance, routes, vehicles).profit
        if self._scale.required:
            required = self.instance.required[self.instance.alternative_stop]
            value += self._scale.bonus * np.array([required[route].sum() for route in routes])
        return value

    def offer(self, trips: list[Trip]) -> float:
        """Take routes as the plan if it is better; return its value."""
        value = float(self.values(trips).sum())
        if value > self.tree.incumbent.value:
            routes: list[list[int]] = [[] for _ in range(self.instance.vehicles)]
            free = [iter(kind.vehicles) for kind in self.team.kinds]
            for kind, route in trips:
                routes[next(free[kind])] = self.team.kinds[kind].problem.alternatives(route)
            self.tree.offer(routes, value)
        return value

    def round(self, relaxation: Relaxation, vehicles: Sequence[int], fixed: list[Trip]) -> None:
        """Offer a plan of fixed routes and those with the largest shares."""
        share = relaxation.share
        used = np.zeros(len(self.team.number), dtype=np.bool_)
        left = list(vehicles)
        chosen: list[Trip] = []
        for k in np.argsort(-share, kind="stable")[: np.count_nonzero(share > SHARE)]:
            trip = self.master.trips[k]
            rows = self.team.rows(trip)
            if left[trip.kind] and not used[rows].any():
                used[rows] = True
                left[trip.kind] -= 1
                chosen.append(trip)
        self.offer(fixed + chosen)
