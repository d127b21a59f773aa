"""Tests of what benchmarks write: summaries, rows that are kept, and rows that are refused."""

from __future__ import annotations

import csv
import math
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import rivals, solomon, stays, teams
from benchmarks.common import write_csv


def read(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(monkeypatch: pytest.MonkeyPatch, main: object, *words: object) -> None:
    """Call a benchmark as from the command line."""
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, words)])
    assert callable(main)
    main()


def team_row(file: str, vehicles: int, profit: float, bound: float, **others: str) -> teams.Row:
    """Make a row of teams as a run would."""
    cells = (file, str(vehicles), f"{profit:.8g}", f"{bound:.8g}", "", "", "", "", "auto", "60")
    return dict(zip(teams.HEADING, cells, strict=True)) | others


def test_a_table_is_written_whole(tmp_path: Path) -> None:
    """Cells with commas come back as they were, and nothing else is left in the folder."""
    path = tmp_path / "table.csv"
    write_csv(path, ("setting", "gap"), [("n=50, TW=100", "0.62%"), ("all", 1)])
    assert read(path) == [
        {"setting": "n=50, TW=100", "gap": "0.62%"},
        {"setting": "all", "gap": "1"},
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not after hours of measuring."""
    with pytest.raises(SystemExit):
        run(monkeypatch, stays.main, "--out", tmp_path / "none" / "table.csv")
    assert "there is no folder" in capsys.readouterr().err


def test_stays_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profits are those of HiGHS, and both tables hold what the page needs."""
    monkeypatch.setattr(stays, "BATCH", 5)
    out, kernels = tmp_path / "stays.csv", tmp_path / "kernels.csv"
    run(monkeypatch, stays.main, "--routes", 10, "--out", out, "--kernels", kernels)
    (line,) = read(out)
    assert 0 < int(line["routes"]) <= 10
    assert line["routes a call"] == "5"
    assert float(line["largest relative difference"]) < 1e-9
    assert line["ratio"]
    assert [line["stops"] for line in read(kernels)][-1] == "256"


def test_solomon_counts_what_is_known() -> None:
    """Optima that are met, lower bounds that are beaten, met and missed; gaps by hand."""
    solved = [
        solomon.Solved("c101", 320, 320, True, 1.0, 320, "optimal"),
        solomon.Solved("c201", 90, 100, False, 2.0, 80, "lower bound"),
        solomon.Solved("c202", 80, 100, False, 3.0, 80, "lower bound"),
        solomon.Solved("c203", 60, 100, False, 6.0, 80, "lower bound"),
    ]
    optimal, lower, all_files = (
        dict(zip(solomon.SUMMARY, line, strict=True)) for line in solomon.summary(solved)
    )
    assert (optimal["files"], optimal["number"], optimal["proven"]) == ("optimal", "1", "1")
    assert (optimal["known reached"], optimal["mean gap"]) == ("1", "0.000%")
    counts = [lower[f"known {how}"] for how in ("beaten", "reached", "not reached")]
    assert counts == ["1", "1", "1"]
    assert lower["mean gap"] == "23.333%"
    assert lower["mean gap to known"] == "4.167%"
    assert (all_files["number"], all_files["bound reached"]) == ("4", "1")
    assert (all_files["mean gap"], all_files["largest gap"]) == ("17.500%", "40.00%")
    times = [all_files[f"{which} seconds"] for which in ("total", "median", "most")]
    assert times == ["12.0", "2.50", "6.00"]


def test_solomon_claims_nothing_without_a_bound() -> None:
    """A method that proves nothing has no gap, rather than one of 100%."""
    (line,) = solomon.summary([solomon.Solved("c101", 320, None, False, 1.0)])
    cells = dict(zip(solomon.SUMMARY, line, strict=True))
    assert cells["files"] == "all"
    assert cells["mean gap"] == cells["bound reached"] == cells["known beaten"] == ""


def test_solomon_writes_both_tables(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file from reading to the summary: the published optimum, proven."""
    out, brief = tmp_path / "table.csv", tmp_path / "summary.csv"
    known = data / "optw_best_known.csv"
    words = (data / "optw", "r101", "--known", known, "--out", out, "--summary", brief)
    run(monkeypatch, solomon.main, *words)
    (line,) = read(out)
    assert (line["file"], line["profit"], line["bound"], line["gap"]) == (
        "r101",
        "198",
        "198",
        "0.00%",
    )
    assert [(one["files"], one["known reached"]) for one in read(brief)] == [
        ("optimal", "1"),
        ("all", "1"),
    ]


def test_teams_are_summed_up_by_class_and_vehicles() -> None:
    """Classes in their order, and vehicles by number; means by hand, and a line for all."""
    rows = [
        team_row("c101", 10, 90, 100),
        team_row("c101", 2, 50, 50),
        team_row("c102", 2, 30, 40),
        team_row("rc101", 2, 10, 10),
    ]
    assert teams.summary(rows) == [
        ("c1*", "2", "2", "1", "40.0", "12.50%", "25.00%"),
        ("c1*", "10", "1", "0", "90.0", "10.00%", "10.00%"),
        ("rc1*", "2", "1", "1", "10.0", "0.00%", "0.00%"),
        ("all", "2, 10", "4", "2", "45.0", "8.75%", "25.00%"),
    ]


def test_teams_go_on_with_rows_of_the_same_run(tmp_path: Path) -> None:
    """What was written is read again."""
    path = tmp_path / "table.csv"
    rows = [team_row("c101", 2, 590, 590)]
    write_csv(path, teams.HEADING, [tuple(row.values()) for row in rows])
    assert teams.kept(path, "auto", 60.0) == rows
    assert teams.kept(tmp_path / "none.csv", "auto", 60.0) == []


@pytest.mark.parametrize(
    ("method", "limit", "complaint"),
    [
        ("columns", 60.0, "holds rows of auto with 60 s, not of columns with 60 s; remove"),
        ("auto", 10.0, "holds rows of auto with 60 s, not of auto with 10 s; remove"),
    ],
)
def test_teams_refuse_rows_of_another_run(
    tmp_path: Path, method: str, limit: float, complaint: str
) -> None:
    """Another method or another limit is no going on."""
    path = tmp_path / "table.csv"
    write_csv(path, teams.HEADING, [tuple(team_row("c101", 2, 590, 590).values())])
    with pytest.raises(ValueError, match=complaint):
        teams.kept(path, method, limit)


def test_teams_refuse_rows_that_do_not_say_their_method(
    tmp_path: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A table without these columns stays as it is, and the run ends before it begins."""
    path = tmp_path / "table.csv"
    text = "file,vehicles,profit,bound,gap,found by,seconds,known\nc101,2,590,590,0.00%,,1.0,\n"
    path.write_text(text)
    with pytest.raises(SystemExit):
        run(monkeypatch, teams.main, data / "optw", "c101", "--out", path)
    assert "do not say how they were made; remove the file" in capsys.readouterr().err
    assert path.read_text() == text


def rival(family: str, instance: str, method: str, profit: float, status: str = "feasible") -> str:
    """Make a line of rivals as a run would."""
    return f"1,{family},{instance},{method},{profit!r},{status},0.5\r\n"


HEAD = ",".join(rivals.HEADING) + "\r\n"


@pytest.mark.parametrize("torn", ["", "1,n=50 TW=1", "1,n=50 TW=100,b,ils,9.0,feasible,0.5\r"])
def test_rivals_drop_a_torn_line(tmp_path: Path, torn: str) -> None:
    """A kill in the middle of a line costs that line and nothing else."""
    path = tmp_path / "rows.csv"
    whole = HEAD + rival("n=50 TW=100", "a", "ils", 9.0)
    path.write_bytes((whole + torn).encode())
    (row,) = rivals.kept(path)
    assert (row["instance"], row["profit"]) == ("a", "9.0")
    assert path.read_bytes() == whole.encode()


@pytest.mark.parametrize("text", [None, "", "limit,fam", HEAD])
def test_rivals_begin_with_a_heading(tmp_path: Path, text: str | None) -> None:
    """A file that is not there, or has no more than a part of the heading, is begun anew."""
    path = tmp_path / "rows.csv"
    if text is not None:
        path.write_bytes(text.encode())
    assert rivals.kept(path) == []
    assert path.read_bytes() == HEAD.encode()


@pytest.mark.parametrize("text", ["precious", "precious\nand more"])
def test_rivals_leave_other_files_alone(tmp_path: Path, text: str) -> None:
    """A file that holds no rows is neither cut nor added to."""
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match="holds no rows"):
        rivals.kept(path)
    assert path.read_text() == text


def test_rivals_count_every_seed(tmp_path: Path) -> None:
    """Seeds of a method are averaged, and the best of all is what it is measured against."""
    assert rivals.with_seeds(["exact", "ils", "search begin=decost"], 2) == [
        "exact",
        "ils",
        "ils seed=1",
        "search begin=decost",
        "search begin=decost seed=1",
    ]
    path = tmp_path / "rows.csv"
    lines = [
        rival("A", "a", "ils", 5.0),
        rival("A", "a", "ils seed=1", 7.0),
        rival("A", "a", "auto", 10.0),
    ]
    path.write_text(HEAD + "".join(lines), newline="")
    _, table = rivals.compared(rivals.kept(path), ["ils", "auto"], "1")
    assert table[0] == ("A", "1", "0", "40.000%", "0.000%")


def test_rivals_have_a_mean_of_all(tmp_path: Path) -> None:
    """Families count alike, whatever their size; a method that lacks one has no mean."""
    path = tmp_path / "rows.csv"
    lines = [
        rival("A", "a", "ils", 5.0),
        rival("A", "a", "auto", 10.0, "optimal"),
        rival("A", "a", "exact", 10.0, "optimal"),
        rival("B", "a", "ils", 9.0),
        rival("B", "b", "ils", 10.0),
        rival("B", "a", "auto", 10.0),
        rival("B", "b", "auto", 10.0),
    ]
    path.write_bytes((HEAD + "".join(lines)).encode())
    heading, table = rivals.compared(rivals.kept(path), ["ils", "auto", "exact"], "1")
    assert heading == ["family", "instances", "proven", "ils", "auto", "exact"]
    assert table == [
        ("A", "1", "1", "50.000%", "0.000%", "0.000%"),
        ("B", "2", "0", "5.000%", "0.000%", ""),
        ("mean of all", "3", "1", "27.500%", "0.000%", ""),
    ]


def test_rivals_are_compared_with_plans_of_other_limits(tmp_path: Path) -> None:
    """Alone in its limit a method may still be behind; where nothing can be earned nobody is."""
    path = tmp_path / "rows.csv"
    longer = ["10,A,a,search,10.0,feasible,9.9\r\n", "10,A,b,search,1.0,feasible,9.9\r\n"]
    lines = [rival("A", "a", "ils", 5.0), rival("B", "a", "ils", 0.0), *longer]
    path.write_bytes((HEAD + "".join(lines)).encode())
    rows = rivals.kept(path)
    _, short = rivals.compared(rows, ["ils", "search"], "1")
    assert short[:2] == [("A", "1", "0", "50.000%", ""), ("B", "1", "0", "0.000%", "")]
    _, long = rivals.compared(rows, ["ils", "search"], "10")
    assert long == [("A", "2", "0", "", "0.000%"), ("mean of all", "2", "0", "", "0.000%")]


def test_rivals_in_pairs(tmp_path: Path) -> None:
    """Ahead by 10 and 30% in A, behind by 20% in B: by 6.667% on average, with its error."""
    path = tmp_path / "rows.csv"
    lines = [
        *(rival("A", name, "auto", 10.0) for name in "ab"),
        *(rival("A", name, "ils", profit) for name, profit in (("a", 9.0), ("b", 7.0))),
        rival("B", "a", "auto", 8.0),
        rival("B", "a", "ils", 10.0),
        rival("B", "a", "exact", 10.0),
    ]
    path.write_bytes((HEAD + "".join(lines)).encode())
    table = rivals.paired(rivals.kept(path), ["ils", "auto", "exact"], "1")
    ahead = next(line for line in table if line[:2] == ("auto", "ils"))
    values = [10.0, 30.0, -20.0]
    error = statistics.stdev(values) / math.sqrt(3)
    assert ahead[2:8] == ("2", "3", "6.667%", f"{error:.3f}%", "1", "1")
    assert ahead[8:] == ("20.000%", "B", "")
    behind = next(line for line in table if line[:2] == ("ils", "auto"))
    assert behind[4] == "-6.667%"
    assert behind[8:] == ("20.000%", "A", "10.000%")
    alone = next(line for line in table if line[:2] == ("exact", "ils"))
    assert alone[2:8] == ("1", "1", "0.000%", "", "0", "0")
    assert alone[8:10] == ("0.000%", "")
    assert len(table) == 6


def test_rivals_of_fewer_instances_are_the_first_of_more() -> None:
    """Rows of runs with other numbers of instances are about the same ones."""
    more = dict(rivals.families(4, None, None))
    for family, instances in rivals.families(2, None, None):
        for one, other in zip(instances, more[family][:2], strict=True):
            assert one.name == other.name
            assert np.array_equal(one.travel, other.travel)
            assert np.array_equal(one.close, other.close)
