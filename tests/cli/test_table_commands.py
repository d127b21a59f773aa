"""Tests of tables on the command line: solve, convert and template."""

from __future__ import annotations

import json
from pathlib import Path

import decost
from command_line import Call

RED = "red, start=Hotel Sole, begin=09:00, due=17:00"


def test_template_is_solved(call: Call, tmp_path: Path) -> None:
    """A template can be planned for as it is, with words, with a table, and as a workbook."""
    places, guides, book = (tmp_path / name for name in ("a.csv", "v.tsv", "a.xlsx"))
    assert call("template", places, "--vehicles", guides).code == 0
    assert call("template", book).code == 0
    assert call.complaint("template", book) == f"{book}: is there already"
    by_words = ("--vehicle", RED, "--speed", "4.5 km/h")
    words = ("--method", "greedy", "--json")
    found = [
        json.loads(call("solve", *given, *words).out)["routes"]
        for given in ((places, *by_words), (places, "--vehicles", guides), (book,))
    ]
    assert found[1] == found[2]
    assert [route["vehicle"] for route in found[1]] == ["red", "blue"]
    assert {visit["stop"] for visit in found[0][0]["visits"]} <= {"Castle", "Cathedral", "Tower"}
    plan = tmp_path / "plan.json"
    assert call("solve", places, *by_words, "--method", "greedy", "--out", plan).code == 0
    assert call("check", places, plan, *by_words).code == 0


def test_convert(call: Call, tmp_path: Path) -> None:
    """An instance goes from a workbook to JSON to text and back; what does not fit is named."""
    book, file, table, guides = (tmp_path / name for name in ("a.xlsx", "a.json", "b.csv", "v.csv"))
    call("template", book)
    assert call("convert", book, file).out == f"wrote {file}\n"
    lost = f"{table}: a table of places cannot hold vehicles, begin, budget, speed: "
    assert call.complaint("convert", file, table).startswith(lost)
    assert not table.exists()
    both = ("convert", file, table, "--out-vehicles", guides)
    assert call(*both).out == f"wrote {table}\nwrote {guides}\n"
    assert decost.read(table, vehicles=guides) == decost.read(file) == decost.read(book)
    assert call.complaint("convert", file, tmp_path / "a.txt").startswith(f"{tmp_path}/a.txt: must")
    assert (
        call.complaint("convert", file, file)
        == f"{file}: is the instance itself, and would be lost"
    )


def test_sets_are_converted_to_sets(call: Call, many: Path, tmp_path: Path) -> None:
    """A set stays a set, and is refused by what holds one instance."""
    lines = tmp_path / "a.jsonl"
    assert call("convert", many, lines).code == 0
    assert decost.read_set(lines) == decost.read_set(many)
    wanted = f"{many}: holds a set of 5; .xlsx holds one instance"
    assert call.complaint("convert", many, tmp_path / "a.xlsx") == wanted


def test_every_fault_has_a_line(call: Call, tmp_path: Path) -> None:
    """Faults of a table are lines, each with the place; no traceback."""
    path = tmp_path / "a.csv"
    path.write_text("name,lat,lon,opens,reward\na,46,11,25:00,1\nb,x,11,,2\n")
    code, out, err = call("solve", path, "--vehicle", "red, start=46 11, begin=09:00, due=1")
    lines = [
        f"decost: {path}: row 2, opens = '25:00': must be a time such as 09:30",
        f"decost: {path}: row 3, lat = 'x': must be a number",
    ]
    assert (code, out) == (2, "")
    assert set(lines) <= set(err.splitlines())


def test_options_of_tables_beside_other_files(call: Call, trip: Path, tmp_path: Path) -> None:
    """They are refused there, and so are files that are not there."""
    assert "go with a table of places" in call.complaint("solve", trip, "--speed", "4 km/h")
    missing = tmp_path / "none.csv"
    wanted = f"--vehicles {missing}: is neither a whole number nor a file that is there"
    assert call.complaint("solve", trip, "--vehicles", missing) == wanted
