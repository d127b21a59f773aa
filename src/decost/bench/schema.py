"""What a bench is: its configurations, its tasks, the rows that these measure, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, ValidationError

from decost.bench import BenchError
from decost.bench.contender import Contender, Entrant
from decost.bench.instances import SettingField
from decost.bench.tables import Table, read_toml

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    clock
        What seconds are: those of a clock on the wall, or the CPU time of this process, which
        is right for one core however busy the machine is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    selecting: ClassVar[frozenset[str]] = frozenset(
        {"methods", "slow", "slow_count", "reduced", "remark", "clock"}
    )
    """Fields that decide which rows are asked for, and change nothing in any of them.

    The clock does, and has a place of its own in the head of rows.
    """

    methods: tuple[Entrant, ...] = ()
    prover: Entrant = Contender.of("exact")
    settings: tuple[SettingField, ...] = ()
    count: int = 0
    slow: tuple[str, ...] = ()
    slow_count: int = 0
    reduced: str = ""
    remark: str = ""
    clock: Literal["wall", "cpu"] = "wall"

    @classmethod
    def options(cls) -> list[str]:
        """Names of the fields that can be given on the command line."""
        return [name for name in cls.model_fields if name not in ("reduced", "remark")]


class Folders(NamedTuple):
    """Where results go and, for benches on files, where these are."""

    out: Path
    data: Path | None = None


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

    def list_tasks(self, config: ConfigT, folders: Folders) -> list[Task]:
        """List the tasks of a configuration.

        Raises
        ------
        BenchError
            If something that it needs is not given.
        """
        if wanted := self.missing(config, folders):
            raise BenchError(f"{self.name}: needs {wanted}")
        return self.tasks(config, folders)

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


def _split(name: str, text: str) -> list[str]:
    words = [word for part in text.split(",") if (word := " ".join(part.split()))]
    if not words:
        raise BenchError(f"--{name} {text!r}: names none")
    return list(dict.fromkeys(words))
