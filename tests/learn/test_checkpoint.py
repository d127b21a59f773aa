"""Tests of files of weights and training states: exact to the bit, and safe to open."""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file
from torch import Tensor, nn

from decost.inference import weights
from decost.inference.shapes import NetworkConfig
from decost.inference.weights import WeightsError, list_models, model_path, read_card
from decost.learn import checkpoint
from decost.learn.checkpoint import (
    load_heatmap,
    load_run,
    load_weights,
    network_tensors,
    optimizer_tensors,
    restore_network,
    restore_optimizer,
    save_run,
    save_weights,
)
from decost.learn.heatmap import HeatmapNetwork
from decost.learn.network import PaperNetwork, PrefixNetwork, make_network

SHAPE = {"layers": 1, "width": 8, "heads": 2, "feed_forward": 8}
KINDS = ("paper", "prefix")


def small_network(kind: str = "prefix", seed: int = 0, **changes: Any) -> Any:
    """Make a small network with random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_network(NetworkConfig(network=kind, **(SHAPE | changes)))


def bits(tensors: dict[str, Tensor]) -> dict[str, tuple[str, bytes]]:
    """Tensors as types, shapes and bytes, which tell apart what == does not."""
    return {
        name: (f"{tensor.dtype} {tuple(tensor.shape)}", tensor.detach().numpy().tobytes())
        for name, tensor in tensors.items()
    }


def write_file(path: Path, tensors: dict[str, Tensor], head: Any) -> Path:
    """Write a file that may be wrong in any way, around the code that is tested."""
    text = head if isinstance(head, str) else json.dumps(head)
    save_file(tensors, path, {"decost": text})
    return path


def good_parts(kind: str = "prefix") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Parts of a file that is as it should be."""
    network = small_network(kind)
    head = {
        "format": "decost-weights",
        "version": 1,
        "network": network.config.model_dump(),
        "card": {"note": "good"},
    }
    return dict(network.state_dict()), head


def error_of(action: Callable[[Path], object], path: Path) -> str:
    """Message of the error that a file raises: one line that begins with the file's name."""
    with pytest.raises(WeightsError) as caught:
        action(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    assert len(message) < len(str(path)) + 300
    return message.removeprefix(f"{path}: ")


# Weights


@pytest.mark.parametrize("kind", KINDS)
def test_weights_come_back_to_the_bit(kind: str, tmp_path: Path) -> None:
    """A network of either kind comes back with its configuration, its bits and its card."""
    path = tmp_path / "w.safetensors"
    network = small_network(kind, clip=7.3, spatial_encoding=kind == "paper")
    first = next(iter(network.state_dict().values()))
    first.flatten()[:3] = torch.tensor([-0.0, 1e-45, 3.4e38])
    card = {"epochs": 3, "gap": 0.1 + 0.2, "note": "größer\n", "sizes": [50, 100], "by": None}
    save_weights(path, network, card)
    found, found_card = load_weights(path)
    assert type(found) is type(network)
    assert found.config == network.config
    assert bits(found.state_dict()) == bits(network.state_dict())
    assert found_card == card == read_card(path)


@pytest.mark.parametrize("kind", KINDS)
def test_network_is_ready(kind: str, tmp_path: Path) -> None:
    """The network evaluates, can be trained further, and has all of its memory to itself."""
    path = tmp_path / "w.safetensors"
    save_weights(path, small_network(kind), {})
    network, _ = load_weights(path)
    assert isinstance(network, PaperNetwork | PrefixNetwork)
    assert not any(module.training for module in network.modules())
    for tensor in (*network.parameters(), *network.buffers()):
        assert tensor.device.type == "cpu"
        assert tensor.is_contiguous()
    assert all(isinstance(weight, nn.Parameter) for weight in network.parameters())
    assert all(weight.requires_grad for weight in network.parameters())
    before = bits(network.state_dict())
    path.write_bytes(b"")
    assert bits(network.state_dict()) == before


def test_other_programs_can_read_the_file(tmp_path: Path) -> None:
    """The file is plain safetensors: header length, JSON, numbers."""
    path = tmp_path / "w.safetensors"
    network = small_network()
    save_weights(path, network, {"note": 1})
    arrays = load_file(path)
    assert arrays.keys() == network.state_dict().keys()
    for name, tensor in network.state_dict().items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    assert json.loads(header["__metadata__"]["decost"]) == {
        "format": "decost-weights",
        "version": 1,
        "network": network.config.model_dump(),
        "card": {"note": 1},
    }


def test_same_network_gives_the_same_file(tmp_path: Path) -> None:
    """Two files of one network are equal, byte for byte."""
    for name in "ab":
        save_weights(tmp_path / name, small_network(), {"z": 1, "a": 2})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_loading_draws_no_random_numbers(kind: str, tmp_path: Path) -> None:
    """The global generator is as it was."""
    save_weights(tmp_path / "w", small_network(kind), {})
    before = torch.get_rng_state()
    load_weights(tmp_path / "w")
    assert torch.equal(torch.get_rng_state(), before)


def test_only_the_networks_part_of_a_configuration_is_written(tmp_path: Path) -> None:
    """A configuration with more to it than the network's does not spoil the file."""

    class Larger(NetworkConfig):
        epochs: int = 3

    save_weights(tmp_path / "w", make_network(Larger(network="prefix", **SHAPE)), {})
    network, _ = load_weights(tmp_path / "w")
    assert network.config == NetworkConfig(network="prefix", **SHAPE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda network: network.double(), "is float64"),
        (lambda network: next(network.parameters()).data.fill_(math.nan), "not finite"),
        (lambda network: next(network.parameters()).data.fill_(-math.inf), "not finite"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(
    change: Callable[[nn.Module], object], message: str, tmp_path: Path
) -> None:
    """Weights that a reader would refuse are refused at once, and the old file stays."""
    path = tmp_path / "w"
    path.write_text("old")
    network = small_network()
    change(network)
    assert message in error_of(lambda path: save_weights(path, network, {}), path)
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "not JSON compliant"),
        (math.inf, "not JSON compliant"),
        (np.float32(1), "float32 is not JSON"),
        (Path("x"), "is not JSON"),
    ],
)
def test_card_must_be_json(value: Any, message: str, tmp_path: Path) -> None:
    """A card or facts that JSON has no word for are an error, and nothing is written."""
    path = tmp_path / "w"
    for action in (
        lambda path: save_weights(path, small_network(), {"a": [value]}),
        lambda path: save_run(path, {}, {"a": [value]}),
    ):
        assert message in error_of(action, path)
    assert list(tmp_path.iterdir()) == []


# Files that are not as they should be


def test_no_such_file(tmp_path: Path) -> None:
    """Each reader says that there is no file, or that it is none."""
    for action in (load_weights, read_card, load_run):
        assert error_of(action, tmp_path / "none") == "No such file or directory"
        assert error_of(action, tmp_path) == "is not a file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    assert error_of(load_weights, tmp_path / "pipe") == "is not a file"


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is named."""
    path = tmp_path / "w"
    save_weights(path, small_network(), {})

    def refuse(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert error_of(load_weights, path) == "Permission denied"


def test_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than the limit is neither read nor written."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # takes no room on the disk
    message = "has 1073741825 bytes of content, at most 1073741824"
    assert error_of(load_weights, path) == message
    assert error_of(load_run, path) == message
    for module in (checkpoint, weights):
        monkeypatch.setattr(module, "MAX_BYTES", 1000)
    assert "at most 1000" in error_of(lambda path: save_weights(path, small_network(), {}), path)
    assert path.stat().st_size == 2**30 + 1


def test_card_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So much JSON is neither read nor written."""
    path = tmp_path / "w"
    save_weights(path, small_network(), {"note": "x" * 1000})
    for module in (checkpoint, weights):
        monkeypatch.setattr(module, "MAX_HEAD_BYTES", 1000)
    for action in (
        load_weights,
        read_card,
        lambda path: save_run(path, {}, {"note": "x" * 1000}),
    ):
        assert "bytes of JSON, at most 1000" in error_of(action, path)


def test_truncated_file(tmp_path: Path) -> None:
    """A file that was cut off anywhere is an error, as is one with something after its end."""
    path = tmp_path / "w"
    save_weights(path, small_network(), {"note": "x"})
    content = path.read_bytes()
    lengths = {*range(20), *range(20, len(content), 97), len(content) - 1}
    for length in sorted(lengths):
        path.write_bytes(content[:length])
        assert "broken safetensors file" in error_of(load_weights, path)
        assert "broken safetensors file" in error_of(read_card, path)
    path.write_bytes(content + b"x")
    assert "broken safetensors file" in error_of(load_weights, path)


def test_random_bytes(tmp_path: Path) -> None:
    """Bytes of no meaning are an error; a changed byte is one too, or a valid file."""
    random = np.random.default_rng(0)
    path = tmp_path / "w"
    for size in (1, 8, 9, 100, 5000):
        path.write_bytes(random.bytes(size))
        assert "broken safetensors file" in error_of(load_weights, path)
    save_weights(path, small_network(), {"note": "x"})
    content = path.read_bytes()
    for _ in range(300):
        broken = bytearray(content)
        for place in random.integers(0, 3000, size=random.integers(1, 4)):
            broken[place] = random.integers(256)
        path.write_bytes(broken)
        try:
            network, _ = load_weights(path)
        except WeightsError:
            error_of(load_weights, path)
        else:
            assert all(tensor.isfinite().all() for tensor in network.parameters())


def test_pickle_is_not_opened(tmp_path: Path) -> None:
    """A file of torch's own format is refused, and what it would run is not run."""

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "evil",))

    path = tmp_path / "w.pt"
    torch.save({"weights": Evil()}, path)
    assert "broken safetensors file" in error_of(load_weights, path)
    assert not (tmp_path / "evil").exists()


def test_safetensors_of_another_program(tmp_path: Path) -> None:
    """A file without our metadata is named as what it is, as is the other of our two kinds."""
    path = tmp_path / "w"
    for metadata in (None, {"format": "pt"}):
        save_file({"a": torch.zeros(2)}, path, metadata)
        for action in (load_weights, read_card, load_run):
            assert error_of(action, path) == "is a safetensors file of another program"
    save_run(path, {}, {})
    assert "format = 'decost-run'" in error_of(load_weights, path)
    save_weights(path, small_network(), {})
    assert "format = 'decost-weights'" in error_of(load_run, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version = 2: Input should be 1"),
        ({"format": "other"}, "format = 'other': Input should be 'decost-weights'"),
        ({"more": 1}, "more = 1: unknown field"),
        ({"card": [1]}, "card = list of 1: must be an object"),
        ({"network": None}, "network = None: must be an object"),
        ({"network": {"depth": 3}}, "network.depth = 3: unknown field"),
        ({"network": {"layers": 0}}, "network.layers = 0: Input should be greater"),
        ({"network": {"layers": 10**9}}, "network.layers = 1000000000: Input should be less"),
        ({"network": {"layers": 1.5}}, "network.layers = 1.5: Input should be a valid integer"),
        ({"network": {"layers": "1"}}, "network.layers = '1': Input should be a valid integer"),
        ({"network": {"clip": -1.0}}, "network.clip = -1.0: Input should be greater"),
        ({"network": {"network": "gpt"}}, "network.network = 'gpt': Input should be 'paper'"),
        ({"network": {"width": 7, "heads": 2}}, "network: width = 7: must be a multiple"),
        ({"network": {"a\n\x1b[2J" * 99: 3}}, "unknown field"),
    ],
)
def test_wrong_head(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    """What is wrong with the head is said with the field and its value."""
    tensors, head = good_parts()
    if change.get("network"):
        change = {"network": head["network"] | change["network"]}
    path = write_file(tmp_path / "w", tensors, head | change)
    for action in (load_weights, read_card):
        assert message in error_of(action, path)


@pytest.mark.parametrize("field", ["format", "version", "network", "card"])
def test_missing_field(field: str, tmp_path: Path) -> None:
    """Each field of the head is needed."""
    tensors, head = good_parts()
    del head[field]
    assert error_of(load_weights, write_file(tmp_path / "w", tensors, head)) == f"{field}: missing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "broken JSON: Expecting value"),
        ("[]", "content = list of 0: must be an object"),
        ("[" * 100_000, "broken JSON: maximum recursion"),
        ('{"version": NaN}', "broken JSON: NaN is not a number"),
        ('{"version": -Infinity}', "broken JSON: -Infinity is not a number"),
        ('{"version": 1e999}', "broken JSON: '1e999' is too large"),
        ('{"version": ' + "9" * 5000 + "}", "broken JSON: Exceeds the limit"),
        ('{"version": 1, "version": 1}', "broken JSON: 'version' is given twice"),
    ],
)
def test_broken_json(text: str, message: str, tmp_path: Path) -> None:
    """JSON that is broken, or that different readers take differently, is an error."""
    path = write_file(tmp_path / "w", good_parts()[0], text)
    for action in (load_weights, read_card, load_run):
        assert message in error_of(action, path)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_tensors(kind: str, tmp_path: Path) -> None:
    """Names, types and shapes must be exactly those of the network."""
    path = tmp_path / "w"

    good, head = good_parts(kind)
    name, tensor = next((name, tensor) for name, tensor in good.items() if tensor.ndim == 2)
    rows, columns = tensor.shape
    wanted = f"must be float32 [{rows}, {columns}]"

    def complaint(tensors: dict[str, Tensor]) -> str:
        return error_of(load_weights, write_file(path, tensors, head))

    others = {other: tensor for other, tensor in good.items() if other != name}
    assert complaint(others) == f"tensor '{name}': missing"
    assert complaint({}).endswith("missing")
    assert complaint(good | {"extra": torch.zeros(1)}) == "tensor 'extra': unknown"
    for shown, bad in (
        (f"float32 [{rows}, {columns - 1}]", tensor[:, 1:].contiguous()),
        (f"float32 [{rows * columns}]", tensor.flatten()),
        (f"F64 [{rows}, {columns}]", tensor.double()),
        (f"F16 [{rows}, {columns}]", tensor.half()),
    ):
        assert complaint(others | {name: bad}) == f"tensor '{name}': is {shown}, {wanted}"
    for value in (math.nan, math.inf):
        bad = tensor.clone()
        bad[-1, -1] = value
        message = f"tensor '{name}': holds a number that is not finite"
        assert complaint(others | {name: bad}) == message


def test_tensor_with_a_strange_name(tmp_path: Path) -> None:
    """A name out of the file cannot write more than its part of one line."""
    tensors, head = good_parts()
    tensors["\n\x1b[2J" * 1000] = torch.zeros(1)
    assert "unknown" in error_of(load_weights, write_file(tmp_path / "w", tensors, head))


HOSTILE = """
import resource, sys
from decost.inference.weights import (WeightsError)
from decost.learn.checkpoint import (load_weights)
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))  # spare the machine if it fails
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        load_weights(path)
    except WeightsError as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
def test_huge_configuration_allocates_nothing(tmp_path: Path) -> None:
    """A small file that claims a network of 50 GB is refused before any of it is made."""
    paths = []
    for kind in KINDS:
        tensors, head = good_parts(kind)
        head["network"] |= {"layers": 64, "width": 4096, "heads": 64, "feed_forward": 16384}
        paths.append(write_file(tmp_path / kind, tensors, head))
    command = [sys.executable, "-c", HOSTILE, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *messages, kilobytes = done.stdout.splitlines()
    for path, message in zip(paths, messages, strict=True):
        assert message.startswith(f"{path}: tensor ")
    assert int(kilobytes) < 400_000  # modules of torch that it imports for this


# Shipped weights


def test_models_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are found by their names; an unknown one is told which there are."""
    monkeypatch.setattr(weights, "MODELS", tmp_path / "none")
    assert list_models() == []
    with pytest.raises(WeightsError, match=r"model 'x': unknown, choose from: \(there are none\)"):
        model_path("x")
    monkeypatch.setattr(weights, "MODELS", tmp_path)
    for name in ("b", "a"):
        save_weights(tmp_path / f"{name}.safetensors", small_network(), {"name": name})
    (tmp_path / "README.md").touch()
    assert list_models() == [(name, tmp_path / f"{name}.safetensors") for name in "ab"]
    assert read_card(model_path("b")) == {"name": "b"}
    for name in ("c", "a.safetensors", "../a", ""):
        with pytest.raises(WeightsError, match=r"unknown, choose from: a, b$"):
            model_path(name)


def test_every_shipped_model_can_be_loaded() -> None:
    """Whatever the package brings along is a network with a card."""
    for name, path in list_models():
        assert model_path(name) == path
        if name == "gfacs":
            heatmap, card = load_heatmap(path)
            assert isinstance(heatmap, HeatmapNetwork)
        else:
            network, card = load_weights(path)
            assert isinstance(network, PaperNetwork | PrefixNetwork)
        assert card == read_card(path)


# Training states


def test_run_comes_back_to_the_bit(tmp_path: Path) -> None:
    """Tensors of any type, also such as share memory, and facts come back as they were."""
    path = tmp_path / "run"
    shared = torch.arange(12, dtype=torch.float32).view(3, 4)
    tensors = {
        "random": torch.get_rng_state(),
        "step": torch.tensor(3.0),
        "large": torch.tensor([2**62, -1]),
        "double": torch.tensor([0.1, math.nan, -0.0], dtype=torch.float64),
        "none": torch.zeros(0, 5),
        "true": torch.tensor([True, False]),
        "whole": shared,
        "again": shared,
        "turned": shared.T,
    }
    floats = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789.123456789]
    facts = {"floats": floats, "history": [{"epoch": 1, "gap": 0.1}], "none": None, "ä": "\n"}
    save_run(path, tensors, facts)
    found, found_facts = load_run(path)
    assert bits(found) == bits({name: tensor.contiguous() for name, tensor in tensors.items()})
    assert found_facts == facts
    assert [value.hex() for value in found_facts["floats"]] == [value.hex() for value in floats]
    assert found["whole"].data_ptr() != found["again"].data_ptr()


def test_run_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is whole and synchronised when it is renamed."""
    path = tmp_path / "run"
    events: list[tuple[str, int]] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(handle: int) -> None:
        fsync(handle)
        events.append(("fsync", os.fstat(handle).st_size))

    def note_replace(source: Path, target: Path) -> Path:
        events.append(("rename", source.stat().st_size))
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    save_run(path, {"a": torch.zeros(100)}, {})
    size = path.stat().st_size
    assert events == [("fsync", size), ("rename", size)]


def test_failing_write_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the last state is there and nothing else is."""
    path = tmp_path / "run"
    save_run(path, {"a": torch.ones(3)}, {"epoch": 1})

    def fail(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left on device"):
        save_run(path, {"a": torch.zeros(3)}, {"epoch": 2})
    tensors, facts = load_run(path)
    assert (tensors["a"].tolist(), facts) == ([1, 1, 1], {"epoch": 1})
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device")
def test_device_can_be_written() -> None:
    """A device cannot be synchronised, which is no error."""
    save_run("/dev/null", {"a": torch.zeros(3)}, {})


def test_broken_run(tmp_path: Path) -> None:
    """A training state that is cut off, of another version or of a strange type is an error."""
    path = tmp_path / "run"
    save_run(path, {"a": torch.zeros(100)}, {})
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "broken safetensors file" in error_of(load_run, path)
    head = {"format": "decost-run", "version": 1, "facts": {}}
    write_file(path, {}, head | {"version": 3})
    assert error_of(load_run, path) == "version = 3: Input should be 1"
    write_file(path, {}, head | {"facts": []})
    assert error_of(load_run, path) == "facts = list of 0: must be an object"
    header = json.dumps(
        {
            "__metadata__": {"decost": json.dumps(head)},
            "a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]},
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(3))
    assert "broken safetensors file" in error_of(load_run, path)


# Going on with a training


def train(network: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    """Take steps that depend on their numbers; the last parameter has a gradient from step 3."""
    parameters = list(network.parameters())
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        optimizer.zero_grad()
        active = parameters if step >= 3 else parameters[:-1]
        noise = [torch.randn(weight.shape, generator=generator) for weight in active]
        loss = sum(
            ((weight * some).sin() ** 2).sum() for weight, some in zip(active, noise, strict=True)
        )
        loss.backward()
        optimizer.step()


def restore(
    network: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back all that a training needs."""
    restore_optimizer(optimizer, network, tensors)
    restore_network(network, tensors)


OPTIMIZERS: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
    "Adam": lambda network: torch.optim.Adam(network.parameters(), 0.01, weight_decay=1e-3),
    "AdamW": lambda network: torch.optim.AdamW(network.parameters(), 0.01, amsgrad=True),
    "groups": lambda network: torch.optim.AdamW(
        [
            {"params": list(network.parameters())[5:], "lr": 0.1},
            {"params": list(network.parameters())[:5]},
        ]
    ),
    "fused": lambda network: torch.optim.Adam(network.parameters(), 0.01, fused=True),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", [0, 2, 5])
def test_continued_training_is_the_same(
    kind: str, make: Callable[[nn.Module], torch.optim.Optimizer], stop: int, tmp_path: Path
) -> None:
    """A training that was stopped and went on ends where one without a stop does, to the bit."""
    whole = small_network(kind)
    straight = make(whole)
    train(whole, straight, range(10))

    first = small_network(kind)
    optimizer = make(first)
    train(first, optimizer, range(stop))
    tensors = network_tensors(first) | optimizer_tensors(optimizer, first)
    save_run(tmp_path / "run", tensors, {})
    train(first, optimizer, range(3))  # what happens after that is not part of it

    second = small_network(kind, seed=1)
    again = make(second)
    train(second, again, range(1))  # nor is what was before
    loaded, _ = load_run(tmp_path / "run")
    restore(second, again, loaded)
    assert bits(network_tensors(second) | optimizer_tensors(again, second)) == bits(loaded)
    train(second, again, range(stop, 10))

    assert bits(second.state_dict()) == bits(whole.state_dict())
    assert bits(optimizer_tensors(again, second)) == bits(optimizer_tensors(straight, whole))
    assert bits(tensors) == bits(loaded)


def test_names_in_a_run() -> None:
    """Weights and the optimizer's entries are named by the parameters."""
    network = small_network()
    optimizer = torch.optim.Adam(network.parameters())
    train(network, optimizer, range(4))
    names = [name for name, _ in network.named_parameters()]
    assert list(network_tensors(network)) == [f"network.{name}" for name in names]
    tensors = optimizer_tensors(optimizer, network)
    entries = ("step", "exp_avg", "exp_avg_sq")
    assert set(tensors) == {f"optimizer.{name}.{entry}" for name in names for entry in entries}
    assert tensors[f"optimizer.{names[0]}.step"] == 4
    assert tensors[f"optimizer.{names[-1]}.step"] == 1


def test_state_that_does_not_fit_changes_nothing() -> None:
    """What is missing, unknown, mis-shaped or not finite is named, and nothing is restored."""
    network = small_network()
    optimizer = torch.optim.Adam(network.parameters())
    train(network, optimizer, range(2))
    good = network_tensors(network) | optimizer_tensors(optimizer, network)
    weight, *_, idle = (name for name, _ in network.named_parameters())
    assert f"optimizer.{idle}.step" not in good  # it had no gradient up to now
    like = good[f"network.{weight}"]
    flat, nan = torch.zeros(like.numel()), torch.full_like(like, math.nan)
    wanted = f"is float32 [{like.numel()}], must be float32 {list(like.shape)}"
    wrong: list[tuple[str, Tensor | None, str]] = [
        (f"network.{weight}", None, "missing"),
        (f"network.{weight}", flat, wanted),
        (f"network.{weight}", nan, "not finite"),
        ("network.more", flat, "unknown"),
        (f"optimizer.{weight}.exp_avg", None, "missing"),
        (f"optimizer.{weight}.exp_avg", flat, wanted),
        (f"optimizer.{weight}.exp_avg_sq", nan, "not finite"),
        (f"optimizer.{weight}.step", torch.zeros(1), "is float32 [1], must be float32 []"),
        (f"optimizer.{weight}.step", torch.tensor(3), "is int64 [], must be float32 []"),
        (f"optimizer.{weight}.max_exp_avg_sq", torch.zeros_like(like), "unknown"),
        ("optimizer.more.step", torch.tensor(1.0), "unknown"),
        ("optimizer.", torch.tensor(1.0), "unknown"),
    ]
    for name, value, message in wrong:
        tensors = {key: tensor for key, tensor in good.items() if key != name}
        if value is not None:
            tensors[name] = value
        with pytest.raises(WeightsError) as caught:
            restore(network, optimizer, tensors)
        assert str(caught.value).startswith(f"tensor '{name}': ")
        assert message in str(caught.value)
        after = network_tensors(network) | optimizer_tensors(optimizer, network)
        assert bits(after) == bits(good)


def test_other_optimizers() -> None:
    """Only Adam's state is known, and only of the network's own parameters."""
    network = small_network()
    other = torch.optim.SGD(network.parameters())
    with pytest.raises(TypeError, match="optimizer is SGD, must be Adam or AdamW"):
        optimizer_tensors(other, network)
    with pytest.raises(TypeError, match="optimizer is SGD, must be Adam or AdamW"):
        restore_optimizer(other, network, {})
    strange = torch.optim.Adam(small_network().parameters())
    with pytest.raises(ValueError, match="a parameter that the network has not"):
        optimizer_tensors(strange, network)
