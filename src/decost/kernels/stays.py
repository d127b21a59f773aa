"""The place of `decost.timeline.stays` before."""

from decost.timeline.stays import stays_of_routes

__all__ = ["stays_of_routes"]
