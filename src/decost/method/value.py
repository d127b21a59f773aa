"""How plans compare: by the required stops that they visit, then by profit.

Engines put both into one number, the value: every required stop counts `bonus`, which is more
than all stops together can earn. Outside of them only profits are seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, inf

import numpy as np

from decost.method.result import Result, Status
from decost.problem.instance import Instance
from decost.problem.plan import Solution

ROUNDING = 1e-9
"""Share of the bonus by which a bound on values may be off."""


class Scale:
    """Values and profits of the plans of one instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.required = int(np.count_nonzero(instance.required))
        self.bonus = instance.arrays.bonus if self.required else 0.0

    @property
    def most(self) -> float:
        """Most that all stops together can earn."""
        return float(self._instance.full_profits.sum())

    @property
    def value_bound(self) -> float:
        """Bound on the value of every plan."""
        return self.bonus * self.required + self.most

    def visited(self, solution: Solution) -> int:
        """Count the required stops that a plan visits."""
        if self.required == 0:
            return 0
        return sum(bool(self._instance.required[visit.stop]) for visit in solution.visits)

    def value(self, solution: Solution) -> float:
        """Give the value of a plan."""
        if self.required == 0:
            return solution.profit
        return self.bonus * self.visited(solution) + solution.profit

    def split(self, value: float) -> tuple[int, float]:
        """Tell the required stops and the profit of a plan by its value."""
        if self.required == 0:
            return 0, value
        visited = max(0, min(self.required, floor(value / self.bonus + ROUNDING)))
        return visited, max(0.0, value - self.bonus * visited)

    def profit_bound(self, bound: float, visited: int) -> float:
        """Bound the profit of plans that visit so many required stops, by a bound on values."""
        return min(bound - self.bonus * visited, self.most)

    def bound_of(self, result: Result) -> float:
        """Bound the values of all plans that are better than a result's, by what it has proven."""
        if result.bound is None:
            return self.value_bound
        return self.bonus * result.required_bound + result.bound

    def proven(self, result: Result) -> bool:
        """Whether a result proves that no plan is better than its own."""
        return result.bound is not None and self.value(result.solution) >= self.bound_of(result)

    def required_bound(self, bound: float) -> int:
        """Bound the required stops of any plan, by a bound on values."""
        if self.required == 0 or bound == inf:
            return self.required
        return max(0, min(self.required, floor(bound / self.bonus + ROUNDING)))


def judged(
    instance: Instance,
    solution: Solution,
    *,
    bound: float | None = None,
    proven: bool = False,
    details: Mapping[str, float] | None = None,
) -> Result:
    """Make the result of a method: what a plan is worth by what is proven of it.

    Parameters
    ----------
    instance, solution
        The problem and the plan.
    bound
        Upper bound on the values of all plans, if there is one.
    proven
        Whether no plan has a larger value.
    details
        Figures of the method's own.
    """
    scale = Scale(instance)
    visited, profit = scale.visited(solution), solution.profit
    value = scale.bonus * visited + profit
    if proven or (bound is not None and value >= bound):
        bound, proven = value, True
    most = scale.required if bound is None else max(visited, scale.required_bound(bound))
    if bound is not None:
        bound = profit if proven else max(profit, scale.profit_bound(bound, visited))
        proven = most == visited and bound == profit
    status: Status = "optimal" if proven else "feasible"
    if visited < scale.required:
        status = "infeasible" if most < scale.required else "incomplete"
    return Result(
        instance,
        solution,
        status,
        bound,
        required_visited=visited,
        required_bound=most,
        details=details or {},
    )
