"""Tests of how the faults of data are told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from decost.problem.validation import first_fault, shortened


class Leg(BaseModel):
    """A part of the data."""

    model_config = ConfigDict(extra="forbid")
    length: float = Field(ge=0)


class Walk(BaseModel):
    """The data."""

    model_config = ConfigDict(extra="forbid")
    legs: list[Leg] = Field(default=[], max_length=2)
    name: str = ""
    end: int = 0

    @model_validator(mode="after")
    def _ends(self) -> Walk:
        if self.end > len(self.legs):
            raise ValueError(f"end = {self.end}: there are {len(self.legs)} legs")
        return self


def fault(data: Any, **words: str) -> str:
    """Give the first fault of the data."""
    with pytest.raises(ValidationError) as caught:
        Walk.model_validate(data)
    return first_fault(caught.value, **words)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"legs": [{"length": 1}, {"length": -2}]}, "legs[1].length = -2: Input should be greater"),
        ({"legs": [{}]}, "legs[0].length: missing"),
        ({"legs": [7]}, "legs[0] = 7: must be an object"),
        ({"legs": [{"length": 1}] * 3}, "legs = list of 3: List should have at most 2 items"),
        ({"name": 5}, "name = 5: Input should be a valid string"),
        ({"colour": "red"}, "colour = 'red': unknown field"),
        ({"end": 3}, "end = 3: there are 0 legs"),
        ([], "content = list of 0: "),
        ({"a\nb\x1b": 1}, "a b  = 1: unknown field"),
        ({"x" * 300: 1}, f"{'x' * 197}... = 1: unknown field"),
    ],
)
def test_first_fault(data: Any, message: str) -> None:
    """The field, its value and the reason stand in one short line."""
    told = fault(data)
    assert told.startswith(message)
    assert "\n" not in told


def test_words_of_the_caller() -> None:
    """The caller says what a field is called, and what is said of an unknown one."""
    assert fault({"end": "x"}, prefix="option ").startswith("option end = 'x': ")
    assert fault({"colour": 1}, prefix="option ", unknown="unknown, a walk takes: legs") == (
        "option colour = 1: unknown, a walk takes: legs"
    )
    assert fault({"end": 3}, prefix="option ") == "end = 3: there are 0 legs"


def test_shortened() -> None:
    """Long values are cut, and of lists and dictionaries the size is told."""
    assert shortened("a" * 100) == f"'{'a' * 56}..."
    assert shortened([1, 2]) == "list of 2"
    assert shortened({"a": 1}) == "dict of 1"
    assert shortened(1.5) == "1.5"
