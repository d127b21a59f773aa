"""What the values of an instance have to be; each message names the field and the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from decost.problem.fields import (
    MAX_TRAVEL_TIMES,
    BoolArray,
    FloatArray,
    InstanceError,
    IntArray,
    table,
)

if TYPE_CHECKING:
    from decost.problem.instance import Instance


def validate(instance: Instance) -> None:
    """Refuse an instance whose values do not go together."""
    if instance.xy is not None:
        _validate_points(instance, instance.xy)
    if instance.matrix is not None:
        _validate_matrix("travel", instance.matrix)
    elif instance.matrices is not None:
        for profile, matrix in zip(instance.profiles, instance.matrices, strict=True):
            _validate_matrix(f"travel[{profile!r}]", matrix)
    else:
        _validate_speeds(instance)
    for field in ("reward", "min_stay"):
        values = getattr(instance, f"alternative_{field}")
        good = (values >= 0) & (values < np.inf)
        _demand(instance, field, values, good, "must be finite, not negative")
    opens, closes = instance.alternative_open, instance.alternative_close
    _demand(instance, "open", opens, np.isfinite(opens), "must be finite")
    _demand(instance, "close", closes, closes >= opens, "is less than open", opens)
    longest = instance.alternative_max_stay
    _demand(instance, "max_stay", longest, longest < np.inf, "must be finite")
    total = instance.alternative_full_profit.sum()
    if not np.isfinite(total):
        raise InstanceError("profit: the sum over all stops is not finite")
    if instance.required.any() and not np.isfinite(4.0 * total * (1 + instance.required.sum())):
        raise InstanceError(
            f"profit: the sum over all stops = {total:g}: is too large beside required stops"
        )
    if not instance.simple:
        impossible = instance.required & (np.diff(instance.alternative_first) == 0)
        if impossible.any():
            stop = int(np.argmax(impossible))
            raise InstanceError(
                f"{stop_name(instance, stop)}: required = True: has no alternatives"
            )


def _validate_points(instance: Instance, xy: FloatArray) -> None:
    axes = ("lon", "lat") if instance.geographic else ("x", "y")
    if not np.isfinite(xy).all():
        row, axis = np.argwhere(~np.isfinite(xy))[0]
        where = f"{_place_name(instance, int(row))}: {axes[axis]} = {xy[row, axis]}"
        raise InstanceError(f"{where}: must be finite")
    if instance.geographic:
        for axis, most in enumerate((180, 90)):
            outside = np.abs(xy[:, axis]) > most
            if outside.any():
                row = int(np.argmax(outside))
                where = f"{_place_name(instance, row)}: {axes[axis]} = {xy[row, axis]}"
                raise InstanceError(f"{where}: must be from -{most} to {most}")


def _validate_matrix(field: str, matrix: FloatArray) -> None:
    good = (matrix >= 0) & (matrix < np.inf)
    if not good.all():
        i, j = np.argwhere(~good)[0]
        raise InstanceError(f"{field}[{i}][{j}] = {matrix[i, j]}: must be finite, not negative")


def _validate_speeds(instance: Instance) -> None:
    assert instance.xy is not None
    slowest = min(instance.speeds)
    # Half the way around the world, or the way along the sides.
    longest = 2.1e4 * instance.detour if instance.geographic else np.ptp(instance.xy, axis=0).sum()
    if not np.isfinite(longest / slowest):
        raise InstanceError(f"speed = {slowest}: travel times are not finite")
    matrices, places = len(instance.speeds), len(instance.xy)
    if matrices * places**2 > MAX_TRAVEL_TIMES:
        raise InstanceError(
            f"speed: {matrices} different ones between {places} places make more than "
            f"{MAX_TRAVEL_TIMES} travel times"
        )


def one_piece(
    instance: Instance, rate: FloatArray, max_stay: FloatArray | None
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Give the pieces, as start, rate and length, that have a rate up to the longest stay."""
    limited = max_stay is not None
    shortest = instance.alternative_min_stay
    longest = shortest.copy() if max_stay is None else max_stay
    rate[0] = longest[0] = 0.0
    good = (rate >= 0) & (rate < np.inf)
    _demand(instance, "rate", rate, good, "must be finite, not negative")
    _demand(instance, "rate", rate, (rate == 0) | limited, "needs a max_stay")
    good = longest >= shortest
    _demand(instance, "max_stay", longest, good, "is less than min_stay", shortest)
    length = longest - shortest
    kept = length > 0
    start = np.concatenate(([0], np.cumsum(kept)))
    return start.astype(np.int64), rate[kept], length[kept]


def many_pieces(
    instance: Instance, pieces: Sequence[npt.ArrayLike]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Put the pieces of all alternatives together, as start, rate and length."""
    size = len(instance.alternative_open)
    if len(pieces) != size:
        what = "nodes" if size == instance.nodes else "alternatives and the depot"
        raise InstanceError(f"pieces: there are {len(pieces)} lists for {size} {what}")
    tables = [np.empty((0, 2))]
    for k in range(1, size):
        try:
            found = table("profit", pieces[k])
        except InstanceError as error:
            raise InstanceError(f"{alternative_name(instance, k)}: {error}") from None
        if found.size == 0:
            found = tables[0]
        if found.ndim != 2 or found.shape[1] != 2:
            where = alternative_name(instance, k)
            raise InstanceError(f"{where}: profit: has shape {found.shape}, must be (pieces, 2)")
        tables.append(found)
    number = np.array([len(found) for found in tables])
    rate, length = np.concatenate(tables).T
    owner = np.repeat(np.arange(size), number)
    rises = np.zeros(len(rate), dtype=np.bool_)
    rises[1:] = (rate[1:] > rate[:-1]) & (owner[1:] == owner[:-1])
    good = (rate >= 0) & (rate < np.inf) & (length >= 0) & (length < np.inf)
    bad = rises | ~good
    if bad.any():
        piece = int(np.argmax(bad))
        position = piece - int(number[: owner[piece]].sum())
        why = "must be finite, not negative"
        if good[piece]:
            why = "rates must not rise along the pieces"
        raise InstanceError(
            f"{alternative_name(instance, int(owner[piece]))}: "
            f"profit[{position}] = [{rate[piece]}, {length[piece]}]: {why}"
        )
    kept = length > 0
    start = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner[kept], minlength=size), out=start[1:])
    return start, rate[kept], length[kept]


def _demand(
    instance: Instance,
    field: str,
    values: FloatArray,
    good: BoolArray,
    why: str,
    other: FloatArray | None = None,
) -> None:
    if not good[1:].all():
        k = 1 + int(np.argmin(good[1:]))
        than = "" if other is None else f" = {other[k]}"
        where = alternative_name(instance, k)
        raise InstanceError(f"{where}: {field} = {values[k]}: {why}{than}")


def stop_name(instance: Instance, stop: int) -> str:
    """Name a stop, or the depot, in a message."""
    return f"stop {instance.label(stop)!r}" if stop else "depot"


def alternative_name(instance: Instance, alternative: int) -> str:
    """Name an alternative in a message."""
    stop = int(instance.alternative_stop[alternative])
    first, last = instance.alternative_first[stop : stop + 2]
    within = "" if last - first == 1 else f": alternatives[{alternative - first}]"
    return f"{stop_name(instance, stop)}{within}"


def _place_name(instance: Instance, place: int) -> str:
    if place < instance.nodes:
        return stop_name(instance, place)
    if instance.separate_end and place == instance.nodes:
        return "end"
    name = instance.places[place - instance.nodes - instance.separate_end]
    return f"place {name or place!r}"
