"""Tests that nothing is left to compile once a method is prepared."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

import decost

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")

SOLVE = """
import sys
import numpy as np
import decost
from decost import Instance


def compiled():
    return {
        (kernel.__module__, name): list(kernel.nopython_signatures)
        for module, content in list(sys.modules.items())
        if module.startswith("decost")
        for name, kernel in list(vars(content).items())
        if hasattr(kernel, "nopython_signatures") and not isinstance(kernel, type)
    }


def problems():
    random = np.random.default_rng(1)
    for family in ("paper", "free", "mixed", "rewards"):
        for plain in decost.generate(family, nodes=25, seed=3):
            must = np.arange(25) == 3
            yield from (plain, plain.replace(required=must))
            yield from (plain.replace(vehicles=2), plain.replace(vehicles=2, required=must))
    for vehicles in (1, 3):
        yield from decost.generate("people", nodes=20, vehicles=vehicles, seed=2)
    scores = random.integers(1, 9, 41)
    lengths = Instance(budget=3.0, xy=random.random((41, 2)), reward=scores)
    yield from (lengths, lengths.replace(vehicles=2))
    yield Instance(budget=20, travel=random.integers(1, 9, (41, 41)), reward=scores)
    yield from decost.generate("paper", nodes=150, window=1000, seed=1)
    yield Instance(budget=1, xy=[[0, 0]])
    for vehicles in (1, 2):
        yield from decost.generate("mixed", nodes=101, seed=3, vehicles=vehicles)


method = decost.prepare(sys.argv[1]).name
fields = decost.get_method(method).options.model_fields
options = {"time_limit": 0.3}
if "iterations" in fields:
    options = {"iterations": 3}  # as much as matters, however fast the machine is
before = compiled()
assert any(before.values())
if method == "columns":  # it is called late in a search, or never
    assert before["decost.exact.completion", "bounds_of"]
solved = 0
for instance in problems():
    begin = {}
    if instance.nodes > 100 and "start" in fields:
        begin = {"start": decost.make_solution(instance, [], [])}
    try:
        decost.solve(instance, method, **options, **begin)
        solved += 1
    except decost.MethodError:
        continue
    new = [name for name, types in compiled().items() if types != before.get(name, [])]
    assert not new, (instance, new)
assert solved > 7
"""


CALLED = """
import dis
import sys
from types import CodeType, FunctionType

import decost


def codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from codes(part)


def functions():
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("decost."):
            continue
        for value in list(vars(module).values()):
            some = list(vars(value).values()) if isinstance(value, type) else [value]
            for one in some:
                one = getattr(one, "__func__", None) or getattr(one, "fget", None) or one
                if isinstance(one, FunctionType) and one.__module__ == name:
                    yield one


for method in sys.argv[1:]:
    decost.prepare(method)
called = {}
for function in functions():
    for code in codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname != "LOAD_GLOBAL":
                continue
            kernel = function.__globals__.get(step.argval)
            if hasattr(kernel, "nopython_signatures") and not isinstance(kernel, type):
                called[kernel] = f"{kernel.__name__}, called by {function.__qualname__}"
assert len(called) > 20, called
print(*sorted(where for kernel, where in called.items() if not kernel.overloads), sep="\\n")
"""

NOT_FOR_PLANS = ["values_after, called by values_to_go"]
"""What nobody needs who plans: trainings and researchers do."""


@pytest.mark.parametrize(
    "names", [["auto"], [method.name for method in decost.list_methods()]], ids=["auto", "all"]
)
def test_every_kernel_is_prepared(names: list[str]) -> None:
    """Once a method is prepared, each kernel that anybody calls from Python has been called.

    Whether a plan needs it or not: some only serve what takes long to solve.
    """
    command = [sys.executable, "-c", CALLED, *names]
    done = subprocess.run(command, check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines() == NOT_FOR_PLANS


@pytest.mark.parametrize("name", [method.name for method in decost.list_methods()])
def test_nothing_is_left_to_compile(name: str) -> None:
    """A method that is prepared compiles and loads no kernel for any problem that it can solve."""
    command = [sys.executable, "-c", SOLVE, name]
    subprocess.run(command, check=True, timeout=600)
