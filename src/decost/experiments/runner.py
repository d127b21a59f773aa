"""Runs an experiment: tasks, rows that outlive a kill, and the files that are made of them.

An experiment is a list of independent tasks, each of which measures one or more rows. Rows are
appended to a file as they come, so that a run that was killed goes on where it stopped; in the
end a table (CSV and Markdown) and, for some, a figure are made of them.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from decost import __version__
from decost.experiments.tables import Table, csv_text, machine_name, markdown, speed
from decost.files.writing import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 2
"""Version of the rows; those of another are not mixed with them."""

POLL = 0.1
"""Seconds between two looks for Ctrl-C."""

SYNC = 1.0
"""Seconds between two times that rows are forced to the disk, which a kill does not need."""

SCALES = ("quick", "full")

Row: TypeAlias = dict[str, Any]
"""What was measured, with the fields of its key and, once it is kept, the time and the machine."""


class ExperimentError(ValueError):
    """An experiment cannot be run as asked, or found what must not be."""


class Key(NamedTuple):
    """What a row is about: an instance of a setting, and a method with its options and seed.

    `files` stands for what is in the files that the options name.
    """

    setting: str
    instance: int | str
    method: str
    seed: int = 0
    files: str = ""


@dataclass(frozen=True)
class Task:
    """Some work: its function measures one row for each of the keys, in their order.

    `expected` is how many seconds that takes, as far as it is known before; tasks of a `kind` take
    about as long as each other, whatever their methods are.
    """

    keys: tuple[Key, ...]
    measure: Callable[[], Sequence[Row]]
    expected: float = 0.0
    kind: str = ""


class Config(BaseModel):
    """What an experiment is to do; every experiment has one for each scale.

    Attributes
    ----------
    methods
        Methods with their options, such as "ils time_limit=10"; none if there is no choice.
    prover
        The method whose bounds gaps are measured to.
    reduced
        What the scale is, and in what it is less than the paper.
    remark
        What else is not as in the paper, at any scale.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    methods: tuple[str, ...] = ()
    prover: str = "exact"
    reduced: str = ""
    remark: str = ""


class Folders(NamedTuple):
    """Where results go and, for experiments on files, where these are."""

    out: Path
    data: Path | None = None


class News(NamedTuple):
    """How far an experiment is: tasks done, of how many, seconds left, and what comes next."""

    done: int
    total: int
    left: float
    next: str


ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True)
class Experiment(Generic[ConfigT]):
    """A table or a figure, and how to make it.

    Attributes
    ----------
    name, title
        Its name on the command line, and a line about it.
    paper
        Which table or figure of the paper it repeats.
    scales
        Its configurations by the names of the scales.
    tasks
        Lists the tasks of a configuration.
    summarise
        Makes the table of the rows.
    draw
        Makes the figure of the rows, if there is one.
    data
        What it needs in the folder of data; "" if it needs none.
    shares
        The experiment whose rows it goes on with, which has the same configurations.
    """

    name: str
    title: str
    paper: str
    scales: Mapping[str, ConfigT]
    tasks: Callable[[ConfigT, Folders], list[Task]]
    summarise: Callable[[ConfigT, Sequence[Row]], Table]
    draw: Callable[[ConfigT, Sequence[Row]], Figure] | None = None
    data: str = ""
    shares: str = ""

    def config(self, scale: str, methods: Sequence[str] = ()) -> ConfigT:
        """Give the configuration of a scale, with other methods if some are given."""
        if scale not in self.scales:
            raise ExperimentError(f"scale {scale!r}: unknown, choose from: {', '.join(SCALES)}")
        config = self.scales[scale]
        if methods and not config.methods:
            raise ExperimentError(f"methods: {self.name} has no choice of methods")
        if not methods:
            return config
        chosen = dict.fromkeys(" ".join(words.split()) for words in methods)
        return config.model_copy(update={"methods": tuple(chosen)})


def run_experiment(
    experiment: Experiment[Any],
    scale: str,
    folders: Folders,
    *,
    methods: Sequence[str] = (),
    command: str = "",
    report: Callable[[News], object] = lambda news: None,
) -> list[Path]:
    """Do what is left of an experiment, and write its table and figure.

    Parameters
    ----------
    experiment
        The experiment.
    scale
        "quick" or "full".
    folders
        Where the files go, and where data come from.
    methods
        Other methods than the experiment's own.
    command
        The command line, for the head of the table.
    report
        Called before every task and after the last.

    Returns
    -------
    list of Path
        The files written: the table in Markdown first.

    Raises
    ------
    ExperimentError
        If the scale is unknown, data are missing, the rows in the folder are of another
        configuration, or a plan is wrong or better than a proven bound.
    MethodError
        If a method or an option is unknown.
    KeyboardInterrupt
        At Ctrl-C; what was measured until then is kept. A thread is still at the task that was
        interrupted, until that is done or the process ends.
    """
    config = experiment.config(scale, methods)
    tasks = experiment.tasks(config, folders)
    folders.out.mkdir(parents=True, exist_ok=True)
    path = rows_path(experiment, scale, folders.out)
    with _open_rows(path, _head(experiment, config)) as (rows, save), _worker() as do:
        rest = [task for task in tasks if not all(key in rows for key in task.keys)]
        pace = _Pace(tasks, rest)
        for task in rest:
            report(pace.news())
            begin = time.perf_counter()
            save(task.keys, do(task))
            pace.finish(task, time.perf_counter() - begin)
        report(pace.news())
    asked = [{**key._asdict(), **rows[key]} for task in tasks for key in task.keys]
    return _write(experiment, config, scale, asked, folders.out, command)


def rows_path(experiment: Experiment[Any], scale: str, folder: Path) -> Path:
    """Where the rows of an experiment are kept."""
    return folder / f"{experiment.shares or experiment.name}-{scale}.rows.jsonl"


def _head(experiment: Experiment[Any], config: Config) -> dict[str, Any]:
    """Say what rows depend on beyond their keys."""
    settings = config.model_dump(mode="json", exclude={"methods", "reduced", "remark"})
    return {
        "format": FORMAT,
        "version": __version__,
        "experiment": experiment.shares or experiment.name,
        "config": settings,
    }


@contextmanager
def _open_rows(
    path: Path, head: dict[str, Any]
) -> Iterator[tuple[dict[Key, Row], Callable[[Sequence[Key], Sequence[Row]], None]]]:
    """Give the rows that are there, and a function that adds some; both are on the disk."""
    with path.open("ab+") as file:
        lock(file, path)
        file.seek(0)
        lines = file.read()
        # A kill can leave the last line incomplete.
        whole = lines[: lines.rfind(b"\n") + 1]
        if not whole and not _line(head).startswith(lines):
            raise ExperimentError(f"{path}: holds no rows; {_ADVICE}")
        rows = _read_rows(path, whole, head) if whole else {}
        file.truncate(len(whole))
        if not whole:
            _append(file, [head])

        synced = time.monotonic()

        def save(keys: Sequence[Key], measured: Sequence[Row]) -> None:
            nonlocal synced
            at = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
            where = {"at": at, "machine": machine_name()}
            new = {key: row | where for key, row in zip(keys, measured, strict=True)}
            _append(file, [{**key._asdict(), **row} for key, row in new.items()])
            rows.update(new)
            if time.monotonic() - synced > SYNC:
                os.fsync(file.fileno())
                synced = time.monotonic()

        yield rows, save
        os.fsync(file.fileno())


def _line(row: Row) -> bytes:
    return json.dumps(row, allow_nan=False).encode() + b"\n"


def _append(file: BinaryIO, lines: Sequence[Row]) -> None:
    file.write(b"".join(map(_line, lines)))
    file.flush()


def _read_rows(path: Path, text: bytes, head: dict[str, Any]) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
            if number == 1:
                _require_same(path, row, head)
            else:
                key = Key(*(row.pop(field) for field in Key._fields))
                rows[key] = row
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise ExperimentError(f"{path}: line {number} is no row; {_ADVICE}") from None
    return rows


_ADVICE = "remove the file to begin anew, or give another folder with --out"


def _require_same(path: Path, found: dict[str, Any], head: dict[str, Any]) -> None:
    """Refuse rows that were measured under other conditions."""
    before = found | found.get("config", {})
    now = head | head["config"]
    for name in now:
        if name != "config" and before.get(name) != now[name]:
            raise ExperimentError(
                f"{path}: holds rows of another configuration ({name} was "
                f"{before.get(name)!r}, is {now[name]!r}); {_ADVICE}"
            )


def lock(file: BinaryIO, path: Path) -> None:
    """Keep a second run out of a file, where the system can, until it is closed.

    Raises
    ------
    ExperimentError
        If another run has it; `path` is what that is at work on.
    """
    with suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(f"{path}: another run is at work on it") from None


@contextmanager
def _worker() -> Iterator[Callable[[Task], Sequence[Row]]]:
    """Give a function that does a task in another thread, while this one waits for Ctrl-C.

    There, Ctrl-C neither meets a kernel, which it can crash, nor is it answered by a method with
    its best plan so far, which is not what is measured. What the thread is at then is not kept.
    """
    pool = ThreadPoolExecutor(1)

    def do(task: Task) -> Sequence[Row]:
        future = pool.submit(task.measure)
        while not future.done():  # Ctrl-C may not wake a thread that waits without end
            wait([future], timeout=POLL)
        return future.result()

    try:
        yield do
    finally:
        pool.shutdown(wait=False)


class _Pace:
    """How far a run is, and how long the rest may take.

    A task is expected to take as long as others of the same method in its setting did, or in any
    setting, or as others of its kind, or else what the task itself says.
    """

    def __init__(self, tasks: Sequence[Task], rest: Sequence[Task]) -> None:
        self._total = len(tasks)
        self._rest = rest
        self._done = 0
        self._spent: defaultdict[tuple[str, ...], _Sum] = defaultdict(_Sum)
        self._left: defaultdict[tuple[tuple[str, ...], ...], _Sum] = defaultdict(_Sum)
        for task in rest:
            self._left[self._groups(task)].add(task.expected)

    def finish(self, task: Task, seconds: float) -> None:
        groups = self._groups(task)
        for group in groups:
            self._spent[group].add(seconds)
        self._left[groups].count -= 1
        self._done += 1

    def news(self) -> News:
        following = [task.keys[0] for task in self._rest[self._done : self._done + 1]]
        label = "".join(f"{key.setting}: {key.method}" for key in following)
        done = self._total - len(self._rest) + self._done
        return News(done, self._total, sum(map(self._seconds_left, self._left)), label)

    def _seconds_left(self, groups: tuple[tuple[str, ...], ...]) -> float:
        left = self._left[groups]
        for group in groups:
            if group in self._spent:
                return left.count * self._spent[group].total / self._spent[group].count
        return left.total

    @staticmethod
    def _groups(task: Task) -> tuple[tuple[str, ...], ...]:
        """List what a task has in common with others, the closest first."""
        key = task.keys[0]
        kinds = (("kind", task.kind),) if task.kind else ()
        return ("both", key.setting, key.method), ("method", key.method), *kinds


@dataclass
class _Sum:
    """Some numbers, of which only their count and sum are kept."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value


def _write(
    experiment: Experiment[Any],
    config: Config,
    scale: str,
    rows: Sequence[Row],
    folder: Path,
    command: str,
) -> list[Path]:
    table = experiment.summarise(config, rows)
    stem = folder / f"{experiment.name}-{scale}"
    times = [row["at"] for row in rows]
    loads = [row["load"] for row in rows if row.get("load") is not None]
    head = [
        f"# {experiment.title}",
        "",
        f"{experiment.paper}.",
        "",
        *(f"* {name}" for name in dict.fromkeys(row["machine"] for row in rows)),
        f"* {speed()} when this table was made",
        f"* measured from {min(times)} to {max(times)} UTC by decost {__version__}"
        + (f": `{command}`" if command else ""),
        f"* {len(rows)} rows in `{rows_path(experiment, scale, folder).name}`; "
        "times are those of one instance after warm-up, by one thread (auto: two); when a method "
        "found its best plan is known to 0.02 s",
    ]
    if loads:
        head.append(f"* load of the machine while measuring: {min(loads):.1f} to {max(loads):.1f}")
    if config.reduced:
        head.append(f"* scale {scale}: {config.reduced}")
    if config.remark:
        head.append(f"* {config.remark}")
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("md", "csv", "png")]
    write_text(paths[1], csv_text(table))
    if experiment.draw is not None:
        from decost.show.page import save_figure

        save_figure(experiment.draw(config, rows), paths[2])
        head += ["", f"![{experiment.title}]({paths[2].name})"]
    else:
        paths.pop()
    write_text(paths[0], "\n".join((*head, "", markdown(table), "")))
    return paths
