"""Tests of instances with alternatives and vehicles of their own, given by arrays."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

from decost import Alternative, Instance, InstanceError, Place, Stop, Vehicle, generate
from decost.files.sets import digest_of
from decost.method.options import Options

INF = float("inf")

# Stop 1 in the morning or in the afternoon, or in the afternoon at another place; stop 2 as it is;
# stop 3 never. The first vehicle starts where stop 2 is, the second is slow and has no afternoon.
GENERAL: dict[str, Any] = {
    "budget": 20,
    "begin": 1,
    "xy": [[0, 0], [3, 4], [6, 8], [9, 9], [0, 4], [0, 5]],
    "places": ["mill", ""],
    "ids": ["a", "b", "c"],
    "alternative_first": [0, 1, 4, 5, 5],
    "alternative_place": [0, 1, 1, 5, 2],
    "alternative_vehicles": [[True] * 2, [True, True], [True, False], [True, False], [True, True]],
    "open": [0, 2, 9, 9, 0],
    "leave_by": [0, 8, 15, 15, INF],
    "reward": [0, 1, 2, 3, 4],
    "pieces": [[], [[2, 1]], [[2, 1]], [[3, 100], [1, 1]], []],
    "required": [False, False, True, False],
    "fleet": [Vehicle("x", start=2, due=15), Vehicle("y", begin=4, speed=0.5, end=4)],
}


def general(**changes: Any) -> Instance:
    """Give the instance above, changed."""
    return Instance(**(GENERAL | changes))


def test_readable_names() -> None:
    """Everything that there is to know, worked out by hand."""
    one = general()
    assert (one.stops, one.nodes, one.vehicles, one.alternative_count) == (3, 4, 2, 4)
    assert one.alternative_stop.tolist() == [0, 1, 1, 1, 2]
    assert one.alternative_max_stay.tolist() == [0, 1, 1, 101, 0]
    assert one.alternative_full_profit.tolist() == [0, 3, 4, 304, 4]
    assert one.full_profits.tolist() == [0, 304, 4, 0]
    assert one.alternative_close[1:].tolist() == [INF] * 4
    assert (one.horizon, one.tolerance) == (19, pytest.approx(19e-6))  # from 1 to 20
    x, y = one.fleet
    assert (x.start, x.end, x.begin, x.due, x.speed) == (2, 0, 1, 15, 1)
    assert (y.start, y.end, y.begin, y.due, y.speed) == (0, 4, 4, 20, 0.5)
    assert (x.profile, x.underway) == (None, False)
    assert one.travel_of(0)[0, 1] == 5
    assert one.travel_of(1)[0, 1] == 10
    assert not one.simple
    assert not one.alike
    assert one.problem == "TOPTWVP"


def test_kernels_see_alternatives_and_types() -> None:
    """What the kernels take, worked out by hand."""
    arrays = general().arrays
    assert arrays.planes.shape == (2, 6, 6)
    assert arrays.planes[:, 0, 1].tolist() == [5, 10]
    assert arrays.stop.tolist() == [0, 1, 1, 1, 2]
    assert arrays.place.tolist() == [0, 1, 1, 5, 2]
    assert arrays.first.tolist() == [0, 1, 4, 5, 5]
    assert arrays.open[1:].tolist() == [2, 9, 9, 0]
    assert arrays.leave_by[1:].tolist() == [8, 15, 15, INF]
    assert arrays.piece_start.tolist() == [0, 0, 1, 2, 4, 4]
    assert arrays.piece_length.tolist() == [1, 1, 19, 1]
    assert arrays.required.tolist() == [False, False, True, False]
    assert arrays.admits[:, 1:].tolist() == [[True] * 4, [True, False, False, True]]
    assert arrays.type_start.tolist() == [2, 0]
    assert arrays.type_end.tolist() == [0, 4]
    assert arrays.type_begin.tolist() == [1, 4]
    assert arrays.type_due.tolist() == [15, 20]
    assert arrays.type_plane.tolist() == [0, 1]
    assert arrays.vehicle_type.tolist() == [0, 1]
    assert arrays.bonus == 128  # above 3 + 3 * 19 + 1 + 4 = 65, a power of two
    assert arrays.triangle
    assert (arrays.horizon, arrays.slack) == (19, pytest.approx(19e-9))


@pytest.mark.parametrize(
    ("reward", "bonus"), [(0, 1), (0.3, 0.5), (1, 2), (3, 4), (4, 8), (1e6, 2**20)]
)
def test_bonus(reward: float, bonus: float) -> None:
    """A power of two above all that can be earned; nothing without required stops."""
    given: dict[str, Any] = {"budget": 1, "xy": [[0, 0]] * 2, "reward": [0, reward]}
    assert Instance(**given, required=[False, True]).arrays.bonus == bonus
    assert Instance(**given).arrays.bonus == 0


def test_types_of_vehicles() -> None:
    """Equal in all but their names and in being underway, vehicles are of one type."""
    plain = Vehicle()
    fleet = [
        plain,
        Vehicle(start=1),
        Vehicle(end=1),
        Vehicle(begin=1),
        Vehicle(due=9),
        Vehicle(speed=2),
        Vehicle("z"),
        Vehicle(underway=True),
        Vehicle(start=1),
    ]
    given: dict[str, Any] = {"budget": 10, "xy": [[0, 0], [1, 1]]}
    arrays = Instance(**given, fleet=fleet).arrays
    assert arrays.vehicle_type.tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 1]
    assert arrays.type_plane.tolist() == [0, 0, 0, 0, 0, 1]
    limited = Instance(**given, vehicles=3, alternative_vehicles=[[True] * 3, [True, False, True]])
    assert limited.arrays.vehicle_type.tolist() == [0, 1, 0]
    assert limited.arrays.admits[:, 1].tolist() == [True, False]


def test_kernels_are_compiled_once() -> None:
    """Every array has the kind, order and protection that simple instances have."""

    def kinds(instance: Instance) -> list[Any]:
        return [
            (values.dtype, values.ndim, values.flags.c_contiguous, values.flags.writeable)
            if isinstance(values, np.ndarray)
            else type(values)
            for values in instance.arrays
        ]

    simple = Instance(budget=1, xy=[[0, 0]])
    profiles = Instance(
        budget=1,
        travel=np.ones((2, 3, 3)),
        profiles=["a", "b"],
        fleet=[Vehicle(profile="b"), Vehicle(profile="a")],
    )
    others = [general(), profiles, pickle.loads(pickle.dumps(general()))]
    others += generate("people", nodes=9, vehicles=4)
    others += [general().only([2, 1]), Instance(budget=1, travel=[[0.0]])]
    for other in others:
        assert kinds(other) == kinds(simple)


@pytest.mark.parametrize(
    "field",
    ["open", "close", "leave_by", "reward", "min_stay", "max_stay", "full_profit", "rate"],
)
def test_names_of_simple_instances(field: str) -> None:
    """Where a stop has several alternatives there is no such array, and the error says why."""
    with pytest.raises(InstanceError, match="alternatives"):
        getattr(general(), field)
    moved = Instance(budget=9, xy=np.zeros((3, 2)), places=["p"], alternative_place=[0, 2])
    assert not moved.simple
    assert len(getattr(moved, field)) == 2


def test_rates() -> None:
    """Rates by node, where no stop has more than one piece."""
    one = Instance(budget=9, xy=np.zeros((3, 2)), rate=[0, 2, 3], max_stay=[0, 4, 0])
    assert one.rate.tolist() == [0, 2, 0]
    with pytest.raises(InstanceError, match="pieces"):
        _ = Instance(budget=9, xy=np.zeros((2, 2)), pieces=[[], [[2, 1], [1, 1]]]).rate


CHANGES: list[dict[str, Any]] = [
    {"begin": 2},
    {"required": [False, True, False, False]},
    {"places": ["kiln", ""]},
    {"end": 4},
    {"unit": "minutes"},
    {"alternative_first": [0, 1, 3, 5, 5]},
    {"alternative_place": [0, 1, 1, 5, 5]},
    {"alternative_vehicles": None},
    {"leave_by": [0, 8, 15, 16, INF]},
    {"fleet": [Vehicle("x", start=2, due=15), Vehicle("z", begin=4, speed=0.5, end=4)]},
    {"fleet": [Vehicle("x", start=2, due=15, underway=True), GENERAL["fleet"][1]]},
    {"fleet": [Vehicle("x", start=2, due=15), Vehicle("y", begin=4, speed=0.5)]},
]


@pytest.mark.parametrize("changes", CHANGES)
def test_equality_and_digest(changes: dict[str, Any]) -> None:
    """Another value of any field is another instance, for `==` and for the digest of a set."""

    def digest(instance: Instance) -> str:
        return digest_of([instance], "exact", Options())

    assert general(**changes) == general(**changes)
    assert general(**changes) != general()
    assert digest(general(**changes)) == digest(general(**changes)) != digest(general())
    assert general().replace(**changes) == general(**changes)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), Instance.replace],
)
def test_copies(duplicate: Any) -> None:
    """Copies are equal, frozen, and without what can be made again."""
    for one in (general(), *generate("people", nodes=12, vehicles=3, count=3)):
        _ = one.arrays, one.fleet
        other = duplicate(one)
        assert other == one
        assert other.fleet == one.fleet
        assert "arrays" not in vars(duplicate(one))
        for mine, theirs in zip(one.arrays, other.arrays, strict=True):
            assert np.array_equal(mine, theirs)
        for name, values in vars(other).items():
            if isinstance(values, np.ndarray) and not name.startswith("_"):
                assert not values.flags.writeable


def test_one_form() -> None:
    """What says nothing new is as if it were not given."""
    plain = Instance(budget=9, xy=np.zeros((3, 2)))
    assert plain == Instance(
        budget=9,
        xy=np.zeros((3, 2)),
        fleet=[Vehicle("1", start=0, end=0, begin=0, due=9, speed=1)],
        required=[True, False, False],
        end=0,
        alternative_first=[0, 1, 2, 3],
        alternative_place=[7e9, 1, 2],
        alternative_vehicles=[[False], [True], [True]],
    )
    assert plain.simple
    assert plain.alike
    assert plain.replace(fleet=plain.fleet) == plain


def test_replacing_what_vehicles_inherit() -> None:
    """A vehicle without a begin, due, end or speed of its own takes the new one."""
    x, y = (
        general(fleet=[Vehicle(due=15), Vehicle(speed=3, begin=2)])
        .replace(budget=30, begin=5, speed=2, fleet=[Vehicle(due=15), Vehicle(speed=3, begin=2)])
        .fleet
    )
    assert (x.begin, x.due, x.speed) == (5, 15, 2)
    assert (y.begin, y.due, y.speed) == (2, 30, 3)
    x, y = general().replace(budget=30, begin=5, end=4).fleet
    assert (x.begin, x.due, x.end) == (5, 15, 4)
    assert (y.begin, y.due, y.end) == (4, 30, 4)


def test_replacing_vehicles() -> None:
    """By a number, which makes them equal, or one by one."""
    free = general(alternative_vehicles=None)
    assert free.replace(vehicles=3).alike
    assert free.replace(vehicles=3).vehicles == 3
    assert free.replace(fleet=None) == free.replace(vehicles=2)
    assert free.replace(fleet=[Vehicle(due=3)]).vehicles == 1
    assert free.replace(vehicles=2).replace(fleet=GENERAL["fleet"]) == free
    with pytest.raises(InstanceError, match="alternative_vehicles"):
        general().replace(vehicles=3)


def test_replacing_travel_times() -> None:
    """One matrix takes the place of several, and coordinates that of all."""
    several = general(
        travel=np.ones((2, 6, 6)),
        profiles=["a", "b"],
        fleet=[Vehicle(profile="a"), Vehicle(profile="b")],
    )
    assert several.replace() == several
    one = several.replace(travel=np.ones((6, 6)), vehicles=2)
    assert (one.profiles, one.matrices) == ((), None)
    assert several.replace(travel=None, vehicles=2).travel[0, 1] == 5
    round_ = general(unit="minutes", geographic=True, detour=2)
    assert round_.replace().detour == 2
    assert round_.replace(geographic=False).detour == 1


def situation(instance: Instance, stop: int) -> list[Any]:
    """Give all that matters for a stop, without any number of a place or an alternative."""
    result: list[Any] = [instance.label(stop), bool(instance.required[stop])]
    admits = instance.alternative_vehicles
    for k in range(*instance.alternative_first[stop : stop + 2]):
        place = instance.alternative_place[k]
        ways = [
            (
                float(instance.travel_of(v)[one.start, place]),
                float(instance.travel_of(v)[place, one.end]),
                float(instance.travel_of(v)[one.start, one.end]),
                admits is None or bool(admits[k, v]),
            )
            for v, one in enumerate(instance.fleet)
        ]
        fields = ("open", "close", "leave_by", "reward", "min_stay")
        values = [float(getattr(instance, f"alternative_{field}")[k]) for field in fields]
        result.append((ways, values, instance.pieces[k].tolist()))
    return result


def distances(instance: Instance, one: int, other: int) -> list[float]:
    """Give the travel times between the alternatives of two stops."""
    first, place = instance.alternative_first, instance.alternative_place
    pairs = itertools.product(range(*first[one : one + 2]), range(*first[other : other + 2]))
    return [float(instance.planes[-1, place[k], place[other]]) for k, other in pairs]


def variants() -> list[Instance]:
    """Give instances with places of all kinds, with coordinates and with matrices."""
    result = generate("people", nodes=9, vehicles=4, count=5, seed=2)
    result += [general(), general(end=3), general(end=2)]
    random = np.random.default_rng(1)
    for one in list(result):
        assert one.xy is not None
        size = len(one.xy)
        alike = [Vehicle(v.id, v.start, v.end, v.begin, v.due) for v in one.fleet]
        result.append(one.replace(travel=random.random((size, size)), fleet=alike))
        named = [
            Vehicle(v.id, v.start, v.end, v.begin, v.due, profile="ab"[k % 2])
            for k, v in enumerate(one.fleet)
        ]
        matrices = random.random((2, size, size))
        result.append(one.replace(travel=matrices, profiles=["a", "b"], fleet=named))
    ended = Instance.build(
        depot=Place(x=0, y=0),
        end=Place(x=5, y=5),
        places=[Place("p", 3, 3)],
        vehicles=[Vehicle(start="a"), Vehicle(end="depot"), Vehicle(end=Place(x=7, y=7))],
        stops=[
            Stop("a", 1, 2),
            Stop("b", 2, 1, alternatives=[Alternative(place="a"), Alternative(x=4, y=4)]),
            Stop("c", alternatives=[Alternative(x=6, y=6), Alternative(place="p")]),
        ],
        budget=90,
    )
    return [*result, ended]


@pytest.mark.parametrize("number", range(len(variants())))
@pytest.mark.parametrize("order", [[], [1], [2], [3, 1], [2, 3], [3, 2, 1]])
def test_only_some_stops(number: int, order: list[int]) -> None:
    """What is left is as it was: vehicles, places, alternatives, and ways between them."""
    whole = variants()[number].replace(ids=list("abcdefgh")[: variants()[number].stops])
    part = whole.only(order)
    assert part.stops == len(order)
    assert [situation(part, k) for k in range(1, part.nodes)] == [
        situation(whole, k) for k in order
    ]
    for (k, one), (j, other) in itertools.product(enumerate(order, 1), repeat=2):
        assert distances(part, k, j) == distances(whole, one, other)
    for mine, theirs in zip(part.fleet, whole.fleet, strict=True):
        assert (mine.id, mine.begin, mine.due, mine.speed) == (
            theirs.id,
            theirs.begin,
            theirs.due,
            theirs.speed,
        )
    assert {name for name in whole.places if name} <= set(part.places)
    assert part.only(range(1, part.nodes)) == part
    assert whole.only(range(1, whole.nodes)) == whole


def test_places_that_are_left() -> None:
    """Places without a name go with their last user; that of a stop in use stays, by its name."""
    one = general()
    assert one.only([1, 2]).places == ("mill", "")
    assert one.only([2]).places == ("mill",)
    alone = one.only([1])
    assert alone.places == ("mill", "", "b")
    assert alone.fleet[0].start == 4
    assert one.replace(ids=None).only([1]).places == ("mill", "", "2")
    assert one.replace(ids=["a", "mill", "c"]).only([1]).places == ("mill", "", "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alternative_first": [0, 1, 4, 5]}, "alternative_first: has shape (4,), must be (5,)"),
        ({"alternative_first": [0, 2, 4, 5, 5]}, "alternative_first[1] = 2: must be 1"),
        ({"alternative_first": [0, 1, 4, 3, 5]}, "alternative_first[3] = 3: is less than the one"),
        ({"alternative_first": [0, 1, 4.5, 5, 5]}, "alternative_first[2] = 4.5: must be a whole"),
        (
            {"alternative_first": [0, 1, 52, 52, 52]},
            "stop 'a': alternatives: there are 51, at most 50 are allowed",
        ),
        ({"alternative_first": [0, 1, 4, 5, 20002]}, "alternative_first[4] = 20002: must be a"),
        (
            {"alternative_place": [0, 1, 1, 6, 2]},
            "alternative_place[3] = 6: must be a whole number",
        ),
        ({"alternative_place": [0, 1, 1, -1, 2]}, "alternative_place[3] = -1: must be a whole"),
        ({"alternative_place": [0, 1]}, "alternative_place: has shape (2,), must be (5,)"),
        (
            {"alternative_vehicles": [[True]] * 5},
            "alternative_vehicles: has shape (5, 1), must be (5, 2)",
        ),
        (
            {"alternative_vehicles": np.ones((5, 2))},
            "alternative_vehicles: must hold true and false, not float64",
        ),
        ({"open": [0, 1, 2, 3]}, "open: has shape (4,), must be (5,)"),
        ({"pieces": [[]] * 4}, "pieces: there are 4 lists for 5 alternatives and the depot"),
        (
            {"close": [0, 9, 9, 8, 9]},
            "stop 'a': alternatives[2]: close = 8.0: is less than open = 9.0",
        ),
        ({"reward": [0, 1, 2, 3, -4]}, "stop 'b': reward = -4.0: must be finite, not negative"),
        ({"required": [False] * 5}, "required: has shape (5,), must be (4,)"),
        ({"required": [0, 1, 0, 0]}, "required: must hold true and false, not int64"),
        ({"required": [False, False, False, True]}, "stop 'c': required = True: has no alternat"),
        ({"places": ["mill", "mill"]}, "id = 'mill': two places have it"),
        ({"places": ["mill", 3]}, "id = 3: must be a string that is not empty"),
        ({"end": 6}, "end = 6: must be from 0 to 5"),
        ({"end": "b"}, "end = 'b': must be a whole number"),
        ({"vehicles": 3}, "vehicles = 3: there are 2 in the fleet"),
        ({"fleet": []}, "vehicles = 0: must be from 1 to 1000"),
        ({"fleet": [Vehicle(start=6), Vehicle()]}, "vehicle '1': start = 6: must be from 0 to 5"),
        ({"fleet": [Vehicle(end="b"), Vehicle()]}, "vehicle '1': end = 'b': must be a whole numb"),
        ({"fleet": [Vehicle(due=0), Vehicle()]}, "vehicle '1': due = 0.0: is before begin = 1.0"),
        ({"fleet": [Vehicle(), Vehicle(speed=-1)]}, "vehicle '2': speed = -1.0: must be finite, n"),
        ({"fleet": [Vehicle(), Vehicle(speed=5e-324)]}, "speed = 5e-324: travel times are not fi"),
        ({"profiles": ["a"]}, "profiles = ('a',): there is no travel"),
        ({"profiles": ["a", "a"]}, "id = 'a': two profiles have it"),
        (
            {"profiles": ["a"], "travel": np.ones((2, 6, 6)), "fleet": None, "vehicles": 2},
            "travel: has 2 matrices for 1 profiles",
        ),
        (
            {"profiles": ["a"], "travel": np.ones((6, 6))},
            "travel: has shape (6, 6), must be a square for each profile",
        ),
        ({"travel": np.ones((6, 6))}, "vehicle 'y': speed = 0.5: cannot be combined with travel"),
        ({"unit": "h"}, "unit = 'h': must be 'minutes', or not given"),
        ({"geographic": True}, "unit = None: must be 'minutes' with lat, lon"),
        ({"detour": 2}, "detour = 2: goes with lat, lon only"),
        ({"begin": 21}, "vehicle 'x': due = 15.0: is before begin = 21.0"),
        ({"xy": [*GENERAL["xy"][:5], [0, INF]]}, "place 5: y = inf: must be finite"),
        ({"xy": [*GENERAL["xy"][:4], [INF, 0], [0, 0]]}, "place 'mill': x = inf: must be finite"),
        ({"xy": [[0, 0]]}, "xy: has 1 places, the depots alone are more"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    """One line that names the field and the value."""
    with pytest.raises(InstanceError) as caught:
        general(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_travel_times() -> None:
    """As many speeds as vehicles would make as many matrices."""
    fleet = [Vehicle(speed=k + 1) for k in range(1000)]
    with pytest.raises(InstanceError, match="speed: 1000 different ones between 501 places"):
        Instance(budget=9, xy=np.zeros((501, 2)), fleet=fleet)
    assert len(Instance(budget=9, xy=np.zeros((11, 2)), fleet=fleet).planes) == 1000


def test_alternatives_at_the_limit() -> None:
    """As many as there may be: 50 of each of 400 stops."""
    first = np.concatenate(([0], 1 + 50 * np.arange(401)))
    one = Instance(budget=9, xy=np.zeros((401, 2)), alternative_first=first)
    assert one.alternative_count == 20_000
    assert one.arrays.stop[-1] == 400
