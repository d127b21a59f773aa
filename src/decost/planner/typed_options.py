"""The options of all methods as types, so that a misspelt one is found before it is run.

Which method takes which, and what they mean, is said by the methods (`decost methods`). A method of
your own has others: give those as a `dict[str, Any]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from decost.method.progress import Progress
from decost.method.result import Result
from decost.problem.plan import Solution

Order: TypeAlias = Sequence[Sequence[int | str]] | Mapping[str, Sequence[int | str]]
"""Stops in the order of their visits, by vehicle."""


class MethodOptions(TypedDict, total=False):
    """What methods take beside a seed and a time limit."""

    memory_limit: float
    weights: str
    symmetries: bool
    drawn: bool
    temperature: float
    samples: int
    beam: int
    stay_optimisation: bool
    device: str
    stays: Literal["optimal", "greedy"]
    ants: int
    iterations: int | None
    roulette: bool
    reset_worst: bool
    solver: Literal["highs", "gurobi"]
    solver_threads: int
    begin: Literal["greedy", "decost"]


class SolveOptions(MethodOptions, total=False):
    """Options of `solve` for one instance."""

    start: Solution | Result | Order | None
    progress: Callable[[Progress], object] | None
    threads: int


class SetOptions(MethodOptions, total=False):
    """Options of `solve_many` and `solve_each`, the same for all instances."""

    seed: int
    time_limit: float | None


class ReplanOptions(MethodOptions, total=False):
    """Options of `replan`."""

    seed: int
    time_limit: float | None
    progress: Callable[[Progress], object] | None
    threads: int
