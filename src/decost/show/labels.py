"""Where the labels of a map go: where they cover least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from decost.problem.instance import FloatArray
from decost.show.page import TEXT, Script
from decost.show.palette import INK

_CORNER_SIZES = [(w, h) for w in (0.66, 0.6, 0.54, 0.48, 0.42, 0.36) for h in (0.9, 0.7, 0.5)]
"""Sizes of an enlarged part, as shares of the map."""
_MARKER = 20.0  # how bad it is to cover one; a leg is 3

_WAYS = [np.array(way) for way in product((1, -1, 0), (0, 1, -1)) if any(way)]
"""To the sides of a place, and its corners."""


class Label(NamedTuple):
    """What is written at a place; a modest one only where it covers nothing."""

    place: int
    text: str
    colour: str = INK
    modest: bool = False


class Labelling:
    """Puts labels where they cover least; one that would cover another is left out."""

    def __init__(
        self,
        axes: Axes,
        points: FloatArray,
        seen: Sequence[int],
        unit: float,
        radii: FloatArray,
        legs: Sequence[FloatArray],
        script: Script,
    ) -> None:
        corner = np.array([axes.get_xlim()[0], axes.get_ylim()[0]])
        self._axes, self._points, self._radii, self._script = axes, points, radii, script
        self._centres = centres = (points - corner) / unit
        self._low = (centres - radii[:, None])[seen]
        self._high = (centres + radii[:, None])[seen]
        none = np.empty((0, 2))
        self._tails = (np.concatenate([none, *(leg[:-1] for leg in legs)]) - corner) / unit
        self._heads = (np.concatenate([none, *(leg[1:] for leg in legs)]) - corner) / unit
        self._frame = np.array([np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())]) / unit
        self._taken = np.empty((0, 4))
        self.own = set(seen)
        """Places that it labels."""

    def write(self, labels: Sequence[Label]) -> None:
        """Label places, the first ones first."""
        middles, taken, _ = self.find(labels)
        self._put([label for label in labels if label.place in self.own], middles, taken)

    def free_corner(self) -> tuple[float, float, float, float] | None:
        """Find a large part of the map without places and legs: left, bottom, width, height."""
        for width, height in _CORNER_SIZES:
            for left, bottom in product((0.985 - width, 0.015), (0.95 - height, 0.015)):
                a = np.array([left, bottom]) * self._frame
                b = a + np.array([width, height + 0.04]) * self._frame
                crossed = _crossings(a, b, self._tails, self._heads)
                low_left = left < 0.5 and bottom < 0.5  # there is the scale
                if not (low_left or crossed or _overlaps(a, b, self._low - 15, self._high + 15)):
                    return left, bottom, width, height
        return None

    def find(self, labels: Sequence[Label]) -> tuple[list[FloatArray | None], FloatArray, int]:
        """Find the middles of labels, None for one without room.

        Also gives what is taken then, and how many labels are clear of markers.
        """
        taken, middles, clear = self._taken, [], 0
        for label in (label for label in labels if label.place in self.own):
            size = np.array([self._script.width([label.text]) + 2, TEXT + 1])
            middle, covered = self._best(label, size, taken)
            middles.append(middle)
            clear += covered < _MARKER
            if middle is not None:
                taken = np.vstack((taken, [*(middle - size / 2), *(middle + size / 2)]))
        return middles, taken, clear

    def _best(
        self, label: Label, size: FloatArray, taken: FloatArray
    ) -> tuple[FloatArray | None, float]:
        """Find the middle that covers least, and how bad that is."""
        best, place = math.inf, None
        for rank, (gap, way) in enumerate(product((1.5, 6.0), _WAYS)):
            reach = self._radii[label.place] / np.hypot(*way) + gap
            middle = self._centres[label.place] + way * (reach + size / 2)
            a, b = middle - size / 2, middle + size / 2
            outside = (a < 0).any() or (b > self._frame).any()
            if outside or _overlaps(a, b, taken[:, :2], taken[:, 2:]):
                continue
            covered = _MARKER * _overlaps(a, b, self._low, self._high)
            covered += 3 * _crossings(a, b, self._tails, self._heads)
            if not (label.modest and covered) and covered + 0.2 * rank < best:
                best, place = covered + 0.2 * rank, middle
        return place, best

    def _put(
        self, labels: Sequence[Label], middles: Sequence[FloatArray | None], taken: FloatArray
    ) -> None:
        self._taken = taken
        for label, middle in zip(labels, middles, strict=True):
            if middle is not None:
                self._axes.annotate(
                    label.text,
                    tuple(self._points[label.place]),
                    tuple(middle - self._centres[label.place]),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    size=TEXT,
                    color=label.colour,
                    zorder=5,
                    path_effects=[withStroke(linewidth=2, foreground="white")],
                    **self._script.style,
                )


def _overlaps(a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """How many of the boxes [low, high] the box [a, b] overlaps."""
    return int(((a < high) & (low < b)).all(axis=1).sum())


def _crossings(a: FloatArray, b: FloatArray, tails: FloatArray, heads: FloatArray) -> int:
    """How many of the segments cross the box [a, b]."""
    steps = heads - tails
    steps = np.where(steps == 0, 1e-9, steps)
    first, second = (a - tails) / steps, (b - tails) / steps
    enter = np.minimum(first, second).max(axis=1, initial=0.0)
    leave = np.maximum(first, second).min(axis=1, initial=1.0)
    return int((enter < leave).sum())
