"""Tests of the generators: the paper's instances bit for bit, what the other families promise."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from decost import Instance, generate, read_set
from decost.problem.generators import FAMILIES, _TorchStream, paper_budget

ALL = pytest.mark.parametrize("family", FAMILIES)


def draw_with_torch(nodes: int, window: float, count: int, seed: int) -> dict[str, np.ndarray]:
    """Draw the paper's instances with torch itself, in the order of the published code."""
    source = torch.Generator().manual_seed(seed)
    xy = torch.rand(count, nodes, 2, generator=source) * 100
    tours = torch.stack([torch.randperm(nodes - 1, generator=source) + 1 for _ in range(count)])
    distance = torch.cdist(xy, xy, compute_mode="donot_use_mm_for_euclid_dist")
    rows = torch.arange(count)
    place = torch.zeros(count, dtype=torch.long)
    travelled = torch.zeros(count)
    opens = torch.zeros(count, nodes)
    for stop in tours.T:
        travelled += distance[rows, place, stop]
        earliest = travelled - window / 2
        opens[rows, stop] = earliest + torch.rand(count, generator=source) * (window / 2)
        torch.rand(count, generator=source)
        place = stop
    closes = opens + window / 4
    rate = torch.rand(count, nodes, generator=source) * 10
    drawn = {"xy": xy / 100, "open": opens / 100, "close": closes / 100, "rate": rate}
    return {field: values.numpy() for field, values in drawn.items()}


@pytest.mark.parametrize("seed", [0, 1, 2025, 2**32 + 5, 2**63 - 1])
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 1000])
def test_stream_is_the_one_of_torch(seed: int, size: int) -> None:
    """Floats and permutations equal torch's, one after the other and in any mixture."""
    mine, theirs = _TorchStream(seed), torch.Generator().manual_seed(seed)
    for _ in range(2):
        drawn = mine.rand(size, 3)
        assert drawn.dtype == np.float32
        assert drawn.tolist() == torch.rand(size, 3, generator=theirs).tolist()
        permutations = [torch.randperm(size, generator=theirs).tolist() for _ in range(3)]
        assert mine.permutations(3, size).tolist() == permutations


@pytest.mark.parametrize(
    ("nodes", "window", "count", "seed"),
    [(50, 100, 3, 2025), (100, 500, 2, 1), (7, 33.3, 20, 9), (2, 100, 5, 0), (500, 100, 1, 3)],
)
def test_paper_equals_torch(nodes: int, window: float, count: int, seed: int) -> None:
    """Every number is the one that torch gives, to the last bit."""
    drawn = draw_with_torch(nodes, window, count, seed)
    instances = generate("paper", nodes=nodes, window=window, count=count, seed=seed)
    for k, instance in enumerate(instances):
        assert instance.xy is not None
        assert instance.xy.tolist() == drawn["xy"][k].tolist()
        for field in ("open", "close"):
            assert getattr(instance, field)[1:].tolist() == drawn[field][k, 1:].tolist()
        assert instance.piece_rate.tolist() == drawn["rate"][k, 1:].tolist()
        width = instance.close[1:] - instance.open[1:]
        assert instance.max_stay[1:].tolist() == width.tolist()


def test_paper_equals_the_published_set(data: Path) -> None:
    """The first 1,000 of the 10,000 test instances that the paper's authors published."""
    mine = generate("paper", nodes=50, window=100, count=10_000, seed=2025)
    published = read_set(data / "paper_n50_tw100.npz")
    assert len(published) == 1000
    for made, given in zip(mine, published, strict=False):
        assert made.replace(name="") == given


def test_paper_digest() -> None:
    """A fixed digest, so that nothing changes unnoticed where neither file nor torch is."""
    digest = hashlib.sha256()
    for instance in generate("paper", nodes=50, window=100, count=10, seed=2025):
        assert instance.xy is not None
        for values in (instance.xy, instance.open, instance.close, instance.piece_rate):
            digest.update(values.astype("<f8").tobytes())
    assert digest.hexdigest()[:16] == "d23777e3040e95fb"


def test_paper_follows_its_description() -> None:
    """Windows are W/4 wide and open up to W/2 before the tour gets there; W = TW / 100."""
    instances = generate("paper", nodes=50, window=200, count=20, seed=4)
    for instance in instances:
        assert instance.xy is not None
        assert instance.problem == "OPTWVP"
        assert (instance.speed, instance.budget, instance.vehicles) == (1, 10, 1)
        assert ((instance.xy >= 0) & (instance.xy < 1)).all()
        width = instance.close[1:] - instance.open[1:]
        assert width == pytest.approx(np.full(49, 0.5), abs=1e-5)
        assert instance.max_stay[1:].tolist() == width.tolist()
        assert ((instance.piece_rate >= 0) & (instance.piece_rate < 10)).all()
        assert instance.open[1:].min() > -1
    opens = np.array([instance.open[1:] for instance in instances])
    # 49 legs of 0.52 on average; the last window opens 0.5 before that on average.
    assert opens.max(axis=1).mean() == pytest.approx(49 * 0.5214 - 0.5, rel=0.1)


@pytest.mark.parametrize(
    ("nodes", "budget"), [(50, 10), (100, 16.5), (500, 50), (20, 6.5), (200, 29)]
)
def test_paper_budget(nodes: int, budget: float) -> None:
    """The paper's three, and 4 + n / 8 for other sizes; a budget given goes first."""
    assert paper_budget(nodes) == budget
    assert generate("paper", nodes=nodes)[0].budget == budget
    assert generate("paper", nodes=nodes, budget=7)[0].budget == 7


def test_mixed_has_all_that_it_promises() -> None:
    """Each feature is in many instances, and none is in all places."""
    instances = generate("mixed", nodes=30, count=300, seed=1)

    def share(feature: Any) -> float:
        return float(np.mean([bool(feature(instance)) for instance in instances]))

    def stops(instance: Instance, field: str) -> np.ndarray:
        return getattr(instance, field)[1:]

    def pieces(instance: Instance) -> np.ndarray:
        return np.diff(instance.piece_start)[1:]

    def nearest(xy: np.ndarray) -> float:
        distance = np.hypot(*(xy[:, None] - xy).transpose(2, 0, 1))
        return float(np.median(np.sort(distance, axis=1)[:, 1]))

    uniform = np.median([nearest(np.random.default_rng(k).random((30, 2))) for k in range(100)])
    assert share(lambda one: nearest(one.xy) < 0.7 * uniform) > 0.2  # clustered
    assert (
        share(lambda one: (stops(one, "close") - stops(one, "open")).max() > one.budget / 2) > 0.5
    )
    assert share(lambda one: np.isinf(stops(one, "close")).any()) > 0.9
    assert share(lambda one: (stops(one, "open") < 0).any()) > 0.9
    assert share(lambda one: stops(one, "max_stay").max() < one.budget / 3) == 1  # short stays
    assert share(lambda one: (pieces(one) == 0).any() and (pieces(one) > 0).any()) == 1
    assert share(lambda one: (stops(one, "reward") > 0).any()) == 1
    assert share(lambda one: (stops(one, "reward")[pieces(one) == 0] > 0).all()) == 1
    assert share(lambda one: (stops(one, "min_stay") > 0).any()) == 1
    assert share(lambda one: (pieces(one) >= 2).any()) == 1
    assert share(lambda one: np.isfinite(stops(one, "leave_by")).any()) > 0.9
    limited = np.mean([np.isfinite(stops(one, "leave_by")).mean() for one in instances])
    rewarded = np.mean([(stops(one, "reward") > 0).mean() for one in instances])
    assert 0.1 < limited < 0.2
    assert 0.3 < rewarded < 0.6
    assert 0.15 < share(lambda one: one.matrix is not None) < 0.35
    assert share(lambda one: (one.travel != one.travel.T).any()) == share(
        lambda one: one.matrix is not None
    )
    for one in instances:
        distance = one.replace(travel=None).travel
        assert ((0.8 * distance <= one.travel) & (one.travel <= 1.5 * distance)).all()
    assert len({instance.budget for instance in instances}) == 300
    assert share(lambda one: one.problem == "OPTWVP") == 1


def test_mixed_digest() -> None:
    """A fixed digest of rounded values, so that nothing changes unnoticed."""
    digest = hashlib.sha256()
    fields = ("xy", "travel", "open", "close", "leave_by", "reward", "min_stay")
    for instance in generate("mixed", nodes=30, count=20, seed=1):
        for field in (*fields, "piece_rate", "piece_length"):
            digest.update(np.round(getattr(instance, field), 9).astype("<f8").tobytes())
    assert digest.hexdigest()[:16] == "a7d848992ff61685"


def test_mixed_window_scales_the_windows() -> None:
    """Half the window, half the width."""
    wide, narrow = (generate("mixed", window=window, count=5, seed=3) for window in (100, 50))
    for one, other in zip(wide, narrow, strict=True):
        bounded = np.isfinite(one.close[1:])
        width = [(instance.close - instance.open)[1:][bounded] for instance in (one, other)]
        assert width[0] == pytest.approx(2 * width[1])


@ALL
def test_same_seed_same_instances(family: str) -> None:
    """Equal arguments give equal instances, another seed others, with names of their own."""
    first, again, other = (generate(family, nodes=9, count=3, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert all(one != two for one, two in zip(first, other, strict=True))
    assert len({instance.name for instance in first + other}) == 6


@pytest.mark.parametrize("family", ["mixed", "people"])
def test_instances_do_not_depend_on_the_count(family: str) -> None:
    """A smaller set is the beginning of a larger one."""
    larger, smaller = (generate(family, nodes=9, count=count, seed=5) for count in (5, 2))
    assert larger[:2] == smaller


@ALL
def test_global_random_states_are_left_alone(family: str) -> None:
    """Neither numpy's nor Python's nor torch's generator moves."""
    before = (repr(np.random.get_state()), random.getstate(), torch.get_rng_state().tolist())  # noqa: NPY002
    generate(family, count=2, seed=1)
    after = (repr(np.random.get_state()), random.getstate(), torch.get_rng_state().tolist())  # noqa: NPY002
    assert before == after


@ALL
def test_defaults(family: str) -> None:
    """Without arguments: one instance of 50 nodes, with the paper's window 100 and seed 0."""
    usual = generate(family, nodes=50, window=100, count=1, seed=0, budget=None, vehicles=1)
    assert generate(family) == usual
    assert len(usual) == 1


@ALL
def test_sizes(family: str) -> None:
    """From no instance and no stop up, and for teams."""
    assert generate(family, count=0) == []
    assert [one.stops for one in generate(family, nodes=1, count=2)] == [0, 0]
    assert generate(family, nodes=2, vehicles=4)[0].vehicles == 4


@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_budgets(family: str) -> None:
    """A budget given is that of the instance, whatever the windows are."""
    for budget in (0, 10**6):
        assert generate(family, nodes=5, budget=budget, window=budget)[0].budget == budget


@ALL
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "nodes = 0: must be from 1 to 5001"),
        ({"nodes": 5002}, "nodes = 5002: must be from 1 to 5001"),
        ({"nodes": 5.5}, "nodes = 5.5: must be a whole number"),
        ({"count": -1}, "count = -1: must be from 0 to 10000000"),
        ({"count": 10**8}, "count = 100000000: must be"),
        ({"seed": -1}, "seed = -1: must be from 0"),
        ({"seed": 2**63}, "seed = 9223372036854775808: must be from 0"),
        ({"seed": "a"}, "seed = 'a': must be a whole number"),
        ({"window": -1}, "window = -1: must be from 0 to 1000000"),
        ({"window": float("nan")}, "window = nan: must be from 0"),
        ({"window": 1e308}, "window = 1e+308: must be from 0"),
        ({"budget": -2.0}, "budget = -2.0: must be from 0 to 1000000"),
        ({"budget": float("inf")}, "budget = inf: must be from 0"),
        ({"vehicles": 0}, "vehicles = 0: must be from 1"),
    ],
)
def test_bad_arguments(family: str, changes: dict[str, Any], message: str) -> None:
    """Each is refused with its name and value."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        generate(family, **changes)
    assert message in str(caught.value)


def test_unknown_family() -> None:
    """The families that there are are listed."""
    listed = "family 'x': unknown, choose from: paper, mixed, free, rewards, people"
    with pytest.raises(ValueError, match=listed):
        generate("x")


MORNING, NOON, AFTERNOON, EVENING = 9 * 60, 12 * 60, 14 * 60, 18 * 60


def people(count: int = 200, nodes: int = 42, vehicles: int = 5, seed: int = 3) -> list[Instance]:
    """Many days of five people with 41 stops."""
    return generate("people", nodes=nodes, vehicles=vehicles, count=count, seed=seed)


def share(values: Any) -> float:
    """Share of what is true."""
    return float(np.mean(list(values)))


def test_people_vehicles() -> None:
    """Hours, homes and speeds of vehicles: exact rules, and shares as they should be."""
    instances = people()
    fleets = [instance.fleet for instance in instances]
    vehicles = [one for fleet in fleets for one in fleet]
    for instance, fleet in zip(instances, fleets, strict=True):
        assert (instance.unit, instance.geographic, instance.vehicles) == ("minutes", False, 5)
        assert [one.id for one in fleet] == ["1", "2", "3", "4", "5"]
        # Straight kilometres a minute: 15 km/h on ways that are 1.3 times as long, 5 for the third.
        speeds = [one.speed * 60 * 1.3 for one in fleet]
        assert speeds == pytest.approx([15, 15, 5, 15, 15])
        assert instance.travel_of(2) == pytest.approx(3 * instance.travel_of(0))
        for one in fleet:
            assert one.begin in (480, 510, 540, 570, 600)
            assert one.due == int(one.due)
            assert 300 <= one.due - one.begin <= 480
            assert one.start == 0 or one.start > instance.stops
            assert one.end in (0, one.start)
            assert not one.underway
        homes = [one.start for one in fleet if one.start]
        assert len(set(homes)) == len(homes)
        assert instance.budget == max(one.due for one in fleet)
    assert share(one.start > 0 for one in vehicles) == pytest.approx(1 / 2, abs=0.05)
    assert share(one.end > 0 for one in vehicles if one.start) == pytest.approx(3 / 4, abs=0.06)
    for begin in (480, 510, 540, 570, 600):
        assert share(one.begin == begin for one in vehicles) == pytest.approx(1 / 5, abs=0.05)
    assert np.mean([one.due - one.begin for one in vehicles]) == pytest.approx(390, abs=6)
    assert {int(one.due - one.begin) for one in vehicles} >= {300, 480}


def test_people_places() -> None:
    """The depot in the centre, half of the stops uniform, half around three centres."""
    instances = people()
    uniform, clustered = [], []
    for instance in instances:
        assert instance.xy is not None
        assert instance.xy[0].tolist() == [4, 4]
        further = instance.xy[instance.nodes :]
        assert ((further >= 0) & (further <= 8)).all()
        assert len(further) == len(instance.places)
        uniform.append(instance.xy[1:21])  # 20 of 41
        clustered.append(instance.xy[21 : instance.nodes])
    even = np.array(uniform)
    assert ((even >= 0) & (even <= 8)).all()
    assert even.mean() == pytest.approx(4, abs=0.1)
    assert even.std() == pytest.approx(8 / np.sqrt(12), abs=0.1)
    groups = np.array(clustered)
    assert groups.shape[1] == 21
    assert ((groups < 0) | (groups > 8)).any()  # not clipped

    def near(points: np.ndarray, most: float) -> float:
        rows, columns = np.triu_indices(points.shape[1], 1)
        step = points[:, rows] - points[:, columns]
        return share(np.hypot(step[..., 0], step[..., 1]).ravel() < most)

    for most in (0.7, 1.4):
        side = most / 8
        anywhere = np.pi * side**2 - 8 / 3 * side**3 + side**4 / 2  # two uniform points
        # Two of a group, which is one of three, differ by 0.7 times the root of 2 along each axis.
        grouped = (1 - np.exp(-(most**2) / (4 * 0.7**2))) / 3 + anywhere * 2 / 3
        assert near(even, most) == pytest.approx(anywhere, rel=0.05)
        assert near(groups, most) == pytest.approx(grouped, rel=0.05)


def test_people_hours() -> None:
    """Whole days, mornings and afternoons, or one short window, in the shares of the contract."""
    kinds = []
    for instance in people():
        assert np.isinf(instance.alternative_close[1:]).all()
        for stop in range(1, instance.nodes):
            here = slice(*instance.alternative_first[stop : stop + 2])
            opens = instance.alternative_open[here].tolist()
            leave = instance.alternative_leave_by[here].tolist()
            away = instance.alternative_place[here] != stop
            assert not away[:-1].any()
            if away[-1]:
                assert (opens.pop(), leave.pop()) == (opens[0], leave[0])
            hours = list(zip(opens, leave, strict=True))
            kind = "short"
            if hours == [(MORNING, EVENING)]:
                kind = "day"
            elif hours == [(MORNING, NOON), (AFTERNOON, EVENING)]:
                kind = "parts"
            else:
                ((first, last),) = hours
                assert 90 <= last - first <= 180
                assert first >= MORNING
                assert last <= EVENING
            kinds.append((kind, bool(away[-1])))
    for kind, expected in (("day", 0.6), ("parts", 0.25), ("short", 0.15)):
        assert share(one[0] == kind for one in kinds) == pytest.approx(expected, abs=0.02)
    assert share(one[1] for one in kinds) == pytest.approx(0.1, abs=0.01)


def test_people_profits() -> None:
    """Whole minimum stays and rewards; one to three pieces of falling rate, 15 to 90 long."""
    stays, rewards, numbers, totals, best = [], [], [], [], []
    for instance in people(100):
        first = instance.alternative_first
        for stop in range(1, instance.nodes):
            table = instance.pieces[first[stop]]
            for other in range(first[stop] + 1, first[stop + 1]):
                assert instance.pieces[other].tolist() == table.tolist()
                assert (
                    instance.alternative_min_stay[other]
                    == instance.alternative_min_stay[first[stop]]
                )
            numbers.append(len(table))
            totals.append(table[:, 1].sum())
            best.append(table[0, 0])
            assert (np.diff(table[:, 0]) <= 0).all()
        stays += instance.alternative_min_stay[first[1:-1]].tolist()
        rewards += instance.alternative_reward[first[1:-1]].tolist()
    assert set(stays) == set(range(10, 31))
    assert set(rewards) == set(range(31))
    assert np.mean(stays) == pytest.approx(20, abs=0.5)
    assert np.mean(rewards) == pytest.approx(15, abs=0.7)
    for number in (1, 2, 3):
        assert share(one == number for one in numbers) == pytest.approx(1 / 3, abs=0.03)
    assert 15 <= min(totals) < 16
    assert 89 < max(totals) <= 90
    assert np.mean(totals) == pytest.approx(52.5, abs=1)
    # The largest of one, two or three uniform rates up to 2: 1, 4/3 and 3/2 on average.
    assert np.mean(best) == pytest.approx((1 + 4 / 3 + 3 / 2) / 3, abs=0.03)
    assert max(best) < 2


@pytest.mark.parametrize(("vehicles", "half"), [(1, 1), (2, 1), (3, 1), (5, 2)])
def test_people_admits_half_of_the_vehicles(vehicles: int, half: int) -> None:
    """A fifth of the stops is for a random half of the vehicles, in all of their alternatives."""
    limited, admitted = [], np.zeros(vehicles)
    for instance in people(100, vehicles=vehicles):
        admits = instance.alternative_vehicles
        if admits is None:
            admits = np.ones((instance.alternative_count + 1, vehicles), dtype=np.bool_)
        for stop in range(1, instance.nodes):
            rows = admits[slice(*instance.alternative_first[stop : stop + 2])]
            assert (rows == rows[0]).all()
            limited.append(not rows[0].all())
            if limited[-1]:
                assert rows[0].sum() == half
                admitted += rows[0]
    assert share(limited) == pytest.approx(0.2 if vehicles > 1 else 0, abs=0.02)
    if vehicles > 1:
        assert admitted / admitted.sum() == pytest.approx(np.full(vehicles, 1 / vehicles), abs=0.05)


@pytest.mark.parametrize(
    ("nodes", "required"), [(1, 0), (2, 1), (11, 1), (30, 1), (31, 2), (41, 2), (101, 5)]
)
def test_people_required(nodes: int, required: int) -> None:
    """A twentieth of the stops is required, one at least, and not always the same ones."""
    instances = people(5, nodes=nodes)
    assert [instance.required.sum() for instance in instances] == [required] * 5
    if nodes > 10:
        assert len({instance.required.tobytes() for instance in instances}) > 1


def test_people_digest() -> None:
    """A fixed digest of rounded values, so that nothing changes unnoticed."""
    digest = hashlib.sha256()
    fields = ("xy", "required", "alternative_first", "alternative_place", "alternative_vehicles")
    fields += tuple(f"alternative_{name}" for name in ("open", "leave_by", "reward", "min_stay"))
    for instance in people(20, nodes=30):
        for field in (*fields, "piece_rate", "piece_length"):
            digest.update(np.round(getattr(instance, field).astype("<f8"), 9).tobytes())
        for one in instance.fleet:
            hours = (one.start, one.end, one.begin, one.due, round(one.speed, 9))
            digest.update(repr(hours).encode())
    assert digest.hexdigest()[:16] == "3134598f52866eb8"


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"window": 50}, "window = 50: the family people"), ({"budget": 9}, "budget = 9: the family")],
)
def test_people_has_hours_of_its_own(changes: dict[str, Any], message: str) -> None:
    """What has no effect is refused."""
    with pytest.raises(ValueError, match=message):
        generate("people", **changes)


def test_free_is_the_paper_without_windows() -> None:
    """Places, rates, lengths of stays and the budget are the paper's; all is always open."""
    free, paper = (generate(name, nodes=20, count=3, seed=4) for name in ("free", "paper"))
    for one, other in zip(free, paper, strict=True):
        assert one.name == other.name.replace("paper", "free")
        assert np.array_equal(one.xy, other.xy)
        assert one.budget == other.budget
        assert np.array_equal(one.piece_rate, other.piece_rate)
        assert np.array_equal(one.piece_length, other.piece_length)
        assert (one.open == 0.0).all()
        assert np.isinf(one.close[1:]).all()


def test_rewards_are_like_benchmark_files() -> None:
    """Most stops can be visited alone; profits are fixed, or go on at the rate of the reward."""
    kinds = set()
    for one in generate("rewards", nodes=30, count=40, seed=2):
        alone = one.travel[0] + one.min_stay + one.travel[:, 0]
        reachable = (alone <= one.budget) & (one.travel[0] <= one.close + 1e-9)
        assert reachable[1:].mean() > 0.5
        assert (one.close <= one.budget + 1e-9).all()
        variable = len(one.piece_rate) > 0
        if variable:
            assert one.reward[1:] == pytest.approx(one.piece_rate * one.min_stay[1:])
        else:
            assert (one.reward == one.reward.round()).all()
        timed = (one.close - one.open < one.budget - 1e-9).mean()
        kinds.add((variable, timed > 0.9))
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


def test_days_have_appointments() -> None:
    """All kinds of hours, moments that are worth more than most, long stays, ends elsewhere."""
    drawn = generate("days", nodes=20, count=60, seed=3)
    assert {one.separate_end for one in drawn} == {False, True}
    kinds: dict[str, list[float]] = {"always": [], "hours": [], "moment": []}
    for one in drawn:
        width = (one.close - one.open)[1:] / one.budget
        of = np.repeat(np.arange(20), np.diff(one.piece_start))
        most = one.reward + np.bincount(of, one.piece_rate * one.piece_length, minlength=20)
        worth = most[1:] / most[1:].mean()
        for name, those in (
            ("always", np.isinf(width)),
            ("hours", np.isfinite(width) & (width > 0.05)),
            ("moment", width < 0.02),
        ):
            kinds[name] += worth[those].tolist()
    assert min(map(len, kinds.values())) > 100
    assert np.mean(kinds["moment"]) > np.mean(kinds["hours"])
