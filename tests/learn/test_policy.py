"""Tests of the methods that plan with a network, with small networks of random weights."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import decost
from decost import Instance, MethodError, Result, check, generate, optimal_stays, profit_of
from decost.draws import random_state
from decost.inference import policy as module
from decost.inference.problems import load_tables
from decost.inference.walks import Wish, choose, room_for_walks
from decost.inference.weights import WeightsError
from decost.learn import checkpoint
from decost.learn.checkpoint import save_weights
from decost.learn.device import TorchPlanner
from policies import KINDS, complaint, in_other_units, lively_instances, small_network
from seeds import seeds
from strategies import Planned, instances, planned

SEED = 5
"""Seed of networks of either kind that visit several stops."""


class Way(NamedTuple):
    """A method and a file of weights."""

    method: str
    weights: str

    def solve(self, instance: Instance, **options: Any) -> Result:
        """Plan for one instance."""
        return decost.solve(instance, self.method, weights=self.weights, **options)

    def solve_many(self, some: Sequence[Instance], **options: Any) -> list[Result]:
        """Plan for many instances."""
        return decost.solve_many(some, self.method, weights=self.weights, **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write weights of a network of each kind."""
    folder = tmp_path_factory.mktemp("weights")
    paths = {kind: folder / f"{kind}.safetensors" for kind in KINDS}
    for kind, path in paths.items():
        save_weights(path, small_network(kind, SEED), {})
    return paths


@pytest.fixture(params=["decost paper", "decost prefix", "pomo paper"])
def way(request: pytest.FixtureRequest, files: dict[str, Path]) -> Way:
    """Both methods with the networks that they can use."""
    method, kind = request.param.split()
    return Way(method, str(files[kind]))


@pytest.fixture(params=KINDS)
def two_stages(request: pytest.FixtureRequest, files: dict[str, Path]) -> Way:
    """Give method `decost` a network of each kind."""
    return Way("decost", str(files[request.param]))


def some_instances(count: int = 12, **changes: Any) -> list[Instance]:
    """Draw instances of both families, with more or less to choose from."""
    return [
        *generate("paper", nodes=30, count=count, seed=8, **changes),
        *generate("mixed", nodes=12, count=count, seed=9, **changes),
    ]


def require_feasible(results: Sequence[Result]) -> int:
    """Let the checker look at plans; return how many stops they visit in all."""
    for result in results:
        assert check(result.instance, result.solution) == []
        assert len(result.solution.routes) == result.instance.vehicles
        earned = profit_of(result.instance, result.solution)
        assert result.profit == pytest.approx(earned, rel=1e-9, abs=1e-12)
        assert (result.status, result.bound) == ("feasible", None)
    return sum(len(result.solution.visits) for result in results)


def routes_of(results: Sequence[Result]) -> list[list[tuple[int, ...]]]:
    """Take the stops of plans."""
    return [[route.stops for route in result.solution.routes] for result in results]


def profits_of(results: Sequence[Result]) -> np.ndarray:
    """Take the profits of plans."""
    return np.array([result.profit for result in results])


# Feasible, and not too good.


@given(instances(5), st.booleans())
def test_any_instance(way: Way, instance: Instance, draw: bool) -> None:
    """Plans for whatever can be told as an instance are feasible."""
    require_feasible([way.solve(instance, samples=3 if draw else 0)])


@given(planned(6))
def test_around_a_plan(way: Way, plan: Planned) -> None:
    """So they are if windows and limits fit one plan to the eighth of a minute."""
    require_feasible([way.solve(plan.instance, samples=3)])


@pytest.mark.parametrize("vehicles", [1, 2, 4])
def test_families(way: Way, vehicles: int) -> None:
    """Both families, for one vehicle and for teams, each of whose vehicles is used."""
    results = way.solve_many(some_instances(vehicles=vehicles))
    assert require_feasible(results) > 40
    assert any(all(routes) for routes in routes_of(results))


@pytest.mark.parametrize("seed", seeds(4))
def test_awkward_instances(way: Way, seed: int) -> None:
    """Deadlines met to the minute, short cuts, separate ends, stops at one place, odd teams."""
    results = way.solve_many(lively_instances(seed, count=12), samples=4)
    assert require_feasible(results) > 10


SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]

NOTHING_TO_EARN = {
    "no stops": Instance(budget=5, xy=[[0, 0]], vehicles=2),
    "no stops, no coordinates": Instance(budget=5, travel=[[0]]),
    "no stops, separate end": Instance(budget=5, xy=[[0, 0], [9, 0]], separate_end=True),
    "out of reach": Instance(budget=1.9, xy=SQUARE, reward=[0, 9, 9, 9], vehicles=2),
    "closed before": Instance(
        budget=9, xy=SQUARE, open=[-9] * 4, close=[0, 0.9, 1.4, 0.9], reward=[0, 9, 9, 9]
    ),
    "never open in time": Instance(budget=9, xy=SQUARE, open=[0, 8.5, 8, 8.5], reward=[0, 9, 9, 9]),
    "stays too long": Instance(budget=9, xy=SQUARE, min_stay=[0, 8, 7, 8], reward=[0, 9, 9, 9]),
    "no profit": Instance(budget=9, xy=SQUARE),
    "no budget": Instance(budget=0, xy=SQUARE, reward=[0, 9, 9, 9]),
}


@pytest.mark.parametrize("case", NOTHING_TO_EARN)
def test_nothing_to_earn(way: Way, case: str) -> None:
    """If no stop can earn anything every vehicle stays at the depot, alone and in a batch."""
    instance = NOTHING_TO_EARN[case]
    alone = way.solve(instance, samples=2)
    other = generate("mixed", nodes=12)[0]
    batched = way.solve_many([other, instance], samples=2, threads=1)[1]
    for result in (alone, batched):
        assert require_feasible([result]) == 0
        assert result.profit == 0


@pytest.mark.parametrize("vehicles", [1, 3])
def test_matrix_alone(way: Way, vehicles: int) -> None:
    """Travel times without coordinates, in both directions the same or not, are enough."""
    random = np.random.default_rng(4)
    some = []
    for instance in some_instances(vehicles=vehicles):
        factor = random.uniform(0.8, 1.2, instance.travel.shape)
        some += [
            instance.replace(xy=None, travel=instance.travel),
            instance.replace(xy=None, travel=factor * instance.travel),
        ]
    assert require_feasible(way.solve_many(some)) > 60


def test_separate_end(way: Way) -> None:
    """Routes end at a depot of their own, far from the first, within the budget."""
    some = [
        instance.replace(xy=np.vstack((instance.xy, [[0.9, 0.9]])), travel=None, separate_end=True)
        for instance in some_instances()
    ]
    assert require_feasible(way.solve_many(some)) > 20


@pytest.mark.parametrize("family", ["paper", "mixed"])
@pytest.mark.parametrize("vehicles", [1, 3])
def test_300_stops(way: Way, family: str, vehicles: int) -> None:
    """Large instances; the routes of a team have different stops, as the checker demands."""
    some = generate(family, nodes=301, seed=1, vehicles=vehicles)
    assert require_feasible(way.solve_many(some, samples=8)) > 2


@pytest.mark.parametrize("seed", seeds(3))
def test_never_more_than_the_optimum(way: Way, seed: int) -> None:
    """The exact method earns as much or more, however many routes are drawn."""
    some = lively_instances(seed, count=12, vehicles=1)
    some += generate("paper", nodes=30, count=6, seed=seed)
    most = profits_of(decost.solve_many(some, "exact"))
    found = profits_of(way.solve_many(some, samples=16))
    assert (found <= most * (1 + 1e-7) + 1e-9).all()
    assert found.sum() > 0


# One plan, however it is asked for.


@pytest.mark.parametrize("vehicles", [1, 2])
def test_batches_change_nothing(way: Way, vehicles: int) -> None:
    """Together with others, which are larger or without coordinates, an instance gets its plan."""
    some = some_instances(vehicles=vehicles)
    some += [one.replace(xy=None, travel=one.travel) for one in some[::5]]
    some += [one.replace(vehicles=3 - vehicles) for one in some[::7]]
    some += lively_instances(3, count=8)
    alone = [way.solve(instance, symmetries=False) for instance in some]
    for threads in (1, 3):
        together = way.solve_many(some, symmetries=False, threads=threads)
        assert routes_of(together) == routes_of(alone)
        np.testing.assert_allclose(profits_of(together), profits_of(alone), rtol=1e-5)
    # Two positions may give plans of the same profit, and rounding decides between them.
    alone = [way.solve(instance) for instance in some]
    np.testing.assert_allclose(profits_of(way.solve_many(some)), profits_of(alone), rtol=1e-5)


def test_parts_of_a_batch(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """To cut a batch of large instances into parts changes nothing, not even their order."""
    some = some_instances()
    whole = way.solve_many(some, symmetries=False, threads=1)
    sizes: list[int] = []
    plan = module._plan

    def counted(part: Sequence[Instance], *given: Any) -> list[Result]:
        sizes.append(len(part))
        return plan(part, *given)

    monkeypatch.setattr(module, "_plan", counted)
    monkeypatch.setattr(module, "TOGETHER", 5 * 30**2)
    parts = way.solve_many(some, symmetries=False, threads=1)
    assert sizes == [5, 5, 5, 5, 4]
    assert routes_of(parts) == routes_of(whole)
    assert [result.instance for result in parts] == some


def test_no_instances(way: Way) -> None:
    """An empty set has no plans."""
    assert way.solve_many([]) == []


def test_same_seed_same_plan(way: Way) -> None:
    """Routes drawn with one seed are the same again; another seed draws others."""
    some = some_instances()
    options = {"samples": 3, "symmetries": False, "threads": 1}
    first, again, other = (way.solve_many(some, seed=seed, **options) for seed in (1, 1, 2))
    assert [one.solution for one in first] == [one.solution for one in again]
    assert routes_of(first) != routes_of(other)
    assert {one.seed for one in first} == {1}
    assert {one.method for one in first} == {way.method}


def test_global_generator_is_left_alone(way: Way) -> None:
    """Drawn routes come from the method's own generator."""
    instance = generate("mixed", nodes=12, seed=2)[0]
    before = torch.get_rng_state()
    first = way.solve(instance, samples=4)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        assert way.solve(instance, samples=4).solution == first.solution


@pytest.mark.parametrize(
    ("time", "profit", "distance"), [(60, 1, 1), (1, 0.01, 1), (1, 1, 1000), (1 / 3600, 7, 0.3)]
)
def test_units_change_no_route(way: Way, time: float, profit: float, distance: float) -> None:
    """Minutes for hours, cents for euros, metres for kilometres: the same routes."""
    some = [*some_instances(), *some_instances(4, vehicles=2)]
    some += [one.replace(xy=None, travel=one.travel) for one in some[::6]]
    other = [in_other_units(one, time, profit, distance, shift=(5, -3)) for one in some]
    results, others = (way.solve_many(each, symmetries=False) for each in (some, other))
    assert routes_of(results) == routes_of(others)
    np.testing.assert_allclose(profits_of(others), profit * profits_of(results), rtol=1e-4)
    best, bests = (profits_of(way.solve_many(each)) for each in (some, other))
    np.testing.assert_allclose(bests, profit * best, rtol=1e-4)


# Options.


def test_symmetries_help(way: Way) -> None:
    """The best of eight positions is never worse than the first, and now and then better."""
    some = [*some_instances(), *some_instances(vehicles=2)]
    plain = profits_of(way.solve_many(some, symmetries=False))
    best = profits_of(way.solve_many(some))
    assert (best >= plain * (1 - 1e-9)).all()
    assert (best > plain * (1 + 1e-6)).any()


def test_no_symmetries_without_coordinates(way: Way) -> None:
    """Where there is nothing to turn the eight positions are one."""
    some = [one.replace(xy=None, travel=one.travel) for one in some_instances()]
    plain, turned = (way.solve_many(some, symmetries=on, drawn=False) for on in (False, True))
    assert [one.solution for one in plain] == [one.solution for one in turned]


def test_routes_are_drawn_by_our_network(files: dict[str, Path]) -> None:
    """The first position has the likeliest route, the others draw: by the seed, for each alone.

    What is drawn for an instance is the same whatever others it is planned with, and without
    coordinates as well.
    """
    way = Way("decost", str(files["prefix"]))
    some = [*some_instances(), *some_instances(6, vehicles=2)]
    some += [one.replace(xy=None, travel=one.travel) for one in some[::6]]
    plain = profits_of(way.solve_many(some, symmetries=False))
    first, again, other = (way.solve_many(some, seed=seed) for seed in (1, 1, 2))
    assert routes_of(first) == routes_of(again) != routes_of(other)
    assert (profits_of(first) >= plain * (1 - 1e-9)).all()
    alone = [way.solve(one, seed=1) for one in some]
    assert routes_of(alone) == routes_of(first)
    paper = Way("decost", str(files["paper"]))
    assert routes_of(paper.solve_many(some)) == routes_of(paper.solve_many(some, drawn=False))


def test_temperature() -> None:
    """Nodes are drawn by their logits divided by it: by hand, exp(logit / temperature)."""
    logit = np.array([0.5, -1.0, 1.0, 0.0], dtype=np.float32)
    random = random_state(3)
    for temperature in (0.4, 1.0, 2.5):
        drawn = [choose(logit, np.arange(4), 4, True, random, temperature) for _ in range(20_000)]
        weight = np.exp(np.array([-np.inf, -1.0, 1.0, 0.0]) / temperature)
        part = np.bincount(drawn, minlength=4) / len(drawn)
        np.testing.assert_allclose(part, weight / weight.sum(), atol=0.015)


def test_cold_routes_are_the_likeliest(files: dict[str, Path]) -> None:
    """Near no temperature all that is drawn is the likeliest, in positions and in samples."""
    way = Way("decost", str(files["prefix"]))
    some = [one.replace(xy=None, travel=one.travel) for one in some_instances()]
    cold, warm = (
        way.solve_many(some, temperature=temperature, samples=4) for temperature in (1e-9, 1.0)
    )
    assert routes_of(cold) == routes_of(way.solve_many(some, symmetries=False)) != routes_of(warm)


def test_drawn_routes_miss_less() -> None:
    """With a trained network they halve the gap that the likeliest of eight positions have."""
    some = generate("paper", nodes=50, count=60, seed=9)
    best = profits_of(decost.solve_many(some, "exact", threads=1))
    gaps = [
        float((1 - profits_of(decost.solve_many(some, "decost", drawn=on)) / best).mean())
        for on in (False, True)
    ]
    assert 0 < gaps[1] < 0.7 * gaps[0]


@pytest.mark.parametrize("symmetries", [False, True])
def test_samples_help(way: Way, symmetries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """More routes are never worse: none, 8, 32 drawn together, and 8 more after these."""
    some = [*some_instances(), *some_instances(vehicles=2)]
    monkeypatch.setattr(module, "SAMPLES", 32)
    steps = [
        profits_of(way.solve_many(some, samples=samples, symmetries=symmetries, threads=1))
        for samples in (0, 8, 32, 40)
    ]
    for more in steps[1:]:
        assert (more >= steps[0] * (1 - 1e-9)).all()
        assert (more > steps[0] * (1 + 1e-6)).any()
    assert (steps[3] >= steps[2] * (1 - 1e-9)).all()


def test_time_limit(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time all go home and nothing more is drawn; with enough of it, no plan changes."""
    walks = []
    walk = module._Team._walk

    def counted(*given: Any, **options: Any) -> Any:
        walks.append(given)
        return walk(*given, **options)

    monkeypatch.setattr(module._Team, "_walk", counted)
    some = some_instances(3, vehicles=2)
    results = [way.solve(one, time_limit=0, samples=100) for one in some]
    assert require_feasible(results) == 0
    assert len(walks) == len(some)
    unlimited, limited = (
        [way.solve(one, time_limit=limit, samples=2) for one in some] for limit in (None, 1e6)
    )
    assert [one.solution for one in limited] == [one.solution for one in unlimited]


def walked(planner: Any, instance: Instance, halt: Any) -> list[int]:
    """Let a planner build a route, and list its nodes."""
    tables = load_tables([instance])
    walks = room_for_walks(tables, 1)
    seen = np.zeros((1, 1, instance.nodes), dtype=np.bool_)
    planner.walk(tables, Wish(False, True, module.LIKELIEST, 1.0, np.arange(1), seen), walks, halt)
    nodes: list[int] = walks.nodes[0, 0].tolist()
    assert 0 in nodes
    return nodes[: nodes.index(0)]


def test_time_that_runs_out_on_the_way(way: Way) -> None:
    """A vehicle that is out when the time is over goes home, whoever plans."""
    instance = generate("mixed", nodes=40, window=300, seed=5, budget=9)[0]
    halt = np.zeros(1, dtype=np.uint8)
    whole = walked(module._load(way.weights, "cpu"), instance, halt)
    assert len(whole) > 2
    network = checkpoint.load_weights(way.weights)[0]
    step = network.step
    steps = 0

    def slow(*given: Any) -> Any:
        nonlocal steps
        steps += 1
        halt[0] = steps > 2
        return step(*given)

    network.step = slow
    assert walked(TorchPlanner(network, "cpu"), instance, halt) == whole[:2]
    assert walked(module._load(way.weights, "cpu"), instance, halt) == []


@pytest.mark.parametrize("wait", [0.0, 1e-4, 1e-3])
def test_time_that_runs_out_in_a_kernel(way: Way, wait: float) -> None:
    """Whenever it is halted, a route is the beginning of the whole route."""
    (instance,) = generate("mixed", nodes=300, window=300, seed=5)
    planner, halt = module._load(way.weights, "cpu"), np.zeros(1, dtype=np.uint8)
    whole = walked(planner, instance, halt)
    timer = threading.Timer(wait, lambda: halt.fill(1))
    timer.start()
    some = walked(planner, instance, halt)
    timer.join()
    assert some == whole[: len(some)]


def test_interrupted_while_drawing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while routes are drawn gives the best plan so far."""
    monkeypatch.setattr(module, "SAMPLES", 32)
    some = some_instances(3)
    expected = [way.solve(instance, samples=32) for instance in some]
    walk = module._Team._walk
    left = 0

    def interrupted(team: Any, *given: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            team.deadline.interrupt()
        return walk(team, *given, **options)

    monkeypatch.setattr(module._Team, "_walk", interrupted)
    for instance, result in zip(some, expected, strict=True):
        left = 2  # the likeliest routes, and the first 32 of those drawn
        assert way.solve(instance, samples=96).solution == result.solution
        assert left == -1


def test_interrupted_at_once(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before there is a plan is not swallowed."""
    monkeypatch.setattr(module.Deadline, "interrupted", True)
    with pytest.raises(KeyboardInterrupt):
        way.solve(some_instances(1)[0])


def test_predicted_stays_are_kept(files: dict[str, Path]) -> None:
    """Without stage two stays are the network's: feasible, but worth less than optimal ones."""
    some = [*some_instances(), *some_instances(vehicles=2)]
    pomo = Way("pomo", str(files["paper"]))
    results = pomo.solve_many(some)
    require_feasible(results)
    given = profits_of(results)
    optimal = [optimal_stays(one.instance, routes_of([one])[0]) for one in results]
    assert all(stays.feasible for stays in optimal)
    most = np.array([stays.profit.sum() for stays in optimal])
    assert (given <= most * (1 + 1e-9)).all()
    assert given.sum() < 0.99 * most.sum()
    second = profits_of(pomo.solve_many(some, stay_optimisation=True))
    assert (second >= most * (1 - 1e-9)).all()


def test_stage_two_changes_stays_alone(files: dict[str, Path]) -> None:
    """The same routes, with the stays that `optimal_stays` finds for them."""
    some = [*some_instances(), *some_instances(vehicles=2)]
    first = Way("pomo", str(files["paper"])).solve_many(some, symmetries=False)
    second = Way("decost", str(files["paper"])).solve_many(some, symmetries=False)
    assert routes_of(first) == routes_of(second)
    for result in second:
        expected = optimal_stays(result.instance, routes_of([result])[0]).profit.sum()
        assert result.profit == pytest.approx(expected, rel=1e-9)


def test_pomo_is_decost_without_stage_two(files: dict[str, Path]) -> None:
    """The two methods differ in their defaults and in nothing else."""
    some = some_instances()
    pomo = Way("pomo", str(files["paper"])).solve_many(some, samples=3)
    same = Way("decost", str(files["paper"])).solve_many(some, samples=3, stay_optimisation=False)
    assert [one.solution for one in pomo] == [one.solution for one in same]


# Weights.


def test_weights_by_name(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that comes with the package is known by its name, the default ones included."""
    monkeypatch.setattr("decost.inference.weights.MODELS", tmp_path)
    for name in ("mine", "generalist", "pomo"):
        (tmp_path / f"{name}.safetensors").write_bytes(files["paper"].read_bytes())
    instance = generate("mixed", nodes=12, seed=4)[0]
    expected = Way("decost", str(files["paper"])).solve(instance)
    assert expected.profit > 0
    assert Way("decost", "mine").solve(instance).solution == expected.solution
    assert decost.solve(instance, "decost").solution == expected.solution
    baseline = Way("pomo", str(files["paper"])).solve(instance)
    assert decost.solve(instance, "pomo").solution == baseline.solution


def test_weights_that_changed(tmp_path: Path) -> None:
    """A file that is written anew, as training does, is read anew."""
    path, some = tmp_path / "weights.safetensors", some_instances()
    routes = []
    for seed in (SEED, SEED + 1, SEED):
        save_weights(path, small_network("prefix", seed), {})
        routes.append(routes_of(Way("decost", str(path)).solve_many(some)))
    assert routes[0] == routes[2] != routes[1]


def damage(case: str, files: dict[str, Path], folder: Path) -> tuple[dict[str, Any], str]:
    """Give options that cannot work, and the beginning of the complaint."""
    content = files["paper"].read_bytes()
    path = folder / "damaged.safetensors"
    if case == "missing file":
        return {"weights": f"{folder}/none"}, f"weights = {folder}/none: there is no such file"
    if case == "missing file here":
        return {"weights": "no.safetensors"}, "weights = no.safetensors: there is no such file"
    if case == "a folder":
        return {"weights": str(folder)}, f"weights = {folder}: there is no such file"
    if case == "unknown model":
        return {"weights": "generalissimo"}, "model 'generalissimo': unknown, choose from: "
    if case == "no name":
        return {"weights": ""}, "model '': unknown, choose from: "
    if case == "no stays":
        wrong = {"weights": str(files["prefix"]), "stay_optimisation": False}
        return wrong, f"weights = {files['prefix']}: its network predicts no stays"
    if case == "unknown device":
        return {"weights": str(files["paper"]), "device": "abacus"}, "device = abacus: "
    if case == "device that is not there":
        return {"weights": str(files["paper"]), "device": "cuda:77"}, "device = cuda:77: "
    if case == "device that cannot compute":
        return {"weights": str(files["paper"]), "device": "meta"}, "device = meta: "
    if case == "no temperature":
        return {"weights": str(files["paper"]), "temperature": 0}, "option temperature = "
    if case == "negative samples":
        return {"weights": str(files["paper"]), "samples": -1}, "option samples = "
    path.write_bytes(
        {
            "empty file": b"",
            "cut file": content[: len(content) // 2],
            "text": b"weights, honestly\n" * 9,
            "broken header": content[:20] + b"\0\xff" + content[22:],
        }[case]
    )
    return {"weights": str(path)}, f"{path}: "


CASES = [
    "missing file",
    "missing file here",
    "a folder",
    "unknown model",
    "no name",
    "no stays",
    "unknown device",
    "device that is not there",
    "device that cannot compute",
    "no temperature",
    "negative samples",
    "empty file",
    "cut file",
    "text",
    "broken header",
]


@pytest.mark.parametrize("case", CASES)
def test_errors(case: str, files: dict[str, Path], tmp_path: Path) -> None:
    """What cannot be used is an error in one line that names it, for one instance or many."""
    options, message = damage(case, files, tmp_path)
    some = generate("mixed", nodes=8, count=2)
    for call in (
        lambda: decost.solve(some[0], "decost", **options),
        lambda: decost.solve_many(some, "decost", **options),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
            call()
        assert str(caught.value).isprintable()


def test_kinds_of_errors(files: dict[str, Path], tmp_path: Path) -> None:
    """Wrong options are told apart from wrong weights."""
    instance = generate("mixed", nodes=8)[0]
    with pytest.raises(MethodError, match="option wide = 3: unknown, decost takes: "):
        decost.solve(instance, "decost", weights=str(files["paper"]), wide=3)
    with pytest.raises(WeightsError, match="there is no such file"):
        decost.solve(instance, "decost", weights=f"{tmp_path}/none")
    with pytest.raises(WeightsError, match="its network predicts no stays"):
        decost.solve(instance, "pomo", weights=str(files["prefix"]))


def words(options: dict[str, Any]) -> list[str]:
    """Write options as words of a command."""
    flags: list[str] = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        flags += [f"--no-{flag}"] if value is False else [f"--{flag}={value}"]
    return flags


@pytest.mark.parametrize("case", CASES)
def test_errors_of_the_command_line(
    case: str,
    files: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same line on stderr, exit 2, and no plan is written."""
    options, message = damage(case, files, tmp_path)
    source, plan = tmp_path / "instance.json", tmp_path / "plan.json"
    decost.write(generate("mixed", nodes=8)[0], source)
    given = ("solve", source, "--method", "decost", "--out", plan, *words(options))
    assert complaint(monkeypatch, capsys, *given).startswith(message)
    assert not plan.exists()


@pytest.mark.parametrize("case", ["cut file", "unknown device"])
def test_errors_in_a_process(case: str, files: dict[str, Path], tmp_path: Path) -> None:
    """Nor does the program itself print a traceback or a warning."""
    options, message = damage(case, files, tmp_path)
    source = tmp_path / "instance.json"
    decost.write(generate("mixed", nodes=8)[0], source)
    command = [sys.executable, "-m", "decost", "solve", str(source), "--method", "decost"]
    done = subprocess.run([*command, *words(options)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"decost: {message}")
    assert done.stderr.count("\n") == 1
