"""The vehicles of an instance: what they have of their own, and what the instance says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from decost.problem.fields import (
    InstanceError,
    finite,
    positive,
    truth,
    unique_ids,
    whole_number,
)
from decost.problem.records import FleetVehicle, Vehicle

if TYPE_CHECKING:
    from decost.problem.contents import Contents


def own_fleet(
    instance: Contents, fleet: Sequence[Vehicle | FleetVehicle] | None, places: int
) -> tuple[Vehicle, ...] | None:
    """Check vehicles, and forget of each what is as the instance says; None if that is all."""
    several = len(instance.profiles) > 1
    if fleet is None:
        fleet = [Vehicle()] if several else []
    elif len(fleet) != instance.vehicles:
        raise InstanceError(f"vehicles = {instance.vehicles}: there are {len(fleet)} in the fleet")
    ids = [str(k + 1) if one.id is None else one.id for k, one in enumerate(fleet)]
    unique_ids("vehicles", ids)
    own = []
    for k, (name, one) in enumerate(zip(ids, fleet, strict=True)):
        where = f"vehicle {name!r}"
        start = 0 if one.start is None else one.start
        end = instance.end if one.end is None else one.end
        start = whole_number(f"{where}: start", start, 0, places - 1)
        end = whole_number(f"{where}: end", end, 0, places - 1)
        begin = instance.begin if one.begin is None else finite(f"{where}: begin", one.begin)
        due = instance.budget if one.due is None else finite(f"{where}: due", one.due)
        if due < begin:
            raise InstanceError(f"{where}: due = {due}: is before begin = {begin}")
        speed = instance.speed if one.speed is None else positive(f"{where}: speed", one.speed)
        given = instance.matrix is not None or instance.matrices is not None
        if given and speed != instance.speed:
            raise InstanceError(f"{where}: speed = {speed}: cannot be combined with travel")
        if one.profile not in instance.profiles and (several or one.profile is not None):
            known = ", ".join(instance.profiles)
            why = f"must be one of {known}" if known else "travel has no profiles"
            raise InstanceError(f"{where}: profile = {one.profile!r}: {why}")
        own.append(
            Vehicle(
                id=None if name == str(k + 1) else name,
                start=None if start == 0 else start,
                end=None if end == instance.end else end,
                begin=None if begin == instance.begin else begin,
                due=None if due == instance.budget else due,
                speed=None if speed == instance.speed else speed,
                profile=one.profile if several else None,
                underway=truth(f"{where}: underway", one.underway),
            )
        )
    usual = Vehicle()
    return None if all(one == usual for one in own) else tuple(own)


def whole_fleet(instance: Contents, own: Sequence[Vehicle] | None) -> tuple[FleetVehicle, ...]:
    """Give all vehicles with what the instance says of them."""
    usual = FleetVehicle(
        id="1",
        start=0,
        end=instance.end,
        begin=instance.begin,
        due=instance.budget,
        speed=instance.speed,
        profile=instance.profiles[0] if len(instance.profiles) == 1 else None,
        underway=False,
    )
    if own is None:
        return (usual, *(replace(usual, id=str(k + 1)) for k in range(1, instance.vehicles)))
    fleet = []
    for k, one in enumerate(own):
        given = {field: value for field, value in vars(one).items() if value is not None}
        fleet.append(replace(usual, **({"id": str(k + 1)} | given)))
    return tuple(fleet)
