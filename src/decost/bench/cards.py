"""The card of weights: gaps from a table of `main` are put on it, see `decost models`.

    decost bench cards --weights NAME --table out/main-full.csv --gaps "gaps=gfacs"

The weights are a file or the name of weights that come with the package. Each of the gaps is
NAME=METHOD: what they are called on the card, and the method as the table writes it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from decost.bench import BenchError
from decost.bench.schema import Bench, Config, Folders, Row, Tables, Task


class CardsConfig(Config):
    """The weights, the table, the gaps to take from it, and a line about the weights."""

    weights: str = ""
    table: Path | None = None
    gaps: tuple[str, ...] = ()
    about: str = ""
    reduced: str = "measures nothing"


def list_tasks(config: CardsConfig, folders: Folders) -> list[Task]:
    """List nothing: the table was measured before."""
    return []


def write_card(config: CardsConfig, rows: Sequence[Row]) -> Tables:
    """Write the card, and say what it says now."""
    from decost.inference.weights import find_weights, read_card
    from decost.learn.checkpoint import load_heatmap, load_weights, save_weights

    assert config.table is not None
    with config.table.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    path = find_weights(config.weights)
    card = read_card(path) | ({"about": config.about} if config.about else {})
    table = []
    for word in config.gaps:
        name, _, method = word.partition("=")
        gaps = {one["setting"]: f"{one['gap (%)']}%" for one in lines if one["method"] == method}
        if not gaps:
            raise BenchError(f"--gaps {word}: {config.table} has no method {method!r}")
        card[name] = gaps
        table += [{"on the card": name, "setting": key, "gap": gap} for key, gap in gaps.items()]
    load = load_heatmap if "gfacs" in card["command"] else load_weights
    save_weights(path, load(path)[0], card)
    return {"": table}


BENCH = Bench.load(
    "cards", __doc__, CardsConfig, list_tasks, write_card, needs=("weights", "table", "gaps")
)
