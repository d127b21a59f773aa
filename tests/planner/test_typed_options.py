"""Tests of the types of options: they name what methods take, and mypy finds what they do not."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import decost
from decost.planner.typed_options import MethodOptions, ReplanOptions, SetOptions, SolveOptions

MISSPELT = """
import decost
one = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1])
decost.solve(one, "search", iterations=3, time_limit=1.0, start=[[1]], progress=print)
decost.solve(one, "search", iteration=3)  # wrong: iteration
decost.solve(one, "search", iterations="x")  # wrong: iterations
decost.solve(one, time_limt=3)  # wrong: time_limt
decost.solve_many([one], "exact", memory_limit=1.0, seed=3)
decost.solve_many([one], "exact", memory=1.0)  # wrong: memory
decost.replan(one, decost.solve(one), now=3, tme_limit=3)  # wrong: tme_limit
"""


def test_types_name_what_methods_take() -> None:
    """The options of all methods are those that have a type."""
    taken = {name for method in decost.list_methods() for name in method.options.model_fields}
    of_all = {"seed", "time_limit"}
    assert set(SolveOptions.__annotations__) | set(MethodOptions.__annotations__) == taken - of_all
    for options in (SolveOptions, SetOptions, ReplanOptions):
        assert options.__optional_keys__ <= taken


def test_misspelt_options_fail_in_mypy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker of types finds the misspelt options, and nothing else."""
    api = pytest.importorskip("mypy.api")
    source = Path(decost.__file__).parents[1]
    monkeypatch.setenv("MYPYPATH", str(source))
    file = tmp_path / "some.py"
    file.write_text(MISSPELT)
    cache = source.parent / ".mypy_cache"
    words = [str(file), "--follow-imports=silent", "--no-error-summary", f"--cache-dir={cache}"]
    out, _, _ = api.run(words)
    lines = MISSPELT.splitlines()
    wrong = {k for k, line in enumerate(lines, 1) if "# wrong" in line}
    found = {int(k) for k in re.findall(r"some\.py:(\d+): error", out)}
    assert found == wrong, out
    for number in wrong:
        name = lines[number - 1].partition("# wrong: ")[2]
        assert re.search(rf'some\.py:{number}: error: .*"{name}"|some\.py:{number}.*"str"', out)


def test_a_plan_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Under the name decost there is a line for a plan, for whoever wants it."""
    instance = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1], name="walk")
    with caplog.at_level(logging.INFO, logger="decost"):
        result = decost.solve(instance, "greedy")
    assert ("decost", logging.INFO, f"walk: {result}") in caplog.record_tuples


def test_wrong_things(tmp_path: Path) -> None:
    """What is no instance is neither solved nor written, and it is said what would be."""
    instance = decost.Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1])
    plan = decost.solve(instance, "greedy").solution
    with pytest.raises(decost.MethodError, match="one Instance, not a list; solve_many takes"):
        decost.solve([instance])  # type: ignore[arg-type]
    with pytest.raises(decost.MethodError, match=r"; did you mean 'search'\?$"):
        decost.solve(instance, "serch")
    for thing, words in ((plan, "give the Result"), (5, "this int"), ([plan], "with a Solution")):
        with pytest.raises(decost.FormatError, match=words):
            decost.write(thing, tmp_path / "x.json")
