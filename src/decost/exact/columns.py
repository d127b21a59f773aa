"""Plans for teams with a proof: column generation, the columns being routes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decost.exact.bounds import improve_penalties, make_grid, no_bounds
from decost.exact.exact import (
    FIRST_PATIENCE,
    LAST_STEP,
    ExactOptions,
    Known,
    Labels,
    Problem,
)
from decost.exact.labels import EVERY, GUESS, LABELS, PROVE, route_of
from decost.exact.master import Master, Relaxation, combine
from decost.exact.pricing import choose_routes, priced, promising_arcs, team_problem, with_arcs
from decost.exact.tree import SHARE, Branch, Incumbent, Tree
from decost.method.deadline import Deadline
from decost.method.options import Method
from decost.method.progress import BetterPlan, Reporter
from decost.method.result import Result
from decost.problem.instance import BoolArray, FloatArray, Instance, IntArray
from decost.search.construct import first_plan
from decost.timeline.routes import best_solution, optimal_stays

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
    """Stops at a price, and what routes earn that way.

    Wanted are routes that earn more than `floor`. `most` is what the best one found so far earns,
    and `value` a bound on them all.
    """

    problem: Problem
    arcs: BoolArray
    floor: float
    most: float = 0.0
    value: float = math.inf
    proven: bool = False

    def __post_init__(self) -> None:
        self.most = self.floor

    def bound(self, vehicles: int) -> float:
        """Bound on plans: every vehicle earns no more than the best, and stops pay their price."""
        return float(self.problem.graph.price.sum()) + vehicles * self.value


class Proof(NamedTuple):
    """A bound on all plans of a branch: prices at which no route earns more than a value."""

    bound: float
    price: FloatArray
    value: float


def columns(instance: Instance, options: ExactOptions) -> Result:
    """Find the best plan for a team and prove it, or as much as the limits allow.

    The relaxed master problem takes shares of the routes found so far, the columns; its duals are
    prices for visiting stops, and label setting finds routes that earn more than their stops and a
    vehicle cost. When there is none, the prices prove a bound. Then all routes are listed that can
    be part of a plan better than the incumbent, if they are not too many, and an integer program
    combines them; else plans are divided into those that visit a stop, or use an arc, and those
    that do not.
    """
    return prove(instance, options, Deadline(options.time_limit))


def prove(
    instance: Instance,
    options: ExactOptions,
    deadline: Deadline,
    better_plan: BetterPlan | None = None,
) -> Result:
    """Do what `columns` does until a deadline; `better_plan` asks who looks for plans meanwhile."""
    start = first_plan(instance, options.start)
    incumbent = Incumbent(
        [list(route.stops) for route in start.routes],
        start.profit,
        float(instance.full_profit.sum()),
    )
    reporter = Reporter(
        options.progress, deadline, lambda: best_solution(instance, incumbent.routes)
    )
    reporter.report(incumbent.profit)

    def search() -> None:
        memory = options.memory_limit * 2**30
        _search(Generation(instance, incumbent, deadline, memory, reporter, better_plan))
        reporter.report(incumbent.profit, incumbent.profit if incumbent.proven else incumbent.bound)

    deadline.work(search)
    solution = best_solution(instance, incumbent.routes)
    details = {"labels": incumbent.labels, "branches": incumbent.branches}
    if incumbent.proven:
        return Result(instance, solution, "optimal", solution.profit, details=details)
    bound = max(solution.profit, incumbent.bound)
    return Result(instance, solution, "feasible", bound, details=details)


def _search(generation: Generation) -> None:
    """Work on the branch with the largest bound until none can hold a better plan."""
    tree, incumbent = generation.tree, generation.tree.incumbent
    incumbent.bound = min(incumbent.bound, tree.unit)
    if tree.hopeful(incumbent.bound):
        generation.add_plan()
        free = np.zeros(len(generation.network.number), dtype=np.bool_)
        tree.push(Branch(incumbent.bound, free, generation.reach, generation.instance.vehicles))
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
    master = generation.master
    children = branch.divide(generation.network, master.routes, relaxation.share)
    if children is None:
        tree.give_up(branch)
        return []
    return children


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
        self.problem, self.reach = team_problem(instance)
        self.network = self.problem.network
        unit = self.problem.full_profit
        self.tree = Tree(incumbent, self.problem.grain, unit, reporter)
        self.master = Master(self.network, instance.vehicles, unit)
        self.penalty = np.zeros(len(self.network.number))
        self._better_plan = better_plan
        self._small = small

    def add_plan(self) -> None:
        """Add the routes of the incumbent to the columns."""
        first, number = self.network.first, self.network.number.tolist()
        place = {stop: first[k] for k, stop in enumerate(number)}
        plan = self.tree.incumbent.routes
        routes = [np.array([place[s] for s in stops if s in place]) for stops in plan]
        self.add([route for route in routes if len(route)])

    def take_over_better_plan(self) -> bool:
        """Take over a better plan that somebody else has found; say if there is one."""
        plan = self._better_plan(self.tree.incumbent.profit) if self._better_plan else None
        if plan is None:
            return False
        self.tree.offer([list(route.stops) for route in plan.routes], plan.profit)
        self.add_plan()
        return True

    def add(self, routes: list[IntArray], relaxation: Relaxation | None = None) -> bool:
        """Add routes to the columns; say whether any improves the given relaxation."""
        fresh = self.master.fresh(routes)
        if not fresh:
            return False
        profit = self.profits(fresh)
        self.master.add(fresh, profit)
        if relaxation is None:
            return False
        paid = self.master.paid(relaxation.price, fresh)
        return bool((profit - paid - relaxation.vehicle > 1e-11 * self.tree.unit).any())

    def profits(self, routes: list[IntArray]) -> FloatArray:
        """Give the profits of routes."""
        stops = [self.problem.stops(route) for route in routes]
        return optimal_stays(self.instance, stops).profit

    def offer(self, routes: list[IntArray]) -> float:
        """Take routes as the plan if they earn more; return their profit."""
        profit = float(self.profits(routes).sum())
        self.tree.offer([self.problem.stops(route) for route in routes], profit)
        return profit

    def round(self, relaxation: Relaxation, vehicles: int, fixed: list[IntArray]) -> None:
        """Offer a plan of fixed routes and those with the largest shares."""
        share, stop = relaxation.share, self.network.stop
        used = np.zeros(len(self.network.number), dtype=np.bool_)
        chosen: list[IntArray] = []
        for k in np.argsort(-share, kind="stable")[: np.count_nonzero(share > SHARE)]:
            route = self.master.routes[k]
            if len(chosen) < vehicles and not used[stop[route]].any():
                used[stop[route]] = True
                chosen.append(route)
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
            pricing = self.pricing(branch, price, relaxation)
            if self.guess(pricing, relaxation, TRIES):
                inertia = INERTIA
                continue
            improving = self._small and self._prove_small(pricing, relaxation)
            if not self._small:
                if proof is None and (proof := self._first_proof(branch, price)) is not None:
                    continue
                improving = self._prove(pricing, relaxation, branch)
            last = proof is None or inertia == 0
            bound = pricing.bound(branch.vehicles)
            self.tree.lower(branch, bound)
            if proof is None or bound < proof.bound:
                proof = Proof(bound, price, pricing.value)
                if self.tree.gap(bound) < listed / 2 and not self._small:
                    listed = self.tree.gap(bound)
                    solve_by_lists(self, branch, proof, LIST_SECONDS / 5)
                if not self.tree.hopeful(branch.bound):
                    break
            if improving:
                inertia = INERTIA
            elif last or not pricing.proven:
                return relaxation if pricing.proven else None, proof
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

    def pricing(self, branch: Branch, price: FloatArray, relaxation: Relaxation) -> Pricing:
        """Charge the prices of a branch's stops."""
        problem = priced(self.problem, price, branch.arcs, self.reach & ~branch.arcs)
        # Some route of the relaxation earns this much at these prices, unless none earns anything.
        floor = max(0.0, (relaxation.profit - float(price.sum())) / branch.vehicles)
        useful = np.append(problem.graph.worth > 0.0, False)[self.network.stop]
        return Pricing(problem, branch.arcs & useful, floor)

    def guess(
        self, pricing: Pricing, relaxation: Relaxation, tries: Sequence[tuple[int, int]]
    ) -> bool:
        """Look for routes quickly; the answer is whether any improves the relaxation."""
        for most, rule in tries:
            arcs = promising_arcs(pricing.problem, pricing.arcs, most)
            known = Known([], pricing.floor, math.inf)
            labels = Labels(with_arcs(pricing.problem, arcs), known, self.memory)
            labels.extend(no_bounds(), self.deadline, GUESS_SECONDS, rule)
            self.tree.incumbent.labels += known.labels
            pricing.most = max(pricing.most, known.profit)
            if self.add(choose_routes(self.network, labels.store, pricing.floor), relaxation):
                return True
            if most >= self.network.alternatives or self.deadline.left <= 0:
                break
        return False

    def _prove_small(self, pricing: Pricing, relaxation: Relaxation) -> bool:
        """Look for the best route without bounds, which takes long unless there are few labels.

        The answer is whether any route improves the relaxation.
        """
        known = Known([], pricing.most, math.inf)
        labels = Labels(with_arcs(pricing.problem, pricing.arcs), known, self.memory)
        labels.extend(no_bounds(), self.deadline, PROVE_SECONDS, PROVE)
        self.tree.incumbent.labels += known.labels
        self._small = pricing.proven = known.proven
        if known.proven:
            pricing.value = known.profit
        return self.add(choose_routes(self.network, labels.store, pricing.floor), relaxation)

    def _prove(self, pricing: Pricing, relaxation: Relaxation, branch: Branch) -> bool:
        """Look for the best route, until one is found that improves the relaxation, or none is."""
        known = Known([], pricing.most, math.inf)
        labels = Labels(with_arcs(pricing.problem, pricing.arcs), known, self.memory)
        improving = False
        for _ in labels.prove(self.deadline, self.penalty, PROVE, PATIENCE):
            pricing.value = known.profit if known.proven else known.bound
            self.tree.lower(branch, pricing.bound(branch.vehicles))
            routes = choose_routes(self.network, labels.store, pricing.floor)
            improving = self.add(routes, relaxation)
            if improving or not self.tree.hopeful(branch.bound):
                break
        self.tree.incumbent.labels += known.labels
        pricing.proven = known.proven
        return improving

    def ascend(self, branch: Branch, price: FloatArray, seconds: float) -> Proof | None:
        """Improve prices as if routes could come back to a stop, which gives a bound quickly."""
        problem = with_arcs(self.problem, branch.arcs)
        steps = min(problem.grid_steps(), ASCENT_STEPS)
        if problem.bounds_seconds(steps) > self.deadline.left:
            return None
        part = self.deadline.child(min(self.deadline.left / 8, seconds))
        grid = make_grid(*problem, steps)
        price, state = price.copy(), np.array([1.0, np.inf, 0.0])
        target = self.tree.incumbent.profit
        proof: Proof | None = None
        while proof is None or (part.left > 0 and state[0] > LAST_STEP):
            bounds = improve_penalties(*problem, grid, price, state, target, branch.vehicles)
            paid = float(bounds.penalty.sum())
            value = float(bounds.root[0]) - paid
            bound = paid + branch.vehicles * value
            if proof is None or bound < proof.bound:
                proof = Proof(bound, bounds.penalty, value)
                self.tree.lower(branch, bound)
        return proof


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
    fixed: list[IntArray],
    profit: float,
    detours: int,
    deadline: Deadline,
) -> None:
    """Fix the route with the largest share, or another, and solve the relaxation of the rest."""
    relaxation = _relax_quickly(generation, branch, fixed, deadline)
    hopeful, master = generation.tree.hopeful, generation.master
    if relaxation is None or not hopeful(profit + relaxation.profit):
        return
    order = np.argsort(-relaxation.share, kind="stable")[: 1 + detours]
    for k, column in enumerate(order[relaxation.share[order] > SHARE]):
        route = master.routes[column]
        earned = profit + master.profit[column]
        if branch.vehicles == 1:
            generation.offer([*fixed, route])
        elif hopeful(profit + relaxation.profit) and deadline.left > 0:
            rest = branch.without(generation.network, route)
            dive(generation, rest, [*fixed, route], earned, detours - k, deadline)


def _relax_quickly(
    generation: Generation, branch: Branch, fixed: list[IntArray], deadline: Deadline
) -> Relaxation | None:
    """Add routes as long as some are found without a proof."""
    generation.master.enter(branch)
    relaxation = generation.master.solve(deadline)
    for _ in range(DIVE_ROUNDS):
        if relaxation is None or deadline.left <= 0:
            return None
        generation.round(relaxation, branch.vehicles, fixed)
        pricing = generation.pricing(branch, relaxation.price, relaxation)
        if not generation.guess(pricing, relaxation, TRIES[:2]):
            break
        relaxation = generation.master.solve(deadline)
    return relaxation


def _combine_found(generation: Generation) -> None:
    """Combine the routes found so far, those that are best at the prices of their relaxation."""
    master, deadline = generation.master, generation.deadline
    relaxation = master.solve(deadline)
    if relaxation is None or not master.routes:
        return
    profit = np.array(master.profit)
    paid = master.paid(relaxation.price, master.routes)
    best = np.argsort(paid - profit, kind="stable")[:COMBINED]
    free = np.zeros(len(generation.network.number), dtype=np.bool_)
    part = deadline.child(min(COMBINE_SECONDS, deadline.left / 4))
    _combine(generation, [master.routes[k] for k in best], profit[best], free, part)


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
        routes = list_routes(generation, branch, proof, near, seconds)
        if routes is None:
            break
        generation.add(routes[:COMBINED])
        profits = generation.profits(routes)
        best = _combine(generation, routes, profits, branch.forced, deadline.child(seconds))
        if best is None:
            break
        tree.lower(branch, max(tree.incumbent.profit, best, proof.bound - near))
        if near == whole or not tree.hopeful(branch.bound):
            break
        near *= 2
    return not tree.hopeful(branch.bound)


def list_routes(
    generation: Generation, branch: Branch, proof: Proof, near: float, seconds: float
) -> list[IntArray] | None:
    """List all routes that earn nearly as much as the best, unless they are too many.

    Of routes with the same stops only the best is listed.
    """
    deadline, network = generation.deadline, generation.network
    problem = priced(generation.problem, proof.price, branch.arcs, generation.reach & ~branch.arcs)
    # A route without a stop that must be visited cannot take the place of one with it.
    price = np.where(branch.forced, np.inf, np.maximum(0.0, proof.price))
    problem = problem._replace(graph=problem.graph._replace(price=price))
    least = proof.value - near
    known = Known([], least, math.inf)
    labels = Labels(problem, known, min(generation.memory, LIST_MEMORY))
    part = deadline.child(min(deadline.left / 2, seconds))
    for _ in labels.prove(part, generation.penalty.copy(), EVERY, PATIENCE):
        pass
    generation.tree.incumbent.labels += known.labels
    if not known.proven:
        return None
    store = labels.store
    label = store.label[: store.counter[LABELS]]
    useful = np.flatnonzero((label["dead"] == 0) & (label["whole"] >= least))
    useful = useful[np.argsort(-label["whole"][useful], kind="stable")]
    _, first = np.unique(store.visited[useful], axis=0, return_index=True)
    if len(first) > LIST_ROUTES or len(first) * COMBINE_TIME > deadline.left:
        return None
    return [route_of(network, store, int(one)) for one in useful[np.sort(first)]]


def _combine(
    generation: Generation,
    routes: list[IntArray],
    profit: FloatArray,
    forced: BoolArray,
    deadline: Deadline,
) -> float | None:
    """Find the best plan of some routes; return its profit, if it is proven to be the best."""
    if not routes:
        return 0.0
    found = combine(
        generation.network,
        routes,
        profit / generation.tree.unit,
        forced,
        generation.instance.vehicles,
        deadline,
    )
    best = generation.offer([routes[k] for k in found.chosen]) if len(found.chosen) else 0.0
    return best if found.proven else None


def warm_up() -> None:
    """Compile or load every kernel, by solving a small problem with and without bounds."""
    instance = Instance(budget=9, xy=np.eye(3, 2), rate=[0, 2, 1], max_stay=[0, 2, 3], vehicles=2)
    for small in (True, False):
        incumbent = Incumbent([], 0.0, np.inf)
        _search(Generation(instance, incumbent, Deadline(60.0), 2**30, small=small))


METHOD = Method(
    name="columns",
    description="Proven best plan for a team: column generation with exact stays and bounds.",
    function=columns,
    options=ExactOptions,
    warm_up=warm_up,
)
