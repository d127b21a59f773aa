"""Colours and the resolution that all pictures share."""

from __future__ import annotations

ROUTE_COLOURS = ("#0f3f73", "#a8802f", "#a33c54", "#5ccbd3", "#7384d6", "#5f4a10")
"""Told apart with any of the common colour blindnesses; the first four in greyscale too (their
lightness is 26, 56, 41 and 76)."""

INK, MUTED, RULE = "#22272e", "#646d78", "#aab2bc"
"""Of text and points, of what is less important, and of axes."""

WINDOW, BAND, LIMIT = "#dbe2ea", "#f6f7f9", "#a3161f"
"""Of time windows and other areas, of every second row, and of limits."""

DPI = 150
