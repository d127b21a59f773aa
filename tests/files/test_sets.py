"""Tests of sets that resume: what is kept, what is refused, and that the end is the same."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import decost
from command_line import Call, Ended
from decost import Instance, Method, Options, Result
from decost.files.sets import digest_of
from decost.planner.door import get_method, read_options
from decost.problem.records import Alternative, Place, Stop, Vehicle

COUNT = 6


class Crash(BaseException):
    """What nobody expects, and nothing deals with."""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process."""
    return Call(monkeypatch, capsys)


class Set:
    """A set with its output, solved by a method that can be told to fail."""

    def __init__(self, folder: Path, call: Call) -> None:
        self.folder, self.call = folder, call
        self.source, self.out = folder / "set.jsonl", folder / "plans.jsonl"
        self.part = folder / "plans.jsonl.part"
        self.instances = decost.generate("paper", nodes=9, window=300, count=COUNT, seed=4)
        self.solved: list[int] = []
        self.faults: dict[int, BaseException] = {}
        self.write()

    def write(self) -> None:
        """Write the instances, each by the name of its number."""
        self.instances = [one.replace(name=str(k)) for k, one in enumerate(self.instances)]
        decost.write(self.instances, self.source)

    def method(self, instance: Instance, options: Options) -> Result:
        """Solve greedily, and note what is solved."""
        number = int(instance.name)
        if number in self.faults:
            raise self.faults[number]
        self.solved.append(number)
        return decost.solve(instance, "greedy")

    def solve(self, *words: object) -> Ended:
        """Solve the set, one instance after another."""
        self.solved.clear()
        given = ("solve", self.source, "--method", "own", "--threads", 1, "--out", self.out)
        return self.call(*given, *words)

    def break_off(self, number: int) -> None:
        """Solve the set up to an instance at which the program crashes."""
        self.faults[number] = Crash()
        with pytest.raises(Crash):
            self.solve()
        self.call.capsys.readouterr()
        self.faults.clear()

    def rows(self, path: Path | None = None) -> list[dict[str, Any]]:
        """Read the lines of the output without their runtimes."""
        lines = (path or self.out).read_text().splitlines()
        return [{**json.loads(line), "runtime": 0} for line in lines]

    def names(self) -> set[str]:
        """Name what lies in the folder."""
        return {path.name for path in self.folder.iterdir()} - {"set.jsonl"}


@pytest.fixture
def some(tmp_path: Path, call: Call, registry: None) -> Set:
    """Make a set, and register its method."""
    one = Set(tmp_path, call)
    decost.register(Method("own", "For the tests.", one.method))
    return one


@pytest.fixture
def expected(some: Set) -> list[dict[str, Any]]:
    """Give the rows of an undisturbed run; then an old output is in its place."""
    assert some.solve().code == 0
    rows = some.rows()
    assert [row["index"] for row in rows] == list(range(COUNT))
    some.out.write_text("old")
    return rows


GOING_ON = "decost: going on with {} of 6 plans\n"


def cut_nothing(data: bytes) -> bytes:
    """Leave the part as it is."""
    return data


def cut_within_the_last(data: bytes) -> bytes:
    """Lose the end of the last line."""
    return data[:-9]


def cut_the_end_of_line(data: bytes) -> bytes:
    """Lose only the end of the last line's end."""
    return data[:-1]


def add_half(data: bytes) -> bytes:
    """Add the beginning of a line."""
    return data + b'{"index": 3, "meth'


def add_nothing_but_zeros(data: bytes) -> bytes:
    """Add what a crash of the machine may leave."""
    return data + b"\0" * 100 + b"\n"


def cut_within_the_head(data: bytes) -> bytes:
    """Lose all but the beginning of the head."""
    return data[:15]


def cut_all(data: bytes) -> bytes:
    """Lose everything."""
    return b""


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (cut_nothing, 3),
        (cut_within_the_last, 2),
        (cut_the_end_of_line, 2),
        (add_half, 3),
        (add_nothing_but_zeros, 3),
        (cut_within_the_head, 0),
        (cut_all, 0),
    ],
)
def test_goes_on(
    some: Set, expected: list[dict[str, Any]], damage: Callable[[bytes], bytes], kept: int
) -> None:
    """What is whole is not solved again, what is torn is, and the end is the same."""
    some.break_off(3)
    assert some.out.read_text() == "old"
    assert len(some.part.read_text().splitlines()) == 1 + 3
    some.part.write_bytes(damage(some.part.read_bytes()))
    code, _, err = some.solve()
    assert (code, err) == (0, GOING_ON.format(kept) if kept else "")
    assert some.solved == list(range(kept, COUNT))
    assert some.rows() == expected
    assert some.names() == {"plans.jsonl"}


def test_what_is_torn_is_cut_off(some: Set, expected: list[dict[str, Any]]) -> None:
    """Nothing of it stays in the part, also if the next run ends before it has a line."""
    some.break_off(3)
    whole = some.part.read_bytes()
    for damage in (add_half, add_nothing_but_zeros):
        some.part.write_bytes(damage(whole))
        some.break_off(3)
        assert some.part.read_bytes() == whole


def test_in_any_order(some: Set, expected: list[dict[str, Any]]) -> None:
    """Lines are kept as they come, and put in order in the end; --json prints all of them."""
    some.break_off(3)
    head, *lines = some.part.read_text().splitlines(keepends=True)
    some.part.write_text(head + lines[2] + lines[0])
    code, out, err = some.solve("--json")
    assert (code, err) == (0, GOING_ON.format(2))
    assert some.solved == [1, 3, 4, 5]
    assert out == some.out.read_text()
    assert some.rows() == expected


def test_finished_but_not_put_in_place(some: Set, expected: list[dict[str, Any]]) -> None:
    """If only the last step is missing, nothing is solved."""
    some.break_off(3)
    more = "".join(json.dumps(row) + "\n" for row in expected[3:])
    some.part.write_text(some.part.read_text() + more)
    assert some.solve().err == GOING_ON.format(6)
    assert some.solved == []
    assert some.rows() == expected
    assert some.names() == {"plans.jsonl"}


def test_another_run_is_refused(some: Set, expected: list[dict[str, Any]]) -> None:
    """Another seed or other instances go on with nothing, and lose nothing; --restart does."""
    some.break_off(3)
    part = some.part.read_bytes()
    complaint = f"{some.part}: holds 3 plans of another run (instances, method, options or version"
    for change in ("seed", "instances"):
        if change == "instances":
            some.instances[5] = some.instances[5].replace(budget=3)
            some.write()
        code, out, err = some.solve(*(("--seed", 1) if change == "seed" else ()))
        assert (code, out) == (2, "")
        assert err.startswith(f"decost: {complaint}")
        assert err.endswith("begin anew with --restart\n")
        assert err.count("\n") == 1
        assert some.part.read_bytes() == part
        assert some.out.read_text() == "old"
    code, _, err = some.solve("--restart")
    assert (code, err) == (0, "")
    assert some.solved == list(range(COUNT))
    assert some.rows()[:5] == expected[:5]
    assert some.names() == {"plans.jsonl"}


def test_restart_of_the_same_run(some: Set, expected: list[dict[str, Any]]) -> None:
    """Whoever wants to begin anew does."""
    some.break_off(3)
    assert some.solve("--restart").err == ""
    assert some.solved == list(range(COUNT))
    assert some.rows() == expected


def test_another_run_without_plans(some: Set) -> None:
    """Where nothing is lost nothing is refused."""
    some.break_off(0)
    assert len(some.part.read_text().splitlines()) == 1
    assert some.solve("--seed", 1).code == 0
    assert some.names() == {"plans.jsonl"}


@pytest.mark.parametrize("content", ["mine", "{}\n", '{"index": 0}\n', "a\n" * 9999])
def test_somebody_elses_file(some: Set, content: str) -> None:
    """A file of that name that is none of ours is never touched."""
    some.part.write_text(content)
    for words in ((), ("--restart",)):
        code, out, err = some.solve(*words)
        assert (code, out) == (2, "")
        assert err == f"decost: {some.part}: is in the way: no part of a set of plans\n"
    assert some.part.read_text() == content


def test_the_instances_are_no_part(some: Set) -> None:
    """A set whose name is that of the part is not overwritten."""
    source = some.source.rename(some.part)
    before = source.read_bytes()
    for words in ((), ("--restart",)):
        given = ("solve", source, "--method", "own", "--out", some.out, *words)
        assert "is the instance itself" in some.call.complaint(*given)
    assert source.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="has no locks")
def test_two_at_once(some: Set, expected: list[dict[str, Any]]) -> None:
    """While one process is at work on an output, another is kept out of it."""
    others: list[Ended] = []
    script = "import sys; from decost.cli import main; main()"

    def method(instance: Instance, options: Options) -> Result:
        if instance.name == "3":
            words = ["solve", some.source, "--method", "greedy", "--out", some.out]
            for more in ([], ["--restart"]):
                command = [sys.executable, "-c", script, *words, *more]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                others.append(Ended(done.returncode, done.stdout, done.stderr))
        return some.method(instance, options)

    decost.register(Method("second", "Calls another process.", method))
    given = ("solve", some.source, "--method", "second", "--out", some.out, "--threads", 1)
    assert some.call(*given).code == 0
    assert others == [Ended(2, "", f"decost: {some.part}: another process is at work on it\n")] * 2
    assert [row | {"method": "own"} for row in some.rows()] == expected


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from decost.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_full_disk(some: Set) -> None:
    """When nothing more can be written, what is there is kept, and the same command goes on."""
    words = ["solve", some.source, "--method", "greedy", "--threads", "1", "--out", some.out]
    assert some.call(*words).code == 0
    expected, size = some.rows(), some.out.stat().st_size
    some.out.write_text("old")
    kept = 0
    for limit in (size // 2, size - 20):
        command = [sys.executable, "-c", LIMITED, str(limit), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (2, "")
        more = some.part.read_text().count("\n") - 1
        assert kept < more < COUNT
        kept = more
        said = f"{kept} plans are kept, the same command goes on"
        assert done.stderr.splitlines()[-1] == f"decost: {some.part}: File too large; {said}"
        assert some.out.read_text() == "old"
        assert some.names() == {"plans.jsonl", "plans.jsonl.part"}
    assert some.call(*words).err == GOING_ON.format(kept)
    assert some.rows() == expected
    assert some.names() == {"plans.jsonl"}


def test_full_disk_in_the_end(
    some: Set, expected: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If only the whole output does not fit, all of its lines are kept."""

    def full(file: int) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert some.solve() == (2, "", f"decost: {some.out}: No space left on device\n")
    assert some.out.read_text() == "old"
    assert some.names() == {"plans.jsonl", "plans.jsonl.part"}
    assert some.solve().err == GOING_ON.format(COUNT)
    assert some.solved == []
    assert some.rows() == expected


# Instances that fail.


def test_failed_instances_are_rows(some: Set, expected: list[dict[str, Any]]) -> None:
    """The others are solved; the exit code says that not all are, and so does a check."""
    some.faults = {1: decost.MethodError("budget = 4: too\nlarge"), 4: ZeroDivisionError()}
    code, out, err = some.solve()
    assert code == 1
    assert err == "decost: 2 of 6 instances failed; instance 1: budget = 4: too large\n"
    assert out.splitlines()[-1] == f"wrote {some.out}"
    assert "4" in out.splitlines()[3].split()
    rows = some.rows()
    for index, error in ((1, "budget = 4: too large"), (4, "ZeroDivisionError")):
        failed = {"index": index, "method": "own", "status": "failed", "error": error}
        assert rows[index] == failed | {"runtime": 0, "seed": 0}
        rows[index] = expected[index]
    assert rows == expected
    said = "4 of 4 plans feasible; 2 of 6 instances have no plan\n"
    assert some.call("check", some.source, some.out) == (0, said, "")


def test_failed_instances_are_not_tried_again(some: Set) -> None:
    """A run that goes on ends as it would have: with what failed before."""
    some.faults = {1: decost.MethodError("budget = 4: too large")}
    assert some.solve().code == 1
    expected = some.rows()
    some.break_off(3)
    assert some.solve().code == 1
    assert some.solved == [3, 4, 5]
    assert some.rows() == expected


def test_nothing_can_be_solved(some: Set) -> None:
    """Then there is one line about it, and no output to replace an old one."""
    some.out.write_text("old")
    some.faults = dict.fromkeys(range(COUNT), decost.MethodError("budget = 4: too large"))
    assert some.solve() == (2, "", "decost: budget = 4: too large\n")
    assert some.out.read_text() == "old"
    assert some.names() == {"plans.jsonl"}


# Where the lines go.


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
def test_to_a_pipe(some: Set, expected: list[dict[str, Any]]) -> None:
    """A pipe gets the lines in order, and there is no part of it."""
    some.out.unlink()
    os.mkfifo(some.out)
    reader = subprocess.Popen(["cat", some.out], stdout=subprocess.PIPE, text=True)
    assert some.solve("--threads", 3).code == 0
    lines = reader.communicate(timeout=300)[0].splitlines()
    assert [{**json.loads(line), "runtime": 0} for line in lines] == expected
    assert some.names() == {"plans.jsonl"}


def test_through_a_link(some: Set, expected: list[dict[str, Any]]) -> None:
    """The part lies beside the file that a link leads to, for whoever comes another way."""
    (some.folder / "there").mkdir()
    real = some.folder / "there" / "real.jsonl"
    some.out.unlink()
    some.out.symlink_to(real)
    some.break_off(3)
    assert [path.name for path in real.parent.iterdir()] == ["real.jsonl.part"]
    given = ("solve", some.source, "--method", "own", "--threads", 1, "--out", real)
    assert some.call(*given).err == GOING_ON.format(3)
    assert some.rows(real) == expected
    assert some.out.is_symlink()
    assert [path.name for path in real.parent.iterdir()] == ["real.jsonl"]


def test_restart_needs_an_output(some: Set, tmp_path: Path) -> None:
    """There is nothing to begin anew of a single plan, or of lines that are only printed."""
    single = tmp_path / "one.json"
    decost.write(some.instances[0], single)
    for words in ((single, "--out", some.out), (some.source,)):
        assert "--restart: is for a set" in some.call.complaint("solve", *words, "--restart")


# What is one run.


VEHICLES = [
    Vehicle(id="a"),
    Vehicle(start=1),
    Vehicle(end=1),
    Vehicle(begin=0.5),
    Vehicle(due=3),
    Vehicle(speed=3),
    Vehicle(underway=True),
]


def digests(folder: Path) -> Iterator[str]:
    """Give the digests of runs that differ in one thing each."""
    first, second = decost.generate("mixed", nodes=6, count=2)
    weights = folder / "weights"

    def digest(instances: list[Instance], method: str = "search", **options: Any) -> str:
        return digest_of(instances, method, read_options(get_method(method), options))

    yield digest([first, second])
    yield digest([second, first])
    yield digest([first])
    yield digest([])
    yield digest([first, second], "ils")
    for options in ({"seed": 1}, {"time_limit": 3}, {"iterations": 9}, {"threads": 2}):
        yield digest([first, second], **options)
    for change in ({"budget": 9}, {"vehicles": 2}, {"name": "a"}, {"ids": list("abcde")}):
        yield digest([first, second.replace(**change)])
    for field in ("open", "close", "leave_by", "reward", "min_stay", "xy", "travel"):
        table = getattr(second, field).copy()
        table[2] = np.where(np.isfinite(table[2]), table[2] + 1, 1e6)
        yield digest([first, second.replace(**{field: table})])
    for change in (
        {"begin": 0.5},
        {"unit": "minutes"},
        {"required": np.arange(6) == 3},
        {"end": 2},
        {"places": ["a"], "xy": [*second.xy, [1, 1]]},
        {"places": ["b"], "xy": [*second.xy, [1, 1]]},
        {"profiles": ["a"], "travel": second.travel[None]},
        {"profiles": ["b"], "travel": second.travel[None]},
        *({"fleet": [vehicle]} for vehicle in VEHICLES),
        {"alternative_place": [0, 2, 2, 3, 4, 5]},
        {"alternative_vehicles": np.arange(6)[:, None] != 3},
        {"alternative_vehicles": np.arange(6)[:, None] != 4},
    ):
        yield digest([first, second.replace(**change)])
    for ways in (
        [],
        [Alternative()] * 2,
        [Alternative()] * 3,
        [Alternative(), Alternative(open=1)],
    ):
        for detour in (1, 2):
            stop = Stop(lat=1, lon=1, alternatives=ways)
            globe = {"unit": "minutes", "speed": "1 mph", "depot": Place(lat=1, lon=2)}
            yield digest([Instance.build(budget=9, stops=[stop], detour=detour, **globe)])
    for content in ("one", "two"):
        weights.write_text(content)
        yield digest([first], "decost", weights=str(weights))


def test_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever may change a plan makes another run; what is the same makes the same."""
    found = list(digests(tmp_path))
    assert len(set(found)) == len(found)
    assert list(digests(tmp_path)) == found
    monkeypatch.setattr("decost.files.sets.__version__", "another")
    assert not set(digests(tmp_path)) & set(found)


def test_progress_is_no_part_of_a_run() -> None:
    """Who looks on changes nothing."""
    options = read_options(get_method("search"), {"progress": print})
    assert digest_of([], "search", options) == digest_of([], "search", type(options)())
