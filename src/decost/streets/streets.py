"""Travel times and ways along streets for instances and plans."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from decost.problem.checker import choose_alternatives
from decost.problem.instance import FloatArray, Instance
from decost.problem.names import place_of
from decost.problem.plan import Solution
from decost.streets.asking import Server, StreetsError
from decost.streets.engines import ENGINES, FARTHEST, Engine, NoWayError, TooLargeError
from decost.streets.kept import Kept, key_of

_log = logging.getLogger("decost")


class Streets:
    """Streets as a routing engine knows them that you run: Valhalla or OSRM.

    Give it as `travel` to `decost.read`, `decost.from_frame` or `Instance.build`: then the travel
    times of an instance with lat, lon are those of the engine, and speeds are not used. What it
    answers is kept in a file if one is named, and not asked again.

    Parameters
    ----------
    servers
        "valhalla:http://127.0.0.1:8002" or "osrm:http://127.0.0.1:5000"; or several ones by the
        names of profiles, since an OSRM server has one profile.
    profile
        How those move who have no profile of their own: "pedestrian", "bicycle", "auto", ... as
        Valhalla calls it.
    keep
        The file, such as "places.streets.npz". Remove it to have the server asked again.
    told
        Is called with how many questions of a table are answered, and how many there are.

    Examples
    --------
    >>> streets = Streets("valhalla:http://127.0.0.1:8002", "pedestrian", keep="x.streets.npz")
    >>> instance = decost.read("places.csv", travel=streets)  # doctest: +SKIP
    >>> result = decost.solve(instance)  # doctest: +SKIP
    >>> result.report("plan.html", ways=streets.ways(instance, result.solution))  # doctest: +SKIP
    """

    def __init__(
        self,
        servers: str | Mapping[str, str],
        profile: str | None = None,
        *,
        keep: str | Path | None = None,
        told: Callable[[int, int], object] | None = None,
    ) -> None:
        several = isinstance(servers, Mapping)
        named = {"": servers} if isinstance(servers, str) else dict(servers)
        self._engines = {name: _engine(words) for name, words in named.items()}
        if several and profile is not None and profile not in named:
            known = ", ".join(named)
            raise StreetsError(f"profile = {profile!r}: there is none of this name: {known}")
        self._profile = profile
        self._keep = keep
        self._told = told
        self._opened: Kept | None = None

    @staticmethod
    def meant(words: object) -> bool:
        """Whether words name a server, and not a file."""
        return isinstance(words, str) and words.partition(":")[0] in ENGINES and ":" in words

    @property
    def usual(self) -> str | None:
        """Profile of those who have none of their own."""
        if self._profile is None and len(self._engines) == 1:
            (name, engine), *_ = self._engines.items()
            return name or engine.usual
        return self._profile

    @property
    def _kept(self) -> Kept:
        if self._opened is None:
            self._opened = Kept(self._keep)
        return self._opened

    def times(
        self, points: FloatArray, names: Sequence[str], profile: str | None = None
    ) -> FloatArray:
        """Give travel times in minutes between points (lon, lat), which messages call by names.

        Raises
        ------
        StreetsError
            If there is no way between two of them, or no server that answers.
        """
        engine, profile = self._find(profile)
        places, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
        key = key_of(engine.name, engine.server.url, profile, places)
        if key not in self._kept.tables:
            asked = _Table(engine, profile, places, [names[k] for k in first])
            self._kept.tables[key] = asked.seconds(self._told)
            self._kept.write()
        elif self._keep is not None:
            _log.info("travel times: as kept in %s", self._keep)
        which = which.reshape(-1)
        minutes: FloatArray = self._kept.tables[key][np.ix_(which, which)] / 60
        return minutes

    def ways(self, instance: Instance, solution: Solution) -> list[list[FloatArray]]:
        """Give the points (lon, lat) of the ways of a plan, a list for each of its routes.

        A way that cannot be had is straight, and a warning is logged.
        """
        if not instance.geographic or instance.xy is None:
            raise StreetsError("ways along streets need places with lat and lon")
        before = len(self._kept.ways)
        found = []
        for vehicle, route in enumerate(choose_alternatives(instance, solution).routes):
            mine = instance.fleet[min(vehicle, instance.vehicles - 1)]
            visits = [place_of(instance, visit) for visit in route.visits]
            moves = bool(visits) or mine.underway
            places = [mine.start, *visits, mine.end] if moves else []
            legs = pairwise(instance.xy[places])
            found.append([self._way(one, other, mine.profile) for one, other in legs])
        if len(self._kept.ways) > before:
            self._kept.write()
        return found

    def _way(self, source: FloatArray, target: FloatArray, profile: str | None) -> FloatArray:
        """Give a way, from the very place to the other."""
        engine, profile = self._find(profile)
        ends = np.stack((source, target))
        if (source == target).all():
            return ends
        key = key_of(engine.name, engine.server.url, profile, ends)
        if key not in self._kept.ways and not self._mute:
            try:
                self._kept.ways[key] = engine.way(source, target, profile)
            except NoWayError as error:
                _log.warning("%s: drawn as a straight line: %s", engine.server.url, error)
            except StreetsError as error:
                _log.warning("%s; ways that are not known are drawn as straight lines", error)
                self._mute = True
        if key not in self._kept.ways:
            return ends
        return np.concatenate((ends[:1], self._kept.ways[key], ends[1:]))

    _mute = False  # the server has failed: it is not asked for every way again

    def _find(self, profile: str | None) -> tuple[Engine, str]:
        """Give the engine for a profile, and what it calls the profile."""
        chosen = profile or self.usual
        if chosen is None:
            raise StreetsError(
                "profile: missing: how do they move? pedestrian, bicycle, auto (--profile, or a "
                "profile for each vehicle)"
            )
        engine = self._engines.get("") or self._engines.get(chosen)
        if engine is None:
            known = ", ".join(self._engines)
            raise StreetsError(f"profile = {chosen!r}: there is no server of this name: {known}")
        return engine, chosen


def _engine(words: str) -> Engine:
    name, _, url = words.partition(":")
    if name not in ENGINES or not url:
        raise StreetsError(f"{words}: must be an engine and its address: {_SUCH}")
    return ENGINES[name](Server(url))


_SUCH = "valhalla:http://127.0.0.1:8002 or osrm:http://127.0.0.1:5000"


class _Table:
    """Asks for the travel times between places, block by block."""

    def __init__(
        self, engine: Engine, profile: str, places: FloatArray, names: Sequence[str]
    ) -> None:
        self.engine = engine
        self.profile = profile
        self.places = places
        self.names = names

    def seconds(self, told: Callable[[int, int], object] | None) -> FloatArray:
        """Ask for all of it, in smaller blocks if the server wants that."""
        while True:
            try:
                return self._in_blocks(told)
            except TooLargeError as error:
                if self.engine.side == 1:
                    raise StreetsError(f"{self.engine.server.url}: {error}") from None
                self.engine.side //= 2

    def _in_blocks(self, told: Callable[[int, int], object] | None) -> FloatArray:
        table = np.zeros((len(self.places), len(self.places)))
        blocks = [(rows, columns) for rows in self._parts() for columns in self._parts()]
        for done, (rows, columns) in enumerate(blocks, 1):
            try:
                table[np.ix_(rows, columns)] = self._ask(rows, columns)
            except NoWayError as error:
                raise self._fault(rows, columns, error) from None
            if told is not None:
                told(done, len(blocks))
        np.fill_diagonal(table, 0.0)
        self._require_ways(table)
        return table

    def _parts(self) -> Iterator[list[int]]:
        numbers = list(range(len(self.places)))
        return (numbers[k : k + self.engine.side] for k in numbers[:: self.engine.side])

    def _ask(self, rows: Sequence[int], columns: Sequence[int]) -> FloatArray:
        return self.engine.table(self.places[rows], self.places[columns], self.profile)

    def _require_ways(self, table: FloatArray) -> None:
        """Refuse places that cannot be reached, or not be left, or pairs without a way."""
        missing = np.isnan(table)
        if not missing.any():
            return
        others = len(table) - 1
        for none, words in (
            (missing.sum(axis=0) == others, "no way leads to"),
            (missing.sum(axis=1) == others, "no way leads away from"),
        ):
            if none.any() and not none.all():
                raise self._error(f"{words} {self._name(int(none.argmax()))}")
        one, other = np.argwhere(missing)[0].tolist()
        raise self._error(f"there is no way from {self._name(one)} to {self._name(other)}")

    def _fault(
        self, rows: Sequence[int], columns: Sequence[int], error: NoWayError
    ) -> StreetsError:
        """Find out which place, or which pair, the server cannot serve."""
        for place in dict.fromkeys((*rows, *columns)):
            if self._refused([place], [place]) is not None:
                where = f"of {self._name(place)} there is no street"
                return self._error(f"within {FARTHEST} m {where}")
        pairs = [(rows[0], other) for other in columns] + [(one, columns[0]) for one in rows]
        for one, other in pairs:
            why = self._refused([one], [other])
            if why is not None:
                return self._error(f"from {self._name(one)} to {self._name(other)}: {why}")
        return self._error(str(error))

    def _refused(self, rows: Sequence[int], columns: Sequence[int]) -> NoWayError | None:
        try:
            self._ask(rows, columns)
        except NoWayError as error:
            return error
        return None

    def _name(self, place: int) -> str:
        lon, lat = self.places[place].tolist()
        return f"{self.names[place] or 'a place'!r} ({lat:g}, {lon:g})"

    def _error(self, words: str) -> StreetsError:
        return StreetsError(f"{self.engine.server.url}: {self.profile}: {words}")
