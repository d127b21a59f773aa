"""Tests of clock times and of speeds with a unit: what people write, in numbers and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decost.problem.clock_times import format_time, parse_time
from decost.problem.speeds import format_speed, parse_speed


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("09:30", 570),
        ("9:30", 570),
        ("00:00", 0),
        ("23:59", 1439),
        ("24:00", 1440),
        ("00:00+1", 1440),
        ("06:00+1", 1800),
        ("06:00+10", 14760),
        ("22:00-1", -120),
        (" 09:30 ", 570),
        ("09:30:15", 570.25),
    ],
)
def test_clock_times(text: str, minutes: float) -> None:
    """Minutes after midnight of the first day."""
    assert parse_time(text) == minutes


@pytest.mark.parametrize("value", [0, -3.5, 570, float("inf")])
def test_numbers_are_times(value: float) -> None:
    """A number is what it is."""
    assert parse_time(value) == value


@pytest.mark.parametrize(
    "value",
    ["24:01", "25:00", "9:5", "12:60", "12.30", "570", "", "noon", "09:30pm", "09:30+", None, True],
)
def test_what_is_no_time(value: object) -> None:
    """The message begins with the value."""
    with pytest.raises(ValueError, match="must be a number or a clock time") as caught:
        parse_time(value)
    assert str(caught.value).startswith(f"{value!r}: ")


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (570, "09:30"),
        (1439.4, "23:59"),
        (1439.5, "00:00+1"),
        (1800, "06:00+1"),
        (-120, "22:00-1"),
        (0.49, "00:00"),
        (float("inf"), "inf"),
    ],
)
def test_times_for_people(minutes: float, text: str) -> None:
    """To the nearest minute, with the day if it is not the first."""
    assert format_time(minutes) == text


@given(st.integers(-(10**5), 10**5))
def test_times_come_back(minutes: int) -> None:
    """What is shown of a whole minute is read as the same."""
    assert parse_time(format_time(minutes)) == minutes


def test_speeds() -> None:
    """Kilometres a minute; a mile is 1.609344 km."""
    assert parse_speed("4.5 km/h") == 4.5 / 60
    assert parse_speed("15km/h") == 0.25
    assert parse_speed("60 mph") == pytest.approx(1.609344)
    assert parse_speed("1e2 km/h") == pytest.approx(100 / 60)


@pytest.mark.parametrize("value", ["4.5", 4.5, "4.5 m/s", "km/h", "-3 km/h", "0 mph", "1e999 mph"])
def test_what_is_no_speed(value: object) -> None:
    """The message begins with the value."""
    with pytest.raises(ValueError, match=r"must (have a unit|be positive)") as caught:
        parse_speed(value)
    assert str(caught.value).startswith(f"{value!r}: ")


@given(st.integers(1, 10**6), st.sampled_from([1, 10, 1000]), st.sampled_from(["km/h", "mph"]))
def test_speeds_come_back(number: int, parts: int, unit: str) -> None:
    """What is written of a speed that was read is the same speed."""
    speed = parse_speed(f"{number / parts} {unit}")
    assert parse_speed(format_speed(speed)) == speed


def test_speeds_are_written_shortly() -> None:
    """As somebody would write them."""
    for text in ("4.5 km/h", "15 km/h", "3 mph", "12.3 mph"):
        assert format_speed(parse_speed(text)) == text
