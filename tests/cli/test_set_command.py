"""Tests of `decost solve` for a set: lines, a summary, and what is left after an interruption."""

from __future__ import annotations

import json
import os
from pathlib import Path

import decost
from command_line import KEYS, Call, chosen, start
from decost import Instance, Method, Options, Result
from quick_options import quick


def test_set(method: str, call: Call, many: Path, tmp_path: Path) -> None:
    """A set gives a summary, and one line of JSON an instance with its index in --out."""
    plans = tmp_path / "plans.jsonl"
    code, out, err = call("solve", many, *chosen(method), "--out", plans, "--seed", 2)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert rows[0][0] == "instances"
    assert rows[-1] == ["wrote", str(plans)]
    answers = [json.loads(line) for line in plans.read_text().splitlines()]
    assert [list(answer) for answer in answers] == [["index", *KEYS]] * 5
    library = decost.solve_many(decost.read_set(many), method, seed=2, **quick(method))
    mean = sum(mine.profit for mine in library) / 5
    optimal = sum(mine.status == "optimal" for mine in library)
    assert rows[2][:3] == ["5", f"{mean:.6g}", str(optimal)]
    for index, (answer, mine) in enumerate(zip(answers, library, strict=True)):
        assert answer == {"index": index} | mine.to_dict() | {"runtime": answer["runtime"]}
    assert call("check", many, plans) == (0, "5 of 5 plans feasible\n", "")


def test_set_as_json(call: Call, many: Path, tmp_path: Path) -> None:
    """With --json the lines go to stdout too, and nothing else does."""
    plans = tmp_path / "plans.jsonl"
    words = ("--method", "greedy", "--json", "--out", plans, "--threads", 2)
    code, out, err = call("solve", many, *words)
    assert (code, err) == (0, "")
    assert out == plans.read_text()
    assert [json.loads(line)["index"] for line in out.splitlines()] == list(range(5))


def test_set_in_a_pipe(many: Path) -> None:
    """If the reader of the output leaves, so does the program, in silence; what it has is kept."""
    decost.write(decost.generate("paper", nodes=12, count=3000), many)
    plans = many.with_name("plans.jsonl")
    process = start("solve", many, "--method", "greedy", "--json", "--out", plans)
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())["index"] == 0
    process.stdout.close()
    assert process.wait(timeout=300) == 141
    assert process.stderr.read() == ""
    process.stderr.close()
    assert not plans.exists()
    lines = plans.with_name("plans.jsonl.part").read_text().splitlines()
    assert 0 < len({json.loads(line)["index"] for line in lines[1:]}) == len(lines) - 1 < 3000


def test_progress_on_a_terminal(many: Path) -> None:
    """If stderr is a terminal it shows a bar that reaches the end; stdout is not touched."""
    reader, terminal = os.openpty()
    process = start("solve", many, "--method", "greedy", "--json", stderr=terminal)
    out, _ = process.communicate(timeout=300)
    os.close(terminal)
    shown = os.read(reader, 10**6).decode()
    os.close(reader)
    assert process.returncode == 0
    assert [json.loads(line)["index"] for line in out.splitlines()] == list(range(5))
    assert "5/5" in shown


def test_failing_set_keeps_the_old_plans(
    call: Call, many: Path, tmp_path: Path, registry: None
) -> None:
    """If a method gives up on all instances, the old file is left as it was."""

    def fail(instance: Instance, options: Options) -> Result:
        raise decost.MethodError("budget = 3.5: too large")

    decost.register(Method("failing", "Fails.", fail))
    plans = tmp_path / "plans.jsonl"
    plans.write_text("old")
    words = ("solve", many, "--method", "failing", "--out", plans)
    assert call.complaint(*words) == "budget = 3.5: too large"
    assert plans.read_text() == "old"


def test_threads(call: Call, many: Path) -> None:
    """No threads, no work."""
    words = ("--method", "greedy", "--threads", "0")
    assert call.complaint("solve", many, *words) == "threads = 0: must be at least 1"
