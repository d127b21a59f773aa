"""What the kernels see of an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decost.problem.fields import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from decost.problem.contents import Contents


class Arrays(NamedTuple):
    """What the kernels see of an instance.

    Arrays by alternative have an entry 0 that is ignored, so that alternatives count from 1;
    those of stop s are `first[s]` to `first[s + 1] - 1`. Vehicles that are equal in all that
    matters form a type. A deadline counts as kept if it is missed by no more than `slack`, so that
    sums of rounded times do not decide; stays never use the slack.
    """

    planes: FloatArray  # (plane, place, place): travel times, for each different matrix or speed
    stop: IntArray  # (alternative,)
    place: IntArray  # (alternative,)
    first: IntArray  # (stop + 1,)
    open: FloatArray  # (alternative,)
    close: FloatArray  # (alternative,)
    leave_by: FloatArray  # (alternative,)
    reward: FloatArray  # (alternative,)
    min_stay: FloatArray  # (alternative,)
    piece_start: IntArray  # (alternative + 1,)
    piece_rate: FloatArray  # (piece,)
    piece_length: FloatArray  # (piece,), at most the horizon
    required: BoolArray  # (stop,)
    admits: BoolArray  # (type, alternative)
    type_start: IntArray  # (type,): a place
    type_end: IntArray  # (type,): a place
    type_begin: FloatArray  # (type,)
    type_due: FloatArray  # (type,)
    type_plane: IntArray  # (type,)
    vehicle_type: IntArray  # (vehicle,)
    bonus: float  # 0 without required stops, else a power of two above all that can be earned
    horizon: float  # from the first begin of any vehicle to the last due
    slack: float
    triangle: bool  # travel times obey the triangle inequality


def arrays_of(instance: Contents) -> Arrays:
    """Give an instance as the kernels take it, which write to none of it."""
    horizon = instance.horizon
    # No stay is longer than the horizon, and so sums stay exact.
    length = np.minimum(instance._piece_length, horizon)
    types, vehicle_type = _types(instance)
    fleet = instance.fleet
    numbers = [(fleet[k].start, fleet[k].end, instance.vehicle_plane[k]) for k in types]
    type_start, type_end, type_plane = np.array(numbers, dtype=np.int64).T.copy()
    times = [(fleet[k].begin, fleet[k].due) for k in types]
    type_begin, type_due = np.array(times, dtype=np.float64).T.copy()
    close, min_stay, opens, leave_by, reward = instance._columns
    stop = instance.alternative_stop.copy()
    return Arrays(
        planes=instance._planes,
        stop=stop,
        place=stop if instance._place is None else instance._place,
        first=instance.alternative_first.copy(),
        open=opens,
        close=close,
        leave_by=leave_by,
        reward=reward,
        min_stay=min_stay,
        piece_start=instance._piece_start,
        piece_rate=instance._piece_rate,
        piece_length=length,
        required=instance._required,
        admits=_admits(instance, types),
        type_start=type_start,
        type_end=type_end,
        type_begin=type_begin,
        type_due=type_due,
        type_plane=type_plane,
        vehicle_type=vehicle_type,
        bonus=_bonus(instance, length) if instance.required.any() else 0.0,
        horizon=horizon,
        slack=instance.tolerance / 1000,
        triangle=instance._travel is None,
    )


def _types(instance: Contents) -> tuple[list[int], IntArray]:
    """Give the first vehicle of every type, and every vehicle's type."""
    if instance.alike:
        return [0], np.zeros(instance.vehicles, dtype=np.int64)
    admitted = instance.alternative_vehicles
    known: dict[tuple[object, ...], int] = {}
    types: list[int] = []
    vehicle_type = np.empty(instance.vehicles, dtype=np.int64)
    for k, vehicle in enumerate(instance.fleet):
        admits = b"" if admitted is None else admitted[1:, k].tobytes()
        plane = int(instance.vehicle_plane[k])
        key = (vehicle.start, vehicle.end, vehicle.begin, vehicle.due, plane, admits)
        if key not in known:
            known[key] = len(types)
            types.append(k)
        vehicle_type[k] = known[key]
    return types, vehicle_type


def _admits(instance: Contents, types: list[int]) -> BoolArray:
    if instance.alternative_vehicles is None:
        return np.ones((len(types), instance.alternative_count + 1), dtype=np.bool_)
    return np.ascontiguousarray(instance.alternative_vehicles[:, types].T)


def _bonus(instance: Contents, length: FloatArray) -> float:
    earned = instance.alternative_reward + instance.per_alternative(instance.piece_rate * length)
    room = np.minimum(instance.alternative_leave_by - instance.alternative_open, instance.horizon)
    earned[instance.alternative_min_stay > room + instance.tolerance] = 0.0  # nobody can earn it
    most = np.zeros(instance.nodes)
    np.maximum.at(most, instance.alternative_stop, earned)
    return float(2.0 ** np.frexp(most.sum())[1])
