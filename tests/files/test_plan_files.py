"""Tests of plans in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from decost import FormatError, Instance, Result, Solution, make_solution
from decost.files.door import read_solutions
from decost.problem.records import Alternative, Place, Stop, Vehicle
from decost.problem.versions import version_of
from oracle import as_solution, best_plan, tiny_instance


def known(solution: Solution) -> list[list[tuple[Any, ...]]]:
    """Give what every plan file says of its visits."""
    return [
        [(visit.stop, visit.start, visit.stay, visit.leave, visit.profit) for visit in route.visits]
        for route in solution.routes
    ]


def test_plan_round_trip(tmp_path: Path) -> None:
    """A result is written with its instance's name, and read as the same plan.

    In version 1 a file does not say when vehicles leave: they do at 0, and wait at the door.
    """
    (instance,) = decost.generate("mixed", nodes=20, vehicles=2, seed=5)
    stays = [instance.min_stay[[3, 1]], instance.min_stay[[7]] + 0.5]
    solution = make_solution(instance, [[3, 1], [7]], stays)
    result = Result(instance, solution, "feasible", method="greedy", seed=9)
    decost.write(result, tmp_path / "plan.json")
    back = decost.read_solution(tmp_path / "plan.json", instance)
    assert known(back) == known(solution)
    assert [route.finish for route in back.routes] == [route.finish for route in solution.routes]
    assert [route.depart for route in back.routes] == [0, 0]
    assert back.routes[0].visits[0].arrive == instance.travel[0, 3]
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written == result.to_dict() | {
        "format": "decost-solution",
        "version": 1,
        "instance": instance.name,
    }


def test_general_plan_round_trip(tmp_path: Path) -> None:
    """So are best plans of instances with alternatives and vehicles of their own."""
    random = np.random.default_rng(3)
    path = tmp_path / "plan.json"
    alternatives = set()
    for _ in range(40):
        instance = tiny_instance(random)
        solution = as_solution(instance, best_plan(instance))
        decost.write(Result(instance, solution, "optimal"), path)
        back = decost.read_solution(path, instance)
        assert json.loads(path.read_text())["version"] == version_of(instance)
        broken = [str(violation) for violation in decost.check(instance, solution)]
        assert [str(violation) for violation in decost.check(instance, back)] == broken
        assert back.profit == solution.profit
        if version_of(instance) == 2:
            alternatives |= {visit.alternative for visit in solution.visits}
            for mine, theirs in zip(back.routes, solution.routes, strict=True):
                assert mine.depart == theirs.depart
                assert mine.finish == pytest.approx(theirs.finish, abs=1e-9)
                assert mine.late == pytest.approx(theirs.late, abs=1e-9)
                assert [one[2:4] + one[5:] for one in mine.visits] == [
                    one[2:4] + one[5:] for one in theirs.visits
                ]
    assert alternatives >= {0, 1}


def guides(**changes: Any) -> Instance:
    """Give two vehicles and two stops, the first of which is open in the morning and at noon."""
    ways = [
        Alternative(open=60, leave_by=90, profit=[[2, 10]]),
        Alternative(open=100, leave_by=200, vehicles=["blue"]),
    ]
    given: dict[str, Any] = {
        "name": "guides",
        "unit": "minutes",
        "begin": 50,
        "budget": 300,
        "depot": Place(x=0, y=0),
        "vehicles": [Vehicle("red"), Vehicle("blue", begin=60)],
        "stops": [
            Stop("mill", x=3, y=4, min_stay=5, reward=7, alternatives=ways),
            Stop("inn", x=6, y=8, reward=1),
        ],
    }
    return Instance.build(**given | changes)


def test_written_plan_of_version_2(tmp_path: Path) -> None:
    """Routes name their vehicles, visits their alternatives, and all times are numbers.

    The mill is 5 from the depot and from the inn, which is 10 from the depot.
    """
    instance = guides()
    result = Result(instance, make_solution(instance, [[], [2, 3]], [[], [5, 0]]), "feasible")
    decost.write(result, tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_text())
    assert (data["format"], data["version"], data["instance"]) == ("decost-solution", 2, "guides")
    assert data["routes"] == [
        {"vehicle": "red", "depart": 50, "finish": 50, "visits": []},
        {
            "vehicle": "blue",
            "depart": 95,
            "finish": 120,
            "visits": [
                {"stop": "mill", "alternative": 1, "start": 100, "stay": 5, "profit": 7},
                {"stop": "inn", "alternative": 0, "start": 110, "stay": 0, "profit": 1},
            ],
        },
    ]
    assert decost.read_solution(tmp_path / "a.json", instance) == result.solution


def test_late_vehicle(tmp_path: Path) -> None:
    """A vehicle underway that cannot be at its end in time goes there, and how late is written."""
    vehicles = [Vehicle("red", start="inn", due=53, underway=True), Vehicle("blue", begin=60)]
    instance = guides(vehicles=vehicles)
    result = Result(instance, make_solution(instance, [], []), "feasible")
    decost.write(result, tmp_path / "a.json")
    route = json.loads((tmp_path / "a.json").read_text())["routes"][0]
    assert route == {"vehicle": "red", "depart": 50, "finish": 60, "late": 7, "visits": []}
    assert decost.read_solution(tmp_path / "a.json", instance) == result.solution


def read_routes(path: Path, instance: Instance, routes: list[Any], **more: Any) -> Solution:
    """Read a plan of these routes."""
    path.write_text(json.dumps({"routes": routes} | more))
    return decost.read_solution(path, instance)


def test_alternatives_may_be_left_out(tmp_path: Path) -> None:
    """Those are taken that break the fewest rules: by when, by how long, and by whom."""
    instance = guides()
    path = tmp_path / "a.json"
    for vehicle, start, stay, expected in (
        ("red", 60, 5, 0),
        ("red", 60, 15, 0),
        ("blue", 110, 5, 1),
        ("blue", 65, 15, 0),
        ("blue", 195, 5, 1),
        ("blue", 85, 5, 0),
    ):
        visit = {"stop": "mill", "start": start, "stay": stay}
        routes = [{"vehicle": vehicle, "visits": [visit]}]
        solution = read_routes(path, instance, routes)
        assert [one.alternative for one in solution.visits] == [expected]
        assert decost.check(instance, solution) == []
        assert solution.profit == 7 + 2 * (stay - 5)
    # By the profit that the plan claims: only the first alternative could earn it.
    visit = {"stop": "mill", "start": 95, "stay": 6, "profit": 9}
    (read,) = read_routes(path, instance, [[visit]]).visits
    assert (read.alternative, read.profit) == (0, 9)


def test_vehicles_and_departures_may_be_left_out(tmp_path: Path) -> None:
    """Route k is vehicle k's, which leaves when it may; who is not named stays."""
    instance = guides()
    path = tmp_path / "a.json"
    visit = {"stop": "inn", "start": 100, "stay": 0}
    for routes in ([[], [visit]], [{"visits": []}, {"visits": [visit]}]):
        red, blue = read_routes(path, instance, routes).routes
        assert (red.depart, red.finish, red.visits) == (50, 50, ())
        assert (blue.depart, blue.visits[0].arrive, blue.finish) == (60, 70, 110)
    red, blue = read_routes(
        path, instance, [{"vehicle": "blue", "depart": 80, "visits": [visit]}]
    ).routes
    assert red.visits == ()
    assert (blue.depart, blue.visits[0].arrive) == (80, 90)
    late = read_routes(path, instance, [{"vehicle": "blue", "depart": 55, "visits": [visit]}])
    assert [violation.rule for violation in decost.check(instance, late)] == ["begin"]
    lists = read_routes(path, instance, [[visit | {"alternative": 0}]], version=2)
    assert lists.routes[0].stops == (2,)


MILL = {"stop": "mill", "start": 60, "stay": 5}
RED = {"vehicle": "red", "visits": [MILL]}

BAD_ROUTES: list[tuple[dict[str, Any], str]] = [
    ({"routes": [RED], "version": 3}, "version = 3: Input should be 1 or 2"),
    ({"routes": [RED], "version": 1}, "routes[0] = dict of 2: Input should be a valid list"),
    (
        {"routes": [[MILL | {"alternative": 0}]], "version": 1},
        "routes[0][0].alternative = 0: unknown field",
    ),
    ({"routes": [RED, []]}, "routes[1] = list of 0: must be an object"),
    ({"routes": [[], RED]}, "routes[1] = dict of 2: Input should be a valid list"),
    ({"routes": [{"vehicle": "red"}]}, "routes[0].visits: missing"),
    ({"routes": [RED | {"driver": "me"}]}, "routes[0].driver = 'me': unknown field"),
    ({"routes": [RED | {"vehicle": "green"}]}, "routes[0].vehicle = 'green': the instance has no"),
    ({"routes": [RED | {"vehicle": 1}]}, "routes[0].vehicle = 1: Input should be a valid string"),
    ({"routes": [RED, RED]}, "routes[1].vehicle = 'red': has a route already"),
    ({"routes": [{"visits": []}, RED]}, "routes[1].vehicle = 'red': has a route already"),
    ({"routes": [{"visits": []}] * 3}, "routes[2].vehicle = '3': the instance has no such vehicle"),
    (
        {"routes": [RED | {"depart": "09:00"}]},
        "routes[0].depart = '09:00': Input should be a valid",
    ),
    (
        {"routes": [RED | {"visits": [MILL | {"alternative": 2}]}]},
        "routes[0].visits[0].alternative = 2: must be from 0 to 1",
    ),
    (
        {"routes": [RED | {"visits": [MILL | {"alternative": -1}]}]},
        "routes[0].visits[0].alternative = -1: must be from 0 to 1",
    ),
    (
        {"routes": [RED | {"visits": [MILL, MILL | {"stop": "pub"}]}]},
        "routes[0].visits[1].stop = 'pub': the instance has no such stop",
    ),
    (
        {"routes": [[MILL | {"stop": "inn"}]]},
        "routes[0][0].stop = 'inn': the stop has no alternative",
    ),
    ({"routes": [RED], "instance": "other"}, "instance = 'other': is another instance than"),
]


@pytest.mark.parametrize(("content", "message"), BAD_ROUTES, ids=lambda value: str(value)[:50])
def test_bad_plans_of_version_2(tmp_path: Path, content: dict[str, Any], message: str) -> None:
    """A plan with vehicles or alternatives that there are not is refused with field and value."""
    stops = [
        Stop("mill", x=3, y=4, alternatives=[Alternative(), Alternative()]),
        Stop("inn", x=6, y=8, alternatives=[]),
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError) as caught:
        decost.read_solution(path, guides(stops=stops))
    assert str(caught.value).startswith(f"{path}: {message}")


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
    ({"routes": [], "version": 3}, "version = 3: Input should be 1 or 2"),
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
    solutions = [make_solution(one, [[2, 5]], [one.min_stay[[2, 5]]]) for one in many]
    results = [Result(one, plan, "feasible") for one, plan in zip(many, solutions, strict=True)]
    lines = [json.dumps({"index": k} | results[k].to_dict()) for k in range(4)]
    path = tmp_path / "plans.jsonl"
    path.write_text("\n".join([lines[3], "", lines[0]]))
    plans = read_solutions(path, many)
    assert {k: known(plan) for k, plan in plans.items()} == {
        k: known(results[k].solution) for k in (0, 3)
    }
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
