"""Tests of pictures of plans with vehicles, alternatives and required stops of their own."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
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

from decost import Alternative, Instance, Place, Stop, Vehicle, make_solution
from decost.show.palette import LIMIT, ROUTE_COLOURS
from decost.show.plan import plot_plan


def town(first: str = "ann", **changes: object) -> Instance:
    """Two guides, a museum open twice, lunch at one of two places, a tower.

    Alternatives are 1 and 2 of the museum (2 for the first vehicle alone), 3 and 4 of lunch, 5 of
    the tower.
    """
    given: dict[str, object] = {
        "unit": "minutes",
        "begin": "09:00",
        "budget": "17:30",
        "depot": Place(x=0, y=0),
        "places": [Place("inn", x=6, y=8), Place("hotel", x=9, y=1)],
        "vehicles": [
            Vehicle("ann"),
            Vehicle("bob", start="hotel", end="inn", begin="10:00", due="18:00"),
        ],
        "stops": [
            Stop(
                "museum",
                x=3,
                y=4,
                min_stay=30,
                rate=2,
                max_stay=90,
                required=True,
                alternatives=[
                    Alternative(open="09:30", leave_by="12:00"),
                    Alternative(open="14:00", close="16:00", vehicles=[first]),
                ],
            ),
            Stop(
                "lunch",
                min_stay=30,
                reward=20,
                required=True,
                alternatives=[
                    Alternative(place="inn", open="12:00", close="13:30"),
                    Alternative(x=1, y=1, open="12:00", close="14:00"),
                ],
            ),
            Stop("tower", x=8, y=5, reward=5),
        ],
    }
    return Instance.build(**(given | changes))


def lines(axes: Axes, label: str) -> np.ndarray:
    """Give the data of the lines with a label, one row a point."""
    found = [line.get_xydata() for line in axes.lines if line.get_label() == label]
    return np.concatenate(found) if found else np.empty((0, 2))


def legend(figure: Figure, label: str) -> list[str]:
    """Texts of the key of some axes."""
    return [text.get_text() for text in find_axes(figure, label).get_legend().get_texts()]


def test_starts_and_ends() -> None:
    """Each start is a square and each end a diamond at its place, and all are named."""
    instance = town()
    figure = plot_plan(instance, make_solution(instance, [[1, 4], [5]], [[60, 30], [0]]))
    axes = find_axes(figure, "map")
    assert sorted(map(tuple, lines(axes, "start"))) == [(0, 0), (9, 1)]
    assert sorted(map(tuple, lines(axes, "end"))) == [(0, 0), (6, 8)]
    shapes = {line.get_label(): line.get_marker() for line in axes.lines}
    assert (shapes["start"], shapes["end"]) == ("s", "D")
    written = {text.get_text(): text.xy for text in map_labels(figure)}
    assert (written["depot"], written["hotel"], written["inn"]) == ((0, 0), (9, 1), (6, 8))
    assert legend(figure, "map")[:4] == ["start", "end", "ann", "bob"]


def test_one_name_for_starts_that_are_ends() -> None:
    """If everybody comes back to where they started, there is one kind of marker."""
    instance = town(vehicles=[Vehicle("ann"), Vehicle("bob", start="hotel", end="hotel")])
    figure = plot_plan(instance, make_solution(instance, [[1]], [[60]]))
    axes = find_axes(figure, "map")
    assert sorted(map(tuple, lines(axes, "start and end"))) == [(0, 0), (9, 1)]
    assert legend(figure, "map")[0] == "start and end"


def test_nameless_start_says_whose_it_is() -> None:
    """A start given by coordinates alone is called by its vehicle."""
    instance = town(vehicles=[Vehicle("ann"), Vehicle("bob", start=Place(x=9, y=9))])
    figure = plot_plan(instance, make_solution(instance, [[1]], [[60]]))
    written = {text.get_text(): text.xy for text in map_labels(figure)}
    assert written["start of bob"] == (9, 9)


def test_routes_go_from_start_to_end_by_the_places_used() -> None:
    """Arrows join a vehicle's start, the places of its alternatives and its end."""
    instance = town()
    figure = plot_plan(instance, make_solution(instance, [[1, 4], [5]], [[60, 30], [0]]))
    arrows = [p for p in find_axes(figure, "map").patches if isinstance(p, FancyArrowPatch)]
    ways = [tuple(map(tuple, arrow._posA_posB)) for arrow in arrows]
    first = [((0, 0), (3, 4)), ((3, 4), (1, 1)), ((1, 1), (0, 0))]
    assert ways == [*first, ((9, 1), (8, 5)), ((8, 5), (6, 8))]


def test_other_places_of_a_stop() -> None:
    """A place where a stop could be visited as well is hollow, joined to where it is visited."""
    instance = town()
    figure = plot_plan(instance, make_solution(instance, [[4]], [[30]]))
    axes = find_axes(figure, "map")
    assert find_points(axes, "visited").tolist() == [[1, 1]]
    assert find_points(axes, "other place of a stop").tolist() == [[6, 8]]
    (links,) = (c for c in axes.collections if c.get_label() == "link")
    assert [link.tolist() for link in links.get_segments()] == [[[1, 1], [6, 8]]]
    assert "other place of a stop" in legend(figure, "map")
    figure = plot_plan(instance, make_solution(instance, [[3]], [[30]]))
    assert find_points(find_axes(figure, "map"), "visited").tolist() == [[6, 8]]
    assert "★ lunch, inn" in find_texts(figure)


def test_windows_of_all_alternatives_that_the_vehicle_could_use() -> None:
    """The window used is tall, others are thin; those for other vehicles are not there."""
    instance = town()
    plan = make_solution(instance, [[1, 4], []], [[60, 30], []])
    axes = find_axes(plot_plan(instance, plan), "timeline")
    museum, lunch = (bar[2] for bar in find_bars(axes, "stay"))
    assert find_bars(axes, "window") == [
        pytest.approx((570, 720, museum)),
        pytest.approx((720, 840, lunch)),
    ]
    assert find_bars(axes, "other window") == [
        pytest.approx((840, 960, museum)),
        pytest.approx((720, 810, lunch)),
    ]
    heights = {
        c.get_label(): np.ptp(c.get_paths()[0].vertices[:, 1])
        for c in axes.collections
        if c.get_label() in ("window", "other window")
    }
    assert heights["other window"] < heights["window"] / 2
    figure = plot_plan(instance, make_solution(instance, [[], [1]], [[], [60]]))
    assert find_bars(find_axes(figure, "timeline"), "other window") == []
    assert "other window" not in legend(figure, "timeline")


def test_required_stops_have_a_star() -> None:
    """Required stops are marked on the map, beside the timeline and in the key."""
    instance = town()
    figure = plot_plan(instance, make_solution(instance, [[1, 4], [5]], [[60, 30], [0]]))
    assert lines(find_axes(figure, "map"), "required").tolist() == [[3, 4], [1, 1]]
    texts = find_texts(figure)
    assert {"★ museum", "★ lunch", "tower", "required"} <= set(texts)
    assert any("2 of 2 required ones" in text for text in texts)
    assert not any("not visited" in text for text in texts)


def test_required_stop_left_out() -> None:
    """One that is left out is red on the map, in the heading and in a row with its windows."""
    instance = town()
    figure = plot_plan(instance, make_solution(instance, [[1]], [[60]]))
    axes = find_axes(figure, "map")
    (missing,) = (c for c in axes.collections if c.get_label() == "required, not visited")
    assert to_hex(missing.get_edgecolor()[0]) == LIMIT
    assert "required, not visited" in legend(figure, "map")
    (label,) = (text for text in map_labels(figure) if text.get_text() == "lunch")
    assert label.get_color() == LIMIT
    texts = {text.get_text(): text.get_color() for text in figure.texts}
    assert texts["required, but not visited: lunch"] == LIMIT
    timeline = find_axes(figure, "timeline")
    (row,) = (text for text in timeline.texts if text.get_text() == "★ lunch")
    bars = find_bars(timeline, "window of a stop left out")
    assert sorted(bar[:2] for bar in bars) == [(720, 810), (720, 840)]
    assert {bar[2] for bar in bars} == {row.xy[1]}


def test_many_required_stops_left_out() -> None:
    """At most thirty rows tell of them."""
    stops = [Stop(f"s{k}", x=k, y=1, reward=1, required=True) for k in range(50)]
    instance = Instance.build(budget=1, depot=Place(x=0, y=0), stops=stops)
    figure = plot_plan(instance, make_solution(instance, [], []))
    texts = find_texts(find_axes(figure, "timeline"))
    assert sum(text.startswith("★") for text in texts) == 29
    assert "and 21 more" in texts


def test_clock_axis() -> None:
    """With minutes the axis has whole hours or round parts of them, from the first begin on."""
    instance = town()
    plan = make_solution(instance, [[1], [5]], [[60], [0]])
    figure = plot_plan(instance, plan)
    FigureCanvasAgg(figure).draw()
    axes = find_axes(figure, "timeline")
    left, right = axes.get_xlim()
    assert left == pytest.approx(540, abs=10)
    assert right == pytest.approx(1080, abs=15)
    shown = [
        label.get_text()
        for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if left <= tick <= right
    ]
    assert shown == [f"{hour:02}:00" for hour in range(9, 19)]
    texts = find_texts(figure)
    assert "1   09:30 to 10:30" in texts
    assert "back at 10:35" in texts
    assert any("09:25 to" in text for text in texts)


@pytest.mark.parametrize(("span", "step"), [(10, 1), (100, 10), (600, 60), (4 * 1440, 720)])
def test_steps_of_a_clock_axis(span: float, step: float) -> None:
    """There are at most thirteen ticks, at round times."""
    stops = [Stop("a", x=1, y=0, reward=1)]
    instance = Instance.build(
        unit="minutes", begin=480, budget=480 + span, depot=Place(x=0, y=0), stops=stops
    )
    axes = find_axes(plot_plan(instance, make_solution(instance, [[1]], [[0]])), "timeline")
    left, right = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if left <= tick <= right]
    assert np.diff(ticks) == pytest.approx(step)
    assert all(tick % step == 0 for tick in ticks)


def test_numbers_without_a_unit() -> None:
    """Without a unit times are numbers."""
    instance = make_instance(3)
    figure = plot_plan(instance, make_plan(instance, [1, 2]))
    assert not any(":" in text for text in find_texts(figure))


def test_shifts_of_their_own() -> None:
    """Each lane has its own begin and due; with one for all there is one line across."""
    instance = town()
    plan = make_solution(instance, [[1], [5]], [[60], [0]])
    figure = plot_plan(instance, plan)
    axes = find_axes(figure, "timeline")
    assert sorted({float(x) for x, _ in lines(axes, "shift")}) == [540, 600, 1050, 1080]
    assert "begin and due" in legend(figure, "timeline")
    assert len(lines(axes, "budget")) == 0
    alike = town("1", vehicles=2)
    figure = plot_plan(alike, make_solution(alike, [[1]], [[60]]))
    assert lines(find_axes(figure, "timeline"), "budget")[:, 0].tolist() == [1050, 1050]
    assert "budget 17:30" in legend(figure, "timeline")


def test_vehicle_underway_that_is_late() -> None:
    """It goes home directly: an arrow, a lane of two rows, and its lateness in red."""
    instance = town(
        vehicles=[
            Vehicle("ann"),
            Vehicle("bob", start="hotel", due="09:05", underway=True),
        ]
    )
    figure = plot_plan(instance, make_solution(instance, [[1, 4]], [[60, 30]]))
    arrows = [p for p in find_axes(figure, "map").patches if isinstance(p, FancyArrowPatch)]
    assert tuple(map(tuple, arrows[-1]._posA_posB)) == ((9, 1), (0, 0))
    # 82 ** 0.5 minutes from 9:00 on
    (text,) = (t for t in find_axes(figure, "timeline").texts if "late" in t.get_text())
    assert text.get_text() == "at 09:09, late by 4 min"
    assert text.get_color() == LIMIT


def lab(colour: str) -> np.ndarray:
    """Give a colour in CIELAB, in which distances are as large as they look."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ linear / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colours_are_told_apart() -> None:
    """No two of the colours of routes are close, and none is too light for white paper."""
    for one, other in combinations(ROUTE_COLOURS, 2):
        assert np.linalg.norm(lab(one) - lab(other)) > 25
    assert all(lab(colour)[0] < 80 for colour in ROUTE_COLOURS)


def test_no_two_of_thirty_vehicles_look_alike() -> None:
    """Colours come again with another line, and twelve vehicles have twelve colours."""
    instance = make_instance(30, vehicles=30)
    figure = plot_plan(instance, make_plan(instance, *([stop] for stop in range(1, 31))))
    arrows = [p for p in find_axes(figure, "map").patches if isinstance(p, FancyArrowPatch)]
    looks = [(to_hex(a.get_edgecolor()), str(a.get_linestyle())) for a in arrows[::2]]
    assert len(set(looks)) == 30
    assert len({colour for colour, _ in looks[:12]}) == 12


def test_vehicles_named_after_colours() -> None:
    """A vehicle called red is red, and the others do without that colour."""
    instance = town("x", vehicles=[Vehicle("x"), Vehicle("Red"), Vehicle("blue"), Vehicle("y")])
    plan = make_solution(instance, [[5], [1], [4], []], [[0], [60], [30], []])
    axes = find_axes(plot_plan(instance, plan), "map")
    key = {line.get_label(): to_hex(line.get_color()) for line in axes.get_legend().get_lines()}
    assert key["Red"] == "#a33c54"
    assert key["blue"] == "#0f3f73"
    assert key["x"] not in (key["Red"], key["blue"])


def test_names_of_vehicles_are_no_formulas(tmp_path: Path) -> None:
    """Odd names of vehicles and places are written as they are."""
    instance = town(
        "$x_1$",
        places=[Place("inn", x=6, y=8), Place("$x_1", x=9, y=1)],
        vehicles=[Vehicle("$x_1$"), Vehicle(r"\frac{", start="$x_1")],
    )
    figure = plot_plan(instance, make_solution(instance, [[1], [5]], [[60], [0]]))
    save(figure, tmp_path)
    assert {"$x_1$", r"\frac{"} <= set(legend(figure, "map"))
    assert not any(t.get_parse_math() for t in find_axes(figure, "map").get_legend().get_texts())


def geographic(*places: tuple[float, float]) -> Instance:
    """Put stops at (lat, lon), the depot being the first."""
    (lat, lon), *rest = places
    stops = [Stop(f"s{k}", lat=a, lon=b, reward=1) for k, (a, b) in enumerate(rest)]
    return Instance.build(
        unit="minutes",
        speed="5 km/h",
        begin="09:00",
        budget="17:00",
        depot=Place(lat=lat, lon=lon),
        stops=stops,
    )


def test_degrees_are_drawn_in_shape() -> None:
    """At 60 degrees north a degree of longitude is half as long as one of latitude."""
    instance = geographic((60, 10), (60, 10.02), (60.01, 10))
    figure = plot_plan(instance, make_solution(instance, [], []))
    axes = find_axes(figure, "map")
    depot = lines(axes, "depot")[0]
    east, north = find_points(axes, "not visited") - depot
    assert axes.get_aspect() == 1
    assert east == pytest.approx([1.112, 0], abs=1e-3)  # kilometres
    assert north == pytest.approx([0, 1.112], abs=1e-3)
    assert list(axes.get_xticks()) == []
    scale = lines(axes, "scale")
    assert np.ptp(scale[:, 0]) == pytest.approx(0.2)
    assert "200 m" in find_texts(figure)
    assert "ways are 1.3 times as long as the straight line" in find_texts(figure)


def test_across_the_date_line() -> None:
    """Places on both sides of 180 degrees are neighbours."""
    instance = geographic((0, 179.99), (0, -179.99))
    axes = find_axes(plot_plan(instance, make_solution(instance, [], [])), "map")
    distance = find_points(axes, "not visited")[0] - lines(axes, "depot")[0]
    assert distance == pytest.approx([2.224, 0], abs=1e-3)


def test_stops_not_visited_are_named_where_there_is_room() -> None:
    """Names of stops left out are grey and cover neither stops nor other names."""
    instance = make_instance(9, ids=[f"place {k}" for k in range(9)])
    figure = plot_plan(instance, make_plan(instance, [1, 2, 3]))
    FigureCanvasAgg(figure).draw()
    labels = map_labels(figure)
    assert {f"place {k}" for k in range(3, 9)} & {text.get_text() for text in labels}
    assert not any_overlap(text.get_window_extent() for text in labels)
    full = make_instance(400, ids=[f"place {k}" for k in range(400)])
    figure = plot_plan(full, make_plan(full, list(range(1, 20))))
    FigureCanvasAgg(figure).draw()
    assert not any_overlap(text.get_window_extent() for text in map_labels(figure))


def test_a_crowd_is_enlarged() -> None:
    """Where most places lie close together, a part of the map shows them larger, with names."""
    random = np.random.default_rng(0)
    xy = np.vstack(([[0, 0]], random.uniform(-1, 1, (10, 2)), [[0, 30], [0, -30], [3, 20]]))
    instance = make_instance(13, xy=xy, ids=[f"place {k}" for k in range(1, 14)])
    figure = plot_plan(instance, make_plan(instance, list(range(1, 14))))
    FigureCanvasAgg(figure).draw()
    inset, axes = find_axes(figure, "enlarged"), find_axes(figure, "map")
    assert find_points(inset, "visited") == pytest.approx(find_points(axes, "visited"))
    named = {text.get_text() for text in inset.texts} | {t.get_text() for t in map_labels(figure)}
    assert sum(f"place {k}" in named for k in range(1, 14)) >= 11
    assert not any_overlap(
        (inset.get_window_extent(), *(t.get_window_extent() for t in map_labels(figure)))
    )
    even = make_instance(13)
    labels = [axes.get_label() for axes in plot_plan(even, make_plan(even, [1])).axes]
    assert "enlarged" not in labels


def test_several_matrices_have_a_map() -> None:
    """Without coordinates the places are laid out by the mean of all travel times."""
    near = [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    instance = Instance.build(
        budget=50,
        travel={"foot": near, "bike": (np.array(near) / 2).tolist()},
        vehicles=[Vehicle("a", profile="foot"), Vehicle("b", profile="bike")],
        stops=[Stop("x", reward=1), Stop("y", reward=2)],
    )
    figure = plot_plan(instance, make_solution(instance, [[1], [2]], [[0], [0]]))
    axes = find_axes(figure, "map")
    places = np.vstack((lines(axes, "depot"), find_points(axes, "visited")))
    distances = np.hypot(*(places[:, None] - places).T)
    assert distances / distances.max() == pytest.approx(np.array(near) / 5)


def test_stop_without_alternatives(tmp_path: Path) -> None:
    """A stop that nobody can visit is drawn at its place, as not visited."""
    stops = [Stop("a", x=1, y=2, reward=1), Stop("b", x=3, y=4, alternatives=[])]
    instance = Instance.build(budget=20, depot=Place(x=0, y=0), stops=stops)
    figure = plot_plan(instance, make_solution(instance, [[1]], [[0]]))
    save(figure, tmp_path)
    assert find_points(find_axes(figure, "map"), "not visited").tolist() == [[3, 4]]


@pytest.mark.parametrize("routes", [[[1, 4], [5]], [[], []], [[2], []]])
def test_nothing_is_cut_off(routes: list[list[int]], tmp_path: Path) -> None:
    """Every text lies on the page, and drawing it warns of nothing."""
    instance = town()
    stays = [[instance.alternative_min_stay[way] for way in route] for route in routes]
    figure = plot_plan(instance, make_solution(instance, routes, stays))
    save(figure, tmp_path)
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert 0.1 < box.x0 < box.x1 < width - 0.1
    assert 0.1 < box.y0 < box.y1 < height - 0.1


def test_long_names_keep_their_ends() -> None:
    """Of a name that is too long the middle is left out: ends tell names apart."""
    ids = [f"a very long street name indeed, number {k}" for k in (17, 18)]
    instance = make_instance(2, ids=ids)
    texts = find_texts(plot_plan(instance, make_plan(instance, [1, 2])))
    assert {"a very long…, number 17", "a very long…, number 18"} <= set(texts)
