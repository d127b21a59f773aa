"""Tests of what is imported when: a quick start, and nothing heavy before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import decost

HEAVY = ("torch", "numba", "matplotlib", "highspy")


def run(code: str) -> str:
    """Run Python code in a fresh interpreter, and give what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def seconds(module: str) -> float:
    """Count the CPU time of an import in a fresh interpreter: the least of several, its own."""
    code = (
        "import time; begin = time.process_time()\n"
        f"import {module}\n"
        "print(time.process_time() - begin)"
    )
    return min(float(run(code)) for _ in range(3))


def test_import_is_quick() -> None:
    """To import decost takes less than 5 times as long as to import numpy."""
    assert seconds("decost") < 5 * seconds("numpy")


def test_nothing_heavy_is_imported() -> None:
    """Neither to import decost nor to ask for help needs a compiler, a network or a plot."""
    code = (
        "import sys, decost\n"
        "decost.Instance(budget=1, xy=[[0, 0]]).travel\n"
        "from decost.cli import app\n"
        "for words in ([], ['--help'], ['solve', '--help'], ['bench']):\n"
        "    app(words, standalone_mode=False)\n"
        "print('MODULES', *sys.modules)"
    )
    printed = run(code)
    modules = printed.rpartition("MODULES ")[2].split()
    assert "decost" in modules
    assert not {name.partition(".")[0] for name in modules} & set(HEAVY)


def test_methods_are_imported_one_by_one() -> None:
    """To solve by one method needs neither the others' libraries nor torch or matplotlib."""
    code = (
        "import sys, decost\n"
        "decost.solve(decost.Instance(budget=1, xy=[[0, 0]]), 'greedy')\n"
        "print(*sys.modules)"
    )
    modules = {name.partition(".")[0] for name in run(code).split()}
    assert not modules & {"torch", "matplotlib", "highspy"}


def test_public_names() -> None:
    """Every public name is there, listed, and found by `dir`; others are an error."""
    for name in decost.__all__:
        assert getattr(decost, name) is not None
    assert set(dir(decost)) == set(decost.__all__)
    assert set(decost._LAZY) == set(decost.__all__)
    with pytest.raises(AttributeError, match="module 'decost' has no attribute 'solv'"):
        _ = decost.solv


def test_version_is_the_packages() -> None:
    """The version in the code is the one of the package."""
    code = "from importlib.metadata import version; print(version('decost'))"
    assert run(code).strip() == decost.__version__


WITHOUT_TORCH = "import sys\nsys.modules['torch'] = None\nimport decost\n"


def test_plans_without_torch() -> None:
    """Without the extra `learn` every method plans, the learned ones with the shipped weights."""
    code = WITHOUT_TORCH + (
        "day = decost.Instance(budget=9, xy=[[0, 0], [1, 0]], rate=[0, 2], max_stay=[0, 2])\n"
        "for method in decost.list_methods():\n"
        "    print(method.name, decost.solve(day, method.name).profit)\n"
        "print(decost.solve(day, 'decost', weights='paper', samples=9).profit)\n"
        "(people,) = decost.generate('people', nodes=12, vehicles=2)\n"
        "plan = decost.solve(people, 'decost').solution\n"
        "print([one for one in decost.check(people, plan) if one.rule != 'required'])\n"
        "try:\n"
        "    decost.solve(day, 'decost', device='cuda')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    *plans, sampled, people, device = run(code).splitlines()
    profits = dict(line.split() for line in plans)
    assert {"decost", "pomo", "gfacs", "exact"} <= set(profits)
    assert 0 <= float(profits.pop("pomo")) <= 4  # its stays are the network's own
    assert set(profits.values()) == {"4.0"}
    assert (sampled, people) == ("4.0", "[]")
    assert device == "device = cuda: needs torch: pip install 'decost[learn]'"


def test_training_without_torch() -> None:
    """What cannot be done without it ends in one line that says what to install."""
    code = WITHOUT_TORCH + "sys.argv = ['decost', 'train']\nimport decost.cli as cli; cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'decost[learn]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
