"""What an instance holds, and what follows from it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from decost.problem.arrays import Arrays, arrays_of
from decost.problem.distances import great_circles, straight_lines
from decost.problem.fields import (
    TOLERANCE,
    BoolArray,
    FloatArray,
    InstanceError,
    IntArray,
    frozen,
)
from decost.problem.fleet import whole_fleet
from decost.problem.once import cached_property
from decost.problem.records import FleetVehicle, Vehicle

Problem: TypeAlias = Literal["OP", "OPTW", "OPVP", "OPTWVP", "TOP", "TOPTW", "TOPVP", "TOPTWVP"]


class Contents:
    """The values of an `Instance`, which says what they mean."""

    # All that an instance is, in one form only, so that equal ones are equal in these fields.
    # Arrays whose names begin with _ are for kernels, which are compiled for arrays that could be
    # written to; everyone else sees them read-only.
    budget: float
    begin: float
    speed: float
    detour: float
    unit: str | None
    geographic: bool
    vehicles: int
    name: str
    ids: tuple[str, ...] | None
    separate_end: bool
    end: int
    places: tuple[str, ...]
    profiles: tuple[str, ...]
    xy: FloatArray | None
    alternative_vehicles: BoolArray | None
    _travel: FloatArray | None  # (matrix, place, place), if given
    _required: BoolArray
    _columns: FloatArray  # close, min_stay, open, leave_by and reward, each by alternative
    _piece_start: IntArray
    _piece_rate: FloatArray
    _piece_length: FloatArray
    _fleet: tuple[Vehicle, ...] | None  # None: all as the instance says
    _first: IntArray | None  # None: one alternative a stop
    _place: IntArray | None  # None: alternatives are at their stops

    @property
    def nodes(self) -> int:
        """Number of nodes: the depot and the stops."""
        return len(self._required)

    @cached_property
    def required(self) -> BoolArray:
        """Whether each stop comes before all profit."""
        return frozen(self._required[:])

    @cached_property
    def any_required(self) -> bool:
        """Whether there is a stop that comes before all profit."""
        return bool(np.count_nonzero(self._required))

    @cached_property
    def matrix(self) -> FloatArray | None:
        """Travel times, if they were given and are the same for all vehicles."""
        return None if self._travel is None or self.profiles else frozen(self._travel[0])

    @cached_property
    def matrices(self) -> FloatArray | None:
        """Travel times of every profile, if there are profiles."""
        return None if self._travel is None or not self.profiles else frozen(self._travel[:])

    @property
    def stops(self) -> int:
        """Number of stops."""
        return self.nodes - 1

    @cached_property
    def fleet(self) -> tuple[FleetVehicle, ...]:
        """Vehicles, one by one; `start` and `end` are numbers of places."""
        return whole_fleet(self, self._fleet)

    @property
    def alike(self) -> bool:
        """All vehicles are as the instance says, and may use every alternative."""
        return self._fleet is None and self.alternative_vehicles is None

    @cached_property
    def horizon(self) -> float:
        """Time from the first begin of any vehicle to the last due."""
        if self._fleet is None:
            return self.budget - self.begin
        return max(one.due for one in self.fleet) - min(one.begin for one in self.fleet)

    @property
    def tolerance(self) -> float:
        """How far times may be off, in units of time."""
        return TOLERANCE * self.horizon

    @property
    def simple(self) -> bool:
        """Every stop has one alternative, at its own place, for all vehicles."""
        return self._first is None and self._place is None and self.alternative_vehicles is None

    @cached_property
    def plain(self) -> bool:
        """One vehicle, straight ways, one alternative a stop at its place, and none required."""
        straight = self._travel is None and not self.geographic
        alone = self.vehicles == 1 and self._fleet is None
        return straight and alone and self.simple and not self.any_required

    @property
    def alternative_count(self) -> int:
        """Number of alternatives of all stops."""
        return int(self._columns.shape[1]) - 1

    @cached_property
    def alternative_open(self) -> FloatArray:
        """Begin of the window on the start of service, by alternative."""
        return self._column(2)

    @cached_property
    def alternative_close(self) -> FloatArray:
        """End of the window on the start of service, by alternative."""
        return self._column(0)

    @cached_property
    def alternative_leave_by(self) -> FloatArray:
        """Latest end of service, by alternative."""
        return self._column(3)

    @cached_property
    def alternative_reward(self) -> FloatArray:
        """Profit of a visit, whatever the stay, by alternative."""
        return self._column(4)

    @cached_property
    def alternative_min_stay(self) -> FloatArray:
        """Shortest stay, by alternative."""
        return self._column(1)

    def _column(self, number: int) -> FloatArray:
        return frozen(self._columns[number])

    @cached_property
    def alternative_first(self) -> IntArray:
        """First alternative of every stop, and at last one more than there are."""
        return frozen(np.arange(self.nodes + 1) if self._first is None else self._first[:])

    @cached_property
    def alternative_stop(self) -> IntArray:
        """Stop of every alternative."""
        if self._first is None:
            return frozen(np.arange(self.nodes))
        return frozen(np.repeat(np.arange(self.nodes), np.diff(self._first)))

    @property
    def alternative_place(self) -> IntArray:
        """Place of every alternative."""
        return self.alternative_stop if self._place is None else frozen(self._place[:])

    @cached_property
    def piece_start(self) -> IntArray:
        """First piece of every alternative, and at last how many there are."""
        return frozen(self._piece_start[:])

    @cached_property
    def piece_rate(self) -> FloatArray:
        """Profit per unit of stay of every piece."""
        return frozen(self._piece_rate[:])

    @cached_property
    def piece_length(self) -> FloatArray:
        """Longest stay of every piece."""
        return frozen(self._piece_length[:])

    @property
    def pieces(self) -> tuple[FloatArray, ...]:
        """For every alternative the `(rate, length)` pieces of its profit, shape (pieces, 2)."""
        pairs = np.column_stack((self.piece_rate, self.piece_length))
        return tuple(np.split(pairs, self.piece_start[1:-1]))

    @cached_property
    def piece_offset(self) -> FloatArray:
        """Length of the pieces of the same alternative before each piece."""
        offset = np.zeros(len(self.piece_length))
        number = np.diff(self.piece_start)
        # One by one: in one sum over all, a long stay would swallow the digits of the others.
        for k in range(1, int(number.max())):
            here = self.piece_start[:-1][number > k] + k
            offset[here] = offset[here - 1] + self.piece_length[here - 1]
        return frozen(offset)

    @cached_property
    def alternative_max_stay(self) -> FloatArray:
        """Longest stay by every alternative."""
        return frozen(self.alternative_min_stay + self.per_alternative(self.piece_length))

    @cached_property
    def alternative_full_profit(self) -> FloatArray:
        """Profit of the longest stay by every alternative."""
        earned = self.per_alternative(self.piece_rate * self.piece_length)
        return frozen(self.alternative_reward + earned)

    @cached_property
    def full_profits(self) -> FloatArray:
        """Most that each stop can earn by any alternative."""
        most = np.zeros(self.nodes)
        np.maximum.at(most, self.alternative_stop, self.alternative_full_profit)
        return frozen(most)

    def per_alternative(self, values: FloatArray) -> FloatArray:
        """Add up values of pieces for every alternative."""
        size = self._columns.shape[1]
        return np.bincount(self._piece_alternative, values, size).astype(np.float64, copy=False)

    @cached_property
    def _piece_alternative(self) -> IntArray:
        number = np.diff(self.piece_start)
        return frozen(np.repeat(np.arange(len(number)), number))

    def _by_node(self, field: str) -> FloatArray:
        if self._first is not None:
            raise InstanceError(
                f"{field}: not every stop has one, since there are stops with several or no "
                f"alternatives: use alternative_{field}"
            )
        values: FloatArray = getattr(self, f"alternative_{field}")
        return values

    @property
    def open(self) -> FloatArray:
        """Begin of the window on the start of service by node, if stops have one alternative."""
        return self._by_node("open")

    @property
    def close(self) -> FloatArray:
        """End of the window on the start of service by node, if stops have one alternative."""
        return self._by_node("close")

    @property
    def leave_by(self) -> FloatArray:
        """Latest end of service by node, if stops have one alternative."""
        return self._by_node("leave_by")

    @property
    def reward(self) -> FloatArray:
        """Profit of a visit, whatever the stay, by node, if stops have one alternative."""
        return self._by_node("reward")

    @property
    def min_stay(self) -> FloatArray:
        """Shortest stay by node, if stops have one alternative."""
        return self._by_node("min_stay")

    @property
    def max_stay(self) -> FloatArray:
        """Longest stay by node, if stops have one alternative."""
        return self._by_node("max_stay")

    @property
    def full_profit(self) -> FloatArray:
        """Profit of the longest stay by node, if stops have one alternative."""
        return self._by_node("full_profit")

    @cached_property
    def rate(self) -> FloatArray:
        """Profit per unit of stay by node, if stops have one alternative with one piece at most."""
        self._by_node("open")
        if (np.diff(self.piece_start) > 1).any():
            raise InstanceError("rate: there are stops with several pieces: use pieces")
        return frozen(self.per_alternative(self.piece_rate))

    @cached_property
    def speeds(self) -> tuple[float, ...]:
        """Different speeds of vehicles."""
        if self._fleet is None:
            return (self.speed,)
        return tuple(dict.fromkeys(one.speed for one in self.fleet))

    @cached_property
    def planes(self) -> FloatArray:
        """Travel times between all places, one matrix for each given one or different speed."""
        return frozen(self._planes[:])

    @cached_property
    def _planes(self) -> FloatArray:
        if self._travel is not None:
            return self._travel
        assert self.xy is not None
        if self.geographic:
            lengths = self.detour * great_circles(self.xy)
        else:
            lengths = straight_lines(self.xy)
        if len(self.speeds) == 1:
            if self.speeds[0] != 1.0:
                lengths /= self.speeds[0]
            return lengths[None]
        planes: FloatArray = lengths / np.array(self.speeds)[:, None, None]
        return planes

    @cached_property
    def vehicle_plane(self) -> IntArray:
        """Which of `planes` holds for each vehicle."""
        if self._fleet is None or len(self.planes) == 1:
            return frozen(np.zeros(self.vehicles, dtype=np.int64))
        if self.matrices is not None:
            planes = [self.profiles.index(str(one.profile)) for one in self._fleet]
        else:
            planes = [self.speeds.index(one.speed) for one in self.fleet]
        return frozen(np.array(planes, dtype=np.int64))

    @cached_property
    def travel(self) -> FloatArray:
        """Travel times between all places, if they are the same for all vehicles."""
        if len(self.planes) > 1:
            raise InstanceError("travel: vehicles differ in travel times: use travel_of(vehicle)")
        matrix: FloatArray = self.planes[0]
        return matrix

    def travel_of(self, vehicle: int) -> FloatArray:
        """Travel times of a vehicle (counted from 0) between all places."""
        matrix: FloatArray = self.planes[self.vehicle_plane[vehicle]]
        return matrix

    @cached_property
    def arrays(self) -> Arrays:
        """Give the instance as the kernels take it."""
        return arrays_of(self)

    @cached_property
    def problem(self) -> Problem:
        """Which named problem this is: OP, OPTW, OPVP or OPTWVP, with a T for teams.

        Stops with windows that bind some vehicle, in one of their alternatives, make a TW.
        """
        ways = slice(1, None)
        begin = min(one.begin for one in self.fleet)
        due = max(one.due for one in self.fleet)
        windows = bool(
            (self.alternative_open[ways] > begin).any()
            or (self.alternative_close[ways] < due).any()
            or (self.alternative_leave_by[ways] < due).any()
        )
        variable = bool((self.piece_rate > 0).any())
        team = "T" if self.vehicles > 1 else ""
        return f"{team}OP{'TW' * windows}{'VP' * variable}"  # type: ignore[return-value]

    def label(self, stop: int) -> str | int:
        """Name of a stop, its number if it has none."""
        return stop if self.ids is None else self.ids[stop - 1]


FIELDS = tuple(Contents.__annotations__)
"""All that an instance is: equal ones are equal in these."""
