"""Tests of the curves of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import (
    any_overlap,
    find_axes,
    find_texts,
    save,
)

from decost.show.curves import plot_training


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
