"""Tests of instances made of records: what is inherited, where things are, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from decost import Alternative, Instance, InstanceError, Place, Stop, Vehicle

INF = float("inf")


def guides(**changes: Any) -> Instance:
    """Two guides in a town: the example of the file format."""
    given: dict[str, Any] = {
        "name": "two guides",
        "unit": "minutes",
        "speed": "4.5 km/h",
        "begin": "09:00",
        "budget": "17:30",
        "depot": Place(lat=46.0725, lon=11.1194),
        "places": [
            Place("hotel sole", lat=46.05, lon=11.13),
            Place("north branch", lat=46.09, lon=11.12),
        ],
        "vehicles": [
            Vehicle("red"),
            Vehicle(
                "blue",
                start="hotel sole",
                end=Place(lat=46.07, lon=11.12),
                begin="10:00",
                speed="15 km/h",
            ),
        ],
        "stops": [
            Stop(
                "museum",
                lat=46.063,
                lon=11.114,
                min_stay=30,
                profit=[[2.0, 60], [0.5, 60]],
                required=True,
                alternatives=[
                    Alternative(open="09:00", leave_by="12:00"),
                    Alternative(open="14:00", leave_by="18:00", vehicles=["blue"]),
                ],
            ),
            Stop(
                "lunch",
                min_stay=30,
                reward=20,
                required=True,
                alternatives=[
                    Alternative(place="north branch", open="12:00", close="13:30"),
                    Alternative(lat=46.066, lon=11.121, open="12:00", close="14:00"),
                ],
            ),
            Stop(
                "tower",
                lat=46.068,
                lon=11.121,
                open="09:00",
                close="17:00",
                reward=30,
                min_stay=10,
            ),
        ],
    }
    return Instance.build(**(given | changes))


def flat(*stops: Stop, **changes: Any) -> Instance:
    """Put stops in a plane, with a budget of 100."""
    given: dict[str, Any] = {"depot": Place(x=0, y=0), "budget": 100}
    return Instance.build(stops=stops, **(given | changes))


def test_the_example_of_the_format() -> None:
    """Numbers of places and alternatives, times in minutes, what is inherited: all by hand."""
    one = guides()
    assert (one.stops, one.vehicles, one.alternative_count) == (3, 2, 5)
    assert (one.begin, one.budget, one.unit, one.detour) == (540, 1050, "minutes", 1.3)
    assert one.geographic
    assert one.places == ("hotel sole", "north branch", "", "")
    assert one.xy is not None
    assert one.xy.tolist() == [
        [11.1194, 46.0725],
        [11.114, 46.063],
        [11.12, 46.09],  # lunch has no place of its own: that of its first alternative
        [11.121, 46.068],
        [11.13, 46.05],
        [11.12, 46.09],
        [11.12, 46.07],  # where blue ends
        [11.121, 46.066],
    ]
    assert one.alternative_first.tolist() == [0, 1, 3, 5, 6]
    assert one.alternative_stop.tolist() == [0, 1, 1, 2, 2, 3]
    assert one.alternative_place.tolist() == [0, 1, 1, 5, 7, 3]
    assert one.alternative_open[1:].tolist() == [540, 840, 720, 720, 540]
    assert one.alternative_close[1:].tolist() == [INF, INF, 810, 840, 1020]
    assert one.alternative_leave_by[1:].tolist() == [720, 1080, INF, INF, INF]
    assert one.alternative_reward[1:].tolist() == [0, 0, 20, 20, 30]
    assert one.alternative_min_stay[1:].tolist() == [30, 30, 30, 30, 10]
    assert [table.tolist() for table in one.pieces] == [[], *[[[2, 60], [0.5, 60]]] * 2, [], [], []]
    assert one.alternative_vehicles is not None
    assert one.alternative_vehicles[1:].T.tolist() == [[True, False, *[True] * 3], [True] * 5]
    assert one.required.tolist() == [False, True, True, False]
    assert one.full_profits.tolist() == [0, 150, 20, 30]
    red, blue = one.fleet
    assert (red.id, red.start, red.end, red.begin, red.due) == ("red", 0, 0, 540, 1050)
    assert (blue.id, blue.start, blue.end, blue.begin, blue.due) == ("blue", 4, 6, 600, 1050)
    assert (red.speed * 60, blue.speed * 60) == pytest.approx((4.5, 15))
    assert not one.simple
    assert one.problem == "TOPTWVP"
    name = "Instance('two guides', TOPTWVP, 3 stops, 5 alternatives, 2 required, budget 1050, "
    assert repr(one) == name + "2 vehicles)"


def test_great_circles() -> None:
    """Travel times by lat, lon: the spherical law of cosines, times the detour, by the speed."""
    one = guides(detour=1.5)
    assert one.xy is not None
    for i, j in ((0, 1), (1, 4), (3, 6)):
        (lon, lat), (other_lon, other_lat) = np.radians(one.xy[[i, j]])
        cosine = math.sin(lat) * math.sin(other_lat)
        cosine += math.cos(lat) * math.cos(other_lat) * math.cos(lon - other_lon)
        minutes = 6371.0088 * math.acos(cosine) * 1.5 / 4.5 * 60
        assert one.travel_of(0)[i, j] == pytest.approx(minutes, rel=1e-5)
        assert one.travel_of(1)[i, j] == pytest.approx(minutes * 4.5 / 15, rel=1e-5)
    poles = Instance.build(
        depot=Place(lat=90, lon=0),
        stops=[Stop(lat=-90, lon=77), Stop(lat=0, lon=180), Stop(lat=0, lon=-180)],
        unit="minutes",
        speed="60 km/h",
        detour=1,
        budget=1e6,
    )
    around = math.pi * 6371.0088
    assert poles.travel[0, 1:].tolist() == pytest.approx([around, around / 2, around / 2])
    assert poles.travel[2, 3] == pytest.approx(0, abs=1e-9)


def test_miles() -> None:
    """A mile an hour is 1.609344 km/h."""
    fast = guides(speed="10 mph", vehicles=1, stops=guides_without_ids())
    slow = guides(speed="16.09344 km/h", vehicles=1, stops=guides_without_ids())
    assert fast.travel == pytest.approx(slow.travel)


def guides_without_ids() -> list[Stop]:
    """One stop of the town."""
    return [Stop(lat=46.068, lon=11.121, reward=30)]


def test_version_1_by_records() -> None:
    """Simple records give what arrays gave before."""
    stops = [
        Stop("a", 3, 4, rate=2, max_stay=6, min_stay=1),
        Stop("b", 6, 8, open=3, close=9, leave_by=11, reward=5, profit=[[2, 3], [1, 1]]),
    ]
    mine = flat(*stops, vehicles=3, speed=2, end=Place(x=1, y=1), name="x")
    theirs = Instance(
        budget=100,
        xy=[[0, 0], [3, 4], [6, 8], [1, 1]],
        separate_end=True,
        open=[0, 0, 3],
        close=[0, INF, 9],
        leave_by=[0, INF, 11],
        reward=[0, 0, 5],
        min_stay=[0, 1, 0],
        pieces=[[], [[2, 5]], [[2, 3], [1, 1]]],
        ids=["a", "b"],
        vehicles=3,
        speed=2,
        name="x",
    )
    assert mine == theirs
    assert mine.simple
    assert [one.id for one in mine.fleet] == ["1", "2", "3"]
    assert mine.fleet[2].end == mine.end == 3


def test_vehicles_that_are_as_the_instance_says() -> None:
    """Records that say nothing of their own are a number of vehicles."""
    stop = Stop(x=1, y=1)
    same = [Vehicle(), Vehicle("2", begin=5, due=100, speed=2)]
    assert flat(stop, vehicles=same, begin=5, speed=2) == flat(stop, vehicles=2, begin=5, speed=2)
    assert flat(stop, vehicles=same, begin=4, speed=2) != flat(stop, vehicles=2, begin=4, speed=2)


def test_alternatives_inherit_one_by_one() -> None:
    """What an alternative does not say, its stop says."""
    stop = Stop(
        "a",
        x=1,
        y=1,
        open=10,
        close=40,
        leave_by=50,
        vehicles=["2"],
        min_stay=4,
        reward=7,
        rate=2,
        max_stay=10,
        alternatives=[
            Alternative(),
            Alternative(open=20),
            Alternative(close=30, leave_by=35, vehicles=["1", "2"]),
            Alternative(min_stay=5),  # keeps the pieces, so that the longest stay moves
            Alternative(min_stay=5, rate=3, max_stay=6),
            Alternative(profit=[[9, 1]], reward=0),
            Alternative(x=3, y=4),
            Alternative(place="far", vehicles=[]),
            Alternative(place="a"),
            Alternative(place="depot"),
            Alternative(x=3, y=4),
        ],
    )
    one = flat(stop, vehicles=2, places=[Place("far", 9, 9)])
    assert one.alternative_open[1:].tolist() == [10, 20, *[10] * 9]
    assert one.alternative_close[1:].tolist() == [40, 40, 30, *[40] * 8]
    assert one.alternative_leave_by[1:].tolist() == [50, 50, 35, *[50] * 8]
    assert one.alternative_min_stay[1:].tolist() == [4, 4, 4, 5, 5, *[4] * 6]
    assert one.alternative_max_stay[1:].tolist() == [10, 10, 10, 11, 6, 5, *[10] * 5]
    assert one.alternative_reward[1:].tolist() == [*[7] * 5, 0, *[7] * 5]
    assert one.alternative_full_profit[1:].tolist() == [19, 19, 19, 19, 10, 9, *[19] * 5]
    assert one.alternative_place[1:].tolist() == [1, 1, 1, 1, 1, 1, 3, 2, 1, 0, 3]
    assert one.places == ("far", "")
    assert one.alternative_vehicles is not None
    admits = one.alternative_vehicles[1:].tolist()
    assert admits[0] == admits[1] == admits[10] == [False, True]
    assert admits[2] == [True, True]
    assert admits[7] == [False, False]


def test_places_by_id() -> None:
    """An id means a place first, then a stop, then the depot; stops without one have a number."""
    stops = [Stop("home", 1, 1), Stop("work", 2, 2), Stop(x=3, y=3)]
    ends = [Vehicle(end=name) for name in ("home", "work", "3", "depot")]
    one = flat(*stops, vehicles=ends, places=[Place("home", 5, 5)], end="work")
    assert [vehicle.end for vehicle in one.fleet] == [4, 2, 3, 0]
    assert (one.end, one.separate_end) == (2, False)
    assert flat(*stops, end="work").fleet[0].end == 2
    other = flat(Stop("depot", 1, 1), vehicles=[Vehicle(start="depot")])
    assert other.fleet[0].start == 1


def test_stops_that_are_elsewhere() -> None:
    """A stop at a named place has a row all the same; one that nobody can use as well."""
    places = [Place("mill", 5, 5)]
    one = flat(Stop(place="mill", reward=1), Stop(alternatives=[]), places=places)
    assert one.alternative_first.tolist() == [0, 1, 2, 2]
    assert one.alternative_place.tolist() == [0, 3]
    assert one.xy is not None
    assert one.xy.tolist() == [[0, 0], [5, 5], [0, 0], [5, 5]]
    assert one.full_profits.tolist() == [0, 1, 0]


def test_matrix() -> None:
    """Rows are the depot, the stops, then the places; coordinates are for pictures only."""
    travel = np.arange(16.0).reshape(4, 4)
    stops = [Stop("a", reward=1), Stop("b", alternatives=[Alternative(place="far", reward=2)])]
    given = {"places": [Place("far")], "vehicles": [Vehicle(start="far", end="b")], "budget": 9}
    one = Instance.build(stops=stops, travel=travel, **given)
    assert one.xy is None
    assert one.travel.tolist() == travel.tolist()  # the diagonal is used as written
    assert one.alternative_place.tolist() == [0, 1, 3]
    assert (one.fleet[0].start, one.fleet[0].end) == (3, 2)
    assert not one.arrays.triangle
    ended = Instance.build(stops=[Stop()] * 2, travel=travel, end=Place(), budget=9)
    assert (ended.separate_end, ended.end) == (True, 3)


def test_matrices_by_name() -> None:
    """Each vehicle has the travel times of its profile."""
    foot, bike = np.full((2, 2), 8.0), np.full((2, 2), 3.0)
    vehicles = [Vehicle(profile="bike"), Vehicle(profile="foot"), Vehicle(profile="bike")]
    given: dict[str, Any] = {"stops": [Stop()], "budget": 9}
    one = Instance.build(travel={"foot": foot, "bike": bike}, vehicles=vehicles, **given)
    assert one.profiles == ("foot", "bike")
    assert [one.travel_of(k)[0, 1] for k in range(3)] == [3, 8, 3]
    assert one.arrays.type_plane.tolist() == [1, 0]
    assert one.arrays.vehicle_type.tolist() == [0, 1, 0]
    assert one.matrix is None
    with pytest.raises(InstanceError, match="travel_of"):
        _ = one.travel
    alone = Instance.build(travel={"foot": foot}, vehicles=2, **given)
    assert alone.travel[0, 1] == 8
    assert alone.fleet[1].profile == "foot"
    named = [Vehicle(profile="foot")] * 2
    assert Instance.build(travel={"foot": foot}, vehicles=named, **given) == alone


def test_budget_of_the_vehicles() -> None:
    """Without a budget the latest due is it; a begin may be negative."""
    stop = Stop(x=1, y=1)
    one = flat(stop, budget=None, vehicles=[Vehicle(due=7), Vehicle(due=9, begin=-5)])
    assert (one.budget, one.horizon) == (9, 14)
    assert one.tolerance == pytest.approx(14e-6)
    early = flat(stop, begin=-20, budget=-10)
    assert (early.begin, early.budget, early.horizon) == (-20, -10, 10)
    assert flat(stop, begin=40).horizon == 60


def test_begin_with_clock_times() -> None:
    """Nobody leaves at midnight by default, but one may in numbers."""
    stops = [Stop(x=1, y=1, open="10:00")]
    with pytest.raises(InstanceError, match="begin = None: needed with clock times"):
        flat(*stops, unit="minutes", budget=1000)
    with pytest.raises(InstanceError, match=r"begin = None.*vehicle 'b' has none"):
        flat(*stops, unit="minutes", vehicles=[Vehicle(begin=1), Vehicle("b")])
    assert flat(*stops, unit="minutes", vehicles=[Vehicle(begin="00:00")]).begin == 0
    assert flat(Stop(x=1, y=1, open=600), unit="minutes").begin == 0
    night = flat(Stop(x=1, y=1, leave_by="24:00"), unit="minutes", begin="22:00", budget="06:00+1")
    assert (night.begin, night.budget, night.leave_by[1]) == (1320, 1800, 1440)


def test_what_is_legal() -> None:
    """Overlapping windows, a vehicle that nobody admits, a required stop that nobody reaches."""
    both = [Alternative(open=1, close=9), Alternative(open=5, close=20, vehicles=["1"])]
    one = flat(
        Stop(x=1, y=1, required=True, vehicles=["1"], alternatives=both),
        Stop(x=1e6, y=0, required=True, vehicles=[]),
        vehicles=[Vehicle(), Vehicle("Monday")],
    )
    assert one.required.sum() == 2
    assert one.arrays.admits[:, 1:].tolist() == [[True, True, False], [False] * 3]


LAT = {"depot": Place(lat=1, lon=1), "unit": "minutes", "speed": "4 km/h"}
HERE = Stop("a", x=1, y=1)


@pytest.mark.parametrize(
    ("stops", "changes", "message"),
    [
        # vehicles
        ([HERE], {"vehicles": []}, "vehicles: there are 0, must be from 1 to 1000"),
        ([HERE], {"vehicles": 0}, "vehicles = 0: must be from 1 to 1000"),
        ([HERE], {"vehicles": [Vehicle()] * 1001}, "vehicles: there are 1001, must be from 1"),
        ([HERE], {"vehicles": [Vehicle("2"), Vehicle()]}, "id = '2': two vehicles have it"),
        ([HERE], {"vehicles": [Vehicle("")]}, "id = '': must be a string that is not empty"),
        ([HERE], {"vehicles": [Vehicle(start="x")]}, "vehicle '1': start = 'x': there is no such"),
        ([HERE], {"vehicles": [Vehicle(end="x")]}, "vehicle '1': end = 'x': there is no such pl"),
        ([HERE], {"vehicles": [Vehicle(end=1)]}, "vehicle '1': end = 1: must be the id of a place"),
        ([HERE], {"vehicles": [Vehicle(end=Place())]}, "vehicle '1': end: has no coordinates"),
        ([HERE], {"vehicles": [Vehicle(end=Place(x=1))]}, "vehicle '1': end: y: missing"),
        (
            [HERE],
            {"vehicles": [Vehicle(end=Place("a", 1, 1))]},
            "vehicle '1': end.id = 'a': give the id alone, or coordinates",
        ),
        (
            [HERE],
            {"vehicles": [Vehicle("v", begin=9, due=8)]},
            "vehicle 'v': due = 8.0: is before begin = 9.0",
        ),
        ([HERE], {"vehicles": [Vehicle(begin=101)]}, "vehicle '1': due = 100.0: is before begin"),
        ([HERE], {"vehicles": [Vehicle(due=INF)]}, "vehicle '1': due = inf: must be finite"),
        ([HERE], {"vehicles": [Vehicle(begin="x")]}, "vehicle '1': begin = 'x': clock times need"),
        ([HERE], {"vehicles": [Vehicle(speed=0)]}, "vehicle '1': speed = 0.0: must be positive"),
        (
            [HERE],
            {"vehicles": [Vehicle(speed="4 km/h")]},
            "vehicle '1': speed = '4 km/h': speeds with a unit need lat, lon",
        ),
        (
            [HERE],
            {"vehicles": [Vehicle(profile="foot")]},
            "vehicle '1': profile = 'foot': travel has no profiles",
        ),
        (
            [HERE],
            {"vehicles": [Vehicle(underway=1)]},  # type: ignore[arg-type]
            "vehicle '1': underway = 1: must be true or false",
        ),
        ([HERE], {"budget": None}, "budget = None: must be a number"),
        (
            [HERE],
            {"budget": None, "vehicles": [Vehicle(due=1), Vehicle()]},
            "budget = None: needed, since vehicle 2 has no due",
        ),
        ([HERE], {"begin": 101}, "budget = 100.0: is before begin = 101.0"),
        ([HERE], {"begin": INF}, "begin = inf: must be finite"),
        ([HERE], {"budget": -1}, "budget = -1.0: must be finite, not negative"),
        # places
        ([HERE], {"places": [Place(x=1, y=1)]}, "places[0].id: missing"),
        ([HERE], {"places": [Place("p", 1, 1)] * 2}, "id = 'p': two places have it"),
        ([HERE], {"places": [Place("p")]}, "place 'p': x: missing"),
        ([HERE], {"places": [Place("p", y=1)]}, "place 'p': x: missing"),
        ([HERE], {"places": [Place("p", INF, 1)]}, "place 'p': x = inf: must be finite"),
        ([HERE], {"places": [Place("p", lat=1, lon=1)]}, "place 'p': lon = 1: depot has x, y"),
        ([HERE], {"depot": None}, "depot: x: missing"),
        ([HERE], {"depot": Place(x=1, lat=2)}, "depot: x = 1: cannot be combined with lat, lon"),
        ([HERE], {"end": "x"}, "end = 'x': there is no such place"),
        ([HERE], {"end": Place()}, "end: x: missing"),
        ([Stop("a")], {}, "stop 'a': x: missing"),
        ([Stop()], {}, "stop 1: x: missing"),
        ([HERE] * 2, {}, "id = 'a': two stops have it"),
        ([HERE] * 5001, {}, "stops: there are 5001, at most 5000 are allowed"),
        ([Stop("a", x=1, y=1, place="a")], {}, "stop 'a': place = 'a': cannot be combined with"),
        ([Stop("a", place="b")], {}, "stop 'a': place = 'b': there is no such place"),
        ([Stop("a", place="a")], {}, "stop 'a': place = 'a': it has no coordinates of its own"),
        # alternatives
        (
            [Stop("a", 1, 1, alternatives=[Alternative()] * 51)],
            {},
            "stop 'a': alternatives: there are 51, at most 50 are allowed",
        ),
        (
            [Stop(x=1, y=1, alternatives=[Alternative()] * 50)] * 401,
            {},
            "alternatives: there are 20050, at most 20000 are allowed",
        ),
        (
            [Stop("a", 1, 1, required=True, alternatives=[])],
            {},
            "stop 'a': required = True: has no alternatives",
        ),
        (
            [Stop("a", 1, 1, required="yes")],  # type: ignore[arg-type]
            {},
            "stop 'a': required = 'yes': must be true or false",
        ),
        (
            [Stop("a", 1, 1, vehicles=["red"])],
            {},
            "stop 'a': vehicles = 'red': there is no such vehicle",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(), Alternative(vehicles=["red"])])],
            {},
            "stop 'a': alternatives[1]: vehicles = 'red': there is no such vehicle",
        ),
        (
            [Stop("a", 1, 1, vehicles="1")],
            {},
            "stop 'a': vehicles = '1': must be a list of ids",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(place="x")])],
            {},
            "stop 'a': alternatives[0]: place = 'x': there is no such place",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(place="a", x=1, y=1)])],
            {},
            "stop 'a': alternatives[0]: place = 'a': cannot be combined with coordinates",
        ),
        (
            [Stop("a", alternatives=[Alternative(x=1, y=1), Alternative()])],
            {},
            "stop 'a': x: missing",
        ),
        (
            [Stop("a", 1, 1, open=5, alternatives=[Alternative(), Alternative(close=4)])],
            {},
            "stop 'a': alternatives[1]: close = 4.0: is less than open = 5.0",
        ),
        ([Stop("a", 1, 1, open=5, close=4)], {}, "stop 'a': close = 4.0: is less than open = 5.0"),
        ([Stop("a", 1, 1, open=INF)], {}, "stop 'a': open = inf: must be finite"),
        (
            [Stop("a", 1, 1, rate=1, max_stay=9, alternatives=[Alternative(rate=2)])],
            {},
            "stop 'a': alternatives[0]: max_stay: missing",
        ),
        (
            [Stop("a", 1, 1, rate=1, max_stay=9, alternatives=[Alternative(max_stay=2)])],
            {},
            "stop 'a': alternatives[0]: rate: missing",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(min_stay=4, rate=1, max_stay=3)])],
            {},
            "stop 'a': alternatives[0]: max_stay = 3.0: is less than min_stay = 4.0",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(), Alternative(profit=[[1, 1], [2, 1]])])],
            {},
            "stop 'a': alternatives[1]: profit[1] = [2.0, 1.0]: rates must not rise",
        ),
        ([Stop("a", 1, 1, rate=1)], {}, "stop 'a': max_stay: missing, but rate = 1.0"),
        ([Stop("a", 1, 1, rate=-1, max_stay=1)], {}, "stop 'a': rate = -1.0: must be finite, not"),
        (
            [Stop("a", 1, 1, rate=1, profit=[[1, 1]])],
            {},
            "stop 'a': rate = 1: cannot be combined with profit",
        ),
        ([Stop("a", 1, 1, min_stay=3, max_stay=2)], {}, "stop 'a': max_stay = 2.0: is less than"),
        # units
        ([HERE], {"unit": "hours"}, "unit = 'hours': must be 'minutes', or not given"),
        ([HERE], {"detour": 1.2}, "detour = 1.2: goes with lat, lon only"),
        ([HERE], {"speed": "4 km/h"}, "speed = '4 km/h': speeds with a unit need lat, lon"),
        ([HERE], {"budget": "17:00"}, "budget = '17:00': clock times need unit = 'minutes'"),
        (
            [Stop("a", 1, 1, open="26:00")],
            {"unit": "minutes"},
            "stop 'a': open = '26:00': must be a number or a clock time",
        ),
        (
            [Stop("a", 1, 1, min_stay="00:30", rate=1, max_stay=50)],  # type: ignore[arg-type]
            {"unit": "minutes"},
            "stop 'a': min_stay = '00:30': must be a number",
        ),
        (
            [Stop("a", 1, 1, max_stay="00:30")],  # type: ignore[arg-type]
            {"unit": "minutes"},
            "stop 'a': max_stay = '00:30': must be a number",
        ),
        ([], LAT | {"unit": None}, "unit = None: must be 'minutes' with lat, lon"),
        ([], LAT | {"speed": None}, "speed = None: needed with lat, lon, such as '4.5 km/h'"),
        ([], LAT | {"speed": 4}, "speed = 4: must have a unit, such as '4.5 km/h'"),
        ([], LAT | {"speed": "4 m/s"}, "speed = '4 m/s': must have a unit"),
        ([], LAT | {"speed": "0 km/h"}, "speed = '0 km/h': must be positive"),
        ([], LAT | {"vehicles": [Vehicle(speed=3)]}, "vehicle '1': speed = 3: must have a unit"),
        ([], LAT | {"detour": 0}, "detour = 0.0: must be positive"),
        ([], LAT | {"depot": Place(lat=91, lon=0)}, "depot: lat = 91.0: must be from -90 to 90"),
        (
            [],
            LAT | {"depot": Place(lat=9, lon=181)},
            "depot: lon = 181.0: must be from -180 to 180",
        ),
        ([], LAT | {"depot": Place(lat=9)}, "depot: lon: missing"),
        ([HERE], LAT, "stop 'a': x = 1: depot has lat, lon"),
        # matrices
        ([HERE], {"travel": np.ones((3, 3))}, "travel: has shape (3, 3), must be (2, 2)"),
        ([HERE], {"travel": {}}, "travel: has no matrix"),
        ([HERE], {"travel": {"a": [[0]]}}, "travel['a']: has shape (1, 1), must be (2, 2)"),
        (
            [HERE],
            {"travel": {"a": [[0, 1], [-1, 0]]}},
            "travel['a'][1][0] = -1.0: must be finite, not negative",
        ),
        (
            [HERE],
            {"travel": {"a": np.ones((2, 2)), "b": np.ones((2, 2))}},
            "vehicle '1': profile = None: must be one of a, b",
        ),
        (
            [HERE],
            {
                "travel": {"a": np.ones((2, 2)), "b": np.ones((2, 2))},
                "vehicles": [Vehicle(profile="a"), Vehicle(profile="c")],
            },
            "vehicle '2': profile = 'c': must be one of a, b",
        ),
        (
            [HERE],
            {"travel": np.ones((2, 2)), "vehicles": [Vehicle(speed=2)]},
            "vehicle '1': speed = 2: cannot be combined with travel",
        ),
        (
            [HERE],
            {"travel": np.ones((2, 2)), "vehicles": [Vehicle(start=Place(x=1, y=2))]},
            "vehicle '1': start = (1.0, 2.0): coordinates cannot be combined with travel",
        ),
        (
            [Stop("a", 1, 1, alternatives=[Alternative(x=1, y=2)])],
            {"travel": np.ones((2, 2))},
            "stop 'a': alternatives[0] = (1.0, 2.0): coordinates cannot be combined with travel",
        ),
        ([Stop("a")], {"travel": np.ones((2, 2))}, "stop 'a': x: missing"),
    ],
)
def test_what_is_refused(stops: list[Stop], changes: dict[str, Any], message: str) -> None:
    """One line that names the field and the value."""
    with pytest.raises(InstanceError) as caught:
        flat(*stops, **changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_vehicle_has_a_speed() -> None:
    """Then the instance needs none, also with lat, lon."""
    one = flat(**(LAT | {"speed": None, "vehicles": [Vehicle(speed="6 km/h")]}))
    assert one.fleet[0].speed == 0.1
