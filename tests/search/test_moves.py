"""Tests of moves with exact gains, each against the optimal stays of the whole new route.

They run without compilation too, so instances are small.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost import Instance, optimal_stays
from decost.draws import random_state
from decost.search.moves import (
    LONGEST_SEGMENT,
    best_insertion,
    descend,
    detour,
    gain_limit,
    insertion_gain,
    make_desk,
)
from decost.search.team import Team, back_at, chain, front_at, make_team, offset, refresh, splice
from decost.timeline.steps import Back, Front
from odd_instances import odd_instance
from whole_networks import whole

GO = np.zeros(1, dtype=np.uint8)

Routes = list[list[int]]


def make(instance: Instance, routes: Routes, stops: int = 9, pieces: int = 40) -> Team:
    """Put routes into a team."""
    network = whole(instance)
    team = make_team(network, np.zeros(len(routes), dtype=np.int64), stops, pieces)
    for r, route in enumerate(routes):
        team.size[r] = len(route)
        team.nodes[r, 1 : len(route) + 2] = [*route, network.end]
        assert refresh(network, team, r, 1)
    return team


def routes_of(team: Team) -> Routes:
    """List the stops of each route."""
    return [team.nodes[r, 1 : team.size[r] + 1].tolist() for r in range(len(team.size))]


def visited(routes: Routes) -> list[int]:
    """List the stops of all routes."""
    return list(itertools.chain.from_iterable(routes))


def profit_of(instance: Instance, *routes: list[int]) -> float:
    """Profit of routes, minus infinity if one is late."""
    return float(optimal_stays(instance, routes).profit.sum())


def feasible_routes(instance: Instance, random: np.random.Generator, vehicles: int) -> Routes:
    """Draw routes that are in time; some stops are left over."""
    routes: Routes = [[] for _ in range(vehicles)]
    for stop in random.permutation(np.arange(1, instance.nodes)).tolist():
        r = int(random.integers(vehicles + 1))
        if r == vehicles:
            continue
        k = int(random.integers(len(routes[r]) + 1))
        trial = [*routes[r][:k], stop, *routes[r][k:]]
        if np.isfinite(profit_of(instance, trial)):
            routes[r] = trial
    return routes


@st.composite
def cases(draw: st.DrawFn, stops: int = 6, vehicles: int = 2) -> tuple[Instance, Routes]:
    """Draw an odd instance and routes for it."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    instance = odd_instance(random, draw(st.integers(1, stops)))
    return instance, feasible_routes(instance, random, vehicles)


def close_to(value: float, expected: float) -> bool:
    """Whether two profits are the same, or both are of routes that are late."""
    return value == expected or value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(case=cases())
def test_profit_of_routes(case: tuple[Instance, Routes]) -> None:
    """The functions of a route close to the profit of its optimal stays."""
    instance, routes = case
    team = make(instance, routes)
    for profit, route in zip(team.profit, routes, strict=True):
        assert close_to(profit, profit_of(instance, route))
    for r, route in enumerate(routes):
        for k, stop in enumerate(route):
            assert (team.where[stop - 1], team.spot[stop - 1]) == (r, k + 1)
    left = set(range(1, instance.nodes)) - set(visited(routes))
    assert all(team.where[stop - 1] == -1 for stop in left)


def test_functions_by_hand() -> None:
    """A stop of rate 2 at distance 3, open from 5 to 8, stays up to 4, a budget of 12.

    Forwards: service starts at 5 with nothing collected and leaves at 5 or later, 4 units of
    rate 2 being open. Backwards: one must leave by 9, so start by 8 (the window) with 1 unit
    of 2 sure, and up to 3 units of it for starting earlier.
    """
    instance = Instance(
        budget=12, xy=[[0, 0], [3, 0]], open=[0, 5], close=[0, 8], rate=[0, 2], max_stay=[0, 4]
    )
    team = make(instance, [[1]])
    assert front_at(team, 0, 1) == Front(1, 5, 0, np.inf, 1)
    assert team.fronts[offset(team, 0, 1)].tolist() == [2, 4]
    assert back_at(team, 0, 1) == Back(1, 8, 2, 1)
    assert team.backs[offset(team, 0, 1)].tolist() == [2, 3]
    assert team.profit[0] == 8


@given(case=cases(), seed=st.integers(0, 2**32))
def test_chain_equals_the_whole_route(case: tuple[Instance, Routes], seed: int) -> None:
    """Any beginning, some stops and any end earn together what the whole route does."""
    instance, routes = case
    random = np.random.default_rng(seed)
    team = make(instance, routes)
    left = list(set(range(1, instance.nodes)) - set(visited(routes)))
    for r, s in itertools.product(range(len(routes)), repeat=2):
        for i, j in itertools.product(range(len(routes[r]) + 1), range(len(routes[s]) + 1)):
            if r == s and j < i:
                continue
            some = random.permutation(left)[: random.integers(0, 4)].astype(np.int64)
            together = routes[r][:i] + some.tolist() + routes[s][j:]
            value = chain(whole(instance), team, r, i, some, len(some), s, j + 1)
            expected = profit_of(instance, together)
            assert close_to(value, expected), (routes, together)


@given(case=cases())
def test_best_insertion(case: tuple[Instance, Routes]) -> None:
    """The gain is the largest of all places, and that of the place named if there is one."""
    instance, routes = case
    network, team = whole(instance), make(instance, routes)
    state = random_state(0)
    for stop in set(range(1, instance.nodes)) - set(visited(routes)):
        gains = {
            (r, k): profit_of(instance, [*route[:k], stop, *route[k:]]) - profit_of(instance, route)
            for r, route in enumerate(routes)
            for k in range(len(route) + 1)
        }
        r, k, node, gain, _ = best_insertion(network, team, stop - 1, 0.0, state)
        most = max(gains.values())
        unit = 1e-8 * (1 + instance.full_profit[stop])
        if r < 0:
            assert most <= unit
        else:
            assert gain == pytest.approx(most, rel=1e-9, abs=unit)
            assert gain == pytest.approx(gains[r, k], rel=1e-9, abs=unit)
            assert node == stop
            assert (
                gain_limit(network, team, r, k, node)
                >= insertion_gain(network, team, r, k, node) - unit
            )


@given(case=cases(vehicles=1), seed=st.integers(0, 2**32))
def test_margin(case: tuple[Instance, Routes], seed: int) -> None:
    """If a way between two visits takes longer, a route loses the margin for each unit at least."""
    instance, (route,) = case
    random = np.random.default_rng(seed)
    team = make(instance, [route])
    places = [0, *route, instance.end]
    for k in range(len(route) + 1) if route else ():
        travel = instance.travel.copy()
        longer = float(random.choice([0.01, 0.1, 0.3])) * instance.budget
        travel[places[k], places[k + 1]] += longer
        slower = profit_of(instance.replace(travel=travel), route)
        unit = 1e-7 * (1 + instance.full_profit.sum())
        assert slower <= team.profit[0] - longer * team.margin[0, k] + unit


def test_margin_by_hand() -> None:
    """Two stops of rates 2 and 3, with stays of up to 4, and travel that takes 4.

    Of 10 units the last two stay where the rate is 2; of 6 all stay where it is 3; of 30 most are
    left over.
    """
    for budget, margin in ((10, 2.0), (6, 3.0), (30, 0.0)):
        line = Instance(
            budget=budget, xy=[[0, 0], [1, 0], [2, 0]], rate=[0, 2, 3], max_stay=[0, 4, 4]
        )
        team = make(line, [[1, 2]])
        assert team.margin[0, :3].tolist() == [margin] * 3


def test_margin_with_a_wait() -> None:
    """Who waits for a stop of rate 5 stays at one of rate 1 meanwhile: time before it is worth 1.

    A visit of half a unit on the way costs 0.1 of the stay at rate 1 and earns 0.3.
    """
    travel = [[0, 1, 1, 1], [1, 0, 1, 0.5], [1, 1, 0, 0.6], [1, 0.5, 0.6, 0]]
    instance = Instance(
        budget=13,
        travel=travel,
        open=[0, 0, 10, 0],
        close=[0, 100, 100, 100],
        reward=[0, 0, 0, 0.3],
        rate=[0, 1, 5, 0],
        max_stay=[0, 10, 10, 0],
    )
    team = make(instance, [[1, 2]])
    assert team.profit[0] == 18
    assert team.margin[0, :3].tolist() == [1, 1, 5]
    best = best_insertion(whole(instance), team, 2, 0.0, random_state(0))
    assert (best.route, best.gap, best.gain) == (0, 1, pytest.approx(0.2))


def test_gain_limit_by_hand() -> None:
    """At a margin of 2 a stop that takes 1 at least, and lies on the way, costs 2 and no more.

    It earns 5 and, beyond the margin, 1 for each of 2 units: 7 less 2.
    """
    line = Instance(
        budget=10,
        xy=[[0, 0], [1, 0], [2, 0], [1.5, 0]],
        reward=[0, 0, 0, 5],
        min_stay=[0, 0, 0, 1],
        pieces=[[], [[2, 4]], [[3, 4]], [[3, 2]]],
    )
    team = make(line, [[1, 2]])
    assert team.margin[0, 1] == 2
    assert gain_limit(whole(line), team, 0, 1, 3) == 5


def test_route_that_becomes_empty() -> None:
    """A vehicle that is not used need not reach the other depot, which is out of reach."""
    instance = Instance(
        budget=4,
        travel=[[0, 1, 9, 9], [9, 0, 1, 9], [9, 9, 0, 1], [9, 9, 9, 0]],
        separate_end=True,
        reward=[0, 1, 1],
        close=[0, 9, 9],
    )
    team = make(instance, [[1, 2], []])
    some = np.array([1, 2])
    network = whole(instance)
    assert chain(network, team, 1, 0, some, 0, 1, 1) == 0
    assert chain(network, team, 0, 0, some, 0, 0, 3) == 0
    assert chain(network, team, 1, 0, some, 2, 1, 1) == 2


def test_place_that_puts_off_least() -> None:
    """With a fixed reward all places gain the same; the one on the way is taken."""
    line = Instance(budget=20, xy=[[0, 0], [2, 0], [4, 0], [3, 0]], reward=[0, 1, 1, 1])
    team = make(line, [[1, 2]])
    assert best_insertion(whole(line), team, 2, 0.0, random_state(0)) == (0, 1, 3, 1, 0)


def test_places_are_overlooked() -> None:
    """With a blink of 1 there is no place at all, with one half there is half the time."""
    line = Instance(budget=20, xy=[[0, 0], [2, 0]], reward=[0, 1])
    network, team = whole(line), make(line, [[]])
    state = random_state(3)

    def found(blink: float) -> bool:
        return best_insertion(network, team, 0, blink, state).route == 0

    assert not any(found(1.0) for _ in range(100))
    assert 420 < sum(found(0.5) for _ in range(1000)) < 580


@given(case=cases(vehicles=1), seed=st.integers(0, 2**32))
def test_splice(case: tuple[Instance, Routes], seed: int) -> None:
    """A part of a route gives way to other stops, and the functions are those of the new one."""
    instance, (route,) = case
    random = np.random.default_rng(seed)
    team = make(instance, [route])
    i, j = np.sort(random.integers(0, len(route) + 1, 2)).tolist()
    left = list(set(range(1, instance.nodes)) - set(route))
    some = random.permutation(left + route[i:j])[: random.integers(0, 4)].astype(np.int64)
    together = route[:i] + some.tolist() + route[j:]
    assert splice(whole(instance), team, 0, i, j + 1, some, len(some))
    assert routes_of(team) == [together]
    assert close_to(team.profit[0], profit_of(instance, together))


@given(case=cases(vehicles=1))
def test_detour(case: tuple[Instance, Routes]) -> None:
    """The travel of a route is that between its depots by way of all its stops."""
    instance, (route,) = case
    team = make(instance, [route])
    way = [0, *route, instance.end]
    travel = sum(instance.travel[a, b] for a, b in itertools.pairwise(way)) if route else 0.0
    some = np.array(route, dtype=np.int64)
    size = len(route)
    found = detour(whole(instance), team, 0, 0, some, size, 0, size + 1)
    assert found == pytest.approx(travel)


def neighbours(instance: Instance, routes: Routes) -> Iterator[Routes]:
    """List the plans that one move leads to, written down without thought of speed."""
    left = set(range(1, instance.nodes)) - set(visited(routes))
    for r, route in enumerate(routes):
        size = len(route)
        others = [*routes[:r], *routes[r + 1 :]]
        for k in range(size + 1):
            for stop in left:
                yield [*others, [*route[:k], stop, *route[k:]]]  # insert
        for k in range(size):
            rest = route[:k] + route[k + 1 :]
            yield [*others, rest]  # remove
            for stop in left:
                yield [*others, [*route[:k], stop, *route[k + 1 :]]]  # replace
        for a, b in itertools.combinations(range(size), 2):
            swapped = list(route)
            swapped[a], swapped[b] = swapped[b], swapped[a]
            yield [*others, swapped]
            yield [*others, route[:a] + route[a : b + 1][::-1] + route[b + 1 :]]  # 2-opt
        for length in range(1, LONGEST_SEGMENT + 1):
            for a in range(size - length + 1):
                part, rest = route[a : a + length], route[:a] + route[a + length :]
                for k in range(len(rest) + 1):
                    yield [*others, rest[:k] + part + rest[k:]]  # relocate, or-opt
        for s in range(r + 1, len(routes)):
            rest_of_all = [routes[t] for t in range(len(routes)) if t not in (r, s)]
            other = routes[s]
            for a, b in itertools.product(range(size + 1), range(len(other) + 1)):
                yield [*rest_of_all, route[:a] + other[b:], other[:b] + route[a:]]
                for m, n in itertools.product(range(LONGEST_SEGMENT + 1), repeat=2):
                    if a + m <= size and b + n <= len(other):
                        yield [
                            *rest_of_all,
                            route[:a] + other[b : b + n] + route[a + m :],
                            other[:b] + route[a : a + m] + other[b + n :],
                        ]


@given(case=cases(stops=5))
def test_descent_leaves_no_better_move(case: tuple[Instance, Routes]) -> None:
    """It never loses, says what it earns, and no plan that one move leads to earns more."""
    instance, routes = case
    team = make(instance, routes)
    network = whole(instance)
    assert descend(network, team, make_desk(network, team), random_state(0), GO)
    after = routes_of(team)
    stops = visited(after)
    assert len(set(stops)) == len(stops)
    profit = profit_of(instance, *after)
    assert close_to(team.profit.sum(), profit)
    unit = 1e-7 * (1 + instance.full_profit.sum())
    assert profit >= profit_of(instance, *routes) - unit
    for plan in neighbours(instance, after):
        assert profit_of(instance, *plan) <= profit + unit, (after, plan)


def test_equal_profit_with_less_travel() -> None:
    """Fixed rewards earn the same in any order; the descent takes the short way."""
    xy = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    line = Instance(budget=30, xy=xy, reward=[0, 1, 1, 1, 1])
    team = make(line, [[2, 4, 1, 3]])
    network = whole(line)
    assert descend(network, team, make_desk(network, team), random_state(0), GO)
    (route,) = routes_of(team)
    assert sorted(route) == [1, 2, 3, 4]
    assert sum(line.travel[a, b] for a, b in itertools.pairwise([0, *route, 0])) == 8


def test_halt() -> None:
    """Once the flag is set, the descent ends."""
    xy = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    line = Instance(budget=30, xy=xy, reward=[0, 1, 1, 1, 1])
    team = make(line, [[2, 4, 1, 3]])
    halt = np.ones(1, dtype=np.uint8)
    network = whole(line)
    assert descend(network, team, make_desk(network, team), random_state(0), halt)
    assert routes_of(team) == [[2, 4, 1, 3]]


def test_no_room() -> None:
    """A route longer than there is room for, or with more pieces, is refused."""
    line = Instance(
        budget=30,
        xy=[[0, 0], [1, 0], [2, 0], [3, 0]],
        rate=[0, 3, 2, 1],
        max_stay=[0, 4, 4, 4],
    )
    team = make(line, [[1, 2]], stops=2)
    network = whole(line)
    assert not splice(network, team, 0, 2, 3, np.array([3]), 1)
    few = make_team(network, np.zeros(1, dtype=np.int64), 3, 2)
    few.size[0] = 3
    few.nodes[0] = [0, 1, 2, 3, network.end]
    assert not refresh(network, few, 0, 1)
