"""Tests of the search on routes of which only the length matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import decost
from decost import Alternative, Instance, Place, Stop, Vehicle, check
from decost.draws import random_state
from decost.search.long_routes import (
    anneal_locally,
    cut,
    cut_part,
    excursion,
    keep,
    make_jotter,
    recreate_near,
    ruin_near,
    set_limits,
    start_from,
    take_back,
)
from decost.search.moves import mean_profit
from decost.search.ruin import BEST, END, make_hints, make_memory
from decost.search.tours import Tours, enqueue, make_tours, measure, shorten
from decost.timeline.lengths import has_fixed_lengths, lengths_of
from decost.timeline.network import useful_network
from oracle import brute_force
from seeds import seeds

GO = np.zeros(1, dtype=np.uint8)


def orienteering(seed: int, stops: int = 6, **others: Any) -> Instance:
    """Draw an orienteering problem; some budgets are too short for any stop."""
    random = np.random.default_rng(seed)
    given: dict[str, Any] = {
        "budget": random.uniform(0.5, 3.5),
        "xy": random.random((stops + 1, 2)),
        "reward": random.integers(0, 20, stops + 1),
        "min_stay": random.choice([0.0, 0.1], stops + 1),
    }
    return Instance(**given | others)


def variants(seed: int) -> dict[str, Instance]:
    """Give tiny problems of all kinds that have nothing but lengths."""
    random = np.random.default_rng(seed)
    plain = orienteering(seed)
    places = [Place(x=x, y=y) for x, y in random.random((8, 2))]
    stops = [
        Stop(
            x=one.x,
            y=one.y,
            reward=float(random.integers(1, 20)),
            required=k == 1,
            alternatives=(
                Alternative(),
                Alternative(x=random.random(), y=random.random(), vehicles=("b",)),
            )
            if k < 2
            else (),
        )
        for k, one in enumerate(places[1:6])
    ]
    return {
        "one": plain,
        "end": orienteering(seed, xy=random.random((8, 2)), separate_end=True),
        "asymmetric": plain.replace(travel=random.uniform(0.1, 1.0, (7, 7))),
        "team": plain.replace(vehicles=2, budget=1.5),
        "required": plain.replace(required=random.random(7) < 0.4),
        "own": Instance.build(
            depot=places[0],
            budget=2.0,
            stops=stops,
            vehicles=[Vehicle("a"), Vehicle("b", start=places[6], begin=0.2, speed=1.5)],
        ),
    }


@pytest.mark.parametrize("kind", list(variants(0)))
@pytest.mark.parametrize("seed", seeds(2))
def test_all_plans_there_are(kind: str, seed: int) -> None:
    """Plans keep all rules, and are as good as the best of all plans, which is never surpassed."""
    instance = variants(seed)[kind]
    assert has_fixed_lengths(useful_network(instance, tight=False))
    result = decost.solve(instance, "search", iterations=3000, seed=seed)
    assert [one for one in check(instance, result.solution) if one.rule != "required"] == []
    required, profit = brute_force(instance)
    assert result.profit == pytest.approx(profit)
    visited = {visit.stop for route in result.solution.routes for visit in route.visits}
    assert len(visited.intersection(np.flatnonzero(instance.required))) == required


@pytest.mark.parametrize("seed", seeds(2))
def test_order_of_stops_does_not_matter(seed: int) -> None:
    """The same stops in another order earn as much."""
    instance = orienteering(seed, stops=7, budget=2.0)
    assert instance.xy is not None
    order = np.append(0, 1 + np.random.default_rng(seed).permutation(7))
    other = Instance(
        budget=instance.budget,
        xy=instance.xy[order],
        reward=instance.reward[order],
        min_stay=instance.min_stay[order],
    )
    one, two = (decost.solve(each, "search", iterations=3000) for each in (instance, other))
    assert one.profit == pytest.approx(two.profit)


def test_what_matters_beside_lengths() -> None:
    """A window, a deadline, or a stay that can be longer: then lengths do not decide alone."""
    instance = orienteering(1, budget=3.0)

    def fixed(**changes: Any) -> bool:
        return has_fixed_lengths(useful_network(instance.replace(**changes), tight=False))

    assert fixed()
    assert fixed(open=np.full(7, 0.0), close=np.full(7, 3.0))
    assert not fixed(open=np.full(7, 0.1))
    assert not fixed(close=np.full(7, 1.0))
    assert not fixed(leave_by=np.full(7, 2.0))
    assert not fixed(rate=np.ones(7), max_stay=np.ones(7))
    assert fixed(begin=0.5, budget=3.0)


class Long:
    """The state of a search on a network, to call its kernels one by one."""

    def __init__(self, instance: Instance) -> None:
        self.network = useful_network(instance, tight=False)
        self.lengths = lengths_of(self.network)
        self.hints = make_hints(self.network, np.zeros(len(self.network.number)))
        self.tours: Tours = make_tours(self.network, instance.arrays.vehicle_type)
        unit = mean_profit(self.network)
        self.jotter = make_jotter(self.network, self.tours, self.hints, unit)
        self.memory = make_memory(self.tours.nodes, self.tours.size)
        set_limits(self.lengths, self.tours, 0.0)
        for r in range(len(self.tours.size)):
            measure(self.network, self.lengths, self.tours, r)

    def put(self, route: list[int]) -> None:
        """Let the first vehicle visit stops, by the instance's numbers, with one alternative."""
        nodes = [1 + np.flatnonzero(self.network.number == stop)[0] for stop in route]
        self.memory.size[0] = len(nodes)
        start, end = self.network.start, self.network.end
        self.memory.nodes[0, : len(nodes) + 2] = [start, *nodes, end]
        start_from(self.network, self.lengths, self.tours, self.memory.nodes, self.memory.size)

    def require_sums(self) -> None:
        """Compare lengths, profits and positions with those added up anew."""
        tours = self.tours
        spent, profit = tours.spent.copy(), tours.profit.copy()
        where, spot = tours.where.copy(), tours.spot.copy()
        tours.where[:] = -1
        for r in range(len(tours.size)):
            measure(self.network, self.lengths, tours, r)
        assert tours.spent == pytest.approx(spent)
        assert tours.profit == pytest.approx(profit)
        assert where.tolist() == tours.where.tolist()
        assert spot[where >= 0].tolist() == tours.spot[where >= 0].tolist()


@pytest.mark.parametrize("vehicles", [1, 3])
@pytest.mark.parametrize("symmetric", [True, False])
def test_sums_stay_right(vehicles: int, symmetric: bool) -> None:
    """After every step of many rounds all sums are what adding up anew gives."""
    budget = 4.0 if vehicles == 1 else 1.5  # some stops are left out
    instance = orienteering(3, stops=60, budget=budget, vehicles=vehicles)
    if not symmetric:
        noise = np.random.default_rng(1).uniform(1.0, 1.3, instance.travel.shape)
        instance = instance.replace(travel=instance.travel * noise)
    one = Long(instance)
    state = random_state(5)
    excursions = 0
    for k in range(60):
        size = one.tours.size.copy()
        nodes = one.tours.nodes.copy()
        keep(one.tours, one.jotter, one.memory.nodes, one.memory.size)
        everything = one.network, one.lengths, one.tours
        seed = k % len(one.tours.where)
        count = ruin_near(*everything, one.hints.near, one.jotter, seed, state)
        one.require_sums()
        ruined = one.tours.spent.copy()  # longer than before where detours are shortcuts
        recreate_near(*everything, one.hints, one.jotter, seed, count, 0.5, state)
        one.require_sums()
        shorten(*everything, one.hints.near, 1e-9, GO)
        one.require_sums()
        assert (one.tours.spent <= np.maximum(one.tours.limit, ruined) + 1e-9).all()
        if k % 5 == 0:
            before = one.tours.nodes.copy()
            excursion(*everything, one.hints, one.jotter, 0.5, state, GO)
            one.require_sums()
            if (one.tours.nodes != before).any():
                excursions += 1
                assert (one.tours.spent <= one.lengths.room[one.tours.kind] + 1e-9).all()
            assert not one.jotter.marked.any()
        if k % 3 == 0:
            take_back(one.network, one.tours, one.jotter, one.memory.nodes, one.memory.size)
            one.require_sums()
            assert one.tours.size.tolist() == size.tolist()
            for r, length in enumerate(size):
                part = slice(0, length + 2)
                assert one.tours.nodes[r, part].tolist() == nodes[r, part].tolist()
    assert one.tours.size.sum() > 10
    assert excursions > 2


def test_shortening_uncrosses_a_route() -> None:
    """A square that is crossed takes 2 + 2 * 2 ** 0.5, and one that is not takes 4."""
    square = [[0, 0], [0, 1], [1, 1], [1, 0]]
    one = Long(Instance(budget=9, xy=square, reward=[0, 1, 1, 1]))
    one.put([2, 1, 3])
    assert one.tours.spent[0] == pytest.approx(2 + 2 * 2**0.5)
    for node in one.tours.nodes[0, 1:4]:
        enqueue(one.network, one.tours, node)
    shorten(one.network, one.lengths, one.tours, one.hints.near, 1e-9, GO)
    assert one.tours.spent[0] == pytest.approx(4)
    one.require_sums()


def test_another_cluster_is_worth_the_way() -> None:
    """Two clusters lie in opposite directions, and there is only time for one of them.

    The nearer one is visited first, where 40 stops earn 2 each; in the other one they earn 2.2.
    """
    steps = 1e-4 * np.arange(40)
    near = np.column_stack([-1.0 - steps, np.zeros(40)])
    far = np.column_stack([1.2 + steps, np.zeros(40)])
    reward = [0.0] + [2.0] * 40 + [2.2] * 40
    instance = Instance(budget=2.5, xy=np.vstack([[[0, 0]], near, far]), reward=reward)
    assert decost.solve(instance, "search", iterations=0).profit == pytest.approx(80)
    assert decost.solve(instance, "search", iterations=2000).profit == pytest.approx(88)


def test_cutting_a_part_spares_what_is_marked() -> None:
    """On two legs of a cross, the one that earns less for its way is left out, unless marked."""
    xy = [[0.0, 0.0], [0.0, 2.0], [0.1, 2.0], [-2.0, 0.0], [-2.0, 0.1]]
    for marked, left in (([], [1, 2]), ([3], [3, 4])):
        one = Long(Instance(budget=20, xy=xy, reward=[0, 3, 3, 2, 2]))
        one.put([1, 2, 3, 4])
        one.tours.limit[0] = 5.0
        number = one.network.number.tolist()
        for stop in marked:
            one.jotter.marked[number.index(stop)] = 1
        while one.tours.spent[0] > one.tours.limit[0]:
            assert cut_part(one.network, one.lengths, one.tours, one.jotter, 0)
        one.require_sums()
        nodes = one.tours.nodes[0, 1 : one.tours.size[0] + 1]
        assert one.network.number[one.network.stop[nodes]].tolist() == left


def test_cutting_leaves_out_what_earns_least() -> None:
    """On a line, the last stop of three earns least for its way, and the time without it is 4."""
    one = Long(Instance(budget=6, xy=[[0, 0], [1, 0], [2, 0], [3, 0]], reward=[0, 5, 5, 1]))
    one.put([1, 2, 3])
    one.tours.limit[0] = 5.0
    cut(one.network, one.lengths, one.tours)
    assert (one.tours.size[0], one.tours.spent[0], one.tours.profit[0]) == (2, 4, 10)
    one.require_sums()


def test_rounds_go_on_where_they_ended() -> None:
    """A search in parts never loses its best plan, and the price of time is kept between them."""
    instance = orienteering(4, stops=40, budget=3.0)
    one = Long(instance)
    one.memory.figures[END] = 400
    state = random_state(0)
    best = -1.0
    for _ in range(4):
        done = anneal_locally(
            *(one.network, one.lengths, one.tours, one.hints, one.memory, one.jotter),
            *(state, 100, GO),
        )
        assert done == 100
        assert one.memory.figures[BEST] >= best
        best = float(one.memory.figures[BEST])
    size = one.memory.best_size[0]
    nodes = one.memory.best_nodes[0, 1 : size + 1]
    assert one.lengths.reward[nodes].sum() == pytest.approx(best)


def test_same_seed_same_rounds() -> None:
    """The rounds are the same for a seed, also side by side with others, and not for another."""
    instance = orienteering(2, stops=80, budget=4.0)
    first, second = (decost.solve(instance, "search", iterations=300, seed=1) for _ in range(2))
    assert first.solution == second.solution
    assert first.details == second.details
    others = [decost.solve(instance, "search", iterations=300, seed=seed) for seed in range(2, 5)]
    assert any(other.details != first.details for other in others)
