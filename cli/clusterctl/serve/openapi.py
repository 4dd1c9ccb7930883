"""The OpenAPI document, from the table of endpoints and the classes of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from clusterctl.model.web_documents import ProblemDocument, ProgressDocument
from clusterctl.serve.answers import adapter
from clusterctl.serve.api import BASE, ENDPOINTS, Endpoint
from clusterctl.serve.progress_events import EVENTS_PATH

if TYPE_CHECKING:
    from clusterctl.serve.parameters import Parameter

_REFERENCE = "#/components/schemas/{model}"
_PROBLEMS = {"401": "the token is missing or wrong", "403": "the user is not known", "503": "the record cannot be read now"}


def openapi_document(version: str) -> dict[str, Any]:
    """The document, for a version of clusterctl."""
    classes = dict.fromkeys((ProblemDocument, ProgressDocument, *(e.document for e in ENDPOINTS)))
    _, found = TypeAdapter.json_schemas([(c, "serialization", adapter(c)) for c in classes], ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {"title": "clusterctl", "description": "The record of clusterctl. It only reads.", "version": version},
        "paths": {BASE + e.path: {"get": _operation(e)} for e in ENDPOINTS} | {EVENTS_PATH: {"get": _events()}},
        "components": {
            "schemas": {name: _strict(one) for name, one in found["$defs"].items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """An object has all of its fields, and no other."""
    if "properties" not in schema:
        return schema
    return {**schema, "required": list(schema["properties"]), "additionalProperties": False}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    problems = dict(_PROBLEMS)
    if any(not p.in_path for p in endpoint.parameters):
        problems["400"] = "a parameter is not possible"
    if endpoint.can_miss:
        problems["404"] = "it is not recorded"
    return {
        "operationId": endpoint.name,
        "summary": endpoint.description,
        "parameters": [_parameter(p) for p in endpoint.parameters],
        "responses": {"200": _answer(endpoint.description, endpoint.document), **_problem_answers(problems)},
    }


def _events() -> dict[str, Any]:
    description = (
        "Server-sent events: `progress` with a ProgressDocument whenever runs in progress changed, `problem` with a ProblemDocument."
    )
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "operationId": "events",
        "summary": description,
        "responses": {"200": {"description": description, "content": content}, **_problem_answers(_PROBLEMS)},
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = TypeAdapter(parameter.kind).json_schema(ref_template=_REFERENCE)
    if parameter.default is not None:
        schema["default"] = parameter.default
    place = "path" if parameter.in_path else "query"
    return {"name": parameter.name, "in": place, "required": parameter.required, "description": parameter.description, "schema": schema}


def _problem_answers(problems: dict[str, str]) -> dict[str, Any]:
    return {status: _answer(description, ProblemDocument) for status, description in sorted(problems.items())}


def _answer(description: str, document: type[Any]) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(model=document.__name__)}
    return {"description": description, "content": {"application/json": {"schema": reference}}}
