"""Why required stops are left out: what is quick to prove of single ones and of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from decost.method.result import Result, Status
from decost.problem.instance import Arrays, FloatArray, Instance
from decost.problem.names import time_text
from decost.timeline.network import direct_starts, earliest_from, earliest_starts, latest_starts

MOST_PAIRS = 5_000
"""Pairs of required stops up to which they are looked at."""

MOST_STEPS = 200_000_000
"""Steps of all searches for ways up to which pairs are looked at."""

MOST_REASONS = 20
"""Reasons that are told at most."""

Hindrance: TypeAlias = Literal["no vehicle", "unreachable", "closed", "no way home"]
"""What can keep vehicles from visiting a stop; of several tries the furthest one counts."""

_NEARER: tuple[Hindrance, ...] = get_args(Hindrance)


class Obstacle(NamedTuple):
    """What the best try to visit a stop fails at.

    Attributes
    ----------
    why
        "no vehicle" if it is for none; "unreachable" if nobody is there in time; "closed" if
        service cannot start or end in time; "no way home" if nobody who has served it is at the
        end in time.
    time
        When that try arrives, starts service or is at the end, at the earliest.
    limit
        The latest time for it; where one of both is infinite, it is not known.
    """

    why: Hindrance
    time: float = np.inf
    limit: float = np.inf

    def in_words(self, instance: Instance) -> str:
        """Say it, with the times."""
        words = {
            "no vehicle": "no vehicle may go there",
            "unreachable": "too far away",
            "closed": "closes before anybody can be there",
            "no way home": "nobody who has served it is at the end in time",
        }[self.why]
        if not np.isfinite((self.time, self.limit)).all():
            return words
        time, limit = (time_text(instance, one) for one in (self.time, self.limit))
        if time == limit:  # less than what is shown
            return words
        return f"{words} ({time} at the earliest, {limit} at the latest)"


class Requirements(NamedTuple):
    """What is proven of the required stops of an instance.

    Attributes
    ----------
    most
        The most of them that any plan can visit.
    reasons
        Which of them cannot be visited, or which two not together, in words.
    """

    most: int
    reasons: tuple[str, ...]


def examine(instance: Instance) -> Requirements:
    """Find out which required stops cannot be visited at all, and which two not both.

    All that is said is proven, also where travel times do not obey the triangle inequality: a
    stop is out of reach if no way through any stops leads there and on to the end in time.
    """
    reach = Reach(instance)
    required = np.flatnonzero(instance.required).tolist()
    reasons: list[str] = []
    rest: list[int] = []
    for stop in required:
        if reach.types(stop):
            rest.append(stop)
        else:
            why = reach.obstacle(stop).in_words(instance)
            reasons.append(f"stop {instance.label(stop)!r} cannot be visited: {why}")
    matched: set[int] = set()
    for one, other, vehicle in reach.conflicts(rest):
        labels = f"{instance.label(one)!r} and {instance.label(other)!r}"
        whose = "" if instance.vehicles == 1 else f" by vehicle {instance.fleet[vehicle].id!r},"
        only = f": only{whose} which has not time for both" if whose else ": there is no time"
        reasons.append(f"stops {labels} cannot both be visited{only}")
        if not matched & {one, other}:  # each such pair costs a stop of its own
            matched |= {one, other}
    more = len(reasons) - MOST_REASONS
    if more > 0:
        reasons[MOST_REASONS:] = [f"and {more} more"]
    return Requirements(len(rest) - len(matched) // 2, tuple(reasons))


def with_reasons(result: Result, examined: Callable[[Instance], Requirements] = examine) -> Result:
    """Say of a plan that leaves required stops out whether it must, and why.

    Parameters
    ----------
    result
        The plan, and what is known of it.
    examined
        Tells what is proven of the instance: somebody may have kept it.
    """
    instance = result.instance
    required = int(instance.required.sum())
    visited = sum(bool(instance.required[visit.stop]) for visit in result.solution.visits)
    if visited == required:
        complete: Status = "optimal" if result.status == "optimal" else "feasible"
        return replace(result, status=complete, required_visited=visited, required_bound=required)
    known = required if result.status in ("optimal", "feasible") else result.required_bound
    found = examined(instance)
    most = max(visited, min(known, found.most))
    return replace(
        result,
        status="infeasible" if most < required else "incomplete",
        required_visited=visited,
        required_bound=most,
        reasons=found.reasons,
    )


class Reach:
    """When vehicles of each type can start service, at the earliest and at the latest."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._arrays = arrays = instance.arrays
        self._early: list[FloatArray] = []
        self._late: list[FloatArray] = []
        for kind in range(len(arrays.type_start)):
            if arrays.triangle:
                early, late = direct_starts(arrays, kind)
            else:
                early, late = earliest_starts(arrays, kind), latest_starts(arrays, kind)
            self._early.append(early)
            self._late.append(late)

    def _ways(self, stop: int) -> range:
        return range(*self._instance.alternative_first[stop : stop + 2].tolist())

    def _served(self, kind: int, way: int) -> bool:
        early, late = self._early[kind][way], self._late[kind][way]
        return bool(early <= late + self._arrays.slack)

    def types(self, stop: int) -> list[int]:
        """List the types of vehicles that can visit a stop."""
        kinds = range(len(self._early))
        return [kind for kind in kinds if any(self._served(kind, way) for way in self._ways(stop))]

    def obstacle(self, stop: int) -> Obstacle:
        """Tell what the best try fails at to visit a stop that nobody can visit."""
        tries = [
            self._obstacle(kind, way)
            for kind in range(len(self._early))
            for way in self._ways(stop)
            if self._arrays.admits[kind, way]
        ]
        return max(
            tries,
            key=lambda one: (_NEARER.index(one.why), one.limit - one.time),
            default=Obstacle("no vehicle"),
        )

    def _obstacle(self, kind: int, way: int) -> Obstacle:
        """Tell what vehicles of a type fail at with an alternative."""
        arrays, slack = self._arrays, self._arrays.slack
        due, stay = float(arrays.type_due[kind]), float(arrays.min_stay[way])
        arrive = self._arrival(kind, way)
        if arrive > due + slack:
            return Obstacle("unreachable", arrive, due)
        start = max(arrive, float(arrays.open[way]))
        last = min(float(arrays.close[way]), float(arrays.leave_by[way]) - stay)
        if start > last + slack:
            return Obstacle("closed", start, last)
        if not arrays.triangle:  # there may be a shorter way home than the direct one
            return Obstacle("no way home")
        travel = arrays.planes[arrays.type_plane[kind]]
        home = start + stay + float(travel[arrays.place[way], arrays.type_end[kind]])
        return Obstacle("no way home", home, due)

    def _arrival(self, kind: int, way: int) -> float:
        """Earliest arrival, whether or not service can still start then."""
        arrays = self._arrays
        travel = arrays.planes[arrays.type_plane[kind], :, arrays.place[way]]
        arrive = float(arrays.type_begin[kind] + travel[arrays.type_start[kind]])
        if not arrays.triangle:
            by_others = self._early[kind] + arrays.min_stay + travel[arrays.place]
            arrive = min(arrive, float(by_others[1:].min()))
        return arrive

    def conflicts(self, stops: list[int]) -> list[tuple[int, int, int]]:
        """List pairs of stops that no plan visits both, with the only vehicle that can visit them.

        Two vehicles could share a pair, so that only those of one and the same vehicle are
        looked at.
        """
        by_vehicle: dict[int, list[int]] = {}
        kinds = self._arrays.vehicle_type.tolist()
        for stop in stops:
            able = set(self.types(stop))
            vehicles = [vehicle for vehicle, kind in enumerate(kinds) if kind in able]
            if len(vehicles) == 1:
                by_vehicle.setdefault(vehicles[0], []).append(stop)
        pairs = sum(len(mine) * (len(mine) - 1) // 2 for mine in by_vehicle.values())
        ways = sum(len(self._ways(stop)) for mine in by_vehicle.values() for stop in mine)
        if pairs > MOST_PAIRS or ways * len(self._arrays.open) ** 2 > MOST_STEPS:
            return []
        return [
            (one, other, vehicle)
            for vehicle, mine in by_vehicle.items()
            for after in [{stop: self._after(kinds[vehicle], stop) for stop in mine}]
            for one, other in combinations(mine, 2)
            if not self._follows(kinds[vehicle], after[one], other)
            and not self._follows(kinds[vehicle], after[other], one)
        ]

    def _after(self, kind: int, stop: int) -> FloatArray:
        """Earliest start of service everywhere after a stop has been served."""
        arrays: Arrays = self._arrays
        after = np.full(len(arrays.open), np.inf)
        for way in self._ways(stop):
            if self._served(kind, way):
                leave = float(self._early[kind][way] + arrays.min_stay[way])
                then = earliest_from(arrays, kind, int(arrays.place[way]), leave)
                after = np.minimum(after, then)
        return after

    def _follows(self, kind: int, after: FloatArray, stop: int) -> bool:
        slack = self._arrays.slack
        return any(after[way] <= self._late[kind][way] + slack for way in self._ways(stop))


def rehearse() -> None:
    """Call every kernel."""
    places = [[0, 0], [1, 0], [0, 1]]
    near = Instance(budget=9, xy=places, required=[False, True, True], close=[0, 1, 1])
    for instance in (near, near.replace(xy=None, travel=1 - np.eye(3))):
        examine(instance)
