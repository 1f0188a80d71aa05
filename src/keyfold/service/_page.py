"""The page for people: what a service offers, from its OpenAPI document; it loads nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from keyfold.export.documents import (
    Block,
    Code,
    DesignDocument,
    DocumentSection,
    Grid,
    Paragraph,
    write_html,
)
from keyfold.export.documents._blocks import read_prose

_COLUMNS = ("Parameter", "Place", "Type", "Required")
_JSON = "application/json"
_BODY = "body"


def write_page(document: Mapping[str, Any], url: str) -> str:
    """Return an HTML page that describes the operations of an OpenAPI document.

    `url` is the address of the service, for the command lines of examples.
    """
    by_resource: dict[str, list[DocumentSection]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            resource = operation["tags"][0]
            section = _describe(document, method.upper(), path, operation, url)
            by_resource.setdefault(resource, []).append(section)
    title = str(document["info"]["title"])
    page = DesignDocument(
        title,
        (
            f"{document['info']['description']} The same as an OpenAPI document, for programs: ",
            Code(f"{url}/openapi.json"),
            ". Any request may have the header ",
            Code("Keyfold-Capacity"),
            ", to be told what it consumed, and a write ",
            Code("Idempotency-Key"),
            ", to be run once however often it is sent.",
        ),
        tuple(
            DocumentSection(resource, (), tuple(sections))
            for resource, sections in by_resource.items()
        ),
    )
    return write_html(page, f"{title}: service")


def _describe(
    document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any], url: str
) -> DocumentSection:
    blocks: list[Block] = [Paragraph((Code(f"{method} {path}"),))]
    blocks += [Paragraph(read_prose(each)) for each in operation["description"].split("\n\n")]
    rows = tuple(_list_parameters(document, operation))
    if rows:
        blocks.append(Grid(_COLUMNS, rows))
    result = operation["responses"]["200"]
    [(kind, content)] = result["content"].items()
    shown = show_type(document, content["schema"]) if kind == _JSON else kind
    blocks.append(Paragraph((f"{result['description']} Type: ", Code(shown), ".")))
    blocks.append(Paragraph((Code(_write_command(method, path, operation, url)),)))
    return DocumentSection(operation["summary"], tuple(blocks))


def _list_parameters(
    document: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[tuple[tuple[str | Code, ...], ...]]:
    for each in operation["parameters"]:
        if each["in"] == "header":
            # Those of all operations; the introduction has them.
            continue
        schema = each.get("schema") or each["content"][_JSON]["schema"]
        is_required = each.get("required", False)
        yield _make_row(document, each["name"], each["in"], schema, is_required=is_required)
    body = operation.get("requestBody")
    if body is None:
        return
    schema = _resolve(document, body["content"][_JSON]["schema"])
    for name, member in schema.get("properties", {}).items():
        is_required = name in schema.get("required", ())
        yield _make_row(document, name, _BODY, member, is_required=is_required)


def _make_row(
    document: Mapping[str, Any],
    name: str,
    place: str,
    schema: Mapping[str, Any],
    *,
    is_required: bool,
) -> tuple[tuple[str | Code, ...], ...]:
    required = "yes" if is_required else "no"
    return (Code(name),), (place,), (Code(show_type(document, schema)),), (required,)


def show_type(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return a short text for the type of a JSON schema.

    >>> show_type({}, {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
    'list of (string or null)'
    """
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return name.removesuffix("-Input").removesuffix("-Output")
    if "anyOf" in schema:
        return " or ".join(show_type(document, each) for each in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return " or ".join(map(json.dumps, schema.get("enum", [schema.get("const")])))
    kind = schema.get("type", "anything")
    if kind == "array":
        inner = show_type(document, schema.get("items", {}))
        return f"list of ({inner})" if " or " in inner else f"list of {inner}"
    if kind == "object" and "items" in schema.get("properties", {}):
        return f"page with a {show_type(document, schema['properties']['items'])}"
    return str(schema.get("format", kind))


def _resolve(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][str(schema["$ref"]).rpartition("/")[2]]


def _write_command(method: str, path: str, operation: Mapping[str, Any], url: str) -> str:
    """Return a command line that calls an operation, with the values of its examples."""
    examples = {each["name"]: each for each in operation["parameters"] if "example" in each}
    for name, each in examples.items():
        if each["in"] == "path":
            path = path.replace(f"{{{name}}}", str(each["example"]))
    query = [
        (name, each["example"] if isinstance(each["example"], str) else json.dumps(each["example"]))
        for name, each in examples.items()
        if each["in"] == "query"
    ]
    address = f"{url}{path}" + (f"?{urlencode(query)}" if query else "")
    if method == "GET":
        return f"curl {shlex.quote(address)}"
    body = operation.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("example", {})
    return f"curl {shlex.quote(address)} --json {shlex.quote(json.dumps(body))}"
