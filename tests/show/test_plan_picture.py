"""Tests of the pictures: what is drawn is what the plan says, and files are written safely."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

from decost import Instance, Route, Solution, Visit, make_solution
from decost.show.plan import plot_plan, plot_training, save_figure


def make_instance(stops: int, **changes: object) -> Instance:
    """Scatter stops over a square, with windows, rates and stays of their own."""
    random = np.random.default_rng(stops)
    nodes = stops + 1
    given = {
        "budget": 20.0 * nodes,
        "xy": random.random((nodes + bool(changes.get("separate_end")), 2)) * 10,
        "open": random.uniform(-5, 20 * stops, nodes),
        "close": np.full(nodes, np.inf),
        "rate": random.uniform(1, 10, nodes),
        "max_stay": random.uniform(2, 4, nodes),
        "name": "Test round",
    }
    return Instance(**(given | changes))


def make_plan(instance: Instance, *routes: list[int]) -> Solution:
    """Visit the stops of each route in order of their windows, half the longest stay each."""
    ordered = [sorted(route, key=lambda stop: instance.open[stop]) for route in routes]
    return make_solution(
        instance, ordered, [[instance.max_stay[stop] / 2 for stop in route] for route in ordered]
    )


def find_axes(figure: Figure, label: str) -> Axes:
    """Axes by their label."""
    (axes,) = (axes for axes in figure.axes if axes.get_label() == label)
    return axes


def find_bars(axes: Axes, label: str) -> list[tuple[float, float, float]]:
    """Bars (begin, end, row) of the timeline, from top to bottom."""
    bars = []
    for collection in axes.collections:
        if collection.get_label() == label:
            for path in collection.get_paths():
                (begin, top), (end, bottom) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                bars.append((begin, end, (top + bottom) / 2))
    return sorted(bars, key=lambda bar: bar[2])


def find_points(axes: Axes, label: str) -> np.ndarray:
    """Positions of the markers with a label."""
    found = [c.get_offsets() for c in axes.collections if c.get_label() == label]
    return np.concatenate([np.asarray(offsets) for offsets in found])


def find_texts(figure: Figure) -> list[str]:
    """All that is written in a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def map_labels(figure: Figure) -> list[Text]:
    """Labels of the stops on the map: they alone are drawn above everything else."""
    return [text for text in find_axes(figure, "map").texts if text.get_zorder() == 5]


def save(figure: Figure, folder: Path, ending: str = "png") -> Path:
    """Render the figure; a warning of the drawing library fails the test."""
    path = folder / f"plan.{ending}"
    save_figure(figure, path)
    assert path.stat().st_size > 1000
    return path


def list_names(folder: Path) -> list[str]:
    """Names of the files in a folder."""
    return [path.name for path in folder.iterdir()]


def any_overlap(boxes: Iterable[BboxBase]) -> bool:
    """Whether two boxes share more than a pixel at their edges."""
    corners = np.array([box.extents for box in boxes])
    low, high = corners[:, None, :2] + 1, corners[:, 2:] - 1
    overlaps = ((low < high) & (low.transpose(1, 0, 2) < high[:, None])).all(axis=2)
    return bool(np.triu(overlaps, 1).any())


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
    """A visit that waits has a second bar from its arrival to its start, another has none."""
    instance = Instance(
        budget=50, xy=[[0, 0], [3, 4], [6, 8]], open=[0, 20, 0], rate=[0, 1, 1], max_stay=[0, 2, 2]
    )
    solution = make_solution(instance, [[1, 2]], [[2, 2]])
    bars = find_bars(find_axes(plot_plan(instance, solution), "timeline"), "wait")
    assert [bar[:2] for bar in bars] == [(5, 20)]


def test_travel_joins_the_rows() -> None:
    """Travel goes from leave to arrival, one row down at a time, from depot to depot."""
    instance = make_instance(5)
    solution = make_plan(instance, [1, 2, 3])
    axes = find_axes(plot_plan(instance, solution), "timeline")
    (travel,) = (c for c in axes.collections if c.get_label() == "travel")
    legs = np.array(travel.get_segments())
    (route,) = solution.routes
    assert legs[:, 0, 0] == pytest.approx([0, *(visit.leave for visit in route.visits)])
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


def test_stops_on_the_map() -> None:
    """Visited stops lie on their places, dark by their share; the others are hollow."""
    instance = make_instance(9)
    solution = make_plan(instance, [2, 4, 7])
    axes = find_axes(plot_plan(instance, solution), "map")
    stops = list(solution.routes[0].stops)
    assert find_points(axes, "visited") == pytest.approx(instance.xy[stops])
    assert find_points(axes, "not visited") == pytest.approx(instance.xy[[1, 3, 5, 6, 8, 9]])
    (visited,) = (c for c in axes.collections if c.get_label() == "visited")
    (others,) = (c for c in axes.collections if c.get_label() == "not visited")
    assert np.asarray(visited.get_array()) == pytest.approx(np.full(3, 0.5))
    assert to_hex(others.get_facecolor()[0]) == "#ffffff"
    assert axes.get_aspect() == 1


def test_size_is_what_a_stop_can_earn() -> None:
    """Marker areas rise in a line with the full profit."""
    instance = make_instance(9)
    axes = find_axes(plot_plan(instance, make_solution(instance, [], [])), "map")
    (others,) = (c for c in axes.collections if c.get_label() == "not visited")
    slopes = np.diff(others.get_sizes()) / np.diff(instance.full_profit[1:])
    assert slopes == pytest.approx(np.full(8, slopes[0]))
    assert slopes[0] > 0


def test_routes_have_colours_and_arrows() -> None:
    """Each of four vehicles has its own colour, in the map and in the timeline alike."""
    instance = make_instance(14, vehicles=4)
    solution = make_plan(instance, [1, 2, 3], [4, 5], [6], [7, 8, 9, 10])
    figure = plot_plan(instance, solution)
    arrows = [p for p in find_axes(figure, "map").patches if isinstance(p, FancyArrowPatch)]
    stays = [c for c in find_axes(figure, "timeline").collections if c.get_label() == "stay"]
    colours = [to_hex(stay.get_facecolor()[0]) for stay in stays]
    assert len(set(colours)) == 4
    drawn = [to_hex(arrow.get_edgecolor()) for arrow in arrows]
    assert [drawn.count(colour) for colour in colours] == [4, 3, 2, 5]
    assert [f"Route {number}" for number in (1, 2, 3, 4)] == [
        text
        for text in find_texts(find_axes(figure, "map").get_legend())
        if text.startswith("Route ")
    ]


def test_separate_end() -> None:
    """The end depot has a marker of its own, and the last arrow leads to it."""
    instance = make_instance(4, separate_end=True)
    figure = plot_plan(instance, make_plan(instance, [1, 2]))
    axes = find_axes(figure, "map")
    places = {line.get_label(): line.get_xydata()[0] for line in axes.lines}
    markers = {line.get_label(): line.get_marker() for line in axes.lines}
    assert places["start depot"] == pytest.approx(instance.xy[0])
    assert places["end depot"] == pytest.approx(instance.xy[5])
    assert markers["start depot"] != markers["end depot"]
    *_, last = (p for p in axes.patches if isinstance(p, FancyArrowPatch))
    assert last._posA_posB[1] == pytest.approx(instance.xy[5])


def test_both_ends_of_a_lane_have_a_depot() -> None:
    """The timeline shows a route's start at 0 and when it is back."""
    instance = make_instance(4)
    solution = make_plan(instance, [1, 2])
    lines = find_axes(plot_plan(instance, solution), "timeline").lines
    times = [line.get_xdata()[0] for line in lines if line.get_label() == "depot"]
    assert times == pytest.approx([0, solution.routes[0].finish])


def test_few_short_ids_label_the_map() -> None:
    """Stops go by their ids; long or many ones by the order of the visits."""
    names = ["museum", "tower", "old port"]
    instance = make_instance(3, ids=names)
    figure = plot_plan(instance, make_plan(instance, [1, 2, 3]))
    assert sorted(text.get_text() for text in map_labels(figure)) == sorted(names)
    instance = make_instance(3, ids=["a name too long for a map", "tower", "old port"])
    figure = plot_plan(instance, make_plan(instance, [1, 2, 3]))
    assert sorted(text.get_text() for text in map_labels(figure)) == ["1", "2", "3"]
    assert "numbers give the order of the visits" in find_texts(figure)


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


def test_map_without_coordinates_keeps_distances() -> None:
    """Travel times that are distances in a plane are found again, up to scale."""
    places = np.random.default_rng(1).random((7, 2))
    travel = np.hypot(*(places[:, None] - places).T)
    instance = Instance(budget=50, travel=travel, reward=np.ones(7))
    figure = plot_plan(instance, make_solution(instance, [], []))
    assert "Approximate map" in find_texts(figure)
    axes = find_axes(figure, "map")
    drawn = np.vstack((axes.lines[0].get_xydata(), find_points(axes, "not visited")))
    distances = np.hypot(*(drawn[:, None] - drawn).T)
    assert distances / distances.max() == pytest.approx(travel / travel.max())


def test_many_places_without_coordinates_have_no_map() -> None:
    """More than 1,000 places are not laid out: that would take too long."""
    travel = np.ones((1002, 1002))
    instance = Instance(budget=50, travel=travel, reward=np.ones(1002))
    figure = plot_plan(instance, make_solution(instance, [[5, 6]], [[0, 0]]))
    assert [axes.get_label() for axes in figure.axes] == ["timeline"]


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


def test_profits_beside_the_timeline() -> None:
    """Each row says what is earned of what can be, with as many decimals as the column needs."""
    instance = Instance(
        budget=90, xy=np.zeros((3, 2)), rate=[0, 2, 0.5], max_stay=[0, 30, 3], ids=["a", "b"]
    )
    texts = find_texts(plot_plan(instance, make_solution(instance, [[1, 2]], [[15, 3]])))
    assert "30.0 of 60.0" in texts
    assert "1.5 of 1.5" in texts


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_odd_names(ending: str, tmp_path: Path) -> None:
    """Names are written as they are, never taken for formulas, and cannot break the drawing."""
    names = ["$x_1$", "$5", r"\frac{", "a\nb\tc", "<&>%#", "\x07\x1b", "\U0010fffd", "_^"]
    instance = make_instance(8, ids=names)
    plan = make_plan(instance, list(range(1, 9)))
    figure = plot_plan(instance, plan, title="$\\frac{1}{$ & 100 % \x00\ud800")
    save(figure, tmp_path, ending)
    texts = find_texts(figure)
    assert "$\\frac{1}{$ & 100 % ??" in texts
    assert {"$x_1$", "$5", r"\frac{", "a b c", "<&>%#", "??", "?", "_^"} <= set(texts)
    assert {text.get_text() for text in map_labels(figure)} >= {"$x_1$", "$5"}
    assert not any(text.get_parse_math() for text in map_labels(figure))


def test_characters_that_the_default_font_lacks(tmp_path: Path) -> None:
    """A character is taken from another font if one has it."""
    character = "\u20dd"
    assert ord(character) not in get_font(findfont(FontProperties())).get_charmap()
    instance = make_instance(1, ids=[f"x{character}"])
    figure = plot_plan(instance, make_plan(instance, [1]))
    save(figure, tmp_path)
    assert f"x{character}" in find_texts(figure)


def test_plan_need_not_be_feasible() -> None:
    """What a plan says is drawn, be it possible or not."""
    instance = make_instance(2)
    visits = (Visit(1, 9.0, 5.0, 2.0, 7.0, 1e6), Visit(1, 3.0, 3.0, 1.0, 4.0, -1.0))
    figure = plot_plan(instance, Solution((Route(visits, 1.0), Route((), 0.0))))
    bars = find_bars(find_axes(figure, "timeline"), "stay")
    assert [bar[:2] for bar in bars] == [(5, 7), (3, 4)]


def histories() -> dict[str, list[dict[str, float]]]:
    """Trainings of all kinds, with the row before the first epoch where there is one."""
    random = np.random.default_rng(3)
    gaps = 1 + 60 * np.exp(-np.arange(200) / 30) + random.random(200)
    profits = 500 - 300 * np.exp(-np.arange(200) / 30)
    long = [
        {"epoch": float(k), "gap": float(gap), "profit": float(profit), "loss": -1.0}
        for k, (gap, profit) in enumerate(zip(gaps, profits, strict=True))
    ]
    return {
        "long": long,
        "before the first epoch": [{"epoch": 0.0, "gap": 62.0}],
        "one epoch": long[1:2],
        "two epochs": [{"epoch": 0.0, "gap": 62.0}, *long[1:2]],
        "only profits": [{"profit": 123456.0 + k} for k in range(5)],
        "nearly flat": [{"epoch": k, "gap": 1.2 + 0.0001 * k} for k in range(9)],
        "many powers of ten": [{"epoch": k, "gap": 10.0**-k, "profit": 1e12 * k} for k in range(9)],
        "down to zero": [{"epoch": k, "gap": max(50 * 0.6**k - 0.01, 0.0)} for k in range(30)],
        "below zero": [{"epoch": k, "gap": gap} for k, gap in enumerate((20, 0.4, -0.01, -0.2))],
        "nothing but zero": [{"epoch": k, "gap": 0.0, "profit": 0.0} for k in range(3)],
        "not finite": [*long[:9], {"epoch": 9.0, "gap": np.nan, "profit": np.inf}],
    }


def curve(figure: Figure, label: str) -> np.ndarray:
    """Points of a curve, (epoch, value)."""
    (line,) = (line for line in find_axes(figure, label).lines if line.get_label() == label)
    return line.get_xydata()


@pytest.mark.parametrize("kind", histories())
def test_training_is_legible(kind: str, tmp_path: Path) -> None:
    """Nothing is cut off, tick labels are apart and differ, titles and keys do not collide."""
    figure = plot_training(histories()[kind])
    save(figure, tmp_path)
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert 0.1 < box.x0 < box.x1 < width - 0.1
    assert 0.1 < box.y0 < box.y1 < height - 0.1
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            labels = [tick.label1 for tick in ticks if tick.label1.get_text()]
            assert labels
            assert not any_overlap(label.get_window_extent() for label in labels)
            assert len({label.get_text() for label in labels}) == len(labels)
        titles = [text.get_window_extent() for text in axes.texts if text.get_text()]
        legend = axes.get_legend()
        keys = [] if legend is None else [legend.get_window_extent()]
        offset = axes.yaxis.get_offset_text()
        offsets = [offset.get_window_extent()] if offset.get_text() else []
        assert not any_overlap([*titles, *keys, *offsets, axes.get_window_extent()])
        assert all(place % 1 == 0 for place in axes.xaxis.get_majorticklocs())


def test_training_curves_are_the_history() -> None:
    """Each curve goes through its values, in order of epochs, past those that are missing."""
    history = [
        {"epoch": 3, "gap": 2.0, "profit": 30.0},
        {"epoch": 1, "gap": 8.0},
        {"epoch": 2, "profit": 20.0},
        {"epoch": 4, "gap": 4.0, "profit": np.nan},
    ]
    figure = plot_training(history)
    assert curve(figure, "gap").tolist() == [[1, 8], [3, 2], [4, 4]]
    assert curve(figure, "profit").tolist() == [[2, 20], [3, 30]]
    assert find_axes(figure, "gap").get_yscale() == "log"
    assert find_axes(figure, "profit").get_yscale() == "linear"


def test_best_epoch_is_marked() -> None:
    """The least gap is marked in both curves, and the heading says which it is."""
    gaps = {1: 8.0, 2: 1.25, 3: 2.5}
    figure = plot_training([{"epoch": k, "gap": gaps[k], "profit": 10.0 * k} for k in gaps])
    for label, value in (("gap", 1.25), ("profit", 20.0)):
        (mark,) = (
            line
            for line in find_axes(figure, label).lines
            if line.get_label() == "best gap, epoch 2" and line.get_linestyle() == "None"
        )
        assert mark.get_xydata().tolist() == [[2, value]]
    assert "epoch 3   ·   last gap 2.5%   ·   best gap 1.25% at epoch 2" in find_texts(figure)


def test_gaps_of_zero_are_drawn() -> None:
    """Zero and less have a place on the axis, though a logarithm has none for them."""
    axes = find_axes(plot_training(histories()["below zero"]), "gap")
    low, high = axes.get_ylim()
    assert low < -0.2
    assert high > 20
    places = axes.transData.transform([(0, value) for value in (-0.2, -0.01, 0.4, 20)])[:, 1]
    assert (np.diff(places) > 20).all()


def test_a_curve_without_values_is_left_out() -> None:
    """There is one panel if only gaps or only profits are known."""
    assert [axes.get_label() for axes in plot_training([{"gap": 3.0}]).axes] == ["gap"]
    assert [axes.get_label() for axes in plot_training([{"profit": 3.0}]).axes] == ["profit"]


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([], "history: has no epochs"),
        ([{"epoch": 1.0, "loss": 2.0}], "neither a gap nor a profit"),
        ([{"epoch": 1.0, "gap": np.nan}], "neither a gap nor a profit"),
        ([{"epoch": np.nan, "gap": 1.0}], "an epoch that is not a number"),
    ],
)
def test_training_with_nothing_to_draw(history: list[dict[str, float]], message: str) -> None:
    """A history without anything to draw is an error."""
    with pytest.raises(ValueError, match=message):
        plot_training(history)


@pytest.fixture
def figure() -> Figure:
    """Draw a small picture."""
    instance = make_instance(2)
    return plot_plan(instance, make_plan(instance, [1]))


@pytest.mark.parametrize(
    ("name", "first"),
    [("a.png", b"\x89PNG"), ("b.pdf", b"%PDF"), ("c.svg", b"<?xml"), ("D.PNG", b"\x89PNG")],
)
def test_format_follows_the_ending(name: str, first: bytes, figure: Figure, tmp_path: Path) -> None:
    """The file is of the kind that its name says, and the only one written."""
    save_figure(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(first)
    assert list_names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["plan.jpg", "plan", "plan.", "png"])
def test_unknown_ending(name: str, figure: Figure, tmp_path: Path) -> None:
    """Another ending is refused with the known ones named, before anything is written."""
    with pytest.raises(ValueError, match=r"choose from: \.png, \.pdf, \.svg"):
        save_figure(figure, tmp_path / name)
    assert list_names(tmp_path) == []


def test_missing_folder(figure: Figure, tmp_path: Path) -> None:
    """The error names the file that was asked for, not a temporary one."""
    with pytest.raises(FileNotFoundError, match=r"plan\.png") as caught:
        save_figure(figure, tmp_path / "missing" / "plan.png")
    assert ".tmp" not in str(caught.value)


def test_target_is_a_folder(figure: Figure, tmp_path: Path) -> None:
    """A folder is not replaced by a picture, and nothing is left beside it."""
    folder = tmp_path / "plan.png"
    folder.mkdir()
    with pytest.raises(OSError, match=r"plan\.png") as caught:
        save_figure(figure, folder)
    assert ".tmp" not in str(caught.value)
    assert list_names(tmp_path) == ["plan.png"]


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt])
def test_failure_keeps_the_old_file(
    error: type[BaseException], figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If drawing fails half way, the old picture is as it was and no part of the new one stays."""
    path = tmp_path / "plan.png"
    path.write_bytes(b"old")

    def fail(file: object, **_: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise error("no more")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(error):
        save_figure(figure, path)
    assert path.read_bytes() == b"old"
    assert list_names(tmp_path) == ["plan.png"]


def test_old_file_is_replaced(figure: Figure, tmp_path: Path) -> None:
    """An old picture gives way to the new one, readable as any new file is."""
    path = tmp_path / "plan.png"
    path.write_bytes(b"old")
    save_figure(figure, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_drawing_has_no_global_state() -> None:
    """Drawing needs no window system: pyplot, which keeps state, is never imported."""
    code = (
        "import sys, decost, decost.show.plan as p\n"
        "i = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1])\n"
        "p.plot_plan(i, decost.make_solution(i, [[1]], [[0]]))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
