"""Tests of the picture of a plan as a whole: everything is there and legible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from pictures import (
    any_overlap,
    find_axes,
    find_bars,
    find_points,
    find_texts,
    make_instance,
    make_plan,
    map_labels,
    save,
)

from decost import Instance, Solution, make_solution
from decost.show.plan import plot_plan


def test_sixty_visits_are_legible() -> None:
    """With sixty visits no two labels overlap, on the map or beside the timeline."""
    instance = make_instance(90)
    figure = plot_plan(instance, make_plan(instance, list(range(1, 61))))
    FigureCanvasAgg(figure).draw()
    labels = map_labels(figure)
    assert len(labels) >= 57
    rows = [text for text in find_axes(figure, "timeline").texts if text.get_text()]
    assert sum(text.get_text().startswith("stop ") for text in rows) == 60
    for texts in (labels, rows):
        assert not any_overlap(text.get_window_extent() for text in texts)
        assert min(text.get_fontsize() for text in texts) >= 7


def plans() -> dict[str, tuple[Instance, Solution]]:
    """Instances and plans of all kinds."""
    five = make_instance(8, ids=[f"place no. {stop}" for stop in range(8)])
    sixty = make_instance(70, leave_by=np.full(71, 900.0))
    four = make_instance(30, vehicles=4)
    end = make_instance(6, separate_end=True)
    times = five.replace(
        xy=None, travel=np.random.default_rng(0).random((9, 9)), ids=["W" * 99, *"bcdefgh"]
    )
    unused = make_instance(5, vehicles=20)
    big = five.replace(xy=five.xy + 1e7, travel=five.travel)
    huge = make_instance(3, rate=np.full(4, 3.3e200), budget=5e150, xy=np.eye(4, 2) * 1e150)
    tiny = make_instance(3, rate=np.full(4, 1e-9), budget=5e-150, xy=np.eye(4, 2) * 1e-150)
    one_place = make_instance(3, xy=np.ones((4, 2)))
    worthless = make_instance(3, rate=np.zeros(4))
    no_stops = Instance(budget=0, xy=[[2, 3]])
    return {
        "five visits": (five, make_plan(five, [1, 2, 3, 5, 8])),
        "sixty visits": (sixty, make_plan(sixty, list(range(1, 61)))),
        "four vehicles": (four, make_plan(four, [*range(1, 9)], [9], [10, 11], [*range(12, 30)])),
        "separate end": (end, make_plan(end, [3, 1])),
        "only travel times": (times, make_plan(times, [1, 3, 4])),
        "unused vehicles": (unused, make_plan(unused, [1], [2, 3])),
        "far from the origin": (big, make_plan(big, [1, 2])),
        "huge numbers": (huge, make_plan(huge, [1, 2])),
        "tiny numbers": (tiny, make_plan(tiny, [1, 2])),
        "one place": (one_place, make_plan(one_place, [1, 2])),
        "no profit": (worthless, make_plan(worthless, [1, 2])),
        "empty plan": (five, make_solution(five, [], [])),
        "no stops": (no_stops, make_solution(no_stops, [], [])),
        "no routes": (no_stops, Solution(())),
    }


@pytest.mark.parametrize("kind", plans())
def test_nothing_is_cut_off(kind: str, tmp_path: Path) -> None:
    """Every text lies on the page, and drawing it warns of nothing."""
    figure = plot_plan(*plans()[kind])
    save(figure, tmp_path)
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert 0.1 < box.x0 < box.x1 < width - 0.1
    assert 0.1 < box.y0 < box.y1 < height - 0.1


@pytest.mark.parametrize("kind", ["sixty visits", "only travel times", "four vehicles"])
def test_keys_and_titles_do_not_collide(kind: str, tmp_path: Path) -> None:
    """The key of the timeline, its title and the map's scale keep clear of each other."""
    figure = plot_plan(*plans()[kind])
    save(figure, tmp_path)
    timeline, routes = find_axes(figure, "timeline"), find_axes(figure, "map")
    (title,) = (text for text in timeline.texts if text.get_text() == "Timeline")
    boxes = [
        title.get_window_extent(),
        timeline.get_legend().get_window_extent(),
        timeline.get_window_extent(),
        routes.get_window_extent(),
        routes.get_legend().get_window_extent(),
        find_axes(figure, "share").get_tightbbox(),
    ]
    assert not any_overlap(boxes)


def test_empty_plan() -> None:
    """A plan without visits says so, and shows all stops as not visited."""
    instance = make_instance(6)
    figure = plot_plan(instance, make_solution(instance, [], []))
    assert "no stop is visited" in find_texts(figure)
    assert "profit 0   ·   0 of 6 stops visited   ·   time used 0 of 140" in find_texts(figure)
    assert len(find_points(find_axes(figure, "map"), "not visited")) == 6
    assert find_bars(find_axes(figure, "timeline"), "stay") == []


def test_heading() -> None:
    """The heading tells name, profit, visited stops and time; a title replaces the name."""
    instance = Instance(budget=480, xy=[[0, 0], [3, 4], [0, 9]], rate=[0, 2, 1], max_stay=[0, 9, 9])
    instance = instance.replace(name="Day trip")
    solution = make_solution(instance, [[1]], [[9]])
    texts = find_texts(plot_plan(instance, solution))
    assert "Day trip" in texts
    assert "profit 18   ·   1 of 2 stops visited   ·   time used 19 of 480" in texts
    texts = find_texts(plot_plan(instance, solution, title="Monday"))
    assert "Monday" in texts
    assert "Day trip" not in texts


def test_heading_of_a_team() -> None:
    """For several vehicles the time is the longest route's, and unused ones are counted."""
    instance = Instance(budget=40, xy=[[0, 0], [3, 4], [6, 8]], reward=[0, 1, 1], vehicles=3)
    texts = find_texts(plot_plan(instance, make_solution(instance, [[1], [2]], [[0], [0]])))
    facts = ("profit 2", "2 of 2 stops visited", "longest route 20 of 40")
    assert "   ·   ".join((*facts, "1 of 3 vehicles not used")) in texts
