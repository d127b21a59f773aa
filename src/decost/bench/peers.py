"""Peers: other people's planners on the same files, on the same core, for the same seconds.

PyVRP, OR-Tools and VRPSolverEasy plan for fixed stays, as `decost.bench.peer_planners` models them,
and their routes are checked as ours are. Files are a fixed fifth of each class: KU Leuven's for
one and for two vehicles (in the folder `optw` of the data), and OPLib's (in `op`). A file of
published values (columns instance, best and ea4op) adds what the genetic algorithm EA4OP reaches on
OPLib's, in seconds of its own machine. The tables are those of `decost bench rivals`: mean losses
against the best plan that is known, and pairs. To compare fairly, let the command have one core
(`taskset -c 0`), since `auto` has two threads.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import cache, partial
from multiprocessing import TimeoutError as Timeout
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

import decost
from decost import Instance, Result
from decost.bench import BenchError
from decost.bench.contender import Contender
from decost.bench.instances import file_names
from decost.bench.measure import Measured, measure, row_of
from decost.bench.peer_planners import PEERS, Answer, plan, require_library, whole_problem
from decost.bench.rivals import compared, losses_of, paired
from decost.bench.schema import Bench, Config, Folders, Key, Row, Tables, Task
from decost.method.result import Status

FIFTH = {
    "OPTW c1": ("c102", "c107"),
    "OPTW r1": ("r103", "r108"),
    "OPTW rc1": ("rc103", "rc108"),
    "OPTW c2": ("c202", "c207"),
    "OPTW r2": ("r203", "r208"),
    "OPTW rc2": ("rc203", "rc208"),
    "OPTW pr": ("pr03", "pr08"),
    "TOPTW x2 c1 r1 rc1": ("c103", "c108", "r104", "r109", "rc104", "rc107"),
    "TOPTW x2 pr": ("pr02", "pr07"),
    "OP to 100 nodes": ("eil51", "st70", "rat99", "kroC100"),
    "OP to 400 nodes": ("eil101", "pr136", "kroB200", "gil262", "lin318"),
}
"""The files of each family: about every fifth that there is."""

GRACE = 20.0
"""Seconds after its limit that a planner is waited for; VRPSolverEasy may forget its own."""

EA4OP = Contender.of("ea4op")
"""A genetic algorithm that is not run here."""


class PeersConfig(Config):
    """The limit in seconds, and a file of what is published of OPLib's.

    Only families whose name holds one of some words are taken, if there are such words.
    """

    selecting = Config.selecting | {"time_limit", "families", "published"}

    time_limit: float = 5.0
    families: tuple[str, ...] = ()
    published: Path | None = None


def list_tasks(config: PeersConfig, folders: Folders) -> list[Task]:
    """List every file with all planners, one after the other."""
    tasks = []
    planners = [one.having(time_limit=config.time_limit) for one in config.methods]
    for one in planners:
        if one.method in PEERS:
            require_library(one.method)
    for family, path, vehicles in files_of(config, folders.data or Path()):
        name = file_names([path])[0]
        keys = tuple(Key(family, name, one) for one in planners)
        work = partial(_measure, path, vehicles, planners)
        tasks.append(Task(keys, work, Measured, config.time_limit * len(planners)))
    if not tasks:
        raise BenchError(f"--families {','.join(config.families)}: no name of one holds that")
    return tasks


def files_of(config: PeersConfig, folder: Path) -> Iterator[tuple[str, Path, int]]:
    """List families, files and numbers of vehicles.

    Raises
    ------
    BenchError
        If a file is not there.
    """
    for family, names in FIFTH.items():
        if config.families and not any(word in family for word in config.families):
            continue
        for name in names:
            place = f"op/{name}.oplib" if family.startswith("OP ") else f"optw/{name}.txt"
            path = folder / place
            if not path.is_file():
                raise BenchError(f"data {path}: there is no such file")
            yield family, path, 2 if "x2" in family else 1


def _measure(path: Path, vehicles: int, planners: Sequence[Contender]) -> list[Row]:
    instance = decost.read(path)
    if instance.vehicles != vehicles:
        instance = decost.read(path, vehicles=vehicles)
    return [
        measure_peer(one, instance) if one.method in PEERS else measure(one, instance).row
        for one in planners
    ]


def measure_peer(contender: Contender, instance: Instance) -> Row:
    """Let another planner plan, and measure that; its routes get their times from us.

    It has a process of its own: OR-Tools brings another version of HiGHS than ours. A planner that
    dies, or does not end long after its time, has found no plan.
    """
    seconds = float(contender.get("time_limit") or 0)
    problem = whole_problem(instance)
    planning = _process(contender.method).apply_async(plan, (contender.method, problem, seconds))
    try:
        answer, took = planning.get(seconds + GRACE)
    except Timeout:
        _process(contender.method).terminate()
        _process.cache_clear()
        answer, took = Answer([]), seconds + GRACE
    routes = [route for route in answer.routes if route]
    best = decost.optimal_stays(instance, routes)
    solution = decost.make_solution(instance, routes, best.stays)
    status: Status = "optimal" if answer.proven and problem.exact else "feasible"
    return row_of(Result(instance, solution, status), contender, seconds=took)


@cache
def _process(peer: str) -> Pool:
    """Start the process of a planner, which is kept for its next plans."""
    return get_context("spawn").Pool(1)


def published_rows(config: PeersConfig, rows: Sequence[Row]) -> list[Row]:
    """Make rows of what is published on the files in some rows: the best, and EA4OP's."""
    if config.published is None:
        return []
    with config.published.open(newline="", encoding="utf-8") as file:
        known = {row["instance"]: row for row in csv.DictReader(file)}
    found = []
    for setting, instance in dict.fromkeys((row["setting"], row["instance"]) for row in rows):
        name = instance.split()[0]
        if setting.startswith("OP ") and name in known:
            for column, contender in (
                ("best", Contender.of("published")),
                ("ea4op", EA4OP.having(time_limit=config.time_limit)),
            ):
                try:
                    profit = float(known[name][column])
                except (KeyError, ValueError) as error:
                    where = f"--published {config.published}: {name}"
                    raise BenchError(f"{where}: {error}") from None
                found.append(
                    {
                        "setting": setting,
                        "instance": instance,
                        "contender": contender,
                        "profit": profit,
                        "status": "",
                    }
                )
    return found


def summarise(config: PeersConfig, rows: Sequence[Row]) -> Tables:
    """Compare planners by family, and in pairs; list all plans."""
    published = published_rows(config, rows)
    losses = losses_of([*rows, *published], config.time_limit)
    methods = [*config.methods, *([EA4OP] if published else [])]
    proven = {(row["setting"], row["instance"]) for row in rows if row["status"] == "optimal"}
    return {
        "": compared(losses, methods, proven),
        "pairs": paired(losses, methods),
        "files": [
            {
                "family": row["setting"],
                "file": row["instance"].split()[0],
                "planner": str(row["contender"].without("time_limit")),
                "profit": f"{row['profit']:g}",
                "proven": "yes" if row["status"] == "optimal" else "",
                "seconds": f"{row['seconds']:.2f}",
            }
            for row in rows
        ],
    }


BENCH = Bench.load(
    "peers",
    __doc__,
    PeersConfig,
    list_tasks,
    summarise,
    data="KU Leuven's files in optw/ and OPLib's in op/",
)
