"""What every method is made of: a function, a line about it, and its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, InstanceOf

from decost.method.features import Feature
from decost.method.progress import Progress
from decost.method.result import Result
from decost.problem.instance import Instance
from decost.problem.plan import Solution

Stays: TypeAlias = Literal["optimal", "greedy"]
"""How a constructive method sets the stays: by stage two, or as long as possible."""

MOST_ROUNDS = 2**62
"""Rounds of a method that has no other end than its time limit."""


class MethodError(ValueError):
    """An unknown method or option, or a method that cannot solve this instance."""


class Options(BaseModel):
    """Options that every method takes; a method with more of them extends this class."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    seed: int = Field(default=0, ge=0, le=2**63 - 1, description="seed of the random generator")
    time_limit: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=True,
        description="seconds after which the best plan so far is returned",
    )


class ImprovingOptions(Options):
    """Options of a method that goes on improving its plan until its time is over."""

    start: InstanceOf[Solution] | None = Field(
        default=None, description="a plan to begin with; the answer is never worse"
    )
    progress: Callable[[Progress], object] | None = Field(
        default=None,
        description="called when a better plan or bound is found; ends the run if it answers False",
    )


class TimedOptions(ImprovingOptions):
    """Options of a method that would never end without a time limit."""

    time_limit: float | None = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=True,
        description="seconds until the best plan is returned",
    )


class RoundsOptions(TimedOptions):
    """Options of a method that goes on in rounds, each of which takes little time."""

    iterations: int | None = Field(
        default=None, ge=0, le=MOST_ROUNDS, description="rounds after the first plan, at most"
    )

    @property
    def rounds(self) -> int:
        """Rounds that there may be."""
        return MOST_ROUNDS if self.iterations is None else self.iterations


@dataclass(frozen=True)
class Method:
    """One way to solve: `function(instance, options)` with what the door must know of it.

    `can` names the features (see `decost.method.features`) that it can plan for; an instance
    with another one is refused. `warm_up` loads what the function needs, and is called once
    before it. `rehearse` calls every kernel, on small problems, for `prepare` to compile them.
    A method that is faster on many instances at once has a function `many` for them; an instance
    for which that answers None is solved by itself, and no result comes twice. It gets no more than
    `batch` at a time. One that calls others names those that it may call for an instance in `uses`.
    """

    name: str
    description: str
    function: Callable[[Instance, Any], Result]
    options: type[Options] = Options
    can: tuple[Feature, ...] = ("teams",)
    warm_up: Callable[[], object] | None = None
    rehearse: Callable[[], object] | None = None
    many: Callable[[Sequence[Instance], Any], Sequence[Result | None]] | None = None
    batch: int = 500
    uses: Callable[[Instance], Sequence[str]] | None = None
