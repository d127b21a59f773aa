"""Tests of `decost stays`: the best times for an order by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import decost
from command_line import Call, document

GUIDES: dict[str, Any] = {
    "format": "decost-instance",
    "version": 2,
    "name": "guides",
    "unit": "minutes",
    "begin": "09:00",
    "budget": "17:00",
    "speed": 0.1,
    "depot": {"x": 0, "y": 0},
    "vehicles": [{"id": "red"}, {"id": "blue", "begin": "10:00"}],
    "stops": [
        {
            "id": "museum",
            "x": 3,
            "y": 0,
            "min_stay": 30,
            "profit": [[2, 60]],
            "required": True,
            "alternatives": [{"leave_by": "10:00"}, {"open": "14:00", "vehicles": ["blue"]}],
        },
        {"id": "tower", "x": 6, "y": 0, "reward": 30, "min_stay": 10},
        {"id": "inn", "x": 0, "y": 2, "reward": 1, "vehicles": ["red"]},
    ],
}


@pytest.fixture
def guides(tmp_path: Path) -> Path:
    """Write an instance with two guides; a unit of way takes ten minutes."""
    path = tmp_path / "guides.json"
    path.write_text(json.dumps(GUIDES))
    return path


def test_one_vehicle(call: Call, trip: Path) -> None:
    """The order is kept, and 20 is the most there is; the vehicle need not be named."""
    for order in ("quay,mill", "1:quay,mill", "quay, mill"):
        code, out, err = call("stays", trip, "--order", order, "--json")
        assert (code, err) == (0, "")
        answer = json.loads(out)
        assert [visit["stop"] for visit in answer["routes"][0]] == ["quay", "mill"]
        assert (answer["method"], answer["status"]) == ("stays", "feasible")
        assert answer["profit"] == pytest.approx(20)


def test_alternatives_are_chosen(call: Call, guides: Path) -> None:
    """In the morning red has 30 minutes at the museum, in the afternoon blue has 90."""
    words = ("stays", guides, "--order", "red:museum,tower", "--json")
    visits = json.loads(call(*words).out)["routes"][0]["visits"]
    assert visits[0] == {"stop": "museum", "alternative": 0, "start": 570, "stay": 30, "profit": 0}
    words = ("stays", guides, "--order", "blue:tower,museum", "--order", "red:inn", "--json")
    red, blue = json.loads(call(*words).out)["routes"]
    assert [visit["stop"] for visit in red["visits"]] == ["inn"]
    assert blue["visits"][1] == {
        "stop": "museum",
        "alternative": 1,
        "start": 840,
        "stay": 90,
        "profit": 120,
    }


def test_plan_is_printed_by_the_clock(call: Call, guides: Path, tmp_path: Path) -> None:
    """Times are those of the clock, vehicles go by name, and required stops are marked."""
    plan = tmp_path / "plan.json"
    code, out, _ = call("stays", guides, "--order", "blue:tower,museum", "--out", plan)
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert ["red:", "stays", "at", "the", "depot"] in rows
    assert ["blue"] in rows
    assert ["tower", "11:00", "11:00", "10", "11:10", "30.00"] in rows
    museum = ["from", "14:00", "11:40", "14:00", "90", "15:30", "120.00"]
    assert ["museum", "(required)", *museum] in rows
    assert rows[-1] == ["wrote", str(plan)]
    assert call("check", guides, plan) == (0, "feasible, profit 150\n", "")


def test_order_files(call: Call, guides: Path, tmp_path: Path) -> None:
    """An order may be in a file, by vehicle or in their order, or be that of a plan."""
    path = tmp_path / "order.json"
    plan = tmp_path / "plan.json"
    words = ("stays", guides, "--order-file", path, "--json")
    known = json.loads(
        call("stays", guides, "--order", "red:inn", "--order", "blue:museum", "--out", plan).out
        and call("stays", guides, "--order-file", plan, "--json").out
    )
    for order in (
        {"red": ["inn"], "blue": ["museum"]},
        [["inn"], ["museum"]],
        {"routes": [{"vehicle": "blue", "visits": ["museum"]}, {"vehicle": "red", "visits": [3]}]},
    ):
        path.write_text(json.dumps(order))
        assert json.loads(call(*words).out)["routes"] == known["routes"]


@pytest.mark.parametrize(
    ("order", "line"),
    [
        (
            "red:tower,museum",
            "vehicle 'red': the order breaks at visit 2 (stop 'museum'): it cannot be served in "
            "time",
        ),
        (
            "blue:inn",
            "vehicle 'blue': the order breaks at visit 1 (stop 'inn'): it does not admit the "
            "vehicle",
        ),
    ],
)
def test_order_that_breaks(call: Call, guides: Path, order: str, line: str) -> None:
    """The stop is named, and the exit code is 1."""
    assert call("stays", guides, "--order", order) == (1, f"{line}\n", "")
    code, out, _ = call("stays", guides, "--order", order, "--json")
    found = json.loads(out)
    assert (code, found["status"]) == (1, "broken")
    assert found["broken"]["stop"] in line


def test_way_home_that_is_too_long(call: Call, trip: Path) -> None:
    """Nobody can be at the end in time after the last stop."""
    trip.write_text(json.dumps(document(budget=9)))
    line = "the order breaks at visit 1 (stop 'mill'): the vehicle cannot be at its end in time"
    assert line in call("stays", trip, "--order", "mill").out


def test_required_stop_left_out(call: Call, guides: Path) -> None:
    """The plan is printed, and says what is missing; the exit code is 1."""
    code, out, err = call("stays", guides, "--order", "red:inn")
    assert (code, err) == (1, "")
    assert out.splitlines()[-2:] == [
        "required: 0 of 1 are visited, whether more can be is not known",
        "left out: museum",
    ]
    assert "incomplete" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--order, --order-file: give one of them"),
        (["--order", "museum"], "--order museum: must begin with a vehicle and a colon: red, blue"),
        (
            ["--order", "green:museum"],
            "--order green:museum: vehicle = 'green': unknown, choose from: red, blue",
        ),
        (
            ["--order", "red:museum,pub"],
            "--order museum,pub: stop = 'pub': the instance has no such stop",
        ),
        (
            ["--order", "red:museum,museum"],
            "--order: order of vehicle 'red': stop = 'museum': is named twice",
        ),
        (
            ["--order", "red:museum", "--order", "blue:museum"],
            "--order: order of vehicle 'blue': stop = 'museum': is named twice",
        ),
        (
            ["--order", "red:museum", "--order", "red:tower"],
            "--order red:tower: vehicle = 'red': has an order already",
        ),
    ],
)
def test_wrong_orders(call: Call, guides: Path, words: list[str], complaint: str) -> None:
    """A wrong order is one line that names what is wrong."""
    assert call.complaint("stays", guides, *words) == complaint


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        ({"green": ["museum"]}, "vehicle = 'green': the instance has no such vehicle"),
        ({"red": "museum"}, "red = 'museum': must be a list of stops"),
        ({"red": [1.5]}, "red[0] = 1.5: must be a stop"),
        ({"red": [9]}, "order of vehicle 'red': stop = 9: the instance has no such stop"),
        ([["museum"], ["museum"]], "orders[1]: stop = 'museum': is named twice"),
        ([[], [], []], "orders: there are 3 for 2 vehicles"),
        ("museum", "must hold lists of stops, by the ids of vehicles"),
        (
            {"routes": [{"vehicle": "red", "visits": []}, {"visits": []}]},
            "routes[1].vehicle = None: must be the id of a vehicle, once each",
        ),
    ],
)
def test_wrong_order_files(
    call: Call, guides: Path, tmp_path: Path, order: object, complaint: str
) -> None:
    """A wrong file is named, with the field and the value."""
    path = tmp_path / "order.json"
    path.write_text(json.dumps(order))
    assert call.complaint("stays", guides, "--order-file", path) == f"{path}: {complaint}"


def test_no_sets(call: Call, many: Path) -> None:
    """A set has no order."""
    assert call.complaint("stays", many, "--order", "1") == (
        f"{many}: holds a set; an order is for one instance"
    )


def test_stops_by_number(call: Call, tmp_path: Path) -> None:
    """Stops without ids go by their numbers."""
    (instance,) = decost.generate("paper", nodes=8, count=1, seed=1)
    path = tmp_path / "plain.json"
    decost.write(instance, path)
    best = decost.solve(instance)
    order = ",".join(map(str, best.solution.routes[0].stops))
    answer = json.loads(call("stays", path, "--order", order, "--json").out)
    assert answer["profit"] == pytest.approx(best.profit)
    assert call.complaint("stays", path, "--order", "1,x").endswith(
        "stop = 'x': the instance has no such stop"
    )
