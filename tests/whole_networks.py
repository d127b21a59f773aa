"""Networks of all stops of an instance, for tests of kernels: node k is stop k."""

from __future__ import annotations

from decost import Instance
from decost.timeline.network import Network, useful_network


def whole(instance: Instance) -> Network:
    """Make the network of all stops as they are given, of the kind that searches work on."""
    return useful_network(instance, keep=range(1, instance.nodes), tight=False)
