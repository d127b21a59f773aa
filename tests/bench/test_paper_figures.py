"""The paper's figures that stand beside ours are those of its text, digit by digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from decost.bench import ablation, ptar, stay_ratio
from decost.bench.tables import read_toml
from decost.learn.config import TrainConfig

METHODS = {
    "B&C": "milp",
    "Greedy-PRS": "greedy",
    "ILS": "ils",
    "GFACS (Greedy)": "gfacs stays=greedy",
    "GFACS": "gfacs",
    "POMO": "pomo",
    "DeCoST": "decost",
    "DeCoST (Ours)": "decost",
}
"""Our names of the paper's methods."""

_RULES = re.compile(r"\\(toprule|midrule|bottomrule|hline|small)\b")
_SPANS = re.compile(r"\\multi(?:row|column)\{[^{}]*\}\{[^{}]*\}")
_MARKUP = re.compile(r"\\(?:textbf|underline|gao)\b")


def ours(bench: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Give the figures that stand beside a bench, by setting and method."""
    settings = {
        key: some for key, some in read_toml("paper.toml")[bench].items() if key != "columns"
    }
    return {
        key: {name: tuple(cells) for name, cells in some.items()} for key, some in settings.items()
    }


@pytest.fixture(scope="module")
def paper() -> str:
    """Text of the paper, which lies beside the project."""
    file = Path(__file__).resolve().parents[2].parent / "shared/seeds/000_772157616992d0d5.txt"
    if not file.is_file():
        pytest.skip("the text of the paper is not here")
    return file.read_text(encoding="utf-8")


def after(text: str, label: str) -> str:
    """Give the section that follows a label."""
    return text.partition(rf"\label{{{label}}}")[2].partition(r"\subsection{")[0]


def rows_of(text: str, label: str) -> list[list[str]]:
    """Give the cells of a table: the last before its own label, or the first in a section."""
    begin, end = r"\begin{tabular}", r"\end{tabular}"
    if label.startswith("tab:"):
        inside = text.partition(rf"\label{{{label}}}")[0].rpartition(begin)[2]
    else:
        inside = after(text, label).partition(begin)[2]
    body = inside.partition(end)[0].partition("}")[2]  # without the columns' alignment
    lines = re.split(r"\\\\", _RULES.sub("", body))
    return [[clean(cell) for cell in re.split(r"(?<!\\)&", line)] for line in lines if line.strip()]


def clean(cell: str) -> str:
    """Take a cell without markup; a dash stands for nothing."""
    bare = _MARKUP.sub("", _SPANS.sub("", cell))
    text = re.sub(r"[{}$\\]", "", bare).strip().removesuffix("%").removeprefix("+")
    return "" if text.strip("-") == "" else text


def by_setting(rows: list[list[str]]) -> dict[str, dict[str, tuple[str, str, str]]]:
    """Read a table with two settings side by side, and two below them."""
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    pair: list[str] = []
    for row in rows:
        heads = re.findall(r"n = (\d+), TW = (\d+)", " ".join(row))
        if heads:
            pair = [f"n={nodes}, TW={window}" for nodes, window in heads]
        elif not row[2].startswith("Score"):
            label, *cells = row[1:]
            for k, setting in enumerate(pair):
                score, gap, time = cells[3 * k : 3 * k + 3]
                found.setdefault(setting, {})[label] = (score, gap, time)
    return found


def milliseconds(time: str) -> str:
    """Write a time as ours are: in milliseconds, the unit if no other is given."""
    if time.startswith(">"):
        return re.sub(r">(\d+)h", r"more than \1 h", time)
    return f"{time[:-1]}000" if time.endswith("s") else time


def test_main(paper: str) -> None:
    """Tables 1 and 2: all methods on five settings, score, gap and runtime."""
    table = by_setting(rows_of(paper, "tab:comparison"))
    _, *large = rows_of(paper, "tab:comparisonn500")
    table["n=500, TW=100"] = {label: (score, gap, time) for label, score, gap, time in large}
    assert {
        setting: {
            METHODS[label]: (score, gap, milliseconds(time))
            for label, (score, gap, time) in methods.items()
        }
        for setting, methods in table.items()
    } == ours("main")
    assert sum(map(len, ours("main").values())) == 5 * 7


def test_gaps(paper: str) -> None:
    """Appendix B.2: the distribution of gaps, with the columns in our order."""
    head, *rows = rows_of(paper, "appendix:suppleexp:disturb")
    assert head[1:] == ["mean", "std", "median", "q25", "q75", "min", "max"]
    assert {METHODS[label]: tuple(cells) for label, *cells in rows} == ours("gaps")["all"]
    assert len(rows) == 5


def test_ablation(paper: str) -> None:
    """Table 3: score, gap and runtime, and what each variant has."""
    found: dict[int, dict[tuple[bool, ...], tuple[str, ...]]] = {}
    window = 0
    for row in rows_of(paper, "tab:ablation_50")[1:]:
        if len(row) == 1:
            window = int(row[0].removeprefix("TW = "))
        else:
            marks = tuple(cell == "cmark" for cell in row[1:4])
            found.setdefault(window, {})[marks] = tuple(row[4:])
    assert {
        int(window.removeprefix("TW=")): {switches(label): cells for label, cells in some.items()}
        for window, some in ours("ablation").items()
    } == found
    assert [len(variants) for variants in found.values()] == [4, 4]


def switches(label: str) -> tuple[bool, bool, bool]:
    """Give spatial encoding, stage two and pTAR loss of a variant that we train."""
    config = TrainConfig(**ablation.VARIANTS[label])  # type: ignore[arg-type]
    return config.spatial_encoding, config.stay_optimisation, config.ptar


def test_solomon(paper: str) -> None:
    """Table 4: score, gap and, in the names of the methods, the seconds."""
    found = {}
    for label, *cells in rows_of(paper, "tab:comparison_solomon")[1:]:
        if any(cells):
            name, seconds = re.findall(r"(\w+) \(T=([\d.]+)s\)", label)[0]
            words = f"ils time_limit={seconds}" if name == "ILS" else METHODS[name]
            found[words] = (*cells, seconds)
    assert {"all": found} == ours("solomon")
    assert len(found) == 3


def test_ils_time(paper: str) -> None:
    """Appendix B.1: an ILS's runtime is when its plan was found, DeCoST's is the time it takes."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for setting, methods in by_setting(rows_of(paper, "appendix:suppleexp:ils")).items():
        of_setting = found.setdefault(setting, {})
        for label, (score, gap, time) in methods.items():
            limits = re.findall(r"ILS \((\d+) s\)", label)
            if limits and time:
                of_setting[f"ils time_limit={limits[0]}"] = (score, gap, time, "")
            elif label == "DeCoST (Ours)":
                of_setting["decost"] = (score, gap, "", time)
    assert found == ours("ils-time")
    assert [len(methods) for methods in found.values()] == [4, 4, 5, 5]


def test_team(paper: str) -> None:
    """Appendix B.3: scores, and what they are above POMO's."""
    rows = rows_of(paper, "tab:TOPTWVPcomparison")
    found = {METHODS[row[1]]: tuple(row[2:]) for row in rows if row[1] in METHODS and row[3:]}
    assert {"all": found} == ours("team")
    assert len(found) == 3


def test_sensitivity(paper: str) -> None:
    """Appendix B.4: gaps of 25 pairs, and their mean and deviation in the text below them."""
    head, *rows = rows_of(paper, "appendix:suppleexp:senitivity")
    betas = head[1:]
    found = {
        beta1: {beta2: (cell, "") for beta2, cell in zip(betas, cells, strict=True)}
        for beta1, *cells in rows
    }
    below = after(paper, "appendix:suppleexp:senitivity").partition(r"\end{table}")[2]
    found["all"] = {"all": tuple(re.findall(r"([\d.]+)\\%", below)[-2:])}
    assert found == ours("sensitivity")
    assert len(betas) == len(rows) == 5


def test_stay_ratio(paper: str) -> None:
    """Appendix B.5: from 0% to 100% in steps of 10%, of which one has a gap in the text."""
    section = after(paper, "appendix:suppleexp:initial service time")
    first, last, step, share, gap = re.findall(r"([\d.]+)\\%", section)
    assert ours("stay-ratio") == {"all": {share: (gap,)}}
    percents = range(int(first), int(last) + 1, int(step))
    assert stay_ratio.BENCH.full.percents == tuple(percents)


def test_ptar(paper: str) -> None:
    """Appendix B.6: gaps and runtimes of two sizes, what both change by, and the efficiency."""
    head, without, with_it, change, efficiency = rows_of(paper, "appendix:suppleexp:ptar")
    found = {}
    for column in (1, 3):
        nodes = re.sub(r"\D", "", head[column])
        pair = slice(column, column + 2)
        found[f"n={nodes}"] = {
            ptar.WITHOUT: (*without[pair], "", "", ""),
            ptar.WITH: (*with_it[pair], *change[pair], efficiency[column]),
        }
    assert found == ours("ptar")
    assert without[0].removesuffix(ptar.WITHOUT) == f"{with_it[0]} "
