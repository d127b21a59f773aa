"""The problem: stops with windows, stays and concave profits, a budget, and travel times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801
        """Like that of functools, which until Python 3.11 has a lock that a fork may leave shut."""

        def __init__(self, function):
            self.function = function
            self.__doc__ = function.__doc__

        def __get__(self, thing, owner=None):
            if thing is None:
                return self
            value = thing.__dict__[self.function.__name__] = self.function(thing)
            return value


FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Problem: TypeAlias = Literal["OP", "OPTW", "OPVP", "OPTWVP", "TOP", "TOPTW", "TOPVP", "TOPTWVP"]

TOLERANCE = 1e-6
"""Times may be off by this share of the budget, profits by this share of the profit."""

MAX_STOPS = 5_000
"""Most stops of one instance: travel times are a full matrix (200 MB at this size)."""

MAX_VEHICLES = 1_000
"""Most vehicles of one instance."""


class InstanceError(ValueError):
    """An instance is not valid; the message names the field and the value."""


class Arrays(NamedTuple):
    """What the kernels see of an instance: arrays indexed by node, the depot first.

    A deadline counts as kept if it is missed by no more than `slack`, so that sums of rounded
    times do not decide; stays never use the slack.
    """

    travel: FloatArray
    open: FloatArray
    close: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    piece_start: IntArray
    piece_rate: FloatArray
    piece_length: FloatArray
    budget: float
    slack: float
    end: int


class Instance:
    """A frozen, validated planning problem.

    Node 0 is the depot and nodes 1, 2, ... are the stops. Every array is indexed by node, so
    the depot's entry comes first; there it is ignored (but for coordinates and travel times).

    Parameters
    ----------
    budget
        Time at which every vehicle must be back; all leave at time 0.
    xy
        Coordinates, shape (nodes, 2). Needed unless `travel` is given.
    travel
        Travel times, shape (nodes, nodes), not necessarily symmetric. By default the
        Euclidean distance divided by `speed`.
    speed
        Distance per unit of time.
    separate_end
        The vehicles end at a depot of their own, given as one more last row of `xy` and one
        more last row and column of `travel`.
    open, close
        Window on the start of service (default: 0, and infinity for a stop that never closes).
        Waiting before `open` is free.
    leave_by
        Latest end of service (default: infinity).
    reward
        Profit of a visit, whatever the stay (default: 0).
    min_stay
        Shortest stay (default: 0).
    rate, max_stay
        Profit per unit of stay beyond `min_stay`, up to `max_stay`: one piece a stop.
    pieces
        Instead of `rate` and `max_stay`: for every node the concave profit of the stay beyond
        `min_stay` as `(rate, length)` pairs of falling rate.
    vehicles
        Number of routes in a plan.
    ids
        Names of the stops, the depot's left out. By default a stop is known by its number.
    name
        What to call the instance in outputs.

    Examples
    --------
    >>> instance = Instance(budget=10, xy=[[0, 0], [3, 4]], rate=[0, 2], max_stay=[0, 6])
    >>> instance
    Instance(OPVP, 1 stop, budget 10)
    >>> instance.travel[0, 1]
    np.float64(5.0)
    """

    budget: float
    speed: float
    vehicles: int
    name: str
    ids: tuple[str, ...] | None
    separate_end: bool
    xy: FloatArray | None
    matrix: FloatArray | None
    open: FloatArray
    close: FloatArray
    leave_by: FloatArray
    reward: FloatArray
    min_stay: FloatArray
    piece_start: IntArray
    piece_rate: FloatArray
    piece_length: FloatArray

    def __init__(
        self,
        *,
        budget: float,
        xy: npt.ArrayLike | None = None,
        travel: npt.ArrayLike | None = None,
        speed: float = 1.0,
        separate_end: bool = False,
        open: npt.ArrayLike | None = None,  # noqa: A002
        close: npt.ArrayLike | None = None,
        leave_by: npt.ArrayLike | None = None,
        reward: npt.ArrayLike | None = None,
        min_stay: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        max_stay: npt.ArrayLike | None = None,
        pieces: Sequence[npt.ArrayLike] | None = None,
        vehicles: int = 1,
        ids: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        put = self.__dict__.__setitem__
        put("budget", _number("budget", budget))
        put("speed", _number("speed", speed))
        if self.speed == 0:
            raise InstanceError("speed = 0.0: must be positive")
        put("vehicles", whole_number("vehicles", vehicles, 1, MAX_VEHICLES))
        put("name", _text("name", str(name)))
        put("separate_end", bool(separate_end))
        if xy is None and travel is None:
            raise InstanceError("xy = None: give coordinates, or a travel matrix")
        points = None if xy is None else _table("xy", xy)
        matrix = None if travel is None else _table("travel", travel)
        if points is not None and (points.ndim != 2 or points.shape[1] != 2):
            raise InstanceError(f"xy: has shape {points.shape}, must be (nodes, 2)")
        if matrix is not None and (matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]):
            raise InstanceError(f"travel: has shape {matrix.shape}, must be square")
        places = len(matrix) if matrix is not None else len(points)  # type: ignore[arg-type]
        if points is not None and len(points) != places:
            raise InstanceError(f"travel: has shape ({places}, {places}) for {len(points)} places")
        nodes = places - self.separate_end
        if nodes < 1:
            raise InstanceError(f"xy: has {places} places, the depots alone are more")
        if nodes - 1 > MAX_STOPS:
            raise InstanceError(f"stops: there are {nodes - 1}, at most {MAX_STOPS} are allowed")
        put("xy", points)
        put("matrix", matrix)
        put("ids", _labels(ids, nodes - 1))

        depot: dict[str, float] = {"close": self.budget, "leave_by": np.inf}
        for field, given, default in (
            ("open", open, 0.0),
            ("close", close, np.inf),
            ("leave_by", leave_by, np.inf),
            ("reward", reward, 0.0),
            ("min_stay", min_stay, 0.0),
        ):
            column = _column(field, given, nodes, default)
            column[0] = depot.get(field, 0.0)
            put(field, column)
        if pieces is not None and (rate is not None or max_stay is not None):
            raise InstanceError("pieces: cannot be combined with rate or max_stay")
        if pieces is None:
            start, rates, lengths = self._one_piece(
                _column("rate", rate, nodes, 0.0),
                self.min_stay if max_stay is None else _column("max_stay", max_stay, nodes, 0.0),
                max_stay is not None,
            )
        else:
            start, rates, lengths = self._many_pieces(pieces)
        put("piece_start", start)
        put("piece_rate", rates)
        put("piece_length", lengths)
        with np.errstate(over="ignore"):  # what overflows is not finite, and refused as such
            self._validate()
        self._freeze()

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # numpy forgets in a copy or a pickle that it was read-only
        self._freeze()

    def _one_piece(
        self, rate: FloatArray, max_stay: FloatArray, limited: bool
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        rate[0] = max_stay[0] = 0.0
        self._demand("rate", rate, (rate >= 0) & (rate < np.inf), "must be finite, not negative")
        self._demand("rate", rate, (rate == 0) | limited, "needs a max_stay")
        shortest = self.min_stay
        self._demand("max_stay", max_stay, max_stay >= shortest, "is less than min_stay", shortest)
        length = max_stay - shortest
        kept = length > 0
        start = np.concatenate(([0], np.cumsum(kept)))
        return start.astype(np.int64), rate[kept], length[kept]

    def _many_pieces(
        self, pieces: Sequence[npt.ArrayLike]
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        if len(pieces) != self.nodes:
            raise InstanceError(f"pieces: there are {len(pieces)} lists for {self.nodes} nodes")
        start = np.zeros(self.nodes + 1, dtype=np.int64)
        tables = []
        for node in range(self.nodes):
            table = _table("pieces", pieces[node] if node else [])
            if table.size == 0:
                table = table.reshape(0, 2)
            if table.ndim != 2 or table.shape[1] != 2:
                raise InstanceError(
                    f"{self._stop(node)}: profit: has shape {table.shape}, must be (pieces, 2)"
                )
            for position, (rate, length) in enumerate(table):
                where = f"{self._stop(node)}: profit[{position}]"
                if not (0 <= rate < np.inf and 0 <= length < np.inf):
                    raise InstanceError(
                        f"{where} = [{rate}, {length}]: must be finite, not negative"
                    )
                if position and rate > table[position - 1, 0]:
                    raise InstanceError(
                        f"{where} = [{rate}, {length}]: rates must not rise along the pieces"
                    )
            table = table[table[:, 1] > 0]
            start[node + 1] = start[node] + len(table)
            tables.append(table)
        flat = np.concatenate(tables)
        return start, flat[:, 0].copy(), flat[:, 1].copy()

    def _validate(self) -> None:
        if self.xy is not None and not np.isfinite(self.xy).all():
            node, axis = np.argwhere(~np.isfinite(self.xy))[0]
            where = "end" if node == self.nodes else self._stop(int(node))
            raise InstanceError(f"{where}: {'xy'[axis]} = {self.xy[node, axis]}: must be finite")
        if self.matrix is not None:
            good = (self.matrix >= 0) & (self.matrix < np.inf)
            if not good.all():
                i, j = np.argwhere(~good)[0]
                raise InstanceError(
                    f"travel[{i}][{j}] = {self.matrix[i, j]}: must be finite, not negative"
                )
        elif not np.isfinite(np.ptp(self.xy, axis=0).sum() / self.speed):  # type: ignore[arg-type]
            raise InstanceError(f"speed = {self.speed}: travel times are not finite")
        for field in ("reward", "min_stay"):
            values = getattr(self, field)
            good = (values >= 0) & (values < np.inf)
            self._demand(field, values, good, "must be finite, not negative")
        self._demand("open", self.open, np.isfinite(self.open), "must be finite")
        self._demand("close", self.close, self.close >= self.open, "is less than open", self.open)
        self._demand("max_stay", self.max_stay, self.max_stay < np.inf, "must be finite")
        if not np.isfinite(self.full_profit.sum()):
            raise InstanceError("profit: the sum over all stops is not finite")

    def _demand(
        self,
        field: str,
        values: FloatArray,
        good: npt.NDArray[np.bool_],
        why: str,
        other: FloatArray | None = None,
    ) -> None:
        if not good[1:].all():
            node = 1 + int(np.argmin(good[1:]))
            than = "" if other is None else f" = {other[node]}"
            raise InstanceError(f"{self._stop(node)}: {field} = {values[node]}: {why}{than}")

    def _stop(self, node: int) -> str:
        return f"stop {self.label(node)!r}" if node else "depot"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Instance is frozen: use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Instance is frozen")

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        team = f", {self.vehicles} vehicles" if self.vehicles > 1 else ""
        plural = "" if self.stops == 1 else "s"
        return (
            f"Instance({name}{self.problem}, {self.stops} stop{plural}, "
            f"budget {self.budget:g}{team})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return all(np.array_equal(mine[field], theirs[field]) for field in mine)

    __hash__ = None  # type: ignore[assignment]

    def _fields(self) -> dict[str, Any]:
        return {field: self.__dict__[field] for field in Instance.__annotations__}

    def replace(self, **changes: Any) -> Instance:
        """Copy the instance with some of the constructor's arguments changed."""
        given: dict[str, Any] = {
            "budget": self.budget,
            "xy": self.xy,
            "travel": self.matrix,
            "speed": self.speed,
            "separate_end": self.separate_end,
            "open": self.open,
            "close": self.close,
            "leave_by": self.leave_by,
            "reward": self.reward,
            "min_stay": self.min_stay,
            "pieces": self.pieces,
            "vehicles": self.vehicles,
            "ids": self.ids,
            "name": self.name,
        }
        if "rate" in changes or "max_stay" in changes:
            del given["pieces"]
        return Instance(**(given | changes))

    def only(self, stops: Sequence[int] | IntArray) -> Instance:
        """Copy the instance with these stops alone, numbered anew in the given order."""
        nodes = np.array([0, *stops], dtype=np.int64)
        places = np.append(nodes, self.end) if self.separate_end else nodes
        pieces = self.pieces
        return self.replace(
            xy=None if self.xy is None else self.xy[places],
            travel=None if self.matrix is None else self.matrix[np.ix_(places, places)],
            **{
                field: getattr(self, field)[nodes]
                for field in ("open", "close", "leave_by", "reward", "min_stay")
            },
            pieces=[pieces[node] for node in nodes],
            ids=None if self.ids is None else [self.ids[stop - 1] for stop in stops],
        )

    @property
    def nodes(self) -> int:
        """Number of nodes: the depot and the stops."""
        return len(self.open)

    @property
    def stops(self) -> int:
        """Number of stops."""
        return self.nodes - 1

    @property
    def end(self) -> int:
        """Row of the end depot in `travel` and `xy`: 0, or the last row if it has its own."""
        return self.nodes if self.separate_end else 0

    @property
    def tolerance(self) -> float:
        """How far times may be off, in units of time."""
        return TOLERANCE * self.budget

    @property
    def pieces(self) -> tuple[FloatArray, ...]:
        """For every node the `(rate, length)` pieces of its profit, shape (pieces, 2)."""
        table = np.column_stack((self.piece_rate, self.piece_length))
        return tuple(np.split(table, self.piece_start[1:-1]))

    @cached_property
    def travel(self) -> FloatArray:
        """Travel times between all nodes (and the end depot, if it has its own)."""
        if self.matrix is not None:
            return self.matrix
        assert self.xy is not None
        x, y = self.xy.T
        times: FloatArray = np.hypot(x[:, None] - x, y[:, None] - y) / self.speed
        times.flags.writeable = False
        return times

    @cached_property
    def piece_offset(self) -> FloatArray:
        """Length of the pieces of the same stop before each piece."""
        offset = np.zeros(len(self.piece_length))
        number = np.diff(self.piece_start)
        # Stop by stop: in one sum over all, a long stay would swallow the digits of the others.
        for k in range(1, int(number.max())):
            here = self.piece_start[:-1][number > k] + k
            offset[here] = offset[here - 1] + self.piece_length[here - 1]
        offset.flags.writeable = False
        return offset

    @cached_property
    def max_stay(self) -> FloatArray:
        """Longest stay at every node."""
        return self.min_stay + self._per_node(self.piece_length)

    @cached_property
    def full_profit(self) -> FloatArray:
        """Profit of the longest stay at every node."""
        return self.reward + self._per_node(self.piece_rate * self.piece_length)

    def _per_node(self, values: FloatArray) -> FloatArray:
        owner = np.repeat(np.arange(self.nodes), np.diff(self.piece_start))
        total = np.zeros(self.nodes)
        np.add.at(total, owner, values)
        total.flags.writeable = False
        return total

    @cached_property
    def arrays(self) -> Arrays:
        """Give the instance as the kernels take it."""
        return Arrays(
            self.travel,
            self.open,
            self.close,
            self.leave_by,
            self.reward,
            self.min_stay,
            self.piece_start,
            self.piece_rate,
            np.minimum(self.piece_length, self.budget),  # no stay is longer, and sums stay exact
            self.budget,
            self.tolerance / 1000,
            self.end,
        )

    @cached_property
    def problem(self) -> Problem:
        """Which named problem this is: OP, OPTW, OPVP or OPTWVP, with a T for teams."""
        stops = slice(1, None)
        windows = bool(
            (self.open[stops] > 0).any()
            or (self.close[stops] < self.budget).any()
            or (self.leave_by[stops] < self.budget).any()
        )
        variable = bool((self.piece_rate > 0).any())
        team = "T" if self.vehicles > 1 else ""
        return f"{team}OP{'TW' * windows}{'VP' * variable}"  # type: ignore[return-value]

    def label(self, stop: int) -> str | int:
        """Name of a stop, its number if it has none."""
        return stop if self.ids is None else self.ids[stop - 1]


def _number(field: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{field} = {value!r}: must be a number") from None
    if not 0 <= number < np.inf:
        raise InstanceError(f"{field} = {number}: must be finite, not negative")
    return number


def whole_number(field: str, value: object, least: int, most: int) -> int:
    """Demand a whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InstanceError(f"{field} = {value!r}: must be a whole number")
    if not least <= value <= most:
        raise InstanceError(f"{field} = {value}: must be from {least} to {most}")
    return int(value)


def _table(field: str, values: npt.ArrayLike) -> FloatArray:
    try:
        # In one layout whatever was given, since kernels are compiled for each layout anew.
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{field}: must be a regular table of numbers") from None


def _column(field: str, values: npt.ArrayLike | None, nodes: int, default: float) -> FloatArray:
    if values is None:
        return np.full(nodes, default)
    column = _table(field, values)
    if column.shape != (nodes,):
        raise InstanceError(f"{field}: has shape {column.shape}, must be ({nodes},)")
    if np.isnan(column[1:]).any():
        raise InstanceError(
            f"{field}[{1 + int(np.argmax(np.isnan(column[1:])))}] = nan: not a number"
        )
    return column


def _labels(ids: Sequence[str] | None, stops: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    labels = tuple(ids)
    if len(labels) != stops:
        raise InstanceError(f"ids: there are {len(labels)} for {stops} stops")
    seen: set[str] = set()
    for label in labels:
        if not isinstance(label, str) or not label:
            raise InstanceError(f"id = {label!r}: must be a string that is not empty")
        if _text("id", label) in seen:
            raise InstanceError(f"id = {label!r}: two stops have it")
        seen.add(label)
    return labels or None


def _text(field: str, value: str) -> str:
    if "\0" in value or value.encode(errors="replace").decode() != value:
        raise InstanceError(f"{field} = {value!r}: must be text that can be written to a file")
    return value
