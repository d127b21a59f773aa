"""What workers do: plans, explanations and files, from requests that were read and checked."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_args

import decost
from decost.files.instances import instance_dict, instance_of
from decost.files.orders import orders_of
from decost.files.plans import solution_of
from decost.files.records import stops_of
from decost.method.options import ImprovingOptions, MethodError
from decost.method.progress import Progress
from decost.method.result import Result, Status
from decost.method.value import judged
from decost.planner.door import DEFAULT_METHOD, get_method, read_options
from decost.planner.explanation import explain
from decost.planner.locking import solve_around
from decost.planner.orders import first_break, plan_in_order, stop_number, stop_numbers
from decost.problem.instance import Instance
from decost.problem.plan import Solution

Tell: TypeAlias = Callable[[dict[str, Any]], object]
"""Hears what has been reached, as it is sent to clients."""

EVERY = 0.15
"""Seconds between two plans that are told, at least."""

PICTURES = ("png", "svg", "pdf")


def run_task(kind: str, request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Do what a request of this kind asks for; give the answer, as JSON."""
    return _TASKS[kind](request, tell)


def method_options(given: Mapping[str, Any], most: float, memory: float) -> dict[str, Any]:
    """Take the options of a plan as the service allows them.

    Parameters
    ----------
    given
        As a client has sent them.
    most
        Most seconds that a plan may take.
    memory
        Most gigabytes.

    Raises
    ------
    MethodError
        If there is no such method or option, or it is none for a service.
    """
    options = dict(given)
    name = options.pop("method", DEFAULT_METHOD)
    if not isinstance(name, str):
        raise MethodError(f"option method = {name!r}: must be the name of a method")
    method = get_method(name)
    for field in ("start", "progress"):
        if field in options:
            raise MethodError(f"option {field}: is not for requests")
    settings: Any = read_options(method, options)
    limit = settings.time_limit
    if limit is None:
        limit = most
    if limit > most:
        raise MethodError(f"option time_limit = {limit:g}: at most {most:g} seconds here")
    for field in ("threads", "solver_threads"):
        if getattr(settings, field, 1) != 1:
            raise MethodError(f"option {field}: is 1 here")
    if getattr(settings, "device", "cpu") != "cpu":
        raise MethodError("option device: is cpu here")
    _require_own_weights(getattr(settings, "weights", None))
    options |= {"method": name, "time_limit": limit}
    if "memory_limit" in type(settings).model_fields:
        options["memory_limit"] = min(settings.memory_limit, memory / 2)
    return options


def _require_own_weights(name: str | None) -> None:
    """Refuse weights that did not come with the package: no client names a file."""
    if name is None:
        return
    from decost.inference.weights import list_models

    known = [model for model, _ in list_models()]
    if name not in known:
        raise MethodError(f"option weights: choose from: {', '.join(known)}")


def start_of(
    instance: Instance, data: Any, where: str = "start"
) -> Solution | list[Any] | dict[str, Any]:
    """Read a plan with times, or orders of stops."""
    routes = data.get("routes") if isinstance(data, dict) else None
    for route in routes if isinstance(routes, list) else ():
        visits = route.get("visits") if isinstance(route, dict) else route
        if isinstance(visits, list) and any(isinstance(one, dict) for one in visits):
            return solution_of(where, data, instance)
    return orders_of(where, data)


def result_of(instance: Instance, plan: Mapping[str, Any]) -> Result:
    """Take a plan and what its JSON says is known of it."""
    solution = solution_of("plan", plan, instance)
    result = judged(instance, solution)
    status: Any = plan.get("status")
    bound = plan.get("bound")
    if status in get_args(Status) and (bound is None or bound >= result.profit - 1e-6):
        result = Result(
            instance,
            solution,
            result.status if result.required_visited < result.required_bound else status,
            bound,
            method=str(plan.get("method") or ""),
            seed=int(plan.get("seed") or 0),
            required_visited=result.required_visited,
            required_bound=max(
                result.required_visited, int(plan.get("required_bound") or result.required_bound)
            ),
            reasons=tuple(plan.get("reasons") or ()),
        )
    return result


class _News:
    """Passes on what a method tells, but not too often."""

    def __init__(self, instance: Instance, tell: Tell) -> None:
        self._instance = instance
        self._tell = tell
        self._told = (-1.0, -1)
        self._when = 0.0

    def __call__(self, news: Progress) -> None:
        message: dict[str, Any] = {
            "seconds": news.seconds,
            "profit": news.profit,
            "bound": news.bound,
            "required_visited": news.required_visited,
        }
        reached = (news.profit, news.required_visited)
        if reached != self._told and time.monotonic() - self._when > EVERY:
            plan = news.plan()
            if plan is not None:
                self._told, self._when = reached, time.monotonic()
                message |= {"profit": plan.profit}
                message["routes"] = Result(self._instance, plan, "feasible").to_dict()["routes"]
        self._tell(message)


def _listening(method: str, instance: Instance, tell: Tell) -> dict[str, Any]:
    if issubclass(get_method(method).options, ImprovingOptions):
        return {"progress": _News(instance, tell)}
    return {}


def _solve(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    instance = instance_of("instance", request["instance"])
    options = dict(request["options"])
    method = options.pop("method")
    options |= _listening(method, instance, tell)
    start = request.get("best") or request.get("start")
    if request.get("locked"):
        plan = _kept_plan(instance, start, request["locked"])
        result = solve_around(instance, plan, request["locked"], method, **options)
        return {"result": result.to_dict()}
    if start is not None and issubclass(get_method(method).options, ImprovingOptions):
        begin = start_of(instance, start)
        if isinstance(begin, Solution):
            orders: Any = [list(route.stops) for route in begin.routes]
        else:
            orders = stop_numbers(instance, begin)
        if first_break(instance, orders) is None:  # what breaks is no help
            options["start"] = plan_in_order(instance, orders)
    return {"result": decost.solve(instance, method, **options).to_dict()}


def _kept_plan(instance: Instance, data: Any, locked: list[Any]) -> Solution:
    """Make a plan of orders or of a plan; of one that breaks, what is locked."""
    begin = start_of(instance, data)
    if isinstance(begin, Solution):
        return begin
    orders = stop_numbers(instance, begin)
    if first_break(instance, orders) is not None:
        kept = {stop_number(instance, stop) for stop in locked}
        orders = [[stop for stop in order if stop in kept] for order in orders]
    return plan_in_order(instance, orders)


def _replan(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    instance = instance_of("instance", request["instance"])
    options = dict(request["options"])
    method = options.pop("method")
    if request["keep"] not in ("route", "order"):
        options |= _listening(method, instance, tell)
    add = request["add"]
    result = decost.replan(
        instance,
        solution_of("plan", request["plan"], instance),
        request["now"],
        done=request["done"],
        drop=request["drop"],
        add=None if add is None else stops_of("add", add),
        keep=request["keep"],
        method=method,
        **options,
    )
    return {"result": result.to_dict(), "instance": instance_dict(result.instance)}


def _explain(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    instance = instance_of("instance", request["instance"])
    result = result_of(instance, request["plan"])
    return {"result": explain(result, time_limit=request["time_limit"]).to_dict()}


def _export(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    from base64 import b64encode

    instance = instance_of("instance", request["instance"])
    result = result_of(instance, request["plan"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"plan.{request['format']}"
        _write(result, path, request)
        return {"content": b64encode(path.read_bytes()).decode()}


def _write(result: Result, path: Path, request: Mapping[str, Any]) -> None:
    if request["format"] in PICTURES:
        from decost.show.page import save_figure
        from decost.show.plan import plot_plan

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fonts, which nobody here could install
            save_figure(plot_plan(result.instance, result.solution), path)
    elif request["format"] == "html":
        result.report(path, explain_time=2.0)
    else:
        decost.write(result, path, date=request["date"])


_TASKS: dict[str, Callable[[dict[str, Any], Tell], dict[str, Any]]] = {
    "solve": _solve,
    "replan": _replan,
    "explain": _explain,
    "export": _export,
}
