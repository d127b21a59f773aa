"""Tests of `decost solve` for an instance: what it prints, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import decost
from command_line import KEYS, Call, chosen, document, run
from quick_options import quick


def test_solve_prints_the_plan(trip: Path) -> None:
    """A table with a row a visit and the way back, worked out by hand; stderr stays empty.

    Full stays at the mill (6, for 12) and at the quay (4, for 5 + 3 + 2) take 5 + 6 + 4 + 4 + 3
    = 22 of 20, so that 2 of the last piece at rate 1 are left out.
    """
    code, out, err = run("solve", trip, "--method", "greedy")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert rows[0] == ["trip:", "2", "of", "2", "stops"]
    assert rows[1] == ["stop", "arrive", "start", "stay", "leave", "profit"]
    table = {row[0]: row[1:] for row in rows[3:-1]}
    if rows[3][0] == "mill":
        assert table["mill"] == ["5.00", "5.00", "6.00", "11.00", "12.00"]
        assert table["quay"] == ["15.00", "15.00", "2.00", "17.00", "8.00"]
    else:
        assert table["quay"] == ["3.00", "3.00", "2.00", "5.00", "8.00"]
        assert table["mill"] == ["9.00", "9.00", "6.00", "15.00", "12.00"]
    assert table["back"] == ["20.00", "20.00"]
    assert rows[-1][:3] == ["profit", "20,", "feasible;"]


def test_plan_to_standard_output(call: Call, trip: Path, tmp_path: Path) -> None:
    """With `--out -` the file of the plan is printed and nothing else; other files go their way."""
    file, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    words = ("solve", trip, "--method", "greedy", "--out")
    call(*words, file)
    printed = call(*words, "-", "--plot", picture)
    assert (printed.code, printed.err) == (0, f"wrote {picture}\n")
    plans = [json.loads(text) | {"runtime": 0} for text in (printed.out, file.read_text())]
    assert plans[0] == plans[1]
    assert not Path("-").exists()
    assert call.complaint(*words, "-", "--json").startswith("--out -: prints the plan, and so does")
    stays = call("stays", trip, "--order", "mill,quay", "--out", "-")
    assert json.loads(stays.out)["format"] == "decost-solution"


def test_json_and_nothing_else(method: str, call: Call, trip: Path) -> None:
    """With --json, stdout is one JSON object with the keys of the contract."""
    decost.prepare(method)  # else a first run says on stderr that it compiles
    code, out, err = call("solve", trip, *chosen(method), "--json", "--seed", 7)
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert list(answer) == KEYS
    assert (answer["method"], answer["seed"]) == (method, 7)
    assert answer["status"] in ("optimal", "feasible")
    assert all(list(visit) == ["stop", "start", "stay", "profit"] for visit in answer["routes"][0])
    assert answer["profit"] == pytest.approx(sum(v["profit"] for v in answer["routes"][0]))
    library = decost.solve(decost.read(trip), method, seed=7, **quick(method)).to_dict()
    assert answer | {"runtime": 0} == library | {"runtime": 0}


def test_default_method(call: Call, trip: Path) -> None:
    """The default of the command line is the default of the library."""
    answer = json.loads(call("solve", trip, "--json").out)
    assert answer["method"] == decost.solve(decost.read(trip)).method


def test_out_can_be_checked(method: str, call: Call, trip: Path) -> None:
    """What is written is the plan that is printed, and `check` accepts it."""
    plan = trip.with_name("plan of today.json")
    code, out, _ = call("solve", trip, *chosen(method), "--json", "--out", plan)
    assert code == 0
    written = json.loads(plan.read_text())
    assert {key: written[key] for key in KEYS} == json.loads(out)
    code, out, err = call("check", trip, plan)
    assert (code, err) == (0, "")
    assert out == f"feasible, profit {written['profit']:.10g}\n"


def test_wrote(call: Call, trip: Path) -> None:
    """Without --json, the last line says where the plan is."""
    plan = trip.with_name("plan.json")
    code, out, _ = call("solve", trip, "--method", "greedy", "--out", plan)
    assert code == 0
    assert out.endswith(f"wrote {plan}\n")


def test_team(call: Call, trip: Path) -> None:
    """Each vehicle has its table, or stays at the depot."""
    code, out, _ = call("solve", trip, "--method", "greedy", "--vehicles", 3)
    assert code == 0
    assert "route 1" in out
    assert "route 3: stays at the depot" in out


def test_nothing_to_visit(call: Call, tmp_path: Path) -> None:
    """An instance without stops is solved, drawn in words, and its plan checked."""
    path, plan = tmp_path / "none.json", tmp_path / "plan.json"
    path.write_text(json.dumps(document(stops=[], name="")))
    code, out, _ = call("solve", path, "--out", plan)
    assert code == 0
    assert "OP: 0 of 0 stops" in out
    assert "route: stays at the depot" in out
    assert call("check", path, plan) == (0, "feasible, profit 0\n", "")


def test_names_are_shown_as_they_are(call: Call, tmp_path: Path) -> None:
    """Markup, formulas and emoji codes are text; line ends and terminal codes are not obeyed."""
    names = ["[bold]x[/bold]", ":bomb:", "$x$ \\", "a\nb\tc", "\x1b[31mred", "caf\u00e9 \u2603"]
    stops = [{"id": name, "x": 0, "y": 0, "reward": 1} for name in names]
    path = tmp_path / "[red]names.json"
    path.write_text(json.dumps(document(stops=stops, name="[i]:bomb:\n\x1b[2J")))
    code, out, _ = call("solve", path, "--method", "greedy")
    assert code == 0
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0] == "[i]:bomb:  [2J: 6 of 6 stops"
    rows = [line.strip() for line in lines]
    shown = ["[bold]x[/bold]", ":bomb:", "$x$ \\", "a b c", "[31mred", "caf\u00e9 \u2603"]
    for name in shown:
        assert sum(row.startswith(f"{name} ") for row in rows) == 1
    answer = json.loads(call("solve", path, "--method", "greedy", "--json").out)
    assert sorted(visit["stop"] for visit in answer["routes"][0]) == sorted(names)


def test_solomon(call: Call, tmp_path: Path) -> None:
    """A Solomon file is read as fixed or variable, with distances cut as asked."""
    path = tmp_path / "r1.txt"
    rows = "0 0 0 0 0 99 0\n1 1 1 10 0 50 5\n"
    path.write_text(f"R1\nVEHICLE\nNUMBER CAPACITY\n1 1\nCUSTOMER\nCUST NO. X\n{rows}")

    def visit(*words: object) -> dict[str, float]:
        answer = json.loads(call("solve", path, "--method", "greedy", "--json", *words).out)
        return dict(answer["routes"][0][0])

    assert visit() == {"stop": 1, "start": 1.4, "stay": 5, "profit": 10}
    exact = pytest.approx({"stop": 1, "start": 2**0.5, "stay": 35, "profit": 350})
    assert visit("--profit", "variable") == exact
    assert visit("--profit", "variable", "--truncate", 2)["start"] == 1.41
    assert visit("--truncate", "none")["start"] == pytest.approx(2**0.5)


def test_teams(method: str, call: Call, trip: Path) -> None:
    """A method for one vehicle says so."""
    words = ("solve", trip, *chosen(method), "--vehicles", 2)
    if "teams" in decost.get_method(method).can:
        assert call(*words).code == 0
    else:
        assert "vehicles = 2" in call.complaint(*words)


def test_large_numbers_are_printed(call: Call, tmp_path: Path) -> None:
    """Nothing breaks on numbers that no table has room for."""
    path = tmp_path / "large.json"
    stops = [{"x": 1e300, "y": 0, "rate": 1e-5, "max_stay": 1e300, "reward": 1e300}]
    path.write_text(json.dumps(document(budget=1e301, stops=stops)))
    code, out, err = call("solve", path, "--method", "greedy")
    assert (code, err) == (0, "")
    assert "1 of 1 stops" in out
    assert np.isfinite(
        json.loads(call("solve", path, "--method", "greedy", "--json").out)["profit"]
    )


def test_report_calendar_and_explanation(call: Call, tmp_path: Path) -> None:
    """One command each: a page, a calendar with a date a vehicle, GeoJSON, reasons as JSON."""
    guides = Path(__file__).parents[2] / "examples" / "data" / "guides.json"
    words = ("solve", guides, "--method", "greedy")
    page, calendar = tmp_path / "plan.html", tmp_path / "plan.ics"
    dates = ("--date", "red=2026-05-04", "--date", "blue=2026-05-05")
    code, out, _ = call(*words, "--out", calendar, *dates, "--report", page, "--explain-time", 0.2)
    assert code == 0
    assert out.splitlines()[-2:] == [f"wrote {calendar}", f"wrote {page}"]
    text = calendar.read_text(encoding="utf-8")
    assert "DTSTART:20260504T" in text
    assert "DTSTART:20260505T" in text
    assert "<title>two guides</title>" in page.read_text(encoding="utf-8")
    assert call(*words, "--out", tmp_path / "plan.geojson").code == 0
    code, out, err = call(*words, "--json", "--explain", "--explain-time", 0.2)
    assert (code, err) == (0, "")
    plan = json.loads(out)
    visited = {visit["stop"] for route in plan["routes"] for visit in route["visits"]}
    told = {one["stop"] for one in plan["explanation"]["left_out"]}
    assert len(visited) + len(told) == 14
    assert not visited & told
    again = tmp_path / "plan.json"
    again.write_text(out)
    assert call("check", guides, again).code == 0


def test_outputs_that_cannot_be(call: Call, tmp_path: Path) -> None:
    """What could not be written is refused before anything is solved."""
    city = Path(__file__).parents[2] / "examples" / "data" / "city.json"
    html, ics = tmp_path / "a.html", tmp_path / "a.ics"
    tiles = "https://tiles.example/{z}/{x}/{y}.png"
    for words, complaint in (
        (("--report", tmp_path / "a.pdf"), "a.pdf: a report must end in .html"),
        (("--report", html, "--plot", html), "one would overwrite the other"),
        (("--report", html, "--tiles", tiles), "are for places with lat and lon"),
        (("--tiles", tiles), "is for a --report"),
        (("--out", ics, "--date", "2026-05-04"), "a calendar needs times of the day"),
        (("--date", "2026-05-04"), "is for a calendar"),
        (("--out", ics, "--date", "a=2026-05-04", "--date", "2026-05-04"), "or VEHICLE=DAY"),
        (("--out", html), "a page is written by result.report, or by --report"),
        (("--out", tmp_path / "a.geojson"), "GeoJSON needs places with lat and lon"),
    ):
        assert complaint in call.complaint("solve", city, *words)
    assert not list(tmp_path.iterdir())
