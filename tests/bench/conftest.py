"""What the tests of benches share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest

from decost import cli

Bench: TypeAlias = Callable[..., tuple[int, str, str]]
"""Calls `decost bench`: exit code, what was printed, and what was complained about."""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Call `decost bench` in this process."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["decost", "bench", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert isinstance(caught.value.code, int)
        return caught.value.code, *capsys.readouterr()

    return call
