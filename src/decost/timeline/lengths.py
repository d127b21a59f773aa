"""Routes that are judged by their length: no window matters, and all stays are fixed.

Then a route is feasible if and only if its travel and its stays take no longer than its vehicle
has time, so that a change is judged by what it adds to that sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import lean
from decost.problem.instance import BoolArray, FloatArray, IntArray
from decost.timeline.network import Network


class Lengths(NamedTuple):
    """What decides about the length of routes.

    `room` is the time that vehicles of a type have, the slack of deadlines included, and
    `symmetric` says whether their ways are as long in both directions.
    """

    planes: FloatArray  # (plane, place, place)
    plane: IntArray  # (type,)
    place: IntArray  # (node,)
    stay: FloatArray  # (node,)
    reward: FloatArray  # (node,)
    room: FloatArray  # (type,)
    symmetric: BoolArray  # (type,)


def has_fixed_lengths(network: Network) -> bool:
    """Whether nothing but the time of its vehicle limits a route, and stays are fixed."""
    if len(network.pieces):
        return False
    visits = network.node[1 : network.alternatives + 1]
    begins = network.node["open"][network.types["start"]]
    dues = network.node["latest"][network.types["end"]]
    free = visits["open"] <= begins.min()
    free &= visits["latest"] + visits["min_stay"] >= dues.max()
    free &= visits["leave_by"] >= dues.max()
    return bool(free.all())


def lengths_of(network: Network) -> Lengths:
    """Take what decides about the length of routes from a network."""
    plane = network.types["plane"].astype(np.int64)
    begins = network.node["open"][network.types["start"]]
    dues = network.node["latest"][network.types["end"]]
    same = [np.array_equal(travel, travel.T) for travel in network.planes]
    return Lengths(
        planes=network.planes,
        plane=plane,
        place=np.ascontiguousarray(network.node["place"]),
        stay=np.ascontiguousarray(network.node["min_stay"]),
        reward=np.ascontiguousarray(network.node["reward"]),
        room=dues - begins + network.slack,
        symmetric=np.array(same)[plane],
    )


@lean
def way(lengths: Lengths, kind: int, node: int, other: int) -> float:
    """Travel time from one node to another."""
    return float(lengths.planes[lengths.plane[kind], lengths.place[node], lengths.place[other]])
