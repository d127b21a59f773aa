"""Tests of how kernels are compiled, and kept."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from rich.console import Console

from decost import compiling
from decost.cli.progress import _shown
from decost.compiled import cache_folders, compile_with, drop_stale_code
from decost.compiling import NOTE, clock, listening, standstill

KERNEL = """
from numba import njit

@njit(cache=True)
def double(number):
    return 2 * number

double(1)
"""


@pytest.mark.parametrize("central", [False, True])
def test_stale_code_is_dropped(
    central: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code compiled before the last change of any source goes; later code and other files stay."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    if central:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "central"))
    one, two = tmp_path / "one", tmp_path / "two"
    ages = {one / "one.py": 10, two / "two.py": 20}
    caches = [cache_folders(one)[-1], cache_folders(two)[-1]]
    for cache in caches:
        ages |= {cache / "f.nbi": 15, cache / "f.nbc": 15, cache / "g.nbc": 25, cache / "f.pyc": 5}
    for path, age in ages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (age, age))
    drop_stale_code(one, two)
    for cache in caches:
        assert sorted(path.name for path in cache.iterdir()) == ["f.pyc", "g.nbc"]


@pytest.mark.parametrize("central", [False, True])
def test_numba_keeps_its_code_there(central: bool, tmp_path: Path) -> None:
    """The folders that are looked through are those in which numba puts the code of a source."""
    source = tmp_path / "sources" / "kernel.py"
    source.parent.mkdir()
    source.write_text(KERNEL)
    settings = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    settings.pop("NUMBA_CACHE_DIR", None)
    if central:
        settings["NUMBA_CACHE_DIR"] = str(tmp_path / "central")
    subprocess.run([sys.executable, source], env=settings, check=True, timeout=300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", settings)
        compiled = list(cache_folders(source.parent)[-1].glob("*.nbi"))
        assert len(compiled) == 1
        os.utime(source, (2e9, 2e9))
        drop_stale_code(source.parent)
    assert not compiled[0].exists()


DRAW = """
import sys
import numba

if sys.argv[1] == "newer":
    numba.version_info = numba.version_info._replace(short=(0, 999))
from decost.draws import draw, random_state

state = random_state(7)
print(type(draw).__name__, [draw(state) for _ in range(3)])
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_numba_that_is_not_known(tmp_path: Path) -> None:
    """With a newer numba, kernels are compiled in its own way, to the same effect."""
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", DRAW, which],
            env=settings,
            check=True,
            timeout=300,
            capture_output=True,
            text=True,
        ).stdout.split(maxsplit=1)
        for which in ("known", "newer")
    ]
    assert [name for name, _ in said] == ["Kernel", "CPUDispatcher"]
    assert said[0][1] == said[1][1]


LOOSE = """
import numpy as np
from decost.compiled import jit, lean
from decost.inference.rows import vectors

@lean
def least(one, other):
    return min(one, other) + 1.0

@vectors
def loose(numbers):
    return np.minimum(numbers, 1.0).sum() + least(numbers[0], 2.0) * numbers[1]

@jit
def strict(numbers):
    return np.minimum(numbers, 1.0).sum() + least(numbers[0], 2.0) * numbers[1]

for kernel in (loose, strict):
    kernel(np.ones(3))
    code = kernel.overloads[kernel.signatures[0]].library.get_llvm_str()
    print(any(word in code for word in ("fast ", "reassoc ", "nnan ", "ninf ")))
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_loose_arithmetic_stays_where_it_is(tmp_path: Path) -> None:
    """What a kernel with reordered sums calls is as exact as before for others, with infinities."""
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LOOSE]
    done = subprocess.run(
        command, env=settings, check=True, timeout=300, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout.split() == ["True", "False"]


CARRIED = """
import sys
from pathlib import Path
from types import SimpleNamespace

from decost import draws, kernel_cache
from decost.quick_compiling import Kernel

cache, kernel_cache.CARRIED = Path(sys.argv[1]), Path(sys.argv[2])
damaged = Path(sys.argv[3])
stamp, numba, python = kernel_cache.stamp(), kernel_cache.numba, kernel_cache.sys


def compiles(name, value):
    usual = getattr(kernel_cache, name)
    setattr(kernel_cache, name, value)
    before = set(cache.rglob("*"))
    state = draws.random_state(7)
    kernel = Kernel(draws.draw.py_func, nogil=True, error_model="numpy", _nrt=False)
    assert kernel(state) == draws.draw.py_func(draws.random_state(7))
    setattr(kernel_cache, name, usual)
    new = set(cache.rglob("*")) - before
    for path in new:
        if path.is_file():
            path.unlink()
    return bool(new)


other = SimpleNamespace(__version__="0.68.99", config=numba.config)
assert not compiles("stamp", lambda: stamp)
assert compiles("stamp", lambda: "other sources")
assert compiles("numba", other)
assert compiles("sys", SimpleNamespace(version_info=(3, 99)))
assert compiles("CARRIED", damaged)
compile_all = {**kernel_cache.os.environ, "DECOST_KERNELS": "compile"}
assert compiles("os", SimpleNamespace(environ=compile_all))
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_carried_code(tmp_path: Path) -> None:
    """Code that comes along is taken if it fits: sources, numba and Python, and is whole."""
    made, carried, damaged = (tmp_path / name for name in ("made", "carried", "damaged"))
    settings = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(made)}
    for name in ("DECOST_KERNELS", "NUMBA_CPU_FEATURES"):
        settings.pop(name, None)
    command = [sys.executable, "-c", DRAW, "known"]
    subprocess.run(command, env=settings, check=True, timeout=300, stdout=subprocess.DEVNULL)
    shutil.copytree(made / "decost", carried)
    shutil.copytree(made / "decost", damaged)
    for path in damaged.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-100])
    cache = tmp_path / "cache"
    del settings["NUMBA_CPU_NAME"]
    settings["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", CARRIED, str(cache), str(carried), str(damaged)]
    subprocess.run(command, env=settings, check=True, timeout=300)


def test_clock_stands_still() -> None:
    """Time in which kernels are compiled does not count, also if one calls another."""
    before = clock()
    with standstill(), standstill():
        time.sleep(0.05)
        assert clock() - before < 0.04
    assert clock() - before < 0.04
    time.sleep(0.05)
    assert clock() - before >= 0.05


def _inner(number: float) -> float:
    return number + 1.0


def _outer(number: float) -> float:
    return 2.0 * inner(number)


inner = compile_with(_inner)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels find nothing that was compiled before, as if it were the first time."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("DECOST_KERNELS", "compile")
    monkeypatch.setattr(compiling, "_done", 0)
    monkeypatch.setattr(compiling, "_wanted", 0)
    monkeypatch.setitem(globals(), "inner", compile_with(_inner))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_compiling_is_counted(empty_cache: None) -> None:
    """Who listens hears of each kernel, out of how many; of one that is kept, nobody hears."""
    news: list[tuple[int, int, str]] = []
    with listening(lambda *told: news.append(told)):
        assert compile_with(_outer)(3.0) == 8.0
        assert [(done, wanted) for done, wanted, _ in news] == [(0, 2), (1, 2), (2, 2)]
        assert [name.rpartition(".")[2] for _, _, name in news] == ["_outer", "_inner", "_outer"]
        assert compile_with(_outer)(3.0) == 8.0
    assert len(news) == 3


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_compiling_is_logged(empty_cache: None, caplog: pytest.LogCaptureFixture) -> None:
    """Where nobody listens, a line of the log says that something is compiled, once."""
    with caplog.at_level("WARNING", logger="decost"):
        for factor in (3, 3.0):  # two types, which are compiled one after the other
            assert compile_with(_outer)(factor) == 8.0
    assert [record.getMessage() for record in caplog.records] == [NOTE]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
def test_compiling_takes_no_time(empty_cache: None) -> None:
    """The clock of time limits stands still while a kernel is compiled."""
    before, begin = clock(), time.perf_counter()
    with listening(lambda *told: time.sleep(0.2)):
        compile_with(_outer)(3.0)
    seconds, counted = time.perf_counter() - begin, clock() - before
    assert seconds > 0.6
    assert counted < seconds - 0.5


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_shown(
    terminal: bool, empty_cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal a bar counts the kernels; elsewhere the command line says it in one line."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=100)
    with _shown(console), listening(lambda *told: time.sleep(0.5)):  # so that it can be seen
        compile_with(_outer)(3.0)
    assert ("1/2" in screen.getvalue()) == terminal
    assert capsys.readouterr().err == ("" if terminal else f"decost: {NOTE}\n")
