"""Tests of instances as JSON: written for people, and every mistake named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import document, refusal

import decost
from decost import Instance
from decost.problem.instance import MAX_STOPS


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


STOP = {"x": 3, "y": 4}


BAD_INSTANCES: list[tuple[dict[str, Any], str]] = [
    ({"format": "other"}, "format = 'other': Input should be 'decost-instance'"),
    ({"version": 3}, "version = 3: Input should be 1 or 2"),
    ({"version": "1"}, "version = '1': Input should be 1 or 2"),
    ({"version": "2"}, "version = '2': Input should be 1 or 2"),
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
    ({"stops": [{}] * 10**5}, f"stops = list of 100000: List should have at most {MAX_STOPS}"),
    ({"unit": "minutes"}, "unit = 'minutes': needs version 2"),
    ({"begin": 1}, "begin = 1: needs version 2"),
    ({"detour": 1}, "detour = 1: needs version 2"),
    ({"places": []}, "places = list of 0: needs version 2"),
    ({"vehicles": [{}]}, "vehicles = list of 1: Input should be a valid integer"),
    ({"budget": "17:00"}, "budget = '17:00': Input should be a valid number"),
    ({"speed": "4.5 km/h"}, "speed = '4.5 km/h': Input should be a valid number"),
    ({"end": "hotel"}, "end = 'hotel': must be an object"),
    ({"depot": {"lat": 1, "lon": 2}}, "depot.lat = 1: needs version 2"),
    ({"travel": {"foot": [[0, 1], [1, 0]]}}, "travel = dict of 1: Input should be a valid list"),
    ({"stops": [STOP | {"required": True}]}, "stops[0].required = True: needs version 2"),
    ({"stops": [STOP | {"alternatives": []}]}, "stops[0].alternatives = list of 0: needs version"),
    ({"stops": [STOP | {"vehicles": ["1"]}]}, "stops[0].vehicles = list of 1: needs version 2"),
    ({"stops": [STOP | {"place": "hotel"}]}, "stops[0].place = 'hotel': needs version 2"),
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


def test_many_repeated_keys(tmp_path: Path) -> None:
    """Large objects do not take forever: the time is not the square of the number of keys."""
    keys = ", ".join(f'"{k}": 0' for k in range(200_000))
    assert refusal(tmp_path / "a", f'{{{keys}, "199999": 0}}') == "'199999': is given twice"
    many = "'0': its object has 200000 names, at most 2000"
    assert refusal(tmp_path / "a", f"{{{keys}}}") == many


def test_many_mistakes(tmp_path: Path) -> None:
    """Of many mistakes the first is told, without collecting the others."""
    row = ["a"] * 1000
    message = refusal(tmp_path / "a", document(travel=[row] * 1000))
    assert message == "travel[0][0] = 'a': Input should be a valid number"
    stops = [{str(k): 0 for k in range(1000)}] * 900
    assert refusal(tmp_path / "a", document(stops=stops)) == "stops[0].0 = 0: unknown field"
