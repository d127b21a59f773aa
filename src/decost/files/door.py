"""Reading and writing instances, sets of instances and plans.

A file is known by its content: JSON instances, `.jsonl` and `.npz` sets, Solomon's VRPTW files
and KU Leuven's (T)OPTW files. Files are data from outside: sizes are limited, nothing in them
is executed, and every complaint names the file, the field and the value.
"""

from __future__ import annotations

import codecs
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from decost.files.benchmarks import Profit, Truncate, read_leuven, read_solomon
from decost.files.writing import FormatError, replacing, write_text
from decost.problem.instance import (
    MAX_STOPS,
    MAX_VEHICLES,
    FloatArray,
    Instance,
    InstanceError,
)
from decost.problem.plan import Route, Solution, timed_route
from decost.result import Result

MAX_BYTES = 64 * 2**20
"""Largest instance or plan file, and largest line of a `.jsonl` set."""

MAX_SET_BYTES = 2**31
"""Largest set, unpacked."""

_Row: TypeAlias = Annotated[list[float], Field(fail_fast=True)]


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Place(_Schema):
    x: float | None = None
    y: float | None = None


class _Stop(_Place):
    id: str | None = None
    open: float = 0.0
    close: float | None = None
    leave_by: float | None = None
    reward: float = 0.0
    min_stay: float = 0.0
    rate: float | None = Field(None, ge=0)
    max_stay: float | None = None
    profit: (
        Annotated[
            list[Annotated[list[float], Field(min_length=2, max_length=2)]],
            Field(max_length=1000, fail_fast=True),
        ]
        | None
    ) = None


class _InstanceFile(_Schema):
    format: Literal["decost-instance"]
    version: Literal[1]
    name: str = ""
    budget: float
    vehicles: int = 1
    speed: float = 1.0
    depot: _Place = _Place()
    end: _Place | None = None
    stops: list[_Stop] = Field(max_length=MAX_STOPS, fail_fast=True)
    travel: list[_Row] | None = Field(None, max_length=MAX_STOPS + 2, fail_fast=True)


class _Visit(_Schema):
    stop: str | int
    start: float
    stay: float
    profit: float | None = None


class _SolutionFile(_Schema):
    format: Literal["decost-solution"] = "decost-solution"
    version: Literal[1] = 1
    instance: str = ""
    index: int | None = None
    method: str = ""
    status: str = ""
    profit: float | None = None
    bound: float | None = None
    runtime: float | None = None
    seed: int | None = None
    routes: list[Annotated[list[_Visit], Field(fail_fast=True)]] = Field(
        max_length=MAX_VEHICLES, fail_fast=True
    )


_File = TypeVar("_File", bound=_Schema)

# Fields of a stop that are left out of a file when they are at their default.
_NODE_FIELDS = {"open": 0.0, "close": np.inf, "leave_by": np.inf, "reward": 0.0, "min_stay": 0.0}


def read(
    path: str | Path,
    *,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
    vehicles: int | None = None,
) -> Instance:
    """Read one instance.

    Parameters
    ----------
    path
        A JSON instance, a Solomon file or a KU Leuven (T)OPTW file.
    profit
        How to read a Solomon or KU Leuven file: "fixed" makes it an OPTW; "variable" lets a
        stay be longer than the service time by up to 30 and multiplies the profit with it.
    truncate
        Decimals after which distances of such a file are cut off. By convention ("auto")
        1 for whole-numbered coordinates (Solomon's) and 2 for others (Cordeau's) with fixed
        profits, and "none" with variable ones.
    vehicles
        Number of vehicles, instead of the file's (which is 1 unless a JSON file says other).

    Raises
    ------
    FormatError
        If the file is not a valid instance, or holds a set (see `read_set`).
    OSError
        If it cannot be opened.
    """
    instances, is_set = read_any(path, profit=profit, truncate=truncate, vehicles=vehicles)
    if is_set:
        raise FormatError(f"{path}: holds a set of {len(instances)} instances: use read_set")
    return instances[0]


def read_set(
    path: str | Path,
    *,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
    vehicles: int | None = None,
) -> list[Instance]:
    """Read a set of instances (`.npz` or `.jsonl`); a single instance is a set of one.

    The parameters are those of `read`.
    """
    return read_any(path, profit=profit, truncate=truncate, vehicles=vehicles)[0]


def read_any(
    path: str | Path, *, profit: Profit, truncate: Truncate, vehicles: int | None
) -> tuple[list[Instance], bool]:
    """Read whatever a file holds, and say whether that is a set."""
    if profit not in get_args(Profit):
        raise FormatError(f"profit = {profit!r}: must be fixed or variable")
    if truncate not in ("auto", "none", *range(10)):
        raise FormatError(f"truncate = {truncate!r}: must be from 0 to 9, none or auto")
    path = Path(path)
    try:
        with path.open("rb") as file:  # once only: it may be a pipe
            data = file.read(MAX_BYTES + 1)
            is_npz, is_lines = data.startswith(b"PK\x03\x04"), _holds_lines(path, data)
            is_set = is_npz or is_lines
            if is_set:
                data += file.read(MAX_SET_BYTES - MAX_BYTES)
        _limit(path, data, MAX_SET_BYTES if is_set else MAX_BYTES)
        plain = profit == "fixed" and truncate == "auto"
        if not plain and (is_set or data.lstrip().startswith(b"{")):
            raise FormatError(
                f"{path}: profit and truncate are for Solomon's and KU Leuven's files, and this "
                "one says both itself"
            )
        if is_npz:
            instances = _read_npz(path, data)
        elif is_lines:
            instances = _read_jsonl(path, data)
        else:
            instances = [_read_text(path, _text(path, data), profit, truncate)]
        if vehicles is not None:
            instances = [instance.replace(vehicles=vehicles) for instance in instances]
    except InstanceError as error:
        raise FormatError(f"{path}: {error}") from None
    return instances, is_set


def read_solution(path: str | Path, instance: Instance) -> Solution:
    """Read a plan for an instance, as `write` and `decost solve --out` write it."""
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    _limit(path, data, MAX_BYTES)
    return _solution(path, _json(path, _text(path, data)), instance)


def read_solutions(path: str | Path, instances: Sequence[Instance]) -> dict[int, Solution]:
    """Read the plans of a set, one JSON line each, by the `index` of their instance.

    An instance that could not be solved has an `error` in its line instead of a plan.
    """
    plans: dict[int, Solution] = {}
    seen: set[int] = set()
    with Path(path).open("rb") as file:
        for number, line in _lines(path, file):
            where = f"{path}: line {number}"
            data = _json(where, line)
            index = data.get("index") if isinstance(data, dict) else None
            if not isinstance(index, int) or not 0 <= index < len(instances) or index in seen:
                raise FormatError(
                    f"{where}: index = {index!r}: must be from 0 to {len(instances) - 1}, once each"
                )
            seen.add(index)
            if data.get("status") != "failed":
                plans[index] = _solution(where, data, instances[index])
    if not plans:
        raise FormatError(f"{path}: holds no plan")
    return plans


def write(thing: Instance | Sequence[Instance] | Result, path: str | Path) -> None:
    """Write an instance or a result as JSON, or a set of instances as `.npz` or `.jsonl`.

    The file is written whole or not at all. With one of the endings of a set, an instance is
    written as a set of one.
    """
    if isinstance(thing, Instance) and Path(path).suffix in (".npz", ".jsonl"):
        thing = [thing]
    if isinstance(thing, Result):
        head = {"format": "decost-solution", "version": 1, "instance": thing.instance.name}
        write_text(path, json.dumps(head | thing.to_dict(), indent=1) + "\n")
    elif isinstance(thing, Instance):
        text = _pretty(_instance_dict(thing))
        _limit(path, text, MAX_BYTES)
        write_text(path, text)
    elif not thing:
        raise FormatError(f"{path}: a set needs at least one instance")
    elif Path(path).suffix == ".npz":
        arrays = _npz_arrays(thing)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
    elif Path(path).suffix == ".jsonl":
        write_text(path, "".join(json.dumps(_instance_dict(one)) + "\n" for one in thing))
    else:
        raise FormatError(f"{path}: a set is written to a .npz or .jsonl file")


def _limit(path: str | Path, content: str | bytes, most: int) -> None:
    if len(content) > most:
        raise FormatError(f"{path}: is larger than {most} bytes")


def _holds_lines(path: Path, data: bytes) -> bool:
    """Whether every line is a JSON object of its own; of a single line the ending decides."""
    first, _, rest = data.removeprefix(codecs.BOM_UTF8).strip().partition(b"\n")
    whole = first.startswith(b"{") and first.rstrip().endswith(b"}")
    return whole and (rest.lstrip().startswith(b"{") or (path.suffix == ".jsonl" and not rest))


def _text(path: str | Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start} is not text (UTF-8)") from None


def _lines(path: str | Path, file: BinaryIO) -> Iterable[tuple[int, str]]:
    total = 0
    for number, line in enumerate(iter(lambda: file.readline(MAX_BYTES + 1), b""), start=1):
        total += len(line)
        where = f"{path}: line {number}"
        _limit(where, line, MAX_BYTES)
        if total > MAX_SET_BYTES:
            raise FormatError(f"{where}: the set is larger than {MAX_SET_BYTES} bytes")
        text = _text(where, line)
        if text.strip():
            yield number, text


def _read_text(path: Path, text: str, profit: Profit, truncate: Truncate) -> Instance:
    if text.lstrip().startswith("{"):
        return _instance(path, _json(path, text))
    rows = [line.split() for line in text.splitlines() if line.split()]
    if not rows:
        raise FormatError(f"{path}: is empty")
    if any(row[0].upper() == "VEHICLE" for row in rows[:10]):
        return read_solomon(path, rows, profit, truncate)
    if len(rows[0]) in (3, 4) and all(re.fullmatch(r"\d{1,9}", w) for w in rows[0]):
        return read_leuven(path, rows, profit, truncate)
    raise FormatError(
        f"{path}: is no known format (JSON instance, .jsonl or .npz set, Solomon, KU Leuven)"
    )


def _read_jsonl(path: Path, data: bytes) -> list[Instance]:
    instances = []
    for number, line in _lines(path, BytesIO(data)):
        where = f"{path}: line {number}"
        try:
            instances.append(_instance(where, _json(where, line)))
        except InstanceError as error:
            raise FormatError(f"{where}: {error}") from None
    return instances


def _json(where: str | Path, text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) < len(pairs):
            twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
            raise FormatError(f"{where}: {_short(twice)}: is given twice")
        return data

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{where}: line {error.lineno}, column {error.colno}: broken JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise FormatError(f"{where}: broken JSON: nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{where}: broken JSON: {error}") from None


_PLAIN_WORDS = {
    "extra_forbidden": "unknown field",
    "missing": "missing",
    "model_type": "must be an object",
}


def _parse(schema: type[_File], where: str | Path, data: Any) -> _File:
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ""
        for part in first["loc"]:
            field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
        value = "" if first["type"] == "missing" else f" = {_short(first['input'])}"
        why = _PLAIN_WORDS.get(first["type"], first["msg"])
        raise FormatError(f"{where}: {field or 'content'}{value}: {why}") from None


def _short(value: object) -> str:
    if isinstance(value, list | dict):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _instance(where: str | Path, data: Any) -> Instance:
    file = _parse(_InstanceFile, where, data)
    stops = file.stops
    places = [("depot", file.depot), *((f"stops[{k}]", stop) for k, stop in enumerate(stops))]
    if file.end is not None:
        places.append(("end", file.end))
    points = [(place.x, place.y) for _, place in places]
    known = [None not in point for point in points]
    for (name, place), complete in zip(places, known, strict=True):
        if not complete and (file.travel is None or any(known) or place.x != place.y):
            axis = "y" if place.x is not None else "x"
            raise FormatError(f"{where}: {name}.{axis}: missing")
    for k, stop in enumerate(stops):
        if stop.profit is not None and (stop.rate is not None or stop.max_stay is not None):
            other = "rate" if stop.rate is not None else "max_stay"
            raise FormatError(f"{where}: stops[{k}].{other}: cannot be combined with profit")
        if stop.rate is not None and stop.max_stay is None:
            raise FormatError(f"{where}: stops[{k}].max_stay: missing, but rate is given")
        if stop.max_stay is not None and stop.max_stay < stop.min_stay:
            raise FormatError(
                f"{where}: stops[{k}].max_stay = {stop.max_stay}: "
                f"is less than min_stay = {stop.min_stay}"
            )
    if file.travel is not None:
        shape = len(places)
        if len(file.travel) != shape:
            raise FormatError(f"{where}: travel: has {len(file.travel)} rows, must be {shape}")
        for k, row in enumerate(file.travel):
            if len(row) != shape:
                raise FormatError(f"{where}: travel[{k}]: has {len(row)} entries, must be {shape}")
    ids = None
    if any(stop.id is not None for stop in stops):
        ids = [str(k + 1) if stop.id is None else stop.id for k, stop in enumerate(stops)]
    return Instance(
        budget=file.budget,
        xy=np.array(points, dtype=np.float64) if all(known) else None,
        travel=file.travel,
        speed=file.speed,
        separate_end=file.end is not None,
        open=[0.0, *(stop.open for stop in stops)],
        close=[0.0, *(np.inf if stop.close is None else stop.close for stop in stops)],
        leave_by=[0.0, *(np.inf if stop.leave_by is None else stop.leave_by for stop in stops)],
        reward=[0.0, *(stop.reward for stop in stops)],
        min_stay=[0.0, *(stop.min_stay for stop in stops)],
        pieces=[[], *(_file_pieces(stop) for stop in stops)],
        vehicles=file.vehicles,
        ids=ids,
        name=file.name,
    )


def _file_pieces(stop: _Stop) -> list[list[float]]:
    if stop.profit is not None:
        return stop.profit
    if stop.max_stay is None:
        return []
    return [[stop.rate or 0.0, stop.max_stay - stop.min_stay]]


def _instance_dict(instance: Instance) -> dict[str, Any]:
    def place(node: int) -> dict[str, Any]:
        if instance.xy is None:
            return {}
        return {"x": _plain(instance.xy[node, 0]), "y": _plain(instance.xy[node, 1])}

    data: dict[str, Any] = {
        "format": "decost-instance",
        "version": 1,
        "name": instance.name,
        "budget": _plain(instance.budget),
        "vehicles": instance.vehicles,
        "speed": _plain(instance.speed),
        "depot": place(0),
    }
    if instance.separate_end:
        data["end"] = place(instance.end)
    pieces = instance.pieces
    data["stops"] = []
    for stop in range(1, instance.nodes):
        row: dict[str, Any] = {} if instance.ids is None else {"id": instance.ids[stop - 1]}
        row |= place(stop)
        for field, default in _NODE_FIELDS.items():
            value = getattr(instance, field)[stop]
            if value != default:
                row[field] = _plain(value)
        if len(pieces[stop]):
            row["profit"] = [[_plain(rate), _plain(length)] for rate, length in pieces[stop]]
        data["stops"].append(row)
    if instance.matrix is not None:
        data["travel"] = [[_plain(value) for value in row] for row in instance.matrix]
    return data


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def _pretty(data: dict[str, Any]) -> str:
    """JSON with one stop and one matrix row a line."""
    parts = []
    for field, value in data.items():
        if field in ("stops", "travel") and value:
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f'"{field}": [\n  {rows}\n ]')
        else:
            parts.append(f'"{field}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _solution(where: str | Path, data: Any, instance: Instance) -> Solution:
    file = _parse(_SolutionFile, where, data)
    if file.instance and instance.name and file.instance != instance.name:
        raise FormatError(
            f"{where}: instance = {file.instance!r}: is another instance than {instance.name!r}"
        )
    numbers = {label: number for number, label in enumerate(instance.ids or (), start=1)}
    routes = []
    for k, visits in enumerate(file.routes):
        stops = []
        for position, visit in enumerate(visits):
            stop = numbers.get(visit.stop, -1) if isinstance(visit.stop, str) else visit.stop
            if not 1 <= stop <= instance.stops:
                raise FormatError(
                    f"{where}: routes[{k}][{position}].stop = {visit.stop!r}: "
                    "the instance has no such stop"
                )
            stops.append(stop)
        route = timed_route(
            instance, stops, [visit.stay for visit in visits], [visit.start for visit in visits]
        )
        claimed = tuple(
            mine if his.profit is None else mine._replace(profit=his.profit)
            for mine, his in zip(route.visits, visits, strict=True)
        )
        routes.append(Route(claimed, route.finish))
    return Solution(tuple(routes))


_SET_FIELDS = {"speed": 1.0, "vehicles": 1, "separate_end": False}


def _npz_arrays(instances: Sequence[Instance]) -> dict[str, Any]:
    """Stack a set, padding smaller instances; fields that are at their default are left out."""
    count, nodes = len(instances), max(one.nodes for one in instances)
    places = max(one.nodes + one.separate_end for one in instances)
    widest = max(1, *(int(np.diff(one.piece_start).max()) for one in instances))

    def stack(shape: tuple[int, ...], fill: float, values: Callable[[Instance], Any]) -> Any:
        result = np.full((count, *shape), fill)
        for target, one in zip(result, instances, strict=True):
            value = np.asarray(values(one))
            target[tuple(slice(0, size) for size in value.shape)] = value
        return result

    data: dict[str, Any] = {"format": "decost-set", "version": 1}
    data["nodes"] = np.array([one.nodes for one in instances])
    data["budget"] = np.array([one.budget for one in instances])
    if any(one.xy is not None for one in instances):
        missing = np.full((1, 2), np.nan)
        data["xy"] = stack((places, 2), np.nan, lambda one: missing if one.xy is None else one.xy)
    if any(one.matrix is not None for one in instances):
        none = np.full((1, 1), np.nan)
        data["travel"] = stack(
            (places, places), np.nan, lambda one: none if one.matrix is None else one.matrix
        )
    for field, default in _NODE_FIELDS.items():
        values = stack((nodes,), default, attrgetter(field))
        if (values[:, 1:] != default).any():
            data[field] = values
    if widest == 1 and "min_stay" not in data:  # else max_stay would round the length
        data["rate"] = stack((nodes,), 0.0, lambda one: _padded_pieces(one, 1)[:, 0, 0])
        data["max_stay"] = stack((nodes,), 0.0, lambda one: one.max_stay)
    else:
        data["pieces"] = stack((nodes, widest, 2), 0.0, lambda one: _padded_pieces(one, widest))
    for field, fallback in _SET_FIELDS.items():
        if any(getattr(one, field) != fallback for one in instances):
            data[field] = np.array([getattr(one, field) for one in instances])
    if any(one.name for one in instances):
        data["name"] = np.array([one.name for one in instances], dtype=np.str_)
    if any(one.ids is not None for one in instances):
        padded_ids = [[*(one.ids or ()), *[""] * nodes][: nodes - 1] for one in instances]
        data["ids"] = np.array(padded_ids, dtype=np.str_)
    return data


def _padded_pieces(instance: Instance, widest: int) -> FloatArray:
    result = np.zeros((instance.nodes, widest, 2))
    for node, pieces in enumerate(instance.pieces):
        result[node, : len(pieces)] = pieces
    return result


def _read_npz(path: Path, content: bytes) -> list[Instance]:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size <= MAX_SET_BYTES:
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                data = {field: np.asarray(arrays[field]) for field in arrays.files}
    except Exception as error:  # zipfile and numpy raise all sorts on a broken file
        raise FormatError(f"{path}: broken .npz file: {error}") from None
    if size > MAX_SET_BYTES:
        raise FormatError(f"{path}: is {size} bytes unpacked, at most {MAX_SET_BYTES}")
    if "format" in data:
        head = [str(data.get(field)) for field in ("format", "version")]
        if head != ["decost-set", "1"]:
            raise FormatError(
                f"{path}: format = {head[0]}, version = {head[1]}: must be decost-set, 1"
            )
        for field in data:
            if field not in ("format", "version", *_NPZ_FIELDS):
                raise FormatError(f"{path}: {field}: unknown field")
    return _npz_instances(path, {field: data[field] for field in _NPZ_FIELDS if field in data})


# Number of dimensions, and the kinds of numpy types that will do.
_NPZ_FIELDS = {
    "nodes": (1, "iu"),
    "budget": (1, "iuf"),
    "xy": (3, "iuf"),
    "travel": (3, "iuf"),
    **dict.fromkeys((*_NODE_FIELDS, "rate", "max_stay"), (2, "iuf")),
    "pieces": (4, "iuf"),
    "speed": (1, "iuf"),
    "vehicles": (1, "iu"),
    "separate_end": (1, "b"),
    "name": (1, "U"),
    "ids": (2, "U"),
}


def _npz_instances(path: Path, data: dict[str, Any]) -> list[Instance]:
    for field in ("budget", "xy" if "travel" not in data else "travel"):
        if field not in data:
            raise FormatError(f"{path}: {field}: missing")
    count, width = (*data["xy" if "xy" in data else "travel"].shape, 0, 0)[:2]
    if count == 0:
        raise FormatError(f"{path}: holds no instance")
    if data["budget"].ndim == 0:
        data["budget"] = np.full(count, data["budget"])
    for field, values in data.items():
        dimensions, kinds = _NPZ_FIELDS[field]
        if values.dtype.kind not in kinds:
            raise FormatError(f"{path}: {field}: has type {values.dtype}")
        if values.ndim != dimensions or len(values) != count:
            raise FormatError(
                f"{path}: {field}: has shape {values.shape}, must have {dimensions} dimensions, "
                f"the first of {count} instances"
            )
        expected = {"xy": (count, width, 2), "travel": (count, width, width)}.get(field)
        if expected not in (None, values.shape):
            raise FormatError(f"{path}: {field}: has shape {values.shape}, must be {expected}")
    if "max_stay" not in data and data.keys() >= {"open", "close", "rate"}:
        # As the paper's authors publish their sets.
        opens, closes = data["open"].astype(np.float64), data["close"].astype(np.float64)
        if opens.shape == closes.shape:
            data["max_stay"] = closes - opens
    instances = []
    for k in range(count):
        size = int(data["nodes"][k]) if "nodes" in data else width
        given = {
            field: data[field][k].item()
            for field in ("budget", *_SET_FIELDS, "name")
            if field in data
        }
        for field in (*_NODE_FIELDS, "rate", "max_stay", "pieces"):
            if field in data:
                given[field] = data[field][k][:size]
        rows = size + given.get("separate_end", False)
        if not 1 <= size <= rows <= width:
            raise FormatError(f"{path}: nodes[{k}] = {size}: must be from 1 to {width}")
        if "xy" in data and not np.isnan(data["xy"][k][:rows]).all():
            given["xy"] = data["xy"][k][:rows]
        if "travel" in data and not np.isnan(data["travel"][k][:rows, :rows]).all():
            given["travel"] = data["travel"][k][:rows, :rows]
        if "ids" in data and any(data["ids"][k][: size - 1]):
            given["ids"] = data["ids"][k][: size - 1].tolist()
        try:
            instances.append(Instance(**given))
        except InstanceError as error:
            raise FormatError(f"{path}: instance {k}: {error}") from None
    return instances
