"""Colours and the resolution that all pictures share."""

from __future__ import annotations

ROUTE_COLOURS = (
    *("#0f3f73", "#a8802f", "#a33c54", "#5ccbd3", "#7384d6", "#5f4a10"),
    *("#3030dd", "#3fae6e", "#a9c934", "#9a4fe0", "#e8833a", "#d163a8"),
)
"""The first six are told apart with any of the common colour blindnesses, the first four in
greyscale too (their lightness is 26, 56, 41 and 76)."""

COLOUR_NAMES = {
    "blue": "#0f3f73",
    "gold": "#a8802f",
    "yellow": "#a8802f",
    "red": "#a33c54",
    "cyan": "#5ccbd3",
    "brown": "#5f4a10",
    "green": "#3fae6e",
    "purple": "#9a4fe0",
    "violet": "#9a4fe0",
    "orange": "#e8833a",
    "pink": "#d163a8",
}
"""What vehicles of these names should not be drawn differently from."""

ROUTE_LINES = ("solid", (0, (4, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
"""Lines of routes: the next one when all colours are used."""

INK, MUTED, RULE = "#22272e", "#646d78", "#aab2bc"
"""Of text and points, of what is less important, and of axes."""

WINDOW, BAND, LIMIT = "#dbe2ea", "#f6f7f9", "#a3161f"
"""Of time windows and other areas, of every second row, and of limits."""

DPI = 150
