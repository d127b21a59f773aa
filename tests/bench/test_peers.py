"""Tests of the planners of other people: that they are given the same problem as ours."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decost import Instance
from decost.bench import BenchError, peer_planners, peers
from decost.bench.contender import Contender, contenders
from decost.bench.peer_planners import FINE, LIBRARIES, PEERS, whole_problem
from decost.bench.schema import Folders
from oracle import brute_force

TINY = Instance(
    name="tiny",
    budget=10,
    travel=[
        [0, 1.5, 2, 4, 3],
        [1.5, 0, 1, 3, 2],
        [2, 1, 0, 2, 9],
        [4, 3, 2, 0, 1],
        [3, 2, 9, 1, 0],
    ],
    open=[0, 0, 2, 5, 0],
    close=[0, 9, 4.5, 9, 3],
    min_stay=[0, 0.5, 1, 1, 0.5],
    reward=[0, 4, 3, 6, 5],
)
"""Four stops with windows, of which no vehicle can serve all."""


def test_times_are_scaled_until_they_are_whole() -> None:
    """Tenths are exact with ten units; a window that ends after the budget ends with it."""
    whole = whole_problem(TINY)
    assert whole.exact
    assert whole.travel[0].tolist() == [0, 15, 20, 40, 30]
    assert (whole.due, whole.end, whole.vehicles) == (100, 0, 1)
    assert whole.close[1:].tolist() == [90, 45, 90, 30]
    assert whole.stay[1:].tolist() == [5, 10, 10, 5]
    assert whole.prize[1:].tolist() == [4, 3, 6, 5]


def test_other_times_are_rounded_against_the_planner() -> None:
    """What fits in whole numbers fits in the instance: ways and stays up, deadlines down."""
    instance = Instance(
        budget=np.pi, xy=np.random.default_rng(1).random((6, 2)), reward=[0, 1, 1, 1, 1, 1]
    )
    whole = whole_problem(instance)
    assert not whole.exact
    assert (whole.travel >= FINE * np.asarray(instance.travel) - 1e-3).all()
    assert whole.due <= FINE * np.pi
    assert (whole.close[1:] <= whole.due).all()


def test_what_peers_are_not_asked_for() -> None:
    """Variable stays and vehicles of their own are refused."""
    variable = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 1, 1], max_stay=[0, 2, 2])
    with pytest.raises(BenchError, match="fixed stays only"):
        whole_problem(variable)
    with pytest.raises(BenchError, match="without required"):
        whole_problem(TINY.replace(required=[False, True, False, False, False]))


@pytest.mark.parametrize("vehicles", [1, 2])
@pytest.mark.parametrize("peer", PEERS)
def test_peers_find_the_best_plan(peer: str, vehicles: int) -> None:
    """On four stops each of them finds what brute force does, and breaks no rule."""
    pytest.importorskip(LIBRARIES[peer])
    instance = TINY.replace(vehicles=vehicles)
    row = peers.measure_peer(Contender.of(peer, time_limit=1), instance)
    assert row["profit"] == brute_force(instance)[1]
    assert (row["status"] == "optimal") == (peer == "vrpsolver")


@pytest.mark.parametrize("peer", PEERS)
def test_peers_end_elsewhere(peer: str) -> None:
    """A separate end is the end of their routes, too."""
    pytest.importorskip(LIBRARIES[peer])
    instance = Instance(
        budget=4,
        xy=[[0, 0], [1, 0], [0, 2], [2, 1], [3, 0]],
        separate_end=True,
        reward=[0, 2, 3, 1],
    )
    row = peers.measure_peer(Contender.of(peer, time_limit=1), instance)
    assert row["profit"] == brute_force(instance)[1] == 3


@pytest.mark.parametrize("end", [os._exit, time.sleep])
def test_a_planner_that_does_not_answer_has_no_plan(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[int], object]
) -> None:
    """Whether its process dies or goes on for ever, ours does not."""
    monkeypatch.setattr(peers, "plan", partial(without_answer, end))
    monkeypatch.setattr(peers, "GRACE", 1.0)
    row = peers.measure_peer(Contender.of("pyvrp", time_limit=1), TINY)
    assert (row["profit"], row["status"], row["seconds"]) == (0, "feasible", 2)


def without_answer(end: Callable[[int], object], *_: object) -> None:
    """End this process, or sleep for long."""
    end(10_000)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is measured, what has to be installed is said."""

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(peer_planners, "import_module", missing)
    config = peers.PeersConfig(methods=contenders("auto, pyvrp"))
    with pytest.raises(BenchError, match=r"pyvrp is not installed: pip install 'decost\[peers\]'"):
        peers.list_tasks(config, Folders(tmp_path, tmp_path))


def test_files_are_a_fixed_part(tmp_path: Path) -> None:
    """All files must be there; families are chosen by words; teams are told by theirs."""
    config = peers.PeersConfig(methods=contenders("auto"))
    with pytest.raises(BenchError, match=r"c102\.txt: there is no such file"):
        list(peers.files_of(config, tmp_path))
    for folder, ending in (("optw", ".txt"), ("op", ".oplib")):
        (tmp_path / folder).mkdir()
        for names in peers.FIFTH.values():
            for name in names:
                (tmp_path / folder / f"{name}{ending}").write_text(name)
    found = list(peers.files_of(config, tmp_path))
    assert len({(family, path) for family, path, _ in found}) == len(found)
    assert {path.suffix for family, path, _ in found if family.startswith("OP ")} == {".oplib"}
    assert {vehicles for family, _, vehicles in found if family.startswith("TOPTW")} == {2}
    some = config.model_copy(update={"families": ("pr",)})
    names = [path.stem for _, path, _ in peers.files_of(some, tmp_path)]
    assert names == ["pr03", "pr08", "pr02", "pr07"]
    none = config.model_copy(update={"families": ("CVRP",)})
    with pytest.raises(BenchError, match="CVRP"):
        peers.list_tasks(none, Folders(tmp_path, tmp_path))


def test_published_values_are_compared_with(tmp_path: Path) -> None:
    """Losses are against the best known, and EA4OP's are in the table of the families it has."""
    path = tmp_path / "known.csv"
    path.write_text("instance,best,ea4op\neil51,100,95\n")
    config = peers.PeersConfig(methods=contenders("search, pyvrp"), time_limit=5, published=path)
    rows = [
        {
            "setting": setting,
            "instance": f"{file} 0000",
            "contender": Contender.of(planner, time_limit=5),
            "profit": profit,
            "status": "optimal" if profit == 100 else "feasible",
            "seconds": 5.0,
        }
        for setting, file, planner, profit in (
            ("OP to 100 nodes", "eil51", "search", 100.0),
            ("OP to 100 nodes", "eil51", "pyvrp", 90.0),
            ("OPTW c1", "c102", "search", 50.0),
            ("OPTW c1", "c102", "pyvrp", 40.0),
        )
    ]
    tables = peers.summarise(config, rows)
    assert [list(line.values()) for line in tables[""]] == [
        ["OP to 100 nodes", "1", "1", "0.000%", "10.000%", "5.000%"],
        ["OPTW c1", "1", "0", "0.000%", "20.000%", ""],
        ["mean of all", "2", "1", "0.000%", "15.000%", ""],
    ]
    assert tables["files"][1] == {
        "family": "OP to 100 nodes",
        "file": "eil51",
        "planner": "pyvrp",
        "profit": "90",
        "proven": "",
        "seconds": "5.00",
    }
    path.write_text("instance,best\neil51,100\n")
    with pytest.raises(BenchError, match="ea4op"):
        peers.summarise(config, rows)
