"""Distances between places."""

from __future__ import annotations

import numpy as np

from decost.problem.fields import FloatArray

EARTH_RADIUS = 6371.0088
"""Mean radius in kilometres."""


SQUARES = (1e-100, 1e100)
"""Between these, squares of coordinates neither lose digits nor overflow."""


def straight_lines(xy: FloatArray) -> FloatArray:
    """Euclidean distances between all points."""
    x, y = xy.T
    across: FloatArray = x[:, None] - x
    along: FloatArray = y[:, None] - y
    far = float(np.abs(xy).max(initial=0.0))
    if not SQUARES[0] < far < SQUARES[1]:
        far_apart: FloatArray = np.hypot(across, along)
        return far_apart
    across *= across
    along *= along
    across += along
    np.sqrt(across, out=across)
    return across


def great_circles(lon_lat: FloatArray) -> FloatArray:
    """Great-circle distances in kilometres between all points, given as degrees (lon, lat)."""
    lon, lat = np.radians(lon_lat.T)
    # The haversine, which loses no digits where points are close.
    across = np.sin((lon[:, None] - lon) / 2) ** 2 * np.cos(lat)[:, None] * np.cos(lat)
    along = np.sin((lat[:, None] - lat) / 2) ** 2
    distances: FloatArray = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(along + across, 1.0)))
    return distances
