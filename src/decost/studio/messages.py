"""What clients may ask for, as schemas of JSON, and how a request is read by one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field

from decost.files.json import Schema, parsed, validated
from decost.files.limits import decoded
from decost.problem.instance import MAX_STOPS

Format: TypeAlias = Literal["json", "csv", "xlsx", "ics", "geojson", "html", "png", "svg", "pdf"]
"""What a plan may be exported as, by the ending of its file."""

Object: TypeAlias = dict[str, Any]
Stop: TypeAlias = str | int
Stops: TypeAlias = Annotated[list[Stop], Field(max_length=MAX_STOPS)]

_Instance = Field(
    description="An instance as a JSON file has it, or {'digest': ...} of one that was sent before."
)
_Plan = Field(description="A plan as a JSON file has it, or as `GET /plans/{id}` answers.")
_Orders = Field(
    description="Stops in order: lists by the ids of vehicles, a list of lists, or a plan."
)
_Options: Any = Field(
    default_factory=dict,
    description="method, time_limit (seconds), seed, and further options of the method.",
)


class PlanRequest(Schema):
    """A plan that is wanted."""

    instance: Object = _Instance
    options: Object = _Options
    start: Object | list[Any] | None = Field(
        None, description="A plan, or an order of stops, to begin with."
    )
    locked: Stops = Field([], description="Stops whose visits in `start` keep their vehicle.")


class ReplanRequest(Schema):
    """The rest of a plan that is wanted anew."""

    instance: Object = _Instance
    plan: Object = _Plan
    now: float | str
    done: Stops = Field([], description="Stops that were done outside of the plan.")
    drop: Stops = Field([], description="Stops that fell away.")
    add: list[Object] | None = Field(None, max_length=MAX_STOPS)
    keep: Literal["route", "order", "stop"] | None = None
    options: Object = _Options


class StaysRequest(Schema):
    """The best times for an order of stops."""

    instance: Object = _Instance
    orders: Object | list[Any] = _Orders


class CheckRequest(Schema):
    """Whether a plan is feasible."""

    instance: Object = _Instance
    plan: Object = _Plan


class ExplainRequest(Schema):
    """Why stops are left out of a plan."""

    instance: Object = _Instance
    plan: Object = _Plan
    time_limit: float = Field(2.0, ge=0, le=60, description="Seconds for all of it.")


class SceneRequest(Schema):
    """What a page draws of an order of stops, or of a plan."""

    instance: Object = _Instance
    orders: Object | list[Any] | None = Field(None, description="As for `/stays`.")
    plan: Object | None = Field(None, description="A plan instead, with its own times.")
    insert: Stop | None = Field(None, description="A stop to put where it earns most.")
    explanation: Object | None = Field(None, description="What `/explain` has answered.")


class ExportRequest(Schema):
    """A plan as a file."""

    instance: Object = _Instance
    plan: Object = _Plan
    format: Format
    date: str | None = Field(None, description="Of a calendar: the day, as 2026-05-04.")


class NamedFile(Schema):
    """A file that somebody has dropped on the page."""

    name: str = Field(max_length=200, description="Its name, which tells the format by its ending.")
    content: str = Field(description="Its bytes, in base64.")


class FilesRequest(Schema):
    """Files to read an instance from: one, or a table of places with others beside it."""

    files: list[NamedFile] = Field(min_length=1, max_length=4)


class TokenRequest(Schema):
    """The token of a client, for the page."""

    token: str = Field(max_length=500)


class Accepted(Schema):
    """The plan will be made."""

    id: str


class Complaint(Schema):
    """What is wrong with a request, in one line."""

    error: str


AnyMessage = TypeVar("AnyMessage", bound=Schema)


def read_message(schema: type[AnyMessage], body: bytes) -> AnyMessage:
    """Read the body of a request.

    Raises
    ------
    FormatError
        If it is no such message.
    """
    return validated(schema, "request", parsed("request", decoded("request", body)))
