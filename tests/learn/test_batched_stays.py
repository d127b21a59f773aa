"""Tests of stays in batches: equal to the compiled kernel route by route, and to sums by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decost import Instance, check, generate, make_solution, optimal_stays, profit_of
from decost.learn.batched_stays import Batch, batched_stays, pad_instances
from strategies import Planned, planned

Routes = list[list[int]]


def random_route(instance: Instance, random: np.random.Generator) -> list[int]:
    """Go on to one of the next few stops that still can be served, until none can or by chance."""
    route: list[int] = []
    place, clock = 0, 0.0
    while random.random() < 0.95:
        start = np.maximum(clock + instance.travel[place, : instance.nodes], instance.open)
        leave = start + instance.min_stay
        home = leave + instance.travel[: instance.nodes, instance.end]
        good = (start <= instance.close) & (leave <= instance.leave_by) & (home <= instance.budget)
        good[[0, *route]] = False
        if not good.any():
            break
        near = sorted(np.flatnonzero(good), key=lambda stop: leave[stop])
        place = int(near[min(int(random.integers(4)), len(near) - 1)])
        clock = float(leave[place])
        route.append(place)
    return route


def end_elsewhere(instance: Instance, random: np.random.Generator) -> Instance:
    """Add an end depot, with ways to it that are unlike all others, and a way around the depot."""
    travel = np.pad(instance.travel, (0, 1))
    travel[:, -1] = random.uniform(0, 0.3, len(travel)) * instance.budget
    travel[0, 0] = instance.budget
    return instance.replace(travel=travel, xy=None, separate_end=True)


def sample(
    family: str, random: np.random.Generator, samples: int = 8
) -> tuple[list[Instance], list[Routes]]:
    """Draw instances of several sizes and feasible routes of them."""
    paper = {"window": 500, "budget": 12} if family == "paper" else {}
    instances = [
        instance
        for nodes in (12, 25, 40)
        for instance in generate(family.split(",")[0], nodes=nodes, count=8, seed=nodes, **paper)
    ]
    if family == "mixed, separate end":
        instances = [end_elsewhere(instance, random) for instance in instances]
    return instances, [
        [random_route(instance, random) for _ in range(samples)] for instance in instances
    ]


def stack(lists: Sequence[Routes], extra: int = 0) -> torch.Tensor:
    """Pad the routes with zeros to the longest, and a few more."""
    length = extra + max(len(route) for routes in lists for route in routes)
    return torch.tensor([[r + [0] * (length - len(r)) for r in routes] for routes in lists])


def one(instance: Instance, *routes: list[int]) -> tuple[list[float], list[list[float]]]:
    """Profits and stays of some routes of one instance."""
    profit, stays = batched_stays(pad_instances([instance], dtype=torch.float64), stack([routes]))
    return profit[0].tolist(), stays[0].tolist()


@pytest.mark.parametrize("family", ["paper", "mixed", "mixed, separate end"])
def test_equals_the_kernel(family: str) -> None:
    """In both precisions, with all that an instance can have; the stays too."""
    instances, lists = sample(family, np.random.default_rng(5))
    routes = stack(lists)
    assert routes.shape[2] > 8
    profit, stays = batched_stays(pad_instances(instances, dtype=torch.float64), routes)
    rough, rough_stays = batched_stays(pad_instances(instances), routes)
    assert rough.dtype == torch.float32
    assert (rough_stays >= 0).all()
    for row, instance in enumerate(instances):
        expected = optimal_stays(instance, lists[row])
        assert expected.feasible
        assert profit[row].numpy() == pytest.approx(expected.profit, rel=1e-9, abs=1e-9)
        assert rough[row].numpy() == pytest.approx(expected.profit, rel=1e-4, abs=1e-4)
        for column, route in enumerate(lists[row]):
            found = stays[row, column].numpy()
            assert found[: len(route)] == pytest.approx(expected.stays[column], abs=1e-9)
            assert not found[len(route) :].any()


def test_what_the_instances_have() -> None:
    """The comparison above meets every feature it speaks of, on the routes themselves."""
    instances, lists = sample("mixed", np.random.default_rng(5))
    on_route = [
        (instance, stop)
        for instance, routes in zip(instances, lists, strict=True)
        for route in routes
        for stop in route
    ]
    assert any(instance.leave_by[stop] < np.inf for instance, stop in on_route)
    assert any(instance.min_stay[stop] > 0 for instance, stop in on_route)
    assert any(instance.reward[stop] > 0 for instance, stop in on_route)
    assert max(len(instance.pieces[stop]) for instance, stop in on_route) == 3
    assert any(not np.allclose(i.travel, i.travel.T) for i in instances)


@given(planned(6), st.data())
def test_equals_the_kernel_around_a_plan(plan: Planned, data: st.DataObject) -> None:
    """With equal rates and deadlines met to the minute; most other orders are not feasible."""
    first = list(plan.solution.routes[0].stops)
    routes = [first, data.draw(st.permutations(first)), first[1:]]
    profit, stays = one(plan.instance, *routes)
    expected = optimal_stays(plan.instance, routes)
    assert profit == expected.profit.tolist()
    assert profit[0] > -np.inf
    for column, route in enumerate(routes):
        if expected.broken[column] < 0:
            assert stays[column][: len(route)] == expected.stays[column].tolist()


@pytest.mark.parametrize("family", ["paper", "mixed", "mixed, separate end"])
def test_stays_earn_the_profit(family: str) -> None:
    """A plan made of the stays passes the checker and earns what was said."""
    instances, lists = sample(family, np.random.default_rng(6), samples=3)
    profit, stays = batched_stays(pad_instances(instances, dtype=torch.float64), stack(lists))
    for row, instance in enumerate(instances):
        for column, route in enumerate(lists[row]):
            plan = make_solution(instance, [route], [stays[row, column, : len(route)].numpy()])
            assert check(instance, plan) == []
            assert profit_of(instance, plan) == pytest.approx(float(profit[row, column]), abs=1e-9)


def on_a_line(**changes: object) -> Instance:
    """Put stops 1, 2 and 3 at a distance of 1 from each other; the way back takes no time."""
    travel = np.ones((4, 4))
    travel[:, 0] = 0.0
    given = {"budget": 10, "travel": travel, "rate": [0, 3, 1, 2], "max_stay": [0, 4, 9, 9]}
    return Instance(**(given | changes))  # type: ignore[arg-type]


def test_by_hand() -> None:
    """Stop 3 opens at 6 and must be left at 9, stop 2 earns 5 and takes no time.

    4 units at stop 1 fill the wait and one more, so that 2 are left at 3; without the way around
    by stop 2 they fill the wait alone, and 3 are left. No stop earns nothing.
    """
    instance = on_a_line(open=[0, 0, 0, 6], leave_by=[0, 9, 9, 9], reward=[0, 0, 5, 0])
    profit, stays = one(instance, [1, 2, 3], [1, 3], [1], [])
    assert stays == [[4, 0, 2], [4, 3, 0], [4, 0, 0], [0, 0, 0]]
    assert profit == [12 + 5 + 4, 12 + 6, 12, 0]


def test_best_rate_first() -> None:
    """3 units of travel leave 7 to stay: 4 at rate 3, the other 3 at rate 2, none at rate 1."""
    assert one(on_a_line(), [1, 2, 3]) == ([18], [[4, 0, 3]])


def test_waiting_is_used_to_stay() -> None:
    """Stop 3 opens at 8: 4 + 1 of the 5 units before it can be spent at 1 and 2, and 2 at 3."""
    assert one(on_a_line(open=[0, 0, 0, 8]), [1, 2, 3]) == ([17], [[4, 1, 2]])


def test_window_further_on_limits_the_stay() -> None:
    """Stop 2 closes at 3, so 1 unit can be spent at stop 1, and the rest at 3."""
    assert one(on_a_line(close=[0, 9, 3, 9]), [1, 2, 3]) == ([15], [[1, 0, 6]])


def test_leave_by_limits_the_stay_and_the_start() -> None:
    """Stop 1 must be left at 3; stop 3 with a minimum of 2 at 6, so it starts at 4."""
    instance = on_a_line(leave_by=[0, 3, np.inf, 6], min_stay=[0, 0, 0, 2])
    assert one(instance, [1, 2, 3]) == ([3], [[1, 0, 2]])


def test_pieces_of_one_stop_are_used_in_turn() -> None:
    """3 + 1 + 3 units: the first piece of 1, all of 2, and of 1 again what is left."""
    pieces = [[], [[5, 3], [1, 9]], [[2, 1]], []]
    instance = on_a_line(rate=None, max_stay=None, pieces=pieces)
    assert one(instance, [1, 2, 3]) == ([20], [[6, 1, 0]])


def test_stay_that_earns_nothing() -> None:
    """A piece of rate 0 is left out, though there is time for it."""
    assert one(on_a_line(rate=[0, 0, 1, 0]), [1, 2]) == ([8], [[0, 8]])


def test_first_of_equal_rates() -> None:
    """Of stops with the same rate the one that comes first on the route is extended first."""
    instance = on_a_line(rate=[0, 2, 2, 2], max_stay=[0, 5, 5, 5])
    assert one(instance, [1, 2, 3], [3, 2, 1]) == ([14, 14], [[5, 2, 0], [5, 2, 0]])


def test_separate_end() -> None:
    """The way home is the way to the end depot; an empty route does not take it."""
    travel = [[7, 1, 50], [9, 0, 2], [9, 9, 0]]
    instance = Instance(budget=5, travel=travel, separate_end=True, rate=[0, 2], max_stay=[0, 9])
    assert one(instance, [1], []) == ([4, 0], [[2], [0]])


def test_no_variable_profit() -> None:
    """Instances without any piece are fine: rewards alone."""
    instance = on_a_line(rate=None, max_stay=None, reward=[0, 2, 3, 4], min_stay=[0, 1, 1, 1])
    assert one(instance, [1, 3], []) == ([6, 0], [[1, 1], [0, 0]])


def test_late_routes() -> None:
    """A missed window, a missed leave_by, or a late return: minus infinity for these alone."""
    routes = [[1, 2, 3], [3, 2, 1], [2, 1, 3], [1], []]
    late = -np.inf
    assert one(on_a_line(close=[0, 9, 9, 2]), *routes)[0][::2] == [late, late, 0]
    assert one(on_a_line(leave_by=[0, 9, 1.5, 9]), *routes)[0][:2] == [late, late]
    assert one(on_a_line(budget=2.5), *routes)[0] == [late, late, late, 4.5, 0]
    closed = on_a_line(open=[0, 0, 0, 5], leave_by=[0, 9, 9, 5.5], min_stay=[0, 0, 0, 1])
    assert one(closed, [3], [1])[0] == [late, 12]


def test_rounding_makes_no_route_late() -> None:
    """A stop that closes at the very time of arrival can be served, in single precision too."""
    nodes = 30
    travel = np.full((nodes, nodes), 0.1)
    arrive = np.array([sum([0.1] * k) for k in range(nodes)])
    instance = Instance(budget=3, travel=travel, open=arrive, close=arrive, reward=[1] * nodes)
    routes = torch.arange(1, nodes)[None, None]
    for dtype in (torch.float32, torch.float64):
        profit, _ = batched_stays(pad_instances([instance], dtype=dtype), routes)
        assert profit.tolist() == [[29]]


def test_padding_changes_nothing() -> None:
    """Longer routes, larger neighbours and more pieces leave every stay as it was."""
    small = generate("paper", nodes=15, window=500, count=4, seed=1, budget=8)
    large = generate("mixed", nodes=30, count=4, seed=1)
    random = np.random.default_rng(3)
    lists = [[random_route(instance, random) for _ in range(5)] for instance in small + large]
    profit, stays = batched_stays(pad_instances(small + large), stack(lists, extra=7))
    for row, instance in enumerate(small + large):
        routes = stack(lists[row : row + 1])
        alone, alone_stays = batched_stays(pad_instances([instance]), routes)
        assert profit[row].numpy() == pytest.approx(alone[0].numpy(), rel=1e-6)  # order of a sum
        assert torch.equal(alone_stays[0], stays[row, :, : routes.shape[2]])
        assert not stays[row, :, routes.shape[2] :].any()


def test_padded_nodes() -> None:
    """They are told apart from the others, and no route through one is feasible."""
    instances = [on_a_line(), Instance(budget=4, xy=[[0, 0], [1, 0]], reward=[0, 1])]
    batch = pad_instances(instances)
    assert batch.real.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.budget.tolist() == [10, 4]
    profit, stays = batched_stays(batch, torch.tensor([[[1, 0], [2, 0]], [[1, 2], [2, 0]]]))
    assert profit.tolist() == [[12, 9], [-np.inf, -np.inf]]
    assert stays.isfinite().all()


@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 0, 4), (0, 3, 4)])
def test_nothing_to_do(shape: tuple[int, int, int]) -> None:
    """No positions, no routes, or no instances."""
    batch = pad_instances([on_a_line()] * shape[0])
    profit, stays = batched_stays(batch, torch.zeros(shape, dtype=torch.long))
    assert profit.shape == shape[:2]
    assert stays.shape == shape
    assert not profit.any()


def test_any_device() -> None:
    """Everything happens where the batch is; the device without memory has shapes alone."""
    batch = pad_instances(generate("mixed", nodes=9, count=2), device="meta")
    routes = torch.zeros(2, 3, 4, dtype=torch.long, device="meta")
    profit, stays = batched_stays(batch, routes)
    assert profit.device == stays.device == routes.device
    assert stays.shape == routes.shape


def test_no_gradient() -> None:
    """Nothing is recorded, even for a batch whose tensors ask for it, and they stay as they are."""
    batch = pad_instances([on_a_line()])
    fields = {name: value.clone().requires_grad_() for name, value in vars(batch).items()}
    profit, stays = batched_stays(Batch(**fields), torch.tensor([[[1, 2, 3]]]))
    assert not profit.requires_grad
    assert not stays.requires_grad
    assert all(torch.equal(fields[name], value) for name, value in vars(batch).items())
