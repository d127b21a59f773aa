"""Tests of what methods tell while they are at work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import decost
from decost import Instance, Progress, Solution
from decost.method.deadline import Deadline
from decost.method.progress import Reporter
from decost.method.value import Scale

ONE, TWO = Solution(()), Solution(())
STOPS: dict[str, Any] = {"budget": 30, "xy": [[0, 0], [1, 0], [2, 0]], "reward": [0, 20, 30]}
PLAIN = Scale(Instance(**STOPS))


def test_only_news_are_told() -> None:
    """The best profit and the least bound so far, when one of them has changed."""
    told: list[Progress] = []
    reporter = Reporter(told.append, Deadline(), PLAIN)
    for news in ((1, None), (1, None), (0, 9), (2, 9), (2, 12), (3, 8)):
        reporter.report(*news)
    assert [(one.profit, one.bound) for one in told] == [(1, None), (1, 9), (2, 9), (3, 8)]
    seconds = [one.seconds for one in told]
    assert 0 <= seconds[0] <= seconds[-1] == max(seconds) < 10


def test_numbers_are_plain() -> None:
    """Whatever a method reports, a listener gets numbers of Python's own."""
    told: list[Progress] = []
    Reporter(told.append, Deadline(), PLAIN).report(np.float64(1), np.float64(2))
    assert [type(number) for number in told[0]] == [float, float, float]


def test_false_ends_it() -> None:
    """Who answers False is not asked again, and time is over; other answers mean nothing."""
    for answer, ends in ((False, True), (np.False_, True), (None, False), (0, False), ([], False)):
        told: list[Progress] = []
        deadline = Deadline()

        def hear(news: Progress, told: list[Progress] = told, answer: object = answer) -> object:
            told.append(news)
            return answer

        reporter = Reporter(hear, deadline, PLAIN)
        reporter.report(1.0)
        reporter.report(2.0)
        assert len(told) == 2 - ends
        assert (deadline.left == -math.inf) == ends
        assert not deadline.interrupted


def test_plan_is_that_of_the_best_profit() -> None:
    """Of several that tell plans, the one with the best profit is asked."""
    told: list[Progress] = []
    reporter = Reporter(told.append, Deadline(), PLAIN)
    part = Reporter(reporter.pass_on, Deadline(), PLAIN, lambda: ONE)
    part.report(5.0)
    reporter.report(4.0, 9.0, lambda: TWO)
    assert [news.plan() is ONE for news in told] == [True, True]
    reporter.report(6.0, plan=lambda: TWO)
    assert told[-1].plan() is TWO
    assert (told[-1].profit, told[-1].bound) == (6.0, 9.0)


def test_required_stops_are_told_apart_from_profit() -> None:
    """With a bonus of 64 a required stop: fewer of them never count as better, however rich."""
    scale = Scale(Instance(**STOPS, required=[False, True, False]))
    assert scale.bonus == 64
    told: list[Progress] = []
    reporter = Reporter(told.append, Deadline(), scale)
    for news in ((30.0, 64 + 50.0), (64 + 20.0, None), (35.0, 64 + 40.0)):
        reporter.report(*news)
    found = [(one.required_visited, one.profit, one.bound) for one in told]
    assert found == [(0, 30, 50), (1, 20, 50), (1, 20, 40)]
    above: list[Progress] = []
    passed = Reporter(above.append, Deadline(), scale)
    for one in told:
        passed.pass_on(one)
    assert [(one.required_visited, one.profit) for one in above] == [(0, 30), (1, 20), (1, 20)]
    assert above[-1].bound == 40


def test_nobody_listens() -> None:
    """Reports without a listener go nowhere."""
    Reporter(None, Deadline(), PLAIN).report(1.0, 2.0)
    assert Progress(1.0, 2.0).plan() is None
    assert repr(Progress(1.0, 2.0)) == "Progress(seconds=1.0, profit=2.0, bound=None)"


@pytest.mark.parametrize("method", ["exact", "columns", "search", "gfacs", "auto"])
def test_methods_tell_their_plan(method: str) -> None:
    """A listener can have the plan that earns what is told, also one that is not the last."""
    pytest.importorskip("torch")
    (instance,) = decost.generate("mixed", nodes=60, seed=1, vehicles=1 if method == "exact" else 2)
    told: list[tuple[float, Solution | None]] = []

    def listen(news: Progress) -> bool:
        told.append((news.profit, news.plan()))
        assert type(news.bound) in (float, type(None))
        return len(told) < 20

    decost.solve(instance, method, time_limit=0.4, progress=listen)
    plans = [(profit, plan) for profit, plan in told if plan is not None]
    assert plans
    for profit, plan in plans:
        assert decost.check(instance, plan) == []
        assert plan.profit >= profit * (1 - 1e-9)
