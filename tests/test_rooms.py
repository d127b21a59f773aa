"""Tests of the rooms of the code: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import decost

SOURCE = Path(decost.__file__).parent

BELOW = {"compiled", "compiling", "draws"}
"""What every room with kernels may know."""

MAY_KNOW = {
    "problem": set(),
    "files": {"problem", "method"},  # a result is what `write` writes
    "show": {"problem", "files", "method"},
    "streets": {"problem", "files"},
    "timeline": {"problem", *BELOW},
    "method": {"problem", *BELOW},
    "search": {"problem", "timeline", "method", *BELOW},
    "exact": {"problem", "timeline", "method", "search", *BELOW},
    "inference": {"problem", "timeline", "method", *BELOW},
    "baselines": {"problem", "timeline", "method", "search", "inference", *BELOW},
    "learn": {
        *("problem", "files", "show", "timeline", "method", "search", "exact", "inference"),
        *BELOW,
    },
    "planner": {
        *("problem", "files", "timeline", "method", "search", "exact", "baselines", "inference"),
        *BELOW,
    },
    "studio": {"problem", "files", "show", "method", "inference", "planner", *BELOW},
    "cluster": {"problem", "files", "method", "exact", "planner"},
}
"""What a room may import beside itself, anywhere in its files."""

ALLOWED = {
    ("method/result.py", "planner"): "result.explain() is short for the planner's",
    ("method/result.py", "show"): "and result.report() for a page of it",
    ("method/result.py", "files"): "result.to_frame() is short for that of the tables",
    ("search/search.py", "inference"): "a search may begin with a network's plan, if asked to",
    ("inference/heatmap.py", "baselines"): "a heatmap is made for ants",
    ("inference/policy.py", "learn"): "a GPU is torch's",
    ("learn/train_ants.py", "baselines"): "and trained with them",
}
"""Exceptions, with their reasons."""


def imported(path: Path) -> Iterator[str]:
    """Give the rooms that a file imports from, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for package, *room in (name.split(".") for name in names):
            if package == "decost" and room and room[0] != "__version__":
                yield room[0]


@pytest.mark.parametrize("room", MAY_KNOW)
def test_rooms_know_few_others(room: str) -> None:
    """A room imports from itself and from those that it may know."""
    paths = list((SOURCE / room).rglob("*.py"))
    assert len(paths) > 1
    for path in paths:
        name = path.relative_to(SOURCE).as_posix()
        others = {one for one in imported(path) if (name, one) not in ALLOWED}
        assert others <= {room} | MAY_KNOW[room], path


def test_exceptions_are_needed() -> None:
    """An exception that nobody needs any more goes."""
    for name, room in ALLOWED:
        assert room in set(imported(SOURCE / name)), name


NAMES = ("open", "close", "leave_by")
WINDOW = {*NAMES, *(f"alternative_{name}" for name in NAMES)}
MAY_READ = {"problem", "files", "timeline", "show"}
"""Rooms that know when a stop opens and closes; engines leave that to the timeline."""

READERS = {
    "baselines/ants.py": "when a route begins, and how long a node is waited for",
    "baselines/ils_moves.py": "when a route begins, and how long a node is waited for",
    "exact/bounds.py": "a grid over time",
    "exact/completion.py": "a grid over time",
    "exact/graph.py": "which node can follow which",
    "exact/ng_routes.py": "which stop can be come back to soon",
    "exact/labels.py": "when a route begins, and the first time of a node",
    "search/fixed_routes.py": "when a route begins",
    "search/construct.py": "how long a node is waited for",
    "search/moves.py": "whether a visit is put off",
    "baselines/milp_rules.py": "judges the others, and so writes the rule anew",
    "inference/problems.py": "what a network sees of a stop, for the timeline and the twin",
    "inference/view.py": "what a network sees of a candidate",
    "inference/walks.py": "which stops can be chosen, and how long a predicted stay may be",
    "learn/batched_stays.py": "the twin for tensors",
    "learn/rollout.py": "the twin for tensors",
    "learn/tree.py": "which stops can be chosen, and how long a predicted stay may be",
    "planner/requirements.py": "says that a stop is closed",
    "planner/replanning.py": "fixes when a visit that a vehicle is on its way to begins",
    "bench/peer_planners.py": "what other people's planners are told",
    "bench/stays.py": "an independent linear program",
    "bench/time_profit.py": "a worked example",
}


def reads_windows(path: Path) -> bool:
    """Tell whether a file reads an attribute of a window by its name; a file's `open()` is none."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return any(
        isinstance(node, ast.Attribute) and node.attr in WINDOW and id(node) not in calls
        for node in nodes
    )


def test_windows_are_read_in_few_places() -> None:
    """When a stop opens and closes is known to the timeline, and to those with a reason."""
    readers = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.partition("/")[0] not in MAY_READ and reads_windows(path):
            readers.add(name)
    assert readers == set(READERS)


def test_nobody_knows_the_command_line() -> None:
    """The command line is a door: only the program itself imports it."""
    for path in SOURCE.rglob("*.py"):
        inside = path.is_relative_to(SOURCE / "cli") or path == SOURCE / "__main__.py"
        assert inside or "cli" not in set(imported(path)), path


def test_who_imports_is_found(tmp_path: Path) -> None:
    """Imports of all forms are seen."""
    path = tmp_path / "some.py"
    path.write_text(
        "import json, decost.learn.config\n"
        "from decost import solver, __version__\n"
        "def f():\n    from decost.files.door import read\n"
    )
    assert sorted(imported(path)) == ["files", "learn", "solver"]
