"""Plans as JSON objects, and sets of them as lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from decost.files import limits
from decost.files.json import Schema, parsed, validated
from decost.files.limits import FormatError
from decost.files.lines import lines_of
from decost.problem.instance import MAX_VEHICLES, Instance
from decost.problem.plan import Route, Solution, timed_route


class _Visit(Schema):
    stop: str | int
    start: float
    stay: float
    profit: float | None = None


class _SolutionFile(Schema):
    format: Literal["decost-solution"] = "decost-solution"
    version: Literal[1] = 1
    instance: str = ""
    index: int | None = None
    method: str = ""
    status: str = ""
    profit: float | None = None
    bound: float | None = None
    runtime: float | None = None
    seed: int | None = None
    routes: list[Annotated[list[_Visit], Field(fail_fast=True)]] = Field(
        max_length=MAX_VEHICLES, fail_fast=True
    )


def read_solution(path: str | Path, instance: Instance) -> Solution:
    """Read a plan for an instance, as `write` and `decost solve --out` write it."""
    with Path(path).open("rb") as file:
        data = file.read(limits.MAX_BYTES + 1)
    limits.require_size(path, data, limits.MAX_BYTES)
    return _solution(path, parsed(path, limits.decoded(path, data)), instance)


def read_solutions(path: str | Path, instances: Sequence[Instance]) -> dict[int, Solution]:
    """Read the plans of a set, one JSON line each, by the `index` of their instance.

    An instance that could not be solved has an `error` in its line instead of a plan.
    """
    plans: dict[int, Solution] = {}
    seen: set[int] = set()
    with Path(path).open("rb") as file:
        for number, line in lines_of(path, file):
            where = f"{path}: line {number}"
            data = parsed(where, line)
            index = data.get("index") if isinstance(data, dict) else None
            if not isinstance(index, int) or not 0 <= index < len(instances) or index in seen:
                raise FormatError(
                    f"{where}: index = {index!r}: must be from 0 to {len(instances) - 1}, once each"
                )
            seen.add(index)
            if data.get("status") != "failed":
                plans[index] = _solution(where, data, instances[index])
    if not plans:
        raise FormatError(f"{path}: holds no plan")
    return plans


def _solution(where: str | Path, data: Any, instance: Instance) -> Solution:
    file = validated(_SolutionFile, where, data)
    if file.instance and instance.name and file.instance != instance.name:
        raise FormatError(
            f"{where}: instance = {file.instance!r}: is another instance than {instance.name!r}"
        )
    numbers = {label: number for number, label in enumerate(instance.ids or (), start=1)}
    routes = []
    for k, visits in enumerate(file.routes):
        stops = []
        for position, visit in enumerate(visits):
            stop = numbers.get(visit.stop, -1) if isinstance(visit.stop, str) else visit.stop
            if not 1 <= stop <= instance.stops:
                raise FormatError(
                    f"{where}: routes[{k}][{position}].stop = {visit.stop!r}: "
                    "the instance has no such stop"
                )
            stops.append(stop)
        route = timed_route(
            instance, stops, [visit.stay for visit in visits], [visit.start for visit in visits]
        )
        claimed = tuple(
            mine if his.profit is None else mine._replace(profit=his.profit)
            for mine, his in zip(route.visits, visits, strict=True)
        )
        routes.append(Route(claimed, route.finish))
    return Solution(tuple(routes))
