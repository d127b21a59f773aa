"""Tests of commands on folders of parts."""

from __future__ import annotations

import json
from pathlib import Path

import decost
from command_line import Call
from decost.files.parts import plans_in


def profits(path: Path) -> list[float]:
    """List the profits of plans."""
    return [row["profit"] for row in plans_in(path)]


def test_commands_for_parts(tmp_path: Path, call: Call) -> None:
    """Folders are generated, solved and checked; what is finished is not done again."""
    made, plans = tmp_path / "made", tmp_path / "plans"
    code, out, _ = call("generate", "paper", "--nodes", 8, "--count", 30, "--out", made)
    assert (code, out) == (0, f"wrote 30 instances to {made}\n")
    words = ("solve", made, "--method", "greedy", "--out", plans)
    code, out, _ = call(*words)
    assert code == 0
    assert f"wrote {plans}: 30 plans in " in out
    code, out, err = call(*words, "--json")
    assert "going on with 30 of 30 plans" in err
    assert [json.loads(line)["index"] for line in out.splitlines()] == list(range(30))
    code, out, _ = call("check", made, plans)
    assert (code, out) == (0, "30 of 30 plans feasible\n")
    npz, joined = tmp_path / "set.npz", tmp_path / "plans.parquet"
    assert call("convert", made, npz).code == 0
    assert call("solve", npz, "--method", "greedy", "--out", joined).code == 0
    assert profits(joined) == profits(plans)
    complaint = call.complaint("solve", made, "--out", plans, "--method", "exact")
    assert complaint.startswith(f"{plans}/part-00000.parquet: is of another run")
    code, out, _ = call("solve", made, "--method", "greedy", "--out", "-")
    assert (code, len(out.splitlines())) == (0, 30)
    for words in (("--beside", "exact"), ("--date", "2026-05-04"), ("--tiles", "x")):
        assert f"{words[0]} {words[1]}: " in call.complaint("solve", made, "--out", plans, *words)
    one = tmp_path / "one.json"
    decost.write(decost.generate("paper", nodes=5)[0], one)
    assert "is for sets" in call.complaint("solve", one, "--cluster", "local:1")
