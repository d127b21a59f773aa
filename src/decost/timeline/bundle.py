"""Many plain problems at once: what kernels take them in, and the part of each that matters.

A plain problem (`Instance.plain`) has one vehicle, stops with one alternative and straight ways:
its travel times follow from the coordinates, so that they need only be known between stops that
can be visited at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from decost.compiled import inlined, jit, lean
from decost.problem.distances import SQUARES
from decost.problem.instance import Arrays, FloatArray, Instance, IntArray
from decost.timeline.network import first_start, full_profit, plain_arrays, start_before

TINY, HUGE = SQUARES


class Bundle(NamedTuple):
    """Plain problems, one after another in every array; problem b begins at `row[b]` and so on."""

    xy: FloatArray  # (row, 2)
    columns: FloatArray  # (5, node): close, min_stay, open, leave_by and reward
    piece_start: IntArray  # (node and one more a problem,), counted from the problem's first piece
    piece_rate: FloatArray  # (piece,)
    piece_length: FloatArray  # (piece,)
    size: IntArray  # (problem + 1, 3): first row, node and piece
    end: IntArray  # (problem,): where the vehicle ends, a row of the problem's
    limit: FloatArray  # (problem, 4): begin, budget, speed and slack


def make_bundle(instances: Sequence[Instance]) -> Bundle:
    """Put plain instances together."""
    points = [one.xy for one in instances if one.xy is not None]
    size = np.zeros((len(instances) + 1, 3), dtype=np.int64)
    sizes = [
        (len(xy), one.nodes, len(one._piece_rate))
        for xy, one in zip(points, instances, strict=True)
    ]
    np.cumsum(np.array(sizes, dtype=np.int64).reshape(-1, 3), axis=0, out=size[1:])
    limits = [(one.begin, one.budget, one.speed, one.tolerance / 1000) for one in instances]
    return Bundle(
        xy=np.concatenate(points),
        columns=np.concatenate([one._columns for one in instances], axis=1),
        piece_start=np.concatenate([one._piece_start for one in instances]),
        piece_rate=np.concatenate([one._piece_rate for one in instances]),
        piece_length=np.concatenate([one._piece_length for one in instances]),
        size=size,
        end=np.array([one.end for one in instances], dtype=np.int64),
        limit=np.array(limits, dtype=np.float64).reshape(-1, 4),
    )


@jit
def part_in_reach(bundle: Bundle, b: int) -> tuple[Arrays, IntArray]:
    """Give a problem with those stops alone that can be visited and are worth it.

    The second answer holds their numbers.
    """
    row, first, piece = bundle.size[b]
    last_row, last, last_piece = bundle.size[b + 1]
    xy = bundle.xy[row:last_row]
    begin, budget, speed, slack = bundle.limit[b]
    column = bundle.columns
    whole = plain_arrays(
        travel=np.empty((0, 0)),
        open=column[2, first:last],
        close=column[0, first:last],
        leave_by=column[3, first:last],
        reward=column[4, first:last],
        min_stay=column[1, first:last],
        piece_start=bundle.piece_start[first + b : last + b + 1],
        piece_rate=bundle.piece_rate[piece:last_piece],
        piece_length=bundle.piece_length[piece:last_piece],
        begin=begin,
        budget=budget,
        end=bundle.end[b],
        slack=slack,
        triangle=True,
    )
    kept = np.zeros(last - first, dtype=np.int64)
    count, pieces = _find_in_reach(whole, xy, speed, kept)
    kept = kept[:count]
    nodes = count + int(whole.type_end[0] > 0)
    part = plain_arrays(
        travel=np.empty((nodes, nodes)),
        open=np.empty(count),
        close=np.empty(count),
        leave_by=np.empty(count),
        reward=np.empty(count),
        min_stay=np.empty(count),
        piece_start=np.zeros(count + 1, dtype=np.int64),
        piece_rate=np.empty(pieces),
        piece_length=np.empty(pieces),
        begin=begin,
        budget=budget,
        end=count if whole.type_end[0] > 0 else 0,
        slack=slack,
        triangle=True,
    )
    _copy(whole, xy, speed, kept, part)
    return part, kept


@inlined
def _way(xy: FloatArray, a: int, b: int, far: float, speed: float) -> float:
    """Travel time between two places, the same number that the instance has."""
    across, along = xy[a, 0] - xy[b, 0], xy[a, 1] - xy[b, 1]
    if TINY < far < HUGE:
        return float(np.sqrt(across * across + along * along) / speed)
    return float(np.hypot(across, along) / speed)


@lean
def _farthest(xy: FloatArray) -> float:
    far = 0.0
    for k in range(len(xy)):
        far = max(far, abs(xy[k, 0]), abs(xy[k, 1]))
    return far


@lean
def _find_in_reach(whole: Arrays, xy: FloatArray, speed: float, kept: IntArray) -> tuple[int, int]:
    """List the depot and the stops that matter; return how many they are, and their pieces."""
    far = _farthest(xy)
    begin, due, end = whole.type_begin[0], whole.type_due[0], whole.type_end[0]
    kept[0] = 0
    count, pieces = 1, 0
    for i in range(1, len(kept)):
        early = first_start(whole, i, begin + _way(xy, 0, i, far, speed))
        late = start_before(whole, i, due - _way(xy, i, end, far, speed))
        if early <= late + whole.slack:
            longest = min(whole.leave_by[i], due) - early - whole.min_stay[i]
            if full_profit(whole, i, longest) > 0.0:
                kept[count] = i
                count += 1
                pieces += whole.piece_start[i + 1] - whole.piece_start[i]
    return count, pieces


@lean
def _copy(whole: Arrays, xy: FloatArray, speed: float, kept: IntArray, part: Arrays) -> None:
    """Write what stays of a problem, and the travel times between it."""
    far = _farthest(xy)
    size = 0
    for k in range(len(kept)):
        i = kept[k]
        part.open[k], part.close[k], part.leave_by[k] = (
            whole.open[i],
            whole.close[i],
            whole.leave_by[i],
        )
        part.reward[k], part.min_stay[k] = whole.reward[i], whole.min_stay[i]
        for p in range(whole.piece_start[i], whole.piece_start[i + 1]):
            part.piece_rate[size] = whole.piece_rate[p]
            part.piece_length[size] = min(whole.piece_length[p], whole.horizon)
            size += 1
        part.piece_start[k + 1] = size
    nodes = part.planes.shape[1]
    for a in range(nodes):
        for b in range(nodes):
            here = kept[a] if a < len(kept) else whole.type_end[0]
            there = kept[b] if b < len(kept) else whole.type_end[0]
            part.planes[0, a, b] = _way(xy, here, there, far, speed)
