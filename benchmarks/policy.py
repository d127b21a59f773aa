"""Put the gaps of a trained network on its card, which `decost models` prints.

python -m benchmarks.policy ABOUT [--method decost] [--weights generalist] [--count 1000]

ABOUT is a line about the weights. The gaps are to the proven optimum, on the paper's settings, with
greedy decoding and the best of the eight symmetries: those of `decost bench main`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

from benchmarks.common import paper_set

import decost
from decost.learn.checkpoint import load_weights, model_path, save_weights

SETTINGS = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))


def main() -> None:
    """Measure the gaps, and write the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("about")
    parser.add_argument("--method", default="decost")
    parser.add_argument("--weights", default="generalist")
    parser.add_argument("--count", type=int, default=1000, help="instances; a tenth for n=500")
    given = parser.parse_args()
    gaps = {}
    for nodes, window in SETTINGS:
        count = given.count if nodes <= 100 else max(1, given.count // 10)
        instances = paper_set(nodes, window, count)
        proofs = decost.solve_many(instances, "exact")
        assert all(proof.status == "optimal" for proof in proofs)
        results = decost.solve_many(instances, given.method, weights=given.weights)
        assert not any(decost.check(result.instance, result.solution) for result in results)
        pairs = zip(results, proofs, strict=True)
        gap = 100 * fmean(1 - result.profit / proof.profit for result, proof in pairs)
        gaps[f"n={nodes}, TW={window}"] = f"{round(gap, 3)}%"
        print(f"n={nodes}, TW={window}: {gap:.3f}%", flush=True)
    path = Path(given.weights)
    path = path if path.is_file() else model_path(given.weights)
    network, card = load_weights(path)
    first = {"about": given.about}
    save_weights(path, network, first | card | first | {"gaps": gaps})
    print(f"wrote the card of {path.name}")


if __name__ == "__main__":
    main()
