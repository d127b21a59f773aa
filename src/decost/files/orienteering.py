"""Files of the orienteering problem: OPLib's, Tsiligirides', and Chao's for teams.

OPLib's files are TSPLIB's with scores and a limit on the cost (Kobeaga, Merino and Lozano, "An
efficient evolutionary algorithm for the orienteering problem", 2018); the rules for distances are
those of Reinelt, "TSPLIB - A traveling salesman problem library" (1991).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from decost.files.limits import MAX_MATRIX_CELLS, FormatError
from decost.problem.distances import straight_lines
from decost.problem.instance import MAX_STOPS, FloatArray, Instance

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PATHS = re.compile(
    rf"\s*({_NUMBER})[ \t]+(\d{{1,9}})(?=[ \t]*[\r\n]\s*{_NUMBER}[ \t]+{_NUMBER}[ \t]+\S)"
)
_TEAM = re.compile(rf"\s*n[ \t]+(\d{{1,9}})\s+m[ \t]+(\d{{1,9}})\s+tmax[ \t]+({_NUMBER})(?!\S)")
_LINE = re.compile(r"\S[^\r\n]*")

_TRIANGLES = {
    "UPPER_ROW": ("upper", 1),
    "LOWER_ROW": ("lower", -1),
    "UPPER_DIAG_ROW": ("upper", 0),
    "LOWER_DIAG_ROW": ("lower", 0),
    "UPPER_COL": ("lower", -1),
    "LOWER_COL": ("upper", 1),
    "UPPER_DIAG_COL": ("lower", 0),
    "LOWER_DIAG_COL": ("upper", 0),
}
"""Triangles of symmetric matrices as they are read row by row, and their first diagonal."""


class _Part(NamedTuple):
    """What a field or a section holds: its text, and where in the file that begins."""

    text: str
    at: int


class _File:
    """A text of which every complaint names the line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def refuse(self, at: int, why: str) -> NoReturn:
        """Raise an error about what stands there."""
        line = self._text.count("\n", 0, at) + 1
        raise FormatError(f"{self._path}: line {line}: {why}")

    def number(self, at: int, word: str, what: str) -> float:
        """Read a number."""
        try:
            number = float(word)
        except ValueError:
            self.refuse(at, f"{what} = {word[:100]!r}: must be a number")
        if not np.isfinite(number):
            self.refuse(at, f"{what} = {word}: must be finite")
        return number

    def rows(self, part: _Part, columns: tuple[str, ...], most: int) -> FloatArray:
        """Read lines of so many numbers each, no more than `most` of them."""
        rows: list[list[float]] = []
        for line in _LINE.finditer(part.text):
            at = part.at + line.start()
            words = line[0].split(maxsplit=len(columns) + 1)
            if len(words) != len(columns):
                self.refuse(at, f"has {len(words)} columns, must be {' '.join(columns)}")
            if len(rows) == most:
                self.refuse(at, f"is one more than the {most} rows there may be")
            pairs = zip(columns, words, strict=True)
            rows.append([self.number(at, word, column) for column, word in pairs])
        return np.array(rows).reshape(len(rows), len(columns))

    def numbers(self, part: _Part, count: int, what: str) -> FloatArray:
        """Read exactly so many numbers, in lines of any length."""
        words = list(islice(re.finditer(r"\S+", part.text), count + 1))
        if len(words) != count:
            more = "more than " if len(words) > count else ""
            found = f"there are {more}{min(count, len(words))} numbers, must be {count}"
            self.refuse(part.at, f"{what}: {found}")
        return np.array([self.number(part.at + word.start(), word[0], what) for word in words])


def holds_oplib(text: str) -> bool:
    """Whether text begins as files of TSPLIB's kind do: a line says the `DIMENSION`."""
    return re.search(r"(?m)^[ \t]*DIMENSION[ \t]*:", text[:20_000]) is not None


def holds_team(text: str) -> bool:
    """Whether text begins as Chao's files do: lines say `n`, `m` and `tmax`."""
    return _TEAM.match(text) is not None


def holds_paths(text: str) -> bool:
    """Whether text begins as Tsiligirides' files do: `Tmax paths`, then rows of three numbers."""
    return _PATHS.match(text) is not None


def read_team(path: Path, text: str) -> Instance:
    """Read a file of Chao's: all vehicles start at the first row and end at the last one."""
    head = _TEAM.match(text)
    assert head is not None
    nodes = _nodes(_File(path, text), _Part(text[head.end() :], head.end()))
    if len(nodes) != int(head[1]):
        raise FormatError(f"{path}: n = {head[1]}: but there are {len(nodes)} rows")
    return _between_two_places(path, nodes, float(head[3]), int(head[2]))


def read_paths(path: Path, text: str) -> Instance:
    """Read a file of Tsiligirides': the first row is the start, the second one the end."""
    head = _PATHS.match(text)
    assert head is not None
    nodes = _nodes(_File(path, text), _Part(text[head.end() :], head.end()))
    nodes = np.concatenate([nodes[:1], nodes[2:], nodes[1:2]])
    return _between_two_places(path, nodes, float(head[1]), int(head[2]))


def _nodes(file: _File, part: _Part) -> FloatArray:
    nodes = file.rows(part, ("x", "y", "score"), MAX_STOPS + 2)
    if len(nodes) < 2:
        file.refuse(part.at, f"there are {len(nodes)} rows, must be at least a start and an end")
    return nodes


def _between_two_places(path: Path, nodes: FloatArray, budget: float, vehicles: int) -> Instance:
    """Make an instance of rows x, y, score: the start, the stops, the end."""
    for row, what in ((nodes[0], "start"), (nodes[-1], "end")):
        if row[2] != 0.0:
            raise FormatError(f"{path}: score of the {what} = {row[2]:g}: must be 0")
    return Instance(
        name=path.stem,
        budget=budget,
        xy=nodes[:, :2],
        separate_end=True,
        reward=nodes[:-1, 2],
        vehicles=vehicles,
    )


def read_oplib(path: Path, text: str) -> Instance:
    """Read a file of OPLib's: stop k is its node k, and distances are by TSPLIB's rules.

    The depot is a node with a score, which published totals contain. It is a stop as well, at
    the place of the depot, so that visiting it costs nothing and earns the score.
    """
    file = _File(path, text)
    fields = _fields(file, text)

    def given(name: str) -> _Part:
        if name not in fields:
            raise FormatError(f"{path}: {name}: is missing")
        return fields[name]

    def number(name: str) -> float:
        return file.number(given(name).at, given(name).text, name)

    def by_node(name: str, columns: tuple[str, ...]) -> FloatArray:
        rows = file.rows(given(name), ("node", *columns), nodes)
        wrong = np.flatnonzero(rows[:, 0] != np.arange(1, len(rows) + 1))
        if len(wrong):
            found, wanted = rows[wrong[0], 0], wrong[0] + 1
            file.refuse(given(name).at, f"{name}: node {found:g}: out of order, must be {wanted}")
        if len(rows) != nodes:
            file.refuse(given(name).at, f"{name}: there are {len(rows)} rows, must be {nodes}")
        return rows[:, 1:]

    kind = fields.get("TYPE", _Part("OP", 0))
    if kind.text.upper() != "OP":
        file.refuse(kind.at, f"TYPE = {kind.text}: must be OP")
    size = number("DIMENSION")
    if size != int(size) or not 1 <= size <= MAX_STOPS:
        file.refuse(given("DIMENSION").at, f"DIMENSION = {size:g}: must be from 1 to {MAX_STOPS}")
    nodes = int(size)
    depots = file.rows(given("DEPOT_SECTION"), ("node",), 2)[:, 0].tolist()
    if len(depots) != 2 or depots[1] != -1 or depots[0] not in range(1, nodes + 1):
        said = " ".join(f"{one:g}" for one in depots)
        file.refuse(given("DEPOT_SECTION").at, f"DEPOT_SECTION = {said}: must be a node, then -1")
    scores = by_node("NODE_SCORE_SECTION", ("score",))[:, 0]
    weights = given("EDGE_WEIGHT_TYPE")
    xy = None
    if weights.text.upper() == "EXPLICIT":
        distances = _matrix(file, given("EDGE_WEIGHT_FORMAT"), given("EDGE_WEIGHT_SECTION"), nodes)
        if "DISPLAY_DATA_SECTION" in fields:
            xy = by_node("DISPLAY_DATA_SECTION", ("x", "y"))
    elif rule := _RULES.get(weights.text.upper()):
        xy = by_node("NODE_COORD_SECTION", ("x", "y"))
        distances = rule(xy)
        if rule is geo:
            xy = _degrees(xy)[:, ::-1]
    else:
        allowed = ", ".join([*_RULES, "EXPLICIT"])
        file.refuse(weights.at, f"EDGE_WEIGHT_TYPE = {weights.text}: must be one of {allowed}")
    places = np.array([int(depots[0]) - 1, *range(nodes)])
    return Instance(
        name=fields["NAME"].text if "NAME" in fields else path.stem,
        budget=number("COST_LIMIT"),
        xy=None if xy is None else xy[places],
        travel=distances[np.ix_(places, places)],
        reward=[0.0, *scores],
    )


def _fields(file: _File, text: str) -> dict[str, _Part]:
    """Find the fields `NAME : value` of a file, and its sections of rows."""
    fields: dict[str, _Part] = {}
    heads = re.finditer(r"(?m)^[ \t]*([A-Z][A-Z0-9_]*)[ \t]*(?::[ \t]*([^\r\n]*))?", text)
    section = ""
    for head in islice(heads, 100):
        name, value = head[1], head[2]
        if section:
            begin = fields[section].at
            fields[section] = _Part(text[begin : head.start()], begin)
            section = ""
        if name == "EOF":
            break
        if name in fields and name != "COMMENT":
            file.refuse(head.start(1), f"{name}: is there twice")
        fields[name] = _Part((value or "").strip(), head.start(1))
        if name.endswith("_SECTION"):
            section = name
            fields[name] = _Part(text[head.end() :], head.end())
    return fields


def _matrix(file: _File, form: _Part, part: _Part, nodes: int) -> FloatArray:
    """Read distances that are written one by one."""
    cells = nodes * nodes
    if cells > MAX_MATRIX_CELLS:
        file.refuse(part.at, f"{cells} distances are more than {MAX_MATRIX_CELLS}")
    name = form.text.upper()
    if name == "FULL_MATRIX":
        return file.numbers(part, cells, "distance").reshape(nodes, nodes)
    if name not in _TRIANGLES:
        allowed = ", ".join(["FULL_MATRIX", *_TRIANGLES])
        file.refuse(form.at, f"EDGE_WEIGHT_FORMAT = {form.text}: must be one of {allowed}")
    side, diagonal = _TRIANGLES[name]
    triangle = np.triu_indices if side == "upper" else np.tril_indices
    rows, columns = triangle(nodes, diagonal)
    matrix = np.zeros((nodes, nodes))
    matrix[rows, columns] = matrix[columns, rows] = file.numbers(part, len(rows), "distance")
    return matrix


def euclidean(xy: FloatArray) -> FloatArray:
    """Straight lines, rounded (EUC_2D)."""
    return np.floor(straight_lines(xy) + 0.5)


def ceiling(xy: FloatArray) -> FloatArray:
    """Straight lines, rounded up (CEIL_2D)."""
    return np.ceil(straight_lines(xy))


def att(xy: FloatArray) -> FloatArray:
    """Straight lines divided by the root of 10, rounded up (ATT)."""
    x, y = xy.T
    squares: FloatArray = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    return np.ceil(np.sqrt(squares / 10.0))


def geo(xy: FloatArray) -> FloatArray:
    """Kilometres on a globe (GEO), with the radius, the pi and the rounding of TSPLIB."""
    latitude, longitude = (3.141592 * _degrees(xy) / 180.0).T
    apart = np.cos(longitude[:, None] - longitude)
    less, more = latitude[:, None] - latitude, latitude[:, None] + latitude
    cosine = 0.5 * ((1.0 + apart) * np.cos(less) - (1.0 - apart) * np.cos(more))
    distances: FloatArray = np.floor(6378.388 * np.arccos(np.clip(cosine, -1.0, 1.0)) + 1.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def _degrees(xy: FloatArray) -> FloatArray:
    """Give degrees for coordinates that are written as degrees and, after the point, minutes."""
    whole = np.trunc(xy)
    return whole + (xy - whole) * 5.0 / 3.0


_RULES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "EUC_2D": euclidean,
    "CEIL_2D": ceiling,
    "ATT": att,
    "GEO": geo,
}
