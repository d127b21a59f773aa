"""Plan visits when how long you stay decides what you earn."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.cluster.parts import solve_parts
    from decost.exact.exact import values_to_go
    from decost.files.door import read, read_set, read_solution, write
    from decost.files.frames import from_frame
    from decost.files.limits import FormatError
    from decost.files.parts import read_parts, write_parts
    from decost.method.options import ImprovingOptions, Method, MethodError, Options
    from decost.method.progress import Progress
    from decost.method.result import Failure, Result
    from decost.method.summary import Summary
    from decost.planner.door import (
        Interrupted,
        get_method,
        list_methods,
        prepare,
        register,
        solve,
        solve_each,
        solve_many,
    )
    from decost.planner.executors import UnfinishedError
    from decost.planner.replanning import replan
    from decost.problem.checker import Violation, check, profit_of
    from decost.problem.generators import generate, generate_part
    from decost.problem.instance import TOLERANCE, Instance, InstanceError
    from decost.problem.plan import Route, Solution, Visit, make_solution
    from decost.problem.records import Alternative, Place, Stop, Vehicle
    from decost.show.plan import plot_plan
    from decost.streets.streets import Streets
    from decost.timeline.routes import Stays, optimal_stays

__version__ = "0.2.0"

# Imported when first used, so that `import decost` costs nothing and Ctrl-C finds it prepared.
_LAZY = {
    "TOLERANCE": "problem.instance",
    "Alternative": "problem.records",
    "Failure": "method.result",
    "FormatError": "files.limits",
    "ImprovingOptions": "method.options",
    "Instance": "problem.instance",
    "InstanceError": "problem.instance",
    "Interrupted": "planner.door",
    "Method": "method.options",
    "MethodError": "method.options",
    "Options": "method.options",
    "Place": "problem.records",
    "Progress": "method.progress",
    "Result": "method.result",
    "Route": "problem.plan",
    "Solution": "problem.plan",
    "Stays": "timeline.routes",
    "Stop": "problem.records",
    "Streets": "streets.streets",
    "Summary": "method.summary",
    "UnfinishedError": "planner.executors",
    "Vehicle": "problem.records",
    "Violation": "problem.checker",
    "Visit": "problem.plan",
    "check": "problem.checker",
    "from_frame": "files.frames",
    "generate": "problem.generators",
    "generate_part": "problem.generators",
    "get_method": "planner.door",
    "list_methods": "planner.door",
    "make_solution": "problem.plan",
    "optimal_stays": "timeline.routes",
    "plot_plan": "show.plan",
    "prepare": "planner.door",
    "profit_of": "problem.checker",
    "read": "files.door",
    "read_parts": "files.parts",
    "read_set": "files.door",
    "read_solution": "files.door",
    "register": "planner.door",
    "replan": "planner.replanning",
    "solve": "planner.door",
    "solve_each": "planner.door",
    "solve_many": "planner.door",
    "solve_parts": "cluster.parts",
    "values_to_go": "exact.exact",
    "write": "files.door",
    "write_parts": "files.parts",
}

__all__ = [
    "TOLERANCE",
    "Alternative",
    "Failure",
    "FormatError",
    "ImprovingOptions",
    "Instance",
    "InstanceError",
    "Interrupted",
    "Method",
    "MethodError",
    "Options",
    "Place",
    "Progress",
    "Result",
    "Route",
    "Solution",
    "Stays",
    "Stop",
    "Streets",
    "Summary",
    "UnfinishedError",
    "Vehicle",
    "Violation",
    "Visit",
    "check",
    "from_frame",
    "generate",
    "generate_part",
    "get_method",
    "list_methods",
    "make_solution",
    "optimal_stays",
    "plot_plan",
    "prepare",
    "profit_of",
    "read",
    "read_parts",
    "read_set",
    "read_solution",
    "register",
    "replan",
    "solve",
    "solve_each",
    "solve_many",
    "solve_parts",
    "values_to_go",
    "write",
    "write_parts",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'decost' has no attribute {name!r}")
    value = getattr(import_module(f"decost.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
