"""Tests of networks with vehicles of their own, alternatives and required stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import decost
from decost import Instance, check, generate
from decost.inference.policy import PolicyOptions, PomoOptions, policy, policy_many
from decost.inference.problems import Turn, turns_of
from decost.learn import runs
from decost.learn.config import TrainConfig
from decost.learn.features import Problems, load_problems
from decost.learn.rollout import (
    Rollout,
    greedy_choice,
    move,
    optimal_profit,
    roll_out,
    sampled_choice,
    start_state,
)
from decost.learn.runs import TrainError
from decost.problem.plan import make_solution
from decost.problem.records import Alternative, Place, Stop, Vehicle
from decost.timeline.network import network_as_given, of_type
from decost.timeline.routes import stays_along
from decost.timeline.steps import finish, follow
from oracle import brute_force, tiny_instance, with_one_required
from policies import KINDS, RandomPolicy, routes_of, small_network
from seeds import seeds
from small_runs import TINY

SAMPLES = 3


class Part(NamedTuple):
    """Random routes of the vehicles of one turn, the first of which has number `vehicle`."""

    vehicle: int
    turn: Turn
    problems: Problems
    rollout: Rollout
    policy: RandomPolicy
    taken: torch.Tensor


def random_routes(instance: Instance, seed: int) -> list[Part]:
    """Let the vehicles of an instance leave one after another, wherever chance sends them."""
    choose = sampled_choice(torch.Generator().manual_seed(seed))
    seen = torch.zeros(1, SAMPLES, instance.nodes, dtype=torch.bool)
    parts, vehicle = [], 0
    for turn in turns_of(instance):
        policy = RandomPolicy(seed, stays=False, prefix=True)
        problems = load_problems([instance], turns=[turn])
        stops = problems.stop[:, None].expand(-1, SAMPLES, -1)
        taken = seen.gather(2, stops)
        rollout = roll_out(policy, problems, SAMPLES, choose, taken=taken)
        seen = seen.scatter(2, stops.gather(2, rollout.nodes), True)
        parts.append(Part(vehicle, turn, problems, rollout, policy, taken))
        vehicle += turn.vehicles
    return parts


def routes_until(part: Part, sample: int, step: int) -> list[list[int]]:
    """Give the routes of a turn before a step, as alternatives; the last one is under way."""
    routes: list[list[int]] = [[]]
    for node in part.rollout.nodes[0, sample, :step].tolist():
        if node:
            routes[-1].append(int(part.problems.node[0, node]))
        else:
            routes.append([])
    return routes


# The twin of the timeline.


@pytest.mark.parametrize("seed", seeds(25))
def test_steps_equal_the_timeline(seed: int) -> None:
    """The time-profit function of every state, by the vehicle's own start, times and matrix.

    It is compared where the route can still be finished, at several later departures.
    """
    instance = tiny_instance(np.random.default_rng(seed))
    whole = network_as_given(instance.arrays)
    pool = np.empty((1 + len(instance.piece_rate), 2))
    for part in random_routes(instance, seed):
        network = of_type(whole, part.turn.kind)
        for step, state in enumerate(part.policy.states):
            assert state.prefix is not None
            for sample in range(SAMPLES):
                if state.done[0, sample]:
                    continue
                route = np.array(routes_until(part, sample, step)[-1], dtype=np.int64)
                front = follow(network, route, pool)
                assert float(state.time[0, sample]) == pytest.approx(front.time, abs=1e-9)
                value, room = state.prefix.value[0, sample], state.prefix.room[0, sample]
                assert float(value) == pytest.approx(front.value, abs=1e-9)
                assert float(room) == pytest.approx(front.room, abs=1e-9)
                if not len(route):
                    continue
                home = finish(network, front, network.end, pool, 0)
                due = network.node[network.end]["latest"]
                way = network.travel[
                    network.node["place"][front.node], network.node["place"][network.end]
                ]
                most = max(0.0, min(front.room, due - front.time - way))
                points = torch.full((1, SAMPLES, 1), most, dtype=torch.float64)
                earned = value + state.prefix.gained(points)[0, sample, 0]
                assert float(earned) == pytest.approx(home, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(25))
def test_profit_equals_the_timeline(seed: int) -> None:
    """What stage two earns on the routes of every vehicle is what the compiled one earns."""
    instance = tiny_instance(np.random.default_rng(1000 + seed))
    for part in random_routes(instance, seed):
        profit, _ = optimal_profit(part.problems, part.rollout.nodes)
        for sample in range(SAMPLES):
            routes = routes_of(part.problems, part.rollout, 0, sample)
            vehicles = range(part.vehicle, part.vehicle + part.turn.vehicles)
            expected = stays_along(instance, routes, vehicles)
            assert expected.feasible
            assert float(profit[0, sample]) == pytest.approx(expected.profit.sum(), abs=1e-7)


@pytest.mark.parametrize("seed", seeds(25))
def test_choices_are_those_that_the_checker_accepts(seed: int) -> None:
    """Each alternative is tried at every state of an instance without required stops.

    It can be chosen if nothing of its stop was visited by anyone, and the checker accepts it
    next, for the shortest stay, with the way home after it.
    """
    instance = tiny_instance(np.random.default_rng(2000 + seed))
    instance = instance.replace(required=np.zeros(instance.nodes, dtype=np.bool_))
    for part in random_routes(instance, seed):
        numbers = part.problems.node[0].tolist()
        before = [[] for _ in range(part.vehicle)]
        for step, state in enumerate(part.policy.states):
            for sample in range(SAMPLES):
                if state.done[0, sample]:
                    continue
                routes = routes_until(part, sample, step)
                seen = {int(instance.alternative_stop[k]) for route in routes for k in route}
                for node in range(1, len(numbers)):
                    number = numbers[node]
                    if not number:
                        assert not state.live[0, sample, node]
                        continue
                    longer = [*before, *routes[:-1], [*routes[-1], number]]
                    stays = [instance.alternative_min_stay[route] for route in longer]
                    plan = make_solution(instance, longer, stays)
                    accepted = not [v for v in check(instance, plan) if v.rule != "required"]
                    taken = bool(part.taken[0, sample, node])
                    assert (int(instance.alternative_stop[number]) in seen) <= (not accepted)
                    assert bool(state.live[0, sample, node]) == (accepted and not taken)


def test_instances_have_turns_and_siblings() -> None:
    """What the tests above speak of is on many of their instances, and on their routes."""
    several = siblings = required = later = 0
    for seed in range(120):
        instance = tiny_instance(np.random.default_rng(seed))
        parts = random_routes(instance, seed)
        several += len(parts) > 1
        siblings += any(part.problems.siblings for part in parts)
        required += any(part.problems.required is not None for part in parts)
        later += any(bool(part.rollout.nodes.any()) for part in parts[1:])
    assert min(several, siblings, required, later) > 15


# Required stops.


@pytest.mark.parametrize("kind", ["required", "not required"])
def test_required_stop_by_hand(kind: str) -> None:
    """Stop b closes at 3: from stop a, 2 to the left and served until 2.5, it is out of reach.

    So at first only b and c, which lies on the way to b, can be chosen, and nobody goes home.
    """
    instance = Instance.build(
        budget=20,
        depot=Place(x=0, y=0),
        stops=[
            Stop("a", x=-2, y=0, min_stay=0.5, reward=9),
            Stop("b", x=2, y=0, close=3, reward=1, required=kind == "required"),
            Stop("c", x=1, y=0, min_stay=1, reward=1),
        ],
    )
    problems = load_problems([instance])
    state = start_state(problems, 1, prefix=False)
    if kind == "not required":
        assert state.live.tolist() == [[[True, True, True, True]]]
        assert state.held is None
        return
    assert state.live.tolist() == [[[True, False, True, True]]]
    assert state.held is not None
    assert state.held.tolist() == [[True]]
    state, _ = move(problems, state, torch.tensor([[3]]), None)
    assert state.live.tolist() == [[[True, False, True, False]]]
    assert state.held is not None
    assert state.held.tolist() == [[True]]
    state, _ = move(problems, state, torch.tensor([[2]]), None)
    assert state.live.tolist() == [[[True, True, False, False]]]
    assert state.held is not None
    assert state.held.tolist() == [[False]]


def test_another_alternative_keeps_a_stop_within_reach() -> None:
    """The same if b can be visited again from 9 on: then all may be chosen, but not home."""
    instance = Instance.build(
        budget=20,
        depot=Place(x=0, y=0),
        stops=[
            Stop("a", x=-2, y=0, min_stay=0.5, reward=9),
            Stop(
                "b",
                x=2,
                y=0,
                reward=1,
                required=True,
                alternatives=[Alternative(close=3), Alternative(open=9)],
            ),
        ],
    )
    problems = load_problems([instance])
    state = start_state(problems, 1, prefix=False)
    assert state.live.tolist() == [[[True, True, True, True]]]
    assert state.held is not None
    assert state.held.tolist() == [[True]]
    after, _ = move(problems, state, torch.tensor([[1]]), None)
    assert after.live.tolist() == [[[True, False, False, True]]]
    after, _ = move(problems, state, torch.tensor([[2]]), None)
    assert after.live.tolist() == [[[True, True, False, False]]]


def test_a_single_required_stop_is_never_left_out() -> None:
    """If any vehicle can visit it by itself, every random plan does."""
    random = np.random.default_rng(4)
    possible = 0
    for seed in range(150):
        instance, stop = with_one_required(random)
        numbers = range(*instance.alternative_first[stop : stop + 2].tolist())
        alone = any(
            stays_along(instance, [[number]], [vehicle]).feasible
            for vehicle in range(instance.vehicles)
            for number in numbers
        )
        parts = random_routes(instance, seed)
        for sample in range(SAMPLES):
            visited = {
                int(part.problems.stop[0, node])
                for part in parts
                for node in part.rollout.nodes[0, sample].tolist()
            }
            assert alone <= (stop in visited)
        possible += alone
    assert 30 < possible < 140


# Plans.


def require_sound(some: list[Instance], options: PolicyOptions) -> tuple[int, int]:
    """Let brute force and the checker judge plans; count best plans, and required ones missed."""
    best = missed = 0
    for result in policy_many(some, options):
        broken = [one.rule for one in check(result.instance, result.solution)]
        visited, profit = brute_force(result.instance)
        assert set(broken) <= {"required"}
        assert result.required_visited <= visited
        assert result.bound is None
        complete = result.required_visited == int(result.instance.required.sum())
        assert result.status == ("feasible" if complete else "incomplete")
        assert complete == (not broken)
        missed += result.required_visited < visited
        if result.required_visited == visited:
            assert result.profit <= profit * (1 + 1e-7) + 1e-7
            best += result.profit >= profit * (1 - 1e-7) - 1e-7
    return best, missed


@pytest.mark.parametrize(
    "options",
    [
        PolicyOptions(),
        PolicyOptions(samples=5, symmetries=False),
        PolicyOptions(weights="paper"),
        PomoOptions(),
    ],
    ids=["generalist", "drawn", "paper", "pomo"],
)
def test_never_better_than_brute_force(options: PolicyOptions) -> None:
    """With the shipped weights, on instances with every mixture of what there is."""
    random = np.random.default_rng(11)
    best, missed = require_sound([tiny_instance(random) for _ in range(150)], options)
    assert best > (70 if options.stay_optimisation else 30)
    assert missed < 8


def same_plan(one: Instance, other: Instance, options: PolicyOptions) -> bool:
    """Whether two instances get the same routes and stays."""
    plans = [
        [[(visit.stop, round(visit.stay, 6)) for visit in route.visits] for route in plan.routes]
        for plan in (policy(instance, options).solution for instance in (one, other))
    ]
    return plans[0] == plans[1]


def later(instance: Instance, time: float) -> Instance:
    """Move all times of an instance."""
    return instance.replace(
        begin=time,
        budget=instance.budget + time,
        open=instance.open + time,
        close=instance.close + time,
        leave_by=instance.leave_by + time,
    )


@pytest.mark.parametrize("weights", ["generalist", "paper"])
def test_begin_does_not_matter(weights: str) -> None:
    """A day that begins at 512 is planned as one that begins at 0."""
    options = PolicyOptions(weights=weights)
    for instance in generate("paper", nodes=30, count=5, seed=1):
        assert same_plan(instance, later(instance, 512.0), options)


@pytest.mark.parametrize("weights", ["generalist", "paper"])
def test_where_vehicles_start_is_written_does_not_matter(weights: str) -> None:
    """Vehicles from a place of their own are planned as those from a depot that is there.

    Each has its own id, and that is all that is different; the depot is far away.
    """
    options = PolicyOptions(weights=weights)
    for plain in generate("paper", nodes=20, vehicles=2, count=5, seed=2):
        assert plain.xy is not None
        own = Instance(
            xy=np.concatenate(([[-5.0, -5.0]], plain.xy[1:], plain.xy[:1])),
            places=["hotel"],
            fleet=[
                Vehicle(name, start=20, end=20)  # type: ignore[arg-type]
                for name in ("red", "blue")
            ],
            budget=plain.budget,
            open=plain.open,
            close=plain.close,
            rate=plain.rate,
            max_stay=plain.max_stay,
        )
        assert turns_of(own) == [Turn(0, 2)]
        assert same_plan(plain, own, options)


def test_an_alternative_that_is_never_open_does_not_matter() -> None:
    """Nor does it if it is for a vehicle that cannot get there."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        windows = [{"open": float(k), "close": float(k + 3)} for k in random.integers(0, 8, 8)]
        points = [{"x": float(x), "y": float(y)} for x, y in random.random((8, 2))]
        profit = [[1.0, 1.0]]
        depot = Place(x=0.5, y=0.5)
        stops = [
            Stop(f"{k}", profit=profit, **point, **window)
            for k, (point, window) in enumerate(zip(points, windows, strict=True))
        ]
        plain = Instance.build(stops=stops, depot=depot, budget=10)
        stops = [
            Stop(
                f"{k}",
                profit=profit,
                **point,
                alternatives=[Alternative(open=-9, close=-8), Alternative(**window)],
            )
            for k, (point, window) in enumerate(zip(points, windows, strict=True))
        ]
        more = Instance.build(stops=stops, depot=depot, budget=10)
        assert more.alternative_count == 2 * plain.alternative_count
        assert policy(plain, PolicyOptions()).profit > 0
        assert same_plan(plain, more, PolicyOptions())


def test_people_in_a_set_and_alone() -> None:
    """Plans do not depend on what else is in a batch, plain instances among them."""
    some = [*generate("people", nodes=15, vehicles=3, count=4), *generate("paper", nodes=20)]
    together = policy_many(some, PolicyOptions())
    for instance, result in zip(some, together, strict=True):
        assert policy(instance, PolicyOptions()).solution == result.solution
        assert check(instance, result.solution) == []
        assert result.profit > 0


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(kind: str) -> None:
    """A network sees the same of hours and miles as of minutes and kilometres."""
    (instance,) = generate("people", nodes=25, vehicles=1, seed=3)
    assert instance.xy is not None
    (mine,) = instance.fleet
    other = instance.replace(
        xy=instance.xy / 1.5,
        fleet=[
            Vehicle(
                mine.id,
                mine.start,  # type: ignore[arg-type]
                mine.end,  # type: ignore[arg-type]
                begin=mine.begin / 60,
                due=mine.due / 60,
                speed=mine.speed / 1.5 * 60,
            )
        ],
        unit=None,
        budget=instance.budget / 60,
        begin=instance.begin / 60,
        open=instance.alternative_open / 60,
        close=instance.alternative_close / 60,
        leave_by=instance.alternative_leave_by / 60,
        min_stay=instance.alternative_min_stay / 60,
        pieces=[table * [60, 1 / 60] for table in instance.pieces],
    )
    network = small_network(kind, seed=5)
    with torch.no_grad():
        nodes = [
            roll_out(network, load_problems([one], least=16).turned(), 8, greedy_choice).nodes
            for one in (instance, other)
        ]
    assert nodes[0].any()
    assert torch.equal(*nodes)


# Training.


@pytest.mark.parametrize(
    "change",
    [
        {"required": [False, True] + [False] * 6},
        {"begin": -5.0},
        {"fleet": [Vehicle("red", due=0.5)]},
        {"alternative_first": [0, 1, 2, 3, 4, 5, 6, 8, 8]},
    ],
    ids=["required", "begin", "vehicle", "alternatives"],
)
def test_training_takes_plain_files(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are refused in one line that says what is wanted."""
    (plain,) = generate("mixed", nodes=8)
    known = {"a": plain, "b": plain, "c": plain.replace(**change)}
    for name in known:
        (tmp_path / name).touch()
    monkeypatch.setattr(runs, "read", lambda path, **options: known[path.stem])
    config = TrainConfig(**(TINY | {"files": str(tmp_path), "held_out": "a"}))
    message = f"^files = {tmp_path}/c: networks are trained on equal vehicles that leave "
    with pytest.raises(TrainError, match=message):
        runs.draw_instances(config, config.sources()[0], 1, 0)


def test_training_takes_plain_families() -> None:
    """The family of people is none of them."""
    with pytest.raises(ValueError, match="'people-20:100': families are paper, mixed"):
        TrainConfig(settings="people-20:100").sources()


def test_time_limit_of_a_team() -> None:
    """When time is over, the vehicles that have not left stay where they are."""
    (instance,) = generate("people", nodes=15, vehicles=3)
    result = decost.solve(instance, "decost", time_limit=0.0)
    assert not [one for one in check(instance, result.solution) if one.rule != "required"]
