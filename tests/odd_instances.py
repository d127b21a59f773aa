"""Small random instances with everything that is awkward about the problem."""

from __future__ import annotations

import itertools

import numpy as np

from decost import Instance, optimal_stays


def odd_instance(random: np.random.Generator, stops: int) -> Instance:
    """Draw an instance: any scale, coincident stops, windows of length 0, short cuts, ties.

    Two in five have all times on a grid, so that waits, stays and deadlines match exactly.
    """
    step = 0.05 if random.random() < 0.4 else 0.0
    budget = float(random.choice([1.0, 5.0, 100.0]))
    nodes = stops + 1
    separate_end = bool(random.random() < 0.2)
    places = nodes + separate_end
    xy = random.random((places, 2)) * budget / random.choice([1, 2, 4])
    if random.random() < 0.3:
        xy = np.round(xy / budget * 3) * budget / 6
    opens = random.uniform(-0.3 * budget, budget, nodes)
    closes = opens + random.random(nodes) * budget * random.choice([0, 0.1, 0.5, 1])
    if random.random() < 0.2:
        opens, closes = np.zeros(nodes), np.full(nodes, np.inf)
    deadline = np.minimum(closes, budget) + random.uniform(-0.1, 0.2, nodes) * budget
    fixed = random.random() < 0.2
    pieces = []
    for _ in range(nodes):
        number = 0 if fixed else int(random.integers(0, 4))
        rates = np.sort(random.choice([0, 1, 2, 3, 5.5], number))[::-1]
        pieces.append(np.column_stack((rates, random.uniform(0, 0.2, number) * budget)))
    travel = None
    if random.random() < 0.5:
        x, y = xy.T
        travel = np.hypot(x[:, None] - x, y[:, None] - y)
        travel *= random.uniform(0.2, 1.5, (places, places))
        if random.random() < 0.5:
            travel = np.round(random.random((places, places)) * 3) * budget / 10
    min_stay = np.where(random.random(nodes) < 0.4, random.random(nodes) * 0.1 * budget, 0)
    if step:
        unit = step * budget
        x, y = xy.T
        near = np.hypot(x[:, None] - x, y[:, None] - y)
        travel = np.round((near if travel is None else travel) / unit) * unit
        opens, closes, deadline, min_stay = (
            np.round(times / unit) * unit for times in (opens, closes, deadline, min_stay)
        )
        pieces = [np.column_stack((p[:, 0], np.ceil(p[:, 1] / unit) * unit)) for p in pieces]
    return Instance(
        budget=budget,
        xy=xy,
        travel=travel,
        separate_end=separate_end,
        open=opens,
        close=closes,
        leave_by=np.where(random.random(nodes) < 0.3, deadline, np.inf),
        reward=np.where(random.random(nodes) < 0.5, random.integers(0, 10, nodes), 0),
        min_stay=min_stay,
        pieces=pieces,
    )


def all_routes(instance: Instance, start: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """List every route that begins with the given one."""
    rest = [stop for stop in range(1, instance.nodes) if stop not in start]
    return [
        start + more for size in range(len(rest) + 1) for more in itertools.permutations(rest, size)
    ]


def brute_force(instance: Instance) -> float:
    """Most profit of any plan: all orders of all subsets, and all ways to share the stops out."""
    routes = all_routes(instance)
    alone: dict[frozenset[int], float] = {}
    for route, profit in zip(routes, optimal_stays(instance, routes).profit, strict=True):
        served = frozenset(route)
        alone[served] = max(alone.get(served, -np.inf), float(profit))
    team = alone
    for _ in range(instance.vehicles - 1):
        more = dict(team)
        for (mine, first), (yours, second) in itertools.product(team.items(), alone.items()):
            if not mine & yours:
                more[mine | yours] = max(more.get(mine | yours, 0.0), first + second)
        team = more
    return max(team.values())


def brute_force_team(instance: Instance) -> float:
    """Most profit of any plan for a team: all ways to share out the stops, by sets of them."""
    sets = 1 << instance.stops
    alone = np.full(sets, -np.inf)
    routes = all_routes(instance)
    for route, profit in zip(routes, optimal_stays(instance, routes).profit, strict=True):
        members = sum(1 << (stop - 1) for stop in route)
        alone[members] = max(alone[members], profit)
    best = alone.copy()
    for _ in range(instance.vehicles - 1):
        before = best.copy()
        for members in range(sets):
            part = members
            while part:
                best[members] = max(best[members], alone[part] + before[members ^ part])
                part = (part - 1) & members
    return float(best.max())
