"""The worked example of the time-profit function, as a table and a picture.

All data of the example are whole numbers, and so are the breakpoints of its functions: the best
profits at all whole times, which `optimal_stays` tells, are the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import decost
from decost.bench import BenchError
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task
from decost.show.palette import INK, LIMIT, MUTED, ROUTE_COLOURS, RULE, WINDOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

A, B, C, D = 1, 2, 3, 4
ROUTE = [A, B, C]

EXAMPLE = decost.Instance(
    budget=23,
    xy=[[0, 0], [3, 0], [3, 4], [0, 4], [3, 2]],
    open=[0, 0, 10, 12, 0],
    close=[0, 10, 12, 16, 23],
    reward=[0, 0, 0, 4, 0],
    min_stay=[0, 0, 0, 1, 0],
    pieces=[[], [[2, 6]], [[5, 2], [1, 4]], [[3, 4]], [[4, 2]]],
    ids=["A", "B", "C", "D"],
)
"""Stops at the corners of a rectangle with the depot, and one more between A and B."""

OWNER = {float(rate): stop for stop in range(1, EXAMPLE.nodes) for rate, _ in EXAMPLE.pieces[stop]}
"""The stop of each rate: no two pieces have the same."""

END = 25
"""Where the axes of time end."""

TIMES = "\N{MULTIPLICATION SIGN}"

_DASHES = (0, (3, 1.5))


class Function(NamedTuple):
    """Breakpoints of a time-profit function, and the rates between them."""

    time: NDArray[np.float64]
    profit: NDArray[np.float64]
    rate: NDArray[np.float64]

    def at(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the profit at some times."""
        return np.interp(time, self.time, self.profit)

    def __str__(self) -> str:
        """List the breakpoints."""
        pairs = zip(self.time, self.profit, strict=True)
        return ", ".join(f"({time:g}, {profit:g})" for time, profit in pairs)


def breakpoints(value: Callable[[float], float]) -> Function:
    """Make a function of its values at whole times; minus infinity is where it is not defined."""
    time = np.arange(0.0, END)
    profit = np.array([value(moment) for moment in time])
    time, profit = time[profit > -np.inf], profit[profit > -np.inf]
    rate = np.diff(profit)
    slopes = np.concatenate(([np.inf], rate, [-np.inf]))
    ends = slopes[:-1] != slopes[1:]
    for end in (0, -1):  # where it is flat, nothing is gained by starting earlier or leaving later
        ends[end] = rate[end] != 0
    time, profit = time[ends], profit[ends]
    return Function(time, profit, np.diff(profit) / np.diff(time))


def earned(route: list[int], **changes: object) -> float:
    """Give the most that a route earns in the example, or with some fields changed."""
    return float(decost.optimal_stays(EXAMPLE.replace(**changes), [route]).profit[0])


def forwards(route: list[int]) -> Function:
    """Give the function of a route so far: the profit by the time of leaving its last stop."""

    def value(time: float) -> float:
        return earned(route, budget=99, leave_by=_put(EXAMPLE.leave_by, route[-1], time))

    return breakpoints(value)


def backwards(k: int) -> Function:
    """Give the function from a stop of the route on: the profit to come after a start there."""
    stop = ROUTE[k]
    travel = EXAMPLE.travel.copy()
    travel[0, stop] = 0  # only the way from here on counts

    def value(time: float) -> float:
        if not EXAMPLE.open[stop] <= time <= EXAMPLE.close[stop]:
            return -np.inf
        return earned(ROUTE[k:], xy=None, travel=travel, open=_put(EXAMPLE.open, stop, time))

    return breakpoints(value)


def on_start(route: list[int], stop: int) -> Function:
    """Give the function at the next stop: later by the way there, and within its window."""
    pieces = [*EXAMPLE.pieces]
    pieces[stop] = np.empty((0, 2))

    def value(time: float) -> float:
        if not EXAMPLE.open[stop] <= time <= EXAMPLE.close[stop]:
            return -np.inf
        close = _put(EXAMPLE.close, stop, time)
        return earned([*route, stop], budget=99, close=close, pieces=pieces) - float(
            EXAMPLE.reward[stop]
        )

    return breakpoints(value)


def _put(values: NDArray[np.float64], stop: int, value: float) -> NDArray[np.float64]:
    changed = values.copy()
    changed[stop] = value
    return changed


def draw(config: Config, rows: Sequence[Row]) -> Figure:
    """Draw the function on leaving each stop, and the join before the last of them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from decost.bench.figures import new_figure

    leaving = [forwards(ROUTE[: k + 1]) for k in range(len(ROUTE))]
    figure, axes = new_figure("The time-profit function of the route A, B, C", 2, 2, height=7.4)
    titles = ("on leaving A", "on leaving B", "on leaving C", "joined where service at C starts")
    for number, (one, title) in enumerate(zip(axes, titles, strict=True), 1):
        one.set_title(f"{number}   {title}", size=9.5, color=INK, loc="left")
        one.set_xlabel("time", size=8, color=MUTED)
        one.set_ylabel("profit", size=8, color=MUTED)
        one.grid(visible=False)
    for one, stop in zip(axes, ROUTE, strict=False):
        one.set(xlim=(0, END), ylim=(-1, 38), xticks=range(0, END, 2), yticks=range(0, 37, 6))
        one.axvspan(EXAMPLE.open[stop], EXAMPLE.close[stop], color=WINDOW, lw=0, zorder=0)
    for one, stop, before in zip(axes[1:], ROUTE[1:], leaving[:-1], strict=False):
        _draw_arrival(one, stop, before)
    for one, function in zip(axes, leaving, strict=False):
        _draw_function(one, function)
    _write_notes(axes, leaving[2], earned(ROUTE))
    _draw_join(axes[3], on_start([A, B], C), backwards(2))
    figure.legend(
        handles=[
            Patch(color=WINDOW, label="window"),
            Line2D([], [], color=MUTED, linestyle=_DASHES, linewidth=1.1, label="on arrival"),
            Line2D(
                [], [], color=ROUTE_COLOURS[0], linewidth=2.4, label=f"piece: rate {TIMES} length"
            ),
        ],
        loc="outside upper right",
        ncols=3,
        frameon=False,
        fontsize=7.5,
        labelcolor=INK,
    )
    return figure


def _draw_function(axes: Axes, function: Function) -> None:
    """Draw a function, each piece in the colour of its stop, with its rate and length."""
    home = EXAMPLE.budget - EXAMPLE.travel[C, 0]
    for k, rate in enumerate(function.rate):
        time, profit = function.time[k : k + 2], function.profit[k : k + 2]
        stop = OWNER[float(rate)]
        colour = ROUTE_COLOURS[stop - 1]
        axes.plot(time, profit, color=colour, linewidth=2.4, solid_capstyle="round")
        label = f"{EXAMPLE.label(stop)}  {rate:g} {TIMES} {time[1] - time[0]:g}"
        middle = float(time.mean()), float(profit.mean())
        if middle[0] < home:
            _write(axes, label, (middle[0] - 0.4, middle[1] + 0.4), colour, "right")
        else:
            _write(axes, label, (middle[0] + 0.5, middle[1] - 2.6), colour, "left")
    axes.plot(function.time, function.profit, "o", color=INK, markersize=3, zorder=4)
    last = float(function.profit[-1])
    axes.plot((function.time[-1], END), (last, last), color=MUTED, linewidth=0.8, linestyle=":")


def _draw_arrival(axes: Axes, stop: int, before: Function) -> None:
    """Draw how the function before arrives at a stop; what is in its window goes on."""
    time = before.time + EXAMPLE.travel[stop - 1, stop]
    axes.plot(time, before.profit, color=MUTED, linewidth=1.1, linestyle=_DASHES)


def _draw_join(axes: Axes, before: Function, after: Function) -> None:
    """Draw what is earned before a stop, what from it on, and the sum."""
    time = np.union1d(before.time, after.time)
    early, late = before.at(time), after.at(time)
    both = early + late
    best = int(both.argmax())
    axes.set(xlim=(12.6, 17.9), ylim=(0, 34), xticks=range(13, 17), yticks=range(0, 34, 6))
    axes.axvspan(12.6, EXAMPLE.close[C], color=WINDOW, lw=0, zorder=0)
    axes.vlines(time[best], 0, both[best], color=LIMIT, linewidth=0.8, zorder=1)
    for name, values, colour, above in (
        ("both", both, INK, both > 0),
        ("A and B until then", early, ROUTE_COLOURS[0], early > late),
        ("C from then on", late, ROUTE_COLOURS[2], late > early),
    ):
        axes.plot(time, values, color=colour, marker="o", markersize=3, linewidth=2.0)
        for moment, value, up in zip(time[:-1], values[:-1], above[:-1], strict=True):
            rises = values is early and not up
            at = moment + (0.06 if rises else -0.06), value + (0.7 if up else -2.3)
            _write(axes, f"{value:g}", at, colour, "left" if rises else "right")
        last = float(time[-1]) + 0.1, float(values[-1]) - 0.8
        _write(axes, f"{values[-1]:g}   {name}", last, colour, "left")
    axes.plot(time[best], both[best], "o", color=LIMIT, markersize=5, zorder=5)


def _write_notes(axes: list[Axes], last: Function, profit: float) -> None:
    """Say what happens on the way."""
    home = EXAMPLE.budget - EXAMPLE.travel[C, 0]
    axes[2].axvline(home, color=LIMIT, linewidth=1.2, linestyle=(0, (5, 2.5)))
    axes[2].plot(home, last.at(home), "o", color=LIMIT, markersize=5, zorder=5)
    _write(
        axes[2], f"home by {EXAMPLE.budget:g}:\nleave by {home:g}", (home + 0.4, 2), LIMIT, "left"
    )
    _write(axes[2], f"{profit:g}", (home + 0.4, profit - 2.4), LIMIT, "left")
    for one, text, at, to in (
        (axes[1], "waiting until 10 turns\n3 units of A into 6", (3.6, 8.5), (8.4, 2.9)),
        (axes[1], "closed after 12: the\nlast unit of A is lost", (17.3, 6.3), (12.6, 10.9)),
        (
            axes[2],
            "the shortest stay at C, 1 unit\nfor 4, moves (13, 6) to (14, 10)",
            (5.9, 10.3),
            (12.8, 6.3),
        ),
    ):
        one.annotate(
            text,
            to,
            at,
            size=7.5,
            color=MUTED,
            ha="center",
            linespacing=1.25,
            arrowprops={"arrowstyle": "-", "color": RULE, "linewidth": 0.8},
        )
    axes[2].plot(13, 6, "o", color=MUTED, markerfacecolor="white", markersize=3.5, zorder=4)


def _write(
    axes: Axes, text: str, at: tuple[float, float], colour: str, side: str = "right"
) -> None:
    axes.text(*at, text, size=7.5, color=colour, ha=side, va="bottom", linespacing=1.25)


def list_tasks(config: Config, folders: Folders) -> list[Task]:
    """List nothing: all of it is worked out."""
    return []


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Give the functions, and what moves earn."""
    names = [str(EXAMPLE.label(stop)) for stop in ROUTE]
    functions = [
        *((f"on leaving {name}", forwards(ROUTE[:k])) for k, name in enumerate(names, 1)),
        *((f"from {names[k]} on", backwards(k)) for k in (2, 1, 0)),
        *(
            (
                f"at C after {' and '.join(str(EXAMPLE.label(stop)) for stop in begin)}",
                on_start(begin, C),
            )
            for begin in ([A, B], [A], [B])
        ),
    ]
    long = decost.make_solution(EXAMPLE, [ROUTE], [[5, 1, 3]])
    if violations := decost.check(EXAMPLE, long):
        raise BenchError(f"each as long as the next window allows: {violations[0]}")
    margins = ", ".join(f"{margin(k):g}" for k in range(len(ROUTE) + 1))
    lines = [
        *((name, str(function)) for name, function in functions),
        ("a unit of time before A, B, C and home is worth", margins),
        ("each as long as the next window allows", f"{long.profit:g}"),
    ]
    moves = {"A, B, C": ROUTE, "without B": [A, C], "with D between A and B": [A, D, B, C]}
    for name, route in moves.items():
        stays = ", ".join(f"{stay:g}" for stay in decost.optimal_stays(EXAMPLE, [route]).stays[0])
        gain = earned(route) - earned(ROUTE)
        lines.append((name, f"{earned(route):g}, gain {gain:+g}, stays {stays}"))
    return {"": [{"what": name, "(time, profit)": text} for name, text in lines]}


def margin(k: int) -> float:
    """Say what a unit of time is worth before a stop of the route, or before home."""
    way = [0, *ROUTE, 0]
    travel = EXAMPLE.travel.copy()
    travel[way[k], way[k + 1]] += 0.5
    return 2 * (earned(ROUTE) - earned(ROUTE, xy=None, travel=travel))


BENCH = Bench.load("time-profit", __doc__, Config, list_tasks, summarise, draw=draw)
