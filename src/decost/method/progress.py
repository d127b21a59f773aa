"""What a method tells while it is at work, and what it may hear."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from decost.compiling import clock
from decost.method.deadline import Deadline
from decost.method.value import Scale
from decost.problem.plan import Solution

BetterPlan: TypeAlias = Callable[[float], Solution | None]
"""Asks whether somebody else has found a plan that earns more than this meanwhile."""


def no_plan() -> None:
    """Tell of no plan."""


class Figures(NamedTuple):
    """The numbers of a report."""

    seconds: float
    profit: float
    bound: float | None = None


class Progress(Figures):
    """What a method has reached: three numbers, and for whoever wants it the plan.

    Attributes
    ----------
    seconds
        How long it took.
    profit
        Profit of the best plan.
    bound
        Bound on all plans, None if nothing is proven yet.
    plan
        A function that makes the best plan at the time it is called, or gives None if the method
        cannot tell it then.
    required_visited
        How many required stops the best plan visits: that counts before its profit.
    """

    plan: Callable[[], Solution | None] = staticmethod(no_plan)
    required_visited: int = 0


class Reporter:
    """Tells somebody of the best plan and the least bound so far, if they are news.

    It is told of values, in which required stops count (see `decost.method.value`), and speaks of
    profits.

    Parameters
    ----------
    listener
        Who is told; whoever answers False hears nothing more, and cancels the deadline.
    deadline
        That of the method.
    scale
        What values of the instance mean.
    plan
        Makes the best plan at any time.
    """

    def __init__(
        self,
        listener: Callable[[Progress], object] | None,
        deadline: Deadline,
        scale: Scale,
        plan: Callable[[], Solution | None] = no_plan,
    ) -> None:
        self._listener = listener
        self._deadline = deadline
        self._scale = scale
        self._begin = clock()
        self._plan = plan
        self._told: tuple[float, float | None] = (-math.inf, None)

    def report(
        self,
        value: float,
        bound: float | None = None,
        plan: Callable[[], Solution | None] | None = None,
    ) -> None:
        """Tell a value and a bound, which need not be the best, and who can make the plan."""
        if self._listener is None:
            return
        best, least = self._told
        if plan is not None and value > best:
            self._plan = plan
        bounds = [float(one) for one in (bound, least) if one is not None]
        told = (max(float(value), best), min(bounds, default=None))
        if told == self._told:
            return
        self._told = told
        visited, profit = self._scale.split(told[0])
        limit = None if told[1] is None else self._scale.profit_bound(told[1], visited)
        seconds = clock() - self._begin
        news = Progress(seconds, profit, limit)
        news.plan, news.required_visited = self._plan, visited
        answer = self._listener(news)
        if isinstance(answer, bool | np.bool_) and not answer:
            self._listener = None
            self._deadline.cancel()

    def pass_on(self, news: Progress) -> None:
        """Tell the news of a part of the method."""
        bonus, required = self._scale.bonus, self._scale.required
        # The bound is for plans that visit as many required stops as the news' or more.
        bound = None if news.bound is None else news.bound + bonus * required
        self.report(news.profit + bonus * news.required_visited, bound, news.plan)
