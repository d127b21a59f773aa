"""Points with properties (GeoJSON, RFC 7946) as a table of places, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from decost.files import limits
from decost.files.cells import Faults, Sheet, Value
from decost.files.limits import FormatError


def holds_features(data: Any) -> bool:
    """Whether parsed JSON is a collection of features."""
    return isinstance(data, dict) and data.get("type") in ("FeatureCollection", "Feature")


def sheet_of_features(where: str, data: Mapping[str, Any]) -> Sheet:
    """Make a table of points: their properties, and where they are."""
    features = data.get("features") if data["type"] == "FeatureCollection" else [data]
    if not isinstance(features, list):
        raise FormatError(f"{where}: features: must be a list")
    if len(features) > limits.MAX_ROWS:
        raise FormatError(f"{where}: has more than {limits.MAX_ROWS} features")
    faults = Faults()
    rows = []
    for number, feature in enumerate(features, 1):
        place = f"{where}: feature {number}"
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            faults.add(place, "must be an object whose type is Feature")
            continue
        own = feature.get("properties") or {}
        if not isinstance(own, dict):
            faults.add(place, "properties must be an object")
            continue
        row = {"id": feature["id"]} if isinstance(feature.get("id"), str | int) else {}
        for name, value in own.items():
            if isinstance(value, dict):
                continue  # of other programs
            row[name] = ", ".join(map(str, value)) if isinstance(value, list) else value
        geometry = feature.get("geometry")
        if geometry is not None:
            row |= _point(place, geometry, faults)
        rows.append(row)
    faults.refuse()
    heads = list(dict.fromkeys(name for row in rows for name in row))
    if len(heads) > limits.MAX_COLUMNS or len(heads) * len(rows) > limits.MAX_MATRIX_CELLS:
        raise FormatError(
            f"{where}: has {len(heads)} kinds of properties, at most {limits.MAX_COLUMNS}, and "
            f"{len(heads) * len(rows)} cells, at most {limits.MAX_MATRIX_CELLS}"
        )
    cells = [[_cell(row.get(name)) for name in heads] for row in rows]
    return Sheet(where, [heads, *cells], range(len(cells) + 1), word="feature")


def _point(place: str, geometry: Any, faults: Faults) -> dict[str, Value]:
    if not isinstance(geometry, dict) or geometry.get("type") != "Point":
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        faults.add_cell(place, "geometry", kind, "must be a Point")
        return {}
    values = geometry.get("coordinates")
    if not isinstance(values, list) or len(values) < 2:
        faults.add_cell(place, "coordinates", values, "must be a longitude and a latitude")
        return {}
    return {"lon": values[0], "lat": values[1]}


def _cell(value: Value) -> Value:
    return value.strip() or None if isinstance(value, str) else value


def features_of_rows(path: str, rows: Sequence[Sequence[Value]]) -> str:
    """Write a table of places as points, one a line."""
    heads = rows[0]
    for axis in ("x", "y"):
        if axis in heads:
            raise FormatError(f"{path}: {axis}: GeoJSON holds lat and lon only")
    lines = []
    for row in rows[1:]:
        given = {name: value for name, value in zip(heads, row, strict=True) if value is not None}
        point = {"type": "Point", "coordinates": [given.pop("lon", None), given.pop("lat", None)]}
        geometry = None if None in point["coordinates"] else point
        feature = {"type": "Feature", "geometry": geometry, "properties": given}
        lines.append(json.dumps(feature, ensure_ascii=False))
    return '{"type": "FeatureCollection", "features": [\n' + ",\n".join(lines) + "\n]}\n"
