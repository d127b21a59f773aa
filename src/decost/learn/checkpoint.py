"""Files of weights and of training states, both in the safetensors format.

How files are read, and what weights are, is in `decost.inference.weights`. A training state holds
whatever a training needs to go on as if it had never stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn

from decost.files.writing import replacing
from decost.inference.shapes import HeatmapConfig, NetworkConfig
from decost.inference.weights import (
    KEY,
    MAX_BYTES,
    MAX_HEAD_BYTES,
    Head,
    Kind,
    WeightsError,
    compare,
    limit,
    naming,
    opened,
    plain,
    read_json,
    read_weights,
    require,
    require_finite,
)
from decost.learn.heatmap import HeatmapNetwork
from decost.learn.network import PaperNetwork, PrefixNetwork, make_network

Network: TypeAlias = PaperNetwork | PrefixNetwork
"""A network that builds routes."""

AnyNetwork: TypeAlias = Network | HeatmapNetwork
"""That, or one that guides ants."""


class _RunHead(Head):
    format: Literal["decost-run"]
    version: Literal[1]
    facts: dict[str, Any]


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
    with naming(path):
        found = _kinds(tensors)
        compare({name: ("float32", shape) for name, (_, shape) in found.items()}, found)
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
        As `decost.inference.weights.read_weights` does.
    """
    found = read_weights(path)
    assert isinstance(found.config, NetworkConfig)
    with torch.device("meta"):
        network = make_network(found.config)
    return _filled(network, found.tensors, device), found.card


def load_heatmap(path: str | Path) -> tuple[HeatmapNetwork, dict[str, Any]]:
    """Read a heatmap network, ready for use, and its card.

    Raises
    ------
    WeightsError
        As `load_weights` does.
    """
    found = read_weights(path, heatmap=True)
    assert isinstance(found.config, HeatmapConfig)
    with torch.device("meta"):
        network = HeatmapNetwork(found.config)
    return _filled(network, found.tensors, "cpu"), found.card


def _filled(network: _Module, arrays: Mapping[str, Any], device: str | torch.device) -> _Module:
    """Put the tensors of a file into a network that is only described."""
    tensors = {name: torch.tensor(array, device=device) for name, array in arrays.items()}
    network.load_state_dict(tensors, assign=True)
    network.eval()
    return network


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
    with naming(path):
        _write(path, tensors, {"format": "decost-run", "version": 1, "facts": dict(facts)})


def load_run(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the facts of a training state, as `save_run` writes it.

    Raises
    ------
    WeightsError
        If the file cannot be read, is damaged or is no training state.
    """
    with opened(path, "pt") as file:
        head = require(read_json(file), _RunHead)
        tensors = _get_tensors(file)
    return tensors, head.facts


def read_facts(path: str | Path) -> dict[str, Any]:
    """Read the facts of a training state, without its tensors.

    Raises
    ------
    WeightsError
        If the file cannot be read or is no training state.
    """
    with opened(path, "pt") as file:
        return require(read_json(file), _RunHead).facts


def network_tensors(network: nn.Module, part: str = "network") -> dict[str, Tensor]:
    """Copy the weights of a network, as "<part>.<name>"."""
    state = network.state_dict()
    return {f"{part}.{name}": tensor.detach().clone() for name, tensor in state.items()}


def restore_network(
    network: nn.Module, tensors: Mapping[str, Tensor], part: str = "network"
) -> None:
    """Put weights that `network_tensors` copied into a network of the same shape.

    Parameters
    ----------
    network
        Where to put them; it changes only if all of them fit.
    tensors
        A training state's tensors. Those not named "<part>.<name>" are left alone.
    part
        What they were copied as.

    Raises
    ------
    WeightsError
        If they are not exactly the network's, or not finite. The message names the tensor.
    """
    wanted = {f"{part}.{name}": tensor for name, tensor in network.state_dict().items()}
    found = {name: tensor for name, tensor in tensors.items() if name.startswith(f"{part}.")}
    compare(_kinds(wanted), _kinds(found))
    _require_finite(found)
    network.load_state_dict({name.removeprefix(f"{part}."): found[name] for name in wanted})


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
    compare(_kinds(wanted), _kinds(found))
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


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, Kind]:
    return {
        name: (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for name, tensor in tensors.items()
    }


def _require_finite(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        require_finite(name, bool(tensor.isfinite().all()))


def _get_tensors(file: Any) -> dict[str, Tensor]:
    # Copies, where torch likes its memory to begin: elsewhere some of its kernels round
    # differently, and what is in the file's own memory fails once the file is cut short.
    return {name: file.get_tensor(name).clone() for name in sorted(file.keys())}


# Files


def _write(path: str | Path, tensors: Mapping[str, Tensor], head: dict[str, Any]) -> None:
    try:
        text = json.dumps(head, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WeightsError(f"cannot be written as JSON: {plain(str(error))}") from None
    limit(len(text), MAX_HEAD_BYTES, "JSON")
    # Copies, because the format has no tensors that share memory.
    copies = {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }
    content = save(copies, {KEY: text})
    limit(len(content), MAX_BYTES, "content")
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        if temporary.is_file():  # and not a device, which may not know how
            os.fsync(file.fileno())
