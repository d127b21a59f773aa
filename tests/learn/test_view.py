"""Tests of what is told of every choice: each number against the checker, STO or a sum by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from decost import Instance, check, generate, make_solution, optimal_stays
from decost.inference.problems import turn
from decost.learn.features import Problems, load_problems
from decost.learn.rollout import State, roll_out, sampled_choice, start_state
from decost.learn.view import View, observe
from decost.timeline.profile import window
from policies import RandomPolicy, lively_instances, metric
from seeds import seeds
from strategies import profit_by_hand
from whole_networks import front_of

NAMES = (
    *("is home", "x", "y", "way", "wait", "start capped", "start", "spare capped", "spare"),
    *("home", "budget", "spare at home", "rate", "max stay", "min stay", "reward", "own"),
    *("certain", "quarter", "half", "last", "lost", "best rate", "pending"),
)
"""Features of a candidate, in their order."""

POINTS = (0.0, 0.25, 0.5, 1.0)
"""Parts of the spare time at which profits before a stop are told."""

FAR = 4.0
"""Times and profits beyond so many units make no difference between pairs."""

BEYOND = 20.0
"""No feature of a candidate is larger."""


@dataclass
class Moment:
    """A state of one sample with a choice, and what is told of it."""

    instance: Instance
    problems: Problems
    state: State
    row: int
    sample: int
    routes: list[list[int]]
    view: View
    at: int

    @property
    def route(self) -> list[int]:
        """Stops of the vehicle that is on its way."""
        return self.routes[-1]

    @property
    def leave(self) -> float:
        """When the vehicle can leave, worked out by walking its route with the shortest stays."""
        clock, place = 0.0, 0
        for stop in self.route:
            start = max(clock + self.instance.travel[place, stop], self.instance.open[stop])
            clock, place = start + self.instance.min_stay[stop], stop
        return clock

    @property
    def time_unit(self) -> float:
        """Unit of time."""
        return float(self.problems.time_unit[self.row])

    @property
    def profit_unit(self) -> float:
        """Unit of profit."""
        return float(self.problems.profit_unit[self.row])

    def candidates(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Go through the candidates: the number of each in the instance, and its features."""
        numbers = self.problems.node[self.row].tolist()
        for place in range(self.view.node.shape[1]):
            if self.view.live[self.at, place]:
                values = self.view.tokens[self.at, place].tolist()
                number = numbers[int(self.view.node[self.at, place])]
                yield number, dict(zip(NAMES, values, strict=True))


def moments(
    some: list[Instance], seed: int, context: int = 100, samples: int = 2
) -> Iterator[Moment]:
    """Look at every state with a choice on random ways through some instances."""
    policy = RandomPolicy(seed, stays=False, prefix=True)
    problems = load_problems(some)
    choose = sampled_choice(torch.Generator().manual_seed(seed))
    rollout = roll_out(policy, problems, samples, choose)
    for step, state in enumerate(policy.states):
        index = (state.live.sum(2).flatten() > 1).nonzero()[:, 0]
        if not len(index):
            continue
        view = observe(problems, state, index, context)
        assert len(view) == len(index)
        for at, number in enumerate(index.tolist()):
            row, sample = divmod(number, samples)
            routes: list[list[int]] = [[]]
            numbers = problems.node[row].tolist()
            for node in rollout.nodes[row, sample, :step].tolist():
                routes = [*routes[:-1], [*routes[-1], numbers[node]]] if node else [*routes, []]
            yield Moment(some[row], problems, state, row, sample, routes, view, at)


def lively(seed: int) -> list[Instance]:
    """Draw instances without short cuts."""
    drawn = [*lively_instances(seed), *generate("paper", nodes=25, window=300, seed=seed)]
    return [metric(one) for one in drawn]


def near(value: float, most: float = BEYOND) -> object:
    """Compare in single precision, with what is beyond the limit cut off."""
    return pytest.approx(min(max(value, -most), most), rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("seed", seeds(3))
def test_times(seed: int) -> None:
    """Ways, waits, starts and what is left of windows and budget, each worked out by itself."""
    told = 0
    for moment in moments(lively(seed), seed):
        instance, unit, leave = moment.instance, moment.time_unit, moment.leave
        place = moment.route[-1] if moment.route else 0
        for stop, token in moment.candidates():
            if stop == 0:
                continue
            way = instance.travel[place, stop]
            start = max(leave + way, instance.open[stop])
            home = instance.travel[stop, instance.end]
            shortest = instance.min_stay[stop]
            latest = min(
                instance.close[stop],
                instance.leave_by[stop] - shortest,
                instance.budget - home - shortest,
            )
            assert token["is home"] == 0
            assert token["way"] == near(way / unit)
            assert token["wait"] == near(math.asinh((start - leave - way) / unit))
            assert token["start"] == near(math.asinh((start - leave) / unit))
            assert token["start capped"] == near(min((start - leave) / unit, FAR))
            spare = max(0.0, latest - start) / unit
            assert token["spare"] == near(math.asinh(spare))
            assert token["spare capped"] == near(min(spare, FAR))
            assert token["home"] == near(home / unit)
            assert token["budget"] == near(math.asinh((instance.budget - leave) / unit))
            rest = instance.budget - start - shortest - home
            assert token["spare at home"] == near(math.asinh(rest / unit))
            longest = min(instance.max_stay[stop], instance.budget)
            assert token["max stay"] == near(longest / unit)
            assert token["min stay"] == near(shortest / unit)
            told += 1
    assert told > 50


@pytest.mark.parametrize("seed", seeds(3))
def test_spare_is_what_the_checker_allows(seed: int) -> None:
    """A start put off by a little less than the spare time is accepted, a little more is not."""
    told = 0
    for moment in moments(lively(seed), seed):
        instance, leave = moment.instance, moment.leave
        place = moment.route[-1] if moment.route else 0
        for stop, token in moment.candidates():
            if stop == 0 or token["spare"] > 5:
                continue
            spare = math.sinh(token["spare"]) * moment.time_unit
            start = max(leave + instance.travel[place, stop], instance.open[stop])
            for change, accepted in ((-1e-4, True), (1e-4, False)):
                wait = max(0.0, start + spare + change * instance.budget)
                if wait < start:
                    continue
                late = instance.replace(
                    open=[wait if k == stop else at for k, at in enumerate(instance.open)],
                    close=[
                        max(wait, at) if k == stop else at for k, at in enumerate(instance.close)
                    ],
                )
                longer = [*moment.routes[:-1], [*moment.route, stop]]
                stays = [instance.min_stay[route] for route in longer]
                wrong = check(late, make_solution(late, longer, stays))
                closes = wait > instance.close[stop]
                assert (wrong == [] and not closes) == accepted
                told += 1
    assert told > 50


@pytest.mark.parametrize("seed", seeds(3))
def test_own_profit(seed: int) -> None:
    """What the stop itself can earn if the vehicle goes there at once and then home."""
    told = 0
    for moment in moments(lively(seed), seed):
        instance, unit, leave = moment.instance, moment.profit_unit, moment.leave
        place = moment.route[-1] if moment.route else 0
        for stop, token in moment.candidates():
            if stop == 0:
                continue
            start = max(leave + instance.travel[place, stop], instance.open[stop])
            end = min(
                instance.leave_by[stop], instance.budget - instance.travel[stop, instance.end]
            )
            reward, shortest = instance.reward[stop], instance.min_stay[stop]
            pieces = instance.pieces[stop]
            earned = profit_by_hand(reward, shortest, pieces, max(shortest, end - start))
            assert token["own"] == near(earned / unit)
            assert token["reward"] == near(reward / unit)
            best = max((rate for rate, _ in pieces), default=0.0)
            assert token["rate"] == near(best * moment.time_unit / unit)
            told += len(pieces) > 0
    assert told > 20


@pytest.mark.parametrize("seed", seeds(3))
def test_profit_before_a_stop(seed: int) -> None:
    """Certain profit and what can be had by starting later equal STO for a stop of no stay.

    The stop is made to close where the feature looks, at the earliest start, and after a
    quarter, a half and all of the spare time.
    """
    told = earning = 0
    for moment in moments(lively(seed), seed):
        instance, unit, leave = moment.instance, moment.profit_unit, moment.leave
        place = moment.route[-1] if moment.route else 0
        value = front_of(instance, moment.route)[0].value
        for stop, token in moment.candidates():
            if stop == 0:
                continue
            start = max(leave + instance.travel[place, stop], instance.open[stop])
            shortest = instance.min_stay[stop]
            home = instance.budget - instance.travel[stop, instance.end] - shortest
            latest = min(instance.close[stop], instance.leave_by[stop] - shortest, home)
            pieces = [[] if k == stop else table for k, table in enumerate(instance.pieces)]
            gains = []
            for part in POINTS:
                closes = start + part * max(0.0, latest - start)
                narrow = instance.replace(
                    close=[closes if k == stop else at for k, at in enumerate(instance.close)],
                    pieces=pieces,
                )
                profit = optimal_stays(narrow, [[*moment.route, stop]]).profit[0]
                gains.append((profit - instance.reward[stop] - value) / unit)
            assert token["certain"] == near(gains[0])
            for name, gain in zip(("quarter", "half", "last"), gains[1:], strict=True):
                assert token[name] == near(gain - gains[0])
            earning += gains[-1] > gains[0] > 0
            told += 1
    assert told > 50
    assert earning > 0


@pytest.mark.parametrize("seed", seeds(3))
def test_profit_before_a_stop_by_the_kernel(seed: int) -> None:
    """The compiled function, cut at the stop's window, tells the same profits."""
    told = 0
    for moment in moments(lively(seed), seed):
        instance, unit = moment.instance, moment.profit_unit
        place = moment.route[-1] if moment.route else 0
        for stop, token in moment.candidates():
            if stop == 0:
                continue
            front, pool = front_of(instance, moment.route)
            room = front.room
            arrive = front.time + instance.travel[place, stop]
            start = max(arrive, instance.open[stop])
            shortest = instance.min_stay[stop]
            home = instance.budget - instance.travel[stop, instance.end] - shortest
            latest = min(instance.close[stop], instance.leave_by[stop] - shortest, home)
            limit = max(0.0, min(room - (start - arrive), latest - start))
            wait = min(start - arrive, room)
            spent, _, kept = window(pool, 0, front.pieces, wait, limit, pool, 0)
            assert token["certain"] == near(spent / unit)
            assert token["last"] == near(kept / unit)
            told += 1
    assert told > 50


@pytest.mark.parametrize("seed", seeds(3))
def test_home(seed: int) -> None:
    """Home is the first candidate; all that the route can earn is what its last gain says."""
    told = 0
    for moment in moments(lively(seed), seed):
        instance, unit, leave = moment.instance, moment.profit_unit, moment.leave
        (stop, token), *others = moment.candidates()
        assert stop == 0
        assert 0 not in [number for number, _ in others]
        assert token["is home"] == 1
        for name in ("home", "wait", "rate", "max stay", "min stay", "reward", "own", "certain"):
            assert token[name] == near(0.0)
        way = instance.travel[moment.route[-1], instance.end] if moment.route else 0.0
        assert token["way"] == near(way / moment.time_unit)
        spare = max(0.0, instance.budget - leave - way) / moment.time_unit
        assert token["spare"] == near(math.asinh(spare))
        value = front_of(instance, moment.route)[0].value
        earned = optimal_stays(instance, [moment.route]).profit[0]
        assert token["last"] == near((earned - value) / unit)
        told += len(moment.route) > 0
    assert told > 5


@pytest.mark.parametrize("seed", seeds(3))
def test_pending_profit(seed: int) -> None:
    """Told alike for all candidates; it is what the last gain has, and what is lost by then."""
    for moment in moments(lively(seed), seed):
        tokens = [token for _, token in moment.candidates()]
        pending = {token["pending"] for token in tokens}
        assert len({token["best rate"] for token in tokens}) == len(pending) == 1
        for token in tokens:
            total = token["certain"] + token["last"] + token["lost"]
            if max(pending) < BEYOND:
                assert total == near(token["pending"])
            assert token["lost"] >= -1e-5
        route, instance = moment.route, moment.instance
        if len(route) == 1:  # nothing is cut or spent yet
            rates, lengths = np.reshape(instance.pieces[route[0]], (-1, 2)).T
            lengths = np.minimum(lengths, instance.budget)
            full = float((rates * lengths).sum())
            assert max(pending) == near(full / moment.profit_unit)
            assert tokens[0]["best rate"] == near(
                max(rates, default=0.0) * moment.time_unit / moment.profit_unit
            )


def test_map() -> None:
    """Where a candidate lies, seen from the vehicle, as a part of the longer side of the map."""
    (instance,) = generate("mixed", nodes=12, seed=3)
    assert instance.xy is not None
    useful = load_problems([instance]).node[0].tolist()
    side = np.ptp(instance.xy[useful], axis=0).max()
    assert side == np.ptp(instance.xy, axis=0).max()
    for moment in moments([instance], 3):
        place = moment.route[-1] if moment.route else 0
        for stop, token in moment.candidates():
            x, y = (instance.xy[stop] - instance.xy[place]) / side
            assert (token["x"], token["y"]) == (near(x), near(y))


def test_turned_map() -> None:
    """Of 16 samples, two each see the map in one of the eight positions, and all else alike."""
    problems = load_problems(generate("mixed", nodes=12, count=2, seed=3))
    plain = observe(problems, start_state(problems, 16, prefix=True), torch.arange(32), 50)
    turned = problems.turned()
    view = observe(turned, start_state(turned, 16, prefix=True), torch.arange(32), 50)
    assert torch.equal(view.node, plain.node)
    assert torch.equal(view.pairs, plain.pairs)
    rest = [k for k in range(len(NAMES)) if k not in (1, 2)]
    assert torch.equal(view.tokens[..., rest], plain.tokens[..., rest])
    for at in range(32):
        expected = turn(plain.tokens[at, :, 1:3].numpy(), np.array(at % 16 // 2))
        assert view.tokens[at, :, 1:3].tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_pairs(seed: int) -> None:
    """One right before another: the way, the stay that is free, and whether the checker agrees."""
    told = [0, 0]
    for moment in moments(lively(seed), seed, samples=1):
        instance, unit, leave = moment.instance, moment.time_unit, moment.leave
        place = moment.route[-1] if moment.route else 0
        order = [stop for stop, _ in moment.candidates()]
        pairs = moment.view.pairs[moment.at].permute(1, 2, 0)
        for a, first in enumerate(order[1:], 1):
            start = max(leave + instance.travel[place, first], instance.open[first])
            gone = start + instance.min_stay[first]
            longest = min(instance.max_stay[first], instance.budget) - instance.min_stay[first]
            rate = max((rate for rate, _ in instance.pieces[first]), default=0.0)
            pay = rate * unit / moment.profit_unit
            for b, second in enumerate(order[1:], 1):
                if a == b:
                    continue
                leg, free, most, earned, could, late = pairs[a, b].tolist()
                arrive = gone + instance.travel[first, second]
                begin = max(leave + instance.travel[place, second], instance.open[second])
                shortest = instance.min_stay[second]
                home = instance.budget - instance.travel[second, instance.end] - shortest
                latest = min(instance.close[second], instance.leave_by[second] - shortest, home)
                assert leg == near(instance.travel[first, second] / unit, FAR)
                assert free == near((begin - arrive) / unit, FAR)
                assert most == near((latest - arrive) / unit, FAR)
                spent = max(0.0, min(begin - arrive, longest)) / unit
                assert earned == near(pay * spent, FAR)
                assert could == near(pay * max(0.0, min(latest - arrive, longest)) / unit, FAR)
                if abs(latest - arrive) > 1e-5 * instance.budget:
                    longer = [*moment.routes[:-1], [*moment.route, first, second]]
                    stays = [instance.min_stay[route] for route in longer]
                    wrong = check(instance, make_solution(instance, longer, stays)) != []
                    assert (late == 1) == wrong
                    told[wrong] += 1
    assert min(told) > 10


@pytest.mark.parametrize("context", [1, 3])
def test_context(context: int) -> None:
    """Of many stops those are told of that can be served first, as if all were; and home."""
    cut = 0
    some = lively(2)
    for moment, whole in zip(moments(some, 2, context), moments(some, 2), strict=True):
        wide = dict(whole.candidates())
        found = dict(moment.candidates())
        place = moment.route[-1] if moment.route else 0
        instance, leave = moment.instance, moment.leave

        def start(
            stop: int, instance: Instance = instance, leave: float = leave, place: int = place
        ) -> float:
            return max(leave + instance.travel[place, stop], instance.open[stop])

        stops = [stop for stop in wide if stop]
        kept = [stop for stop in found if stop]
        assert 0 in found
        assert len(kept) == min(context, len(stops))
        left_out = set(stops) - set(kept)
        if left_out:
            latest = max(map(start, kept))
            assert latest <= min(map(start, left_out)) + 1e-9
            cut += 1
        assert all(wide[stop] == token for stop, token in found.items())
    assert cut > 5


def test_shapes_and_padding() -> None:
    """States with fewer choices than others are padded, and no stop is told of twice."""
    some = lively(4)
    for moment in moments(some, 4):
        view = moment.view
        size = view.node.shape[1]
        assert view.tokens.shape == (len(view), size, len(NAMES))
        assert view.pairs.shape == (len(view), 6, size, size)
        assert view.tokens.isfinite().all()
        assert view.pairs.isfinite().all()
        live = moment.state.live[moment.row, moment.sample]
        told = view.node[moment.at][view.live[moment.at]].tolist()
        assert sorted(told) == live.nonzero()[:, 0].tolist()
        assert int(view.state[moment.at]) == 2 * moment.row + moment.sample


def test_by_hand() -> None:
    """After one stop of rate 3 for up to 4, another opens later, and waiting is worth its rate.

    Stop 1 is left at 1 at the earliest, stop 2 is 2 away and opens at 5: the wait of 2 earns 6.
    It closes at 6, so that one more unit earns 3, and the last of the 4 units is lost.
    """
    instance = Instance(
        budget=20,
        xy=[[0, 0], [1, 0], [3, 0]],
        open=[0, 0, 5],
        close=[0, 9, 6],
        rate=[0, 3, 1],
        max_stay=[0, 4, 2],
    )
    problems = load_problems([instance])
    time, profit = (1 + 3 + 2) / 3, (12 + 2) / 2
    assert problems.time_unit.tolist() == [time]
    assert problems.profit_unit.tolist() == [profit]
    found = [moment for moment in moments([instance], 0) if moment.route == [1]]
    assert found
    for moment in found:
        (_, home), (stop, token) = moment.candidates()
        assert stop == 2
        assert token["certain"] == near(6 / profit)
        assert token["last"] == near(3 / profit)
        assert token["lost"] == near(3 / profit)
        assert token["pending"] == near(12 / profit)
        assert token["own"] == near(2 / profit)
        assert token["wait"] == near(math.asinh(2 / time))
        assert token["spare"] == near(math.asinh(1 / time))
        assert home["last"] == near(12 / profit)


def paid_for_time(instance: Instance, stop: int, begin: float) -> float:
    """Give the most that a stop earns if it is begun then, for the time since the start."""
    stays = begin + float(instance.min_stay[stop])
    home = float(instance.travel[stop, 0])
    limit = min(float(instance.leave_by[stop]), instance.budget - home) - stays
    earned, spent = float(instance.reward[stop]), 0.0
    for rate, length in instance.pieces[stop]:
        part = max(0.0, min(length, limit - spent))
        earned, spent = earned + rate * part, spent + part
    return earned / (stays + spent) if stays + spent > 0.0 else math.inf


@pytest.mark.parametrize("seed", range(3))
def test_promising_candidates(seed: int) -> None:
    """Beside those that start first there are those that pay most for their time."""
    some = lively(seed)
    problems = load_problems(some)
    state = start_state(problems, 1, prefix=True)
    view = observe(problems, state, torch.arange(len(some)), 6, 3)
    several = 0
    for row, instance in enumerate(some):
        numbers = problems.node[row].tolist()
        live = [k for k in range(1, len(numbers)) if bool(state.live[row, 0, k])]
        start = state.start[row, 0].tolist()

        pay = {k: paid_for_time(instance, numbers[k], start[k]) for k in live}
        first = sorted(live, key=start.__getitem__)[:3]
        others = sorted(set(live) - set(first), key=pay.__getitem__, reverse=True)
        shown = set(view.node[row][view.live[row]].tolist()) - {0}
        assert shown == {*first, *others[:3]}
        several += len(others) > 3
    assert several
