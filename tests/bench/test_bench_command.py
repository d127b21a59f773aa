"""Tests of `decost bench`: killed runs, complaints, and what is listed and skipped."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toys import Toy, ToyConfig, rows_file

import decost.bench
from conftest import Bench

METHODS = "greedy,ils iterations=20,search iterations=100,exact"


SMALL = ("--settings", "40:100,60:100,40:500,60:500", "--count", "20")


def start(out: Path) -> subprocess.Popen[bytes]:
    """Start a run whose plans depend on no clock."""
    words = ("bench", "main", "--out", str(out), "--methods", METHODS, *SMALL)
    return subprocess.Popen(
        [sys.executable, "-m", "decost", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(out: Path) -> None:
    """Run to the end."""
    with start(out) as process:
        _, complaint = process.communicate(timeout=300)
        assert process.returncode == 0, complaint


def lines_of(path: Path) -> list[bytes]:
    """Give the complete lines that there are so far."""
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def end_after(out: Path, lines: int, how: signal.Signals) -> tuple[int, bytes]:
    """Start a run, and end it when there are so many rows; exit code and complaint."""
    path = out / "main-quick.rows.jsonl"
    with start(out) as process:
        deadline = time.monotonic() + 300
        while len(lines_of(path)) < lines:
            assert process.poll() is None, "it was over before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(how)
        _, complaint = process.communicate(timeout=300)
        return process.returncode, complaint


def table(out: Path) -> list[dict[str, str]]:
    """Give the table without the columns of times."""
    with (out / "main-quick.csv").open(newline="") as file:
        return [
            {name: cell for name, cell in line.items() if "time" not in name and "(ms)" not in name}
            for line in csv.DictReader(file)
        ]


def profits(out: Path) -> dict[str, float]:
    """Give every profit by its key."""
    _, *rows = map(json.loads, lines_of(out / "main-quick.rows.jsonl"))
    keys = ("setting", "instance", "method", "options")
    found = {json.dumps([row[key] for key in keys]): row["profit"] for row in rows}
    assert len(found) == len(rows), "a row was measured twice"
    return found


def test_a_killed_run_ends_in_the_same_table(tmp_path: Path) -> None:
    """Killed with -9 in the middle of a line, and by Ctrl-C: the table is the same.

    No row is measured twice, and all profits are those of a run that nobody disturbed.
    """
    finish(tmp_path / "undisturbed")
    out = tmp_path / "killed"
    path = out / "main-quick.rows.jsonl"
    kept: list[bytes] = []
    for lines, how in ((20, signal.SIGKILL), (100, signal.SIGINT)):
        code, complaint = end_after(out, lines, how)
        if how is signal.SIGKILL:
            assert code == -signal.SIGKILL
            path.write_bytes(path.read_bytes() + b'{"setting": "n=50, TW')
        else:
            assert code == 130
            assert b"the same command goes on" in complaint
            assert b"Traceback" not in complaint
        assert not (out / "main-quick.csv").exists()
        now = [line for line in lines_of(path) if line.endswith(b"\n")]
        assert now[: len(kept)] == kept
        kept = now
    finish(out)
    assert lines_of(path)[: len(kept)] == kept
    assert profits(out) == profits(tmp_path / "undisturbed")
    assert table(out) == table(tmp_path / "undisturbed")
    exact = [line for line in table(out) if line["method"] == "exact"]
    assert [line["gap (%)"] for line in exact] == ["0.00"] * 4
    assert all(line["proven by it"] == line["instances"] for line in exact)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("magic",), "bench 'magic': unknown, choose from: all, main, gaps, ablation,"),
        (("main", "--scale", "huge"), "scale 'huge': unknown, choose from: quick, full"),
        (("main", "--methods", "magic"), "method 'magic': unknown, choose from: auto,"),
        (("main", "--methods", "greedy,ils speed=3"), "option speed = '3': unknown, ils takes:"),
        (("main", "--methods", "greedy,ils fast"), "method 'ils fast': 'fast' is not like"),
        (("main", "--methods", ","), "--methods ',': names none"),
        (("main", "--methods", ""), "--methods '': names none"),
        (("main", "--data", "."), "--data .: main needs no data"),
        (("team", "--methods", "exact"), "method 'exact': plans for one vehicle, not for 3"),
        (("ablation", "--methods", "greedy"), "methods: ablation has no choice of methods"),
        (("all", "--methods", "greedy"), "--methods greedy: choose methods for one bench"),
        (("solomon",), "solomon: needs Solomon's files, --data FOLDER"),
        (("solomon", "--data", "no/folder"), "data no/folder: is no folder of benchmark files"),
        (("all", "--data", "no/folder"), "data no/folder: is no folder of benchmark files"),
        (("cards", "--weights", "x"), "cards: needs --table, --gaps"),
        (("main", "--fast"), "No such option: --fast"),
        (("main", "--fast", "3"), "No such option: --fast; there are --methods,"),
        (("main", "--count=x"), "--count x: Input should be a valid integer"),
        (("main", "here"), "'here': is no option"),
        (("main", "--threads", "0"), "--threads 0: must be at least 1"),
    ],
)
def test_complaints(bench: Bench, tmp_path: Path, words: tuple[str, ...], complaint: str) -> None:
    """Bad input ends in exit 2 and one line that names it, before anything is written."""
    out = tmp_path / "out"
    code, printed, err = bench(*words, "--out", out)
    assert (code, printed) == (2, "")
    assert err.startswith(f"decost: {complaint}")
    assert err.count("\n") == 1
    assert not out.exists()


def test_a_folder_without_files(bench: Bench, tmp_path: Path) -> None:
    """A folder of data without Solomon's files is named."""
    code, _, err = bench("solomon", "--data", tmp_path, "--out", tmp_path / "out")
    assert code == 2
    assert err.startswith(f"decost: data {tmp_path}: holds no .txt file")


def test_a_file_in_the_way(bench: Bench, tmp_path: Path) -> None:
    """If --out is a file, that is said."""
    (tmp_path / "out").write_text("mine")
    code, _, err = bench("main", "--out", tmp_path / "out", "--methods", "greedy")
    assert code == 2
    assert str(tmp_path / "out") in err
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("words", [(), ("--help",), ("main", "--help")])
def test_benches_are_listed(bench: Bench, words: tuple[str, ...]) -> None:
    """Without a name, or asked for help, every bench is listed with a line about it."""
    code, printed, err = bench(*words)
    assert (code, err) == (0, "")
    assert printed.startswith("Usage: decost bench NAME [--scale quick|full]")
    listed = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", printed, flags=re.MULTILINE)
    assert listed == list(decost.bench.NAMES)
    assert ("--slow-count 2" in printed) == ("main" in words)


def test_all_says_what_it_skips(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bench all` runs what it can, prints the tables, and says what it lacks for the others."""
    toy = Toy(ToyConfig(tasks=2))
    benches = (decost.bench.get_bench("solomon"), decost.bench.get_bench("cards"), toy.bench)
    monkeypatch.setattr(decost.bench, "list_benches", lambda: benches)
    code, printed, err = bench("all", "--out", tmp_path)
    assert code == 0
    assert "skipped solomon: it needs Solomon's files, --data FOLDER\n" in err
    assert "skipped cards: it needs --weights, --table, --gaps\n" in err
    assert "toy: 0 of 2 tasks done, about 0 s left; next toys: count speed=2\n" in err
    assert "| 1 | 10 |" in printed
    assert f"wrote {tmp_path / 'toy-quick.csv'}\n" in printed


def test_other_rows_are_refused_in_one_line(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of another configuration end in exit 2, with advice, and stay as they are."""
    toys = [Toy(ToyConfig(tasks=number)).bench for number in (2, 3)]
    monkeypatch.setattr(decost.bench, "get_bench", lambda name: toys.pop(0))
    assert bench("toy", "--out", tmp_path)[0] == 0
    before = rows_file(tmp_path).read_bytes()
    code, _, err = bench("toy", "--out", tmp_path)
    assert code == 2
    assert "tasks was 2, is 3); remove the file to begin anew" in err
    assert err.count("\n") == 1
    assert rows_file(tmp_path).read_bytes() == before
