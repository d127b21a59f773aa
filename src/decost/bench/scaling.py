"""Time and gap against the number of stops and the width of the windows; not in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from decost.bench.contender import Contender
from decost.bench.instances import random_set
from decost.bench.measure import contest
from decost.bench.runner import Bench, Config, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, grouped, mean, performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Kind(NamedTuple):
    """A family of instances with its windows, in growing numbers of stops."""

    family: str
    window: float
    stops: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the family, and the width of its windows."""
        return f"{self.family}, TW={self.window:g}"


class ScalingConfig(Config):
    """Kinds of instances, and how many of each size."""

    kinds: tuple[Kind, ...]
    count: int


QUICK = ScalingConfig(
    methods=(
        Contender.of("greedy"),
        Contender.of("decost"),
        Contender.of("search", time_limit=0.5),
        Contender.of("exact", time_limit=2),
    ),
    prover=Contender.of("exact", time_limit=2),
    kinds=(
        Kind("paper", 100, (50, 200, 1000, 2000)),
        Kind("paper", 500, (50, 200, 1000, 2000)),
        Kind("mixed", 100, (10, 20, 50)),
    ),
    count=2,
    reduced="2 instances of a size, and exact has 2 s each",
)

FULL = ScalingConfig(
    methods=(
        Contender.of("greedy"),
        Contender.of("decost"),
        Contender.of("search", time_limit=1),
        Contender.of("exact", time_limit=20),
    ),
    prover=Contender.of("exact", time_limit=20),
    kinds=(
        Kind("paper", 100, (50, 100, 200, 500, 1000, 2000)),
        Kind("paper", 500, (50, 100, 200, 500, 1000, 2000)),
        Kind("paper", 2000, (50, 100, 200, 500, 1000, 2000)),
        Kind("mixed", 100, (10, 20, 50, 100, 200)),
    ),
    count=5,
    reduced="5 instances of a size, and exact has 20 s each",
)


def list_tasks(config: ScalingConfig, folders: Folders) -> list[Task]:
    """List the proofs of each size, and then the methods."""
    tasks: list[Task] = []
    for kind in config.kinds:
        for stops in kind.stops:
            source = partial(random_set, kind.family, stops + 1, kind.window, config.count)
            setting = f"{kind.name}, {stops} stops"
            tasks += contest(config, setting, source, range(config.count))
    return tasks


def _gaps(config: ScalingConfig, rows: Sequence[Row]) -> list[Row]:
    gaps = []
    for row in add_gaps(rows, config.prover):
        kind, _, size = row["setting"].rpartition(", ")
        if row["contender"] in config.methods:
            gaps.append({**row, "kind": kind, "stops": int(size.split()[0])})
    return gaps


def summarise(config: ScalingConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each size and method."""
    groups = grouped(_gaps(config, rows), "kind", "stops", "contender")
    table = [
        {"instances of": kind.name, "stops": str(stops), "method": str(contender)}
        | performance(groups[kind.name, stops, contender])
        for kind in config.kinds
        for stops in kind.stops
        for contender in config.methods
    ]
    return {"": table}


def draw(config: ScalingConfig, rows: Sequence[Row]) -> Figure:
    """Draw time and gap of each method against the number of stops."""
    from decost.bench.figures import growth

    curves = {
        kind: {
            str(contender): [
                (key[0], mean(these, "seconds"), mean(these, "gap"))
                for key, these in grouped(some, "stops").items()
            ]
            for (contender,), some in grouped(part, "contender").items()
        }
        for (kind,), part in grouped(_gaps(config, rows), "kind").items()
    }
    return growth("Time and gap against the number of stops", curves)


BENCH = Bench(
    name="scaling",
    title="Time and gap against the number of stops",
    paper="Not in the paper",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
    draw=draw,
)
