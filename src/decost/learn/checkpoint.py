"""Files of weights and of training states, both in the safetensors format.

A file of weights holds the tensors of a network, its configuration and a card that says where
they come from. A training state holds whatever a training needs to go on as if it had never
stopped. Both may come from outside: sizes are limited, nothing in them is executed, and every
complaint is one line that names the file.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from decost.files.writing import replacing
from decost.learn.config import HeatmapConfig, NetworkConfig
from decost.learn.heatmap import HeatmapNetwork
from decost.learn.network import PaperNetwork, PrefixNetwork, make_network
from decost.problem.validation import first_fault, shortened

MAX_BYTES = 2**30
"""Largest file of weights, and largest training state."""

MAX_HEAD_BYTES = 2**24
"""Largest card with its configuration, and most facts of a training state, as JSON."""

MODELS = Path(__file__).parent.parent / "models"
"""Folder of the weights that come with the package."""

Network: TypeAlias = PaperNetwork | PrefixNetwork
"""A network that builds routes."""

AnyNetwork: TypeAlias = Network | HeatmapNetwork
"""That, or one that guides ants."""

_KEY = "decost"
_Kind: TypeAlias = tuple[str, tuple[int, ...]]


class WeightsError(ValueError):
    """A file of weights cannot be used; the message names the file and what is wrong."""


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _CardHead(_Head):
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


class _RunHead(_Head):
    format: Literal["decost-run"]
    version: Literal[1]
    facts: dict[str, Any]


_AnyHead = TypeVar("_AnyHead", bound=_Head)
_Module = TypeVar("_Module", bound=AnyNetwork)


# Weights


def save_weights(path: str | Path, network: AnyNetwork, card: Mapping[str, Any]) -> None:
    """Write a network and its card, whole or not at all.

    Parameters
    ----------
    path
        Where to.
    network
        The network; its configuration goes into the file.
    card
        What is to be known of the weights, such as what they were trained on: anything that
        JSON can hold.

    Raises
    ------
    WeightsError
        If the file could not be loaded again: a weight is not finite, or the card is not JSON.
    OSError
        If it cannot be written.
    """
    tensors = network.state_dict()
    # Only what belongs to the network: a configuration may be part of a larger one.
    schema = HeatmapConfig if isinstance(network, HeatmapNetwork) else NetworkConfig
    config = network.config.model_dump(include=set(schema.model_fields))
    head = {"format": "decost-weights", "version": 1, "network": config, "card": dict(card)}
    with _naming(path):
        found = _kinds(tensors)
        _compare({name: ("float32", shape) for name, (_, shape) in found.items()}, found)
        _require_finite(tensors)
        _write(path, tensors, head)


def load_weights(
    path: str | Path, device: str | torch.device = "cpu"
) -> tuple[Network, dict[str, Any]]:
    """Read a network, ready for use, and its card.

    Parameters
    ----------
    path
        A file of weights, as `save_weights` writes it.
    device
        Where to put the network.

    Raises
    ------
    WeightsError
        If the file cannot be read, is damaged, or does not hold exactly the finite tensors
        that its configuration needs.
    """
    with _opened(path) as file:
        data = _read_json(file)
        if _is_heatmap(data):
            raise WeightsError("holds a heatmap for gfacs, not a network that builds routes")
        head = _require(data, _WeightsHead)
        return _filled(file, lambda: make_network(head.network), device), head.card


def load_heatmap(path: str | Path) -> tuple[HeatmapNetwork, dict[str, Any]]:
    """Read a heatmap network, ready for use, and its card.

    Raises
    ------
    WeightsError
        As `load_weights` does.
    """
    with _opened(path) as file:
        data = _read_json(file)
        if not _is_heatmap(data):
            raise WeightsError("holds no heatmap for gfacs but a network that builds routes")
        head = _require(data, _HeatmapHead)
        return _filled(file, lambda: HeatmapNetwork(head.network), "cpu"), head.card


def _is_heatmap(data: Any) -> bool:
    network = data.get("network") if isinstance(data, dict) else None
    return isinstance(network, dict) and network.get("network") == "heatmap"


def _filled(file: Any, make: Callable[[], _Module], device: str | torch.device) -> _Module:
    """Make a network and put exactly the tensors of a file into it."""
    # A network that is only described takes no memory, whatever size the file claims.
    with torch.device("meta"):
        network = make()
    parts = {name: file.get_slice(name) for name in sorted(file.keys())}
    types = {name: part.get_dtype() for name, part in parts.items()}
    found = {
        name: ("float32" if types[name] == "F32" else types[name], tuple(part.get_shape()))
        for name, part in parts.items()
    }
    _compare(_kinds(network.state_dict()), found)
    tensors = _get_tensors(file)
    _require_finite(tensors)
    placed = {name: tensor.to(device) for name, tensor in tensors.items()}
    network.load_state_dict(placed, assign=True)
    network.eval()
    return network


def read_card(path: str | Path) -> dict[str, Any]:
    """Read the card of a file of weights, without its tensors.

    Raises
    ------
    WeightsError
        If the file cannot be read or is no file of weights.
    """
    with _opened(path) as file:
        data = _read_json(file)
        schema: type[_CardHead] = _HeatmapHead if _is_heatmap(data) else _WeightsHead
        return _require(data, schema).card


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


# Training states


def save_run(path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a training state, whole or not at all, even if the machine stops meanwhile.

    Parameters
    ----------
    path
        Where to.
    tensors
        Tensors of any type by their names, such as those of `network_tensors`,
        `optimizer_tensors` and a random generator.
    facts
        All else: anything that JSON can hold, with names that are text. Floats are kept
        exactly.

    Raises
    ------
    WeightsError
        If the facts are not JSON, which has neither NaN nor infinity.
    OSError
        If the file cannot be written.
    """
    with _naming(path):
        _write(path, tensors, {"format": "decost-run", "version": 1, "facts": dict(facts)})


def load_run(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the facts of a training state, as `save_run` writes it.

    Raises
    ------
    WeightsError
        If the file cannot be read, is damaged or is no training state.
    """
    with _opened(path) as file:
        head = _require(_read_json(file), _RunHead)
        tensors = _get_tensors(file)
    return tensors, head.facts


def read_facts(path: str | Path) -> dict[str, Any]:
    """Read the facts of a training state, without its tensors.

    Raises
    ------
    WeightsError
        If the file cannot be read or is no training state.
    """
    with _opened(path) as file:
        return _require(_read_json(file), _RunHead).facts


def network_tensors(network: nn.Module) -> dict[str, Tensor]:
    """Copy the weights of a network, as "network.<name>"."""
    state = network.state_dict()
    return {f"network.{name}": tensor.detach().clone() for name, tensor in state.items()}


def restore_network(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put weights that `network_tensors` copied into a network of the same shape.

    Parameters
    ----------
    network
        Where to put them; it changes only if all of them fit.
    tensors
        A training state's tensors. Those not named "network.<name>" are left alone.

    Raises
    ------
    WeightsError
        If they are not exactly the network's, or not finite. The message names the tensor.
    """
    wanted = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    found = {name: tensor for name, tensor in tensors.items() if name.startswith("network.")}
    _compare(_kinds(wanted), _kinds(found))
    _require_finite(found)
    network.load_state_dict({name.removeprefix("network."): found[name] for name in wanted})


def optimizer_tensors(optimizer: torch.optim.Optimizer, network: nn.Module) -> dict[str, Tensor]:
    """Copy the state of Adam or AdamW, as "optimizer.<parameter>.<entry>".

    What the optimizer was made with, such as its learning rate, is not part of it.
    """
    return {
        f"optimizer.{name}.{entry}": value.detach().clone()
        for name, parameter, _ in _optimized(optimizer, network)
        for entry, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, network: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Put a state that `optimizer_tensors` copied into an optimizer.

    With the weights and the learning rate restored too, every later step is bit for bit the
    one that the first optimizer would have made.

    Parameters
    ----------
    optimizer
        An Adam or AdamW for the parameters of the network, made as the first one was; it
        changes only if all of the state fits.
    network
        The network, for the names of the parameters.
    tensors
        A training state's tensors. Those not named "optimizer.<parameter>.<entry>" are left
        alone. A parameter that never had a gradient has none.

    Raises
    ------
    WeightsError
        If they are not exactly those of the optimizer, or not finite. The message names the
        tensor.
    """
    found = {name: tensor for name, tensor in tensors.items() if name.startswith("optimizer.")}
    stateful = {name.rpartition(".")[0] for name in found}
    wanted: dict[str, Tensor] = {}
    owner: dict[str, nn.Parameter] = {}
    for name, parameter, group in _optimized(optimizer, network):
        if f"optimizer.{name}" in stateful:
            for entry, like in _entries(parameter, group).items():
                wanted[f"optimizer.{name}.{entry}"] = like
                owner[f"optimizer.{name}.{entry}"] = parameter
    _compare(_kinds(wanted), _kinds(found))
    _require_finite(found)
    optimizer.state.clear()
    for name, like in wanted.items():
        entry = name.rpartition(".")[2]
        optimizer.state[owner[name]][entry] = found[name].to(like.device, copy=True)


def _entries(parameter: nn.Parameter, group: dict[str, Any]) -> dict[str, Tensor]:
    """Say what Adam keeps of a parameter, by tensors of the same type, shape and place."""
    place = parameter.device if group["capturable"] or group["fused"] else "cpu"
    entries: dict[str, Tensor] = {"step": torch.zeros((), device=place)}
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    return entries | dict.fromkeys(names if group["amsgrad"] else names[:2], parameter)


def _optimized(
    optimizer: torch.optim.Optimizer, network: nn.Module
) -> Iterator[tuple[str, nn.Parameter, dict[str, Any]]]:
    """Go through the parameters of an optimizer, with their names and options."""
    if not isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
        raise TypeError(f"optimizer is {type(optimizer).__name__}, must be Adam or AdamW")
    names = {parameter: name for name, parameter in network.named_parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter not in names:
                raise ValueError("the optimizer has a parameter that the network has not")
            yield names[parameter], parameter, group


# Tensors


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, _Kind]:
    return {
        name: (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for name, tensor in tensors.items()
    }


def _compare(wanted: Mapping[str, _Kind], found: Mapping[str, _Kind]) -> None:
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


def _require_finite(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise WeightsError(f"tensor {name!r}: holds a number that is not finite")


# Files


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Put the file's name in front of what is wrong with it."""
    try:
        yield
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from None


def _write(path: str | Path, tensors: Mapping[str, Tensor], head: dict[str, Any]) -> None:
    try:
        text = json.dumps(head, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WeightsError(f"cannot be written as JSON: {_plain(str(error))}") from None
    _limit(len(text), MAX_HEAD_BYTES, "JSON")
    # Copies, because the format has no tensors that share memory.
    copies = {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }
    content = save(copies, {_KEY: text})
    _limit(len(content), MAX_BYTES, "content")
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        if temporary.is_file():  # and not a device, which may not know how
            os.fsync(file.fileno())


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """Open a safetensors file and read its header; what goes wrong meanwhile names the file."""
    path = Path(path)
    with _naming(path):
        try:
            size = path.stat().st_size
            if not path.is_file():  # to open a pipe would wait for somebody to write to it
                raise WeightsError("is not a file")
            _limit(size, MAX_BYTES, "content")
            path.open("rb").close()
        except OSError as error:
            raise WeightsError(error.strerror) from None
        try:
            with safe_open(path, framework="pt") as file:
                yield file
        except SafetensorError as error:
            raise WeightsError(f"broken safetensors file: {_plain(str(error))}") from None


def _limit(size: int, most: int, what: str) -> None:
    if size > most:
        raise WeightsError(f"has {size} bytes of {what}, at most {most}")


def _get_tensors(file: Any) -> dict[str, Tensor]:
    # Copies, where torch likes its memory to begin: elsewhere some of its kernels round
    # differently, and what is in the file's own memory fails once the file is cut short.
    return {name: file.get_tensor(name).clone() for name in sorted(file.keys())}


def _read_json(file: Any) -> Any:
    text = (file.metadata() or {}).get(_KEY)
    if text is None:
        raise WeightsError("is a safetensors file of another program")
    _limit(len(text), MAX_HEAD_BYTES, "JSON")
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"broken JSON: {_plain(str(error))}") from None


def _require(data: Any, schema: type[_AnyHead]) -> _AnyHead:
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


def _plain(text: str) -> str:
    """Make one short line of text that may hold names out of a file."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= 200 else line[:197] + "..."
