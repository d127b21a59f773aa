"""Tests of the moves of iterated local search, against plain Python, numpy and the checker.

They run without compilation too, so instances are small.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decost import Instance, check, make_solution, optimal_stays
from decost.baselines.ils_moves import (
    LEAST_SAVING,
    Fits,
    Plan,
    Rules,
    choose,
    copy_plan,
    exchange_routes,
    extend_stays,
    fit_stops,
    improve,
    insert_stops,
    iterate,
    keeps_time,
    make_plan,
    move_visits,
    optimise_stays,
    put_route,
    replace_visits,
    set_stay,
    set_times,
    shake,
    shorten_worst,
    swap_between,
    swap_within,
    total_profit,
    turn_within,
    weigh_route,
)
from decost.draws import draw, random_state
from decost.timeline.network import Network, network_as_given
from odd_instances import odd_instance
from seeds import MORE
from strategies import profit_by_hand

GO = np.zeros(1, dtype=np.uint8)
HALT = np.ones(1, dtype=np.uint8)

Routes = list[list[int]]


def network(instance: Instance) -> Network:
    """Give the network that the moves work on."""
    return network_as_given(instance.arrays)


@dataclass
class Case:
    """An instance and a plan for it, as the kernels see it."""

    instance: Instance
    plan: Plan

    @property
    def routes(self) -> Routes:
        """Routes of the plan."""
        plan = self.plan
        return [plan.stops[r, : plan.size[r]].tolist() for r in range(len(plan.size))]

    @property
    def visited(self) -> list[int]:
        """All stops on routes, in rising order."""
        return sorted(itertools.chain.from_iterable(self.routes))

    @property
    def travel(self) -> float:
        """Travel time of all routes."""
        return sum(travel_time(self.instance, route) for route in self.routes)

    def profit_at(self, stop: int, stay: float) -> float:
        """Profit of a stay, read off the curve."""
        one = self.instance
        return profit_by_hand(one.reward[stop], one.min_stay[stop], one.pieces[stop], stay)

    def require_sound(self) -> None:
        """Demand that the checker accepts the plan, and that all that is noted of it is true."""
        plan, stays = self.plan, self.plan.stay.tolist()
        solution = make_solution(
            self.instance, self.routes, [plan.stay[route] for route in self.routes]
        )
        assert check(self.instance, solution) == []
        assert np.flatnonzero(plan.visited).tolist() == self.visited
        assert total_profit(plan) == pytest.approx(solution.profit, rel=1e-9)
        margin = 1e-9 * self.instance.budget
        for route in self.routes:
            starts = starts_of(self.instance, route, stays)
            for k, stop in enumerate(route):
                depart = latest_departure(self.instance, route, stays, k)
                latest = min(float(self.instance.close[stop]), depart - stays[stop])
                assert plan.begin[stop] == pytest.approx(starts[k], abs=margin)
                assert plan.depart[stop] == pytest.approx(depart, abs=margin)
                assert plan.latest[stop] == pytest.approx(latest, abs=margin)
                assert plan.profit[stop] == pytest.approx(self.profit_at(stop, stays[stop]))


def travel_time(instance: Instance, route: Sequence[int]) -> float:
    """Travel time of a route, by numpy; a vehicle without visits does not travel."""
    places = np.array([0, *route, instance.end])
    return float(instance.travel[places[:-1], places[1:]].sum()) if len(route) else 0.0


def starts_of(instance: Instance, route: Sequence[int], stays: Sequence[float]) -> list[float]:
    """Start of every service, as early as can be; `stays` are by stop."""
    starts: list[float] = []
    time, place = 0.0, 0
    for stop in route:
        starts.append(max(time + float(instance.travel[place, stop]), float(instance.open[stop])))
        time, place = starts[-1] + stays[stop], stop
    return starts


def lateness(instance: Instance, route: Sequence[int], stays: Sequence[float]) -> float:
    """How much the worst of all deadlines is missed by; negative if all are kept."""
    starts = starts_of(instance, route, stays)
    late = [-np.inf]
    for stop, start in zip(route, starts, strict=True):
        late += [start - instance.close[stop], start + stays[stop] - instance.leave_by[stop]]
    if len(route):
        home = starts[-1] + stays[route[-1]] + instance.travel[route[-1], instance.end]
        late.append(home - instance.budget)
    return float(max(late))


def latest_departure(
    instance: Instance, route: Sequence[int], stays: Sequence[float], position: int
) -> float:
    """Latest end of a service for which no later visit is late: the tightest of all deadlines.

    Each deadline is counted back along the way without a wait, since waits only make it easier.
    """
    deadlines = [float(instance.leave_by[route[position]])]
    way = 0.0
    place = route[position]
    for stop in route[position + 1 :]:
        way += float(instance.travel[place, stop])
        deadlines.append(float(instance.close[stop]) - way)
        way += stays[stop]
        deadlines.append(float(instance.leave_by[stop]) - way)
        place = stop
    deadlines.append(instance.budget - way - float(instance.travel[place, instance.end]))
    return min(deadlines)


def earning_stay(instance: Instance, stop: int) -> float:
    """Longest stay that earns more than a shorter one, within the budget."""
    pieces = instance.pieces[stop]
    return float(instance.min_stay[stop] + pieces[pieces[:, 0] > 0, 1].sum())


def make_case(instance: Instance, routes: Routes, stays: Sequence[float] | None = None) -> Case:
    """Make a plan of routes; `stays` are by stop, by default the shortest."""
    plan = make_plan(instance.nodes, instance.vehicles)
    given_stays = instance.min_stay if stays is None else stays
    for r, route in enumerate(routes):
        for stop in route:
            plan.visited[stop] = True
            set_stay(network(instance), plan, stop, float(given_stays[stop]))
        put_route(network(instance), plan, r, np.array(route, dtype=np.int64), len(route))
    return Case(instance, plan)


@st.composite
def cases(draw: st.DrawFn, most: int = 7) -> Case:
    """Draw an odd instance for one to three vehicles, and a feasible plan with any stays.

    In half of them there is time for long routes.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    instance = odd_instance(random, draw(st.integers(1, most)))
    instance = instance.replace(vehicles=draw(st.integers(1, 3)))
    if draw(st.booleans()):
        late = 3 * instance.budget
        instance = instance.replace(
            budget=late, close=instance.close + late, leave_by=instance.leave_by + late / 2
        )
    routes: Routes = [[] for _ in range(instance.vehicles)]
    for stop in 1 + random.permutation(instance.stops):
        if random.random() < 0.8:
            route = routes[int(random.integers(instance.vehicles))]
            place = int(random.integers(len(route) + 1))
            if optimal_stays(instance, [[*route[:place], stop, *route[place:]]]).feasible:
                route.insert(place, int(stop))
    stays = instance.min_stay.copy()
    for route, best in zip(routes, optimal_stays(instance, routes).stays, strict=True):
        share = random.choice([0.0, 0.5, 1.0], len(route))
        stays[route] += share * (best - stays[route])
    return make_case(instance, routes, stays)


def scratch(instance: Instance) -> tuple[Fits, np.ndarray]:
    """Give the arrays that insertions work in."""
    fits = Fits(*(np.zeros(instance.nodes) for _ in range(3)))
    return fits, np.zeros((instance.vehicles, instance.nodes))


def on_a_line(**changes: object) -> Instance:
    """Put stops 1, 2 and 3 at x = 1, 2 and 3, with a stay of up to 4 at rates 3, 1 and 2."""
    given: dict[str, object] = {
        "budget": 20,
        "xy": [[0, 0], [1, 0], [2, 0], [3, 0]],
        "rate": [0, 3, 1, 2],
        "max_stay": [0, 4, 4, 4],
    }
    return Instance(**(given | changes))  # type: ignore[arg-type]


@given(cases())
def test_times_of_a_route(case: Case) -> None:
    """Starts, latest starts and latest departures are those of a walk over all deadlines."""
    case.require_sound()


@pytest.mark.parametrize(
    ("changes", "late"),
    [
        ({}, False),
        ({"close": [0, 9, 4, 9]}, False),
        ({"close": [0, 9, 3.9, 9]}, True),
        ({"leave_by": [0, 9, 5, 9]}, False),
        ({"leave_by": [0, 9, 4.9, 9]}, True),
        ({"open": [0, 3, 0, 0]}, True),
        ({"budget": 7.9}, True),
    ],
)
def test_each_deadline(changes: dict[str, object], late: bool) -> None:
    """Stop 1 is served from 1 to 2, stop 2 from 4 to 5, and home is reached at 8."""
    travel = [[0, 1, 9, 9], [9, 0, 2, 9], [3, 9, 0, 9], [9, 9, 9, 0]]
    given: dict[str, object] = {"budget": 8, "travel": travel, "close": [0, 9, 9, 9]}
    instance = Instance(**(given | changes))  # type: ignore[arg-type]
    assert keeps_time(network(instance), np.ones(4), np.array([1, 2]), 2) != late


@given(cases(), st.randoms(use_true_random=False))
def test_deadlines(case: Case, random: Random) -> None:
    """A route in any other order is in time if no deadline is missed on it."""
    instance, stays = case.instance, case.plan.stay
    for route in case.routes:
        for _ in range(5):
            random.shuffle(route)
            late = lateness(instance, route, stays.tolist())
            if abs(late) > 1e-8 * instance.budget:
                way = np.array(route, dtype=np.int64)
                assert keeps_time(network(instance), stays, way, len(way)) == (late < 0)


@given(cases())
def test_stay_is_the_longest_that_fits(case: Case) -> None:
    """The checker accepts it, and no longer one unless it would not earn more."""
    instance, plan = case.instance, case.plan
    fits, _ = scratch(instance)
    margin = 1e-8 * instance.budget
    stays = plan.stay.tolist()
    for r, route in enumerate(case.routes):
        for place in range(len(route) + 1):
            fit_stops(network(instance), plan, fits, r, place - 1, place, 1, instance.nodes)
            for stop in range(1, instance.nodes):
                longer = [*route[:place], stop, *route[place:]]
                if plan.visited[stop]:
                    assert fits.stay[stop] == -1
                    assert fits.weight[stop] == 0
                    continue
                stays[stop] = instance.min_stay[stop]
                if fits.stay[stop] < 0:
                    assert lateness(instance, longer, stays) > -margin
                    continue
                stays[stop] = fits.stay[stop]
                solution = make_solution(instance, [longer], [[stays[k] for k in longer]])
                assert check(instance, solution) == []
                assert fits.score[stop] == pytest.approx(case.profit_at(stop, stays[stop]))
                if stays[stop] < earning_stay(instance, stop) - margin:
                    late = latest_departure(instance, longer, stays, place)
                    start = starts_of(instance, longer, stays)[place]
                    assert start + stays[stop] == pytest.approx(late, abs=margin)
                    stays[stop] += 3 * instance.tolerance
                    solution = make_solution(instance, [longer], [[stays[k] for k in longer]])
                    assert check(instance, solution) != []


def test_weights_by_hand() -> None:
    """Score squared over shift, on an empty route and on either side of a visit to stop 2.

    The budget of 9 leaves 7, 5 and 3 after the way to stop 1, 2 and 3 and back. The visit to 2
    takes 1. Stop 1 before or after it is no detour, and 4 of 9 - 5 are left; stop 3 is one of 2.
    """
    instance = on_a_line(budget=9)
    fits, _ = scratch(instance)
    fit_stops(network(instance), make_case(instance, [[]]).plan, fits, 0, -1, 0, 1, 4)
    assert fits.stay.tolist()[1:] == [4, 4, 3]
    assert fits.score.tolist()[1:] == [12, 4, 6]
    assert fits.weight.tolist()[1:] == pytest.approx([144 / 6, 16 / 8, 36 / 9])
    plan = make_case(instance, [[2]], [0, 0, 1, 0]).plan
    for before, after in ((-1, 0), (0, 1)):
        fit_stops(network(instance), plan, fits, 0, before, after, 1, 4)
        assert fits.stay.tolist()[1:] == [4, -1, 2]
        assert fits.weight.tolist()[1:] == pytest.approx([144 / 4, 0, 16 / 4])
    # A wait is part of the shift: stop 3 opens at 6, so that 1 of 9 - 2 - 2 - 1 - 2 is left of it.
    waiting = on_a_line(budget=9, open=[0, 0, 0, 6])
    plan = make_case(waiting, [[2]], [0, 0, 1, 0]).plan
    fit_stops(network(waiting), plan, fits, 0, 0, 1, 1, 4)
    assert (fits.stay[3], fits.score[3]) == (0, 0)
    plan = make_case(waiting.replace(budget=10), [[2]], [0, 0, 1, 0]).plan
    fit_stops(network(waiting.replace(budget=10)), plan, fits, 0, 0, 1, 1, 4)
    assert (fits.stay[3], fits.weight[3]) == (1, pytest.approx(4 / 5))


def test_idle_vehicles_do_not_travel() -> None:
    """On an empty route the whole way counts as shift, even if the end lies elsewhere.

    There and on to the end it is 1 + 2, and the way from depot to depot, 3, is not saved.
    """
    instance = Instance(
        budget=9, xy=[[0, 0], [1, 0], [3, 0]], separate_end=True, rate=[0, 3], max_stay=[0, 4]
    )
    fits, _ = scratch(instance)
    fit_stops(network(instance), make_case(instance, [[]]).plan, fits, 0, -1, 0, 1, 2)
    assert (fits.stay[1], fits.weight[1]) == (4, pytest.approx(144 / 7))


def test_weight_of_a_stop_on_the_way() -> None:
    """A shift of 0 does not make a weight infinite, and a score of 0 never makes one."""
    instance = on_a_line(max_stay=[0, 0, 0, 0], reward=[0, 5, 0, 5])
    fits, _ = scratch(instance)
    plan = make_case(instance, [[3]]).plan
    fit_stops(network(instance), plan, fits, 0, -1, 0, 1, 4)
    assert fits.weight[1] == pytest.approx(25 / (LEAST_SAVING * 20))
    assert (fits.stay[2], fits.weight[2]) == (0, 0)


@given(cases())
@settings(max_examples=15 * MORE)
def test_weights_of_a_route(case: Case) -> None:
    """By stop they are those of its places, added up or the largest, and so is what is returned."""
    instance = case.instance
    fits, _ = scratch(instance)
    for r, route in enumerate(case.routes):
        by_place = []
        for place in range(len(route) + 1):
            fit_stops(network(instance), case.plan, fits, r, place - 1, place, 1, instance.nodes)
            by_place.append(fits.weight.copy())
        for roulette, rule in ((True, np.sum), (False, np.max)):
            weight = np.full(instance.nodes, 7.0)
            total = weigh_route(network(instance), case.plan, fits, r, roulette, weight)
            np.testing.assert_allclose(weight, rule(by_place, axis=0), rtol=1e-12)
            assert total == pytest.approx(rule(weight))


def near(count: int, number: int, probability: float) -> bool:
    """Whether a count is within five standard deviations of what is to be expected."""
    deviation = (number * probability * (1 - probability)) ** 0.5
    return abs(count - number * probability) <= 5 * deviation + 1e-9


def test_draws_are_uniform() -> None:
    """Numbers lie in [0, 1), each tenth of it with its share, and seeds differ."""
    state = random_state(3)
    drawn = np.array([draw(state) for _ in range(5000)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for tenth, count in enumerate(np.histogram(drawn, 10, (0, 1))[0]):
        assert near(count, 5000, 0.1), tenth
    assert random_state(3)[0] == random_state(3)[0] != random_state(4)[0]


@pytest.mark.parametrize("weights", [[1, 0, 3, 6], [0, 2, 0, 0], [1e-9, 1e-9, 0, 1e-9]])
def test_choice_by_weight(weights: list[float]) -> None:
    """An entry is drawn as often as its weight says, and one of weight 0 never."""
    state = random_state(1)
    weight = np.array(weights, dtype=np.float64)
    counts = Counter(choose(weight, True, state) for _ in range(4000))
    for entry, share in enumerate(weight / weight.sum()):
        assert near(counts[entry], 4000, share), entry
    before = state.copy()
    assert choose(weight, False, state) == int(np.argmax(weight))
    assert state == before


def outcomes(case: Case, routes: Routes, stays: list[float]) -> Iterator[tuple[str, float]]:
    """Plans that insertions can end in, with their probabilities, by draws among all triples."""
    instance = case.instance
    inside = set(itertools.chain.from_iterable(routes))
    triples: list[tuple[float, Routes, list[float]]] = []
    for r, route in enumerate(routes):
        for stop, place in itertools.product(range(1, instance.nodes), range(len(route) + 1)):
            if stop in inside:
                continue
            longer = [*route[:place], stop, *route[place:]]
            times = stays.copy()
            times[stop] = float(instance.min_stay[stop])
            if lateness(instance, longer, times) > 0:
                continue
            start = starts_of(instance, longer, times)[place]
            late = latest_departure(instance, longer, times, place)
            times[stop] = min(late - start, earning_stay(instance, stop))
            score = case.profit_at(stop, times[stop])
            # The shift: how much later the next place would be reached, were there no wait.
            leave, before = 0.0, 0
            if place:
                before = longer[place - 1]
                leave = starts_of(instance, longer, times)[place - 1] + times[before]
            after = [*longer, instance.end][place + 1]
            direct = float(instance.travel[before, after]) if route else 0.0
            shift = start + times[stop] + float(instance.travel[stop, after]) - leave - direct
            triples.append((score**2 / shift, [*routes[:r], longer, *routes[r + 1 :]], times))
    total = sum(weight for weight, _, _ in triples)
    if total == 0:
        yield str((routes, [[round(stays[stop], 6) for stop in route] for route in routes])), 1.0
    for weight, more, times in triples:
        for outcome, probability in outcomes(case, more, times) if weight else ():
            yield outcome, weight / total * probability


@pytest.mark.parametrize("vehicles", [1, 2])
def test_insertions_by_weight(vehicles: int) -> None:
    """Whole plans come out as often as all draws among (stop, route, position) give them."""
    instance = Instance(
        budget=8.5,
        xy=[[0, 0], [1, 0], [0, 1], [2, 1]],
        open=[0, 0, 2, 1],
        close=[0, 3, 6, 5],
        min_stay=[0, 0.5, 0, 0],
        rate=[0, 3, 2, 4],
        max_stay=[0, 2, 3, 2],
        vehicles=vehicles,
    )
    case = make_case(instance, [[]])
    expected: Counter[str] = Counter()
    for outcome, probability in outcomes(case, case.routes, [0.0] * 4):
        expected[outcome] += probability  # type: ignore[assignment]
    assert sum(expected.values()) == pytest.approx(1)
    assert len(expected) > 4
    counts: Counter[str] = Counter()
    state = random_state(2)
    number = 1500
    for _ in range(number):
        case = make_case(instance, [[]])
        insert_stops(network(instance), case.plan, *_arguments(instance, True, state))
        stays = [[round(float(case.plan.stay[k]), 6) for k in route] for route in case.routes]
        counts[str((case.routes, stays))] += 1
    assert set(counts) <= set(expected)
    for outcome, probability in expected.items():
        assert near(counts[outcome], number, float(probability)), outcome


def _arguments(
    instance: Instance, roulette: bool, state: np.ndarray, halt: np.ndarray = GO
) -> tuple[Fits, bool, np.ndarray, np.ndarray, np.ndarray]:
    """Give the arguments of `insert_stops` after the plan."""
    fits, weight = scratch(instance)
    return fits, roulette, state, weight, halt


@given(cases(), st.booleans(), st.integers(0, 99))
def test_insertions_leave_nothing_that_fits(case: Case, roulette: bool, seed: int) -> None:
    """Visits and their stays are kept, stops come in between, until none that earns fits."""
    instance, before = case.instance, case.routes
    stays = case.plan.stay.copy()
    insert_stops(network(instance), case.plan, *_arguments(instance, roulette, random_state(seed)))
    case.require_sound()
    for old, new in zip(before, case.routes, strict=True):
        assert [stop for stop in new if stop in old] == old
        assert (case.plan.stay[old] == stays[old]).all()
    fits, _ = scratch(instance)
    for r, route in enumerate(case.routes):
        for place in range(len(route) + 1):
            fit_stops(network(instance), case.plan, fits, r, place - 1, place, 1, instance.nodes)
            assert (fits.weight == 0).all()


def test_best_insertion_first() -> None:
    """Without a roulette the largest weight of all routes is inserted: no draw is taken.

    Stop 1 weighs 144 / 6, stop 3 64 / 10 and stop 2 16 / 8. After 1 is inserted, 3 fits behind
    it for 4 at a weight of 64 / 8, and on the other route as before; then 2 for 4 on the way.
    """
    instance = on_a_line(vehicles=2)
    case = make_case(instance, [[], []])
    state = random_state(0)
    before = state.copy()
    insert_stops(network(instance), case.plan, *_arguments(instance, False, state))
    assert state == before
    assert [sorted(route) for route in case.routes] == [[1, 2, 3], []]
    assert case.plan.stay.tolist() == [0, 4, 4, 4]


@pytest.mark.parametrize("roulette", [True, False])
def test_weights_of_all_sizes(roulette: bool) -> None:
    """A weight is not lost beside one that is 40 orders larger.

    The visit to stop 1 takes a whole day, so that the others are for the other vehicle.
    """
    instance = on_a_line(budget=9, rate=[0, 1e20, 1, 2], max_stay=[0, 7, 1, 1], vehicles=2)
    for seed in range(5):
        case = make_case(instance, [[], []])
        insert_stops(
            network(instance), case.plan, *_arguments(instance, roulette, random_state(seed))
        )
        case.require_sound()
        assert case.visited == [1, 2, 3]


Move = Callable[..., bool]


def run_move(kernel: Callable[..., bool], trials: int) -> Move:
    """Give a move its scratch."""

    def run(case: Case, halt: np.ndarray = GO) -> bool:
        arrays = [np.zeros(case.instance.nodes, dtype=np.int64) for _ in range(trials)]
        return bool(kernel(network(case.instance), case.plan, *arrays, halt))

    return run


MOVES: dict[str, Move] = {
    "swap within": run_move(swap_within, 1),
    "swap between": run_move(swap_between, 2),
    "turn": run_move(turn_within, 1),
    "move": run_move(move_visits, 2),
}


def neighbours(kind: str, routes: Routes) -> Iterator[Routes]:
    """All plans that one move leads to."""
    for r, route in enumerate(routes):
        for a, b in itertools.combinations(range(len(route)), 2):
            new = list(route)
            if kind == "swap within":
                new[a], new[b] = new[b], new[a]
            elif kind == "turn":
                new[a : b + 1] = reversed(new[a : b + 1])
            else:
                break
            yield [*routes[:r], new, *routes[r + 1 :]]
    for r, s in itertools.product(range(len(routes)), repeat=2):
        for a in range(len(routes[r])):
            if kind == "move":
                rest = [list(route) for route in routes]
                stop = rest[r].pop(a)
                for b in range(len(rest[s]) + 1):
                    yield [
                        [*way[:b], stop, *way[b:]] if k == s else way for k, way in enumerate(rest)
                    ]
            elif kind == "swap between" and r < s:
                for b in range(len(routes[s])):
                    new_routes = [list(route) for route in routes]
                    new_routes[r][a], new_routes[s][b] = routes[s][b], routes[r][a]
                    yield new_routes


@pytest.mark.parametrize("kind", MOVES)
@given(case=cases())
def test_moves(kind: str, case: Case) -> None:
    """A move keeps stops and stays, saves travel if it says so, and is repeated while one does."""
    instance = case.instance
    visited, stays, travel = case.visited, case.plan.stay.copy(), case.travel
    routes = case.routes
    changed = MOVES[kind](case)
    case.require_sound()
    assert case.visited == visited
    assert (case.plan.stay == stays).all()
    least = LEAST_SAVING * instance.budget
    if changed:
        assert case.travel < travel - least / 2
    else:
        assert case.routes == routes
    if kind != "move":
        assert list(map(len, case.routes)) == list(map(len, routes))
    times = stays.tolist()
    for other in neighbours(kind, case.routes):
        saving = case.travel - sum(travel_time(instance, route) for route in other)
        if saving > 2 * least:
            assert max(lateness(instance, route, times) for route in other) > 0


ANGLE = np.arange(7) / 7 * 2 * np.pi
RING = np.arange(5) - np.arange(5)[:, None]
VALLEY = np.array([0, 1, 1, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("kind", "place", "routes", "expected"),
    [
        # A ring road, one way: out of order a vehicle goes round once more.
        ("swap within", {"travel": RING % 5}, [[4, 2, 3, 1], []], [[1, 2, 3, 4], []]),
        ("move", {"travel": RING % 5}, [[1, 3, 4, 2], []], [[1, 2, 3, 4], []]),
        # Seven corners of a circle: a way that crosses itself is turned round in between.
        (
            "turn",
            {"xy": np.column_stack((np.cos(ANGLE), np.sin(ANGLE)))},
            [[1, 5, 4, 3, 2, 6], []],
            [[1, 2, 3, 4, 5, 6], []],
        ),
        # Two valleys with three stops each, two of which are visited by the wrong vehicle.
        (
            "swap between",
            {"travel": np.where(VALLEY[:, None] == VALLEY, 1, 5)},
            [[1, 2, 6], [4, 5, 3]],
            [[1, 2, 3], [4, 5, 6]],
        ),
    ],
)
def test_moves_by_hand(
    kind: str, place: dict[str, np.ndarray], routes: Routes, expected: Routes
) -> None:
    """A move finds the only better plan; once it is halted, nothing."""
    instance = Instance(budget=99, vehicles=2, **place)
    case = make_case(instance, routes)
    assert MOVES[kind](case)
    assert case.routes == expected
    case = make_case(instance, routes)
    assert not MOVES[kind](case, HALT)
    assert case.routes == routes


def test_move_to_an_idle_vehicle() -> None:
    """A route of its own can be shorter: from 1 to 2 it is 9, home from either 1."""
    travel = [[0, 1, 1], [1, 0, 9], [1, 9, 0]]
    case = make_case(Instance(budget=99, travel=travel, vehicles=2), [[1, 2], []])
    assert MOVES["move"](case)
    assert case.routes == [[2], [1]]


@pytest.mark.parametrize(("close", "moved"), [(5, False), (9, True)])
def test_short_cuts_are_moved_with_care(close: float, moved: bool) -> None:
    """Stop 2 saves more between 4 and 5 than between 1 and 3, but 3 is reached at 6 without it."""
    travel = np.full((6, 6), 30.0)
    for way, time in {(1, 2): 1, (2, 3): 1, (1, 3): 5, (4, 2): 1, (2, 5): 1, (4, 5): 20}.items():
        travel[way] = time
    travel[0, [1, 4]] = travel[[3, 5], 0] = 1
    instance = Instance(budget=99, travel=travel, close=[0, 9, 9, close, 9, 99], vehicles=2)
    case = make_case(instance, [[1, 2, 3], [4, 5]])
    assert MOVES["move"](case) == moved
    assert case.routes == ([[1, 3], [4, 2, 5]] if moved else [[1, 2, 3], [4, 5]])
    case.require_sound()


@given(cases())
def test_stays_are_extended_as_far_as_can_be(case: Case) -> None:
    """Routes are kept, no stay gets shorter, and none could be longer and earn more."""
    instance, routes = case.instance, case.routes
    stays, profit = case.plan.stay.copy(), total_profit(case.plan)
    changed = extend_stays(network(instance), case.plan, GO)
    case.require_sound()
    assert case.routes == routes
    assert (case.plan.stay >= stays).all()
    for stop in case.visited:
        longest = max(stays[stop], earning_stay(instance, stop))
        assert case.plan.stay[stop] <= longest + 1e-9 * instance.budget
    assert changed == (total_profit(case.plan) > profit)
    for route in case.routes:
        for stop in route:
            times = case.plan.stay.tolist()
            times[stop] = min(times[stop] + instance.tolerance, earning_stay(instance, stop))
            gain = case.profit_at(stop, times[stop]) - case.profit_at(stop, case.plan.stay[stop])
            assert gain <= 1e-9 * total_profit(case.plan) or lateness(instance, route, times) > 0


def test_largest_gain_is_extended_first() -> None:
    """Of 7 units stop 2 takes 6 at rate 2, more than stop 1 gains with 2 at rate 3; 1 is left."""
    instance = on_a_line(budget=11, rate=[0, 3, 2, 0], max_stay=[0, 2, 6, 0])
    case = make_case(instance, [[1, 2]])
    assert extend_stays(network(instance), case.plan, GO)
    assert case.plan.stay.tolist() == [0, 1, 6, 0]
    assert total_profit(case.plan) == 15
    case = make_case(instance, [[1, 2]])
    assert optimise(case)
    assert case.plan.stay.tolist() == [0, 2, 5, 0]
    assert total_profit(case.plan) == 16
    assert not optimise(case)
    case = make_case(instance, [[1, 2]])
    assert not extend_stays(network(instance), case.plan, HALT)
    assert case.plan.stay.tolist() == [0, 0, 0, 0]


def optimise(case: Case) -> bool:
    """Set optimal stays."""
    return bool(optimise_stays(network(case.instance), case.plan))


@given(cases())
@settings(max_examples=15 * MORE)
def test_optimal_stays(case: Case) -> None:
    """Every route earns the most that it can."""
    routes, profit = case.routes, total_profit(case.plan)
    changed = optimise(case)
    case.require_sound()
    assert case.routes == routes
    best = float(optimal_stays(case.instance, routes).profit.sum())
    assert total_profit(case.plan) == pytest.approx(best, rel=1e-12)
    assert changed == (best > profit * (1 + 1e-11))


def test_worst_stay_is_cut_to_its_minimum() -> None:
    """On each route the stay whose last unit earns least; a stay at its minimum never is.

    The second piece of stop 1 earns less than stop 2, its first more. Stop 3 is at its minimum.
    """
    pieces = [[], [[5, 1], [1, 1]], [[2, 4]], [[1, 4]], [[9, 9]]]
    instance = Instance(
        budget=99, xy=np.zeros((5, 2)), min_stay=[0, 1, 1, 1, 1], pieces=pieces, vehicles=2
    )
    for stay_at_1, expected in ((3, [1, 4, 1, 5]), (2, [2, 1, 1, 5])):
        case = make_case(instance, [[1, 2, 3], []], [0, stay_at_1, 4, 1, 5])
        shorten_worst(network(instance), case.plan)
        case.require_sound()
        assert case.plan.stay[case.visited].tolist() == expected[:3]
    case = make_case(instance, [[1, 2, 3], [4]], [0, 3, 4, 1, 5])
    shorten_worst(network(instance), case.plan)
    case.require_sound()
    assert case.plan.stay.tolist() == [0, 1, 4, 1, 1]


@given(cases())
def test_replacements_earn_more(case: Case) -> None:
    """A visit gives way, in its place, to a stop that is not visited and earns more there."""
    instance, before = case.instance, case.routes
    profit, stays = total_profit(case.plan), case.plan.stay.copy()
    fits, _ = scratch(instance)
    changed = replace_visits(network(instance), case.plan, fits, GO)
    case.require_sound()
    assert changed == (case.routes != before)
    assert (total_profit(case.plan) > profit) == changed
    for old, new in zip(before, case.routes, strict=True):
        for one, other in zip(old, new, strict=True):
            if one == other:
                assert case.plan.stay[one] == stays[one]
            else:
                assert case.plan.profit[other] > case.profit_at(one, stays[one])
    if changed:
        return
    for route in before:
        for place, stop in itertools.product(range(len(route)), range(1, instance.nodes)):
            if stop in case.visited:
                continue
            new = [*route[:place], stop, *route[place + 1 :]]
            times = stays.tolist()
            times[stop] = float(instance.min_stay[stop])
            if lateness(instance, new, times) <= 0:
                room = latest_departure(instance, new, times, place)
                room -= starts_of(instance, new, times)[place]
                score = case.profit_at(stop, min(room, earning_stay(instance, stop)))
                assert score <= case.plan.profit[route[place]] * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("post", "cons", "left"),
    [
        (0, 1, [2, 3, 4, 5]),
        (1, 2, [1, 4, 5]),
        (4, 1, [1, 2, 3, 4]),
        (3, 3, [2, 3]),
        (4, 4, [4]),
        (2, 5, []),
        (1, 99, []),
    ],
)
def test_shake(post: int, cons: int, left: list[int]) -> None:
    """So many visits from a position on go, at the end on from the beginning; others stay."""
    instance = Instance(budget=99, xy=np.zeros((8, 2)), rate=[1] * 8, max_stay=[9] * 8, vehicles=2)
    stays = np.arange(8.0)
    case = make_case(instance, [[1, 2, 3, 4, 5], [7, 6]], stays)
    shake(network(instance), case.plan, 0, post, cons)
    assert case.routes == [left, [7, 6]]
    assert case.plan.stay[[*left, 7, 6]].tolist() == [*left, 7, 6]
    case.require_sound()


def test_shake_without_a_short_cut() -> None:
    """If the visits that are left would be late without the others, they go as well."""
    travel = np.array([[0, 1, 9, 9], [9, 0, 1, 9], [9, 9, 0, 1], [1, 9, 9, 0]])
    case = make_case(Instance(budget=9, travel=travel, vehicles=1), [[1, 2, 3]])
    shake(network(case.instance), case.plan, 0, 1, 1)
    assert case.routes == [[]]
    case.require_sound()


def test_routes_are_exchanged() -> None:
    """Two different vehicles exchange routes of any length; each pair has its share."""
    instance = on_a_line(vehicles=3)
    state = random_state(9)
    counts: Counter[str] = Counter()
    for _ in range(600):
        case = make_case(instance, [[1, 2], [3], []], [0, 1, 2, 3])
        exchange_routes(network(instance), case.plan, state)
        case.require_sound()
        counts[str(case.routes)] += 1
    assert len(counts) == 3
    for routes in ([[3], [1, 2], []], [[], [3], [1, 2]], [[1, 2], [], [3]]):
        assert near(counts[str(routes)], 600, 1 / 3)


def copy_of(case: Case) -> Case:
    """Copy a plan."""
    plan = make_plan(case.instance.nodes, case.instance.vehicles)
    copy_plan(case.plan, plan)
    return Case(case.instance, plan)


class Search:
    """The search as it is told in words, step by step in Python."""

    def __init__(self, case: Case, reset_worst: bool, optimal: bool) -> None:
        self.case = case
        self.network = network(case.instance)
        self.reset_worst = reset_worst
        self.optimal = optimal
        self.state = random_state(5)

    def insert(self) -> None:
        """Insert stops while any fits."""
        insert_stops(
            self.network, self.case.plan, *_arguments(self.case.instance, True, self.state)
        )

    def improve(self) -> None:
        """Every move in its turn; insert again only if any of them changed something."""
        case, before = self.case, total_profit(self.case.plan)
        changed = [MOVES[kind](case) for kind in ("swap within", "swap between", "turn", "move")]
        if self.reset_worst:
            shorten_worst(self.network, case.plan)
            before = total_profit(case.plan)
        if self.optimal:
            changed.append(optimise(case))
        else:
            extend_stays(self.network, case.plan, GO)
            changed.append(total_profit(case.plan) > before)
        if any(changed):
            self.insert()
        replace_visits(self.network, case.plan, scratch(case.instance)[0], GO)

    def run(self, rounds: int) -> Case:
        """Improve, shake, and again; give the best plan that earns something, or the empty one."""
        nodes, vehicles = self.case.instance.nodes, self.case.instance.vehicles
        self.insert()
        self.improve()
        best = Case(self.case.instance, make_plan(nodes, vehicles))
        idle = int(total_profit(self.case.plan) <= 0)
        if not idle:
            best = copy_of(self.case)
        post, cons = 0, 1
        for number in range(1, rounds + 1):
            if idle in (10, 20, 30, 40):
                copy_plan(best.plan, self.case.plan)
            if idle > 20 and number % 3 == 0 and vehicles > 1:
                exchange_routes(self.network, self.case.plan, self.state)
            sizes = [len(route) for route in self.case.routes]
            for r, size in enumerate(sizes):
                if size:
                    shake(self.network, self.case.plan, r, post % size, cons)
            smallest = min((size for size in sizes if size), default=nodes)
            post = (post + cons) % smallest
            cons = 1 if cons >= min(smallest, max(1, nodes // (3 * vehicles))) else cons + 1
            self.insert()
            self.improve()
            idle += 1
            if total_profit(self.case.plan) > total_profit(best.plan):
                best = copy_of(self.case)
                idle = 0
        return best


@given(cases(), st.booleans(), st.booleans())
def test_improvement(case: Case, reset_worst: bool, optimal: bool) -> None:
    """All moves in turn leave a sound plan that earns no less, unless a stay was cut."""
    instance, profit = case.instance, total_profit(case.plan)
    search = Search(copy_of(case), reset_worst, optimal)
    fits, weight = scratch(instance)
    state = random_state(5)
    rules = Rules(True, reset_worst, optimal)
    improve(network(instance), case.plan, fits, rules, state, weight, GO)
    case.require_sound()
    assert reset_worst or total_profit(case.plan) >= profit * (1 - 1e-9)
    search.improve()
    assert search.case.routes == case.routes
    assert (search.case.plan.stay == case.plan.stay)[case.visited].all()
    assert search.state == state


def run_rounds(
    case: Case,
    rounds: int,
    halt: np.ndarray = GO,
    reset_worst: bool = False,
    optimal: bool = False,
) -> tuple[Case, np.ndarray, int]:
    """Run the whole search from a plan; give the best plan, what was noted, and its rounds."""
    instance = case.instance
    best = make_plan(instance.nodes, instance.vehicles)
    found = np.zeros(2)
    state = random_state(5)
    rules = Rules(True, reset_worst, optimal)
    done = iterate(network(instance), case.plan, best, found, state, rounds, rules, halt)
    return Case(instance, best), found, done


@given(cases(6), st.booleans(), st.booleans())
@settings(max_examples=15 * MORE)
def test_search(case: Case, reset_worst: bool, optimal: bool) -> None:
    """After so many rounds that all has happened, it is where the same in words leads to."""
    search = Search(copy_of(case), reset_worst, optimal)
    best, found, done = run_rounds(case, 45, GO, reset_worst, optimal)
    assert done == 45
    assert 0 <= found[1] <= 45
    case.require_sound()
    best.require_sound()
    assert found[0] == total_profit(best.plan) >= total_profit(case.plan)
    assert search.run(45).routes == best.routes
    assert search.case.routes == case.routes


def test_search_is_halted() -> None:
    """Once the flag is set, the plan is returned as it is, after no round."""
    instance = on_a_line(vehicles=2)
    case = make_case(instance, [[3, 1], [2]], [0, 1, 1, 1])
    best, found, done = run_rounds(case, 10**9, HALT)
    assert done == 0
    assert best.routes == [[3, 1], [2]]
    assert found.tolist() == [6, 0]


def test_copies_are_apart() -> None:
    """A copy has all of a plan, and a later change of the plan does not reach it."""
    instance = on_a_line(vehicles=2)
    case = make_case(instance, [[1, 2], [3]], [0, 1, 1, 1])
    copy = copy_of(case)
    shake(network(instance), case.plan, 0, 0, 2)
    set_stay(network(instance), case.plan, 3, 2.0)
    set_times(network(instance), case.plan, 1)
    assert copy.routes == [[1, 2], [3]]
    copy.require_sound()
    assert total_profit(copy.plan) == 6
