"""Other people's planners on our instances: PyVRP, OR-Tools and VRPSolverEasy.

Each is modelled as its maintainers advise (docs/results/peers.md names the sources). They know
fixed stays only and count in whole numbers, so times are scaled, exactly where that is possible,
else rounded against the planner: whatever it finds fits. Its routes alone are taken; their times
are ours, and are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import chdir
from importlib import import_module
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from decost import Instance
from decost.bench import BenchError
from decost.method.features import features_of

SCALES = (1, 10, 100, 1000)
"""Units of a planner in one of the instance, tried until all times are whole numbers."""

FINE = 10_000
"""Units of a planner if none of these makes them whole."""

NEAR = 1e-6
"""What a number may differ from a whole one."""


class WholeProblem(NamedTuple):
    """An instance with fixed stays, in whole numbers; node 0 is the start, `end` the last place.

    It is `exact` if nothing had to be rounded.
    """

    travel: np.ndarray
    open: np.ndarray
    close: np.ndarray
    stay: np.ndarray
    prize: np.ndarray
    vehicles: int
    due: int
    end: int
    exact: bool

    @property
    def stops(self) -> range:
        """The stops' nodes."""
        return range(1, len(self.open))


def whole_problem(instance: Instance) -> WholeProblem:
    """Write an instance in whole numbers: times are exact or rounded against the planner.

    Raises
    ------
    BenchError
        If stays are variable, or it has what the planners are not asked about here.
    """
    for feature, where in features_of(instance):
        if feature != "teams":
            raise BenchError(f"{instance.name}: {where}: peers plan without {feature}")
    if any((pieces[:, 0] * pieces[:, 1] > 0).any() for pieces in instance.pieces):
        raise BenchError(f"{instance.name}: peers plan for fixed stays only")
    travel = np.asarray(instance.travel)
    latest = np.minimum(instance.close, instance.leave_by - instance.min_stay)
    latest = np.minimum(latest, instance.budget)
    times = (travel, instance.open, latest, instance.min_stay, np.array([instance.budget]))
    scale = scale_of(*times)
    gains = scale_of(instance.reward)
    return WholeProblem(
        travel=_up(travel * scale),
        open=_up(np.maximum(instance.open, 0.0) * scale),
        close=_down(latest * scale),
        stay=_up(instance.min_stay * scale),
        prize=np.rint(instance.reward * gains).astype(np.int64),
        vehicles=instance.vehicles,
        due=math.floor(instance.budget * scale + NEAR),
        end=len(travel) - 1 if instance.separate_end else 0,
        exact=FINE not in (scale, gains),
    )


def scale_of(*tables: np.ndarray) -> int:
    """Find the least scale at which all finite numbers are whole."""
    for scale in SCALES:
        scaled = [table[np.isfinite(table)] * scale for table in tables]
        if all((np.abs(one - np.rint(one)) <= NEAR).all() for one in scaled):
            return scale
    return FINE


def _up(table: np.ndarray) -> np.ndarray:
    return np.ceil(table - NEAR).astype(np.int64)


def _down(table: np.ndarray) -> np.ndarray:
    return np.floor(table + NEAR).astype(np.int64)


class Answer(NamedTuple):
    """Routes, and whether the planner says that none earns more."""

    routes: list[list[int]]
    proven: bool = False


def plan_with_pyvrp(problem: WholeProblem, seconds: float, seed: int) -> Answer:
    """Let PyVRP plan: optional clients with prizes, distances and durations that cost nothing."""
    pyvrp = _library("pyvrp")
    model = pyvrp.Model()
    places = [model.add_location(0, 0) for _ in range(len(problem.travel))]
    start = model.add_depot(places[0])
    end = model.add_depot(places[problem.end]) if problem.end else start
    for stop in problem.stops:
        if problem.close[stop] < problem.open[stop]:
            continue
        model.add_client(
            places[stop],
            service_duration=int(problem.stay[stop]),
            tw_early=int(problem.open[stop]),
            tw_late=int(problem.close[stop]),
            prize=int(problem.prize[stop]),
            required=False,
            name=str(stop),
        )
    model.add_vehicle_type(
        num_available=problem.vehicles,
        start_depot=start,
        end_depot=end,
        tw_late=problem.due,
        unit_distance_cost=0,
        unit_duration_cost=0,
    )
    for i, row in enumerate(problem.travel.tolist()):
        for j, time in enumerate(row):
            if i != j:
                model.add_edge(places[i], places[j], distance=time, duration=time)
    result = model.solve(pyvrp.stop.MaxRuntime(seconds), seed=seed, display=False)
    if not result.is_feasible():
        return Answer([])
    clients = model.data().clients()
    return Answer(
        [[int(clients[visit].name) for visit in _visits(r)] for r in result.best.routes()]
    )


def _visits(route: Any) -> list[int]:
    """List the clients that a route of PyVRP visits, by their indices."""
    return [one.idx for one in route.schedule() if one.is_client()]


def plan_with_ortools(problem: WholeProblem, seconds: float, seed: int) -> Answer:
    """Let OR-Tools' routing library plan: a penalty for each stop left out, guided local search.

    Its search draws nothing at random, so that the seed changes nothing.
    """
    library = _library("ortools.constraint_solver.pywrapcp")
    enums = _library("ortools.constraint_solver.routing_enums_pb2")
    vehicles = [0] * problem.vehicles, [problem.end] * problem.vehicles
    manager = library.RoutingIndexManager(len(problem.travel), problem.vehicles, *vehicles)
    routing = library.RoutingModel(manager)
    took = _took(problem).tolist()
    time = routing.RegisterTransitCallback(
        lambda i, j: took[manager.IndexToNode(i)][manager.IndexToNode(j)]
    )
    routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitCallback(lambda i, j: 0))
    routing.AddDimension(time, problem.due, problem.due, False, "time")
    clock = routing.GetDimensionOrDie("time")
    for stop in problem.stops:
        index = manager.NodeToIndex(stop)
        routing.AddDisjunction([index], int(problem.prize[stop]))
        if problem.close[stop] < problem.open[stop]:
            routing.ActiveVar(index).SetValue(0)
        else:
            clock.CumulVar(index).SetRange(int(problem.open[stop]), int(problem.close[stop]))
    search = library.DefaultRoutingSearchParameters()
    search.first_solution_strategy = enums.FirstSolutionStrategy.PARALLEL_CHEAPEST_INSERTION
    search.local_search_metaheuristic = enums.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    search.time_limit.FromMilliseconds(max(1, int(1000 * seconds)))
    found = routing.SolveWithParameters(search)
    if found is None:
        return Answer([])
    routes = []
    for vehicle in range(problem.vehicles):
        route, index = [], found.Value(routing.NextVar(routing.Start(vehicle)))
        while not routing.IsEnd(index):
            route.append(manager.IndexToNode(index))
            index = found.Value(routing.NextVar(index))
        routes.append(route)
    return Answer(routes)


def plan_with_vrpsolver(problem: WholeProblem, seconds: float, seed: int) -> Answer:
    """Let VRPSolverEasy plan: a penalty for each customer left out, ways that cost nothing.

    Its windows are on the end of services, so that stays are a part of the ways that follow them.
    It is deterministic, so that the seed changes nothing.
    """
    library = _library("VRPSolverEasy")
    model = library.Model()
    model.add_vehicle_type(
        id=1,
        start_point_id=0,
        end_point_id=problem.end,
        max_number=problem.vehicles,
        capacity=len(problem.open),  # its cuts need one; it never binds
        tw_begin=0,
        tw_end=problem.due,
    )
    model.add_depot(id=0, tw_begin=0, tw_end=problem.due)
    if problem.end:
        model.add_depot(id=problem.end, tw_begin=0, tw_end=problem.due)
    used = [0, *([problem.end] if problem.end else [])]
    for stop in problem.stops:
        if problem.close[stop] >= problem.open[stop] and problem.prize[stop] > 0:
            used.append(stop)
            model.add_customer(
                id=stop,
                demand=1,
                penalty=float(problem.prize[stop]),
                tw_begin=float(problem.open[stop]),
                tw_end=float(problem.close[stop]),
            )
    took = _took(problem)
    for i in used:
        for j in used:
            if i != j:
                time = float(took[i, j])
                model.add_link(i, j, is_directed=True, distance=0.0, time=time)
    model.set_parameters(time_limit=seconds, solver_name="CLP", print_level=-2)
    with TemporaryDirectory() as folder, chdir(folder):  # it writes its tree to where it is
        model.solve()
    routes = [
        [point for point in route.point_ids if point not in (0, problem.end)]
        for route in (model.solution.routes if model.solution else [])
    ]
    return Answer(routes, proven=model.status == 0)


def require_library(peer: str) -> None:
    """Load the library of a planner.

    Raises
    ------
    BenchError
        If it is not installed.
    """
    _library(LIBRARIES[peer])


def _took(problem: WholeProblem) -> np.ndarray:
    """Give the times from the start of a visit to the arrival at another."""
    stay = np.zeros((len(problem.travel), 1), dtype=np.int64)
    stay[: len(problem.stay), 0] = problem.stay
    return problem.travel + stay


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise BenchError(f"{package} is not installed: pip install 'decost[peers]'") from None


PEERS: dict[str, Callable[[WholeProblem, float, int], Answer]] = {
    "pyvrp": plan_with_pyvrp,
    "ortools": plan_with_ortools,
    "vrpsolver": plan_with_vrpsolver,
}
"""Planners by the names that `decost bench peers --methods` takes."""

LIBRARIES = {"pyvrp": "pyvrp", "ortools": "ortools", "vrpsolver": "VRPSolverEasy"}
"""The library of each."""


def plan(peer: str, problem: WholeProblem, seconds: float) -> tuple[Answer, float]:
    """Let a planner plan; give its answer, and how many seconds it took."""
    require_library(peer)
    begin = perf_counter()
    return PEERS[peer](problem, seconds, 0), perf_counter() - begin
