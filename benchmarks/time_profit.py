"""The worked example of docs/time-profit.md: its functions as a table and a picture.

python -m benchmarks.time_profit --out docs/time_profit.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.common import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import decost
from decost.experiments.figures import _figure
from decost.kernels.profile import window
from decost.kernels.routes import Team, chain, make_team, meet, refresh
from decost.problem.instance import FloatArray
from decost.show.page import save_figure
from decost.show.palette import INK, LIMIT, MUTED, ROUTE_COLOURS, RULE, WINDOW

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

    time: FloatArray
    profit: FloatArray
    rate: FloatArray

    def at(self, time: FloatArray) -> FloatArray:
        """Give the profit at some times."""
        return np.interp(time, self.time, self.profit)

    def __str__(self) -> str:
        """List the breakpoints."""
        pairs = zip(self.time, self.profit, strict=True)
        return ", ".join(f"({time:g}, {profit:g})" for time, profit in pairs)


def team_of(route: list[int]) -> Team:
    """Compute the functions of all beginnings and ends of a route."""
    team = make_team(EXAMPLE.arrays, 1, len(route), len(EXAMPLE.piece_rate))
    team.size[0] = len(route)
    team.stops[0, : len(route)] = route
    assert refresh(EXAMPLE.arrays, team, 0, 0)
    return team


def forwards(team: Team, k: int) -> Function:
    """Give the function of the first k stops: the profit by the time of leaving the last."""
    pieces = team.begin_pieces[0, k]
    rate, length = team.begin_rate[0, k, :pieces], team.begin_length[0, k, :pieces]
    time = np.cumsum([team.begin_time[0, k], *length])
    return Function(time, np.cumsum([team.begin_value[0, k], *(rate * length)]), rate.copy())


def backwards(team: Team, k: int) -> Function:
    """Give the function from stop k on: the profit to come if service there starts at a time."""
    pieces = team.end_pieces[0, k]
    rate, length = team.end_rate[0, k, :pieces], team.end_length[0, k, :pieces]
    time = np.cumsum([team.end_time[0, k], *-length])[::-1]
    profit = np.cumsum([team.end_value[0, k], *(rate * length)])[::-1]
    return Function(time, profit, rate[::-1].copy())


def on_start(before: Function, place: int, stop: int) -> Function:
    """Give the function at the next stop: later by the way there, and within its window."""
    arrive = before.time[0] + EXAMPLE.travel[place, stop]
    begin = max(arrive, EXAMPLE.open[stop])
    rate, length = np.empty((2, len(before.rate)))
    spent, count, _ = window(
        before.rate,
        np.diff(before.time),
        len(before.rate),
        begin - arrive,
        EXAMPLE.close[stop] - begin,
        rate,
        length,
    )
    rate, length = rate[:count], length[:count]
    profit = np.cumsum([before.profit[0] + spent, *(rate * length)])
    return Function(np.cumsum([begin, *length]), profit, rate)


def draw(team: Team) -> Figure:
    """Draw the function on leaving each stop, and the join before the last of them."""
    leaving = [forwards(team, k + 1) for k in range(len(ROUTE))]
    figure, axes = _figure("The time-profit function of the route A, B, C", 2, 2, height=7.4)
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
    _write_notes(axes, leaving[2], float(team.profit[0]))
    _draw_join(axes[3], on_start(leaving[1], B, C), backwards(team, 2))
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


def main() -> None:
    """Print the functions and what moves earn, check them, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    arrays, team = EXAMPLE.arrays, team_of(ROUTE)
    names = [str(EXAMPLE.label(stop)) for stop in ROUTE]
    rows = [(f"on leaving {name}", str(forwards(team, k))) for k, name in enumerate(names, 1)]
    rows += [(f"from {names[k]} on", str(backwards(team, k))) for k in (2, 1, 0)]
    for begin in ([A, B], [A], [B]):
        start = on_start(forwards(team_of(begin), len(begin)), begin[-1], C)
        before = " and ".join(str(EXAMPLE.label(stop)) for stop in begin)
        rows.append((f"at C after {before}", str(start)))
    print(table(("function", "(time, profit)"), rows), end="\n\n")

    best = decost.optimal_stays(EXAMPLE, [ROUTE])
    joins = [meet(arrays, team, 0, k, k) for k in range(len(ROUTE) + 1)]
    assert all(profit == best.profit[0] for profit, _ in joins)
    print(f"stays of A, B, C: {best.stays[0]}, profit {best.profit[0]:g}")
    print("a unit of time before A, B, C and home is worth", [margin for _, margin in joins])

    long = decost.make_solution(EXAMPLE, [ROUTE], [[5, 1, 3]])
    assert decost.check(EXAMPLE, long) == []
    print(f"each as long as the next window allows: {long.profit:g}")
    for name, some, first, last in (
        ("without B", [], 1, 2),
        ("with D between A and B", [D], 1, 1),
    ):
        stops = np.array(some, dtype=np.int64)
        profit = chain(arrays, team, 0, first, stops, len(stops), 0, last)
        whole = decost.optimal_stays(EXAMPLE, [[*ROUTE[:first], *some, *ROUTE[last:]]])
        assert profit == whole.profit[0]
        print(f"{name}: {profit:g}, gain {profit - team.profit[0]:+g}, stays {whole.stays[0]}")
    save_figure(draw(team), given.out)


if __name__ == "__main__":
    main()
