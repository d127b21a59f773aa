"""Tests of `decost solve --start`: a plan to improve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import decost
from command_line import Call, document
from decost import ImprovingOptions, Instance, Method, Result


@pytest.fixture
def plan(call: Call, trip: Path) -> Path:
    """Write the best plan for the instance with two stops, which earns 20."""
    path = trip.with_name("best plan.json")
    assert call("solve", trip, "--out", path).code == 0
    return path


def test_start(improving: str, call: Call, trip: Path, plan: Path) -> None:
    """Every improving method takes a plan from a file, and gives back no worse one."""
    words = ("--method", improving, "--time-limit", 0, "--start", plan, "--json")
    code, out, err = call("solve", trip, *words)
    assert (code, err) == (0, "")
    assert json.loads(out)["profit"] == pytest.approx(20)


def test_start_is_read(call: Call, trip: Path, plan: Path, registry: None) -> None:
    """The method gets the routes of the file, with the best stays instead of poor ones."""

    def function(instance: Instance, options: ImprovingOptions) -> Result:
        assert options.start is not None
        return Result(instance, options.start, "feasible")

    decost.register(Method("idle", "Gives the start back.", function, ImprovingOptions))
    written = json.loads(plan.read_text())
    order = [visit["stop"] for visit in written["routes"][0]]
    for visit in written["routes"][0]:
        if visit["stop"] == "mill":
            visit["stay"], visit["profit"] = 0, 0
    plan.write_text(json.dumps(written))
    assert call("check", trip, plan).out == "feasible, profit 8\n"
    answer = json.loads(call("solve", trip, "--method", "idle", "--start", plan, "--json").out)
    assert [visit["stop"] for visit in answer["routes"][0]] == order
    assert answer["profit"] == pytest.approx(20)


def test_start_can_be_replaced(call: Call, trip: Path, plan: Path) -> None:
    """The plan may be written to the file that it was read from."""
    code, out, _ = call(
        "solve", trip, "--method", "ils", "--time-limit", 0, "--start", plan, "--out", plan
    )
    assert code == 0
    assert out.endswith(f"wrote {plan}\n")
    assert json.loads(plan.read_text())["method"] == "ils"
    assert call("check", trip, plan) == (0, "feasible, profit 20\n", "")


def test_start_of_another_instance(improving: str, call: Call, trip: Path, plan: Path) -> None:
    """A plan that names other stops, or is not feasible here, is refused with the reason."""
    other = trip.with_name("other.json")
    words = ("solve", other, "--method", improving, "--start", plan)
    stops = document()["stops"]
    other.write_text(json.dumps(document(stops=stops[:1])))
    complaint = call.complaint(*words)
    assert complaint.startswith(f"{plan}: ")
    assert "quay" in complaint
    other.write_text(json.dumps(document(budget=12.5)))
    complaint = call.complaint(*words)
    assert complaint.startswith("option start: vehicle '1': the order breaks at visit 2 (stop ")
    assert complaint.endswith("): the vehicle cannot be at its end in time after it")


def test_start_with_wrong_times(improving: str, call: Call, trip: Path, plan: Path) -> None:
    """Of a plan whose times are off here, the order counts, with the best times.

    In 15 units, 12 are for the way and 1 for the quay, which earns 5; the other 2 earn 3 + 2 there
    or 2 + 3.
    """
    other = trip.with_name("other.json")
    other.write_text(json.dumps(document(budget=15)))
    words = ("--method", improving, "--time-limit", 0, "--start", plan, "--json")
    code, out, err = call("solve", other, *words)
    assert (code, err) == (0, "")
    assert json.loads(out)["profit"] >= 10 * (1 - 1e-9)


@pytest.mark.parametrize(
    "order",
    [["quay", "mill"], [["quay", "mill"]], {"1": ["quay", "mill"]}, {"routes": [["quay", "mill"]]}],
)
def test_start_by_order_alone(call: Call, trip: Path, order: object) -> None:
    """A file with an order of stops will do."""
    path = trip.with_name("order.json")
    path.write_text(json.dumps(order))
    words = ("--method", "ils", "--time-limit", 0, "--start", path, "--json")
    answer = json.loads(call("solve", trip, *words).out)
    assert [visit["stop"] for visit in answer["routes"][0]] == ["quay", "mill"]
    assert answer["profit"] == pytest.approx(20)


def test_start_that_cannot_be_read(call: Call, trip: Path, plan: Path, tmp_path: Path) -> None:
    """A missing file, a folder, an instance and plans of a set are no plan for an instance."""
    missing = tmp_path / "missing.json"
    assert call.complaint("solve", trip, "--start", missing) == (
        f"{missing}: No such file or directory"
    )
    assert call.complaint("solve", trip, "--start", tmp_path) == f"{tmp_path}: Is a directory"
    assert call.complaint("solve", trip, "--start", trip).startswith(f"{trip}: ")
    plans = tmp_path / "plans.jsonl"
    line = json.dumps({"index": 0} | json.loads(plan.read_text()))
    plans.write_text(f"{line}\n{line}\n")
    assert call.complaint("solve", trip, "--start", plans).startswith(f"{plans}: ")


def test_start_in_a_set(call: Call, many: Path, plan: Path) -> None:
    """A set is refused, however few instances it holds."""
    one = many.with_name("one.npz")
    decost.write(decost.read_set(many)[:1], one)
    for path in (many, one):
        complaint = call.complaint("solve", path, "--start", plan)
        assert complaint == f"--start {plan}: {path} holds a set; a start is for one instance"


def test_start_for_a_method_that_does_not_improve(
    method: str, call: Call, trip: Path, plan: Path
) -> None:
    """It says so, and which methods do."""
    improving = [
        one.name for one in decost.list_methods() if issubclass(one.options, ImprovingOptions)
    ]
    if method in improving:
        pytest.skip("improves its plan")
    assert call.complaint("solve", trip, "--method", method, "--start", plan) == (
        f"--start {plan}: {method} does not improve a plan; these do: {', '.join(improving)}"
    )
    assert call("methods").out.splitlines()[-1] == (
        f"A plan to improve, --start PLAN, is taken by: {', '.join(improving)}."
    )


def test_start_and_unknown_method(call: Call, trip: Path, plan: Path) -> None:
    """The wrong name is what is complained about."""
    complaint = call.complaint("solve", trip, "--method", "gredy", "--start", plan)
    assert complaint.startswith("method 'gredy': unknown")
