"""The default: whatever is best for the instance."""

from __future__ import annotations

from pydantic import Field

from decost.instance import Instance
from decost.methods.exact import ExactOptions, exact, warm_up
from decost.methods.greedy import first_plan
from decost.methods.options import Method
from decost.result import Result


class AutoOptions(ExactOptions):
    """Options of `auto`: those of `exact`, with a time limit."""

    time_limit: float | None = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=True,
        description="seconds until the best plan is returned",
    )


def auto(instance: Instance, options: AutoOptions) -> Result:
    """Prove the best plan for one vehicle, or get as near as time allows; teams go greedily."""
    if instance.vehicles == 1:
        return exact(instance, options)
    return Result(instance, first_plan(instance, options.start), "feasible")


METHOD = Method(
    name="auto",
    description="The default: exact for one vehicle (in 10 s, unless told), greedy for teams.",
    function=auto,
    options=AutoOptions,
    warm_up=warm_up,
)
