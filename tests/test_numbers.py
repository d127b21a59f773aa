"""Every number in the README and the docs is in a table that a named command wrote."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from page_numbers import Number, Table, measurements, sections, unfounded, writes

ROOT = Path(__file__).resolve().parents[1]

EXPLAINING = tuple(
    f"docs/{name}.md" for name in ("bench", "formats", "methods", "problem", "time-profit")
)
"""Pages with examples worked out by hand, and with defaults, instead of measurements."""

PAGES = ("README.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")))

MEASURED = tuple(page for page in PAGES if page not in EXPLAINING)

EXCUSED: dict[str, dict[str, str]] = {
    "README.md": {
        "1.5 GB in the folder": "the size of PyTorch and the others that pip installs",
    },
    "docs/bench.md": {
        "fixed at 0%, 10%, ..., 100% of the longest": "what the experiment sets",
        "known to 0.02 s": "how often one looks at a search, decost.methods.clock.POLL",
    },
    "docs/learning.md": {
        "clipped by 10 tanh": "the paper's network",
        "the 12 stops that can be started first": "the network's own limit",
        "50 sampled routes": "the default of an option",
        "layers of width 32": "the recipe of Kim et al. 2024",
        "20 epochs": "the recipe of Kim et al. 2024",
        "(10 by default)": "the default of an option",
    },
}
"""Numbers that need no table: by page, an excerpt around them and the reason."""


def text_of(page: str) -> str:
    """Read a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def path_of(page: str, link: str) -> str:
    """Give the file that a page links, from the root of the project."""
    return (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()


def links_of(page: str) -> list[str]:
    """List the tables that a page links, as it writes them."""
    return list(dict.fromkeys(link for one in sections(text_of(page)) for link in one.links))


def read_table(path: Path) -> Table:
    """Read a table with its heading."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def tables_of(page: str) -> dict[str, Table]:
    """Read the tables that a page links, by its links."""
    paths = {link: ROOT / path_of(page, link) for link in links_of(page)}
    return {link: read_table(path) for link, path in paths.items() if path.exists()}


def complaint(page: str, numbers: Sequence[Number]) -> str:
    """List numbers with their lines."""
    lines = text_of(page).splitlines()
    found = "\n".join(f"{page}:{one.line}: {one.text}: {lines[one.line - 1]}" for one in numbers)
    return f"in no CSV that its section links, and no argument of its command:\n{found}"


@pytest.mark.parametrize("page", MEASURED)
def test_every_number_is_in_a_table(page: str) -> None:
    """What a page states is what a linked CSV holds, to the last digit stated."""
    found = unfounded(text_of(page), tables_of(page), EXCUSED.get(page, ()))
    assert not found, complaint(page, found)


@pytest.mark.parametrize("page", EXPLAINING)
def test_explanations_measure_nothing(page: str) -> None:
    """Shares and times belong where there is a table; so does any that is added here."""
    excused = EXCUSED.get(page, ())
    found = measurements(text_of(page), excused)
    assert not found, complaint(page, found)
    for claim, number in (("It takes 0.3 ms.", "0.3"), ("A gap of 0.66% is left.", "0.66")):
        claimed = text_of(page) + f"\n\n{claim}\n"
        assert [one.text for one in measurements(claimed, excused)] == [number]


@pytest.mark.parametrize("page", EXCUSED)
def test_every_excuse_is_needed(page: str) -> None:
    """An excerpt that is not in the page any more, or needs no excuse, goes."""
    text, tables = text_of(page), tables_of(page)
    for excerpt in EXCUSED[page]:
        others = [other for other in EXCUSED[page] if other != excerpt]
        if page in EXPLAINING:
            found = measurements(text, others)
        else:
            found = unfounded(text, tables, others)
        assert found, f"{page}: needs no excuse for {excerpt!r}"


@pytest.mark.parametrize("page", PAGES)
def test_linked_tables_are_written_by_a_command_beside_them(page: str) -> None:
    """They exist, and the section names the command whose table that is."""
    for section in sections(text_of(page)):
        for link in section.links:
            table = path_of(page, link)
            assert (ROOT / table).is_file(), f"{page}: links {link}, which does not exist"
            assert any(writes(command, table) for command in section.commands), (
                f"{page}: links {link} without a command beside it that writes it, "
                f"only {section.commands}"
            )


def test_every_table_is_linked() -> None:
    """No CSV is left behind that no page speaks of."""
    linked = {path_of(page, link) for page in PAGES for link in links_of(page)}
    there = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/results/**/*.csv")}
    assert there - linked == set()


@pytest.mark.parametrize("page", MEASURED)
def test_a_changed_digit_is_caught(page: str) -> None:
    """Every number of a page is put off in its last digit, and every one is reported."""
    text, tables = text_of(page), tables_of(page)
    changed, wrong = text, []
    for section in reversed(sections(text)):
        cells = [cell for link in section.links for line in tables[link] for cell in line]
        for number in reversed(section.numbers):
            other = another(number.text, [*cells, *section.commands])
            changed = changed[: number.start] + other + changed[number.end :]
            wrong.append((number.line, other))
    found = unfounded(changed, tables, EXCUSED.get(page, ()))
    assert [(one.line, one.text) for one in found] == wrong[::-1]


def another(number: str, texts: Sequence[str]) -> str:
    """Change the last digit of a number to one with which no text has it; if need be, also more.

    For this the numbers of the texts are compared one by one, as decimal fractions.
    """
    known = [float(some) for text in texts for some in re.findall(r"\d+(?:\.\d+)?", text)]
    unit = 10.0 ** -len(number.partition(".")[2])
    for front in ("", "7", "77", "777", "7777"):
        for digit in "0123456789":
            other = front + number.lstrip("+-")[:-1] + digit
            value = float(other.replace(",", ""))
            if digit != number[-1] and all(abs(value - some) > 0.6 * unit for some in known):
                return other
    raise AssertionError(f"the tables hold everything like {number}")


CSV = [
    ["setting", "method", "gap (%)", "8 symmetries", "time (ms)", "proven"],
    ["n=50, TW=100", "ils time_limit=10", "0.6581", "12.3%", "1,234.5", "0.72 ± 0.15"],
    ["n=100, TW=100", "exact", "-0.08", "1e+03", "more than 10009", "2.2e-16"],
]

TEXT = "## Gaps\n\n    decost bench main --time-limit 25\n\n[A table](results/a.csv).\n\n{}\n"


@pytest.mark.parametrize(
    "prose",
    [
        "A gap of 0.6581.",
        "A gap of 0.658%, rounded.",
        "A gap of 0.66% after 1,234.5 ms, or 1235 ms.",
        "| gap | 0.7% |",
        "A gap of -0.08%.",
        "Minus: \u22120.08.",
        "12.3%, written 12.30% as well.",
        "More than 10,009 ms, and 1,000 ms.",
        "0.72 ± 0.15",
        "Within 2.2e-16, or 2e-16.",
        "A heading has 8 of them.",
        "After 10 s, as the name of a method says.",
        "Within 25 s, as the command says.",
        "The method at n=500, TW=500 on c101, pr06, rc2* and x3 (Table 3, Figures 2 and 4).",
        "Appendix B.2 and equations 4 to 6 by Kim et al. 2024 and by Marzal and Sebastia (2024).",
        "Python 3.11, arXiv 2403.07041, and 2-opt.",
        "In code: `--fast 77` and https://example.org/88 and [a link](page-99.md).",
        "![Picture 66](55.png)",
        "A block:\n\n```\n0.12345\n```\n\nand another:\n\n    0.54321\n",
        "A line that\n`breaks 44\nin code`.",
        "### Below\n\nA gap of 0.66%.",
    ],
)
def test_founded(prose: str) -> None:
    """Cells, also rounded; headings, commands and names; and whatever is not read as a number."""
    assert unfounded(TEXT.format(prose), {"results/a.csv": CSV}) == []


@pytest.mark.parametrize(
    ("prose", "numbers"),
    [
        ("A gap of 0.6582.", ["0.6582"]),
        ("A gap of 0.65%.", ["0.65"]),
        ("A gap of 0.6%.", ["0.6"]),
        ("A gap of 0.65810001.", ["0.65810001"]),
        ("| gap | 0.66% | 0.65% |", ["0.65"]),
        ("A gap of 0.08%.", ["0.08"]),
        ("1,235.5 ms", ["1,235.5"]),
        ("12345 ms", ["12345"]),
        ("2.3e-16 and 2e-15", ["2.3e-16", "2e-15"]),
        ("9 of them, in 26 s.", ["9", "26"]),
        ("-25 s", ["-25"]),
        ("**77** (88) 99% [66](a.md) 55ms 44-33", ["77", "88", "99", "66", "55", "44", "33"]),
        ("seed 2025, and Table 3.5 of 2024", ["2025", "3.5", "2024"]),
        ("Table 3 and 77 others, Tables 3 and 4, and 78", ["77", "78"]),
        ("Between Marzal and Sebastia 2024.5 lies.", ["2024.5"]),
        ("A number\n    777 in a line that is no code.", ["777"]),
        ("An excuse of 31 and of 32.", ["32"]),
        ("An excuse of 311.", ["311"]),
        ("## Another section\n\nA gap of 0.66%.", ["0.66"]),
        ("## Another section\n\n[An empty table](results/b.csv) has 0.66%.", ["0.66"]),
        ("## Another section\n\n[No table](results/none.csv) has 0.66%.", ["0.66"]),
        ("# Heading of 21\n\n`decost solve --time-limit 22` takes 22 s.", ["21", "22"]),
    ],
)
def test_unfounded(prose: str, numbers: list[str]) -> None:
    """Off in the last digit, of another sign, or from a table that the section does not link."""
    tables = {"results/a.csv": CSV, "results/b.csv": [], "results/c.csv": [["0.65", "9"]]}
    found = unfounded(TEXT.format(prose), tables, ["excuse of 31"])
    assert [one.text for one in found] == numbers


def test_lines_are_named() -> None:
    """A number is reported with the line that it is in, after code as well."""
    page = "Of 1\n\n```\n2\n3\n```\n\n| 4 | 5 |\n\n    6\n\nand\n7"
    assert [(one.line, one.text) for one in unfounded(page, {})] == [
        (1, "1"),
        (8, "4"),
        (8, "5"),
        (13, "7"),
    ]


@given(
    cell=st.decimals(-10_000, 10_000, places=4),
    places=st.integers(0, 4),
    digit=st.integers(1, 9),
    thousands=st.booleans(),
)
def test_rounding(cell: Decimal, places: int, digit: int, thousands: bool) -> None:
    """A number is found however it is rounded, and never if its last digit is another."""
    stated = round(float(cell), places)
    wrong = stated + digit * 10.0**-places
    for value, founded in ((stated, True), (wrong, False)):
        text = f"{value:{',' if thousands else ''}.{places}f}"
        page = f"[A table](a.csv): {text}%"
        assert (unfounded(page, {"a.csv": [["gap"], [str(cell)]]}) == []) == founded, text


@pytest.mark.parametrize(
    "prose",
    [
        "It takes 0.3 ms.",
        "It takes 5 s.",
        "A gap of 0.66%.",
        "| gap | 12% |",
        "| time | 0.3 s |",
        "(3 minutes)",
        "(30 us)",
        "Half of it after 20\nseconds.",
    ],
)
def test_measurements(prose: str) -> None:
    """Shares and times of any unit are measurements."""
    assert len(measurements(prose)) == 1


@pytest.mark.parametrize(
    "prose",
    ["The limit (10 s) is an option.", "| `auto` | 10 s |", "4 stops", "3 a unit", "`5 ms`", "7"],
)
def test_no_measurements(prose: str) -> None:
    """Limits in whole seconds are not, nor is what has no unit or is code."""
    assert measurements(prose) == []


@pytest.mark.parametrize(
    ("command", "table"),
    [
        ("decost bench main --scale full --out docs/results", "docs/results/main-full.csv"),
        ("decost bench --scale full ils-time", "docs/results/ils-time-full.csv"),
        ("decost bench all", "docs/results/team-quick.csv"),
        ("python -m benchmarks.plug --out docs/results/plug.csv", "docs/results/plug.csv"),
        ("python -m benchmarks.stays --kernels=some/kernels.csv", "docs/results/kernels.csv"),
    ],
)
def test_commands_that_write_a_table(command: str, table: str) -> None:
    """The name of an experiment and its scale, or the file, tells."""
    assert writes(command, table)


@pytest.mark.parametrize(
    ("command", "table"),
    [
        ("decost bench main", "docs/results/main-full.csv"),
        ("decost bench main --scale full", "docs/results/gaps-full.csv"),
        ("decost bench main --scale full", "docs/results/plug.csv"),
        ("decost bench all", "docs/results/plug.csv"),
        ("decost solve main --out plug.csv", "docs/results/plug.csv"),
        ("python -m benchmarks.plug", "docs/results/plug.csv"),
        ("python -m benchmarks.plug --out docs/results/another-plug.csv", "docs/results/plug.csv"),
        ("python -m other.plug --out plug.csv", "docs/results/plug.csv"),
    ],
)
def test_commands_that_do_not(command: str, table: str) -> None:
    """Another scale, experiment, file or program."""
    assert not writes(command, table)


def test_sections_have_the_links_and_commands_above() -> None:
    """What stands before the first subheading holds below it, and nowhere else."""
    page = (
        "`decost bench main` [a](a.csv)\n\n# One\n\n`decost bench gaps` [b](b.csv) [x](x.md)\n\n"
        "## Two\n\n    python -m benchmarks.stays \\\n        --out c.csv  # slow\n\n[c](c.csv)\n\n"
        "### Three\n\n```\ndecost bench team\n```\n\n[d](d.csv)\n\n### Four\n\n## Five\n"
    )
    before, one, two, three, four, five = sections(page)
    assert (before.links, before.commands) == (["a.csv"], ["decost bench main"])
    assert (one.links, one.commands) == (["b.csv"], ["decost bench gaps"])
    assert (two.links, two.commands) == (["c.csv"], ["python -m benchmarks.stays --out c.csv"])
    assert three.links == ["d.csv", "c.csv"]
    assert three.commands == ["decost bench team", "python -m benchmarks.stays --out c.csv"]
    assert (four.links, four.commands) == (two.links, two.commands)
    assert (five.links, five.commands) == ([], [])
