"""Column generation: prices from the master problem, routes from label setting."""

from __future__ import annotations

import math

from decost.compiling import clock
from decost.exact.exact import FIRST_PATIENCE
from decost.exact.lists import Lists, solve_by_lists
from decost.exact.master import Relaxation
from decost.exact.plans import dive, find_plans
from decost.exact.prices import TRIES, Prices, Proof
from decost.exact.tree import Branch
from decost.problem.instance import FloatArray

INERTIA, LEAST_INERTIA = 0.7, 0.1
"""Share of the best prices so far in the prices that are tried next, and where it becomes 0."""

PROBE_SECONDS = 1.0
"""How long a first proof by labels may take before better prices are looked for."""

ASCENT_SECONDS = 5.0
"""Most seconds to look for first prices."""

ASIDE = 0.25
"""How long first prices are looked for, and routes are listed before all is proven, as a part of
the time that went before."""


class Generation(Prices):
    """The generation of columns for one branch after another."""

    lists: Lists | None = None
    _tried = False

    def converge(self, branch: Branch) -> tuple[Relaxation | None, Proof | None]:
        """Add routes until no other can improve the relaxation, lowering the branch's bound.

        Returns the relaxation and the best proof; no relaxation if there was no time or memory for
        the end. New prices are taken between those of the best proof and of the relaxation.
        """
        self.master.enter(branch)
        begin = clock()
        proof: Proof | None = None
        inertia = INERTIA
        listed, labelled = math.inf, False
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
            improving = self.small and self.prove_small(pricings, relaxation)
            if not self.small:
                if proof is None:
                    proof = self._first_proof(branch, price, ASIDE * (clock() - begin))
                    if proof is not None:
                        continue
                if not improving and self.guess_by_bounds(pricings, relaxation):
                    continue
                if not improving and inertia > 0 and labelled:
                    inertia = 0.0
                    continue
                first, self._tried = not self._tried, True
                part = self.deadline.child(PROBE_SECONDS) if first else self.deadline
                improving |= self.prove(pricings, relaxation, branch, price, part)
                if first and part.left <= 0:
                    proof = self._better_proof(branch, price, proof)
                    listed = 0.0  # routes are too many for that, too
                    continue
            last = proof is None or inertia == 0
            found = Proof.of(branch, price, pricings)
            proven = all(one.proven for one in pricings)
            self.tree.lower(branch, found.bound)
            if proof is None or found.bound < proof.bound:
                proof, labelled = found, True
                gap = self.tree.gap(proof.bound)
                if gap < listed / 2 and not self.small:
                    listed = gap
                    solve_by_lists(self, branch, proof, ASIDE * (clock() - begin))
                if not self.tree.hopeful(branch.bound):
                    break
            if improving:
                inertia = INERTIA
            elif last or not proven:
                return relaxation if proven else None, proof
            else:
                inertia = inertia / 2 if inertia > LEAST_INERTIA else 0.0
        return None, proof

    def _better_proof(self, branch: Branch, price: FloatArray, proof: Proof | None) -> Proof | None:
        """Look longer for first prices, since it takes long to prove any."""
        found = self.ascend(branch, price, ASCENT_SECONDS)
        if found is None or (proof is not None and proof.bound < found.bound):
            return proof
        return found

    def _find_early(self, branch: Branch, relaxation: Relaxation, patience: float) -> None:
        """Find a plan and a bound now, since it would take long until there are any."""
        self.ascend(branch, relaxation.price, patience / 4)
        dive(self, branch, [], 0.0, 0, self.deadline.child(patience / 2))
        self.master.enter(branch)

    def _first_proof(self, branch: Branch, price: FloatArray, seconds: float) -> Proof | None:
        """Find plans, and prices to begin with where labels need bounds."""
        find_plans(self, branch)
        self.master.enter(branch)
        return self.ascend(branch, price, min(ASCENT_SECONDS, seconds))
