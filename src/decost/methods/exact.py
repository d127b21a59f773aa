"""The place of `decost.exact.exact` before; for those who still look for it here."""

from decost.exact.exact import values_to_go

__all__ = ["values_to_go"]
