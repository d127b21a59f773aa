"""Put gaps from a table of `decost bench main` on the card of weights (see `decost models`).

    python -m benchmarks.cards WEIGHTS TABLE [--about LINE] NAME=METHOD ...

WEIGHTS is a file or the name of weights that come with the package, TABLE such as
docs/results/main-full.csv. METHOD is a method as the table writes it, and NAME what its gaps are
called on the card: "gaps=gfacs" "gaps_with_greedy_stays=gfacs stays=greedy".
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from decost.learn.checkpoint import (
    find_weights,
    load_heatmap,
    load_weights,
    read_card,
    save_weights,
)


def main() -> None:
    """Read the table, and write the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights")
    parser.add_argument("table", type=Path)
    parser.add_argument("gaps", nargs="+", metavar="NAME=METHOD")
    parser.add_argument("--about")
    given = parser.parse_intermixed_args()
    with given.table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    path = find_weights(given.weights)
    card = read_card(path) | ({"about": given.about} if given.about else {})
    for word in given.gaps:
        name, _, method = word.partition("=")
        gaps = {row["setting"]: f"{row['gap (%)']}%" for row in rows if row["method"] == method}
        if not gaps:
            parser.error(f"{given.table}: has no method {method!r}")
        card[name] = gaps
    load = load_heatmap if "gfacs" in card["command"] else load_weights
    save_weights(path, load(path)[0], card)
    print(f"wrote the card of {path.name}")


if __name__ == "__main__":
    main()
