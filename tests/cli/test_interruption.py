"""Tests of the command line when it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import decost
from command_line import run
from decost import Instance
from decost.cli import outputs

SLOW = """
import sys, time
import decost
from decost.cli import main

def slow(instance, options):
    if instance.name == "slow":
        time.sleep(600)
    return decost.Result(instance, decost.make_solution(instance, [], []), "feasible")

decost.register(decost.Method("slow", "Sleeps.", slow))
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupted_set(name: str, tmp_path: Path) -> None:
    """Whatever asks it to end, a set ends at once; what is finished is kept, and the old output."""
    names = ["", "", "", "slow", "slow", "slow"]
    source, plans = tmp_path / "set.jsonl", tmp_path / "plans.jsonl"
    decost.write([Instance(budget=1, xy=[[0, 0]], name=name) for name in names], source)
    plans.write_text("old")
    words = [sys.executable, "-c", SLOW, "solve", source, "--method", "slow", "--json"]
    process = subprocess.Popen(
        [*words, "--out", plans, "--threads", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=300)
    part = tmp_path / "plans.jsonl.part"
    kept = f"decost: 3 of 6 plans are kept in {part}; the same command goes on\n"
    assert (process.returncode, out, err) == (130, "", f"{kept}decost: interrupted\n")
    assert plans.read_text() == "old"
    assert part.read_text().splitlines(keepends=True)[1:] == lines
    assert {path.name for path in tmp_path.iterdir()} == {"set.jsonl", "plans.jsonl", part.name}


def test_interrupted_instance(tmp_path: Path) -> None:
    """Ctrl-C ends a single run as well, and the old plan is left as it was."""
    source, plan = tmp_path / "one.json", tmp_path / "plan.json"
    decost.write(Instance(budget=1, xy=[[0, 0]], name="slow"), source)
    plan.write_text("old")
    code = SLOW.replace("time.sleep", "print('begin', flush=True) or time.sleep")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "solve", source, "--method", "slow", "--out", plan],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (130, "", "decost: interrupted\n")
    assert plan.read_text() == "old"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupted_search(name: str, tmp_path: Path) -> None:
    """The best plan so far is printed and written, and the exit code says that it is that."""
    source, plan = tmp_path / "one.json", tmp_path / "plan.json"
    decost.write(decost.generate("mixed", nodes=60, seed=3)[0], source)
    code = SLOW.replace("main()", SAY_READY + "main()")
    words = ["solve", source, "--method", "search", "--time-limit", "900", "--json", "--out", plan]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, "decost: interrupted\n")
    assert json.loads(out)["profit"] == json.loads(plan.read_text())["profit"] > 0
    assert {path.name for path in tmp_path.iterdir()} == {"one.json", "plan.json"}


SAY_READY = """
import threading
from decost.method.deadline import Deadline

begin = Deadline.run
def run(self, *given):
    if self.left > 100:
        threading.Timer(0.3, lambda: print("ready", flush=True)).start()
    return begin(self, *given)
Deadline.run = run
"""


@pytest.mark.parametrize("module", ["numpy", "typer", "decost.planner.door", "pydantic", "numba"])
def test_interrupted_import(module: str, trip: Path, tmp_path: Path) -> None:
    """Ctrl-C while the program is being loaded says so in one line, with no traceback."""
    folder = tmp_path / "hooks"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK.format(module=module))
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    plan = tmp_path / "plan.json"
    words = ("solve", trip, "--method", "greedy", "--out", plan)
    ended = run(*words, env={**os.environ, "PYTHONPATH": path})
    assert ended == (130, "", "decost: interrupted\n")
    assert not plan.exists()


HOOK = """
import signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Hook())
"""


def test_ctrl_c_where_nothing_can_be_raised() -> None:
    """An interrupt that a library swallows while it is loaded ends the program all the same."""
    code = """
import sys
from decost import __main__ as program

class Lost:
    def __del__(self):
        raise KeyboardInterrupt

def swallow(name):
    if name == "decost.cli":
        sys.modules["decost.cli"] = program
        program.main = lambda: None
        Lost()
        for _ in range(10**8):
            pass

run = program.main

class Finder:
    def find_spec(self, name, *_):
        swallow(name)

sys.meta_path.insert(0, Finder())
run()
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 130
    assert answer.stderr == "decost: interrupted\n"


def test_ctrl_c_while_a_class_of_a_library_is_made() -> None:
    """An interrupt in `__set_name__` is one, though Python 3.11 makes a RuntimeError of it."""
    code = """
import sys
from decost import __main__ as program

class Name:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

class Finder:
    def find_spec(self, name, *_):
        if name == "decost.cli":
            type("Library", (), {"name": Name()})

sys.meta_path.insert(0, Finder())
program.main()
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 130
    assert answer.stderr == "decost: interrupted\n"


def test_report_after_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has pressed Ctrl-C gets the page of the plan that is there, and does not wait for it."""
    given: list[float] = []
    monkeypatch.setattr(decost.Result, "explain", lambda _, time_limit: given.append(time_limit))
    instance = Instance(budget=1, xy=[[0, 0]])
    result = decost.Result(instance, decost.make_solution(instance, [], []), "feasible")
    page = outputs.Outputs(tmp_path / "a.json", report=tmp_path / "a.html")
    monkeypatch.setattr(outputs, "SIGNALS", [])
    page.explain(result, None)
    outputs.SIGNALS.append(signal.SIGINT)
    page.explain(result, None)
    page.explain(result, 60.0)
    assert given == [10.0, 0.3, 0.3]
