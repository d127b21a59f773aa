"""The place of `decost.baselines.ants` before."""

from decost.baselines.ants import Trails, find_successors

__all__ = ["Trails", "find_successors"]
