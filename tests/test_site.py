"""Tests of the documentation as a site."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import decost

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_is_described() -> None:
    """The page about Python has all that `import decost` gives."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    described = re.findall(r"^::: decost\.[\w.]+\.(\w+)$", page, flags=re.MULTILINE)
    assert sorted(described) == sorted(decost.__all__)


def test_site_is_built(tmp_path: Path) -> None:
    """All pages are in the navigation, and no link or name of the site leads nowhere."""
    pytest.importorskip("mkdocstrings", reason="there is no mkdocs with mkdocstrings")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    start = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="examples/data/trento.csv"' in start
    assert 'src="report.png"' in start
    assert (
        "A feasible plan, the empty one at worst." in (tmp_path / "api" / "index.html").read_text()
    )
