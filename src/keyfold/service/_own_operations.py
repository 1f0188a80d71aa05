"""What a service offers besides patterns, for its OpenAPI document: batches, changes, health, metrics.

Their ids have hyphens, and those of patterns are identifiers, so that none is given twice.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from keyfold.service._batches import BatchRead, BatchReads
from keyfold.service._events import EVENT_STREAM_TYPE

# Applications may well have problems of their own.
PROBLEM_SCHEMA = "HttpProblem"
_JSON = "application/json"
_TAG = "service"
_PROBLEM = {"$ref": "#/components/responses/Problem"}
_EVENTS = """Watch the changes of what you may read, as server-sent events.

An event is `created`, `changed` or `deleted`. Its data is a JSON object: the name of the entity, its key,
and what it was (`old`) and is (`new`). The response does not end. A client that reconnects sends the id of its last event as `Last-Event-ID`; a `gap` event says that
what it missed is no longer known."""
_BATCH = """Read by several patterns at once, up to 25.

Each has a result or a problem of its own."""


def define_own_schemas(references: str) -> dict[str, Any]:
    """Return the definitions that the service's own operations refer to."""
    models: Any = [(BatchRead, "validation"), (BatchReads, "validation")]
    _, found = models_json_schema(models, ref_template=references)
    result = {
        "type": "object",
        "description": "A read of a batch: its result, or its problem.",
        "required": ["status"],
        "properties": {
            "status": {"type": "integer"},
            "result": {"description": "What the pattern returns; for a page, its items."},
            "cursor": {"type": ["string", "null"], "description": "Continues a page."},
            "problem": {"$ref": references.format(model=PROBLEM_SCHEMA)},
        },
    }
    return {**found["$defs"], "BatchResult": result}


def write_own_paths(references: str, *, has_credentials: bool) -> dict[str, dict[str, Any]]:
    """Return the paths of the service's own operations.

    Health, readiness and metrics need no credentials: they tell nothing of the table's items.
    """
    is_open: dict[str, Any] = {"security": []} if has_credentials else {}
    return {
        "/batch": {"post": _write_batch(references)},
        "/changes": {"get": _write_changes()},
        "/healthz": {"get": _write_health() | is_open},
        "/readyz": {"get": _write_readiness() | is_open},
        "/metrics": {"get": _write_metrics() | is_open},
    }


def _write_batch(references: str) -> dict[str, Any]:
    results = {"type": "array", "items": {"$ref": references.format(model="BatchResult")}}
    schema = {"type": "object", "required": ["results"], "properties": {"results": results}}
    body = {"schema": {"$ref": references.format(model=BatchReads.__name__)}}
    return {
        **_describe("read-batch", "Read by several patterns", _BATCH),
        "requestBody": {"required": True, "content": {_JSON: body}},
        "responses": _answer("The results, in the order of the requests.", _JSON, schema)
        | _refuse(400, 401, 403, 405, 413, 415, 422, 429, 500, 503, 504),
    }


def _write_changes() -> dict[str, Any]:
    last = {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that the client got; the stream goes on after it.",
        "schema": {"type": "string"},
    }
    schema = {"type": "string", "description": "Events, by the format of the HTML standard."}
    return {
        **_describe("watch-changes", "Watch changes", _EVENTS),
        "parameters": [last],
        "responses": _answer("Events, without an end.", EVENT_STREAM_TYPE, schema)
        | _refuse(400, 401, 403, 404, 405, 429, 500, 503),
    }


def _write_health() -> dict[str, Any]:
    text = "Whether the process answers at all."
    return {
        **_describe("check-health", "Is the service alive?", text),
        "responses": _answer("It is.", _JSON, _status("alive")) | _refuse(405),
    }


def _write_readiness() -> dict[str, Any]:
    text = "Whether requests may be sent: the database answers, and the service is not stopping."
    return {
        **_describe("check-readiness", "Is the service ready?", text),
        "responses": _answer("It is.", _JSON, _status("ready")) | _refuse(405, 500, 503),
    }


def _write_metrics() -> dict[str, Any]:
    text = "Requests, errors, durations and capacity units by pattern, for Prometheus."
    schema = {"type": "string"}
    return {
        **_describe("show-metrics", "Metrics", text),
        "responses": _answer("The metrics.", "text/plain", schema) | _refuse(405),
    }


def _describe(operation: str, summary: str, description: str) -> dict[str, Any]:
    return {
        "operationId": operation,
        "summary": summary,
        "description": description,
        "tags": [_TAG],
        "parameters": [],
    }


def _answer(description: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": description, "content": {kind: {"schema": schema}}}}


def _refuse(*statuses: int) -> dict[str, Any]:
    return {str(each): _PROBLEM for each in statuses}


def _status(word: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string", "const": word}},
    }
