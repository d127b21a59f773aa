"""Tests of `decost methods`."""

from __future__ import annotations

import decost
from command_line import Call
from decost.method.features import FEATURES


def test_table(call: Call) -> None:
    """`decost methods` shows all methods with all features, as they say themselves."""
    lines = call("methods").out.splitlines()
    first = lines.index("What they can plan for:") + 2
    methods = decost.list_methods()
    assert lines[first].startswith("method ")
    for method, line in zip(methods, lines[first + 1 :], strict=False):
        name, *cells = line.split()
        assert name == method.name
        assert cells == ["yes" if one in method.can else "no" for one in FEATURES]
    assert lines[first + 1 + len(methods)] == ""
