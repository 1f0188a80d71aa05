"""Traces of Java in the service's messages.

The service is a Java program, and its messages show it: failures are listed in the order of a hash
map, and rejected values are printed by `toString`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast

from keyfold.api.shapes._model import Shape, shape

_MAX_DEPTH = 64  # deeper than any valid value; keeps hostile ones from exhausting the stack
# How much of a rejected value a message quotes.
QUOTED_LENGTH = 1 << 16
PACKAGE = "com.amazonaws.dynamodb.v20120810"

# The service also prints members of AttributeValue that the public model does not have.
_ATTRIBUTE_VALUE = (
    *("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS"),
    *("INTSET", "DECIMALSET", "DOUBLESET", "M", "L", "NULL", "BOOL"),
)


def member_path(name: str) -> str:
    """Return a member's name as it is spelled in messages.

    >>> member_path("TableName"), member_path("SSESpecification")
    ('tableName', 'sSESpecification')
    """
    return name[:1].lower() + name[1:]


def reported_order(names: Iterable[str]) -> list[str]:
    """Return a structure's members in the order in which their failures are reported.

    The service iterates over a `HashMap` of the members' paths: bucket by bucket, and within a
    bucket in the declared order. Every list of failures captured from the service in 2026 is in
    this order.

    >>> reported_order(["AttributeName", "KeyType"]), reported_order(["ReadCapacityUnits", "WriteCapacityUnits"])
    (['AttributeName', 'KeyType'], ['WriteCapacityUnits', 'ReadCapacityUnits'])
    """
    declared = list(names)
    buckets = 16
    while len(declared) > buckets * 3 // 4:
        buckets *= 2

    def bucket(name: str) -> int:
        code = 0
        for character in member_path(name):
            code = (31 * code + ord(character)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (buckets - 1)

    return sorted(declared, key=bucket)


def class_name(spec: Shape) -> str:
    """Return the Java type of a shape, such as `java.util.List<java.lang.String>`."""
    match spec.type:
        case "string":
            return "java.lang.String"
        case "boolean":
            return "java.lang.Boolean"
        case "integer":
            return "java.lang.Integer"
        case "long":
            return "java.lang.Long"
        case "double":
            return "java.lang.Double"
        case "timestamp":
            return "java.util.Date"
        case "blob":
            return "java.nio.ByteBuffer"
        case "list":
            return f"java.util.List<{class_name(shape(spec.of))}>"
        case "map":
            return f"java.util.Map<java.lang.String, {class_name(shape(spec.of))}>"
        case "structure":
            return f"{PACKAGE}.{spec.name}"


def render_value(spec: Shape, value: Any) -> str:
    """Return a value as `toString` prints it; its JSON types must match the shape.

    >>> render_value(shape("KeySchema"), [{"AttributeName": "pk", "KeyType": "HASH"}])
    '[KeySchemaElement(attributeName=pk, keyType=HASH)]'

    Only the first `QUOTED_LENGTH` characters are rendered: a value may be printed fifty times as
    long as it was sent.
    """
    return _quote(_value_pieces(spec, value, 0))


def render_json(spec: Shape, value: Any) -> str:
    """Return a value as the service's newer validation prints it: JSON of the known members.

    Only its first `QUOTED_LENGTH` characters, as by `render_value`.
    """
    return _quote(_json_pieces(spec, value, 0))


def _quote(pieces: Iterator[str]) -> str:
    shown: list[str] = []
    left = QUOTED_LENGTH
    for piece in pieces:
        shown.append(piece[:left])
        left -= len(piece)
        if left < 0:
            shown.append("...")
            break
    return "".join(shown)


def _value_pieces(spec: Shape, value: Any, depth: int) -> Iterator[str]:
    if value is None:
        yield "null"
        return
    if depth > _MAX_DEPTH:
        yield "..."
        return
    match spec.type:
        case "list":
            element = shape(spec.of)
            parts = (_value_pieces(element, item, depth + 1) for item in value)
            yield from _joined("[", parts, "]")
        case "map":
            element = shape(spec.of)
            entries = cast("dict[str, Any]", value).items()
            parts = (
                chain((f"{key}=",), _value_pieces(element, item, depth + 1))
                for key, item in entries
            )
            yield from _joined("{", parts, "}")
        case "structure":
            names = _ATTRIBUTE_VALUE if spec.name == "AttributeValue" else tuple(spec.members)
            parts = (
                chain(
                    (f"{member_path(name)}=",),
                    _value_pieces(shape(spec.members[name]), value.get(name), depth + 1)
                    if name in spec.members
                    else ("null",),
                )
                for name in names
            )
            yield from _joined(f"{spec.name}(", parts, ")")
        case "boolean":
            yield "true" if value else "false"
        case "blob":
            text = to_base64(value)
            size = len(text) * 3 // 4 - text[-2:].count("=")
            yield f"java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]"
        case _:
            yield str(value)


def _json_pieces(spec: Shape, value: Any, depth: int) -> Iterator[str]:
    if value is None or depth > _MAX_DEPTH:
        yield "null"
        return
    match spec.type:
        case "list":
            element = shape(spec.of)
            parts = (_json_pieces(element, item, depth + 1) for item in value)
            yield from _joined("[", parts, "]", ",")
        case "map" | "structure":
            is_map = spec.type == "map"
            names = (
                value if is_map else [name for name in spec.members if value.get(name) is not None]
            )
            parts = (
                chain(
                    (f"{_to_json(name)}:",),
                    _json_pieces(
                        shape(spec.of if is_map else spec.members[name]), value[name], depth + 1
                    ),
                )
                for name in names
            )
            yield from _joined("{", parts, "}", ",")
        case "blob":
            yield _to_json(to_base64(value))
        case _:
            yield _to_json(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(
    begin: str, parts: Iterable[Iterable[str]], end: str, separator: str = ", "
) -> Iterator[str]:
    yield begin
    is_first = True
    for part in parts:
        if not is_first:
            yield separator
        is_first = False
        yield from part
    yield end


def known_part(spec: Shape, value: Any, depth: int = 0) -> Any:
    """Return a value without unknown members and members that are null."""
    if value is None or depth > _MAX_DEPTH:
        return None
    match spec.type:
        case "list":
            element = shape(spec.of)
            return [known_part(element, item, depth + 1) for item in value]
        case "map":
            element = shape(spec.of)
            return {key: known_part(element, item, depth + 1) for key, item in value.items()}
        case "structure":
            return {
                name: known_part(shape(inner), value[name], depth + 1)
                for name, inner in spec.members.items()
                if value.get(name) is not None
            }
        case "blob":
            return to_base64(value)
        case _:
            return value


def to_base64(value: str | bytes | bytearray | memoryview) -> str:
    """Return a binary value, given as base64 or as bytes, as base64."""
    return value if isinstance(value, str) else base64.b64encode(value).decode()
