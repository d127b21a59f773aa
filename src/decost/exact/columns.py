"""Plans for teams with a proof: column generation, the columns being routes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decost.exact.bounds import (
    count_visits,
    make_bounds,
    make_grid,
    move_penalties,
    no_bounds,
)
from decost.exact.exact import (
    FIRST_PATIENCE,
    LAST_STEP,
    Ascent,
    ExactOptions,
    Known,
    Labels,
    Problem,
)
from decost.exact.labels import EVERY, GUESS, LABELS, PROVE, route_of
from decost.exact.master import Master, Relaxation, combine
from decost.exact.pricing import (
    Team,
    Trip,
    choose_routes,
    forgetful,
    near_stops,
    priced,
    promising_arcs,
    remember_cycles,
    team_bytes,
    with_arcs,
)
from decost.exact.tree import SHARE, Branch, Incumbent, Tree, root_branch
from decost.method.deadline import Deadline
from decost.method.features import FEATURES
from decost.method.options import Method
from decost.method.progress import BetterPlan, Reporter
from decost.method.result import Result
from decost.method.value import Scale, judged
from decost.problem.instance import BoolArray, FloatArray, Instance
from decost.problem.plan import alternative_numbers
from decost.search.construct import first_plan
from decost.timeline.routes import best_solution, stays_along

INERTIA, LEAST_INERTIA = 0.7, 0.1
"""Share of the best prices so far in the prices that are tried next, and where it becomes 0."""

TRIES = ((10, GUESS), (6, PROVE), (20, GUESS), (8, PROVE), (40, GUESS), (10, PROVE))
"""How routes are looked for before a proof: how many stops can follow each, and by which rule."""

ASCENT_STEPS, PRICE_STEPS = 500, 800
"""Most steps of the grid for first prices, and for bounds of priced routes with stays to choose."""

GUESS_SECONDS, PROVE_SECONDS = 1.0, 0.3
"""Most seconds to guess routes, and to find the best one without bounds."""

GLANCE, PATIENCE = 0.01, 0.05
"""Seconds for the bounds of priced routes that are guessed, and for a proof at first; the labels
then get twice as much."""

FORGETFUL = 4
"""Most times that the best routes of a type may come back to stops before nodes remember all."""

ASCENT_SECONDS, DIVE_SECONDS, COMBINE_SECONDS, LIST_SECONDS = 5.0, 3.0, 2.0, 5.0
"""Most seconds to look for first prices, to dive for plans, to combine the routes found so far, and
to list the routes of good plans and combine those."""

COMBINED = 1_000
"""Most routes that are combined without a proof."""

DIVE_ROUNDS = 30
"""Most times that routes are added on the way of a dive."""

DETOURS = 4
"""Most times that a dive does not take the route with the largest share."""

FIRST_LIST = 8
"""Part of the gap that the first list of routes is for; the next is for twice as much."""

LIST_MEMORY = 2**28
"""Most bytes of labels for such a list."""

LIST_ROUTES = 10_000
"""Most routes in it."""

COMBINE_TIME = 2e-4
"""Seconds a route that a combination may run over its limit."""


@dataclass
class Pricing:
    """Stops at a price, and what routes of a type of vehicles earn that way.

    Wanted are routes that earn more than `floor`. `most` is what the best one found so far earns,
    and `value` a bound on them all.
    """

    kind: int
    problem: Problem
    arcs: BoolArray
    floor: float
    ascent: Ascent | None = None
    most: float = 0.0
    value: float = math.inf
    proven: bool = False

    def __post_init__(self) -> None:
        self.most = self.floor


class Proof(NamedTuple):
    """A bound on all plans of a branch: prices at which no route earns more than a value.

    The values are by type; of types that have no vehicle left they mean nothing.
    """

    bound: float
    price: FloatArray
    value: FloatArray

    @classmethod
    def of(cls, branch: Branch, price: FloatArray, pricings: Sequence[Pricing]) -> Proof:
        """Every vehicle earns no more than the best of its type, and stops pay their price."""
        value = np.zeros(len(branch.vehicles))
        bound = float(price.sum())
        for one in pricings:
            value[one.kind] = one.value
            bound += branch.vehicles[one.kind] * one.value
        return cls(bound, price, value)


def columns(instance: Instance, options: ExactOptions) -> Result:
    """Find the best plan for a team and prove it, or as much as the limits allow.

    The relaxed master problem takes shares of the routes found so far, the columns; its duals are
    prices for visiting stops, and label setting finds, for each type of vehicles, routes that earn
    more than their stops and a vehicle cost. When there is none, the prices prove a bound. Then all
    routes are listed that can be part of a plan better than the incumbent, if they are not too
    many, and an integer program combines them; else plans are divided into those that visit a stop,
    or use an arc, and those that do not.
    """
    return prove(instance, options, Deadline(options.time_limit))


def prove(
    instance: Instance,
    options: ExactOptions,
    deadline: Deadline,
    better_plan: BetterPlan | None = None,
) -> Result:
    """Do what `columns` does until a deadline; `better_plan` asks who looks for plans meanwhile."""
    scale = Scale(instance)
    start = first_plan(instance, options.start)
    incumbent = Incumbent(
        [alternative_numbers(instance, route) for route in start.routes],
        scale.value(start),
        scale.value_bound,
    )
    reporter = Reporter(
        options.progress, deadline, scale, lambda: best_solution(instance, incumbent.routes)
    )
    reporter.report(incumbent.value)

    def search() -> None:
        memory = options.memory_limit * 2**30
        if team_bytes(instance) > memory:
            return
        _search(Generation(instance, incumbent, deadline, memory, reporter, better_plan))
        reporter.report(incumbent.value, incumbent.value if incumbent.proven else incumbent.bound)

    deadline.work(search)
    solution = best_solution(instance, incumbent.routes)
    details = {"labels": incumbent.labels, "branches": incumbent.branches}
    return judged(
        instance, solution, bound=incumbent.bound, proven=incumbent.proven, details=details
    )


def _search(generation: Generation) -> None:
    """Work on the branch with the largest bound until none can hold a better plan."""
    tree, incumbent = generation.tree, generation.tree.incumbent
    incumbent.bound = min(incumbent.bound, tree.unit)
    if tree.hopeful(incumbent.bound):
        generation.add_plan()
        tree.push(root_branch(generation.team, incumbent.bound))
    while generation.deadline.left > 0 and (branch := tree.first()) is not None:
        children = _divide(generation, branch)
        tree.pop()
        for child in children:
            tree.push(child)
        tree.note()
    incumbent.proven = not tree.hopeful(tree.bound)


def _divide(generation: Generation, branch: Branch) -> list[Branch]:
    """Solve a branch or divide it in two; give it back if time is up."""
    tree = generation.tree
    relaxation, proof = generation.converge(branch)
    if not tree.hopeful(branch.bound):
        return []
    if relaxation is None or proof is None:
        if generation.deadline.left <= 0:
            return [branch]
        tree.give_up(branch)  # memory is full
        return []
    find_plans(generation, branch)
    if not tree.hopeful(branch.bound) or solve_by_lists(generation, branch, proof, LIST_SECONDS):
        return []
    children = branch.divide(generation.team, generation.master.trips, relaxation.share)
    if children is None:
        tree.give_up(branch)
        return []
    return list(children)


class Generation:
    """The generation of columns: prices from the master problem, routes from label setting."""

    def __init__(
        self,
        instance: Instance,
        incumbent: Incumbent,
        deadline: Deadline,
        memory: float,
        reporter: Reporter | None = None,
        better_plan: BetterPlan | None = None,
        *,
        small: bool = True,
    ) -> None:
        self.instance = instance
        self.deadline = deadline
        self.memory = memory
        self.team = Team.of(instance)
        unit = float(self.team.full_profits.sum())
        self.tree = Tree(incumbent, self.team.grain, unit, reporter)
        self.master = Master(self.team, unit)
        self.penalty = [np.zeros(len(kind.stops)) for kind in self.team.kinds]
        self._remembers = [near_stops(kind.problem) for kind in self.team.kinds]
        self._scale = Scale(instance)
        self._better_plan = better_plan
        self.small = small
        self._first_type = 0

    def add_plan(self) -> None:
        """Add the routes of the incumbent to the columns."""
        trips = []
        for vehicle, numbers in enumerate(self.tree.incumbent.routes):
            kind = int(self.instance.arrays.vehicle_type[vehicle])
            network = self.team.kinds[kind].network
            known = network.alternative[1 : network.alternatives + 1]
            nodes = 1 + np.searchsorted(known, [k for k in numbers if k in known])
            if len(nodes):
                trips.append(Trip(kind, nodes))
        self.add(trips)

    def take_over_better_plan(self) -> bool:
        """Take over a better plan that somebody else has found; say if there is one."""
        plan = self._better_plan(self.tree.incumbent.value) if self._better_plan else None
        if plan is None:
            return False
        routes = [alternative_numbers(self.instance, route) for route in plan.routes]
        self.tree.offer(routes, self._scale.value(plan))
        self.add_plan()
        return True

    def add(self, trips: list[Trip], relaxation: Relaxation | None = None) -> bool:
        """Add routes to the columns; say whether any improves the given relaxation."""
        fresh = self.master.fresh(trips)
        if not fresh:
            return False
        value = self.values(fresh)
        self.master.add(fresh, value)
        if relaxation is None:
            return False
        cost = self.master.paid(relaxation.price, fresh)
        cost += relaxation.vehicle[[trip.kind for trip in fresh]]
        return bool((value - cost > 1e-11 * self.tree.unit).any())

    def values(self, trips: list[Trip]) -> FloatArray:
        """Give the values of routes."""
        kinds = self.team.kinds
        routes = [kinds[kind].problem.alternatives(route) for kind, route in trips]
        vehicles = [kinds[trip.kind].vehicles[0] for trip in trips]
        value = stays_along(self.instance, routes, vehicles).profit
        if self._scale.required:
            required = self.instance.required[self.instance.alternative_stop]
            value += self._scale.bonus * np.array([required[route].sum() for route in routes])
        return value

    def offer(self, trips: list[Trip]) -> float:
        """Take routes as the plan if it is better; return its value."""
        value = float(self.values(trips).sum())
        if value > self.tree.incumbent.value:
            routes: list[list[int]] = [[] for _ in range(self.instance.vehicles)]
            free = [iter(kind.vehicles) for kind in self.team.kinds]
            for kind, route in trips:
                routes[next(free[kind])] = self.team.kinds[kind].problem.alternatives(route)
            self.tree.offer(routes, value)
        return value

    def round(self, relaxation: Relaxation, vehicles: Sequence[int], fixed: list[Trip]) -> None:
        """Offer a plan of fixed routes and those with the largest shares."""
        share = relaxation.share
        used = np.zeros(len(self.team.number), dtype=np.bool_)
        left = list(vehicles)
        chosen: list[Trip] = []
        for k in np.argsort(-share, kind="stable")[: np.count_nonzero(share > SHARE)]:
            trip = self.master.trips[k]
            rows = self.team.rows(trip)
            if left[trip.kind] and not used[rows].any():
                used[rows] = True
                left[trip.kind] -= 1
                chosen.append(trip)
        self.offer(fixed + chosen)

    def converge(self, branch: Branch) -> tuple[Relaxation | None, Proof | None]:
        """Add routes until no other can improve the relaxation, lowering the branch's bound.

        Returns the relaxation and the best proof; no relaxation if there was no time or memory for
        the end. New prices are taken between those of the best proof and of the relaxation.
        """
        self.master.enter(branch)
        proof: Proof | None = None
        inertia = INERTIA
        listed = math.inf
        patience = 4 * FIRST_PATIENCE
        waiting = self.deadline.child(patience)
        while self.deadline.left > 0:
            if self.take_over_better_plan():
                self.master.enter(branch)
            relaxation = self.master.solve(self.deadline)
            if relaxation is None:
                break
            self.round(relaxation, branch.vehicles, [])
            if proof is None and waiting.left < 0:
                self._find_early(branch, relaxation, patience)
                patience *= 2
                waiting = self.deadline.child(patience)
            price = relaxation.price
            if proof is not None:
                price = inertia * proof.price + (1 - inertia) * price
            pricings = self.pricings(branch, price, relaxation)
            if self.guess(pricings, relaxation, TRIES if self.small else TRIES[:1]):
                inertia = INERTIA if self.small else inertia
                continue
            improving = self.small and self._prove_small(pricings, relaxation)
            if not self.small:
                if proof is None and (proof := self._first_proof(branch, price)) is not None:
                    continue
                if not improving and self._guess_by_bounds(pricings, relaxation):
                    continue
                if not improving and inertia > 0 and listed < math.inf:
                    inertia = 0.0
                    continue
                improving |= self._prove(pricings, relaxation, branch, price)
            last = proof is None or inertia == 0
            found = Proof.of(branch, price, pricings)
            proven = all(one.proven for one in pricings)
            self.tree.lower(branch, found.bound)
            if proof is None or found.bound < proof.bound:
                proof = found
                gap = self.tree.gap(proof.bound)
                if gap < listed / 2 and not self.small:
                    listed = gap
                    solve_by_lists(self, branch, proof, LIST_SECONDS / 5)
                if not self.tree.hopeful(branch.bound):
                    break
            if improving:
                inertia = INERTIA
            elif last or not proven:
                return relaxation if proven else None, proof
            else:
                inertia = inertia / 2 if inertia > LEAST_INERTIA else 0.0
        return None, proof

    def _find_early(self, branch: Branch, relaxation: Relaxation, patience: float) -> None:
        """Find a plan and a bound now, since it would take long until there are any."""
        self.ascend(branch, relaxation.price, patience / 4)
        dive(self, branch, [], 0.0, 0, self.deadline.child(patience / 2))
        self.master.enter(branch)

    def _first_proof(self, branch: Branch, price: FloatArray) -> Proof | None:
        """Find plans, and prices to begin with where labels need bounds."""
        find_plans(self, branch)
        self.master.enter(branch)
        return self.ascend(branch, price, ASCENT_SECONDS)

    def pricings(self, branch: Branch, price: FloatArray, relaxation: Relaxation) -> list[Pricing]:
        """Charge the prices of a branch's stops, for each type that has vehicles left."""
        earned = np.zeros(len(branch.vehicles))
        for column in np.flatnonzero(relaxation.share) if len(earned) > 1 else ():
            trip = self.master.trips[column]
            profit = self.master.value[column] - price[self.team.rows(trip)].sum()
            earned[trip.kind] += relaxation.share[column] * profit
        whole = relaxation.value - float(price.sum())
        made = []
        order = np.roll(np.arange(len(earned)), -self._first_type)
        for k in order.tolist():
            kind, arcs = self.team.kinds[k], branch.arcs[k]
            if branch.vehicles[k]:
                problem = priced(kind.problem, price[kind.stops], arcs, kind.reach & ~arcs)
                # Some route of the relaxation earns this much, unless none earns anything.
                mine = whole - float(earned.sum() - earned[k])
                floor = max(0.0, mine / branch.vehicles[k])
                useful = np.append(problem.graph.worth > 0.0, False)[kind.network.stop]
                made.append(Pricing(k, problem, arcs & useful, floor))
        return made

    def guess(
        self, pricings: list[Pricing], relaxation: Relaxation, tries: Sequence[tuple[int, int]]
    ) -> bool:
        """Look for routes quickly; the answer is whether any improves the relaxation."""
        open_pricings = pricings
        for most, rule in tries:
            improving = False
            for pricing in open_pricings:
                arcs = promising_arcs(pricing.problem, pricing.arcs, most)
                known = Known([], pricing.floor, math.inf)
                labels = Labels(with_arcs(pricing.problem, arcs), known, self.memory)
                begin = time.perf_counter()
                labels.extend(no_bounds(), self.deadline, GUESS_SECONDS, rule)
                if rule == PROVE and time.perf_counter() - begin > PROVE_SECONDS / 3:
                    self.small = False  # with all arcs it would take far longer
                self.tree.incumbent.labels += known.labels
                pricing.most = max(pricing.most, known.value)
                improving |= self._add_found(labels, pricing, relaxation)
            if improving:
                return True
            nodes = [one.problem.network.alternatives for one in open_pricings]
            open_pricings = [
                one for one, count in zip(open_pricings, nodes, strict=True) if most < count
            ]
            if not (open_pricings and self.small) or self.deadline.left <= 0:
                break
        return False

    def _ascent(self, pricing: Pricing) -> Ascent | None:
        """Give bounds for the labels of a pricing, nothing if there is no time for them."""
        problem = pricing.problem
        steps = _price_steps(problem)
        if pricing.ascent is None and problem.bounds_seconds(steps) < self.deadline.left:
            pricing.ascent = Ascent(problem, self.penalty[pricing.kind], pricing.most, steps)
            pricing.ascent.improve(self.deadline.child(GLANCE), pricing.most)
            self.penalty[pricing.kind] = pricing.ascent.bounds.penalty
        return pricing.ascent

    def _guess_by_bounds(self, pricings: list[Pricing], relaxation: Relaxation) -> bool:
        """Look for routes by a rule that drops labels too soon, guided by bounds.

        The answer is whether any improves the relaxation; other types wait for the next time.
        """
        for pricing in pricings:
            ascent = self._ascent(pricing)
            if ascent is None:
                return False
            known = Known([], pricing.most, math.inf)
            labels = Labels(with_arcs(pricing.problem, pricing.arcs), known, self.memory)
            labels.extend(ascent.bounds, self.deadline, GUESS_SECONDS, GUESS)
            self.tree.incumbent.labels += known.labels
            pricing.most = max(pricing.most, known.value)
            if self._add_found(labels, pricing, relaxation):
                self._first_type = pricing.kind
                return True
        return False

    def _add_found(self, labels: Labels, pricing: Pricing, relaxation: Relaxation) -> bool:
        """Add good routes of labels; the answer is whether any improves the relaxation."""
        network = pricing.problem.network
        routes = choose_routes(network, labels.store, pricing.floor)
        return self.add([Trip(pricing.kind, route) for route in routes], relaxation)

    def _prove_small(self, pricings: list[Pricing], relaxation: Relaxation) -> bool:
        """Look for the best routes without bounds, which takes long unless there are few labels.

        The answer is whether any route improves the relaxation.
        """
        improving = False
        for pricing in pricings:
            known = Known([], pricing.most, math.inf)
            labels = Labels(with_arcs(pricing.problem, pricing.arcs), known, self.memory)
            labels.extend(no_bounds(), self.deadline, PROVE_SECONDS, PROVE)
            self.tree.incumbent.labels += known.labels
            self.small = pricing.proven = known.proven
            improving |= self._add_found(labels, pricing, relaxation)
            if not known.proven:
                break
            pricing.value = known.value
        return improving

    def _prove(
        self, pricings: list[Pricing], relaxation: Relaxation, branch: Branch, price: FloatArray
    ) -> bool:
        """Look for the best routes of all types; the answer is whether any improves the relaxation.

        They may come back to stops that nodes do not remember. If some do and no other improves the
        relaxation, nodes remember more, and those types are tried again; at last they remember all.
        """

        def hopeful() -> bool:
            self.tree.lower(branch, Proof.of(branch, price, pricings).bound)
            return self.tree.hopeful(branch.bound)

        improving = False
        tried = pricings
        for forgets in (*[True] * FORGETFUL, False):
            again = []
            for pricing in tried:
                better, cyclic = self._prove_type(pricing, relaxation, hopeful, forgets)
                improving |= better
                again += [pricing] * cyclic
                if not self.tree.hopeful(branch.bound) or self.deadline.left <= 0:
                    return improving
            tried = again
            if improving or not tried:
                break
        return improving

    def _prove_type(
        self,
        pricing: Pricing,
        relaxation: Relaxation,
        hopeful: Callable[[], bool],
        forgets: bool,
    ) -> tuple[bool, bool]:
        """Look for the best route of a type, until one improves the relaxation.

        Returns whether one does, and whether any came back to a stop, which it no longer can.
        """
        kind = pricing.kind
        ascent = self._ascent(pricing)
        pricing.proven = False
        if ascent is None:
            return False, False
        known = Known([], pricing.most, math.inf)
        problem = with_arcs(pricing.problem, pricing.arcs)
        if forgets:
            problem = forgetful(problem, self._remembers[kind])
        labels = Labels(problem, known, self.memory)
        better = False
        for _ in labels.prove(self.deadline, ascent, PROVE, PATIENCE):
            pricing.value = min(pricing.value, known.value if known.proven else known.bound)
            better = self._add_found(labels, pricing, relaxation)
            if not hopeful() or better:
                break
        self.tree.incumbent.labels += known.labels
        self.penalty[kind] = ascent.bounds.penalty
        pricing.proven = known.proven
        cyclic = known.proven and remember_cycles(
            problem.network, labels.store, pricing.most, self._remembers[kind]
        )
        return better, cyclic

    def ascend(self, branch: Branch, price: FloatArray, seconds: float) -> Proof | None:
        """Improve prices as if routes could come back to a stop, which gives a bound quickly."""
        kinds = [k for k, vehicles in enumerate(branch.vehicles) if vehicles]
        problems = [with_arcs(self.team.kinds[k].problem, branch.arcs[k]) for k in kinds]
        steps = [min(problem.grid_steps(), ASCENT_STEPS) for problem in problems]
        pairs = list(zip(problems, steps, strict=True))
        if sum(problem.bounds_seconds(most) for problem, most in pairs) > self.deadline.left:
            return None
        part = self.deadline.child(min(self.deadline.left / 8, seconds))
        grids = [make_grid(*problem, most) for problem, most in pairs]
        price, state = price.copy(), np.array([1.0, np.inf, 0.0])
        target = self.tree.incumbent.value
        best: Proof | None = None
        while best is None or (part.left > 0 and state[0] > LAST_STEP):
            bound, value = float(price.sum()), np.zeros(len(branch.vehicles))
            visits = np.zeros(len(price), dtype=np.int64)
            for k, problem, grid in zip(kinds, problems, grids, strict=True):
                stops, vehicles = self.team.kinds[k].stops, branch.vehicles[k]
                bounds = make_bounds(*problem, grid, price[stops])
                value[k] = float(bounds.root[0] - bounds.penalty.sum())
                bound += vehicles * value[k]
                visits[stops] += vehicles * count_visits(*problem, grid, bounds)
            if best is None or bound < best.bound:
                best = Proof(bound, price.copy(), value)
                self.tree.lower(branch, bound)
            move_penalties(price, state, bound, visits, target)
        return best


def _price_steps(problem: Problem) -> int:
    """How fine the grid for priced routes is: coarser if every step has many stays to choose."""
    steps = problem.grid_steps()
    return min(steps, PRICE_STEPS) if len(problem.network.pieces) else steps


def find_plans(generation: Generation, branch: Branch) -> None:
    """Combine the routes found so far; then dive, more and more off the largest shares."""
    _combine_found(generation)
    part = generation.deadline.child(min(generation.deadline.left / 4, DIVE_SECONDS))
    for detours in range(DETOURS + 1):
        if generation.tree.hopeful(branch.bound) and part.left > 0:
            dive(generation, branch, [], 0.0, detours, part)


def dive(
    generation: Generation,
    branch: Branch,
    fixed: list[Trip],
    value: float,
    detours: int,
    deadline: Deadline,
) -> None:
    """Fix the route with the largest share, or another, and solve the relaxation of the rest."""
    relaxation = _relax_quickly(generation, branch, fixed, deadline)
    hopeful, master = generation.tree.hopeful, generation.master
    if relaxation is None or not hopeful(value + relaxation.value):
        return
    order = np.argsort(-relaxation.share, kind="stable")[: 1 + detours]
    for k, column in enumerate(order[relaxation.share[order] > SHARE]):
        trip = master.trips[column]
        earned = value + master.value[column]
        if sum(branch.vehicles) == 1:
            generation.offer([*fixed, trip])
        elif hopeful(value + relaxation.value) and deadline.left > 0:
            rest = branch.without(generation.team, trip)
            dive(generation, rest, [*fixed, trip], earned, detours - k, deadline)


def _relax_quickly(
    generation: Generation, branch: Branch, fixed: list[Trip], deadline: Deadline
) -> Relaxation | None:
    """Add routes as long as some are found without a proof."""
    generation.master.enter(branch)
    relaxation = generation.master.solve(deadline)
    for _ in range(DIVE_ROUNDS):
        if relaxation is None or deadline.left <= 0:
            return None
        generation.round(relaxation, branch.vehicles, fixed)
        pricings = generation.pricings(branch, relaxation.price, relaxation)
        if not generation.guess(pricings, relaxation, TRIES[: 2 if generation.small else 1]):
            break
        relaxation = generation.master.solve(deadline)
    return relaxation


def _combine_found(generation: Generation) -> None:
    """Combine the routes found so far, those that are best at the prices of their relaxation."""
    master, deadline = generation.master, generation.deadline
    relaxation = master.solve(deadline)
    if relaxation is None or not master.trips:
        return
    value = np.array(master.value)
    cost = master.paid(relaxation.price, master.trips)
    cost += relaxation.vehicle[[trip.kind for trip in master.trips]]
    best = np.argsort(cost - value, kind="stable")[:COMBINED]
    free = np.zeros(len(generation.team.number), dtype=np.bool_)
    part = deadline.child(min(COMBINE_SECONDS, deadline.left / 4))
    _combine(generation, [master.trips[k] for k in best], value[best], free, part)


def solve_by_lists(generation: Generation, branch: Branch, proof: Proof, seconds: float) -> bool:
    """List the routes that can be part of a very good plan and combine them; then more.

    A plan that comes near the bound has only routes that earn nearly as much as the best at
    the prices of the proof: the others earn no more, and the stops pay no more than their
    prices. The answer is whether the branch holds no better plan than the best so far.
    """
    tree, deadline = generation.tree, generation.deadline
    near = tree.gap(proof.bound) / FIRST_LIST
    while deadline.left > 0:
        generation.take_over_better_plan()
        whole = tree.gap(proof.bound)
        near = min(near, whole)
        trips = list_trips(generation, branch, proof, near, seconds)
        if trips is None:
            break
        generation.add(trips[:COMBINED])
        values = generation.values(trips)
        best = _combine(generation, trips, values, branch.forced, deadline.child(seconds))
        if best is None:
            break
        tree.lower(branch, max(tree.incumbent.value, best, proof.bound - near))
        if near == whole or not tree.hopeful(branch.bound):
            break
        near *= 2
    return not tree.hopeful(branch.bound)


def list_trips(
    generation: Generation, branch: Branch, proof: Proof, near: float, seconds: float
) -> list[Trip] | None:
    """List all routes that earn nearly as much as the best, unless they are too many.

    Of routes of one type with the same stops only the best is listed.
    """
    part = generation.deadline.child(min(generation.deadline.left / 2, seconds))
    trips: list[Trip] = []
    for kind, vehicles in enumerate(branch.vehicles):
        if vehicles:
            found = _list_type(generation, branch, proof, kind, near, part)
            if found is None:
                return None
            trips += found
    if len(trips) > LIST_ROUTES or len(trips) * COMBINE_TIME > generation.deadline.left:
        return None
    return trips


def _list_type(
    generation: Generation,
    branch: Branch,
    proof: Proof,
    number: int,
    near: float,
    deadline: Deadline,
) -> list[Trip] | None:
    """List the routes of one type."""
    kind, arcs = generation.team.kinds[number], branch.arcs[number]
    price = proof.price[kind.stops]
    problem = priced(kind.problem, price, arcs, kind.reach & ~arcs)
    # A route without a stop that must be visited cannot take the place of one with it.
    price = np.where(branch.forced[kind.stops], np.inf, np.maximum(0.0, price))
    problem = problem._replace(graph=problem.graph._replace(price=price))
    least = float(proof.value[number]) - near
    known = Known([], least, math.inf)
    labels = Labels(problem, known, min(generation.memory, LIST_MEMORY))
    steps = _price_steps(problem)
    if problem.bounds_seconds(steps) > deadline.left:
        return None
    ascent = Ascent(problem, generation.penalty[number], least, steps)
    for _ in labels.prove(deadline, ascent, EVERY, PATIENCE):
        pass
    generation.tree.incumbent.labels += known.labels
    if not known.proven:
        return None
    store = labels.store
    label = store.label[: store.counter[LABELS]]
    useful = np.flatnonzero((label["dead"] == 0) & (label["whole"] >= least))
    useful = useful[np.argsort(-label["whole"][useful], kind="stable")]
    _, first = np.unique(store.visited[useful], axis=0, return_index=True)
    if len(first) > LIST_ROUTES:
        return None
    chosen = useful[np.sort(first)].tolist()
    return [Trip(number, route_of(kind.network, store, label)) for label in chosen]


def _combine(
    generation: Generation,
    trips: list[Trip],
    value: FloatArray,
    forced: BoolArray,
    deadline: Deadline,
) -> float | None:
    """Find the best plan of some routes; return its value, if it is proven to be the best."""
    if not trips:
        return 0.0
    found = combine(generation.team, trips, value / generation.tree.unit, forced, deadline)
    best = generation.offer([trips[k] for k in found.chosen]) if len(found.chosen) else 0.0
    return best if found.proven else None


def rehearse() -> None:
    """Call every kernel, by solving a small problem with and without bounds."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    for small in (True, False):
        incumbent = Incumbent([[], []], 0.0, np.inf)
        _search(Generation(instance, incumbent, Deadline(60.0), 2**30, small=small))


METHOD = Method(
    name="columns",
    description="Proven best plan for a team: column generation with exact stays and bounds.",
    function=columns,
    options=ExactOptions,
    can=FEATURES,
    rehearse=rehearse,
)
