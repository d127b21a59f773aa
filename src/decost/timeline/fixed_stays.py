"""Routes on which all stays are fixed: all that is to be known of them is when service starts.

The time-profit function of such a route is one time and one profit, so that its rule is that of
`steps` without pieces: wait until a node opens, and start service no later than it must.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import lean
from decost.problem.instance import FloatArray
from decost.timeline.lengths import Lengths, lengths_of, way
from decost.timeline.network import Network


class FixedStays(NamedTuple):
    """When service at nodes may start; deadlines may be missed by the slack."""

    lengths: Lengths
    open: FloatArray  # (node,)
    latest: FloatArray  # (node,)
    slack: float


def has_fixed_stays(network: Network) -> bool:
    """Whether there is nothing to choose about stays."""
    return len(network.pieces) == 0


def fixed_stays_of(network: Network) -> FixedStays:
    """Take what decides about the times of routes from a network without pieces."""
    return FixedStays(
        lengths=lengths_of(network),
        open=np.ascontiguousarray(network.node["open"]),
        latest=np.ascontiguousarray(network.node["latest"]),
        slack=network.slack,
    )


@lean
def start_after(times: FixedStays, kind: int, node: int, leave: float, other: int) -> float:
    """Earliest start of service at another node if one is left at a time."""
    return float(max(leave + way(times.lengths, kind, node, other), times.open[other]))


@lean
def starts_in_time(times: FixedStays, node: int, time: float) -> bool:
    """Whether service at a node may start at a time."""
    return bool(time <= times.latest[node] + times.slack)


@lean
def end_of_stay(times: FixedStays, node: int, time: float) -> float:
    """When a node is left at which service starts at a time, infinite if that is too late."""
    if time <= times.latest[node] + times.slack:
        return float(time + times.lengths.stay[node])
    return np.inf


@lean
def latest_before(times: FixedStays, kind: int, node: int, other: int, late: float) -> float:
    """Latest start of service at a node if another is to start by a time.

    Minus infinity if that is before the node opens.
    """
    time = late - way(times.lengths, kind, node, other) - times.lengths.stay[node]
    time = min(time, times.latest[node])
    return float(time) if time >= times.open[node] - times.slack else -np.inf


@lean
def arrives_in_time(times: FixedStays, time: float, late: float) -> bool:
    """Whether a service that starts at a time is not too late for what follows; never is."""
    return time <= late + times.slack


@lean
def may_precede(times: FixedStays, node: int, late: float) -> bool:
    """Whether a node opens before the latest time at which another is to start."""
    return bool(late >= times.open[node] - times.slack)
