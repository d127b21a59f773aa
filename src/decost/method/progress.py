"""What a method tells while it is at work, and what it may hear."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from decost.method.deadline import Deadline
from decost.problem.plan import Solution

BetterPlan: TypeAlias = Callable[[float], Solution | None]
"""Asks whether somebody else has found a plan that earns more than this meanwhile."""


def no_plan() -> None:
    """Tell of no plan."""


class Progress(NamedTuple):
    """What a method has reached.

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
    """

    seconds: float
    profit: float
    bound: float | None = None
    plan: Callable[[], Solution | None] = no_plan


class Reporter:
    """Tells somebody of the best profit and the least bound so far, if they are news.

    Parameters
    ----------
    listener
        Who is told; whoever answers False hears nothing more, and cancels the deadline.
    deadline
        That of the method.
    plan
        Makes the best plan at any time.
    """

    def __init__(
        self,
        listener: Callable[[Progress], object] | None,
        deadline: Deadline,
        plan: Callable[[], Solution | None] = no_plan,
    ) -> None:
        self._listener = listener
        self._deadline = deadline
        self._begin = time.perf_counter()
        self._last = Progress(0.0, -math.inf, None, plan)

    def report(
        self,
        profit: float,
        bound: float | None = None,
        plan: Callable[[], Solution | None] | None = None,
    ) -> None:
        """Tell a profit and a bound, which need not be the best, and who can make the plan."""
        if self._listener is None:
            return
        last = self._last
        bounds = [float(one) for one in (bound, last.bound) if one is not None]
        news = Progress(
            time.perf_counter() - self._begin,
            max(float(profit), last.profit),
            min(bounds, default=None),
            plan if plan is not None and profit > last.profit else last.plan,
        )
        if news[1:3] == last[1:3]:
            return
        self._last = news
        answer = self._listener(news)
        if isinstance(answer, bool | np.bool_) and not answer:
            self._listener = None
            self._deadline.cancel()

    def pass_on(self, news: Progress) -> None:
        """Tell the news of a part of the method."""
        self.report(news.profit, news.bound, news.plan)
