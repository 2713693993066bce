"""The API in the words of OpenAPI 3.1, made from the table of routes."""

from __future__ import annotations

import http
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from goalbound.learners.copying import package_version
from goalbound.serve.service.messages import CaseReply, Problem, Reply
from goalbound.serve.service.routes import Route

_REFS = "#/components/schemas/{name}"
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,64}$"}
_STEP_LINK = {
    "operationId": "post_v1_learners_learner_cases_case_steps",
    "parameters": {"learner": "$request.path.learner", "case": "$response.body#/case"},
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """The description of these routes."""
    types = [Problem, Reply, CaseReply, *(route.body for route in routes if route.body not in (None, bytes))]
    _, components = msgspec.json.schema_components(types, ref_template=_REFS)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "goalbound decision service",
            "version": package_version(),
            "description": "What to do next in each of many open cases, learned from what came of it. A step is "
            "acknowledged when it is on the disk; the same step again is answered as before.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def operation_id(route: Route) -> str:
    """A name of the operation."""
    return re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_")


def _operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": _NAME}
                for name in re.findall(r"\{(\w+)\}", route.path)
            ),
            *(
                {"name": name, "in": "query", "description": text, "schema": _query_schema(least)}
                for name, text, least in route.query
            ),
        ],
        "responses": _responses(route),
    }
    if route.scope is not None:
        found["security"] = [{"token": []}]
        found["description"] = f"scope: {route.scope}"
    if route.body is bytes:
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif route.body is not None:
        schema = {"$ref": _REFS.format(name=route.body.__name__)}
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _query_schema(least: int | None) -> dict[str, Any]:
    return {"type": "string"} if least is None else {"type": "integer", "minimum": least}


def _responses(route: Route) -> dict[str, Any]:
    good: dict[str, Any] = {"description": http.HTTPStatus(route.status).phrase}
    if route.result is not None:
        schema = {"$ref": _REFS.format(name=route.result.__name__)}
        good["content"] = {"application/json": {"schema": schema}}
        if route.result in (Reply, CaseReply):
            good["links"] = {"next step": _STEP_LINK}
    found = {str(route.status): good}
    if route.repeats:
        found["200"] = {**good, "description": "done, or done before: then the header Idempotent-Replay is true"}
    statuses = {*route.errors, 400, 403}
    if route.scope is not None:
        statuses |= {401, 429, 503}
    if route.path == "/readyz":
        statuses |= {503}
    if route.body is not None:
        statuses |= {408, 413, 415, 422}
    if route.method == "POST":
        statuses |= {507}
    for status in sorted(statuses):
        found[str(status)] = {
            "description": http.HTTPStatus(status).phrase,
            "content": {"application/problem+json": {"schema": {"$ref": _REFS.format(name="Problem")}}},
        }
    return found
