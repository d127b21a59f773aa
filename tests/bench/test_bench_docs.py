"""The tables and numbers of the pages are those of the files that were measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from decost.bench import BenchError, docs
from decost.bench.tables import Table

ROOT = Path(__file__).resolve().parents[2]

PAGES = [path for path, _, _ in docs.pages(ROOT)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_up_to_date(page: Path) -> None:
    """A page is what `make tables` would write."""
    (after,) = (after for path, _, after in docs.pages(ROOT) if path == page)
    assert page.read_text(encoding="utf-8") == after, "run `make tables`"


def slug(heading: str) -> str:
    """Name a heading as GitHub does in links."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_links_lead_somewhere() -> None:
    """Every link of a page to another file or heading of the project exists."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for link in re.findall(r"\]\((?!https?:)([^()\s]+)\)", text):
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), f"{page}: {link}"
            if anchor:
                headings = re.findall(r"^#+ +(.*)$", target.read_text(encoding="utf-8"), re.M)
                assert anchor in map(slug, headings), f"{page}: {link}"


def test_every_file_is_spoken_of() -> None:
    """No CSV is left behind that no page links."""
    linked = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"\]\(([^()\s]+\.csv)\)", page.read_text(encoding="utf-8"))
    }
    assert set((ROOT / docs.DATA).rglob("*.csv")) <= linked


ROWS: Table = [
    {"setting": "a", "method": "ils x=1", "gap (%)": "0.66", "time (ms)": "12345", "paper": "7"},
    {"setting": "a", "method": "decost (ours)", "gap (%)": "", "time (ms)": "9.5", "paper": ""},
    {"setting": "b", "method": "ils x=1", "gap (%)": "-3", "time (ms)": "1234", "paper": "1234"},
]


def read(name: str) -> Table:
    """Give the rows of the only file."""
    assert name == "some/file"
    return ROWS


@pytest.mark.parametrize(
    ("marker", "lines"),
    [
        (
            "some/file; where setting is a; method; gap (%); ms = {time (ms)}",
            ["method | gap | ms", "`ils x=1` | 0.66% | 12,345", "`decost` (ours) |  | 9.5"],
        ),
        (
            "some/file; rows method; by setting; {gap (%)} ({paper})",
            ["method | a | b", "`ils x=1` | 0.66% (7) | -3% (1234)", "`decost` (ours) |  | "],
        ),
        (
            "some/file; where paper; rows {setting}!; by x={paper}; time (ms)",
            [" | x=7 | x=1234", "a! | 12,345 | ", "b! |  | 1234"],
        ),
        ("some/file; where time (ms) is {paper}; setting", ["setting", "b"]),
        ("some/file; where setting is c", None),
        (
            "some/file; where time (ms) is not {paper}; where method is not ils x=1; paper",
            ["paper", ""],
        ),
        (
            "some/file; where setting is b",
            ["setting | method | gap | time (ms) | paper", "b | `ils x=1` | -3% | 1234 | 1234"],
        ),
    ],
)
def test_tables(marker: str, lines: list[str] | None) -> None:
    """Columns, templates, rows and pivots, worked out by hand; what was there is replaced."""
    page = f"Before\n\n<!-- table: {marker} -->\n| old |\n\n<!-- end -->\n\nafter 0.66%\n"
    if lines is None:
        with pytest.raises(BenchError, match="there are no such rows"):
            docs.fill(page, read)
        return
    head, *rows = (f"| {line} |" for line in lines)
    ruled = "\n".join((head, "|" + " --- |" * lines[0].count("|") + " --- |", *rows))
    expected = f"Before\n\n<!-- table: {marker} -->\n\n{ruled}\n\n<!-- end -->\n\nafter 0.66%\n"
    assert docs.fill(page, read) == expected
    assert docs.fill(expected, read) == expected


@pytest.mark.parametrize("old", ["0.66%", "0.67%", "1,000", "-3e-5"])
def test_numbers(old: str) -> None:
    """A number is replaced whatever it was, and nothing around it."""
    marker = "<!-- = some/file; where setting is a; where paper; gap (%) -->"
    assert docs.fill(f"(**{old}{marker}** of 12)", read) == f"(**0.66%{marker}** of 12)"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<!-- table: some/file; gap -->\n<!-- end -->", "no column 'gap', only setting, method"),
        ("<!-- table: some/file; where x is 1 -->\n<!-- end -->", "no column 'x'"),
        ("<!-- table: some/file -->\n| no end |", "has no end"),
        ("many<!-- = some/file; paper -->", "no number before it"),
        ("1<!-- = some/file; paper -->", "gives 3 rows, not one cell"),
        ("1<!-- = some/file; where setting is b; paper; method -->", "gives 1 rows, not one cell"),
    ],
)
def test_wrong_markers(page: str, complaint: str) -> None:
    """A marker that asks for what is not there is an error, not an empty table."""
    with pytest.raises(BenchError, match=complaint):
        docs.fill(page, read)


def test_every_changed_digit_is_found() -> None:
    """If any digit of a table or of a marked number changes, the page differs from what it was."""
    text = (ROOT / "docs/results/stay-ratio.md").read_text(encoding="utf-8")
    filled = re.compile(r"<!-- table: [^>]*-->(.*?)<!-- end|([\d.,%]+)<!-- =", re.S)
    places = [
        at
        for match in filled.finditer(text)
        for at in range(*match.span(match.lastindex or 0))
        if text[at].isdigit()
    ]
    assert len(places) > 100
    for at in places:
        changed = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
        assert docs.fill(changed, lambda name: docs.read_data(ROOT, name)) == text


def test_a_file_that_is_not_there() -> None:
    """It is named."""
    with pytest.raises(BenchError, match=r"'none': there is no file .*none\.csv"):
        docs.read_data(ROOT, "none")


def test_pages_are_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command fills the pages of the project that it is run in, and says which."""
    data = tmp_path / docs.DATA
    data.mkdir(parents=True)
    (data / "a.csv").write_text("x\n7\n")
    (data / "a.md").write_text("1<!-- = a; x --> is left alone here")
    (tmp_path / "README.md").write_text("1<!-- = a; x -->")
    (tmp_path / "docs" / "b.md").write_text("7<!-- = a; x -->")
    monkeypatch.chdir(tmp_path)
    docs.main()
    assert capsys.readouterr().out == "wrote README.md\n"
    assert (tmp_path / "README.md").read_text() == "7<!-- = a; x -->"
    (tmp_path / "docs" / "b.md").write_text("7<!-- = b; x -->")
    with pytest.raises(SystemExit, match=r"docs/b\.md: 'b': there is no file"):
        docs.main()
