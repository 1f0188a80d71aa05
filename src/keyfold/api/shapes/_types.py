"""The first stage: JSON types, down to every attribute value.

The service parses a request as a stream, so it reports the first fault in the text. The message
depends on the Java type of the member that it was about to fill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any, cast

from keyfold.api.shapes._java import class_name
from keyfold.api.shapes._model import Shape, shape
from keyfold.errors import SerializationException

STRUCTURE_UNEXPECTED = "Start of structure or map found where not expected"
# For a scalar in place of a list or a map inside another collection, the service exposes the
# message of a failed Java cast.
CAST_FAILED = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)

_Typed = tuple[Shape, Any, bool]
# Elements of a list are not members of a structure.
_ELEMENTS = repeat(False)  # noqa: FBT003 - the value that is repeated

MAX_VALUES = 3_000_000

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BYTES = (bytes, bytearray, memoryview)


def walk_types(spec: Shape, request: object) -> None:
    """Raise SerializationException for the first value in `request` of a wrong JSON type."""
    if not isinstance(request, dict):
        raise SerializationException
    # A stack instead of recursion, because a later stage checks the depth of values; of iterators,
    # so that a long list is not copied.
    # Each entry is a shape, a value, and whether the value is a member of a structure.
    members = _object_members(spec, cast("dict[object, Any]", request))
    stack: list[Iterator[_Typed]] = [iter(members)]
    # Ends the walk of a Python value that contains itself. No request text has this many values.
    left = MAX_VALUES
    while stack:
        for kind, value, is_member in stack[-1]:
            left -= 1
            if left == 0:
                raise SerializationException
            if value is None:
                continue
            if isinstance(value, dict):
                if kind.name == "AttributeValue" and _is_plain_text(cast("dict[str, Any]", value)):
                    continue
                members = _object_members(kind, cast("dict[object, Any]", value))
                stack.append(iter(members))
                break
            if isinstance(value, list):
                if kind.type != "list":
                    raise SerializationException(_unexpected_list_message(kind))
                items = cast("list[Any]", value)
                stack.append(zip(repeat(shape(kind.of)), items, _ELEMENTS))
                break
            _check_scalar(kind, value, is_member=is_member)
        else:
            stack.pop()


def _is_plain_text(value: dict[str, Any]) -> bool:
    """Return whether an attribute value certainly is a string: the commonest one by far."""
    text: Any = value.get("S")
    return text.__class__ is str and len(value) == 1 and text.isascii()


def _object_members(spec: Shape, value: dict[object, Any]) -> list[_Typed]:
    match spec.type:
        case "structure":
            # Unknown members are skipped, whatever their values are.
            return [
                (shape(spec.members[name]), item, True)
                for name, item in value.items()
                if isinstance(name, str) and name in spec.members
            ]
        case "map":
            element = shape(spec.of)
            for name in value:
                _check_text(name)
            return [(element, item, False) for item in value.values()]
        case _:
            raise SerializationException(STRUCTURE_UNEXPECTED)


def _unexpected_list_message(spec: Shape) -> str:
    kind = "" if spec.type == "map" else "class "
    return f"Unrecognized collection type {kind}{class_name(spec)}"


def _check_scalar(spec: Shape, value: object, *, is_member: bool) -> None:
    match spec.type:
        case "string":
            if not isinstance(value, str):
                raise SerializationException(_conversion_message(value, "String"))
            _check_text(value)
        case "boolean":
            if not isinstance(value, bool):
                raise SerializationException(
                    "Unexpected token received from parser"
                    if isinstance(value, str)
                    else _conversion_message(value, "Boolean")
                )
        case "integer" | "long":
            bits = 31 if spec.type == "integer" else 63
            if type(value) is not int or not -(1 << bits) <= value < 1 << bits:
                raise SerializationException(_conversion_message(value, spec.type.capitalize()))
        case "double" | "timestamp":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise SerializationException(
                    _conversion_message(value, class_name(spec).split(".")[-1])
                )
        case "blob":
            if isinstance(value, str):
                _check_base64(value)
            elif not isinstance(value, _BYTES):
                raise SerializationException(
                    "only base-64-encoded strings are convertible to bytes"
                )
        case "structure":
            raise SerializationException(
                "Unexpected field type" if is_member else "Unexpected value type in payload"
            )
        case "list" | "map":
            raise SerializationException("Unexpected field type" if is_member else CAST_FAILED)


def _conversion_message(value: object, target: str) -> str:
    match value:
        case True:
            received = "TRUE_VALUE"
        case False:
            received = "FALSE_VALUE"
        case str():
            received = "STRING_VALUE"
        case int():
            received = "NUMBER_VALUE"
        case float():
            received = "DECIMAL_VALUE"
        case _:
            received = type(value).__name__  # a Python object that JSON does not have
    return f"{received} cannot be converted to {target}"


def _check_text(value: object) -> None:
    if not isinstance(value, str):
        raise SerializationException(_conversion_message(value, "String"))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            # A lone surrogate cannot be encoded in UTF-8, so no request can contain it.
            raise SerializationException from None


def _check_base64(text: str) -> None:
    if len(text) % 4:
        raise SerializationException(
            f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}"
        )
    padding = 2 if text.endswith("==") else text.endswith("=")
    if padding:
        # The last digit before the padding has bits that belong to no byte; they must be zero.
        last = _ALPHABET.find(text[-padding - 1])
        if last & (0b1111 if padding == 2 else 0b11):  # noqa: PLR2004
            raise SerializationException("Invalid last non-pad Base64 character dectected")
    if not _BASE64.fullmatch(text):
        wrong = next(digit for digit in text[: len(text) - padding] if digit not in _ALPHABET)
        raise SerializationException(f"Invalid base 64 character: '{wrong}'")
