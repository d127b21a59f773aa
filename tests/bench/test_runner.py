"""Tests of the runner: rows that outlive a kill, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toys import Toy, ToyConfig, rows_file

from decost.experiments import runner
from decost.experiments.runner import (
    ExperimentError,
    Folders,
    Key,
    News,
    Task,
    run_experiment,
)
from decost.experiments.tables import machine_name


def run(toy: Toy, folder: Path) -> str:
    """Run a toy, and give its table."""
    paths = run_experiment(toy.experiment, "quick", Folders(folder), command="decost bench toy")
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
    with pytest.raises(ExperimentError) as caught:
        run(Toy(ToyConfig(tasks=3)), tmp_path)
    for words in (str(rows_file(tmp_path)), "tasks was 2, is 3", "remove the file", "--out"):
        assert words in str(caught.value)
    assert rows_file(tmp_path).read_bytes() == before


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of another format are not read."""
    run(Toy(ToyConfig()), tmp_path)
    before, after = runner.FORMAT, runner.FORMAT + 1
    monkeypatch.setattr(runner, "FORMAT", after)
    with pytest.raises(ExperimentError, match=f"format was {before}, is {after}"):
        run(Toy(ToyConfig()), tmp_path)


@pytest.mark.parametrize("line", [b"{}", b"[1]", b"no JSON", b"\xff\xfe", b"null"])
def test_a_line_that_is_no_row_is_refused(tmp_path: Path, line: bytes) -> None:
    """A complete line that is no row is an error that names the line, not a row lost in silence."""
    run(Toy(ToyConfig()), tmp_path)
    lines = rows_file(tmp_path).read_bytes().splitlines()
    lines[2] = line
    rows_file(tmp_path).write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(ExperimentError, match=r"line 3 is no row; remove the file"):
        run(Toy(ToyConfig()), tmp_path)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """A file without a whole line is taken for a torn head only if a head begins like that."""
    path = rows_file(tmp_path)
    path.write_bytes(b"my only copy")
    with pytest.raises(ExperimentError, match="holds no rows"):
        run(Toy(ToyConfig()), tmp_path)
    assert path.read_bytes() == b"my only copy"


def test_ctrl_c_leaves_no_row_of_its_task(tmp_path: Path) -> None:
    """Ctrl-C ends a run at once, and the task that was under way is done by the next."""

    def interrupt(task: int) -> None:
        if task == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(2)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(Toy(ToyConfig(), interrupt), tmp_path)
    assert time.monotonic() - begin < 1
    again = Toy(ToyConfig())
    run(again, tmp_path)
    assert again.done == [2, 3, 4]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    """A run that finds another at work in its folder ends, and leaves the rows alone."""
    pytest.importorskip("fcntl")

    def start_another(task: int) -> None:
        if task == 1:
            with pytest.raises(ExperimentError, match="another run is at work"):
                run(Toy(ToyConfig()), tmp_path)

    toy = Toy(ToyConfig(), start_another)
    run(toy, tmp_path)
    assert toy.done == [0, 1, 2, 3, 4]


def test_rows_are_json_lines_with_their_keys(tmp_path: Path) -> None:
    """The file of rows can be read by anyone: a head, and an object a row."""
    run(Toy(ToyConfig(tasks=2)), tmp_path)
    head, *rows = map(json.loads, rows_file(tmp_path).read_text().splitlines())
    assert (head["experiment"], head["format"], head["config"]["tasks"]) == (
        "toy",
        runner.FORMAT,
        2,
    )
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", row.pop("at")) for row in rows)
    assert {row.pop("machine") for row in rows} == {machine_name()}
    key = {"setting": "toys", "method": "count", "seed": 0, "files": ""}
    assert rows == [key | {"instance": k, "value": 10 * k} for k in range(2)]


def test_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two tasks of three seconds each, three more are expected to take nine."""
    clock = [0.0]
    monkeypatch.setattr("decost.experiments.runner.time.perf_counter", lambda: clock[0])

    def work(task: int) -> None:
        clock[0] += 3.0

    news: list[News] = []
    toy = Toy(ToyConfig(), work)
    run_experiment(toy.experiment, "quick", Folders(tmp_path), report=news.append)
    assert [one.done for one in news] == [0, 1, 2, 3, 4, 5]
    assert {one.total for one in news} == {5}
    assert [one.left for one in news] == [0.0, 12.0, 9.0, 6.0, 3.0, 0.0]
    assert [one.next for one in news] == ["toys: count"] * 5 + [""]


def test_time_left_of_other_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method takes as long as in another setting, and one that has not run what its task says.

    At first 10 + 10 + 1 + 1 are expected; "a" takes 2, so that the other "a" does as well; that one
    takes 6, and is not asked for any more; "b" takes 5, so that the other does too.
    """
    clock = [0.0]
    monkeypatch.setattr("decost.experiments.runner.time.perf_counter", lambda: clock[0])
    plan = (("x", "a", 10, 2), ("y", "a", 10, 6), ("x", "b", 1, 5), ("x", "b", 1, 5))

    def task(number: int) -> Task:
        setting, method, expected, seconds = plan[number]

        def measure() -> list[dict[str, Any]]:
            clock[0] += seconds
            return [{"value": number}]

        return Task((Key(setting, number, method),), measure, expected)

    tasks = [task(number) for number in range(4)]
    experiment = replace(Toy(ToyConfig()).experiment, tasks=lambda config, folders: tasks)
    news: list[News] = []
    run_experiment(experiment, "quick", Folders(tmp_path), report=news.append)
    assert [one.left for one in news] == [22.0, 4.0, 2.0, 5.0, 0.0]


def test_time_left_of_other_methods_of_a_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one training of 7 seconds, two of other methods are expected to take as long."""
    clock = [0.0]
    monkeypatch.setattr("decost.experiments.runner.time.perf_counter", lambda: clock[0])

    def measure() -> list[dict[str, Any]]:
        clock[0] += 7.0
        return [{"value": 0}]

    tasks = [Task((Key("x", 0, method),), measure, kind="training") for method in "abc"]
    experiment = replace(Toy(ToyConfig()).experiment, tasks=lambda config, folders: tasks)
    news: list[News] = []
    run_experiment(experiment, "quick", Folders(tmp_path), report=news.append)
    assert [one.left for one in news] == [0.0, 14.0, 7.0, 0.0]


def test_the_head_of_the_table(tmp_path: Path) -> None:
    """The Markdown says on what machine, when, by which command, and what the scale leaves out."""
    toy = Toy(ToyConfig(reduced="five toys"))
    path, *_ = run_experiment(
        toy.experiment, "quick", Folders(tmp_path), command="decost bench toy --scale quick"
    )
    text = path.read_text()
    for words in (
        "# A toy",
        "Nothing of the paper",
        f"{os.cpu_count()} cores",
        "Python 3.",
        "measured from 20",
        "`decost bench toy --scale quick`",
        "scale quick: five toys",
        "| instance | value |",
        "| 4 | 40 |",
    ):
        assert words in text
