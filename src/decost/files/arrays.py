"""Sets as arrays (`.npz`)."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from decost.files import limits
from decost.files.limits import FormatError
from decost.files.records import NODE_FIELDS
from decost.problem.instance import MAX_STOPS, BoolArray, FloatArray, Instance, InstanceError
from decost.problem.records import Vehicle
from decost.problem.versions import version_of

_SET_FIELDS = {"speed": 1.0, "vehicles": 1, "separate_end": False}
_SET_FIELDS_2 = {"begin": 0.0, "unit": "", "geographic": False, "detour": 1.0, "end": 0}
_VEHICLE_FIELDS = {
    "start": 0,
    "end": 0,
    "begin": np.nan,
    "due": np.nan,
    "speed": np.nan,
    "underway": False,
}


def arrays_of(path: str | Path, instances: Sequence[Instance]) -> dict[str, Any]:
    """Stack a set, padding smaller instances; fields that are at their default are left out."""
    for k, one in enumerate(instances):
        if one.profiles:
            raise FormatError(
                f"{path}: instance {k}: travel: has the names {', '.join(one.profiles)}, and .npz "
                "holds one matrix without a name: write .jsonl"
            )
    version = max(map(version_of, instances))
    stacking = _Stacking(instances)
    data: dict[str, Any] = {"format": "decost-set", "version": version}
    data["nodes"] = np.array([one.nodes for one in instances])
    data["budget"] = np.array([one.budget for one in instances])
    data |= stacking.rows()
    if all(one.simple for one in instances):
        data |= stacking.stops()
    else:
        data |= stacking.alternatives()
    fields: dict[str, Any] = _SET_FIELDS if version == 1 else _SET_FIELDS | _SET_FIELDS_2
    if any(one.geographic for one in instances):
        fields = fields | {"detour": np.nan}  # none goes without saying
    for field, fallback in fields.items():
        if any(getattr(one, field) != fallback for one in instances):
            data[field] = np.array([getattr(one, field) or fallback for one in instances])
    if any(one.required.any() for one in instances):
        data["required"] = stacking.stack("required", False)
    if not all(one.alike for one in instances):
        data |= stacking.fleets()
    if any(one.name for one in instances):
        data["name"] = np.array([one.name for one in instances], dtype=np.str_)
    if any(one.ids is not None for one in instances):
        data["ids"] = _texts([one.ids or ("",) * one.stops for one in instances])
    return data


class _Stacking:
    """Arrays over the instances of a set."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances = instances
        self.ways = max(int(np.diff(one.alternative_first)[1:].max(initial=1)) for one in instances)
        self.widest = max(1, *(int(np.diff(one.piece_start).max()) for one in instances))

    def stack(self, values: str | Callable[[Instance], Any], fill: Any) -> Any:
        """Put arrays of different sizes into one."""
        read = attrgetter(values) if isinstance(values, str) else values
        parts = [np.asarray(read(one)) for one in self.instances]
        shapes = {part.shape for part in parts}
        if len(shapes) == 1:
            return np.array(parts, dtype=np.asarray(fill).dtype)
        shape = np.max(list(shapes), axis=0)
        result = np.full((len(parts), *shape), fill)
        for target, part in zip(result, parts, strict=True):
            target[tuple(slice(0, size) for size in part.shape)] = part
        return result

    def rows(self) -> dict[str, Any]:
        """Give coordinates and travel times of places."""
        data: dict[str, Any] = {}
        some = any(one.places for one in self.instances)
        if any(one.xy is not None for one in self.instances):
            data["xy"] = self.stack(lambda one: _xy(one)[: _usual_rows(one)], np.nan)
            if some:
                data["place_xy"] = self.stack(lambda one: _xy(one)[_usual_rows(one) :], np.nan)
        if any(one.matrix is not None for one in self.instances):
            data["travel"] = self.stack(_matrix, np.nan)
        if some:
            data["places"] = np.array([len(one.places) for one in self.instances])
            data["place_id"] = _texts([one.places for one in self.instances])
        return data

    def stops(self) -> dict[str, Any]:
        """Give the fields of stops with one alternative each."""
        data: dict[str, Any] = {}
        for field, default in NODE_FIELDS.items():
            values = self.stack(field, default)
            if (values[:, 1:] != default).any():
                data[field] = values
        if self.widest == 1 and "min_stay" not in data:  # else max_stay would round the length
            data["rate"] = self.stack(lambda one: _padded_pieces(one, 1)[:, 0, 0], 0.0)
            data["max_stay"] = self.stack("max_stay", 0.0)
        else:
            data["pieces"] = self.stack(lambda one: _padded_pieces(one, self.widest), 0.0)
        return data

    def alternatives(self) -> dict[str, Any]:
        """Give the fields of alternatives, by stop and the number within the stop."""
        data: dict[str, Any] = {}
        for field, default in NODE_FIELDS.items():
            name = f"alternative_{field}"
            values = self.by_stop(attrgetter(name), np.nan)
            if field == "open" or (values[~np.isnan(values)] != default).any():
                data[name] = values
        data["alternative_pieces"] = self.by_stop(
            lambda one: _padded_pieces(one, self.widest), np.nan
        )
        if any((one.alternative_place != one.alternative_stop).any() for one in self.instances):
            data["alternative_place"] = self.by_stop(attrgetter("alternative_place"), np.nan)
        if any(one.alternative_vehicles is not None for one in self.instances):
            data["alternative_vehicles"] = self.by_stop(_admits, False)
        return data

    def by_stop(self, values: Callable[[Instance], Any], fill: Any) -> Any:
        """Stack arrays by alternative, padded to as many alternatives for every node."""

        def spread(one: Instance) -> Any:
            given = values(one)
            result = np.full((one.nodes, self.ways, *given.shape[1:]), fill)
            stop = one.alternative_stop[1:]
            result[stop, np.arange(1, len(given)) - one.alternative_first[stop]] = given[1:]
            return result

        return self.stack(spread, fill)

    def fleets(self) -> dict[str, Any]:
        """Give the fields of vehicles."""
        data: dict[str, Any] = {
            "vehicle_id": _texts([[str(v.id) for v in one.fleet] for one in self.instances])
        }
        for field, fill in _VEHICLE_FIELDS.items():
            data[f"vehicle_{field}"] = self.stack(partial(_of_vehicles, field), fill)
        return data


def _of_vehicles(field: str, instance: Instance) -> list[Any]:
    values = [getattr(vehicle, field) for vehicle in instance.fleet]
    if field == "speed":  # beside a matrix nobody has one
        values = [np.nan if value == instance.speed else value for value in values]
    return values


def _usual_rows(instance: Instance) -> int:
    """Count the places that `xy` holds; further ones are in `place_xy`."""
    return instance.nodes + instance.separate_end


def _xy(instance: Instance) -> FloatArray:
    if instance.xy is not None:
        return instance.xy
    return np.full((_usual_rows(instance) + len(instance.places), 2), np.nan)


def _matrix(instance: Instance) -> FloatArray:
    if instance.matrix is not None:
        return instance.matrix
    rows = _usual_rows(instance) + len(instance.places)
    return np.full((rows, rows), np.nan)


def _admits(instance: Instance) -> BoolArray:
    if instance.alternative_vehicles is not None:
        return instance.alternative_vehicles
    return np.ones((instance.alternative_count + 1, instance.vehicles), dtype=np.bool_)


def _texts(rows: Sequence[Sequence[str]]) -> Any:
    longest = max(map(len, rows))
    return np.array([[*row, *[""] * (longest - len(row))] for row in rows], dtype=np.str_)


def _padded_pieces(instance: Instance, widest: int) -> FloatArray:
    result = np.zeros((instance.alternative_count + 1, widest, 2))
    start = instance.piece_start
    row = np.repeat(np.arange(len(result)), np.diff(start))
    place = np.arange(len(row)) - start[row]
    result[row, place, 0] = instance.piece_rate
    result[row, place, 1] = instance.piece_length
    return result


def read_arrays(path: Path, content: bytes) -> list[Instance]:
    """Read a set of instances, ours or as the authors of the paper publish theirs."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size <= limits.MAX_SET_BYTES:
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                data = {field: np.asarray(arrays[field]) for field in arrays.files}
    except Exception as error:  # zipfile and numpy raise all sorts on a broken file
        raise FormatError(f"{path}: broken .npz file: {error}") from None
    if size > limits.MAX_SET_BYTES:
        raise FormatError(f"{path}: is {size} bytes unpacked, at most {limits.MAX_SET_BYTES}")
    version = 1
    if "format" in data:
        head = [str(data.get(field)) for field in ("format", "version")]
        if head not in (["decost-set", "1"], ["decost-set", "2"]):
            raise FormatError(
                f"{path}: format = {head[0]}, version = {head[1]}: must be decost-set, 1 or 2"
            )
        version = int(head[1])
        for field in data:
            if field not in ("format", "version", *_FIELDS, *_FIELDS_2):
                raise FormatError(f"{path}: {field}: unknown field")
            if version == 1 and field in _FIELDS_2:
                raise FormatError(f"{path}: {field}: needs version 2")
    known = _FIELDS if version == 1 else _FIELDS | _FIELDS_2
    return instances_of(path, {field: data[field] for field in known if field in data})


# Number of dimensions, and the kinds of numpy types that will do.
_FIELDS = {
    "nodes": (1, "iu"),
    "budget": (1, "iuf"),
    "xy": (3, "iuf"),
    "travel": (3, "iuf"),
    **dict.fromkeys((*NODE_FIELDS, "rate", "max_stay"), (2, "iuf")),
    "pieces": (4, "iuf"),
    "speed": (1, "iuf"),
    "vehicles": (1, "iu"),
    "separate_end": (1, "b"),
    "name": (1, "U"),
    "ids": (2, "U"),
}
_FIELDS_2 = {
    "begin": (1, "iuf"),
    "unit": (1, "U"),
    "geographic": (1, "b"),
    "detour": (1, "iuf"),
    "end": (1, "iu"),
    "places": (1, "iu"),
    "place_id": (2, "U"),
    "place_xy": (3, "iuf"),
    "required": (2, "b"),
    **dict.fromkeys((f"alternative_{field}" for field in (*NODE_FIELDS, "place")), (3, "iuf")),
    "alternative_pieces": (5, "iuf"),
    "alternative_vehicles": (4, "b"),
    "vehicle_id": (2, "U"),
    "vehicle_start": (2, "iu"),
    "vehicle_end": (2, "iu"),
    "vehicle_begin": (2, "iuf"),
    "vehicle_due": (2, "iuf"),
    "vehicle_speed": (2, "iuf"),
    "vehicle_underway": (2, "b"),
}


ALL_FIELDS = _FIELDS | _FIELDS_2
"""What a set may hold: number of dimensions, and the kinds of numpy types that will do."""


def instances_of(path: Path, data: dict[str, Any], first: int = 0) -> list[Instance]:
    """Make the instances of a set from its arrays; messages count them from `first`."""
    for field in ("budget", "xy" if "travel" not in data else "travel"):
        if field not in data:
            raise FormatError(f"{path}: {field}: missing")
    count, width = (*data["xy" if "xy" in data else "travel"].shape, 0, 0)[:2]
    if count == 0:
        raise FormatError(f"{path}: holds no instance")
    limits.require_count(path, count)
    if data["budget"].ndim == 0:
        data["budget"] = np.full(count, data["budget"])
    _require_shapes(path, data, count, width)
    if "max_stay" not in data and data.keys() >= {"open", "close", "rate"}:
        # As the paper's authors publish their sets.
        opens, closes = data["open"].astype(np.float64), data["close"].astype(np.float64)
        if opens.shape == closes.shape:
            data["max_stay"] = closes - opens
    instances: dict[int, Instance] = {}
    for k in np.argsort(~_doubtful(data, count, width), kind="stable").tolist():
        one = {field: values[k] for field, values in data.items()}
        if "places" not in one and "place_xy" in one:
            one["places"] = (~np.isnan(one["place_xy"]).any(axis=1)).sum()
        further = int(one.get("places", 0))
        most = width
        for field in ("place_xy", "place_id"):
            if not 0 <= further <= len(one.get(field, range(MAX_STOPS))):
                raise FormatError(f"{path}: places[{k}] = {further}: {field} has fewer")
        if "travel" in one:
            most = min(most, len(one["travel"]) - further)
        size = int(one["nodes"]) if "nodes" in one else most
        usual = size + bool(one.get("separate_end", False))
        if not 1 <= size <= usual <= most:
            raise FormatError(f"{path}: nodes[{k}] = {size}: must be from 1 to {most}")
        try:
            instances[k] = Instance(**_arguments(one, size, usual))
        except InstanceError as error:
            raise limits.refusal(f"{path}: instance {first + k}", error) from None
    return [instances[k] for k in range(count)]


def _doubtful(data: dict[str, Any], count: int, width: int) -> BoolArray:
    """Mark instances that look wrong: made first, they are refused before thousands are made."""
    sizes = data.get("nodes", np.full(count, width))
    there = np.arange(width) < sizes[:, None]
    found: BoolArray = (sizes < 1) | (sizes > width)

    def mark(wrong: Any) -> None:
        nonlocal found
        if wrong.ndim == 1:
            found = found | wrong
        else:
            found = found | (wrong[:, :width] & there[:, : wrong.shape[1]]).any(axis=1)

    for field in ("budget", "speed", "rate", "max_stay", *NODE_FIELDS):
        if field in data:
            most = np.inf if field in ("close", "leave_by") else np.finfo(np.float64).max
            mark(~((data[field] >= 0) & (data[field] <= most)))
    if "xy" in data:
        mark(~np.isfinite(data["xy"]).all(axis=2))
    for low, high in (("open", "close"), ("min_stay", "max_stay")):
        if low in data and high in data and data[low].shape == data[high].shape:
            mark(data[high] < data[low])
    return found


def _require_shapes(path: Path, data: dict[str, Any], count: int, width: int) -> None:
    for field, values in data.items():
        dimensions, kinds = ALL_FIELDS[field]
        if values.dtype.kind not in kinds:
            raise FormatError(f"{path}: {field}: has type {values.dtype}")
        if values.ndim != dimensions or len(values) != count:
            raise FormatError(
                f"{path}: {field}: has shape {values.shape}, must have {dimensions} dimensions, "
                f"the first of {count} instances"
            )
    further = not data.keys().isdisjoint(("places", "place_xy"))
    ways = data["alternative_open"].shape[1:] if "alternative_open" in data else None
    for field, values in data.items():
        rows = values.shape[1] if further and values.ndim > 1 else width
        expected: tuple[int, ...] | None = {
            "xy": (count, width, 2),
            "travel": (count, rows, rows),
            "place_xy": (count, rows, 2),
        }.get(field)
        if field.startswith("alternative_"):
            if ways is None:
                raise FormatError(f"{path}: {field}: there is no alternative_open")
            rest = (*values.shape[3:-1], 2) if field == "alternative_pieces" else values.shape[3:]
            expected = (count, *ways, *rest)
        if expected not in (None, values.shape):
            raise FormatError(f"{path}: {field}: has shape {values.shape}, must be {expected}")
    if ways is not None:
        for field in (*NODE_FIELDS, "rate", "max_stay", "pieces"):
            if field in data:
                raise FormatError(f"{path}: {field}: cannot be combined with alternative_open")


def _arguments(one: dict[str, Any], size: int, usual: int) -> dict[str, Any]:
    """Give the arguments that make an instance of its rows in the arrays of a set."""
    given = {
        field: one[field].item()
        for field in ("budget", *_SET_FIELDS, *_SET_FIELDS_2, "name")
        if field in one
    }
    for field in (*NODE_FIELDS, "rate", "max_stay", "pieces", "required"):
        if field in one:
            given[field] = one[field][:size]
    if "unit" in given:
        given["unit"] = given["unit"] or None
    if not given.get("geographic"):
        given.pop("detour", None)
    further = int(one.get("places", 0))
    if further:
        names = one["place_id"].tolist() if "place_id" in one else []
        given["places"] = [*names, *[""] * further][:further]
    rows = usual + further
    if "xy" in one and not np.isnan(one["xy"][:usual]).all():
        parts = [one["xy"][:usual]]
        if further:
            if "place_xy" not in one:
                raise InstanceError("place_xy: missing")
            parts.append(one["place_xy"][:further])
        given["xy"] = np.concatenate(parts)
    if "travel" in one and not np.isnan(one["travel"][:rows, :rows]).all():
        given["travel"] = one["travel"][:rows, :rows]
    if "ids" in one and any(one["ids"][: size - 1]):
        given["ids"] = one["ids"][: size - 1].tolist()
    if any(field.startswith("vehicle_") for field in one):
        given["fleet"] = _fleet(one, given.get("vehicles", 1))
    if "alternative_open" in one:
        given |= _ways(one, size, given.get("vehicles", 1))
    return given


def _fleet(one: dict[str, Any], vehicles: int) -> list[Vehicle]:
    fleet = []
    for k in range(vehicles):
        fields: dict[str, Any] = {}
        for field in ("id", *_VEHICLE_FIELDS):
            values = one.get(f"vehicle_{field}", ())
            value = values[k].item() if k < len(values) else None
            missing = value is None or value == "" or value != value  # NaN
            fields[field] = None if missing else value
        fields["underway"] = bool(fields["underway"])
        fleet.append(Vehicle(**fields))
    return fleet


def _ways(one: dict[str, Any], size: int, vehicles: int) -> dict[str, Any]:
    """Give the columns by alternative; where none opens, a stop has no more."""
    there = ~np.isnan(one["alternative_open"][:size])
    there[0] = False
    number = there.sum(axis=1)
    if (there != (np.arange(there.shape[1]) < number[:, None])).any():
        stop = int(np.argmax((there != (np.arange(there.shape[1]) < number[:, None])).any(axis=1)))
        raise InstanceError(f"alternative_open[{stop}]: has a gap")

    def flat(values: Any, first: Any) -> Any:
        chosen = values[:size][there]
        return np.concatenate((np.full((1, *chosen.shape[1:]), first, chosen.dtype), chosen))

    given: dict[str, Any] = {"alternative_first": [0, *np.cumsum([1, *number[1:]])]}
    for field in NODE_FIELDS:
        if f"alternative_{field}" in one:
            given[field] = flat(one[f"alternative_{field}"], 0)
    if "alternative_place" in one:
        given["alternative_place"] = flat(one["alternative_place"], 0)
    if "alternative_vehicles" in one:
        given["alternative_vehicles"] = flat(one["alternative_vehicles"], True)[:, :vehicles]
    if "alternative_pieces" in one:
        pieces = flat(one["alternative_pieces"], 0)
        given["pieces"] = [part[~np.isnan(part).any(axis=1)] for part in pieces]
    return given
