"""The routing engines: what to ask them, and how to read their answers.

Valhalla: https://valhalla.github.io/valhalla/api/matrix/api-reference/ and .../turn-by-turn/.
OSRM: https://project-osrm.org/docs/v5.24.0/api/, services `table` and `route`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from decost.problem.instance import FloatArray
from decost.streets.asking import Server, StreetsError, in_a_line

FARTHEST = 2000
"""Metres to the nearest street; a place that is farther from all has none."""


class TooLargeError(Exception):
    """The server answers only smaller questions."""


class NoWayError(Exception):
    """A place is far from all streets, or there is no way from one to another."""


class Engine(Protocol):
    """A routing engine at an address."""

    name: str
    side: int
    """Most sources, and most targets, of a question."""
    usual: str | None
    """Profile where none is named."""
    server: Server

    def table(self, sources: FloatArray, targets: FloatArray, profile: str) -> FloatArray:
        """Give travel times in seconds, NaN where there is no way; points are (lon, lat)."""

    def way(self, source: FloatArray, target: FloatArray, profile: str) -> FloatArray:
        """Give the points (lon, lat) of the way from one place to another."""


class Valhalla:
    """Valhalla, by its services `sources_to_targets` and `route`."""

    name = "valhalla"
    side = 50  # 2,500 pairs, unless its configuration says otherwise
    usual: str | None = None

    def __init__(self, server: Server) -> None:
        self.server = server

    def table(self, sources: FloatArray, targets: FloatArray, profile: str) -> FloatArray:
        """Give travel times in seconds, NaN where there is no way; points are (lon, lat)."""
        answer = self._ask(
            "/sources_to_targets",
            {
                "sources": _locations(sources),
                "targets": _locations(targets),
                "costing": profile,
                "verbose": False,
            },
        )
        rows = answer.get("sources_to_targets")
        if isinstance(rows, Mapping):
            rows = rows.get("durations")
        elif isinstance(rows, list):  # versions that know no `verbose`
            try:
                rows = [[cell["time"] for cell in row] for row in rows]
            except (KeyError, TypeError):
                rows = None
        return _times(self.server, rows, (len(sources), len(targets)))

    def way(self, source: FloatArray, target: FloatArray, profile: str) -> FloatArray:
        """Give the points (lon, lat) of the way from one place to another."""
        places = _locations(np.stack((source, target)))
        answer = self._ask(
            "/route", {"locations": places, "costing": profile, "directions_type": "none"}
        )
        try:
            shapes = [leg["shape"] for leg in answer["trip"]["legs"]]
        except (KeyError, TypeError):
            raise _nonsense(self.server, answer) from None
        if not shapes:
            raise _nonsense(self.server, answer)
        return np.concatenate([_polyline(self.server, shape) for shape in shapes])

    def _ask(self, service: str, question: Any) -> dict[str, Any]:
        status, answer = self.server.ask(service, question)
        if not isinstance(answer, dict):
            raise _nonsense(self.server, answer)
        if status == 200:
            return answer
        words, code = answer.get("error", answer), answer.get("error_code")
        if code in (150, 153):  # too many locations
            raise TooLargeError(in_a_line(words))
        if code in (154, 170, 171, 442):  # too far apart, not connected, no street, no path
            raise NoWayError(in_a_line(words))
        raise StreetsError(f"{self.server.url}: answers {status}: {in_a_line(words)}")


class Osrm:
    """OSRM, by its services `table` and `route`; a server has one profile, however it is called."""

    name = "osrm"
    side = 50  # 100 coordinates, unless it was started otherwise
    usual: str | None = "driving"

    def __init__(self, server: Server) -> None:
        self.server = server

    def table(self, sources: FloatArray, targets: FloatArray, profile: str) -> FloatArray:
        """Give travel times in seconds, NaN where there is no way; points are (lon, lat)."""
        first, last = len(sources), len(sources) + len(targets)
        answer = self._ask(
            "table",
            profile,
            np.concatenate((sources, targets)),
            f"sources={_numbers(0, first)}&destinations={_numbers(first, last)}",
        )
        return _times(self.server, answer.get("durations"), (len(sources), len(targets)))

    def way(self, source: FloatArray, target: FloatArray, profile: str) -> FloatArray:
        """Give the points (lon, lat) of the way from one place to another."""
        answer = self._ask(
            "route", profile, np.stack((source, target)), "overview=full&geometries=polyline6"
        )
        try:
            shape = answer["routes"][0]["geometry"]
        except (KeyError, TypeError, IndexError):
            raise _nonsense(self.server, answer) from None
        return _polyline(self.server, shape)

    def _ask(self, service: str, profile: str, points: FloatArray, options: str) -> dict[str, Any]:
        places = ";".join(f"{lon:.6f},{lat:.6f}" for lon, lat in points.tolist())
        near = ";".join([str(FARTHEST)] * len(points))
        status, answer = self.server.ask(
            f"/{service}/v1/{quote(profile, safe='')}/{places}?{options}&radiuses={near}"
            "&generate_hints=false"
        )
        if not isinstance(answer, dict):
            raise _nonsense(self.server, answer)
        code = answer.get("code")
        if status == 200 and code == "Ok":
            return answer
        words = in_a_line(answer.get("message", code))
        if code == "TooBig" or status in (413, 414):
            raise TooLargeError(words)
        if code in ("NoSegment", "NoTable", "NoRoute"):
            raise NoWayError(words)
        raise StreetsError(f"{self.server.url}: answers {status}: {words}")


ENGINES: dict[str, Callable[[Server], Engine]] = {"valhalla": Valhalla, "osrm": Osrm}


def _locations(points: FloatArray) -> list[dict[str, float]]:
    return [{"lat": lat, "lon": lon, "search_cutoff": FARTHEST} for lon, lat in points.tolist()]


def _numbers(first: int, last: int) -> str:
    return ";".join(map(str, range(first, last)))


def _nonsense(server: Server, answer: object) -> StreetsError:
    return StreetsError(f"{server.url}: answers with what is not understood: {in_a_line(answer)}")


def _times(server: Server, rows: Any, shape: tuple[int, int]) -> FloatArray:
    """Read a table of seconds, null where there is no way."""
    try:
        times = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _nonsense(server, rows) from None
    sound = times.shape == shape and (np.isnan(times) | ((times >= 0) & (times < np.inf))).all()
    if not sound:
        raise _nonsense(server, rows)
    return times


def _polyline(server: Server, shape: Any) -> FloatArray:
    """Read points (lon, lat) from an encoded polyline with six decimals.

    Every number is the difference from the one before, in millionths, its sign in the lowest bit,
    cut in parts of five bits, the lowest first; a part with a sixth bit has another behind it.
    """
    numbers, value, shift = [], 0, 0
    for letter in shape if isinstance(shape, str) else "?":
        part = ord(letter) - 63
        if not 0 <= part < 64 or shift > 60:
            raise _nonsense(server, shape)
        value |= (part & 31) << shift
        shift += 5
        if part < 32:
            numbers.append(~(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    if shift or len(numbers) % 2 or not numbers:
        raise _nonsense(server, shape)
    points: FloatArray = np.cumsum(np.array(numbers).reshape(-1, 2), axis=0)[:, ::-1] / 1e6
    if (np.abs(points) > (360, 90)).any():
        raise _nonsense(server, shape)
    return points
