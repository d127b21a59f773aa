"""Routes at the prices of stops: good ones soon, and the best with a proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decost.compiling import clock
from decost.exact.bounds import count_visits, make_bounds, make_grid, move_penalties, no_bounds
from decost.exact.exact import LAST_STEP, Known, Labels, Problem
from decost.exact.labels import GUESS, PROVE
from decost.exact.master import Relaxation
from decost.exact.ng_routes import Learnt, NgAscent
from decost.exact.pool import Pool
from decost.exact.pricing import (
    Trip,
    choose_routes,
    forgetful,
    near_stops,
    price_steps,
    priced,
    promising_arcs,
    remember_cycles,
    with_arcs,
)
from decost.exact.tree import Branch, Incumbent
from decost.method.deadline import Deadline
from decost.method.progress import BetterPlan, Reporter
from decost.problem.instance import BoolArray, FloatArray, Instance

TRIES = ((10, GUESS), (6, PROVE), (20, GUESS), (8, PROVE), (40, GUESS), (10, PROVE))
"""How routes are looked for before a proof: how many stops can follow each, and by which rule."""

ASCENT_STEPS = 500
"""Most steps of the grid for first prices."""

GUESS_SECONDS, PROVE_SECONDS = 1.0, 0.3
"""Most seconds to guess routes, and to find the best one without bounds."""

GLANCE, PATIENCE = 0.01, 0.05
"""Seconds for the bounds of priced routes that are guessed, and for a proof at first; the labels
then get twice as much."""

PLAIN = 3
"""How often these bounds are improved before nodes of relaxed routes remember stops."""

FORGETFUL = 4
"""Most times that the best routes of a type may come back to stops before nodes remember all."""


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
    ascent: NgAscent | None = None
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


class Prices(Pool):
    """Label setting for routes that earn more than their stops cost, by type of vehicles.

    `small` says that this is quick without bounds, as far as is known.
    """

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
        super().__init__(instance, incumbent, deadline, memory, reporter, better_plan)
        self.penalty = [np.zeros(len(kind.stops)) for kind in self.team.kinds]
        self.remembers = [near_stops(kind.problem) for kind in self.team.kinds]
        self.learnt: list[Learnt | None] = [None] * len(self.team.kinds)
        self.small = small
        self._first_type = 0

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
                begin = clock()
                labels.extend(no_bounds(), self.deadline, GUESS_SECONDS, rule)
                if rule == PROVE and clock() - begin > PROVE_SECONDS / 3:
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

    def _ascent(self, pricing: Pricing) -> NgAscent | None:
        """Give bounds for the labels of a pricing, nothing if there is no time for them."""
        problem = pricing.problem
        steps = price_steps(problem)
        if pricing.ascent is None and problem.bounds_seconds(steps) < self.deadline.left:
            known = self.penalty[pricing.kind], pricing.most, steps, self.learnt[pricing.kind]
            pricing.ascent = NgAscent(problem, *known, after=PLAIN)
            pricing.ascent.improve(self.deadline.child(GLANCE), pricing.most)
            self.penalty[pricing.kind] = pricing.ascent.bounds.penalty
        return pricing.ascent

    def guess_by_bounds(self, pricings: list[Pricing], relaxation: Relaxation) -> bool:
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

    def prove_small(self, pricings: list[Pricing], relaxation: Relaxation) -> bool:
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

    def prove(
        self,
        pricings: list[Pricing],
        relaxation: Relaxation,
        branch: Branch,
        price: FloatArray,
        deadline: Deadline,
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
                better, cyclic = self._prove_type(pricing, relaxation, hopeful, forgets, deadline)
                improving |= better
                again += [pricing] * cyclic
                if not self.tree.hopeful(branch.bound) or deadline.left <= 0:
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
        deadline: Deadline,
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
            problem = forgetful(problem, self.remembers[kind])
        labels = Labels(problem, known, self.memory)
        better = False
        for _ in labels.prove(deadline, ascent, PROVE, PATIENCE):
            pricing.value = min(pricing.value, known.value if known.proven else known.bound)
            better = self._add_found(labels, pricing, relaxation)
            if not hopeful() or better:
                break
        self.tree.incumbent.labels += known.labels
        self.penalty[kind], self.learnt[kind] = ascent.bounds.penalty, ascent.learnt
        pricing.proven = known.proven
        cyclic = known.proven and remember_cycles(
            problem.network, labels.store, pricing.most, self.remembers[kind]
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
