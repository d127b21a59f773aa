"""Tests of the command line: what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from command_line import KEYS, Call, chosen, document, run, start
from decost import ImprovingOptions, Instance, Method, Options, Result
from quick_options import quick

# Solving.


def test_solve_prints_the_plan(trip: Path) -> None:
    """A table with a row a visit and the way back, worked out by hand; stderr stays empty.

    Full stays at the mill (6, for 12) and at the quay (4, for 5 + 3 + 2) take 5 + 6 + 4 + 4 + 3
    = 22 of 20, so that 2 of the last piece at rate 1 are left out.
    """
    code, out, err = run("solve", trip, "--method", "greedy")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert rows[0] == ["trip:", "2", "of", "2", "stops"]
    assert rows[1] == ["stop", "arrive", "start", "stay", "leave", "profit"]
    table = {row[0]: row[1:] for row in rows[3:-1]}
    if rows[3][0] == "mill":
        assert table["mill"] == ["5.00", "5.00", "6.00", "11.00", "12.00"]
        assert table["quay"] == ["15.00", "15.00", "2.00", "17.00", "8.00"]
    else:
        assert table["quay"] == ["3.00", "3.00", "2.00", "5.00", "8.00"]
        assert table["mill"] == ["9.00", "9.00", "6.00", "15.00", "12.00"]
    assert table["back"] == ["20.00", "20.00"]
    assert rows[-1][:3] == ["profit", "20,", "feasible;"]


def test_json_and_nothing_else(method: str, call: Call, trip: Path) -> None:
    """With --json, stdout is one JSON object with the keys of the contract."""
    decost.prepare(method)  # else a first run says on stderr that it compiles
    code, out, err = call("solve", trip, *chosen(method), "--json", "--seed", 7)
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert list(answer) == KEYS
    assert (answer["method"], answer["seed"]) == (method, 7)
    assert answer["status"] in ("optimal", "feasible")
    assert all(list(visit) == ["stop", "start", "stay", "profit"] for visit in answer["routes"][0])
    assert answer["profit"] == pytest.approx(sum(v["profit"] for v in answer["routes"][0]))
    library = decost.solve(decost.read(trip), method, seed=7, **quick(method)).to_dict()
    assert answer | {"runtime": 0} == library | {"runtime": 0}


def test_default_method(call: Call, trip: Path) -> None:
    """The default of the command line is the default of the library."""
    answer = json.loads(call("solve", trip, "--json").out)
    assert answer["method"] == decost.solve(decost.read(trip)).method


def test_out_can_be_checked(method: str, call: Call, trip: Path) -> None:
    """What is written is the plan that is printed, and `check` accepts it."""
    plan = trip.with_name("plan of today.json")
    code, out, _ = call("solve", trip, *chosen(method), "--json", "--out", plan)
    assert code == 0
    written = json.loads(plan.read_text())
    assert {key: written[key] for key in KEYS} == json.loads(out)
    code, out, err = call("check", trip, plan)
    assert (code, err) == (0, "")
    assert out == f"feasible, profit {written['profit']:.10g}\n"


def test_wrote(call: Call, trip: Path) -> None:
    """Without --json, the last line says where the plan is."""
    plan = trip.with_name("plan.json")
    code, out, _ = call("solve", trip, "--method", "greedy", "--out", plan)
    assert code == 0
    assert out.endswith(f"wrote {plan}\n")


def test_team(call: Call, trip: Path) -> None:
    """Each vehicle has its table, or stays at the depot."""
    code, out, _ = call("solve", trip, "--method", "greedy", "--vehicles", 3)
    assert code == 0
    assert "route 1" in out
    assert "route 3: stays at the depot" in out


def test_nothing_to_visit(call: Call, tmp_path: Path) -> None:
    """An instance without stops is solved, drawn in words, and its plan checked."""
    path, plan = tmp_path / "none.json", tmp_path / "plan.json"
    path.write_text(json.dumps(document(stops=[], name="")))
    code, out, _ = call("solve", path, "--out", plan)
    assert code == 0
    assert "OP: 0 of 0 stops" in out
    assert "route: stays at the depot" in out
    assert call("check", path, plan) == (0, "feasible, profit 0\n", "")


def test_names_are_shown_as_they_are(call: Call, tmp_path: Path) -> None:
    """Markup, formulas and emoji codes are text; line ends and terminal codes are not obeyed."""
    names = ["[bold]x[/bold]", ":bomb:", "$x$ \\", "a\nb\tc", "\x1b[31mred", "caf\u00e9 \u2603"]
    stops = [{"id": name, "x": 0, "y": 0, "reward": 1} for name in names]
    path = tmp_path / "[red]names.json"
    path.write_text(json.dumps(document(stops=stops, name="[i]:bomb:\n\x1b[2J")))
    code, out, _ = call("solve", path, "--method", "greedy")
    assert code == 0
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0] == "[i]:bomb:  [2J: 6 of 6 stops"
    rows = [line.strip() for line in lines]
    shown = ["[bold]x[/bold]", ":bomb:", "$x$ \\", "a b c", "[31mred", "caf\u00e9 \u2603"]
    for name in shown:
        assert sum(row.startswith(f"{name} ") for row in rows) == 1
    answer = json.loads(call("solve", path, "--method", "greedy", "--json").out)
    assert sorted(visit["stop"] for visit in answer["routes"][0]) == sorted(names)


def test_plot(call: Call, trip: Path) -> None:
    """A picture can be drawn while solving, and of a plan that was written."""
    plan, first, second = (trip.with_name(name) for name in ("p.json", "1.png", "2.svg"))
    words = ("--method", "greedy", "--out", plan, "--plot", first)
    code, out, _ = call("solve", trip, *words)
    assert code == 0
    assert out.endswith(f"wrote {plan}\nwrote {first}\n")
    assert first.read_bytes().startswith(b"\x89PNG")
    assert call("plot", trip, plan, "--out", second) == (0, f"wrote {second}\n", "")
    assert "<svg" in second.read_text()


def test_solomon(call: Call, tmp_path: Path) -> None:
    """A Solomon file is read as fixed or variable, with distances cut as asked."""
    path = tmp_path / "r1.txt"
    rows = "0 0 0 0 0 99 0\n1 1 1 10 0 50 5\n"
    path.write_text(f"R1\nVEHICLE\nNUMBER CAPACITY\n1 1\nCUSTOMER\nCUST NO. X\n{rows}")

    def visit(*words: object) -> dict[str, float]:
        answer = json.loads(call("solve", path, "--method", "greedy", "--json", *words).out)
        return dict(answer["routes"][0][0])

    assert visit() == {"stop": 1, "start": 1.4, "stay": 5, "profit": 10}
    exact = pytest.approx({"stop": 1, "start": 2**0.5, "stay": 35, "profit": 350})
    assert visit("--profit", "variable") == exact
    assert visit("--profit", "variable", "--truncate", 2)["start"] == 1.41
    assert visit("--truncate", "none")["start"] == pytest.approx(2**0.5)


# Sets.


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
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()
    assert not plans.exists()
    lines = plans.with_name("plans.jsonl.part").read_text().splitlines()
    assert 0 < len({json.loads(line)["index"] for line in lines[1:]}) == len(lines) - 1 < 3000


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
    out, err = process.communicate(timeout=20)
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
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "decost: interrupted\n")
    assert plan.read_text() == "old"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupted_search(name: str, tmp_path: Path) -> None:
    """The best plan so far is printed and written, and the exit code says that it is that."""
    source, plan = tmp_path / "one.json", tmp_path / "plan.json"
    decost.write(decost.generate("mixed", nodes=60, seed=3)[0], source)
    code = SLOW.replace("main()", SAY_READY + "main()")
    words = ["solve", source, "--method", "search", "--time-limit", "300", "--json", "--out", plan]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "decost: interrupted\n")
    assert json.loads(out)["profit"] == json.loads(plan.read_text())["profit"] > 0
    assert {path.name for path in tmp_path.iterdir()} == {"one.json", "plan.json"}


SAY_READY = """
import threading
from decost.methods.clock import Clock

begin = Clock.run
def run(self, kernel, profit):
    if self.left > 100:
        threading.Timer(0.3, lambda: print("ready", flush=True)).start()
    return begin(self, kernel, profit)
Clock.run = run
"""


@pytest.mark.parametrize("module", ["numpy", "typer", "decost.solver", "pydantic", "numba"])
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


def test_progress_on_a_terminal(many: Path) -> None:
    """If stderr is a terminal it shows a bar that reaches the end; stdout is not touched."""
    reader, terminal = os.openpty()
    process = start("solve", many, "--method", "greedy", "--json", stderr=terminal)
    out, _ = process.communicate(timeout=60)
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


# Checking.


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


# Generating.


@pytest.mark.parametrize("family", ["paper", "mixed"])
@pytest.mark.parametrize("ending", [".npz", ".jsonl"])
def test_generate_equals_the_library(call: Call, tmp_path: Path, family: str, ending: str) -> None:
    """The command writes what the function makes, with all its options."""
    path = tmp_path / f"set{ending}"
    options = {"nodes": 9, "window": 60.5, "count": 3, "seed": 4, "budget": 3.5, "vehicles": 2}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    answer = call("generate", family, *words, "--out", path)
    assert answer == (0, f"wrote 3 instances to {path}\n", "")
    assert decost.read_set(path) == decost.generate(family, **options)  # type: ignore[arg-type]


def test_generate_one(call: Call, tmp_path: Path) -> None:
    """A single instance may be written as JSON."""
    path = tmp_path / "one.json"
    assert call("generate", "paper", "--out", path).out == f"wrote 1 instance to {path}\n"
    assert decost.read(path) == decost.generate("paper")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["other"], "family 'other': unknown, choose from: paper, mixed"),
        (["paper", "--nodes", "0"], "nodes = 0: must be from 1 to 5001"),
        (["paper", "--count", "-3"], "count = -3: must be from 0"),
        (["paper", "--count", "0"], "set.npz: a set needs at least one instance"),
        (["paper", "--seed", "-1"], "seed = -1: must be from 0"),
        (["paper", "--window", "nan"], "window = nan: must be from 0"),
        (["paper", "--window", "1e308"], "window = 1e+308: must be from 0"),
        (["mixed", "--budget", "1e308"], "budget = 1e+308: must be from 0"),
        (["paper", "--vehicles", "0"], "vehicles = 0: must be from 1 to 1000"),
        (["paper", "--nodes", "many"], "--nodes"),
    ],
)
def test_generate_bad_input(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    """A wrong argument is named with its value, and the old set is left as it was."""
    monkeypatch.chdir(tmp_path)
    Path("set.npz").write_text("old")
    assert message in call.complaint("generate", *words, "--out", "set.npz")
    assert Path("set.npz").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_generate_where(call: Call, tmp_path: Path) -> None:
    """The ending says how to write, and must be one that does."""
    for name, count, message in (
        ("a.txt", 1, "must end in .npz, .jsonl or .json"),
        ("a.json", 2, "a .json file holds one instance, not 2"),
        ("none/a.npz", 1, "there is no folder"),
    ):
        words = ("--count", count, "--out", tmp_path / name)
        complaint = call.complaint("generate", "paper", *words)
        assert str(tmp_path / name) in complaint
        assert message in complaint
    assert list(tmp_path.iterdir()) == []


def test_not_enough_memory(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request beyond all memory is a clear error as well."""

    def fail(*given: object) -> list[Instance]:
        raise MemoryError

    monkeypatch.setitem(decost.problem.generators.FAMILIES, "paper", fail)
    assert call.complaint("generate", "paper", "--out", tmp_path / "a.npz") == "not enough memory"


# Bad input.

STOP = {"x": 3, "y": 4}
BAD: dict[str, tuple[str | dict[str, Any], str]] = {
    "broken JSON": ('{"format": ', "line 1, column 12: broken JSON"),
    "wrong format": (document(format="other"), "format = 'other'"),
    "wrong version": (document(version=2), "version = 2"),
    "unknown field": (document(colour="red"), "colour = 'red': unknown field"),
    "nan": (document(budget=float("nan")), "budget = nan"),
    "infinity": (document(stops=[STOP | {"open": float("inf")}]), "stops[0].open = inf"),
    "negative budget": (document(budget=-1), "budget = -1.0"),
    "negative stay": (document(stops=[STOP | {"min_stay": -2}]), "stop 1: min_stay = -2.0"),
    "negative travel": (document(stops=[], travel=[[-1]]), "travel[0][0] = -1.0"),
    "negative rate": (document(stops=[STOP | {"rate": -2, "max_stay": 1}]), "stops[0].rate = -2"),
    "negative reward": (document(stops=[STOP | {"reward": -2}]), "stop 1: reward = -2.0"),
    "window": (
        document(stops=[STOP | {"open": 5, "close": 4}]),
        "stop 1: close = 4.0: is less than",
    ),
    "rising rates": (
        document(stops=[STOP | {"id": "a", "profit": [[1, 1], [2, 1]]}]),
        "stop 'a': profit[1] = [2.0, 1.0]: rates must not rise",
    ),
    "stays": (
        document(stops=[STOP | {"rate": 1, "min_stay": 3, "max_stay": 2}]),
        "stops[0].max_stay = 2.0: is less than min_stay = 3.0",
    ),
    "matrix": (document(travel=[[0, 1], [1, 0]]), "travel: has 2 rows, must be 3"),
    "duplicate ids": (document(stops=[STOP | {"id": "a"}] * 2), "id = 'a': two stops have it"),
    "no vehicles": (document(vehicles=0), "vehicles = 0: must be from 1 to 1000"),
    "a million stops": (document(stops=[{}] * 10**6), "stops = list of 1000000: "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(call: Call, tmp_path: Path, case: str) -> None:
    """A bad file is told in one line with file, field and value; the old plan is kept."""
    content, message = BAD[case]
    path, plan = tmp_path / "bad.json", tmp_path / "plan.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    plan.write_text("old")
    for words in (["solve", path, "--out", plan], ["check", path, plan]):
        assert call.complaint(*words).startswith(f"{path}: {message}")
    assert plan.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("case", ["broken JSON", "nan", "rising rates", "a million stops"])
def test_bad_files_in_a_process(tmp_path: Path, case: str) -> None:
    """The same of the program itself: exit 2, one line, no traceback."""
    content, message = BAD[case]
    path = tmp_path / "bad.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    code, out, err = run("solve", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"decost: {path}: {message}")


def test_numbers_that_overflow(tmp_path: Path) -> None:
    """No warning of numpy is printed beside the complaint."""
    path = tmp_path / "far.json"
    path.write_text(json.dumps(document(stops=[STOP | {"x": 1e308}, STOP | {"x": -1e308}])))
    code, _, err = run("solve", path)
    assert (code, err) == (2, f"decost: {path}: speed = 1.0: travel times are not finite\n")


def test_files_that_cannot_be_opened(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file, a folder, a link in a circle, a file of another user."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert (
        call.complaint("solve", tmp_path / "none") == f"{tmp_path}/none: No such file or directory"
    )
    assert call.complaint("solve", tmp_path) == f"{tmp_path}: Is a directory"
    assert call.complaint("solve", loop) == f"{loop}: Too many levels of symbolic links"
    assert call.complaint("solve", "a\nb") == "a b: No such file or directory"

    def deny(self: Path, *given: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", deny)
    assert call.complaint("solve", "secret.json") == "secret.json: Permission denied"


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_outputs_that_cannot_be_written(
    call: Call, trip: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """That is said before the work begins, not after."""
    monkeypatch.setattr("decost.solver.solve", lambda *given, **options: pytest.fail("solved"))
    missing = trip.parent / "none" / "a.png"
    words = ("solve", trip, option)
    assert call.complaint(*words, missing) == f"{missing}: there is no folder {missing.parent}"
    assert call.complaint(*words, trip.parent) == f"{trip.parent}: is a folder"
    monkeypatch.setattr(os, "access", lambda place, mode, **options: mode != os.W_OK)
    denied = trip.parent / "a.png"
    assert call.complaint(*words, denied) == f"{denied}: cannot be written"


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_the_instance_is_not_overwritten(call: Call, trip: Path, option: str) -> None:
    """A plan or picture does not take the place of the instance, under whatever name."""
    before = trip.read_text()
    link = trip.with_name("link.png")
    link.symlink_to(trip)
    for path in (trip, trip.parent / ".." / trip.parent.name / trip.name, link):
        complaint = call.complaint("solve", trip, option, path)
        assert complaint == f"{path}: is the instance itself, and would be lost"
    assert trip.read_text() == before


@pytest.mark.parametrize("way", ["same", "other words", "link"])
def test_plan_and_picture_apart(call: Call, trip: Path, way: str) -> None:
    """A picture does not take the place of the plan, whatever the two are called."""
    plan = picture = trip.with_name("plan.png")
    if way == "other words":
        picture = trip.parent / ".." / trip.parent.name / "plan.png"
    elif way == "link":
        picture = trip.with_name("link.png")
        picture.symlink_to(plan)
    complaint = call.complaint("solve", trip, "--out", plan, "--plot", picture)
    assert complaint == f"--out {plan}, --plot {picture}: one would overwrite the other"
    assert not plan.exists()


def test_pictures_that_are_none(call: Call, trip: Path, many: Path, tmp_path: Path) -> None:
    """A picture has an ending for pictures, and shows one plan."""
    picture = tmp_path / "a.png"
    for words, message in (
        (("solve", trip, "--plot", "a.txt"), "a.txt: a picture must end in .png, .pdf or .svg"),
        (("plot", trip, trip, "--out", "a.txt"), "a.txt: a picture must end in"),
        (("solve", many, "--plot", picture), "holds a set; only a single plan can be drawn"),
        (("plot", many, trip, "--out", picture), "holds a set; only a single plan can be drawn"),
    ):
        assert message in call.complaint(*words)
    assert not picture.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "gredy"], "method 'gredy': unknown, choose from: "),
        (["--seed", "-1"], "option seed = -1: "),
        (["--seed", "x"], "--seed"),
        (["--time-limit", "-1"], "option time_limit = -1.0: "),
        (["--time-limit", "nan"], "option time_limit = nan: "),
        (["--vehicles", "0"], "vehicles = 0: must be from 1 to 1000"),
        (["--profit", "x"], "profit = 'x': must be fixed or variable"),
        (["--truncate", "10"], "truncate = '10': must be from 0 to 9, none or auto"),
        (["--profit", "variable"], "profit and truncate are for Solomon's and KU Leuven's files"),
        (["--truncate", "2"], "profit and truncate are for Solomon's and KU Leuven's files"),
        (["--nonsense"], "--nonsense: not an option with a value; greedy takes --seed, "),
        (["--nonsense", "1"], "option nonsense = '1': unknown, greedy takes: seed, "),
        (["-x"], "-x: unexpected"),
        (["more.json"], "more.json: unexpected"),
    ],
)
def test_wrong_words(call: Call, trip: Path, words: list[str], message: str) -> None:
    """A wrong option or value is told in one line; nothing is ignored."""
    if "--method" not in words:
        words = ["--method", "greedy", *words]
    assert message in call.complaint("solve", trip, *words)


def test_threads(call: Call, many: Path) -> None:
    """No threads, no work."""
    words = ("--method", "greedy", "--threads", "0")
    assert call.complaint("solve", many, *words) == "threads = 0: must be at least 1"


def test_teams(method: str, call: Call, trip: Path) -> None:
    """A method for one vehicle says so."""
    words = ("solve", trip, *chosen(method), "--vehicles", 2)
    if decost.get_method(method).teams:
        assert call(*words).code == 0
    else:
        assert "vehicles = 2" in call.complaint(*words)


# A plan to start from.


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
    other.write_text(json.dumps(document(budget=15)))
    complaint = call.complaint(*words)
    assert complaint == (
        "option start: the plan is not feasible: route 1: back after the budget by 5 [budget]"
    )


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


def test_progress_is_not_for_the_command_line(improving: str, call: Call, trip: Path) -> None:
    """A listener is for Python alone."""
    complaint = call.complaint("solve", trip, "--method", improving, "--progress", "x")
    assert complaint == "--progress: unexpected"


# Options of a method.


@pytest.fixture
def options(registry: None) -> list[Options]:
    """Register a method with options of its own, and note which it gets."""
    seen: list[Options] = []

    class OwnOptions(Options):
        width: int = 3
        start_at: float = 0.5
        fast: bool = False
        label: str = ""

    def function(instance: Instance, given: OwnOptions) -> Result:
        seen.append(given)
        return Result(instance, decost.make_solution(instance, [], []), "feasible")

    decost.register(Method("own", "For the tests.", function, OwnOptions))
    return seen


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["--width", "5"], {"width": 5}),
        (["--width=5", "--seed", "9"], {"width": 5, "seed": 9}),
        (["--start-at", "-1.5"], {"start_at": -1.5}),
        (["--fast"], {"fast": True}),
        (["--fast", "--width", "4"], {"fast": True, "width": 4}),
        (["--no-fast"], {"fast": False}),
        (["--fast=false"], {"fast": False}),
        (["--label", "a=b c"], {"label": "a=b c"}),
        (["--label=--x"], {"label": "--x"}),
        (["--label="], {"label": ""}),
        (["--time-limit", "inf"], {"time_limit": float("inf")}),
    ],
)
def test_method_options(
    call: Call, trip: Path, options: list[Options], words: list[str], expected: dict[str, Any]
) -> None:
    """Options of a method are given as --name value, --name=value, --flag or --no-flag."""
    code, _, err = call("solve", trip, "--method", "own", "--json", *words)
    assert (code, err) == (0, "")
    defaults = {
        "width": 3,
        "start_at": 0.5,
        "fast": False,
        "label": "",
        "seed": 0,
        "time_limit": None,
    }
    assert options[0].model_dump() == defaults | expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--width", "many"], "option width = 'many': "),
        (
            ["--width"],
            "--width: not an option with a value; own takes --seed, --time-limit, --width",
        ),
        (["--width", "--fast"], "--width: not an option with a value"),
        (["--no-width"], "--no-width: not an option with a value"),
        (["--depth", "3"], "option depth = '3': unknown, own takes: seed, time_limit, width"),
        (["--start-at", "nan"], "option start_at = 'nan': "),
        (["--width", "1", "2"], "2: unexpected"),
    ],
)
def test_wrong_method_options(
    call: Call, trip: Path, options: list[Options], words: list[str], message: str
) -> None:
    """What a method does not take is told, with what it does take."""
    assert call.complaint("solve", trip, "--method", "own", *words).startswith(message)
    assert options == []


def test_method_options_before_the_file(call: Call, trip: Path, options: list[Options]) -> None:
    """A method's option in front of the file is not taken for the file."""
    complaint = call.complaint("solve", "--method", "own", "--width", "5", trip)
    assert complaint == "--width: options of a method come after FILE"


def test_methods(call: Call, options: list[Options]) -> None:
    """All methods are listed with their line, and options of their own with their defaults.

    What is on by default is listed by the flag that switches it off.
    """
    code, out, err = call("methods")
    assert (code, err) == (0, "")
    for method in decost.list_methods():
        assert any(
            line.split() == [method.name, *method.description.split()] for line in out.splitlines()
        )
        for name, field in method.options.model_fields.items():
            if name not in ImprovingOptions.model_fields:
                no = "no-" if field.default is True else ""
                assert f"--{no}{name.replace('_', '-')} " in out
    assert "[0.5]" in out


def test_models(call: Call) -> None:
    """All weights that come with the package are listed, with the command that trained them."""
    code, out, err = call("models")
    assert (code, err) == (0, "")
    names = ("generalist", "gfacs", "pomo")
    for name in names:
        assert any(line.split()[0] == name for line in out.splitlines())
    assert out.count("command: decost train ") == len(names)


def test_train_help(call: Call) -> None:
    """All settings of a training are listed with their defaults; what is on can be put off."""
    code, out, err = call("train", "--help")
    assert (code, err) == (0, "")
    for words in ("--epochs", "[800]", "--no-ptar", "--teacher", "--resume", "--device"):
        assert words in out


# The program as such.


def test_help_and_version(call: Call) -> None:
    """Without a command there is help, which names the commands; the version is the package's."""
    for words in ([], ["--help"]):
        code, out, err = call(*words)
        assert (code, err) == (0, "")
        for command in ("solve", "check", "generate", "plot", "methods", "models", "train"):
            assert command in out
    assert call("--version") == (0, f"decost {decost.__version__}\n", "")
    assert "--time-limit" in call("solve", "--help").out
    assert call.complaint("slove").startswith("No such command 'slove'.")
    assert "Missing argument" in call.complaint("solve")


def test_closed_output(trip: Path) -> None:
    """Without a stdout the work is done all the same."""
    plan = trip.with_name("plan.json")
    command = [sys.executable, "-m", "decost", "solve", trip, "--method", "greedy", "--out", plan]
    for words in ([], ["--json"]):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *command, *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(plan.read_text())["profit"] == pytest.approx(20)
        plan.unlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_output(trip: Path) -> None:
    """If nothing can be printed any more, that is an error in one line."""
    with Path("/dev/full").open("w") as full:
        process = start("solve", trip, "--method", "greedy", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "decost: [Errno 28] No space left on device\n"


def test_output_to_a_pipe(trip: Path) -> None:
    """The plan may be written to /dev/stdout, and the instance read from /dev/stdin."""
    code, out, err = run("solve", trip, "--method", "greedy", "--json", "--out", "/dev/stdout")
    assert (code, err) == (0, "")
    plan, _, answer = out.rpartition("}\n{")
    assert json.loads(plan + "}")["routes"] == json.loads("{" + answer)["routes"]
    process = start("solve", "/dev/stdin", "--json", stdin=subprocess.PIPE)
    out, err = process.communicate(trip.read_text(), timeout=60)
    assert (process.returncode, err) == (0, "")
    assert list(json.loads(out)) == KEYS


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_terminals_without_all_letters(tmp_path: Path, encoding: str) -> None:
    """What cannot be shown is replaced; the plan is printed all the same."""
    path = tmp_path / "caf\u00e9.json"
    stops = [{"id": "\u2603 caf\u00e9", "x": 0, "y": 0, "reward": 1}]
    path.write_text(json.dumps(document(stops=stops)))
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    process = start(
        "solve", path, "--method", "greedy", env=environment, encoding=encoding, text=None
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    expected = "\u2603 caf\u00e9".encode(encoding, errors="replace").decode(encoding)
    assert any(line.strip(" |").startswith(f"{expected} ") for line in out.splitlines())


def test_large_numbers_are_printed(call: Call, tmp_path: Path) -> None:
    """Nothing breaks on numbers that no table has room for."""
    path = tmp_path / "large.json"
    stops = [{"x": 1e300, "y": 0, "rate": 1e-5, "max_stay": 1e300, "reward": 1e300}]
    path.write_text(json.dumps(document(budget=1e301, stops=stops)))
    code, out, err = call("solve", path, "--method", "greedy")
    assert (code, err) == (0, "")
    assert "1 of 1 stops" in out
    assert np.isfinite(
        json.loads(call("solve", path, "--method", "greedy", "--json").out)["profit"]
    )
