"""More tests of plans by a network: drawn routes of sets, odd numbers, the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from decost import Instance, check, cli, generate, profit_of
from decost.learn.checkpoint import save_weights
from policies import KINDS, small_network

WAYS = {"paper": "decost", "prefix": "decost", "pomo": "pomo"}
"""Networks, and the methods that they are for."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write small networks with random weights."""
    folder = tmp_path_factory.mktemp("weights")
    paths = {kind: str(folder / f"{kind}.safetensors") for kind in KINDS}
    for kind, path in paths.items():
        save_weights(path, small_network(kind, seed=7), {})
    return paths | {"pomo": paths["paper"]}


@pytest.mark.parametrize("way", WAYS)
def test_drawn_routes_of_a_set(way: str, weights: dict[str, str]) -> None:
    """They depend on the seed, and not on what else is in the set or on the number of threads."""
    some = generate("mixed", nodes=15, count=6, seed=1)
    options = {"weights": weights[way], "samples": 8, "seed": 3}
    alone = [decost.solve(instance, WAYS[way], **options) for instance in some]
    for threads in (1, 2, 3):
        together = decost.solve_many(some, WAYS[way], threads=threads, **options)
        for one, result in zip(alone, together, strict=True):
            expected = [route.stops for route in one.solution.routes]
            assert [route.stops for route in result.solution.routes] == expected


HARD: dict[str, dict[str, Any]] = {
    "no budget, no travel": {"budget": 0, "travel": np.zeros((4, 4)), "reward": [0, 1, 1, 1]},
    "all in one place": {"xy": np.zeros((4, 2))},
    "nothing to earn": {"travel": np.ones((4, 4)), "rate": [0, 0, 0, 0]},
    "large numbers": {"budget": 1e12, "max_stay": [0, 1e11, 1e11, 1e11]},
    "largest times": {
        "budget": 1.7e308,
        "max_stay": [0, 1.7e308, 1, 1e307],
        "rate": [0, 0.1, 1, 0],
    },
    "small numbers": {"budget": 1e-9, "xy": np.eye(4)[:, :2] * 1e-10, "max_stay": [0, 1e-9, 1, 1]},
    "smallest numbers": {
        "budget": 1e-310,
        "xy": np.zeros((4, 2)),
        "max_stay": [0, 1e-310, 5e-324, 1],
    },
    "largest rewards": {"reward": [0, 5e307, 5e307, 5e307]},
    "rates of all sizes": {"rate": [0, 1e300, 1, 1e-12]},
    "far from the origin": {"xy": [[1e12, 0], [1e12 + 1, 0], [1e12 + 1, 1], [1e12, 1]]},
    "a large diagonal": {"travel": np.ones((4, 4)) + 1e9 * np.eye(4)},
}


@pytest.mark.parametrize("symmetries", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", HARD)
def test_numbers_of_all_sizes(
    case: str, way: str, symmetries: bool, weights: dict[str, str]
) -> None:
    """Whatever single precision makes of them, the plan is feasible and earns what it says."""
    given: dict[str, Any] = {
        "budget": 10,
        "xy": [[0, 0], [1, 0], [1, 1], [0, 1]],
        "rate": [0, 3, 2, 1],
        "max_stay": [0, 2, 3, 4],
    }
    instance = Instance(**(given | HARD[case]))
    result = decost.solve(instance, WAYS[way], weights=weights[way], symmetries=symmetries)
    assert check(instance, result.solution) == []
    assert profit_of(instance, result.solution) == pytest.approx(result.profit, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_command_line(
    way: str,
    weights: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Options of the method are given like any other, and the plan is that of `solve`."""
    instance = generate("mixed", nodes=12, seed=2)[0]
    file = tmp_path / "day trip.json"
    decost.write(instance, file)
    words = ["solve", file, "--method", WAYS[way], "--weights", weights[way], "--json"]
    words += ["--samples", 4, "--no-symmetries", "--seed", 5]
    monkeypatch.setattr(sys, "argv", ["decost", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (0, "")
    answer = json.loads(out)
    options = {"weights": weights[way], "samples": 4, "symmetries": False, "seed": 5}
    expected = decost.solve(decost.read(file), WAYS[way], **options)
    assert (answer["method"], answer["status"], answer["seed"]) == (WAYS[way], "feasible", 5)
    assert answer["profit"] == expected.profit
    stops = [[visit["stop"] for visit in route] for route in answer["routes"]]
    assert stops == [list(route.stops) for route in expected.solution.routes]
