"""Tests of how kernels are compiled, and kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from decost.compiled import cache_folders, drop_stale_code
from decost.compiling import clock, standstill

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
    subprocess.run([sys.executable, source], env=settings, check=True, timeout=120)
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


def test_clock_stands_still() -> None:
    """Time in which kernels are compiled does not count, also if one calls another."""
    before = clock()
    with standstill(), standstill():
        time.sleep(0.05)
        assert clock() - before < 0.04
    assert clock() - before < 0.04
    time.sleep(0.05)
    assert clock() - before >= 0.05
