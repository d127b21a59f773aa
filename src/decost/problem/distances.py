"""Distances between places."""

from __future__ import annotations

import numpy as np

from decost.problem.fields import FloatArray

EARTH_RADIUS = 6371.0088
"""Mean radius in kilometres."""


TOGETHER = 2**15
"""Distances that are worked out together: as many as fit into the cache of a processor."""

SQUARES = (1e-100, 1e100)
"""Between these, squares of coordinates neither lose digits nor overflow."""


def straight_lines(xy: FloatArray) -> FloatArray:
    """Euclidean distances between all points."""
    x, y = xy.T
    distances = np.empty((len(xy), len(xy)))
    far = float(np.abs(xy).max(initial=0.0))
    modest = SQUARES[0] < far < SQUARES[1]
    size = max(1, TOGETHER // max(1, len(xy)))
    for first in range(0, len(xy), size):
        part = slice(first, first + size)
        across = np.subtract.outer(x[part], x, out=distances[part])
        along = np.subtract.outer(y[part], y)
        if modest:
            across *= across
            along *= along
            across += along
            np.sqrt(across, out=across)
        else:
            np.hypot(across, along, out=across)
    return distances


def great_circles(lon_lat: FloatArray) -> FloatArray:
    """Great-circle distances in kilometres between all points, given as degrees (lon, lat)."""
    lon, lat = np.radians(lon_lat.T)
    # The haversine, which loses no digits where points are close.
    across = np.sin((lon[:, None] - lon) / 2) ** 2 * np.cos(lat)[:, None] * np.cos(lat)
    along = np.sin((lat[:, None] - lat) / 2) ** 2
    distances: FloatArray = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(along + across, 1.0)))
    return distances
