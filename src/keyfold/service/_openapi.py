"""The OpenAPI document of a service: from the signatures of patterns and the schemas of their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode, JsonSchemaValue
from pydantic_core import to_jsonable_python

from keyfold.analysis.arguments import ArgumentFinder
from keyfold.export._json_schema import WrittenSchemaGenerator
from keyfold.keys import Ulid
from keyfold.model import Table
from keyfold.service._endpoints import CURSOR, PatternEndpoint
from keyfold.service._own_operations import PROBLEM_SCHEMA, define_own_schemas, write_own_paths
from keyfold.service._problems import PROBLEM_TYPE

_REFERENCES = "#/components/schemas/{model}"
_JSON = "application/json"

# The problems that any endpoint may answer with.
_PROBLEMS = (400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503, 504)

_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong (RFC 9457). The code is stable.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "The arguments that are invalid.",
            "items": {
                "type": "object",
                "required": ["argument", "message"],
                "properties": {"argument": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_SCHEMES: dict[str, Any] = {
    "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
}

_PREFER: dict[str, Any] = {
    "name": "Prefer",
    "in": "header",
    "description": "How many items a page has: `maxpagesize=20`.",
    "schema": {"type": "string"},
}
_CAPACITY: dict[str, Any] = {
    "name": "Keyfold-Capacity",
    "in": "header",
    "description": "If given, the response says in a header of this name what the call consumed.",
    "schema": {"type": "string"},
}
_IF_MATCH: dict[str, Any] = {
    "name": "If-Match",
    "in": "header",
    "description": "Write only if the item has this entity tag, or exists: `*`; otherwise, 412.",
    "schema": {"type": "string"},
}
_IF_NONE_MATCH: dict[str, Any] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Return nothing if the item still has this entity tag: 304.",
    "schema": {"type": "string"},
}
_ETAG = {"ETag": {"description": "The entity tag.", "schema": {"type": "string"}}}


class _RequestSchemaGenerator(WrittenSchemaGenerator):
    """Defines the JSON that is read or written; system keys are texts, since end users see handles."""

    def function_plain_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of a type with a validator of its own."""
        kind = schema["function"]["function"]
        if isinstance(kind, type) and issubclass(kind, Ulid) and kind.is_system_key:
            return {"type": "string", "title": kind.__name__}
        return super().function_plain_schema(schema)

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of a decimal number, whose text is marked as one."""
        found = super().decimal_schema(schema)
        for each in (found, *found.get("anyOf", ())):
            if each.get("type") == "string":
                each["format"] = "decimal"
        return found

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001 - pydantic's signature
        """Return whether a field is always there; what is read may leave defaults out."""
        if self.mode == "validation":
            return super(WrittenSchemaGenerator, self).field_is_required(field, total)
        return super().field_is_required(field, total)


class SchemaBook:
    """The JSON schemas of endpoints' arguments and results, and the definitions that they share."""

    def __init__(self, endpoints: Iterable[PatternEndpoint], references: str = _REFERENCES) -> None:
        wanted = [each for endpoint in endpoints for each in _list_schemas(endpoint)]
        generator: Any = _RequestSchemaGenerator
        schemas, found = TypeAdapter.json_schemas(
            cast("Any", wanted), ref_template=references, schema_generator=generator
        )
        self._schemas = {key: schema for (key, _), schema in schemas.items()}
        self.definitions: dict[str, Any] = found.get("$defs", {})

    def of_result(self, endpoint: PatternEndpoint) -> dict[str, Any]:
        """Return the schema of a result; for a page, of the list of its items."""
        return self._schemas[endpoint.name, "result"]

    def of_arguments(self, endpoint: PatternEndpoint) -> dict[str, Any]:
        """Return the schema of the object of all arguments."""
        return self._schemas[endpoint.name, "arguments"]

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the definition that a schema refers to, or the schema itself."""
        reference = schema.get("$ref")
        return self.definitions[reference.rpartition("/")[2]] if reference else schema

    def of_argument(self, endpoint: PatternEndpoint, name: str) -> dict[str, Any]:
        """Return the schema of one argument."""
        return self._schemas[endpoint.name, f"argument {name}"]


def _list_schemas(
    endpoint: PatternEndpoint,
) -> Iterable[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]]:
    yield (endpoint.name, "result"), "serialization", endpoint.results
    yield (endpoint.name, "arguments"), "validation", endpoint.arguments
    for each in endpoint.parameters:
        yield (endpoint.name, f"argument {each.name}"), "validation", each.adapter


def find_example(endpoint: PatternEndpoint) -> dict[str, Any]:
    """Return example arguments as JSON, by the table's example entities; empty if there are none."""
    entities = endpoint.table.example_entities()
    if not entities:
        return {}
    found = next(ArgumentFinder(endpoint.pattern, {}).from_entities(entities), None)
    if found is None:
        return {}
    try:
        return {
            name: to_jsonable_python(value, by_alias=True, bytes_mode="base64")
            for name, value in found.items()
        }
    except ValueError:  # a value that has no JSON
        return {}


def write_openapi(
    table: Table,
    endpoints: Mapping[str, PatternEndpoint],
    *,
    root: str = "",
    has_credentials: bool = True,
) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of a service: its patterns, and what else it offers."""
    book = SchemaBook(endpoints.values())
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints.values():
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _write_operation(
            endpoint, book
        )
    paths |= write_own_paths(_REFERENCES, has_credentials=has_credentials)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": table.name,
            "version": "1",
            "description": f"The access patterns of the table {table.name}, served by Keyfold.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                **book.definitions,
                **define_own_schemas(_REFERENCES),
                PROBLEM_SCHEMA: _PROBLEM,
            },
            "responses": {"Problem": _describe_problem("A problem.")},
        },
    }
    if root:
        document["servers"] = [{"url": root}]
    if has_credentials:
        document["components"]["securitySchemes"] = _SCHEMES
        document["security"] = [{name: []} for name in _SCHEMES]
    return document


def _write_operation(endpoint: PatternEndpoint, book: SchemaBook) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.pattern.name,
        "description": endpoint.description,
        "tags": [endpoint.path.split("/")[1]],
        "parameters": [*_write_parameters(endpoint, book)],
    }
    if endpoint.writes:
        operation["requestBody"] = _write_body(endpoint, book)
    operation["responses"] = _write_responses(endpoint, book)
    return operation


def _write_parameters(endpoint: PatternEndpoint, book: SchemaBook) -> Iterable[dict[str, Any]]:
    example = find_example(endpoint)
    for each in endpoint.parameters:
        in_path = f"{{{each.name}}}" in endpoint.path
        if endpoint.writes and not in_path:
            continue
        schema = book.of_argument(endpoint, each.name)
        parameter: dict[str, Any] = {
            "name": each.name,
            "in": "path" if in_path else "query",
            "required": in_path or each.is_required,
        }
        if _is_structured(schema, book) and not each.is_list:
            parameter["content"] = {_JSON: {"schema": schema}}
        else:
            parameter["schema"] = schema
        if each.name in example:
            parameter["example"] = example[each.name]
        yield parameter
    if endpoint.continues:
        fact = "Continues a list; the link `next` of a page has it."
        yield {"name": CURSOR, "in": "query", "description": fact, "schema": {"type": "string"}}
        yield _PREFER
    yield _CAPACITY
    if has_tag(endpoint):
        yield _IF_MATCH if endpoint.writes else _IF_NONE_MATCH
    if endpoint.writes:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A request with the same key and body, within 24 hours, is not run again.",
            "schema": {"type": "string", "maxLength": 255},
        }


def _write_body(endpoint: PatternEndpoint, book: SchemaBook) -> dict[str, Any]:
    schema = book.of_arguments(endpoint)
    in_path = {each.name for each in endpoint.parameters if f"{{{each.name}}}" in endpoint.path}
    if in_path:
        schema = _without(book.resolve(schema), in_path)
    content: dict[str, Any] = {"schema": schema}
    example = {n: each for n, each in find_example(endpoint).items() if n not in in_path}
    if example:
        content["example"] = example
    is_required = any(each.is_required and each.name not in in_path for each in endpoint.parameters)
    return {"required": is_required, "content": {_JSON: content}}


def _without(schema: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the schema of an object without some of its members."""
    properties = {name: each for name, each in schema["properties"].items() if name not in names}
    required = [each for each in schema.get("required", ()) if each not in names]
    return {**schema, "properties": properties, "required": required}


def _write_responses(endpoint: PatternEndpoint, book: SchemaBook) -> dict[str, Any]:
    schema = book.of_result(endpoint)
    if endpoint.is_page:
        schema = {
            "type": "object",
            "required": ["items", "next", "invalid"],
            "properties": {
                "items": schema,
                "next": {"type": ["string", "null"], "description": "The link to the next page."},
                "invalid": {
                    "type": "integer",
                    "description": "How many stored items do not fit their declaration.",
                },
            },
        }
    responses: dict[str, Any] = {
        "200": {"description": _describe_result(endpoint), "content": {_JSON: {"schema": schema}}}
    }
    if has_tag(endpoint):
        responses["200"]["headers"] = _ETAG
        if endpoint.writes:
            responses["412"] = {"$ref": "#/components/responses/Problem"}
        else:
            responses["304"] = {"description": "The entity tag is the same.", "headers": _ETAG}
    if endpoint.writes and _may_be_nothing(endpoint.result):
        responses["204"] = {"description": "Done; there is nothing to return."}
    for status in _PROBLEMS:
        if status == HTTPStatus.NOT_FOUND and endpoint.is_page:
            continue
        responses[str(status)] = {"$ref": "#/components/responses/Problem"}
    return responses


def has_tag(endpoint: PatternEndpoint) -> bool:
    """Return whether the result of an endpoint is one entity, which may have an entity tag."""
    kinds = {each for each in (endpoint.result, *get_args(endpoint.result)) if each is not NoneType}
    return not endpoint.is_page and endpoint.entity in kinds


def _describe_result(endpoint: PatternEndpoint) -> str:
    if endpoint.is_page:
        return "A page of results, in order."
    return "What was written." if endpoint.writes else "What was found."


def _describe_problem(description: str) -> dict[str, Any]:
    schema = {"$ref": _REFERENCES.format(model=PROBLEM_SCHEMA)}
    return {"description": description, "content": {PROBLEM_TYPE: {"schema": schema}}}


def _may_be_nothing(result: Any) -> bool:
    if result is Any or get_origin(result) is list:
        return True
    return get_origin(result) in (Union, UnionType) and NoneType in get_args(result)


def _is_structured(schema: dict[str, Any], book: SchemaBook) -> bool:
    """Return whether values of a schema are objects or lists, which a query has as JSON."""
    found = book.resolve(schema)
    if any(_is_structured(each, book) for each in found.get("anyOf", ())):
        return True
    return found.get("type") in ("object", "array")
