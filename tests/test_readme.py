"""The Python examples of the README and of the other pages run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "docs/stays.md"]
"""Pages that must have examples; others may."""

for path in sorted((ROOT / "docs").glob("*.md")):
    page = path.relative_to(ROOT).as_posix()
    if page not in PAGES and "```python" in path.read_text(encoding="utf-8"):
        PAGES.append(page)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str) -> None:
    """All Python blocks, one after another as a reader would type them, run without a warning."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks, f"{page} has no Python example"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
