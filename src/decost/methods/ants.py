"""The place of `decost.baselines.gfacs` before."""

from decost.baselines.gfacs import AntsOptions, Colony, heat_of

__all__ = ["AntsOptions", "Colony", "heat_of"]
