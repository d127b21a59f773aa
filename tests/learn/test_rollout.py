"""Tests of routes built stop by stop: feasible at every step, and counted as the checker counts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from decost import Instance, check, generate, make_solution, optimal_stays, profit_of
from decost.learn.features import Problems, load_problems
from decost.learn.rollout import (
    Rollout,
    State,
    greedy_choice,
    move,
    optimal_profit,
    predicted_profit,
    roll_out,
    sampled_choice,
    split_vehicles,
    start_state,
    stay_profits,
)
from policies import (
    KINDS,
    EarliestPolicy,
    RandomPolicy,
    lively_instances,
    metric,
    routes_of,
    small_network,
    stays_of,
)
from seeds import seeds
from strategies import Planned, instances, planned
from whole_networks import front_of


def sampled(
    some: list[Instance], seed: int, samples: int = 3, *, stays: bool = True, prefix: bool = False
) -> tuple[Problems, Rollout, RandomPolicy]:
    """Roll out at random."""
    policy = RandomPolicy(seed, stays=stays, prefix=prefix)
    choose = sampled_choice(torch.Generator().manual_seed(seed))
    problems = load_problems(some)
    return problems, roll_out(policy, problems, samples, choose), policy


def require_feasible(some: list[Instance], problems: Problems, rollout: Rollout) -> int:
    """Let the checker look at every plan, with the stays of the rollout and with optimal ones.

    Returns how many stops are visited in all.
    """
    best, stays = optimal_profit(problems, rollout.nodes)
    predicted = predicted_profit(problems, rollout.nodes, rollout.stays)
    optimal = Rollout(**(vars(rollout) | {"stays": stays}))
    visits = 0
    for row, instance in enumerate(some):
        for sample in range(rollout.nodes.shape[1]):
            routes = routes_of(problems, rollout, row, sample)
            visits += sum(map(len, routes))
            plan = make_solution(instance, routes, stays_of(problems, rollout, row, sample))
            assert check(instance, plan) == []
            earned = pytest.approx(profit_of(instance, plan), rel=1e-7, abs=1e-7)
            assert float(predicted[row, sample]) == earned
            expected = optimal_stays(instance, routes)
            assert expected.feasible
            total = pytest.approx(expected.profit.sum(), rel=1e-7, abs=1e-7)
            assert float(best[row, sample]) == total
            plan = make_solution(instance, routes, stays_of(problems, optimal, row, sample))
            assert check(instance, plan) == []
            assert profit_of(instance, plan) == total
            assert float(best[row, sample]) >= float(predicted[row, sample]) * (1 - 1e-9) - 1e-9
    return visits


# Feasibility.


@given(st.lists(instances(5), min_size=1, max_size=3), st.integers(0, 999), st.booleans())
def test_any_route_is_feasible(some: list[Instance], seed: int, stays: bool) -> None:
    """Whatever a policy wishes, the checker accepts its plans and finds the same profits."""
    problems, rollout, _ = sampled(some, seed, stays=stays)
    require_feasible(some, problems, rollout)


@pytest.mark.parametrize("seed", seeds(12))
def test_long_routes_are_feasible(seed: int) -> None:
    """The same of instances in which much can be visited, and deadlines are met to the minute."""
    some = lively_instances(seed)
    problems, rollout, _ = sampled(some, seed, stays=seed % 3 > 0, prefix=seed % 3 == 0)
    assert require_feasible(some, problems, rollout) > 0


@given(planned(6), st.integers(0, 999))
def test_feasible_around_a_plan(plan: Planned, seed: int) -> None:
    """Windows and limits that fit one plan to the eighth of a minute."""
    problems, rollout, _ = sampled([plan.instance], seed, samples=4)
    require_feasible([plan.instance], problems, rollout)


@pytest.mark.parametrize("kind", KINDS)
def test_networks_build_feasible_routes(kind: str) -> None:
    """So do networks, greedily and at random."""
    some = [*lively_instances(50, count=8), *generate("paper", nodes=30, count=4, seed=7)]
    problems = load_problems(some)
    network = small_network(kind, seed=2)
    with torch.no_grad():
        greedy = roll_out(network, problems, 2, greedy_choice)
        choose = sampled_choice(torch.Generator().manual_seed(5))
        drawn = roll_out(network, problems, 3, choose)
    assert torch.equal(greedy.nodes[:, 0], greedy.nodes[:, 1])
    assert require_feasible(some, problems, greedy) > 0
    assert require_feasible(some, problems, drawn) > 20


def test_what_the_instances_have() -> None:
    """The comparisons above meet every feature they speak of, on the routes themselves."""
    on_route = []
    teams = set()
    for seed in range(30):
        some = lively_instances(seed)
        problems, rollout, _ = sampled(some, seed)
        for row, instance in enumerate(some):
            routes = routes_of(problems, rollout, row, 0)
            on_route += [(instance, stop) for route in routes for stop in route]
            teams.add(sum(map(bool, routes)))
    assert teams == {0, 1, 2, 3}
    assert any(instance.separate_end for instance, _ in on_route)
    assert any(instance.matrix is None for instance, _ in on_route)
    assert any(not np.allclose(one.travel, one.travel.T) for one, _ in on_route)
    assert any(instance.leave_by[stop] < instance.budget for instance, stop in on_route)
    assert any(instance.min_stay[stop] > 0 for instance, stop in on_route)
    assert max(len(instance.pieces[stop]) for instance, stop in on_route) == 3


# What can be chosen.


@pytest.mark.parametrize("seed", seeds(10))
def test_choices_are_those_that_the_checker_accepts(seed: int) -> None:
    """At every state each stop is tried: served next for the shortest stay, and then home.

    A stop that no network sees is one that adds no profit.
    """
    some = lively_instances(seed)
    problems, rollout, policy = sampled(some, seed, samples=2, stays=False)
    numbers = problems.node.tolist()
    tried = 0
    for step, state in enumerate(policy.states):
        for row, instance in enumerate(some):
            for sample in range(2):
                if state.done[row, sample]:
                    continue
                routes: list[list[int]] = [[]]
                for node in rollout.nodes[row, sample, :step].tolist():
                    if node:
                        routes[-1].append(numbers[row][node])
                    else:
                        routes.append([])
                seen = {stop for route in routes for stop in route}
                live = state.live[row, sample].tolist()
                assert live[0]
                for stop in set(range(1, instance.nodes)) - seen:
                    longer = [*routes[:-1], [*routes[-1], stop]]
                    stays = [instance.min_stay[route] for route in longer]
                    accepted = check(instance, make_solution(instance, longer, stays)) == []
                    if stop in numbers[row]:
                        assert live[numbers[row].index(stop)] == accepted
                        tried += 1
                    elif accepted:
                        with_it = optimal_stays(instance, longer[-1:]).profit[0]
                        assert with_it <= optimal_stays(instance, routes[-1:]).profit[0] + 1e-9
                for stop in seen & set(numbers[row]):
                    assert not live[numbers[row].index(stop)]
                assert not any(
                    live[k] for k in range(1, len(live)) if not problems.batch.real[row, k]
                )
    assert tried > 20


def by_hand() -> Instance:
    """One stop 3 away, open from 5 to 8, for 1 to 5 units, to be left at 9; home by 20."""
    return Instance(
        budget=20,
        xy=[[0, 0], [3, 0]],
        open=[0, 5],
        close=[0, 8],
        leave_by=[0, 9],
        reward=[0, 7],
        min_stay=[0, 1],
        pieces=[[], [[2, 3], [1, 1]]],
    )


@pytest.mark.parametrize(
    ("share", "budget", "stay", "profit"),
    [
        (0.0, 20, 1, 7),
        (0.1, 20, 1, 7),
        (0.5, 20, 2.5, 10),
        (0.7, 20, 3.5, 12),
        (1.0, 20, 4, 13),
        (1.0, 11, 3, 11),
        (1.0, 9, 1, 7),
    ],
)
def test_predicted_stay_by_hand(share: float, budget: float, stay: float, profit: float) -> None:
    """A part of the 5 units, but at least 1, and not beyond 9 or the way home."""
    problems = load_problems([by_hand().replace(budget=budget)])
    state = start_state(problems, 1, prefix=False)
    assert state.start.tolist() == [[[0, 5]]]
    node = torch.tensor([[1]])
    after, found = move(problems, state, node, torch.tensor([[share]], dtype=torch.float64))
    assert found.tolist() == [[pytest.approx(stay)]]
    assert after.time.tolist() == [[pytest.approx(5 + stay)]]
    assert after.live.tolist() == [[[True, False]]]
    earned = stay_profits(problems, node[..., None], found[..., None])
    assert earned.tolist() == [[[pytest.approx(profit)]]]
    home, _ = move(problems, after, torch.tensor([[0]]), None)
    assert home.done.tolist() == [[True]]


def test_gradient_of_a_stay() -> None:
    """A longer share means a longer stay by the longest one, until a limit cuts it."""
    problems = load_problems([by_hand()])
    state = start_state(problems, 3, prefix=False)
    share = torch.tensor([[0.05, 0.5, 0.95]], dtype=torch.float64, requires_grad=True)
    after, stay = move(problems, state, torch.ones(1, 3, dtype=torch.long), share)
    stay.sum().backward()
    assert share.grad is not None
    assert share.grad.tolist() == [[0, 5, 0]]
    assert not after.time.requires_grad


def test_gradient_reaches_the_stays_of_a_rollout() -> None:
    """Through the predicted stays, the pTAR loss can move the logits that they come from."""
    weight = torch.tensor(0.3, requires_grad=True)

    class Staying(EarliestPolicy):
        def step(self, memory: None, state: State) -> tuple[Tensor, Tensor]:
            logits, stays = super().step(memory, state)
            return logits, stays + weight

    problems = load_problems([by_hand()])
    rollout = roll_out(Staying(), problems, 1, greedy_choice)
    rollout.stays.sum().backward()
    share = 1 / (1 + math.exp(-0.3))
    assert weight.grad is not None
    assert float(weight.grad) == pytest.approx(5 * share * (1 - share))


# The time-profit function.


def require_same_function(some: list[Instance], seed: int) -> int:
    """Compare the function that rollouts carry along with the compiled one; count the routes."""
    problems, rollout, policy = sampled(some, seed, samples=2, stays=False, prefix=True)
    numbers = problems.node.tolist()
    compared = 0
    for step, state in enumerate(policy.states):
        assert state.prefix is not None
        for row, instance in enumerate(some):
            for sample in range(2):
                if state.done[row, sample]:
                    continue
                route: list[int] = []
                for node in rollout.nodes[row, sample, :step].tolist():
                    route = [*route, numbers[row][node]] if node else []
                front, pool = front_of(instance, route)
                time, value, room = front.time, front.value, front.room
                rate, length = pool[: front.pieces].T
                assert float(state.time[row, sample]) == pytest.approx(time, abs=1e-9)
                function = state.prefix
                assert float(function.value[row, sample]) == pytest.approx(value, abs=1e-9)
                assert float(function.room[row, sample]) == pytest.approx(room, abs=1e-9)
                # No route can put off its departure by more: it could not be home in time.
                home = instance.travel[route[-1], instance.end] if route else 0.0
                most = max(0.0, min(room, instance.budget - time - home))
                times = np.array([0, 0.1, 0.35, 0.7, 1]) * most
                begin = np.cumsum(length) - length
                used = np.clip(times[:, None] - begin, 0, length)
                expected = used @ rate
                points = torch.tensor(times).expand(*function.value.shape, -1)
                found = function.gained(points)[row, sample]
                assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
                compared += len(route) > 0
    return compared


@pytest.mark.parametrize("seed", seeds(10))
def test_function_equals_the_kernel(seed: int) -> None:
    """Certain profit, profit at several later departures, and by how much it can be put off."""
    compared = require_same_function([metric(one) for one in lively_instances(seed)], seed)
    assert compared > 5


def test_function_with_a_short_cut_home() -> None:
    """From stop 2 home takes 8, but over stop 3 it takes 2, so there is time for stop 1.

    Stop 1 earns 1 a unit, up to 5. Who leaves it after 5 units is at stop 2 at 6, at stop 3 at 7
    and home at 8 of 10.
    """
    travel = np.full((4, 4), 9.0)
    travel[0, 1], travel[1, 2], travel[2, 3], travel[3, 0] = 0, 1, 1, 1
    travel[1, 0], travel[2, 0] = 1, 8
    instance = Instance(
        budget=10, travel=travel, reward=[0, 0, 1, 1], rate=[0, 1, 0, 0], max_stay=[0, 5, 0, 0]
    )
    assert optimal_stays(instance, [[1, 2, 3]]).profit.tolist() == [7]
    problems = load_problems([instance])
    state = start_state(problems, 1, prefix=True)
    for node in (1, 2):
        state, _ = move(problems, state, torch.tensor([[node]]), None)
    assert state.prefix is not None
    points = torch.tensor([[[1.0, 3.0, 5.0]]], dtype=torch.float64)
    assert state.prefix.value.tolist() == [[1]]
    assert state.prefix.gained(points).tolist() == [[[1, 3, 5]]]


# Teams.


def test_split_vehicles_by_hand() -> None:
    """Each vehicle gets what lies between two zeros; the others, and the rest, are zeros."""
    (instance,) = generate("mixed", nodes=8, seed=1)
    problems = load_problems([instance.replace(vehicles=k) for k in (1, 3, 2)])
    nodes = torch.tensor(
        [
            [[2, 1, 3, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]],
            [[2, 1, 0, 3, 0, 4, 0], [0, 0, 5, 6, 0, 0, 0]],
            [[0, 4, 3, 2, 1, 0, 0], [1, 0, 2, 0, 0, 0, 0]],
        ]
    )
    routes = [
        [[[2, 1, 3], [], []], [[], [], []]],
        [[[2, 1], [3], [4]], [[], [], [5, 6]]],
        [[[], [4, 3, 2, 1], []], [[1], [2], []]],
    ]
    expected = [[[r + [0] * (7 - len(r)) for r in team] for team in rows] for rows in routes]
    assert split_vehicles(problems, nodes).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_split_vehicles(seed: int) -> None:
    """The same of random plans of teams of several sizes."""
    some = lively_instances(seed, count=6)
    problems, rollout, _ = sampled(some, seed)
    split = split_vehicles(problems, rollout.nodes).tolist()
    for row in range(len(some)):
        numbers = problems.node[row].tolist()
        for sample in range(3):
            found = [[numbers[k] for k in route if k] for route in split[row][sample]]
            routes = routes_of(problems, rollout, row, sample)
            assert found[: len(routes)] == routes
            assert not any(found[len(routes) :])
            assert all(route == sorted(route, key=lambda k: k == 0) for route in split[row][sample])


def test_next_vehicle_begins_anew() -> None:
    """It leaves the depot at time 0 with nothing earned, and cannot visit what was visited."""
    (instance,) = generate("paper", nodes=12, window=400, seed=3, vehicles=2)
    problems = load_problems([instance])
    first = start_state(problems, 1, prefix=True)
    node = int(first.live[0, 0, 1:].nonzero()[0, 0]) + 1
    out, _ = move(problems, first, torch.tensor([[node]]), None)
    home, _ = move(problems, out, torch.tensor([[0]]), None)
    assert not home.done.any()
    assert (home.place.item(), home.time.item(), home.vehicles.item()) == (0, 0, 0)
    expected = first.live.clone()
    expected[0, 0, node] = False
    assert torch.equal(home.live, expected)
    assert home.prefix is not None
    assert home.prefix.value.item() == 0
    assert home.prefix.length.sum() == 0
    assert home.prefix.room.item() == math.inf
    assert move(problems, home, torch.tensor([[0]]), None)[0].done.all()


# Rollouts.


@pytest.mark.parametrize("noisy", [False, True])
def test_probability_is_that_of_the_choices(noisy: bool) -> None:
    """Logarithms are summed one by one, of the nodes that can be chosen alone.

    With noise on the stays, the normal density of each stay counts too, but for its constant.
    """
    some = lively_instances(8)
    policy = RandomPolicy(8)
    shifts: list[Tensor] = []

    def noise(logits: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(len(shifts))
        shifts.append(torch.randn(logits.shape, generator=generator))
        return shifts[-1]

    choose = sampled_choice(torch.Generator().manual_seed(8))
    problems = load_problems(some)
    rollout = roll_out(
        policy, problems, 3, choose, noise=noise if noisy else None, keep_choices=True
    )
    require_feasible(some, problems, rollout)
    entropies: list[float] = []
    for row in range(len(some)):
        for sample in range(3):
            total = 0.0
            for step, state in enumerate(policy.states):
                live = state.live[row, sample].numpy()
                logits = policy.logits[step][row, sample].numpy()
                weight = np.where(live, np.exp(logits), 0.0)
                share = weight / weight.sum()
                node = int(rollout.nodes[row, sample, step])
                assert live[node]
                total += math.log(share[node])
                with np.errstate(divide="ignore"):
                    expected = np.log(share)
                kept = rollout.choices[step][row, sample].numpy()
                assert kept == pytest.approx(expected, abs=1e-9)
                if live.sum() > 1:
                    entropies.append(-sum(p * math.log(p) for p in share if p > 0))
                if noisy and node:
                    total -= 0.5 * float(shifts[step][row, sample]) ** 2
            assert float(rollout.log_probability[row, sample]) == pytest.approx(total, rel=1e-5)
    assert len(rollout.choices) == rollout.nodes.shape[2]
    assert float(rollout.entropy) == pytest.approx(np.mean(entropies), rel=1e-5)


def test_noise_moves_the_stays() -> None:
    """The stay follows the logit and its noise: 5 units of which 1 to 4 are possible."""
    problems = load_problems([by_hand()])
    for shift in (-0.5, 0.0, 0.7):
        rollout = roll_out(
            EarliestPolicy(), problems, 1, greedy_choice, noise=lambda x, s=shift: x + s
        )
        share = 1 / (1 + math.exp(-shift))
        assert rollout.stays[0, 0].tolist() == [pytest.approx(5 * share, rel=1e-6), 0]


def test_ways_are_travel_times() -> None:
    """From each place to the next one, and home to where the end depot is."""
    some = lively_instances(12, count=6)
    problems, rollout, _ = sampled(some, 12)
    for row, instance in enumerate(some):
        numbers = problems.node[row].tolist()
        for sample in range(3):
            stops = [0, *(numbers[k] for k in rollout.nodes[row, sample].tolist())]
            for step, (place, stop) in enumerate(pairwise(stops)):
                expected = instance.travel[place, stop or instance.end] if place or stop else 0.0
                assert float(rollout.ways[row, sample, step]) == expected


def test_stays_earn_what_the_checker_says() -> None:
    """Visit by visit."""
    some = lively_instances(5, count=6)
    problems, rollout, _ = sampled(some, 5)
    profits = stay_profits(problems, rollout.nodes, rollout.stays)
    for row, instance in enumerate(some):
        for sample in range(3):
            routes = routes_of(problems, rollout, row, sample)
            plan = make_solution(instance, routes, stays_of(problems, rollout, row, sample))
            expected = [
                profit_of(instance, make_solution(instance, [[visit.stop]], [[visit.stay]]))
                for visit in plan.visits
            ]
            nodes = rollout.nodes[row, sample]
            assert profits[row, sample][nodes > 0].tolist() == pytest.approx(expected, rel=1e-9)
            assert not profits[row, sample][nodes == 0].any()


def test_twins() -> None:
    """From equal generators come equal rollouts, from another one another."""
    some = lively_instances(20, count=6)
    one, twin, other = (sampled(some, 20)[1], sampled(some, 20)[1], sampled(some, 21)[1])
    for name in ("nodes", "log_probability", "stays", "ways", "entropy"):
        assert torch.equal(getattr(one, name), getattr(twin, name))
    assert not torch.equal(one.stays.sum((1, 2)), other.stays.sum((1, 2)))


def test_global_generator_is_left_alone() -> None:
    """Random choices come from their own generator."""
    before = torch.get_rng_state()
    sampled(lively_instances(20), 20)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("seed", range(5))
def test_finished_samples_wait(seed: int) -> None:
    """Who is home for good stays there, at probability 1, until all the others are."""
    problems, rollout, policy = sampled(lively_instances(seed, count=6), seed, prefix=seed % 2 > 0)
    waited = 0
    for step, state in enumerate(policy.states):
        done = state.done
        assert not rollout.nodes[..., step][done].any()
        assert not rollout.stays[..., step][done].any()
        assert not rollout.ways[..., step][done].any()
        assert state.live[done][:, 0].all()
        assert not state.live[done][:, 1:].any()
        assert not state.time[done].any()
        if step:
            assert (done | ~policy.states[step - 1].done).all()
        waited += int(done.sum())
    assert waited > 0
    # All have gone home as often as they have vehicles, or more often while they wait.
    assert ((rollout.nodes == 0).sum(2) >= problems.vehicles[:, None]).all()
    assert not rollout.nodes[..., -1].any()


def test_company_changes_nothing() -> None:
    """An instance is planned for alone as among larger ones, with longer routes and teams."""
    some = [*lively_instances(30, count=5), *generate("paper", nodes=40, window=300, seed=1)]
    together = load_problems(some)
    all_of_them = roll_out(EarliestPolicy(), together, 1, greedy_choice)
    best, _ = optimal_profit(together, all_of_them.nodes)
    for row, instance in enumerate(some):
        alone = load_problems([instance])
        rollout = roll_out(EarliestPolicy(), alone, 1, greedy_choice)
        steps = rollout.nodes.shape[2]
        assert steps <= all_of_them.nodes.shape[2]
        for name in ("nodes", "stays", "ways"):
            mine, ours = getattr(rollout, name)[0, 0], getattr(all_of_them, name)[row, 0]
            assert torch.equal(mine, ours[:steps])
            assert not ours[steps:].any()
        probability = all_of_them.log_probability[row]
        torch.testing.assert_close(probability, rollout.log_probability[0])
        torch.testing.assert_close(best[row], optimal_profit(alone, rollout.nodes)[0][0])


@pytest.mark.parametrize("kind", KINDS)
def test_no_time_at_all(kind: str) -> None:
    """When time is over every vehicle goes home at once."""
    some = [one.replace(vehicles=2) for one in generate("paper", nodes=20, count=2, seed=1)]
    network = small_network(kind)
    with torch.no_grad():
        rollout = roll_out(network, load_problems(some), 3, greedy_choice, over=lambda: True)
    assert rollout.nodes.shape == (2, 3, 2)
    assert not rollout.nodes.any()
    assert rollout.log_probability.isfinite().all()


def test_time_is_over_on_the_way() -> None:
    """Routes end after the third choice, and remain feasible."""
    some = generate("paper", nodes=40, window=300, count=3, seed=1)
    problems = load_problems(some)
    whole = roll_out(EarliestPolicy(), problems, 1, greedy_choice)
    assert (whole.nodes[..., :5] > 0).all()
    moments = iter([False] * 3 + [True] * 1000)
    cut = roll_out(EarliestPolicy(), problems, 1, greedy_choice, over=lambda: next(moments))
    assert torch.equal(cut.nodes[..., :3], whole.nodes[..., :3])
    assert cut.nodes.shape[2] == 4
    assert not cut.nodes[..., 3].any()
    require_feasible(some, problems, cut)


# Choices.


def test_greedy_choice() -> None:
    """The likeliest node."""
    logits = torch.tensor([[[0.0, 2.0, 1.0], [-torch.inf, -3.0, -5.0]]])
    assert greedy_choice(logits).tolist() == [[1, 1]]


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.0])
def test_sampled_choice_follows_the_probabilities(temperature: float) -> None:
    """Of 20,000 draws each node has its share, within five deviations; one forbidden has none."""
    logits = torch.tensor([0.0, 1.5, -1.0, -torch.inf, 0.5])
    draws = 20_000
    choose = sampled_choice(torch.Generator().manual_seed(1), temperature)
    nodes = choose(logits.expand(1, draws, -1))[0]
    share = np.exp(logits.numpy() / temperature)
    share /= share.sum()
    count = np.bincount(nodes.numpy(), minlength=5)
    assert (np.abs(count - draws * share) <= 5 * np.sqrt(draws * share * (1 - share))).all()
    assert count[3] == 0
