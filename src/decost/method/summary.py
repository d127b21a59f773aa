"""What the plans of a set come to, added up plan by plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from decost.method.result import gap_of


@dataclass
class Summary:
    """Counts and sums over rows of a set, each of which is a plan or a failure.

    Attributes
    ----------
    instances, optimal, failed, short
        How many there are; those that are short leave required stops out.
    unbounded
        Plans without a bound.
    profit, gap, runtime
        Sums over plans; of gaps, over those with a bound.
    first_failed, first_short
        What to say of the first of them.
    """

    instances: int = 0
    optimal: int = 0
    failed: int = 0
    short: int = 0
    unbounded: int = 0
    profit: float = 0.0
    gap: float = 0.0
    runtime: float = 0.0
    first_failed: str = ""
    first_short: str = ""

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Count more rows, as they are written to JSON."""
        for row in rows:
            self.instances += 1
            if row["status"] == "failed":
                self.failed += 1
                self.first_failed = self.first_failed or f"instance {row['index']}: {row['error']}"
                continue
            if row["status"] in ("incomplete", "infeasible"):
                self.short += 1
                self.first_short = self.first_short or f"instance {row['index']}: {row['status']}"
            self.optimal += row["status"] == "optimal"
            gap = gap_of(row["profit"], row["bound"])
            self.unbounded += gap is None
            self.profit += row["profit"]
            self.gap += gap or 0.0
            self.runtime += row["runtime"]

    def join(self, other: Summary) -> None:
        """Add what comes behind."""
        mine, its = asdict(self), asdict(other)
        self.__dict__.update({name: mine[name] or its[name] for name in mine if "first" in name})
        self.__dict__.update({name: mine[name] + its[name] for name in mine if "first" not in name})

    @property
    def plans(self) -> int:
        """How many plans there are."""
        return self.instances - self.failed
