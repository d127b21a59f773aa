"""Tests of what a shell is told when it completes a command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import decost

WANTED = {
    "rep": "replan",
    "solve x.csv --repo": "--report",
    "solve --method gr": "greedy",
    "solve x.csv --method search --iter": "--iterations",
    "solve --method none --tra": "--travel",
}


def test_bash_completes(tmp_path: Path) -> None:
    """Bash, with what `--show-completion` gives it, knows commands, options and methods."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "decost"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m decost "$@"\n')
    program.chmod(0o755)
    source = str(Path(decost.__file__).parents[1])
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": source}
    script = 'eval "$(_DECOST_COMPLETE=source_bash decost)"\n' + "".join(
        f"COMP_WORDS=(decost {words}); COMP_CWORD={len(words.split())}\n"
        '_decost_completion decost; echo "${COMPREPLY[@]}"\n'
        for words in WANTED
    )
    done = subprocess.run(
        [bash, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout.splitlines(), done.stderr) == ([*WANTED.values()], "")
