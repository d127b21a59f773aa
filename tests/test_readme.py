"""The Python examples of the README and of the other pages run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import decost

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
    told = [line for line in done.stderr.splitlines() if not line.startswith("compiling kernels")]
    assert (done.returncode, told) == (0, [])


def spreadsheet_commands() -> list[str]:
    """Give the commands of the README that plan for a table of places without a server."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## From a spreadsheet to a page")[2].partition("\n## ")[0]
    lines = re.findall(r"^decost solve .*", section, flags=re.MULTILINE)
    return [line for line in lines if "valhalla:" not in line]


def test_from_a_spreadsheet_to_a_page(tmp_path: Path) -> None:
    """The commands of the README make of 30 places and two guides a plan, a page, a calendar.

    Both hotels are starts, the must-see is visited, and places with hours in two parts are in it.
    """
    commands = spreadsheet_commands()
    assert len(commands) == 2
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for line in commands:
        words = [*shlex.split(line)[1:], "--time-limit", "1"]
        words += ["--explain-time", "0.5"] if "--report" in words else []
        done = subprocess.run(
            [sys.executable, "-m", "decost", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "of 30 stops" in done.stdout
        assert "required: 1 of 1 are visited" in done.stdout
        for hotel in ("Hotel Stazione", "Hotel Ponte"):
            assert f"from {hotel}" in done.stdout
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    scene = json.loads(page.partition('id="scene">')[2].partition("</script>")[0])
    assert len(scene["stops"]) == 30
    assert len(scene["routes"]) == 2
    calendar = (tmp_path / "plan.ics").read_text(encoding="utf-8")
    assert calendar.count("BEGIN:VEVENT") == sum(" visit " in one for one in calendar.split("\n"))
    assert "DTSTART:20260504T" in calendar
    instance = decost.read(
        ROOT / "examples/data/trento.csv", vehicles=ROOT / "examples/data/trento_guides.csv"
    )
    assert (np.diff(instance.alternative_first)[1:] == 2).sum() >= 10
