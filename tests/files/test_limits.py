"""Tests of the limits on what is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from foreign_files import arrays, document, refusal

import decost
from decost import FormatError, Instance
from decost.files.door import read_solutions
from decost.files.limits import MAX_BYTES


@pytest.mark.parametrize("head", [b"", b"{", b"1 1 1 1\n"])
def test_huge_file(tmp_path: Path, head: bytes) -> None:
    """A file of gigabytes is refused without being read."""
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(2**33)
    with pytest.raises(FormatError, match=f"is larger than {MAX_BYTES} bytes"):
        decost.read(path)


def test_limits_of_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set may be larger than an instance, but each of its lines may not, and it has a limit."""
    line = json.dumps(document())
    monkeypatch.setattr("decost.files.limits.MAX_BYTES", len(line) + 1)
    monkeypatch.setattr("decost.files.limits.MAX_SET_BYTES", 5 * (len(line) + 1))
    path = tmp_path / "a"
    path.write_text(f"{line}\n" * 5)
    assert len(decost.read_set(path)) == 5
    assert refusal(path, f"{line}\n" * 6) == f"is larger than {5 * (len(line) + 1)} bytes"
    assert refusal(path, f"{line}\n{line} \n") == f"line 2: is larger than {len(line) + 1} bytes"
    assert refusal(path, f"{line}  ") == f"is larger than {len(line) + 1} bytes"
    plans = [json.dumps({"index": k, "routes": []}) for k in range(99)]
    path.write_text("\n".join(plans))
    with pytest.raises(FormatError, match=r"line \d+: the set is larger than"):
        read_solutions(path, [Instance(budget=1, xy=[[0, 0]])] * 99)


def test_many_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of very many small instances, which may be a small file, is refused as a whole."""
    monkeypatch.setattr("decost.files.limits.MAX_INSTANCES", 4)
    for count in (4, 5):
        many = decost.generate("paper", nodes=3, count=count)
        for ending in (".npz", ".jsonl", ".parquet"):
            path = tmp_path / f"{count}{ending}"
            decost.write(many, path)
            if count == 4:
                assert decost.read_set(path) == many
                continue
            with pytest.raises(FormatError, match=f"{ending}: holds more than 4 instances: make"):
                decost.read_set(path)


def test_packed_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that would unpack to a large one is refused before it is unpacked."""
    content = arrays(open=np.zeros((2, 500_000)))
    assert len(content) < 50_000
    monkeypatch.setattr("decost.files.limits.MAX_SET_BYTES", 10**6)
    monkeypatch.setattr("decost.files.limits.MAX_BYTES", 10**5)
    monkeypatch.setattr(np, "load", lambda *given, **options: pytest.fail("was unpacked"))
    message = refusal(tmp_path / "a.npz", content)
    assert "bytes unpacked, at most 1000000" in message


def test_what_could_not_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instance too large for a JSON file is refused by the writer, the old file kept."""
    (instance,) = decost.generate("paper", nodes=50)
    path = tmp_path / "a.json"
    path.write_text("old")
    monkeypatch.setattr("decost.files.limits.MAX_BYTES", 1000)
    with pytest.raises(FormatError, match=r"a\.json: is larger than 1000 bytes"):
        decost.write(instance, path)
    with pytest.raises(FormatError, match=r"a\.jsonl: instance 0: is larger than 1000 bytes"):
        decost.write([instance], path.with_suffix(".jsonl"))
    monkeypatch.undo()
    monkeypatch.setattr("decost.files.limits.MAX_COMMAS", 99)
    with pytest.raises(FormatError, match=r"a\.json: there are \d+ of ',', at most 99: write"):
        decost.write(instance, path)
    assert path.read_text() == "old"


HEAD = '{"format": "decost-instance", "version": 1, "budget": 1, "depot": {"x": 0, "y": 0}, '
LARGE: dict[str, tuple[str, str]] = {
    "stops": (
        HEAD + '"stops": [' + "{}," * 10**6 + "{}]}",
        "there are 1000003 of '{', at most 200000",
    ),
    "pieces": (
        HEAD + '"stops": [{"profit": [' + "[1,1]," * 10**6 + "[1,1]]}]}",
        "there are 1000003 of '[', at most 300000",
    ),
    "names": (
        "{" + ",".join(f'"{k}":0' for k in range(10**6 + 1)) + "}",
        "there are 1000001 of ':'",
    ),
    "numbers": (
        HEAD + '"stops": [], "travel": [[' + "0," * 10**6 + "0]]}",
        "a list has 1000001 values, at most 20000",
    ),
    "rows": (
        HEAD + '"stops": [], "travel": [' + ("[" + "0," * 79 + "0],") * 10**5 + "[]]}",
        "travel = list of 100001",
    ),
    "matrix": (
        HEAD + '"stops": [], "travel": [' + ("[" + "0," * 3999 + "0],") * 2300 + "[]]}",
        "there are 9200006 of ',', at most 9000000: write such a matrix to a .npz file",
    ),
    "brackets": ("[" * 10**7, "is no known format"),
    "newlines": ("\n" * 10**7, "is empty"),
    "blanks first": (" " * 10**7 + "a", "begins with 10000000 blanks"),
    "blanks": ("1 1 1 1\n" + " \n" * 10**7, "has no depot"),
    "words": ("1 1 1 1\n0 0\n" + "1 " * 10**7, "node 1: out of order, must be 0"),
}


@pytest.mark.parametrize("case", LARGE)
def test_too_much(tmp_path: Path, case: str) -> None:
    """What no instance can have, within the size of a file, is refused before time is lost."""
    content, message = LARGE[case]
    assert refusal(tmp_path / "a.json", content).startswith(message)


def test_long_rows_hide_nothing(tmp_path: Path) -> None:
    """Beside rows of a matrix, names given twice and broken JSON are found as without them."""
    row = str([0.5] * 500)
    path = tmp_path / "a.json"
    assert (
        refusal(path, f'{{"travel": [{row}], "name": "a", "name": "b"}}')
        == "'name': is given twice"
    )
    message = refusal(path, f'{{"travel": [\n{row}],\n"name" 1}}')
    assert message.startswith("line 3, column 8: broken JSON")


def test_empty_lines(tmp_path: Path) -> None:
    """A set may have empty lines, but not only those."""
    line = json.dumps(document())
    path = tmp_path / "a"
    path.write_text(line + "\n" * 1000 + line)
    assert len(decost.read_set(path)) == 2
    assert refusal(path, f"{line}\n{line}" + "\n" * 200_000) == "has more than 100000 empty lines"
