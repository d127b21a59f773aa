"""Plans as JSON objects, and sets of them as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from decost.files.json import Schema, parsed, read_json, validated
from decost.files.limits import FormatError
from decost.files.lines import lines_of
from decost.files.parts import holds_parts, plans_in
from decost.problem.checker import choose_alternatives
from decost.problem.instance import MAX_STOPS, MAX_VEHICLES, Instance
from decost.problem.plan import Route, Solution, Visit, alternative_numbers, timed_route
from decost.problem.validation import shortened


class _Visit(Schema):
    stop: str | int
    start: float
    stay: float
    profit: float | None = None


class _AlternativeVisit(_Visit):
    alternative: int | None = None


class _Route(Schema):
    vehicle: str | None = None
    depart: float | None = None
    finish: float | None = None
    late: float | None = None
    visits: Annotated[list[_AlternativeVisit], Field(fail_fast=True)]


class _SolutionFile(Schema):
    format: Literal["decost-solution"] = "decost-solution"
    version: Literal[1, 2] | None = None
    instance: str = ""
    index: int | None = None
    method: str = ""
    status: str = ""
    profit: float | None = None
    bound: float | None = None
    required_visited: int | None = None
    required_bound: int | None = None
    reasons: list[str] = Field([], max_length=MAX_STOPS)
    runtime: float | None = None
    seed: int | None = None
    explanation: Any = None
    routes: Annotated[list[Any], Field(max_length=MAX_VEHICLES)]


class _Lists(Schema):
    routes: list[Annotated[list[_Visit], Field(fail_fast=True)]] = Field(fail_fast=True)


class _ListsWithAlternatives(Schema):
    routes: list[Annotated[list[_AlternativeVisit], Field(fail_fast=True)]] = Field(fail_fast=True)


class _Objects(Schema):
    routes: list[_Route] = Field(fail_fast=True)


def read_solution(path: str | Path, instance: Instance) -> Solution:
    """Read a plan for an instance, as `write` and `decost solve --out` write it."""
    return solution_of(path, read_json(path), instance)


def read_solutions(path: str | Path, instances: Sequence[Instance]) -> dict[int, Solution]:
    """Read the plans of a set, JSON lines or Parquet, by the `index` of their instance.

    An instance that could not be solved has an `error` in its line instead of a plan.
    """
    plans: dict[int, Solution] = {}
    seen: set[int] = set()
    for where, data in _rows(Path(path)):
        index = data.get("index") if isinstance(data, dict) else None
        if not isinstance(index, int) or not 0 <= index < len(instances) or index in seen:
            raise FormatError(
                f"{where}: index = {index!r}: must be from 0 to {len(instances) - 1}, once each"
            )
        seen.add(index)
        if data.get("status") != "failed":
            plans[index] = solution_of(where, data, instances[index])
    if not plans:
        raise FormatError(f"{path}: holds no plan")
    return plans


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Give the plans of a set, and where each of them is."""
    if holds_parts(path):
        for row in plans_in(path):
            yield f"{path}: index {row['index']}", row
        return
    with path.open("rb") as file:
        for number, line in lines_of(path, file):
            where = f"{path}: line {number}"
            yield where, parsed(where, line)


def solution_of(where: str | Path, data: Any, instance: Instance) -> Solution:
    """Make the plan for an instance that parsed JSON describes."""
    file = validated(_SolutionFile, where, data)
    if file.instance and instance.name and file.instance != instance.name:
        raise FormatError(
            f"{where}: instance = {file.instance!r}: is another instance than {instance.name!r}"
        )
    routes = {"routes": file.routes}
    if file.version == 1:
        return _in_order(where, validated(_Lists, where, routes).routes, instance)
    if file.routes and isinstance(file.routes[0], list):
        return _in_order(where, validated(_ListsWithAlternatives, where, routes).routes, instance)
    return _by_vehicle(where, validated(_Objects, where, routes).routes, instance)


def _in_order(
    where: str | Path, routes: Sequence[Sequence[_Visit]], instance: Instance
) -> Solution:
    """Make a plan of lists of visits, the first of which is the first vehicle's, and so on."""
    last = instance.vehicles - 1  # more routes than vehicles are for the checker to complain about
    claims = [
        _claimed(f"{where}: routes[{k}]", visits, None, instance, min(k, last))
        for k, visits in enumerate(routes)
    ]
    return _timed(Solution(tuple(claims)), instance)


def _by_vehicle(where: str | Path, routes: Sequence[_Route], instance: Instance) -> Solution:
    """Make a plan of routes that name their vehicles; the others stay where they are."""
    numbers = {str(vehicle.id): k for k, vehicle in enumerate(instance.fleet)}
    claims: dict[int, Route] = {}
    for k, route in enumerate(routes):
        vehicle = k if route.vehicle is None else numbers.get(route.vehicle, -1)
        name = shortened(str(k + 1) if route.vehicle is None else route.vehicle)
        if not 0 <= vehicle < instance.vehicles:
            raise FormatError(
                f"{where}: routes[{k}].vehicle = {name}: the instance has no such vehicle"
            )
        if vehicle in claims:
            raise FormatError(f"{where}: routes[{k}].vehicle = {name}: has a route already")
        claims[vehicle] = _claimed(
            f"{where}: routes[{k}].visits", route.visits, route.depart, instance, vehicle
        )
    idle = Route((), 0.0)
    return _timed(
        Solution(tuple(claims.get(vehicle, idle) for vehicle in range(instance.vehicles))), instance
    )


def _claimed(
    where: str, visits: Sequence[_Visit], depart: float | None, instance: Instance, vehicle: int
) -> Route:
    """Take a route as the file has it: what it does not say is None, or NaN."""
    numbers = {label: number for number, label in enumerate(instance.ids or (), start=1)}
    unknown = float("nan")
    claims = []
    for position, visit in enumerate(visits):
        stop = numbers.get(visit.stop, -1) if isinstance(visit.stop, str) else visit.stop
        if not 1 <= stop <= instance.stops:
            raise FormatError(
                f"{where}[{position}].stop = {shortened(visit.stop)}: the instance has no such stop"
            )
        first, end = instance.alternative_first[stop : stop + 2].tolist()
        if first == end:
            raise FormatError(
                f"{where}[{position}].stop = {shortened(visit.stop)}: "
                "the stop has no alternative by which it could be visited"
            )
        which = visit.alternative if isinstance(visit, _AlternativeVisit) else None
        if which is not None and not 0 <= which < end - first:
            raise FormatError(
                f"{where}[{position}].alternative = {which}: must be from 0 to {end - first - 1}"
            )
        profit = unknown if visit.profit is None else visit.profit
        claims.append(Visit(stop, unknown, visit.start, visit.stay, unknown, profit, which))
    begin = float(instance.fleet[vehicle].begin)
    return Route(tuple(claims), unknown, begin if depart is None else depart)


def _timed(claims: Solution, instance: Instance) -> Solution:
    """Work out what a plan in a file does not say, and keep what it says."""
    routes = []
    last = instance.vehicles - 1
    for k, claim in enumerate(choose_alternatives(instance, claims).routes):
        starts = [visit.start for visit in claim.visits]
        stays = [visit.stay for visit in claim.visits]
        used = alternative_numbers(instance, claim)
        route = timed_route(instance, used, stays, starts, min(k, last))
        visits = [
            mine if isnan(his.profit) else mine._replace(profit=his.profit)
            for mine, his in zip(route.visits, claim.visits, strict=True)
        ]
        if visits:
            place = instance.alternative_place[used[0]]
            travel = instance.travel_of(min(k, last))
            way = float(travel[instance.fleet[min(k, last)].start, place])
            visits[0] = visits[0]._replace(arrive=claim.depart + way)
            route = replace(route, visits=tuple(visits), depart=claim.depart)
        routes.append(route)
    return Solution(tuple(routes))
