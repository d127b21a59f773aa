"""The place of useful stops before `decost.timeline.network`."""

from decost.timeline.network import Useful, useful_stops

__all__ = ["Useful", "useful_stops"]
