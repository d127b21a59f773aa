"""Tests of `decost replan`, and of plans that leave required stops out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import decost
from command_line import Call, document
from quick_options import quick


@pytest.fixture
def plan(call: Call, trip: Path) -> Path:
    """Write a plan: the quay first, where the stay is 2 from time 3, then the mill from 9."""
    path = trip.with_name("plan.json")
    assert call("stays", trip, "--order", "quay,mill", "--out", path).code == 0
    return path


def test_replan(call: Call, trip: Path, plan: Path) -> None:
    """The whole plan comes back, with what has begun; `check` accepts it."""
    new = trip.with_name("new.json")
    code, out, err = call("replan", trip, plan, "--now", 4, "--json", "--out", new)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["routes"] == json.loads(plan.read_text())["routes"]
    assert (answer["status"], answer["profit"]) == ("optimal", pytest.approx(20))
    assert call("check", trip, new) == (0, "feasible, profit 20\n", "")
    assert "2 of 2 stops" in call("replan", trip, plan, "--now", "4").out


def test_news(call: Call, trip: Path, plan: Path, tmp_path: Path) -> None:
    """What fell away goes; what is new comes, and the instance with it is written."""
    answer = json.loads(call("replan", trip, plan, "--now", 4, "--drop", "mill", "--json").out)
    assert [visit["stop"] for visit in answer["routes"][0]] == ["quay"]
    answer = json.loads(call("replan", trip, plan, "--now", 0, "--done", "quay", "--json").out)
    assert [visit["stop"] for visit in answer["routes"][0]] == ["mill"]
    new, larger, add = (tmp_path / name for name in ("new.json", "larger.json", "add.json"))
    add.write_text(json.dumps({"stops": [{"id": "pier", "x": 3, "y": 1, "reward": 9}]}))
    words = ("--now", 4, "--add", add, "--out", new, "--out-instance", larger)
    code, out, _ = call("replan", trip, plan, *words)
    assert code == 0
    assert out.splitlines()[-2:] == [f"wrote {new}", f"wrote {larger}"]
    assert decost.read(larger).ids == ("mill", "quay", "pier")
    assert call("check", larger, new).code == 0
    assert "pier" in new.read_text()


@pytest.mark.parametrize("keep", ["route", "order", "stop"])
def test_keep(call: Call, trip: Path, plan: Path, keep: str) -> None:
    """What is kept is kept."""
    answer = json.loads(call("replan", trip, plan, "--now", 0, "--keep", keep, "--json").out)
    stops = [visit["stop"] for visit in answer["routes"][0]]
    assert sorted(stops) == ["mill", "quay"]
    if keep != "stop":
        assert stops == ["quay", "mill"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Missing option '--now'."),
        (["--now", "noon"], "now = 'noon': clock times need unit = 'minutes'"),
        (["--now", "nan"], "now = nan: must be finite"),
        (["--now", 4, "--done", "pub"], "--done pub: stop = 'pub': the instance has no such stop"),
        (["--now", 4, "--drop", "a,b"], "--drop a,b: stop = 'a': the instance has no such stop"),
        (["--now", 4, "--drop", "quay"], "drop = 'quay': its visit has begun"),
        (["--now", 4, "--keep", "all"], "keep = 'all': must be one of route, order, stop"),
        (["--now", 4, "--method", "gredy"], "method 'gredy': unknown, choose from: "),
    ],
)
def test_wrong_words(
    call: Call, trip: Path, plan: Path, words: list[object], complaint: str
) -> None:
    """Each is one line that names the field and the value."""
    assert call.complaint("replan", trip, plan, *words).startswith(complaint)


def test_wrong_plans(call: Call, trip: Path, plan: Path, many: Path) -> None:
    """A plan of another instance, or one that breaks a rule before now, is refused."""
    other = trip.with_name("other.json")
    other.write_text(json.dumps(document(name="other")))
    assert call.complaint("replan", other, plan, "--now", 4) == (
        f"{plan}: instance = 'trip': is another instance than 'other'"
    )
    other.write_text(json.dumps(document(stops=document()["stops"][:1])))
    assert call.complaint("replan", other, plan, "--now", 4) == (
        f"{plan}: routes[0][0].stop = 'quay': the instance has no such stop"
    )
    data = json.loads(plan.read_text())
    data["routes"][0][0]["start"] = 1
    plan.write_text(json.dumps(data))
    assert call.complaint("replan", trip, plan, "--now", 4) == (
        "plan: breaks a rule before now = 4: route 1, visit 1 (stop 'quay'): "
        "service starts before the vehicle arrives by 2 [travel]"
    )
    assert call.complaint("replan", many, plan, "--now", 4) == (
        f"{many}: holds a set; a plan is for one instance"
    )


def test_wrong_new_stops(call: Call, trip: Path, plan: Path, tmp_path: Path) -> None:
    """A file with new stops is read as strictly as an instance."""
    add = tmp_path / "add.json"
    words = ("replan", trip, plan, "--now", 4, "--add", add)
    for stops, complaint in (
        ([{"id": "pier", "x": 3, "y": 1, "height": 9}], f"{add}: stops[0].height = 9: unknown"),
        ([{"id": "quay", "x": 3, "y": 1}], "add[0].id = 'quay': there is such a stop already"),
        ([{"id": "pier", "x": 3}], "add: stop 'pier': y: missing"),
        ({"stop": []}, f"{add}: "),
    ):
        add.write_text(json.dumps(stops))
        assert call.complaint(*words).startswith(complaint)


def must_see(path: Path, far: float) -> Path:
    """Write an instance with a required stop at some distance."""
    stops = [
        {"id": "near", "x": 1, "y": 0, "reward": 1},
        {"id": "must", "x": far, "y": 0, "required": True},
    ]
    path.write_text(json.dumps(document(version=2, stops=stops)))
    return path


def test_required_stop_that_cannot_be_visited(method: str, call: Call, tmp_path: Path) -> None:
    """The plan is printed with the reason, and the exit code is 1."""
    if "required" not in decost.get_method(method).can:
        pytest.skip("knows no required stops")
    path = must_see(tmp_path / "must.json", 30)
    decost.prepare(method)
    given = quick(method).items()
    words = [word for name, value in given for word in (f"--{name.replace('_', '-')}", value)]
    code, out, err = call("solve", path, "--method", method, *words)
    assert (code, err) == (1, "")
    assert "profit 1, infeasible" in out
    *_, count, left_out, reason = out.splitlines()
    assert count == "required: 0 of 1 are visited, none more can be"
    assert left_out == "left out: must"
    assert reason.startswith("  stop 'must' cannot be visited: too far away (30 at the earliest")
    plan = tmp_path / "plan.json"
    code, out, _ = call("solve", path, "--method", method, "--json", "--out", plan, *words)
    answer = json.loads(out)
    assert (code, answer["status"]) == (1, "infeasible")
    assert (answer["required_visited"], answer["required_bound"]) == (0, 0)
    assert answer["reasons"] == [reason.strip()]
    assert call("check", path, plan).out == "stop 'must': required, and not visited [required]\n"


def test_required_stops_in_a_set(call: Call, tmp_path: Path) -> None:
    """The rows are there, and the exit code is 1 if one leaves a required stop out."""
    path = tmp_path / "set.jsonl"
    ones = [decost.read(must_see(tmp_path / "one.json", far)) for far in (2, 30)]
    decost.write(ones, path)
    code, out, err = call("solve", path, "--method", "exact", "--json")
    assert code == 1
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["optimal", "infeasible"]
    assert err == "decost: 1 of 2 plans leave required stops out; instance 1: infeasible\n"
    decost.write(ones[:1], path)
    assert call("solve", path, "--method", "exact").code == 0
