"""Tests of the service against its own OpenAPI: no answer breaks it, whatever is asked."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from running import Service

schemathesis = pytest.importorskip("schemathesis", reason="there is no schemathesis")

EXAMPLES = int(os.environ.get("DECOST_SCHEMA_EXAMPLES", "4"))
"""Requests of each kind; hundreds look for faults, a few see that nothing has come loose."""


def test_answers_keep_the_schema(service: Service) -> None:
    """No request makes the service fail, or answer with what it has not told of."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    schema = schemathesis.openapi.from_dict(service.client.get("/openapi.json").json())
    schema.config.update(base_url=service.address)
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):  # which do not end before their plan
            continue

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def attempt(case: Any) -> None:
            case.call_and_validate(checks=checks)

        attempt()
        tried.append(operation.label)
    assert len(tried) > 15


def test_what_is_told(service: Service) -> None:
    """The doors that other programs use are all in the OpenAPI."""
    told = service.client.get("/openapi.json").json()
    doors = {(method, path) for path, methods in told["paths"].items() for method in methods}
    assert doors >= {
        ("post", "/plans"),
        ("get", "/plans/{id}"),
        ("delete", "/plans/{id}"),
        ("get", "/plans/{id}/events"),
        ("post", "/plans/{id}/stop"),
        ("post", "/stays"),
        ("post", "/check"),
        ("post", "/explain"),
        ("post", "/replan"),
    }
