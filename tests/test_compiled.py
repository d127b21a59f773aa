"""Test of the care for compiled code that a change elsewhere has made wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from decost.compiled import cache_folders, drop_stale_code

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
