"""Tests of the timeline: what is drawn is what the plan says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from pictures import (
    any_overlap,
    find_axes,
    find_bars,
    find_texts,
    make_instance,
    make_plan,
)

from decost import Instance, Place, Route, Solution, Stop, Vehicle, Visit, make_solution
from decost.show.plan import plot_plan


def test_stays_are_the_visits() -> None:
    """Every visit is one bar from its start to its leave, on a row of its own."""
    instance = make_instance(12, vehicles=3)
    solution = make_plan(instance, [1, 2, 3, 4], [5], [6, 7, 8])
    bars = find_bars(find_axes(plot_plan(instance, solution), "timeline"), "stay")
    assert len(bars) == 8
    for (begin, end, _), visit in zip(bars, solution.visits, strict=True):
        assert (begin, end) == pytest.approx((visit.start, visit.start + visit.stay))
    assert len({row for _, _, row in bars}) == 8


def test_waits_are_told_apart() -> None:
    """A visit that waits has a second bar from its arrival to its start, another has none.

    Before the first visit nobody waits: the vehicle leaves later.
    """
    instance = Instance(
        budget=50, xy=[[0, 0], [3, 4], [6, 8]], open=[0, 9, 20], rate=[0, 1, 1], max_stay=[0, 2, 2]
    )
    solution = make_solution(instance, [[1, 2]], [[2, 2]])
    bars = find_bars(find_axes(plot_plan(instance, solution), "timeline"), "wait")
    assert [bar[:2] for bar in bars] == [(16, 20)]


def test_travel_joins_the_rows() -> None:
    """Travel goes from leave to arrival, one row down at a time, from depot to depot."""
    instance = make_instance(5)
    solution = make_plan(instance, [1, 2, 3])
    axes = find_axes(plot_plan(instance, solution), "timeline")
    (travel,) = (c for c in axes.collections if c.get_label() == "travel")
    legs = np.array(travel.get_segments())
    (route,) = solution.routes
    leaves = [visit.leave for visit in route.visits]
    assert legs[:, 0, 0] == pytest.approx([route.depart, *leaves])
    assert legs[:, 1, 0] == pytest.approx([*(v.arrive for v in route.visits), route.finish])
    assert (legs[:, 1, 1] - legs[:, 0, 1] == 1).all()
    assert [bar[2] for bar in find_bars(axes, "stay")] == pytest.approx(list(legs[1:, 0, 1]))


def test_windows_are_cut_to_the_view() -> None:
    """A window goes from open to close, or to the edge; one that never closes, to the budget."""
    instance = Instance(
        budget=30,
        xy=np.zeros((4, 2)),
        open=[0, 5, -40, 10],
        close=[0, 12, 20, np.inf],
        reward=[0, 1, 1, 1],
    )
    axes = find_axes(
        plot_plan(instance, make_solution(instance, [[2, 1, 3]], [[0, 0, 0]])), "timeline"
    )
    left, right = axes.get_xlim()
    bars = [bar[:2] for bar in find_bars(axes, "window")]
    assert bars == [(left, 20), (5, 12), (10, 30)]
    assert left <= 0
    assert right >= 30


def test_leave_by_is_marked() -> None:
    """A stop that must be left by some time has a mark there, in its row and in the key."""
    instance = Instance(
        budget=30,
        xy=np.zeros((3, 2)),
        leave_by=[0, 9, np.inf],
        reward=[0, 1, 1],
        min_stay=[0, 2, 2],
    )
    figure = plot_plan(instance, make_solution(instance, [[2, 1]], [[2, 2]]))
    axes = find_axes(figure, "timeline")
    (mark,) = find_bars(axes, "leave by")
    assert mark == pytest.approx((9, 9, find_bars(axes, "stay")[1][2]))
    assert "leave by" in find_texts(figure)
    never = plot_plan(instance, make_solution(instance, [[2]], [[2]]))
    assert "leave by" not in find_texts(never)


def test_budget_is_marked() -> None:
    """The budget is a line, in view even for a plan that ends after it."""
    instance = make_instance(4, budget=3.0)
    solution = make_plan(instance, [1, 2, 3, 4])
    axes = find_axes(plot_plan(instance, solution), "timeline")
    (line,) = (line for line in axes.lines if line.get_label() == "budget")
    assert list(line.get_xdata()) == [3.0, 3.0]
    assert axes.get_xlim()[0] < 3.0 < solution.routes[0].finish < axes.get_xlim()[1]


def test_a_stay_of_no_length_is_visible() -> None:
    """A visit of a moment has a bar whose edge is drawn."""
    instance = Instance(budget=9, xy=[[0, 0], [1, 0]], reward=[0, 3])
    figure = plot_plan(instance, make_solution(instance, [[1]], [[0]]))
    (stay,) = (c for c in find_axes(figure, "timeline").collections if c.get_label() == "stay")
    assert find_bars(find_axes(figure, "timeline"), "stay")[0][:2] == (1, 1)
    assert stay.get_linewidth()[0] > 0
    assert to_hex(stay.get_edgecolor()[0]) == to_hex(stay.get_facecolor()[0])


def test_both_ends_of_a_lane_have_a_depot() -> None:
    """The timeline shows when a vehicle leaves and when it is back."""
    instance = make_instance(4)
    solution = make_plan(instance, [1, 2])
    lines = find_axes(plot_plan(instance, solution), "timeline").lines
    times = [line.get_xdata()[0] for line in lines if line.get_label() == "depot"]
    assert times == pytest.approx([solution.routes[0].depart, solution.routes[0].finish])


def test_many_visits_fit_on_a_page() -> None:
    """The page does not grow without end, and what is written beside it stays legible."""
    instance = make_instance(800)
    figure = plot_plan(instance, make_plan(instance, list(range(1, 801))))
    FigureCanvasAgg(figure).draw()
    axes = find_axes(figure, "timeline")
    assert len(find_bars(axes, "stay")) == 800
    assert figure.get_figheight() < 80
    names = [text for text in axes.texts if text.get_text().startswith("stop ")]
    assert 200 <= len(names) < 800
    assert min(text.get_fontsize() for text in names) >= 6
    assert not any_overlap(text.get_window_extent() for text in names)


def test_profits_beside_the_timeline() -> None:
    """Each row says what is earned of what can be, with as many decimals as the column needs."""
    instance = Instance(
        budget=90, xy=np.zeros((3, 2)), rate=[0, 2, 0.5], max_stay=[0, 30, 3], ids=["a", "b"]
    )
    texts = find_texts(plot_plan(instance, make_solution(instance, [[1, 2]], [[15, 3]])))
    assert "30.0 of 60.0" in texts
    assert "1.5 of 1.5" in texts


def test_plan_need_not_be_feasible() -> None:
    """What a plan says is drawn, be it possible or not."""
    instance = make_instance(2)
    visits = (Visit(1, 9.0, 5.0, 2.0, 7.0, 1e6), Visit(1, 3.0, 3.0, 1.0, 4.0, -1.0))
    figure = plot_plan(instance, Solution((Route(visits, 1.0), Route((), 0.0))))
    bars = find_bars(find_axes(figure, "timeline"), "stay")
    assert [bar[:2] for bar in bars] == [(5, 7), (3, 4)]


def test_axis_begins_with_the_first_shift() -> None:
    """Where every vehicle has its own shift, the axis shows no time before or after all of them."""
    instance = Instance.build(
        unit="minutes",
        begin="00:00",
        budget="24:00",
        depot=Place(x=0, y=0),
        vehicles=[
            Vehicle("a", begin="09:00", due="12:00"),
            Vehicle("b", begin="10:00", due="17:00"),
        ],
        stops=[Stop("museum", x=1, y=0, reward=1, min_stay=10)],
    )
    plan = make_solution(instance, [[1], []], [[10], []])
    first, last = find_axes(plot_plan(instance, plan), "timeline").get_xlim()
    assert 530 < first <= 540
    assert 1020 <= last < 1035
