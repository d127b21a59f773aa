"""Tests of the instance: frozen, validated once, equal when the same."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from decost import Instance, InstanceError
from decost.problem.instance import MAX_STOPS, MAX_VEHICLES
from strategies import instances

TWO_STOPS: dict[str, Any] = {
    "budget": 10,
    "xy": [[0, 0], [3, 4], [6, 8]],
    "rate": [0, 2, 1],
    "max_stay": [0, 6, 3],
}


def two_stops(**changes: Any) -> Instance:
    """Two stops in a row, 5 and 10 away from the depot."""
    return Instance(**(TWO_STOPS | changes))


def test_defaults() -> None:
    """What is not given is no window, no reward, no minimum, and the distance as travel time."""
    instance = two_stops()
    assert (instance.nodes, instance.stops, instance.vehicles, instance.end) == (3, 2, 1, 0)
    assert instance.open.tolist() == [0, 0, 0]
    assert instance.close.tolist() == [10, np.inf, np.inf]
    assert instance.leave_by.tolist() == [np.inf] * 3
    assert instance.reward.tolist() == instance.min_stay.tolist() == [0, 0, 0]
    assert instance.travel.tolist() == [[0, 5, 10], [5, 0, 5], [10, 5, 0]]
    assert instance.max_stay.tolist() == [0, 6, 3]
    assert instance.full_profit.tolist() == [0, 12, 3]
    assert instance.ids is None
    assert [instance.label(stop) for stop in (1, 2)] == [1, 2]


def test_nothing_can_be_set() -> None:
    """An instance is frozen: no attribute can be set, added or deleted."""
    instance = two_stops()
    for field in ("budget", "xy", "travel", "problem", "new"):
        with pytest.raises(AttributeError, match="frozen"):
            setattr(instance, field, 1)
        with pytest.raises(AttributeError, match="frozen"):
            delattr(instance, field)
    assert instance == two_stops()


ARRAYS = ("xy", "matrix", "open", "close", "leave_by", "reward", "min_stay", "travel", "max_stay")
ARRAYS += ("full_profit", "piece_start", "piece_rate", "piece_length", "piece_offset")


@pytest.mark.parametrize("field", ARRAYS)
@pytest.mark.parametrize(
    "duplicate",
    [lambda one: one, copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
)
def test_arrays_are_read_only(field: str, duplicate: Any) -> None:
    """No array can be written to, in a copy and after a pickle neither."""
    original = two_stops(travel=[[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    assert np.shares_memory(original.arrays.planes, original.travel)
    instance = duplicate(original)
    assert instance == original
    with pytest.raises(ValueError, match="read-only"):
        getattr(instance, field)[0] = 7
    for name, array in vars(instance).items():
        if isinstance(array, np.ndarray) and not name.startswith("_"):
            assert not array.flags.writeable


def test_given_arrays_are_copied() -> None:
    """Who gives an array may go on using it."""
    given = {"xy": np.zeros((2, 2)), "open": np.zeros(2), "reward": np.ones(2)}
    table = np.array([[3.0, 4.0], [1.0, 2.0]])
    instance = Instance(budget=1, pieces=[[], table], **given)
    for array in (*given.values(), table):
        array += 1
    assert instance.xy is not None
    assert instance.xy.tolist() == [[0, 0], [0, 0]]
    assert (instance.open[1], instance.reward[1]) == (0, 1)
    assert instance.pieces[1].tolist() == [[3, 4], [1, 2]]
    assert given["xy"].flags.writeable


def test_replace() -> None:
    """A copy has what was changed, and all else as it was; the original stays."""
    instance = two_stops(name="a", ids=["x", "y"], open=[0, 1, 2], reward=[0, 5, 0], vehicles=2)
    other = instance.replace(budget=20, name="b")
    assert (other.budget, other.close[0], other.name) == (20, 20, "b")
    assert other != instance
    assert other.replace(budget=10, name="a") == instance
    assert instance.replace() == instance
    shorter = instance.replace(rate=[0, 1, 1], max_stay=[0, 1, 2])
    assert shorter.full_profit.tolist() == [0, 6, 2]
    assert instance.replace(pieces=[[], [[1, 1]], [[1, 2]]]) == shorter
    assert instance.replace(ids=None).label(1) == 1
    with pytest.raises(TypeError, match="stops"):
        instance.replace(stops=3)
    with pytest.raises(InstanceError, match="budget = -1"):
        instance.replace(budget=-1)


@given(instances())
def test_replacing_nothing_changes_nothing(instance: Instance) -> None:
    """Taken apart and put together again, an instance is the same."""
    assert instance.replace() == instance
    assert pickle.loads(pickle.dumps(instance)) == instance


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": 11},
        {"xy": [[0, 0], [3, 4], [6, 9]]},
        {"speed": 2},
        {"travel": np.ones((3, 3))},
        {"xy": None, "travel": np.ones((3, 3))},
        {"open": [0, 0, 1]},
        {"close": [0, 9, 9]},
        {"leave_by": [0, 9, 9]},
        {"reward": [0, 0, 1]},
        {"min_stay": [0, 0, 1]},
        {"rate": [0, 2, 2]},
        {"max_stay": [0, 6, 4]},
        {"vehicles": 2},
        {"ids": ["a", "b"]},
        {"name": "x"},
        {"xy": [[0, 0], [3, 4], [6, 8], [0, 0]], "separate_end": True},
    ],
)
def test_equality(changes: dict[str, Any]) -> None:
    """Equal means equal in every field, however each was given."""
    assert two_stops() == two_stops(xy=np.array(TWO_STOPS["xy"], dtype=np.float32))
    assert two_stops(**changes) == two_stops(**changes)
    assert two_stops(**changes) != two_stops()
    assert two_stops() != two_stops(**changes)


def test_equality_with_other_things() -> None:
    """An instance equals nothing but an instance, and has no hash."""
    assert two_stops() != 5
    assert two_stops() != TWO_STOPS
    with pytest.raises(TypeError, match="unhashable"):
        hash(two_stops())


def test_depot_columns_are_ignored() -> None:
    """What is given for the depot in a column makes no difference."""
    nonsense = two_stops(
        open=[np.nan, 0, 0],
        close=[-5, np.inf, np.inf],
        reward=[-1, 0, 0],
        rate=[-1, 2, 1],
        max_stay=[-9, 6, 3],
        min_stay=[np.inf, 0, 0],
    )
    assert nonsense == two_stops()


def test_repr() -> None:
    """A line that says what kind of problem it is, and how large."""
    assert repr(two_stops()) == "Instance(OPVP, 2 stops, budget 10)"
    one = Instance(budget=2.5, xy=[[0, 0], [1, 1]], reward=[0, 1], vehicles=3, name="tour")
    assert repr(one) == "Instance('tour', TOP, 1 stop, budget 2.5, 3 vehicles)"


@pytest.mark.parametrize("vehicles", [1, 2])
@pytest.mark.parametrize(
    "window", [{}, {"open": [0, 1, 0]}, {"close": [0, 9, 99]}, {"leave_by": [0, 9, 99]}]
)
@pytest.mark.parametrize("variable", [True, False])
def test_problem(vehicles: int, window: dict[str, Any], variable: bool) -> None:
    """All eight names, by number of vehicles, windows that bind, and rates that are not 0."""
    rate = [0, 2, 1] if variable else [0, 0, 0]
    expected = "T" * (vehicles > 1) + "OP" + "TW" * bool(window) + "VP" * variable
    assert two_stops(vehicles=vehicles, rate=rate, **window).problem == expected


def test_window_that_does_not_bind() -> None:
    """A window that opens before 0 and closes with the budget is none."""
    instance = two_stops(open=[0, -5, 0], close=[0, 10, 11], leave_by=[0, 10, 10])
    assert instance.problem == "OPVP"
    assert Instance(budget=1, xy=[[0, 0]]).problem == "OP"


def test_speed() -> None:
    """Twice the distance at twice the speed takes the same time."""
    fast = two_stops(xy=[[0, 0], [6, 8], [12, 16]], speed=2)
    assert fast.travel.tolist() == two_stops().travel.tolist()
    assert two_stops(speed=0.5).travel[0, 1] == 10


def test_matrix_wins_over_coordinates() -> None:
    """With both, coordinates are for pictures only, and the speed does not matter."""
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    instance = two_stops(travel=matrix, speed=7)
    assert instance.travel.tolist() == matrix
    assert instance.xy is not None


def test_tolerance_goes_with_the_budget() -> None:
    """Times in seconds and in hours are judged alike."""
    assert two_stops(budget=3600).tolerance == pytest.approx(3600 * two_stops(budget=1).tolerance)
    assert two_stops(budget=0).tolerance == 0


def test_separate_end() -> None:
    """The end depot is one more place, and no stop."""
    places = [[0, 0], [3, 4], [6, 8], [6, 0]]
    instance = two_stops(xy=places, separate_end=True)
    assert (instance.nodes, instance.stops, instance.end) == (3, 2, 3)
    assert instance.travel.shape == (4, 4)
    assert instance.travel[2, instance.end] == 8
    assert instance.arrays.type_end.tolist() == [3]
    assert len(instance.open) == 3


def test_pieces_have_one_form() -> None:
    """Pieces of no length are dropped, and one piece equals rate and max_stay."""
    long = two_stops(
        rate=None, max_stay=None, pieces=[[[9, 9]], [[5, 0], [2, 6], [1, 0]], [[1, 3]]]
    )
    assert long == two_stops()
    assert long.piece_start.tolist() == [0, 0, 1, 2]
    none = two_stops(rate=[0, 9, 1], max_stay=[0, 0, 3])
    assert none.pieces[1].tolist() == []
    assert none == two_stops(rate=None, max_stay=None, pieces=[[], [], [[1, 3]]])
    idle = two_stops(rate=[0, 0, 1])
    assert idle.pieces[1].tolist() == [[0, 6]]
    assert idle.max_stay[1] == 6


def test_stays_count_from_the_minimum() -> None:
    """A rate is for the stay beyond the minimum; the longest stay includes it."""
    instance = two_stops(min_stay=[0, 4, 0], reward=[0, 7, 0])
    assert instance.pieces[1].tolist() == [[2, 2]]
    assert instance.max_stay[1] == 6
    assert instance.full_profit[1] == 7 + 2 * 2
    fixed = Instance(budget=9, xy=np.zeros((2, 2)), min_stay=[0, 4], reward=[0, 7])
    assert (fixed.max_stay[1], fixed.full_profit[1]) == (4, 7)


def test_offsets_of_pieces() -> None:
    """How long the pieces before each are together, at the same stop; a long stay spoils none."""
    pieces = [[], [[9, 1e300]], [[3, 1], [2, 2], [1, 5]], [], [[5, 0.25], [4, 4]]]
    instance = Instance(budget=9, travel=np.zeros((5, 5)), pieces=pieces)
    assert instance.piece_offset.tolist() == [0, 0, 1, 3, 0, 0.25]
    assert two_stops(max_stay=[0, 0, 0]).piece_offset.tolist() == []


def test_kernels_never_see_a_piece_longer_than_the_budget() -> None:
    """Sums with a stay that is meant as endless would lose all digits of the others."""
    instance = two_stops(max_stay=[0, 1e300, 3])
    assert instance.arrays.piece_length.tolist() == [10, 3]
    assert instance.max_stay[1] == 1e300


KINDS = {"required": np.bool_, "admits": np.bool_} | dict.fromkeys(
    ("stop", "place", "first", "piece_start", "type_start", "type_end", "type_plane"), np.int64
)
KINDS["vehicle_type"] = np.int64


@given(instances())
def test_kernels_see_arrays_of_one_kind(instance: Instance) -> None:
    """Whatever was given, the arrays are contiguous and of one type: compiled once for all."""
    for field, values in zip(instance.arrays._fields, instance.arrays, strict=True):
        if isinstance(values, np.ndarray):
            assert values.flags.c_contiguous
            assert values.flags.writeable  # as those that kernels make themselves
            assert values.dtype == KINDS.get(field, np.float64)


def test_ids() -> None:
    """Names may be anything that can be written, and are kept as they are."""
    names = ["[bold]$x$\n", "\u2603 {0}"]
    instance = two_stops(ids=names)
    assert instance.ids == tuple(names)
    assert [instance.label(stop) for stop in (1, 2)] == names
    assert Instance(budget=1, xy=[[0, 0]], ids=[]) == Instance(budget=1, xy=[[0, 0]])


NAN = float("nan")
INF = float("inf")
BAD: list[tuple[dict[str, Any], str]] = [
    ({"budget": -1}, "budget = -1.0: must be finite, not negative"),
    ({"budget": NAN}, "budget = nan: must be finite"),
    ({"budget": INF}, "budget = inf: must be finite"),
    ({"budget": "much"}, "budget = 'much': must be a number"),
    ({"budget": None}, "budget = None: must be a number"),
    ({"budget": 10**400}, "0000: must be a number"),
    ({"speed": 0}, "speed = 0.0: must be positive"),
    ({"speed": -1}, "speed = -1.0: must be finite, not negative"),
    ({"speed": 5e-324}, "speed = 5e-324: travel times are not finite"),
    ({"vehicles": 0}, f"vehicles = 0: must be from 1 to {MAX_VEHICLES}"),
    ({"vehicles": MAX_VEHICLES + 1}, f"vehicles = {MAX_VEHICLES + 1}: must be from 1"),
    ({"vehicles": 1.5}, "vehicles = 1.5: must be a whole number"),
    ({"vehicles": True}, "vehicles = True: must be a whole number"),
    ({"xy": None}, "xy = None: give coordinates, or a travel matrix"),
    ({"xy": [[0, 0], [3, 4], [NAN, 8]]}, "stop 2: x = nan: must be finite"),
    ({"xy": [[0, INF], [3, 4], [6, 8]]}, "depot: y = inf: must be finite"),
    ({"xy": [[0, 0, 0]] * 3}, "xy: has shape (3, 3), must be (nodes, 2)"),
    ({"xy": [0, 1]}, "xy: has shape (2,), must be (nodes, 2)"),
    ({"xy": np.zeros((0, 2))}, "xy: has 0 places"),
    ({"xy": [[0, 0]], "separate_end": True}, "xy: has 1 places"),
    ({"xy": [[0, 0], [3], [6, 8]]}, "xy: must be a regular table of numbers"),
    ({"xy": [[0, 0], [3, 4], [6, 10**400]]}, "xy: must be a regular table of numbers"),
    ({"xy": [[-1e308, 0], [1e308, 4], [6, 8]]}, "travel times are not finite"),
    (
        {"xy": np.zeros((MAX_STOPS + 2, 2))},
        f"stops: there are {MAX_STOPS + 1}, at most {MAX_STOPS}",
    ),
    ({"travel": np.ones((3, 2))}, "travel: has shape (3, 2), must be square"),
    ({"travel": np.ones((4, 4))}, "travel: has shape (4, 4) for 3 places"),
    (
        {"travel": [[0, 1, 1], [1, 0, -2], [1, 1, 0]]},
        "travel[1][2] = -2.0: must be finite, not neg",
    ),
    ({"travel": [[0, 1, 1], [1, 0, 1], [NAN, 1, 0]]}, "travel[2][0] = nan: must be finite"),
    ({"travel": [[0, INF, 1], [1, 0, 1], [1, 1, 0]]}, "travel[0][1] = inf: must be finite"),
    ({"open": [0, 1]}, "open: has shape (2,), must be (3,)"),
    ({"open": 5}, "open: has shape (), must be (3,)"),
    ({"open": [0, 0, NAN]}, "open[2] = nan: not a number"),
    ({"open": [0, -INF, 0]}, "stop 1: open = -inf: must be finite"),
    ({"open": [0, "x", 0]}, "open: must be a regular table of numbers"),
    ({"open": [0, 3, 4], "close": [0, 5, 2]}, "stop 2: close = 2.0: is less than open = 4.0"),
    ({"close": [0, NAN, 0]}, "close[1] = nan"),
    ({"leave_by": [0, 0, NAN]}, "leave_by[2] = nan"),
    ({"reward": [0, -3, 0]}, "stop 1: reward = -3.0: must be finite, not negative"),
    ({"reward": [0, INF, 0]}, "stop 1: reward = inf: must be finite"),
    ({"min_stay": [0, 0, -3]}, "stop 2: min_stay = -3.0: must be finite, not negative"),
    ({"rate": [0, -2, 1]}, "stop 1: rate = -2.0: must be finite, not negative"),
    ({"rate": [0, 2, INF]}, "stop 2: rate = inf: must be finite"),
    ({"max_stay": None}, "stop 1: rate = 2.0: needs a max_stay"),
    ({"max_stay": [0, INF, 3]}, "stop 1: max_stay = inf: must be finite"),
    ({"max_stay": [0, -1, 3]}, "stop 1: max_stay = -1.0: is less than min_stay = 0.0"),
    ({"min_stay": [0, 0, 4]}, "stop 2: max_stay = 3.0: is less than min_stay = 4.0"),
    (
        {"rate": [0, 1e308, 0], "max_stay": [0, 1e308, 0]},
        "profit: the sum over all stops is not fin",
    ),
    ({"reward": [0, 1e308, 1e308]}, "profit: the sum over all stops is not finite"),
    ({"pieces": [[], [], []]}, "pieces: cannot be combined with rate or max_stay"),
    ({"pieces": [[], [], []], "rate": None}, "pieces: cannot be combined with rate or max_stay"),
    ({"pieces": [[], [], []], "max_stay": None}, "pieces: cannot be combined with rate or"),
    ({"ids": ["a"]}, "ids: there are 1 for 2 stops"),
    ({"ids": ["a", "a"]}, "id = 'a': two stops have it"),
    ({"ids": ["a", ""]}, "id = '': must be a string that is not empty"),
    ({"ids": [1, 2]}, "id = 1: must be a string"),
    ({"ids": ["a", "b\0"]}, r"id = 'b\x00': must be text that can be written"),
    ({"name": "\ud800"}, r"name = '\ud800': must be text that can be written"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    """Each mistake is refused, in a message with the field and the value."""
    with pytest.raises(InstanceError) as caught:
        two_stops(**changes)
    assert message in str(caught.value)


BAD_PIECES: list[tuple[Any, str]] = [
    ([[1, 2], [1.5, 2]], "stop 1: profit[1] = [1.5, 2.0]: rates must not rise along the pieces"),
    ([[3, 1], [1, 0], [2, 1]], "stop 1: profit[2] = [2.0, 1.0]: rates must not rise"),
    ([[1, 2], [-1, 2]], "stop 1: profit[1] = [-1.0, 2.0]: must be finite, not negative"),
    ([[1, -2]], "stop 1: profit[0] = [1.0, -2.0]: must be finite, not negative"),
    ([[NAN, 2]], "stop 1: profit[0] = [nan, 2.0]: must be finite"),
    ([[1, INF]], "stop 1: profit[0] = [1.0, inf]: must be finite"),
    ([1, 2], "stop 1: profit: has shape (2,), must be (pieces, 2)"),
    ([[3, 2, 1], [1, 1, 1]], "stop 1: profit: has shape (2, 3), must be (pieces, 2)"),
    ([[1]], "stop 1: profit: has shape (1, 1), must be (pieces, 2)"),
    ("ab", "stop 1: profit: must be a regular table of numbers"),
    ([[0, 1e308], [0, 1e308]], "stop 1: max_stay = inf: must be finite"),
]


@pytest.mark.parametrize(("pieces", "message"), BAD_PIECES)
def test_bad_pieces(pieces: Any, message: str) -> None:
    """Pieces must be pairs of falling rate and some length."""
    with pytest.raises(InstanceError) as caught:
        Instance(budget=10, xy=np.zeros((2, 2)), pieces=[[], pieces])
    assert message in str(caught.value)


def test_wrong_number_of_piece_lists() -> None:
    """There is one list a node."""
    with pytest.raises(InstanceError, match="pieces: there are 1 lists for 2 nodes"):
        Instance(budget=10, xy=np.zeros((2, 2)), pieces=[[]])


def test_errors_name_the_stop_by_its_id() -> None:
    """A stop that has a name is called by it."""
    with pytest.raises(InstanceError, match=r"stop 'mill': close = 1\.0: is less than open = 2\.0"):
        two_stops(ids=["inn", "mill"], open=[0, 0, 2], close=[0, 9, 1])


def test_end_depot_is_named() -> None:
    """A wrong coordinate of the end depot is not taken for a stop's."""
    with pytest.raises(InstanceError, match="end: x = nan: must be finite"):
        Instance(budget=1, xy=[[0, 0], [1, 1], [NAN, 0]], separate_end=True)


def test_extreme_numbers_are_valid() -> None:
    """The largest and smallest numbers are numbers, as long as nothing overflows."""
    instance = Instance(
        budget=1e308,
        travel=[[0, 1e308], [5e-324, 0]],
        open=[0, -1e308],
        close=[0, 1e308],
        rate=[0, 5e-324],
        max_stay=[0, 1e308],
        reward=[0, 1e307],
        vehicles=MAX_VEHICLES,
    )
    assert instance.max_stay[1] == 1e308
    assert instance.problem == "TOPVP"


def test_most_stops() -> None:
    """The largest size that is allowed can be made."""
    assert Instance(budget=1, xy=np.zeros((MAX_STOPS + 1, 2))).stops == MAX_STOPS


def test_profits_too_large_beside_required_stops() -> None:
    """Required stops count more than all profit together, for which there must be room."""
    given = {"budget": 9, "xy": [[0, 0], [1, 0], [2, 0]], "reward": [0, 8e307, 1]}
    Instance(**given)
    with pytest.raises(InstanceError, match=r"= 8e\+307: is too large beside required stops"):
        Instance(**given, required=[False, True, True])


def test_bonus_counts_only_what_can_be_earned() -> None:
    """A stop whose shortest stay does not fit into any shift, or its hours, leaves the bonus."""
    given = {"budget": 9, "xy": [[0, 0], [1, 0], [2, 0]], "required": [False, False, True]}
    instance = Instance(**given, reward=[0, 1e15, 3], min_stay=[0, 10, 0])
    assert instance.arrays.bonus == 4
    short = Instance(**given, reward=[0, 1e15, 3], min_stay=[0, 2, 0], leave_by=[0, 1, 9])
    assert short.arrays.bonus == 4
