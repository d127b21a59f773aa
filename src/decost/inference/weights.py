"""Weights of networks: where they are, and how their safetensors files are read, without torch.

A file of weights holds the tensors of a network, its configuration and a card that says where
they come from. It may come from outside: sizes are limited, nothing in it is executed, and every
complaint is one line that names the file. `decost.learn.checkpoint` writes such files.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from safetensors import SafetensorError, safe_open

from decost.inference.rows import Floats
from decost.inference.shapes import HeatmapConfig, NetworkConfig, tensor_shapes
from decost.problem.validation import first_fault, shortened

MAX_BYTES = 2**30
"""Largest file of weights, and largest training state."""

MAX_HEAD_BYTES = 2**24
"""Largest card with its configuration, and most facts of a training state, as JSON."""

MODELS = Path(__file__).parent.parent / "models"
"""Folder of the weights that come with the package."""

KEY = "decost"
"""Name of all that is no tensor in a file."""

Kind: TypeAlias = tuple[str, tuple[int, ...]]
"""Type and shape of a tensor."""


class WeightsError(ValueError):
    """A file of weights cannot be used; the message names the file and what is wrong."""


class Head(BaseModel):
    """What a file holds beside its tensors."""

    model_config = ConfigDict(extra="forbid")


class _CardHead(Head):
    format: Literal["decost-weights"]
    version: Literal[1]
    card: dict[str, Any]


class _WeightsHead(_CardHead):
    network: NetworkConfig

    @field_validator("network", mode="before")
    @classmethod
    def _first_shape(cls, given: Any) -> Any:
        """Read files of version 0.1, in which the paper's network had the extended features."""
        if isinstance(given, dict) and given.get("network") == "paper":
            return {"features": "extended"} | given
        return given


class _HeatmapHead(_CardHead):
    network: HeatmapConfig


_AnyHead = TypeVar("_AnyHead", bound=Head)


@dataclass(frozen=True)
class Weights:
    """Tensors of a network by their names, its configuration, and its card."""

    config: NetworkConfig | HeatmapConfig
    tensors: dict[str, Floats]
    card: dict[str, Any]


def read_weights(path: str | Path, *, heatmap: bool = False) -> Weights:
    """Read the weights of a network that builds routes, or of a heatmap.

    Raises
    ------
    WeightsError
        If the file cannot be read, is damaged, or does not hold exactly the finite tensors
        that its configuration needs.
    """
    with opened(path, "np") as file:
        data = read_json(file)
        if _is_heatmap(data) and not heatmap:
            raise WeightsError("holds a heatmap for gfacs, not a network that builds routes")
        if heatmap and not _is_heatmap(data):
            raise WeightsError("holds no heatmap for gfacs but a network that builds routes")
        head: _HeatmapHead | _WeightsHead
        head = require(data, _HeatmapHead) if heatmap else require(data, _WeightsHead)
        compare(
            {name: ("float32", shape) for name, shape in tensor_shapes(head.network).items()},
            _kinds_of(file),
        )
        tensors = {name: np.array(file.get_tensor(name)) for name in sorted(file.keys())}
        for name, tensor in tensors.items():
            require_finite(name, bool(np.isfinite(tensor).all()))
        return Weights(head.network, tensors, head.card)


def turned(tensors: Mapping[str, Floats], name: str) -> Floats:
    """Give a tensor with a row for each input of the layer, as kernels go through it."""
    return np.ascontiguousarray(tensors[name].T)


def stacked(tensors: Mapping[str, Floats], name: str, layers: int) -> Floats:
    """Give the tensors of that name of all layers of an encoder, `turned`, as one."""
    return np.stack([turned(tensors, f"layers.{k}.{name}") for k in range(layers)])


def _kinds_of(file: Any) -> dict[str, Kind]:
    parts = {name: file.get_slice(name) for name in sorted(file.keys())}
    types = {name: part.get_dtype() for name, part in parts.items()}
    return {
        name: ("float32" if types[name] == "F32" else types[name], tuple(part.get_shape()))
        for name, part in parts.items()
    }


def _is_heatmap(data: Any) -> bool:
    network = data.get("network") if isinstance(data, dict) else None
    return isinstance(network, dict) and network.get("network") == "heatmap"


def read_card(path: str | Path) -> dict[str, Any]:
    """Read the card of a file of weights, without its tensors.

    Raises
    ------
    WeightsError
        If the file cannot be read or is no file of weights.
    """
    with opened(path, "np") as file:
        data = read_json(file)
        schema: type[_CardHead] = _HeatmapHead if _is_heatmap(data) else _WeightsHead
        return require(data, schema).card


def list_models() -> list[tuple[str, Path]]:
    """List the weights that come with the package: their names and files, by name."""
    return sorted((path.stem, path) for path in MODELS.glob("*.safetensors"))


def model_path(name: str) -> Path:
    """Find the weights of a name that come with the package.

    Raises
    ------
    WeightsError
        If there are none of that name; the message lists those that there are.
    """
    known = dict(list_models())
    if name not in known:
        names = ", ".join(known) or "(there are none)"
        raise WeightsError(f"model {shortened(name)}: unknown, choose from: {names}")
    return known[name]


def find_weights(weights: str) -> Path:
    """Find weights by their file, or by the name of those that come with the package.

    Raises
    ------
    WeightsError
        If there are none.
    """
    path = Path(weights)
    if path.is_file():
        return path
    if "/" in weights or weights.endswith(".safetensors"):
        raise WeightsError(f"weights = {weights}: there is no such file")
    return model_path(weights)


def compare(wanted: Mapping[str, Kind], found: Mapping[str, Kind]) -> None:
    """Require the same names, types and shapes."""
    odd = sorted(wanted.keys() ^ found.keys())
    if odd:
        wrong = "missing" if odd[0] in wanted else "unknown"
        raise WeightsError(f"tensor {shortened(odd[0])}: {wrong}")
    for name, (kind, shape) in wanted.items():
        if found[name] != (kind, shape):
            other, size = found[name]
            raise WeightsError(
                f"tensor {name!r}: is {other} {list(size)}, must be {kind} {list(shape)}"
            )


def require_finite(name: str, finite: bool) -> None:
    """Raise a WeightsError if a tensor is not finite."""
    if not finite:
        raise WeightsError(f"tensor {name!r}: holds a number that is not finite")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the file's name in front of what is wrong with it."""
    try:
        yield
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from None


@contextmanager
def opened(path: str | Path, framework: Literal["np", "pt"]) -> Iterator[Any]:
    """Open a safetensors file and read its header; what goes wrong meanwhile names the file."""
    path = Path(path)
    with naming(path):
        try:
            size = path.stat().st_size
            if not path.is_file():  # to open a pipe would wait for somebody to write to it
                raise WeightsError("is not a file")
            limit(size, MAX_BYTES, "content")
            path.open("rb").close()
        except OSError as error:
            raise WeightsError(error.strerror) from None
        try:
            with safe_open(path, framework=framework) as file:
                yield file
        except SafetensorError as error:
            raise WeightsError(f"broken safetensors file: {plain(str(error))}") from None


def limit(size: int, most: int, what: str) -> None:
    """Raise a WeightsError if there are too many bytes."""
    if size > most:
        raise WeightsError(f"has {size} bytes of {what}, at most {most}")


def read_json(file: Any) -> Any:
    """Read what a file holds beside its tensors."""
    text = (file.metadata() or {}).get(KEY)
    if text is None:
        raise WeightsError("is a safetensors file of another program")
    limit(len(text), MAX_HEAD_BYTES, "JSON")
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"broken JSON: {plain(str(error))}") from None


def require(data: Any, schema: type[_AnyHead]) -> _AnyHead:
    """Validate it."""
    try:
        return schema.model_validate(data, strict=True)
    except ValidationError as error:
        raise WeightsError(first_fault(error)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{shortened(twice)} is given twice")
    return data


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shortened(text)} is too large")
    return value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")


def plain(text: str) -> str:
    """Make one short line of text that may hold names out of a file."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= 200 else line[:197] + "..."
