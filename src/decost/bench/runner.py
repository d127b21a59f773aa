"""Runs a bench: tasks, rows that outlive a kill, and the files that are made of them.

A bench is a list of independent tasks, each of which measures one or more rows. Rows are
appended to a file as they come, so that a run that was killed goes on where it stopped; in the
end tables (CSV and Markdown) and, for some, a figure are made of them.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    ClassVar,
    Generic,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, ValidationError

from decost import __version__
from decost.bench import BenchError
from decost.bench.contender import Contender, Entrant
from decost.bench.instances import SettingField
from decost.bench.tables import Table, csv_text, machine_name, markdown, read_toml, speed
from decost.files import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 3
"""Version of the rows; those of another are not mixed with them."""

POLL = 0.1
"""Seconds between two looks for Ctrl-C."""

SYNC = 1.0
"""Seconds between two times that rows are forced to the disk, which a kill does not need."""

SCALES = ("quick", "full")

Row: TypeAlias = dict[str, Any]
"""What was measured, with the fields of its key and, once it is kept, time, machine, version."""

Tables: TypeAlias = Mapping[str, Table]
"""Tables by what is added to the names of their files; the first of a bench adds nothing."""


class Record(BaseModel):
    """What every kept row has; a task says what else its rows have."""

    model_config = ConfigDict(allow_inf_nan=False)

    setting: str
    instance: int | str
    method: str
    options: dict[str, str]
    label: str
    seed: int
    files: str
    at: str
    machine: str
    version: str


class Key(NamedTuple):
    """What a row is about: an instance of a setting, and a contender.

    `seed` is that of a training, and `files` stands for what is in the files that the options
    name.
    """

    setting: str
    instance: int | str
    contender: Contender
    seed: int = 0
    files: str = ""

    @property
    def record(self) -> Row:
        """The key as a row keeps it."""
        row = self._asdict()
        contender = row.pop("contender")
        named = {"method": contender.method, "options": contender.given, "label": contender.label}
        return row | named

    @classmethod
    def read(cls, record: Record) -> Key:
        """Take the key from a row."""
        contender = Contender.of(record.method, record.label, **record.options)
        return cls(record.setting, record.instance, contender, record.seed, record.files)


@dataclass(frozen=True)
class Task:
    """Some work: its function measures one row for each of the keys, in their order.

    `row` says what fields these have. `expected` is how many seconds it takes, as far as that is
    known before; tasks of a `kind`, or else of a setting and contender, take about as long as
    each other.
    """

    keys: tuple[Key, ...]
    measure: Callable[[], Sequence[Row]]
    row: type[Record] = Record
    expected: float = 0.0
    kind: str = ""


class Config(BaseModel):
    """What a bench is to do; every bench has one for each scale.

    Attributes
    ----------
    methods
        Contenders; none if there is no choice.
    prover
        The contender whose bounds gaps are measured to.
    settings, count
        Kinds of instances, and how many of each.
    slow, slow_count
        Methods that take long, and how many of each kind they have.
    reduced
        What the scale is, and in what it is less than the paper.
    remark
        What else is not as in the paper, at any scale.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    selecting: ClassVar[frozenset[str]] = frozenset({"methods", "reduced", "remark"})
    """Fields that decide which rows are asked for, and change nothing in any of them."""

    methods: tuple[Entrant, ...] = ()
    prover: Entrant = Contender.of("exact")
    settings: tuple[SettingField, ...] = ()
    count: int = 0
    slow: tuple[str, ...] = ()
    slow_count: int = 0
    reduced: str = ""
    remark: str = ""

    @classmethod
    def options(cls) -> list[str]:
        """Names of the fields that can be given on the command line."""
        return [name for name in cls.model_fields if name not in ("reduced", "remark")]


class Folders(NamedTuple):
    """Where results go and, for benches on files, where these are."""

    out: Path
    data: Path | None = None


class News(NamedTuple):
    """How far a bench is: tasks done, of how many, seconds left, and what comes next."""

    done: int
    total: int
    left: float
    next: str


ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True)
class Bench(Generic[ConfigT]):
    """A table or a figure, and how to make it.

    Attributes
    ----------
    name
        Its name on the command line.
    about
        A line about it, with what it repeats of the paper; more lines are not shown.
    quick, full
        Its configurations for the two scales.
    tasks
        Lists the tasks of a configuration.
    summarise
        Makes the tables of the rows.
    draw
        Makes the figure of the rows, if there is one.
    data
        What it needs in the folder of data; "" if it needs none.
    needs
        Fields of its configuration that must be given.
    shares
        The bench whose rows it goes on with, which has the same configurations.
    whole
        Whether its tables are made of all rows in its file, also of those not asked for.
    """

    name: str
    about: str | None
    quick: ConfigT
    full: ConfigT
    tasks: Callable[[ConfigT, Folders], list[Task]]
    summarise: Callable[[ConfigT, Sequence[Row]], Tables]
    draw: Callable[[ConfigT, Sequence[Row]], Figure] | None = None
    data: str = ""
    needs: tuple[str, ...] = ()
    shares: str = ""
    whole: bool = False

    @property
    def title(self) -> str:
        """The line about it."""
        return (self.about or "").partition("\n")[0].removesuffix(".")

    @classmethod
    def load(
        cls,
        name: str,
        about: str | None,
        kind: type[ConfigT],
        tasks: Callable[[ConfigT, Folders], list[Task]],
        summarise: Callable[[ConfigT, Sequence[Row]], Tables],
        **others: Any,
    ) -> Bench[ConfigT]:
        """Make a bench whose configurations of this kind are in scales.toml."""
        quick, full = (_read_config(kind, _scale(name, scale)) for scale in SCALES)
        return cls(name, about, quick, full, tasks, summarise, **others)

    def config(self, scale: str, **changes: Any) -> ConfigT:
        """Give the configuration of a scale, with some fields changed.

        A text is read as a command line gives it: several values have commas between them.

        Raises
        ------
        BenchError
            If there is no such scale or field, or it cannot have the value.
        """
        if scale not in SCALES:
            raise BenchError(f"scale {scale!r}: unknown, choose from: {', '.join(SCALES)}")
        config: ConfigT = getattr(self, scale)
        if changes.get("methods") and not config.methods:
            raise BenchError(f"methods: {self.name} has no choice of methods")
        for name in changes:
            if name not in config.options():
                flags = ", ".join(f"--{one.replace('_', '-')}" for one in config.options())
                raise BenchError(f"No such option: --{name.replace('_', '-')}; there are {flags}")
        return _read_config(type(config), dict(config) | changes)

    def missing(self, config: Config, folders: Folders) -> str:
        """Say what it still needs, if there is anything."""
        wanted = [f"--{name.replace('_', '-')}" for name in self.needs if not getattr(config, name)]
        if self.data and folders.data is None:
            wanted.insert(0, f"{self.data}, --data FOLDER")
        return ", ".join(wanted)


def _scale(name: str, scale: str) -> dict[str, Any]:
    """Give what scales.toml says of a bench at a scale."""
    of_bench = read_toml("scales.toml")[name]
    like = _scale(of_bench["like"], scale) if "like" in of_bench else {}
    common = {field: of_bench[field] for field in of_bench if field not in ("like", *SCALES)}
    return {**like, **common, **of_bench.get(scale, {})}


def _read_config(kind: type[ConfigT], values: Mapping[str, Any]) -> ConfigT:
    """Make a configuration; a text may stand for several values, with commas between them."""
    read = {
        name: _split(name, value)
        if isinstance(value, str) and get_origin(kind.model_fields[name].annotation) is tuple
        else value
        for name, value in values.items()
    }
    try:
        return kind.model_validate(read)
    except ValidationError as error:
        first = error.errors()[0]
        if isinstance(why := first.get("ctx", {}).get("error"), ValueError):
            raise why from None
        flag = str(first["loc"][0]).replace("_", "-")
        raise BenchError(f"--{flag} {first['input']}: {first['msg']}") from None


def _split(name: str, text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        try:
            values: list[Any] = json.loads(text)
        except json.JSONDecodeError as error:
            raise BenchError(f"--{name} {text}: {error}") from None
        return values
    words = [word for part in text.split(",") if (word := " ".join(part.split()))]
    if not words:
        raise BenchError(f"--{name} {text!r}: names none")
    return list(dict.fromkeys(words))


def run_bench(
    bench: Bench[Any],
    scale: str,
    folders: Folders,
    *,
    threads: int = 1,
    command: str = "",
    report: Callable[[News], object] = lambda news: None,
    **changes: Any,
) -> list[Path]:
    """Do what is left of a bench, and write its tables and figure.

    Parameters
    ----------
    bench
        The bench.
    scale
        "quick" or "full".
    folders
        Where the files go, and where data come from.
    threads
        Tasks that are done at a time; times are those of one alone only with one.
    command
        The command line, for the head of the table.
    report
        Called before every task and after the last.
    **changes
        Fields of the configuration that are not as the scale has them.

    Returns
    -------
    list of Path
        The files written: the tables in Markdown first.

    Raises
    ------
    BenchError
        If the scale is unknown, data are missing, the rows in the folder are of another
        configuration or lack a field, or a plan is wrong or better than a proven bound.
    MethodError
        If a method or an option is unknown.
    KeyboardInterrupt
        At Ctrl-C; what was measured until then is kept. A thread is still at the task that was
        interrupted, until that is done or the process ends.
    """
    config = bench.config(scale, **changes)
    if threads < 1:
        raise BenchError(f"--threads {threads}: must be at least 1")
    tasks = bench.tasks(config, folders)
    folders.out.mkdir(parents=True, exist_ok=True)
    path = rows_path(bench, scale, folders.out)
    asked = {key: task.row for task in tasks for key in task.keys}
    other = tasks[0].row if bench.whole else Record
    with _open_rows(path, _head(bench, config), asked, other) as (rows, save):
        rest = [task for task in tasks if not all(key in rows for key in task.keys)]
        pace = _Pace(tasks, rest)
        for task, measured, seconds in _do(rest, threads, lambda: report(pace.news())):
            save(task.keys, measured)
            pace.finish(task, seconds)
        report(pace.news())
    shown = [
        key._asdict() | rows[key]
        for key in ((*asked, *(rows.keys() - asked)) if bench.whole else asked)
    ]
    return _write(bench, config, scale, shown, folders.out, command)


def rows_path(bench: Bench[Any], scale: str, folder: Path) -> Path:
    """Where the rows of a bench are kept."""
    return folder / f"{bench.shares or bench.name}-{scale}.rows.jsonl"


def _head(bench: Bench[Any], config: Config) -> Row:
    """Say what rows depend on beyond their keys."""
    return {
        "format": FORMAT,
        "version": __version__,
        "bench": bench.shares or bench.name,
        "config": config.model_dump(mode="json", exclude=set(config.selecting)),
    }


@contextmanager
def _open_rows(
    path: Path, head: Row, asked: Mapping[Key, type[Record]], other: type[Record]
) -> Iterator[tuple[dict[Key, Row], Callable[[Sequence[Key], Sequence[Row]], None]]]:
    """Give the rows that are there, and a function that adds some; both are on the disk.

    Rows that are not `asked` for need the fields of `other`.
    """
    with path.open("ab+") as file:
        lock(file, path)
        file.seek(0)
        lines = file.read()
        # A kill can leave the last line incomplete.
        whole = lines[: lines.rfind(b"\n") + 1]
        if not whole and not _line(head).startswith(lines):
            raise BenchError(f"{path}: holds no rows; {_ADVICE}")
        rows = _read_rows(path, whole, head, asked, other) if whole else {}
        file.truncate(len(whole))
        if not whole:
            _append(file, [head])

        synced = time.monotonic()

        def save(keys: Sequence[Key], measured: Sequence[Row]) -> None:
            nonlocal synced
            at = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
            where = {"at": at, "machine": machine_name(), "version": __version__}
            new = {key: row | where for key, row in zip(keys, measured, strict=True)}
            _append(file, [key.record | row for key, row in new.items()])
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


_ADVICE = "remove the file to begin anew, or give another folder with --out"


def _read_rows(
    path: Path, text: bytes, head: Row, asked: Mapping[Key, type[Record]], other: type[Record]
) -> dict[Key, Row]:
    """Read rows, and see that they have the fields that their tasks would have measured."""
    first, *others = text.splitlines()
    _require_same(path, _read_line(path, 1, first), head)
    rows: dict[Key, Row] = {}
    for number, line in enumerate(others, start=2):
        row = _read_line(path, number, line)
        try:
            key = Key.read(Record.model_validate(row))
            asked.get(key, other).model_validate(row)
        except ValidationError as error:
            wrong = error.errors()[0]
            field = ".".join(map(str, wrong["loc"]))
            raise BenchError(
                f"{path}: line {number}, field {field}: {wrong['msg']}; {_ADVICE}"
            ) from None
        rows[key] = {name: row[name] for name in row if name not in key.record}
    return rows


def _read_line(path: Path, number: int, line: bytes) -> Row:
    with suppress(UnicodeDecodeError, json.JSONDecodeError):
        if isinstance(row := json.loads(line), dict):
            return row
    raise BenchError(f"{path}: line {number} is no row; {_ADVICE}")


def _require_same(path: Path, found: Row, head: Row) -> None:
    """Refuse rows that were measured under other conditions."""
    before = found | (found["config"] if isinstance(found.get("config"), dict) else {})
    for name, value in (head | head["config"]).items():
        if name != "config" and before.get(name) != value:
            raise BenchError(
                f"{path}: holds rows of another configuration ({name} was "
                f"{before.get(name)!r}, is {value!r}); {_ADVICE}"
            )


def lock(file: BinaryIO, path: Path) -> None:
    """Keep a second run out of a file, where the system can, until it is closed.

    Raises
    ------
    BenchError
        If another run has it; `path` is what that is at work on.
    """
    with suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError(f"{path}: another run is at work on it") from None


def _do(
    tasks: Sequence[Task], threads: int, before: Callable[[], object]
) -> Iterator[tuple[Task, Sequence[Row], float]]:
    """Do tasks in other threads, while this one waits for Ctrl-C; give what they measured.

    There, Ctrl-C neither meets a kernel, which it can crash, nor is it answered by a method with
    its best plan so far, which is not what is measured. What a thread is at then is not kept.
    """
    pool = ThreadPoolExecutor(threads)
    waiting = deque(tasks)
    running: dict[Future[tuple[Sequence[Row], float]], Task] = {}
    try:
        while waiting or running:
            while waiting and len(running) < threads:
                before()
                task = waiting.popleft()
                running[pool.submit(_timed, task.measure)] = task
            # Ctrl-C may not wake a thread that waits without end.
            for future in [one for one in running if one.done()] or wait(running, POLL).done:
                yield running.pop(future), *future.result()
    finally:
        pool.shutdown(wait=False)


def _timed(measure: Callable[[], Sequence[Row]]) -> tuple[Sequence[Row], float]:
    begin = time.perf_counter()
    return measure(), time.perf_counter() - begin


class _Pace:
    """How far a run is, and how long the rest may take.

    A task is expected to take as long as others of its kind did, or else what it says itself.
    """

    def __init__(self, tasks: Sequence[Task], rest: Sequence[Task]) -> None:
        self._total = len(tasks)
        self._rest = rest
        self._done = 0
        self._spent: defaultdict[object, _Sum] = defaultdict(_Sum)
        self._left: defaultdict[object, _Sum] = defaultdict(_Sum)
        for task in rest:
            self._left[self._kind(task)].add(task.expected)

    @staticmethod
    def _kind(task: Task) -> object:
        return task.kind or task.keys[0][::2]  # the setting and the contender

    def finish(self, task: Task, seconds: float) -> None:
        self._spent[self._kind(task)].add(seconds)
        self._left[self._kind(task)].count -= 1
        self._done += 1

    def news(self) -> News:
        following = [task.keys[0] for task in self._rest[self._done : self._done + 1]]
        label = "".join(f"{key.setting}: {key.contender}" for key in following)
        seconds = 0.0
        for kind, left in self._left.items():
            spent = self._spent.get(kind)
            seconds += left.count * spent.total / spent.count if spent else left.total
        return News(self._total - len(self._rest) + self._done, self._total, seconds, label)


@dataclass
class _Sum:
    """Some numbers, of which only their count and sum are kept."""

    count: int = 0
    slow: tuple[str, ...] = ()
    slow_count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value


def _write(
    bench: Bench[Any],
    config: Config,
    scale: str,
    rows: Sequence[Row],
    folder: Path,
    command: str,
) -> list[Path]:
    tables = bench.summarise(config, rows)
    stem = f"{bench.name}-{scale}"
    head = [f"# {bench.title}", ""]
    head += [f"* {line}" for line in _circumstances(rows, rows_path(bench, scale, folder).name)]
    head.append(f"* made by decost {__version__}" + (f": `{command}`" if command else ""))
    usual = bench.config(scale)
    changed = [name for name in config.options() if getattr(config, name) != getattr(usual, name)]
    if config.reduced:
        other = f"; but other {', '.join(changed)}" if changed else ""
        head.append(f"* scale {scale}: {config.reduced}{other}")
    if config.remark:
        head.append(f"* {config.remark}")
    if bench.draw is not None:
        head += ["", f"![{bench.title}]({stem}.png)"]
    paths = [folder / f"{stem}.md"]
    for name, table in tables.items():
        path = folder / ("-".join(filter(None, (stem, name))) + ".csv")
        write_text(path, csv_text(table))
        paths.append(path)
        head += ["", *([f"## {name}", ""] if name else []), markdown(table)]
    if bench.draw is not None:
        from decost.plotting import save_figure

        paths.append(folder / f"{stem}.png")
        save_figure(bench.draw(config, rows), paths[-1])
    write_text(paths[0], "\n".join((*head, "")))
    return paths


def _circumstances(rows: Sequence[Row], file: str) -> Iterator[str]:
    """Tell when and where rows were measured, and how busy the machine was."""
    if not rows:
        return
    yield from dict.fromkeys(row["machine"] for row in rows)
    yield f"{speed()} when this table was made"
    times = [row["at"] for row in rows]
    versions = ", ".join(sorted({row["version"] for row in rows}))
    yield f"measured from {min(times)} to {max(times)} UTC with decost {versions}"
    yield (
        f"{len(rows)} rows in `{file}`; times are those of one instance after warm-up, by one "
        "thread (auto: two); when a method found its best plan is known to 0.02 s"
    )
    loads = [row["load"] for row in rows if row.get("load") is not None]
    if loads:
        yield f"load of the machine while measuring: {min(loads):.1f} to {max(loads):.1f}"
