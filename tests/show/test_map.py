"""Tests of the map: what is drawn is what the plan says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from pictures import (
    find_axes,
    find_points,
    find_texts,
    make_instance,
    make_plan,
    map_labels,
)

from decost import Instance, make_solution
from decost.show.plan import plot_plan


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
