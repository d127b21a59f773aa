"""What an instance can have that not every method can plan for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from decost.problem.instance import Instance

Feature: TypeAlias = Literal["teams", "vehicles", "alternatives", "required"]

FEATURES: tuple[Feature, ...] = get_args(Feature)
"""Several vehicles; vehicles with a start, an end, a shift or a speed of their own; stops with
several alternatives, or ones for some vehicles or elsewhere; required stops."""


def features_of(instance: Instance) -> Iterator[tuple[Feature, str]]:
    """List the features that an instance has, each with the words for where it has it."""
    if instance.vehicles > 1:
        yield "teams", f"vehicles = {instance.vehicles}"
    own = _own_vehicle(instance)
    if own:
        yield "vehicles", own
    if not instance.simple:
        yield "alternatives", _own_alternative(instance)
    if instance.any_required:
        stop = int(instance.required.argmax())
        yield "required", f"stop {instance.label(stop)!r}: required = True"


def _own_vehicle(instance: Instance) -> str:
    """Say what the first vehicle has that is not as all vehicles were once; "" if none has."""
    end = instance.nodes if instance.separate_end else 0
    if instance.alike and instance.end == end and instance.begin == 0:
        return ""
    first = instance.fleet[0]
    for one in (first,) if instance.alike else instance.fleet:
        where = f"vehicle {one.id!r}"
        if one.start != 0:
            return f"{where}: has a start of its own"
        if one.end != end:
            return f"{where}: has an end of its own"
        if one.begin != 0:
            return f"{where}: begin = {one.begin:g}"
        if one.due != instance.budget:
            return f"{where}: due = {one.due:g}"
        if one.speed != first.speed:
            return f"{where}: speed = {one.speed:g}"
        if one.profile != first.profile:
            return f"{where}: profile = {one.profile!r}"
        if one.underway:
            return f"{where}: underway = True"
    return ""


def _own_alternative(instance: Instance) -> str:
    """Say which stop is the first that is not visited in one way, at its place, by anybody."""
    admits = instance.alternative_vehicles
    for stop in range(1, instance.nodes):
        where = f"stop {instance.label(stop)!r}"
        numbers = range(*instance.alternative_first[stop : stop + 2].tolist())
        if len(numbers) != 1:
            return f"{where}: has {len(numbers)} alternatives"
        if instance.alternative_place[numbers[0]] != stop:
            return f"{where}: has a place of its own"
        if admits is not None and not admits[numbers[0]].all():
            return f"{where}: is for some vehicles only"
    return ""
