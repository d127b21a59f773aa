"""Tests of the ants: where they go and how often, what they earn, and their pheromone."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import numpy as np
import pytest

from decost import Instance, check, make_solution, optimal_stays, profit_of
from decost.baselines.ants import (
    Trails,
    Walks,
    find_successors,
    lay_pheromone,
    longest_stays,
    send_ants,
)
from decost.inference.heatmap import Region, find_region
from decost.timeline.network import network_as_given, useful_alternatives
from odd_instances import odd_instance

Plan: TypeAlias = tuple[tuple[int, ...], ...]

LINE: dict[str, Any] = {
    "budget": 12,
    "xy": [[0, 0], [1, 0], [2, 0], [3, 0]],
    "rate": [0, 1, 2, 3],
    "max_stay": [0, 3, 3, 3],
    "open": [0, 0, 4, 0],
    "close": [0, 9, 9, 9],
}


def walk(
    instance: Instance,
    region: Region,
    weight: np.ndarray,
    ants: int,
    greedy: bool,
    seed: int = 0,
    reserve: float = 0.0,
) -> tuple[list[Plan], np.ndarray]:
    """Send ants; give the routes of each, and the profits."""
    trails = region.trails
    longest = len(trails.stop) - 1 + instance.vehicles
    path = np.full((ants, longest), -1)
    steps, profit = np.empty(ants, dtype=np.int64), np.empty(ants)
    chance = np.random.default_rng(seed).random((ants, longest))
    team = instance.vehicles
    network = network_as_given(instance.arrays)
    stays = np.full(len(weight), reserve)
    send_ants(network, trails, weight, team, greedy, stays, chance, Walks(path, steps, profit))
    plans = []
    for row, count in zip(path, steps, strict=True):
        assert (row[:count] >= 0).all()
        assert (row[count:] == -1).all()
        nodes = trails.target[row[:count]]
        ends = np.flatnonzero(nodes == 0)
        assert len(ends) == team
        assert ends[-1] == count - 1
        routes = np.split(nodes, ends)
        plans.append(tuple(tuple(trails.stop[part[part > 0]].tolist()) for part in routes[:team]))
    return plans, profit


def longest_stay(instance: Instance, stop: int, start: float) -> float:
    """How long a vehicle can stay and be home in time, by the words of the problem."""
    latest = min(instance.leave_by[stop], instance.budget - instance.travel[stop, instance.end])
    return min(instance.max_stay[stop], max(instance.min_stay[stop], latest - start))


def probabilities(
    instance: Instance, trails: Trails, weight: np.ndarray, greedy: bool, reserve: float = 0.0
) -> dict[Plan, float]:
    """Work out how likely every plan is, by trying all of them."""
    found: Counter[Plan] = Counter()
    node_of = {int(stop): node for node, stop in enumerate(trails.stop)}
    slack = instance.arrays.slack

    def go(done: Plan, route: tuple[int, ...], time: float, p: float) -> None:
        if len(done) == instance.vehicles:
            found[done] += p
            return
        place = route[-1] if route else 0
        options = []
        for trail in range(trails.first[node_of[place]], trails.first[node_of[place] + 1]):
            stop = int(trails.stop[trails.target[trail]])
            if trails.target[trail] == 0:
                options.append((weight[trail], 0, 0.0))
                continue
            start = max(time + instance.travel[place, stop], instance.open[stop])
            leave = start + instance.min_stay[stop]
            if (
                any(stop in some for some in (*done, route))
                or start > instance.close[stop] + slack
                or leave > instance.leave_by[stop] + slack
                or leave + instance.travel[stop, instance.end] > instance.budget + slack
            ):
                continue
            stay = longest_stay(instance, stop, start)
            if not greedy:
                stay = max(instance.min_stay[stop], min(reserve, stay))
            options.append((weight[trail], stop, start + stay))
        total = sum(option[0] for option in options)
        for share, stop, leave in options:
            if stop:
                go(done, (*route, stop), leave, p * share / total)
            else:
                go((*done, route), (), 0.0, p * share / total)

    go((), (), 0.0, 1.0)
    return dict(found)


@pytest.mark.parametrize("vehicles", [1, 2])
@pytest.mark.parametrize(("greedy", "reserve"), [(False, 0.0), (False, 1.7), (True, 0.0)])
def test_plans_are_as_likely_as_their_trails(greedy: bool, reserve: float, vehicles: int) -> None:
    """Ants take every plan as often as its probability says, within five deviations."""
    random = np.random.default_rng(3)
    instance = Instance(**LINE, vehicles=vehicles, min_stay=[0, 0.5, 0, 1])
    region = find_region(instance)
    weight = random.uniform(0.2, 2, len(region.trails.target))
    expected = probabilities(instance, region.trails, weight, greedy, reserve)
    ants = 20_000
    plans, _ = walk(instance, region, weight, ants, greedy, reserve=reserve)
    seen = Counter(plans)
    assert set(seen) <= set(expected)
    assert len(expected) >= 10
    for plan, p in expected.items():
        assert abs(seen[plan] - ants * p) <= 5 * np.sqrt(ants * p * (1 - p)) + 1


@pytest.mark.parametrize("greedy", [False, True])
def test_plans_are_feasible_and_earn_what_is_said(greedy: bool) -> None:
    """The checker accepts all plans; their profits are those of optimal or longest stays."""
    random = np.random.default_rng(5)
    visited = 0
    for number in range(60):
        instance = odd_instance(random, 6).replace(vehicles=1 + number % 3)
        region = find_region(instance)
        weight = random.uniform(0.1, 1, len(region.trails.target))
        plans, profit = walk(instance, region, weight, 5, greedy, number)
        for plan, earned in zip(plans, profit, strict=True):
            visited += sum(map(len, plan))
            if greedy:
                network = network_as_given(instance.arrays)
                stays = [np.empty(len(route)) for route in plan]
                for route, some in zip(plan, stays, strict=True):
                    longest_stays(network, np.array(route, dtype=np.int64), some)
                solution = make_solution(instance, plan, stays)
                assert check(instance, solution) == []
                assert profit_of(instance, solution) == pytest.approx(earned, abs=1e-9)
            else:
                best = optimal_stays(instance, plan)
                assert best.feasible
                assert best.profit.sum() == pytest.approx(earned, abs=1e-9)
    assert visited > 200


def test_longest_stays() -> None:
    """On a line: a full stay, then all until the stop is left for home."""
    instance = Instance(**LINE)
    stays = np.empty(3)
    # At 1 from 1 to 4; at 2 from 5 to 8; at 3 from 9, home by 12: no time to stay.
    network = network_as_given(instance.arrays)
    assert longest_stays(network, np.array([1, 2, 3]), stays) == 3 + 6
    assert stays.tolist() == [3, 3, 0]


def test_pheromone() -> None:
    """Each ant leaves its share at every step."""
    pheromone = np.array([1.0, 2.0, 0.5])
    path = np.array([[0, 1, 2], [0, 0, 0]])
    lay_pheromone(pheromone, path, np.array([2, 1]), np.array([0.5, 0.25]))
    assert pheromone.tolist() == pytest.approx([1 + 0.5 + 0.25, 2 + 0.5, 0.5])


@pytest.mark.parametrize("most", [1, 3, 20])
def test_successors_are_those_that_start_soonest(most: int) -> None:
    """They are the first of all that can be reached, sorted by when service can start."""
    random = np.random.default_rng(7)
    seen = 0
    for _ in range(30):
        instance = odd_instance(random, 9)
        arrays = instance.arrays
        useful = useful_alternatives(arrays, 0)
        nodes = len(useful.alternative) + 1
        target = np.zeros((nodes, most), dtype=np.int64)
        count = np.empty(nodes, dtype=np.int64)
        for row in range(nodes):
            find_successors(arrays, useful, row, row + 1, target, count)
        for row in range(nodes):
            place = 0 if row == 0 else int(useful.alternative[row - 1])
            leave = 0.0 if row == 0 else useful.early[place] + instance.min_stay[place]
            start = {
                node: max(leave + instance.travel[place, stop], useful.early[stop])
                for node, stop in enumerate(useful.alternative, start=1)
                if node != row
            }
            start = {
                node: time
                for node, time in start.items()
                if time <= useful.late[useful.alternative[node - 1]] + arrays.slack
            }
            mine = target[row, : count[row]].tolist()
            assert len(set(mine)) == len(mine) == min(most, len(start))
            assert set(mine) <= set(start)
            soonest = sorted(start.values())[: len(mine)]
            assert sorted(start[node] for node in mine) == pytest.approx(soonest)
            seen += len(mine)
    assert seen > 30
