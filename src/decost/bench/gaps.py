"""Figure 3 and appendix B.2: how the gaps of each method are distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decost.bench import tables
from decost.bench.measure import contest
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS = ("n=50, TW=100", "n=50, TW=500", "n=100, TW=100", "n=500, TW=100")
"""The four sets of the paper's appendix B.2."""


def list_tasks(config: Config, folders: Folders) -> list[Task]:
    """List those of `main` that belong to the four sets."""
    return [task for task in contest(config, folders) if task.keys[0].setting in SETTINGS]


def summarise(config: Config, rows: Sequence[Row]) -> Tables:
    """Make a line for each method over all sets, and one for each set.

    The first is over instances that all methods have, the same number of each set.
    """
    gaps = [
        row for row in tables.add_gaps(rows, config.prover) if row["contender"] in config.methods
    ]
    table = []
    methods = tables.grouped(gaps, "contender")
    shared = set.intersection(*(set(map(_instance, some)) for some in methods.values()))
    of_set = [[one for one in shared if one[0] == name] for name in {name for name, _ in shared}]
    least = min(map(len, of_set), default=0)
    common = {one for some in of_set for one in sorted(some)[:least]}
    for (contender,), some in methods.items():
        parts = {"all": [row for row in some if _instance(row) in common]}
        parts |= {key[0]: part for key, part in tables.grouped(some, "setting").items()}
        for setting, part in parts.items():
            line = {"method": tables.row_name(contender), "setting": setting}
            line["instances"] = str(len(part))
            numbers = tables.spread([row["gap"] for row in part])
            line |= {f"{key} (%)": f"{value:.3f}" for key, value in numbers.items()}
            table.append(
                line | tables.paper_columns("gaps", setting, tables.counterpart(contender))
            )
    return {"": table}


def _instance(row: Mapping[str, Any]) -> tuple[str, int | str]:
    return row["setting"], row["instance"]


def draw(config: Config, rows: Sequence[Row]) -> Figure:
    """Draw a box for each method and set."""
    from decost.bench.figures import box_plots

    gaps = [
        row for row in tables.add_gaps(rows, config.prover) if row["contender"] in config.methods
    ]
    panels = {
        setting: {
            tables.row_name(one): [row["gap"] for row in some] for (one,), some in methods.items()
        }
        for (setting,), part in tables.grouped(gaps, "setting").items()
        for methods in (tables.grouped(part, "contender"),)
    }
    return box_plots("Gap to the proven optimum", panels)


BENCH = Bench.load("gaps", __doc__, Config, list_tasks, summarise, draw=draw, shares="main")
