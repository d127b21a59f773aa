"""Time and gap against the number of stops and the width of the windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decost.bench.instances import Setting
from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Row, Tables
from decost.bench.tables import add_gaps, grouped, mean, performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _kind(setting: Setting) -> dict[str, str]:
    kind = f"{setting.family}, TW={setting.window:g}"
    return {"instances of": kind, "stops": str(setting.nodes - 1)}


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each size and method."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = [
        {**_kind(setting), "method": str(contender)} | performance(groups[setting.name, contender])
        for setting in config.settings
        for contender in config.methods
    ]
    return {"": table}


def draw(config: Config, rows: Sequence[Row]) -> Figure:
    """Draw time and gap of each method against the number of stops."""
    from decost.bench.figures import growth

    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    curves: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for setting in config.settings:
        panel = curves.setdefault(_kind(setting)["instances of"], {})
        for contender in config.methods:
            some = groups[setting.name, contender]
            point = (setting.nodes - 1, mean(some, "seconds"), mean(some, "gap"))
            panel.setdefault(str(contender), []).append(point)
    return growth("Time and gap against the number of stops", curves)


BENCH = Bench.load("scaling", __doc__, Config, contest, summarise, draw=draw)
