"""Tests of the heatmap: the graph of an instance, the network, and the ants' probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from decost import Instance, generate
from decost.inference import heatmap as module
from decost.inference.heatmap import LARGEST, Graph, NoTimeError, describe, find_region
from decost.inference.shapes import HeatmapConfig, NetworkConfig
from decost.inference.weights import WeightsError
from decost.learn.checkpoint import load_heatmap, load_weights, save_weights
from decost.learn.features import load_problems
from decost.learn.heatmap import AntPolicy, HeatmapNetwork, heat_table
from decost.learn.network import make_network
from decost.learn.rollout import roll_out, sampled_choice
from decost.method.deadline import Deadline
from policies import in_other_units, lively_instances

SHAPE: dict[str, Any] = {"layers": 2, "width": 8}


def small_heatmap(seed: int = 0, **changes: Any) -> HeatmapNetwork:
    """Make a small network with random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = HeatmapNetwork(HeatmapConfig(**(SHAPE | changes)))
        with torch.no_grad():
            for weight in network.parameters():
                weight += 0.2 * torch.randn(weight.shape)
        return network.eval()


def graph_of(instance: Instance) -> Graph:
    """Describe an instance."""
    return describe(instance, find_region(instance))


def heat_of(network: HeatmapNetwork, instance: Instance) -> Tensor:
    """Give the logarithms of the heat."""
    with torch.inference_mode():
        heat: Tensor = network(graph_of(instance))[0]
        return heat


# The graph.


@pytest.mark.parametrize(
    ("nodes", "window", "most"), [(50, 100, 10), (100, 100, 20), (20, 100, 10), (60, 10_000, 12)]
)
def test_neighbours(nodes: int, window: float, most: int) -> None:
    """A node has trails to a fifth of the instance's nodes, at least ten, and one home."""
    for instance in generate("paper", nodes=nodes, window=window, count=5, seed=3, budget=8):
        trails = find_region(instance).trails
        degree = np.diff(trails.first)
        assert degree.max() <= most + 1
        assert (degree == min(most, len(trails.stop) - 1) + 1).any()
        assert (trails.target[trails.first[1:] - 1] == 0).all()
        assert (trails.target == 0).sum() == len(trails.stop)


def test_large_instances_have_fewer_trails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of trails is limited, but for ten from each node."""
    (instance,) = generate("mixed", nodes=101, window=1000, seed=1)
    whole = len(find_region(instance).trails.target)
    monkeypatch.setattr(module, "MOST_TRAILS", 1500)
    assert len(find_region(instance).trails.target) <= 1500 + 101 < whole
    monkeypatch.setattr(module, "MOST_TRAILS", 1)
    assert np.diff(find_region(instance).trails.first).max() == 11


def test_ways_home_lead_to_the_end() -> None:
    """With an end of its own, a trail home takes the time to it."""
    (instance,) = generate("mixed", nodes=8, seed=4)
    assert instance.xy is not None
    xy = np.vstack((instance.xy, [[3.0, 4.0]]))
    other = instance.replace(xy=xy, separate_end=True, travel=None, budget=20.0)
    trails = find_region(other).trails
    home = trails.target == 0
    expected = np.hypot(*(xy[trails.stop] - [3.0, 4.0]).T)
    np.testing.assert_allclose(trails.way[home], expected)


@pytest.mark.parametrize("seed", range(5))
def test_units_make_no_difference(seed: int) -> None:
    """Other units of time, profit and distance give the same features."""
    for instance in lively_instances(seed):
        other = in_other_units(instance, 7.0, 0.3, 11.0, (5, -3))
        first, second = graph_of(instance), graph_of(other)
        torch.testing.assert_close(first.source, second.source)
        torch.testing.assert_close(first.target, second.target)
        torch.testing.assert_close(first.nodes, second.nodes, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(first.trails, second.trails, rtol=1e-4, atol=1e-4)


ODD: dict[str, dict[str, Any]] = {
    "nothing": {"xy": [[0, 0]], "rate": [0], "max_stay": [0]},
    "one stop": {"xy": [[0, 0], [1, 0]], "rate": [0, 1], "max_stay": [0, 1]},
    "all in one place": {"xy": np.zeros((3, 2)), "rate": [0, 1, 2], "max_stay": [0, 1, 1]},
    "largest numbers": {
        "travel": np.full((3, 3), 1e307),
        "budget": 1.7e308,
        "rate": [0, 1e-300, 1],
        "max_stay": [0, 1e308, 1],
    },
    "rewards alone": {"xy": [[0, 0], [1, 0]], "reward": [0, 5]},
    "no windows": {"xy": np.eye(4, 2), "rate": [0, 1, 1, 1], "max_stay": [0, 1, 1, 1]},
}


@pytest.mark.parametrize("case", ODD)
def test_features_of_odd_instances(case: str) -> None:
    """They are finite and limited whatever an instance looks like; the heat is at most 1."""
    instance = Instance(**({"budget": 10} | ODD[case]))
    graph = graph_of(instance)
    for features in (graph.nodes, graph.trails):
        assert np.abs(features).max() <= LARGEST
    assert len(graph.nodes) == 1 or bool((heat_of(small_heatmap(), instance) <= 0).all())


# The network.


def test_network_by_hand() -> None:
    """The network is the one that is described, recomputed in plain numpy."""
    network = small_heatmap(layers=1)
    (instance,) = generate("paper", nodes=20, seed=5)
    graph = graph_of(instance)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}

    def linear(name: str, rows: np.ndarray) -> np.ndarray:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def sigmoid(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-rows))

    def silu(rows: np.ndarray) -> np.ndarray:
        return rows * sigmoid(rows)

    def norm(name: str, rows: np.ndarray) -> np.ndarray:
        plain = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-5)
        return plain * weights[f"{name}.scale"] + weights[f"{name}.shift"]

    source, target = graph.source, graph.target
    nodes = silu(linear("embed_nodes", graph.nodes.astype(np.float64)))
    trails = silu(linear("embed_trails", graph.trails.astype(np.float64)))
    own, seen, begin, end = np.split(linear("layers.0.nodes", nodes), 4, axis=1)
    mean = np.stack(
        [
            (sigmoid(trails) * seen[target])[source == node].mean(0)
            for node in range(len(graph.nodes))
        ]
    )
    assert np.isfinite(norm("layers.0.node_norm", own + mean)).all()
    edges = linear("layers.0.trails", trails) + begin[source] + end[target]
    trails = trails + silu(norm("layers.0.trail_norm", edges))
    hidden = silu(linear("head.2", silu(linear("head.0", trails))))
    expected = np.log(sigmoid(linear("head.4", hidden)[:, 0]))
    flow = linear("partition.2", np.maximum(linear("partition.0", trails), 0)).mean(0)
    with torch.inference_mode():
        heat, partition, stay = network(graph)
    assert stay is None
    np.testing.assert_allclose(heat.numpy(), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(partition.numpy(), flow, rtol=1e-3, atol=1e-4)


def test_numbers_of_the_stops_make_no_difference() -> None:
    """The same stops in another order have the same heat between them."""
    (instance,) = generate("paper", nodes=30, seed=6)
    order = np.r_[0, 1 + np.random.default_rng(0).permutation(29)]
    assert instance.xy is not None
    other = instance.replace(
        xy=instance.xy[order],
        open=instance.open[order],
        close=instance.close[order],
        pieces=[instance.pieces[k] for k in order],
    )
    network = small_heatmap()
    heats = []
    for one, numbers in ((instance, np.arange(30)), (other, order)):
        trails, graph = find_region(one).trails, graph_of(one)
        ends = numbers[trails.stop[np.stack((graph.source, graph.target))]]
        heat = heat_of(network, one).tolist()
        heats.append(dict(zip(map(tuple, ends.T.tolist()), heat, strict=True)))
    assert heats[0] == pytest.approx(heats[1], abs=1e-4)
    assert len(set(heats[0].values())) > 20


def test_deadline() -> None:
    """Neither the trails nor the heat are worked out after the deadline."""
    (instance,) = generate("paper", seed=1)
    past = Deadline(0.0)
    with pytest.raises(NoTimeError):
        find_region(instance, past)
    with pytest.raises(NoTimeError):
        small_heatmap().ready().read(graph_of(instance), past)
    assert len(find_region(instance, Deadline(1e6)).trails.stop) > 1


def test_weights_come_back_to_the_bit(tmp_path: Path) -> None:
    """A file holds a heatmap network with its card, and no other method takes it for its own."""
    network = small_heatmap()
    path = tmp_path / "heat.safetensors"
    save_weights(path, network, {"about": "ants"})
    loaded, card = load_heatmap(path)
    assert card == {"about": "ants"}
    assert loaded.config == network.config
    for name, value in network.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    with pytest.raises(WeightsError, match=r"heat.safetensors: holds a heatmap for gfacs"):
        load_weights(path)
    other = tmp_path / "routes.safetensors"
    save_weights(other, make_network(NetworkConfig(layers=1, width=8, heads=1)), {})
    with pytest.raises(WeightsError, match=r"routes.safetensors: holds no heatmap"):
        load_heatmap(other)


# Probabilities.


@pytest.mark.parametrize(("greedy", "share"), [(False, 0.0), (False, 0.4), (True, 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_plans(seed: int, greedy: bool, share: float) -> None:
    """A rollout's log-probability is the product along its routes, recomputed step by step."""
    instances = lively_instances(seed)
    problems = load_problems(instances)
    network = small_heatmap(seed)
    tables = []
    for instance in instances:
        graph = graph_of(instance)
        heat = heat_of(network, instance) if len(graph.nodes) > 1 else torch.zeros(1)
        tables.append(heat_table(graph, heat, problems.node.shape[1]))
    stays = None
    if 0.0 < share < 1.0:
        stays = torch.full_like(torch.stack(tables), share).logit()
    policy = AntPolicy(torch.stack(tables), stays, greedy=greedy)
    choose = sampled_choice(torch.Generator().manual_seed(seed))
    rollout = roll_out(policy, problems, 4, choose)
    steps = 0
    for row, instance in enumerate(instances):
        number = problems.node[row].tolist()
        for sample in range(4):
            total, vehicles, node, moment = 0.0, instance.vehicles, 0, 0.0
            visited: set[int] = set()
            for chosen in rollout.nodes[row, sample].tolist():
                if vehicles == 0:
                    break
                start = {}
                for other in range(1, len(find_region(instance).trails.stop)):
                    stop = number[other]
                    begin = max(
                        moment + instance.travel[number[node], stop], float(instance.open[stop])
                    )
                    leave = begin + instance.min_stay[stop]
                    home = leave + instance.travel[stop, instance.end]
                    slack = instance.arrays.slack
                    if (
                        other not in visited
                        and begin <= instance.close[stop] + slack
                        and leave <= instance.leave_by[stop] + slack
                        and home <= instance.budget + slack
                    ):
                        start[other] = begin
                heat = {other: float(tables[row][node, other].exp()) for other in (0, *start)}
                total += np.log(heat[chosen] / sum(heat.values()))
                steps += 1
                if chosen == 0:
                    vehicles, node, moment = vehicles - 1, 0, 0.0
                    continue
                stop = number[chosen]
                stay = float(instance.min_stay[stop])
                if share > 0.0:
                    latest = instance.budget - instance.travel[stop, instance.end]
                    room = min(float(instance.leave_by[stop]), latest) - start[chosen]
                    longest = min(float(instance.max_stay[stop]), instance.budget)
                    stay = max(stay, min(share * longest, room))
                node, moment = chosen, start[chosen] + stay
                visited.add(chosen)
            assert float(rollout.log_probability[row, sample]) == pytest.approx(total, abs=1e-3)
    assert steps > 20
