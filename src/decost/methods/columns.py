"""Plans for teams with a proof: column generation, the columns being routes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np

from decost.kernels.bounds import improve_penalties, make_grid, no_bounds
from decost.kernels.labels import EVERY, GUESS, LABELS, PROVE, Store, route_of
from decost.kernels.pricing import (
    disjoint_families,
    priced,
    promising_arcs,
    team_core,
    with_arcs,
)
from decost.kernels.reduction import Core
from decost.methods.clock import Clock
from decost.methods.exact import (
    FIRST_PATIENCE,
    LAST_STEP,
    ExactOptions,
    Known,
    Labels,
    grain_of,
    grid_seconds,
    grid_steps,
    rounded,
)
from decost.methods.greedy import first_plan
from decost.methods.interruptible import run_interruptibly
from decost.methods.options import Method
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray
from decost.result import Result
from decost.stays import best_solution, optimal_stays

ACCURACY = 1e-9
"""Share of all profit that a bound may be above a plan that counts as proven."""

PROFIT_UNITS = 1000.0
"""Profit of all stops together in the programs, whatever it is in the instance."""

FAMILIES, ROUTES = 40, 300
"""Most sets of routes without a common stop, and most routes, that one pricing adds."""

RANKED = 5_000
"""How many of the best routes these are chosen from."""

INERTIA, LEAST_INERTIA = 0.7, 0.1
"""Share of the best prices so far in the prices that are tried next, and where it becomes 0."""

TRIES = ((10, GUESS), (6, PROVE), (20, GUESS), (8, PROVE), (40, GUESS), (10, PROVE))
"""How routes are looked for before a proof: how many stops can follow each, and by which rule."""

ASCENT_STEPS = 500
"""Most steps of the grid for first prices."""

GUESS_SECONDS, PROVE_SECONDS = 1.0, 0.3
"""Most seconds to guess routes, and to find the best one without bounds."""

PATIENCE = 0.05
"""Seconds for the bounds of priced routes at first; the labels then get twice as much."""

ASCENT_SECONDS, DIVE_SECONDS, COMBINE_SECONDS, LIST_SECONDS = 5.0, 3.0, 2.0, 5.0
"""Most seconds to look for first prices, to dive for plans, to combine the routes found so far, and
to list the routes of good plans and combine those."""

COMBINED = 1_000
"""Most routes that are combined without a proof."""

DIVE_ROUNDS = 30
"""Most times that routes are added to a mix on the way of a dive."""

DETOURS = 4
"""Most times that a dive does not take the route with the largest share."""

SHARE = 1e-6
"""Least share of a route that counts."""

FIRST_LIST = 8
"""Part of the gap that the first such list is for; the next is for twice as much."""

LIST_MEMORY = 2**28
"""Most bytes of labels for such a list."""

LIST_ROUTES = 10_000
"""Most routes in it."""

COMBINE_TIME = 2e-4
"""Seconds a route that a combination may run over its limit."""


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


@dataclass
class _Pricing:
    """Stops at a price, and what routes earn that way.

    Wanted are routes that earn more than `floor`. `most` is what the best one found so far earns,
    and `value` a bound on them all.
    """

    core: Core
    arcs: BoolArray
    floor: float
    most: float = 0.0
    value: float = math.inf
    proven: bool = False

    def __post_init__(self) -> None:
        self.most = self.floor

    def bound(self, vehicles: int) -> float:
        """Bound on plans: every vehicle earns no more than the best, and stops pay their price."""
        return float(self.core.price.sum()) + vehicles * self.value


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
    return prove(instance, options, Clock(options.time_limit, options.progress))


def prove(instance: Instance, options: ExactOptions, clock: Clock) -> Result:
    """Do what `columns` does until a clock says that time is over."""
    start = first_plan(instance, options.start)
    plan = _Plan(
        [list(route.stops) for route in start.routes],
        start.profit,
        float(instance.full_profit.sum()),
    )
    clock.report(plan.profit)
    clock.work(lambda: _Search(instance, plan, clock, options.memory_limit * 2**30).run())
    solution = best_solution(instance, plan.routes)
    details = {"labels": plan.labels, "branches": plan.branches}
    if plan.proven:
        return Result(instance, solution, "optimal", solution.profit, details=details)
    bound = max(solution.profit, plan.bound)
    return Result(instance, solution, "feasible", bound, details=details)


class _Search:
    """The search for a plan and its proof."""

    def __init__(
        self,
        instance: Instance,
        plan: _Plan,
        clock: Clock,
        memory: float,
        *,
        small: bool = True,
    ) -> None:
        self._instance = instance
        self._plan = plan
        self._clock = clock
        self._memory = memory
        self._core, self._reach = team_core(instance.arrays, instance.matrix is None)
        self._count = len(self._core.stop)
        self._grain = grain_of(self._core)
        self._all = float(self._core.full_profit.sum())
        self._penalty = np.zeros(self._count)
        self._small = small
        self._open: list[tuple[float, int, _Branch]] = []
        self._given_up = 0.0
        self._mixer = _Mixer(self._count, instance.vehicles, self._all)

    def run(self) -> None:
        """Work on the branch with the largest bound until none can hold a better plan."""
        plan, clock = self._plan, self._clock
        plan.bound = min(plan.bound, self._all)
        if self._hopeful(plan.bound):
            self._add_plan()
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

    def _add_plan(self) -> None:
        """Add the routes of the plan to those that are mixed."""
        place = {int(stop): k for k, stop in enumerate(self._core.stop)}
        ways = [[place[stop] for stop in route if stop in place] for route in self._plan.routes]
        self._add([np.array(way) for way in ways if way])

    def _hear(self) -> bool:
        """Take a better plan over that was found elsewhere; say if there was one."""
        better = self._clock.better_plan(self._plan.profit)
        if better is None:
            return False
        self._plan.routes = [list(route.stops) for route in better.routes]
        self._plan.profit = better.profit
        self._add_plan()
        self._tell()
        return True

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
            if self._clock.left <= 0:
                return [branch]
            self._given_up = max(self._given_up, branch.bound)  # memory is full
            return []
        self._find_plans(branch)
        if not self._hopeful(branch.bound) or self._solve_by_lists(branch, proof, LIST_SECONDS):
            return []
        return self._split(branch, mix)

    def _converge(self, branch: _Branch) -> tuple[_Mix | None, _Proof | None]:
        """Add routes until no other can improve the mix, lowering the bound of the branch.

        Returns the mix and the best proof; no mix if there was no time or memory for the end.
        """
        self._mixer.enter(branch)
        proof: _Proof | None = None
        inertia = INERTIA
        tried = math.inf
        patience = 4 * FIRST_PATIENCE
        waiting = Clock(patience)
        while self._clock.left > 0:
            if self._hear():
                self._mixer.enter(branch)
            mix = self._mixer.solve(self._clock.left)
            if mix is None:
                break
            self._round(mix, branch.vehicles, [])
            if proof is None and waiting.left < 0:
                # It takes long: better a plan and a bound now than only at the end.
                self._ascend(branch, mix.price, patience / 4)
                self._dive(branch, [], 0.0, 0, Clock(min(patience / 2, self._clock.left)))
                self._mixer.enter(branch)
                patience *= 2
                waiting = Clock(patience)
            price = mix.price
            if proof is not None:
                price = inertia * proof.price + (1 - inertia) * price
            pricing = self._pricing(branch, price, mix)
            if self._guess(pricing, mix, TRIES):
                inertia = INERTIA
                continue
            if self._small:
                improving = self._prove_small(pricing, mix)
            if not self._small:
                if proof is None:
                    self._find_plans(branch)
                    self._mixer.enter(branch)
                    proof = self._ascend(branch, price, ASCENT_SECONDS)
                    if proof is not None:
                        continue
                improving = self._prove(pricing, mix, branch)
            bound = pricing.bound(branch.vehicles)
            self._lower(branch, bound)
            last = proof is None or inertia == 0
            if proof is None or bound < proof.bound:
                proof = _Proof(bound, price, pricing.value)
                if self._gap(proof) < tried / 2 and not self._small:
                    tried = self._gap(proof)
                    self._solve_by_lists(branch, proof, LIST_SECONDS / 5)
                if not self._hopeful(branch.bound):
                    break
            if improving:
                inertia = INERTIA
            elif last or not pricing.proven:
                return mix if pricing.proven else None, proof
            else:
                inertia = inertia / 2 if inertia > LEAST_INERTIA else 0.0
        return None, proof

    def _lower(self, branch: _Branch, bound: float) -> None:
        """Note a bound of a branch."""
        branch.bound = float(min(branch.bound, bound))
        self._tell()

    def _ascend(self, branch: _Branch, price: FloatArray, seconds: float) -> _Proof | None:
        """Improve prices as if routes could come back to a stop, which gives a bound quickly."""
        core = with_arcs(self._core, branch.arcs)
        steps = min(grid_steps(core), ASCENT_STEPS)
        if grid_seconds(core, steps) > self._clock.left:
            return None
        clock = Clock(min(self._clock.left / 8, seconds))
        grid = make_grid(core, steps)
        price, state = price.copy(), np.array([1.0, np.inf, 0.0])
        proof: _Proof | None = None
        while proof is None or (clock.left > 0 and state[0] > LAST_STEP):
            bounds = improve_penalties(core, grid, price, state, self._plan.profit, branch.vehicles)
            paid = float(bounds.penalty.sum())
            value = float(bounds.root[0]) - paid
            bound = paid + branch.vehicles * value
            if proof is None or bound < proof.bound:
                proof = _Proof(bound, bounds.penalty, value)
                self._lower(branch, bound)
        return proof

    def _find_plans(self, branch: _Branch) -> None:
        """Combine the routes found so far; then dive, more and more off the largest shares."""
        self._combine_found()
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
        self._mixer.enter(branch)
        mix = self._mixer.solve(clock.left)
        for _ in range(DIVE_ROUNDS):
            if mix is None or clock.left <= 0:
                return None
            self._round(mix, branch.vehicles, fixed)
            if not self._guess(self._pricing(branch, mix.price, mix), mix, TRIES[:2]):
                break
            mix = self._mixer.solve(clock.left)
        return mix

    def _pricing(self, branch: _Branch, price: FloatArray, mix: _Mix) -> _Pricing:
        """Charge the prices of a branch's stops."""
        core = priced(self._core, price, branch.arcs, self._reach & ~branch.arcs)
        # Some route of the mix earns this much at these prices, unless none earns anything.
        floor = max(0.0, (mix.profit - float(price.sum())) / branch.vehicles)
        return _Pricing(core, branch.arcs & (core.worth > 0.0), floor)

    def _guess(self, pricing: _Pricing, mix: _Mix, tries: Sequence[tuple[int, int]]) -> bool:
        """Look for routes quickly; the answer is whether any improves the mix."""
        for most, rule in tries:
            arcs = promising_arcs(pricing.core, pricing.arcs, most)
            known = Known([], pricing.floor, math.inf)
            labels = Labels(with_arcs(pricing.core, arcs), known, self._memory)
            labels.extend(no_bounds(), Clock(self._clock.left), GUESS_SECONDS, rule)
            self._plan.labels += known.labels
            pricing.most = max(pricing.most, known.profit)
            if self._add(self._best_routes(labels.store, pricing.floor), mix):
                return True
            if most >= self._count or self._clock.left <= 0:
                break
        return False

    def _prove_small(self, pricing: _Pricing, mix: _Mix) -> bool:
        """Look for the best route without bounds, which takes long unless there are few labels.

        The answer is whether any route improves the mix.
        """
        known = Known([], pricing.most, math.inf)
        labels = Labels(with_arcs(pricing.core, pricing.arcs), known, self._memory)
        labels.extend(no_bounds(), Clock(self._clock.left), PROVE_SECONDS, PROVE)
        self._plan.labels += known.labels
        self._small = pricing.proven = known.proven
        if known.proven:
            pricing.value = known.profit
        return self._add(self._best_routes(labels.store, pricing.floor), mix)

    def _prove(self, pricing: _Pricing, mix: _Mix, branch: _Branch) -> bool:
        """Look for the best route, until one is found that improves the mix or there is none."""
        known = Known([], pricing.most, math.inf)
        labels = Labels(with_arcs(pricing.core, pricing.arcs), known, self._memory)
        improving = False
        for _ in labels.prove(Clock(self._clock.left), self._penalty, PROVE, PATIENCE):
            pricing.value = known.profit if known.proven else known.bound
            self._lower(branch, pricing.bound(branch.vehicles))
            improving = self._add(self._best_routes(labels.store, pricing.floor), mix)
            if improving or not self._hopeful(branch.bound):
                break
        self._plan.labels += known.labels
        pricing.proven = known.proven
        return improving

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

    def _combine_found(self) -> None:
        """Combine the routes found so far, those that are best at the prices of their mix."""
        mix = self._mixer.solve(self._clock.left)
        if mix is None or not self._mixer.ways:
            return
        profit = np.array(self._mixer.profit)
        paid = np.array([mix.price[way].sum() for way in self._mixer.ways])
        best = np.argsort(paid - profit, kind="stable")[:COMBINED]
        seconds = min(COMBINE_SECONDS, self._clock.left / 4)
        free = np.zeros(self._count, dtype=np.bool_)
        self._combine([self._mixer.ways[k] for k in best], profit[best], free, seconds)

    def _gap(self, proof: _Proof) -> float:
        """How much better than the best plan so far another may be."""
        better = self._plan.profit + self._grain * (1 - 1e-6)
        return proof.bound - better + ACCURACY * self._all

    def _solve_by_lists(self, branch: _Branch, proof: _Proof, seconds: float) -> bool:
        """List the routes that can be part of a very good plan and combine them; then more.

        A plan that comes near the bound has only routes that earn nearly as much as the best at
        the prices of the proof: the others earn no more, and the stops pay no more than their
        prices. The answer is whether the branch holds no better plan than the best so far.
        """
        near = self._gap(proof) / FIRST_LIST
        while self._clock.left > 0:
            self._hear()
            whole = self._gap(proof)
            near = min(near, whole)
            ways = self._list(branch, proof, near, seconds)
            if ways is None:
                break
            self._add(ways[:COMBINED])
            best = self._combine(
                ways, self._profits(ways), branch.forced, min(self._clock.left, seconds)
            )
            if best is None:
                break
            self._lower(branch, max(self._plan.profit, best, proof.bound - near))
            if near == whole or not self._hopeful(branch.bound):
                break
            near *= 2
        return not self._hopeful(branch.bound)

    def _list(
        self, branch: _Branch, proof: _Proof, near: float, seconds: float
    ) -> list[IntArray] | None:
        """List all routes that earn nearly as much as the best, unless they are too many.

        Of routes with the same stops only the best is listed.
        """
        core = priced(self._core, proof.price, branch.arcs, self._reach & ~branch.arcs)
        core = core._replace(price=np.where(branch.forced, np.inf, np.maximum(0.0, proof.price)))
        least = proof.value - near
        known = Known([], least, math.inf)
        clock = Clock(min(self._clock.left / 2, seconds))
        labels = Labels(core, known, min(self._memory, LIST_MEMORY))
        for _ in labels.prove(clock, self._penalty.copy(), EVERY, PATIENCE):
            pass
        self._plan.labels += known.labels
        if not known.proven:
            return None
        store = labels.store
        size = int(store.counter[LABELS])
        useful = np.flatnonzero((store.dead[:size] == 0) & (store.whole[:size] >= least))
        useful = useful[np.argsort(-store.whole[useful], kind="stable")]
        _, first = np.unique(store.visited[useful], axis=0, return_index=True)
        if len(first) > LIST_ROUTES or len(first) * COMBINE_TIME > self._clock.left:
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
        interrupted = run_interruptibly(
            highs.run, highs.cancelSolve, lambda: self._clock.interrupted
        )
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
            if part[tail, head] <= SHARE:  # only rounding is between the bound and a plan
                self._given_up = max(self._given_up, branch.bound)
                return []
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
        least, most = _row_bounds(branch.forced, branch.vehicles)
        rows = np.arange(len(most), dtype=np.int32)
        self._highs.changeRowsBounds(len(most), rows, least, most)  # type: ignore[attr-defined]

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
    least, most = _row_bounds(forced, vehicles)
    none = np.empty(0, dtype=np.int32)
    highs.addRows(len(most), least, most, 0, none, none, np.empty(0))
    return highs


def _row_bounds(forced: BoolArray, vehicles: int) -> tuple[FloatArray, FloatArray]:
    least = np.append(np.where(forced, 1.0, -np.inf), -np.inf)
    return least, np.append(np.ones(len(forced)), float(vehicles))


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
    """Compile or load every kernel, by solving a small problem with and without bounds."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    for small in (True, False):
        _Search(instance, _Plan([], 0.0, np.inf), Clock(60.0), 2**30, small=small).run()


METHOD = Method(
    name="columns",
    description="Proven best plan for a team: column generation with exact stays and bounds.",
    function=columns,
    options=ExactOptions,
    warm_up=warm_up,
)
