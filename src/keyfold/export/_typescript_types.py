"""TypeScript types of JSON Schema definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

_is_identifier = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*").fullmatch
_SCALARS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def write_declaration(
    name: str, definition: Mapping[str, Any], names: Mapping[str, str]
) -> list[str]:
    """Return the lines of an exported type; `names` has the types of all definitions."""
    lines = write_comment(definition.get("description", ""))
    properties: Mapping[str, Any] | None = definition.get("properties")
    if definition.get("type") != "object" or properties is None:
        return [*lines, f"export type {name} = {to_type(definition, names)};"]
    required: list[str] = definition.get("required", [])
    lines.append(f"export interface {name} {{")
    for each, schema in properties.items():
        mark = "" if each in required else "?"
        lines += [f"  {line}" for line in write_comment(schema.get("description", ""))]
        lines.append(f"  {quote_name(each)}{mark}: {to_type(schema, names)};")
    if definition.get("additionalProperties") is True:
        lines.append("  [attribute: string]: unknown;")
    return [*lines, "}"]


def write_comment(text: str) -> list[str]:
    """Return a documentation comment; nothing for an empty text."""
    lines = text.replace("*/", "*\\/").splitlines()
    if len(lines) < 2:  # noqa: PLR2004 - one line, or none
        return [f"/** {line} */" for line in lines]
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]


def quote_name(name: str) -> str:
    """Return a property's name, in quotes if it is not an identifier."""
    return name if _is_identifier(name) else json.dumps(name)


def to_type(schema: Any, names: Mapping[str, str]) -> str:
    """Return the TypeScript type of a JSON Schema.

    >>> to_type({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {})
    '(string | null)[]'
    """
    if not isinstance(schema, dict):
        return "unknown"
    found = cast(dict[str, Any], schema)
    kind: Any = found.get("type")
    if "$ref" in found:
        return names[found["$ref"].removeprefix("#/$defs/")]
    if "const" in found:
        return json.dumps(found["const"])
    if "enum" in found:
        return _join(map(json.dumps, found["enum"]))
    for choice in ("anyOf", "oneOf"):
        if choice in found:
            return _join(to_type(each, names) for each in found[choice])
    if "allOf" in found:
        return " & ".join(to_type(each, names) for each in found["allOf"])
    if isinstance(kind, list):
        return _join(to_type({**found, "type": each}, names) for each in cast(list[str], kind))
    if kind == "array":
        return _to_array(found, names)
    if kind == "object":
        return _to_object(found, names)
    return _SCALARS.get(kind, "unknown")


def _to_array(schema: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(to_type(each, names) for each in schema['prefixItems'])}]"
    member = to_type(schema.get("items"), names)
    return f"({member})[]" if " | " in member else f"{member}[]"


def _to_object(schema: Mapping[str, Any], names: Mapping[str, str]) -> str:
    values = schema.get("additionalProperties")
    if "properties" in schema:
        required = schema.get("required", [])
        shown = (
            f"{quote_name(name)}{'' if name in required else '?'}: {to_type(each, names)}"
            for name, each in schema["properties"].items()
        )
        return f"{{ {'; '.join(shown)} }}"
    if "patternProperties" in schema:
        return f"Record<string, {_join(_list_types(schema['patternProperties'], names))}>"
    return f"Record<string, {to_type(values, names)}>"


def _list_types(schemas: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    return (to_type(each, names) for each in schemas.values())


def _join(options: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(options)) or "never"
