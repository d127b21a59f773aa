"""Plans by hand: an order of stops for each vehicle, to which the best times are set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

from decost.problem.instance import Instance
from decost.problem.plan import Solution
from decost.problem.records import Alternative, Place, Stop
from decost.timeline.routes import optimal_stays, solution_for

Order: TypeAlias = Sequence[str | int]
Orders: TypeAlias = Sequence[Order] | Mapping[str, Order] | Order
"""Stops by label or number: one order a vehicle, in their order or by their ids; or the order of
the only vehicle."""


class OrderError(ValueError):
    """An order that names a stop twice, or what does not exist."""


class Break(NamedTuple):
    """Where an order is not feasible.

    Attributes
    ----------
    vehicle
        Whose order it is, counted from 0.
    position
        Position of the first stop that cannot be served, or the number of stops if the vehicle
        cannot be at its end in time.
    stop
        That stop, or the last one.
    why
        What is wrong there, in words.
    """

    vehicle: int
    position: int
    stop: int
    why: str

    def in_words(self, instance: Instance) -> str:
        """Say it in one line."""
        whose = f"vehicle {instance.fleet[self.vehicle].id!r}"
        stop = f"stop {instance.label(self.stop)!r}"
        return f"{whose}: the order breaks at visit {self.position + 1} ({stop}): {self.why}"


def stop_number(instance: Instance, stop: object) -> int:
    """Find a stop by its label or number.

    Raises
    ------
    OrderError
        If there is no such stop.
    """
    found = -1
    if isinstance(stop, str):
        if stop in (instance.ids or ()):
            found = 1 + (instance.ids or ()).index(stop)
    elif isinstance(stop, Integral) and not isinstance(stop, bool):
        found = int(stop)
    if not 1 <= found <= instance.stops:
        raise OrderError(f"stop = {stop!r}: the instance has no such stop")
    return found


def stop_numbers(instance: Instance, orders: Orders) -> list[list[int]]:
    """Give an order for each vehicle, by the numbers of stops.

    Raises
    ------
    OrderError
        If an order names a stop or a vehicle that does not exist, or a stop is named twice.
    """
    named: list[tuple[int, str, Any]] = []
    if isinstance(orders, Mapping):
        known = {one.id: k for k, one in enumerate(instance.fleet)}
        for name, order in orders.items():
            if name not in known:
                raise OrderError(f"vehicle = {name!r}: the instance has no such vehicle")
            named.append((known[name], f"order of vehicle {name!r}", order))
    elif instance.vehicles == 1 and orders and all(isinstance(one, str | int) for one in orders):
        named = [(0, "order", orders)]
    else:
        named = [(k, f"orders[{k}]", order) for k, order in enumerate(orders)]
    for _, where, order in named:
        if isinstance(order, str) or not isinstance(order, Sequence):
            raise OrderError(f"{where} = {order!r}: must be a list of stops")
    if len(named) > instance.vehicles:
        vehicles = f"{instance.vehicles} vehicle{'s' * (instance.vehicles > 1)}"
        raise OrderError(f"orders: there are {len(named)} for {vehicles}")
    found: list[list[int]] = [[] for _ in range(instance.vehicles)]
    seen: set[int] = set()
    for vehicle, where, order in named:
        for stop in order:
            try:
                number = stop_number(instance, stop)
            except OrderError as error:
                raise OrderError(f"{where}: {error}") from None
            if number in seen:
                raise OrderError(f"{where}: stop = {stop!r}: is named twice")
            seen.add(number)
            found[vehicle].append(number)
    return found


def first_break(instance: Instance, orders: Sequence[Sequence[int]]) -> Break | None:
    """Find the first order of stops, one a vehicle, that is not feasible, and where it breaks."""
    found = optimal_stays(instance, orders, vehicles=range(len(orders)))
    for vehicle, (order, position) in enumerate(zip(orders, found.broken.tolist(), strict=True)):
        if position < 0:
            continue
        if position == len(order):
            why = "the vehicle cannot be at its end in time after it"
            return Break(vehicle, position - 1, order[-1], why)
        return Break(vehicle, position, order[position], _why(instance, vehicle, order[position]))
    return None


def _why(instance: Instance, vehicle: int, stop: int) -> str:
    ways = slice(*instance.alternative_first[stop : stop + 2].tolist())
    admits = instance.alternative_vehicles
    if ways.start == ways.stop:
        return "it has no alternative by which it could be visited"
    if admits is not None and not admits[ways, vehicle].any():
        return "it does not admit the vehicle"
    return "it cannot be served in time"


def plan_in_order(instance: Instance, orders: Sequence[Sequence[int]]) -> Solution:
    """Make the best plan that keeps an order of stops a vehicle.

    Raises
    ------
    OrderError
        If an order is not feasible; it says where.
    """
    broken = first_break(instance, orders)
    if broken is not None:
        raise OrderError(broken.in_words(instance))
    return solution_for(instance, orders)


def rehearse() -> None:
    """Call every kernel; that takes a stop with two alternatives."""
    ways = [Alternative(close=4), Alternative(open=5)]
    stop = Stop("stop", x=1, y=0, reward=1, alternatives=ways)
    plan_in_order(Instance.build(budget=9, depot=Place(x=0, y=0), stops=[stop]), [[1]])
