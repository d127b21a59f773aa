"""Time and gap against the number of stops and the width of the windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decost.bench.contender import Contender, contenders
from decost.bench.instances import Setting
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Row, Tables
from decost.bench.tables import add_gaps, grouped, mean, performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


QUICK = Config(
    methods=contenders("greedy, decost, search time_limit=0.5, exact time_limit=2"),
    prover=Contender.of("exact", time_limit=2),
    settings=(
        *(Setting(stops + 1, tw) for tw in (100, 500) for stops in (50, 200, 1000, 2000)),
        *(Setting(stops + 1, family="mixed") for stops in (10, 20, 50)),
    ),
    count=2,
    reduced="2 instances of a size, and exact has 2 s each",
)

FULL = Config(
    methods=contenders("greedy, decost, search time_limit=1, exact time_limit=20"),
    prover=Contender.of("exact", time_limit=20),
    settings=(
        *(
            Setting(stops + 1, tw)
            for tw in (100, 500, 2000)
            for stops in (50, 100, 200, 500, 1000, 2000)
        ),
        *(Setting(stops + 1, family="mixed") for stops in (10, 20, 50, 100, 200)),
    ),
    count=5,
    reduced="5 instances of a size, and exact has 20 s each",
)


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


BENCH = Bench("scaling", __doc__, QUICK, FULL, contest, summarise, draw)
