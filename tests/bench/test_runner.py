"""Tests of the runner: rows that outlive a kill, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toys import Toy, ToyConfig, rows_file

from decost import __version__, compiling
from decost.bench import BenchError, runner
from decost.bench.contender import Contender
from decost.bench.runner import News, run_bench
from decost.bench.schema import Folders, Key, Task
from decost.bench.tables import machine_name


def run(toy: Toy, folder: Path) -> str:
    """Run a toy, and give its table."""
    paths = run_bench(toy.bench, "quick", Folders(folder), command="decost bench toy")
    assert [path.name for path in paths] == ["toy-quick.md", "toy-quick.csv"]
    return (folder / "toy-quick.csv").read_text()


def fail_at(number: int) -> Toy:
    """Make a toy that breaks down at the beginning of a task."""

    def fail(task: int) -> None:
        if task == number:
            raise RuntimeError("power failure")

    return Toy(ToyConfig(), fail)


def test_every_task_runs_once_and_in_order(tmp_path: Path) -> None:
    """The table has the rows in the order of the tasks; a second run measures nothing."""
    toy = Toy(ToyConfig(tasks=3, batch=2))
    table = run(toy, tmp_path / "new" / "folder")
    assert list(csv.reader(table.splitlines())) == [
        ["instance", "value"],
        *([str(k), str(v)] for k, v in enumerate((0, 1, 10, 11, 20, 21))),
    ]
    assert toy.done == [0, 1, 2]
    assert run(toy, tmp_path / "new" / "folder") == table
    assert toy.done == [0, 1, 2]


def test_cpu_time(tmp_path: Path) -> None:
    """Tasks may count CPU time, which stands still while nothing is done; rows are kept apart."""
    seconds = []

    def wait(task: int) -> None:
        begin = compiling.clock()
        time.sleep(0.2)
        seconds.append(compiling.clock() - begin)

    toy = Toy(ToyConfig(tasks=2), wait)
    paths = run_bench(toy.bench, "quick", Folders(tmp_path), clock="cpu")
    assert max(seconds) < 0.15
    assert "seconds are CPU time" in paths[0].read_text()
    begin = compiling.clock()
    time.sleep(0.2)
    assert compiling.clock() - begin >= 0.19
    with pytest.raises(BenchError, match="clock was 'cpu', is 'wall'"):
        run_bench(toy.bench, "quick", Folders(tmp_path))
    with pytest.raises(BenchError, match="one thread"):
        run_bench(toy.bench, "quick", Folders(tmp_path), clock="cpu", threads=2)


def test_a_broken_run_goes_on(tmp_path: Path) -> None:
    """What was measured before a failure is kept, on the disk already when the next task begins."""
    toy = fail_at(3)
    with pytest.raises(RuntimeError, match="power failure"):
        run(toy, tmp_path)
    assert len(rows_file(tmp_path).read_text().splitlines()) == 1 + 3
    assert not (tmp_path / "toy-quick.csv").exists()
    again = Toy(ToyConfig())
    table = run(again, tmp_path)
    assert again.done == [3, 4]
    assert table == run(Toy(ToyConfig()), tmp_path / "undisturbed")


@pytest.mark.parametrize("cut", [1, 5, 20])
@pytest.mark.parametrize("lines", [1, 2, 4])
def test_a_torn_line_is_dropped(tmp_path: Path, lines: int, cut: int) -> None:
    """If the last line is incomplete, even the first of all, its task is done once more."""
    table = run(Toy(ToyConfig()), tmp_path)
    path = rows_file(tmp_path)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:lines])[:-cut])
    again = Toy(ToyConfig())
    assert run(again, tmp_path) == table
    assert again.done == list(range(max(0, lines - 2), 5))
    after = path.read_bytes().splitlines()
    assert [without_minute(line) for line in after] == [without_minute(line) for line in whole]


def without_minute(line: bytes) -> dict[str, Any]:
    """Read a row without the minute in which it was measured."""
    row: dict[str, Any] = json.loads(line)
    row.pop("at", None)
    return row


def test_a_batch_counts_when_it_is_complete(tmp_path: Path) -> None:
    """If some rows of a batch are lost, all of it is measured again, and no row is there twice."""
    config = ToyConfig(tasks=2, batch=3)
    table = run(Toy(config), tmp_path)
    path = rows_file(tmp_path)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]))
    again = Toy(config)
    assert run(again, tmp_path) == table
    assert again.done == [1]


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    """Rows of other settings are not mixed in; the message says what differs and what to do."""
    run(Toy(ToyConfig(tasks=2)), tmp_path)
    before = rows_file(tmp_path).read_bytes()
    with pytest.raises(BenchError) as caught:
        run(Toy(ToyConfig(tasks=3)), tmp_path)
    for words in (str(rows_file(tmp_path)), "tasks was 2, is 3", "remove the file", "--out"):
        assert words in str(caught.value)
    assert rows_file(tmp_path).read_bytes() == before


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of another format are not read."""
    run(Toy(ToyConfig()), tmp_path)
    before, after = runner.FORMAT, runner.FORMAT + 1
    monkeypatch.setattr(runner, "FORMAT", after)
    with pytest.raises(BenchError, match=f"format was {before}, is {after}"):
        run(Toy(ToyConfig()), tmp_path)


@pytest.mark.parametrize("line", [b"[1]", b"no JSON", b"\xff\xfe", b"null"])
def test_a_line_that_is_no_row_is_refused(tmp_path: Path, line: bytes) -> None:
    """A complete line that is no row is an error that names the line, not a row lost in silence."""
    run(Toy(ToyConfig()), tmp_path)
    lines = rows_file(tmp_path).read_bytes().splitlines()
    lines[2] = line
    rows_file(tmp_path).write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(BenchError, match=r"line 3 is no row; remove the file"):
        run(Toy(ToyConfig()), tmp_path)


@pytest.mark.parametrize("field", ["setting", "options", "version", "value"])
@pytest.mark.parametrize("other", [None, [7]], ids=["missing", "other"])
def test_a_row_that_lacks_a_field_is_refused(
    tmp_path: Path, field: str, other: list[int] | None
) -> None:
    """After an edit by hand the message names line and field, of the key or of what is measured."""
    run(Toy(ToyConfig()), tmp_path)
    lines = rows_file(tmp_path).read_text().splitlines()
    row = json.loads(lines[2])
    del row[field]
    lines[2] = json.dumps(row if other is None else row | {field: other})
    rows_file(tmp_path).write_text("\n".join(lines) + "\n")
    with pytest.raises(BenchError) as caught:
        run(Toy(ToyConfig()), tmp_path)
    assert f"line 3, field {field}: " in str(caught.value)
    assert "remove the file" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """A file without a whole line is taken for a torn head only if a head begins like that."""
    path = rows_file(tmp_path)
    path.write_bytes(b"my only copy")
    with pytest.raises(BenchError, match="holds no rows"):
        run(Toy(ToyConfig()), tmp_path)
    assert path.read_bytes() == b"my only copy"


def test_ctrl_c_leaves_no_row_of_its_task(tmp_path: Path) -> None:
    """Ctrl-C ends a run while a task is under way, and that one is done by the next run."""
    over = threading.Event()

    def interrupt(task: int) -> None:
        if task == 2:
            os.kill(os.getpid(), signal.SIGINT)
            assert over.wait(60), "the run waited for its task"

    toy = Toy(ToyConfig(), interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path)
    assert toy.done == [0, 1]
    over.set()
    again = Toy(ToyConfig())
    run(again, tmp_path)
    assert again.done == [2, 3, 4]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    """A run that finds another at work in its folder ends, and leaves the rows alone."""
    pytest.importorskip("fcntl")

    def start_another(task: int) -> None:
        if task == 1:
            with pytest.raises(BenchError, match="another run is at work"):
                run(Toy(ToyConfig()), tmp_path)

    toy = Toy(ToyConfig(), start_another)
    run(toy, tmp_path)
    assert toy.done == [0, 1, 2, 3, 4]


def test_rows_are_json_lines_with_their_keys(tmp_path: Path) -> None:
    """The file of rows can be read by anyone: a head, and an object a row."""
    run(Toy(ToyConfig(tasks=2)), tmp_path)
    head, *rows = map(json.loads, rows_file(tmp_path).read_text().splitlines())
    known = (head["bench"], head["format"], head["version"], head["config"]["tasks"])
    assert known == ("toy", runner.FORMAT, __version__, 2)
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", row.pop("at")) for row in rows)
    assert {row.pop("machine") for row in rows} == {machine_name()}
    assert {row.pop("version") for row in rows} == {__version__}
    contender = {"method": "count", "options": {"speed": "2"}, "label": ""}
    key = contender | {"setting": "toys", "seed": 0, "files": ""}
    assert rows == [key | {"instance": k, "value": 10 * k} for k in range(2)]


def test_several_tasks_at_a_time(tmp_path: Path) -> None:
    """Two tasks wait for each other, so that they end only if they are done at the same time."""
    together = threading.Barrier(2, timeout=120)
    toy = Toy(ToyConfig(tasks=4), lambda task: together.wait())
    run_bench(toy.bench, "quick", Folders(tmp_path), threads=2)
    alone = Toy(ToyConfig(tasks=4))
    assert run(alone, tmp_path) == run(Toy(ToyConfig(tasks=4)), tmp_path / "alone")
    assert alone.done == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Take times by a clock that stands still; its time is the first of the list."""
    time = [0.0]
    monkeypatch.setattr("decost.bench.runner.time.perf_counter", lambda: time[0])
    return time


def test_time_left(tmp_path: Path, clock: list[float]) -> None:
    """At first 10 + 10 + 1 + 1 are expected; each is expected to take what one of its kind took.

    By hand: "a" takes 2 s in x, so that the other one there does as well; trainings take 7 s each.
    """
    plan = (("x", "a", 10, "", 2), ("x", "a", 10, "", 2), ("x", "b", 1, "training", 7))
    plan = (*plan, ("y", "c", 1, "training", 7))

    def task(number: int) -> Task:
        setting, method, expected, kind, seconds = plan[number]

        def measure() -> list[dict[str, Any]]:
            clock[0] += seconds
            return [{"value": number}]

        key = Key(setting, number, Contender.of(method))
        return Task((key,), measure, expected=expected, kind=kind)

    tasks = [task(number) for number in range(4)]
    bench = replace(Toy(ToyConfig()).bench, tasks=lambda config, folders: tasks)
    news: list[News] = []
    run_bench(bench, "quick", Folders(tmp_path), report=news.append)
    assert [one.left for one in news] == [22.0, 4.0, 2.0, 7.0, 0.0]
    assert [(one.done, one.total) for one in news] == [(done, 4) for done in range(5)]
    assert [one.next for one in news] == ["x: a", "x: a", "x: b", "y: c", ""]


def test_the_head_of_the_table(tmp_path: Path) -> None:
    """The Markdown says on what machine, when, by which command, and what the scale leaves out."""
    toy = Toy(ToyConfig(reduced="five toys"))
    path, *_ = run_bench(toy.bench, "quick", Folders(tmp_path), command="decost bench toy", batch=2)
    text = path.read_text()
    for words in (
        "# A toy\n",
        f"{os.cpu_count()} cores",
        "measured from 20",
        f"with decost {__version__}",
        "`decost bench toy`",
        "scale quick: five toys; but other batch",
        "| instance | value |",
        "| 9 | 41 |",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tasks": "many"}, "--tasks many: Input should be a valid integer"),
        ({"slow": " , "}, "--slow ' , ': names none"),
        ({"settings": "50:x"}, "setting '50:x': is not like 50:100"),
        ({"prover": "exact fast"}, "method 'exact fast': 'fast' is not like option=value"),
        ({"reduced": "x"}, "No such option: --reduced; there are --methods, --prover"),
        ({"methods": "greedy"}, "methods: toy has no choice of methods"),
    ],
)
def test_changes_that_cannot_be(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    """A field that does not exist, or a value that it cannot have, is named at once."""
    with pytest.raises(BenchError) as caught:
        run_bench(Toy(ToyConfig()).bench, "quick", Folders(tmp_path), **changes)
    assert str(caught.value).startswith(complaint)
    assert list(tmp_path.iterdir()) == []


def test_changes_are_read_as_on_the_command_line() -> None:
    """Several values have commas between them."""
    settings = "50:500, 20, 9:50:3:mixed, 500:100:1:paper:10"
    config = Toy(ToyConfig()).bench.config("quick", settings=settings, slow="a", tasks="7")
    names = ["n=50, TW=500", "n=20, TW=100", "mixed n=9, TW=50, 3 vehicles", "n=500, TW=100"]
    assert [one.name for one in config.settings] == names
    assert [one.size(20) for one in config.settings] == [20, 20, 20, 10]
    assert (config.slow, config.tasks) == (("a",), 7)
