"""Sets as arrays (`.npz`)."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from decost.files import limits
from decost.files.instances import NODE_FIELDS
from decost.files.limits import FormatError
from decost.problem.instance import FloatArray, Instance, InstanceError

_SET_FIELDS = {"speed": 1.0, "vehicles": 1, "separate_end": False}


def arrays_of(instances: Sequence[Instance]) -> dict[str, Any]:
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
    for field, default in NODE_FIELDS.items():
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
    if "format" in data:
        head = [str(data.get(field)) for field in ("format", "version")]
        if head != ["decost-set", "1"]:
            raise FormatError(
                f"{path}: format = {head[0]}, version = {head[1]}: must be decost-set, 1"
            )
        for field in data:
            if field not in ("format", "version", *_FIELDS):
                raise FormatError(f"{path}: {field}: unknown field")
    return _instances(path, {field: data[field] for field in _FIELDS if field in data})


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


def _instances(path: Path, data: dict[str, Any]) -> list[Instance]:
    for field in ("budget", "xy" if "travel" not in data else "travel"):
        if field not in data:
            raise FormatError(f"{path}: {field}: missing")
    count, width = (*data["xy" if "xy" in data else "travel"].shape, 0, 0)[:2]
    if count == 0:
        raise FormatError(f"{path}: holds no instance")
    if data["budget"].ndim == 0:
        data["budget"] = np.full(count, data["budget"])
    for field, values in data.items():
        dimensions, kinds = _FIELDS[field]
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
        for field in (*NODE_FIELDS, "rate", "max_stay", "pieces"):
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
