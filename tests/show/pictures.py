"""For the tests of pictures: plans to draw, and what is found in a picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

from decost import Instance, Solution, make_solution
from decost.show.page import save_figure


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
