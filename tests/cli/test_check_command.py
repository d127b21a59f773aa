"""Tests of `decost check`."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Call, document, run


def change_plan(trip: Path, call: Call, stay: float) -> Path:
    """Write a plan in which the first stay is another."""
    plan = trip.with_name("plan.json")
    call("solve", trip, "--method", "greedy", "--out", plan)
    data = json.loads(plan.read_text())
    data["routes"][0][0]["stay"] += stay
    plan.write_text(json.dumps(data))
    return plan


def test_check_finds_violations(call: Call, trip: Path) -> None:
    """A plan that breaks rules ends in 1, each violation in a line on stdout."""
    code, out, err = call("check", trip, change_plan(trip, call, 100))
    assert (code, err) == (1, "")
    rules = {line.rsplit("[", 1)[1] for line in out.splitlines()}
    assert rules == {"max_stay]", "profit]", "travel]"}


def test_check_of_a_set(call: Call, many: Path, tmp_path: Path) -> None:
    """One wrong plan of a set is found, and named by its index."""
    plans = tmp_path / "plans.jsonl"
    call("solve", many, "--method", "greedy", "--out", plans)
    lines = plans.read_text().splitlines()
    data = json.loads(lines[3])
    data["routes"][0][0]["profit"] += 1
    lines[3] = json.dumps(data)
    plans.write_text("\n".join(lines))
    code, out, err = call("check", many, plans)
    assert (code, err) == (1, "")
    first, last = out.splitlines()
    assert first.startswith("instance 3: route 1, visit 1 ")
    assert first.endswith("profit given is not the profit earned by 1 [profit]")
    assert last == "4 of 5 plans feasible"


def test_check_in_a_process(call: Call, trip: Path) -> None:
    """The three exit codes are those of the program itself."""
    good = trip.with_name("good.json")
    call("solve", trip, "--method", "greedy", "--out", good)
    bad = change_plan(trip, call, -9)
    assert [run("check", trip, plan).code for plan in (good, bad, trip)] == [0, 1, 2]


def test_unreadable_plans(call: Call, trip: Path, many: Path, tmp_path: Path) -> None:
    """What is no plan, or another's, ends in 2 with one line about it."""
    plan = trip.with_name("plan.json")
    call("solve", trip, "--method", "greedy", "--out", plan)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document(name="walk")))
    unlike = tmp_path / "unlike.json"
    unlike.write_text(json.dumps(document(name="", stops=[])))
    empty = tmp_path / "empty"
    empty.write_text("")
    for instance, solution, message in (
        (trip, "none.json", "none.json: No such file or directory"),
        (trip, tmp_path, f"{tmp_path}: Is a directory"),
        (trip, trip, f"{trip}: format = 'decost-instance': Input should be 'decost-solution'"),
        (trip, many, f"{many}: byte"),
        (trip, empty, f"{empty}: line 1, column 1: broken JSON"),
        (many, empty, f"{empty}: holds no plan"),
        (many, plan, f"{plan}: line 1: "),
        (other, plan, f"{plan}: instance = 'trip': is another instance than 'walk'"),
        (unlike, plan, f"{plan}: routes[0][0].stop = "),
    ):
        assert call.complaint("check", instance, solution).startswith(message)
