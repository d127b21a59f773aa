"""The encoder by hand: against the layers of the network and autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from decost.inference.shapes import NetworkConfig
from decost.learn.encoder import encode, look_up
from decost.learn.features import Problems, load_problems
from decost.learn.network import Lookup, PaperNetwork
from decost.problem.generators import generate

CASES = {
    "paper": {},
    "no edges": {"spatial_encoding": False},
    "extended": {"features": "extended"},
    "scaled": {"scaled": True, "stay_decoder": "softmax"},
    "fixed stays": {"stay_decoder": "fixed"},
}


def make(**switches: object) -> tuple[PaperNetwork, Problems]:
    """Make a small network, with all of its weights at random, and instances of several sizes."""
    config = NetworkConfig.model_validate(
        {"layers": 2, "width": 24, "heads": 3, "feed_forward": 40, **switches}
    )
    torch.manual_seed(0)
    network = PaperNetwork(config)
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
    instances = [
        *generate("paper", nodes=20, window=100, count=4, seed=1),
        *generate("mixed", nodes=9, count=3, seed=2),
    ]
    return network, load_problems(instances, least=16)


def tables(lookups: tuple[Lookup, Lookup | None]) -> list[Tensor]:
    """List the tables of all decoders."""
    return [
        table
        for lookup in lookups
        if lookup is not None
        for table in (lookup.score, lookup.time_score, lookup.answer)
    ]


def pulled(network: PaperNetwork, nodes: Tensor, real: Tensor) -> list[Tensor]:
    """Take the gradient of a sum of the real nodes' numbers with random signs."""
    generator = torch.Generator().manual_seed(3)
    signs = torch.randn(nodes.shape, generator=generator) * real[..., None]
    weights = list(network.parameters())
    found = torch.autograd.grad(nodes, weights, signs, allow_unused=True)
    return [
        torch.zeros_like(weight) if gradient is None else gradient
        for weight, gradient in zip(weights, found, strict=True)
    ]


@pytest.mark.parametrize("case", CASES)
def test_encoder_by_autograd(case: str) -> None:
    """Encodings and all gradients are those of the layers, whatever pads the batch."""
    network, problems = make(**CASES[case])
    real = problems.batch.real
    wanted, found = network.encode(problems), encode(network, problems, bf16=False)
    torch.testing.assert_close(found[real], wanted[real], rtol=1e-4, atol=1e-5)
    for one, other in zip(pulled(network, found, real), pulled(network, wanted, real), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("pulls", [(), (2, 5)])
def test_instances_that_pull_at_nothing(pulls: tuple[int, ...]) -> None:
    """Where only some instances, or none, have a gradient, it is that of all."""
    network, problems = make()
    real = problems.batch.real.clone()
    for row in range(len(problems)):
        real[row] &= row in pulls
    wanted, found = network.encode(problems), encode(network, problems, bf16=False)
    for one, other in zip(pulled(network, found, real), pulled(network, wanted, real), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_bf16_gradient() -> None:
    """With products in bf16 the gradient points the same way, and nearer than by autocast."""
    network, problems = make(scaled=True, width=64, heads=4, layers=4)
    real = problems.batch.real
    wanted = torch.cat([one.flatten() for one in pulled(network, network.encode(problems), real)])
    with torch.autocast("cpu", torch.bfloat16):
        nodes = network.encode(problems)
    usual = torch.cat([one.flatten() for one in pulled(network, nodes.float(), real)])
    nodes = encode(network, problems, bf16=True)
    found = torch.cat([one.flatten() for one in pulled(network, nodes, real)])
    error = (found - wanted).norm() / wanted.norm()
    assert error < 0.1
    assert error < (usual - wanted).norm() / wanted.norm()


@pytest.mark.parametrize("case", CASES)
def test_tables(case: str) -> None:
    """The tables by one product are those of each decoder, and so are their gradients."""
    network, problems = make(**CASES[case])
    nodes = network.encode(problems).detach().requires_grad_()
    weights = [nodes, *network.routing.parameters()]
    generator = torch.Generator().manual_seed(4)
    results = []
    for lookups in (network.look_up(nodes), look_up(network, nodes, bf16=False)):
        found = tables(lookups)
        generator.manual_seed(4)
        signs = [torch.randn(table.shape, generator=generator) for table in found]
        results.append([*found, *torch.autograd.grad(found, weights, signs)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_stays_that_are_not_taught() -> None:
    """The service-time decoder's tables are the same without a gradient."""
    network, problems = make()
    nodes = network.encode(problems)
    routing, staying = look_up(network, nodes, bf16=False, taught=False)
    wanted = network.look_up(nodes)
    assert staying is not None
    assert routing.answer.requires_grad
    assert not staying.answer.requires_grad
    for one, other in zip(tables((routing, staying)), tables(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
