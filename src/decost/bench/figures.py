"""Figures of benches, in the style of the other pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from decost.show.palette import DPI, INK, MUTED, ROUTE_COLOURS, RULE, WINDOW

_WIDTH = 10.0
_LEAST_GAP = 0.01  # percent; below it an axis of gaps is linear
_MARKERS = ("o", "s", "^", "D", "v", "P")


def box_plots(title: str, panels: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw boxes of gaps in percent, a panel for each setting and a box for each method.

    A box holds the middle half of the gaps, its line is the median, its point the mean, and its
    whiskers reach as far as gaps do within one and a half times its height.
    """
    methods = list(dict.fromkeys(name for boxes in panels.values() for name in boxes))
    figure, axes = new_figure(title, 1, len(panels), height=4.4, share="all")
    for one, (setting, boxes) in zip(axes, panels.items(), strict=True):
        _draw_boxes(one, [boxes.get(name, ()) for name in methods], range(1, len(methods) + 1))
        one.set_xticks(range(1, len(methods) + 1), methods, rotation=90)
        one.set_title(setting, size=8.5, color=INK, loc="left")
    _scale_gaps(axes[0])
    axes[0].set_ylabel("gap", size=8, color=MUTED)
    return figure


def gap_by_share(
    title: str,
    boxes: Mapping[int, Sequence[float]],
    means: Mapping[str, Mapping[int, float]],
) -> Figure:
    """Draw a box of gaps for every share of the stay, and the mean of each setting as a line."""
    figure, (axes,) = new_figure(title, 1, 1, height=4.4)
    _draw_boxes(axes, list(boxes.values()), list(boxes), width=5.0)
    for number, (setting, points) in enumerate(means.items()):
        axes.plot(list(points), list(points.values()), label=setting, **_line(number))
    axes.set_xticks(list(boxes), [f"{share}%" for share in boxes])
    axes.set_xlabel("stay in stage one, as a share of the longest", size=8, color=MUTED)
    axes.set_ylabel("gap", size=8, color=MUTED)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.set_ylim(bottom=0)
    _add_key(figure, axes)
    return figure


def growth(
    title: str, curves: Mapping[str, Mapping[str, Sequence[tuple[int, float, float]]]]
) -> Figure:
    """Draw mean seconds and, below, mean gaps in percent against the number of stops.

    A panel is for a kind of instances and a curve for a method, with (stops, seconds, gap).
    """
    methods = list(dict.fromkeys(name for some in curves.values() for name in some))
    figure, axes = new_figure(title, 2, len(curves), height=6.0, share="row")
    for column, (kind, some) in enumerate(curves.items()):
        above, below = axes[column], axes[len(curves) + column]
        for name, points in some.items():
            stops, seconds, gaps = zip(*sorted(points), strict=True)
            style = _line(methods.index(name))
            above.plot(stops, seconds, label=name, **style)
            below.plot(stops, gaps, **style)
        above.set(xscale="log", yscale="log")
        below.set(xscale="log")
        above.set_title(kind, size=8.5, color=INK, loc="left")
        below.set_xlabel("stops", size=8, color=MUTED)
        sizes = sorted({point[0] for points in some.values() for point in points})
        for one in (above, below):
            one.set_xticks(sizes, [str(size) for size in sizes])
            one.minorticks_off()
    _scale_gaps(axes[len(curves)])
    axes[0].set_ylabel("seconds an instance", size=8, color=MUTED)
    axes[len(curves)].set_ylabel("gap", size=8, color=MUTED)
    _add_key(figure, axes[0])
    return figure


def histories(
    title: str, across: str, panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
) -> Figure:
    """Draw percentages along trainings, a panel for each of them and a curve for each training."""
    figure, axes = new_figure(title, len(panels), 1, height=6.0)
    for one, (name, curves) in zip(axes, panels.items(), strict=True):
        for number, (label, points) in enumerate(curves.items()):
            along, values = zip(*points, strict=True) if points else ((), ())
            colour = ROUTE_COLOURS[number % len(ROUTE_COLOURS)]
            shown = [max(value, 1e-5) for value in values]  # nothing has no logarithm
            one.plot(along, shown, label=label, color=colour, linewidth=1.1)
        one.set_yscale("log")
        one.set_ylabel(name, size=8, color=MUTED)
        one.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
        one.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes[0].yaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:g}%" if f"{value:g}"[0] in "25" else "")
    )
    axes[0].tick_params(which="minor", labelsize=7, color=RULE, labelcolor=MUTED, length=2)
    axes[-1].set_xlabel(across, size=8, color=MUTED)
    _add_key(figure, axes[0])
    return figure


def new_figure(
    title: str,
    rows: int,
    columns: int,
    *,
    height: float,
    share: Literal["none", "row", "all"] = "none",
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a title and empty panels, row by row."""
    figure = Figure(figsize=(_WIDTH, height), dpi=DPI, facecolor="white", layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", size=12, color=INK)
    axes = figure.subplots(rows, columns, sharey=share, squeeze=False).ravel().tolist()
    for one in axes:
        one.tick_params(labelsize=7, color=RULE, labelcolor=MUTED, length=2.5, width=0.6)
        one.grid(axis="y", color=WINDOW, linewidth=0.6)
        one.set_axisbelow(True)
        for spine in one.spines.values():
            spine.set(color=RULE, linewidth=0.6)
    return figure, axes


def _draw_boxes(
    axes: Axes, values: Sequence[Sequence[float]], places: Sequence[int], width: float = 0.6
) -> None:
    colour = ROUTE_COLOURS[0]
    thin = {"color": colour, "linewidth": 0.8}
    axes.boxplot(
        [np.asarray(some, dtype=np.float64) for some in values],
        positions=list(places),
        widths=width,
        showmeans=True,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": WINDOW, "edgecolor": colour, "linewidth": 0.8},
        medianprops={"color": colour, "linewidth": 1.4},
        meanprops={
            "marker": "o",
            "markersize": 3,
            "markerfacecolor": ROUTE_COLOURS[1],
            "markeredgecolor": ROUTE_COLOURS[1],
        },
        whiskerprops=thin,
        capprops=thin,
        flierprops={"marker": ".", "markersize": 2, "markeredgecolor": MUTED},
    )


def _scale_gaps(axes: Axes) -> None:
    axes.set_yscale("symlog", linthresh=_LEAST_GAP)
    axes.set_ylim(0, 1.5 * axes.get_ylim()[1])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.minorticks_off()


def _line(number: int) -> dict[str, Any]:
    colour = ROUTE_COLOURS[number % len(ROUTE_COLOURS)]
    marker = _MARKERS[number % len(_MARKERS)]
    return {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.1}


def _add_key(figure: Figure, axes: Axes) -> None:
    """Name the lines above all panels, where none of them is in the way."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper right",
        ncols=len(labels),
        frameon=False,
        fontsize=7.5,
        labelcolor=INK,
    )
