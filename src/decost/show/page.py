"""What all pages share: sizes, fonts, headings, axes, and how they are saved."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import (
    FontProperties,
    findfont,
    findSystemFonts,
    fontManager,
    get_font,
)
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path

from decost.files.writing import replacing
from decost.problem.instance import FloatArray
from decost.show.palette import DPI, INK, LIMIT, MUTED, RULE

FORMATS = ("png", "pdf", "svg")
"""Endings of the files that `save_figure` writes."""

# Lengths on the page in inches.
WIDTH, MARGIN, HEADING = 10.0, 0.35, 1.0

TEXT = 7.5  # points
DASHES = (0, (5, 2.5))
STEPS = (1, 2, 2.5, 5, 10)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure; a file that is there already is replaced at once or left as it is.

    Parameters
    ----------
    figure
        The picture.
    path
        Where to. Its ending is the format: .png, .pdf or .svg.

    Raises
    ------
    ValueError
        If the ending is none of these.
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    ending = target.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise ValueError(f"{target}: ends in {target.suffix!r}, choose from: {known}")
    with replacing(target) as temporary, temporary.open("wb") as file:
        figure.savefig(file, format=ending)


class Script(NamedTuple):
    """How to write what users named: literally, in fonts that have the characters."""

    families: tuple[str, ...]
    known: frozenset[int]

    @property
    def style(self) -> dict[str, Any]:
        """What matplotlib must know of it."""
        return {"fontfamily": list(self.families), "parse_math": False, "usetex": False}

    @property
    def font(self) -> FontProperties:
        """The same for what is not a single text."""
        return FontProperties(family=list(self.families), size=TEXT)

    def clean(self, text: str, longest: int) -> str:
        """Give the text in one line that is not too long, with ? for what no font has."""
        line = " ".join(text.split())
        if len(line) > longest:
            tail = min(11, longest // 2 - 1)  # names that begin alike may differ at their ends
            line = line[: longest - tail - 1].rstrip() + "…" + line[-tail:].lstrip()
        return "".join(character if ord(character) in self.known else "?" for character in line)

    def width(self, texts: Iterable[str], weight: str = "normal") -> float:
        """Width of the widest text in points; only the longest are measured, as it takes time."""
        font = FontProperties(family=list(self.families), size=TEXT, weight=weight)
        measure = text_to_path.get_text_width_height_descent
        longest = sorted({text for text in texts if text}, key=len)[-50:]
        return max((float(measure(text, font, False)[0]) for text in longest), default=0.0)


def find_script(text: str) -> Script:
    """Choose the default font, and others for the characters that it lacks.

    Characters that no font has become question marks, which is said in a warning.
    """
    default = FontProperties()
    families = [default.get_name()]
    known = set(get_font(findfont(default)).get_charmap())
    missing = {ord(letter) for letter in text if letter.isprintable() and letter != " "} - known
    missing = _look_for(missing, _plain_families() if missing else [], families, known)
    if missing:  # matplotlib remembers the fonts of its first day
        missing = _look_for(missing, _new_families(), families, known)
    if missing:
        some = "".join(map(chr, sorted(missing)[:10]))
        more = "" if len(missing) <= 10 else f" and {len(missing) - 10} more"
        warnings.warn(
            f"no font here has the characters {some}{more}: install one, such as Noto Sans CJK",
            stacklevel=2,
        )
    return Script(tuple(families), frozenset(known))


def _look_for(
    missing: set[int], candidates: Sequence[str], families: list[str], known: set[int]
) -> set[int]:
    """Add the families that have some of the missing characters; give what is still missing."""
    for family in candidates:
        if not missing:
            break
        found = missing.intersection(
            get_font(findfont(FontProperties(family=family))).get_charmap()
        )
        if found:
            families.append(family)
            known |= found
            missing = missing - found
    return missing


@cache
def _new_families() -> list[str]:
    """Add the fonts that were installed since matplotlib looked, and name their families."""
    old, seen = _plain_families(), {Path(font.fname) for font in fontManager.ttflist}
    for path in map(Path, findSystemFonts()):
        if path not in seen:
            with suppress(OSError, RuntimeError):
                fontManager.addfont(path)
    return [family for family in _plain_families() if family not in old]


def _plain_families() -> list[str]:
    fonts = [font for font in fontManager.ttflist if font.weight == 400 and font.style == "normal"]
    # A font of last resort has every character, all of them as boxes.
    return sorted({font.name for font in fonts if not font.name.startswith("Last Resort")})


def number_text(value: float) -> str:
    """Write a number in a few characters."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"


def write_heading(
    figure: Figure,
    heading: str,
    summary: str,
    script: Script,
    complaint: str = "",
    remark: str = "",
) -> None:
    """Write the two lines at the top of the page, a remark, and a line if something is wrong."""
    height = figure.get_figheight()
    left = MARGIN / WIDTH
    figure.text(left, 1 - 0.42 / height, heading, size=14, color=INK, **script.style)
    figure.text(left, 1 - 0.66 / height, summary, size=9.5, color=MUTED)
    if remark:
        figure.text(left, 1 - 0.88 / height, remark, size=9.5, color=MUTED)
    if complaint:
        at = (left, 1 - (1.10 if remark else 0.88) / height)
        figure.text(*at, complaint, size=9.5, weight="bold", color=LIMIT, **script.style)


def write_title(axes: Axes, title: str, remark: str = "", raised: float = 0.0) -> None:
    """Write a title above the axes, at the left margin of the page."""
    offset: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False}
    left, above = (MARGIN - axes.get_position().x0 * WIDTH) * 72, 7 + raised
    first = axes.annotate(
        title, (0, 1), (left, above), "axes fraction", size=9.5, weight="bold", color=INK, **offset
    )
    beside = (first, "axes fraction")
    axes.annotate(remark, (1, 1), (8, above), beside, size=8, color=MUTED, **offset)


def add_axes(figure: Figure, label: str, at: tuple[float, float, float, float]) -> Axes:
    """Add axes at (left, top, width, height) in inches from the upper left corner."""
    left, top, width, height = at
    total = figure.get_figheight()
    rectangle = (left / WIDTH, 1 - (top + height) / total, width / WIDTH, height / total)
    axes = figure.add_axes(rectangle, label=label, facecolor="white")
    axes.tick_params(labelsize=7, color=RULE, labelcolor=MUTED, length=2.5, width=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set(size=7)
    for spine in axes.spines.values():
        spine.set(color=RULE, linewidth=0.6)
    return axes


def size_of(axes: Axes) -> FloatArray:
    """Width and height in points."""
    box = axes.get_window_extent()
    return np.array([box.width, box.height]) * 72 / DPI


def make_marker(label: str, marker: str, area: float, face: str, edge: str, width: float) -> Line2D:
    """Make a marker to be put somewhere, or to stand in a key."""
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=area**0.5,
        markerfacecolor=face,
        markeredgecolor=edge,
        markeredgewidth=width,
        label=label,
        zorder=4,
    )
