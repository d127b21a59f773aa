"""Tests of the orienteering problem's files: OPLib's, Tsiligirides' and Chao's."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from foreign_files import refusal

import decost
from command_line import Call
from decost import Instance
from decost.files.orienteering import att, ceiling, euclidean, geo
from decost.problem.instance import MAX_STOPS
from oracle import brute_force

OPLIB = """NAME : tiny
TYPE : OP
COMMENT : three nodes
DIMENSION : 3
COST_LIMIT : 7
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 1 1
3 2.0 3e0
NODE_SCORE_SECTION
1 74
2 10
3 7
DEPOT_SECTION
1
-1
EOF
"""

PATHS = "12.5\t2\n0.0\t0.0\t0\n6\t8\t0\n3\t0\t10\n3\t4\t20\n"

TEAM = "n 4\nm 2\ntmax 12.5\n0.0\t0.0\t0\n3\t0\t10\n3\t4\t20\n6\t8\t0\n"


def test_oplib(tmp_path: Path) -> None:
    """Stop k is node k, the depot among them, whose score is earned at no cost.

    The distances are the roots of 2, 13 and 5: rounded 1, 4 and 2. All is visited in 1 + 2 + 4.
    """
    path = tmp_path / "a.oplib"
    path.write_text(OPLIB)
    instance = decost.read(path)
    assert instance == Instance(
        name="tiny",
        budget=7,
        xy=[[0, 0], [0, 0], [1, 1], [2, 3]],
        travel=[[0, 0, 1, 4], [0, 0, 1, 4], [1, 1, 0, 2], [4, 4, 2, 0]],
        reward=[0, 74, 10, 7],
    )
    assert instance.problem == "OP"
    assert brute_force(instance) == (0, 91)
    assert brute_force(instance.replace(budget=6.9)) == (0, 84)
    path.write_text(OPLIB.replace("DEPOT_SECTION\n1", "DEPOT_SECTION\n2"))
    assert decost.read(path).travel[0].tolist() == [0, 1, 0, 2]


def test_rules_for_distances() -> None:
    """TSPLIB's rules, worked out by hand: halves go up, and ATT and CEIL_2D never go down."""
    points = np.array([[0, 0], [1.5, 2], [3, 4]])
    assert euclidean(points)[0].tolist() == [0, 3, 5]
    assert ceiling(points)[0].tolist() == [0, 3, 5]
    assert ceiling(np.array([[0, 0], [1, 1]]))[0].tolist() == [0, 2]
    # The roots of 100 / 10, 1000 / 10 and 900 / 10: 3.16, 10 and 9.49.
    points = np.array([[0, 0], [10, 0], [10, 30]])
    assert att(points).tolist() == [[0, 4, 10], [4, 0, 10], [10, 10, 0]]


def test_distances_on_the_globe() -> None:
    """Half a degree is 55.66 km and a quarter of the globe 10019.15 km; GEO goes up.

    Minutes are behind the point, also of what is negative: 0.30 is half a degree. The last row is
    the beginning of TSPLIB's burma14, whose distances are known.
    """
    points = np.array([[0, 0], [0, 0.30], [0, -0.30], [90, 0]])
    assert geo(points)[0].tolist() == [0, 56, 56, 10020]
    assert geo(points)[1, 2] == 112  # 111.32
    burma = np.array([[16.47, 96.10], [16.47, 94.44], [20.09, 92.54], [22.39, 93.37]])
    assert geo(burma)[0].tolist() == [0, 153, 510, 706]


def explicit(form: str, numbers: str) -> str:
    """Give a file with its distances one by one."""
    head, rest = OPLIB.split("NODE_COORD_SECTION")
    matrix = f"EDGE_WEIGHT_FORMAT : {form}\nEDGE_WEIGHT_SECTION\n{numbers}\n"
    scores = rest[rest.index("NODE_SCORE_SECTION") :]
    return head.replace("EUC_2D", "EXPLICIT") + matrix + scores


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("FULL_MATRIX", "0 1 2 1 0 3 2 3 0"),
        ("UPPER_ROW", "1 2\n3"),
        ("LOWER_ROW", "1\n2 3"),
        ("UPPER_DIAG_ROW", "0 1 2 0\n3 0"),
        ("LOWER_DIAG_ROW", "0 1 0\n2 3 0"),
        ("UPPER_COL", "1 2 3"),
        ("LOWER_COL", "1 2 3"),
        ("UPPER_DIAG_COL", "0 1 0 2 3 0"),
        ("LOWER_DIAG_COL", "0 1 2 0 3 0"),
    ],
)
def test_explicit_distances(tmp_path: Path, form: str, numbers: str) -> None:
    """All ways of writing the distances 1, 2 and 3 between three nodes give the same matrix."""
    path = tmp_path / "a.oplib"
    path.write_text(explicit(form, numbers))
    instance = decost.read(path)
    assert instance.xy is None
    assert instance.travel[1:, 1:].tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert instance.travel[0].tolist() == [0, 0, 1, 2]


def test_places_of_explicit_distances(tmp_path: Path) -> None:
    """What a file shows of its nodes is where they are on the map."""
    text = explicit("UPPER_ROW", "1 2 3")
    shown = "DISPLAY_DATA_SECTION\n1 5 6\n2 7 8\n3 9 1\n"
    path = tmp_path / "a.oplib"
    path.write_text(text.replace("NODE_SCORE", shown + "NODE_SCORE"))
    xy = decost.read(path).xy
    assert xy is not None
    assert xy.tolist() == [[5, 6], [5, 6], [7, 8], [9, 1]]


@pytest.mark.parametrize("text", [PATHS, TEAM])
def test_start_and_end(tmp_path: Path, text: str) -> None:
    """Both kinds of files say the same here: two vehicles from (0, 0) to (6, 8), 10 away.

    By way of (3, 4) it is no longer, by way of (3, 0) it is 3 + 8.54, by way of both 3 + 4 + 5.
    """
    path = tmp_path / "p1.txt"
    path.write_text(text)
    instance = decost.read(path)
    assert instance == Instance(
        name="p1",
        budget=12.5,
        xy=[[0, 0], [3, 0], [3, 4], [6, 8]],
        separate_end=True,
        reward=[0, 10, 20],
        vehicles=2,
    )
    assert instance.problem == "TOP"
    assert brute_force(instance) == (0, 30)
    alone = decost.read(path, vehicles=1)
    assert brute_force(alone) == (0, 30)
    assert brute_force(alone.replace(budget=11.9)) == (0, 20)
    assert brute_force(alone.replace(budget=9.9)) == (0, 0)


@pytest.mark.parametrize("text", [OPLIB, PATHS, TEAM])
def test_conversion(tmp_path: Path, text: str, call: Call) -> None:
    """Each of them becomes JSON that holds the same instance."""
    path, out = tmp_path / "a.txt", tmp_path / "a.json"
    path.write_text(text)
    assert call("convert", path, out).code == 0
    assert json.loads(out.read_text())["format"] == "decost-instance"
    assert decost.read(out) == decost.read(path)


BAD: dict[str, tuple[str, str]] = {
    "kind": (OPLIB.replace("TYPE : OP", "TYPE : CVRP"), "line 2: TYPE = CVRP: must be OP"),
    "no limit": (OPLIB.replace("COST_LIMIT : 7\n", ""), "COST_LIMIT: is missing"),
    "no scores": (OPLIB.replace("NODE_SCORE", "NODE_PRIZE"), "NODE_SCORE_SECTION: is missing"),
    "limit": (OPLIB.replace(": 7", ": much"), "line 5: COST_LIMIT = 'much': must be a number"),
    "negative": (OPLIB.replace(": 7", ": -7"), "budget = -7.0: must be finite, not negative"),
    "size": (OPLIB.replace(": 3", ": 0"), "line 4: DIMENSION = 0: must be from 1 to 5000"),
    "many": (OPLIB.replace(": 3", ": 5001"), "line 4: DIMENSION = 5001: must be from 1 to 5000"),
    "half": (OPLIB.replace(": 3", ": 2.5"), "line 4: DIMENSION = 2.5: must be from 1 to 5000"),
    "twice": (OPLIB.replace("TYPE : OP", "NAME : OP"), "line 2: NAME: is there twice"),
    "word": (OPLIB.replace("2 1 1", "2 1 one"), "line 9: y = 'one': must be a number"),
    "nan": (OPLIB.replace("2 1 1", "2 1 nan"), "line 9: y = nan: must be finite"),
    "columns": (OPLIB.replace("2 1 1", "2 1"), "line 9: has 2 columns, must be node x y"),
    "order": (OPLIB.replace("2 10", "4 10"), "line 11: NODE_SCORE_SECTION: node 4: out of order"),
    "few": (OPLIB.replace("3 7\n", ""), "line 11: NODE_SCORE_SECTION: there are 2 rows, must be 3"),
    "rows": (OPLIB.replace("3 7\n", "3 7\n4 1\n"), "line 15: is one more than the 3 rows"),
    "weights": (OPLIB.replace("EUC_2D", "XRAY1"), "line 6: EDGE_WEIGHT_TYPE = XRAY1: must be one"),
    "depot": (
        OPLIB.replace("SECTION\n1\n-1", "SECTION\n4\n-1"),
        "line 15: DEPOT_SECTION = 4 -1: must be a node, then -1",
    ),
    "depots": (
        OPLIB.replace("SECTION\n1\n-1", "SECTION\n1\n2\n-1"),
        "line 18: is one more than the 2 rows",
    ),
    "score": (OPLIB.replace("2 10", "2 -10"), "stop 2: reward = -10.0: must be finite"),
    "form": (explicit("SPIRAL", "1 2 3"), "line 7: EDGE_WEIGHT_FORMAT = SPIRAL: must be one of"),
    "less": (explicit("UPPER_ROW", "1 2"), "line 8: distance: there are 2 numbers, must be 3"),
    "more": (explicit("UPPER_ROW", "1 2 3 4"), "line 8: distance: there are more than 3 numbers"),
    "letter": (explicit("UPPER_ROW", "1\nx 3"), "line 10: distance = 'x': must be a number"),
    "short": (explicit("UPPER_ROW", "1 -2 3"), "travel[0][3] = -2.0: must be finite"),
    "team count": (TEAM.replace("n 4", "n 5"), "n = 5: but there are 4 rows"),
    "team size": (TEAM.replace("m 2", "m 0"), "vehicles = 0: must be from 1 to 1000"),
    "team word": (TEAM.replace("4\t20", "4\tmany"), "line 6: score = 'many': must be a number"),
    "team score": (TEAM.replace("8\t0", "8\t5"), "score of the end = 5: must be 0"),
    "paths score": (PATHS.replace("0.0\t0\n", "0.0\t1\n"), "score of the start = 1: must be 0"),
    "paths columns": (PATHS.replace("4\t20", "4"), "line 5: has 2 columns, must be x y score"),
    "paths alone": ("12 1\n0 0 0\n", "line 1: there are 1 rows, must be at least a start and"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_orienteering_files(tmp_path: Path, case: str) -> None:
    """Mistakes are told with the line or the field, and the value."""
    text, message = BAD[case]
    assert refusal(tmp_path / "a.txt", text).startswith(message)


def test_matrix_limit(tmp_path: Path) -> None:
    """A matrix with more distances than there may be is refused before they are read."""
    nodes = 2100
    scores = "".join(f"{k} 1\n" for k in range(1, nodes + 1))
    text = explicit("FULL_MATRIX", "1").replace("DIMENSION : 3", f"DIMENSION : {nodes}")
    text = text.replace("1 74\n2 10\n3 7\n", scores)
    message = "line 8: 4410000 distances are more than 4100000"
    assert refusal(tmp_path / "a.txt", text) == message


@pytest.mark.parametrize("head", ["9 1\n", f"n {MAX_STOPS + 3}\nm 1\ntmax 9\n"])
def test_too_many_rows(tmp_path: Path, head: str) -> None:
    """More stops than are allowed are refused, soon also if they are very many."""
    message = f"is one more than the {MAX_STOPS + 2} rows there may be"
    assert message in refusal(tmp_path / "a.txt", head + "1 2 0\n" * 10**5)


@pytest.mark.parametrize("text", [OPLIB, PATHS, TEAM])
def test_options_of_other_files(tmp_path: Path, text: str) -> None:
    """These files say what a visit earns and how far it is: nothing can be chosen."""
    message = "profit and truncate are for Solomon's and KU Leuven's files, and this is an orient"
    assert refusal(tmp_path / "a", text, profit="variable").startswith(message)
    assert refusal(tmp_path / "a", text, truncate=1).startswith(message)


def test_all_orienteering_files(data: Path) -> None:
    """All files are read; no published profit is more than all scores of its file together."""
    with (data / "op_best_known.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 54
    for row in rows:
        instance = decost.read(data / "op" / f"{row['instance']}.oplib")
        assert (instance.stops, instance.problem) == (int(row["nodes"]), "OP")
        assert instance.name == row["instance"]
        assert 0 < float(row["best"]) < instance.reward.sum()
    for folder, count in (("op_chao", 5), ("top_chao", 10)):
        paths = sorted((data / folder).glob("*.txt"))
        assert len(paths) == count
        for path in paths:
            instance = decost.read(path)
            words = path.read_text().split()
            team = words[0] == "n"
            assert instance.vehicles == int(words[3] if team else words[1])
            assert instance.budget == float(words[5] if team else words[0])
            assert instance.nodes + 1 == (int(words[1]) if team else len(words) // 3)


@pytest.mark.parametrize("name", ["att48", "gr48", "hk48", "berlin52", "brazil58"])
def test_published_optima(data: Path, name: str) -> None:
    """The published optimum, depot's score included, is found and not surpassed.

    That holds the reader to the rules for distances: with others, the optimum would be another.
    """
    with (data / "op_best_known.csv").open() as file:
        best = {row["instance"]: float(row["best"]) for row in csv.DictReader(file)}
    instance = decost.read(data / "op" / f"{name}.oplib")
    for seed in range(3):
        profit = decost.solve(instance, "search", iterations=20_000, seed=seed).profit
        if profit >= best[name]:
            break
    assert profit == best[name]
