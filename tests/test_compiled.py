"""Test of the care for compiled code that a change elsewhere has made wrong."""

from __future__ import annotations

import os
from pathlib import Path

from decost.compiled import drop_stale_code


def test_stale_code_is_dropped(tmp_path: Path) -> None:
    """Code compiled before the last change of any source goes; later code and other files stay."""
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    ages = {
        "one.py": 10,
        "two.py": 20,
        "__pycache__/one.f.nbi": 15,
        "__pycache__/one.f.nbc": 15,
        "__pycache__/two.g.nbc": 25,
        "__pycache__/one.pyc": 5,
    }
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    drop_stale_code([tmp_path])
    assert sorted(path.name for path in cache.iterdir()) == ["one.pyc", "two.g.nbc"]
