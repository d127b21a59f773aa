"""How the service describes itself: OpenAPI, with the bodies that it reads by hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from decost.files.json import Schema
from decost.studio.messages import Complaint

_ASKED: dict[str, type[Schema]] = {}


def takes(schema: type[Schema]) -> dict[str, Any]:
    """Describe the body of a request, which we read ourselves, strictly and in a thread."""
    _ASKED[schema.__name__] = schema
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema.__name__}"}}}
    return {"requestBody": {"required": True, "content": content}}


def refuses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Describe how a request may be refused."""
    words = {
        400: "not understood",
        401: "no token",
        403: "from another page",
        404: "there is none",
        405: "not this way",
        408: "too slow",
        409: "an instance is to be sent whole",
        413: "too large",
        415: "not JSON",
        421: "for another host",
        422: "wrong, in the words of the error",
        429: "too many wait already",
        503: "plans cannot be read or kept now",
    }
    always = (400, 401, 403, 405, 408, 413, 415, 421, 503)
    return {code: {"model": Complaint, "description": words[code]} for code in (*always, *codes)}


def describe(api: FastAPI) -> dict[str, Any]:
    """Give the OpenAPI of the service."""
    if api.openapi_schema is None:
        found = get_openapi(
            title=api.title,
            version=api.version,
            description=api.description,
            routes=api.routes,
        )
        kept = found.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in _ASKED.items():
            shape = schema.model_json_schema(ref_template="#/components/schemas/{model}")
            kept |= shape.pop("$defs", {})
            kept[name] = shape
        complaint = {"$ref": "#/components/schemas/Complaint"}
        for operations in found["paths"].values():
            for operation in operations.values():
                # Bodies and paths are read by hand, and complained of in our own words.
                if "422" in operation["responses"]:
                    answer = operation["responses"]["422"]["content"]["application/json"]
                    answer["schema"] = complaint
        for name in ("HTTPValidationError", "ValidationError"):
            kept.pop(name, None)
        api.openapi_schema = found
    return api.openapi_schema
