"""Tests of the formats: nothing is lost on the way, and no file does harm."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decost
from decost import FormatError, Instance, Solution, check, make_solution
from decost.files.door import MAX_BYTES, read_solutions
from decost.problem.instance import MAX_STOPS
from strategies import instances

SOLOMON = """R1

VEHICLE
NUMBER     CAPACITY
  25         200

CUSTOMER
CUST NO.  XCOORD.  YCOORD.  DEMAND  READY TIME  DUE DATE  SERVICE TIME

    0      0       0       0       0       230       0
    1      1       1      10      16       171      10
    2      2       3       7      50        60      20
"""
LEUVEN = """1 4 2 1
0 200
 0 0.00 0.00 0.00 0.00 0 0 0 230
 1 1.00 1.00 10.00 10.00 1 1 1 16 171
 2 2.00 3.00 20.00 7.00 1 2 1 2 50 60
"""


def document(**changes: Any) -> dict[str, Any]:
    """Give the smallest instance file with one stop, as a dictionary."""
    return {
        "format": "decost-instance",
        "version": 1,
        "budget": 10,
        "depot": {"x": 0, "y": 0},
        "stops": [{"x": 3, "y": 4, "rate": 2, "max_stay": 6}],
    } | changes


def pack(**arrays: Any) -> bytes:
    """Give the bytes of an `.npz` file."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def refusal(path: Path, content: str | bytes | dict[str, Any], **options: Any) -> str:
    """Write a file that must be refused, and give the complaint without the file's name."""
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FormatError) as caught:
        decost.read_set(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


# What is written can be read.


@given(instances())
def test_json_round_trip(tmp_path: Path, instance: Instance) -> None:
    """Written as JSON and read again, an instance is the same to the last bit."""
    decost.write(instance, tmp_path / "a.json")
    assert decost.read(tmp_path / "a.json") == instance


@pytest.mark.parametrize("ending", [".jsonl", ".npz"])
@given(many=st.lists(instances(), min_size=1, max_size=4))
def test_set_round_trip(tmp_path: Path, ending: str, many: list[Instance]) -> None:
    """So is a set of instances that differ in size and in every feature."""
    path = tmp_path / f"a{ending}"
    decost.write(many, path)
    assert decost.read_set(path) == many
    decost.write(many[0], path)
    assert decost.read_set(path) == many[:1]


@pytest.mark.parametrize("ending", [".jsonl", ".npz"])
@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_generated_sets_round_trip(tmp_path: Path, ending: str, family: str) -> None:
    """So are generated sets of both families, of different sizes and for teams."""
    many = [
        instance
        for nodes, vehicles in ((1, 1), (12, 3), (30, 1))
        for instance in decost.generate(family, nodes=nodes, count=8, vehicles=vehicles)
    ]
    decost.write(many, tmp_path / f"a{ending}")
    assert decost.read_set(tmp_path / f"a{ending}") == many


def test_extremes_round_trip(tmp_path: Path) -> None:
    """So are the largest and smallest numbers, and whole ones beyond 2^53."""
    instance = Instance(
        budget=1.7e308,
        travel=[[0, 5e-324], [2**53 + 2, 0.1]],
        open=[0, -1e308],
        rate=[0, 1e-300],
        max_stay=[0, 1e300],
    )
    for name in ("a.json", "a.npz", "a.jsonl"):
        decost.write(instance, tmp_path / name)
        assert decost.read_set(tmp_path / name) == [instance]


def test_written_json_is_for_people(tmp_path: Path) -> None:
    """One line a stop, whole numbers as such, and nothing that is at its default."""
    decost.write(
        Instance(
            budget=10,
            xy=[[0, 0], [3, 4.5]],
            close=[0, 7],
            rate=[0, 2],
            max_stay=[0, 6],
            ids=["caf\u00e9"],
        ),
        tmp_path / "a.json",
    )
    lines = (tmp_path / "a.json").read_text(encoding="utf-8").splitlines()
    assert '  {"id": "caf\u00e9", "x": 3, "y": 4.5, "close": 7, "profit": [[2, 6]]}' in lines
    assert ' "budget": 10,' in lines


def test_example_of_the_documentation(tmp_path: Path) -> None:
    """Short and long form of the profit, defaults and names are read as documented."""
    stops = [
        {"id": "museum", "x": 3, "y": 4, "open": 60, "close": 300, "rate": 2.0, "max_stay": 120},
        {"id": "tower", "x": 1, "y": 9, "reward": 30, "min_stay": 10},
    ]
    stops[1]["profit"] = [[1.5, 20], [0.5, 40]]
    text = json.dumps(document(name="day trip", budget=480, vehicles=1, speed=1.0, stops=stops))
    (tmp_path / "a.json").write_text(text)
    assert decost.read(tmp_path / "a.json") == Instance(
        name="day trip",
        budget=480,
        xy=[[0, 0], [3, 4], [1, 9]],
        open=[0, 60, 0],
        close=[0, 300, np.inf],
        reward=[0, 0, 30],
        min_stay=[0, 0, 10],
        pieces=[[], [[2, 120]], [[1.5, 20], [0.5, 40]]],
        ids=["museum", "tower"],
    )


def test_optional_fields(tmp_path: Path) -> None:
    """A matrix without coordinates, another end, and stops of which only some have names."""
    path = tmp_path / "a.json"
    travel = [[0, 1, 2, 3], [4, 0, 5, 6], [7, 8, 0, 9], [1, 2, 3, 0]]
    stops = [{"id": "a", "leave_by": 5}, {"reward": 1, "min_stay": 1, "max_stay": 4}]
    path.write_text(json.dumps(document(depot={}, end={}, travel=travel, stops=stops)))
    instance = decost.read(path, vehicles=4)
    assert instance == Instance(
        budget=10,
        travel=travel,
        separate_end=True,
        leave_by=[0, 5, np.inf],
        reward=[0, 0, 1],
        min_stay=[0, 0, 1],
        pieces=[[], [], [[0, 3]]],
        ids=["a", "2"],
        vehicles=4,
    )


@pytest.mark.parametrize("name", ["a.json", "a.npz", "a.txt", "a", "a.jsonl"])
def test_content_decides(tmp_path: Path, name: str) -> None:
    """Whatever its ending, a file is read as what it is."""
    path = tmp_path / name
    (expected,) = decost.generate("mixed", nodes=5)
    others = decost.generate("paper", nodes=4, count=3)
    for ending, thing in ((".json", [expected]), (".npz", others), (".jsonl", others)):
        decost.write(thing[0] if ending == ".json" else thing, tmp_path / f"source{ending}")
        (tmp_path / f"source{ending}").replace(path)
        assert decost.read_set(path) == thing
    for text in (SOLOMON, LEUVEN):
        path.write_text(text)
        assert decost.read(path).stops == 2


def test_one_line(tmp_path: Path) -> None:
    """A single line of JSON is an instance, or in a `.jsonl` file a set of one."""
    line = json.dumps(document()) + "\n"
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(line)
    assert decost.read(tmp_path / "a.json").stops == 1
    with pytest.raises(FormatError, match="holds a set of 1 instances: use read_set"):
        decost.read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n", " \r\n\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, ends: str, mark: str) -> None:
    """Files that went through other systems are read all the same."""
    for text, stops in ((json.dumps(document(), indent=1), 1), (SOLOMON, 2), (LEUVEN, 2)):
        lines = [line for line in text.splitlines() if line.strip()]
        (tmp_path / "a").write_bytes((mark + ends.join(lines) + ends).encode())
        assert decost.read(tmp_path / "a").stops == stops
    lines = [json.dumps(document()), json.dumps(document(budget=20))]
    (tmp_path / "a").write_bytes((mark + ends.join(lines) + ends).encode())
    assert [one.budget for one in decost.read_set(tmp_path / "a")] == [10, 20]


@pytest.mark.parametrize("ending", [".json", ".npz", ".jsonl"])
def test_pipe(tmp_path: Path, ending: str) -> None:
    """A pipe can be read, though only once and not backwards."""
    many = decost.generate("paper", nodes=4, count=1 if ending == ".json" else 3)
    decost.write(many if len(many) > 1 else many[0], tmp_path / f"file{ending}")
    content = (tmp_path / f"file{ending}").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert decost.read_set(pipe) == many
    writer.join()


# Solomon and KU Leuven.


@pytest.mark.parametrize("text", [SOLOMON, LEUVEN])
def test_fixed_profit(tmp_path: Path, text: str) -> None:
    """Demand or profit is the reward, service the stay, and distances lose decimals.

    The distances are the roots of 2, 13 and 5: 1.41, 3.60 and 2.23.
    """
    path = tmp_path / "R1.txt"
    path.write_text(text)
    travel = [[0, 1.4, 3.6], [1.4, 0, 2.2], [3.6, 2.2, 0]]
    assert decost.read(path) == Instance(
        name="R1",
        budget=230,
        xy=[[0, 0], [1, 1], [2, 3]],
        travel=travel,
        open=[0, 16, 50],
        close=[0, 171, 60],
        reward=[0, 10, 7],
        min_stay=[0, 10, 20],
    )
    assert decost.read(path).problem == "OPTW"
    assert decost.read(path, vehicles=3).problem == "TOPTW"


@pytest.mark.parametrize("text", [SOLOMON, LEUVEN])
def test_variable_profit(tmp_path: Path, text: str) -> None:
    """The profit is demand times stay, for a stay of up to 30 more; distances are exact."""
    path = tmp_path / "R1.txt"
    path.write_text(text)
    instance = decost.read(path, profit="variable")
    assert instance == Instance(
        name="R1",
        budget=230,
        xy=[[0, 0], [1, 1], [2, 3]],
        open=[0, 16, 50],
        close=[0, 171, 60],
        reward=[0, 100, 140],
        min_stay=[0, 10, 20],
        rate=[0, 10, 7],
        max_stay=[0, 40, 50],
    )
    assert instance.travel[0, 2] == pytest.approx(13**0.5)
    assert instance.full_profit.tolist() == [0, 10 * 40, 7 * 50]


@pytest.mark.parametrize(
    ("truncate", "distance"),
    [
        (0, 3.0),
        (1, 3.6),
        (2, 3.60),
        (4, 3.6055),
        (9, 3.605551275),
        ("none", 13**0.5),
        ("auto", 3.6),
    ],
)
def test_truncation(tmp_path: Path, truncate: Any, distance: float) -> None:
    """The root of 13 is 3.6055512754639...; it is cut, not rounded."""
    path = tmp_path / "a"
    path.write_text(SOLOMON)
    assert decost.read(path, truncate=truncate).travel[0, 2] == distance
    assert decost.read(path, truncate=truncate, profit="variable").travel[0, 2] == (
        13**0.5 if truncate == "auto" else distance
    )


def test_truncation_of_exact_distances(tmp_path: Path) -> None:
    """A distance that needs no more decimals keeps them all: 0.3 is not 0.29."""
    path = tmp_path / "a"
    rows = [(0, 0), (0.3, 0), (0.57, 0), (0.29, 0), (3.5, 12), (1.155, 0)]
    text = "".join(f"{k} {x} {y} 0 0 0 0 0 9\n" for k, (x, y) in enumerate(rows))
    path.write_text("1 1 5 1\n0 0\n" + text)
    expected = [0, 0.3, 0.57, 0.29, 12.5, 1.15]
    assert decost.read(path).travel[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_name_of_a_nameless_file(tmp_path: Path) -> None:
    """A Solomon file that does not begin with its name is called by the file's."""
    path = tmp_path / "mine.txt"
    path.write_text(SOLOMON.removeprefix("R1\n\n"))
    assert decost.read(path).name == "mine"


def test_all_benchmark_files(data: Path) -> None:
    """All files of Solomon and KU Leuven are read, with the sizes that they are known for."""
    solomon = [decost.read(path) for path in sorted((data / "solomon").glob("*.txt"))]
    assert len(solomon) == 56
    assert {(one.stops, one.problem, one.vehicles) for one in solomon} == {(100, "OPTW", 1)}
    for path in sorted((data / "optw").glob("*.txt")):
        instance = decost.read(path)
        assert (instance.name, instance.problem) == (path.stem, "OPTW")
        assert instance.stops == int(path.read_text().split()[2])
    for path in (data / "solomon").glob("*.txt"):
        twin = data / "optw" / path.name.lower()
        assert decost.read(twin).replace(name=path.stem) == decost.read(path)
        variable = decost.read(path, profit="variable")
        assert variable.problem == "OPTWVP"
        assert variable.matrix is None


def test_profits_of_the_benchmark(data: Path) -> None:
    """No published profit is more than all stops of its file together."""
    with (data / "optw_best_known.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) > 50
    for name, profit, *_ in rows:
        assert 0 < float(profit) <= decost.read(data / "optw" / f"{name}.txt").reward.sum()


@pytest.mark.parametrize("file", ["optw/r101.txt", "solomon/R101.txt"])
def test_optimal_route_of_r101(data: Path, file: str) -> None:
    """The known optimum is feasible and worth 198; with any two of its stops swapped it is not."""
    instance = decost.read(data / file)
    route = [59, 5, 83, 16, 85, 26, 13, 89, 58]

    def plan(stops: list[int]) -> Solution:
        return make_solution(instance, [stops], [[instance.min_stay[stop] for stop in stops]])

    assert check(instance, plan(route)) == []
    assert decost.profit_of(instance, plan(route)) == 198
    for first, second in itertools.combinations(range(len(route)), 2):
        swapped = route.copy()
        swapped[first], swapped[second] = route[second], route[first]
        assert check(instance, plan(swapped)) != []


# Plans.


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


# Files that are not what they should be.

STOP = {"x": 3, "y": 4}
BAD_INSTANCES: list[tuple[dict[str, Any], str]] = [
    ({"format": "other"}, "format = 'other': Input should be 'decost-instance'"),
    ({"version": 2}, "version = 2: Input should be 1"),
    ({"version": "1"}, "version = '1': Input should be 1"),
    ({"colour": "red"}, "colour = 'red': unknown field"),
    ({"stops": [STOP | {"rte": 2}]}, "stops[0].rte = 2: unknown field"),
    ({"budget": -1}, "budget = -1.0: must be finite, not negative"),
    ({"budget": float("nan")}, "budget = nan: Input should be a finite number"),
    ({"budget": float("inf")}, "budget = inf: Input should be a finite number"),
    ({"budget": "10"}, "budget = '10': Input should be a valid number"),
    ({"budget": None}, "budget = None: Input should be a valid number"),
    ({"budget": True}, "budget = True: Input should be a valid number"),
    ({"budget": 10**400}, "budget = 1000000"),
    ({"vehicles": 0}, "vehicles = 0: must be from 1 to 1000"),
    ({"vehicles": 1.5}, "vehicles = 1.5: Input should be a valid integer"),
    ({"speed": 0}, "speed = 0.0: must be positive"),
    ({"depot": {"x": 0}}, "depot.y: missing"),
    ({"depot": {}}, "depot.x: missing"),
    ({"depot": None}, "depot = None: must be an object"),
    ({"end": {}}, "end.x: missing"),
    ({"stops": {}}, "stops = dict of 0: Input should be a valid list"),
    ({"stops": [5]}, "stops[0] = 5: must be an object"),
    ({"stops": [{"x": 3}]}, "stops[0].y: missing"),
    ({"stops": [{}], "travel": [[0, 1], [1, 0]]}, "stops[0].x: missing"),
    ({"stops": [{"x": 3}], "depot": {}, "travel": [[0, 1], [1, 0]]}, "stops[0].y: missing"),
    (
        {"stops": [STOP | {"x": float("-inf")}]},
        "stops[0].x = -inf: Input should be a finite number",
    ),
    ({"stops": [STOP | {"x": 1e308}, STOP | {"x": -1e308}]}, "speed = 1.0: travel times are not"),
    (
        {"stops": [STOP | {"rate": -2, "max_stay": 1}]},
        "stops[0].rate = -2: Input should be greater",
    ),
    ({"stops": [STOP | {"rate": 2}]}, "stops[0].max_stay: missing, but rate is given"),
    ({"stops": [STOP | {"max_stay": -2}]}, "stops[0].max_stay = -2.0: is less than min_stay = 0.0"),
    (
        {"stops": [STOP | {"min_stay": 3, "max_stay": 2, "rate": 1}]},
        "stops[0].max_stay = 2.0: is less than min_stay = 3.0",
    ),
    ({"stops": [STOP | {"min_stay": -2}]}, "stop 1: min_stay = -2.0: must be finite, not negative"),
    ({"stops": [STOP | {"reward": -2}]}, "stop 1: reward = -2.0: must be finite, not negative"),
    ({"stops": [STOP | {"open": 4, "close": 3}]}, "stop 1: close = 3.0: is less than open = 4.0"),
    (
        {"stops": [STOP | {"profit": [[1, 2], [3, 4]]}]},
        "stop 1: profit[1] = [3.0, 4.0]: rates must",
    ),
    ({"stops": [STOP | {"profit": [[1]]}]}, "stops[0].profit[0] = list of 1: "),
    ({"stops": [STOP | {"profit": [[1, -2]]}]}, "stop 1: profit[0] = [1.0, -2.0]: must be finite"),
    (
        {"stops": [STOP | {"profit": [], "rate": 1}]},
        "stops[0].rate: cannot be combined with profit",
    ),
    ({"stops": [STOP | {"profit": [[1, 1]] * 1001}]}, "stops[0].profit = list of 1001: "),
    ({"stops": [STOP | {"id": "a"}] * 2}, "id = 'a': two stops have it"),
    ({"stops": [STOP | {"id": "2"}, STOP]}, "id = '2': two stops have it"),
    ({"stops": [STOP | {"id": ""}]}, "id = '': must be a string that is not empty"),
    ({"stops": [STOP | {"id": 7}]}, "stops[0].id = 7: Input should be a valid string"),
    ({"stops": [STOP | {"id": "\ud800"}]}, r"id = '\ud800': must be text that can be written"),
    ({"travel": [[0, 1]]}, "travel: has 1 rows, must be 2"),
    ({"travel": [[0, 1], [1]]}, "travel[1]: has 1 entries, must be 2"),
    ({"travel": [[0, 1], [-1, 0]]}, "travel[1][0] = -1.0: must be finite, not negative"),
    (
        {"travel": [[0, 1], [float("nan"), 0]]},
        "travel[1][0] = nan: Input should be a finite number",
    ),
    ({"travel": [[0, 1], ["a", 0]]}, "travel[1][0] = 'a': Input should be a valid number"),
    ({"stops": [{}] * 10**6}, f"stops = list of 1000000: List should have at most {MAX_STOPS}"),
    ({"name": 5}, "name = 5: Input should be a valid string"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_INSTANCES, ids=lambda value: str(value)[:40])
def test_bad_instances(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """Each mistake in a JSON file is told with the field and the value."""
    assert refusal(tmp_path / "a.json", document(**changes)).startswith(message)


def test_errors_name_the_stop(tmp_path: Path) -> None:
    """A stop with a name is called by it, and in a set by the line as well."""
    bad = document(stops=[STOP, STOP | {"id": "mill", "open": 4, "close": 3}])
    expected = "stop 'mill': close = 3.0: is less than open = 4.0"
    assert refusal(tmp_path / "a.json", bad) == expected
    lines = f"{json.dumps(document())}\n\n{json.dumps(bad)}\n"
    assert refusal(tmp_path / "a.jsonl", lines) == f"line 3: {expected}"


UNKNOWN = "is no known format"
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": (" \n\t\n", "is empty"),
    "only a byte order mark": ("\ufeff", "is empty"),
    "prose": ("Dear reader,\n", UNKNOWN),
    "a list": ("[]", UNKNOWN),
    "null": ("null", UNKNOWN),
    "zeros": (bytes(1000), UNKNOWN),
    "all bytes": (bytes(range(256)), "byte 128 is not text (UTF-8)"),
    "another encoding": (
        json.dumps(document(name="caf\u00e9"), ensure_ascii=False).encode("latin-1"),
        "byte",
    ),
    "two encodings": (json.dumps(document()).encode("utf-16"), "byte 0 is not text (UTF-8)"),
    "cut": (json.dumps(document())[:-3], "line 1, column"),
    "more": (json.dumps(document()) + "x", "line 1, column"),
    "comma": ('{\n"a": 1,\n}', "line 3, column 1: broken JSON: "),
    "second line cut": (json.dumps(document()) + "\n{", "line 2: line 1, column 2: broken JSON"),
    "twice": ('{"format": 1, "budget": 2, "budget": 3}', "'budget': is given twice"),
    "deep list": ('{"a": ' + "[" * 100_000, "broken JSON: nested too deeply"),
    "deep object": ('{"a": ' * 100_000, "broken JSON: nested too deeply"),
    "long number": ('{"budget": ' + "9" * 5000 + "}", "broken JSON: Exceeds the limit"),
    "beyond infinity": (json.dumps(document()).replace("10", "1e999", 1), "budget = inf: "),
    "bare nan": (
        json.dumps(document()).replace("10", "NaN", 1),
        "budget = nan: Input should be a f",
    ),
    "half a zip": (pack(a=1)[:50], "broken .npz file: "),
    "head of a zip": (b"PK\x03\x04", "broken .npz file: "),
    "empty zip": (b"PK\x05\x06" + bytes(18), UNKNOWN),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".npz", ".txt"])
def test_broken_files(tmp_path: Path, case: str, ending: str) -> None:
    """A file that is no file of ours is refused, whatever its ending."""
    content, message = BROKEN[case]
    complaint = refusal(tmp_path / f"a{ending}", content)
    assert complaint.removeprefix("line 1: " * (ending == ".jsonl")).startswith(message)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """What cannot be opened is the usual error of the operating system."""
    with pytest.raises(FileNotFoundError):
        decost.read(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        decost.read(tmp_path)


BAD_TEXTS: dict[str, tuple[str, str]] = {
    "no customers": ("R1\nVEHICLE\nNUMBER CAPACITY\n1 1\n", "has no depot"),
    "no rows": (SOLOMON.split("    0 ")[0], "has no depot"),
    "word": (SOLOMON.replace("171", "noon"), "customer 1 = 'noon': must be a number"),
    "nan": (SOLOMON.replace("171", "nan"), "customer 1 = 1 1 1 10 16 nan 10: must be finite"),
    "columns": (SOLOMON + "3 1 1\n", "customer 3: has 3 columns, must be 7"),
    "order": (SOLOMON + "4 1 1 1 1 1 1\n", "node 4: out of order, must be 3"),
    "demand": (SOLOMON.replace(" 7 ", " -7 "), "stop 2: reward = -7.0: must be finite, not neg"),
    "window": (SOLOMON.replace(" 60 ", " 40 "), "stop 2: close = 40.0: is less than open = 50.0"),
    "due date": (SOLOMON.replace("230", "-1"), "budget = -1.0: must be finite, not negative"),
    "leuven count": (LEUVEN.replace("4 2 1", "4 3 1"), "N = 3: but there are 2 stops"),
    "leuven head": ("1 4 2 1\n0 200\n", "has no depot"),
    "leuven line": ("1 4 2 1\n", "has no depot"),
    "leuven huge": (f"1 4 {'9' * 5000} 1\n0 0\n", UNKNOWN),
    "leuven columns": ("1 4 0 1\n0 0\n0 1 2 3\n", "node 0: has 4 columns, at least 9"),
    "leuven word": (LEUVEN.replace("171", "noon"), "node 1 = 'noon': must be a number"),
    "leuven order": (LEUVEN.replace(" 2 2.00", " 3 2.00"), "node 3: out of order, must be 2"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_benchmark_files(tmp_path: Path, case: str) -> None:
    """Mistakes in the rows of a text file are told with the row."""
    text, message = BAD_TEXTS[case]
    assert refusal(tmp_path / "a.txt", text).startswith(message)


@pytest.mark.parametrize("kind", ["solomon", "leuven"])
def test_too_many_rows(tmp_path: Path, kind: str) -> None:
    """More stops than are allowed are refused in every format."""
    count = MAX_STOPS + 1
    row = "{} 0 0 0 0 9 0\n" if kind == "solomon" else "{} 0 0 0 0 0 0 0 9\n"
    head = SOLOMON.split("    0 ")[0] if kind == "solomon" else f"1 1 {count} 1\n0 0\n"
    text = head + "".join(row.format(k) for k in range(count + 1))
    assert refusal(tmp_path / "a.txt", text) == f"has more than {MAX_STOPS} stops"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profit": "maximal"}, "profit = 'maximal': must be fixed or variable"),
        ({"truncate": 10}, "truncate = 10: must be from 0 to 9, none or auto"),
        ({"truncate": -1}, "truncate = -1: must be"),
        ({"truncate": "1"}, "truncate = '1': must be"),
        ({"truncate": None}, "truncate = None: must be"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """An option that is not known is never ignored."""
    (tmp_path / "a").write_text(SOLOMON)
    with pytest.raises(FormatError) as caught:
        decost.read(tmp_path / "a", **options)
    assert str(caught.value).startswith(message)


def test_wrong_number_of_vehicles(tmp_path: Path) -> None:
    """A number of vehicles that is given instead of the file's is checked as well."""
    assert refusal(tmp_path / "a", SOLOMON, vehicles=0) == "vehicles = 0: must be from 1 to 1000"


# Sets of arrays.


def arrays(**changes: Any) -> bytes:
    """Give a set of two instances with two stops each."""
    given = {
        "format": "decost-set",
        "version": 1,
        "budget": np.array([10.0, 20.0]),
        "xy": np.zeros((2, 3, 2)),
    }
    return pack(**{field: value for field, value in (given | changes).items() if value is not None})


def test_arrays_of_the_paper(tmp_path: Path) -> None:
    """A set without a format, as the paper's authors publish theirs, may hold other fields."""
    opens, closes = np.float32([[0, 1.1, 2.2]]), np.float32([[9, 1.4, 2.9]])
    path = tmp_path / "a.npz"
    path.write_bytes(
        pack(
            xy=np.float32([[[0, 0], [0.1, 0.2], [1, 1]]]),
            open=opens,
            close=closes,
            rate=np.float32([[9, 3, 4]]),
            budget=np.float32(10),
            gurobi=np.array([5.0]),
        )
    )
    (instance,) = decost.read_set(path)
    assert instance.budget == 10
    assert instance.xy is not None
    assert instance.xy[1].tolist() == [float(np.float32(0.1)), float(np.float32(0.2))]
    widths = closes.astype(np.float64) - opens
    assert instance.max_stay.tolist() == [0, *widths[0, 1:]]
    assert instance.piece_rate.tolist() == [3, 4]


BAD_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "format": ({"format": "other"}, "format = other, version = 1: must be decost-set, 1"),
    "version": ({"version": 2}, "format = decost-set, version = 2: must be decost-set, 1"),
    "two versions": ({"version": [1, 1]}, "format = decost-set, version = [1 1]: must be"),
    "no version": ({"version": None}, "format = decost-set, version = None: must be"),
    "unknown": ({"colour": 1}, "colour: unknown field"),
    "no budget": ({"budget": None}, "budget: missing"),
    "no places": ({"xy": None}, "xy: missing"),
    "budget": ({"budget": np.array([10.0, -1.0])}, "instance 1: budget = -1.0: must be finite"),
    "budgets": ({"budget": np.ones(3)}, "budget: has shape (3,), must have 1 dimensions"),
    "text": ({"budget": np.array(["a", "b"])}, "budget: has type <U1"),
    "complex": ({"budget": np.array([1j, 1])}, "budget: has type complex128"),
    "dates": ({"open": np.zeros((2, 3), "m8[s]")}, "open: has type timedelta64[s]"),
    "nan": ({"open": np.full((2, 3), np.nan)}, "instance 0: open[1] = nan: not a number"),
    "flat xy": ({"xy": np.zeros(2)}, "xy: has shape (2,), must have 3 dimensions"),
    "three coordinates": (
        {"xy": np.zeros((2, 3, 3))},
        "xy: has shape (2, 3, 3), must be (2, 3, 2)",
    ),
    "nothing": ({"xy": np.zeros((0, 3, 2)), "budget": np.zeros(0)}, "holds no instance"),
    "no nodes": ({"xy": np.zeros((2, 0, 2))}, "nodes[0] = 0: must be from 1 to 0"),
    "all nan": ({"xy": np.full((2, 3, 2), np.nan)}, "instance 0: xy = None: give coordinates"),
    "matrix": ({"travel": np.zeros((2, 4, 4))}, "travel: has shape (2, 4, 4), must be (2, 3, 3)"),
    "negative matrix": (
        {"travel": -np.ones((2, 3, 3))},
        "instance 0: travel[0][0] = -1.0: must be",
    ),
    "flat column": ({"open": np.zeros(2)}, "open: has shape (2,), must have 2 dimensions"),
    "short column": ({"open": np.zeros((2, 2))}, "instance 0: open: has shape (2,), must be (3,)"),
    "few rows": (
        {"open": np.zeros((1, 3))},
        "open: has shape (1, 3), must have 2 dimensions, the f",
    ),
    "pieces": ({"pieces": np.zeros((2, 3, 1, 3))}, "instance 0: stop 1: profit: has shape (1, 3)"),
    "flat pieces": (
        {"pieces": np.zeros((2, 3))},
        "pieces: has shape (2, 3), must have 4 dimensions",
    ),
    "rate alone": ({"rate": np.ones((2, 3))}, "instance 0: stop 1: rate = 1.0: needs a max_stay"),
    "vehicles": (
        {"vehicles": np.array([1, 0])},
        "instance 1: vehicles = 0: must be from 1 to 1000",
    ),
    "halves": ({"vehicles": np.array([1.0, 1.5])}, "vehicles: has type float64"),
    "nodes": ({"nodes": np.array([3, 4])}, "nodes[1] = 4: must be from 1 to 3"),
    "negative nodes": ({"nodes": np.array([-3, 3])}, "nodes[0] = -3: must be from 1 to 3"),
    "nan nodes": ({"nodes": np.array([np.nan, 3])}, "nodes: has type float64"),
    "end": ({"separate_end": np.array([True, True])}, "nodes[0] = 3: must be from 1 to 3"),
    "ends": ({"separate_end": np.array([np.nan, 0])}, "separate_end: has type float64"),
    "flat ids": ({"ids": np.array(["ab", "cd"])}, "ids: has shape (2,), must have 2 dimensions"),
    "few ids": ({"ids": np.array([["a"], ["b"]])}, "instance 0: ids: there are 1 for 2 stops"),
    "same ids": ({"ids": np.array([["a", "a"]] * 2)}, "instance 0: id = 'a': two stops have it"),
    "bytes": ({"name": np.array([b"a", b"b"])}, "name: has type |S1"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(tmp_path: Path, case: str) -> None:
    """Fields of a set that are missing, misshapen or of a wrong type are named."""
    changes, message = BAD_ARRAYS[case]
    assert refusal(tmp_path / "a.npz", arrays(**changes)).startswith(message)


def test_windows_of_other_shapes(tmp_path: Path) -> None:
    """Columns that do not fit each other are refused before they are subtracted."""
    columns = {"open": np.zeros((2, 3)), "close": np.ones((2, 4)), "rate": np.ones((2, 3))}
    assert "needs a max_stay" in refusal(tmp_path / "a.npz", arrays(**columns))


def test_zip_of_other_things(tmp_path: Path) -> None:
    """Entries that are no arrays, a locked one and one packed in an unknown way are refused."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("budget", "much")
        archive.writestr("xy", "here")
    refusal(tmp_path / "a.npz", file.getvalue())
    content = bytearray(arrays())
    at = content.index(b"PK\x01\x02")
    for offset, value, message in ((8, 1, "encrypted"), (10, 77, "compression")):
        changed = content.copy()
        changed[at + offset] = value
        first = changed.index(b"PK\x03\x04")
        changed[first + offset - 2] = value
        complaint = refusal(tmp_path / "a.npz", bytes(changed))
        assert complaint.startswith("broken .npz file: ")
        assert message in complaint


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.write_text, (self.path, "sprung")


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    """A set with a pickle in it is refused, and the pickle not run."""
    trap = tmp_path / "trap"
    for field in ("ids", "colour", "xy"):
        array = np.array([[Trap(trap)]], dtype=object)
        message = refusal(tmp_path / "a.npz", arrays(**{field: array}))
        assert message.startswith("broken .npz file: Object arrays cannot be loaded")
    assert not trap.exists()


@given(st.data())
def test_damaged_files(tmp_path: Path, data: st.DataObject) -> None:
    """A file with some bytes changed, lost or doubled is read or refused, and nothing else."""
    sources = [
        arrays(ids=np.array([["a", "b"]] * 2)),
        json.dumps(document()).encode(),
        f"{json.dumps(document())}\n{json.dumps(document())}\n".encode(),
        SOLOMON.encode(),
        LEUVEN.encode(),
    ]
    content = bytearray(data.draw(st.sampled_from(sources)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        size = data.draw(st.integers(0, 3))
        content[at : at + size] = data.draw(st.binary(max_size=3))
    path = tmp_path / "a"
    path.write_bytes(content)
    complaint = ""
    try:
        assert all(isinstance(one, Instance) for one in decost.read_set(path))
    except FormatError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith(f"{path}: ")


# Limits.


@pytest.mark.parametrize("head", [b"", b"{", b"1 1 1 1\n"])
def test_huge_file(tmp_path: Path, head: bytes) -> None:
    """A file of gigabytes is refused without being read."""
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(2**33)
    with pytest.raises(FormatError, match=f"is larger than {MAX_BYTES} bytes"):
        decost.read(path)


def test_limits_of_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set may be larger than an instance, but each of its lines may not, and it has a limit."""
    line = json.dumps(document())
    monkeypatch.setattr("decost.files.door.MAX_BYTES", len(line) + 1)
    monkeypatch.setattr("decost.files.door.MAX_SET_BYTES", 5 * (len(line) + 1))
    path = tmp_path / "a"
    path.write_text(f"{line}\n" * 5)
    assert len(decost.read_set(path)) == 5
    assert refusal(path, f"{line}\n" * 6) == f"is larger than {5 * (len(line) + 1)} bytes"
    assert refusal(path, f"{line}\n{line} \n") == f"line 2: is larger than {len(line) + 1} bytes"
    assert refusal(path, f"{line}  ") == f"is larger than {len(line) + 1} bytes"
    plans = [json.dumps({"index": k, "routes": []}) for k in range(99)]
    path.write_text("\n".join(plans))
    with pytest.raises(FormatError, match=r"line \d+: the set is larger than"):
        read_solutions(path, [Instance(budget=1, xy=[[0, 0]])] * 99)


def test_packed_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that would unpack to a large one is refused before it is unpacked."""
    content = arrays(open=np.zeros((2, 500_000)))
    assert len(content) < 50_000
    monkeypatch.setattr("decost.files.door.MAX_SET_BYTES", 10**6)
    monkeypatch.setattr("decost.files.door.MAX_BYTES", 10**5)
    monkeypatch.setattr(np, "load", lambda *given, **options: pytest.fail("was unpacked"))
    message = refusal(tmp_path / "a.npz", content)
    assert "bytes unpacked, at most 1000000" in message


def test_what_could_not_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instance too large for a JSON file is refused by the writer, the old file kept."""
    (instance,) = decost.generate("paper", nodes=50)
    path = tmp_path / "a.json"
    path.write_text("old")
    monkeypatch.setattr("decost.files.door.MAX_BYTES", 1000)
    with pytest.raises(FormatError, match=r"a\.json: is larger than 1000 bytes"):
        decost.write(instance, path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["a.npz", "a.jsonl", "a.json"])
def test_sets_that_are_not_written(tmp_path: Path, name: str) -> None:
    """No set is empty, and none is written to a file that would not be known as a set."""
    with pytest.raises(FormatError, match=f"{name}: a set needs at least one instance"):
        decost.write([], tmp_path / name)
    with pytest.raises(FormatError, match=r"a\.txt: a set is written to a \.npz or \.jsonl file"):
        decost.write(decost.generate("paper", nodes=2), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_many_repeated_keys(tmp_path: Path) -> None:
    """Large objects do not take forever: the time is not the square of the number of keys."""
    keys = ", ".join(f'"{k}": 0' for k in range(200_000))
    assert refusal(tmp_path / "a", f'{{{keys}, "199999": 0}}') == "'199999': is given twice"


def test_many_mistakes(tmp_path: Path) -> None:
    """Of a million mistakes the first is told, without collecting the others."""
    row = ["a"] * 1000
    message = refusal(tmp_path / "a", document(travel=[row] * 1000))
    assert message == "travel[0][0] = 'a': Input should be a valid number"
    stops = [{str(k): 0 for k in range(1000)}] * 1000
    assert refusal(tmp_path / "a", document(stops=stops)) == "stops[0].0 = 0: unknown field"
