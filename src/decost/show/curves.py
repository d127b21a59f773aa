"""The curves of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    SymmetricalLogLocator,
)

from decost.problem.instance import FloatArray
from decost.show.page import (
    DASHES,
    HEADING,
    MARGIN,
    STEPS,
    TEXT,
    WIDTH,
    add_axes,
    find_script,
    make_marker,
    number_text,
    size_of,
    write_heading,
    write_title,
)
from decost.show.palette import DPI, INK, MUTED, ROUTE_COLOURS, WINDOW

_TINY_GAP = 0.01  # percent; below it an axis is linear, if it has to show zero


def plot_training(history: Sequence[Mapping[str, float]]) -> Figure:
    """Draw how a training went: its validation gap and, below it, its mean training profit.

    Parameters
    ----------
    history
        A row for each epoch: "epoch" (by default the row's number, from 1), "gap" (of the
        validation, in percent) and "profit" (mean of the training). Other values are not
        drawn, and one that is missing or not finite is passed over.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, with axes labelled "gap" and "profit", of which one is left out if there
        is nothing to draw. The gap has a logarithmic axis, which is linear around zero if
        there are gaps of zero or less.

    Raises
    ------
    ValueError
        If there is neither a gap nor a profit.
    """
    epochs, gaps, profits = _columns(history)
    panels = [
        (label, values)
        for label, values in (("gap", gaps), ("profit", profits))
        if np.isfinite(values).any()
    ]
    if not panels:
        raise ValueError("history: has neither a gap nor a profit to draw")
    best = int(np.nanargmin(gaps)) if np.isfinite(gaps).any() else None

    panel_height, between = 2.6, 0.5
    height = HEADING + len(panels) * (panel_height + between) + 0.15
    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    write_heading(figure, "Training", _training_summary(epochs, gaps, best), find_script(""))
    for number, (label, values) in enumerate(panels):
        top = HEADING + 0.1 + number * (panel_height + between)
        at = (MARGIN + 0.45, top, WIDTH - 2 * MARGIN - 0.55, panel_height)
        axes = add_axes(figure, label, at)
        _draw_curve(axes, label, epochs, values)
        if best is not None:
            _mark_best(axes, label, epochs, values, best)
    axes.set_xlabel("epoch", size=8, color=MUTED)
    return figure


def _columns(history: Sequence[Mapping[str, float]]) -> FloatArray:
    """Epochs, gaps and profits in the order of the epochs, with NaN where there are none."""
    if not history:
        raise ValueError("history: has no epochs")
    rows = [
        (row.get("epoch", number), row.get("gap", np.nan), row.get("profit", np.nan))
        for number, row in enumerate(history, start=1)
    ]
    table = np.array(rows, dtype=np.float64)
    if not np.isfinite(table[:, 0]).all():
        raise ValueError("history: has an epoch that is not a number")
    table[~np.isfinite(table)] = np.nan
    return table[table[:, 0].argsort(kind="stable")].T


def _training_summary(epochs: FloatArray, gaps: FloatArray, best: int | None) -> str:
    facts = [f"epoch {number_text(epochs[-1])}"]
    if best is not None:
        last = gaps[np.isfinite(gaps)][-1]
        facts.append(f"last gap {_percent(last)}")
        facts.append(f"best gap {_percent(gaps[best])} at epoch {number_text(epochs[best])}")
    return "   ·   ".join(facts)


def _percent(value: float) -> str:
    return f"{value:.3g}%"


def _draw_curve(axes: Axes, label: str, epochs: FloatArray, values: FloatArray) -> None:
    first, last = epochs[0], epochs[-1]
    room = 0.02 * (last - first) or 0.5
    axes.set_xlim(first - room, last + room)
    axes.xaxis.set_major_locator(MaxNLocator(10, steps=STEPS, integer=True, min_n_ticks=1))
    axes.grid(color=WINDOW, linewidth=0.6)
    axes.set_axisbelow(True)
    seen = np.isfinite(values)
    axes.plot(
        epochs[seen],
        values[seen],
        color=ROUTE_COLOURS[0],
        linewidth=1.1,
        marker="o",
        markersize=3.0 if seen.sum() <= 60 else 0.0,
        label=label,
    )
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    if label == "gap":
        write_title(axes, "Validation gap", _scale_gap(axes, values[seen]))
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
        axes.yaxis.set_offset_position("right")  # clear of the title
        write_title(axes, "Training profit", "mean of an epoch")


def _scale_gap(axes: Axes, gaps: FloatArray) -> str:
    """Make the axis logarithmic as far as it can be, and say so."""
    remark = ""
    if (gaps > 0).all():
        axes.set_yscale("log")
        few = gaps.max() < 1e4 * gaps.min()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        remark = "logarithmic"
    elif (gaps > _TINY_GAP).any():
        axes.set_yscale("symlog", linthresh=_TINY_GAP)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_TINY_GAP))
        remark = f"logarithmic beyond {_TINY_GAP:g}%"
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.minorticks_off()
    return remark


def _mark_best(axes: Axes, label: str, epochs: FloatArray, values: FloatArray, best: int) -> None:
    """Mark the epoch of the best gap in any of the curves."""
    axes.axvline(epochs[best], color=ROUTE_COLOURS[1], linewidth=0.8, linestyle=DASHES, zorder=1)
    key = f"best gap, epoch {number_text(epochs[best])}"
    mark = make_marker(key, "o", 45, "none", ROUTE_COLOURS[1], 1.6)
    mark.set_data(epochs[[best]], values[[best]])
    axes.add_line(mark)
    if label == "gap":
        axes.legend(
            handles=[mark],
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0 + 3.0 / size_of(axes)[1]),
            borderaxespad=0.0,
            frameon=False,
            fontsize=TEXT,
            labelcolor=INK,
        )
