"""What the values of an instance have to be; each message names the field and the value."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from decost.problem.fields import (
    MAX_TRAVEL_TIMES,
    BoolArray,
    FloatArray,
    InstanceError,
    IntArray,
    demand_numbers,
    table,
)

if TYPE_CHECKING:
    from decost.problem.instance import Instance


FIELDS = ("rate", "max_stay", "close", "min_stay", "open", "leave_by", "reward")
"""What the constructor takes by alternative, in an order that puts what is compared together."""

DEFAULTS = np.array([0.0, 0.0, np.inf, 0.0, 0.0, np.inf, 0.0])[:, None]
"""Values that are not given; the depot has these, but for its `close`."""

MODEST = 1e100
"""Numbers up to this have finite products, and these finite sums."""

_ROWS = np.arange(len(FIELDS))


def modest_lengths(given: FloatArray) -> FloatArray | None:
    """Give `max_stay` less `min_stay` if values of alternatives, with `FIELDS` as rows, can all be.

    The least and the largest of every row do for nearly every instance (one that is not a number
    counts as both); what is wrong with the others, if anything, is for `validate_columns` and
    `validate`. Where these two are is found many times as fast as whether all are within limits.
    """
    rate, _, _, shortest, opens, leave_by, reward = given[_ROWS, given.argmin(axis=1)].tolist()
    if not (rate >= 0.0 and shortest >= 0.0 and reward >= 0.0 and opens >= -MODEST):
        return None
    rate, longest, _, _, opens, _, reward = given[_ROWS, given.argmax(axis=1)].tolist()
    if not (rate <= MODEST and longest <= MODEST and reward <= MODEST and opens <= MODEST):
        return None
    spans: FloatArray = given[1:3] - given[3:5]  # of stays, and of windows
    return spans[0] if spans.item(spans.argmin()) >= 0.0 and leave_by == leave_by else None


def validate_columns(instance: Instance, given: FloatArray, limited: bool) -> None:
    """Refuse values of alternatives, with `FIELDS` as rows, that cannot be."""
    rate, longest, closes, shortest, opens, _, reward = given
    for field, column in zip(FIELDS, given, strict=True):
        demand_numbers(field, column)
    finite = "must be finite, not negative"
    for field, column in (("rate", rate), ("reward", reward), ("min_stay", shortest)):
        _demand(instance, field, column, (column >= 0) & (column < np.inf), finite)
    _demand(instance, "rate", rate, (rate == 0) | limited, "needs a max_stay")
    _demand(instance, "max_stay", longest, longest >= shortest, "is less than min_stay", shortest)
    _demand(instance, "max_stay", longest, longest < np.inf, "must be finite")
    _demand(instance, "open", opens, np.isfinite(opens), "must be finite")
    _demand(instance, "close", closes, closes >= opens, "is less than open", opens)


def validate(instance: Instance, modest: bool) -> None:
    """Refuse an instance whose values do not go together; if `modest`, their sums are finite."""
    if instance.xy is not None:
        _validate_points(instance, instance.xy)
    if instance._travel is not None:
        for k, matrix in enumerate(instance._travel):
            profile = f"[{instance.profiles[k]!r}]" if instance.profiles else ""
            _validate_matrix(f"travel{profile}", matrix)
    if not modest:
        with np.errstate(over="ignore"):  # what overflows is not finite, and refused as such
            _validate_sums(instance)
    if instance.any_required:
        impossible = instance.required & (np.diff(instance.alternative_first) == 0)
        if impossible.any():
            name = stop_name(instance, int(np.argmax(impossible)))
            raise InstanceError(f"{name}: required = True: has no alternatives")


def _validate_sums(instance: Instance) -> None:
    _, shortest, _, _, reward = instance._columns
    if not isfinite(np.add.reduce(shortest) + np.add.reduce(instance._piece_length)):
        longest = instance.alternative_max_stay
        _demand(instance, "max_stay", longest, longest < np.inf, "must be finite")
    total = float(instance._piece_rate @ instance._piece_length + np.add.reduce(reward))
    if not isfinite(total):
        raise InstanceError("profit: the sum over all stops is not finite")
    required = np.count_nonzero(instance._required)
    if required and not isfinite(4.0 * total * (1 + required)):
        raise InstanceError(
            f"profit: the sum over all stops = {total:g}: is too large beside required stops"
        )


def _validate_points(instance: Instance, xy: FloatArray) -> None:
    farthest = max(abs(xy.item(xy.argmin())), abs(xy.item(xy.argmax())))  # nan if one is
    axes = ("lon", "lat") if instance.geographic else ("x", "y")
    if not isfinite(farthest):
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
    if instance._travel is None:
        _validate_speeds(instance, farthest)


def _validate_matrix(field: str, matrix: FloatArray) -> None:
    good = (matrix >= 0) & (matrix < np.inf)
    if not good.all():
        i, j = np.argwhere(~good)[0]
        raise InstanceError(f"{field}[{i}][{j}] = {matrix[i, j]}: must be finite, not negative")


def _validate_speeds(instance: Instance, farthest: float) -> None:
    assert instance.xy is not None
    slowest = min(instance.speeds)
    # Half the way around the world, or more than the way along the sides.
    longest = 2.1e4 * instance.detour if instance.geographic else 4.0 * farthest
    if not isfinite(longest / slowest):
        raise InstanceError(f"speed = {slowest}: travel times are not finite")
    matrices, places = len(instance.speeds), len(instance.xy)
    if matrices * places**2 > MAX_TRAVEL_TIMES:
        raise InstanceError(
            f"speed: {matrices} different ones between {places} places make more than "
            f"{MAX_TRAVEL_TIMES} travel times"
        )


def one_piece(rate: FloatArray, length: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Give the pieces, as start, rate and length, that have a rate for so long."""
    if len(rate) > 1 and length.item(1 + length[1:].argmin()) > 0:
        start = np.arange(-1, len(rate))
        start[0] = 0
        return start, rate[1:], length[1:]
    kept = length > 0
    start = np.zeros(len(rate) + 1, dtype=np.int64)
    np.cumsum(kept, out=start[1:])
    return start, rate[kept], length[kept]


def many_pieces(
    instance: Instance, pieces: Sequence[npt.ArrayLike]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Put the pieces of all alternatives together, as start, rate and length."""
    size = instance.alternative_count + 1
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
