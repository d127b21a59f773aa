"""Tests of the networks: against plain formulas, and what must not make a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn.functional import layer_norm, silu

from decost import Instance, generate
from decost.inference.shapes import NetworkConfig
from decost.learn import network as module
from decost.learn.config import TrainConfig
from decost.learn.features import Problems, load_problems
from decost.learn.network import Norm, PaperDecoder, PaperLayer, PaperNetwork, by_choices
from decost.learn.rollout import State, greedy_choice, move, roll_out, start_state
from decost.learn.view import observe
from policies import KINDS, RandomPolicy, lively_instances, small_network

CLOSE = {"atol": 1e-4, "rtol": 1e-4}


@pytest.fixture(autouse=True)
def _no_gradients() -> Any:
    """Most tests need none."""
    with torch.no_grad():
        yield


def noise(*shape: int, seed: int = 0) -> Tensor:
    """Draw normal numbers from a generator of their own."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def states_of(problems: Problems, seed: int, samples: int = 2) -> list[State]:
    """Give the states along random routes, with time-profit functions."""
    policy = RandomPolicy(seed, stays=False, prefix=True)
    roll_out(policy, problems, samples, greedy_choice)
    return policy.states


# Plain formulas.


@pytest.mark.parametrize("features", ["paper", "extended"])
def test_paper_decoder_is_attention_and_compatibility(features: Any) -> None:
    """For every state: a query, attention head by head, the heads combined, and a comparison."""
    config = NetworkConfig(width=12, heads=3, layers=1, feed_forward=8, features=features)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        decoder = PaperDecoder(config)
    nodes = noise(2, 7, 12)  # (batch, node, width)
    place = torch.tensor([[0, 3, 6], [2, 2, 0]])
    time = torch.tensor([[0.0, 0.4, 0.9], [0.3, 1.0, 0.1]])
    live = noise(2, 3, 7, seed=1) > -0.5
    live[..., 0] = True
    found = decoder.step(decoder.begin(nodes), place, time, live[:, :, None].float().log())
    assert found.shape == (2, 3, 7)
    size = 4  # width of a head
    for row in range(2):
        keys = nodes[row] @ decoder.key.weight.T
        values = nodes[row] @ decoder.value.weight.T
        wanted = nodes[row]  # the paper compares with the encoding itself
        if features == "extended":
            wanted = wanted @ decoder.compare.weight.T
        for sample in range(3):
            query = decoder.query.weight @ nodes[row, place[row, sample]]
            query = query + time[row, sample] * decoder.time_query
            heads = []
            for head in range(3):
                part = slice(size * head, size * (head + 1))
                score = keys[:, part] @ query[part] / size**0.5
                weight = torch.where(live[row, sample], score.exp(), 0.0)
                heads.append((weight / weight.sum()) @ values[:, part])
            answer = decoder.combine.weight @ torch.cat(heads) + decoder.combine.bias
            expected = wanted @ answer / 12**0.5
            torch.testing.assert_close(found[row, sample], expected, **CLOSE)


@pytest.mark.parametrize("spatial", [True, False])
def test_paper_layer_is_attention_with_edges(spatial: bool) -> None:
    """Head by head, the edge times the head's factor added to the score; then both are normed."""
    config = NetworkConfig(width=8, heads=2, layers=1, feed_forward=6, spatial_encoding=spatial)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        layer = PaperLayer(config)
        for weight in (layer.first.scale, layer.second.shift):
            weight.copy_(noise(8, seed=5))
    nodes, edges = noise(5, 8), noise(5, 5, seed=1).abs()
    (found,) = layer(nodes[None], edges[None], torch.ones(1, 5, 1))
    query, key, value = (nodes @ layer.into.weight.T).split(8, 1)
    heads = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        score = query[:, part] @ key[:, part].T
        if spatial:
            assert layer.edge is not None
            score = score + layer.edge[head] * edges
        heads.append((score / 4**0.5).softmax(1) @ value[:, part])
    mixed = torch.cat(heads, 1) @ layer.out.weight.T + layer.out.bias

    def normed(table: Tensor, norm: Any) -> Tensor:
        centred = table - table.mean(0)
        return centred / (table.var(0, correction=0) + 1e-5).sqrt() * norm.scale + norm.shift

    nodes = normed(nodes + mixed, layer.first)
    forth = (nodes @ layer.forth.weight.T + layer.forth.bias).relu()
    nodes = normed(nodes + forth @ layer.back.weight.T + layer.back.bias, layer.second)
    torch.testing.assert_close(found, nodes, **CLOSE)


def test_norm_leaves_padding_out() -> None:
    """Each instance's real nodes get mean 0 and deviation 1, then scale and shift, alone."""
    norm = Norm(4)
    norm.scale.copy_(torch.tensor([1.0, 2.0, -1.0, 0.5]))
    norm.shift.copy_(torch.tensor([0.0, 3.0, 1.0, -2.0]))
    nodes = noise(2, 6, 4)
    real = torch.tensor([[1.0] * 6, [1.0] * 3 + [0.0] * 3])[..., None]
    nodes[1, 3:] = 1e3 * noise(3, 4, seed=1)  # nobody may look there
    found = norm(nodes, real)
    for row, size in enumerate((6, 3)):
        table = nodes[row, :size].numpy().astype(float)
        expected = (table - table.mean(0)) / np.sqrt(table.var(0) + 1e-5)
        expected = expected * norm.scale.numpy() + norm.shift.numpy()
        assert found[row, :size].numpy() == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("features", ["paper", "extended"])
def test_paper_network_by_its_parts(features: str, scaled: bool) -> None:
    """Time is told as a part of the budget; only beyond the paper the depot is embedded apart."""
    network = small_network("paper", layers=2, clip=7.0, features=features, scaled=scaled)
    (instance,) = generate("mixed", nodes=9, seed=5)
    problems = load_problems([instance])
    (table,) = problems.node_features()
    if scaled:
        table = table * torch.tensor([3.0, 3.0, 10.0, 10.0, 1.0, 1.0, 1.0, 1.0])
    if features == "paper":
        table = table[:, :5]  # x, y, open, close, rate
    nodes = table @ network.embed.weight.T + network.embed.bias
    if features == "extended":
        nodes[0] = network.embed_depot.weight @ table[0] + network.embed_depot.bias
    travel = instance.travel[np.ix_(problems.node[0], problems.node[0])]
    edges = torch.tensor(travel / float(problems.time_unit)).float()[None]
    encoded = nodes[None]
    for layer in network.layers:
        encoded = layer(encoded, edges, torch.ones(1, len(nodes), 1))
    memory = network.begin(problems)
    for state in states_of(problems, 2):
        logits, stays = network.step(memory, state)
        time = (state.time / instance.budget).float() * (10 if scaled else 1)
        mask = state.live[:, :, None].float().log()
        for decoder, found in ((network.routing, logits), (network.staying, stays)):
            plain = decoder.step(decoder.begin(encoded), state.place, time, mask)
            expected = 7 * plain.tanh() if found is logits else plain
            torch.testing.assert_close(found, expected, **CLOSE)


def test_shares_of_the_stays() -> None:
    """The published code's softmax over the nodes that are left, and a share that is fixed."""
    problems = load_problems(generate("mixed", nodes=9, count=2, seed=5))
    soft = small_network("paper", stay_decoder="softmax", clip=3.0)
    half = small_network("paper", stay_decoder="fixed", stay_share=0.5)
    none = small_network("paper", stay_decoder="fixed")
    memory = soft.begin(problems)
    for state in states_of(problems, 2):
        _, stays = soft.step(memory, state)
        time = (state.time / memory.clock).float()
        mask = state.live[:, :, None].float().log()
        plain = soft.staying.step(memory.staying, state.place, time, mask)
        part = torch.where(state.live, (3.0 * plain.tanh()).exp(), 0.0)
        torch.testing.assert_close(
            stays.sigmoid()[state.live], (part / part.sum(2, keepdim=True))[state.live], **CLOSE
        )
        assert torch.all(half.step(half.begin(problems), state)[1].sigmoid() == 0.5)
        assert torch.all(none.step(none.begin(problems), state)[1].sigmoid() == 0.0)


@pytest.mark.parametrize("spatial", [True, False])
def test_prefix_network_by_a_plain_formula(spatial: bool) -> None:
    """State by state and head by head: candidates attend to each other with a bias of each pair.

    Half of the bias belongs to what comes after a candidate, half to what comes before it.
    """
    network = small_network("prefix", layers=2, spatial_encoding=spatial, clip=6.0)
    problems = load_problems(lively_instances(3, count=6))
    compared = 0
    for state in states_of(problems, 3):
        logits, stays = network.step(network.begin(problems), state)
        assert stays is None
        for index in range(2 * len(problems)):
            row, sample = divmod(index, 2)
            found = logits[row, sample]
            if state.live[row, sample].sum() == 1:
                assert found[0] == 0
                continue
            view = observe(problems, state, torch.tensor([index]), network.config.context)
            assert view.live.all()
            tokens = network.embed(view.tokens[0])  # (candidate, width)
            pairs = view.pairs[0].permute(1, 2, 0)  # (first, second, feature)
            bias = pairs @ network.bias.weight.T + network.bias.bias
            for layer in network.layers:
                normed = layer_norm(tokens, (16,), layer.norm.weight, layer.norm.bias)
                query, key, value, between = (normed @ layer.into.weight.T).split(16, 1)
                heads = []
                for head in range(2):
                    part = slice(8 * head, 8 * head + 8)
                    score = query[:, part] @ key[:, part].T / 8**0.5
                    if spatial:
                        score = score + bias[..., head] + bias[..., 2 + head].T
                    heads.append(score.softmax(1) @ value[:, part])
                tokens = tokens + torch.cat((*heads, silu(between)), 1) @ layer.out.weight.T
            expected = torch.full_like(found, -torch.inf)
            expected[view.node[0]] = 6 * network.head(tokens)[:, 0].tanh()
            torch.testing.assert_close(found, expected, **CLOSE)
            compared += 1
    assert compared > 20


# What must not make a difference.


def compare_steps(network: Any, one: list[Problems], other: Problems, seed: int = 0) -> int:
    """Walk instances alone and together, and require equal logits; padding is forbidden."""
    compared = 0
    wanted = network.wants_prefix
    for row, alone in enumerate(one):
        size = alone.node.shape[1]
        states = [start_state(problems, 2, prefix=wanted) for problems in (alone, other)]
        memories = [network.begin(problems) for problems in (alone, other)]
        step = 0
        while not states[0].done.all():
            (mine, my_stays), (ours, our_stays) = (
                network.step(memory, state) for memory, state in zip(memories, states, strict=True)
            )
            live = states[0].live[0]
            torch.testing.assert_close(mine[0][live], ours[row, :, :size][live], **CLOSE)
            assert (live == states[1].live[row, :, :size]).all()
            assert not states[1].live[row, :, size:].any()
            if my_stays is not None:
                torch.testing.assert_close(
                    my_stays[0][live], our_stays[row, :, :size][live], **CLOSE
                )
            compared += int((live.sum(1) > 1).sum())
            dice = noise(2, size, seed=1000 * seed + step).masked_fill(~live, -torch.inf)
            node = dice.argmax(1)[None]
            states[0], _ = move(alone, states[0], node, None)
            others = torch.zeros(len(other), 2, dtype=torch.long)
            others[row] = node
            states[1], _ = move(other, states[1], others, None)
            step += 1
    return compared


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind: str) -> None:
    """An instance gets the same logits alone as among larger ones with more pieces and vehicles."""
    some = [*lively_instances(1, count=5), *generate("paper", nodes=40, window=300, seed=1)]
    one = [load_problems([instance]) for instance in some]
    assert len({problems.node.shape[1] for problems in one}) > 3
    assert compare_steps(small_network(kind, layers=2), one, load_problems(some)) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_stops_do_not_matter(kind: str) -> None:
    """Stops in another order get their logits in that order, however many steps are made."""
    network = small_network(kind, layers=2)
    random = np.random.default_rng(0)
    compared = 0
    for instance in [*lively_instances(2, count=5), *generate("paper", nodes=20, seed=3)]:
        order = random.permutation(np.arange(1, instance.nodes))
        pair = [load_problems([instance]), load_problems([instance.only(order)])]
        # By number: where a stop of the first is in the second.
        rename = {0: 0} | {int(old): new for new, old in enumerate(order, 1)}
        second = pair[1].node[0].tolist()
        place = torch.tensor([second.index(rename[old]) for old in pair[0].node[0].tolist()])
        states = [start_state(problems, 1, prefix=network.wants_prefix) for problems in pair]
        memories = [network.begin(problems) for problems in pair]
        while not states[0].done.all():
            (mine, my_stays), (ours, our_stays) = (
                network.step(memory, state) for memory, state in zip(memories, states, strict=True)
            )
            live = states[0].live[0, 0]
            assert torch.equal(live, states[1].live[0, 0, place])
            torch.testing.assert_close(mine[0, 0][live], ours[0, 0, place][live], **CLOSE)
            if my_stays is not None:
                theirs = our_stays[0, 0, place][live]
                torch.testing.assert_close(my_stays[0, 0][live], theirs, **CLOSE)
            node = mine.masked_fill(~states[0].live, -torch.inf).argmax(2)
            states[0], _ = move(pair[0], states[0], node, None)
            states[1], _ = move(pair[1], states[1], place[node], None)
            compared += 1
    assert compared > 10


def other_ways(problems: Problems) -> Problems:
    """Give the same nodes other travel times."""
    travel = problems.batch.travel * (1 + noise(*problems.batch.travel.shape).abs())
    return replace(problems, batch=replace(problems.batch, travel=travel))


@pytest.mark.parametrize("spatial", [True, False])
def test_spatial_encoding_of_the_paper(spatial: bool) -> None:
    """Without it, travel times do not matter to the encoder; with it they do."""
    network = small_network("paper", spatial_encoding=spatial)
    edges = [name for name in network.state_dict() if name.endswith("edge")]
    assert bool(edges) == spatial
    problems = load_problems(generate("paper", nodes=20, count=2, seed=3))
    one, other = network.begin(problems), network.begin(other_ways(problems))
    for part in ("routing", "staying"):
        tables = [vars(getattr(memory, part)) for memory in (one, other)]
        for name in tables[0]:
            same = torch.allclose(tables[0][name], tables[1][name], atol=1e-6)
            assert same != spatial, (part, name)


@pytest.mark.parametrize("spatial", [True, False])
def test_spatial_encoding_of_pairs(spatial: bool) -> None:
    """Without it, a prefix network looks at candidates but not at pairs of them."""
    network = small_network("prefix", spatial_encoding=spatial)
    problems = load_problems(generate("paper", nodes=20, count=2, seed=3))
    state = start_state(problems, 1, prefix=True)
    view = observe(problems, state, torch.arange(2), 50)
    found = network.logits(view)
    pairs = network.logits(replace(view, pairs=view.pairs + noise(*view.pairs.shape)))
    tokens = network.logits(replace(view, tokens=view.tokens + noise(*view.tokens.shape)))
    assert torch.equal(found, pairs) != spatial
    assert not torch.allclose(found[view.live], tokens[view.live], atol=1e-3)


POSITIONS = (
    *([[1, 0], [0, 1]], [[-1, 0], [0, 1]], [[1, 0], [0, -1]], [[-1, 0], [0, -1]]),
    *([[0, 1], [1, 0]], [[0, 1], [-1, 0]], [[0, -1], [1, 0]], [[0, -1], [-1, 0]]),
)
"""What the eight positions do to a place, as matrices."""


@pytest.mark.parametrize("kind", KINDS)
def test_eight_positions(kind: str) -> None:
    """Samples see the instances that are turned and mirrored by hand, two of them each."""
    network = small_network(kind, seed=5, layers=2)
    some = [*generate("mixed", nodes=10, count=2, seed=2), *generate("paper", nodes=25, seed=4)]
    problems = load_problems(some).turned()
    state = start_state(problems, 16, prefix=network.wants_prefix)
    logits, stays = network.step(network.begin(problems), state)
    rollout = roll_out(network, problems, 16, greedy_choice)
    distinct = set()
    for position in range(8):
        turned = []
        for instance in some:
            assert instance.xy is not None
            xy = instance.xy @ np.array(POSITIONS[position], dtype=float).T
            turned.append(instance.replace(xy=xy))
        explicit = load_problems(turned)
        assert torch.equal(explicit.node, problems.node)
        first = start_state(explicit, 1, prefix=network.wants_prefix)
        expected, times = network.step(network.begin(explicit), first)
        alone = roll_out(network, explicit, 1, greedy_choice)
        steps = alone.nodes.shape[2]
        for sample in (2 * position, 2 * position + 1):
            torch.testing.assert_close(logits[:, sample], expected[:, 0], **CLOSE)
            if times is not None:
                torch.testing.assert_close(stays[:, sample], times[:, 0], **CLOSE)
            assert torch.equal(rollout.nodes[:, sample, :steps], alone.nodes[:, 0])
            probability = rollout.log_probability[:, sample]
            torch.testing.assert_close(probability, alone.log_probability[:, 0], **CLOSE)
            times_there = rollout.stays[:, sample, :steps]
            torch.testing.assert_close(times_there, alone.stays[:, 0], **CLOSE)
            assert not rollout.nodes[:, sample, steps:].any()
        distinct.add(tuple(logits[2, 2 * position].tolist()))
    assert len(distinct) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_clipped(kind: str) -> None:
    """However large the weights, no logit goes beyond the clip, and some come near it."""
    network = small_network(kind, clip=3.0)
    for weight in network.parameters():
        weight *= 10
    problems = load_problems(lively_instances(6, count=6))
    most = 0.0
    for state in states_of(problems, 6):
        logits, _ = network.step(network.begin(problems), state)
        assert not logits[state.live].isnan().any()
        assert (logits[state.live].abs() <= 3).all()
        most = max(most, float(logits[state.live].abs().max()))
    assert most > 2.9


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prefix network encodes states together as it does them one by one."""
    network = small_network("prefix")
    problems = load_problems(lively_instances(9, count=6))
    states = states_of(problems, 9, samples=3)
    before = [network.step(problems, state)[0] for state in states]
    monkeypatch.setattr(module, "CHUNK", chunk)
    for state, expected in zip(states, before, strict=True):
        torch.testing.assert_close(network.step(problems, state)[0], expected, **CLOSE)
        parts = by_choices(state)
        choices = state.live.sum(2).flatten()
        together = torch.cat(parts) if parts else torch.zeros(0, dtype=torch.long)
        assert sorted(together.tolist()) == (choices > 1).nonzero()[:, 0].tolist()
        assert all(len(part) <= chunk for part in parts)
        assert choices[together].tolist() == sorted(choices[together].tolist(), reverse=True)


def test_context_limits_the_choices() -> None:
    """A prefix network may choose home and the stops that it looks at, and no other."""
    network = small_network("prefix", context=2)
    problems = load_problems(generate("paper", nodes=30, window=400, count=2, seed=3))
    state = start_state(problems, 1, prefix=True)
    assert (state.live.sum(2) > 3).all()
    logits, _ = network.step(problems, state)
    for row in range(2):
        start = state.start[row, 0].masked_fill(~state.live[row, 0], torch.inf)
        start[0] = -torch.inf
        allowed = (logits[row, 0] > -torch.inf).nonzero()[:, 0].tolist()
        assert sorted(start.argsort()[:3].tolist()) == allowed


@pytest.mark.parametrize("context", [1, 2, 4])
def test_context_along_the_way(context: int) -> None:
    """At every state: finite for home and the earliest live stops, and for nothing else.

    States with more and with fewer candidates are encoded together; padding is not home.
    """
    network = small_network("prefix", context=context)
    some = [*lively_instances(4, count=6), *generate("paper", nodes=30, window=400, seed=3)]
    problems = load_problems(some)
    cut = mixed = 0
    for state in states_of(problems, 4):
        logits, _ = network.step(problems, state)
        counts = set()
        for row in range(len(some)):
            for sample in range(2):
                live, start = state.live[row, sample].tolist(), state.start[row, sample].tolist()
                stops = [k for k in range(1, len(live)) if live[k]]
                allowed = (logits[row, sample] > -torch.inf).nonzero()[:, 0].tolist()
                assert allowed[0] == 0
                assert set(allowed[1:]) <= set(stops)
                assert len(allowed) == 1 + min(context, len(stops))
                last = max((start[k] for k in allowed[1:]), default=0.0)
                assert all(start[k] >= last for k in set(stops) - set(allowed))
                cut += len(stops) > context
                counts.add(len(allowed))
        assert not logits[..., 0].isinf().any()
        assert not logits.isnan().any()
        mixed += len(counts - {1}) > 1
    assert cut > 5
    assert mixed > 0 or context == 1


def test_all_weights_learn() -> None:
    """A loss on routes and stays has a gradient for every weight that makes a difference.

    What is added to all nodes before a norm, or to all scores before a softmax, makes none:
    there the gradient is rounding alone.
    """
    idle = ("out.bias", "back.bias", "bias.bias")
    for kind in KINDS:
        network = small_network(kind, layers=2).train()
        problems = load_problems(generate("mixed", nodes=12, count=4, seed=2))
        with torch.enable_grad():
            rollout = roll_out(network, problems, 4, greedy_choice)
            loss = rollout.log_probability.sum()
            if kind == "paper":
                loss = loss + rollout.stays.sum().float()
            loss.backward()
        grads = [weight.grad for weight in network.parameters() if weight.grad is not None]
        most = max(float(grad.abs().max()) for grad in grads)
        for name, weight in network.named_parameters():
            assert weight.grad is not None, name
            assert weight.grad.isfinite().all(), name
            assert (float(weight.grad.abs().max()) > 1e-5 * most) != name.endswith(idle), name


def test_one_useful_stop_and_none() -> None:
    """A batch may hold instances without any choice."""
    alone = Instance(budget=10, xy=[[0, 0], [1, 0]], rate=[0, 1], max_stay=[0, 2])
    far = alone.replace(budget=1)
    for kind in KINDS:
        network = small_network(kind)
        for some in ([far], [alone, far]):
            problems = load_problems(some)
            rollout = roll_out(network, problems, 2, greedy_choice)
            assert not rollout.nodes[-1].any()
            assert rollout.log_probability[-1].tolist() == [0, 0]


# Settings.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": 20, "heads": 3}, "width = 20: must be a multiple of heads = 3"),
        ({"network": "other"}, "'paper' or 'prefix'"),
        ({"layers": 0}, "greater than or equal to 1"),
        ({"heads": 0}, "greater than or equal to 1"),
        ({"clip": 0.0}, "greater than 0"),
        ({"clip": float("nan")}, "finite number"),
        ({"context": 0}, "greater than or equal to 1"),
        ({"depth": 3}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_shapes(given: dict[str, Any], message: str) -> None:
    """A network that cannot be is refused, as is a field that there is none of."""
    with pytest.raises(ValidationError, match=message):
        NetworkConfig(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"network": "prefix", "ptar": True}, "ptar: a prefix network predicts no stays"),
        (
            {"network": "prefix", "stay_optimisation": False},
            "no-stay-optimisation: a prefix network predicts no stays",
        ),
        ({"teacher": "exact", "vehicles": 2}, "vehicles = 2: the exact teacher plans for one"),
        (
            {"teacher": "exact", "network": "paper", "ptar": True},
            "ptar: the exact teacher looks at routes alone",
        ),
        ({"samples": 1}, "samples = 1: REINFORCE compares at least two routes"),
        ({"settings": "50"}, "'50' is not like 50:100 or mixed-14:100"),
        ({"settings": "50:x"}, "window = 'x': is no number"),
        ({"settings": "50:100,"}, "'' is not like"),
        ({"settings": "other-50:100"}, "families are paper, mixed"),
        ({"settings": "1:100"}, "nodes = '1': must be from 2 to 10000"),
        ({"settings": "50:0"}, "window = '0': must be from 1e-06 to 1e"),
        ({"settings": "50:nan"}, "window = 'nan': must be from"),
        ({"nodes": "fifty"}, "nodes = 'fifty': is no number"),
        ({"window": "wide"}, "window = 'wide': is no number"),
        ({"teacher": "kind"}, "'none' or 'exact'"),
        ({"epochs": 0}, "greater than or equal to 1"),
        ({"learning_rate": 0.0}, "greater than 0"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"nonsense": 1}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_settings(given: dict[str, Any], message: str) -> None:
    """Settings that contradict each other or mean nothing are refused."""
    with pytest.raises(ValidationError, match=message):
        TrainConfig(**given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("layers", 0), ("heads", 65), ("clip", 0.0), ("context", 0), ("width", 5000)),
        *(("network", "other"), ("teacher", "kind"), ("epochs", 0), ("seed", -1), ("depth", 3)),
        *(("imitation", 1.5), ("temperature", 0.0), ("budget", 0.0), ("learning_rate", 2.0)),
    ],
)
def test_errors_name_the_field(field: str, value: object) -> None:
    """A wrong value, or a field that there is none of, is told of by the field's name."""
    with pytest.raises(ValidationError) as caught:
        TrainConfig(**{field: value})
    (error,) = caught.value.errors()
    assert error["loc"] == (field,)
    assert error["input"] == value


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("10001:100", "nodes = '10001': must be from 2 to 10000"),
        ("50:1000001", "window = '1000001': must be from 1e-06 to 1e"),
        ("50:inf", "window = 'inf': must be from"),
        ("5.5:100", "nodes = '5.5': is no number"),
        ("-50:100", "families are"),
    ],
)
def test_errors_name_the_setting(word: str, message: str) -> None:
    """One wrong setting among good ones is told of by its own text."""
    with pytest.raises(ValidationError, match=f"settings: '{word}'.*{message}"):
        TrainConfig(settings=f"50:100,{word},20:50")
    assert len(TrainConfig(settings="10000:1000000,2:1").sources()) == 2


def test_sources() -> None:
    """Sizes times windows, or what is given one by one; the text of each is its name."""
    both = TrainConfig(nodes="50,100", window="100,500")
    names = ["paper-50:100", "paper-50:500", "paper-100:100", "paper-100:500"]
    assert [str(source) for source in both.sources()] == names
    one_by_one = TrainConfig(settings="20:50, mixed-14:100,paper-9:0.5")
    names = ["paper-20:50", "mixed-14:100", "paper-9:0.5"]
    assert [str(source) for source in one_by_one.sources()] == names


def test_network_of_a_training() -> None:
    """A training's network has the training's shape, and prefix networks one of their own."""
    config = TrainConfig(width=24, heads=3, clip=5.0)
    assert config.network_config() == NetworkConfig(width=24, heads=3, clip=5.0)
    assert TrainConfig(teacher="exact").network == "prefix"
    assert TrainConfig(teacher="exact").network_config() == NetworkConfig(network="prefix")
    assert NetworkConfig(network="prefix").width < NetworkConfig().width
    assert NetworkConfig(network="prefix", width=128).width == 128


def test_the_papers_network_has_the_papers_size() -> None:
    """Six layers of width 128 with eight heads and a feed-forward width of 512."""
    network = PaperNetwork(NetworkConfig())
    per_layer = 3 * 128**2 + 128**2 + 128 + 8 + 4 * 128 + 2 * 128 * 512 + 512 + 128
    decoder = 3 * 128**2 + 128 + 128**2 + 128
    total = 5 * 128 + 128 + 6 * per_layer + 2 * decoder
    assert sum(weight.numel() for weight in network.parameters()) == total
