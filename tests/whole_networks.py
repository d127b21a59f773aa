"""Networks of all stops of an instance, for tests of kernels: node k is stop k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost import Instance
from decost.problem.instance import FloatArray
from decost.timeline.network import Network, network_as_given, useful_network
from decost.timeline.steps import Front, follow


def whole(instance: Instance) -> Network:
    """Make the network of all stops as they are given, of the kind that searches work on."""
    return useful_network(instance, keep=range(1, instance.nodes), tight=False)


def front_of(instance: Instance, route: Sequence[int]) -> tuple[Front, FloatArray]:
    """Time-profit function on leaving the last stop of a route, with its pool of pieces."""
    pool = np.empty((1 + len(instance.piece_rate), 2))
    network = network_as_given(instance.arrays)
    return follow(network, np.array(route, dtype=np.int64), pool), pool
