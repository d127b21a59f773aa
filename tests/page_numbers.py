"""Reads pages in Markdown: the numbers they state, and the tables and commands that found them.

A number counts where it is read as one: not in code, in the target of a link, in a picture, or in
a name (n=50, c101, Table 3). It is founded if a table that its section links holds it, rounded to
as many digits, or if it is an argument of a command there that writes tables. What is linked or
named between a heading and its first subheading holds for the subsections too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias

Table: TypeAlias = Sequence[Sequence[str]]
"""Cells of a CSV file, the heading among them."""

_DIGITS = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w.])[-+\u2212]?(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?|{_DIGITS})")
_ARGUMENT = re.compile(rf"(?<![^\s=,\"'])-?{_DIGITS}(?![^\s=,\"'])")
_NAME = re.compile(
    r"""
      \b(?:n|TW)=\d+
    | \b(?:Table|Figure|Algorithm|[Pp]anel|[Ee]quation|[Aa]ppendix|[Ss]ection)
      (?:\s+\d+|s\s+\d+(?:(?:,|\s+and|\s+to)\s+\d+)*)(?![.,]?\d)
    | \b(?:et\s+al\.|and(?:\s+[A-Z][a-z]+)+|ICLR),?\s+\(?(?:19|20)\d\d\b(?![.,]\d)
    | \barXiv\s+\d+\.\d+
    | \bPython\s+\d+\.\d+
    | \b\d-opt\b
    """,
    re.VERBOSE,
)
_FENCED = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n(.*?)(?:^ {0,3}\1[`~]*[ ]*$|\Z)", re.M | re.S)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4}[^\n]*(?:\n|\Z))+")
_INLINE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.S)
_COMMAND = re.compile(r"\s*(?:\$ )?((?:decost\s+bench\b|python\s+-m\s+benchmarks\.).*)", re.S)
_HEADING = re.compile(r"^(#{1,6}) +(.*)$", re.M)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\]\(([^()\s]*)\)")
_ADDRESS = re.compile(r"<?https?://[^\s>)]+>?")
_UNIT = re.compile(
    r"\s?(?:%|(?:per ?cent|[mnu\u00b5\u03bc]?s|min|h|(?:\w*second|minute|hour|day)s?)\b)"
)


class Number(NamedTuple):
    """A number as a page states it, without a percent sign, and where."""

    line: int
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends in the page."""
        return self.start + len(self.text)


class Section(NamedTuple):
    """A heading and the text up to the next one; tables and commands also from above it."""

    numbers: list[Number]
    links: list[str]
    commands: list[str]


class _Page(NamedTuple):
    """The prose of a page, all else being blanks, and with their places its links and commands."""

    prose: str
    links: list[tuple[int, str]]
    commands: list[tuple[int, str]]


def sections(page: str) -> list[Section]:
    """Split a page by its headings; the first section is what comes before them."""
    prose, links, commands = _read(page)
    headings = list(_HEADING.finditer(prose))
    starts = [0, *(heading.start() for heading in headings), len(page)]
    levels = [0, *(len(heading[1]) for heading in headings)]
    numbers = _numbers(prose)
    found: list[Section] = []
    for k, level in enumerate(levels):
        here = range(starts[k], starts[k + 1])
        above = next((j for j in range(k - 1, 0, -1) if 2 <= levels[j] < level), None)
        found.append(
            Section(
                [number for number in numbers if number.start in here],
                [link for at, link in links if at in here and link.endswith(".csv")]
                + (found[above].links if above else []),
                [command for at, command in commands if at in here]
                + (found[above].commands if above else []),
            )
        )
    return found


def unfounded(page: str, tables: Mapping[str, Table], excused: Iterable[str] = ()) -> list[Number]:
    """List the numbers of a page that neither a table nor a command of their section holds.

    Parameters
    ----------
    page
        The text in Markdown.
    tables
        The tables by their links as the page writes them.
    excused
        Excerpts of the page; the numbers in them need no table.
    """
    spans = _spans(page, excused)
    values = {link: _values(table) for link, table in tables.items()}
    return [
        number
        for section in sections(page)
        for number in section.numbers
        if not _lies_in(number, spans)
        and not any(_holds(values.get(link, []), number.text) for link in section.links)
        and not any(_value(number.text) in _arguments(text) for text in section.commands)
    ]


def measurements(page: str, excused: Iterable[str] = ()) -> list[Number]:
    """List the numbers of a page that look measured: with a percent sign or a unit of time.

    Whole seconds in a table or in brackets are limits of time, which are chosen.
    """
    prose, spans = _read(page).prose, _spans(page, excused)
    found = []
    for number in _numbers(prose):
        unit = _UNIT.match(prose, number.end)
        if unit is None or _lies_in(number, spans):
            continue
        line = prose[prose.rfind("\n", 0, number.start) + 1 : number.start]
        chosen = unit[0].strip() == "s" and number.text.isdigit()
        if not (chosen and (line.startswith("|") or line.endswith("("))):
            found.append(number)
    return found


def writes(command: str, table: str) -> bool:
    """Tell from the words of a command whether it writes a table."""
    words = command.replace("=", " ").split()
    file = table.rpartition("/")[2]
    if words[:2] == ["decost", "bench"]:
        scale = words[words.index("--scale") + 1] if "--scale" in words else "quick"
        name = file.removesuffix(f"-{scale}.csv")
        return name != file and (name in words[2:] or "all" in words[2:])
    if words[:2] == ["python", "-m"] and words[2].startswith("benchmarks."):
        return file in (word.rpartition("/")[2] for word in words[3:])
    return False


def _read(page: str) -> _Page:
    """Find code, links and pictures, and blank them out; all that is left stays in its place."""
    commands: list[tuple[int, str]] = []
    links: list[tuple[int, str]] = []

    def block(match: re.Match[str]) -> str:
        for line in match[match.lastindex or 0].replace("\\\n", " ").splitlines():
            take(match.start(), line.partition(" #")[0])
        return _blank(match[0])

    def inline(match: re.Match[str]) -> str:
        take(match.start(), match[2])
        return _blank(match[0])

    def take(at: int, text: str) -> None:
        if found := _COMMAND.match(text):
            commands.append((at, " ".join(found[1].split())))

    def link(match: re.Match[str]) -> str:
        links.append((match.start(), match[1]))
        return _blank(match[0])

    prose = _FENCED.sub(block, page)
    prose = _INDENTED.sub(block, prose)
    prose = _INLINE.sub(inline, prose)
    for kind in (_IMAGE, _ADDRESS):
        prose = kind.sub(lambda match: _blank(match[0]), prose)
    prose = _LINK.sub(link, prose)
    return _Page(prose, links, commands)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _numbers(prose: str) -> list[Number]:
    named = _NAME.sub(lambda match: _blank(match[0]).replace(" ", "_"), prose)
    return [
        Number(1 + prose.count("\n", 0, match.start()), match[0], match.start())
        for match in _NUMBER.finditer(named)
    ]


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", "").replace("\u2212", "-"))


def _values(table: Table) -> list[Decimal]:
    """List all numbers in the cells of a table, also those within words, in order."""
    return sorted(
        _value(match[0]) for line in table for cell in line for match in _NUMBER.finditer(cell)
    )


def _holds(values: Sequence[Decimal], number: str) -> bool:
    """Tell whether one of the values is the number when it is rounded to as many digits."""
    value = _value(number)
    half = Decimal((0, (5,), int(value.as_tuple().exponent) - 1))
    k = bisect_left(values, value - half)
    return k < len(values) and values[k] <= value + half


def _arguments(command: str) -> set[Decimal]:
    return {Decimal(match[0]) for match in _ARGUMENT.finditer(command)}


def _spans(page: str, excerpts: Iterable[str]) -> list[range]:
    """Find excerpts in a page, wherever their lines end."""
    patterns = (r"\s+".join(map(re.escape, excerpt.split())) for excerpt in excerpts)
    return [range(*match.span()) for text in patterns for match in re.finditer(text, page)]


def _lies_in(number: Number, spans: Iterable[range]) -> bool:
    return any(span.start <= number.start and number.end <= span.stop for span in spans)
