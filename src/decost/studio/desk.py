"""What is answered at once, within the service: reading, checking, stays, and scenes of them."""

from __future__ import annotations

import binascii
import hashlib
import json
import logging
import re
import tempfile
import threading
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import decost
from decost.files.door import read_any
from decost.files.instances import instance_dict, instance_of
from decost.files.limits import FormatError
from decost.files.orders import orders_of
from decost.files.plans import solution_of
from decost.files.table_files import Beside
from decost.method.result import Result
from decost.method.value import judged
from decost.planner.orders import Break, OrderError, first_break, plan_in_order, stop_number
from decost.planner.orders import stop_numbers as numbers_of
from decost.planner.requirements import Requirements, examine, with_reasons
from decost.problem.instance import Instance
from decost.problem.once import cached_property
from decost.problem.plan import Solution, make_solution
from decost.show.scene import scene_of
from decost.studio.messages import (
    CheckRequest,
    FilesRequest,
    NamedFile,
    SceneRequest,
    StaysRequest,
)
from decost.studio.tasks import result_of

MOST_KEPT = 64
"""Instances that are kept ready."""

MOST_BYTES = 2**30
"""Most bytes of them, all together; one is kept however large it is."""

EXAMPLES = (Path(__file__).parent / "examples", Path(__file__).parents[3] / "examples" / "data")
"""Where examples are: in a wheel, and beside the sources."""

_EXAMPLE_NAMES = ("city", "guides", "trip", "nurses", "drone", "robot", "ponds")


class UnknownError(ValueError):
    """An instance that was sent before, but is not kept any more."""


class Known:
    """An instance that is kept ready, with its JSON and the digest of that."""

    def __init__(self, digest: str, instance: Instance, data: dict[str, Any], size: int) -> None:
        self.digest = digest
        self.instance = instance
        self.data = data
        self.size = size + instance.planes.nbytes
        """Bytes, about: travel times are most of a large one."""

    @cached_property
    def requirements(self) -> Requirements:
        """Tell what is proven of required stops, which takes longer than the rest of an answer."""
        return examine(self.instance)


class Instances:
    """Instances by the digest of their JSON, so that a page need not send one with every drag."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, Known] = OrderedDict()

    def take(self, data: dict[str, Any]) -> Known:
        """Give an instance with its digest and its JSON.

        Raises
        ------
        UnknownError
            If there is nothing but a digest, and it is not known.
        """
        told = set(data) == {"digest"}
        text = "" if told else json.dumps(data, sort_keys=True)
        digest = str(data["digest"]) if told else hashlib.sha256(text.encode()).hexdigest()
        with self._lock:
            known = self._kept.get(digest)
        if known is None and told:
            raise UnknownError("instance: its digest is not known here, send all of it")
        known = known or Known(digest, instance_of("instance", data), data, len(text))
        with self._lock:
            self._kept[digest] = known
            self._kept.move_to_end(digest)
            while len(self._kept) > 1 and (
                len(self._kept) > MOST_KEPT
                or sum(one.size for one in self._kept.values()) > MOST_BYTES
            ):
                self._kept.popitem(last=False)
        return known


class Desk:
    """Answers questions that take no time."""

    def __init__(self) -> None:
        self.instances = Instances()

    def rehearse(self) -> None:
        """Load what answers need, before the first question."""
        (example,) = decost.generate("people", nodes=6, seed=1, vehicles=2)
        data = instance_dict(example)
        orders: list[list[str | int]] = [[example.label(1)], [example.label(2)]]
        asked = {"instance": data, "orders": orders, "insert": example.label(3)}
        self.scene(SceneRequest.model_validate(asked))

    def stays(self, asked: StaysRequest) -> dict[str, Any]:
        """Answer as `decost stays --json` does."""
        known = self.instances.take(asked.instance)
        instance = known.instance
        orders = numbers_of(instance, orders_of("orders", asked.orders))
        broken = first_break(instance, orders)
        if broken is not None:
            return {"status": "broken", "broken": _told(instance, broken)}
        return _in_order(known, orders).to_dict()

    def check(self, asked: CheckRequest) -> dict[str, Any]:
        """Say whether a plan is feasible, and list what it breaks."""
        instance = self.instances.take(asked.instance).instance
        solution = solution_of("plan", asked.plan, instance)
        violations = decost.check(instance, solution)
        return {
            "feasible": not violations,
            "violations": [str(one) for one in violations],
            "profit": _number(decost.profit_of(instance, solution)),
        }

    def scene(self, asked: SceneRequest) -> dict[str, Any]:
        """Describe an order of stops, or a plan, as the page draws it."""
        known = self.instances.take(asked.instance)
        instance = known.instance
        if (asked.plan is None) == (asked.orders is None):
            raise FormatError("request: give one of orders and plan")
        breaks: list[Break] = []
        if asked.plan is not None:
            result = result_of(instance, asked.plan)
        else:
            orders = numbers_of(instance, orders_of("orders", asked.orders))
            if asked.insert is not None:
                orders = _with_stop(instance, orders, stop_number(instance, asked.insert))
            result, breaks = _as_far_as_possible(known, orders)
        return {
            "digest": known.digest,
            "result": None if breaks else result.to_dict(),
            "orders": [
                [instance.label(stop) for stop in route.stops] for route in result.solution.routes
            ],
            "vehicles": [one.id for one in instance.fleet],
            "labels": [instance.label(stop) for stop in range(1, instance.nodes)],
            "breaks": [_told(instance, one) | {"number": one.vehicle} for one in breaks],
            "scene": scene_of(result, asked.explanation),
        }

    def read(self, asked: FilesRequest) -> tuple[dict[str, Any], list[str]]:
        """Read an instance from files as the command line does; give it as JSON, and what is noted.

        A table of places without vehicles gets one.

        Raises
        ------
        FormatError
            If they are no instance; folders are not named.
        """
        with tempfile.TemporaryDirectory() as folder:
            paths = [_unpacked(Path(folder), file) for file in asked.files]
            try:
                with _noting() as notes:
                    found = _read(paths)
                return found, [note.replace(f"{folder}/", "")[:200] for note in notes[:3]]
            except ValueError as error:
                if not type(error).__module__.startswith("decost."):
                    raise
                faults = getattr(error, "faults", [str(error)])
                lines = [str(one).replace(f"{folder}/", "") for one in faults[:20]]
                raise FormatError("\n".join(lines)) from None


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _told(instance: Instance, broken: Break) -> dict[str, Any]:
    """Say where an order breaks, as the command line does."""
    return {
        "vehicle": instance.fleet[broken.vehicle].id,
        "position": broken.position,
        "stop": instance.label(broken.stop),
        "why": broken.why,
    }


def _in_order(known: Known, orders: Sequence[Sequence[int]]) -> Result:
    instance = known.instance
    result = replace(judged(instance, plan_in_order(instance, orders)), method="stays")
    if not instance.required.any():
        return result
    return with_reasons(result, lambda _: known.requirements)


def _as_far_as_possible(known: Known, orders: list[list[int]]) -> tuple[Result, list[Break]]:
    """Set the best times; where an order breaks, the shortest stays, and say where that is."""
    instance = known.instance
    found = decost.optimal_stays(instance, orders, vehicles=range(len(orders)))
    bad = np.flatnonzero(found.broken >= 0).tolist()
    if not bad:
        return _in_order(known, orders), []
    sound = [[] if vehicle in bad else order for vehicle, order in enumerate(orders)]
    routes = list(plan_in_order(instance, sound).routes)
    breaks = []
    for vehicle in bad:
        alone = [order if k == vehicle else [] for k, order in enumerate(orders)]
        broken = first_break(instance, alone)
        assert broken is not None
        breaks.append(broken)
        ways = _ways(instance, orders[vehicle], found.alternatives[vehicle].tolist())
        stays = instance.alternative_min_stay[ways]
        lists: list[list[int]] = [[] for _ in orders]
        lists[vehicle] = ways
        timed = make_solution(instance, lists, [stays if one else [] for one in lists])
        routes[vehicle] = timed.routes[vehicle]
    return judged(instance, Solution(tuple(routes))), breaks


def _ways(instance: Instance, order: list[int], chosen: list[int]) -> list[int]:
    """Take the alternatives that were chosen up to a break, and the first ones behind it."""
    first = instance.alternative_first
    for stop in order:
        if first[stop] == first[stop + 1]:
            label = instance.label(stop)
            raise OrderError(f"stop {label!r}: has no alternative by which it could be visited")
    known = [*chosen, *[0] * (len(order) - len(chosen))]
    return [int(first[stop]) + which for stop, which in zip(order, known, strict=True)]


def _with_stop(instance: Instance, orders: list[list[int]], stop: int) -> list[list[int]]:
    """Put a stop where the plan earns most with it.

    Raises
    ------
    OrderError
        If it fits nowhere.
    """
    if any(stop in order for order in orders):
        return orders
    tries = [
        (vehicle, [*order[:gap], stop, *order[gap:]])
        for vehicle, order in enumerate(orders)
        for gap in range(len(order) + 1)
    ]
    vehicles = [vehicle for vehicle, _ in tries]
    before = decost.optimal_stays(instance, orders, vehicles=range(len(orders))).profit[vehicles]
    gain = decost.optimal_stays(instance, [order for _, order in tries], vehicles=vehicles).profit
    gain = np.where(before > -np.inf, gain - np.where(before > -np.inf, before, 0), -np.inf)
    if not len(gain) or gain.max() == -np.inf:
        label = instance.label(stop)
        raise OrderError(f"stop {label!r}: fits nowhere between the visits as they are")
    vehicle, order = tries[int(gain.argmax())]
    return [order if k == vehicle else one for k, one in enumerate(orders)]


def _unpacked(folder: Path, file: NamedFile) -> Path:
    """Put a file into a folder, under a name that is no path."""
    name = re.sub(r"[^\w .()-]+", "_", file.name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    path = folder / (name[-100:] or "file")
    try:
        content = b64decode(file.content, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"request: files: {name}: content is not base64") from None
    if path.exists():
        raise FormatError(f"request: files: {name}: is there twice")
    path.write_bytes(content)
    return path


def _read(paths: list[Path]) -> dict[str, Any]:
    """Read one file, or a table of places with tables of vehicles and travel times beside it."""
    beside: dict[str, Any] = {}
    rest = []
    for path in paths:
        words = path.stem.lower()
        if len(paths) > 1 and re.search("vehicle|guide|driver|nurse|crew|fleet", words):
            beside["vehicles"] = path
        elif len(paths) > 1 and re.search("travel|matrix|distance", words):
            beside["travel"] = path
        else:
            rest.append(path)
    if len(rest) != 1:
        raise FormatError(
            "files: drop one instance; beside a table of places one whose name says vehicles, "
            "and one whose name says travel"
        )
    instances, is_set = read_any(
        rest[0], profit="fixed", truncate="auto", beside=Beside(**beside, assuming=True)
    )
    if is_set:
        raise FormatError(f"{rest[0]}: holds a set of {len(instances)} instances, not one")
    return instance_dict(instances[0])


@contextmanager
def _noting() -> Iterator[list[str]]:
    """Collect what is noted in this thread."""
    notes: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: record.thread == threading.get_ident())
    handler.emit = lambda record: notes.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("decost")
    logger.addHandler(handler)
    try:
        yield notes
    finally:
        logger.removeHandler(handler)


def list_examples() -> list[str]:
    """Names of the examples."""
    return [name for name in _EXAMPLE_NAMES if _example(name) is not None]


def read_example(name: str) -> dict[str, Any] | None:
    """Give an example as JSON, None if there is none of this name."""
    path = _example(name) if name in _EXAMPLE_NAMES else None
    return None if path is None else instance_dict(decost.read(path))


def _example(name: str) -> Path | None:
    paths = (folder / f"{name}.json" for folder in EXAMPLES)
    return next((path for path in paths if path.is_file()), None)


def name_of(data: Mapping[str, Any]) -> str:
    """Name of an instance, as its JSON has it."""
    return str(data.get("name") or "")[:200]
