"""Tests of plans in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from decost import FormatError, Instance
from decost.files.door import read_solutions


def test_plan_round_trip(tmp_path: Path) -> None:
    """A result is written with its instance's name, and read as the same plan."""
    (instance,) = decost.generate("mixed", nodes=20, vehicles=2, seed=5)
    result = decost.solve(instance, "greedy", seed=9)
    decost.write(result, tmp_path / "plan.json")
    assert decost.read_solution(tmp_path / "plan.json", instance) == result.solution
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written == result.to_dict() | {
        "format": "decost-solution",
        "version": 1,
        "instance": instance.name,
    }


def test_claims_are_kept(tmp_path: Path) -> None:
    """Starts, stays and profits are read as the file says, for the checker to judge."""
    instance = Instance(budget=9, travel=np.ones((3, 3)), reward=[0, 5, 6], ids=["a", "b"])
    visits = [
        {"stop": "b", "start": 3, "stay": 0.5, "profit": 7},
        {"stop": 1, "start": 1, "stay": 0, "profit": 5},
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"routes": [visits, []]}))
    solution = decost.read_solution(path, instance)
    assert [visit[:5] for visit in solution.visits] == [(2, 1, 3, 0.5, 3.5), (1, 4.5, 1, 0, 1)]
    assert [visit.profit for visit in solution.visits] == [7, 5]
    assert [route.finish for route in solution.routes] == [2, 0]


def test_profits_may_be_left_out(tmp_path: Path) -> None:
    """A plan that somebody wrote by hand earns what its stays do: 5 + 2 * 1.5 here."""
    instance = Instance(
        budget=9, travel=np.ones((2, 2)), reward=[0, 5], rate=[0, 2], max_stay=[0, 3]
    )
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"routes": [[{"stop": 1, "start": 1, "stay": 1.5}]]}))
    solution = decost.read_solution(path, instance)
    assert solution.profit == 8
    assert decost.check(instance, solution) == []


VISIT = {"stop": 1, "start": 1, "stay": 0, "profit": 0}


BAD_PLANS: list[tuple[Any, str]] = [
    ([], "content = list of 0: must be an object"),
    ({}, "routes: missing"),
    ({"routes": [], "format": "x"}, "format = 'x': Input should be 'decost-solution'"),
    ({"routes": [], "version": 2}, "version = 2: Input should be 1"),
    ({"routes": [], "speed": 1}, "speed = 1: unknown field"),
    ({"routes": [], "instance": "other"}, "instance = 'other': is another instance than 'mine'"),
    ({"routes": [[], [VISIT | {"stop": 2}]]}, "routes[1][0].stop = 2: the instance has no such"),
    ({"routes": [[VISIT | {"stop": 0}]]}, "routes[0][0].stop = 0: the instance has no such stop"),
    ({"routes": [[VISIT | {"stop": "b"}]]}, "routes[0][0].stop = 'b': the instance has no such"),
    ({"routes": [[VISIT | {"stop": 1.5}]]}, "routes[0][0].stop"),
    ({"routes": [[VISIT | {"stop": True}]]}, "routes[0][0].stop"),
    ({"routes": [[VISIT | {"start": None}]]}, "routes[0][0].start = None"),
    ({"routes": [[VISIT | {"stay": float("nan")}]]}, "routes[0][0].stay = nan"),
    ({"routes": [[{"stop": 1}]]}, "routes[0][0].start: missing"),
    ({"routes": [[]] * 1001}, "routes = list of 1001: "),
]


@pytest.mark.parametrize(("content", "message"), BAD_PLANS, ids=lambda value: str(value)[:40])
def test_bad_plans(tmp_path: Path, content: Any, message: str) -> None:
    """A plan that is none, or one for another instance, is refused with field and value."""
    instance = Instance(budget=9, travel=np.ones((2, 2)), name="mine")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError) as caught:
        decost.read_solution(path, instance)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_plans_of_a_set(tmp_path: Path) -> None:
    """Lines may come in any order and be missing, but not double, wrong, or all missing."""
    many = decost.generate("paper", nodes=9, count=4, seed=1)
    results = decost.solve_many(many, "greedy")
    lines = [json.dumps({"index": k} | results[k].to_dict()) for k in range(4)]
    path = tmp_path / "plans.jsonl"
    path.write_text("\n".join([lines[3], "", lines[0]]))
    plans = read_solutions(path, many)
    assert plans == {0: results[0].solution, 3: results[3].solution}
    for content, message in (
        ([lines[1], lines[1]], "line 2: index = 1: must be from 0 to 3, once each"),
        ([lines[1].replace('"index": 1', '"index": 4')], "line 1: index = 4: must be from 0 to 3"),
        ([lines[1].replace('"index": 1', '"index": true')], "line 1: index = True"),
        ([lines[1].replace('"index": 1, ', "")], "line 1: index = None: must be"),
        (["[]"], "line 1: index = None: must be"),
        (["", ""], "holds no plan"),
    ):
        path.write_text("\n".join(content))
        with pytest.raises(FormatError) as caught:
            read_solutions(path, many)
        assert str(caught.value).startswith(f"{path}: {message}")
