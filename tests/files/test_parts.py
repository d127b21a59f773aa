"""Tests of sets of Parquet: what is written is read again, in parts, and damage is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decost
from decost import FormatError, Instance
from decost.files import parts as parts_module
from decost.files.parquet import plan_rows, write_plans
from decost.files.parts import list_parts, write_generated
from decost.files.sets import digest_of
from decost.method.options import Options
from decost.problem import generators
from decost.problem.generators import PART


def digest(instances: list[Instance]) -> str:
    """Digest all fields of some instances."""
    return digest_of(instances, "", Options())


def together(path: Path) -> list[Instance]:
    """Read a set part by part."""
    return [one for some in decost.read_parts(path) for one in some]


@pytest.mark.parametrize(("family", "vehicles"), [("paper", 1), ("mixed", 3), ("people", 2)])
def test_a_set_comes_back_as_it_was(tmp_path: Path, family: str, vehicles: int) -> None:
    """A file and a folder of parts hold every field of every instance, of different sizes too."""
    instances = decost.generate(family, nodes=9, count=4, seed=3, vehicles=vehicles)
    instances += decost.generate(family, nodes=6, count=3, seed=4, vehicles=vehicles)
    decost.write(instances, tmp_path / "set.parquet")
    assert decost.write_parts(iter(instances), tmp_path / "parts", size=3) == 7
    assert [part.count for part in list_parts(tmp_path / "parts")] == [3, 3, 1]
    for path in (tmp_path / "set.parquet", tmp_path / "parts"):
        assert digest(decost.read_set(path)) == digest(together(path)) == digest(instances)
    assert not list(tmp_path.glob("*.part"))


def test_a_file_of_somebody_else(tmp_path: Path) -> None:
    """Lists of different lengths, float32 and further columns are read; null is left out."""
    columns = {
        "xy": [[[0, 0], [3, 4]], [[0, 0], [1, 0], [2, 0]]],
        "budget": [20, 10],
        "open": [[0, 6], None],
        "reward": [[0, 5], [0, 1, 2]],
        "remark": ["a", "b"],
    }
    lists = pa.list_(pa.float32())
    kinds = {"xy": pa.list_(lists), "budget": pa.int32(), "open": lists, "reward": lists}
    arrays = {name: pa.array(values, kinds.get(name)) for name, values in columns.items()}
    del arrays["open"]
    pq.write_table(pa.table(arrays), tmp_path / "theirs.parquet", row_group_size=1)
    assert len(list_parts(tmp_path / "theirs.parquet")) == 2
    pq.write_table(pa.table(arrays), tmp_path / "one.parquet")
    for name in ("theirs.parquet", "one.parquet"):
        first, second = decost.read_set(tmp_path / name)
        assert (first.nodes, second.nodes) == (2, 3)
        assert first.travel_of(0)[0, 1] == 5.0
        assert second.reward.tolist() == [0.0, 1.0, 2.0]


def test_plans_come_back_as_they_were(tmp_path: Path) -> None:
    """Plans of both versions, with required stops or without, and failures are as in JSON."""
    plain = decost.generate("paper", nodes=8, window=300, count=2)
    named = [one.replace(ids=[f"s{k}" for k in range(one.stops)]) for one in plain]
    people = decost.generate("people", nodes=6, count=2, vehicles=2)
    required = [plain[0].replace(required=np.arange(8) == 1)]
    outcomes = decost.solve_many([*plain, *named, *people, *required], "greedy", on_error="row")
    outcomes += decost.solve_many(people[:1], "exact", on_error="row")
    rows = [{"index": k} | outcome.to_dict() for k, outcome in enumerate(outcomes)]
    assert {row["status"] for row in rows} >= {"failed", "feasible"}
    summary = write_plans(tmp_path / "plans.parquet", [rows[:3], rows[3:]], {})
    assert json.dumps(list(plan_rows(tmp_path / "plans.parquet"))) == json.dumps(rows)
    assert (summary.instances, summary.failed) == (8, 1)
    profits = pq.read_table(tmp_path / "plans.parquet").column("profit").to_pylist()
    assert profits == [row.get("profit") for row in rows]


def test_a_large_set_is_made_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each 10,000 depend on the seed and their number alone, and are what `generate` gives."""
    assert PART == 10_000
    for module in (generators, parts_module):
        monkeypatch.setattr(module, "PART", 50)
    given = {"nodes": 4, "window": 100.0, "count": 53, "seed": 5, "budget": 3.0, "vehicles": 1}
    whole = decost.generate("paper", **given)
    for _ in write_generated(tmp_path / "parts", "paper", **given):
        pass
    assert digest(together(tmp_path / "parts")) == digest(whole)
    last = decost.generate_part("paper", 1, **given)
    assert digest(last) == digest(whole[50:])
    assert [one.name for one in last] == [f"paper-n4-tw100-s5-{50 + k}" for k in range(3)]
    assert len({one.xy.tobytes() for one in whole if one.xy is not None}) == 53

    second = tmp_path / "parts" / "part-00001.parquet"
    before = second.read_bytes()
    second.unlink()
    with pytest.raises(FormatError, match="holds 50 instances of a set that has 53"):
        together(tmp_path / "parts")
    news = list(write_generated(tmp_path / "parts", "paper", **given))
    assert news == [(50, 50), (53, 50)]
    assert second.read_bytes() == before
    with pytest.raises(FormatError, match=r"part-00000.parquet: is of another run"):
        list(write_generated(tmp_path / "parts", "paper", **(given | {"seed": 6})))
    mixed = decost.generate("mixed", nodes=4, count=51, seed=5)
    assert digest(decost.generate("mixed", nodes=4, count=2, seed=5)) == digest(mixed[:2])


def test_what_cannot_be_made_again_stays(tmp_path: Path) -> None:
    """--restart takes parts of a run only if all that is there are such parts."""
    plans = tmp_path / "plans"
    instances = decost.generate("paper", nodes=5, count=4)
    decost.write_parts(instances, tmp_path / "set", size=2)
    decost.solve_parts(tmp_path / "set", plans, "greedy")
    decost.solve_parts(tmp_path / "set", plans / "whole.parquet", "greedy")
    for restart in (False, True):
        with pytest.raises(FormatError, match=r"whole.parquet: is in the way: no part of a set"):
            decost.solve_parts(tmp_path / "set", plans, "greedy", restart=restart)
    (plans / "whole.parquet").write_text("not of ours")
    with pytest.raises(FormatError, match=r"whole.parquet: is torn, or no Parquet file"):
        decost.solve_parts(tmp_path / "set", plans, "greedy", restart=True)
    assert len(list(plans.iterdir())) == 3
    for restart in (False, True):
        with pytest.raises(FormatError, match=r"part-00000.parquet: is in the way: no part of a"):
            list(write_generated(tmp_path / "set", "paper", restart=restart, count=2))
    assert digest(together(tmp_path / "set")) == digest(instances)
    with pytest.raises(FormatError, match="would be taken for some"):
        decost.solve_parts(tmp_path / "set", tmp_path / "set" / "plans.parquet", "greedy")


@pytest.mark.parametrize("name", ["parts", "parts.parquet"])
def test_a_set_that_is_not_whole(tmp_path: Path, name: str) -> None:
    """Instances that end in an error leave nothing; a set without some part is seen to be none."""
    instances = decost.generate("paper", nodes=5, count=5)

    def ending() -> Iterator[Instance]:
        yield from instances
        raise RuntimeError("no more")

    path = tmp_path / name
    with pytest.raises(RuntimeError, match="no more"):
        decost.write_parts(ending(), path, size=2)
    assert not list(tmp_path.rglob("*.parquet"))
    assert decost.write_parts(instances, path, size=2) == 5
    assert digest(together(path)) == digest(instances)
    for k in range(3 if path.is_dir() else 0):
        part = path / f"part-{k:05d}.parquet"
        part.rename(tmp_path / "away")
        with pytest.raises(FormatError, match=r"parts: holds \d instances of a set that has"):
            together(path)
        (tmp_path / "away").rename(part)
    for given in ({"count": 0}, {"count": 3, "nodes": 0}):
        with pytest.raises(ValueError, match="= 0: "):
            list(write_generated(tmp_path / "none", "paper", **given))
    assert not (tmp_path / "none").exists()


def test_damage_is_named(tmp_path: Path) -> None:
    """A torn part, a changed byte, a part of another set, plans and an empty folder are refused."""
    instances = decost.generate("paper", nodes=6, count=4)
    parts = tmp_path / "parts"
    decost.write_parts(instances, parts, size=2)
    first, second = (parts / f"part-{k:05d}.parquet" for k in range(2))
    whole = second.read_bytes()
    second.write_bytes(whole[:-40])
    with pytest.raises(FormatError, match=r"part-00001.parquet: is torn, or no Parquet file"):
        together(parts)
    second.write_bytes(whole)
    column = pq.ParquetFile(second).metadata.row_group(0).column(0)
    changed = bytearray(whole)
    changed[column.data_page_offset + column.total_compressed_size - 1] ^= 1  # of its values
    second.write_bytes(changed)
    with pytest.raises(FormatError, match=r"part-00001.parquet: is torn"):
        together(parts)
    second.unlink()
    list(write_generated(tmp_path / "made", "paper", nodes=6, count=2, seed=1))
    (tmp_path / "made" / "part-00000.parquet").rename(second)
    with pytest.raises(FormatError, match=r"part-00001.parquet: is of another set than part-00000"):
        together(parts)
    rows = [{"index": 0} | decost.solve(instances[0], "greedy").to_dict()]
    write_plans(second, [rows], {})
    with pytest.raises(FormatError, match=r"part-00001.parquet: holds plans, not instances"):
        together(parts)
    second.unlink()
    first.unlink()
    with pytest.raises(FormatError, match=r"parts: holds no instance in .parquet files"):
        together(parts)
