"""Tests of the printed plan: vehicles, alternatives, required stops and statuses."""

from __future__ import annotations

import pytest

from decost import Alternative, Instance, Place, Result, Stop, Vehicle, make_solution
from decost.cli.printing import print_plan


def town(**changes: object) -> Instance:
    """Two guides, a museum open twice, lunch at one of two places."""
    given: dict[str, object] = {
        "unit": "minutes",
        "begin": "09:00",
        "budget": "17:30",
        "name": "town",
        "depot": Place(x=0, y=0),
        "places": [Place("inn", x=6, y=8)],
        "vehicles": [Vehicle("ann"), Vehicle("bob", start="inn", begin="10:00")],
        "stops": [
            Stop(
                "museum",
                x=3,
                y=4,
                min_stay=30,
                rate=2,
                max_stay=90,
                required=True,
                alternatives=[
                    Alternative(open="09:30", leave_by="12:00"),
                    Alternative(open="14:00", close="16:00"),
                ],
            ),
            Stop(
                "lunch",
                min_stay=30,
                reward=20,
                alternatives=[Alternative(place="inn", open="12:00"), Alternative(x=1, y=1)],
            ),
        ],
    }
    return Instance.build(**(given | changes))


def printed(capsys: pytest.CaptureFixture[str], result: Result) -> list[list[str]]:
    """Words of the lines that are printed."""
    print_plan(result)
    return [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_vehicles_clock_times_and_alternatives(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables are called as vehicles, with start, end, clock times, and which way is used.

    It is 5 minutes from the depot to the museum, and from there to the inn.
    """
    instance = town()
    plan = make_solution(instance, [[1, 3], []], [[60, 30], []])
    rows = printed(capsys, Result(instance, plan, "feasible", required_visited=1))
    assert rows[:3] == [
        ["town:", "2", "of", "2", "stops"],
        ["ann"],
        ["stop", "by", "arrive", "start", "stay", "leave", "profit"],
    ]
    assert rows[4] == ["from", "depot", "09:25"]
    museum = ["museum", "(required)", "09:30", "to", "12:00"]
    assert rows[5] == [*museum, "09:30", "09:30", "60", "10:30", "60.00"]
    assert rows[6] == ["lunch", "inn", "10:35", "12:00", "30", "12:30", "20.00"]
    assert rows[7] == ["back", "12:40", "80.00"]
    assert rows[8] == ["bob:", "stays", "at", "inn"]
    assert rows[-1] == ["required:", "1", "of", "1", "are", "visited"]


def test_end_elsewhere_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Who ends elsewhere is not back; a nameless alternative goes by its coordinates."""
    instance = town(vehicles=[Vehicle("ann", end="inn")])
    plan = make_solution(instance, [[4]], [[30]])
    rows = printed(capsys, Result(instance, plan, "incomplete"))
    assert rows[5][:2] == ["lunch", "1,"]
    assert rows[6][0] == "inn"


def test_late_vehicle(capsys: pytest.CaptureFixture[str]) -> None:
    """A vehicle underway that cannot be in time goes home, and its lateness is told."""
    vehicles = [Vehicle("ann"), Vehicle("bob", start="inn", due="09:04", underway=True)]
    instance = town(vehicles=vehicles)
    rows = printed(capsys, Result(instance, make_solution(instance, [], []), "incomplete"))
    told = "bob: goes to depot directly, there at 09:10, late by 6 minutes"
    assert told.split() in rows


@pytest.mark.parametrize(
    ("status", "bound", "told"),
    [
        ("incomplete", 1, "required: 0 of 1 are visited, whether more can be is not known"),
        ("infeasible", 0, "required: 0 of 1 are visited, none more can be"),
    ],
)
def test_required_stop_left_out(
    status: str, bound: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last lines count the required stops, name those left out, and say why."""
    instance = town()
    result = Result(
        instance,
        make_solution(instance, [], []),
        status,
        required_bound=bound,
        reasons=("stop 'museum' cannot be visited: closed",),
    )
    rows = printed(capsys, result)
    assert rows[-3] == told.split()
    assert rows[-2] == ["left", "out:", "museum"]
    assert rows[-1] == ["stop", "'museum'", "cannot", "be", "visited:", "closed"]


def test_detour_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Where ways are guessed from degrees, the factor is printed."""
    instance = Instance.build(
        unit="minutes",
        begin=540,
        budget=900,
        speed="4 km/h",
        depot=Place(lat=46, lon=11),
        stops=[Stop("a", lat=46.01, lon=11, reward=1)],
    )
    rows = printed(capsys, Result(instance, make_solution(instance, [[1]], [[0]]), "feasible"))
    assert rows[1] == ["ways", "are", "1.3", "times", "as", "long", "as", "the", "straight", "line"]
