"""Plans for teams with a proof: column generation, the columns being routes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np

from decost.instance import BoolArray, FloatArray, Instance, IntArray
from decost.kernels.bounds import no_bounds
from decost.kernels.labels import EVERY, GUESS, LABELS, PROVE, Store, route_of
from decost.kernels.pricing import disjoint_families, priced, team_core, without_worthless
from decost.kernels.reduction import Core
from decost.methods.clock import Clock
from decost.methods.exact import ExactOptions, Known, Labels, grain_of, rounded
from decost.methods.greedy import first_plan
from decost.methods.interruptible import run_interruptibly
from decost.methods.options import Method
from decost.result import Result
from decost.stays import best_solution, optimal_stays

ACCURACY = 1e-9
"""Share of all profit that a bound may be above a plan that counts as proven."""

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the programs, whatever it is in the instance."""

FAMILIES, ROUTES = 10, 150
"""Most sets of routes without a common stop, and most routes, that one pricing adds."""

RANKED = 5_000
"""How many of the best routes these are chosen from."""

INERTIA = 0.7
"""Share of the best prices so far in the prices that are tried next."""

GUESS_SECONDS, PROVE_SECONDS, LIST_SECONDS, COMBINE_SECONDS = 0.2, 0.3, 5.0, 2.0
"""Most seconds to guess routes, for a proof of prices without bounds, to list all routes that can
be part of a better plan, and to combine the routes found so far."""

SHARE = 1e-6
"""Least share of a route that counts."""

DIVE_SECONDS, DETOURS = 3.0, 4
"""Most seconds to dive for a plan, and most times that the largest share is not taken."""

FIRST_LIST = 32
"""Part of the gap that the first such list is for; the next is for twice as much."""

LIST_MEMORY = 2**28
"""Most bytes of labels for such a list."""

LIST_ROUTES = 20_000
"""Most routes in it."""


@dataclass
class _Plan:
    """The best plan so far and what is proven of it; it survives an interruption."""

    routes: list[list[int]]
    profit: float
    bound: float
    proven: bool = False
    labels: int = 0
    branches: int = 0


@dataclass
class _Branch:
    """Some of all plans: stops that must be visited, arcs that may be used, and a bound."""

    bound: float
    forced: BoolArray
    arcs: BoolArray
    vehicles: int

    def without(self, stops: IntArray) -> _Branch:
        """Give what is left to the others when one vehicle visits some stops."""
        forced, arcs = self.forced.copy(), self.arcs.copy()
        forced[stops] = False
        arcs[stops] = arcs[:, stops] = False
        return _Branch(self.bound, forced, arcs, self.vehicles - 1)


class _Mix(NamedTuple):
    """The best mix of routes: its profit, their shares, and the prices of stops and vehicles."""

    profit: float
    share: FloatArray
    price: FloatArray
    vehicle: float


class _Proof(NamedTuple):
    """A bound on all plans of a branch: prices at which no route earns more than a value."""

    bound: float
    price: FloatArray
    value: float


def columns(instance: Instance, options: ExactOptions) -> Result:
    """Find the best plan for a team and prove it, or as much as the limits allow.

    A linear program mixes the routes found so far; its duals are prices for visiting stops, and
    label setting finds routes that earn more than their stops and a vehicle cost. When there is
    none, the prices prove a bound. Then all routes are listed that can be part of a plan better
    than the best so far, if they are not too many, and an integer program combines them; else
    plans are divided into those that visit a stop, or use an arc, and those that do not.
    """
    clock = Clock(options.time_limit, options.progress)
    start = first_plan(instance, options.start)
    plan = _Plan(
        [list(route.stops) for route in start.routes],
        start.profit,
        float(instance.full_profit.sum()),
    )
    clock.report(plan.profit)
    with suppress(KeyboardInterrupt):
        _Search(instance, plan, clock, options.memory_limit * 2**30).run()
    solution = best_solution(instance, plan.routes)
    details = {"labels": plan.labels, "branches": plan.branches}
    if plan.proven:
        return Result(instance, solution, "optimal", solution.profit, details=details)
    bound = max(solution.profit, plan.bound)
    return Result(instance, solution, "feasible", bound, details=details)


class _Search:
    """The search for a plan and its proof."""

    def __init__(self, instance: Instance, plan: _Plan, clock: Clock, memory: float) -> None:
        self._instance = instance
        self._plan = plan
        self._clock = clock
        self._memory = memory
        self._core, self._reach = team_core(instance.arrays, instance.matrix is None)
        self._count = len(self._core.stop)
        self._grain = grain_of(self._core)
        self._all = float(self._core.full_profit.sum())
        self._penalty = np.zeros(self._count)
        self._small = True
        self._open: list[tuple[float, int, _Branch]] = []
        self._given_up = 0.0
        self._mixer = _Mixer(self._count, instance.vehicles, self._all)

    def run(self) -> None:
        """Work on the branch with the largest bound until none can hold a better plan."""
        plan, clock = self._plan, self._clock
        plan.bound = min(plan.bound, self._all)
        if self._hopeful(plan.bound):
            place = {int(stop): k for k, stop in enumerate(self._core.stop)}
            ways = [[place[stop] for stop in route if stop in place] for route in plan.routes]
            self._add([np.array(way) for way in ways if way])
            free = np.zeros(self._count, dtype=np.bool_)
            self._push(_Branch(plan.bound, free, self._reach, self._instance.vehicles))
        while self._open and clock.left > 0 and self._hopeful(self._open[0][2].bound):
            children = self._divide(self._open[0][2])
            heapq.heappop(self._open)
            for child in children:
                self._push(child)
            self._tell()
        plan.proven = not self._hopeful(max(self._open_bound(), self._given_up))
        clock.report(plan.profit, plan.profit if plan.proven else plan.bound)

    def _push(self, branch: _Branch) -> None:
        self._plan.branches += 1
        heapq.heappush(self._open, (-branch.bound, self._plan.branches, branch))

    def _hopeful(self, bound: float) -> bool:
        """Whether a plan that keeps a bound may be better than the best one so far."""
        profit = self._plan.profit
        return rounded(bound, self._grain) > profit * (1 + ACCURACY) + 1e-12 * self._all

    def _open_bound(self) -> float:
        return max((branch.bound for _, _, branch in self._open), default=-math.inf)

    def _tell(self) -> None:
        """Note what is proven of all branches together."""
        plan = self._plan
        bound = rounded(max(self._open_bound(), self._given_up), self._grain)
        plan.bound = max(plan.profit, min(plan.bound, bound))
        self._clock.report(plan.profit, plan.bound)

    def _divide(self, branch: _Branch) -> list[_Branch]:
        """Solve a branch or divide it in two; give it back if time is up."""
        mix, proof = self._converge(branch)
        if not self._hopeful(branch.bound):
            return []
        if mix is None or proof is None:
            if self._clock.left > 0:  # memory is full
                self._given_up = max(self._given_up, branch.bound)
                return []
            return [branch]
        self._combine_found(proof)
        self._dive_deeper(branch)
        if not self._hopeful(branch.bound) or self._solve_by_lists(branch, proof):
            return []
        return self._split(branch, mix)

    def _converge(self, branch: _Branch) -> tuple[_Mix | None, _Proof | None]:
        """Add routes until no other can improve the mix, lowering the bound of the branch."""
        forbidden = self._reach & ~branch.arcs
        vehicles = branch.vehicles
        self._mixer.enter(branch)
        proof: _Proof | None = None
        mix: _Mix | None = None
        inertia = INERTIA
        while self._clock.left > 0:
            mix = self._mixer.solve(self._clock.left)
            if mix is None:
                break
            self._round(mix, vehicles, [])
            price = mix.price
            if proof is not None:
                price = inertia * proof.price + (1 - inertia) * price
            useful = without_worthless(
                priced(self._core, price, branch.arcs, forbidden), branch.arcs
            )
            paid = float(price.sum())
            # Some route of the mix earns this much at these prices, unless none earns anything.
            floor = max(0.0, (mix.profit - paid) / vehicles)
            if self._guess(useful, floor, mix):
                inertia = INERTIA
                continue
            done, value, improving = self._prove(useful, floor, mix)
            bound = paid + vehicles * value
            if proof is None or bound < proof.bound:
                proof = _Proof(bound, price, value)
                branch.bound = min(branch.bound, bound)
                self._tell()
            if not self._hopeful(branch.bound):
                break
            if improving:
                inertia = INERTIA
            elif inertia > 0 and price is not mix.price:
                inertia = 0.0
            else:
                return mix, proof if done else None
        return None, proof

    def _dive_deeper(self, branch: _Branch) -> None:
        """Look for plans that differ more and more from what the shares suggest."""
        clock = Clock(min(self._clock.left / 4, DIVE_SECONDS))
        for detours in range(DETOURS + 1):
            if self._hopeful(branch.bound) and clock.left > 0:
                self._dive(branch, [], 0.0, detours, clock)

    def _dive(
        self, branch: _Branch, fixed: list[IntArray], profit: float, detours: int, clock: Clock
    ) -> None:
        """Fix the route with the largest share, or another, and mix the others anew."""
        mix = self._mix_quickly(branch, fixed, clock)
        if mix is None or not self._hopeful(profit + mix.profit):
            return
        order = np.argsort(-mix.share, kind="stable")[: 1 + detours]
        for k, route in enumerate(order[mix.share[order] > SHARE]):
            way = self._mixer.ways[route]
            earned = profit + self._mixer.profit[route]
            if branch.vehicles == 1:
                self._offer([*fixed, way])
            elif self._hopeful(profit + mix.profit) and clock.left > 0:
                self._dive(branch.without(way), [*fixed, way], earned, detours - k, clock)

    def _mix_quickly(self, branch: _Branch, fixed: list[IntArray], clock: Clock) -> _Mix | None:
        """Add routes as long as some are found without a proof."""
        forbidden = self._reach & ~branch.arcs
        self._mixer.enter(branch)
        while clock.left > 0:
            mix = self._mixer.solve(clock.left)
            if mix is None:
                break
            self._round(mix, branch.vehicles, fixed)
            useful = without_worthless(
                priced(self._core, mix.price, branch.arcs, forbidden), branch.arcs
            )
            if not self._guess(useful, mix.vehicle, mix):
                return mix
        return None

    def _guess(self, core: Core, floor: float, mix: _Mix) -> bool:
        """Look for routes quickly; the answer is whether any improves the mix."""
        known = Known([], floor, math.inf)
        labels = Labels(core, known, self._memory)
        labels.extend(no_bounds(), Clock(self._clock.left), GUESS_SECONDS, GUESS)
        self._plan.labels += known.labels
        return self._add(self._best_routes(labels.store, floor), mix)

    def _prove(self, core: Core, floor: float, mix: _Mix) -> tuple[bool, float, bool]:
        """Look for the best route, if it earns more than the floor.

        Returns whether the search was complete, a bound on what any route earns, and whether
        one was found that improves the mix.
        """
        clock = Clock(self._clock.left)
        improving = False
        known = Known([], floor, math.inf)
        if self._small:
            labels = Labels(core, known, self._memory)
            labels.extend(no_bounds(), clock, PROVE_SECONDS, PROVE)
            improving = self._add(self._best_routes(labels.store, floor), mix)
            self._small = known.proven
        if not known.proven:
            labels = Labels(core, known, self._memory)
            for _ in labels.prove(clock, self._penalty, PROVE):
                if known.route:
                    break
            improving |= self._add(self._best_routes(labels.store, floor), mix)
        self._plan.labels += known.labels
        return known.proven, known.profit if known.proven else known.bound, improving

    def _best_routes(self, store: Store, floor: float) -> list[IntArray]:
        """Choose routes that earn more than a floor, good ones and of all stops."""
        whole = store.whole[: store.counter[LABELS]]
        ranked = np.flatnonzero(whole > floor)
        ranked = ranked[np.argsort(-whole[ranked], kind="stable")][:RANKED]
        chosen = disjoint_families(store.visited, ranked, FAMILIES, ROUTES)
        return [self._way(store, int(label)) for label in chosen]

    def _way(self, store: Store, label: int) -> IntArray:
        return np.searchsorted(self._core.stop, route_of(self._core, store, label))

    def _add(self, ways: list[IntArray], mix: _Mix | None = None) -> bool:
        """Add routes to those that are mixed; say whether any improves the given mix."""
        fresh = self._mixer.fresh(ways)
        if not fresh:
            return False
        profit = self._profits(fresh)
        self._mixer.add(fresh, profit)
        if mix is None:
            return False
        paid = np.array([mix.price[way].sum() for way in fresh])
        return bool((profit - paid - mix.vehicle > 1e-11 * self._all).any())

    def _profits(self, ways: list[IntArray]) -> FloatArray:
        routes = [self._core.stop[way].tolist() for way in ways]
        return optimal_stays(self._instance, routes).profit

    def _round(self, mix: _Mix, vehicles: int, fixed: list[IntArray]) -> None:
        """Make a plan of fixed routes and those with the largest shares."""
        used = np.zeros(self._count, dtype=np.bool_)
        chosen: list[IntArray] = []
        for route in np.argsort(-mix.share, kind="stable")[: np.count_nonzero(mix.share > SHARE)]:
            way = self._mixer.ways[route]
            if len(chosen) < vehicles and not used[way].any():
                used[way] = True
                chosen.append(way)
        self._offer(fixed + chosen)

    def _offer(self, ways: list[IntArray]) -> float:
        """Take routes as the plan if they earn more; return their profit."""
        profit = float(self._profits(ways).sum())
        if profit > self._plan.profit:
            self._plan.routes = [self._core.stop[way].tolist() for way in ways]
            self._plan.profit = profit
            self._tell()
        return profit

    def _combine_found(self, proof: _Proof) -> None:
        """Combine the routes found so far that may be part of a better plan."""
        profit = np.array(self._mixer.profit)
        paid = np.array([proof.price[way].sum() for way in self._mixer.ways])
        useful = np.flatnonzero(profit - paid >= proof.value - self._gap(proof))
        self._combine(
            [self._mixer.ways[k] for k in useful],
            profit[useful],
            np.zeros(self._count, dtype=np.bool_),
            min(COMBINE_SECONDS, self._clock.left / 4),
        )

    def _gap(self, proof: _Proof) -> float:
        """How much better than the best plan so far another may be."""
        better = self._plan.profit + self._grain * (1 - 1e-6)
        return proof.bound - better + ACCURACY * self._all

    def _solve_by_lists(self, branch: _Branch, proof: _Proof) -> bool:
        """List the routes that can be part of a very good plan and combine them; then more.

        A plan that comes near the bound has only routes that earn nearly as much as the best at
        the prices of the proof: the others earn no more, and the stops pay no more than their
        prices. The answer is whether the branch holds no better plan than the best so far.
        """
        near = self._gap(proof) / FIRST_LIST
        while self._clock.left > 0:
            near = min(near, self._gap(proof))
            ways = self._list(branch, proof, near)
            if ways is None:
                return False
            seconds = min(self._clock.left, LIST_SECONDS)
            best = self._combine(ways, self._profits(ways), branch.forced, seconds)
            if best is None:
                return False
            branch.bound = min(branch.bound, max(self._plan.profit, best, proof.bound - near))
            self._tell()
            if not self._hopeful(branch.bound):
                return True
            near *= 2
        return False

    def _list(self, branch: _Branch, proof: _Proof, near: float) -> list[IntArray] | None:
        """List all routes that earn nearly as much as the best, unless they are too many.

        Of routes with the same stops only the best is listed.
        """
        core = priced(self._core, proof.price, branch.arcs, self._reach & ~branch.arcs)
        core = core._replace(price=np.where(branch.forced, np.inf, np.maximum(0.0, proof.price)))
        least = proof.value - near
        known = Known([], least, math.inf)
        clock = Clock(min(self._clock.left / 2, LIST_SECONDS))
        labels = Labels(core, known, min(self._memory, LIST_MEMORY))
        for _ in labels.prove(clock, self._penalty.copy(), EVERY):
            pass
        self._plan.labels += known.labels
        if not known.proven:
            return None
        store = labels.store
        size = int(store.counter[LABELS])
        useful = np.flatnonzero((store.dead[:size] == 0) & (store.whole[:size] >= least))
        useful = useful[np.argsort(-store.whole[useful], kind="stable")]
        _, first = np.unique(store.visited[useful], axis=0, return_index=True)
        if len(first) > LIST_ROUTES:
            return None
        return [self._way(store, int(label)) for label in useful[np.sort(first)]]

    def _combine(
        self, ways: list[IntArray], profit: FloatArray, forced: BoolArray, seconds: float
    ) -> float | None:
        """Find the best plan of some routes; return its profit, if it is proven to be the best."""
        if not ways:
            return 0.0
        highs = _program(forced, self._instance.vehicles)
        _put(highs, profit / self._all, [np.append(way, self._count) for way in ways])
        size = len(ways)
        whole = np.full(size, highspy.HighsVarType.kInteger.value, dtype=np.uint8)
        highs.changeColsIntegrality(size, np.arange(size, dtype=np.int32), whole)
        highs.setOptionValue("time_limit", max(0.0, seconds))
        highs.setOptionValue("mip_rel_gap", ACCURACY)
        highs.setOptionValue("mip_abs_gap", 0.0)
        highs.HandleUserInterrupt = True
        interrupted = run_interruptibly(highs.run, highs.cancelSolve)
        info, status, statuses = highs.getInfo(), highs.getModelStatus(), highspy.HighsModelStatus
        best = 0.0
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            share = np.array(highs.getSolution().col_value)
            best = self._offer([ways[k] for k in np.flatnonzero(share > 0.5)])
        if interrupted:
            raise KeyboardInterrupt
        return best if status in (statuses.kOptimal, statuses.kInfeasible) else None

    def _split(self, branch: _Branch, mix: _Mix) -> list[_Branch]:
        """Divide a branch by a stop of which the mix visits a part, or else by such an arc."""
        visits = np.zeros(self._count)
        flow = np.zeros(self._reach.shape)
        for way, share in zip(self._mixer.ways, mix.share, strict=False):
            if share > 0:
                visits[way] += share
                flow[np.append(self._count, way[:-1]), way] += share
        part = np.minimum(visits, 1 - visits)
        part[branch.forced] = 0.0
        stop = int(np.argmax(part))
        forced, arcs, others = branch.forced.copy(), branch.arcs.copy(), branch.arcs.copy()
        if part[stop] > SHARE:
            forced[stop] = True
            others[stop] = others[:, stop] = False
        else:
            part = np.minimum(flow, 1 - flow)
            tail, head = np.unravel_index(np.argmax(part), part.shape)
            forced[head] = True
            arcs[:, head] = False
            if tail < self._count:
                forced[tail] = True
                arcs[tail] = False
            arcs[tail, head] = True
            others[tail, head] = False
        return [
            _Branch(branch.bound, forced, arcs, branch.vehicles),
            _Branch(branch.bound, branch.forced, others, branch.vehicles),
        ]


class _Mixer:
    """The linear program that mixes routes, each stop being visited once in all at most."""

    def __init__(self, count: int, vehicles: int, unit: float) -> None:
        self.ways: list[IntArray] = []
        self.profit: list[float] = []
        self._seen: set[bytes] = set()
        self._unit = unit
        self._count = count
        self._highs = _program(np.zeros(count, dtype=np.bool_), vehicles)
        self._arcs = np.ones((count + 1, count), dtype=np.bool_)
        self._forced = np.zeros(count, dtype=np.bool_)
        # A stop that must be visited may be missed at a price that no plan can pay.
        _put(self._highs, np.full(count, -2.0), list(np.arange(count)[:, None]), 0.0)

    def fresh(self, ways: list[IntArray]) -> list[IntArray]:
        """Leave out the routes that are there already."""
        return [way for way in ways if way.tobytes() not in self._seen]

    def add(self, ways: list[IntArray], profit: FloatArray) -> None:
        """Add routes."""
        self._seen.update(way.tobytes() for way in ways)
        self.ways += ways
        self.profit += profit.tolist()
        _put(self._highs, profit / self._unit, [np.append(way, self._count) for way in ways])

    def enter(self, branch: _Branch) -> None:
        """Mix only what a branch allows."""
        self._forced = branch.forced
        count = self._count
        most = np.where(branch.forced, np.inf, 0.0)
        if self.ways:
            size = [len(way) for way in self.ways]
            head = np.concatenate(self.ways)
            tail = np.roll(head, 1)
            start = np.cumsum([0, *size[:-1]])
            tail[start] = count
            allowed = np.logical_and.reduceat(branch.arcs[tail, head], start)
            most = np.append(most, np.where(allowed, np.inf, 0.0))
        self._highs.changeColsBounds(
            len(most), np.arange(len(most), dtype=np.int32), np.zeros(len(most)), most
        )
        for row in range(count):
            least = 1.0 if branch.forced[row] else -np.inf
            self._highs.changeRowBounds(row, least, 1.0)
        self._highs.changeRowBounds(count, -np.inf, branch.vehicles)

    def solve(self, seconds: float) -> _Mix | None:
        """Find the best mix; nothing if time is up."""
        highs = self._highs
        highs.setOptionValue("time_limit", highs.getRunTime() + max(0.0, seconds))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = highs.getSolution()
        share = np.array(solution.col_value[self._count :])
        dual = np.array(solution.row_dual) / PROFIT_UNITS * self._unit
        price = np.where(self._forced, dual[:-1], np.maximum(0.0, dual[:-1]))
        profit = highs.getInfo().objective_function_value / PROFIT_UNITS * self._unit
        return _Mix(profit, share, price, max(0.0, float(dual[-1])))


def _program(forced: BoolArray, vehicles: int) -> highspy.Highs:
    """Write the rows: a stop is visited once at most, or has to be; so many vehicles."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    settings = {
        "output_flag": False,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "mip_feasibility_tolerance": 1e-9,
        "threads": 1,
    }
    for name, value in settings.items():
        highs.setOptionValue(name, value)
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    least = np.append(np.where(forced, 1.0, -np.inf), -np.inf)
    most = np.append(np.ones(len(forced)), vehicles)
    none = np.empty(0, dtype=np.int32)
    highs.addRows(len(most), least, most, 0, none, none, np.empty(0))
    return highs


def _put(
    highs: highspy.Highs, profit: FloatArray, rows: Sequence[IntArray], most: float = np.inf
) -> None:
    """Write columns by their rows, the profits given as a share of all there is to earn."""
    size = len(rows)
    row = np.concatenate([np.empty(0), *rows]).astype(np.int32)
    start = np.cumsum([0, *map(len, rows)])[:-1].astype(np.int32)
    highs.addCols(
        size,
        profit * PROFIT_UNITS,
        np.zeros(size),
        np.full(size, most),
        len(row),
        start,
        row,
        np.ones(len(row)),
    )


def warm_up() -> None:
    """Compile or load every kernel, by solving a small problem."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    columns(instance, ExactOptions())


METHOD = Method(
    name="columns",
    description="Proven best plan for a team: column generation with exact stays and bounds.",
    function=columns,
    options=ExactOptions,
    warm_up=warm_up,
)
