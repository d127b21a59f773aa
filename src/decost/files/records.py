"""Instances as JSON objects of version 2: alternatives, vehicles of their own, clock times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from decost.files.json import Schema, validated
from decost.files.limits import FormatError
from decost.problem.instance import MAX_STOPS, MAX_VEHICLES, Instance
from decost.problem.records import Alternative, Place, Stop, Vehicle


def _passing(kind: type, other: type | tuple[type, ...], words: str) -> WrapValidator:
    """Let a value of this kind pass as it is; what is not of the other kind is refused."""

    def either(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if type(value) is kind:
            return value
        if isinstance(value, bool) or not isinstance(value, other):
            raise PydanticCustomError("kind", "must be {words}", {"words": words})
        return handler(value)

    return WrapValidator(either)


_Time: TypeAlias = Annotated[
    float, _passing(str, (int, float), 'a number, or a clock time such as "09:30"')
]
_Speed: TypeAlias = Annotated[
    float, _passing(str, (int, float), 'a number, or a speed with its unit such as "4.5 km/h"')
]
_Row: TypeAlias = Annotated[list[float], Field(fail_fast=True)]
_Matrix: TypeAlias = Annotated[list[_Row], Field(fail_fast=True)]
_Pieces: TypeAlias = Annotated[
    list[Annotated[list[float], Field(min_length=2, max_length=2)]],
    Field(max_length=1000, fail_fast=True),
]
_Ids: TypeAlias = Annotated[list[str], Field(max_length=MAX_VEHICLES, fail_fast=True)]


class _Point(Schema):
    x: float | None = None
    y: float | None = None
    lat: float | None = None
    lon: float | None = None


_Where: TypeAlias = Annotated[_Point, _passing(str, dict, "the id of a place, or coordinates")]


class _Place(_Point):
    id: str


class _Vehicle(Schema):
    id: str | None = None
    start: _Where | None = None
    end: _Where | None = None
    begin: _Time | None = None
    due: _Time | None = None
    speed: _Speed | None = None
    profile: str | None = None
    underway: bool = False


class _Alternative(_Point):
    place: str | None = None
    vehicles: _Ids | None = None
    open: _Time | None = None
    close: _Time | None = None
    leave_by: _Time | None = None
    min_stay: float | None = None
    reward: float | None = None
    rate: float | None = None
    max_stay: float | None = None
    profit: _Pieces | None = None


class _Stop(_Alternative):
    id: str | None = None
    required: bool = False
    alternatives: (
        Annotated[list[_Alternative], Field(max_length=MAX_ALTERNATIVES, fail_fast=True)] | None
    ) = None


class _InstanceFile(Schema):
    format: Literal["decost-instance"]
    version: Literal[2]
    name: str = ""
    unit: Literal["minutes"] | None = None
    begin: _Time | None = None
    budget: _Time | None = None
    speed: _Speed | None = None
    detour: float | None = None
    depot: _Point = _Point()
    end: _Where | None = None
    places: list[_Place] = Field([], max_length=MAX_STOPS, fail_fast=True)
    vehicles: Annotated[
        list[_Vehicle],
        Field(max_length=MAX_VEHICLES, fail_fast=True),
        _passing(int, list, "a whole number, or a list of vehicles"),
    ] = 1  # type: ignore[assignment]
    stops: list[_Stop] = Field(max_length=MAX_STOPS, fail_fast=True)
    travel: Any = None


class _OneMatrix(Schema):
    travel: _Matrix


class _Matrices(Schema):
    travel: dict[str, _Matrix]
