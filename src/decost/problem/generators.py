"""Random instances: seeded families, the paper's first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from decost.problem.instance import (
    MAX_STOPS,
    MAX_VEHICLES,
    FloatArray,
    Instance,
    IntArray,
    whole_number,
)
from decost.problem.records import Vehicle

PART = 10_000
"""Instances of a large set that are drawn together; such a part can be made by itself."""

MOST_PARTS = 10**8


@dataclass(frozen=True)
class _Draw:
    """Which instances to draw: so many from one on, with a seed, and of a large set which part."""

    seed: int
    first: int
    count: int
    part: int | None = None

    @property
    def numbers(self) -> range:
        """Numbers of the instances in their set."""
        return range(self.first, self.first + self.count)


Family: TypeAlias = Callable[[int, float, _Draw, float | None, int], list[Instance]]
_Maker: TypeAlias = Callable[[int, float, np.random.Generator, float | None], Instance]


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
        another count gives other instances; of more than 10,000, every 10,000 are
        (`decost.generate_part` makes them alone).
        "mixed": clustered stops, wide windows, short stays, fixed rewards beside variable
        ones, minimum stays, several concave pieces, an asymmetric matrix now and then.
        "free": the paper's instances without windows; stays have the lengths that they have there.
        "rewards": rewards for visits of fixed length, or rates that go on for longer, with a
        window for some or all stops of a day that starts and ends in the middle: like the
        files of Solomon that are used for the orienteering problem.
        "people": days of people in a town, in minutes and kilometres: vehicles with hours, homes
        and speeds of their own, stops with opening hours, several alternatives, and some that
        are required. It takes neither `window` nor `budget`.
        "days": a day out: stops that are always open, all day, for some hours, or only at a
        moment, which is worth more than most; long stays; an end elsewhere now and then.
    nodes
        Depot and stops.
    window
        The paper's TW. For "mixed", "rewards" and "days" it scales the width of the windows,
        100 being wide ones.
    count
        Number of instances.
    seed
        Seed.
    budget
        Time budget; by default the paper's for "paper" and "free", and a random one for the others.
    vehicles
        Number of vehicles.
    """
    whole_number("count", count, 0, 10**7)
    return [
        instance
        for part in range(part_count(count))
        for instance in generate_part(
            family,
            part,
            nodes=nodes,
            window=window,
            count=count,
            seed=seed,
            budget=budget,
            vehicles=vehicles,
        )
    ]


def part_count(count: int) -> int:
    """Say of how many parts a set of so many instances is made."""
    return max(1, -(-count // PART))


def generate_part(
    family: str,
    part: int,
    *,
    nodes: int = 50,
    window: float = 100,
    count: int = PART,
    seed: int = 0,
    budget: float | None = None,
    vehicles: int = 1,
) -> list[Instance]:
    """Generate every 10,000 instances of a large set by themselves.

    Parameters
    ----------
    family, nodes, window, count, seed, budget, vehicles
        As for `generate`, of the whole set.
    part
        Which 10,000, counted from 0; the last part has what is left.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r}: unknown, choose from: {', '.join(FAMILIES)}")
    whole_number("nodes", nodes, 1, MAX_STOPS + 1)
    whole_number("count", count, 0, PART * MOST_PARTS)
    whole_number("part", part, 0, part_count(count) - 1)
    whole_number("seed", seed, 0, 2**63 - 1)
    for name, value in (("window", window), ("budget", budget)):
        if value is not None and not 0 <= value <= 10**6:
            raise ValueError(f"{name} = {value}: must be from 0 to {10**6}")
    whole_number("vehicles", vehicles, 1, MAX_VEHICLES)
    first = part * PART
    draw = _Draw(seed, first, min(PART, count - first), part if count > PART else None)
    return FAMILIES[family](nodes, window, draw, budget, vehicles)


class _TorchStream:
    """The numbers that torch's CPU generator draws after `manual_seed(seed)`; others with more.

    Both torch and numpy hold the Mersenne twister; torch makes a float32 of the lowest 24 bits
    of each draw, and a permutation by swapping each place with a random later one.
    """

    def __init__(self, seed: int, *more: int) -> None:
        self._twister = np.random.MT19937()
        words: Any = [seed % 2**32, seed >> 32, *more] if more else seed % 2**32
        state: Any = np.random.RandomState(words).get_state(legacy=False)
        self._twister.state = state

    def _raw(self, size: int) -> npt.NDArray[np.uint64]:
        return np.asarray(self._twister.random_raw(size), dtype=np.uint64)

    def rand(self, *shape: int) -> npt.NDArray[np.float32]:
        """Like `torch.rand(*shape)`."""
        low = self._raw(int(np.prod(shape))) & np.uint64(2**24 - 1)
        return (low.astype(np.float32) * np.float32(2**-24)).reshape(shape)

    def permutations(self, count: int, size: int) -> npt.NDArray[np.int64]:
        """Like `count` calls of `torch.randperm(size)`."""
        rest = max(0, size - 1)
        draws = self._raw(count * rest).reshape(count, rest).T
        result = np.repeat(np.arange(size), count).reshape(size, count)
        flat, column = result.reshape(-1), np.arange(count)
        span = np.arange(size, 1, -1, dtype=np.uint64)[:, None]
        others = (np.arange(rest)[:, None] + (draws % span).astype(np.int64)) * count + column
        for row, other in zip(result, others, strict=False):
            drawn = flat[other]
            flat[other] = row
            row[:] = drawn
        return result.T


def _distance(step: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    # torch's cdist fuses the second multiplication with the sum, so only the first is rounded.
    first = step[..., 0] * step[..., 0]
    second = step[..., 1].astype(np.float64) ** 2
    return np.sqrt((first + second).astype(np.float32))


def paper_budget(nodes: int) -> float:
    """Time budget of the paper's instances; between and beyond its sizes 4 + nodes / 8."""
    return {50: 10.0, 100: 16.5, 500: 50.0}.get(nodes, 4 + nodes / 8)


def _paper(
    nodes: int, window: float, draw: _Draw, budget: float | None, vehicles: int
) -> list[Instance]:
    # Units are hundredths and numbers float32 here, as in the published code: the order of the
    # operations decides the last bit.
    stream = _TorchStream(draw.seed, *(() if draw.part is None else (draw.part,)))
    count = draw.count
    xy = stream.rand(count, nodes, 2) * np.float32(100)
    tours = 1 + stream.permutations(count, nodes - 1)
    points = xy[np.arange(count)[:, None], np.pad(tours, ((0, 0), (1, 0)))]
    travelled = np.cumsum(_distance(np.diff(points, axis=1)), axis=1, dtype=np.float32)
    early = stream.rand(nodes - 1, 2, count)[:, 0].T * np.float32(window / 2)
    opens = np.zeros((count, nodes), dtype=np.float32)
    np.put_along_axis(opens, tours, (travelled - np.float32(window / 2)) + early, axis=1)
    rates = stream.rand(count, nodes) * np.float32(10)
    closes = opens + np.float32(window / 4)
    hundred = np.float32(100)
    places, begin, last, worth = (
        numbers.astype(np.float64)
        for numbers in (xy / hundred, opens / hundred, closes / hundred, rates)
    )
    longest = last - begin
    limit = paper_budget(nodes) if budget is None else budget
    family = f"paper-n{nodes}-tw{window:g}-s{draw.seed}"
    return [
        Instance(
            name=f"{family}-{draw.first + k}",
            budget=limit,
            xy=places[k],
            open=begin[k],
            close=last[k],
            rate=worth[k],
            max_stay=longest[k],
            vehicles=vehicles,
        )
        for k in range(count)
    ]


def _one_by_one(family: str, make: _Maker) -> Family:
    """Make a family of instances that are drawn one by one, each from a generator of its own."""

    def draw_all(
        nodes: int, window: float, draw: _Draw, budget: float | None, vehicles: int
    ) -> list[Instance]:
        return [
            make(nodes, window, np.random.default_rng((draw.seed, k)), budget).replace(
                name=f"{family}-n{nodes}-s{draw.seed}-{k}", vehicles=vehicles
            )
            for k in draw.numbers
        ]

    return draw_all


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


def _free(
    nodes: int, window: float, draw: _Draw, budget: float | None, vehicles: int
) -> list[Instance]:
    return [
        one.replace(
            name=one.name.replace("paper", "free", 1),
            open=np.zeros(nodes),
            close=np.full(nodes, np.inf),
        )
        for one in _paper(nodes, window, draw, budget, vehicles)
    ]


def _rewards_one(
    nodes: int, window: float, random: np.random.Generator, budget: float | None
) -> Instance:
    centres = random.random((random.integers(3, 11), 2))
    around = centres[random.integers(len(centres), size=nodes)]
    clustered = random.normal(around, random.uniform(0.02, 0.06))
    xy = np.where(
        random.random((nodes, 1)) < random.integers(3) / 2, clustered, random.random((nodes, 2))
    )
    xy[0] = random.uniform(0.35, 0.65, 2)
    limit = random.uniform(2.0, 12.0) if budget is None else budget
    visits = random.uniform(5.0, 30.0)
    service = np.full(nodes, random.uniform(0.2, 0.9) * limit / visits)
    if random.random() < 0.3:
        service *= random.uniform(0.3, 1.7, nodes)
    home = np.hypot(*(xy - xy[0]).T)
    last = limit - home - service
    width = random.uniform(0.03, 0.5) * limit * random.uniform(0.6, 1.4, nodes) * window / 100
    middle = random.uniform(home, np.maximum(home, last))
    timed = random.random(nodes) < random.choice([0.25, 0.5, 0.75, 1.0, 1.0])
    opens = np.where(timed, np.maximum(middle - width / 2, 0.0), 0.0)
    closes = np.where(timed, np.minimum(middle + width / 2, np.maximum(last, 0.0)), limit)
    closes = np.maximum(closes, opens)
    earns = random.integers(1, random.choice([10, 41, 51]), nodes).astype(np.float64)
    variable = random.random() < 0.4
    longer = random.uniform(0.2, 3.0) * service.mean()
    return Instance(
        budget=limit,
        xy=xy,
        open=opens,
        close=closes,
        reward=earns * service if variable else earns,
        min_stay=service,
        pieces=[np.array([[rate, longer]] if variable else []).reshape(-1, 2) for rate in earns],
    )


SIDE = 8.0
"""Side of the square of "people", in kilometres."""

_DETOUR = 1.3
_FAST, _SLOW = (speed / 60 / _DETOUR for speed in (15.0, 5.0))  # straight kilometres a minute
_MORNING, _NOON, _AFTERNOON, _EVENING = (60.0 * hour for hour in (9, 12, 14, 18))


def _people(
    nodes: int, window: float, draw: _Draw, budget: float | None, vehicles: int
) -> list[Instance]:
    for name, value, usual in (("window", window, 100), ("budget", budget, None)):
        if value != usual:
            raise ValueError(f"{name} = {value}: the family people has hours of its own")
    return [
        _people_one(
            f"people-n{nodes}-s{draw.seed}-{k}",
            nodes - 1,
            vehicles,
            np.random.default_rng((draw.seed, k)),
        )
        for k in draw.numbers
    ]


def _people_one(name: str, stops: int, vehicles: int, random: np.random.Generator) -> Instance:
    even = stops // 2
    centres = random.uniform(0, SIDE, (3, 2))
    around = centres[random.integers(3, size=stops - even)]
    own = np.concatenate(
        (random.uniform(0, SIDE, (even, 2)), random.normal(around, 0.7, (stops - even, 2)))
    )
    homes: list[FloatArray] = []
    fleet = [_person(k, stops, homes, random) for k in range(vehicles)]

    kind = random.choice(3, size=stops, p=[0.6, 0.25, 0.15])
    twice = random.random(stops) < 0.1
    number = np.where(kind == 1, 2, 1) + twice
    first = np.concatenate(([0, 1], 1 + np.cumsum(number)))
    hours, place = np.empty((first[-1], 2)), np.zeros(first[-1], dtype=np.int64)
    others: list[FloatArray] = []
    for stop in range(1, stops + 1):
        here = slice(first[stop], first[stop + 1])
        place[here] = stop
        hours[here] = _hours(kind[stop - 1], number[stop - 1], random)
        if twice[stop - 1]:
            place[here.stop - 1] = 1 + stops + len(homes) + len(others)
            others.append(random.uniform(0, SIDE, 2))
    admits = np.ones((1 + stops, vehicles), dtype=np.bool_)
    for few in 1 + np.flatnonzero(random.random(stops) < 0.2):
        admits[few] = False
        admits[few, random.permutation(vehicles)[: max(1, vehicles // 2)]] = True
    required = np.zeros(1 + stops, dtype=np.bool_)
    required[1 + random.permutation(stops)[: max(1, round(0.05 * stops))]] = True

    pieces = [np.empty((0, 2)), *(_falling_pieces(random) for _ in range(stops))]
    min_stay = np.concatenate(([0], random.integers(10, 31, size=stops)))
    reward = np.concatenate(([0], random.integers(0, 31, size=stops)))
    stop_of: IntArray = np.repeat(np.arange(1 + stops), np.diff(first))
    depot = np.full((1, 2), SIDE / 2)
    return Instance(
        name=name,
        unit="minutes",
        speed=_FAST,
        fleet=fleet,
        xy=np.concatenate((depot, own, *(point[None] for point in homes + others))),
        places=[f"home {one.id}" for one in fleet if one.start is not None] + [""] * len(others),
        required=required,
        open=hours[:, 0],
        leave_by=hours[:, 1],
        reward=reward[stop_of],
        min_stay=min_stay[stop_of],
        pieces=[pieces[stop] for stop in stop_of],
        alternative_first=first,
        alternative_place=place,
        alternative_vehicles=admits[stop_of],
    )


def _person(
    number: int, stops: int, homes: list[FloatArray], random: np.random.Generator
) -> Vehicle:
    start = end = None
    if random.random() < 0.5:
        start = 1 + stops + len(homes)
        homes.append(random.uniform(0, SIDE, 2))
        end = start if random.random() < 0.75 else None
    begin = 480.0 + 30 * int(random.integers(5))
    due = begin + int(random.integers(300, 481))
    slow = number % 3 == 2
    return Vehicle(
        id=str(number + 1),
        start=start,
        end=end,
        begin=begin,
        due=due,
        speed=_SLOW if slow else _FAST,
    )


def _hours(kind: int, number: int, random: np.random.Generator) -> FloatArray:
    """Draw opening hours, as open and leave_by, of a number of alternatives.

    The last of them has the hours of the first if there are more than it takes.
    """
    hours = [[_MORNING, _EVENING]]
    if kind == 1:
        hours = [[_MORNING, _NOON], [_AFTERNOON, _EVENING]]
    elif kind == 2:
        width = random.uniform(90, 180)
        opens = random.uniform(_MORNING, _EVENING - width)
        hours = [[opens, opens + width]]
    return np.array([*hours, hours[0]][:number])


def _falling_pieces(random: np.random.Generator) -> FloatArray:
    number = int(random.integers(1, 4))
    rates = np.sort(random.uniform(0, 2, number))[::-1]
    cuts = np.sort(random.random(number - 1))
    parts = np.diff(cuts, prepend=0.0, append=1.0)
    return np.column_stack((rates, parts * random.uniform(15, 90)))


def _days_one(
    nodes: int, window: float, random: np.random.Generator, budget: float | None
) -> Instance:
    limit = random.uniform(3.0, 15.0) if budget is None else budget
    elsewhere = bool(random.random() < 0.4)  # where the day ends
    xy = random.random((nodes + elsewhere, 2))
    stay = random.uniform(0.02, 0.15) * limit  # what most stops are worth staying for
    kinds = random.dirichlet((1.0, 1.0, 1.0, 1.0))
    kind = random.choice(4, size=nodes, p=kinds)  # always open, all day, some hours, appointments
    width = np.array([np.inf, 0.9, 0.3, 0.01])[kind] * random.uniform(0.3, 1.1, nodes)
    width *= limit * window / 100
    timed = np.where(kind > 0, width, 0.0)
    opens = np.maximum(0.0, random.uniform(-0.3 * timed, limit - 0.5 * timed))
    opens[kind == 0] = 0.0
    closes = opens + width
    appointed = kind == 3
    min_stay = np.where(
        appointed | (random.random(nodes) < 0.7), random.uniform(0.1, 0.8, nodes) * stay, 0.0
    )
    pieces = [
        np.empty((0, 2)) if appointed[k] and random.random() < 0.7 else _stay_pieces(stay, random)
        for k in range(nodes)
    ]
    worth = random.uniform(0.2, 1.5, nodes) * np.where(appointed, random.uniform(0.7, 3.0), 0.5)
    reward = np.where(appointed | (random.random(nodes) < 0.6), 5.0 * worth * stay, 0.0)
    leave_by = np.where(
        (random.random(nodes) < 0.4) & ~appointed,
        closes + min_stay + random.uniform(0, 0.1, nodes) * limit,
        np.inf,
    )
    return Instance(
        budget=limit,
        xy=xy,
        separate_end=elsewhere,
        open=opens,
        close=closes,
        leave_by=leave_by,
        reward=reward,
        min_stay=min_stay,
        pieces=pieces,
    )


def _stay_pieces(stay: float, random: np.random.Generator) -> FloatArray:
    number = int(random.integers(1, 4))
    rates = np.sort(random.uniform(0.5, 10, number))[::-1]
    return np.column_stack((rates, random.uniform(0.2, 1.2, number) * stay))


FAMILIES: dict[str, Family] = {
    "paper": _paper,
    "mixed": _one_by_one("mixed", _mixed_one),
    "free": _free,
    "rewards": _one_by_one("rewards", _rewards_one),
    "people": _people,
    "days": _one_by_one("days", _days_one),
}
