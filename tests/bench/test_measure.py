"""Tests of how methods are measured, against a clock and methods that are made for it."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import decost
from decost import Instance, Method, Result
from decost.bench import BenchError, rows, runner
from decost.bench import measure as measuring
from decost.bench.contender import Contender
from decost.bench.measure import key_of, limit_of, measure, measure_batch, row_of, solving_tasks
from decost.bench.runner import run_bench
from decost.bench.schema import Bench, Config, Folders, Key, Record, Row, Tables, Task
from decost.bench.tables import machine_name
from decost.method.options import ImprovingOptions, Options, Progress

FAKE = Contender.of("fake")


def one_stop(vehicles: int = 1) -> Instance:
    """Make an instance with one stop, which earns 2 for each unit of a stay of at most 4."""
    return Instance(budget=9, xy=[[0, 0], [1, 0]], rate=[0, 2], max_stay=[0, 4], vehicles=vehicles)


def plan(instance: Instance, stay: float) -> Result:
    """Stay at the only stop for some time."""
    routes: list[list[int]] = [[] for _ in range(instance.vehicles)]
    stays: list[list[float]] = [[] for _ in range(instance.vehicles)]
    routes[0], stays[0] = [1], [stay]
    return Result(instance, decost.make_solution(instance, routes, stays), "feasible")


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no method be warm from another test."""
    monkeypatch.setattr(measuring, "_WARM", set())


@dataclass
class Clock:
    """A clock that stands still until it is told to go on."""

    now: float = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Take times by a clock that stands still."""
    still = Clock()
    monkeypatch.setattr("decost.planner.door.time.perf_counter", still)
    monkeypatch.setattr("decost.compiling._now", still)
    return still


class FakeOptions(Options):
    """A file with the length of the stay."""

    weights: str = ""


@dataclass
class Fake:
    """A method whose first plan takes 100 s and every other one 1 s; many at once take 8 s."""

    clock: Clock
    limits: list[float | None] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def function(self, instance: Instance, options: FakeOptions) -> Result:
        """Plan for one instance, and note the time limit."""
        self.clock.now += 1 if self.limits else 100
        self.limits.append(options.time_limit)
        return plan(instance, float(Path(options.weights).read_text()) if options.weights else 1.0)

    def many(self, instances: Sequence[Instance], options: FakeOptions) -> list[Result]:
        """Plan for many instances, and note how many they are."""
        assert self.limits, "it was not warmed up"
        self.clock.now += 8
        self.batches.append(len(instances))
        return [plan(instance, 1.0) for instance in instances]

    @property
    def counted(self) -> int:
        """Plans for one instance that are no warm-up."""
        return self.limits.count(None)


@pytest.fixture
def fake(registry: None, clock: Clock) -> Fake:
    """Register the methods `fake` and, for many instances at once, `fakes`."""
    made = Fake(clock)
    decost.register(Method("fake", "For the tests.", made.function, FakeOptions))
    decost.register(Method("fakes", "For the tests.", made.function, FakeOptions, many=made.many))
    return made


def test_the_first_plan_does_not_count(fake: Fake) -> None:
    """A method plans for nothing once, for 0.05 s, so that its slow first plan is in no row.

    It does so again for teams and with other options, for which it may need other things. Since it
    does not go on improving, there is no time at which it found its plan.
    """
    rows = [measure(FAKE, one_stop()).row for _ in range(3)]
    found = [(row["seconds"], row["reached"], row["batch"]) for row in rows]
    assert found == [(1.0, None, 1)] * 3
    assert fake.limits == [0.05, None, None, None]
    measure(FAKE, one_stop(vehicles=2))
    measure(FAKE.having(seed=3), one_stop())
    assert fake.limits[4:] == [0.05, None, 0.05, None]


@pytest.mark.parametrize(
    ("words", "times", "seconds", "plans"),
    [
        ("brief", [0.002, 0.5, 0.003], 0.003, 3),
        ("brief", [0.009, 0.001, 0.001], 0.001, 3),
        ("brief", [0.02, 0.001, 0.001], 0.02, 1),
        ("brief time_limit=5", [0.002, 0.5, 0.003], 0.002, 1),
    ],
    ids=["disturbed", "first", "long", "limited"],
)
def test_a_brief_time_is_the_median_of_three(
    registry: None, clock: Clock, words: str, times: list[float], seconds: float, plans: int
) -> None:
    """From a hundredth of a second on, and for a method with a limit, one plan is made."""
    left = [7.0, *times]  # the first is that of the warm-up

    def function(instance: Instance, options: Options) -> Result:
        clock.now += left.pop(0)
        return plan(instance, 1.0)

    decost.register(Method("brief", "For the tests.", function))
    assert measure(Contender.parse(words), one_stop()).row["seconds"] == pytest.approx(seconds)
    assert len(left) == 3 - plans


def test_a_batch_is_planned_at_once_after_a_plan_that_does_not_count(fake: Fake) -> None:
    """Four instances are one batch, by one thread, and each has a quarter of its 8 s."""
    rows = measure_batch(Contender.parse("fakes"), [one_stop() for _ in range(4)])
    assert fake.limits == [0.05]
    assert fake.batches == [4]
    assert [row["seconds"] for row in rows] == [2.0] * 4
    assert [row["profit"] for row in rows] == [2.0] * 4


def test_arrays_are_made_before_the_time_is_taken(registry: None) -> None:
    """What the first method would compute for all others is there, also in a batch."""
    ready: list[bool] = []

    def function(instance: Instance, options: Options) -> Result:
        ready.append("arrays" in vars(instance))
        return plan(instance, 1.0)

    def many(instances: Sequence[Instance], options: Options) -> list[Result]:
        return [function(instance, options) for instance in instances]

    decost.register(Method("looks", "For the tests.", function, many=many))
    measure(Contender.parse("looks"), one_stop())
    measure_batch(Contender.parse("looks"), [one_stop(), one_stop()])
    assert len(ready) >= 3
    assert all(ready)


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        ([(0.25, 2.0), (0.5, 6.0)], 0.5),
        ([(0.25, 2.0), (0.5, 6.0), (0.75, 6.0), (1.0, 4.0)], 0.5),
        ([(0.25, 2.0)], 3.0),
        ([], 3.0),
        ([(0.25, 2.0), (5.0, 6.0)], 3.0),
    ],
    ids=["told", "told again", "not told", "nothing told", "told too late"],
)
def test_when_the_best_plan_was_found(
    registry: None, clock: Clock, told: list[tuple[float, float]], reached: float
) -> None:
    """It is when the profit of the plan, 6, was told first; if it never was, the end after 3 s."""

    def function(instance: Instance, options: ImprovingOptions) -> Result:
        clock.now += 3
        for seconds, profit in told if options.progress else ():
            options.progress(Progress(seconds, profit, None))  # type: ignore[misc]
        return plan(instance, 3.0)

    decost.register(Method("climber", "For the tests.", function, ImprovingOptions))
    row, result, news = measure(Contender.parse("climber"), one_stop())
    assert (row["profit"], row["seconds"], row["reached"]) == (6.0, 3.0, reached)
    assert result.profit == 6.0
    assert [(one.seconds, one.profit) for one in news] == told[:2]


def test_tasks_of_a_method_for_many(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five instances in batches of three: keys in order, and 2 s expected for each of them."""
    monkeypatch.setattr(measuring, "BATCH", 3)
    instances = [one_stop() for _ in range(5)]
    tasks = solving_tasks(
        "s", lambda: instances, range(5), Contender.of("fakes", time_limit=2, seed=7)
    )
    assert [[key.instance for key in task.keys] for task in tasks] == [[0, 1, 2], [3, 4]]
    assert [task.expected for task in tasks] == [6.0, 4.0]
    assert [len(task.measure()) for task in tasks] == [3, 2]
    assert fake.batches == [3, 2]
    alone = solving_tasks("s", lambda: instances, range(5), FAKE)
    assert [[key.instance for key in task.keys] for task in alone] == [[k] for k in range(5)]


def test_no_limit_is_not_expected_to_take_forever() -> None:
    """With time_limit=inf, as without a limit, a task says nothing of how long it takes."""
    limits = [Contender.parse(f"ils{words}") for words in (" time_limit=inf", "", " time_limit=3")]
    assert list(map(limit_of, limits)) == [0.0, 0.0, 3.0]
    (task,) = solving_tasks("s", list, ["a"], limits[0])
    assert task.expected == 0.0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("magic", "method 'magic': unknown, choose from"),
        ("ils speed=3", "option speed = '3': unknown, ils takes"),
        ("ils iterations=x", "option iterations = 'x'"),
        ("exact", "method 'exact': plans for one vehicle, not for 3"),
    ],
)
def test_contenders_that_cannot_be(words: str, complaint: str) -> None:
    """An unknown method or option, or one that is not for teams, is named before a task runs."""
    with pytest.raises(decost.MethodError) as caught:
        solving_tasks("s", list, range(2), Contender.parse(words), 3)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(("together", "batches"), [(2, [2, 2, 2, 2, 1]), (9, [5] * 5)])
def test_batch_is_how_many_were_planned_together(
    monkeypatch: pytest.MonkeyPatch, together: int, batches: list[int]
) -> None:
    """Five instances of which two fit into one batch count as such, not as five."""
    five = decost.generate("paper", nodes=10, window=100, count=5, seed=1)
    monkeypatch.setattr("decost.inference.policy.TOGETHER", together * five[0].nodes ** 2)
    assert [row["batch"] for row in measure_batch(Contender.parse("decost"), five)] == batches


def test_the_load_is_in_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row has the load of the last minute, or nothing where the system does not tell."""
    monkeypatch.setattr(os, "getloadavg", lambda: (1.256, 5.0, 9.0), raising=False)
    assert row_of(plan(one_stop(), 1.0), FAKE)["load"] == 1.26
    monkeypatch.delattr(os, "getloadavg")
    assert row_of(plan(one_stop(), 1.0), FAKE)["load"] is None


def test_a_bound_of_infinity_is_none() -> None:
    """Rows can be written as JSON, which knows no infinity."""
    result = plan(one_stop(), 1.0)
    for bound, kept in ((math.inf, None), (None, None), (7.5, 7.5)):
        made = Result(result.instance, result.solution, "feasible", bound)
        assert row_of(made, FAKE)["bound"] == kept


def test_a_wrong_plan_is_no_row() -> None:
    """A stay of 5 is longer than the longest of 4: the checker finds that, and the run ends."""
    with pytest.raises(BenchError, match="plan of 'fake'"):
        row_of(plan(one_stop(), 5.0), FAKE)


def bench(tasks: Callable[[], list[Task]], column: str) -> Bench[Config]:
    """Make a bench whose table has one column of the rows."""

    def summarise(config: Config, rows: Sequence[Row]) -> Tables:
        return {"": [{column: str(row[column])} for row in rows]}

    return Bench("few", "A few", Config(), Config(), lambda config, folders: tasks(), summarise)


def run(asked: Bench[Config], folder: Path) -> tuple[str, list[str]]:
    """Run a bench: its Markdown, and the lines of its CSV below the heading."""
    text, table = run_bench(asked, "quick", Folders(folder))
    return text.read_text(), table.read_text().splitlines()[1:]


def test_the_checksum_of_a_file(fake: Fake, tmp_path: Path) -> None:
    """It is CRC-32, of which that of 123456789 is published; names of models have none."""
    file = tmp_path / "weights"
    file.write_bytes(b"123456789")
    assert key_of("s", 0, FAKE.having(weights=file)).files == "cbf43926"
    assert key_of("s", 0, FAKE.having(weights="generalist")).files == ""
    assert key_of("s", 0, FAKE).files == ""


def test_other_weights_are_measured_anew(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another content at the same path gives other rows; those of the first are kept."""
    monkeypatch.setattr(runner, "speed", lambda: "at once")
    file = tmp_path / "weights"
    contender = FAKE.having(weights=file)
    asked = bench(
        lambda: solving_tasks("s", lambda: [one_stop(), one_stop()], range(2), contender), "profit"
    )
    profits = []
    counted = []
    for stay in ("1.0", "1.0", "2.5", "1.0"):
        file.write_text(stay)
        profits.append(run(asked, tmp_path / "out")[1])
        counted.append(fake.counted)
    assert profits == [["2.0"] * 2, ["2.0"] * 2, ["5.0"] * 2, ["2.0"] * 2]
    assert counted == [2, 2, 4, 4]
    lines = (tmp_path / "out" / "few-quick.rows.jsonl").read_text().splitlines()
    assert len({json.loads(line)["files"] for line in lines[1:]}) == 2


class LoadRow(Record):
    """A row with nothing but the load."""

    load: float | None


def loaded(*loads: float | None) -> Bench[Config]:
    """Make a bench with a row for each load."""
    tasks = [
        Task((Key("s", k, FAKE),), partial(list, [{"load": load}]), LoadRow)
        for k, load in enumerate(loads)
    ]
    return bench(lambda: tasks, "load")


def test_the_head_has_the_machines_of_the_rows_and_their_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each machine that measured is named once, also in a later run, with the range of loads."""
    machines = iter(("old computer, 2 cores", *["new computer, 4 cores"] * 2))
    monkeypatch.setattr(rows, "machine_name", lambda: next(machines))
    monkeypatch.setattr(os, "getloadavg", lambda: (7.0, 0.0, 0.0), raising=False)
    asked = loaded(0.5, None, 2.0)
    for _ in range(2):
        lines = run(asked, tmp_path)[0].splitlines()
        assert [line for line in lines if "computer" in line] == [
            "* old computer, 2 cores",
            "* new computer, 4 cores",
        ]
        assert "* load of the machine while measuring: 0.5 to 2.0" in lines
        (pace,) = (line for line in lines if "when this table was made" in line)
        assert re.match(r"\* load 7\.0; sum\(range\(10\*\*7\)\) took \d+\.\d\d s ", pace)


@pytest.fixture
def new_name() -> Iterator[None]:
    """Name the machine anew in a test, and again after it."""
    machine_name.cache_clear()
    yield
    machine_name.cache_clear()


@pytest.mark.parametrize(
    ("usable", "words"), [({1}, ", 1 of 4 cores, "), ({0, 1, 2, 3}, ", 4 cores, ")]
)
def test_cores_that_may_be_used(
    new_name: None, monkeypatch: pytest.MonkeyPatch, usable: set[int], words: str
) -> None:
    """A process that is kept to some of the cores says how many of them it has."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: usable, raising=False)
    assert words in machine_name()
