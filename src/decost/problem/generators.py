"""Random instances: seeded families, the paper's first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from decost.problem.instance import MAX_STOPS, FloatArray, Instance, whole_number

Family: TypeAlias = Callable[[int, float, int, int, float | None], list[Instance]]


def generate(
    family: str,
    *,
    nodes: int = 50,
    window: float = 100,
    count: int = 1,
    seed: int = 0,
    budget: float | None = None,
    vehicles: int = 1,
) -> list[Instance]:
    """Generate random instances; the same arguments always give the same instances.

    Parameters
    ----------
    family
        "paper": the paper's instances, bit for bit its published test set for seed 2025 and
        count 10,000 (nodes 50, window 100). All instances of a call are drawn together, so
        another count gives other instances.
        "mixed": clustered stops, wide windows, short stays, fixed rewards beside variable
        ones, minimum stays, several concave pieces, an asymmetric matrix now and then.
    nodes
        Depot and stops.
    window
        The paper's TW. For "mixed" it scales the width of the windows, 100 being wide ones.
    count
        Number of instances.
    seed
        Seed.
    budget
        Time budget; by default the paper's for "paper", and a random one for "mixed".
    vehicles
        Number of vehicles.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r}: unknown, choose from: {', '.join(FAMILIES)}")
    whole_number("nodes", nodes, 1, MAX_STOPS + 1)
    whole_number("count", count, 0, 10**7)
    whole_number("seed", seed, 0, 2**63 - 1)
    for name, value in (("window", window), ("budget", budget)):
        if value is not None and not 0 <= value <= 10**6:
            raise ValueError(f"{name} = {value}: must be from 0 to {10**6}")
    instances = FAMILIES[family](nodes, window, count, seed, budget)
    if vehicles != 1:
        instances = [instance.replace(vehicles=vehicles) for instance in instances]
    return instances


class _TorchStream:
    """The numbers that torch's CPU generator draws after `manual_seed(seed)`.

    Both torch and numpy hold the Mersenne twister; torch makes a float32 of the lowest 24 bits
    of each draw, and a permutation by swapping each place with a random later one.
    """

    def __init__(self, seed: int) -> None:
        self._twister = np.random.MT19937()
        state: Any = np.random.RandomState(seed % 2**32).get_state(legacy=False)
        self._twister.state = state

    def _raw(self, size: int) -> npt.NDArray[np.uint64]:
        return np.asarray(self._twister.random_raw(size), dtype=np.uint64)

    def rand(self, *shape: int) -> npt.NDArray[np.float32]:
        """Like `torch.rand(*shape)`."""
        low = self._raw(int(np.prod(shape))) & np.uint64(2**24 - 1)
        return (low.astype(np.float32) * np.float32(2**-24)).reshape(shape)

    def permutations(self, count: int, size: int) -> npt.NDArray[np.int64]:
        """Like `count` calls of `torch.randperm(size)`."""
        result = np.tile(np.arange(size), (count, 1))
        draws = self._raw(count * max(0, size - 1)).reshape(count, max(0, size - 1))
        rows = np.arange(count)
        for place in range(size - 1):
            other = place + (draws[:, place] % np.uint64(size - place)).astype(np.int64)
            result[rows, place], result[rows, other] = (
                result[rows, other],
                result[rows, place].copy(),
            )
        return result


def _distance(step: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    # torch's cdist fuses the second multiplication with the sum, so only the first is rounded.
    first = step[:, 0] * step[:, 0]
    second = step[:, 1].astype(np.float64) ** 2
    return np.sqrt((first + second).astype(np.float32))


def paper_budget(nodes: int) -> float:
    """Time budget of the paper's instances; between and beyond its sizes 4 + nodes / 8."""
    return {50: 10.0, 100: 16.5, 500: 50.0}.get(nodes, 4 + nodes / 8)


def _paper(
    nodes: int, window: float, count: int, seed: int, budget: float | None
) -> list[Instance]:
    # Units are hundredths and numbers float32 here, as in the published code: the order of the
    # operations decides the last bit.
    stream = _TorchStream(seed)
    xy = stream.rand(count, nodes, 2) * np.float32(100)
    tours = 1 + stream.permutations(count, nodes - 1)
    opens = np.zeros((count, nodes), dtype=np.float32)
    rows = np.arange(count)
    travelled = np.zeros(count, dtype=np.float32)
    place = np.zeros(count, dtype=np.int64)
    for position in range(nodes - 1):
        stop = tours[:, position]
        travelled += _distance(xy[rows, stop] - xy[rows, place])
        early = stream.rand(count) * np.float32(window / 2)
        stream.rand(count)
        opens[rows, stop] = (travelled - np.float32(window / 2)) + early
        place = stop
    rates = stream.rand(count, nodes) * np.float32(10)
    closes = opens + np.float32(window / 4)
    hundred = np.float32(100)
    xy, opens, closes = xy / hundred, opens / hundred, closes / hundred
    limit = paper_budget(nodes) if budget is None else budget
    return [
        Instance(
            name=f"paper-n{nodes}-tw{window:g}-s{seed}-{k}",
            budget=limit,
            xy=xy[k],
            open=opens[k],
            close=closes[k],
            rate=rates[k],
            max_stay=closes[k].astype(np.float64) - opens[k],
        )
        for k in range(count)
    ]


def _mixed(
    nodes: int, window: float, count: int, seed: int, budget: float | None
) -> list[Instance]:
    return [
        _mixed_one(nodes, window, np.random.default_rng((seed, k)), budget).replace(
            name=f"mixed-n{nodes}-s{seed}-{k}"
        )
        for k in range(count)
    ]


def _mixed_one(
    nodes: int, window: float, random: np.random.Generator, budget: float | None
) -> Instance:
    centres = random.random((1 + random.integers(1, 6), 2))
    spread = random.uniform(0.02, 0.15)
    clustered = centres[random.integers(len(centres), size=nodes)] + random.normal(
        0, spread, (nodes, 2)
    )
    xy = np.where(random.random((nodes, 1)) < random.random(), clustered, random.random((nodes, 2)))
    limit = random.uniform(2, 6) if budget is None else budget
    width = random.uniform(0.1, 1.0) * limit * window / 100
    opens = random.uniform(-0.2 * limit, limit, nodes)
    closes = opens + random.uniform(0.2, 1.0, nodes) * width
    always = random.random(nodes) < 0.2
    opens[always], closes[always] = 0.0, np.inf
    fixed = random.random(nodes) < 0.3
    min_stay = np.where(random.random(nodes) < 0.4, random.uniform(0, 0.05 * limit, nodes), 0.0)
    reward = np.where(fixed | (random.random(nodes) < 0.2), random.integers(1, 10, nodes), 0)
    leave_by = np.where(
        random.random(nodes) < 0.15,
        closes + min_stay + random.uniform(0, 0.1 * limit, nodes),
        np.inf,
    )
    pieces = [_random_pieces(0 if fixed[k] else 3, limit, random) for k in range(nodes)]
    travel = None
    if random.random() < 0.25:
        x, y = xy.T
        factor = random.uniform(0.8, 1.5, (nodes, nodes))
        travel = np.hypot(x[:, None] - x, y[:, None] - y) * factor
    return Instance(
        budget=limit,
        xy=xy,
        travel=travel,
        open=opens,
        close=closes,
        leave_by=leave_by,
        reward=reward,
        min_stay=min_stay,
        pieces=pieces,
    )


def _random_pieces(most: int, limit: float, random: np.random.Generator) -> FloatArray:
    number = int(random.integers(1, most + 1)) if most else 0
    rates = np.sort(random.uniform(0, 10, number))[::-1]
    return np.column_stack((rates, random.uniform(0.01, 0.08, number) * limit))


FAMILIES: dict[str, Family] = {"paper": _paper, "mixed": _mixed}
