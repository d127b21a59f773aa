"""Tests of instances as JSON of version 2: read as documented, and every mistake named."""

from __future__ import annotations

import json
import math
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import document, refusal, town

import decost
from decost import FormatError, Instance
from decost.problem.fields import MAX_STOPS
from decost.problem.records import Alternative, Place, Stop, Vehicle
from oracle import brute_force

DOCS = Path(__file__).resolve().parents[2] / "docs"
INF = np.inf


def read_back(path: Path, data: dict[str, Any]) -> Instance:
    """Read a document, and see that it is the same when it is written and read again."""
    path.write_text(json.dumps(data))
    instance = decost.read(path)
    decost.write(instance, path)
    assert decost.read(path) == instance
    return instance


def test_example_of_the_documentation(tmp_path: Path) -> None:
    """The two guides of docs/formats.md: every number worked out by hand."""
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    example = re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0]
    instance = read_back(tmp_path / "a.json", json.loads(example))
    assert (instance.name, instance.unit, instance.stops) == ("two guides", "minutes", 3)
    assert (instance.begin, instance.budget) == (9 * 60, 17 * 60 + 30)
    assert (instance.geographic, instance.detour) == (True, 1.3)
    assert instance.places == ("hotel sole", "north branch", "", "")
    red, blue = instance.fleet
    fields = attrgetter("id", "start", "end", "begin", "due", "speed")
    assert fields(red) == ("red", 0, 0, 540, 1050, 4.5 / 60)
    assert fields(blue) == ("blue", 4, 6, 600, 1050, 15 / 60)
    assert instance.required.tolist() == [False, True, True, False]
    assert instance.alternative_first.tolist() == [0, 1, 3, 5, 6]
    assert instance.alternative_place.tolist()[1:] == [1, 1, 5, 7, 3]
    assert instance.alternative_open.tolist()[1:] == [540, 840, 720, 720, 540]
    assert instance.alternative_close.tolist()[1:] == [INF, INF, 810, 840, 1020]
    assert instance.alternative_leave_by.tolist()[1:] == [720, 1080, INF, INF, INF]
    assert instance.alternative_min_stay.tolist()[1:] == [30, 30, 30, 30, 10]
    assert instance.alternative_reward.tolist()[1:] == [0, 0, 20, 20, 30]
    assert instance.pieces[1].tolist() == instance.pieces[2].tolist() == [[2, 60], [0.5, 60]]
    assert instance.alternative_vehicles is not None
    assert (
        instance.alternative_vehicles[1:].tolist() == [[True] * 2, [False, True]] + [[True] * 2] * 3
    )
    # From the depot to the hotel: 0.0225 degrees to the south, 0.0106 to the east.
    north, east = 0.0225, 0.0106 * math.cos(math.radians(46.06125))
    way = 1.3 * 6371.0088 * math.radians(math.hypot(north, east))
    assert instance.travel_of(0)[0, 4] == pytest.approx(way / (4.5 / 60), rel=1e-6)
    assert instance.travel_of(1)[0, 4] == pytest.approx(way / (15 / 60), rel=1e-6)


def test_plan_of_the_documentation(tmp_path: Path) -> None:
    """The plan of the two guides in docs/formats.md is feasible, and as good as it says."""
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    example, _, plan, _ = re.findall(r"```json\n(.*?)```", text, re.DOTALL)[:4]
    for name, content in (("a", example), ("plan", plan)):
        (tmp_path / name).write_text(content)
    instance = decost.read(tmp_path / "a")
    solution = decost.read_solution(tmp_path / "plan", instance)
    assert decost.check(instance, solution) == []
    data = json.loads(plan)
    assert brute_force(instance) == (2, data["profit"])
    assert solution.profit == data["profit"] == data["bound"]
    for route, written in zip(solution.routes, data["routes"], strict=True):
        assert (route.depart, route.finish) == (written["depart"], pytest.approx(written["finish"]))


def test_short_forms(tmp_path: Path) -> None:
    """A number of vehicles, a window at the stop and one piece mean what they did."""
    old = document(budget=480, vehicles=3, speed=2, end={"x": 1, "y": 1})
    old["stops"][0] |= {"open": 60, "close": 300, "leave_by": 400, "min_stay": 1}
    (tmp_path / "a").write_text(json.dumps(old))
    instance = decost.read(tmp_path / "a")
    assert read_back(tmp_path / "a", old | {"version": 2}) == instance
    assert json.loads((tmp_path / "a").read_text())["version"] == 1
    assert [vehicle.id for vehicle in instance.fleet] == ["1", "2", "3"]


def test_alternatives_inherit(tmp_path: Path) -> None:
    """What an alternative does not say, its stop says; its own profit takes the place of all."""
    stop = {"id": "mill", "place": "hotel", "open": 60, "close": "10:00", "leave_by": 700}
    stop |= {"min_stay": 10, "reward": 4, "rate": 2, "max_stay": 30, "vehicles": ["red"]}
    ways: list[dict[str, Any]] = [
        {},
        {"open": "09:30", "close": 650, "vehicles": ["blue", "red"]},
        {"min_stay": 15, "reward": 0},
        {"rate": 1, "max_stay": 20, "vehicles": []},
        {"min_stay": 5, "profit": [[3, 1], [1, 1]], "x": 1, "y": 1},
        {"profit": [], "place": "lunch", "leave_by": "06:00+1"},
    ]
    stops = [stop | {"alternatives": ways}, {"id": "lunch", "x": 0, "y": 5}]
    instance = read_back(tmp_path / "a", town(stops=stops))
    assert instance.alternative_first.tolist() == [0, 1, 7, 8]
    assert instance.alternative_open.tolist()[1:7] == [60, 570, 60, 60, 60, 60]
    assert instance.alternative_close.tolist()[1:7] == [600, 650, 600, 600, 600, 600]
    assert instance.alternative_leave_by.tolist()[1:7] == [700, 700, 700, 700, 700, 1800]
    assert instance.alternative_min_stay.tolist()[1:7] == [10, 10, 15, 10, 5, 10]
    assert instance.alternative_max_stay.tolist()[1:7] == [30, 30, 35, 20, 7, 10]
    assert instance.alternative_full_profit.tolist()[1:7] == [44, 44, 40, 14, 8, 4]
    assert instance.places == ("hotel", "")
    assert instance.alternative_place.tolist()[1:7] == [3, 3, 3, 3, 4, 2]
    assert instance.alternative_vehicles is not None
    admitted = instance.alternative_vehicles[1:7].tolist()
    one, both, none = [True, False], [True, True], [False, False]
    assert admitted == [one, both, one, none, one, one]


def test_places_by_id(tmp_path: Path) -> None:
    """A place comes before a stop of the same name, and "depot" is the depot."""
    places = [{"id": "mill", "x": 6, "y": 8}, {"id": "inn", "x": 1, "y": 1}]
    vehicles = [
        {"start": "mill", "end": "depot"},
        {"start": "lunch"},
        {"start": {"x": 0, "y": 0}, "end": {"x": 1, "y": 1}},
    ]
    instance = read_back(tmp_path / "a", town(places=places, vehicles=vehicles, end="inn"))
    assert instance.end == 4
    assert not instance.separate_end
    ways = [(vehicle.start, vehicle.end) for vehicle in instance.fleet]
    assert ways == [(3, 0), (2, 4), (0, 5)]


def test_separate_end(tmp_path: Path) -> None:
    """An end by coordinates has a row of its own, behind the stops and before the places."""
    end = {"x": 9, "y": 9}
    instance = read_back(tmp_path / "a", town(end=end))
    assert (instance.end, instance.separate_end, instance.places) == (3, True, ("hotel",))
    assert instance.xy is not None
    assert instance.xy.tolist() == [[0, 0], [3, 4], [0, 5], [9, 9], [6, 8]]
    assert [(one.start, one.end) for one in instance.fleet] == [(0, 3), (4, 3)]


def test_matrices(tmp_path: Path) -> None:
    """Several matrices by name, of which every vehicle uses one; the diagonal as it is written."""
    foot = [[7, 1, 2, 3], [4, 7, 5, 6], [7, 8, 7, 9], [1, 2, 3, 7]]
    bike = [[value / 2 for value in row] for row in foot]
    vehicles = [{"profile": "bike"}, {"profile": "foot", "start": "hotel", "end": "lunch"}]
    data = town(
        travel={"foot": foot, "bike": bike},
        vehicles=vehicles,
        depot=None,
        places=[{"id": "hotel"}],
        stops=[{"id": "mill"}, {"id": "lunch", "alternatives": [{"place": "hotel"}, {}]}],
    )
    instance = read_back(tmp_path / "a", data)
    assert instance.profiles == ("foot", "bike")
    assert instance.travel_of(0).tolist() == bike
    assert instance.travel_of(1).tolist() == foot
    assert instance.xy is None
    assert (instance.fleet[1].start, instance.fleet[1].end) == (3, 2)
    one = data | {"travel": foot, "vehicles": 2}
    assert read_back(tmp_path / "a", one).travel.tolist() == foot


MILL = {"id": "mill", "x": 3, "y": 4}
SQUARE = [[0, 1, 1, 1]] * 4
MATRIX = {"travel": SQUARE}
SEVERAL = {"travel": {"foot": SQUARE, "bike": SQUARE}}
GLOBE = {
    "depot": {"lat": 46, "lon": 11},
    "places": None,
    "vehicles": 1,
    "speed": "4.5 km/h",
    "stops": [{"lat": 46.1, "lon": 11}],
}

LEGAL: list[dict[str, Any]] = [
    {"stops": []},
    {"stops": [MILL | {"alternatives": []}]},
    {"stops": [MILL | {"vehicles": []}]},
    {"stops": [MILL | {"alternatives": [{"vehicles": []}]}]},
    {"stops": [MILL | {"required": True, "vehicles": []}]},
    {"stops": [MILL | {"required": True, "open": 9999}]},
    {"stops": [MILL | {"alternatives": [{"open": 1, "close": 9}, {"open": 2, "close": 8}]}]},
    {"stops": [MILL | {"vehicles": ["red"]}]},  # nothing is left for the blue one
    {"stops": [{"id": "lunch", "alternatives": [{"place": "hotel"}, {"x": 1, "y": 1}]}]},
    {"begin": -30, "budget": "24:00"},
    {"budget": None, "vehicles": [{"due": "17:00"}, {"due": "00:00+1"}]},
    {"begin": None, "vehicles": [{"begin": "08:00"}, {"begin": 500}]},
    {"vehicles": [{"underway": True}, {"id": "1+1", "speed": 0.5}]},
    {"unit": None, "begin": 1, "budget": 99, "vehicles": 2},
    GLOBE,
    GLOBE | {"detour": 1, "speed": "15 mph"},
    GLOBE | {"speed": None, "vehicles": [{"speed": "5 km/h"}, {"speed": "15 km/h"}]},
    MATRIX,
    SEVERAL | {"vehicles": [{"profile": "foot"}] * 2},
    {"travel": {"foot": SQUARE}, "vehicles": 2},
]


@pytest.mark.parametrize("changes", LEGAL, ids=lambda value: str(value)[:60])
def test_legal_oddities(tmp_path: Path, changes: dict[str, Any]) -> None:
    """What is never used, or cannot be reached, is no error; and it is written and read again."""
    read_back(tmp_path / "a.json", town(**changes))


def mill(**fields: Any) -> dict[str, Any]:
    """Give a change to one stop."""
    return {"stops": [MILL | fields]}


def mill_by(**fields: Any) -> dict[str, Any]:
    """Give a change to one stop's second alternative."""
    return mill(alternatives=[{}, fields])


SECOND = "stop 'mill': alternatives[1]"
CLOCK = "must be a number or a clock time such as '09:30'"
NO_UNIT = "must have a unit, such as '4.5 km/h' or '3 mph'"

BAD: list[tuple[dict[str, Any], str]] = [
    # Fields that there are not
    ({"colour": "red"}, "colour = 'red': unknown field"),
    ({"vehicles": [{"colour": 1}]}, "vehicles[0].colour = 1: unknown field"),
    ({"places": [{"id": "a", "z": 1}]}, "places[0].z = 1: unknown field"),
    (mill_by(required=True), "stops[0].alternatives[1].required = True: unknown field"),
    (mill_by(id="a"), "stops[0].alternatives[1].id = 'a': unknown field"),
    (mill_by(alternatives=[]), "stops[0].alternatives[1].alternatives = list of 0: unknown field"),
    ({"vehicles": [{"start": {"id": "hotel"}}]}, "vehicles[0].start.id = 'hotel': unknown field"),
    # Vehicles
    (mill(vehicles=["green"]), "stop 'mill': vehicles = 'green': there is no such vehicle"),
    (mill_by(vehicles=["green"]), f"{SECOND}: vehicles = 'green': there is no such vehicle"),
    (mill(vehicles="red"), "stops[0].vehicles = 'red': Input should be a valid list"),
    (mill(vehicles=[1]), "stops[0].vehicles[0] = 1: Input should be a valid string"),
    ({"vehicles": 0}, "vehicles = 0: must be from 1 to 1000"),
    ({"vehicles": 1001}, "vehicles = 1001: must be from 1 to 1000"),
    ({"vehicles": []}, "vehicles: there are 0, must be from 1 to 1000"),
    ({"vehicles": [{}] * 1001}, "vehicles = list of 1001: List should have at most 1000 items"),
    ({"vehicles": "3"}, "vehicles = '3': must be a whole number, or a list of vehicles"),
    ({"vehicles": 1.5}, "vehicles = 1.5: must be a whole number, or a list of vehicles"),
    ({"vehicles": True}, "vehicles = True: must be a whole number, or a list of vehicles"),
    ({"vehicles": [{"id": "a"}] * 2}, "id = 'a': two vehicles have it"),
    ({"vehicles": [{"id": "2"}, {}]}, "id = '2': two vehicles have it"),
    ({"vehicles": [{"id": ""}]}, "id = '': must be a string that is not empty"),
    ({"vehicles": [{"id": 3}]}, "vehicles[0].id = 3: Input should be a valid string"),
    ({"vehicles": [{"underway": 1}]}, "vehicles[0].underway = 1: Input should be a valid boolean"),
    # Places
    (mill_by(place="inn"), f"{SECOND}: place = 'inn': there is no such place"),
    ({"stops": [{"place": "inn"}]}, "stop 1: place = 'inn': there is no such place"),
    ({"vehicles": [{"start": "inn"}]}, "vehicle '1': start = 'inn': there is no such place"),
    ({"vehicles": [{"end": "inn"}]}, "vehicle '1': end = 'inn': there is no such place"),
    ({"end": "inn"}, "end = 'inn': there is no such place"),
    ({"end": 5}, "end = 5: must be the id of a place, or coordinates"),
    ({"vehicles": [{"start": 5}]}, "vehicles[0].start = 5: must be the id of a place, or coord"),
    ({"vehicles": [{"start": {}}]}, "vehicle '1': start: has no coordinates"),
    ({"vehicles": [{"start": {"x": 1}}]}, "vehicle '1': start: y: missing"),
    ({"places": [{"x": 1, "y": 1}]}, "places[0].id: missing"),
    ({"places": [{"id": "a", "x": 1, "y": 1}] * 2}, "id = 'a': two places have it"),
    ({"places": [{"id": "hotel"}]}, "vehicle 'blue': start = 'hotel': it has no coordinates"),
    ({"places": [{"id": "hotel", "x": 1}]}, "place 'hotel': y: missing"),
    ({"stops": [{"id": "mill"}]}, "stop 'mill': x: missing"),
    ({"stops": [{"alternatives": [{"place": "hotel"}, {}]}]}, "stop 1: x: missing"),
    ({"depot": {}}, "depot: x: missing"),
    (mill_by(place="hotel", x=1, y=2), f"{SECOND}: place = 'hotel': cannot be combined with coo"),
    (mill(place="hotel"), "stop 'mill': place = 'hotel': cannot be combined with coordinates"),
    (mill_by(x=1), f"{SECOND}: y: missing"),
    # Times
    ({"vehicles": [{"begin": "10:00", "due": 570}]}, "vehicle '1': due = 570.0: is before begin"),
    ({"vehicles": [{"due": 30}]}, "vehicle '1': due = 30.0: is before begin = 540.0"),
    ({"budget": "08:00", "vehicles": 2}, "budget = 480.0: is before begin = 540.0"),
    ({"budget": None}, "budget = None: needed, since vehicle 1 has no due"),
    ({"budget": None, "vehicles": 2}, "budget = None: must be a number"),
    (mill(open="10:00", close=540), "stop 'mill': close = 540.0: is less than open = 600.0"),
    (
        mill(open="10:00", alternatives=[{}, {"close": "09:30"}]),
        f"{SECOND}: close = 570.0: is less than open = 600.0",
    ),
    (mill(open="25:00"), f"stop 'mill': open = '25:00': {CLOCK}"),
    (mill(close="9.30"), f"stop 'mill': close = '9.30': {CLOCK}"),
    (mill_by(leave_by="09:60"), f"{SECOND}: leave_by = '09:60': {CLOCK}"),
    ({"begin": "early"}, f"begin = 'early': {CLOCK}"),
    ({"vehicles": [{"due": "late"}]}, f"vehicle '1': due = 'late': {CLOCK}"),
    (mill(open=True), "stops[0].open = True: must be a number, or a clock time such as"),
    (mill_by(open=[]), "stops[0].alternatives[1].open = list of 0: must be a number, or a clock"),
    ({"budget": float("nan")}, "budget = nan: Input should be a finite number"),
    ({"begin": float("inf")}, "begin = inf: Input should be a finite number"),
    (mill(min_stay="00:30"), "stops[0].min_stay = '00:30': Input should be a valid number"),
    (mill_by(max_stay="00:30"), "stops[0].alternatives[1].max_stay = '00:30': Input should be a"),
    ({"unit": None}, "begin = '09:00': clock times need unit = 'minutes'"),
    ({"unit": "hours"}, "unit = 'hours': Input should be 'minutes'"),
    ({"begin": None, "vehicles": 2}, "begin = None: needed with clock times, since vehicle '1'"),
    (
        {"begin": None, "vehicles": [{"begin": 540}, {"id": "blue"}]},
        "begin = None: needed with clock times, since vehicle 'blue' has none",
    ),
    # The globe
    (GLOBE | {"speed": None}, "speed = None: needed with lat, lon, such as '4.5 km/h'"),
    (GLOBE | {"speed": 4.5}, f"speed = 4.5: {NO_UNIT}"),
    (GLOBE | {"speed": "4.5"}, f"speed = '4.5': {NO_UNIT}"),
    (GLOBE | {"speed": "4.5 knots"}, f"speed = '4.5 knots': {NO_UNIT}"),
    (GLOBE | {"speed": "0 km/h"}, "speed = '0 km/h': must be positive"),
    (GLOBE | {"vehicles": [{"speed": 3}]}, f"vehicle '1': speed = 3.0: {NO_UNIT}"),
    (GLOBE | {"unit": None, "begin": 1, "budget": 9}, "unit = None: must be 'minutes' with lat"),
    (GLOBE | {"detour": 0}, "detour = 0.0: must be positive"),
    (GLOBE | {"stops": [{"lat": 95, "lon": 11}]}, "stop 1: lat = 95.0: must be from -90 to 90"),
    (GLOBE | {"stops": [{"lat": 46}]}, "stop 1: lon: missing"),
    (GLOBE | {"stops": [{"x": 46, "y": 1}]}, "stop 1: x = 46.0: depot has lat, lon"),
    (GLOBE | {"stops": [{"x": 4, "lat": 4, "lon": 1}]}, "stop 1: x = 4.0: cannot be combined"),
    ({"speed": "4.5 km/h"}, "speed = '4.5 km/h': speeds with a unit need lat, lon"),
    ({"vehicles": [{"speed": "5 km/h"}]}, "vehicle '1': speed = '5 km/h': speeds with a unit"),
    ({"detour": 1.2}, "detour = 1.2: goes with lat, lon only"),
    ({"speed": 0}, "speed = 0.0: must be positive"),
    ({"vehicles": [{"speed": 0}]}, "vehicle '1': speed = 0.0: must be positive"),
    ({"speed": []}, "speed = list of 0: must be a number, or a speed with its unit such as"),
    # Stops
    (mill(required=True, alternatives=[]), "stop 'mill': required = True: "),
    (mill(required=1), "stops[0].required = 1: Input should be a valid boolean"),
    (mill(alternatives={}), "stops[0].alternatives = dict of 0: Input should be a valid list"),
    (mill(alternatives=[{}] * 51), "stops[0].alternatives = list of 51: List should have at most"),
    (
        {"stops": [{"x": 1, "y": 1, "alternatives": [{}] * 50}] * 401},
        "alternatives: there are 20050, at most 20000 are allowed",
    ),
    ({"stops": [MILL] * 5001}, f"stops = list of 5001: List should have at most {MAX_STOPS}"),
    ({"stops": [MILL] * 2}, "id = 'mill': two stops have it"),
    (mill(profit=[[1, 1]], rate=1, max_stay=2), "stop 'mill': rate = 1.0: cannot be combined"),
    (mill(rate=1), "stop 'mill': max_stay: missing"),
    (mill(max_stay=1, min_stay=2), "stop 'mill': max_stay = 1.0: is less than min_stay = 2.0"),
    (mill_by(rate=1), f"{SECOND}: max_stay: missing"),
    (mill_by(min_stay=3, rate=1, max_stay=2), f"{SECOND}: max_stay = 2.0: is less than min_stay"),
    (mill_by(min_stay=-1), f"{SECOND}: min_stay = -1.0: must be finite, not negative"),
    (mill_by(reward=-1), f"{SECOND}: reward = -1.0: must be finite, not negative"),
    (mill_by(profit=[[1, 1], [2, 2]]), f"{SECOND}: profit[1] = [2.0, 2.0]: rates must not rise"),
    # Matrices
    (MATRIX | {"vehicles": [{"start": {"x": 1, "y": 1}}]}, "vehicle '1': start = (1.0, 1.0): "),
    (MATRIX | {"vehicles": [{"end": {"x": 1, "y": 1}}]}, "vehicle '1': end = (1.0, 1.0): "),
    (MATRIX | {"vehicles": [{"speed": 2}]}, "vehicle '1': speed = 2.0: cannot be combined with"),
    (MATRIX | {"vehicles": [{"profile": "foot"}]}, "vehicle '1': profile = 'foot': travel has no"),
    (MATRIX | mill_by(x=1, y=2), f"{SECOND} = (1.0, 2.0): coordinates cannot be combined"),
    ({"travel": [[0, 1], [1, 0]]}, "travel: has shape (2, 2), must be (4, 4)"),
    ({"travel": [[0, 1], [1]]}, "travel[1]: has 1 entries, must be 2"),
    ({"travel": "far"}, "travel = 'far': Input should be a valid list"),
    (SEVERAL, "vehicle 'red': profile = None: must be one of foot, bike"),
    (SEVERAL | {"vehicles": 2}, "vehicle '1': profile = None: must be one of foot, bike"),
    (SEVERAL | {"vehicles": [{"profile": "car"}]}, "vehicle '1': profile = 'car': must be one of"),
    ({"travel": {}}, "travel: has no matrix"),
    ({"travel": {"": SQUARE}}, "id = '': must be a string that is not empty"),
    ({"travel": {"foot": [[0, 1]]}}, "travel.foot[0]: has 2 entries, must be 1"),
    ({"travel": {"foot": [["a"]]}}, "travel.foot[0][0] = 'a': Input should be a valid number"),
    ({"travel": {"foot": [[0, -1, 1, 1]] * 4}}, "travel['foot'][0][1] = -1.0: must be finite"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=lambda value: str(value)[:60])
def test_bad_instances(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    """Each mistake in a file of version 2 is told with the field and the value, in one line."""
    complaint = refusal(tmp_path / "a.json", town(**changes))
    assert complaint.startswith(message)
    assert len(complaint.splitlines()) == 1


def test_long_names_do_not_flood(tmp_path: Path) -> None:
    """A complaint about a very long name is short all the same."""
    for changes in (mill(open="x" * 10**5), {"end": "x" * 10**5}, mill(vehicles=["x" * 10**5])):
        assert len(refusal(tmp_path / "a", town(**changes))) <= 500


def test_written_for_people(tmp_path: Path) -> None:
    """Clock times where minutes are whole, one line a stop and vehicle, what is common once."""
    ways = [Alternative(open=540, leave_by=720), Alternative(open=840.5, vehicles=["blue"])]
    instance = Instance.build(
        unit="minutes",
        begin=540,
        budget=1830,
        depot=Place(x=0, y=0),
        places=[Place("inn", x=1, y=2)],
        vehicles=[Vehicle("red"), Vehicle("blue", start="inn", begin="10:00", speed=2)],
        stops=[Stop("mill", x=3, y=4, reward=5, required=True, alternatives=ways)],
    )
    decost.write(instance, tmp_path / "a.json")
    lines = (tmp_path / "a.json").read_text().splitlines()
    assert ' "begin": "09:00",' in lines
    assert ' "budget": "06:30+1",' in lines
    assert '  {"id": "red"},' in lines
    assert '  {"id": "blue", "start": "inn", "begin": "10:00", "speed": 2}' in lines
    assert '  {"id": "inn", "x": 1, "y": 2}' in lines
    assert (
        '  {"id": "mill", "x": 3, "y": 4, "required": true, "reward": 5, "alternatives": '
        '[{"open": "09:00", "leave_by": "12:00"}, {"open": 840.5, "vehicles": ["blue"]}]}' in lines
    )


def test_places_without_a_name(tmp_path: Path) -> None:
    """Made by arrays, a matrix may have places without a name: they get one in a file."""
    travel = np.arange(16.0).reshape(4, 4)
    instance = Instance(
        budget=99,
        travel=travel,
        places=["", "place 1"],
        reward=[0, 1],
        fleet=[Vehicle(start=2)],
        alternative_place=[0, 3],
    )
    decost.write(instance, tmp_path / "a.json")
    back = decost.read(tmp_path / "a.json")
    assert back.places == ("place 2", "place 1")
    assert back == instance.replace(places=back.places)


def test_places_that_cannot_be_named(tmp_path: Path) -> None:
    """With a matrix, a stop behind a place of the same name cannot be a start, and is named."""
    instance = Instance(
        budget=99, travel=np.ones((3, 3)), places=["mill"], ids=["mill"], fleet=[Vehicle(start=1)]
    )
    with pytest.raises(FormatError) as caught:
        decost.write(instance, tmp_path / "a.json")
    message = "vehicles[0].start: place 1 of the matrix has no id of its own"
    assert str(caught.value) == f"{tmp_path / 'a.json'}: {message}"
    assert list(tmp_path.iterdir()) == []
