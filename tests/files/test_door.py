"""Tests of reading and writing: nothing is lost on the way, and no file does harm."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import LEUVEN, SOLOMON, TRIP, UNKNOWN, arrays, document, pack, refusal, town
from hypothesis import given
from hypothesis import strategies as st

import decost
from decost import FormatError, Instance
from decost.problem.records import Stop, Vehicle
from decost.problem.versions import version_of
from oracle import tiny_instance
from strategies import instances


@given(instances())
def test_json_round_trip(tmp_path: Path, instance: Instance) -> None:
    """Written as JSON and read again, an instance is the same to the last bit."""
    decost.write(instance, tmp_path / "a.json")
    assert decost.read(tmp_path / "a.json") == instance


@pytest.mark.parametrize("ending", [".jsonl", ".npz"])
@given(many=st.lists(instances(), min_size=1, max_size=4))
def test_set_round_trip(tmp_path: Path, ending: str, many: list[Instance]) -> None:
    """So is a set of instances that differ in size and in every feature."""
    path = tmp_path / f"a{ending}"
    decost.write(many, path)
    assert decost.read_set(path) == many
    decost.write(many[0], path)
    assert decost.read_set(path) == many[:1]


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".npz"])
def test_general_round_trip(tmp_path: Path, ending: str) -> None:
    """So are instances with any mixture of alternatives, vehicles and places of their own."""
    random = np.random.default_rng(7)
    path = tmp_path / f"a{ending}"
    versions = set()
    for _ in range(60):
        many = [tiny_instance(random) for _ in range(1 if ending == ".json" else 4)]
        if ending == ".npz":
            many = [one for one in many if not one.profiles] or many[:0]
        if many:
            decost.write(many[0] if ending == ".json" else many, path)
            assert decost.read_set(path) == many
        versions |= {version_of(one) for one in many}
    assert versions == {1, 2}


def test_people_round_trip(tmp_path: Path) -> None:
    """So is the family of people, which is made of all that there is."""
    many = decost.generate("people", nodes=12, vehicles=3, count=4, seed=1)
    for ending in (".jsonl", ".npz"):
        decost.write(many, tmp_path / f"a{ending}")
        assert decost.read_set(tmp_path / f"a{ending}") == many


def test_what_a_format_cannot_hold(tmp_path: Path) -> None:
    """Several matrices by name are refused by `.npz`, and the field is named."""
    both = {"foot": np.ones((2, 2)), "bike": np.ones((2, 2))}
    instance = Instance.build(
        budget=9, stops=[Stop()], vehicles=[Vehicle(profile="foot")], travel=both
    )
    path = tmp_path / "a.npz"
    with pytest.raises(FormatError) as caught:
        decost.write([instance], path)
    message = f"{path}: instance 0: travel: has the names foot, bike, and .npz holds one matrix"
    assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".jsonl", ".npz"])
@pytest.mark.parametrize("family", ["paper", "mixed"])
def test_generated_sets_round_trip(tmp_path: Path, ending: str, family: str) -> None:
    """So are generated sets of both families, of different sizes and for teams."""
    many = [
        instance
        for nodes, vehicles in ((1, 1), (12, 3), (30, 1))
        for instance in decost.generate(family, nodes=nodes, count=8, vehicles=vehicles)
    ]
    decost.write(many, tmp_path / f"a{ending}")
    assert decost.read_set(tmp_path / f"a{ending}") == many


def test_extremes_round_trip(tmp_path: Path) -> None:
    """So are the largest and smallest numbers, and whole ones beyond 2^53."""
    instance = Instance(
        budget=1.7e308,
        travel=[[0, 5e-324], [2**53 + 2, 0.1]],
        open=[0, -1e308],
        rate=[0, 1e-300],
        max_stay=[0, 1e300],
    )
    for name in ("a.json", "a.npz", "a.jsonl"):
        decost.write(instance, tmp_path / name)
        assert decost.read_set(tmp_path / name) == [instance]


@pytest.mark.parametrize("name", ["a.json", "a.npz", "a.txt", "a", "a.jsonl"])
def test_content_decides(tmp_path: Path, name: str) -> None:
    """Whatever its ending, a file is read as what it is."""
    path = tmp_path / name
    (expected,) = decost.generate("mixed", nodes=5)
    others = decost.generate("paper", nodes=4, count=3)
    for ending, thing in ((".json", [expected]), (".npz", others), (".jsonl", others)):
        decost.write(thing[0] if ending == ".json" else thing, tmp_path / f"source{ending}")
        (tmp_path / f"source{ending}").replace(path)
        assert decost.read_set(path) == thing
    for text in (SOLOMON, LEUVEN, TRIP):
        path.write_text(text)
        assert decost.read(path).stops == 2


def test_one_line(tmp_path: Path) -> None:
    """A single line of JSON is an instance, or in a `.jsonl` file a set of one."""
    line = json.dumps(document()) + "\n"
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(line)
    assert decost.read(tmp_path / "a.json").stops == 1
    with pytest.raises(FormatError, match="holds a set of 1 instances: use read_set"):
        decost.read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n", " \r\n\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, ends: str, mark: str) -> None:
    """Files that went through other systems are read all the same."""
    for text, stops in ((json.dumps(document(), indent=1), 1), (SOLOMON, 2), (LEUVEN, 2)):
        lines = [line for line in text.splitlines() if line.strip()]
        (tmp_path / "a").write_bytes((mark + ends.join(lines) + ends).encode())
        assert decost.read(tmp_path / "a").stops == stops
    lines = [json.dumps(document()), json.dumps(document(budget=20))]
    (tmp_path / "a").write_bytes((mark + ends.join(lines) + ends).encode())
    assert [one.budget for one in decost.read_set(tmp_path / "a")] == [10, 20]


@pytest.mark.parametrize("ending", [".json", ".npz", ".jsonl"])
def test_pipe(tmp_path: Path, ending: str) -> None:
    """A pipe can be read, though only once and not backwards."""
    many = decost.generate("paper", nodes=4, count=1 if ending == ".json" else 3)
    decost.write(many if len(many) > 1 else many[0], tmp_path / f"file{ending}")
    content = (tmp_path / f"file{ending}").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert decost.read_set(pipe) == many
    writer.join()


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": (" \n\t\n", "is empty"),
    "only a byte order mark": ("\ufeff", "is empty"),
    "prose": ("Dear reader,\n", UNKNOWN),
    "a list": ("[]", UNKNOWN),
    "null": ("null", UNKNOWN),
    "zeros": (bytes(1000), UNKNOWN),
    "all bytes": (bytes(range(256)), "byte 128 is not text (UTF-8)"),
    "another encoding": (
        json.dumps(document(name="caf\u00e9"), ensure_ascii=False).encode("latin-1"),
        "byte",
    ),
    "two encodings": (json.dumps(document()).encode("utf-16"), "byte 0 is not text (UTF-8)"),
    "cut": (json.dumps(document())[:-3], "line 1, column"),
    "more": (json.dumps(document()) + "x", "line 1, column"),
    "comma": ('{\n"a": 1,\n}', "line 3, column 1: broken JSON: "),
    "second line cut": (json.dumps(document()) + "\n{", "line 2: line 1, column 2: broken JSON"),
    "twice": ('{"format": 1, "budget": 2, "budget": 3}', "'budget': is given twice"),
    "deep list": ('{"a": ' + "[" * 100_000, "broken JSON: nested too deeply"),
    "deep object": ('{"a": ' * 100_000, "broken JSON: nested too deeply"),
    "long number": ('{"budget": ' + "9" * 5000 + "}", "broken JSON: Exceeds the limit"),
    "beyond infinity": (json.dumps(document()).replace("10", "1e999", 1), "budget = inf: "),
    "bare nan": (
        json.dumps(document()).replace("10", "NaN", 1),
        "budget = nan: Input should be a f",
    ),
    "half a zip": (pack(a=1)[:50], "broken .npz file: "),
    "head of a zip": (b"PK\x03\x04", "broken .npz file: "),
    "empty zip": (b"PK\x05\x06" + bytes(18), UNKNOWN),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".npz", ".txt"])
def test_broken_files(tmp_path: Path, case: str, ending: str) -> None:
    """A file that is no file of ours is refused, whatever its ending."""
    content, message = BROKEN[case]
    complaint = refusal(tmp_path / f"a{ending}", content)
    assert complaint.removeprefix("line 1: " * (ending == ".jsonl")).startswith(message)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """What cannot be opened is the usual error of the operating system."""
    with pytest.raises(FileNotFoundError):
        decost.read(tmp_path / "none")
    with pytest.raises(FormatError, match=r"holds no instance in \.parquet files"):
        decost.read(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profit": "maximal"}, "profit = 'maximal': must be fixed or variable"),
        ({"truncate": 10}, "truncate = 10: must be from 0 to 9, none or auto"),
        ({"truncate": -1}, "truncate = -1: must be"),
        ({"truncate": "1"}, "truncate = '1': must be"),
        ({"truncate": None}, "truncate = None: must be"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """An option that is not known is never ignored."""
    (tmp_path / "a").write_text(SOLOMON)
    with pytest.raises(FormatError) as caught:
        decost.read(tmp_path / "a", **options)
    assert str(caught.value).startswith(message)


def test_wrong_number_of_vehicles(tmp_path: Path) -> None:
    """A number of vehicles that is given instead of the file's is checked as well."""
    assert refusal(tmp_path / "a", SOLOMON, vehicles=0) == "vehicles = 0: must be from 1 to 1000"
    assert refusal(tmp_path / "a", TRIP, vehicles=0) == "vehicles = 0: must be from 1 to 1000"
    own = "vehicles = 3: the file has 2, with properties of their own"
    assert refusal(tmp_path / "a", town(), vehicles=3) == own
    assert len(decost.read(tmp_path / "a", vehicles=2).fleet) == 2


@given(st.data())
def test_damaged_files(tmp_path: Path, data: st.DataObject) -> None:
    """A file with some bytes changed, lost or doubled is read or refused, and nothing else."""
    sources = [
        arrays(ids=np.array([["a", "b"]] * 2)),
        json.dumps(document()).encode(),
        f"{json.dumps(document())}\n{json.dumps(document())}\n".encode(),
        json.dumps(town()).encode(),
        SOLOMON.encode(),
        LEUVEN.encode(),
        TRIP.encode(),
    ]
    content = bytearray(data.draw(st.sampled_from(sources)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        size = data.draw(st.integers(0, 3))
        content[at : at + size] = data.draw(st.binary(max_size=3))
    path = tmp_path / "a"
    path.write_bytes(content)
    complaint = ""
    try:
        assert all(isinstance(one, Instance) for one in decost.read_set(path))
    except FormatError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["a.npz", "a.jsonl", "a.json"])
def test_sets_that_are_not_written(tmp_path: Path, name: str) -> None:
    """No set is empty, and none is written to a file that would not be known as a set."""
    with pytest.raises(FormatError, match=f"{name}: a set needs at least one instance"):
        decost.write([], tmp_path / name)
    with pytest.raises(FormatError, match=r"a\.txt: a set is written to a \.npz, \.jsonl or"):
        decost.write(decost.generate("paper", nodes=2), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
