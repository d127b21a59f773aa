"""Tests of Solomon's and KU Leuven's files, and of tourist trips."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_files import LEUVEN, SOLOMON, TRIP, UNKNOWN, refusal

import decost
from decost import Instance, Solution, check, make_solution
from decost.problem.instance import MAX_STOPS
from oracle import brute_force


@pytest.mark.parametrize("text", [SOLOMON, LEUVEN])
def test_fixed_profit(tmp_path: Path, text: str) -> None:
    """Demand or profit is the reward, service the stay, and distances lose decimals.

    The distances are the roots of 2, 13 and 5: 1.41, 3.60 and 2.23.
    """
    path = tmp_path / "R1.txt"
    path.write_text(text)
    travel = [[0, 1.4, 3.6], [1.4, 0, 2.2], [3.6, 2.2, 0]]
    assert decost.read(path) == Instance(
        name="R1",
        budget=230,
        xy=[[0, 0], [1, 1], [2, 3]],
        travel=travel,
        open=[0, 16, 50],
        close=[0, 171, 60],
        reward=[0, 10, 7],
        min_stay=[0, 10, 20],
    )
    assert decost.read(path).problem == "OPTW"
    assert decost.read(path, vehicles=3).problem == "TOPTW"


@pytest.mark.parametrize("text", [SOLOMON, LEUVEN])
def test_variable_profit(tmp_path: Path, text: str) -> None:
    """The profit is demand times stay, for a stay of up to 30 more; distances are exact."""
    path = tmp_path / "R1.txt"
    path.write_text(text)
    instance = decost.read(path, profit="variable")
    assert instance == Instance(
        name="R1",
        budget=230,
        xy=[[0, 0], [1, 1], [2, 3]],
        open=[0, 16, 50],
        close=[0, 171, 60],
        reward=[0, 100, 140],
        min_stay=[0, 10, 20],
        rate=[0, 10, 7],
        max_stay=[0, 40, 50],
    )
    assert instance.travel[0, 2] == pytest.approx(13**0.5)
    assert instance.full_profit.tolist() == [0, 10 * 40, 7 * 50]


@pytest.mark.parametrize(
    ("truncate", "distance"),
    [
        (0, 3.0),
        (1, 3.6),
        (2, 3.60),
        (4, 3.6055),
        (9, 3.605551275),
        ("none", 13**0.5),
        ("auto", 3.6),
    ],
)
def test_truncation(tmp_path: Path, truncate: Any, distance: float) -> None:
    """The root of 13 is 3.6055512754639...; it is cut, not rounded."""
    path = tmp_path / "a"
    path.write_text(SOLOMON)
    assert decost.read(path, truncate=truncate).travel[0, 2] == distance
    assert decost.read(path, truncate=truncate, profit="variable").travel[0, 2] == (
        13**0.5 if truncate == "auto" else distance
    )


def test_truncation_of_exact_distances(tmp_path: Path) -> None:
    """A distance that needs no more decimals keeps them all: 0.3 is not 0.29."""
    path = tmp_path / "a"
    rows = [(0, 0), (0.3, 0), (0.57, 0), (0.29, 0), (3.5, 12), (1.155, 0)]
    text = "".join(f"{k} {x} {y} 0 0 0 0 0 9\n" for k, (x, y) in enumerate(rows))
    path.write_text("1 1 5 1\n0 0\n" + text)
    expected = [0, 0.3, 0.57, 0.29, 12.5, 1.15]
    assert decost.read(path).travel[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_name_of_a_nameless_file(tmp_path: Path) -> None:
    """A Solomon file that does not begin with its name is called by the file's."""
    path = tmp_path / "mine.txt"
    path.write_text(SOLOMON.removeprefix("R1\n\n"))
    assert decost.read(path).name == "mine"


def test_all_benchmark_files(data: Path) -> None:
    """All files of Solomon and KU Leuven are read, with the sizes that they are known for."""
    solomon = [decost.read(path) for path in sorted((data / "solomon").glob("*.txt"))]
    assert len(solomon) == 56
    assert {(one.stops, one.problem, one.vehicles) for one in solomon} == {(100, "OPTW", 1)}
    for path in sorted((data / "optw").glob("*.txt")):
        instance = decost.read(path)
        assert (instance.name, instance.problem) == (path.stem, "OPTW")
        assert instance.stops == int(path.read_text().split()[2])
    for path in (data / "solomon").glob("*.txt"):
        twin = data / "optw" / path.name.lower()
        assert decost.read(twin).replace(name=path.stem) == decost.read(path)
        variable = decost.read(path, profit="variable")
        assert variable.problem == "OPTWVP"
        assert variable.matrix is None


def test_profits_of_the_benchmark(data: Path) -> None:
    """No published profit is more than all stops of its file together."""
    with (data / "optw_best_known.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) > 50
    for name, profit, *_ in rows:
        assert 0 < float(profit) <= decost.read(data / "optw" / f"{name}.txt").reward.sum()


@pytest.mark.parametrize("file", ["optw/r101.txt", "solomon/R101.txt"])
def test_optimal_route_of_r101(data: Path, file: str) -> None:
    """The known optimum is feasible and worth 198; with any two of its stops swapped it is not."""
    instance = decost.read(data / file)
    route = [59, 5, 83, 16, 85, 26, 13, 89, 58]

    def plan(stops: list[int]) -> Solution:
        return make_solution(instance, [stops], [[instance.min_stay[stop] for stop in stops]])

    assert check(instance, plan(route)) == []
    assert decost.profit_of(instance, plan(route)) == 198
    for first, second in itertools.combinations(range(len(route)), 2):
        swapped = route.copy()
        swapped[first], swapped[second] = route[second], route[first]
        assert check(instance, plan(swapped)) != []


def test_tourist_trip(tmp_path: Path) -> None:
    """A vehicle a day, hours by weekday, distances cut after 2 decimals: all worked out by hand.

    Day 1 is weekday 5, day 2 weekday 6, day 3 weekday 0 and so on; on weekday 2 stop 1 is closed.
    """
    path = tmp_path / "t1.txt"
    path.write_text(TRIP)
    instance = decost.read(path)
    assert (instance.name, instance.unit, instance.begin, instance.budget) == (
        "t1",
        "minutes",
        510,
        1210,
    )
    assert [vehicle.id for vehicle in instance.fleet] == ["day 1", "day 2"]
    travel = [[0, 1.41, 3.6], [1.41, 0, 2.23], [3.6, 2.23, 0]]
    assert instance.travel.tolist() == pytest.approx(np.array(travel))
    assert instance.alternative_first.tolist() == [0, 1, 3, 4]
    assert instance.alternative_open.tolist()[1:] == [510, 540, 0]
    assert instance.alternative_close.tolist()[1:] == [990, 960, 1439]
    assert np.isinf(instance.alternative_leave_by).all()
    assert instance.alternative_min_stay.tolist()[1:] == [10, 10, 20]
    assert instance.alternative_reward.tolist()[1:] == [7, 7, 8]
    assert instance.alternative_vehicles is not None
    assert instance.alternative_vehicles[1:].tolist() == [[1, 0], [0, 1], [0, 1]]
    alone = decost.read(path, vehicles=1)
    assert alone.alternative_first.tolist() == [0, 1, 2, 2]
    assert alone.alternative_open.tolist()[1:] == [510]
    longer = decost.read(path, vehicles=5)
    assert longer.alternative_first.tolist() == [0, 1, 3, 4]
    assert longer.alternative_vehicles is not None
    days = longer.alternative_vehicles[1:].astype(int).tolist()
    assert days == [[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 1, 1, 1, 1]]
    assert decost.read(path, truncate=0).travel[0, 2] == 3


def test_optimal_trip(tmp_path: Path) -> None:
    """Both stops can be visited in two days, for 15 in all; the first day alone is worth 7."""
    path = tmp_path / "a"
    path.write_text(TRIP)
    assert brute_force(decost.read(path)) == (0, 15)
    assert brute_force(decost.read(path, vehicles=1)) == (0, 7)


def test_all_tourist_trips(data: Path) -> None:
    """All files are read for one to four days; the more days, the more is open."""
    paths = sorted((data / "ttdp").glob("*.txt"))
    assert len(paths) == 20
    for path in paths:
        words = path.read_text().split()
        assert decost.read(path).vehicles == int(words[1])
        earlier = 0.0
        for days in range(1, 5):
            instance = decost.read(path, vehicles=days)
            assert (instance.stops, instance.vehicles) == (int(words[3]), days)
            assert instance.horizon in (1210 - 510, 1140 - 840)
            assert instance.full_profits.sum() >= earlier
            earlier = instance.full_profits.sum()
        assert earlier > 0


BAD_TEXTS: dict[str, tuple[str, str]] = {
    "no customers": ("R1\nVEHICLE\nNUMBER CAPACITY\n1 1\n", "has no depot"),
    "no rows": (SOLOMON.split("    0 ")[0], "has no depot"),
    "word": (SOLOMON.replace("171", "noon"), "customer 1 = 'noon': must be a number"),
    "nan": (SOLOMON.replace("171", "nan"), "customer 1 = 1 1 1 10 16 nan 10: must be finite"),
    "columns": (SOLOMON + "3 1 1\n", "customer 3: has 3 columns, must be 7"),
    "order": (SOLOMON + "4 1 1 1 1 1 1\n", "node 4: out of order, must be 3"),
    "demand": (SOLOMON.replace(" 7 ", " -7 "), "stop 2: reward = -7.0: must be finite, not neg"),
    "window": (SOLOMON.replace(" 60 ", " 40 "), "stop 2: close = 40.0: is less than open = 50.0"),
    "due date": (SOLOMON.replace("230", "-1"), "budget = -1.0: must be finite, not negative"),
    "leuven count": (LEUVEN.replace("4 2 1", "4 3 1"), "N = 3: but there are 2 stops"),
    "leuven head": ("1 4 2 1\n0 200\n", "has no depot"),
    "leuven line": ("1 4 2 1\n", "has no depot"),
    "leuven huge": (f"1 4 {'9' * 5000} 1\n0 0\n", UNKNOWN),
    "leuven columns": ("1 4 0 1\n0 0\n0 1 2 3\n", "node 0: has 4 columns, at least 9"),
    "leuven word": (LEUVEN.replace("171", "noon"), "node 1 = 'noon': must be a number"),
    "leuven order": (LEUVEN.replace(" 2 2.00", " 3 2.00"), "node 3: out of order, must be 2"),
    "trip count": (TRIP.replace("20 2 5 2", "20 2 5 3"), "N = 3: but there are 2 stops"),
    "trip day": (TRIP.replace("20 2 5 2", "20 2 7 2"), "start day = 7: must be from 0 to 6"),
    "trip tours": (TRIP.replace("20 2 5 2", "20 0 5 2"), "vehicles = 0: must be from 1 to 1000"),
    "trip head": (TRIP.splitlines()[0], UNKNOWN),
    "trip hotel": (TRIP.replace("0 0 0 0 0 510 1210", "0 0 0 0 0"), UNKNOWN),
    "trip hotel word": (TRIP.replace(" 1210", " late"), "node 0 = 'late': must be a number"),
    "trip budget": (TRIP.replace(" 1210", " 500"), "vehicle 'day 1': due = 500.0: is before begin"),
    "trip columns": (TRIP + "3 1 1 1\n", "node 3: has 4 columns, at least 20"),
    "trip order": (TRIP.replace("2 2.00", "3 2.00"), "node 3: out of order, must be 2"),
    "trip hours": (TRIP.replace("540 960", "540 noon"), "node 1 = 'noon': must be a number"),
    "trip window": (
        TRIP.replace("540 960", "960 540"),
        "stop 1: alternatives[1]: close = 540.0: is less than open = 960.0",
    ),
}


def test_trips_have_no_variable_profit(tmp_path: Path) -> None:
    """A trip's stays are as long as the file says, so that nothing can be earned by longer ones."""
    message = "profit = 'variable': a tourist trip's stays are fixed"
    assert refusal(tmp_path / "a", TRIP, profit="variable") == message


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_benchmark_files(tmp_path: Path, case: str) -> None:
    """Mistakes in the rows of a text file are told with the row."""
    text, message = BAD_TEXTS[case]
    assert refusal(tmp_path / "a.txt", text).startswith(message)


@pytest.mark.parametrize("kind", ["solomon", "leuven", "trip"])
@pytest.mark.parametrize("more", [1, 10**5])
def test_too_many_rows(tmp_path: Path, kind: str, more: int) -> None:
    """More stops than are allowed are refused in every format, soon also if they are very many."""
    count = MAX_STOPS + more
    head, row = {
        "solomon": (SOLOMON.split("    0 ")[0], "{} 0 0 0 0 9 0\n"),
        "leuven": (f"1 1 {count} 1\n0 0\n", "{} 0 0 0 0 0 0 0 9\n"),
        "trip": (f"1 1 1 {count} 1\n0 0 0 0 0 0 9\n", "{} 0 0 0 0 0" + " 0" * 15 + "\n"),
    }[kind]
    text = head + "".join(row.format(k) for k in range(kind == "trip", count + 1))
    assert refusal(tmp_path / "a.txt", text) == f"has more than {MAX_STOPS} stops"
