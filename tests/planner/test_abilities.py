"""Tests of who can do what: each method on each feature, and the table of it."""

from __future__ import annotations

import pytest

import decost
from decost import Alternative, Instance, MethodError, Place, Stop, Vehicle, check
from decost.method.features import Feature, features_of
from quick_options import quick

STOPS = [Stop("mill", x=3, y=4, reward=2, rate=2, max_stay=6), Stop("quay", x=3, y=0, reward=5)]
DEPOT = Place(x=0, y=0)
INN = Place("inn", x=3, y=1)


def built(**changes: object) -> Instance:
    """Make an instance with two stops and what is to be different."""
    given = {"stops": STOPS, "depot": DEPOT, "budget": 20, "places": [INN]}
    return Instance.build(**(given | changes))  # type: ignore[arg-type]


CASES: list[tuple[Feature, str, Instance]] = [
    ("teams", "vehicles = 2", built(vehicles=2)),
    ("vehicles", "vehicle 'red': has a start of its own", built(vehicles=[Vehicle("red", "inn")])),
    ("vehicles", "vehicle '1': has an end of its own", built(end="inn")),
    ("vehicles", "vehicle '1': begin = 2", built(begin=2)),
    ("vehicles", "vehicle '1': due = 15", built(vehicles=[Vehicle(due=15)])),
    ("vehicles", "vehicle '1': underway = True", built(vehicles=[Vehicle(underway=True)])),
    (
        "alternatives",
        "stop 'mill': has 2 alternatives",
        built(stops=[Stop("mill", x=3, y=4, alternatives=[Alternative(reward=1)] * 2)]),
    ),
    (
        "alternatives",
        "stop 'mill': has a place of its own",
        built(stops=[Stop("mill", place="inn", reward=1)]),
    ),
    (
        "alternatives",
        "stop 'mill': is for some vehicles only",
        built(stops=[Stop("mill", x=3, y=4, reward=1, vehicles=[])]),
    ),
    (
        "required",
        "stop 'quay': required = True",
        built(stops=[STOPS[0], Stop("quay", x=3, y=0, required=True)]),
    ),
]


@pytest.mark.parametrize(("feature", "words", "instance"), CASES, ids=[case[1] for case in CASES])
def test_each_feature(method: str, feature: Feature, words: str, instance: Instance) -> None:
    """Whoever can plans without violation; others name what it is, and who can."""
    assert list(features_of(instance)) == [(feature, words)]
    if feature in decost.get_method(method).can:
        result = decost.solve(instance, method, **quick(method))
        assert check(instance, result.solution) == []
        return
    able = [one.name for one in decost.list_methods() if feature in one.can]
    with pytest.raises(MethodError) as caught:
        decost.solve(instance, method, **quick(method))
    message = str(caught.value)
    assert message.startswith(f"{words}: method {method!r} ")
    assert message.endswith(f"; choose from: {', '.join(able)}")


def test_different_speeds() -> None:
    """A vehicle that is slower than another has a speed of its own."""
    slow = built(vehicles=[Vehicle("red"), Vehicle("blue", speed=0.5)])
    assert dict(features_of(slow)) == {
        "teams": "vehicles = 2",
        "vehicles": "vehicle 'blue': speed = 0.5",
    }
    with pytest.raises(MethodError, match=r"vehicles = 2: method 'exact' plans for one vehicle"):
        decost.solve(slow, "exact")


def test_plain_instances_have_none() -> None:
    """What the first version of the model knew every method can plan for, but for teams."""
    assert list(features_of(built(places=[]))) == []
    separate = Instance(budget=9, xy=[[0, 0], [1, 0], [2, 0]], reward=[0, 1], separate_end=True)
    assert list(features_of(separate)) == []
